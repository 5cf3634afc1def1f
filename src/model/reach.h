/* SPDX-License-Identifier: MIT */
/* How noise reaches the states of dx = F dt + G dW. A state without noise of
 * its own is moved by integrals of the noise of others: once integrated where F
 * of it has a noisy state, twice where it has one of those, and so on. Seen
 * from which elements F and G have, by the columns of G, AG, A^2 G, ... with
 * random numbers in the place of the elements of A = dF/dx and G. */
#ifndef MODEL_REACH_H
#define MODEL_REACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* More integrations cannot be told apart in double precision (a chain of 5
 * states has 4). */
enum { REACH_MOST = 4 };

#define REACH_NEVER SIZE_MAX

/* After how many integrations no more directions of the states are reached.
 * drift (D, D): whether F_i has x_j; noise (D, m): whether G_ij is not 0. order
 * (D), or NULL: after how many noise reaches state i, or REACH_NEVER. */
int reach_find(size_t D, size_t m, const bool *drift, const bool *noise,
               size_t *order, size_t *orders);

#endif
