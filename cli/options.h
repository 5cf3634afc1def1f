/* SPDX-License-Identifier: MIT */
/* The table of options, for those who parse it and those who describe it. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include "cli.h"

enum kind {
    FLAG,
    COUNT,
    REAL,   /* positive             */
    AMOUNT, /* from 0 on            */
    SHARE,  /* from 0, below 1      */
    SEED,
    TEXT,
    SOURCE,   /* a file that is read        */
    TARGET,   /* a file that is written     */
    OPTIONAL, /* a text behind '=', or none */
    SETTING,  /* NAME=V, as often as given  */
    NAME,     /* NAME or NAME=V, too        */
    PRIOR     /* NAME~law(a,b), too         */
};

struct option {
    const char *name, *letter;
    unsigned verbs;
    enum kind kind;
    size_t offset; /* in struct args */
    const char *value, *help;
};

/* The verb's first option behind `last` (NULL: of all), or NULL. */
const struct option *next_option(const struct verb *verb,
                                 const struct option *last);

/* The verb's option that a word names, and the text behind its '=', if any. */
const struct option *find_option(const struct verb *verb, const char *word,
                                 const char **value);

/* Whether the word behind the option is its value. */
bool takes_word(const struct option *o);

/* The file that the command line names by it, or NULL. */
const char *option_file(const struct option *o, const struct args *a);

/* The words that it chooses from, ending with NULL; or NULL. */
const char *const *option_choices(const struct verb *verb,
                                  const struct option *o);

/* "-o, --output FILE" */
enum { OPTION_ROOM = 64 };
const char *option_usage(const struct option *o, char room[OPTION_ROOM]);

#endif
