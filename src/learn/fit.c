/* SPDX-License-Identifier: MIT */
/* A fit from its options to its record: starts, restarts, the clock. */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/comm.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "learn/gibbs.h"
#include "learn/start.h"
#include "sde/fit_record.h"
#include "sde/theta.h"

gsv_fit_options gsv_fit_options_default(void)
{
    gsv_options estimator = gsv_options_default();
    estimator.paths = estimator.steps = 0;
    return (gsv_fit_options){.estimator = estimator,
                             .restarts = 1,
                             .clip = 10.0,
                             .average = 0.98,
                             .heldout = -1.0,
                             .patience = 0.2,
                             .every = 30.0,
                             .chains = 4,
                             .warmup = 500,
                             .draws = 1000};
}

/* --- The clock ---------------------------------------------------------- */

double learner_seconds(const struct learner *l)
{
    return l->now.seconds + clock_seconds() - l->began;
}

void learner_set(struct learner *l, const double *theta)
{
    gsv_theta_set(l->m, theta);
    for (size_t i = 0; i < l->n; i++)
        if (l->fixed[i]) l->m->value[l->value[i]] = l->kept[l->value[i]];
}

void learner_result(const struct learner *l, double *to)
{
    bool held = l->split.helds && isfinite(l->now.best);
    if (l->optimizer != GSV_OPTIMIZER_ADAM)
        memcpy(to, l->theta, l->n * sizeof *to);
    else if (held) memcpy(to, l->best, l->n * sizeof *to);
    else adam_averaged(&l->adam, l->theta, to);
}

bool learner_integrates(const struct learner *l)
{
    return l->o->objective != GSV_OBJECTIVE_LIKELIHOOD && !learner_matches(l);
}

int learner_objective(const struct learner *l, struct objective *o,
                      const gsv_options *options, size_t most)
{
    if (!learner_integrates(l))
        return objective_init(o, l->m, l->s, options, most);
    struct integrate_options mse = objective_integrates(l->o, options);
    return objective_init_mse(o, l->m, l->s, &mse);
}

/* Whether it ends here: because somebody said so, or because its time is over.
 * Clocks differ between ranks, and signals come to one of them: so they agree
 * on it. */
static bool is_over(struct learner *l, bool stopped)
{
    enum { GO_ON, TIME, STOP };
    const gsv_fit_options *o = l->o;
    bool late =
        o->time_limit > 0.0 && clock_seconds() - l->began >= o->time_limit;
    unsigned why = stopped ? STOP : late ? TIME : GO_ON;
    l->failed = comm_most(o->estimator.ranks, &why);
    if (why == STOP) l->ended = GSV_ENDED_STOPPED;
    if (why == TIME) l->ended = GSV_ENDED_TIME;
    return l->failed || why != GO_ON;
}

/* Of several ranks the first one alone. */
static bool writes(const struct learner *l)
{
    return l->o->checkpoint && !gsv_ranks_rank(l->o->estimator.ranks);
}

bool learner_step(struct learner *l, const struct score *score, double rate)
{
    const gsv_fit_options *o = l->o;
    gsv_progress p = {.iteration = (size_t)l->now.iteration,
                      .iterations = l->iterations,
                      .restart = (size_t)l->now.restart + 1,
                      .restarts = o->restarts,
                      .gaps = l->now.place,
                      .objective = o->objective,
                      .loglik = score->mean,
                      .error = score->error,
                      .heldout = l->now.heldout,
                      .rate = rate,
                      .seconds = learner_seconds(l),
                      .model = l->m};
    curve_add(&l->curve,
              (double[GSV_CURVES]){l->now.total + l->now.iteration,
                                   l->now.restart + 1.0, p.loglik, p.heldout});
    bool stop = is_over(l, o->progress && o->progress(o->user, &p));
    if (!stop && writes(l) && clock_seconds() - l->saved >= o->every) {
        enum gsv_ended ended = l->ended;
        l->failed = checkpoint_write(l, o->checkpoint);
        l->ended = ended;
        l->saved = clock_seconds();
    }
    return stop || l->failed;
}

