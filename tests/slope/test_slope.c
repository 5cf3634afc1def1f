/* SPDX-License-Identifier: MIT */
/* Corrected slopes against their definition, written once more in plain loops
 * in slopes.h. */
#include "slopes.h"

#include "slope/slope_method.h"

static void expect_density(size_t i, size_t gap, double found, double wanted)
{
    if (!(fabs(found - wanted) <= 1e-9 * (1.0 + fabs(wanted))))
        fail_msg("model %zu, gap %zu: %.15g instead of %.15g", i, gap, found,
                 wanted);
}

static const double LENGTHS[] = {0.02, 0.2, 1.0};

/* Both kinds of run. */
static void slopes__have_the_densities_of_their_definition(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(MODELS) * COUNT(LENGTHS) * 2; i++) {
        size_t which = i / 2 / COUNT(LENGTHS);
        bool forecast = i % 2;
        gsv_model *m = open_model(which);
        gsv_series *s = open_series(m, which, LENGTHS[i / 2 % COUNT(LENGTHS)]);
        struct plain p = plain_of(m, s);
        double value[GAPS], *bar = NEW(double, gsv_model_values(m)), sum = 0.0;
        struct score score = run_slopes(m, s, 1, forecast ? NULL : bar, value);
        assert_int_equal(score.gaps, GAPS);
        for (size_t g = 0; g < GAPS; g++) {
            struct held a = hold(&p, g, forecast);
            double wanted = density(&p, g, &a);
            expect_density(which, g, value[g], wanted);
            sum += wanted / GAPS;
        }
        expect_density(which, GAPS, score.mean, sum);
        mem_free(bar);
        free_both(m, s);
    }
}

/* Differences of the sum with z and D as they are. */
static void expect_gradient(size_t i, double h)
{
    gsv_model *m = open_model(i);
    gsv_series *s = open_series(m, i, h);
    struct plain p = plain_of(m, s);
    struct held a[GAPS];
    size_t n = gsv_model_values(m);
    double value[GAPS], *bar = NEW(double, n), size = 0.0;
    run_slopes(m, s, 1, bar, value);
    for (size_t g = 0; g < GAPS; g++)
        a[g] = hold(&p, g, false);
    for (size_t j = 0; j < n; j++)
        size = fmax(size, fabs(bar[j]));
    for (size_t j = 0; j < n; j++) {
        double kept = m->value[j], wanted = 0.0;
        static const double STEP = 1e-4;
        /* (8 (f(h) - f(-h)) - (f(2h) - f(-2h))) / 12h */
        static const double AT[] = {1, -1, 2, -2}, BY[] = {8, -8, -1, 1};
        for (size_t e = 0; e < 4 * GAPS; e++) {
            m->value[j] = kept + AT[e % 4] * STEP;
            wanted += BY[e % 4] * density(&p, e / 4, &a[e / 4]);
        }
        m->value[j] = kept;
        wanted /= 12.0 * STEP;
        if (!(fabs(bar[j] - wanted) <= 1e-7 * (size + fabs(wanted))))
            fail_msg("model %zu, gaps of %g: value %zu has %.12g instead of "
                     "%.12g",
                     i, h, j, bar[j], wanted);
    }
    mem_free(bar);
    free_both(m, s);
}

static void gradient__is_that_of_held_corrections(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(MODELS); i++)
        for (size_t j = 0; j<COUNT(LENGTHS); j += SLOWER> 1 ? 2 : 1)
            expect_gradient(i, LENGTHS[j]);
}

