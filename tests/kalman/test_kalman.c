/* SPDX-License-Identifier: MIT */
/* The Kalman filter against the joint normal law of all data in quadruple
 * precision, over tables of shapes; its gradient against differences. */
#include "dense.h"

#include "kalman/kalman.h"

/* One shape: models of all these. */
struct shape {
    const char *name;
    enum dense_kind kind;
    enum dense_motion motion;
    double gap;
    double first; /* deviation of the first state */
    bool exact, missing;
    double tolerance; /* of log p, relative */
    bool gradient;
};

static const struct shape SHAPES[] = {
    {"usual", DENSE_STABLE, 0, 0.3, 1, false, false, 1e-11, true},
    {"missing cells", DENSE_STABLE, 0, 0.3, 1, false, true, 1e-11, true},
    {"tiny gaps", DENSE_STABLE, 0, 1e-6, 1, false, true, 1e-8, false},
    {"huge gaps", DENSE_STABLE, 0, 1e3, 1, false, true, 1e-10, true},
    {"unstable", DENSE_UNSTABLE, 0, 0.5, 1, false, true, 1e-11, true},
    {"far unstable", DENSE_UNSTABLE, 0, 2.0, 1, false, true, 1e-8, false},
    {"stiff", DENSE_STIFF, 0, 0.3, 1, false, true, 1e-10, true},
    {"stiff, huge gaps", DENSE_STIFF, 0, 1e3, 1, false, true, 1e-9, false},
    {"random walk", DENSE_ZERO, 0, 1.0, 1, false, true, 1e-11, true},
    {"wide first law", DENSE_STABLE, 0, 0.3, 10, false, true, 1e-10, true},
    {"diffuse first law", DENSE_STABLE, 0, 0.3, 1e6, false, true, 1e-8, false},
    {"exact states", DENSE_STABLE, 0, 0.3, 1, true, false, 1e-10, true},
    {"exact, missing", DENSE_STABLE, 0, 0.3, 1, true, true, 1e-8, true},
    {"exact, unstable", DENSE_UNSTABLE, 0, 1.0, 1, true, true, 1e-8, false},
    {"held input", DENSE_STABLE, DENSE_HELD, 0.3, 1, true, true, 1e-8, true},
    {"input", DENSE_STABLE, DENSE_LINE, 0.3, 1, false, true, 1e-10, true},
    {"input, long gaps", DENSE_STABLE, DENSE_LINE, 3, 1, false, true, 1e-8,
     true},
    {"time", DENSE_UNSTABLE, DENSE_TIME, 0.3, 1, false, true, 1e-10, true},
    {"any", DENSE_STABLE, DENSE_ANY, 0.3, 1, false, true, 1e-7, true},
};

enum { TRACKS = 2 };

struct bench {
    struct dense dense;
    struct dense_track track[TRACKS];
    gsv_model *m;
    gsv_series *s;
};

static void bench_init(struct bench *b, const struct shape *shape, size_t d,
                       size_t p)
{
    size_t exact = shape->exact && d > 1 ? 1 + (d > 3) : 0;
    b->dense =
        dense_make(d, p, exact, shape->kind, shape->motion, shape->first);
    for (size_t r = 0; r < TRACKS; r++)
        b->track[r] = dense_data(&b->dense, 7 + 2 * r, shape->gap,
                                 shape->missing, 10 * r + d);
    b->m = dense_model(&b->dense);
    b->s = dense_series(&b->dense, TRACKS, b->track);
}

static void bench_free(struct bench *b)
{
    gsv_series_free(b->s);
    gsv_model_free(b->m);
}

/* Every shape with 1 to 6 states and 1 or 3 observations; few where the
 * reference takes long. */
static void for_all(void (*claim)(struct bench *b, const struct shape *s))
{
    for (size_t i = 0; i < COUNT(SHAPES); i++)
        for (size_t d = 1; d <= (SHAPES[i].motion > DENSE_HELD ? 3 : DENSE_D);
             d++)
            for (size_t p = 1; p <= (d < 3 ? d : 3); p += 2) {
                struct bench b;
                bench_init(&b, &SHAPES[i], d, p);
                claim(&b, &SHAPES[i]);
                bench_free(&b);
            }
}

