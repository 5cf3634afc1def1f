/* SPDX-License-Identifier: MIT */
#include "base/option_rules.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/plain.h"

enum { NUMBER = 32, SHORT = 128 };

/* --- Fields as numbers ---------------------------------------------------- */

double gsv_option_get(const gsv_option *row, const void *options)
{
    if (ANY_NULL(row, options)) return NAN;
    const void *at = (const char *)options + row->offset;
    switch (row->type) {
    case GSV_TYPE_COUNT: return (double)*(const size_t *)at;
    case GSV_TYPE_REAL: return *(const double *)at;
    case GSV_TYPE_CHOICE: return *(const int *)at;
    case GSV_TYPE_SWITCH: return *(const bool *)at;
    case GSV_TYPE_SEED: return (double)*(const uint64_t *)at;
    case GSV_TYPE_ARRAY:
    case GSV_TYPE_TEXTS: break;
    }
    return NAN;
}

void gsv_option_set(const gsv_option *row, void *options, double value)
{
    if (ANY_NULL(row, options)) return;
    void *at = (char *)options + row->offset;
    bool largest = value >= (double)SIZE_MAX;
    switch (row->type) {
    case GSV_TYPE_COUNT:
        *(size_t *)at = largest ? SIZE_MAX : (size_t)value;
        break;
    case GSV_TYPE_REAL: *(double *)at = value; break;
    case GSV_TYPE_CHOICE: *(int *)at = (int)value; break;
    case GSV_TYPE_SWITCH: *(bool *)at = value != 0.0; break;
    case GSV_TYPE_SEED: *(uint64_t *)at = (uint64_t)value; break;
    case GSV_TYPE_ARRAY:
    case GSV_TYPE_TEXTS: break;
    }
}

/* --- Words ---------------------------------------------------------------- */

/* 64, 1e8, 4e9, 0.5 */
static void write_number(double x, char room[NUMBER])
{
    plain_format(room, NUMBER, "%g", x);
    char *plus = strstr(room, "e+");
    if (!plus) return;
    char *digits = plus + 1 + strspn(plus + 1, "+0");
    memmove(plus + 1, digits, strlen(digits) + 1);
}

/* What a number must be: 'from 1 to 1e8', 'finite', 'positive'. */
static const char *range_of(const gsv_option *r, char room[SHORT])
{
    char low[NUMBER], high[NUMBER];
    write_number(r->low, low);
    write_number(r->high, high);
    if (isfinite(r->high))
        snprintf(room, SHORT, "from %s to %s%s", low, r->below ? "below " : "",
                 high);
    else if (isfinite(r->low))
        snprintf(room, SHORT, "finite and not below %s", low);
    else snprintf(room, SHORT, "finite");
    return room;
}

const char *const *option_words(const char *field)
{
    size_t count;
    const gsv_option *row = gsv_option_table(&count);
    while (row->type != GSV_TYPE_CHOICE || strcmp(row->field, field))
        row++;
    return row->word;
}

/* 'a, b or c'; words that are "" are left out. */
static void add_words(const gsv_option *r, size_t size, char *text)
{
    size_t n = strlen(text), words = 0, last = 0;
    for (size_t i = 0; r->word[i]; i++)
        if (*r->word[i]) last = i;
    for (size_t i = 0; i <= last && r->word[i] && n < size; i++)
        if (*r->word[i])
            n += (size_t)snprintf(text + n, size - n, "%s%s",
                                  !words++    ? ""
                                  : i == last ? " or "
                                              : ", ",
                                  r->word[i]);
}

/* Whether it is a value that lets the library choose. */
static bool is_special(const gsv_option *r, double x)
{
    return (r->zero && x == 0.0) || (r->negative && x < 0.0) ||
           (r->largest && x >= (double)SIZE_MAX);
}

