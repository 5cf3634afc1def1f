/* SPDX-License-Identifier: MIT */
/* Lamperti's maps in closed form: the antiderivative of 1/shape and its
 * inverse for powers of a + b z, products of two such, roots and reciprocals of
 * quadratics, exp(b z) and cosh(a + b z). Where a sign that decides between two
 * forms is not known, lamperti_anchor.c; where none of these fits,
 * lamperti_numeric.c. */
#include "lang/lamperti.h"

#include <math.h>

#include "base/memory.h"
#include "lang/lamperti_parts.h"

static const double HALF_PI = 1.5707963267948966;

/* Under way: what is looked for and what was found. */
struct search {
    struct spec *spec;
    struct graph *g;
    node state; /* z in the map and its domain, u in the inverse */
    struct lamperti *found;
};

static void domain_is(struct search *s, size_t n, const node *margin)
{
    s->found->domain = graph_below(s->g, n, margin);
}

static void range_is(struct search *s, size_t n, const node *margin)
{
    s->found->range = graph_below(s->g, n, margin);
}

/* The inverse from u = a + b z. */
static node solved(struct search *s, const struct polynomial *u, node value)
{
    return over(s->g, sub(s->g, value, u->a), u->b);
}

/* An angle w within (-pi/2, pi/2). */
static void range_is_angle(struct search *s, node w)
{
    node quarter = num(s->g, HALF_PI);
    range_is(s, 2, (node[2]){sub(s->g, quarter, w), add(s->g, quarter, w)});
}

static int sign(const struct search *s, node n)
{
    return sign_of(s->spec, s->g, n);
}

/* --- Powers of u = a + b z ---------------------------------------------- */

/* Box and Cox: U = (u^q - 1) / (q b) with q = 1 - p, which is log(u) / b at
 * q = 0. */
static void any_power(struct search *s, const struct polynomial *a, node u,
                      node p)
{
    struct graph *g = s->g;
    node q = sub(g, num(g, 1.0), p), w = mul(g, a->b, s->state);
    node grown = graph_binary(g, OP_EXPM1_RATIO, f(g, OP_LOG, u), q);
    node root = graph_binary(g, OP_LOG1P_RATIO, w, q);
    s->found->stretch = over(g, grown, a->b);
    s->found->unstretch = solved(s, a, f(g, OP_EXP, root));
    node margin = add(g, num(g, 1.0), mul(g, q, w));
    range_is(s, 1, &margin);
}

/* U = u^q / (q b). */
static void number_power(struct search *s, const struct polynomial *a, node u,
                         double q)
{
    struct graph *g = s->g;
    node scale = mul(g, num(g, q), a->b), w = mul(g, scale, s->state);
    s->found->stretch = over(g, power(g, u, num(g, q)), scale);
    s->found->unstretch = solved(s, a, power(g, w, num(g, 1.0 / q)));
    range_is(s, 1, &w);
}

static bool try_power(struct search *s, const struct polynomial *a, node u,
                      node p)
{
    struct graph *g = s->g;
    double value;
    if (!graph_is_number(g, p, &value)) any_power(s, a, u, p);
    else if (value != 1.0) number_power(s, a, u, 1.0 - value);
    else {
        s->found->stretch = over(g, f(g, OP_LOG, u), a->b);
        node w = mul(g, a->b, s->state);
        s->found->unstretch = solved(s, a, f(g, OP_EXP, w));
    }
    domain_is(s, 1, &u);
    return true;
}

/* --- u v with u = a + b z and v = c + d z -------------------------------- */

/* U = log(u / v) / D with D = b c - d a; back, with the share S = u / (u + v),
 * z = (S c - (1-S) a) / ((1-S) b - S d). Where b d > 0, u / v ends at b / d. */
