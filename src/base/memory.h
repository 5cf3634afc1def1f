/* SPDX-License-Identifier: MIT */
/* Memory that is checked for overflow and for failure, and a hook with which
 * tests let the n-th allocation fail. Every block is 64-byte aligned, so that
 * kernels may load whole vectors. */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include <stddef.h>

/* count * size zeroed bytes, yours; NULL with a message when there is no
 * memory. A count of 0 gives a block that may be freed but not used. */
void *mem_new(size_t count, size_t size);

/* A block with room for count elements that keeps what fits of the old one,
 * whose size was old_count; on failure NULL, and the old block stays. */
void *mem_grow(void *old, size_t old_count, size_t count, size_t size);

void mem_free(void *block);

/* Frees all of its arguments. */
#define MEM_FREE(...)                                                          \
    mem_free_all(sizeof((void *[]){__VA_ARGS__}) / sizeof(void *),             \
                 (void *[]){__VA_ARGS__})
void mem_free_all(size_t n, void *const *block);

/* A copy of a string, or of its first n characters. */
char *mem_string(const char *s);
char *mem_substring(const char *s, size_t n);

/* Lets this thread's n-th allocation from now on fail (1 is the next one);
 * 0 switches it off. Only tests call it. */
void mem_fail_at(size_t n);

/* Bytes that this thread has requested so far. Only tests call it. */
size_t mem_asked(void);

#define NEW(type, count) ((type *)mem_new((count), sizeof(type)))

/* A scratch arena: one block, handed out in 64-byte steps, never freed in
 * parts. Ask for sizes beforehand with arena_size(), then take. */
struct arena {
    char *base;
    size_t size, used;
};

int arena_init(struct arena *a, size_t bytes);
void arena_free(struct arena *a);

/* The bytes of an arena that count doubles need. */
size_t arena_size(size_t count);

/* An array in an arena. */
struct arena_part {
    double **array;
    size_t count;
};

/* An arena of the right size, with memory for all of its parts. */
int arena_lay(struct arena *a, size_t parts, const struct arena_part *part);

/* The next count doubles. The arena must have been made large enough. */
double *arena_take(struct arena *a, size_t count);

/* Grows an array by doubling so that index n fits: 0, or a failure. */
#define MEM_ROOM(array, n, capacity)                                           \
    ((n) < (capacity)                                                          \
         ? 0                                                                   \
         : mem_room((void **)&(array), (n), &(capacity), sizeof *(array)))
int mem_room(void **array, size_t n, size_t *capacity, size_t size);

#endif
