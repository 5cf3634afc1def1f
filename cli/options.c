/* SPDX-License-Identifier: MIT */
/* One table of options: parsing and help read it, and so does the reference
 * in docs/ (girsanov VERB --help prints it). */
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "options.h"

#define AT(field) offsetof(struct args, field)

static const struct option OPTIONS[] = {
    {"--output", "-o", FIT, TARGET, AT(output), "FILE",
     "where the fit goes; needed"},
    {"--output", "-o", SIMULATE | FIELD, TARGET, AT(output), "FILE",
     "where to write (standard output)"},
    {"--output", "-o", PROFILE, TARGET, AT(output), "FILE",
     "the values as CSV (a table on standard output)"},
    {"--output", "-o", PREDICT, TARGET, AT(output), "FILE",
     "the forecasts, or scores by lead, as CSV (standard output)"},
    {"--output", "-o", REPORT, TARGET, AT(output), "FILE",
     "where the page goes, - for standard output; needed"},
    {"--ahead", NULL, PREDICT, REAL, AT(ahead), "T",
     "20 times up to T after the end (a tenth of the series' length)"},
    {"--times", NULL, PREDICT, TEXT, AT(times), "A:B:N",
     "at these times instead, or a list 10,12.5,15"},
    {"--against", NULL, PREDICT, SOURCE, AT(against), "FILE",
     "forecast its rows, which come after DATA, and score"},
    {"--from", NULL, PREDICT, TEXT, AT(from), "TIME",
     "forecast the rows of DATA after TIME from those before, and score"},
    {"--rolling", NULL, PREDICT, COUNT, AT(rolling), "K",
     "from every row 1 to K rows ahead; scores alone"},
    {"--quantiles", NULL, PREDICT, TEXT, AT(quantiles), "Q",
     "of the forecasts (0.05,0.25,0.5,0.75,0.95)"},
    {"--parameters", NULL, PREDICT, FLAG, AT(parameters), NULL,
     "draw the parameters, too, by a fit's covariance (at the estimates)"},
    {"--mean", NULL, SIMULATE | PREDICT, FLAG, AT(mean), NULL,
     "a gp's functions at their posterior mean (each path draws its own)"},
    {"--residuals", NULL, DIAGNOSE, TARGET, AT(residuals), "FILE",
     "CSV of the residuals: series,time,NAME_pit,NAME_z"},
    {"--draws", NULL, PREDICT | DIAGNOSE | REPORT, COUNT, AT(draws), "N",
     "simulated from each row (1024; fewer for very many rows)"},
    {"--output", "-o", PATHS, TARGET, AT(output), "FILE",
     "where the CSV goes (standard output)"},
    {"--draws", NULL, PATHS, COUNT, AT(draws), "N",
     "write N sample paths instead of bands"},
    {"--between", NULL, PATHS, AMOUNT, AT(between), "N",
     "times inside of each gap, besides all rows (7; latent states: 0)"},
    {"--quantiles", NULL, PATHS, TEXT, AT(quantiles), "Q",
     "of the bands (0.05,0.5,0.95)"},
    {"--output", "-o", GRADVAR, TARGET, AT(output), "FILE",
     "CSV: objective,gap,parameter,of,mean,variance,finite,overflows"},
    {"--all", NULL, GRADVAR, FLAG, AT(all), NULL,
     "every number of networks in it (min, median and max of each layer)"},
    {"--gaps", NULL, GRADVAR, TEXT, AT(gaps), "G",
     "0.01,0.1,1: the rows are put so far apart (the data's own times)"},
    {"--objectives", NULL, GRADVAR, TEXT, AT(objectives), "O",
     "auto,lna,linear,brownian,paper,mse-backprop,mse-adjoint,mse-forward"},
    {"--repeats", NULL, GRADVAR, COUNT, AT(repeats), "N",
     "gradients, by the seeds from --seed on (20)"},
    {"--init", NULL, GRADVAR, TEXT, AT(init), "I",
     "networks' weights: uniform in 1/sqrt(inputs), or he (uniform)"},
    {"--method", NULL, FIT, TEXT, AT(method), "M",
     "likelihood, or gibbs: draws from the posterior (likelihood)"},
    {"--objective", NULL, FIT, TEXT, AT(objective), "O",
     "likelihood; mse-backprop, mse-adjoint, mse-forward; gradient-matching, "
     "em-linear"},
    {"--optimizer", NULL, FIT, TEXT, AT(optimizer), "O",
     "auto, adam or lbfgs (auto: lbfgs, or adam where there is a network)"},
    {"--iterations", NULL, FIT, COUNT, AT(fit.iterations), "N",
     "at most (chosen)"},
    {"--rate", NULL, FIT, REAL, AT(fit.rate), "R", "Adam's step (chosen)"},
    {"--batch", NULL, FIT, COUNT, AT(fit.batch), "GAPS",
     "gaps of an iteration (chosen)"},
    {"--schedule", NULL, FIT, TEXT, AT(schedule), "S",
     "of Adam's rate: cosine, plateau or constant (cosine)"},
    {"--decay", NULL, FIT, AMOUNT, AT(fit.decay), "W",
     "of networks' weights, as in AdamW (0: none)"},
    {"--clip", NULL, FIT, AMOUNT, AT(fit.clip), "C",
     "longest gradient, in running lengths; 0 for any (10)"},
    {"--average", NULL, FIT, SHARE, AT(fit.average), "A",
     "of the numbers over iterations; 0 for none (0.98)"},
    {"--heldout", NULL, FIT, SHARE, AT(fit.heldout), "SHARE",
     "of the gaps, not learned from; 0 for none (chosen)"},
    {"--patience", NULL, FIT, SHARE, AT(fit.patience), "SHARE",
     "ends after this share of them without a better held-out value (0.2)"},
    {"--restarts", NULL, FIT, COUNT, AT(fit.restarts), "N",
     "from other starts; the best is kept (1)"},
    {"--time-limit", NULL, FIT, REAL, AT(fit.time_limit), "S",
     "seconds of the search; as many for what follows (none)"},
    {"--fix", NULL, FIT, NAME, AT(fix), "NAME[=V]",
     "do not learn a parameter or an element; =V sets it; repeatable"},
    {"--errors", NULL, FIT, TEXT, AT(errors), "E",
     "standard errors: auto, none, observed or sandwich (auto)"},
    {"--estimate", NULL, FIT, TEXT, AT(estimate), "E",
     "the last log-likelihood: of all gaps, none, or auto: many are sampled"},
    {"--checkpoint", NULL, FIT, TARGET, AT(checkpoint), "FILE",
     "save the state there while learning"},
    {"--every", NULL, FIT, REAL, AT(fit.every), "S",
     "seconds from one checkpoint to the next (30)"},
    {"--resume", NULL, FIT, OPTIONAL, AT(resume), "FILE",
     "go on from FILE, else from the checkpoint, else from -o"},
    {"--trace", NULL, FIT, TARGET, AT(trace), "FILE",
     "CSV with a row for every iteration"},
    {"--prior", NULL, FIT, PRIOR, AT(prior), "P",
     "gibbs: NAME~normal(m,s) and the like; repeatable (flat in its bounds)"},
    {"--chains", NULL, FIT, COUNT, AT(fit.chains), "N", "gibbs: chains (4)"},
    {"--warmup", NULL, FIT, COUNT, AT(fit.warmup), "N",
     "gibbs: iterations of a chain before its draws (500)"},
    {"--draws", NULL, FIT, COUNT, AT(fit.draws), "N",
     "gibbs: draws of a chain (1000)"},
    {"--samples", NULL, FIT, TARGET, AT(samples), "FILE",
     "gibbs: the draws as CSV (the fit's name with .draws.csv)"},
    {"--correlation", NULL, SUMMARY, FLAG, AT(correlation), NULL,
     "of the estimates, also of more than 12"},
    {"--model", NULL, SUMMARY, FLAG, AT(text), NULL, "the model's text, too"},
    {"--at", NULL, FIELD, SOURCE, AT(at), "FILE",
     "CSV of points: a column for each state and input, time if need be"},
    {"--grid", NULL, FIELD, TEXT, AT(grid), "G",
     "x=-3:3:50,y=0:10:20,u=1,t=0: ranges A:B:N or values (the data's range)"},
    {"--param", NULL, PROFILE, TEXT, AT(param), "NAME",
     "a parameter, or an element such as A[1,2]; needed"},
    {"--points", NULL, PROFILE, COUNT, AT(points), "N", "values (21)"},
    {"--range", NULL, PROFILE, TEXT, AT(range), "A:B",
     "of the values (estimate +- 3 standard errors)"},
    {"--plot", NULL, FIELD | PROFILE | PREDICT | PATHS | GRADVAR, TARGET,
     AT(plot), "FILE", "a picture, .svg, .png or .pdf; needs gnuplot"},
    {"--paths", NULL, WEIGH, COUNT, AT(paths), "K", "paths a gap (64)"},
    {"--paths", NULL, LEARN, COUNT, AT(paths), "K", "paths a gap (chosen)"},
    {"--paths", NULL, PATHS, COUNT, AT(paths), "K",
     "bridges a gap, or paths through latent states (256)"},
    {"--paths", NULL, GRADVAR, COUNT, AT(paths), "K",
     "paths of a gradient, in each gap (16)"},
    {"--steps", NULL, WEIGH | PATHS | GRADVAR, COUNT, AT(steps), "M",
     "steps a gap (8)"},
    {"--steps", NULL, LEARN, COUNT, AT(steps), "M", "steps a gap (chosen)"},
    {"--step", NULL, ESTIMATE | SIMULATE | PREDICT | PATHS | GRADVAR, REAL,
     AT(step), "DT",
     "longest step; sets the number of steps by each gap's length"},
    {"--reference", NULL, ESTIMATE | PATHS, TEXT, AT(reference), "R",
     "what bridges are drawn from: auto, lna, linear, brownian (auto)"},
    {"--form", NULL, ESTIMATE | PATHS, TEXT, AT(form), "F",
     "of the weights: auto, midpoint, ito, stratonovich (auto)"},
    {"--random", NULL, ESTIMATE | PATHS, TEXT, AT(random), "N",
     "normal numbers: sobol, with K rounded up to a power of two, or iid"},
    {"--observe", NULL, ESTIMATE, TEXT, AT(observe), "E",
     "noisy data by scan, particle, conjugate or variational (chosen)"},
    {"--support", NULL, ESTIMATE | PREDICT | PATHS | GRADVAR, COUNT,
     AT(support), "J",
     "points or particles for each noisy observation (chosen)"},
    {"--richardson", NULL, ESTIMATE, FLAG, AT(richardson), NULL,
     "2 l(dt) - l(2 dt): takes the steps' error of ito sums away"},
    {"--delta", NULL, ESTIMATE, FLAG, AT(delta), NULL,
     "correct the bias of the log of a mean over few paths"},
    {"--tolerance", NULL, LOGLIK | DIAGNOSE | COMPARE | REPORT, REAL,
     AT(tolerance), "S", "raise paths and steps until both errors are below S"},
    {"--joint", NULL, ESTIMATE, FLAG, AT(joint), NULL,
     "average over whole series instead of gap by gap"},
    {"--paper", NULL, ESTIMATE, FLAG, AT(paper), NULL,
     "Algorithm 1 as published: joint, brownian, ito, iid"},
    {"--defaults", NULL, ESTIMATE | PREDICT | PATHS, FLAG, AT(defaults), NULL,
     "not the options that the fit was made with, but the usual ones"},
    {"--gradient", NULL, LOGLIK | CHECK, FLAG, AT(gradient), NULL,
     "the gradient by every parameter (check: compare with differences)"},
    {"--functions", NULL, LOGLIK, COUNT, AT(functions), "N",
     "in addition each gap's mean density over N functions of a gp's "
     "posterior"},
    {"--strict", NULL, DIAGNOSE, FLAG, AT(strict), NULL,
     "exit with code 3 where a gap is flagged"},
    {"--times", NULL, SIMULATE, TEXT, AT(times), "A:B:N",
     "N times from A to B, or a list 0,0.5,2 (0:10:201)"},
    {"--times", NULL, PATHS, TEXT, AT(times), "A:B:N",
     "N times from A to B, or a list 0,0.5,2 (all rows, and --between)"},
    {"--tracks", NULL, SIMULATE, COUNT, AT(tracks), "R", "series to draw (1)"},
    {"--x0", NULL, SIMULATE, TEXT, AT(x0), "V",
     "start: a number, one for each state, normal or normal(m,s) (0; init)"},
    {"--scheme", NULL, SIMULATE, TEXT, AT(scheme), "S",
     "euler, milstein, heun or srk (srk)"},
    {"--scheme", NULL, FIT | GRADVAR, TEXT, AT(scheme), "S",
     "of simulated paths, for a squared error: euler or heun (euler)"},
    {"--inputs", NULL, SIMULATE | PREDICT, SOURCE, AT(inputs), "FILE",
     "CSV with time and the model's input columns, and trials (obs)"},
    {"--time", NULL, ESTIMATE | FIELD | PREDICT | PATHS | GRADVAR, TEXT,
     AT(time), "NAME",
     "the data's column of time, numbers or dates (time or t)"},
    {"--series", NULL, ESTIMATE | FIELD | PREDICT | PATHS | GRADVAR, TEXT,
     AT(series), "NAME", "the data's column of the series (series or id)"},
    {"--set", NULL, EVERY & ~(unsigned)(SUMMARY | COMPARE | REPORT), SETTING,
     AT(set), "NAME=V",
     "give a parameter another value; lists as NAME=1,2,3; repeatable"},
    {"--double", NULL, ESTIMATE | PATHS | GRADVAR, FLAG, AT(wide), NULL,
     "networks in double instead of float32"},
    {"--seed", NULL, EVERY, SEED, AT(seed), "N", "of all random numbers (1)"},
    {"--threads", NULL, EVERY, COUNT, AT(threads), "N",
     "threads; any number gives the same bits (all)"},
    {"--json", NULL, EVERY, FLAG, AT(json), NULL,
     "one JSON object on standard output"},
    {"--quiet", "-q", EVERY & ~(unsigned)FIT, FLAG, AT(quiet), NULL,
     "no notes on standard error; warnings stay"},
    {"--quiet", "-q", FIT, FLAG, AT(quiet), NULL,
     "no progress and no notes on standard error; warnings stay"},
    {"--help", "-h", EVERY, FLAG, AT(help), NULL, "this text"},
};
enum { OPTION_COUNT = sizeof OPTIONS / sizeof *OPTIONS };

