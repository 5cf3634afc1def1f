/* SPDX-License-Identifier: MIT */
/* Brownian bridges and tallies one by one: exact facts, naive loops, finite
 * differences, and the bridge's law within standard errors. */
#include "base/memory.h"
#include "bridge/reference.h"
#include "bridge/tally.h"
#include "exact.h"

/* --- Bridges -------------------------------------------------------------- */

/* All paths of a bridge with the same normals, walked in slices. */
struct paths {
    struct reference r;
    size_t K;
    const double *y0, *y1;
    double *z, *at, *Y, *dY, *scratch; /* Y and dY as if in one slice */
};

static void walk_slices(struct paths *p, size_t slice)
{
    size_t d = p->r.d, M = p->r.M, K = p->K;
    for (size_t i = 0; i < d; i++)
        for (size_t k = 0; k < K; k++)
            p->at[i * K + k] = p->y0[i];
    for (size_t m = 0; m < M; m += slice) {
        size_t steps = M - m < slice ? M - m : slice;
        bridge_walk(&p->r, p->y1, m, steps, K, p->z + m * d * K, p->at,
                    p->Y + m * K, p->dY + m * K, M * K, p->scratch);
    }
}

static struct paths paths_new(size_t d, size_t M, size_t K, double dt,
                              const double *y0, const double *y1, uint64_t seed)
{
    struct paths p = {.r = {.d = d}, .K = K, .y0 = y0, .y1 = y1};
    reference_build(&p.r, GSV_REFERENCE_BROWNIAN, M, dt);
    p.z = normals(M * d * K, seed);
    p.at = NEW(double, d *K);
    p.Y = NEW(double, d *M *K);
    p.dY = NEW(double, d *M *K);
    p.scratch = NEW(double, d *K);
    walk_slices(&p, M);
    return p;
}

static void paths_free(struct paths *p)
{
    mem_free(p->z);
    mem_free(p->at);
    mem_free(p->Y);
    mem_free(p->dY);
    mem_free(p->scratch);
}

static const double ENDS[2][3] = {{1.0 / 3.0, -7.1, 1e5}, {2.7, -7.1, 0.1}};
static const size_t SHAPES[][3] = {/* d, M, K */
                                   {1, 1, 1},   {1, 2, 5},   {3, 1, 9},
                                   {3, 7, 11},  {2, 16, 64}, {3, 33, 8},
                                   {1, 200, 3}, {3, 10, 17}};

static void bridge__hits_both_ends_exactly(void **state)
{
    (void)state;
    for (size_t n = 0; n < COUNT(SHAPES); n++) {
        size_t d = SHAPES[n][0], M = SHAPES[n][1], K = SHAPES[n][2];
        struct paths p = paths_new(d, M, K, 0.07, ENDS[0], ENDS[1], n + 1);
        for (size_t i = 0; i < d; i++)
            for (size_t k = 0; k < K; k++) {
                assert_true(p.Y[i * M * K + k] == ENDS[0][i]);
                assert_true(p.at[i * K + k] == ENDS[1][i]);
            }
        paths_free(&p);
    }
}

static void bridge__increments_lead_from_point_to_point(void **state)
{
    (void)state;
    for (size_t n = 0; n < COUNT(SHAPES); n++) {
        size_t d = SHAPES[n][0], M = SHAPES[n][1], K = SHAPES[n][2];
        struct paths p = paths_new(d, M, K, 0.07, ENDS[0], ENDS[1], n + 1);
        for (size_t i = 0; i < d; i++)
            for (size_t k = 0; k < K; k++) {
                double size = fabs(ENDS[0][i]) + fabs(ENDS[1][i]) + 10.0;
                double sum = 0.0;
                for (size_t m = 0; m < M; m++) {
                    size_t j = (i * M + m) * K + k;
                    double next = m + 1 < M ? p.Y[j + K] : ENDS[1][i];
                    assert_near(p.Y[j] + p.dY[j], next, 1e-15 * size);
                    sum += p.dY[j];
                }
                assert_near(sum, ENDS[1][i] - ENDS[0][i],
                            1e-15 * size * (double)M);
            }
        paths_free(&p);
    }
}

