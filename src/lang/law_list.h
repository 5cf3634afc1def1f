/* SPDX-License-Identifier: MIT */
/* The laws of noisy observations, a row each: ID, name, and the members of
 * struct law_row (law.h). spec.h makes the enum of them, law.c the table.
 * DRAWN(NAME) stands for the functions NAME_density, NAME_draw and NAME_lawful
 * of law.c. */
#ifndef LANG_LAW_LIST_H
#define LANG_LAW_LIST_H

/* Laws of a mean m have it as their first argument, and next how far values
 * are from it. Variances: negbin m + m^2 / size; gamma m^2 / shape; beta
 * m (1 - m) / (size + 1); betabinomial n p (1 - p) (size + n) / (size + 1). The
 * logarithm of a lognormal is normal. */
#define MEASURED_LAWS(X)                                                       \
    X(NORMAL, normal, 2,                                                       \
      {{"mean", RANGE_ANY}, {"standard deviation", RANGE_POSITIVE}},           \
      .centred = true, .link = LINK_MEAN, .moments = normal_moments,           \
      DRAWN(normal))                                                           \
    X(STUDENT, student, 3,                                                     \
      {{"location", RANGE_ANY},                                                \
       {"scale", RANGE_POSITIVE},                                              \
       {"degrees of freedom", RANGE_POSITIVE}},                                \
      .centred = true, .moments = student_moments, DRAWN(student))             \
    X(LOGNORMAL, lognormal, 2,                                                 \
      {{"mean of the logarithm", RANGE_ANY},                                   \
       {"standard deviation of the logarithm", RANGE_POSITIVE}},               \
      .value = RANGE_POSITIVE, .moments = lognormal_moments, DRAWN(lognormal)) \
    X(GAMMA, gamma, 2, {{"mean", RANGE_POSITIVE}, {"shape", RANGE_POSITIVE}},  \
      .value = RANGE_POSITIVE, .moments = gamma_moments, DRAWN(gamma))         \
    X(BETA, beta, 2, {{"mean", RANGE_INSIDE}, {"size", RANGE_POSITIVE}},       \
      .value = RANGE_INSIDE, .moments = beta_moments, DRAWN(beta))

/* poisson_process(r) is poisson(integral(r)). */
#define COUNTING_LAWS(X)                                                       \
    X(POISSON, poisson, 1, {{"mean", RANGE_POSITIVE}}, .value = RANGE_WHOLE,   \
      .events = true, .link = LINK_LOG, DRAWN(poisson))                        \
    X(NEGBIN, negbin, 2, {{"mean", RANGE_POSITIVE}, {"size", RANGE_POSITIVE}}, \
      .value = RANGE_WHOLE, DRAWN(negbin))                                     \
    X(BINOMIAL, binomial, 2,                                                   \
      {{"number of trials", RANGE_WHOLE}, {"probability", RANGE_PROBABILITY}}, \
      .value = RANGE_WHOLE, .trials = true, .link = LINK_ODDS,                 \
      DRAWN(binomial))                                                         \
    X(BETABINOMIAL, betabinomial, 3,                                           \
      {{"number of trials", RANGE_WHOLE},                                      \
       {"probability", RANGE_PROBABILITY},                                     \
       {"size", RANGE_POSITIVE}},                                              \
      .value = RANGE_WHOLE, .trials = true, DRAWN(betabinomial))               \
    X(MULTINOMIAL, multinomial, 1, {{"probabilities", RANGE_WEIGHT}},          \
      .value = RANGE_WHOLE, .together = true, .link = LINK_SHARES,             \
      .density = multinomial_density)                                          \
    X(POISSON_PROCESS, poisson_process, 1, {{"rate", RANGE_POSITIVE}},         \
      .value = RANGE_WHOLE, .events = true, .integrated = true,                \
      DRAWN(poisson))

/* Values are numbers of categories, from 1 on. Those of ordered lie between
 * cuts: the probability of at most k is sigmoid(cut k - location). */
#define LABELLING_LAWS(X)                                                      \
    X(CATEGORICAL, categorical, 1, {{"probabilities", RANGE_WEIGHT}},          \
      .list = {2}, .value = RANGE_LABEL, DRAWN(categorical))                   \
    X(ORDERED, ordered, 2, {{"location", RANGE_ANY}, {"cuts", RANGE_ANY}},     \
      .list = {0, 1}, .rising = true, .value = RANGE_LABEL, DRAWN(ordered))

#define LAW_ROWS(X) MEASURED_LAWS(X) COUNTING_LAWS(X) LABELLING_LAWS(X)

#endif
