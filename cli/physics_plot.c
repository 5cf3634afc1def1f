/* SPDX-License-Identifier: MIT */
/* The picture of physics. One state: its law with the data's histogram, the
 * potential, and the committor; two: maps of the law and the potential, and
 * both states alone; more: each state alone. Lines are dashed where the
 * data do not reach; a dashed box in maps has the data. */
#include <math.h>

#include "physics.h"

/* --- Data ---------------------------------------------------------------- */

/* A block of lines x, value, low, high for gnuplot, NAME, and NAME_in with
 * those from `from` to `to`, where the data are. */
static void put_curve(const char *name, size_t n, const double *x,
                      const gsv_quantity *q, double from, double to_x, FILE *to)
{
    for (int inside = 0; inside < 2; inside++) {
        fprintf(to, "$%s%s << E\n", name, inside ? "_in" : "");
        for (size_t k = 0; k < n; k++)
            if (isfinite(q[k].value) &&
                (!inside || (x[k] >= from && x[k] <= to_x)))
                fprintf(to, "%.8g %.8g %.8g %.8g\n", x[k], q[k].value,
                        isfinite(q[k].low) ? q[k].low : q[k].value,
                        isfinite(q[k].high) ? q[k].high : q[k].value);
        fputs("E\n", to);
    }
}

static void put_bins(const gsv_physics_result *r, size_t i, FILE *to)
{
    size_t n = r->bins;
    if (!r->histogram) return;
    fprintf(to, "$h%zu << E\n", i);
    for (size_t k = 0; k < n; k++)
        if (isfinite(r->histogram[i * n + k]))
            fprintf(to, "%.8g %.8g\n", r->bin[i * n + k],
                    r->histogram[i * n + k]);
    fputs("E\n", to);
}

/* --- One state ----------------------------------------------------------- */

static void label_axes(const char *x, const char *y, FILE *to)
{
    fputs("set xlabel ", to);
    plot_text(x, to);
    fputs("\nset ylabel ", to);
    plot_text(y, to);
    putc('\n', to);
}

/* A band, a dashed line everywhere, and a full one where the data are. */
static void plot_curve(const char *name, const char *colour, FILE *to)
{
    fprintf(to,
            "$%s using 1:3:4 with filledcurves fc rgb '%s' fs transparent "
            "solid 0.2 noborder notitle, "
            "$%s using 1:2 with lines dt 2 lw 1.5 lc rgb '%s' notitle, "
            "$%s_in using 1:2 with lines lw 2 lc rgb '%s' notitle",
            name, colour, name, colour, name, colour);
}

static void put_committor(const gsv_physics_result *r, FILE *to)
{
    fputs("$q << E\n", to);
    for (size_t k = 0; k < r->cells; k++)
        fprintf(to, "%.8g %.8g\n", r->x[k], r->committor[k]);
    fputs("E\n", to);
}

/* A law with the histogram of state i. */
static void plot_law(const gsv_physics_result *r, size_t i, size_t n,
                     const double *x, const gsv_quantity *law, FILE *to)
{
    char name[40];
    snprintf(name, sizeof name, "p%zu", i);
    put_curve(name, n, x, law, r->lowest[i], r->highest[i], to);
    put_bins(r, i, to);
    label_axes(r->name[i], "stationary density", to);
    fputs("set yrange [0:*]\nplot ", to);
    if (r->histogram)
        fprintf(to,
                "$h%zu using 1:2 with boxes fs solid 0.4 noborder lc rgb "
                "'#999999' title 'data', ",
                i);
    plot_curve(name, "#1f5fa8", to);
    putc('\n', to);
}

static void plot_line(const gsv_physics_result *r, FILE *to)
{
    size_t n = r->cells;
    if (r->stationary) plot_law(r, 0, n, r->x, r->density, to);
    put_curve("u", n, r->x, r->potential, r->lowest[0], r->highest[0], to);
    label_axes(r->name[0], "potential", to);
    fputs("set yrange [*:*]\nplot ", to);
    plot_curve("u", "#c8482e", to);
    fputs("\n", to);
    if (!r->committor) return;
    put_committor(r, to);
    label_axes(r->name[0], "committor", to);
    fputs("set yrange [0:1]\nplot $q using 1:2 with lines lw 2 lc rgb "
          "'#3a8f4d' notitle\n",
          to);
}

/* --- Several states ------------------------------------------------------ */

/* The grid of a plane is N x N, the last state first in memory. */
static void plot_map(const gsv_physics_result *r, const char *title,
                     const double *value, size_t stride, FILE *to)
{
    size_t N = (size_t)lround(sqrt((double)r->cells));
    fputs("$map << E\n", to);
    for (size_t k = 0; k < r->cells; k++) {
        if (k && k % N == 0) putc('\n', to);
        fprintf(to, "%.6g %.6g %.6g\n", r->x[k], r->x[r->cells + k],
                value[k * stride]);
    }
    const double *low = r->lowest, *high = r->highest;
    fprintf(to, "E\n$box << E\n%g %g\n%g %g\n%g %g\n%g %g\n%g %g\nE\n", low[0],
            low[1], high[0], low[1], high[0], high[1], low[0], high[1], low[0],
            low[1]);
    label_axes(r->name[0], r->name[1], to);
    fputs("set title ", to);
    plot_text(title, to);
    fputs("\nset yrange [*:*]\nset pm3d map corners2color c1\n"
          "splot $map using 1:2:3 notitle, $box using 1:2:(0) with lines dt 2 "
          "lc rgb '#ffffff' notitle\nunset pm3d\nunset title\n",
          to);
}

static size_t count_panels(const gsv_physics_result *r)
{
    size_t ways = r->committor ? 1 : 0;
    if (r->dim == 1) return 1 + (size_t)r->stationary + ways;
    return r->dim + (r->cells ? 2 + ways : 0);
}

int physics_height(const gsv_physics_result *r)
{
    return 60 + 240 * (int)count_panels(r);
}

void physics_panels(const gsv_physics_result *r, FILE *to)
{
    fprintf(to, "set multiplot layout %zu,1\n", count_panels(r));
    if (r->dim == 1) plot_line(r, to);
    if (r->dim == 2 && r->cells) {
        plot_map(r, "stationary density", &r->density[0].value, 3, to);
        plot_map(r, "gradient part: potential", &r->potential[0].value, 3, to);
        if (r->committor) plot_map(r, "committor", r->committor, 1, to);
    }
    for (size_t i = 0; r->dim > 1 && i < r->dim; i++)
        plot_law(r, i, r->bins, r->bin + i * r->bins, r->marginal + i * r->bins,
                 to);
    fputs("unset multiplot\n", to);
}
