/* SPDX-License-Identifier: MIT */
/* How fast the network is beside the machine's sgemm, on one thread: forward
 * and forward + vjp of 3-32-256-32-3 on blocks of 320 points. Links OpenBLAS;
 * the library itself does not. Minima over repeats: the machine is shared. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cblas-openblas.h>

#include "base/memory.h"
#include "graph/net.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { P = 320, CALLS = 4, REPEATS = 400, N = 2048, LAYERS = 4 };

static const size_t WIDTH[LAYERS + 1] = {3, 32, 256, 32, 3};

/* 2 flop per weight and point; the backward pass has two such products, but
 * no x_bar, which nobody wants of the first layer. */
static const double FLOP_FORWARD = 2 * (3 * 32 + 32 * 256 + 256 * 32 + 32 * 3);
static const double FLOP_BOTH = 3 * 33152 - 2 * 3 * 32;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Flop per second of a square product. */
static double sgemm_rate(void)
{
    float *a = NEW(float, N *N), *b = NEW(float, N *N), *c = NEW(float, N *N);
    double best = INFINITY;
    if (!a || !b || !c) exit(1);
    for (size_t i = 0; i < (size_t)N * N; i++) {
        a[i] = (float)(i % 17) - 8;
        b[i] = (float)(i % 13) - 6;
    }
    for (int i = 0; i < 12; i++) {
        double t = now();
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, N, N, N, 1, a, N,
                    b, N, 0, c, N);
        best = fmin(best, now() - t);
    }
    mem_free(a);
    mem_free(b);
    mem_free(c);
    return 2.0 * N * N * N / best;
}

struct job {
    struct net net;
    double *theta, *x, *y, *bar;
    void *packed, *scratch;
};

/* Seconds per point. */
static double time_of(const struct job *j, bool backward)
{
    double best = INFINITY;
    for (int repeat = 0; repeat < REPEATS; repeat++) {
        double t = now();
        for (int i = 0; i < CALLS; i++) {
            net_kernel(&j->net)->forward(&j->net, j->packed, P, j->x, j->y,
                                         j->scratch);
            if (backward)
                net_kernel(&j->net)->vjp(&j->net, j->packed, P, j->y, NULL,
                                         j->bar, j->scratch);
        }
        best = fmin(best, now() - t);
    }
    return best / (CALLS * P);
}

struct row {
    enum activation act;
    bool wide;
    double forward, both; /* seconds per point */
};

static void bench(struct row *row)
{
    struct job j = {.net = {LAYERS, WIDTH, row->act, row->wide}};
    size_t params = net_parameters(&j.net);
    j.theta = NEW(double, params);
    j.bar = NEW(double, params);
    j.x = NEW(double, 3 * P);
    j.y = NEW(double, 3 * P);
    j.packed = mem_new(net_kernel(&j.net)->packed_size(&j.net), 1);
    j.scratch = mem_new(net_kernel(&j.net)->scratch_size(&j.net, P), 1);
    void *all[] = {j.theta, j.bar, j.x, j.y, j.packed, j.scratch};
    for (size_t i = 0; i < COUNT(all); i++)
        if (!all[i]) exit(1);
    for (size_t i = 0; i < params; i++)
        j.theta[i] = 0.2 * sin((double)i * 1.7);
    for (size_t i = 0; i < (size_t)3 * P; i++)
        j.x[i] = sin((double)i * 0.9);
    net_kernel(&j.net)->pack(&j.net, j.theta, j.packed);
    row->forward = time_of(&j, false);
    row->both = time_of(&j, true);
    for (size_t i = 0; i < COUNT(all); i++)
        mem_free(all[i]);
}

/* sgemm before and after, the better one counts: others use the machine. */
int main(void)
{
    struct row rows[] = {{ACT_RELU, false, 0, 0},     {ACT_TANH, false, 0, 0},
                         {ACT_SOFTPLUS, false, 0, 0}, {ACT_SILU, false, 0, 0},
                         {ACT_RELU, true, 0, 0},      {ACT_TANH, true, 0, 0}};
    openblas_set_num_threads(1);
    double sgemm = sgemm_rate();
    for (size_t i = 0; i < COUNT(rows); i++)
        bench(&rows[i]);
    sgemm = fmax(sgemm, sgemm_rate());
    printf("sgemm %d: %.1f GF/s; the net in blocks of %d points\n", N,
           1e-9 * sgemm, P);
    printf("               forward          forward + vjp\n");
    printf("             ns/pt   GF/s    ns/pt   GF/s  of sgemm\n");
    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct row *r = &rows[i];
        printf("%s %-8s %5.0f %6.1f %8.0f %6.1f %7.0f %%\n",
               r->wide ? "f64" : "f32", activation_name[r->act],
               1e9 * r->forward, 1e-9 * FLOP_FORWARD / r->forward,
               1e9 * r->both, 1e-9 * FLOP_BOTH / r->both,
               100 * FLOP_BOTH / r->both / sgemm);
    }
    return 0;
}
