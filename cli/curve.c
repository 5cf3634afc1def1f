/* SPDX-License-Identifier: MIT */
/* The learning curve of a fit. */
#include <math.h>

#include "cli.h"

bool curve_heldout(const gsv_record *k)
{
    for (size_t i = 0; i < k->points; i++)
        if (isfinite(k->curve[GSV_CURVE_HELDOUT * k->points + i])) return true;
    return false;
}

/* The first points may be far below the others; the axis leaves them out. */
static double curve_floor(const gsv_record *k)
{
    const double *y = k->curve + GSV_CURVE_LOGLIK * k->points;
    double high = -INFINITY, low = INFINITY;
    size_t skip = k->points / 20;
    for (size_t i = skip; i < k->points; i++)
        if (isfinite(y[i])) {
            high = fmax(high, y[i]);
            low = fmin(low, y[i]);
        }
    return low - 0.05 * (high - low);
}

/* A restart begins a new line. */
static void put_rows(const gsv_record *k, FILE *to)
{
    const double *restart = k->curve + GSV_CURVE_RESTART * k->points;
    for (size_t i = 0; i < k->points; i++) {
        if (i && restart[i] != restart[i - 1]) putc('\n', to);
        fprintf(to, "%.10g %.10g %.10g\n", k->curve[i],
                k->curve[GSV_CURVE_LOGLIK * k->points + i],
                k->curve[GSV_CURVE_HELDOUT * k->points + i]);
    }
}

void curve_plot(const gsv_record *k, FILE *to)
{
    bool held = curve_heldout(k);
    double floor = curve_floor(k);
    fputs("$curve << EOD\n", to);
    put_rows(k, to);
    fputs("EOD\nset key bottom right\nset xlabel 'iteration'\n"
          "set ylabel 'log-likelihood per gap'\n",
          to);
    if (k->points <= 12) fputs("set xtics 1\n", to);
    if (isfinite(floor) && k->points > 40)
        fprintf(to, "set yrange [%.10g:*]\n", floor);
    fprintf(to, "plot $curve using 1:2 with linespoints pt 7 ps 0.25 lt 1 %s",
            held ? "title 'learned from'" : "notitle");
    if (held) fputs(", $curve using 1:3 with lines lt 2 title 'held out'", to);
    putc('\n', to);
}
