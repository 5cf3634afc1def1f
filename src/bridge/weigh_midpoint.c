/* SPDX-License-Identifier: MIT */
/* The midpoint form. With z the reference's forecast of the step's middle,
 *
 *     r = f(z) - A z - b,   e = Y_{m+1} - Phi Y_m - c,
 *     S = sum r' W e - r' V r / 2,   W = Gamma' Q^-1,  V = W Gamma.
 *
 * With steps twice as long the reference would be coarser, too: its A is the
 * mean of both, f in its middle z' is f(z) + A_m (z' - z), and S2 is the ratio
 * of that chain to this one over two steps,
 *
 *     S2 = sum e2' P e2 / 2 - e3' P' e3 / 2 + logs,
 *     e2 = Phi_{m+1} e_m + e_{m+1},  e3 = Y_{m+2} - Phi' Y_m - Gamma' g,
 *     g = f(z) + A_m (z' - z) - A' z'. */
#include "bridge/rows.h"
#include "bridge/weigh.h"

struct work {
    double *r, *e, *next_e, *We, *Vr; /* (d, K) each */
};

static struct work work_of(const struct slice *s)
{
    size_t n = s->reference->d * s->K;
    double *x = s->scratch;
    return (struct work){x, x + n, x + 2 * n, x + 3 * n, x + 4 * n};
}

static void residual(const struct slice *s, size_t m, double *r)
{
    size_t d = s->reference->d, K = s->K;
    slice_reference(s, m, s->Z + m * K, s->ld, r);
    for (size_t i = 0; i < d; i++)
        for (size_t k = 0; k < K; k++)
            r[i * K + k] = s->f[i * s->ld + m * K + k] - r[i * K + k];
}

/* e = dY + Y - Phi Y - c. */
static void innovation(const struct slice *s, size_t m, double *e)
{
    const struct reference *ref = s->reference;
    size_t d = ref->d, K = s->K, n = s->first + m;
    rows_times(d, K, ref->Phi + n * d * d, false, s->Y + m * K, s->ld,
               ref->c + n * d, false, e, K);
    for (size_t i = 0; i < d; i++)
        for (size_t k = 0; k < K; k++) {
            size_t at = i * s->ld + m * K + k;
            e[i * K + k] = s->dY[at] + (s->Y[at] - e[i * K + k]);
        }
}

/* S += r' W e - r' V r / 2, with W e and V r left in the work. */
static void add_step(const struct slice *s, struct work w, const double *e,
                     const double *W, const double *V, double *S)
{
    size_t d = s->reference->d, K = s->K;
    rows_times(d, K, W, false, e, K, NULL, false, w.We, K);
    rows_times(d, K, V, false, w.r, K, NULL, false, w.Vr, K);
    if (!S) return;
    rows_dot(d, K, 1.0, w.r, K, w.We, K, S);
    rows_dot(d, K, -0.5, w.r, K, w.Vr, K, S);
}

/* e2 = e_{m+1} + Phi_{m+1} e_m to next_e. */
static void long_innovation(const struct slice *s, size_t m, struct work w)
{
    const struct reference *ref = s->reference;
    size_t d = ref->d, K = s->K;
    innovation(s, m + 1, w.next_e);
    rows_times(d, K, ref->Phi + (s->first + m + 1) * d * d, false, w.e, K, NULL,
               true, w.next_e, K);
}

/* e3 to We; g and z' are left in r and Vr, which are free by now. */
static void coarse_innovation(const struct slice *s, size_t m, struct work w)
{
    const struct reference *ref = s->reference;
    size_t d = ref->d, K = s->K, n = s->first + m, at = n * d * d;
    const double *Y = s->Y + m * K, *Z = s->Z + m * K, *f = s->f + m * K;
    rows_times(d, K, ref->Phi + at, false, Y, s->ld, ref->c + n * d, false,
               w.Vr, K);
    for (size_t i = 0; i < d; i++)
        for (size_t k = 0; k < K; k++) {
            size_t j = i * K + k, from = i * s->ld + k;
            w.r[j] = f[from];
            w.We[j] = w.Vr[j] - Z[from];
        }
    rows_times(d, K, ref->A + at, false, w.We, K, NULL, true, w.r, K);
    rows_times(d, K, ref->long_A + at, false, w.Vr, K, NULL, false, w.We, K);
    for (size_t j = 0; j < d * K; j++)
        w.r[j] -= w.We[j];
    rows_times(d, K, ref->long_Phi + at, false, Y, s->ld, NULL, false, w.We, K);
    rows_times(d, K, ref->long_Gamma + at, false, w.r, K, NULL, true, w.We, K);
    for (size_t i = 0; i < d; i++)
        for (size_t k = 0; k < K; k++) {
            const double *dY = s->dY + i * s->ld + m * K + k;
            double end = Y[i * s->ld + k] + dY[0] + dY[K];
            w.We[i * K + k] = end - w.We[i * K + k];
        }
}

