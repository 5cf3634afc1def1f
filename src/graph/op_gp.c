/* SPDX-License-Identifier: MIT */
/* The operation of gp.h, point by point: inputs x (axes), value (outputs,
 * nodes), box (low and high of each axis, which nothing moves) and, with a
 * polynomial, weight (outputs, features). Neighbours along the last axis stand
 * next to each other, so a point has rows of four values. */
#include <string.h>

#include "base/fast.h"
#include "graph/op_rows.h"

enum { ROWS = 64 }; /* 4^(axes - 1) */

size_t gp_nodes(const struct gp *h)
{
    size_t n = 1;
    for (size_t k = 0; k < h->axes; k++)
        n *= h->nodes[k];
    return n;
}

/* (axes + degree) over degree. */
size_t gp_features(const struct gp *h)
{
    size_t n = 1;
    if (!h->degree) return 0;
    for (size_t k = 1; k <= h->degree; k++)
        n = n * (h->axes + k) / k;
    return n;
}

/* The next way of sharing out the same total, or false. */
static bool share_on(size_t axes, unsigned char *power)
{
    size_t k = axes - 1;
    unsigned char rest = power[k];
    power[k] = 0;
    while (k-- > 0) {
        if (!power[k]) continue;
        power[k]--;
        power[k + 1] = (unsigned char)(rest + 1);
        return true;
    }
    return false;
}

void gp_exponents(const struct gp *h, unsigned char power[][GRID_AXES])
{
    size_t f = 0;
    for (unsigned char degree = 0; degree <= h->degree; degree++) {
        unsigned char now[GRID_AXES] = {degree};
        do
            memcpy(power[f++], now, sizeof now);
        while (share_on(h->axes, now));
    }
}

/* --- Before the points --------------------------------------------------- */

struct plan {
    const struct gp *h;
    size_t order[GRID_AXES];
    double low[GRID_AXES];
    double cells[GRID_AXES]; /* in a unit of x                            */
    double half[GRID_AXES];  /* 2 / (high - low)                          */
    double cell_scale[GRID_AXES], half_scale[GRID_AXES]; /* to the order  */
    size_t nodes, features;
    unsigned char power[GP_FEATURES][GRID_AXES];
};

static double power_of(double x, size_t n)
{
    double y = 1.0;
    while (n-- > 0)
        y *= x;
    return y;
}

static struct plan plan_of(const struct apply *a)
{
    const struct gp *h = a->gp;
    struct plan p = {.h = h, .nodes = gp_nodes(h), .features = gp_features(h)};
    const double *low = a->in[2].value, *high = low + h->axes;
    for (size_t k = 0; k < h->axes; k++) {
        p.order[k] = gp_order(a->info->offset, k);
        p.low[k] = low[k];
        p.half[k] = 2.0 / (high[k] - low[k]);
        p.cells[k] = 0.5 * p.half[k] * (double)(h->nodes[k] - 1);
        p.cell_scale[k] = power_of(p.cells[k], p.order[k]);
        p.half_scale[k] = power_of(p.half[k], p.order[k]);
    }
    if (h->degree) gp_exponents(h, p.power);
    return p;
}

/* --- Around a point ------------------------------------------------------ */

/* What its value is made of, and with slopes its derivatives by x_k: the rows
 * of four values, the product of the weights of all axes but the last, the
 * weights along the last; and the features. */
struct around {
    size_t row[ROWS];
    double factor[ROWS], last[4];
    double factor_by[GRID_AXES][ROWS], last_by[4];
    double feature[GP_FEATURES], feature_by[GRID_AXES][GP_FEATURES];
};

/* The derivatives of 1, s, s^2 and s^3 of an order, times a scale. */
INLINE void powers(size_t order, double scale, double s, double q[4])
{
    double none = 0.0 * s; /* not a number where s is not */
    q[0] = q[1] = q[2] = q[3] = none;
    if (order == 0) {
        q[0] = scale;
        q[1] = scale * s;
        q[2] = scale * s * s;
        q[3] = scale * s * s * s;
    } else if (order == 1) {
        q[1] = scale;
        q[2] = scale * 2.0 * s;
        q[3] = scale * 3.0 * s * s;
    } else if (order == 2) {
        q[2] = scale * 2.0;
        q[3] = scale * 6.0 * s;
    } else if (order == 3) q[3] = scale * 6.0;
}

INLINE void combine(const struct grid_cell *c, const double q[4], double w[4])
{
    for (size_t j = 0; j < 4; j++)
        w[j] = (q[0] * c->power[0][j] + q[1] * c->power[1][j]) +
               (q[2] * c->power[2][j] + q[3] * c->power[3][j]);
}

/* Weights of the cell that x is in, of the plan's order and of one more. */
INLINE void along_axis(const struct plan *p, size_t k, double x, bool slopes,
                       size_t *first, double w[4], double by[4])
{
    double s, q[4], u = (x - p->low[k]) * p->cells[k];
    const struct grid_cell *c = grid_cell_at(p->h->nodes[k], u, first, &s);
    powers(p->order[k], p->cell_scale[k], s, q);
    combine(c, q, w);
    if (!slopes) return;
    powers(p->order[k] + 1, p->cell_scale[k] * p->cells[k], s, q);
    combine(c, q, by);
}

