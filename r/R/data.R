# SPDX-License-Identifier: MIT
# Data: data frames, ts, files in; data frames out.

DAY <- 86400

# Dates are days since 1970-01-01, and so are times of day.
as_number <- function(x, name) {
    if (inherits(x, "POSIXlt")) x <- as.POSIXct(x)
    if (inherits(x, "POSIXct")) return(as.double(x) / DAY)
    if (inherits(x, "difftime")) return(as.double(x, units = "days"))
    if (is.factor(x) || is.character(x) || is.list(x) || is.complex(x))
        fail("data: '", name, "' has ",
             if (is.factor(x)) "levels, not numbers"
             else "entries that are not numbers",
             "; convert it, a date by as.Date()")
    as.double(x)
}

# What times were, to give them back.
time_kind <- function(x)
    list(class = if (inherits(x, "Date")) "Date"
                 else if (inherits(x, "POSIXt")) "POSIXct" else "",
         zone = attr(as.POSIXlt(if (inherits(x, "POSIXt")) x[1] else NA), "tzone")[1])

as_time <- function(x, kind) {
    if (is.null(kind) || kind$class == "") return(x)
    if (kind$class == "Date" && all(abs(x - round(x)) < 1e-9))
        return(as.Date(round(x), origin = "1970-01-01"))
    zone <- if (kind$class == "Date" || is.na(kind$zone)) "UTC" else kind$zone
    as.POSIXct(x * DAY, origin = "1970-01-01", tz = zone)
}

from_ts <- function(data, names) {
    values <- as.matrix(unclass(data))
    if (is.null(colnames(values)))
        colnames(values) <- if (ncol(values) == length(names)) names
                            else paste0("x", seq_len(ncol(values)))
    data.frame(time = as.double(stats::time(data)), values, check.names = FALSE)
}

pick <- function(given, usual, known, what) {
    if (!is.null(given)) {
        if (!given %in% known)
            fail("data: there is no column '", given, "'", suggest(given, known))
        return(given)
    }
    found <- intersect(usual, known)
    if (length(found)) found[1] else NULL
}

# A list: the library's series, and how times looked.
read_series <- function(data, names, category, time, series) {
    if (inherits(data, "ts")) data <- from_ts(data, names)
    if (is.matrix(data)) data <- as.data.frame(data)
    if (!is.list(data) || is.null(names(data)))
        fail("data: expected is a data frame, a ts, or the name of a CSV file")
    known <- names(data)
    time <- pick(time, c("time", "t"), known)
    series <- pick(series, c("series", "id"), known)
    if (is.null(time))
        fail("data: there is no column 'time' or 't'; say which by time = \"...\"")
    if (is.null(names)) {
        names <- setdiff(known, c(time, series))
        category <- rep(FALSE, length(names))
    }
    for (name in setdiff(names, known))
        fail("data: there is no column '", name, "'", suggest(name, known))
    rows <- length(data[[time]])
    if (!rows) fail("data: there are no rows")
    label <- if (is.null(series)) rep("1", rows) else as.character(data[[series]])
    tracks <- unique(label)
    place <- match(label, tracks)
    order <- order(place)
    words <- character()
    value <- matrix(0, rows, length(names))
    for (i in seq_along(names)) {
        column <- data[[names[i]]]
        if (category[i]) {
            text <- as.character(column)
            words <- c(words, unique(text[!is.na(text)]))
            column <- .Call(c_category, enc2utf8(text))
        } else column <- as_number(column, names[i])
        value[, i] <- column[order]
    }
    pointer <- .Call(c_series, as.integer(c(0, cumsum(tabulate(place)))),
                     enc2utf8(tracks), enc2utf8(names),
                     as_number(data[[time]], time)[order], value,
                     enc2utf8(unique(words)))
    list(pointer = pointer, kind = time_kind(data[[time]]))
}

# The data for a model: a copy of the model that knows the levels, the series.
prepare <- function(model, data, time = NULL, series = NULL) {
    copy <- .Call(c_model_copy, pointer_of(model))
    if (is.null(data)) fail("data: there are none; give a data frame")
    if (is.character(data) && length(data) == 1)
        s <- list(pointer = .Call(c_series_read, copy,
                                  enc2utf8(path.expand(data)), time, series))
    else {
        f <- .Call(c_model_facts, copy)
        s <- read_series(data, f$data, f$category, time, series)
    }
    .Call(c_model_bind, copy, s$pointer)
    list(model = copy, series = s$pointer, kind = s$kind)
}

# Inputs of simulations and forecasts.
input_series <- function(model, inputs, time, series) {
    if (is.null(inputs)) return(NULL)
    f <- facts(model)
    names <- setdiff(c(setdiff(f$columns, f$states), f$given), "series")
    read_series(inputs, names, rep(FALSE, length(names)), time, series)$pointer
}

series_frame <- function(pointer, kind = NULL) {
    s <- .Call(c_series_list, pointer)
    value <- matrix(s$value, s$rows, s$columns)
    colnames(value) <- s$name
    frame_of(s$label, rep(seq_len(s$tracks), diff(s$start)), s$time, value, kind)
}

frame_of <- function(labels, track, time, columns, kind = NULL)
    data.frame(series = labels[track], time = as_time(time, kind), columns,
               check.names = FALSE)
