/* SPDX-License-Identifier: MIT */
#include "bridge/weigh.h"

#include <string.h>

#include "base/fast.h"
#include "bridge/rows.h"

/* --- What the forms share ------------------------------------------------- */

void slice_reference(const struct slice *s, size_t step, const double *Y,
                     size_t ld, double *l)
{
    const struct reference *r = s->reference;
    size_t d = r->d, m = s->first + step;
    if (reference_is_plain(r)) {
        memset(l, 0, d * s->K * sizeof *l);
        return;
    }
    rows_times(d, s->K, r->A + m * d * d, false, Y, ld, r->b + m * d, false, l,
               s->K);
}

void slice_reference_vjp(const struct slice *s, size_t step,
                         const double *l_bar, double *Y_bar, size_t ld,
                         struct reference_bar *bar)
{
    const struct reference *r = s->reference;
    size_t d = r->d, m = s->first + step;
    if (reference_is_plain(r)) return;
    rows_times(d, s->K, r->A + m * d * d, true, l_bar, s->K, NULL, true, Y_bar,
               ld);
    rows_sum(d, s->K, 1.0, l_bar, s->K, bar->b + m * d);
}

void clear_rows(size_t d, size_t n, double *x, size_t ld)
{
    for (size_t i = 0; i < d; i++)
        memset(x + i * ld, 0, n * sizeof *x);
}

/* --- Ito ------------------------------------------------------------------ */

/* Left sums: S = sum r' (dY - (f + l) dt/2) = sum r' dY - (f'f - l'l) dt/2,
 * with l = A Y + b, r = f - l. */

/* l, r and, over two steps, dY. */
struct work {
    double *l, *r, *move;
};

static struct work work_of(const struct slice *s)
{
    size_t n = s->reference->d * s->K;
    return (struct work){s->scratch, s->scratch + n, s->scratch + 2 * n};
}

static void residual(const struct slice *s, size_t m, struct work w)
{
    size_t d = s->reference->d, K = s->K;
    slice_reference(s, m, s->Y + m * K, s->ld, w.l);
    for (size_t i = 0; i < d; i++)
        for (size_t k = 0; k < K; k++)
            w.r[i * K + k] = s->f[i * s->ld + m * K + k] - w.l[i * K + k];
}

/* dY of step m and, where there is one, of the next. */
static void long_step(const struct slice *s, size_t m, double *move)
{
    size_t d = s->reference->d, K = s->K;
    for (size_t i = 0; i < d; i++)
        for (size_t k = 0; k < K; k++) {
            const double *dY = s->dY + i * s->ld + m * K + k;
            move[i * K + k] = m + 1 < s->steps ? dY[0] + dY[K] : dY[0];
        }
}

/* S += r' move - (f'f - l'l) dt/2. */
static void add_step(const struct slice *s, size_t m, struct work w,
                     const double *move, size_t ld, double dt, double *S)
{
    size_t d = s->reference->d, K = s->K;
    const double *f = s->f + m * K;
    rows_dot(d, K, 1.0, w.r, K, move, ld, S);
    rows_dot(d, K, -0.5 * dt, f, s->ld, f, s->ld, S);
    rows_dot(d, K, 0.5 * dt, w.l, K, w.l, K, S);
}

static void weigh_ito(const struct slice *s, double *S, double *S2)
{
    double dt = s->reference->dt;
    struct work w = work_of(s);
    for (size_t m = 0; m < s->steps; m++) {
        residual(s, m, w);
        add_step(s, m, w, s->dY + m * s->K, s->ld, dt, S);
        if (s->alone || m % 2) continue;
        long_step(s, m, w.move);
        add_step(s, m, w, w.move, s->K, m + 1 < s->steps ? 2.0 * dt : dt, S2);
    }
}

/* f_bar = S_bar (dY - f dt), l_bar = S_bar (l dt - dY), dY_bar = S_bar r. */
static void step_vjp(const struct slice *s, size_t m, struct work w,
                     const double *move, size_t ld, double dt,
                     const double *S_bar, bool add, const struct slice_bar *bar)
{
    size_t d = s->reference->d, K = s->K, at = m * K;
    double *l_bar = s->scratch + 3 * d * K;
    rows_blend(d, K, S_bar, 1.0, move, ld, -dt, s->f + at, s->ld, add,
               bar->f_bar + at, s->ld);
    if (!bar->ends) return;
    rows_blend(d, K, S_bar, -1.0, move, ld, dt, w.l, K, false, l_bar, K);
    slice_reference_vjp(s, m, l_bar, bar->Z_bar + at, s->ld, bar->reference);
}

