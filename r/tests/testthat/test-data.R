# SPDX-License-Identifier: MIT

test_that("dates go in and come out", {
    data <- ou_data()
    days <- data
    days$time <- as.Date("2024-02-01") + round(10 * data$time)
    numbers <- data
    numbers$time <- as.double(days$time)
    model <- sde_model(OU)
    fit <- sde_fit(model, days)
    expect_identical(coef(fit), coef(sde_fit(model, numbers)))
    expect_s3_class(predict(fit, times = as.Date("2024-06-01"))$time, "Date")
    hours <- data
    hours$time <- as.POSIXct("2024-02-01 12:00", tz = "Europe/Berlin") +
        8640 * data$time
    left <- residuals(sde_fit(model, hours))
    expect_equal(left$time[1], hours$time[2])
    expect_identical(attr(left$time, "tzone"), "Europe/Berlin")
})

test_that("factors are categories and labels of series", {
    model <- sde_model("state x\nparam b[arm], s = 1 > 0
                        dx = (b[arm] - x)*dt + s*dW")
    data <- ou_data(4, 41)
    data$series <- factor(data$series, labels = c("p", "q", "r", "t"))
    arm <- ifelse(data$series %in% c("p", "q"), "new", "old")
    data$arm <- arm
    text <- sde_fit(model, data)
    data$arm <- factor(arm)
    fit <- sde_fit(model, data)
    expect_identical(coef(fit), coef(text))
    expect_setequal(names(coef(fit)), c("b[new]", "b[old]", "s"))
    expect_setequal(residuals(fit)$series, c("p", "q", "r", "t"))
})

test_that("rows of series may be mixed, and NA is missing", {
    data <- ou_data()
    model <- sde_model(OU)
    mixed <- data[order(data$time), ]
    expect_identical(sde_loglik(model, mixed)$loglik,
                     sde_loglik(model, data)$loglik)
    holes <- data
    holes$x[5] <- NA
    expect_identical(sde_loglik(model, holes)$loglik,
                     sde_loglik(model, data[-5, ])$loglik)
})

test_that("ts and other names of columns work", {
    data <- ou_data(1)
    model <- sde_model(OU)
    l <- sde_loglik(model, data)$loglik
    expect_equal(sde_loglik(model, stats::ts(data$x, 0, deltat = 0.1))$loglik, l)
    names(data) <- c("who", "seconds", "x")
    expect_identical(sde_loglik(model, data, time = "seconds", series = "who")$loglik,
                     l)
})

test_that("R's data stay as they are", {
    data <- ou_data()
    copy <- data
    copy$x <- copy$x + 0
    sde_fit(sde_model(OU), data)
    expect_identical(data, copy)
})
