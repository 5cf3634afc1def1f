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

const char *const RANGE_WORDS[LAW_RANGES] = {
    [RANGE_ANY] = "a finite number",
    [RANGE_POSITIVE] = "positive",
    [RANGE_PROBABILITY] = "from 0 to 1",
    [RANGE_WEIGHT] = "0 or more",
    [RANGE_INSIDE] = "above 0 and below 1",
    [RANGE_WHOLE] = "a whole number from 0 on",
    [RANGE_LABEL] = "a whole number from 1 on",
};

bool law_allows(enum law_range range, double value)
{
    if (!isfinite(value)) return false;
    switch (range) {
    case RANGE_ANY: break;
    case RANGE_POSITIVE: return value > 0.0;
    case RANGE_PROBABILITY: return value >= 0.0 && value <= 1.0;
    case RANGE_WEIGHT: return value >= 0.0;
    case RANGE_INSIDE: return value > 0.0 && value < 1.0;
    case RANGE_WHOLE: return value >= 0.0 && value == floor(value);
    case RANGE_LABEL: return value >= 1.0 && value == floor(value);
    }
    return true;
}

bool law_is_continuous(enum law law)
{
    enum law_range value = LAW_TABLE[law].value;
    return value != RANGE_WHOLE && value != RANGE_LABEL;
}

const char ZERO_INFLATED[] = "zeroinflated";

bool law_can_be_inflated(enum law law)
{
    return LAW_TABLE[law].value == RANGE_WHOLE && !LAW_TABLE[law].together;
}

size_t law_numbers(const struct graph *g, const struct obs_spec *o)
{
    size_t n = 0;
    for (size_t i = 0; i < LAW_TABLE[o->law].arguments; i++)
        n += graph_size(g, o->argument[i]);
    return n;
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
                               const node *value)

