/* SPDX-License-Identifier: MIT */
/* States that are functions of the data: drift and diffusion of the data by
 * Ito's lemma against closed forms, and simulation in either coordinates. Maps
 * are set by hand: these claims do not need the language. */
#include "schemes.h"

#include "model/model.h"

/* --- Maps by hand --------------------------------------------------------- */

static node op(struct graph *g, enum op code, node a, node b)
{
    return graph_binary(g, code, a, b);
}

static void set_map(gsv_model *m, node to_state, node to_data, node domain)
{
    struct spec *s = m->spec;
    s->mapped = true;
    s->state_of_data = to_state;
    s->data_of_state = to_data;
    s->map_domain = domain;
    assert_int_equal(to_unit_diffusion(m), 0);
    assert_int_equal(to_data_coordinates(m), 0);
}

/* z = log(x), every element. */
static gsv_model *with_logs(const char *text)
{
    gsv_model *m = model_of(text);
    struct graph *g = m->spec->graph;
    node x = m->spec->state_of_data;
    set_map(m, graph_unary(g, OP_LOG, x), graph_unary(g, OP_EXP, x), x);
    return m;
}

/* x1 = z1 e^z2, x2 = z2 + t. */
static gsv_model *with_joint(const char *text)
{
    gsv_model *m = model_of(text);
    struct graph *g = m->spec->graph;
    node leaf = m->spec->state_of_data;
    node a = graph_slice(g, leaf, 0, 1, 1), b = graph_slice(g, leaf, 1, 1, 1);
    node t = graph_leaf(g, OP_TIME, 0, 1, 1);
    node data[2] = {op(g, OP_MUL, a, graph_unary(g, OP_EXP, b)),
                    op(g, OP_ADD, b, t)};
    node z2 = op(g, OP_SUB, b, t);
    node state[2] = {op(g, OP_DIV, a, graph_unary(g, OP_EXP, z2)), z2};
    set_map(m, graph_stack(g, 2, state, 2, 1), graph_stack(g, 2, data, 2, 1),
            0);
    return m;
}

/* --- The lemma ------------------------------------------------------------ */

static void ito__leaves_plain_states_alone(void **state)
{
    (void)state;
    gsv_model *m = model_of("state x, y\ndx = -x*dt + x*dW\ndy = x*dt + dW");
    assert_true(m->data_drift == m->spec->drift);
    assert_true(m->data_diffusion == m->spec->diffusion);
    double x[2] = {2.0, 3.0}, t = 0.0, f[2], g[4];
    assert_int_equal(gsv_model_drift(m, 1, &t, x, NULL, f), 0);
    assert_int_equal(gsv_model_diffusion(m, 1, &t, x, NULL, g), 0);
    assert_true(f[0] == -2.0 && f[1] == 2.0);
    assert_true(g[0] == 2.0 && g[1] == 0.0 && g[2] == 0.0 && g[3] == 1.0);
    gsv_model_free(m);
}

/* dz = theta (mu - z) dt + s dW: f_x = x (theta (mu - log x) + s^2/2),
 * g_x = s x. */
static void ito__has_the_closed_form_of_the_logarithm(void **state)
{
    (void)state;
    gsv_model *m = with_logs("state x\nparam theta = 1.5, mu = 0.3, s = 0.6\n"
                             "dx = theta*(mu - x)*dt + s*dW");
    const double x[3] = {0.2, 1.0, 7.0}, t[3] = {0.0, 1.0, 2.0};
    double f[3], g[3];
    assert_int_equal(gsv_model_drift(m, 3, t, x, NULL, f), 0);
    assert_int_equal(gsv_model_diffusion(m, 3, t, x, NULL, g), 0);
    for (size_t i = 0; i < 3; i++) {
        assert_near(f[i], x[i] * (1.5 * (0.3 - log(x[i])) + 0.18), 1e-13);
        assert_near(g[i], 0.6 * x[i], 1e-13);
    }
    gsv_model_free(m);
}

/* dz_i = -z_i dt + s_i z_i dW_i: noise that depends on the state moves along.
 */
static void ito__takes_state_dependent_noise_along(void **state)
{
    (void)state;
    gsv_model *m = with_logs("state x[2]\nparam s[2] = [0.5, 0.8]\n"
                             "dx = -x*dt + s*x*dW");
    const double x[6] = {0.4, 2.0, 5.0, 3.0, 0.7, 1.1}, t[3] = {0.0};
    const double rate[2] = {0.5, 0.8};
    double f[6], g[12];
    assert_int_equal(gsv_model_drift(m, 3, t, x, NULL, f), 0);
    assert_int_equal(gsv_model_diffusion(m, 3, t, x, NULL, g), 0);
    for (size_t i = 0; i < 6; i++) {
        double z = log(x[i]), s = rate[i / 3] * z;
        assert_near(f[i], x[i] * (-z + 0.5 * s * s), 1e-13);
        for (size_t j = 0; j < 2; j++)
            assert_near(g[(i / 3 * 2 + j) * 3 + i % 3],
                        j == i / 3 ? x[i] * s : 0.0, 1e-13);
    }
    gsv_model_free(m);
}

