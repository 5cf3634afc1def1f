/* SPDX-License-Identifier: MIT */
/* Linear equations with forces in time and inputs, observed exactly (the form
 * exact) and through noise (the Kalman filter): against the same equations with
 * the force as two more states, which stand still in the sense of time, or with
 * what an input does as a hidden state beside; and their gradients. */
#include "gradient.h"

#include <stdio.h>

enum { ROWS = 9, MOST_D = 4, TEXT = 2000 };

/* Of text in room. */
__attribute__((format(printf, 2, 3))) static void add(char *room,
                                                      const char *format, ...)
{
    va_list list;
    size_t used = strlen(room);
    va_start(list, format);
    vsnprintf(room + used, TEXT - used, format, list);
    va_end(list);
}

/* d states in a ring, pushed by `force`, then the lines `more`. */
static gsv_model *ring(size_t d, bool hidden, const char *states,
                       const char *force, const char *more)
{
    char text[TEXT] = "state ";
    for (size_t i = 0; i < d; i++)
        add(text, "%sx%zu", i ? ", " : "", i);
    add(text, "%s\nparam k = 0.9, c = 3, s = 0.6 > 0\n%s\n", states, more);
    for (size_t i = 0; i < d; i++) {
        add(text, "dx%zu = (-k*x%zu + 0.7*x%zu + c*%s/%zu)*dt + s*dW%zu\n", i,
            i, (i + 1) % d, force, i + 1, i + 1);
        if (hidden)
            add(text,
                "init x%zu ~ normal(0.2, 0.5)\nobs y%zu ~ normal(x%zu, 0.1)\n",
                i, i, i);
    }
    return model_of(text);
}

/* Rows of noise, at regular or irregular times from 0. */
struct table {
    double time[ROWS], *value;
    gsv_series *series;
};

static gsv_series *series_of(const gsv_model *m, const struct table *t)
{
    const size_t start[2] = {0, ROWS};
    gsv_series *s = gsv_series_new(1, start, gsv_model_data_columns(m),
                                   gsv_model_data_column(m), t->time, t->value);
    if (!s) fail_msg("%s", gsv_last_error());
    return s;
}

static struct table table_of(const gsv_model *m, double gap, bool regular)
{
    size_t columns = gsv_model_data_columns(m);
    struct table t = {.value = normals(ROWS * columns, 3)};
    double *u = normals(ROWS, 5);
    for (size_t i = 1; i < ROWS; i++)
        t.time[i] = t.time[i - 1] + gap * (regular ? 1.0 : 0.2 + fabs(u[i]));
    t.series = series_of(m, &t);
    mem_free(u);
    return t;
}

static void table_free(struct table *t)
{
    gsv_series_free(t->series);
    mem_free(t->value);
}

static double value_of_model(const gsv_model *m, const gsv_series *s,
                             bool stepless)
{
    gsv_options o = gsv_options_default();
    o.threads = 1;
    gsv_result r = loglik_of(m, s, &o);
    if (stepless) assert_true(isnan(r.discretisation) && r.error == 0.0);
    double value = r.loglik;
    gsv_result_free(&r);
    return value;
}

/* By sin(w t) as two more states. */
static double by_states(size_t d, bool hidden, double w, const gsv_series *s)
{
    char more[200];
    snprintf(more, sizeof more,
             "dp = %.17g*q*dt\ndq = -%.17g*p*dt\n"
             "init p ~ normal(0, 1e-9)\ninit q ~ normal(1, 1e-9)",
             w, w);
    gsv_model *m = ring(d, hidden, ", p, q", "p", more);
    double value = value_of_model(m, s, true);
    gsv_model_free(m);
    return value;
}

/* Slow and fast, and as often as rows come, so that all of them see the same.
 */
