/* SPDX-License-Identifier: MIT */
/* Lamperti's maps that do not ask for a sign. The antiderivatives of quadratics
 * are a logarithm, an arc sine or a root by the signs of their coefficients,
 * and those of a + b z are singular at b = 0; a fit of d0 + d1 x + d2 x^2 from
 * d1 = d2 = 0 walks through all of them. From an anchor z0 on, with d = z - z0,
 *
 *     Q(z) = q + b d + c d^2,   M = 2 q + b d + 2 sqrt(q Q),
 *
 * one formula holds for all signs, and is smooth in b and c:
 *
 *     int dz / sqrt(Q) = 2 A(d / (sqrt(q) + sqrt(Q)), c)
 *     int dz / Q       = 2 A(2 d / M, D / 4),   D = b^2 - 4 q c,
 *
 * A(x, y) = atanh(k x) / k with k^2 = y. The inverses follow from d'' = b / 2 +
 * c d and from Riccati's equation, with S = sinh(k u) / k and C = cosh(k u):
 *
 *     d = sqrt(q) S + b S(u / 2)^2,   d = 2 q S / (2 C - b S).
 *
 * M > 0 says that Q has no zero between the anchor and z. */
#include <math.h>

#include "lang/lamperti_parts.h"

static const double PI_SQUARED = 9.8696044010893586;

/* sqrt(Q) ends at this share of what it is at the anchor: nearer to a zero, Q
 * of the inverse is all rounding. */
static const double CLOSE = 1e-6;

/* Under way. */
struct anchored {
    struct spec *spec;
    struct graph *g;
    node state;
    double z0;
    node q, b, c; /* of Q around the anchor; c is 0 for none     */
    node d, Q;    /* over the state as z                         */
    struct lamperti *found;
};

static node ratio(struct graph *g, enum op op, node x, node y)
{
    return graph_binary(g, op, x, y);
}

static node scaled(struct graph *g, double by, node x)
{
    return mul(g, num(g, by), x);
}

/* cosh(k u) = 1 + 2 y S(u / 2)^2; half is S(u / 2). */
static node cosh_of(struct graph *g, node y, node half)
{
    node square = mul(g, y, mul(g, half, half));
    return add(g, num(g, 1.0), scaled(g, 2.0, square));
}

static void inverse_is(struct anchored *a, node d)
{
    a->found->unstretch = add(a->g, num(a->g, a->z0), d);
}

/* One sheet of the inverse: sines come back after a turn. */
static void range_is(struct anchored *a, node margin, node y)
{
    struct graph *g = a->g;
    node turn = mul(g, y, mul(g, a->state, a->state));
    node both[2] = {margin, add(g, num(g, PI_SQUARED), turn)};
    a->found->range = graph_below(g, 2, both);
    a->found->curved = true;
}

/* --- Quadratics ---------------------------------------------------------- */

static node sheet(struct anchored *a)
{
    struct graph *g = a->g;
    node root = f(g, OP_SQRT, mul(g, a->q, a->Q));
    node sum = add(g, scaled(g, 2.0, a->q), mul(g, a->b, a->d));
    return add(g, sum, scaled(g, 2.0, root));
}

static void quadratic_domain(struct anchored *a, node M)
{
    a->found->domain = graph_below(a->g, 2, (node[2]){a->Q, M});
}

static void take_root(struct anchored *a)
{
    struct graph *g = a->g;
    node root = f(g, OP_SQRT, a->q), u = a->state;
    node sum = add(g, root, f(g, OP_SQRT, a->Q));
    node angle = ratio(g, OP_ATANH_RATIO, over(g, a->d, sum), a->c);
    node S = ratio(g, OP_SINH_RATIO, u, a->c);
    node half = ratio(g, OP_SINH_RATIO, scaled(g, 0.5, u), a->c);
    node square = mul(g, a->b, mul(g, half, half));
    node inner = sub(g, cosh_of(g, a->c, half), num(g, CLOSE));
    node slope = mul(g, root, inner);
    a->found->stretch = scaled(g, 2.0, angle);
    inverse_is(a, add(g, mul(g, root, S), square));
    range_is(a, add(g, slope, scaled(g, 0.5, mul(g, a->b, S))), a->c);
    quadratic_domain(a, sheet(a));
}

