/* SPDX-License-Identifier: MIT */
/* One planted bug for each sanitizer: `make asan` begins by making sure that
 * both are caught, so that a silent run means something. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int read_past_the_end(int n)
{
    char *block = malloc((size_t)n);
    if (!block) return 1;
    memset(block, 1, (size_t)n);
    int beyond = block[n];
    free(block);
    return beyond;
}

static int add_past_the_largest(int n)
{
    return INT_MAX + n;
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    int (*bug)(int) = strcmp(argv[1], "address") == 0 ? read_past_the_end
                                                      : add_past_the_largest;
    printf("the bug was not caught: %d\n", bug(argc));
    return 0;
}