static double loglik(const struct bench *b, gsv_options o)
{
    gsv_result r;
    int status = gsv_loglik(b->m, b->s, &o, &r);
    if (status) print_error("%s\n", gsv_last_error());
    assert_int_equal(status, 0);
    assert_int_equal(r.observe, GSV_OBSERVE_KALMAN);
    assert_true(r.error == 0.0);
    double value = r.loglik;
    gsv_result_free(&r);
    return value;
}

static void claim_value(struct bench *b, const struct shape *s)
{
    double dense = 0.0;
    gsv_options o = gsv_options_default();
    if (s->motion == DENSE_ANY) o.steps = 32;
    for (size_t r = 0; r < TRACKS; r++)
        dense += dense_loglik(&b->dense, &b->track[r], NULL);
    double off = fabs(loglik(b, o) - dense) / fmax(1.0, fabs(dense));
    if (!(off <= s->tolerance))
        print_error("%s, %zu states, %zu observed: %g of %g\n", s->name,
                    b->dense.d, b->dense.p, off, dense);
    assert_true(off <= s->tolerance);
}

static void kalman__is_the_joint_normal_law(void **state)
{
    (void)state;
    for_all(claim_value);
}

static void claim_gradient(struct bench *b, const struct shape *s)
{
    gsv_gradient_check c;
    gsv_options o = gsv_options_default();
    if (!s->gradient || b->dense.d > 4) return;
    assert_int_equal(gsv_check_gradient(b->m, b->s, &o, &c), 0);
    if (!(c.worst < 1e-6))
        print_error("%s, %zu states, %zu observed: %g at %zu\n", s->name,
                    b->dense.d, b->dense.p, c.worst, c.where);
    assert_true(c.worst < 1e-6);
}

static void kalman__has_the_gradient_of_its_value(void **state)
{
    (void)state;
    for_all(claim_gradient);
}

/* Of the joint law by number e of A: differences of order 4. */
static double dense_slope(const struct bench *b, size_t e)
{
    double D[2];
    for (int n = 0; n < 2; n++) {
        double h = 1e-4 * (n + 1), sum[2] = {0};
        struct dense m = b->dense;
        for (int side = 0; side < 2; side++) {
            m.A[e] = b->dense.A[e] + (side ? -h : h);
            for (size_t r = 0; r < TRACKS; r++)
                sum[side] += dense_loglik(&m, &b->track[r], NULL);
        }
        D[n] = (sum[0] - sum[1]) / (2.0 * h);
    }
    return (4.0 * D[0] - D[1]) / 3.0;
}

/* Where the value's own rounding is too much for its differences. */
static void kalman__has_that_gradient_with_diffuse_laws(void **state)
{
    static const struct shape DIFFUSE[] = {
        {"1e6", DENSE_STABLE, 0, 0.3, 1e6, false, true, 0, true},
        {"1e6, exact", DENSE_STABLE, 0, 0.3, 1e6, true, true, 0, true}};
    (void)state;
    for (size_t i = 0; i < COUNT(DIFFUSE); i++) {
        struct bench b;
        gsv_result r;
        gsv_options o = gsv_options_default();
        o.gradient = true;
        bench_init(&b, &DIFFUSE[i], 3, 1);
        assert_int_equal(gsv_loglik(b.m, b.s, &o, &r), 0);
        for (size_t e = 0; e < 9; e++) {
            double slope = dense_slope(&b, e);
            double off = fabs(slope - r.gradient[2 * e]);
            assert_true(off < 1e-7 * fmax(1.0, fabs(slope)));
        }
        gsv_result_free(&r);
        bench_free(&b);
    }
}

static void claim_order(struct bench *b, const struct shape *s)
{
    double off[2], sum = 0.0;
    gsv_options o = gsv_options_default();
    if (s->motion != DENSE_ANY || b->dense.d > 3) return;
    for (size_t r = 0; r < TRACKS; r++)
        sum += dense_loglik(&b->dense, &b->track[r], NULL);
    for (size_t i = 0; i < 2; i++) {
        o.steps = (size_t)4 << i;
        off[i] = fabs(loglik(b, o) - sum);
    }
    assert_in_range((long)(100.0 * off[0] / off[1]), 1200, 2000);
}

