/* SPDX-License-Identifier: MIT */
/* Bridges at any times inside of a gap. They are walked in equal steps, as the
 * likelihood's; a time inside of a step, from u0 to 1 of it, is reached by a
 * Brownian bridge between what is known on both sides of it,
 *
 *     Y(u) = Y(u0) + (u - u0)/(1 - u0) (Y(1) - Y(u0))
 *          + sqrt(dt (u - u0)(1 - u)/(1 - u0)) xi,
 *
 * with the noise's sigma at the step's left end where no map makes it one. */
#include <math.h>
#include <string.h>

#include "predict/paths.h"

/* A time this close to a step's end, in steps, is there. */
static const double CLOSE = 1e-9;

/* Where a time is: in which step, and how far. */
struct position {
    size_t step;
    double share;
};

static struct position position_of(const struct context *c, double time)
{
    double steps = (time - c->gap->start) / c->dt;
    double step = floor(steps + CLOSE), last = (double)(c->M - 1);
    step = fmax(0.0, fmin(step, last));
    double share = steps - step;
    return (struct position){(size_t)step, share < CLOSE ? 0.0 : share};
}

/* sigma v at points x, of paths in one step, where no map exists; v is set. */
static void scale_noise(const struct gap_bridges *w, double time, size_t K,
                        const double *x, size_t ld, double *v)
{
    const struct estimate *e = w->estimate;
    struct scratch *s = w->scratch;
    size_t d = e->plan.d, most = s->step.capacity;
    for (size_t k = 0; k < K; k += most) {
        size_t n = K - k < most ? K - k : most;
        for (size_t i = 0; i < d; i++) {
            memcpy(s->dY + i * n, x + i * ld + k, n * sizeof *x);
            memcpy(s->dY + (d + i) * n, v + i * K + k, n * sizeof *v);
        }
        for (size_t j = 0; j < n; j++) {
            s->step_time[j] = time;
            if (e->plan.inputs)
                gap_inputs(&e->plan.gaps, w->context->gap->track, time, false,
                           s->step_input + j, s->step_slope + j, n);
        }
        struct points in = {.P = n,
                            .state = s->dY,
                            .time = s->step_time,
                            .input = s->step_input,
                            .slope = s->step_slope};
        program_forward(e->plan.step, &e->run.values.step, &s->step, &in);
        const double *move = program_output(e->plan.step, &s->step, n, 0);
        for (size_t i = 0; i < d; i++)
            memcpy(v + i * K + k, move + i * n, n * sizeof *v);
    }
}

/* Normal numbers of a row of these paths, by the model's noise. */
static void draw_noise(const struct gap_bridges *w, const struct piece *p,
                       size_t row, size_t step, const double *left, size_t ld)
{
    const struct estimate *e = w->estimate;
    const struct context *c = w->context;
    struct random_key key = {.seed = e->plan.options->seed,
                             .purpose = RANDOM_PATHS,
                             .iteration = e->run.iteration,
                             .item = c->gap->number};
    random_normals(&key, row * e->plan.d, e->plan.d, p->k0, p->K, w->z);
    if (e->plan.step)
        scale_noise(w, c->gap->start + c->dt * (double)step, p->K, left, ld,
                    w->z);
}

