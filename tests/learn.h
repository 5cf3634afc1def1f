/* SPDX-License-Identifier: MIT */
/* What the tests of learning share: data of known laws, the exact maximum of
 * their likelihoods, fits that must succeed, and a folder for files. */
#ifndef TESTS_LEARN_H
#define TESTS_LEARN_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "exact.h"

/* --- Data ----------------------------------------------------------------- */

/* Tracks of equally many rows in gaps of 0.5 to 1.5 h, each made by step()
 * from the row before: (d) from x to y over a gap, with d normals. */
typedef void (*learn_step)(const double *p, double gap, const double *x,
                           const double *z, double *y);

static inline gsv_series *learn_series(const gsv_model *m, size_t tracks,
                                       size_t rows, double h, uint64_t seed,
                                       learn_step step, const double *p)
{
    size_t n = tracks * rows, d = gsv_model_columns(m), start[9];
    double *time = NEW(double, n), *value = NEW(double, d *n);
    double *z = normals(d * n, seed), x[EXACT_MOST], y[EXACT_MOST];
    assert_true(tracks < COUNT(start) && d <= EXACT_MOST);
    for (size_t i = 0; i < n; i++) {
        double gap = h * (1.0 + 0.5 * sin(1.7 * (double)i));
        if (i % rows) step(p, gap, x, z + i * d, y);
        else memcpy(y, z + i * d, d * sizeof *y);
        time[i] = i % rows ? time[i - 1] + gap : 0.25;
        for (size_t c = 0; c < d; c++)
            value[c * n + i] = y[c];
        memcpy(x, y, d * sizeof *x);
    }
    for (size_t r = 0; r <= tracks; r++)
        start[r] = r * rows;
    gsv_series *s =
        gsv_series_new(tracks, start, d, gsv_model_column(m), time, value);
    if (!s) fail_msg("%s", gsv_last_error());
    mem_free(time);
    mem_free(value);
    mem_free(z);
    return s;
}

/* dX = k (mu - X) dt + s dW with p = (k, mu, s), exactly. */
static inline void learn_ou_step(const double *p, double gap, const double *x,
                                 const double *z, double *y)
{
    double rho = exp(-p[0] * gap);
    double variance = p[2] * p[2] * (1.0 - rho * rho) / (2.0 * p[0]);
    *y = p[1] + rho * (*x - p[1]) + sqrt(variance) * *z;
}

static const char LEARN_OU[] = "state x\n param k = 0.5 > 0, mu = 0, "
                               "s = 1 > 0\n dx = k*(mu - x)*dt + s*dW";

static inline gsv_series *learn_ou(const gsv_model *m, size_t tracks,
                                   size_t rows, uint64_t seed)
{
    static const double p[] = {1.3, 0.4, 0.7};
    return learn_series(m, tracks, rows, 0.4, seed, learn_ou_step, p);
}

/* dX = (X - X^3) dt + dW / 2 in every column, by Euler with 16 steps, whose
 * noise is one normal: a walk in a double well, good enough to learn from. */
static inline void learn_well_step(const double *p, double gap, const double *x,
                                   const double *z, double *y)
{
    for (size_t c = 0; c < (size_t)p[0]; c++) {
        y[c] = x[c];
        for (int i = 0; i < 16; i++)
            y[c] += gap / 16.0 * (y[c] - y[c] * y[c] * y[c]);
        y[c] += 0.5 * sqrt(gap) * z[c];
    }
}

static inline gsv_series *learn_well(const gsv_model *m, size_t tracks,
                                     size_t rows, uint64_t seed)
{
    double d = (double)gsv_model_columns(m);
    return learn_series(m, tracks, rows, 0.2, seed, learn_well_step, &d);
}

static const char LEARN_WELL[] =
    "state x\n param a = 0.3, b = 0.5 > 0, s = 1 > 0\n"
    "dx = (a*x - b*x^3)*dt + s*dW";
static const char LEARN_NET[] =
    "state x[2]\n net f(x) -> 2 : 8 8 silu\n param c = 2, s = 1 > 0\n"
    "dx = (f - c*x)*dt + s*dW";

/* --- The exact maximum ---------------------------------------------------- */

enum { LEARN_MOST = 8 };

struct learn_peak {
    size_t n;
    double at[LEARN_MOST], value;
    double cov[LEARN_MOST * LEARN_MOST]; /* inverse of minus the Hessian */
};

typedef double (*learn_function)(const void *context, const double *p);