/* f_x1 = e^z2 (f1 + z1 f2 + V12 + z1 V22 / 2), f_x2 = f2 + 1, V = g g'. */
static void ito__has_the_closed_form_of_a_joint_map(void **state)
{
    (void)state;
    gsv_model *m = with_joint("state x, y\n"
                              "dx = (y - x)*dt + 0.5*dW1 + 0.2*y*dW2\n"
                              "dy = sin(x)*dt + 0.3*dW1 + 0.7*dW2 + 0.1*dW3");
    const double x[2] = {1.3, 0.9}, t = 0.4;
    double f[2], g[6], z2 = x[1] - t, e = exp(z2), z1 = x[0] / e;
    double G[2][3] = {{0.5, 0.2 * z2, 0.0}, {0.3, 0.7, 0.1}}, V12 = 0.0,
           V22 = 0.0;
    for (size_t j = 0; j < 3; j++) {
        V12 += G[0][j] * G[1][j];
        V22 += G[1][j] * G[1][j];
    }
    assert_int_equal(gsv_model_drift(m, 1, &t, x, NULL, f), 0);
    assert_int_equal(gsv_model_diffusion(m, 1, &t, x, NULL, g), 0);
    assert_near(f[0], e * (z2 - z1 + z1 * sin(z1) + V12 + 0.5 * z1 * V22),
                1e-13);
    assert_near(f[1], sin(z1) + 1.0, 1e-13);
    for (size_t j = 0; j < 3; j++) {
        assert_near(g[j], e * (G[0][j] + z1 * G[1][j]), 1e-13);
        assert_near(g[3 + j], G[1][j], 1e-13);
    }
    gsv_model_free(m);
}

/* An input in the map stands still: the drift has no part of its slope. */
static void ito__takes_inputs_as_they_are(void **state)
{
    (void)state;
    gsv_model *m = model_of("state x\ninput u\ndx = -x*dt + dW");
    struct graph *g = m->spec->graph;
    node x = m->spec->state_of_data, u = graph_leaf(g, OP_INPUT, 0, 1, 1);
    set_map(m, op(g, OP_SUB, x, u), op(g, OP_ADD, x, u), 0);
    const double at = 3.0, t = 0.0, input = 1.0;
    double f;
    assert_int_equal(gsv_model_drift(m, 1, &t, &at, &input, &f), 0);
    assert_near(f, -2.0, 1e-15);
    gsv_model_free(m);
}

/* --- Simulation ----------------------------------------------------------- */

static const char OU[] = "state x\nparam theta = 1.5, mu = 0.3, s = 0.6\n"
                         "dx = theta*(mu - x)*dt + s*dW";
static const char OU_OF_DATA[] =
    "state x\nparam theta = 1.5, mu = 0.3, s = 0.6\n"
    "dx = x*(theta*(mu - log(x)) + s^2/2)*dt + s*x*dW";

/* The states are those of the model without a map, and are mapped at the end.
 */
static void simulate__maps_what_it_writes(void **state)
{
    (void)state;
    enum { TRACKS = 70 };
    gsv_model *mapped = with_logs(OU), *plain = model_of(OU);
    double x[TRACKS], z[TRACKS];
    for (size_t i = 0; i < TRACKS; i++) {
        x[i] = 0.1 + 0.07 * (double)i;
        z[i] = log(x[i]);
    }
    gsv_simulate_options o = OPTIONS(0, 0.5, 2);
    o.tracks = TRACKS;
    o.start = x;
    gsv_series *a = simulate(mapped, &o);
    o.start = z;
    gsv_series *b = simulate(plain, &o);
    for (size_t r = 0; r < TRACKS; r++) {
        assert_true(value(a, 0, r, 0) == x[r]);
        for (size_t k = 1; k < 3; k++)
            assert_near(value(a, 0, r, k), exp(value(b, 0, r, k)), 1e-12);
    }
    gsv_series_free(a);
    gsv_series_free(b);
    gsv_model_free(mapped);
    gsv_model_free(plain);
}

/* Starts that are not given are of the state: 0 is x = 1, and a normal law is
 * one of z. */
static void simulate__draws_starts_of_the_state(void **state)
{
    (void)state;
    gsv_model *m = with_logs(OU);
    gsv_simulate_options o = OPTIONS(0);
    gsv_series *s = simulate(m, &o);
    assert_true(s->value[0] == 1.0);
    gsv_series_free(s);
    o.tracks = 4000;
    o.start_mean = 0.5;
    o.start_sd = 0.2;
    s = simulate(m, &o);
    double mean = 0.0, n = (double)o.tracks;
    for (size_t r = 0; r < s->rows; r++)
        mean += log(s->value[r]) / n;
    assert_near(mean, 0.5, TOLERANCE * 0.2 / sqrt(n));
    gsv_series_free(s);
    gsv_model_free(m);
}

