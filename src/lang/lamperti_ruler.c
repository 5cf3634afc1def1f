/* SPDX-License-Identifier: MIT */
/* Where a map by quadrature has its knots. They are chosen where the shape is
 * finite and positive at the parameters' starts: on the whole line, above or
 * below a bound, or between two, in places that are expressions themselves, so
 * that they move with a bound's parameters,
 *
 *     z = centre + sinh(v),   low + exp(v),   high - exp(-v),
 *     z = low + (high - low) sigmoid(v),      with even steps of v. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/quadrature.h"
#include "graph/program.h"
#include "lang/lamperti_parts.h"

enum { HALF = 90, KNOTS = 2 * HALF + 1, FEWEST = 8, GAUSS = 16 };

/* Steps of v: on the line a shape has features of any width, so that knots
 * stand closer, and reach out to +-4000; else to exp(+-18). */
static const double LINE_STEP = 0.1, BOUND_STEP = 0.2;

/* Beyond this the map is flat or steep to all digits. */
static const double LEAST = 1e-13, MOST = 1e60;

/* An end of U is finite where its increments fall at this rate of v. */
static const double CLOSING = 0.05;

/* --- Values at the parameters' starts ------------------------------------ */

static double *start_values(const struct spec *spec)
{
    double *value = NEW(double, spec->parameters);
    for (size_t i = 0; value && i < spec->params; i++) {
        const struct param_spec *p = &spec->param[i];
        memcpy(value + p->offset, p->start,
               p->rows * p->columns * sizeof *value);
    }
    return value;
}

bool at_start(const struct spec *spec, node n, double *out)
{
    if (spec->graph->failed) return false;
    struct uniforms u = {0};
    struct workspace w = {0};
    double *value = start_values(spec), *zero = NEW(double, spec->inputs + 1);
    struct program *p = program_new(spec->graph, 1, &n, spec->parameters, true);
    struct points in = {
        .P = 1, .state = zero, .time = zero, .input = zero, .slope = zero};
    bool done = value && zero && p && !uniforms_init(&u, p) &&
                !workspace_init(&w, p, 1, false, false);
    if (done) {
        program_prepare(p, value, &u);
        program_forward(p, &u, &w, &in);
        memcpy(out, program_output(p, &w, 1, 0),
               graph_size(spec->graph, n) * sizeof *out);
    } else {
        spec->graph->failed = true;
    }
    workspace_free(&w);
    uniforms_free(&u);
    program_free(p);
    mem_free(value);
    mem_free(zero);
    return done;
}

/* --- Expressions at points ----------------------------------------------- */

static node at_node(struct graph *g, node n, node state, size_t row,
                    node points, const node *image)
{
    struct node_info info = *graph_info(g, n);
    if (n == state) return points;
    if (!graph_depends(g, n, OP_STATE))
        return graph_size(g, n) == 1 ? n : graph_slice(g, n, row, 1, 1);
    node x = image[graph_input(g, n, 0)];
    if (info.op == OP_FILL) return x;
    if (info.inputs == 1) return graph_unary(g, info.op, x);
    return graph_binary(g, info.op, x, image[graph_input(g, n, 1)]);
}

node at_points(struct graph *g, node n, node state, size_t row, node points)
{
    node *image = NEW(node, n + 1), made = 0;
    bool *wanted = NEW(bool, n + 1);
    g->failed = g->failed || !image || !wanted;
    if (!g->failed) wanted[n] = true;
    for (node i = n + 1; !g->failed && i-- > 0;)
        for (size_t k = 0;
             wanted[i] && i != state && graph_depends(g, i, OP_STATE) &&
             k < graph_info(g, i)->inputs;
             k++)
            wanted[graph_input(g, i, k)] = true;
    for (node i = 0; !g->failed && i <= n; i++)
        if (wanted[i]) image[i] = at_node(g, i, state, row, points, image);
    if (!g->failed)
        made = graph_fill(g, image[n], graph_info(g, points)->rows,
                          graph_info(g, points)->columns);
    mem_free(image);
    mem_free(wanted);
    return made;
}

/* --- What must be positive ----------------------------------------------- */

static void take_margin(struct margins *m, node u)
{
    for (size_t i = 0; i < m->affine; i++)
        if (m->margin[i] == u) return;
    if (m->affine < FACTORS) m->margin[m->affine++] = u;
}

/* The argument of a root, a power or a logarithm, as far as it is affine. */
static void look_inside(const struct product *p, node n, struct margins *m)
{
    struct graph *g = p->g;
    struct polynomial u;
    struct node_info info = *graph_info(g, n);
    double e;
    if (info.op != OP_SQRT && info.op != OP_LOG && info.op != OP_LOG1P &&
        info.op != OP_POW)
        return;
    if (info.op == OP_POW && graph_is_number(g, graph_input(g, n, 1), &e) &&
        e == floor(e))
        return;
    node x = graph_input(g, n, 0);
    if (!polynomial_of(g, x, p->state, &u) || !u.b || u.c) return;
    take_margin(m, info.op == OP_LOG1P ? add(g, num(g, 1.0), x) : x);
}

