/* SPDX-License-Identifier: MIT */
/* Adam and its kin over batches of gaps, with fresh random numbers in every
 * iteration. */
#include <math.h>
#include <string.h>

#include "base/constant.h"
#include "base/error.h"
#include "base/memory.h"
#include "learn/learner.h"
#include "learn/watch.h"
#include "learn/weight_prior.h"

/* The second stage begins after this share of the iterations, at this share of
 * the rate: what it has to correct is small. */
static const double FIRST_STAGE = 2.0 / 3.0, SECOND_RATE = 0.25;

/* Far from the maximum a rough direction is enough, and half of the gaps give
 * it; at the end the noise of the batches is what is left of the error. */
static const double FIRST_ITERATIONS = 0.03, LAST_ITERATIONS = 2.0 / 3.0;

/* The share of the way that sigma moves in an iteration, after the first ones,
 * at the usual rate. */
static const double NOISE_SHARE = 0.1, USUAL_RATE = 5e-3;

struct climb {
    struct learner *l;
    struct objective batch;
    struct watch watch;
    double *gradient; /* (n) */
    bool estimated;   /* the penalty of weights is, by the evidence */
    int stage;        /* that the objectives are of; -1 none */
};

/* The first iteration of the second stage. */
static double second_begins(const struct learner *l)
{
    double all = (double)l->iterations;
    return l->stages > 1 ? ceil(FIRST_STAGE * all) : all;
}

/* How far it is in its stage, from 0 to 1. */
static double share_of(const struct learner *l)
{
    double second = second_begins(l), now = l->now.iteration;
    return now < second ? now / second
                        : (now - second) / ((double)l->iterations - second);
}

static size_t batch_of(const struct learner *l)
{
    double share = share_of(l);
    bool second = l->now.iteration >= second_begins(l);
    size_t n = l->o->batch;
    if (l->ramp && !second && share < FIRST_ITERATIONS) n /= 2;
    if (l->ramp && (second || share >= LAST_ITERATIONS)) n *= 2;
    return n < l->split.batch ? n : l->split.batch;
}

/* From 1 down to 0 in every stage. */
static double schedule_of(const struct learner *l)
{
    bool cosine = l->o->schedule == GSV_SCHEDULE_COSINE;
    double factor = cosine ? 0.5 * (1.0 + cos(PI * share_of(l))) : 1.0;
    return factor * l->now.factor;
}

static double rate_of(const struct learner *l)
{
    bool second = l->now.iteration >= second_begins(l);
    return l->o->rate * schedule_of(l) * (second ? SECOND_RATE : 1.0);
}

static double noise_share(const struct learner *l)
{
    double share = fmax(NOISE_SHARE, 1.0 / (1.0 + l->now.iteration));
    return share * schedule_of(l) * fmin(1.0, l->o->rate / USUAL_RATE);
}

/* --- Stages --------------------------------------------------------------- */

/* Of a gap's log-likelihood, in the second stage, for up to three states; more
 * have more of it to be wrong about. */
static const double ACCURACY = 0.05;

/* The second stage goes on from what the first one ends with. */
static int begin_second(struct climb *c)
{
    struct learner *l = c->l;
    double states = (double)l->m->spec->dim;
    learner_result(l, l->theta);
    adam_forget(&l->adam);
    int status =
        learner_by_tracks(l)
            ? 0
            : effort_by_value(l, l->theta, ACCURACY * fmax(1.0, states / 3));
    if (status || learner_over(l)) return status;
    l->now.stage = 1.0;
    watch_forget(l);
    return 0;
}

/* The objectives of the stage that this iteration belongs to. */
static int enter_stage(struct climb *c)
{
    struct learner *l = c->l;
    int stage = l->stages > 1 && l->now.iteration >= second_begins(l);
    int status = 0;
    if (stage == c->stage) return 0;
    if ((double)stage > l->now.stage) status = begin_second(c);
    if (status || learner_over(l)) return status;
    objective_free(&c->batch);
    watch_free(&c->watch);
    c->stage = stage;
    status = learner_objective(l, &c->batch, l->aim[stage], &l->stage[stage],
                               l->split.batch);
    return status ? status : watch_init(&c->watch, l, stage);
}

/* Where the first stage has nothing more to give, the rest of it is left out,
 * and the second one begins from its best. */
static bool skip_stage(struct learner *l)
{
    double second = second_begins(l);
    if (l->stages < 2 || l->now.stage > 0.0 || l->now.iteration >= second ||
        !isfinite(l->now.best))
        return false;
    l->now.iteration = second;
    return true;
}

/* --- Iterations ----------------------------------------------------------- */

/* From where it was finite, slower. After too many of them it ends with what
 * was kept, if there is anything. */
static int step_back(struct climb *c)
{
    struct learner *l = c->l;
    if (++l->now.failures > MOST_FAILURES) {
        if (!isfinite(l->now.best)) return GSV_NUMERICAL;
        l->now.end = 1.0;
    }
    memcpy(l->theta, l->safe, l->n * sizeof *l->theta);
    adam_forget(&l->adam);
    l->now.factor *= 0.5;
    return 0;
}

/* The penalty of the weights, by the number of gaps, or of rows of series: the
 * gradient is that of a mean. */
