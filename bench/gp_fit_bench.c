/* SPDX-License-Identifier: MIT */
/* One iteration of learning a drift as a Gaussian process, by its evidence,
 * against one of a network by an integrator with the adjoint method, on the
 * same 16 tracks of 200 observations: van der Pol on a grid of 32^2, Lorenz on
 * one of 16^3. An iteration of the first finds the posterior of all functions,
 * one of the second takes one gradient, as in integrate_bench.c. Seconds of the
 * clock, and of processors behind them.
 *
 *     gp_fit_bench [threads] */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "bench.h"
#include "integrate/integrate.h"

static const struct {
    const char *name, *truth, *gp, *net;
} CASES[] = {
    {"van der Pol, 32^2",
     "state x, y\n dx = y*dt + 0.3*dW\n dy = ((1 - x^2)*y - x)*dt + 0.3*dW\n",
     "state x, y\n param s = 0.3 > 0\n gp h(x, y) -> 2 : grid 32 rbf\n"
     "dx = h[1]*dt + s*dW\n dy = h[2]*dt + s*dW\n",
     "state x, y\n net f(x, y) -> 2 : 32 256 32 relu\n"
     "dx = f[1]*dt + 0.3*dW\n dy = f[2]*dt + 0.3*dW\n"},
    {"Lorenz, 16^3",
     "state x, y, z\n dx = 10*(y - x)*dt + dW\n"
     "dy = (x*(28 - z) - y)*dt + dW\n dz = (x*y - 8/3*z)*dt + dW\n",
     "state x, y, z\n param s = 1 > 0\n gp h(x, y, z) -> 3 : grid 16 rbf\n"
     "dx = h[1]*dt + s*dW\n dy = h[2]*dt + s*dW\n dz = h[3]*dt + s*dW\n",
     "state x, y, z\n net f(x, y, z) -> 3 : 32 256 32 relu\n"
     "dx = f[1]*dt + dW\n dy = f[2]*dt + dW\n dz = f[3]*dt + dW\n"},
};

static double peak(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)u.ru_maxrss / 1024.0;
}

static gsv_series *data_of(const char *text)
{
    enum { ROWS = 200 };
    gsv_model *m = must(gsv_model_parse(text, "truth"));
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

struct took {
    double wall, work;
};

/* --- The gp --------------------------------------------------------------- */

enum { ITERATIONS = 3 };

struct watch {
    struct took at[ITERATIONS];
    size_t count;
};

static bool look(void *user, const gsv_progress *p)
{
    struct watch *w = user;
    (void)p;
    w->at[w->count++] =
        (struct took){now(CLOCK_MONOTONIC), now(CLOCK_PROCESS_CPUTIME_ID)};
    return w->count == ITERATIONS;
}

/* The first iteration also makes everything: it is left out. */
static struct took gp_iteration(const char *text, const gsv_series *s,
                                size_t threads)
{
    gsv_model *m = must(gsv_model_parse(text, "gp"));
    gsv_fit_options o = gsv_fit_options_default();
    struct watch w = {.count = 0};
    o.progress = look;
    o.user = &w;
    o.errors = GSV_ERRORS_NONE;
    o.estimator.threads = threads;
    if (gsv_fit(m, s, &o)) must(NULL);
    gsv_model_free(m);
    double n = (double)(w.count - 1);
    return (struct took){(w.at[w.count - 1].wall - w.at[0].wall) / n,
                         (w.at[w.count - 1].work - w.at[0].work) / n};
}

/* --- The network ------------------------------------------------------------
 */

static struct took net_iteration(const char *text, const gsv_series *s,
                                 size_t threads)
{
    gsv_model *m = must(gsv_model_parse(text, "net"));
    struct integrate_options o = {.paths = 64,
                                  .steps = 5,
                                  .by = BY_ADJOINT,
                                  .gradient = true,
                                  .seed = 1,
                                  .threads = threads};
    struct integrator i;
    struct took best = {INFINITY, INFINITY};
    double *bar = must(calloc(gsv_model_values(m), sizeof *bar));
    gsv_model_draw(m, 1);
    if (integrator_init(&i, m, s, &o)) must(NULL);
    for (uint32_t r = 0; r < ITERATIONS; r++) {
        double begin = now(CLOCK_MONOTONIC);
        double worked = now(CLOCK_PROCESS_CPUTIME_ID);
        if (integrator_run(&i, r, 0, NULL, bar)) must(NULL);
        best.wall = fmin(best.wall, now(CLOCK_MONOTONIC) - begin);
        best.work = fmin(best.work, now(CLOCK_PROCESS_CPUTIME_ID) - worked);
    }
    integrator_free(&i);
    free(bar);
    gsv_model_free(m);
    return best;
}

int main(int count, char **word)
{
    size_t threads = count > 1 ? (size_t)atol(word[1]) : 1;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        gsv_series *s = data_of(CASES[i].truth);
        struct took net = net_iteration(CASES[i].net, s, threads);
        double before = peak();
        struct took gp = gp_iteration(CASES[i].gp, s, threads);
        printf("  %-18s gp %.3f s (of processors %.3f), %.0f MiB more than the "
               "network's %.0f; network %.3f s (%.3f): %.1f (%.1f) times "
               "faster\n",
               CASES[i].name, gp.wall, gp.work, peak() - before, before,
               net.wall, net.work, net.wall / gp.wall, net.work / gp.work);
        gsv_series_free(s);
    }
    return 0;
}