bool find_margins(const struct product *p, node shape, struct margins *m)
{
    struct graph *g = p->g;
    struct polynomial u;
    *m = (struct margins){0};
    for (size_t i = 0; i < p->factors; i++)
        if (polynomial_of(g, p->base[i], p->state, &u) && !u.c)
            take_margin(m, p->base[i]);
    bool *wanted = GRAPH_NEW(g, bool, shape + 1);
    if (wanted) wanted[shape] = true;
    for (node i = shape + 1; wanted && i-- > 0;) {
        if (!wanted[i] || i == p->state) continue;
        look_inside(p, i, m);
        for (size_t k = 0; k < graph_info(g, i)->inputs; k++)
            wanted[graph_input(g, i, k)] = true;
    }
    mem_free(wanted);
    return !g->failed;
}

/* --- Where a row's state may be ------------------------------------------ */

/* The largest of the lower bounds and the least of the upper ones at the
 * parameters' starts, as expressions. */
struct bounds {
    bool has[2];
    double at[2];
    node bound[2];
};

static bool find_bounds(const struct spec *spec, const struct product *p,
                        size_t row, const struct margins *m, struct bounds *b)
{
    struct graph *g = p->g;
    *b = (struct bounds){0};
    for (size_t i = 0; i < m->affine; i++) {
        struct polynomial u;
        double value[2];
        if (!polynomial_of(g, m->margin[i], p->state, &u)) return false;
        node zero = f(g, OP_NEG, over(g, u.a, u.b));
        node both[2] = {at_points(g, zero, p->state, row, num(g, 0.0)),
                        at_points(g, u.b, p->state, row, num(g, 0.0))};
        if (!at_start(spec, graph_stack(g, 2, both, 2, 1), value)) return false;
        size_t k = value[1] < 0.0;
        bool tighter = k ? value[0] < b->at[1] : value[0] > b->at[0];
        if (b->has[k] && !tighter) continue;
        b->has[k] = true;
        b->at[k] = value[0];
        b->bound[k] = both[0];
    }
    return !(b->has[0] && b->has[1]) || b->at[0] < b->at[1];
}

static double step_of(const struct bounds *b)
{
    return b->has[0] || b->has[1] ? BOUND_STEP : LINE_STEP;
}

/* The knots from number `first` on. */
static node place_knots(struct graph *g, const struct bounds *b, double centre,
                        size_t first, size_t n)
{
    double at[KNOTS];
    for (size_t i = 0; i < n; i++) {
        double v = step_of(b) * ((double)(first + i) - HALF);
        at[i] = b->has[0] && b->has[1] ? 1.0 / (1.0 + exp(-v))
                : b->has[0]            ? exp(v)
                : b->has[1]            ? -exp(-v)
                                       : centre + sinh(v);
    }
    node place = graph_constant(g, n, 1, at);
    if (b->has[0] && b->has[1])
        place = mul(g, sub(g, b->bound[1], b->bound[0]), place);
    if (!b->has[0] && !b->has[1]) return place;
    return add(g, b->bound[!b->has[0]], place);
}

static bool fine(double shape)
{
    return shape > 1.0 / MOST && shape < MOST;
}

/* The run of knots with a good shape around the one nearest to the middle. */
static bool find_run(const double *shape, bool middle, size_t *first,
                     size_t *last, size_t *origin)
{
    size_t i = 0;
    while (i <= HALF && !fine(shape[HALF + i]) && !fine(shape[HALF - i]))
        i++;
    if (i > HALF || (middle && i)) return false;
    *origin = *first = *last = fine(shape[HALF + i]) ? HALF + i : HALF - i;
    while (*first > 0 && fine(shape[*first - 1]))
        --*first;
    while (*last + 1 < KNOTS && fine(shape[*last + 1]))
        ++*last;
    return *last - *first >= FEWEST;
}

const double ANCHOR[ANCHORS] = {0.0,  1.0,   -1.0, 0.5,  -0.5,  2.0,
                                -2.0, 10.0,  -10., 0.1,  -0.1,  5.0,
                                -5.0, 100.0, -100, 0.01, -0.01, 1000.0};

