/* SPDX-License-Identifier: MIT */
/* The Jacobians of single gaps against differences. */
#include "slopes.h"

/* g^-1 at z, and log |det g| from the covariance. */
static double invert_noise(const struct plain *p, size_t i, const double *z,
                           double *inverse)
{
    double g[DIM * DIM], C[DIM * DIM], input[2], sum = 0.0;
    double time = time_of(p, i, 0.5, input);
    size_t d = p->d;
    assert_int_equal(gsv_model_noises(p->m), d);
    assert_int_equal(gsv_model_diffusion(p->m, 1, &time, z, input, g), 0);
    learn_invert(d, g, inverse);
    memcpy(C, g, sizeof C);
    for (size_t k = 0; k < d; k++) { /* elimination */
        sum += log(fabs(C[k * (d + 1)]));
        for (size_t r = k + 1; r < d; r++)
            for (size_t c = d; c-- > k;)
                C[r * d + c] -= C[r * d + k] / C[k * (d + 1)] * C[k * d + c];
    }
    return sum;
}

/* sqrt(h) g^-1 f and sqrt(2/d) log |det g| at z, g^-1 being given. */
static void whitened(const struct plain *p, size_t i, const double *z,
                     const double *inverse, double *to)
{
    double f[DIM], own[DIM * DIM];
    double h = p->s->time[i + 1] - p->s->time[i];
    size_t d = p->d;
    drift(p, i, 0.5, z, f);
    for (size_t k = 0; k < d; k++) {
        to[k] = 0.0;
        for (size_t j = 0; j < d; j++)
            to[k] += sqrt(h) * inverse[k * d + j] * f[j];
    }
    to[d] = sqrt(2.0 / (double)d) * invert_noise(p, i, z, own);
}

/* The residual u = sqrt(h) g^-1 e, and what a noise makes of it. */
static void expect_residual(size_t which, size_t gap, const struct plain *p,
                            const struct held *at, const double *inverse,
                            const double *found)
{
    size_t d = p->d;
    double h = p->s->time[gap + 1] - p->s->time[gap], f[DIM], wanted[DIM + 1];
    drift(p, gap, 0.5, at->z, f);
    wanted[d] = -sqrt(0.5 * (double)d);
    for (size_t k = 0; k < d; k++) {
        wanted[k] = 0.0;
        for (size_t j = 0; j < d; j++)
            wanted[k] += sqrt(h) * inverse[k * d + j] *
                         (moved_by(p->s, j, gap) / h - at->D[j] - f[j]);
        wanted[d] += wanted[k] * wanted[k] / sqrt(2.0 * (double)d);
    }
    for (size_t k = 0; k <= d; k++)
        if (!(fabs(found[k] - wanted[k]) <= 1e-9 * (1.0 + fabs(wanted[k]))))
            fail_msg("model %zu, gap %zu, residual %zu: %g instead of %g",
                     which, gap, k, found[k], wanted[k]);
}

static void expect_rows(size_t which, size_t gap, struct slopes *a,
                        const struct plain *p, gsv_model *m)
{
    static const double STEP = 1e-5;
    size_t n = gsv_model_values(m), d = p->d;
    float *rows = NEW(float, (d + 1) * n);
    size_t *column = NEW(size_t, n);
    double inverse[DIM * DIM], up[DIM + 1], down[DIM + 1], residual[DIM + 1];
    for (size_t j = 0; j < n; j++)
        column[j] = n - 1 - j;
    slopes_rows(a, 0, gap, d + 1, n, column, rows, residual);
    struct held at = hold(p, gap, false);
    invert_noise(p, gap, at.z, inverse);
    expect_residual(which, gap, p, &at, inverse, residual);
    for (size_t j = 0; j < n; j++) {
        double kept = m->value[column[j]];
        m->value[column[j]] = kept + STEP;
        whitened(p, gap, at.z, inverse, up);
        m->value[column[j]] = kept - STEP;
        whitened(p, gap, at.z, inverse, down);
        m->value[column[j]] = kept;
        for (size_t k = 0; k <= d; k++) {
            double wanted = (up[k] - down[k]) / (2.0 * STEP);
            double found = (double)rows[k * n + j];
            if (!(fabs(found - wanted) <= 2e-6 * (1.0 + fabs(wanted))))
                fail_msg("model %zu, gap %zu, row %zu, value %zu: %g instead "
                         "of %g",
                         which, gap, k, column[j], found, wanted);
        }
    }
    MEM_FREE(rows, column);
}

static void rows__are_a_gaps_jacobian(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(MODELS); i++) {
        gsv_model *m = open_model(i);
        gsv_series *s = open_series(m, i, 0.2);
        struct plain p = plain_of(m, s);
        /* Differences take the root as it is written. */
        bool square = gsv_model_noises(m) == p.d && p.d <= LEARN_MOST;
        gsv_options o = slope_options(true, 1);
        const struct task task = {
            .model = m, .series = s, .options = &o, .most = 1};
        struct slopes a;
        struct score score;
        assert_int_equal(slopes_init(&a, &task), 0);
        assert_int_equal(slopes_run(&a, 1, (size_t[]){0}, NULL, &score), 0);
        for (size_t gap = 0; square && gap < GAPS; gap += 11)
            expect_rows(i, gap, &a, &p, m);
        slopes_free(&a);
        free_both(m, s);
    }
}

/* Also where the forecast leaves the domain: they are those of the first end.
 */
static void rows__are_finite_near_a_boundary(void **state)
{
    (void)state;
    gsv_model *m = model_of(SLOPES_NEAR_ZERO);
    gsv_series *s = slopes_near_zero(m);
    struct plain p = plain_of(m, s);
    gsv_options o = slope_options(true, 1);
    const struct task task = {
        .model = m, .series = s, .options = &o, .most = 1};
    struct slopes a;
    struct score score;
    size_t moved = 0;
    assert_int_equal(slopes_init(&a, &task), 0);
    assert_int_equal(slopes_run(&a, 1, (size_t[]){0}, NULL, &score), 0);
    for (size_t gap = 0; gap < GAPS; gap++) {
        moved += hold(&p, gap, false).z[0] == s->value[gap];
        expect_rows(0, gap, &a, &p, m);
    }
    assert_true(moved > 10);
    slopes_free(&a);
    free_both(m, s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows__are_a_gaps_jacobian),
        cmocka_unit_test(rows__are_finite_near_a_boundary),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
