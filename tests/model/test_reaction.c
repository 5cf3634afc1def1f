/* SPDX-License-Identifier: MIT */
/* Reactions against the same models written out with a noise for each: drift
 * and covariance of the noise at random points, also where rates are negative;
 * and that derivatives are finite at empty states. */
#include "schemes.h"

#include "graph/build.h"
#include "model/model.h"

static const struct pair {
    const char *declared, *reactions, *equations;
    enum noise_kind kind;
} PAIR[] = {
    {"state X\nparam k = 3\n", "reaction 0 -> X : k\n",
     "dX = k*dt + sqrt(max(k, 0))*dW\n", NOISE_ADDITIVE},
    {"state X\nparam k = 3 > 0, d = 0.5 > 0\n",
     "reaction 0 -> X : k\nreaction X -> 0 : d*X\n",
     "let g = sqrt(max(d*X, 0))\ndX = (k - d*X)*dt + sqrt(k)*dW1 - g*dW2\n",
     NOISE_BRIDGED},
    {"state S, I, R\nparam b = 0.3 > 0, c = 2 > 0\n",
     "reaction S + I -> 2 I : b*S*I\nreaction I -> R : c*I\n",
     "let g = sqrt(max(b*S*I, 0)), h = sqrt(max(c*I, 0))\n"
     "dS = -b*S*I*dt - g*dW1\n"
     "dI = (b*S*I - c*I)*dt + g*dW1 - h*dW2\n"
     "dR = c*I*dt + h*dW2\n",
     NOISE_SINGULAR},
    {"state X, Y\nparam k = 0.1 > 0\n",
     "reaction 2 X + Y -> 3 X : k*X*(X - 1)*Y\nreaction 0 -> Y : exp(t)\n"
     "reaction X -> 0 : X\n",
     "let r = k*X*(X - 1)*Y, g = sqrt(max(r, 0)), h = sqrt(max(X, 0))\n"
     "dX = (r - X)*dt + g*dW1 - h*dW3\n"
     "dY = (exp(t) - r)*dt - g*dW1 + sqrt(exp(t))*dW2\n",
     NOISE_BRIDGED},
    {"state X\ninput u hold\n", "reaction 0 -> 5 X : u*X\n",
     "dX = 5*u*X*dt + 5*sqrt(max(u*X, 0))*dW\n", NOISE_BRIDGED},
    {"state x[3]\n",
     "reaction x[1] -> 2 x[3] : x[1]\nreaction 3 x[3] -> x[1] : x[3]\n",
     "let g = sqrt(max(x[1], 0)), h = sqrt(max(x[3], 0))\n"
     "dx = [x[3] - x[1], 0, 2*x[1] - 3*x[3]]*dt + [-g, 0, 2*g]*dW1 + "
     "[h, 0, -3*h]*dW2\n",
     NOISE_SINGULAR},
    {"state X, Y\nparam a = 1, s = 0.2 > 0, k = 4 > 0\n",
     "dX = -a*X*dt + s*dW\nreaction 0 -> X + Y : k\n"
     "dY = (X - Y)*dt + 0.1*dW3\n",
     "dX = (k - a*X)*dt + s*dW1 + sqrt(k)*dW2\n"
     "dY = (k + X - Y)*dt + 0.1*dW3 + sqrt(k)*dW2\n",
     NOISE_ADDITIVE},
    {"state X, v[2]\n", "dv = -v*dt\nreaction X -> 0 : v[1]*X/(1 + X^2)\n",
     "let r = v[1]*X/(1 + X^2)\ndv = -v*dt\ndX = -r*dt - sqrt(max(r, 0))*dW\n",
     NOISE_SINGULAR},
};

enum { P = 64, MOST = 4 };

/* At random points, to drift (dim, P) and covariance (dim, dim, P). */
static void evaluate_model(const gsv_model *m, double *drift, double *cov)
{
    struct graph *g = m->spec->graph;
    size_t d = m->spec->dim;
    node G = m->spec->diffusion;
    if (m->spec->diagonal) {
        node element[MOST * MOST] = {0};
        for (size_t i = 0; i < d; i++)
            element[i * d + i] = graph_slice(g, G, i, 1, 1);
        G = graph_stack(g, d * d, element, d, d);
    }
    node square = graph_matmul(g, G, graph_transpose(g, G));
    double *z = normals((d + 2) * P, 5);
    const struct points in = {.P = P,
                              .state = z,
                              .time = z + d * P,
                              .input = z + (d + 1) * P,
                              .slope = z};
    assert_int_equal(model_evaluate(m, m->spec->drift, &in, true, drift), 0);
    assert_int_equal(model_evaluate(m, square, &in, true, cov), 0);
    mem_free(z);
}

static gsv_model *model_with(const char *declared, const char *rest)
{
    char text[2000];
    snprintf(text, sizeof text, "%s%s", declared, rest);
    return model_of(text);
}

static void expect_equal(const struct pair *row, const char *what, size_t n,
                         const double *a, const double *b)
{
    for (size_t i = 0; i < n; i++)
        if (!(fabs(a[i] - b[i]) <= 1e-13 * (1.0 + fabs(b[i]))))
            fail_msg("%s%s[%zu] is %g, written out %g", row->reactions, what, i,
                     a[i], b[i]);
}

static void reaction__is_its_equations_written_out(void **state)
{
    (void)state;
    static double f[2][MOST * P], c[2][MOST * MOST * P];
    for (size_t i = 0; i < COUNT(PAIR); i++) {
        const struct pair *row = &PAIR[i];
        gsv_model *a = model_with(row->declared, row->reactions);
        gsv_model *b = model_with(row->declared, row->equations);
        size_t d = a->spec->dim;
        if (a->spec->noise != row->kind)
            fail_msg("%snoise %d", row->reactions, (int)a->spec->noise);
        assert_int_equal(a->spec->noises, b->spec->noises);
        evaluate_model(a, f[0], c[0]);
        evaluate_model(b, f[1], c[1]);
        expect_equal(row, "drift", d * P, f[0], f[1]);
        expect_equal(row, "covariance", d * d * P, c[0], c[1]);
        gsv_model_free(a);
        gsv_model_free(b);
    }
}

/* Of each noise along each state: at 0, where roots have none, and below. */
static void reaction__has_finite_derivatives_at_empty_states(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(PAIR); i++) {
        gsv_model *m = model_with(PAIR[i].declared, PAIR[i].reactions);
        struct graph *g = m->spec->graph;
        size_t d = m->spec->dim, n = d * m->spec->noises;
        node leaf = graph_leaf(g, OP_STATE, 0, d, 1);
        double z[MOST * 2] = {0}, t[2] = {0}, out[2 * MOST * MOST];
        for (size_t k = 0; k < d; k++)
            z[2 * k + 1] = -1.0;
        const struct points in = {
            .P = 2, .state = z, .time = t, .input = t, .slope = t};
        for (size_t k = 0; !m->spec->diagonal && k < d; k++) {
            node along = graph_pad(g, graph_number(g, 1.0), k, d, 1);
            node slope = graph_directional(g, m->spec->diffusion, leaf, along);
            assert_int_equal(model_evaluate(m, slope, &in, true, out), 0);
            for (size_t j = 0; j < 2 * n; j++)
                assert_true(isfinite(out[j]));
        }
        gsv_model_free(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reaction__is_its_equations_written_out),
        cmocka_unit_test(reaction__has_finite_derivatives_at_empty_states),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
