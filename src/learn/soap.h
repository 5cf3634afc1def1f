/* SPDX-License-Identifier: MIT */
/* Adam in the eigenbases of each weight matrix (SOAP; Vyas et al. 2024). With
 * running means L of G G' and R of G' G, G the gradient by the matrix, and
 * their eigenvectors as the columns of U and V, Adam runs on U' G V, and its
 * step is rotated back. The moments of the rotated gradient stand in struct
 * adam, at the places of the matrix. Bases are renewed by one orthogonal
 * iteration.
 *
 * All is done in strips that depend on the shapes alone, so that bits do not
 * depend on the number of threads. */
#ifndef LEARN_SOAP_H
#define LEARN_SOAP_H

#include <stdbool.h>

#include "learn/adam.h"

/* One side of a matrix: its factor, then its basis with a vector in each row,
 * both (n, n), in soap->state; n is 1 where it is not rotated. */
struct soap_side {
    size_t n, at;
};

struct soap_matrix {
    size_t place; /* in theta */
    size_t rows, columns;
    struct soap_side left, right;
    size_t work; /* in the soap's work */
};

struct soap {
    size_t matrices;
    struct soap_matrix *matrix;
    float *state; /* (size) factors and bases */
    double *kept; /* (size) the same, for a checkpoint; see soap_keep() */
    size_t size;
    float *gradient, *half; /* (weights) of all matrices */
    float *room;            /* (threads, room_size)      */
    size_t room_size, threads, strips;
    struct soap_strip *strip; /* (strips) */
};

/* Rows [first, end) of a matrix and of its left factor; or of its right factor
 * alone. */
struct soap_strip {
    size_t matrix, first, end;
    bool right;
};

/* For matrices of these shapes at these places of theta. */
int soap_init(struct soap *s, size_t matrices, const struct soap_matrix *shape,
              size_t threads);
void soap_free(struct soap *s);
void soap_reset(struct soap *s);

/* Between the state and its copy in double precision. */
void soap_keep(struct soap *s);
void soap_take(struct soap *s);

/* theta += rate times unit (theta) times the step, at the places of the
 * matrices. a->steps counts this step already. */
int soap_step(struct soap *s, struct adam *a, double rate, const double *unit,
              const double *gradient, double *theta);

#endif
