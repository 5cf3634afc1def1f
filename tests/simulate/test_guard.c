/* SPDX-License-Identifier: MIT */
/* Callers' mistakes: sizes and names that cannot be, structs that were never
 * filled in, calls in the wrong order, and random options. Each is a sentence
 * or a result, never a crash. NULL and single options: python/tests/sweep.py.
 */
#include "learn.h"

static const char LATENT[] = "state x\n param a = 1 > 0, s = 1 > 0, r = 1 > 0\n"
                             "dx = -a*x*dt + s*dW\n obs y ~ normal(x, r)";
static const char GROWTH[] = "state x\n param a = 1 > 0, s = 0.5 > 0\n"
                             "dx = a*x*dt + s*x*dW";
static const char NETWORK[] = "state x\n net f(x) -> 1 : 4 silu\n"
                              "param s = 1 > 0\n dx = f*dt + s*dW";
static const char FUNCTION[] = "state x\n gp f(x) -> 1 : grid 8 rbf\n"
                               "param s = 1 > 0\n dx = f*dt + s*dW";

/* Two tracks of 6 rows, which are positive, for one column of any name. */
static gsv_series *data_for(const gsv_model *m)
{
    double time[12], value[12];
    const size_t start[] = {0, 6, 12};
    for (size_t i = 0; i < 12; i++) {
        time[i] = 0.5 * (double)(i % 6);
        value[i] = 1.5 + sin(2.3 * (double)i);
    }
    gsv_series *s =
        gsv_series_new(2, start, 1, gsv_model_data_column(m), time, value);
    if (!s) fail_msg("%s", gsv_last_error());
    return s;
}

/* A status that is not 0 comes with a sentence. */
static void expect_sound(int status)
{
    if (status && !*gsv_last_error())
        fail_msg("status %d says nothing", status);
}

/* --- Series --------------------------------------------------------------- */

enum { LONG_NAME = 1 << 20 };

static void series__names_are_any_bytes_once_and_not_empty(void **state)
{
    (void)state;
    static char huge[LONG_NAME + 1];
    memset(huge, 'a', LONG_NAME);
    const struct {
        const char *name[2], *says;
    } CASES[] = {
        {{"x", NULL}, "column 2 needs a name"},
        {{"", "y"}, "column 1 needs a name"},
        {{"x", "x"}, "'x' is named twice"},
        {{"time", "y"}, "'time' cannot be"},
        {{huge, huge}, "is named twice"},
        {{"\xff\xfe", "\xff\xfe"}, "is named twice"},
        {{"\xff\xfe", huge}, NULL},
    };
    const size_t start[] = {0, 2};
    const double time[] = {0, 1}, value[] = {1, 2, 3, 4};
    for (size_t i = 0; i < COUNT(CASES); i++) {
        gsv_series *s = gsv_series_new(1, start, 2, CASES[i].name, time, value);
        assert_int_equal(!s, CASES[i].says != NULL);
        if (CASES[i].says && !strstr(gsv_last_error(), CASES[i].says))
            fail_msg("'%s' does not say '%s'", gsv_last_error(), CASES[i].says);
        gsv_series_free(s);
    }
}

static void series__sizes_are_checked(void **state)
{
    (void)state;
    const size_t good[] = {0, 2}, empty[] = {0, 0}, back[] = {0, 2, 1},
                 late[] = {1, 2};
    const double time[] = {0, 1}, value[] = {1, 2};
    const struct {
        size_t tracks;
        const size_t *start;
        size_t columns;
        const char *says;
    } CASES[] = {
        {0, good, 1, "no tracks"},
        {1, empty, 1, "every track needs at least one row"},
        {2, back, 1, "every track needs at least one row"},
        {1, late, 1, "not at 0"},
        {1, good, SIZE_MAX, "more than fit into memory"},
        {1, good, SIZE_MAX / 16 + 1, "more than fit into memory"},
        {1, good, 0, NULL},
    };
    for (size_t i = 0; i < COUNT(CASES); i++) {
        gsv_series *s = gsv_series_new(CASES[i].tracks, CASES[i].start,
                                       CASES[i].columns, NULL, time, value);
        assert_int_equal(!s, CASES[i].says != NULL);
        if (CASES[i].says)
            assert_non_null(strstr(gsv_last_error(), CASES[i].says));
        gsv_series_free(s);
    }
}

/* --- Structs that were never filled in ------------------------------------ */

