/* SPDX-License-Identifier: MIT */
/* Restarts, what progress() is told, where a fit ends, and how it fails:
 * numbers that are not finite, options, files, and memory that runs out. */
#include "learn.h"

/* --- Restarts ------------------------------------------------------------- */

/* The drift is periodic in w: from a bad start the nearest top is a low one. */
#define TUNED "state x\n param w = 5, s = 1 > 0\n dx = -2*sin(w*x)*dt + s*dW"

static void tuned_step(const double *p, double gap, const double *x,
                       const double *z, double *y)
{
    *y = *x;
    for (int i = 0; i < 16; i++)
        *y -= gap / 16.0 * 2.0 * sin(p[0] * *y);
    *y += 0.5 * sqrt(gap) * *z;
}

/* Ranked by estimates whose errors are far below half a nat. */
static void restarts__do_not_make_it_worse(void **state)
{
    (void)state;
    const double w = 1.0;
    for (uint64_t seed = 3; seed <= (SLOWER > 1 ? 3 : 5); seed += 2) {
        gsv_model *m = model_of(TUNED), *one = model_of(TUNED);
        gsv_model *five = model_of(TUNED);
        gsv_series *s = learn_series(m, 1, 80, 0.1, seed, tuned_step, &w);
        gsv_fit_options o = fit_options();
        o.errors = GSV_ERRORS_NONE;
        double alone = fit_must(one, s, &o)->loglik;
        o.restarts = 5;
        const gsv_record *r = fit_must(five, s, &o);
        assert_int_equal(r->restarts, 5);
        if (!(r->loglik > alone - 0.5))
            fail_msg("seed %d: %g (w = %g) instead of %g (w = %g)", (int)seed,
                     r->loglik, value_of(five, "w"), alone, value_of(one, "w"));
        gsv_model_free(one);
        gsv_model_free(five);
        free_both(m, s);
    }
}

static void restarts__are_functions_of_the_seed(void **state)
{
    (void)state;
    gsv_model *m[3];
    gsv_series *s = NULL;
    for (size_t i = 0; i < 3; i++) {
        m[i] = model_of(LEARN_WELL);
        if (!s) s = learn_well(m[0], 1, 40, 4);
        gsv_fit_options o = fit_options();
        o.restarts = 3;
        o.estimator.seed = i == 2 ? 9 : 1;
        fit_must(m[i], s, &o);
    }
    assert_same_fit(m[0], m[1]);
    assert_false(same_bits(3, gsv_model_value(m[0]), gsv_model_value(m[2])));
    for (size_t i = 0; i < 3; i++)
        gsv_model_free(m[i]);
    gsv_series_free(s);
}

/* --- Ends ----------------------------------------------------------------- */

struct log {
    size_t calls, last, restart, stop_at;
    double loglik, seconds;
};

static bool note(void *user, const gsv_progress *p)
{
    struct log *l = user;
    l->calls++;
    if (p->restart != l->restart) l->last = 0;
    assert_int_equal(p->iteration, l->last + 1);
    assert_true(p->iteration <= p->iterations && p->restart >= l->restart);
    assert_true(p->restart <= p->restarts && p->seconds >= l->seconds);
    assert_true(isfinite(p->loglik) && p->error > 0.0 && p->rate > 0.0);
    assert_non_null(p->model);
    l->last = p->iteration;
    l->restart = p->restart;
    l->loglik = p->loglik;
    l->seconds = p->seconds;
    return l->stop_at && l->calls == l->stop_at;
}

static void progress__counts_iterations(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        gsv_model *m = model_of(LEARN_WELL);
        gsv_series *s = learn_well(m, 1, 60, 2);
        gsv_fit_options o = short_options(LEARN_BOTH[i]);
        struct log l = {.restart = 1};
        o.progress = note;
        o.user = &l;
        o.restarts = 2;
        const gsv_record *r = fit_must(m, s, &o);
        assert_int_equal(l.calls, r->iterations);
        assert_int_equal(l.restart, 2);
        if (LEARN_BOTH[i] == GSV_OPTIMIZER_ADAM) assert_int_equal(l.calls, 40);
        free_both(m, s);
    }
}