/* How many rows there are of so many axes; all of this is compiled for each
 * number of them. */
INLINE size_t rows_of(size_t axes)
{
    return (size_t)1 << (2 * (axes - 1));
}

INLINE void find_rows(const struct plan *p, size_t axes, const size_t *first,
                      double (*w)[4], double (*by)[4], bool slopes,
                      struct around *at)
{
    const size_t *n = p->h->nodes, end = axes - 1;
    for (size_t r = 0; r < rows_of(axes); r++) {
        size_t number = 0;
        double product = 1.0, moved[GRID_AXES] = {1.0, 1.0, 1.0, 1.0};
        for (size_t k = 0; k < end; k++) {
            size_t i = r >> (2 * (end - 1 - k)) & 3;
            number = number * n[k] + first[k] + i;
            product *= w[k][i];
            for (size_t m = 0; slopes && m < end; m++)
                moved[m] *= k == m ? by[k][i] : w[k][i];
        }
        at->row[r] = number * n[end] + first[end];
        at->factor[r] = product;
        for (size_t m = 0; slopes && m < end; m++)
            at->factor_by[m][r] = moved[m];
    }
}

INLINE void find_features(const struct plan *p, size_t axes, const double *x,
                          size_t stride, bool slopes, struct around *at)
{
    double q[GRID_AXES][4], by[GRID_AXES][4];
    for (size_t k = 0; k < axes; k++) {
        double z = (x[k * stride] - p->low[k]) * p->half[k] - 1.0;
        powers(p->order[k], p->half_scale[k], z, q[k]);
        if (slopes)
            powers(p->order[k] + 1, p->half_scale[k] * p->half[k], z, by[k]);
    }
    for (size_t f = 0; f < p->features; f++) {
        double product = 1.0, moved[GRID_AXES] = {1.0, 1.0, 1.0, 1.0};
        for (size_t k = 0; k < axes; k++) {
            double own = q[k][p->power[f][k]];
            product *= own;
            for (size_t m = 0; slopes && m < axes; m++)
                moved[m] *= k == m ? by[k][p->power[f][k]] : own;
        }
        at->feature[f] = product;
        for (size_t m = 0; slopes && m < axes; m++)
            at->feature_by[m][f] = moved[m];
    }
}

INLINE void look_around(const struct plan *p, size_t axes, const double *x,
                        size_t stride, bool slopes, struct around *at)
{
    size_t first[GRID_AXES], end = axes - 1;
    double w[GRID_AXES][4], by[GRID_AXES][4];
    for (size_t k = 0; k < end; k++)
        along_axis(p, k, x[k * stride], slopes, &first[k], w[k], by[k]);
    along_axis(p, end, x[end * stride], slopes, &first[end], at->last,
               at->last_by);
    find_rows(p, axes, first, w, by, slopes, at);
    if (p->features) find_features(p, axes, x, stride, slopes, at);
}

INLINE double dot(const double *a, const double *b)
{
    return (a[0] * b[0] + a[1] * b[1]) + (a[2] * b[2] + a[3] * b[3]);
}

/* RUN with axes as a number that the compiler knows. */
#define BY_AXES(h, RUN)                                                        \
    switch ((h)->axes) {                                                       \
    case 1: RUN(a, &p, 1); break;                                              \
    case 2: RUN(a, &p, 2); break;                                              \
    case 3: RUN(a, &p, 3); break;                                              \
    default: RUN(a, &p, 4);                                                    \
    }

/* --- The operation ------------------------------------------------------- */

/* The values at the nodes and the features' weights, all outputs of them, that
 * point j sees. */
INLINE const double *values_of(const struct apply *a, size_t j)
{
    return a->own[0] ? a->own[0] + j * a->own_stride : a->in[1].value;
}

INLINE const double *weights_of(const struct apply *a, const struct plan *p,
                                size_t j)
{
    if (!p->features) return NULL;
    return a->own[1] ? a->own[1] + j * a->own_stride : a->in[3].value;
}

INLINE void forward_points(const struct apply *a, const struct plan *p,
                           size_t axes)
{
    struct around at;
    size_t P = a->P, n = p->h->outputs;
    for (size_t j = 0; j < P; j++) {
        const double *value = values_of(a, j), *weight = weights_of(a, p, j);
        look_around(p, axes, a->in[0].value + j, P, false, &at);
        for (size_t i = 0; i < n; i++) {
            const double *v = value + i * p->nodes;
            double sum[4] = {0.0};
            for (size_t r = 0; r < rows_of(axes); r++)
                for (size_t l = 0; l < 4; l++)
                    sum[l] += at.factor[r] * v[at.row[r] + l];
            double y = dot(sum, at.last);
            for (size_t f = 0; f < p->features; f++)
                y += weight[i * p->features + f] * at.feature[f];
            a->out.value[i * P + j] = y;
        }
    }
}

