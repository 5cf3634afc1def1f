/* SPDX-License-Identifier: MIT */
/* The right-hand side of the data's equation as one program, and its moves: of
 * a step h with standard normals z,
 *
 *     move = h f(x, t) + sqrt(h) g(x, t) z,
 *
 * where f is Ito's drift or, for schemes that need it, Stratonovich's
 * f - 1/2 sum over j of (dg_j/dx) g_j. Lifted, the program's state is
 * (theta, x): parameters differ from point to point as x does, so that a jvp
 * moves them, too. */
#ifndef INTEGRATE_RHS_H
#define INTEGRATE_RHS_H

#include "model/model.h"

struct rhs {
    struct graph *graph;     /* the model's, which others read, with more */
    struct program *program; /* outputs f, g                              */
    struct uniforms uniforms;
    size_t dim, noises;
    bool diagonal; /* g is (dim, 1), else (dim, noises)            */
    bool moved;    /* g depends on the state or on parameters      */
    bool timed;    /* the program depends on the time or on inputs */
};

/* A block of steps: where it is, and how far each point goes. */
struct pace {
    struct points at;
    const double *h, *root; /* (P) h and its square root */
    const double *z;        /* (noises, P)               */
};

/* Whether the noise depends on the state. */
bool noise_has_state(const gsv_model *m);

int rhs_init(struct rhs *r, const gsv_model *m, bool stratonovich,
             bool use_double);

/* The same, lifted. Fails where the model has more than formulas. */
int rhs_init_lifted(struct rhs *r, const gsv_model *m, bool stratonovich);
void rhs_free(struct rhs *r);

/* How many rows g has. */
size_t rhs_noise_size(const struct rhs *r);

/* move (dim, P), after which w is ready for the vjp. */
void rhs_move(const struct rhs *r, struct workspace *w, const struct pace *s,
              double *move);

/* x_bar (dim, P) and uniform_bar are added to. room is (dim + noise size, P).
 */
void rhs_move_vjp(const struct rhs *r, struct workspace *w,
                  const struct pace *s, const double *move_bar, double *room,
                  double *x_bar, double *uniform_bar);

/* How a lifted move is moved by dot (parameters + dim, P): move_dot (dim, P).
 * After rhs_move, of the same points. */
void rhs_move_jvp(const struct rhs *r, struct workspace *w,
                  const struct pace *s, const double *dot, double *move_dot);

#endif
