/* SPDX-License-Identifier: MIT */
/* LAPACK reads columns first, so that it sees A' where we have A. It factors
 * A' = P L U; read row by row, the same memory holds
 *
 *     A = U' L' P'    U' lower, L' upper with ones on its diagonal
 *
 * and Cholesky's upper factor of A' = A is our lower one: nothing has to be
 * transposed. Below SMALL plain loops do the same and are faster than a call:
 * a model's matrices mostly are 2 by 2 or 3 by 3, and for these the loops are
 * unrolled. */
#include "base/linalg.h"

#include <cblas.h>
#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/fast.h"

/* LAPACK itself, as OpenBLAS has it: the C interface is a library more to load,
 * a millisecond of every start, for a few functions. */
void dgetrf_(const int *rows, const int *columns, double *A, const int *ld,
             int *pivot, int *info);
void dpotrf_(const char *half, const int *n, double *A, const int *ld,
             int *info, size_t half_length);
void dpotri_(const char *half, const int *n, double *A, const int *ld,
             int *info, size_t half_length);

void dsyev_(const char *job, const char *half, const int *n, double *A,
            const int *ld, double *value, double *work, const int *size,
            int *info, size_t job_length, size_t half_length);

void dgeev_(const char *left, const char *right, const int *n, double *A,
            const int *ld, double *re, double *im, double *vl, const int *ldl,
            double *vr, const int *ldr, double *work, const int *size,
            int *info, size_t left_length, size_t right_length);

enum { FEW = 4, SMALL = 16, MEDIUM = 40 };

/* An OpenBLAS that was built without threads has no locks around its buffers:
 * two threads that call it at the same time corrupt each other's results. */
static pthread_mutex_t blas_lock = PTHREAD_MUTEX_INITIALIZER;

static void lock_blas(void)
{
    pthread_mutex_lock(&blas_lock);
}

static void blas_end(void)
{
    pthread_mutex_unlock(&blas_lock);
}

/* A fork waits until no thread is inside BLAS. The child would otherwise have a
 * copy of a locked mutex, and no thread that unlocks it. */
static void prepare_forks(void)
{
    pthread_atfork(lock_blas, blas_end, blas_end);
}

static void blas_begin(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, prepare_forks);
    lock_blas();
}

/* LAPACK's factors by OpenBLAS for processors without AVX2, and for those newer
 * than itself, round differently where a matrix begins at an odd multiple of 8
 * bytes: there a copy is factored. Without memory for one the digits are right,
 * but the last ones may depend on the place. */
enum { ALIGNED = 16 };

static double *blas_begin_at(size_t n, double *A)
{
    double *at = A;
    if ((uintptr_t)A % ALIGNED) {
        at = aligned_alloc(ALIGNED, (n * n + 1) / 2 * ALIGNED);
        if (at) memcpy(at, A, n * n * sizeof *A);
        else at = A;
    }
    blas_begin();
    return at;
}

static void blas_end_at(size_t n, double *A, double *at)
{
    blas_end();
    if (at == A) return;
    memcpy(A, at, n * n * sizeof *A);
    free(at);
}

/* Numbers of a room to leave out, for the same reason. */
static size_t to_aligned(const double *room)
{
    return (uintptr_t)room % ALIGNED / sizeof *room;
}

FAST bool all_finite(size_t n, const double *x)
{
    size_t finite = 0;
    for (size_t i = 0; i < n; i++)
        finite += fabs(x[i]) <= DBL_MAX;
    return finite == n;
}

/* --- Product ------------------------------------------------------------- */

INLINE void product_small(size_t n, size_t k, size_t m, const double *A,
                          bool A_transposed, const double *B, bool B_transposed,
                          double *restrict C)
{
    const size_t A_row = A_transposed ? 1 : k, A_column = A_transposed ? n : 1;
    const size_t B_row = B_transposed ? 1 : m, B_column = B_transposed ? k : 1;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < m; j++) {
            double sum = 0;
            for (size_t l = 0; l < k; l++)
                sum +=
                    A[i * A_row + l * A_column] * B[l * B_row + j * B_column];
            C[i * m + j] = sum;
        }
    }
}

/* Between the small and those worth a call: rows of B, or of B', are vectors.
 */
