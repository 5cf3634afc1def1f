/* SPDX-License-Identifier: MIT */
/* The exact answers of noisy observations against each other, against joint
 * densities and against numbers that were found elsewhere. */
#include "observe_exact.h"

/* --- Linear models -------------------------------------------------------- */

static void transition__is_that_of_ornstein_and_uhlenbeck(void **state)
{
    (void)state;
    const double h[] = {1e-6, 0.2, 1.0, 30.0};
    for (size_t i = 0; i < COUNT(h); i++) {
        struct exact_linear m = {
            .d = 1, .noises = 1, .A = {-1.5}, .b = {0.6}, .G = {0.7}};
        struct exact_gap g = exact_transition(&m, h[i]);
        double rho = exp(-1.5 * h[i]);
        assert_near(g.F[0], rho, 1e-14);
        assert_near(g.c[0], 0.4 * (1.0 - rho), 1e-14);
        assert_near(g.Q[0], 0.49 * -expm1(-3.0 * h[i]) / 3.0, 1e-14);
    }
}

/* A step of h and one of k are one of h + k. */
static void transition__follows_transition(void **state)
{
    (void)state;
    struct exact_linear m = exact_ring(5);
    for (size_t i = 0; i < 5; i++) {
        m.b[i] = 0.3 - 0.1 * (double)i;
        m.G[i * 5 + (i + 2) % 5] = 0.4;
    }
    struct exact_gap a = exact_transition(&m, 0.7),
                     b = exact_transition(&m, 1.6),
                     all = exact_transition(&m, 2.3);
    struct exact_law law = exact_first(&m);
    law.mean[1] = 2.0;
    struct exact_law once = exact_predict(&law, &all);
    law = exact_predict(&law, &a);
    law = exact_predict(&law, &b);
    for (size_t i = 0; i < 5; i++)
        assert_near(law.mean[i], once.mean[i], 1e-14);
    for (size_t i = 0; i < 25; i++)
        assert_near(law.cov[i], once.cov[i], 1e-14);
}

/* Numbers from mpmath: dX = -X dt + dW, r = 0.3, X(0) ~ N(0, 1/2). */
static const double ORACLE[50] = {
    0.2104,  0.3372,  0.248,   0.129,   0.1905,  0.4659,  0.7781,  0.9058,
    0.7916,  0.5956,  0.5421,  0.7066,  0.9436,  1.0245,  0.854,   0.5611,
    0.3775,  0.4185,  0.5753,  0.6193,  0.4203,  0.0717,  -0.1962, -0.2323,
    -0.1065, -0.0406, -0.1967, -0.5214, -0.7944, -0.8359, -0.6752, -0.5218,
    -0.5655, -0.7959, -1.0114, -1.01,   -0.7809, -0.5148, -0.4236, -0.5407,
    -0.6898, -0.6539, -0.382,  -0.0394, 0.1474,  0.1032,  -0.0263, -0.0149,
    0.2278,  0.5688};

static void kalman__meets_the_oracles(void **state)
{
    (void)state;
    struct exact_linear m = exact_ring(1);
    double t[50];
    exact_times(50, 0.2, 0.0, t);
    assert_near(exact_kalman(&m, 10, t, ORACLE, NULL), -4.443589935527054,
                1e-11);
    assert_near(exact_kalman(&m, 50, t, ORACLE, NULL), -20.76617014749178,
                1e-11);
}

/* Two states that share noises, three numbers a row that mix them. */
static struct exact_linear mixed(void)
{
    return (struct exact_linear){.d = 2,
                                 .noises = 3,
                                 .outputs = 3,
                                 .A = {-0.5, 1.0, -2.0, -0.1},
                                 .b = {0.3, -0.2},
                                 .G = {0.5, 0.2, 0.0, 0.1, 0.0, 0.6},
                                 .H = {1.0, 0.0, 0.5, -1.0, 0.0, 2.0},
                                 .r = {0.3, 0.5, 0.1},
                                 .m0 = {1.0, -1.0},
                                 .P0 = {0.5, 0.1, 0.1, 0.4}};
}

