/* SPDX-License-Identifier: MIT */
/* How noise reaches the states of dx = F dt + G dW. A state without noise of
 * its own is moved by integrals of the noise of others: once integrated where F
 * of it has a noisy state, twice where it has one of those, and so on. Seen
 * from which elements F and G have, by the columns of G, AG, A^2 G, ... with
 * random numbers in the place of the elements of A = dF/dx and G. */
#ifndef GUIDED_REACH_H
#define GUIDED_REACH_H

#include <stdbool.h>
#include <stddef.h>

/* More integrations cannot be told apart in double precision (a chain of 5
 * states has 4). */
enum { REACH_MOST = 4 };

struct reach {
    size_t orders; /* of the integrals after which no more states are reached */
    size_t rank;   /* how many directions they have                           */
};

/* drift (D, D): whether F_i has x_j; noise (D, m): whether G_ij is not 0. moved
 * (D), or NULL: whether noise ever reaches state i. */
int reach_find(size_t D, size_t m, const bool *drift, const bool *noise,
               bool *moved, struct reach *r);

#endif
