/* SPDX-License-Identifier: MIT */
/* One table of options: parsing and help read it, and so does the reference
 * in docs/ (girsanov VERB --help prints it). */
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

enum kind { FLAG, COUNT, REAL, SEED, TEXT, SETTING };

struct option {
    const char *name, *letter;
    unsigned verbs;
    enum kind kind;
    size_t offset; /* in struct args */
    const char *value, *help;
};

#define AT(field) offsetof(struct args, field)

static const struct option OPTIONS[] = {
    {"--paths", NULL, ESTIMATE, COUNT, AT(paths), "K", "paths a gap (64)"},
    {"--steps", NULL, ESTIMATE, COUNT, AT(steps), "M", "steps a gap (8)"},
    {"--step", NULL, EVERY, REAL, AT(step), "DT",
     "longest step; sets the number of steps by each gap's length"},
    {"--reference", NULL, ESTIMATE, TEXT, AT(reference), "R",
     "what bridges are drawn from: auto, lna, linear, brownian (auto)"},
    {"--form", NULL, ESTIMATE, TEXT, AT(form), "F",
     "of the weights: auto, midpoint, ito, stratonovich (auto)"},
    {"--random", NULL, ESTIMATE, TEXT, AT(random), "N",
     "normal numbers: sobol, with K rounded up to a power of two, or iid"},
    {"--richardson", NULL, ESTIMATE, FLAG, AT(richardson), NULL,
     "2 l(dt) - l(2 dt): takes the steps' error of ito sums away"},
    {"--delta", NULL, ESTIMATE, FLAG, AT(delta), NULL,
     "correct the bias of the log of a mean over few paths"},
    {"--tolerance", NULL, LOGLIK | DIAGNOSE, REAL, AT(tolerance), "S",
     "raise paths and steps until both errors are below S"},
    {"--joint", NULL, ESTIMATE, FLAG, AT(joint), NULL,
     "average over whole series instead of gap by gap"},
    {"--paper", NULL, ESTIMATE, FLAG, AT(paper), NULL,
     "Algorithm 1 as published: joint, brownian, ito, iid"},
    {"--gradient", NULL, LOGLIK | CHECK, FLAG, AT(gradient), NULL,
     "the gradient by every parameter (check: compare with differences)"},
    {"--strict", NULL, DIAGNOSE, FLAG, AT(strict), NULL,
     "exit with code 3 where a gap is flagged"},
    {"--output", "-o", SIMULATE, TEXT, AT(output), "FILE",
     "where to write (standard output)"},
    {"--times", NULL, SIMULATE, TEXT, AT(times), "A:B:N",
     "N times from A to B, or a list 0,0.5,2 (0:10:201)"},
    {"--tracks", NULL, SIMULATE, COUNT, AT(tracks), "R", "series to draw (1)"},
    {"--x0", NULL, SIMULATE, TEXT, AT(x0), "V",
     "start: a number, one for each state, normal or normal(m,s) (0)"},
    {"--scheme", NULL, SIMULATE, TEXT, AT(scheme), "S",
     "euler, milstein, heun or srk (srk)"},
    {"--inputs", NULL, SIMULATE, TEXT, AT(inputs), "FILE",
     "CSV with time and the model's input columns"},
    {"--set", NULL, EVERY, SETTING, AT(set), "NAME=V",
     "give a parameter another value; lists as NAME=1,2,3; repeatable"},
    {"--double", NULL, ESTIMATE, FLAG, AT(wide), NULL,
     "networks in double instead of float32"},
    {"--seed", NULL, EVERY, SEED, AT(seed), "N", "of all random numbers (1)"},
    {"--threads", NULL, EVERY, COUNT, AT(threads), "N",
     "threads; any number gives the same bits (all)"},
    {"--json", NULL, EVERY, FLAG, AT(json), NULL,
     "one JSON object on standard output"},
    {"--quiet", "-q", EVERY, FLAG, AT(quiet), NULL,
     "no notes on standard error"},
    {"--help", "-h", EVERY, FLAG, AT(help), NULL, "this text"},
};
enum { OPTION_COUNT = sizeof OPTIONS / sizeof *OPTIONS };

void options_help(const struct verb *verb, FILE *out)
{
    fprintf(out, "usage: girsanov %s %s [options]\n\n%s\nOptions:\n",
            verb->name, verb->arguments, verb->text);
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const struct option *o = &OPTIONS[i];
        char left[40];
        if (!(o->verbs & verb->id)) continue;
        snprintf(left, sizeof left, "%s%s%s%s%s", o->letter ? o->letter : "",
                 o->letter ? ", " : "", o->name, o->value ? " " : "",
                 o->value ? o->value : "");
        fprintf(out, "  %-20s %s\n", left, o->help);
    }
    fprintf(out, "\nExamples:\n%s", verb->examples);
}

/* --- Values ------------------------------------------------------------- */

static int bad_value(const struct option *o, const char *text,
                     const char *wanted)
{
    return complain(EXIT_INPUT, "%s %s: %s is wanted", o->name, text, wanted);
}

static int parse_count(const struct option *o, const char *text, size_t *value)
{
    char *end;
    errno = 0;
    double v = strtod(text, &end);
    if (end == text || *end || errno || !(v >= 1.0 && v <= 1e12) ||
        v != floor(v))
        return bad_value(o, text, "a whole number from 1 on");
    *value = (size_t)v;
    return 0;
}

