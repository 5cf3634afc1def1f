/* SPDX-License-Identifier: MIT */
/* The command: one file for each verb; it uses only girsanov.h. */
#ifndef CLI_H
#define CLI_H

#include <jansson.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include "girsanov.h"

enum exit_code {
    EXIT_DONE = 0,
    EXIT_INPUT = 1,
    EXIT_NUMBERS = 2,
    EXIT_STRICT = 3,
    EXIT_INTERRUPTED = 130
};

enum verb_id {
    CHECK = 1,
    SIMULATE = 2,
    LOGLIK = 4,
    DIAGNOSE = 8,
    FIT = 16,
    SUMMARY = 32,
    FIELD = 64,
    PROFILE = 128,
    COMPARE = 256,
    PREDICT = 512,
    PATHS = 1024,
    GRADVAR = 2048,
    REPORT = 4096,
    SELECT = 8192,
    LOOK = 16384,
    PHYSICS = 32768,
    SHOW = 65536,
    NEW = 131072,
    EVERY = 262143
};

/* The verbs that estimate a likelihood: at given parameters, or in a fit. */
enum {
    WEIGH = CHECK | LOGLIK | DIAGNOSE | COMPARE | REPORT | SHOW,
    LEARN = FIT | PROFILE | SELECT,
    ESTIMATE = WEIGH | LEARN
};

/* Repeated words of the command line. */
struct words {
    const char **word;
    size_t count;
};

/* The command line; options.c fills it. */
struct args {
    const char *model, *data;
    struct words files;    /* all words that are not options    */
    struct words set, fix; /* name=value; name or name=value    */
    struct words prior;    /* name~law(a,b)                     */
    struct words hold;     /* input=value                       */
    struct words given;    /* all words after the verb, in order */
    struct words named;    /* the options among them, by name   */
    bool leave_out, json, quiet, help, paper, defaults, strict, correlation,
        text, all;
    const char *time, *series;
    const char *output, *times, *x0, *inputs;
    const char *resume; /* "" without a file of its own */
    const char *checkpoint, *trace, *samples, *effects, *subject;
    bool show_effects;
    const char *at, *grid, *plot, *param, *range;
    const char *against, *from, *to, *quantiles, *residuals;
    const char *gaps, *objectives, *init;
    size_t repeats, functions, points;
    gsv_ranks *ranks; /* NULL: alone */
    /* The library's options of this verb, with its defaults. */
    gsv_options estimator;
    gsv_fit_options fit;
    gsv_simulate_options simulate;
    gsv_predict_options predict;
    gsv_paths_options bands;
    gsv_physics_options physics;
};

struct verb {
    enum verb_id id;
    const char *name;
    const char *arguments; /* after the verb                       */
    const char *summary;   /* one line                             */
    const char *text;      /* a paragraph                          */
    const char *examples;  /* lines of shell                       */
    bool data, optional;   /* has a data file; it is optional      */
    bool many;             /* has several models before the data   */
    bool spread;           /* divides its work among MPI ranks     */
    /* m is the first MODEL, opened; NULL if there may be several. */
    int (*run)(const struct args *a, gsv_model *m);
};

extern const struct verb VERBS[];
extern const size_t VERB_COUNT;

int check_run(const struct args *a, gsv_model *m);
int simulate_run(const struct args *a, gsv_model *m);
int loglik_run(const struct args *a, gsv_model *m);
int diagnose_run(const struct args *a, gsv_model *m);
int fit_run(const struct args *a, gsv_model *m);
int summary_run(const struct args *a, gsv_model *m);
int field_run(const struct args *a, gsv_model *m);
int profile_run(const struct args *a, gsv_model *m);
int compare_run(const struct args *a, gsv_model *m);
int predict_run(const struct args *a, gsv_model *m);
int paths_run(const struct args *a, gsv_model *m);
int gradvar_run(const struct args *a, gsv_model *m);
int report_run(const struct args *a, gsv_model *m);
int show_run(const struct args *a, gsv_model *m);
int select_run(const struct args *a, gsv_model *m);
int look_run(const struct args *a, gsv_model *m);
int new_run(const struct args *a, gsv_model *m);
int physics_run(const struct args *a, gsv_model *m);