/* --- Options ------------------------------------------------------------ */

static int check_options(const gsv_fit_options *o)
{
    if (!(o->rate >= 0.0) || !isfinite(o->rate) || !(o->decay >= 0.0) ||
        !(o->clip >= 0.0))
        return fail(GSV_BAD_INPUT, "rate, decay and clip of a fit must be "
                                   "positive");
    if (!(o->average >= 0.0 && o->average < 1.0))
        return fail(GSV_BAD_INPUT,
                    "the average's memory is %g, but must be from 0 to below 1",
                    o->average);
    if (!(o->heldout < 1.0) || !(o->patience >= 0.0))
        return fail(GSV_BAD_INPUT,
                    "the held-out share is %g and the patience %g, but shares "
                    "are from 0 to below 1",
                    o->heldout, o->patience);
    if (!o->restarts) return fail(GSV_BAD_INPUT, "restarts begin at 1");
    if (o->iterations > 4000000000u)
        return fail(GSV_BAD_INPUT, "at most 4e9 iterations");
    if (o->estimator.form == GSV_FORM_BOUND)
        return fail(GSV_BAD_INPUT, "the form bound is no likelihood: learn by "
                                   "it as the objective em-linear");
    return 0;
}

/* Of the method: what belongs to the other one would be passed over. */
static int check_method(const struct learner *l, const gsv_fit_options *o)
{
    if (o->method == GSV_METHOD_LIKELIHOOD) {
        if (!o->priors && o->errors != GSV_ERRORS_POSTERIOR) return 0;
        return fail(GSV_BAD_INPUT, "priors and posterior errors are for the "
                                   "method gibbs");
    }
    if (l->m->spec->nets)
        return fail(GSV_BAD_INPUT, "the method gibbs is for models of formulas "
                                   "alone; this one has a network");
    if (o->checkpoint || o->resume)
        return fail(GSV_BAD_INPUT, "the method gibbs has no checkpoints and "
                                   "cannot be resumed");
    if (o->estimator.richardson || o->estimator.delta)
        return fail(GSV_BAD_INPUT,
                    "richardson and delta would spoil a posterior: they are "
                    "not unbiased; take more steps or paths");
    if (o->errors != GSV_ERRORS_AUTO && o->errors != GSV_ERRORS_POSTERIOR)
        return fail(GSV_BAD_INPUT, "the method gibbs has errors from its draws "
                                   "alone");
    if (o->heldout > 0.0)
        return fail(GSV_BAD_INPUT, "the method gibbs holds no gaps out");
    if (!o->chains || !o->draws || o->chains > 1000 ||
        (double)(o->draws + o->warmup) * (double)o->chains > 1e9)
        return fail(GSV_BAD_INPUT,
                    "chains are from 1 to 1000, draws from 1 on, and all "
                    "iterations together at most 1e9");
    return 0;
}

/* Of the objective: what a squared error has no use for. */
static int check_objective(const struct learner *l, const gsv_fit_options *o)
{
    const gsv_options *e = &o->estimator;
    if (learner_matches(l)) return match_check(l, o);
    if (!learner_integrates(l)) return 0;
    if (o->method == GSV_METHOD_GIBBS)
        return fail(GSV_BAD_INPUT, "a mean squared error has no posterior: the "
                                   "method gibbs is for the likelihood");
    if (o->optimizer == GSV_OPTIMIZER_LBFGS)
        return fail(GSV_BAD_INPUT, "a mean squared error of random paths is "
                                   "learned by adam; lbfgs is for the "
                                   "likelihood");
    if (o->errors != GSV_ERRORS_AUTO && o->errors != GSV_ERRORS_NONE)
        return fail(GSV_BAD_INPUT, "a mean squared error gives no standard "
                                   "errors; they need the likelihood");
    if (e->reference != GSV_REFERENCE_AUTO || e->form != GSV_FORM_AUTO ||
        e->joint || e->richardson || e->delta)
        return fail(GSV_BAD_INPUT,
                    "reference, form, joint, richardson and delta are the "
                    "likelihood's: a mean squared error takes paths, steps, "
                    "step and scheme");
    if (spec_is_latent(l->m->spec))
        return fail(GSV_BAD_INPUT,
                    "a mean squared error needs states that are observed "
                    "themselves, but this model observes them with noise; use "
                    "the objective likelihood");
    return 0;
}

