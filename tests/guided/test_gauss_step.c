/* SPDX-License-Identifier: MIT */
/* The small Gaussian algebra of steps against dense formulas. */
#include "gauss.h"

/* --- One step ------------------------------------------------------------- */

static const double *exact_of(const struct shape *s)
{
    return s->exacts ? s->exact : NULL;
}

/* log E psi(x') from x_0 + v, given exact elements with their density. */
static double expected_psi(const struct shape *s, const double *v)
{
    struct normal x = law_of(s, v);
    double gain = s->exacts ? normal_given(&x, s->d, s->exact) : 0.0;
    return gain + normal_times(&x, s->mu, s->c, s->e, s->Lambda);
}

static void claim_back(struct shape *s, uint64_t *seed)
{
    struct gauss_step step = step_of(s);
    struct psi next = psi_of(s);
    size_t D = s->D;
    double e[GAUSS_D], Lambda[GAUSS_DD], v[GAUSS_D] = {0};
    struct shape before = *s;
    double c = gauss_back(&step, &next, s->d, exact_of(s), e, Lambda);
    assert_memory_equal(before.a, s->a, sizeof s->a);
    assert_memory_equal(before.B, s->B, sizeof s->B);
    for (size_t t = 0; t < 4; t++) {
        double value = c;
        for (size_t i = 0; i < D; i++) {
            value += e[i] * v[i];
            for (size_t j = 0; j < D; j++)
                value -= 0.5 * v[i] * Lambda[i * D + j] * v[j];
        }
        expect("log E psi", value, expected_psi(s, v));
        fill(seed, D, v);
    }
}

static void back__is_the_mean_of_psi_as_a_function(void **state)
{
    (void)state;
    for_shapes(claim_back);
}

static void claim_mean(struct shape *s, uint64_t *seed)
{
    struct gauss_step step = step_of(s);
    struct psi next = psi_of(s);
    size_t D = s->D, m = s->m;
    double mean[GAUSS_D], move[GAUSS_D];
    (void)seed;
    struct normal x = law_of(s, NULL);
    normal_times(&x, s->mu, s->c, s->e, s->Lambda);
    double square = gauss_mean(&step, &next, mean);
    for (size_t i = 0; i < D; i++)
        expect("the mean", mean[i], x.mean[i]);
    /* The least xi that goes there is B'(B B')^-1 (mean - a) where B B' has an
     * inverse: |xi|^2 is its square. */
    struct normal free = law_of(s, NULL);
    if (m < D) return;
    for (size_t i = 0; i < D; i++)
        move[i] = x.mean[i] - s->a[i];
    if (dense_solve(D, free.cov, 1, move) < -10.0) return;
    double least = 0.0;
    for (size_t i = 0; i < D; i++)
        least += move[i] * (x.mean[i] - s->a[i]);
    if (isfinite(least)) expect("|xi|^2", square, least);
}

static void mean__is_that_of_the_step_times_psi(void **state)
{
    (void)state;
    for_shapes(claim_mean);
}

static void claim_given(struct shape *s, uint64_t *seed)
{
    struct normal x = law_of(s, NULL);
    double wanted = normal_given(&x, s->d, s->exact), gain = NAN;
    struct gauss_step step = step_of(s);
    (void)seed;
    assert_true(gauss_given(&step, s->d, s->exact, &gain));
    expect("the log density", gain, wanted);
    struct normal after = law_of(s, NULL);
    for (size_t i = 0; i < s->D; i++)
        expect("a", s->a[i], x.mean[i]);
    for (size_t i = 0; i < s->D * s->D; i++)
        expect("B B'", after.cov[i], x.cov[i]);
    for (size_t i = 0; i < s->d; i++) {
        if (isnan(s->exact[i])) continue;
        assert_true(s->a[i] == s->exact[i]);
        for (size_t j = 0; j < s->m; j++)
            assert_true(s->B[i * s->m + j] == 0.0);
    }
}

static void given__is_the_step_given_exact_elements(void **state)
{
    (void)state;
    for_shapes(claim_given);
}

