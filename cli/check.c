/* SPDX-License-Identifier: MIT */
/* girsanov check: a description of a model, the cost of one gradient, and a
 * comparison of the gradient with finite differences. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* Data for the gradient without a file: a few short tracks of the model. */
static gsv_series *simulated(const gsv_model *m, const struct args *a)
{
    gsv_simulate_options o = gsv_simulate_options_default();
    double time[6];
    for (size_t i = 0; i < 6; i++)
        time[i] = 0.05 * (double)i;
    o.times = 6;
    o.time = time;
    o.tracks = 2;
    o.start_sd = 1.0;
    o.seed = a->estimator.seed;
    return gsv_simulate(m, &o);
}

/* The name of the parameter of element i of theta. */
static const char *theta_name(const gsv_model *m, size_t i)
{
    for (size_t p = 0; p < gsv_model_params(m); p++) {
        gsv_param q = gsv_model_param(m, p);
        size_t n = q.lower ? q.rows * (q.rows + 1) / 2 : q.rows * q.columns;
        if (i < n) return q.name;
        i -= n;
    }
    return "";
}

static void say_gradient(const gsv_gradient_check *c, const char *name)
{
    say(stdout, "gradient        differs from finite differences by %.1e",
        c->worst);
    if (c->seeds > 1) say(stdout, " +- %.1e", c->error);
    say(stdout, " at most (%s)\n", name);
    if (c->seeds > 1)
        say(stdout,
            "                in the mean of %zu seeds: with particles both are "
            "estimates\n",
            c->seeds);
}

static int complain_gradient(const gsv_gradient_check *c, const char *name)
{
    if (c->seeds == 1)
        return complain(
            EXIT_NUMBERS,
            "the gradient is wrong by %.1e in '%s'; a kink (abs, relu, min, "
            "max) near the data can cause this; otherwise it is a bug: please "
            "report it",
            c->worst, name);
    return complain(
        EXIT_NUMBERS,
        "the gradient of particles is off by %.1e +- %.1e in '%s', in the mean "
        "of %zu seeds; it leaves out the resampling, which biases it when "
        "there are few particles: repeat with a larger --support; if the "
        "difference stays the same, it is a bug: please report it",
        c->worst, c->error, name, c->seeds);
}

static int check_gradient(const struct args *a, gsv_model *m,
                          const gsv_series *s, const gsv_options *o, json_t *j)
{
    gsv_gradient_check c;
    if (!gsv_theta_size(m))
        return complain(EXIT_INPUT, "the model has no parameters, so there is "
                                    "no gradient to check");
    if (gsv_check_gradient(m, s, o, &c)) return complain_last();
    const char *name = theta_name(m, c.where);
    add_number(j, "gradient_error", c.worst);
    add_text(j, "gradient_worst", name);
    add_number(j, "gradient_stderr", c.error);
    add_count(j, "gradient_seeds", c.seeds);
    if (!a->json) say_gradient(&c, name);
    return c.agrees ? EXIT_DONE : complain_gradient(&c, name);
}

/* A sample of this size is enough to measure the cost. */
enum { MOST_GAPS = 20000 };

static int check_work(const struct args *a, const gsv_model *m,
                      const gsv_series *s, const gsv_options *o, json_t *j)
{
    gsv_result r;
    gsv_options with = *o;
    with.gradient = true;
    with.sample = MOST_GAPS;
    if (gsv_loglik(m, s, &with, &r)) return complain_last();
    add_count(j, "gaps", r.gaps);
    add_count(j, "drift_evaluations", r.drift_evaluations);
    add_number(j, "seconds", r.seconds);
    add_count(j, "memory", r.memory);
    bool sampled = r.gaps == MOST_GAPS;
    if (!a->json)
        say(stdout,
            "\none gradient    %s%zu gaps, %llu drift evaluations, %.3g s, "
            "%.1f MiB of working memory\n",
            sampled ? "a sample of " : "", r.gaps,
            (unsigned long long)r.drift_evaluations, r.seconds,
            (double)r.memory / 1048576.0);
    gsv_result_free(&r);
    return EXIT_DONE;
}

