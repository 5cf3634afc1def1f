/* SPDX-License-Identifier: MIT */
/* The evidence of Gaussian-process functions: with w the values and weights of
 * all functions, R their prior's root, w = R m, and H the information of the
 * data about each of them,
 *
 *     E = max over m of [ log-likelihood - |m|^2 / 2 ] - log det B / 2,
 *     B = I + R' H R,
 *
 * as a function of what is left of theta: the kernels' numbers, the noise, the
 * formulas' parameters. Outputs have posteriors of their own: what H says of
 * two of them together is left out. Functions that are `map` are learned in the
 * same way, and then leave only their mean. */
#ifndef LEARN_EVIDENCE_H
#define LEARN_EVIDENCE_H

#include "gp/gp_posterior.h"
#include "learn/learner.h"
#include "sde/gp_sites.h"

/* One output of a gp. */
struct function {
    size_t gp, output;
    bool map, made;
    bool known; /* whether q is that of factor       */
    size_t G, F;
    size_t value, weight;     /* where w is in theta               */
    struct gp_root root;      /* of the kernel's present numbers   */
    struct gp_posterior q;    /* given h                           */
    struct gp_information h;  /* at w                              */
    struct gp_information dh; /* a change of it                    */
    double *w, *s;            /* (G + F) and the gradient there    */
    double *m, *u;            /* (G + F at most) w = R m; R' s - m */
    double *factor, *moved;   /* (sites)                           */
    double *before;           /* (sites) the factors of h          */
};

struct evidence {
    struct learner *l;
    struct objective all;
    struct gp_sites sites;
    struct gp_rows *rows; /* (gps) */
    struct function *f;
    size_t count;
    size_t *place, outer; /* (outer) where E's own numbers are in theta */
    double *theta, *gradient, *kept; /* (n)                             */
    struct score score;
    double loglik, value; /* at theta: log-likelihood, E               */
    double limit;         /* of doubt; 0: none yet                     */
};

/* Under an estimator; from theta (n) on. Must stay where it is. The estimate of
 * a likelihood is one only where its steps are short enough, and E is refused
 * (GSV_NUMERICAL) where a gap's may be off by more than this limit: beyond,
 * functions would be learned that are wild between the times that are looked
 * at. 0: a limit is set by the first look, where the search should begin. */
int evidence_init(struct evidence *e, struct learner *l, const gsv_options *o,
                  const double *theta, double limit);
void evidence_free(struct evidence *e);

/* E at x (outer), and its gradient unless that is NULL; w moves to where it is
 * best. */
int evidence_at(struct evidence *e, const double *x, double *value,
                double *gradient);

/* Moves those numbers of kernels in x (outer) that nobody set to a good start:
 * see start_kernels.c. */
int start_kernels(struct evidence *e, double *x);

/* What is known of the functions to the model: see sde/posterior.h. */
int evidence_keep(const struct evidence *e);

#endif