static void add_pair(const struct slice *s, size_t m, struct work w, double *S2)
{
    const struct reference *ref = s->reference;
    size_t d = ref->d, K = s->K, at = (s->first + m) * d * d;
    long_innovation(s, m, w);
    coarse_innovation(s, m, w);
    rows_times(d, K, ref->pair_P + at, false, w.next_e, K, NULL, false, w.r, K);
    rows_dot(d, K, 0.5, w.r, K, w.next_e, K, S2);
    rows_times(d, K, ref->long_P + at, false, w.We, K, NULL, false, w.r, K);
    rows_dot(d, K, -0.5, w.r, K, w.We, K, S2);
    for (size_t k = 0; k < K; k++)
        S2[k] += ref->pair_log[s->first + m];
}

void weigh_midpoint(const struct slice *s, double *S, double *S2)
{
    const struct reference *ref = s->reference;
    size_t dd = ref->d * ref->d;
    struct work w = work_of(s);
    for (size_t m = 0; m < s->steps; m++) {
        size_t at = (s->first + m) * dd;
        residual(s, m, w.r);
        innovation(s, m, w.e);
        add_step(s, w, w.e, ref->W + at, ref->V + at, S);
        if (m % 2 || !ref->pairs) continue;
        if (m + 1 < s->steps) add_pair(s, m, w, S2);
        else add_step(s, w, w.e, ref->W + at, ref->V + at, S2);
    }
}

/* Y_bar -= (Phi - I)' e_bar, dY_bar += e_bar, c_bar -= e_bar. */
static void innovation_vjp(const struct slice *s, size_t m, const double *e_bar,
                           const struct slice_bar *bar)
{
    const struct reference *ref = s->reference;
    size_t d = ref->d, K = s->K, n = (s->first + m) * d * d;
    double *less = s->scratch + 5 * d * K;
    rows_times(d, K, ref->Phi + n, true, e_bar, K, NULL, false, less, K);
    for (size_t i = 0; i < d; i++)
        for (size_t k = 0; k < K; k++) {
            size_t at = i * s->ld + m * K + k, j = i * K + k;
            bar->dY_bar[at] += e_bar[j];
            bar->Y_bar[at] += e_bar[j] - less[j];
        }
    rows_sum(d, K, -1.0, e_bar, K, bar->reference->c + (s->first + m) * d);
}

/* r_bar = S_bar (W e - V r) to f and -A' r_bar to z; e_bar = S_bar W' r is
 * left in We. */
static void step_vjp(const struct slice *s, size_t m, struct work w,
                     const double *S_bar, const double *W, bool add,
                     const struct slice_bar *bar)
{
    size_t d = s->reference->d, K = s->K;
    rows_blend(d, K, S_bar, 1.0, w.We, K, -1.0, w.Vr, K, add,
               bar->f_bar + m * K, s->ld);
    if (!bar->ends) return;
    rows_blend(d, K, S_bar, -1.0, w.We, K, 1.0, w.Vr, K, false, w.Vr, K);
    slice_reference_vjp(s, m, w.Vr, bar->Z_bar + m * K, s->ld, bar->reference);
    rows_times(d, K, W, true, w.r, K, NULL, false, w.Vr, K);
    rows_blend(d, K, S_bar, 1.0, w.Vr, K, 0.0, w.Vr, K, false, w.We, K);
}

/* e2_bar = S2_bar P e2 to both innovations. */
static void long_innovation_vjp(const struct slice *s, size_t m, struct work w,
                                const struct slice_bar *bar)
{
    const struct reference *ref = s->reference;
    size_t d = ref->d, K = s->K, at = (s->first + m) * d * d;
    rows_times(d, K, ref->pair_P + at, false, w.next_e, K, NULL, false, w.Vr,
               K);
    rows_blend(d, K, bar->S2_bar, 1.0, w.Vr, K, 0.0, w.Vr, K, false, w.Vr, K);
    innovation_vjp(s, m + 1, w.Vr, bar);
    rows_times(d, K, ref->Phi + at + d * d, true, w.Vr, K, NULL, false, w.r, K);
    innovation_vjp(s, m, w.r, bar);
}

/* e3_bar = -S2_bar P' e3, in r: to Y_m and Y_{m+2}, and g_bar, in e, through
 * z' to Y_m and to z. */
