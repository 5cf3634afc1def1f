/* SPDX-License-Identifier: MIT */
/* A fit from its options to its record: starts, restarts, what it ends with. */
#include <math.h>
#include <string.h>

#include "base/comm.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/option_rules.h"
#include "base/random.h"
#include "data/series.h"
#include "learn/gibbs.h"
#include "learn/noise_settle.h"
#include "learn/sensitivity.h"
#include "learn/start.h"
#include "learn/weight_prior.h"
#include "model/fit_record.h"
#include "model/theta.h"

/* --- Starts --------------------------------------------------------------- */

/* Of hidden states; kept (n). */
static int start_states(struct learner *l, const bool *kept)
{
    bool *value = NEW(bool, l->m->spec->parameters);
    if (!value) return GSV_NO_MEMORY;
    for (size_t i = 0; i < l->n; i++)
        value[l->value[i]] = kept[i];
    int status = start_hidden(l, value);
    mem_free(value);
    return status;
}

/* A model that was fitted before goes on from where it is. */
static int start_from_data(struct learner *l)
{
    bool *kept = NEW(bool, l->n);
    int status = kept ? 0 : GSV_NO_MEMORY;
    if (!status) status = theta_select_all(l->m, l->o->kept, l->o->keep, kept);
    for (size_t i = 0; !status && i < l->n; i++)
        kept[i] = kept[i] || l->fixed[i];
    if (!status && !l->refit && learner_has_groups(l)) {
        /* A flow's scale is one of the noise, and what networks are given is
         * known with it only. */
        bool first = l->m->spec->mapped;
        status = start_flows(l->m, l->s);
        if (!status && first) status = start_noise(l->m, l->s, kept);
        if (!status) status = start_scales(l->m, l->s);
        if (!status && !first) status = start_noise(l->m, l->s, kept);
        if (!status) status = start_terms(l->m, l->s, kept);
    }
    if (!status && !l->refit && learner_by_tracks(l))
        status = start_states(l, kept);
    if (!status && !l->refit) status = start_hidden_terms(l, kept);
    if (!status && !l->refit) status = start_grids(l->m, l->s);
    mem_free(kept);
    return status;
}

/* Of a formula's number, in Adam's rates; of a weight of a network with at most
 * one hidden layer. */
static const double NOISE_UNIT = 10.0, SHALLOW = 4.0;

/* Of batches of all series: steps are long enough. */
static const double LONG_RATE = 0.02;

/* Whether the network of parameter p, a weight, has at most one hidden layer:
 * its name goes on with the number of the layer. */
static bool is_shallow(const struct spec *s, size_t p)
{
    size_t name = strcspn(s->param[p].name, ".[");
    for (size_t q = 0; q < s->params; q++) {
        const char *other = s->param[q].name;
        if (strncmp(other, s->param[p].name, name)) continue;
        if (!strncmp(other + name, ".2.", 3)) return false;
    }
    return true;
}

/* A weight's step is Adam's rate, longer where one layer must do what several
 * do together by products of their weights. A formula's numbers are fewer and
 * further away, in units of their own. */
static double unit_of_weight(const struct learner *l, size_t p)
{
    bool slow = l->aim[0] == GSV_OBJECTIVE_SLOPES ||
                (learner_by_tracks(l) && l->o->rate < LONG_RATE);
    return slow && is_shallow(l->m->spec, p) ? SHALLOW : 1.0;
}

static void set_units(struct learner *l)
{
    const struct spec *s = l->m->spec;
    for (size_t i = 0; i < l->n; i++) {
        size_t p = spec_param_at(s, l->value[i]);
        bool bounded = s->param[p].bound != BOUND_NONE || s->param[p].lower;
        double own = bounded ? 1.0 : fmax(fabs(l->first[i]), 1.0);
        l->weight[i] = s->param[p].fan_in > 0;
        l->unit[i] = l->fixed[i]    ? 0.0
                     : l->weight[i] ? unit_of_weight(l, p)
                                    : NOISE_UNIT * own;
    }
}

/* Where a restart begins: other weights, and formulas' numbers moved. */
static void place_start(struct learner *l, const double *first)
{
    size_t restart = (size_t)l->now.restart;
    struct random_key key = {
        .seed = l->o->estimator.seed, .purpose = RANDOM_START, .item = restart};
    gsv_theta_set(l->m, first);
    if (restart) {
        gsv_model_draw(l->m, l->o->estimator.seed + restart * 7919);
        gsv_theta_get(l->m, l->theta);
    } else {
        memcpy(l->theta, first, l->n * sizeof *first);
    }
    for (size_t i = 0; restart && i < l->n; i++) {
        double z;
        random_normals(&key, i, 1, 0, 1, &z);
        if (l->fixed[i]) l->theta[i] = first[i];
        else if (!l->weight[i])
            l->theta[i] = first[i] + 0.5 * z * fmax(1.0, fabs(first[i]));
    }
}

