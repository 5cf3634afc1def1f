/* SPDX-License-Identifier: MIT */
#include "learn/adam.h"

#include <string.h>

#include "base/error.h"
#include "base/fast.h"
#include "base/memory.h"

int adam_init(struct adam *a, size_t n)
{
    *a = (struct adam){.n = n,
                       .mean = NEW(double, n),
                       .square = NEW(double, n),
                       .average = NEW(double, n)};
    return a->mean && a->square && a->average ? 0 : GSV_NO_MEMORY;
}

void adam_free(struct adam *a)
{
    MEM_FREE(a->mean, a->square, a->average);
    *a = (struct adam){0};
}

void adam_forget(struct adam *a)
{
    memset(a->mean, 0, a->n * sizeof *a->mean);
    memset(a->average, 0, a->n * sizeof *a->average);
    a->weight = a->averaged = 0.0;
}

/* In eight sums, which the processor adds side by side. */
FAST static double squares(size_t n, const double *x)
{
    double part[8] = {0}, sum = 0.0;
    size_t whole = n - n % 8;
    for (size_t i = 0; i < whole; i += 8)
        for (size_t j = 0; j < 8; j++)
            part[j] += x[i + j] * x[i + j];
    for (size_t i = whole; i < n; i++)
        sum += x[i] * x[i];
    for (size_t j = 0; j < 8; j++)
        sum += part[j];
    return sum;
}

void adam_clip(struct adam *a, double most, double *gradient)
{
    double length = sqrt(squares(a->n, gradient)), longest = most * a->length;
    if (most > 0.0 && a->length > 0.0 && length > longest) {
        for (size_t i = 0; i < a->n; i++)
            gradient[i] *= longest / length;
        length = longest;
    }
    a->length = a->length > 0.0 ? 0.98 * a->length + 0.02 * length : length;
}

void adam_begin(struct adam *a)
{
    a->steps += 1.0;
}

struct adam_scale adam_scale(const struct adam *a)
{
    return (struct adam_scale){1.0 / (1.0 - pow(ADAM_BETA1, a->steps)),
                               1.0 / (1.0 - pow(ADAM_BETA2, a->steps))};
}

FAST void adam_step(struct adam *a, double rate, size_t first, size_t end,
                    const double *unit, const double *gradient, double *theta)
{
    struct adam_scale scale = adam_scale(a);
    double *restrict m = a->mean, *restrict v = a->square;
    for (size_t i = first; i < end; i++)
        theta[i] +=
            rate * unit[i] * adam_direction(&scale, gradient[i], &m[i], &v[i]);
}

FAST void adam_average(struct adam *a, double memory, const double *theta)
{
    double since = a->averaged++;
    memory = fmin(memory, (1.0 + since) / (10.0 + since));
    for (size_t i = 0; i < a->n; i++)
        a->average[i] = memory * a->average[i] + (1.0 - memory) * theta[i];
    a->weight = memory * a->weight + (1.0 - memory);
}

void adam_averaged(const struct adam *a, const double *theta, double *to)
{
    for (size_t i = 0; i < a->n; i++)
        to[i] = a->weight > 0.0 ? a->average[i] / a->weight : theta[i];
}
