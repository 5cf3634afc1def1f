/* SPDX-License-Identifier: MIT */
/* Guided steps of blocks of points against the algebra of one step; their draws
 * against the law that they should have. */
#include "gauss.h"
#include "guided/twist.h"

static const size_t BLOCKS[] = {1, 3, 63, 64};

enum { N = GAUSS_D, P_MOST = COURSE_BLOCK };

/* P points with steps of their own, to one psi. */
struct block {
    size_t P;
    struct shape s[P_MOST];
    double a[N * P_MOST], B[N * N * P_MOST];
    double L[N * N * P_MOST], w[N * P_MOST];
    double log_w[P_MOST];
};

static struct twist block_make(struct block *b, size_t D, size_t m, size_t P,
                               size_t exacts, uint64_t *seed)
{
    struct shape one = make_shape(seed, D, m, LACKS_NOTHING, exacts);
    b->P = P;
    for (size_t k = 0; k < P; k++) {
        b->s[k] = one;
        fill(seed, D, b->s[k].a);
        make_noise(seed, exacts ? LACKS_NOTHING : k % LACKS, &b->s[k]);
        for (size_t i = 0; i < D; i++)
            b->a[i * P + k] = b->s[k].a[i];
        for (size_t i = 0; i < D * m; i++)
            b->B[i * P + k] = b->s[k].B[i];
        b->log_w[k] = any(seed);
    }
    return (struct twist){
        .D = D, .m = m, .P = P, .a = b->a, .B = b->B, .L = b->L, .w = b->w};
}

static void for_blocks(void (*claim)(size_t D, size_t m, size_t P,
                                     uint64_t *seed))
{
    uint64_t seed = 9;
    for (size_t D = 1; D <= N; D++)
        for (size_t m = 1; m <= N; m++)
            for (size_t i = 0; i < COUNT(BLOCKS); i++)
                claim(D, m, BLOCKS[i], &seed);
}

/* --- Weights -------------------------------------------------------------- */

static void claim_guide(size_t D, size_t m, size_t P, uint64_t *seed)
{
    static struct block b;
    double before[P_MOST], e[N], Lambda[N * N], z[N * P_MOST], x[N * P_MOST];
    struct twist t = block_make(&b, D, m, P, 0, seed);
    struct psi next = psi_of(&b.s[0]);
    memcpy(before, b.log_w, sizeof before);
    twist_guide(&t, &next, b.log_w);
    memset(z, 0, sizeof z);
    twist_draw(&t, z, x);
    for (size_t k = 0; k < P; k++) {
        struct gauss_step step = step_of(&b.s[k]);
        double mean[N];
        expect("log E psi", b.log_w[k] - before[k],
               gauss_back(&step, &next, D, NULL, e, Lambda));
        gauss_mean(&step, &next, mean);
        for (size_t i = 0; i < D; i++)
            expect("the draw of z = 0", x[i * P + k], mean[i]);
    }
}

static void guide__is_that_of_every_point(void **state)
{
    (void)state;
    for_blocks(claim_guide);
}

static void claim_given(size_t D, size_t m, size_t P, uint64_t *seed)
{
    static struct block b;
    double before[P_MOST];
    struct twist t = block_make(&b, D, m, P, m < 2 ? m : 2, seed);
    memcpy(before, b.log_w, sizeof before);
    twist_given(&t, b.s[0].d, b.s[0].exact, b.log_w);
    for (size_t k = 0; k < P; k++) {
        struct gauss_step step = step_of(&b.s[k]);
        double gain;
        assert_true(gauss_given(&step, b.s[k].d, b.s[k].exact, &gain));
        expect("the log density", b.log_w[k] - before[k], gain);
        for (size_t i = 0; i < D; i++)
            expect("a", b.a[i * P + k], b.s[k].a[i]);
        for (size_t i = 0; i < D * m; i++)
            expect("B", b.B[i * P + k], b.s[k].B[i]);
    }
}

static void given__is_that_of_every_point(void **state)
{
    (void)state;
    for_blocks(claim_given);
}

static void claim_divide(size_t D, size_t m, size_t P, uint64_t *seed)
{
    struct shape s = make_shape(seed, D, m, LACKS_NOTHING, 0);
    struct psi psi = psi_of(&s);
    double x[N * P_MOST], log_w[P_MOST], before[P_MOST];
    fill(seed, D * P, x);
    fill(seed, P, log_w);
    memcpy(before, log_w, sizeof before);
    twist_divide(D, P, 1, &psi, x, log_w);
    for (size_t k = 0; k < P; k++) {
        double value = s.c;
        for (size_t i = 0; i < D; i++) {
            double v = x[i * P + k] - s.mu[i];
            value += s.e[i] * v;
            for (size_t j = 0; j < D; j++)
                value -=
                    0.5 * v * s.Lambda[i * D + j] * (x[j * P + k] - s.mu[j]);
        }
        expect("log psi", before[k] - log_w[k], value);
    }
}

