/* SPDX-License-Identifier: MIT */
/* Small dense linear algebra, row by row, on CBLAS and LAPACK: always on the
 * calling thread alone, so that bits do not depend on the number of threads.
 * Nothing is allocated. */
#ifndef BASE_LINALG_H
#define BASE_LINALG_H

#include <stdbool.h>
#include <stddef.h>

/* Whether all of n numbers are finite. */
bool all_finite(size_t n, const double *x);

/* C (n, m) = A (n, k) B (k, m), where A or B may be given transposed. */
void linalg_product(size_t n, size_t k, size_t m, const double *A,
                    bool A_transposed, const double *B, bool B_transposed,
                    double *C);

/* A becomes its own triangular factors, for the two functions below; pivot
 * has n entries. False when A is singular or not finite. */
bool linalg_lu(size_t n, double *A, int *pivot);

/* B (n, m) becomes A^-1 B, or A'^-1 B, from the factors of linalg_lu(). */
void linalg_lu_solve(size_t n, size_t m, const double *LU, const int *pivot,
                     bool transposed, double *B);

/* log |det A| from the factors of linalg_lu(). */
double linalg_lu_logdet(size_t n, const double *LU);

/* A = L L' in place, zeros above the diagonal; reads the lower half of A.
 * False when A is not positive definite. */
bool linalg_cholesky(size_t n, double *A);

/* B (n, m) becomes L^-1 B, or L'^-1 B, for a lower triangular L. */
void linalg_lower_solve(size_t n, size_t m, const double *L, bool transposed,
                        double *B);

/* The lower factor of linalg_cholesky() becomes (L L')^-1, both halves. */
void linalg_cholesky_inverse(size_t n, double *L);

/* A symmetric A becomes its eigenvectors, a row each; value has the eigenvalues
 * in rising order. room holds 64 n numbers. False when it does not converge. */
bool linalg_eigen(size_t n, double *A, double *value, double *room);

/* The eigenvalues re + i im (n) of any A, which is destroyed, in rising order
 * of the real part; room holds 64 n numbers. False when it does not converge.
 */
bool linalg_eigenvalues(size_t n, double *A, double *re, double *im,
                        double *room);

#endif
