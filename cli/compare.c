/* SPDX-License-Identifier: MIT */
/* girsanov compare: the likelihood of the same data under several models. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

struct candidate {
    const char *path;
    gsv_model *model;
    gsv_series *data;
    gsv_result result;
    gsv_options options; /* of its estimator, see choose_options()         */
    size_t learned;      /* number of parameters                       */
    bool seen;           /* learned from the same data                 */
    double difference;   /* to the best                                */
    double error;        /* of the difference; NaN for the best        */
    gsv_leave_out out;   /* with --leave-out                           */
};

/* So many series are left out by refits, more by importance weights. */
enum { MOST_REFITS = 50 };

/* --- One candidate -------------------------------------------------------- */

static bool is_among(size_t n, const char *const *list, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(list[i], name)) return true;
    return false;
}

/* Whether the likelihood is a density of this column; inputs are not. */
static bool observes(const gsv_model *m, const char *name)
{
    const char *const *input = gsv_model_column(m) + gsv_model_dim(m);
    return is_among(gsv_model_data_columns(m), gsv_model_data_column(m),
                    name) &&
           !is_among(gsv_model_inputs(m), input, name);
}

static bool observes_all(const gsv_model *m, const gsv_model *other)
{
    for (size_t i = 0; i < gsv_model_data_columns(other); i++) {
        const char *name = gsv_model_data_column(other)[i];
        if (observes(other, name) && !observes(m, name)) return false;
    }
    return true;
}

/* Whether the model has columns of noisy observations. */
static bool is_noisy(const gsv_model *m)
{
    for (size_t i = 0; i < gsv_model_data_columns(m); i++)
        if (!is_among(gsv_model_columns(m), gsv_model_column(m),
                      gsv_model_data_column(m)[i]))
            return true;
    return false;
}

/* Densities of different columns cannot be compared, nor can densities with and
 * without the first row of each series. */
static int check_states(const struct candidate *a, const struct candidate *b)
{
    if (!observes_all(a->model, b->model) || !observes_all(b->model, a->model))
        return complain(EXIT_INPUT,
                        "%s and %s observe different columns of the data, so "
                        "their likelihoods cannot be compared",
                        a->path, b->path);
    bool noisy = is_noisy(a->model);
    if (noisy == is_noisy(b->model)) return 0;
    return complain(EXIT_INPUT,
                    "%s has noisy observations (obs) and a likelihood of all "
                    "rows; %s has none and a likelihood of the rows after the "
                    "first of each series: they cannot be compared; "
                    "'girsanov predict --rolling 1' scores the forecasts of "
                    "both",
                    noisy ? a->path : b->path, noisy ? b->path : a->path);
}

/* Models may ignore different columns; equal notes are printed once. */
static int read_data(const struct args *a, struct candidate *c, bool first)
{
    c->data =
        gsv_series_read_for(c->model, a->ranks, a->data, a->time, a->series);
    if (!c->data || gsv_model_bind(c->model, c->data)) return complain_last();
    if (first || strcmp(c->data->note, c[-1].data->note)) say_note(a, c->data);
    return 0;
}

static int weigh(struct candidate *c)
{
    const gsv_record *r = gsv_model_record(c->model);
    c->learned = r ? r->free : 0;
    c->seen = r && !strcmp(r->data, c->data->source) &&
              r->tracks == c->data->tracks && r->rows == c->data->rows;
    if (!gsv_loglik(c->model, c->data, &c->options, &c->result)) return 0;
    int code = gsv_last_status() == GSV_BAD_INPUT ? EXIT_INPUT : EXIT_NUMBERS;
    return complain(code, "%s: %s", c->path, gsv_last_error());
}

/* Gaps become series: their likelihoods are all that a model with random
 * effects has. */
static void join_gaps(struct candidate *c)
{
    const size_t *start = c->data->start;
    gsv_result *r = &c->result;
    size_t series = 0;
    for (size_t i = 0; i < r->groups; i++) {
        gsv_gap g = r->gap[i];
        if (series && r->gap[series - 1].track == g.track) {
            r->gap[series - 1].loglik += g.loglik;
            continue;
        }
        g.from = start[g.track];
        g.to = start[g.track + 1] - 1;
        r->gap[series++] = g;
    }
    r->groups = series;
}