FAST static void product_medium(size_t n, size_t k, size_t m, const double *A,
                                bool A_transposed, const double *B,
                                bool B_transposed, double *restrict C)
{
    const size_t A_row = A_transposed ? 1 : k, A_column = A_transposed ? n : 1;
    for (size_t i = 0; i < n; i++) {
        double *restrict c = C + i * m;
        for (size_t j = 0; B_transposed && j < m; j++) {
            double sum = 0;
#pragma omp simd reduction(+ : sum)
            for (size_t l = 0; l < k; l++)
                sum += A[i * A_row + l * A_column] * B[j * k + l];
            c[j] = sum;
        }
        if (B_transposed) continue;
        for (size_t j = 0; j < m; j++)
            c[j] = 0;
        for (size_t l = 0; l < k; l++) {
            double a = A[i * A_row + l * A_column];
#pragma omp simd
            for (size_t j = 0; j < m; j++)
                c[j] += a * B[l * m + j];
        }
    }
}

static CBLAS_TRANSPOSE flag(bool transposed)
{
    return transposed ? CblasTrans : CblasNoTrans;
}

void linalg_product(size_t n, size_t k, size_t m, const double *A,
                    bool A_transposed, const double *B, bool B_transposed,
                    double *C)
{
    bool square = n == k && n == m;
    if (square && n == 3) {
        product_small(3, 3, 3, A, A_transposed, B, B_transposed, C);
        return;
    }
    if (square && n == 2) {
        product_small(2, 2, 2, A, A_transposed, B, B_transposed, C);
        return;
    }
    if (n * k * m <= FEW * FEW * FEW) {
        product_small(n, k, m, A, A_transposed, B, B_transposed, C);
        return;
    }
    if (n * k * m <= MEDIUM * MEDIUM * MEDIUM) {
        product_medium(n, k, m, A, A_transposed, B, B_transposed, C);
        return;
    }
    blas_begin();
    cblas_dgemm(CblasRowMajor, flag(A_transposed), flag(B_transposed), (int)n,
                (int)m, (int)k, 1, A, (int)(A_transposed ? n : k), B,
                (int)(B_transposed ? k : m), 0, C, (int)m);
    blas_end();
}

/* --- Triangles ----------------------------------------------------------- */

struct triangle {
    bool lower, transposed, unit; /* unit: ones on the diagonal, not stored */
};

/* Rows in the order in which they can be solved: a row needs those before. */
INLINE void solve_small(size_t n, size_t m, const double *T, struct triangle t,
                        double *B)
{
    const bool down = t.lower != t.transposed;
    const size_t row = t.transposed ? 1 : n, column = t.transposed ? n : 1;
    for (size_t s = 0; s < n; s++) {
        size_t i = down ? s : n - 1 - s;
        double *b = B + i * m;
        for (size_t r = 0; r < s; r++) {
            size_t j = down ? r : n - 1 - r;
            double a = T[i * row + j * column];
            for (size_t c = 0; c < m; c++)
                b[c] -= a * B[j * m + c];
        }
        for (size_t c = 0; !t.unit && c < m; c++)
            b[c] /= T[i * n + i];
    }
}

static void solve(size_t n, size_t m, const double *T, struct triangle t,
                  double *B)
{
    if (n == 3 && m == 3) {
        solve_small(3, 3, T, t, B);
        return;
    }
    if (n == 2 && m == 2) {
        solve_small(2, 2, T, t, B);
        return;
    }
    if (n <= SMALL || !m) {
        solve_small(n, m, T, t, B);
        return;
    }
    blas_begin();
    cblas_dtrsm(CblasRowMajor, CblasLeft, t.lower ? CblasLower : CblasUpper,
                flag(t.transposed), t.unit ? CblasUnit : CblasNonUnit, (int)n,
                (int)m, 1, T, (int)n, B, (int)m);
    blas_end();
}

void linalg_lower_solve(size_t n, size_t m, const double *L, bool transposed,
                        double *B)
{
    solve(n, m, L, (struct triangle){.lower = true, .transposed = transposed},
          B);
}

/* --- LU ------------------------------------------------------------------ */

static void swap(size_t n, double *a, double *b, size_t step)
{
    for (size_t i = 0; i < n * step; i += step) {
        double kept = a[i];
        a[i] = b[i];
        b[i] = kept;
    }
}

/* What dgetrf does to A': pivots are sought along a row. */
static void lu_small(size_t n, double *A, int *pivot)
{
    for (size_t k = 0; k < n; k++) {
        double *row = A + k * n;
        size_t best = k;
        for (size_t j = k + 1; j < n; j++)
            if (fabs(row[j]) > fabs(row[best])) best = j;
        pivot[k] = (int)best + 1;
        if (best != k) swap(n, A + k, A + best, n);
        for (size_t j = k + 1; j < n; j++)
            row[j] /= row[k];
        for (size_t i = k + 1; i < n; i++)
            for (size_t j = k + 1; j < n; j++)
                A[i * n + j] -= A[i * n + k] * row[j];
    }
}

