/* SPDX-License-Identifier: MIT */
/* The figures of the fit: learning curve, field, weights, residuals. Each has
 * at most some thousand points. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "field.h"
#include "report.h"

enum { MOST_POINTS = 2000, MOST_GAPS = 1000, DOTS = 1200, QUANTILES = 250 };

/* --- Learning ------------------------------------------------------------- */

int draw_curve(struct report *r)
{
    struct figure f;
    if (figure_begin(&f, WIDTH, 340)) return EXIT_NUMBERS;
    curve_plot(r->record, f.to);
    return figure_end(
        r, &f, 0, "curve", "Learning curve",
        curve_heldout(r->record)
            ? "The objective at all or at evenly spaced iterations. It should "
              "be constant at the right. If the held-out curve falls while "
              "the other rises, the model overfits."
            : "The objective at all or at evenly spaced iterations. It should "
              "be constant at the right.");
}

/* --- Field ---------------------------------------------------------------- */

/* The states, thinned: columns of the data, or smoothed means of latent states.
 * value (columns, rows) is yours, NULL after a message. */
static double *find_states(const struct report *r, size_t *rows)
{
    const gsv_series *s = r->data;
    size_t columns = gsv_model_columns(r->model), dim = r->paths.dim;
    size_t all = r->latent ? r->paths.rows : s->rows;
    size_t stride = 1 + all / MOST_POINTS;
    *rows = (all + stride - 1) / stride;
    double *value = malloc((columns * *rows + 1) * sizeof *value);
    if (!value) complain_memory();
    for (size_t c = 0; value && c < columns; c++) {
        const double *x = series_column(s, gsv_model_column(r->model)[c]);
        double low = NAN, high = NAN;
        if (r->latent && x) find_range(x, s->rows, 1, &low, &high);
        for (size_t n = 0; n < *rows; n++)
            value[c * *rows + n] = !r->latent ? (x ? x[n * stride] : NAN)
                                   : c < dim
                                       ? r->paths.mean[c * all + n * stride]
                                       : 0.5 * low + 0.5 * high;
    }
    return value;
}

static const char *field_caption(const struct report *r, size_t varied)
{
    if (varied == 1)
        return r->functions
                   ? "Top: drift with a band of two posterior standard "
                     "deviations; bottom: size of the noise. Ticks are data: "
                     "the curves can be trusted only there."
                   : "Top: drift; bottom: size of the noise. Ticks are data: "
                     "the curves can be trusted only there.";
    if (varied == 2)
        return r->functions
                   ? "Arrows of the drift, all of the same length; colours are "
                     "its standard deviation, which is small near the data "
                     "(dots)."
                   : "Arrows of the drift, all of the same length; colours are "
                     "its speed. Dots are data: the arrows can be trusted only "
                     "there.";
    return "Arrows of the drift in planes through the middle of the data. The "
           "values of the other states are above each plane. Dots are the data "
           "projected on the plane.";
}

/* The first three states that vary; all others at their middle. */
static size_t lay_grid(struct grid *g, const struct report *r,
                       const double *low, const double *high)
{
    size_t varied = 0, dim = gsv_model_dim(r->model);
    for (size_t i = 0; i + 1 < g->axes; i++) {
        bool vary = i < dim && low[i] < high[i] && varied < 3;
        double middle = 0.5 * low[i] + 0.5 * high[i];
        g->axis[i].low = vary ? low[i] : middle;
        g->axis[i].high = vary ? high[i] : middle;
        g->axis[i].n = vary ? 2 : 1;
        varied += vary;
    }
    struct axis *time = &g->axis[g->axes - 1];
    time->low = time->high =
        0.5 * r->data->time[0] + 0.5 * r->data->time[r->data->rows - 1];
    return varied;
}

static int draw_field_figure(struct report *r, const struct grid *g,
                             size_t varied, const gsv_series *states)
{
    struct figure f;
    bool planes = varied == 3;
    size_t dots = planes ? DOTS / 2 : DOTS;
    if (figure_begin(&f,
                     planes        ? 1200
                     : varied == 1 ? WIDTH
                                   : 760,
                     planes ? 430 : 560))
        return EXIT_NUMBERS;
    if (planes)
        fputs("set termoption font ',17'\nset title offset 0,-0.7\n"
              "set ylabel offset 1,0\n",
              f.to);
    int code = field_draw(r->model, r->functions, g, states, dots, f.to);
    return figure_end(r, &f, code, "field", "Drift and diffusion",
                      field_caption(r, varied));
}

static int put_field(struct report *r, struct grid *g, const double *value,
                     size_t rows, double *low, double *high)
{
    size_t columns = gsv_model_columns(r->model);
    const gsv_series states = {
        .rows = rows, .columns = columns, .value = (double *)(uintptr_t)value};
    for (size_t c = 0; c < columns; c++) {
        find_range(value + c * rows, rows, 1, &low[c], &high[c]);
        if (isnan(low[c])) {
            fputs("<p>The data have no values of the states.</p>\n", r->out);
            return 0;
        }
    }
    size_t dim = gsv_model_dim(r->model), varied = lay_grid(g, r, low, high);
    if (dim > 3)
        fprintf(r->out,
                "<p>The model has %zu states; the figure shows planes of the "
                "first three.</p>\n",
                dim);
    int code = 0;
    if (r->pictures && varied) code = draw_field_figure(r, g, varied, &states);
    return code ? code : put_field_table(r, low, high);
}

