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
    double cells[GRID_AXES]; /* in a unit of x                       */
    double half[GRID_AXES];  /* 2 / (high - low)                     */
    size_t rows, nodes, features;
    unsigned char power[GP_FEATURES][GRID_AXES];
};

static struct plan plan_of(const struct apply *a)
{
    const struct gp *h = a->gp;
    struct plan p = {.h = h,
                     .rows = (size_t)1 << (2 * (h->axes - 1)),
                     .nodes = gp_nodes(h),
                     .features = gp_features(h)};
    const double *low = a->in[2].value, *high = low + h->axes;
    for (size_t k = 0; k < h->axes; k++) {
        p.order[k] = gp_order(a->info->offset, k);
        p.low[k] = low[k];
        p.half[k] = 2.0 / (high[k] - low[k]);
        p.cells[k] = 0.5 * p.half[k] * (double)(h->nodes[k] - 1);
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

/* The derivatives of 1, s, s^2 and s^3 of an order. */
INLINE void powers(size_t order, double s, double q[4])
{
    q[0] = order == 0 ? 1.0 : 0.0;
    q[1] = order == 0 ? s : order == 1 ? 1.0 : 0.0;
    q[2] = order == 0 ? s * s : order == 1 ? 2.0 * s : order == 2 ? 2.0 : 0.0;
    q[3] = order == 0   ? s * s * s
           : order == 1 ? 3.0 * s * s
           : order == 2 ? 6.0 * s
           : order == 3 ? 6.0
                        : 0.0;
}

INLINE double power_of(double x, size_t n)
{
    double y = 1.0;
    while (n-- > 0)
        y *= x;
    return y;
}

INLINE void combine(const struct grid_cell *c, double scale, const double q[4],
                    double w[4])
{
    for (size_t j = 0; j < 4; j++)
        w[j] = scale * (q[0] * c->power[0][j] + q[1] * c->power[1][j] +
                        q[2] * c->power[2][j] + q[3] * c->power[3][j]);
}

/* Weights of the cell that x is in, of the plan's order and of one more. */
INLINE void along_axis(const struct plan *p, size_t k, double x, bool slopes,
                       size_t *first, double w[4], double by[4])
{
    double s, q[4], scale = power_of(p->cells[k], p->order[k]);
    double u = (x - p->low[k]) * p->cells[k];
    const struct grid_cell *c = grid_cell_at(p->h->nodes[k], u, first, &s);
    powers(p->order[k], s, q);
    combine(c, scale, q, w);
    if (!slopes) return;
    powers(p->order[k] + 1, s, q);
    combine(c, scale * p->cells[k], q, by);
}

INLINE void find_rows(const struct plan *p, const size_t *first, double (*w)[4],
                      double (*by)[4], bool slopes, struct around *at)
{
    const size_t *n = p->h->nodes, end = p->h->axes - 1;
    for (size_t r = 0; r < p->rows; r++) {
        size_t number = 0;
        double product = 1.0;
        for (size_t k = 0; k < end; k++) {
            size_t i = r >> (2 * (end - 1 - k)) & 3;
            number = number * n[k] + first[k] + i;
            product *= w[k][i];
        }
        at->row[r] = number * n[end] + first[end];
        at->factor[r] = product;
        for (size_t m = 0; slopes && m < end; m++) {
            double moved = 1.0;
            for (size_t k = 0; k < end; k++) {
                size_t i = r >> (2 * (end - 1 - k)) & 3;
                moved *= k == m ? by[k][i] : w[k][i];
            }
            at->factor_by[m][r] = moved;
        }
    }
}

static void find_features(const struct plan *p, const double *x, size_t stride,
                          bool slopes, struct around *at)
{
    double q[GRID_AXES][4], by[GRID_AXES][4];
    size_t axes = p->h->axes;
    for (size_t k = 0; k < axes; k++) {
        double z = (x[k * stride] - p->low[k]) * p->half[k] - 1.0;
        double scale = power_of(p->half[k], p->order[k]);
        powers(p->order[k], z, q[k]);
        powers(p->order[k] + 1, z, by[k]);
        for (size_t e = 0; e < 4; e++) {
            q[k][e] *= scale;
            by[k][e] *= scale * p->half[k];
        }
    }
    for (size_t f = 0; f < p->features; f++)
        for (size_t m = 0; m <= (slopes ? axes : 0); m++) {
            double product = 1.0;
            for (size_t k = 0; k < axes; k++)
                product *= (m == k + 1 ? by : q)[k][p->power[f][k]];
            if (m) at->feature_by[m - 1][f] = product;
            else at->feature[f] = product;
        }
}

INLINE void look_around(const struct plan *p, const double *x, size_t stride,
                        bool slopes, struct around *at)
{
    size_t first[GRID_AXES], end = p->h->axes - 1;
    double w[GRID_AXES][4], by[GRID_AXES][4];
    for (size_t k = 0; k < end; k++)
        along_axis(p, k, x[k * stride], slopes, &first[k], w[k], by[k]);
    along_axis(p, end, x[end * stride], slopes, &first[end], at->last,
               at->last_by);
    find_rows(p, first, w, by, slopes, at);
    if (p->features) find_features(p, x, stride, slopes, at);
}

INLINE double dot(const double *a, const double *b)
{
    return (a[0] * b[0] + a[1] * b[1]) + (a[2] * b[2] + a[3] * b[3]);
}

/* --- The operation ------------------------------------------------------- */

FAST void gp_forward(const struct apply *a)
{
    struct plan p = plan_of(a);
    struct around at;
    size_t P = a->P, n = p.h->outputs;
    for (size_t j = 0; j < P; j++) {
        look_around(&p, a->in[0].value + j, P, false, &at);
        for (size_t i = 0; i < n; i++) {
            const double *v = a->in[1].value + i * p.nodes;
            double sum[4] = {0.0};
            for (size_t r = 0; r < p.rows; r++)
                for (size_t l = 0; l < 4; l++)
                    sum[l] += at.factor[r] * v[at.row[r] + l];
            double y = dot(sum, at.last);
            for (size_t f = 0; f < p.features; f++)
                y += a->in[3].value[i * p.features + f] * at.feature[f];
            a->out.value[i * P + j] = y;
        }
    }
}

/* Bars of the arguments at point j: of the four values in a row, all outputs
 * together. */
INLINE void argument_vjp(const struct apply *a, const struct plan *p,
                         const struct around *at, size_t j)
{
    size_t P = a->P, end = p->h->axes - 1;
    double *x_bar = a->in[0].bar + j;
    for (size_t r = 0; r < p->rows; r++) {
        double bar[4] = {0.0};
        for (size_t i = 0; i < p->h->outputs; i++) {
            const double *v = a->in[1].value + i * p->nodes + at->row[r];
            for (size_t l = 0; l < 4; l++)
                bar[l] += a->out.bar[i * P + j] * v[l];
        }
        double row_bar = dot(bar, at->last);
        for (size_t k = 0; k < end; k++)
            x_bar[k * P] += at->factor_by[k][r] * row_bar;
        x_bar[end * P] += at->factor[r] * dot(bar, at->last_by);
    }
    for (size_t f = 0; f < p->features; f++) {
        double bar = 0.0;
        for (size_t i = 0; i < p->h->outputs; i++)
            bar += a->out.bar[i * P + j] * a->in[3].value[i * p->features + f];
        for (size_t k = 0; k <= end; k++)
            x_bar[k * P] += at->feature_by[k][f] * bar;
    }
}

INLINE void value_vjp(const struct apply *a, const struct plan *p,
                      const struct around *at, size_t j)
{
    for (size_t i = 0; i < p->h->outputs; i++) {
        double y_bar = a->out.bar[i * a->P + j];
        double *bar = a->in[1].bar ? a->in[1].bar + i * p->nodes : NULL;
        for (size_t r = 0; bar && r < p->rows; r++)
            for (size_t l = 0; l < 4; l++)
                bar[at->row[r] + l] += y_bar * at->factor[r] * at->last[l];
        bar = p->features ? a->in[3].bar : NULL;
        for (size_t f = 0; bar && f < p->features; f++)
            bar[i * p->features + f] += y_bar * at->feature[f];
    }
}

/* Points in order: the sums are the same whoever runs the block. */
FAST void gp_vjp(const struct apply *a)
{
    struct plan p = plan_of(a);
    struct around at;
    for (size_t j = 0; j < a->P; j++) {
        look_around(&p, a->in[0].value + j, a->P, a->in[0].bar, &at);
        value_vjp(a, &p, &at, j);
        if (a->in[0].bar) argument_vjp(a, &p, &at, j);
    }
}

FAST void gp_jvp(const struct apply *a)
{
    struct plan p = plan_of(a);
    struct around at;
    size_t P = a->P, end = p.h->axes - 1;
    for (size_t j = 0; j < P; j++) {
        const double *x_dot = a->in[0].dot + j;
        look_around(&p, a->in[0].value + j, P, true, &at);
        for (size_t i = 0; i < p.h->outputs; i++) {
            double y_dot = 0.0;
            for (size_t r = 0; r < p.rows; r++) {
                const double *v = a->in[1].value + i * p.nodes + at.row[r];
                double moved = 0.0;
                for (size_t k = 0; k < end; k++)
                    moved += at.factor_by[k][r] * x_dot[k * P];
                y_dot += moved * dot(v, at.last) +
                         at.factor[r] * x_dot[end * P] * dot(v, at.last_by);
            }
            for (size_t f = 0; f < p.features; f++)
                for (size_t k = 0; k <= end; k++)
                    y_dot += a->in[3].value[i * p.features + f] *
                             at.feature_by[k][f] * x_dot[k * P];
            a->out.dot[i * P + j] = y_dot;
        }
    }
}
