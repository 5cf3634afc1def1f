/* SPDX-License-Identifier: MIT */
/* Normal laws of a few dimensions by dense formulas with inverses and
 * determinants, which know nothing of factors, and random steps and functions
 * psi to try them on. */
#ifndef TESTS_GAUSS_H
#define TESTS_GAUSS_H

#include "exact.h"
#include "guided/ahead.h"
#include "guided/gauss_step.h"

enum { GAUSS_D = 6, GAUSS_DD = GAUSS_D * GAUSS_D };
enum { GAUSS_SMALL = 16 * GAUSS_DD + 64 * GAUSS_D };

/* --- Numbers -------------------------------------------------------------- */

/* Any numbers in (-1, 1), one after the other. */
static inline double any(uint64_t *seed)
{
    uint64_t z = *seed += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    z ^= z >> 31;
    return (double)(z >> 11) / 4503599627370496.0 - 1.0;
}

static inline void fill(uint64_t *seed, size_t n, double *x)
{
    for (size_t i = 0; i < n; i++)
        x[i] = any(seed);
}

static inline void expect(const char *what, double got, double wanted)
{
    if (fabs(got - wanted) <= 1e-9 * fmax(1.0, fabs(wanted))) return;
    fail_msg("%s is %.17g, should be %.17g", what, got, wanted);
}

/* --- Dense formulas ------------------------------------------------------- */

/* X = A^-1 B with row exchanges, of A (n, n), which is lost, and B (n, p) in
 * place; returns log |det A|. */
static inline double dense_solve(size_t n, double *A, size_t p, double *B)
{
    double log_det = 0.0;
    for (size_t k = 0; k < n; k++) {
        size_t best = k;
        for (size_t i = k; i < n; i++)
            if (fabs(A[i * n + k]) > fabs(A[best * n + k])) best = i;
        for (size_t j = 0; best != k && j < n + p; j++) {
            double *x = j < n ? A + j : B + (j - n);
            size_t stride = j < n ? n : p;
            double kept = x[k * stride];
            x[k * stride] = x[best * stride];
            x[best * stride] = kept;
        }
        log_det += log(fabs(A[k * (n + 1)]));
        for (size_t i = 0; i < n; i++) {
            double f = A[i * n + k] / A[k * (n + 1)];
            for (size_t j = 0; i != k && j < n; j++)
                A[i * n + j] -= f * A[k * n + j];
            for (size_t j = 0; i != k && j < p; j++)
                B[i * p + j] -= f * B[k * p + j];
        }
    }
    for (size_t i = 0; i < n * p; i++)
        B[i] /= A[i / p * (n + 1)];
    return log_det;
}

/* C = A B, (n, k) and (k, p). */
static inline void dense_times(size_t n, size_t k, size_t p, const double *A,
                               const double *B, double *C)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < p; j++) {
            double sum = 0.0;
            for (size_t l = 0; l < k; l++)
                sum += A[i * k + l] * B[l * p + j];
            C[i * p + j] = sum;
        }
}

/* A law N(mean, cov). */
struct normal {
    size_t D;
    double mean[GAUSS_D], cov[GAUSS_DD];
};

/* log of E exp(l + g'v - v'Hv/2), v = x - mu, and the law times it:
 *     Lambda = (I + S H)^-1 S, moved by Lambda (g - H (mean - mu)). */
static inline double normal_times(struct normal *x, const double *mu, double l,
                                  const double *g, const double *H)
{
    size_t D = x->D;
    double M[GAUSS_DD], P[GAUSS_DD], q[GAUSS_D], move[GAUSS_D];
    dense_times(D, D, D, x->cov, H, M);
    for (size_t i = 0; i < D; i++)
        M[i * (D + 1)] += 1.0;
    memcpy(P, x->cov, sizeof P);
    double value = l - 0.5 * dense_solve(D, M, D, P);
    for (size_t i = 0; i < D; i++) {
        double half = g[i];
        q[i] = g[i];
        for (size_t j = 0; j < D; j++) {
            q[i] -= H[i * D + j] * (x->mean[j] - mu[j]);
            half -= 0.5 * H[i * D + j] * (x->mean[j] - mu[j]);
        }
        value += (x->mean[i] - mu[i]) * half;
    }
    dense_times(D, D, 1, P, q, move);
    for (size_t i = 0; i < D; i++) {
        value += 0.5 * q[i] * move[i];
        x->mean[i] += move[i];
    }
    memcpy(x->cov, P, sizeof P);
    return value;
}

