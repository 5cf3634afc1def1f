/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "predict.h"

enum { MOST_PANELS = 6, ROWS = 10 };

/* The length of the past, in units of that of the forecast. */
static const double PAST = 2.0;

struct panels {
    const struct ask *ask;
    const gsv_prediction *p;
    FILE *to;
    size_t track, first, end; /* its rows of the prediction */
    double from, to_time;     /* range of the figure        */
};

/* Latent states have no column. */
static void put_past(const struct panels *g, size_t c)
{
    const gsv_series *s = g->ask->data;
    const gsv_prediction *p = g->p;
    const double *x = series_column(s, p->name[c]);
    const double *until = g->ask->until;
    size_t kept = 0;
    fprintf(g->to, "$past%zu << EOD\n", c);
    for (size_t row = s->start[g->track]; x && row < s->start[g->track + 1];
         row++) {
        if (isnan(x[row]) || (until && s->time[row] > until[g->track]))
            continue;
        if (s->time[row] < g->from) continue;
        fprintf(g->to, "%.10g %.10g\n", s->time[row], x[row]);
        kept++;
    }
    if (!kept) fprintf(g->to, "%.10g NaN\n", g->from);
    fputs("EOD\n", g->to);
}

/* time, mean, quantiles, actual */
static void put_forecast(const struct panels *g, size_t c)
{
    const gsv_prediction *p = g->p;
    fprintf(g->to, "$forecast%zu << EOD\n", c);
    for (size_t n = g->first; n < g->end; n++) {
        fprintf(g->to, "%.10g %.10g", p->time[n], p->mean[c * p->rows + n]);
        for (size_t q = 0; q < p->quantiles; q++)
            fprintf(g->to, " %.10g",
                    p->quantile[(c * p->quantiles + q) * p->rows + n]);
        fprintf(g->to, " %.10g\n", p->actual[c * p->rows + n]);
    }
    fputs("EOD\n", g->to);
}

/* Pairs of quantiles are bands, the inner ones darker. */
static void put_panel(const struct panels *g, size_t c)
{
    const gsv_prediction *p = g->p;
    static const char *const COLOR[] = {"#d5e3f2", "#a9c7e4", "#7aa8d3"};
    fputs("set ylabel ", g->to);
    plot_text(p->name[c], g->to);
    fputs("\nplot ", g->to);
    for (size_t b = 0; b < p->quantiles / 2; b++)
        fprintf(g->to,
                "$forecast%zu using 1:%zu:%zu with filledcurves lc rgb '%s' "
                "notitle, ",
                c, b + 3, p->quantiles - b + 2, COLOR[b < 3 ? b : 2]);
    fprintf(g->to,
            "$forecast%zu using 1:2 with lines lw 1.6 lc rgb '#1f5fa8' "
            "notitle, "
            "$past%zu using 1:2 with linespoints pt 7 ps 0.3 lw 0.8 lc rgb "
            "'#555555' notitle",
            c, c);
    if (has_actual(p, c))
        fprintf(g->to,
                ", $forecast%zu using 1:%zu with points pt 7 ps 0.45 lc rgb "
                "'#c0392b' notitle",
                c, p->quantiles + 3);
    putc('\n', g->to);
}

/* Twice the length of the forecast before it, and at least the last rows. */
static void choose_range(struct panels *g)
{
    const gsv_series *s = g->ask->data;
    size_t first = s->start[g->track], row = first;
    double begin = g->p->time[g->first];
    g->to_time = g->p->time[g->end - 1];
    while (row < s->start[g->track + 1] && s->time[row] < begin)
        row++;
    size_t near = row > first + ROWS ? row - ROWS : first;
    g->from = begin - PAST * (g->to_time - begin);
    if (row > first) {
        g->from = fmin(g->from, s->time[near]);
        g->from = fmax(g->from, s->time[first]);
    }
}

int predict_plot(const struct ask *q, const gsv_prediction *p, const char *path)
{
    struct plot plot;
    struct panels g = {.ask = q, .p = p, .track = p->track[0]};
    size_t panels = p->columns < MOST_PANELS ? p->columns : MOST_PANELS;
    if (plot_open(&plot, path, 760, (int)(60 + 240 * panels)))
        return EXIT_INPUT;
    g.to = plot.to;
    while (g.end < p->rows && p->track[g.end] == g.track)
        g.end++;
    choose_range(&g);
    for (size_t c = 0; c < panels; c++) {
        put_past(&g, c);
        put_forecast(&g, c);
    }
    fprintf(g.to,
            "unset key\nset style fill solid noborder\n"
            "set multiplot layout %zu,1\n",
            panels);
    fprintf(g.to, "set xrange [%.10g:%.10g]\n", g.from, g.to_time);
    for (size_t c = 0; c < panels; c++) {
        if (c + 1 == panels) fputs("set xlabel 'time'\n", g.to);
        put_panel(&g, c);
    }
    fputs("unset multiplot\n", g.to);
    return plot_close(&plot, true);
}
