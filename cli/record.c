/* SPDX-License-Identifier: MIT */
/* What a fit says of itself, for people and as JSON: fit and summary. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

const char *const OPTIMIZERS[] = {[GSV_OPTIMIZER_AUTO] = "auto",
                                  [GSV_OPTIMIZER_ADAM] = "adam",
                                  [GSV_OPTIMIZER_LBFGS] = "lbfgs",
                                  [GSV_OPTIMIZER_EVIDENCE] = "evidence",
                                  NULL};
const char *const SCHEDULES[] = {[GSV_SCHEDULE_COSINE] = "cosine",
                                 [GSV_SCHEDULE_PLATEAU] = "plateau",
                                 [GSV_SCHEDULE_CONSTANT] = "constant",
                                 NULL};
const char *const ERRORS[] = {[GSV_ERRORS_AUTO] = "auto",
                              [GSV_ERRORS_NONE] = "none",
                              [GSV_ERRORS_OBSERVED] = "observed",
                              [GSV_ERRORS_SANDWICH] = "sandwich",
                              NULL};
const char *const ESTIMATES[] = {[GSV_ESTIMATE_AUTO] = "auto",
                                 [GSV_ESTIMATE_ALL] = "all",
                                 [GSV_ESTIMATE_NONE] = "none",
                                 NULL};
const char *const METHODS[] = {
    [GSV_METHOD_LIKELIHOOD] = "likelihood", [GSV_METHOD_GIBBS] = "gibbs", NULL};
const char *const OBJECTIVES[] = {[GSV_OBJECTIVE_LIKELIHOOD] = "likelihood",
                                  [GSV_OBJECTIVE_MSE_BACKPROP] = "mse-backprop",
                                  [GSV_OBJECTIVE_MSE_ADJOINT] = "mse-adjoint",
                                  [GSV_OBJECTIVE_MSE_FORWARD] = "mse-forward",
                                  [GSV_OBJECTIVE_GRADIENT_MATCHING] =
                                      "gradient-matching",
                                  [GSV_OBJECTIVE_EM_LINEAR] = "em-linear",
                                  NULL};

static const struct {
    const char *word, *sentence;
} ENDS[] = {
    [GSV_ENDED_CONVERGED] = {"converged", "converged"},
    [GSV_ENDED_ITERATIONS] = {"iterations", "all iterations done"},
    [GSV_ENDED_EARLY] = {"early", "the held-out likelihood stood still"},
    [GSV_ENDED_TIME] = {"time", "time limit"},
    [GSV_ENDED_STOPPED] = {"stopped", "interrupted"},
};

/* --- For people --------------------------------------------------------- */

static void put_maximum(const gsv_record *r, FILE *out)
{
    int n = digits(r->error);
    if (isfinite(r->evidence))
        say(out,
            "evidence        %.*f  (%zu number%s learned, functions "
            "integrated out)\n",
            n, r->evidence, r->free, plural(r->free));
    else if (isfinite(r->aic))
        say(out, "AIC, BIC        %.*f, %.*f  (%zu number%s learned)\n", n,
            r->aic, n, r->bic, r->free, plural(r->free));
    say(out, "ended           %s: %s, %zu iteration%s",
        OPTIMIZERS[r->optimizer], ENDS[r->ended].sentence, r->iterations,
        plural(r->iterations));
    if (r->restarts > 1) say(out, ", best of %zu starts", r->restarts);
    say(out, ", %.3g s\n", r->seconds);
}

static void put_chains(const gsv_record *r, FILE *out)
{
    say(out,
        "ended           gibbs: %s, %zu chain%s of %zu draw%s after %zu of "
        "warm-up, %.3g s\n",
        ENDS[r->ended].sentence, r->chains, plural(r->chains), r->draws,
        plural(r->draws), r->warmup, r->seconds);
}

