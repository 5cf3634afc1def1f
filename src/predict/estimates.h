/* SPDX-License-Identifier: MIT */
/* Parameters from the normal law of a fit's estimates, in coordinates without
 * bounds. */
#ifndef PREDICT_ESTIMATES_H
#define PREDICT_ESTIMATES_H

#include "model/model.h"

/* The record has standard errors of the values and the correlations; those of
 * theta are these over the slopes. */
struct estimates {
    size_t n;              /* numbers of theta with a standard error */
    size_t *at;            /* (n) of theta  */
    size_t *place;         /* (theta) among the values */
    double *theta, *slope; /* (theta) */
    double *L;             /* (n, n) root of their covariance */
    double *z;             /* (n) */
};

/* Of a record with correlations. Free in any case. */
int estimates_init(struct estimates *e, const gsv_model *m,
                   const gsv_record *r);
void estimates_free(struct estimates *e);

/* All values (values) where theta is moved by L z, z (n). */
void estimates_move(const gsv_model *m, const struct estimates *e,
                    const double *z, double *value);

/* `count` draws (values) of all parameters. Yours; NULL after a failure. */
double *predict_values(const gsv_model *m, size_t count, uint64_t seed);

#endif
