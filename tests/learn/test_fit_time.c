/* SPDX-License-Identifier: MIT */
/* The time limit, by a clock that leaps at its n-th look: wherever it does, the
 * fit is whole, says what is not in it, and goes on to the same bits. */
#include "learn.h"

#include "base/clock.h"

static const double LIMIT = 1e3, LEAP = 1e6;

/* A fit whose time is over from the n-th look on; 0: never. */
static const gsv_record *fit_until(gsv_model *m, const gsv_series *s,
                                   gsv_fit_options o, size_t n)
{
    o.time_limit = LIMIT;
    clock_skip_at(n, LEAP);
    const gsv_record *r = fit_must(m, s, &o);
    clock_skip_at(0, 0.0);
    return r;
}

static bool has(const gsv_record *r, const char *words)
{
    return r->warning && strstr(r->warning, words);
}

/* Standard errors are there, or are said not to be. */
static void check_errors(const gsv_model *m, const gsv_record *r)
{
    bool any = false;
    for (size_t v = 0; v < gsv_model_values(m); v++)
        any = any || isfinite(r->error_of[v]);
    assert_int_equal(any, r->errors != GSV_ERRORS_NONE);
    assert_int_equal(!any, has(r, "longer than the time limit of 1000 s"));
    assert_int_equal(!isfinite(r->loglik), has(r, "the last estimate took"));
}

/* --- Anywhere ------------------------------------------------------------- */

enum where { ITERATING, BETWEEN, ERRORS, NOWHERE, PLACES };

/* What was ended there: an iteration, what has none (effort, Newton's steps),
 * standard errors, nothing. */
static enum where place_of(const gsv_record *r, const gsv_record *whole)
{
    if (r->ended == GSV_ENDED_TIME)
        return r->iterations < whole->iterations ? ITERATING : BETWEEN;
    return r->errors == GSV_ERRORS_NONE ? ERRORS : NOWHERE;
}

static enum where end_at(const char *text, const gsv_series *s,
                         const gsv_model *whole, gsv_fit_options o, size_t n)
{
    gsv_model *m = model_of(text);
    const gsv_record *r = fit_until(m, s, o, n);
    enum where place = place_of(r, gsv_model_record(whole));
    check_errors(m, r);
    if (r->ended == GSV_ENDED_TIME) {
        assert_int_equal(gsv_model_write(m, "a.fit"), 0);
        o.resume = "a.fit";
        fit_must(m, s, &o);
    }
    if (place == ERRORS)
        assert_true(same_bits(gsv_model_values(m), gsv_model_value(m),
                              gsv_model_value(whole)));
    else assert_same_fit(m, whole);
    gsv_model_free(m);
    return place;
}

/* That it was ended in all of these places; a slow build takes too few. */
static bool all_seen(size_t n, const size_t *times)
{
    bool all = true;
    for (size_t i = 0; i < n; i++)
        all = all && times[i] > 0;
    return all || SLOWER > 1;
}

/* Every stride-th look up to the last one. */
static void sweep(const char *text, gsv_series *s, const gsv_fit_options *o,
                  size_t stride, size_t seen[PLACES])
{
    gsv_model *whole = model_of(text);
    fit_must(whole, s, o);
    for (size_t n = 1; !seen[NOWHERE]; n += stride * SLOWER)
        seen[end_at(text, s, whole, *o, n)]++;
    gsv_model_free(whole);
}

static void limit__ends_lbfgs_anywhere(void **state)
{
    (void)state;
    size_t seen[PLACES] = {0};
    gsv_model *m = model_of(LEARN_WELL);
    gsv_series *s = learn_well(m, 1, 41, 3);
    gsv_fit_options o = fit_options();
    o.optimizer = GSV_OPTIMIZER_LBFGS;
    o.errors = GSV_ERRORS_SANDWICH;
    sweep(LEARN_WELL, s, &o, 83, seen);
    assert_true(all_seen(PLACES, seen));
    free_both(m, s);
}

static void limit__ends_adam_anywhere(void **state)
{
    (void)state;
    size_t seen[PLACES] = {0};
    gsv_model *m = model_of(LEARN_WELL);
    gsv_series *s = learn_well(m, 1, 41, 3);
    gsv_fit_options o = fit_options();
    o.optimizer = GSV_OPTIMIZER_ADAM;
    o.iterations = 20;
    o.batch = 32;
    sweep(LEARN_WELL, s, &o, 3, seen);
    assert_true(all_seen(2, (size_t[]){seen[ITERATING], seen[ERRORS]}));
    free_both(m, s);
}