/* Elements without noise have no density, or too many of them. */
static void given__fails_where_exact_elements_have_no_density(void **state)
{
    uint64_t seed = 1;
    (void)state;
    for (size_t D = 1; D <= GAUSS_D; D++)
        for (size_t m = 1; m <= GAUSS_D; m++) {
            double gain, e[GAUSS_D], Lambda[GAUSS_DD];
            struct shape s = make_shape(&seed, D, m, LACKS_ALL, 2);
            struct gauss_step step = step_of(&s);
            struct psi next = psi_of(&s);
            assert_false(gauss_given(&step, s.d, s.exact, &gain));
            assert_true(
                isnan(gauss_back(&step, &next, s.d, s.exact, e, Lambda)));
        }
}

/* --- Laws ----------------------------------------------------------------- */

static struct normal any_law(size_t D, uint64_t *seed)
{
    struct shape s = make_shape(seed, D, D, LACKS_NOTHING, 0);
    return law_of(&s, NULL);
}

static void expect_law(const struct normal *x, const double *mean,
                       const double *cov)
{
    for (size_t i = 0; i < x->D; i++)
        expect("the mean", mean[i], x->mean[i]);
    for (size_t i = 0; i < x->D * x->D; i++)
        expect("the covariance", cov[i], x->cov[i]);
}

static void claim_predict(struct shape *s, uint64_t *seed)
{
    struct normal x = any_law(s->D, seed), next = law_of(s, NULL);
    struct gauss_step step = step_of(s);
    double off[GAUSS_D], T[GAUSS_DD], At[GAUSS_DD], mean[GAUSS_D];
    size_t D = s->D;
    fill(seed, D, off);
    for (size_t t = 0; t < 2; t++) {
        struct normal to = law_of(s, t ? off : NULL);
        double cov[GAUSS_DD];
        for (size_t i = 0; i < D * D; i++)
            At[i] = s->A[i % D * D + i / D];
        dense_times(D, D, D, s->A, x.cov, T);
        dense_times(D, D, D, T, At, to.cov);
        for (size_t i = 0; i < D * D; i++)
            to.cov[i] += next.cov[i];
        memcpy(cov, x.cov, sizeof cov);
        gauss_predict(&step, t ? off : NULL, mean, cov);
        expect_law(&to, mean, cov);
    }
}

static void predict__is_the_law_after_a_step(void **state)
{
    (void)state;
    for_shapes(claim_predict);
}

/* Of laws with and without an inverse, as those of steps are. */
static void claim_observe(struct shape *s, uint64_t *seed)
{
    struct normal x = law_of(s, NULL), y = x;
    double gain = NAN, pull[GAUSS_D], move[GAUSS_D];
    (void)seed;
    double wanted = normal_times(&x, s->mu, s->c, s->e, s->Lambda);
    assert_true(gauss_pull(s->D, s->mu, s->e, s->Lambda, y.mean, y.cov, pull,
                           s->small));
    dense_times(s->D, s->D, 1, y.cov, pull, move);
    for (size_t i = 0; i < s->D; i++)
        expect("mean + cov pull", y.mean[i] + move[i], x.mean[i]);
    assert_true(gauss_observe(s->D, s->mu, s->c, s->e, s->Lambda, y.mean, y.cov,
                              &gain, s->small));
    expect("the log of the integral", gain, wanted);
    expect_law(&x, y.mean, y.cov);
}

static void observe__is_the_law_times_a_function(void **state)
{
    (void)state;
    for_shapes(claim_observe);
}

static void claim_pin(struct shape *s, uint64_t *seed)
{
    struct normal x = law_of(s, NULL), y = x;
    double gain = NAN;
    (void)seed;
    double wanted = normal_given(&x, s->d, s->exact);
    assert_true(
        gauss_pin(s->D, s->d, s->exact, y.mean, y.cov, &gain, s->small));
    expect("the log density", gain, wanted);
    expect_law(&x, y.mean, y.cov);
}

static void pin__is_the_law_given_exact_elements(void **state)
{
    (void)state;
    for_shapes(claim_pin);
}