const char *gsv_option_help(const gsv_option *row, size_t size, char *text)
{
    if (ANY_NULL(row, text) || !size) return NULL;
    char number[NUMBER];
    const char *preset = row->chosen;
    bool choice = row->type == GSV_TYPE_CHOICE;
    write_number(row->preset, number);
    if (choice) preset = row->word[(size_t)row->preset];
    else if (row->type <= GSV_TYPE_REAL || row->type == GSV_TYPE_SEED)
        preset = is_special(row, row->preset) ? row->chosen : number;
    snprintf(text, size, "%s%s", row->help ? row->help : "",
             choice ? ": " : "");
    if (choice) add_words(row, size, text);
    size_t n = strlen(text);
    if (preset)
        snprintf(text + n, size - n, " (%s%s%s)", preset,
                 choice && row->chosen ? ": " : "",
                 choice && row->chosen ? row->chosen : "");
    return text;
}

/* --- Checks, by type ------------------------------------------------------ */

static bool is_inside(const gsv_option *r, double x)
{
    return isfinite(x) && x >= r->low && x <= r->high &&
           !(r->below && x == r->high);
}

static int check_number(const gsv_option *r, const char *options)
{
    bool count = r->type == GSV_TYPE_COUNT;
    double x = gsv_option_get(r, options);
    size_t n = count ? *(const size_t *)(options + r->offset) : 0;
    /* A count above half of all numbers was negative before it was cast. */
    if (n > SIZE_MAX / 2 && !(r->largest && n == SIZE_MAX))
        x = -(double)(0 - n);
    if (isfinite(x) && (is_special(r, x) || is_inside(r, x))) return 0;
    char range[SHORT];
    return fail(GSV_BAD_INPUT, "the option %s is %.*g, but must be %s",
                r->field, count ? 20 : 6, x, range_of(r, range));
}

static int check_choice(const gsv_option *r, const char *at)
{
    int value = *(const int *)at, count = 0;
    while (r->word[count])
        count++;
    if (value >= 0 && value < count) return 0;
    char words[2 * SHORT] = "";
    add_words(r, sizeof words, words);
    return fail(GSV_BAD_INPUT,
                "the option %s is %d, but must be from 0 to %d: %s", r->field,
                value, count - 1, words);
}

/* Other bytes than 0 and 1 are there if a struct was never filled in. */
static int check_switch(const gsv_option *r, const char *at)
{
    unsigned char byte;
    memcpy(&byte, at, 1);
    if (byte <= 1) return 0;
    return fail(GSV_BAD_INPUT, "the option %s is %d, but must be true or false",
                r->field, byte);
}

/* Of texts each element is checked, of other arrays only the pointer. */
static int check_array(const gsv_option *r, const char *options)
{
    size_t n;
    const void *array;
    memcpy(&n, options + r->count_offset, sizeof n);
    memcpy(&array, options + r->offset, sizeof array);
    if (n && !array)
        return fail(GSV_BAD_INPUT,
                    "the option %s is NULL, but must have %zu elements",
                    r->field, n);
    for (size_t i = 0; r->type == GSV_TYPE_TEXTS && i < n; i++)
        if (!((const char *const *)array)[i])
            return fail(GSV_BAD_INPUT, "the option %s: element %zu is NULL",
                        r->field, i);
    return 0;
}

static int check_row(const gsv_option *r, const char *options)
{
    switch (r->type) {
    case GSV_TYPE_COUNT:
    case GSV_TYPE_REAL: return check_number(r, options);
    case GSV_TYPE_CHOICE: return check_choice(r, options + r->offset);
    case GSV_TYPE_SWITCH: return check_switch(r, options + r->offset);
    case GSV_TYPE_SEED: return 0;
    case GSV_TYPE_ARRAY:
    case GSV_TYPE_TEXTS: return check_array(r, options);
    }
    return 0;
}

int check_rows(const void *options, size_t rows, const gsv_option *row)
{
    int status = 0;
    for (size_t i = 0; !status && i < rows; i++)
        status = check_row(&row[i], options);
    return status;
}

/* --- From text ------------------------------------------------------------ */

static enum gsv_status read_choice(const gsv_option *r, const char *text,
                                   double *value)
{
    char words[2 * SHORT] = "";
    for (size_t i = 0; r->word[i]; i++)
        if (*text && !strcmp(text, r->word[i])) {
            *value = (double)i;
            return GSV_OK;
        }
    add_words(r, sizeof words, words);
    return fail(GSV_BAD_INPUT, "expected %s", words);
}

