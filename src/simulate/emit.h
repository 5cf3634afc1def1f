/* SPDX-License-Identifier: MIT */
/* Observations of simulated tracks, drawn from their laws. What is drawn for
 * (seed, track, row, obs) is a pure function of that and of the track's states:
 * the same on any number of threads, and whatever other tracks there are. */
#ifndef SIMULATE_EMIT_H
#define SIMULATE_EMIT_H

#include "simulate/scheme.h"

/* The laws, read by all threads. */
struct emitter {
    const struct spec *spec;
    struct function argument; /* an output for each argument of each obs     */
    struct function rate;     /* an output for each integral                 */
    size_t *output;           /* (observations) its first argument's         */
    size_t *order;            /* (observations) trials before what they give */
    size_t *drawn; /* (observations) the value that its trials are, */
                   /* where that is drawn itself; else NONE       */
    double *total; /* (observations, times) trials from the data  */
    size_t times;
    size_t most; /* numbers in the arguments of an obs */
};

/* The model is borrowed. data has what laws do not say (gsv_model_given()), and
 * may be NULL where they say everything. */
int emitter_init(struct emitter *e, const gsv_model *m, const gsv_series *data,
                 size_t times, const double *time);
void emitter_free(struct emitter *e);

/* One thread's, for blocks of up to P tracks. */
struct emission {
    const struct emitter *emitter;
    struct workspace argument, rate;
    struct arena arena;
    double *left;   /* (integrals, P) rates at the left end of a step        */
    double *input;  /* (columns + integrals, P) of arguments: inputs, values */
                    /* (not read), and the integrals since the row before    */
    size_t columns; /* inputs and values                                     */
    double *number; /* those of one obs in one track                         */
    bool begun;     /* there was a row before, or an earlier start           */
};

int emission_init(struct emission *n, const struct emitter *e, size_t P);
void emission_free(struct emission *n);

/* The integrals of rates, by the trapezoid: begin at every row, and for each
 * step enter before it is taken and leave after. */
void emission_begin(struct emission *n, size_t P);
void emission_enter(struct emission *n, struct stepper *s, double t);
void emission_leave(struct emission *n, struct stepper *s,
                    const struct step *step);

/* A block at one of its output times, and where its values go: that of obs
 * column c in track p to value[c * rows + p * times + k]. */
struct emission_row {
    uint64_t seed;
    double time;
    size_t k, first, tracks, rows;
    const double *total; /* (observations) trials of this row, or NULL: the */
                         /* emitter's                                       */
    double *value;
};

/* The trials that data have in a track at a time, for every obs that takes them
 * from there: those of the last row that has them, or else of the first. */
void emitter_totals(const struct emitter *e, const gsv_series *data,
                    size_t track, double time, double *total);

/* Draws all values of a row; false where a law's arguments are none of it, with
 * the track of the block and the obs. */
bool emission_draw(struct emission *n, struct stepper *s,
                   const struct emission_row *row, size_t *track, size_t *obs);

/* The column that messages use as the name of an obs. */
const char *emitter_name(const struct emitter *e, size_t obs);

#endif
