/* SPDX-License-Identifier: MIT */
/* A fit under way: its memory, its clock, what its optimisers ask of it. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/comm.h"
#include "base/error.h"
#include "base/memory.h"
#include "estimator/settle.h"
#include "learn/learner.h"
#include "learn/watch.h"
#include "model/theta.h"
#include "observe/observe.h"

/* --- Its beginning and end ------------------------------------------------ */

/* Series in which anything was observed. */
static int count_tracks(const struct learner *l, size_t *tracks)
{
    struct stops s;
    int status = stops_init(&s, l->m, l->s);
    *tracks = 0;
    for (size_t i = 0; !status && i < l->s->tracks; i++)
        *tracks += s.first[i + 1] > s.first[i];
    stops_free(&s);
    return status;
}

static int count_groups(const struct learner *l, size_t *groups)
{
    struct gaps g;
    *groups = 1;
    if (learner_by_tracks(l)) return count_tracks(l, groups);
    if (!learner_has_groups(l)) return 0;
    int status = gaps_find(&g, l->m, l->s);
    if (status) return status;
    bool tracks = l->o->estimator.joint || learner_integrates(l);
    *groups = tracks ? 0 : g.count;
    for (size_t r = 0; tracks && r < l->s->tracks; r++)
        if (g.first[r + 1] > g.first[r]) ++*groups;
    gaps_free(&g);
    return 0;
}

/* Before anything takes long. */
static int make_priors(struct learner *l, const gsv_fit_options *o)
{
    if (!l->free && o->method == GSV_METHOD_GIBBS)
        return fail(GSV_BAD_INPUT, "all parameters are fixed: there is nothing "
                                   "that could have a posterior");
    int status = prior_init(&l->prior, l->m, o, l->fixed, l->value);
    if (status || !l->prior.count || o->objective == GSV_OBJECTIVE_LIKELIHOOD)
        return status;
    return fail(GSV_BAD_INPUT,
                "priors are for the objective likelihood: a posterior has no "
                "other; leave the %s or the --objective out",
                o->priors ? "--prior" : "prior lines of the model");
}

static void set_due(struct learner *l, const gsv_fit_options *o)
{
    l->due = o->time_limit > 0.0 ? clock_seconds() + o->time_limit : INFINITY;
}

/* Asked by all that takes long, on the thread that called. */
static enum halt_reason ask(void *context)
{
    const struct learner *l = context;
    const gsv_fit_options *o = l->o;
    if (o->stop && o->stop(o->user)) return HALT_BY_CALLER;
    bool late = l->due < INFINITY && clock_seconds() >= l->due;
    return late && !l->must_advance ? HALT_BY_TIME : HALT_NOT;
}

static bool any_fixed(const struct learner *l, size_t first, size_t n)
{
    for (size_t i = first; i < first + n; i++)
        if (l->fixed[i]) return true;
    return false;
}

/* The weight matrices of networks, in the order of theta. */
static int find_matrices(struct learner *l)
{
    const struct spec *s = l->m->spec;
    struct soap_matrix *shape = NEW(struct soap_matrix, s->params);
    size_t n = 0;
    if (!shape) return GSV_NO_MEMORY;
    for (size_t i = 0; i < l->n; i++) {
        const struct param_spec *p = &s->param[spec_param_at(s, l->value[i])];
        if (p->offset != l->value[i] || !p->fan_in) continue;
        if (p->rank < 2 || p->bound != BOUND_NONE || p->lower) continue;
        if (any_fixed(l, i, p->rows * p->columns)) continue;
        shape[n++] = (struct soap_matrix){
            .place = i, .rows = p->rows, .columns = p->columns};
    }
    int status = soap_init(&l->soap, n, shape, l->o->estimator.threads);
    mem_free(shape);
    return status;
}

/* Natural gradients know nothing of priors: numbers with one are moved by the
 * optimiser of the weights. */
static int prepare_noise(struct learner *l)
{
    bool *apart = NEW(bool, l->n);
    if (!apart) return GSV_NO_MEMORY;
    for (size_t i = 0; i < l->n; i++)
        apart[i] = l->fixed[i] || l->prior.of[i];
    int status = noise_step_init(&l->noise, l->m, l->s, apart);
    mem_free(apart);
    return status;
}

static int prepare_batches(struct learner *l)
{
    int status = 0;
    l->watched = watch_most(l);
    l->best_value = NEW(double, l->watched);
    if (!l->best_value) return GSV_NO_MEMORY;
    if (l->optimizer == GSV_OPTIMIZER_SOAP) status = find_matrices(l);
    /* Squared errors are no densities; of hidden states it is the search that
     * moves the noise. */
    if (status || learner_integrates(l) || learner_by_tracks(l)) return status;
    return prepare_noise(l);
}

/* Of whole series where that is asked for, unless groups are series already:
 * with joint. */
