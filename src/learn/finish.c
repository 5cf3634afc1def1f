/* SPDX-License-Identifier: MIT */
/* The record of a fit: what was learned from what, how likely the data are
 * now, and what the held-out ones say. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/plain.h"
#include "data/series.h"
#include "estimator/refine.h"
#include "learn/gibbs.h"
#include "learn/warn_training.h"
#include "learn/weight_prior.h"
#include "model/effects.h"
#include "model/fit_record.h"
#include "predict/effects.h"

/* --- What was fitted ---------------------------------------------------- */

static void note_ranges(const struct learner *l, gsv_record *r)
{
    const gsv_series *s = l->s;
    for (size_t c = 0; c < r->columns; c++)
        for (size_t j = 0; j < s->columns; j++) {
            if (strcmp(s->name[j], l->m->column[c])) continue;
            const double *v = s->value + j * s->rows;
            for (size_t i = 0; i < s->rows; i++) {
                r->lowest[c] = fmin(r->lowest[c], v[i]);
                r->highest[c] = fmax(r->highest[c], v[i]);
                series_passed(s, i);
            }
        }
}

/* The paths and steps of other objectives mean something else. */
static gsv_options asked(const gsv_fit_options *o)
{
    const gsv_options *e = &o->estimator;
    if (o->objective != GSV_OBJECTIVE_LIKELIHOOD) return (gsv_options){0};
    return (gsv_options){.paths = e->paths,
                         .steps = e->steps,
                         .step = e->step,
                         .reference = e->reference,
                         .form = e->form,
                         .random = e->random,
                         .observe = e->observe,
                         .points = e->points,
                         .richardson = e->richardson,
                         .delta = e->delta,
                         .joint = e->joint,
                         .wide = e->wide,
                         .nodes = e->nodes};
}

static int note_facts(struct learner *l, gsv_record *r)
{
    mem_free(r->data);
    r->data = mem_string(l->s->source);
    r->tracks = l->s->tracks;
    r->rows = l->s->rows;
    r->optimizer = l->optimizer;
    r->ended = l->ended;
    r->errors = GSV_ERRORS_NONE;
    r->iterations = (size_t)(l->now.total + l->now.iteration);
    r->restarts = l->o->restarts;
    r->seconds = learner_seconds(l);
    r->seed = l->o->estimator.seed;
    r->estimator = asked(l->o);
    if (learner_by_tracks(l)) {
        gsv_options used = learner_final(l, (int)l->stages - 1);
        r->estimator.observe = GSV_OBSERVE_GUIDED;
        r->estimator.points = used.points;
        r->estimator.steps = used.steps;
    }
    if (l->asks_steps && l->now.steps >= 1.0)
        r->estimator.steps = (size_t)l->now.steps;
    r->free = l->free;
    r->loglik = r->error = r->discretisation = r->heldout = NAN;
    r->aic = r->bic = r->mse = r->value = NAN;
    r->evidence = l->evidence;
    r->objective = l->o->objective;
    r->priors = l->prior.count;
    r->log_prior = r->priors ? prior_at(&l->prior).values : NAN;
    r->penalty = weight_prior_mean(l, true);
    r->noise_penalty = weight_prior_mean(l, false);
    r->gaps = l->gaps;
    note_ranges(l, r);
    return r->data ? 0 : GSV_NO_MEMORY;
}

/* --- How likely --------------------------------------------------------- */

struct sums {
    double loglik, variance, discretisation;
    size_t gaps, flagged, paths, steps, sampled, nodes;
    double quadrature;
};

/* Where data are large, a sample tells as much: an error of a three hundredth
 * of the deviation of a gap. */
enum { MANY_GAPS = 200000, SAMPLE_GAPS = 100000, LISTED = 1 << 18 };

/* The number of groups that are evaluated; all, where they are not independent.
 */
static size_t sample_size(const struct learner *l, const gsv_options *o,
                          size_t groups)
{
    bool apart = !o->joint && learner_has_groups(l);
    bool many = l->o->estimate == GSV_ESTIMATE_AUTO && groups > MANY_GAPS;
    size_t window = window_groups(o, groups);
    if (!apart || !many) return groups;
    return window < SAMPLE_GAPS ? window : SAMPLE_GAPS;
}

