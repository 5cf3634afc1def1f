# SPDX-License-Identifier: MIT

test_that("failures are conditions with the library's sentences", {
    e <- expect_error(sde_model("state x\ndx = -k*x*dt + dW"),
                      class = "girsanov_input_error")
    expect_s3_class(e, "girsanov_error")
    expect_match(conditionMessage(e), "model:2:7: unknown name 'k'", fixed = TRUE)
    data <- ou_data(1)
    model <- sde_model(OU)
    expect_error(sde_loglik(model, data, pahts = 16), "did you mean 'paths'?",
                 class = "girsanov_error", fixed = TRUE)
    expect_error(sde_fit(model, data, fix = "q"), "q", class = "girsanov_error")
    expect_error(sde_fit(model, data, paths = "many"), "many",
                 class = "girsanov_error")
    expect_error(sde_fit(model, data[c("series", "x")]), "time",
                 class = "girsanov_error")
    names(data)[3] <- "y"
    expect_error(sde_loglik(model, data), "there is no column 'x'",
                 class = "girsanov_error")
    expect_error(sde_fit(model, NULL), class = "girsanov_error")
    expect_error(sde_load("no such file"), "no such file", class = "girsanov_error")
    expect_error(confint(sde_fit(model, ou_data(1)), "z"), "no parameter 'z'",
                 class = "girsanov_error")
    expect_error(sde_draws(sde_fit(model, ou_data(1))), class = "girsanov_error")
})

test_that("a failure leaves no model behind that is half changed", {
    model <- sde_model(OU)
    before <- coef(model)
    try(sde_set(model, k = 2, q = 1), silent = TRUE)
    expect_identical(coef(model), before)
})

test_that("doubts are warnings", {
    wild <- sde_model("state x\nparam a = 1\ndx = -a*x^3*dt + 0.1*dW")
    data <- data.frame(time = c(0, 5, 10), x = c(3, -3, 3))
    said <- capture_warnings(sde_loglik(wild, data, paths = 8, steps = 4))
    expect_match(said, "steps are too long", all = FALSE)
    expect_warning(girsanov:::caution("so"), class = "girsanov_caution")
})