static void iterations__are_the_most_that_are_done(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++)
        for (size_t n = 1; n <= 7; n += 3) {
            gsv_model *m = model_of(LEARN_WELL);
            gsv_series *s = learn_well(m, 1, 60, 2);
            gsv_fit_options o = short_options(LEARN_BOTH[i]);
            struct log l = {.restart = 1};
            o.iterations = n;
            o.progress = note;
            o.user = &l;
            const gsv_record *r = fit_must(m, s, &o);
            assert_int_equal(r->ended, GSV_ENDED_ITERATIONS);
            assert_int_equal(r->iterations, n);
            assert_int_equal(l.calls, n);
            free_both(m, s);
        }
}

static void time_limit__ends_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        gsv_model *m = model_of(LEARN_WELL);
        gsv_series *s = learn_well(m, 1, 60, 2);
        gsv_fit_options o = short_options(LEARN_BOTH[i]);
        o.time_limit = 1e-9;
        const gsv_record *r = fit_must(m, s, &o);
        assert_int_equal(r->ended, GSV_ENDED_TIME);
        assert_true(r->iterations <= 1);
        assert_non_null(strstr(r->warning, "there is no log-likelihood"));
        /* It can be resumed, in as many pieces as one likes. */
        assert_int_equal(gsv_model_write(m, "a.fit"), 0);
        o.resume = "a.fit";
        o.time_limit = 0.0;
        r = fit_must(m, s, &o);
        assert_true(r->ended != GSV_ENDED_TIME && r->iterations > 1);
        free_both(m, s);
    }
}

/* --- The last estimate ------------------------------------------------------
 */

static void estimate__can_be_left_out(void **state)
{
    (void)state;
    gsv_model *m = model_of(LEARN_OU), *whole = model_of(LEARN_OU);
    gsv_series *s = learn_ou(m, 1, 80, 2);
    gsv_fit_options o = fit_options();
    const gsv_record *all = fit_must(whole, s, &o);
    o.estimate = GSV_ESTIMATE_NONE;
    const gsv_record *r = fit_must(m, s, &o);
    assert_true(isnan(r->loglik) && isnan(r->aic) && isfinite(all->loglik));
    assert_int_equal(r->gaps, all->gaps);
    assert_true(same_bits(3, gsv_model_value(m), gsv_model_value(whole)));
    assert_true(same_bits(3, r->error_of, all->error_of));
    assert_int_equal(gsv_model_write(m, "a.fit"), 0);
    gsv_model *again = gsv_model_read("a.fit");
    assert_non_null(again);
    gsv_model_free(again);
    gsv_model_free(whole);
    free_both(m, s);
}

/* Of many gaps a sample, whose error covers what all of them say. */
static void estimate__of_many_gaps_is_that_of_a_sample(void **state)
{
    (void)state;
    static const char *const FIX[] = {"k", "mu", "s"};
    gsv_model *m = model_of(LEARN_OU), *whole = model_of(LEARN_OU);
    gsv_series *s = learn_ou(m, 1, 230000, 2);
    gsv_fit_options o = fit_options();
    o.fixed = COUNT(FIX);
    o.fix = FIX;
    o.estimator.paths = o.estimator.steps = 1;
    o.estimator.reference = GSV_REFERENCE_LINEAR;
    o.estimator.form = GSV_FORM_MIDPOINT;
    const gsv_record *r = fit_must(m, s, &o);
    o.estimate = GSV_ESTIMATE_ALL;
    const gsv_record *all = fit_must(whole, s, &o);
    assert_int_equal(r->sampled, 100000);
    assert_int_equal(r->gaps, all->gaps);
    assert_int_equal(all->sampled, 0);
    assert_true(r->error > 0.0 && isnan(r->aic) && isfinite(all->aic));
    assert_near(r->loglik, all->loglik, 4.0 * r->error);
    assert_true(r->error < 0.01 * fabs(all->loglik));
    gsv_model_free(whole);
    free_both(m, s);
}

/* One step a gap, which is exact for this model. What comes after the last
 * iteration looks for the zero of the score, which may lose some hundredths. */
