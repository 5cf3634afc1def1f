/* SPDX-License-Identifier: MIT */
/* The accuracy of a fit's estimator: as many paths and steps of the second
 * stage as the data need. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/linalg.h"
#include "bridge/gap_method.h"
#include "kalman/kalman.h"
#include "learn/learner.h"
#include "panel/panel.h"

enum { SAMPLE = 128, PROBE_PATHS = 16, MOST_STEPS = 32 };

static size_t most_steps(const struct learner *l)
{
    return learner_steps(l, MOST_STEPS / 4) * 4;
}

/* --- By value ----------------------------------------------------------- */

struct probe {
    double mean;   /* of a gap                                             */
    double spread; /* what the log of a mean of K weights loses, times K   */
    double left;   /* share of the gaps with sums at left ends             */
    double doubt;  /* of a gap, see groups_doubt()                       */
    double trapezoids; /* share of the gaps with stratonovich */
};

/* A sample of gaps. */
static int probe_with(struct learner *l, const double *theta, gsv_options o,
                      struct probe *p)
{
    size_t n = l->split.trains < SAMPLE ? l->split.trains : SAMPLE;
    struct objective at;
    struct score score = {0};
    o.gradient = false;
    /* Without groups it is no sample, and takes as long as all data do. */
    int status = learner_has_groups(l) ? 0 : learner_go_on(l);
    if (status) return status;
    const struct task task = {.series = l->s,
                              .options = &o,
                              .most = n,
                              .by_group = true,
                              .given_effects = true};
    status = objective_init(&at, l->m, &task);
    if (!status)
        status = objective_at(&at, theta, 0, n, l->split.train, &score, NULL);
    *p = (struct probe){.mean = score.mean};
    const struct method *row = at.estimator.method;
    size_t groups =
        status || !row->groups ? 0 : row->groups(at.estimator.machine);
    if (!status) p->doubt = estimator_doubt(&at.estimator);
    for (size_t g = 0; g < groups; g++) {
        gsv_gap gap = row->group(at.estimator.machine, g);
        double share = 1.0 / (double)groups;
        p->spread -= gap.log_bias * PROBE_PATHS * share;
        bool left = gap.form == GSV_FORM_ITO || gap.form == GSV_FORM_EULER;
        p->left += left ? share : 0.0;
        p->trapezoids += gap.form == GSV_FORM_STRATONOVICH ? share : 0.0;
    }
    objective_free(&at);
    return status;
}

/* The same with M steps. */
static int probe_gaps(struct learner *l, const double *theta, size_t M,
                      struct probe *p)
{
    gsv_options o = l->stage[1];
    o.paths = PROBE_PATHS;
    o.steps = M;
    return probe_with(l, theta, o, p);
}

static size_t paths_for(double spread, double accuracy, size_t most)
{
    size_t K = 1;
    while (K < most && spread / (double)K > 0.5 * accuracy)
        K *= 2;
    return K;
}

/* A checkpoint keeps what is chosen here. */
static void settle(struct learner *l, const gsv_options *o)
{
    l->stage[1].reference = o->reference;
    l->stage[1].form = o->form;
    l->stage[1].paths = o->paths;
    l->stage[1].steps = o->steps;
    l->now.reference = (double)o->reference;
    l->now.form = (double)o->form;
    l->now.paths = (double)o->paths;
    l->now.steps = (double)o->steps;
}

/* A gp can vary between the steps, and its fit would be drawn to such places.
 * There the error of each gap counts, not that of their sum. */
static bool is_enough(const struct learner *l, const struct probe *coarse,
                      const struct probe *fine, double accuracy)
{
    if (l->m->spec->gps && coarse->doubt > accuracy) return false;
    return fabs(fine->mean - coarse->mean) <= accuracy;
}

int effort_by_value(struct learner *l, const double *theta, double accuracy)
{
    enum { MOST_PATHS = 32 };
    struct probe coarse, fine = {0};
    size_t M = learner_steps(l, 2);
    int status = probe_gaps(l, theta, M, &coarse);
    /* The score of a left sum is further off than its value. */
    bool more = !status && coarse.left > 0.5 && M < 4;
    if (more) status = probe_gaps(l, theta, M = 4, &coarse);
    for (; !status && M < most_steps(l); M *= 2, coarse = fine) {
        status = probe_gaps(l, theta, 2 * M, &fine);
        if (!status && is_enough(l, &coarse, &fine, accuracy)) break;
    }
    if (learner_over(l)) return learner_spared(l, status);
    /* Where it cannot be found out, the fit itself will fail with a reason. */
    if (status && status != GSV_NUMERICAL) return status;
    gsv_options o = l->stage[1];
    o.paths = status ? 8 : paths_for(fine.spread, accuracy, MOST_PATHS);
    o.steps = status ? learner_steps(l, 4) : M;
    settle(l, &o);
    return 0;
}