static void make_positive__leaves_out_negative_eigenvalues(void **state)
{
    uint64_t seed = 3;
    (void)state;
    for (size_t D = 1; D <= GAUSS_D; D++)
        for (size_t negative = 0; negative <= D; negative++) {
            /* H = sum of (+-) v v' with orthogonal v: reflections of e_k. */
            double v[GAUSS_D], H[GAUSS_DD] = {0}, kept[GAUSS_DD] = {0};
            double square = 0.0, small[GAUSS_SMALL];
            fill(&seed, D, v);
            for (size_t i = 0; i < D; i++)
                square += v[i] * v[i];
            for (size_t k = 0; k < D; k++)
                for (size_t e = 0; e < D * D; e++) {
                    size_t i = e / D, j = e % D;
                    double value = (1.0 + (double)k) * (k < negative ? -1 : 1);
                    double one = (i == k) - 2.0 * v[i] * v[k] / square;
                    double two = (j == k) - 2.0 * v[j] * v[k] / square;
                    H[e] += value * one * two;
                    kept[e] += fmax(value, 0.0) * one * two;
                }
            gauss_make_positive(D, H, small);
            for (size_t e = 0; e < D * D; e++)
                expect("H", H[e], kept[e]);
        }
}

/* --- Chains --------------------------------------------------------------- */

enum { NODES = 7 };

/* log p of all by backward steps: E psi over the first node's law. */
static double backward(size_t D, struct shape *step, struct shape *seen,
                       const struct normal *first)
{
    double c = 0.0, e[GAUSS_D] = {0}, Lambda[GAUSS_DD] = {0};
    for (size_t k = NODES; k-- > 0;) {
        if (k + 1 < NODES) {
            struct gauss_step s = step_of(&step[k]);
            double slope[GAUSS_D], square[GAUSS_DD];
            struct psi next = {c, seen[k + 1].mu, e, Lambda};
            c = gauss_back(&s, &next, step[k].d, exact_of(&step[k]), slope,
                           square);
            memcpy(e, slope, sizeof e);
            memcpy(Lambda, square, sizeof Lambda);
        }
        c += seen[k].c;
        for (size_t i = 0; i < D; i++)
            e[i] += seen[k].e[i];
        for (size_t i = 0; i < D * D; i++)
            Lambda[i] += seen[k].Lambda[i];
    }
    struct normal x = *first;
    return normal_times(&x, seen[0].mu, c, e, Lambda);
}

/* The same by the filter: steps begin at the node's mu. */
static double forward(size_t D, struct shape *step, struct shape *seen,
                      const struct normal *first)
{
    struct normal x = *first;
    double total = 0.0, gain, off[GAUSS_D];
    for (size_t k = 0; k < NODES; k++) {
        assert_true(gauss_observe(D, seen[k].mu, seen[k].c, seen[k].e,
                                  seen[k].Lambda, x.mean, x.cov, &gain,
                                  seen[k].small));
        total += gain;
        if (k + 1 == NODES) break;
        struct gauss_step s = step_of(&step[k]);
        for (size_t i = 0; i < D; i++)
            off[i] = x.mean[i] - seen[k].mu[i];
        gauss_predict(&s, off, x.mean, x.cov);
        if (!step[k].exacts) continue;
        assert_true(gauss_pin(D, step[k].d, step[k].exact, x.mean, x.cov, &gain,
                              step[k].small));
        total += gain;
    }
    return total;
}

static void chains__have_one_value_backward_and_forward(void **state)
{
    static struct shape step[NODES], seen[NODES];
    uint64_t seed = 5;
    (void)state;
    for (size_t D = 1; D <= GAUSS_D; D++)
        for (size_t m = 1; m <= GAUSS_D; m++) {
            struct normal first = any_law(D, &seed);
            for (size_t k = 0; k < NODES; k++) {
                size_t exacts = k % 2 ? (m < 2 ? m : 2) : 0;
                enum lack lack = k % 3 == 2 ? LACKS_RANK : LACKS_NOTHING;
                if (lack == LACKS_RANK && exacts > 1) exacts = 1;
                step[k] = make_shape(&seed, D, m, lack, exacts);
                seen[k] = make_shape(&seed, D, m, lack, 0);
            }
            double total = backward(D, step, seen, &first);
            expect("the total", forward(D, step, seen, &first), total);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(back__is_the_mean_of_psi_as_a_function),
        cmocka_unit_test(mean__is_that_of_the_step_times_psi),
        cmocka_unit_test(given__is_the_step_given_exact_elements),
        cmocka_unit_test(given__fails_where_exact_elements_have_no_density),
        cmocka_unit_test(predict__is_the_law_after_a_step),
        cmocka_unit_test(observe__is_the_law_times_a_function),
        cmocka_unit_test(pin__is_the_law_given_exact_elements),
        cmocka_unit_test(make_positive__leaves_out_negative_eigenvalues),
        cmocka_unit_test(chains__have_one_value_backward_and_forward),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
