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
#include "model/gp_sites.h"

/* What some points say about a function, and what follows. */
struct belief {
    struct gp_sites *sites;  /* borrowed                          */
    struct gp_information h; /* at w                              */
    struct gp_posterior q;   /* given h                           */
    size_t factors;          /* gp_sites_factors()                */
    double *factor, *before; /* now, and those of h and q         */
    bool made;               /* whether there are h and q         */
};

/* One output of a gp. */
struct function {
    size_t gp, output;
    bool map, made;
    size_t G, F;
    size_t value, weight;    /* where w is in theta               */
    struct gp_root root;     /* of the kernel's present numbers   */
    struct belief data;      /* what E's B and the posterior are  */
    struct belief path;      /* what steps are taken by           */
    struct belief *steps_by; /* one of these two             */
    double *w, *s;           /* (G + F) and the gradient there    */
    double *m, *u;           /* (rank) w = R m; R' s - m          */
    double *m0, *u0;         /* (rank) before the last step       */
    double *z, *p;           /* (rank) B^-1 u; where a step goes  */
    double *moved;           /* (factors of the data)             */
};

struct evidence {
    struct learner *l;
    struct objective all;
    struct gp_sites sites;     /* of the data                              */
    struct gp_sites path;      /* of whole paths, under a bound            */
    struct gp_information *dh; /* (gps) room for a change of H         */
    struct function *f;
    size_t count;
    size_t *place, outer; /* (outer) where E's own numbers are in theta */
    double *theta, *gradient, *kept; /* (n)                             */
    struct score score;
    double phi, value;        /* at theta: see evidence_mean.c; E       */
    bool evaluated;           /* whether they are those of m          */
    double best, *best_theta; /* the largest E so far; (n) its theta  */
    double limit;             /* of doubt; 0: none yet                     */
    bool can_stop;            /* E may be stopped before its end      */
};

/* Under an estimator; from theta (n) on. Must stay where it is. The estimate of
 * a likelihood is one only where its steps are short enough, and E is refused
 * (GSV_NUMERICAL) where a gap's may be off by more than this limit: beyond,
 * functions would be learned that vary strongly between the times at which they
 * are evaluated. 0: the first evaluation sets the limit. */
int evidence_init(struct evidence *e, struct learner *l, const gsv_options *o,
                  const double *theta, double limit);
void evidence_free(struct evidence *e);

/* E at x (outer), and its gradient unless that is NULL; w moves to where it is
 * best. */
int evidence_at(struct evidence *e, const double *x, double *value,
                double *gradient);

/* Of a function's w in a theta. */
void function_store(const struct function *f, double *theta);
void function_get(const struct function *f, const double *theta, double *w);

/* Its w from there, and m with R m as near to it as it comes. */
void function_load(struct function *f, const double *theta);

/* Moves w to where it is best for present kernels, whose roots are made: see
 * evidence_mean.c. */
int evidence_mean(struct evidence *e);

/* Moves the numbers of kernels in x (outer) that are not set to a good start:
 * see start_kernels.c. */
int start_kernels(struct evidence *e, double *x);

/* What is known of the functions to the model: see model/posterior.h. */
int evidence_keep(const struct evidence *e);

/* What is not known of the kernels, too, and the functions of theta (n) become
 * means over kernels: see evidence_kernels.c. */
int evidence_spread(struct learner *l, double *theta);

#endif
