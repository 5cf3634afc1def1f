/* SPDX-License-Identifier: MIT */
#include "gp/gp_information.h"

#include <string.h>

#include "base/error.h"
#include "base/fast.h"

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
    return status;
}

void gp_information_free(struct gp_information *h)
{
    mem_free(h->offset);
    mem_free(h->centre);
    arena_free(&h->arena);
    *h = (struct gp_information){0};
}

void gp_information_clear(struct gp_information *h)
{
    memset(h->stencil, 0, h->count * sizeof *h->stencil);
}

/* --- Sums --------------------------------------------------------------- */

/* All parts lie in one block, with zeros in between. */
void gp_information_blend(struct gp_information *h, double rate,
                          const struct gp_information *other)
{
    for (size_t i = 0; i < h->count; i++)
        h->stencil[i] += rate * (other->stencil[i] - h->stencil[i]);
}

void gp_information_merge(struct gp_information *h,
                          const struct gp_information *other)
{
    for (size_t i = 0; i < h->count; i++)
        h->stencil[i] += other->stencil[i];
}

static bool in_fours(size_t n, const size_t *index)
{
    if (n % 4) return false;
    for (size_t i = 0; i < n; i += 4)
        for (size_t k = 1; k < 4; k++)
            if (index[i + k] != index[i] + k) return false;
    return true;
}

/* stencil += factor a a' for one row: in fours, whose entries are neighbours,
 * or one by one. */
FAST static void add_fours(struct gp_information *h, size_t n,
                           const size_t *index, const double *weight,
                           double factor)
{
    for (size_t a = 0; a < n; a++) {
        double *row = h->stencil + h->centre[index[a]];
        double scale = factor * weight[a];
        for (size_t b = 0; b < n; b += 4) {
            double *entry = row + h->offset[index[b]];
            for (size_t k = 0; k < 4; k++)
                entry[k] += scale * weight[b + k];
        }
    }
}

static void add_singles(struct gp_information *h, size_t n, const size_t *index,
                        const double *weight, double factor)
{
    for (size_t a = 0; a < n; a++)
        for (size_t b = 0; b < n; b++)
            h->stencil[h->centre[index[a]] + h->offset[index[b]]] +=
                factor * weight[a] * weight[b];
}

static void add_features(struct gp_information *h, size_t n,
                         const size_t *index, const double *weight,
                         const double *feature, double factor)
{
    size_t F = h->features;
    for (size_t a = 0; a < n; a++)
        for (size_t f = 0; f < F; f++)
            h->cross[index[a] * F + f] += factor * weight[a] * feature[f];
    for (size_t f = 0; f < F; f++)
        for (size_t e = 0; e < F; e++)
            h->square[f * F + e] += factor * feature[f] * feature[e];
}

void gp_information_add(struct gp_information *h, const struct gp_points *p,
                        const double *factor)
{
    size_t n = p->touched;
    for (size_t k = 0; k < p->count; k++) {
        const size_t *index = p->index + k * n;
        const double *weight = p->weight + k * n;
        if (in_fours(n, index)) add_fours(h, n, index, weight, factor[k]);
        else add_singles(h, n, index, weight, factor[k]);
        if (h->features)
            add_features(h, n, index, weight, p->feature + k * h->features,
                         factor[k]);
    }
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
 * stencil lie behind one of its nodes. */
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