/* By particles: the likelihood jumps, and errors come from its gradient. */
static const char NOISY[] =
    "state x, u\n param k = 1 > 0, s = 0.5 > 0\n dx = -k*x*dt + s*dW\n"
    "du = (x - u)*dt + s*dW\n obs y ~ normal(x, 0.3)\n"
    "init x ~ normal(0, 1)\n init u ~ normal(0, 1)";

static gsv_series *noisy_data(const gsv_model *m)
{
    gsv_series *s = learn_well(m, 1, 12, 3);
    mem_free(s->name[0]);
    s->name[0] = mem_string("y");
    return s;
}

static void limit__ends_a_scan_anywhere(void **state)
{
    (void)state;
    size_t seen[PLACES] = {0};
    gsv_model *m = model_of(NOISY);
    gsv_series *s = noisy_data(m);
    gsv_fit_options o = fit_options();
    o.iterations = 4;
    o.estimator.observe = GSV_OBSERVE_SCAN;
    o.estimator.points = 16;
    o.estimator.steps = 1;
    sweep(NOISY, s, &o, 97, seen);
    assert_true(all_seen(2, (size_t[]){seen[ITERATING], seen[ERRORS]}));
    free_both(m, s);
}

/* Adam looks at all data for its second stage, which is no iteration either. */
static void limit__ends_adam_between_stages(void **state)
{
    (void)state;
    size_t seen[PLACES] = {0};
    gsv_model *m = model_of(NOISY);
    gsv_series *s = noisy_data(m);
    gsv_fit_options o = fit_options();
    o.optimizer = GSV_OPTIMIZER_ADAM;
    o.iterations = 6;
    o.estimator.observe = GSV_OBSERVE_SCAN;
    o.estimator.points = 16;
    sweep(NOISY, s, &o, 7, seen);
    /* An iteration looks at the clock often. */
    assert_true(seen[ITERATING] > 2 * o.iterations || SLOWER > 1);
    assert_true(all_seen(1, &seen[ERRORS]));
    free_both(m, s);
}

/* --- With functions --------------------------------------------------------
 */

static const char GP[] =
    "state x\n gp h(x) -> 1 : grid 8 over [-2.5, 2.5] rbf\n"
    "param s = 0.5 > 0\n dx = h*dt + s*dW";

static void limit__leaves_a_gp_its_posterior(void **state)
{
    (void)state;
    size_t seen[PLACES] = {0}, unsettled = 0;
    gsv_model *m = model_of(GP), *whole = model_of(GP);
    gsv_series *s = learn_well(m, 1, 60, 3);
    gsv_fit_options o = fit_options();
    o.iterations = 3;
    o.estimator.paths = o.estimator.steps = 1;
    o.estimator.reference = GSV_REFERENCE_BROWNIAN;
    fit_must(whole, s, &o);
    for (size_t n = 1; !seen[NOWHERE]; n += 13 * SLOWER) {
        gsv_model *late = model_of(GP);
        const gsv_record *r = fit_until(late, s, o, n);
        check_errors(late, r);
        assert_true(gsv_model_has_posterior(late) && isfinite(r->evidence));
        unsettled += has(r, "no time to check whether the kernel");
        seen[place_of(r, gsv_model_record(whole))]++;
        gsv_model_free(late);
    }
    assert_true(
        all_seen(3, (size_t[]){seen[ITERATING], seen[ERRORS], unsettled}));
    gsv_model_free(whole);
    free_both(m, s);
}

/* --- Resumed with no time at all -------------------------------------------
 */

/* Ended at once, and resumed again and again with a limit that is over before
 * the first iteration: it ends, and with the bits of the fit without a limit,
 * unless L-BFGS loses its memory in the middle of a round (gps). */
static void check_ends(const char *text, gsv_series *s, gsv_fit_options o,
                       bool same)
{
    enum { MOST = 400 };
    gsv_model *whole = model_of(text), *m = model_of(text);
    fit_must(whole, s, &o);
    const gsv_record *r = fit_until(m, s, o, 2);
    size_t runs = 0;
    for (; r->ended == GSV_ENDED_TIME && runs < MOST; runs++) {
        assert_int_equal(gsv_model_write(m, "a.fit"), 0);
        o.resume = "a.fit";
        r = fit_until(m, s, o, 2);
    }
    assert_in_range(runs, 1, MOST - 1);
    assert_true(!same || same_bits(gsv_model_values(m), gsv_model_value(m),
                                   gsv_model_value(whole)));
    gsv_model_free(whole);
    gsv_model_free(m);
}

