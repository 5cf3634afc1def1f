/* SPDX-License-Identifier: MIT */
/* Noisy observations by particles, against Kalman's filter and a grid. */
#include <stdio.h>

#include "observe_exact.h"

static void times(size_t n, double h, double *t)
{
    for (size_t i = 0; i < n; i++)
        t[i] = i ? t[i - 1] + h * (1.0 + 0.3 * sin((double)i)) : 0.0;
}

static gsv_series *series_of(size_t n, const double *t, size_t columns,
                             const char *const *name, const double *y)
{
    const size_t start[2] = {0, n};
    gsv_series *s = gsv_series_new(1, start, columns, name, t, y);
    if (!s) fail_msg("%s", gsv_last_error());
    return s;
}

static gsv_options particles(size_t points)
{
    gsv_options o = default_options();
    o.observe = GSV_OBSERVE_PARTICLE;
    o.points = points;
    return o;
}

/* Of log-likelihoods over seeds: their mean less the exact one, and its
 * standard error. */
struct offs {
    double mean, error;
};

static struct offs offs_of(const gsv_model *m, const gsv_series *s,
                           gsv_options o, double exact, size_t seeds)
{
    double sum = 0.0, squares = 0.0, n = (double)seeds;
    for (o.seed = 1; o.seed <= seeds; o.seed++) {
        gsv_result r = loglik_of(m, s, &o);
        sum += r.loglik - exact;
        squares += (r.loglik - exact) * (r.loglik - exact);
        gsv_result_free(&r);
    }
    return (struct offs){
        sum / n, sqrt(fmax(0.0, squares / n - sum / n * (sum / n)) / (n - 1))};
}

/* --- Linear models ---------------------------------------------------------
 */

/* The text of a ring with every drift times a and every noise times s, and an
 * observation of every state. */
static void ring_text(const struct exact_linear *m, char *text, size_t size)
{
    size_t d = m->d, used = 0;
    used += (size_t)snprintf(text, size,
                             "param a = 1, s = 1 > 0, r = 1 > 0, v = 0.8 > 0\n"
                             "state x[%zu]\n",
                             d);
    for (size_t k = 0; k < 2; k++) {
        const double *M = k ? m->G : m->A;
        used += (size_t)snprintf(text + used, size - used,
                                 "const %s[%zu,%zu] = [", k ? "G" : "A", d, d);
        for (size_t i = 0; i < d * d; i++)
            used += (size_t)snprintf(text + used, size - used, "%s%.17g",
                                     i ? ", " : "", M[i]);
        used += (size_t)snprintf(text + used, size - used, "]\n");
    }
    used += (size_t)snprintf(text + used, size - used,
                             "dx = a*(A @ x)*dt + s*(G @ dW)\n");
    for (size_t i = 0; i < d; i++)
        used += (size_t)snprintf(text + used, size - used,
                                 "obs y%zu ~ normal(x[%zu], r*%.17g)\n", i + 1,
                                 i + 1, m->r[i]);
    snprintf(text + used, size - used, "init x ~ normal(0, v)\n");
}

enum { N = 50, MOST = 5 };
static const char *const NAME[] = {"y1", "y2", "y3", "y4", "y5"};

/* A ring, its data with missing cells, and the library's model of it. */
struct ring {
    struct exact_linear exact;
    double t[N], y[MOST * N];
    gsv_model *model;
    gsv_series *series;
};

static struct exact_linear plain_ring(size_t d)
{
    struct exact_linear m = exact_ring(d);
    for (size_t i = 0; i < d * d; i++)
        m.P0[i] = i % (d + 1) ? 0.0 : 0.64;
    memset(m.m0, 0, sizeof m.m0);
    memset(m.b, 0, sizeof m.b);
    return m;
}

static void open_ring(struct ring *r, size_t d)
{
    char text[4000];
    double x[MOST * N];
    r->exact = plain_ring(d);
    ring_text(&r->exact, text, sizeof text);
    times(N, 0.2, r->t);
    exact_linear_data(&r->exact, N, r->t, 11, x, r->y);
    for (size_t i = 0; i < d * N; i += 7)
        r->y[i] = NAN;
    r->model = model_of(text);
    r->series = series_of(N, r->t, d, NAME, r->y);
}

static void close_ring(struct ring *r)
{
    gsv_series_free(r->series);
    gsv_model_free(r->model);
}

static double kalman(const struct ring *r, size_t n)
{
    double y[MOST * N];
    for (size_t i = 0; i < r->exact.outputs; i++)
        memcpy(y + i * n, r->y + i * N, n * sizeof *y);
    return exact_kalman(&r->exact, n, r->t, y, NULL);
}

static void ring__is_kalmans(void **state)
{
    (void)state;
    static const size_t DIMENSION[] = {1, 2, 5};
    for (size_t c = 0; c < COUNT(DIMENSION); c++) {
        struct ring r;
        open_ring(&r, DIMENSION[c]);
        gsv_options o = particles(0);
        gsv_result l = loglik_of(r.model, r.series, &o);
        double sum = 0.0;
        for (size_t n = 0; n < l.groups; n++)
            sum += l.gap[n].loglik;
        print_message("d = %zu: %g off, error %g, ess %g\n", DIMENSION[c],
                      l.loglik - kalman(&r, N), l.error, l.ess_min);
        for (size_t n = 0, row = 0; n < 10; n++) {
            row = l.gap[n].to + 1;
            sum = 0;
            for (size_t k = 0; k <= n; k++) sum += l.gap[k].loglik;
            print_message("   %zu %g\n", row, sum - kalman(&r, row));
        }
        gsv_result_free(&l);
        struct offs off = offs_of(r.model, r.series, o, kalman(&r, N), 8);
        print_message("%g +- %g\n", off.mean, off.error);
        close_ring(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ring__is_kalmans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