int effort_of_panel(struct learner *l, const double *theta, double accuracy)
{
    enum { STEPS = 4 };
    struct probe one = {0}, fine = {0};
    int status = probe_with(l, theta, l->stage[0], &one);
    if (!status) status = probe_gaps(l, theta, learner_steps(l, STEPS), &fine);
    bool enough = !status && fabs(one.mean - fine.mean) <= 0.1 * accuracy;
    if (!enough) return effort_by_value(l, theta, accuracy);
    settle(l, &l->stage[0]);
    return 0;
}

/* --- By score ----------------------------------------------------------- */

bool learner_by_value(const struct learner *l, size_t numbers)
{
    /* The Kalman filter has no references: its gradient is that of the value,
     * and integrated over random effects up to the error of the quadrature. */
    if (panel_inner(l->method) == &METHOD_KALMAN) return false;
    return numbers <= MOST_BY_VALUE && l->recipe->by_value;
}

/* The objective of all gaps, unless the time is over. */
static int evaluate_all(struct learner *l, struct objective *at,
                        const double *theta, uint32_t iteration,
                        struct score *score, double *gradient)
{
    int status = learner_go_on(l);
    if (status) return status;
    return objective_at(at, theta, iteration, l->split.trains, l->split.train,
                        score, gradient);
}

static int differences(struct learner *l, struct objective *at, double *theta,
                       uint32_t iteration, double *gradient)
{
    int status = 0;
    for (size_t i = 0; !status && i < l->n; i++) {
        struct score up = {0}, down = {0};
        double kept = theta[i];
        if (l->fixed[i]) continue;
        theta[i] = kept + l->move[i];
        status = evaluate_all(l, at, theta, iteration, &up, NULL);
        theta[i] = kept - l->move[i];
        if (!status)
            status = evaluate_all(l, at, theta, iteration, &down, NULL);
        theta[i] = kept;
        if (!status) gradient[i] = (up.mean - down.mean) / (2.0 * l->move[i]);
    }
    return status;
}

/* The slope of the log-likelihood of all gaps under an estimator. theta comes
 * back as it was. */
static int score_with(struct learner *l, double *theta, const gsv_options *how,
                      uint32_t iteration, double *gradient)
{
    struct objective at;
    struct score score;
    gsv_options o = *how;
    bool by_value = learner_by_value(l, l->free);
    o.gradient = !by_value;
    int status = objective_init_loglik(&at, l->m, l->s, &o, l->split.trains);
    if (!status && by_value)
        status = differences(l, &at, theta, iteration, gradient);
    else if (!status)
        status = evaluate_all(l, &at, theta, iteration, &score, gradient);
    double gaps = (double)at.gaps;
    for (size_t i = 0; !status && i < l->n; i++)
        gradient[i] *= gaps;
    objective_free(&at);
    return status;
}

struct search {
    struct learner *l;
    double *theta; /* (n) */
    double share;
    double *root;                 /* (n, n) see score_covariance()  */
    double *deviation;            /* (n) of the score               */
    double *here, *again, *finer; /* (n) scores                     */
};

/* Adds the squares and products of a gap's score; of fixed numbers nothing. */
static void add_products(const struct learner *l, const double *one, double *J)
{
    for (size_t i = 0; i < l->n; i++)
        for (size_t j = 0; j < l->n; j++)
            if (!l->fixed[i] && !l->fixed[j])
                J[i * l->n + j] += one[i] * one[j];
}

/* Whether the score has number i in it: one that the model does not use has
 * none, and no estimator would ever agree with another about it. */
static bool counts(const struct search *s, size_t i)
{
    return !s->l->fixed[i] && s->deviation[i] > 0.0;
}

/* The covariance of the whole score, from that of some gaps' own: its Cholesky
 * factor and, of each number, its deviation. Where it has no factor, numbers
 * count one by one. */