/* What was made best, where it is not the likelihood. */
static void put_objective(const gsv_record *r, FILE *out)
{
    const char *name = OBJECTIVES[r->objective];
    switch (r->objective) {
    case GSV_OBJECTIVE_LIKELIHOOD: return;
    case GSV_OBJECTIVE_MSE_BACKPROP:
    case GSV_OBJECTIVE_MSE_ADJOINT:
    case GSV_OBJECTIVE_MSE_FORWARD:
        say(out, "squared error   %.6g  (mean over paths and rows, %s)\n",
            r->mse, name);
        return;
    case GSV_OBJECTIVE_GRADIENT_MATCHING:
        say(out, "pseudo-loglik   %.6g  (%s: one Euler step a gap)\n", r->value,
            name);
        break;
    case GSV_OBJECTIVE_EM_LINEAR:
        say(out, "lower bound     %.6g  (%s: of the log-likelihood)\n",
            r->value, name);
        break;
    }
    say(out, "                no likelihood was made best: standard errors are "
             "not given\n");
}

/* The last estimate, where there is one. */
static void put_estimate(const gsv_record *r, FILE *out)
{
    int n = digits(r->error);
    char sample[60] = "";
    if (isnan(r->loglik) && !r->paths) {
        fputs("log-likelihood  not computed\n", out);
        return;
    }
    if (r->sampled)
        snprintf(sample, sizeof sample, "; from %zu of %zu gaps", r->sampled,
                 r->gaps);
    say(out, "log-likelihood  %.*f", n, r->loglik);
    if (isfinite(r->error)) say(out, " +- %.*f", n, r->error);
    say(out, "  (%zu path%s, %zu step%s%s%s)\n", r->paths, plural(r->paths),
        r->steps, plural(r->steps), r->chains ? "; at the means" : "", sample);
    say(out, "per gap         %.*f\n", n + 1, r->loglik / (double)r->gaps);
    if (isfinite(r->discretisation))
        say(out, "discretisation  %+.*f  from steps twice as long\n", n,
            shown(r->discretisation, n));
}

void put_likelihood(const gsv_record *r, FILE *out)
{
    int n = digits(r->error);
    put_objective(r, out);
    put_estimate(r, out);
    if (r->heldout_gaps && isfinite(r->heldout))
        say(out, "held out        %.*f per gap, %zu of %zu gaps\n", n + 1,
            r->heldout / (double)r->heldout_gaps, r->heldout_gaps,
            r->gaps + r->heldout_gaps);
    if (r->chains) put_chains(r, out);
    else put_maximum(r, out);
    char room[ASKED_ROOM];
    if (*asked_text(&r->estimator, room))
        fprintf(out, "options         %s\n", room);
}

/* A number in a column, or a dash where it is not known. */
static void print_cell(double x, int figures)
{
    if (isnan(x)) say(stdout, " %14s", "-");
    else say(stdout, " %14.*g", figures, x);
}

static void print_estimate(const gsv_model *m, const gsv_record *r,
                           const struct number *n, int width)
{
    char name[NAME_ROOM];
    say(stdout, "%-*s", width, number_name(n, name));
    print_cell(gsv_model_value(m)[n->at], 6);
    if (r->errors != GSV_ERRORS_NONE) {
        print_cell(r->error_of[n->at], 3);
        print_cell(r->low[n->at], 6);
        print_cell(r->high[n->at], 6);
    }
    putchar('\n');
}

/* --- Posteriors ----------------------------------------------------------- */

static double posterior(const gsv_record *r, enum gsv_posterior row, size_t at)
{
    return r->posterior[(size_t)row * r->values + at];
}

/* The same in a narrower column; R-hat and sizes by decimals. */
static void print_narrow(double x, int figures, int decimals)
{
    if (isnan(x)) say(stdout, " %9s", "-");
    else if (decimals >= 0) say(stdout, " %9.*f", decimals, x);
    else say(stdout, " %9.*g", figures, x);
}

