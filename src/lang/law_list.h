/* SPDX-License-Identifier: MIT */
/* The laws of noisy observations, a row each: ID, name, and the members of
 * struct law_row (law.h). spec.h makes the enum of them, law.c the table.
 * DRAWN(NAME) stands for the functions NAME_density, NAME_draw and NAME_lawful
 * of law.c. */
#ifndef LANG_LAW_LIST_H
#define LANG_LAW_LIST_H

/* negbin has the variance mean + mean^2 / size. The rate of a poisson_process
 * is integrated since the row before. */
#define LAW_ROWS(X)                                                            \
    X(NORMAL, normal, 2,                                                       \
      {{"mean", RANGE_ANY}, {"standard deviation", RANGE_POSITIVE}},           \
      .centred = true, .link = LINK_MEAN, DRAWN(normal))                       \
    X(STUDENT, student, 3,                                                     \
      {{"location", RANGE_ANY},                                                \
       {"scale", RANGE_POSITIVE},                                              \
       {"degrees of freedom", RANGE_POSITIVE}},                                \
      .centred = true, DRAWN(student))                                         \
    X(POISSON, poisson, 1, {{"mean", RANGE_POSITIVE}}, .counts = true,         \
      .link = LINK_LOG, DRAWN(poisson))                                        \
    X(NEGBIN, negbin, 2, {{"mean", RANGE_POSITIVE}, {"size", RANGE_POSITIVE}}, \
      .counts = true, DRAWN(negbin))                                           \
    X(BINOMIAL, binomial, 2,                                                   \
      {{"number of trials", RANGE_WHOLE}, {"probability", RANGE_PROBABILITY}}, \
      .counts = true, .trials = true, .link = LINK_ODDS, DRAWN(binomial))      \
    X(MULTINOMIAL, multinomial, 1, {{"probabilities", RANGE_PROBABILITY}},     \
      .counts = true, .together = true, .link = LINK_SHARES,                   \
      .density = multinomial_density)                                          \
    X(POISSON_PROCESS, poisson_process, 1, {{"rate", RANGE_POSITIVE}},         \
      .counts = true, .integrated = true, .density = poisson_process_density,  \
      .draw = poisson_draw, .lawful = poisson_lawful)

#endif
