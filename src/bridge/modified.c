/* SPDX-License-Identifier: MIT */
/* Gaps of models whose noise depends on the state in a way that no map takes
 * out, dX = f(X, t) dt + sigma(X, t) dW: modified diffusion bridges (Durham and
 * Gallant 2002). From y0 to y1 over time T, in steps of length dt with tau left
 * before each,
 *
 *     X' = X + b dt + sigma(X) s xi,   b = (y1 - X) / tau,
 *     s^2 = dt (tau - dt) / tau:       0 in the last step, which ends in y1.
 *
 * Their law against Euler's chain of the model, whose density is the limit for
 * many paths, with e = sigma^-1 (X' - X - f dt) = r dt + s xi and
 * r = sigma^-1 (b - f),
 *
 *     S = sum over the steps of (|xi|^2 - |e|^2 / dt) / 2
 *         - log |det sigma(X)| of the last step - d/2 log(2 pi T):
 *
 * the determinants of the other steps are in both laws. Paths are sequential in
 * sigma alone; f, sigma^-1 and all of the weights are one batch.
 *
 * S2 is a second walk, with steps twice as long (an odd last step alone) and
 * the same Brownian numbers: with a constant sigma, every second point.
 *
 * A path that reaches a point where drift or noise are not finite, or where
 * sigma is singular, has left the domain: its weight is zero. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/constant.h"
#include "base/fast.h"
#include "bridge/rows.h"
#include "bridge/walk.h"
#include "bridge/weighers.h"

/* --- Walks --------------------------------------------------------------- */

/* One walk of a piece: with the gap's own steps, or with those twice as long.
 * Point k of step m is number at + m K + k of the block. */
struct chain {
    const struct piece *piece;
    bool coarse;
    size_t steps, at;
};

/* The steps of the second walk: none where it is not needed, or the same. */
static size_t coarse_steps(const struct plan *p, size_t M)
{
    return plan_has_pairs(p) && M > 1 ? (M + 1) / 2 : 0;
}

/* The points of both walks. */
static size_t modified_columns(const struct plan *p, size_t M)
{
    return M + coarse_steps(p, M);
}

/* Room for a vector of the longest paths, which are never cut into slices. */
static size_t modified_block(const struct plan *p)
{
    enum { VECTOR = 8 };
    return VECTOR * modified_columns(p, p->longest);
}

static struct chain chain_of(const struct plan *p, const struct piece *q,
                             bool coarse)
{
    size_t M = q->context->M;
    return (struct chain){.piece = q,
                          .coarse = coarse,
                          .steps = coarse ? coarse_steps(p, M) : M,
                          .at = q->at + (coarse ? M * q->K : 0)};
}

/* From number *i on, two a piece, the next walk with more than m steps; false
 * after the last. */
static bool next_chain(const struct plan *p, const struct block *b, size_t m,
                       size_t *i, struct chain *w)
{
    for (; *i < 2 * b->pieces; ++*i) {
        *w = chain_of(p, &b->piece[*i / 2], *i % 2);
        if (m >= w->steps) continue;
        ++*i;
        return true;
    }
    return false;
}

/* Step m of a walk: how long it is, the time left before it, where it begins,
 * and s of its noise. */
struct step {
    double dt, left, start, s;
};

static struct step step_of(const struct chain *w, size_t m)
{
    const struct context *c = w->piece->context;
    size_t first = w->coarse ? 2 * m : m;
    size_t left = c->M - first, steps = w->coarse && left > 1 ? 2 : 1;
    double dt = c->dt * (double)steps;
    return (struct step){.dt = dt,
                         .left = c->dt * (double)left,
                         .start = c->gap->start + c->dt * (double)first,
                         .s = sqrt(dt * (double)(left - steps) / (double)left)};
}

/* Where point 0 of step m stands. */
static size_t point_of(const struct chain *w, size_t m)
{
    return w->at + m * w->piece->K;
}

/* --- Random numbers ------------------------------------------------------ */

/* Two steps with L left as one: with a constant sigma these are the numbers
 * that lead through every second point. */
static void join_noise(size_t n, size_t L, const double *one, const double *two,
                       double *both)
{
    double l = (double)L;
    double a = sqrt((l - 2.0) / (2.0 * (l - 1.0)));
    double c = sqrt(l / (2.0 * (l - 1.0)));
    for (size_t k = 0; k < n; k++)
        both[k] = a * one[k] + c * two[k];
}

