/* SPDX-License-Identifier: MIT */
/* Two states on a grid, and more by simulation, against closed forms. */
#include "physics.h"

#include <math.h>

/* --- Linear flows --------------------------------------------------------- */

/* dx = A x dt + G dW with A C + C A' + a = 0, a = G G'. */
struct linear {
    const char *name;
    double A[4], G[4];
};

static const struct linear LINEAR[] = {
    {"two alone", {-1, 0, 0, -2}, {0.7, 0, 0, 0.5}},
    {"rotation", {-1, -2, 2, -1}, {0.8, 0, 0, 0.8}},
    {"two temperatures", {-1, 0.5, 0.5, -1}, {0.5, 0, 0, 1.0}},
    {"shear", {-1, 1.5, 0, -1}, {0.6, 0, 0, 0.6}},
    {"shared noise", {-1, -2, 0.5, -1.5}, {0.8, 0, 0.5, 0.6}},
    {"shared noise alone", {-1, 0, 0, -1}, {0.8, 0, -0.4, 0.6}},
};

/* C = (c00, c01, c11), by Cramer's rule. */
static void covariance(const struct linear *l, double a[3], double C[3])
{
    const double *A = l->A, *G = l->G;
    a[0] = G[0] * G[0] + G[1] * G[1];
    a[1] = G[0] * G[2] + G[1] * G[3];
    a[2] = G[2] * G[2] + G[3] * G[3];
    double M[3][3] = {{2 * A[0], 2 * A[1], 0},
                      {A[2], A[0] + A[3], A[1]},
                      {0, 2 * A[2], 2 * A[3]}};
    double det = M[0][0] * (M[1][1] * M[2][2] - M[1][2] * M[2][1]) -
                 M[0][1] * (M[1][0] * M[2][2] - M[1][2] * M[2][0]);
    for (int j = 0; j < 3; j++) {
        double B[3][3];
        memcpy(B, M, sizeof B);
        for (int i = 0; i < 3; i++)
            B[i][j] = -a[i];
        C[j] = (B[0][0] * (B[1][1] * B[2][2] - B[1][2] * B[2][1]) -
                B[0][1] * (B[1][0] * B[2][2] - B[1][2] * B[2][0]) +
                B[0][2] * (B[1][0] * B[2][1] - B[1][1] * B[2][0])) /
               det;
    }
}

/* E[2 f' a^-1 f + div f] with f = A x. */
static double entropy(const struct linear *l, const double a[3],
                      const double C[3])
{
    double det = a[0] * a[2] - a[1] * a[1], sum = l->A[0] + l->A[3];
    double inverse[2][2] = {{a[2] / det, -a[1] / det},
                            {-a[1] / det, a[0] / det}};
    double c[2][2] = {{C[0], C[1]}, {C[1], C[2]}};
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            for (int k = 0; k < 2; k++)
                for (int n = 0; n < 2; n++)
                    sum += 2 * inverse[i][j] * l->A[2 * i + k] *
                           l->A[2 * j + n] * c[k][n];
    return sum;
}

/* A noise that is 0 is left out, as the language wants. */
static void write_text(const struct linear *l, char *text, size_t size)
{
    int n = snprintf(text, size, "state x, y\n");
    for (int i = 0; i < 2; i++) {
        n += snprintf(text + n, size - (size_t)n,
                      "d%s = (%g*x + %g*y)*dt + %g*dW1", i ? "y" : "x",
                      l->A[2 * i], l->A[2 * i + 1], 1e-300 + l->G[2 * i]);
        if (i && l->G[2] == 0.0) n -= (int)strlen(strrchr(text, '+'));
        if (l->G[2 * i + 1] != 0.0)
            n += snprintf(text + n, size - (size_t)n, "+ %g*dW2",
                          l->G[2 * i + 1]);
        n += snprintf(text + n, size - (size_t)n, "\n");
    }
}

