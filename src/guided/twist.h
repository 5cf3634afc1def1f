/* SPDX-License-Identifier: MIT */
/* Guided steps (ahead.h) of a block of P points, each with its own a (D, P) and
 * B (D, m, P). */
#ifndef GUIDED_TWIST_H
#define GUIDED_TWIST_H

#include "guided/ahead.h"

struct twist {
    size_t D, m, P;
    double *a, *B; /* (D, P), (D * m, P); changed where exact is given */
    double *L, *w; /* (m * m, P), (m, P)                               */
};

/* Steps given exact states of the next node (d, NaN where there is none): adds
 * the log density of these to log_w (P). */
void twist_given(struct twist *t, size_t d, const double *exact, double *log_w);

/* L and w, and adds log psi~ to log_w. A point where it is not finite gets
 * -INFINITY and stands still. */
void twist_guide(struct twist *t, const struct psi *next, double *log_w);

/* x (D, P) of z (m, P), which changes. */
void twist_draw(const struct twist *t, double *z, double *x);

/* The same for the sum of n psi: of each point L and w are those of one of
 * them, chosen by u (P) with its share of psi~. spare: L and w once more. */
void twist_guide_any(struct twist *t, size_t n, const struct psi *next,
                     const double *u, double *spare, double *log_w);

/* Subtracts log psi of x (D, P) from log_w; psi is the sum of n. */
void twist_divide(size_t D, size_t P, size_t n, const struct psi *psi,
                  const double *x, double *log_w);

#endif
