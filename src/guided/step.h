/* SPDX-License-Identifier: MIT */
/* One step of points x, from a stop of a track to the next one:
 *
 *     x' = a(x) + B(x) xi,   xi standard normal (m),
 *
 * of second order in the step h. With x~ = x + h F(x) / 2 the middle,
 *
 *     a = x + h F(x~) + h^2/4 tr(G'F''G),   B = sqrt(h) (G + h/2 F'G)(x~).
 *
 * Where states have no noise of their own, B has columns for integrals of the
 * noise inside of the step too, so that positions and velocities move jointly.
 * Part k of the noise is along the Legendre polynomial of degree k,
 *
 *     B_k = sqrt(h) sum over j >= k of c_jk h^j (F'^j G)(x~),
 *     c_jk = sqrt(2k + 1) j! / ((j - k)! (j + k + 1)!),  j <= orders + 1,
 *
 * whose B B' is that of the linearised step up to order 2 relative to each of
 * its elements, and a is of order 3:
 *
 *     a = x + h/6 (F(x) + 4 F(x~) + F(x + h (2 F(x~) - F(x)) + h^2/2 c))
 *           + h^2/4 c,   c = tr(G'F''G).
 *
 * Where F is linear and G does not depend on x, a and B are exact instead.
 * Before the step integrals begin at 0 where it begins in a row, and events of
 * that row happen. */
#ifndef GUIDED_STEP_H
#define GUIDED_STEP_H

#include <math.h>

#include "guided/course.h"
#include "observe/observe.h"

/* A track as the filter walks through it: its nodes are stops. */
struct pace {
    const struct course *course;
    const struct stops *stops;
    size_t track, first, nodes;
    double *input[2], *slope[2]; /* (nodes, inputs) at the node, and in the */
                                 /* middle of the step from it              */
    double *value;     /* (nodes, values) NaN where missing                  */
    double *exact;     /* (nodes, d) u of what was observed exactly, or NaN  */
    double *log_slope; /* (nodes) log |du/dx| of these states               */
    bool *exacts;      /* (nodes) whether there are any                      */
    /* Of linear courses the steps themselves: a = Phi x + c, B. */
    double *Phi, *c, *B; /* (nodes, D, D), (nodes, D), (nodes, D, D)        */
    double *small;       /* scratch                                         */
    struct arena arena;
    size_t capacity;
};

/* Memory for the longest track. */
int pace_init(struct pace *p, const struct course *f, const struct stops *s);
void pace_free(struct pace *p);
/* A track; the values are for the coordinates of exact states. */
void pace_set(struct pace *p, size_t track, const struct course_values *v,
              struct course_room *r);

static inline const struct stop *pace_stop(const struct pace *p, size_t k)
{
    return &p->stops->stop[p->first + k];
}

static inline bool pace_is_row(const struct pace *p, size_t k)
{
    return pace_stop(p, k)->row != NO_ROW;
}

static inline double pace_length(const struct pace *p, size_t k)
{
    const struct stop *s = pace_stop(p, k);
    return s[1].time - s[0].time;
}

/* Whether state i is observed exactly, but not in the first row: it has a flat
 * law there, of density 1 in the data's coordinates. */
static inline bool pace_is_flat(const struct pace *p, size_t i)
{
    return !p->course->model->spec->latent[i] && isnan(p->exact[i]);
}

/* Whether an obs has all of its values at a node; what happened since the row
 * before cannot be known at the first. */
bool pace_sees(const struct pace *p, size_t k, size_t obs);

/* The memory of one thread for steps of up to COURSE_BLOCK points. */
struct mover {
    const struct course *course;
    const struct course_values *values; /* borrowed */
    struct course_room room;
    double *from, *middle;    /* (D, P) */
    double *arrived, *jumped; /* (D, P) before and after events */
    double *a, *B;            /* (D, P), (D * m, P): of the last step */
    double *A;                /* (D * D, P): da/dx of the last slopes */
    double *h;                /* (P) lengths of the last steps        */
    double *dot, *power;      /* (D, P)                               */
    double *first, *end;      /* (D, P) F at x, and the state of the last */
    double *log_g, *gradient, *hessian; /* (P), (D, P), (D * D, P) */
    struct arena arena;
};

int mover_init(struct mover *s, const struct course *f);
void mover_free(struct mover *s);

/* P points x (D, P) of node k. */
struct points mover_points(struct mover *s, const struct pace *p, size_t k,
                           size_t P, const double *x);

/* Points of listed nodes (P), or in the middle of the steps from them; and with
 * the values that were observed there. */
struct points mover_listed(struct mover *s, const struct pace *p,
                           const size_t *list, bool middle, size_t P,
                           const double *x);
struct points mover_observed(struct mover *s, const struct pace *p,
                             const size_t *list, size_t P, const double *x);

/* a and B of the step from node k, of P points x (D, P). */
void mover_go(struct mover *s, const struct pace *p, size_t k, size_t P,
              const double *x);

/* The same from the nodes [k, k + P) at one point each, x (P, D), and da/dx. */
void mover_slopes(struct mover *s, const struct pace *p, size_t k, size_t P,
                  const double *x);

/* log g (P) of what was observed at node k, but exactly; false where nothing
 * was. What is not finite is -INFINITY. */
bool mover_density(struct mover *s, const struct pace *p, size_t k, size_t P,
                   const double *x);

/* The same at P listed nodes of a path x (nodes, D), with the gradient and
 * minus the Hessian. An obs that is not finite is left out. */
void mover_expand(struct mover *s, const struct pace *p, size_t P,
                  const size_t *list, const double *x);

#endif
