/* SPDX-License-Identifier: MIT */
/* girsanov physics: what follows from a model's drift and noise. */
#include "physics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- Options ------------------------------------------------------------- */

void physics_wish_free(struct physics_wish *w)
{
    free(w->end);
    free(w->input);
}

/* The number of a state or input among n names; n where there is none. */
static size_t find_name(const char *const *name, size_t n, const char *text,
                        size_t length)
{
    size_t i = 0;
    while (i < n &&
           (strlen(name[i]) != length || strncmp(name[i], text, length)))
        i++;
    return i;
}

static int unknown_name(const char *option, const char *text, size_t length,
                        const char *what, const char *const *name, size_t n)
{
    char word[100];
    snprintf(word, sizeof word, "%.*s", (int)length, text);
    const char *best = gsv_suggestion(word, n, name);
    return complain(EXIT_INPUT, "%s: the model has no %s '%s'%s%s%s", option,
                    what, word, best ? "; did you mean '" : "",
                    best ? best : "", best ? "'?" : "");
}

/* A:B for the only state, or NAME=A:B. */
static int read_range(const gsv_model *m, char *entry, struct physics_wish *w)
{
    size_t dim = gsv_model_dim(m), i = 0, n = 0;
    const char *const *name = gsv_model_column(m);
    char *equal = strchr(entry, '=');
    size_t length = equal ? (size_t)(equal - entry) : 0;
    if (equal) i = find_name(name, dim, entry, length);
    else if (dim > 1)
        return complain(EXIT_INPUT,
                        "--range %s: expected %s=A:B, for one of "
                        "the states",
                        entry, name[0]);
    if (i == dim)
        return unknown_name("--range", entry, length, "state", name, dim);
    if (!parse_range(equal ? equal + 1 : entry, &w->end[i], &w->end[dim + i],
                     &n) ||
        n)
        return complain(EXIT_INPUT, "--range %s: expected A:B with A < B",
                        entry);
    return 0;
}

static int read_ranges(const struct args *a, const gsv_model *m,
                       struct physics_wish *w)
{
    char *copy = a->range ? strdup(a->range) : NULL, *rest = NULL;
    int code = 0;
    if (!a->range) return 0;
    if (!copy) return complain_memory();
    for (char *entry = strtok_r(copy, ",", &rest); entry && !code;
         entry = strtok_r(NULL, ",", &rest))
        code = read_range(m, entry, w);
    free(copy);
    w->options.ends = 2 * gsv_model_dim(m);
    w->options.end = w->end;
    return code;
}

static int read_held(const gsv_model *m, const char *text,
                     struct physics_wish *w)
{
    const char *equal = strchr(text, '=');
    char *end = NULL;
    double value = equal ? strtod(equal + 1, &end) : NAN;
    if (!equal || end == equal + 1 || *end || !isfinite(value))
        return complain(EXIT_INPUT, "--at %s: expected NAME=NUMBER", text);
    size_t length = (size_t)(equal - text), n = gsv_model_inputs(m);
    const char *const *name = gsv_model_column(m) + gsv_model_dim(m);
    size_t i = find_name(name, n, text, length);
    if (i < n) w->input[i] = value;
    else if ((length == 1 && *text == 't') ||
             (length == 4 && !strncmp(text, "time", 4))) {
        w->options.frozen = true;
        w->options.at = value;
    } else return unknown_name("--at", text, length, "input", name, n);
    return 0;
}

int physics_wish(const struct args *a, const gsv_model *m,
                 struct physics_wish *w)
{
    size_t dim = gsv_model_dim(m), inputs = gsv_model_inputs(m);
    *w = (struct physics_wish){.options = a->physics,
                               .end = malloc((2 * dim + 1) * sizeof(double)),
                               .input = malloc((inputs + 1) * sizeof(double))};
    if (!w->end || !w->input) return complain_memory();
    for (size_t i = 0; i < dim; i++) {
        w->end[i] = -INFINITY;
        w->end[dim + i] = INFINITY;
    }
    for (size_t i = 0; i < inputs; i++)
        w->input[i] = NAN;
    w->options.from = a->from;
    w->options.to = a->to;
    w->options.inputs = inputs;
    w->options.input = w->input;
    int code = read_ranges(a, m, w);
    for (size_t i = 0; !code && i < a->hold.count; i++)
        code = read_held(m, a->hold.word[i], w);
    return code;
}

/* --- The verb ------------------------------------------------------------ */

static int plot(const struct args *a, const gsv_physics_result *r)
{
    struct plot p;
    if (plot_open(&p, a->plot, 820, physics_height(r))) return EXIT_INPUT;
    physics_panels(r, p.to);
    return plot_close(&p, true);
}

static int show(const struct args *a, const gsv_physics_result *r)
{
    size_t rows = 0;
    struct physics_row *row = physics_rows(r, &rows);
    int code = row ? 0 : EXIT_NUMBERS;
    if (!code && a->output) code = physics_write(a, r, row, rows);
    if (!code && a->plot) code = plot(a, r);
    if (!code && a->json) code = print_json(physics_json(r, row, rows));
    else if (!code) {
        physics_print(r, row, rows);
        const char *text = r->note;
        int n;
        for (const char *line; !a->quiet && (line = next_line(&text, &n));)
            say(stderr, "note: %.*s\n", n, line);
        say_warnings(r->warning);
        say_plot(a);
    }
    free(row);
    return code;
}

int physics_run(const struct args *a, gsv_model *m)
{
    struct physics_wish w = {0};
    gsv_physics_result r = {0};
    gsv_series *s = NULL;
    int code = a->plot ? check_plot(a->plot) : 0;
    if (!code && a->output && !strcmp(a->output, "-"))
        code = complain(EXIT_INPUT, "-o -: physics writes several files; give "
                                    "the beginning of their names");
    if (!code) code = physics_wish(a, m, &w);
    if (!code && a->data && !(s = open_data(a, m))) code = EXIT_INPUT;
    if (!code && gsv_physics(m, s, &w.options, &r)) code = complain_last();
    if (!code) code = show(a, &r);
    gsv_physics_free(&r);
    gsv_series_free(s);
    physics_wish_free(&w);
    return code;
}
