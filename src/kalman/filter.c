/* SPDX-License-Identifier: MIT */
#include "kalman/filter.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/constant.h"
#include "base/small.h"

/* --- Records -------------------------------------------------------------- */

size_t record_size(size_t d, size_t updates)
{
    return d + 3 * d * d + 2 * d * updates;
}

struct record record_at(size_t d, size_t updates, double *memory,
                        struct update *update)
{
    struct record r = {.mean = memory,
                       .S = memory + d,
                       .turn = memory + d + d * d,
                       .update = update};
    double *vector = r.turn + 2 * d * d;
    for (size_t i = 0; i < updates; i++, vector += 2 * d) {
        update[i].u = vector;
        update[i].K = vector + d;
    }
    return r;
}

/* --- Over a gap ----------------------------------------------------------- */

/* Reflections of the columns of X (rows, n) that make its first d rows lower
 * triangular. */
INLINE void make_lower(size_t d, size_t rows, size_t n, double *X)
{
    for (size_t i = 0; i < d && i + 1 < n; i++) {
        double *x = X + i * n, size = sqrt(small_dot(n - i, x + i, x + i));
        if (!(size > 0.0)) continue;
        double first = x[i] > 0.0 ? -size : size;
        double scale = 1.0 / (size * (size + fabs(x[i])));
        x[i] -= first;
        for (size_t k = i + 1; k < rows; k++) {
            double *row = X + k * n;
            double part = scale * small_dot(n - i, x + i, row + i);
            for (size_t j = i; j < n; j++)
                row[j] -= part * x[j];
        }
        memset(x + i, 0, (n - i) * sizeof *x);
        x[i] = first;
    }
}

FAST void filter_predict(size_t d, const double *Phi, const double *c,
                         const double *root, const struct record *from,
                         struct record *to, double *room)
{
    size_t n = 2 * d;
    double *X = room; /* [Phi S, root], below it [I, 0] */
    memset(X, 0, 2 * d * n * sizeof *X);
    for (size_t i = 0; i < d; i++) {
        for (size_t l = 0; l < d; l++)
            for (size_t j = 0; j < d; j++)
                X[i * n + j] += Phi[i * d + l] * from->S[l * d + j];
        memcpy(X + i * n + d, root + i * d, d * sizeof *X);
        X[(d + i) * n + i] = 1.0;
    }
    make_lower(d, to->turn ? 2 * d : d, n, X);
    for (size_t i = 0; i < d; i++)
        memcpy(to->S + i * d, X + i * n, d * sizeof *X);
    if (to->turn) memcpy(to->turn, X + d * n, d * n * sizeof *X);
    memcpy(to->mean, c, d * sizeof *c);
    small_add(d, 1.0, Phi, false, from->mean, to->mean);
    to->updates = 0;
}

/* --- What was observed ---------------------------------------------------- */

/* The reflection that turns h' S to (sigma, 0, ..., 0): u'u = 2, or 0. */
INLINE double reflect(size_t d, const double *h, const double *S, double *u)
{
    memset(u, 0, d * sizeof *u);
    small_add(d, 1.0, S, true, h, u);
    double size = sqrt(small_dot(d, u, u)), first = u[0];
    if (!(size > 0.0)) return size;
    double sigma = first > 0.0 ? -size : size;
    double scale = 1.0 / sqrt(size * (size + fabs(first)));
    u[0] -= sigma;
    for (size_t i = 0; i < d; i++)
        u[i] *= scale;
    return sigma;
}

/* Each row of X (d, d) times I - u u'. */
INLINE void turn_rows(size_t d, const double *u, double *X)
{
    for (size_t i = 0; i < d; i++) {
        double part = small_dot(d, X + i * d, u);
        for (size_t j = 0; j < d; j++)
            X[i * d + j] -= part * u[j];
    }
}

FAST double filter_observe(size_t d, const double *h, double rho, double v,
                           struct record *r, size_t which)
{
    struct update *a = &r->update[r->updates++];
    double sigma = reflect(d, h, r->S, a->u), s = sigma * sigma + rho;
    turn_rows(d, a->u, r->S);
    a->sigma = sigma;
    a->s = s;
    a->rho = rho;
    a->tau = sqrt(rho / s);
    a->v = v - small_dot(d, h, r->mean);
    a->which = which;
    for (size_t i = 0; i < d; i++) {
        a->K[i] = r->S[i * d] * (sigma / s);
        r->mean[i] += a->K[i] * a->v;
        r->S[i * d] *= a->tau;
    }
    return -0.5 * (LOG_TWO_PI + log(s) + a->v / s * a->v);
}