/* --- options.c ---------------------------------------------------------- */

/* Fills args from the words after the verb; 0, or EXIT_INPUT after a
 * message. Either way options_free() it. */
int options_parse(const struct verb *verb, int count, char **word,
                  struct args *a);
void options_free(struct args *a);
void options_help(const struct verb *verb, FILE *out);

/* Whether the command line has the option, by its full name: "--paths". */
bool is_given(const struct args *a, const char *name);

/* The word of a choice's value: option_word("--reference", GSV_REFERENCE_LNA)
 * is "lna". */
const char *option_word(const char *flag, int value);

/* --- manual.c, complete.c ------------------------------------------------ */

/* A page for man(1): of a verb, or of the command if it is NULL. */
void manual_page(const struct verb *verb, FILE *out);

/* What could stand in place of the last word, one a line; nothing where that
 * is a file or a number. The words are those after "girsanov". */
void complete(size_t count, char **word, FILE *out);

const struct verb *find_verb(const char *name);

/* --- values.c ----------------------------------------------------------- */

/* Numbers separated by commas, with or without brackets; *count of them. The
 * array is yours, NULL after a message. what names the option. */
double *parse_numbers(const char *what, const char *text, size_t *count);

/* "s" after a number but one. */
const char *plural(size_t n);

/* Of --quantiles, or nothing where text is NULL; yours to free(). */
int parse_quantiles(const char *text, double **level, size_t *count);

/* In columns' names, as percent: "q05", "q50", "q2.5". */
enum { QUANTILE_ROOM = 24 };
const char *quantile_name(double level, char room[QUANTILE_ROOM]);

/* A:B:N with A < B and N from 2 on, or A:B, where *n stays; false otherwise. */
bool parse_range(const char *text, double *low, double *high, size_t *n);

/* --times: A:B:N, or a list. The array is yours, NULL after a message. */
double *parse_times(const char *text, size_t *count);

/* Sets NAME=VALUE in a model, or a message that begins with the option. */
int set_value(gsv_model *m, const char *option, const char *text);

/* --- text.c ------------------------------------------------------------- */

