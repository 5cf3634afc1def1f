/* SPDX-License-Identifier: MIT */
/* The record of a fit as text and as JSON, for fit and summary. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static const struct {
    const char *word, *sentence;
} ENDS[] = {
    [GSV_ENDED_CONVERGED] = {"converged", "converged"},
    [GSV_ENDED_ITERATIONS] = {"iterations", "all iterations done"},
    [GSV_ENDED_EARLY] = {"early", "the watched likelihood stopped improving"},
    [GSV_ENDED_TIME] = {"time", "time limit"},
    [GSV_ENDED_STOPPED] = {"stopped", "interrupted"},
};

/* --- Text ----------------------------------------------------------------- */

static void put_maximum(const gsv_record *r, FILE *out)
{
    int n = digits(r->error);
    if (isfinite(r->evidence))
        say(out,
            "evidence        %.*f  (%zu number%s learned, functions "
            "integrated out)\n",
            n, r->evidence, r->free, plural(r->free));
    if (r->priors && isfinite(r->loglik))
        say(out, "posterior mode  %.*f  (log prior %.*f, of %zu number%s)\n", n,
            r->loglik + r->log_prior, n, r->log_prior, r->priors,
            plural(r->priors));
    else if (isfinite(r->aic))
        say(out, "AIC, BIC        %.*f, %.*f  (%zu number%s learned)\n", n,
            r->aic, n, r->bic, r->free, plural(r->free));
    say(out, "ended           %s: %s, %zu iteration%s",
        option_word("--optimizer", (int)r->optimizer), ENDS[r->ended].sentence,
        r->iterations, plural(r->iterations));
    if (r->restarts > 1) say(out, ", best of %zu starts", r->restarts);
    say(out, ", %.3g s\n", r->seconds);
    if (r->bootstraps)
        say(out, "bootstrap       %zu of %zu refits succeeded\n", r->refits,
            r->bootstraps);
}

static void put_chains(const gsv_record *r, FILE *out)
{
    say(out,
        "ended           gibbs: %s, %zu chain%s of %zu draw%s after %zu of "
        "warm-up, %.3g s\n",
        ENDS[r->ended].sentence, r->chains, plural(r->chains), r->draws,
        plural(r->draws), r->warmup, r->seconds);
}

/* The objective, if it is not the likelihood. */
static void put_objective(const gsv_record *r, FILE *out)
{
    const char *name = option_word("--objective", (int)r->objective);
    switch (r->objective) {
    case GSV_OBJECTIVE_LIKELIHOOD: return;
    case GSV_OBJECTIVE_MSE_BACKPROP:
    case GSV_OBJECTIVE_MSE_ADJOINT:
    case GSV_OBJECTIVE_MSE_FORWARD:
        say(out, "squared error   %.6g  (mean over paths and rows, %s)\n",
            r->mse, name);
        return;
    case GSV_OBJECTIVE_GRADIENT_MATCHING:
        say(out, "pseudo-loglik   %.6g  (%s: one Euler step per gap)\n",
            r->value, name);
        break;
    case GSV_OBJECTIVE_EM_LINEAR:
        say(out, "lower bound     %.6g  (%s: of the log-likelihood)\n",
            r->value, name);
        break;
    case GSV_OBJECTIVE_SLOPES:
        say(out, "pseudo-loglik   %.6g  (%s: one forecast per gap)\n", r->value,
            name);
        break;
    }
    say(out, "                this objective is not a likelihood: there are no "
             "standard errors\n");
}

void put_quadrature(size_t nodes, double change, FILE *out)
{
    if (nodes > 1)
        say(out, "quadrature      %+.6f  from fewer nodes than %zu a series\n",
            shown(change, 6), nodes);
}

