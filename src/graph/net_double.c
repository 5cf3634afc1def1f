/* SPDX-License-Identifier: MIT */
/* The network in double, for checks by finite differences and for models that
 * need it: the functions are within a few units of the last place.
 *
 * Coefficients are minimax fits by a Remez exchange in 60 digits, rounded. */
#include <stdint.h>
#include <string.h>

#include "base/fast.h"
#include "graph/net.h"

#define REAL double
#define KIND(name) name##_double
#define BITS uint64_t
#define FRACTION_BITS 52
#define ROUNDER 0x1.8p52
#define EXP_LEAST (-708.0) /* e^x is normal from here on */
#define LOG2_E 0x1.71547652b82fep+0
#define LN2_HIGH 0x1.62e42fefa3p-1 /* 41 bits: n LN2_HIGH is exact */
#define LN2_LOW 0x1.3de6af278ece6p-42

/* (e^r - 1 - r) / r^2 on |r| <= ln 2 / 2 to 1.1e-16. */
static const double EXP_Q[] = {0x1.0000000000001p-1,  0x1.5555555555558p-3,
                               0x1.5555555553d36p-5,  0x1.111111110f7efp-7,
                               0x1.6c16c1789d79ap-10, 0x1.a01a01b018a86p-13,
                               0x1.a019b8c8e81d4p-16, 0x1.71ddf68b9453fp-19,
                               0x1.2891d65200f09p-22, 0x1.af637d497cbd4p-26};

/* (atanh s - s) / s^3 in s^2 <= 1/9 to 4.3e-17. */
static const double LOG_Q[] = {0x1.5555555555555p-2, 0x1.999999999a455p-3,
                               0x1.24924923cd39fp-3, 0x1.c71c727660838p-4,
                               0x1.745cefc3c8322p-4, 0x1.3b18cab13c38dp-4,
                               0x1.10ab0533b6808p-4, 0x1.ebaa07dfa87fbp-5,
                               0x1.67ff268621e59p-5, 0x1.4b8586badb748p-4};

#include "graph/net_vector.h"

/* tanh |z| = -m / (2 + m), m = e^(-2|z|) - 1, is good to the last bits at
 * small z too. From 20 on it is 1. */
INLINE vec tanh_of(vec z)
{
    vec x = magnitude(z), scale, rest;
    x = select((bits)(x > 20), splat(20), x);
    exp_split(-2 * x, &scale, &rest);
    vec m = scale * rest + (scale - 1);
    return with_sign(-m / (2 + m), z);
}

/* m[i][j] to m[j][i]: neighbours are paired, then halves. */
INLINE void transpose(vec m[4])
{
    vec t[4];
#pragma GCC unroll 2
    for (int i = 0; i < 4; i += 2) {
        t[i] = __builtin_shufflevector(m[i], m[i + 1], 0, 4, 2, 6);
        t[i + 1] = __builtin_shufflevector(m[i], m[i + 1], 1, 5, 3, 7);
    }
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++) {
        m[i] = __builtin_shufflevector(t[i], t[i + 2], 0, 1, 4, 5);
        m[i + 2] = __builtin_shufflevector(t[i], t[i + 2], 2, 3, 6, 7);
    }
}

#include "graph/net_pass.h"

const struct net_kernel net_double = NET_KERNEL;
