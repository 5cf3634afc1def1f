/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "learn/gibbs.h"
#include "panel/panel.h"

/* --- Units ---------------------------------------------------------------- */

static int make_slots(struct target *t, size_t slots, size_t units)
{
    t->slots = slots;
    t->units = units;
    t->unit = NEW(size_t, slots);
    t->rank = NEW(size_t, slots);
    t->size = NEW(size_t, units);
    return t->unit && t->rank && t->size ? 0 : GSV_NO_MEMORY;
}

static void add_slot(struct target *t, size_t slot, size_t unit)
{
    t->unit[slot] = unit;
    t->rank[slot] = t->size[unit]++;
    if (t->size[unit] > t->longest) t->longest = t->size[unit];
}

static struct slots count_slots(const struct target *t)
{
    const struct estimator *e = &t->all.estimator;
    const struct given *g = &t->given;
    if (!t->effects) return e->method->slots(e->machine, NULL);
    return (struct slots){g->slot[t->tracks], g->unit[t->tracks], g->random};
}

/* Gaps, tracks with joint, or stops of hidden states. */
static int read_slots(struct target *t)
{
    const struct estimator *e = &t->all.estimator;
    struct slots s = count_slots(t);
    size_t *unit = NEW(size_t, s.slots);
    int status = unit ? make_slots(t, s.slots, s.units) : (int)GSV_NO_MEMORY;
    if (!status && t->effects) status = given_slots(&t->given, unit);
    if (!status && !t->effects) e->method->slots(e->machine, unit);
    for (size_t i = 0; !status && i < s.slots; i++)
        add_slot(t, i, unit[i]);
    t->random = s.random;
    mem_free(unit);
    return status;
}

enum { FEWEST_FOR_THREADS = 1 << 15 };

bool target_is_small(const struct learner *l, const gsv_options *o)
{
    double pairs = (double)(o->points * o->points * l->s->rows);
    double paths = (double)(o->paths * l->split.trains);
    double each = learner_has_groups(l) ? paths : pairs;
    return !(o->step > 0.0) && each * (double)o->steps < FEWEST_FOR_THREADS;
}

/* --- Setting up ----------------------------------------------------------- */

static int copy_model(struct target *t)
{
    const struct learner *l = t->l;
    size_t values = l->m->spec->parameters;
    t->value = NEW(double, values);
    t->prior = l->prior;
    t->prior.m = &t->model;
    t->prior.slope = NEW(double, l->n);
    if (!t->value || !t->prior.slope) return GSV_NO_MEMORY;
    memcpy(t->value, l->m->value, values * sizeof *t->value);
    t->model = *l->m;
    t->model.value = t->value;
    return 0;
}

int target_init(struct target *t, struct learner *l, const gsv_options *o)
{
    *t = (struct target){
        .l = l, .options = *o, .effects = l->m->spec->effect_size};
    t->options.gradient = t->options.richardson = t->options.delta = false;
    const struct task task = {.model = &t->model,
                              .series = l->s,
                              .options = &t->options,
                              .by_group = true,
                              .values_alone = true};
    if (t->effects) t->tracks = l->s->tracks;
    int status = copy_model(t);
    if (!status && !t->effects)
        status = objective_init(&t->all, &t->model, &task);
    if (!status && t->effects) status = effect_law_init(&t->law, &t->model);
    if (!status && t->effects)
        status = given_init(&t->given, panel_inner(l->method), &task);
    return status ? status : read_slots(t);
}

void target_free(struct target *t)
{
    objective_free(&t->all);
    given_free(&t->given);
    if (t->effects) effect_law_free(&t->law);
    MEM_FREE(t->unit, t->rank, t->size, t->value, t->prior.slope);
}

/* --- The value ------------------------------------------------------------ */

double target_sum(const struct target *t, const double *unit)
{
    double sum = 0.0;
    for (size_t i = 0; i < t->units; i++)
        sum += unit[i];
    return isfinite(sum) ? sum : -INFINITY;
}

void target_set(struct target *t, const double *theta)
{
    const struct learner *l = t->l;
    gsv_theta_set(&t->model, theta);
    for (size_t i = 0; i < l->n; i++)
        if (l->fixed[i]) t->value[l->value[i]] = l->kept[l->value[i]];
}

/* log p(u) at the target's values, or -INFINITY. */
static double density_of(struct target *t, const double *u)
{
    double z[EFFECTS_MOST], sum = 0.0;
    if (effect_law_set(&t->law, t->value)) return -INFINITY;
    for (size_t i = 0; i < t->tracks; i++)
        sum += effect_density(&t->law, u + i * t->effects, z);
    return isfinite(sum) ? sum : -INFINITY;
}

void target_level(struct target *t, struct chain *c)
{
    target_set(t, c->theta);
    c->level = (struct level){.loglik = target_sum(t, c->unit),
                              .log = prior_at(&t->prior)};
    if (t->effects) c->level.effects = density_of(t, c->u);
}

int target_at(struct target *t, double ceiling, struct chain *c)
{
    struct level *level = &c->level;
    target_set(t, c->theta);
    *level = (struct level){.loglik = -INFINITY, .log = prior_at(&t->prior)};
    if (t->effects) level->effects = density_of(t, c->u);
    if (!isfinite(level->log.theta + level->effects)) return 0;
    const struct estimator *e = &t->all.estimator;
    int status = t->effects ? given_run(&t->given, c->u, c->stream, c->unit)
                            : e->method->units(e->machine, c->stream, c->unit);
    if (!status) level->loglik = target_sum(t, c->unit);
    if (level->loglik > ceiling) {
        level->loglik = -INFINITY;
        t->refused++;
    }
    return status;
}
