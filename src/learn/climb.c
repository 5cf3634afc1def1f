/* SPDX-License-Identifier: MIT */
#include "learn/climb.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "learn/maximise.h"

enum { ITERATIONS = 30 };

/* In nats: three iterations that gain less end it. */
static const double GAIN = 1e-4;

/* A first step, as a share of a number's size, or of one. */
static const double FIRST = 0.1;

struct ascent {
    struct information *a;
    double *unit;  /* (n) of x: about an error of a number alone */
    double *x;     /* (n)                                        */
    double *theta; /* (theta size)                               */
};

static void put(const struct ascent *s, const double *x, double *theta)
{
    for (size_t i = 0; i < s->a->n; i++)
        theta[s->a->place[i]] = x[i] * s->unit[i];
}

static int at(void *context, const double *x, double *value, double *gradient)
{
    struct ascent *s = context;
    put(s, x, s->theta);
    int status = information_value(s->a, s->theta, value);
    if (!status) status = information_slope(s->a, s->theta, s->a->n);
    for (size_t i = 0; !status && i < s->a->n; i++)
        gradient[i] = s->a->slope[i] * s->unit[i];
    return status;
}

static void begin(struct ascent *s, const double *theta)
{
    const struct information *a = s->a;
    memcpy(s->theta, theta, a->l->n * sizeof *theta);
    for (size_t i = 0; i < a->n; i++) {
        double own = fabs(a->I[i * (a->n + 1)]), from = theta[a->place[i]];
        double most = FIRST * fmax(fabs(from), 1.0);
        s->unit[i] = own > 0.0 ? fmin(1.0 / sqrt(own), most) : most;
        s->x[i] = from / s->unit[i];
    }
}

static int go_up(struct ascent *s, double *theta, double *value)
{
    const struct maximise job = {s, at, NULL, ITERATIONS, GAIN};
    enum maximise_end end;
    double there;
    int status = maximise(&job, s->a->n, s->x, &there, &end);
    if (status == GSV_NUMERICAL) return 0;
    if (status || end == MAXIMISE_STOPPED) return status;
    if (!(there > *value)) return 0;
    *value = there;
    put(s, s->x, theta);
    return 0;
}

int climb(struct information *a, double *theta, double *value)
{
    struct ascent s = {.a = a,
                       .unit = NEW(double, a->n),
                       .x = NEW(double, a->n),
                       .theta = NEW(double, a->l->n)};
    int status = s.unit && s.x && s.theta ? 0 : GSV_NO_MEMORY;
    if (!status) begin(&s, theta);
    if (!status) status = go_up(&s, theta, value);
    MEM_FREE(s.unit, s.x, s.theta);
    return status;
}