/* xi of one walk to s->Y; the last step has none. */
static void place_noise(const struct plan *p, const struct scratch *s,
                        const struct chain *w, size_t P)
{
    size_t d = p->d, K = w->piece->K, M = w->piece->context->M;
    for (size_t m = 0; m < w->steps; m++)
        for (size_t i = 0; i < d; i++) {
            double *to = s->Y + i * P + point_of(w, m);
            const double *from = s->xi + (m * d + i) * K;
            if (m + 1 == w->steps) memset(to, 0, K * sizeof *to);
            else if (!w->coarse) memcpy(to, from, K * sizeof *to);
            else
                join_noise(K, M - 2 * m, from + m * d * K,
                           from + (m + 1) * d * K, to);
        }
}

static void draw_all(const struct plan *p, struct scratch *s,
                     const struct block *b)
{
    for (size_t n = 0; n < b->pieces; n++) {
        const struct piece *q = &b->piece[n];
        draw_begin(s, b, q);
        draw_steps(&s->draw, 0, q->context->M, s->xi);
        for (size_t coarse = 0; coarse < 2; coarse++) {
            struct chain w = chain_of(p, q, coarse);
            place_noise(p, s, &w, b->P);
        }
    }
}

/* --- Time and inputs ----------------------------------------------------- */

static void fill(size_t n, double value, double *x)
{
    for (size_t k = 0; k < n; k++)
        x[k] = value;
}

static void fill_times(const struct plan *p, const struct scratch *s,
                       const struct block *b)
{
    struct chain w;
    for (size_t n = 0; next_chain(p, b, 0, &n, &w);)
        for (size_t m = 0; m < w.steps; m++) {
            struct step step = step_of(&w, m);
            struct instant now = {.track = w.piece->context->gap->track,
                                  .time = step.start,
                                  .low = step.start,
                                  .high = step.start + step.dt};
            fill_time(p, s, &now, point_of(&w, m), w.piece->K, b->P);
        }
}

/* --- One step of all walks ----------------------------------------------- */

/* Paths that step in round m. */
static size_t count_paths(const struct plan *p, const struct block *b, size_t m)
{
    struct chain w;
    size_t n = 0;
    for (size_t i = 0; next_chain(p, b, m + 1, &i, &w);)
        n += w.piece->K;
    return n;
}

/* Step m of a walk as points [to, to + K) of n: X and the noise, s xi. */
static void gather_chain(const struct plan *p, const struct scratch *s,
                         const struct chain *w, size_t m, size_t P, size_t to,
                         size_t n)
{
    size_t d = p->d, K = w->piece->K, at = point_of(w, m);
    double size = step_of(w, m).s;
    for (size_t i = 0; i < d; i++) {
        const double *xi = s->Y + i * P + at;
        double *noise = s->dY + (d + i) * n + to;
        memcpy(s->dY + i * n + to, s->Z + i * P + at, K * sizeof *s->dY);
        for (size_t k = 0; k < K; k++)
            noise[k] = size * xi[k];
    }
    memcpy(s->step_time + to, s->time + at, K * sizeof *s->time);
    for (size_t i = 0; i < p->inputs; i++) {
        memcpy(s->step_input + i * n + to, s->input + i * P + at,
               K * sizeof *s->input);
        memcpy(s->step_slope + i * n + to, s->slope + i * P + at,
               K * sizeof *s->slope);
    }
}

/* sigma s xi of all paths that step in round m. */
static struct points run_step(const struct plan *p, const struct values *v,
                              struct scratch *s, const struct block *b,
                              size_t m)
{
    struct chain w;
    struct points in = {.P = count_paths(p, b, m),
                        .state = s->dY,
                        .time = s->step_time,
                        .input = s->step_input,
                        .slope = s->step_slope};
    for (size_t i = 0, to = 0; next_chain(p, b, m + 1, &i, &w);
         to += w.piece->K)
        gather_chain(p, s, &w, m, b->P, to, in.P);
    if (in.P) program_forward(p->step, &v->step, &s->step, &in);
    return in;
}

/* x = x0 + b dt + move. */
FAST static void move_on(size_t n, double dt, const double *restrict x0,
                         const double *restrict b, const double *restrict move,
                         double *restrict x)
{
    for (size_t k = 0; k < n; k++)
        x[k] = x0[k] + b[k] * dt + move[k];
}