static int score_covariance(struct search *s, double *one)
{
    struct learner *l = s->l;
    struct objective at;
    struct score score;
    size_t all = l->split.trains, n = all < SAMPLE ? all : SAMPLE;
    double *J = s->root;
    int status = objective_init_loglik(&at, l->m, l->s, &l->stage[0], 1);
    for (size_t g = 0; !status && g < n; g++) {
        size_t group = l->split.train[g * all / n];
        status = objective_at(&at, s->theta, 0, 1, &group, &score, one);
        if (!status) add_products(l, one, J);
    }
    objective_free(&at);
    for (size_t i = 0; i < l->n * l->n; i++)
        J[i] *= (double)all / (double)n;
    for (size_t i = 0; i < l->n; i++) {
        s->deviation[i] = sqrt(J[i * (l->n + 1)]);
        if (!counts(s, i)) J[i * (l->n + 1)] = 1.0;
    }
    if (linalg_cholesky(l->n, J)) return status;
    memset(J, 0, l->n * l->n * sizeof *J);
    for (size_t i = 0; i < l->n; i++)
        J[i * (l->n + 1)] = counts(s, i) ? s->deviation[i] : 1.0;
    return status;
}

/* Whether the maximum would move by less than a share of its own deviation:
 * the difference D of two scores moves it by J^-1 D, where D' J^-1 D is that
 * move in standard deviations, squared. */
static bool agree(const struct search *s, const double *one, const double *two)
{
    size_t n = s->l->n;
    double *off = s->root + n * n, square = 0.0;
    for (size_t i = 0; i < n; i++)
        off[i] = counts(s, i) ? two[i] - one[i] : 0.0;
    linalg_lower_solve(n, 1, s->root, false, off);
    for (size_t i = 0; i < n; i++)
        square += off[i] * off[i];
    return square <= s->share * s->share * (double)s->l->free;
}

/* More paths, until other random numbers give about the same score. */
static int search_paths(struct search *s, gsv_options *o)
{
    enum { MOST_PATHS = 256 };
    for (;; o->paths *= 4) {
        int status = score_with(s->l, s->theta, o, 0, s->here);
        if (!status) status = score_with(s->l, s->theta, o, 1, s->again);
        if (status || o->paths >= MOST_PATHS || agree(s, s->here, s->again))
            return status;
    }
}

/* Under one form, more steps until twice as many give about the same. */
static int search_steps(struct search *s, gsv_options *o, bool *found)
{
    *found = false;
    int status = search_paths(s, o);
    while (!status && !*found && o->steps < most_steps(s->l)) {
        gsv_options twice = *o;
        twice.steps *= 2;
        status = score_with(s->l, s->theta, &twice, 0, s->finer);
        if (status) break;
        *found = agree(s, s->here, s->finer);
        if (*found) break;
        o->steps *= 2;
        status = search_paths(s, o);
    }
    return status;
}

/* --- Without paths -------------------------------------------------------- */

/* A search with more paths and steps than this takes longer than one without
 * paths, on the lattices of the form composed. */
enum { MANY_POINTS = 64 };

static bool is_composed(const struct learner *l)
{
    return !l->recipe->one_form && l->method == &METHOD_BRIDGES &&
           !composed_reason(l->m);
}

static gsv_options composed_options(const struct learner *l)
{
    gsv_options o = l->stage[1];
    o.reference = GSV_REFERENCE_BROWNIAN;
    o.form = GSV_FORM_COMPOSED;
    o.paths = 1;
    return o;
}

/* In the same way as search_steps(); where a lattice is too narrow for a gap it
 * is not found. */
static int search_composed(struct search *s, gsv_options *o, bool *found)
{
    enum { FEWEST = 16, MOST = 64 };
    int status = 0;
    *found = false;
    *o = composed_options(s->l);
    for (o->steps = FEWEST; !status && o->steps <= MOST; o->steps *= 2) {
        gsv_options twice = *o;
        twice.steps *= 2;
        status = score_with(s->l, s->theta, o, 0, s->here);
        if (!status) status = score_with(s->l, s->theta, &twice, 0, s->finer);
        *found = !status && agree(s, s->here, s->finer);
        if (*found) break;
        if (status == GSV_NUMERICAL) status = 0;
    }
    return status;
}

/* From the cheapest on: one step a gap, without any sampling, which is exact
 * where the drift is linear; then the form that most gaps would choose, for all
 * of them, so that none changes it on the way. */
