/* SPDX-License-Identifier: MIT */
/* Stratonovich's sums: over a step of length dt from L to R, with l = A Y + b
 * of that step at both of its ends,
 *
 *     S += (r_L + r_R)'/2 dY - dt/4 [ |f_L|^2 - |l_L|^2 + |f_R|^2 - |l_R|^2
 *                                     + div f_L + div f_R - 2 tr A ]. */
#include "bridge/barrier.h"
#include "bridge/rows.h"
#include "bridge/weigh.h"

/* One side of a long or short step: its column, the step whose A it takes. */
struct side {
    size_t column, step;
};

static double trace(const struct slice *s, size_t step)
{
    const struct reference *r = s->reference;
    size_t d = r->d;
    double sum = 0.0;
    if (reference_is_plain(r)) return 0.0;
    for (size_t i = 0; i < d; i++)
        sum += r->A[(s->first + step) * d * d + i * (d + 1)];
    return sum;
}

/* dY from step m up to step n. */
static void movement(const struct slice *s, size_t m, size_t n, double *move)
{
    size_t d = s->reference->d, K = s->K;
    for (size_t i = 0; i < d; i++)
        for (size_t k = 0; k < K; k++) {
            double sum = 0.0;
            for (size_t j = m; j < n; j++)
                sum += s->dY[i * s->ld + j * K + k];
            move[i * K + k] = sum;
        }
}

static void add_side(const struct slice *s, struct side side, double dt,
                     const double *move, double *S)
{
    size_t d = s->reference->d, K = s->K, at = side.column * K;
    double *l = s->scratch + d * K, tr = trace(s, side.step);
    const double *f = s->f + at;
    slice_reference(s, side.step, s->Z + at, s->ld, l);
    if (!s->potential) {
        rows_dot(d, K, 0.5, f, s->ld, move, K, S);
        rows_dot(d, K, -0.5, l, K, move, K, S);
    }
    rows_dot(d, K, -0.25 * dt, f, s->ld, f, s->ld, S);
    rows_dot(d, K, 0.25 * dt, l, K, l, K, S);
    for (size_t k = 0; k < K; k++)
        S[k] -= 0.25 * dt * (s->div[at + k] - tr);
}

/* -l' dY where f' dY is a potential: exact in every step because l is linear
 * in it, and therefore never summed over steps twice as long. */
static void add_line(const struct slice *s, size_t m, double *S)
{
    size_t d = s->reference->d, K = s->K;
    double *l = s->scratch + d * K;
    for (size_t column = m; column < m + 2; column++) {
        slice_reference(s, m, s->Z + column * K, s->ld, l);
        rows_dot(d, K, -0.5, l, K, s->dY + m * K, s->ld, S);
    }
}

/* Beyond this a no path comes near a boundary. */
static const double LARGEST = 10.0;

/* What boundary i adds between columns m and n of path k. */
struct wall {
    const double *left, *right;
    double a;
    bool exists;
};

static struct wall wall_of(const struct slice *s, size_t i, size_t m, size_t n,
                           size_t k)
{
    const double *distance = s->distance + i * s->ld;
    struct wall w = {distance + m * s->K + k, distance + n * s->K + k, 0, 0};
    w.a = s->steepness[i * s->ld + m * s->K + k] * *w.left;
    w.exists =
        barrier_exists(w.a) && w.a<LARGEST && * w.left> 0.0 && *w.right > 0.0;
    return w;
}

static void add_walls(const struct slice *s, size_t m, size_t n, double dt,
                      double *S)
{
    for (size_t i = 0; i < s->barriers; i++)
        for (size_t k = 0; k < s->K; k++) {
            struct wall w = wall_of(s, i, m, n, k);
            if (w.exists) S[k] += barrier(w.a, *w.left, *w.right, dt);
        }
}

