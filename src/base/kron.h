/* SPDX-License-Identifier: MIT */
/* Products with a Kronecker product A = A_1 (x) ... (x) A_D of small dense
 * matrices, on several right-hand sides at once, axis by axis: A itself is
 * never formed. Indices run row by row, the first axis slowest. */
#ifndef BASE_KRON_H
#define BASE_KRON_H

#include <stdbool.h>
#include <stddef.h>

enum { KRON_AXES = 6 };

struct kron {
    size_t axes; /* 1 .. KRON_AXES */
    size_t rows[KRON_AXES], columns[KRON_AXES];
    const double *factor[KRON_AXES]; /* (rows, columns) of each axis */
};

/* The columns of A. */
size_t kron_columns(const struct kron *k);

/* How many numbers kron_product() needs as room. */
size_t kron_room(const struct kron *k, size_t m);

/* Y (rows, m) = A X (columns, m), or Y (columns, m) = A' X (rows, m). */
void kron_product(const struct kron *k, bool transposed, size_t m,
                  const double *X, double *Y, double *room);

#endif
