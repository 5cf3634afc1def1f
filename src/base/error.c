/* SPDX-License-Identifier: MIT */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/plain.h"

#undef fail

/* Long enough for a model line with its caret and a remedy. */
static _Thread_local char sentence[4096];
static _Thread_local enum gsv_status last;

int fail(enum gsv_status status, const char *format, ...)
{
    va_list args;
    struct plain_locale l;
    va_start(args, format);
    plain_begin(&l);
    vsnprintf(sentence, sizeof sentence, format, args);
    plain_end(&l);
    va_end(args);
    last = status;
    return (int)status;
}

const char *gsv_last_error(void)
{
    return sentence;
}

enum gsv_status gsv_last_status(void)
{
    return last;
}
