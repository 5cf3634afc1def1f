/* SPDX-License-Identifier: MIT */
/* One equation: what stands before dt and before each noise. */
#ifndef LANG_EQUATION_H
#define LANG_EQUATION_H

#include "lang/lamperti.h"
#include "lang/scope.h"

/* One noise in one equation. A matrix coefficient is that of `L @ dW`, whose
 * rows may have factors of their own. */
struct term {
    size_t noise; /* 0 for the equation's own, k for dWk */
    node coefficient;
    node row_factor; /* (rows, 1) of a matrix, or 0 for none */
    bool matrix;
    bool bare; /* still waits for the matrix in L @ dW */
    struct place place;
};

/* What an expression is as a differential: a number, and what stands before
 * dt and before each noise. Node 0 is nothing. */
struct form {
    node plain, drift;
    bool has_plain;
    struct place plain_place;
    struct term *term;
    size_t terms, capacity;
};

struct equation {
    const struct statement *statement;
    struct place place;  /* where its line begins */
    size_t offset, rows; /* of its state */
    struct form form;
    node shape; /* system.c: what all of its noises share */
    struct lamperti map;
};

/* A term's coefficient with the factors of its rows. */
node term_whole(struct graph *g, const struct term *t);

/* Fills the form, with shapes checked: the drift and the coefficients of terms
 * that are not matrices are (rows, 1). */
int equation_build(struct builder *b, struct equation *q);
void equation_free(struct equation *q);

#endif
