/* SPDX-License-Identifier: MIT */
/* Observations that are not one-to-one, so that several states explain them:
 * the estimators against a grid, over shapes of the observation, drifts, laws
 * of the first state, noises, numbers of rows and gaps. */
#include <stdio.h>

#include "observe_exact.h"

enum { MOST_ROWS = 50 };

/* --- Models and data ------------------------------------------------------ */

static double square(double x)
{
    return x * x;
}

static double cube(double x)
{
    return x * x * x - x;
}

static double line(double x)
{
    return x;
}

static double steep_well(double x, const double *p)
{
    (void)p;
    return 2.0 * (x - x * x * x);
}

static const struct shape {
    const char *text;
    double (*of)(double x);
    bool mirrors; /* even: the mirror image of a path explains as much */
} SHAPES[] = {{"x^2", square, true},
              {"abs(x)", fabs, true},
              {"cos(x)", cos, true},
              {"x^3 - x", cube, false},
              {"x", line, false}};

static const struct drift {
    const char *text;
    double (*of)(double x, const double *p);
} PULL = {"-x", exact_pull}, WELL = {"x - x^3", exact_well},
  STEEP = {"2*(x - x^3)", steep_well};

struct size {
    size_t rows;
    double gap, noise;
    size_t missing; /* all rows but every so many have no value; 0: none */
};

static const struct size SIZES[] = {{5, 0.3, 0.1, 0},
                                    {30, 0.3, 0.1, 0},
                                    {30, 0.3, 0.5, 0},
                                    {30, 0.3, 0.05, 0},
                                    {30, 0.15, 0.1, 2}};

/* What is observed, and how; the first state is N(mean, deviation^2). */
struct trial_case {
    const struct shape *shape;
    const struct drift *drift;
    struct size size;
    double s, mean, deviation;
    double t[MOST_ROWS], y[MOST_ROWS];
};

static double log_density(size_t row, double x, const void *user)
{
    const struct trial_case *c = user;
    double v = c->size.noise * c->size.noise;
    return isnan(c->y[row]) ? 0.0 : exact_normal(c->y[row], c->shape->of(x), v);
}

/* Data, and their exact log p. */
static double make_data(struct trial_case *c, uint64_t seed)
{
    static const double pull[] = {1.0};
    double x[MOST_ROWS];
    size_t n = c->size.rows;
    struct exact_diffusion m = {.drift = c->drift->of,
                                .p = pull,
                                .s = c->s,
                                .m0 = c->mean,
                                .d0 = c->deviation,
                                .log_density = log_density,
                                .user = c};
    struct exact_range range = {-3.2, 3.2, c->size.noise < 0.1 ? 513 : 321};
    exact_times(n, c->size.gap, 0.0, c->t);
    exact_diffusion_data(&m, n, c->t, c->size.noise, seed, x, c->y);
    for (size_t k = 0; k < n; k++) {
        c->y[k] += c->shape->of(x[k]) - x[k];
        if (c->size.missing && k % c->size.missing) c->y[k] = NAN;
    }
    return exact_grid_filter(&m, &range, n, c->t, NULL, NULL);
}

static gsv_result estimate(const struct trial_case *c, enum gsv_observe observe)
{
    char text[400];
    const size_t start[2] = {0, c->size.rows};
    const char *const name[] = {"y"};
    snprintf(text, sizeof text,
             "state x\n dx = (%s)*dt + %g*dW\n obs y ~ normal(%s, %g)\n"
             "init x ~ normal(%g, %g)",
             c->drift->text, c->s, c->shape->text, c->size.noise, c->mean,
             c->deviation);
    gsv_model *model = model_of(text);
    gsv_series *s = gsv_series_new(1, start, 1, name, c->t, c->y);
    gsv_options o = default_options();
    o.observe = observe;
    gsv_result r = loglik_of(model, s, &o);
    gsv_series_free(s);
    gsv_model_free(model);
    return r;
}

/* --- The scan ------------------------------------------------------------- */

/* Whether a value is right by 0.1, or by what it says of its own errors. */
static bool is_right(const gsv_result *r, double exact)
{
    double steps = isfinite(r->discretisation) ? fabs(r->discretisation) : 0.0;
    return fabs(r->loglik - exact) < fmax(0.1, 3.0 * r->error) + steps;
}

/* Of a table of cases: each is right or flagged. */
struct count {
    size_t cases, right, flagged;
};