static void plane__has_the_law_of_linear_flows(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT(LINEAR); k++) {
        const struct linear *l = &LINEAR[k];
        gsv_physics_options o = gsv_physics_options_default();
        gsv_physics_result r;
        gsv_model *m;
        char text[300];
        double a[3], C[3], low[] = {-1.5, -1.5}, high[] = {1.5, 1.5};
        covariance(l, a, C);
        write_text(l, text, sizeof text);
        o.grid = 72;
        physics_of(text, low, high, &o, &r, &m);
        expect_near(l->name, r.sd[0].value, sqrt(C[0]), 2e-3);
        expect_near(l->name, r.sd[1].value, sqrt(C[2]), 2e-3);
        double rate = entropy(l, a, C);
        if (fabs(r.entropy.value - rate) > 0.01 * rate + 2e-3)
            fail_msg("%s: entropy production %g instead of %g", l->name,
                     r.entropy.value, rate);
        assert_int_equal(r.points, 1);
        expect_near(l->name, r.relaxation[0].value,
                    -1 / r.point[0].rate[1].value, 3e-3);
        if (r.point[0].turn[0].value > 0 || r.point[0].turn[1].value > 0)
            expect_near(l->name, r.turn[0].value,
                        fabs(r.point[0].turn[0].value), 5e-3);
        gsv_physics_free(&r);
        gsv_model_free(m);
    }
}

/* --- Other laws ----------------------------------------------------------- */

static void plane__has_laws_that_are_products(void **state)
{
    (void)state;
    double low[] = {0.05, 0.1}, high[] = {1.5, 0.9};
    gsv_physics_options o = gsv_physics_options_default();
    gsv_physics_result r;
    gsv_model *m;
    physics_of("state x, y\n dx = (0.5 - x)*dt + 0.6*sqrt(x)*dW1\n"
               "dy = (0.4 - y)*dt + 0.8*sqrt(y*(1 - y))*dW2",
               low, high, &o, &r, &m);
    expect_near("mean", r.mean[0].value, 0.5, 2e-3);
    expect_near("sd", r.sd[0].value, 0.3, 5e-3);
    expect_near("mean", r.mean[1].value, 0.4, 2e-3);
    expect_near("sd", r.sd[1].value, 0.2412090757, 5e-3);
    assert_true(r.entropy.value < 1e-3);
    gsv_physics_free(&r);
    gsv_model_free(m);
}

/* A potential with noise that differs in space, in equilibrium: f = -a U' / 2 +
 * a' / 2, state by state, so that p = exp(-U). */
static void plane__has_a_gradient_and_its_potential(void **state)
{
    (void)state;
    double low[] = {-1.5, -1}, high[] = {1.5, 1};
    gsv_physics_options o = gsv_physics_options_default();
    gsv_physics_result r;
    gsv_model *m;
    physics_of("state x, y\n dx = (x - x^3 - 0.5*y)*dt + 0.7*dW1\n"
               "dy = (-y - 0.5*x)*dt + 0.7*dW2",
               low, high, &o, &r, &m);
    expect_near("gradient", r.gradient.value, 1, 1e-3);
    assert_true(r.entropy.value < 0.01);
    size_t lowest = 0;
    for (size_t k = 0; k < r.cells; k++)
        if (r.density[k].value > r.density[lowest].value) lowest = k;
    for (size_t k = 0; k < r.cells; k++) {
        double x = r.x[k], y = r.x[r.cells + k];
        double U = pow(x, 4) / 4 - x * x / 2 + x * y / 2 + y * y / 2;
        double x0 = r.x[lowest], y0 = r.x[r.cells + lowest];
        double U0 = pow(x0, 4) / 4 - x0 * x0 / 2 + x0 * y0 / 2 + y0 * y0 / 2;
        double F = log(r.density[lowest].value / r.density[k].value) * 0.245;
        if (U - U0 > 1.5) continue;
        if (fabs(r.potential[k].value - r.potential[lowest].value - U + U0) >
                0.02 ||
            fabs(F - U + U0) > 0.02)
            fail_msg("at (%g, %g): U %g, F %g instead of %g", x, y,
                     r.potential[k].value - r.potential[lowest].value, F,
                     U - U0);
    }
    gsv_physics_free(&r);
    gsv_model_free(m);
}

