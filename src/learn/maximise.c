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
    bool started, stopped, settled, finished;
    int status;               /* of a failure that ends it */
    double *best, best_value; /* (n) where it was largest */
    double *slope;            /* (n) the gradient there   */
    double past[PAST];        /* values of the last iterations */
    size_t iteration;
};

/* Where the function does not exist, a parabola along the way from the best
 * point, back at its value here: the search then tries the middle. A wall would
 * have it try steps of nothing, and give up. */
static double turn_back(const struct run *r, size_t n, const double *x,
                        double *gradient)
{
    double rise = 0.0;
    for (size_t i = 0; i < n; i++)
        rise += r->slope[i] * (x[i] - r->best[i]);
    for (size_t i = 0; i < n; i++)
        gradient[i] = rise > 0.0 ? r->slope[i] : 0.0;
    return rise > 0.0 ? -r->best_value : 1.0 + fabs(rise) - r->best_value;
}

/* What L-BFGS minimises. */
static lbfgsfloatval_t evaluate(void *instance, const lbfgsfloatval_t *x,
                                lbfgsfloatval_t *gradient, int n,
                                lbfgsfloatval_t step)
{
    (void)step;
    struct run *r = instance;
    double value = 0.0;
    size_t bytes = (size_t)n * sizeof *x;
    /* L-BFGS cannot be stopped before it gives up, but until then its requests
     * need not be evaluated. */
    if (r->stopped) return turn_back(r, (size_t)n, x, gradient);
    int status = r->job->at(r->job->context, x, &value, gradient);
    if (status) {
        r->stopped = status == GSV_STOPPED;
        if (!r->stopped && (!r->started || status != GSV_NUMERICAL))
            r->status = status;
        return turn_back(r, (size_t)n, x, gradient);
    }
    if (!r->started || value > r->best_value) {
        r->best_value = value;
        memcpy(r->best, x, bytes);
        memcpy(r->slope, gradient, bytes);
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

static lbfgs_parameter_t parameters(const struct maximise *job, size_t done)
{
    lbfgs_parameter_t p;
    lbfgs_parameter_init(&p);
    p.m = 12;
    p.epsilon = 1e-10;
    p.max_iterations =
        (int)(job->iterations > done ? job->iterations - done : 1);
    p.max_linesearch = 30;
    return p;
}

/* One search; whether it gave up for want of a step that gains. */
static bool search(struct run *r, size_t n, double *at)
{
    lbfgs_parameter_t p = parameters(r->job, r->iteration);
    int code = lbfgs((int)n, at, NULL, evaluate, progress, r, &p);
    if (code == LBFGSERR_OUTOFMEMORY)
        r->status = fail(GSV_NO_MEMORY, "out of memory");
    r->finished = code == LBFGSERR_MAXIMUMITERATION;
    return code < 0 && !r->finished && !r->status && !r->stopped && !r->settled;
}

/* What L-BFGS remembers can point to where nothing gains, far from the top: it
 * is left only where it ends so from its best point with nothing in mind. */
int maximise(const struct maximise *job, size_t n, double *x, double *value,
             enum maximise_end *end)
{
    struct run r = {.job = job, .best = x, .slope = NEW(double, n)};
    lbfgsfloatval_t *at = lbfgs_malloc((int)n);
    double before = -INFINITY;
    bool lost = r.slope && at;
    if (!lost) r.status = fail(GSV_NO_MEMORY, "out of memory");
    while (lost && (!r.started || r.best_value - before > job->tolerance)) {
        if (r.started) before = r.best_value;
        memcpy(at, x, n * sizeof *x);
        lost = search(&r, n, at);
    }
    lbfgs_free(at);
    mem_free(r.slope);
    if (r.status) return r.status;
    *value = r.best_value;
    *end = r.stopped    ? MAXIMISE_STOPPED
           : r.finished ? MAXIMISE_ITERATIONS
           : lost       ? MAXIMISE_STUCK
                        : MAXIMISE_CONVERGED;
    return 0;
}