static int make_split(struct learner *l, const gsv_fit_options *o)
{
    size_t batch = l->ramp ? 2 * o->batch : o->batch;
    uint64_t seed = o->estimator.seed;
    size_t tracks = l->s->tracks;
    if (!o->heldout_series && o->heldout > 0.0 && l->gaps == 1 && tracks > 1)
        return fail(GSV_BAD_INPUT,
                    "the likelihood of this model is no sum over gaps: hold "
                    "whole series out (--heldout series:%g)",
                    o->heldout);
    if (!o->heldout_series)
        return split_init(&l->split, seed, l->gaps, o->heldout, batch);
    struct gaps g;
    int status = gaps_find(&g, l->m, l->s);
    bool gaps = !status && g.first && g.first[tracks] == l->gaps;
    if (!status)
        status = gaps ? split_tracks(&l->split, seed, tracks, g.first,
                                     o->heldout, batch)
                      : split_init(&l->split, seed, l->gaps, o->heldout, batch);
    gaps_free(&g);
    return status;
}

/* Networks that know nothing yet cannot tell what steps they need; a search in
 * two stages asks for them after the first (effort_of_steps). */
static int settle(const struct learner *l, gsv_fit_options *o)
{
    if (o->objective != GSV_OBJECTIVE_LIKELIHOOD ||
        spec_has_weights(l->m->spec))
        return 0;
    bool later = !l->m->spec->gps && (o->optimizer == GSV_OPTIMIZER_AUTO ||
                                      o->optimizer == GSV_OPTIMIZER_LBFGS);
    int status = later ? estimator_settle_method(l->m, l->s, &o->estimator)
                       : estimator_settle(l->m, l->s, &o->estimator);
    return learner_spared(l, status);
}

int learner_init(struct learner *l, gsv_fit_options *o)
{
    size_t n = l->n = gsv_theta_size(l->m);
    const struct arena_part vector[] = {
        {&l->unit, n},         {&l->centre, n}, {&l->penalty, n},
        {&l->theta, n},        {&l->safe, n},   {&l->best, n},
        {&l->best_restart, n}, {&l->first, n},  {&l->move, n}};
    l->began = l->saved = clock_seconds();
    set_due(l, o);
    l->must_advance = o->resume != NULL;
    halt_begin(&l->halt, ask, l);
    l->recipe = recipe_choose(l->m);
    int status = settle(l, o);
    if (status) return status;
    l->method = estimator_choose(&(struct task){.model = l->m,
                                                .options = &o->estimator,
                                                .objective = o->objective})
                    .method;
    status = fit_options_check(l, o);
    if (!status) status = count_groups(l, &l->gaps);
    if (status) return status;
    l->fixed = NEW(bool, n);
    l->value = NEW(size_t, n);
    l->weight = NEW(bool, n);
    if (!l->fixed || !l->value || !l->weight || adam_init(&l->adam, n) ||
        arena_lay(&l->arena, sizeof vector / sizeof *vector, vector))
        return GSV_NO_MEMORY;
    theta_places(l->m, l->value);
    status = theta_select_all(l->m, o->fixed, o->fix, l->fixed);
    for (size_t i = 0; i < n; i++)
        l->free += !l->fixed[i];
    if (!status) status = fit_options_sandwich(l, o);
    if (!status) status = make_priors(l, o);
    effort_plan(l);
    fit_options_fill(l, o);
    if (!status) status = make_split(l, o);
    if (!status && learner_by_batches(l)) status = prepare_batches(l);
    return status ? status : terms_write(l);
}

void learner_free(struct learner *l)
{
    halt_end(&l->halt);
    split_free(&l->split);
    adam_free(&l->adam);
    soap_free(&l->soap);
    noise_step_free(&l->noise);
    prior_free(&l->prior);
    tensors_free(&l->chains);
    arena_free(&l->arena);
    MEM_FREE(l->fixed, l->value, l->weight, l->best_value, l->terms);
}

/* --- What it is at ------------------------------------------------------- */

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
    bool held = isfinite(l->now.best);
    if (!learner_by_batches(l)) memcpy(to, l->theta, l->n * sizeof *to);
    else if (held) memcpy(to, l->best, l->n * sizeof *to);
    else adam_averaged(&l->adam, l->theta, to);
}

bool learner_is_penalised(const struct learner *l, size_t i)
{
    const struct spec *s = l->m->spec;
    const struct param_spec *p = &s->param[spec_param_at(s, l->value[i])];
    return p->fan_in && p->rank == 2 && !l->fixed[i] && !l->prior.of[i];
}

bool learner_by_batches(const struct learner *l)
{
    return l->optimizer == GSV_OPTIMIZER_ADAM ||
           l->optimizer == GSV_OPTIMIZER_SOAP;
}

