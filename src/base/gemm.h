/* SPDX-License-Identifier: MIT */
/* Products of matrices in single precision, row by row, that threads may call
 * at the same time (linalg.h's BLAS is behind a lock). */
#ifndef BASE_GEMM_H
#define BASE_GEMM_H

#include <stdbool.h>
#include <stddef.h>

struct matrix {
    const float *at;
    size_t stride;   /* from row to row of what is stored */
    bool transposed; /* what is meant is the transpose of what is stored */
};

/* Floats of room that a product with an inner dimension k needs. */
size_t gemm_room(size_t k);

/* Rows [first, end) of C (rows, m) = keep C + scale A B, where A is (rows, k)
 * and B is (k, m). */
void gemm(size_t first, size_t end, size_t k, size_t m, float scale,
          struct matrix A, struct matrix B, float keep, float *C,
          size_t C_stride, float *room);

#endif
