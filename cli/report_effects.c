/* SPDX-License-Identifier: MIT */
/* Random effects in the page: the effects of all series with their intervals,
 * and what the fit says of the worst and of the median series. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

/* Series of the table of effects. */
enum { SHOWN_SERIES = 40 };

bool has_effects(const struct report *r)
{
    return r->record->effect != NULL;
}

/* --- All effects ---------------------------------------------------------- */

static int by_estimate(const void *a, const void *b)
{
    double x = ((const struct effect *)a)->estimate;
    double y = ((const struct effect *)b)->estimate;
    return (x > y) - (x < y);
}

/* Intervals in the order of the estimates. */
static int put_caterpillar(const struct report *r, size_t i, FILE *to)
{
    size_t n = r->record->tracks;
    struct effect *list = malloc(n * sizeof *list);
    char name[NAME_ROOM];
    if (!list) return complain_memory();
    for (size_t t = 0; t < n; t++)
        list[t] = effect_of(r->record, t, i);
    qsort(list, n, sizeof *list, by_estimate);
    fprintf(to, "$effect%zu << EOD\n", i);
    for (size_t t = 0; t < n; t++)
        fprintf(to, "%zu %.8g %.8g %.8g\n", t + 1, list[t].estimate,
                list[t].low, list[t].high);
    fputs("EOD\nset ylabel ", to);
    plot_text(effect_label(r->model, i, name), to);
    fprintf(
        to,
        "\nplot $effect%zu using 1:2:3:4 with yerrorbars pt 7 ps 0.5 lw 1.2 "
        "lc rgb '#1f5fa8' notitle\n",
        i);
    free(list);
    return 0;
}

static int draw_effects(struct report *r)
{
    size_t n = r->record->effects;
    size_t panels = n < MOST_PANELS ? n : MOST_PANELS;
    double tall = 70.0 + 200.0 * (double)panels;
    struct figure f;
    int code = 0;
    if (figure_begin(&f, WIDTH, (int)tall)) return EXIT_NUMBERS;
    fprintf(f.to,
            "unset key\nset multiplot layout %zu,1 margins 0.09,0.98,%g,%g "
            "spacing 0.04\nset xrange [0:%zu]\nset xlabel ''\n",
            panels, 50.0 / tall, 1.0 - 20.0 / tall, r->record->tracks + 1);
    for (size_t i = 0; !code && i < panels; i++)
        code = put_caterpillar(r, i, f.to);
    fputs("unset multiplot\n", f.to);
    return figure_end(r, &f, code, "effects", "Random effects",
                      "The random effects of all series, in the order of their "
                      "estimates, with 95 % intervals that contain the "
                      "uncertainty of the parameters.");
}

static void put_effects_table(const struct report *r)
{
    const gsv_record *q = r->record;
    char name[NAME_ROOM];
    page_table(r->out, "series|effect|estimate|standard error|low|high");
    for (size_t t = 0; t < q->tracks && t < SHOWN_SERIES; t++)
        for (size_t i = 0; i < q->effects; i++) {
            struct effect e = effect_of(q, t, i);
            fputs("<tr>", r->out);
            page_name(r->out, q->subject[t]);
            page_name(r->out, effect_label(r->model, i, name));
            page_number(r->out, e.estimate, 5);
            page_number(r->out, e.error, 3);
            page_number(r->out, e.low, 5);
            page_number(r->out, e.high, 5);
            fputs("</tr>\n", r->out);
        }
    page_table_end(r->out);
    if (q->tracks > SHOWN_SERIES)
        fprintf(r->out,
                "<p>... and %zu more series: <code>girsanov summary "
                "--effects</code> lists all.</p>\n",
                q->tracks - SHOWN_SERIES);
}

/* --- The worst and the median series -------------------------------------- */

/* The log-likelihood of a row. */
static double per_row(const struct report *r, size_t track)
{
    const size_t *start = r->data->start;
    size_t rows = start[track + 1] - start[track];
    return rows ? r->weights.gap[track].loglik / (double)rows : INFINITY;
}

/* The track with so many others below it. */
static size_t ranked(const struct report *r, size_t rank)
{
    size_t n = r->weights.groups;
    for (size_t t = 0; t < n; t++) {
        size_t below = 0;
        for (size_t k = 0; k < n; k++)
            below += per_row(r, k) < per_row(r, t) ||
                     (k < t && !(per_row(r, k) > per_row(r, t)));
        if (below == rank) return t;
    }
    return 0;
}

