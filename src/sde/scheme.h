/* SPDX-License-Identifier: MIT */
/* One step of dX = f(X, t) dt + g(t) dW for a block of tracks at once, by one
 * of several schemes. The tracks of a block share their times and inputs, so
 * g, which does not look at the state, is one matrix for all of them. */
#ifndef SDE_SCHEME_H
#define SDE_SCHEME_H

#include "base/memory.h"
#include "graph/program.h"
#include "sde/gaps.h"
#include "sde/model.h"

/* The right-hand side, read by all threads. */
struct field {
    const struct spec *spec;
    struct gaps inputs; /* track 0 has the covariates of all tracks */
    struct program *drift, *diffusion;
    struct uniforms drift_uniforms, diffusion_uniforms;
    size_t noise_size; /* numbers of g: dim where diagonal             */
    bool steady;       /* g depends on neither time nor inputs         */
};

/* Model and input are borrowed; input may be NULL where the model has none. */
int field_init(struct field *f, const gsv_model *m, const gsv_series *input);
void field_free(struct field *f);

/* A block of P tracks on its way; one for each thread. */
struct stepper {
    const struct field *field;
    size_t P;  /* up to the capacity that it was made for */
    double *x; /* (dim, P): where the tracks are          */

    struct workspace drift, diffusion;
    struct arena arena;
    double *stage;                /* (dim, P)     a point inside of the step */
    double *f0;                   /* (dim, P)     f at the left end          */
    double *J;                    /* (noises, P)  of srk                     */
    double *time, *input, *slope; /* (P), (inputs, P), (inputs, P) */
    double *one;                  /* (1 + 2 inputs): the same at one point   */
    double *g0, *g1;              /* (noise_size): g at the left, right end  */
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

/* By number of enum gsv_scheme. step() moves s->x. */
struct scheme {
    const char *name;
    bool zeta;
    void (*step)(struct stepper *s, const struct step *step);
};

enum { SCHEMES = GSV_SRK + 1 };
extern const struct scheme SCHEME_TABLE[SCHEMES];

#endif
