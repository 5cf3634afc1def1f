/* SPDX-License-Identifier: MIT */
/* Where a fit starts from: what the data say before anything is learned. */
#ifndef LEARN_START_H
#define LEARN_START_H

#include "model/gaps.h"

/* The arguments of flows, and time where they depend on it, to mean 0 and
 * deviation 1 over the data. Flows that have scales already keep them. */
int start_flows(gsv_model *m, const gsv_series *s);

/* The inputs of networks to mean 0 and deviation 1 over the data, and their
 * outputs to what moves the states as fast as they are seen to move. Networks
 * that have scales already keep them. */
int start_scales(gsv_model *m, const gsv_series *s);

/* Grids of Gaussian-process functions over their arguments in the data. Those
 * that have a place already keep it. */
int start_grids(gsv_model *m, const gsv_series *s);

/* The parameters that the noise alone depends on, at the maximum of the
 * likelihood without any drift: the quadratic variation. kept (theta size)
 * are left as they are. */
int start_noise(gsv_model *m, const gsv_series *s, const bool *kept);

struct learner;

/* Networks of hidden states, from states that are taken from the data; values
 * (parameters) that are kept stay as they are. */
int start_hidden(struct learner *l, const bool *kept);

/* Coefficients of terms that are still 0, from draws of hidden states; those
 * that are kept, (theta size), stay. */
int start_hidden_terms(struct learner *l, const bool *kept);

#endif
