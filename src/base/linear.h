/* SPDX-License-Identifier: MIT */
/* Linear SDEs dY = (A Y + b) dt + G dW over one step, exactly:
 *
 *     Y' | Y ~ N(Phi Y + Gamma b, Q),   Phi = e^{A dt},
 *     Gamma = int_0^dt e^{A s} ds,      Q = int_0^dt e^{A s} G G' e^{A' s} ds.
 *
 * G G' is diagonal: noise (d) has its diagonal, 1 or 0, and is NULL where all
 * of it is 1. A coordinate without noise has it from others, through A. */
#ifndef BASE_LINEAR_H
#define BASE_LINEAR_H

#include <stdbool.h>
#include <stddef.h>

/* The longest chain of integrals of a noise whose covariance is computed: the
 * correlations of 5 have the condition 2e5, those of 7 have 2e8. */
enum { LONGEST_CHAIN = 5 };

/* How a transition with |A| dt = size is summed up: series over dt /
 * 2^doublings with so many terms, then doubled; the last doubling goes from the
 * half to the whole. false where it would overflow. */
bool linear_plan(size_t d, const double *noise, double size, int *doublings,
                 int *terms);

/* What linear_transition() needs of scratch memory, in doubles. */
size_t linear_scratch(size_t d);

/* All matrices (d, d), row by row. Phi_half and Gamma_half are those of half a
 * step. false where numbers overflow. */
bool linear_transition(size_t d, double dt, const double *A,
                       const double *noise, double *Phi, double *Gamma,
                       double *Q, double *Phi_half, double *Gamma_half,
                       double *scratch);

#endif
