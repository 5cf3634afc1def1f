/* SPDX-License-Identifier: MIT */
/* The posterior of the parameters by Markov chains that alternate between
 * paths and parameters. Paths determine the noise that drove them, so that
 * parameters cannot be drawn given paths (Roberts and Stramer 2001); what is
 * kept of them are the random numbers U that they are made of, in coordinates
 * of unit diffusion. A gap's estimate p^(theta, U) > 0 is unbiased, so
 *
 *     prior(theta) law(U) prod over gaps of p^_g(theta, U_g)
 *
 * has the exact posterior of theta as its margin, whatever the number of paths
 * (Beaumont 2003, Andrieu and Roberts 2009). An iteration of a chain:
 *
 *  1. paths: every gap gets other numbers U_g' from their law, and keeps them
 *     with probability min(1, p^_g(theta, U_g') / p^_g(theta, U_g)), each gap
 *     by itself: for given theta they are independent. With noisy
 *     observations the rows of a series are not independent: there a series
 *     is one unit, or several blocks of rows where its estimate is too noisy.
 *  2. parameters, U held, so that l^ is a smooth function: a proposal from a
 *     t law with the posterior's mean and covariance, and one from a random
 *     walk. The first forgets where it is, but fails where the posterior is
 *     not about normal; the second always works.
 *
 * All of these leave the law above as it is. Proposals begin at the maximum of
 * the likelihood with its observed information, and learn from the chains
 * during warm-up alone. Extrapolated or corrected likelihoods are not unbiased
 * and not used: the steps must be fine enough by themselves. */
#ifndef LEARN_GIBBS_H
#define LEARN_GIBBS_H

#include "learn/learner.h"

/* --- target.c ------------------------------------------------------------- */

/* The joint law as a function of theta and of U. Slots are what has random
 * numbers of its own: gaps, or stops; a unit is what one estimate is of. */
struct target {
    struct learner *l;
    gsv_options options;
    struct objective all;
    size_t units, slots, longest; /* most slots of a unit             */
    size_t *unit;                 /* (slots)                          */
    size_t *rank, *size;          /* (slots) in its unit; (units)     */
    bool random;                  /* whether there are numbers at all */
    double ceiling; /* of a likelihood that can be one: above it, steps are
                     * far too long for theta, which is refused             */
};

struct level {
    double loglik;        /* sum over units                         */
    struct log_prior log; /* loglik + log.theta is what decides     */
};

/* The options are copied; must stay where it is. */
int target_init(struct target *t, struct learner *l, const gsv_options *o);
void target_free(struct target *t);

/* At theta with numbers by stream (slots); each unit's log p^ to unit (units).
 * What is not finite is -INFINITY, not a failure. */
int target_at(struct target *t, const double *theta, const uint32_t *stream,
              double *unit, struct level *level);

/* The sum of units; -INFINITY where it is not finite. */
double target_sum(const struct target *t, const double *unit);

/* --- gibbs_move.c --------------------------------------------------------- */

/* Laws of proposals over the free numbers, (free) and (free, free). */
struct proposal {
    size_t n;
    double *mean, *C; /* as last learned                                */
    double *root;     /* Cholesky factor of C                           */
    double scale;     /* of the walk, in deviations                     */
    bool independent; /* whether proposals from the t law are accepted  */
    size_t blocks;    /* that slots of a unit are refreshed in          */
};

struct chain {
    double *theta;    /* (theta size)           */
    uint32_t *stream; /* (slots)                */
    double *unit;     /* (units) log p^         */
    struct level level;
};

/* Tries and successes: paths, t law, walk. */
enum move { MOVE_PATHS, MOVE_JUMP, MOVE_WALK, MOVES };
struct counts {
    double tried[MOVES], kept[MOVES];
};

/* All that chains share. */
struct gibbs {
    struct learner *l;
    struct target target;
    struct proposal proposal;
    struct chain *chain;
    size_t chains, n;   /* n: free numbers       */
    size_t *place;      /* (n) in theta          */
    double *warm;       /* (warmup, chains, n)   */
    struct chain trial; /* what is proposed      */
    double *z, *y, *u;  /* (n + T_DEGREES), (n), (units + MOVES) */
    bool *kept;         /* (units)               */
    struct counts counts;
    gsv_draws *draws;
};

enum { T_DEGREES = 5 };

/* One iteration of a chain. */
int gibbs_move(struct gibbs *g, size_t chain, uint32_t iteration);

/* Learns mean and covariance from rows (count, n), with what was known before
 * counting as `before` rows. */
void proposal_learn(struct gibbs *g, size_t count, const double *row,
                    double before);

/* root from C; deviations alone where that is no covariance. */
void proposal_factor(struct proposal *p);

/* --- gibbs.c -------------------------------------------------------------- */

/* After the maximum has been found: chains, draws and record. The model has
 * the posterior means then. */
int gibbs(struct learner *l, const double *mode);

/* --- posterior.c ---------------------------------------------------------- */

/* Draws to the record: means to the model's values, then all the rest. */
void posterior_values(struct learner *l, const gsv_draws *d);
int posterior_note(const struct learner *l, const gsv_draws *d, gsv_record *r);

#endif
