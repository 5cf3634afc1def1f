/* SPDX-License-Identifier: MIT */
#include "gp/gp_gram.h"

#include <string.h>

#include "base/fast.h"
#include "base/linalg.h"

struct gram {
    const struct gp_root *root;
    struct kron right;      /* R, or with a slope in it               */
    double *stage[GP_AXES]; /* (7 n_0, .., 7 n_i-1, k_i, .., k_D-1)   */
    double *busy;           /* (7 n_0, .., 7 n_D-2) 1 where H is not 0 */
    double *packed;         /* the last axis' stage where it is busy  */
    double *z;
    void (*use)(void *context, size_t row, const double *values);
    void *context;
};

/* --- Sizes -------------------------------------------------------------- */

static size_t size_before(const struct gp_root *r, size_t axis)
{
    size_t all = 1;
    for (size_t i = 0; i < axis; i++)
        all *= GP_BAND * r->R.rows[i];
    return all;
}

static size_t size_after(const struct gp_root *r, size_t axis)
{
    size_t all = 1;
    for (size_t i = axis + 1; i < r->R.axes; i++)
        all *= r->R.columns[i];
    return all;
}

static size_t stage_size(const struct gp_root *r, size_t axis)
{
    return size_before(r, axis) * r->R.columns[axis] * size_after(r, axis);
}

static size_t z_size(const struct gp_root *r)
{
    size_t last = r->R.axes - 1, most = size_before(r, last) * r->R.rows[last];
    for (size_t i = 0; i < last; i++) {
        size_t z = r->R.rows[i] * size_after(r, i);
        if (z > most) most = z;
    }
    return most;
}

size_t gp_gram_room(const struct gp_root *r)
{
    size_t last = r->R.axes - 1;
    size_t all = z_size(r) + size_before(r, last) + stage_size(r, last);
    for (size_t i = 0; i < r->R.axes; i++)
        all += stage_size(r, i);
    return all;
}

/* --- One axis ----------------------------------------------------------- */

/* z (n, after) = sum over x of left[x] H[x, x'] from H (n, 7, after); left is
 * a column of R_i, k numbers apart. */
FAST static void gather(size_t n, size_t k, size_t after, const double *left,
                        const double *H, double *z)
{
    memset(z, 0, n * after * sizeof *z);
    for (size_t x = 0; x < n; x++) {
        size_t first = x < GP_REACH ? GP_REACH - x : 0;
        size_t end = n - x > GP_REACH ? GP_BAND : n - x + GP_REACH;
        double scale = left[x * k];
        const double *h = H + (x * GP_BAND + first) * after;
        double *restrict to = z + (x + first - GP_REACH) * after;
        for (size_t i = 0; i < (end - first) * after; i++)
            to[i] += scale * h[i];
    }
}

static double is_busy(size_t n, const double *H)
{
    for (size_t i = 0; i < n; i++)
        if (H[i] != 0.0) return 1.0;
    return 0.0;
}

/* The stage (before, k) of the last axis. H (before, n, 7) itself is read here,
 * which takes most of the time: what is 0 is left out, since data are near few
 * of the nodes of several axes. */
static void contract_last(const struct gram *g, size_t j, const double *H)
{
    const struct kron *R = &g->root->R;
    size_t axis = R->axes - 1, n = R->rows[axis], k = R->columns[axis];
    size_t before = size_before(g->root, axis), rows = 0;
    const double *left = R->factor[axis] + j;
    for (size_t i = 0; i < before; i++)
        if (g->busy[i] > 0.0)
            gather(n, k, 1, left, H + i * n * GP_BAND, g->z + n * rows++);
    linalg_product(rows, n, k, g->z, false, g->right.factor[axis], false,
                   g->packed);
    double *out = g->stage[axis];
    const double *from = g->packed;
    for (size_t i = 0; i < before; i++, out += k) {
        if (g->busy[i] > 0.0) {
            memcpy(out, from, k * sizeof *out);
            from += k;
        } else {
            memset(out, 0, k * sizeof *out);
        }
    }
}

/* The stage (before, k, after) of an axis from A (before, n, 7, after). */
static void contract(const struct gram *g, size_t axis, size_t j,
                     const double *A)
{
    const struct kron *R = &g->root->R;
    size_t n = R->rows[axis], k = R->columns[axis];
    size_t before = size_before(g->root, axis);
    size_t after = size_after(g->root, axis);
    const double *left = R->factor[axis] + j, *right = g->right.factor[axis];
    double *out = g->stage[axis];
    if (axis + 1 == R->axes) {
        contract_last(g, j, A);
        return;
    }
    for (size_t i = 0; i < before; i++) {
        gather(n, k, after, left, A + i * n * GP_BAND * after, g->z);
        linalg_product(k, n, after, right, true, g->z, false,
                       out + i * k * after);
    }
}

/* All rows whose place has these columns along the axes after this one.
 * Columns fall in size, so that the first one dropped is the last to look at:
 * those in front of it on the other axes are dropped with it. */
static void descend(const struct gram *g, size_t axis, size_t place,
                    const double *A)
{
    size_t stride = size_after(g->root, axis);
    for (size_t j = 0; j < g->root->R.columns[axis]; j++) {
        size_t here = place + j * stride, row = g->root->row[here];
        if (row == GP_DROPPED) return;
        contract(g, axis, j, A);
        if (axis) descend(g, axis - 1, here, g->stage[axis]);
        else g->use(g->context, row, g->stage[0]);
    }
}

void gp_gram_rows(const struct gp_root *r, const struct gp_information *H,
                  size_t slope_axis, double *room,
                  void (*use)(void *context, size_t row, const double *values),
                  void *context)
{
    struct gram g = {.root = r, .right = r->R, .use = use, .context = context};
    if (slope_axis < r->R.axes)
        g.right.factor[slope_axis] = r->slope[slope_axis];
    for (size_t i = 0; i < r->R.axes; i++) {
        g.stage[i] = room;
        room += stage_size(r, i);
    }
    size_t last = r->R.axes - 1, before = size_before(r, last);
    size_t block = GP_BAND * r->R.rows[last];
    g.busy = room;
    g.packed = g.busy + before;
    g.z = g.packed + stage_size(r, last);
    for (size_t i = 0; i < before; i++)
        g.busy[i] = is_busy(block, H->stencil + i * block);
    descend(&g, r->R.axes - 1, 0, H->stencil);
}