static enum gsv_status read_number(const gsv_option *r, const char *text,
                                   double *value)
{
    struct plain_locale locale;
    char *end, range[SHORT];
    bool count = r->type == GSV_TYPE_COUNT;
    plain_begin(&locale);
    *value = strtod(text, &end);
    plain_end(&locale);
    if (end != text && !*end && is_inside(r, *value) &&
        !(r->zero && *value == 0.0) && !(count && *value != floor(*value)))
        return GSV_OK;
    if (r->zero && !count)
        return fail(GSV_BAD_INPUT, "expected a positive number");
    if (!isfinite(r->high))
        return fail(GSV_BAD_INPUT, "expected a number of at least %g", r->low);
    return fail(GSV_BAD_INPUT, "expected a %snumber %s", count ? "whole " : "",
                range_of(r, range));
}

/* Not more than an integer of JSON can hold. */
static enum gsv_status read_seed(const char *text, uint64_t *seed)
{
    char *end;
    errno = 0;
    uint64_t value = strtoull(text, &end, 10);
    if (end == text || *end || errno || strchr(text, '-') || value > INT64_MAX)
        return fail(GSV_BAD_INPUT,
                    "expected a whole number from 0 to 2^63 - 1");
    *seed = value;
    return GSV_OK;
}

enum gsv_status gsv_option_read(const gsv_option *row, void *options,
                                const char *text)
{
    double value = 1.0;
    if (ANY_NULL(row, options) ||
        (row->type != GSV_TYPE_SWITCH && ANY_NULL(text)))
        return GSV_BAD_INPUT;
    if (row->type == GSV_TYPE_SEED)
        return read_seed(text, (void *)((char *)options + row->offset));
    if (row->type >= GSV_TYPE_ARRAY)
        return fail(GSV_BAD_INPUT,
                    "the option %s is an array, which cannot be set from "
                    "text",
                    row->field);
    enum gsv_status status = GSV_OK;
    if (row->type == GSV_TYPE_CHOICE) status = read_choice(row, text, &value);
    else if (row->type != GSV_TYPE_SWITCH)
        status = read_number(row, text, &value);
    if (!status) gsv_option_set(row, options, value);
    return status;
}

/* --- Structs -------------------------------------------------------------- */

/* The rows of a struct, and of the estimator inside it. */
static bool has_row(enum gsv_option_struct of, const gsv_option *row)
{
    return row->of == of || (row->of == GSV_OF_ESTIMATOR &&
                             (of == GSV_OF_FIT || of == GSV_OF_PATHS));
}

static_assert(!offsetof(gsv_fit_options, estimator) &&
                  !offsetof(gsv_paths_options, estimator),
              "rows of the estimator are also rows of the struct around it");

int option_check(enum gsv_option_struct of, const void *options)
{
    size_t count;
    const gsv_option *row = gsv_option_table(&count);
    int status = 0;
    for (size_t i = 0; !status && i < count; i++)
        if (has_row(of, &row[i])) status = check_row(&row[i], options);
    if (status || of != GSV_OF_FIT) return status;
    const gsv_fit_options *o = options;
    return prior_rules(o->priors, o->prior);
}

static void preset(enum gsv_option_struct of, enum gsv_use use, void *options)
{
    size_t count;
    const gsv_option *row = gsv_option_table(&count);
    for (size_t i = 0; i < count; i++)
        if (has_row(of, &row[i]) && (row[i].uses & use))
            gsv_option_set(&row[i], options, row[i].preset);
}

#define DEFAULT(struct_, of_, use_)                                            \
    struct_ struct_##_default(void)                                            \
    {                                                                          \
        struct_ o = {0};                                                       \
        preset(of_, use_, &o);                                                 \
        return o;                                                              \
    }
DEFAULT(gsv_options, GSV_OF_ESTIMATOR, GSV_USE_LOGLIK)
DEFAULT(gsv_fit_options, GSV_OF_FIT, GSV_USE_FIT)
DEFAULT(gsv_simulate_options, GSV_OF_SIMULATE, GSV_USE_SIMULATE)
DEFAULT(gsv_predict_options, GSV_OF_PREDICT, GSV_USE_PREDICT)
DEFAULT(gsv_paths_options, GSV_OF_PATHS, GSV_USE_PATHS)
DEFAULT(gsv_physics_options, GSV_OF_PHYSICS, GSV_USE_PHYSICS)
