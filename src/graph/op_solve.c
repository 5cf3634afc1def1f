/* SPDX-License-Identifier: MIT */
/* Solutions, log-determinants and Cholesky factors, matrix by matrix: once
 * where the matrix is uniform, else at every point. A matrix that cannot be
 * factored gives NaN, which the estimate counts and reports. */
#include <math.h>
#include <string.h>

#include "base/linalg.h"
#include "graph/op_rows.h"

/* A matrix at one point, gathered from or scattered to its operand. */
static void gather(const struct operand *o, size_t P, size_t i,
                   const double *from, double *to)
{
    size_t stride = o->step ? P : 1, first = o->step ? i : 0;
    for (size_t e = 0; e < o->size; e++)
        to[e] = from[e * stride + first];
}

static void scatter_add(const struct operand *o, size_t P, size_t i,
                        const double *from, double *to)
{
    size_t stride = o->step ? P : 1, first = o->step ? i : 0;
    for (size_t e = 0; e < o->size; e++)
        to[e * stride + first] += from[e];
}

static void scatter(size_t size, size_t P, size_t i, const double *from,
                    double *to)
{
    for (size_t e = 0; e < size; e++)
        to[e * P + i] = from[e];
}

static void fill_nan(size_t n, double *x)
{
    for (size_t i = 0; i < n; i++)
        x[i] = NAN;
}

/* --- solve: y = A^-1 b -------------------------------------------------- */

/* Scratch of a point: factors, a copy of the solution, one right side, pivots
 * (an int is no larger than a double). */
struct solving {
    double *lu, *y, *b, *work;
    int *pivot;
};

static struct solving solving(const struct apply *a)
{
    double *s = a->scratch;
    size_t n = a->rows, m = a->info->columns;
    return (struct solving){.lu = s,
                            .y = s + n * n,
                            .b = s + n * n + n * m,
                            .work = s + n * n + 2 * n * m,
                            .pivot = (int *)(s + 2 * n * n + 2 * n * m)};
}

/* b becomes A^-1 b, or A'^-1 b, for the matrix A in lu; or NaN. */
static void solve_at(const struct apply *a, const struct solving *s,
                     bool transposed)
{
    size_t n = a->rows, m = a->info->columns;
    if (linalg_lu(n, s->lu, s->pivot))
        linalg_lu_solve(n, m, s->lu, s->pivot, transposed, s->b);
    else fill_nan(n * m, s->b);
}

size_t solve_scratch(const struct apply *a)
{
    size_t n = a->rows, m = a->info->columns;
    return (2 * n * n + 2 * n * m + n) * sizeof(double);
}

void solve_forward(const struct apply *a)
{
    struct solving s = solving(a);
    size_t n = a->rows, m = a->info->columns;
    for (size_t i = 0; i < a->P; i++) {
        gather(&a->in[0], a->P, i, a->in[0].value, s.lu);
        gather(&a->in[1], a->P, i, a->in[1].value, s.b);
        solve_at(a, &s, false);
        scatter(n * m, a->P, i, s.b, a->out.value);
    }
}

/* b_bar += A'^-1 y_bar; A_bar -= (A'^-1 y_bar) y'. */
void solve_vjp(const struct apply *a)
{
    struct solving s = solving(a);
    size_t n = a->rows, m = a->info->columns;
    for (size_t i = 0; i < a->P; i++) {
        gather(&a->in[0], a->P, i, a->in[0].value, s.lu);
        gather(&a->out, a->P, i, a->out.value, s.y);
        gather(&a->out, a->P, i, a->out.bar, s.b);
        solve_at(a, &s, true);
        if (a->in[1].bar) scatter_add(&a->in[1], a->P, i, s.b, a->in[1].bar);
        if (!a->in[0].bar) continue;
        linalg_product(n, m, n, s.b, false, s.y, true, s.work);
        for (size_t e = 0; e < n * n; e++)
            s.work[e] = -s.work[e];
        scatter_add(&a->in[0], a->P, i, s.work, a->in[0].bar);
    }
}

/* y_dot = A^-1 (b_dot - A_dot y). */
void solve_jvp(const struct apply *a)
{
    struct solving s = solving(a);
    size_t n = a->rows, m = a->info->columns;
    for (size_t i = 0; i < a->P; i++) {
        memset(s.b, 0, n * m * sizeof *s.b);
        if (a->in[0].dot) {
            gather(&a->in[0], a->P, i, a->in[0].dot, s.work);
            gather(&a->out, a->P, i, a->out.value, s.y);
            linalg_product(n, n, m, s.work, false, s.y, false, s.b);
        }
        if (a->in[1].dot) gather(&a->in[1], a->P, i, a->in[1].dot, s.y);
        else memset(s.y, 0, n * m * sizeof *s.y);
        for (size_t e = 0; e < n * m; e++)
            s.b[e] = s.y[e] - s.b[e];
        gather(&a->in[0], a->P, i, a->in[0].value, s.lu);
        solve_at(a, &s, false);
        scatter(n * m, a->P, i, s.b, a->out.dot);
    }
}

/* --- logdet: log |det A| ------------------------------------------------ */

