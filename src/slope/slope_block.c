/* SPDX-License-Identifier: MIT */
/* A block of gaps, evaluated by one thread. Rows have one number for each gap,
 * or for each point where several points of a gap are evaluated together. */
#include <math.h>
#include <string.h>

#include "base/constant.h"
#include "base/fast.h"
#include "slope/slope.h"

size_t slopes_bars(const struct slopes *s)
{
    return program_uniforms(s->drift) + program_uniforms(s->white);
}

int slope_scratch_init(struct slope_scratch *c, const struct slopes *s)
{
    size_t d = s->d, P = s->block, n = s->gaps.spec->inputs;
    bool gradient = s->o->gradient;
    const struct arena_part part[] = {{&c->length, P},
                                      {&c->end, 2 * d * P},
                                      {&c->there, 2 * d * P},
                                      {&c->at, 2 * d * P},
                                      {&c->slope, d * P},
                                      {&c->drift, 2 * d * P},
                                      {&c->time, 2 * P},
                                      {&c->input, 2 * n * P},
                                      {&c->rate, 2 * n * P},
                                      {&c->r_bar, d * P},
                                      {&c->log_bar, P},
                                      {&c->bar, slopes_bars(s)},
                                      {&c->state_bar, 2 * d * P},
                                      {&c->missed, 2 * d * P}};
    c->gap = NEW(struct gap, P);
    if (!c->gap || arena_lay(&c->arena, sizeof part / sizeof *part, part))
        return GSV_NO_MEMORY;
    int status = workspace_init(&c->f, s->drift, 2 * P, gradient, false);
    return status ? status
                  : workspace_init(&c->inverse, s->white, P, gradient, false);
}

void slope_scratch_free(struct slope_scratch *c)
{
    workspace_free(&c->f);
    workspace_free(&c->inverse);
    arena_free(&c->arena);
    mem_free(c->gap);
}

/* --- The drift at points of all gaps -------------------------------------- */

/* Point j of gap i is column j n + i, at this share of its time. */
static struct points points_at(const struct slopes *s, struct slope_scratch *c,
                               size_t n, size_t parts, const double *share,
                               const double *state)
{
    size_t P = parts * n;
    for (size_t j = 0; j < parts; j++)
        for (size_t i = 0; i < n; i++) {
            const struct gap *gap = &c->gap[i];
            bool ends = share[j] == 1.0;
            double t = ends ? gap->end : gap->start + share[j] * gap->length;
            c->time[j * n + i] = t;
            if (s->gaps.spec->inputs)
                gap_inputs(&s->gaps, gap->track, t, ends, c->input + j * n + i,
                           c->rate + j * n + i, P);
        }
    return (struct points){.P = P,
                           .state = state,
                           .time = c->time,
                           .input = c->input,
                           .slope = c->rate};
}

static const double *drift_at(const struct slopes *s, struct slope_scratch *c,
                              size_t n, size_t parts, const double *share,
                              const double *state)
{
    struct points in = points_at(s, c, n, parts, share, state);
    program_forward(s->drift, &s->f, &c->f, &in);
    return program_output(s->drift, &c->f, in.P, 0);
}

/* Within [-most, most]; 0 where it is not a number. */
INLINE double limit(double x, double most)
{
    return x > most ? most : x < -most ? -most : x == x ? x : 0.0;
}

/* --- Forward -------------------------------------------------------------- */

/* The ends of the gaps, and their slopes. */
static void read_ends(const struct slopes *s, struct slope_scratch *c, size_t n)
{
    const gsv_series *data = s->gaps.series;
    for (size_t i = 0; i < n; i++)
        c->length[i] = c->gap[i].length;
    for (size_t k = 0; k < s->d; k++) {
        const double *column = data->value + s->gaps.column[k] * data->rows;
        double *x = c->end + 2 * k * n;
        for (size_t i = 0; i < n; i++) {
            x[i] = column[c->gap[i].from];
            x[n + i] = column[c->gap[i].to];
            c->slope[k * n + i] = (x[n + i] - x[i]) / c->length[i];
        }
    }
}

/* The quarter's forecast and the middle of the cubic, to c->there. */
FAST static void place_inner(const struct slopes *s, struct slope_scratch *c,
                             size_t n)
{
    for (size_t k = 0; k < s->d; k++) {
        const double *x = c->end + 2 * k * n, *f = c->drift + 2 * k * n;
        double *to = c->there + 2 * k * n, most = s->reach[k];
        for (size_t i = 0; i < n; i++) {
            double h = c->length[i];
            to[i] = x[i] + limit(0.25 * h * f[i], most);
            to[n + i] = 0.5 * (x[i] + x[n + i]) +
                        limit(0.125 * h * (f[i] - f[n + i]), most);
        }
    }
}