static json_t *describe_json(const gsv_model *m)
{
    json_t *j = json_object(), *columns = json_array();
    for (size_t i = 0; i < gsv_model_data_columns(m); i++)
        json_array_append_new(columns, json_text(gsv_model_data_column(m)[i]));
    add_count(j, "states", gsv_model_dim(m));
    add_count(j, "noises", gsv_model_noises(m));
    json_object_set_new(j, "columns", columns);
    add_count(j, "values", gsv_model_values(m));
    json_object_set_new(j, "params", json_params(m, gsv_model_value(m), false));
    json_object_set_new(j, "warnings", json_array());
    return j;
}

/* One warning, to standard error or into the JSON. */
static void warn(const struct args *a, const char *text, size_t length,
                 json_t *j)
{
    if (a->json) {
        json_array_append_new(json_object_get(j, "warnings"),
                              json_stringn(text, length));
        return;
    }
    for (size_t at = 0, n; at < length; at += n + 1) {
        n = strcspn(text + at, "\n");
        if (n > length - at) n = length - at;
        if (at) say(stderr, "%.*s\n", (int)n, text + at);
        else say(stderr, "warning: %.*s\n", (int)n, text);
    }
}

/* One warning for each line of a text, which is freed. */
static int warn_lines(const struct args *a, char *text, json_t *j)
{
    if (!text) return complain_last();
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
        warn(a, line, strcspn(line, "\n"), j);
    gsv_text_free(text);
    return EXIT_DONE;
}

static void warn_last(const struct args *a, json_t *j)
{
    const char *why = gsv_last_error();
    warn(a, why, strlen(why), j);
}

/* Errors if loglik would refuse the model; warnings if it would because some
 * states have no noise, as such models are for simulations; if fit would; and
 * for parts that the likelihood does not depend on. */
static int check_use(const struct args *a, const gsv_model *m, json_t *j)
{
    bool refused = gsv_check_likelihood(m);
    if (refused && !gsv_model_singular(m)) return complain_last();
    if (refused || gsv_check_fit(m)) warn_last(a, j);
    return warn_lines(a, gsv_model_unused(m), j);
}

/* Which estimator loglik would use. */
static int say_estimator(const struct args *a, const gsv_model *m,
                         const gsv_options *o, json_t *j)
{
    const char *reason = gsv_check_likelihood(m) ? "none: see the warning"
                                                 : gsv_estimator_reason(m, o);
    if (!reason) return complain_last();
    json_object_set_new(j, "estimator", json_text(reason));
    if (!a->json) say(stdout, "estimator       %s\n", reason);
    return EXIT_DONE;
}

/* How often the levels of categories are in the data. */
static int say_levels(const struct args *a, const gsv_model *m,
                      const gsv_series *s)
{
    char *text = gsv_model_level_counts(m, s);
    if (!text) return complain_last();
    if (!a->json) say_lines(text, stdout);
    gsv_text_free(text);
    return EXIT_DONE;
}

static int check_with(const struct args *a, gsv_model *m, const gsv_options *o,
                      json_t *j)
{
    gsv_series *s = a->data ? open_data(a, m) : NULL;
    if (a->data && !s) return EXIT_INPUT;
    char *text = gsv_model_describe(m);
    int code = text ? EXIT_DONE : complain_last();
    if (text && !a->json) say_lines(text, stdout);
    gsv_text_free(text);
    if (!code) code = check_use(a, m, j);
    if (!code && s) code = say_levels(a, m, s);
    if (!code && s) code = warn_lines(a, gsv_model_differences(m, s), j);
    if (!code && s) code = warn_lines(a, gsv_model_doubts(m, s), j);
    if (!code) code = say_estimator(a, m, o, j);
    if (!code && a->data) {
        code = check_work(a, m, s, o, j);
    } else if (!code && a->estimator.gradient) {
        s = simulated(m, a);
        if (!s) code = complain_last();
        else if (!a->json) putchar('\n');
    }
    if (!code && a->estimator.gradient) code = check_gradient(a, m, s, o, j);
    gsv_series_free(s);
    return code;
}

int check_run(const struct args *a, gsv_model *m)
{
    gsv_options o = estimator_options(a);
    if (a->data || a->estimator.gradient) estimator_recall(a, m, &o);
    json_t *j = a->json ? describe_json(m) : json_object();
    int code = check_with(a, m, &o, j);
    if (a->json && code == EXIT_DONE) print_json(j);
    else json_decref(j);
    return code;
}
