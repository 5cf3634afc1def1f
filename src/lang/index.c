/* SPDX-License-Identifier: MIT */
/* Indices that run: sum(j in 1:10, ...) and dx[i] = .... All points that the
 * indices of a place run over are evaluated at once: an index is a vector of
 * constants, an element x[j] a vector of elements, and operators and functions
 * that go element by element work on them as on any vector. What does not go
 * element by element is evaluated point by point, and stacked. Either way the
 * text means the same. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "lang/scope.h"

enum { MOST_INDICES = 8, MOST_POINTS = 1000000 };

/* Points, and the numbers that indices have there. */
struct space {
    size_t points, indices;
    const char *name[MOST_INDICES];
    const double *value[MOST_INDICES]; /* (points) each */
    double *memory;
};

/* --- Names ---------------------------------------------------------------- */

static bool is_index(const struct space *s, const char *name, size_t *k)
{
    for (*k = 0; s && *k < s->indices; ++*k)
        if (!strcmp(s->name[*k], name)) return true;
    return false;
}

static bool mentions(const struct space *s, const struct expr *e)
{
    size_t k;
    if (e->kind == EXPR_NAME && is_index(s, e->name, &k)) return true;
    for (size_t i = 0; i < e->kids; i++)
        if (mentions(s, e->kid[i])) return true;
    return false;
}

bool evaluate_running(const struct builder *b, const char *name, node *result)
{
    size_t k;
    if (!is_index(b->space, name, &k)) return false;
    *result =
        graph_constant(b->spec->graph, b->space->points, 1, b->space->value[k]);
    return true;
}

bool is_over_points(const struct builder *b)
{
    return b->space && b->space->points > 1;
}

const char *index_text(const struct builder *b, char room[80])
{
    const struct space *s = b->space;
    room[0] = 0;
    for (size_t k = 0; s && s->points == 1 && k < s->indices; k++) {
        size_t n = strlen(room);
        snprintf(room + n, 80 - n, "%s%.20s = %g", k ? ", " : " for ",
                 s->name[k], s->value[k][0]);
    }
    return room;
}

static int check_name(const struct builder *b, const char *name,
                      struct place place)
{
    const struct symbol *old = scope_find(b, name);
    size_t k;
    if (is_index(b->space, name, &k))
        return complain(b->source, place,
                        "'%s' is an index here already; give this one another "
                        "name",
                        name);
    if (old)
        return complain(b->source, place,
                        "the index '%s' would hide what line %zu declares; "
                        "give it another name",
                        name, old->place.line);
    return scope_check(b, name, place);
}

/* --- Spaces ----------------------------------------------------------------
 */

/* Every point of the outer space `from`, or one where there is none, with
 * numbers low, low + 1, ... of a further index. */
static int space_extend(const struct space *from, const char *name, double low,
                        size_t n, struct space *s)
{
    size_t outer = from ? from->points : 1, k = from ? from->indices : 0;
    *s = (struct space){.points = outer * n, .indices = k + 1};
    double *to = s->memory = NEW(double, s->points * s->indices);
    if (!to) return GSV_NO_MEMORY;
    for (size_t i = 0; i <= k; i++, to += s->points) {
        s->name[i] = i < k ? from->name[i] : name;
        s->value[i] = to;
        for (size_t p = 0; p < s->points; p++)
            to[p] = i < k ? from->value[i][p / n] : low + (double)(p % n);
    }
    return 0;
}

/* The points of a space at which the mask is `wanted`; their numbers to at. */
static int space_part(const struct space *from, const double *mask, bool wanted,
                      struct space *s, double *at)
{
    *s = *from;
    s->points = 0;
    s->memory = NEW(double, from->points * from->indices);
    if (!s->memory) return GSV_NO_MEMORY;
    for (size_t p = 0; p < from->points; p++) {
        if ((mask[p] != 0.0) != wanted) continue;
        for (size_t i = 0; i < s->indices; i++)
            s->memory[i * from->points + s->points] = from->value[i][p];
        at[s->points++] = (double)p;
    }
    for (size_t i = 0; i < s->indices; i++)
        s->value[i] = s->memory + i * from->points;
    return 0;
}

static struct space space_point(const struct space *from, size_t p)
{
    struct space s = *from;
    s.points = 1;
    for (size_t i = 0; i < s.indices; i++)
        s.value[i] += p;
    return s;
}

static int evaluate_in(struct builder *b, const struct space *s,
                       const struct expr *e, node *result)
{
    const struct space *old = b->space;
    b->space = s;
    int status = evaluate(b, e, result);
    b->space = old;
    return status;
}