/* Whether it is flagged. */
static bool judge(const struct trial_case *c, double exact,
                  enum gsv_observe observe, struct count *n)
{
    gsv_result r = estimate(c, observe);
    bool good = is_right(&r, exact);
    if (!good || r.flagged)
        print_message("%s, %s, s %g, noise %g, first %g +- %g, %zu rows: %.3f "
                      "+- %.3f, exact %.3f, %zu flagged\n",
                      c->shape->text, c->drift->text, c->s, c->size.noise,
                      c->mean, c->deviation, c->size.rows, r.loglik, r.error,
                      exact, r.flagged);
    assert_true(good || r.flagged);
    n->cases++;
    n->right += good;
    bool flagged = r.flagged > 0;
    n->flagged += flagged;
    gsv_result_free(&r);
    return flagged;
}

static void say(const struct count *n)
{
    print_message("%zu of %zu right, %zu flagged\n", n->right, n->cases,
                  n->flagged);
}

static void scan__is_right_or_says_that_it_is_not(void **state)
{
    static const struct {
        double mean, deviation;
    } FIRST[] = {{0.0, 1.0}, {0.3, 1.0}, {1.0, 0.2}};
    static const struct drift *const DRIFTS[] = {&PULL, &WELL};
    struct count n = {0};
    (void)state;
    for (size_t i = 0; i < COUNT(SHAPES); i++)
        for (size_t k = 0; k < 2 * COUNT(FIRST) * COUNT(SIZES); k++) {
            size_t z = k % COUNT(SIZES), f = k / COUNT(SIZES) % COUNT(FIRST);
            struct trial_case c = {.shape = &SHAPES[i],
                                   .drift =
                                       DRIFTS[k >= COUNT(FIRST) * COUNT(SIZES)],
                                   .size = SIZES[z],
                                   .s = 0.5,
                                   .mean = FIRST[f].mean,
                                   .deviation = FIRST[f].deviation};
            double exact = make_data(&c, 7 + z);
            bool flagged = judge(&c, exact, GSV_OBSERVE_SCAN, &n);
            assert_true(SHAPES[i].of != line || !flagged);
        }
    say(&n);
    assert_true(n.right >= n.cases - n.cases / 20);
    assert_true(n.flagged <= n.cases / 4);
}

/* With a symmetric model every path and its mirror image are as likely: one of
 * them alone would give log 2 less. */
static void scan__finds_the_mirror_image(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(SHAPES); i++) {
        struct trial_case c = {.shape = &SHAPES[i],
                               .drift = &WELL,
                               .size = {20, 0.1, 0.05, 0},
                               .s = 0.2,
                               .mean = 0.0,
                               .deviation = 0.8};
        if (!SHAPES[i].mirrors) continue;
        double exact = make_data(&c, 3);
        gsv_result r = estimate(&c, GSV_OBSERVE_SCAN);
        print_message("%s: %.4f +- %.4f, exact %.4f\n", c.shape->text, r.loglik,
                      r.error, exact);
        assert_near(r.loglik, exact, 0.05);
        gsv_result_free(&r);
    }
}

/* As a case that was found: 1.78 where 2.23 was right. */
static void scan__is_right_where_the_mirror_is_a_bit_less_likely(void **state)
{
    struct trial_case c = {.shape = &SHAPES[0],
                           .drift = &STEEP,
                           .size = {50, 0.3, 0.1, 0},
                           .s = 0.3,
                           .mean = 0.3,
                           .deviation = 1.0};
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        double exact = make_data(&c, seed);
        gsv_result r = estimate(&c, GSV_OBSERVE_SCAN);
        print_message("%.4f +- %.4f, exact %.4f\n", r.loglik, r.error, exact);
        assert_near(r.loglik, exact, 0.1);
        gsv_result_free(&r);
    }
}

/* Two states that know nothing of each other: the sum of what each gives. The
 * second one is observed as it is, or as its square, too: four modes. */
static void scan__finds_the_modes_of_two_states(void **state)
{
    const char *const name[] = {"y", "w"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        char text[400];
        double value[2 * MOST_ROWS], exact = 0.0;
        struct trial_case c = {.drift = &PULL,
                               .size = {15, 0.1, 0.1, 0},
                               .s = 0.3,
                               .mean = 0.3,
                               .deviation = 1.0};
        size_t n = c.size.rows, start[2] = {0, n};
        for (size_t k = 0; k < 2; k++) {
            c.shape = k && i ? &SHAPES[4] : &SHAPES[0];
            exact += make_data(&c, 4 + k);
            memcpy(value + k * n, c.y, n * sizeof *value);
        }
        snprintf(text, sizeof text,
                 "state x, v\n dx = -x*dt + 0.3*dW\n dv = -v*dt + 0.3*dW\n"
                 "obs y ~ normal(x^2, 0.1)\n obs w ~ normal(%s, 0.1)\n"
                 "init x ~ normal(0.3, 1)\n init v ~ normal(0.3, 1)",
                 i ? "v" : "v^2");
        gsv_model *model = model_of(text);
        gsv_series *s = gsv_series_new(1, start, 2, name, c.t, value);
        gsv_options o = default_options();
        o.observe = GSV_OBSERVE_SCAN;
        gsv_result r = loglik_of(model, s, &o);
        print_message("%.4f +- %.4f, exact %.4f, %zu flagged\n", r.loglik,
                      r.error, exact, r.flagged);
        assert_near(r.loglik, exact, 0.1);
        gsv_result_free(&r);
        gsv_series_free(s);
        gsv_model_free(model);
    }
}

