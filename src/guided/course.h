/* SPDX-License-Identifier: MIT */
/* The equations as the steps of a guided filter take them. A point x has the
 * states in coordinates u, then the integrals that observations are made of
 * (accumulators, which begin at 0 after every row):
 *
 *     dx = F(x, t) dt + G(x, t) dW,   F (D), G (D, m).
 *
 * u are the stretched states (model/unit.c), whose noise does not depend on
 * them, where there are such; else the equations' own. G may be any matrix,
 * with rows of zeros, too. */
#ifndef GUIDED_COURSE_H
#define GUIDED_COURSE_H

#include "base/memory.h"
#include "model/model.h"

/* Outputs of COURSE_MIDDLE. */
enum { MIDDLE_DRIFT, MIDDLE_NOISE, MIDDLE_SLOPE, MIDDLE_CURVATURE, MIDDLES };

/* Its programs. All but the last two are over x. */
enum course_part {
    COURSE_DRIFT,   /* F                                                    */
    COURSE_MIDDLE,  /* F, G, F'G, and how F curves by the noise, tr(G'F''G) */
    COURSE_SLOPE,   /* dF/dx (D, D), where F has no network; else, where noise
                       is integrated, with 0 in the rows of networks        */
    COURSE_VALUE,   /* of every obs its log density                         */
    COURSE_DENSITY, /* the same, and its gradient (D), without networks     */
    COURSE_FIRST,   /* log density of the first state's latent elements in u */
    COURSE_DEPART,  /* z, and of every event what it adds to z              */
    COURSE_PLACE,   /* the states in the data's coordinates                 */
    COURSE_RANGE,   /* positive inside of the range of u                    */
    COURSE_START,   /* over z: mean and deviation of the first state        */
    COURSE_ENTER,   /* over the data: u, and du_i/dx_i of every state       */
    COURSE_PARTS
};

struct course {
    const gsv_model *model;
    struct graph *graph; /* the model's, with what follows */
    size_t d, D;
    size_t noises, m; /* columns of G, and of B */
    size_t orders; /* how often a step integrates noise: 0 where no state needs
                      that of another (model/reach.h) */
    size_t conditions;                  /* of COURSE_RANGE */
    struct program *part[COURSE_PARTS]; /* NULL: there is nothing to compute */
    bool stretched;    /* whether u is anything but the equations' state      */
    bool ends;         /* whether a state has a least value for F and G     */
    double *least;     /* (D) these, those of integrals, or -INFINITY       */
    bool open;         /* F'G and the curvature are there: F has no network */
    bool linear;       /* F is linear in x, and G does not depend on it     */
    bool steady;       /* neither depends on t and inputs                   */
    bool normal_first; /* the first state is normal in u                    */
    bool curved;       /* what is observed may have several modes           */
};

/* The model is borrowed. wide: networks in double. */
int course_init(struct course *f, const gsv_model *m, bool wide);
void course_free(struct course *f);

/* coordinates.c: u, at the model's present values, and where noise ends. */
int course_choose(struct course *f);

/* Values of all programs at some parameters. */
struct course_values {
    struct uniforms part[COURSE_PARTS];
};
int course_values_init(struct course_values *v, const struct course *f);
void course_values_free(struct course_values *v);
void course_prepare(const struct course *f, const double *parameters,
                    struct course_values *v);

/* Points of a block at most. */
enum { COURSE_BLOCK = 256 };

/* The memory of one thread to run them: blocks of at most COURSE_BLOCK points.
 */
struct course_room {
    struct workspace part[COURSE_PARTS];
    double *time, *input, *slope, *dot;
    struct arena arena;
};
int course_room_init(struct course_room *r, const struct course *f);
void course_room_free(struct course_room *r);

#endif