static int need_number(struct builder *b, const struct expr *e, node a)
{
    char text[48];
    if (graph_size(b->spec->graph, a) == 1) return 0;
    return complain(b->source, expr_span(e),
                    "with the index '%s' this must be one number, but it is "
                    "%s; use an element of it, such as '[%s]'",
                    b->space->name[b->space->indices - 1],
                    shape_text(b->spec->graph, a, text),
                    b->space->name[b->space->indices - 1]);
}

/* --- Point by point --------------------------------------------------------
 */

static int one_by_one(struct builder *b, const struct expr *e, node *result)
{
    const struct space *s = b->space;
    node *part = NEW(node, s->points);
    int status = part ? 0 : GSV_NO_MEMORY;
    for (size_t p = 0; !status && p < s->points; p++) {
        struct space point = space_point(s, p);
        status = evaluate_in(b, &point, e, &part[p]);
        if (!status) status = need_number(b, e, part[p]);
    }
    if (!status)
        *result = graph_stack(b->spec->graph, s->points, part, s->points, 1);
    mem_free(part);
    return status;
}

/* Whether an expression is a number at every point; then they are in value. */
static int known_numbers(struct builder *b, const struct expr *e, double *value,
                         bool *known)
{
    const struct space *s = b->space;
    *known = true;
    for (size_t p = 0; *known && p < s->points; p++) {
        struct space point = space_point(s, p);
        node a;
        int status = evaluate_in(b, &point, e, &a);
        if (status) return status;
        *known = graph_is_number(b->spec->graph, a, &value[p]);
    }
    return 0;
}

/* --- Elements --------------------------------------------------------------
 */

/* x[j + 1], A[i, j]: one gather for all points. */
static int elements_over(struct builder *b, const struct expr *e, node *result)
{
    struct graph *g = b->spec->graph;
    const struct space *s = b->space;
    bool plain = !mentions(s, e->kid[0]);
    for (size_t i = 1; i < e->kids; i++)
        plain = plain && e->kid[i]->kind != EXPR_RANGE;
    if (!plain) return one_by_one(b, e, result);
    node a;
    double *at = NEW(double, s->points);
    int status = at ? evaluate_in(b, NULL, e->kid[0], &a) : GSV_NO_MEMORY;
    for (size_t p = 0; !status && p < s->points; p++) {
        struct space point = space_point(s, p);
        b->space = &point;
        status = element_number(b, e, a, &at[p]);
        b->space = s;
    }
    if (!status)
        *result = graph_gather(g, a, graph_constant(g, s->points, 1, at),
                               s->points, 1);
    mem_free(at);
    return status;
}

/* --- where ------------------------------------------------------------------
 */

/* A branch at the points where it is taken, with zeros at the others. */
static int branch(struct builder *b, const struct expr *e, const double *mask,
                  bool wanted, double *at, node *result)
{
    struct graph *g = b->spec->graph;
    size_t points = b->space->points;
    struct space part;
    int status = space_part(b->space, mask, wanted, &part, at);
    *result = graph_number(g, 0.0);
    if (!status && part.points) {
        node a;
        status = evaluate_in(b, &part, e, &a);
        double value;
        bool none = !status && graph_is_number(g, a, &value) && value == 0.0;
        if (!status && !none)
            *result = graph_scatter(g, a, graph_constant(g, part.points, 1, at),
                                    points, 1);
    }
    mem_free(part.memory);
    return status;
}

/* A condition of indices alone decides beforehand: what is not taken is not
 * looked at, so that it may have elements out of range. */
static int where_over(struct builder *b, const struct expr *e, node *result)
{
    size_t n = b->space->points;
    double *mask = NEW(double, n), *at = NEW(double, n);
    bool known = false;
    node x, y;
    int status = mask && at ? 0 : GSV_NO_MEMORY;
    if (!status) status = known_numbers(b, e->kid[0], mask, &known);
    if (!status && !known) status = evaluate_call(b, e, result);
    if (!status && known) status = branch(b, e->kid[1], mask, true, at, &x);
    if (!status && known) status = branch(b, e->kid[2], mask, false, at, &y);
    if (!status && known) *result = graph_binary(b->spec->graph, OP_ADD, x, y);
    mem_free(mask);
    mem_free(at);
    return status;
}

/* --- Sums --------------------------------------------------------------------
 */

