/* SPDX-License-Identifier: MIT */
/* Modified bridges: the gradient against differences, however the work is cut;
 * the same bits on any number of threads; paths that leave the domain. */
#include "bridged.h"

/* What is promised. */
static const double CLOSE = 1e-6;

struct shape {
    size_t tracks, rows;
    double h;
    size_t paths, steps;
    bool joint;
};

enum { WAYS = 8 }; /* sobol and iid, plain, richardson, delta, both */

static gsv_options way_of(size_t n)
{
    gsv_options o = default_options();
    o.random = n % 2 ? GSV_RANDOM_IID : GSV_RANDOM_SOBOL;
    o.richardson = n / 2 % 2;
    o.delta = n / 4 % 2;
    return o;
}

static gsv_options shaped(gsv_options o, const struct shape *p)
{
    o.paths = p->paths;
    o.steps = p->steps;
    o.joint = p->joint;
    return o;
}

static void assert_gradient(gsv_model *m, const gsv_series *s,
                            const gsv_options *o)
{
    gsv_gradient_check check;
    if (gsv_check_gradient(m, s, o, &check)) fail_msg("%s", gsv_last_error());
    if (!(check.worst <= CLOSE))
        fail_msg("off by %g at number %zu of '%s ...', random %d, richardson "
                 "%d, delta %d, paths %zu, steps %zu, joint %d",
                 check.worst, check.where, gsv_model_param(m, 0).name,
                 (int)o->random, o->richardson, o->delta, o->paths, o->steps,
                 o->joint);
}

/* Positive data, within a factor of a few. */
static gsv_series *positive_of(const gsv_model *m, size_t tracks, size_t rows,
                               double h)
{
    gsv_series *s = walk_of(m, tracks, rows, h, 3);
    for (size_t i = 0; i < s->rows * s->columns; i++)
        s->value[i] = exp(0.3 * s->value[i]);
    return s;
}

#define PAIR                                                                   \
    "state x, v\n param mu = 0.1, k = 2, m = 0.8 > 0, s = 0.3 > 0, r = -0.6\n" \
    "dx = (mu - v/2)*dt + sqrt(v)*dW1\n"                                       \
    "dv = k*(m - v)*dt + s*sqrt(v)*(r*dW1 + sqrt(1 - r^2)*dW2)"

static const char *const MODELS[] = {
    GBM,
    "state x\n param k = 1, m = 1 > 0, s = 0.2 > 0\n"
    "dx = k*(m - x)*dt + s*sqrt(x)*dW",
    PAIR,
    /* A full matrix, three noises for two states, time and inputs. */
    "state x, y\n param a = 0.3, b = 0.5\n"
    "dx = -a*x*dt + (1 + b*y)*dW1 + a*x*dW2\n"
    "dy = (b - y)*dt + a*y*dW1 + (1 + b*x)*dW2",
    "state x, y\n param a = 0.3, b = 0.5\n"
    "dx = -a*x*dt + (1 + b*y)*dW1 + a*dW2\n"
    "dy = (b - y)*dt + a*y*dW1 + (1 + b*x)*dW2 + a*x*dW3",
    "state x\n input u\n input w hold\n param a = 0.6, b = 0.4, s = 0.5 > 0\n"
    "dx = (a*u - b*x + cos(2*t))*dt + (s + b*w + a*x*sin(t)^2)*dW",
    /* Three of them are factored point by point. */
    "state x, y, z\n param c = 0.3, a = 0.2\n"
    "dx = -x*dt + (1 + c*y)*dW1 + a*z*dW2\n"
    "dy = -y*dt + c*dW1 + (2 + sin(z))*dW2 + a*y*dW3\n"
    "dz = c*x*dt + a*x*dW1 + 1.5*dW3",
    /* Networks in drift and noise. */
    "state x, y\n net f(x, y) -> 2 : 3 silu\n net g(x, t) -> 1 : 3 tanh\n"
    "param s = 0.5 > 0\n"
    "dx = f[1]*dt + exp(g)*s*dW\n dy = (f[2] - y)*dt + s*(1 + x)*dW",
    /* Only the drift is learned: paths stand still. */
    "state x\n param a = 0.5\n dx = a*x*dt + (0.3*x)*dW",
};

