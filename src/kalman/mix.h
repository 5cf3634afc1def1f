/* SPDX-License-Identifier: MIT */
/* Where coefficients change within a gap in any way, a step of length h has,
 * from the points t1 < t2 of Gauss and Legendre, the constant coefficients
 *
 *     A = (A1 + A2) / 2 + k (A2 A1 - A1 A2),       k = sqrt(3) h / 12,
 *     b = (b1 + b2) / 2 + k (A2 b1 - A1 b2),
 *     q = T (q1 + q2) / 2 T' - k (M p + p M'),     T = I + k (A2 - A1),
 *                              M = (A1 + A2) / 2,  p = q2 - q1:
 *
 * Magnus' expansion of the equations of mean and covariance, of order 4. That
 * of q itself has I + k (..) + k (..)' in the place of T .. T', which differs
 * by less than the rest, but is no covariance where noise reaches a state by A
 * alone and A changes its sign. */
#ifndef KALMAN_MIX_H
#define KALMAN_MIX_H

#include "base/transition.h"

/* The coefficients at a point: q = G G'. */
struct node_part {
    double *A, *b, *q, *G; /* (d, d), (d), (d, d), (d, noises) */
};

/* In this memory, one after the other. */
struct node_part node_part(size_t d, double *memory);

/* A, b and q of a step; room (6, d, d). */
void mix_nodes(size_t d, double h, const struct node_part *a,
               const struct node_part *b, const struct coefficients *to,
               double *room);

/* Sets the bars of both points; those of q are symmetric. */
void mix_nodes_vjp(size_t d, double h, const struct node_part *a,
                   const struct node_part *b, const struct coefficients *bar,
                   const struct node_part *a_bar, const struct node_part *b_bar,
                   double *room);

#endif
