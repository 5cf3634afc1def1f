/* SPDX-License-Identifier: MIT */
/* The Ljung-Box test of residuals in several tracks, with missing rows. With N
 * residuals of which n_l pairs are l rows apart in one track,
 *
 *     r_l = sum over pairs of x_n x_(n+l) / sum of x_n^2   (x minus its mean),
 *     Q   = N (N + 2) sum over lags of r_l^2 / n_l.
 *
 * Q is compared with its law for independent normal residuals in the same rows:
 * simulated where there are few of them, chi-squared where there are many. So
 * the p value is right for any number and length of tracks. */
#ifndef PREDICT_LJUNG_BOX_H
#define PREDICT_LJUNG_BOX_H

#include <stdbool.h>
#include <stddef.h>

#include "girsanov.h"

struct ljung_box {
    size_t rows, count;     /* all; those that are not missing        */
    size_t pairs[GSV_LAGS]; /* of rows so far apart                   */
    size_t *place, length;  /* (rows) in x, with zeros between tracks */
    bool *present;          /* (rows)                                 */
    double *x;              /* (length)                               */
    size_t simulations;
    double *plain, *squared; /* (simulations) sorted; NULL: not needed */
};

/* For residuals that are missing where z (rows) is NaN; the rows of a track
 * follow each other. */
int ljung_box_init(struct ljung_box *t, size_t rows, const size_t *track,
                   const double *z);
void ljung_box_free(struct ljung_box *t);

/* Whether z is missing in the same rows. */
bool ljung_box_fits(const struct ljung_box *t, const double *z);

/* The p value of z, or of z^2, with the correlations: NaN where no two rows are
 * so far apart. */
double ljung_box_test(struct ljung_box *t, const double *z, bool square,
                      double correlation[GSV_LAGS]);

#endif