enum { ROWS = 6, OUTPUTS = 3 };

/* The covariances of states at times t, (ROWS, ROWS) blocks of (2, 2):
 * Cov(X_l, X_k) = F(t_l - t_k) Cov(X_k) for l > k; and their means. */
static void joint_states(const struct exact_linear *m, const double *t,
                         double mean[ROWS][2], double cov[ROWS][ROWS][4])
{
    for (size_t k = 0; k < ROWS; k++) {
        struct exact_law law = exact_first(m);
        struct exact_gap g = exact_transition(m, t[k]);
        law = exact_predict(&law, &g);
        memcpy(mean[k], law.mean, sizeof mean[k]);
        for (size_t l = k; l < ROWS; l++) {
            double *C = cov[l][k];
            g = exact_transition(m, t[l] - t[k]);
            exact_product(2, g.F, law.cov, false, C);
            for (size_t i = 0; i < 4; i++)
                cov[k][l][i] = C[i % 2 * 2 + i / 2];
        }
    }
}

struct joint {
    struct exact_law law; /* of the numbers that were seen */
    double y[EXACT_MOST];
    size_t row[EXACT_MOST], output[EXACT_MOST];
};

static struct joint joint_of(const struct exact_linear *m, const double *y,
                             double mean[ROWS][2], double cov[ROWS][ROWS][4])
{
    struct joint j = {0};
    for (size_t i = 0; i < ROWS * OUTPUTS; i++) {
        if (isnan(y[i])) continue;
        j.y[j.law.d] = y[i];
        j.row[j.law.d] = i % ROWS;
        j.output[j.law.d++] = i / ROWS;
    }
    size_t d = j.law.d;
    for (size_t a = 0; a < d; a++) {
        const double *h = m->H + 2 * j.output[a];
        j.law.mean[a] = h[0] * mean[j.row[a]][0] + h[1] * mean[j.row[a]][1];
        for (size_t b = 0; b < d; b++) {
            const double *g = m->H + 2 * j.output[b];
            const double *C = cov[j.row[a]][j.row[b]];
            j.law.cov[a * d + b] =
                h[0] * (C[0] * g[0] + C[1] * g[1]) +
                h[1] * (C[2] * g[0] + C[3] * g[1]) +
                (a == b ? m->r[j.output[a]] * m->r[j.output[a]] : 0.0);
        }
    }
    return j;
}

/* E X_k and Cov X_k given all of y: m + C S^-1 (y - mean), P - C S^-1 C'. */
static void check_smoothed(const struct exact_linear *m, const struct joint *j,
                           size_t k, double mean[ROWS][2],
                           double cov[ROWS][ROWS][4],
                           const struct exact_law *smoothed)
{
    size_t d = j->law.d;
    double S[EXACT_MOST * EXACT_MOST], B[EXACT_MOST * 3], C[EXACT_MOST * 2];
    memcpy(S, j->law.cov, sizeof S);
    for (size_t a = 0; a < d; a++) {
        const double *h = m->H + 2 * j->output[a];
        const double *c = cov[k][j->row[a]];
        for (size_t i = 0; i < 2; i++)
            C[2 * a + i] = B[3 * a + i] = c[2 * i] * h[0] + c[2 * i + 1] * h[1];
        B[3 * a + 2] = j->y[a] - j->law.mean[a];
    }
    exact_solve(d, S, 3, B);
    for (size_t i = 0; i < 2; i++) {
        double v = mean[k][i], w[2] = {cov[k][k][2 * i], cov[k][k][2 * i + 1]};
        for (size_t a = 0; a < d; a++) {
            v += C[2 * a + i] * B[3 * a + 2];
            w[0] -= C[2 * a + i] * B[3 * a];
            w[1] -= C[2 * a + i] * B[3 * a + 1];
        }
        assert_near(smoothed->mean[i], v, 1e-12);
        assert_near(smoothed->cov[2 * i], w[0], 1e-12);
        assert_near(smoothed->cov[2 * i + 1], w[1], 1e-12);
    }
}