static int parse_real(const struct option *o, const char *text, double *value)
{
    char *end;
    *value = strtod(text, &end);
    if (end == text || *end || !(*value > 0.0) || !isfinite(*value))
        return bad_value(o, text, "a positive number");
    return 0;
}

static int parse_seed(const struct option *o, const char *text, uint64_t *value)
{
    char *end;
    errno = 0;
    *value = strtoull(text, &end, 10);
    /* Not more than a JSON integer holds. */
    if (end == text || *end || errno || strchr(text, '-') || *value > INT64_MAX)
        return bad_value(o, text, "a whole number from 0 to 2^63 - 1");
    return 0;
}

static int store(const struct option *o, const char *text, struct args *a)
{
    void *to = (char *)a + o->offset;
    switch (o->kind) {
    case FLAG: *(bool *)to = true; return 0;
    case COUNT: return parse_count(o, text, to);
    case REAL: return parse_real(o, text, to);
    case SEED: return parse_seed(o, text, to);
    case TEXT: *(const char **)to = text; return 0;
    case SETTING: break;
    }
    if (!strchr(text, '=')) return bad_value(o, text, "NAME=VALUE");
    a->set[a->sets++] = text;
    return 0;
}

double *parse_numbers(const char *what, const char *text, size_t *count)
{
    size_t most = 1;
    for (const char *c = text; *c; c++)
        most += *c == ',';
    double *value = malloc(most * sizeof *value);
    if (!value) {
        complain(EXIT_NUMBERS, "out of memory");
        return NULL;
    }
    bool bracket = *text == '[';
    const char *at = text + bracket;
    for (*count = 0; *count < most;) {
        char *end;
        value[(*count)++] = strtod(at, &end);
        while (*end == ' ')
            end++;
        bool last = *count == most;
        bool ends = last ? !strcmp(end, bracket ? "]" : "") : *end == ',';
        if (end == at || !ends || !isfinite(value[*count - 1])) {
            complain(EXIT_INPUT,
                     "%s: '%s' is not a list of numbers such as 1,2.5,3", what,
                     text);
            free(value);
            return NULL;
        }
        at = end + 1;
    }
    return value;
}

/* --- Words -------------------------------------------------------------- */

static int unknown_option(const struct verb *verb, const char *word)
{
    const char *candidate[OPTION_COUNT];
    size_t n = 0;
    for (size_t i = 0; i < OPTION_COUNT; i++)
        if (OPTIONS[i].verbs & verb->id) candidate[n++] = OPTIONS[i].name;
    const char *best = gsv_suggestion(word, n, candidate);
    if (best)
        return complain(EXIT_INPUT,
                        "'%s' is not an option of %s; did you mean '%s'?", word,
                        verb->name, best);
    return complain(EXIT_INPUT,
                    "'%s' is not an option of %s; 'girsanov %s --help' lists "
                    "them",
                    word, verb->name, verb->name);
}

/* The option that a word names, and the text behind its '=', if any. */
static const struct option *find(const struct verb *verb, const char *word,
                                 const char **value)
{
    size_t length = strcspn(word, "=");
    *value = word[length] ? word + length + 1 : NULL;
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const struct option *o = &OPTIONS[i];
        bool named =
            strlen(o->name) == length && !strncmp(o->name, word, length);
        if ((named || (o->letter && !strcmp(o->letter, word))) &&
            (o->verbs & verb->id))
            return o;
    }
    return NULL;
}

static int positional(const struct verb *verb, const char *word, struct args *a)
{
    if (!a->model) a->model = word;
    else if (verb->data && !a->data) a->data = word;
    else
        return complain(EXIT_INPUT,
                        "one argument too many: '%s'; the usage is girsanov "
                        "%s %s",
                        word, verb->name, verb->arguments);
    return 0;
}

static int check_complete(const struct verb *verb, const struct args *a)
{
    if (a->help) return 0;
    if (!a->model || (verb->data && !verb->data_optional && !a->data))
        return complain(
            EXIT_INPUT, "%s is missing; the usage is girsanov %s %s",
            a->model ? "DATA" : "MODEL", verb->name, verb->arguments);
    const char *second = a->data ? a->data : a->inputs;
    if (second && !strcmp(a->model, "-") && !strcmp(second, "-"))
        return complain(EXIT_INPUT, "the model and the data cannot both be "
                                    "'-': there is one standard input");
    return 0;
}

int options_parse(const struct verb *verb, int count, char **word,
                  struct args *a)
{
    gsv_options o = gsv_options_default();
    *a = (struct args){.paths = o.paths,
                       .steps = o.steps,
                       .seed = 1,
                       .tracks = 1,
                       .set = malloc(((size_t)count + 1) * sizeof *a->set)};
    if (!a->set) return complain(EXIT_NUMBERS, "out of memory");
    for (int i = 0; i < count; i++) {
        const char *value;
        if (word[i][0] != '-' || !word[i][1]) {
            if (positional(verb, word[i], a)) return EXIT_INPUT;
            continue;
        }
        const struct option *option = find(verb, word[i], &value);
        if (!option) return unknown_option(verb, word[i]);
        if (option->kind == FLAG && value)
            return complain(EXIT_INPUT, "%s takes no value", option->name);
        if (option->kind != FLAG && !value) {
            if (++i == count)
                return complain(EXIT_INPUT, "%s needs a value: %s",
                                option->name, option->help);
            value = word[i];
        }
        if (store(option, value, a)) return EXIT_INPUT;
    }
    return check_complete(verb, a);
}
