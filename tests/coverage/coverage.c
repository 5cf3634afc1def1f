/* SPDX-License-Identifier: MIT */
/* usage: coverage [SETS [MODEL [REFITS]]]
 *
 * Are the intervals of a fit right? SETS data sets (100) of every model, of
 * many rows and of few, are drawn from known values, with a fine step and the
 * seeds 1, 2, ..., and fitted from other ones, on all processors. The program
 * ends with 1 unless, for every model and both lengths,
 *
 *     the 95 % intervals that the fits print, all parameters together, hold
 *     the truth in 91 to 98 % of the cases, or as often as chance explains (3
 *     binomial deviations), and those of no parameter more seldom than that;
 *     every fit succeeded, and has all intervals or says why not, which at most
 *     one in ten does;
 *
 * and, of many rows,
 *
 *     the mean error of every estimate is below 2 of its standard errors;
 *     no noise came out below half of the truth.
 *
 * The last table has for each model and length the share of the intervals that
 * hold the truth, of the fits with all intervals, and the CPU time of a fit.
 *
 * With REFITS, of the short data sets alone, the intervals and the estimates
 * are those of a bootstrap with so many.                                    */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "problems.h"

enum { SETS = 100, MOST_THREADS = 64 };

/* Of one number, over the data sets. */
struct tally {
    size_t fits;
    size_t errors; /* with a standard error */
    size_t covered;
    double z, zz;     /* sums of (estimate - truth) / standard error */
    double estimates; /* their sum                                   */
    double error;     /* sum of the standard errors                  */
    double lowest;    /* estimate / truth                            */
};

/* Of one data set. */
struct outcome {
    bool fitted, flagged;
    double value[MOST_VALUES], error[MOST_VALUES];
    double low[MOST_VALUES], high[MOST_VALUES];
    double seconds; /* of the processor */
    char why[160];
};

