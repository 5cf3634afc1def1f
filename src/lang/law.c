/* SPDX-License-Identifier: MIT */
/* Log densities as expressions. At the edge of what a law allows (a mean of 0,
 * a probability of 0 or 1) they are finite where the density is positive, for 0
 * log 0 is 0; where an argument is none of the law's they are NaN. */
#include "lang/law.h"
#include "graph/words.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/constant.h"

size_t law_find(const char *name)
{
    size_t law = 0;
    while (law < LAW_COUNT && strcmp(LAW_TABLE[law].name, name))
        law++;
    return law;
}

bool law_allows(enum law_range range, double value)
{
    if (!isfinite(value)) return false;
    switch (range) {
    case RANGE_ANY: break;
    case RANGE_POSITIVE: return value > 0.0;
    case RANGE_PROBABILITY: return value >= 0.0 && value <= 1.0;
    case RANGE_WHOLE: return value >= 0.0 && value == floor(value);
    }
    return true;
}

size_t law_given(const struct obs_spec *o)
{
    return LAW_TABLE[o->law].trials ? o->values - 1 : 0;
}

/* --- Short words for the formulas below ---------------------------------- */

/* log a!, as lgamma(a + 1). */
static node log_factorial(struct graph *g, node a)
{
    return f(g, OP_LGAMMA, add(g, a, num(g, 1.0)));
}

/* --- Logarithms ----------------------------------------------------------- */

/* Whether a is op(x), or elements of it. */
static bool is_of(struct graph *g, node a, enum op op, node *x)
{
    struct node_info i = *graph_info(g, a);
    node whole = i.op == OP_SLICE ? graph_input(g, a, 0) : a;
    if (graph_info(g, whole)->op != op) return false;
    *x = graph_input(g, whole, 0);
    if (i.op == OP_SLICE) *x = graph_slice(g, *x, i.offset, i.rows, i.columns);
    return true;
}

/* log(a + the least number): of a itself but at 0, where it is finite. */
static node log_above(struct graph *g, node a)
{
    return f(g, OP_LOG, add(g, a, num(g, DBL_MIN)));
}

/* log a. Links are undone: log(exp(l)) is l, however small or large. */
static node log_of(struct graph *g, node a)
{
    node x;
    if (is_of(g, a, OP_EXP, &x)) return x;
    if (is_of(g, a, OP_SIGMOID, &x))
        return f(g, OP_NEG, f(g, OP_SOFTPLUS, f(g, OP_NEG, x)));
    return log_above(g, a);
}

/* log(1 - p). */
static node log_rest(struct graph *g, node p)
{
    node x;
    if (is_of(g, p, OP_SIGMOID, &x)) return f(g, OP_NEG, f(g, OP_SOFTPLUS, x));
    return log_above(g, sub(g, num(g, 1.0), p));
}

/* log(p_i / sum p) of all elements; of a softmax from what it was made of. */
static node log_shares(struct graph *g, node p)
{
    size_t n = graph_size(g, p);
    node v;
    if (g->failed || graph_info(g, p)->op != OP_SOFTMAX)
        return sub(g, log_above(g, p), log_above(g, graph_sum(g, p)));
    v = graph_input(g, p, 0);
    node most = graph_slice(g, v, 0, 1, 1);
    for (size_t i = 1; i < n; i++)
        most = graph_binary(g, OP_MAX, most, graph_slice(g, v, i, 1, 1));
    v = sub(g, v, f(g, OP_STOP, most));
    return sub(g, v, f(g, OP_LOG, graph_sum(g, f(g, OP_EXP, v))));
}

/* --- Densities ------------------------------------------------------------ */

#define DENSITY(NAME)                                                          \
    static node NAME##_density(struct graph *g, const struct obs_spec *o,      \
                               const node *value, node integral)

/* -log s - log(2 pi)/2 - ((y - m)/s)^2 / 2 */
DENSITY(normal)
{
    (void)integral;
    const node *a = o->argument, y = value[0];
    node r = over(g, sub(g, y, a[0]), a[1]);
    node constant = num(g, -0.5 * log(2.0 * PI));
    node rest = mul(g, num(g, 0.5), mul(g, r, r));
    return sub(g, sub(g, constant, log_of(g, a[1])), rest);
}

/* lgamma((nu + 1)/2) - lgamma(nu/2) - log(nu pi)/2 - log s
 *     - (nu + 1)/2 log(1 + ((y - m)/s)^2 / nu) */
