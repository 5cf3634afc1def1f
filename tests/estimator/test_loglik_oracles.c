/* SPDX-License-Identifier: MIT */
/* Worked cases with many digits, from closed forms and quadrature with extended
 * precision: oracles.json. */
#include <jansson.h>

#include "exact.h"

#define ORACLES TESTS_DIR "/estimator/oracles.json"

enum { REPEATS = 12, STEPS = 64 };

static int load(void **state)
{
    *state = json_load_file(ORACLES, 0, NULL);
    return *state ? 0 : -1;
}

static int unload(void **state)
{
    json_decref(*state);
    return 0;
}

static const json_t *case_of(void **state, const char *id)
{
    const json_t *all = json_object_get(*state, "cases");
    for (size_t i = 0; i < json_array_size(all); i++) {
        const json_t *c = json_array_get(all, i);
        if (!strcmp(json_string_value(json_object_get(c, "id")), id)) return c;
    }
    fail_msg("no case '%s'", id);
    return NULL;
}

static double number(const json_t *object, const char *key)
{
    const json_t *v = json_object_get(object, key);
    if (!json_is_number(v)) fail_msg("no number '%s'", key);
    return json_number_value(v);
}

/* The first rows of a case's data. */
static gsv_series *data_of(const gsv_model *m, const json_t *c, size_t most)
{
    static double time[50], value[5000];
    const json_t *t = json_object_get(c, "t"), *x = json_object_get(c, "x");
    size_t rows = json_array_size(t), d = gsv_model_columns(m);
    if (rows > most) rows = most;
    assert_true(rows <= COUNT(time) && d * rows <= COUNT(value));
    for (size_t r = 0; r < rows; r++) {
        time[r] = json_number_value(json_array_get(t, r));
        for (size_t i = 0; i < d; i++)
            value[i * rows + r] =
                json_number_value(json_array_get(json_array_get(x, r), i));
    }
    return track_of(m, rows, time, value);
}

/* Mean and standard error of numbers that come one by one. */
struct sample {
    double n, sum, squares;
};

static void sample_add(struct sample *s, double x)
{
    s->n += 1.0;
    s->sum += x;
    s->squares += x * x;
}

static double sample_mean(const struct sample *s)
{
    return s->sum / s->n;
}

static double sample_error(const struct sample *s)
{
    double mean = sample_mean(s);
    return sqrt((s->squares / s->n - mean * mean) / (s->n - 1.0));
}

/* --- Log-likelihoods ------------------------------------------------------ */

/* The left sum's bias is c dt + O(dt^2), and l(dt) - l(2 dt) is -c dt: the
 * value is within |l(dt) - l(2 dt)| of the truth but for noise, and adding the
 * difference leaves the second order, a tenth of the first with these steps. */
static void assert_case(const json_t *c, size_t rows, size_t paths,
                        double expected)
{
    gsv_model *m = model_of(json_string_value(json_object_get(c, "sde")));
    gsv_series *s = data_of(m, c, rows);
    struct sample plain = {0}, check = {0}, corrected = {0};
    for (size_t i = 0; i < REPEATS; i++) {
        gsv_options o = usual_options();
        o.paths = paths / SLOWER;
        o.steps = STEPS;
        o.seed = i;
        gsv_result r = loglik_of(m, s, &o);
        sample_add(&plain, r.loglik + 0.5 * r.error * r.error);
        sample_add(&check, r.discretisation);
        sample_add(&corrected,
                   r.loglik + 0.5 * r.error * r.error + r.discretisation);
        gsv_result_free(&r);
    }
    double bias = fabs(sample_mean(&check)) + sample_error(&check);
    assert_near(sample_mean(&plain), expected,
                TOLERANCE * sample_error(&plain) + 1.1 * bias);
    assert_near(sample_mean(&corrected), expected,
                TOLERANCE * sample_error(&corrected) + 0.1 * bias);
    gsv_series_free(s);
    gsv_model_free(m);
}