static void kalman__is_of_order_4_where_coefficients_move(void **state)
{
    (void)state;
    for_all(claim_order);
}

static void claim_threads(struct bench *b, const struct shape *s)
{
    gsv_result r[2];
    size_t n = gsv_model_values(b->m);
    (void)s;
    for (size_t i = 0; i < 2; i++) {
        gsv_options o = gsv_options_default();
        o.gradient = true;
        o.threads = 1 + 2 * i;
        assert_int_equal(gsv_loglik(b->m, b->s, &o, &r[i]), 0);
    }
    assert_memory_equal(&r[0].loglik, &r[1].loglik, sizeof(double));
    assert_memory_equal(r[0].gradient, r[1].gradient, n * sizeof(double));
    gsv_result_free(&r[0]);
    gsv_result_free(&r[1]);
}

static void kalman__has_the_same_bits_on_any_number_of_threads(void **state)
{
    (void)state;
    for_all(claim_threads);
}

/* --- What is not linear --------------------------------------------------- */

static void kalman__refuses_what_is_not_linear(void **state)
{
#define HEAD "state x, v\nparam e = 0.3 > 0\n"
#define OBS "obs y ~ normal(x, e)\ninit v ~ normal(0, 1)\n"
#define V "dv = -v*dt + dW\n"
    static const struct {
        const char *text, *why;
    } CASES[] = {
        {HEAD "dx = (x - x^3)*dt + dW\n" V OBS, "the drift of dx"},
        {HEAD "dx = -x*dt + dW\ndv = -v*x*dt + dW\n" OBS, "the drift of dv"},
        {HEAD "dx = floor(x)*dt + dW\n" V OBS, "the drift of dx"},
        {HEAD "dx = (v + abs(v))*dt + dW\n" V OBS, "the drift of dx"},
        {HEAD "dx = -x*dt + sqrt(1 + x^2)*dW\n" V OBS, "the noise of dx"},
        {HEAD "dx = -x*dt + dW\n" V
              "obs y ~ normal(x*v, e)\ninit v ~ normal(0, 1)\n",
         "the mean of 'obs y'"},
        {HEAD "dx = -x*dt + dW\n" V
              "obs y ~ normal(x, e*exp(v))\ninit v ~ normal(0, 1)\n",
         "the deviation of 'obs y'"},
        {HEAD "dx = -x*dt + dW\n" V
              "obs y ~ student(x, e, 4)\ninit v ~ normal(0, 1)\n",
         "'obs y' has the law student"},
        {"state x\ndx = -x*dt + dW\n", "observed with noise"},
    };
    static const double time[] = {0, 1, 2}, value[] = {0, 0.1, 0.3};
    static const size_t start[] = {0, 3};
    (void)state;
    for (size_t i = 0; i < COUNT(CASES); i++) {
        const char *const name[] = {i + 1 < COUNT(CASES) ? "y" : "x"};
        gsv_model *m = gsv_model_parse(CASES[i].text, "case");
        gsv_series *s = gsv_series_new(1, start, 1, name, time, value);
        gsv_options o = gsv_options_default();
        gsv_result r;
        assert_non_null(m);
        struct task t = {.model = m, .series = s, .options = &o};
        assert_int_equal(METHOD_KALMAN.accept(&METHOD_KALMAN, &t),
                         GSV_BAD_INPUT);
        assert_non_null(strstr(gsv_last_error(), CASES[i].why));
        assert_int_equal(gsv_loglik(m, s, &o, &r), 0);
        assert_int_not_equal(r.observe, GSV_OBSERVE_KALMAN);
        gsv_result_free(&r);
        gsv_series_free(s);
        gsv_model_free(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kalman__is_the_joint_normal_law),
        cmocka_unit_test(kalman__has_the_gradient_of_its_value),
        cmocka_unit_test(kalman__has_that_gradient_with_diffuse_laws),
        cmocka_unit_test(kalman__is_of_order_4_where_coefficients_move),
        cmocka_unit_test(kalman__has_the_same_bits_on_any_number_of_threads),
        cmocka_unit_test(kalman__refuses_what_is_not_linear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
