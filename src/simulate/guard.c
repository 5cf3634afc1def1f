/* SPDX-License-Identifier: MIT */
/* A step of length h with dW and zeta is two of length k = h/2. With
 * S = dW / sqrt(h), all of these are independent standard normals:
 *
 *     dW_1 = sqrt(k/2) (S + D),      dW_2 = sqrt(k/2) (S - D),
 *     zeta_1 = (E + F) / sqrt(2),    zeta_2 = (E - F) / sqrt(2),
 *
 * and that dW and its time integral are those of the whole says
 *
 *     D = sqrt(3)/2 zeta + 1/2 G,    E = 1/2 zeta - sqrt(3)/2 G,
 *
 * with new numbers F and G. Halves are numbered as in a heap, 1 for the step
 * itself and 2n, 2n + 1 for those of n: with the step and the track, that is
 * the address of F and G.
 *
 * The shortest steps near a boundary are Euler's. Where one leaves the domain,
 * the states that leave it end at the boundary and owe the rest: they wait
 * until a step and what they owe end inside again. The other states go on. So a
 * boundary that can be reached, as that of the Feller diffusion, is touched but
 * not crossed, and the mean is not moved by it; for that diffusion this is the
 * scheme of full truncation.
 *
 * All tracks of a block are computed, but only those are moved that are still
 * to be: what one does is the same whatever the others need. */
#include "simulate/guard.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/random.h"

enum { DEEPEST = 6, CUTS = 16 };

/* A state beyond this does not meet a boundary: it diverges. */
static const double FAR_AWAY = 1e30;

int guard_init(struct guard *g, const struct field *f, const struct scheme *s,
               size_t P)
{
    size_t n = f->spec->dim * P;
    *g =
        (struct guard){.scheme = s,
                       .number = NEW(double, DEEPEST * 4 * f->spec->noises * P),
                       .active = NEW(bool, (DEEPEST + 2) * P),
                       .share = NEW(double, n),
                       .inside = NEW(double, P),
                       .beyond = NEW(double, P),
                       .crosses = NEW(bool, P),
                       .goes = NEW(bool, n)};
    if (g->number && g->active && g->share && g->inside && g->beyond &&
        g->crosses && g->goes)
        return 0;
    guard_free(g);
    return GSV_NO_MEMORY;
}

void guard_free(struct guard *g)
{
    MEM_FREE(g->number, g->active, g->share, g->inside, g->beyond, g->crosses,
             g->goes);
    *g = (struct guard){0};
}

/* --- Halves -------------------------------------------------------------- */

/* dW of a half, then zeta: (2 noises, P). */
static double *numbers_of(const struct guard *g, const struct stepper *s,
                          unsigned depth, size_t half)
{
    size_t noises = s->field->spec->noises;
    return g->number + (2 * depth + half) * 2 * noises * s->P;
}

static struct step half_step(const struct guard *g, const struct stepper *s,
                             const struct step *whole, size_t half,
                             unsigned depth)
{
    double k = 0.5 * whole->h, *z = numbers_of(g, s, depth, half);
    double middle = whole->t + k;
    return (struct step){.t = half ? middle : whole->t,
                         .h = k,
                         .end = half ? whole->end : middle,
                         .dW = z,
                         .zeta = z + s->field->spec->noises * s->P};
}

static void draw_halves(const struct guard *g, const struct stepper *s,
                        const struct step *whole, const struct address *from,
                        uint32_t heap, unsigned depth)
{
    const double half = 0.5 * sqrt(whole->h), cosine = sqrt(3.0) / 2.0,
                 root = sqrt(0.5);
    size_t n = s->field->spec->noises, count = n * s->P;
    double *a = numbers_of(g, s, depth, 0), *b = numbers_of(g, s, depth, 1);
    const struct random_key key = {
        .seed = from->seed, .purpose = RANDOM_SIMULATE, .iteration = heap};
    random_normals(&key, 2 * n * from->step, 2 * n, from->first, s->P, a);
    for (size_t i = 0; i < count; i++) {
        double F = a[i], G = a[count + i];
        double dW = whole->dW[i], zeta = whole->zeta[i];
        double D = cosine * zeta + 0.5 * G, E = 0.5 * zeta - cosine * G;
        a[i] = 0.5 * dW + half * D;
        b[i] = dW - a[i];
        a[count + i] = root * (E + F);
        b[count + i] = root * (E - F);
    }
}

/* --- At the boundary ------------------------------------------------------ */

/* next at each state's share of the way from x to the target. */
static void look_on_the_way(const struct guard *g, struct stepper *s,
                            const double *target, double t)
{
    for (size_t i = 0; i < s->field->spec->dim * s->P; i++)
        s->next[i] = s->x[i] + g->share[i] * (target[i] - s->x[i]);
    stepper_look(s, t);
}

