/* SPDX-License-Identifier: MIT */
/* What a model's text means: its drift and diffusion are those of the same
 * formulas written in C. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "girsanov.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* At one point: v the parameters' values in order of declaration, u the
 * inputs; f is (dim), g is (dim, noises), zero beforehand. */
struct place {
    const gsv_model *m;
    const double *v, *x, *u;
    double t;
};

struct meaning {
    const char *name, *text;
    size_t dim, noises;
    void (*drift)(const struct place *at, double *f);
    void (*diffusion)(const struct place *at, double *g);
};

static void lorenz_f(const struct place *at, double *f)
{
    const double *x = at->x, *v = at->v;
    f[0] = v[0] * (x[1] - x[0]);
    f[1] = x[0] * (v[1] - x[2]) - x[1];
    f[2] = x[0] * x[1] - 8.0 / 3.0 * x[2];
}

static void lorenz_g(const struct place *at, double *g)
{
    g[0] = g[4] = g[8] = at->v[3];
}

static void ou_f(const struct place *at, double *f)
{
    const double *A = at->v, *mu = at->v + 9;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            f[i] += A[3 * i + j] * (at->x[j] - mu[j]);
}

static void ou_g(const struct place *at, double *g)
{
    for (int i = 0; i < 3; i++)
        g[4 * i] = at->v[12 + i];
}

static void clock_f(const struct place *at, double *f)
{
    f[0] = sin(at->t) * at->x[0];
}

static void clock_g(const struct place *at, double *g)
{
    g[0] = 1.0 + 0.5 * cos(at->v[0] * at->t);
}

static void decay_f(const struct place *at, double *f)
{
    f[0] = -at->x[0];
    f[1] = -at->x[1];
}

static void shared_g(const struct place *at, double *g)
{
    g[0] = at->v[0];
    g[1] = at->v[1];
    g[2] = at->v[2];
}

static void own_shared_g(const struct place *at, double *g)
{
    g[0] = at->v[0];
    g[1] = at->v[1];
    g[3] = at->v[2];
    g[5] = at->v[0] * at->v[1];
}

static void own_g(const struct place *at, double *g)
{
    g[0] = at->v[0];
    g[3] = -2.0 * at->v[0];
}

static void lower_g(const struct place *at, double *g)
{
    g[0] = at->v[0];
    g[2] = at->v[2];
    g[3] = at->v[3];
}

static void scaled_lower_g(const struct place *at, double *g)
{
    double s = at->v[4];
    g[0] = s * at->v[5] * at->v[0];
    g[2] = s * at->v[6] * at->v[2];
    g[3] = s * at->v[6] * at->v[3];
}

static void wide_g(const struct place *at, double *g)
{
    memcpy(g, at->v, 6 * sizeof *g);
}

static void input_f(const struct place *at, double *f)
{
    f[0] = -at->v[0] * (at->x[0] - at->u[0]) + at->u[1] * at->u[1];
}

static void input_g(const struct place *at, double *g)
{
    g[0] = 1.0 + at->u[0] * at->u[0];
}

static void let_f(const struct place *at, double *f)
{
    const double *x = at->x;
    double w[2] = {x[0] + 2.0 * x[1], 3.0 * x[0] + 4.0 * x[1]};
    double e = w[0] * w[1];
    f[0] = e - 9.81 * x[0];
    f[1] = e - 2.0 * 9.81 * x[1];
}

static void unit_g(const struct place *at, double *g)
{
    size_t d = gsv_model_dim(at->m);
    for (size_t i = 0; i < d; i++)
        g[i * (d + 1)] = 1.0;
}

/* A tanh network of 2 inputs, 3 hidden and `outputs`, from weights v. */
static void tanh_net(const double *v, size_t outputs, double a, double b,
                     double *y)
{
    const double *last = v + 9, *bias = last + 3 * outputs;
    for (size_t o = 0; o < outputs; o++) {
        y[o] = bias[o];
        for (int h = 0; h < 3; h++)
            y[o] += last[3 * o + (size_t)h] *
                    tanh(v[2 * h] * a + v[2 * h + 1] * b + v[6 + h]);
    }
}

static void net_f(const struct place *at, double *f)
{
    double here[2], there[2];
    const double *x = at->x;
    tanh_net(at->v, 2, x[0], x[1], here);
    tanh_net(at->v, 2, 2.0 * x[1], at->t, there);
    f[0] = here[1];
    f[1] = there[0] * here[0];
}

static double hamiltonian(const double *x)
{
    return 0.5 * x[1] * x[1] * exp(x[0]) + cos(x[0]) * x[1];
}

static double tanh_hamiltonian(const double *v, double q, double p)
{
    double y;
    tanh_net(v, 1, q, p, &y);
    return y;
}