/* The sum over all, by the mean of a sample. Its error is that of the sample,
 * which shrinks where that is most of all, and that of its paths. */
static void scale_up(size_t groups, size_t n, const struct score *score,
                     struct sums *s)
{
    double times = (double)groups / (double)n;
    double left = 1.0 - 1.0 / times, off = score->error * (double)groups;
    s->loglik *= times;
    s->discretisation *= times;
    s->variance = s->variance * times * times + off * off * left;
    s->sampled = n;
    s->gaps = groups;
}

static struct sums sums_of(const gsv_result *r)
{
    return (struct sums){.loglik = r->loglik,
                         .variance = r->error * r->error,
                         .discretisation = r->discretisation,
                         .gaps = r->gaps,
                         .flagged = r->flagged,
                         .paths = r->paths,
                         .steps = r->steps,
                         .nodes = r->nodes,
                         .quadrature = r->quadrature};
}

/* All groups, with the paths and steps that each of them needs. */
static int sum_all(struct learner *l, const gsv_options *o, const double *theta,
                   size_t n, const size_t *group, struct sums *sums)
{
    gsv_result r = {.values = l->m->spec->parameters};
    const struct task task = {.model = l->m, .series = l->s, .options = o};
    const struct request q = {.n = n, .group = group};
    gsv_theta_set(l->m, theta);
    int status = refine_fill(&task, &q, 0.0, &r, NULL);
    if (!status) *sums = sums_of(&r);
    gsv_result_free(&r);
    return status;
}

/* A sample of the groups. */
static int sum_some(struct learner *l, const gsv_options *o,
                    const double *theta, size_t groups, size_t n,
                    const size_t *group, struct sums *sums)
{
    struct objective at;
    gsv_result r = {0};
    int status = objective_init_loglik(&at, l->m, l->s, o, n);
    if (!status) status = objective_sums(&at, theta, n, group, &r);
    if (!status) {
        *sums = sums_of(&r);
        struct score score = {0};
        if (n < groups) score = objective_score(&at);
        if (n < groups) scale_up(groups, n, &score, sums);
    }
    gsv_result_free(&r);
    objective_free(&at);
    return status;
}

/* Series by themselves, by the objective of a fit by batches. */
static int sum_tracks_at(struct learner *l, const gsv_options *o,
                         const double *theta, size_t n, const size_t *group,
                         struct sums *sums)
{
    struct objective at;
    struct score score = {0};
    int status = learner_objective(l, &at, l->aim[0], o, n);
    if (!status) status = objective_at(&at, theta, 0, n, group, &score, NULL);
    *sums = (struct sums){.loglik = score.mean * (double)score.gaps,
                          .gaps = score.gaps,
                          .paths = o->points,
                          .steps = o->steps};
    const struct method *row = at.estimator.method;
    for (size_t i = 0; !status && i < n; i++)
        sums->variance += pow(row->group(at.estimator.machine, i).error, 2.0);
    objective_free(&at);
    return status;
}

/* With the discretisation, which some of them tell. */
static int sum_tracks(struct learner *l, const gsv_options *o,
                      const double *theta, size_t n, const size_t *group,
                      struct sums *sums)
{
    enum { SOME = 16 };
    struct sums fine, coarse;
    size_t some = n < SOME ? n : SOME;
    gsv_options half = *o;
    half.steps /= 2;
    int status = sum_tracks_at(l, o, theta, n, group, sums);
    if (status || !half.steps) return status;
    status = sum_tracks_at(l, o, theta, some, group, &fine);
    if (!status) status = sum_tracks_at(l, &half, theta, some, group, &coarse);
    if (status) return status == GSV_NUMERICAL ? 0 : status;
    sums->discretisation =
        (fine.loglik - coarse.loglik) * (double)sums->gaps / (double)fine.gaps;
    return 0;
}