static void oracle__values_are_met(void **state)
{
    static const char *const id[] = {"ou1_paper", "ou5_matrix",  "ou1_timedep",
                                     "benes1",    "doublewell1", "sine1"};
    for (size_t i = 0; i < COUNT(id); i++) {
        const json_t *c = case_of(state, id[i]);
        assert_case(c, (size_t)-1, 2000, number(c, "log_p"));
    }
}

/* In 100 dimensions a gap of this length leaves few effective paths: one gap
 * alone. */
static void oracle__value_of_100_dimensions_is_met(void **state)
{
    const json_t *c = case_of(state, "ou100_paper");
    const json_t *share = json_object_get(c, "log_p_increments");
    assert_case(c, 2, 1000, json_number_value(json_array_get(share, 0)));
}

/* --- The default estimator ------------------------------------------------ */

/* The density of 100 dimensions that the paper misses by 30 %: exact. */
static void oracle__value_of_4_rows_in_100_dimensions_is_met(void **state)
{
    (void)state;
    enum { D = 100, ROWS = 4 };
    gsv_model *m =
        model_of("state x[100]\n param theta = 1 > 0, sigma = 1 > 0\n"
                 "dx = -theta*x*dt + sigma*dW");
    double time[ROWS], x[D * ROWS], expected = 0.0;
    for (size_t r = 0; r < ROWS; r++) {
        time[r] = 10.0 * (double)r / (ROWS - 1);
        for (size_t i = 0; i < D; i++)
            x[i * ROWS + r] = sin(EXACT_PI * (double)r / (ROWS - 1));
    }
    for (size_t r = 0; r + 1 < ROWS; r++)
        expected +=
            D * exact_ou(x[r], x[r + 1], 1.0, 1.0, time[r + 1] - time[r]);
    assert_near(expected, -316.543, 5e-4);
    gsv_series *s = track_of(m, ROWS, time, x);
    for (int n = 0; n < 6; n++) {
        gsv_options o = default_options();
        o.reference = n % 3 == 0   ? GSV_REFERENCE_AUTO
                      : n % 3 == 1 ? GSV_REFERENCE_LINEAR
                                   : GSV_REFERENCE_LNA;
        o.paths = n < 3 ? 64 : 2;
        o.steps = n < 3 ? 5 : 2;
        gsv_result r = loglik_of(m, s, &o);
        assert_near(r.loglik, expected, 1e-9 * fabs(expected));
        assert_true(r.error < 1e-7);
        gsv_result_free(&r);
    }
    gsv_series_free(s);
    gsv_model_free(m);
}

/* With steps of gap / 32, extrapolated or by trapezoids. */
static void oracle__values_are_met_by_default(void **state)
{
    static const char *const id[] = {"ou1_paper", "ou5_matrix", "ou1_timedep",
                                     "benes1",    "sine1",      "doublewell1"};
    for (size_t i = 0; i < COUNT(id); i++) {
        const json_t *c = case_of(state, id[i]);
        gsv_model *m = model_of(json_string_value(json_object_get(c, "sde")));
        gsv_series *s = data_of(m, c, (size_t)-1);
        for (uint64_t seed = 1; seed <= 3; seed++)
            for (int trapezoids = 0; trapezoids < 2; trapezoids++) {
                gsv_options o = default_options();
                o.paths = 256;
                o.steps = 32;
                o.seed = seed;
                o.richardson = !trapezoids;
                if (trapezoids) o.form = GSV_FORM_STRATONOVICH;
                gsv_result r = loglik_of(m, s, &o);
                assert_near(r.loglik, number(c, "log_p"),
                            TOLERANCE * r.error + 0.01);
                gsv_result_free(&r);
            }
        gsv_series_free(s);
        gsv_model_free(m);
    }
}

