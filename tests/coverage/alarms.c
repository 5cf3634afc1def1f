/* SPDX-License-Identifier: MIT */
/* usage: alarms [SETS [MODEL [FIRST]]]
 *
 * How often do the residuals of a true model alarm? SETS data sets (1000) of
 * every model are drawn with the seeds 1, 2, ... (FIRST, FIRST + 1, ...), and
 * their residuals are tested at the true values. Prints the share of p < 0.01
 * of the three tests: Kolmogorov-Smirnov of the probabilities, Ljung-Box of z
 * and of z^2. Ends with 1 unless each is between 0.5 and 1.5 %, or as near to 1
 * % as chance explains (3 binomial deviations). */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "girsanov.h"

enum { SETS = 1000, TESTS = 3, MOST_ROWS = 101 };

struct problem {
    const char *name, *text;
    size_t tracks, rows;
    double gap, start, spread;
};

static const struct problem PROBLEMS[] = {
    {"OU, one series", "state x\n dx = -x*dt + 0.5*dW\n", 1, 101, 0.5, 0.0,
     0.35},
    {"OU, panel", "state x\n dx = -x*dt + 0.5*dW\n", 25, 4, 0.5, 0.0, 0.35},
    {"OU, noise",
     "state x\n init x ~ normal(0, 0.35)\n dx = -x*dt + 0.5*dW\n"
     "obs y ~ normal(x, 0.2)\n",
     1, 60, 0.25, 0.0, 0.35},
    {"double well", "state x\n dx = (x - x^3)*dt + 0.7*dW\n", 1, 40, 0.5, 0.5,
     0.5},
    {"logistic, panel", "state x\n dx = x*(1 - x/3)*dt + 0.3*x*dW\n", 25, 4,
     0.5, 2.0, 0.0},
    {"two states",
     "state x, y\n dx = (y - x)*dt + 0.5*dW\n dy = -x*dt + 0.3*dW\n", 2, 40,
     0.25, 0.0, 0.4},
};

/* The three p values of every column, added to alarms; columns are counted. */
static bool test_set(const struct problem *p, const gsv_model *m, uint64_t seed,
                     size_t *columns, size_t *alarms)
{
    gsv_simulate_options o = gsv_simulate_options_default();
    gsv_predict_options q = gsv_predict_options_default();
    gsv_residuals_result r;
    double time[MOST_ROWS];
    for (size_t i = 0; i < p->rows; i++)
        time[i] = p->gap * (double)i;
    o.times = p->rows;
    o.time = time;
    o.tracks = p->tracks;
    o.start_mean = p->start;
    o.start_sd = p->spread;
    o.seed = q.seed = seed;
    o.threads = q.threads = 1;
    gsv_series *s = gsv_simulate(m, &o);
    bool good = s && !gsv_residuals(m, s, &q, &r);
    gsv_series_free(s);
    if (!good) return false;
    for (size_t c = 0; c < r.columns; c++) {
        const gsv_residual *one = &r.column[c];
        alarms[0] += one->uniform_p < 0.01;
        alarms[1] += one->ljung_p < 0.01;
        alarms[2] += one->square_p < 0.01;
    }
    *columns += r.columns;
    gsv_residuals_free(&r);
    return true;
}

static bool run(const struct problem *p, size_t sets, uint64_t first)
{
    size_t columns = 0, alarms[TESTS] = {0};
    gsv_model *m = gsv_model_parse(p->text, p->name);
    bool good = m;
    for (size_t i = 0; good && i < sets; i++)
        good = test_set(p, m, first + i, &columns, alarms);
    gsv_model_free(m);
    if (!good) {
        fprintf(stderr, "%s: %s\n", p->name, gsv_last_error());
        return false;
    }
    double n = (double)columns, by_chance = 3.0 * sqrt(0.01 * 0.99 / n);
    printf("%-16s %4zu x %-4zu %6zu", p->name, p->tracks, p->rows, columns);
    for (int i = 0; i < TESTS; i++) {
        double share = (double)alarms[i] / n;
        good = good && fabs(share - 0.01) <= fmax(0.005, by_chance);
        printf(" %10.2f", 100.0 * share);
    }
    printf("  %s\n", good ? "ok" : "FAIL");
    return good;
}

int main(int argc, char **argv)
{
    long sets = argc > 1 ? strtol(argv[1], NULL, 10) : SETS;
    bool good = true;
    const char *only = argc > 2 ? argv[2] : NULL;
    long first = argc > 3 ? strtol(argv[3], NULL, 10) : 1;
    if (sets < 1 || first < 0 || argc > 4) {
        fprintf(stderr, "usage: alarms [SETS [MODEL [FIRST]]]\n");
        return 1;
    }
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    printf("%-16s %11s %6s %10s %10s %10s  %% with p < 0.01\n", "model",
           "series", "tests", "uniform", "z", "z^2");
    for (size_t i = 0; i < sizeof PROBLEMS / sizeof *PROBLEMS; i++)
        if (!only || !strcmp(only, PROBLEMS[i].name))
            good &= run(&PROBLEMS[i], (size_t)sets, (uint64_t)first);
    return good ? 0 : 1;
}
