/* SPDX-License-Identifier: MIT */
/* Steps of the parameters that make up the noise alone: natural gradients. The
 * log density of an increment with the root sigma of its covariance has the
 * information
 *
 *     I_ij = 1/2 <B_i, B_j>,   B_i = A_i + A_i',   A_i = sigma^-1
 * dsigma/dtheta_i
 *
 * and theta += share I^-1 gradient moves sigma by this share of the way to the
 * covariance of the batch's residuals, in any parametrisation; with a part
 * `spent` of them, which a drift from few data has fitted, to 1 / (1 - spent)
 * of this. */
#ifndef LEARN_NOISE_STEP_H
#define LEARN_NOISE_STEP_H

#include "learn/sample.h"

struct noise_step {
    gsv_model *m;
    double spent;  /* share of the residuals that the drift has fitted */
    size_t n;      /* numbers of theta that are moved so; may be 0 */
    size_t *place; /* (n) in theta                                 */
    size_t *value; /* (n) in the model's values                    */
    struct sample sample;
    struct program *program; /* sigma and its shape at points     */
    struct uniforms uniforms;
    struct workspace workspace;
    size_t width;  /* of a root: d where it is diagonal, else d^2 */
    double *root;  /* (P, width)                                  */
    double *moved; /* (n, P, width) with one number moved         */
    double *B;     /* (n, width) of one point                     */
    double *information, *trace, *step; /* (n, n), (n), (n)       */
    struct arena arena;
};

/* fixed (theta) are left alone. Freed in any case. */
int noise_step_init(struct noise_step *z, gsv_model *m, const gsv_series *s,
                    const bool *fixed);
void noise_step_free(struct noise_step *z);

/* Moves theta by the gradient of a gap's mean log density. The gradient at
 * these places becomes 0. */
void noise_step_move(struct noise_step *z, double share, double *gradient,
                     double *theta);

#endif
