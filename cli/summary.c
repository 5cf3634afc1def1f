/* SPDX-License-Identifier: MIT */
/* girsanov summary: the record of a fit, as text or as JSON. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* Up to this size the correlation matrix is printed by default. */
enum { SMALL = 12 };

/* --- Correlation -------------------------------------------------------- */

/* The numbers that have a standard error, in place; how many. */
static size_t keep_estimated(const gsv_record *r, struct number *list, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (isfinite(r->error_of[list[i].at])) list[kept++] = list[i];
    return kept;
}

static double correlation(const gsv_record *r, const struct number *a,
                          const struct number *b)
{
    return gsv_record_correlation(r, a->at, b->at);
}

/* Names above the columns are cut to the width of a column. */
static void print_correlation(const gsv_record *r, const struct number *list,
                              size_t n)
{
    char name[NAME_ROOM];
    int width = numbers_width(list, n);
    say(stdout, "\n%-*s", width, "correlation");
    for (size_t j = 0; j + 1 < n; j++)
        say(stdout, " %8.8s", number_name(&list[j], name));
    putchar('\n');
    for (size_t i = 1; i < n; i++) {
        say(stdout, "%-*s", width, number_name(&list[i], name));
        for (size_t j = 0; j < i; j++)
            say(stdout, " %8.3f", shown(correlation(r, &list[i], &list[j]), 3));
        putchar('\n');
    }
}

static json_t *correlation_json(const gsv_record *r, const struct number *list,
                                size_t n)
{
    char name[NAME_ROOM];
    json_t *j = json_object(), *names = json_array(), *rows = json_array();
    for (size_t i = 0; i < n; i++) {
        json_t *row = json_array();
        json_array_append_new(names, json_string(number_name(&list[i], name)));
        for (size_t k = 0; k < n; k++)
            json_array_append_new(
                row, json_number(correlation(r, &list[i], &list[k])));
        json_array_append_new(rows, row);
    }
    json_object_set_new(j, "names", names);
    json_object_set_new(j, "matrix", rows);
    return j;
}

/* --- The record --------------------------------------------------------- */

static json_t *params_json(const gsv_model *m, const gsv_record *r)
{
    json_t *all = json_object();
    for (size_t i = 0; i < gsv_model_params(m); i++) {
        gsv_param p = gsv_model_param(m, i);
        json_t *j = json_object();
        json_object_set_new(j, "estimate", json_param(&p, gsv_model_value(m)));
        json_object_set_new(j, "stderr", json_param(&p, r->error_of));
        json_object_set_new(j, "low", json_param(&p, r->low));
        json_object_set_new(j, "high", json_param(&p, r->high));
        json_object_set_new(all, p.name, j);
    }
    return all;
}

static json_t *summary_json(const struct args *a, const gsv_model *m,
                            const gsv_record *r, const struct number *list,
                            size_t n)
{
    json_t *j = record_json(m, r, a->model);
    json_object_del(j, "errors");
    json_object_set_new(j, "params", params_json(m, r));
    json_object_set_new(j, "correlation",
                        r->correlation ? correlation_json(r, list, n)
                                       : json_null());
    if (r->effect) json_object_set_new(j, "effects", effects_json(m, r));
    if (a->text) add_text(j, "model", gsv_model_text(m));
    return j;
}

static int print_summary(const struct args *a, const gsv_model *m,
                         const gsv_record *r, const struct number *list,
                         size_t n)
{
    size_t weights = count_weights(m, false), values = count_weights(m, true);
    say(stdout, "fit             %s\n", a->model);
    say(stdout, "data            %s: %zu series, %zu rows, %zu gaps\n", r->data,
        r->tracks, r->rows, r->gaps + r->heldout_gaps);
    put_likelihood(r, stdout);
    if (print_estimates(m, r)) return EXIT_NUMBERS;
    if (weights) say(stdout, "and %zu weights of networks\n", weights);
    if (values) say(stdout, "and %zu values of Gaussian processes\n", values);
    if (r->correlation && n > 1 && (n <= SMALL || a->correlation))
        print_correlation(r, list, n);
    if (a->show_effects && !a->output) print_effects(m, r);
    if (a->text) putchar('\n'), say_lines(gsv_model_text(m), stdout);
    return EXIT_DONE;
}

/* The learning curve. */
static int plot_curve(const struct args *a, const gsv_record *r)
{
    struct plot p;
    if (!r->points)
        return complain(EXIT_INPUT,
                        "%s has no learning curve: it was written by an older "
                        "version",
                        a->model);
    if (plot_open(&p, a->plot, 820, 400)) return EXIT_INPUT;
    curve_plot(r, p.to);
    return plot_close(&p, true);
}

int summary_run(const struct args *a, gsv_model *m)
{
    const gsv_record *r = gsv_model_record(m);
    int code = EXIT_DONE;
    size_t n;
    struct number *list = r ? model_numbers(m, &n) : NULL;
    if (!r)
        code = complain(EXIT_INPUT,
                        "%s is a model's text, not a fit; 'girsanov fit' "
                        "makes one",
                        a->model);
    else if (!list) code = EXIT_NUMBERS;
    else if ((a->show_effects || a->output) && effects_check(m))
        code = EXIT_INPUT;
    else {
        n = keep_estimated(r, list, n);
        code = a->json ? print_json(summary_json(a, m, r, list, n))
                       : print_summary(a, m, r, list, n);
        if (!code && a->plot) code = plot_curve(a, r);
        if (!code) say_plot(a);
        say_warnings(r->warning);
        if (!code && a->output) code = effects_write(m, a->output);
    }
    free(list);
    return code;
}
