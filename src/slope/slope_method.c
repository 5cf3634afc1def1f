/* SPDX-License-Identifier: MIT */
#include "slope/slope_method.h"

#include "base/error.h"
#include "slope/slope.h"

static int accept(const struct method *row, const struct task *t)
{
    (void)row;
    return slopes_accept(t->model);
}

static int init(const struct method *row, void *machine, const struct task *t)
{
    (void)row;
    return slopes_init(machine, t);
}

static void release(void *machine)
{
    slopes_free(machine);
}

static int run(void *machine, const struct request *q, struct score *score)
{
    return slopes_run(machine, q->n, q->group, q->gradient, score);
}

/* The share of gaps whose slope could not be corrected, which then are off by
 * about a nat each. */
static double doubt(const void *machine)
{
    return slopes_limited(machine);
}

static size_t groups(const void *machine)
{
    return ((const struct slopes *)machine)->n;
}

static gsv_gap group(const void *machine, size_t g)
{
    const struct slopes *s = machine;
    struct gap gap = gaps_at(&s->gaps, s->group ? s->group[g] : g);
    return (gsv_gap){.track = gap.track,
                     .from = gap.from,
                     .to = gap.to,
                     .loglik = s->value[g]};
}

const struct method METHOD_SLOPES = {.name = "slopes",
                                     .shares = true,
                                     .selects = true,
                                     .size = sizeof(struct slopes),
                                     .accept = accept,
                                     .init = init,
                                     .free = release,
                                     .run = run,
                                     .groups = groups,
                                     .group = group,
                                     .doubt = doubt};
