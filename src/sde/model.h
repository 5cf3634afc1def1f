/* SPDX-License-Identifier: MIT */
/* A model: its spec, the values of its parameters, and the expressions that
 * bring it to unit diffusion. With y = T(x, t) = sigma(t)^-1 x,
 *
 *     dY = f~(Y, t) dt + dW,   f~ = sigma^-1 (f(sigma y, t) - sigma' y),
 *
 * and log p(x'|x) = log p(y'|y) + log |det dT/dx| at the later end. */
#ifndef SDE_MODEL_H
#define SDE_MODEL_H

#include "data/safetensors.h"
#include "graph/program.h"
#include "lang/spec.h"

#include "girsanov.h"

struct gsv_model {
    struct spec *spec;
    const char **column;  /* (dim + inputs), borrowed from the spec */
    double *value;        /* (spec->parameters)                     */
    node unit_drift;      /* f~(y, t): (dim, 1)                     */
    node unit_state;      /* T(x, t): (dim, 1)                      */
    node data_state;      /* T^-1(y, t): (dim, 1)                   */
    node log_jacobian;    /* log |det dT/dx|                        */
    bool learned_noise;   /* whether T depends on parameters        */
    bool *noise_input;    /* (inputs) whether the noise depends on it */
    bool *noise_param;    /* (params) the same                      */
    bool *drift_param;    /* (params) whether the drift does        */
    bool calls;           /* whether the drift is a C callback      */
    char *text;           /* what it was made from, or ""           */
    gsv_record *record;   /* of a fit, or NULL                      */
    struct tensors state; /* of an optimiser that can be resumed    */
};

/* A copy, with '?' for what is not UTF-8: a fit takes nothing else, but in a
 * text's comments and in file names there may be anything. */
char *utf8_string(const char *text);

/* A node of the model's graph at points, to out (size, P). wide: networks in
 * double. */
int model_evaluate(const gsv_model *m, node what, const struct points *in,
                   bool wide, double *out);

#endif
