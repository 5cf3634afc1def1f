/* SPDX-License-Identifier: MIT */
#include "kalman/mix.h"

#include <math.h>
#include <string.h>

#include "base/small.h"

struct node_part node_part(size_t d, double *memory)
{
    size_t dd = d * d;
    return (struct node_part){memory, memory + dd, memory + dd + d,
                              memory + 2 * dd + d};
}

/* T, M, q and p, above. */
struct mixed {
    double *T, *M, *q, *p; /* (d, d) */
};

static struct mixed mixed_make(size_t d, double w, const struct node_part *a,
                               const struct node_part *b, double *room)
{
    size_t dd = d * d;
    struct mixed x = {room, room + dd, room + 2 * dd, room + 3 * dd};
    for (size_t e = 0; e < dd; e++) {
        x.T[e] = w * (b->A[e] - a->A[e]) + (double)(e % (d + 1) == 0);
        x.M[e] = 0.5 * (a->A[e] + b->A[e]);
        x.q[e] = 0.5 * (a->q[e] + b->q[e]);
        x.p[e] = b->q[e] - a->q[e];
    }
    return x;
}

/* q of a step. room has 6 d^2 numbers. */
static void mix_noise(size_t d, double w, const struct node_part *a,
                      const struct node_part *b, double *q, double *room)
{
    size_t dd = d * d;
    struct mixed x = mixed_make(d, w, a, b, room);
    double *X = room + 4 * dd;
    small_product(d, x.T, false, x.q, false, X);
    small_product(d, X, false, x.T, true, q);
    small_product(d, x.M, false, x.p, false, X);
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++)
            q[i * d + j] -= w * (X[i * d + j] + X[j * d + i]);
}

/* Of a symmetric q_bar; adds to the bars by A, sets those by q. */
static void mix_noise_vjp(size_t d, double w, const struct node_part *a,
                          const struct node_part *b, const double *q_bar,
                          const struct node_part *a_bar,
                          const struct node_part *b_bar, double *room)
{
    size_t dd = d * d;
    struct mixed x = mixed_make(d, w, a, b, room);
    double *X = room + 4 * dd, *Y = room + 5 * dd;
    small_product(d, q_bar, false, x.T, false, X);
    small_product(d, X, false, x.q, false, Y); /* T_bar / 2 */
    for (size_t e = 0; e < dd; e++) {
        b_bar->A[e] += 2.0 * w * Y[e];
        a_bar->A[e] -= 2.0 * w * Y[e];
    }
    small_product(d, x.T, true, X, false, Y); /* q_bar of the mean */
    small_product(d, q_bar, false, x.M, false, X);
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++) {
            size_t e = i * d + j;
            double p_bar = -w * (X[e] + X[j * d + i]);
            a_bar->q[e] = 0.5 * Y[e] - p_bar;
            b_bar->q[e] = 0.5 * Y[e] + p_bar;
        }
    small_product(d, q_bar, false, x.p, false, X); /* -M_bar / (2 w) */
    for (size_t e = 0; e < dd; e++) {
        b_bar->A[e] -= w * X[e];
        a_bar->A[e] -= w * X[e];
    }
}

void mix_nodes(size_t d, double h, const struct node_part *a,
               const struct node_part *b, const struct coefficients *to,
               double *room)
{
    size_t dd = d * d;
    double w = sqrt(3.0) * h / 12.0, *X = room, *Y = X + dd;
    small_product(d, b->A, false, a->A, false, X);
    small_product(d, a->A, false, b->A, false, Y);
    for (size_t e = 0; e < dd; e++)
        to->A[e] = 0.5 * (a->A[e] + b->A[e]) + w * (X[e] - Y[e]);
    for (size_t i = 0; i < d; i++)
        to->b[i] = 0.5 * (a->b[i] + b->b[i]);
    small_add(d, w, b->A, false, a->b, to->b);
    small_add(d, -w, a->A, false, b->b, to->b);
    mix_noise(d, w, a, b, to->q, room);
}

void mix_nodes_vjp(size_t d, double h, const struct node_part *a,
                   const struct node_part *b, const struct coefficients *bar,
                   const struct node_part *a_bar, const struct node_part *b_bar,
                   double *room)
{
    size_t dd = d * d;
    double w = sqrt(3.0) * h / 12.0, *X = room, *Y = X + dd;
    small_product(d, b->A, true, bar->A, false, X);
    small_product(d, bar->A, false, b->A, true, Y);
    for (size_t e = 0; e < dd; e++)
        a_bar->A[e] = 0.5 * bar->A[e] + w * (X[e] - Y[e]);
    small_product(d, bar->A, false, a->A, true, X);
    small_product(d, a->A, true, bar->A, false, Y);
    for (size_t e = 0; e < dd; e++)
        b_bar->A[e] = 0.5 * bar->A[e] + w * (X[e] - Y[e]);
    for (size_t i = 0; i < d; i++)
        a_bar->b[i] = b_bar->b[i] = 0.5 * bar->b[i];
    small_add(d, w, b->A, true, bar->b, a_bar->b);
    small_add(d, -w, a->A, true, bar->b, b_bar->b);
    small_outer(d, w, bar->b, a->b, b_bar->A);
    small_outer(d, -w, bar->b, b->b, a_bar->A);
    mix_noise_vjp(d, w, a, b, bar->q, a_bar, b_bar, room);
}
