/* SPDX-License-Identifier: MIT */
#include "physics/spectrum.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "base/halt.h"
#include "base/linalg.h"
#include "base/memory.h"

enum { ITERATIONS = 30 };

static double dot(const struct inverse *q, const double *a, const double *b)
{
    double sum = 0.0;
    for (size_t i = 0; i < q->n; i++)
        sum += q->weight[i] * a[i] * b[i];
    return sum;
}

/* v is made orthogonal to k basis vectors, twice: h += the parts. */
static void orthogonalise(const struct inverse *q, size_t k, const double *V,
                          double *v, double *h)
{
    for (int pass = 0; pass < 2; pass++)
        for (size_t j = 0; j < k; j++) {
            double c = dot(q, V + j * q->n, v);
            h[j * ITERATIONS] += c;
            for (size_t i = 0; i < q->n; i++)
                v[i] -= c * V[j * q->n + i];
        }
}

/* H (ITERATIONS, ITERATIONS); returns the number of columns that were made. */
static size_t iterate(const struct inverse *q, double *V, double *v, double *H)
{
    size_t k = 0;
    double norm = sqrt(dot(q, v, v)), first = norm;
    for (; k < ITERATIONS && norm > 1e-10 * first && !halt_asked(); k++) {
        if (k) H[k * ITERATIONS + k - 1] = norm;
        for (size_t i = 0; i < q->n; i++)
            V[k * q->n + i] = v[i] /= norm;
        q->apply(q->context, v);
        if (!k) first = sqrt(dot(q, v, v));
        orthogonalise(q, k + 1, V, v, H + k);
        norm = sqrt(dot(q, v, v));
    }
    return k;
}

/* From eigenvalues of the inverse: the slowest first, and of a pair that turns
 * only one. */
static void select_slowest(size_t k, const double *re, const double *im,
                           double *time, double *turn)
{
    size_t found = 0;
    double last = (double)INFINITY;
    for (size_t i = 0; i < RELAXATIONS; i++)
        time[i] = turn[i] = (double)NAN;
    while (found < RELAXATIONS) {
        double best = 0.0, w = 0.0;
        for (size_t j = 0; j < k; j++) {
            double square = re[j] * re[j] + im[j] * im[j];
            double t = re[j] > 0.0 ? square / re[j] : 0.0;
            if (im[j] >= 0.0 && t > best && t < last) {
                best = t;
                w = im[j] / square;
            }
        }
        if (!(best > 0.0)) return;
        time[found] = last = best;
        turn[found++] = w;
    }
}

int spectrum_find(const struct inverse *q, double *start,
                  double time[RELAXATIONS], double turn[RELAXATIONS])
{
    double H[ITERATIONS * ITERATIONS] = {0}, A[ITERATIONS * ITERATIONS];
    double re[ITERATIONS], im[ITERATIONS], room[64 * ITERATIONS];
    double *V = NEW(double, q->n *ITERATIONS);
    if (!V) return GSV_NO_MEMORY;
    q->apply(q->context, start);
    size_t k = iterate(q, V, start, H);
    mem_free(V);
    if (halt_asked()) return halt_status();
    for (size_t i = 0; i < k; i++)
        memcpy(A + i * k, H + i * ITERATIONS, k * sizeof *A);
    if (!linalg_eigenvalues(k, A, re, im, room)) k = 0;
    select_slowest(k, re, im, time, turn);
    return 0;
}
