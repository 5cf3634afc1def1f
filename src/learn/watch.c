/* SPDX-License-Identifier: MIT */
#include "learn/watch.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "learn/weight_prior.h"

/* The number of looks, and the fewest iterations between two. */
enum { LOOKS = 100, LEAST_APART = 10, SAMPLE = 512, PATHS = 16, SELDOM = 3 };

/* Looks after which a second stage ends that has not improved on the first. */
static const double TRIALS = 2.0;

/* A plateau: after so many looks without an improvement the rate is halved. */
static const double PLATEAU = 5.0;

/* A later state is kept where it is worse than the best one by no more than so
 * many standard errors of the difference: early states owe more of their value
 * to chance. */
static const double AS_GOOD = 1.0;

/* Standard errors of a difference that may be chance. */
static const double CHANCE = 2.0;

/* A fall: by so many nats for each gap of up to three states, and so many
 * standard errors. */
static const double FALL = 1.0, FALL_ERRORS = 5.0;

/* Networks can run away from a density of gaps; else nothing is watched but
 * what is held out. */
static bool has_density(const struct learner *l)
{
    return spec_has_weights(l->m->spec) && learner_has_groups(l) &&
           !learner_integrates(l) && !l->o->estimator.joint;
}

size_t watch_most(const struct learner *l)
{
    size_t n = l->split.helds;
    return n < SAMPLE ? SAMPLE : n;
}

/* Held-out gaps; in a second stage, which must improve on the first, and where
 * none are held out, gaps that are learned from as well. */
static int choose_groups(struct watch *w, int stage)
{
    struct learner *l = w->l;
    const struct split *s = &l->split;
    size_t more = s->helds < SAMPLE ? SAMPLE - s->helds : 0;
    if (!has_density(l) || (s->helds && !stage)) more = 0;
    if (more > s->trains) more = s->trains;
    w->n = s->helds + more;
    w->group = NEW(size_t, w->n);
    if (!w->group) return GSV_NO_MEMORY;
    for (size_t i = 0; i < s->helds; i++)
        w->group[i] = s->held[i];
    for (size_t i = 0; i < more; i++)
        w->group[s->helds + i] = s->train[i * s->trains / more];
    return 0;
}

/* As many gaps that are learned from as are held out, where the first stage
 * finds the penalty of weights from both. */
static int choose_learned(struct watch *w, int stage)
{
    const struct split *s = &w->l->split;
    if (stage || w->n > s->trains || !weight_prior_rises(w->l)) return 0;
    w->learned = NEW(size_t, w->n);
    if (!w->learned) return GSV_NO_MEMORY;
    for (size_t i = 0; i < w->n; i++)
        w->learned[i] = s->train[i * s->trains / w->n];
    return 0;
}

/* The estimator of a second stage is the one that the fit ends with, without
 * what would cost more at every look. */
static gsv_options watch_options(const struct learner *l, int stage)
{
    bool last = stage && !l->chosen;
    gsv_options o = last ? learner_final(l, stage) : l->stage[stage];
    o.gradient = false;
    if (!last) return o;
    o.richardson = false;
    o.paths = PATHS;
    o.steps = FIRST_STEPS;
    return o;
}

int watch_init(struct watch *w, struct learner *l, int stage)
{
    *w = (struct watch){.l = l, .apart = l->iterations / LOOKS};
    if (w->apart < LEAST_APART) w->apart = LEAST_APART;
    /* Its estimator has many paths and steps. */
    if (stage && !l->chosen) w->apart *= SELDOM;
    int status = choose_groups(w, stage);
    if (status || !w->n) return status;
    status = choose_learned(w, stage);
    if (status) return status;
    w->average = NEW(double, l->n);
    w->value = NEW(double, w->n);
    if (!w->average || !w->value) return GSV_NO_MEMORY;
    gsv_options o = watch_options(l, stage);
    const struct task task = {.series = l->s,
                              .options = &o,
                              .most = w->n,
                              .by_group = true,
                              .by_track = learner_by_tracks(l),
                              .objective = l->aim[stage],
                              .scheme = l->o->scheme};
    return objective_init(&w->at, l->m, &task);
}

void watch_free(struct watch *w)
{
    objective_free(&w->at);
    MEM_FREE(w->group, w->learned, w->average, w->value);
    *w = (struct watch){0};
}

void watch_forget(struct learner *l)
{
    l->now.best = -INFINITY;
    l->now.best_at = l->now.began_at = l->now.iteration;
    l->now.looked_at = -1.0;
}

bool watch_is_due(const struct watch *w)
{
    const struct learner *l = w->l;
    size_t i = (size_t)l->now.iteration;
    bool first = l->now.looked_at < 0.0;
    return w->n && l->now.looked_at != l->now.iteration &&
           (first || i % w->apart == 0 || i == l->iterations);
}

