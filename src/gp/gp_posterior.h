/* SPDX-License-Identifier: MIT */
/* The Gaussian q over the whitened numbers x = (u, e) of a Gaussian process
 * that is best for data with pull' w - w' H w / 2 as log-likelihood, w = R x:
 *
 *     q = N(m, S),   S = B^-1,   B = I + R' H R,   B m = R' pull.
 *
 * Among all Gaussians this is the one where the variational bound is stationary
 * (Opper & Archambeau 2009), exact where the log-likelihood is quadratic; so
 * its covariance is not approximated any further. The bound there is
 *
 *     E = log-likelihood at the mean - |m|^2 / 2 - log det B / 2,
 *
 * the Laplace evidence: the expected log-likelihood's -tr(H R S R') / 2 and the
 * traces of KL(q || prior) cancel. B is dense in the kept directions. */
#ifndef GP_GP_POSTERIOR_H
#define GP_GP_POSTERIOR_H

#include "base/random.h"
#include "gp/gp_information.h"

struct gp_posterior {
    const struct gp_root *root; /* borrowed                              */
    double *mean;               /* (rank) m                              */
    double *value;              /* (G + F) R m                           */
    double *slope;              /* (G + F) pull - H R m, with R' slope = m */
    double *L;                  /* (rank, rank) of B = L L'              */
    double *S;                  /* (rank, rank) when `inverted`          */
    bool inverted;
    double logdet; /* of B                                  */
    double *room;
    struct arena arena;
};

/* Fails when more directions are kept than dense matrices are made for. Before
 * the first update it is the prior. `inverse`: whether S may be asked for, as
 * KL, gradients and traces do. */
int gp_posterior_init(struct gp_posterior *q, const struct gp_root *root,
                      bool inverse);
void gp_posterior_free(struct gp_posterior *q);

/* The posterior given H and its pull: one Gauss-Newton step. To damp
 * steps, blend the information, not the result. A failure leaves the prior. */
int gp_posterior_update(struct gp_posterior *q, const struct gp_information *h);

/* The same in two parts: B from H, then m from the pull. */
int gp_posterior_bend(struct gp_posterior *q, const struct gp_information *h);
void gp_posterior_pull(struct gp_posterior *q, const struct gp_information *h);

/* u (rank) becomes B^-1 u. */
void gp_posterior_solve(const struct gp_posterior *q, double *u);

/* KL(q || prior) = (tr S + |m|^2 - rank + log det B) / 2; needs S. */
double gp_posterior_kl(struct gp_posterior *q);

/* E less the log-likelihood where w = 0: pull' w - w' H w / 2 at the mean
 * - |m|^2 / 2 - log det B / 2. */
double gp_posterior_evidence(const struct gp_posterior *q,
                             const struct gp_information *h);

/* gradient (axes + 2) = dE by log length of each axis, by log amplitude and by
 * log feature_sd, H and its pull held: m moves, but E is stationary in it. */
void gp_posterior_gradient(struct gp_posterior *q,
                           const struct gp_information *h, double *gradient);

/* tr(S R' D R), D (its pull is not looked at) a change of H: log det B moves by
 * as much. */
double gp_posterior_trace(struct gp_posterior *q,
                          const struct gp_information *D);

/* w (count, G + F) drawn from q: path `first` and those after it. */
void gp_posterior_draw(struct gp_posterior *q, const struct random_key *key,
                       uint64_t first, size_t count, double *w);

/* Mean and standard deviation of the function at points; of a derivative where
 * the rows are those of one. The part of the prior variance (count; NULL:
 * amplitude^2, that of values) that the nodes do not carry there (beyond the
 * grid, where weights fade, all of it) is in sd as if no data had been seen. */
void gp_posterior_at(struct gp_posterior *q, const struct gp_points *points,
                     const double *prior, double *mean, double *sd);

#endif
