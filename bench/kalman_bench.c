/* SPDX-License-Identifier: MIT */
/* Times a linear model with normal observations, 300 rows, on one thread: the
 * log-likelihood, the same with its gradient, and a fit. The gaps are equal, or
 * all different. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "girsanov.h"

enum { ROWS = 300, RUNS = 20 };

static const struct problem {
    const char *name, *text;
} PROBLEMS[] = {
    {"local level", "state x\nparam s = 1 > 0, e = 1 > 0\ndx = s*dW\n"
                    "obs y ~ normal(x, e)\ninit x ~ normal(0, 1000)\n"},
    {"oscillator, seen in x",
     "state x, v\nparam k = 2 > 0, c = 0.3 > 0, s = 0.5 > 0, e = 0.2 > 0\n"
     "dx = v*dt + 0.1*dW\ndv = (-k*x - c*v)*dt + s*dW\n"
     "obs y ~ normal(x, e)\ninit x ~ normal(0, 1)\ninit v ~ normal(0, 1)\n"},
    {"two-factor Vasicek, 4 yields",
     "state r, u\nparam a = 0.5 > 0, b = 0.1 > 0, m = 0.03\n"
     "param s = 0.02 > 0, q = 0.01 > 0, e = 0.002 > 0\n"
     "dr = (a*(m - r) + u)*dt + s*dW\ndu = -b*u*dt + q*dW\n"
     "obs y[4] ~ normal(r*[0.9, 0.6, 0.4, 0.2] + u*[0.5, 1, 1.2, 1.1], e)\n"
     "init r ~ normal(0.03, 0.1)\ninit u ~ normal(0, 0.1)\n"},
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *must(void *p)
{
    if (p) return p;
    fprintf(stderr, "kalman_bench: %s\n", gsv_last_error());
    exit(1);
}

static double fastest(const gsv_model *m, const gsv_series *s, bool gradient)
{
    double best = INFINITY;
    gsv_options o = gsv_options_default();
    o.gradient = gradient;
    o.threads = 1;
    for (int i = 0; i < RUNS; i++) {
        gsv_result r;
        double begin = now();
        if (gsv_loglik(m, s, &o, &r)) must(NULL);
        best = fmin(best, now() - begin);
        gsv_result_free(&r);
    }
    return best;
}

static double fit_time(gsv_model *m, const gsv_series *s)
{
    gsv_fit_options o = gsv_fit_options_default();
    o.estimator.threads = 1;
    double begin = now();
    if (gsv_fit(m, s, &o)) must(NULL);
    return now() - begin;
}

static void measure(const struct problem *p, bool irregular)
{
    double time[ROWS];
    for (int i = 0; i < ROWS; i++)
        time[i] = 0.25 * (i + (irregular ? 0.4 * sin(7.0 * i) : 0.0));
    gsv_model *m = must(gsv_model_parse(p->text, p->name));
    gsv_simulate_options o = gsv_simulate_options_default();
    o.times = ROWS;
    o.time = time;
    gsv_series *s = must(gsv_simulate(m, &o));
    double value = fastest(m, s, false), both = fastest(m, s, true);
    printf("%-30s %-9s value %6.3f ms, with gradient %6.3f ms, fit %6.1f ms\n",
           p->name, irregular ? "irregular" : "regular", 1e3 * value,
           1e3 * both, 1e3 * fit_time(m, s));
    gsv_series_free(s);
    gsv_model_free(m);
}

int main(void)
{
    for (size_t i = 0; i < sizeof PROBLEMS / sizeof *PROBLEMS; i++)
        for (int irregular = 0; irregular < 2; irregular++)
            measure(&PROBLEMS[i], irregular);
    return 0;
}
