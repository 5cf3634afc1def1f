/* SPDX-License-Identifier: MIT */
/* The output of gradvar: a table, CSV, JSON and a figure. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gradvar.h"

void find_spread(size_t n, double *value, double *least, double *median,
                 double *largest)
{
    sort_numbers(n, value);
    *least = value[0];
    *median = 0.5 * value[(n - 1) / 2] + 0.5 * value[n / 2];
    *largest = value[n - 1];
}

/* --- The table ----------------------------------------------------------- */

static void put_variance(double variance)
{
    if (isnan(variance)) say(stdout, " %11s", "-");
    else say(stdout, " %11.3g", variance);
}

static void print_table(const struct gradvar *g)
{
    say(stdout, "gradients by %zu number%s, %zu repeats of %zu path%s\n\n",
        g->numbers, plural(g->numbers), g->repeats, g->paths, plural(g->paths));
    say(stdout, "%30s %35s\n", "", "variance over repeats");
    say(stdout, "%-14s %8s %7s %11s %11s %11s %10s\n", "objective", "gap",
        "steps", "smallest", "median", "largest", "overflows");
    for (size_t i = 0; i < g->cells; i++) {
        const struct cell *c = &g->cell[i];
        say(stdout, "%-14s %8g %7zu", c->objective, c->gap, c->steps);
        put_variance(c->least);
        put_variance(c->median);
        put_variance(c->largest);
        say(stdout, " %10zu\n", c->overflows);
    }
}

/* Without the repeats that overflowed the variance is too small. */
static void warn(const struct gradvar *g)
{
    for (size_t i = 0; i < g->cells; i++) {
        const struct cell *c = &g->cell[i];
        if (c->finite < 2)
            say(stderr,
                "warning: %s, gap %g: %zu of %zu gradients are not finite: "
                "too few are left for a variance\n",
                c->objective, c->gap, c->overflows, g->repeats);
        else if (c->overflows)
            say(stderr,
                "warning: %s, gap %g: %zu of %zu gradients are not finite; "
                "the variance is that of the others, and too small\n",
                c->objective, c->gap, c->overflows, g->repeats);
    }
}

/* --- CSV ----------------------------------------------------------------- */

static void put_row(FILE *out, const struct cell *c, const char *parameter,
                    const char *of, double mean, double variance)
{
    fprintf(out, "%s,", c->objective);
    put_number(c->gap, out);
    putc(',', out);
    put_text(parameter, out);
    fprintf(out, ",%s,", of);
    put_number(mean, out);
    putc(',', out);
    put_number(variance, out);
    fprintf(out, ",%zu,%zu\n", c->finite, c->overflows);
}

static void put_spread(FILE *out, const struct cell *c, const char *parameter,
                       const double spread[3])
{
    static const char *const of[] = {"min", "median", "max"};
    for (int i = 0; i < 3; i++)
        put_row(out, c, parameter, of[i], NAN, spread[i]);
}

/* A layer of a network or the values of a gp: numbers [from, end). */
static void put_layer(FILE *out, const struct gradvar *g, const struct cell *c,
                      size_t from, size_t end, double *room)
{
    double spread[3];
    memcpy(room, c->variance + from, (end - from) * sizeof *room);
    find_spread(end - from, room, &spread[0], &spread[1], &spread[2]);
    put_spread(out, c, g->number[from].param.name, spread);
}

static void put_variances(FILE *out, const struct gradvar *g,
                          const struct cell *c, bool all, double *room)
{
    put_spread(out, c, "all", (double[3]){c->least, c->median, c->largest});
    for (size_t i = 0, end; i < g->numbers; i = end) {
        const gsv_param *p = &g->number[i].param;
        for (end = i + 1; end < g->numbers; end++)
            if (g->number[end].param.offset != p->offset) break;
        if (!all && (p->weight || p->gp)) put_layer(out, g, c, i, end, room);
        else
            for (size_t j = i; j < end; j++) {
                char name[NAME_ROOM];
                put_row(out, c, number_name(&g->number[j], name), "number",
                        c->mean[j], c->variance[j]);
            }
    }
}

static int write_csv(const struct gradvar *g, const char *path, bool all)
{
    struct draft d;
    double *room = malloc(g->numbers * sizeof *room);
    if (!room) return complain_memory();
    int code = draft_open(&d, path);
    if (!code) {
        fputs("objective,gap,parameter,of,mean,variance,finite,overflows\n",
              d.out);
        for (size_t i = 0; i < g->cells; i++)
            put_variances(d.out, g, &g->cell[i], all, room);
        code = draft_close(&d, true);
    }
    free(room);
    return code;
}

/* --- JSON ---------------------------------------------------------------- */

