/* SPDX-License-Identifier: MIT */
/* Learns the Lorenz system from DATA and prints, as one JSON object, the time
 * until the drift error
 *
 *     err = sum |f - f_Lorenz|^2 / sum |f_Lorenz|^2   at the observations
 *
 * first is below some levels. A fit gives the same bits each time: a first one
 * finds the iterations where the levels are reached, a second one takes the
 * times, with nobody looking at the error meanwhile.
 *
 *     learn_bench MODEL DATA [threads [seed [iterations [until [rate
 *                             [batch]]]]]] */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "girsanov.h"

enum { LEVELS = 6 };
static const char *const LEVEL[LEVELS] = {"0.05",  "0.02", "0.01",
                                          "0.002", "2e-4", "5e-5"};

/* Of a gap in the first stage, where the levels are reached: one with its
 * gradient, four without. */
static const double EVALUATIONS = 5.0;

struct watch {
    const gsv_series *s;
    double *f, *true_f;
    double err, until;
    size_t at[LEVELS], iterations;
    double seconds[LEVELS], cpu[LEVELS], gaps[LEVELS];
    double began; /* of the CPU's clock */
};

static double now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double error_of(const struct watch *w, const gsv_model *m)
{
    double off = 0.0, all = 0.0;
    gsv_model_drift(m, w->s->rows, w->s->time, w->s->value, NULL, w->f);
    for (size_t i = 0; i < 3 * w->s->rows; i++) {
        off += (w->f[i] - w->true_f[i]) * (w->f[i] - w->true_f[i]);
        all += w->true_f[i] * w->true_f[i];
    }
    return off / all;
}

static bool look(void *user, const gsv_progress *p)
{
    struct watch *w = user;
    w->iterations = p->iteration;
    if (p->iteration % 5 && p->iteration != p->iterations) return false;
    w->err = error_of(w, p->model);
    for (size_t i = 0; i < LEVELS; i++)
        if (w->err < atof(LEVEL[i]) && !w->at[i]) w->at[i] = p->iteration;
    return w->err < w->until;
}

static bool take_time(void *user, const gsv_progress *p)
{
    struct watch *w = user;
    for (size_t i = 0; i < LEVELS; i++)
        if (w->at[i] == p->iteration) {
            w->seconds[i] = p->seconds;
            w->cpu[i] = now(CLOCK_PROCESS_CPUTIME_ID) - w->began;
            w->gaps[i] = p->gaps;
        }
    return p->iteration == w->iterations;
}

static gsv_model *drawn(const char *path, uint64_t seed)
{
    gsv_model *m = gsv_model_read(path);
    if (m) gsv_model_draw(m, seed);
    return m;
}

static void print(const struct watch *w, const gsv_model *m, double seconds)
{
    const gsv_record *r = gsv_model_record(m);
    printf("{\"iterations\": %zu, \"seconds\": %.4f, \"err\": %.3g",
           w->iterations, seconds, error_of(w, m));
    for (size_t i = 0; i < gsv_model_params(m); i++) {
        gsv_param p = gsv_model_param(m, i);
        if (gsv_model_is_noise(m, i) && p.rank == 0)
            printf(", \"%s\": %.4g", p.name, gsv_model_value(m)[p.offset]);
    }
    printf(", \"loglik\": %.4f, \"heldout\": %.4f, \"steps\": %zu, "
           "\"reached\": {",
           r->loglik / (double)r->gaps, r->heldout / (double)r->heldout_gaps,
           r->steps);
    for (size_t i = 0, n = 0; i < LEVELS; i++)
        if (w->at[i])
            printf("%s\"%s\": {\"seconds\": %.4f, \"cpu\": %.4f, "
                   "\"iterations\": %zu, \"evaluations\": %.0f}",
                   n++ ? ", " : "", LEVEL[i], w->seconds[i], w->cpu[i],
                   w->at[i], EVALUATIONS * w->gaps[i]);
    printf("}}\n");
}

int main(int argc, char **argv)
{
    static const char TRUTH[] = "state x, y, z\n"
                                "dx = 10*(y - x)*dt + dW\n"
                                "dy = (x*(28 - z) - y)*dt + dW\n"
                                "dz = (x*y - 8/3*z)*dt + dW\n";
    if (argc < 3) return 1;
    gsv_fit_options o = gsv_fit_options_default();
    o.estimator.threads = argc > 3 ? (size_t)atol(argv[3]) : 0;
    o.estimator.seed = argc > 4 ? (uint64_t)atol(argv[4]) : 1;
    o.iterations = argc > 5 ? (size_t)atol(argv[5]) : 0;
    o.rate = argc > 7 ? atof(argv[7]) : 0.0;
    if (argc > 8) o.batch = (size_t)atol(argv[8]);
    gsv_model *first = drawn(argv[1], o.estimator.seed);
    gsv_model *second = drawn(argv[1], o.estimator.seed);
    gsv_model *truth = gsv_model_parse(TRUTH, "truth");
    gsv_series *s = NULL;
    if (first && second && truth)
        s = gsv_series_read(argv[2], 3, gsv_model_column(first));
    if (!s) return fprintf(stderr, "%s\n", gsv_last_error()), 1;
    struct watch w = {.s = s,
                      .f = malloc(3 * s->rows * sizeof(double)),
                      .true_f = malloc(3 * s->rows * sizeof(double)),
                      .until = argc > 6 ? atof(argv[6]) : 0.0};
    gsv_model_drift(truth, s->rows, s->time, s->value, NULL, w.true_f);
    o.user = &w;
    o.progress = look;
    int status = gsv_fit(first, s, &o);
    double begin = now(CLOCK_MONOTONIC);
    w.began = now(CLOCK_PROCESS_CPUTIME_ID);
    o.progress = take_time;
    if (!status) status = gsv_fit(second, s, &o);
    if (status) return fprintf(stderr, "%s\n", gsv_last_error()), 2;
    print(&w, second, now(CLOCK_MONOTONIC) - begin);
    gsv_model_free(first);
    gsv_model_free(second);
    gsv_model_free(truth);
    gsv_series_free(s);
    free(w.f);
    free(w.true_f);
    return 0;
}
