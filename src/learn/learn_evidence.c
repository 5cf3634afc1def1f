/* SPDX-License-Identifier: MIT */
/* Learning with Gaussian-process functions: L-BFGS on the evidence, which finds
 * the posterior of all functions at every point that it evaluates. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "learn/evidence.h"
#include "learn/maximise.h"

/* In nats of the whole. In the second stage references follow, which the
 * gradient leaves out: few iterations are as good as many. */
static const double TOLERANCE[STAGES] = {0.01, 0.5};
enum { LAST_ITERATIONS = 5 };

/* Of a start before the first stage. */
static const double FIRST_TOLERANCE = 1.0;
enum { FIRST_ITERATIONS = 30 };

/* How far L-BFGS goes first, in logarithms for the most part: what the second
 * stage has to correct is small. */
static const double FIRST_STEP[STAGES] = {1.0, 0.1};

/* Of a gap's log-likelihood in the second stage, for up to three states. */
static const double ACCURACY = 0.05;

struct climb {
    struct evidence e;
    struct learner *l;
    double *x, *z; /* (outer) and in units, as L-BFGS has them */
    double unit;
    bool resting;
};

static int at(void *context, const double *z, double *value, double *gradient)
{
    struct climb *c = context;
    for (size_t i = 0; i < c->e.outer; i++)
        c->x[i] = c->unit * z[i];
    int status = evidence_at(&c->e, c->x, value, gradient);
    for (size_t i = 0; !status && i < c->e.outer; i++)
        gradient[i] *= c->unit;
    return status;
}

/* From x to the best x. */
static int search(struct climb *c, const struct maximise *job, double *value,
                  enum maximise_end *end)
{
    for (size_t i = 0; i < c->e.outer; i++)
        c->z[i] = c->x[i] / c->unit;
    c->l->foresight = (struct foresight){.tolerance = job->tolerance};
    int status = maximise(job, c->e.outer, c->z, value, end);
    for (size_t i = 0; i < c->e.outer; i++)
        c->x[i] = c->unit * c->z[i];
    return status;
}

static bool step(void *context, const double *z, double value)
{
    struct climb *c = context;
    struct learner *l = c->l;
    (void)z;
    memcpy(l->theta, c->e.theta, l->n * sizeof *l->theta);
    struct score score = c->e.score;
    score.mean = value / (double)score.gaps;
    l->now.iteration += 1.0;
    learner_advance(l);
    if ((size_t)l->now.iteration >= l->iterations) c->resting = true;
    gsv_theta_set(l->m, l->theta);
    return learner_step(l, &score, 1.0) || c->resting;
}

/* What E would gain by each of the kernels' numbers alone, from a parabola
 * through E itself: no gradient is trusted. Bent upward, what was seen. NaN:
 * there was no time to look. */
static int note_missed(struct climb *c, double *value)
{
    static const double STEP = 0.02;
    struct learner *l = c->l;
    const struct spec *s = l->m->spec;
    int status = 0;
    c->e.can_stop = true;
    for (size_t i = 0; i < c->e.outer && !status; i++) {
        size_t at = c->e.place[i];
        double kept = c->x[i], up = *value, down = *value;
        if (!s->param[spec_param_at(s, l->value[at])].gp) continue;
        c->x[i] = kept + STEP;
        status = learner_go_on(l);
        if (!status) status = evidence_at(&c->e, c->x, &up, NULL);
        c->x[i] = kept - STEP;
        if (!status) status = evidence_at(&c->e, c->x, &down, NULL);
        c->x[i] = kept;
        double bend = 2.0 * *value - up - down, rise = up - down;
        double gain =
            bend > 0.0 ? 0.125 * rise * rise / bend : fmax(up, down) - *value;
        if (status || !(gain > l->missed)) continue;
        l->missed = gain;
        l->missed_by = at;
    }
    c->e.can_stop = false;
    if (learner_over(l)) l->missed = NAN;
    if (learner_over(l)) return learner_spared(l, status);
    /* Beyond the lengths that a grid can show there is nothing to gain. */
    if (status && status != GSV_NUMERICAL) return status;
    return evidence_at(&c->e, c->x, value, NULL);
}

