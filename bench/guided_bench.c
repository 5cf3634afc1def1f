/* SPDX-License-Identifier: MIT */
/* usage: guided_bench
 *
 * Times the guided filter with 1024 particles on one series of 500 rows: the
 * seconds on 1 thread and on 2, one after the other, and their ratio. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "girsanov.h"

enum { ROWS = 500, PARTICLES = 1024, STEPS = 4, RUNS = 9 };

static const struct problem {
    const char *name, *text;
    double end;
} PROBLEMS[] = {
    {"Lorenz, seen with noise",
     "state x, y, z\nparam s = 10, r = 28, b = 2.667, q = 2 > 0, e = 1 > 0\n"
     "dx = s*(y - x)*dt + q*dW\ndy = (x*(r - z) - y)*dt + q*dW\n"
     "dz = (x*y - b*z)*dt + q*dW\ninit x ~ normal(1, 3)\n"
     "init y ~ normal(1, 3)\ninit z ~ normal(20, 5)\n"
     "obs u ~ normal(x, e)\nobs v ~ normal(y, e)\nobs w ~ normal(z, e)\n",
     25.0},
    {"Lotka-Volterra, chemical Langevin",
     "state x, y\nparam a = 0.5 > 0, b = 0.0025 > 0, c = 0.3 > 0, e = 10 > 0\n"
     "dx = (a*x - b*x*y)*dt + sqrt(a*x)*dW1 - sqrt(b*x*y)*dW2\n"
     "dy = (b*x*y - c*y)*dt + sqrt(b*x*y)*dW2 - sqrt(c*y)*dW3\n"
     "init x ~ normal(100, 10)\ninit y ~ normal(100, 10)\n"
     "obs u ~ normal(x, e)\nobs v ~ normal(y, e)\n",
     100.0},
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *must(void *p)
{
    if (p) return p;
    fprintf(stderr, "guided_bench: %s\n", gsv_last_error());
    exit(1);
}

/* One run; the best time so far goes down to it. */
static double time_once(const gsv_model *m, const gsv_series *s, size_t threads,
                        double *best)
{
    gsv_options o = gsv_options_default();
    gsv_result r;
    o.observe = GSV_OBSERVE_GUIDED;
    o.points = PARTICLES;
    o.steps = STEPS;
    o.threads = threads;
    double begin = now();
    if (gsv_loglik(m, s, &o, &r)) must(NULL);
    *best = fmin(*best, now() - begin);
    double loglik = r.loglik;
    gsv_result_free(&r);
    return loglik;
}

int main(void)
{
    for (size_t i = 0; i < sizeof PROBLEMS / sizeof *PROBLEMS; i++) {
        double time[ROWS], best[2] = {INFINITY, INFINITY}, value[2] = {0};
        gsv_model *m =
            must(gsv_model_parse(PROBLEMS[i].text, PROBLEMS[i].name));
        for (size_t j = 0; j < ROWS; j++)
            time[j] = PROBLEMS[i].end * (double)j / (ROWS - 1);
        gsv_simulate_options o = gsv_simulate_options_default();
        o.time = time;
        o.times = ROWS;
        gsv_series *s = must(gsv_simulate(m, &o));
        for (size_t run = 0; run < RUNS; run++)
            for (size_t t = 0; t < 2; t++)
                value[t] = time_once(m, s, t + 1, &best[t]);
        printf("  %s: %.3f s on 1 thread, %.3f s on 2: %.2f times faster%s\n",
               PROBLEMS[i].name, best[0], best[1], best[0] / best[1],
               value[0] == value[1] ? "" : ", WITH OTHER BITS");
        gsv_series_free(s);
        gsv_model_free(m);
    }
    return 0;
}
