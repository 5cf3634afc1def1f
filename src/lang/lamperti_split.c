/* SPDX-License-Identifier: MIT */
/* The factor of a noise as constant(t) * shape(z, t). It is taken apart into
 * powers of bases,
 *
 *     constant * product over i of base_i ^ power_i * exp(rate z),
 *
 * bases are brought to one form (z stands with the coefficient 1 or -1 where it
 * is a number), and the shape is put together again in the order of the bases:
 * equal shapes are then the same node. Where a power makes it matter, bases are
 * positive: that is the domain that the map has. */
#include <math.h>

#include "base/memory.h"
#include "graph/build.h"
#include "graph/ops.h"
#include "lang/lamperti_parts.h"

enum { VISITS = 4000 };

/* --- Numbers ------------------------------------------------------------ */

/* A number, or one in every element. */
static bool number_of(const struct graph *g, node n, double *value)
{
    if (graph_info(g, n)->op == OP_FILL) n = graph_input(g, n, 0);
    return graph_is_number(g, n, value);
}

bool is_zero(const struct graph *g, node n)
{
    double value;
    return number_of(g, n, &value) && value == 0.0;
}

bool is_one(const struct graph *g, node n)
{
    double value;
    return number_of(g, n, &value) && value == 1.0;
}

static bool is_whole(const struct graph *g, node n)
{
    double value;
    return number_of(g, n, &value) && value == floor(value);
}

static bool is_odd(const struct graph *g, node n)
{
    double value;
    return number_of(g, n, &value) && fmod(value, 2.0) != 0.0;
}

static bool of_state(const struct graph *g, node n)
{
    return graph_depends(g, n, OP_STATE);
}

/* --- Polynomials -------------------------------------------------------- */

static node tidy(const struct graph *g, node n)
{
    return is_zero(g, n) ? 0 : n;
}

static int degree(const struct polynomial *p)
{
    return p->c ? 2 : p->b ? 1 : 0;
}

static bool times(struct graph *g, const struct polynomial *x,
                  const struct polynomial *y, struct polynomial *z)
{
    if (degree(x) + degree(y) > 2) return false;
    node b = add(g, mul(g, x->a, y->b), mul(g, x->b, y->a));
    node c = add(g, mul(g, x->a, y->c), mul(g, x->c, y->a));
    c = add(g, c, mul(g, x->b, y->b));
    *z = (struct polynomial){tidy(g, mul(g, x->a, y->a)), tidy(g, b),
                             tidy(g, c)};
    return true;
}

static bool combined(struct graph *g, enum op op, const struct polynomial *x,
                     const struct polynomial *y, struct polynomial *z)
{
    if (op == OP_MUL) return times(g, x, y, z);
    if (op == OP_DIV) {
        if (degree(y)) return false;
        struct polynomial inverse = {over(g, num(g, 1.0), y->a), 0, 0};
        return times(g, x, &inverse, z);
    }
    if (op != OP_ADD && op != OP_SUB) return false;
    *z = (struct polynomial){tidy(g, graph_binary(g, op, x->a, y->a)),
                             tidy(g, graph_binary(g, op, x->b, y->b)),
                             tidy(g, graph_binary(g, op, x->c, y->c))};
    return true;
}

static bool find_polynomial(struct graph *g, node n, node state,
                            struct polynomial *p, size_t *visits)
{
    struct node_info info = *graph_info(g, n);
    struct polynomial x, y, zero = {0, 0, 0};
    if (++*visits > VISITS || g->failed) return false;
    *p = (struct polynomial){.a = tidy(g, n)};
    if (!of_state(g, n)) return true;
    *p = (struct polynomial){.b = num(g, 1.0)};
    if (n == state) return true;
    if (info.op != OP_NEG && (info.op < OP_ADD || info.op > OP_DIV))
        return false;
    if (!find_polynomial(g, graph_input(g, n, 0), state, &x, visits))
        return false;
    if (info.op == OP_NEG) return combined(g, OP_SUB, &zero, &x, p);
    return find_polynomial(g, graph_input(g, n, 1), state, &y, visits) &&
           combined(g, info.op, &x, &y, p);
}

bool polynomial_of(struct graph *g, node n, node state, struct polynomial *p)
{
    size_t visits = 0;
    return find_polynomial(g, n, state, p, &visits);
}

node polynomial_node(struct graph *g, const struct polynomial *p, node state)
{
    double b;
    bool minus = number_of(g, p->b, &b) && b == -1.0;
    node sum = minus ? sub(g, p->a, state) : add(g, p->a, mul(g, p->b, state));
    if (!p->c) return sum;
    return add(g, sum, mul(g, p->c, mul(g, state, state)));
}