/* The law given one exact element after the other; their log density. */
static inline double normal_given(struct normal *x, size_t d,
                                  const double *exact)
{
    size_t D = x->D;
    double value = 0.0;
    for (size_t e = 0; e < d; e++) {
        if (isnan(exact[e])) continue;
        double var = x->cov[e * (D + 1)], off = exact[e] - x->mean[e];
        double column[GAUSS_D];
        value += exact_normal(off, 0.0, var);
        for (size_t i = 0; i < D; i++)
            column[i] = x->cov[i * D + e];
        for (size_t i = 0; i < D; i++) {
            x->mean[i] += column[i] / var * off;
            for (size_t j = 0; j < D; j++)
                x->cov[i * D + j] -= column[i] * column[j] / var;
        }
    }
    return value;
}

/* --- Random shapes -------------------------------------------------------- */

/* What B lacks. */
enum lack { LACKS_NOTHING, LACKS_ROW, LACKS_RANK, LACKS_ALL, LACKS };

/* A step, a function psi after it and exact elements. */
struct shape {
    size_t D, m, d; /* d: elements that may be exact */
    double a[GAUSS_D], B[GAUSS_DD], A[GAUSS_DD];
    double mu[GAUSS_D], e[GAUSS_D], Lambda[GAUSS_DD], c;
    double exact[GAUSS_D];
    size_t exacts;
    double small[GAUSS_SMALL];
};

static inline void make_noise(uint64_t *seed, enum lack lack, struct shape *s)
{
    size_t D = s->D, m = s->m;
    fill(seed, D * m, s->B);
    for (size_t e = 0; e < D * m; e++) {
        size_t i = e / m, j = e % m;
        if (lack == LACKS_ALL || (lack == LACKS_ROW && i + 1 == D))
            s->B[e] = 0.0;
        if (lack == LACKS_RANK && j + 1 == m && m > 1) s->B[e] = s->B[e - 1];
    }
}

/* The first `exacts` of every other element, where these have a density. */
static inline struct shape make_shape(uint64_t *seed, size_t D, size_t m,
                                      enum lack lack, size_t exacts)
{
    struct shape s = {.D = D, .m = m, .d = D > 1 ? D - 1 : D, .c = any(seed)};
    double R[GAUSS_DD];
    make_noise(seed, lack, &s);
    fill(seed, D, s.a);
    fill(seed, D * D, s.A);
    fill(seed, D, s.mu);
    fill(seed, D, s.e);
    fill(seed, D * D, R);
    for (size_t i = 0; i < D * D; i++)
        for (size_t l = 0; l < (D + 1) / 2; l++) /* singular, too */
            s.Lambda[i] += R[i / D * D + l] * R[i % D * D + l];
    for (size_t i = 0; i < s.d; i++) {
        bool is = s.exacts < exacts && i % 2 == 0;
        s.exact[i] = is ? any(seed) : NAN;
        s.exacts += is;
    }
    return s;
}

/* Whether the exact elements have a density. */
static inline bool has_density(const struct shape *s, enum lack lack)
{
    size_t rank = lack == LACKS_ALL                ? 0
                  : lack == LACKS_RANK && s->m > 1 ? s->m - 1
                                                   : s->m;
    bool dead = lack == LACKS_ROW && s->D == 1;
    return s->exacts <= rank && !(dead && s->exacts);
}

static inline struct gauss_step step_of(struct shape *s)
{
    return (struct gauss_step){.D = s->D,
                               .m = s->m,
                               .a = s->a,
                               .B = s->B,
                               .A = s->A,
                               .small = s->small};
}

static inline struct psi psi_of(const struct shape *s)
{
    return (struct psi){s->c, s->mu, s->e, s->Lambda};
}

/* The law of x' from x_0 + v. */
static inline struct normal law_of(const struct shape *s, const double *v)
{
    struct normal x = {.D = s->D};
    for (size_t i = 0; i < s->D; i++) {
        x.mean[i] = s->a[i];
        for (size_t j = 0; v && j < s->D; j++)
            x.mean[i] += s->A[i * s->D + j] * v[j];
    }
    for (size_t i = 0; i < s->D * s->D; i++)
        for (size_t l = 0; l < s->m; l++)
            x.cov[i] += s->B[i / s->D * s->m + l] * s->B[i % s->D * s->m + l];
    return x;
}

/* Every shape. */
static inline void for_shapes(void (*claim)(struct shape *s, uint64_t *seed))
{
    uint64_t seed = 1;
    for (size_t D = 1; D <= GAUSS_D; D++)
        for (size_t m = 1; m <= GAUSS_D; m++)
            for (enum lack lack = 0; lack < LACKS; lack++)
                for (size_t exacts = 0; exacts < 3; exacts++) {
                    struct shape s = make_shape(&seed, D, m, lack, exacts);
                    if (has_density(&s, lack)) claim(&s, &seed);
                }
}

#endif