/* Some gaps, in any order, have the values that they have among all. */
static void slopes__of_some_gaps_are_those_of_all(void **state)
{
    (void)state;
    static const size_t GROUP[] = {58, 3, 3, 0, 17};
    for (size_t i = 0; i < COUNT(MODELS); i++) {
        gsv_model *m = open_model(i);
        gsv_series *s = open_series(m, i, 0.2);
        double value[GAPS];
        run_slopes(m, s, 1, NULL, value);
        struct slopes a;
        struct score score;
        gsv_options o = slope_options(false, 1);
        const struct task task = {
            .model = m, .series = s, .options = &o, .most = COUNT(GROUP)};
        assert_int_equal(slopes_init(&a, &task), 0);
        assert_int_equal(slopes_run(&a, COUNT(GROUP), GROUP, NULL, &score), 0);
        assert_int_equal(score.gaps, COUNT(GROUP));
        for (size_t g = 0; g < COUNT(GROUP); g++) {
            expect_density(i, g, a.value[g], value[GROUP[g]]);
            gsv_gap gap = METHOD_SLOPES.group(&a, g);
            assert_int_equal(gap.from, GROUP[g]);
            assert_int_equal(gap.to, GROUP[g] + 1);
            assert_true(gap.loglik == a.value[g]);
        }
        slopes_free(&a);
        free_both(m, s);
    }
}

/* Rows with a state that was not observed are no ends of gaps. */
static void slopes__skip_missing_rows_and_tracks_ends(void **state)
{
    (void)state;
    gsv_model *m = model_of(LEARN_OU);
    gsv_series *s = learn_ou(m, 3, 21, 4);
    double value[60];
    assert_int_equal(run_slopes(m, s, 1, NULL, value).gaps, 60);
    s->value[5] = NAN;
    struct score score = run_slopes(m, s, 1, NULL, value);
    assert_int_equal(score.gaps, 59);
    assert_true(isfinite(score.mean));
    free_both(m, s);
}

static void slopes__have_the_same_bits_on_any_threads(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(MODELS); i++) {
        gsv_model *m = open_model(i);
        gsv_series *s = walk_of(m, 1, 500, 0.1, 9);
        for (size_t j = 0; MODELS[i].positive && j < 500; j++)
            s->value[j] = 0.3 + fabs(s->value[j]);
        size_t n = gsv_model_values(m);
        double *bar = NEW(double, 4 * n), one[499], value[499];
        struct score first = run_slopes(m, s, 1, bar, one);
        for (size_t threads = 2; threads <= 3; threads++) {
            struct score score =
                run_slopes(m, s, threads, bar + threads * n, value);
            assert_same(score.mean, first.mean);
            assert_same(score.error, first.error);
            assert_true(same_bits(499, value, one));
            assert_true(same_bits(n, bar, bar + threads * n));
        }
        mem_free(bar);
        free_both(m, s);
    }
}

/* --- What it is ----------------------------------------------------------- */

/* The forecast of an OU process has the exact law as gaps become short. */
static void forecast__becomes_exact(void **state)
{
    (void)state;
    static const double P[] = {1.3, 0.4, 0.7};
    gsv_model *m = model_of(LEARN_OU);
    memcpy(m->value, P, sizeof P);
    double before = INFINITY;
    for (double h = 0.4; h > 0.01; h *= 0.5) {
        gsv_series *s = learn_series(m, 1, 201, h, 6, learn_ou_step, P);
        double value[200], worst = 0.0;
        run_slopes(m, s, 1, NULL, value);
        for (size_t i = 0; i < 200; i++) {
            double x = s->value[i] - P[1], y = s->value[i + 1] - P[1];
            double exact =
                exact_ou(x, y, P[0], P[2], s->time[i + 1] - s->time[i]);
            worst = fmax(worst, fabs(value[i] - exact));
        }
        if (!(worst <= 0.6 * before))
            fail_msg("gaps of %g: off by %g, before that %g", h, worst, before);
        before = worst;
        gsv_series_free(s);
    }
    gsv_model_free(m);
}

/* Forecasts below 0, where there is no noise. */
static void slopes__are_finite_near_a_boundary(void **state)
{
    (void)state;
    gsv_model *m = model_of(SLOPES_NEAR_ZERO);
    gsv_series *s = slopes_near_zero(m);
    double value[GAPS], bar[3];
    struct plain p = plain_of(m, s);
    for (int forecast = 0; forecast < 2; forecast++) {
        size_t moved = 0;
        run_slopes(m, s, 1, forecast ? NULL : bar, value);
        for (size_t g = 0; g < GAPS; g++) {
            struct held a = hold(&p, g, forecast);
            moved += a.z[0] == s->value[g];
            expect_density(0, g, value[g], density(&p, g, &a));
            assert_true(isfinite(value[g]));
        }
        assert_true(moved > 10 && moved < GAPS);
    }
    for (size_t i = 0; i < 3; i++)
        assert_true(isfinite(bar[i]));
    free_both(m, s);
}

