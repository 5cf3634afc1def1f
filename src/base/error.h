/* SPDX-License-Identifier: MIT */
/* One way to fail: a status for the caller, and a message for this thread that
 * gsv_last_error() returns. Nothing is printed, nothing exits. */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include "girsanov.h"

/* Stores the message and returns the status, so that
 *     if (!out) return fail(GSV_BAD_INPUT, "cannot open %s", path);
 * is all that a caller writes. */
int fail(enum gsv_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#ifdef __clang_analyzer__ /* it cannot see that a failure is never 0 */
#define fail(...) (fail(__VA_ARGS__), 1)
#endif

/* The same for a function that makes something and returns NULL. */
#define fail_null(...) (fail(__VA_ARGS__), NULL)

/* Whether one of the pointers that a public function was given is NULL, with a
 * sentence that names it:
 *     if (ANY_NULL(m, s, o)) return GSV_BAD_INPUT;
 * Functions that ask have no status: they answer 0, false, NULL or NaN. */
#define ANY_NULL(...)                                                          \
    any_null(__func__, #__VA_ARGS__,                                           \
             sizeof((const void *[]){__VA_ARGS__}) / sizeof(void *),           \
             (const void *[]){__VA_ARGS__})
bool any_null(const char *function, const char *names, size_t n,
              const void *const *pointer);

#endif
