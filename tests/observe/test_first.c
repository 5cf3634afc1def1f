/* SPDX-License-Identifier: MIT */
/* First states: any continuous law, at the first row whether or not anything
 * was observed there, or at a time before it; against Kalman's filter for each
 * first state and a sum over these. And the stops of rows with events. */
#include <stdio.h>

#include "observe_exact.h"

#include "estimator/estimator.h"
#include "lang/law.h"
#include "observe/observe.h"

static const double RATE = 0.5, NOISE = 0.3, ERROR = 0.4, GAIN = 0.7;

enum { ROWS = 8 };
static const double TIME[ROWS] = {0.5, 1.0, 1.7, 2.0, 3.0, 3.5, 4.5, 5.0};
static const double U[ROWS] = {1, NAN, 2, NAN, NAN, -1, NAN, NAN};

struct shape {
    const char *init;
    double begin;   /* of the first state                          */
    size_t leading; /* rows without an observation come first      */
    double level;   /* what observations are about                 */
};

static const struct shape SHAPES[] = {
    {"normal(1, 0.8)", 0.5, 0, 1.5},
    {"normal(1, 0.8)", 0.5, 2, 1.5},
    {"normal(1, 0.8) at 0.5", 0.5, 0, 1.5},
    {"normal(1, 0.8) at 0", 0.0, 0, 1.5},
    {"normal(1, 0.8) at -2", -2.0, 3, 1.5},
    {"student(1, 0.5, 3)", 0.5, 0, 2.0},
    {"student(1, 0.5, 3) at -1", -1.0, 1, 2.0},
    {"lognormal(0.2, 0.5)", 0.5, 0, 1.5},
    {"lognormal(0.2, 0.5) at 0", 0.0, 2, 1.5},
    {"gamma(1.5, 3) at 0", 0.0, 0, 1.5},
    {"gamma(1.5, 1.2)", 0.5, 1, 1.0},
    {"beta(0.4, 5) at 0.25", 0.25, 0, 0.5},
};

/* --- The exact value ------------------------------------------------------ */

static double input_at(double t)
{
    double u = U[0];
    for (size_t i = 0; i < ROWS && TIME[i] <= t; i++)
        if (!isnan(U[i])) u = U[i];
    return u;
}

/* log p(y | the first state is z). */
static double given(const struct shape *s, const double *y, double z)
{
    double mean = z, variance = 0.0, now = s->begin, sum = 0.0;
    for (size_t i = 0; i < ROWS; i++) {
        double h = TIME[i] - now, a = exp(-RATE * h);
        double u = input_at(0.5 * (now + TIME[i]));
        mean = a * mean + GAIN * u * (1.0 - a) / RATE;
        variance =
            a * a * variance + NOISE * NOISE * (1.0 - a * a) / (2.0 * RATE);
        now = TIME[i];
        if (isnan(y[i])) continue;
        double total = variance + ERROR * ERROR, gain = variance / total;
        sum += exact_normal(y[i], mean, total);
        mean += gain * (y[i] - mean);
        variance *= 1.0 - gain;
    }
    return sum;
}

/* The sum over first states, with the law's density from the model's graph,
 * which test_law.c tests; it must be -inf where the law has no values. */
static double exact(const gsv_model *m, const struct shape *s, const double *y)
{
    enum { POINTS = 20001 };
    const double low = -20.0, high = 20.0;
    double dz = (high - low) / (POINTS - 1), sum = 0.0;
    struct graph *g = graph_copy(m->spec->graph);
    const struct first_spec *first = &m->spec->first[0];
    node z = graph_leaf(g, OP_STATE, 0, 1, 1);
    node density = law_density_at(g, first->law, first->argument, z);
    for (size_t i = 0; i < POINTS; i++) {
        double x = low + dz * ((double)i + 0.5), value;
        const struct points at = {.P = 1, .state = &x};
        assert_int_equal(model_evaluate_in(m, g, density, &at, true, &value),
                         0);
        assert_true(!isnan(value));
        sum += exp(value + given(s, y, x)) * dz;
    }
    graph_free(g);
    return log(sum);
}

