# SPDX-License-Identifier: MIT
# Learning, and what was learned.

new_fit <- function(pointer, record, kept = character(), data = NULL,
                    time = NULL, series = NULL, call = NULL, kind = NULL,
                    external = NULL)
    new_model(pointer, kept, "sde_fit", external, record = record,
              draws = read_draws(pointer, record), data = data, time = time,
              series = series, call = call, kind = kind)

teller <- function() {
    last <- Sys.time()
    function(now) {
        if (Sys.time() - last < 1) return(TRUE)
        last <<- Sys.time()
        all <- if (is.finite(now$expected)) sprintf(" of about %.0f", now$expected)
               else ""
        message(sprintf("iteration %d%s: log-likelihood %.6g per gap, %.0f s",
                        now$iteration, all, now$loglik, now$seconds))
        TRUE
    }
}

sde_fit <- function(model, data, ..., fix = NULL, priors = NULL, time = NULL,
                    series = NULL, progress = NULL, verbose = interactive(),
                    checkpoint = NULL, resume = NULL) {
    call <- match.call()
    options <- list(...)
    if (is.list(fix) || is.numeric(fix)) {
        model <- sde_set(model, as.list(fix))
        fix <- names(fix)
    }
    if (inherits(resume, "sde_fit")) {
        path <- tempfile(fileext = ".fit")
        on.exit(unlink(path))
        sde_save(resume, path)
        resume <- path
    }
    ready <- prepare(model, data, time, series)
    if (identical(c(options$objective, "likelihood")[1], "likelihood") &&
        identical(c(options$method, "likelihood")[1], "likelihood"))
        options <- recalled(model, options)
    options$fix <- fix
    options$keep <- c(model$kept, options$keep)
    options <- alone(model, options)
    if (is.null(progress) && verbose) progress <- teller()
    interrupted <- .Call(c_fit, ready$model, ready$series, options,
                         priors, list(checkpoint, resume), progress)
    record <- .Call(c_model_record, ready$model)
    fit <- new_fit(ready$model, record, model$kept, data, time, series, call,
                   ready$kind, model$handle$external)
    if (interrupted)
        caution("interrupted after ", record$iterations, " iterations; go on ",
                "with update(fit, resume = fit)")
    for (line in strsplit(record$warning, "\n")[[1]]) caution(line)
    fit
}

sde_select <- function(model, data, ..., fix = NULL, time = NULL, series = NULL) {
    call <- match.call()
    ready <- prepare(model, data, time, series)
    found <- .Call(c_select, ready$model, ready$series,
                   alone(model, list(..., fix = fix)))
    s <- found[[1]]
    c <- s$coefficient
    table <- data.frame(chosen = c$chosen, estimate = c$estimate,
                        stderr = c$error, evidence = c$evidence, cost = c$cost,
                        frequency = c$frequency, row.names = c$name)
    k <- s$candidate
    candidates <- data.frame(terms = k$terms, loglik = k$loglik, stderr = k$error,
                             value = k$value)
    candidates$coefficients <- lapply(k$has, function(has) c$name[has])
    fit <- new_fit(found[[2]], .Call(c_model_record, found[[2]]), data = data,
                   time = time, series = series, call = call, kind = ready$kind,
                   external = model$handle$external)
    structure(class = "sde_selection",
              list(fit = fit, chosen = c$name[c$chosen], coefficients = table,
                   candidates = candidates, gaps = s$gaps))
}

print.sde_selection <- function(x, ...) {
    print(x$coefficients, ...)
    cat("\nchosen:", if (length(x$chosen)) paste(x$chosen, collapse = ", ")
                     else "none", "\n")
    invisible(x)
}

# --- R's questions to a fit ----------------------------------------------------

shown <- function(fit) {
    n <- numbers(facts(fit))
    n$error <- fit$record$error_of[n$place]
    n$lower <- fit$record$low[n$place]
    n$upper <- fit$record$high[n$place]
    n[n$shown, ]
}

vcov.sde_fit <- function(object, ...) {
    n <- shown(object)
    r <- object$record
    correlation <- matrix(NA_real_, length(r$error_of), length(r$error_of))
    at <- r$estimate + 1
    if (!is.null(r$correlation)) correlation[at, at] <- r$correlation
    diag(correlation) <- 1
    v <- (correlation * outer(r$error_of, r$error_of))[n$place, n$place,
                                                       drop = FALSE]
    v[is.nan(v)] <- NA
    dimnames(v) <- list(n$name, n$name)
    v
}

# A bounded number has its interval on the scale of a logarithm or logit.
wald <- function(n, level) {
    z <- qnorm(c((1 - level) / 2, (1 + level) / 2))
    below <- is.finite(n$low)
    above <- is.finite(n$high)
    x <- n$value
    both <- below & above
    to <- ifelse(both, log((x - n$low) / (n$high - x)),
          ifelse(below, log(x - n$low), ifelse(above, log(n$high - x), x)))
    slope <- ifelse(both, 1 / (x - n$low) + 1 / (n$high - x),
             ifelse(below, 1 / (x - n$low), ifelse(above, 1 / (n$high - x), 1)))
    ends <- cbind(to + z[1] * n$error * slope, to + z[2] * n$error * slope)
    back <- function(y)
        ifelse(both, n$low + (n$high - n$low) * stats::plogis(y),
        ifelse(below, n$low + exp(y), ifelse(above, n$high - exp(y), y)))
    t(apply(cbind(back(ends[, 1]), back(ends[, 2])), 1, sort, na.last = TRUE))
}

