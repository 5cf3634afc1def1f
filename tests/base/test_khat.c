/* SPDX-License-Identifier: MIT */
/* k-hat on samples whose tails are known, and where there is nothing to tell.
 */
#include "base/khat.h"
#include "base/memory.h"
#include "exact.h"

/* Log weights 1 + x with x generalised Pareto of shape k: what exceeds any
 * threshold has the same shape. */
static void pareto(size_t K, double k, uint64_t seed, double *S)
{
    const struct random_key key = {.seed = seed, .purpose = RANDOM_BRIDGE};
    random_uniforms(&key, 0, 1, 0, K, S);
    for (size_t i = 0; i < K; i++)
        S[i] = log1p(expm1(-k * log(S[i])) / k);
}

static double khat_of(size_t K, const double *S)
{
    double *room = NEW(double, khat_room(K));
    double k = khat(K, S, room);
    mem_free(room);
    return k;
}

/* The mean over seeds is within standard errors of the shape, drawn toward
 * 1/2 by the prior of 10 weights in n; the fit's own bias is of order 1/n. */
static void khat__finds_the_shape_of_a_pareto_tail(void **state)
{
    (void)state;
    enum { SEEDS = 60, K = 8192, TAIL = 272 };
    static const double shape[] = {0.2, 0.5, 0.8, 1.2};
    static double S[K];
    for (size_t i = 0; i < COUNT(shape); i++) {
        double mean = 0.0, squares = 0.0;
        double expected = (TAIL * shape[i] + 5.0) / (TAIL + 10.0);
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            pareto(K, shape[i], seed, S);
            double k = khat_of(K, S);
            mean += k / SEEDS;
            squares += k * k / SEEDS;
        }
        double sd = sqrt((squares - mean * mean) * SEEDS / (SEEDS - 1));
        /* The fit is efficient: (1 + k) / sqrt(n). */
        assert_near(sd, (1.0 + shape[i]) / sqrt(TAIL), 0.3 * sd);
        assert_near(mean, expected, TOLERANCE * sd / sqrt(SEEDS) + 2.0 / TAIL);
    }
}

static void khat__of_a_short_tail_is_negative_or_small(void **state)
{
    (void)state;
    enum { K = 4096 };
    static double S[K];
    for (size_t i = 0; i < K; i++) /* uniform weights: shape -1 */
        S[i] = log(1.0 + ((double)i + 0.5) / K);
    assert_near(khat_of(K, S), -0.92, 0.1);
}

static void khat__does_not_mind_order_or_scale(void **state)
{
    (void)state;
    enum { K = 1000 };
    double S[K], T[K];
    pareto(K, 0.6, 3, S);
    for (size_t i = 0; i < K; i++)
        T[i] = S[(i * 7 + 11) % K] + 1234.0;
    assert_near(khat_of(K, T), khat_of(K, S), 1e-9);
    for (size_t i = 0; i < K; i++)
        T[i] = S[i] - 5000.0;
    assert_near(khat_of(K, T), khat_of(K, S), 1e-9);
}

static void khat__of_equal_weights_is_zero(void **state)
{
    (void)state;
    double S[100];
    for (size_t i = 0; i < 100; i++)
        S[i] = -3.25;
    assert_true(khat_of(100, S) == 0.0);
    for (size_t i = 0; i < 100; i++)
        S[i] += 1e-13 * (double)i;
    assert_true(khat_of(100, S) == 0.0);
}

static void khat__of_few_weights_is_not_told(void **state)
{
    (void)state;
    double S[32];
    pareto(32, 0.5, 1, S);
    for (size_t K = 1; K <= 20; K++)
        assert_true(isnan(khat_of(K, S)));
    for (size_t K = 21; K <= 32; K++)
        assert_true(isfinite(khat_of(K, S)));
}

/* A path that cannot be has a weight of 0: there may be many. */
static void khat__takes_weights_of_zero(void **state)
{
    (void)state;
    enum { K = 400 };
    double S[K];
    pareto(K, 0.5, 2, S);
    double all = khat_of(K, S);
    for (size_t i = 0; i < K; i++)
        if (S[i] < 0.5) S[i] = -INFINITY; /* none of the tail */
    assert_near(khat_of(K, S), all, 1e-12);
    for (size_t i = 0; i < K; i++)
        S[i] = -INFINITY;
    assert_true(khat_of(K, S) == 0.0);
}

static void threshold__grows_with_the_paths(void **state)
{
    (void)state;
    assert_near(khat_threshold(10), 0.0, 1e-15);
    assert_near(khat_threshold(100), 0.5, 1e-15);
    assert_near(khat_threshold(1000), 2.0 / 3.0, 1e-15);
    assert_near(khat_threshold(100000), 0.7, 1e-15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(khat__finds_the_shape_of_a_pareto_tail),
        cmocka_unit_test(khat__of_a_short_tail_is_negative_or_small),
        cmocka_unit_test(khat__does_not_mind_order_or_scale),
        cmocka_unit_test(khat__of_equal_weights_is_zero),
        cmocka_unit_test(khat__of_few_weights_is_not_told),
        cmocka_unit_test(khat__takes_weights_of_zero),
        cmocka_unit_test(threshold__grows_with_the_paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