/* --- Bases -------------------------------------------------------------- */

static void take_constant(struct product *p, node value, node e)
{
    if (!is_one(p->g, value))
        p->constant = mul(p->g, p->constant, power(p->g, value, e));
}

static void take_base(struct product *p, node base, node e)
{
    size_t i = 0;
    while (i < p->factors && p->base[i] != base)
        i++;
    if (i == FACTORS) {
        p->failed = true;
        return;
    }
    if (i == p->factors) {
        p->base[p->factors] = base;
        p->power[p->factors++] = e;
        return;
    }
    p->power[i] = add(p->g, p->power[i], e);
    if (!is_zero(p->g, p->power[i])) return;
    p->base[i] = p->base[--p->factors];
    p->power[i] = p->power[p->factors];
}

/* (a + b z)^e with a number b: |b|^e (a / |b| + z)^e, or - z. Where a is 0 and
 * the sign of b does not matter or is known, b is a constant altogether. */
static void take_affine(struct product *p, struct polynomial u, node e)
{
    struct graph *g = p->g;
    double b;
    if (!u.a && (is_whole(g, e) || sign_of(NULL, g, u.b) > 0)) {
        take_constant(p, u.b, e);
        u.b = num(g, 1.0);
    } else if (number_of(g, u.b, &b)) {
        node size = num(g, fabs(b));
        take_constant(p, size, e);
        u.a = over(g, u.a, size);
        u.b = num(g, b < 0.0 ? -1.0 : 1.0);
    }
    take_base(p, polynomial_node(g, &u, p->state), e);
}

/* The same of a quadratic; without a constant term it is z (b + c z). */
static void take_quadratic(struct product *p, struct polynomial u, node e)
{
    struct graph *g = p->g;
    double c;
    if (!u.a) {
        take_affine(p, (struct polynomial){.b = num(g, 1.0)}, e);
        if (u.b) take_affine(p, (struct polynomial){u.b, u.c, 0}, e);
        else {
            take_affine(p, (struct polynomial){.b = num(g, 1.0)}, e);
            take_constant(p, u.c, e);
        }
        return;
    }
    if (number_of(g, u.c, &c)) {
        node size = num(g, fabs(c));
        take_constant(p, size, e);
        u = (struct polynomial){over(g, u.a, size), over(g, u.b, size),
                                over(g, u.c, size)};
    }
    take_base(p, polynomial_node(g, &u, p->state), e);
}

/* A sum, or a function that is not looked into. */
static void take_whole(struct product *p, node n, node e)
{
    struct polynomial u;
    if (!polynomial_of(p->g, n, p->state, &u)) take_base(p, n, e);
    else if (u.c) take_quadratic(p, u, e);
    else if (u.b) take_affine(p, u, e);
    else take_constant(p, u.a, e);
}

/* --- Factors ------------------------------------------------------------ */

static void collect(struct product *p, node n, node e);

/* c base^e, where c must stay inside: its sign is not known. */
static void take_scaled(struct product *p, node c, node base, node e)
{
    take_whole(p, mul(p->g, c, base), e);
}

static void take_all(struct product *p, const struct product *inner, node e)
{
    struct graph *g = p->g;
    bool inside = sign_of(NULL, g, inner->constant) <= 0;
    if (!inside) take_constant(p, inner->constant, e);
    for (size_t i = 0; i < inner->factors; i++) {
        bool here = inside && is_one(g, inner->power[i]);
        if (here) take_scaled(p, inner->constant, inner->base[i], e);
        else take_base(p, inner->base[i], mul(g, inner->power[i], e));
        inside = inside && !here;
    }
    p->rate = tidy(g, add(g, p->rate, mul(g, inner->rate, e)));
}

/* u^e, where u must be positive: what u is made of is then taken as positive
 * too, with a constant of unknown sign put to one of the bases. The size |u| is
 * that of either sign; its map is that of a positive one. */
static void take_power(struct product *p, node u, node e, bool size)
{
    struct graph *g = p->g;
    struct product inner = {.g = g, .state = p->state, .visits = p->visits};
    inner.constant = num(g, 1.0);
    collect(&inner, u, inner.constant);
    if (size) inner.constant = f(g, OP_ABS, inner.constant);
    bool place = sign_of(NULL, g, inner.constant) > 0;
    for (size_t i = 0; i < inner.factors; i++)
        place = place || is_one(g, inner.power[i]);
    p->visits = inner.visits;
    p->failed = p->failed || inner.failed;
    if (place) take_all(p, &inner, e);
    else take_base(p, u, e);
}

