/* SPDX-License-Identifier: MIT */
/* The penalty lambda/2 |w - c|^2 of a network's weights w is a normal prior,
 * and with few data its precision lambda is estimated by the evidence (MacKay
 * 1992), with the network linearised in its weights (Immer et al. 2021). With
 * the rows J_g of the weights of network g, whitened so that J'J is their
 * information,
 *
 *     M = 1 + sum over g of J_g J_g' / lambda_g
 *     gamma_g = tr(M^-1 J_g J_g') / lambda_g      numbers that are determined
 *     lambda_g = gamma_g / |w_g - c_g|^2
 *
 * where w are not the weights of a search under way but the most probable ones
 * of the linear model, so that the fixed point is a maximum of the evidence of
 * y = r + J (w - c), with the residuals r, whatever the search has reached. J_g
 * J_g' = B_g B_g' by a pivoted Cholesky factor of few columns, and all is done
 * in their space. Biases of last layers are as good as free.
 *
 * With few data c are the weights as they were drawn, with 0 in the last layer,
 * and a search begins there, with a constant. Around 0 instead, all layers
 * vanish together, and weights that the data do not determine look like
 * evidence for a weak prior, because they stay as they were drawn. With many
 * data c is 0.
 *
 * gamma also says by how much residuals are too small (noise_step.h), and how
 * well the networks of a drift are known. Let G be what they gain, in nats,
 * over constants. The drift that they make has the squared size 2 G in units of
 * its noise, of which gamma is noise that was fitted: they are off by about
 * gamma, which is the share gamma / (2 G - gamma) of the truth. */
#ifndef LEARN_WEIGHT_PRIOR_H
#define LEARN_WEIGHT_PRIOR_H

#include "learn/learner.h"

/* Whether the data are few enough for it. */
bool weight_prior_is_used(const struct learner *l);

/* Sets l->penalty and l->centre (n) for a search that begins at l->theta, and
 * with few data moves it to the centre. */
void weight_prior_begin(struct learner *l);

/* New precisions at l->theta: l->penalty (n) of every number of theta, and
 * l->now.determined. */
int weight_prior_update(struct learner *l);

/* With many data the penalty begins low, and is raised where held-out gaps say
 * that weights fit noise; whether it may be, and twice as much of it. */
bool weight_prior_rises(const struct learner *l);
void weight_prior_raise(struct learner *l);

/* The mean of the penalties of weights of drifts, or of others, which are those
 * of a noise; NaN without any. */
double weight_prior_mean(const struct learner *l, bool of_drift);

struct weight_doubt {
    size_t weights;    /* of the networks of the drift            */
    double determined; /* gamma of these                          */
    double error;      /* expected, a share of the drift; or NAN  */
};

/* At theta; without an error where the data are many, or where there is no such
 * network. */
int weight_prior_doubt(struct learner *l, const double *theta,
                       struct weight_doubt *doubt);

#endif