/* Adam's usual numbers, where nothing else was asked for. */
static const double RATE = 5e-3, HELDOUT = 0.05, NOISE_UNIT = 10.0;
enum { ADAM_ITERATIONS = 3000, LBFGS_ITERATIONS = 1000, BATCH = 256 };
enum { FEWEST_TO_HOLD = 100 };

/* Models with a gp have an optimiser of their own, and it has no others. */
static int choose_optimizer(struct learner *l, const gsv_fit_options *o)
{
    const struct spec *s = l->m->spec;
    bool own = o->optimizer == GSV_OPTIMIZER_EVIDENCE;
    l->optimizer = o->optimizer;
    if (o->optimizer == GSV_OPTIMIZER_AUTO)
        l->optimizer = s->gps ? GSV_OPTIMIZER_EVIDENCE
                       : s->nets || learner_integrates(l) ? GSV_OPTIMIZER_ADAM
                                                          : GSV_OPTIMIZER_LBFGS;
    if (s->gps && learner_integrates(l))
        return fail(GSV_BAD_INPUT,
                    "a model with a gp is learned by its evidence, not by a "
                    "mean squared error");
    if (s->gps && o->errors == GSV_ERRORS_SANDWICH)
        return fail(GSV_BAD_INPUT,
                    "the errors of a model with a gp come from the curvature "
                    "of its evidence, which is no sum over gaps: there is no "
                    "sandwich of it; take --errors observed");
    if (o->optimizer == GSV_OPTIMIZER_AUTO) return 0;
    if (own != (s->gps > 0))
        return fail(GSV_BAD_INPUT,
                    s->gps ? "a model with a gp is learned by its evidence: "
                             "leave the optimizer out"
                           : "the optimizer 'evidence' is for models with a "
                             "gp: use adam or lbfgs");
    return 0;
}

static void choose_defaults(struct learner *l, gsv_fit_options *o)
{
    bool nets = l->m->spec->nets > 0;
    bool adam = l->optimizer == GSV_OPTIMIZER_ADAM;
    if (!o->iterations)
        o->iterations = adam ? ADAM_ITERATIONS : LBFGS_ITERATIONS;
    if (!(o->rate > 0.0)) o->rate = RATE;
    if (o->heldout < 0.0)
        o->heldout = nets && adam && l->gaps >= FEWEST_TO_HOLD ? HELDOUT : 0.0;
    l->ramp = !o->batch;
    if (l->ramp) o->batch = BATCH;
    l->iterations = o->iterations;
}

/* --- Theta -------------------------------------------------------------- */

static int select_all(const gsv_model *m, size_t names, const char *const *name,
                      bool *chosen)
{
    int status = 0;
    for (size_t i = 0; !status && i < names; i++)
        status = theta_select(m, name[i], chosen);
    return status;
}

/* A weight's step is Adam's rate. A formula's numbers are fewer and further
 * away, in units of their own. */