static void join_all(struct candidate *c, size_t n)
{
    bool effects = false;
    for (size_t i = 0; i < n; i++)
        effects = effects || gsv_model_effects(c[i].model);
    for (size_t i = 0; effects && i < n; i++)
        if (!gsv_model_effects(c[i].model)) join_gaps(&c[i]);
}

/* --- Comparison with the best --------------------------------------------- */

/* Whether gap i of a is earlier than that of b, or exists only in a. */
static bool is_before(const struct candidate *a, const struct candidate *b,
                      size_t i)
{
    if (i >= a->result.groups || i >= b->result.groups)
        return i < a->result.groups;
    const gsv_gap *g = &a->result.gap[i], *h = &b->result.gap[i];
    if (g->track != h->track) return g->track < h->track;
    return a->data->time[g->to] < b->data->time[h->to];
}

/* Rows may be missing for one of two models: the first gap that differs, or the
 * number of gaps. */
static size_t first_other(const struct candidate *a, const struct candidate *b)
{
    size_t i = 0;
    for (; i < a->result.groups && i < b->result.groups; i++) {
        const gsv_gap *g = &a->result.gap[i], *h = &b->result.gap[i];
        if (g->track != h->track ||
            a->data->time[g->from] != b->data->time[h->from] ||
            a->data->time[g->to] != b->data->time[h->to])
            break;
    }
    return i;
}

/* A column without a value at a time of a track, or NULL. */
static const char *missing_column(const struct candidate *c, size_t track,
                                  double time)
{
    const gsv_series *s = c->data;
    for (size_t n = s->start[track]; n < s->start[track + 1]; n++)
        for (size_t i = 0; s->time[n] == time && i < s->columns; i++)
            if (isnan(s->value[i * s->rows + n])) return s->name[i];
    return NULL;
}

/* Names the row where gap i of one ends, and the column that is missing for the
 * other. */
static int refuse_gaps(const struct candidate *a, const struct candidate *b,
                       size_t i)
{
    const struct candidate *with = is_before(a, b, i) ? a : b;
    const struct candidate *without = with == a ? b : a;
    const gsv_gap *g = &with->result.gap[i];
    const gsv_series *s = with->data;
    const char *column = missing_column(without, g->track, s->time[g->to]);
    return complain(EXIT_INPUT,
                    "%s:%zu: the row at time %g of series '%s' ends a gap of "
                    "%s, but not of %s%s%s%s: their likelihoods are of "
                    "different rows and cannot be compared",
                    s->source, s->line[g->to], s->time[g->to],
                    s->label[g->track], with->path, without->path,
                    column ? ", which lacks its column '" : "",
                    column ? column : "", column ? "'" : "");
}

/* The standard error of the sum of the differences of the gaps. */
static double paired_error(const gsv_result *a, const gsv_result *b)
{
    double n = (double)a->groups, mean = (a->loglik - b->loglik) / n;
    double square = 0.0;
    for (size_t i = 0; i < a->groups; i++) {
        double d = a->gap[i].loglik - b->gap[i].loglik - mean;
        square += d * d;
    }
    return n > 1.0 ? sqrt(n / (n - 1.0) * square) : NAN;
}

/* --- Series left out ------------------------------------------------------ */

static int leave_out(struct candidate *c)
{
    if (!gsv_leave_series_out(c->model, c->data, &c->options, MOST_REFITS,
                              &c->out))
        return 0;
    int code = gsv_last_status() == GSV_BAD_INPUT ? EXIT_INPUT : EXIT_NUMBERS;
    return complain(code, "%s: %s", c->path, gsv_last_error());
}

/* The standard error of the sum of the differences of the series. */
static double paired_series(const gsv_leave_out *a, const gsv_leave_out *b)
{
    double n = (double)a->tracks, mean = (a->sum - b->sum) / n, square = 0.0;
    for (size_t i = 0; i < a->tracks; i++) {
        double d = a->score[i] - b->score[i] - mean;
        square += d * d;
    }
    return sqrt(n / (n - 1.0) * square);
}

