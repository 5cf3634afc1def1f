/* SPDX-License-Identifier: MIT */
/* The coordinates of the states, and where their noise ends. */
#include <math.h>

#include "base/error.h"
#include "graph/build.h"
#include "guided/course.h"

/* Values of a node at P points of the states (d, P), at time 0 and some inputs.
 */
static int evaluate(const struct course *f, node a, size_t P,
                    const double *state, double *value)
{
    const struct spec *s = f->model->spec;
    size_t inputs = s->inputs + s->values + s->integrals;
    double *time = NEW(double, P *(1 + 2 * inputs));
    if (!time) return GSV_NO_MEMORY;
    double *input = time + P, *slope = input + P * inputs;
    for (size_t e = 0; e < P * inputs; e++)
        input[e] = 1.0 + (double)(e % 3);
    const struct points in = {
        .P = P, .state = state, .time = time, .input = input, .slope = slope};
    int status = model_evaluate_in(f->model, f->graph, a, &in, true, value);
    mem_free(time);
    return status;
}

/* --- Where noise ends ----------------------------------------------------- */

enum { POINTS = 4 };

/* State i at one place, and others of any size. */
static void set_points(const struct course *f, size_t i, double place,
                       double *state)
{
    for (size_t e = 0; e < POINTS * f->d; e++)
        state[e] = e / POINTS == i
                       ? place
                       : ldexp(1.0 + 0.1 * (double)(e % 7), (int)(e % POINTS));
}

/* Whether what stands in a root of the noise is 0 wherever state i is. */
static int ends_at_zero(const struct course *f, node root, size_t i, bool *ends)
{
    double *state = NEW(double, POINTS * f->d), value[POINTS];
    if (!state) return GSV_NO_MEMORY;
    set_points(f, i, 0.0, state);
    int status = evaluate(f, root, POINTS, state, value);
    *ends = !status;
    for (size_t p = 0; p < POINTS; p++)
        *ends = *ends && value[p] == 0.0;
    mem_free(state);
    return status;
}

static const double LEAST = 1e-12;

static int find_ends_of(struct course *f, node root)
{
    int status = 0;
    if (graph_size(f->graph, root) > 1 ||
        !graph_depends(f->graph, root, OP_STATE))
        return 0;
    for (size_t i = 0; !status && i < f->d; i++) {
        bool ends = false;
        status = ends_at_zero(f, root, i, &ends);
        if (ends) f->least[i] = LEAST;
        f->ends = f->ends || ends;
    }
    return status;
}

/* Roots, and powers that are not whole: x^2 does not end at 0. */
static bool is_root(const struct graph *g, node n)
{
    double power;
    enum op op = graph_info(g, n)->op;
    if (op != OP_POW) return op == OP_SQRT;
    return !graph_is_number(g, graph_input(g, n, 1), &power) ||
           power != round(power);
}

/* Populations and variances: their noise is a root that is 0 where they are. A
 * state below 0 has the drift and noise of 0, or rather of a little more, where
 * logarithms of densities exist. */
static int find_ends(struct course *f)
{
    const struct spec *s = f->model->spec;
    struct graph *g = f->graph;
    node all = s->diffusion;
    bool *part = NEW(bool, all + 1);
    f->least = NEW(double, f->D);
    int status = part && f->least ? 0 : GSV_NO_MEMORY;
    for (size_t i = 0; !status && i < f->D; i++)
        f->least[i] = -INFINITY;
    if (!status) graph_parts(g, all, part);
    for (node n = 0; !status && n <= all; n++)
        if (part[n] && is_root(g, n))
            status = find_ends_of(f, graph_input(g, n, 0));
    for (size_t k = 0; !status && k < s->reactions; k++)
        status = find_ends_of(f, s->reaction[k].rate);
    mem_free(part);
    return status;
}

/* Whether state i comes to the end of its noise, by Feller's condition: it does
 * not where 2 F z >= G^2 close to it, z = 0 at the end. */