DENSITY(student)
{
    (void)integral;
    const node *a = o->argument, y = value[0];
    node nu = a[2], half = num(g, 0.5);
    node r = over(g, sub(g, y, a[0]), a[1]);
    node more = mul(g, half, add(g, nu, num(g, 1.0)));
    node constant =
        sub(g, f(g, OP_LGAMMA, more), f(g, OP_LGAMMA, mul(g, half, nu)));
    node width = mul(g, half, add(g, log_of(g, nu), num(g, log(PI))));
    node tail = mul(g, more, f(g, OP_LOG1P, over(g, mul(g, r, r), nu)));
    constant = sub(g, constant, add(g, width, log_of(g, a[1])));
    return sub(g, constant, tail);
}

/* n log m - m - log n! */
static node count_density(struct graph *g, node m, node n)
{
    return sub(g, sub(g, mul(g, n, log_of(g, m)), m), log_factorial(g, n));
}

DENSITY(poisson)
{
    (void)integral;
    return count_density(g, o->argument[0], value[0]);
}

DENSITY(poisson_process)
{
    (void)o;
    return count_density(g, integral, value[0]);
}

/* lgamma(n + r) - lgamma(r) - log n! - r log(1 + m/r) + n log(m / (r + m)) */
DENSITY(negbin)
{
    (void)integral;
    const node *a = o->argument, n = value[0];
    node m = a[0], r = a[1];
    node ways = sub(g, f(g, OP_LGAMMA, add(g, n, r)), f(g, OP_LGAMMA, r));
    node none = mul(g, r, f(g, OP_LOG1P, over(g, m, r)));
    node each = sub(g, log_of(g, m), f(g, OP_LOG, add(g, r, m)));
    ways = sub(g, ways, log_factorial(g, n));
    return add(g, sub(g, ways, none), mul(g, n, each));
}

/* log n! - log k! - log (n - k)! + k log p + (n - k) log(1 - p) */
DENSITY(binomial)
{
    (void)integral;
    const node *a = o->argument, k = value[0];
    node n = a[0], p = a[1], rest = sub(g, n, k);
    node ways = sub(g, log_factorial(g, n), log_factorial(g, k));
    ways = sub(g, ways, log_factorial(g, rest));
    node hits = mul(g, k, log_of(g, p)), misses = mul(g, rest, log_rest(g, p));
    return add(g, ways, add(g, hits, misses));
}

/* log (sum k)! + sum over i of (k_i log(p_i / sum p) - log k_i!) */
DENSITY(multinomial)
{
    (void)integral;
    const node p = o->argument[0], *k = value;
    size_t n = o->values;
    node count = graph_stack(g, n, k, n, 1);
    node each =
        sub(g, mul(g, count, log_shares(g, p)), log_factorial(g, count));
    return add(g, log_factorial(g, graph_sum(g, count)), graph_sum(g, each));
}

/* --- Draws ---------------------------------------------------------------- */

static bool is_width(double s)
{
    return s >= 0.0 && isfinite(s);
}

/* Whether the law has the arguments a, and a draw from it. */
#define LAW(NAME, LAWFUL, DRAW)                                                \
    static bool NAME##_lawful(const double *a)                                 \
    {                                                                          \
        return LAWFUL;                                                         \
    }                                                                          \
    static double NAME##_draw(struct sampler *s, const double *a)              \
    {                                                                          \
        return DRAW;                                                           \
    }

LAW(normal, isfinite(a[0]) && is_width(a[1]), a[0] + a[1] * sampler_normal(s))
LAW(student, normal_lawful(a) && a[2] > 0.0,
    a[0] + a[1] * sampler_student(s, a[2]))
LAW(poisson, is_width(a[0]), sampler_poisson(s, a[0]))
LAW(negbin, is_width(a[0]) && a[1] > 0.0 && isfinite(a[1]),
    sampler_negbin(s, a[0], a[1]))
LAW(binomial, law_allows(RANGE_WHOLE, a[0]) && a[1] >= 0.0 && a[1] <= 1.0,
    sampler_binomial(s, a[0], a[1]))

/* --- The table ------------------------------------------------------------ */

#define DRAWN(NAME)                                                            \
    .density = NAME##_density, .draw = NAME##_draw, .lawful = NAME##_lawful
#define LAW_ROW(ID, NAME, ...) [LAW_##ID] = {#NAME, __VA_ARGS__},

const struct law_row LAW_TABLE[LAW_COUNT] = {LAW_ROWS(LAW_ROW)};
