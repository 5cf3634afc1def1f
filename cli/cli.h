/* SPDX-License-Identifier: MIT */
/* The command: one file a verb, all over girsanov.h alone. */
#ifndef CLI_H
#define CLI_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "girsanov.h"

enum exit_code {
    EXIT_DONE = 0,
    EXIT_INPUT = 1,
    EXIT_NUMBERS = 2,
    EXIT_STRICT = 3
};

enum verb_id { CHECK = 1, SIMULATE = 2, LOGLIK = 4, DIAGNOSE = 8, EVERY = 15 };

/* The verbs that estimate a likelihood. */
enum { ESTIMATE = CHECK | LOGLIK | DIAGNOSE };

/* What the command line says: options.c has the table that fills it. */
struct args {
    const char *model, *data;
    bool json, quiet, help, gradient, paper, joint, wide;
    bool richardson, delta, strict;
    const char *output, *times, *x0, *scheme, *inputs;
    const char *reference, *form, *random;
    const char **set; /* name=value, as often as given */
    size_t sets;
    size_t paths, steps, tracks, threads;
    double step, tolerance;
    uint64_t seed;
};

struct verb {
    enum verb_id id;
    const char *name;
    const char *arguments; /* after the verb      */
    const char *summary;   /* one line            */
    const char *text;      /* a paragraph         */
    const char *examples;  /* lines of shell      */
    bool data, data_optional;
    int (*run)(const struct args *a);
};

extern const struct verb VERBS[];
extern const size_t VERB_COUNT;

int check_run(const struct args *a);
int simulate_run(const struct args *a);
int loglik_run(const struct args *a);
int diagnose_run(const struct args *a);

/* --- options.c ---------------------------------------------------------- */

/* Fills args from the words after the verb; 0, or EXIT_INPUT after a
 * message. args->set is yours. */
int options_parse(const struct verb *verb, int count, char **word,
                  struct args *a);
void options_help(const struct verb *verb, FILE *out);

/* Numbers separated by commas, with or without brackets; *count of them. The
 * array is yours, NULL after a message. what names the option. */
double *parse_numbers(const char *what, const char *text, size_t *count);

/* --- out.c -------------------------------------------------------------- */

/* Says on standard error "girsanov: ..." and returns the code. */
int complain(int code, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The library's last sentence, and its exit code. */
int complain_last(void);

/* Prints and releases the object. */
int print_json(json_t *object);

/* Numbers, where what is not finite becomes null; a parameter's numbers as a
 * number, a list or a list of rows. */
json_t *json_number(double value);
json_t *json_param(const gsv_param *p, const double *value);

/* Every parameter by name, from a vector of all values. */
json_t *json_params(const gsv_model *m, const double *value);

/* Opens the model, sets what --set says. */
gsv_model *open_model(const struct args *a);

/* Reads the data with the model's columns; says what was passed over. */
gsv_series *open_data(const struct args *a, const gsv_model *m);
void say_note(const struct args *a, const gsv_series *s);

/* The words of the estimator's choices. */
extern const char *const REFERENCES[], *const FORMS[], *const RANDOMS[];

/* What was used in a result's gaps, as "lna" or "lna 31, brownian 2". The text
 * is written to room. */
const char *references_used(const gsv_result *r, char room[120]);
const char *forms_used(const gsv_result *r, char room[120]);

/* Notes on standard error: paths that were rounded up, a tolerance that was
 * not reached. */
void say_effort(const gsv_options *o, const gsv_result *r);

/* The estimator options that the command line asks for, or a message. */
int estimator_options(const struct args *a, gsv_options *o);

#endif
