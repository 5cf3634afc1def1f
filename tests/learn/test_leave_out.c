/* SPDX-License-Identifier: MIT */
/* Series that are left out or held out, against closed forms. */
#include "learn.h"

#include "base/khat.h"
#include "learn/split.h"

/* Increments are normal with mean m h and variance h. */
static const char DRIFT[] = "state x\n param m = 0\n dx = m*dt + dW";

static double drift_score(const gsv_series *s, size_t r, double m)
{
    double sum = 0.0;
    for (size_t i = s->start[r] + 1; i < s->start[r + 1]; i++) {
        double h = s->time[i] - s->time[i - 1];
        double z = s->value[i] - s->value[i - 1] - m * h;
        sum -= 0.5 * (z * z / h + log(2.0 * 3.14159265358979323846 * h));
    }
    return sum;
}

/* The estimate of all series but one is their rise over their time. */
static double drift_without(const gsv_series *s, size_t out)
{
    double rise = 0.0, T = 0.0;
    for (size_t r = 0; r < s->tracks; r++) {
        size_t a = s->start[r], b = s->start[r + 1] - 1;
        if (r == out) continue;
        rise += s->value[b] - s->value[a];
        T += s->time[b] - s->time[a];
    }
    return rise / T;
}

/* By refits, and by weights: draws are normal, and so is the posterior. */
static void score__without_a_series_is_its_closed_form(void **state)
{
    (void)state;
    gsv_model *m = model_of(DRIFT);
    gsv_series *s = walk_of(m, 6, 12, 0.5, 3);
    gsv_fit_options f = fit_options();
    fit_must(m, s, &f);
    gsv_options o = gsv_options_default();
    o.threads = 1;
    for (size_t refits = 0; refits < 7; refits += 6) {
        gsv_leave_out out;
        double sum = 0.0;
        if (gsv_leave_series_out(m, s, &o, refits, &out))
            fail_msg("%s", gsv_last_error());
        for (size_t r = 0; r < 6; r++) {
            double exact = drift_score(s, r, drift_without(s, r));
            assert_near(out.score[r], exact, refits ? 1e-4 : 0.05);
            assert_true(refits ? isnan(out.khat[r]) : out.khat[r] < 0.7);
            sum += out.score[r];
        }
        assert_near(out.sum, sum, 1e-9);
        assert_int_equal(out.refits, refits);
        gsv_leave_out_free(&out);
    }
    free_both(m, s);
}

/* Weights against fits; the second data set has a series unlike the others. */
static void score__by_weights_is_that_by_fits(void **state)
{
    enum { SERIES = 20, TIMES = 31 };
    (void)state;
    for (size_t set = 0; set < 2; set++) {
        gsv_model *m = model_of(
            "state x\nparam k = 1 > 0, s = 1 > 0\ndx = -k*x*dt + s*dW\n"
            "obs y ~ normal(x, 0.2)\ninit x ~ normal(0, s/sqrt(2*k))");
        gsv_simulate_options q = gsv_simulate_options_default();
        double time[TIMES];
        for (size_t i = 0; i < TIMES; i++)
            time[i] = 0.5 * (double)i;
        q.tracks = SERIES;
        q.times = TIMES;
        q.time = time;
        q.seed = 11 + set;
        gsv_series *s = gsv_simulate(m, &q);
        assert_non_null(s);
        for (size_t i = (SERIES - 1) * TIMES; set && i < s->rows; i++)
            s->value[s->rows + i] *= 3.0;
        gsv_fit_options f = fit_options();
        gsv_options o = gsv_options_default();
        gsv_leave_out fits, weights;
        fit_must(m, s, &f);
        o.threads = 1;
        assert_int_equal(gsv_leave_series_out(m, s, &o, SERIES, &fits), 0);
        assert_int_equal(gsv_leave_series_out(m, s, &o, 0, &weights), 0);
        for (size_t r = 0; r < SERIES; r++)
            assert_near(weights.score[r], fits.score[r], 0.05);
        assert_near(weights.sum, fits.sum, 0.1);
        assert_int_equal(weights.refits > 0, set);
        gsv_leave_out_free(&fits);
        gsv_leave_out_free(&weights);
        free_both(m, s);
    }
}

