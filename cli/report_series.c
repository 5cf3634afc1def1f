/* SPDX-License-Identifier: MIT */
/* The figures of series: the data, paths through the last rows and the forecast
 * after them. */
#include <math.h>
#include <stdint.h>

#include "field.h"
#include "report.h"

enum { MOST_TRACKS = 4, MOST_CURVE = 1000, SHOWN_PATHS = 6 };

/* --- Data ---------------------------------------------------------------- */

/* A column of a track: all rows, or the lowest and the highest of every few, so
 * that no peak is lost. */
static void put_track(const struct report *r, size_t track, size_t column,
                      FILE *to)
{
    const gsv_series *s = r->data;
    size_t first = s->start[track], end = s->start[track + 1];
    size_t stride = 1 + 2 * (end - first) / MOST_CURVE;
    const double *x = s->value + column * s->rows;
    fprintf(to, "$track%zu_%zu << EOD\n%.10g NaN\n", track, column,
            s->time[first]);
    for (size_t n = first; n < end; n += stride) {
        size_t low = n, high = n;
        for (size_t i = n; i < n + stride && i < end; i++) {
            if (isnan(x[low]) || x[i] < x[low]) low = i;
            if (isnan(x[high]) || x[i] > x[high]) high = i;
        }
        size_t one = low < high ? low : high, two = low < high ? high : low;
        if (isfinite(x[one])) fprintf(to, "%.10g %.8g\n", s->time[one], x[one]);
        if (two != one && isfinite(x[two]))
            fprintf(to, "%.10g %.8g\n", s->time[two], x[two]);
    }
    fputs("EOD\n", to);
}

static void put_data_panel(const struct report *r, size_t tracks, size_t column,
                           bool points, FILE *to)
{
    for (size_t k = 0; k < tracks; k++)
        put_track(r, k, column, to);
    fputs("set ylabel ", to);
    plot_text(r->data->name[column], to);
    fputs("\nplot ", to);
    for (size_t k = 0; k < tracks; k++) {
        fprintf(to, "%s$track%zu_%zu using 1:2 with %s lt %zu lw 1.1 ",
                k ? ", " : "", k, column,
                points ? "linespoints pt 7 ps 0.3" : "lines", k + 1);
        if (tracks > 1 && !column) {
            fputs("title ", to);
            plot_text(r->data->label[k], to);
        } else fputs("notitle", to);
    }
    putc('\n', to);
}

int draw_data(struct report *r)
{
    const gsv_series *s = r->data;
    size_t panels = s->columns < MOST_PANELS ? s->columns : MOST_PANELS;
    size_t tracks = s->tracks < MOST_TRACKS ? s->tracks : MOST_TRACKS;
    struct figure f;
    char caption[600];
    double low, high;
    if (figure_begin(&f, WIDTH, 90 + 200 * (int)panels)) return EXIT_NUMBERS;
    find_range(s->time, s->start[tracks], 1, &low, &high);
    figure_dates(r, low, high, f.to);
    fprintf(f.to,
            "set key outside top center horizontal\n"
            "set multiplot layout %zu,1 margins 0.09,0.98,%g,%g spacing 0.03\n"
            "set xrange [%.17g:%.17g]\n",
            panels, 60.0 / (90.0 + 200.0 * (double)panels),
            1.0 - 30.0 / (90.0 + 200.0 * (double)panels), low,
            high > low ? high : low + 1.0);
    if (panels > 1) fputs("set format x ''\n", f.to);
    for (size_t c = 0; c < panels; c++) {
        if (c + 1 == panels) fputs("set format x\nset xlabel 'time'\n", f.to);
        if (c + 1 == panels) figure_dates(r, low, high, f.to);
        put_data_panel(r, tracks, c, s->start[tracks] < 300 * tracks, f.to);
    }
    fputs("unset multiplot\n", f.to);
    size_t n = (size_t)snprintf(caption, sizeof caption,
                                "The data. If there are many rows, only the "
                                "extremes of every few rows are drawn.");
    if (s->tracks > tracks)
        n += (size_t)snprintf(caption + n, sizeof caption - n,
                              " The first %zu of %zu series are shown, %zu are "
                              "left out.",
                              tracks, s->tracks, s->tracks - tracks);
    if (s->columns > panels)
        snprintf(caption + n, sizeof caption - n,
                 " The first %zu of %zu columns are shown.", panels,
                 s->columns);
    return figure_end(r, &f, 0, "data", "The data", caption);
}

/* --- Paths and forecast -------------------------------------------------- */

/* Blocks of points for gnuplot, for state i. */
static void put_band(const struct report *r, size_t i, FILE *to)
{
    const gsv_smoothed *p = &r->paths;
    size_t last = (p->quantiles - 1) * p->dim * p->rows;
    fprintf(to, "$band%zu << EOD\n%.10g NaN NaN\n", i, r->from);
    for (size_t n = 0; n < p->rows; n++)
        if (p->time[n] >= r->from)
            fprintf(to, "%.10g %.8g %.8g\n", p->time[n],
                    p->quantile[i * p->rows + n],
                    p->quantile[last + i * p->rows + n]);
    fputs("EOD\n", to);
}