static const double STEP = 1e-5;

static void formula_gradient_f(const struct place *at, double *f)
{
    for (int i = 0; i < 2; i++) {
        double up[2] = {at->x[0], at->x[1]}, down[2] = {at->x[0], at->x[1]};
        up[i] += STEP;
        down[i] -= STEP;
        double slope = (hamiltonian(up) - hamiltonian(down)) / (2.0 * STEP);
        f[1 - i] = i ? slope : -slope;
    }
}

static void net_gradient_f(const struct place *at, double *f)
{
    double q = at->x[0], p = at->x[1];
    /* Weights are declared after the parameters c and s. */
    const double *v = at->v + 2;
    f[0] =
        (tanh_hamiltonian(v, q, p + STEP) - tanh_hamiltonian(v, q, p - STEP)) /
        (2.0 * STEP);
    f[1] =
        (tanh_hamiltonian(v, q - STEP, p) - tanh_hamiltonian(v, q + STEP, p)) /
            (2.0 * STEP) -
        at->v[0] * p;
}

static void second_param_g(const struct place *at, double *g)
{
    g[0] = g[3] = at->v[1];
}

static void vector_f(const struct place *at, double *f)
{
    const double *x = at->x;
    double e[3] = {exp(x[0]), exp(x[1]), exp(x[2])}, sum = e[0] + e[1] + e[2];
    double dot = 0.5 * x[0] - x[1] + 2.0 * x[2];
    for (int i = 0; i < 3; i++)
        f[i] = e[i] / sum * dot + fmin(x[i], 0.1) + fmax(x[i], x[0]) + x[0] +
               x[1] + x[2];
}

static void algebra_f(const struct place *at, double *f)
{
    f[0] = -3.0 * (at->x[0] + 1.0) + 0.5 * (at->x[0] + 1.0) + 2.0;
}

static void algebra_g(const struct place *at, double *g)
{
    g[0] = -at->v[0] * 2.0 / 4.0 - 2.0;
}

static void order_f(const struct place *at, double *f)
{
    f[0] = at->x[2];
    f[1] = 2.0 * at->x[2];
    f[2] = at->x[0] * at->x[1];
}

static void order_g(const struct place *at, double *g)
{
    (void)at;
    g[0] = 3.0;
    g[4] = 4.0;
    g[8] = 5.0;
}

static void constant_f(const struct place *at, double *f)
{
    (void)at;
    f[0] = f[1] = 1.5;
}

static void uniform_net_f(const struct place *at, double *f)
{
    double y[2];
    tanh_net(at->v, 2, 0.5, -1.0, y);
    f[0] = y[0] * at->x[0];
    f[1] = y[1];
}

