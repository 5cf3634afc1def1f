/* SPDX-License-Identifier: MIT */
/* Transitions of linear SDEs against closed forms and a fine Runge-Kutta solve.
 */
#include "linear.h"

static void transition__of_a_number_is_the_closed_form(void **state)
{
    (void)state;
    static const double rate[] = {1e-12, -1e-6, -1, 0.3, 3, -50, -1e4, 20};
    static const double step[] = {1e-3, 0.25, 1};
    for (size_t i = 0; i < COUNT(rate) * COUNT(step); i++) {
        double a = rate[i / COUNT(step)], dt = step[i % COUNT(step)];
        struct transition t;
        transition_of(1, dt, &a, &t);
        double Phi = exp(a * dt), Gamma = expm1(a * dt) / a;
        double Q = expm1(2.0 * a * dt) / (2.0 * a);
        assert_near(t.Phi[0], Phi, 1e-12 * Phi);
        assert_near(t.Gamma[0], Gamma, 1e-12 * Gamma);
        assert_near(t.Q[0], Q, 1e-12 * Q);
        assert_near(t.half_Phi[0], sqrt(Phi), 1e-12 * sqrt(Phi));
        assert_near(t.half_Gamma[0], expm1(0.5 * a * dt) / a, 1e-12 * Gamma);
    }
}

static void transition__without_a_slope_is_brownian(void **state)
{
    (void)state;
    static const double A[9];
    struct transition t;
    transition_of(3, 0.7, A, &t);
    for (size_t e = 0; e < 9; e++) {
        double one = e % 4 == 0;
        assert_near(t.Phi[e], one, 0.0);
        assert_near(t.Gamma[e], 0.7 * one, 1e-16);
        assert_near(t.Q[e], 0.7 * one, 1e-16);
        assert_near(t.half_Gamma[e], 0.35 * one, 1e-16);
    }
}

static void transition__of_a_rotation_is_the_closed_form(void **state)
{
    (void)state;
    static const double speed[] = {1e-3, 1, 10, 300};
    for (size_t i = 0; i < COUNT(speed); i++) {
        double w = speed[i], dt = 0.4, c = cos(w * dt), s = sin(w * dt);
        const double A[4] = {0, -w, w, 0}, Phi[4] = {c, -s, s, c};
        double away = 2.0 * pow(sin(0.5 * w * dt), 2.0);
        const double Gamma[4] = {s / w, -away / w, away / w, s / w};
        const double Q[4] = {dt, 0, 0, dt};
        struct transition t;
        transition_of(2, dt, A, &t);
        assert_matrix(2, t.Phi, Phi, 1e-12);
        assert_matrix(2, t.Gamma, Gamma, 1e-12);
        assert_matrix(2, t.Q, Q, 1e-12);
    }
}

/* A chain of integrals of one noise: with a = d - 1 - i integrals of it,
 * cov(i, j) = dt^(a + b + 1) / (a! b! (a + b + 1)), each entry to its own size.
 */
static void transition__of_a_chain_is_the_closed_form(void **state)
{
    (void)state;
    static const double step[] = {1e-6, 1e-3, 0.1, 1, 30};
    for (size_t d = 2; d <= LONGEST_CHAIN; d++)
        for (size_t s = 0; s < COUNT(step); s++) {
            double A[MOST_D * MOST_D] = {0}, noise[MOST_D] = {0}, dt = step[s];
            double scratch[3 * MOST_D * MOST_D];
            struct transition t;
            for (size_t i = 0; i + 1 < d; i++)
                A[i * d + i + 1] = 1.0;
            noise[d - 1] = 1.0;
            assert_true(linear_transition(d, dt, A, noise, t.Phi, t.Gamma, t.Q,
                                          t.half_Phi, t.half_Gamma, scratch));
            for (size_t e = 0; e < d * d; e++) {
                double i = (double)(e / d), j = (double)(e % d);
                double a = (double)d - 1.0 - i, b = (double)d - 1.0 - j;
                double Phi = j < i ? 0.0 : pow(dt, j - i) / tgamma(j - i + 1.0);
                double Q = pow(dt, a + b + 1.0) /
                           (tgamma(a + 1.0) * tgamma(b + 1.0) * (a + b + 1.0));
                assert_near(t.Phi[e], Phi, 1e-13 * Phi);
                assert_near(t.Q[e], Q, 1e-13 * Q);
            }
        }
}

/* One slow and one fast direction, turned by an angle. */
static void transition__of_a_stiff_matrix_is_the_closed_form(void **state)
{
    (void)state;
    const double rate[2] = {-0.5, -2e4}, dt = 0.3;
    const double c = cos(0.7), s = sin(0.7);
    const double axis[2][2] = {{c, s}, {-s, c}};
    double A[4] = {0}, Phi[4] = {0}, Gamma[4] = {0}, Q[4] = {0};
    for (size_t n = 0; n < 2; n++)
        for (size_t e = 0; e < 4; e++) {
            double part = axis[n][e / 2] * axis[n][e % 2], a = rate[n];
            A[e] += a * part;
            Phi[e] += exp(a * dt) * part;
            Gamma[e] += expm1(a * dt) / a * part;
            Q[e] += expm1(2.0 * a * dt) / (2.0 * a) * part;
        }
    struct transition t;
    transition_of(2, dt, A, &t);
    assert_matrix(2, t.Phi, Phi, 1e-11); /* A is rounded: 2e4 * 1e-16 */
    assert_matrix(2, t.Gamma, Gamma, 1e-11);
    assert_matrix(2, t.Q, Q, 1e-11);
}

