/* SPDX-License-Identifier: MIT */
/* Seconds of one gradient by an integrator, the fastest of some: 16 tracks of
 * 200 observations of the Lorenz system on [0, 10], the network 3-32-256-32-3
 * with noise 1, K = 64 paths, 5 steps a gap, Euler.
 *
 *     integrate_bench [threads [runs]] */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "bench.h"
#include "integrate/integrate.h"

/* The same in float32 by PyTorch 1.13 and torchsde 0.2.6 with tuned malloc and
 * OpenMP BLAS, seconds an iteration, medians with the fastest behind them, as
 * measured on a virtual AMD EPYC Zen 3 with 2 cores: backpropagation through
 * Euler by autograd on 2 threads (not measured on 1), and torchsde's
 * sdeint_adjoint with the method euler on 2 threads (39 iterations) and on 1.
 */
static const struct {
    const char *name;
    enum sensitivity by;
    double median[2], fastest[2]; /* on 1 and 2 threads */
} METHOD[] = {{"mse-backprop", BY_BACKPROP, {NAN, 4.46}, {NAN, 3.56}},
              {"mse-adjoint", BY_ADJOINT, {5.85, 5.70}, {5.72, 3.85}}};

static gsv_series *lorenz_data(void)
{
    enum { ROWS = 200 };
    gsv_model *m = must(gsv_model_parse("state x, y, z\n"
                                        "dx = 10*(y - x)*dt + 0.15*dW\n"
                                        "dy = (x*(28 - z) - y)*dt + 0.15*dW\n"
                                        "dz = (x*y - 8/3*z)*dt + 0.15*dW\n",
                                        "lorenz"));
    gsv_simulate_options o = gsv_simulate_options_default();
    double time[ROWS];
    for (int i = 0; i < ROWS; i++)
        time[i] = 10.0 * i / (ROWS - 1);
    o.times = ROWS;
    o.time = time;
    o.tracks = 16;
    o.start_sd = 1.0;
    gsv_series *s = must(gsv_simulate(m, &o));
    gsv_model_free(m);
    return s;
}

static void measure(size_t method, const gsv_model *m, const gsv_series *s,
                    size_t threads, size_t runs)
{
    struct integrate_options o = {.paths = 64,
                                  .steps = 5,
                                  .by = METHOD[method].by,
                                  .gradient = true,
                                  .seed = 1,
                                  .threads = threads};
    struct integrator i;
    double *bar = must(calloc(gsv_model_values(m), sizeof *bar));
    double best = INFINITY, work = INFINITY;
    if (integrator_init(&i, m, s, &o)) must(NULL);
    for (uint32_t r = 0; r < runs; r++) {
        double begin = now(CLOCK_MONOTONIC);
        double worked = now(CLOCK_PROCESS_CPUTIME_ID);
        if (integrator_run(&i, r, 0, NULL, bar)) must(NULL);
        best = fmin(best, now(CLOCK_MONOTONIC) - begin);
        work = fmin(work, now(CLOCK_PROCESS_CPUTIME_ID) - worked);
    }
    printf("%-12s  %zu thread%s  %.3f s (of processors %.3f)",
           METHOD[method].name, threads, threads == 1 ? " " : "s", best, work);
    double median = threads < 3 ? METHOD[method].median[threads - 1] : NAN;
    if (!isnan(median))
        printf("  PyTorch %.2f (fastest %.2f): %.1f (%.1f) times faster",
               median, METHOD[method].fastest[threads - 1], median / best,
               METHOD[method].fastest[threads - 1] / best);
    printf("  kept %zu KiB\n", integrator_kept_bytes(&i) / 1024);
    integrator_free(&i);
    free(bar);
}

int main(int argc, char **argv)
{
    size_t threads = argc > 1 ? (size_t)atol(argv[1]) : 2;
    size_t runs = argc > 2 ? (size_t)atol(argv[2]) : 3;
    gsv_model *m = must(gsv_model_parse("state x, y, z\n"
                                        "net f(x, y, z) -> 3 : 32 256 32 relu\n"
                                        "dx = f[1]*dt + dW\n"
                                        "dy = f[2]*dt + dW\n"
                                        "dz = f[3]*dt + dW\n",
                                        "net"));
    gsv_series *s = lorenz_data();
    for (size_t i = 0; i < sizeof METHOD / sizeof *METHOD; i++)
        measure(i, m, s, threads, runs);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("peak of the whole program: %ld MiB\n", usage.ru_maxrss / 1024);
    gsv_series_free(s);
    gsv_model_free(m);
    return 0;
}
