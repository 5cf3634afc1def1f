/* SPDX-License-Identifier: MIT */
/* The options: those of the command alone are rows here, all others are the
 * library's rows (gsv_option_table). Parsing, --help, man pages and completion
 * read both. */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "options.h"

#define AT(field) offsetof(struct args, field)

static const char *const INITS[] = {"uniform", "he", NULL};

/* Before the library's options. */
static const struct option OWN[] = {
    {"--output", "-o", FIT | SELECT | REPORT, TARGET, AT(output), "FILE",
     .help = "file to write; required"},
    {"--output", "-o", SHOW, TARGET, AT(output), "FILE",
     .help = "file to write (the fit's name with .html)"},
    {"--output", "-o", SIMULATE | FIELD | PREDICT | PATHS, TARGET, AT(output),
     "FILE", .help = "CSV file to write (standard output)"},
    {"--output", "-o", LOOK, TARGET, AT(output), "FILE",
     .help = "write the models to FILE.sde, FILE-2.sde, ... (print them)"},
    {"--output", "-o", NEW, TARGET, AT(output), "FILE",
     .help = "file to write (standard output)"},
    {"--output", "-o", PHYSICS, TARGET, AT(output), "PREFIX",
     .help = "write PREFIX-points.csv, -numbers.csv, -marginals.csv, "
             "-field.csv"},
    {"--output", "-o", PROFILE | GRADVAR, TARGET, AT(output), "FILE",
     .help = "CSV file to write (a table on standard output)"},
    {"--times", NULL, PREDICT, TEXT, AT(times), "A:B:N",
     .help = "N times from A to B instead, or a list 10,12.5,15"},
    {"--times", NULL, SIMULATE, TEXT, AT(times), "A:B:N",
     .help = "N times from A to B, or a list 0,0.5,2 (0:10:201)"},
    {"--times", NULL, PATHS, TEXT, AT(times), "A:B:N",
     .help =
         "N times from A to B, or a list 0,0.5,2 (all rows, and --between)"},
    {"--x0", NULL, SIMULATE, TEXT, AT(x0), "V",
     .help = "start: a number, one for each state, normal or normal(m,s) (0; "
             "init)"},
    {"--subject", NULL, SIMULATE, TEXT, AT(subject), "NAME",
     .help = "a fit's series whose random effects all paths have (new ones)"},
    {"--against", NULL, PREDICT, SOURCE, AT(against), "FILE",
     .help = "forecast the rows of FILE, which come after DATA, and score"},
    {"--from", NULL, PREDICT, TEXT, AT(from), "TIME",
     .help =
         "forecast the rows of DATA after TIME from those before, and score"},
    {"--from", NULL, PHYSICS, TEXT, AT(from), "C",
     .help = "region to start from, as 'x < -1' (around stable points)"},
    {"--to", NULL, PHYSICS, TEXT, AT(to), "C",
     .help = "region to reach, as '(x > 1)*(y < 0)'"},
    {"--at", NULL, PHYSICS, NAME, AT(hold), "NAME=V",
     .help = "value of an input, or of t; repeatable (middle of the range)"},
    {"--range", NULL, PHYSICS, TEXT, AT(range), "R",
     .help = "ends that reflect, as -3:3 or x=-3:3,y=0:10 (as far as the law)"},
    {"--inputs", NULL, SIMULATE | PREDICT, SOURCE, AT(inputs), "FILE",
     .help = "CSV with time and the model's input columns, and trials (obs)"},
    {"--quantiles", NULL, PREDICT, TEXT, AT(quantiles), "Q",
     .help = "levels of the forecasts' quantiles (0.05,0.25,0.5,0.75,0.95)"},
    {"--quantiles", NULL, PATHS, TEXT, AT(quantiles), "Q",
     .help = "levels of the bands (0.05,0.5,0.95)"},
    {"--residuals", NULL, DIAGNOSE, TARGET, AT(residuals), "FILE",
     .help = "CSV of the residuals: series,time,NAME_pit,NAME_z"},
    {"--strict", NULL, DIAGNOSE, FLAG, AT(strict), NULL,
     .help = "exit with code 3 if a gap is flagged"},
    {"--all", NULL, GRADVAR, FLAG, AT(all), NULL,
     .help = "every number of networks (min, median and max of each layer)"},
    {"--gaps", NULL, GRADVAR, TEXT, AT(gaps), "G",
     .help = "distances between rows, 0.01,0.1,1 (the data's own times)"},
    {"--objectives", NULL, GRADVAR, TEXT, AT(objectives), "O",
     .help =
         "auto,lna,linear,brownian,paper,mse-backprop,mse-adjoint,mse-forward"},
    {"--repeats", NULL, GRADVAR, COUNT, AT(repeats), "N",
     .help = "gradients, with seeds from --seed on (20)"},
    {"--init", NULL, GRADVAR, TEXT, AT(init), "I",
     .help = "networks' weights: uniform in 1/sqrt(inputs), or he (uniform)",
     .choice = INITS},
    {"--fix", NULL, FIT | SELECT, NAME, AT(fix), "NAME[=V]",
     .help = "do not learn a parameter or an element; =V sets it; repeatable"},
    {"--prior", NULL, FIT, PRIOR, AT(prior), "P",
     .help = "'NAME ~ normal(m, s)' and the like; repeatable (flat in its "
             "bounds)"},
    {"--samples", NULL, FIT, TARGET, AT(samples), "FILE",
     .help = "gibbs: the draws as CSV (the fit's name with .draws.csv)"},
    {"--checkpoint", NULL, FIT, TARGET, AT(checkpoint), "FILE",
     .help = "save the state in FILE while learning"},
    {"--resume", NULL, FIT, OPTIONAL, AT(resume), "FILE",
     .help = "continue from FILE, else from the checkpoint, else from -o"},
    {"--trace", NULL, FIT, TARGET, AT(trace), "FILE",
     .help = "CSV with a row for every iteration"},
    {"--leave-out", NULL, COMPARE, FLAG, AT(leave_out), NULL,
     .help = "score each series by what is learned from the others"},
    {"--effects", NULL, FIT, TARGET, AT(effects), "FILE",
     .help = "CSV of the random effects: series,effect,estimate,stderr,low,"
             "high"},
    {"--effects", NULL, SUMMARY, FLAG, AT(show_effects), NULL,
     .help = "the random effects of every series"},
    {"--output", "-o", SUMMARY, TARGET, AT(output), "FILE",
     .help = "write the random effects as CSV, as --effects of fit does"},
    {"--correlation", NULL, SUMMARY, FLAG, AT(correlation), NULL,
     .help = "correlations of the estimates, also of more than 12"},
    {"--model", NULL, SUMMARY, FLAG, AT(text), NULL,
     .help = "the model's text, too"},
    {"--at", NULL, FIELD, SOURCE, AT(at), "FILE",
     .help = "CSV of points: a column for each state and input, and time if "
             "needed"},
    {"--grid", NULL, FIELD, TEXT, AT(grid), "G",
     .help = "x=-3:3:50,y=0:10:20,u=1,t=0: ranges A:B:N or values (the data's "
             "range)"},
    {"--param", NULL, PROFILE, TEXT, AT(param), "NAME",
     .help = "a parameter, or an element such as A[1,2]; required"},
    {"--points", NULL, PROFILE, COUNT, AT(points), "N", .help = "values (21)"},
    {"--range", NULL, PROFILE, TEXT, AT(range), "A:B",
     .help = "range of the values (estimate +- 3 standard errors)"},
    {"--plot", NULL,
     SUMMARY | FIELD | PROFILE | PREDICT | PATHS | GRADVAR | LOOK | PHYSICS,
     TARGET, AT(plot), "FILE",
     .help =
         "a picture: .svg, .png or .pdf (by gnuplot), or - in the terminal"},
    {"--gradient", NULL, LOGLIK | CHECK, FLAG, AT(estimator.gradient), NULL,
     .help =
         "the gradient by every parameter (check: compare with differences)"},
    {"--functions", NULL, LOGLIK, COUNT, AT(functions), "N",
     .help =
         "also each gap's mean density over N functions of a gp's posterior"},
};

