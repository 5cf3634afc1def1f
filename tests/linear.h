/* SPDX-License-Identifier: MIT */
/* Exact transitions of linear equations, for the tests that look at them. */
#ifndef TESTS_LINEAR_H
#define TESTS_LINEAR_H

#include "base/linear.h"
#include "base/memory.h"
#include "exact.h"

enum { MOST_D = 20 };

struct transition {
    double Phi[MOST_D * MOST_D], Gamma[MOST_D * MOST_D], Q[MOST_D * MOST_D];
    double half_Phi[MOST_D * MOST_D], half_Gamma[MOST_D * MOST_D];
};

static inline void transition_of(size_t d, double dt, const double *A,
                                 struct transition *t)
{
    double *scratch = NEW(double, linear_scratch(d));
    assert_true(linear_transition(d, dt, A, NULL, t->Phi, t->Gamma, t->Q,
                                  t->half_Phi, t->half_Gamma, scratch));
    mem_free(scratch);
}

/* Relative to the largest entry. */
#define assert_matrix(d, found, expected, tolerance)                           \
    matrix_at(__LINE__, (d), (found), (expected), (tolerance))
static inline void matrix_at(int line, size_t d, const double *found,
                             const double *expected, double tolerance)
{
    double most = 0.0;
    for (size_t e = 0; e < d * d; e++)
        most = fmax(most, fabs(expected[e]));
    for (size_t e = 0; e < d * d; e++)
        near_at(line, found[e], expected[e], tolerance * most);
}

#endif