static void kalman__is_the_joint_normal_law(void **state)
{
    (void)state;
    struct exact_linear m = mixed();
    const double t[ROWS] = {0.0, 0.3, 0.35, 1.5, 2.0, 4.0};
    double x[2 * ROWS], y[OUTPUTS * ROWS];
    double mean[ROWS][2], cov[ROWS][ROWS][4];
    struct exact_law smoothed[ROWS];
    exact_linear_data(&m, ROWS, t, 5, x, y);
    y[1] = y[4] = y[2 * ROWS + 4] = y[ROWS + 4] = y[ROWS + 2] = NAN;
    joint_states(&m, t, mean, cov);
    struct joint j = joint_of(&m, y, mean, cov);
    assert_int_equal(j.law.d, 13);
    assert_near(exact_kalman(&m, ROWS, t, y, smoothed),
                exact_density(&j.law, j.y), 1e-11);
    for (size_t k = 0; k < ROWS; k++)
        check_smoothed(&m, &j, k, mean, cov, &smoothed[k]);
}

/* --- On a grid ------------------------------------------------------------ */

static const double RATE = 1.0;

static struct exact_diffusion pulled(const struct exact_noise *noise)
{
    return (struct exact_diffusion){.drift = exact_pull,
                                    .p = &RATE,
                                    .s = 1.0,
                                    .d0 = sqrt(0.5),
                                    .log_density = exact_noise_density,
                                    .user = noise};
}

static void grid__is_kalman_for_a_linear_drift(void **state)
{
    (void)state;
    struct exact_linear m = exact_ring(1);
    const struct exact_range range = {-5.5, 5.5, 301};
    double t[50], y[50], mean[50], sd[50];
    struct exact_law smoothed[50];
    const struct exact_noise noise = {y, 0.3};
    const struct exact_diffusion e = pulled(&noise);
    exact_times(50, 0.2, 0.0, t);
    memcpy(y, ORACLE, sizeof y);
    for (size_t k = 10; k < 50; k++)
        t[k] += 0.5;
    y[20] = y[21] = y[49] = NAN;
    double exact = exact_kalman(&m, 50, t, y, smoothed);
    assert_near(exact_grid_filter(&e, &range, 50, t, mean, sd), exact, 1e-7);
    for (size_t k = 0; k < 50; k++) {
        assert_near(mean[k], smoothed[k].mean[0], 1e-7);
        assert_near(sd[k], sqrt(smoothed[k].cov[0]), 1e-7);
    }
}

static struct exact_diffusion well(const struct exact_noise *noise)
{
    return (struct exact_diffusion){.drift = exact_well,
                                    .s = 0.5,
                                    .m0 = -1.0,
                                    .d0 = 0.3,
                                    .log_density = exact_noise_density,
                                    .user = noise};
}

/* Another grid, on which time steps are another fraction of the gap, too. */
static void grid__converges_in_a_double_well(void **state)
{
    (void)state;
    enum { N = 100 };
    const struct exact_range coarse = {-2.8, 2.8, 221}, fine = {-3, 3, 341};
    double t[N], x[N], y[N], mean[2][N], sd[2][N];
    const struct exact_noise noise = {y, 0.3};
    const struct exact_diffusion e = well(&noise);
    exact_times(N, 0.5, 0.0, t);
    exact_diffusion_data(&e, N, t, 0.3, 3, x, y);
    double a = exact_grid_filter(&e, &coarse, N, t, mean[0], sd[0]);
    double b = exact_grid_filter(&e, &fine, N, t, mean[1], sd[1]);
    print_message("double well: %.8f, %.8f\n", a, b);
    assert_near(a, b, 1e-5);
    for (size_t k = 0; k < N; k++) {
        assert_near(mean[0][k], mean[1][k], 1e-5);
        assert_near(sd[0][k], sd[1][k], 1e-5);
    }
}