/* exp(a + b z)^e = exp(a)^e exp(b e z). */
static bool take_exp(struct product *p, node n, node e)
{
    struct graph *g = p->g;
    struct polynomial u;
    if (!polynomial_of(g, graph_input(g, n, 0), p->state, &u) || u.c)
        return false;
    if (u.a) take_constant(p, f(g, OP_EXP, u.a), e);
    p->rate = tidy(g, add(g, p->rate, mul(g, u.b, e)));
    return true;
}

/* Products, quotients and signs to whole powers. */
static bool take_apart(struct product *p, node n, node e)
{
    struct graph *g = p->g;
    enum op op = graph_info(g, n)->op;
    if (!is_whole(g, e) || (op != OP_NEG && op != OP_MUL && op != OP_DIV))
        return false;
    if (op == OP_NEG && is_odd(g, e)) p->constant = f(g, OP_NEG, p->constant);
    collect(p, graph_input(g, n, 0), e);
    if (op != OP_NEG)
        collect(p, graph_input(g, n, 1), op == OP_MUL ? e : f(g, OP_NEG, e));
    return true;
}

/* n^e. */
static void collect(struct product *p, node n, node e)
{
    struct graph *g = p->g;
    struct node_info info = *graph_info(g, n);
    node x = info.inputs ? graph_input(g, n, 0) : 0;
    p->failed = p->failed || ++p->visits > VISITS;
    if (p->failed || g->failed) return;
    if (!of_state(g, n)) take_constant(p, n, e);
    else if (take_apart(p, n, e)) return;
    else if (info.op == OP_SQRT)
        take_power(p, x, mul(g, num(g, 0.5), e), false);
    else if (info.op == OP_ABS) take_power(p, x, e, true);
    else if (info.op == OP_POW && !of_state(g, graph_input(g, n, 1)))
        take_power(p, x, mul(g, graph_input(g, n, 1), e), false);
    else if (info.op != OP_EXP || !take_exp(p, n, e)) take_whole(p, n, e);
}

/* --- The whole ---------------------------------------------------------- */

bool noise_jumps(struct graph *g, node n)
{
    bool *part = GRAPH_NEW(g, bool, n + 1), found = false;
    if (part) graph_parts(g, n, part);
    for (node i = 0; part && !found && i <= n; i++) {
        enum op op = graph_info(g, i)->op;
        found = part[i] && !graph_info(g, i)->uniform &&
                (op == OP_SIGN || op == OP_FLOOR || op == OP_MOD ||
                 op_negation(op) != OPS);
    }
    mem_free(part);
    return found;
}

/* Whether every node between n and the state works by elements. */
static bool is_elementwise(struct graph *g, node n, node state)
{
    bool *wanted = GRAPH_NEW(g, bool, n + 1), good = wanted != NULL;
    if (wanted) wanted[n] = true;
    for (node i = n + 1; good && i-- > 0;) {
        enum op op = graph_info(g, i)->op;
        if (!wanted[i] || i == state || !of_state(g, i)) continue;
        good = OP_TABLE[op].arity || op == OP_FILL;
        for (size_t k = 0; k < graph_info(g, i)->inputs; k++)
            wanted[graph_input(g, i, k)] = true;
    }
    mem_free(wanted);
    return good;
}

bool product_of(struct graph *g, node factor, node state, struct product *p)
{
    node one = num(g, 1.0);
    *p = (struct product){.g = g, .state = state, .constant = one};
    if (!is_elementwise(g, factor, state)) return false;
    collect(p, factor, one);
    if (!p->failed) return !g->failed;
    *p = (struct product){.g = g, .state = state, .constant = one};
    take_base(p, factor, one);
    return !g->failed;
}

node product_shape(const struct product *p)
{
    struct graph *g = p->g;
    node shape = num(g, 1.0);
    /* In the order of the bases' numbers. */
    for (node last = 0;;) {
        size_t next = p->factors;
        for (size_t i = 0; i < p->factors; i++)
            if (p->base[i] > last &&
                (next == p->factors || p->base[i] < p->base[next]))
                next = i;
        if (next == p->factors) break;
        last = p->base[next];
        shape = mul(g, shape, power(g, last, p->power[next]));
    }
    if (!p->rate) return shape;
    return mul(g, shape, f(g, OP_EXP, mul(g, p->rate, p->state)));
}

bool lamperti_split(struct graph *g, node factor, node state, node *constant,
                    node *shape)
{
    struct product p;
    size_t rows = graph_info(g, state)->rows;
    if (!product_of(g, factor, state, &p)) return false;
    *constant = graph_fill(g, p.constant, rows, 1);
    *shape = graph_fill(g, product_shape(&p), rows, 1);
    return !g->failed;
}
