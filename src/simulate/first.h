/* SPDX-License-Identifier: MIT */
/* Draws of first states from the laws of init lines. What is drawn for (key,
 * track, state) is a pure function of them. */
#ifndef SIMULATE_FIRST_H
#define SIMULATE_FIRST_H

#include "base/random.h"
#include "lang/law.h"
#include "model/gaps.h"
#include "model/model.h"

/* Of each state; one that is not latent is the mean and nothing else. */
struct first {
    const struct spec *spec;
    double *mean, *deviation;          /* (dim)                            */
    double (*argument)[LAW_ARGUMENTS]; /* (dim) of laws that are not normal */
};

/* The model's laws at its present values, with the inputs of a track at a time;
 * or normal laws with this mean and deviation for all states. The model is
 * borrowed. Free in any case. */
int first_of_model(struct first *f, const gsv_model *m, const struct gaps *g,
                   size_t track, double time);
int first_normal(struct first *f, const gsv_model *m, double mean,
                 double deviation);
void first_free(struct first *f);

/* Whether any state varies. */
bool first_is_random(const struct first *f);

/* State i of a track, where z is a normal number; the key is that of z, and its
 * item is not used. */
double first_draw(const struct first *f, const struct random_key *key, size_t i,
                  size_t track, double z);

#endif
