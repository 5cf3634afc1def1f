/* SPDX-License-Identifier: MIT */
/* Which estimator a model gets, and how it is used (model/method.h). */
#ifndef ESTIMATOR_ESTIMATOR_H
#define ESTIMATOR_ESTIMATOR_H

#include "model/method.h"

struct estimator {
    const struct method *method;
    void *machine;
};

/* The row for a task, and a sentence that says why: by its objective, by what
 * is observed, by the noise. */
struct method_choice {
    const struct method *method;
    const char *reason;
};
struct method_choice estimator_choose(const struct task *t);

/* Points of hidden states: those of the options, or by default; those of a
 * result where only that knows. */
size_t estimator_points(const gsv_model *m, const gsv_options *o,
                        const gsv_result *r);

/* Whether the data decide between two of them: see settle.h. */
bool estimator_is_open(const struct task *t);

/* Fails where a row cannot run the task: for its own reasons, or because the
 * model has what the row does not say that it knows of. */
int estimator_accept(const struct method *method, const struct task *t);

/* What the task borrows stays borrowed. estimator_free() also after a failure.
 */
int estimator_init(struct estimator *e, const struct task *t);
void estimator_free(struct estimator *e);

/* See struct method. */
int estimator_run(struct estimator *e, const struct request *q,
                  struct score *score);
int estimator_fill(struct estimator *e, const struct request *q, bool list,
                   gsv_result *r);
double estimator_doubt(const struct estimator *e);
bool estimator_is_rough(const struct estimator *e);

#endif
