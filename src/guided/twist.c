/* SPDX-License-Identifier: MIT */
#include "guided/twist.h"

#include <math.h>
#include <string.h>

#include "base/fast.h"
#include "guided/gauss_step.h"

/* Element (i, j) of matrices (n, m) at all points. */
INLINE double *at(double *A, size_t m, size_t i, size_t j, size_t P)
{
    return A + (i * m + j) * P;
}

/* --- Small matrices at all points ----------------------------------------- */

/* A = L L' of A (n, n, P), its lower half. Where it is not positive the result
 * is NaN. */
INLINE void factor(size_t n, size_t P, double *A)
{
    for (size_t j = 0; j < n; j++) {
        double *on = at(A, n, j, j, P);
        for (size_t l = 0; l < j; l++) {
            const double *left = at(A, n, j, l, P);
            for (size_t k = 0; k < P; k++)
                on[k] -= left[k] * left[k];
        }
        for (size_t k = 0; k < P; k++)
            on[k] = sqrt(on[k]);
        for (size_t i = j + 1; i < n; i++) {
            double *to = at(A, n, i, j, P);
            for (size_t l = 0; l < j; l++) {
                const double *a = at(A, n, i, l, P), *b = at(A, n, j, l, P);
                for (size_t k = 0; k < P; k++)
                    to[k] -= a[k] * b[k];
            }
            for (size_t k = 0; k < P; k++)
                to[k] /= on[k];
        }
    }
}

/* x (n, P) = L^-1 x. */
INLINE void solve(size_t n, size_t P, double *L, double *x)
{
    for (size_t i = 0; i < n; i++) {
        double *to = x + i * P;
        for (size_t j = 0; j < i; j++) {
            const double *l = at(L, n, i, j, P), *y = x + j * P;
            for (size_t k = 0; k < P; k++)
                to[k] -= l[k] * y[k];
        }
        const double *on = at(L, n, i, i, P);
        for (size_t k = 0; k < P; k++)
            to[k] /= on[k];
    }
}

INLINE void solve_t(size_t n, size_t P, double *L, double *x)
{
    for (size_t i = n; i-- > 0;) {
        double *to = x + i * P;
        for (size_t j = i + 1; j < n; j++) {
            const double *l = at(L, n, j, i, P), *y = x + j * P;
            for (size_t k = 0; k < P; k++)
                to[k] -= l[k] * y[k];
        }
        const double *on = at(L, n, i, i, P);
        for (size_t k = 0; k < P; k++)
            to[k] /= on[k];
    }
}

/* --- Guided steps --------------------------------------------------------- */

/* A larger log psi has lost the digits of its difference to the next one:
 * 2^-52 of it is 1/64. */
static const double MOST_LOG = 0x1p46;

/* Lambda B (D, m, P) for column j of B at a time: to T (D, P). */
INLINE void weigh_column(const struct twist *t, const double *Lambda, size_t j,
                         double *T)
{
    size_t D = t->D, P = t->P;
    memset(T, 0, D * P * sizeof *T);
    for (size_t i = 0; i < D; i++)
        for (size_t l = 0; l < D; l++) {
            double weight = Lambda[i * D + l];
            const double *b = at(t->B, t->m, l, j, P);
            for (size_t k = 0; weight != 0.0 && k < P; k++)
                T[i * P + k] += weight * b[k];
        }
}

/* to (P) += sum over rows of a (D, P, stride apart) times b (D, P). */
INLINE void add_products(size_t D, size_t P, const double *a, size_t stride,
                         const double *b, double *to)
{
    for (size_t l = 0; l < D; l++)
        for (size_t k = 0; k < P; k++)
            to[k] += a[l * stride + k] * b[l * P + k];
}

/* L L' = I + B' Lambda B. */
INLINE void make_factor(struct twist *t, const double *Lambda, double *T)
{
    size_t m = t->m, P = t->P;
    for (size_t j = 0; j < m; j++) {
        weigh_column(t, Lambda, j, T);
        for (size_t i = j; i < m; i++) {
            double *to = at(t->L, m, i, j, P);
            for (size_t k = 0; k < P; k++)
                to[k] = i == j ? 1.0 : 0.0;
            add_products(t->D, P, t->B + i * P, m * P, T, to);
        }
    }
    factor(m, P, t->L);
}