static int is_reached(const struct course *f, size_t i, bool *reached)
{
    static const double NEAR = 1e-6;
    const struct spec *s = f->model->spec;
    size_t d = f->d;
    double *state = NEW(double, 3 * POINTS * d);
    if (!state) return GSV_NO_MEMORY;
    double *F = state + POINTS * d, *G = F + POINTS * d;
    set_points(f, i, NEAR, state);
    int status = evaluate(f, s->drift, POINTS, state, F);
    if (!status) status = evaluate(f, s->diffusion, POINTS, state, G);
    for (size_t p = i * POINTS; !status && p < (i + 1) * POINTS; p++)
        *reached = *reached || !(2.0 * F[p] * NEAR >= G[p] * G[p]);
    mem_free(state);
    return status;
}

/* States (d, PLACES) of either sign and any size. */
enum { PLACES = 16 };
static void set_places(const struct course *f, double *state)
{
    for (size_t e = 0; e < PLACES * f->d; e++) {
        size_t place = (e + e / PLACES) % PLACES, power = place / 2;
        double value = place ? pow(10.0, (double)power - 4.0) : 0.0;
        state[e] = place % 2 ? -value : value;
    }
}

/* Integrals of what is never negative where the states are: the normal law of a
 * step may be, and would then say nothing about counts. */
static int find_sizes(struct course *f)
{
    const struct spec *s = f->model->spec;
    double *state = NEW(double, PLACES * f->d), value[PLACES];
    int status = state ? 0 : GSV_NO_MEMORY;
    if (!status) set_places(f, state);
    for (size_t e = 0; !status && e < PLACES * f->d; e++)
        if (f->least[e / PLACES] == LEAST) state[e] = fabs(state[e]);
    for (size_t k = 0; !status && k < s->integrals; k++) {
        bool sized = true;
        status = evaluate(f, s->integral[k].rate, PLACES, state, value);
        for (size_t p = 0; !status && p < PLACES; p++)
            sized = sized && value[p] >= 0.0;
        if (sized) f->least[f->d + k] = LEAST;
    }
    mem_free(state);
    return status;
}

/* --- Coordinates ---------------------------------------------------------- */

/* Whether every state has noise wherever it is, of either sign and any size. */
static int is_everywhere(const struct course *f, bool *everywhere)
{
    const struct spec *s = f->model->spec;
    size_t size = PLACES * graph_size(f->graph, s->diffusion);
    double *state = NEW(double, PLACES * f->d + size);
    *everywhere = false;
    if (!state) return GSV_NO_MEMORY;
    double *G = state + PLACES * f->d;
    set_places(f, state);
    int status = evaluate(f, s->diffusion, PLACES, state, G);
    *everywhere = !status && s->diagonal;
    for (size_t e = 0; e < size; e++)
        *everywhere = *everywhere && isfinite(G[e]) && G[e] != 0.0;
    mem_free(state);
    return status;
}

/* Where paths come to the end of their noise, and go on, u comes to the end of
 * its range with an infinite drift: the state's own coordinates are better. So
 * they are of networks, where the state may be anywhere: what is smooth in
 * these is not where the noise is small. */
static int is_better_as_it_is(const struct course *f, bool *better)
{
    const struct spec *s = f->model->spec;
    int status = spec_has_functions(s) ? is_everywhere(f, better) : 0;
    if (!s->stretch_range || !s->diagonal) return status;
    for (size_t i = 0; !status && f->ends && i < f->d; i++)
        if (f->least[i] == LEAST) status = is_reached(f, i, better);
    return status;
}

int course_choose(struct course *f)
{
    const struct spec *s = f->model->spec;
    bool better = false;
    int status = find_ends(f);
    if (!status) status = find_sizes(f);
    f->stretched =
        s->noise == NOISE_STRETCHED && !graph_moves(s->graph, s->stretch);
    if (!status && f->stretched) status = is_better_as_it_is(f, &better);
    if (better) f->stretched = false;
    if (f->stretched) f->ends = false;
    f->noises = f->stretched && !s->diagonal ? s->dim : s->noises;
    f->normal_first = !f->stretched && !s->init_log_density;
    return status;
}