static void bridge__slices_give_the_same_bits(void **state)
{
    (void)state;
    for (size_t n = 0; n < COUNT(SHAPES); n++) {
        size_t d = SHAPES[n][0], M = SHAPES[n][1], K = SHAPES[n][2];
        size_t bytes = d * M * K * sizeof(double);
        struct paths p = paths_new(d, M, K, 0.07, ENDS[0], ENDS[1], n + 1);
        double *Y = mem_new(bytes, 1), *dY = mem_new(bytes, 1);
        memcpy(Y, p.Y, bytes);
        memcpy(dY, p.dY, bytes);
        for (size_t slice = 1; slice <= M; slice += 1 + slice / 3) {
            walk_slices(&p, slice);
            assert_memory_equal(Y, p.Y, bytes);
            assert_memory_equal(dY, p.dY, bytes);
        }
        mem_free(Y);
        mem_free(dY);
        paths_free(&p);
    }
}

static void bridge__does_not_read_the_last_steps_noise(void **state)
{
    (void)state;
    enum { M = 4, K = 6 };
    struct paths p = paths_new(1, M, K, 0.2, ENDS[0], ENDS[1], 1);
    for (size_t k = 0; k < K; k++)
        p.z[(M - 1) * K + k] = NAN;
    walk_slices(&p, M);
    for (size_t j = 0; j < M * K; j++)
        assert_true(isfinite(p.Y[j]) && isfinite(p.dY[j]));
    paths_free(&p);
}

/* With Y the deviation from the chord, of K samples: the mean is within its
 * standard error of 0; the mean of products, whose variance is Isserlis'
 * c_ss c_tt + c_st^2, of s (1 - t) h. */
static void bridge__has_the_mean_and_covariance_of_a_bridge(void **state)
{
    (void)state;
    enum { M = 6, K = 40000 };
    static const double h = 1.8;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct paths p = paths_new(2, M, K, h / M, ENDS[0], ENDS[1], seed);
        for (size_t i = 0; i < 2; i++)
            for (size_t a = 0; a < M; a++) {
                double s = (double)a / M, css = h * s * (1.0 - s);
                double chord = ENDS[0][i] + s * (ENDS[1][i] - ENDS[0][i]);
                double mean = 0.0;
                for (size_t k = 0; k < K; k++) {
                    p.Y[(i * M + a) * K + k] -= chord;
                    mean += p.Y[(i * M + a) * K + k] / K;
                }
                assert_near(mean, 0.0, TOLERANCE * sqrt(css / K) + 1e-12);
            }
        for (size_t row = 0; row < 2 * M; row++)
            for (size_t other = row; other < 2 * M; other++) {
                double s = (double)(row % M) / M, t = (double)(other % M) / M;
                double css = h * s * (1.0 - s), ctt = h * t * (1.0 - t);
                double cst = row / M == other / M ? h * s * (1.0 - t) : 0.0;
                double mean = 0.0;
                for (size_t k = 0; k < K; k++)
                    mean += p.Y[row * K + k] * p.Y[other * K + k] / K;
                assert_near(mean, cst,
                            TOLERANCE * sqrt((css * ctt + cst * cst) / K) +
                                1e-12);
            }
        paths_free(&p);
    }
}

/* The sum over a slice of Y_bar Y + dY_bar dY is linear in the ends: central
 * differences are exact but for rounding. */
static double pairing(struct paths *p, size_t first, size_t steps,
                      const double *Y_bar, const double *dY_bar)
{
    size_t M = p->r.M, K = p->K;
    double sum = 0.0;
    walk_slices(p, M);
    for (size_t i = 0; i < p->r.d; i++)
        for (size_t m = 0; m < steps; m++)
            for (size_t k = 0; k < K; k++) {
                size_t bar = (i * steps + m) * K + k;
                size_t at = (i * M + first + m) * K + k;
                sum += Y_bar[bar] * p->Y[at] + dY_bar[bar] * p->dY[at];
            }
    return sum;
}