static bool look_for_run(const struct spec *spec, const struct product *p,
                         node shape, size_t row, const struct bounds *b,
                         double *centre, size_t *first, size_t *last,
                         size_t *origin)
{
    double value[KNOTS];
    struct graph *g = p->g;
    bool bound = b->has[0] || b->has[1];
    for (size_t i = 0; i < (bound ? 1 : ANCHORS); i++) {
        *centre = ANCHOR[i];
        node knots = place_knots(g, b, *centre, 0, KNOTS);
        node at = at_points(g, shape, p->state, row, knots);
        if (g->failed || !at_start(spec, at, value)) return false;
        if (find_run(value, !bound, first, last, origin)) return true;
    }
    return false;
}

/* --- Gauss's rule -------------------------------------------------------- */

static void gauss_rule(struct graph *g, struct ruler *r)
{
    double point[GAUSS], weight[GAUSS];
    quadrature_interval(GAUSS, point, weight);
    r->point = graph_constant(g, 1, GAUSS, point);
    r->weight = graph_constant(g, GAUSS, 1, weight);
}

node integrals(struct graph *g, const struct ruler *r, node shape, node state,
               size_t row)
{
    size_t n = r->intervals, m = graph_size(g, r->point);
    node low = graph_slice(g, r->knots, 0, n, 1);
    node width = sub(g, graph_slice(g, r->knots, 1, n, 1), low);
    node ones = graph_fill(g, num(g, 1.0), 1, m);
    node points =
        add(g, graph_matmul(g, low, ones), graph_matmul(g, width, r->point));
    node inverse =
        over(g, num(g, 1.0), at_points(g, shape, state, row, points));
    return mul(g, width, graph_matmul(g, inverse, r->weight));
}

/* --- The whole ---------------------------------------------------------- */

/* How many intervals from the origin on, outwards in steps of `by`, change U
 * by something; and whether U ends there. */
static size_t reach(const double *I, size_t origin, size_t n, bool up,
                    double step, bool *closed)
{
    double sum = 0.0, before = 0.0, last = 0.0;
    size_t k = 0, most = up ? n - origin : origin;
    *closed = false;
    for (; k < most; k++) {
        double next = up ? I[origin + k] : I[origin - 1 - k];
        if (!(next > LEAST * sum)) *closed = true;
        if (*closed || !(sum + next < MOST)) break;
        sum += next;
        before = last;
        last = next;
    }
    if (k > 1 && log(before / last) > CLOSING * step) *closed = true;
    return k;
}

/* Whether a base is known to be positive: for all parameters, or where there
 * are none, at all knots of the row. 0 may be an underflow. */
static bool is_positive(const struct spec *spec, const struct product *p,
                        size_t i, size_t row, node knots)
{
    struct graph *g = p->g;
    double value[KNOTS];
    bool positive = true;
    unsigned moving = 1u << OP_PARAM | 1u << OP_TIME | 1u << OP_INPUT;
    if (sign_of(spec, g, p->base[i]) > 0) return true;
    if (graph_info(g, p->base[i])->leaves & moving) return false;
    node at = at_points(g, p->base[i], p->state, row, knots);
    if (g->failed || !at_start(spec, at, value)) return false;
    for (size_t k = 0; k < KNOTS; k++)
        positive = positive && value[k] >= 0.0;
    return positive;
}

static void find_others(const struct spec *spec, const struct product *p,
                        size_t row, node knots, struct margins *m)
{
    struct polynomial u;
    for (size_t i = 0; i < p->factors; i++) {
        bool known = polynomial_of(p->g, p->base[i], p->state, &u) && !u.c;
        for (size_t k = 0; k < m->others; k++)
            known = known || m->margin[m->affine + k] == p->base[i];
        if (!known && !is_positive(spec, p, i, row, knots))
            m->margin[m->affine + m->others++] = p->base[i];
    }
}

bool find_ruler(struct spec *spec, const struct product *p, node shape,
                size_t row, struct margins *m, struct ruler *r)
{
    struct graph *g = p->g;
    struct bounds b;
    double centre, I[KNOTS];
    size_t first, last, origin;
    if (!find_bounds(spec, p, row, m, &b) ||
        !look_for_run(spec, p, shape, row, &b, &centre, &first, &last, &origin))
        return false;
    find_others(spec, p, row, place_knots(g, &b, centre, 0, KNOTS), m);
    gauss_rule(g, r);
    r->intervals = last - first;
    r->knots = place_knots(g, &b, centre, first, r->intervals + 1);
    node all = integrals(g, r, shape, p->state, row);
    if (g->failed || !at_start(spec, all, I)) return false;
    double step = step_of(&b);
    size_t down =
        reach(I, origin - first, r->intervals, false, step, &r->closed[0]);
    size_t up =
        reach(I, origin - first, r->intervals, true, step, &r->closed[1]);
    r->intervals = down + up;
    r->origin = down;
    r->knots = place_knots(g, &b, centre, origin - down, down + up + 1);
    return r->intervals >= FEWEST;
}
