/* SPDX-License-Identifier: MIT */
/* girsanov loglik: the estimate as text or as JSON. */
#include <math.h>
#include <stdlib.h>

#include "cli.h"

static json_t *result_json(const gsv_model *m, const gsv_options *o,
                           const gsv_result *r)
{
    char text[120];
    json_t *j = json_object();
    json_estimate(r, j);
    add_count(j, "flagged", r->flagged);
    add_count(j, "gaps", r->gaps);
    add_count(j, "paths", r->paths);
    add_count(j, "steps", r->steps);
    add_count(j, "drift_evaluations", r->drift_evaluations);
    add_number(j, "seconds", r->seconds);
    add_bool(j, "joint", o->joint);
    add_text(j, "reference", references_used(r, text));
    add_text(j, "form", forms_used(r, text));
    add_text(j, "random", option_word("--random", (int)o->random));
    if (r->observe)
        add_text(j, "observe", option_word("--observe", (int)r->observe));
    if (o->tolerance > 0.0) add_bool(j, "settled", r->settled);
    add_count(j, "seed", o->seed);
    json_object_set_new(j, "params", json_params(m, gsv_model_value(m), false));
    if (r->gradient)
        json_object_set_new(j, "gradient", json_params(m, r->gradient, true));
    return j;
}

/* --- Over functions ------------------------------------------------------- */

/* The mean density of each gap over functions drawn from the posterior. */
struct predictive {
    size_t draws, groups;
    double *top, *sum, *square; /* (groups) largest log density; sums of the
                                 * densities, and of their squares, over it */
    double loglik, error;
};

static void predictive_add(struct predictive *p, const gsv_result *r)
{
    for (size_t i = 0; i < p->groups; i++) {
        double l = r->gap[i].loglik, fall = exp(p->top[i] - fmax(l, p->top[i]));
        p->top[i] = fmax(l, p->top[i]);
        double w = exp(l - p->top[i]);
        p->sum[i] = fall * p->sum[i] + w;
        p->square[i] = fall * fall * p->square[i] + w * w;
    }
}

/* The error by the delta method, as if the draws of gaps were independent. */
static void predictive_end(struct predictive *p)
{
    double n = (double)p->draws, variance = 0.0;
    for (size_t i = 0; i < p->groups; i++) {
        double mean = p->sum[i] / n, square = p->square[i] / n;
        p->loglik += p->top[i] + log(mean);
        variance += fmax(square / (mean * mean) - 1.0, 0.0) / n;
    }
    p->error = sqrt(variance);
}

static int predictive_init(struct predictive *p, size_t draws, size_t groups)
{
    *p = (struct predictive){.draws = draws, .groups = groups};
    p->top = malloc((3 * groups + 1) * sizeof *p->top);
    if (!p->top) {
        complain_memory();
        return EXIT_NUMBERS;
    }
    p->sum = p->top + groups;
    p->square = p->sum + groups;
    for (size_t i = 0; i < groups; i++) {
        p->top[i] = -INFINITY;
        p->sum[i] = p->square[i] = 0.0;
    }
    return 0;
}

static int predict_data(const struct args *a, const gsv_model *m,
                        const gsv_series *s, gsv_options o, size_t groups,
                        struct predictive *p)
{
    gsv_functions *q = gsv_functions_new(m);
    gsv_model *drawn = q ? open_model(a, a->model) : NULL;
    int code = drawn ? predictive_init(p, a->functions, groups) : EXIT_INPUT;
    if (!q) complain_last();
    o.gradient = false;
    for (size_t i = 0; i < a->functions && !code; i++) {
        gsv_result r = {0};
        if (gsv_functions_draw(q, drawn, o.seed, i) ||
            gsv_loglik(drawn, s, &o, &r))
            code = complain_last();
        else predictive_add(p, &r);
        gsv_result_free(&r);
    }
    if (!code) predictive_end(p);
    gsv_model_free(drawn);
    gsv_functions_free(q);
    return code;
}

static int report_json(const gsv_model *m, const gsv_series *s,
                       const gsv_options *o, const gsv_result *r,
                       const struct predictive *p)
{
    json_t *j = result_json(m, o, r);
    if (p->draws) {
        add_number(j, "predictive", p->loglik);
        add_number(j, "predictive_stderr", p->error);
        add_count(j, "drawn", p->draws);
    }
    if (put_functions(j, m, s, false)) {
        json_decref(j);
        return EXIT_NUMBERS;
    }
    return print_json(j);
}

/* --- Text ----------------------------------------------------------------- */

static const gsv_gap *worst_gap(const gsv_result *r)
{
    const gsv_gap *worst = r->gap;
    for (size_t i = 1; i < r->groups; i++)
        if (r->gap[i].ess < worst->ess) worst = &r->gap[i];
    return worst;
}

/* The norm of the gradient by a layer of a network. */
static void print_layer(const gsv_param *p, const double *gradient)
{
    double square = 0.0;
    for (size_t j = 0; j < p->rows * p->columns; j++)
        square += gradient[p->offset + j] * gradient[p->offset + j];
    say(stdout, "%-16s %14s %14.6g  (norm of %zu x %zu)\n", p->name, "",
        sqrt(square), p->rows, p->columns);
}

