/* SPDX-License-Identifier: MIT */
/* usage: coverage [SETS [MODEL]]
 *
 * Are the intervals of a fit right? SETS data sets (100) of every model, of a
 * slow one half as many, are drawn from known values, with a fine step and the
 * seeds 1, 2, ..., and fitted from other ones. The program ends with 1 unless,
 * for every model,
 *
 *     the 95 % intervals, all parameters together, hold the truth in 91 to
 *     98 % of the cases, and those of no parameter so seldom that chance does
 *     not explain it (3 binomial deviations);
 *     the mean error of every estimate is below 2 of its standard errors;
 *     no noise came out below half of the truth;
 *     every fit succeeded.                                                  */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "girsanov.h"

enum { SETS = 100, MOST_VALUES = 8 };

struct problem {
    const char *name;
    const char *text;          /* with the values that fits start from    */
    const char *known;         /* a number that is not learned, or NULL   */
    double truth[MOST_VALUES]; /* in the order of gsv_model_value()       */
    size_t tracks, gaps;       /* gaps of each track                      */
    double length;             /* of a gap                                */
    double step;               /* of the simulation                       */
    double start, spread;      /* first states: mean and deviation        */
    double lead;               /* time before the first observation       */
    size_t share;              /* of the sets is fitted, 1 / it; 0: all   */
};

static const struct problem PROBLEMS[] = {
    {.name = "OU",
     .text = "state x\n"
             "param theta = 0.3 > 0, mu = 0, s = 1.5 > 0\n"
             "dx = theta*(mu - x)*dt + s*dW\n",
     .truth = {1.0, 2.0, 0.5},
     .tracks = 1,
     .gaps = 800,
     .length = 0.5,
     .step = 0.005,
     .start = 2.0,
     .spread = 0.35,
     .lead = 1.0},
    {.name = "matrix OU",
     .text = "state x[2]\n"
             "param A[2,2] = [-0.3, 0, 0, -0.3]\n"
             "param L[2,2] = 1 lower\n"
             "dx = A @ x*dt + L @ dW\n",
     .truth = {-1.0, 0.8, -0.5, -0.7, 0.6, 0.0, 0.2, 0.4},
     .tracks = 1,
     .gaps = 800,
     .length = 0.5,
     .step = 0.005,
     .spread = 0.5,
     .lead = 1.0},
    {.name = "double well",
     .text = "state x\n"
             "param a = 0.3, b = 0.2, s = 1 > 0\n"
             "dx = (a*x - b*x^3)*dt + s*dW\n",
     .truth = {1.0, 1.0, 0.7},
     .tracks = 4,
     .gaps = 200,
     .length = 0.25,
     .step = 0.0025,
     .spread = 1.0,
     .lead = 2.0},
    {.name = "Lorenz",
     .text = "state x, y, z\n"
             "param s = 7, r = 20, b = 2, q = 1 > 0\n"
             "dx = s*(y - x)*dt + q*dW\n"
             "dy = (x*(r - z) - y)*dt + q*dW\n"
             "dz = (x*y - b*z)*dt + q*dW\n",
     .truth = {10.0, 28.0, 8.0 / 3.0, 0.15},
     .tracks = 2,
     .gaps = 100,
     .length = 0.05,
     .step = 0.0005,
     .start = 10.0,
     .spread = 5.0,
     .lead = 5.0},
    {.name = "GBM",
     .text = "state x\n"
             "param mu = 0, s = 1 > 0\n"
             "dx = mu*x*dt + s*x*dW\n",
     .truth = {0.3, 0.4},
     .tracks = 20,
     .gaps = 20,
     .length = 0.1,
     .step = 0.001,
     .start = 1.0,
     .lead = 0.5},
    {.name = "CIR",
     .text = "state r\n"
             "param k = 0.5 > 0, m = 1 > 0, s = 1 > 0\n"
             "dr = k*(m - r)*dt + s*sqrt(r)*dW\n",
     .truth = {1.5, 0.5, 0.6},
     .tracks = 2,
     .gaps = 400,
     .length = 0.25,
     .step = 0.001,
     .start = 0.5,
     .lead = 2.0},
    {.name = "Jacobi",
     .text = "state x\n"
             "param k = 0.5 > 0, m = 0.5 in (0, 1), s = 1 > 0\n"
             "dx = k*(m - x)*dt + s*sqrt(x*(1 - x))*dW\n",
     .truth = {1.0, 0.4, 0.5},
     .tracks = 2,
     .gaps = 400,
     .length = 0.25,
     .step = 0.001,
     .start = 0.4,
     .lead = 2.0},
    {.name = "Heston",
     .text = "state x, v\n"
             "param k = 1 > 0, m = 0.5 > 0, s = 0.3 > 0, r = 0 in (-1, 1)\n"
             "dx = -v/2*dt + sqrt(v)*dW1\n"
             "dv = k*(m - v)*dt + s*sqrt(v)*(r*dW1 + sqrt(1 - r^2)*dW2)\n",
     .truth = {2.0, 0.2, 0.4, -0.6},
     .tracks = 2,
     .gaps = 400,
     .length = 0.1,
     .step = 0.001,
     .start = 0.2,
     .lead = 2.0},
    {.name = "OU, known noise",
     .text = "state x\n"
             "param theta = 0.6 > 0, mu = 1, s = 1 > 0, r = 0.3 > 0\n"
             "init x ~ normal(mu, s/sqrt(2*theta))\n"
             "dx = theta*(mu - x)*dt + s*dW\n"
             "obs y ~ normal(x, r)\n",
     .known = "r",
     .truth = {1.0, 2.0, 0.5, 0.3},
     .tracks = 1,
     .gaps = 200,
     .length = 0.25,
     .step = 0.005,
     .start = 2.0,
     .spread = 0.35,
     .lead = 2.0},
    {.name = "OU, noise",
     .text = "state x\n"
             "param theta = 0.6 > 0, mu = 1, s = 1 > 0, r = 0.5 > 0\n"
             "init x ~ normal(mu, s/sqrt(2*theta))\n"
             "dx = theta*(mu - x)*dt + s*dW\n"
             "obs y ~ normal(x, r)\n",
     .truth = {1.0, 2.0, 0.5, 0.2},
     .tracks = 1,
     .gaps = 200,
     .length = 0.25,
     .step = 0.005,
     .start = 2.0,
     .spread = 0.35,
     .lead = 2.0},
    {.name = "double well, noise",
     .text = "state x\n"
             "param a = 0.6, b = 0.6, s = 1 > 0, r = 0.4 > 0\n"
             "init x ~ normal(0, 1.5)\n"
             "dx = (a*x - b*x^3)*dt + s*dW\n"
             "obs y ~ normal(x, r)\n",
     .truth = {1.0, 1.0, 0.7, 0.2},
     .tracks = 2,
     .gaps = 100,
     .length = 0.25,
     .step = 0.0025,
     .spread = 1.0,
     .lead = 2.0,
     .share = 2},
    {.name = "OU, counts",
     .text = "state x\n"
             "param theta = 0.6 > 0, mu = 1, s = 1 > 0\n"
             "init x ~ normal(mu, s/sqrt(2*theta))\n"
             "dx = theta*(mu - x)*dt + s*dW\n"
             "obs n ~ poisson(0.5*exp(x))\n",
     .truth = {1.0, 2.0, 0.8},
     .tracks = 1,
     .gaps = 200,
     .length = 0.25,
     .step = 0.005,
     .start = 2.0,
     .spread = 0.57,
     .lead = 2.0},
};

