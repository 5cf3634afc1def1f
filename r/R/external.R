# SPDX-License-Identifier: MIT
# Functions of R in a model: `external f(x) -> 1` in its text, f = function(x, p)
# beside it.

sde_external <- function(value, vjp = NULL, jvp = NULL, start = NULL,
                         weights = FALSE) {
    for (f in list(value, vjp, jvp))
        if (!is.null(f) && !is.function(f))
            fail("sde_external(): value, vjp and jvp are functions")
    structure(list(value = value, vjp = vjp, jvp = jvp, start = start,
                   weights = weights), class = "sde_external")
}

# What was given in the dots of sde_model(), by name.
externals <- function(...) {
    given <- list(...)
    if (!length(given)) return(NULL)
    if (is.null(names(given)) || any(names(given) == ""))
        fail("functions of a model are given by name: sde_model(text, f = function(x, p) ...)")
    for (name in names(given))
        if (!is.function(given[[name]]) && !inherits(given[[name]], "sde_external"))
            fail(name, ": expected is a function, or sde_external()")
    lapply(given, function(f) if (is.function(f)) sde_external(f) else f)
}

# Numbers of the right length, or a failure that names the function.
counted <- function(name, what, answer, length) {
    if (!is.numeric(answer) || length(answer) != length)
        fail(name, ": ", what, " returned ", length(answer), " values of class ",
             class(answer)[1], "; expected are ", length, " numbers")
    as.double(answer)
}

# As C calls them.
wrapped <- function(name, f, size) {
    inputs <- size[1]
    outputs <- size[2]
    parameters <- size[3]
    list(function(x, p) counted(name, "the value", f$value(x, p),
                                nrow(x) * outputs),
         if (!is.null(f$vjp)) function(x, p, f_bar) {
             bar <- f$vjp(x, p, f_bar)
             if (!is.list(bar) || length(bar) != 2)
                 fail(name, ": vjp returns list(x_bar, p_bar)")
             c(counted(name, "x_bar of vjp", bar[[1]], length(x)),
               counted(name, "p_bar of vjp", as.numeric(bar[[2]]), parameters))
         },
         if (!is.null(f$jvp)) function(x, p, x_dot)
             counted(name, "jvp", f$jvp(x, p, x_dot), nrow(x) * outputs))
}

give <- function(pointer, external) {
    known <- .Call(c_external_names, pointer)
    for (name in names(external)) {
        if (!name %in% known)
            fail("the text of the model has no 'external ", name, "'",
                 if (length(known)) suggest(name, known))
        f <- external[[name]]
        size <- .Call(c_external_size, pointer, enc2utf8(name))
        if (!size[3]) size[3] <- length(f$start)
        start <- as.double(if (is.null(f$start)) rep(0, size[3]) else f$start)
        if (length(start) != size[3])
            fail(name, ": start has ", length(start), " numbers, the text says ",
                 size[3], " parameters")
        .Call(c_model_external, pointer, enc2utf8(name), wrapped(name, f, size),
              start, f$weights)
    }
}

# R has one thread.
alone <- function(model, options) {
    if (!length(model$handle$external)) return(options)
    if (!identical(as.numeric(c(options$threads, 1)[1]), 1))
        fail("a model with functions of R runs in one thread; leave 'threads' out")
    options$threads <- 1
    options
}
