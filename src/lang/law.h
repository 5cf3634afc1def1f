/* SPDX-License-Identifier: MIT */
/* The laws of noisy observations: their names, arguments and log densities. */
#ifndef LANG_LAW_H
#define LANG_LAW_H

#include "lang/spec.h"

enum { LAWS = LAW_POISSON_PROCESS + 1 };

/* What an argument may be; of numbers in the text this is checked. */
enum law_range { RANGE_ANY, RANGE_POSITIVE, RANGE_PROBABILITY, RANGE_WHOLE };

struct law_row {
    const char *name;
    size_t arguments;
    struct {
        const char *name;
        enum law_range range;
    } argument[LAW_ARGUMENTS];
    bool counts; /* whether values are whole numbers from 0 on */
};

extern const struct law_row LAW_TABLE[LAWS];

/* The law of this name, or LAWS. */
size_t law_find(const char *name);

/* Whether a value is in the range. */
bool law_allows(enum law_range range, double value);

/* The number of values that are not counted by the law but given to it: the
 * column of a binomial's trials, the last of its values. */
size_t law_given(const struct obs_spec *o);

/* The log density, with all constants, of the values (o->values); integral is
 * that of a poisson process' rate. One number. */
node law_density(struct graph *g, const struct obs_spec *o, const node *value,
                 node integral);

#endif