bool linalg_lu(size_t n, double *A, int *pivot)
{
    if (n <= SMALL) {
        lu_small(n, A, pivot);
    } else {
        int size = (int)n, info;
        double *at = blas_begin_at(n, A);
        dgetrf_(&size, &size, at, &size, pivot, &info);
        blas_end_at(n, A, at);
    }
    for (size_t i = 0; i < n; i++)
        if (A[i * n + i] == 0) return false;
    return all_finite(n * n, A);
}

void linalg_lu_solve(size_t n, size_t m, const double *LU, const int *pivot,
                     bool transposed, double *B)
{
    const struct triangle lower = {.lower = true, .transposed = transposed};
    const struct triangle upper = {.unit = true, .transposed = transposed};
    if (!transposed) {
        solve(n, m, LU, lower, B);
        solve(n, m, LU, upper, B);
    }
    for (size_t s = 0; s < n; s++) {
        size_t i = transposed ? s : n - 1 - s, j = (size_t)pivot[i] - 1;
        if (i != j) swap(m, B + i * m, B + j * m, 1);
    }
    if (transposed) {
        solve(n, m, LU, upper, B);
        solve(n, m, LU, lower, B);
    }
}

double linalg_lu_logdet(size_t n, const double *LU)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += log(fabs(LU[i * n + i]));
    return sum;
}

/* --- Cholesky ------------------------------------------------------------ */

INLINE bool cholesky_small(size_t n, double *A)
{
    for (size_t i = 0; i < n; i++) {
        double *row = A + i * n;
        for (size_t j = 0; j <= i; j++) {
            double sum = row[j];
            for (size_t k = 0; k < j; k++)
                sum -= row[k] * A[j * n + k];
            if (i == j && !(sum > 0)) return false;
            row[j] = i == j ? sqrt(sum) : sum / A[j * n + j];
        }
    }
    return true;
}

bool linalg_cholesky(size_t n, double *A)
{
    bool done;
    if (n == 3) {
        done = cholesky_small(3, A);
    } else if (n <= SMALL) {
        done = cholesky_small(n, A);
    } else {
        int size = (int)n, info;
        double *at = blas_begin_at(n, A);
        dpotrf_("U", &size, at, &size, &info, 1);
        blas_end_at(n, A, at);
        done = info == 0;
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++)
            A[i * n + j] = 0;
    return done && all_finite(n * n, A);
}

/* The upper half from the lower one, in squares that stay in cache. */
static void mirror(size_t n, double *A)
{
    for (size_t top = 0; top < n; top += MEDIUM)
        for (size_t left = top; left < n; left += MEDIUM)
            for (size_t i = top; i < n && i < top + MEDIUM; i++)
                for (size_t j = left > i ? left : i + 1;
                     j < n && j < left + MEDIUM; j++)
                    A[i * n + j] = A[j * n + i];
}

void linalg_cholesky_inverse(size_t n, double *L)
{
    int size = (int)n, info = 0;
    if (!n) return;
    double *at = blas_begin_at(n, L);
    dpotri_("U", &size, at, &size, &info, 1);
    blas_end_at(n, L, at);
    mirror(n, L);
}

/* --- Eigenvectors --------------------------------------------------------- */

bool linalg_eigen(size_t n, double *A, double *value, double *room)
{
    size_t odd = to_aligned(room);
    int size = (int)n, work = 64 * size - (int)odd, info = 0;
    if (!n) return true;
    double *at = blas_begin_at(n, A);
    dsyev_("V", "U", &size, at, &size, value, room + odd, &work, &info, 1, 1);
    blas_end_at(n, A, at);
    return info == 0;
}

/* Insertion: pairs of conjugates stay neighbours. */
static void sort_eigenvalues(size_t n, double *re, double *im)
{
    for (size_t i = 1; i < n; i++)
        for (size_t j = i; j > 0 && re[j] < re[j - 1]; j--) {
            double r = re[j], c = im[j];
            re[j] = re[j - 1];
            im[j] = im[j - 1];
            re[j - 1] = r;
            im[j - 1] = c;
        }
}

bool linalg_eigenvalues(size_t n, double *A, double *re, double *im,
                        double *room)
{
    size_t odd = to_aligned(room);
    int size = (int)n, one = 1, work = 64 * size - (int)odd, info = 0;
    double none = 0.0;
    if (!all_finite(n * n, A)) return false;
    if (!n) return true;
    double *at = blas_begin_at(n, A);
    dgeev_("N", "N", &size, at, &size, re, im, &none, &one, &none, &one,
           room + odd, &work, &info, 1, 1);
    blas_end_at(n, A, at);
    sort_eigenvalues(n, re, im);
    return info == 0;
}
