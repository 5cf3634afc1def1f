/* SPDX-License-Identifier: MIT */
/* Simulations of models with numbers of series: one track after another, each
 * with the numbers of its own. */
#ifndef SIMULATE_BY_SERIES_H
#define SIMULATE_BY_SERIES_H

#include "model/model.h"

typedef gsv_series *simulate_tracks(const gsv_model *m,
                                    const gsv_simulate_options *o);

/* Whether a model has such numbers; and its tracks, by a function that
 * simulates some of one series, whose label is that of the options' input. */
bool simulates_by_series(const gsv_model *m);
gsv_series *simulate_by_series(const gsv_model *m,
                               const gsv_simulate_options *o,
                               simulate_tracks *simulate);

#endif