static int print_gradient(const gsv_model *m, const double *gradient)
{
    size_t count;
    struct number *list = model_numbers(m, &count);
    if (!list) return EXIT_NUMBERS;
    say(stdout, "\n%-16s %14s %14s\n", "parameter", "value", "gradient");
    for (size_t i = 0; i < count; i++) {
        char name[NAME_ROOM];
        say(stdout, "%-16s %14.6g %14.6g\n", number_name(&list[i], name),
            gsv_model_value(m)[list[i].at], gradient[list[i].at]);
    }
    for (size_t i = 0; i < gsv_model_params(m); i++) {
        gsv_param p = gsv_model_param(m, i);
        if (p.weight || (p.gp && p.rank == 2)) print_layer(&p, gradient);
    }
    free(list);
    return EXIT_DONE;
}

/* Without points and random numbers. */
static void print_work_exact(const gsv_result *r)
{
    const char *unit = r->observe ? "row" : "gap";
    say(stdout,
        "work            %zu %s%s, %zu step%s a %s: %llu drift evaluations, "
        "%.3g s\n",
        r->gaps, unit, plural(r->gaps), r->steps, plural(r->steps), unit,
        (unsigned long long)r->drift_evaluations, r->seconds);
    say(stdout, "estimator       %s: no random numbers%s\n",
        r->observe ? option_word("--observe", (int)r->observe)
                   : "per gap, form exact",
        is_exact(r) ? ", no error of steps" : "");
}

static void print_work(const gsv_options *o, const gsv_result *r)
{
    char text[120];
    bool open = !r->observe && !o->steps && r->steps > 8;
    say(stdout,
        "work            %zu %s%s, %zu %s%s, %s%zu step%s%s: %llu drift "
        "evaluations, %.3g s\n",
        r->gaps, r->observe ? "row" : "gap", plural(r->gaps), r->paths,
        r->observe ? "point" : "path", plural(r->paths),
        o->step > 0.0 || open ? "up to " : "", r->steps, plural(r->steps),
        r->observe ? " a row" : "", (unsigned long long)r->drift_evaluations,
        r->seconds);
    if (r->observe) {
        say(stdout, "estimator       %s, seed %llu\n",
            option_word("--observe", (int)r->observe),
            (unsigned long long)o->seed);
        return;
    }
    say(stdout, "estimator       %s, reference %s, ",
        o->joint ? "joint" : "per gap", references_used(r, text));
    say(stdout, "form %s, random %s, seed %llu\n", forms_used(r, text),
        option_word("--random", (int)o->random), (unsigned long long)o->seed);
}

static int print_table(const gsv_model *m, const gsv_series *s,
                       const gsv_options *o, const gsv_result *r,
                       const struct predictive *p)
{
    int n = digits(r->error);
    const gsv_gap *worst = worst_gap(r);
    say(stdout, "log-likelihood  %.*f", n, r->loglik);
    if (!has_weights(r)) puts(is_exact(r) ? "  (exact)" : "");
    else if (isfinite(r->error)) say(stdout, " +- %.*f\n", n, r->error);
    else puts("  (no standard error with one path)");
    say(stdout, "per %s         %.*f\n", r->observe ? "row" : "gap", n + 1,
        r->loglik / (double)r->gaps);
    if (p->draws)
        say(stdout, "over functions  %.*f +- %.*f  (%zu drawn)\n",
            digits(p->error), p->loglik, digits(p->error), p->error, p->draws);
    if (isfinite(r->discretisation))
        say(stdout, "discretisation  %+.*f  from steps twice as long\n", n,
            shown(r->discretisation, n));
    put_quadrature(r->nodes, r->quadrature, stdout);
    if (has_weights(r))
        say(stdout,
            "effective %s %.1f of %zu at worst (series %s, time %g to %g)\n",
            r->observe ? "size " : "paths", r->ess_min, r->paths,
            s->label[worst->track], s->time[worst->from], s->time[worst->to]);
    if (has_weights(r)) print_work(o, r);
    else print_work_exact(r);
    return r->gradient ? print_gradient(m, r->gradient) : EXIT_DONE;
}

static void warn(const struct args *a, const gsv_options *o,
                 const gsv_result *r)
{
    say_effort(a, o, r);
    if (r->flagged)
        say(stderr,
            "warning: %zu of %zu %s cannot be trusted; 'girsanov "
            "diagnose' lists them and says what to do\n",
            r->flagged, r->groups, unit_of(o, r));
    if (steps_are_long(r))
        say(stderr,
            "warning: the steps are too long: the log-likelihood changes by "
            "%+.3g when they double; use more --steps\n",
            r->discretisation);
}

static int report(const struct args *a, const gsv_model *m, const gsv_series *s,
                  const gsv_options *o, const gsv_result *r,
                  const struct predictive *p)
{
    int code =
        a->json ? report_json(m, s, o, r, p) : print_table(m, s, o, r, p);
    warn(a, o, r);
    return code ? code : say_functions(a, m, s, false);
}

int loglik_run(const struct args *a, gsv_model *m)
{
    gsv_options o = estimator_options(a);
    gsv_result r = {0};
    struct predictive p = {0};
    gsv_series *s = open_data(a, m);
    if (!s) return EXIT_INPUT;
    estimator_recall(a, m, &o);
    say_shared(a, m, &o);
    say_idle(a, m, s, &o);
    int code = gsv_loglik(m, s, &o, &r) ? complain_last() : 0;
    if (!code && a->functions) code = predict_data(a, m, s, o, r.groups, &p);
    if (!code && ranks_writes(a)) code = report(a, m, s, &o, &r, &p);
    free(p.top);
    gsv_result_free(&r);
    gsv_series_free(s);
    return code;
}
