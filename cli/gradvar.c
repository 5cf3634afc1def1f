/* SPDX-License-Identifier: MIT */
/* girsanov gradvar: the variance of gradients over random numbers, for several
 * objectives and distances between the rows. */
#include "gradvar.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "progress.h"

static const struct objective {
    const char *name;
    enum gsv_objective objective;
    enum gsv_reference reference;
    bool paper; /* Algorithm 1 as published */
    bool usual; /* in the default list */
} OBJECTIVE[] = {
    {"auto", GSV_OBJECTIVE_LIKELIHOOD, GSV_REFERENCE_AUTO, false, true},
    {"lna", GSV_OBJECTIVE_LIKELIHOOD, GSV_REFERENCE_LNA, false, true},
    {"linear", GSV_OBJECTIVE_LIKELIHOOD, GSV_REFERENCE_LINEAR, false, true},
    {"brownian", GSV_OBJECTIVE_LIKELIHOOD, GSV_REFERENCE_BROWNIAN, false, true},
    {"paper", GSV_OBJECTIVE_LIKELIHOOD, GSV_REFERENCE_BROWNIAN, true, true},
    {"mse-backprop", GSV_OBJECTIVE_MSE_BACKPROP, 0, false, true},
    {"mse-adjoint", GSV_OBJECTIVE_MSE_ADJOINT, 0, false, true},
    {"mse-forward", GSV_OBJECTIVE_MSE_FORWARD, 0, false, false},
};
enum { OBJECTIVE_COUNT = sizeof OBJECTIVE / sizeof *OBJECTIVE };
enum { USUAL_PATHS = 16, USUAL_REPEATS = 20, USUAL_STEPS = 8 };

/* The state of the command. */
struct run {
    const struct args *a;
    gsv_model *m;
    gsv_series *s;
    double *gap; /* (gaps) of --gaps; NULL for the times of the data */
    size_t gaps;
    bool selected[OBJECTIVE_COUNT];
    gsv_fit_options o;
    struct gradvar *g;
    double *gradient, *square; /* (values), (numbers) */
    double began, drawn;       /* seconds             */
    double done, all;          /* steps of gradients  */
    bool terminal, shown;
};

/* --- Options -------------------------------------------------------------- */

static int unknown_objective(const char *word, size_t length)
{
    char words[200] = "";
    for (size_t i = 0; i < OBJECTIVE_COUNT; i++) {
        if (i) strcat(words, i + 1 < OBJECTIVE_COUNT ? ", " : " or ");
        strcat(words, OBJECTIVE[i].name);
    }
    return complain(EXIT_INPUT, "--objectives: there is no '%.*s'; expected %s",
                    (int)length, word, words);
}

static int read_objectives(const char *text, bool *selected)
{
    for (size_t i = 0; i < OBJECTIVE_COUNT; i++)
        selected[i] = !text && OBJECTIVE[i].usual;
    while (text) {
        size_t length = strcspn(text, ","), i = 0;
        while (i < OBJECTIVE_COUNT &&
               (strlen(OBJECTIVE[i].name) != length ||
                strncmp(text, OBJECTIVE[i].name, length) != 0))
            i++;
        if (i == OBJECTIVE_COUNT) return unknown_objective(text, length);
        selected[i] = true;
        text = text[length] ? text + length + 1 : NULL;
    }
    return 0;
}

static int read_gaps(struct run *r)
{
    r->gaps = 1;
    if (!r->a->gaps) return 0;
    r->gap = parse_numbers("--gaps", r->a->gaps, &r->gaps);
    if (!r->gap) return EXIT_INPUT;
    for (size_t i = 0; i < r->gaps; i++)
        if (!(r->gap[i] > 0.0) || (i && r->gap[i] <= r->gap[i - 1]))
            return complain(
                EXIT_INPUT,
                "--gaps %s: expected positive numbers in increasing "
                "order",
                r->a->gaps);
    return 0;
}

