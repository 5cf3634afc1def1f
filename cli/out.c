/* SPDX-License-Identifier: MIT */
/* What the verbs share: opening models and data, messages, JSON. */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

int complain(int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fflush(stdout);
    fputs("girsanov: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    return code;
}

size_t edits(const char *word, const char *name)
{
    enum { LONGEST = 31 };
    size_t row[LONGEST + 1], m = strlen(word), n = strlen(name);
    if (m > LONGEST || n > LONGEST) return LONGEST;
    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (size_t i = 1; i <= m; i++) {
        size_t before = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t change = before + (word[i - 1] != name[j - 1]);
            size_t shift = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            before = row[j];
            row[j] = change < shift ? change : shift;
        }
    }
    return row[n];
}

int complain_last(void)
{
    return complain(gsv_last_status() == GSV_BAD_INPUT ? EXIT_INPUT
                                                       : EXIT_NUMBERS,
                    "%s", gsv_last_error());
}

/* --- JSON --------------------------------------------------------------- */

json_t *json_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *json_row(size_t n, const double *value)
{
    json_t *row = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(row, json_number(value[i]));
    return row;
}

json_t *json_param(const gsv_param *p, const double *value)
{
    if (p->rank == 0) return json_number(value[p->offset]);
    if (p->rank == 1) return json_row(p->rows, value + p->offset);
    json_t *rows = json_array();
    for (size_t r = 0; r < p->rows; r++)
        json_array_append_new(
            rows, json_row(p->columns, value + p->offset + r * p->columns));
    return rows;
}

json_t *json_params(const gsv_model *m, const double *value)
{
    json_t *all = json_object();
    for (size_t i = 0; i < gsv_model_params(m); i++) {
        gsv_param p = gsv_model_param(m, i);
        json_object_set_new(all, p.name, json_param(&p, value));
    }
    return all;
}

int print_json(json_t *object)
{
    char *text = json_dumps(object, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    json_decref(object);
    if (!text) return complain(EXIT_NUMBERS, "out of memory");
    puts(text);
    free(text);
    return EXIT_DONE;
}

/* --- Models and data ---------------------------------------------------- */

static int set_value(gsv_model *m, const char *text)
{
    const char *equal = strchr(text, '=');
    size_t count, length = (size_t)(equal - text);
    char name[300];
    if (length >= sizeof name)
        return complain(EXIT_INPUT, "--set: the name is too long");
    memcpy(name, text, length);
    name[length] = 0;
    double *value = parse_numbers("--set", equal + 1, &count);
    if (!value) return EXIT_INPUT;
    int status = gsv_model_set(m, name, count, value);
    free(value);
    return status ? complain(EXIT_INPUT, "--set: %s", gsv_last_error()) : 0;
}

gsv_model *open_model(const struct args *a)
{
    gsv_model *m = gsv_model_read(a->model);
    if (!m) {
        complain_last();
        return NULL;
    }
    gsv_model_draw(m, a->seed);
    for (size_t i = 0; i < a->sets; i++)
        if (set_value(m, a->set[i])) {
            gsv_model_free(m);
            return NULL;
        }
    return m;
}

void say_note(const struct args *a, const gsv_series *s)
{
    if (s->note[0] && !a->quiet)
        fprintf(stderr, "note: %s: %s\n", s->source, s->note);
}

gsv_series *open_data(const struct args *a, const gsv_model *m)
{
    gsv_series *s =
        gsv_series_read(a->data, gsv_model_columns(m), gsv_model_column(m));
    if (!s) complain_last();
    else say_note(a, s);
    return s;
}

static int one_of(const char *option, const char *given, const char *now,
                  const char *const later[2])
{
    if (!given || !strcmp(given, "auto") || !strcmp(given, now)) return 0;
    for (int i = 0; i < 2 && later[i]; i++)
        if (!strcmp(given, later[i]))
            return complain(EXIT_INPUT, "%s %s is not supported yet; use %s",
                            option, given, now);
    return complain(EXIT_INPUT, "%s %s: auto or %s is wanted", option, given,
                    now);
}

int estimator_options(const struct args *a, gsv_options *o)
{
    static const char *const reference[] = {"lna", "linear"};
    static const char *const form[] = {"midpoint", "stratonovich"};
    static const char *const random[] = {"sobol", NULL};
    if (one_of("--reference", a->reference, "brownian", reference) ||
        one_of("--form", a->form, "ito", form) ||
        one_of("--random", a->random, "iid", random))
        return EXIT_INPUT;
    *o = gsv_options_default();
    o->paths = a->paths;
    o->steps = a->steps;
    o->step = a->step;
    o->joint = a->joint || a->paper;
    o->gradient = a->gradient;
    o->wide = a->wide;
    o->seed = a->seed;
    o->threads = a->threads;
    return 0;
}
