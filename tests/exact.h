/* SPDX-License-Identifier: MIT */
/* What the tests of the likelihood share: closed forms in plain loops, which
 * know nothing of the library, and short ways to a model and to data. */
#ifndef TESTS_EXACT_H
#define TESTS_EXACT_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/random.h"

#include "girsanov.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Some hundred claims: 4 standard errors fail once in a hundred choices of
 * all the seeds. */
#define TOLERANCE 4.0

/* The build for the sanitizers is slow: fewer paths, same claims. */
#ifdef GSV_ONE_TARGET
enum { SLOWER = 8 };
#else
enum { SLOWER = 1 };
#endif

static const double EXACT_PI = 3.14159265358979323846;

/* n standard normals, yours: mem_free(). */
static inline double *normals(size_t n, uint64_t seed)
{
    double *z = NEW(double, n);
    const struct random_key key = {.seed = seed, .purpose = RANDOM_BRIDGE};
    random_normals(&key, 0, 1, 0, n, z);
    return z;
}

/* --- Gaussian laws -------------------------------------------------------- */

static inline double exact_normal(double x, double mean, double variance)
{
    double z = x - mean;
    return -0.5 * (log(2.0 * EXACT_PI * variance) + z * z / variance);
}

enum { EXACT_MOST = 20 }; /* dimensions of the functions below */

/* A Gaussian law: mean (d), covariance (d, d). */
struct exact_law {
    size_t d;
    double mean[EXACT_MOST], cov[EXACT_MOST * EXACT_MOST];
};

static inline struct exact_law exact_point(size_t d, const double *x)
{
    struct exact_law law = {.d = d};
    memcpy(law.mean, x, d * sizeof *x);
    return law;
}

/* log N(x; mean, cov) by Cholesky's factor and a forward substitution. */
static inline double exact_density(const struct exact_law *law, const double *x)
{
    size_t d = law->d;
    double L[EXACT_MOST * EXACT_MOST], z[EXACT_MOST], sum = 0.0;
    for (size_t i = 0; i < d; i++) {
        for (size_t j = 0; j <= i; j++) {
            double v = law->cov[i * d + j];
            for (size_t k = 0; k < j; k++)
                v -= L[i * d + k] * L[j * d + k];
            L[i * d + j] = i == j ? sqrt(v) : v / L[j * d + j];
        }
        z[i] = x[i] - law->mean[i];
        for (size_t k = 0; k < i; k++)
            z[i] -= L[i * d + k] * z[k];
        z[i] /= L[i * d + i];
        sum += z[i] * z[i] + log(2.0 * EXACT_PI) + 2.0 * log(L[i * d + i]);
    }
    return -0.5 * sum;
}

/* One step of the Euler chain X' = X + (A X + b) dt + G sqrt(dt) z, in law.
 * A is (d, d), b is (d), G is (d, noises). */
static inline void exact_step(struct exact_law *law, const double *A,
                              const double *b, size_t noises, const double *G,
                              double dt)
{
    size_t d = law->d;
    double F[EXACT_MOST * EXACT_MOST], FC[EXACT_MOST * EXACT_MOST];
    double mean[EXACT_MOST];
    for (size_t i = 0; i < d; i++) {
        mean[i] = b[i] * dt;
        for (size_t j = 0; j < d; j++) {
            F[i * d + j] = (i == j) + dt * A[i * d + j];
            mean[i] += F[i * d + j] * law->mean[j];
        }
    }
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++) {
            FC[i * d + j] = 0.0;
            for (size_t k = 0; k < d; k++)
                FC[i * d + j] += F[i * d + k] * law->cov[k * d + j];
        }
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++) {
            double v = 0.0;
            for (size_t k = 0; k < d; k++)
                v += FC[i * d + k] * F[j * d + k];
            for (size_t n = 0; n < noises; n++)
                v += dt * G[i * noises + n] * G[j * noises + n];
            law->cov[i * d + j] = v;
        }
    memcpy(law->mean, mean, d * sizeof *mean);
}

/* --- Ornstein-Uhlenbeck, dX = -theta X dt + sigma dW ---------------------- */

static inline double exact_ou(double x, double y, double theta, double sigma,
                              double h)
{
    double rho = exp(-theta * h);
    return exact_normal(y, rho * x,
                        sigma * sigma * (1.0 - rho * rho) / (2.0 * theta));
}

/* Of M Euler steps: what left sums over Brownian bridges converge to. */
static inline double exact_ou_euler(double x, double y, double theta,
                                    double sigma, double h, size_t M)
{
    double dt = h / (double)M, rho = 1.0 - theta * dt;
    double all = pow(rho, (double)M);
    return exact_normal(
        y, all * x, sigma * sigma * dt * (1.0 - all * all) / (1.0 - rho * rho));
}

/* --- Models and data ------------------------------------------------------ */

/* Equations without noise, which share the noises of others. */
#define INTEGRALS                                                              \
    "state x, v, n\n param k = 1, s = 0.8 > 0\n dx = (v + 0.3*n)*dt\n"         \
    "dv = (-k*sin(x) - v)*dt + s*dW1\n dn = (x - n)*dt + 0.5*dW1 + 0.7*dW2"

