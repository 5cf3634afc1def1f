/* SPDX-License-Identifier: MIT */
/* Loaded before the command (LD_PRELOAD), lets the GSV_FAIL-th allocation that
 * the command itself asks for fail; those of other libraries, some of which end
 * the program then, are left alone. GSV_FAIL=0 counts them into the file
 * GSV_COUNT instead. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char *first, *end; /* the command's code */
static long fail_at = -1, count;

static void find_command(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512], self[256];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (!maps || n < 0) return;
    self[n] = 0;
    while (fgets(line, sizeof line, maps)) {
        unsigned long a, b;
        char mode[8], path[256] = "";
        if (sscanf(line, "%lx-%lx %7s %*s %*s %*s %255s", &a, &b, mode, path) <
            3)
            continue;
        int same = 1;
        for (ssize_t i = 0; i <= n; i++)
            same &= self[i] == path[i];
        if (!same || mode[2] != 'x') continue;
        first = (char *)a;
        end = (char *)b;
    }
    fclose(maps);
}

__attribute__((constructor)) static void begin(void)
{
    const char *text = getenv("GSV_FAIL");
    if (!text) return;
    find_command();
    fail_at = atol(text);
}

__attribute__((destructor)) static void finish(void)
{
    const char *path = getenv("GSV_COUNT");
    FILE *out = path && fail_at == 0 ? fopen(path, "w") : NULL;
    if (!out) return;
    fprintf(out, "%ld\n", count);
    fclose(out);
}

static int fails(const void *caller)
{
    if (fail_at < 0 || (const char *)caller < first ||
        (const char *)caller >= end)
        return 0;
    return __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED) == fail_at;
}

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

void *malloc(size_t n)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(p, n);
}

void *aligned_alloc(size_t alignment, size_t n)
{
    return fails(__builtin_return_address(0)) ? NULL
                                              : __libc_memalign(alignment, n);
}
