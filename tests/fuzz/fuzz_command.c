/* SPDX-License-Identifier: MIT */
/* Command lines: words are lines. The options of the first word's verb are
 * parsed, and their values; nothing is run. */
#include "../../cli/cli.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

enum { WORDS = 40 };

static void values(const struct args *a)
{
    (void)estimator_options(a);
    size_t count = 0;
    double *quantile = NULL;
    /* What is asked for is allocated: not more than a few here. */
    double low, high;
    size_t n = 2;
    if (a->range) (void)parse_range(a->range, &low, &high, &n);
    if (a->times && (!parse_range(a->times, &low, &high, &n) || n < 10000))
        free(parse_times(a->times, &count));
    if (a->x0) free(parse_numbers("--x0", a->x0, &count));
    if (!parse_quantiles(a->quantiles, &quantile, &count)) free(quantile);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = malloc(size + 1), *word[WORDS];
    if (!copy) return 0;
    memcpy(copy, data, size);
    copy[size] = 0;
    int count = 0;
    for (char *w = strtok(copy, "\n"); w && count < WORDS;
         w = strtok(NULL, "\n"))
        word[count++] = w;
    for (size_t i = 0; count && i < VERB_COUNT; i++) {
        if (strcmp(VERBS[i].name, word[0]) != 0) continue;
        struct args a;
        if (!options_parse(&VERBS[i], count - 1, word + 1, &a)) values(&a);
        options_free(&a);
    }
    free(copy);
    return 0;
}