/* z to c->at, and the mean drift of the cubic to c->there (d, n); f has the
 * drift at both points that were there. */
FAST static void place_middle(const struct slopes *s, struct slope_scratch *c,
                              size_t n, const double *f)
{
    for (size_t k = 0; k < s->d; k++) {
        const double *x = c->end + 2 * k * n, *ends = c->drift + 2 * k * n;
        const double *in = f + 2 * k * n;
        double *z = c->at + k * n, *mean = c->there + k * n;
        for (size_t i = 0; i < n; i++) {
            z[i] = x[i] + limit(0.5 * c->length[i] * in[i], s->reach[k]);
            mean[i] = (ends[i] + 4.0 * in[n + i] + ends[n + i]) / 6.0;
        }
    }
}

/* The residual to the second half of c->at. */
FAST static void subtract_drift(const struct slopes *s, struct slope_scratch *c,
                                size_t n, const double *f, double *limited)
{
    size_t d = s->d;
    for (size_t k = 0; k < d; k++) {
        const double *at = f + k * n, *mean = c->there + k * n;
        const double *slope = c->slope + k * n;
        double *e = c->at + (d + k) * n, most = s->most[k];
        for (size_t i = 0; i < n; i++) {
            double D = mean[i] - at[i];
            double used = limit(D, most);
            limited[i] = D != used ? 1.0 : limited[i];
            e[i] = slope[i] - used - at[i];
        }
    }
}

/* log N(e; 0, sigma sigma' / h) of every gap; r and the bars for backward. */
FAST static void weigh(const struct slopes *s, struct slope_scratch *c,
                       size_t n, double *value)
{
    size_t d = s->d;
    const double *r = program_output(s->white, &c->inverse, n, 0);
    const double *log_det = program_output(s->white, &c->inverse, n, 1);
    for (size_t i = 0; i < n; i++) {
        double h = c->length[i], squares = 0.0;
        for (size_t k = 0; k < d; k++)
            squares += r[k * n + i] * r[k * n + i];
        value[i] = -0.5 * (double)d * (LOG_TWO_PI + log(h)) - log_det[i] -
                   0.5 * h * squares;
        c->log_bar[i] = -1.0;
        for (size_t k = 0; k < d; k++)
            c->r_bar[k * n + i] = -h * r[k * n + i];
    }
}

static void evaluate_at(struct slopes *s, struct slope_scratch *c, size_t n,
                        size_t first)
{
    static const double half = 0.5;
    c->middle = points_at(s, c, n, 1, &half, c->at);
    program_forward(s->drift, &s->f, &c->f, &c->middle);
    subtract_drift(s, c, n, program_output(s->drift, &c->f, n, 0),
                   s->limited + first);
    program_forward(s->white, &s->inverse, &c->inverse, &c->middle);
    weigh(s, c, n, s->value + first);
}

/* Gaps whose forecast left the domain of the equations are compared at their
 * first end, without a correction; true where there are any. */
static bool move_to_start(const struct slopes *s, struct slope_scratch *c,
                          size_t n, size_t first)
{
    bool moved = false;
    for (size_t i = 0; i < n; i++) {
        if (isfinite(s->value[first + i])) continue;
        moved = true;
        for (size_t k = 0; k < s->d; k++) {
            c->at[k * n + i] = c->end[2 * k * n + i];
            c->there[k * n + i] = c->drift[(s->gradient ? 2 : 1) * k * n + i];
        }
    }
    return moved;
}

/* --- Forecasts ------------------------------------------------------------ */

/* The next point of Runge and Kutta's step from x, after `share` of the gap
 * with the drift f, to c->at; and f to the mean drift with this weight. */
FAST static void advance(const struct slopes *s, struct slope_scratch *c,
                         size_t n, double share, double weight, const double *f)
{
    for (size_t k = 0; k < s->d; k++) {
        const double *x = c->end + 2 * k * n;
        double *to = c->at + k * n, *mean = c->there + k * n;
        for (size_t i = 0; i < n; i++) {
            double now = f[k * n + i];
            mean[i] += weight * now;
            to[i] = x[i] + limit(share * c->length[i] * now, s->reach[k]);
        }
    }
}

/* The mean drift of a step of order 4, and z, which depend on x alone. */
static void forecast(const struct slopes *s, struct slope_scratch *c, size_t n)
{
    static const double share[] = {0.0, 0.5, 0.5, 1.0};
    static const double weight[] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};
    size_t bytes = s->d * n * sizeof *c->at;
    memset(c->there, 0, bytes);
    advance(s, c, n, 0.0, 0.0, c->there);
    for (size_t j = 0; j < 4; j++) {
        const double *f = drift_at(s, c, n, 1, &share[j], c->at);
        if (!j) memcpy(c->drift, f, bytes);
        advance(s, c, n, j < 3 ? share[j + 1] : 0.5, weight[j], f);
        if (j == 1) memcpy(c->drift + s->d * n, c->at, bytes);
    }
    memcpy(c->at, c->drift + s->d * n, bytes);
}