static int search_all(struct search *s, enum gsv_form form)
{
    struct learner *l = s->l;
    gsv_options one = l->stage[0], o = l->stage[1];
    bool found = false;
    o.paths = 4;
    o.steps = learner_steps(l, 2);
    bool one_form = form == GSV_FORM_STRATONOVICH || form == GSV_FORM_EULER;
    o.form = one_form ? form : GSV_FORM_MIDPOINT;
    int status = search_paths(s, &o);
    if (!status) status = score_with(l, s->theta, &one, 0, s->finer);
    if (!status && agree(s, s->here, s->finer)) {
        settle(l, &one);
        return 0;
    }
    o.form = form;
    if (!status) status = search_steps(s, &o, &found);
    bool cheap = found && o.paths * o.steps <= MANY_POINTS;
    if (!status && found) settle(l, &o);
    if (status || cheap || !is_composed(l)) return status;
    status = search_composed(s, &o, &found);
    if (status || !found) return status;
    /* There, and also some way off: steps that are too few have no value. */
    o.steps *= 2;
    settle(l, &o);
    return 0;
}

static int search_effort(struct learner *l, struct search *s)
{
    struct probe p;
    gsv_options usual = l->stage[1];
    int status = score_covariance(s, s->here);
    for (size_t i = 0; !status && i < l->n; i++) {
        double size = fmax(1.0, fabs(s->theta[i]));
        l->move[i] = fmin(0.02 / s->deviation[i], 0.1 * size);
    }
    if (!status) status = probe_gaps(l, s->theta, learner_steps(l, 4), &p);
    enum gsv_form form = GSV_FORM_MIDPOINT;
    if (!status && p.left > 0.5) form = GSV_FORM_ITO;
    if (!status && p.trapezoids > 0.5) form = GSV_FORM_STRATONOVICH;
    if (l->recipe->one_form) form = l->recipe->euler_form;
    usual.form = form;
    usual.paths = 64;
    usual.steps = most_steps(l);
    settle(l, &usual);
    return status ? status : search_all(s, form);
}

/* The log-likelihood on lattices of so many steps; NAN where one is too narrow
 * for a gap. */
static int value_composed(struct learner *l, size_t steps, double *value)
{
    struct objective at;
    struct score score = {0};
    gsv_options o = composed_options(l);
    o.steps = steps;
    o.gradient = false;
    int status = objective_init_loglik(&at, l->m, l->s, &o, l->split.trains);
    if (!status) status = evaluate_all(l, &at, l->theta, 0, &score, NULL);
    *value = status ? NAN : score.mean * (double)score.gaps;
    objective_free(&at);
    return status == GSV_NUMERICAL ? 0 : status;
}

/* As many as change the value by little, in nats. */
static int raise_composed(struct learner *l, bool *found)
{
    const double little = 0.1;
    double coarse, fine;
    gsv_options o = composed_options(l);
    o.steps = l->stage[1].form == GSV_FORM_COMPOSED ? 2 * l->stage[1].steps
                                                    : MOST_STEPS;
    int status = value_composed(l, o.steps, &coarse);
    *found = false;
    for (; !status && !*found && o.steps <= 4 * MOST_STEPS; coarse = fine) {
        status = value_composed(l, 2 * o.steps, &fine);
        *found = !status && fabs(fine - coarse) <= little;
        if (!*found) o.steps *= 2;
    }
    if (*found) settle(l, &o);
    return status;
}

int effort_raise(struct learner *l)
{
    enum { MANY_PATHS = 64 };
    gsv_options o = l->stage[1];
    bool found = o.form == GSV_FORM_COMPOSED;
    int status = 0;
    if (is_composed(l)) status = raise_composed(l, &found);
    if (status || found) return learner_spared(l, status);
    if (o.steps < most_steps(l)) o.steps = most_steps(l);
    if (o.paths < MANY_PATHS) o.paths = MANY_PATHS;
    settle(l, &o);
    return 0;
}

int effort_by_score(struct learner *l, const double *theta, double share)
{
    size_t n = l->n;
    double *room = NEW(double, n *(n + 6));
    if (!room) return GSV_NO_MEMORY;
    struct search s = {.l = l,
                       .theta = room + 4 * n,
                       .share = l->recipe->share * share,
                       .deviation = room,
                       .here = room + n,
                       .again = room + 2 * n,
                       .finer = room + 3 * n,
                       .root = room + 5 * n};
    /* A search that is left has settled nothing: a resume begins it again. */
    const gsv_options before = l->stage[1];
    const struct standing now = l->now;
    memcpy(s.theta, theta, n * sizeof *theta);
    learner_phase(l, GSV_PHASE_EFFORT);
    int status = search_effort(l, &s);
    learner_phase(l, GSV_PHASE_SEARCH);
    mem_free(room);
    if (learner_over(l)) {
        l->stage[1] = before;
        l->now = now;
    }
    return status == GSV_NUMERICAL ? 0 : learner_spared(l, status);
}