static void weigh_ito_vjp(const struct slice *s, const struct slice_bar *bar)
{
    size_t d = s->reference->d, K = s->K, ld = s->ld;
    double dt = s->reference->dt;
    struct work w = work_of(s);
    clear_rows(d, s->steps * K, bar->dY_bar, ld);
    if (bar->ends) clear_rows(d, s->steps * K, bar->Z_bar, ld);
    for (size_t m = 0; m < s->steps; m++) {
        residual(s, m, w);
        step_vjp(s, m, w, s->dY + m * K, ld, dt, bar->S_bar, false, bar);
        rows_blend(d, K, bar->S_bar, 1.0, w.r, K, 0.0, w.r, K, true,
                   bar->dY_bar + m * K, ld);
        if (!bar->S2_bar || m % 2) continue;
        bool two = m + 1 < s->steps;
        long_step(s, m, w.move);
        step_vjp(s, m, w, w.move, K, two ? 2.0 * dt : dt, bar->S2_bar, true,
                 bar);
        for (size_t n = m; n <= m + two; n++)
            rows_blend(d, K, bar->S2_bar, 1.0, w.r, K, 0.0, w.r, K, true,
                       bar->dY_bar + n * K, ld);
    }
}

/* --- Ito against Brownian bridges ------------------------------------------
 */

/* S = sum f' (dY - f dt/2). */

/* Neighbouring paths at a time, as one or two vectors of four: their sums stay
 * in registers. */
enum { WIDTH = 4, BOTH = 8 };
typedef double four __attribute__((vector_size(32), aligned(8)));

INLINE four load(const double *x)
{
    return *(const four *)x;
}

INLINE void pair(size_t K, double dt, const double *f, const double *dY,
                 four *s, four *s2)
{
    four a = load(f), b = load(f + K), u = load(dY), v = load(dY + K);
    *s += a * (u - 0.5 * dt * a) + b * (v - 0.5 * dt * b);
    *s2 += a * (u + v - dt * a);
}

INLINE void single(double dt, const double *f, const double *dY, four *s,
                   four *s2)
{
    four a = load(f), last = a * (load(dY) - 0.5 * dt * a);
    *s += last;
    *s2 += last;
}

/* width is known where this is called: 4 or 8. */
INLINE void weigh_vectors(const struct slice *c, size_t width, size_t k,
                          double *S, double *S2)
{
    size_t next = width - WIDTH; /* 0 where there is no second vector */
    size_t K = c->K, d = c->reference->d;
    double dt = c->reference->dt;
    four s0 = load(S), s1 = load(S + next);
    four t0 = load(S2), t1 = load(S2 + next);
    for (size_t i = 0; i < d; i++) {
        const double *f = c->f + i * c->ld + k, *dY = c->dY + i * c->ld + k;
        size_t m = 0;
        for (; m + 2 <= c->steps; m += 2, f += 2 * K, dY += 2 * K) {
            pair(K, dt, f, dY, &s0, &t0);
            if (next) pair(K, dt, f + next, dY + next, &s1, &t1);
        }
        if (m == c->steps) continue;
        single(dt, f, dY, &s0, &t0);
        if (next) single(dt, f + next, dY + next, &s1, &t1);
    }
    if (next) *(four *)(S + next) = s1, *(four *)(S2 + next) = t1;
    *(four *)S = s0;
    *(four *)S2 = t0;
}

/* The paths that are left over, one by one. */
static void weigh_path(const struct slice *c, size_t k, double *S, double *S2)
{
    double dt = c->reference->dt;
    for (size_t i = 0; i < c->reference->d; i++) {
        const double *f = c->f + i * c->ld + k, *dY = c->dY + i * c->ld + k;
        for (size_t m = 0; m < c->steps; m++, f += c->K, dY += c->K) {
            double s = *f * (*dY - 0.5 * dt * *f);
            bool paired = m % 2 || m + 1 < c->steps;
            *S += s;
            if (!paired) *S2 += s;
            else if (m % 2 == 0) *S2 += *f * (*dY + dY[c->K] - dt * *f);
        }
    }
}