static const struct meaning MEANING[] = {
    {"Lorenz",
     "state x, y, z\n"
     "param s = 8, r = 25, b = 8/3  # a constant expression\n"
     "param q = 1.5 > 0\n"
     "dx = s*(y - x)*dt + q*dW\n"
     "dy = (x*(r - z) - y)*dt + q*dW\n"
     "dz = (x*y - b*z)*dt + q*dW\n",
     3, 3, lorenz_f, lorenz_g},
    {"matrix OU",
     "state x[3]\n"
     "param A[3,3] = [-1, 2, 0.5, 0, -2, 1, 0.1, 0.2, -3]\n"
     "param mu[3] = [1, -1, 0.5], s[3] = [1, 2, 3] > 0\n"
     "dx = (A @ (x - mu))*dt + s*dW\n",
     3, 3, ou_f, ou_g},
    {"noise that depends on time",
     "state x\nparam w = 2\n"
     "dx = sin(t)*x*dt + (1 + 0.5*cos(w*t))*dW\n",
     1, 1, clock_f, clock_g},
    {"shared noises",
     "state x, y\nparam a = 1, b = 2, c = 3\n"
     "dx = -x*dt + a*dW1 + b*dW2\n"
     "dy = -y*dt + c*dW1\n",
     2, 2, decay_f, shared_g},
    {"shared noises, numbered at will",
     "state x, y\nparam a = 1, b = 2, c = 3\n"
     "dx = -x*dt + a*dW7 + b*dW2\n"
     "dy = -y*dt + c*dW7\n",
     2, 2, decay_f, shared_g},
    {"own and shared noise",
     "state x, y\nparam a = 1.5, b = 2, c = 3\n"
     "dx = -x*dt + a*dW1 + b*dW\n"
     "dy = -y*dt + c*dW1 + a*b*dW\n",
     2, 3, decay_f, own_shared_g},
    {"a numbered noise of one equation is its own",
     "state x, y\nparam a = 1.5\n"
     "dx = -x*dt + a*dW1\n"
     "dy = -y*dt - 2*a*dW2\n",
     2, 2, decay_f, own_g},
    {"L @ dW",
     "state x[2]\nparam L[2,2] lower = [1, 0, 0.5, 2]\n"
     "dx = -x*dt + L @ dW\n",
     2, 2, decay_f, lower_g},
    {"s*(L @ dW)",
     "state x[2]\nparam L[2,2] lower = [1, 0, 0.5, 2]\n"
     "param s = 3, r[2] = [2, 4]\n"
     "dx = -x*dt + s*(r*(L @ dW))\n",
     2, 2, decay_f, scaled_lower_g},
    {"a matrix wider than high",
     "state x[2]\nparam B[2,3] = [1, 2, 3, 4, 5, 7]\n"
     "dx = -x*dt + B @ dW\n",
     2, 3, decay_f, wide_g},
    {"inputs",
     "state x\ninput u\ninput w hold\nparam a = 2\n"
     "dx = (-a*(x - u) + w^2)*dt + (1 + u^2)*dW\n",
     1, 1, input_f, input_g},
    {"const and let",
     "const g = 9.81, B[2,2] = [1, 2, 3, 4], k[2] = [1, 2]\n"
     "state x[2]\n"
     "let w = B @ x\nlet e[2] = w[1]*w[2]\n"
     "dx = (e - k*g*x)*dt + dW\n",
     2, 2, let_f, unit_g},
    {"a network at other arguments",
     "state x, y\nnet f(x, y) -> 2 : 3 tanh\n"
     "dx = f[2]*dt + dW\n"
     "dy = f(2*y, t)[1]*f[1]*dt + dW\n",
     2, 2, net_f, unit_g},
    {"a network at constant arguments",
     "state x, y\nnet f(x, y) -> 2 : 3 tanh\n"
     "let c = f(0.5, -1)\n"
     "dx = c[1]*x*dt + dW\n"
     "dy = c[2]*dt + dW\n",
     2, 2, uniform_net_f, unit_g},
    {"the gradient of a formula",
     "state q, p\nlet H = p^2*exp(q)/2 + cos(q)*p\n"
     "dq = grad(H, p)*dt + dW\n"
     "dp = -grad(H, q)*dt + dW\n",
     2, 2, formula_gradient_f, unit_g},
    {"the gradient of a formula by a vector",
     "state z[2]\nlet H = z[2]^2*exp(z[1])/2 + cos(z[1])*z[2]\n"
     "const J[2,2] = [0, 1, -1, 0]\n"
     "dz = (J @ grad(H, z))*dt + dW\n",
     2, 2, formula_gradient_f, unit_g},
    {"the gradient of a network",
     "state q, p\nnet H(q, p) -> 1 : 3 tanh\n"
     "param c = 0.1 > 0, s = 0.3 > 0\n"
     "dq = grad(H, p)*dt + s*dW\n"
     "dp = (-grad(H, q) - c*p)*dt + s*dW\n",
     2, 2, net_gradient_f, second_param_g},
    {"functions of vectors",
     "state x[3]\nconst w[3] = [0.5, -1, 2]\n"
     "dx = (softmax(x)*dot(w, x) + min(x, 0.1) + max(x, x[1]) + sum(x))*dt "
     "+ dW\n",
     3, 3, vector_f, unit_g},
    {"terms in any order, with brackets",
     "state x\nparam s = 1.5\n"
     "dx = -dW*s*2/4 - (x + 1)*dt*3 - 2*(dW - dt) + (x + 1)*(dt/2)\n",
     1, 1, algebra_f, algebra_g},
    {"equations in another order than states",
     "state x[2], y\n"
     "dy = x[1]*x[2]*dt + 5*dW\n"
     "dx = [y, 2*y]*dt + [3, 4]*dW\n",
     3, 3, order_f, order_g},
    {"one number for a vector", "state x[2]\ndx = 1.5*dt + dW\n", 2, 2,
     constant_f, unit_g},
};

static gsv_model *parse(const char *text)
{
    gsv_model *m = gsv_model_parse(text, "test.sde");
    if (!m) fail_msg("%s", gsv_last_error());
    return m;
}

static double random_number(void)
{
    static uint64_t z = 7;
    z = z * 6364136223846793005u + 1442695040888963407u;
    return (double)(z >> 11) / 4503599627370496.0 - 1.0; /* in (-1, 1) */
}

enum { N = 7, MOST = 32 };

