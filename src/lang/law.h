/* SPDX-License-Identifier: MIT */
/* The laws of noisy observations: their names, arguments and log densities. */
#ifndef LANG_LAW_H
#define LANG_LAW_H

#include "base/sampler.h"
#include "lang/spec.h"

/* What an argument or a value may be. Of arguments that are numbers in the text
 * this is checked, of values in the data always. */
enum law_range {
    RANGE_ANY,
    RANGE_POSITIVE,
    RANGE_PROBABILITY, /* from 0 to 1                              */
    RANGE_WEIGHT,      /* from 0 on: divided by the sum of all     */
    RANGE_INSIDE,      /* between 0 and 1, without them            */
    RANGE_WHOLE,       /* 0, 1, 2, ...                             */
    RANGE_LABEL        /* 1, 2, ... up to the number of categories */
};
enum { LAW_RANGES = RANGE_LABEL + 1 };

/* The range in words: "a value is ...". */
extern const char *const RANGE_WORDS[LAW_RANGES];

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
    size_t list[LAW_ARGUMENTS]; /* an argument is a vector of so many numbers */
                                /* or more, the same for all columns; 0: one  */
                                /* number for each column                     */
    bool rising;                /* each number of the list is above the last  */
    enum law_range value;
    bool trials;     /* the first argument may be a column: that many tried */
    bool together;   /* all columns are one obs, and its argument a vector */
    bool events;     /* of an integral alone: counts of events             */
    bool integrated; /* the argument is a rate: the law has its integral   */
    bool centred;    /* around the first argument                          */
    enum law_link link;

    /* The log density, with all constants. */
    node (*density)(struct graph *g, const struct obs_spec *o,
                    const node *value);

    /* Of a law that first states can have: the mean and the standard deviation.
     * NULL for the others. */
    void (*moments)(struct graph *g, const node *a, node *mean, node *sd);

    /* A draw, and whether the law has these arguments, edges included: a has
     * the n numbers of all of them. NULL where columns are drawn together. */
    double (*draw)(struct sampler *s, size_t n, const double *a);
    bool (*lawful)(size_t n, const double *a);
};

extern const struct law_row LAW_TABLE[LAW_COUNT];

/* The law of this name, or LAW_COUNT. */
size_t law_find(const char *name);

/* Whether a value is in the range. */
bool law_allows(enum law_range range, double value);

/* Whether its values have a density: they are not counts or labels. */
bool law_is_continuous(enum law law);

/* The word for zeroinflated(p, law(...)): 0 with probability p, else a value of
 * the law, which is one of counts. */
extern const char ZERO_INFLATED[];
bool law_can_be_inflated(enum law law);

/* The log density of an obs, and a draw: p is the probability of another 0, or
 * 0. */
node law_density(struct graph *g, const struct obs_spec *o, const node *value);
double law_draw(const struct obs_spec *o, struct sampler *s, double p, size_t n,
                const double *a);

/* The numbers in all arguments together; so many categories has a law of
 * labels. */
size_t law_numbers(const struct graph *g, const struct obs_spec *o);

/* The number of values that are not counted by the law but given to it: the
 * column of a binomial's trials, the last of its values. */
size_t law_given(const struct obs_spec *o);

/* The log density of a continuous law at z as an expression that is -inf, with
 * a gradient of 0, where the law does not reach. */
node law_density_at(struct graph *g, enum law law, const node *argument,
                    node z);

#endif
