/* SPDX-License-Identifier: MIT */
/* Fits of networks: the same bits on any number of threads and after any stop,
 * whatever their penalty and their objective; what they are kept from. */
#include "resume.h"

#include "data/safetensors.h"

/* The second stage begins at 40, looks are 10 apart, and penalties are every 2
 * or 3 iterations from 14 on. */
static gsv_fit_options soap_options(void)
{
    gsv_fit_options o = fit_options();
    o.iterations = 60;
    o.batch = 32;
    o.patience = 0.0;
    return o;
}

enum { ROWS = 121 };

enum kind { ESTIMATED, GIVEN, NO_PENALTY, BY_ADAM, BY_SLOPES, KINDS };

static gsv_fit_options options_of(enum kind kind)
{
    gsv_fit_options o = soap_options();
    if (kind == GIVEN) o.decay = 3.0;
    if (kind == NO_PENALTY) o.decay = 0.0;
    if (kind == BY_ADAM) o.optimizer = GSV_OPTIMIZER_ADAM;
    if (kind == BY_SLOPES) o.objective = GSV_OBJECTIVE_SLOPES;
    return o;
}

static void soap__has_the_same_bits_on_any_threads(void **state)
{
    (void)state;
    for (enum kind kind = ESTIMATED; kind < KINDS; kind++) {
        struct problem p;
        problem_open(&p, LEARN_NET, ROWS, options_of(kind));
        const gsv_record *r = gsv_model_record(p.whole);
        assert_int_equal(r->optimizer, kind == BY_ADAM ? GSV_OPTIMIZER_ADAM
                                                       : GSV_OPTIMIZER_SOAP);
        assert_true(isfinite(r->loglik) && isfinite(r->error));
        assert_int_equal(r->heldout_gaps > 0,
                         kind == GIVEN || kind == NO_PENALTY);
        expect_same_on_threads(&p);
        problem_close(&p);
    }
}

/* Before and after a look (10), penalties (14, 27), the second stage (40). */
static void soap__goes_on_as_if_it_had_not_stopped(void **state)
{
    (void)state;
    static const size_t AT[] = {1, 9, 10, 11, 13, 14, 15, 27, 39, 40, 41, 59};
    for (enum kind kind = ESTIMATED; kind < KINDS; kind++) {
        struct problem p;
        size_t step = kind == ESTIMATED ? 1 : 4;
        problem_open(&p, LEARN_NET, ROWS, options_of(kind));
        for (size_t i = 0; i<COUNT(AT); i += SLOWER> 1 ? 6 : step)
            expect_same_after_stop(&p, 1, AT[i]);
        problem_close(&p);
    }
}

static void soap__goes_on_from_what_a_crash_left(void **state)
{
    (void)state;
    static const size_t AT[] = {2, 14, 15, 27, 41, 60};
    struct problem p;
    problem_open(&p, LEARN_NET, ROWS, soap_options());
    for (size_t i = 0; i<COUNT(AT); i += SLOWER> 1 ? 3 : 1)
        expect_same_after_loss(&p, 1, AT[i]);
    problem_close(&p);
}

static bool stop_later(void *user)
{
    size_t *left = user;
    if (*left) --*left;
    return !*left;
}

/* Inside of a step, a look, a penalty, or between the stages. */
static void soap__goes_on_when_stopped_anywhere(void **state)
{
    (void)state;
    struct problem p;
    problem_open(&p, LEARN_NET, ROWS, soap_options());
    bool stopped = true;
    for (size_t n = 1; stopped; n += SLOWER > 1 ? 397 : 97) {
        size_t left = n;
        gsv_model *m = model_of(p.text);
        gsv_fit_options o = p.o;
        o.stop = stop_later;
        o.user = &left;
        const gsv_record *r = fit_must(m, p.s, &o);
        stopped = r->ended == GSV_ENDED_STOPPED;
        if (stopped) {
            assert_int_equal(gsv_model_write(m, "a.fit"), 0);
            o = p.o;
            o.resume = "a.fit";
            fit_must(m, p.s, &o);
            assert_same_fit(m, p.whole);
        }
        gsv_model_free(m);
    }
    problem_close(&p);
}

/* From the gaps that it validates with, where the last estimate was stopped,
 * too; before the first validation there is nothing to say. */
static void soap__says_how_good_it_is_when_stopped(void **state)
{
    (void)state;
    static const struct {
        enum kind kind;
        size_t stop;
        const char *says;
    } CASE[] = {{ESTIMATED, 500, "a sample of learned gaps"},
                {GIVEN, 500, "a sample of held-out gaps"},
                {ESTIMATED, 1, NULL}};
    for (size_t i = 0; i < COUNT(CASE); i++) {
        size_t left = CASE[i].stop;
        gsv_model *m = model_of(LEARN_NET);
        gsv_series *s = learn_well(m, 1, ROWS, 3);
        gsv_fit_options o = options_of(CASE[i].kind);
        o.stop = stop_later;
        o.user = &left;
        const gsv_record *r = fit_must(m, s, &o);
        assert_int_equal(r->ended, GSV_ENDED_STOPPED);
        assert_non_null(strstr(r->warning, "interrupted: "));
        const char *says = CASE[i].says ? CASE[i].says : "a sample of";
        if ((strstr(r->warning, says) != NULL) != (CASE[i].says != NULL))
            fail_msg("case %zu: %s", i, r->warning);
        free_both(m, s);
    }
}