static inline gsv_model *model_of(const char *text)
{
    gsv_model *m = gsv_model_parse(text, "test");
    if (!m) fail_msg("%s", gsv_last_error());
    return m;
}

/* One track; value is (columns, rows), the columns have the model's names. */
static inline gsv_series *track_of(const gsv_model *m, size_t rows,
                                   const double *time, const double *value)
{
    const size_t start[2] = {0, rows};
    gsv_series *s = gsv_series_new(1, start, gsv_model_columns(m),
                                   gsv_model_column(m), time, value);
    if (!s) fail_msg("%s", gsv_last_error());
    return s;
}

/* Tracks of equally many rows with irregular times of about h, and a random
 * walk of about that size in every column. */
static inline gsv_series *walk_of(const gsv_model *m, size_t tracks,
                                  size_t rows, double h, uint64_t seed)
{
    enum { MOST_TRACKS = 32, MOST_ROWS = 512, MOST_CELLS = 16384 };
    static double time[MOST_ROWS], value[MOST_CELLS];
    size_t start[MOST_TRACKS + 1], n = tracks * rows;
    size_t columns = gsv_model_columns(m);
    assert_true(tracks <= MOST_TRACKS && n <= MOST_ROWS &&
                columns * n <= MOST_CELLS);
    const struct random_key key = {.seed = seed, .purpose = RANDOM_SIMULATE};
    random_normals(&key, 0, columns, 0, n, value);
    for (size_t r = 0; r <= tracks; r++)
        start[r] = r * rows;
    for (size_t i = 0; i < n; i++) {
        double gap = h * (1.0 + 0.3 * sin((double)i));
        time[i] = i % rows ? time[i - 1] + gap : 0.1;
        for (size_t c = 0; c < columns; c++) {
            double *v = value + c * n + i;
            *v = i % rows ? v[-1] + sqrt(gap) * *v : *v;
        }
    }
    gsv_series *s = gsv_series_new(tracks, start, columns, gsv_model_column(m),
                                   time, value);
    if (!s) fail_msg("%s", gsv_last_error());
    return s;
}

/* One number of paths and steps for all gaps. The bits are the same on any
 * number of threads; one does not wait for others where the machine has more to
 * do. */
static inline gsv_options default_options(void)
{
    gsv_options o = gsv_options_default();
    o.threads = 1;
    o.paths = 64;
    o.steps = 8;
    return o;
}

/* Algorithm 1: Brownian bridges, left sums, independent numbers. Its limit for
 * many paths is the density of Euler's chain. */
static inline gsv_options usual_options(void)
{
    gsv_options o = default_options();
    o.reference = GSV_REFERENCE_BROWNIAN;
    o.form = GSV_FORM_ITO;
    o.random = GSV_RANDOM_IID;
    return o;
}

/* The likelihood, which must succeed. */
static inline gsv_result loglik_of(const gsv_model *m, const gsv_series *s,
                                   const gsv_options *o)
{
    gsv_result r;
    int status = gsv_loglik(m, s, o, &r);
    if (status) fail_msg("%s", gsv_last_error());
    return r;
}

/* --- Claims --------------------------------------------------------------- */

#define assert_near(found, expected, tolerance)                                \
    near_at(__LINE__, (found), (expected), (tolerance))
static inline void near_at(int line, double found, double expected,
                           double tolerance)
{
    if (!(fabs(found - expected) <= tolerance))
        fail_msg("line %d: %.15g instead of %.15g: off by %g, allowed %g", line,
                 found, expected, fabs(found - expected), tolerance);
}

/* A log-likelihood against its limit for many paths: within standard errors,
 * and the log's own bias, which is half of the variance. */
#define assert_limit(r, expected) limit_at(__LINE__, (r), (expected))
static inline void limit_at(int line, const gsv_result *r, double expected)
{
    near_at(line, r->loglik, expected,
            TOLERANCE * r->error + 0.5 * r->error * r->error + 1e-9);
}

/* Every bit that a result has. */
#define assert_same(a, b) assert_memory_equal(&(a), &(b), sizeof(a))
static inline void assert_same_bits(const gsv_result *r, const gsv_result *one)
{
    assert_same(r->loglik, one->loglik);
    assert_same(r->error, one->error);
    assert_same(r->discretisation, one->discretisation);
    assert_same(r->ess_min, one->ess_min);
    assert_same(r->khat_max, one->khat_max);
    assert_same(r->log_bias, one->log_bias);
    assert_memory_equal(r->gradient, one->gradient,
                        r->values * sizeof *r->gradient);
    for (size_t g = 0; g < r->groups; g++) {
        assert_same(r->gap[g].loglik, one->gap[g].loglik);
        assert_same(r->gap[g].ess, one->gap[g].ess);
        assert_same(r->gap[g].khat, one->gap[g].khat);
        assert_int_equal(r->gap[g].reference, one->gap[g].reference);
        assert_int_equal(r->gap[g].form, one->gap[g].form);
    }
}

#endif
