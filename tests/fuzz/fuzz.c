/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

const char *bytes_file(const uint8_t *data, size_t size)
{
    static int fd = -1;
    static char path[40];
    if (fd < 0) {
        fd = memfd_create("fuzz", 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    if (fd < 0 || ftruncate(fd, 0) ||
        pwrite(fd, data, size, 0) != (ssize_t)size)
        abort();
    return path;
}

const char *bytes_text(const uint8_t *data, size_t size)
{
    static char text[1 << 16];
    if (size >= sizeof text) size = sizeof text - 1;
    memcpy(text, data, size);
    text[size] = 0;
    return text;
}
