/* SPDX-License-Identifier: MIT */
/* The same bits on any number of threads, the same sums however the paths are
 * cut, the same memory for any number of them, and a clean end wherever memory
 * runs out. */
#include "base/memory.h"
#include "bridge/reference.h"
#include "exact.h"

static const size_t THREADS[] = {2, 3, 5, 8, 64, 1000};

struct shape {
    const char *text;
    size_t tracks, rows, paths, steps;
};

#define OU "state x\n param k = 1 > 0, s = 1 > 0\n dx = -k*x*dt + s*dW"
#define NET                                                                    \
    "state x[2]\n net f(x) -> 2 : 16 16 silu\n param s = 1 > 0\n"              \
    "dx = f*dt + s*dW"
#define CHANGING                                                               \
    "state x[2]\n input u\n param a = 1, w = 2\n"                              \
    "param L[2,2] = [1,0, .6,.8] lower\n"                                      \
    "dx = a*(sin(x) + u)*dt + ((2 + sin(w*t))*L) @ dW"

/* One gap, chunks of paths, slices of steps, more gaps than lanes. */
static const struct shape SHAPES[] = {
    {OU, 1, 2, 64, 16},      {OU, 1, 2, 1001, 7},     {OU, 2, 6, 77, 600},
    {OU, 20, 6, 30, 5},      {NET, 1, 2, 100, 9},     {NET, 3, 4, 50, 16},
    {NET, 13, 7, 16, 4},     {OU, 1, 3, 20, 2501},    {CHANGING, 1, 3, 40, 8},
    {CHANGING, 12, 8, 9, 5}, {INTEGRALS, 2, 4, 40, 9}};

static void bits__do_not_depend_on_the_threads(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * COUNT(SHAPES); i++) {
        const struct shape *p = &SHAPES[i / 2];
        gsv_model *m = model_of(p->text);
        gsv_series *s = walk_of(m, p->tracks, p->rows, 0.2, 3);
        gsv_options o = usual_options();
        o.paths = p->paths;
        o.steps = p->steps;
        o.gradient = true;
        o.joint = i % 2;
        o.threads = 1;
        gsv_result one = loglik_of(m, s, &o);
        for (size_t j = 0; j < COUNT(THREADS); j++) {
            o.threads = THREADS[j];
            gsv_result r = loglik_of(m, s, &o);
            assert_memory_equal(&r.loglik, &one.loglik, sizeof r.loglik);
            assert_memory_equal(&r.error, &one.error, sizeof r.error);
            assert_memory_equal(&r.discretisation, &one.discretisation,
                                sizeof r.discretisation);
            assert_memory_equal(r.gradient, one.gradient,
                                r.values * sizeof *r.gradient);
            for (size_t g = 0; g < r.groups; g++)
                assert_memory_equal(&r.gap[g].loglik, &one.gap[g].loglik,
                                    sizeof r.gap[g].loglik);
            gsv_result_free(&r);
        }
        gsv_result_free(&one);
        gsv_series_free(s);
        gsv_model_free(m);
    }
}

