/* SPDX-License-Identifier: MIT */
/* The Kalman filter with roots of covariances, P = S S', one number observed at
 * a time, and the way back through it.
 *
 * S is turned by a reflection until only its first column sees the number,
 * h' S = (sigma, 0, ..., 0). With s = sigma^2 + rho, rho its noise, and the
 * innovation v,
 *
 *     mean += K v,   K = S_1 sigma / s,   S_1 *= tau = sqrt(rho / s):
 *
 * nothing is subtracted, so that no precision is lost in wide first laws, and
 * rho may be 0. Over a gap [Phi S, root] is turned to [S', 0].
 *
 * Backward go r and M, with the gradient r by the mean and (r r' - M) / 2 by
 * the covariance; and, in the coordinates of S, zeta = S' r, W W' = I - S' M S
 * and X = M S. The law given all data is N(mean + S zeta, S W W' S'). */
#ifndef KALMAN_FILTER_H
#define KALMAN_FILTER_H

#include <stdbool.h>
#include <stddef.h>

/* What one number changed. */
struct update {
    double *u, *K;                /* (d) the reflection is I - u u'; gain */
    double v, s, sigma, tau, rho; /* see above                           */
    size_t which;                 /* the caller's                        */
};

/* A stop: the law given the data up to it, and how it came about. */
struct record {
    double *mean, *S; /* (d), (d, d)                                      */
    double *turn;     /* (d, 2 d): the first rows of the turn of the gap  */
    struct update *update; /* (updates)                                   */
    size_t updates;
};

/* Doubles of a record with at most so many updates, and the record there. */
size_t record_size(size_t d, size_t updates);
struct record record_at(size_t d, size_t updates, double *memory,
                        struct update *update);

/* Over a gap; room has 4 d^2 numbers. turn may be NULL. */
void filter_predict(size_t d, const double *Phi, const double *c,
                    const double *root, const struct record *from,
                    struct record *to, double *room);

/* The number y = h'z + offset + sqrt(rho) eps: v is y less offset. Returns its
 * log density, which is not finite where it has no variance. */
double filter_observe(size_t d, const double *h, double rho, double v,
                      struct record *r, size_t which);

/* What goes backward. */
struct adjoint {
    double *r, *M;        /* (d), (d, d) */
    double *zeta, *W, *X; /* (d), (d, d) */
    double *mean, *cov;   /* (d), (d, d) given all data */
};

size_t adjoint_size(size_t d);
struct adjoint adjoint_at(size_t d, double *memory);
void adjoint_start(size_t d, const struct adjoint *a);

/* mean and cov at a stop, after its last update. room (d, d) */
void adjoint_smooth(size_t d, const struct adjoint *a, const struct record *r,
                    double *room);

/* Backward through an update. Adds the gradient by h (d), unless NULL, and
 * returns those by the offset and rho. */
struct update_bar {
    double offset, rho;
};
struct update_bar adjoint_update(size_t d, const struct adjoint *a,
                                 const struct update *u, const double *h,
                                 double *h_bar, double *room);

/* Backward over the gap between two records: sets the bars by Phi, c and Q,
 * unless they are NULL. room has 4 d^2 numbers. */
void adjoint_predict(size_t d, const struct adjoint *a, const double *Phi,
                     const struct record *from, const struct record *to,
                     double *Phi_bar, double *c_bar, double *Q_bar,
                     double *room);

/* The root (n, n) of the covariance of the first n numbers of a law S (d, d).
 * room has d n numbers. */
void filter_marginal(size_t d, size_t n, const double *S, double *root,
                     double *room);

/* root root' = Q, both (d, d), for any covariance: directions of Q without
 * variance get none. room has d (d + 2) numbers. */
void filter_root(size_t d, const double *Q, double *root, double *room);

#endif