/* --- Backward ------------------------------------------------------------- */

size_t adjoint_size(size_t d)
{
    return 3 * d + 4 * d * d;
}

struct adjoint adjoint_at(size_t d, double *memory)
{
    size_t dd = d * d;
    double *M = memory + 3 * d;
    return (struct adjoint){.r = memory,
                            .zeta = memory + d,
                            .mean = memory + 2 * d,
                            .M = M,
                            .W = M + dd,
                            .X = M + 2 * dd,
                            .cov = M + 3 * dd};
}

void adjoint_start(size_t d, const struct adjoint *a)
{
    memset(a->r, 0, adjoint_size(d) * sizeof *a->r);
    for (size_t i = 0; i < d; i++)
        a->W[i * (d + 1)] = 1.0;
}

FAST void adjoint_smooth(size_t d, const struct adjoint *a,
                         const struct record *r, double *room)
{
    memcpy(a->mean, r->mean, d * sizeof *a->mean);
    small_add(d, 1.0, r->S, false, a->zeta, a->mean);
    small_product(d, r->S, false, a->W, false, room);
    small_product(d, room, false, room, true, a->cov);
}

/* M becomes L'M L + h h' / s with L = I - K h'. */
INLINE void update_M(size_t d, const struct update *u, const double *h,
                     double *M, double *MK)
{
    memset(MK, 0, d * sizeof *MK);
    small_add(d, 1.0, M, false, u->K, MK);
    double both = small_dot(d, u->K, MK) + 1.0 / u->s;
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++)
            M[i * d + j] += both * h[i] * h[j] - MK[i] * h[j] - h[i] * MK[j];
}

/* X becomes L'X diag(tau, 1, ...) + sigma / s h e_1', turned back. */
INLINE void update_X(size_t d, const struct update *u, const double *h,
                     double *X, double *KX)
{
    for (size_t i = 0; i < d; i++)
        X[i * d] *= u->tau;
    memset(KX, 0, d * sizeof *KX);
    small_add(d, 1.0, X, true, u->K, KX);
    KX[0] -= u->sigma / u->s;
    small_outer(d, -1.0, h, KX, X);
    turn_rows(d, u->u, X);
}

/* zeta and W: the first row is scaled by tau, then all turned back. */
INLINE void update_turned(size_t d, const struct update *u, double *zeta,
                          double *W, double *room)
{
    zeta[0] = u->tau * zeta[0] + u->sigma * u->v / u->s;
    double part = small_dot(d, u->u, zeta);
    for (size_t i = 0; i < d; i++) {
        zeta[i] -= part * u->u[i];
        W[i] *= u->tau;
    }
    memset(room, 0, d * sizeof *room);
    small_add(d, 1.0, W, true, u->u, room);
    small_outer(d, -1.0, u->u, room, W);
}

FAST struct update_bar adjoint_update(size_t d, const struct adjoint *a,
                                      const struct update *u, const double *h,
                                      double *h_bar, double *room)
{
    struct update_bar bar = {0};
    double e = u->v / u->s - small_dot(d, u->K, a->r);
    if (u->rho > 0.0) {
        /* The same without the differences of large numbers. */
        e = (u->v - u->sigma * a->zeta[0] / u->tau) / u->s;
        double N = small_dot(d, a->W, a->W);
        double D = 1.0 + u->sigma * u->sigma * (1.0 - N) / u->rho;
        bar = (struct update_bar){e, 0.5 * (e * e - D / u->s)};
    }
    for (size_t i = 0; h_bar && i < d; i++)
        h_bar[i] += e * a->mean[i] - small_dot(d, a->cov + i * d, h) / u->rho;
    for (size_t i = 0; i < d; i++)
        a->r[i] += e * h[i];
    update_M(d, u, h, a->M, room);
    update_X(d, u, h, a->X, room);
    update_turned(d, u, a->zeta, a->W, room);
    return bar;
}