static void lbfgs__ends_no_lower_than_its_last_iteration(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        gsv_model *m = model_of(LEARN_OU);
        gsv_series *s = learn_ou(m, 2, 150, seed);
        gsv_fit_options o = fit_options();
        struct log l = {.restart = 1};
        o.estimator.paths = o.estimator.steps = 1;
        o.estimator.reference = GSV_REFERENCE_LNA;
        o.estimator.form = GSV_FORM_MIDPOINT;
        o.progress = note;
        o.user = &l;
        const gsv_record *r = fit_must(m, s, &o);
        if (!(r->loglik > l.loglik * (double)r->gaps - 0.1))
            fail_msg("seed %d: %g after %g, k = %g: %s", (int)seed, r->loglik,
                     l.loglik * (double)r->gaps, value_of(m, "k"), r->warning);
        free_both(m, s);
    }
}

/* --- Failures ------------------------------------------------------------- */

static void options__out_of_range_are_refused(void **state)
{
    (void)state;
    gsv_model *m = model_of(LEARN_OU);
    gsv_series *s = learn_ou(m, 1, 20, 2);
    gsv_fit_options o[12];
    for (size_t i = 0; i < COUNT(o); i++)
        o[i] = fit_options();
    o[0].rate = -1.0;
    o[1].rate = NAN;
    o[2].rate = INFINITY;
    o[3].decay = NAN;
    o[4].clip = NAN;
    o[5].average = 1.0;
    o[6].average = -0.5;
    o[7].heldout = 1.0;
    o[8].heldout = NAN;
    o[9].patience = -1.0;
    o[10].restarts = 0;
    o[11].iterations = (size_t)5e9;
    for (size_t i = 0; i < COUNT(o); i++) {
        if (gsv_fit(m, s, &o[i]) != GSV_BAD_INPUT)
            fail_msg("option %zu was not refused", i);
        assert_int_equal(moved(m, LEARN_OU), 0);
        assert_null(gsv_model_record(m));
    }
    free_both(m, s);
}

/* exp(800) is not a number that a drift may have. */
#define STEEP                                                                  \
    "state x\n param a = 1.1, s = 0.3 > 0\n dx = -a*exp(800*x^2)*dt + s*dW"

static void failure__leaves_the_values_of_before(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        gsv_model *m = model_of(STEEP);
        gsv_series *s = walk_of(m, 1, 30, 0.3, 3);
        s->value[3] = 2.0;
        gsv_fit_options o = short_options(LEARN_BOTH[i]);
        expect_error(gsv_fit(m, s, &o), GSV_NUMERICAL, "");
        assert_true(strlen(gsv_last_error()) > 10);
        assert_int_equal(moved(m, STEEP), 0);
        assert_null(gsv_model_record(m));
        free_both(m, s);
    }
}

/* A checkpoint that cannot be written ends the fit; what the model had before
 * is what it has: values and record. */
static void failure__of_a_checkpoint_leaves_everything(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++)
        for (int fitted = 0; fitted < 2; fitted++) {
            gsv_model *m = model_of(LEARN_WELL);
            gsv_series *s = learn_well(m, 1, 40, 2);
            gsv_fit_options o = short_options(LEARN_BOTH[i]);
            /* Not to its end, so that there is something left to do. */
            o.iterations = fitted ? 3 : o.iterations;
            if (fitted) fit_must(m, s, &o);
            double first[3];
            memcpy(first, gsv_model_value(m), sizeof first);
            size_t rows = fitted ? gsv_model_record(m)->iterations : 0;
            o.checkpoint = "no/such/folder/a.fit";
            o.every = 0.0;
            expect_error(gsv_fit(m, s, &o), GSV_BAD_INPUT, "no/such/folder");
            assert_true(same_bits(3, first, gsv_model_value(m)));
            const gsv_record *r = gsv_model_record(m);
            if (fitted) assert_int_equal(r->iterations, rows);
            else assert_null(r);
            free_both(m, s);
        }
}

static void failure__of_data_is_said(void **state)
{
    (void)state;
    gsv_model *m = model_of(LEARN_OU), *other = model_of(LEARN_NET);
    gsv_series *s = learn_ou(m, 1, 20, 2);
    gsv_fit_options o = fit_options();
    expect_error(gsv_fit(other, s, &o), GSV_BAD_INPUT, "no column 'x1'");
    o.heldout = 0.999;
    gsv_series *two = track_of(m, 2, s->time, s->value);
    expect_error(gsv_fit(m, two, &o), GSV_BAD_INPUT, "leaves none");
    gsv_series *one = track_of(m, 1, s->time, s->value);
    o = fit_options();
    assert_int_equal(gsv_fit(m, one, &o), GSV_BAD_INPUT);
    gsv_series_free(one);
    gsv_series_free(two);
    gsv_model_free(other);
    free_both(m, s);
}

