/* SPDX-License-Identifier: MIT */
/* girsanov paths: the states given all data, as bands or as sample paths. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

/* The numbers of paths, series and states in a figure. */
enum { SHOWN_PATHS = 8, SHOWN_TRACKS = 6, MOST_PANELS = 8 };

struct view {
    const struct args *args;
    gsv_model *model;
    const gsv_series *data;
    gsv_paths_options options;
    gsv_smoothed result;
    double *time, *quantile; /* of the options, yours      */
    bool shown;              /* a progress line is visible */
};

/* --- Options ------------------------------------------------------------- */

static int parse_rows(struct view *v)
{
    const struct args *a = v->args;
    if (a->times && is_given(a, "--between"))
        return complain(
            EXIT_INPUT,
            "--times and --between cannot be used together; give one");
    if (a->times) {
        v->time = parse_times(a->times, &v->options.times);
        v->options.time = v->time;
        return v->time ? 0 : EXIT_INPUT;
    }
    return 0;
}

/* Progress on a terminal. */
static bool show(void *user, size_t done, size_t all)
{
    struct view *v = user;
    if (done > all) done = all;
    redraw("%.0f %%", 100.0 * (double)done / (double)all);
    v->shown = true;
    return false;
}

static int set_options(struct view *v)
{
    const struct args *a = v->args;
    gsv_paths_options *o = &v->options;
    *o = a->bands;
    o->estimator = estimator_options(a);
    estimator_for_paths(a, v->model, &o->estimator);
    if (a->plot && o->draws < SHOWN_PATHS) o->draws = SHOWN_PATHS;
    if (isatty(STDERR_FILENO) && !a->quiet) {
        o->progress = show;
        o->user = v;
    }
    if (parse_rows(v) || parse_quantiles(v->args->quantiles, &v->quantile,
                                         &v->options.quantiles))
        return EXIT_INPUT;
    v->options.quantile = v->quantile;
    return 0;
}

/* --- CSV ----------------------------------------------------------------- */

static const char *name_of(const struct view *v, size_t i)
{
    return gsv_model_column(v->model)[i];
}

static void write_bands(const struct view *v, FILE *out)
{
    const gsv_smoothed *r = &v->result;
    fputs("series,time", out);
    for (size_t i = 0; i < r->dim; i++) {
        fprintf(out, ",%s_mean,%s_sd", name_of(v, i), name_of(v, i));
        for (size_t q = 0; q < r->quantiles; q++) {
            char room[QUANTILE_ROOM];
            fprintf(out, ",%s_%s", name_of(v, i),
                    quantile_name(r->probability[q], room));
        }
    }
    putc('\n', out);
    for (size_t n = 0; n < r->rows; n++) {
        put_text(v->data->label[r->track[n]], out);
        put_cell(r->time[n], out);
        for (size_t i = 0; i < r->dim; i++) {
            size_t at = i * r->rows + n;
            put_cell(r->mean[at], out);
            put_cell(r->sd[at], out);
            for (size_t q = 0; q < r->quantiles; q++)
                put_cell(r->quantile[q * r->dim * r->rows + at], out);
        }
        putc('\n', out);
    }
}

/* For each series, one path after another. */
static void write_draws(const struct view *v, FILE *out)
{
    const gsv_smoothed *r = &v->result;
    size_t draws = v->args->bands.draws, end;
    fputs("series,draw,weight,time", out);
    for (size_t i = 0; i < r->dim; i++)
        fprintf(out, ",%s", name_of(v, i));
    putc('\n', out);
    for (size_t first = 0; first < r->rows; first = end) {
        for (end = first; end < r->rows && r->track[end] == r->track[first];)
            end++;
        for (size_t k = 0; k < draws; k++)
            for (size_t n = first; n < end; n++) {
                put_text(v->data->label[r->track[n]], out);
                fprintf(out, ",%zu", k + 1);
                put_cell(1.0 / (double)draws, out);
                put_cell(r->time[n], out);
                for (size_t i = 0; i < r->dim; i++)
                    put_cell(r->draw[(k * r->dim + i) * r->rows + n], out);
                putc('\n', out);
            }
    }
}