/* u' (e + slope) / 2 to value, slope = e - Lambda u to slope. */
INLINE void make_slope(const struct twist *t, const struct psi *next,
                       double *slope, double *value)
{
    size_t D = t->D, P = t->P;
    for (size_t k = 0; k < P; k++)
        value[k] = next->c;
    for (size_t i = 0; i < D; i++) {
        double *to = slope + i * P;
        for (size_t k = 0; k < P; k++)
            to[k] = next->e[i];
        for (size_t j = 0; j < D; j++) {
            double weight = next->Lambda[i * D + j], mu = next->mu[j];
            const double *a = t->a + j * P;
            for (size_t k = 0; weight != 0.0 && k < P; k++)
                to[k] -= weight * (a[k] - mu);
        }
        for (size_t k = 0; k < P; k++)
            value[k] +=
                0.5 * (t->a[i * P + k] - next->mu[i]) * (next->e[i] + to[k]);
    }
}

/* The diagonal of L is from 1 on: so many of its elements have a product that
 * is far from the end of numbers. */
enum { FACTORS = 4 };

INLINE void subtract_log_det(const struct twist *t, double *value)
{
    size_t m = t->m, P = t->P;
    double product[COURSE_BLOCK];
    for (size_t first = 0; first < m; first += FACTORS) {
        size_t end = first + FACTORS < m ? first + FACTORS : m;
        memcpy(product, at(t->L, m, first, first, P), P * sizeof *product);
        for (size_t i = first + 1; i < end; i++) {
            const double *on = at(t->L, m, i, i, P);
            for (size_t k = 0; k < P; k++)
                product[k] *= on[k];
        }
        for (size_t k = 0; k < P; k++)
            value[k] -= log(product[k]);
    }
}

/* L and w, and log psi~ to value: -INFINITY where it has no digits. */
FAST static void aim(struct twist *t, const struct psi *next, double *value)
{
    size_t D = t->D, m = t->m, P = t->P;
    double T[64 * COURSE_BLOCK], rough[COURSE_BLOCK];
    make_factor(t, next->Lambda, T);
    make_slope(t, next, T, value);
    memcpy(rough, value, P * sizeof *rough);
    memset(t->w, 0, m * P * sizeof *t->w);
    for (size_t i = 0; i < m; i++)
        add_products(D, P, t->B + i * P, m * P, T, t->w + i * P);
    solve(m, P, t->L, t->w);
    for (size_t i = 0; i < m; i++)
        for (size_t k = 0; k < P; k++)
            value[k] += 0.5 * t->w[i * P + k] * t->w[i * P + k];
    subtract_log_det(t, value);
    for (size_t k = 0; k < P; k++)
        if (!isfinite(value[k]) || !(fabs(rough[k]) < MOST_LOG))
            value[k] = -INFINITY;
}

/* Point k stands still. */
static void stop(struct twist *t, const struct psi *next, size_t k)
{
    size_t D = t->D, m = t->m, P = t->P;
    for (size_t i = 0; i < D; i++)
        t->a[i * P + k] = next->mu[i];
    for (size_t i = 0; i < D * m; i++)
        t->B[i * P + k] = 0.0;
    for (size_t i = 0; i < m; i++) {
        t->w[i * P + k] = 0.0;
        for (size_t j = 0; j < m; j++)
            t->L[(i * m + j) * P + k] = i == j ? 1.0 : 0.0;
    }
}

static void settle(struct twist *t, const struct psi *next, const double *value,
                   double *log_w)
{
    for (size_t k = 0; k < t->P; k++) {
        log_w[k] += value[k];
        if (value[k] == -INFINITY) stop(t, next, k);
    }
}

void twist_guide(struct twist *t, const struct psi *next, double *log_w)
{
    double value[COURSE_BLOCK] = {0};
    aim(t, next, value);
    settle(t, next, value, log_w);
}

/* log(e^a + e^b) */
static double log_sum(double a, double b)
{
    double most = fmax(a, b);
    return most == -INFINITY ? most : most + log1p(exp(fmin(a, b) - most));
}

/* Point k goes as it does in other. */
static void take(struct twist *t, const struct twist *other, size_t k)
{
    size_t m = t->m, P = t->P;
    for (size_t i = 0; i < m; i++)
        t->w[i * P + k] = other->w[i * P + k];
    for (size_t i = 0; i < m * m; i++)
        t->L[i * P + k] = other->L[i * P + k];
}

