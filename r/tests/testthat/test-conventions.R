# SPDX-License-Identifier: MIT

test_that("a fit answers R's questions", {
    data <- ou_data()
    fit <- sde_fit(sde_model(OU), data)
    names <- c("k", "m", "s")
    expect_named(coef(fit), names)
    expect_identical(dimnames(vcov(fit)), list(names, names))
    expect_equal(vcov(fit), t(vcov(fit)))
    expect_equal(unname(sqrt(diag(vcov(fit)))),
                 unname(summary(fit)$coefficients[, "Std. Error"]))
    expect_identical(dim(confint(fit)), c(3L, 2L))
    expect_identical(confint(fit, "m"), confint(fit)["m", , drop = FALSE])
    expect_true(all(confint(fit, level = 0.5)[, 1] > confint(fit)[, 1]))
    l <- logLik(fit)
    expect_s3_class(l, "logLik")
    expect_identical(attr(l, "df"), 3L)
    expect_identical(nobs(fit), 200L)
    expect_equal(AIC(fit), -2 * c(l) + 2 * 3)
    expect_equal(BIC(fit), -2 * c(l) + log(200) * 3)
    expect_output(print(fit), "log-likelihood")
    expect_output(print(summary(fit)), "Std. Error")
})

test_that("Wald intervals are those of the scale without bounds", {
    fit <- sde_fit(sde_model(OU), ou_data())
    level <- 0.95 - 1e-5
    se <- summary(fit)$coefficients[, "Std. Error"]
    s <- coef(fit)[["s"]]
    z <- stats::qnorm(1 - (1 - level) / 2)
    expect_equal(unname(confint(fit, "s", level)[1, ]),
                 s * exp(c(-1, 1) * z * se[["s"]] / s))
})

test_that("update fits again, and fix takes values", {
    fit <- sde_fit(sde_model(OU), data <- ou_data())
    held <- update(fit, fix = c(k = 2))
    expect_identical(coef(held)[["k"]], 2)
    expect_identical(attr(logLik(held), "df"), 2L)
    expect_lt(c(logLik(held)), c(logLik(fit)))
})

test_that("forecasts, residuals, paths and simulations are data frames", {
    data <- ou_data()
    fit <- sde_fit(sde_model(OU), data)
    ahead <- predict(fit, ahead = 3)
    expect_true(all(c("series", "time", "x_mean", "x_sd", "x_q05") %in%
                    names(ahead)))
    expect_true(all(ahead$time > 10))
    left <- residuals(fit)
    expect_identical(nrow(left), nobs(fit))
    expect_equal(stats::qnorm(left$x_pit), left$x_z, tolerance = 1e-6)
    expect_identical(rownames(attr(left, "tests")), "x")
    again <- simulate(fit, 2, seed = 4)
    expect_identical(nrow(again), 2L * nrow(data))
    expect_identical(simulate(fit, 2, seed = 4), again)
    expect_identical(nrow(sde_paths(fit, between = 1)), 2L * 201L)
    set.seed(1)
    one <- simulate(fit, times = 0:3, x0 = 1)
    set.seed(1)
    expect_identical(simulate(fit, times = 0:3, x0 = 1), one)
    p <- profile(fit, "m", coef(fit)[["m"]])
    expect_equal(p$loglik, c(logLik(fit)), tolerance = 1e-6)
})

test_that("pictures are drawn", {
    fit <- sde_fit(sde_model(OU), ou_data())
    path <- tempfile(fileext = ".pdf")
    grDevices::pdf(path)
    for (which in c("field", "data", "residuals", "curve")) plot(fit, which)
    grDevices::dev.off()
    expect_gt(file.size(path), 5000)
})

test_that("models and fits survive files", {
    fit <- sde_fit(sde_model(OU), ou_data())
    path <- tempfile()
    saveRDS(fit, path)
    other <- readRDS(path)
    expect_identical(coef(other), coef(fit))
    expect_identical(predict(other, ahead = 2), predict(fit, ahead = 2))
    sde_save(fit, path)
    expect_identical(vcov(sde_load(path)), vcov(fit))
})

test_that("draws are what posterior and coda take", {
    fit <- suppressWarnings(sde_fit(
        sde_model(OU), ou_data(1, 31), method = "gibbs", chains = 2, warmup = 30,
        draws = 40, priors = c("k ~ lognormal(0, 1)", "m ~ normal(0, 2)",
                               "s ~ lognormal(0, 1)")))
    d <- sde_draws(fit)
    expect_identical(dim(d), c(40L, 2L, 4L))
    expect_identical(dimnames(d)$variable, c("k", "m", "s", "lp__"))
    flat <- as.data.frame(fit$draws)
    expect_identical(flat$k, c(d[, , "k"]))
    expect_identical(flat$.chain, rep(1:2, each = 40L))
    skip_if_not_installed("coda")
    chains <- coda::as.mcmc.list(fit)
    expect_identical(coda::nchain(chains), 2L)
    expect_equal(unname(summary(chains)$statistics["m", "Mean"]), mean(d[, , "m"]))
})
