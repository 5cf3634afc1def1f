/* SPDX-License-Identifier: MIT */
/* Numbers of series and of categories against what they are made of: separate
 * fits, closed forms, sums of the likelihoods of single series. */
#include "learn.h"

#include "data/category.h"
#include "model/model.h"

enum { TRACKS = 3, ROWS = 60 };

static const char *const LABEL[TRACKS] = {"b", "a 1", "17"};

/* OU tracks of different rates; each has a group, by its number. */
static gsv_series *panel(const gsv_model *m, size_t tracks, bool grouped)
{
    static double time[TRACKS * ROWS], value[2 * TRACKS * ROWS];
    static const char *const NAME[] = {"x", "group"};
    size_t start[TRACKS + 1], n = tracks * ROWS;
    double *z = normals(n, 21);
    (void)m;
    for (size_t i = 0; i < n; i++) {
        double p[] = {0.5 + (double)(i / ROWS), 0.3 * (double)(i / ROWS), 0.6};
        size_t k = i % ROWS;
        time[i] = 0.3 * (double)k;
        if (k) learn_ou_step(p, 0.3, &value[i - 1], &z[i], &value[i]);
        else value[i] = 0.2;
        value[n + i] = i / ROWS % 2 ? gsv_category("drug") : 4.0;
    }
    for (size_t r = 0; r <= tracks; r++)
        start[r] = r * ROWS;
    gsv_series *s = gsv_series_view(tracks, start, LABEL, grouped ? 2 : 1, NAME,
                                    time, value);
    assert_non_null(s);
    assert_int_equal(gsv_series_words(s, 1, (const char *const[]){"drug"}), 0);
    mem_free(z);
    return s;
}

static gsv_series *only(const gsv_series *s, size_t r)
{
    const size_t start[] = {0, s->start[r + 1] - s->start[r]};
    size_t rows = start[1];
    double *value = NEW(double, s->columns *rows);
    for (size_t c = 0; c < s->columns; c++)
        memcpy(value + c * rows, s->value + c * s->rows + s->start[r],
               rows * sizeof *value);
    gsv_series *one =
        gsv_series_new(1, start, s->columns, (const char *const *)s->name,
                       s->time + s->start[r], value);
    assert_non_null(one);
    mem_free(value);
    return one;
}

/* --- Against separate fits ------------------------------------------------ */

static void numbers__of_series_are_those_of_separate_fits(void **state)
{
    static const char ALL[] =
        "state x\n param k[series] = 0.5 > 0, mu[series] = 0, "
        "s[series] = 1 > 0\n dx = k*(mu - x)*dt + s*dW";
    (void)state;
    gsv_model *m = model_of(ALL);
    gsv_series *s = panel(m, TRACKS, false);
    gsv_fit_options o = fit_options();
    const gsv_record *r = fit_must(m, s, &o);
    assert_int_equal(r->free, 3 * TRACKS);
    double sum = 0.0;
    for (size_t t = 0; t < TRACKS; t++) {
        gsv_model *one = model_of(LEARN_OU);
        gsv_series *own = only(s, t);
        const gsv_record *q = fit_must(one, own, &o);
        sum += q->loglik;
        for (size_t i = 0; i < 3; i++) {
            size_t at = i * TRACKS + t;
            assert_near(gsv_model_value(m)[at], gsv_model_value(one)[i],
                        0.02 * q->error_of[i]);
            assert_near(r->error_of[at], q->error_of[i], 0.02 * q->error_of[i]);
        }
        free_both(one, own);
    }
    assert_near(r->loglik, sum, 1e-3);
    assert_string_equal(gsv_model_param(m, 0).label[1], "a 1");
    free_both(m, s);
}

/* --- Against closed forms ------------------------------------------------- */

/* dx = b[group] dt + dW: b is the rise over the time of its rows. The group of
 * a gap is that of its first row. */