static int write_csv(const struct view *v)
{
    struct draft d;
    if (draft_open(&d, v->args->output)) return EXIT_INPUT;
    if (v->args->bands.draws) write_draws(v, d.out);
    else write_bands(v, d.out);
    return draft_close(&d, true);
}

/* --- The figure ---------------------------------------------------------- */

/* For a series and a state: time, lowest quantile, median, highest quantile. */
static void put_band(const struct view *v, size_t track, size_t i, FILE *to)
{
    const gsv_smoothed *r = &v->result;
    size_t last = (r->quantiles - 1) * r->dim * r->rows;
    fprintf(to, "$band%zu << EOD\n", track);
    for (size_t n = 0; n < r->rows; n++) {
        size_t at = i * r->rows + n;
        if (r->track[n] == track)
            fprintf(to, "%.10g %.8g %.8g %.8g\n", r->time[n], r->quantile[at],
                    r->quantile[r->quantiles / 2 * r->dim * r->rows + at],
                    r->quantile[last + at]);
    }
    fputs("EOD\n", to);
}

/* A few paths, with an empty line after each. */
static void put_paths(const struct view *v, size_t track, size_t i, FILE *to)
{
    const gsv_smoothed *r = &v->result;
    fprintf(to, "$paths%zu << EOD\n", track);
    for (size_t k = 0; k < SHOWN_PATHS; k++) {
        for (size_t n = 0; n < r->rows; n++)
            if (r->track[n] == track)
                fprintf(to, "%.10g %.8g\n", r->time[n],
                        r->draw[(k * r->dim + i) * r->rows + n]);
        putc('\n', to);
    }
    fputs("EOD\n", to);
}

/* The observations of a state, exact or noisy; false if there are none. */
static bool put_points(const struct view *v, size_t track, size_t i, FILE *to)
{
    const gsv_series *s = v->data;
    size_t column = v->result.seen[i], found = 0;
    fprintf(to, "$points%zu << EOD\n", track);
    for (size_t n = s->start[track];
         column != SIZE_MAX && n < s->start[track + 1]; n++) {
        double x = s->value[column * s->rows + n];
        if (isnan(x)) continue;
        fprintf(to, "%.10g %.8g\n", s->time[n], x);
        found++;
    }
    fputs("EOD\n", to);
    return found > 0;
}

static bool has_rows(const gsv_smoothed *r, size_t track)
{
    for (size_t n = 0; n < r->rows; n++)
        if (r->track[n] == track) return true;
    return false;
}

/* One state: bands, paths, data and medians, in the order of drawing. */
static void put_panel(const struct view *v, size_t i, FILE *to)
{
    size_t tracks = v->data->tracks, shown[SHOWN_TRACKS], count = 0;
    bool points[SHOWN_TRACKS];
    for (size_t k = 0; k < tracks && count < SHOWN_TRACKS; k++) {
        if (!has_rows(&v->result, k)) continue;
        put_band(v, k, i, to);
        put_paths(v, k, i, to);
        points[count] = put_points(v, k, i, to);
        shown[count++] = k;
    }
    fputs("set ylabel ", to);
    plot_text(name_of(v, i), to);
    fputs("\nplot ", to);
    for (size_t n = 0; n < count; n++)
        fprintf(to,
                "$band%zu using 1:2:4 with filledcurves fs transparent solid "
                "0.2 noborder lt %zu notitle, ",
                shown[n], n + 1);
    for (size_t n = 0; n < count; n++)
        fprintf(to,
                "$paths%zu using 1:2 with lines lt %zu lw 0.5 dt 1 notitle, ",
                shown[n], n + 1);
    for (size_t n = 0; n < count; n++)
        if (points[n])
            fprintf(to,
                    "$points%zu using 1:2 with points pt 7 ps 0.4 lc rgb "
                    "'#333333' notitle, ",
                    shown[n]);
    for (size_t n = 0; n < count; n++) {
        fprintf(to, "$band%zu using 1:3 with lines lt %zu title ", shown[n],
                n + 1);
        plot_text(count > 1 ? v->data->label[shown[n]] : "median", to);
        fputs(n + 1 < count ? ", " : "\n", to);
    }
}

