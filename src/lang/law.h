/* SPDX-License-Identifier: MIT */
/* The laws of noisy observations: their names, arguments and log densities. */
#ifndef LANG_LAW_H
#define LANG_LAW_H

#include "base/sampler.h"
#include "lang/spec.h"

/* What an argument may be; of numbers in the text this is checked. */
enum law_range { RANGE_ANY, RANGE_POSITIVE, RANGE_PROBABILITY, RANGE_WHOLE };

/* Of which function of an argument conjugate.c knows the law given values: the
 * mean, its logarithm, the log odds of the second argument, or the logarithms
 * of probabilities over the last one. */
enum law_link { LINK_NONE, LINK_MEAN, LINK_LOG, LINK_ODDS, LINK_SHARES };

/* All that is to be known of a law. */
struct law_row {
    const char *name;
    size_t arguments;
    struct {
        const char *name;
        enum law_range range;
    } argument[LAW_ARGUMENTS];
    bool counts;     /* values are whole numbers from 0 on                 */
    bool trials;     /* the first argument may be a column: that many tried */
    bool together;   /* all columns are one obs, and its argument a vector */
    bool integrated; /* over time, from the row before: the argument       */
    bool centred;    /* around the first argument                          */
    enum law_link link;

    /* The log density, with all constants. integral: of the first argument. */
    node (*density)(struct graph *g, const struct obs_spec *o,
                    const node *value, node integral);

    /* A draw, and whether the law has these arguments, edges included; of an
     * integrated law the first one is the integral. NULL where columns are
     * drawn together. */
    double (*draw)(struct sampler *s, const double *a);
    bool (*lawful)(const double *a);
};

extern const struct law_row LAW_TABLE[LAW_COUNT];

/* The law of this name, or LAW_COUNT. */
size_t law_find(const char *name);

/* Whether a value is in the range. */
bool law_allows(enum law_range range, double value);

/* The number of values that are not counted by the law but given to it: the
 * column of a binomial's trials, the last of its values. */
size_t law_given(const struct obs_spec *o);

#endif