static void divide__subtracts_log_psi(void **state)
{
    (void)state;
    for_blocks(claim_divide);
}

/* A point that is lost: others do not see it, and its draw is finite. */
static void guide__stands_still_where_it_is_not_finite(void **state)
{
    static struct block b, c;
    static const double BAD[] = {NAN, INFINITY, -INFINITY, 1e300};
    uint64_t seed = 4, again = 4;
    (void)state;
    for (size_t i = 0; i < COUNT(BAD); i++)
        for (size_t noise = 0; noise < 2; noise++) {
            enum { D = 3, M = 2, P = 5, LOST = 2 };
            double z[M * P] = {0}, y[M * P] = {0}, x[D * P], wanted[D * P];
            struct twist t = block_make(&b, D, M, P, 0, &seed);
            struct twist u = block_make(&c, D, M, P, 0, &again);
            struct psi next = psi_of(&b.s[0]);
            (noise ? b.B : b.a)[LOST] = BAD[i];
            twist_guide(&t, &next, b.log_w);
            twist_guide(&u, &next, c.log_w);
            twist_draw(&t, z, x);
            twist_draw(&u, y, wanted);
            assert_true(b.log_w[LOST] == -INFINITY);
            for (size_t e = 0; e < D * P; e++) {
                assert_true(isfinite(x[e]));
                if (e % P != LOST) assert_true(x[e] == wanted[e]);
            }
        }
}

/* --- Draws ---------------------------------------------------------------- */

enum { DRAWS = 250 };

/* Mean and covariance of draws, each within standard errors; 64 points that
 * have the same step. */
static void claim_draws(size_t D, size_t m, uint64_t *seed)
{
    static struct block b;
    enum { P = 64 };
    double sum[N] = {0}, square[N * N] = {0}, n = (double)DRAWS * P;
    struct twist t = block_make(&b, D, m, P, 0, seed);
    for (size_t k = 0; k < P; k++) {
        for (size_t i = 0; i < D; i++)
            b.a[i * P + k] = b.s[0].a[i];
        for (size_t i = 0; i < D * m; i++)
            b.B[i * P + k] = b.s[0].B[i];
    }
    struct psi next = psi_of(&b.s[0]);
    struct normal x = law_of(&b.s[0], NULL);
    normal_times(&x, next.mu, next.c, next.e, next.Lambda);
    twist_guide(&t, &next, b.log_w);
    for (size_t draw = 0; draw < DRAWS; draw++) {
        double *z = normals(m * P, 1000 * D + 100 * m + draw), y[N * P];
        twist_draw(&t, z, y);
        mem_free(z);
        for (size_t e = 0; e < D * D * P; e++) {
            size_t i = e / P / D, j = e / P % D, k = e % P;
            double left = y[i * P + k] - x.mean[i];
            if (!i) sum[j] += y[j * P + k] - x.mean[j];
            square[i * D + j] += left * (y[j * P + k] - x.mean[j]);
        }
    }
    for (size_t e = 0; e < D * D; e++) {
        size_t i = e / D, j = e % D;
        double vi = x.cov[i * (D + 1)], vj = x.cov[j * (D + 1)];
        double error = sqrt((vi * vj + x.cov[e] * x.cov[e]) / n);
        assert_true(fabs(square[e] / n - x.cov[e]) <= TOLERANCE * error);
        if (!i) assert_true(fabs(sum[j] / n) <= TOLERANCE * sqrt(vj / n));
    }
}

static void draw__has_the_law_of_the_step_times_psi(void **state)
{
    uint64_t seed = 2;
    (void)state;
    for (size_t D = 1; D <= 4; D++)
        for (size_t m = 1; m <= 4; m += m > 1 ? 2 : 1)
            claim_draws(D, m, &seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(guide__is_that_of_every_point),
        cmocka_unit_test(given__is_that_of_every_point),
        cmocka_unit_test(divide__subtracts_log_psi),
        cmocka_unit_test(guide__stands_still_where_it_is_not_finite),
        cmocka_unit_test(draw__has_the_law_of_the_step_times_psi),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
