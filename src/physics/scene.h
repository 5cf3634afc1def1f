/* SPDX-License-Identifier: MIT */
/* A model where time and inputs stand still, dX = f(X) dt + g(X) dW in Ito's
 * sense, and coordinates s of its states in which the domain is all numbers:
 *
 *     x = c + w sinh(s)                  all numbers
 *     x = l + w exp(s), h - w exp(-s)    above l, below h
 *     x = l + (h - l) / (1 + exp(-s))    between both
 *
 * so that light and heavy tails, and both ends of a bounded state, have cells
 * of a useful size. With x' = dx/ds,
 *
 *     f_s = f / x' - a x'' / (2 x'^3),   a_s = a / x'^2,   a = g g'. */
#ifndef PHYSICS_SCENE_H
#define PHYSICS_SCENE_H

#include "model/model.h"

enum axis_map { AXIS_ALL, AXIS_ABOVE, AXIS_BELOW, AXIS_BETWEEN, AXIS_RING };

struct axis {
    enum axis_map map;
    double low, high;     /* of the domain                               */
    double centre, width; /* c and w                                     */
    double data[2];       /* range of the data, in x                     */
    double end[2];        /* of the grid, in s                           */
    double search[2];     /* where fixed points are searched, in s       */
    bool given;           /* the caller set the ends, which reflect      */
};

double axis_x(const struct axis *a, double s);
double axis_s(const struct axis *a, double x);

/* dx/ds, and d^2x/ds^2. */
double axis_slope(const struct axis *a, double s);
double axis_bend(const struct axis *a, double s);

/* Whether the data reach x. */
bool axis_reached(const struct axis *a, double x);

struct scene {
    const gsv_model *model;
    size_t dim;
    double time;
    const double *input; /* (inputs)    */
    struct axis *axis;   /* (dim)       */
};

/* f (dim, n) and a = g g' (dim, dim, n) at x (dim, n); either may be NULL. */
int scene_flow(const struct scene *c, size_t n, const double *x, double *f,
               double *a);

/* The same in coordinates s; x (dim, n) is set, too. */
int scene_local(const struct scene *c, size_t n, const double *s, double *x,
                double *f, double *a);

/* The Jacobian (dim, dim) of f at x (dim), by central differences; room for
 * (2 dim (dim + dim)) numbers is its own. */
int scene_jacobian(const struct scene *c, const double *x, double *J);

/* Sets domain, map, centre and width of every axis from its data range. */
int scene_chart(struct scene *c);

#endif