/* Goes on with all states of a track that can go all the way while the others
 * wait: where one state is absorbed, the others are not. */
static void free_states(struct guard *g, struct stepper *s,
                        const double *target, const bool *crosses, double t)
{
    size_t P = s->P, dim = s->field->spec->dim;
    for (size_t i = 0; i < dim * P; i++)
        if (crosses[i % P]) g->share[i] = 0.0;
    for (size_t i = 0; dim > 1 && i < dim; i++) {
        double *share = g->share + i * P;
        for (size_t p = 0; p < P; p++)
            share[p] = 1.0;
        look_on_the_way(g, s, target, t);
        for (size_t p = 0; p < P; p++)
            if (crosses[p] && !s->arrived[p]) share[p] = 0.0;
    }
}

/* Of the states that cannot go all the way, those that owe nothing yet go as
 * far as is inside, by bisection; the others wait where they are. */
static void approach(struct guard *g, struct stepper *s, const double *target,
                     const bool *crosses, double t)
{
    size_t P = s->P, n = s->field->spec->dim * P;
    for (size_t p = 0; p < P; p++) {
        g->inside[p] = 0.0;
        g->beyond[p] = 1.0;
    }
    for (size_t i = 0; i < n; i++)
        g->goes[i] = crosses[i % P] && g->share[i] == 0.0 && s->debt[i] == 0.0;
    for (size_t cut = 0; cut <= CUTS; cut++) {
        for (size_t i = 0; i < n; i++) {
            double in = g->inside[i % P], out = g->beyond[i % P];
            if (g->goes[i]) g->share[i] = cut < CUTS ? 0.5 * (in + out) : in;
        }
        look_on_the_way(g, s, target, t);
        for (size_t p = 0; cut < CUTS && p < P; p++)
            *(s->arrived[p] ? &g->inside[p] : &g->beyond[p]) =
                0.5 * (g->inside[p] + g->beyond[p]);
    }
}

/* next as far on the way to the target as is inside, state by state. */
static void find_boundary(struct guard *g, struct stepper *s,
                          const double *target, const bool *active, double t)
{
    size_t crossing = 0;
    for (size_t i = 0; i < s->field->spec->dim * s->P; i++)
        g->share[i] = 1.0;
    look_on_the_way(g, s, target, t);
    for (size_t p = 0; p < s->P; p++) {
        g->crosses[p] = active[p] && !s->arrived[p];
        crossing += g->crosses[p];
    }
    if (!crossing) return;
    free_states(g, s, target, g->crosses, t);
    approach(g, s, target, g->crosses, t);
}

/* Euler's step up to the boundary, for active tracks. */
static bool stop_at_boundary(struct guard *g, struct stepper *s,
                             const struct step *step, const bool *active,
                             size_t *lost)
{
    size_t P = s->P, n = s->field->spec->dim * P;
    double *target = s->along;
    euler_state(s, step);
    for (size_t i = 0; i < n; i++)
        target[i] = s->next[i] + s->debt[i];
    find_boundary(g, s, target, active, step->end);
    for (size_t i = 0; i < n; i++)
        if (active[i % P] &&
            !(s->arrived[i % P] && fabs(target[i]) <= FAR_AWAY)) {
            *lost = i % P;
            return false;
        }
    stepper_settle(s, active);
    for (size_t i = 0; i < n; i++)
        if (active[i % P] && g->crosses[i % P])
            s->debt[i] = g->share[i] < 1.0 ? target[i] - s->x[i] : 0.0;
    return true;
}

/* --- Steps ---------------------------------------------------------------- */

/* A step of the active tracks of this depth. */
static bool go(struct guard *g, struct stepper *s, const struct step *step,
               const struct address *from, uint32_t heap, unsigned depth,
               size_t *lost)
{
    const bool *active = g->active + depth * s->P;
    bool *left = g->active + (depth + 1) * s->P, done = true;
    stepper_propose(s, g->scheme, step, active);
    for (size_t p = 0; p < s->P; p++) {
        left[p] = active[p] && !s->arrived[p];
        done = done && !left[p];
    }
    stepper_settle(s, active);
    if (done) return true;
    if (depth == DEEPEST) return stop_at_boundary(g, s, step, left, lost);
    draw_halves(g, s, step, from, heap, depth);
    for (uint32_t half = 0; half < 2; half++) {
        struct step part = half_step(g, s, step, half, depth);
        if (!go(g, s, &part, from, 2 * heap + half, depth + 1, lost))
            return false;
    }
    return true;
}

bool guard_step(struct guard *g, struct stepper *s, const struct step *step,
                size_t tracks, const struct address *from, size_t *lost)
{
    for (size_t p = 0; p < s->P; p++)
        g->active[p] = p < tracks;
    return go(g, s, step, from, 1, 0, lost);
}
