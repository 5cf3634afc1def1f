/* SPDX-License-Identifier: MIT */
/* Which psi a track has: that of the linearised model, and others where it does
 * not serve. */
#include <math.h>

#include "base/halt.h"
#include "guided/control.h"
#include "guided/guided.h"
#include "guided/others.h"

/* --- A better psi --------------------------------------------------------- */

/* The most numbers that pilots may leave behind. */
enum { MOST_HISTORY = 1 << 25 };

/* Memory of the pilots, once for all tracks. */
static int make_pilots(struct guide *g, size_t K, size_t size)
{
    if (g->history) return 0;
    double *history = NEW(double, size);
    int status = history ? swarm_init(&g->pilots, g->swarm.course, K,
                                      g->pace.capacity, g->mover, g->movers)
                         : GSV_NO_MEMORY;
    if (status) {
        swarm_free(&g->pilots);
        g->pilots = (struct swarm){0};
        mem_free(history);
        return GSV_NO_MEMORY;
    }
    g->history = history;
    return 0;
}

/* A better psi, where there is memory for it. */
static int control(struct guide *g)
{
    const struct course *f = g->swarm.course;
    size_t pilots = control_pilots(f, g->swarm.K);
    size_t size = control_memory(f, pilots, g->pace.capacity);
    if (size > MOST_HISTORY) return 0;
    if (make_pilots(g, pilots, size)) return GSV_NO_MEMORY;
    g->pilots.seed = ~g->swarm.seed;
    g->pilots.iteration = g->swarm.iteration;
    g->pilots.share = g->swarm.share;
    return control_improve(&g->pilots, g->ahead, &g->pace, g->history);
}

/* --- One kind ------------------------------------------------------------- */

/* The paths of its psi, where they are not known. */
static int find_paths(struct guide *g, struct walk *t)
{
    bool several = g->swarm.course->curved && t->look.kind != LOOK_ALONE;
    int status = 0;
    g->aheads = 1;
    g->found = false;
    if (several)
        status = ahead_make(&g->ahead[0], &g->mover[0], &g->pace, false, NULL);
    if (!status && several) status = others_find(g);
    t->searched = several;
    t->made = several && !status;
    return status;
}

/* psi = 1. */
static int look_nowhere(struct guide *g)
{
    g->swarm.aheads = g->aheads = 1;
    return ahead_blank(g->ahead, &g->mover[0], &g->pace);
}

/* All psi of a track. */
static int look_ahead(struct guide *g, struct walk *t)
{
    bool blind = t->look.kind == LOOK_NEXT;
    int status = 0;
    if (t->look.kind == LOOK_NOWHERE) {
        t->made = false;
        return look_nowhere(g);
    }
    if (t->from) g->aheads = t->look.aheads;
    else if (!t->searched || t->look.kind == LOOK_ALONE)
        status = find_paths(g, t);
    bool made = t->made && !blind && !t->from;
    for (size_t i = 0; !made && !status && i < g->aheads; i++) {
        struct ahead *w = &g->ahead[i];
        /* Another thread may have found the paths. */
        if (!w->course &&
            ahead_init(w, g->swarm.course, g->pace.capacity, g->movers))
            return GSV_NO_MEMORY;
        const double *from = t->from ? t->from + i * t->apart : NULL;
        status = !from && g->found
                     ? ahead_along(w, &g->mover[0], &g->pace, blind, w->mu)
                     : ahead_make(w, &g->mover[0], &g->pace, blind, from);
    }
    t->made = !blind && !status;
    g->swarm.aheads = t->look.aheads = g->aheads;
    return status;
}

/* To another seed. */
static const uint64_t FRESH = 0x9e3779b97f4a7c15;

int walk_run(struct guide *g, struct walk *t)
{
    pace_set(&g->pace, t->track, &g->values, &g->mover[0].room);
    int status = look_ahead(g, t);
    if (!status && t->look.kind == LOOK_CONTROLLED) {
        status = control(g);
        t->made = false;
    }
    uint64_t seed = g->swarm.seed;
    if (t->look.fresh) g->swarm.seed += FRESH;
    if (!status) status = swarm_run(&g->swarm, &g->pace, g->ahead, t->observer);
    g->swarm.seed = seed;
    return status;
}

/* --- The best kind -------------------------------------------------------- */

/* A result with less error is left as it is: a better psi takes three times as
 * long. Elsewhere half of the particles are enough. */
static const double FINE = 0.02;