/* Every call that takes data, with what it is given; results are garbage
 * before it, and may be freed after it whatever came of it. */
static void call_all(const char *text, const gsv_series *s,
                     const gsv_options *e, const gsv_fit_options *f,
                     const gsv_predict_options *q, const gsv_paths_options *p)
{
    gsv_model *m = model_of(text);
    gsv_result result;
    gsv_prediction prediction;
    gsv_residuals_result residuals;
    gsv_smoothed smoothed;
    memset(&result, 0xaa, sizeof result);
    memset(&prediction, 0xaa, sizeof prediction);
    memset(&residuals, 0xaa, sizeof residuals);
    memset(&smoothed, 0xaa, sizeof smoothed);
    gsv_gradient_check check;
    double value, gradient[64], at = 0.5, loglik;
    expect_sound(gsv_loglik(m, s, e, &result));
    gsv_result_free(&result);
    expect_sound(gsv_predict(m, s, q, &prediction));
    gsv_prediction_free(&prediction);
    expect_sound(gsv_residuals(m, s, q, &residuals));
    gsv_residuals_free(&residuals);
    expect_sound(gsv_paths(m, s, p, &smoothed));
    gsv_smoothed_free(&smoothed);
    expect_sound(gsv_check_gradient(m, s, e, &check));
    assert_true(gsv_model_values(m) <= COUNT(gradient));
    expect_sound(gsv_objective_gradient(m, s, f, &value, gradient));
    expect_sound(gsv_profile(m, s, f, "s", 1, &at, &loglik));
    expect_sound(gsv_fit(m, s, f));
    gsv_model_free(m);
}

static const char *const TEXTS[] = {LEARN_OU, LATENT, GROWTH, NETWORK,
                                    FUNCTION};

static void options__of_zeros_are_no_trap(void **state)
{
    (void)state;
    gsv_options e;
    gsv_fit_options f;
    gsv_predict_options q;
    gsv_paths_options p;
    gsv_simulate_options o;
    memset(&e, 0, sizeof e);
    memset(&f, 0, sizeof f);
    memset(&q, 0, sizeof q);
    memset(&p, 0, sizeof p);
    memset(&o, 0, sizeof o);
    for (size_t i = 0; i < COUNT(TEXTS); i++) {
        gsv_model *m = model_of(TEXTS[i]);
        gsv_series *s = data_for(m);
        call_all(TEXTS[i], s, &e, &f, &q, &p);
        assert_null(gsv_simulate(m, &o));
        gsv_series_free(s);
        gsv_model_free(m);
    }
}

static void series__of_zeros_is_a_sentence(void **state)
{
    (void)state;
    const gsv_series none = {0};
    gsv_options e = gsv_options_default();
    gsv_fit_options f = gsv_fit_options_default();
    gsv_predict_options q = gsv_predict_options_default();
    gsv_paths_options p = gsv_paths_options_default();
    for (size_t i = 0; i < COUNT(TEXTS); i++) {
        call_all(TEXTS[i], &none, &e, &f, &q, &p);
        gsv_model *m = model_of(TEXTS[i]);
        gsv_result r;
        assert_int_equal(gsv_loglik(m, &none, &e, &r), GSV_BAD_INPUT);
        assert_int_equal(gsv_fit(m, &none, &f), GSV_BAD_INPUT);
        gsv_text_free(gsv_model_outside(m, &none));
        gsv_model_free(m);
    }
    assert_int_equal(gsv_series_write(&none, "guard.csv"), GSV_BAD_INPUT);
    assert_null(gsv_series_join(&none, &none));
}

/* --- Random options ------------------------------------------------------- */