static int plot_view(const struct view *v)
{
    struct plot p;
    size_t panels = v->result.dim < MOST_PANELS ? v->result.dim : MOST_PANELS;
    int height = panels == 1 ? 480 : 60 + 260 * (int)panels;
    if (plot_open(&p, v->args->plot, 860, height)) return EXIT_INPUT;
    fprintf(p.to, "set multiplot layout %zu,1\n", panels);
    for (size_t i = 0; i < panels; i++) {
        if (i + 1 == panels) fputs("set xlabel 'time'\n", p.to);
        put_panel(v, i, p.to);
    }
    fputs("unset multiplot\n", p.to);
    return plot_close(&p, true);
}

/* --- The verb ------------------------------------------------------------ */

static json_t *view_json(const struct view *v)
{
    const gsv_smoothed *r = &v->result;
    json_t *j = json_object(), *quantiles = json_array();
    for (size_t q = 0; q < r->quantiles; q++)
        json_array_append_new(quantiles, json_number(r->probability[q]));
    if (v->args->output) add_text(j, "output", v->args->output);
    if (v->args->plot) add_text(j, "plot", v->args->plot);
    add_count(j, "rows", r->rows);
    add_count(j, "states", r->dim);
    json_object_set_new(j, "quantiles", quantiles);
    add_count(j, "draws", v->args->bands.draws);
    add_count(j, "paths", r->paths);
    add_number(j, "ess_min", r->ess_min);
    add_count(j, "seed", v->args->estimator.seed);
    return j;
}

/* With few effective paths the bands are inaccurate. */
static void warn(const struct view *v)
{
    const gsv_smoothed *r = &v->result;
    double least = fmax(10.0, 0.1 * (double)r->paths);
    if (r->ess_min >= least || r->paths < 10) return;
    say(stderr,
        "warning: the bands are inaccurate: at worst %.1f of %zu paths or "
        "support points carry the weight; use more (--paths, --support)\n",
        r->ess_min, r->paths);
}

static int report(const struct view *v)
{
    const struct args *a = v->args;
    bool csv = a->output || !(a->plot || a->json);
    int code = csv ? write_csv(v) : 0;
    if (!code && a->plot) code = plot_view(v);
    if (code) return code;
    warn(v);
    if (say_functions(a, v->model, v->data, false)) return EXIT_NUMBERS;
    if (a->json) {
        json_t *j = view_json(v);
        code = put_functions(j, v->model, v->data, false);
        if (!code) return print_json(j);
        json_decref(j);
        return code;
    }
    say_written(a, v->result.rows * (a->bands.draws ? a->bands.draws : 1),
                "rows");
    return EXIT_DONE;
}

static int run_with(struct view *v)
{
    int code = set_options(v);
    if (code) return code;
    gsv_series *s = open_data(v->args, v->model);
    if (!s) return EXIT_INPUT;
    v->data = s;
    int status = gsv_paths(v->model, s, &v->options, &v->result);
    if (v->shown) fputs("\r\033[K", stderr);
    code = status ? complain_last() : report(v);
    gsv_smoothed_free(&v->result);
    gsv_series_free(s);
    return code;
}

int paths_run(const struct args *a, gsv_model *m)
{
    struct view v = {.args = a, .model = m};
    int code = run_with(&v);
    free(v.time);
    free(v.quantile);
    return code;
}