static bool is_followed(const struct guide *g, bool fine)
{
    double worst = INFINITY;
    for (size_t k = 0; k < g->pace.nodes; k++)
        worst = fmin(worst, g->swarm.ess[k]);
    return fine ? swarm_error(&g->swarm) < FINE
                : 2.0 * worst > (double)g->swarm.K;
}

/* What a kind led to; error is INFINITY where it was not tried. */
struct tried {
    double error, value;
};

/* Particles that a psi leads away from all that matters have much the same
 * weights: their error is small, and only the value is low. Values are rarely
 * too high, as their mean is right. So one that is lower than another by many
 * errors, or than that of the linearised model by many nats, has missed
 * something. */
static const double MANY_ERRORS = 3.0, MANY_NATS = 3.0;

static bool is_below(struct tried a, struct tried b)
{
    return a.value < b.value - MANY_ERRORS * hypot(a.error, b.error);
}

/* The least error of those that have missed nothing. */
static enum look_kind best_of(const struct tried *tried)
{
    enum look_kind top = LOOK_AHEAD, best;
    for (enum look_kind k = LOOK_AHEAD; k < LOOK_KINDS; k++)
        if (tried[k].value > tried[top].value) top = k;
    best = top;
    for (enum look_kind k = LOOK_AHEAD; k < LOOK_KINDS; k++)
        if (tried[k].error < tried[best].error &&
            !is_below(tried[k], tried[top]))
            best = k;
    return best;
}

/* Whether one of those that were tried has missed something. */
static bool are_apart(const struct tried *tried)
{
    for (enum look_kind a = LOOK_AHEAD; a < LOOK_KINDS; a++)
        for (enum look_kind b = LOOK_AHEAD; b < LOOK_KINDS; b++)
            if (isfinite(tried[a].error) && isfinite(tried[b].error) &&
                is_below(tried[a], tried[b]))
                return true;
    return false;
}

/* After the first two, others are tried where the error of a result, or of one
 * with several paths, is above this, or where one of these has missed
 * something. Other values that are compared, in a search or in differences,
 * keep to the first two where these agree: a change from one psi to another is
 * a jump. */
static const double POOR = 0.1;

/* Of the linearised model, after a run with its psi. */
static double value_ahead(const struct guide *g)
{
    double most = -INFINITY;
    for (size_t i = 0; i < g->aheads; i++)
        most = fmax(most, g->ahead[i].total);
    return most;
}

/* Whether a kind is left out after those before it. */
static bool is_idle(const struct guide *g, enum look_kind kind)
{
    return (kind == LOOK_CONTROLLED && g->aheads > 1) ||
           (kind == LOOK_ALONE && !g->found);
}

/* Kinds until one serves; the last one to t->look. */
static int try_kinds(struct guide *g, struct walk *t, struct tried *tried)
{
    double poor = INFINITY, least = INFINITY;
    bool low = false;
    int status = 0;
    for (enum look_kind kind = LOOK_AHEAD; kind < LOOK_KINDS; kind++) {
        if (kind > LOOK_CONTROLLED && least < poor && !low && !are_apart(tried))
            break;
        if (is_idle(g, kind)) continue;
        t->look.kind = kind;
        status = walk_run(g, t);
        if (kind == LOOK_AHEAD && (t->fine || g->found)) poor = POOR;
        if (status == GSV_STOPPED || status == GSV_NO_MEMORY) break;
        if (status) continue;
        tried[kind] = (struct tried){swarm_error(&g->swarm), g->swarm.log_z};
        least = fmin(least, tried[kind].error);
        if (kind != LOOK_AHEAD) continue;
        low = t->fine && g->swarm.log_z < value_ahead(g) - MANY_NATS;
        if (is_followed(g, t->fine) && !low) break;
    }
    return status;
}

int walk_best(struct guide *g, struct walk *t)
{
    struct tried tried[LOOK_KINDS];
    for (enum look_kind k = LOOK_AHEAD; k < LOOK_KINDS; k++)
        tried[k] = (struct tried){INFINITY, -INFINITY};
    int status = try_kinds(g, t, tried);
    if (status == GSV_STOPPED || status == GSV_NO_MEMORY) return status;
    enum look_kind best = best_of(tried);
    /* The least error of several comes with a low value: not by these numbers.
     */
    t->look.fresh = t->look.kind > LOOK_CONTROLLED;
    if (t->look.kind == best && !status && !t->look.fresh) return 0;
    t->look.kind = best;
    t->searched = false;
    return walk_run(g, t);
}