/* What options choose from. */
static const struct {
    const char *name;
    unsigned verbs;
    const char *const *word;
} CHOICES[] = {
    {"--method", FIT, METHODS},         {"--objective", FIT, OBJECTIVES},
    {"--optimizer", FIT, OPTIMIZERS},   {"--schedule", FIT, SCHEDULES},
    {"--errors", FIT, ERRORS},          {"--estimate", FIT, ESTIMATES},
    {"--reference", EVERY, REFERENCES}, {"--form", EVERY, FORMS},
    {"--random", EVERY, RANDOMS},       {"--observe", EVERY, OBSERVERS},
    {"--scheme", SIMULATE, SCHEMES},    {"--scheme", FIT, LEARN_SCHEMES},
    {"--init", GRADVAR, INITS},
};

const char *const *option_choices(const struct verb *verb,
                                  const struct option *o)
{
    for (size_t i = 0; i < sizeof CHOICES / sizeof *CHOICES; i++)
        if ((CHOICES[i].verbs & verb->id) && !strcmp(CHOICES[i].name, o->name))
            return CHOICES[i].word;
    return NULL;
}

const struct option *next_option(const struct verb *verb,
                                 const struct option *last)
{
    for (size_t i = last ? (size_t)(last - OPTIONS) + 1 : 0; i < OPTION_COUNT;
         i++)
        if (OPTIONS[i].verbs & verb->id) return &OPTIONS[i];
    return NULL;
}