/* Whatever its weights, moves and corrections are not larger than those of the
 * data, which the definition says above. */
static void slopes__of_a_huge_network_are_limited(void **state)
{
    (void)state;
    static const double FACTOR[] = {1e2, 1e4, 1e6, 1e8};
    gsv_model *m = model_of("state x[2]\n net f(x) -> 2 : 16 16 silu\n"
                            "param s = 1 > 0\n dx = f*dt + s*dW");
    gsv_series *s = walk_of(m, 1, ROWS, 0.1, 3);
    struct plain p = plain_of(m, s);
    size_t n = gsv_model_values(m);
    double *bar = NEW(double, n), *first = NEW(double, n), value[GAPS];
    gsv_model_draw(m, 3);
    memcpy(first, m->value, n * sizeof *first);
    for (size_t f = 0; f < 2 * COUNT(FACTOR); f++) {
        bool forecast = f % 2;
        for (size_t i = 0; i + 1 < n; i++)
            m->value[i] = FACTOR[f / 2] * first[i];
        run_slopes(m, s, 1, forecast ? NULL : bar, value);
        for (size_t g = 0; g < GAPS; g++) {
            struct held a = hold(&p, g, forecast);
            expect_density(f, g, value[g], density(&p, g, &a));
        }
        for (size_t i = 0; i < n; i++)
            assert_true(isfinite(bar[i]));
    }
    MEM_FREE(bar, first);
    free_both(m, s);
}

static void doubt__is_the_share_of_limited_corrections(void **state)
{
    (void)state;
    gsv_model *m = model_of("state x\n param a = 0\n dx = a*x^3*dt + dW");
    gsv_series *s = walk_of(m, 1, ROWS, 0.1, 3);
    gsv_options o = slope_options(true, 1);
    const struct task task = {.model = m, .series = s, .options = &o};
    struct slopes a;
    struct score score;
    double bar;
    assert_int_equal(slopes_init(&a, &task), 0);
    assert_int_equal(slopes_run(&a, 0, NULL, &bar, &score), 0);
    assert_true(METHOD_SLOPES.doubt(&a) == 0.0);
    m->value[0] = 1e6;
    assert_int_equal(slopes_run(&a, 0, NULL, &bar, &score), 0);
    assert_true(METHOD_SLOPES.doubt(&a) > 0.5);
    slopes_free(&a);
    free_both(m, s);
}

/* --- What it refuses ------------------------------------------------------ */

static void slopes__say_what_they_cannot(void **state)
{
    (void)state;
    static const struct {
        const char *text, *word;
    } BAD[] = {
        {"state x\n param k = 1, e = 0.1 > 0\n obs y ~ normal(x, e)\n"
         "dx = -k*x*dt + dW",
         "observes them with noise"},
        {"state z = log(x)\n param k = 1\n dz = -k*z*dt + dW", "maps them"},
    };
    for (size_t i = 0; i < COUNT(BAD); i++) {
        gsv_model *m = model_of(BAD[i].text);
        const size_t start[2] = {0, ROWS};
        double time[ROWS], value[ROWS];
        for (size_t j = 0; j < ROWS; j++) {
            time[j] = 0.1 * (double)j;
            value[j] = 2.0 + sin(3.0 * (double)j);
        }
        gsv_series *s = gsv_series_new(1, start, gsv_model_data_columns(m),
                                       gsv_model_data_column(m), time, value);
        gsv_fit_options o = fit_options();
        o.objective = GSV_OBJECTIVE_SLOPES;
        expect_error(gsv_fit(m, s, &o), GSV_BAD_INPUT, "objective slopes",
                     BAD[i].word, "use the objective likelihood");
        free_both(m, s);
    }
}