/* --- The scan ------------------------------------------------------------- */

static gsv_model *model_of_shape(const struct shape *s)
{
    char text[400];
    snprintf(text, sizeof text,
             "state x\ninput u hold\nparam k = %g > 0, s = %g > 0\n"
             "dx = (%g*u - k*x)*dt + s*dW\nobs y ~ normal(x, %g)\n"
             "init x ~ %s\n",
             RATE, NOISE, GAIN, ERROR, s->init);
    return model_of(text);
}

static gsv_series *data_of(const struct shape *s, double *y)
{
    static const char *const NAME[] = {"u", "y"};
    const size_t start[2] = {0, ROWS};
    double value[2 * ROWS];
    memcpy(value, U, sizeof U);
    for (size_t i = 0; i < ROWS; i++) {
        double off = 0.4 * sin(2.0 * (double)i);
        y[i] = i < s->leading ? NAN : s->level + off;
        value[ROWS + i] = y[i];
    }
    gsv_series *data = gsv_series_new(1, start, 2, NAME, TIME, value);
    if (!data) fail_msg("%s", gsv_last_error());
    return data;
}

static void scan__has_the_law_and_the_time_of_the_first_state(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(SHAPES); i++) {
        const struct shape *s = &SHAPES[i];
        double y[ROWS];
        gsv_model *m = model_of_shape(s);
        gsv_series *data = data_of(s, y);
        gsv_options o = default_options();
        o.observe = GSV_OBSERVE_SCAN;
        o.points = 256;
        gsv_result r = loglik_of(m, data, &o);
        double off = r.loglik - exact(m, s, y);
        printf("%zu: %.4f, off by %.5f +- %.5f\n", i, r.loglik, off, r.error);
        assert_true(fabs(off) < 0.005);
        gsv_result_free(&r);
        gsv_series_free(data);
        gsv_model_free(m);
    }
}

/* --- A time is a row ------------------------------------------------------ */

/* An init at a time says the same as an empty row at that time. */
static void init__at_a_time_is_that_of_an_empty_row(void **state)
{
    (void)state;
    static const char *const TEXT[] = {
        "dx = (u - x)*dt + dW\nobs y ~ normal(x, 1)\n",
        "dx = (u - x)*dt + 0.5*dW\nobs y ~ poisson_process(exp(x))\n",
        "dx = (u - x)*x*dt + 0.2*x*dW\nobs y ~ poisson(x)\n",
    };
    static const double T[] = {-1.5, 0, 1, 2, 3};
    static const double V[] = {NAN, 1,   NAN, 2,   1,  /* y */
                               NAN, 0.5, NAN, 1.5, 1}; /* u */
    static const char *const NAME[] = {"y", "u"};
    enum { N = COUNT(T) };
    double later[2 * (N - 1)];
    for (size_t c = 0; c < 2; c++)
        memcpy(later + c * (N - 1), V + c * N + 1, (N - 1) * sizeof *V);
    const size_t all[2] = {0, N}, some[2] = {0, N - 1};
    gsv_series *whole = gsv_series_new(1, all, 2, NAME, T, V);
    gsv_series *cut = gsv_series_new(1, some, 2, NAME, T + 1, later);
    for (size_t i = 0; i < 2 * COUNT(TEXT); i++) {
        double loglik[2];
        for (size_t timed = 0; timed < 2; timed++) {
            char text[300];
            snprintf(text, sizeof text,
                     "state x\ninput u%s\n%sinit x ~ normal(1, 0.2)%s\n",
                     i % 2 ? " hold" : "", TEXT[i / 2],
                     timed ? " at -1.5" : "");
            gsv_model *m = model_of(text);
            gsv_options o = default_options();
            o.observe = GSV_OBSERVE_SCAN;
            gsv_result r = loglik_of(m, timed ? cut : whole, &o);
            loglik[timed] = r.loglik;
            gsv_result_free(&r);
            gsv_model_free(m);
        }
        printf("%zu: %.6f\n", i, loglik[0]);
        assert_true(loglik[0] == loglik[1]);
    }
    gsv_series_free(whole);
    gsv_series_free(cut);
}