static void walls_vjp(const struct slice *s, size_t m, size_t n, double dt,
                      const double *S_bar, const struct slice_bar *bar)
{
    size_t K = s->K, ld = s->ld;
    for (size_t i = 0; i < s->barriers; i++)
        for (size_t k = 0; k < K; k++) {
            struct wall w = wall_of(s, i, m, n, k);
            if (!w.exists || S_bar[k] == 0.0) continue;
            struct barrier_slope b = barrier_slopes(w.a, *w.left, *w.right, dt);
            size_t left = i * ld + m * K + k, right = i * ld + n * K + k;
            double a_bar = S_bar[k] * b.a;
            bar->steepness_bar[left] += a_bar * *w.left;
            bar->distance_bar[left] +=
                S_bar[k] * b.left + a_bar * s->steepness[left];
            bar->distance_bar[right] += S_bar[k] * b.right;
        }
}

/* The step from column m to column n. */
static void add_step(const struct slice *s, size_t m, size_t n, double *S)
{
    double dt = s->reference->dt * (double)(n - m);
    movement(s, m, n, s->scratch);
    add_side(s, (struct side){m, m}, dt, s->scratch, S);
    add_side(s, (struct side){n, n - 1}, dt, s->scratch, S);
    for (size_t j = m; s->potential && j < n; j++)
        add_line(s, j, S);
    add_walls(s, m, n, dt, S);
}

void weigh_stratonovich(const struct slice *s, double *S, double *S2)
{
    for (size_t m = 0; m < s->steps; m++) {
        add_step(s, m, m + 1, S);
        if (s->alone || m % 2) continue;
        add_step(s, m, m + 1 < s->steps ? m + 2 : m + 1, S2);
    }
}

/* f_bar += w (dY - dt f)/2, l_bar = w (dt l - dY)/2, div_bar -= w dt/4, and
 * dY_bar += w (f - l)/2 in all steps from m to n; f dY is left out
 * where it is a potential; nothing needs the gradient of its longer steps. */
static void side_vjp(const struct slice *s, struct side side, size_t m,
                     size_t n, double dt, const double *w,
                     const struct slice_bar *bar)
{
    size_t d = s->reference->d, K = s->K, at = side.column * K;
    double *move = s->scratch, *l = move + d * K, *l_bar = l + d * K;
    double half = s->potential ? 0.0 : 0.5;
    rows_blend(d, K, w, half, move, K, -0.5 * dt, s->f + at, s->ld, true,
               bar->f_bar + at, s->ld);
    for (size_t k = 0; k < K; k++)
        bar->div_bar[at + k] -= 0.25 * dt * w[k];
    if (!bar->ends) return;
    slice_reference(s, side.step, s->Z + at, s->ld, l);
    rows_blend(d, K, w, -0.5, move, K, 0.5 * dt, l, K, false, l_bar, K);
    slice_reference_vjp(s, side.step, l_bar, bar->Z_bar + at, s->ld,
                        bar->reference);
    for (size_t j = m; j < n; j++)
        rows_blend(d, K, w, half, s->f + at, s->ld, -0.5, l, K, true,
                   bar->dY_bar + j * K, s->ld);
}

static void step_vjp(const struct slice *s, size_t m, size_t n, const double *w,
                     const struct slice_bar *bar)
{
    double dt = s->reference->dt * (double)(n - m);
    movement(s, m, n, s->scratch);
    side_vjp(s, (struct side){m, m}, m, n, dt, w, bar);
    side_vjp(s, (struct side){n, n - 1}, m, n, dt, w, bar);
    walls_vjp(s, m, n, dt, w, bar);
}

void weigh_stratonovich_vjp(const struct slice *s, const struct slice_bar *bar)
{
    size_t d = s->reference->d, n = (s->steps + 1) * s->K;
    clear_rows(d, n, bar->f_bar, s->ld);
    clear_rows(1, n, bar->div_bar, s->ld);
    clear_rows(s->barriers, n, bar->distance_bar, s->ld);
    clear_rows(s->barriers, n, bar->steepness_bar, s->ld);
    if (bar->ends) clear_rows(d, n, bar->Z_bar, s->ld);
    if (bar->ends) clear_rows(d, n - s->K, bar->dY_bar, s->ld);
    for (size_t m = 0; m < s->steps; m++) {
        step_vjp(s, m, m + 1, bar->S_bar, bar);
        if (bar->S2_bar && m % 2 == 0)
            step_vjp(s, m, m + 1 < s->steps ? m + 2 : m + 1, bar->S2_bar, bar);
    }
}
