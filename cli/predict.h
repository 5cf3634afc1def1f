/* SPDX-License-Identifier: MIT */
/* Between predict's files. */
#ifndef CLI_PREDICT_H
#define CLI_PREDICT_H

#include "cli.h"

struct ask {
    gsv_predict_options o;
    gsv_series *data; /* with rows that are held out, and inputs behind */
    double *time, *level, *until;
};

/* Whether anything that came is known of a column. */
bool has_actual(const gsv_prediction *p, size_t column);

/* A panel for each column of the first series that has a forecast: the last
 * part of what is known, bands, what came. 0, or a message. */
int predict_plot(const struct ask *q, const gsv_prediction *p,
                 const char *path);

#endif
