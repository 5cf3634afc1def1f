/* SPDX-License-Identifier: MIT */
/* Gaps of one step all at once: the matrices of many gaps against those of one,
 * and whole estimates against the walk that takes gap by gap, which a frozen
 * reference asks for. */
#include "base/linear.h"
#include "base/memory.h"
#include "bridge/matrix_batch.h"
#include "estimator/loglik.h"
#include "exact.h"

enum { MOST_GAPS = 13, DD = BATCH_DIM * BATCH_DIM };

/* --- Matrices of many gaps ----------------------------------------------- */

struct many {
    double dt[MOST_GAPS], A[DD * MOST_GAPS];
    double Phi[DD * MOST_GAPS], Gamma[DD * MOST_GAPS], Q[DD * MOST_GAPS];
    double half_Phi[DD * MOST_GAPS], half_Gamma[DD * MOST_GAPS];
    double scratch[(2 * DD + 1) * MOST_GAPS];
};

static void batch_fill(struct many *w, size_t d, size_t n, double size)
{
    double *z = normals(d * d * n + n, 7 + d * 100 + n);
    for (size_t i = 0; i < d * d * n; i++)
        w->A[i] = size * z[i];
    for (size_t i = 0; i < n; i++)
        w->dt[i] = 0.1 * exp(z[d * d * n + i]);
    mem_free(z);
}

static bool batch_make(struct many *w, size_t d, size_t n)
{
    return batch_transition(d, n, w->dt, w->A, NULL, w->Phi, w->Gamma, w->Q,
                            w->half_Phi, w->half_Gamma, w->scratch);
}

/* Element by element, relative to the largest of the matrix. Each of up to ten
 * doublings may double the rounding of the one before. */
static void same_matrix(size_t d, size_t n, size_t gap, const double *many,
                        const double *one)
{
    double most = 0.0;
    for (size_t e = 0; e < d * d; e++)
        most = fmax(most, fabs(one[e]));
    for (size_t e = 0; e < d * d; e++)
        assert_near(many[e * n + gap], one[e], 2e-12 * most);
}

static void batch__has_the_transitions_of_each(void **state)
{
    (void)state;
    static const size_t GAPS[] = {1, 2, 4, 5, MOST_GAPS};
    static const double SIZE[] = {0.0, 0.01, 1.0, 30.0};
    static struct many w;
    for (size_t t = 0; t < BATCH_DIM * COUNT(GAPS) * COUNT(SIZE); t++) {
        size_t d = 1 + t % BATCH_DIM, n = GAPS[t / BATCH_DIM % COUNT(GAPS)];
        batch_fill(&w, d, n, SIZE[t / BATCH_DIM / COUNT(GAPS)]);
        assert_true(batch_make(&w, d, n));
        for (size_t i = 0; i < n; i++) {
            double A[DD], one[5][DD], scratch[3 * DD];
            assert_true(linear_scratch(d) <= COUNT(scratch));
            for (size_t e = 0; e < d * d; e++)
                A[e] = w.A[e * n + i];
            assert_true(linear_transition(d, w.dt[i], A, NULL, one[0], one[1],
                                          one[2], one[3], one[4], scratch));
            const double *all[] = {w.Phi, w.Gamma, w.Q, w.half_Phi,
                                   w.half_Gamma};
            for (size_t k = 0; k < COUNT(all); k++)
                same_matrix(d, n, i, all[k], one[k]);
        }
    }
}

static void batch__refuses_what_overflows(void **state)
{
    (void)state;
    static const double BAD[] = {1e9, INFINITY, NAN};
    static struct many w;
    for (size_t i = 0; i < COUNT(BAD); i++) {
        batch_fill(&w, 2, 5, 1.0);
        w.A[7] = BAD[i];
        assert_false(batch_make(&w, 2, 5));
    }
}

/* Q = L L', and L^-1, L'^-1 undo what L and L' do. */
static void batch__solves_with_its_cholesky_factors(void **state)
{
    (void)state;
    static struct many w;
    for (size_t d = 1; d <= BATCH_DIM; d++) {
        size_t n = 6;
        double Q[DD * MOST_GAPS], x[BATCH_DIM * MOST_GAPS], y[COUNT(x)];
        batch_fill(&w, d, n, 1.0);
        assert_true(batch_make(&w, d, n));
        memcpy(Q, w.Q, sizeof Q);
        assert_true(batch_cholesky(d, n, w.Q));
        for (size_t i = 0; i < d * n; i++)
            x[i] = sin((double)i + 1.0);
        memcpy(y, x, d * n * sizeof *y);
        batch_solve(d, n, w.Q, false, y);
        batch_solve(d, n, w.Q, true, y);
        batch_times(d, n, Q, false, y, false, w.Phi);
        for (size_t i = 0; i < d * n; i++)
            assert_near(w.Phi[i], x[i], 1e-12);
        batch_times(d, n, Q, true, y, true, w.Phi);
        for (size_t i = 0; i < d * n; i++)
            assert_near(w.Phi[i], 2.0 * x[i], 1e-12);
    }
    for (size_t i = 0; i < 4 * 3; i++)
        w.Q[i] = i == 10 ? -1.0 : i < 3 || i > 8 ? 1.0 : 0.0;
    assert_false(batch_cholesky(2, 3, w.Q));
}

