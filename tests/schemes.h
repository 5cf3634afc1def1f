/* SPDX-License-Identifier: MIT */
/* What the tests of simulation share: a scheme by itself, Brownian paths that
 * are cut ever more coarsely, orders, moments over tracks. */
#ifndef TESTS_SCHEMES_H
#define TESTS_SCHEMES_H

#include "exact.h"

#include "simulate/scheme.h"

enum { PATHS = 400, FINEST = 2048, COARSEST = 8, LEVELS = 5 };

static inline gsv_series *simulate(const gsv_model *m,
                                   const gsv_simulate_options *o)
{
    gsv_series *s = gsv_simulate(m, o);
    if (!s) fail_msg("%s", gsv_last_error());
    return s;
}

/* Options for some times. */
#define OPTIONS(...)                                                           \
    ((gsv_simulate_options){.tracks = 1,                                       \
                            .scheme = GSV_SRK,                                 \
                            .seed = 1,                                         \
                            .times = COUNT(((double[]){__VA_ARGS__})),         \
                            .time = (double[]){__VA_ARGS__}})

static inline double value(const gsv_series *s, size_t column, size_t track,
                           size_t k)
{
    return s->value[column * s->rows + s->start[track] + k];
}

/* A model under a scheme, without simulate.c. */
struct rig {
    gsv_model *model;
    struct field field;
    struct stepper stepper;
};

static inline struct rig *rig_open(const char *text, size_t P)
{
    static struct rig r;
    r.model = model_of(text);
    assert_int_equal(field_init(&r.field, r.model, NULL), 0);
    assert_int_equal(stepper_init(&r.stepper, &r.field, P), 0);
    return &r;
}

static inline void rig_close(struct rig *r)
{
    stepper_free(&r->stepper);
    field_free(&r->field);
    gsv_model_free(r->model);
}

/* One step of all tracks, whatever the noise. Nothing here has a boundary. */
static inline void take(struct rig *r, size_t scheme, const struct step *step)
{
    bool active[PATHS];
    if (!r->field.state_noise) {
        SCHEME_TABLE[scheme].step(&r->stepper, step);
        return;
    }
    assert_true(r->stepper.P <= PATHS);
    memset(active, 1, sizeof active);
    stepper_propose(&r->stepper, &SCHEME_TABLE[scheme], step, active);
    stepper_settle(&r->stepper, active);
}

/* The slope of log2 e[i] over i, where h halves from one to the next: the
 * order, by least squares. */
static inline double order_of(size_t n, const double *e)
{
    double top = 0.0, bottom = 0.0, middle = 0.5 * (double)(n - 1);
    for (size_t i = 0; i < n; i++) {
        top -= ((double)i - middle) * log2(e[i]);
        bottom += ((double)i - middle) * ((double)i - middle);
    }
    return top / bottom;
}

static inline void check_order(const char *what, size_t scheme, double order,
                               double low, double high)
{
    print_message("  %-8s %-9s order %.3f\n", SCHEME_TABLE[scheme].name, what,
                  order);
    if (!(order >= low && order <= high))
        fail_msg("%s, %s: the order is %g, not in [%g, %g]",
                 SCHEME_TABLE[scheme].name, what, order, low, high);
}

/* Brownian motion over [0, 1] in n steps: of every step its increment and
 * I10, the integral of W - W(left end), both (n, noises, PATHS). */
struct brownian {
    size_t n, row; /* row = noises * PATHS */
    double *dW, *I10;
};

static inline struct brownian brownian_new(size_t noises)
{
    struct brownian b = {FINEST, noises * PATHS, NULL, NULL};
    size_t count = FINEST * b.row;
    double h = 1.0 / FINEST;
    const struct random_key key = {.seed = 3, .purpose = RANDOM_SIMULATE};
    b.dW = NEW(double, count);
    b.I10 = NEW(double, count);
    assert_true(b.dW && b.I10);
    random_normals(&key, 0, FINEST * noises, 0, PATHS, b.dW);
    random_normals(&key, FINEST * noises, FINEST * noises, 0, PATHS, b.I10);
    for (size_t i = 0; i < count; i++) {
        b.dW[i] *= sqrt(h);
        b.I10[i] = 0.5 * h * (b.dW[i] + sqrt(h / 3.0) * b.I10[i]);
    }
    return b;
}

static inline void brownian_free(struct brownian *b)
{
    mem_free(b->dW);
    mem_free(b->I10);
}

/* Two steps become one: over the second, W - W(left end) is dW of the first
 * and what it adds itself. */
static inline void brownian_halve(struct brownian *b)
{
    double h = 1.0 / (double)b->n;
    b->n /= 2;
    for (size_t i = 0; i < b->n; i++)
        for (size_t p = 0; p < b->row; p++) {
            size_t to = i * b->row + p, a = 2 * i * b->row + p, c = a + b->row;
            b->I10[to] = b->I10[a] + b->I10[c] + h * b->dW[a];
            b->dW[to] = b->dW[a] + b->dW[c];
        }
}

/* X at time 1 from 0.5, in the stepper's x. */
static inline void walk(struct rig *r, size_t scheme, const struct brownian *b)
{
    double h = 1.0 / (double)b->n, *zeta = NEW(double, b->row);
    assert_non_null(zeta);
    for (size_t i = 0; i < r->field.spec->dim * PATHS; i++)
        r->stepper.x[i] = 0.5;
    if (r->field.state_noise) assert_true(stepper_enter(&r->stepper, 0.0));
    for (size_t i = 0; i < b->n; i++) {
        const double *dW = b->dW + i * b->row, *I10 = b->I10 + i * b->row;
        for (size_t p = 0; p < b->row; p++)
            zeta[p] = (2.0 * I10[p] / h - dW[p]) / sqrt(h / 3.0);
        struct step step = {.t = h * (double)i,
                            .h = h,
                            .end = h * (double)(i + 1),
                            .dW = dW,
                            .zeta = zeta};
        take(r, scheme, &step);
    }
    mem_free(zeta);
}

static inline double root_mean_square(size_t n, const double *x,
                                      const double *y)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += (x[i] - y[i]) * (x[i] - y[i]);
    return sqrt(sum / (double)n);
}

/* Over all tracks, at time k. */
static inline double mean_of(const gsv_series *s, size_t i, size_t k)
{
    double sum = 0.0;
    for (size_t r = 0; r < s->tracks; r++)
        sum += value(s, i, r, k);
    return sum / (double)s->tracks;
}

static inline double covariance_of(const gsv_series *s, size_t i, size_t j,
                                   size_t k)
{
    double sum = 0.0, a = mean_of(s, i, k), b = mean_of(s, j, k);
    for (size_t r = 0; r < s->tracks; r++)
        sum += (value(s, i, r, k) - a) * (value(s, j, r, k) - b);
    return sum / (double)(s->tracks - 1);
}

#endif
