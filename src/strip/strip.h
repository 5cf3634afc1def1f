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
 * numbers. Where the drift is like a / (w - end) at an end of the range,
 * bridges and the density are Bessel's (bridge/barrier.h). */
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

/* Functions at the points w = base + k step, k in [low, high) so far. The law
 * of w is on a lattice of every `stride`-th point, 2 * 3^n. Lattices of strides
 * down to 2 belong to parts of a gap. All have the point `origin`; the middle
 * between two points of one is in the table. */
struct strip_table {
    const struct strip_course *course;
    struct uniforms uniforms[STRIP_PARTS];
    struct workspace space[STRIP_PARTS];
    double *state, *time, *input, *slope; /* of a block of points     */
    double now, *cell; /* time and values (values) of what is observed */
    double step, base;
    double end, a; /* of the range, and a: the drift there is a/(w - end), */
                   /* which phi and Phi are without; -INFINITY and 0       */
    double pull;   /* how fast differences of w shrink, at most            */
    size_t stride, origin;
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

/* How far points may be apart: those of a step; those of a gap, where nothing
 * pulls w back and the next row says nothing of it; and the shortest gap. */
struct strip_apart {
    double step, gap, shortest;
};

/* At these parameters: where the lattice is. */
int strip_table_prepare(struct strip_table *t, const double *parameters,
                        const struct strip_apart *apart);

/* Whether the mean of the first w is near the end of its range. */
bool strip_is_near(const struct strip_table *t);

/* The deviation of w after the time h, over that without a pull. */
double strip_spread(const struct strip_table *t, double h);

/* Weights of the first points in sums over a lattice, of densities that are
 * like d^b at the distance d from the end of the range; of all others it is 1.
 */
enum { STRIP_EDGE = 3 };
void strip_weigh(const struct strip_table *t, double b, size_t stride,
                 size_t first, double *weight);

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
    size_t low, high, band;
    size_t stride, first; /* point i is first + stride i of the table */
    double *value[MOVES];
    /* The density of r, a sum over laws of factor exp(-z^2/2), z = (r - mean)
     * sharp. Where A and V vary little among bridges there is one law, times 1
     * + third (z^3 - 3 z) + fourth (z^4 - 6 z^2 + 3): what their covariance
     * changes to second order. Otherwise V is gamma or lognormal, at three
     * points: the first `three` (2 band + 1) of each offset. */
    double *three;
    double *factor[3], *mean[3], *sharp[3];
    double *third, *fourth;
    double *room;
    size_t capacity;
};

static inline size_t strip_width(const struct strip_kernel *k)
{
    return k->high - k->low;
}

static inline size_t strip_cells(const struct strip_kernel *k)
{
    return (2 * k->band + 1) * strip_width(k);
}

static inline size_t strip_cell(const struct strip_kernel *k, size_t i,
                                size_t j)
{
    return (j + k->band - i) * strip_width(k) + i - k->low;
}

/* Point i in the table. */
static inline size_t strip_place(const struct strip_kernel *k, size_t i)
{
    return k->first + k->stride * i;
}

/* Room for its points and band, where they are not too many; moments are 0. */
int strip_kernel_reserve(struct strip_kernel *k);

/* step.c: one step of length h. law.c: the laws by the moments, V's gamma or
 * lognormal. */
int strip_kernel_step(const struct strip_table *t, struct strip_kernel *k,
                      size_t band, double h);
void strip_kernel_laws(struct strip_kernel *k, bool gamma);

/* Two more for the work. */
struct strip_kernels {
    struct strip_kernel *cache, work[2];
    size_t next;
    bool other; /* than the usual laws: see law.c */
};
int strip_kernels_init(struct strip_kernels *k);
void strip_kernels_forget(struct strip_kernels *k);
void strip_kernels_free(struct strip_kernels *k);

/* The kernel of a gap in `steps` steps, a power of two, that is known on [low,
 * high) at least, to *found; apart: two points of a step's lattice at most. */
int strip_kernel_of(struct strip_kernels *k, struct strip_table *t,
                    double length, size_t steps, double apart, size_t low,
                    size_t high, const struct strip_kernel **found);

/* next[j] += sum over i in [low, high) of from[i] p(j, r | i). pull: what u
 * moves by in addition, of every point half of it. */
void strip_kernel_apply(const struct strip_kernel *k, size_t low, size_t high,
                        double r, const double *pull, const double *from,
                        double *next);

/* --- strip.c -------------------------------------------------------------- */

#define STRIP_CHANGE 0.02 /* by more steps, in nats of a pilot */

extern const struct method METHOD_STRIP;

#endif