static void gradient__agrees_in_every_way(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(MODELS); i++) {
        gsv_model *m = i == 4 ? model_of(MODELS[i]) : bridged_of(MODELS[i]);
        gsv_series *s = positive_of(m, 2, 3, 0.3);
        assert_true(m->bridged);
        for (size_t n = 0; n < 3 * WAYS; n++) {
            const struct shape shape = {2, 3, 0.3, 16, 3 + n % 4, n / WAYS > 1};
            gsv_options o = shaped(way_of(n % WAYS), &shape);
            assert_gradient(m, s, &o);
        }
        gsv_series_free(s);
        gsv_model_free(m);
    }
}

/* Small groups in one item, chunks, M = 1, blocks of paths, groups online; more
 * steps than modes. */
static void gradient__agrees_however_it_is_cut(void **state)
{
    (void)state;
    static const struct shape shape[] = {
        {1, 2, 0.3, 1, 1, false},    {2, 3, 0.3, 16, 1, true},
        {1, 3, 0.3, 1, 2, false},    {1, 3, 0.3, 2, 3, true},
        {20, 5, 0.2, 4, 3, false},   {20, 5, 0.2, 4, 4, true},
        {1, 2, 0.3, 512, 5, false},  {1, 3, 0.3, 128, 33, true},
        {1, 2, 0.3, 8, 300, false},  {1, 3, 0.3, 16, 301, true},
        {1, 2, 0.3, 4096, 8, false}, {1, 2, 0.3, 16, 1025, false},
        {1, 3, 0.3, 1024, 9, true},  {20, 4, 0.2, 256, 8, false},
        {12, 8, 0.2, 256, 9, true}};
    for (size_t i = 0; i < COUNT(shape); i++) {
        gsv_model *m = model_of(PAIR);
        gsv_series *s =
            positive_of(m, shape[i].tracks, shape[i].rows, shape[i].h);
        bool slow = shape[i].paths > 100 || shape[i].steps > 100;
        for (size_t n = slow ? i % 3 : 0; n < WAYS; n += slow ? 3 : 1) {
            gsv_options o = shaped(way_of(n), &shape[i]);
            assert_gradient(m, s, &o);
        }
        gsv_series_free(s);
        gsv_model_free(m);
    }
}

/* With a step some gaps have one step and others many, all in one block. */
static void gradient__agrees_where_the_steps_differ(void **state)
{
    (void)state;
    static const double time[] = {0.0, 0.05, 0.4, 0.45, 1.7, 1.95};
    static const double x[] = {0.8, 1.0, 0.7, 0.9, 1.6, 1.3};
    gsv_model *m = bridged_of(CIR);
    gsv_series *s = track_of(m, COUNT(time), time, x);
    for (size_t n = 0; n < 2 * WAYS; n++) {
        gsv_options o = way_of(n / 2);
        o.paths = 8;
        o.step = 0.1;
        o.joint = n % 2;
        assert_gradient(m, s, &o);
    }
    gsv_series_free(s);
    gsv_model_free(m);
}

/* z = p log x with a parameter: the ends move. */
static void gradient__goes_through_the_map_of_the_data(void **state)
{
    (void)state;
    gsv_model *m = logarithm_of("state z\n param p = 1.3 > 0, a = 0.4\n"
                                "dz = (a - p*z)*dt + (1 + a*z^2)*dW",
                                &(double){0.0});
    gsv_series *s = positive_of(m, 3, 4, 0.3);
    for (size_t n = 0; n < 2 * WAYS; n++) {
        const struct shape shape = {3, 4, 0.3, 16, 3 + n % 4, n / WAYS};
        gsv_options o = shaped(way_of(n % WAYS), &shape);
        assert_gradient(m, s, &o);
    }
    gsv_series_free(s);
    gsv_model_free(m);
}