static int sum_up(struct learner *l, const gsv_options *o, const double *theta,
                  size_t groups, const size_t *group, struct sums *sums)
{
    if (learner_by_tracks(l) && group)
        return sum_tracks(l, o, theta, groups, group, sums);
    size_t all = group ? groups : l->gaps, n = sample_size(l, o, all);
    if (n == all && n <= LISTED && !learner_matches(l))
        return sum_all(l, o, theta, groups, group, sums);
    if (n == all) return sum_some(l, o, theta, groups, groups, group, sums);
    size_t *some = NEW(size_t, n);
    if (!some) return GSV_NO_MEMORY;
    for (size_t i = 0; i < n; i++) {
        size_t at = (size_t)((double)i * (double)all / (double)n);
        some[i] = group ? group[at] : at;
    }
    int status = sum_some(l, o, theta, all, n, some, sums);
    mem_free(some);
    return status;
}

static void note_sums(const struct sums *s, gsv_record *r)
{
    r->loglik = s->loglik;
    r->error = sqrt(s->variance);
    r->discretisation = s->discretisation;
    r->paths = s->paths;
    r->steps = s->steps;
    r->flagged = s->flagged;
    r->nodes = s->nodes;
    r->quadrature = s->quadrature;
}

static int note_likelihoods(struct learner *l, const double *theta,
                            gsv_record *r)
{
    gsv_options o = learner_final(l, (int)l->stages - 1);
    struct sums train, held = {.loglik = NAN};
    r->gaps = l->split.trains;
    r->heldout_gaps = l->split.helds;
    int status = sum_up(l, &o, theta, l->split.trains, l->split.train, &train);
    if (!status && l->split.helds)
        status = sum_up(l, &o, theta, l->split.helds, l->split.held, &held);
    if (status) return status;
    double k = (double)r->free;
    r->gaps = train.gaps;
    r->heldout_gaps = held.gaps;
    note_sums(&train, r);
    r->heldout = held.loglik;
    r->sampled = train.sampled;
    r->flagged += held.flagged;
    bool mode = r->priors > 0; /* which does not make the likelihood largest */
    if (isfinite(l->evidence) || learner_matches(l) || r->sampled || mode)
        return 0;
    r->aic = 2.0 * k - 2.0 * r->loglik;
    r->bic = k * log((double)r->gaps) - 2.0 * r->loglik;
    return 0;
}

/* --- How far off --------------------------------------------------------- */

/* The objective's mean, of what was learned from; NaN where it has none. */
static int mean_objective(struct learner *l, const double *theta, double *mean)
{
    struct objective at;
    struct score score = {0};
    gsv_options o = l->stage[0];
    o.gradient = false;
    int status = learner_objective(l, &at, l->aim[0], &o, l->split.trains);
    if (!status)
        status = objective_at(&at, theta, 0, l->split.trains, l->split.train,
                              &score, NULL);
    objective_free(&at);
    *mean = status ? NAN : score.mean;
    return status == GSV_NUMERICAL ? 0 : status;
}

/* Of a squared error also the log-likelihood of all gaps, where there is one:
 * without noise there is none. */
static int note_errors(struct learner *l, const double *theta, gsv_record *r)
{
    enum { NETWORK_PATHS = 16 };
    gsv_options o = learner_usual(l);
    struct sums all = {.loglik = NAN, .variance = NAN};
    if (spec_has_weights(l->m->spec)) o.paths = NETWORK_PATHS;
    int status = mean_objective(l, theta, &r->mse);
    if (status) return status;
    r->mse = -r->mse;
    if (l->o->estimate == GSV_ESTIMATE_NONE) return 0;
    status = sum_up(l, &o, theta, 0, NULL, &all);
    if (status && status != GSV_NUMERICAL) return status;
    if (!status) r->gaps = all.gaps;
    note_sums(&all, r);
    return 0;
}

/* What a regression came to. Where the likelihood is not finite at what it has
 * learned, there is none. */
static int note_match(struct learner *l, const double *theta, gsv_record *r,
                      int likelihood)
{
    if (likelihood && likelihood != GSV_NUMERICAL) return likelihood;
    int status = mean_objective(l, theta, &r->value);
    r->value *= (double)r->gaps;
    return status;
}

static int warn_of_gaps(const struct learner *l, gsv_record *r)
{
    char line[200];
    size_t all = r->sampled ? r->sampled : r->gaps + r->heldout_gaps;
    if (!r->flagged) return 0;
    plain_format(
        line, sizeof line,
        "%zu of %zu %s cannot be trusted; 'girsanov diagnose' lists them "
        "and says what to do\n",
        r->flagged, l->m->spec->effects ? l->s->tracks : all,
        l->m->spec->effects     ? "series"
        : learner_has_groups(l) ? "gaps"
                                : "rows");
    return fit_record_warn(r, line);
}