static void set_units(struct learner *l)
{
    const struct spec *s = l->m->spec;
    for (size_t i = 0; i < l->n; i++) {
        const struct param_spec *p = &s->param[spec_param_at(s, l->value[i])];
        bool bounded = p->bound != BOUND_NONE || p->lower;
        double own = bounded ? 1.0 : fmax(fabs(l->first[i]), 1.0);
        l->weight[i] = p->fan_in > 0;
        l->unit[i] = l->fixed[i] ? 0.0 : l->weight[i] ? 1.0 : NOISE_UNIT * own;
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

/* --- Terms -------------------------------------------------------------- */

static uint64_t hash(uint64_t h, size_t bytes, const void *data)
{
    const unsigned char *c = data;
    for (size_t i = 0; i < bytes; i++)
        h = (h ^ c[i]) * 1099511628211u;
    return h;
}

static uint64_t hash_data(const gsv_series *s)
{
    uint64_t h = 1469598103934665603u;
    h = hash(h, s->rows * sizeof *s->time, s->time);
    h = hash(h, s->rows * s->columns * sizeof *s->value, s->value);
    return hash(h, (s->tracks + 1) * sizeof *s->start, s->start);
}

static int put_word(json_t *all, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int put_word(json_t *all, const char *key, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    json_t *word = json_vsprintf(format, args);
    va_end(args);
    return json_object_set_new(all, key, word);
}

static int put_fixed(const struct learner *l, json_t *all)
{
    uint64_t h = hash(1469598103934665603u, l->n * sizeof *l->fixed, l->fixed);
    for (size_t i = 0; i < l->n; i++)
        if (l->fixed[i]) h = hash(h, sizeof *l->kept, &l->kept[l->value[i]]);
    return put_word(all, "--fix", "%" PRIx64, h);
}

/* Everything that the bits of a fit depend on. */
static int write_terms(struct learner *l)
{
    const gsv_fit_options *o = l->o;
    const gsv_options *e = &o->estimator;
    json_t *all = json_object();
    int lost = put_word(all, "model", "%s", l->m->text);
    lost |= put_word(all, "data", "%" PRIx64, hash_data(l->s));
    lost |= put_word(all, "--optimizer", "%d", l->optimizer);
    lost |= put_word(all, "--schedule", "%d", o->schedule);
    lost |= put_word(all, "--objective", "%d", o->objective);
    lost |= put_word(all, "--scheme", "%d", o->scheme);
    lost |= put_word(all, "--iterations", "%zu", o->iterations);
    lost |= put_word(all, "--batch", "%zu", l->ramp ? 0 : o->batch);
    lost |= put_word(all, "--restarts", "%zu", o->restarts);
    lost |= put_word(all, "--rate", "%.17g", o->rate);
    lost |= put_word(all, "--decay", "%.17g", o->decay);
    lost |= put_word(all, "--clip", "%.17g", o->clip);
    lost |= put_word(all, "--average", "%.17g", o->average);
    lost |= put_word(all, "--heldout", "%.17g", o->heldout);
    lost |= put_word(all, "--patience", "%.17g", o->patience);
    lost |= put_word(all, "--seed", "%" PRIu64, e->seed);
    lost |= put_word(all, "estimator option",
                     "%zu %zu %.17g %d %d %d %d %d "
                     "%d %d %d %zu",
                     e->paths, e->steps, e->step, e->reference, e->form,
                     e->random, e->richardson, e->delta, e->joint, e->wide,
                     e->observe, e->points);
    lost |= put_fixed(l, all);
    char *text = lost ? NULL : json_dumps(all, 0);
    json_decref(all);
    l->terms = text ? mem_string(text) : NULL;
    free(text);
    return l->terms ? 0 : fail(GSV_NO_MEMORY, "out of memory");
}

/* --- Beginning ---------------------------------------------------------- */

static int count_groups(const struct learner *l, size_t *groups)
{
    struct gaps g;
    *groups = 1;
    if (spec_is_latent(l->m->spec)) return 0; /* all stops hang together */
    int status = gaps_find(&g, l->m, l->s);
    if (status) return status;
    bool tracks = l->o->estimator.joint || learner_integrates(l);
    *groups = tracks ? 0 : g.count;
    for (size_t r = 0; tracks && r < l->s->tracks; r++)
        if (g.first[r + 1] > g.first[r]) ++*groups;
    gaps_free(&g);
    return 0;
}

/* A model that was fitted before goes on from where it is. */
static int start_from_data(struct learner *l)
{
    bool *kept = NEW(bool, l->n);
    int status = kept ? 0 : GSV_NO_MEMORY;
    if (!status) status = select_all(l->m, l->o->kept, l->o->keep, kept);
    for (size_t i = 0; !status && i < l->n; i++)
        kept[i] = kept[i] || l->fixed[i];
    if (!status && !l->refit && !l->m->calls && !spec_is_latent(l->m->spec)) {
        /* A flow's scale is one of the noise, and what networks are given is
         * known with it only. */
        bool first = l->m->spec->mapped;
        status = start_flows(l->m, l->s);
        if (!status && first) status = start_noise(l->m, l->s, kept);
        if (!status) status = start_scales(l->m, l->s);
        if (!status && !first) status = start_noise(l->m, l->s, kept);
    }
    if (!status && !l->refit) status = start_grids(l->m, l->s);
    mem_free(kept);
    return status;
}

/* Before anything takes long. */
static int check_priors(const struct learner *l)
{
    struct prior p = {0};
    if (l->o->method != GSV_METHOD_GIBBS) return 0;
    if (!l->free)
        return fail(GSV_BAD_INPUT, "all parameters are fixed: there is nothing "
                                   "that could have a posterior");
    int status = prior_init(&p, l);
    prior_free(&p);
    return status;
}

static int learner_init(struct learner *l, gsv_fit_options *o)
{
    size_t n = l->n = gsv_theta_size(l->m);
    double **vector[] = {&l->unit,     &l->theta, &l->safe, &l->best,
                         &l->champion, &l->first, &l->move};
    l->began = l->saved = clock_seconds();
    int status = check_options(o);
    if (!status) status = check_objective(l, o);
    if (!status) status = choose_optimizer(l, o);
    if (!status) status = check_method(l, o);
    if (!status) status = count_groups(l, &l->gaps);
    if (status) return status;
    choose_defaults(l, o);
    for (size_t i = 0; i < sizeof vector / sizeof *vector; i++)
        if (!(*vector[i] = NEW(double, n))) return GSV_NO_MEMORY;
    l->fixed = NEW(bool, n);
    l->value = NEW(size_t, n);
    l->weight = NEW(bool, n);
    if (!l->fixed || !l->value || !l->weight || adam_init(&l->adam, n))
        return GSV_NO_MEMORY;
    theta_places(l->m, l->value);
    status = select_all(l->m, o->fixed, o->fix, l->fixed);
    for (size_t i = 0; i < n; i++)
        l->free += !l->fixed[i];
    if (!status) status = check_priors(l);
    if (!status)
        status = split_init(&l->split, o->estimator.seed, l->gaps, o->heldout,
                            l->ramp ? 2 * o->batch : o->batch);
    if (!status) effort_plan(l);
    return status ? status : write_terms(l);
}

static void learner_free(struct learner *l)
{
    split_free(&l->split);
    adam_free(&l->adam);
    mem_free(l->fixed);
    mem_free(l->value);
    mem_free(l->weight);
    mem_free(l->unit);
    mem_free(l->theta);
    mem_free(l->safe);
    mem_free(l->best);
    mem_free(l->champion);
    mem_free(l->first);
    mem_free(l->move);
    mem_free(l->terms);
}

/* --- Restarts ----------------------------------------------------------- */

static void reset(struct learner *l)
{
    effort_plan(l);
    memset(l->move, 0, l->n * sizeof *l->move);
    l->now = (struct standing){.restart = l->now.restart,
                               .champion = l->now.champion,
                               .seconds = l->now.seconds,
                               .total = l->now.total,
                               .factor = 1.0,
                               .heldout = NAN,
                               .best = -INFINITY};
    for (size_t i = 0; i < l->n; i++)
        l->adam.mean[i] = l->adam.square[i] = l->adam.average[i] = 0.0;
    l->adam.steps = l->adam.weight = l->adam.length = 0.0;
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
        o = gsv_options_default();
        o.paths = 16;
        o.seed = l->o->estimator.seed;
        o.threads = l->o->estimator.threads;
        o.wide = l->o->estimator.wide;
    }
    struct objective at;
    struct score mean;
    bool held = l->split.helds > 0;
    size_t n = held ? l->split.helds : l->split.trains;
    o.gradient = false;
    int status = learner_objective(l, &at, &o, n);
    if (!status)
        status =
            objective_at(&at, theta, 0, n,
                         held ? l->split.held : l->split.train, &mean, NULL);
    objective_free(&at);
    *score = status ? -INFINITY : mean.mean;
    return status == GSV_NUMERICAL ? 0 : status;
}

static int crown(struct learner *l)
{
    double score;
    learner_result(l, l->theta);
    int status = l->o->restarts > 1 ? rank(l, l->theta, &score) : 0;
    if (status) return status;
    if (l->o->restarts > 1 && l->now.restart > 0.0 &&
        !(score > l->now.champion))
        return 0;
    if (l->o->restarts > 1) l->now.champion = score;
    memcpy(l->champion, l->theta, l->n * sizeof *l->champion);
    return 0;
}

static int run_restarts(struct learner *l)
{
    bool adam = l->optimizer == GSV_OPTIMIZER_ADAM;
    for (; (size_t)l->now.restart < l->o->restarts; l->now.restart += 1.0) {
        if (!l->resumed) {
            reset(l);
            place_start(l, l->first);
        }
        l->resumed = false;
        int status = adam              ? learn_adam(l)
                     : l->m->spec->gps ? learn_evidence(l)
                                       : learn_lbfgs(l);
        if (!status) status = l->failed;
        if (status == GSV_NUMERICAL && l->now.restart > 0.0) continue;
        if (status) return status;
        if (can_go_on(l)) return 0;
        status = crown(l);
        if (status) return status;
        l->now.total += l->now.iteration;
        l->now.iteration = 0.0;
    }
    return 0;
}

static int conclude_at(struct learner *l, double *theta)
{
    int status = l->m->spec->gps ? evidence_conclude(l, theta) : 0;
    return status ? status : finish(l, theta, true);
}

/* An unfinished fit ends with what it has; a finished one with its best. */
static int conclude(struct learner *l)
{
    double *theta = l->champion;
    tensors_free(&l->m->state);
    if (!can_go_on(l)) return conclude_at(l, theta);
    theta = NEW(double, l->n);
    if (!theta) return GSV_NO_MEMORY;
    learner_result(l, theta);
    int status = conclude_at(l, theta);
    if (!status) status = checkpoint_keep(l);
    if (!status && writes(l)) status = gsv_model_write(l->m, l->o->checkpoint);
    mem_free(theta);
    return status;
}

static int run_fit(struct learner *l)
{
    int status = start_from_data(l);
    if (status) return status;
    gsv_theta_get(l->m, l->first);
    memcpy(l->theta, l->first, l->n * sizeof *l->theta);
    if (l->o->resume) status = checkpoint_read(l, l->o->resume);
    if (status) return status;
    set_units(l);
    status = run_restarts(l);
    if (status) return status;
    bool sampled = l->o->method == GSV_METHOD_GIBBS && !can_go_on(l);
    return sampled ? gibbs(l, l->champion) : conclude(l);
}

/* The record of before comes back where nothing has come of the fit. */
int gsv_fit(gsv_model *m, const gsv_series *s, const gsv_fit_options *options)
{
    size_t values = m->spec->parameters;
    gsv_fit_options o = *options;
    gsv_record *record = m->record;
    struct tensors state = m->state, posterior = m->posterior;
    struct learner l = {.m = m, .s = s, .o = &o};
    l.refit = record != NULL;
    l.evidence = NAN;
    l.kept = NEW(double, values);
    if (!l.kept) return GSV_NO_MEMORY;
    memcpy(l.kept, m->value, values * sizeof *l.kept);
    m->record = NULL;
    m->state = m->posterior = (struct tensors){0};
    draws_free(m->draws);
    m->draws = NULL;
    int status = learner_init(&l, &o);
    if (!status) status = run_fit(&l);
    if (status) {
        memcpy(m->value, l.kept, values * sizeof *l.kept);
        draws_free(m->draws);
        m->draws = NULL;
        fit_record_free(m->record);
        tensors_free(&m->state);
        tensors_free(&m->posterior);
        m->record = record;
        m->state = state;
        m->posterior = posterior;
    } else {
        fit_record_free(record);
        tensors_free(&state);
        tensors_free(&posterior);
    }
    mem_free(l.kept);
    learner_free(&l);
    return status;
}
