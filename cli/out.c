/* SPDX-License-Identifier: MIT */
/* Shared by the verbs: messages, JSON, opening models and data. */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"

int complain(int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fflush(stdout);
    fputs("girsanov: ", stderr);
    say_args(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    return code;
}

int complain_last(void)
{
    fflush(stdout);
    fputs("girsanov: ", stderr);
    say_lines(gsv_last_error(), stderr);
    fputc('\n', stderr);
    return gsv_last_status() == GSV_BAD_INPUT ? EXIT_INPUT : EXIT_NUMBERS;
}

int complain_memory(void)
{
    return complain(EXIT_NUMBERS, "out of memory");
}

int digits(double error)
{
    if (!(error > 1e-12)) return 6;
    double n = 1.0 - floor(log10(error));
    return n < 0.0 ? 0 : n > 9.0 ? 9 : (int)n;
}

double shown(double x, int n)
{
    return fabs(x) < 0.5 * pow(10.0, -n) ? 0.0 : x;
}

void say_written(const struct args *a, size_t count, const char *what)
{
    if (a->quiet || a->json) return;
    if (a->output && strcmp(a->output, "-"))
        say(stderr, "wrote %s: %zu %s\n", a->output, count, what);
    say_plot(a);
}

static int by_size(const void *one, const void *two)
{
    double a = *(const double *)one, b = *(const double *)two;
    return (a > b) - (a < b);
}

void sort_numbers(size_t n, double *x)
{
    qsort(x, n, sizeof *x, by_size);
}

/* --- JSON --------------------------------------------------------------- */

json_t *json_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *json_count(size_t value)
{
    return json_integer((json_int_t)value);
}

void add_number(json_t *j, const char *name, double value)
{
    json_object_set_new(j, name, json_number(value));
}

void add_count(json_t *j, const char *name, size_t value)
{
    json_object_set_new(j, name, json_count(value));
}

void add_text(json_t *j, const char *name, const char *value)
{
    json_object_set_new(j, name, value ? json_text(value) : json_null());
}

void add_bool(json_t *j, const char *name, bool value)
{
    json_object_set_new(j, name, json_boolean(value));
}

json_t *json_fields(const void *from, size_t n, const struct json_field *field)
{
    json_t *j = json_object();
    for (size_t i = 0; i < n; i++) {
        const void *at = (const char *)from + field[i].at;
        switch (field[i].kind) {
        case FIELD_NUMBER:
            add_number(j, field[i].name, *(const double *)at);
            break;
        case FIELD_COUNT:
            add_count(j, field[i].name, *(const size_t *)at);
            break;
        case FIELD_BOOL: add_bool(j, field[i].name, *(const bool *)at); break;
        case FIELD_TEXT:
            add_text(j, field[i].name, *(const char *const *)at);
            break;
        }
    }
    return j;
}

json_t *json_row(size_t n, const double *value)
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

json_t *json_params(const gsv_model *m, const double *value, bool learned)
{
    json_t *all = json_object();
    for (size_t i = 0; i < gsv_model_params(m); i++) {
        gsv_param p = gsv_model_param(m, i);
        if (learned && p.scale) continue;
        json_object_set_new(all, p.name, json_param(&p, value));
    }
    return all;
}

int print_json(json_t *object)
{
    char *text = json_dumps(object, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    json_decref(object);
    if (!text) return complain_memory();
    put_json(text, stdout);
    putchar('\n');
    free(text);
    return EXIT_DONE;
}

/* --- Models and data ---------------------------------------------------- */

static bool ends_with(const char *path, const char *ending)
{
    size_t n = strlen(path), m = strlen(ending);
    return n > m && !strcmp(path + n - m, ending);
}

/* Data in place of the model are a common mistake, for which the message of the
 * parser is no help. */
static void complain_model(const char *path)
{
    bool data = ends_with(path, ".csv") || ends_with(path, ".npy");
    if (data && !access(path, R_OK) && gsv_last_status() == GSV_BAD_INPUT)
        complain(EXIT_INPUT,
                 "%s is not a model: models and fits come first, then the data",
                 path);
    else complain_last();
}

gsv_model *open_model(const struct args *a, const char *path)
{
    gsv_model *m = gsv_model_read(path);
    if (!m) {
        complain_model(path);
        return NULL;
    }
    bool he = a->init && !strcmp(a->init, "he");
    if (!gsv_model_record(m))
        (he ? gsv_model_draw_he : gsv_model_draw)(m, a->estimator.seed);
    for (size_t i = 0; i < a->set.count; i++)
        if (set_value(m, "--set", a->set.word[i])) {
            gsv_model_free(m);
            return NULL;
        }
    return m;
}

bool is_stream(const char *path)
{
    struct stat info;
    return !strcmp(path, "-") || (!stat(path, &info) && S_ISFIFO(info.st_mode));
}

void say_note(const struct args *a, const gsv_series *s)
{
    if (s->note[0] && !a->quiet)
        say(stderr, "note: %s: %s\n", s->source, s->note);
}

const double *series_column(const gsv_series *s, const char *name)
{
    for (size_t c = 0; c < s->columns; c++)
        if (!strcmp(s->name[c], name)) return s->value + c * s->rows;
    return NULL;
}

gsv_series *open_data(const struct args *a, gsv_model *m)
{
    gsv_series *s =
        gsv_series_read_for(m, a->ranks, a->data, a->time, a->series);
    if (s && gsv_model_bind(m, s)) {
        gsv_series_free(s);
        s = NULL;
    }
    if (!s && ends_with(a->data, ".sde") && !access(a->data, R_OK))
        complain(EXIT_INPUT, "%s is a model, but data are expected there",
                 a->data);
    else if (!s) complain_last();
    else say_note(a, s);
    return s;
}
