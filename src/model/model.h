/* SPDX-License-Identifier: MIT */
/* A model: its spec, the values of its parameters, and the expressions that
 * bring it to unit diffusion. With y = T(x, t),
 *
 *     dY = f~(Y, t) dt + dW
 *
 * and log p(x'|x) = log p(y'|y) + log |det dT/dx| at the later end. Where the
 * noise is such that no T exists (bridged), y is the state of the equations
 * and dY = f~ dt + sigma(Y, t) dW. */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include "data/safetensors.h"
#include "graph/program.h"
#include "lang/spec.h"

#include "girsanov.h"

struct gsv_model {
    struct spec *spec;
    const char **column; /* (dim + inputs + values), of the spec   */
    const char **data;   /* (data_columns), of the spec            */
    size_t data_columns;
    double *value;        /* (spec->parameters)                     */
    node unit_drift;      /* f~(y, t): (dim, 1)                     */
    node state_drift;     /* f~ over z = T^-1(y): (dim, 1)          */
    node unit_state;      /* T(x, t): (dim, 1)                      */
    node data_state;      /* T^-1(y, t): (dim, 1)                   */
    node log_jacobian;    /* log |det dT/dx|                        */
    node domain;          /* (conditions, 1) over x: positive where T is */
                          /* defined, or 0 where it is everywhere   */
    node range;           /* the same of T^-1, over y               */
    node forth[3];        /* T, log |det dT/dx| and T'(x, t) v, over */
                          /* (x; v), a state of 2 dim rows          */
    node back[2];         /* T^-1 and (T^-1)'(y, t) w, over (y; w)  */
    node distance;        /* (conditions, 1) over y from the boundaries of */
                          /* the range, in one dimension; or 0      */
    node steepness;       /* a / distance, where f~ = a / distance + ... */
                          /* at the boundary                        */
    node data_drift;      /* of x itself, over x: (dim, 1)          */
    node data_diffusion;  /* (dim, noises), or (dim, 1) where it is */
                          /* diagonal and x is the state            */
    bool bridged;         /* whether no T brings it to unit diffusion */
    bool learned_noise;   /* whether T depends on parameters        */
    bool *noise_input;    /* (inputs) whether the noise depends on it */
    bool *noise_param;    /* (params) the same                      */
    bool *drift_param;    /* (params) whether the drift does        */
    bool calls;           /* whether the drift is a C callback      */
    char *text;           /* what it was made from, or ""           */
    gsv_record *record;   /* of a fit, or NULL                      */
    gsv_draws *draws;     /* of a gibbs fit, or NULL                */
    struct tensors state; /* of an optimiser that can be resumed    */
    /* Of gps that were fitted: see posterior.h. */
    struct tensors posterior;
};

/* --- unit.c ------------------------------------------------------------- */

/* Makes the expressions. */
int to_unit_diffusion(struct gsv_model *m);

/* --- ito.c -------------------------------------------------------------- */

/* Makes data_drift and data_diffusion. */
int to_data_coordinates(struct gsv_model *m);

/* --- model.c ------------------------------------------------------------ */

/* A copy, with '?' for what is not UTF-8: a fit takes nothing else, but in a
 * text's comments and in file names there may be anything. */
char *utf8_string(const char *text);

/* Of a bridged model: fails with the place of its noise, why it has no map, and
 * what to do. */
int refuse_noise(const gsv_model *m, const char *remedy);

/* Marks the inputs and parameters (params) that an expression is made of; the
 * values of observations are inputs, too. */
int spec_leaves(const struct spec *s, node root, bool *input, bool *param);

/* A node of the model's graph at points, to out (size, P). use_double: networks
 * in double. */
int model_evaluate(const gsv_model *m, node what, const struct points *in,
                   bool use_double, double *out);

/* The same of a graph with the model's parameters, such as a copy that grew. */
int model_evaluate_in(const gsv_model *m, const struct graph *g, node what,
                      const struct points *in, bool use_double, double *out);

/* Whether T jumps where a held input turns: the end of a step and the start of
 * the next then are different y of the same x. */
bool model_map_jumps(const gsv_model *m);

#endif
