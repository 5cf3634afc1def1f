/* SPDX-License-Identifier: MIT */
/* girsanov profile: the log-likelihood with one parameter fixed at several
 * values, and its 95 % interval. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

/* 2 (max - l) has the chi-square distribution with one degree of freedom, whose
 * 95 % quantile is 1.96^2. */
static const double ROOT = 1.959963984540054;

struct profile {
    struct number number;
    char name[NAME_ROOM];
    double estimate;
    size_t n;
    double *value, *loglik; /* (n), yours */
    size_t at;              /* the current value: 1 ... n */
    size_t best;
    double low, high; /* NaN if an end is open */
};

/* --- The values ---------------------------------------------------------- */

/* The bounds of the number; the diagonal of a triangular matrix is positive. */
static void find_bounds(const struct number *n, double *low, double *high)
{
    bool diagonal = n->param.lower && n->j % (n->param.columns + 1) == 0;
    *low = diagonal ? 0.0 : n->param.low;
    *high = n->param.high;
}

/* To the scale without bounds, and back; the same map as in a fit. */
static double to_free(double v, double low, double high)
{
    if (isinf(low) && isinf(high)) return v;
    if (isinf(high)) return log(v - low);
    if (isinf(low)) return -log(high - v);
    return log((v - low) / (high - v));
}

static double from_free(double u, double low, double high)
{
    if (isinf(low) && isinf(high)) return u;
    if (isinf(high)) return low + exp(u);
    if (isinf(low)) return high - exp(-u);
    return low + (high - low) / (1.0 + exp(-u));
}

/* du / dv */
static double free_slope(double v, double low, double high)
{
    double slope = 0.0;
    if (isinf(low) && isinf(high)) return 1.0;
    if (!isinf(low)) slope += 1.0 / (v - low);
    if (!isinf(high)) slope += 1.0 / (high - v);
    return slope;
}

/* Three standard errors to both sides, on the scale without bounds. */
static int spread_errors(struct profile *p, const gsv_record *r)
{
    double error = r ? r->error_of[p->number.at] : NAN, low, high;
    if (!isfinite(error) || !(error > 0.0))
        return complain(EXIT_INPUT,
                        "'%s' has no standard error, which sets the range; "
                        "give --range A:B",
                        p->name);
    find_bounds(&p->number, &low, &high);
    double middle = to_free(p->estimate, low, high);
    double reach = 3.0 * error * free_slope(p->estimate, low, high);
    for (size_t i = 0; i < p->n; i++) {
        double share = 2.0 * (double)i / (double)(p->n - 1) - 1.0;
        p->value[i] = from_free(middle + share * reach, low, high);
    }
    if (p->n % 2) p->value[p->n / 2] = p->estimate;
    return 0;
}

static int spread_range(struct profile *p, const char *text)
{
    double first, last, low, high;
    size_t n = 0;
    if (!parse_range(text, &first, &last, &n) || n)
        return complain(EXIT_INPUT, "--range %s: expected A:B with A < B",
                        text);
    find_bounds(&p->number, &low, &high);
    if (first <= low || last >= high)
        return complain(EXIT_INPUT,
                        "--range %s: the values of '%s' must be above %g and "
                        "below %g",
                        text, p->name, low, high);
    for (size_t i = 0; i < p->n; i++)
        p->value[i] = first + (last - first) * (double)i / (double)(p->n - 1);
    return 0;
}

static int choose_values(const struct args *a, const gsv_model *m,
                         struct profile *p)
{
    p->n = a->points;
    if (p->n < 3)
        return complain(EXIT_INPUT, "--points %zu: expected at least 3", p->n);
    if (!a->param)
        return complain(EXIT_INPUT, "--param NAME is missing: the parameter");
    if (find_number(m, "--param", a->param, &p->number)) return EXIT_INPUT;
    number_name(&p->number, p->name);
    p->estimate = gsv_model_value(m)[p->number.at];
    p->value = malloc(p->n * sizeof *p->value);
    p->loglik = malloc(p->n * sizeof *p->loglik);
    if (!p->value || !p->loglik) return complain_memory();
    if (a->range) return spread_range(p, a->range);
    return spread_errors(p, gsv_model_record(m));
}

/* --- The interval -------------------------------------------------------- */

static double drop(const struct profile *p, size_t i)
{
    return p->loglik[p->best] - p->loglik[i];
}

/* From the best value to one side: where the root of twice the drop, which is
 * linear for a parabola, reaches ROOT. NaN if it never does. */
static double find_end(const struct profile *p, int side)
{
    size_t last = side < 0 ? 0 : p->n - 1;
    for (size_t i = p->best; i != last;) {
        size_t next = side < 0 ? i - 1 : i + 1;
        double a = sqrt(2.0 * drop(p, i)), b = sqrt(2.0 * drop(p, next));
        if (b >= ROOT)
            return p->value[i] +
                   (p->value[next] - p->value[i]) * (ROOT - a) / (b - a);
        i = next;
    }
    return NAN;
}

static int find_interval(struct profile *p)
{
    p->best = p->n;
    for (size_t i = 0; i < p->n; i++)
        if (isfinite(p->loglik[i]) &&
            (p->best == p->n || p->loglik[i] > p->loglik[p->best]))
            p->best = i;
    if (p->best == p->n)
        return complain(EXIT_NUMBERS,
                        "the log-likelihood is finite at none of the values; "
                        "give another --range");
    p->low = find_end(p, -1);
    p->high = find_end(p, +1);
    return 0;
}

/* --- Output --------------------------------------------------------------- */