/* --- Restarts ----------------------------------------------------------- */

static void reset(struct learner *l)
{
    effort_plan(l);
    memset(l->move, 0, l->n * sizeof *l->move);
    l->now = (struct standing){.restart = l->now.restart,
                               .best_score = l->now.best_score,
                               .seconds = l->now.seconds,
                               .total = l->now.total,
                               .factor = 1.0,
                               .heldout = NAN,
                               .best = -INFINITY,
                               .looked_at = -1.0};
    if (l->soap.matrices) soap_reset(&l->soap);
    for (size_t i = 0; i < l->n; i++)
        l->adam.mean[i] = l->adam.square[i] = l->adam.average[i] = 0.0;
    l->adam.steps = l->adam.weight = l->adam.length = 0.0;
    l->adam.averaged = 0.0;
}

static bool can_go_on(const struct learner *l)
{
    return l->ended == GSV_ENDED_STOPPED || l->ended == GSV_ENDED_TIME;
}

/* What restarts are compared by: the evidence where there is one, or the mean,
 * held out where that is possible. */
static int rank(struct learner *l, const double *theta, double *score)
{
    *score = l->evidence;
    if (l->m->spec->gps) return 0;
    /* The same for all: a restart chooses its own paths and steps. */
    gsv_options o = l->stage[0];
    if (!l->chosen) {
        o = learner_usual(l);
        o.paths = 16;
    }
    struct objective at;
    struct score mean = {0};
    bool held = l->split.helds > 0;
    size_t n = held ? l->split.helds : l->split.trains;
    o.gradient = false;
    int status = learner_objective(l, &at, l->o->objective, &o, n);
    if (!status)
        status =
            objective_at(&at, theta, 0, n,
                         held ? l->split.held : l->split.train, &mean, NULL);
    objective_free(&at);
    if (!status && !held)
        status = prior_add(&l->prior, 1.0 / (learner_each(l) * (double)n),
                           &mean.mean, NULL);
    *score = status ? -INFINITY : mean.mean;
    return status == GSV_NUMERICAL ? 0 : status;
}

static int keep_best(struct learner *l)
{
    double score;
    learner_result(l, l->theta);
    int status = l->stages < 2 ? noise_settle(l, l->theta) : 0;
    if (!status && l->o->restarts > 1) status = rank(l, l->theta, &score);
    if (status) return status;
    if (l->o->restarts > 1 && l->now.restart > 0.0 &&
        !(score > l->now.best_score))
        return 0;
    if (l->o->restarts > 1) l->now.best_score = score;
    memcpy(l->best_restart, l->theta, l->n * sizeof *l->best_restart);
    return 0;
}

static int run_restarts(struct learner *l)
{
    bool batches = learner_by_batches(l);
    for (; (size_t)l->now.restart < l->o->restarts; l->now.restart += 1.0) {
        if (!l->resumed) {
            reset(l);
            place_start(l, l->first);
            weight_prior_begin(l);
        }
        l->resumed = false;
        int status = batches           ? learn_batches(l)
                     : l->m->spec->gps ? learn_evidence(l)
                                       : learn_lbfgs(l);
        if (!status) status = l->failed;
        status = learner_spared(l, status);
        if (status == GSV_NUMERICAL && l->now.restart > 0.0) continue;
        if (status) return status;
        if (can_go_on(l)) return 0;
        status = keep_best(l);
        if (status == GSV_STOPPED) learner_rest(l);
        if (status) return learner_spared(l, status);
        l->now.total += l->now.iteration;
        l->now.iteration = 0.0;
    }
    return 0;
}

static int conclude_at(struct learner *l, double *theta)
{
    bool begun = l->now.factor > 0.0;
    int status = l->m->spec->gps && begun ? evidence_conclude(l, theta) : 0;
    if (!status) status = finish(l, theta, true);
    if (!status && l->compared && !can_go_on(l))
        status = uncertainty_compare(l, theta, l->compared);
    return status || can_go_on(l) ? status : bootstrap(l, theta);
}