/* -d2f: differences of a thousandth are right to about 1e-6, relative to how
 * much f's curvature changes over the parameter's own size. */
static inline void learn_hessian(learn_function f, const void *context,
                                 struct learn_peak *q, double *gradient,
                                 double *H)
{
    size_t n = q->n;
    double p[LEARN_MOST], step[LEARN_MOST];
    memcpy(p, q->at, sizeof p);
    for (size_t i = 0; i < n; i++)
        step[i] = 1e-3 * fmax(fabs(q->at[i]), 0.1);
    q->value = f(context, p);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double v[2][2];
            for (int a = 0; a < 2; a++)
                for (int b = 0; b < 2; b++) {
                    p[i] += (a ? 1.0 : -1.0) * step[i];
                    p[j] += (b ? 1.0 : -1.0) * step[j];
                    v[a][b] = f(context, p);
                    memcpy(p, q->at, sizeof p);
                }
            double mixed = v[1][1] - v[1][0] - v[0][1] + v[0][0];
            H[i * n + j] = H[j * n + i] = -mixed / (4.0 * step[i] * step[j]);
            if (i == j) gradient[i] = (v[1][1] - v[0][0]) / (4.0 * step[i]);
        }
}

/* B (n, n) = A^-1 by Gauss and Jordan, for a positive A. */
static inline void learn_invert(size_t n, const double *A, double *B)
{
    double W[LEARN_MOST][2 * LEARN_MOST] = {{0}};
    for (size_t i = 0; i < n; i++) {
        memcpy(W[i], A + i * n, n * sizeof *A);
        W[i][n + i] = 1.0;
    }
    for (size_t k = 0; k < n; k++) {
        double pivot = W[k][k];
        assert_true(pivot != 0.0);
        for (size_t j = 0; j < 2 * n; j++)
            W[k][j] /= pivot;
        for (size_t i = 0; i < n; i++) {
            double factor = W[i][k];
            for (size_t j = 0; i != k && j < 2 * n; j++)
                W[i][j] -= factor * W[k][j];
        }
    }
    for (size_t i = 0; i < n; i++)
        memcpy(B + i * n, W[i] + n, n * sizeof *B);
}

/* Newton's steps from q->at on, until they are far below a standard error. */
static inline void learn_maximum(learn_function f, const void *context,
                                 struct learn_peak *q)
{
    size_t n = q->n;
    double H[LEARN_MOST * LEARN_MOST], g[LEARN_MOST], longest = 1.0;
    for (int tries = 0; longest > 1e-6 && tries < 50; tries++) {
        learn_hessian(f, context, q, g, H);
        learn_invert(n, H, q->cov);
        longest = 0.0;
        for (size_t i = 0; i < n; i++) {
            double move = 0.0, error = sqrt(q->cov[i * n + i]);
            for (size_t j = 0; j < n; j++)
                move += q->cov[i * n + j] * g[j];
            q->at[i] += move;
            longest = fmax(longest, fabs(move) / error);
        }
    }
    assert_true(longest <= 1e-6);
}

/* The log-likelihood of LEARN_OU at p = (k, mu, s). */
static inline double learn_ou_loglik(const void *context, const double *p)
{
    const gsv_series *s = context;
    double sum = 0.0;
    for (size_t r = 0; r < s->tracks; r++)
        for (size_t i = s->start[r] + 1; i < s->start[r + 1]; i++)
            sum += exact_ou(s->value[i - 1] - p[1], s->value[i] - p[1], p[0],
                            p[2], s->time[i] - s->time[i - 1]);
    return sum;
}

/* --- Fits ----------------------------------------------------------------- */

static inline gsv_fit_options fit_options(void)
{
    gsv_fit_options o = gsv_fit_options_default();
    o.estimator.threads = 1;
    return o;
}

#define fit_must(m, s, o) fit_must_at(__LINE__, (m), (s), (o))
static inline const gsv_record *fit_must_at(int line, gsv_model *m,
                                            const gsv_series *s,
                                            const gsv_fit_options *o)
{
    if (gsv_fit(m, s, o)) fail_msg("line %d: %s", line, gsv_last_error());
    const gsv_record *r = gsv_model_record(m);
    assert_non_null(r);
    return r;
}

#define expect_error(status, wanted, ...)                                      \
    expect_error_at(__LINE__, (int)(status), (wanted),                         \
                    (const char *const[]){__VA_ARGS__, NULL})
