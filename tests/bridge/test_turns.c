/* SPDX-License-Identifier: MIT */
/* States that are observed exactly, with inputs that change in rows where they
 * are not: between two steps, and for less time than a step. Against closed
 * forms of linear equations. */
#include "exact.h"

#include <stdio.h>

enum { GAPS = 12, MOST_ROWS = 4 * GAPS + 1, STEPS = 64 };

/* In every gap of length 1 the input has rows at `at` and at + width: it holds
 * the height in between, or has a peak of it. */
struct shape {
    bool log; /* dx = u x dt + s x dW, or dx = (u - k x) dt + s dW */
    bool hold;
    double at, width, height;
    enum gsv_form form;
};

static const double RATE = 0.5, NOISE = 0.3;

static const struct shape SHAPES[] = {
    {.hold = true, .at = 0.15, .width = 0.3, .height = 1.5},
    {.hold = true, .at = 0.5, .width = 0.25, .height = 1.5},
    {.hold = true, .at = 0.15, .width = 0.001, .height = 400.0},
    {.hold = true, .at = 0.7, .width = 1e-6, .height = 3e5},
    {.at = 0.3, .width = 0.2, .height = 2.0},
    {.at = 0.3, .width = 0.002, .height = 300.0},
    {.hold = true,
     .at = 0.15,
     .width = 0.001,
     .height = 400.0,
     .form = GSV_FORM_ITO},
    {.at = 0.3, .width = 0.002, .height = 300.0, .form = GSV_FORM_MIDPOINT},
    {.log = true, .hold = true, .at = 0.15, .width = 0.3, .height = 1.5},
    {.log = true, .hold = true, .at = 0.4, .width = 0.001, .height = 400.0},
    {.log = true, .at = 0.3, .width = 0.002, .height = 300.0},
};

struct trial {
    size_t rows;
    double t[MOST_ROWS], x[MOST_ROWS], u[MOST_ROWS];
    double loglik;
};

/* The mean after a time h in which u goes from u0 to u1; of the logarithm,
 * without its own drift, where k is 0. */
static double move(double m, double k, double u0, double u1, double h)
{
    double slope = (u1 - u0) / h, a = exp(-k * h);
    if (k == 0.0) return m + 0.5 * (u0 + u1) * h;
    return a * m + u0 * (1.0 - a) / k + slope * (h - (1.0 - a) / k) / k;
}

static double mean_after(const struct shape *s, double x)
{
    double k = s->log ? 0.0 : RATE, end = 1.0 - s->at - s->width, m = x;
    double peak = s->hold ? s->height : 2.0 * s->height;
    m = move(m, k, 0.0, 0.0, s->at);
    if (s->hold) {
        m = move(m, k, peak, peak, s->width);
    } else {
        m = move(m, k, 0.0, peak, 0.5 * s->width);
        m = move(m, k, peak, 0.0, 0.5 * s->width);
    }
    m = move(m, k, 0.0, 0.0, end);
    return s->log ? m - 0.5 * NOISE * NOISE : m;
}

static void add_row(struct trial *k, double t, double x, double u)
{
    k->t[k->rows] = t;
    k->x[k->rows] = x;
    k->u[k->rows++] = u;
}

/* A gap to x, with the rows inside of it. */
static void add_gap(struct trial *k, const struct shape *s, double t, double x)
{
    add_row(k, t + s->at, NAN, s->hold ? s->height : 0.0);
    if (!s->hold) add_row(k, t + s->at + 0.5 * s->width, NAN, 2.0 * s->height);
    add_row(k, t + s->at + s->width, NAN, 0.0);
    add_row(k, t + 1.0, s->log ? exp(x) : x, NAN);
}

static struct trial trial_of(const struct shape *s, uint64_t seed)
{
    struct trial k = {0};
    double x = s->log ? 0.0 : 1.0, h = 2.0 * RATE, *z = normals(GAPS, seed);
    double variance = NOISE * NOISE * (s->log ? 1.0 : (1.0 - exp(-h)) / h);
    add_row(&k, 0.0, s->log ? exp(x) : x, 0.0);
    for (size_t i = 0; i < GAPS; i++) {
        double mean = mean_after(s, x);
        x = mean + sqrt(variance) * z[i];
        k.loglik += exact_normal(x, mean, variance) - (s->log ? x : 0.0);
        add_gap(&k, s, (double)i, x);
    }
    mem_free(z);
    return k;
}

static gsv_model *model_of_shape(const struct shape *s)
{
    char text[200];
    snprintf(text, sizeof text,
             "state x\ninput u%s\nparam k = %g, s = %g > 0\ndx = %s\n",
             s->hold ? " hold" : "", RATE, NOISE,
             s->log ? "u*x*dt + s*x*dW" : "(u - k*x)*dt + s*dW");
    return model_of(text);
}

static double error_with(const gsv_model *m, const gsv_series *data,
                         const struct shape *s, size_t steps, double exact)
{
    gsv_options o = default_options();
    gsv_result r = {0};
    o.form = s->form;
    o.steps = steps;
    if (gsv_loglik(m, data, &o, &r)) fail_msg("%s", gsv_last_error());
    double off = fabs(r.loglik - exact);
    gsv_result_free(&r);
    return off;
}

/* Of forms with steps, to what 64 of them leave: where the input changes in a
 * step, its mean over the step says when only to within one. */
static void likelihood__has_what_inputs_do_between_the_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(SHAPES); i++) {
        const struct shape *s = &SHAPES[i];
        struct trial k = trial_of(s, i + 1);
        double value[2 * MOST_ROWS];
        memcpy(value, k.x, k.rows * sizeof *value);
        memcpy(value + k.rows, k.u, k.rows * sizeof *value);
        gsv_model *m = model_of_shape(s);
        gsv_series *data = track_of(m, k.rows, k.t, value);
        double off = error_with(m, data, s, STEPS, k.loglik);
        double half = error_with(m, data, s, 4 * STEPS, k.loglik);
        printf("%zu: off by %.4f, with more steps by %.4f of %.4f\n", i, off,
               half, k.loglik);
        if (s->form) assert_true(off < 0.02 && half < 0.005);
        else assert_true(off < 1e-8); /* without steps */
        gsv_series_free(data);
        gsv_model_free(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(likelihood__has_what_inputs_do_between_the_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