/* --- Under the bound ------------------------------------------------------ */

static const double ROUND_TOLERANCE = 0.05;
enum { ROUNDS = 25, ROUND = 8 };

/* From here on references are made from the present functions. */
static int hold_references(struct climb *c)
{
    gsv_theta_set(c->l->m, c->e.theta);
    return objective_hold(&c->e.all);
}

/* As with em-linear, references stay those of a round's start, so that E and
 * its gradient agree; E is a lower bound under any of them. The first ones are
 * those of no drift at all. Ends with a round that gains nothing. */
static int search_in_rounds(struct climb *c, struct maximise *job,
                            double *value, enum maximise_end *end)
{
    int status = 0;
    bool more = true;
    job->iterations = ROUND;
    job->tolerance = ROUND_TOLERANCE;
    for (size_t i = 0; i < ROUNDS && more && !status; i++) {
        double first = 0.0;
        if (i) status = hold_references(c);
        if (!status) status = evidence_at(&c->e, c->x, &first, NULL);
        if (!status) status = search(c, job, value, end);
        /* The functions of the best x. */
        if (!status) status = evidence_at(&c->e, c->x, value, NULL);
        more = *end != MAXIMISE_STOPPED && *value - first > job->tolerance;
    }
    if (*end != MAXIMISE_STOPPED && !more) *end = MAXIMISE_CONVERGED;
    return status;
}

/* The search stops: theta is that of the last iteration. After all iterations
 * there is nothing to resume. */
static int leave(const struct climb *c, int status, bool *done)
{
    struct learner *l = c->l;
    *done = true;
    learner_rest(l);
    if (c->resting) l->ended = GSV_ENDED_ITERATIONS;
    return learner_spared(l, status);
}

/* The best x is not always the last one that was evaluated. */
static int maximise_here(struct climb *c, bool *done)
{
    struct learner *l = c->l;
    bool first = l->now.stage == 0.0;
    struct maximise job = {c, at, step, first ? l->iterations : LAST_ITERATIONS,
                           TOLERANCE[first ? 0 : 1]};
    enum maximise_end end = MAXIMISE_CONVERGED;
    double value = NAN;
    c->unit = FIRST_STEP[first ? 0 : 1];
    for (size_t i = 0; i < c->e.outer; i++)
        c->x[i] = l->theta[c->e.place[i]];
    bool fresh = first && !l->refit && l->now.iteration == 0.0;
    bool bound = c->e.all.options.form == GSV_FORM_BOUND;
    int status = bound ? hold_references(c) : 0;
    if (!status && fresh && !bound) status = start_kernels(&c->e, c->x);
    if (!status && c->e.outer)
        status = bound ? search_in_rounds(c, &job, &value, &end)
                       : search(c, &job, &value, &end);
    if (!status && !learner_over(l))
        status = evidence_at(&c->e, c->x, &value, NULL);
    l->missed = 0.0;
    if (learner_over(l)) return leave(c, status, done);
    if (status) return status;
    memcpy(l->theta, c->e.theta, l->n * sizeof *l->theta);
    bool short_of =
        end == MAXIMISE_STOPPED ? c->resting : end != MAXIMISE_CONVERGED;
    if (short_of) status = note_missed(c, &value);
    if (status) return status;
    l->evidence = value;
    if (!learner_over(l)) memcpy(l->theta, c->e.theta, l->n * sizeof *l->theta);
    *done = end == MAXIMISE_STOPPED;
    if (*done && c->resting) l->ended = GSV_ENDED_ITERATIONS;
    if (!c->e.outer) *done = step(c, c->x, value);
    return 0;
}

/* Before the bound, increments against the drift at their left ends: there E
 * is what it says, its Newton steps are exact, and drifts and noises come out
 * too small rather than too large. The bound's bridges would be far from the
 * data at first, where H does not look. */
