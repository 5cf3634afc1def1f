/* SPDX-License-Identifier: MIT */
/* Posterior draws as CSV: .chain, .iteration, .draw, lp__, and a column for
 * each learned number. */
#ifndef SAMPLES_H
#define SAMPLES_H

#include "cli.h"

/* The file of draws: `asked`, or beside the fit, m.fit -> m.draws.csv. The text
 * is yours; NULL after a message. */
char *samples_path(const char *asked, const char *fit);

/* 0, or a message. */
int samples_write(const gsv_model *m, const char *path);

#endif
