/* SPDX-License-Identifier: MIT */
#include "physics/band.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/fast.h"
#include "base/halt.h"
#include "base/memory.h"

static size_t width(const struct band *b)
{
    return 3 * b->reach + 1;
}

int band_init(struct band *b, size_t n, size_t reach)
{
    *b = (struct band){.n = n, .reach = reach};
    b->A = NEW(double, n *(3 * reach + 1));
    b->pivot = NEW(size_t, n);
    return b->A && b->pivot ? 0 : GSV_NO_MEMORY;
}

void band_free(struct band *b)
{
    MEM_FREE(b->A, b->pivot);
    *b = (struct band){0};
}

void band_clear(struct band *b)
{
    memset(b->A, 0, b->n * width(b) * sizeof *b->A);
}

double *band_at(const struct band *b, size_t i, size_t j)
{
    return b->A + i * width(b) + (j + b->reach - i);
}

void band_pin(struct band *b, size_t i)
{
    memset(b->A + i * width(b), 0, width(b) * sizeof *b->A);
    *band_at(b, i, i) = 1.0;
}

/* The last row that has an element in column k, and the last column of a row
 * after exchanges. */
static size_t last_row(const struct band *b, size_t k)
{
    return k + b->reach < b->n - 1 ? k + b->reach : b->n - 1;
}

static size_t last_column(const struct band *b, size_t k)
{
    return k + 2 * b->reach < b->n - 1 ? k + 2 * b->reach : b->n - 1;
}

static size_t find_pivot(const struct band *b, size_t k)
{
    size_t best = k;
    for (size_t i = k + 1; i <= last_row(b, k); i++)
        if (fabs(*band_at(b, i, k)) > fabs(*band_at(b, best, k))) best = i;
    return best;
}

static void exchange(const struct band *b, size_t k, size_t i)
{
    double *p = band_at(b, k, k), *q = band_at(b, i, k);
    for (size_t j = 0; j <= last_column(b, k) - k; j++) {
        double t = p[j];
        p[j] = q[j];
        q[j] = t;
    }
}

FAST static void subtract(size_t n, double c, const double *restrict p,
                          double *restrict q)
{
    for (size_t j = 0; j < n; j++)
        q[j] -= c * p[j];
}

int band_factor(struct band *b)
{
    for (size_t k = 0; k < b->n; k++) {
        if (k % 64 == 0 && halt_asked()) return halt_status();
        size_t at = find_pivot(b, k);
        b->pivot[k] = at;
        if (at != k) exchange(b, k, at);
        const double *p = band_at(b, k, k);
        if (!(fabs(*p) > 0.0) || !isfinite(*p))
            return fail(GSV_NUMERICAL, "a matrix on the grid is singular");
        for (size_t i = k + 1; i <= last_row(b, k); i++) {
            double *q = band_at(b, i, k);
            if (*q == 0.0) continue;
            *q /= *p;
            subtract(last_column(b, k) - k, *q, p + 1, q + 1);
        }
    }
    return 0;
}

void band_solve(const struct band *b, double *x)
{
    for (size_t k = 0; k < b->n; k++) {
        double t = x[b->pivot[k]];
        x[b->pivot[k]] = x[k];
        x[k] = t;
        for (size_t i = k + 1; t != 0.0 && i <= last_row(b, k); i++)
            x[i] -= *band_at(b, i, k) * t;
    }
    for (size_t k = b->n; k-- > 0;) {
        const double *row = band_at(b, k, k);
        double sum = x[k];
        for (size_t j = k + 1; j <= last_column(b, k); j++)
            sum -= row[j - k] * x[j];
        x[k] = sum / row[0];
    }
}
