/* SPDX-License-Identifier: MIT */
/* A selection under way. */
#ifndef LEARN_SELECT_H
#define LEARN_SELECT_H

#include "base/linalg.h"
#include "learn/linearise.h"
#include "learn/subset.h"

/* A set of units that was fitted. */
struct tried {
    bool *set;     /* (units)  */
    double *value; /* (values) */
    double loglik, error;
    bool draft; /* with one step a gap: where the search begins, no candidate */
};

struct select {
    gsv_model *m; /* with all terms; ours */
    const gsv_series *s;
    gsv_fit_options o;            /* of refits           */
    gsv_fit_options draft;        /* of drafts, and of quadratics */
    const gsv_fit_options *given; /* of the caller       */
    size_t n;                     /* candidates          */
    size_t *param;                /* (n) of the model    */
    size_t *number;               /* (n) places in theta */
    size_t *unit;                 /* (n)                 */
    size_t units;
    size_t *size;  /* (units) candidates of each        */
    double *share; /* (units) of the error: see cost.h  */
    double *nats;  /* (units) what each costs           */
    struct cost cost;
    struct tried *tried;
    size_t tries, capacity;
    size_t gaps, resamples;
    struct linearised near; /* around the last model that was looked at */
    struct subset subset;   /* of that quadratic                        */
};

/* The candidates, their units and what these cost; to be freed in any case. */
int candidates_find(struct select *z);
void candidates_free(struct select *z);

#endif
