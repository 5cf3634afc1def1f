# SPDX-License-Identifier: MIT
# Models. An object has the library's model behind a pointer, and the bytes of
# its file, from which it comes back to life after readRDS() or load().

new_model <- function(pointer, kept = character(), class = NULL,
                      external = NULL, ...) {
    handle <- new.env(parent = emptyenv())
    handle$pointer <- pointer
    handle$external <- external
    path <- tempfile(fileext = ".fit")
    on.exit(unlink(path))
    .Call(c_model_write, pointer, path)
    handle$bytes <- readBin(path, "raw", file.size(path))
    structure(list(handle = handle, kept = kept, ...),
              class = c(class, "sde_model"))
}

pointer_of <- function(model) {
    if (!inherits(model, "sde_model"))
        fail("this is no model; sde_model() makes one")
    handle <- model$handle
    if (!.Call(c_alive, handle$pointer)) {
        path <- tempfile(fileext = ".fit")
        on.exit(unlink(path))
        writeBin(handle$bytes, path)
        pointer <- .Call(c_model_read, path)
        give(pointer, handle$external)
        handle$pointer <- pointer
    }
    handle$pointer
}

facts <- function(model) .Call(c_model_facts, pointer_of(model))

sde_model <- function(text, ..., file = NULL, seed = 1) {
    external <- externals(...)
    if (!is.null(file)) return(sde_load(..., file = file))
    text <- paste(text, collapse = "\n")
    if (!grepl("\n", text) && file.exists(text))
        fail(text, " is a file; sde_model(file = \"", text, "\") reads it")
    pointer <- .Call(c_model_parse, enc2utf8(text), "model")
    give(pointer, external)
    if (seed != 1) .Call(c_model_draw, pointer, seed)
    new_model(pointer, external = external)
}

# f = ... would be taken for `file` in front of the dots.
sde_load <- function(..., file = NULL) {
    given <- list(...)
    if (is.null(file) && length(given)) {
        file <- given[[1]]
        given <- given[-1]
    }
    if (!is.character(file) || length(file) != 1)
        fail("sde_load(): expected is the name of a file")
    external <- do.call(externals, given)
    pointer <- .Call(c_model_read, enc2utf8(path.expand(file)))
    give(pointer, external)
    record <- .Call(c_model_record, pointer)
    if (is.null(record)) return(new_model(pointer, external = external))
    new_fit(pointer, record, call = match.call(), external = external)
}

sde_save <- function(model, file) {
    .Call(c_model_write, pointer_of(model), enc2utf8(path.expand(file)))
    invisible(model)
}

# A name such as m is none of .model: R completes the names of arguments.
sde_set <- function(.model, ...) {
    given <- list(...)
    if (length(given) == 1 && is.null(names(given))) given <- as.list(given[[1]])
    if (is.null(names(given)) || any(names(given) == ""))
        fail("sde_set(): give values by name: sde_set(model, a = 2)")
    copy <- .Call(c_model_copy, pointer_of(.model))
    for (name in names(given))
        .Call(c_model_set, copy, enc2utf8(name), as.double(t(given[[name]])))
    new_model(copy, c(.model$kept, names(given)),
              external = .model$handle$external)
}

# A table of all numbers: names as in a summary, bounds, and what they are.
numbers <- function(f) {
    each <- lapply(f$params, function(p) {
        n <- p$rows * p$columns
        i <- seq_len(n) - 1
        row <- i %/% p$columns + 1
        label <- if (is.null(p$label)) row else p$label[row]
        name <- switch(p$rank + 1, rep(p$name, n), paste0(p$name, "[", label, "]"),
                       paste0(p$name, "[", label, ",", i %% p$columns + 1, "]"))
        data.frame(name, place = p$offset + i + 1, low = p$low, high = p$high,
                   shown = !(p$weight || p$scale || p$effect ||
                             (p$gp && p$rank == 2)),
                   weight = p$weight)
    })
    all <- do.call(rbind, each)
    if (is.null(all)) all <- data.frame(name = character(), place = integer(),
                                        low = double(), high = double(),
                                        shown = logical(), weight = logical())
    all$value <- f$values[all$place]
    all
}

coef.sde_model <- function(object, all = FALSE, ...) {
    n <- numbers(facts(object))
    if (!all) n <- n[n$shown, ]
    setNames(n$value, n$name)
}

print.sde_model <- function(x, ...) {
    cat(.Call(c_model_describe, pointer_of(x)))
    invisible(x)
}

# --- Options ------------------------------------------------------------------

USES <- c(loglik = 1L, fit = 4L, profile = 8L, paths = 32L, predict = 64L,
          residuals = 128L, simulate = 256L, select = 512L, physics = 1024L)

sde_options <- function(verb = names(USES)) {
    table <- .Call(c_options, USES[[match.arg(verb)]])
    data.frame(option = table[[1]], help = table[[2]])
}

# The estimator's options that a fit was given.
asked <- function(model) {
    own <- model$record$estimator
    own <- own[setdiff(names(own), "iteration")]
    unset <- function(v) identical(v, FALSE) || identical(as.character(v), "auto") ||
        (is.numeric(v) && v == 0)
    own <- own[!vapply(own, unset, TRUE)]
    own[!(names(own) == "random" & vapply(own, identical, TRUE, "sobol"))]
}

# Options for a model: those that were given, else those of its fit. A step and
# a number of steps replace each other; points belong to one estimator.
recalled <- function(model, given, names = NULL) {
    own <- asked(model)
    if (any(c("step", "steps") %in% names(given)))
        own <- own[setdiff(names(own), c("step", "steps"))]
    if (!identical(c(given$observe, own$observe)[1], own$observe))
        own <- own[setdiff(names(own), c("points", "observe"))]
    if (!is.null(names)) own <- own[intersect(names(own), names)]
    c(own[setdiff(names(own), names(given))], given)
}

forecast_options <- function(model, given) {
    if (!asked_scan(model)) return(given)
    recalled(model, given, c("observe", "points", "steps"))
}

asked_scan <- function(model) {
    own <- asked(model)$observe
    is.null(own) || own %in% c("scan", "kalman", "guided")
}