/* One row of the paths of a piece. */
static void see_row(const struct gap_bridges *w, const struct piece *p,
                    size_t P, const double *left, size_t row)
{
    const struct context *c = w->context;
    size_t d = w->estimate->plan.d, K = p->K, all = w->paths->K;
    struct position at = position_of(c, w->time[row]), from = {at.step, 0.0};
    if (at.step < p->first || at.step >= p->first + p->steps) return;
    if (row) from = position_of(c, w->time[row - 1]);
    bool fresh = from.step != at.step || from.share == 0.0;
    double u0 = fresh ? 0.0 : from.share, u = at.share;
    double pull = (u - u0) / (1.0 - u0);
    double noise = sqrt(fmax(0.0, c->dt * pull * (1.0 - u)));
    size_t m = at.step - p->first;
    bool last = at.step + 1 == c->M, inside = m + 1 < p->steps;
    if (noise > 0.0) draw_noise(w, p, row, at.step, left + m * K, P);
    for (size_t i = 0; i < d; i++) {
        double *y = w->y + (row * d + i) * all + p->slot;
        const double *a = fresh ? left + i * P + m * K : y - d * all;
        const double *b =
            inside ? left + i * P + (m + 1) * K : w->scratch->at + i * K;
        for (size_t k = 0; k < K; k++) {
            double to = last ? c->y1[i] : b[k];
            y[k] = a[k] + pull * (to - a[k]);
            if (noise > 0.0) y[k] += noise * w->z[i * K + k];
        }
    }
}

static void see_block(void *user, const struct scratch *s,
                      const struct block *b, const double *left)
{
    const struct gap_bridges *w = user;
    (void)s;
    for (size_t row = 0; row < w->rows; row++)
        see_row(w, b->piece, b->P, left, row);
}

/* --- In the data's coordinates -------------------------------------------- */

/* Points [at, at + n) of (rows, K), through T^-1, to their places. */
static void place_points(const struct gap_bridges *w, size_t at, size_t n)
{
    const struct estimate *e = w->estimate;
    struct scratch *s = w->scratch;
    size_t d = e->plan.d, K = w->paths->K;
    for (size_t j = 0; j < n; j++) {
        size_t row = (at + j) / K, k = (at + j) % K;
        s->end_time[j] = w->time[row];
        for (size_t i = 0; i < d; i++)
            s->x[i * n + j] = w->y[(row * d + i) * K + k];
        for (size_t i = 0; i < d; i++)
            s->x[(d + i) * n + j] = 0.0;
        if (e->plan.inputs)
            gap_inputs(&e->plan.gaps, w->context->gap->track, w->time[row],
                       false, s->end_input + j, s->end_slope + j, n);
    }
    struct points in = {.P = n,
                        .state = s->x,
                        .time = s->end_time,
                        .input = s->end_input,
                        .slope = s->end_slope};
    program_forward(e->plan.back, &e->run.values.back, &s->back, &in);
    const double *x = program_output(e->plan.back, &s->back, n, 0);
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < d; i++)
            w->y[((at + j) / K * d + i) * K + (at + j) % K] = x[i * n + j];
}

/* A path that is not finite has weight 0. */
static void drop_nowhere(const struct gap_bridges *w)
{
    size_t K = w->paths->K, d = w->estimate->plan.d;
    for (size_t n = 0; n < w->rows * d * K; n++)
        if (!isfinite(w->y[n])) w->S[n % K] = -INFINITY;
}

bool bridges_walk(struct gap_bridges *w, size_t pair, size_t rows,
                  const double *time)
{
    /* Where all bridges leave the domain, other bridges are drawn. */
    enum { TRIES = 16 };
    const struct estimate *e = w->estimate;
    struct scratch *s = w->scratch;
    size_t K = w->paths->K, most = s->back.capacity;
    double ess = 0.0;
    prepare_gaps(&e->run, s, pair, 1);
    w->context = &s->context[0];
    w->rows = rows;
    w->time = time;
    for (size_t t = 0; t < TRIES && !(ess > 0.0); t++) {
        memset(w->S, 0, K * sizeof *w->S);
        memset(w->S2, 0, K * sizeof *w->S2);
        s->observer = (struct observer){w, see_block};
        context_walk(&e->run, &e->run.values, s, &s->context[0], t * K,
                     (t + 1) * K, w->paths->purpose, w->S, w->S2);
        s->observer = (struct observer){0};
        for (size_t at = 0; at < rows * K; at += most) {
            size_t left = rows * K - at;
            place_points(w, at, left < most ? left : most);
        }
        drop_nowhere(w);
        ess = normalise(K, w->S);
    }
    w->ess = fmin(w->ess, ess);
    return ess > 0.0;
}
