/* SPDX-License-Identifier: MIT */
/* Options by name, from the library's own table. */
#include <stdio.h>
#include <string.h>

#include "package.h"

static bool belongs(const gsv_option *row, enum gsv_option_struct of)
{
    return row->of == of || (row->of == GSV_OF_ESTIMATOR &&
                             (of == GSV_OF_FIT || of == GSV_OF_PATHS));
}

/* The name is that of the field, or the command's: --time-limit. */
static bool is_named(const gsv_option *row, const char *name)
{
    if (!strcmp(row->field, name)) return true;
    if (!row->flag) return false;
    const char *flag = row->flag + 2;
    for (; *flag && *name; flag++, name++)
        if ((*flag == '-' ? '_' : *flag) != *name) return false;
    return !*flag && !*name;
}

/* A count stands for its array: times for time. */
static const gsv_option *array_of(const gsv_option *row)
{
    size_t rows;
    const gsv_option *other = gsv_option_table(&rows);
    for (size_t i = 0; i < rows; i++)
        if (other[i].of == row->of && other[i].count_offset == row->offset &&
            other[i].type >= GSV_TYPE_ARRAY)
            return &other[i];
    return row;
}

static const gsv_option *find(const char *name, enum gsv_option_struct of,
                              enum gsv_use use)
{
    size_t rows;
    const gsv_option *row = gsv_option_table(&rows);
    for (size_t i = 0; i < rows; i++)
        if (belongs(&row[i], of) && (row[i].uses & use) &&
            is_named(&row[i], name))
            return row[i].help ? &row[i] : array_of(&row[i]);
    return NULL;
}

static _Noreturn void unknown(const char *name, const char *verb,
                              enum gsv_option_struct of, enum gsv_use use)
{
    size_t rows, n = 0;
    const gsv_option *row = gsv_option_table(&rows);
    const char **known = (const char **)R_alloc(rows, sizeof *known);
    for (size_t i = 0; i < rows; i++)
        if (belongs(&row[i], of) && (row[i].uses & use) && row[i].help)
            known[n++] = row[i].field;
    const char *best = gsv_suggestion(name, n, known);
    char text[400];
    if (best)
        snprintf(text, sizeof text,
                 "%s() has no option '%.80s'; did you mean '%s'?", verb, name,
                 best);
    else
        snprintf(text, sizeof text,
                 "%s() has no option '%.80s'; sde_options() "
                 "lists them",
                 verb, name);
    raise_as("bad-input", text);
}

static _Noreturn void unfit(const char *name, const char *expected)
{
    char text[300];
    snprintf(text, sizeof text, "%.80s: expected is %s", name, expected);
    raise_as("bad-input", text);
}

/* The library knows the option by its row alone. */
static void read_text(const gsv_option *row, const char *name,
                      const char *value, void *options)
{
    char text[400];
    if (!gsv_option_read(row, options, value)) return;
    snprintf(text, sizeof text, "%.80s: %.200s, not '%.60s'", name,
             gsv_last_error(), value);
    raise_as("bad-input", text);
}

static void set_array(const gsv_option *row, SEXP value, const char *name,
                      void *options)
{
    const void *p = NULL;
    if (row->type == GSV_TYPE_TEXTS) p = texts_of(value);
    else if (TYPEOF(value) == REALSXP) p = REAL(value);
    else unfit(name, "a vector of numbers");
    size_t n = (size_t)XLENGTH(value);
    memcpy((char *)options + row->offset, &p, sizeof p);
    memcpy((char *)options + row->count_offset, &n, sizeof n);
}

static void set_one(const gsv_option *row, SEXP value, const char *name,
                    void *options)
{
    char text[64];
    if (row->type >= GSV_TYPE_ARRAY) {
        set_array(row, value, name, options);
        return;
    }
    if (XLENGTH(value) != 1) unfit(name, "one value");
    if (row->type == GSV_TYPE_SWITCH) {
        int on = Rf_asLogical(value);
        if (on == NA_LOGICAL) unfit(name, "TRUE or FALSE");
        gsv_option_set(row, options, on);
    } else if (TYPEOF(value) == STRSXP) {
        read_text(row, name, text_of(value), options);
    } else {
        double number = Rf_asReal(value);
        if (ISNAN(number)) unfit(name, "a number or a word");
        if (row->type != GSV_TYPE_REAL && number == (double)(long long)number)
            snprintf(text, sizeof text, "%lld", (long long)number);
        else snprintf(text, sizeof text, "%.17g", number);
        read_text(row, name, text, options);
    }
}

void set_options(SEXP given, enum gsv_option_struct of, enum gsv_use use,
                 const char *verb, void *options)
{
    SEXP names = Rf_getAttrib(given, R_NamesSymbol);
    for (R_xlen_t i = 0; i < Rf_xlength(given); i++) {
        SEXP value = VECTOR_ELT(given, i);
        const char *name = Rf_isNull(names) ? "" : CHAR(STRING_ELT(names, i));
        if (!*name) unfit(verb, "a name for every option");
        const gsv_option *row = find(name, of, use);
        if (!row) unknown(name, verb, of, use);
        if (!Rf_isNull(value)) set_one(row, value, name, options);
    }
}
