# SPDX-License-Identifier: MIT
# What models and fits do with data.

# The fit's own data unless others are given.
data_of <- function(model, data) if (is.null(data)) model$data else data
own <- function(model, data, name) if (is.null(data)) model[[name]] else NULL

ready_for <- function(model, data, time, series)
    prepare(model, data_of(model, data),
            if (is.null(time)) own(model, data, "time") else time,
            if (is.null(series)) own(model, data, "series") else series)

sde_loglik <- function(model, data = NULL, ..., gradient = FALSE, time = NULL,
                       series = NULL) {
    ready <- ready_for(model, data, time, series)
    options <- alone(model, c(recalled(model, list(...)), gradient = gradient))
    r <- .Call(c_loglik, ready$model, ready$series, options)
    f <- .Call(c_model_facts, ready$model)
    n <- numbers(f)
    if (!is.null(r$gradient)) r$gradient <- setNames(r$gradient[n$place], n$name)
    r$by_gap <- gap_frame(r$gap, ready)
    names(r)[names(r) == "error"] <- "stderr"
    r <- r[setdiff(names(r), c("gap", "groups", "values", "memory"))]
    r$joint <- isTRUE(options$joint)
    doubts(r, options)
    structure(r, class = "sde_loglik")
}

FLAGS <- c(ess = 1, khat = 2, steps = 4, modes = 8, nodes = 16)

gap_frame <- function(gap, ready) {
    if (is.null(gap)) return(NULL)
    s <- .Call(c_series_list, ready$series)
    flags <- vapply(gap$flags, function(bits)
        paste(names(FLAGS)[bitwAnd(as.integer(bits), FLAGS) > 0], collapse = " "), "")
    data.frame(series = s$label[gap$track + 1],
               from = as_time(s$time[gap$from + 1], ready$kind),
               to = as_time(s$time[gap$to + 1], ready$kind), loglik = gap$loglik,
               stderr = gap$error, ess = gap$ess, khat = gap$khat,
               discretisation = gap$discretisation, reference = gap$reference,
               form = gap$form, flags)
}

far_apart <- function(r)
    isTRUE(abs(r$discretisation) > max(3 * r$stderr, 0.1, 0.02 * r$gaps))

doubts <- function(r, options) {
    if (isTRUE(options$tolerance > 0) && !r$settled)
        caution("the tolerance was not reached with ", r$paths, " paths and ",
                r$steps, " steps")
    if (r$flagged)
        caution(r$flagged, " of ", nrow(r$by_gap), " ",
                if (r$joint) "series" else if (r$observe != "auto") "rows" else "gaps",
                " are not to be trusted; by_gap$flags says which")
    if (far_apart(r))
        caution("the steps are too long: the log-likelihood moves by ",
                sprintf("%+.3g", r$discretisation),
                " when they double; take more steps")
}

logLik.sde_loglik <- function(object, ...)
    structure(object$loglik, df = NA, nobs = object$gaps, class = "logLik")

print.sde_loglik <- function(x, ...) {
    cat(sprintf("log-likelihood  %.6f +- %.6f\n", x$loglik, x$stderr))
    cat(sprintf("gaps, paths     %d, %d\nflagged         %d\n", x$gaps, x$paths,
                x$flagged))
    invisible(x)
}

# --- Simulations ---------------------------------------------------------------

simulate.sde_model <- function(object, nsim = 1, seed = NULL, times = NULL,
                               x0 = NULL, inputs = NULL, ...) {
    if (is.null(seed)) seed <- sample.int(.Machine$integer.max, 1)
    f <- facts(object)
    if (is.null(times)) return(replicates(object, nsim, seed, f, inputs, ...))
    kind <- time_kind(times)
    options <- list(..., times = as_number(times, "times"), tracks = nsim, seed = seed)
    start <- NULL
    if (is.character(x0)) {
        if (!identical(x0, "normal"))
            fail("x0: expected are numbers, or \"normal\"")
        options$start_sd <- c(options$start_sd, 1)[1]
    } else if (!is.null(x0)) start <- first_rows(x0, nsim, f$states)
    s <- .Call(c_simulate, pointer_of(object), alone(object, options), start,
               input_series(object, inputs, NULL, NULL))
    structure(series_frame(s, kind), seed = seed)
}

first_rows <- function(x0, tracks, states) {
    x0 <- as.matrix(if (is.data.frame(x0)) x0[states] else x0)
    if (!length(dim(x0)) || nrow(x0) != tracks || ncol(x0) != length(states)) {
        if (!length(x0) %in% c(1, length(states)))
            fail("x0: expected is a number, ", length(states), " numbers, or a ",
                 "matrix of ", tracks, " by ", length(states))
        x0 <- matrix(c(x0), tracks, length(states), byrow = TRUE)
    }
    storage.mode(x0) <- "double"
    x0
}