/* b = (y1 - x) / left, and whether x is finite. */
FAST static void pull_to(size_t n, double y1, double left,
                         const double *restrict x, double *restrict b,
                         double *restrict alive)
{
    double rate = 1.0 / left;
    for (size_t k = 0; k < n; k++) {
        b[k] = (y1 - x[k]) * rate;
        alive[k] = fabs(x[k]) <= DBL_MAX ? alive[k] : 0.0;
    }
}

/* Point k of step m moves to y0, where everything is finite. */
static void move_to_start(const struct plan *p, const struct scratch *s,
                          const struct chain *w, size_t m, size_t k, size_t P)
{
    const struct context *c = w->piece->context;
    double left = step_of(w, m).left;
    for (size_t i = 0; i < p->d; i++) {
        size_t at = i * P + point_of(w, m) + k;
        s->Z[at] = c->y0[i];
        s->Z[p->d * P + at] = (c->y1[i] - c->y0[i]) / left;
    }
}

/* From X of step m to its b. Paths that left the domain are marked, and moved
 * away from the point where they left it. */
static void arrive(const struct plan *p, const struct scratch *s,
                   const struct chain *w, size_t m, size_t P)
{
    const struct context *c = w->piece->context;
    size_t d = p->d, K = w->piece->K, at = point_of(w, m);
    double *alive = s->alive + w->at, least = 1.0;
    for (size_t i = 0; i < d; i++)
        pull_to(K, c->y1[i], step_of(w, m).left, s->Z + i * P + at,
                s->Z + (d + i) * P + at, alive);
    for (size_t k = 0; k < K; k++)
        least = alive[k] < least ? alive[k] : least;
    for (size_t k = 0; least < 1.0 && k < K; k++) {
        if (alive[k] > 0.0) continue;
        move_to_start(p, s, w, m, k, P);
        if (m) move_to_start(p, s, w, m - 1, k, P);
    }
}

static void walk_step(const struct plan *p, const struct values *v,
                      struct scratch *s, const struct block *b, size_t m)
{
    size_t d = p->d, P = b->P, to = 0;
    struct points in = run_step(p, v, s, b, m);
    const double *move = program_output(p->step, &s->step, in.P, 0);
    struct chain w;
    for (size_t n = 0; next_chain(p, b, m + 1, &n, &w); to += w.piece->K) {
        size_t K = w.piece->K, at = point_of(&w, m);
        for (size_t i = 0; i < d; i++) {
            const double *x = s->Z + i * P + at;
            move_on(K, step_of(&w, m).dt, x, x + d * P, move + i * in.P + to,
                    s->Z + i * P + at + K);
        }
        arrive(p, s, &w, m + 1, P);
    }
}

static size_t most_steps(const struct block *b)
{
    size_t most = 0;
    for (size_t n = 0; n < b->pieces; n++)
        if (b->piece[n].context->M > most) most = b->piece[n].context->M;
    return most;
}

static void walk_all(const struct plan *p, const struct values *v,
                     struct scratch *s, const struct block *b)
{
    struct chain w;
    for (size_t n = 0; next_chain(p, b, 0, &n, &w);) {
        for (size_t i = 0; i < p->d; i++)
            fill(w.piece->K, w.piece->context->y0[i], s->Z + i * b->P + w.at);
        fill(w.piece->K, 1.0, s->alive + w.at);
        arrive(p, s, &w, 0, b->P);
    }
    for (size_t m = 0; m + 1 < most_steps(b); m++)
        walk_step(p, v, s, b, m);
}

/* --- Weights ------------------------------------------------------------- */

/* S += (xi^2 - e^2 / dt) / 2 with e = r dt + s xi. */
FAST static void weigh_row(size_t n, const struct step *step,
                           const double *restrict r, const double *restrict xi,
                           double *restrict S)
{
    double dt = step->dt, size = step->s, rate = 1.0 / step->dt;
    for (size_t k = 0; k < n; k++) {
        double e = r[k] * dt + size * xi[k];
        S[k] += 0.5 * (xi[k] * xi[k] - e * e * rate);
    }
}

/* S of one walk, (K). A path whose S is not finite has left the domain, too:
 * true where there is such a path. */