/* --- Estimates ------------------------------------------------------------ */

static const char *const MODELS[] = {
    "state x\nparam a = 1, s = 0.5 > 0\ndx = (a*x - x^3)*dt + s*dW\n",
    "state x, y\nparam a = 1.3, p = 0.4 > 0, q = 0.2 > 0\n"
    "dx = y*dt + p*dW\ndy = (a*(1 - x^2)*y - x + sin(t))*dt + q*exp(t/9)*dW\n",
    "state x[3]\nparam A[3,3] = [-1, 2, 0, 0, -1, 1, 0.5, 0, -2]\n"
    "param L[3,3] lower = [0.5, 0, 0, 0.1, 0.4, 0, 0, 0.2, 0.3]\n"
    "dx = (A @ x - tanh(x))*dt + L @ dW\n",
    "state x[4]\nparam s[4] = [0.5, 0.6, 0.7, 0.8] > 0\n"
    "net f(x) -> 4 : 8 8 tanh\ndx = (f - x)*dt + s*dW\n",
    "state x\ndx = -sin(x)*dt + 0.7*dW\n",
};

static gsv_options single_options(void)
{
    gsv_options o = default_options();
    o.steps = o.paths = 1;
    o.gradient = o.wide = true;
    return o;
}

static void single__is_what_the_walk_finds(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(MODELS); i++) {
        gsv_model *m = model_of(MODELS[i]);
        gsv_series *s = walk_of(m, 3, 60, 0.1, 5 + i);
        gsv_options o = single_options();
        gsv_result one, other;
        assert_int_equal(gsv_loglik(m, s, &o, &one), 0);
        assert_int_equal(loglik_frozen(m, s, &o, gsv_model_value(m), &other),
                         0);
        double size = 1.0;
        for (size_t j = 0; j < one.values; j++)
            size = fmax(size, fabs(other.gradient[j]));
        assert_near(one.loglik, other.loglik, 1e-10 * fabs(other.loglik));
        for (size_t j = 0; j < one.values; j++)
            assert_near(one.gradient[j], other.gradient[j], 1e-10 * size);
        for (size_t g = 0; g < one.groups; g++) {
            assert_near(one.gap[g].loglik, other.gap[g].loglik, 1e-9);
            assert_int_equal(one.gap[g].form, GSV_FORM_MIDPOINT);
            assert_int_equal(one.gap[g].reference, GSV_REFERENCE_LINEAR);
        }
        gsv_result_free(&one);
        gsv_result_free(&other);
        gsv_series_free(s);
        gsv_model_free(m);
    }
}

/* One gap whose linearisation overflows must not spoil those beside it. */
static void single__leaves_the_impossible_to_the_walk(void **state)
{
    (void)state;
    gsv_model *m = model_of("state x\ndx = (1000 - exp(x))*dt + dW\n");
    const double time[] = {0.0, 0.1, 0.2, 0.3, 0.4};
    const double x[] = {1.0, 1.1, 40.0, 1.2, 1.1};
    gsv_series *s = track_of(m, COUNT(x), time, x);
    gsv_options o = single_options();
    gsv_result one, other;
    assert_int_equal(gsv_loglik(m, s, &o, &one), 0);
    assert_int_equal(loglik_frozen(m, s, &o, gsv_model_value(m), &other), 0);
    assert_near(one.loglik, other.loglik, 1e-10 * fabs(other.loglik));
    gsv_result_free(&one);
    gsv_result_free(&other);
    gsv_series_free(s);
    gsv_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batch__has_the_transitions_of_each),
        cmocka_unit_test(batch__refuses_what_overflows),
        cmocka_unit_test(batch__solves_with_its_cholesky_factors),
        cmocka_unit_test(single__is_what_the_walk_finds),
        cmocka_unit_test(single__leaves_the_impossible_to_the_walk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
