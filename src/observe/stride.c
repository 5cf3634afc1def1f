/* SPDX-License-Identifier: MIT */
#include "observe/stride.h"

#include <math.h>
#include <string.h>

#include "base/fast.h"

/* Terms of the series: with norms of at most a quarter what is left out is
 * below 1e-14. */
enum { TERMS = 11 };
static const double MOST_NORM = 0.25;

enum { PHI, GAMMA, PSI, COVARIANCE, MATRICES };

/* --- Products ------------------------------------------------------------- */

static const double *element(size_t d, size_t n, const double *A,
                             bool transposed, size_t i, size_t j)
{
    return A + (transposed ? j * d + i : i * d + j) * n;
}

FAST void stride_product(size_t d, size_t n, const double *A, bool transposed_A,
                         const double *B, bool transposed_B, double *C,
                         bool add)
{
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++) {
            double *c = C + (i * d + j) * n;
            if (!add) memset(c, 0, n * sizeof *c);
            for (size_t k = 0; k < d; k++) {
                const double *a = element(d, n, A, transposed_A, i, k);
                const double *b = element(d, n, B, transposed_B, k, j);
                for (size_t p = 0; p < n; p++)
                    c[p] += a[p] * b[p];
            }
        }
}

FAST void stride_apply(size_t d, size_t n, const double *A, bool transposed,
                       const double *x, double *y, bool add)
{
    for (size_t i = 0; i < d; i++) {
        if (!add) memset(y + i * n, 0, n * sizeof *y);
        for (size_t j = 0; j < d; j++) {
            const double *a = element(d, n, A, transposed, i, j);
            for (size_t p = 0; p < n; p++)
                y[i * n + p] += a[p] * x[j * n + p];
        }
    }
}

static void set_unit(size_t d, size_t n, double *A, double value)
{
    memset(A, 0, d * d * n * sizeof *A);
    for (size_t i = 0; i < d; i++)
        for (size_t p = 0; p < n; p++)
            A[i * (d + 1) * n + p] = value;
}

FAST static void add_times(size_t size, double factor, const double *A,
                           double *B)
{
    for (size_t i = 0; i < size; i++)
        B[i] += factor * A[i];
}

/* --- A linear step -------------------------------------------------------- */

size_t stride_size(size_t d, size_t n)
{
    return ((STRIDE_DOUBLINGS + 1) * MATRICES + 2 * TERMS + MATRICES + 3) * d *
           d * n;
}

void stride_place(struct stride *s, size_t d, size_t n, double *memory)
{
    *s = (struct stride){.d = d,
                         .capacity = n,
                         .level = memory,
                         .work = memory +
                                 (STRIDE_DOUBLINGS + 1) * MATRICES * d * d * n};
}

static double *level_of(const struct stride *s, size_t level, size_t which)
{
    return s->level + (level * MATRICES + which) * s->d * s->d * s->n;
}

const double *stride_Gamma(const struct stride *s)
{
    return level_of(s, s->doublings, GAMMA);
}

const double *stride_Psi(const struct stride *s)
{
    return level_of(s, s->doublings, PSI);
}

const double *stride_Q(const struct stride *s)
{
    return level_of(s, s->doublings, COVARIANCE);
}

/* The largest sum of a row's absolute values. */
static double norm(size_t d, size_t n, const double *A)
{
    double most = 0.0;
    for (size_t i = 0; i < d; i++)
        for (size_t p = 0; p < n; p++) {
            double sum = 0.0;
            for (size_t j = 0; j < d; j++)
                sum += fabs(A[(i * d + j) * n + p]);
            if (isnan(sum)) return sum;
            most = fmax(most, sum);
        }
    return most;
}

/* Powers A^k and X_k = A X_(k-1) + X_(k-1) A', X_0 = 1, to work. */
static double *power_of(const struct stride *s, size_t k)
{
    return s->work + k * s->d * s->d * s->n;
}

static double *lyapunov_of(const struct stride *s, size_t k)
{
    return s->work + (TERMS + k) * s->d * s->d * s->n;
}

static void series_powers(struct stride *s, const double *A)
{
    size_t d = s->d, n = s->n;
    set_unit(d, n, power_of(s, 0), 1.0);
    set_unit(d, n, lyapunov_of(s, 0), 1.0);
    for (size_t k = 1; k < TERMS; k++) {
        stride_product(d, n, A, false, power_of(s, k - 1), false,
                       power_of(s, k), false);
        stride_product(d, n, A, false, lyapunov_of(s, k - 1), false,
                       lyapunov_of(s, k), false);
        stride_product(d, n, lyapunov_of(s, k - 1), false, A, true,
                       lyapunov_of(s, k), true);
    }
}