/* The wells of x alone: y does not matter for its passages. */
static void plane__times_passages_as_one_state_does(void **state)
{
    (void)state;
    double low[] = {-1.5, -1}, high[] = {1.5, 1};
    gsv_physics_options o = gsv_physics_options_default();
    gsv_physics_result one, two;
    gsv_model *m, *n;
    o.from = "x < -0.8";
    o.to = "x > 0.8";
    physics_of("state x\n dx = (x - x^3)*dt + 0.6*dW", low, high, &o, &one, &m);
    physics_of("state x, y\n dx = (x - x^3)*dt + 0.6*dW1\n"
               "dy = -y*dt + 0.5*dW2",
               low, high, &o, &two, &n);
    expect_near("time", two.passage[0].time.value, one.passage[0].time.value,
                0.03);
    expect_near("relaxation", two.relaxation[0].value, one.relaxation[0].value,
                0.01);
    for (size_t k = 0; k < two.cells; k++)
        assert_true(two.committor[k] > -1e-9 && two.committor[k] < 1 + 1e-9);
    gsv_physics_free(&one);
    gsv_physics_free(&two);
    gsv_model_free(m);
    gsv_model_free(n);
}

/* Kramers' equation: exp(-(v^2/2 + U) / T), T = s^2 / (2 g). */
static void plane__has_the_law_of_an_inert_particle(void **state)
{
    (void)state;
    double low[] = {-2, -2}, high[] = {2, 2};
    gsv_physics_options o = gsv_physics_options_default();
    gsv_physics_result r;
    gsv_model *m;
    physics_of("state x, v\n dx = v*dt\n dv = (x - x^3 - 0.5*v)*dt + 0.8*dW",
               low, high, &o, &r, &m);
    assert_true(r.stationary);
    expect_near("sd of v", r.sd[1].value, 0.8, 2e-3);
    expect_near("sd of x", r.sd[0].value, 0.9673913895, 2e-3);
    assert_true(isnan(r.entropy.value));
    gsv_physics_free(&r);
    gsv_model_free(m);
}

/* Coloured noise: far out the drift of x, which has no noise, outweighs all
 * else. The law and the slowest time are those of Hermite functions, 160 in x
 * and 40 in c. */
static void plane__has_the_law_of_coloured_noise(void **state)
{
    (void)state;
    double low[] = {-1.4, -5.6}, high[] = {1.6, 5};
    gsv_physics_options o = gsv_physics_options_default();
    gsv_physics_result r;
    gsv_model *m;
    physics_of("state x, c\n dx = (x - x^3 + c)*dt\n dc = -5*c*dt + 5*dW", low,
               high, &o, &r, &m);
    assert_true(r.stationary);
    assert_true(fabs(r.mean[0].value) < 1e-3);
    expect_near("sd of x", r.sd[0].value, 0.96809, 2e-3);
    expect_near("slowest", r.relaxation[0].value, 3.1286, 3e-3);
    gsv_physics_free(&r);
    gsv_model_free(m);
}

/* Means of dlog x and dlog y are 0: E x = b + c^2/2, and so on. */
static void plane__has_the_means_of_predators_and_prey(void **state)
{
    (void)state;
    double low[] = {0.4, 0.3}, high[] = {2, 2};
    gsv_physics_options o = gsv_physics_options_default();
    gsv_physics_result r;
    gsv_model *m;
    o.grid = 64;
    physics_of("state x, y\n dx = (x*(2 - x) - x*y)*dt + 0.3*x*dW1\n"
               "dy = (x*y - y)*dt + 0.3*y*dW2",
               low, high, &o, &r, &m);
    assert_true(r.stationary);
    expect_near("prey", r.mean[0].value, 1.045, 2e-3);
    expect_near("predators", r.mean[1].value, 0.91, 2e-3);
    gsv_physics_free(&r);
    gsv_model_free(m);
}