/* -log s - log(2 pi)/2 - ((y - m)/s)^2 / 2 */
DENSITY(normal)
{
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
DENSITY(poisson)
{
    node m = o->argument[0], n = value[0];
    return sub(g, sub(g, mul(g, n, log_of(g, m)), m), log_factorial(g, n));
}

/* lgamma(n + r) - lgamma(r) - log n! - r log(1 + m/r) + n log(m / (r + m)) */
DENSITY(negbin)
{
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
    const node p = o->argument[0], *k = value;
    size_t n = o->values;
    node count = graph_stack(g, n, k, n, 1);
    node each =
        sub(g, mul(g, count, log_shares(g, p)), log_factorial(g, count));
    return add(g, log_factorial(g, graph_sum(g, count)), graph_sum(g, each));
}

/* That of the logarithm, less log y. */
DENSITY(lognormal)
{
    node log_y = f(g, OP_LOG, value[0]);
    return sub(g, normal_density(g, o, &log_y), log_y);
}

/* k (log k + log y - log m - y/m) - log y - lgamma(k) */
DENSITY(gamma)
{
    node m = o->argument[0], k = o->argument[1], y = value[0];
    node log_y = f(g, OP_LOG, y);
    node each = sub(g, add(g, log_of(g, k), log_y), log_of(g, m));
    each = mul(g, k, sub(g, each, over(g, y, m)));
    return sub(g, sub(g, each, log_y), f(g, OP_LGAMMA, k));
}

/* With a = m s and b = (1 - m) s,
 *     lgamma(s) - lgamma(a) - lgamma(b) + (a - 1) log y + (b - 1) log(1 - y);
 * lgamma(a) is lgamma(a + 1) - log a, so that small ones are exact. A y of 1
 * stands for a missing value: log(1 - y) is finite there. */
DENSITY(beta)
{
    node m = o->argument[0], s = o->argument[1], y = value[0];
    node one = num(g, 1.0), a = mul(g, m, s), b = sub(g, s, a);
    node constant = sub(g, log_factorial(g, s), log_factorial(g, a));
    constant = sub(g, constant, log_factorial(g, b));
    constant = add(g, constant, add(g, log_of(g, m), log_rest(g, m)));
    constant = add(g, constant, log_of(g, s));
    node left = mul(g, sub(g, a, one), f(g, OP_LOG, y));
    node inside = op(g, OP_MIN, y, num(g, 1.0 - 0.5 * DBL_EPSILON));
    node log_rest_y = f(g, OP_LOG1P, f(g, OP_NEG, inside));
    node right = mul(g, sub(g, b, one), log_rest_y);
    return add(g, constant, add(g, left, right));
}

/* lgamma(a + k) - lgamma(a) where log a is given: 0 at k = 0, whatever a is. */
static node log_rising(struct graph *g, node a, node log_a, node k)
{
    node some = op(g, OP_MIN, k, num(g, 1.0)), last = add(g, a, k);
    node first = mul(g, some, sub(g, log_a, log_above(g, last)));
    return add(g, sub(g, log_factorial(g, last), log_factorial(g, a)), first);
}

/* With a = p s and b = (1 - p) s, log n! - log k! - log (n - k)!
 *     + lgamma(a + k)/lgamma(a) and so on, as logarithms. */
DENSITY(betabinomial)
{
    node k = value[0], n = o->argument[0], p = o->argument[1];
    node s = o->argument[2], a = mul(g, p, s), b = sub(g, s, a);
    node log_s = log_of(g, s), rest = sub(g, n, k);
    node ways = sub(g, log_factorial(g, n), log_factorial(g, k));
    ways = sub(g, ways, log_factorial(g, rest));
    node hits = log_rising(g, a, add(g, log_of(g, p), log_s), k);
    node misses = log_rising(g, b, add(g, log_rest(g, p), log_s), rest);
    node all = log_rising(g, s, log_s, n);
    return sub(g, add(g, ways, add(g, hits, misses)), all);
}

/* The element of a vector that a label is the number of, from 1 on. */
static node element_at(struct graph *g, node v, node label)
{
    size_t n = graph_size(g, v);
    node sum = num(g, 0.0);
    for (size_t i = 0; i < n; i++) {
        node number = num(g, (double)(i + 1));
        node is = mul(g, op(g, OP_AT_LEAST, label, number),
                      op(g, OP_AT_MOST, label, number));
        sum = add(g, sum, mul(g, is, graph_slice(g, v, i, 1, 1)));
    }
    return sum;
}

DENSITY(categorical)
{
    return element_at(g, log_shares(g, o->argument[0]), value[0]);
}

/* log(F(u) - F(l)) of the logistic law between two cuts is
 *     log F(u) + log(1 - F(l)) + log(1 - exp(l - u)). */
DENSITY(ordered)
{
    node cut = o->argument[1], none = num(g, 0.0);
    size_t n = graph_size(g, cut);
    node away = sub(g, cut, o->argument[0]);
    node below = f(g, OP_NEG, f(g, OP_SOFTPLUS, f(g, OP_NEG, away)));
    node above = f(g, OP_NEG, f(g, OP_SOFTPLUS, away));
    const node upper[] = {below, none}, lower[] = {none, above};
    node log_p = add(g, graph_below(g, 2, upper), graph_below(g, 2, lower));
    if (n > 1) {
        node gap = sub(g, graph_slice(g, cut, 0, n - 1, 1),
                       graph_slice(g, cut, 1, n - 1, 1));
        node inner[] = {none, f(g, OP_NEG, f(g, OP_EXPM1, gap)), none};
        inner[1] = log_above(g, inner[1]);
        log_p = add(g, log_p, graph_below(g, 3, inner));
    }
    return element_at(g, log_p, value[0]);
}

/* At 0 log(p + (1 - p) f(0)), elsewhere log(1 - p) + log f. */
node law_density(struct graph *g, const struct obs_spec *o, const node *value)
{
    node inner = LAW_TABLE[o->law].density(g, o, value);
    if (!o->zero) return inner;
    node drawn = add(g, log_rest(g, o->zero), inner);
    node is_zero = op(g, OP_AT_MOST, value[0], num(g, 0.0));
    node more = f(g, OP_SOFTPLUS, sub(g, log_of(g, o->zero), drawn));
    return add(g, drawn, mul(g, is_zero, more));
}

/* Both sides of the condition are finite, so that neither spoils the gradient.
 */
node law_density_at(struct graph *g, enum law law, const node *argument, node z)
{
    const struct law_row *row = &LAW_TABLE[law];
    struct obs_spec o = {.law = law, .values = 1};
    node zero = num(g, 0.0), inside = op(g, OP_GREATER, z, zero);
    memcpy(o.argument, argument, sizeof o.argument);
    if (row->value == RANGE_ANY) return row->density(g, &o, &z);
    if (row->value == RANGE_INSIDE)
        inside = mul(g, inside, op(g, OP_LESS, z, num(g, 1.0)));
    node guarded = op(g, OP_GUARD, inside, z);
    node outside = sub(g, num(g, 1.0), inside);
    return add(g, op(g, OP_PICK, inside, row->density(g, &o, &guarded)),
               op(g, OP_PICK, outside, num(g, -INFINITY)));
}

/* --- Moments -------------------------------------------------------------- */

static void normal_moments(struct graph *g, const node *a, node *mean, node *sd)
{
    (void)g;
    *mean = a[0];
    *sd = a[1];
}

/* s sqrt(nu / (nu - 2)). Below 2.1 degrees of freedom, where the variance grows
 * without bounds, the deviation is that of 2.1. */
static void student_moments(struct graph *g, const node *a, node *mean,
                            node *sd)
{
    node nu = op(g, OP_MAX, a[2], num(g, 2.1));
    *mean = a[0];
    *sd = mul(g, a[1], f(g, OP_SQRT, over(g, nu, sub(g, nu, num(g, 2.0)))));
}

/* With the logarithm's m and s: exp(m + s^2/2), and this sqrt(exp(s^2) - 1). */
static void lognormal_moments(struct graph *g, const node *a, node *mean,
                              node *sd)
{
    node square = mul(g, a[1], a[1]);
    *mean = f(g, OP_EXP, add(g, a[0], mul(g, num(g, 0.5), square)));
    *sd = mul(g, *mean, f(g, OP_SQRT, f(g, OP_EXPM1, square)));
}

/* m / sqrt(shape) */
static void gamma_moments(struct graph *g, const node *a, node *mean, node *sd)
{
    *mean = a[0];
    *sd = over(g, a[0], f(g, OP_SQRT, a[1]));
}

/* sqrt(m (1 - m) / (size + 1)) */
static void beta_moments(struct graph *g, const node *a, node *mean, node *sd)
{
    node one = num(g, 1.0), spread = mul(g, a[0], sub(g, one, a[0]));
    *mean = a[0];
    *sd = f(g, OP_SQRT, over(g, spread, add(g, a[1], one)));
}

/* --- Draws ---------------------------------------------------------------- */

static bool is_width(double s)
{
    return s >= 0.0 && isfinite(s);
}

static bool is_size(double s)
{
    return s > 0.0 && isfinite(s);
}

static bool are_shares(size_t n, const double *p)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        if (!(p[i] >= 0.0)) return false;
        sum += p[i];
    }
    return is_size(sum);
}

