/* SPDX-License-Identifier: MIT */
#include "bridge/context.h"

#include <math.h>
#include <string.h>

static void context_place(const struct plan *p, struct scratch *s,
                          struct context *c, size_t i)
{
    size_t d = p->d;
    double *memory = s->context_memory + i * context_size(p);
    c->y0 = memory;
    c->y1 = memory + d;
    c->bars = memory + 2 * d;
    c->y_bar = c->bars;
    c->k_bar = c->bars + 2 * d;
    c->lambda = c->bars + 3 * d;
    c->reference = (struct reference){
        .d = d, .next = p->model->chain.next, .noise = p->model->chain.noise};
    if (!has_matrices(p)) return;
    double *b_bar = c->lambda + (p->longest + 1) * d;
    size_t n = p->longest * d;
    c->reference_bar =
        (struct reference_bar){b_bar, b_bar + n, b_bar + 2 * n, b_bar + 3 * n};
    reference_place(&c->reference, d, p->longest, c->bars + bars_size(p));
    c->bound = c->bars + bars_size(p) + reference_size(d, p->longest);
    c->reference.pairs = p->halved;
}

/* --- The ends through T ------------------------------------------------- */

struct points read_ends(const struct run *r, struct scratch *s,
                        const struct gap *gap, size_t n, size_t next,
                        size_t apart)
{
    const struct plan *p = r->plan;
    size_t P = 2 * n;
    double *pair = s->small; /* (d, 2) */
    for (size_t i = 0; i < n; i++) {
        gap_ends(&r->gaps, &gap[i], pair, 2);
        for (size_t end = 0; end < 2; end++) {
            size_t at = i * next + end * apart;
            for (size_t k = 0; k < p->d; k++)
                s->x[k * P + at] = pair[2 * k + end];
            s->end_time[at] = end ? gap[i].end : gap[i].start;
            if (p->inputs)
                gap_inputs(&p->gaps, gap[i].track, s->end_time[at], end,
                           s->end_input + at, s->end_slope + at, P);
        }
    }
    memset(s->x + p->d * P, 0, p->d * P * sizeof *s->x);
    return end_points(s, P);
}

/* The ends of context i are points 2 i and 2 i + 1. */
static struct points context_ends(const struct run *r, struct scratch *s)
{
    return read_ends(r, s, s->context[0].gap, s->contexts, 2, 1);
}

/* y0 and y1 of all contexts, and their log Jacobians to base. */
static void map_ends(const struct run *r, struct scratch *s,
                     const struct values *v)
{
    const struct plan *p = r->plan;
    struct points in = context_ends(r, s);
    program_forward(p->map, &v->map, &s->map, &in);
    const double *y = program_output(p->map, &s->map, in.P, 0);
    const double *jacobian = program_output(p->map, &s->map, in.P, 1);
    for (size_t n = 0; n < s->contexts; n++) {
        struct context *c = &s->context[n];
        for (size_t i = 0; i < p->d; i++) {
            c->y0[i] = y[i * in.P + 2 * n];
            c->y1[i] = y[i * in.P + 2 * n + 1];
        }
        c->base = jacobian[2 * n + 1];
    }
}

/* The group of a gap: the last one that begins at or before it. */
static size_t group_of(const struct run *r, size_t gap)
{
    size_t low = 0, high = r->groups;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (r->group_first[middle] <= gap) low = middle;
        else high = middle;
    }
    return low;
}

/* --- The references' b in the coordinates of the data ------------------- */

/* The b of step `step` of the reference of a context. */
struct cursor {
    size_t context, step;
};

static size_t vectors_of(const struct context *c)
{
    enum gsv_reference kind = c->reference.kind;
    if (kind == GSV_REFERENCE_LNA) return c->M;
    return kind == GSV_REFERENCE_LINEAR;
}

/* Moves to the next b that exists, which may be this one; false after the last.
 */
static bool find_vector(const struct scratch *s, struct cursor *at)
{
    while (at->context < s->contexts &&
           at->step >= vectors_of(&s->context[at->context]))
        *at = (struct cursor){at->context + 1, 0};
    return at->context < s->contexts;
}

/* How many are left, but at most as many as T has room for. */
static size_t count_vectors(const struct plan *p, const struct scratch *s,
                            struct cursor at)
{
    size_t n = 0;
    for (; n < 2 * p->batch && find_vector(s, &at); n++)
        at.step++;
    return n;
}

