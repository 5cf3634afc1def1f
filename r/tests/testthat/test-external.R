# SPDX-License-Identifier: MIT

text <- "state x
external f(x) -> 1 : 2 parameters
param s = 0.7 > 0
dx = f*dt + s*dW"

formula <- "state x
param a = 1, b = 1, s = 0.7 > 0
dx = (a*x - b*x^3)*dt + s*dW"

well <- function(x, p) p[1] * x - p[2] * x^3
slopes <- sde_external(
    well, start = c(1, 1),
    vjp = function(x, p, f_bar)
        list(f_bar * (p[1] - 3 * p[2] * x^2), c(sum(f_bar * x), -sum(f_bar * x^3))),
    jvp = function(x, p, x_dot) x_dot * (p[1] - 3 * p[2] * x^2))

rows <- simulate(sde_model(formula), times = seq(0, 20, 0.25), x0 = 0.5, seed = 3)

test_that("a function of R is the formula", {
    known <- sde_loglik(sde_model(formula), rows, steps = 4, paths = 16, form = "midpoint",
                        gradient = TRUE)
    for (f in list(sde_external(well, start = c(1, 1)), slopes)) {
        found <- sde_loglik(sde_model(text, f = f), rows, steps = 4, paths = 16, form = "midpoint",
                            gradient = TRUE)
        expect_equal(found$loglik, known$loglik, tolerance = 1e-7)
        expect_equal(sort(unname(found$gradient)), sort(unname(known$gradient)),
                     tolerance = 1e-5)
    }
})

test_that("it is learned, and survives saveRDS", {
    known <- sde_fit(sde_model(formula), rows, form = "midpoint", steps = 4,
                     paths = 16, verbose = FALSE)
    fit <- sde_fit(sde_model(text, f = slopes), rows, form = "midpoint",
                   steps = 4, paths = 16, verbose = FALSE)
    expect_equal(unname(coef(fit)[c("f.p[1]", "f.p[2]", "s")]),
                 unname(coef(known)[c("a", "b", "s")]), tolerance = 1e-3)
    path <- tempfile(fileext = ".rds")
    saveRDS(fit, path)
    again <- readRDS(path)
    expect_equal(sde_field(again, 0.5)$drift_x, sde_field(fit, 0.5)$drift_x)
    expect_true(all(is.finite(predict(fit, ahead = 2)$x_mean)))
    sde_save(fit, path <- tempfile(fileext = ".fit"))
    expect_equal(coef(sde_load(path, f = slopes)), coef(fit))
    expect_error(sde_field(sde_load(path), 0.5), "f")
})

test_that("what is wrong is said", {
    expect_error(sde_model(text, g = well), "no 'external g'; there are f",
                 class = "girsanov_input_error")
    expect_error(sde_model(text, f = 1), "expected is a function")
    expect_error(sde_model(text, well), "by name")
    expect_error(sde_model(text, f = sde_external(well, start = 1:3)), "2 parameters")
    expect_error(sde_loglik(sde_model(text, f = slopes), rows, threads = 2),
                 "one thread")
    short <- sde_model(text, f = function(x, p) 1:3)
    expect_error(sde_loglik(short, rows), "expected are [0-9]+ numbers")
    failing <- sde_model(text, f = function(x, p) stop("out of coffee"))
    expect_error(sde_loglik(failing, rows), "out of coffee")
    expect_error(sde_field(failing, 0.5), "out of coffee")
    # and the next call is as if nothing had been
    expect_true(is.finite(sde_loglik(sde_model(formula), rows)$loglik))
})

test_that("a function may call the library", {
    inner <- sde_model(formula)
    f <- function(x, p) sde_field(inner, as.vector(x))$drift_x
    model <- sde_model("state x\nexternal f(x) -> 1\ndx = f*dt + 0.7*dW", f = f)
    expect_equal(sde_loglik(model, rows, steps = 4, paths = 16, form = "midpoint")$loglik,
                 sde_loglik(inner, rows, steps = 4, paths = 16, form = "midpoint")$loglik,
                 tolerance = 1e-7)
})