/* --- Forward -------------------------------------------------------------- */

/* D and z by the cubic through both ends. */
static void correct(const struct slopes *s, struct slope_scratch *c, size_t n)
{
    static const double ends[] = {0.0, 1.0}, inner[] = {0.25, 0.5};
    const double *f = drift_at(s, c, n, 2, ends, c->end);
    memcpy(c->drift, f, 2 * s->d * n * sizeof *f);
    place_inner(s, c, n);
    f = drift_at(s, c, n, 2, inner, c->there);
    place_middle(s, c, n, f);
}

static void forward(struct slopes *s, struct slope_scratch *c, size_t n,
                    size_t first)
{
    if (s->gradient) correct(s, c, n);
    else forecast(s, c, n);
    memset(s->limited + first, 0, n * sizeof *s->limited);
    evaluate_at(s, c, n, first);
    if (move_to_start(s, c, n, first)) evaluate_at(s, c, n, first);
}

/* --- Backward ------------------------------------------------------------- */

/* Adds the gradient by the noise of c->r_bar and c->log_bar, at the points
 * whose values the noise's program has. */
static void noise_back(const struct slopes *s, struct slope_scratch *c,
                       const struct points *at)
{
    memset(c->state_bar, 0, 2 * s->d * at->P * sizeof *c->state_bar);
    program_vjp(s->white, &s->inverse, &c->inverse, at,
                (const double *const[2]){c->r_bar, c->log_bar}, c->state_bar,
                c->bar + program_uniforms(s->drift));
}

static void backward(const struct slopes *s, struct slope_scratch *c, size_t n)
{
    size_t d = s->d;
    noise_back(s, c, &c->middle);
    double *f_bar = c->state_bar + d * n;
    for (size_t i = 0; i < d * n; i++)
        f_bar[i] = -f_bar[i];
    program_vjp(s->drift, &s->f, &c->f, &c->middle,
                (const double *const[1]){f_bar}, NULL, c->bar);
}

/* --- Pairs ---------------------------------------------------------------- */

/* The points at which w has its drift, to the second half of c->missed. */
FAST static void place_missed(const struct slopes *s, struct slope_scratch *c,
                              size_t n)
{
    const double share = 1.0 / sqrt(12.0);
    for (size_t k = 0; k < s->d; k++) {
        const double *z = c->at + k * n, *e = c->at + (s->d + k) * n;
        double *to = c->missed + (s->d + k) * n;
        for (size_t i = 0; i < n; i++)
            to[i] = z[i] + limit(share * c->length[i] * e[i ^ 1], s->reach[k]);
    }
}

/* z and w to c->missed. */
static void find_missed(const struct slopes *s, struct slope_scratch *c,
                        size_t n)
{
    static const double half = 0.5;
    size_t rows = s->d * n;
    double *w = c->missed + rows;
    memcpy(c->missed, program_output(s->drift, &c->f, n, 0),
           rows * sizeof *c->missed);
    place_missed(s, c, n);
    const double *f = drift_at(s, c, n, 1, &half, w);
    for (size_t i = 0; i < rows; i++)
        w[i] = limit(f[i] - c->missed[i], INFINITY);
    memcpy(c->missed, c->at, rows * sizeof *c->missed);
}

/* + h/2 |sigma^-1 w|^2. */
static void add_missed(const struct slopes *s, struct slope_scratch *c,
                       size_t n, double *value)
{
    struct points at = c->middle;
    at.state = c->missed;
    program_forward(s->white, &s->inverse, &c->inverse, &at);
    const double *r = program_output(s->white, &c->inverse, n, 0);
    for (size_t i = 0; i < s->d * n; i++) {
        double h = c->length[i % n];
        value[i % n] += 0.5 * h * r[i] * r[i];
        c->r_bar[i] = h * r[i];
    }
    memset(c->log_bar, 0, n * sizeof *c->log_bar);
    noise_back(s, c, &at);
}

/* - log |det sigma| - 1/4 |u1 - u2|^2 of each of two gaps. */
static void add_differences(const struct slopes *s, struct slope_scratch *c,
                            size_t n, double *value)
{
    program_forward(s->white, &s->inverse, &c->inverse, &c->middle);
    const double *r = program_output(s->white, &c->inverse, n, 0);
    const double *log_det = program_output(s->white, &c->inverse, n, 1);
    for (size_t i = 0; i < n; i++) {
        value[i] -= log_det[i];
        c->log_bar[i] = -1.0;
    }
    for (size_t j = 0; j < s->d * n; j++) {
        size_t i = j % n, other = j - i + (i ^ 1);
        double root = sqrt(c->length[i]);
        double u = root * r[j] - sqrt(c->length[i ^ 1]) * r[other];
        value[i] -= 0.25 * u * u;
        c->r_bar[j] = -root * u;
    }
    noise_back(s, c, &c->middle);
}