static void log_ratio(struct search *s, const struct polynomial *p,
                      const node *base)
{
    struct graph *g = s->g;
    node a = p[0].a, b = p[0].b, c = p[1].a, d = p[1].b;
    node D = sub(g, mul(g, b, c), mul(g, d, a));
    node w = mul(g, D, s->state);
    node S = f(g, OP_SIGMOID, w), R = f(g, OP_SIGMOID, f(g, OP_NEG, w));
    node above = sub(g, mul(g, c, S), mul(g, a, R));
    node below = sub(g, mul(g, b, R), mul(g, d, S));
    s->found->stretch = over(g, f(g, OP_LOG, over(g, base[0], base[1])), D);
    s->found->unstretch = over(g, above, below);
    node margin = mul(g, D, below);
    if (sign(s, mul(g, b, d)) >= 0) range_is(s, 1, &margin);
    domain_is(s, 2, base);
}

/* --- Quadratics Q = a + b z + c z^2 -------------------------------------- */

/* With w = 2 c z + b, 4 c Q = w^2 - D and D = b^2 - 4 a c. */
struct quadratic {
    struct polynomial p;
    node w;        /* over z                                        */
    node Q;        /* over z                                        */
    node size;     /* sqrt |D|                                      */
    int c, D;      /* their signs                                   */
    int side;      /* the sign of w where c > 0 and D > 0           */
    const node *u; /* Q = u[0] u[1], or NULL: the domain is u > 0   */
};

static node from_w(struct search *s, const struct quadratic *q, node w)
{
    node twice = mul(s->g, num(s->g, 2.0), q->p.c);
    return over(s->g, sub(s->g, w, q->p.b), twice);
}

static void quadratic_domain(struct search *s, const struct quadratic *q)
{
    if (q->u) domain_is(s, 2, q->u);
    else if (q->c < 0) domain_is(s, 1, &q->Q);
    else if (q->D > 0) domain_is(s, 2, (node[2]){q->Q, q->w});
}

/* Q^-1/2: asinh(w / sqrt(-D)) / sqrt(c). */
static void root_without_zeros(struct search *s, const struct quadratic *q)
{
    struct graph *g = s->g;
    node k = f(g, OP_SQRT, q->p.c), u = mul(g, k, s->state);
    node angle = f(g, OP_ASINH, over(g, q->w, q->size));
    s->found->stretch = over(g, angle, k);
    s->found->unstretch = from_w(s, q, mul(g, q->size, f(g, OP_SINH, u)));
}

/* -asin(w / sqrt(D)) / sqrt(-c), between the zeros. */
static void root_between_zeros(struct search *s, const struct quadratic *q)
{
    struct graph *g = s->g;
    node k = f(g, OP_SQRT, f(g, OP_NEG, q->p.c)), u = mul(g, k, s->state);
    node angle = f(g, OP_ASIN, over(g, q->w, q->size));
    s->found->stretch = f(g, OP_NEG, over(g, angle, k));
    s->found->unstretch =
        from_w(s, q, f(g, OP_NEG, mul(g, q->size, f(g, OP_SIN, u))));
    range_is_angle(s, u);
}

/* side log(side w + sqrt(w^2 - D)) / sqrt(c), beyond the zeros; back, with
 * E = exp(side sqrt(c) u), side w = (E + D / E) / 2. */
static void root_beyond_zeros(struct search *s, const struct quadratic *q)
{
    struct graph *g = s->g;
    node side = num(g, q->side), half = num(g, 0.5);
    node k = mul(g, side, f(g, OP_SQRT, q->p.c)), u = mul(g, k, s->state);
    node D = mul(g, q->size, q->size), E = f(g, OP_EXP, u);
    node root = f(g, OP_SQRT, mul(g, mul(g, num(g, 4.0), q->p.c), q->Q));
    node sum = add(g, mul(g, side, q->w), root);
    s->found->stretch = over(g, f(g, OP_LOG, sum), k);
    node w = mul(g, half, add(g, E, over(g, D, E)));
    s->found->unstretch = from_w(s, q, mul(g, side, w));
    node margin = sub(g, u, f(g, OP_LOG, q->size));
    range_is(s, 1, &margin);
}