static void take_whole(struct anchored *a)
{
    struct graph *g = a->g;
    node M = sheet(a), u = a->state, product = mul(g, a->q, a->c);
    node y = sub(g, scaled(g, 0.25, mul(g, a->b, a->b)), product);
    node angle = ratio(g, OP_ATANH_RATIO, over(g, scaled(g, 2.0, a->d), M), y);
    node S = ratio(g, OP_SINH_RATIO, u, y);
    node half = ratio(g, OP_SINH_RATIO, scaled(g, 0.5, u), y);
    node below = sub(g, scaled(g, 2.0, cosh_of(g, y, half)), mul(g, a->b, S));
    a->found->stretch = scaled(g, 2.0, angle);
    inverse_is(a, over(g, scaled(g, 2.0, mul(g, a->q, S)), below));
    range_is(a, below, y);
    quadratic_domain(a, M);
}

/* --- Powers of q + b d --------------------------------------------------- */

/* With p = 1 - power, L = log(Q / q) / b: U = q^p expm1(p b L) / (p b). */
static void take_power(struct anchored *a, node power_of)
{
    struct graph *g = a->g;
    node p = sub(g, num(g, 1.0), power_of), rate = mul(g, p, a->b);
    node L = ratio(g, OP_LOG1P_RATIO, over(g, a->d, a->q), a->b);
    node back = a->state;
    a->found->stretch = L;
    if (!is_zero(g, p)) {
        node scale = power(g, a->q, p), w = over(g, a->state, scale);
        a->found->stretch = mul(g, scale, ratio(g, OP_EXPM1_RATIO, L, rate));
        back = ratio(g, OP_LOG1P_RATIO, w, rate);
        node margin = add(g, num(g, 1.0), mul(g, rate, w));
        a->found->range = graph_below(g, 1, &margin);
        a->found->curved = true; /* of no slope at b = 0 */
    }
    inverse_is(a, mul(g, a->q, ratio(g, OP_EXPM1_RATIO, back, a->b)));
    a->found->domain = graph_below(g, 1, &a->Q);
}

/* --- Where the anchor is ------------------------------------------------- */

/* Values at the parameters' starts of every row, at z0: whether one is 0, or
 * all are positive. */
static bool look(const struct anchored *a, node n, bool zero)
{
    size_t rows = graph_info(a->g, a->state)->rows;
    bool one = false, all = true;
    for (size_t i = 0; i < rows; i++) {
        double value = 0.0;
        node at = at_points(a->g, n, a->state, i, num(a->g, a->z0));
        if (a->g->failed || !at_start(a->spec, at, &value)) return false;
        one = one || value == 0.0;
        all = all && value > 0.0 && value < HUGE_VAL;
    }
    return zero ? one : all;
}

static bool find_anchor(struct anchored *a)
{
    for (size_t i = 0; i < ANCHORS; i++) {
        a->z0 = ANCHOR[i];
        if (look(a, a->Q, false)) return true;
    }
    return false;
}

/* Q around the anchor. */
static void shift(struct anchored *a, const struct polynomial *p)
{
    struct graph *g = a->g;
    node z0 = num(g, a->z0);
    a->d = a->z0 == 0.0 ? a->state : sub(g, a->state, z0);
    a->q = p->a;
    a->b = p->b ? p->b : num(g, 0.0);
    a->c = p->c;
    if (a->z0 == 0.0) return;
    node slope = p->c ? add(g, a->b, mul(g, p->c, z0)) : a->b;
    a->q = add(g, a->q, mul(g, slope, z0));
    if (p->c) a->b = add(g, slope, mul(g, p->c, z0));
}

bool lamperti_anchored(struct spec *spec, const struct product *p,
                       struct lamperti *found)
{
    struct graph *g = p->g;
    struct polynomial u;
    struct lamperti made = {0};
    struct anchored a = {spec, g, p->state, .found = &made};
    double e = 0.0;
    if (p->rate || p->factors != 1 ||
        !polynomial_of(g, p->base[0], p->state, &u))
        return false;
    bool number = graph_is_number(g, p->power[0], &e);
    if (u.c && !(number && (e == 0.5 || e == 1.0))) return false;
    a.Q = p->base[0];
    if (!u.c && !look(&a, u.b, true)) return false;
    if (!find_anchor(&a)) return false;
    shift(&a, &u);
    if (!u.c) take_power(&a, p->power[0]);
    else if (e == 0.5) take_root(&a);
    else take_whole(&a);
    *found = made;
    return !g->failed;
}
