/* SPDX-License-Identifier: MIT */
/* The normal numbers of a bridge: one for each coordinate and each of its
 * first M - 1 steps. Either independent, or scrambled Sobol' points on the
 * sine modes of the Brownian bridge: the slowest modes get the best
 * coordinates, and an orthogonal map brings modes to steps,
 *
 *     xi_m = sum over q of O_mq z_q,   O_mq = [ s_q(m+1) - s_q(m) (M-m-1)/(M-m)
 * ] / sqrt((M-m-1) / (M (M-m))), s_q(i) = sqrt(2 l_q / M) sin(pi q i / M),  l_q
 * = 1 / (4 M sin^2(pi q/2M)).
 *
 * With more than MODES modes only the FEW_MODES slowest are Sobol' points, and
 * the rest of the space is left to independent numbers:
 * xi = xi' + O (z - O' xi'). */
#ifndef BRIDGE_DRAW_H
#define BRIDGE_DRAW_H

#include <stdbool.h>

#include "base/random.h"

enum { MODES = 128, FEW_MODES = 32 };

/* One thread's drawing of one block of paths. */
struct draw {
    size_t d;
    double *basis; /* (M - 1, modes): O of the M that it was made for   */
    size_t basis_M;
    double *mode; /* (modes, d, K): z, or z - O' xi'                 */
    double *row;  /* (MODES)                                         */
    struct random_key key;
    bool sobol;
    size_t M, modes;
    uint64_t k0;
    size_t K;
};

/* Sobol' modes of a path of M steps. */
size_t draw_modes(size_t M);

/* Doubles for the basis of any number of steps up to M. */
size_t draw_basis_room(size_t M);

/* Begins with paths [k0, k0 + K) of M steps; room (d, K) is scratch, needed
 * only where M - 1 > MODES. */
void draw_start(struct draw *w, size_t M, uint64_t k0, size_t K, double *room);

/* The numbers of steps [first, first + steps) to xi (steps, d, K); the last
 * step of all has none. room as above. */
void draw_steps(struct draw *w, size_t first, size_t steps, double *xi);

/* Row m of O: the first `modes` columns. */
void draw_basis_row(size_t M, size_t m, size_t modes, double *row);

#endif
