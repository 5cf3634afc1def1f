/* SPDX-License-Identifier: MIT */
/* What a fit is asked for and what it finds out: parameters that stay, bounds,
 * and what the data cannot tell. */
#include "learn.h"

/* --- Fixed ---------------------------------------------------------------- */

#define BOUNDED                                                                \
    "state x\n param k = 0.7 > 0, mu = 0.1 in (-1, 2), s = 0.9 > 0,"           \
    " b = -0.3 < 0\n dx = (k*(mu - x) + b*x^3)*dt + s*dW"

static void fix__keeps_the_bits_of_any_parameter(void **state)
{
    (void)state;
    static const char *const NAMES[] = {"k", "mu", "s", "b"};
    for (size_t i = 0; i < 2 * COUNT(NAMES); i++) {
        gsv_model *m = model_of(BOUNDED);
        gsv_series *s = learn_ou(m, 1, 40, 2);
        gsv_fit_options o = short_options(LEARN_BOTH[i % 2]);
        o.iterations = 60;
        o.fixed = 1;
        o.fix = &NAMES[i / 2];
        const gsv_record *r = fit_must(m, s, &o);
        assert_int_equal(r->free, 3);
        assert_int_equal(moved(m, BOUNDED), 15 - (1 << i / 2));
        assert_true(isnan(r->error_of[i / 2]));
        assert_true(isnan(r->low[i / 2]) && isnan(r->high[i / 2]));
        free_both(m, s);
    }
}

#define MATRIX                                                                 \
    "state x[2]\n param A[2,2] = [-1,0.3, 0.2,-1], v[2] = [0.3, 0.7]\n"        \
    "param L[2,2] = [0.9,0, 0.3,0.7] lower\n"                                  \
    "dx = (A @ x + v)*dt + L @ dW"

static void fix__takes_elements_and_whole_parameters(void **state)
{
    (void)state;
    /* A, then v, then L without its zero: bits of what moves. */
    static const struct {
        const char *fix[3];
        size_t fixed, moves, free;
    } CASES[] = {{{"A[1,2]"}, 1, 0x3ff - 0x80 - 0x2, 8},
                 {{"A[2,1]", "v[2]"}, 2, 0x3ff - 0x80 - 0x24, 7},
                 {{"A"}, 1, 0x3ff - 0x80 - 0xf, 5},
                 {{"v", "L"}, 2, 0xf, 4},
                 {{"L[2,1]"}, 1, 0x3ff - 0x80 - 0x100, 8},
                 {{"L[2,2]"}, 1, 0x3ff - 0x80 - 0x200, 8},
                 {{"v", "v[1]"}, 2, 0x3ff - 0x80 - 0x30, 7},
                 {{"A", "v", "L"}, 3, 0, 0}};
    for (size_t i = 0; i < 2 * COUNT(CASES); i++) {
        gsv_model *m = model_of(MATRIX);
        gsv_series *s = walk_of(m, 1, 30, 0.2, 3);
        gsv_fit_options o = short_options(LEARN_BOTH[i % 2]);
        o.iterations = 3;
        o.fixed = CASES[i / 2].fixed;
        o.fix = CASES[i / 2].fix;
        o.errors = GSV_ERRORS_NONE;
        const gsv_record *r = fit_must(m, s, &o);
        assert_int_equal(r->free, CASES[i / 2].free);
        if (moved(m, MATRIX) != CASES[i / 2].moves)
            fail_msg("case %zu: %zx moved instead of %zx", i, moved(m, MATRIX),
                     CASES[i / 2].moves);
        assert_near(r->aic, 2.0 * (double)r->free - 2.0 * r->loglik, 1e-10);
        free_both(m, s);
    }
}

