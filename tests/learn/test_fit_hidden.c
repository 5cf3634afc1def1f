/* SPDX-License-Identifier: MIT */
/* Networks of hidden states: batches of series, and where they start. */
#include <math.h>
#include <string.h>

#include "exact.h"

enum { TRACKS = 24, ROWS = 16, COLUMNS = 6 };

static const char WELL[] = "state x\nparam s = 0.6 > 0, e = 0.2 > 0\n"
                           "dx = -2*tanh(2*x)*dt + s*dW\n"
                           "init x ~ normal(0, 1)\nobs u ~ normal(x, e)\n";
static const char NET[] = "state x\nparam s = 1 > 0, e = 0.5 > 0\n"
                          "net f(x) -> 1 : 8 tanh\ndx = f*dt + s*dW\n"
                          "init x ~ normal(0, 1)\nobs u ~ normal(x, e)\n";
static const char DECODER[] =
    "state x\nparam s = 1 > 0, e = 0.5 > 0\nnet f(x) -> 1 : 8 tanh\n"
    "net g(x) -> 6 : 8 tanh\ndx = f*dt + s*dW\ninit x ~ normal(0, 1)\n"
    "obs y[6] ~ normal(g, e)\n";

/* Series of a model's own observations. */
static gsv_series *drawn(const char *text, uint64_t seed)
{
    gsv_model *m = model_of(text);
    gsv_simulate_options o = gsv_simulate_options_default();
    double time[ROWS];
    for (size_t i = 0; i < ROWS; i++)
        time[i] = 0.2 * (double)i;
    o.time = time;
    o.times = ROWS;
    o.tracks = TRACKS;
    o.seed = seed;
    gsv_series *s = gsv_simulate(m, &o);
    if (!s) fail_msg("%s", gsv_last_error());
    gsv_model_free(m);
    return s;
}

static gsv_fit_options options_of(size_t iterations, size_t threads)
{
    gsv_fit_options o = gsv_fit_options_default();
    o.estimator.observe = GSV_OBSERVE_GUIDED;
    o.estimator.threads = threads;
    o.estimator.points = 16;
    o.estimator.steps = 2;
    o.iterations = iterations;
    o.batch = 8;
    return o;
}

static double number(const gsv_model *m, const char *name)
{
    for (size_t i = 0; i < gsv_model_params(m); i++) {
        gsv_param p = gsv_model_param(m, i);
        if (!strcmp(p.name, name)) return gsv_model_value(m)[p.offset];
    }
    fail_msg("no %s", name);
    return NAN;
}

static gsv_model *fitted(const char *text, const gsv_series *s,
                         const gsv_fit_options *o)
{
    gsv_model *m = model_of(text);
    if (gsv_fit(m, s, o)) fail_msg("%s", gsv_last_error());
    return m;
}

/* The log-likelihood of other data, against that of the truth. */
static void fit__comes_close_to_the_truth(void **state)
{
    (void)state;
    gsv_series *s = drawn(WELL, 1), *fresh = drawn(WELL, 2);
    gsv_fit_options o = options_of(120, 2);
    gsv_model *m = fitted(NET, s, &o), *truth = model_of(WELL);
    gsv_options e = gsv_options_default();
    gsv_result r[2];
    e.observe = GSV_OBSERVE_GUIDED;
    e.points = 64;
    e.steps = 4;
    assert_int_equal(gsv_loglik(m, fresh, &e, &r[0]), 0);
    assert_int_equal(gsv_loglik(truth, fresh, &e, &r[1]), 0);
    double lost = (r[1].loglik - r[0].loglik) / (TRACKS * ROWS);
    if (!(lost < 0.05)) fail_msg("%g nats of each row are lost", lost);
    if (!(fabs(log(number(m, "e") / 0.2)) < 0.35))
        fail_msg("e is %g", number(m, "e"));
    const gsv_record *record = gsv_model_record(m);
    assert_int_equal(record->gaps + record->heldout_gaps, TRACKS * ROWS);
    assert_int_equal(record->heldout_gaps, ROWS);
    assert_true(isfinite(record->heldout) && isfinite(record->loglik));
    assert_int_equal(record->estimator.observe, GSV_OBSERVE_GUIDED);
    gsv_result_free(&r[0]);
    gsv_result_free(&r[1]);
    gsv_model_free(m);
    gsv_model_free(truth);
    gsv_series_free(s);
    gsv_series_free(fresh);
}

static void fit__has_the_same_bits_on_threads(void **state)
{
    (void)state;
    gsv_series *s = drawn(WELL, 3);
    gsv_fit_options one = options_of(8, 1), three = options_of(8, 3);
    gsv_model *a = fitted(NET, s, &one), *b = fitted(NET, s, &three);
    assert_memory_equal(gsv_model_value(a), gsv_model_value(b),
                        gsv_model_values(a) * sizeof(double));
    assert_true(gsv_model_record(a)->loglik == gsv_model_record(b)->loglik);
    gsv_model_free(a);
    gsv_model_free(b);
    gsv_series_free(s);
}

/* Columns that are curved functions of the hidden state, some cells empty. */
static gsv_series *decoded(const gsv_series *s)
{
    static const char *const name[COLUMNS] = {"y1", "y2", "y3",
                                              "y4", "y5", "y6"};
    size_t rows = s->rows, column = 0;
    double *value = NEW(double, COLUMNS *rows);
    while (strcmp(s->name[column], "x") != 0)
        column++;
    const double *x = s->value + column * rows;
    uint64_t seed = 5;
    for (size_t i = 0; i < COLUMNS; i++)
        for (size_t r = 0; r < rows; r++) {
            double slope = 1.0 + 0.3 * (double)i, noise = 0.0;
            for (size_t k = 0; k < 12; k++) {
                seed = seed * 6364136223846793005u + 1442695040888963407u;
                noise += (double)(seed >> 11) * 0x1p-53 - 0.5;
            }
            value[i * rows + r] =
                (i + r) % 41 == 7
                    ? NAN
                    : slope * x[r] + tanh(slope * x[r] - 0.5) + 0.2 * noise;
        }
    gsv_series *made =
        gsv_series_new(s->tracks, s->start, COLUMNS, name, s->time, value);
    mem_free(value);
    if (!made) fail_msg("%s", gsv_last_error());
    return made;
}

static void fit__learns_a_network_of_an_obs(void **state)
{
    (void)state;
    gsv_series *states = drawn(WELL, 4), *s = decoded(states);
    gsv_fit_options o = options_of(60, 2);
    gsv_model *m = fitted(DECODER, s, &o);
    if (!(fabs(log(number(m, "e") / 0.2)) < 0.2))
        fail_msg("e is %g", number(m, "e"));
    gsv_model_free(m);
    gsv_series_free(s);
    gsv_series_free(states);
}

static bool stop_soon(void *user)
{
    return ++*(size_t *)user > 40;
}

static void fit__stops_when_asked(void **state)
{
    (void)state;
    gsv_series *s = drawn(WELL, 3);
    gsv_model *m = model_of(NET);
    size_t asked = 0;
    gsv_fit_options o = options_of(100000, 2);
    o.stop = stop_soon;
    o.user = &asked;
    assert_int_equal(gsv_fit(m, s, &o), 0);
    assert_int_equal(gsv_model_record(m)->ended, GSV_ENDED_STOPPED);
    gsv_model_free(m);
    gsv_series_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fit__comes_close_to_the_truth),
        cmocka_unit_test(fit__has_the_same_bits_on_threads),
        cmocka_unit_test(fit__learns_a_network_of_an_obs),
        cmocka_unit_test(fit__stops_when_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
