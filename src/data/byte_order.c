/* SPDX-License-Identifier: MIT */
#include "data/byte_order.h"

#include <string.h>

uint64_t little_bits(const unsigned char *bytes, size_t n)
{
    uint64_t bits = 0;
    while (n--)
        bits = bits << 8 | bytes[n];
    return bits;
}

double little_f64(const unsigned char *bytes)
{
    uint64_t bits = little_bits(bytes, 8);
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

double little_f32(const unsigned char *bytes)
{
    uint32_t bits = (uint32_t)little_bits(bytes, 4);
    float x;
    memcpy(&x, &bits, sizeof x);
    return (double)x;
}

double little_i64(const unsigned char *bytes)
{
    return (double)(int64_t)little_bits(bytes, 8);
}

double little_i32(const unsigned char *bytes)
{
    return (double)(int32_t)little_bits(bytes, 4);
}