static void fix__takes_whole_networks(void **state)
{
    (void)state;
    static const char TEXT[] =
        "state x[2]\n net f(x) -> 2 : 4 tanh\n net g(x) -> 2 : 4 tanh\n"
        "param s = 1 > 0\n dx = (f + g)*dt + s*dW";
    static const char *const FIX[] = {"f"};
    gsv_model *m = model_of(TEXT), *fresh = model_of(TEXT);
    gsv_series *s = walk_of(m, 1, 30, 0.2, 3);
    gsv_fit_options o = short_options(GSV_OPTIMIZER_ADAM);
    o.fixed = 1;
    o.fix = FIX;
    const gsv_record *r = fit_must(m, s, &o);
    size_t weights = 0;
    for (size_t i = 0; i < gsv_model_params(m); i++) {
        gsv_param p = gsv_model_param(m, i);
        if (p.scale) continue;
        bool same = same_bits(p.rows * p.columns, gsv_model_value(m) + p.offset,
                              gsv_model_value(fresh) + p.offset);
        assert_int_equal(same, p.name[0] == 'f');
        if (p.name[0] != 'f') weights += p.rows * p.columns;
    }
    assert_int_equal(r->free, weights);
    gsv_model_free(fresh);
    free_both(m, s);
}

static void fix__says_which_name_is_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *fix, *words;
    } CASES[] = {{"B", "no parameter 'B'; the model has: A, v, L"},
                 {"A[3,1]", "'A[3,1]' is not an element of 'A'"},
                 {"A[1]", "'A[1]' is not an element of 'A'"},
                 {"v[0]", "'v[0]' is not an element of 'v'"},
                 {"L[1,2]", "L[1,2]"},
                 {"", "no parameter ''"}};
    gsv_model *m = model_of(MATRIX);
    gsv_series *s = walk_of(m, 1, 30, 0.2, 3);
    for (size_t i = 0; i < COUNT(CASES); i++) {
        gsv_fit_options o = fit_options();
        o.fixed = 1;
        o.fix = &CASES[i].fix;
        expect_error(gsv_fit(m, s, &o), GSV_BAD_INPUT, CASES[i].words);
        o.fixed = 0;
        o.kept = 1;
        o.keep = &CASES[i].fix;
        expect_error(gsv_fit(m, s, &o), GSV_BAD_INPUT, CASES[i].words);
        assert_int_equal(moved(m, MATRIX), 0);
        assert_null(gsv_model_record(m));
    }
    free_both(m, s);
}

/* A start that is kept is one that is not taken from the data. */
static void keep__begins_where_it_is(void **state)
{
    (void)state;
    static const char *const KEEP[] = {"s"};
    double after[2];
    for (int i = 0; i < 2; i++) {
        gsv_model *m = model_of(LEARN_OU);
        gsv_series *s = learn_ou(m, 1, 60, 2);
        gsv_fit_options o = short_options(GSV_OPTIMIZER_ADAM);
        o.kept = (size_t)i;
        o.keep = KEEP;
        o.iterations = 1;
        o.rate = 1e-6;
        fit_must(m, s, &o);
        after[i] = value_of(m, "s");
        free_both(m, s);
    }
    /* At most half of s, by the rate in units of the usual one and ten times as
     * fast where it falls. The data have 0.7. */
    assert_near(after[1], 1.0, 0.5 * 10.0 * 1e-6 / 5e-3);
    assert_near(after[0], 0.7, 0.2);
}

/* --- Bounds --------------------------------------------------------------- */

static void bounds__are_not_crossed(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        gsv_model *m = model_of(BOUNDED);
        gsv_series *s = learn_ou(m, 1, 60, 2);
        gsv_fit_options o = short_options(LEARN_BOTH[i]);
        o.rate = 0.3;
        fit_must(m, s, &o);
        for (size_t q = 0; q < gsv_model_params(m); q++) {
            gsv_param p = gsv_model_param(m, q);
            double v = gsv_model_value(m)[q];
            assert_true(v > p.low && v < p.high);
        }
        free_both(m, s);
    }
}

/* The data turn back to their mean: k would rather be negative. */
#define UPHILL "state x\n param k = 0.5 > 0, s = 1 > 0\n dx = k*x*dt + s*dW"
#define CAPPED                                                                 \
    "state x\n param k = 0.5 in (0, 0.7), mu = 0, s = 1 > 0\n"                 \
    "dx = k*(mu - x)*dt + s*dW"