/* Of one number, over the data sets. */
struct tally {
    size_t fits;
    size_t covered;
    double z, zz;     /* sums of (estimate - truth) / standard error */
    double estimates; /* their sum                                   */
    double error;     /* sum of the standard errors                  */
    double lowest;    /* estimate / truth                            */
};

struct study {
    const struct problem *problem;
    size_t failures; /* fits that failed, or have no standard errors */
    size_t flagged;  /* with gaps not to be trusted                  */
    double seconds;
    struct tally of[MOST_VALUES];
};

/* --- One data set -------------------------------------------------------- */

/* The simulation without its first row, which lies `lead` before the others:
 * that is where the first states are drawn. */
static gsv_series *without_first(const gsv_series *s)
{
    size_t rows = s->rows - s->tracks, to = 0;
    double *time = malloc(rows * sizeof *time);
    double *value = malloc(rows * s->columns * sizeof *value);
    size_t *start = calloc(s->tracks + 1, sizeof *start);
    gsv_series *result = NULL;
    if (time && value && start) {
        for (size_t r = 0; r < s->tracks; start[++r] = to)
            for (size_t i = s->start[r] + 1; i < s->start[r + 1]; i++, to++) {
                time[to] = s->time[i];
                for (size_t c = 0; c < s->columns; c++)
                    value[c * rows + to] = s->value[c * s->rows + i];
            }
        result = gsv_series_new(s->tracks, start, s->columns,
                                (const char *const *)s->name, time, value);
    }
    free(time);
    free(value);
    free(start);
    return result;
}