static void plane__says_where_there_is_no_law(void **state)
{
    (void)state;
    static const char *const TEXT[] = {
        "state x, y\n dx = dW1\n dy = -y*dt + dW2",
        "state x, y\n dx = x*dt + dW1\n dy = -y*dt + dW2",
        "state x, y\n dx = 0.3*x*dW1\n dy = (1 - y)*dt + 0.2*dW2"};
    for (size_t k = 0; k < COUNT(TEXT); k++) {
        double low[] = {0.5, -1}, high[] = {2, 2};
        gsv_physics_options o = gsv_physics_options_default();
        gsv_physics_result r;
        gsv_model *m;
        o.grid = 24;
        physics_of(TEXT[k], low, high, &o, &r, &m);
        if (r.stationary) fail_msg("%s has no stationary law", TEXT[k]);
        gsv_physics_free(&r);
        gsv_model_free(m);
    }
}

/* Flows that turn faster than they return: rough grids spread too far, and the
 * range is that of simulated paths, some of which go far by chance. */
static void plane__has_a_law_wherever_a_flow_returns(void **state)
{
    (void)state;
    double low[] = {-1.5, -1.5}, high[] = {1.5, 1.5};
    for (int k = 0; k < 8; k++)
        for (int w = 0; w < 3; w++) {
            gsv_physics_options o = gsv_physics_options_default();
            gsv_physics_result r;
            gsv_model *m;
            char text[200];
            snprintf(text, sizeof text,
                     "state x, y\n dx = (-%g*x - %d*y)*dt + 0.8*dW1\n"
                     "dy = (%d*x - %g*y)*dt + 0.8*dW2",
                     0.7 + 0.1 * k, w + 1, w + 1, 0.7 + 0.1 * k);
            o.grid = 24;
            o.draws = 1;
            physics_of(text, low, high, &o, &r, &m);
            if (!r.stationary) fail_msg("%s has a stationary law", text);
            gsv_physics_free(&r);
            gsv_model_free(m);
        }
}

/* --- Three states --------------------------------------------------------- */

static void cloud__has_the_law_of_a_linear_flow(void **state)
{
    (void)state;
    double low[] = {-1, -1, -1}, high[] = {1, 1, 1};
    gsv_physics_options o = gsv_physics_options_default();
    gsv_physics_result r;
    gsv_model *m;
    physics_of("state x, y, z\n dx = (-x - 2*y)*dt + 0.8*dW1\n"
               "dy = (2*x - y)*dt + 0.8*dW2\n dz = -0.5*z*dt + 0.5*dW3",
               low, high, &o, &r, &m);
    static const double SD[] = {0.565685, 0.565685, 0.5};
    for (size_t i = 0; i < 3; i++) {
        double error = (r.sd[i].high - r.sd[i].low) / 3.92;
        assert_true(fabs(r.sd[i].value - SD[i]) < 4 * error);
        assert_true(error < 0.03);
    }
    double error = (r.entropy.high - r.entropy.low) / 3.92;
    assert_true(fabs(r.entropy.value - 8) < 4 * error && error < 0.5);
    error = log(r.relaxation[0].high / r.relaxation[0].low) / 3.92;
    assert_true(fabs(log(r.relaxation[0].value / 2)) < 4 * error);
    gsv_physics_free(&r);
    gsv_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plane__has_the_law_of_linear_flows),
        cmocka_unit_test(plane__has_laws_that_are_products),
        cmocka_unit_test(plane__has_a_gradient_and_its_potential),
        cmocka_unit_test(plane__times_passages_as_one_state_does),
        cmocka_unit_test(plane__has_the_law_of_an_inert_particle),
        cmocka_unit_test(plane__has_the_law_of_coloured_noise),
        cmocka_unit_test(plane__has_the_means_of_predators_and_prey),
        cmocka_unit_test(plane__says_where_there_is_no_law),
        cmocka_unit_test(plane__has_a_law_wherever_a_flow_returns),
        cmocka_unit_test(cloud__has_the_law_of_a_linear_flow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