static void score__is_refused_without_others(void **state)
{
    (void)state;
    gsv_model *m = model_of(DRIFT);
    gsv_series *one = walk_of(m, 1, 12, 0.5, 3), *s = walk_of(m, 3, 12, 0.5, 3);
    gsv_options o = gsv_options_default();
    gsv_fit_options f = fit_options();
    gsv_leave_out out;
    expect_error(gsv_leave_series_out(m, s, &o, 9, &out), GSV_BAD_INPUT,
                 "not fitted");
    fit_must(m, one, &f);
    expect_error(gsv_leave_series_out(m, one, &o, 9, &out), GSV_BAD_INPUT,
                 "one series");
    gsv_model *own = model_of("state x\n param m[series] = 0\n"
                              "dx = m*dt + dW");
    fit_must(own, s, &f);
    expect_error(gsv_leave_series_out(own, s, &o, 9, &out), GSV_BAD_INPUT,
                 "single series");
    f.heldout = 0.3;
    f.heldout_series = true;
    expect_error(gsv_fit(own, s, &f), GSV_BAD_INPUT, "single series");
    expect_error(gsv_fit(m, one, &f), GSV_BAD_INPUT, "one series");
    gsv_model_free(own);
    gsv_series_free(one);
    free_both(m, s);
}

/* What a fit alone was told, and its model does not say, refits would not know;
 * what the text says they do. */
static void score__is_refused_where_refits_ask_something_else(void **state)
{
    (void)state;
    static const char *const FIXED[] = {"s"};
    static const gsv_prior PRIOR = {"m", GSV_LAW_NORMAL, 0.0, 1e-3};
    static const char TEXT[] =
        "state x\n param m = 0, s = 1 > 0\n%s dx = m*dt + s*dW";
    char text[2][120];
    gsv_options o = gsv_options_default();
    gsv_leave_out out;
    snprintf(text[0], sizeof text[0], TEXT, "");
    snprintf(text[1], sizeof text[1], TEXT, " prior m ~ normal(0, 0.001)\n");
    gsv_model *m = model_of(text[0]), *known = model_of(text[1]);
    gsv_series *s = walk_of(m, 4, 12, 0.5, 3);
    gsv_fit_options f = fit_options();
    f.fixed = 1;
    f.fix = FIXED;
    fit_must(m, s, &f);
    expect_error(gsv_leave_series_out(m, s, &o, 9, &out), GSV_BAD_INPUT,
                 "1 of the fit's 2 numbers were fixed");
    f = fit_options();
    f.priors = 1;
    f.prior = &PRIOR;
    fit_must(m, s, &f);
    expect_error(gsv_leave_series_out(m, s, &o, 9, &out), GSV_BAD_INPUT,
                 "1 of the fit's numbers had a prior, and 0 have one");
    f = fit_options();
    fit_must(known, s, &f);
    assert_int_equal(gsv_leave_series_out(known, s, &o, 9, &out), 0);
    for (size_t r = 0; r < 4; r++) {
        double square = 0.0, own = 0.0, logs = 0.0;
        size_t gaps = 0, others = 0;
        for (size_t i = 0; i < 4; i++) /* the prior holds m at 0 */
            for (size_t k = s->start[i] + 1; k < s->start[i + 1]; k++) {
                double z = s->value[k] - s->value[k - 1];
                double h = s->time[k] - s->time[k - 1];
                if (i != r) others++, square += z * z / h;
                else gaps++, own += z * z / h, logs += log(h);
            }
        double v = square / (double)others;
        double exact =
            -0.5 * (own / v + logs + (double)gaps * log(2.0 * EXACT_PI * v));
        assert_near(out.score[r], exact, 1e-3);
    }
    gsv_leave_out_free(&out);
    gsv_model_free(known);
    free_both(m, s);
}

/* --- Held-out series ------------------------------------------------------ */

static void split__holds_whole_series_out(void **state)
{
    static const size_t FIRST[] = {0, 3, 3, 10, 12, 20};
    (void)state;
    for (uint64_t seed = 1; seed < 30; seed++) {
        struct split s;
        int status = split_tracks(&s, seed, 5, FIRST, 0.4, 4);
        assert_int_equal(status, s.trains && s.helds ? 0 : GSV_BAD_INPUT);
        int of[20] = {0};
        for (size_t i = 0; i < s.trains; i++)
            of[s.train[i]] += 1;
        for (size_t i = 0; i < s.helds; i++)
            of[s.held[i]] += 2;
        for (size_t r = 0; s.group && r < 5; r++)
            for (size_t g = FIRST[r]; g < FIRST[r + 1]; g++)
                assert_true(of[g] == of[FIRST[r]] &&
                            (of[g] == 1 || of[g] == 2));
        split_free(&s);
    }
}

/* The value is that of the series that were not learned from: with the estimate
 * of the others it is one of the scores above. */
