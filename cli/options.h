/* SPDX-License-Identifier: MIT */
/* The table of options, for those who parse it and those who describe it. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include "cli.h"

enum kind {
    FLAG,
    COUNT, /* from 1 on */
    TEXT,
    SOURCE,   /* a file that is read          */
    TARGET,   /* a file that is written       */
    OPTIONAL, /* a text after '=', or none    */
    SETTING,  /* NAME=V, as often as given    */
    NAME,     /* NAME or NAME=V, repeatable   */
    PRIOR,    /* NAME~law(a,b), repeatable    */
    LIBRARY   /* a row of gsv_option_table()  */
};

struct option {
    const char *name, *letter;
    unsigned verbs;
    enum kind kind;
    size_t offset; /* in struct args */
    const char *value, *help;
    const char *const *choice; /* words that it chooses from, or NULL */
    const gsv_option *row;     /* the library's, or NULL              */
    size_t next;               /* for next_option()                   */
};

/* Goes over the verb's options: `for (struct option o = {0}; next_option(verb,
 * &o);)`. */
bool next_option(const struct verb *verb, struct option *o);

/* Finds the verb's option that a word names, and the text after its '=' or
 * NULL. */
bool find_option(const struct verb *verb, const char *word, struct option *o,
                 const char **value);

/* Whether the word after the option is its value. */
bool takes_word(const struct option *o);

/* The file that the option names, or NULL. */
const char *option_file(const struct option *o, const struct args *a);

/* "-o, --output FILE", and what it means. */
enum { OPTION_ROOM = 64, HELP_ROOM = 300 };
const char *option_usage(const struct option *o, char room[OPTION_ROOM]);
const char *option_help(const struct option *o, char room[HELP_ROOM]);

#endif