static int read_bounds(struct builder *b, const struct expr *e, double *low,
                       size_t *n)
{
    double high;
    char text[80];
    int status = evaluate_number(b, e->kid[0], low);
    if (!status) status = evaluate_number(b, e->kid[1], &high);
    if (status) return status;
    for (int i = 0; i < 2; i++)
        if ((i ? high : *low) != floor(i ? high : *low))
            return complain(
                b->source, expr_span(e->kid[i]),
                "an index runs over whole numbers, but %g is not one",
                i ? high : *low);
    struct place both = expr_span(e->kid[0]), last = expr_span(e->kid[1]);
    if (last.line == both.line)
        both.length = last.column + last.length - both.column;
    if (high < *low)
        return complain(b->source, both,
                        "the range of '%s' is empty%s: %g is below %g", e->name,
                        index_text(b, text), high, *low);
    double outer = b->space ? (double)b->space->points : 1.0;
    if ((high - *low + 1.0) * outer > MOST_POINTS)
        return complain(
            b->source, both,
            "nested sums can have at most %d terms, but these have %.0f",
            MOST_POINTS, (high - *low + 1.0) * outer);
    *n = (size_t)(high - *low) + 1;
    return 0;
}

/* Numbers only: their sum is one, which constants and sizes may be made of. */
static int sum_of_numbers(struct builder *b, const struct expr *body,
                          double *value, bool *known, node *result)
{
    double sum = 0.0;
    int status = known_numbers(b, body, value, known);
    for (size_t p = 0; !status && *known && p < b->space->points; p++)
        sum += value[p];
    if (!status && *known) *result = graph_number(b->spec->graph, sum);
    return status;
}

static node sum_rows(struct graph *g, node a, size_t outer, size_t n)
{
    node one = graph_number(g, 1.0);
    if (graph_size(g, a) == 1)
        return graph_binary(g, OP_MUL, graph_number(g, (double)n), a);
    if (outer == 1) return graph_sum(g, a);
    a = graph_slice(g, a, 0, outer, n);
    return graph_matmul(g, a, graph_fill(g, one, n, 1));
}

int evaluate_each(struct builder *b, const struct expr *e, node *result)
{
    const struct space *outer = b->space;
    struct graph *g = b->spec->graph;
    struct space s = {0};
    double low = 1.0;
    size_t n = 1;
    if (is_over_points(b) &&
        (mentions(outer, e->kid[0]) || mentions(outer, e->kid[1])))
        return one_by_one(b, e, result);
    int status = check_name(b, e->name, e->place);
    if (!status && outer && outer->indices == MOST_INDICES)
        status = complain(b->source, e->place,
                          "at most %d indices can be nested", MOST_INDICES);
    if (!status) status = read_bounds(b, e, &low, &n);
    if (!status) status = space_extend(outer, e->name, low, n, &s);
    if (status) return status;
    node a = 0;
    b->space = &s;
    status = evaluate(b, e->kid[2], &a);
    if (!status) {
        bool constant = graph_info(g, a)->leaves == 1u << OP_CONSTANT;
        bool known = constant && s.points == n;
        double *value = known ? NEW(double, n) : NULL;
        if (known && !value) status = GSV_NO_MEMORY;
        if (value) status = sum_of_numbers(b, e->kid[2], value, &known, result);
        mem_free(value);
        if (!status && n == s.points && n == 1) status = need_number(b, e, a);
        if (!status && !known) *result = sum_rows(g, a, s.points / n, n);
    }
    b->space = outer;
    mem_free(s.memory);
    return status;
}

/* --- Any expression
 * ------------------------------------------------------------
 */

int evaluate_over(struct builder *b, const struct expr *e, node *result)
{
    const struct space *s = b->space;
    if (!mentions(s, e)) {
        int status = evaluate_in(b, NULL, e, result);
        return status ? status : need_number(b, e, *result);
    }
    switch (e->kind) {
    case EXPR_INDEX: return elements_over(b, e, result);
    case EXPR_EACH: return evaluate_each(b, e, result);
    case EXPR_CALL:
        if (!strcmp(e->name, "where") && e->kids == 3)
            return where_over(b, e, result);
        return is_elementwise(e->name) ? evaluate_call(b, e, result)
                                       : one_by_one(b, e, result);
    case EXPR_BINARY:
        return e->op == '@' ? one_by_one(b, e, result)
                            : evaluate_plainly(b, e, result);
    case EXPR_NUMBER:
    case EXPR_NAME:
    case EXPR_NEGATE: return evaluate_plainly(b, e, result);
    case EXPR_LIST:
    case EXPR_RANGE: break;
    }
    return one_by_one(b, e, result);
}

int with_index(struct builder *b, const char *name, struct place place,
               size_t n, int (*run)(struct builder *b, void *with), void *with)
{
    struct space s = {0};
    int status = check_name(b, name, place);
    if (!status) status = space_extend(NULL, name, 1.0, n, &s);
    if (status) return status;
    b->space = &s;
    status = run(b, with);
    b->space = NULL;
    mem_free(s.memory);
    return status;
}