# The data of a fit again: its series at their times, from their first rows.
replicates <- function(fit, nsim, seed, f, inputs, ...) {
    if (is.null(fit$data))
        fail("simulate(): at which times? times = seq(0, 10, 0.1)")
    ready <- ready_for(fit, NULL, NULL, NULL)
    s <- .Call(c_series_list, ready$series)
    value <- matrix(s$value, s$rows, s$columns, dimnames = list(NULL, s$name))
    all <- list()
    for (k in seq_len(nsim)) for (r in seq_len(s$tracks)) {
        rows <- (s$start[r] + 1):s$start[r + 1]
        seen <- all(f$states %in% s$name)
        x0 <- if (seen) value[rows[1], f$states]
        one <- simulate(fit, 1, (seed + (k - 1) * s$tracks + r - 1) %% 2^31,
                        s$time[rows], if (!anyNA(x0)) x0, inputs, ...)
        one$series <- s$label[r]
        one$time <- as_time(one$time, fit$kind)
        all[[length(all) + 1]] <- cbind(sim = k, one)
    }
    structure(do.call(rbind, all), seed = seed)
}

# --- Forecasts, residuals, paths -----------------------------------------------

bands <- function(r, names, labels, levels, quantile, kind) {
    columns <- list()
    for (i in seq_along(names)) {
        columns[[paste0(names[i], "_mean")]] <- r$mean[, i]
        columns[[paste0(names[i], "_sd")]] <- r$sd[, i]
        for (q in seq_along(levels)) {
            percent <- format(100 * levels[q], digits = 12, trim = TRUE)
            if (nchar(percent) < 2) percent <- paste0("0", percent)
            columns[[paste0(names[i], "_q", percent)]] <- quantile(i, q)
        }
    }
    frame_of(labels, r$track + 1, r$time,
             as.data.frame(columns, check.names = FALSE), kind)
}

numeric_times <- function(options) {
    for (name in intersect(c("times", "time", "quantiles", "quantile"), names(options)))
        options[[name]] <- as_number(options[[name]], name)
    options
}

predict.sde_model <- function(object, newdata = NULL, ..., until = NULL,
                              inputs = NULL, time = NULL, series = NULL) {
    ready <- ready_for(object, newdata, time, series)
    if (!is.null(inputs))
        ready$series <- .Call(c_series_join, ready$series,
                              input_series(object, inputs, time, series))
    s <- .Call(c_series_list, ready$series)
    if (!is.null(until))
        until <- rep_len(as_number(until, "until"), s$tracks)
    options <- numeric_times(forecast_options(object, list(...)))
    r <- .Call(c_predict, ready$model, ready$series, alone(object, options), until)
    scores <- NULL
    if (r$scores) {
        scores <- as.data.frame(r$score)
        scores$column <- r$name[scores$column + 1]
    }
    if (!is.null(options$rolling)) return(scores)
    all <- bands(r, r$name, s$label, r$level, function(i, q) r$quantile[, q, i],
                 ready$kind)
    if (!is.null(scores)) attr(all, "scores") <- scores
    all
}

residuals.sde_model <- function(object, data = NULL, ..., time = NULL,
                                series = NULL) {
    ready <- ready_for(object, data, time, series)
    r <- .Call(c_residuals, ready$model, ready$series,
               alone(object, forecast_options(object, list(...))))
    s <- .Call(c_series_list, ready$series)
    c <- r$column
    columns <- list()
    for (i in seq_along(c$name)) {
        columns[[paste0(c$name[i], "_pit")]] <- c$u[[i]]
        columns[[paste0(c$name[i], "_z")]] <- c$z[[i]]
    }
    all <- frame_of(s$label, r$track + 1, s$time[r$row + 1],
                    as.data.frame(columns, check.names = FALSE), ready$kind)
    attr(all, "tests") <- data.frame(
        rows = c$rows, distance = c$distance, uniform_p = c$uniform_p,
        mean = c$mean, sd = c$sd, ljung_box_p = c$ljung_p,
        square_ljung_box_p = c$square_p, row.names = c$name)
    all
}

sde_paths <- function(model, data = NULL, ..., time = NULL, series = NULL) {
    ready <- ready_for(model, data, time, series)
    given <- recalled(model, list(...))
    if (is.null(list(...)$paths)) given$paths <- NULL
    if (!asked_scan(model)) given[c("observe", "points")] <- list(...)[c("observe", "points")]
    r <- .Call(c_paths, ready$model, ready$series,
               alone(model, numeric_times(given)))
    s <- .Call(c_series_list, ready$series)
    names <- facts(model)$states
    all <- bands(r, names, s$label, r$probability,
                 function(i, q) r$quantile[, i, q], ready$kind)
    if (!is.null(r$draw)) {
        dimnames(r$draw) <- list(NULL, names, NULL)
        attr(all, "draws") <- r$draw
    }
    all
}