/* A b with the place where the drift was linearised, as point n of P. */
static void fill_vector(const struct plan *p, struct scratch *s,
                        struct cursor at, size_t n, size_t P)
{
    const struct context *c = &s->context[at.context];
    double share = ((double)at.step + 0.5) / (double)vectors_of(c);
    s->end_time[n] = c->gap->start + c->gap->length * share;
    for (size_t i = 0; i < p->d; i++) {
        s->x[i * P + n] = c->reference.place[at.step * p->d + i];
        s->x[(p->d + i) * P + n] = c->reference.b[at.step * p->d + i];
    }
    if (p->inputs)
        gap_inputs(&p->gaps, c->gap->track, s->end_time[n], false,
                   s->end_input + n, s->end_slope + n, P);
}

/* The next P of them in the coordinates of the data: place and b_x. */
static struct points vectors_back(const struct plan *p, struct scratch *s,
                                  const struct values *v, struct cursor at,
                                  size_t P)
{
    struct points in = end_points(s, P);
    for (size_t n = 0; n < P && find_vector(s, &at); n++, at.step++)
        fill_vector(p, s, at, n, P);
    program_forward(p->back, &v->back, &s->back, &in);
    for (size_t i = 0; i < 2; i++)
        memcpy(s->x + i * p->d * P, program_output(p->back, &s->back, P, i),
               p->d * P * sizeof *s->x);
    return in;
}

/* From the noise that references were made with to the model's own:
 * b = T'(x) b_x. */
static void move_references(const struct run *run, struct scratch *s)
{
    const struct plan *p = run->plan;
    struct cursor at = {0, 0};
    for (size_t P; (P = count_vectors(p, s, at)) > 0;) {
        struct points in = vectors_back(p, s, run->reference, at, P);
        program_forward(p->map, &run->values.map, &s->map, &in);
        const double *place = program_output(p->map, &s->map, P, 0);
        const double *b = program_output(p->map, &s->map, P, 2);
        for (size_t n = 0; n < P && find_vector(s, &at); n++, at.step++) {
            struct reference *r = &s->context[at.context].reference;
            for (size_t i = 0; i < p->d; i++) {
                r->place[at.step * p->d + i] = place[i * P + n];
                r->b[at.step * p->d + i] = b[i * P + n];
            }
        }
    }
    for (size_t n = 0; n < s->contexts; n++) {
        struct reference *r = &s->context[n].reference;
        if (vectors_of(&s->context[n]))
            reference_build(r, r->kind, r->M, r->dt);
    }
}

/* b_bar through T to the gradient by the values. */
static void references_vjp(const struct run *run, struct scratch *s)
{
    const struct plan *p = run->plan;
    const struct values *v = &run->values;
    struct cursor at = {0, 0};
    for (size_t n = 0; n < s->contexts; n++) {
        struct context *c = &s->context[n];
        if (vectors_of(c))
            reference_vjp(&c->reference, c->k_bar, &c->reference_bar);
    }
    for (size_t P; (P = count_vectors(p, s, at)) > 0;) {
        struct points in = vectors_back(p, s, v, at, P);
        for (size_t n = 0; n < P && find_vector(s, &at); n++, at.step++)
            for (size_t i = 0; i < p->d; i++)
                s->y_bar[i * P + n] =
                    s->context[at.context].reference_bar.b[at.step * p->d + i];
        program_forward(p->map, &v->map, &s->map, &in);
        program_vjp(p->map, &v->map, &s->map, &in,
                    (const double *const[3]){NULL, NULL, s->y_bar}, NULL,
                    s->map_bar);
    }
}

/* --- Potentials ---------------------------------------------------------- */

/* In one dimension a drift without time is the slope of a potential, and the
 * Stratonovich integral of it depends on the ends of a path alone:
 *
 *     int f~(Y) o dY = int from y0 to y1 of f~(y) dy,
 *
 * the same for all paths of a gap, by Gauss-Legendre quadrature. What is left
 * of the weight of a path is an integral over time (weigh.h). */

/* The relative error is 1e-7 for 1/y over a hundredfold range. */
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

bool has_potential(const struct plan *p)
{
    return p->d == 1 &&
           !graph_moves(p->model->spec->graph, p->model->unit_drift);
}

static bool knows_integral(const struct context *c)
{
    return c->form == GSV_FORM_STRATONOVICH || c->form == GSV_FORM_COMPOSED;
}

/* As many contexts at once as there is room for, from first on. */
static size_t run_nodes(const struct run *r, struct scratch *s, size_t first,
                        struct points *in)
{
    size_t room = r->plan->capacity / NODES, left = s->contexts - first;
    size_t n = left < room ? left : room;
    *in = (struct points){.P = n * NODES, .state = s->Z};
    for (size_t i = 0; i < n; i++) {
        const struct context *c = &s->context[first + i];
        for (size_t q = 0; q < NODES; q++)
            s->Z[i * NODES + q] = *c->y0 + (*c->y1 - *c->y0) * place_of(q);
    }
    program_forward(r->plan->unit, &r->values.unit, &s->unit, in);
    return n;
}