/* Where rows go far away from 0, all of them have one sign: each of both has
 * half of the first law, so that log p is that of y ~ normal(x, e). */
static void scan__finds_the_mirror_image_far_away(void **state)
{
    const char *const name[] = {"y"};
    const size_t rows = 20, start[2] = {0, rows};
    double t[20], y[20], *z = normals(rows, 3), value[2];
    (void)state;
    for (size_t k = 0; k < rows; k++) {
        t[k] = (double)k;
        y[k] = k ? 1.35 * y[k - 1] + 0.2 * fabs(z[k]) : 3.0;
    }
    for (size_t i = 0; i < 2; i++) {
        char text[200];
        snprintf(text, sizeof text,
                 "state x\ndx = 0.3*x*dt + 0.7*dW\ninit x ~ normal(0, 2)\n"
                 "obs y ~ normal(%s, 0.03)",
                 i ? "abs(x)" : "x");
        gsv_model *m = model_of(text);
        gsv_series *s = gsv_series_new(1, start, 1, name, t, y);
        gsv_options o = default_options();
        o.observe = i ? GSV_OBSERVE_SCAN : GSV_OBSERVE_KALMAN;
        gsv_result r = loglik_of(m, s, &o);
        value[i] = r.loglik;
        gsv_result_free(&r);
        gsv_series_free(s);
        gsv_model_free(m);
    }
    mem_free(z);
    assert_near(value[1], value[0] + log(2.0), 0.05);
}

/* --- The guided filter ---------------------------------------------------- */

/* Noise that takes the state past several modes in a few rows. */
static void guided__is_right_or_says_that_it_is_not(void **state)
{
    static const struct shape sine = {"sin(x)", sin, false};
    static const struct drift *const DRIFTS[] = {&PULL, &WELL};
    static const double S[] = {0.5, 1.0}, NOISE[] = {0.1, 0.3};
    struct count n = {0};
    (void)state;
    for (size_t i = 0; i < 32; i++) {
        struct trial_case c = {.shape = i & 3 ? &SHAPES[(i & 3) - 1] : &sine,
                               .drift = DRIFTS[i / 4 % 2],
                               .size = {8, 0.5, NOISE[i / 8 % 2], 0},
                               .s = S[i / 16],
                               .mean = 0.3,
                               .deviation = 0.7};
        double exact = make_data(&c, 11 + i);
        judge(&c, exact, GSV_OBSERVE_GUIDED, &n);
    }
    say(&n);
    assert_true(n.right >= n.cases - n.cases / 8);
}

/* --- The others ----------------------------------------------------------- */

static void others__flag_rows_with_several_modes(void **state)
{
    static const enum gsv_observe KINDS[] = {GSV_OBSERVE_CONJUGATE,
                                             GSV_OBSERVE_VARIATIONAL};
    (void)state;
    for (size_t i = 0; i < COUNT(SHAPES); i++) {
        struct trial_case c = {.shape = &SHAPES[i],
                               .drift = &PULL,
                               .size = {10, 0.1, 0.2, 0},
                               .s = 0.3,
                               .mean = 0.2,
                               .deviation = 1.0};
        if (!SHAPES[i].mirrors && SHAPES[i].of != line) continue;
        make_data(&c, 3);
        for (size_t k = 0; k < COUNT(KINDS); k++) {
            gsv_result r = estimate(&c, KINDS[k]);
            size_t modes = 0;
            for (size_t g = 0; g < r.groups; g++)
                modes += (r.gap[g].flags & GSV_FLAG_MODES) > 0;
            assert_int_equal(modes > 0, SHAPES[i].mirrors);
            assert_true(modes <= r.flagged);
            gsv_result_free(&r);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scan__is_right_or_says_that_it_is_not),
        cmocka_unit_test(scan__finds_the_mirror_image),
        cmocka_unit_test(scan__is_right_where_the_mirror_is_a_bit_less_likely),
        cmocka_unit_test(scan__finds_the_modes_of_two_states),
        cmocka_unit_test(scan__finds_the_mirror_image_far_away),
        cmocka_unit_test(guided__is_right_or_says_that_it_is_not),
        cmocka_unit_test(others__flag_rows_with_several_modes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
