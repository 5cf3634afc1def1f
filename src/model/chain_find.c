/* SPDX-License-Identifier: MIT */
/* Which states form chains. A state without noise is one step further from the
 * noise than the nearest state in its equation. Every state of a distance needs
 * one of the next smaller distance for itself, whose derivative in its equation
 * is not 0: that one follows it in its chain. Those that follow no other are
 * the bottoms. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/linear.h"
#include "base/memory.h"
#include "graph/words.h"
#include "lang/singular.h"
#include "model/chain.h"

void chains_explain(struct chains *c, enum no_chain why, size_t state)
{
    struct chain_form *form = &c->model->chain;
    if (form->why) return; /* the first reason counts */
    form->why = why;
    form->state = state;
}

/* --- Small tools ---------------------------------------------------------- */

node chains_index(struct graph *g, size_t n, const size_t *number)
{
    double *value = GRAPH_NEW(g, double, n);
    if (!value) return 0;
    for (size_t i = 0; i < n; i++)
        value[i] = (double)number[i];
    node made = graph_constant(g, n, 1, value);
    mem_free(value);
    return made;
}

node chains_along(const struct chains *c, node a, size_t n, const size_t *state)
{
    double *dot = GRAPH_NEW(c->g, double, c->d);
    if (!dot) return 0;
    for (size_t i = 0; i < n; i++)
        dot[state[i]] = 1.0;
    node made = graph_constant(c->g, c->d, 1, dot);
    mem_free(dot);
    return graph_directional(c->g, a, c->z, made);
}

node chains_lie(const struct chains *c, node a)
{
    node along = graph_directional(c->g, a, c->z, c->drift);
    if (!graph_moves(c->g, a)) return along;
    return op(c->g, OP_ADD, along, graph_time_derivative(c->g, a));
}

size_t chains_from(const struct chains *c, size_t length)
{
    size_t n = 0;
    while (n < c->count && c->bottom[n].length >= length)
        n++;
    return n;
}

size_t chains_level(const struct chains *c, size_t length, size_t k)
{
    size_t before = chains_from(c, length + 1), at = 0;
    for (size_t i = 0; i < before; i++)
        at += c->bottom[i].length;
    return at + (k - 1) * (chains_from(c, length) - before);
}

node chains_bottoms(const struct chains *c, size_t length)
{
    size_t first = chains_from(c, length + 1);
    size_t n = chains_from(c, length) - first;
    node *part = GRAPH_NEW(c->g, node, n);
    if (!part) return 0;
    for (size_t i = 0; i < n; i++) {
        const struct bottom *b = &c->bottom[first + i];
        part[i] =
            b->shape ? b->map.stretch : graph_slice(c->g, c->z, b->state, 1, 1);
    }
    node made = graph_stack(c->g, n, part, n, 1);
    mem_free(part);
    return made;
}

/* --- The equations -------------------------------------------------------- */

/* Column j of the diffusion (d, 1), element by element: zeros stay numbers. */
static node column_of(const struct spec *s, size_t j)
{
    node *part = GRAPH_NEW(s->graph, node, s->dim);
    if (!part) return 0;
    for (size_t i = 0; i < s->dim; i++)
        part[i] = graph_slice(s->graph, s->diffusion, i * s->noises + j, 1, 1);
    node made = graph_stack(s->graph, s->dim, part, s->dim, 1);
    mem_free(part);
    return made;
}

/* a - b / 2, element by element as well. */
static node less_half(const struct chains *c, node a, node b)
{
    struct graph *g = c->g;
    node *part = GRAPH_NEW(g, node, c->d);
    if (!part) return 0;
    for (size_t i = 0; i < c->d; i++)
        part[i] = op(g, OP_SUB, graph_slice(g, a, i, 1, 1),
                     op(g, OP_MUL, num(g, 0.5), graph_slice(g, b, i, 1, 1)));
    node made = graph_stack(g, c->d, part, c->d, 1);
    mem_free(part);
    return made;
}