static void coefficients__of_levels_are_their_closed_form(void **state)
{
    static const char TEXT[] = "state x\n input group\n param b[group] = 0\n"
                               "dx = b[group]*dt + dW";
    double T[2] = {0}, rise[2] = {0};
    (void)state;
    gsv_model *m = model_of(TEXT);
    gsv_series *s = panel(m, TRACKS, true);
    double *group = s->value + s->rows;
    for (size_t i = 0; i < s->rows; i++)
        group[i] = i % 7 < 3 ? 4.0 : gsv_category("drug");
    for (size_t i = 5; i < s->rows; i += 11)
        if (i % ROWS) group[i] = NAN; /* goes on as before */
    for (size_t t = 0; t < TRACKS; t++) {
        bool drug = false;
        for (size_t i = s->start[t]; i + 1 < s->start[t + 1]; i++) {
            if (!isnan(group[i])) drug = group[i] > 4.0;
            T[drug] += s->time[i + 1] - s->time[i];
            rise[drug] += s->value[i + 1] - s->value[i];
        }
    }
    gsv_fit_options o = fit_options();
    const gsv_record *r = fit_must(m, s, &o);
    const char *const *label;
    assert_int_equal(gsv_model_levels(m, "group", &label), 2);
    for (size_t i = 0; i < 2; i++) {
        bool drug = !strcmp(label[i], "drug");
        assert_true(drug || !strcmp(label[i], "4"));
        assert_near(gsv_model_value(m)[i], rise[drug] / T[drug], 1e-5);
        assert_near(r->error_of[i], 1.0 / sqrt(T[drug]), 1e-5);
    }
    free_both(m, s);
}

/* A covariate that is constant in a series is an input: (b + c age) dt. */
static void covariate__of_a_series_is_an_input(void **state)
{
    static const char TEXT[] = "state x\n input group\n param b = 0, c = 0\n"
                               "dx = (b + c*group)*dt + dW";
    double A[4] = {0}, y[2] = {0};
    (void)state;
    gsv_model *m = model_of(TEXT);
    gsv_series *s = panel(m, TRACKS, true);
    for (size_t t = 0; t < TRACKS; t++) {
        size_t from = s->start[t], end = s->start[t + 1] - 1;
        double age = 1.0 + (double)t, T = s->time[end] - s->time[from];
        double rise = s->value[end] - s->value[from];
        /* Given once is enough. */
        for (size_t i = from; i <= end; i++)
            s->value[s->rows + i] = i == from + 2 ? age : NAN;
        A[0] += T;
        A[1] += T * age;
        A[3] += T * age * age;
        y[0] += rise;
        y[1] += rise * age;
    }
    gsv_fit_options o = fit_options();
    fit_must(m, s, &o);
    double det = A[0] * A[3] - A[1] * A[1];
    assert_near(value_of(m, "b"), (A[3] * y[0] - A[1] * y[1]) / det, 1e-4);
    assert_near(value_of(m, "c"), (A[0] * y[1] - A[1] * y[0]) / det, 1e-4);
    free_both(m, s);
}

/* --- Every estimator ------------------------------------------------------ */

static const struct {
    const char *text, *one; /* with k[series], and with k */
} EVERY[] = {
    {"state x\n param k[series] = 1 > 0\n dx = -k*x*dt + dW",
     "state x\n param k = 1 > 0\n dx = -k*x*dt + dW"},
    {"state x\n param k[series] = 1 > 0\n dx = -x*dt + k*dW",
     "state x\n param k = 1 > 0\n dx = -x*dt + k*dW"},
    {"state x\n param k[series] = 1 > 0\n dx = -x^3*dt + k*sqrt(1 + x^2)*dW",
     "state x\n param k = 1 > 0\n dx = -x^3*dt + k*sqrt(1 + x^2)*dW"},
    {"state z\n param k[series] = 1 > 0\n dz = -k*z*dt + 0.6*dW\n"
     "init z ~ normal(0, 1)\n obs x ~ normal(z, 0.2)",
     "state z\n param k = 1 > 0\n dz = -k*z*dt + 0.6*dW\n"
     "init z ~ normal(0, 1)\n obs x ~ normal(z, 0.2)"},
    {"state z\n param k[series] = 1 > 0\n dz = -k*z^3*dt + 0.6*dW\n"
     "init z ~ normal(0, 1)\n obs x ~ normal(z, 0.2*k)",
     "state z\n param k = 1 > 0\n dz = -k*z^3*dt + 0.6*dW\n"
     "init z ~ normal(0, 1)\n obs x ~ normal(z, 0.2*k)"},
};