FAST void gp_forward(const struct apply *a)
{
    struct plan p = plan_of(a);
    BY_AXES(a->gp, forward_points)
}

INLINE void value_vjp(const struct apply *a, const struct plan *p, size_t axes,
                      const struct around *at, size_t j)
{
    for (size_t i = 0; i < p->h->outputs; i++) {
        double y_bar = a->out.bar[i * a->P + j];
        double *bar = a->in[1].bar ? a->in[1].bar + i * p->nodes : NULL;
        for (size_t r = 0; bar && r < rows_of(axes); r++)
            for (size_t l = 0; l < 4; l++)
                bar[at->row[r] + l] += y_bar * at->factor[r] * at->last[l];
        bar = p->features ? a->in[3].bar : NULL;
        for (size_t f = 0; bar && f < p->features; f++)
            bar[i * p->features + f] += y_bar * at->feature[f];
    }
}

/* Of the four values in a row, all outputs together. */
INLINE void argument_vjp(const struct apply *a, const struct plan *p,
                         size_t axes, const struct around *at, size_t j)
{
    size_t P = a->P, end = axes - 1;
    double x_bar[GRID_AXES] = {0.0};
    for (size_t r = 0; r < rows_of(axes); r++) {
        double bar[4] = {0.0};
        for (size_t i = 0; i < p->h->outputs; i++) {
            const double *v = a->in[1].value + i * p->nodes + at->row[r];
            for (size_t l = 0; l < 4; l++)
                bar[l] += a->out.bar[i * P + j] * v[l];
        }
        double row_bar = dot(bar, at->last);
        for (size_t k = 0; k < end; k++)
            x_bar[k] += at->factor_by[k][r] * row_bar;
        x_bar[end] += at->factor[r] * dot(bar, at->last_by);
    }
    for (size_t f = 0; f < p->features; f++) {
        double bar = 0.0;
        for (size_t i = 0; i < p->h->outputs; i++)
            bar += a->out.bar[i * P + j] * a->in[3].value[i * p->features + f];
        for (size_t k = 0; k < axes; k++)
            x_bar[k] += at->feature_by[k][f] * bar;
    }
    for (size_t k = 0; k < axes; k++)
        a->in[0].bar[k * P + j] += x_bar[k];
}

/* Points in order: the sums are the same whoever runs the block. */
INLINE void vjp_points(const struct apply *a, const struct plan *p, size_t axes)
{
    struct around at;
    for (size_t j = 0; j < a->P; j++) {
        look_around(p, axes, a->in[0].value + j, a->P, true, &at);
        value_vjp(a, p, axes, &at, j);
        if (a->in[0].bar) argument_vjp(a, p, axes, &at, j);
    }
}

FAST void gp_vjp(const struct apply *a)
{
    struct plan p = plan_of(a);
    BY_AXES(a->gp, vjp_points)
}

/* The rows' and features' weights along x_dot take the place of those by the
 * first axis. */
INLINE void along_direction(const struct plan *p, size_t axes,
                            const double *x_dot, size_t stride,
                            struct around *at)
{
    size_t end = axes - 1;
    for (size_t r = 0; r < rows_of(axes); r++) {
        double moved = 0.0;
        for (size_t k = 0; k < end; k++)
            moved += at->factor_by[k][r] * x_dot[k * stride];
        at->factor_by[0][r] = moved;
    }
    for (size_t l = 0; l < 4; l++)
        at->last_by[l] *= x_dot[end * stride];
    for (size_t f = 0; f < p->features; f++) {
        double moved = 0.0;
        for (size_t k = 0; k < axes; k++)
            moved += at->feature_by[k][f] * x_dot[k * stride];
        at->feature_by[0][f] = moved;
    }
}

INLINE void jvp_points(const struct apply *a, const struct plan *p, size_t axes)
{
    struct around at;
    size_t P = a->P;
    for (size_t j = 0; j < P; j++) {
        const double *value = values_of(a, j), *weight = weights_of(a, p, j);
        look_around(p, axes, a->in[0].value + j, P, true, &at);
        along_direction(p, axes, a->in[0].dot + j, P, &at);
        for (size_t i = 0; i < p->h->outputs; i++) {
            const double *v = value + i * p->nodes;
            double still[4] = {0.0}, moved[4] = {0.0};
            for (size_t r = 0; r < rows_of(axes); r++)
                for (size_t l = 0; l < 4; l++) {
                    still[l] += at.factor[r] * v[at.row[r] + l];
                    moved[l] += at.factor_by[0][r] * v[at.row[r] + l];
                }
            double y_dot = dot(moved, at.last) + dot(still, at.last_by);
            for (size_t f = 0; f < p->features; f++)
                y_dot += weight[i * p->features + f] * at.feature_by[0][f];
            a->out.dot[i * P + j] = y_dot;
        }
    }
}

FAST void gp_jvp(const struct apply *a)
{
    struct plan p = plan_of(a);
    BY_AXES(a->gp, jvp_points)
}
