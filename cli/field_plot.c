/* SPDX-License-Identifier: MIT */
/* Figures of a field. For one state: drift and noise as curves, with a band of
 * 2 standard deviations if there is a posterior. For two: arrows of the drift,
 * all of the same length, coloured by speed, or by the standard deviation of
 * the drift. For three: three such planes through the middle of the third
 * state. Columns that do not vary are at the middle of their axis. */
#include "field.h"

#include <math.h>
#include <stdlib.h>

enum {
    CURVE = 400,
    CURVES = 6,
    ARROWS = 24,
    MOST_ARROWS = 60, /* along an axis */
    TITLES = 4,
    MOST_DOTS = 20000,
    MOST_TICKS = 2000
};

/* The content of a figure, its points, and its file. */
struct canvas {
    const gsv_model *m;
    gsv_functions *q; /* or NULL */
    const struct grid *grid;
    const gsv_series *data;
    size_t dots; /* most points of the data */
    FILE *to;
    size_t dim, columns, noises;
    struct block at;
};

/* n points at the middle of every axis. */
static void go_to_middle(struct canvas *c, size_t n)
{
    c->at.n = n;
    for (size_t k = 0; k < n; k++) {
        for (size_t i = 0; i < c->columns; i++)
            c->at.value[i * n + k] = axis_middle(&c->grid->axis[i]);
        c->at.time[k] = axis_middle(&c->grid->axis[c->columns]);
    }
}

static double spread(double low, double high, size_t i, size_t n)
{
    return low + (high - low) * (double)i / (double)(n - 1);
}

static void put_label(const struct canvas *c, const char *which,
                      const char *name)
{
    fprintf(c->to, "set %s ", which);
    plot_text(name, c->to);
    putc('\n', c->to);
}

/* The data as dots, thinned. */
static void put_data(const struct canvas *c, size_t x, size_t y)
{
    fputs("$data << EOD\n", c->to);
    const gsv_series *s = c->data;
    size_t most = x == y && c->dots > MOST_TICKS ? MOST_TICKS : c->dots;
    size_t stride = s ? 1 + s->rows / most : 1;
    for (size_t r = 0; s && r < s->rows; r += stride)
        fprintf(c->to, "%.8g %.8g\n", s->value[x * s->rows + r],
                s->value[y * s->rows + r]);
    fputs("EOD\n", c->to);
}

/* The field at the points; its standard deviation is 0 without a posterior. */
static int evaluate(struct canvas *c)
{
    for (size_t i = 0; !c->q && i < c->dim * c->at.n; i++)
        c->at.sd[i] = 0.0;
    return block_field(&c->at, c->m, c->q);
}

/* --- One state ----------------------------------------------------------- */

/* The standard deviation of all noises of state i at point k. */
static double strength(const struct canvas *c, size_t i, size_t k, size_t n)
{
    double square = 0.0;
    for (size_t j = 0; j < c->noises; j++) {
        double g = c->at.g[(i * c->noises + j) * n + k];
        square += g * g;
    }
    return sqrt(square);
}

/* The range of the drift, including 0, and the largest noise. */
struct reach {
    double low, high, noise;
};

static int put_curves(struct canvas *c, size_t x, struct reach *reach)
{
    const struct axis *a = &c->grid->axis[x];
    size_t n = CURVE;
    go_to_middle(c, n);
    for (size_t k = 0; k < n; k++)
        c->at.value[x * n + k] = spread(a->low, a->high, k, n);
    if (evaluate(c)) return EXIT_NUMBERS;
    fputs("$curve << EOD\n", c->to);
    for (size_t k = 0; k < n; k++) {
        fprintf(c->to, "%.8g", c->at.value[x * n + k]);
        for (size_t i = 0; i < c->dim && i < CURVES; i++) {
            double f = c->at.f[i * n + k], g = strength(c, i, k, n);
            double band = 2.0 * c->at.sd[i * n + k];
            if (isfinite(f)) reach->low = fmin(reach->low, f - band);
            if (isfinite(f)) reach->high = fmax(reach->high, f + band);
            if (isfinite(g)) reach->noise = fmax(reach->noise, g);
            fprintf(c->to, " %.8g %.8g %.8g", f, g, band);
        }
        putc('\n', c->to);
    }
    fputs("EOD\n", c->to);
    return 0;
}

