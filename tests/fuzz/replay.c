/* SPDX-License-Identifier: MIT */
/* Gives a fuzz target every file named: corpora and what once crashed, without
 * a fuzzer. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "fuzz.h"

static int replay(const char *path)
{
    static uint8_t data[1 << 20];
    FILE *in = fopen(path, "rb");
    if (!in) return 1;
    size_t n = fread(data, 1, sizeof data, in);
    fclose(in);
    /* A block of its own size, so that a sanitizer sees its end. */
    uint8_t *copy = malloc(n ? n : 1);
    if (!copy) return 1;
    for (size_t i = 0; i < n; i++)
        copy[i] = data[i];
    LLVMFuzzerTestOneInput(copy, n);
    free(copy);
    return 0;
}

int main(int count, char **folder)
{
    size_t files = 0;
    for (int i = 1; i < count; i++) {
        DIR *d = opendir(folder[i]);
        if (!d) continue;
        for (struct dirent *e; (e = readdir(d)) != NULL;) {
            char path[4096];
            if (e->d_name[0] == '.') continue;
            snprintf(path, sizeof path, "%s/%s", folder[i], e->d_name);
            if (replay(path)) return 1;
            files++;
        }
        closedir(d);
    }
    printf("%zu files\n", files);
    return files == 0;
}
