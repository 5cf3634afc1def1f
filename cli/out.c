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

const char *const REFERENCES[] = {[GSV_REFERENCE_AUTO] = "auto",
                                  [GSV_REFERENCE_BROWNIAN] = "brownian",
                                  [GSV_REFERENCE_LINEAR] = "linear",
                                  [GSV_REFERENCE_LNA] = "lna",
                                  NULL};
const char *const FORMS[] = {[GSV_FORM_AUTO] = "auto",
                             [GSV_FORM_ITO] = "ito",
                             [GSV_FORM_MIDPOINT] = "midpoint",
                             [GSV_FORM_STRATONOVICH] = "stratonovich",
                             NULL};
const char *const RANDOMS[] = {
    [GSV_RANDOM_SOBOL] = "sobol", [GSV_RANDOM_IID] = "iid", NULL};

/* The place of a word in a list that ends with NULL. */
static int choose(const char *option, const char *given,
                  const char *const *word, int *choice)
{
    char known[120] = "";
    for (int i = 0; given && word[i]; i++) {
        if (!strcmp(given, word[i])) {
            *choice = i;
            return 0;
        }
        strcat(strcat(known, i ? word[i + 1] ? ", " : " or " : ""), word[i]);
    }
    if (!given) return 0;
    return complain(EXIT_INPUT, "%s %s: %s is wanted", option, given, known);
}

int estimator_options(const struct args *a, gsv_options *o)
{
    int reference = GSV_REFERENCE_AUTO, form = GSV_FORM_AUTO;
    int random = GSV_RANDOM_SOBOL;
    if (a->paper) {
        reference = GSV_REFERENCE_BROWNIAN;
        form = GSV_FORM_ITO;
        random = GSV_RANDOM_IID;
    }
    if (choose("--reference", a->reference, REFERENCES, &reference) ||
        choose("--form", a->form, FORMS, &form) ||
        choose("--random", a->random, RANDOMS, &random))
        return EXIT_INPUT;
    *o = (gsv_options){.paths = a->paths,
                       .steps = a->steps,
                       .step = a->step,
                       .reference = (enum gsv_reference)reference,
                       .form = (enum gsv_form)form,
                       .random = (enum gsv_random)random,
                       .richardson = a->richardson,
                       .delta = a->delta,
                       .tolerance = a->tolerance,
                       .joint = a->joint || a->paper,
                       .gradient = a->gradient,
                       .wide = a->wide,
                       .seed = a->seed,
                       .threads = a->threads};
    return 0;
}

/* --- What was used ------------------------------------------------------- */

/* "lna", or with counts where there are several. */
static const char *used(const char *const *word, size_t words,
                        const size_t *count, size_t total, char *room)
{
    size_t n = 0;
    room[0] = 0;
    for (size_t i = 0; i < words; i++) {
        if (!count[i]) continue;
        if (count[i] == total) n += (size_t)sprintf(room + n, "%s", word[i]);
        else
            n += (size_t)sprintf(room + n, "%s%s %zu", n ? ", " : "", word[i],
                                 count[i]);
    }
    return room;
}

const char *references_used(const gsv_result *r, char room[120])
{
    size_t count[4] = {0};
    for (size_t i = 0; i < r->groups; i++)
        count[r->gap[i].reference]++;
    return used(REFERENCES, 4, count, r->groups, room);
}

const char *forms_used(const gsv_result *r, char room[120])
{
    size_t count[4] = {0};
    for (size_t i = 0; i < r->groups; i++)
        count[r->gap[i].form]++;
    return used(FORMS, 4, count, r->groups, room);
}

void say_effort(const gsv_options *o, const gsv_result *r)
{
    if (r->paths != o->paths && r->paths > 1 && !(o->tolerance > 0.0))
        fprintf(stderr,
                "note: %zu paths instead of %zu: Sobol' points come in "
                "powers of two\n",
                r->paths, o->paths);
    if (o->tolerance > 0.0 && !r->settled)
        fprintf(stderr,
                "warning: the tolerance was not reached with %zu paths and "
                "%zu steps\n",
                r->paths, r->steps);
}