static void limit__never_holds_a_resumed_fit_up(void **state)
{
    (void)state;
    static const enum gsv_optimizer OPTIMIZER[] = {
        GSV_OPTIMIZER_LBFGS, GSV_OPTIMIZER_ADAM, GSV_OPTIMIZER_SOAP};
    gsv_model *m = model_of(LEARN_WELL);
    gsv_series *s = learn_well(m, 1, 41, 3);
    for (size_t i = 0; i < sizeof OPTIMIZER / sizeof *OPTIMIZER; i++) {
        gsv_fit_options o = fit_options();
        o.optimizer = OPTIMIZER[i];
        o.errors = GSV_ERRORS_NONE;
        if (i) o.iterations = 20;
        o.restarts = i == 1 ? 2 : 1;
        check_ends(LEARN_WELL, s, o, true);
    }
    gsv_fit_options o = fit_options();
    o.iterations = 3;
    o.errors = GSV_ERRORS_NONE;
    o.estimator.paths = o.estimator.steps = 1;
    o.estimator.reference = GSV_REFERENCE_BROWNIAN;
    check_ends(GP, s, o, false);
    free_both(m, s);
}

/* --- Chains ----------------------------------------------------------------
 */

static void limit__ends_chains_with_what_they_have(void **state)
{
    (void)state;
    gsv_model *m = model_of(LEARN_WELL);
    gsv_series *s = learn_well(m, 1, 20, 3);
    gsv_fit_options o = fit_options();
    o.method = GSV_METHOD_GIBBS;
    o.estimator.paths = o.estimator.steps = 1;
    o.warmup = 8;
    o.draws = 10;
    o.chains = 2;
    size_t most = 0;
    for (size_t n = 1; most < o.draws; n += 7) {
        gsv_model *late = model_of(LEARN_WELL);
        const gsv_record *r = fit_until(late, s, o, n);
        assert_true(r->draws >= most);
        if (r->draws < o.draws) assert_int_equal(r->ended, GSV_ENDED_TIME);
        most = r->draws;
        gsv_model_free(late);
    }
    free_both(m, s);
}

/* --- The caller ------------------------------------------------------------
 */

static bool stop_later(void *user)
{
    size_t *left = user;
    if (*left) --*left;
    return !*left;
}

/* From the start on; in a sandwich, too, which comes when the information is
 * there. */
static void stop__anywhere_leaves_a_fit_that_goes_on(void **state)
{
    (void)state;
    gsv_model *m = model_of(LEARN_WELL), *whole = model_of(LEARN_WELL);
    gsv_series *s = learn_well(m, 1, 41, 3);
    gsv_fit_options o = fit_options();
    o.errors = GSV_ERRORS_SANDWICH;
    fit_must(whole, s, &o);
    bool stopped = true;
    for (size_t n = 1; stopped; n += 61) {
        gsv_model *one = model_of(LEARN_WELL);
        size_t left = n;
        o.stop = stop_later;
        o.user = &left;
        const gsv_record *r = fit_must(one, s, &o);
        stopped = r->errors == GSV_ERRORS_NONE;
        assert_int_equal(stopped, has(r, "interrupted: "));
        if (r->ended == GSV_ENDED_STOPPED) {
            gsv_fit_options on = o;
            on.stop = NULL;
            on.resume = "a.fit";
            assert_int_equal(gsv_model_write(one, "a.fit"), 0);
            fit_must(one, s, &on);
            assert_same_fit(one, whole);
        } else {
            assert_true(same_bits(gsv_model_values(one), gsv_model_value(one),
                                  gsv_model_value(whole)));
            if (!stopped) assert_same_fit(one, whole);
        }
        gsv_model_free(one);
    }
    gsv_model_free(whole);
    free_both(m, s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limit__ends_lbfgs_anywhere),
        cmocka_unit_test(limit__ends_adam_anywhere),
        cmocka_unit_test(limit__ends_a_scan_anywhere),
        cmocka_unit_test(limit__ends_adam_between_stages),
        cmocka_unit_test(limit__leaves_a_gp_its_posterior),
        cmocka_unit_test(limit__never_holds_a_resumed_fit_up),
        cmocka_unit_test(limit__ends_chains_with_what_they_have),
        cmocka_unit_test(stop__anywhere_leaves_a_fit_that_goes_on),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
