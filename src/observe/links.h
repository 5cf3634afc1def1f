/* SPDX-License-Identifier: MIT */
/* The smoother's joint law of neighbouring stops, in the coordinates u of
 * laws.c: a state given that of the stop before or after it, and all data,
 *
 *     u_n = mean_n + gain (u_m - mean_m) + root z,   m = n - 1 or n + 1,
 *
 * where z is standard normal; and what the data after a stop say of its state,
 *
 *     log psi_n(u) = log smoothed_n(u) - log filtered_n(u)
 *                  = level + v' slope - v' curve v / 2,   v = u - mean_n.
 *
 * The filtered law is that of the linearised model, too: from n + 1 on,
 *
 *     filtered_n = int (u_n given u_(n+1)) predicted_(n+1)(u_(n+1)) du_(n+1).
 *
 * All matrices are of the states that were not observed exactly in a row; the
 * others are what was observed. */
#ifndef OBSERVE_LINKS_H
#define OBSERVE_LINKS_H

#include "observe/observe.h"

/* Of every stop given a neighbour. With n of its states and m of the
 * neighbour's latent, gain is (n, m) and root (n, n), lower, from
 * stop * d * d on; a track's end has no neighbour: there the law is the
 * stop's own, and gain is 0. */
struct link {
    double *gain, *root; /* (stops, d, d)            */
    double *log_root;    /* (stops) log |det root|   */
};

struct links {
    struct laws *laws; /* linked; borrowed */
    size_t d;
    struct link before, after; /* given the stop before, given the one after */
    double *level, *slope, *curve; /* (stops), (stops, d), (stops, d, d): psi */
    double *small; /* (5, d, d)                                  */
    struct arena arena;
};

int links_init(struct links *l, struct laws *laws);
void links_free(struct links *l);

/* After laws_run(). */
int links_make(struct links *l);

/* P states u (d, P) at a stop from z (latent, P) and the states before (d, P)
 * at the stop before, which are not read at the first stop of a track. Their
 * log density is that of z, less before.log_root. */
void links_draw(const struct links *l, size_t stop, size_t P,
                const double *before, const double *z, double *u);

/* log psi (P) of states u (d, P). */
void links_ahead(const struct links *l, size_t stop, size_t P, const double *u,
                 double *log_psi);

#endif
