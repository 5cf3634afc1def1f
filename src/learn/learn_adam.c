/* SPDX-License-Identifier: MIT */
/* Adam over batches of gaps, with fresh random numbers in every iteration. */
#include <math.h>
#include <string.h>

#include "base/constant.h"
#include "base/error.h"
#include "base/memory.h"
#include "learn/learner.h"

/* The second stage begins after this share of the iterations. */
static const double FIRST_STAGE = 2.0 / 3.0;

/* Far from the maximum a rough direction is enough, and half of the gaps give
 * it; at the end the noise of the batches is what is left of the error. */
static const double FIRST_ITERATIONS = 0.03;

static size_t batch_of(const struct learner *l)
{
    double share = l->now.iteration / (double)l->iterations;
    size_t n = l->o->batch;
    if (l->ramp && share < FIRST_ITERATIONS) n /= 2;
    if (l->ramp && share >= FIRST_STAGE) n *= 2;
    return n < l->split.batch ? n : l->split.batch;
}

/* The number of validations, and the fewest iterations between two. */
enum { LOOKS = 100, LEAST_APART = 10, MOST_FAILURES = 20 };

/* A plateau: after so many validations without an improvement the rate is
 * halved. */
static const double PLATEAU = 5.0;

struct climb {
    struct learner *l;
    struct objective batch, held;
    double *gradient, *average; /* (n) */
    size_t apart;               /* iterations between two validations */
    int stage;                  /* that the objectives are of; -1 none */
    double *undo;               /* (UNDONE, n) before an iteration    */
    struct adam adam;           /* the same of all else               */
    struct standing now;
};

static double rate_of(const struct learner *l)
{
    double share = l->now.iteration / (double)l->iterations;
    double rate = l->o->rate * l->now.factor;
    if (l->o->schedule == GSV_SCHEDULE_COSINE)
        rate *= 0.5 * (1.0 + cos(PI * share));
    return rate;
}

/* Of a gap's log-likelihood, in the second stage, for up to three states; more
 * have more of it to be wrong about. */
static const double ACCURACY = 0.2;

/* The objectives of the stage that this iteration belongs to. */
static int enter_stage(struct climb *c)
{
    struct learner *l = c->l;
    double share = l->now.iteration / (double)l->iterations;
    int stage = l->stages > 1 && share >= FIRST_STAGE, status = 0;
    if (stage == c->stage) return 0;
    if ((double)stage > l->now.stage) {
        double states = (double)l->m->spec->dim;
        status = effort_by_value(l, l->theta, ACCURACY * fmax(1.0, states / 3));
        if (status || learner_over(l)) return status;
        l->now.stage = (double)stage;
        /* Under another estimator held-out values are others. */
        l->now.best = -INFINITY;
        l->now.best_at = l->now.iteration;
    }
    objective_free(&c->batch);
    objective_free(&c->held);
    c->stage = stage;
    gsv_options *o = &l->stage[stage], held = *o;
    held.gradient = false;
    if (!status) status = learner_objective(l, &c->batch, o, l->split.batch);
    if (!status && l->split.helds)
        status = learner_objective(l, &c->held, &held, l->split.helds);
    return status;
}

/* --- Held-out gaps ------------------------------------------------------ */

/* The plateau's rate, and whether it has been still for too long. */
static bool stands_still(struct learner *l, size_t apart)
{
    const gsv_fit_options *o = l->o;
    double since = fmax(l->now.best_at, l->now.lowered_at);
    if (o->schedule == GSV_SCHEDULE_PLATEAU &&
        l->now.iteration - since >= PLATEAU * (double)apart) {
        l->now.factor *= 0.5;
        l->now.lowered_at = l->now.iteration;
    }
    return o->patience > 0.0 && l->now.iteration - l->now.best_at >=
                                    o->patience * (double)l->iterations;
}

/* Where the first stage has nothing more to give, the rest of it is left out,
 * and the second one begins from its best. */
static bool skip_stage(struct learner *l)
{
    double second = ceil(FIRST_STAGE * (double)l->iterations);
    if (l->stages < 2 || l->now.stage > 0.0 || l->now.iteration >= second ||
        !isfinite(l->now.best))
        return false;
    l->now.iteration = second;
    memcpy(l->theta, l->best, l->n * sizeof *l->theta);
    l->adam.weight = 0.0;
    memset(l->adam.average, 0, l->n * sizeof *l->adam.average);
    return true;
}

/* Looks at the average of theta; true where the fit should end. */
static int look(struct climb *c, bool *end)
{
    struct learner *l = c->l;
    struct score score;
    adam_averaged(&l->adam, l->theta, c->average);
    int status = objective_at(&c->held, c->average, 0, l->split.helds,
                              l->split.held, &score, NULL);
    gsv_theta_set(l->m, l->theta);
    if (status == GSV_NUMERICAL) score.mean = -INFINITY;
    else if (status) return status;
    l->now.heldout = score.mean;
    if (score.mean > l->now.best) {
        l->now.best = score.mean;
        l->now.best_at = l->now.iteration;
        memcpy(l->best, c->average, l->n * sizeof *l->best);
    }
    *end = stands_still(l, c->apart) && !skip_stage(l);
    return 0;
}