/* Takes the lines. */
static int warn_lines(gsv_record *r, char *lines)
{
    int status = lines ? fit_record_warn(r, lines) : (int)gsv_last_status();
    gsv_text_free(lines);
    return status;
}

/* Rows outside of the grid of a gp. */
static int warn_of_grids(const struct learner *l, gsv_record *r)
{
    return warn_lines(r, gsv_model_outside(l->m, l->s));
}

/* Velocities that are differences of positions. */
static int warn_of_differences(const struct learner *l, gsv_record *r)
{
    return warn_lines(r, gsv_model_differences(l->m, l->s));
}

/* Levels of categories that may be misspelt. */
static int warn_of_levels(const struct learner *l, gsv_record *r)
{
    return warn_lines(r, gsv_model_doubts(l->m, l->s));
}

/* A quarter of a nat: 0.7 standard deviations of the kernel's number. */
static const double MISSED = 0.25;

static int warn_of_kernels(const struct learner *l, gsv_record *r)
{
    const struct spec *s = l->m->spec;
    if (isnan(l->missed))
        return fit_record_warn(r, "there was no time to check whether the "
                                  "kernel parameters have converged; give a "
                                  "longer --time-limit\n");
    if (!(l->missed > MISSED)) return 0;
    const struct param_spec *p =
        &s->param[spec_param_at(s, l->value[l->missed_by])];
    char line[300];
    plain_format(
        line, sizeof line,
        "the kernels have not settled: the evidence would rise by about "
        "%.2g with another %.100s; take more --iterations, or start "
        "elsewhere by --set\n",
        l->missed, p->name);
    return fit_record_warn(r, line);
}

/* The values are given where a message has room for them. */
static const char *const SPREAD[SPREAD_ENDS] = {
    [SPREAD_OPEN] =
        "the data leave the kernels open: %s may be %.2g as well as %.2g; the "
        "bands of the functions include this, but depend on the prior of the "
        "kernels; use more data, or --fix it at a known value\n",
    [SPREAD_UNSEEN] =
        "the data can hardly tell a function from 0: the evidence is nearly "
        "the same without it; its band depends on the prior of %s; use more "
        "data, or leave the function out\n",
    [SPREAD_LONG] =
        "the data show no end of %s, here from %.2g to %.2g: the function is "
        "nearly a polynomial, and its band is too narrow if it is not; use "
        "more data, or add '+ linear' or '+ quadratic'\n",
    [SPREAD_SHORT] =
        "%s, here from %.2g to %.2g, is about as short as a cell of the grid: "
        "the function may vary between the nodes; use more nodes\n",
    [SPREAD_EDGE] =
        "the evidence is not that of a single kernel: much of it is far from "
        "its maximum, as for %s between %.2g and %.2g; the bands may be too "
        "narrow; use more data, or start elsewhere by --set\n",
    [SPREAD_STOPPED] =
        "there was no time for the uncertainty of the kernels: the bands of "
        "the functions are as if they were known; give a longer --time-limit\n",
    [SPREAD_TOO_WIDE] =
        "the functions have too many directions to include the uncertainty of "
        "their kernels: the bands are as if these were known; use fewer nodes, "
        "or the kernel rbf\n",
    [SPREAD_FAILED] =
        "near the estimate the evidence is not finite for other kernels: the "
        "bands of the functions are as if the kernels were known\n",
};

static int warn_of_spread(const struct learner *l, gsv_record *r)
{
    const struct spec *s = l->m->spec;
    const struct kernel_spread *w = &l->spread;
    char line[400];
    if (!SPREAD[w->end]) return 0;
    const char *name = s->param[spec_param_at(s, l->value[w->by])].name;
    plain_format(line, sizeof line, SPREAD[w->end], name, w->low, w->high);
    return fit_record_warn(r, line);
}