FAST static void weigh_brownian(const struct slice *c, double *S, double *S2)
{
    size_t k = 0;
    for (; k + BOTH <= c->K; k += BOTH)
        weigh_vectors(c, BOTH, k, S + k, S2 + k);
    for (; k + WIDTH <= c->K; k += WIDTH)
        weigh_vectors(c, WIDTH, k, S + k, S2 + k);
    for (; k < c->K; k++)
        weigh_path(c, k, S + k, S2 + k);
}

/* f_bar = S_bar (dY - f dt), dY_bar = S_bar f. */
INLINE void brownian_step_vjp(size_t K, double dt, const double *f,
                              const double *dY, const double *S_bar,
                              double *restrict f_bar, double *restrict dY_bar)
{
    for (size_t k = 0; k < K; k++) {
        f_bar[k] = S_bar[k] * (dY[k] - dt * f[k]);
        dY_bar[k] = S_bar[k] * f[k];
    }
}

/* What S2 adds in the first of two steps, or in a last one that is alone. */
INLINE void brownian_pair_vjp(size_t K, double dt, bool alone, const double *f,
                              const double *dY, const double *S2_bar,
                              double *restrict f_bar, double *restrict dY_bar)
{
    for (size_t k = 0; k < K; k++) {
        double move = alone ? dY[k] : dY[k] + dY[K + k];
        f_bar[k] += S2_bar[k] * (move - (alone ? dt : 2.0 * dt) * f[k]);
        dY_bar[k] += S2_bar[k] * f[k];
        if (!alone) dY_bar[K + k] += S2_bar[k] * f[k];
    }
}

FAST static void weigh_brownian_vjp(const struct slice *c,
                                    const struct slice_bar *bar)
{
    size_t K = c->K, d = c->reference->d;
    double dt = c->reference->dt;
    for (size_t i = 0; i < d; i++) {
        size_t row = i * c->ld;
        for (size_t m = 0; m < c->steps; m++)
            brownian_step_vjp(K, dt, c->f + row + m * K, c->dY + row + m * K,
                              bar->S_bar, bar->f_bar + row + m * K,
                              bar->dY_bar + row + m * K);
        for (size_t m = 0; bar->S2_bar && m < c->steps; m += 2)
            brownian_pair_vjp(K, dt, m + 1 == c->steps, c->f + row + m * K,
                              c->dY + row + m * K, bar->S2_bar,
                              bar->f_bar + row + m * K,
                              bar->dY_bar + row + m * K);
    }
    if (bar->ends) clear_rows(d, c->steps * K, bar->Z_bar, c->ld);
}

/* --- The table of forms ----------------------------------------------------
 */

size_t weigh_scratch(size_t d, size_t K)
{
    return SCRATCH_ROWS * d * K + K;
}

static const struct form_row {
    void (*weigh)(const struct slice *s, double *S, double *S2);
    void (*vjp)(const struct slice *s, const struct slice_bar *bar);
} FORMS[] = {
    [GSV_FORM_ITO] = {weigh_ito, weigh_ito_vjp},
    [GSV_FORM_MIDPOINT] = {weigh_midpoint, weigh_midpoint_vjp},
    [GSV_FORM_STRATONOVICH] = {weigh_stratonovich, weigh_stratonovich_vjp},
};

/* Without a linear part there is nothing to multiply by matrices. */
static const struct form_row BROWNIAN = {weigh_brownian, weigh_brownian_vjp};

static const struct form_row *row_of(const struct slice *s)
{
    bool plain =
        reference_is_plain(s->reference) && s->form != GSV_FORM_STRATONOVICH;
    return plain ? &BROWNIAN : &FORMS[s->form];
}

void weigh(const struct slice *s, double *S, double *S2)
{
    row_of(s)->weigh(s, S, S2);
}

void weigh_vjp(const struct slice *s, const struct slice_bar *bar)
{
    row_of(s)->vjp(s, bar);
}