/* zeta, W and X over a gap, by its turn [a, c]: a zeta, [a W, c], Phi' X a'. */
INLINE void turn_gap(size_t d, const struct adjoint *a, const double *Phi,
                     const double *turn, double *room)
{
    size_t dd = d * d, n = 2 * d;
    double *first = room, *Y = room + dd, *wide = room + 2 * dd;
    for (size_t i = 0; i < d; i++)
        memcpy(first + i * d, turn + i * n, d * sizeof *first);
    memset(Y, 0, d * sizeof *Y);
    small_add(d, 1.0, first, false, a->zeta, Y);
    memcpy(a->zeta, Y, d * sizeof *Y);
    small_product(d, first, false, a->W, false, Y);
    for (size_t i = 0; i < d; i++) {
        memcpy(wide + i * n, Y + i * d, d * sizeof *Y);
        memcpy(wide + i * n + d, turn + i * n + d, d * sizeof *Y);
    }
    make_lower(d, d, n, wide);
    for (size_t i = 0; i < d; i++)
        memcpy(a->W + i * d, wide + i * n, d * sizeof *Y);
    small_product(d, a->X, false, first, true, Y);
    memcpy(room, Y, dd * sizeof *Y); /* X a', for the bar by Phi */
    small_product(d, Phi, true, Y, false, a->X);
}

FAST void adjoint_predict(size_t d, const struct adjoint *a, const double *Phi,
                          const struct record *from, const struct record *to,
                          double *Phi_bar, double *c_bar, double *Q_bar,
                          double *room)
{
    size_t dd = d * d;
    double *Xa = room, *Y = room + dd, *mean = room + 2 * dd;
    turn_gap(d, a, Phi, to->turn, room);
    if (Phi_bar) {
        memcpy(mean, from->mean, d * sizeof *mean);
        small_add(d, 1.0, from->S, false, a->zeta, mean);
        small_product(d, Xa, false, from->S, true, Y);
        for (size_t i = 0; i < d; i++)
            for (size_t j = 0; j < d; j++) {
                size_t e = i * d + j;
                Phi_bar[e] = a->r[i] * mean[j] - Y[e];
                Q_bar[e] = 0.5 * (a->r[i] * a->r[j] - a->M[e]);
            }
        memcpy(c_bar, a->r, d * sizeof *c_bar);
    }
    memset(mean, 0, d * sizeof *mean);
    small_add(d, 1.0, Phi, true, a->r, mean);
    memcpy(a->r, mean, d * sizeof *mean);
    small_product(d, a->M, false, Phi, false, Y);
    small_product(d, Phi, true, Y, false, a->M);
    small_symmetric(d, a->M);
}

/* --- Roots ---------------------------------------------------------------- */

void filter_marginal(size_t d, size_t n, const double *S, double *root,
                     double *room)
{
    memcpy(room, S, n * d * sizeof *S);
    if (n < d) make_lower(n, n, d, room);
    for (size_t i = 0; i < n; i++)
        memcpy(root + i * n, room + i * d, n * sizeof *root);
}

/* Cholesky's factor of the correlations, largest pivot first; what is left
 * below rounding is none. Rows are in their own order, columns in that of the
 * pivots. */
void filter_root(size_t d, const double *Q, double *root, double *room)
{
    double *C = room, *scale = room + d * d, *done = scale + d;
    for (size_t i = 0; i < d; i++) {
        scale[i] = Q[i * (d + 1)] > 0.0 ? sqrt(Q[i * (d + 1)]) : 0.0;
        done[i] = scale[i] > 0.0 ? 0.0 : 1.0;
    }
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++)
            C[i * d + j] = done[i] != 0.0 || done[j] != 0.0
                               ? 0.0
                               : Q[i * d + j] / scale[i] / scale[j];
    memset(root, 0, d * d * sizeof *root);
    for (size_t k = 0; k < d; k++) {
        size_t best = d;
        for (size_t i = 0; i < d; i++)
            if (done[i] == 0.0 &&
                (best == d || C[i * (d + 1)] > C[best * (d + 1)]))
                best = i;
        double pivot = best < d ? C[best * (d + 1)] : 0.0;
        if (!(pivot > (double)d * DBL_EPSILON)) break;
        done[best] = 1.0;
        for (size_t i = 0; i < d; i++)
            if (done[i] == 0.0 || i == best)
                root[i * d + k] = C[i * d + best] / sqrt(pivot);
        for (size_t i = 0; i < d; i++)
            for (size_t j = 0; done[i] == 0.0 && j < d; j++)
                if (done[j] == 0.0)
                    C[i * d + j] -= root[i * d + k] * root[j * d + k];
    }
    for (size_t e = 0; e < d * d; e++)
        root[e] *= scale[e / d];
}
