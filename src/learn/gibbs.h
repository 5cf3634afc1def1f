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
 * Random effects u_i = m + L z_i of every series are numbers of the chain, too,
 * with the factor N(u_i; m, L L') each and p^_g(theta, u_i, U_g). Then
 *
 *  3. effects: each series by itself gets others, from a t law with their mean
 *     and covariance given theta (Laplace), and from a random walk;
 *  4. m and L, u held: drawn from their conditional law, which is known
 *     (conjugate.c), where nothing else depends on them; all others by a walk.
 *
 * In 2. it is z that is held: where series say little about their effects this
 * moves m and L far, and 4. does where they say much (Yu and Meng 2011).
 *
 * All of these leave the law above as it is. Proposals begin at the maximum of
 * the likelihood with its observed information, and learn from the chains
 * during warm-up alone. Extrapolated or corrected likelihoods are not unbiased
 * and not used: the steps must be fine enough by themselves. */
#ifndef LEARN_GIBBS_H
#define LEARN_GIBBS_H

#include <stddef.h>

#include "learn/learner.h"
#include "panel/given.h"

/* --- target.c ------------------------------------------------------------- */

/* The joint law as a function of theta, of u and of U. Slots are what has
 * random numbers of its own: gaps, or stops; a unit is what one estimate is of.
 * A thread has its own, with values of its own. */
struct target {
    struct learner *l;
    gsv_model model; /* with its own values               */
    double *value;   /* (values)                          */
    struct prior prior;
    gsv_options options;
    struct objective all; /* without random effects            */
    struct given given;   /* with them                         */
    struct effect_law law;
    size_t tracks, effects;       /* with effects; effects of a track */
    size_t units, slots, longest; /* most slots of a unit             */
    size_t *unit;                 /* (slots)                          */
    size_t *rank, *size;          /* (slots) in its unit; (units)     */
    bool random;                  /* whether there are numbers at all */
    size_t refused; /* likelihoods above the ceiling: a likelihood that can be
                     * one is below; above it, steps are far too long        */
};

struct level {
    double loglik;        /* sum over units                         */
    double effects;       /* log p(u), sum over tracks              */
    struct log_prior log; /* loglik + log.theta is what decides     */
};

/* What is at a place: of theta, u (tracks, effects) and streams (slots). */
struct chain {
    double *theta;    /* (theta size)                        */
    double *u;        /* (tracks, effects)                   */
    uint32_t *stream; /* (slots)                             */
    double *unit;     /* (units) log p^                      */
    struct level level;
};

/* Must stay where it is. */
int target_init(struct target *t, struct learner *l, const gsv_options *o);
void target_free(struct target *t);

/* Sets the values of the target's model. */
void target_set(struct target *t, const double *theta);

/* At theta, u and stream of c: its units and its level; with the ceiling of a
 * likelihood. What is not finite is -INFINITY, not a failure. */
int target_at(struct target *t, double ceiling, struct chain *c);

/* The level of c from its units, its effects and its theta alone. */
void target_level(struct target *t, struct chain *c);

/* The sum of units; -INFINITY where it is not finite. */
double target_sum(const struct target *t, const double *unit);

/* Whether an estimate is so short that threads take longer to wake up. */
bool target_is_small(const struct learner *l, const gsv_options *o);

/* --- proposal.c ----------------------------------------------------------- */

/* Tries and successes: paths; theta by the t law and by walks with z held, and
 * with u held; effects by the t law and by a walk. */
enum move {
    MOVE_PATHS,
    MOVE_JUMP,
    MOVE_WALK,
    MOVE_HELD,
    MOVE_EFFECT,
    MOVE_STEP,
    MOVES
};
struct counts {
    double tried[MOVES], kept[MOVES];
};

/* Laws of proposals over the free numbers, (free) and (free, free). */
struct proposal {
    size_t n;
    double *mean, *C;    /* as last learned                                */
    double *root;        /* Cholesky factor of C                           */
    double scale[MOVES]; /* of walks, in deviations                        */
    bool independent;    /* whether proposals from the t law are accepted  */
    size_t blocks;       /* that slots of a unit are refreshed in          */
    size_t helds;        /* numbers that walk while u is held              */
    size_t *held;        /* (helds) which of the free ones                 */
    double *held_root;   /* (helds, helds) factor of their part of C       */
};

/* root from C; deviations alone where that is no covariance. */
void proposal_factor(struct proposal *p);

/* Learns mean and covariance from rows (count, n), with what was known before
 * counting as `before` rows; room (n). */
void proposal_learn(struct proposal *p, size_t count, const double *row,
                    double before, double *room);

/* The scale of a walk over n numbers, after so many tries and successes in an
 * iteration. */
void proposal_tune(struct proposal *p, enum move move, size_t n,
                   const struct counts *c, size_t iteration);

/* --- All that chains share ------------------------------------------------ */

/* The law of a track's effects given theta, about: precision and information
 * of its likelihood, from its mode at the largest likelihood of theta. */
struct effect_guess {
    double *precision; /* (tracks, effects, effects)          */
    double *pull;      /* (tracks, effects) precision x center */
    double *center;    /* (tracks, effects) the mode          */
    double *root;      /* (tracks, effects, effects) around it */
};

/* A part of u whose mean, or whose root, is numbers of theta that nothing else
 * depends on: conjugate.c. */
struct conjugate {
    size_t at, k;                 /* which of the effects                   */
    bool has_mean, has_root;      /* which of these                         */
    size_t mean[EFFECTS_MOST];    /* (k) places in theta                    */
    size_t root[EFFECTS_SQUARED]; /* (k, k) the same of a lower matrix      */
};

/* What a thread works with. */
struct seat {
    struct target target;
    struct chain trial; /* what is proposed                                */
    double *z, *y;      /* (3 n + T_DEGREES), (n)                          */
    double *accept;     /* (units + 3)                                     */
    bool *kept;         /* (units)                                         */
    double *w;          /* (tracks, effects)                               */
    double *ahead;      /* (tracks)                                        */
    double *each;       /* (tracks) uniform numbers                        */
    struct counts counts;
};

struct gibbs {
    struct learner *l;
    struct proposal proposal;
    struct chain *chain, *before; /* (chains) now, at the round's begin     */
    struct counts *count;         /* (chains) of the last round             */
    int *status;                  /* (chains)                               */
    size_t *refused;              /* (chains)                               */
    size_t chains, n;             /* n: free numbers                        */
    size_t *place;                /* (n) in theta                           */
    double *warm;                 /* (warmup, chains, n)                    */
    struct seat *seat;            /* (seats)                                */
    size_t seats;
    bool small; /* threads are no use for one iteration   */
    struct effect_guess guess;
    struct conjugate block[EFFECTS_MOST];
    size_t blocks;
    double ceiling; /* of a likelihood that can be one        */
    struct counts counts;
    size_t done;    /* iterations                             */
    size_t first;   /* of the round under way...              */
    size_t round;   /* ...and how many there are in it        */
    double *loglik; /* (chains, MOST_ROUND) of the round      */
    char *message;  /* (chains, MESSAGE_ROOM) of what failed  */
    gsv_draws *draws;
};

enum { T_DEGREES = 5, MOST_ROUND = 16, MESSAGE_ROOM = 400 };

/* --- gibbs_move.c --------------------------------------------------------- */

/* One iteration of a chain. */
int gibbs_move(struct gibbs *g, struct seat *s, size_t chain,
               uint32_t iteration);

void gibbs_count(struct seat *s, enum move move, bool kept);

/* --- gibbs_effects.c ------------------------------------------------------ */

/* Where the effects are at the largest likelihood. Free in any case. */
int effect_guess_init(struct gibbs *g, const double *mode,
                      const gsv_options *o);
void effect_guess_free(struct effect_guess *e);

/* Effects of a start, from their laws around the modes. */
void gibbs_start_effects(const struct gibbs *g, size_t chain, double *u);

/* Others for every track, by the t law and by a walk. */
int gibbs_move_effects(struct gibbs *g, struct seat *s, size_t chain,
                       uint32_t iteration);

/* --- conjugate.c ---------------------------------------------------------- */

/* Finds the blocks; marks their numbers of theta in drawn (theta size). */
int conjugate_find(struct gibbs *g, const double *mode, bool *drawn);

/* Draws mean and root of each given u. */
int gibbs_draw_laws(struct gibbs *g, struct seat *s, size_t chain,
                    uint32_t iteration);

/* --- gibbs_state.c -------------------------------------------------------- */

/* The chains to the tensors of a checkpoint; and back, with g->done set, where
 * there are any in l->chains. */
int gibbs_keep(void *gibbs, struct tensors *t);
int gibbs_take(struct gibbs *g);

/* --- gibbs.c -------------------------------------------------------------- */

/* After the maximum has been found: chains, draws and record. The model has
 * the posterior means then. */
int gibbs(struct learner *l, const double *mode);

/* --- posterior.c ---------------------------------------------------------- */

/* Draws to the record: means to the model's values, then all the rest. */
void posterior_values(struct learner *l, const gsv_draws *d);
int posterior_note(const struct learner *l, const gsv_draws *d, gsv_record *r);
int posterior_effects(const struct learner *l, const gsv_draws *d,
                      gsv_record *r);

#endif