/* The truth goes in by name: theta has it without the fixed zeros. */
static int set_truth(gsv_model *m, const double *truth)
{
    int status = 0;
    for (size_t i = 0; !status && i < gsv_model_params(m); i++) {
        gsv_param p = gsv_model_param(m, i);
        status = gsv_model_set(m, p.name, p.rows * p.columns, truth + p.offset);
    }
    return status;
}

static gsv_series *draw(const struct problem *p, uint64_t seed)
{
    gsv_model *m = gsv_model_parse(p->text, p->name);
    gsv_simulate_options o = gsv_simulate_options_default();
    double *time = malloc((p->gaps + 2) * sizeof *time);
    gsv_series *all = NULL, *data = NULL;
    if (!m || !time || set_truth(m, p->truth)) goto out;
    time[0] = 0.0;
    for (size_t i = 0; i <= p->gaps; i++)
        time[i + 1] = p->lead + p->length * (double)i;
    o.times = p->gaps + 2;
    o.time = time;
    o.tracks = p->tracks;
    o.start_mean = p->start;
    o.start_sd = p->spread;
    o.step = p->step;
    o.seed = seed;
    o.threads = 1;
    all = gsv_simulate(m, &o);
    if (all) data = without_first(all);
out:
    gsv_model_free(m);
    gsv_series_free(all);
    free(time);
    return data;
}

/* False where a number has no standard error. */
static bool count(struct study *study, const gsv_model *m)
{
    const gsv_record *r = gsv_model_record(m);
    const double *value = gsv_model_value(m);
    bool silent = false;
    for (size_t i = 0; i < gsv_model_values(m); i++) {
        struct tally *t = &study->of[i];
        double truth = study->problem->truth[i];
        double z = (value[i] - truth) / r->error_of[i];
        /* Above the diagonal of a lower matrix there is nothing to learn, nor
         * of what is known. */
        if (value[i] == truth) continue;
        if (!isfinite(z)) {
            silent = true;
            continue;
        }
        t->covered += r->low[i] < truth && truth < r->high[i];
        t->z += z;
        t->zz += z * z;
        t->estimates += value[i];
        t->error += r->error_of[i];
        if (!t->fits || value[i] / truth < t->lowest)
            t->lowest = value[i] / truth;
        t->fits++;
    }
    study->flagged += r->flagged > 0;
    study->seconds += r->seconds;
    return !silent;
}

static void refit(struct study *study, uint64_t seed)
{
    gsv_fit_options o = gsv_fit_options_default();
    gsv_series *data = draw(study->problem, seed);
    gsv_model *m = gsv_model_parse(study->problem->text, study->problem->name);
    o.estimator.threads = 1;
    if (study->problem->known) {
        o.fix = &study->problem->known;
        o.fixed = 1;
    }
    bool fitted = data && m && !gsv_fit(m, data, &o);
    if (!fitted || !count(study, m)) {
        const char *why =
            fitted ? gsv_model_record(m)->warning : gsv_last_error();
        fprintf(stderr, "%s, data set %lu: %.*s\n", study->problem->name,
                (unsigned long)seed, (int)strcspn(why, "\n"), why);
        study->failures++;
    }
    gsv_model_free(m);
    gsv_series_free(data);
}

/* --- The table ----------------------------------------------------------- */

/* "A[1,2]", or the name alone of a parameter that is a number. */
static void element_name(const gsv_param *p, size_t i, size_t size, char *to)
{
    if (p->rank == 2)
        snprintf(to, size, "%s[%zu,%zu]", p->name, i / p->columns + 1,
                 i % p->columns + 1);
    else snprintf(to, size, "%s", p->name);
}

/* How strong a noise is, not how noises mix: on a diagonal where there is one.
 */
static bool is_strength(const gsv_model *m, size_t param, size_t i)
{
    gsv_param p = gsv_model_param(m, param);
    return gsv_model_is_noise(m, param) &&
           (p.rank < 2 || i / p.columns == i % p.columns);
}

/* The deviation of the share of n intervals that hold the truth. */
static double chance(double n)
{
    return sqrt(0.05 * 0.95 / n);
}

struct verdict {
    size_t fits, covered;
    double seldom; /* lowest coverage, in binomial deviations from 95 %   */
    double worst;  /* largest mean error, in standard errors of one estimate */
    double collapse; /* smallest noise, as a share of the truth            */
};