static void print_posterior(const gsv_model *m, const gsv_record *r,
                            const struct number *n)
{
    char name[NAME_ROOM];
    say(stdout, "%-12s", number_name(n, name));
    print_narrow(gsv_model_value(m)[n->at], 5, -1);
    print_narrow(r->error_of[n->at], 3, -1);
    print_narrow(posterior(r, GSV_POSTERIOR_Q5, n->at), 4, -1);
    print_narrow(posterior(r, GSV_POSTERIOR_MEDIAN, n->at), 4, -1);
    print_narrow(posterior(r, GSV_POSTERIOR_Q95, n->at), 4, -1);
    print_narrow(posterior(r, GSV_POSTERIOR_RHAT, n->at), 0, 3);
    print_narrow(posterior(r, GSV_POSTERIOR_ESS_BULK, n->at), 0, 0);
    print_narrow(posterior(r, GSV_POSTERIOR_ESS_TAIL, n->at), 0, 0);
    putchar('\n');
}

static int print_posteriors(const gsv_model *m, const gsv_record *r)
{
    size_t count;
    struct number *list = model_numbers(m, &count);
    if (!list) return EXIT_NUMBERS;
    say(stdout, "\n%-12s %9s %9s %9s %9s %9s %9s %9s %9s\n", "parameter",
        "mean", "sd", "5 %", "50 %", "95 %", "R-hat", "ess_bulk", "ess_tail");
    for (size_t i = 0; i < count; i++)
        print_posterior(m, r, &list[i]);
    free(list);
    return EXIT_DONE;
}

int print_estimates(const gsv_model *m, const gsv_record *r)
{
    size_t count;
    if (r->posterior) return print_posteriors(m, r);
    struct number *list = model_numbers(m, &count);
    if (!list) return EXIT_NUMBERS;
    int width = numbers_width(list, count);
    if (count) say(stdout, "\n%-*s %14s", width, "parameter", "estimate");
    if (count && r->errors != GSV_ERRORS_NONE)
        say(stdout, " %14s %29s%s", "standard error", "95 % interval",
            r->errors == GSV_ERRORS_SANDWICH ? "  (sandwich)" : "");
    if (count) putchar('\n');
    for (size_t i = 0; i < count; i++)
        print_estimate(m, r, &list[i], width);
    free(list);
    return EXIT_DONE;
}

/* The lines of the record's warning, one by one. */
static const char *next_warning(const char *text, int *length)
{
    while (*text == '\n')
        text++;
    *length = (int)strcspn(text, "\n");
    return *length ? text : NULL;
}

void say_warnings(const gsv_record *r)
{
    int length;
    for (const char *w = r->warning; (w = next_warning(w, &length));
         w += length)
        say(stderr, "warning: %.*s\n", length, w);
}

/* --- JSON --------------------------------------------------------------- */

static json_t *warnings_json(const gsv_record *r)
{
    json_t *list = json_array();
    int length;
    for (const char *w = r->warning; (w = next_warning(w, &length));
         w += length)
        json_array_append_new(list, json_stringn(w, (size_t)length));
    return list;
}

static json_t *posterior_json(const gsv_model *m, const gsv_record *r)
{
    static const char *const word[GSV_POSTERIORS] = {
        [GSV_POSTERIOR_Q5] = "q5",
        [GSV_POSTERIOR_MEDIAN] = "median",
        [GSV_POSTERIOR_Q95] = "q95",
        [GSV_POSTERIOR_RHAT] = "rhat",
        [GSV_POSTERIOR_ESS_BULK] = "ess_bulk",
        [GSV_POSTERIOR_ESS_TAIL] = "ess_tail",
        [GSV_POSTERIOR_MCSE] = "mcse"};
    json_t *j = json_object();
    for (size_t i = 0; i < GSV_POSTERIORS; i++)
        json_object_set_new(j, word[i],
                            json_params(m, r->posterior + i * r->values, true));
    json_object_set_new(j, "chains", json_count(r->chains));
    json_object_set_new(j, "warmup", json_count(r->warmup));
    json_object_set_new(j, "draws", json_count(r->draws));
    return j;
}