static void transition__of_a_nilpotent_matrix_is_a_polynomial(void **state)
{
    (void)state;
    static const double step[] = {0.01, 0.3, 2, 10};
    const double A[9] = {0, 1, 0, 0, 0, 1, 0, 0, 0};
    for (size_t i = 0; i < COUNT(step); i++) {
        double h = step[i], h2 = h * h / 2, h3 = h * h * h / 6;
        double q2 = h + 2 * h3, q12 = h2 + pow(h, 4) / 8;
        const double Phi[9] = {1, h, h2, 0, 1, h, 0, 0, 1};
        const double Gamma[9] = {h, h2, h3, 0, h, h2, 0, 0, h};
        const double Q[9] = {
            q2 + pow(h, 5) / 20, q12, h3, q12, q2, h2, h3, h2, h};
        struct transition t;
        transition_of(3, h, A, &t);
        assert_matrix(3, t.Phi, Phi, 1e-12);
        assert_matrix(3, t.Gamma, Gamma, 1e-12);
        assert_matrix(3, t.Q, Q, 1e-12);
    }
}

/* Phi' = A Phi, Gamma' = Phi, Q' = A Q + Q A' + I in long double. */
static void slopes(size_t d, const double *A, const long double *x,
                   long double *dx)
{
    size_t dd = d * d;
    const long double *Phi = x, *Q = x + 2 * dd;
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++) {
            long double phi = 0.0L, q = i == j ? 1.0L : 0.0L;
            for (size_t k = 0; k < d; k++) {
                phi += (long double)A[i * d + k] * Phi[k * d + j];
                q += (long double)A[i * d + k] * Q[k * d + j] +
                     (long double)A[j * d + k] * Q[i * d + k];
            }
            dx[i * d + j] = phi;
            dx[dd + i * d + j] = Phi[i * d + j];
            dx[2 * dd + i * d + j] = q;
        }
}

static void runge_kutta(size_t d, double dt, size_t steps, const double *A,
                        double *Phi, double *Gamma, double *Q)
{
    size_t n = 3 * d * d;
    long double *x = NEW(long double, 4 * n), *k = x + n, *sum = k + n;
    long double *at = sum + n, h = (long double)dt / (long double)steps;
    static const long double stage[] = {0.5L, 0.5L, 1.0L, 0.0L};
    static const long double share[] = {1.0L, 2.0L, 2.0L, 1.0L};
    for (size_t i = 0; i < d; i++)
        x[i * d + i] = 1.0L;
    for (size_t m = 0; m < steps; m++) {
        memcpy(at, x, n * sizeof *x);
        memset(sum, 0, n * sizeof *x);
        for (size_t s = 0; s < 4; s++) {
            slopes(d, A, at, k);
            for (size_t e = 0; e < n; e++) {
                sum[e] += share[s] * k[e];
                at[e] = x[e] + stage[s] * h * k[e];
            }
        }
        for (size_t e = 0; e < n; e++)
            x[e] += h / 6.0L * sum[e];
    }
    for (size_t e = 0; e < d * d; e++) {
        Phi[e] = (double)x[e];
        Gamma[e] = (double)x[d * d + e];
        Q[e] = (double)x[2 * d * d + e];
    }
    mem_free(x);
}

static void transition__of_any_matrix_is_a_fine_integration(void **state)
{
    (void)state;
    static const struct {
        size_t d, steps;
        double dt, size;
    } with[] = {{2, 4000, 1, 1},   {5, 4000, 0.3, 1}, {5, 4000, 2, 0.5},
                {5, 8000, 1, 1.5}, {7, 2000, 0.1, 1}, {20, 800, 0.25, 0.3}};
    for (size_t i = 0; i < COUNT(with); i++) {
        size_t d = with[i].d;
        double *A = normals(d * d, i + 1);
        struct transition t, fine;
        for (size_t e = 0; e < d * d; e++)
            A[e] *= with[i].size;
        transition_of(d, with[i].dt, A, &t);
        runge_kutta(d, with[i].dt, with[i].steps, A, fine.Phi, fine.Gamma,
                    fine.Q);
        assert_matrix(d, t.Phi, fine.Phi, 1e-12);
        assert_matrix(d, t.Gamma, fine.Gamma, 1e-12);
        assert_matrix(d, t.Q, fine.Q, 1e-12);
        runge_kutta(d, 0.5 * with[i].dt, with[i].steps / 2, A, fine.Phi,
                    fine.Gamma, fine.Q);
        assert_matrix(d, t.half_Phi, fine.Phi, 1e-12);
        assert_matrix(d, t.half_Gamma, fine.Gamma, 1e-12);
        mem_free(A);
    }
}

static void transition__that_overflows_is_refused(void **state)
{
    (void)state;
    static const double bad[] = {800, 1e7, NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < COUNT(bad); i++) {
        const double A[4] = {-1, 0, 0.5, bad[i]};
        double out[5 * 4], scratch[3 * 4];
        assert_false(linear_transition(2, 1.0, A, NULL, out, out + 4, out + 8,
                                       out + 12, out + 16, scratch));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transition__of_a_number_is_the_closed_form),
        cmocka_unit_test(transition__without_a_slope_is_brownian),
        cmocka_unit_test(transition__of_a_rotation_is_the_closed_form),
        cmocka_unit_test(transition__of_a_chain_is_the_closed_form),
        cmocka_unit_test(transition__of_a_stiff_matrix_is_the_closed_form),
        cmocka_unit_test(transition__of_a_nilpotent_matrix_is_a_polynomial),
        cmocka_unit_test(transition__of_any_matrix_is_a_fine_integration),
        cmocka_unit_test(transition__that_overflows_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