static void forces_in_time__are_exact_at_any_rate(void **state)
{
    (void)state;
    static const double RATE[] = {0.01, 1.0, 6.283185307179586, 50.2655, 777.0};
    static const double GAP[] = {0.1, 1.0, 7.0};
    double worst = 0.0;
    for (size_t d = 1; d <= MOST_D; d++)
        for (size_t i = 0; i < COUNT(RATE) * COUNT(GAP) * 4; i++) {
            double w = RATE[i / 4 % COUNT(RATE)];
            double gap = GAP[i / 4 / COUNT(RATE)];
            bool hidden = i & 1;
            char force[60];
            snprintf(force, sizeof force, "sin(%.17g*t)", w);
            gsv_model *m = ring(d, hidden, "", force, "");
            struct table t = table_of(m, gap, i & 2);
            double value = value_of_model(m, t.series, true);
            double exact = by_states(d, hidden, w, t.series);
            double off = fabs(value - exact) / (1.0 + fabs(exact));
            worst = fmax(worst, off);
            if (!(off < 1e-8))
                fail_msg(
                    "%zu states, hidden %d, w %g, gap %g: %.12g, not %.12g", d,
                    hidden, w, gap, value, exact);
            table_free(&t);
            gsv_model_free(m);
        }
    printf("off by %.1e at most\n", worst);
}

/* A jump at a time that no halving hits; a peak; a corner. In one state the
 * moves are known: c (1 - e^{-k u}) / k of a constant over the last u. */
static double jump_value(double k, double c, double s, const struct table *t,
                         double at)
{
    double sum = 0.0;
    for (size_t i = 1; i < ROWS; i++) {
        double t0 = t->time[i - 1], t1 = t->time[i], h = t1 - t0;
        double since = fmin(fmax(t1 - at, 0.0), h), a = exp(-k * h);
        double mean = a * t->value[i - 1] + c * (1.0 - exp(-k * since)) / k;
        double variance = s * s * (1.0 - a * a) / (2.0 * k);
        sum += exact_normal(t->value[i], mean, variance);
    }
    return sum;
}

static void jumps_in_time__are_where_they_are(void **state)
{
    (void)state;
    static const double AT[] = {0.001, 0.4142, 2.71828, 3.0, 5.9999};
    for (size_t i = 0; i < COUNT(AT); i++) {
        char text[200];
        snprintf(text, sizeof text,
                 "state x\nparam k = 0.9, c = 3, s = 0.6 > 0\n"
                 "dx = (-k*x + c*where(t > %.17g, 1, 0))*dt + s*dW",
                 AT[i]);
        gsv_model *m = model_of(text);
        struct table t = table_of(m, 1.0, true);
        double exact = jump_value(0.9, 3.0, 0.6, &t, AT[i]);
        double value = value_of_model(m, t.series, true);
        if (!(fabs(value - exact) < 1e-8))
            fail_msg("at %g: %.12g, not %.12g", AT[i], value, exact);
        table_free(&t);
        gsv_model_free(m);
    }
}

/* Exactly observed states, against a filter that also has a hidden one with
 * nothing to do: it is a Kalman filter, whose parts the rows are. */
static void inputs__are_those_of_a_kalman_filter(void **state)
{
    (void)state;
    static const char *const kind[] = {"input u hold", "input u"};
    for (size_t d = 1; d <= MOST_D; d++)
        for (size_t i = 0; i < 8; i++) {
            char more[200];
            gsv_model *m = ring(d, false, "", "u", kind[i & 1]);
            snprintf(more, sizeof more,
                     "%s\ninit z ~ normal(0, 1)\ndz = -z*dt + dW9",
                     kind[i & 1]);
            gsv_model *both = ring(d, false, ", z", "u", more);
            struct table t = table_of(m, 0.6, i & 2);
            /* Rows without states, where the input turns. */
            for (size_t n = 0; i & 4 && n < d; n++)
                for (size_t r = 1; r + 1 < ROWS; r += 1 + r % 3)
                    t.value[n * ROWS + r] = NAN;
            gsv_series_free(t.series);
            t.series = series_of(m, &t);
            double value = value_of_model(m, t.series, true);
            double exact = value_of_model(both, t.series, true);
            if (!(fabs(value - exact) < 1e-9 * (1.0 + fabs(exact))))
                fail_msg("%zu states, shape %zu: %.12g, not %.12g", d, i, value,
                         exact);
            table_free(&t);
            gsv_model_free(m);
            gsv_model_free(both);
        }
}

