/* SPDX-License-Identifier: MIT */
/* What the files of physics share. */
#ifndef CLI_PHYSICS_H
#define CLI_PHYSICS_H

#include "cli.h"

/* Options from the command line, and their arrays. */
struct physics_wish {
    gsv_physics_options options;
    double *end;   /* (2, dim) */
    double *input; /* (inputs) */
};

/* 0, or a message. Either way physics_wish_free() it. */
int physics_wish(const struct args *a, const gsv_model *m,
                 struct physics_wish *w);
void physics_wish_free(struct physics_wish *w);

/* --- physics_out.c ------------------------------------------------------- */

/* A number of a result, with its name for tables. */
struct physics_row {
    char name[200];
    gsv_quantity q;
    bool reached;
};

/* All numbers except fixed points; the list is yours, NULL after a message. */
struct physics_row *physics_rows(const gsv_physics_result *r, size_t *count);

extern const char *const STABILITY[]; /* by enum gsv_stability */

void physics_print(const gsv_physics_result *r, const struct physics_row *row,
                   size_t rows);
json_t *physics_json(const gsv_physics_result *r, const struct physics_row *row,
                     size_t rows);

/* PREFIX-points.csv and the others. */
int physics_write(const struct args *a, const gsv_physics_result *r,
                  const struct physics_row *row, size_t rows);

/* --- physics_plot.c ------------------------------------------------------ */

/* The figure's commands for gnuplot, and how high it is. */
int physics_height(const gsv_physics_result *r);
void physics_panels(const gsv_physics_result *r, FILE *to);

#endif
