/* SPDX-License-Identifier: MIT */
/* The log weight of paths against the Brownian reference (Girsanov's theorem,
 * Ito's left sums),
 *
 *     S_k = sum over m of f_m' (dY_m - f_m dt/2),
 *
 * and the same with steps twice as long, from every second point. */
#ifndef SDE_WEIGH_H
#define SDE_WEIGH_H

#include <stddef.h>

/* S2 pairs steps 0-1, 2-3, ...; an odd last step stands alone. */
void weigh(size_t d, size_t steps, size_t K, double dt,
           const double *f,  /* (d, steps, K) drift at left ends */
           const double *dY, /* (d, steps, K)                    */
           double *S,        /* (K) +=                           */
           double *S2);      /* (K) +=                           */

/* f_bar = S_bar (dY - f dt), dY_bar = S_bar f: these are set, not added. */
void weigh_vjp(size_t d, size_t steps, size_t K, double dt, const double *f,
               const double *dY, const double *S_bar, /* (K) */
               double *f_bar, double *dY_bar);

#endif
