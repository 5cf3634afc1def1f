/* SPDX-License-Identifier: MIT */
/* One step of dZ = f(Z, t) dt + g(Z, t) dW for a block of tracks at once, by
 * one of several schemes. The tracks of a block share their times and inputs,
 * so a g that does not look at the state is one matrix for all of them. */
#ifndef SIMULATE_SCHEME_H
#define SIMULATE_SCHEME_H

#include "base/memory.h"
#include "graph/program.h"
#include "model/gaps.h"
#include "model/model.h"

/* A node that is run; program is NULL where there is none. */
struct function {
    struct program *program;
    struct uniforms uniforms;
    size_t size;
};

/* The right-hand side, read by all threads. */
struct field {
    const struct spec *spec;
    struct gaps inputs; /* covariates: of stepper.track for a block */
    struct function drift, diffusion;
    struct function inside; /* above 0 in the domain of state-dependent noise */
    struct function to_state, to_data; /* of mapped states                   */
    struct function *jump; /* (events) what they add to the state            */
    struct function rates; /* of reactions                       */
    bool rates_move;   /* whether these depend on time or inputs             */
    size_t noise_size; /* numbers of g: dim where diagonal                   */
    bool steady;       /* g depends on neither time nor inputs               */
    bool state_noise;  /* g depends on the state                             */
    bool bounded;      /* with state noise: whether there may be a boundary  */
    bool own;          /* each row of a diagonal g on its own state alone    */
};

/* Model and input are borrowed; input may be NULL where the model has none. */
int field_init(struct field *f, const gsv_model *m, const gsv_series *input);
void field_free(struct field *f);

/* A block of P tracks on its way; one for each thread. */
struct stepper {
    const struct field *field;
    size_t P;          /* up to the capacity that it was made for */
    size_t track;      /* of the inputs: 0 unless it is set    */
    double *x;         /* (dim, P): where the tracks are          */
    const double *own; /* gps' numbers as in struct points, or NULL */
    size_t own_first, own_stride;

    struct workspace drift, diffusion, inside, to_state, to_data;
    struct workspace *jump; /* (events)                                      */
    double *jump_input, *jump_slope; /* (inputs + values, P)                 */
    struct arena arena;
    double *stage;                /* (dim, P)     a point inside of the step */
    double *f0;                   /* (dim, P)     f at the left end          */
    double *J;                    /* (noises, P)  of srk                     */
    double *time, *input, *slope; /* (P), (inputs, P), (inputs, P) */
    double *g0, *g1;              /* g at the left, right end: (noise_size), */
                                  /* with state noise (noise_size, P)        */

    /* With state noise only: f0 and g0 are those at x, always. */
    double *next;       /* (dim, P) where a step would lead        */
    double *g2, *along; /* (noise_size, P), (dim, P) scratch       */
    double *f1;         /* (dim, P) f at next, or Ito's correction */
    double *debt;       /* (dim, P) what next is moved by, too     */
    bool *arrived;      /* (P) whether next is inside the domain   */
    bool *kept;         /* (P) whether the step kept away from its boundary */
};

/* The field is borrowed. Its steady g is evaluated here, once. */
int stepper_init(struct stepper *s, const struct field *f, size_t capacity);
void stepper_free(struct stepper *s);

/* From t to end = t + h, which is given so that the last step of a gap ends
 * at its very number. */
struct step {
    double t, h, end;
    const double *dW;   /* (noises, P) increments of the noise: N(0, h)      */
    const double *zeta; /* (noises, P) N(0, 1), independent of dW; only read */
                        /* by a scheme that says so                          */
};

struct reactor;

/* By number of enum gsv_scheme. step() is for noise without the state and
 * moves s->x; propose() is for noise with it and fills s->next. Of a scheme in
 * whole numbers there is only react(): see reactor.h. */
struct scheme {
    const char *name;
    bool zeta;
    void (*step)(struct stepper *s, const struct step *step);
    void (*propose)(struct stepper *s, const struct step *step);
    bool (*react)(struct reactor *e, struct stepper *s, const struct step *step,
                  size_t tracks, size_t *lost);
};

/* Those of SDEs come first. */
enum { SCHEMES = GSV_SRK + 1, ALL_SCHEMES = GSV_TAU_LEAP + 1 };
extern const struct scheme SCHEME_TABLE[ALL_SCHEMES];

/* --- What schemes are made of -------------------------------------------- */

/* The points of all tracks at one time, with inputs (inputs, P); and a function
 * there, (size, P): valid until its next run. At a knot of held inputs these
 * have their old value where before is set. */
struct points stepper_points(struct stepper *s, double t, bool before,
                             const double *x);
const double *stepper_run(struct stepper *s, const struct function *f,
                          struct workspace *w, double t, bool before,
                          const double *x);
const double *stepper_drift(struct stepper *s, double t, bool before,
                            const double *x);

/* State noise: g, and how it moves when the x of the last g moves along v. */
const double *stepper_noise(struct stepper *s, double t, bool before,
                            const double *x);
const double *stepper_noise_along(struct stepper *s, const double *x,
                                  const double *v);

/* Adds what the events of a row of the inputs add, to s->x at time t. False
 * where state noise has left the domain by that: see s->arrived. */
bool stepper_jump(struct stepper *s, double t, size_t row);

/* --- scheme_state.c: noise that depends on the state ---------------------- */

void euler_state(struct stepper *s, const struct step *step);
void milstein_state(struct stepper *s, const struct step *step);
void heun_state(struct stepper *s, const struct step *step);
void srk_state(struct stepper *s, const struct step *step);

/* Evaluates f0 and g0 at x, and notes which tracks are inside of the domain.
 * True if all are. */
bool stepper_enter(struct stepper *s, double t);

/* One step by a scheme and what a track owes, to next, if any active track is
 * to be moved by it. Notes which keep
 * away from the boundary: next is inside of the domain, and so would be, but
 * except for extreme noise, all that could have come out. */
void stepper_propose(struct stepper *s, const struct scheme *scheme,
                     const struct step *step, const bool *active);

/* Notes which tracks have their next inside of the domain at time t. */
bool stepper_look(struct stepper *s, double t);

/* Moves those of the active tracks to next for which that was noted; they owe
 * nothing then. */
void stepper_settle(struct stepper *s, const bool *active);

/* Whether the noises commute at x: L^j g_k = L^k g_j for all j and k, where L^j
 * is the derivative along g_j. Milstein's step needs it. */
bool stepper_commutes(struct stepper *s, double t);

#endif
