/* SPDX-License-Identifier: MIT */
/* One state: everything by integrals of the scale and the speed measure. With
 * Phi' = 2 f / a,
 *
 *     scale s = exp(-Phi),  speed m = 2 exp(Phi) / a,  density m / int m,
 *     time from x up to b:  int_x^b s(y) int_low^y m(z) dz dy,
 *     committor: int_A^x s / int_A^B s,
 *
 * by Simpson's rule on cells in the coordinate of the axis. */
#ifndef PHYSICS_LINE_H
#define PHYSICS_LINE_H

#include "physics/scene.h"
#include "physics/spectrum.h"

struct line {
    const struct axis *axis;
    size_t cells;
    double h; /* of a cell, in s */
    /* (2 cells + 1): at ends and middles of cells */
    double *x, *f, *a; /* drift and a of x itself                    */
    double *phi;       /* of x, up to a constant                     */
    double *m, *s;     /* in s, both scaled by exp of a constant     */
    double *U;         /* - int f dx; 0 at its lowest                */
    double mass;       /* int m                                      */
};

/* A region: an interval of s, or one place. */
struct span {
    double low, high;
};

/* Between the ends of the axis. Free in any case. */
int line_init(struct line *l, const struct scene *c, size_t cells);
void line_free(struct line *l);

/* Finds the ends of the axis: where the density is negligible. *stationary is
 * false where it is not on one side; then the ends are near the data. */
int line_range(struct scene *c, bool *stationary);

/* log density of x, potential, and phi, between points. */
double line_log_density(const struct line *l, double s);
double line_potential(const struct line *l, double s);
double line_phi(const struct line *l, double s);

void line_moments(const struct line *l, double *mean, double *sd);

/* The mean time from a region, where it starts from the stationary law, to
 * another one; NaN where they overlap. */
int line_passage(const struct line *l, struct span from, struct span to,
                 double *time);

/* The probability to reach `to` before `from`, at n places. */
int line_committor(const struct line *l, struct span from, struct span to,
                   size_t n, const double *s, double *q);

int line_spectrum(const struct line *l, double time[RELAXATIONS],
                  double turn[RELAXATIONS]);

/* On a ring, where s and x are the same: the density (2 cells + 1), and the
 * current. */
int line_ring(const struct line *l, double *density, double *current);

#endif
