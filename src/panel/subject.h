/* SPDX-License-Identifier: MIT */
/* One series as a function of its random effects u: log p(series | u), by the
 * estimator that the model has without them. A thread has one subject, which
 * takes one series after the other. */
#ifndef PANEL_SUBJECT_H
#define PANEL_SUBJECT_H

#include "model/effects.h"
#include "model/method.h"

struct subject {
    const struct method *inner;
    struct task task; /* of one series; the pointers are to what follows */
    gsv_model model;  /* with values of its own                          */
    gsv_series series;
    gsv_options options;
    double *value;   /* (values) of the model                           */
    double *held;    /* (values) that references are made from          */
    double *cell;    /* (columns, rows) of the series                   */
    size_t cells;    /* that there is room for                          */
    size_t start[2]; /* of the series                                   */
    char *label[1];
    void *machine;
    bool begun;
    bool holds;         /* whether references are those of `held`        */
    uint32_t iteration; /* of random numbers                             */
    bool trial;         /* as in struct request                          */
    size_t gaps;        /* of the last run                               */
};

/* For a task with the series of all subjects. Free in any case. */
int subject_init(struct subject *s, const struct method *inner,
                 const struct task *t);
void subject_free(struct subject *s);

/* A series: between these two it can be run. values: the parameters; held: see
 * struct request, or NULL. subject_end() also after a failure. */
int subject_begin(struct subject *s, const struct task *t, size_t track,
                  const double *values, const double *held);
void subject_end(struct subject *s);

/* log p at u (effects), -INFINITY where it is not finite; its gradient by all
 * values, unless NULL. */
int subject_at(struct subject *s, const double *u, double *value,
               double *gradient);

/* The same of every unit of the series, with other random numbers for slots;
 * see struct method. */
int subject_units(struct subject *s, const double *u, const uint32_t *stream,
                  double *unit);

/* The same with its diagnostics, to a result that is zero. */
int subject_fill(struct subject *s, const double *u, gsv_result *r);

/* The rows of one track as a series: rows is borrowed, cell (columns, rows) and
 * start (2) are given. */
gsv_series series_of_track(const gsv_series *all, size_t track, double *cell,
                           size_t start[2], char *label[1]);

/* Whether a track has fewer rows with numbers than a likelihood needs: its
 * effects have the law that they have before there are data. */
bool track_is_silent(const struct task *t, size_t track);

/* A seed of each track's own. */
uint64_t track_seed(uint64_t seed, size_t track);

#endif