static int read_options(struct run *r)
{
    r->o = r->a->fit;
    r->o.estimator = estimator_options(r->a);
    if (read_objectives(r->a->objectives, r->selected) || read_gaps(r))
        return EXIT_INPUT;
    if (!r->o.estimator.paths) r->o.estimator.paths = USUAL_PATHS;
    if (!r->o.estimator.steps) r->o.estimator.steps = USUAL_STEPS;
    r->g->paths = r->o.estimator.paths;
    r->g->repeats = r->a->repeats ? r->a->repeats : USUAL_REPEATS;
    if (r->g->repeats < 2)
        return complain(EXIT_INPUT, "--repeats 1: a variance needs at least 2");
    return 0;
}

/* Sets the times of the rows for a gap; returns the mean distance. */
static double set_gap(struct run *r, size_t which)
{
    const gsv_series *s = r->s;
    double length = 0.0, gaps = 0.0;
    for (size_t t = 0; t < s->tracks; t++) {
        size_t first = s->start[t], end = s->start[t + 1];
        for (size_t row = first; r->gap && row < end; row++)
            s->time[row] = r->gap[which] * (double)(row - first);
        if (end <= first + 1) continue;
        length += s->time[end - 1] - s->time[first];
        gaps += (double)(end - 1 - first);
    }
    return r->gap ? r->gap[which] : length / gaps;
}

static size_t steps_of(const struct run *r, double gap)
{
    const gsv_options *e = &r->o.estimator;
    enum { MOST = 1000000000 }; /* every objective refuses more */
    if (!(e->step > 0.0)) return e->steps;
    return (size_t)fmin(fmax(ceil(gap / e->step * (1.0 - 1e-9)), 1.0), MOST);
}

/* --- Measurement --------------------------------------------------------- */

/* A line with the remaining time, estimated from the number of steps. */
static void show(struct run *r, const struct cell *c, size_t repeat)
{
    char left[40];
    double now = clock_now(), took = now - r->began;
    if (!r->terminal || r->a->quiet || now - r->drawn < 0.2) return;
    r->drawn = now;
    r->shown = true;
    write_duration(took * (r->all - r->done) / r->done, left, sizeof left);
    redraw("%s, gap %g: %zu of %zu, %.0f %% of all, %s left", c->objective,
           c->gap, repeat, r->g->repeats, 100.0 * r->done / r->all, left);
}

static void wipe(struct run *r)
{
    if (r->shown) fputs("\r\033[K", stderr);
    r->shown = false;
}

/* Welford's algorithm: means, and sums of squared deviations. */
static void add_gradient(const struct run *r, struct cell *c)
{
    double n = (double)++c->finite;
    for (size_t i = 0; i < r->g->numbers; i++) {
        double value = r->gradient[r->g->number[i].at];
        double off = value - c->mean[i];
        c->mean[i] += off / n;
        c->variance[i] += off * (value - c->mean[i]);
    }
}

static void close_cell(const struct run *r, struct cell *c)
{
    size_t n = r->g->numbers;
    for (size_t i = 0; i < n; i++) {
        c->variance[i] =
            c->finite > 1 ? c->variance[i] / (double)(c->finite - 1) : NAN;
        if (!c->finite) c->mean[i] = NAN;
        r->square[i] = c->variance[i];
    }
    find_spread(n, r->square, &c->least, &c->median, &c->largest);
}

static void choose(struct run *r, const struct objective *objective)
{
    gsv_options *e = &r->o.estimator;
    r->o.objective = objective->objective;
    e->reference = objective->reference;
    e->joint = objective->paper;
    e->form = objective->paper ? GSV_FORM_ITO : GSV_FORM_AUTO;
    e->random = objective->paper ? GSV_RANDOM_IID : GSV_RANDOM_SOBOL;
    e->observe = objective->paper ? GSV_OBSERVE_CONJUGATE : GSV_OBSERVE_AUTO;
}

/* All repeats. A gradient that is not finite is counted; another error ends the
 * measurement. 0, or a code. */
static int measure(struct run *r, struct cell *c)
{
    double began = clock_now(), value;
    for (size_t i = 0; i < r->g->repeats; i++) {
        r->o.estimator.seed = r->a->estimator.seed + i;
        int status =
            gsv_objective_gradient(r->m, r->s, &r->o, &value, r->gradient);
        if (status && status != GSV_NUMERICAL) return EXIT_INPUT;
        if (status) c->overflows++;
        else add_gradient(r, c);
        r->done += (double)c->steps;
        if (signals_caught()) return EXIT_INTERRUPTED;
        show(r, c, i + 1);
    }
    c->seconds = (clock_now() - began) / (double)r->g->repeats;
    close_cell(r, c);
    return 0;
}