/* After them. */
static const struct option COMMON[] = {
    {"--paper", NULL, ESTIMATE, FLAG, AT(paper), NULL,
     .help = "Algorithm 1 as published: joint, brownian, ito, iid"},
    {"--defaults", NULL, ESTIMATE | PREDICT | PATHS, FLAG, AT(defaults), NULL,
     .help = "the default options instead of those that the fit was made with"},
    {"--time", NULL,
     ESTIMATE | FIELD | PREDICT | PATHS | GRADVAR | LOOK | NEW | PHYSICS, TEXT,
     AT(time), "NAME",
     .help = "the data's column of time, numbers or dates (time or t)"},
    {"--series", NULL,
     ESTIMATE | FIELD | PREDICT | PATHS | GRADVAR | LOOK | NEW | PHYSICS, TEXT,
     AT(series), "NAME",
     .help = "the data's column of the series (series or id)"},
    {"--set", NULL,
     EVERY & ~(unsigned)(SUMMARY | COMPARE | REPORT | SHOW | LOOK | NEW),
     SETTING, AT(set), "NAME=V",
     .help = "give a parameter another value; lists as NAME=1,2,3; repeatable"},
    {"--json", NULL, EVERY, FLAG, AT(json), NULL,
     .help = "one JSON object on standard output"},
    {"--quiet", "-q", EVERY, FLAG, AT(quiet), NULL,
     .help = "no progress and no notes on standard error; warnings stay"},
    {"--help", "-h", EVERY, FLAG, AT(help), NULL, .help = "this text"},
};
enum {
    OWN_COUNT = sizeof OWN / sizeof *OWN,
    COMMON_COUNT = sizeof COMMON / sizeof *COMMON,
    MOST_OPTIONS = 100 /* of one verb */
};