static void series(struct stride *s, const double *A)
{
    size_t size = s->d * s->d * s->n;
    double factor = 1.0, h = s->h;
    series_powers(s, A);
    memset(level_of(s, 0, PHI), 0, MATRICES * size * sizeof(double));
    for (size_t k = 0; k < TERMS; k++) {
        double next = factor * h / (double)(k + 1);
        add_times(size, factor, power_of(s, k), level_of(s, 0, PHI));
        add_times(size, next, power_of(s, k), level_of(s, 0, GAMMA));
        add_times(size, next * h / (double)(k + 2), power_of(s, k),
                  level_of(s, 0, PSI));
        add_times(size, next, lyapunov_of(s, k), level_of(s, 0, COVARIANCE));
        factor = next;
    }
}

/* Over 2 t from over t: Phi Phi, Gamma + Phi Gamma, Psi + t Gamma + Phi Psi,
 * Q + Phi Q Phi'. */
static void double_step(struct stride *s, size_t level, double t)
{
    size_t d = s->d, n = s->n, size = d * d * n;
    const double *Phi = level_of(s, level, PHI), *Q = Phi + 3 * size;
    const double *Gamma = Phi + size, *Psi = Phi + 2 * size;
    double *to = level_of(s, level + 1, PHI), *half = s->work;
    memcpy(to + size, Gamma, 3 * size * sizeof *to);
    stride_product(d, n, Phi, false, Phi, false, to, false);
    stride_product(d, n, Phi, false, Gamma, false, to + size, true);
    stride_product(d, n, Phi, false, Psi, false, to + 2 * size, true);
    add_times(size, t, Gamma, to + 2 * size);
    stride_product(d, n, Phi, false, Q, false, half, false);
    stride_product(d, n, half, false, Phi, true, to + 3 * size, true);
}

bool stride_run(struct stride *s, size_t n, double h, const double *A)
{
    double most = norm(s->d, n, A) * h;
    s->n = n;
    s->doublings = 0;
    if (!isfinite(most)) return false;
    while (most > MOST_NORM) {
        most *= 0.5;
        if (++s->doublings > STRIDE_DOUBLINGS) return false;
    }
    s->h = ldexp(h, -(int)s->doublings);
    series(s, A);
    for (size_t i = 0; i < s->doublings; i++)
        double_step(s, i, ldexp(s->h, (int)i));
    return true;
}

/* bar: (Phi, Gamma, Psi, Q) over 2 t, to those over t, in place. */
static void double_step_vjp(struct stride *s, size_t level, double t,
                            double *bar)
{
    size_t d = s->d, n = s->n, size = d * d * n;
    const double *Phi = level_of(s, level, PHI), *Q = Phi + 3 * size;
    const double *Gamma = Phi + size, *Psi = Phi + 2 * size;
    double *Gamma_bar = bar + size, *Psi_bar = bar + 2 * size;
    double *Q_bar = bar + 3 * size, *half = s->work, *Phi_bar = half + size;
    stride_product(d, n, bar, false, Phi, true, Phi_bar, false);
    stride_product(d, n, Phi, true, bar, false, Phi_bar, true);
    stride_product(d, n, Gamma_bar, false, Gamma, true, Phi_bar, true);
    stride_product(d, n, Psi_bar, false, Psi, true, Phi_bar, true);
    /* Q_bar is symmetric: both places of Phi give the same. */
    stride_product(d, n, Q_bar, false, Phi, false, half, false);
    stride_product(d, n, half, false, Q, false, bar, false);
    add_times(size, 2.0, bar, Phi_bar);
    stride_product(d, n, Phi, true, half, false, Q_bar, true);
    stride_product(d, n, Phi, true, Gamma_bar, false, bar, false);
    add_times(size, 1.0, bar, Gamma_bar);
    add_times(size, t, Psi_bar, Gamma_bar);
    stride_product(d, n, Phi, true, Psi_bar, false, bar, false);
    add_times(size, 1.0, bar, Psi_bar);
    memcpy(bar, Phi_bar, size * sizeof *bar);
}