/* log of Poisson's law with mean exp(x). */
static double counted(size_t row, double x, const void *user)
{
    const double *y = user;
    return y[row] * x - exp(x) - lgamma(y[row] + 1.0);
}

static void grid__sums_to_one_over_all_counts(void **state)
{
    (void)state;
    enum { MOST = 40 };
    const struct exact_range range = {-2.6, 2.6, 161};
    const double t[] = {0.0, 0.5};
    double y[2], sum = 0.0;
    struct exact_diffusion e = well(NULL);
    e.log_density = counted;
    e.user = y;
    struct exact_grid g;
    exact_grid_init(&g, 2, &e, &range);
    for (y[0] = 0.0; y[0] < MOST; y[0]++) {
        double first = exact_grid_forward(&g, 0, t);
        for (y[1] = 0.0; y[1] < MOST; y[1]++)
            sum += exp(first + exact_grid_forward(&g, 1, t));
    }
    exact_grid_free(&g);
    assert_near(sum, 1.0, 1e-5);
}

/* --- Data ----------------------------------------------------------------- */

/* Over many draws the states are as far from their smoothed means as the
 * smoothed covariances say. */
static void data__is_where_the_smoother_expects_it(void **state)
{
    (void)state;
    enum { N = 10, SEEDS = 400 };
    const size_t dimensions[] = {1, 2, 5};
    double t[N], x[5 * N], y[5 * N], z[EXACT_D], S[EXACT_DD];
    struct exact_law smoothed[N];
    exact_times(N, 0.3, 0.4, t);
    for (size_t i = 0; i < COUNT(dimensions); i++) {
        size_t d = dimensions[i];
        struct exact_linear m = exact_ring(d);
        double sum = 0.0;
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            exact_linear_data(&m, N, t, seed, x, y);
            exact_kalman(&m, N, t, y, smoothed);
            size_t k = (size_t)seed % N;
            for (size_t c = 0; c < d; c++)
                z[c] = x[c * N + k] - smoothed[k].mean[c];
            memcpy(S, smoothed[k].cov, sizeof S);
            exact_solve(d, S, 1, z);
            for (size_t c = 0; c < d; c++)
                sum += z[c] * (x[c * N + k] - smoothed[k].mean[c]);
        }
        double n = (double)(SEEDS * d);
        assert_near(sum / n, 1.0, TOLERANCE * sqrt(2.0 / n));
    }
}

/* The same of a double well; a row tells little of the others. */
static void data__of_a_well_is_where_the_grid_expects_it(void **state)
{
    (void)state;
    enum { N = 200 };
    const struct exact_range range = {-2.8, 2.8, 201};
    double t[N], x[N], y[N], mean[N], sd[N], first = 0.0, second = 0.0;
    const struct exact_noise noise = {y, 0.3};
    const struct exact_diffusion e = well(&noise);
    exact_times(N, 1.0, 0.0, t);
    exact_diffusion_data(&e, N, t, 0.3, 4, x, y);
    exact_grid_filter(&e, &range, N, t, mean, sd);
    for (size_t k = 0; k < N; k++) {
        double z = (x[k] - mean[k]) / sd[k];
        first += z / N;
        second += z * z / N;
    }
    assert_near(first, 0.0, 1.5 * TOLERANCE / sqrt(N));
    assert_near(second, 1.0, 1.5 * TOLERANCE * sqrt(2.0 / N));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transition__is_that_of_ornstein_and_uhlenbeck),
        cmocka_unit_test(transition__follows_transition),
        cmocka_unit_test(kalman__meets_the_oracles),
        cmocka_unit_test(kalman__is_the_joint_normal_law),
        cmocka_unit_test(grid__is_kalman_for_a_linear_drift),
        cmocka_unit_test(grid__converges_in_a_double_well),
        cmocka_unit_test(grid__sums_to_one_over_all_counts),
        cmocka_unit_test(data__is_where_the_smoother_expects_it),
        cmocka_unit_test(data__of_a_well_is_where_the_grid_expects_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
