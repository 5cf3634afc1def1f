/* SPDX-License-Identifier: MIT */
#include "gp/gp_information.h"

#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "base/linalg.h"

/* A point on 3 axes adds to 4096 entries of a stencil that no cache holds, and
 * most of the time would go to fetching these. So points are sorted by their
 * first node, and those with the same nodes become one small dense matrix. */
enum { SORTED = 16384, GROUP = 64 };

struct gp_sorted {
    size_t order[SORTED]; /* of points, by their first node            */
    size_t *begin;        /* (G + 1) where those of a node begin       */
    double *a, *scaled;   /* (GROUP, n) their weights; times factors   */
    double *block;        /* (n, n) sum of factor a a', n = 4^axes     */
    struct arena arena;
};

/* --- Making ------------------------------------------------------------- */

/* Nodes a and b meet in entry centre[a] + offset[b]: with strides s_i of the
 * stencil's axes (7 nodes[i] ...), node x has
 *     offset = sum of s_i x_i,  centre = sum of s_i (7 x_i + 3) - offset. */
static void number_nodes(struct gp_information *h)
{
    for (size_t g = 0; g < h->nodes; g++) {
        size_t left = g, stride = 1, first = 0;
        for (size_t s = 0; s < h->axes; s++) {
            size_t n = h->grid[h->axes - 1 - s], x = left % n;
            left /= n;
            h->offset[g] += stride * x;
            first += stride * (GP_BAND * x + GP_REACH);
            stride *= GP_BAND * n;
        }
        h->centre[g] = first - h->offset[g];
    }
}

static int sorted_init(struct gp_information *h)
{
    size_t n = (size_t)1 << 2 * h->axes;
    struct gp_sorted *s = h->sorted = NEW(struct gp_sorted, 1);
    if (!s) return GSV_NO_MEMORY;
    s->begin = NEW(size_t, h->nodes + 1);
    if (!s->begin) return GSV_NO_MEMORY;
    const struct arena_part parts[] = {
        {&s->a, GROUP * n}, {&s->scaled, GROUP * n}, {&s->block, n * n}};
    return arena_lay(&s->arena, sizeof parts / sizeof *parts, parts);
}

int gp_information_init(struct gp_information *h, const struct gp_prior *prior)
{
    *h = (struct gp_information){
        .axes = prior->axes, .nodes = 1, .features = prior->features};
    size_t band = 1, F = prior->features;
    for (size_t i = 0; i < prior->axes; i++) {
        h->grid[i] = prior->nodes[i];
        h->nodes *= prior->nodes[i];
        band *= GP_BAND;
    }
    const struct arena_part parts[] = {{&h->stencil, h->nodes * band},
                                       {&h->cross, h->nodes * F},
                                       {&h->square, F * F},
                                       {&h->pull, h->nodes + F}};
    h->offset = NEW(size_t, h->nodes);
    h->centre = NEW(size_t, h->nodes);
    if (!h->offset || !h->centre) return GSV_NO_MEMORY;
    number_nodes(h);
    int status = arena_lay(&h->arena, sizeof parts / sizeof *parts, parts);
    h->count = h->arena.used / sizeof(double);
    return status ? status : sorted_init(h);
}

void gp_information_free(struct gp_information *h)
{
    if (h->sorted) {
        mem_free(h->sorted->begin);
        arena_free(&h->sorted->arena);
    }
    mem_free(h->sorted);
    mem_free(h->offset);
    mem_free(h->centre);
    arena_free(&h->arena);
    *h = (struct gp_information){0};
}

void gp_information_clear(struct gp_information *h)
{
    memset(h->stencil, 0, h->count * sizeof *h->stencil);
}

/* --- Points ------------------------------------------------------------- */

/* The order of points [first, first + count) by their first node, and as they
 * came where that is the same. */
static void sort(const struct gp_information *h, const struct gp_points *p,
                 size_t first, size_t count)
{
    struct gp_sorted *s = h->sorted;
    memset(s->begin, 0, (h->nodes + 1) * sizeof *s->begin);
    for (size_t k = first; k < first + count; k++)
        s->begin[p->index[k * p->touched] + 1]++;
    for (size_t g = 0; g < h->nodes; g++)
        s->begin[g + 1] += s->begin[g];
    for (size_t k = first; k < first + count; k++)
        s->order[s->begin[p->index[k * p->touched]]++] = k;
}

/* How many of the sorted points from here on have the same nodes. */
static size_t group_size(const struct gp_points *p, const size_t *order,
                         size_t left)
{
    size_t n = p->touched, m = 1;
    const size_t *index = p->index + order[0] * n;
    while (m < left && m < GROUP &&
           !memcmp(index, p->index + order[m] * n, n * sizeof *index))
        m++;
    return m;
}

