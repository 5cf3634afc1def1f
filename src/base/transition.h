/* SPDX-License-Identifier: MIT */
/* Linear equations over one gap, dz = (A z + b + slope s) dt + dN with noise of
 * covariance q dt, s the time since the gap began:
 *
 *     z' | z ~ N(Phi z + c, Q),      Phi = e^{A h},
 *     c = int_0^h e^{A (h - s)} (b + slope s) ds,
 *     Q = int_0^h e^{A s} q e^{A' s} ds.
 *
 * A may be singular, unstable or stiff, and q may be singular. */
#ifndef BASE_TRANSITION_H
#define BASE_TRANSITION_H

#include <stdbool.h>
#include <stddef.h>

/* What both functions need of scratch memory, in doubles. */
size_t transition_scratch(size_t d);

struct coefficients {
    double *A, *b, *slope, *q; /* (d, d), (d), (d), (d, d) symmetric */
};

struct transition {
    double *Phi, *c, *Q; /* (d, d), (d), (d, d) */
};

/* False where numbers overflow. */
bool transition_make(size_t d, double h, const struct coefficients *in,
                     const struct transition *out, double *scratch);

/* Sets the bars of the coefficients; those of q and Q are symmetric. */
void transition_vjp(size_t d, double h, const struct coefficients *in,
                    const struct transition *out_bar,
                    const struct coefficients *in_bar, double *scratch);

#endif