void twist_guide_any(struct twist *t, size_t n, const struct psi *next,
                     const double *u, double *spare, double *log_w)
{
    size_t P = t->P;
    double value[COURSE_BLOCK] = {0}, one[COURSE_BLOCK] = {0};
    double left[COURSE_BLOCK] = {0};
    struct twist other = *t;
    other.L = spare;
    other.w = spare + t->m * t->m * P;
    memcpy(left, u, P * sizeof *left);
    aim(t, next, value);
    for (size_t i = 1; i < n; i++) {
        aim(&other, next + i, one);
        /* The last one wins with its share of those so far; what is left of u
         * is uniform again. */
        for (size_t k = 0; k < P; k++) {
            double sum = log_sum(value[k], one[k]);
            double share = one[k] == -INFINITY ? 0.0 : exp(one[k] - sum);
            bool wins = left[k] < share;
            left[k] =
                wins ? left[k] / share : (left[k] - share) / (1.0 - share);
            if (wins) take(t, &other, k);
            value[k] = sum;
        }
    }
    settle(t, next, value, log_w);
}

FAST void twist_draw(const struct twist *t, double *z, double *x)
{
    size_t D = t->D, m = t->m, P = t->P;
    for (size_t e = 0; e < m * P; e++)
        z[e] += t->w[e];
    solve_t(m, P, t->L, z);
    memcpy(x, t->a, D * P * sizeof *x);
    for (size_t i = 0; i < D; i++)
        for (size_t j = 0; j < m; j++) {
            const double *b = at(t->B, m, i, j, P);
            for (size_t k = 0; k < P; k++)
                x[i * P + k] += b[k] * z[j * P + k];
        }
}

/* -log psi of x; -INFINITY where it has no digits. */
FAST static void minus_log(size_t D, size_t P, const struct psi *psi,
                           const double *x, double *value)
{
    for (size_t k = 0; k < P; k++)
        value[k] = -psi->c;
    for (size_t i = 0; i < D; i++) {
        double half[COURSE_BLOCK];
        for (size_t k = 0; k < P; k++)
            half[k] = -psi->e[i];
        for (size_t j = 0; j < D; j++) {
            double weight = 0.5 * psi->Lambda[i * D + j], mu = psi->mu[j];
            for (size_t k = 0; weight != 0.0 && k < P; k++)
                half[k] += weight * (x[j * P + k] - mu);
        }
        for (size_t k = 0; k < P; k++)
            value[k] += half[k] * (x[i * P + k] - psi->mu[i]);
    }
    for (size_t k = 0; k < P; k++)
        if (!(fabs(value[k]) < MOST_LOG)) value[k] = -INFINITY;
}

void twist_divide(size_t D, size_t P, size_t n, const struct psi *psi,
                  const double *x, double *log_w)
{
    double value[COURSE_BLOCK] = {0}, one[COURSE_BLOCK] = {0};
    minus_log(D, P, psi, x, value);
    for (size_t i = 1; i < n; i++) {
        minus_log(D, P, psi + i, x, one);
        for (size_t k = 0; k < P; k++)
            value[k] = value[k] == -INFINITY || one[k] == -INFINITY
                           ? fmax(value[k], one[k])
                           : -log_sum(-value[k], -one[k]);
    }
    for (size_t k = 0; k < P; k++)
        log_w[k] += value[k];
}

/* --- Exact states --------------------------------------------------------- */

/* Point k alone, by the algebra of one step. */
void twist_given(struct twist *t, size_t d, const double *exact, double *log_w)
{
    size_t D = t->D, m = t->m, P = t->P, n = D > m ? D : m;
    double a[64], B[64 * 64], small[5 * 64 * 64], gain;
    (void)n;
    for (size_t k = 0; k < P; k++) {
        struct gauss_step s = {.D = D, .m = m, .a = a, .B = B, .small = small};
        for (size_t i = 0; i < D; i++)
            a[i] = t->a[i * P + k];
        for (size_t i = 0; i < D * m; i++)
            B[i] = t->B[i * P + k];
        if (gauss_given(&s, d, exact, &gain)) log_w[k] += gain;
        else log_w[k] = -INFINITY;
        for (size_t i = 0; i < D; i++)
            t->a[i * P + k] = a[i];
        for (size_t i = 0; i < D * m; i++)
            t->B[i * P + k] = B[i];
    }
}
