/* SPDX-License-Identifier: MIT */
/* Ito's left sums: S = sum r' (dY - (f + l) dt/2) = sum r' dY - (f'f - l'l)
 * dt/2, with l = A Y + b, r = f - l. */
#include "bridge/rows.h"
#include "bridge/weigh_forms.h"

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

void weigh_ito(const struct slice *s, double *S, double *S2)
{
    double dt = s->reference->dt;
    struct work w = work_of(s);
    for (size_t m = 0; m < s->steps; m++) {
        residual(s, m, w);
        add_step(s, m, w, s->dY + m * s->K, s->ld, dt, S);
        if (m % 2) continue;
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

void weigh_ito_vjp(const struct slice *s, const struct slice_bar *bar)
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
