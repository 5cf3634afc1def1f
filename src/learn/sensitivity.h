/* SPDX-License-Identifier: MIT */
/* How the drift depends on the coefficients of terms (lang/terms.c). With
 * J = df/dc at the rows of the data, w = 1 / (variance of increments per time)
 * of each state, and gaps of length h,
 *
 *     M = sum over gaps of h J' w J,   b = sum over gaps of J' w (dz - h f)
 *
 * are about the information of c and the score: c + M^-1 b is a regression of
 * increments, where a fit starts; and in L' c, with M = L L', the likelihood is
 * about as steep in all directions, where x^3 and x are not. */
#ifndef LEARN_SENSITIVITY_H
#define LEARN_SENSITIVITY_H

#include "model/gaps.h"

/* Coefficients of the drift by a regression; those that are kept, (theta size),
 * stay. */
int start_terms(gsv_model *m, const gsv_series *s, const bool *kept);

/* Directions in which coefficients are searched: n of the free numbers. */
struct whitener {
    size_t n;
    size_t *place; /* (n) among the free numbers */
    double *scale; /* (n)                        */
    double *L;     /* (n, n)                     */
    double *room;  /* (n)                        */
};

/* Of a model with its present values; n is 0 without terms. number is (free),
 * the places in theta. Free it in any case. */
int whitener_init(struct whitener *w, gsv_model *m, const gsv_series *s,
                  size_t free, const size_t *number);
void whitener_free(struct whitener *w);

/* Free numbers to those that are searched over, and back; and a gradient by the
 * former to one by the latter. All in place. */
void whitener_apply(const struct whitener *w, double *x);
void whitener_undo(const struct whitener *w, double *x);
void whitener_gradient(const struct whitener *w, double *g);

#endif