static void plot_bands(const struct canvas *c, size_t count)
{
    for (size_t i = 0; c->q && i < count; i++) {
        size_t f = 2 + 3 * i, band = f + 2;
        fprintf(c->to,
                "$curve using 1:($%zu-$%zu):($%zu+$%zu) with filledcurves lt "
                "%zu fs transparent solid 0.18 noborder notitle, ",
                f, band, f, band, i + 1);
    }
}

/* A panel of curves; offset 0 is drift, 1 noise. */
static void plot_panel(const struct canvas *c, size_t offset)
{
    const char *const *name = gsv_model_column(c->m);
    size_t count = c->dim < CURVES ? c->dim : CURVES;
    fputs(count > 1 ? "set key\nplot " : "unset key\nplot ", c->to);
    if (!offset && c->data)
        fputs(
            "$data using 1:(foot):(0):(tick) with vectors nohead lw 0.5 lc rgb "
            "'#999999' notitle, ",
            c->to);
    if (!offset) plot_bands(c, count);
    for (size_t i = 0; i < count; i++) {
        fprintf(c->to, "%s$curve using 1:%zu with lines lt %zu title ",
                i ? ", " : "", 2 + 3 * i + offset, i + 1);
        plot_text(name[i], c->to);
    }
    putc('\n', c->to);
}

/* The data are ticks at the lower edge of the panel of the drift. */
static int plot_line(struct canvas *c, size_t x)
{
    const struct axis *a = &c->grid->axis[x];
    struct reach r = {0};
    put_data(c, x, x);
    if (put_curves(c, x, &r)) return EXIT_NUMBERS;
    double tall = r.high > r.low ? r.high - r.low : 1.0;
    double noise = r.noise > 0.0 ? 1.2 * r.noise : 1.0;
    fprintf(c->to,
            "set xrange [%.17g:%.17g]\n"
            "set multiplot layout 2,1 margins 0.12,0.97,0.11,0.96 "
            "spacing 0.06\n"
            "set xzeroaxis lw 1 dt 1 lc rgb '#888888'\n"
            "foot = %.8g\ntick = %.8g\nset yrange [foot:%.8g]\n"
            "set format x ''\nset ylabel '%s'\n",
            a->low, a->high, r.low - 0.12 * tall, 0.04 * tall,
            r.high + 0.08 * tall, c->q ? "drift, +- 2 sd" : "drift");
    plot_panel(c, 0);
    fprintf(c->to, "set yrange [0:%.8g]\nset format x\n", noise);
    put_label(c, "xlabel", a->name);
    fputs("set ylabel 'diffusion'\n", c->to);
    plot_panel(c, 1);
    fputs("unset multiplot\n", c->to);
    return 0;
}

/* --- Planes -------------------------------------------------------------- */

struct plane {
    size_t x, y;   /* columns                       */
    size_t nx, ny; /* arrows along them             */
};

/* The range of the colours. */
struct scale {
    double low, high;
};

/* The arrows of a plane as $arrowsP, centred on their points; extends *scale.
 */