static void bits__are_the_same_a_second_time_and_differ_by_seed(void **state)
{
    (void)state;
    gsv_model *m = model_of(NET);
    gsv_series *s = walk_of(m, 2, 5, 0.2, 3);
    gsv_options o = usual_options();
    gsv_result a = loglik_of(m, s, &o), b = loglik_of(m, s, &o);
    o.seed = 2;
    gsv_result c = loglik_of(m, s, &o);
    assert_true(a.loglik == b.loglik);
    assert_true(a.loglik != c.loglik);
    assert_near(a.loglik, c.loglik,
                TOLERANCE * sqrt(a.error * a.error + c.error * c.error));
    gsv_result_free(&a);
    gsv_result_free(&b);
    gsv_result_free(&c);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* Gaps have their own random numbers: two equal gaps do not share them. */
static void bits__of_equal_gaps_differ(void **state)
{
    (void)state;
    gsv_model *m = model_of(OU);
    const double time[] = {0, 1, 2, 3}, x[] = {1, 1, 1, 1};
    gsv_series *s = track_of(m, 4, time, x);
    gsv_options o = usual_options();
    gsv_result r = loglik_of(m, s, &o);
    assert_true(r.gap[0].loglik != r.gap[1].loglik);
    assert_true(r.gap[1].loglik != r.gap[2].loglik);
    gsv_result_free(&r);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* --- The definition ------------------------------------------------------- */

/* dX = (sin(X) + t) dt + dW over one gap, path by path: the bridge in one
 * slice, weights with steps of dt and of 2 dt. */
static void naive(size_t M, size_t K, uint64_t seed, double *l, double *l2)
{
    const double h = 1.5, x[2] = {0.3, -0.4}, dt = h / (double)M;
    const struct random_key key = {.seed = seed, .purpose = RANDOM_BRIDGE};
    struct reference b = {.d = 1};
    double *z = NEW(double, M), *Y = NEW(double, M), *dY = NEW(double, M);
    double sum = 0.0, sum2 = 0.0, room;
    reference_build(&b, GSV_REFERENCE_BROWNIAN, M, dt);
    for (size_t k = 0; k < K; k++) {
        double at = x[0], S = 0.0, S2 = 0.0;
        random_normals(&key, 0, M, k, 1, z);
        bridge_walk(&b, x + 1, 0, M, 1, z, &at, Y, dY, M, &room);
        for (size_t m = 0; m < M; m++) {
            double f = sin(Y[m]) + 0.2 + dt * (double)m;
            S += f * (dY[m] - 0.5 * f * dt);
            if (m % 2 == 0 && m + 1 < M) S2 += f * (dY[m] + dY[m + 1] - f * dt);
            else if (m % 2 == 0) S2 += f * (dY[m] - 0.5 * f * dt);
        }
        sum += exp(S);
        sum2 += exp(S2);
    }
    *l = exact_normal(x[1], x[0], h) + log(sum / (double)K);
    *l2 = exact_normal(x[1], x[0], h) + log(sum2 / (double)K);
    mem_free(z);
    mem_free(Y);
    mem_free(dY);
}

/* Blocks, chunks and slices change nothing but rounding. */
static void loglik__is_what_its_paths_say_however_it_is_cut(void **state)
{
    (void)state;
    static const size_t size[][2] = {{1, 1},     {2, 3},    {7, 100},
                                     {16, 1001}, {300, 90}, {1000, 40},
                                     {3001, 7},  {9000, 2}};
    gsv_model *m = model_of("state x\n param a = 1\n"
                            "dx = (sin(x) + a*t)*dt + dW");
    const double time[] = {0.2, 1.7}, x[] = {0.3, -0.4};
    gsv_series *s = track_of(m, 2, time, x);
    for (size_t i = 0; i < 2 * COUNT(size); i++) {
        gsv_options o = usual_options();
        double l, l2;
        o.steps = size[i / 2][0];
        o.paths = size[i / 2][1];
        o.seed = i;
        o.gradient = i % 2;
        naive(o.steps, o.paths, i, &l, &l2);
        gsv_result r = loglik_of(m, s, &o);
        assert_near(r.loglik, l, 1e-11);
        if (o.steps > 1) {
            double half, unused;
            naive((o.steps + 1) / 2, o.paths, i, &half, &unused);
            assert_near(r.discretisation, l - half, 1e-11);
        }
        gsv_result_free(&r);
    }
    gsv_series_free(s);
    gsv_model_free(m);
}

/* --- Memory --------------------------------------------------------------- */

static double memory_for(const struct shape *p, size_t paths, size_t steps,
                         bool gradient)
{
    gsv_model *m = model_of(p->text);
    gsv_series *s = walk_of(m, p->tracks, p->rows, 0.2, 3);
    gsv_options o = usual_options();
    o.paths = paths;
    o.steps = steps;
    o.gradient = gradient;
    o.threads = 2;
    gsv_result r = loglik_of(m, s, &o);
    double memory = (double)r.memory;
    gsv_result_free(&r);
    gsv_series_free(s);
    gsv_model_free(m);
    return memory;
}

/* With the steps it grows by a few numbers for each, the means of the paths'
 * gradients, and by no matrices: each of two threads has 1 MB for the ends of
 * many gaps and 1 MB for the modes of many steps. */
static void memory__does_not_grow_with_paths_or_steps(void **state)
{
    (void)state;
    static const struct shape shape[] = {{OU, 1, 5, 0, 0}, {NET, 2, 3, 0, 0}};
    for (size_t i = 0; i < 2 * COUNT(shape); i++) {
        const struct shape *p = &shape[i / 2];
        double usual = memory_for(p, 100, 10, i % 2);
        assert_true(usual > 1e4 && usual < 2e7);
        assert_near(memory_for(p, 10000, 10, i % 2), usual, 0.1 * usual);
        assert_near(memory_for(p, 100, 10000 / SLOWER, i % 2), usual,
                    0.1 * usual + 4.5e6);
    }
}

/* Every allocation fails once. */
static void memory__may_run_out_at_any_time(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * COUNT(SHAPES); i++) {
        const struct shape *p = &SHAPES[i / 2];
        gsv_model *m = model_of(p->text);
        gsv_series *s = walk_of(m, p->tracks, p->rows, 0.2, 3);
        gsv_options o = usual_options();
        o.paths = 20;
        o.steps = 2;
        o.gradient = true;
        o.joint = i % 2;
        o.threads = 1;
        int status = GSV_NO_MEMORY;
        size_t n = 1;
        for (; status == GSV_NO_MEMORY; n++) {
            gsv_result r;
            memset(&r, 0xff, sizeof r);
            mem_fail_at(n);
            status = gsv_loglik(m, s, &o, &r);
            mem_fail_at(0);
            if (status) {
                assert_int_equal(status, GSV_NO_MEMORY);
                assert_int_equal(gsv_last_status(), GSV_NO_MEMORY);
                assert_non_null(strstr(gsv_last_error(), "out of memory"));
                assert_null(r.gap);
                assert_null(r.gradient);
            }
            gsv_result_free(&r);
        }
        assert_int_equal(status, 0);
        assert_true(n > 10);
        gsv_series_free(s);
        gsv_model_free(m);
    }
}

static void memory__may_run_out_in_the_gradients_check(void **state)
{
    (void)state;
    gsv_model *m = model_of(OU);
    gsv_series *s = walk_of(m, 1, 3, 0.2, 3);
    gsv_gradient_check check;
    double kept[2];
    memcpy(kept, gsv_model_value(m), sizeof kept);
    gsv_options o = usual_options();
    o.paths = 4;
    o.steps = 2;
    o.threads = 1;
    int status = GSV_NO_MEMORY;
    for (size_t n = 1; status == GSV_NO_MEMORY; n++) {
        mem_fail_at(n);
        status = gsv_check_gradient(m, s, &o, &check);
        mem_fail_at(0);
        assert_memory_equal(kept, gsv_model_value(m), sizeof kept);
    }
    assert_int_equal(status, 0);
    gsv_series_free(s);
    gsv_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bits__do_not_depend_on_the_threads),
        cmocka_unit_test(bits__are_the_same_a_second_time_and_differ_by_seed),
        cmocka_unit_test(bits__of_equal_gaps_differ),
        cmocka_unit_test(loglik__is_what_its_paths_say_however_it_is_cut),
        cmocka_unit_test(memory__does_not_grow_with_paths_or_steps),
        cmocka_unit_test(memory__may_run_out_at_any_time),
        cmocka_unit_test(memory__may_run_out_in_the_gradients_check),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
