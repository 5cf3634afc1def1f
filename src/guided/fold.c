/* SPDX-License-Identifier: MIT */
/* Exact states without noise whose rate turns: dx = v^2 dt at v = 0. The noise
 * comes to x by F'G, which is 0 there. A step across such a point has no
 * density that is close to a normal one, and no shorter steps help. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/linalg.h"
#include "base/memory.h"
#include "guided/guided.h"

/* F'G (D, m) at a row, 0 for states that have noise of their own; false where
 * not all states are known. */
static bool slopes_at(struct guide *g, size_t k, double *slope)
{
    const struct course *f = g->pace.course;
    struct mover *s = &g->mover[0];
    const double *x = g->pace.exact + k * f->d;
    size_t m = f->noises;
    struct workspace *room = &s->room.part[COURSE_MIDDLE];
    if (!pace_is_row(&g->pace, k) || !all_finite(f->d, x)) return false;
    struct points in = mover_points(s, &g->pace, k, 1, x);
    program_forward(f->part[COURSE_MIDDLE], &g->values.part[COURSE_MIDDLE],
                    room, &in);
    const double *G =
        program_output(f->part[COURSE_MIDDLE], room, 1, MIDDLE_NOISE);
    memcpy(slope, program_output(f->part[COURSE_MIDDLE], room, 1, MIDDLE_SLOPE),
           f->D * m * sizeof *slope);
    for (size_t i = 0; i < f->D * m; i++)
        if (G[i] != 0.0) memset(slope + i / m * m, 0, m * sizeof *slope);
    return true;
}

/* Whether the only noise that comes to a state turns between two rows. */
static bool turns(size_t m, const double *before, const double *now)
{
    size_t only = m;
    for (size_t e = 0; e < m; e++) {
        if (before[e] == 0.0 && now[e] == 0.0) continue;
        if (only < m) return false;
        only = e;
    }
    return only < m && before[only] * now[only] <= 0.0;
}

static int say(const struct guide *g, size_t state, size_t before, size_t k)
{
    const struct pace *p = &g->pace;
    const char *name = p->course->model->spec->column[state];
    return fail(GSV_BAD_INPUT,
                "the rate of the state '%s', which has no noise, turns between "
                "the times %g and %g of series '%s': there it does not depend "
                "on the state that brings the noise, so that exact data have "
                "no density to rely on; observe it with noise ('obs y ~ "
                "normal(%s, e)', 'init %s ~ ...'), or use data that stay on "
                "one side",
                name, pace_stop(p, before)->time, pace_stop(p, k)->time,
                p->stops->gaps.series->label[p->track], name, name);
}

/* slope: two of (D, m). */
static int look_at_track(struct guide *g, double *slope)
{
    const struct course *f = g->pace.course;
    size_t m = f->noises, size = f->D * m, last = g->pace.nodes;
    for (size_t k = 0; k < g->pace.nodes; k++) {
        double *now = slope + size;
        if (!slopes_at(g, k, now)) continue;
        for (size_t i = 0; last < k && i < f->d; i++)
            if (turns(m, slope + i * m, now + i * m)) return say(g, i, last, k);
        memcpy(slope, now, size * sizeof *slope);
        last = k;
    }
    return 0;
}

int fold_refuse(struct guided *a)
{
    const struct course *f = &a->course;
    struct guide *g = &a->guide[0];
    if (!f->open || !f->orders || spec_is_latent(f->model->spec)) return 0;
    double *slope = NEW(double, 2 * f->D * f->noises);
    int status = slope ? 0 : GSV_NO_MEMORY;
    course_prepare(f, a->model->value, &g->values);
    for (size_t i = 0; !status && i < a->walked; i++) {
        pace_set(&g->pace, a->tracks[i], &g->values, &g->mover[0].room);
        status = look_at_track(g, slope);
    }
    mem_free(slope);
    return status;
}