/* An unfinished fit ends with what it has; a finished one with its best. */
static int conclude(struct learner *l)
{
    double *theta = l->best_restart;
    learner_end_search(l);
    tensors_free(&l->m->state);
    if (!can_go_on(l)) return conclude_at(l, theta);
    theta = NEW(double, l->n);
    if (!theta) return GSV_NO_MEMORY;
    learner_result(l, theta);
    int status = conclude_at(l, theta);
    if (!status) status = checkpoint_keep(l);
    if (!status && learner_writes(l))
        status = gsv_model_write(l->m, l->o->checkpoint);
    mem_free(theta);
    return status;
}

/* Left before it began: a resume begins it. */
static int leave_at_start(struct learner *l)
{
    memcpy(l->m->value, l->kept, l->m->spec->parameters * sizeof *l->kept);
    gsv_theta_get(l->m, l->first);
    memcpy(l->theta, l->first, l->n * sizeof *l->theta);
    l->now.best = -INFINITY;
    learner_rest(l);
    return conclude(l);
}

/* Where the first restart begins. */
static int start(struct learner *l)
{
    learner_phase(l, GSV_PHASE_START);
    int status = start_from_data(l);
    learner_phase(l, GSV_PHASE_SEARCH);
    if (!status || status == GSV_STOPPED)
        status = comm_stop(l->o->estimator.ranks);
    if (!status) status = prior_obey(&l->prior, l->m, l->kept);
    if (status) return status;
    gsv_theta_get(l->m, l->first);
    memcpy(l->theta, l->first, l->n * sizeof *l->theta);
    status = learner_see(l);
    effort_plan(l);
    return status;
}

/* A model whose fit was left before it began is no fitted one. */
static int start_or_resume(struct learner *l)
{
    int status = start(l);
    if (status || !l->o->resume) return status;
    status = checkpoint_read(l, l->o->resume);
    if (status || l->resumed || !l->refit) return status;
    l->refit = false;
    return start(l);
}

static int run_fit(struct learner *l)
{
    int status = start_or_resume(l);
    if (status == GSV_STOPPED) return leave_at_start(l);
    if (status) return status;
    set_units(l);
    status = run_restarts(l);
    if (status) return status;
    bool sampled = l->o->method == GSV_METHOD_GIBBS && !can_go_on(l);
    return sampled ? gibbs(l, l->best_restart) : conclude(l);
}

/* Where the fit fails, the model gets its earlier record back. */
static int fit_as(gsv_model *m, const gsv_series *s, const gsv_fit_options *o,
                  const struct compared *c, bool likelihood_alone)
{
    size_t values = m->spec->parameters;
    gsv_fit_options full = *o;
    draws_free(m->draws);
    m->draws = NULL;
    gsv_model before = *m;
    struct learner l = {.m = m, .s = s, .o = &full, .given = o, .compared = c};
    l.refit = before.record != NULL;
    l.likelihood_alone = likelihood_alone;
    l.evidence = NAN;
    l.kept = NEW(double, values);
    if (!l.kept) return GSV_NO_MEMORY;
    memcpy(l.kept, m->value, values * sizeof *l.kept);
    m->record = NULL;
    m->state = m->posterior = (struct tensors){0};
    int status = learner_init(&l, &full);
    if (!status) status = run_fit(&l);
    if (status) memcpy(m->value, l.kept, values * sizeof *l.kept);
    if (status) draws_free(m->draws);
    gsv_model *unused = status ? m : &before;
    fit_record_free(unused->record);
    tensors_free(&unused->state);
    tensors_free(&unused->posterior);
    if (status) *m = before;
    mem_free(l.kept);
    learner_free(&l);
    return status;
}

int fit_compared(gsv_model *m, const gsv_series *s, const gsv_fit_options *o,
                 const struct compared *c)
{
    return fit_as(m, s, o, c, false);
}

int fit_likelihood(gsv_model *m, const gsv_series *s, const gsv_fit_options *o)
{
    return fit_as(m, s, o, NULL, true);
}

enum gsv_status gsv_fit(gsv_model *m, const gsv_series *s,
                        const gsv_fit_options *o)
{
    if (ANY_NULL(m, s, o)) return GSV_BAD_INPUT;
    if (option_check(GSV_OF_FIT, o) || series_check(s)) return GSV_BAD_INPUT;
    int status = gsv_model_bind(m, s);
    if (status) return status;
    bool whole = spec_is_latent(m->spec) || m->spec->effects;
    return o->heldout_series && whole ? fit_heldout(m, s, o)
                                      : fit_compared(m, s, o, NULL);
}