static void heldout__is_the_likelihood_of_other_series(void **state)
{
    static const char *const TEXT[] = {
        DRIFT, "state z\n param m = 0\n dz = m*dt + dW\n"
               "init z ~ normal(0, 3)\n obs x ~ normal(z, 0.01)"};
    (void)state;
    for (size_t k = 0; k < COUNT(TEXT); k++) {
        gsv_model *plain = model_of(DRIFT), *m = model_of(TEXT[k]);
        gsv_series *s = walk_of(plain, 4, 15, 0.5, 3);
        gsv_fit_options o = fit_options();
        o.heldout = 0.25;
        o.heldout_series = true;
        const gsv_record *r = fit_must(m, s, &o);
        size_t out = 4;
        for (size_t t = 0; t < 4; t++)
            if (fabs(value_of(m, "m") - drift_without(s, t)) < 1e-3) out = t;
        assert_true(out < 4);
        assert_int_equal(r->heldout_gaps, k ? 15 : 14);
        if (!k)
            assert_near(r->heldout, drift_score(s, out, value_of(m, "m")),
                        1e-6);
        assert_true(isfinite(r->heldout));
        gsv_model_free(plain);
        free_both(m, s);
    }
}

/* As drift_without(), where slopes have the deviation 1: a rise over T has the
 * variance T + T^2. */
static double slope_without(const gsv_series *s, size_t out)
{
    double rise = 0.0, time = 0.0;
    for (size_t r = 0; r < s->tracks; r++) {
        size_t a = s->start[r], b = s->start[r + 1] - 1;
        double T = s->time[b] - s->time[a];
        if (r == out) continue;
        rise += (s->value[b] - s->value[a]) / (1.0 + T);
        time += T / (1.0 + T);
    }
    return rise / time;
}

/* With a slope of its own for every series, normal around m with deviation 1:
 * the rise R over T is normal with variance T + T^2, not T. */
static void heldout__with_effects_is_its_closed_form(void **state)
{
    (void)state;
    gsv_model *plain = model_of(DRIFT),
              *m = model_of("state x\n param m = 0\n random u ~ normal(m, 1)\n"
                            "dx = u*dt + dW");
    gsv_series *s = walk_of(plain, 4, 15, 0.5, 3);
    gsv_fit_options o = fit_options();
    o.heldout = 0.25;
    o.heldout_series = true;
    const gsv_record *r = fit_must(m, s, &o);
    double found = value_of(m, "m");
    size_t out = 4;
    for (size_t t = 0; t < 4; t++)
        if (fabs(found - slope_without(s, t)) < 1e-4) out = t;
    assert_true(out < 4);
    size_t a = s->start[out], b = s->start[out + 1] - 1;
    double T = s->time[b] - s->time[a];
    double off = s->value[b] - s->value[a] - found * T;
    double exact = drift_score(s, out, found) + 0.5 * off * off / T -
                   0.5 * off * off / (T + T * T) - 0.5 * log(1.0 + T);
    assert_near(r->heldout, exact, 1e-6);
    gsv_model_free(plain);
    free_both(m, s);
    m = model_of("state x\n param m = 0\n random u ~ normal(m, 1)\n"
                 "dx = u*dt + dW");
    s = walk_of(m, 4, 15, 0.5, 3);
    o.heldout_series = false;
    assert_int_equal(gsv_fit(m, s, &o), GSV_BAD_INPUT);
    assert_non_null(strstr(gsv_last_error(), "--heldout series:0.25"));
    free_both(m, s);
}

/* --- Smoothed weights ----------------------------------------------------- */

/* Weights that have the law already hardly change; none grows above the
 * largest; order is kept. */
static void smoothing__of_pareto_weights_keeps_them(void **state)
{
    enum { K = 2000 };
    double S[K], T[K], *room = NEW(double, khat_room(K));
    (void)state;
    for (double k = -0.3; k < 0.8; k += 0.5) {
        double most = -INFINITY;
        for (size_t i = 0; i < K; i++) {
            double p = ((double)((i * 977) % K) + 0.5) / K;
            S[i] = T[i] = log(1.0 + expm1(-k * log1p(-p)) / k);
            most = fmax(most, S[i]);
        }
        double found = khat_smooth(K, T, room);
        assert_near(found, k, 0.15);
        double sum = 0.0, kept = 0.0;
        for (size_t i = 0; i < K; i++) {
            assert_true(T[i] <= most);
            sum += exp(T[i]);
            kept += exp(S[i]);
            for (size_t j = 0; j < i; j += 37)
                assert_true((S[i] > S[j]) == (T[i] > T[j]) || T[i] == T[j]);
        }
        assert_near(sum / kept, 1.0, 0.03);
    }
    mem_free(room);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(score__without_a_series_is_its_closed_form),
        cmocka_unit_test(score__by_weights_is_that_by_fits),
        cmocka_unit_test(score__is_refused_without_others),
        cmocka_unit_test(score__is_refused_where_refits_ask_something_else),
        cmocka_unit_test(split__holds_whole_series_out),
        cmocka_unit_test(heldout__is_the_likelihood_of_other_series),
        cmocka_unit_test(heldout__with_effects_is_its_closed_form),
        cmocka_unit_test(smoothing__of_pareto_weights_keeps_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