static void print_row(const struct study *study, const gsv_model *m,
                      size_t param, size_t i, struct verdict *v)
{
    gsv_param p = gsv_model_param(m, param);
    const struct tally *t = &study->of[p.offset + i];
    double truth = study->problem->truth[p.offset + i];
    double n = (double)t->fits, mean = t->z / n;
    double deviation = sqrt((t->zz - n * mean * mean) / (n - 1.0));
    double bias = (t->estimates / n - truth) / (t->error / n);
    bool strength = is_strength(m, param, i);
    char name[64];
    if (t->fits < 2) return;
    element_name(&p, i, sizeof name, name);
    printf("%-9s %8.4f %8.4f %8.4f %8.1f %8.3f %8.2f +- %.2f %6.2f", name,
           truth, t->estimates / n, t->error / n,
           100.0 * (double)t->covered / n, bias, mean, deviation / sqrt(n),
           deviation);
    if (strength) printf(" %8.2f", t->lowest);
    printf("\n");
    v->fits += t->fits;
    v->covered += t->covered;
    v->seldom = fmin(v->seldom, ((double)t->covered / n - 0.95) / chance(n));
    v->worst = fmax(v->worst, fabs(bias));
    if (strength) v->collapse = fmin(v->collapse, t->lowest);
}

static bool claim(bool holds, const char *what, double value, const char *unit)
{
    printf("  %-4s %s: %.2f%s\n", holds ? "ok" : "FAIL", what, value, unit);
    return holds;
}

static bool judge(const struct study *study, const struct verdict *v)
{
    double covered = 100.0 * (double)v->covered / (double)v->fits;
    char what[128];
    snprintf(what, sizeof what,
             "all %zu intervals together, 91 to 98 %% (chance: 95 +- %.1f)",
             v->fits, 100.0 * chance((double)v->fits));
    bool good = claim(covered >= 91.0 && covered <= 98.0, what, covered, " %");
    good &= claim(v->seldom > -3.0,
                  "lowest of a parameter, in binomial deviations, > -3",
                  v->seldom, "");
    good &= claim(v->worst < 2.0, "largest mean error / standard error, < 2",
                  v->worst, "");
    good &= claim(v->collapse >= 0.5, "smallest noise / truth, >= 0.5",
                  v->collapse, "");
    good &= claim(!study->failures,
                  "fits that failed or have no standard errors, 0",
                  (double)study->failures, "");
    return good;
}

static bool report(const struct study *study, const gsv_model *m)
{
    struct verdict v = {.collapse = INFINITY};
    printf("%-9s %8s %8s %8s %8s %8s %16s %6s %8s\n", "", "truth", "mean",
           "stderr", "covered", "bias", "mean z", "sd z", "lowest");
    for (size_t k = 0; k < gsv_model_params(m); k++) {
        gsv_param p = gsv_model_param(m, k);
        for (size_t i = 0; i < p.rows * p.columns; i++)
            print_row(study, m, k, i, &v);
    }
    return v.fits && judge(study, &v);
}

static bool run(const struct problem *p, size_t sets)
{
    struct study study = {.problem = p};
    gsv_model *m = gsv_model_parse(p->text, p->name);
    if (!m) {
        fprintf(stderr, "%s\n", gsv_last_error());
        return false;
    }
    printf("%s: %zu series of %zu gaps of %g\n%s\n", p->name, p->tracks,
           p->gaps, p->length, p->text);
    fflush(stdout);
    if (p->share && sets / p->share >= 2) sets /= p->share;
    for (size_t i = 1; i <= sets; i++)
        refit(&study, i);
    bool good = report(&study, m);
    printf("       %.3f s a fit; fits with gaps not to be trusted: %zu\n\n",
           study.seconds / (double)sets, study.flagged);
    fflush(stdout);
    gsv_model_free(m);
    return good;
}

int main(int argc, char **argv)
{
    long sets = argc > 1 ? strtol(argv[1], NULL, 10) : SETS;
    const char *only = argc > 2 ? argv[2] : NULL;
    size_t problems = sizeof PROBLEMS / sizeof *PROBLEMS, ran = 0;
    bool good = true;
    if (sets < 2 || argc > 3) {
        fprintf(stderr, "usage: coverage [SETS [MODEL]]; 2 sets or more\n");
        return 1;
    }
    printf("%ld data sets of each model. Columns: the truth; means of the "
           "estimates and of\ntheir standard errors; 95 %% intervals that hold "
           "the truth, in %%; mean error in\nstandard errors; mean and "
           "deviation of z = (estimate - truth) / its standard\nerror, which "
           "are 0 and 1 in theory; of noises, the lowest estimate / truth.\n\n",
           sets);
    for (size_t i = 0; i < problems; i++) {
        if (only && strcmp(only, PROBLEMS[i].name)) continue;
        good &= run(&PROBLEMS[i], (size_t)sets);
        ran++;
    }
    if (!ran) fprintf(stderr, "there is no model %s\n", only);
    return good && ran ? 0 : 1;
}
