/* SPDX-License-Identifier: MIT */
/* The C library's own vector versions of its functions (libmvec, at most 4
 * units in the last place off) for loops that GCC vectorises. The library
 * offers them under -ffast-math only, which the rest of the code must not
 * have; the attribute selects only these functions. Where they do not exist,
 * the same loops call the scalar functions. */
#ifndef BASE_VECTOR_MATH_H
#define BASE_VECTOR_MATH_H

#include <math.h>

#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__)
#if __GLIBC_PREREQ(2, 35)
#define VECTOR_FUNCTION(name)                                                  \
    extern double name(double) __attribute__((simd("notinbranch")))
VECTOR_FUNCTION(exp);
VECTOR_FUNCTION(log);
VECTOR_FUNCTION(log1p);
VECTOR_FUNCTION(expm1);
VECTOR_FUNCTION(sin);
VECTOR_FUNCTION(cos);
VECTOR_FUNCTION(tan);
VECTOR_FUNCTION(asin);
VECTOR_FUNCTION(acos);
VECTOR_FUNCTION(atan);
VECTOR_FUNCTION(sinh);
VECTOR_FUNCTION(cosh);
VECTOR_FUNCTION(tanh);
VECTOR_FUNCTION(asinh);
#undef VECTOR_FUNCTION
#endif
#endif

#endif
