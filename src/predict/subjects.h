/* SPDX-License-Identifier: MIT */
/* Forecasts, residuals and paths of series with random effects: series by
 * series, each with its own effects given its rows. */
#ifndef PREDICT_SUBJECTS_H
#define PREDICT_SUBJECTS_H

#include "model/model.h"

/* One series, and the model with the means of its effects. */
struct known_subject {
    size_t track, first; /* its first row in the data */
    const gsv_model *model;
    const gsv_series *series;
};

/* Visits every series; effects are those of the options' estimator. */
int subjects_visit(const gsv_model *m, const gsv_series *s,
                   const gsv_options *o, void *user,
                   int (*visit)(void *user, const struct known_subject *k));

/* As gsv_paths(), with effects that are drawn given all rows. */
int paths_given(const gsv_model *m, const gsv_series *s,
                const gsv_paths_options *o, gsv_smoothed *result);
int paths_subjects(const gsv_model *m, const gsv_series *s,
                   const gsv_paths_options *o, gsv_smoothed *result);

#endif
