/* SPDX-License-Identifier: MIT */
/* The inverse of the normal distribution function, without branches and calls,
 * so that a loop over it in a FAST function becomes vector code. With
 * x = 2 P(Z < z) - 1 and w = -log((1 - x) (1 + x)),
 *
 *     z = x R(w)
 *
 * where R is smooth from w = 0 in the middle to the tails: one rational
 * function of degree (8, 7), fitted by Remez' exchange for the least largest
 * error of z, serves both. The error is below 2.5e-10 for |x| <= 1 - 2^-32
 * (measured: 2.1e-10), and z(-x) = -z(x) exactly.
 *
 * The two halves stand apart: a loop over each is faster than one over both,
 * for the processor looks further ahead in the shorter one. */
#ifndef BASE_QUANTILE_H
#define BASE_QUANTILE_H

#include <stdint.h>
#include <string.h>

#include "base/fast.h"

/* -log y for normal y > 0, with an error below 1.3e-10: y = 2^k m with m in
 * [sqrt(1/2), sqrt(2)), and log m = 2 atanh((m - 1) / (m + 1)). */
INLINE double quantile_minus_log(double y)
{
    const uint64_t one = UINT64_C(0x3ff0000000000000);
    const uint64_t half_root = UINT64_C(0x3fe6a09e667f3bcd);
    const uint64_t mantissa = UINT64_C(0x000fffffffffffff);
    const uint64_t big = UINT64_C(0x4330000000000000); /* 2^52 */
    double k, m;
    uint64_t bits;
    memcpy(&bits, &y, sizeof bits);
    bits += one - half_root;
    /* 2^52 + 1023 + k: vectors convert no integers of 64 bits */
    const uint64_t exponent = bits >> 52 | big;
    memcpy(&k, &exponent, sizeof k);
    bits = (bits & mantissa) + half_root;
    memcpy(&m, &bits, sizeof m);
    const double s = (m - 1) / (m + 1), ss = s * s;
    double p = 0.301000282700019868;
    p = p * ss + 0.399658079575404343;
    p = p * ss + 0.666669483012485245;
    p = p * ss + 1.99999999374925845;
    return ((0x1p52 + 1023) - k) * 0.693147180559945309 - s * p;
}

INLINE double quantile_depth(double x)
{
    return quantile_minus_log((1 - x) * (1 + x));
}

/* Even and odd powers apart: two short chains instead of a long one. */
INLINE double quantile_at(double x, double w)
{
    const double ww = w * w;
    double p = 8.80269967981972117e-10, p1 = 2.72844273704111025e-7;
    double q = 1.0202298873750018e-6, q1 = 1.74432344149269609e-8;
    p = p * ww + 2.70741675058865383e-6;
    p1 = p1 * ww + 4.75898979987669223e-5;
    q = q * ww + 2.59397318591964418e-4;
    q1 = q1 * ww + 1.01776706620162915e-6;
    p = p * ww + 7.86079539452119384e-4;
    p1 = p1 * ww + 8.89845417292047219e-3;
    q = q * ww + 3.30957844254331045e-2;
    q1 = q1 * ww + 6.41013295648009308e-4;
    p = p * ww + 6.8623296218823847e-2;
    p1 = p1 * ww + 0.369410336447829543;
    q = q * ww + 1;
    q1 = q1 * ww + 3.29474276220201421e-2;
    p = p * ww + 1.25331413865729455;
    return x * (p + p1 * w) / (q + q1 * w);
}

INLINE double normal_quantile(double x)
{
    return quantile_at(x, quantile_depth(x));
}

#endif
