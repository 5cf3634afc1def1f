/* SPDX-License-Identifier: MIT */
/* In one dimension a drift without time is the slope of a potential, and
 * Stratonovich's integral of it depends on the ends of a path alone:
 *
 *     int f~(Y) o dY = int from y0 to y1 of f~(y) dy,
 *
 * the same for all paths of a gap, by Gauss and Legendre's quadrature. What is
 * left of a path's weight is an integral over time (weigh.h, whole). */
#include <string.h>

#include "bridge/estimate.h"

/* Even for 1/y over a hundredfold range these are good to 1e-7. */
enum { NODES = POTENTIAL_NODES, HALF = NODES / 2 };

/* Positive nodes on (-1, 1) and their weights. */
static const double NODE[HALF] = {
    0.04830766568773831, 0.14447196158279649, 0.23928736225213706,
    0.33186860228212767, 0.42135127613063533, 0.50689990893222936,
    0.5877157572407623,  0.66304426693021523, 0.73218211874028971,
    0.79448379596794239, 0.84936761373256997, 0.8963211557660522,
    0.93490607593773967, 0.96476225558750639, 0.98561151154526838,
    0.99726386184948157,
};
static const double WEIGHT[HALF] = {
    0.096540088514727812,  0.095638720079274833, 0.093844399080804566,
    0.091173878695763863,  0.087652093004403908, 0.083311924226946846,
    0.078193895787070311,  0.072345794108848449, 0.065822222776361752,
    0.058684093478535704,  0.050998059262376244, 0.042835898022226426,
    0.034273862913021626,  0.025392065309262427, 0.016274394730905965,
    0.0070186100094692984,
};

/* Node q on (0, 1). */
static double place_of(size_t q)
{
    return 0.5 * (1.0 + (q < HALF ? -NODE[q] : NODE[q - HALF]));
}

static double weight_of(size_t q)
{
    return 0.5 * WEIGHT[q % HALF];
}

bool has_potential(const struct estimate *e)
{
    const struct graph *g = e->model->spec->graph;
    node f = e->model->unit_drift;
    return e->d == 1 && !graph_moves(g, f);
}

/* As many contexts at once as there is room for, from first on. */
static size_t run(const struct estimate *e, struct scratch *s, size_t first,
                  struct points *in)
{
    size_t room = e->capacity / NODES, left = s->contexts - first;
    size_t n = left < room ? left : room;
    *in = (struct points){.P = n * NODES, .state = s->Z};
    for (size_t i = 0; i < n; i++) {
        const struct context *c = &s->context[first + i];
        for (size_t q = 0; q < NODES; q++)
            s->Z[i * NODES + q] = *c->y0 + (*c->y1 - *c->y0) * place_of(q);
    }
    program_forward(e->unit, &e->unit_uniforms, &s->unit, in);
    return n;
}

void potentials_add(const struct estimate *e, struct scratch *s)
{
    struct points in;
    for (size_t first = 0, n; first < s->contexts; first += n) {
        n = run(e, s, first, &in);
        const double *f = program_output(e->unit, &s->unit, in.P, 0);
        for (size_t i = 0; i < n; i++) {
            struct context *c = &s->context[first + i];
            double mean = 0.0;
            for (size_t q = 0; q < NODES; q++)
                mean += weight_of(q) * f[i * NODES + q];
            c->base += (*c->y1 - *c->y0) * mean;
        }
    }
}

/* By y1 it is f~(y1), by y0 -f~(y0): from the nodes' own, so that it is the
 * gradient of the sum. */
void potentials_add_vjp(const struct estimate *e, struct scratch *s,
                        double once)
{
    struct points in;
    for (size_t first = 0, n; first < s->contexts; first += n) {
        n = run(e, s, first, &in);
        const double *f = program_output(e->unit, &s->unit, in.P, 0);
        memset(s->Z_bar, 0, in.P * sizeof *s->Z_bar);
        for (size_t i = 0; i < n; i++) {
            struct context *c = &s->context[first + i];
            double all = once * group_weight(e, c->group);
            for (size_t q = 0; q < NODES; q++) {
                double w = all * weight_of(q);
                s->f_bar[i * NODES + q] = (*c->y1 - *c->y0) * w;
                c->y_bar[0] -= w * f[i * NODES + q];
                c->y_bar[1] += w * f[i * NODES + q];
            }
        }
        program_vjp(e->unit, &e->unit_uniforms, &s->unit, &in,
                    (const double *const[4]){s->f_bar}, s->Z_bar, s->unit_bar);
        for (size_t i = 0; i < n; i++) {
            struct context *c = &s->context[first + i];
            for (size_t q = 0; q < NODES; q++) {
                c->y_bar[0] += (1.0 - place_of(q)) * s->Z_bar[i * NODES + q];
                c->y_bar[1] += place_of(q) * s->Z_bar[i * NODES + q];
            }
        }
    }
}
