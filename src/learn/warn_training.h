/* SPDX-License-Identifier: MIT */
/* What is said in the record of a fit about a search by batches. */
#ifndef LEARN_WARN_TRAINING_H
#define LEARN_WARN_TRAINING_H

#include "learn/learner.h"

/* Networks that learned nothing, or that fell again and again. */
int warn_of_training(const struct learner *l, gsv_record *r);

/* Networks that the data are too few for. */
int warn_of_few_data(struct learner *l, const double *theta, gsv_record *r);

/* A search that gave up. */
int warn_of_search(const struct learner *l, gsv_record *r);

/* The last estimate was stopped before its end. */
int warn_of_halt(const struct learner *l, gsv_record *r);

#endif