static void gradient__does_not_change_the_value(void **state)
{
    (void)state;
    gsv_model *m = model_of(PAIR);
    gsv_series *s = positive_of(m, 2, 4, 0.3);
    for (size_t n = 0; n < 2 * WAYS; n++) {
        gsv_options o = way_of(n / 2);
        o.joint = n % 2;
        gsv_result plain = loglik_of(m, s, &o);
        o.gradient = true;
        gsv_result r = loglik_of(m, s, &o);
        assert_near(r.loglik, plain.loglik, 1e-11 * fabs(r.loglik));
        gsv_result_free(&r);
        gsv_result_free(&plain);
    }
    gsv_series_free(s);
    gsv_model_free(m);
}

/* --- Bits ----------------------------------------------------------------- */

static void bits__do_not_depend_on_the_threads(void **state)
{
    (void)state;
    static const struct shape shape[] = {
        {1, 2, 0.3, 64, 8, false},   {1, 2, 0.3, 1024, 7, false},
        {20, 6, 0.2, 16, 4, false},  {20, 6, 0.2, 16, 5, true},
        {1, 3, 0.3, 16, 140, false}, {12, 8, 0.2, 128, 8, true},
        {20, 5, 0.2, 1, 1, false}};
    for (size_t i = 0; i < COUNT(shape) * WAYS; i++) {
        const struct shape *p = &shape[i / WAYS];
        gsv_model *m = model_of(PAIR);
        gsv_series *s = positive_of(m, p->tracks, p->rows, p->h);
        gsv_options o = shaped(way_of(i % WAYS), p);
        o.gradient = true;
        gsv_result one = loglik_of(m, s, &o);
        for (o.threads = 2; o.threads <= 3; o.threads++) {
            gsv_result r = loglik_of(m, s, &o);
            assert_same_bits(&r, &one);
            gsv_result_free(&r);
        }
        gsv_result_free(&one);
        gsv_series_free(s);
        gsv_model_free(m);
    }
}

/* A gap by itself is what it is among others. */
static void groups__do_not_mind_their_neighbours(void **state)
{
    (void)state;
    gsv_model *m = model_of(PAIR);
    gsv_series *all = positive_of(m, 1, 9, 0.3);
    gsv_options o = default_options();
    gsv_result r = loglik_of(m, all, &o);
    double value[4] = {all->value[0], all->value[1], all->value[9],
                       all->value[10]};
    gsv_series *first = track_of(m, 2, all->time, value);
    gsv_result q = loglik_of(m, first, &o);
    assert_near(q.loglik, r.gap[0].loglik, 1e-12);
    gsv_result_free(&r);
    gsv_result_free(&q);
    gsv_series_free(first);
    gsv_series_free(all);
    gsv_model_free(m);
}

/* --- The domain ------------------------------------------------------------
 */

/* Near zero many paths of the square-root process leave it. */
#define NEAR_ZERO                                                              \
    "state x\n param k = 1, m = 0.3 > 0, s = 0.9 > 0\n"                        \
    "dx = k*(m - x)*dt + s*sqrt(x)*dW"
static const double TIME[] = {0.0, 0.5, 1.0, 1.5};
static const double LOW[] = {0.2, 0.05, 0.1, 0.4};

static void domain__paths_that_leave_it_have_no_weight(void **state)
{
    (void)state;
    gsv_model *m = bridged_of(NEAR_ZERO);
    gsv_series *s = track_of(m, COUNT(TIME), TIME, LOW);
    for (size_t n = 0; n < 2 * WAYS; n++) {
        gsv_options o = way_of(n / 2);
        o.joint = n % 2;
        o.paths = 256;
        o.gradient = true;
        gsv_result r = loglik_of(m, s, &o);
        assert_true(isfinite(r.loglik) && isfinite(r.error));
        for (size_t i = 0; i < r.values; i++)
            assert_true(isfinite(r.gradient[i]));
        gsv_result_free(&r);
        assert_gradient(m, s, &o);
    }
    gsv_series_free(s);
    gsv_model_free(m);
}

