# SPDX-License-Identifier: MIT

NET <- "state x\nnet f(x) -> 1 : 8 silu\nparam s = 1 > 0\ndx = f*dt + s*dW"

test_that("progress is told, and ends a fit, which goes on to the same bits", {
    data <- ou_data(1)
    net <- sde_model(NET)
    seen <- integer()
    half <- sde_fit(net, data, iterations = 20, progress = function(now) {
        seen <<- c(seen, now$iteration)
        now$iteration < 10
    })
    expect_identical(seen, 1:10)
    expect_identical(half$record$ended, "stopped")
    whole <- sde_fit(net, data, iterations = 20)
    expect_identical(coef(update(half, resume = half, progress = NULL), all = TRUE),
                     coef(whole, all = TRUE))
})

test_that("an error in progress comes out, and the package goes on", {
    data <- ou_data(1)
    expect_error(sde_fit(sde_model(NET), data, iterations = 20,
                         progress = function(now) stop("enough")), "enough")
    caught <- withVisible(tryCatch(
        sde_fit(sde_model(NET), data, iterations = 20,
                progress = function(now) signalCondition(
                    structure(class = c("mine", "condition"), list()))),
        mine = function(c) "left"))$value
    expect_identical(caught, "left")
    expect_true(is.finite(sde_loglik(sde_model(OU), data)$loglik))
})

# Another process sends the signal of Ctrl-C.
interrupted <- function(expression) {
    skip_on_os("windows")
    system(sprintf("(sleep 1; kill -INT %d) &", Sys.getpid()))
    expression
}

test_that("an interrupt ends a fit, which is returned", {
    data <- ou_data(1)
    said <- character()
    fit <- withCallingHandlers(
        interrupted(sde_fit(sde_model(NET), data, iterations = 1e6, patience = 0)),
        girsanov_caution = function(w) {
            said <<- c(said, conditionMessage(w))
            invokeRestart("muffleWarning")
        })
    expect_match(said, "interrupted after", all = FALSE)
    expect_s3_class(fit, "sde_fit")
    expect_identical(fit$record$ended, "stopped")
})

test_that("an interrupt ends other calls as R's own", {
    data <- ou_data(8)
    got <- tryCatch(
        interrupted(sde_loglik(sde_model("state x\ndx = -x^3*dt + dW"), data,
                               paths = 2^17, steps = 256)),
        interrupt = function(i) "interrupted")
    expect_identical(got, "interrupted")
})

test_that("an interrupt of a call inside a fit's progress ends that call alone", {
    data <- ou_data(1)
    many <- ou_data(8)
    heavy <- sde_model("state x\ndx = -x^3*dt + dW")
    got <- NULL
    seen <- 0
    fit <- sde_fit(sde_model(NET), data, iterations = 5, progress = function(now) {
        seen <<- now$iteration
        if (now$iteration == 2)
            got <<- tryCatch(
                interrupted(sde_loglik(heavy, many, paths = 2^17, steps = 256)),
                interrupt = function(i) "interrupted")
        TRUE
    })
    expect_identical(got, "interrupted")
    expect_equal(seen, 5)
    expect_equal(fit$record$iterations, 5)
})
