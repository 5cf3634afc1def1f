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
    for (const struct option *o = NULL; (o = next_option(verb, o));)
        fprintf(out, "%s\n", o->name);
}

static void choices(const struct verb *verb, const struct option *o, FILE *out)
{
    const char *const *word = option_choices(verb, o);
    for (; word && *word; word++)
        fprintf(out, "%s\n", *word);
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
    const struct option *o = find_option(verb, word[before - equals], &value);
    if (o && (equals || takes_word(o))) choices(verb, o, out);
    else if (word[count - 1][0] == '-') options(verb, out);
}