static void bridge_vjp__agrees_with_finite_differences(void **state)
{
    (void)state;
    static const size_t slice[][2] = {{0, 9}, {0, 4}, {4, 3}, {6, 3}, {8, 1}};
    for (size_t n = 0; n < COUNT(slice); n++) {
        enum { D = 3, M = 9, K = 13 };
        size_t first = slice[n][0], steps = slice[n][1];
        double end[2 * D] = {0.4, -1.0, 2.0, 0.9, -3.0, 0.1};
        double bar[2 * D], lambda[(M + 1) * D] = {0.0}, scratch[2 * D];
        struct reference_bar none = {0}; /* brownian has no b */
        double *Y_bar = normals(D * steps * K, 5);
        double *dY_bar = normals(D * steps * K, 6);
        struct paths p = paths_new(D, M, K, 0.3, end, end + D, n + 1);
        for (size_t i = 0; i < 2 * D; i++)
            bar[i] = 10.0 + (double)i; /* it is added to */
        bridge_gather(D, first, steps, K, Y_bar, dY_bar, steps * K, lambda);
        bridge_vjp(&p.r, lambda, bar, bar + D, &none, scratch);
        for (size_t i = 0; i < 2 * D; i++) {
            end[i] += 0.5;
            double up = pairing(&p, first, steps, Y_bar, dY_bar);
            end[i] -= 1.0;
            double down = pairing(&p, first, steps, Y_bar, dY_bar);
            end[i] += 0.5;
            assert_near(bar[i] - 10.0 - (double)i, up - down, 1e-11);
        }
        mem_free(Y_bar);
        mem_free(dY_bar);
        paths_free(&p);
    }
}

/* --- Tallies -------------------------------------------------------------- */

/* Naive formulas for weights of moderate size, in long double. */
static void assert_tally(const struct tally *t, size_t n, const double *S,
                         double shift)
{
    long double sum = 0.0L, squares = 0.0L, K = (long double)n;
    for (size_t k = 0; k < n; k++) {
        long double w = expl((long double)S[k]);
        sum += w;
        squares += w * w;
    }
    long double mean = sum / K, variance = 0.0L;
    for (size_t k = 0; k < n; k++) {
        long double off = expl((long double)S[k]) - mean;
        variance += off * off / (K - 1.0L);
    }
    double expected = (double)(variance / (K * mean * mean));
    double rounding = 1e-15 * (1.0 + fabs(shift));
    assert_int_equal(t->count, n);
    assert_near(tally_log_sum(t), (double)logl(sum) + shift, 1e-13 + rounding);
    assert_near(tally_log_mean(t), (double)logl(mean) + shift,
                1e-13 + rounding);
    assert_near(tally_variance(t), expected, 1e-11 * (1.0 + expected));
    assert_near(tally_ess(t), (double)(sum * sum / squares), 1e-9 * (double)n);
}

static void tally__is_the_naive_log_mean(void **state)
{
    (void)state;
    static const double shift[] = {0.0, 1e4, -1e4, 700.0, -745.0};
    enum { N = 1001 };
    double *S = normals(N, 9), moved[N];
    for (size_t i = 0; i < COUNT(shift); i++)
        for (size_t part = 1; part <= N; part = part * 3 + 1) {
            struct tally t;
            tally_start(&t);
            for (size_t k = 0; k < N; k++)
                moved[k] = S[k] + shift[i];
            for (size_t k = 0; k < N; k += part)
                tally_add(&t, k + part < N ? part : N - k, moved + k);
            assert_tally(&t, N, S, shift[i]);
            assert_int_equal(t.broken, 0);
        }
    mem_free(S);
}

static void tally__merges_in_any_order(void **state)
{
    (void)state;
    enum { N = 700, PARTS = 7 };
    double *S = normals(N, 10), moved[N];
    for (size_t k = 0; k < N; k++)
        moved[k] = S[k] + 1e4;
    struct tally part[PARTS], up, down;
    tally_start(&up);
    tally_start(&down);
    for (size_t i = 0; i < PARTS; i++) {
        tally_start(&part[i]);
        tally_add(&part[i], N / PARTS, moved + i * (N / PARTS));
    }
    for (size_t i = 0; i < PARTS; i++) {
        tally_merge(&up, &part[i]);
        tally_merge(&down, &part[PARTS - 1 - i]);
    }
    assert_tally(&up, N, S, 1e4);
    assert_tally(&down, N, S, 1e4);
    mem_free(S);
}