static void simulate__refuses_data_outside_of_the_map(void **state)
{
    (void)state;
    gsv_model *m = with_logs(OU);
    double start[3] = {1.0, 0.0, 2.0};
    gsv_simulate_options o = OPTIONS(0, 1);
    o.tracks = 3;
    o.start = start;
    assert_null(gsv_simulate(m, &o));
    assert_non_null(strstr(gsv_last_error(),
                           "track 2 starts outside of the model's domain"));
    gsv_model_free(m);
}

/* The largest distance at time 1 of tracks in both coordinates. */
static double distance(const gsv_model *a, const gsv_model *b, double step)
{
    enum { TRACKS = 64 };
    double start[TRACKS], worst = 0.0;
    for (size_t i = 0; i < TRACKS; i++)
        start[i] = 1.0;
    gsv_simulate_options o = OPTIONS(0, 1);
    o.tracks = TRACKS;
    o.start = start;
    o.step = step;
    gsv_series *x = simulate(a, &o), *y = simulate(b, &o);
    for (size_t r = 0; r < TRACKS; r++)
        worst = fmax(worst, fabs(value(x, 0, r, 1) - value(y, 0, r, 1)));
    gsv_series_free(x);
    gsv_series_free(y);
    return worst;
}

/* In z with additive noise, in x with noise that depends on the state: the same
 * numbers give paths that come together. */
static void simulate__gives_the_same_paths_in_both_coordinates(void **state)
{
    (void)state;
    gsv_model *z = with_logs(OU), *x = model_of(OU_OF_DATA);
    double far = distance(z, x, 1.0 / 16.0), near = distance(z, x, 1.0 / 256.0);
    print_message("  distance %.2e with 16 steps, %.2e with 256\n", far, near);
    assert_true(near < 2e-3);
    assert_true(near < far / 16.0);
    gsv_model_free(z);
    gsv_model_free(x);
}

/* exp of a normal law: mean and variance at time 1, from other seeds. */
static void simulate__gives_the_same_law_in_both_coordinates(void **state)
{
    (void)state;
    enum { MODELS = 2 };
    gsv_model *m[MODELS] = {with_logs(OU), model_of(OU_OF_DATA)};
    double rho = exp(-1.5), v = 0.36 / 3.0 * (1.0 - rho * rho);
    double mean = exp(0.3 * (1.0 - rho) + 0.5 * v);
    double variance = mean * mean * expm1(v);
    for (size_t i = 0; i < MODELS; i++) {
        const size_t tracks = 20000 / SLOWER;
        double *start = NEW(double, tracks), n = (double)tracks;
        for (size_t r = 0; r < tracks; r++)
            start[r] = 1.0;
        gsv_simulate_options o = OPTIONS(0, 1);
        o.tracks = tracks;
        o.start = start;
        o.seed = 11 + i;
        gsv_series *s = simulate(m[i], &o);
        assert_near(mean_of(s, 0, 1), mean, TOLERANCE * sqrt(variance / n));
        /* The kurtosis of such a law is about 5 here. */
        assert_near(covariance_of(s, 0, 0, 1), variance,
                    TOLERANCE * variance * sqrt(4.0 / n));
        gsv_series_free(s);
        mem_free(start);
        gsv_model_free(m[i]);
    }
}

/* x2 - t and x1 e^-(x2 - t) follow the equations of z. */
static void simulate__maps_jointly_at_every_time(void **state)
{
    (void)state;
    static const char TEXT[] = "state x, y\n"
                               "dx = (y - x)*dt + 0.5*dW1\n"
                               "dy = -y*dt + 0.3*dW1 + 0.7*dW2";
    gsv_model *mapped = with_joint(TEXT), *plain = model_of(TEXT);
    gsv_simulate_options o = OPTIONS(1, 1.5, 3);
    o.tracks = 9;
    o.start_sd = 0.5;
    gsv_series *x = simulate(mapped, &o), *z = simulate(plain, &o);
    for (size_t r = 0; r < 9; r++)
        for (size_t k = 0; k < 3; k++) {
            double z1 = value(z, 0, r, k), z2 = value(z, 1, r, k);
            assert_near(value(x, 0, r, k), z1 * exp(z2), 1e-12);
            assert_near(value(x, 1, r, k), z2 + o.time[k], 1e-12);
        }
    gsv_series_free(x);
    gsv_series_free(z);
    gsv_model_free(mapped);
    gsv_model_free(plain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ito__leaves_plain_states_alone),
        cmocka_unit_test(ito__has_the_closed_form_of_the_logarithm),
        cmocka_unit_test(ito__takes_state_dependent_noise_along),
        cmocka_unit_test(ito__has_the_closed_form_of_a_joint_map),
        cmocka_unit_test(ito__takes_inputs_as_they_are),
        cmocka_unit_test(simulate__maps_what_it_writes),
        cmocka_unit_test(simulate__draws_starts_of_the_state),
        cmocka_unit_test(simulate__refuses_data_outside_of_the_map),
        cmocka_unit_test(simulate__gives_the_same_paths_in_both_coordinates),
        cmocka_unit_test(simulate__gives_the_same_law_in_both_coordinates),
        cmocka_unit_test(simulate__maps_jointly_at_every_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