/* The last estimate. */
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
    /* One path of others has no standard error. */
    bool random = !(r->paths == 1 && r->error <= 0.0);
    bool exact = !random && !isfinite(r->discretisation) && !r->nodes;
    say(out, "log-likelihood  %.*f", n, r->loglik);
    bool summed = !random && !isfinite(r->discretisation) && r->nodes;
    if (exact) say(out, "  (exact%s)\n", r->chains ? "; at the means" : "");
    else if (summed) putc('\n', out);
    else if (isfinite(r->error)) say(out, " +- %.*f", n, r->error);
    if (!exact && !summed)
        say(out, "  (%zu path%s, %zu step%s%s%s)\n", r->paths, plural(r->paths),
            r->steps, plural(r->steps), r->chains ? "; at the means" : "",
            sample);
    say(out, "per gap         %.*f\n", n + 1, r->loglik / (double)r->gaps);
    if (isfinite(r->discretisation))
        say(out, "discretisation  %+.*f  from steps twice as long\n", n,
            shown(r->discretisation, n));
    put_quadrature(r->nodes, r->quadrature, out);
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

/* A number in a column, or a dash for NaN. */
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

double posterior(const gsv_record *r, enum gsv_posterior row, size_t at)
{
    return r->posterior[(size_t)row * r->values + at];
}

/* The same in a narrower column, with decimals for R-hat and sample sizes. */
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
    if (r->effect && r->effects)
        say(stdout,
            "%zu random effects: R-hat at most %.3f, ess at least %.0f\n",
            r->tracks * r->effects, r->effect_rhat, r->effect_ess);
    return EXIT_DONE;
}

/* --- The bootstrap -------------------------------------------------------- */

static double bootstrap(const gsv_record *r, enum gsv_bootstrap row, size_t at)
{
    return r->bootstrap[(size_t)row * r->values + at];
}

static void print_bootstrap(const gsv_record *r, const struct number *list,
                            size_t count)
{
    char name[NAME_ROOM];
    int width = numbers_width(list, count);
    say(stdout, "\n%-*s %14s %14s %29s\n", width, "bootstrap", "corrected",
        "standard error", "95 % interval");
    for (size_t i = 0; i < count; i++) {
        say(stdout, "%-*s", width, number_name(&list[i], name));
        print_cell(bootstrap(r, GSV_BOOTSTRAP_CORRECTED, list[i].at), 6);
        print_cell(bootstrap(r, GSV_BOOTSTRAP_ERROR, list[i].at), 3);
        print_cell(bootstrap(r, GSV_BOOTSTRAP_LOW, list[i].at), 6);
        print_cell(bootstrap(r, GSV_BOOTSTRAP_HIGH, list[i].at), 6);
        putchar('\n');
    }
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
    if (r->bootstrap && count) print_bootstrap(r, list, count);
    free(list);
    return EXIT_DONE;
}

/* --- JSON --------------------------------------------------------------- */

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
    add_count(j, "chains", r->chains);
    add_count(j, "warmup", r->warmup);
    add_count(j, "draws", r->draws);
    if (!r->effects) return j;
    add_number(j, "effect_rhat", r->effect_rhat);
    add_number(j, "effect_ess", r->effect_ess);
    return j;
}

static json_t *bootstrap_json(const gsv_model *m, const gsv_record *r)
{
    static const char *const word[GSV_BOOTSTRAPS] = {
        [GSV_BOOTSTRAP_CORRECTED] = "corrected",
        [GSV_BOOTSTRAP_ERROR] = "errors",
        [GSV_BOOTSTRAP_LOW] = "low",
        [GSV_BOOTSTRAP_HIGH] = "high"};
    json_t *j = json_object();
    add_count(j, "sets", r->bootstraps);
    add_count(j, "refits", r->refits);
    for (size_t i = 0; r->bootstrap && i < GSV_BOOTSTRAPS; i++)
        json_object_set_new(j, word[i],
                            json_params(m, r->bootstrap + i * r->values, true));
    return j;
}

static void add_data(const gsv_record *r, json_t *j)
{
    add_text(j, "data", r->data);
    add_count(j, "tracks", r->tracks);
    add_count(j, "rows", r->rows);
    add_count(j, "gaps", r->gaps);
    add_count(j, "heldout_gaps", r->heldout_gaps);
}