/* bar of the shortest step's matrices to A_bar, from the last term down. */
static void series_vjp(struct stride *s, const double *A, const double *bar,
                       double *A_bar)
{
    size_t d = s->d, n = s->n, size = d * d * n;
    double *P_bar = s->work + 2 * TERMS * size, *X_bar = P_bar + size;
    double *next = X_bar + size, factor[TERMS + 2] = {1.0};
    series_powers(s, A);
    for (size_t k = 1; k < TERMS + 2; k++)
        factor[k] = factor[k - 1] * s->h / (double)k;
    memset(A_bar, 0, size * sizeof *A_bar);
    memset(P_bar, 0, 2 * size * sizeof *P_bar);
    for (size_t k = TERMS; k-- > 0;) {
        add_times(size, factor[k], bar, P_bar);
        add_times(size, factor[k + 1], bar + size, P_bar);
        add_times(size, factor[k + 2], bar + 2 * size, P_bar);
        add_times(size, factor[k + 1], bar + 3 * size, X_bar);
        if (!k) break;
        stride_product(d, n, P_bar, false, power_of(s, k - 1), true, A_bar,
                       true);
        stride_product(d, n, A, true, P_bar, false, next, false);
        memcpy(P_bar, next, size * sizeof *next);
        /* X_bar is symmetric, and so are all X. */
        stride_product(d, n, X_bar, false, lyapunov_of(s, k - 1), false, next,
                       false);
        add_times(size, 2.0, next, A_bar);
        stride_product(d, n, A, true, X_bar, false, next, false);
        stride_product(d, n, X_bar, false, A, false, next, true);
        memcpy(X_bar, next, size * sizeof *next);
    }
}

void stride_vjp(struct stride *s, const double *A, double *Gamma_bar,
                double *Psi_bar, double *Q_bar, double *A_bar)
{
    size_t d = s->d, n = s->n, size = d * d * n;
    double *bar = s->work + (2 * TERMS + 3) * size;
    memset(bar, 0, size * sizeof *bar);
    memcpy(bar + size, Gamma_bar, size * sizeof *bar);
    memcpy(bar + 2 * size, Psi_bar, size * sizeof *bar);
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++)
            for (size_t p = 0; p < n; p++)
                bar[3 * size + (i * d + j) * n + p] =
                    0.5 *
                    (Q_bar[(i * d + j) * n + p] + Q_bar[(j * d + i) * n + p]);
    for (size_t i = s->doublings; i-- > 0;)
        double_step_vjp(s, i, ldexp(s->h, (int)i), bar);
    series_vjp(s, A, bar, A_bar);
}

/* --- Factors -------------------------------------------------------------- */

FAST void stride_cholesky(size_t d, size_t n, double *Q, double *log_det)
{
    memset(log_det, 0, n * sizeof *log_det);
    for (size_t j = 0; j < d; j++) {
        double *pivot = Q + j * (d + 1) * n;
        for (size_t k = 0; k < j; k++) {
            const double *a = Q + (j * d + k) * n;
            for (size_t p = 0; p < n; p++)
                pivot[p] -= a[p] * a[p];
        }
        for (size_t p = 0; p < n; p++) {
            pivot[p] = sqrt(pivot[p]);
            log_det[p] += log(pivot[p] > 0.0 ? pivot[p] : NAN);
        }
        for (size_t i = j + 1; i < d; i++) {
            double *c = Q + (i * d + j) * n;
            for (size_t k = 0; k < j; k++) {
                const double *a = Q + (i * d + k) * n;
                const double *b = Q + (j * d + k) * n;
                for (size_t p = 0; p < n; p++)
                    c[p] -= a[p] * b[p];
            }
            for (size_t p = 0; p < n; p++)
                c[p] /= pivot[p];
        }
    }
}

FAST void stride_invert_lower(size_t d, size_t n, double *L)
{
    for (size_t j = 0; j < d; j++) {
        double *pivot = L + j * (d + 1) * n;
        for (size_t p = 0; p < n; p++)
            pivot[p] = 1.0 / pivot[p];
        for (size_t i = j + 1; i < d; i++) {
            double *c = L + (i * d + j) * n;
            const double *own = L + i * (d + 1) * n;
            for (size_t p = 0; p < n; p++)
                c[p] *= -pivot[p];
            for (size_t k = j + 1; k < i; k++) {
                const double *a = L + (i * d + k) * n;
                const double *b = L + (k * d + j) * n;
                for (size_t p = 0; p < n; p++)
                    c[p] -= a[p] * b[p];
            }
            for (size_t p = 0; p < n; p++)
                c[p] /= own[p];
        }
    }
}

void stride_product_lower(size_t d, size_t n, const double *M, double *C)
{
    memset(C, 0, d * d * n * sizeof *C);
    for (size_t k = 0; k < d; k++)
        for (size_t i = 0; i <= k; i++)
            for (size_t j = 0; j <= k; j++)
                for (size_t p = 0; p < n; p++)
                    C[(i * d + j) * n + p] +=
                        M[(k * d + i) * n + p] * M[(k * d + j) * n + p];
}