static void likelihood__is_the_sum_over_series(void **state)
{
    static const double K[TRACKS] = {0.4, 1.1, 2.3};
    (void)state;
    for (size_t e = 0; e < COUNT(EVERY); e++) {
        gsv_model *m = model_of(EVERY[e].text);
        gsv_series *s = panel(m, TRACKS, false);
        gsv_options o = gsv_options_default();
        o.threads = 1;
        gsv_result r;
        double sum = 0.0, error = 0.0;
        expect_error(gsv_loglik(m, s, &o, &r), GSV_BAD_INPUT, "gsv_model_bind");
        assert_int_equal(gsv_model_bind(m, s), 0);
        assert_int_equal(gsv_model_set(m, "k", TRACKS, K), 0);
        for (size_t t = 0; t < TRACKS; t++) {
            gsv_model *one = model_of(EVERY[e].one);
            gsv_series *own = only(s, t);
            assert_int_equal(gsv_model_set(one, "k", 1, &K[t]), 0);
            if (gsv_loglik(one, own, &o, &r)) fail_msg("%s", gsv_last_error());
            sum += r.loglik;
            error = hypot(error, r.error);
            gsv_result_free(&r);
            free_both(one, own);
        }
        if (gsv_loglik(m, s, &o, &r)) fail_msg("%s", gsv_last_error());
        near_at((int)e, r.loglik, sum, 5.0 * hypot(error, r.error) + 1e-6);
        gsv_result_free(&r);
        gsv_gradient_check check;
        if (gsv_check_gradient(m, s, &o, &check))
            fail_msg("%s", gsv_last_error());
        if (!check.agrees) fail_msg("case %zu: off by %g", e, check.worst);
        free_both(m, s);
    }
}

/* --- Fits ----------------------------------------------------------------- */

static const char SHARED[] =
    "state x\n param k[series] = 1 > 0, mu[group] = 0, s = 1 > 0\n"
    "dx = k*(mu - x)*dt + s*dW\n prior k ~ lognormal(0, 0.5)";

static void fit__keeps_the_labels(void **state)
{
    (void)state;
    gsv_model *m = model_of(SHARED);
    gsv_series *s = panel(m, TRACKS, true), *few = panel(m, 2, true);
    gsv_fit_options o = short_options(GSV_OPTIMIZER_LBFGS);
    fit_must(m, few, &o);
    assert_int_equal(gsv_model_write(m, "a.fit"), 0);
    gsv_model *again = gsv_model_read("a.fit");
    assert_non_null(again);
    assert_same_fit(m, again);
    const char *const *label;
    assert_int_equal(gsv_model_levels(again, "series", &label), 2);
    assert_string_equal(label[1], "a 1");
    double one;
    assert_int_equal(gsv_model_set(again, "k[a 1]", 1, &(double){3.5}), 0);
    one = gsv_model_value(again)[1];
    assert_true(one == 3.5);
    expect_error(gsv_model_set(again, "k[2]", 1, &one), GSV_BAD_INPUT,
                 "one for each series");
    gsv_options e = gsv_options_default();
    gsv_result r;
    assert_int_equal(gsv_loglik(again, few, &e, &r), 0);
    gsv_result_free(&r);
    expect_error(gsv_loglik(again, s, &e, &r), GSV_BAD_INPUT, "series '17'",
                 "2 that the fit");
    few->value[few->rows] = 5.0;
    expect_error(gsv_loglik(again, few, &e, &r), GSV_BAD_INPUT, "group '5'");
    gsv_model_free(again);
    gsv_series_free(few);
    free_both(m, s);
}

static void fit__has_the_same_bits_on_any_threads(void **state)
{
    (void)state;
    gsv_model *a = model_of(SHARED), *b = model_of(SHARED);
    gsv_series *s = panel(a, TRACKS, true);
    gsv_fit_options o = short_options(GSV_OPTIMIZER_LBFGS);
    fit_must(a, s, &o);
    o.estimator.threads = 3;
    fit_must(b, s, &o);
    assert_same_fit(a, b);
    gsv_model_free(b);
    free_both(a, s);
}

/* --- Simulations ---------------------------------------------------------- */

/* With next to no noise a track shows its number: x = exp(-k t). */
static void simulation__has_the_numbers_of_each_series(void **state)
{
    static const char TEXT[] = "state x\n param k[series] = 1 > 0\n"
                               "dx = -k*x*dt + 1e-9*dW";
    static const double TIME[] = {0, 1}, START[] = {1, 1, 1};
    static const double K[TRACKS] = {0.4, 1.1, 2.3};
    (void)state;
    gsv_model *m = model_of(TEXT);
    gsv_series *s = panel(m, TRACKS, false);
    gsv_simulate_options o = gsv_simulate_options_default();
    o.times = 2;
    o.time = TIME;
    o.start = START;
    o.tracks = TRACKS;
    o.step = 1e-4;
    assert_null(gsv_simulate(m, &o));
    assert_int_equal(gsv_model_bind(m, s), 0);
    assert_int_equal(gsv_model_set(m, "k", TRACKS, K), 0);
    gsv_series *made = gsv_simulate(m, &o);
    if (!made) fail_msg("%s", gsv_last_error());
    assert_int_equal(made->columns, 1);
    for (size_t t = 0; t < TRACKS; t++) {
        assert_string_equal(made->label[t], LABEL[t]);
        assert_near(made->value[2 * t + 1], exp(-K[t]), 1e-4);
    }
    gsv_series_free(made);
    o.tracks = TRACKS + 1;
    assert_null(gsv_simulate(m, &o));
    assert_non_null(strstr(gsv_last_error(), "3 series"));
    free_both(m, s);
}

