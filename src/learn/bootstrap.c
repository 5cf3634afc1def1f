/* SPDX-License-Identifier: MIT */
/* The parametric bootstrap: data sets drawn from the fit (bootstrap_draw.c) are
 * fitted from its values on. With t the estimate without bounds, t* that of a
 * data set and r* = 2 (l*(t*) - p*(t)) its likelihood ratio for the values that
 * it was drawn from (interval.h),
 *
 *     2 t - mean t*                               has less bias than t,
 *     { u : 2 (l(t) - p(u)) <= 3.84 mean r* }     is the interval:
 *
 * the Bartlett correction of the likelihood ratio, whose mean would be 1 for
 * many data. Quantiles of t* - t would not do: they depend on the values that
 * the sets are drawn from, and these are biased.
 *
 * A refit runs on one thread, and what it finds depends on its number alone:
 * bits are the same on any number of threads and ranks. */
#include "learn/bootstrap.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/lanes.h"
#include "base/memory.h"
#include "base/plain.h"
#include "base/sample_stats.h"
#include "base/spread.h"
#include "learn/learner.h"
#include "model/fit_record.h"
#include "model/theta.h"

/* The least that say something; steps of a simulation in a gap. */
enum { FEWEST = 20, STEPS = 32 };

/* Numbers further from the median than this, in robust deviations, are moved
 * there: estimates at a bound are at minus infinity without it. Likelihood
 * ratios have their own limit, which chance reaches once in a million. */
static const double FURTHEST = 4.0, LARGEST_RATIO = 25.0;

enum end { NOT_DONE, DONE, FAILED };

struct outcome {
    int end; /* enum end */
    char why[160];
};

struct bootstrap {
    struct learner *l;
    const double *theta; /* (n) the estimate                         */
    size_t n, sets, steps;
    struct outcome *outcome; /* (sets)                               */
    double *refit;           /* (sets, n) their theta                */
    double *ratio;           /* (sets, n)                            */
    atomic_size_t done;
    size_t mine;  /* sets of this rank */
    double *line; /* (2 sets)          */
};

/* --- One data set --------------------------------------------------------- */

static gsv_fit_options refit_options(const struct learner *l)
{
    gsv_fit_options o = *l->given;
    o.estimator.threads = 1;
    o.estimator.ranks = NULL;
    o.errors = GSV_ERRORS_NONE;
    o.estimate = GSV_ESTIMATE_NONE;
    o.restarts = 1;
    o.time_limit = 0.0;
    o.checkpoint = o.resume = NULL;
    o.bootstrap = 0;
    o.progress = NULL;
    o.stop = NULL;
    o.phase = NULL;
    o.refit = NULL;
    return o;
}

static int refit(struct bootstrap *b, size_t set)
{
    const struct learner *l = b->l;
    double *refit = b->refit + set * b->n;
    struct compared c = {.theta = b->theta, .ratio = b->ratio + set * b->n};
    gsv_fit_options o = refit_options(l);
    gsv_series *s = bootstrap_draw(l->m, l->s, o.estimator.seed, set, b->steps);
    gsv_model *m = s ? gsv_model_copy(l->m) : NULL;
    int status = m ? fit_compared(m, s, &o, &c) : (int)gsv_last_status();
    if (!status) gsv_theta_get(m, refit);
    for (size_t i = 0; !status && i < b->n; i++)
        if (!isfinite(refit[i]))
            status = fail(GSV_NUMERICAL, "an estimate is not finite");
    gsv_model_free(m);
    gsv_series_free(s);
    return status;
}

/* The caller's thread tells how far this rank is, and so about all of them. */
static void run_set(void *context, size_t set, size_t thread)
{
    struct bootstrap *b = context;
    const gsv_fit_options *o = b->l->o;
    struct outcome *out = &b->outcome[set];
    int status = refit(b, set);
    if (halt_asked() || status == GSV_STOPPED) return;
    out->end = status ? FAILED : DONE;
    if (status) snprintf(out->why, sizeof out->why, "%s", gsv_last_error());
    size_t done = 1 + atomic_fetch_add(&b->done, 1);
    if (!thread && o->refit) o->refit(o->user, done, b->mine);
}