static gsv_series *one_series(const struct report *r, size_t track)
{
    const gsv_series *s = r->data;
    size_t first = s->start[track], n = s->start[track + 1] - first;
    double *value = malloc((n * s->columns + 1) * sizeof *value);
    gsv_series *one = NULL;
    for (size_t c = 0; value && c < s->columns; c++)
        memcpy(value + c * n, s->value + c * s->rows + first,
               n * sizeof *value);
    if (value)
        one = gsv_series_new(1, (size_t[]){0, n}, s->columns,
                             (const char *const *)s->name, s->time + first,
                             value);
    free(value);
    return one;
}

static void put_fit(const gsv_series *s, const gsv_smoothed *p, size_t i,
                    FILE *to)
{
    size_t last = (p->quantiles - 1) * p->dim * p->rows;
    fprintf(to, "$fit%zu << EOD\n", i);
    for (size_t n = 0; n < p->rows; n++)
        fprintf(to, "%.10g %.8g %.8g %.8g\n", p->time[n],
                p->quantile[i * p->rows + n],
                p->quantile[last + i * p->rows + n], p->mean[i * p->rows + n]);
    fprintf(to, "EOD\n$row%zu << EOD\n%.10g NaN\n", i, s->time[0]);
    for (size_t n = 0; p->seen[i] != SIZE_MAX && n < s->rows; n++)
        if (isfinite(s->value[p->seen[i] * s->rows + n]))
            fprintf(to, "%.10g %.8g\n", s->time[n],
                    s->value[p->seen[i] * s->rows + n]);
    fputs("EOD\n", to);
}

static int draw_fit(struct report *r, size_t track, const char *id,
                    const char *which)
{
    gsv_paths_options o = gsv_paths_options_default();
    gsv_smoothed p = {0};
    struct figure f;
    char caption[400];
    gsv_series *s = one_series(r, track);
    if (!s) return complain_last();
    o.estimator.seed = r->estimator.seed;
    o.estimator.threads = r->estimator.threads;
    int status = gsv_paths(r->model, s, &o, &p);
    size_t panels = p.dim < MOST_PANELS ? p.dim : MOST_PANELS;
    double tall = 70.0 + 180.0 * (double)panels;
    int code = status ? 0 : figure_begin(&f, WIDTH, (int)tall);
    if (!status && !code) {
        fprintf(f.to,
                "unset key\nset style fill solid noborder\nset multiplot "
                "layout %zu,1 margins 0.09,0.98,%g,%g spacing 0.04\n",
                panels, 50.0 / tall, 1.0 - 20.0 / tall);
        for (size_t i = 0; i < panels; i++) {
            put_fit(s, &p, i, f.to);
            fputs("set ylabel ", f.to);
            plot_text(gsv_model_column(r->model)[i], f.to);
            fprintf(f.to,
                    "\nplot $fit%zu using 1:2:3 with filledcurves lc rgb "
                    "'#d5e3f2' notitle, $fit%zu using 1:4 with lines lc rgb "
                    "'#1f5fa8' notitle, $row%zu using 1:2 with points pt 7 ps "
                    "0.45 lc rgb '#c8482e' notitle\n",
                    i, i, i);
        }
        fputs("unset multiplot\n", f.to);
        snprintf(caption, sizeof caption,
                 "The %s series: rows, and the states given all of its rows, "
                 "with a 90 %% band. Its log-likelihood is %.3g a row.",
                 which, per_row(r, track));
        code = figure_end(r, &f, 0, id, "The states of one series", caption);
    }
    gsv_smoothed_free(&p);
    gsv_series_free(s);
    return code;
}

int put_effects(struct report *r)
{
    size_t n = r->weights.groups;
    int code = r->pictures ? draw_effects(r) : 0;
    if (!code) put_effects_table(r);
    if (code || n < 2 || n != r->data->tracks) return code;
    size_t worst = ranked(r, 0), middle = ranked(r, n / 2);
    fputs("<p>Worst series, by the log-likelihood of a row: ", r->out);
    page_text(r->out, r->data->label[worst]);
    fputs(". Median series: ", r->out);
    page_text(r->out, r->data->label[middle]);
    fputs(".</p>\n", r->out);
    if (!r->pictures) return 0;
    code = draw_fit(r, worst, "worst", "worst");
    return code ? code : draw_fit(r, middle, "median", "median");
}
