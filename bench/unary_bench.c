/* SPDX-License-Identifier: MIT */
/* Nanoseconds of every elementwise operation on a block, forward and vjp. */
#include <stdio.h>
#include <time.h>

#include "graph/op_rows.h"

enum { P = 1024, REPEATS = 2000 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double time_of(void (*f)(const struct apply *), const struct apply *a)
{
    double best = 1e9;
    for (int round = 0; round < 5; round++) {
        double begin = now();
        for (int i = 0; i < REPEATS / 5; i++)
            f(a);
        double t = (now() - begin) / (REPEATS / 5) / P;
        if (t < best) best = t;
    }
    return 1e9 * best;
}

int main(void)
{
    static double x[P], y[P], x_bar[P], y_bar[P];
    for (int i = 0; i < P; i++) {
        x[i] = 0.05 + 0.9 * i / P;
        y_bar[i] = 1e-300;
    }
    struct operand in = {.value = x, .bar = x_bar, .size = 1, .step = 1};
    struct apply a = {.P = P,
                      .in = &in,
                      .out = {.value = y, .bar = y_bar, .size = 1, .step = 1}};
    printf("ns per element  forward    vjp\n");
    for (int op = OP_LEAVES; OP_TABLE[op].arity == 1; op++)
        printf("%-14s %8.2f %6.2f\n", OP_TABLE[op].name,
               time_of(OP_TABLE[op].forward, &a),
               time_of(OP_TABLE[op].vjp, &a));
    return 0;
}
