/* SPDX-License-Identifier: MIT */
#include "data/byte_order.h"

#include <string.h>

uint64_t le_uint(const unsigned char *bytes, size_t n)
{
    uint64_t bits = 0;
    while (n--)
        bits = bits << 8 | bytes[n];
    return bits;
}

static double load_f64(const unsigned char *bytes)
{
    uint64_t bits = le_uint(bytes, 8);
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static double load_f32(const unsigned char *bytes)
{
    uint32_t bits = (uint32_t)le_uint(bytes, 4);
    float x;
    memcpy(&x, &bits, sizeof x);
    return (double)x;
}

static double load_i64(const unsigned char *bytes)
{
    return (double)(int64_t)le_uint(bytes, 8);
}

static double load_i32(const unsigned char *bytes)
{
    return (double)(int32_t)le_uint(bytes, 4);
}

const struct number_type NUMBER_TYPE[NUMBER_TYPES] = {
    {"f8", "F64", 8, load_f64},
    {"f4", "F32", 4, load_f32},
    {"i8", "I64", 8, load_i64},
    {"i4", "I32", 4, load_i32},
};
