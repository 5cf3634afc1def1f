/* SPDX-License-Identifier: MIT */
/* Two states: the Fokker-Planck equation by finite volumes on a grid of N x N
 * cells in the coordinates s. Through a face the current of the density p is
 *
 *     J = (B(-z) a p - B(z) a' p') / (2 h),   z = 2 f h / a,
 *
 * with Bernoulli's function B(z) = z / (exp(z) - 1), where a p and a' p' stand
 * on both sides (Scharfetter-Gummel, Chang-Cooper): p stays positive. A
 * state without noise, and noise that both states share have central
 * differences. The transpose of the matrix is the generator, for passage times
 * and committors. */
#ifndef PHYSICS_PLANE_H
#define PHYSICS_PLANE_H

#include "physics/band.h"
#include "physics/scene.h"
#include "physics/spectrum.h"

struct plane {
    const struct scene *scene;
    size_t N; /* cells along each axis; cell (i, j) is number i N + j */
    double h[2];
    double *s, *x;  /* (2, N N) middles of cells                         */
    double *a;      /* (2, 2, N N) of s                                  */
    double *face_s; /* (2, faces): those across the first axis, then those */
    double *face_f; /* (2, faces)  across the second                     */
    double *face_a; /* (2, 2, faces)                                     */
    size_t faces;
    struct band L; /* factors with one row pinned                        */
    double *p;     /* (N N) probabilities of cells, of sum 1             */
    size_t pin;
};

/* The stationary law between the ends of the axes. Free in any case. */
int plane_init(struct plane *q, const struct scene *c, size_t N);
void plane_free(struct plane *q);

/* Finds the ends of the axes, as line_range(). */
int plane_range(struct scene *c, bool *stationary);

/* The density of x in a cell. */
double plane_density(const struct plane *q, size_t cell);

/* Probabilities (bins) of x_i between equal steps from low to high. */
void plane_marginal(const struct plane *q, size_t i, size_t bins, double low,
                    double high, double *share);

void plane_moments(const struct plane *q, size_t i, double *mean, double *sd);

/* The mean time (N N) to a region, and from another one, where it starts from
 * the stationary law. The regions are marks (N N) of cells. */
int plane_passage(const struct plane *q, const bool *from, const bool *to,
                  double *time);
int plane_committor(const struct plane *q, const bool *from, const bool *to,
                    double *probability);

int plane_spectrum(struct plane *q, double time[RELAXATIONS],
                   double turn[RELAXATIONS]);

/* int 2 J' a^-1 J / p; NaN where a has no inverse. */
double plane_entropy(const struct plane *q);

/* U (N N) with the least int p |f + grad U|^2, 0 at its lowest in the data's
 * range, and the share of int p |f|^2 that - grad U has. */
int plane_potential(const struct plane *q, double *U, double *share);

#endif