/* An objective that this model cannot have is left out, unless --objectives
 * names it. */
static int measure_one(struct run *r, size_t which, double gap)
{
    struct cell *c = &r->g->cell[r->g->cells];
    size_t n = r->g->numbers;
    *c = (struct cell){.objective = OBJECTIVE[which].name,
                       .gap = gap,
                       .steps = steps_of(r, gap),
                       .mean = calloc(n, sizeof(double)),
                       .variance = calloc(n, sizeof(double))};
    choose(r, &OBJECTIVE[which]);
    int code = c->mean && c->variance ? measure(r, c) : complain_memory();
    if (!code) {
        r->g->cells++;
        return 0;
    }
    free(c->mean);
    free(c->variance);
    if (code != EXIT_INPUT) return code;
    wipe(r);
    if (r->a->objectives || gsv_last_status() != GSV_BAD_INPUT)
        return complain_last();
    r->selected[which] = false;
    if (!r->a->quiet)
        say(stderr, "note: %s is left out: %s\n", OBJECTIVE[which].name,
            gsv_last_error());
    return 0;
}

static int measure_all(struct run *r)
{
    int code = 0;
    for (size_t i = 0; i < r->gaps; i++)
        for (size_t which = 0; which < OBJECTIVE_COUNT; which++)
            if (r->selected[which])
                r->all +=
                    (double)r->g->repeats * (double)steps_of(r, set_gap(r, i));
    r->terminal = isatty(STDERR_FILENO);
    r->began = clock_now();
    signals_watch();
    for (size_t i = 0; !code && i < r->gaps; i++) {
        double gap = set_gap(r, i);
        for (size_t which = 0; !code && which < OBJECTIVE_COUNT; which++)
            if (r->selected[which]) code = measure_one(r, which, gap);
    }
    wipe(r);
    return code;
}

/* --- The verb ------------------------------------------------------------ */

static int run_with(struct run *r)
{
    struct gradvar *g = r->g;
    g->number = learned_numbers(r->m, &g->numbers);
    if (!g->number) return EXIT_NUMBERS;
    if (!g->numbers)
        return complain(EXIT_INPUT,
                        "%s has no parameters: there is no "
                        "gradient",
                        r->a->model);
    r->s = open_data(r->a, r->m);
    if (!r->s) return EXIT_INPUT;
    g->cell = calloc(r->gaps * OBJECTIVE_COUNT, sizeof *g->cell);
    r->gradient = calloc(gsv_model_values(r->m), sizeof *r->gradient);
    r->square = calloc(g->numbers, sizeof *r->square);
    if (!g->cell || !r->gradient || !r->square) return complain_memory();
    int code = measure_all(r);
    if (code && code != EXIT_INTERRUPTED) return code;
    if (!code && !g->cells)
        return complain(EXIT_INPUT, "no objective is left to measure");
    int reported = g->cells ? gradvar_report(r->a, g) : 0;
    if (reported || !code) return reported;
    return complain(EXIT_INTERRUPTED,
                    "interrupted: %zu of the objectives and gaps were "
                    "measured%s",
                    g->cells, g->cells ? " and are printed" : "");
}

static int check_args(const struct args *a)
{
    if (a->all && !a->output)
        return complain(EXIT_INPUT, "--all needs -o FILE");
    return 0;
}

int gradvar_run(const struct args *a, gsv_model *m)
{
    struct gradvar g = {0};
    struct run r = {.a = a, .m = m, .g = &g};
    int code = check_args(a);
    if (!code) code = read_options(&r);
    if (!code) code = run_with(&r);
    for (size_t i = 0; i < g.cells; i++) {
        free(g.cell[i].mean);
        free(g.cell[i].variance);
    }
    free(g.cell);
    free(g.number);
    free(r.gradient);
    free(r.square);
    free(r.gap);
    gsv_series_free(r.s);
    return code;
}
