/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "base/error.h"
#include "learn/gibbs.h"

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

/* Gaps, tracks with joint, or stops of hidden states. */
static int read_slots(struct target *t)
{
    const struct estimator *e = &t->all.estimator;
    struct slots s = e->method->slots(e->machine, NULL);
    size_t *unit = NEW(size_t, s.slots);
    int status = unit ? make_slots(t, s.slots, s.units) : (int)GSV_NO_MEMORY;
    if (!status) e->method->slots(e->machine, unit);
    for (size_t i = 0; !status && i < s.slots; i++)
        add_slot(t, i, unit[i]);
    t->random = s.random;
    mem_free(unit);
    return status;
}

/* Threads take longer to wake up than such an estimate takes. */
enum { FEWEST_FOR_THREADS = 1 << 15 };

static bool is_small(const struct learner *l, const gsv_options *o)
{
    double pairs = (double)(o->points * o->points * l->s->rows);
    double paths = (double)(o->paths * l->split.trains);
    double each = learner_has_groups(l) ? paths : pairs;
    return !(o->step > 0.0) && each * (double)o->steps < FEWEST_FOR_THREADS;
}

int target_init(struct target *t, struct learner *l, const gsv_options *o)
{
    *t = (struct target){.l = l, .options = *o, .ceiling = INFINITY};
    t->options.gradient = t->options.richardson = t->options.delta = false;
    if (is_small(l, o)) t->options.threads = 1;
    const struct task task = {.series = l->s,
                              .options = &t->options,
                              .by_group = true,
                              .values_alone = true};
    int status = objective_init(&t->all, l->m, &task);
    return status ? status : read_slots(t);
}

void target_free(struct target *t)
{
    objective_free(&t->all);
    MEM_FREE(t->unit, t->rank, t->size);
}

/* --- The value ------------------------------------------------------------ */

double target_sum(const struct target *t, const double *unit)
{
    double sum = 0.0;
    for (size_t i = 0; i < t->units; i++)
        sum += unit[i];
    return isfinite(sum) ? sum : -INFINITY;
}

int target_at(struct target *t, const double *theta, const uint32_t *stream,
              double *unit, struct level *level)
{
    learner_set(t->l, theta);
    *level = (struct level){-INFINITY, prior_at(&t->l->prior)};
    if (!isfinite(level->log.theta)) return 0;
    const struct estimator *e = &t->all.estimator;
    int status = e->method->units(e->machine, stream, unit);
    if (!status) level->loglik = target_sum(t, unit);
    if (level->loglik > t->ceiling) {
        level->loglik = -INFINITY;
        t->l->refused++;
    }
    return status;
}