/* --- All of them ---------------------------------------------------------- */

static size_t first_set(const void *context, size_t lane)
{
    (void)context;
    return lane;
}

static size_t first_number(const void *context, size_t lane)
{
    const struct bootstrap *b = context;
    return lane * b->n;
}

/* A stop leaves what was done before it. */
static int run_sets(struct bootstrap *b)
{
    const gsv_options *e = &b->l->o->estimator;
    const struct spread_share share[] = {
        {b->outcome, sizeof *b->outcome, first_set},
        {b->refit, sizeof *b->refit, first_number},
        {b->ratio, sizeof *b->ratio, first_number}};
    const struct spread s = {.ranks = e->ranks,
                             .lanes = b->sets,
                             .threads = lanes_threads(e->threads),
                             .context = b,
                             .work = run_set,
                             .shares = sizeof share / sizeof *share,
                             .share = share};
    int status = spread_run(&s);
    return status == GSV_STOPPED ? spread_gather(&s) : status;
}

static int bootstrap_init(struct bootstrap *b)
{
    size_t ranks = gsv_ranks_count(b->l->o->estimator.ranks);
    size_t rank = gsv_ranks_rank(b->l->o->estimator.ranks);
    b->mine = lanes_first(rank + 1, ranks, b->sets) -
              lanes_first(rank, ranks, b->sets);
    b->outcome = NEW(struct outcome, b->sets);
    b->refit = NEW(double, b->sets * b->n);
    b->ratio = NEW(double, b->sets * b->n);
    b->line = NEW(double, 2 * b->sets);
    atomic_init(&b->done, 0);
    return b->outcome && b->refit && b->ratio && b->line ? 0 : GSV_NO_MEMORY;
}

static void bootstrap_free(struct bootstrap *b)
{
    MEM_FREE(b->outcome, b->refit, b->ratio, b->line);
}

/* --- What they say -------------------------------------------------------- */

/* Finite numbers i of all sets that succeeded, to line, sorted. */
static size_t collect(const struct bootstrap *b, const double *from, size_t i)
{
    size_t n = 0;
    for (size_t set = 0; set < b->sets; set++)
        if (b->outcome[set].end == DONE && isfinite(from[set * b->n + i]))
            b->line[n++] = from[set * b->n + i];
    sample_sort(n, b->line);
    return n;
}

static void limit(size_t n, double *x)
{
    double quarter =
        0.5 * (sample_quantile(n, x, 0.75) - sample_quantile(n, x, 0.25));
    double median = sample_quantile(n, x, 0.5);
    double most = FURTHEST * quarter / 0.6744897501960817;
    for (size_t i = 0; i < n; i++)
        x[i] = fmin(fmax(x[i], median - most), median + most);
}

/* The Bartlett factor of number i. It is never below 1: few data say less than
 * many, and chance must not make an interval shorter. */
static double factor_of(const struct bootstrap *b, size_t i)
{
    size_t n = collect(b, b->ratio, i);
    if (n < FEWEST) return NAN;
    for (size_t k = 0; k < n; k++)
        b->line[k] = fmin(b->line[k], LARGEST_RATIO);
    return fmax(sample_mean(n, b->line), 1.0);
}

static void note_number(const struct bootstrap *b, size_t i, gsv_record *r)
{
    const gsv_model *m = b->l->m;
    size_t n = collect(b, b->refit, i), v = b->l->value[i];
    double *x = b->line, *natural = b->line + b->sets;
    limit(n, x);
    for (size_t k = 0; k < n; k++)
        natural[k] = theta_value(m, i, x[k]);
    double corrected = 2.0 * b->theta[i] - sample_mean(n, x);
    r->bootstrap[GSV_BOOTSTRAP_CORRECTED * r->values + v] =
        theta_value(m, i, corrected);
    r->bootstrap[GSV_BOOTSTRAP_ERROR * r->values + v] =
        sample_deviation(n, natural);
}