/* stencil += sum of factor a a' over m points with the same nodes. */
static void add_group(struct gp_information *h, const struct gp_points *p,
                      const double *factor, const size_t *order, size_t m)
{
    size_t n = p->touched;
    struct gp_sorted *s = h->sorted;
    for (size_t k = 0; k < m; k++)
        for (size_t i = 0; i < n; i++) {
            s->a[k * n + i] = p->weight[order[k] * n + i];
            s->scaled[k * n + i] = factor[order[k]] * s->a[k * n + i];
        }
    linalg_product(n, m, n, s->scaled, true, s->a, false, s->block);
    const size_t *index = p->index + order[0] * n;
    for (size_t a = 0; a < n; a++) {
        double *row = h->stencil + h->centre[index[a]];
        for (size_t b = 0; b < n; b++)
            row[h->offset[index[b]]] += s->block[a * n + b];
    }
}

/* What points say about the features. */
static void add_features(struct gp_information *h, const struct gp_points *p,
                         const double *factor)
{
    size_t F = h->features, n = p->touched;
    for (size_t k = 0; k < p->count; k++) {
        const double *feature = p->feature + k * F;
        for (size_t a = k * n; a < (k + 1) * n; a++)
            for (size_t f = 0; f < F; f++)
                h->cross[p->index[a] * F + f] +=
                    factor[k] * p->weight[a] * feature[f];
        for (size_t f = 0; f < F; f++)
            for (size_t e = 0; e < F; e++)
                h->square[f * F + e] += factor[k] * feature[f] * feature[e];
    }
}

void gp_information_add(struct gp_information *h, const struct gp_points *p,
                        const double *factor)
{
    assert(p->touched && p->touched <= (size_t)1 << 2 * h->axes);
    for (size_t done = 0; done < p->count; done += SORTED) {
        size_t left = p->count - done, count = left < SORTED ? left : SORTED;
        sort(h, p, done, count);
        const size_t *order = h->sorted->order;
        for (size_t i = 0, m; i < count; i += m) {
            m = group_size(p, order + i, count - i);
            add_group(h, p, factor, order + i, m);
        }
    }
    if (h->features) add_features(h, p, factor);
}

/* --- Products ----------------------------------------------------------- */

/* Where the band of node x along an axis of n nodes begins and ends. */
static size_t band_first(size_t x)
{
    return x < GP_REACH ? GP_REACH - x : 0;
}

static size_t band_end(size_t x, size_t n)
{
    return n - x > GP_REACH ? GP_BAND : n - x + GP_REACH;
}

/* y += H x on the axes from this one on; `inner` nodes, `block` entries of the
 * stencil belong to one of its nodes. */
static void spread(const struct gp_information *h, size_t axis, size_t inner,
                   size_t block, const double *H, const double *x, double *y)
{
    size_t n = h->grid[axis];
    bool last = axis + 1 >= h->axes || axis + 1 >= GP_AXES;
    size_t next = last ? 1 : h->grid[axis + 1];
    for (size_t i = 0; i < n; i++)
        for (size_t o = band_first(i); o < band_end(i, n); o++) {
            const double *here = H + (i * GP_BAND + o) * block;
            const double *from = x + (i + o - GP_REACH) * inner;
            if (last) y[i] += *here * *from;
            else
                spread(h, axis + 1, inner / next, block / (GP_BAND * next),
                       here, from, y + i * inner);
        }
}

void gp_information_product(const struct gp_information *h, const double *x,
                            double *y)
{
    size_t G = h->nodes, F = h->features, inner = G / h->grid[0], block = inner;
    for (size_t i = 1; i < h->axes; i++)
        block *= GP_BAND;
    memset(y, 0, (G + F) * sizeof *y);
    spread(h, 0, inner, block, h->stencil, x, y);
    for (size_t g = 0; g < G; g++)
        for (size_t f = 0; f < F; f++) {
            y[g] += h->cross[g * F + f] * x[G + f];
            y[G + f] += h->cross[g * F + f] * x[g];
        }
    for (size_t f = 0; f < F; f++)
        for (size_t e = 0; e < F; e++)
            y[G + f] += h->square[f * F + e] * x[G + e];
}

void gp_information_pull(struct gp_information *h, const double *s,
                         const double *w0)
{
    gp_information_product(h, w0, h->pull);
    for (size_t i = 0; i < h->nodes + h->features; i++)
        h->pull[i] += s[i];
}