static void add_data(const gsv_record *r, json_t *j)
{
    json_object_set_new(j, "data", json_text(r->data));
    json_object_set_new(j, "tracks", json_count(r->tracks));
    json_object_set_new(j, "rows", json_count(r->rows));
    json_object_set_new(j, "gaps", json_count(r->gaps));
    json_object_set_new(j, "heldout_gaps", json_count(r->heldout_gaps));
}

static void add_likelihood(const gsv_record *r, json_t *j)
{
    double gaps = (double)r->gaps, out = (double)r->heldout_gaps;
    json_object_set_new(j, "loglik", json_number(r->loglik));
    json_object_set_new(j, "stderr", json_number(r->error));
    json_object_set_new(j, "loglik_per_gap", json_number(r->loglik / gaps));
    json_object_set_new(j, "discretisation", json_number(r->discretisation));
    json_object_set_new(j, "heldout", json_number(r->heldout));
    json_object_set_new(j, "heldout_per_gap", json_number(r->heldout / out));
    if (isfinite(r->evidence))
        json_object_set_new(j, "evidence", json_number(r->evidence));
    json_object_set_new(j, "aic", json_number(r->aic));
    json_object_set_new(j, "bic", json_number(r->bic));
    json_object_set_new(j, "learned", json_count(r->free));
}

static void add_search(const gsv_record *r, json_t *j)
{
    enum gsv_method method =
        r->chains ? GSV_METHOD_GIBBS : GSV_METHOD_LIKELIHOOD;
    json_object_set_new(j, "paths", json_count(r->paths));
    json_object_set_new(j, "steps", json_count(r->steps));
    if (r->sampled) json_object_set_new(j, "sampled", json_count(r->sampled));
    json_object_set_new(j, "flagged", json_count(r->flagged));
    json_object_set_new(j, "estimator", json_asked(&r->estimator));
    json_object_set_new(j, "optimizer", json_string(OPTIMIZERS[r->optimizer]));
    json_object_set_new(j, "method", json_string(METHODS[method]));
    json_object_set_new(j, "ended", json_string(ENDS[r->ended].word));
    json_object_set_new(j, "iterations", json_count(r->iterations));
    json_object_set_new(j, "restarts", json_count(r->restarts));
    json_object_set_new(j, "seconds", json_number(r->seconds));
    json_object_set_new(j, "seed", json_count(r->seed));
    json_object_set_new(
        j, "errors_from",
        json_string(r->chains ? "posterior" : ERRORS[r->errors]));
}

/* Of an objective that is no likelihood. */
static void add_objective(const gsv_record *r, json_t *j)
{
    bool squared = isnan(r->value);
    json_object_set_new(j, "objective", json_string(OBJECTIVES[r->objective]));
    json_object_set_new(j, squared ? "mse" : "objective_value",
                        json_number(squared ? r->mse : r->value));
}

json_t *record_json(const gsv_model *m, const gsv_record *r, const char *path)
{
    json_t *j = json_object();
    json_object_set_new(j, "fit", json_text(path));
    add_data(r, j);
    add_likelihood(r, j);
    add_search(r, j);
    json_object_set_new(j, "warnings", warnings_json(r));
    json_object_set_new(j, "params", json_params(m, gsv_model_value(m), false));
    json_object_set_new(j, "errors", json_params(m, r->error_of, true));
    json_object_set_new(j, "low", json_params(m, r->low, true));
    json_object_set_new(j, "high", json_params(m, r->high, true));
    if (r->objective != GSV_OBJECTIVE_LIKELIHOOD) add_objective(r, j);
    if (r->posterior) json_object_set_new(j, "posterior", posterior_json(m, r));
    return j;
}
