/* SPDX-License-Identifier: MIT */
/* Elements and slices: x[2], A[1,2], x[2:4], A[2,:], A[1:2, 1:3]. */
#include <math.h>

#include "base/error.h"
#include "base/memory.h"
#include "lang/scope.h"

/* Elements first, first + 1, ... along rows or columns; a range keeps its
 * direction, also where it has one element. */
struct range {
    size_t first, count;
    bool kept;
};

static int index_of(struct builder *b, const struct expr *e, size_t most,
                    size_t *index)
{
    double value;
    char text[80];
    if (evaluate_number(b, e, &value)) return GSV_BAD_INPUT;
    if (value != floor(value))
        return complain(b->source, expr_span(e),
                        "the index %g is not a whole number%s", value,
                        index_text(b, text));
    if (most == 1 && value != 1.0)
        return complain(b->source, expr_span(e),
                        "the index %g is out of range%s; there is one element, "
                        "number 1",
                        value, index_text(b, text));
    if (!(value >= 1.0 && value <= (double)most))
        return complain(b->source, expr_span(e),
                        "the index %g is out of range%s; the elements are "
                        "numbered from 1 to %zu",
                        value, index_text(b, text), most);
    *index = (size_t)value - 1;
    return 0;
}

static int range_of(struct builder *b, const struct expr *e, size_t most,
                    struct range *r)
{
    size_t last = most - 1;
    char text[80];
    *r = (struct range){0, 1, e->kind == EXPR_RANGE};
    if (!r->kept) return index_of(b, e, most, &r->first);
    const struct expr *end = e->kid[1];
    bool open = end->kind == EXPR_RANGE && !end->kids;
    int status = index_of(b, e->kid[0], most, &r->first);
    if (!status && !open) status = index_of(b, end, most, &last);
    if (status) return status;
    if (last < r->first)
        return complain(b->source, expr_span(e),
                        "the range %zu:%zu is empty%s; write the first element "
                        "and then the last",
                        r->first + 1, last + 1, index_text(b, text));
    r->count = last - r->first + 1;
    return 0;
}

/* How many indices an element has: a matrix may have a single column. */
static size_t rank_of(const struct builder *b, const struct expr *e, node a)
{
    const struct symbol *s =
        e->kind == EXPR_NAME ? scope_find(b, e->name) : NULL;
    bool matrix = graph_info(b->spec->graph, a)->columns > 1;
    return matrix || (s && s->rank == 2) ? 2 : 1;
}

static int ranges_of(struct builder *b, const struct expr *e, node a,
                     struct range *row, struct range *column)
{
    const struct graph *g = b->spec->graph;
    char text[48];
    struct node_info i = *graph_info(g, a);
    size_t rank = rank_of(b, e->kid[0], a);
    if (e->kids - 1 != rank)
        return complain(b->source, expr_span(e),
                        "%zu %s given, but this is %s and takes %zu",
                        e->kids - 1, e->kids == 2 ? "index is" : "indices are",
                        shape_text(g, a, text), rank);
    *column = (struct range){0, 1, false};
    int status = range_of(b, e->kid[1], i.rows, row);
    if (!status && rank == 2)
        status = range_of(b, e->kid[2], i.columns, column);
    return status;
}

int element_number(struct builder *b, const struct expr *e, node a, double *at)
{
    struct range row, column;
    int status = ranges_of(b, e, a, &row, &column);
    if (status) return status;
    size_t columns = graph_info(b->spec->graph, a)->columns;
    *at = (double)(row.first * columns + column.first);
    return 0;
}

static bool is_column(const struct builder *b, const struct expr *e)
{
    const struct symbol *s =
        e->kind == EXPR_NAME ? scope_find(b, e->name) : NULL;
    return s && s->kind == SYMBOL_COLUMN;
}

int evaluate_index(struct builder *b, const struct expr *e, node *result)
{
    struct graph *g = b->spec->graph;
    node a;
    struct range row, column;
    if (evaluate(b, e->kid[0], &a)) return GSV_BAD_INPUT;
    const struct symbol *y =
        e->kid[0]->kind == EXPR_NAME ? scope_find(b, e->kid[0]->name) : NULL;
    if (y && y->category) {
        *result = a;
        return category_index(b, e, y);
    }
    /* x[3] of the data's columns is all three: checked by state.c. */
    if (is_column(b, e->kid[0])) {
        *result = a;
        return 0;
    }
    int status = ranges_of(b, e, a, &row, &column);
    if (status) return status;
    size_t n = row.count * column.count, columns = graph_info(g, a)->columns;
    double *at = NEW(double, n);
    if (!at) return GSV_NO_MEMORY;
    for (size_t k = 0; k < n; k++) {
        size_t r = row.first + k / column.count;
        at[k] = (double)(r * columns + column.first + k % column.count);
    }
    bool matrix = row.kept && column.kept;
    *result = graph_gather(g, a, graph_constant(g, n, 1, at),
                           matrix ? row.count : n, matrix ? column.count : 1);
    mem_free(at);
    return 0;
}