static int put_arrows(struct canvas *c, struct plane p, size_t number,
                      struct scale *scale)
{
    const struct axis *a = &c->grid->axis[p.x], *b = &c->grid->axis[p.y];
    size_t n = p.nx * p.ny;
    double wide = a->high - a->low, tall = b->high - b->low;
    double room = 0.85 / (double)(p.nx > p.ny ? p.nx : p.ny);
    go_to_middle(c, n);
    for (size_t k = 0; k < n; k++) {
        c->at.value[p.x * n + k] = spread(a->low, a->high, k % p.nx, p.nx);
        c->at.value[p.y * n + k] = spread(b->low, b->high, k / p.nx, p.ny);
    }
    if (evaluate(c)) return EXIT_NUMBERS;
    fprintf(c->to, "$arrows%zu << EOD\n", number);
    for (size_t k = 0; k < n; k++) {
        double u = c->at.f[p.x * n + k], v = c->at.f[p.y * n + k];
        double length = hypot(u / wide, v / tall) / room;
        if (!isfinite(length) || !(length > 0.0)) continue;
        double dx = u / length, dy = v / length;
        double colour = hypot(u, v);
        if (c->q) colour = hypot(c->at.sd[p.x * n + k], c->at.sd[p.y * n + k]);
        scale->high = fmax(scale->high, colour);
        scale->low = fmin(scale->low, colour);
        fprintf(c->to, "%.8g %.8g %.8g %.8g %.8g\n",
                c->at.value[p.x * n + k] - 0.5 * dx,
                c->at.value[p.y * n + k] - 0.5 * dy, dx, dy, colour);
    }
    fputs("EOD\n", c->to);
    return 0;
}

static void plot_plane(const struct canvas *c, struct plane p, size_t number)
{
    const struct axis *a = &c->grid->axis[p.x], *b = &c->grid->axis[p.y];
    double wide = a->high - a->low, tall = b->high - b->low;
    put_data(c, p.x, p.y);
    fprintf(c->to, "set xrange [%.17g:%.17g]\nset yrange [%.17g:%.17g]\n",
            a->low - 0.03 * wide, a->high + 0.03 * wide, b->low - 0.03 * tall,
            b->high + 0.03 * tall);
    put_label(c, "xlabel", a->name);
    put_label(c, "ylabel", b->name);
    fputs("plot ", c->to);
    if (c->data)
        fputs("$data using 1:2 with points pt 7 ps 0.25 lc rgb '#c4c4c4' "
              "notitle, ",
              c->to);
    fprintf(c->to,
            "$arrows%zu using 1:2:3:4:5 with vectors head filled size "
            "graph 0.013,22,60 lw 1.3 lc palette notitle\n",
            number);
}

/* A title with the values of the other states. */
static void title_plane(const struct canvas *c, struct plane p)
{
    fputs("set title ''", c->to);
    size_t left = 0;
    for (size_t i = 0; i < c->dim; i++)
        if (i != p.x && i != p.y && left++ < TITLES) {
            putc('.', c->to);
            plot_text(c->grid->axis[i].name, c->to);
            fprintf(c->to, ".' = %.4g  '", axis_middle(&c->grid->axis[i]));
        }
    fprintf(c->to, ".'%s' textcolor rgb '#333333'\n",
            left > TITLES ? "..." : "");
}

/* Standard deviations have a log scale: they vary by orders of magnitude. */
static void set_colours(const struct canvas *c, struct scale s)
{
    if (c->q && s.low > 0.0 && s.high < INFINITY) {
        bool wide = s.high > 1.01 * s.low;
        fprintf(c->to,
                "set logscale cb\nset cbrange [%.8g:%.8g]\n"
                "set cblabel 'sd of the drift'\n",
                wide ? s.low : 0.9 * s.low, wide ? s.high : 1.1 * s.high);
        return;
    }
    fprintf(c->to, "set cbrange [0:%.8g]\nset cblabel '%s'\n",
            s.high > 0.0 ? s.high : 1.0, c->q ? "sd of the drift" : "speed");
}

