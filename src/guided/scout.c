/* SPDX-License-Identifier: MIT */
#include "guided/scout.h"

#include <math.h>
#include <string.h>

#include "base/error.h"

/* Particles, for a result and for values on the way to one, and the numbers
 * that they may leave behind. */
enum { SCOUTS = 8192, SOME = 1024, FEWEST = 128, MOST_TRAIL = 1 << 22 };

/* A value is too low by so many errors, and by so many nats. */
static const double MANY_ERRORS = 3.0, MANY_NATS = 0.1;

/* To other random numbers. */
static const uint64_t OTHERS = 0x6a09e667f3bcc909;

/* Where they were at every node, and which of the node before they came from;
 * the weights of the last one. */
struct origins {
    double *x, *weight;
    uint32_t *parent; /* (nodes, K): of those that leave the node */
    size_t K, D;
    double *spread; /* (nodes, D) */
};

/* --- On the way -------------------------------------------------------------
 */

static void measure(struct origins *t, const struct swarm *s, size_t here)
{
    for (size_t i = 0; i < t->D; i++) {
        double mean = 0.0, square = 0.0;
        for (size_t k = 0; k < t->K; k++)
            if (t->weight[k] > 0.0)
                mean += t->weight[k] * s->x[swarm_at(s, t->D, k, i)];
        for (size_t k = 0; k < t->K; k++) {
            double off = s->x[swarm_at(s, t->D, k, i)] - mean;
            if (t->weight[k] > 0.0) square += t->weight[k] * off * off;
        }
        t->spread[here * t->D + i] = sqrt(square);
    }
}

static int note(void *user, const struct swarm *s, size_t here)
{
    struct origins *t = user;
    double *x = t->x + here * t->K * t->D;
    for (size_t k = 0; k < t->K; k++) {
        t->parent[here * t->K + k] = (uint32_t)k;
        for (size_t i = 0; i < t->D; i++)
            x[k * t->D + i] = s->x[swarm_at(s, t->D, k, i)];
    }
    if (!swarm_weights(t->K, s->log_w, t->weight)) return GSV_NUMERICAL;
    measure(t, s, here);
    return 0;
}

/* After note() at the same node. */
struct road {
    struct origins *trail;
    size_t here;
};

static int visit(void *user, const struct swarm *s, size_t here)
{
    struct road *r = user;
    r->here = here;
    return note(r->trail, s, here);
}

static void redraw(void *user, const struct swarm *s)
{
    const struct road *r = user;
    struct origins *t = r->trail;
    for (size_t k = 0; k < t->K; k++)
        t->parent[r->here * t->K + k] = (uint32_t)s->parent[k];
}

/* --- The ways of those that are left ----------------------------------------
 */

static void lay_path(const struct origins *t, size_t nodes, size_t k,
                     double *to)
{
    for (size_t n = nodes; n-- > 0;) {
        if (n + 1 < nodes) k = t->parent[n * t->K + k];
        memcpy(to + n * t->D, t->x + (n * t->K + k) * t->D, t->D * sizeof *to);
    }
}

/* Some of them, evenly by their weights. */
static void lay_paths(const struct origins *t, size_t nodes, struct scouts *s)
{
    double sum = 0.0;
    size_t k = 0;
    for (size_t j = 0; j < SCOUT_PATHS; j++) {
        double place = ((double)j + 0.5) / SCOUT_PATHS;
        while (k + 1 < t->K && sum + t->weight[k] < place)
            sum += t->weight[k++];
        lay_path(t, nodes, k, s->path + j * nodes * t->D);
    }
    s->paths = SCOUT_PATHS;
}

/* --- All together ------------------------------------------------------------
 */

/* psi = 1. */
static int make_blank(struct ahead *w, struct guide *g)
{
    if (!w->course &&
        ahead_init(w, g->swarm.course, g->pace.capacity, g->movers))
        return GSV_NO_MEMORY;
    return ahead_blank(w, &g->mover[0], &g->pace);
}

static int walk(struct scouts *s, struct guide *g, struct origins *t,
                struct ahead *blank, struct swarm *swarm)
{
    struct road road = {.trail = t};
    const struct swarm_observer o = {&road, true, visit, redraw};
    int status = make_blank(blank, g);
    swarm->aheads = 1;
    swarm->seed = g->swarm.seed ^ OTHERS;
    swarm->iteration = g->swarm.iteration;
    swarm->share = 0.5;
    if (!status) status = swarm_run(swarm, &g->pace, blank, &o);
    if (status) return status;
    g->scouted = (struct scouted){swarm->log_z, swarm_error(swarm)};
    lay_paths(t, g->pace.nodes, s);
    return 0;
}

int scouts_send(struct scouts *s, struct guide *g, struct ahead *blank)
{
    size_t N = g->pace.nodes, D = g->swarm.D;
    size_t K = g->careful ? SCOUTS : SOME;
    if (K > MOST_TRAIL / (N * D)) K = MOST_TRAIL / (N * D);
    struct origins t = {.K = K, .D = D};
    struct swarm swarm = {0};
    *s = (struct scouts){0};
    if (K < FEWEST) return 0;
    const struct arena_part part[] = {{&t.x, N * K * D},
                                      {&t.weight, K},
                                      {&s->path, SCOUT_PATHS * N * D},
                                      {&s->spread, N * D}};
    t.parent = NEW(uint32_t, N * K);
    int status = t.parent ? arena_lay(&s->arena, 4, part) : GSV_NO_MEMORY;
    t.spread = s->spread;
    if (!status)
        status = swarm_init(&swarm, g->swarm.course, K, N, g->mover, g->movers);
    if (!status) status = walk(s, g, &t, blank, &swarm);
    swarm_free(&swarm);
    mem_free(t.parent);
    /* Where none of them explains the data, they say nothing. */
    return status == GSV_NUMERICAL ? 0 : status;
}

void scouts_free(struct scouts *s)
{
    arena_free(&s->arena);
}

void scouts_compare(struct guide *g)
{
    double error = hypot(g->scouted.error, swarm_error(&g->swarm));
    if (g->swarm.log_z <
        g->scouted.log_z - fmax(MANY_NATS, MANY_ERRORS * error))
        memset(g->crowded, true, g->pace.nodes * sizeof *g->crowded);
}
