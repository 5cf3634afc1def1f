/* SPDX-License-Identifier: MIT */
/* How fast functions on a grid are beside a network, on one thread, through the
 * graph's programs as the estimator runs them: nanoseconds per point of forward
 * alone, of forward and vjp to values and arguments, and of forward and jvp.
 * Minima over repeats: the machine is shared. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/memory.h"
#include "graph/program.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { P = 512, CALLS = 4, REPEATS = 200, MODES = 3 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Numbers in (-1, 1), the same every time. */
static double *numbers(size_t n)
{
    double *x = NEW(double, n);
    if (!x) exit(1);
    for (size_t i = 0; i < n; i++)
        x[i] = 2.0 * fmod(0.6180339887498949 * (double)(i + 1), 1.0) - 1.0;
    return x;
}

static void measure(const char *name, struct graph *g, node out, size_t axes,
                    size_t parameters)
{
    struct program *p = program_new(g, 1, &out, parameters, false);
    struct uniforms u;
    struct workspace w;
    if (!p || uniforms_init(&u, p) || workspace_init(&w, p, P, true, true))
        exit(1);
    double *x = numbers(axes * P), *bar = numbers(graph_size(g, out) * P);
    double *theta = numbers(parameters), *x_bar = numbers(axes * P);
    double *uniform_bar = numbers(program_uniforms(p)), best[MODES];
    const double *output_bar = bar;
    struct points in = {.P = P, .state = x};
    program_prepare(p, theta, &u);
    for (int mode = 0; mode < MODES; mode++) {
        best[mode] = INFINITY;
        for (int r = 0; r < REPEATS; r++) {
            double t = now();
            for (int c = 0; c < CALLS; c++) {
                program_forward(p, &u, &w, &in);
                if (mode == 1)
                    program_vjp(p, &u, &w, &in, &output_bar, x_bar,
                                uniform_bar);
                if (mode == 2) program_jvp(p, &u, &w, &in, x);
            }
            best[mode] = fmin(best[mode], (now() - t) / (CALLS * P));
        }
    }
    printf("%-34s %10.1f %14.1f %14.1f\n", name, 1e9 * best[0], 1e9 * best[1],
           1e9 * best[2]);
    double *all[] = {x, bar, theta, x_bar, uniform_bar};
    for (size_t i = 0; i < COUNT(all); i++)
        mem_free(all[i]);
    workspace_free(&w);
    uniforms_free(&u);
    program_free(p);
}

static void measure_grid(const char *name, const struct gp *h)
{
    static const double BOX[] = {-1, -1, -1, -1, 1, 1, 1, 1};
    struct graph *g = graph_new();
    if (!g) exit(1);
    size_t values = h->outputs * gp_nodes(h);
    size_t weights = h->outputs * gp_features(h), number = graph_gp_add(g, h);
    node x = graph_leaf(g, OP_STATE, 0, h->axes, 1);
    node value = graph_leaf(g, OP_PARAM, 0, h->outputs, gp_nodes(h));
    node box = graph_constant(g, 2 * h->axes, 1, BOX + 4 - h->axes);
    node weight =
        h->degree ? graph_leaf(g, OP_PARAM, values, h->outputs, gp_features(h))
                  : 0;
    measure(name, g, graph_gp(g, number, x, value, box, weight), h->axes,
            values + weights);
    graph_free(g);
}

int main(void)
{
    static const size_t WIDTH[] = {2, 64, 64, 2};
    static const struct {
        const char *name;
        struct gp gp;
    } CASE[] = {
        {"grid 100, 1 output", {1, 1, {100}, 0}},
        {"grid 32 32, 1 output", {2, 1, {32, 32}, 0}},
        {"grid 32 32, 2 outputs", {2, 2, {32, 32}, 0}},
        {"grid 32 32, 2 outputs + quadratic", {2, 2, {32, 32}, 2}},
        {"grid 16 16 16, 1 output", {3, 1, {16, 16, 16}, 0}},
        {"grid 16 16 16, 3 outputs", {3, 3, {16, 16, 16}, 0}},
        {"grid 8 8 8 8, 1 output", {4, 1, {8, 8, 8, 8}, 0}},
    };
    printf("%-34s %10s %14s %14s\n", "ns per point", "forward", "forward + vjp",
           "forward + jvp");
    for (size_t i = 0; i < COUNT(CASE); i++)
        measure_grid(CASE[i].name, &CASE[i].gp);
    struct graph *g = graph_new();
    if (!g) return 1;
    struct net net = {3, WIDTH, ACT_SILU, false};
    size_t f = graph_net_add(g, 3, WIDTH, ACT_SILU, 0);
    measure("network 2-64-64-2 silu, float32", g,
            graph_net(g, f, graph_leaf(g, OP_STATE, 0, 2, 1)), 2,
            net_parameters(&net));
    graph_free(g);
    return 0;
}