/* Splitmix64: the same numbers in every run. */
static double random_in(double low, double high)
{
    static uint64_t seed = 1;
    uint64_t z = seed += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return low + (high - low) * (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

static double random_real(void)
{
    static const double REALS[] = {0,    0.1, 0.5, 1,   3,
                                   1e-3, -1,  NAN, 1e9, INFINITY};
    return REALS[(size_t)random_in(0, COUNT(REALS))];
}

/* Small ones that cost little, and large ones that must be refused. */
static size_t random_count(void)
{
    static const size_t COUNTS[] = {0, 1, 2, 3, 5, 8, SIZE_MAX, SIZE_MAX / 8};
    return COUNTS[(size_t)random_in(0, COUNT(COUNTS))];
}

/* One field in four is changed: most calls then get past the checks. */
#define MOVE(field, value)                                                     \
    do {                                                                       \
        if (random_in(0, 4) < 1) (field) = (value);                            \
    } while (0)
#define PICK(type, n) (enum type)(random_in(-0.2, (n) + 0.2))
#define COIN (random_in(0, 1) < 0.5)

static gsv_options random_estimator(void)
{
    gsv_options o = gsv_options_default();
    o.paths = 4;
    o.steps = 2;
    o.points = 4;
    MOVE(o.paths, random_count());
    MOVE(o.steps, random_count());
    MOVE(o.step, random_real());
    MOVE(o.reference, PICK(gsv_reference, 5));
    MOVE(o.form, PICK(gsv_form, 6));
    MOVE(o.random, PICK(gsv_random, 2));
    MOVE(o.observe, PICK(gsv_observe, 5));
    MOVE(o.points, random_count());
    MOVE(o.richardson, COIN);
    MOVE(o.delta, COIN);
    MOVE(o.joint, COIN);
    MOVE(o.gradient, COIN);
    MOVE(o.wide, COIN);
    MOVE(o.threads, random_count());
    MOVE(o.window, random_count());
    return o;
}

static gsv_fit_options random_fit(gsv_options e)
{
    static const char *const NAMES[] = {"s", "a", "", "s[", "\xff"};
    static gsv_prior prior;
    gsv_fit_options o = gsv_fit_options_default();
    o.estimator = e;
    o.iterations = 2;
    o.chains = o.warmup = o.draws = 2;
    prior = (gsv_prior){"s", PICK(gsv_law, 8), random_real(), random_real()};
    o.prior = &prior;
    o.fix = o.keep = &NAMES[(size_t)random_in(0, COUNT(NAMES))];
    MOVE(o.optimizer, PICK(gsv_optimizer, 4));
    MOVE(o.schedule, PICK(gsv_schedule, 3));
    MOVE(o.errors, PICK(gsv_errors, 5));
    MOVE(o.batch, random_count());
    MOVE(o.restarts, random_count());
    MOVE(o.rate, random_real());
    MOVE(o.decay, random_real());
    MOVE(o.clip, random_real());
    MOVE(o.average, random_real());
    MOVE(o.heldout, random_real());
    MOVE(o.patience, random_real());
    MOVE(o.time_limit, random_real());
    MOVE(o.fixed, 1);
    MOVE(o.kept, 1);
    MOVE(o.objective, PICK(gsv_objective, 6));
    MOVE(o.scheme, PICK(gsv_scheme, 4));
    MOVE(o.method, PICK(gsv_method, 2));
    MOVE(o.chains, random_count());
    MOVE(o.priors, 1);
    return o;
}

static const double AT[] = {0.25, 1.1, 2.6, 4.0}, LEVELS[] = {0.1, 0.9, NAN};

static gsv_predict_options random_predict(void)
{
    gsv_predict_options o = gsv_predict_options_default();
    o.draws = 8;
    o.points = 8;
    o.time = AT;
    o.quantile = LEVELS;
    MOVE(o.draws, random_count());
    MOVE(o.step, fmax(random_real(), 0.01));
    MOVE(o.times, (size_t)random_in(0, 5));
    MOVE(o.ahead, fmin(random_real(), 5.0));
    MOVE(o.rolling, random_count());
    MOVE(o.quantiles, (size_t)random_in(0, 4));
    MOVE(o.parameters, COIN);
    MOVE(o.mean, COIN);
    MOVE(o.until, AT);
    MOVE(o.points, random_count());
    MOVE(o.threads, random_count());
    return o;
}

static gsv_paths_options random_paths(gsv_options e)
{
    gsv_paths_options o = gsv_paths_options_default();
    o.estimator = e;
    o.time = AT;
    o.quantile = LEVELS;
    MOVE(o.times, (size_t)random_in(0, 5));
    MOVE(o.between, random_count());
    MOVE(o.quantiles, (size_t)random_in(0, 4));
    MOVE(o.draws, random_count());
    return o;
}

static gsv_simulate_options random_simulate(void)
{
    gsv_simulate_options o = gsv_simulate_options_default();
    o.times = 4;
    o.time = AT;
    MOVE(o.times, (size_t)random_in(0, 5));
    MOVE(o.tracks, random_count());
    MOVE(o.start_mean, random_real());
    MOVE(o.start_sd, random_real());
    MOVE(o.step, fmax(random_real(), 0.01));
    MOVE(o.scheme, PICK(gsv_scheme, 4));
    MOVE(o.mean, COIN);
    MOVE(o.threads, random_count());
    return o;
}

enum { ROUNDS = 30 };

static void options__at_random_end_with_a_result_or_a_sentence(void **state)
{
    (void)state;
    const char *rounds = getenv("GUARD_ROUNDS");
    size_t n = rounds ? strtoul(rounds, NULL, 10) : ROUNDS;
    for (size_t i = 0; i < n; i++) {
        const char *text = TEXTS[i % COUNT(TEXTS)];
        gsv_model *m = model_of(text);
        gsv_series *s = data_for(m);
        gsv_options e = random_estimator();
        gsv_fit_options f = random_fit(e);
        gsv_predict_options q = random_predict();
        gsv_paths_options p = random_paths(e);
        gsv_simulate_options o = random_simulate();
        if (rounds) fprintf(stderr, "round %zu\n", i);
        call_all(text, s, &e, &f, &q, &p);
        gsv_series *drawn = gsv_simulate(m, &o);
        expect_sound(drawn ? 0 : GSV_BAD_INPUT);
        gsv_series_free(drawn);
        gsv_series_free(s);
        gsv_model_free(m);
    }
}

/* --- In the wrong order ----------------------------------------------------
 */

static void functions__are_drawn_into_their_own_model_alone(void **state)
{
    (void)state;
    gsv_model *m = model_of(FUNCTION), *other = model_of(LEARN_OU);
    gsv_series *s = data_for(m);
    gsv_fit_options f = gsv_fit_options_default();
    assert_null(gsv_functions_new(m)); /* not fitted yet */
    assert_int_equal(gsv_fit(m, s, &f), 0);
    gsv_functions *q = gsv_functions_new(m);
    assert_non_null(q);
    assert_int_equal(gsv_functions_draw(q, other, 1, 0), GSV_BAD_INPUT);
    assert_non_null(strstr(gsv_last_error(), "another text"));
    assert_int_equal(gsv_functions_draw(q, m, 1, 0), 0);
    gsv_functions_free(q);
    gsv_series_free(s);
    gsv_model_free(other);
    gsv_model_free(m);
}

static void model__has_no_parameter_beyond_its_last(void **state)
{
    (void)state;
    gsv_model *m = model_of(LEARN_OU);
    assert_null(gsv_model_param(m, 3).name);
    assert_non_null(strstr(gsv_last_error(), "no parameter 3"));
    assert_false(gsv_model_is_noise(m, SIZE_MAX));
    assert_string_equal(gsv_model_param(m, 2).name, "s");
    gsv_model_free(m);
}

static size_t told; /* how often */
static bool count_and_end(void *user, const gsv_progress *p)
{
    (void)user;
    (void)p;
    told++;
    return true;
}

/* A wrong option is found before the fit begins; after it the model is as it
 * was, and can be fitted. */
static void fit__tells_nobody_of_a_failure_and_can_be_called_again(void **state)
{
    (void)state;
    gsv_model *m = model_of(LEARN_OU);
    gsv_series *s = data_for(m);
    gsv_fit_options f = gsv_fit_options_default();
    double before = gsv_model_value(m)[0];
    f.progress = count_and_end;
    f.time_limit = NAN;
    told = 0;
    assert_int_equal(gsv_fit(m, s, &f), GSV_BAD_INPUT);
    assert_int_equal(told, 0);
    assert_true(gsv_model_value(m)[0] == before);
    assert_null(gsv_model_record(m));
    f.time_limit = 0.0;
    assert_int_equal(gsv_fit(m, s, &f), 0);
    assert_int_equal(told, 1);
    assert_int_equal(gsv_model_record(m)->ended, GSV_ENDED_STOPPED);
    gsv_series_free(s);
    gsv_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(series__names_are_any_bytes_once_and_not_empty),
        cmocka_unit_test(series__sizes_are_checked),
        cmocka_unit_test(options__of_zeros_are_no_trap),
        cmocka_unit_test(series__of_zeros_is_a_sentence),
        cmocka_unit_test(functions__are_drawn_into_their_own_model_alone),
        cmocka_unit_test(model__has_no_parameter_beyond_its_last),
        cmocka_unit_test(
            fit__tells_nobody_of_a_failure_and_can_be_called_again),
        cmocka_unit_test(options__at_random_end_with_a_result_or_a_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