size_t logdet_scratch(const struct apply *a)
{
    return (2 * a->rows * a->rows + a->rows) * sizeof(double);
}

void logdet_forward(const struct apply *a)
{
    size_t n = a->rows;
    double *lu = a->scratch;
    int *pivot = (int *)(lu + 2 * n * n);
    for (size_t i = 0; i < a->P; i++) {
        gather(&a->in[0], a->P, i, a->in[0].value, lu);
        a->out.value[i] =
            linalg_lu(n, lu, pivot) ? linalg_lu_logdet(n, lu) : NAN;
    }
}

/* The inverse of A at point i, or NaN. */
static double *inverse(const struct apply *a, size_t i)
{
    size_t n = a->rows;
    double *lu = a->scratch, *inv = lu + n * n;
    int *pivot = (int *)(lu + 2 * n * n);
    gather(&a->in[0], a->P, i, a->in[0].value, lu);
    for (size_t e = 0; e < n * n; e++)
        inv[e] = e % (n + 1) == 0;
    if (linalg_lu(n, lu, pivot)) linalg_lu_solve(n, n, lu, pivot, false, inv);
    else fill_nan(n * n, inv);
    return inv;
}

/* A_bar += y_bar A'^-1. */
void logdet_vjp(const struct apply *a)
{
    size_t n = a->rows;
    if (!a->in[0].bar) return;
    for (size_t i = 0; i < a->P; i++) {
        const double *inv = inverse(a, i);
        double *lu = a->scratch;
        for (size_t r = 0; r < n; r++)
            for (size_t c = 0; c < n; c++)
                lu[r * n + c] = a->out.bar[i] * inv[c * n + r];
        scatter_add(&a->in[0], a->P, i, lu, a->in[0].bar);
    }
}

/* y_dot = tr(A^-1 A_dot). */
void logdet_jvp(const struct apply *a)
{
    size_t n = a->rows;
    for (size_t i = 0; i < a->P; i++) {
        const double *inv = inverse(a, i);
        double *dot = a->scratch, sum = 0.0;
        gather(&a->in[0], a->P, i, a->in[0].dot, dot);
        for (size_t r = 0; r < n; r++)
            for (size_t c = 0; c < n; c++)
                sum += inv[r * n + c] * dot[c * n + r];
        a->out.dot[i] = sum;
    }
}

/* --- cholesky: A = L L' ------------------------------------------------- */

size_t cholesky_scratch(const struct apply *a)
{
    return 3 * a->rows * a->rows * sizeof(double);
}

void cholesky_forward(const struct apply *a)
{
    size_t n = a->rows;
    double *L = a->scratch;
    for (size_t i = 0; i < a->P; i++) {
        gather(&a->in[0], a->P, i, a->in[0].value, L);
        if (!linalg_cholesky(n, L)) fill_nan(n * n, L);
        scatter(n * n, a->P, i, L, a->out.value);
    }
}

/* The lower half with half of the diagonal. */
static void half(size_t n, double *X)
{
    for (size_t r = 0; r < n; r++) {
        X[r * n + r] *= 0.5;
        for (size_t c = r + 1; c < n; c++)
            X[r * n + c] = 0.0;
    }
}

static void transpose_square(size_t n, double *X)
{
    for (size_t r = 0; r < n; r++)
        for (size_t c = 0; c < r; c++) {
            double x = X[r * n + c];
            X[r * n + c] = X[c * n + r];
            X[c * n + r] = x;
        }
}

/* A_bar += sym(L'^-1 half(L' L_bar) L^-1). */
void cholesky_vjp(const struct apply *a)
{
    size_t n = a->rows;
    double *L = a->scratch, *X = L + n * n, *Y = X + n * n;
    if (!a->in[0].bar) return;
    for (size_t i = 0; i < a->P; i++) {
        gather(&a->out, a->P, i, a->out.value, L);
        gather(&a->out, a->P, i, a->out.bar, Y);
        linalg_product(n, n, n, L, true, Y, false, X);
        half(n, X);
        linalg_lower_solve(n, n, L, true, X); /* L'^-1 X             */
        transpose_square(n, X);
        linalg_lower_solve(n, n, L, true, X); /* (L'^-1 X L^-1)'     */
        for (size_t r = 0; r < n; r++)
            for (size_t c = 0; c < n; c++)
                Y[r * n + c] = 0.5 * (X[r * n + c] + X[c * n + r]);
        scatter_add(&a->in[0], a->P, i, Y, a->in[0].bar);
    }
}

/* L_dot = L half(L^-1 A_dot L'^-1). */
void cholesky_jvp(const struct apply *a)
{
    size_t n = a->rows;
    double *L = a->scratch, *X = L + n * n, *Y = X + n * n;
    for (size_t i = 0; i < a->P; i++) {
        gather(&a->out, a->P, i, a->out.value, L);
        gather(&a->in[0], a->P, i, a->in[0].dot, X);
        linalg_lower_solve(n, n, L, false, X);
        transpose_square(n, X);
        linalg_lower_solve(n, n, L, false, X);
        transpose_square(n, X);
        half(n, X);
        linalg_product(n, n, n, L, false, X, false, Y);
        scatter(n * n, a->P, i, Y, a->out.dot);
    }
}