static const struct candidate *best_left_out(const struct candidate *c,
                                             size_t n)
{
    const struct candidate *best = c;
    for (size_t i = 1; i < n; i++)
        if (c[i].out.sum > best->out.sum) best = &c[i];
    return best;
}

static double worst_khat(const gsv_leave_out *o)
{
    double worst = NAN;
    for (size_t i = 0; i < o->tracks; i++)
        worst = fmax(worst, o->khat[i]);
    return worst;
}

static int better_first(const void *a, const void *b)
{
    double x = ((const struct candidate *)a)->result.loglik;
    double y = ((const struct candidate *)b)->result.loglik;
    return (x < y) - (x > y);
}

static int rank(struct candidate *c, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        size_t other = first_other(c, &c[i]);
        if (other < c->result.groups || other < c[i].result.groups)
            return refuse_gaps(c, &c[i], other);
    }
    qsort(c, n, sizeof *c, better_first);
    for (size_t i = 0; i < n; i++) {
        c[i].difference = c[i].result.loglik - c->result.loglik;
        c[i].error = i ? paired_error(&c[i].result, &c->result) : NAN;
    }
    return 0;
}

/* --- Out ----------------------------------------------------------------- */

/* The AIC of a fit is of the rows that it was learned from and stands in its
 * record. Of other rows there is none: no number was learned from them. */
static double aic(const struct candidate *c)
{
    const gsv_record *r = gsv_model_record(c->model);
    if (!r) return -2.0 * c->result.loglik;
    return c->seen ? r->aic : NAN;
}

static json_t *left_out_json(const struct candidate *c)
{
    json_t *j = json_object(), *list = json_object();
    add_number(j, "score", c->out.sum);
    add_number(j, "stderr", c->out.error);
    add_count(j, "refits", c->out.refits);
    add_number(j, "khat_max", worst_khat(&c->out));
    for (size_t i = 0; i < c->out.tracks; i++)
        add_number(list, c->data->label[i], c->out.score[i]);
    json_object_set_new(j, "series", list);
    return j;
}

static json_t *candidate_json(const struct candidate *c)
{
    json_t *j = json_object();
    const gsv_result *r = &c->result;
    add_text(j, "model", c->path);
    add_number(j, "loglik", r->loglik);
    add_number(j, "stderr", r->error);
    add_number(j, "loglik_per_gap", r->loglik / (double)r->gaps);
    add_number(j, "difference", c->difference);
    add_number(j, "difference_stderr", c->error);
    add_count(j, "learned", c->learned);
    add_number(j, "aic", aic(c));
    add_count(j, "flagged", r->flagged);
    add_bool(j, "seen", c->seen);
    if (c->out.tracks) json_object_set_new(j, "left_out", left_out_json(c));
    return j;
}

static int print_comparison_json(const struct candidate *c, size_t n)
{
    json_t *j = json_object(), *list = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, candidate_json(&c[i]));
    add_text(j, "data", c->data->source);
    add_count(j, "gaps", c->result.gaps);
    json_object_set_new(j, "models", list);
    return print_json(j);
}

static int name_width(const struct candidate *c, size_t n)
{
    size_t width = 16;
    for (size_t i = 0; i < n; i++)
        if (strlen(c[i].path) > width) width = strlen(c[i].path);
    return width > 60 ? 60 : (int)width;
}

static void print_comparison(const struct candidate *c, size_t n)
{
    int width = name_width(c, n);
    say(stdout, "%-*s %14s %10s %12s %10s %8s %14s\n", width, "model",
        "log-likelihood", "per gap", "difference", "+-", "learned", "AIC");
    for (size_t i = 0; i < n; i++) {
        const gsv_result *r = &c[i].result;
        say(stdout, "%-*s %14.3f %10.4f %12.3f", width, c[i].path, r->loglik,
            r->loglik / (double)r->gaps, shown(c[i].difference, 3));
        if (isnan(c[i].error)) say(stdout, " %10s", "");
        else say(stdout, " %10.3f", c[i].error);
        say(stdout, " %8zu", c[i].learned);
        if (isnan(aic(&c[i]))) say(stdout, "\n");
        else say(stdout, " %14.3f\n", aic(&c[i]));
    }
}

