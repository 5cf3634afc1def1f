/* SPDX-License-Identifier: MIT */
#include "base/gemm.h"

#include <string.h>

#include "base/fast.h"

/* A tile of ROWS x COLUMNS sums fills the registers: 12 vectors of sums, 3 of
 * B, one broadcast number of A. */
enum { ROWS = 4, VECTORS = 3, LANES = 8, COLUMNS = VECTORS * LANES };

typedef float vec __attribute__((vector_size(32)));

size_t gemm_room(size_t k)
{
    return k * COLUMNS;
}

INLINE float element(struct matrix A, size_t i, size_t j)
{
    return A.transposed ? A.at[j * A.stride + i] : A.at[i * A.stride + j];
}

/* Columns [j, j + n) of B to a panel (k, COLUMNS), with zeros after them. */
INLINE void pack(size_t k, size_t n, size_t j, struct matrix B, float *panel)
{
    for (size_t i = 0; i < k; i++) {
        float *to = panel + i * COLUMNS;
        for (size_t c = 0; c < n; c++)
            to[c] = element(B, i, j + c);
        for (size_t c = n; c < COLUMNS; c++)
            to[c] = 0.0f;
    }
}

/* Four rows of A from i on, or the last one again where there are fewer. */
INLINE void tile(size_t k, size_t i, size_t last, struct matrix A,
                 const float *panel, float sums[ROWS][COLUMNS])
{
    const vec *b = (const vec *)panel;
    const float *a[ROWS];
    size_t step = A.transposed ? A.stride : 1;
    vec s[ROWS][VECTORS] = {0};
    for (size_t r = 0; r < ROWS; r++) {
        size_t row = i + r < last ? i + r : last;
        a[r] = A.at + (A.transposed ? row : row * A.stride);
    }
    for (size_t j = 0; j < k; j++, b += VECTORS)
#pragma GCC unroll 4
        for (size_t r = 0; r < ROWS; r++)
#pragma GCC unroll 3
            for (size_t v = 0; v < VECTORS; v++)
                s[r][v] += a[r][j * step] * b[v];
    memcpy(sums, s, sizeof s);
}

FAST static void multiply(size_t first, size_t end, size_t k, size_t m,
                          float scale, struct matrix A, struct matrix B,
                          float keep, float *C, size_t C_stride, float *room)
{
    float sums[ROWS][COLUMNS];
    for (size_t j = 0; j < m; j += COLUMNS) {
        size_t n = m - j < COLUMNS ? m - j : COLUMNS;
        pack(k, n, j, B, room);
        for (size_t i = first; i < end; i += ROWS) {
            size_t rows = end - i < ROWS ? end - i : ROWS;
            tile(k, i, end - 1, A, room, sums);
            for (size_t r = 0; r < rows; r++) {
                float *to = C + (i + r) * C_stride + j;
                for (size_t c = 0; c < n; c++)
                    to[c] = (keep != 0.0f ? keep * to[c] : 0.0f) +
                            scale * sums[r][c];
            }
        }
    }
}

void gemm(size_t first, size_t end, size_t k, size_t m, float scale,
          struct matrix A, struct matrix B, float keep, float *C,
          size_t C_stride, float *room)
{
    multiply(first, end, k, m, scale, A, B, keep, C, C_stride, room);
}
