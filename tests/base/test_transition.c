/* SPDX-License-Identifier: MIT */
/* Transitions of linear equations against quadruple precision: singular noise,
 * gaps of all sizes; and a filter of what has no noise of its own. */
#include "dense.h"

#include "base/transition.h"
#include "kalman/filter.h"

/* A chain of integrals of one noise: z_1' = z_2, ..., dz_d = -k z_d + dW. */
static struct dense chain(size_t d, double k)
{
    struct dense m = {.d = d};
    for (size_t i = 0; i + 1 < d; i++)
        m.A[i * d + i + 1] = 1.0;
    m.A[d * d - 1] = -k;
    m.G[d * d - 1] = 1.0;
    m.b[d - 1] = 0.5;
    return m;
}

struct numbers {
    double A[DENSE_DD], b[DENSE_D], slope[DENSE_D], q[DENSE_DD];
    double Phi[DENSE_DD], c[DENSE_D], Q[DENSE_DD];
    struct coefficients in;
    struct transition out;
    double *scratch;
};

static void numbers_init(struct numbers *n, const struct dense *m)
{
    size_t d = m->d;
    memset(n, 0, sizeof *n);
    n->in = (struct coefficients){n->A, n->b, n->slope, n->q};
    n->out = (struct transition){n->Phi, n->c, n->Q};
    n->scratch = NEW(double, transition_scratch(d));
    memcpy(n->A, m->A, sizeof n->A);
    memcpy(n->b, m->b, sizeof n->b);
    for (size_t e = 0; e < d * d; e++)
        for (size_t l = 0; l < d; l++)
            n->q[e] += m->G[e / d * d + l] * m->G[e % d * d + l];
}

static void dense_of(const struct numbers *n, size_t d, double h,
                     struct dense_gap *g)
{
    quad A[DENSE_DD], b[DENSE_D], q[DENSE_DD];
    for (size_t e = 0; e < d * d; e++) {
        A[e] = n->A[e];
        q[e] = n->q[e];
        if (e < d) b[e] = n->b[e];
    }
    dense_constant(d, A, b, q, (quad)h, g);
}

static double off(double a, quad b, double size)
{
    return fabs(a - (double)b) / fmax(size, 1e-300);
}

static void transition__keeps_the_digits_of_every_number(void **state)
{
    static const double GAP[] = {1e-6, 1e-3, 0.1, 1.0, 30.0, 1e3};
    static const double K[] = {0.0, 1.0, 1e4};
    (void)state;
    for (size_t d = 1; d <= DENSE_D; d++)
        for (size_t i = 0; i < COUNT(GAP); i++)
            for (size_t k = 0; k < COUNT(K); k++) {
                struct dense m = chain(d, K[k]);
                struct numbers n;
                struct dense_gap g;
                numbers_init(&n, &m);
                dense_of(&n, d, GAP[i], &g);
                assert_true(
                    transition_make(d, GAP[i], &n.in, &n.out, n.scratch));
                for (size_t e = 0; e < d * d; e++) {
                    double qi = (double)g.Q[e / d * (d + 1)];
                    double qj = (double)g.Q[e % d * (d + 1)];
                    double F = fmax(fabs((double)g.F[e]), 1e-3);
                    assert_true(off(n.Q[e], g.Q[e], sqrt(qi * qj)) < 1e-12);
                    assert_true(off(n.Phi[e], g.F[e], F) < 1e-12);
                    if (e < d)
                        assert_true(off(n.c[e], g.c[e], fabs((double)g.c[e])) <
                                    1e-12);
                }
                mem_free(n.scratch);
            }
}

static void root__is_one_of_any_covariance(void **state)
{
    double root[DENSE_DD], room[DENSE_D * (DENSE_D + 2)];
    (void)state;
    for (size_t d = 1; d <= DENSE_D; d++)
        for (size_t rank = 0; rank <= d; rank++) {
            double G[DENSE_DD] = {0}, Q[DENSE_DD] = {0};
            for (size_t e = 0; e < d * d; e++)
                if (e % d < rank)
                    G[e] = dense_number(e) * pow(10.0, -4.0 * (double)(e / d));
            for (size_t e = 0; e < d * d; e++)
                for (size_t l = 0; l < d; l++)
                    Q[e] += G[e / d * d + l] * G[e % d * d + l];
            filter_root(d, Q, root, room);
            for (size_t e = 0; e < d * d; e++) {
                double sum = 0.0, size = sqrt(Q[e / d * (d + 1)]) *
                                         sqrt(Q[e % d * (d + 1)]);
                for (size_t l = 0; l < d; l++)
                    sum += root[e / d * d + l] * root[e % d * d + l];
                assert_true(fabs(sum - Q[e]) <= 1e-14 * (double)(d + 1) * size);
            }
        }
}

/* --- Derivatives ---------------------------------------------------------- */

static double total(const struct numbers *n, size_t d, double h,
                    const struct numbers *bar)
{
    struct dense_gap g;
    quad sum = 0;
    dense_of(n, d, h, &g);
    for (size_t e = 0; e < d * d; e++) {
        sum += g.F[e] * bar->Phi[e] + g.Q[e] * bar->Q[e];
        if (e < d) sum += g.c[e] * bar->c[e];
    }
    return (double)sum;
}

/* Moves one number, or two where q stays symmetric. */
static double slope_of(struct numbers *n, size_t d, double h,
                       const struct numbers *bar, double *at, double *other)
{
    const double step = 1e-4;
    double D[2], kept = *at;
    for (int k = 0; k < 2; k++) {
        double by = step * (k + 1), value[2];
        for (int side = 0; side < 2; side++) {
            *at = *other = kept + (side ? -by : by);
            value[side] = total(n, d, h, bar);
        }
        D[k] = (value[0] - value[1]) / (2.0 * by);
    }
    *at = *other = kept;
    return (4.0 * D[0] - D[1]) / 3.0;
}