static void print_left_out(const struct candidate *c, size_t n)
{
    int width = name_width(c, n);
    const struct candidate *best = best_left_out(c, n);
    say(stdout, "\n%-*s %14s %10s %12s %10s %8s %14s\n", width,
        "series left out", "log density", "per series", "difference", "+-",
        "refits", "largest k-hat");
    for (size_t i = 0; i < n; i++) {
        const gsv_leave_out *o = &c[i].out;
        double khat = worst_khat(o);
        say(stdout, "%-*s %14.3f %10.4f %12.3f", width, c[i].path, o->sum,
            o->sum / (double)o->tracks, shown(o->sum - best->out.sum, 3));
        if (&c[i] == best) say(stdout, " %10s", "");
        else say(stdout, " %10.3f", paired_series(o, &best->out));
        say(stdout, " %8zu", o->refits);
        if (isnan(khat)) say(stdout, "\n");
        else say(stdout, " %14.2f\n", khat);
    }
}

/* AICs of other rows cannot be compared. */
static void say_held_out(const struct candidate *c)
{
    const gsv_record *r = gsv_model_record(c->model);
    if (c->seen && r->heldout_gaps && isfinite(r->aic))
        say(stderr,
            "note: %s held out %zu of %zu %s; its AIC is that of the others\n",
            c->path, r->heldout_gaps, r->heldout_gaps + r->gaps,
            c->result.observe ? "rows" : "gaps");
}

static void say_notes(const struct args *a, const struct candidate *c, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!a->quiet) say_held_out(&c[i]);
        if (c[i].seen && !a->quiet)
            say(stderr,
                "note: %s was learned from %s: these data are not held "
                "out\n",
                c[i].path, c[i].data->source);
        if (c[i].result.flagged)
            say(stderr,
                "warning: %s: %zu of %zu %s cannot be trusted; 'girsanov "
                "diagnose' lists them\n",
                c[i].path, c[i].result.flagged, c[i].result.groups,
                unit_of(&c[i].options, &c[i].result));
    }
}

/* --- The verb ----------------------------------------------------------- */

/* Each candidate uses the options of its fit; --joint only if all do, because
 * gaps cannot be compared with series. */
static void choose_options(const struct args *a, const gsv_options *o,
                           struct candidate *c, size_t n)
{
    bool joint = true;
    for (size_t i = 0; i < n; i++) {
        c[i].options = *o;
        estimator_recall(a, c[i].model, &c[i].options);
        joint = joint && c[i].options.joint;
    }
    for (size_t i = 0; i < n; i++)
        c[i].options.joint = joint;
}

static int run_with(const struct args *a, const gsv_options *o,
                    struct candidate *c, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        c[i].path = a->files.word[i];
        c[i].model = open_model(a, c[i].path);
        if (!c[i].model || check_states(c, &c[i])) return EXIT_INPUT;
        if (!i) say_shared(a, c[i].model, o);
    }
    choose_options(a, o, c, n);
    for (size_t i = 0; i < n; i++) {
        int code = read_data(a, &c[i], i == 0);
        if (!code) code = weigh(&c[i]);
        if (!code && a->leave_out) code = leave_out(&c[i]);
        if (code) return code;
    }
    join_all(c, n);
    int code = rank(c, n);
    if (code) return code;
    if (a->json) code = print_comparison_json(c, n);
    else print_comparison(c, n);
    if (!a->json && a->leave_out) print_left_out(c, n);
    say_notes(a, c, n);
    return code;
}

int compare_run(const struct args *a, gsv_model *m)
{
    (void)m; /* each candidate has its own */
    gsv_options o = estimator_options(a);
    size_t n = a->files.count - 1;
    if (n > 1 && is_stream(a->data))
        return complain(EXIT_INPUT,
                        "several models cannot read their data from '%s', "
                        "which can be read only once; give a file",
                        a->data);
    struct candidate *c = calloc(n, sizeof *c);
    if (!c) return complain_memory();
    int code = run_with(a, &o, c, n);
    for (size_t i = 0; i < n; i++) {
        gsv_result_free(&c[i].result);
        gsv_leave_out_free(&c[i].out);
        gsv_series_free(c[i].data);
        gsv_model_free(c[i].model);
    }
    free(c);
    return code;
}
