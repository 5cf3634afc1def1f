/* SPDX-License-Identifier: MIT */
/* What the fuzz targets share. Each fuzz_NAME.c is one function of bytes, which
 * libFuzzer (make fuzz) or replay.c (make check) calls. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The bytes as a file: its path, which holds until the next call. The file is
 * in memory, so that fuzzing neither waits for a disk nor leaves anything. */
const char *bytes_file(const uint8_t *data, size_t size);

/* The bytes as a string of static life, cut off at its room. */
const char *bytes_text(const uint8_t *data, size_t size);

#endif
