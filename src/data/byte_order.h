/* SPDX-License-Identifier: MIT */
/* Numbers of binary files, least byte first. */
#ifndef DATA_BYTE_ORDER_H
#define DATA_BYTE_ORDER_H

#include <stddef.h>
#include <stdint.h>

/* The first n bytes, at most 8, as one number. */
uint64_t little_bits(const unsigned char *bytes, size_t n);

double little_f64(const unsigned char *bytes);
double little_f32(const unsigned char *bytes);
double little_i64(const unsigned char *bytes);
double little_i32(const unsigned char *bytes);

#endif
