/* SPDX-License-Identifier: MIT */
/* Stochastic volatility on a lattice: one latent state w of unit noise beside
 * an exact one (struct lone_form of model.h). The law of w given the rows so
 * far is a function on evenly spread points, and a gap of length h takes it on
 * by
 *
 *     p(w', r | w) = p(w' | w) p(r | w, w'),   r = u' - u.
 *
 * Given both ends, w is a Brownian bridge with the weight exp(-int phi), so
 *
 *     p(w' | w) = N(w'; w, h) exp(int_w^w' f - int phi dt),
 *     r | w, w' ~ N(A, V),   A = int D dt + int_w^w' S,   V = int V(w) dt,
 *
 * with means over the bridge by Simpson's rule, exact for quadratic functions;
 * how A and V vary among bridges is kept by their covariance. No random
 * numbers. Where the drift keeps w from an end of its range like a / (w - end),
 * the density has Bessel's factor (bridge/barrier.h). */
#ifndef STRIP_STRIP_H
#define STRIP_STRIP_H

#include "base/memory.h"
#include "model/method.h"
#include "model/model.h"
#include "observe/observe.h"

/* --- table.c: the model's functions on the lattice ------------------------ */

enum strip_part {
    STRIP_TABLE,   /* over (w, u): all of lone_form.table              */
    STRIP_DENSITY, /* of every obs its log density; NULL without any   */
    STRIP_FIRST,   /* log density of the first w                       */
    STRIP_ENTER,   /* over the data: u, log |du/dx|                    */
    STRIP_START,   /* mean and deviation of the first w                */
    STRIP_RANGE,   /* distance of w from the end of its range; or NULL */
    STRIP_PARTS
};

/* The model as programs. */
struct strip_course {
    const gsv_model *model;
    struct graph *graph;
    struct program *part[STRIP_PARTS];
};
int strip_course_init(struct strip_course *c, const gsv_model *m, bool wide);
void strip_course_free(struct strip_course *c);

/* Functions at the points w = base + k step, k in [low, high) so far. Points of
 * one parity are a lattice; the others are the middles between its points. */
struct strip_table {
    const struct strip_course *course;
    struct uniforms uniforms[STRIP_PARTS];
    struct workspace space[STRIP_PARTS];
    double *state, *time, *input, *slope; /* of a block of points     */
    double now, *cell; /* time and values (values) of what is observed */
    double step, base;
    double end, a;    /* of the range, and a: the drift there is a/(w - end), */
                      /* which phi and Phi are without; -INFINITY and 0       */
    double bent;      /* (V'/V)^2 at the mean of the first w                  */
    double weight[2]; /* of the first point of a lattice in sums, by parity   */
    double u;         /* of the exact state that they are for                 */
    size_t low, high; /* what is known                                        */
    double *value[LONES]; /* (STRIP_POINTS) each                              */
    double *Phi, *Psi;    /* the integrals of f and S                         */
    double mean, deviation; /* of the first w                                 */
    struct arena arena;
};

enum { STRIP_POINTS = 1 << 15, STRIP_BLOCK = 256 };

int strip_table_init(struct strip_table *t, const struct strip_course *c);
void strip_table_free(struct strip_table *t);

/* At these parameters: where the lattice is. wide: the most that points may be
 * apart; narrow: the same where w is known given the next row, in deviations of
 * w without it. */
int strip_table_prepare(struct strip_table *t, const double *parameters,
                        double wide, double narrow);

/* Makes the functions known on the points [low, high). */
void strip_table_reach(struct strip_table *t, size_t low, size_t high);

/* Output i of a part at P <= STRIP_BLOCK points w and one u. */
const double *strip_ask(struct strip_table *t, enum strip_part part,
                        size_t output, size_t P, const double *w, double u);

static inline double strip_w(const struct strip_table *t, size_t k)
{
    return t->base + (double)k * t->step;
}

/* --- kernel.c: a gap ------------------------------------------------------ */

/* For points i in [low, high) of a lattice and j = i + o - band the mass that
 * goes from i to j, and what u moves by: means and covariances of A and V. Each
 * array is (2 band + 1, high - low). */
enum { MOVE_P, MOVE_A, MOVE_V, MOVE_AA, MOVE_AV, MOVE_VV, MOVES };
struct strip_kernel {
    double length; /* of the gap; 0: nothing was made */
    size_t low, high, band, parity;
    double *value[MOVES];
    /* The density of r, a sum over laws of factor exp(-z^2/2), z = (r - mean)
     * sharp. Where A and V vary little among bridges there is one law, times 1
     * + third (z^3 - 3 z) + fourth (z^4 - 6 z^2 + 3): what their covariance
     * changes to second order. Otherwise V is lognormal, at three points. */
    size_t laws;
    double *factor[3], *mean[3], *sharp[3];
    double *third, *fourth;
    double *room;
    size_t capacity;
};

/* Two more for the work. */
struct strip_kernels {
    struct strip_kernel *cache, work[2];
    size_t next;
};
int strip_kernels_init(struct strip_kernels *k);
void strip_kernels_forget(struct strip_kernels *k);
void strip_kernels_free(struct strip_kernels *k);

/* Of a step of length h the sum of a normal density over the lattice is 1 and
 * this, which kernels are free of: a measure of what the lattice misses. */
double strip_alias(double step, double h);

/* The kernel of a gap in `steps` steps, a power of two, for the lattice of a
 * parity, that is known on [low, high) at least; NULL without memory. */
const struct strip_kernel *strip_kernel_of(struct strip_kernels *k,
                                           struct strip_table *t, double length,
                                           size_t steps, size_t parity,
                                           size_t low, size_t high);

/* next[j] += sum over i in [low, high) of from[i] p(j, r | i). pull: what u
 * moves by in addition, of every point half of it. */
void strip_kernel_apply(const struct strip_kernel *k, size_t low, size_t high,
                        double r, const double *pull, const double *from,
                        double *next);

/* --- strip.c -------------------------------------------------------------- */

#define STRIP_CHANGE 0.02 /* by more steps, in nats of a pilot */

extern const struct method METHOD_STRIP;

#endif
