/* SPDX-License-Identifier: MIT */
#include "learn/noise_settle.h"

#include <math.h>
#include <string.h>

#include "base/linalg.h"
#include "base/memory.h"
#include "slope/slope.h"

/* Pairs of gaps, at least and at most; and natural steps, of which four are
 * usually enough. */
enum { FEWEST_PAIRS = 50, MOST_PAIRS = 16384, STEPS = 30 };
static const double SMALL_STEP = 1e-4;

/* Nats of a gap for each state that the data may lose: about those that a noise
 * half as large or twice as large would cost. */
static const double MOST_LOSS = 0.3;

struct settle {
    struct learner *l;
    gsv_options options;
    struct slopes slopes;
    size_t *group; /* (n) gaps, pair by pair  */
    size_t n;
    double *first;    /* (theta) where it began  */
    double *last;     /* (theta) before a step   */
    double *gradient; /* (theta)                 */
    double *value;    /* (values) the gradient   */
};

static bool are_neighbours(const struct gaps *gaps, size_t i)
{
    struct gap one = gaps_at(gaps, i), two = gaps_at(gaps, i + 1);
    return one.track == two.track && one.to == two.from;
}

/* Pairs that share no gap, spread over the data. */
static int choose_pairs(struct settle *t, const struct gaps *gaps)
{
    size_t all = gaps->count, apart = all / (2 * MOST_PAIRS);
    t->group = NEW(size_t, all < 2 * MOST_PAIRS ? all : 2 * MOST_PAIRS);
    if (!t->group) return GSV_NO_MEMORY;
    for (size_t i = 0; i + 1 < all && t->n < 2 * MOST_PAIRS; i++) {
        if (!are_neighbours(gaps, i)) continue;
        t->group[t->n++] = i;
        t->group[t->n++] = ++i;
        i += apart > 1 ? 2 * (apart - 1) : 0;
    }
    return 0;
}

static int settle_init(struct settle *t, struct learner *l)
{
    struct gaps gaps = {0};
    *t = (struct settle){.l = l, .options = l->stage[0]};
    t->options.gradient = true;
    int status = gaps_find(&gaps, l->m, l->s);
    if (!status) status = choose_pairs(t, &gaps);
    gaps_free(&gaps);
    if (status || t->n < 2 * FEWEST_PAIRS) return status;
    t->first = NEW(double, l->n);
    t->last = NEW(double, l->n);
    t->gradient = NEW(double, l->n);
    t->value = NEW(double, l->m->spec->parameters);
    if (!t->first || !t->last || !t->gradient || !t->value)
        return GSV_NO_MEMORY;
    const struct task task = {
        .model = l->m, .series = l->s, .options = &t->options, .most = t->n};
    return slopes_init(&t->slopes, &task);
}

static void settle_free(struct settle *t)
{
    slopes_free(&t->slopes);
    MEM_FREE(t->group, t->first, t->last, t->gradient, t->value);
}

static int score_at(struct settle *t, const double *theta, double *mean)
{
    struct score score = {.mean = NAN};
    gsv_theta_set(t->l->m, theta);
    int status = slopes_run(&t->slopes, t->n, t->group, NULL, &score);
    *mean = score.mean;
    return status;
}

/* The mean's gradient by theta. */
static int find_gradient(struct settle *t, const double *theta)
{
    struct learner *l = t->l;
    struct score score;
    gsv_theta_set(l->m, theta);
    int status = slopes_noise(&t->slopes, t->n, t->group, t->value, &score);
    for (size_t i = 0; i < l->m->spec->parameters; i++)
        t->value[i] /= (double)t->n;
    memset(t->gradient, 0, l->n * sizeof *t->gradient);
    gsv_theta_vjp(l->m, t->value, t->gradient);
    return status;
}

static double longest_step(const struct settle *t, const double *theta)
{
    double most = 0.0;
    for (size_t i = 0; i < t->l->n; i++)
        most = fmax(most, fabs(theta[i] - t->last[i]));
    return most;
}

static int take_steps(struct settle *t, double *theta)
{
    size_t bytes = t->l->n * sizeof *theta;
    for (size_t i = 0; i < STEPS; i++) {
        int status = find_gradient(t, theta);
        if (status) return status;
        memcpy(t->last, theta, bytes);
        noise_step_move(&t->l->noise, 1.0, t->gradient, theta);
        if (longest_step(t, theta) < SMALL_STEP) break;
    }
    return 0;
}

static int settle(struct settle *t, double *theta)
{
    size_t n = t->l->n;
    double before = NAN, after = NAN,
           most = MOST_LOSS * (double)t->l->m->spec->dim;
    memcpy(t->first, theta, n * sizeof *theta);
    int status = score_at(t, theta, &before);
    if (!status) status = take_steps(t, theta);
    if (!status) status = score_at(t, theta, &after);
    if (status || !all_finite(n, theta) || !(after >= before - most))
        memcpy(theta, t->first, n * sizeof *theta);
    return status;
}

int noise_settle(struct learner *l, double *theta)
{
    struct settle t;
    bool slopes = l->aim[0] == GSV_OBJECTIVE_SLOPES && learner_by_batches(l);
    if (!slopes || !l->noise.n) return 0;
    int status = settle_init(&t, l);
    if (!status && t.slopes.m) status = settle(&t, theta);
    settle_free(&t);
    return status == GSV_NUMERICAL ? 0 : status;
}
