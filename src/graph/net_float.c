/* SPDX-License-Identifier: MIT */
/* The network in float32. The fitted functions are within 5e-7 of the truth,
 * relative, wherever the result is a normal number (test_net.c sweeps them).
 *
 * Coefficients are minimax fits by a Remez exchange in 60 digits, rounded. */
#include <stdint.h>
#include <string.h>

#include "base/fast.h"
#include "graph/net.h"

#define REAL float
#define KIND(name) name##_float
#define BITS uint32_t
#define FRACTION_BITS 23
#define ROUNDER 0x1.8p23f
#define EXP_LEAST (-87.3f) /* e^x is normal from here on */
#define LOG2_E 0x1.715476p+0f
#define LN2_HIGH 0x1.62e4p-1f /* 15 bits: n LN2_HIGH is exact */
#define LN2_LOW 0x1.7f7d1cp-20f

/* (e^r - 1 - r) / r^2 on |r| <= ln 2 / 2 to 6.3e-8. */
static const float EXP_Q[] = {0x1p-1f, 0x1.5554dcp-3f, 0x1.5554b8p-5f,
                              0x1.120be6p-7f, 0x1.6d75eep-10f};

/* (atanh s - s) / s^3 in s^2 <= 1/9 to 1.4e-7. */
static const float LOG_Q[] = {0x1.55554cp-2f, 0x1.99aep-3f, 0x1.21169cp-3f,
                              0x1.1349c4p-3f};

#include "graph/net_vector.h"

/* tanh z = z p(z^2) / q(z^2) up to 9.02, where float32 has reached 1; to
 * 2.1e-8 before rounding. Rounding may take it two units past 1, and the slope
 * that far below 0; a clamp would cost more than that is worth. */
static const float TANH_P[] = {0x1p+0f, 0x1.12043ep-3f, 0x1.c9f844p-9f,
                               0x1.59553ap-16f, 0x1.c9a36ap-27f};
static const float TANH_Q[] = {0x1p+0f, 0x1.de5768p-2f, 0x1.a7df1cp-6f,
                               0x1.5841c2p-12f, 0x1.a0b82p-21f};

INLINE vec tanh_of(vec z)
{
    vec x = magnitude(z);
    x = select((bits)(x > 9.02f), splat(9.02f), x);
    vec t = x * x;
    vec y = x * polynomial(t, TANH_P, 5) / polynomial(t, TANH_Q, 5);
    return with_sign(y, z);
}

/* m[i][j] to m[j][i]: neighbours are paired, then pairs, then halves. The
 * patterns are those that stay within 16 bytes as long as possible. */
INLINE void transpose(vec m[8])
{
    vec t[8];
#pragma GCC unroll 4
    for (int i = 0; i < 8; i += 2) {
        t[i] =
            __builtin_shufflevector(m[i], m[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
        t[i + 1] =
            __builtin_shufflevector(m[i], m[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        int k = i / 2 * 4 + i % 2;
        m[2 * i] =
            __builtin_shufflevector(t[k], t[k + 2], 0, 1, 8, 9, 4, 5, 12, 13);
        m[2 * i + 1] =
            __builtin_shufflevector(t[k], t[k + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        t[i] =
            __builtin_shufflevector(m[i], m[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        t[i + 4] =
            __builtin_shufflevector(m[i], m[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++)
        m[i] = t[i];
}

#include "graph/net_pass.h"

const struct net_kernel net_float = NET_KERNEL;
