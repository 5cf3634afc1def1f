# SPDX-License-Identifier: MIT
# The same bits as the command's.

test_that("a fit has the bits of the command's", {
    folder <- { d <- tempfile(); dir.create(d); d }
    at <- function(name) file.path(folder, name)
    cubic <- "state x\nparam a, b, c, s = 1 > 0\ndx = (a + b*x + c*x^3)*dt + s*dW"
    for (text in c(OU, cubic)) {
        data <- ou_data()
        writeLines(text, at("m.sde"))
        full_csv(data, at("d.csv"))
        command("fit", at("m.sde"), at("d.csv"), "-q", "-o", at("m.fit"))
        theirs <- sde_load(at("m.fit"))
        ours <- sde_fit(sde_model(text), data)
        expect_identical(coef(ours), coef(theirs))
        expect_identical(c(logLik(ours)), c(logLik(theirs)))
        expect_identical(vcov(ours), vcov(theirs))
        expect_identical(confint(ours), confint(theirs))
        again <- sde_fit(sde_model(file = at("m.sde")), at("d.csv"))
        expect_identical(coef(again), coef(ours))
        expect_identical(AIC(ours), ours$record$aic)
        expect_identical(BIC(ours), ours$record$bic)
    }
})

test_that("a simulation has the bits of the command's", {
    folder <- { d <- tempfile(); dir.create(d); d }
    model <- file.path(folder, "m.sde")
    out <- file.path(folder, "d.csv")
    writeLines(OU, model)
    command("simulate", model, "--tracks", "3", "--times", "0:10:101", "--x0", "1",
            "--seed", "7", "-o", out)
    read <- .Call(girsanov:::c_series_read_all, out, NULL, NULL)
    theirs <- girsanov:::series_frame(read)
    ours <- simulate(sde_model(OU), 3, 7, theirs$time[theirs$series == "1"], 1)
    expect_identical(ours, theirs, ignore_attr = "seed")
})

test_that("the gradient vanishes at the estimate", {
    data <- ou_data()
    model <- sde_model(OU)
    fit <- sde_fit(model, data)
    steep <- sde_loglik(model, data, gradient = TRUE)$gradient
    flat <- sde_loglik(fit, gradient = TRUE)$gradient
    expect_named(flat, names(coef(fit)))
    expect_lt(max(abs(flat * sqrt(diag(vcov(fit))))), 1e-2)
    expect_gt(max(abs(steep * sqrt(diag(vcov(fit))))), 1)
})

test_that("the log-likelihood of a linear model is the exact one", {
    data <- ou_data(1)
    f <- sde_fit(sde_model(OU), data)
    p <- coef(f)
    n <- nrow(data)
    e <- exp(-p[["k"]] * diff(data$time))
    sd <- p[["s"]] * sqrt((1 - e^2) / (2 * p[["k"]]))
    exact <- sum(stats::dnorm(data$x[-1], p[["m"]] + (data$x[-n] - p[["m"]]) * e,
                              sd, log = TRUE))
    expect_equal(c(logLik(f)), exact, tolerance = 1e-6)
})

test_that("physics prints a row for each number", {
    # Kramers' double well: symmetric, with closed fixed points.
    m <- sde_model("state x\nparam a = 1, s = 0.7 > 0\ndx = (a*x - x^3)*dt + s*dW")
    p <- sde_physics(m, limits = list(x = c(-3, 3)))
    t <- as.data.frame(p)
    expect_equal(t$value[1:4], c(-1, 0, 1, 0), tolerance = 1e-6)
    ways <- t$value[grep("^time", t$name)]
    expect_length(ways, 2)
    expect_equal(ways[1], ways[2], tolerance = 1e-9)
    expect_false(anyDuplicated(t$name) > 0)
    said <- capture.output(print(p))
    expect_length(said, nrow(t) + 1)
    expect_match(said, "fixed point 2, unstable: x", all = FALSE)
})