static void coarse_innovation_vjp(const struct slice *s, size_t m,
                                  struct work w, const struct slice_bar *bar)
{
    const struct reference *ref = s->reference;
    size_t d = ref->d, K = s->K, at = (s->first + m) * d * d;
    double *Y_bar = bar->Y_bar + m * K, *Z_bar = bar->Z_bar + m * K;
    for (size_t i = 0; i < d; i++)
        for (size_t k = 0; k < K; k++) {
            double x = w.r[i * K + k];
            Y_bar[i * s->ld + k] += x;
            bar->dY_bar[i * s->ld + m * K + k] += x;
            bar->dY_bar[i * s->ld + (m + 1) * K + k] += x;
        }
    rows_times(d, K, ref->long_Phi + at, true, w.r, K, NULL, false, w.Vr, K);
    rows_blend(d, K, s->scratch + 6 * d * K, -1.0, w.Vr, K, 0.0, w.Vr, K, true,
               Y_bar, s->ld);
    /* z'_bar = (A_m - A')' g_bar, z_bar = -A_m' g_bar. */
    rows_times(d, K, ref->A + at, true, w.e, K, NULL, false, w.Vr, K);
    rows_times(d, K, ref->long_A + at, true, w.e, K, NULL, false, w.r, K);
    for (size_t i = 0; i < d; i++)
        for (size_t k = 0; k < K; k++) {
            size_t j = i * K + k;
            Z_bar[i * s->ld + k] -= w.Vr[j];
            w.r[j] = w.Vr[j] - w.r[j];
        }
    rows_times(d, K, ref->Phi + at, true, w.r, K, NULL, true, Y_bar, s->ld);
    rows_sum(d, K, 1.0, w.r, K, bar->reference->c + (s->first + m) * d);
}

/* The part of S2 that begins at an even step. */
static void pair_vjp(const struct slice *s, size_t m, struct work w,
                     const struct slice_bar *bar)
{
    const struct reference *ref = s->reference;
    size_t d = ref->d, K = s->K, at = (s->first + m) * d * d;
    double *ones = s->scratch + 6 * d * K; /* (K) */
    long_innovation(s, m, w);
    coarse_innovation(s, m, w);
    for (size_t k = 0; k < K; k++)
        ones[k] = 1.0;
    rows_times(d, K, ref->long_P + at, false, w.We, K, NULL, false, w.r, K);
    rows_blend(d, K, bar->S2_bar, -1.0, w.r, K, 0.0, w.r, K, false, w.r, K);
    rows_times(d, K, ref->long_Gamma + at, true, w.r, K, NULL, false, w.e, K);
    rows_blend(d, K, ones, -1.0, w.e, K, 0.0, w.e, K, false, w.e, K);
    rows_blend(d, K, ones, 1.0, w.e, K, 0.0, w.e, K, true, bar->f_bar + m * K,
               s->ld);
    if (!bar->ends) return;
    coarse_innovation_vjp(s, m, w, bar);
    long_innovation_vjp(s, m, w, bar);
}

/* The part of S2 that is an odd last step. */
static void alone_vjp(const struct slice *s, size_t m, struct work w,
                      const struct slice_bar *bar)
{
    const struct reference *ref = s->reference;
    size_t at = (s->first + m) * ref->d * ref->d;
    add_step(s, w, w.e, ref->W + at, ref->V + at, NULL);
    step_vjp(s, m, w, bar->S2_bar, ref->W + at, true, bar);
    if (bar->ends) innovation_vjp(s, m, w.We, bar);
}

void weigh_midpoint_vjp(const struct slice *s, const struct slice_bar *bar)
{
    const struct reference *ref = s->reference;
    size_t d = ref->d, n = s->steps * s->K;
    struct work w = work_of(s);
    if (bar->ends) {
        clear_rows(d, n, bar->dY_bar, s->ld);
        clear_rows(d, n, bar->Y_bar, s->ld);
        clear_rows(d, n, bar->Z_bar, s->ld);
    }
    for (size_t m = 0; m < s->steps; m++) {
        size_t at = (s->first + m) * d * d;
        residual(s, m, w.r);
        innovation(s, m, w.e);
        add_step(s, w, w.e, ref->W + at, ref->V + at, NULL);
        step_vjp(s, m, w, bar->S_bar, ref->W + at, false, bar);
        if (bar->ends) innovation_vjp(s, m, w.We, bar);
        if (!bar->S2_bar || m % 2 || !ref->pairs) continue;
        if (m + 1 < s->steps) pair_vjp(s, m, w, bar);
        else alone_vjp(s, m, w, bar);
    }
}
