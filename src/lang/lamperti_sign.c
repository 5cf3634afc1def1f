/* SPDX-License-Identifier: MIT */
/* What is known of an expression's sign, from the intervals that its parts lie
 * in. Ends are taken as not met: a square, a root or a parameter above 0 is
 * positive. */
#include <math.h>

#include "graph/ops.h"
#include "lang/lamperti_parts.h"

enum { DEPTH = 16 };

struct interval {
    double low, high;
};

static const struct interval ANY = {-INFINITY, INFINITY};

/* NaN is what the rules of infinity leave open. */
static struct interval interval(double low, double high)
{
    return (struct interval){isnan(low) ? -INFINITY : low,
                             isnan(high) ? INFINITY : high};
}

static struct interval of_numbers(const struct graph *g, node n)
{
    const double *x = graph_info(g, n)->data;
    struct interval i = {x[0], x[0]};
    for (size_t k = 1; k < graph_size(g, n); k++)
        i = (struct interval){fmin(i.low, x[k]), fmax(i.high, x[k])};
    return i;
}

static struct interval of_param(const struct spec *spec, const struct graph *g,
                                node n)
{
    if (!spec) return ANY;
    const struct param_spec *p =
        &spec->param[spec_param_at(spec, graph_info(g, n)->offset)];
    bool low = p->bound == BOUND_ABOVE || p->bound == BOUND_BETWEEN;
    bool high = p->bound == BOUND_BELOW || p->bound == BOUND_BETWEEN;
    return interval(low ? p->low : NAN, high ? p->high : NAN);
}

/* 0 times anything is 0, an end that is infinite too. */
static double product(double a, double b)
{
    return a == 0.0 || b == 0.0 ? 0.0 : a * b;
}

static struct interval times(struct interval x, struct interval y)
{
    double a = product(x.low, y.low), b = product(x.low, y.high);
    double c = product(x.high, y.low), d = product(x.high, y.high);
    return interval(fmin(fmin(a, b), fmin(c, d)), fmax(fmax(a, b), fmax(c, d)));
}

static struct interval inverse(struct interval x)
{
    if (x.low < 0.0 && x.high > 0.0) return ANY;
    return interval(x.high == 0.0 ? -INFINITY : 1.0 / x.high,
                    x.low == 0.0 ? INFINITY : 1.0 / x.low);
}

/* |x|, and through it x^2. */
static struct interval size_of(struct interval x)
{
    double low = fmax(fmax(x.low, -x.high), 0.0);
    return (struct interval){low, fmax(fabs(x.low), fabs(x.high))};
}

/* Of one number, by the row's image; shapes leave everything as it is. */
static struct interval of_unary(enum op op, struct interval x)
{
    const struct op_row *row = &OP_TABLE[op];
    if (!row->arity) return op == OP_FILL || op == OP_SLICE ? x : ANY;
    struct interval image = {row->image.low, row->image.high};
    if (row->image.follows == IMAGE_NONE) return image;
    if (row->image.follows == IMAGE_FOLDS) return size_of(x);
    bool falls = row->image.follows == IMAGE_FALLS;
    double low = op_fold(op, falls ? x.high : x.low, 0.0);
    double high = op_fold(op, falls ? x.low : x.high, 0.0);
    return (struct interval){isnan(low) ? image.low : low,
                             isnan(high) ? image.high : high};
}

/* Of two numbers: of_... as the rows of op_list.h say. */
#define OF(NAME, ...)                                                          \
    static struct interval of_##NAME(struct interval x, struct interval y) {   \
        (void)x, (void)y;                                                      \
        return __VA_ARGS__;                                                    \
    }

OF(sum, interval(x.low + y.low, x.high + y.high))
OF(difference, interval(x.low - y.high, x.high - y.low))
OF(times, times(x, y))
OF(quotient, times(x, inverse(y)))
OF(min, interval(fmin(x.low, y.low), fmin(x.high, y.high)))
OF(max, interval(fmax(x.low, y.low), fmax(x.high, y.high)))
OF(positive, interval(0.0, INFINITY))
OF(share, interval(0.0, 1.0))
OF(any, ANY)

static struct interval (*const OF_BINARY[OPS])(struct interval x,
                                               struct interval y) = {
#define INTERVAL_OF(ID, NAME, WORD, WHERE, IMAGE, ...) [OP_##ID] = of_##IMAGE,
    BINARY_OPS(INTERVAL_OF)};

static struct interval within(const struct spec *spec, const struct graph *g,
                              node n, int depth)
{
    const struct node_info *i = graph_info(g, n);
    if (i->op == OP_CONSTANT) return of_numbers(g, n);
    if (i->op == OP_PARAM) return of_param(spec, g, n);
    if (!depth || i->inputs < 1 || i->inputs > 2) return ANY;
    node a = graph_input(g, n, 0);
    struct interval x = within(spec, g, a, depth - 1);
    if (i->inputs == 1) return of_unary(i->op, x);
    if (i->op == OP_CHOOSE) return x;
    if (OP_TABLE[i->op].arity != 2) return ANY;
    node b = graph_input(g, n, 1);
    if (i->op == OP_MUL && a == b) return times(size_of(x), size_of(x));
    return OF_BINARY[i->op](x, a == b ? x : within(spec, g, b, depth - 1));
}

int sign_of(const struct spec *spec, const struct graph *g, node n)
{
    struct interval i = within(spec, g, n, DEPTH);
    return i.low >= 0.0 && i.high > 0.0   ? 1
           : i.low < 0.0 && i.high <= 0.0 ? -1
                                          : 0;
}