/* f minus half the sum of the columns' derivatives along themselves. */
static void find_drift(struct chains *c)
{
    const struct spec *s = c->spec;
    c->drift = s->drift;
    for (size_t j = 0; j < s->noises; j++) {
        node G = c->column[j] = column_of(s, j);
        if (!graph_depends(c->g, G, OP_STATE)) continue;
        node bend = graph_directional(c->g, G, c->z, G);
        c->drift = less_half(c, c->drift, bend);
    }
}

static bool is_noisy(const struct spec *s, size_t i)
{
    for (size_t j = 0; j < s->noises; j++)
        if (!element_is_zero(s->graph, s->diffusion, i * s->noises + j))
            return true;
    return false;
}

/* The noises of the states that have one must not depend on each other. */
static int find_noisy(struct chains *c, bool *found)
{
    const struct spec *s = c->spec;
    size_t m = s->noises;
    node *element = NEW(node, c->d * m);
    if (!element) return GSV_NO_MEMORY;
    c->count = 0;
    for (size_t i = 0; i < c->d; i++) {
        if (!is_noisy(s, i)) continue;
        c->distance[i] = 1;
        for (size_t j = 0; j < m; j++)
            element[c->count * m + j] =
                graph_slice(c->g, s->diffusion, i * m + j, 1, 1);
        c->count++;
    }
    struct deficit deficit = {0};
    int status =
        c->count ? find_deficit(c->g, c->count, m, element, &deficit) : 0;
    *found = c->count && !deficit.found;
    size_t state = 0;
    for (size_t n = 0; deficit.found && state + 1 < c->d; state++)
        if (c->distance[state] == 1 && n++ == deficit.row) break;
    if (deficit.found) chains_explain(c, NO_CHAIN_DEPENDENT, state);
    if (!c->count) chains_explain(c, NO_CHAIN_SILENT, 0);
    mem_free(element);
    return status;
}

/* --- Distances ------------------------------------------------------------ */

/* Why no noise gets to a state. */
static enum no_chain why_unreached(const struct chains *c, size_t i)
{
    bool used = false, still = element_is_zero(c->g, c->spec->drift, i);
    for (size_t j = 0; j < c->d; j++)
        used = used || c->uses[i * c->d + j];
    return still ? NO_CHAIN_STILL : used ? NO_CHAIN_UNREACHED : NO_CHAIN_CLOCK;
}

/* One distance after the other, until all states have theirs. */
static bool find_distances(struct chains *c)
{
    size_t d = c->d, left = d - c->count, before;
    for (c->levels = 1; left; c->levels++) {
        before = left;
        for (size_t i = 0; i < d; i++) {
            if (c->distance[i]) continue;
            bool near = false;
            for (size_t j = 0; j < d; j++)
                near =
                    near || (c->uses[i * d + j] && c->distance[j] == c->levels);
            if (!near) continue;
            c->distance[i] = c->levels + 1;
            left--;
        }
        if (left == before) break;
    }
    for (size_t i = 0; i < d; i++) {
        if (!c->distance[i]) chains_explain(c, why_unreached(c, i), i);
        if (c->distance[i] > LONGEST_CHAIN) chains_explain(c, NO_CHAIN_LONG, i);
    }
    return !c->model->chain.why;
}

static size_t list_distance(const struct chains *c, size_t distance,
                            size_t *state)
{
    size_t n = 0;
    for (size_t i = 0; i < c->d; i++)
        if (c->distance[i] == distance) state[n++] = i;
    return n;
}

/* --- Who follows whom ----------------------------------------------------- */

/* Where every row needs one of the columns only, and each another one. */
static bool follow_only(struct chains *c, size_t rows, const size_t *row,
                        size_t columns, const size_t *column)
{
    bool *taken = GRAPH_NEW(c->g, bool, c->d), only = taken;
    for (size_t r = 0; only && r < rows; r++) {
        size_t n = 0, last = 0;
        for (size_t k = 0; k < columns; k++)
            if (c->uses[row[r] * c->d + column[k]]) n++, last = column[k];
        only = n == 1 && !taken[last];
        taken[last] = true;
        c->next[row[r]] = last;
    }
    mem_free(taken);
    return only;
}