bool takes_word(const struct option *o)
{
    return o->kind != FLAG && o->kind != OPTIONAL;
}

const char *option_usage(const struct option *o, char room[OPTION_ROOM])
{
    bool optional = o->kind == OPTIONAL;
    snprintf(room, OPTION_ROOM, "%s%s%s%s%s%s", o->letter ? o->letter : "",
             o->letter ? ", " : "", o->name,
             optional   ? "[="
             : o->value ? " "
                        : "",
             o->value ? o->value : "", optional ? "]" : "");
    return room;
}

void options_help(const struct verb *verb, FILE *out)
{
    char left[OPTION_ROOM];
    fprintf(out, "usage: girsanov %s %s [options]\n\n%s\nOptions:\n",
            verb->name, verb->arguments, verb->text);
    for (const struct option *o = NULL; (o = next_option(verb, o));)
        fprintf(out, "  %-20s %s\n", option_usage(o, left), o->help);
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

/* A number with low <= value < high, but for 0 where it must be positive. */
static int parse_real(const struct option *o, const char *text, double *value)
{
    char *end;
    double high = o->kind == SHARE ? 1.0 : INFINITY;
    *value = strtod(text, &end);
    if (end != text && !*end && *value >= 0.0 && *value < high &&
        (*value > 0.0 || o->kind != REAL))
        return 0;
    return bad_value(o, text,
                     o->kind == REAL     ? "a positive number"
                     : o->kind == AMOUNT ? "a number from 0 on"
                                         : "a number from 0 to below 1");
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

static int add_word(const struct option *o, const char *text,
                    struct words *list)
{
    if (o->kind == SETTING && !strchr(text, '='))
        return bad_value(o, text, "NAME=VALUE");
    list->word[list->count++] = text;
    return 0;
}

static int store(const struct option *o, const char *text, struct args *a)
{
    void *to = (char *)a + o->offset;
    switch (o->kind) {
    case FLAG: *(bool *)to = true; return 0;
    case COUNT: return parse_count(o, text, to);
    case REAL:
    case AMOUNT:
    case SHARE: return parse_real(o, text, to);
    case SEED: return parse_seed(o, text, to);
    case OPTIONAL: *(const char **)to = text ? text : ""; return 0;
    case TEXT:
    case SOURCE:
    case TARGET: *(const char **)to = text; return 0;
    case SETTING:
    case PRIOR:
    case NAME: return add_word(o, text, to);
    }
    return 0;
}

/* --- Words -------------------------------------------------------------- */

static int unknown_option(const struct verb *verb, const char *word)
{
    const char *candidate[OPTION_COUNT];
    size_t n = 0;
    for (const struct option *o = NULL; (o = next_option(verb, o));)
        candidate[n++] = o->name;
    const char *best = gsv_suggestion(word, n, candidate);
    if (!access(word, F_OK))
        return complain(EXIT_INPUT,
                        "'%s' is not an option of %s; if the file of that name "
                        "is meant, put '--' before the files",
                        word, verb->name);
    if (best)
        return complain(EXIT_INPUT,
                        "'%s' is not an option of %s; did you mean '%s'?", word,
                        verb->name, best);
    return complain(EXIT_INPUT,
                    "'%s' is not an option of %s; 'girsanov %s --help' lists "
                    "them",
                    word, verb->name, verb->name);
}

const struct option *find_option(const struct verb *verb, const char *word,
                                 const char **value)
{
    size_t length = strcspn(word, "=");
    *value = word[length] ? word + length + 1 : NULL;
    for (const struct option *o = NULL; (o = next_option(verb, o));) {
        bool named =
            strlen(o->name) == length && !strncmp(o->name, word, length);
        if (named || (o->letter && !strcmp(o->letter, word))) return o;
    }
    return NULL;
}

static int one_too_many(const struct verb *verb, const char *word)
{
    return complain(EXIT_INPUT,
                    "one argument too many: '%s'; the usage is girsanov %s %s",
                    word, verb->name, verb->arguments);
}

/* Which file is the model, and which the data. */
static int take_files(const struct verb *verb, struct args *a)
{
    size_t n = a->files.count, most = 1 + verb->data;
    if (n > most && !verb->many) return one_too_many(verb, a->files.word[most]);
    if (n) a->model = a->files.word[0];
    if (n > 1) a->data = a->files.word[n - 1];
    return 0;
}

/* The name that a text begins with. */
static int missing(const struct verb *verb, const char *text)
{
    return complain(EXIT_INPUT, "%.*s is missing; the usage is girsanov %s %s",
                    (int)strcspn(text, " ."), text, verb->name,
                    verb->arguments);
}

const char *option_file(const struct option *o, const struct args *a)
{
    bool file = o->kind == SOURCE || o->kind == TARGET || o->kind == OPTIONAL;
    const char *path =
        file ? *(char *const *)((const char *)a + o->offset) : "";
    return path && *path ? path : NULL;
}

static int check_complete(const struct verb *verb, const struct args *a)
{
    if (a->help) return 0;
    if (!a->model || (verb->data && !verb->optional && !a->data))
        return missing(verb, a->model ? "DATA" : verb->arguments);
    int inputs = 0;
    for (size_t i = 0; i < a->files.count; i++)
        inputs += a->files.word[i] && !strcmp(a->files.word[i], "-");
    for (const struct option *o = NULL; (o = next_option(verb, o));) {
        const char *path = o->kind == SOURCE ? option_file(o, a) : NULL;
        inputs += path && !strcmp(path, "-");
    }
    if (inputs > 1)
        return complain(EXIT_INPUT, "the model and the data cannot both be "
                                    "'-': there is one standard input");
    return 0;
}

/* Room for every word in each of the lists. */
static int start_args(size_t count, struct args *a)
{
    const char **room = calloc(5 * (count + 1), sizeof *room);
    *a = (struct args){.seed = 1, .tracks = 1, .points = 21, .between = -1.0};
    a->fit = gsv_fit_options_default();
    a->files.word = room;
    if (!room) {
        complain_memory();
        return EXIT_NUMBERS;
    }
    a->set.word = room + count + 1;
    a->fix.word = room + 2 * (count + 1);
    a->prior.word = room + 3 * (count + 1);
    a->given.word = room + 4 * (count + 1);
    return 0;
}

void options_free(struct args *a)
{
    free(a->files.word);
}

int options_parse(const struct verb *verb, int count, char **word,
                  struct args *a)
{
    if (start_args((size_t)count, a)) return EXIT_NUMBERS;
    for (int i = 0; i < count; i++)
        a->given.word[a->given.count++] = word[i];
    bool names = false; /* after "--" all words are files */
    for (int i = 0; i < count; i++) {
        const char *value;
        if (!names && !strcmp(word[i], "--")) {
            names = true;
            continue;
        }
        if (names || word[i][0] != '-' || !word[i][1]) {
            a->files.word[a->files.count++] = word[i];
            continue;
        }
        const struct option *option = find_option(verb, word[i], &value);
        if (!option) return unknown_option(verb, word[i]);
        if (option->kind == FLAG && value)
            return complain(EXIT_INPUT, "%s takes no value", option->name);
        if (takes_word(option) && !value) {
            if (++i == count)
                return complain(EXIT_INPUT, "%s needs a value: %s",
                                option->name, option->help);
            value = word[i];
        }
        if (store(option, value, a)) return EXIT_INPUT;
    }
    return take_files(verb, a) ? EXIT_INPUT : check_complete(verb, a);
}