/* Q^-1: 2 atan(w / sqrt(-D)) / sqrt(-D). */
static void whole_without_zeros(struct search *s, const struct quadratic *q)
{
    struct graph *g = s->g;
    node half = mul(g, num(g, 0.5), q->size), u = mul(g, half, s->state);
    node angle = f(g, OP_ATAN, over(g, q->w, q->size));
    s->found->stretch = over(g, angle, half);
    s->found->unstretch = from_w(s, q, mul(g, q->size, f(g, OP_TAN, u)));
    range_is_angle(s, u);
}

/* log((k - w) / (k + w)) / k with k = sqrt(D), between the zeros. */
static void whole_between_zeros(struct search *s, const struct quadratic *q)
{
    struct graph *g = s->g;
    node k = q->size, u = mul(g, mul(g, num(g, -0.5), k), s->state);
    node ratio = over(g, sub(g, k, q->w), add(g, k, q->w));
    s->found->stretch = over(g, f(g, OP_LOG, ratio), k);
    s->found->unstretch = from_w(s, q, mul(g, k, f(g, OP_TANH, u)));
}

/* log((w - k) / (w + k)) / k, beyond the zeros: it is below 0. */
static void whole_beyond_zeros(struct search *s, const struct quadratic *q)
{
    struct graph *g = s->g;
    node k = q->size, u = mul(g, mul(g, num(g, -0.5), k), s->state);
    node ratio = over(g, sub(g, q->w, k), add(g, q->w, k));
    s->found->stretch = over(g, f(g, OP_LOG, ratio), k);
    s->found->unstretch = from_w(s, q, over(g, k, f(g, OP_TANH, u)));
    node margin = f(g, OP_NEG, s->state);
    range_is(s, 1, &margin);
}

static bool try_quadratic(struct search *s, const struct quadratic *q, node e)
{
    double value;
    bool whole = graph_is_number(s->g, e, &value) && value == 1.0;
    bool root = graph_is_number(s->g, e, &value) && value == 0.5;
    if (q->c > 0 && q->D < 0 && root) root_without_zeros(s, q);
    else if (q->c < 0 && q->D > 0 && root) root_between_zeros(s, q);
    else if (q->c > 0 && q->D > 0 && q->side && root) root_beyond_zeros(s, q);
    else if (q->D < 0 && whole) whole_without_zeros(s, q);
    else if (q->c < 0 && q->D > 0 && whole) whole_between_zeros(s, q);
    else if (q->c > 0 && q->D > 0 && whole) whole_beyond_zeros(s, q);
    else return false;
    quadratic_domain(s, q);
    return true;
}

static void set_w(struct search *s, struct quadratic *q)
{
    struct graph *g = s->g;
    node slope = mul(g, num(g, 2.0), q->p.c);
    q->w = add(g, mul(g, slope, s->state), q->p.b);
    q->Q = polynomial_node(g, &q->p, s->state);
    q->c = sign(s, q->p.c);
}

static struct quadratic alone(struct search *s, const struct polynomial *p)
{
    struct graph *g = s->g;
    struct quadratic q = {.p = *p, .side = 1};
    node product = mul(g, num(g, 4.0), mul(g, p->a, p->c));
    node D = sub(g, mul(g, p->b, p->b), product);
    set_w(s, &q);
    q.D = p->b ? sign(s, D) : -sign(s, product);
    q.size = f(g, OP_SQRT, q.D < 0 ? f(g, OP_NEG, D) : D);
    return q;
}

