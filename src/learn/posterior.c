/* SPDX-License-Identifier: MIT */
/* What draws say, for the record of a fit. */
#include <math.h>
#include <stdio.h>

#include "base/chain_stats.h"
#include "base/memory.h"
#include "base/plain.h"
#include "base/sample_stats.h"
#include "learn/gibbs.h"
#include "model/fit_record.h"

void posterior_values(struct learner *l, const gsv_draws *d)
{
    size_t all = d->chains * d->draws;
    for (size_t i = 0; i < d->numbers; i++)
        l->m->value[d->place[i]] = sample_mean(all, d->value + i * all);
}

static void note_number(const struct chain_stats *c, size_t at, gsv_record *r)
{
    double row[GSV_POSTERIORS] = {
        [GSV_POSTERIOR_Q5] = c->q5,
        [GSV_POSTERIOR_MEDIAN] = c->median,
        [GSV_POSTERIOR_Q95] = c->q95,
        [GSV_POSTERIOR_RHAT] = c->rhat,
        [GSV_POSTERIOR_ESS_BULK] = c->ess_bulk,
        [GSV_POSTERIOR_ESS_TAIL] = c->ess_tail,
        [GSV_POSTERIOR_MCSE] = c->mcse,
    };
    r->error_of[at] = c->sd;
    r->low[at] = c->q2;
    r->high[at] = c->q98;
    for (size_t i = 0; i < GSV_POSTERIORS; i++)
        r->posterior[i * r->values + at] = row[i];
}

static double correlation(size_t n, const double *x, const double *y)
{
    double mx = sample_mean(n, x), my = sample_mean(n, y), xy = 0, xx = 0,
           yy = 0;
    for (size_t i = 0; i < n; i++) {
        xy += (x[i] - mx) * (y[i] - my);
        xx += (x[i] - mx) * (x[i] - mx);
        yy += (y[i] - my) * (y[i] - my);
    }
    return xy / sqrt(xx * yy);
}

static void note_correlations(const gsv_draws *d, gsv_record *r)
{
    size_t all = d->chains * d->draws;
    for (size_t i = 0; i < d->numbers; i++)
        for (size_t j = 0; j < d->numbers; j++)
            r->correlation[i * d->numbers + j] =
                i == j
                    ? 1.0
                    : correlation(all, d->value + i * all, d->value + j * all);
}

/* --- Words ---------------------------------------------------------------- */

static const double LARGEST_RHAT = 1.01;
enum { FEWEST_A_CHAIN = 100 };

/* The worst of several numbers; NaN where one of them cannot be told. */
struct worst {
    double rhat, ess;
};

static int warn(const gsv_draws *d, struct worst w, gsv_record *r)
{
    double rhat = w.rhat, ess = w.ess;
    char line[300] = "";
    double fewest = FEWEST_A_CHAIN * (double)d->chains;
    if (!isfinite(rhat) || !isfinite(ess))
        plain_format(line, sizeof line,
                     "too few draws to tell whether the chains agree\n");
    else if (rhat > LARGEST_RHAT)
        plain_format(
            line, sizeof line,
            "the chains do not agree yet: R-hat is up to %.3f, but should "
            "be below %.2f; take a longer --warmup and more --draws, or "
            "priors for what the data do not tell\n",
            rhat, LARGEST_RHAT);
    int status = fit_record_warn(r, line);
    if (status || !(ess < fewest)) return status;
    plain_format(
        line, sizeof line,
        "the draws are worth only %.0f independent ones where they are "
        "worth least; intervals need about %.0f: take more --draws\n",
        ess, fewest);
    return fit_record_warn(r, line);
}

static void note_worst(const struct chain_stats *c, struct worst *w)
{
    double least =
        isnan(c->ess_tail) ? c->ess_bulk : fmin(c->ess_bulk, c->ess_tail);
    bool lost = isnan(c->rhat) || isnan(w->rhat);
    w->rhat = lost ? NAN : fmax(w->rhat, c->rhat);
    w->ess = isnan(least) || isnan(w->ess) ? NAN : fmin(w->ess, least);
}

static int note_numbers(const gsv_draws *d, gsv_record *r)
{
    struct worst w = {1.0, INFINITY};
    struct chain_stats c;
    size_t all = d->chains * d->draws;
    int status = 0;
    for (size_t i = 0; !status && i < d->numbers; i++) {
        status = chain_stats(d->chains, d->draws, d->value + i * all, &c);
        if (!status) note_number(&c, d->place[i], r);
        if (!status) note_worst(&c, &w);
    }
    struct worst e = {1.0, INFINITY};
    for (size_t i = 0; !status && i < d->tracks * d->effects; i++) {
        status = chain_stats(d->chains, d->draws, d->effect + i * all, &c);
        if (!status) note_worst(&c, &e);
    }
    if (status || !d->effects) return status ? status : warn(d, w, r);
    r->effect_rhat = e.rhat;
    r->effect_ess = e.ess;
    bool lost = isnan(w.rhat) || isnan(e.rhat);
    w.rhat = lost ? NAN : fmax(w.rhat, e.rhat);
    w.ess = isnan(w.ess) || isnan(e.ess) ? NAN : fmin(w.ess, e.ess);
    return warn(d, w, r);
}

int posterior_effects(const struct learner *l, const gsv_draws *d,
                      gsv_record *r)
{
    size_t all = d->chains * d->draws, cells = d->tracks * d->effects;
    r->effects = d->effects;
    r->effect = NEW(double, GSV_EFFECTS *cells);
    if (!r->effect) return GSV_NO_MEMORY;
    for (size_t i = 0; i < cells; i++) {
        double mean = sample_mean(all, d->effect + i * all), squares = 0.0;
        for (size_t k = 0; k < all; k++) {
            double off = d->effect[i * all + k] - mean;
            squares += off * off;
        }
        r->effect[GSV_EFFECT_ESTIMATE * cells + i] = mean;
        r->effect[GSV_EFFECT_ERROR * cells + i] =
            sqrt(squares / fmax((double)all - 1.0, 1.0));
    }
    return fit_record_subjects(r,
                               (const char *const *)(const void *)l->s->label);
}

/* Where chains came to thetas for which the steps are far too long. */
static int warn_of_steps(const struct learner *l, gsv_record *r)
{
    char line[200] = "";
    if (l->refused)
        plain_format(
            line, sizeof line,
            "%zu proposals had impossibly large likelihoods: the steps are "
            "too long for these parameters; take more --steps, or "
            "narrower priors\n",
            l->refused);
    return fit_record_warn(r, line);
}

int posterior_note(const struct learner *l, const gsv_draws *d, gsv_record *r)
{
    size_t n = r->values;
    r->chains = d->chains;
    r->draws = d->draws;
    r->warmup = l->o->warmup;
    r->aic = r->bic = NAN; /* they are of a maximum */
    r->posterior = NEW(double, GSV_POSTERIORS *n);
    if (!r->posterior) return GSV_NO_MEMORY;
    int status = fit_record_correlate(r, d->numbers, d->place);
    if (status) return status;
    for (size_t i = 0; i < GSV_POSTERIORS * n; i++)
        r->posterior[i] = NAN;
    note_correlations(d, r);
    status = warn_of_steps(l, r);
    return status ? status : note_numbers(d, r);
}