static bool weigh_chain(const struct plan *p, struct scratch *s,
                        const struct chain *w, size_t P, double *S)
{
    const struct context *c = w->piece->context;
    const double *r = program_output(p->unit, &s->unit, P, 0);
    const double *log_det = program_output(p->unit, &s->unit, P, 1);
    size_t d = p->d, K = w->piece->K, last = point_of(w, w->steps - 1);
    double *alive = s->alive + w->at;
    bool marked = false;
    fill(K, -0.5 * (double)d * (LOG_TWO_PI + log(c->gap->length)), S);
    for (size_t m = 0; m < w->steps; m++) {
        struct step step = step_of(w, m);
        size_t at = point_of(w, m);
        for (size_t i = 0; i < d; i++)
            weigh_row(K, &step, r + i * P + at, s->Y + i * P + at, S);
    }
    for (size_t k = 0; k < K; k++) {
        S[k] -= log_det[last + k];
        bool finite = isfinite(S[k]);
        if (finite && alive[k] > 0.0) continue;
        marked = marked || !finite;
        S[k] = -INFINITY;
        alive[k] = 0.0;
    }
    return marked;
}

/* y += a x. */
FAST static void axpy(size_t n, double a, const double *restrict x,
                      double *restrict y)
{
    for (size_t k = 0; k < n; k++)
        y[k] += a * x[k];
}

/* Without a second walk S2 is S. */
static bool weigh_all(const struct plan *p, struct scratch *s,
                      const struct block *b, double *S, double *S2)
{
    bool marked = false;
    double *own = s->weigh; /* (K) */
    struct chain w;
    for (size_t n = 0; next_chain(p, b, 0, &n, &w);) {
        const struct piece *q = w.piece;
        bool alone = !coarse_steps(p, q->context->M);
        marked |= weigh_chain(p, s, &w, b->P, own);
        if (S && !w.coarse) axpy(q->K, 1.0, own, S + q->slot);
        if (S && (w.coarse || alone)) axpy(q->K, 1.0, own, S2 + q->slot);
    }
    return marked;
}

/* All points of paths that left the domain. */
static void move_marked_to_start(const struct plan *p, const struct scratch *s,
                                 const struct block *b)
{
    struct chain w;
    for (size_t n = 0; next_chain(p, b, 0, &n, &w);)
        for (size_t k = 0; k < w.piece->K; k++)
            for (size_t m = 0; !(s->alive[w.at + k] > 0.0) && m < w.steps; m++)
                move_to_start(p, s, &w, m, k, b->P);
}

static void modified_forward(const struct plan *p, const struct values *v,
                             struct scratch *s, const struct block *b,
                             double *S, double *S2)
{
    draw_all(p, s, b);
    fill_times(p, s, b);
    walk_all(p, v, s, b);
    struct points in = block_points(s, b->P);
    program_forward(p->unit, &v->unit, &s->unit, &in);
    bool marked = weigh_all(p, s, b, S, S2);
    if (!marked || !p->options->gradient) return;
    move_marked_to_start(p, s, b);
    program_forward(p->unit, &v->unit, &s->unit, &in);
}

/* --- Backward ------------------------------------------------------------ */

/* e_bar = -e/dt S_bar, and r_bar = dt e_bar. */
FAST static void weigh_row_vjp(size_t n, const struct step *step,
                               const double *restrict r,
                               const double *restrict xi,
                               const double *restrict S_bar,
                               double *restrict r_bar)
{
    double dt = step->dt, size = step->s;
    for (size_t k = 0; k < n; k++)
        r_bar[k] = -(r[k] * dt + size * xi[k]) * S_bar[k];
}

/* The gradient by the weights of one walk, to s->weigh (K). */
static const double *chain_bar(const struct plan *p, const struct scratch *s,
                               const struct chain *w)
{
    const struct piece *q = w->piece;
    bool second = p->options->richardson;
    bool alone = !coarse_steps(p, q->context->M);
    fill(q->K, 0.0, s->weigh);
    if (!w->coarse) axpy(q->K, 1.0, s->S_bar + q->slot, s->weigh);
    if (second && (w->coarse || alone))
        axpy(q->K, 1.0, s->S2_bar + q->slot, s->weigh);
    return s->weigh;
}

