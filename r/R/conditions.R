# SPDX-License-Identifier: MIT
# Failures and doubts as conditions.

# Called from C with the library's sentence.
raise <- function(kind, sentence) {
    if (kind == "interrupted") interrupt()
    class <- switch(kind, "bad-input" = "girsanov_input_error",
                    numerical = "girsanov_numerical_error",
                    "no-memory" = "girsanov_memory_error",
                    "girsanov_stopped")
    stop(structure(class = c(class, "girsanov_error", "error", "condition"),
                   list(message = sentence, call = NULL)))
}

# As if R itself had been interrupted.
interrupt <- function() {
    signalCondition(structure(class = c("interrupt", "condition"),
                              list(message = "interrupted", call = NULL)))
    invokeRestart("abort")
}

fail <- function(...) raise("bad-input", paste0(...))

caution <- function(...)
    warning(structure(class = c("girsanov_caution", "warning", "condition"),
                      list(message = paste0(...), call = NULL)))

# "; did you mean 'x'?", or what there is.
suggest <- function(name, known) {
    best <- .Call(c_suggestion, name, known)
    if (!is.null(best)) paste0("; did you mean '", best, "'?")
    else paste0("; there are ", paste(known, collapse = ", "))
}