/* By its own name. */
static void slopes__refuse_what_is_the_likelihoods(void **state)
{
    (void)state;
    gsv_model *m = model_of(LEARN_NET);
    gsv_series *s = learn_well(m, 1, 41, 3);
    gsv_fit_options o[8];
    for (size_t i = 0; i < COUNT(o); i++) {
        o[i] = fit_options();
        o[i].objective = GSV_OBJECTIVE_SLOPES;
    }
    o[0].estimator.paths = 4;
    o[1].estimator.steps = 4;
    o[2].estimator.step = 0.1;
    o[3].estimator.joint = true;
    o[4].estimator.reference = GSV_REFERENCE_LINEAR;
    o[5].errors = GSV_ERRORS_OBSERVED;
    o[6].method = GSV_METHOD_GIBBS;
    o[7].optimizer = GSV_OPTIMIZER_LBFGS;
    for (size_t i = 0; i < COUNT(o); i++)
        expect_error(gsv_fit(m, s, &o[i]), GSV_BAD_INPUT,
                     "the objective slopes", "likelihood");
    free_both(m, s);
    m = model_of("state x\n gp f(x) -> 1 : grid 9 over [-2, 2] rbf\n"
                 "dx = f*dt + dW");
    s = learn_well(m, 1, 41, 3);
    o[0] = fit_options();
    o[0].objective = GSV_OBJECTIVE_SLOPES;
    expect_error(gsv_fit(m, s, &o[0]), GSV_BAD_INPUT, "the objective slopes",
                 "gp", "likelihood");
    free_both(m, s);
}

/* The estimates of a formula are near the exact maximum: their equation has the
 * same mean, and gaps of 0.4 are short. */
static void slopes__of_a_formula_find_its_numbers(void **state)
{
    (void)state;
    gsv_model *m = model_of(LEARN_OU);
    gsv_series *s = learn_ou(m, 1, 401, 3);
    struct learn_peak peak = {.n = 3, .at = {1.3, 0.4, 0.7}};
    learn_maximum(learn_ou_loglik, s, &peak);
    gsv_fit_options o = fit_options();
    o.objective = GSV_OBJECTIVE_SLOPES;
    const gsv_record *r = fit_must(m, s, &o);
    assert_true(isfinite(r->loglik));
    for (size_t i = 0; i < 3; i++)
        assert_near(m->value[i], peak.at[i], sqrt(peak.cov[4 * i]));
    free_both(m, s);
}

/* No noise, and a drift that is not finite. */
static void slopes__name_the_gap_that_has_no_density(void **state)
{
    (void)state;
    static const char *const BAD[] = {
        "state x\n param s = 0\n dx = -x*dt + s*dW",
        "state x\n param s = -1\n dx = sqrt(s)*dt + dW"};
    for (size_t i = 0; i < COUNT(BAD); i++) {
        gsv_model *m = model_of(BAD[i]);
        gsv_series *s = walk_of(m, 1, ROWS, 0.1, 3);
        gsv_options o = slope_options(true, 1);
        const struct task task = {.model = m, .series = s, .options = &o};
        struct slopes a;
        struct score score;
        double bar;
        assert_int_equal(slopes_init(&a, &task), 0);
        expect_error(slopes_run(&a, 0, NULL, &bar, &score), GSV_NUMERICAL,
                     "at time 0.1", "no finite density");
        slopes_free(&a);
        free_both(m, s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slopes__have_the_densities_of_their_definition),
        cmocka_unit_test(gradient__is_that_of_held_corrections),
        cmocka_unit_test(slopes__of_some_gaps_are_those_of_all),
        cmocka_unit_test(slopes__skip_missing_rows_and_tracks_ends),
        cmocka_unit_test(slopes__have_the_same_bits_on_any_threads),
        cmocka_unit_test(forecast__becomes_exact),
        cmocka_unit_test(slopes__are_finite_near_a_boundary),
        cmocka_unit_test(slopes__of_a_huge_network_are_limited),
        cmocka_unit_test(doubt__is_the_share_of_limited_corrections),
        cmocka_unit_test(slopes__say_what_they_cannot),
        cmocka_unit_test(slopes__refuse_what_is_the_likelihoods),
        cmocka_unit_test(slopes__of_a_formula_find_its_numbers),
        cmocka_unit_test(slopes__name_the_gap_that_has_no_density),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