static void weigh_pairs(struct slopes *s, struct slope_scratch *c, size_t n,
                        double *value)
{
    find_missed(s, c, n);
    memset(value, 0, n * sizeof *value);
    add_missed(s, c, n, value);
    add_differences(s, c, n, value);
}

void slope_block(struct slopes *s, struct slope_scratch *c, size_t first,
                 size_t end)
{
    size_t n = end - first;
    for (size_t i = 0; i < n; i++)
        c->gap[i] =
            gaps_at(&s->gaps, s->group ? s->group[first + i] : first + i);
    read_ends(s, c, n);
    forward(s, c, n, first);
    if (s->paired) weigh_pairs(s, c, n, s->value + first);
    else if (s->gradient) backward(s, c, n);
}

/* --- Jacobians ------------------------------------------------------------ */

/* One row, from what r and log |det sigma| are multiplied by. */
static void one_row(struct slopes *s, struct slope_scratch *c,
                    const struct points *in, size_t columns,
                    const size_t *column, float *row)
{
    size_t d = s->d, own = program_uniforms(s->drift);
    memset(c->state_bar, 0, 2 * d * sizeof *c->state_bar);
    memset(c->bar, 0, slopes_bars(s) * sizeof *c->bar);
    program_vjp(s->white, &s->inverse, &c->inverse, in,
                (const double *const[2]){c->r_bar, c->log_bar}, c->state_bar,
                c->bar + own);
    program_vjp(s->drift, &s->f, &c->f, in,
                (const double *const[1]){c->state_bar + d}, NULL, c->bar);
    program_finish(s->drift, &s->f, c->bar);
    program_finish(s->white, &s->inverse, c->bar + own);
    /* r also depends on sigma, which is the noise's own row. */
    bool noise = c->log_bar[0] != 0.0;
    for (size_t i = 0; i < columns; i++)
        row[i] = (float)c->bar[column[i] + (noise ? own : 0)];
}

/* sqrt(h) sigma^-1 e of the gap, and what a noise of its own makes of it. */
static void find_residual(struct slopes *s, struct slope_scratch *c,
                          const struct points *in, size_t n, double *residual)
{
    size_t d = s->d;
    double limited = 0.0, squares = 0.0;
    subtract_drift(s, c, 1, program_output(s->drift, &c->f, 1, 0), &limited);
    program_forward(s->white, &s->inverse, &c->inverse, in);
    const double *r = program_output(s->white, &c->inverse, 1, 0);
    for (size_t k = 0; k < d; k++) {
        residual[k] = sqrt(c->length[0]) * r[k];
        squares += residual[k] * residual[k];
    }
    if (n > d) residual[d] = sqrt(0.5 * (double)d) * (squares / (double)d - 1);
    memset(c->at + d, 0, d * sizeof *c->at);
    program_forward(s->white, &s->inverse, &c->inverse, in);
}

/* Both programs at c->at, with a residual of 0; false where the noise there is
 * not finite. */
static bool evaluate_row(struct slopes *s, struct slope_scratch *c,
                         struct points *in)
{
    static const double half = 0.5;
    size_t d = s->d;
    drift_at(s, c, 1, 1, &half, c->at);
    memset(c->at + d, 0, d * sizeof *c->at);
    *in = points_at(s, c, 1, 1, &half, c->at);
    program_forward(s->white, &s->inverse, &c->inverse, in);
    return isfinite(*program_output(s->white, &c->inverse, 1, 1));
}

void slopes_rows(struct slopes *s, size_t thread, size_t gap, size_t n,
                 size_t columns, const size_t *column, float *rows,
                 double *residual)
{
    struct slope_scratch *c = &s->scratch[thread];
    struct points in;
    size_t d = s->d;
    c->gap[0] = gaps_at(&s->gaps, gap);
    read_ends(s, c, 1);
    correct(s, c, 1);
    if (!evaluate_row(s, c, &in)) { /* as move_to_start() does */
        for (size_t k = 0; k < d; k++) {
            c->at[k] = c->end[2 * k];
            c->there[k] = c->drift[2 * k];
        }
        evaluate_row(s, c, &in);
    }
    find_residual(s, c, &in, n, residual);
    for (size_t k = 0; k < n; k++) {
        memset(c->r_bar, 0, d * sizeof *c->r_bar);
        c->log_bar[0] = k == d ? sqrt(2.0 / (double)d) : 0.0;
        if (k < d) c->r_bar[k] = sqrt(c->length[0]);
        one_row(s, c, &in, columns, column, rows + k * columns);
    }
    memset(c->bar, 0, slopes_bars(s) * sizeof *c->bar);
}