/* u v is a quadratic with D = (b c - d a)^2. */
static struct quadratic joint(struct search *s, const struct polynomial *p,
                              const node *base)
{
    struct graph *g = s->g;
    node b = p[0].b, d = p[1].b;
    node cross = mul(g, b, p[1].a), other = mul(g, d, p[0].a);
    struct quadratic q = {
        .p = {mul(g, p[0].a, p[1].a), add(g, cross, other), mul(g, b, d)},
        .D = 1,
        .u = base};
    set_w(s, &q);
    q.side = sign(s, b) == sign(s, d) ? sign(s, b) : 0;
    q.size = f(g, OP_ABS, sub(g, cross, other));
    return q;
}

/* --- Others ------------------------------------------------------------- */

/* exp(b z): -exp(-b z) / b. */
static void exponential(struct search *s, node b)
{
    struct graph *g = s->g;
    node minus = f(g, OP_NEG, b), w = mul(g, minus, s->state);
    s->found->stretch = over(g, f(g, OP_EXP, w), minus);
    s->found->unstretch = over(g, f(g, OP_LOG, w), minus);
    range_is(s, 1, &w);
}

/* cosh(u): atan(sinh(u)) / b; 1 / cosh(u): sinh(u) / b. */
static bool try_cosh(struct search *s, node base, node e)
{
    struct graph *g = s->g;
    struct polynomial p;
    double value;
    if (graph_info(g, base)->op != OP_COSH || !graph_is_number(g, e, &value) ||
        fabs(value) != 1.0)
        return false;
    node u = graph_input(g, base, 0);
    if (!polynomial_of(g, u, s->state, &p) || p.c) return false;
    node w = mul(g, p.b, s->state), stretched = f(g, OP_SINH, u);
    if (value > 0.0) {
        stretched = f(g, OP_ATAN, stretched);
        range_is_angle(s, w);
        w = f(g, OP_TAN, w);
    }
    s->found->stretch = over(g, stretched, p.b);
    s->found->unstretch = solved(s, &p, f(g, OP_ASINH, w));
    return true;
}

static bool try_one(struct search *s, const struct product *f)
{
    struct polynomial p;
    node base = f->base[0], e = f->power[0];
    if (!polynomial_of(s->g, base, s->state, &p)) return try_cosh(s, base, e);
    if (p.c) {
        struct quadratic q = alone(s, &p);
        return try_quadratic(s, &q, e) ||
               lamperti_anchored(s->spec, f, s->found);
    }
    bool open = !sign(s, p.b);
    return (open && lamperti_anchored(s->spec, f, s->found)) ||
           try_power(s, &p, base, e);
}

static bool try_two(struct search *s, const struct product *f)
{
    struct polynomial p[2];
    if (f->power[0] != f->power[1]) return false;
    for (size_t i = 0; i < 2; i++)
        if (!polynomial_of(s->g, f->base[i], s->state, &p[i]) || p[i].c)
            return false;
    if (is_one(s->g, f->power[0])) {
        log_ratio(s, p, f->base);
        return true;
    }
    struct quadratic q = joint(s, p, f->base);
    return try_quadratic(s, &q, f->power[0]);
}

static bool closed_form(struct search *s, const struct product *p)
{
    if (p->rate && !p->factors) {
        exponential(s, p->rate);
        return true;
    }
    if (p->rate || p->factors > 2) return false;
    return p->factors == 1 ? try_one(s, p) : try_two(s, p);
}

bool lamperti_find(struct spec *spec, node shape, node state,
                   struct lamperti *found)
{
    struct graph *g = spec->graph;
    struct product p;
    struct search s = {spec, g, state, found};
    *found = (struct lamperti){.stretch = state, .unstretch = state};
    if (!product_of(g, shape, state, &p)) return false;
    if (!is_one(g, p.constant) || !closed_form(&s, &p)) {
        *found = (struct lamperti){.numerical = true};
        if (!lamperti_numeric(spec, &p, shape, found)) return false;
    }
    size_t rows = graph_info(g, state)->rows;
    found->stretch = graph_fill(g, found->stretch, rows, 1);
    found->unstretch = graph_fill(g, found->unstretch, rows, 1);
    return !g->failed;
}