/* --- Levels in doubt -------------------------------------------------------
 */

/* Levels of 40 rows, and how often they come; words of the warning, or NULL. */
static const struct {
    const char *label[3];
    size_t rows[3];
    const char *warning;
} DOUBT[] = {
    {{"meadow", "forest", "medow"}, {20, 18, 2}, "'medow' of 'arm' has 2 rows"},
    {{"meadow", "forest", "Meadow"}, {16, 12, 12}, "'Meadow' of 'arm'"},
    {{"meadow", "forest", "marsh"}, {20, 19, 1}, "'marsh' of 'arm' has 1 row"},
    {{"meadow", "forest", "marsh"}, {20, 18, 2}, NULL},
    {{"male", "female", "none"}, {4, 32, 4}, NULL},
    {{"site1", "site2", "site3"}, {30, 8, 2}, NULL},
    {{"drug", "drag", "none"}, {15, 15, 10}, NULL},
};

static gsv_series *levels_of(size_t k)
{
    static double time[40], value[80];
    static const size_t START[] = {0, 40};
    static const char *const NAME[] = {"x", "arm"}, *const ONE[] = {"1"};
    for (size_t i = 0, level = 0, end = DOUBT[k].rows[0]; i < 40; i++) {
        if (i == end) end += DOUBT[k].rows[++level];
        time[i] = (double)i;
        value[i] = 0.1 * (double)(i % 3);
        value[40 + i] = gsv_category(DOUBT[k].label[level]);
    }
    gsv_series *s = gsv_series_view(1, START, ONE, 2, NAME, time, value);
    assert_non_null(s);
    assert_int_equal(gsv_series_words(s, 3, DOUBT[k].label), 0);
    return s;
}

static void levels__that_look_misspelt_are_named(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT(DOUBT); k++) {
        gsv_model *m = model_of("state x\n param b[arm] = 0\n"
                                "dx = (b - x)*dt + dW");
        gsv_series *s = levels_of(k);
        char count[60];
        assert_int_equal(gsv_model_bind(m, s), 0);
        char *doubts = gsv_model_doubts(m, s);
        char *counts = gsv_model_level_counts(m, s);
        assert_non_null(doubts);
        assert_non_null(counts);
        if (DOUBT[k].warning) assert_non_null(strstr(doubts, DOUBT[k].warning));
        else assert_string_equal(doubts, "");
        for (size_t i = 0; i < 3; i++) {
            snprintf(count, sizeof count, "%s %zu (1 series)",
                     DOUBT[k].label[i], DOUBT[k].rows[i]);
            assert_non_null(strstr(counts, count));
        }
        gsv_text_free(doubts);
        gsv_text_free(counts);
        free_both(m, s);
    }
}

/* --- Failures ------------------------------------------------------------- */

static void bind__survives_every_failed_allocation(void **state)
{
    (void)state;
    for (size_t n = 1;; n++) {
        gsv_model *m = model_of(SHARED);
        gsv_series *s = panel(m, TRACKS, true);
        gsv_options o = gsv_options_default();
        gsv_result r = {0};
        o.threads = 1;
        o.paths = 4;
        o.steps = 1;
        mem_fail_at(n);
        int status = gsv_model_bind(m, s);
        if (!status) status = gsv_loglik(m, s, &o, &r);
        mem_fail_at(0);
        gsv_result_free(&r);
        free_both(m, s);
        if (!status) break;
        assert_int_equal(status, GSV_NO_MEMORY);
        assert_true(n < 5000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers__of_series_are_those_of_separate_fits),
        cmocka_unit_test(coefficients__of_levels_are_their_closed_form),
        cmocka_unit_test(covariate__of_a_series_is_an_input),
        cmocka_unit_test(likelihood__is_the_sum_over_series),
        cmocka_unit_test(fit__keeps_the_labels),
        cmocka_unit_test(fit__has_the_same_bits_on_any_threads),
        cmocka_unit_test(simulation__has_the_numbers_of_each_series),
        cmocka_unit_test(levels__that_look_misspelt_are_named),
        cmocka_unit_test(bind__survives_every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