static int plot_planes(struct canvas *c, const struct plane *p, size_t n)
{
    struct scale scale = {.low = INFINITY};
    double right = n > 1 ? 0.915 : 0.86;
    for (size_t i = 0; i < n; i++)
        if (put_arrows(c, p[i], i, &scale)) return EXIT_NUMBERS;
    set_colours(c, scale);
    fprintf(c->to,
            "unset key\n"
            "set multiplot layout 1,%zu margins %g,%g,%g,%g spacing 0.065\n"
            "set colorbox user origin screen %g,%g size screen %g,%g "
            "noborder\n",
            n, n > 1 ? 0.05 : 0.1, right, n > 1 ? 0.15 : 0.11,
            n > 1 ? 0.91 : 0.95, right + 0.018, n > 1 ? 0.15 : 0.11,
            n > 1 ? 0.009 : 0.02, n > 1 ? 0.76 : 0.84);
    for (size_t i = 0; i < n; i++) {
        if (n > 1) title_plane(c, p[i]);
        plot_plane(c, p[i], i);
        fputs("unset colorbox\n", c->to);
    }
    fputs("unset multiplot\n", c->to);
    return 0;
}

/* --- The figure ---------------------------------------------------------- */

/* Lists up to 3 states that vary, and returns how many there are. */
static size_t varied(const struct canvas *c, size_t state[3])
{
    size_t n = 0;
    for (size_t i = 0; i < c->dim; i++)
        if (c->grid->axis[i].n > 1 && n++ < 3) state[n - 1] = i;
    return n;
}

/* For two states there is an arrow for each point of the grid. For three the
 * grid is coarse, and planes have a default number of arrows. */
static struct plane plane_of(const struct canvas *c, size_t x, size_t y,
                             bool alone)
{
    struct plane p = {x, y, ARROWS, ARROWS};
    size_t nx = c->grid->axis[x].n, ny = c->grid->axis[y].n;
    if (alone) p.nx = nx < MOST_ARROWS ? nx : MOST_ARROWS;
    if (alone) p.ny = ny < MOST_ARROWS ? ny : MOST_ARROWS;
    return p;
}

static int too_many(size_t n)
{
    return complain(EXIT_INPUT,
                    "--plot: %zu states vary, but a figure needs 1 to 3; fix "
                    "the others by --grid NAME=VALUE",
                    n);
}

int field_draw(const gsv_model *m, gsv_functions *q, const struct grid *g,
               const gsv_series *data, size_t dots, FILE *to)
{
    struct canvas c = {.m = m,
                       .q = q,
                       .grid = g,
                       .data = data,
                       .dots = dots,
                       .to = to,
                       .dim = gsv_model_dim(m),
                       .columns = gsv_model_columns(m),
                       .noises = gsv_model_noises(m)};
    size_t s[3] = {0}, n = varied(&c, s);
    if (n < 1 || n > 3) return too_many(n);
    struct plane planes[] = {plane_of(&c, s[0], s[1], n == 2),
                             plane_of(&c, s[0], s[2], false),
                             plane_of(&c, s[1], s[2], false)};
    size_t arrows = planes[0].nx * planes[0].ny, room = ARROWS * ARROWS;
    /* This is also enough for a curve. */
    if (block_init(&c.at, m, arrows > room ? arrows : room))
        return EXIT_NUMBERS;
    int code =
        n == 1 ? plot_line(&c, s[0]) : plot_planes(&c, planes, n == 3 ? 3 : 1);
    free(c.at.time);
    return code;
}

int field_plot(const gsv_model *m, gsv_functions *q, const struct grid *g,
               const gsv_series *data, const char *path)
{
    struct plot plot;
    size_t n = 0;
    for (size_t i = 0; i < gsv_model_dim(m); i++)
        n += g->axis[i].n > 1;
    if (n < 1 || n > 3) return too_many(n);
    int code = plot_open(&plot, path, n == 3 ? 1290 : 720, n == 3 ? 440 : 560);
    if (code) return code;
    code = field_draw(m, q, g, data, MOST_DOTS, plot.to);
    int closed = plot_close(&plot, !code);
    return code ? code : closed;
}