/* A series that begins before the time of the init, or whose states have no law
 * there. */
static void init__must_have_a_time_up_to_the_first_row(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } CASE[] = {
        {"state x\ndx = -x*dt + dW\nobs y ~ normal(x, 1)\n"
         "init x ~ normal(0, 1) at 0.5\n",
         "data: series '1' begins at time 0, before the time 0.5 of the "
         "model's init; give an earlier time in 'init ... at', or leave the "
         "rows before it out"},
        {"state x, y\ndx = -x*dt + dW1\ndy = x*dt + dW2\n"
         "init x ~ normal(0, 1) at -1\n",
         "data: series '1' begins at time 0, but the model's init is at time "
         "-1, where the state 'y' is unknown: it is observed exactly, in the "
         "rows of the data; give it an obs and an init, or write the init "
         "without 'at'"},
    };
    static const char *const NAME[] = {"y"};
    static const double T[] = {0, 1}, V[] = {1, 2};
    const size_t start[2] = {0, 2};
    gsv_series *data = gsv_series_new(1, start, 1, NAME, T, V);
    for (size_t i = 0; i < COUNT(CASE); i++) {
        gsv_model *m = model_of(CASE[i].text);
        gsv_options o = default_options();
        gsv_result r = {0};
        assert_int_equal(gsv_loglik(m, data, &o, &r), GSV_BAD_INPUT);
        assert_string_equal(gsv_last_error(), CASE[i].message);
        gsv_model_free(m);
    }
    gsv_series_free(data);
}

/* --- Stops ---------------------------------------------------------------- */

/* A letter for each stop: of rows o observed, e event, b both; i before the
 * first row, - another time without a row. */
static void stops__are_at_events_inputs_and_the_first_time(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *stops;
        size_t rows; /* of results */
    } CASE[] = {
        {"dx = -x*dt + dW\n", "-ooo", 3},
        {"dx = -x*dt + dW\nevent x += dose\n", "eoebo", 3},
        {"dx = (u - x)*dt + dW\nevent x += dose\n", "eo-ebo", 3},
        {"dx = (u - x)*dt + dW\n", "-o-oo", 3},
        {"dx = -x*dt + dW\nevent x += dose\ninit x ~ normal(0, 1) at -1\n",
         "ieoebo", 3},
        {"dx = -x*dt + dW\nevent x += dose\ninit x ~ normal(0, 1) at 0\n",
         "eoebo", 3},
        {"dx = -x*dt + dW\ninit x ~ normal(0, 1) at -1\n", "iooo", 3},
    };
    static const char *const NAME[] = {"y", "u", "dose"};
    static const double T[] = {0, 1, 2, 3, 4, 5, 6};
    static const double V[] = {NAN, 1,   NAN, NAN, 2,   3,   NAN, /* y    */
                               1,   NAN, 2,   NAN, NAN, NAN, 4,   /* u    */
                               5,   NAN, NAN, 6,   7,   NAN, 8};  /* dose */
    const size_t start[2] = {0, COUNT(T)};
    gsv_series *data = gsv_series_new(1, start, 3, NAME, T, V);
    for (size_t i = 0; i < COUNT(CASE); i++) {
        char text[300], found[20] = "";
        snprintf(text, sizeof text,
                 "state x\ninput u hold\nobs y ~ normal(x, 1)\n%s",
                 CASE[i].text);
        gsv_model *m = model_of(text);
        struct stops s;
        if (stops_init(&s, m, data)) fail_msg("%s", gsv_last_error());
        for (size_t n = 0; n < s.count; n++) {
            const struct stop *p = &s.stop[n];
            bool seen = p->row != NO_ROW, jumps = p->event != NO_ROW;
            char plain = p->time < 0.0 ? 'i' : '-';
            found[n] = (char)(seen ? jumps ? 'b' : 'o' : jumps ? 'e' : plain);
            for (size_t k = 0; jumps && k < m->spec->events; k++)
                assert_true(stop_event_value(&s, n, k) ==
                            V[2 * COUNT(T) + (size_t)p->time]);
        }
        assert_string_equal(found, CASE[i].stops);
        assert_int_equal(stops_rows(&s), CASE[i].rows);
        stops_free(&s);
        gsv_model_free(m);
    }
    gsv_series_free(data);
}

