/* SPDX-License-Identifier: MIT */
/* One planted bug for each sanitizer: `make asan`, `make tsan` and `make
 * valgrind` first check that theirs are found, so that a run without
 * messages means that there is no error. */
#include <limits.h>
#include <pthread.h>
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

static int cast_past_the_largest(int n)
{
    return (int)(1e30 * n);
}

static int branch_on_what_was_not_set(int n)
{
    int *volatile block = malloc((size_t)n * sizeof *block);
    if (!block) return 1;
    int answer = block[n - 1] > 0 ? n : -n;
    free(block);
    return answer;
}

static int forget(int n)
{
    char *volatile block = malloc((size_t)n);
    block = NULL;
    return block != NULL;
}

static void *add_often(void *sum)
{
    for (int i = 0; i < 10000; i++)
        *(int *)sum += i & 1;
    return NULL;
}

/* Two threads that add to one number without synchronisation. */
static int add_side_by_side(int n)
{
    int sum = n;
    pthread_t other;
    if (pthread_create(&other, NULL, add_often, &sum)) return 1;
    add_often(&sum);
    pthread_join(other, NULL);
    return sum;
}

static const struct {
    const char *name;
    int (*run)(int n);
} BUGS[] = {{"address", read_past_the_end},
            {"undefined", add_past_the_largest},
            {"cast", cast_past_the_largest},
            {"unset", branch_on_what_was_not_set},
            {"lost", forget},
            {"thread", add_side_by_side}};

int main(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof BUGS / sizeof *BUGS; i++)
        if (argc == 2 && strcmp(argv[1], BUGS[i].name) == 0)
            printf("the bug was not caught: %d\n", BUGS[i].run(argc));
    return 0;
}