static void put_paths(const struct report *r, size_t i, FILE *to)
{
    const gsv_smoothed *p = &r->paths;
    fprintf(to, "$paths%zu << EOD\n%.10g NaN\n", i, r->from);
    for (size_t k = 0; k < p->draws && k < SHOWN_PATHS; k++) {
        for (size_t n = 0; n < p->rows; n++)
            if (p->time[n] >= r->from)
                fprintf(to, "%.10g %.8g\n", p->time[n],
                        p->draw[(k * p->dim + i) * p->rows + n]);
        putc('\n', to);
    }
    fputs("EOD\n", to);
}

/* The column of the observations of state i, or NULL. */
static const double *seen_column(const struct report *r, size_t i)
{
    size_t column = r->paths.rows ? r->paths.seen[i] : SIZE_MAX;
    return column == SIZE_MAX ? NULL : r->near->value + column * r->near->rows;
}

static void put_seen(const struct report *r, size_t i, FILE *to)
{
    const gsv_series *s = r->near;
    const double *x = seen_column(r, i);
    fprintf(to, "$seen%zu << EOD\n%.10g NaN\n", i, r->from);
    for (size_t n = 0; x && n < s->rows; n++)
        if (s->time[n] >= r->from && isfinite(x[n]))
            fprintf(to, "%.10g %.8g\n", s->time[n], x[n]);
    fputs("EOD\n", to);
}

/* The forecast begins at the last row, if the state is known there. */
static void put_fan(const struct report *r, size_t i, FILE *to)
{
    const gsv_prediction *q = &r->forecast;
    size_t last = r->near->rows - 1;
    const double *seen = seen_column(r, i);
    double x = seen && !r->latent ? seen[last] : NAN;
    fprintf(to, "$ahead%zu << EOD\n%.10g NaN NaN NaN NaN NaN\n", i, r->from);
    fprintf(to, "%.10g %.8g %.8g %.8g %.8g %.8g\n", r->near->time[last], x, x,
            x, x, x);
    for (size_t n = 0; n < q->rows; n++) {
        fprintf(to, "%.10g", q->time[n]);
        for (size_t k = 0; k < q->quantiles; k++)
            fprintf(to, " %.8g",
                    q->quantile[(i * q->quantiles + k) * q->rows + n]);
        putc('\n', to);
    }
    fputs("EOD\n", to);
}

static void put_near_panel(const struct report *r, size_t i, FILE *to)
{
    put_band(r, i, to);
    put_paths(r, i, to);
    put_seen(r, i, to);
    put_fan(r, i, to);
    fputs("set ylabel ", to);
    plot_text(gsv_model_column(r->model)[i], to);
    fprintf(to,
            "\nplot $ahead%zu using 1:2:6 with filledcurves lc rgb '#d5e3f2' "
            "notitle, $ahead%zu using 1:3:5 with filledcurves lc rgb '#a9c7e4' "
            "notitle, $band%zu using 1:2:3 with filledcurves lc rgb '#d5e3f2' "
            "notitle, $paths%zu using 1:2 with lines lw 0.7 lc rgb '#1f5fa8' "
            "notitle, $ahead%zu using 1:4 with lines lw 1.8 lc rgb '#1f5fa8' "
            "notitle, $seen%zu using 1:2 with points pt 7 ps 0.45 lc rgb "
            "'#c8482e' notitle\n",
            i, i, i, i, i, i);
}

int draw_near(struct report *r)
{
    size_t dim = gsv_model_dim(r->model);
    size_t panels = dim < MOST_PANELS ? dim : MOST_PANELS;
    struct figure f;
    double high = r->near->time[r->near->rows - 1];
    double tall = 90.0 + 220.0 * (double)panels;
    if (figure_begin(&f, WIDTH, (int)tall)) return EXIT_NUMBERS;
    if (r->forecast.rows) high = r->forecast.time[r->forecast.rows - 1];
    fprintf(f.to,
            "unset key\nset style fill solid noborder\n"
            "set multiplot layout %zu,1 margins 0.09,0.98,%g,%g spacing 0.03\n"
            "set xrange [%.17g:%.17g]\n",
            panels, 60.0 / tall, 1.0 - 20.0 / tall, r->from, high);
    figure_dates(r, r->from, high, f.to);
    if (panels > 1) fputs("set format x ''\n", f.to);
    for (size_t i = 0; i < panels; i++) {
        if (i + 1 == panels) fputs("set format x\nset xlabel 'time'\n", f.to);
        put_near_panel(r, i, f.to);
    }
    fputs("unset multiplot\n", f.to);
    return figure_end(
        r, &f, 0, "near", "Sample paths and a forecast",
        r->latent
            ? "<span class=\"key\" style=\"background:var(--c2)\"></span>"
              "observations, and six paths of the states given all "
              "observations, with a 90 % band. After the last row the "
              "forecast: median, 50 % and 90 % bands."
            : "<span class=\"key\" style=\"background:var(--c2)\"></span>"
              "the last rows, and six sample paths between them, with a 90 % "
              "band. After the last row the forecast: median, 50 % and 90 % "
              "bands.");
}
