/* SPDX-License-Identifier: MIT */
/* R-hat and effective sizes against what can be worked out by hand, and
 * against autoregressive chains, whose sizes are known. */
#include "base/chain_stats.h"

#include "exact.h"

/* x_t = rho x_(t-1) + sqrt(1 - rho^2) z_t: n draws are worth
 * n (1 - rho) / (1 + rho). */
static double *autoregressive(size_t chains, size_t n, double rho,
                              uint64_t seed)
{
    double *x = normals(chains * n, seed);
    for (size_t i = 0; i < chains * n; i++)
        if (i % n) x[i] = rho * x[i - 1] + sqrt(1.0 - rho * rho) * x[i];
    return x;
}

static void rhat__is_the_formula(void **state)
{
    (void)state;
    /* W = mean(1, 1) = 1, means 1 and 3: B/n = 2, V = 2/3 + 2. */
    const double x[] = {0, 1, 2, 2, 3, 4};
    assert_near(chain_rhat(2, 3, x), sqrt(8.0 / 3.0), 1e-14);
    /* Chains that agree are below 1: V = W (n - 1)/n. */
    const double y[] = {0, 1, 2, 2, 1, 0};
    assert_near(chain_rhat(2, 3, y), sqrt(2.0 / 3.0), 1e-14);
}

static void ess__is_the_formula(void **state)
{
    (void)state;
    /* One chain of -1, 0, 1, 0: autocovariances 2, 0, -1, 0 by 4; W = 2/3,
     * V = 1/2; rho = 1, -1/3, -11/6, ...: P_0 = 2/3, and P_1 < 0 ends it, so
     * tau = 1/3, which is not below 1 / log10(4) = 1.66. */
    const double x[] = {-1, 0, 1, 0};
    assert_near(chain_ess(1, 4, x), 4.0 * log10(4.0), 1e-12);
    /* -1, -1, 1, 1: 1, 1/4, -1/2, -1/4; W = 4/3, V = 1; rho_1 = -1/12. */
    const double y[] = {-1, -1, 1, 1};
    assert_near(chain_ess(1, 4, y),
                4.0 / fmax(2.0 * 11.0 / 12.0 - 1.0, 1.0 / log10(4.0)), 1e-12);
}

static void scores__are_normal_quantiles_of_ranks(void **state)
{
    (void)state;
    const double x[] = {5, -2, 5, 100};
    double score[4], room[4];
    chain_scores(4, x, score, room);
    /* ranks 2.5, 1, 2.5, 4 of 4: (r - 3/8) / 4.25 */
    assert_near(score[0], 0.0, 1e-9);
    assert_near(score[2], 0.0, 1e-9);
    assert_near(score[3], 1.0491314, 1e-6); /* Phi^-1(0.852941176) */
    assert_near(score[1], -score[3], 1e-12);
}

static void ess__is_that_of_autoregressive_chains(void **state)
{
    (void)state;
    const double rho[] = {0.0, 0.5, 0.9};
    for (size_t i = 0; i < COUNT(rho); i++) {
        enum { CHAINS = 4, N = 5000 };
        struct chain_stats s;
        double *x = autoregressive(CHAINS, N, rho[i], 7 + i);
        double known = CHAINS * N * (1.0 - rho[i]) / (1.0 + rho[i]);
        assert_int_equal(chain_stats(CHAINS, N, x, &s), 0);
        /* The sum over about 10 / (1 - rho) lags is known to some percent. */
        assert_near(s.ess_bulk / known, 1.0, 0.15);
        assert_near(s.mcse, s.sd / sqrt(known), 0.1 / sqrt(known));
        assert_true(s.rhat < 1.01 && s.ess_tail > 0.5 * known);
        double error = 1.0 / sqrt(known);
        assert_near(s.mean, 0.0, 4.0 * error);
        assert_near(s.sd, 1.0, 4.0 * error);
        assert_near(s.median, 0.0, 5.0 * error);
        assert_near(s.q5, -1.6449, 9.0 * error);
        assert_near(s.q95, 1.6449, 9.0 * error);
        assert_near(s.q98, 1.96, 12.0 * error);
        mem_free(x);
    }
}

static void rhat__sees_places_widths_and_trends(void **state)
{
    (void)state;
    enum { CHAINS = 4, N = 500 };
    for (int kind = 0; kind < 3; kind++) {
        struct chain_stats s;
        double *x = normals(CHAINS * N, 3);
        for (size_t i = 0; i < CHAINS * N; i++) {
            if (kind == 0 && i < N) x[i] += 1.0;
            if (kind == 1 && i < N) x[i] *= 3.0;
            if (kind == 2) x[i] += 2.0 * (double)(i % N) / N;
        }
        assert_int_equal(chain_stats(CHAINS, N, x, &s), 0);
        if (!(s.rhat > 1.02)) fail_msg("kind %d: R-hat %g", kind, s.rhat);
        mem_free(x);
    }
}

static void stats__do_not_need_moments(void **state)
{
    (void)state;
    enum { CHAINS = 4, N = 1000 };
    struct chain_stats s, t;
    double *x = normals(CHAINS * N, 5), *y = normals(CHAINS * N, 5);
    for (size_t i = 0; i < CHAINS * N; i++)
        y[i] = exp(40.0 * x[i]);
    assert_int_equal(chain_stats(CHAINS, N, x, &s), 0);
    assert_int_equal(chain_stats(CHAINS, N, y, &t), 0);
    assert_near(t.ess_bulk, s.ess_bulk, 1e-9);
    assert_near(t.ess_tail, s.ess_tail, 1e-9);
    mem_free(x);
    mem_free(y);
}

static void stats__of_too_little_are_nan(void **state)
{
    (void)state;
    const double same[] = {2, 2, 2, 2, 2, 2, 2, 2}, few[] = {1, 2, 3};
    struct chain_stats s;
    assert_int_equal(chain_stats(2, 4, same, &s), 0);
    assert_true(isnan(s.rhat) && isnan(s.ess_bulk) && isnan(s.ess_tail));
    assert_near(s.mean, 2.0, 0.0);
    assert_int_equal(chain_stats(1, 3, few, &s), 0);
    assert_true(isnan(s.rhat) && isnan(s.mcse));
    assert_near(s.sd, 1.0, 1e-15);
    mem_fail_at(1);
    assert_int_equal(chain_stats(1, 3, few, &s), GSV_NO_MEMORY);
    mem_fail_at(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rhat__is_the_formula),
        cmocka_unit_test(ess__is_the_formula),
        cmocka_unit_test(scores__are_normal_quantiles_of_ranks),
        cmocka_unit_test(ess__is_that_of_autoregressive_chains),
        cmocka_unit_test(rhat__sees_places_widths_and_trends),
        cmocka_unit_test(stats__do_not_need_moments),
        cmocka_unit_test(stats__of_too_little_are_nan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
