/* SPDX-License-Identifier: MIT */
/* Times the likelihood in the set-ups that bench/run compares:
 *
 *   estimate_bench ou THREADS             100-dim OU, 10 observations, as the
 * paper estimate_bench lorenz THREADS paper   one iteration of the paper's
 * Lorenz net estimate_bench lorenz THREADS default the same data with our
 * defaults estimate_bench memory K               peak memory of ou with K paths
 *   estimate_bench scaling                cost against gaps, paths and steps */
#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "girsanov.h"

void openblas_set_num_threads(int threads);

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *must(void *p)
{
    if (p) return p;
    fprintf(stderr, "estimate_bench: %s\n", gsv_last_error());
    exit(1);
}

static gsv_options paper(size_t paths, size_t steps, size_t threads)
{
    gsv_options o = gsv_options_default();
    o.paths = paths;
    o.steps = steps;
    o.threads = threads;
    o.reference = GSV_REFERENCE_BROWNIAN;
    o.form = GSV_FORM_ITO;
    o.random = GSV_RANDOM_IID;
    o.joint = true;
    return o;
}

/* The fastest of some runs, with the last result. */
static double fastest(const gsv_model *m, const gsv_series *s, gsv_options o,
                      int runs, gsv_result *last)
{
    double best = INFINITY;
    for (int i = 0; i < runs; i++) {
        o.seed = (uint64_t)i + 1;
        if (gsv_loglik(m, s, &o, last)) must(NULL);
        best = fmin(best, last->seconds);
        gsv_result_free(last);
    }
    return best;
}

/* --- Ornstein-Uhlenbeck -------------------------------------------------- */

enum { OU_DIM = 100, OU_ROWS = 10 };

static gsv_series *ou_data(const gsv_model *m)
{
    static double time[OU_ROWS], x[OU_DIM * OU_ROWS];
    size_t start[2] = {0, OU_ROWS};
    for (int n = 0; n < OU_ROWS; n++) {
        time[n] = 10.0 * n / (OU_ROWS - 1);
        for (int i = 0; i < OU_DIM; i++)
            x[i * OU_ROWS + n] = sin(acos(-1.0) / 10.0 * time[n]);
    }
    return must(gsv_series_new(1, start, OU_DIM, gsv_model_column(m), time, x));
}

static double ou(size_t paths, size_t threads, int runs)
{
    gsv_model *m =
        must(gsv_model_parse("state x[100]\ndx = -x*dt + dW\n", "ou"));
    gsv_series *s = ou_data(m);
    gsv_result r;
    double seconds = fastest(m, s, paper(paths, 111, threads), runs, &r);
    gsv_series_free(s);
    gsv_model_free(m);
    return seconds;
}

static void print_memory(size_t paths)
{
    struct rusage usage;
    ou(paths, 2, 1);
    getrusage(RUSAGE_SELF, &usage);
    printf("%ld\n", usage.ru_maxrss);
}

/* --- Lorenz -------------------------------------------------------------- */

static gsv_series *lorenz_data(size_t tracks, size_t rows)
{
    gsv_model *m = must(gsv_model_parse("state x, y, z\n"
                                        "dx = 10*(y - x)*dt + 0.15*dW\n"
                                        "dy = (x*(28 - z) - y)*dt + 0.15*dW\n"
                                        "dz = (x*y - 8/3*z)*dt + 0.15*dW\n",
                                        "lorenz"));
    gsv_simulate_options o = gsv_simulate_options_default();
    double *time = must(malloc(rows * sizeof *time));
    for (size_t i = 0; i < rows; i++)
        time[i] = 10.0 * (double)i / 199.0;
    o.times = rows;
    o.time = time;
    o.tracks = tracks;
    o.start_sd = 1.0;
    gsv_series *s = must(gsv_simulate(m, &o));
    free(time);
    gsv_model_free(m);
    return s;
}

static gsv_model *lorenz_net(void)
{
    return must(gsv_model_parse("state x, y, z\n"
                                "net f(x, y, z) -> 3 : 32 256 32 relu\n"
                                "dx = f[1]*dt + dW\n"
                                "dy = f[2]*dt + dW\n"
                                "dz = f[3]*dt + dW\n",
                                "net"));
}

/* GFLOP/s of a large product on so many threads, the best of some. */
static double sgemm_rate(int threads)
{
    enum { N = 2048 };
    float *a = must(calloc((size_t)3 * N * N, sizeof *a));
    double best = INFINITY;
    openblas_set_num_threads(threads);
    for (int i = 0; i < 8; i++) {
        double begin = now();
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, N, N, N, 1.0F, a,
                    N, a + N * N, N, 0.0F, a + 2 * N * N, N);
        best = fmin(best, now() - begin);
    }
    free(a);
    return 2e-9 * N * N * N / best;
}

/* Forward and backward of 3-32-256-32-3: 99264 operations a point. */
static void lorenz(size_t threads, bool as_paper)
{
    gsv_series *s = lorenz_data(16, 200);
    gsv_model *m = lorenz_net();
    gsv_options o = as_paper ? paper(64, 5, threads) : gsv_options_default();
    gsv_result r;
    o.threads = threads;
    o.gradient = true;
    double before = sgemm_rate((int)threads);
    double seconds = fastest(m, s, o, 5, &r);
    double sgemm = fmax(before, sgemm_rate((int)threads));
    double rate = 99264e-9 * (double)r.drift_evaluations / seconds;
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("%.4f %.1f %.1f %.1f %.0f\n", seconds, rate, sgemm,
           (double)r.memory / 1048576.0,
           1e9 * seconds / (double)r.drift_evaluations);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* --- Cost against size ---------------------------------------------------- */

static void scaling(void)
{
    gsv_model *m = lorenz_net();
    static const struct {
        const char *what;
        size_t tracks, rows, paths, steps;
    } run[] = {{"base", 4, 100, 64, 8},       {"gaps x 2", 8, 100, 64, 8},
               {"gaps x 4", 16, 100, 64, 8},  {"paths x 2", 4, 100, 128, 8},
               {"paths x 4", 4, 100, 256, 8}, {"steps x 2", 4, 100, 64, 16},
               {"steps x 4", 4, 100, 64, 32}};
    double base = 0.0;
    for (size_t i = 0; i < sizeof run / sizeof *run; i++) {
        gsv_series *s = lorenz_data(run[i].tracks, run[i].rows);
        gsv_options o = paper(run[i].paths, run[i].steps, 1);
        gsv_result r;
        o.gradient = true;
        o.joint = false;
        double t = fastest(m, s, o, 3, &r);
        double each = 1e9 * t / (double)r.drift_evaluations;
        if (!i) base = each;
        printf("  %-10s %8.3f s  %6.0f ns an evaluation  %+5.1f %%\n",
               run[i].what, t, each, 100.0 * (each / base - 1.0));
        gsv_series_free(s);
    }
    gsv_model_free(m);
}

int main(int count, char **word)
{
    if (count == 3 && !strcmp(word[1], "ou"))
        printf("%.5f\n", ou(100, (size_t)atoi(word[2]), 12));
    else if (count == 3 && !strcmp(word[1], "memory"))
        print_memory((size_t)atoi(word[2]));
    else if (count == 4 && !strcmp(word[1], "lorenz"))
        lorenz((size_t)atoi(word[2]), !strcmp(word[3], "paper"));
    else if (count == 2 && !strcmp(word[1], "scaling")) scaling();
    else return fprintf(stderr, "usage: see the head of estimate_bench.c\n"), 1;
    return 0;
}