struct study {
    const struct problem *problem;
    bool few; /* the short data sets                  */
    size_t tracks, gaps;
    size_t sets, refits;
    struct outcome *outcome; /* (sets)                               */
    atomic_size_t next;      /* set to fit                           */
    size_t failures; /* fits that failed, or lack an interval without a word */
    size_t withheld; /* fits that say why they lack one                      */
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

static gsv_series *draw(const struct study *study, uint64_t seed)
{
    const struct problem *p = study->problem;
    size_t gaps = study->gaps;
    gsv_model *m = gsv_model_parse(p->text, p->name);
    gsv_simulate_options o = gsv_simulate_options_default();
    double *time = malloc((gaps + 2) * sizeof *time);
    gsv_series *all = NULL, *data = NULL;
    if (!m || !time || set_truth(m, p->truth)) goto out;
    time[0] = 0.0;
    for (size_t i = 0; i <= gaps; i++)
        time[i + 1] = p->lead + p->length * (double)i;
    o.times = gaps + 2;
    o.time = time;
    o.tracks = study->tracks;
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

static void keep(const gsv_model *m, struct outcome *out)
{
    const gsv_record *r = gsv_model_record(m);
    size_t bytes = gsv_model_values(m) * sizeof *out->value;
    memcpy(out->value, gsv_model_value(m), bytes);
    memcpy(out->error, r->error_of, bytes);
    memcpy(out->low, r->low, bytes);
    memcpy(out->high, r->high, bytes);
    if (r->bootstrap) {
        const double *row = r->bootstrap;
        size_t n = r->values;
        memcpy(out->value, row + GSV_BOOTSTRAP_CORRECTED * n, bytes);
        memcpy(out->error, row + GSV_BOOTSTRAP_ERROR * n, bytes);
        memcpy(out->low, row + GSV_BOOTSTRAP_LOW * n, bytes);
        memcpy(out->high, row + GSV_BOOTSTRAP_HIGH * n, bytes);
    }
    out->flagged = r->flagged > 0;
    snprintf(out->why, sizeof out->why, "%.*s", (int)strcspn(r->warning, "\n"),
             r->warning);
}

/* Of this thread: the fit has no other. */
static double processor_seconds(void)
{
    struct timespec now = {0};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void refit(const struct study *study, size_t set)
{
    struct outcome *out = &study->outcome[set];
    gsv_fit_options o = gsv_fit_options_default();
    gsv_series *data = draw(study, set + 1);
    gsv_model *m = gsv_model_parse(study->problem->text, study->problem->name);
    o.estimator.threads = 1;
    o.bootstrap = study->refits;
    if (study->problem->known) {
        o.fix = &study->problem->known;
        o.fixed = 1;
    }
    out->seconds = -processor_seconds();
    out->fitted = data && m && !gsv_fit(m, data, &o);
    out->seconds += processor_seconds();
    if (out->fitted) keep(m, out);
    else snprintf(out->why, sizeof out->why, "%s", gsv_last_error());
    gsv_model_free(m);
    gsv_series_free(data);
}

static void *work(void *context)
{
    struct study *study = context;
    for (size_t set; (set = atomic_fetch_add(&study->next, 1)) < study->sets;)
        refit(study, set);
    return NULL;
}

/* All data sets, on all processors. */
static void refit_all(struct study *study)
{
    pthread_t thread[MOST_THREADS];
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    size_t threads = processors > 1 ? (size_t)processors : 1, started = 0;
    if (threads > MOST_THREADS) threads = MOST_THREADS;
    while (started + 1 < threads &&
           !pthread_create(&thread[started], NULL, work, study))
        started++;
    work(study);
    while (started)
        pthread_join(thread[--started], NULL);
}

/* --- What they say -------------------------------------------------------- */

/* False where it has no interval. */
static bool count_number(struct tally *t, const struct outcome *out, size_t i,
                         double truth)
{
    double z = (out->value[i] - truth) / out->error[i];
    if (isnan(out->low[i]) || isnan(out->high[i])) return false;
    t->covered += out->low[i] < truth && truth < out->high[i];
    t->estimates += out->value[i];
    if (!t->fits || out->value[i] / truth < t->lowest)
        t->lowest = out->value[i] / truth;
    t->fits++;
    if (!isfinite(z)) return true;
    t->z += z;
    t->zz += z * z;
    t->error += out->error[i];
    t->errors++;
    return true;
}

/* Above the diagonal of a lower matrix there is nothing to learn, nor of what
 * is known. */
static void count(struct study *study, size_t set, size_t values)
{
    const struct outcome *out = &study->outcome[set];
    const double *truth = study->problem->truth;
    bool good = out->fitted;
    for (size_t i = 0; out->fitted && i < values; i++)
        if (out->value[i] != truth[i] && !isnan(out->value[i]))
            good &= count_number(&study->of[i], out, i, truth[i]);
    study->flagged += out->flagged;
    study->seconds += out->seconds;
    bool said = out->fitted && *out->why;
    study->withheld += !good && said;
    study->failures += !good && !said;
    if (!good)
        fprintf(stderr, "%s, data set %zu: %s\n", study->problem->name, set + 1,
                out->why);
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
    double n = (double)t->fits, k = (double)t->errors, mean = t->z / k;
    double deviation = sqrt((t->zz - k * mean * mean) / (k - 1.0));
    double bias = (t->estimates / n - truth) / (t->error / k);
    bool strength = is_strength(m, param, i);
    char name[64];
    if (t->fits < 2 || t->errors < 2) return;
    element_name(&p, i, sizeof name, name);
    printf("%-9s %8.4f %8.4f %8.4f %8.1f %8.3f %8.2f +- %.2f %6.2f", name,
           truth, t->estimates / n, t->error / k,
           100.0 * (double)t->covered / n, bias, mean, deviation / sqrt(k),
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
    double by_chance = 100.0 * chance((double)v->fits);
    double low = fmin(91.0, 95.0 - 3.0 * by_chance);
    double high = fmax(98.0, 95.0 + 3.0 * by_chance);
    snprintf(what, sizeof what,
             "all %zu intervals together, %.0f to %.0f %% (chance: 95 +- %.1f)",
             v->fits, low, fmin(high, 100.0), by_chance);
    bool good = claim(covered >= low && covered <= high, what, covered, " %");
    good &= claim(v->seldom > -3.0,
                  "lowest of a parameter, in binomial deviations, > -3",
                  v->seldom, "");
    good &= claim(!study->failures,
                  "fits that failed, or lack an interval and a reason, 0",
                  (double)study->failures, "");
    good &= claim(10 * study->withheld <= study->sets,
                  "fits that say why they lack one, at most 10 %",
                  100.0 * (double)study->withheld / (double)study->sets, " %");
    if (study->few) return good;
    good &= claim(v->worst < 2.0, "largest mean error / standard error, < 2",
                  v->worst, "");
    good &= claim(v->collapse >= 0.5, "smallest noise / truth, >= 0.5",
                  v->collapse, "");
    return good;
}

static bool report(const struct study *study, const gsv_model *m,
                   struct verdict *v)
{
    printf("%-9s %8s %8s %8s %8s %8s %16s %6s %8s\n", "", "truth", "mean",
           "stderr", "covered", "bias", "mean z", "sd z", "lowest");
    for (size_t k = 0; k < gsv_model_params(m); k++) {
        gsv_param p = gsv_model_param(m, k);
        for (size_t i = 0; i < p.rows * p.columns; i++)
            print_row(study, m, k, i, v);
    }
    return v->fits && judge(study, v);
}

/* A row of the table at the end. */
struct summary {
    const char *name;
    bool few, good;
    double covered; /* %, of all intervals            */
    double all;     /* %, of fits with all intervals  */
    double seconds; /* of a fit                       */
};

static struct summary summarise(const struct study *study,
                                const struct verdict *v, bool good)
{
    double sets = (double)study->sets;
    double lacking = (double)(study->failures + study->withheld);
    return (struct summary){
        .name = study->problem->name,
        .few = study->few,
        .good = good,
        .covered = 100.0 * (double)v->covered / (double)v->fits,
        .all = 100.0 - 100.0 * lacking / sets,
        .seconds = study->seconds / sets,
    };
}

static void print_summary(size_t n, const struct summary *row)
{
    printf("%-18s %-5s %10s %19s %12s\n", "model", "data", "covered, %",
           "all intervals, %", "CPU s a fit");
    for (size_t i = 0; i < n; i++)
        printf("%-18s %-5s %10.1f %19.0f %12.3f  %s\n", row[i].name,
               row[i].few ? "short" : "long", row[i].covered, row[i].all,
               row[i].seconds, row[i].good ? "" : "FAIL");
}

static struct summary run(const struct problem *p, size_t sets, size_t refits,
                          bool few)
{
    struct verdict v = {.collapse = INFINITY};
    struct study study = {.problem = p,
                          .few = few,
                          .tracks = few ? p->few_tracks : p->tracks,
                          .gaps = few ? p->few : p->gaps,
                          .sets = sets,
                          .refits = refits,
                          .outcome = calloc(sets, sizeof *study.outcome)};
    gsv_model *m = gsv_model_parse(p->text, p->name);
    bool good = false;
    atomic_init(&study.next, 0);
    if (!m) fprintf(stderr, "%s\n", gsv_last_error());
    if (m && study.outcome) {
        printf("%s: %zu series of %zu gaps of %g\n%s\n", p->name, study.tracks,
               study.gaps, p->length, few ? "" : p->text);
        fflush(stdout);
        refit_all(&study);
        for (size_t i = 0; i < sets; i++)
            count(&study, i, gsv_model_values(m));
        good = report(&study, m, &v);
        printf("       %.3f CPU s a fit; fits with gaps not to be trusted: "
               "%zu\n\n",
               study.seconds / (double)sets, study.flagged);
        fflush(stdout);
    }
    free(study.outcome);
    gsv_model_free(m);
    return summarise(&study, &v, good);
}

int main(int argc, char **argv)
{
    long sets = argc > 1 ? strtol(argv[1], NULL, 10) : SETS;
    const char *only = argc > 2 ? argv[2] : NULL;
    long refits = argc > 3 ? strtol(argv[3], NULL, 10) : 0;
    size_t problems = sizeof PROBLEMS / sizeof *PROBLEMS, ran = 0;
    struct summary row[2 * sizeof PROBLEMS / sizeof *PROBLEMS];
    bool good = true;
    if (sets < 2 || refits < 0 || argc > 4) {
        fprintf(stderr, "usage: coverage [SETS [MODEL [REFITS]]]; 2 sets or "
                        "more\n");
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
        if (!refits) row[ran++] = run(&PROBLEMS[i], (size_t)sets, 0, false);
        row[ran++] = run(&PROBLEMS[i], (size_t)sets, (size_t)refits, true);
    }
    print_summary(ran, row);
    for (size_t i = 0; i < ran; i++)
        good &= row[i].good;
    if (!ran) fprintf(stderr, "there is no model %s\n", only);
    return good && ran ? 0 : 1;
}