static void compare(const char *name, const char *what, size_t rows, size_t k,
                    const double *got, const double *wanted)
{
    for (size_t r = 0; r < rows; r++)
        if (!(fabs(got[r * N + k] - wanted[r]) < 1e-8 * (1 + fabs(wanted[r]))))
            fail_msg("%s: %s %zu is %.15g, not %.15g", name, what, r,
                     got[r * N + k], wanted[r]);
}

static void check_meaning(const struct meaning *c)
{
    gsv_model *m = parse(c->text);
    double x[MOST * N], t[N], u[MOST * N], f[MOST * N], g[MOST * N];
    for (size_t i = 0; i < COUNT(x); i++) {
        x[i] = random_number();
        u[i] = random_number();
    }
    for (size_t k = 0; k < N; k++)
        t[k] = 3.0 * random_number();
    assert_int_equal(gsv_model_dim(m), c->dim);
    assert_int_equal(gsv_model_noises(m), c->noises);
    assert_int_equal(gsv_model_drift(m, N, t, x, u, f), 0);
    assert_int_equal(gsv_model_diffusion(m, N, t, x, u, g), 0);
    for (size_t k = 0; k < N; k++) {
        double at_x[MOST], at_u[MOST], wanted[MOST] = {0};
        for (size_t r = 0; r < MOST; r++) {
            at_x[r] = x[r * N + k];
            at_u[r] = u[r * N + k];
        }
        struct place at = {m, gsv_model_value(m), at_x, at_u, t[k]};
        c->drift(&at, wanted);
        compare(c->name, "drift", c->dim, k, f, wanted);
        memset(wanted, 0, sizeof wanted);
        c->diffusion(&at, wanted);
        compare(c->name, "diffusion", c->dim * c->noises, k, g, wanted);
    }
    gsv_model_free(m);
}

static void models__mean_what_they_say(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(MEANING); i++)
        check_meaning(&MEANING[i]);
}

/* --- Functions ----------------------------------------------------------- */

static double logistic(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

static void functions__are_those_of_the_language(void **state)
{
    (void)state;
    const double x = 0.4;
    const struct {
        const char *text;
        double value;
    } CASE[] = {
        {"exp(x)", exp(x)},
        {"log(x)", log(x)},
        {"log1p(x)", log1p(x)},
        {"expm1(x)", expm1(x)},
        {"sqrt(x)", sqrt(x)},
        {"sin(x)", sin(x)},
        {"cos(x)", cos(x)},
        {"tan(x)", tan(x)},
        {"asin(x)", asin(x)},
        {"acos(x)", acos(x)},
        {"atan(x)", atan(x)},
        {"sinh(x)", sinh(x)},
        {"cosh(x)", cosh(x)},
        {"tanh(x)", tanh(x)},
        {"asinh(x)", asinh(x)},
        {"erf(x)", erf(x)},
        {"atan2(x, -1)", atan2(x, -1.0)},
        {"floor(-x)", -1.0},
        {"sign(-x)", -1.0},
        {"mod(-x, 1.5)", 1.5 - x},
        {"(x > 0.3)", 1.0},
        {"where(x < 0.3, sqrt(-x), 2)", 2.0},
        {"abs(-x)", x},
        {"min(x, 0.1)", 0.1},
        {"max(x, 0.1)", x},
        {"pow(x, 1.7)", pow(x, 1.7)},
        {"x^-1.7", pow(x, -1.7)},
        {"2^x", pow(2.0, x)},
        {"-x^2", -x * x},
        {"2^3^x", pow(2.0, pow(3.0, x))},
        {"sigmoid(x)", logistic(x)},
        {"logit(x)", log(x / (1.0 - x))},
        {"softplus(x)", log1p(exp(x))},
        {"relu(-x)", 0.0},
        {"silu(x)", x * logistic(x)},
        {"sum([x, 2, 3])", x + 5.0},
        {"dot([x, 2], [3, x])", 5.0 * x},
        {"softmax([x, 2*x])[2]", logistic(x)},
        {"grad(x^3, x)", 3.0 * x * x},
        {"grad(sin(t)*x, t)", cos(0.3) * x},
        {"2*pi", 2.0 * acos(-1.0)},
        {"t", 0.3},
    };
    for (size_t i = 0; i < COUNT(CASE); i++) {
        char text[200];
        double f, t = 0.3;
        snprintf(text, sizeof text, "state x\ndx = (%s)*dt + dW\n",
                 CASE[i].text);
        gsv_model *m = parse(text);
        assert_int_equal(gsv_model_drift(m, 1, &t, &x, NULL, &f), 0);
        if (!(fabs(f - CASE[i].value) < 1e-14))
            fail_msg("%s is %.17g, not %.17g", CASE[i].text, f, CASE[i].value);
        gsv_model_free(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models__mean_what_they_say),
        cmocka_unit_test(functions__are_those_of_the_language),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