/* Otherwise by elimination, in the derivatives of f. */
static int follow_any(struct chains *c, size_t rows, const size_t *row,
                      size_t columns, const size_t *column)
{
    node *element = NEW(node, rows * columns);
    size_t *pivot = NEW(size_t, rows);
    int status = element && pivot ? 0 : GSV_NO_MEMORY;
    struct deficit deficit = {0};
    for (size_t k = 0; !status && k < columns; k++) {
        node slope = chains_along(c, c->drift, 1, &column[k]);
        for (size_t r = 0; r < rows; r++)
            element[r * columns + k] = graph_slice(c->g, slope, row[r], 1, 1);
    }
    if (!status)
        status = find_pivots(c->g, rows, columns, element, pivot, &deficit);
    for (size_t r = 0; !status && r < rows; r++)
        c->next[row[r]] = column[pivot[r]];
    if (deficit.found) chains_explain(c, NO_CHAIN_SAME, row[deficit.row]);
    MEM_FREE(element, pivot);
    return status;
}

static int find_followers(struct chains *c)
{
    size_t *row = NEW(size_t, c->d), *column = NEW(size_t, c->d);
    int status = row && column ? 0 : GSV_NO_MEMORY;
    for (size_t i = 0; i < c->d; i++)
        c->next[i] = c->d;
    for (size_t k = c->levels; !status && !c->model->chain.why && k > 1; k--) {
        size_t rows = list_distance(c, k, row);
        size_t columns = list_distance(c, k - 1, column);
        if (rows > columns) chains_explain(c, NO_CHAIN_SAME, row[columns]);
        else if (!follow_only(c, rows, row, columns, column))
            status = follow_any(c, rows, row, columns, column);
    }
    MEM_FREE(row, column);
    return status;
}

/* Those that follow no other, the furthest first. */
static void list_bottoms(struct chains *c)
{
    size_t n = 0;
    for (size_t k = c->levels; k > 0; k--)
        for (size_t i = 0; i < c->d; i++) {
            bool follows = false;
            for (size_t j = 0; j < c->d; j++)
                follows = follows || c->next[j] == i;
            if (c->distance[i] == k && !follows)
                c->bottom[n++] = (struct bottom){.state = i, .length = k};
        }
}

/* --- The noise of the tops ------------------------------------------------ */

/* Below each other, over z, before anything is scaled. Noise must not jump, and
 * nothing that is differentiated. */
static node find_tops(struct chains *c)
{
    node *part = GRAPH_NEW(c->g, node, c->levels);
    size_t parts = 0;
    if (!part) return 0;
    for (size_t k = c->levels; k > 0; k--) {
        size_t first = chains_from(c, k + 1);
        if (chains_from(c, k) == first) continue;
        node a = chains_bottoms(c, k);
        for (size_t i = 1; i < k; i++) {
            a = chains_lie(c, a);
            if (noise_jumps(c->g, a))
                chains_explain(c, NO_CHAIN_JUMPS, c->bottom[first].state);
        }
        part[parts++] = a;
    }
    node tops = graph_below(c->g, parts, part);
    mem_free(part);
    return tops;
}

/* Element (i, j) of the noise of the tops, (count, noises). */
static int noise_of_tops(struct chains *c, node *element)
{
    size_t m = c->spec->noises;
    node tops = find_tops(c);
    if (c->g->failed) return GSV_NO_MEMORY;
    for (size_t j = 0; j < m; j++) {
        node noise = graph_directional(c->g, tops, c->z, c->column[j]);
        for (size_t i = 0; i < c->count; i++)
            element[i * m + j] = graph_slice(c->g, noise, i, 1, 1);
    }
    return c->g->failed ? GSV_NO_MEMORY : 0;
}

/* The only noise of a chain, that no other has; or noises. */
static size_t own_noise(const struct chains *c, const node *element, size_t i)
{
    size_t m = c->spec->noises, own = m;
    for (size_t j = 0; j < m; j++) {
        if (element_is_zero(c->g, element[i * m + j], 0)) continue;
        if (own < m) return m;
        own = j;
    }
    for (size_t k = 0; own < m && k < c->count; k++)
        if (k != i && !element_is_zero(c->g, element[k * m + own], 0)) return m;
    return own;
}