static inline void expect_error_at(int line, int status, int wanted,
                                   const char *const *words)
{
    if (status != wanted)
        fail_msg("line %d: status %d instead of %d: %s", line, status, wanted,
                 gsv_last_error());
    for (; *words; words++)
        if (!strstr(gsv_last_error(), *words))
            fail_msg("line %d: no '%s' in '%s'", line, *words,
                     gsv_last_error());
}

static inline gsv_param param_named(const gsv_model *m, const char *name)
{
    for (size_t i = 0; i < gsv_model_params(m); i++)
        if (!strcmp(gsv_model_param(m, i).name, name))
            return gsv_model_param(m, i);
    fail_msg("no parameter %s", name);
    return (gsv_param){0};
}

static inline double value_of(const gsv_model *m, const char *name)
{
    return gsv_model_value(m)[param_named(m, name).offset];
}

/* Bit for bit, NaN too. */
static inline bool same_bits(size_t n, const double *a, const double *b)
{
    return !memcmp(a, b, n * sizeof *a);
}

#define assert_same_fit(a, b) assert_same_fit_at(__LINE__, (a), (b))
static inline void assert_same_fit_at(int line, const gsv_model *a,
                                      const gsv_model *b)
{
    const gsv_record *p = gsv_model_record(a), *q = gsv_model_record(b);
    size_t n = gsv_model_values(a);
    if (!same_bits(n, gsv_model_value(a), gsv_model_value(b)))
        for (size_t i = 0; i < n; i++)
            if (!same_bits(1, gsv_model_value(a) + i, gsv_model_value(b) + i))
                fail_msg("line %d: value %zu is %.17g and %.17g", line, i,
                         gsv_model_value(a)[i], gsv_model_value(b)[i]);
    const double one[] = {p->loglik,  p->error, p->discretisation,
                          p->heldout, p->aic,   p->bic};
    const double two[] = {q->loglik,  q->error, q->discretisation,
                          q->heldout, q->aic,   q->bic};
    for (size_t i = 0; i < COUNT(one); i++)
        if (!same_bits(1, &one[i], &two[i]))
            fail_msg("line %d: number %zu of the record is %.17g and %.17g",
                     line, i, one[i], two[i]);
    if (!same_bits(n, p->error_of, q->error_of))
        fail_msg("line %d: other standard errors", line);
    if (p->iterations != q->iterations || p->ended != q->ended ||
        p->paths != q->paths || p->steps != q->steps)
        fail_msg("line %d: iterations %zu and %zu, ended %d and %d, paths %zu "
                 "and %zu, steps %zu and %zu",
                 line, p->iterations, q->iterations, p->ended, q->ended,
                 p->paths, q->paths, p->steps, q->steps);
}

/* --- A folder ------------------------------------------------------------- */

static char learn_folder[] = "/tmp/gsv_learn_XXXXXX";

static inline int enter_folder(void **state)
{
    (void)state;
    return mkdtemp(learn_folder) && chdir(learn_folder) == 0 ? 0 : -1;
}

static inline int leave_folder(void **state)
{
    static const char *const files[] = {"a.fit", "b.fit", "c.fit", "kept.fit"};
    (void)state;
    for (size_t i = 0; i < COUNT(files); i++)
        unlink(files[i]);
    return chdir("/") == 0 ? rmdir(learn_folder) : -1;
}

/* --- Short fits ------------------------------------------------------------
 */

static inline void free_both(gsv_model *m, gsv_series *s)
{
    gsv_series_free(s);
    gsv_model_free(m);
}

/* The values that differ from a fresh model's, as a mask. */
static inline size_t moved(const gsv_model *m, const char *text)
{
    gsv_model *fresh = model_of(text);
    size_t mask = 0, n = gsv_model_values(m);
    for (size_t i = 0; i < n && i < 8 * sizeof mask; i++)
        if (!same_bits(1, gsv_model_value(m) + i, gsv_model_value(fresh) + i))
            mask |= (size_t)1 << i;
    gsv_model_free(fresh);
    return mask;
}

static inline gsv_fit_options short_options(enum gsv_optimizer optimizer)
{
    gsv_fit_options o = fit_options();
    o.optimizer = optimizer;
    o.iterations = optimizer == GSV_OPTIMIZER_ADAM ? 20 : 0;
    return o;
}

static const enum gsv_optimizer LEARN_BOTH[] = {GSV_OPTIMIZER_ADAM,
                                                GSV_OPTIMIZER_LBFGS};

#endif