/* The plateau's rate, and whether it has been still for too long. */
static bool stands_still(const struct watch *w)
{
    struct learner *l = w->l;
    const gsv_fit_options *o = l->o;
    double since = fmax(l->now.best_at, l->now.lowered_at);
    if (o->schedule == GSV_SCHEDULE_PLATEAU &&
        l->now.iteration - since >= PLATEAU * (double)w->apart) {
        l->now.factor *= 0.5;
        l->now.lowered_at = l->now.iteration;
    }
    if (!(o->patience > 0.0)) return false;
    /* A second stage that is no better than the first from the beginning. */
    double still = l->now.iteration - l->now.best_at;
    if (l->now.stage > 0.0 && l->now.best_at == l->now.began_at &&
        still >= TRIALS * (double)w->apart)
        return true;
    return l->split.helds && still >= o->patience * (double)l->iterations;
}

/* The values of single gaps, where the estimator has them. */
static void read_values(struct watch *w, double mean)
{
    const struct method *row = w->at.estimator.method;
    void *machine = w->at.estimator.machine;
    for (size_t i = 0; i < w->n; i++)
        w->value[i] = row->group ? row->group(machine, i).loglik : mean;
}

/* The standard error of the mean difference from the best look. */
static double difference_error(const struct watch *w, double difference)
{
    const double *best = w->l->best_value;
    double n = (double)w->n, squares = 0.0;
    for (size_t i = 0; i < w->n; i++)
        squares += pow(best[i] - w->value[i] - difference, 2.0);
    return w->n > 1 ? sqrt(squares / (n * (n - 1.0))) : 0.0;
}

static void keep(struct watch *w)
{
    struct learner *l = w->l;
    memcpy(l->best, w->average, l->n * sizeof *l->best);
}

/* Back to what was kept, slower. */
static void fall_back(struct watch *w)
{
    struct learner *l = w->l;
    memcpy(l->theta, l->best, l->n * sizeof *l->theta);
    memcpy(l->safe, l->best, l->n * sizeof *l->safe);
    adam_forget(&l->adam);
    l->now.factor *= 0.5;
    l->now.falls += 1.0;
}

static double least_fall(const struct learner *l)
{
    return FALL * fmax(1.0, (double)l->m->spec->dim / 3.0);
}

static void judge(struct watch *w, double mean)
{
    struct learner *l = w->l;
    if (mean > l->now.best) {
        if (isfinite(l->now.best)) l->now.improved = 1.0;
        l->now.best = mean;
        l->now.best_at = l->now.iteration;
        memcpy(l->best_value, w->value, w->n * sizeof *w->value);
        keep(w);
        return;
    }
    double difference = l->now.best - mean;
    double error = isfinite(mean) ? difference_error(w, difference) : 0.0;
    if (difference <= AS_GOOD * error) keep(w);
    else if (difference > fmax(least_fall(l), FALL_ERRORS * error))
        fall_back(w);
}

/* Where nothing is held out, what is watched is what is made largest. */
static void add_prior(struct watch *w, double *mean)
{
    struct learner *l = w->l;
    double share = 1.0 / (learner_each(l) * (double)l->split.trains);
    double prior = 0.0;
    if (l->split.helds || !l->prior.count) return;
    gsv_theta_set(l->m, w->average);
    if (prior_add(&l->prior, share, &prior, NULL)) prior = -INFINITY;
    gsv_theta_set(l->m, l->theta);
    *mean += prior;
    for (size_t i = 0; i < w->n; i++)
        w->value[i] += prior;
}

/* Whether gaps that are learned from are likelier than the watched ones, by
 * more than chance. */
static int is_overfitted(struct watch *w, const struct score *watched,
                         bool *over)
{
    struct score learned;
    int status =
        objective_at(&w->at, w->average, 0, w->n, w->learned, &learned, NULL);
    gsv_theta_set(w->l->m, w->l->theta);
    *over = !status && learned.mean - watched->mean >
                           CHANCE * hypot(learned.error, watched->error);
    return status == GSV_NUMERICAL ? 0 : status;
}

/* A stronger penalty of weights where the watched gaps become less likely while
 * they are more likely than what is learned from would have it. */
static int oppose_noise(struct watch *w, const struct score *score)
{
    struct learner *l = w->l;
    double difference = l->now.best - score->mean;
    bool over = false;
    if (!w->learned || !(score->mean < l->now.heldout) ||
        !(difference > AS_GOOD * difference_error(w, difference)))
        return 0;
    int status = is_overfitted(w, score, &over);
    if (!status && over) weight_prior_raise(l);
    return status;
}

int watch_look(struct watch *w, bool *end)
{
    struct learner *l = w->l;
    struct score score;
    adam_averaged(&l->adam, l->theta, w->average);
    int status =
        objective_at(&w->at, w->average, 0, w->n, w->group, &score, NULL);
    gsv_theta_set(l->m, l->theta);
    if (status && status != GSV_NUMERICAL) return status;
    if (!status) read_values(w, score.mean);
    int raised = status ? 0 : oppose_noise(w, &score);
    if (raised) return raised;
    if (status) score.mean = -INFINITY;
    l->now.looked_at = l->now.iteration;
    if (l->split.helds) l->now.heldout = score.mean;
    if (!status) add_prior(w, &score.mean);
    judge(w, score.mean);
    *end = stands_still(w);
    return 0;
}
