/* SPDX-License-Identifier: MIT */
/* Numbers of binary files, in little-endian order: least significant byte
 * first. */
#ifndef DATA_BYTE_ORDER_H
#define DATA_BYTE_ORDER_H

#include <stddef.h>
#include <stdint.h>

/* The first n bytes, at most 8, as one number. */
uint64_t le_uint(const unsigned char *bytes, size_t n);

/* The types of numbers that can be read, and how one becomes a double. */
struct number_type {
    const char *npy, *safetensors; /* its names in these formats */
    size_t size;                   /* bytes                      */
    double (*load)(const unsigned char *bytes);
};

enum { NUMBER_TYPES = 4 };
extern const struct number_type NUMBER_TYPE[NUMBER_TYPES];

#endif