/* The bias of left sums, free of noise by many Sobol' points. */
static double bias_of(const json_t *c, bool richardson)
{
    gsv_model *m = model_of(json_string_value(json_object_get(c, "sde")));
    gsv_series *s = data_of(m, c, (size_t)-1);
    struct sample all = {0};
    for (uint64_t seed = 1; seed <= 4; seed++) {
        gsv_options o = default_options();
        o.reference = GSV_REFERENCE_BROWNIAN;
        o.form = GSV_FORM_ITO;
        o.paths = 65536 / SLOWER;
        o.richardson = richardson;
        o.seed = seed;
        gsv_result r = loglik_of(m, s, &o);
        sample_add(&all, r.loglik);
        gsv_result_free(&r);
    }
    gsv_series_free(s);
    gsv_model_free(m);
    return sample_mean(&all) - number(c, "log_p");
}

static void richardson__takes_most_of_the_bias_of_steps_away(void **state)
{
    static const char *const id[] = {"doublewell1", "sine1"};
    for (size_t i = 0; i < COUNT(id); i++) {
        const json_t *c = case_of(state, id[i]);
        double plain = bias_of(c, false), less = bias_of(c, true);
        print_message("%s: off by %.4f, extrapolated %.4f\n", id[i], plain,
                      less);
        assert_true(fabs(less) < fabs(plain) / 3.0);
    }
}

/* --- Scores --------------------------------------------------------------- */

struct score {
    const char *id, *text;
    size_t params;
    const char *name[3];
};

static const struct score SCORES[] = {
    {"ou1_paper",
     "state x\n param theta = 1, sigma = 1\n dx = -theta*x*dt + sigma*dW",
     2,
     {"theta", "sigma"}},
    {"doublewell1",
     "state x\n param a = 1, b = 1, sigma = 0.5\n"
     "dx = (a*x - b*x^3)*dt + sigma*dW",
     3,
     {"a", "b", "sigma"}},
    {"sine1",
     "state x\n param a = 1, sigma = 1\n dx = a*sin(x)*dt + sigma*dW",
     2,
     {"a", "sigma"}}};

/* The gradient with steps of dt and of 2 dt: twice the first less the second
 * is free of the first order, and the second is small beside it. */
static void oracle__scores_are_met(void **state)
{
    for (size_t n = 0; n < COUNT(SCORES); n++) {
        const struct score *p = &SCORES[n];
        const json_t *c = case_of(state, p->id);
        const json_t *score = json_object_get(c, "score");
        gsv_model *m = model_of(p->text);
        gsv_series *s = data_of(m, c, (size_t)-1);
        struct sample fine[3] = {{0}}, corrected[3] = {{0}};
        for (size_t i = 0; i < REPEATS; i++) {
            gsv_options o = usual_options();
            o.paths = 2000 / SLOWER;
            o.steps = STEPS;
            o.seed = i;
            o.gradient = true;
            gsv_result r = loglik_of(m, s, &o);
            o.steps = STEPS / 2;
            gsv_result half = loglik_of(m, s, &o);
            for (size_t j = 0; j < p->params; j++) {
                sample_add(&fine[j], r.gradient[j]);
                sample_add(&corrected[j],
                           2.0 * r.gradient[j] - half.gradient[j]);
            }
            gsv_result_free(&r);
            gsv_result_free(&half);
        }
        for (size_t j = 0; j < p->params; j++) {
            double expected = number(score, p->name[j]);
            double bias =
                fabs(sample_mean(&corrected[j]) - sample_mean(&fine[j]));
            assert_near(sample_mean(&corrected[j]), expected,
                        TOLERANCE * sample_error(&corrected[j]) + 0.1 * bias);
            assert_near(sample_mean(&fine[j]), expected,
                        TOLERANCE * sample_error(&fine[j]) + 1.1 * bias);
        }
        gsv_series_free(s);
        gsv_model_free(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(oracle__values_are_met),
        cmocka_unit_test(oracle__value_of_100_dimensions_is_met),
        cmocka_unit_test(oracle__value_of_4_rows_in_100_dimensions_is_met),
        cmocka_unit_test(oracle__values_are_met_by_default),
        cmocka_unit_test(richardson__takes_most_of_the_bias_of_steps_away),
        cmocka_unit_test(oracle__scores_are_met),
    };
    return cmocka_run_group_tests(tests, load, unload);
}
