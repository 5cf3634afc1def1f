/* SPDX-License-Identifier: MIT */
/* Named arrays and texts in one file, in the safetensors format: the length of
 * a header in 8 bytes, the header as JSON, the numbers least byte first. Fits
 * are kept in such files. */
#ifndef DATA_SAFETENSORS_H
#define DATA_SAFETENSORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { TENSOR_RANKS = 4 };

struct tensor {
    char *name;
    size_t rank, shape[TENSOR_RANKS];
    size_t count;  /* of its elements: 1 for rank 0 */
    double *value; /* (count), row by row           */
};

struct note {
    char *key, *text;
};

/* Everything in a file, in the order in which it was added. Starts zeroed;
 * read it freely. */
struct tensors {
    struct tensor *tensor;
    size_t count, capacity;
    struct note *note;
    size_t notes, note_capacity;
};

/* Frees what is inside and zeroes it. */
void tensors_free(struct tensors *t);

/* Copies a tensor, or a text, under a name or key that is not taken yet. All
 * texts must be UTF-8. A failure adds nothing. */
int tensors_add(struct tensors *t, const char *name, size_t rank,
                const size_t *shape, const double *value);
int tensors_note(struct tensors *t, const char *key, const char *text);

/* NULL when there is none by that name; else borrowed. */
const struct tensor *tensors_find(const struct tensors *t, const char *name);
const char *tensors_text(const struct tensors *t, const char *key);

/* Whether a file with these first n bytes may be in this format; 9 bytes are
 * enough, and no text begins like that. */
bool safetensors_begins(const unsigned char *bytes, size_t n);

/* Writes every tensor as F64. The file appears whole or not at all; "-" is
 * standard output. */
int safetensors_write(const struct tensors *t, const char *path);

/* Reads tensors of dtype F64, F32, I64 or I32 into t, which need not be zeroed;
 * a failure leaves it empty. Tensors come in the order of their data. Values
 * may be NaN or infinite; all else about the file has been checked. */
int safetensors_read(struct tensors *t, const char *path);

/* The same from a file of known size that is open, at its beginning; path is
 * for messages. */
int safetensors_take(struct tensors *t, const char *path, FILE *file,
                     size_t size);

#endif
