/* SPDX-License-Identifier: MIT */
/* What is asked of a model, in a fixed order of numbers, so that a draw of the
 * parameters gives as many as the estimate, and intervals are quantiles number
 * by number. */
#ifndef PHYSICS_STUDY_H
#define PHYSICS_STUDY_H

#include "physics/region.h"
#include "physics/spectrum.h"

/* Numbers of a passage. */
enum { PASSAGE_TIME, PASSAGE_BARRIER, PASSAGE_KRAMERS, PASSAGE_NUMBERS };

struct passage {
    size_t from, to; /* regions */
};

enum { MOST_PASSAGES = 8, BINS = 40, LINE_CELLS = 201 };

struct study {
    struct scene scene;
    const gsv_physics_options *options;
    bool stationary;
    size_t points;
    double *fixed; /* (points, dim)           */
    double *rate;  /* (points, dim)           */
    double *turn;  /* (points, dim)           */
    size_t regions;
    struct region *region;
    size_t passages;
    struct passage passage[MOST_PASSAGES];
    double *low, *high;  /* (dim) of the bins */
    size_t cells;        /* of the field of one state */
    double *cell;        /* (cells) x         */
    double length, step; /* of simulations    */
    /* Places of the numbers. */
    size_t at_fixed, at_mean, at_relax, at_entropy, at_passage, at_marginal,
        at_density, at_potential, size;
};

/* A field that only the estimate has. */
struct law_field {
    size_t cells;
    double *x;         /* (dim, cells)  */
    double *density;   /* (cells)       */
    double *potential; /* (cells)       */
    double *committor; /* (cells)       */
    double *error;     /* (size) Monte Carlo errors of the numbers, or NULL */
    double current;
};
void law_field_free(struct law_field *f);

/* Places for the numbers. */
void study_lay(struct study *s);

/* Whether number i is positive and better on the scale of its logarithm. */
bool study_is_log(const struct study *s, size_t i);

/* The numbers (size) of a model with the study's text, on a grid. */
int study_run(const struct study *s, const gsv_model *m, size_t grid, double *v,
              struct law_field *field);

/* 0 for one state, 1 for two, 2 for more. */
size_t study_kind(const struct study *s);

/* The grid of the estimate, or the coarser one of draws: cells along each
 * state, or paths. */
size_t study_grid(const struct study *s, bool coarse);

/* From the numbers on both grids to those without the error of second order;
 * value becomes these. */
void study_extrapolate(const struct study *s, const double *coarse,
                       double *value);

/* By the number of states. */
int study_line(const struct study *s, const struct scene *c, size_t grid,
               double *v, struct law_field *field);
int study_plane(const struct study *s, const struct scene *c, size_t grid,
                double *v, struct law_field *field);
int study_cloud(const struct study *s, const struct scene *c, size_t tracks,
                double *v, struct law_field *field);

/* The stable points, and the passages between them or the caller's regions. */
int study_passages(struct study *s);

/* Length and step of simulations. */
int cloud_scales(struct study *s);

/* Sets the ends of the axes to what simulated paths reach; GSV_NUMERICAL where
 * they go farther and farther. */
int cloud_extent(struct study *s);

#endif