static void add_potentials(const struct run *r, struct scratch *s)
{
    struct points in;
    for (size_t first = 0, n; first < s->contexts; first += n) {
        n = run_nodes(r, s, first, &in);
        const double *f = program_output(r->plan->unit, &s->unit, in.P, 0);
        for (size_t i = 0; i < n; i++) {
            struct context *c = &s->context[first + i];
            double mean = 0.0;
            for (size_t q = 0; q < NODES; q++)
                mean += weight_of(q) * f[i * NODES + q];
            if (knows_integral(c)) c->base += (*c->y1 - *c->y0) * mean;
        }
    }
}

/* The derivative by y1 is f~(y1) and by y0 -f~(y0). Both are taken from the
 * nodes, which makes them the gradient of the sum itself. */
static void add_potentials_vjp(const struct run *r, struct scratch *s,
                               double once)
{
    struct points in;
    for (size_t first = 0, n; first < s->contexts; first += n) {
        n = run_nodes(r, s, first, &in);
        const double *f = program_output(r->plan->unit, &s->unit, in.P, 0);
        memset(s->Z_bar, 0, in.P * sizeof *s->Z_bar);
        for (size_t i = 0; i < n; i++) {
            struct context *c = &s->context[first + i];
            double all =
                knows_integral(c) ? once * group_weight(r, c->group) : 0.0;
            for (size_t q = 0; q < NODES; q++) {
                double w = all * weight_of(q);
                s->f_bar[i * NODES + q] = (*c->y1 - *c->y0) * w;
                c->y_bar[0] -= w * f[i * NODES + q];
                c->y_bar[1] += w * f[i * NODES + q];
            }
        }
        program_vjp(r->plan->unit, &r->values.unit, &s->unit, &in,
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

/* --- All together --------------------------------------------------------- */

void contexts_start(const struct run *r, struct scratch *s, size_t first,
                    size_t count)
{
    s->contexts = count;
    for (size_t i = 0; i < count; i++) {
        struct context *c = &s->context[i];
        context_place(r->plan, s, c, i);
        c->group = group_of(r, first + i);
        c->gap = &r->gaps.gap[first + i];
        c->M = plan_steps(r->plan, c->gap);
        c->dt = c->gap->length / (double)c->M;
    }
    map_ends(r, s, r->reference);
}

void contexts_finish(const struct run *r, struct scratch *s)
{
    const struct plan *p = r->plan;
    if (r->reference != &r->values) {
        move_references(r, s);
        map_ends(r, s, &r->values);
    }
    for (size_t i = 0; i < s->contexts; i++) {
        struct context *c = &s->context[i];
        if (p->weigher->gaussian)
            c->base += reference_log_density(&c->reference, c->y0, c->y1);
        memset(c->bars, 0, bars_size(p) * sizeof *c->bars);
    }
    if (p->potential) add_potentials(r, s);
}

bool base_is_learned(const struct plan *p)
{
    return p->model->learned_noise || p->potential;
}

void contexts_vjp(const struct run *r, struct scratch *s, double once)
{
    const struct plan *p = r->plan;
    size_t d = p->d, P = 2 * s->contexts;
    if (p->potential && once != 0.0) add_potentials_vjp(r, s, once);
    if (!p->model->learned_noise) return;
    /* T may have been evaluated for other points in between. */
    struct points in = context_ends(r, s);
    program_forward(p->map, &r->values.map, &s->map, &in);
    for (size_t n = 0; n < s->contexts; n++) {
        struct context *c = &s->context[n];
        double *y0_bar = c->y_bar, *y1_bar = y0_bar + d;
        if (p->weigher->gaussian) {
            bridge_vjp(&c->reference, c->lambda, y0_bar, y1_bar,
                       &c->reference_bar, s->small);
            reference_log_density_vjp(&c->reference, c->y0, c->y1,
                                      once * group_weight(r, c->group), y0_bar,
                                      y1_bar, c->k_bar);
        }
        for (size_t i = 0; i < d; i++) {
            s->y_bar[i * P + 2 * n] = y0_bar[i];
            s->y_bar[i * P + 2 * n + 1] = y1_bar[i];
        }
    }
    double *bar = s->small + 4 * d; /* (2 batch) */
    for (size_t n = 0; n < P; n++)
        bar[n] = n % 2 ? once * group_weight(r, s->context[n / 2].group) : 0.0;
    program_vjp(p->map, &r->values.map, &s->map, &in,
                (const double *const[3]){s->y_bar, bar, NULL}, NULL,
                s->map_bar);
    references_vjp(r, s);
}