static int note_all(struct bootstrap *b, gsv_record *r)
{
    size_t all = GSV_BOOTSTRAPS * r->values;
    r->bootstrap = NEW(double, all);
    double *factor = NEW(double, b->n);
    int status = r->bootstrap && factor ? 0 : GSV_NO_MEMORY;
    for (size_t k = 0; !status && k < all; k++)
        r->bootstrap[k] = NAN;
    for (size_t i = 0; !status && i < b->n; i++) {
        factor[i] = NAN;
        if (b->l->fixed[i]) continue;
        note_number(b, i, r);
        factor[i] = factor_of(b, i);
    }
    if (!status)
        status = uncertainty_corrected(
            b->l, b->theta, factor,
            r->bootstrap + GSV_BOOTSTRAP_LOW * r->values,
            r->bootstrap + GSV_BOOTSTRAP_HIGH * r->values);
    mem_free(factor);
    return status;
}

/* --- Warnings ------------------------------------------------------------- */

static int warn_of_end(const struct bootstrap *b, size_t left, gsv_record *r)
{
    char line[300];
    if (!left) return 0;
    bool time = learner_over(b->l) == HALT_BY_TIME;
    bool enough = r->refits >= FEWEST;
    plain_format(line, sizeof line,
                 time && enough
                     ? "the time limit ended it after %zu of %zu refits of "
                       "the bootstrap: its results are from these\n"
                 : time ? "the time limit ended it after %zu of %zu refits of "
                          "the bootstrap: they are too few, and there are no "
                          "results of it\n"
                 : enough ? "interrupted after %zu of %zu refits of the "
                            "bootstrap: its results are from these\n"
                          : "interrupted after %zu of %zu refits of the "
                            "bootstrap: they are too few, and there are no "
                            "results of it\n",
                 b->sets - left, b->sets);
    return fit_record_warn(r, line);
}

static int warn_of_failures(const struct bootstrap *b, size_t failed,
                            gsv_record *r)
{
    char line[400];
    size_t set = 0;
    if (!failed) return 0;
    while (b->outcome[set].end != FAILED)
        set++;
    plain_format(line, sizeof line,
                 r->refits < FEWEST
                     ? "%zu of %zu refits of the bootstrap failed, and there "
                       "are no results of it; the first reason: %s\n"
                     : "%zu of %zu refits of the bootstrap failed; the first "
                       "reason: %s\n",
                 failed, b->sets, b->outcome[set].why);
    return fit_record_warn(r, line);
}

static int conclude(struct bootstrap *b, gsv_record *r)
{
    size_t failed = 0, left = 0;
    r->refits = 0;
    r->bootstraps = b->sets;
    for (size_t set = 0; set < b->sets; set++) {
        r->refits += b->outcome[set].end == DONE;
        failed += b->outcome[set].end == FAILED;
        left += b->outcome[set].end == NOT_DONE;
    }
    int status = warn_of_end(b, left, r);
    if (!status) status = warn_of_failures(b, failed, r);
    if (status || r->refits < FEWEST) return status;
    /* What was done before a stop is worth the moment that this takes. */
    struct halt quiet = {0};
    halt_forget(&b->l->halt);
    halt_begin(&quiet, NULL, NULL);
    status = note_all(b, r);
    halt_end(&quiet);
    return status;
}

int bootstrap(struct learner *l, const double *theta)
{
    gsv_record *r = l->m->record;
    size_t steps = 2 * r->steps;
    struct bootstrap b = {.l = l,
                          .theta = theta,
                          .n = l->n,
                          .sets = l->o->bootstrap,
                          .steps = steps > STEPS ? steps : STEPS};
    if (!b.sets || !l->free) return 0;
    learner_phase(l, GSV_PHASE_BOOTSTRAP);
    int status = bootstrap_init(&b);
    if (!status) status = run_sets(&b);
    if (!status) status = conclude(&b, r);
    learner_set(l, theta);
    r->seconds = learner_seconds(l);
    bootstrap_free(&b);
    return status == GSV_STOPPED ? 0 : status;
}