static int start_small(struct climb *c, bool *done)
{
    struct learner *l = c->l;
    struct maximise job = {c, at, step, FIRST_ITERATIONS, FIRST_TOLERANCE};
    gsv_options o = l->stage[0];
    enum maximise_end end = MAXIMISE_CONVERGED;
    double value;
    o.reference = GSV_REFERENCE_BROWNIAN;
    o.form = GSV_FORM_ITO;
    o.steps = 1;
    int status = evidence_init(&c->e, l, &o, l->theta, 0.0);
    c->unit = FIRST_STEP[0];
    for (size_t i = 0; !status && i < c->e.outer; i++)
        c->x[i] = l->theta[c->e.place[i]];
    if (!status) status = start_kernels(&c->e, c->x);
    if (!status && c->e.outer) status = search(c, &job, &value, &end);
    if (!status && !learner_over(l))
        status = evidence_at(&c->e, c->x, &value, NULL);
    if (!status && !learner_over(l))
        memcpy(l->theta, c->e.theta, l->n * sizeof *l->theta);
    *done = end == MAXIMISE_STOPPED;
    if (*done && c->resting) l->ended = GSV_ENDED_ITERATIONS;
    evidence_free(&c->e);
    return learner_over(l) ? leave(c, status, done) : status;
}

int learn_evidence(struct learner *l)
{
    struct climb c = {.l = l, .x = NEW(double, l->n), .z = NEW(double, l->n)};
    bool done = false;
    int status = c.x && c.z ? 0 : GSV_NO_MEMORY;
    l->ended = GSV_ENDED_CONVERGED;
    bool fresh = !l->refit && l->now.stage == 0.0 && l->now.iteration == 0.0;
    bool bound = l->stage[0].form == GSV_FORM_BOUND || l->m->chain.next;
    if (!status && fresh && bound) status = start_small(&c, &done);
    for (; !status && !done && (size_t)l->now.stage < l->stages;
         l->now.stage += done ? 0.0 : 1.0) {
        size_t stage = (size_t)l->now.stage;
        double states = (double)l->m->spec->dim;
        if (stage == 1 && !l->chosen)
            status = effort_by_value(l, l->theta,
                                     ACCURACY * fmax(1.0, states / 3.0));
        if (learner_over(l)) {
            status = leave(&c, status, &done);
            break;
        }
        if (!status)
            status = evidence_init(&c.e, l, &l->stage[stage], l->theta, 0.0);
        if (!status) status = maximise_here(&c, &done);
        l->limit = c.e.limit;
        evidence_free(&c.e);
    }
    MEM_FREE(c.x, c.z);
    return status;
}

/* --- The end ------------------------------------------------------------- */

static int conclude(struct learner *l, double *theta)
{
    struct evidence e;
    size_t stage = (size_t)l->now.stage, last = l->stages - 1;
    double *x = NEW(double, l->n);
    if (!x) return GSV_NO_MEMORY;
    int status = evidence_init(&e, l, &l->stage[stage < last ? stage : last],
                               theta, l->limit);
    for (size_t i = 0; i < e.outer; i++)
        x[i] = theta[e.place[i]];
    if (!status && e.all.options.form == GSV_FORM_BOUND)
        status = objective_hold(&e.all);
    if (!status) status = evidence_at(&e, x, &l->evidence, NULL);
    l->evidence = e.value; /* without priors */
    if (!status) memcpy(theta, e.theta, l->n * sizeof *theta);
    if (!status) status = evidence_keep(&e);
    l->doubt = status ? 0.0 : estimator_doubt(&e.all.estimator);
    l->free = e.outer;
    evidence_free(&e);
    mem_free(x);
    return status;
}

/* Functions without a posterior are useless: this cannot be stopped. */
int evidence_conclude(struct learner *l, double *theta)
{
    struct halt shield;
    halt_begin(&shield, NULL, NULL);
    int status = conclude(l, theta);
    halt_end(&shield);
    if (status || l->ended == GSV_ENDED_STOPPED) return status;
    return evidence_spread(l, theta);
}
