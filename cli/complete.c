/* SPDX-License-Identifier: MIT */
/* girsanov --complete WORD...: what a shell offers at the tab key. */
#include <string.h>

#include "options.h"

static void verbs(FILE *out)
{
    for (size_t i = 0; i < VERB_COUNT; i++)
        fprintf(out, "%s\n", VERBS[i].name);
    fputs("help\n--help\n--version\n", out);
}

static void options(const struct verb *verb, FILE *out)
{
    for (struct option o = {0}; next_option(verb, &o);)
        fprintf(out, "%s\n", o.name);
}

void complete(size_t count, char **word, FILE *out)
{
    const char *value;
    if (count < 2 || (count == 2 && !strcmp(word[0], "help"))) {
        verbs(out);
        return;
    }
    const struct verb *verb = find_verb(word[0]);
    if (!verb) return;
    /* bash cuts --form=ito into three words. */
    size_t before = count - 2;
    bool equals = before > 1 && !strcmp(word[before], "=");
    struct option o;
    bool found = find_option(verb, word[before - equals], &o, &value);
    if (found && (equals || takes_word(&o))) {
        for (const char *const *w = o.choice; w && *w; w++)
            if (**w) fprintf(out, "%s\n", *w);
    } else if (word[count - 1][0] == '-') options(verb, out);
}
