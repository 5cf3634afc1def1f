/* SPDX-License-Identifier: MIT */
/* Simulations of series that differ by their inputs or by numbers of their own:
 * one track after another. */
#ifndef SIMULATE_BY_SERIES_H
#define SIMULATE_BY_SERIES_H

#include "model/model.h"

typedef gsv_series *simulate_tracks(const gsv_model *m,
                                    const gsv_simulate_options *o);

/* Whether every track has a series of the input for itself. */
bool simulate_has_inputs(const gsv_simulate_options *o);

/* Whether tracks differ; and all of them, by a function that simulates some of
 * one series, whose label is that of the options' input. */
bool simulates_by_series(const gsv_model *m, const gsv_simulate_options *o);
gsv_series *simulate_by_series(const gsv_model *m,
                               const gsv_simulate_options *o,
                               simulate_tracks *simulate);

#endif