static void bounds__that_are_reached_are_said(void **state)
{
    (void)state;
    static const char *const TEXTS[] = {UPHILL, CAPPED};
    static const double BOUND[] = {0.0, 0.7};
    for (size_t i = 0; i < COUNT(TEXTS); i++) {
        gsv_model *m = model_of(TEXTS[i]);
        gsv_series *s = learn_ou(m, 1, 400, 2);
        gsv_fit_options o = fit_options();
        const gsv_record *r = fit_must(m, s, &o);
        size_t last = gsv_model_values(m) - 1;
        assert_near(value_of(m, "k"), BOUND[i], 1e-3);
        if (!strstr(r->warning, "k is at its bound"))
            fail_msg("k is %.12g with interval %g to %g: %s", value_of(m, "k"),
                     r->low[0], r->high[0], r->warning);
        assert_true(isnan(r->error_of[0]));
        assert_true(r->error_of[last] > 0.0);
        /* What it says can be written and read. */
        assert_int_equal(gsv_model_write(m, "a.fit"), 0);
        gsv_model *again = gsv_model_read("a.fit");
        assert_non_null(again);
        gsv_model_free(again);
        free_both(m, s);
    }
}

/* With nothing else to learn, the information has no numbers at all. */
static void bounds__may_be_all_there_is(void **state)
{
    (void)state;
    const char *const fix[] = {"s"};
    gsv_model *m = model_of(UPHILL);
    gsv_series *s = learn_ou(m, 1, 400, 2);
    const double start = 1e-9, sigma = 0.7;
    gsv_fit_options o = fit_options();
    o.fixed = 1;
    o.fix = fix;
    assert_int_equal(gsv_model_set(m, "s", 1, &sigma), 0);
    fit_must(m, s, &o);
    assert_near(value_of(m, "k"), 0.0, 1e-3);
    assert_int_equal(gsv_model_set(m, "k", 1, &start), 0);
    const gsv_record *r = fit_must(m, s, &o);
    assert_non_null(strstr(r->warning, "k is at its bound"));
    free_both(m, s);
}

/* --- What the data cannot tell -------------------------------------------- */

/* Those with these names, one letter each, have no errors, and nothing else is
 * without. */
static void expect_lost(const gsv_model *m, const char *lost,
                        const char *const *words)
{
    const gsv_record *r = gsv_model_record(m);
    for (size_t i = 0; i < gsv_model_params(m); i++) {
        gsv_param p = gsv_model_param(m, i);
        bool gone = strchr(lost, *p.name) != NULL;
        /* At a bound there is an interval, but no standard error. */
        char at_bound[40];
        snprintf(at_bound, sizeof at_bound, "%s is at its bound", p.name);
        bool none = gone && !strstr(r->warning, at_bound);
        if (isnan(r->error_of[p.offset]) != gone ||
            isnan(r->low[p.offset]) != none || isnan(r->high[p.offset]) != none)
            fail_msg("%s has the error %g: %s", p.name, r->error_of[p.offset],
                     r->warning);
        assert_int_equal(isnan(gsv_record_correlation(r, p.offset, p.offset)),
                         gone);
    }
    for (; *words; words++)
        if (!strstr(r->warning, *words))
            fail_msg("no '%s' in '%s'", *words, r->warning);
}

/* A model, the names without errors, and the one of them that stays fixed in a
 * fit whose errors of the others are the same. */
struct flat_case {
    const char *text, *lost, *words, *fix;
};

static const struct flat_case FLAT[] = {
    {"state x\n param a = 1, b = 0.2, s = 1 > 0\n dx = -(a + b)*x*dt + s*dW",
     "ab", "do not tell apart a, b:", "b"},
    {"state x\n param a = 1, b = 1.5, m = 0, s = 1 > 0\n"
     "dx = a*b*(m - x)*dt + s*dW",
     "ab", "do not tell apart a, b:", "b"},
    {"state x\n param a = 1, r = 1 > 0, s = 1 > 0\n dx = -a*x*dt + r*s*dW",
     "rs", "do not tell apart r, s:", "r"},
    {"state x\n param a = 1, b = 0.2, c = 0.1, m = 0, s = 1 > 0\n"
     "dx = (m - (a + b + c)*x)*dt + s*dW",
     "abc", "do not tell apart a, b, c:", "b"},
    {"state x\n param k = 1, u = 3, s = 1 > 0\n dx = -k*x*dt + s*dW", "u",
     "say nothing about u", "u"},
    {"state x\n param k = 1, u, w = 1 > 0, s = 1 > 0\n dx = -k*x*dt + s*dW",
     "uw", "say nothing about w", "u"},
    {"state x\n param a = 1, b = 1, u = 2, s = 1 > 0\n"
     "dx = -(a + b)*x*dt + s*dW",
     "abu", "do not tell apart a, b:", "b"},
};