static void print_interval(const struct profile *p)
{
    double first = p->value[0], last = p->value[p->n - 1];
    say(stdout, "95 %% interval of %s: ", p->name);
    if (isnan(p->low) && isnan(p->high))
        say(stdout,
            "open at both ends: all values from %.6g to %.6g are inside; give "
            "a wider --range\n",
            first, last);
    else if (isnan(p->low))
        say(stdout,
            "below %.6g, open below: %.6g is inside; give a wider --range\n",
            p->high, first);
    else if (isnan(p->high))
        say(stdout,
            "above %.6g, open above: %.6g is inside; give a wider --range\n",
            p->low, last);
    else say(stdout, "%.6g to %.6g\n", p->low, p->high);
}

static void print_profile(const struct profile *p)
{
    say(stdout, "%14s %16s %12s\n", p->name, "log-likelihood", "drop");
    for (size_t i = 0; i < p->n; i++)
        say(stdout, "%14.6g %16.4f %12.4f\n", p->value[i], p->loglik[i],
            shown(drop(p, i), 4));
    putchar('\n');
}

static int write_csv(const struct profile *p, const char *path)
{
    struct draft d;
    if (draft_open(&d, path)) return EXIT_INPUT;
    fputs("value,loglik,drop\n", d.out);
    for (size_t i = 0; i < p->n; i++) {
        put_number(p->value[i], d.out);
        put_cell(p->loglik[i], d.out);
        put_cell(drop(p, i), d.out);
        putc('\n', d.out);
    }
    return draft_close(&d, true);
}

static json_t *profile_json(const struct profile *p)
{
    json_t *j = json_object(), *drops = json_array();
    for (size_t i = 0; i < p->n; i++)
        json_array_append_new(drops, json_number(drop(p, i)));
    add_text(j, "param", p->name);
    add_number(j, "estimate", p->estimate);
    add_number(j, "low", p->low);
    add_number(j, "high", p->high);
    json_object_set_new(j, "value", json_row(p->n, p->value));
    json_object_set_new(j, "loglik", json_row(p->n, p->loglik));
    json_object_set_new(j, "drop", drops);
    return j;
}

static int plot_profile(const struct profile *p, const char *path)
{
    struct plot plot;
    if (plot_open(&plot, path, 720, 480)) return EXIT_INPUT;
    FILE *to = plot.to;
    fputs("$profile << EOD\n", to);
    for (size_t i = 0; i < p->n; i++)
        fprintf(to, "%.10g %.10g\n", p->value[i], -drop(p, i));
    fputs("EOD\nunset key\n", to);
    double first = p->value[0], last = p->value[p->n - 1];
    fprintf(to,
            "set xrange [%.10g:%.10g]\nset yrange [*:0.3]\n"
            "set object rectangle from first %.10g, graph 0 to first %.10g, "
            "graph 1 behind fc rgb '#e9f0f8' fs noborder\n"
            "set label ' 95 %%' at graph 0.99, first %.4f right offset 0,0.6 "
            "textcolor rgb '#888888'\n",
            first, last, isnan(p->low) ? first : p->low,
            isnan(p->high) ? last : p->high, -0.5 * ROOT * ROOT);
    fputs("set xlabel ", to);
    plot_text(p->name, to);
    fprintf(to,
            "\nset ylabel 'log-likelihood below its largest'\n"
            "plot %.6f with lines dt 2 lw 1.2 lc rgb '#888888', $profile "
            "using 1:2 smooth csplines lt 1, $profile using 1:2 with points "
            "pt 7 ps 0.5 lc rgb '#1f5fa8'\n",
            -0.5 * ROOT * ROOT);
    return plot_close(&plot, true);
}

static int report(const struct args *a, const struct profile *p)
{
    if (!ranks_writes(a)) return EXIT_DONE;
    int code = a->output ? write_csv(p, a->output) : 0;
    if (!code && a->plot) code = plot_profile(p, a->plot);
    if (code) return code;
    if (a->json) return print_json(profile_json(p));
    bool table = !a->output;
    if (table) print_profile(p);
    if (table || strcmp(a->output, "-")) print_interval(p);
    say_plot(a);
    return EXIT_DONE;
}

/* --- The verb ----------------------------------------------------------- */

/* The current value, on a terminal. */
static bool show(void *user, const gsv_progress *now)
{
    struct profile *p = user;
    double held = gsv_model_value(now->model)[p->number.at];
    size_t at = 0;
    for (size_t i = 1; i < p->n; i++)
        if (fabs(p->value[i] - held) < fabs(p->value[at] - held)) at = i;
    if (p->at == at + 1) return false;
    p->at = at + 1;
    redraw("%s = %.6g: %zu of %zu", p->name, p->value[at], p->at, p->n);
    return false;
}

static int run_with(const struct args *a, gsv_model *m, struct profile *p)
{
    gsv_fit_options o = a->fit;
    o.estimator = estimator_options(a);
    estimator_recall(a, m, &o.estimator);
    o.heldout = 0.0;
    if (isatty(STDERR_FILENO) && !a->quiet) {
        o.progress = show;
        o.user = p;
    }
    int code = choose_values(a, m, p);
    if (code) return code;
    gsv_series *s = open_data(a, m);
    if (!s) return EXIT_INPUT;
    say_shared(a, m, &o.estimator);
    say_idle(a, m, s, &o.estimator);
    int status = gsv_profile(m, s, &o, p->name, p->n, p->value, p->loglik);
    if (p->at) fputs("\r\033[K", stderr);
    if (status) code = complain_last();
    gsv_series_free(s);
    if (!code) code = find_interval(p);
    return code ? code : report(a, p);
}

int profile_run(const struct args *a, gsv_model *m)
{
    struct profile p = {0};
    int code = run_with(a, m, &p);
    free(p.value);
    free(p.loglik);
    return code;
}
