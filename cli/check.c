/* SPDX-License-Identifier: MIT */
/* girsanov check: a model in words, the work of one gradient, and the gradient
 * against finite differences. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* Above this the gradient and its differences disagree by more than rounding
 * explains. */
static const double GRADIENT_TOLERANCE = 1e-6;

/* Data to check a gradient on when there is no file: a few tracks of the
 * model itself, which stay near where it lives. */
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
    o.seed = a->seed;
    return gsv_simulate(m, &o);
}

/* The name of number i of theta: the parameter that holds it. */
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

static int check_gradient(const struct args *a, gsv_model *m,
                          const gsv_series *s, const gsv_options *o, json_t *j)
{
    double worst;
    size_t where;
    if (!gsv_theta_size(m))
        return complain(EXIT_INPUT, "the model has no parameters, so there is "
                                    "no gradient to check");
    if (gsv_check_gradient(m, s, o, &worst, &where)) return complain_last();
    const char *name = theta_name(m, where);
    json_object_set_new(j, "gradient_error", json_number(worst));
    json_object_set_new(j, "gradient_worst", json_text(name));
    if (!a->json)
        say(stdout,
            "gradient        differs from finite differences by %.1e at "
            "most (%s)\n",
            worst, name);
    if (worst <= GRADIENT_TOLERANCE) return EXIT_DONE;
    return complain(
        EXIT_NUMBERS,
        "the gradient is off by %.1e in '%s'; a kink (abs, relu, "
        "min, max) near the data does this, and so does the resampling "
        "of --observe particle; else it is a bug",
        worst, name);
}

/* Enough to know what one takes. */
enum { MOST_GAPS = 20000 };

static int check_work(const struct args *a, const gsv_model *m,
                      const gsv_series *s, const gsv_options *o, json_t *j)
{
    gsv_result r;
    gsv_options with = *o;
    with.gradient = true;
    with.sample = MOST_GAPS;
    if (gsv_loglik(m, s, &with, &r)) return complain_last();
    json_object_set_new(j, "gaps", json_count(r.gaps));
    json_object_set_new(j, "drift_evaluations",
                        json_count(r.drift_evaluations));
    json_object_set_new(j, "seconds", json_number(r.seconds));
    json_object_set_new(j, "memory", json_count(r.memory));
    bool some = r.gaps == MOST_GAPS;
    if (!a->json)
        say(stdout,
            "\none gradient    %s%zu gaps, %llu drift evaluations, %.3g s, "
            "%.1f MiB of working memory\n",
            some ? "a sample of " : "", r.gaps,
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
    json_object_set_new(j, "states", json_count(gsv_model_dim(m)));
    json_object_set_new(j, "noises", json_count(gsv_model_noises(m)));
    json_object_set_new(j, "columns", columns);
    json_object_set_new(j, "values", json_count(gsv_model_values(m)));
    json_object_set_new(j, "params", json_params(m, gsv_model_value(m), false));
    json_object_set_new(j, "warnings", json_array());
    return j;
}

/* One warning, to standard error or into the JSON. */
static void doubt(const struct args *a, const char *text, size_t length,
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

/* What loglik and fit would refuse, and what they would not look at. */
static int check_use(const struct args *a, const gsv_model *m, json_t *j)
{
    if (gsv_check_likelihood(m)) return complain_last();
    if (gsv_check_fit(m)) {
        const char *why = gsv_last_error();
        doubt(a, why, strlen(why), j);
    }
    char *text = gsv_model_unused(m);
    if (!text) return complain_last();
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
        doubt(a, line, strcspn(line, "\n"), j);
    gsv_text_free(text);
    return EXIT_DONE;
}

/* Which estimator loglik would use. */
static int say_estimator(const struct args *a, const gsv_model *m,
                         const gsv_options *o, json_t *j)
{
    const char *reason = gsv_estimator_reason(m, o);
    if (!reason) return complain_last();
    json_object_set_new(j, "estimator", json_text(reason));
    if (!a->json) say(stdout, "estimator       %s\n", reason);
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
    if (!code) code = say_estimator(a, m, o, j);
    if (!code && a->data) {
        code = check_work(a, m, s, o, j);
    } else if (!code && a->gradient) {
        s = simulated(m, a);
        if (!s) code = complain_last();
        else if (!a->json) putchar('\n');
    }
    if (!code && a->gradient) code = check_gradient(a, m, s, o, j);
    gsv_series_free(s);
    return code;
}

int check_run(const struct args *a)
{
    gsv_options o;
    if (estimator_options(a, &o)) return EXIT_INPUT;
    gsv_model *m = open_model(a, a->model);
    if (!m) return EXIT_INPUT;
    if (a->data || a->gradient) estimator_recall(a, m, &o);
    json_t *j = a->json ? describe_json(m) : json_object();
    int code = check_with(a, m, &o, j);
    if (a->json && code == EXIT_DONE) print_json(j);
    else json_decref(j);
    gsv_model_free(m);
    return code;
}