static bool are_rising(size_t n, const double *cut)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(cut[i]) || (i && cut[i] < cut[i - 1])) return false;
    return true;
}

/* 1 + the number of cuts below a logistic draw around the location. */
static double ordered_label(struct sampler *s, size_t n, const double *a)
{
    double u = sampler_uniform(s), label = 1.0;
    double x = a[0] + log(u / (1.0 - u));
    for (size_t i = 1; i < n; i++)
        label += a[i] < x;
    return label;
}

/* Whether the law has the arguments a, n numbers, and a draw from it. */
#define LAW(NAME, LAWFUL, DRAW)                                                \
    static bool NAME##_lawful(size_t n, const double *a)                       \
    {                                                                          \
        (void)n;                                                               \
        return LAWFUL;                                                         \
    }                                                                          \
    static double NAME##_draw(struct sampler *s, size_t n, const double *a)    \
    {                                                                          \
        (void)n;                                                               \
        return DRAW;                                                           \
    }

LAW(normal, isfinite(a[0]) && is_width(a[1]), a[0] + a[1] * sampler_normal(s))
LAW(student, normal_lawful(n, a) && a[2] > 0.0,
    a[0] + a[1] * sampler_student(s, a[2]))
LAW(lognormal, normal_lawful(n, a),
    fmax(exp(a[0] + a[1] * sampler_normal(s)), DBL_MIN))
LAW(gamma, is_size(a[0]) && is_size(a[1]),
    fmax(a[0] * (sampler_gamma(s, a[1]) / a[1]), DBL_MIN))
LAW(beta, a[0] > 0.0 && a[0] < 1.0 && is_size(a[1]),
    sampler_beta(s, a[0] * a[1], (1.0 - a[0]) * a[1]))
LAW(poisson, is_width(a[0]), sampler_poisson(s, a[0]))
LAW(negbin, is_width(a[0]) && is_size(a[1]), sampler_negbin(s, a[0], a[1]))
LAW(binomial, law_allows(RANGE_WHOLE, a[0]) && a[1] >= 0.0 && a[1] <= 1.0,
    sampler_binomial(s, a[0], a[1]))
LAW(betabinomial, binomial_lawful(n, a) && is_size(a[2]),
    sampler_betabinomial(s, a[0], a[1], a[2]))
LAW(categorical, are_shares(n, a), sampler_category(s, n, a))
LAW(ordered, isfinite(a[0]) && are_rising(n - 1, a + 1), ordered_label(s, n, a))

double law_draw(const struct obs_spec *o, struct sampler *s, double p, size_t n,
                const double *a)
{
    if (o->zero && sampler_uniform(s) < p) return 0.0;
    return LAW_TABLE[o->law].draw(s, n, a);
}

/* --- The table ------------------------------------------------------------ */

#define DRAWN(NAME)                                                            \
    .density = NAME##_density, .draw = NAME##_draw, .lawful = NAME##_lawful
#define LAW_ROW(ID, NAME, ...) [LAW_##ID] = {#NAME, __VA_ARGS__},

const struct law_row LAW_TABLE[LAW_COUNT] = {LAW_ROWS(LAW_ROW)};