static void add_likelihood(const gsv_record *r, json_t *j)
{
    double gaps = (double)r->gaps, out = (double)r->heldout_gaps;
    add_number(j, "loglik", r->loglik);
    add_number(j, "stderr", r->error);
    add_number(j, "loglik_per_gap", r->loglik / gaps);
    add_number(j, "discretisation", r->discretisation);
    if (r->nodes) add_count(j, "nodes", r->nodes);
    if (r->nodes) add_number(j, "quadrature", r->quadrature);
    add_number(j, "heldout", r->heldout);
    add_number(j, "heldout_per_gap", r->heldout / out);
    if (isfinite(r->evidence)) add_number(j, "evidence", r->evidence);
    add_number(j, "aic", r->aic);
    add_number(j, "bic", r->bic);
    if (r->priors) {
        add_count(j, "priors", r->priors);
        add_number(j, "log_prior", r->log_prior);
        add_number(j, "log_posterior", r->loglik + r->log_prior);
    }
    add_count(j, "learned", r->free);
    if (isfinite(r->penalty)) add_number(j, "penalty", r->penalty);
    if (isfinite(r->noise_penalty))
        add_number(j, "noise_penalty", r->noise_penalty);
}

static void add_search(const gsv_record *r, json_t *j)
{
    enum gsv_method method =
        r->chains ? GSV_METHOD_GIBBS : GSV_METHOD_LIKELIHOOD;
    add_count(j, "paths", r->paths);
    add_count(j, "steps", r->steps);
    if (r->sampled) add_count(j, "sampled", r->sampled);
    add_count(j, "flagged", r->flagged);
    json_object_set_new(j, "estimator", json_asked(&r->estimator));
    add_text(j, "optimizer", option_word("--optimizer", (int)r->optimizer));
    add_text(j, "method", option_word("--method", (int)method));
    add_text(j, "ended", ENDS[r->ended].word);
    add_count(j, "iterations", r->iterations);
    add_count(j, "restarts", r->restarts);
    add_number(j, "seconds", r->seconds);
    add_count(j, "seed", r->seed);
    add_text(j, "errors_from",
             r->chains ? "posterior" : option_word("--errors", (int)r->errors));
}

/* The value of an objective that is not a likelihood. */
static void add_objective(const gsv_record *r, json_t *j)
{
    bool squared = isnan(r->value);
    add_text(j, "objective", option_word("--objective", (int)r->objective));
    add_number(j, squared ? "mse" : "objective_value",
               squared ? r->mse : r->value);
}

/* The labels of parameters that have one number for each series or level. */
static void add_levels(const gsv_model *m, json_t *j)
{
    json_t *all = json_object();
    for (size_t i = 0; i < gsv_model_params(m); i++) {
        gsv_param p = gsv_model_param(m, i);
        json_t *list = p.label ? json_array() : NULL;
        for (size_t k = 0; p.label && k < p.rows; k++)
            json_array_append_new(list, json_string(p.label[k]));
        if (list) json_object_set_new(all, p.name, list);
    }
    if (json_object_size(all)) json_object_set_new(j, "labels", all);
    else json_decref(all);
}

json_t *record_json(const gsv_model *m, const gsv_record *r, const char *path)
{
    json_t *j = json_object();
    add_text(j, "fit", path);
    add_data(r, j);
    add_likelihood(r, j);
    add_search(r, j);
    json_object_set_new(j, "warnings", json_lines(r->warning));
    json_object_set_new(j, "params", json_params(m, gsv_model_value(m), false));
    add_levels(m, j);
    json_object_set_new(j, "errors", json_params(m, r->error_of, true));
    json_object_set_new(j, "low", json_params(m, r->low, true));
    json_object_set_new(j, "high", json_params(m, r->high, true));
    if (r->objective != GSV_OBJECTIVE_LIKELIHOOD) add_objective(r, j);
    if (r->posterior) json_object_set_new(j, "posterior", posterior_json(m, r));
    if (r->bootstraps)
        json_object_set_new(j, "bootstrap", bootstrap_json(m, r));
    return j;
}
