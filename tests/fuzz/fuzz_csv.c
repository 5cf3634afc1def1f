/* SPDX-License-Identifier: MIT */
/* CSV files: all columns, and columns asked for by name. The first byte says
 * which. What was read is written and read again: it must be the same. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"
#include "girsanov.h"

/* Reads a series' CSV as written by the library. */
static gsv_series *again(const gsv_series *s)
{
    char path[] = "/dev/shm/girsanov-fuzz-XXXXXX";
    int fd = mkstemp(path);
    if (fd < 0) abort();
    close(fd);
    gsv_series *copy = NULL;
    if (!gsv_series_write(s, path))
        copy = gsv_series_read_named(path, "time", "series", s->columns,
                                     (const char *const *)s->name);
    unlink(path);
    return copy;
}

static void compare(const gsv_series *s, const gsv_series *t)
{
    if (!t || t->rows != s->rows || t->tracks != s->tracks) abort();
    if (memcmp(s->start, t->start, (s->tracks + 1) * sizeof *s->start)) abort();
    for (size_t i = 0; i < s->rows; i++)
        if (s->time[i] != t->time[i]) abort();
    for (size_t i = 0; i < s->rows * s->columns; i++)
        if (s->value[i] != t->value[i] && s->value[i] == s->value[i]) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const NAME[] = {"x", "y"};
    if (!size) return 0;
    unsigned how = data[0];
    const char *path = bytes_file(data + 1, size - 1);
    gsv_series *s = gsv_series_read_named(
        path, how & 1 ? "when" : NULL, how & 2 ? "who" : NULL, how & 4 ? 2 : 0,
        how & 4 ? NAME : NULL);
    if (s && how & 8) {
        gsv_series *t = again(s);
        compare(s, t);
        gsv_series_free(t);
    }
    gsv_series_free(s);
    return 0;
}
