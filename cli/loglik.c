/* SPDX-License-Identifier: MIT */
/* girsanov loglik: the estimate as a table for people, or as JSON. */
#include <math.h>
#include <string.h>

#include "cli.h"

static json_t *result_json(const gsv_model *m, const gsv_options *o,
                           const gsv_result *r)
{
    char text[120];
    json_t *j = json_object();
    json_object_set_new(j, "loglik", json_number(r->loglik));
    json_object_set_new(j, "stderr", json_number(r->error));
    json_object_set_new(j, "discretisation", json_number(r->discretisation));
    json_object_set_new(j, "ess_min", json_number(r->ess_min));
    json_object_set_new(j, "khat_max", json_number(r->khat_max));
    json_object_set_new(j, "log_bias", json_number(r->log_bias));
    json_object_set_new(j, "flagged", json_integer((json_int_t)r->flagged));
    json_object_set_new(j, "gaps", json_integer((json_int_t)r->gaps));
    json_object_set_new(j, "paths", json_integer((json_int_t)r->paths));
    json_object_set_new(j, "steps", json_integer((json_int_t)r->steps));
    json_object_set_new(j, "drift_evaluations",
                        json_integer((json_int_t)r->drift_evaluations));
    json_object_set_new(j, "seconds", json_number(r->seconds));
    json_object_set_new(j, "joint", json_boolean(o->joint));
    json_object_set_new(j, "reference", json_string(references_used(r, text)));
    json_object_set_new(j, "form", json_string(forms_used(r, text)));
    json_object_set_new(j, "random", json_string(RANDOMS[o->random]));
    if (o->tolerance > 0.0)
        json_object_set_new(j, "settled", json_boolean(r->settled));
    json_object_set_new(j, "seed", json_integer((json_int_t)o->seed));
    json_object_set_new(j, "params", json_params(m, gsv_model_value(m)));
    if (r->gradient)
        json_object_set_new(j, "gradient", json_params(m, r->gradient));
    return j;
}

/* --- For people --------------------------------------------------------- */

/* Digits as far as the standard error lets them mean something. */
static int digits(double error)
{
    if (!(error > 0.0)) return 6;
    double n = 1.0 - floor(log10(error));
    return n < 0.0 ? 0 : n > 9.0 ? 9 : (int)n;
}

/* What rounds to nothing has no sign. */
static double shown(double x, int n)
{
    return fabs(x) < 0.5 * pow(10.0, -n) ? 0.0 : x;
}

static const gsv_gap *worst_gap(const gsv_result *r)
{
    const gsv_gap *worst = r->gap;
    for (size_t i = 1; i < r->groups; i++)
        if (r->gap[i].ess < worst->ess) worst = &r->gap[i];
    return worst;
}

static void print_values(const gsv_model *m, const gsv_result *r)
{
    const double *value = gsv_model_value(m);
    printf("\n%-16s %14s %14s\n", "parameter", "value", "gradient");
    for (size_t i = 0; i < gsv_model_params(m); i++) {
        gsv_param p = gsv_model_param(m, i);
        size_t n = p.rows * p.columns;
        if (p.weight) {
            double square = 0.0;
            for (size_t j = 0; j < n; j++)
                square += r->gradient[p.offset + j] * r->gradient[p.offset + j];
            printf("%-16s %14s %14.6g  (norm of %zu x %zu)\n", p.name, "",
                   sqrt(square), p.rows, p.columns);
            continue;
        }
        for (size_t j = 0; j < n; j++) {
            char name[340];
            if (p.lower && j % p.columns > j / p.columns) continue;
            if (p.rank == 0) snprintf(name, sizeof name, "%s", p.name);
            else if (p.rank == 1)
                snprintf(name, sizeof name, "%s[%zu]", p.name, j + 1);
            else
                snprintf(name, sizeof name, "%s[%zu,%zu]", p.name,
                         j / p.columns + 1, j % p.columns + 1);
            printf("%-16s %14.6g %14.6g\n", name, value[p.offset + j],
                   r->gradient[p.offset + j]);
        }
    }
}

static void print_table(const gsv_model *m, const gsv_series *s,
                        const gsv_options *o, const gsv_result *r)
{
    int n = digits(r->error);
    const gsv_gap *worst = worst_gap(r);
    char text[120];
    printf("log-likelihood  %.*f", n, r->loglik);
    if (isfinite(r->error)) printf(" +- %.*f\n", n, r->error);
    else puts("  (no error from one path)");
    printf("per gap         %.*f\n", n + 1, r->loglik / (double)r->gaps);
    if (isfinite(r->discretisation))
        printf("discretisation  %+.*f  from steps twice as long\n", n,
               shown(r->discretisation, n));
    printf("effective paths %.1f of %zu at worst (series %s, time %g to %g)\n",
           r->ess_min, r->paths, s->label[worst->track], s->time[worst->from],
           s->time[worst->to]);
    printf("work            %zu %s, %zu %s, %s%zu %s: %llu drift evaluations, "
           "%.3g s\n",
           r->gaps, r->gaps == 1 ? "gap" : "gaps", r->paths,
           r->paths == 1 ? "path" : "paths", o->step > 0.0 ? "up to " : "",
           r->steps, r->steps == 1 ? "step" : "steps",
           (unsigned long long)r->drift_evaluations, r->seconds);
    printf("estimator       %s, reference %s, ", o->joint ? "joint" : "per gap",
           references_used(r, text));
    printf("form %s, random %s, seed %llu\n", forms_used(r, text),
           RANDOMS[o->random], (unsigned long long)o->seed);
    if (r->gradient) print_values(m, r);
}

/* When the answer is not to be trusted, it is said. */
static void warn(const gsv_options *o, const gsv_result *r)
{
    say_effort(o, r);
    if (r->flagged)
        fprintf(stderr,
                "warning: %zu of %zu %s not to be trusted; 'girsanov "
                "diagnose' names them and says what to do\n",
                r->flagged, r->groups, o->joint ? "series are" : "gaps are");
    double far = fmax(fmax(3.0 * r->error, 0.1), 0.02 * (double)r->gaps);
    if (fabs(r->discretisation) > far)
        fprintf(stderr,
                "warning: the steps are too long: the log-likelihood moves by "
                "%+.3g when they double; take more --steps\n",
                r->discretisation);
}

int loglik_run(const struct args *a)
{
    gsv_options o;
    gsv_result r = {0};
    gsv_series *s = NULL;
    if (estimator_options(a, &o)) return EXIT_INPUT;
    gsv_model *m = open_model(a);
    if (!m) return EXIT_INPUT;
    int code = EXIT_INPUT;
    s = open_data(a, m);
    if (!s) goto done;
    if (gsv_loglik(m, s, &o, &r)) {
        code = complain_last();
        goto done;
    }
    code = EXIT_DONE;
    if (a->json) code = print_json(result_json(m, &o, &r));
    else print_table(m, s, &o, &r);
    if (!a->quiet) warn(&o, &r);
done:
    gsv_result_free(&r);
    gsv_series_free(s);
    gsv_model_free(m);
    return code;
}