sde_diagnose <- function(model, data = NULL, ..., time = NULL, series = NULL) {
    found <- suppressWarnings(sde_loglik(model, data, ..., time = time,
                                         series = series),
                              classes = "girsanov_caution")
    left <- tryCatch(residuals(model, data, time = time, series = series),
                     girsanov_memory_error = stop, girsanov_error = function(e) NULL)
    tests <- attr(left, "tests")
    p <- c("uniform_p", "ljung_box_p", "square_ljung_box_p")
    wrong <- rownames(tests)[apply(tests[p] < 1e-3, 1, any, na.rm = TRUE)]
    reliable <- !found$flagged && !far_apart(found)
    rests <- inherits(model, "sde_fit") || found$observe != "auto"
    structure(class = "sde_diagnosis",
              list(loglik = found, residuals = left, tests = tests, wrong = wrong,
                   reliable = reliable,
                   model = if (is.null(left)) NA_character_
                           else if (!length(wrong)) "not contradicted"
                           else if (reliable || !rests) "contradicted"
                           else "undecided"))
}

print.sde_diagnosis <- function(x, ...) {
    print(x$loglik)
    cat(if (x$reliable) "The estimate can be trusted.\n"
        else "The estimate is not to be trusted; loglik$by_gap says where.\n")
    if (!is.null(x$tests)) print(x$tests, digits = 3)
    if (!is.na(x$model)) cat(switch(x$model,
        "not contradicted" = "Residuals do not contradict the model.\n",
        contradicted = paste("Residuals contradict the model:",
                             paste(x$wrong, collapse = ", "), "\n"),
        "Residuals are not what the model says, but the estimate is at doubt, too.\n"))
    invisible(x)
}

profile.sde_model <- function(fitted, which, values, data = NULL, ..., fix = NULL,
                              time = NULL, series = NULL) {
    ready <- ready_for(fitted, data, time, series)
    options <- alone(fitted, recalled(fitted, list(...)))
    values <- as.double(values)
    best <- .Call(c_profile, ready$model, ready$series, options, enc2utf8(which),
                  values)
    data.frame(value = values, loglik = best)
}

# --- Drift, physics, a first look ----------------------------------------------

sde_field <- function(model, points, time = 0) {
    f <- facts(model)
    if (!is.data.frame(points))
        points <- as.data.frame(matrix(points, ncol = length(f$columns),
                                       dimnames = list(NULL, f$columns)))
    for (name in setdiff(f$columns, names(points)))
        fail("points: there is no column '", name, "'", suggest(name, names(points)))
    x <- matrix(unlist(lapply(points[f$columns], as.double)), nrow(points))
    r <- .Call(c_field, pointer_of(model), rep_len(as.double(time), nrow(points)), x)
    dim <- length(f$states)
    columns <- setNames(as.data.frame(x), f$columns)
    for (i in seq_len(dim)) {
        columns[[paste0("drift_", f$states[i])]] <- r[[1]][, i]
        if (!is.null(r[[3]])) columns[[paste0("drift_sd_", f$states[i])]] <- r[[3]][, i]
        for (k in seq_len(f$noises))
            columns[[paste0("diffusion_", f$states[i], "_", k)]] <- r[[2]][, k, i]
    }
    columns
}

sde_physics <- function(model, data = NULL, ..., regions = NULL, limits = NULL,
                        at = NULL, time = NULL, series = NULL) {
    f <- facts(model)
    options <- list(...)
    if (!is.null(limits))
        options$end <- c(vapply(f$states, function(s) c(limits[[s]], -Inf)[1], 0),
                         vapply(f$states, function(s) c(limits[[s]], -Inf, Inf)[2], 0))
    if (!is.null(at)) options <- c(options, frozen = TRUE, at = at)
    ready <- if (!is.null(data_of(model, data))) ready_for(model, data, time, series)
             else list(model = pointer_of(model), series = NULL)
    r <- .Call(c_physics, ready$model, ready$series, alone(model, options),
               regions[1], regions[2])
    for (line in strsplit(r$warning, "\n")[[1]]) caution(line)
    structure(r, class = "sde_physics")
}