/* Maps to unit noise, with parameters in them; a chain of integrals; factors
 * that inputs hold; forces with a parameter inside. */
static void gradients__are_those_of_the_value(void **state)
{
    (void)state;
    static const char *const text[] = {
        "state x\nparam k = 0.9, c = 3, w = 7, s = 0.6 > 0\n"
        "dx = (-k*x + c*sin(w*t))*dt + s*dW",
        "state x\nparam k = 0.9, c = 3, s = 0.6 > 0\n"
        "dx = (k + c*sin(50*t))*x*dt + s*x*dW",
        "state x, v\nparam k = 0.9, c = 3, s = 0.6 > 0\n"
        "dx = v*dt\ndv = (-k*v - x + c*cos(20*t))*dt + s*dW",
        "state x, y\ninput u hold\nparam k = 0.9, c = 3, r = 0.4, s = 0.6 > 0\n"
        "dx = (-k*u^2*x + y + c*sin(t))*dt + s*dW1\n"
        "dy = (-r*y + t)*dt + s*dW1 + r*dW2",
        "state x\ninput u\nparam k = 300, c = 3, s = 0.6 > 0\n"
        "dx = k*(exp(c*u/9) - x)*dt + s*dW",
        "state x\nparam k = 0.9, c = 3, w = 7, s = 0.6 > 0\n"
        "init x ~ normal(0, 1)\nobs y ~ normal(x, 0.2)\n"
        "dx = (-k*x + c*sin(w*t))*dt + s*dW",
    };
    for (size_t i = 0; i < COUNT(text); i++) {
        gsv_model *m = model_of(text[i]);
        struct table t = table_of(m, 0.7, false);
        gsv_options o = gsv_options_default();
        o.threads = 1;
        for (size_t e = 0; e < ROWS; e++) /* of a logarithm, too */
            t.value[e] = exp(0.3 * t.value[e]);
        gsv_series_free(t.series);
        t.series = series_of(m, &t);
        gsv_gradient_check c = {0};
        if (gsv_check_gradient(m, t.series, &o, &c))
            fail_msg("%s", gsv_last_error());
        printf("%zu: off by %.1e\n", i, c.worst);
        assert_true(c.agrees && c.worst < 1e-6);
        table_free(&t);
        gsv_model_free(m);
    }
}

/* Series with effects of their own: against bridges with many steps. */
static void panels__are_exact_too(void **state)
{
    (void)state;
    gsv_model *m =
        model_of("state x\nparam k = 0.9, c = 3, m = 0, v = 0.5 > 0\n"
                 "random u ~ normal(m, v)\n"
                 "dx = (-k*x + u + c*sin(7*t))*dt + 0.6*dW");
    struct table t = table_of(m, 0.7, false);
    gsv_options o = gsv_options_default();
    o.threads = 1;
    gsv_result r = loglik_of(m, t.series, &o);
    assert_int_equal(r.gap[0].form, GSV_FORM_EXACT);
    o.form = GSV_FORM_MIDPOINT;
    o.paths = 2;
    o.steps = 256;
    gsv_result steps = loglik_of(m, t.series, &o);
    assert_near(r.loglik, steps.loglik, 1e-3);
    gsv_result_free(&r);
    gsv_result_free(&steps);
    table_free(&t);
    gsv_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forces_in_time__are_exact_at_any_rate),
        cmocka_unit_test(jumps_in_time__are_where_they_are),
        cmocka_unit_test(inputs__are_those_of_a_kalman_filter),
        cmocka_unit_test(panels__are_exact_too),
        cmocka_unit_test(gradients__are_those_of_the_value)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
