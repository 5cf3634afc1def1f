/* SPDX-License-Identifier: MIT */
#include "model/reach.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"

/* Numbers in [1, 2) where an element is. */
static void fill(size_t n, const bool *is, uint64_t item, double *to)
{
    const struct random_key key = {
        .seed = 1, .purpose = RANDOM_PILOT, .item = item};
    random_uniforms(&key, 0, 1, 0, n, to);
    for (size_t i = 0; i < n; i++)
        to[i] = is[i] ? 1.0 + to[i] : 0.0;
}

static double dot(size_t n, const double *a, const double *b)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* Adds the direction of v to a basis of orthogonal ones; whether it is new. */
static bool add(size_t D, size_t rank, double *basis, const double *v)
{
    static const double ROUNDING = 1e-9;
    double *to = basis + rank * D, size = sqrt(dot(D, v, v));
    if (!(size > 0.0) || rank == D) return false;
    for (size_t i = 0; i < D; i++)
        to[i] = v[i] / size;
    for (int again = 0; again < 2; again++)
        for (size_t k = 0; k < rank; k++) {
            double along = dot(D, basis + k * D, to);
            for (size_t i = 0; i < D; i++)
                to[i] -= along * basis[k * D + i];
        }
    double left = sqrt(dot(D, to, to));
    for (size_t i = 0; left > ROUNDING && i < D; i++)
        to[i] /= left;
    return left > ROUNDING;
}

/* V (D, m) = A V. */
static void integrate(size_t D, size_t m, const double *A, double *V,
                      double *room)
{
    for (size_t i = 0; i < D; i++)
        for (size_t j = 0; j < m; j++) {
            room[i * m + j] = 0.0;
            for (size_t l = 0; l < D; l++)
                room[i * m + j] += A[i * D + l] * V[l * m + j];
        }
    memcpy(V, room, D * m * sizeof *V);
}

/* The columns of V (D, m) to the basis, after so many integrations. */
static void add_all(size_t D, size_t m, const double *V, double *basis,
                    double *column, size_t count, size_t *order, size_t *rank)
{
    for (size_t j = 0; j < m; j++) {
        for (size_t i = 0; i < D; i++) {
            column[i] = V[i * m + j];
            if (order && column[i] != 0.0 && count < order[i]) order[i] = count;
        }
        *rank += add(D, *rank, basis, column);
    }
}

int reach_find(size_t D, size_t m, const bool *drift, const bool *noise,
               size_t *order, size_t *orders)
{
    double *A = NEW(double, 2 * D * D + 2 * D * m + D);
    if (!A) return GSV_NO_MEMORY;
    double *V = A + D * D, *basis = V + D * m, *room = basis + D * D;
    double *column = room + D * m;
    size_t rank = 0;
    fill(D * D, drift, 1, A);
    fill(D * m, noise, 2, V);
    for (size_t i = 0; order && i < D; i++)
        order[i] = REACH_NEVER;
    add_all(D, m, V, basis, column, 0, order, &rank);
    *orders = 0;
    for (size_t count = 1; count < D; count++) {
        size_t before = rank;
        integrate(D, m, A, V, room);
        add_all(D, m, V, basis, column, count, order, &rank);
        if (rank == before) break;
        *orders = count;
    }
    mem_free(A);
    return 0;
}
