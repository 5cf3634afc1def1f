/* SPDX-License-Identifier: MIT */
/* What the parts of a model's description share: describe.c; describe_noise.c,
 * which has noise and equations; and describe_obs.c, which has observations,
 * first states, events and random effects. */
#ifndef MODEL_DESCRIBE_H
#define MODEL_DESCRIBE_H

#include <stdio.h>

#include "graph/print.h"
#include "model/model.h"

/* Formulas of a vector that are shown. */
enum { MOST_ROWS = 6 };

/* A title and names. */
void describe_names(FILE *out, const char *title, size_t n,
                    const char *const *name);

/* Names such as y, or y1, y2, ...: borrowed from the text. */
struct letters {
    char *text;
    const char **name; /* (dim) */
};

int letters_init(struct letters *l, size_t n, char letter);
void letters_free(struct letters *l);

/* The first letter of a choice that no column or parameter has; and those that
 * states have in formulas, where they are functions of the data. */
char free_letter(const gsv_model *m, const char *choice);
#define STATE_LETTERS "zZuq"

/* The line about the noise; and the equations. */
void describe_noise(FILE *out, const gsv_model *m);
int describe_equations(FILE *out, const gsv_model *m,
                       const struct graph_names *names);

/* Equations without noise that form no chains. */
int describe_reach(FILE *out, const gsv_model *m,
                   const struct graph_names *names);

/* Chains of integrals, from their bottoms to the rates that have noise. */
int describe_chains(FILE *out, const gsv_model *m,
                    const struct graph_names *names);

int describe_observations(FILE *out, const gsv_model *m);
int describe_events(FILE *out, const gsv_model *m);
int describe_effects(FILE *out, const gsv_model *m);

#endif