# Numbers with their 95 % intervals, without densities, which are in the list.
as.data.frame.sde_physics <- function(x, ...) {
    rows <- function(names, q) data.frame(name = names, as.data.frame(q))
    points <- lapply(seq_len(x$points), function(k)
        rows(paste0("fixed point ", k, ", ", x$point$stability[k], ": ", x$name),
             x$point$x[[k]]))
    ways <- lapply(seq_len(x$passages), function(k) {
        way <- paste0(x$passage$from[k], " -> ", x$passage$to[k])
        rbind(rows(paste("time", way), x$passage$time[[k]]),
              rows(paste("barrier", way), x$passage$barrier[[k]]))
    })
    all <- do.call(rbind, c(points, list(
        rows(paste("mean of", x$name), x$mean),
        rows(paste("deviation of", x$name), x$sd),
        rows(paste("relaxation time", seq_along(x$relaxation$value)), x$relaxation),
        rows("entropy production", x$entropy)), ways))
    all <- all[is.finite(all$value), ]
    rownames(all) <- NULL
    all
}

print.sde_physics <- function(x, digits = max(3, getOption("digits") - 3), ...) {
    all <- as.data.frame(x)
    keep <- c("value", if (x$draws) c("low", "high"))
    print(as.matrix(data.frame(all[keep], row.names = all$name)), digits = digits, ...)
    invisible(x)
}

sde_look <- function(data, time = NULL, series = NULL, seed = 1, threads = 0) {
    s <- if (is.character(data) && length(data) == 1)
        .Call(c_series_read_all, enc2utf8(path.expand(data)), time, series)
    else read_series(data, NULL, NULL, time, series)$pointer
    r <- .Call(c_look, s, seed, threads)
    structure(list(report = r$report, columns = as.data.frame(r$column),
                   models = r$model), class = "sde_look")
}

print.sde_look <- function(x, ...) {
    cat(x$report)
    invisible(x)
}

# --- Pictures ------------------------------------------------------------------

plot.sde_fit <- function(x, which = c("field", "data", "residuals", "curve"), ...) {
    switch(match.arg(which), field = plot_field(x, ...), data = plot_data(x, ...),
           residuals = {
               z <- residuals(x)
               z <- z[[grep("_z$", names(z))[1]]]
               stats::qqnorm(z, main = "residuals", ...)
               abline(0, 1)
           },
           curve = {
               curve <- x$record$curve
               if (is.null(curve)) fail("this fit has no learning curve")
               plot(curve[, 1], curve[, 3], type = "l", xlab = "iteration",
                    ylab = "log-likelihood per gap", ...)
           })
    invisible(x)
}

# The drift along each state; others stay in the middle of the data.
plot_field <- function(x, ...) {
    f <- facts(x)
    r <- x$record
    middle <- (r$lowest + r$highest) / 2
    old <- par(mfrow = c(1, length(f$states)))
    on.exit(par(old))
    for (i in seq_along(f$states)) {
        points <- matrix(middle, 200, length(middle), byrow = TRUE)
        points[, i] <- seq(r$lowest[i], r$highest[i], length.out = 200)
        v <- sde_field(x, points)
        drift <- v[[paste0("drift_", f$states[i])]]
        sd <- v[[paste0("drift_sd_", f$states[i])]]
        if (is.null(sd)) sd <- 0 * drift
        band <- cbind(drift - 2 * sd, drift + 2 * sd)
        plot(points[, i], drift, type = "n", ylim = range(band, finite = TRUE),
             xlab = f$states[i], ylab = paste("drift of", f$states[i]), ...)
        if (any(sd > 0))
            polygon(c(points[, i], rev(points[, i])), c(band[, 1], rev(band[, 2])),
                    col = adjustcolor("grey", 0.5), border = NA)
        abline(h = 0, lty = 3)
        lines(points[, i], drift)
    }
}

# The data, and the forecast after it.
plot_data <- function(x, ...) {
    ready <- ready_for(x, NULL, NULL, NULL)
    d <- series_frame(ready$series, ready$kind)
    ahead <- predict(x)
    name <- intersect(sub("_mean$", "", grep("_mean$", names(ahead), value = TRUE)),
                      names(d))[1]
    band <- ahead[paste0(name, c("_q05", "_mean", "_q95"))]
    plot(d$time, d[[name]], type = "n", xlim = range(d$time, ahead$time), xlab = "time",
         ylab = name, ylim = range(d[[name]], band, na.rm = TRUE), ...)
    all <- unique(d$series)
    colours <- if (length(all) > 1) grDevices::hcl.colors(length(all), "Dark 3")
               else "black"
    for (i in seq_along(all)) {
        of <- d$series == all[i]
        lines(d$time[of], d[[name]][of], col = colours[i])
        of <- ahead$series == all[i]
        for (k in 1:3)
            lines(ahead$time[of], band[of, k], lty = if (k == 2) 2 else 3,
                  col = colours[i])
    }
}