/* --- Memory --------------------------------------------------------------- */

static void sweep(const char *text, const gsv_fit_options *o, size_t least)
{
    int status = GSV_NO_MEMORY;
    size_t n = 0;
    while (status) {
        gsv_model *m = model_of(text), *fresh = model_of(text);
        gsv_series *s = learn_well(m, 1, 6, 2);
        mem_fail_at(++n);
        status = gsv_fit(m, s, o);
        mem_fail_at(0);
        if (status) {
            assert_int_equal(status, GSV_NO_MEMORY);
            assert_int_equal(gsv_last_status(), GSV_NO_MEMORY);
            assert_true(same_bits(gsv_model_values(m), gsv_model_value(m),
                                  gsv_model_value(fresh)));
            assert_null(gsv_model_record(m));
        }
        gsv_model_free(fresh);
        free_both(m, s);
    }
    assert_true(n > least);
}

static void memory__may_run_out_in_a_fit(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        gsv_fit_options o = short_options(LEARN_BOTH[i]);
        o.iterations = 3;
        o.heldout = i ? 0.0 : 0.2;
        o.errors = GSV_ERRORS_SANDWICH;
        o.estimator.paths = o.estimator.steps = 2;
        sweep("state x\n param k = 1, s = 1 > 0\n dx = -k*x*dt + s*dW", &o, 50);
        o.errors = GSV_ERRORS_NONE;
        o.restarts = 2;
        sweep("state x\n net f(x) -> 1 : 2 tanh\n param s = 1 > 0\n"
              "dx = f*dt + s*dW",
              &o, 50);
    }
}

static void memory__may_run_out_in_its_stages(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        gsv_fit_options o = short_options(LEARN_BOTH[i]);
        o.iterations = i ? 0 : 3;
        sweep("state x\n param s = 1 > 0\n dx = -x*dt + s*dW", &o, 50);
    }
}

static void memory__may_run_out_with_a_checkpoint(void **state)
{
    (void)state;
    static const char TEXT[] = "state x\n param s = 1 > 0\n dx = -x*dt + s*dW";
    struct log l = {.restart = 1, .stop_at = 2};
    gsv_model *m = model_of(TEXT);
    gsv_series *s = learn_well(m, 1, 6, 2);
    gsv_fit_options o = short_options(GSV_OPTIMIZER_ADAM);
    o.iterations = 3;
    o.estimator.paths = o.estimator.steps = 2;
    o.checkpoint = "b.fit";
    o.every = 0.0;
    sweep(TEXT, &o, 50);
    o.progress = note;
    o.user = &l;
    fit_must(m, s, &o);
    o.progress = NULL;
    o.resume = "b.fit";
    o.checkpoint = NULL;
    sweep(TEXT, &o, 50);
    free_both(m, s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(restarts__do_not_make_it_worse),
        cmocka_unit_test(restarts__are_functions_of_the_seed),
        cmocka_unit_test(progress__counts_iterations),
        cmocka_unit_test(iterations__are_the_most_that_are_done),
        cmocka_unit_test(time_limit__ends_it),
        cmocka_unit_test(estimate__can_be_left_out),
        cmocka_unit_test(estimate__of_many_gaps_is_that_of_a_sample),
        cmocka_unit_test(lbfgs__ends_no_lower_than_its_last_iteration),
        cmocka_unit_test(options__out_of_range_are_refused),
        cmocka_unit_test(failure__leaves_the_values_of_before),
        cmocka_unit_test(failure__of_a_checkpoint_leaves_everything),
        cmocka_unit_test(failure__of_data_is_said),
        cmocka_unit_test(memory__may_run_out_in_a_fit),
        cmocka_unit_test(memory__may_run_out_in_its_stages),
        cmocka_unit_test(memory__may_run_out_with_a_checkpoint),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