static void compare_others(const struct flat_case *c, const gsv_model *m,
                           const gsv_model *held)
{
    const gsv_record *r = gsv_model_record(m), *q = gsv_model_record(held);
    for (size_t i = 0; i < r->values; i++) {
        if (isnan(r->error_of[i])) continue;
        if (!(fabs(r->error_of[i] / q->error_of[i] - 1.0) < 0.02))
            fail_msg("%s: errors %g and %g", c->text, r->error_of[i],
                     q->error_of[i]);
    }
}

static void flatness__takes_errors_from_its_own_numbers_alone(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT(FLAT); k++) {
        const struct flat_case *c = &FLAT[k];
        gsv_model *m = model_of(c->text), *held = model_of(c->text);
        gsv_series *s = learn_ou(m, 1, 100, 2);
        gsv_fit_options o = fit_options();
        const char *const words[] = {c->words, "--fix", NULL};
        fit_must(m, s, &o);
        expect_lost(m, c->lost, words);
        o.fixed = 1;
        o.fix = &c->fix;
        fit_must(held, s, &o);
        compare_others(c, m, held);
        gsv_model_free(held);
        free_both(m, s);
    }
}

/* Noise of the observations of which there is none: its logarithm has no end
 * downwards, and no interval either. */
static void bounds__that_are_far_are_found_by_the_likelihood(void **state)
{
    (void)state;
    static const char *const WORDS[] = {"e is at its bound 0", NULL};
    gsv_model *m = model_of("state x\n param k = 1 > 0, s = 0.5 > 0, "
                            "e = 0.1 > 0\n dx = -k*x*dt + s*dW\n"
                            "obs y ~ normal(x, e)\n init x ~ normal(0, 1)");
    gsv_model *data = model_of(LEARN_OU);
    gsv_series *s = learn_ou(data, 1, 150, 2);
    mem_free(s->name[0]);
    s->name[0] = mem_string("y");
    gsv_fit_options o = fit_options();
    const gsv_record *r = fit_must(m, s, &o);
    expect_lost(m, "e", WORDS);
    /* The lower ends of the others are where the profile has fallen by 1.92,
     * with the noise of the observations above 0. */
    const double end[] = {r->low[0], r->low[1]}, most = r->loglik;
    for (size_t i = 0; i < COUNT(end); i++) {
        static const char *const name[] = {"k", "s"};
        const double noise = 0.2;
        double loglik;
        assert_int_equal(gsv_model_set(m, "e", 1, &noise), 0);
        assert_int_equal(gsv_profile(m, s, &o, name[i], 1, &end[i], &loglik),
                         0);
        assert_near(most - loglik, 1.92, 0.15);
    }
    gsv_model_free(data);
    free_both(m, s);
}

/* u is 0 in all of the data. */
static void flatness__of_one_parameter_is_said(void **state)
{
    (void)state;
    gsv_model *m =
        model_of("state x\n input u\n param k = 1, c = 2, s = 1 > 0\n"
                 "dx = (c*u - k*x)*dt + s*dW");
    gsv_series *s = walk_of(m, 1, 60, 0.2, 3);
    const char *const words[] = {"the data say nothing about c", "--fix", NULL};
    memset(s->value + s->rows, 0, s->rows * sizeof *s->value);
    gsv_fit_options o = fit_options();
    fit_must(m, s, &o);
    expect_lost(m, "c", words);
    assert_true(value_of(m, "c") == 2.0);
    free_both(m, s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fix__keeps_the_bits_of_any_parameter),
        cmocka_unit_test(fix__takes_elements_and_whole_parameters),
        cmocka_unit_test(fix__takes_whole_networks),
        cmocka_unit_test(fix__says_which_name_is_wrong),
        cmocka_unit_test(keep__begins_where_it_is),
        cmocka_unit_test(bounds__are_not_crossed),
        cmocka_unit_test(bounds__that_are_reached_are_said),
        cmocka_unit_test(bounds__may_be_all_there_is),
        cmocka_unit_test(bounds__that_are_far_are_found_by_the_likelihood),
        cmocka_unit_test(flatness__takes_errors_from_its_own_numbers_alone),
        cmocka_unit_test(flatness__of_one_parameter_is_said),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