int draw_field(struct report *r)
{
    struct grid g = {0};
    size_t rows, columns = gsv_model_columns(r->model);
    if (r->latent && !r->paths.rows) {
        fputs("<p>The states are latent and could not be estimated.</p>\n",
              r->out);
        return 0;
    }
    double *range = malloc(2 * columns * sizeof *range);
    double *value = range ? find_states(r, &rows) : NULL;
    int code = range ? 0 : complain_memory();
    if (!value) code = EXIT_NUMBERS;
    if (!code) code = grid_init(&g, r->model);
    if (!code) code = put_field(r, &g, value, rows, range, range + columns);
    grid_free(&g);
    free(range);
    free(value);
    return code;
}

/* --- Weights -------------------------------------------------------------- */

/* The worst of every few gaps; flagged gaps separately, up to a limit. */
static void put_gaps(const struct report *r, FILE *to)
{
    const gsv_result *w = &r->weights;
    size_t stride = 1 + w->groups / MOST_GAPS;
    fputs("$good << EOD\nNaN NaN NaN\n", to);
    for (size_t n = 0; n < w->groups; n += stride) {
        const gsv_gap *least = &w->gap[n];
        for (size_t i = n; i < n + stride && i < w->groups; i++)
            if (w->gap[i].ess < least->ess) least = &w->gap[i];
        if (!least->flags)
            fprintf(to, "%.10g %.6g %.6g\n",
                    0.5 * r->data->time[least->from] +
                        0.5 * r->data->time[least->to],
                    least->ess, least->khat);
    }
    fputs("EOD\n$bad << EOD\nNaN NaN NaN\n", to);
    for (size_t i = 0; i < w->flagged && i < MOST_GAPS; i++)
        fprintf(to, "%.10g %.6g %.6g\n",
                0.5 * r->data->time[r->worst[i]->from] +
                    0.5 * r->data->time[r->worst[i]->to],
                r->worst[i]->ess, r->worst[i]->khat);
    fputs("EOD\n", to);
}

static void plot_gaps(size_t column, double limit, FILE *to)
{
    fprintf(to,
            "plot %.8g with lines lw 1 dt 2 lc rgb '#888888' notitle, "
            "$good using 1:%zu with points pt 7 ps 0.35 lt 1 notitle, "
            "$bad using 1:%zu with points pt 7 ps 0.55 lt 2 notitle\n",
            limit, column, column);
}

int draw_weights(struct report *r)
{
    const gsv_result *w = &r->weights;
    struct figure f;
    double K = (double)w->paths, low, high;
    bool tails = isfinite(w->khat_max);
    if (figure_begin(&f, WIDTH, tails ? 470 : 300)) return EXIT_NUMBERS;
    put_gaps(r, f.to);
    find_range(r->data->time, r->data->rows, 1, &low, &high);
    fprintf(f.to,
            "unset key\nset multiplot layout %d,1 margins 0.09,0.98,%g,0.96 "
            "spacing 0.05\nset xrange [%.17g:%.17g]\nset yrange [0:%.8g]\n"
            "set ylabel 'effective %s'\n",
            tails ? 2 : 1, tails ? 0.13 : 0.2, low, high > low ? high : low + 1,
            1.05 * K, w->observe ? "size" : "paths");
    figure_dates(r, low, high, f.to);
    if (tails) fputs("set format x ''\n", f.to);
    else fputs("set xlabel 'time'\n", f.to);
    plot_gaps(2, fmin(fmax(10.0, 0.1 * K), K), f.to);
    if (tails) {
        fputs("set format x\nset xlabel 'time'\nset yrange [*:*]\n"
              "set ylabel 'k-hat'\n",
              f.to);
        plot_gaps(3, K > 1.0 ? fmin(1.0 - 1.0 / log10(K), 0.7) : 0.7, f.to);
    }
    fputs("unset multiplot\n", f.to);
    return figure_end(
        r, &f, 0, "weights", "Diagnostics of the weights",
        tails ? "Top: effective paths of each gap, which should be above the "
                "dashed line; bottom: k-hat, the shape of the tail of the "
                "weights, which should be below it. "
                "<span class=\"key\" style=\"background:var(--c2)\"></span>"
                "gaps that cannot be trusted."
              : "The effective number of paths or points of each gap or row, "
                "which should be above the dashed line. "
                "<span class=\"key\" style=\"background:var(--c2)\"></span>"
                "gaps or rows that cannot be trusted.");
}

/* --- Residuals ------------------------------------------------------------ */

