/* SPDX-License-Identifier: MIT */
/* The rank of a diffusion matrix, by elimination with numbers in the place of
 * its elements: numbers are themselves, and equal expressions get the same
 * random number. These are more freedom than the true matrix has, so its rank
 * is never above the one found: what is called singular is so. */
#include "lang/singular.h"

#include <math.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"

/* Expressions that are deeper are unknowns as a whole, for shared parts would
 * be walked again and again. */
enum { DEEPEST = 8 };

static double value_of(const struct graph *g, node a, size_t i, unsigned depth);

static double unknown(node a, size_t i)
{
    const struct random_key key = {
        .seed = 1, .purpose = RANDOM_PILOT, .item = a};
    double value;
    random_uniforms(&key, i, 1, 0, 1, &value);
    return 1.0 + value;
}

static double part_of_stack(const struct graph *g, node a, size_t i,
                            unsigned depth)
{
    size_t k = 0;
    while (i >= graph_size(g, graph_input(g, a, k)))
        i -= graph_size(g, graph_input(g, a, k++));
    return value_of(g, graph_input(g, a, k), i, depth);
}

/* Element i of a node. */
static double value_of(const struct graph *g, node a, size_t i, unsigned depth)
{
    const struct node_info *info = graph_info(g, a);
    if (info->op == OP_CONSTANT) return info->data[i];
    if (depth++ == DEEPEST || !info->inputs) return unknown(a, i);
    node x = graph_input(g, a, 0), y = graph_input(g, a, info->inputs - 1);
    size_t at = graph_size(g, x) == 1 ? 0 : i;
    size_t other = graph_size(g, y) == 1 ? 0 : i;
    switch (info->op) {
    case OP_FILL: return value_of(g, x, 0, depth);
    case OP_SLICE: return value_of(g, x, info->offset + i, depth);
    case OP_STACK: return part_of_stack(g, a, i, depth);
    case OP_NEG: return -value_of(g, x, at, depth);
    case OP_MUL:
        return value_of(g, x, at, depth) * value_of(g, y, other, depth);
    default: return unknown(a, i);
    }
}

bool element_is_zero(const struct graph *g, node a, size_t i)
{
    return value_of(g, a, i, 0) == 0.0;
}

/* --- The rank ------------------------------------------------------------- */

static double largest(size_t n, const double *row, size_t *at)
{
    *at = 0;
    for (size_t j = 1; j < n; j++)
        if (fabs(row[j]) > fabs(row[*at])) *at = j;
    return fabs(row[*at]);
}

/* Rows one after the other, with the largest of a row as its pivot; what
 * rounding leaves of a dependent one is far below its size before. */
static void eliminate(size_t dim, size_t n, double *A, size_t *pivot,
                      struct deficit *d)
{
    static const double ROUNDING = 1e-12;
    for (size_t i = 0; i < dim; i++) {
        double *row = A + i * n, size = largest(n, row, &pivot[i]);
        for (size_t k = 0; k < i; k++) {
            const double *by = A + k * n;
            double factor = row[pivot[k]] / by[pivot[k]];
            for (size_t j = 0; factor != 0.0 && j < n; j++)
                row[j] -= factor * by[j];
            row[pivot[k]] = 0.0;
        }
        if (largest(n, row, &pivot[i]) > ROUNDING * size) continue;
        *d = (struct deficit){.found = true, .row = i};
        return;
    }
}

int find_pivots(const struct graph *g, size_t rows, size_t columns,
                const node *element, size_t *pivot, struct deficit *d)
{
    double *A = NEW(double, rows *columns);
    size_t at;
    *d = (struct deficit){0};
    if (!A) return GSV_NO_MEMORY;
    for (size_t i = 0; i < rows * columns; i++)
        A[i] = value_of(g, element[i], 0, 0);
    for (size_t i = 0; !d->found && i < rows; i++)
        if (largest(columns, A + i * columns, &at) == 0.0)
            *d = (struct deficit){.found = true, .missing = true, .row = i};
    if (!d->found) eliminate(rows, columns, A, pivot, d);
    mem_free(A);
    return 0;
}

int find_deficit(const struct graph *g, size_t dim, size_t noises,
                 const node *element, struct deficit *d)
{
    size_t *pivot = NEW(size_t, dim);
    if (!pivot) return GSV_NO_MEMORY;
    int status = find_pivots(g, dim, noises, element, pivot, d);
    mem_free(pivot);
    return status;
}