bool learner_integrates(const struct learner *l)
{
    return l->o->objective != GSV_OBJECTIVE_LIKELIHOOD && !learner_matches(l);
}

bool learner_has_groups(const struct learner *l)
{
    return l->method->selects;
}

bool learner_by_tracks(const struct learner *l)
{
    return l->method->tracks && l->method->tracks(l->m) &&
           learner_by_batches(l) && !learner_integrates(l);
}

double learner_each(const struct learner *l)
{
    bool gaps = learner_has_groups(l) && !learner_by_tracks(l) &&
                !learner_integrates(l) && !l->o->estimator.joint;
    size_t firsts = spec_is_latent(l->m->spec) ? 0 : l->s->tracks;
    return gaps ? 1.0 : (double)(l->s->rows - firsts) / (double)l->gaps;
}

gsv_options learner_usual(const struct learner *l)
{
    gsv_options o = gsv_options_default();
    o.seed = l->o->estimator.seed;
    o.threads = l->o->estimator.threads;
    o.ranks = l->o->estimator.ranks;
    o.wide = l->o->estimator.wide;
    return o;
}

gsv_options learner_final(const struct learner *l, int stage)
{
    /* The last estimate reports a standard error, and its pilot paths need some
     * paths; networks take longer. */
    enum { FEWEST_PATHS = 16 };
    gsv_options o = l->stage[stage];
    bool net = spec_has_weights(l->m->spec);
    o.gradient = false;
    if (l->chosen && !learner_matches(l)) return o;
    o.reference = GSV_REFERENCE_AUTO;
    o.form = GSV_FORM_AUTO;
    /* Of formulas, as many as every gap needs: see refine.h. */
    o.steps = net ? FIRST_STEPS : 0;
    if (!net) o.paths = 0;
    else if (o.paths < FEWEST_PATHS) o.paths = FEWEST_PATHS;
    return o;
}

int learner_objective(const struct learner *l, struct objective *o,
                      enum gsv_objective aim, const gsv_options *options,
                      size_t most)
{
    const struct task task = {.series = l->s,
                              .options = options,
                              .most = most,
                              .by_track = learner_by_tracks(l),
                              .objective = aim,
                              .scheme = l->o->scheme};
    return objective_init(o, l->m, &task);
}

/* --- Whether it goes on --------------------------------------------------- */

enum halt_reason learner_over(const struct learner *l)
{
    return (enum halt_reason)atomic_load(&l->halt.why);
}

int learner_spared(const struct learner *l, int status)
{
    return status == GSV_STOPPED && learner_over(l) ? 0 : status;
}

/* Clocks differ between ranks, and a signal reaches one of them: the ranks must
 * agree. */
int learner_go_on(struct learner *l)
{
    if (!learner_over(l)) halt_asked();
    return comm_stop(l->o->estimator.ranks);
}

void learner_phase(const struct learner *l, enum gsv_phase phase)
{
    if (l->o->phase) l->o->phase(l->o->user, phase);
}

void learner_advance(struct learner *l)
{
    l->must_advance = false;
}

void learner_end_search(struct learner *l)
{
    l->searched = true;
    learner_advance(l);
    halt_forget(&l->halt);
    set_due(l, l->o);
}

void learner_rest(struct learner *l)
{
    enum halt_reason why = learner_over(l);
    if (why == HALT_BY_CALLER) l->ended = GSV_ENDED_STOPPED;
    if (why == HALT_BY_TIME) l->ended = GSV_ENDED_TIME;
}

/* Whether it ends here, by the caller or by time. */
static bool is_over(struct learner *l, bool stopped)
{
    if (stopped) halt_tell(HALT_BY_CALLER);
    int status = learner_go_on(l);
    learner_rest(l);
    l->failed = learner_spared(l, status);
    return status;
}

bool learner_writes(const struct learner *l)
{
    return l->o->checkpoint && !gsv_ranks_rank(l->o->estimator.ranks);
}

/* Iterations of this restart, as far as they can be told. */
static double expected(struct learner *l, const struct score *score)
{
    double most = (double)l->iterations;
    if (l->sampling || !(l->foresight.tolerance > 0.0)) return most;
    double left = foresee(&l->foresight, score->mean * (double)score->gaps);
    double all = l->now.iteration + left;
    return all < most ? all : isnan(left) ? left : most;
}

bool learner_step(struct learner *l, const struct score *score, double rate)
{
    const gsv_fit_options *o = l->o;
    gsv_progress p = {.iteration = (size_t)l->now.iteration,
                      .iterations = l->iterations,
                      .expected = expected(l, score),
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
    if (!stop && learner_writes(l) && clock_seconds() - l->saved >= o->every) {
        enum gsv_ended ended = l->ended;
        l->failed = checkpoint_write(l, o->checkpoint);
        l->ended = ended;
        l->saved = clock_seconds();
    }
    return stop || l->failed;
}