static void transition__has_the_gradient_of_its_value(void **state)
{
    static const double GAP[] = {1e-3, 0.5, 8.0};
    (void)state;
    for (size_t d = 1; d <= 4; d++)
        for (size_t i = 0; i < COUNT(GAP); i++) {
            struct dense m =
                dense_make(d, 0, 0, DENSE_STABLE, DENSE_STILL, 1.0);
            struct numbers n, bar, in_bar;
            numbers_init(&n, &m);
            memset(&bar, 0, sizeof bar);
            memset(&in_bar, 0, sizeof in_bar);
            bar.out = (struct transition){bar.Phi, bar.c, bar.Q};
            in_bar.in = (struct coefficients){in_bar.A, in_bar.b, in_bar.slope,
                                              in_bar.q};
            for (size_t a = 0; a < d; a++) {
                bar.c[a] = dense_number(a + 9);
                for (size_t b = 0; b < d; b++) {
                    bar.Phi[a * d + b] = dense_number(a * d + b);
                    bar.Q[a * d + b] = dense_number(50 + a + b);
                }
            }
            transition_vjp(d, GAP[i], &n.in, &bar.out, &in_bar.in, n.scratch);
            for (size_t e = 0; e < d * d; e++) {
                size_t f = e % d * d + e / d;
                double A = slope_of(&n, d, GAP[i], &bar, &n.A[e], &n.A[e]);
                double q = slope_of(&n, d, GAP[i], &bar, &n.q[e], &n.q[f]);
                assert_true(fabs(A - in_bar.A[e]) < 1e-7 * fmax(1.0, fabs(A)));
                assert_true(fabs(q - (e == f ? 1.0 : 2.0) * in_bar.q[e]) <
                            1e-8 * fmax(1.0, fabs(q)));
                if (e >= d) continue;
                double b = slope_of(&n, d, GAP[i], &bar, &n.b[e], &n.b[e]);
                assert_true(fabs(b - in_bar.b[e]) < 1e-8 * fmax(1.0, fabs(b)));
            }
            mem_free(n.scratch);
        }
}

/* --- A filter of states without noise of their own ------------------------ */

/* z_1, the last integral, is observed: with noise, or exactly. */
static double run_filter(const struct dense *m, const struct dense_track *t)
{
    size_t d = m->d, size = record_size(d, 1);
    struct numbers n;
    struct update update[2];
    double *memory = NEW(double, 2 * size + 6 * d * d), sum = 0.0;
    double *room = memory + 2 * size, *root = room + 4 * d * d;
    struct record at = {0};
    numbers_init(&n, m);
    for (size_t k = 0; k < t->n; k++) {
        struct record next =
            record_at(d, 1, memory + k % 2 * size, &update[k % 2]);
        if (k) {
            double h = t->t[k] - t->t[k - 1], place[DENSE_DD + 2 * DENSE_D];
            assert_true(transition_make(d, h, &n.in, &n.out, n.scratch));
            filter_root(d, n.Q, root, place);
            filter_predict(d, n.Phi, n.c, root, &at, &next, room);
        } else {
            memset(next.S, 0, d * d * sizeof *next.S);
            for (size_t i = 0; i < d; i++) {
                next.mean[i] = m->m0[i];
                next.S[i * (d + 1)] = m->s0[i];
            }
            next.updates = 0;
        }
        sum += filter_observe(d, m->H, m->r[0] * m->r[0], t->y[0][k], &next, 0);
        at = next;
    }
    MEM_FREE(n.scratch, memory);
    return sum;
}

static void filter__works_where_noise_is_singular(void **state)
{
    static const double GAP[] = {1e-3, 0.1, 1.0, 10.0};
    static const double NOISE[] = {0.3, 1e-3, 0.0}, FIRST[] = {1.0, 1e6};
    (void)state;
    for (size_t d = 1; d <= 4; d++)
        for (size_t i = 0; i < COUNT(GAP) * COUNT(NOISE) * COUNT(FIRST); i++) {
            struct dense m = chain(d, 0.5);
            double first = FIRST[i % 2];
            if (first > 1.0 && d > 3) continue; /* beyond the reference */
            m.p = 1;
            m.H[0] = 1.0;
            m.r[0] = NOISE[i / 2 % 3];
            for (size_t j = 0; j < d; j++)
                m.s0[j] = first;
            struct dense_track t = dense_data(&m, 8, GAP[i / 6], false, d);
            for (size_t k = 0; k < t.n; k++) /* what such a chain may do */
                t.y[0][k] = sin(t.t[k]) + m.r[0] * t.y[0][k];
            double dense = dense_loglik(&m, &t, NULL);
            double got = run_filter(&m, &t);
            if (!(fabs(got - dense) < 1e-8 * fmax(1.0, fabs(dense))))
                print_error("%zu states, gap %g, noise %g, first %g: %.12g, "
                            "not %.12g\n",
                            d, GAP[i / 6], m.r[0], first, got, dense);
            assert_true(fabs(got - dense) < 1e-8 * fmax(1.0, fabs(dense)));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transition__keeps_the_digits_of_every_number),
        cmocka_unit_test(root__is_one_of_any_covariance),
        cmocka_unit_test(transition__has_the_gradient_of_its_value),
        cmocka_unit_test(filter__works_where_noise_is_singular),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
