/* SPDX-License-Identifier: MIT */
/* The points of a field: a grid over the model's columns and time, or the
 * points of a file. */
#ifndef FIELD_H
#define FIELD_H

#include "cli.h"

/* n values from low to high; low if n is 1; n is 0 if not given. */
struct axis {
    const char *name;
    double low, high;
    size_t n;
};

double axis_at(const struct axis *a, size_t i);
double axis_middle(const struct axis *a);

/* The smallest and the largest of n numbers, `stride` apart, ignoring NaN. */
void find_range(const double *x, size_t n, size_t stride, double *low,
                double *high);

/* The model's columns, states first, then time. */
struct grid {
    size_t axes;
    struct axis *axis; /* (axes), yours */
};

/* An empty grid; 0, or a message. */
int grid_init(struct grid *g, const gsv_model *m);
void grid_free(struct grid *g);

/* x=-3:3:50,y=0:10:20,u=1 */
int grid_parse(struct grid *g, const char *text);

/* A default grid over the range of each state; inputs at their middle. */
int grid_cover(struct grid *g, const gsv_model *m, const double *low,
               const double *high);

/* The number of points; 0 after a message that there are too many. */
size_t grid_points(const struct grid *g);

/* The points first, first + 1, ...: time (n), value (columns, n). The first
 * axis is the slowest. */
void grid_fill(const struct grid *g, size_t first, size_t n, double *time,
               double *value);

/* Points of a CSV file, which has the columns and optionally a time. */
struct points {
    size_t rows, columns;
    double *cell; /* (rows, columns + 1): the columns, then time; yours */
};
int points_read(struct points *p, const char *path, size_t columns,
                const char *const *name);
void points_fill(const struct points *p, size_t first, size_t n, double *time,
                 double *value);

/* n points, the fastest index of every array, and the field there. */
struct block {
    size_t n;
    double *time;  /* (n); the others follow it. Yours */
    double *value; /* (columns, n)                      */
    double *f;     /* (dim, n) drift                    */
    double *g;     /* (dim, noises, n) diffusion        */
    double *sd;    /* (dim, n) of the drift             */
};

/* Memory for up to n points; 0, or a message. Free b->time. */
int block_init(struct block *b, const gsv_model *m, size_t n);

/* The field at the points of the block, with sd if there is a posterior q. 0,
 * or a message. */
int block_field(const struct block *b, const gsv_model *m, gsv_functions *q);

/* The commands of the figure, with at most `dots` points of the data, whose
 * columns are the model's. */
int field_draw(const gsv_model *m, gsv_functions *q, const struct grid *g,
               const gsv_series *data, size_t dots, FILE *to);

/* A figure of the field over the ranges of the grid, with the data and the
 * posterior q unless they are NULL. */
int field_plot(const gsv_model *m, gsv_functions *q, const struct grid *g,
               const gsv_series *data, const char *path);

#endif