/* --- The library's options ------------------------------------------------ */

/* The functions of the library that a verb calls. The last verbs have only the
 * options for every use. */
static const struct {
    unsigned verbs, uses;
} USES[] = {{LOGLIK | COMPARE, GSV_USE_LOGLIK},
            {DIAGNOSE | REPORT | SHOW, GSV_USE_LOGLIK | GSV_USE_RESIDUALS},
            {CHECK, GSV_USE_CHECK},
            {FIT, GSV_USE_FIT},
            {SELECT, GSV_USE_SELECT},
            {PROFILE, GSV_USE_PROFILE},
            {GRADVAR, GSV_USE_GRADIENT},
            {PATHS, GSV_USE_PATHS},
            {PREDICT, GSV_USE_PREDICT},
            {SIMULATE, GSV_USE_SIMULATE},
            {PHYSICS, GSV_USE_PHYSICS},
            {SUMMARY | FIELD | LOOK, 1u << 31}};

/* The places of the structs, by enum gsv_option_struct. */
static const size_t HOMES[] = {
    [GSV_OF_ESTIMATOR] = AT(estimator), [GSV_OF_FIT] = AT(fit),
    [GSV_OF_SIMULATE] = AT(simulate),   [GSV_OF_PREDICT] = AT(predict),
    [GSV_OF_PATHS] = AT(bands),         [GSV_OF_PHYSICS] = AT(physics)};

static bool has_row(const struct verb *verb, const gsv_option *row)
{
    bool has = false;
    for (size_t i = 0; row->flag && i < sizeof USES / sizeof *USES; i++)
        has = has || ((USES[i].verbs & verb->id) && (USES[i].uses & row->uses));
    return has;
}

/* Two structs of a diagnosis have a seed, which is one option. */
static bool is_first(const struct verb *verb, const gsv_option *table,
                     const gsv_option *row)
{
    for (; table < row; table++)
        if (has_row(verb, table) && !strcmp(table->flag, row->flag))
            return false;
    return true;
}

