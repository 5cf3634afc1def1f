/* SPDX-License-Identifier: MIT */
/* The law of a row given the one before in closed form: of states that are
 * observed, with a linear drift and additive noise, without time and inputs. */
#ifndef PREDICT_RESIDUALS_H
#define PREDICT_RESIDUALS_H

#include "base/memory.h"
#include "model/model.h"

struct linear_law {
    bool is; /* whether the model is of this kind */
    const gsv_model *model;
    size_t d;
    double gap;    /* of Phi, Gamma and Q */
    double *A, *b; /* unit drift          */
    double *S, *s; /* x = S y + s         */
    double *Phi, *Gamma, *Q;
    double *half, *scratch; /* (2, d, d), more     */
    double *y, *mean;       /* (d)                 */
    struct arena arena;
};

/* The model is borrowed. To be freed always. */
int linear_law_init(struct linear_law *l, const gsv_model *m);
void linear_law_free(struct linear_law *l);

/* Mean and deviation (d) of each state by itself, a gap after x. */
int linear_law_at(struct linear_law *l, double gap, const double *x,
                  double *mean, double *deviation);

#endif
