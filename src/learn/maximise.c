/* SPDX-License-Identifier: MIT */
#include "learn/maximise.h"

#include <lbfgs.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

enum { PAST = 3 };

struct run {
    const struct maximise *job;
    bool started, stopped, settled;
    int status; /* of a failure that ends it */
    double worst;
    double *best, best_value; /* (n) where it was largest */
    double past[PAST];        /* values of the last iterations */
    size_t iteration;
};

/* What L-BFGS minimises; where the function does not exist, much more than at
 * the start: the search then takes shorter steps. */
static lbfgsfloatval_t evaluate(void *instance, const lbfgsfloatval_t *x,
                                lbfgsfloatval_t *gradient, int n,
                                lbfgsfloatval_t step)
{
    (void)step;
    struct run *r = instance;
    double value = 0.0;
    int status = r->job->at(r->job->context, x, &value, gradient);
    if (status) {
        if (!r->started || status != GSV_NUMERICAL) r->status = status;
        memset(gradient, 0, (size_t)n * sizeof *gradient);
        return r->worst;
    }
    if (!r->started) r->worst = 1e3 * (1.0 + fabs(value)) - value;
    if (!r->started || value > r->best_value) {
        r->best_value = value;
        memcpy(r->best, x, (size_t)n * sizeof *x);
    }
    r->started = true;
    for (int i = 0; i < n; i++)
        gradient[i] = -gradient[i];
    return -value;
}

static int progress(void *instance, const lbfgsfloatval_t *x,
                    const lbfgsfloatval_t *gradient, lbfgsfloatval_t f,
                    lbfgsfloatval_t x_norm, lbfgsfloatval_t gradient_norm,
                    lbfgsfloatval_t step, int n, int iteration, int tries)
{
    (void)gradient, (void)x_norm, (void)gradient_norm, (void)step, (void)n;
    (void)tries, (void)iteration;
    struct run *r = instance;
    double *past = &r->past[r->iteration % PAST];
    r->settled = r->iteration >= PAST && -f - *past < r->job->tolerance;
    *past = -f;
    r->iteration++;
    r->stopped = r->job->step && r->job->step(r->job->context, x, -f);
    return r->stopped || r->settled || r->status;
}

static lbfgs_parameter_t parameters(const struct maximise *job)
{
    lbfgs_parameter_t p;
    lbfgs_parameter_init(&p);
    p.m = 12;
    p.epsilon = 1e-10;
    p.max_iterations = (int)job->iterations;
    p.max_linesearch = 30;
    return p;
}

int maximise(const struct maximise *job, size_t n, double *x, double *value,
             enum maximise_end *end)
{
    struct run r = {.job = job, .best = x};
    lbfgs_parameter_t p = parameters(job);
    lbfgsfloatval_t *at = lbfgs_malloc((int)n);
    if (!at) return fail(GSV_NO_MEMORY, "out of memory");
    memcpy(at, x, n * sizeof *x);
    int code = lbfgs((int)n, at, NULL, evaluate, progress, &r, &p);
    if (code == LBFGSERR_OUTOFMEMORY)
        r.status = fail(GSV_NO_MEMORY, "out of memory");
    lbfgs_free(at);
    if (r.status) return r.status;
    *value = r.best_value;
    *end = r.stopped                           ? MAXIMISE_STOPPED
           : code == LBFGSERR_MAXIMUMITERATION ? MAXIMISE_ITERATIONS
                                               : MAXIMISE_CONVERGED;
    return 0;
}