/* To s->f_bar and s->div_bar. */
static void weigh_chain_vjp(const struct plan *p, struct scratch *s,
                            const struct chain *w, size_t P)
{
    const double *r = program_output(p->unit, &s->unit, P, 0);
    const double *S_bar = chain_bar(p, s, w);
    size_t K = w->piece->K;
    for (size_t m = 0; m < w->steps; m++) {
        struct step step = step_of(w, m);
        size_t at = point_of(w, m);
        for (size_t i = 0; i < p->d; i++)
            weigh_row_vjp(K, &step, r + i * P + at, s->Y + i * P + at, S_bar,
                          s->f_bar + i * P + at);
        for (size_t k = 0; k < K; k++)
            s->div_bar[at + k] = m + 1 == w->steps ? -S_bar[k] : 0.0;
    }
}

/* The step from X of step m to that of step m + 1, whose gradient is complete:
 * to X, b and to sigma's parameters. */
static void step_vjp(const struct plan *p, const struct values *v,
                     struct scratch *s, const struct block *b, size_t m)
{
    size_t d = p->d, P = b->P;
    struct points in = run_step(p, v, s, b, m);
    struct chain w;
    if (!in.P) return;
    for (size_t n = 0, to = 0; next_chain(p, b, m + 1, &n, &w);
         to += w.piece->K)
        for (size_t i = 0; i < d; i++)
            memcpy(s->dot + i * in.P + to,
                   s->Z_bar + i * P + point_of(&w, m + 1),
                   w.piece->K * sizeof *s->dot);
    memset(s->dY_bar, 0, 2 * d * in.P * sizeof *s->dY_bar);
    program_vjp(p->step, &v->step, &s->step, &in,
                (const double *const[1]){s->dot}, s->dY_bar,
                s->unit_bar + program_uniforms(p->unit));
    for (size_t n = 0, to = 0; next_chain(p, b, m + 1, &n, &w);
         to += w.piece->K)
        for (size_t i = 0; i < d; i++) {
            double *X_bar = s->Z_bar + i * P + point_of(&w, m);
            const double *next_bar = s->dot + i * in.P + to;
            axpy(w.piece->K, 1.0, next_bar, X_bar);
            axpy(w.piece->K, 1.0, s->dY_bar + i * in.P + to, X_bar);
            axpy(w.piece->K, step_of(&w, m).dt, next_bar, X_bar + d * P);
        }
}

/* b = (y1 - X) / left of step m. */
static void pull_to_vjp(const struct plan *p, struct scratch *s,
                        const struct block *b, size_t m)
{
    size_t d = p->d, P = b->P;
    struct chain w;
    for (size_t n = 0; next_chain(p, b, m, &n, &w);) {
        size_t K = w.piece->K, at = point_of(&w, m);
        double rate = 1.0 / step_of(&w, m).left;
        double *y1_bar = w.piece->context->y_bar + d;
        const double *b_bar = s->Z_bar + d * P + at;
        rows_sum(d, K, rate, b_bar, P, y1_bar);
        for (size_t i = 0; i < d; i++)
            axpy(K, -rate, b_bar + i * P, s->Z_bar + i * P + at);
    }
}

static void walk_all_vjp(const struct plan *p, const struct values *v,
                         struct scratch *s, const struct block *b)
{
    struct chain w;
    for (size_t m = most_steps(b); m-- > 0;) {
        step_vjp(p, v, s, b, m);
        pull_to_vjp(p, s, b, m);
    }
    for (size_t n = 0; next_chain(p, b, 0, &n, &w);)
        rows_sum(p->d, w.piece->K, 1.0, s->Z_bar + w.at, b->P,
                 w.piece->context->y_bar);
}

static void modified_backward(const struct plan *p, const struct values *v,
                              struct scratch *s, const struct block *b)
{
    struct points in = block_points(s, b->P);
    bool paths_move = p->model->learned_noise;
    struct chain w;
    for (size_t n = 0; next_chain(p, b, 0, &n, &w);)
        weigh_chain_vjp(p, s, &w, b->P);
    memset(s->Z_bar, 0, 2 * p->d * b->P * sizeof *s->Z_bar);
    program_vjp(p->unit, &v->unit, &s->unit, &in,
                (const double *const[2]){s->f_bar, s->div_bar},
                paths_move ? s->Z_bar : NULL, s->unit_bar);
    if (paths_move) walk_all_vjp(p, v, s, b);
}

const struct weigher MODIFIED = {.check = modified_check,
                                 .build = modified_build,
                                 .columns = modified_columns,
                                 .least = modified_block,
                                 .forward = modified_forward,
                                 .backward = modified_backward};