/* printf that prints control characters in its arguments as escapes. */
void say(FILE *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void say_args(FILE *out, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

/* A text of several lines, which keeps its line ends. */
void say_lines(const char *text, FILE *out);

/* The next line of *text that is not empty, with its length; NULL at the end.
 */
const char *next_line(const char **text, int *length);

/* Each line of a text as a warning, or as an element of an array. */
void say_warnings(const char *text);
json_t *json_lines(const char *text);

/* A progress line on a terminal, which replaces the one before. */
void redraw(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A text from a file; if it is not UTF-8, with escapes. */
json_t *json_text(const char *text);
void put_json(const char *text, FILE *out);

/* --- out.c -------------------------------------------------------------- */

/* Prints "girsanov: ..." on standard error and returns the code. */
int complain(int code, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The same with the last message of the library, and its exit code. */
int complain_last(void);
int complain_memory(void);

/* Prints and releases the object. */
int print_json(json_t *object);

/* Numbers; one that is not finite becomes null. A parameter is a number, a list
 * or a list of rows. */
json_t *json_number(double value);
json_t *json_count(size_t value);
json_t *json_row(size_t n, const double *value);
json_t *json_param(const gsv_param *p, const double *value);

/* Adds a field to an object; a text that is NULL becomes null. */
void add_number(json_t *j, const char *name, double value);
void add_count(json_t *j, const char *name, size_t value);
void add_text(json_t *j, const char *name, const char *value);
void add_bool(json_t *j, const char *name, bool value);

/* An object of a struct's fields, by a table of them. */
struct json_field {
    const char *name;
    enum { FIELD_NUMBER, FIELD_COUNT, FIELD_BOOL, FIELD_TEXT } kind;
    size_t at; /* offsetof() */
};
json_t *json_fields(const void *from, size_t n, const struct json_field *field);

/* All parameters by name, from a vector of all values; if `learned`, without
 * the scales of networks. */
json_t *json_params(const gsv_model *m, const double *value, bool learned);

/* Opens a model and sets the values of --set. */
gsv_model *open_model(const struct args *a, const char *path);

/* Reads the model's columns of the data, with a note on what was ignored. */
gsv_series *open_data(const struct args *a, gsv_model *m);
void say_note(const struct args *a, const gsv_series *s);

/* The values of a column (rows), or NULL. */
const double *series_column(const gsv_series *s, const char *name);

/* Whether a file can be read only once: standard input, or a pipe. */
bool is_stream(const char *path);

/* The number of decimals that a standard error justifies; a number, or 0 if it
 * is 0 with that many decimals. */
int digits(double error);
double shown(double x, int digits);

/* "wrote FILE: 201 rows" for -o and --plot, unless --quiet or --json. */
void say_written(const struct args *a, size_t count, const char *what);

void sort_numbers(size_t n, double *x);

/* --- clash.c ------------------------------------------------------------ */

/* Whether each output file differs from all other files: 0, or a message. */
int check_clashes(const struct verb *verb, const struct args *a);

/* Whether both names are the same regular file, which need not exist. */
bool same_file(const char *a, const char *b);

/* --- ranks.c ------------------------------------------------------------ */

/* Whether this rank writes files and messages. */
bool ranks_writes(const struct args *a);

/* A note if the work is not divided among the ranks. */
void say_shared(const struct args *a, const gsv_model *m, const gsv_options *o);

/* Silences all ranks except the first. */
void ranks_hush(void);

/* Whether this rank has work for the verb. */
bool ranks_needed(const struct verb *verb);

/* Runs the verb together with the other ranks. */
int ranks_run(const struct verb *verb, struct args *a);

/* The exit code of this rank, from that of the job: a launcher kills all ranks
 * when one of them fails, and the first must be able to finish. */
int ranks_end(int code);

/* --- simulate.c --------------------------------------------------------- */

/* --inputs: the columns of inputs, and those that laws need. Yours, NULL after
 * a message. */
gsv_series *read_inputs(const struct args *a, const gsv_model *m);

/* --- diagnose.c ---------------------------------------------------------- */

/* The flagged gaps, the worst first. Yours; NULL after a message. */
const gsv_gap **worst_gaps(const gsv_result *r);

/* "gaps", "rows" or "series": what the entries of a result are. */
const char *unit_of(const gsv_options *o, const gsv_result *r);

/* Why a gap is flagged, as text. */
enum { REASON_ROOM = 200 };
const char *gap_reason(const gsv_result *r, const gsv_gap *g,
                       char room[REASON_ROOM]);

/* The median of the effective numbers of all gaps; NaN without memory. */
double median_ess(const gsv_result *r);

/* What may help against the flags, one line each. */
void put_advice(const gsv_options *o, const gsv_result *r, FILE *out);

/* --- residuals.c -------------------------------------------------------- */

/* One-row-ahead residuals: printed after the output of diagnose, or added to
 * its JSON if that is not NULL, and written to --residuals. 0, or a message. */
int report_residuals(const struct args *a, const gsv_model *m,
                     const gsv_series *s, const gsv_result *estimate,
                     json_t *json);

/* Whether the residuals of a column contradict the model; and what to check,
 * one sentence for each failed test. */
bool residual_is_wrong(const gsv_residual *c);
void put_residual_advice(const gsv_residual *c, FILE *out);

/* The verdict on a model; undecided if the residuals may contradict the
 * estimate of the states or parameters instead. */
enum verdict { MODEL_STANDS, MODEL_WRONG, MODEL_UNDECIDED };
enum verdict judge_model(const gsv_model *m, const gsv_result *estimate,
                         const gsv_residuals_result *r);
extern const char *const UNDECIDED; /* as text */

/* With fewer rows residuals are not printed. */
enum { FEW_RESIDUALS = 10 };

/* --- estimator.c -------------------------------------------------------- */

/* The references or forms of the gaps of a result, as "lna" or
 * "lna 31, brownian 2"; written to `room`. */
const char *references_used(const gsv_result *r, char room[120]);
const char *forms_used(const gsv_result *r, char room[120]);

/* The value, its errors and diagnostics. */
void json_estimate(const gsv_result *r, json_t *j);

/* Whether the data lack columns of states. */
bool has_hidden_states(const gsv_model *m, const gsv_series *s);

/* A note if --richardson was given, and there is nothing to extrapolate. */
void say_idle(const struct args *a, const gsv_model *m, const gsv_series *s,
              const gsv_options *o);

/* Notes: paths that were rounded up, a tolerance that was not reached. */
void say_effort(const struct args *a, const gsv_options *o,
                const gsv_result *r);

/* The estimator's options on the command line. */
gsv_options estimator_options(const struct args *a);

/* Whether an estimate is a mean over weights; and one without is exact, with no
 * error of steps either. */
bool has_weights(const gsv_result *r);
bool is_exact(const gsv_result *r);

/* Whether the discretisation error is too large; and whether there is any doubt
 * about an estimate. */
bool steps_are_long(const gsv_result *r);
bool estimate_is_doubtful(const gsv_result *r);

/* Then adds the options stored in the fit that the command line does not set,
 * with a note. */
void estimator_recall(const struct args *a, const gsv_model *m, gsv_options *o);

/* The same, without a note, for forecasts; for residuals, which use the default
 * where the estimator does not know the laws of the states; and for `paths`,
 * which do so, too, and have their own number of paths. */
gsv_predict_options predict_recall(const struct args *a, const gsv_model *m);
gsv_predict_options residual_options(const struct args *a, const gsv_model *m);
void estimator_for_paths(const struct args *a, const gsv_model *m,
                         gsv_options *o);

/* The stored options of a fit: as JSON, and as a line ("" for none). */
enum { ASKED_ROOM = 300 };
json_t *json_asked(const gsv_options *o);
const char *asked_text(const gsv_options *o, char room[ASKED_ROOM]);

/* --- numbers.c ---------------------------------------------------------- */

/* One number of a parameter: element j, row by row. */
struct number {
    gsv_param param;
    size_t j;
    size_t at;  /* in the vector of all values */
    bool noise; /* the noise depends on it     */
};

/* The numbers of all parameters except weights of networks and values of a gp;
 * of a triangular matrix those that are not 0. The list is yours, NULL after a
 * message. */
struct number *model_numbers(const gsv_model *m, size_t *count);

/* All learned numbers, including weights of networks and values of a gp. */
struct number *learned_numbers(const gsv_model *m, size_t *count);

/* How many weights of networks there are, or values of gps. */
size_t count_weights(const gsv_model *m, bool gp);

/* "s", "v[2]", "A[1,2]" */
enum { NAME_ROOM = 340 };
const char *number_name(const struct number *n, char room[NAME_ROOM]);

/* The width of a column for the names: 16 to 32. */
int numbers_width(const struct number *list, size_t count);

/* The number with this name, also of a network, or a message. */
int find_number(const gsv_model *m, const char *option, const char *name,
                struct number *found);

/* The line about the quadrature of random effects, if there are any. */
void put_quadrature(size_t nodes, double change, FILE *out);

/* --- effects.c ---------------------------------------------------------- */

/* A random effect of a track, with its 95 % interval. */
struct effect {
    double estimate, error, low, high;
};
struct effect effect_of(const gsv_record *r, size_t track, size_t i);

/* The name of effect i of a track. */
const char *effect_label(const gsv_model *m, size_t i, char room[NAME_ROOM]);

/* Whether a model, or its fit, has random effects: 0, or a message. */
int effects_check(const gsv_model *m);

/* All of a fit with them: a CSV file, a table, JSON. */
int effects_write(const gsv_model *m, const char *path);
void print_effects(const gsv_model *m, const gsv_record *r);
json_t *effects_json(const gsv_model *m, const gsv_record *r);

/* --- record.c ----------------------------------------------------------- */

/* The record of a fit as text: lines with a name in the first 16 columns, and
 * the parameters. */
void put_likelihood(const gsv_record *r, FILE *out);
int print_estimates(const gsv_model *m, const gsv_record *r);

/* A quantity of the posterior, for the value at this index. */
double posterior(const gsv_record *r, enum gsv_posterior row, size_t at);

json_t *record_json(const gsv_model *m, const gsv_record *r, const char *path);

/* --- functions.c --------------------------------------------------------- */

/* If a fit has a posterior of functions: a note whether draws or the mean are
 * used, and a warning if rows are outside the grid of a gp; or both added to an
 * object as "functions" and "warnings". 0, or a message. */
int say_functions(const struct args *a, const gsv_model *m, const gsv_series *s,
                  bool drawn);
int put_functions(json_t *j, const gsv_model *m, const gsv_series *s,
                  bool drawn);

/* --- draft.c ------------------------------------------------------------ */

/* An output file, under a temporary name until it is complete. */
struct draft {
    const char *path; /* NULL is standard output */
    gsv_draft *draft; /* or NULL                 */
    FILE *out;
};

/* path NULL or "-" is standard output. 0, or a message. */
int draft_open(struct draft *d, const char *path);

/* For a file that the library will write: see signals_add(). */
void draft_guard(const char *path);

/* Renames the file to its path if `keep`, otherwise removes it. 0, or a
 * message. */
int draft_close(struct draft *d, bool keep);

/* Whether a file can be written: 0, or a message before hours of work. */
int check_place(const char *path);

/* The same for the output files of a verb, whose CSV and JSON must not both go
 * to standard output. */
int check_targets(const struct verb *verb, const struct args *a);

/* A number with all digits, nothing for NaN; the same after a comma; a text,
 * quoted if CSV needs it. */
void put_number(double x, FILE *out);
void put_cell(double x, FILE *out);
void put_text(const char *text, FILE *out);

/* --- plot.c ------------------------------------------------------------- */

/* A figure: write gnuplot's commands to `to`. */
struct plot {
    FILE *to;
    char *commands; /* all of them, after `to` is closed */
    size_t size;
    const char *path; /* of the figure, or NULL */
};

/* The file that gnuplot wrote, or why there is none. */
struct picture {
    char *bytes; /* yours; with a zero after its end */
    size_t size;
    char why[400];
};

/* The ending of the file (svg, png or pdf) sets the format; - is the terminal.
 * 0, or a message. */
bool is_terminal_plot(const char *path);
int plot_open(struct plot *p, const char *path, int width, int height);
int plot_close(struct plot *p, bool keep);

/* The same as SVG without a background, for a page. plot_end() prints nothing;
 * it returns false and the reason if there is no figure. */
int plot_begin(struct plot *p, int width, int height);
bool plot_end(struct plot *p, struct picture *made);

/* Any text in quotes for gnuplot; a long one is cut. */
void plot_text(const char *text, FILE *to);

bool has_gnuplot(void);

/* Whether plot_open could work: 0, or a message. */
int check_plot(const char *path);

/* "wrote FILE" for --plot, unless --quiet or --json. */
void say_plot(const struct args *a);

/* --- curve.c ------------------------------------------------------------ */

/* The learning curve: whether it shows held-out gaps; its figure. */
bool curve_heldout(const gsv_record *k);
void curve_plot(const gsv_record *k, FILE *to);

/* --- signals.c -------------------------------------------------------------
 */

/* Ctrl-C and termination. */

/* From now on the first SIGINT or SIGTERM is only recorded; the second one
 * kills the command. */
void signals_watch(void);
bool signals_caught(void);

/* Adds an unfinished file, which a deadly signal removes; and drops a file that
 * is finished or removed. */
void signals_add(const char *name);
/* Signals wait between (true) and (false): while a file exists whose name is
 * not yet noted. */
void signals_hold(bool hold);
void signals_drop(const char *name);

/* --- samples.c -------------------------------------------------------------
 */

/* Posterior draws as CSV: .chain, .iteration, .draw, lp__, and a column for
 * each learned number. */

/* The file of draws: `asked`, or beside the fit, m.fit -> m.draws.csv. The text
 * is yours; NULL after a message. */
char *samples_path(const char *asked, const char *fit);

/* 0, or a message. */
int samples_write(const gsv_model *m, const char *path);

/* --- prior.c ---------------------------------------------------------------
 */

/* Priors from the command line. */

struct priors {
    gsv_prior *prior;
    char **name; /* (count) what their names point to */
    size_t count;
};

/* 0, or a message. Either way priors_free() it. */
int priors_read(const struct words *w, struct priors *p);
void priors_free(struct priors *p);

#endif
