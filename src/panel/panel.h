/* SPDX-License-Identifier: MIT */
/* Series with random effects: the log-likelihood of a series is that of its
 * rows given the effects, as another estimator says, integrated over their law,
 *
 *     log p(series) = log integral of p(series | u) p(u) du,
 *
 * by quadrature around the mode of the integrand (mode.h, rule.h). The nodes
 * are constants under differentiation: the integral does not depend on them, so
 * the gradient is the mean of the other estimator's over the posterior weights
 * of the nodes. */
#ifndef PANEL_PANEL_H
#define PANEL_PANEL_H

#include "base/spread.h"
#include "panel/mode.h"

/* What a run leaves of each track; the numbers of its effects follow: center
 * (n) and root (n, n) of the nodes, posterior mean (n), covariance (n, n). */
enum track_field {
    TRACK_VALUE,
    TRACK_FEWER,    /* the same with fewer nodes                         */
    TRACK_VARIANCE, /* of the value, by chance                           */
    TRACK_GAPS,
    TRACK_STATUS,
    TRACK_PLACED, /* whether there are nodes                             */
    TRACK_LOG_ROOT,
    TRACK_ROUGH,
    TRACK_ESS, /* from here on at the mode, see gsv_result               */
    TRACK_KHAT,
    TRACK_FLAGS,
    TRACK_BIAS,
    TRACK_DISCRETISATION,
    TRACK_REFERENCE, /* of all gaps; AUTO where they differ                */
    TRACK_FORM,
    TRACK_STEPS,
    TRACK_PATHS,
    TRACK_OBSERVE,
    TRACK_EVALUATIONS,
    TRACK_FIELDS
};

struct worker;

struct panel {
    const struct method *inner;
    struct task task;
    gsv_options options;
    size_t n, tracks, lanes, threads, width, values;
    struct effect_law law;   /* at the values of this run           */
    struct effect_law nodes; /* at those that the nodes are made for */
    struct worker *worker;   /* (threads)                           */
    double *track;           /* (tracks, width)                     */
    double *sum;             /* spread_slots() times the sums       */
    double *held;            /* (values) that all nodes were made for */
    bool is_held;
    /* Of the run under way. */
    const struct request *request;
    bool filling;
    double *gradient;
};

/* The row that integrates over random effects around a method; and back, or
 * NULL. */
const struct method *panel_of(const struct method *inner);
const struct method *panel_inner(const struct method *row);

/* A run at the model's values, and the numbers of a track afterwards. */
int panel_init(struct panel *p, const struct method *inner,
               const struct task *t);
void panel_free(struct panel *p);
int panel_run(struct panel *p, const struct request *q, bool fill);
const double *panel_center(const struct panel *p, size_t track);
const double *panel_root(const struct panel *p, size_t track);
const double *panel_mean(const struct panel *p, size_t track);
const double *panel_covariance(const struct panel *p, size_t track);

#endif
