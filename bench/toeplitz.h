/* SPDX-License-Identifier: MIT */
/* Products with symmetric Toeplitz matrices by FFT, for the comparison in
 * gp_bench.c: dense factors are faster on all grids that can be learned. A
 * (n, n) sits in a circulant of `size`, a power of two from 2 n on, whose
 * eigenvalues are real. All columns are transformed at once, half of them as
 * the imaginary parts of the other half; forward by decimation in frequency
 * and back by decimation in time, so that nothing is put in order in between.
 */
#ifndef BENCH_TOEPLITZ_H
#define BENCH_TOEPLITZ_H

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/fast.h"

enum { TOEPLITZ_MOST = 1024 };

struct toeplitz {
    size_t n, size;
    double value[TOEPLITZ_MOST]; /* eigenvalues / size, in the FFT's order */
    double cosine[TOEPLITZ_MOST], sine[TOEPLITZ_MOST];
};

/* One butterfly of rows a and b (m columns of real, then m of imaginary parts)
 * with the factor (c, s). */
FAST static void down(size_t m, double *restrict a, double *restrict b,
                      double c, double s)
{
    for (size_t k = 0; k < m; k++) {
        double re = a[k] - b[k], im = a[m + k] - b[m + k];
        a[k] += b[k];
        a[m + k] += b[m + k];
        b[k] = re * c - im * s;
        b[m + k] = re * s + im * c;
    }
}

FAST static void up(size_t m, double *restrict a, double *restrict b, double c,
                    double s)
{
    for (size_t k = 0; k < m; k++) {
        double re = b[k] * c - b[m + k] * s, im = b[k] * s + b[m + k] * c;
        b[k] = a[k] - re;
        b[m + k] = a[m + k] - im;
        a[k] += re;
        a[m + k] += im;
    }
}

/* X (size, 2 m) there, or back from what that left. */
static void transform(const struct toeplitz *t, size_t m, int back, double *X)
{
    for (size_t s = 2; s <= t->size; s *= 2) {
        size_t span = back ? s / 2 : t->size / s, turn = t->size / (2 * span);
        for (size_t first = 0; first < t->size; first += 2 * span)
            for (size_t i = 0; i < span; i++) {
                double *a = X + (first + i) * 2 * m, *b = a + span * 2 * m;
                if (back) up(m, a, b, t->cosine[i * turn], t->sine[i * turn]);
                else down(m, a, b, t->cosine[i * turn], -t->sine[i * turn]);
            }
    }
}

/* From the first row of A. */
static void toeplitz_init(struct toeplitz *t, size_t n, const double *row)
{
    double X[2 * TOEPLITZ_MOST] = {0};
    t->n = n;
    for (t->size = 2; t->size < 2 * n;)
        t->size *= 2;
    for (size_t i = 0; i < t->size; i++) {
        double angle = 2.0 * acos(-1.0) * (double)i / (double)t->size;
        t->cosine[i] = cos(angle);
        t->sine[i] = sin(angle);
    }
    for (size_t i = 0; i < n; i++)
        X[2 * i] = X[2 * ((t->size - i) % t->size)] = row[i];
    transform(t, 1, 0, X);
    for (size_t i = 0; i < t->size; i++)
        t->value[i] = X[2 * i] / (double)t->size;
}

/* Y (n, columns) = A X, columns even; room (size, columns). */
static void toeplitz_product(const struct toeplitz *t, size_t columns,
                             const double *X, double *Y, double *room)
{
    size_t used = t->n * columns;
    memcpy(room, X, used * sizeof *room);
    memset(room + used, 0, (t->size * columns - used) * sizeof *room);
    transform(t, columns / 2, 0, room);
    for (size_t i = 0; i < t->size; i++)
        for (size_t k = 0; k < columns; k++)
            room[i * columns + k] *= t->value[i];
    transform(t, columns / 2, 1, room);
    memcpy(Y, room, used * sizeof *Y);
}

#endif
