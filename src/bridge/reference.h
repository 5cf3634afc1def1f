/* SPDX-License-Identifier: MIT */
/* The reference of a gap: the Gaussian process that its bridges are drawn
 * from, in unit-diffusion coordinates, dY = (A_m Y + b_m) dt + dW in step m of
 * M; brownian is A = 0, b = 0 and needs no matrices. Where the model has chains
 * of integrals (model.h), dW stands in their noisy coordinates only, every A
 * has the chains in its other rows, and brownian is A with these alone.
 *
 * From the right end to the left, with Phi, c = Gamma b and Q of each step,
 *
 *     F_M = I, k_M = 0, R_M = 0
 *     F_m = F_{m+1} Phi_m,  k_m = k_{m+1} + F_{m+1} c_m,
 *     R_m = R_{m+1} + F_{m+1} Q_m F_{m+1}'
 *
 * so that y1 | Y_m ~ N(F_m Y_m + k_m, R_m), p_ref is that at m = 0, and the
 * bridge steps by
 *
 *     Y_{m+1} = B_m Y_m + h_m + G_m y1 + L_m xi,    G_m = Q_m F_{m+1}' R_m^-1,
 *     E = I - G_m F_{m+1},  B_m = E Phi_m,  h_m = E c_m - G_m k_{m+1},
 *     L_m L_m' = E Q_m.
 *
 * A is a constant under differentiation, and so is b_x, b in the coordinates of
 * the data. The mean of the bridge is then constant there, too. In
 * unit-diffusion coordinates b = T'(x) b_x depends on the noise, where x is the
 * place at which the drift was linearised. With a constant b the few paths
 * would be far from where the drift is, and the gradient by the noise of little
 * use.
 */
#ifndef BRIDGE_REFERENCE_H
#define BRIDGE_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>

#include "girsanov.h"

struct reference {
    enum gsv_reference kind;
    bool pairs;          /* whether steps twice as long are needed, too */
    const size_t *next;  /* (d) of the model's chains, or NULL */
    const double *noise; /* (d) the same */
    size_t d, M;
    double dt;
    /* Vectors (M, d), matrices (M, d, d). */
    double *b, *c, *h, *half_c; /* half_c: Gamma b of half a step */
    double *place;              /* where the drift was linearised */
    double *A, *Phi, *Gamma, *Q, *half_Phi, *half_Gamma;
    double *F; /* F_{m+1} at m */
    double *B, *G, *L;
    /* The midpoint form: W = Gamma' Q^-1, V = W Gamma. */
    double *W, *V;
    /* Steps m and m + 1 as one, m even: the precision of the sum of their
     * noises; A (the mean of both), Phi, Gamma and precision of a reference
     * with steps twice as long; half the difference of both log-determinants
     * (M). */
    double *pair_P, *long_A, *long_Phi, *long_Gamma, *long_P, *pair_log;
    /* p_ref: (d, d), (d), (d, d) the Cholesky factor of R_0. */
    double *F0, *k0, *R0;
    double *scratch;
};

/* Whether it is brownian without matrices. */
static inline bool reference_is_plain(const struct reference *r)
{
    return r->kind == GSV_REFERENCE_BROWNIAN && !r->next;
}

/* Doubles for M steps. */
size_t reference_size(size_t d, size_t M);

/* Lays out a reference over memory of that size for up to M steps. */
void reference_place(struct reference *r, size_t d, size_t M, double *memory);

/* All of the rest from A and b of every step (of the first one where kind is
 * linear); those of brownian are set here. False where the matrices cannot be
 * factored. */
bool reference_build(struct reference *r, enum gsv_reference kind, size_t M,
                     double dt);

/* log N(y1; F0 y0 + k0, R0), brownian included. */
double reference_log_density(const struct reference *r, const double *y0,
                             const double *y1);

/* Adds scale times its gradient. */
void reference_log_density_vjp(const struct reference *r, const double *y0,
                               const double *y1, double scale, double *y0_bar,
                               double *y1_bar, double *k0_bar);

/* The mean of the bridge from y0 to y1 at the middle of every step, (M, d). It
 * is NAN where a matrix cannot be factored. */
void reference_mean(const struct reference *r, const double *y0,
                    const double *y1, double *middle);

/* Gradients (M, d) by b and by what is computed from it: b, c and half_c in the
 * weights and in the bridge; k: by k_m in step m. */
struct reference_bar {
    double *b, *c, *half_c, *k;
};

/* Adds all of them to bar->b: of every step, or of the first one where kind is
 * linear. k_bar (d) is the gradient by k_0, and is overwritten. */
void reference_vjp(const struct reference *r, double *k_bar,
                   struct reference_bar *bar);

/* --- Bridges -------------------------------------------------------------- */

/* Bridges between two ends are walked from left to right, so that a slice of
 * the steps needs only the place where it starts. A Brownian bridge steps by
 *
 *     Y_{m+1} = Y_m + (y1 - Y_m)/(M - m) + sqrt(dt (M-m-1)/(M-m)) xi_m,
 *
 * one of a linear reference as above. Rows are coordinates, ld apart; within a
 * row steps, and within a step K paths. */

/* Steps [first, first + steps). The last step of all ends in y1 exactly and
 * takes no noise: its rows of xi are not read. */
void bridge_walk(const struct reference *r, const double *y1, size_t first,
                 size_t steps, size_t K,
                 const double *xi, /* (steps, d, K) standard normals      */
                 double *at,       /* (d, K) where the paths are: updated */
                 double *Y,        /* (d; steps, K) left ends             */
                 double *dY,       /* (d; steps, K) increments            */
                 size_t ld, double *scratch /* (d, K) */);

/* The sums over the paths that the backward walk needs, lambda (M + 1, d):
 * Y_m has Y_bar_m - dY_bar_m + dY_bar_(m-1). */
void bridge_gather(size_t d, size_t first, size_t steps, size_t K,
                   const double *Y_bar, const double *dY_bar, size_t ld,
                   double *lambda);

/* A path is linear in its ends and in the reference's c: from lambda to them.
 * scratch (2, d). */
void bridge_vjp(const struct reference *r, const double *lambda, double *y0_bar,
                double *y1_bar, struct reference_bar *bar, double *scratch);

#endif
