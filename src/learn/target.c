/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "base/comm.h"
#include "base/error.h"
#include "learn/gibbs.h"

/* --- Units -----------------------------------------------------------------
 */

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

/* Gaps, or with joint series. */
static int take_groups(struct target *t)
{
    const struct estimate *e = &t->all.estimate;
    t->random = e->longest > 1;
    if (make_slots(t, e->gaps.count, e->groups)) return GSV_NO_MEMORY;
    for (size_t g = 0; g < e->groups; g++)
        for (size_t i = e->group_first[g]; i < e->group_first[g + 1]; i++)
            add_slot(t, i, g);
    return 0;
}

static int take_tracks(struct target *t)
{
    const struct stops *s = observer_stops(&t->all.observer);
    t->random = true;
    if (make_slots(t, s->count, t->l->s->tracks)) return GSV_NO_MEMORY;
    for (size_t i = 0; i < s->count; i++)
        add_slot(t, i, s->stop[i].track);
    return 0;
}

/* Threads take longer to wake up than such an estimate takes. */
enum { FEWEST_FOR_THREADS = 1 << 15 };

static bool is_small(const struct learner *l, const gsv_options *o)
{
    double pairs = (double)(o->points * o->points * l->s->rows);
    double paths = (double)(o->paths * l->split.trains);
    double each = spec_is_latent(l->m->spec) ? pairs : paths;
    return !(o->step > 0.0) && each * (double)o->steps < FEWEST_FOR_THREADS;
}

int target_init(struct target *t, struct learner *l, const gsv_options *o)
{
    *t = (struct target){.l = l, .options = *o, .ceiling = INFINITY};
    t->options.gradient = t->options.richardson = t->options.delta = false;
    if (is_small(l, o)) t->options.threads = 1;
    int status = prior_init(&t->prior, l);
    if (!status)
        status = objective_init_watched(&t->all, l->m, l->s, &t->options, 0);
    if (status) return status;
    if (t->all.observed) return take_tracks(t);
    t->all.estimate.halved = false;
    return take_groups(t);
}

void target_free(struct target *t)
{
    prior_free(&t->prior);
    objective_free(&t->all);
    mem_free(t->unit);
    mem_free(t->rank);
    mem_free(t->size);
}

/* --- The value -------------------------------------------------------------
 */

static int run_groups(struct target *t, const uint32_t *turn, double *unit)
{
    struct estimate *e = &t->all.estimate;
    for (size_t i = 0; i < t->slots; i++)
        e->gaps.gap[i].turn = turn[i];
    estimate_prepare(e, NULL);
    int status = estimate_run(e, 0);
    if (status) return status;
    for (size_t g = 0; g < t->units; g++) {
        double loglik = estimate_group(e, g).loglik;
        bool broken = e->tally[g * e->chunks].broken || !isfinite(loglik);
        unit[g] = broken ? -INFINITY : loglik;
    }
    return 0;
}

static int run_tracks(struct target *t, const uint32_t *turn, double *unit)
{
    struct observer *o = &t->all.observer;
    o->scan.value_alone = true;
    for (size_t i = 0; i < t->slots; i++)
        observer_turn(o, i, turn[i]);
    int status = observer_run(o, NULL, 0, NULL);
    int stopped = comm_stop(t->options.ranks);
    if (stopped) return stopped;
    for (size_t i = 0; i < t->units; i++)
        unit[i] = status ? -INFINITY : 0.0;
    for (size_t i = 0; !status && i < t->slots; i++)
        unit[t->unit[i]] += observer_increment(o)[i];
    return status == GSV_NUMERICAL ? 0 : status;
}

double target_sum(const struct target *t, const double *unit)
{
    double sum = 0.0;
    for (size_t i = 0; i < t->units; i++)
        sum += unit[i];
    return isfinite(sum) ? sum : -INFINITY;
}

int target_at(struct target *t, const double *theta, const uint32_t *turn,
              double *unit, struct level *level)
{
    learner_set(t->l, theta);
    *level = (struct level){-INFINITY, prior_at(&t->prior)};
    if (!isfinite(level->log.theta)) return 0;
    int status =
        t->all.observed ? run_tracks(t, turn, unit) : run_groups(t, turn, unit);
    if (!status) level->loglik = target_sum(t, unit);
    if (level->loglik > t->ceiling) {
        level->loglik = -INFINITY;
        t->l->refused++;
    }
    return status;
}