static json_t *gradvar_json(const struct gradvar *g)
{
    json_t *j = json_object(), *cells = json_array();
    json_object_set_new(j, "numbers", json_count(g->numbers));
    json_object_set_new(j, "repeats", json_count(g->repeats));
    json_object_set_new(j, "paths", json_count(g->paths));
    for (size_t i = 0; i < g->cells; i++) {
        const struct cell *c = &g->cell[i];
        json_t *row = json_object();
        json_object_set_new(row, "objective", json_string(c->objective));
        json_object_set_new(row, "gap", json_number(c->gap));
        json_object_set_new(row, "steps", json_count(c->steps));
        json_object_set_new(row, "min", json_number(c->least));
        json_object_set_new(row, "median", json_number(c->median));
        json_object_set_new(row, "max", json_number(c->largest));
        json_object_set_new(row, "overflows", json_count(c->overflows));
        json_object_set_new(row, "seconds", json_number(c->seconds));
        json_array_append_new(cells, row);
    }
    json_object_set_new(j, "cells", cells);
    return j;
}

/* --- The figure ---------------------------------------------------------- */

/* The first cell of the same objective. */
static size_t first_of(const struct gradvar *g, size_t i)
{
    size_t first = 0;
    while (strcmp(g->cell[first].objective, g->cell[i].objective) != 0)
        first++;
    return first;
}

/* The two curves: the largest variance and the median. */
static double drawn(const struct cell *c, int which)
{
    return which ? c->median : c->largest;
}

/* A log scale cannot show 0. */
static bool can_be_drawn(double variance)
{
    return variance > 0.0 && isfinite(variance);
}

/* Writes the points of an objective unless `to` is NULL; returns their number.
 */
static size_t put_points(FILE *to, const struct gradvar *g, size_t first,
                         int which)
{
    size_t placed = 0;
    if (to) fprintf(to, "$o%zu_%d << EOD\n", first, which);
    for (size_t i = first; i < g->cells; i++) {
        double variance = drawn(&g->cell[i], which);
        if (first_of(g, i) != first || !can_be_drawn(variance)) continue;
        if (to) fprintf(to, "%.10g %.10g\n", g->cell[i].gap, variance);
        placed++;
    }
    if (to) fputs("EOD\n", to);
    return placed;
}

static void put_axes(FILE *to, const struct gradvar *g)
{
    fprintf(to,
            "set logscale xy\nset format y '1e%%L'\nset format x '%%g'\n"
            "set xrange [%.10g:%.10g]\nset key outside right top\n"
            "set xlabel 'time between observations'\n"
            "set ylabel 'variance of the gradient: largest (line), median "
            "(dashes)'\n",
            g->cell[0].gap / 1.2, g->cell[g->cells - 1].gap * 1.2);
}

/* Blocks of points, then one command for all that are not empty. */
static int plot_variances(const struct gradvar *g, const char *path)
{
    static const char *const STYLE[] = {"linespoints", "lines"};
    static const char *const MARK[] = {"pt 7 ps 0.6", "dt 2"};
    struct plot plot;
    if (plot_open(&plot, path, 820, 520)) return EXIT_INPUT;
    FILE *to = plot.to;
    size_t placed = 0, line = 0;
    for (size_t i = 0; i < g->cells; i++)
        for (int k = 0; k < 2 && first_of(g, i) == i; k++)
            placed += put_points(to, g, i, k);
    if (!placed) {
        plot_close(&plot, false);
        return complain(EXIT_NUMBERS,
                        "--plot %s: all variances are 0 or not finite, so "
                        "there is nothing to draw",
                        path);
    }
    put_axes(to, g);
    fputs("plot 1/0 notitle", to);
    for (size_t i = 0; i < g->cells; i++) {
        if (first_of(g, i) != i) continue;
        line++;
        for (int k = 0; k < 2; k++)
            if (put_points(NULL, g, i, k))
                fprintf(to, ", $o%zu_%d using 1:2 with %s lt %zu %s %s%s%s", i,
                        k, STYLE[k], line, MARK[k], k ? "notitle" : "title '",
                        k ? "" : g->cell[i].objective, k ? "" : "'");
    }
    putc('\n', to);
    return plot_close(&plot, true);
}

int gradvar_report(const struct args *a, const struct gradvar *g)
{
    int code = a->output ? write_csv(g, a->output, a->all) : 0;
    if (code) return code;
    if (a->json) code = print_json(gradvar_json(g));
    else if (!a->output || strcmp(a->output, "-") != 0) print_table(g);
    warn(g);
    if (code || !a->plot) return code;
    code = plot_variances(g, a->plot);
    if (!code) say_plot(a);
    return code;
}