/* --- Refusals ------------------------------------------------------------- */

static void estimators__name_the_event_that_they_cannot_follow(void **state)
{
    (void)state;
    static const enum gsv_observe OBSERVE[] = {
        GSV_OBSERVE_SCAN, GSV_OBSERVE_CONJUGATE, GSV_OBSERVE_VARIATIONAL};
    static const char *const NAME[] = {"y", "dose"};
    static const double T[] = {0, 1, 2}, V[] = {1, 2, 3, NAN, 1, NAN};
    const size_t start[2] = {0, 3};
    gsv_series *data = gsv_series_new(1, start, 2, NAME, T, V);
    static const char *const TEXT[] = {
        "state x\ndx = -x*dt + dW\nobs y ~ normal(x, 1)\nevent x += dose\n",
        "state y\n\ndy = -y*dt + dW\nevent y += dose\n"};
    for (size_t i = 0; i < COUNT(TEXT); i++)
        for (size_t k = 0; k < COUNT(OBSERVE); k++) {
            gsv_model *m = model_of(TEXT[i]);
            gsv_options o = default_options();
            gsv_result r = {0};
            o.observe = OBSERVE[k];
            assert_int_equal(gsv_loglik(m, data, &o, &r), GSV_BAD_INPUT);
            assert_non_null(
                strstr(gsv_last_error(), "test:4:7: the estimator "));
            gsv_model_free(m);
        }
    gsv_series_free(data);
}

static int accept_all(const struct method *row, const struct task *t)
{
    (void)row;
    (void)t;
    return 0;
}

/* A row that does not say that it knows of events, or of other laws than the
 * normal one, is not asked. */
static void estimators__refuse_what_they_do_not_say_they_know(void **state)
{
    (void)state;
    static const struct {
        const char *line, *message;
    } CASE[] = {
        {"", NULL},
        {"init x ~ normal(0, 1) at 0\n", NULL},
        {"event x += dose\n",
         "test:4:7: the estimator new cannot follow a state that jumps at "
         "known "
         "times (event); use --observe guided\n    event x += dose\n"
         "          ^"},
        {"init x ~ gamma(1, 2)\n",
         "test:4:10: the estimator new takes only normal laws of first states "
         "(init); write 'normal(mean, deviation)' here, or use "
         "--observe guided\n    init x ~ gamma(1, 2)\n             ^~~~~"},
    };
    const struct method plain = {.name = "new", .accept = accept_all};
    const struct method able = {
        .name = "new", .jumps = true, .first_laws = true, .accept = accept_all};
    for (size_t i = 0; i < COUNT(CASE); i++) {
        char text[200];
        snprintf(text, sizeof text,
                 "state x\ndx = -x*dt + dW\nobs y ~ normal(x, 1)\n%s",
                 CASE[i].line);
        gsv_model *m = model_of(text);
        const struct task task = {.model = m};
        assert_int_equal(estimator_accept(&able, &task), 0);
        int status = estimator_accept(&plain, &task);
        assert_int_equal(status, CASE[i].message ? GSV_BAD_INPUT : 0);
        if (status) assert_string_equal(gsv_last_error(), CASE[i].message);
        gsv_model_free(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scan__has_the_law_and_the_time_of_the_first_state),
        cmocka_unit_test(init__at_a_time_is_that_of_an_empty_row),
        cmocka_unit_test(init__must_have_a_time_up_to_the_first_row),
        cmocka_unit_test(stops__are_at_events_inputs_and_the_first_time),
        cmocka_unit_test(estimators__name_the_event_that_they_cannot_follow),
        cmocka_unit_test(estimators__refuse_what_they_do_not_say_they_know)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