/* Takes a shape out of a noise that depends on the bottom of its chain. */
static bool take_shape(struct chains *c, struct bottom *b, node *noise)
{
    node state = graph_slice(c->g, c->z, b->state, 1, 1), rest, shape;
    if (!graph_depends(c->g, *noise, OP_STATE)) return true;
    if (!lamperti_split(c->g, *noise, state, &rest, &shape)) return false;
    *noise = rest;
    if (!graph_depends(c->g, shape, OP_STATE)) return true;
    b->shape = shape;
    return lamperti_find(c->model->spec, shape, state, &b->map);
}

static int scale_alone(struct chains *c, node *element)
{
    size_t m = c->spec->noises;
    node *own = NEW(node, c->count);
    if (!own) return GSV_NO_MEMORY;
    for (size_t i = 0; i < c->count; i++) {
        own[i] = element[i * m + own_noise(c, element, i)];
        if (!take_shape(c, &c->bottom[i], &own[i]))
            chains_explain(c, NO_CHAIN_NOISE, c->bottom[i].state);
    }
    c->scale = graph_stack(c->g, c->count, own, c->count, 1);
    mem_free(own);
    return c->g->failed ? GSV_NO_MEMORY : 0;
}

static void scale_shared(struct chains *c, const node *element)
{
    size_t m = c->spec->noises;
    node S = graph_stack(c->g, c->count * m, element, c->count, m);
    c->shared = true;
    for (size_t i = 0; i < c->count * m; i++)
        if (graph_depends(c->g, element[i], OP_STATE))
            chains_explain(c, NO_CHAIN_NOISE, c->bottom[i / m].state);
    c->scale =
        graph_cholesky(c->g, graph_matmul(c->g, S, graph_transpose(c->g, S)));
}

static int find_scale(struct chains *c)
{
    size_t m = c->spec->noises;
    node *element = NEW(node, c->count * m);
    int status = element ? noise_of_tops(c, element) : GSV_NO_MEMORY;
    bool alone = true;
    for (size_t i = 0; !status && i < c->count; i++)
        alone = alone && own_noise(c, element, i) < m;
    if (!status && alone) status = scale_alone(c, element);
    else if (!status) scale_shared(c, element);
    mem_free(element);
    return status;
}

/* --- All together --------------------------------------------------------- */

static int chains_init(struct chains *c, struct gsv_model *m)
{
    const struct spec *s = m->spec;
    *c = (struct chains){.model = m,
                         .spec = s,
                         .g = s->graph,
                         .d = s->dim,
                         .z = graph_leaf(s->graph, OP_STATE, 0, s->dim, 1),
                         .column = NEW(node, s->noises),
                         .distance = NEW(size_t, s->dim),
                         .next = NEW(size_t, s->dim),
                         .bottom = NEW(struct bottom, s->dim),
                         .uses = NEW(bool, s->dim * s->dim)};
    bool made = c->column && c->distance && c->next && c->bottom && c->uses;
    return made ? 0 : GSV_NO_MEMORY;
}

void chains_free(struct chains *c)
{
    MEM_FREE(c->column, c->distance, c->next, c->bottom, c->uses);
}

int chains_find(struct chains *c, struct gsv_model *m, bool *found)
{
    int status = chains_init(c, m);
    *found = false;
    if (status) return status;
    find_drift(c);
    status = find_noisy(c, found);
    if (noise_jumps(c->g, c->spec->diffusion))
        chains_explain(c, NO_CHAIN_JUMPS, 0);
    if (!status) status = graph_state_elements(c->g, c->drift, c->d, c->uses);
    if (status || !*found) return status;
    *found = false;
    if (!find_distances(c)) return 0;
    status = find_followers(c);
    if (status || m->chain.why) return status;
    list_bottoms(c);
    status = find_scale(c);
    *found = !m->chain.why;
    return status;
}