static void add_penalty(const struct learner *l, double *gradient)
{
    double share = 1.0 / (learner_each(l) * (double)l->split.trains);
    for (size_t i = 0; i < l->n; i++)
        gradient[i] -= share * l->penalty[i] * (l->theta[i] - l->centre[i]);
}

/* The same of the priors, at theta. */
static int add_prior(struct learner *l, double *gradient)
{
    double density = 0.0;
    double share = 1.0 / (learner_each(l) * (double)l->split.trains);
    return prior_add(&l->prior, share, &density, gradient);
}

/* With few data the penalty is estimated twelve times in the first stage, after
 * a third of it. Before, a network bends so little that a constant may have
 * more evidence, and under a strong penalty it would never bend. */
static int update_penalty(struct climb *c)
{
    enum { PARTS = 18, BEFORE = 6 };
    struct learner *l = c->l;
    double apart = second_begins(l) / PARTS, now = l->now.iteration;
    bool due = now >= BEFORE * apart &&
               floor(now / apart) * apart > l->now.penalised_at;
    if (!c->estimated || c->stage || !due) return 0;
    int status = weight_prior_update(l);
    if (!status) l->now.penalised_at = l->now.iteration;
    return status;
}

/* Of all residuals of few data, those that weights of the drift have fitted. */
static double spent_by_drift(const struct learner *l)
{
    double rows = (double)(l->split.trains * l->m->spec->dim);
    return fmin(l->now.determined / rows, 0.5);
}

/* Numbers between the matrices have Adam's own steps. */
static int move(struct learner *l, const double *gradient)
{
    double rate = rate_of(l);
    size_t from = 0;
    adam_begin(&l->adam);
    for (size_t i = 0; i <= l->soap.matrices; i++) {
        bool last = i == l->soap.matrices;
        const struct soap_matrix *m = &l->soap.matrix[i];
        adam_step(&l->adam, rate, from, last ? l->n : m->place, l->unit,
                  gradient, l->theta);
        if (!last) from = m->place + m->rows * m->columns;
    }
    return l->soap.matrices ? soap_step(&l->soap, &l->adam, rate, l->unit,
                                        gradient, l->theta)
                            : 0;
}

static int iterate(struct climb *c, struct score *score)
{
    struct learner *l = c->l;
    uint64_t number = (uint64_t)l->now.iteration;
    size_t n = batch_of(l);
    int status = update_penalty(c);
    if (status) return status;
    const size_t *group = split_batch(&l->split, (uint64_t)l->now.place, n);
    status = objective_at(&c->batch, l->theta, (uint32_t)number + 1, n, group,
                          score, c->gradient);
    if (!status) status = add_prior(l, c->gradient);
    if (status == GSV_STOPPED) return status;
    l->now.place += (double)n;
    if (status == GSV_NUMERICAL && number) {
        *score = (struct score){.mean = NAN, .error = NAN};
        l->now.iteration += 1.0;
        return step_back(c);
    }
    if (status) return status;
    memcpy(l->safe, l->theta, l->n * sizeof *l->safe);
    for (size_t i = 0; l->free < l->n && i < l->n; i++)
        if (l->fixed[i]) c->gradient[i] = 0.0;
    l->noise.spent = spent_by_drift(l);
    noise_step_move(&l->noise, noise_share(l), c->gradient, l->theta);
    adam_clip(&l->adam, l->o->clip, c->gradient);
    add_penalty(l, c->gradient);
    status = move(l, c->gradient);
    adam_average(&l->adam, l->o->average, l->theta);
    l->now.iteration += 1.0;
    return status;
}

/* A validation that is due comes before the next iteration, so that a fit that
 * is stopped in it goes on with it. */
static int watch_if_due(struct climb *c)
{
    struct learner *l = c->l;
    bool end = false;
    if (!watch_is_due(&c->watch)) return 0;
    int status = watch_look(&c->watch, &end);
    if (!status && end && !skip_stage(l)) l->now.end = 1.0;
    return status;
}

static int climb(struct climb *c)
{
    struct learner *l = c->l;
    for (;;) {
        struct score score;
        double rate = rate_of(l);
        int status = enter_stage(c);
        if (!status && !learner_over(l)) status = watch_if_due(c);
        bool over =
            (size_t)l->now.iteration >= l->iterations || l->now.end > 0.0;
        if (!status && !learner_over(l) && over) break;
        if (!status && !learner_over(l) && c->stage >= 0)
            status = iterate(c, &score);
        if (learner_over(l)) {
            learner_rest(l);
            return learner_spared(l, status);
        }
        if (status) return status;
        learner_advance(l);
        adam_averaged(&l->adam, l->theta, c->gradient);
        gsv_theta_set(l->m, c->gradient);
        if (learner_step(l, &score, rate)) return 0;
    }
    l->ended = l->now.end > 0.0 ? GSV_ENDED_EARLY : GSV_ENDED_ITERATIONS;
    return 0;
}

int learn_batches(struct learner *l)
{
    struct climb c = {.l = l, .gradient = NEW(double, l->n), .stage = -1};
    c.estimated = weight_prior_is_used(l);
    l->foresight = (struct foresight){0};
    int status = c.gradient ? climb(&c) : GSV_NO_MEMORY;
    objective_free(&c.batch);
    watch_free(&c.watch);
    mem_free(c.gradient);
    return status;
}
