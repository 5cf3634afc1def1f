/* SPDX-License-Identifier: MIT */
#include "base/memory.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum { ALIGN = 64 };

static _Thread_local size_t fail_in, asked;

void mem_fail_at(size_t n)
{
    fail_in = n;
}

size_t mem_asked(void)
{
    return asked;
}

static void *no_memory(size_t count, size_t size)
{
    return fail_null(GSV_NO_MEMORY,
                     "out of memory: %zu elements of %zu bytes were requested",
                     count, size);
}

void *mem_new(size_t count, size_t size)
{
    if (fail_in && --fail_in == 0) return no_memory(count, size);
    if (size && count > (SIZE_MAX / 2 - 2 * ALIGN) / size)
        return no_memory(count, size);
    /* From calloc, whose large blocks the system hands out as zeros when they
     * are first touched: by the thread that works on them, not by this one.
     * The pointer of calloc stands right before the block. */
    size_t bytes = count * size + ALIGN + sizeof(void *);
    char *raw = calloc(bytes, 1);
    if (!raw) return no_memory(count, size);
    uintptr_t first = (uintptr_t)raw + sizeof(void *);
    size_t shift = (ALIGN - first % ALIGN) % ALIGN;
    void **block = (void **)(void *)(raw + sizeof(void *) + shift);
    block[-1] = raw;
    asked += count * size;
    return block;
}

void *mem_grow(void *old, size_t old_count, size_t count, size_t size)
{
    void *block = mem_new(count, size);
    if (!block) return NULL;
    size_t kept = old_count < count ? old_count : count;
    if (kept) memcpy(block, old, kept * size);
    mem_free(old);
    return block;
}

int mem_room(void **array, size_t n, size_t *capacity, size_t size)
{
    size_t wanted = n < 8 ? 16 : 2 * n;
    void *block = mem_grow(*array, *capacity, wanted, size);
    if (!block) return GSV_NO_MEMORY;
    *array = block;
    *capacity = wanted;
    return 0;
}

void mem_free(void *block)
{
    if (block) free(((void **)block)[-1]);
}

void mem_free_all(size_t n, void *const *block)
{
    for (size_t i = 0; i < n; i++)
        mem_free(block[i]);
}

char *mem_substring(const char *s, size_t n)
{
    char *copy = mem_new(n + 1, 1);
    if (copy && n) memcpy(copy, s, n);
    return copy;
}

char *mem_string(const char *s)
{
    return mem_substring(s, strlen(s));
}

int arena_init(struct arena *a, size_t bytes)
{
    a->base = mem_new(bytes, 1);
    a->size = a->base ? bytes : 0;
    a->used = 0;
    return a->base ? 0 : GSV_NO_MEMORY;
}

void arena_free(struct arena *a)
{
    mem_free(a->base);
    *a = (struct arena){0};
}

size_t arena_size(size_t count)
{
    return (count * sizeof(double) + ALIGN - 1) / ALIGN * ALIGN;
}

double *arena_take(struct arena *a, size_t count)
{
    size_t bytes = arena_size(count);
    assert(a->used + bytes <= a->size);
    double *p = (double *)(void *)(a->base + a->used);
    a->used += bytes;
    return p;
}

int arena_lay(struct arena *a, size_t parts, const struct arena_part *part)
{
    size_t bytes = 0;
    for (size_t i = 0; i < parts; i++)
        bytes += arena_size(part[i].count);
    int status = arena_init(a, bytes);
    for (size_t i = 0; !status && i < parts; i++)
        *part[i].array = arena_take(a, part[i].count);
    return status;
}