/* Quantiles of z at probabilities, with 95 % limits for the true model. */
static int put_quantiles(const struct report *r, size_t c, double *reach,
                         FILE *to)
{
    const gsv_residuals_result *k = &r->residuals;
    double *z = malloc((k->rows + 1) * sizeof *z);
    size_t n = 0;
    if (!z) return complain_memory();
    for (size_t i = 0; i < k->rows; i++)
        if (isfinite(k->column[c].z[i])) z[n++] = k->column[c].z[i];
    sort_numbers(n, z);
    size_t shown = n < QUANTILES ? n : QUANTILES;
    for (size_t i = 0; i<n; i += n> 1 ? n - 1 : 1)
        *reach = fmax(*reach, 1.05 * fabs(z[i]));
    fprintf(to, "$quantiles%zu << EOD\nNaN NaN NaN\n", c);
    for (size_t i = 0; i < shown; i++) {
        size_t at = shown > 1 ? i * (n - 1) / (shown - 1) : 0;
        double p = ((double)at + 0.5) / (double)n;
        fprintf(to, "%.10g %.6g %.6g\n", p, z[at],
                1.96 * sqrt(p * (1.0 - p) / (double)n));
    }
    fputs("EOD\n", to);
    free(z);
    return 0;
}

static void put_lags(const struct report *r, size_t c, FILE *to)
{
    const gsv_residual *k = &r->residuals.column[c];
    fprintf(to, "$lags%zu << EOD\n", c);
    for (size_t i = 0; i < GSV_LAGS; i++)
        fprintf(to, "%zu %.6g %.6g\n", i + 1, k->correlation[i], k->square[i]);
    fputs("EOD\n", to);
}

static int plot_residual(const struct report *r, size_t c, bool last, FILE *to)
{
    const gsv_residual *k = &r->residuals.column[c];
    double limit = 1.96 / sqrt(fmax((double)k->rows, 1.0)), reach = 1.3 * limit;
    for (size_t i = 0; i < GSV_LAGS; i++)
        reach = fmax(reach,
                     1.1 * fmax(fabs(k->correlation[i]), fabs(k->square[i])));
    double tall = 4.5;
    if (put_quantiles(r, c, &tall, to)) return EXIT_NUMBERS;
    put_lags(r, c, to);
    fprintf(to, "set xlabel '%s'\nset ylabel ", last ? "normal law" : "");
    plot_text(k->name, to);
    fprintf(to,
            "\nset xrange [-4:4]\nset yrange [-%.6g:%.6g]\nunset key\n"
            "phi(x) = exp(-0.5*x*x)/sqrt(2*pi)\n"
            "plot $quantiles%zu using (invnorm($1)):(invnorm($1)-$3/"
            "phi(invnorm($1))):(invnorm($1)+$3/phi(invnorm($1))) with "
            "filledcurves lc rgb '#d5e3f2' notitle, x with lines lw 1 lc rgb "
            "'#888888' notitle, $quantiles%zu using (invnorm($1)):2 with "
            "points pt 7 ps 0.3 lt 1 notitle\n",
            tall, tall, c, c);
    fprintf(to,
            "set xlabel '%s'\nset ylabel 'correlation'\nset xrange [0.4:%g]\n"
            "set yrange [%.6g:%.6g]\nset xtics 1\nset key top right\n"
            "set xzeroaxis lw 1 dt 1 lc rgb '#888888'\n"
            "plot %.6g with lines lw 1 dt 2 lc rgb '#888888' notitle, "
            "%.6g with lines lw 1 dt 2 lc rgb '#888888' notitle, "
            "$lags%zu using ($1-0.1):2 with impulses lt 1 lw 4 title "
            "'residuals', $lags%zu using ($1+0.1):3 with impulses lt 2 lw 4 "
            "title 'their squares'\nunset xzeroaxis\nset xtics auto\n",
            last ? "lag (rows)" : "", GSV_LAGS + 0.6, -reach, 1.5 * reach,
            limit, -limit, c, c);
    return 0;
}

int draw_residuals(struct report *r)
{
    size_t columns = r->residuals.columns;
    size_t panels = columns < MOST_PANELS ? columns : MOST_PANELS;
    struct figure f;
    int code = 0;
    double tall = 90.0 + 240.0 * (double)panels;
    if (figure_begin(&f, WIDTH, (int)tall)) return EXIT_NUMBERS;
    fprintf(f.to,
            "set style fill solid noborder\n"
            "set multiplot layout %zu,2 margins 0.08,0.98,%g,%g spacing "
            "0.1,%g\n",
            panels, 60.0 / tall, 1.0 - 20.0 / tall, 45.0 / tall);
    for (size_t c = 0; c < panels && !code; c++)
        code = plot_residual(r, c, c + 1 == panels, f.to);
    fputs("unset multiplot\n", f.to);
    return figure_end(
        r, &f, code, "residuals", "Residuals",
        "Left: quantiles of one-row-ahead residuals and of the normal law. "
        "Under the true model they follow the line, and 95 % of them are "
        "within "
        "the band. Right: autocorrelation of residuals and of their squares; "
        "under the true model 95 % of the values are between the dashed "
        "lines.");
}