const char *option_word(const char *flag, int value)
{
    size_t rows;
    const gsv_option *row = gsv_option_table(&rows);
    for (size_t i = 0; i < rows; i++)
        if (row[i].flag && row[i].word && !strcmp(row[i].flag, flag))
            return row[i].word[value];
    return "";
}

/* --- The options of a verb -------------------------------------------------
 */

bool next_option(const struct verb *verb, struct option *o)
{
    size_t rows;
    const gsv_option *row = gsv_option_table(&rows);
    for (size_t at = o->next; at < OWN_COUNT + rows + COMMON_COUNT; at++) {
        bool own = at < OWN_COUNT, common = at >= OWN_COUNT + rows;
        const gsv_option *r = own || common ? NULL : &row[at - OWN_COUNT];
        if (own) *o = OWN[at];
        else if (common) *o = COMMON[at - OWN_COUNT - rows];
        else if (has_row(verb, r) && is_first(verb, row, r))
            *o = (struct option){.name = r->flag,
                                 .verbs = verb->id,
                                 .kind = LIBRARY,
                                 .value = r->value,
                                 .choice = r->word,
                                 .row = r};
        else continue;
        o->next = at + 1;
        if (o->verbs & verb->id) return true;
    }
    return false;
}

bool takes_word(const struct option *o)
{
    return o->kind != FLAG && o->kind != OPTIONAL &&
           !(o->row && o->row->type == GSV_TYPE_SWITCH);
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

const char *option_help(const struct option *o, char room[HELP_ROOM])
{
    return o->row ? gsv_option_help(o->row, HELP_ROOM, room) : o->help;
}

void options_help(const struct verb *verb, FILE *out)
{
    char left[OPTION_ROOM], right[HELP_ROOM];
    fprintf(out, "usage: girsanov %s %s [options]\n\n%s\nOptions:\n",
            verb->name, verb->arguments, verb->text);
    for (struct option o = {0}; next_option(verb, &o);)
        fprintf(out, "  %-20s %s\n", option_usage(&o, left),
                option_help(&o, right));
    fprintf(out, "\nExamples:\n%s", verb->examples);
}

/* --- Values ------------------------------------------------------------- */

static int bad_value(const struct option *o, const char *text,
                     const char *expected)
{
    return complain(EXIT_INPUT, "%s %s: expected %s", o->name, text, expected);
}

static int parse_count(const struct option *o, const char *text, size_t *value)
{
    char *end;
    double v = strtod(text, &end);
    if (end == text || *end || !(v >= 1.0 && v <= 1e12) || v != floor(v))
        return bad_value(o, text, "a whole number from 1 to 1e12");
    *value = (size_t)v;
    return 0;
}

static int parse_text(const struct option *o, const char *text,
                      const char **value)
{
    *value = text;
    for (size_t i = 0; o->choice && strcmp(text, o->choice[i]);)
        if (!o->choice[++i]) return bad_value(o, text, "uniform or he");
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

/* In every struct of the verb that has the option. */
static int parse_row(const struct verb *verb, const struct option *o,
                     const char *text, struct args *a)
{
    size_t rows;
    const gsv_option *row = gsv_option_table(&rows);
    if (!strcmp(o->name, "--heldout") && !strncmp(text, "series:", 7)) {
        a->fit.heldout_series = true;
        text += 7;
    }
    for (size_t i = 0; i < rows; i++)
        if (has_row(verb, &row[i]) && !strcmp(row[i].flag, o->name) &&
            gsv_option_read(&row[i], (char *)a + HOMES[row[i].of], text))
            return complain(EXIT_INPUT, "%s %s: %s", o->name, text,
                            gsv_last_error());
    return 0;
}

static int store(const struct verb *verb, const struct option *o,
                 const char *text, struct args *a)
{
    void *to = (char *)a + o->offset;
    a->named.word[a->named.count++] = o->name;
    switch (o->kind) {
    case FLAG: *(bool *)to = true; return 0;
    case COUNT: return parse_count(o, text, to);
    case OPTIONAL: *(const char **)to = text ? text : ""; return 0;
    case TEXT:
    case SOURCE:
    case TARGET: return parse_text(o, text, to);
    case SETTING:
    case PRIOR:
    case NAME: return add_word(o, text, to);
    case LIBRARY: return parse_row(verb, o, text, a);
    }
    return 0;
}

bool is_given(const struct args *a, const char *name)
{
    for (size_t i = 0; i < a->named.count; i++)
        if (!strcmp(a->named.word[i], name)) return true;
    return false;
}

/* --- Words -------------------------------------------------------------- */

static int unknown_option(const struct verb *verb, const char *word)
{
    const char *candidate[MOST_OPTIONS];
    size_t n = 0;
    for (struct option o = {0}; n < MOST_OPTIONS && next_option(verb, &o);)
        candidate[n++] = o.name;
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

bool find_option(const struct verb *verb, const char *word, struct option *o,
                 const char **value)
{
    size_t length = strcspn(word, "=");
    *value = word[length] ? word + length + 1 : NULL;
    for (o->next = 0; next_option(verb, o);)
        if ((strlen(o->name) == length && !strncmp(o->name, word, length)) ||
            (o->letter && !strcmp(o->letter, word)))
            return true;
    return false;
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

/* The text begins with the name of what is missing. */
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
    for (struct option o = {0}; next_option(verb, &o);) {
        const char *path = o.kind == SOURCE ? option_file(&o, a) : NULL;
        inputs += path && !strcmp(path, "-");
    }
    if (inputs > 1)
        return complain(EXIT_INPUT, "the model and the data cannot both be "
                                    "'-': there is one standard input");
    return 0;
}

/* Room for every word in each of the lists, and the defaults of the verb. */
static int start_args(const struct verb *verb, size_t count, struct args *a)
{
    size_t rows, size = count + 1;
    const gsv_option *row = gsv_option_table(&rows);
    const char **room = calloc(7 * size, sizeof *room);
    *a = (struct args){.points = 21,
                       .files.word = room,
                       .estimator = gsv_options_default(),
                       .fit = gsv_fit_options_default(),
                       .simulate = gsv_simulate_options_default(),
                       .predict = gsv_predict_options_default(),
                       .bands = gsv_paths_options_default(),
                       .physics = gsv_physics_options_default()};
    if (!room) {
        complain_memory();
        return EXIT_NUMBERS;
    }
    struct words *list[] = {&a->set,   &a->fix,   &a->prior,
                            &a->given, &a->named, &a->hold};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        list[i]->word = room + (i + 1) * size;
    for (size_t i = 0; i < rows; i++)
        if (has_row(verb, &row[i]))
            gsv_option_set(&row[i], (char *)a + HOMES[row[i].of],
                           row[i].preset);
    return 0;
}

void options_free(struct args *a)
{
    free(a->files.word);
}

int options_parse(const struct verb *verb, int count, char **word,
                  struct args *a)
{
    if (start_args(verb, (size_t)count, a)) return EXIT_NUMBERS;
    for (int i = 0; i < count; i++)
        a->given.word[a->given.count++] = word[i];
    bool names = false; /* after "--" all words are files */
    struct option o;
    char help[HELP_ROOM];
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
        if (!find_option(verb, word[i], &o, &value))
            return unknown_option(verb, word[i]);
        if (!takes_word(&o) && o.kind != OPTIONAL && value)
            return complain(EXIT_INPUT, "%s takes no value", o.name);
        if (takes_word(&o) && !value) {
            if (++i == count)
                return complain(EXIT_INPUT, "%s needs a value: %s", o.name,
                                option_help(&o, help));
            value = word[i];
        }
        if (store(verb, &o, value, a)) return EXIT_INPUT;
    }
    return take_files(verb, a) ? EXIT_INPUT : check_complete(verb, a);
}