/* --- Iterations --------------------------------------------------------- */

/* From where it was finite, slower. */
static int step_back(struct climb *c)
{
    struct learner *l = c->l;
    if (++l->now.failures > MOST_FAILURES) return GSV_NUMERICAL;
    memcpy(l->theta, l->safe, l->n * sizeof *l->theta);
    memset(l->adam.mean, 0, l->n * sizeof *l->adam.mean);
    l->now.factor *= 0.5;
    return 0;
}

static int iterate(struct climb *c, struct score *score)
{
    struct learner *l = c->l;
    uint64_t number = (uint64_t)l->now.iteration;
    size_t n = batch_of(l);
    const size_t *group = split_batch(&l->split, (uint64_t)l->now.place, n);
    int status = objective_at(&c->batch, l->theta, (uint32_t)number + 1, n,
                              group, score, c->gradient);
    if (status == GSV_STOPPED) return status;
    l->now.place += (double)n;
    if (status == GSV_NUMERICAL && number) {
        *score = (struct score){.mean = NAN, .error = NAN};
        return step_back(c);
    }
    if (status) return status;
    memcpy(l->safe, l->theta, l->n * sizeof *l->safe);
    for (size_t i = 0; l->free < l->n && i < l->n; i++)
        if (l->fixed[i]) c->gradient[i] = 0.0;
    adam_clip(&l->adam, l->o->clip, c->gradient);
    adam_step(&l->adam, rate_of(l), l->o->decay, l->unit, l->weight,
              c->gradient, l->theta);
    adam_average(&l->adam, l->o->average, l->theta);
    return 0;
}

/* --- An iteration that is left has not been ------------------------------- */

enum { UNDONE = 5 };

static void list_moved(struct learner *l, double *vector[UNDONE])
{
    double *all[UNDONE] = {l->theta, l->safe, l->adam.mean, l->adam.square,
                           l->adam.average};
    memcpy(vector, all, sizeof all);
}

/* What an iteration changes before a validation. */
static void remember(struct climb *c)
{
    double *moved[UNDONE];
    size_t n = c->l->n;
    list_moved(c->l, moved);
    for (size_t i = 0; i < UNDONE; i++)
        memcpy(c->undo + i * n, moved[i], n * sizeof *c->undo);
    c->adam = c->l->adam;
    c->now = c->l->now;
}

static void undo(struct climb *c)
{
    double *moved[UNDONE];
    size_t n = c->l->n;
    list_moved(c->l, moved);
    for (size_t i = 0; i < UNDONE; i++)
        memcpy(moved[i], c->undo + i * n, n * sizeof *c->undo);
    c->l->adam = c->adam;
    c->l->now = c->now;
}

static int step_once(struct climb *c, bool *end, struct score *score)
{
    struct learner *l = c->l;
    size_t i = (size_t)l->now.iteration + 1;
    bool looks = l->split.helds && (i % c->apart == 0 || i == l->iterations);
    if (looks) remember(c);
    int status = iterate(c, score);
    if (status) return status;
    l->now.iteration += 1.0;
    if (looks) status = look(c, end);
    if (status == GSV_STOPPED) undo(c);
    return status;
}

static int climb(struct climb *c)
{
    struct learner *l = c->l;
    while ((size_t)l->now.iteration < l->iterations && l->now.end == 0.0) {
        struct score score;
        bool end = false;
        double rate = rate_of(l);
        int status = enter_stage(c);
        if (!status && !learner_over(l)) status = step_once(c, &end, &score);
        if (learner_over(l)) {
            learner_rest(l);
            return learner_spared(l, status);
        }
        if (status) return status;
        gsv_theta_set(l->m, l->theta);
        l->now.end = (double)end;
        if (learner_step(l, &score, rate)) return 0;
    }
    l->ended = l->now.end > 0.0 ? GSV_ENDED_EARLY : GSV_ENDED_ITERATIONS;
    return 0;
}

int learn_adam(struct learner *l)
{
    struct climb c = {.l = l,
                      .gradient = NEW(double, l->n),
                      .average = NEW(double, l->n),
                      .undo = NEW(double, UNDONE * l->n),
                      .apart = l->iterations / LOOKS,
                      .stage = -1};
    if (c.apart < LEAST_APART) c.apart = LEAST_APART;
    int status = c.gradient && c.average && c.undo ? 0 : GSV_NO_MEMORY;
    if (!status) status = climb(&c);
    objective_free(&c.batch);
    objective_free(&c.held);
    MEM_FREE(c.gradient, c.average, c.undo);
    return status;
}
