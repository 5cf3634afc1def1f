/* SPDX-License-Identifier: MIT */
/* Where the states are, as the guided filter's particles say. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "guided/guided.h"
#include "model/states.h"

/* Particles where the options do not say: more than a likelihood needs, since
 * each row's law is used by itself. */
enum { STATE_PARTICLES = 1024 };

/* States in the data's coordinates at node k, to x (dim, K); those that were
 * observed are what was observed. */
static void place_all(const struct swarm *s, size_t k, double *x)
{
    const struct course *m = s->course;
    struct mover *mover = &s->mover[0];
    const struct stops *stops = s->pace->stops;
    for (size_t b = 0; b < s->blocks; b++) {
        size_t first = b * COURSE_BLOCK, left = s->K - first;
        size_t P = left < COURSE_BLOCK ? left : COURSE_BLOCK;
        struct points in =
            mover_points(mover, s->pace, k, P, s->x + first * s->D);
        program_forward(m->part[COURSE_PLACE],
                        &mover->values->part[COURSE_PLACE],
                        &mover->room.part[COURSE_PLACE], &in);
        const double *to = program_output(
            m->part[COURSE_PLACE], &mover->room.part[COURSE_PLACE], P, 0);
        for (size_t i = 0; i < m->d; i++)
            memcpy(x + i * s->K + first, to + i * P, P * sizeof *x);
    }
    for (size_t i = 0; i < m->d; i++) {
        double seen = gaps_state(&stops->gaps, i, pace_stop(s->pace, k)->row);
        for (size_t j = 0; !isnan(seen) && j < s->K; j++)
            x[i * s->K + j] = seen;
    }
}

/* --- Given the data so far ------------------------------------------------ */

struct sight {
    const struct filter_visitor *visitor;
    double *x; /* (dim, K) */
};

static int see_row(void *user, const struct swarm *s, size_t here)
{
    const struct sight *sight = user;
    const struct stop *stop = pace_stop(s->pace, here);
    if (stop->row == NO_ROW) return 0;
    place_all(s, here, sight->x);
    struct state_law law = {.track = stop->track,
                            .row = stop->row,
                            .time = stop->time,
                            .points = s->K,
                            .stride = s->K,
                            .x = sight->x,
                            .log_weight = s->filtered};
    return sight->visitor->visit(sight->visitor->user, 1, &law);
}

int guided_filter(const struct task *t, const struct filter_visitor *v)
{
    struct guided a;
    gsv_options o = *t->options;
    struct sight sight = {.visitor = v};
    o.gradient = false;
    if (!o.points) o.points = STATE_PARTICLES;
    int status = guided_make(&a, t->model, t->series, &o, NULL);
    if (!status) {
        sight.x = NEW(double, a.course.d *a.K);
        if (!sight.x) status = GSV_NO_MEMORY;
    }
    const struct swarm_observer observer = {.user = &sight, .visit = see_row};
    if (!status) status = guided_walk(&a, true, &observer);
    mem_free(sight.x);
    guided_free(&a);
    return status;
}

/* --- Given all data ------------------------------------------------------- */

/* What is kept of a track until its end. */
struct record {
    const struct drawn_paths *paths;
    size_t first, rows; /* of the track, so far          */
    size_t capacity;
    double *x;      /* (capacity, dim, K)            */
    double *weight; /* (K)                           */
    double *line;   /* (K)                           */
    size_t *root;   /* (K) the particle that a path began with */
};

/* The effective number of particles that paths began with. */
static double count_roots(const struct record *r, size_t K)
{
    double squares = 0.0;
    memset(r->line, 0, K * sizeof *r->line);
    for (size_t k = 0; k < K; k++)
        r->line[r->root[k]] += r->weight[k];
    for (size_t k = 0; k < K; k++)
        squares += r->line[k] * r->line[k];
    return 1.0 / squares;
}

/* For one more row. */
static int make_room(struct record *r, size_t size)
{
    size_t more = 2 * r->capacity + 16;
    if (r->rows < r->capacity) return 0;
    double *x = mem_grow(r->x, r->capacity * size, more * size, sizeof *x);
    if (!x) return GSV_NO_MEMORY;
    r->x = x;
    r->capacity = more;
    return 0;
}

/* Rows at the time of a node are kept there; those before the first one have
 * its states. */
static int keep_rows(void *user, const struct swarm *s, size_t here)
{
    struct record *r = user;
    const struct drawn_paths *p = r->paths;
    const struct stop *stop = pace_stop(s->pace, here);
    size_t size = s->course->d * s->K;
    bool last = here + 1 == s->pace->nodes;
    if (!here) {
        for (size_t k = 0; k < s->K; k++)
            r->root[k] = k;
        r->first += r->rows;
        r->rows = 0;
        while (r->first < p->rows && p->track[r->first] < stop->track)
            r->first++;
    }
    for (size_t row; row = r->first + r->rows, row < p->rows; r->rows++) {
        if (p->track[row] != stop->track) break;
        if (!last && p->time[row] > stop->time) break;
        if (make_room(r, size)) return GSV_NO_MEMORY;
        place_all(s, here, r->x + r->rows * size);
    }
    if (!last) return 0;
    swarm_weights(s->K, s->log_w, r->weight);
    return p->visit(p->user, r->first, r->rows, s->K, r->x, r->weight,
                    count_roots(r, s->K));
}

/* Particle k is what its parent was, in all rows. */
static void follow_parents(void *user, const struct swarm *s)
{
    struct record *r = user;
    for (size_t e = 0; e < r->rows * s->course->d; e++) {
        double *x = r->x + e * s->K;
        memcpy(r->line, x, s->K * sizeof *x);
        for (size_t k = 0; k < s->K; k++)
            x[k] = r->line[s->parent[k]];
    }
    for (size_t k = 0; k < s->K; k++)
        r->line[k] = (double)r->root[s->parent[k]];
    for (size_t k = 0; k < s->K; k++)
        r->root[k] = (size_t)r->line[k];
}

int guided_drawn(const struct task *t, const struct drawn_paths *p)
{
    struct guided a;
    gsv_options o = *t->options;
    struct record r = {.paths = p};
    o.gradient = false;
    if (!o.points) o.points = STATE_PARTICLES;
    int status = guided_make(&a, t->model, t->series, &o, p);
    if (!status) {
        r.weight = NEW(double, a.K);
        r.line = NEW(double, a.K);
        r.root = NEW(size_t, a.K);
        if (!r.weight || !r.line || !r.root) status = GSV_NO_MEMORY;
    }
    const struct swarm_observer observer = {.user = &r,
                                            .everywhere = true,
                                            .visit = keep_rows,
                                            .redraw = follow_parents};
    if (!status) status = guided_walk(&a, false, &observer);
    MEM_FREE(r.x, r.weight, r.line, r.root);
    guided_free(&a);
    return status;
}
