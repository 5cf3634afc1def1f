/* SPDX-License-Identifier: MIT */
/* Shared by the files of predict. */
#ifndef CLI_PREDICT_H
#define CLI_PREDICT_H

#include "cli.h"

struct ask {
    gsv_predict_options o;
    gsv_series *data; /* includes held-out rows and later inputs */
    double *time, *level, *until;
};

/* Whether a column has known values at forecast times. */
bool has_actual(const gsv_prediction *p, size_t column);

/* A panel for each column of the first series with a forecast: its last known
 * rows, bands, held-out rows. 0, or a message. */
int predict_plot(const struct ask *q, const gsv_prediction *p,
                 const char *path);

#endif