/* Without a drift, sigma is 1 up to 1 and undefined beyond: what is left is the
 * probability that Euler's chain stays below, one step of two:
 * p(y) = int_{x < 1} N(x; x0, dt) N(y; x, dt) dx, a normal law's tail. */
static void domain__what_is_left_is_the_law_of_paths_inside(void **state)
{
    (void)state;
    static const double x[2] = {0.5, 0.9}, time[2] = {0.0, 1.0};
    gsv_model *m =
        bridged_of("state x\n param s = 1 > 0\n"
                   "dx = (1 - x)*0*dt + s*sqrt(1 - x)/sqrt(1 - x)*dW");
    gsv_series *s = track_of(m, 2, time, x);
    gsv_options o = default_options();
    o.steps = 2;
    o.paths = 1 << 14;
    gsv_result r = loglik_of(m, s, &o);
    /* The middle has mean 0.7 and variance 1/4. */
    double inside = 0.5 * erfc(-(1.0 - 0.7) / 0.5 / sqrt(2.0));
    assert_near(r.loglik, exact_normal(x[1], x[0], 1.0) + log(inside), 2e-3);
    assert_near(r.ess_min / (double)r.paths, inside, 2e-3);
    gsv_result_free(&r);
    gsv_series_free(s);
    gsv_model_free(m);
}

static void domain__says_where_all_paths_leave_it(void **state)
{
    (void)state;
    static const double bad[] = {0.2, -0.1, 0.1, 0.4};
    gsv_model *m = bridged_of(NEAR_ZERO);
    gsv_series *s = track_of(m, COUNT(TIME), TIME, bad);
    for (size_t n = 0; n < 4 * WAYS; n++) {
        gsv_options o = way_of(n / 4);
        gsv_result r;
        o.joint = n % 2;
        o.gradient = n / 2 % 2;
        assert_int_equal(gsv_loglik(m, s, &o, &r), GSV_NUMERICAL);
        assert_non_null(strstr(gsv_last_error(), "leave the model's domain"));
        assert_non_null(strstr(gsv_last_error(), "all 64 paths"));
    }
    gsv_series_free(s);
    gsv_model_free(m);
}

/* --- Memory ----------------------------------------------------------------
 */

/* Wherever memory runs out there is a plain failure. */
static void memory__may_run_out_anywhere(void **state)
{
    (void)state;
    gsv_model *m = model_of(PAIR);
    gsv_series *s = positive_of(m, 2, 3, 0.3);
    gsv_options o = default_options();
    o.gradient = o.richardson = true;
    size_t n = 1;
    for (int status = GSV_NO_MEMORY; status; n++) {
        gsv_result r;
        mem_fail_at(n);
        status = gsv_loglik(m, s, &o, &r);
        mem_fail_at(0);
        if (status) assert_int_equal(status, GSV_NO_MEMORY);
        else gsv_result_free(&r);
    }
    assert_true(n > 20);
    gsv_series_free(s);
    gsv_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradient__agrees_in_every_way),
        cmocka_unit_test(gradient__agrees_however_it_is_cut),
        cmocka_unit_test(gradient__agrees_where_the_steps_differ),
        cmocka_unit_test(gradient__goes_through_the_map_of_the_data),
        cmocka_unit_test(gradient__does_not_change_the_value),
        cmocka_unit_test(bits__do_not_depend_on_the_threads),
        cmocka_unit_test(groups__do_not_mind_their_neighbours),
        cmocka_unit_test(domain__paths_that_leave_it_have_no_weight),
        cmocka_unit_test(domain__what_is_left_is_the_law_of_paths_inside),
        cmocka_unit_test(domain__says_where_all_paths_leave_it),
        cmocka_unit_test(memory__may_run_out_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