static void tally__holds_weights_that_are_worlds_apart(void **state)
{
    (void)state;
    const double S[] = {-1e4, 1e4, -1e4, 1e4 - log(3.0)};
    struct tally t, other;
    tally_start(&t);
    tally_start(&other);
    tally_add(&t, 2, S);
    tally_add(&other, 2, S + 2);
    tally_merge(&t, &other);
    assert_near(tally_log_mean(&t), 1e4 + log(1.0 / 3.0), 1e-11);
    assert_near(tally_ess(&t), 1.6, 1e-11);
}

static void tally__takes_minus_infinity_for_a_zero(void **state)
{
    (void)state;
    const double S[] = {-INFINITY, 2.0, -INFINITY, 2.0};
    struct tally t, empty;
    tally_start(&t);
    tally_start(&empty);
    tally_add(&empty, 1, S);
    assert_int_equal(empty.broken, 0);
    assert_true(tally_log_mean(&empty) == -INFINITY);
    assert_true(tally_ess(&empty) == 0.0);
    tally_add(&t, 3, S + 1);
    tally_merge(&t, &empty);
    assert_int_equal(t.broken, 0);
    assert_int_equal(t.count, 4);
    assert_near(tally_log_mean(&t), 2.0 - log(2.0), 1e-15);
    assert_near(tally_variance(&t), 1.0 / 3.0, 1e-15);
    tally_start(&t);
    tally_add(&t, 1, S);
    tally_merge(&t, &empty);
    tally_add(&t, 1, S + 1);
    assert_near(tally_log_mean(&t), 2.0 - log(3.0), 1e-15);
}

static void tally__counts_what_is_broken(void **state)
{
    (void)state;
    const double S[] = {1.0, NAN, INFINITY, 1.0, -INFINITY, -NAN};
    struct tally t, sum;
    tally_start(&t);
    tally_add(&t, COUNT(S), S);
    assert_int_equal(t.broken, 3);
    assert_int_equal(t.count, COUNT(S));
    tally_start(&sum);
    tally_merge(&sum, &t);
    tally_merge(&sum, &t);
    assert_int_equal(sum.broken, 6);
    tally_start(&t);
    tally_add(&t, 2, S + 1);
    assert_int_equal(t.broken, 2);
}

static void tally__of_equal_weights_has_no_variance(void **state)
{
    (void)state;
    enum { N = 1000 };
    double S[N];
    struct tally t;
    for (size_t k = 0; k < N; k++)
        S[k] = -1234.5;
    tally_start(&t);
    tally_add(&t, N, S);
    assert_true(tally_variance(&t) == 0.0);
    assert_true(tally_log_mean(&t) == -1234.5);
    assert_near(tally_ess(&t), N, 1e-9);
    tally_start(&t);
    tally_add(&t, 1, S);
    assert_true(isnan(tally_variance(&t)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bridge__hits_both_ends_exactly),
        cmocka_unit_test(bridge__increments_lead_from_point_to_point),
        cmocka_unit_test(bridge__slices_give_the_same_bits),
        cmocka_unit_test(bridge__does_not_read_the_last_steps_noise),
        cmocka_unit_test(bridge__has_the_mean_and_covariance_of_a_bridge),
        cmocka_unit_test(bridge_vjp__agrees_with_finite_differences),
        cmocka_unit_test(tally__is_the_naive_log_mean),
        cmocka_unit_test(tally__merges_in_any_order),
        cmocka_unit_test(tally__holds_weights_that_are_worlds_apart),
        cmocka_unit_test(tally__takes_minus_infinity_for_a_zero),
        cmocka_unit_test(tally__counts_what_is_broken),
        cmocka_unit_test(tally__of_equal_weights_has_no_variance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
