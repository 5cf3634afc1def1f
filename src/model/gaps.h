/* SPDX-License-Identifier: MIT */
/* The gaps of observed series: neighbouring rows in which every state was
 * observed; and the inputs at any time between the rows. */
#ifndef MODEL_GAPS_H
#define MODEL_GAPS_H

#include "model/model.h"

struct gap {
    size_t track, from, to; /* rows of the series               */
    size_t number;          /* among all; keys the random numbers   */
    double start, length;   /* in time                          */
    double end;
    uint32_t turn; /* added to the iteration of its random numbers: 0, but
                    * where gaps get other ones one by one (learn/gibbs.h) */
};

/* The knots of one input in one track are those of its rows that have it. */
struct gaps {
    const gsv_series *series;
    const struct spec *spec;
    const bool *noise_input; /* (inputs), the model's */
    size_t *column;  /* (dim + inputs + values): where they stand in the */
                     /* series; SIZE_MAX for latent states, which do not */
    double **code;   /* (inputs): levels in all rows of a category; NULL of */
                     /* others; NULL: there are none                        */
    struct gap *gap; /* (count) the list of them, where there is one */
    size_t count;
    /* What gaps_at() makes them from: */
    size_t *first; /* (tracks + 1) gaps before a track                 */
    size_t *to;    /* (count) rows that they end in; NULL: all rows    */
    size_t *begin; /* (tracks) first observed row, where there are any */
    /* Where gaps are between any points, (dim, points), from and to are columns
     * of these; else NULL. */
    const double *point;
    size_t points;
};

/* Both are borrowed. Fails where there is no gap at all. Where states are
 * latent, rows are not gaps, and there are none: for the columns and values. */
int gaps_init(struct gaps *g, const gsv_model *m, const gsv_series *s);
void gaps_free(struct gaps *g);

/* The same without the list, which takes most of the memory; and gap number i,
 * from what either of them found. */
int gaps_find(struct gaps *g, const gsv_model *m, const gsv_series *s);
struct gap gaps_at(const struct gaps *g, size_t i);

/* The state at both ends of a gap: x (dim, 2), rows stride apart. */
void gap_ends(const struct gaps *g, const struct gap *gap, double *x,
              size_t stride);

/* Every input and its slope at a time in a track. At a knot a held input has
 * its new value and a linear one its new slope, or, where before is set, those
 * that they had until then. value and slope are strided by stride. */
void gap_inputs(const struct gaps *g, size_t track, double time, bool before,
                double *value, double *slope, size_t stride);

/* Replaces value and slope by their means over the time from low to high, where
 * an input changes in between: what a step that goes across rows without states
 * needs. Inputs of the noise are left as they are: T has them at a moment. */
void gap_mean_inputs(const struct gaps *g, size_t track, double low,
                     double high, double *value, double *slope, size_t stride);

/* P points at one moment of a track, with this state: time (P), and where the
 * model has inputs, input and slope (inputs, P), are filled in. */
struct points gaps_points(const struct gaps *g, size_t track, double moment,
                          bool before, size_t P, const double *state,
                          double *time, double *input, double *slope);

/* Whether an input changes in a row of a track: a held one has another value
 * from there on, a linear one another slope. */
bool gaps_input_changes(const struct gaps *g, size_t track, size_t row);

/* The first row of a track after a time, and before another one, in which an
 * input changes or an event acts, or NO_ROW. */
size_t gaps_next_change(const struct gaps *g, size_t track, double after,
                        double before);

/* The row of a track at a time, if an event acts there, or NO_ROW. */
size_t gaps_event_at(const struct gaps *g, size_t track, double time);

/* No row of the data: nothing was observed there. */
#define NO_ROW SIZE_MAX

/* State number i in a row: NaN where it is missing or latent. */
double gaps_state(const struct gaps *g, size_t i, size_t row);

/* Value number i of the observations, or of an event, in a row: NaN where it is
 * missing. */
double gaps_value(const struct gaps *g, size_t i, size_t row);

/* Whether anything was observed in a row; and whether a row says where the
 * states are: all of them, or where some are latent, anything. */
bool gaps_are_observed(const struct gaps *g, size_t row);
bool gaps_are_known(const struct gaps *g, size_t row);

/* Whether events since the row before were counted in a row, and whether they
 * were in the next one of its track: then it is where they begin to count,
 * whatever was observed in it. */
bool gaps_have_events(const struct gaps *g, size_t row);
bool gaps_lead_to_events(const struct gaps *g, size_t track, size_t row);

/* Whether an event of the model (event x += ...) acts in a row. */
bool gaps_states_jump(const struct gaps *g, size_t row);

/* Fails where a value is none that its law allows, or an event's not finite. */
int values_check(const struct gaps *g);

/* The same of events alone. */
int events_check(const struct gaps *g);

/* Checks that inputs and events alone are there: for simulation. */
int gaps_inputs_init(struct gaps *g, const gsv_model *m, const gsv_series *s);

#endif