static void soap__keeps_its_restarts(void **state)
{
    (void)state;
    struct problem p;
    gsv_fit_options o = soap_options();
    o.restarts = 2;
    o.iterations = 30;
    problem_open(&p, LEARN_NET, ROWS, o);
    expect_same_after_stop(&p, 1, 26);
    expect_same_after_stop(&p, 2, 1);
    expect_same_after_stop(&p, 2, 26);
    problem_close(&p);
}

/* The running average of a restart has nothing from the one before. */
static void restarts__begin_their_averages_anew(void **state)
{
    (void)state;
    for (size_t restart = 1; restart <= 2; restart++) {
        struct watch w = {.restart = restart, .stop_at = 7};
        struct tensors t = {0};
        gsv_fit_options o = soap_options();
        gsv_model *m = model_of(LEARN_NET);
        gsv_series *s = learn_well(m, 1, ROWS, 3);
        o.restarts = 2;
        o.iterations = 30;
        o.progress = watch;
        o.user = &w;
        o.checkpoint = "a.fit";
        fit_must(m, s, &o);
        assert_int_equal(safetensors_read(&t, "a.fit"), 0);
        for (size_t i = 0; i < t.count; i++)
            if (!strcmp(t.tensor[i].name, "@state.adam"))
                assert_true(t.tensor[i].value[3] == 7.0);
        tensors_free(&t);
        free_both(m, s);
    }
}

/* --- What they are kept from ---------------------------------------------- */

/* Where f is above 1, there is no drift, and the data lead there. */
static void search__that_leaves_the_domain_ends_with_what_was_kept(void **state)
{
    (void)state;
    static const char TEXT[] = "state x\n net f(x) -> 1 : 16 silu\n"
                               "param s = 1 > 0\n"
                               "dx = (sqrt(1 - f) - x)*dt + s*dW";
    size_t ended = 0;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        gsv_model *m = model_of(TEXT);
        gsv_series *s = learn_well(m, 1, 151, seed);
        gsv_fit_options o = fit_options();
        o.objective = GSV_OBJECTIVE_SLOPES;
        o.iterations = 300;
        o.rate = 1.0;
        if (gsv_fit(m, s, &o)) {
            /* The start itself is outside. */
            expect_error(gsv_last_status(), GSV_NUMERICAL, "not finite");
        } else {
            const gsv_record *r = gsv_model_record(m);
            bool early = r->iterations < 300;
            assert_true(isfinite(r->value));
            for (size_t i = 0; i < gsv_model_values(m); i++)
                assert_true(isfinite(gsv_model_value(m)[i]));
            assert_int_equal(early,
                             strstr(r->warning, "again and again") != NULL);
            ended += early;
        }
        free_both(m, s);
    }
    assert_true(ended > 0);
}

/* dX = 2 (X - X^3) dt + 0.7 dW in 150 gaps of 0.1, by Euler with 32 steps. */
static gsv_series *deep_well(const gsv_model *m, uint64_t seed)
{
    enum { WELL_ROWS = 151, STEPS = 32 };
    double time[WELL_ROWS], x[WELL_ROWS], now = 0.0;
    double *z = normals((size_t)WELL_ROWS * STEPS, seed);
    for (size_t i = 0; i < WELL_ROWS; i++) {
        double dt = 0.1 / STEPS;
        time[i] = 0.1 * (double)i;
        x[i] = now;
        for (size_t j = 0; j < STEPS; j++)
            now += 2.0 * (now - now * now * now) * dt +
                   0.7 * sqrt(dt) * z[i * STEPS + j];
    }
    mem_free(z);
    return track_of(m, WELL_ROWS, time, x);
}

/* Root of the mean square over the rows. */
static double drift_error(const gsv_model *m, const gsv_series *s)
{
    double *f = NEW(double, s->rows), squares = 0.0;
    assert_int_equal(gsv_model_drift(m, s->rows, s->time, s->value, NULL, f),
                     0);
    for (size_t i = 0; i < s->rows; i++) {
        double x = s->value[i];
        squares += pow(f[i] - 2.0 * (x - x * x * x), 2.0) / (double)s->rows;
    }
    mem_free(f);
    return sqrt(squares);
}

/* A large network on few data, with the noise learned along: neither a drift
 * through all rows nor a noise that goes to 0. */
static void network__on_few_data_finds_drift_and_noise(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= (SLOWER > 1 ? 1 : 5); seed++) {
        gsv_model *m = model_of("state x\n net f(x) -> 1 : 64 64 silu\n"
                                "param s = 1 > 0\n dx = f*dt + s*dW");
        gsv_series *s = deep_well(m, seed);
        gsv_fit_options o = fit_options();
        o.estimator.seed = seed;
        const gsv_record *r = fit_must(m, s, &o);
        double error = drift_error(m, s), noise = value_of(m, "s");
        if (!(error < 1.0 && noise > 0.5 && noise < 0.9))
            fail_msg("seed %d: the drift is off by %g, s = %g", (int)seed,
                     error, noise);
        assert_true(isfinite(r->loglik));
        free_both(m, s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(soap__has_the_same_bits_on_any_threads),
        cmocka_unit_test(soap__goes_on_as_if_it_had_not_stopped),
        cmocka_unit_test(soap__goes_on_from_what_a_crash_left),
        cmocka_unit_test(soap__goes_on_when_stopped_anywhere),
        cmocka_unit_test(soap__says_how_good_it_is_when_stopped),
        cmocka_unit_test(soap__keeps_its_restarts),
        cmocka_unit_test(restarts__begin_their_averages_anew),
        cmocka_unit_test(
            search__that_leaves_the_domain_ends_with_what_was_kept),
        cmocka_unit_test(network__on_few_data_finds_drift_and_noise),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
