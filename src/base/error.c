/* SPDX-License-Identifier: MIT */
#include "base/error.h"

#include <string.h>

#include "base/plain.h"

#undef fail

/* Long enough for a model line with its caret and a remedy. */
static _Thread_local char sentence[4096];
static _Thread_local enum gsv_status last;

int fail(enum gsv_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    plain_format_list(sentence, sizeof sentence, format, args);
    va_end(args);
    last = status;
    return (int)status;
}

/* names are 'm, s, o', as the preprocessor writes them. */
bool any_null(const char *function, const char *names, size_t n,
              const void *const *pointer)
{
    for (size_t i = 0; i < n; i++) {
        size_t length = strcspn(names, ",");
        if (!pointer[i]) {
            fail(GSV_BAD_INPUT,
                 "%s(): the argument '%.*s' is NULL, but must be given",
                 function, (int)length, names);
            return true;
        }
        names += length;
        names += strspn(names, ", ");
    }
    return false;
}

const char *gsv_last_error(void)
{
    return sentence;
}

enum gsv_status gsv_last_status(void)
{
    return last;
}