/* In nats a gap: the error that the steps of the last stage may leave. */
static int warn_of_doubt(const struct learner *l, gsv_record *r)
{
    static const double DOUBT = 0.2;
    char line[300];
    if (!(l->doubt > DOUBT)) return 0;
    plain_format(
        line, sizeof line,
        "where the functions were learned, the log-likelihood of a gap "
        "may be off by %.2g: the gaps are too long for its steps; give "
        "more --steps, or take --objective em-linear\n",
        l->doubt);
    return fit_record_warn(r, line);
}

static enum gsv_errors choose_errors(const struct learner *l)
{
    if (l->m->draws) return GSV_ERRORS_POSTERIOR;
    if (l->o->errors != GSV_ERRORS_AUTO) return l->o->errors;
    bool many = spec_has_weights(l->m->spec) ||
                l->o->objective != GSV_OBJECTIVE_LIKELIHOOD;
    return many ? GSV_ERRORS_NONE : GSV_ERRORS_OBSERVED;
}

/* --- The record ---------------------------------------------------------- */

/* How likely the data are, or how far off. */
static int note_estimate(struct learner *l, const double *theta, gsv_record *r)
{
    int status = 0;
    learner_phase(l, GSV_PHASE_ESTIMATE);
    if (learner_integrates(l)) status = note_errors(l, theta, r);
    else if (l->o->estimate != GSV_ESTIMATE_NONE)
        status = note_likelihoods(l, theta, r);
    if (learner_matches(l)) status = note_match(l, theta, r, status);
    return status == GSV_STOPPED ? warn_of_halt(l, r) : status;
}

static int note_warnings(struct learner *l, const double *theta, gsv_record *r)
{
    static int (*const WARN[])(const struct learner *, gsv_record *) = {
        warn_of_gaps,  warn_of_training,    warn_of_search,
        warn_of_grids, warn_of_kernels,     warn_of_spread,
        warn_of_doubt, warn_of_differences, warn_of_levels};
    int status = 0;
    for (size_t i = 0; !status && i < sizeof WARN / sizeof *WARN; i++)
        status = WARN[i](l, r);
    return status ? status : warn_of_few_data(l, theta, r);
}

static int note_uncertainty(struct learner *l, const double *theta,
                            gsv_record *r)
{
    r->errors = choose_errors(l);
    int status = uncertainty_withhold(l, r);
    if (status || r->errors == GSV_ERRORS_NONE) return status;
    if (r->errors == GSV_ERRORS_POSTERIOR)
        return posterior_note(l, l->m->draws, r);
    learner_phase(l, GSV_PHASE_ERRORS);
    return uncertainty(l, theta, r);
}

/* The effects of all series, at the estimate and around it. */
static int note_effects(struct learner *l, const double *theta, gsv_record *r)
{
    size_t cells = l->s->tracks * l->m->spec->effect_size;
    gsv_options o = l->stage[l->stages - 1];
    if (!cells || learner_over(l)) return 0;
    if (l->m->draws) return posterior_effects(l, l->m->draws, r);
    learner_set(l, theta);
    r->effects = l->m->spec->effect_size;
    r->effect = NEW(double, GSV_EFFECTS *cells);
    if (!r->effect) return GSV_NO_MEMORY;
    o.gradient = false;
    int status =
        fit_record_subjects(r, (const char *const *)(const void *)l->s->label);
    if (!status)
        status = effects_estimate(l->m, l->s, &o, r, r->effect,
                                  r->effect + GSV_EFFECT_ERROR * cells);
    if (status != GSV_STOPPED && status != GSV_NUMERICAL) return status;
    mem_free(r->effect);
    r->effect = NULL;
    return 0;
}

int finish(struct learner *l, const double *theta, bool last)
{
    learner_set(l, theta);
    gsv_record *r = fit_record_new(l->m);
    if (!r) return GSV_NO_MEMORY;
    int status = note_facts(l, r);
    if (!status) status = curve_write(&l->curve, r);
    if (!status && last) status = note_estimate(l, theta, r);
    if (!status && last) status = note_warnings(l, theta, r);
    if (!status && last) status = note_uncertainty(l, theta, r);
    if (!status && last) status = note_effects(l, theta, r);
    learner_set(l, theta);
    if (!status) status = effects_to_mean(l->m);
    r->seconds = learner_seconds(l);
    if (status) {
        fit_record_free(r);
        return status;
    }
    fit_record_free(l->m->record);
    l->m->record = r;
    return 0;
}