confint.sde_fit <- function(object, parm, level = 0.95, ...) {
    n <- shown(object)
    ends <- if (isTRUE(all.equal(level, 0.95))) cbind(n$lower, n$upper)
            else if (!is.null(object$draws))
                t(apply(as.matrix(as.data.frame(object$draws)[n$name]), 2,
                        quantile, c((1 - level) / 2, (1 + level) / 2)))
            else wald(n, level)
    sides <- 100 * c((1 - level) / 2, (1 + level) / 2)
    dimnames(ends) <- list(n$name, paste(format(sides, trim = TRUE, digits = 3), "%"))
    if (missing(parm)) return(ends)
    if (is.character(parm))
        for (name in setdiff(parm, n$name))
            fail("there is no parameter '", name, "'", suggest(name, n$name))
    ends[parm, , drop = FALSE]
}

logLik.sde_fit <- function(object, ...)
    structure(object$record$loglik,
              df = if (is.nan(object$record$aic)) NA else object$record$free,
              nobs = object$record$gaps, class = "logLik")

nobs.sde_fit <- function(object, ...) object$record$gaps

summary.sde_fit <- function(object, ...) {
    n <- shown(object)
    table <- cbind(Estimate = n$value, "Std. Error" = n$error,
                   "2.5 %" = n$lower, "97.5 %" = n$upper)
    rownames(table) <- n$name
    f <- facts(object)
    structure(class = "summary.sde_fit",
              list(call = object$call, coefficients = table,
                   record = object$record,
                   weights = sum(numbers(f)$weight), text = f$text))
}

print.summary.sde_fit <- function(x, digits = max(3, getOption("digits") - 3), ...) {
    r <- x$record
    cat("data            ", r$data, ": ", r$tracks, " series, ", r$rows, " rows, ",
        r$gaps, " gaps\n", sep = "")
    cat(sprintf("log-likelihood  %.6g +- %.2g  (%d paths, %d steps)\n", r$loglik,
                r$error, r$paths, r$steps))
    if (!is.nan(r$aic))
        cat(sprintf("AIC, BIC        %.6g, %.6g  (%d numbers learned)\n", r$aic,
                    r$bic, r$free))
    cat(sprintf("ended           %s: %s, %d iterations, %.3g s\n\n",
                if (r$chains) "gibbs" else r$optimizer, r$ended, r$iterations,
                r$seconds))
    print(x$coefficients, digits = digits, ...)
    if (x$weights) cat("and", x$weights, "weights of networks\n")
    for (line in strsplit(r$warning, "\n")[[1]]) cat("warning:", line, "\n")
    invisible(x)
}

print.sde_fit <- function(x, digits = max(3, getOption("digits") - 3), ...) {
    if (!is.null(x$call)) cat("Call: ", deparse1(x$call), "\n\n", sep = "")
    print(coef(x), digits = digits, ...)
    cat(sprintf("\nlog-likelihood %.6g (%d numbers learned, %d gaps), %s\n",
                x$record$loglik, x$record$free, x$record$gaps, x$record$ended))
    invisible(x)
}

sde_effects <- function(fit) {
    r <- fit$record
    if (is.null(r$effect)) return(NULL)
    each <- unlist(lapply(facts(fit)$params, function(p)
        if (p$effect && p$rank) paste0(p$name, "[", seq_len(p$rows), "]")
        else if (p$effect) p$name))
    e <- array(r$effect, c(r$effects, r$tracks, 2))
    data.frame(series = rep(r$subject, each = r$effects),
               effect = rep(each, r$tracks), estimate = c(e[, , 1]),
               stderr = c(e[, , 2]))
}

# --- Draws ---------------------------------------------------------------------

# An array (iteration, chain, variable), as posterior::as_draws_array takes it.
read_draws <- function(pointer, record) {
    d <- .Call(c_model_draws, pointer)
    if (is.null(d)) return(NULL)
    f <- .Call(c_model_facts, pointer)
    n <- numbers(f)
    name <- n$name[match(d$place + 1, n$place)]
    value <- d$value
    if (!is.null(d$effect)) {
        each <- unlist(lapply(f$params, function(p) if (p$effect)
            paste0(p$name, "[", if (p$rank) paste0(seq_len(p$rows), ","))))
        name <- c(name, paste0(rep(each, d$tracks),
                               rep(record$subject, each = d$effects), "]"))
        value <- c(value, d$effect)
    }
    structure(array(c(value, d$lp), c(d$draws, d$chains, length(name) + 1),
                    dimnames = list(iteration = NULL, chain = NULL,
                                    variable = c(name, "lp__"))),
              class = c("sde_draws", "array"))
}

sde_draws <- function(fit) {
    if (is.null(fit$draws))
        fail("this fit has no draws; sde_fit(..., method = \"gibbs\") makes them, ",
             "and a file does not keep them")
    unclass(fit$draws)
}

# With the columns by which posterior::as_draws_df() knows the chains.
as.data.frame.sde_draws <- function(x, ...) {
    d <- dim(x)
    flat <- matrix(unclass(x), d[1] * d[2], d[3],
                   dimnames = list(NULL, dimnames(x)$variable))
    data.frame(flat, .chain = rep(seq_len(d[2]), each = d[1]),
               .iteration = rep(seq_len(d[1]), d[2]),
               .draw = seq_len(d[1] * d[2]), check.names = FALSE)
}

as.mcmc.list.sde_fit <- function(x, ...) {
    draws <- sde_draws(x)
    coda::mcmc.list(lapply(seq_len(dim(draws)[2]), function(k)
        coda::mcmc(array(draws[, k, ], dim(draws)[c(1, 3)],
                         list(NULL, dimnames(draws)$variable)))))
}

as.mcmc.sde_fit <- function(x, ...) {
    chains <- as.mcmc.list.sde_fit(x)
    if (length(chains) == 1) chains[[1]] else chains
}
