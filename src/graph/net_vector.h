/* SPDX-License-Identifier: MIT */
/* Vectors of 32 bytes and the activations on them, for the number that the
 * including file names: REAL, its bits, and the constants below. No guard and
 * no includes on purpose: net_float.c and net_double.c each compile it once.
 *
 * To be defined before: REAL, KIND(name), BITS (unsigned, as wide as REAL),
 * FRACTION_BITS, ROUNDER, EXP_LEAST, LOG2_E, LN2_HIGH, LN2_LOW, EXP_Q[],
 * LOG_Q[].
 *
 * Every test is written so that NaN fails it and passes through: the library
 * counts NaN, a clamp that swallowed one would hide it. */

/* The FAST functions of the two kinds need different names: clang 14 makes the
 * resolvers of clones global even where these are static. */
#define load_panel KIND(load_panel)
#define store_panel KIND(store_panel)
#define product KIND(product)
#define outer KIND(outer)
#define row_sums KIND(row_sums)
#define add_rows KIND(add_rows)
#define add_columns KIND(add_columns)

typedef REAL vec __attribute__((vector_size(32)));
typedef BITS bits __attribute__((vector_size(32)));

enum { LANES = 32 / sizeof(REAL) };
enum { COUNT_EXP = sizeof EXP_Q / sizeof *EXP_Q };
enum { COUNT_LOG = sizeof LOG_Q / sizeof *LOG_Q };

INLINE size_t round_up(size_t n, size_t step)
{
    return (n + step - 1) / step * step;
}

INLINE size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

INLINE vec splat(REAL x)
{
    return x - (vec){0};
}

INLINE vec select(bits mask, vec yes, vec no)
{
    return (vec)((mask & (bits)yes) | (~mask & (bits)no));
}

INLINE vec magnitude(vec x)
{
    return (vec)((bits)x & ~(bits)splat((REAL)-0.0));
}

/* |y| with the sign of x, y not negative. */
INLINE vec with_sign(vec y, vec x)
{
    return (vec)((bits)y | ((bits)x & (bits)splat((REAL)-0.0)));
}

INLINE vec polynomial(vec x, const REAL *c, int count)
{
    vec s = x * c[count - 1] + c[count - 2];
    for (int i = count - 3; i >= 0; i--)
        s = s * x + c[i];
    return s;
}

/* e^x = scale (1 + rest), x = n ln 2 + r, scale = 2^n, rest = e^r - 1
 * = r + r^2 q(r) with q fitted on |r| <= ln 2 / 2. Adding ROUNDER leaves n in
 * the lowest bits. Only for EXP_LEAST <= x <= 0; elsewhere both are rubbish. */
INLINE void exp_split(vec x, vec *scale, vec *rest)
{
    vec t = x * LOG2_E + ROUNDER;
    vec n = t - ROUNDER;
    vec r = x - n * LN2_HIGH - n * LN2_LOW;
    *scale = (vec)(((bits)t << FRACTION_BITS) + (bits)splat(1));
    *rest = r + r * r * polynomial(r, EXP_Q, COUNT_EXP);
}

/* e^x for x <= 0; 0 where that is below the least normal number. */
INLINE vec exp_falling(vec x)
{
    vec scale, rest;
    exp_split(x, &scale, &rest);
    bits gone = (bits)(x < EXP_LEAST);
    return (vec)(~gone & (bits)(scale * rest + scale));
}

INLINE vec relu(vec z)
{
    return (vec)((bits)z & ~(bits)(z <= 0));
}

/* relu' from a = relu(z). */
INLINE vec relu_slope(vec a, vec bar)
{
    return (vec)((bits)bar & ~(bits)(a <= 0));
}

/* What softplus and silu are made of: e^-|z|. It is found in a loop of its
 * own, as the whole chain is too long for the processor to overlap. */
INLINE vec decay(vec z)
{
    return exp_falling((vec)((bits)z | (bits)splat((REAL)-0.0)));
}

/* softplus(z) = max(z, 0) + log(1 + e), e = e^-|z|, and its slope, which is
 * 1 / (1 + e) or, for z < 0, e / (1 + e). log(1 + e) = 2 atanh s with
 * s = e / (2 + e) <= 1/3 loses nothing at small e and needs no reduction. */
INLINE vec softplus(vec z, vec e, vec *slope)
{
    vec high = 1 / (1 + e), s = e / (2 + e);
    *slope = select((bits)(z < 0), e * high, high);
    vec twice = s + s, t = s * s;
    return relu(z) + (twice + twice * t * polynomial(t, LOG_Q, COUNT_LOG));
}

/* silu(z) = z s, s the logistic; slope s + z s (1 - s). */
INLINE vec silu(vec z, vec e, vec *slope)
{
    vec high = 1 / (1 + e), low = e * high;
    vec s = select((bits)(z < 0), low, high);
    *slope = s + z * (high * low);
    return z * s;
}
