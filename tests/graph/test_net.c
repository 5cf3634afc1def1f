/* SPDX-License-Identifier: MIT */
/* The network against a naive one in double, against finite differences,
 * against itself in the other number, and at the edges of its contract. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "graph/net.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- A problem: a net, its arrays, and guards behind each of them ---- */

struct shape {
    size_t layers, width[8];
};

static const struct shape SHAPES[] = {
    {1, {3, 2}},         {1, {1, 1}},        {2, {1, 1, 1}},
    {2, {1, 5, 1}},      {3, {2, 33, 7, 5}}, {4, {3, 32, 64, 32, 3}},
    {3, {9, 1, 40, 17}}, {2, {70, 71, 3}},   {6, {4, 8, 8, 8, 8, 8, 4}},
};

static const size_t POINTS[] = {1, 7, 25, 64, 65, 97, 320};

enum { GUARD = 64, GUARD_BYTE = 0xA5 };

struct problem {
    struct net net;
    size_t P, params, in, out;
    double *theta, *x, *y_bar, *x_dot;     /* given */
    double *y, *x_bar, *theta_bar, *y_dot; /* wanted */
    unsigned char *packed, *scratch;       /* with a guard each */
};

static uint64_t random_state;

/* Uniform on (-1, 1). */
static double uniform(void)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (double)(int64_t)random_state * 0x1p-63;
}

static double *draw(size_t n, double scale)
{
    double *x = NEW(double, n);
    for (size_t i = 0; i < n; i++)
        x[i] = scale * uniform();
    return x;
}

static unsigned char *guarded(size_t bytes)
{
    unsigned char *block = mem_new(bytes + GUARD, 1);
    memset(block, GUARD_BYTE, bytes + GUARD);
    return block;
}

static bool intact(const unsigned char *block, size_t bytes)
{
    for (size_t i = bytes; i < bytes + GUARD; i++)
        if (block[i] != GUARD_BYTE) return false;
    return true;
}

static struct problem problem_new(const struct shape *shape,
                                  enum activation act, bool in_double, size_t P)
{
    struct problem p = {.net = {shape->layers, shape->width, act, in_double}};
    random_state = 1 + P;
    p.P = P;
    p.in = shape->width[0];
    p.out = shape->width[shape->layers];
    p.params = net_parameters(&p.net);
    p.theta = draw(p.params, 0.7);
    p.x = draw(p.in * P, 2);
    p.y_bar = draw(p.out * P, 1);
    p.x_dot = draw(p.in * P, 1);
    p.y = draw(p.out * P, 1);
    p.y_dot = draw(p.out * P, 1);
    p.x_bar = NEW(double, p.in *P);
    p.theta_bar = NEW(double, p.params);
    p.packed = guarded(net_kernel(&p.net)->packed_size(&p.net));
    p.scratch = guarded(net_kernel(&p.net)->scratch_size(&p.net, P));
    net_kernel(&p.net)->pack(&p.net, p.theta, p.packed);
    return p;
}

static void problem_free(struct problem *p)
{
    double *all[] = {p->theta, p->x,     p->y_bar,     p->x_dot,
                     p->y,     p->x_bar, p->theta_bar, p->y_dot};
    for (size_t i = 0; i < COUNT(all); i++)
        mem_free(all[i]);
    mem_free(p->packed);
    mem_free(p->scratch);
}

/* Forward, jvp, vjp: everything that is wanted. */
static void run(struct problem *p)
{
    net_kernel(&p->net)->forward(&p->net, p->packed, p->P, p->x, p->y,
                                 p->scratch);
    net_kernel(&p->net)->jvp(&p->net, p->packed, p->P, p->x_dot, p->y_dot,
                             p->scratch);
    net_kernel(&p->net)->vjp(&p->net, p->packed, p->P, p->y_bar, p->x_bar,
                             p->theta_bar, p->scratch);
}

typedef void check(const struct shape *shape, enum activation act, size_t P);

static void everywhere(check *claim)
{
    for (size_t s = 0; s < COUNT(SHAPES); s++)
        for (int act = 0; act < ACTIVATIONS; act++)
            for (size_t i = 0; i < COUNT(POINTS); i++)
                claim(&SHAPES[s], (enum activation)act, POINTS[i]);
    const struct shape lorenz = {4, {3, 32, 256, 32, 3}};
    for (int act = 0; act < ACTIVATIONS; act++)
        claim(&lorenz, (enum activation)act, 1000);
}

static void assert_near(double a, double b, double tolerance)
{
    if (!(fabs(a - b) <= tolerance)) fail_msg("%.17g, not %.17g", a, b);
}

/* |a - b| <= tolerance * max |b|, element by element. */
static void assert_close(const double *a, const double *b, size_t n,
                         double tolerance)
{
    double scale = 0;
    for (size_t i = 0; i < n; i++)
        scale = fmax(scale, fabs(b[i]));
    for (size_t i = 0; i < n; i++)
        if (!(fabs(a[i] - b[i]) <= tolerance * scale))
            fail_msg("element %zu of %zu: %.17g, not %.17g", i, n, a[i], b[i]);
}

/* ---- The naive network ---------------------------------------------- */

static long double logistic(long double z)
{
    return z < 0 ? expl(z) / (1 + expl(z)) : 1 / (1 + expl(-z));
}

static long double activation(enum activation act, long double z)
{
    switch (act) {
    case ACT_RELU: return z > 0 ? z : 0;
    case ACT_TANH: return tanhl(z);
    case ACT_SOFTPLUS: return (z > 0 ? z : 0) + log1pl(expl(-fabsl(z)));
    case ACT_SILU: return z * logistic(z);
    case ACTIVATIONS: break;
    }
    return (long double)NAN;
}

static long double slope(enum activation act, long double z)
{
    long double s = logistic(z), c;
    switch (act) {
    case ACT_RELU: return z > 0 ? 1 : 0;
    case ACT_TANH: c = coshl(z); return 1 / (c * c);
    case ACT_SOFTPLUS: return s;
    case ACT_SILU: return s + z * s * logistic(-z);
    case ACTIVATIONS: break;
    }
    return (long double)NAN;
}

enum { WIDEST = 320 };

/* One point on its way up. */
struct trace {
    size_t offset[8];
    double a[8][WIDEST], z[8][WIDEST];
};

static void naive_forward(const struct net *net, const double *theta,
                          const double *x, size_t P, double *y, struct trace *t)
{
    t->offset[0] = 0;
    for (size_t i = 0; i < net->width[0]; i++)
        t->a[0][i] = x[i * P];
    for (size_t l = 0; l < net->layers; l++) {
        size_t in = net->width[l], out = net->width[l + 1];
        const double *W = theta + t->offset[l], *b = W + in * out;
        for (size_t o = 0; o < out; o++) {
            double z = b[o];
            for (size_t i = 0; i < in; i++)
                z += W[o * in + i] * t->a[l][i];
            t->z[l][o] = z;
            t->a[l + 1][o] = (double)activation(net->act, z);
            if (l + 1 == net->layers) y[o * P] = z;
        }
        t->offset[l + 1] = t->offset[l] + (in + 1) * out;
    }
}

static void naive_vjp(const struct net *net, const double *theta, size_t P,
                      const double *y_bar, double *x_bar, double *theta_bar,
                      const struct trace *t)
{
    double bar[WIDEST], next[WIDEST];
    for (size_t o = 0; o < net->width[net->layers]; o++)
        bar[o] = y_bar[o * P];
    for (size_t l = net->layers; l-- > 0;) {
        size_t in = net->width[l], out = net->width[l + 1], at = t->offset[l];
        for (size_t i = 0; i < in; i++) {
            next[i] = 0;
            for (size_t o = 0; o < out; o++) {
                next[i] += theta[at + o * in + i] * bar[o];
                theta_bar[at + o * in + i] += bar[o] * t->a[l][i];
            }
            if (l > 0) next[i] *= (double)slope(net->act, t->z[l - 1][i]);
        }
        for (size_t o = 0; o < out; o++)
            theta_bar[at + in * out + o] += bar[o];
        memcpy(bar, next, in * sizeof *bar);
    }
    for (size_t i = 0; i < net->width[0]; i++)
        x_bar[i * P] += bar[i];
}

static void naive(const struct problem *p, double *y, double *x_bar,
                  double *theta_bar)
{
    struct trace t;
    for (size_t k = 0; k < p->P; k++) {
        naive_forward(&p->net, p->theta, p->x + k, p->P, y + k, &t);
        naive_vjp(&p->net, p->theta, p->P, p->y_bar + k, x_bar + k, theta_bar,
                  &t);
    }
}

static void compare_with_naive(const struct shape *shape, enum activation act,
                               size_t P, bool in_double, double tolerance)
{
    struct problem p = problem_new(shape, act, in_double, P);
    double *y = NEW(double, p.out *P), *x_bar = NEW(double, p.in *P);
    double *theta_bar = NEW(double, p.params);
    run(&p);
    naive(&p, y, x_bar, theta_bar);
    assert_close(p.y, y, p.out * P, tolerance);
    assert_close(p.x_bar, x_bar, p.in * P, tolerance);
    assert_close(p.theta_bar, theta_bar, p.params, tolerance);
    mem_free(y);
    mem_free(x_bar);
    mem_free(theta_bar);
    problem_free(&p);
}

static void wide_is_naive(const struct shape *shape, enum activation act,
                          size_t P)
{
    compare_with_naive(shape, act, P, true, 1e-12);
}

static void float_is_naive(const struct shape *shape, enum activation act,
                           size_t P)
{
    compare_with_naive(shape, act, P, false, 1e-5);
}

static void net__in_double_is_the_naive_network(void **state)
{
    (void)state;
    everywhere(wide_is_naive);
}

static void net__in_float_is_close_to_the_naive_network(void **state)
{
    (void)state;
    everywhere(float_is_naive);
}

/* ---- Derivatives ---------------------------------------------------- */

/* sum of y_bar y: what vjp differentiates. */
static double objective(struct problem *p)
{
    double sum = 0;
    net_kernel(&p->net)->pack(&p->net, p->theta, p->packed);
    net_kernel(&p->net)->forward(&p->net, p->packed, p->P, p->x, p->y,
                                 p->scratch);
    for (size_t i = 0; i < p->out * p->P; i++)
        sum += p->y_bar[i] * p->y[i];
    return sum;
}

static double central_difference(struct problem *p, double *at)
{
    const double h = 1e-5, old = *at;
    *at = old + h;
    double up = objective(p);
    *at = old - h;
    double down = objective(p);
    *at = old;
    return (up - down) / (2 * h);
}

static void vjp_is_difference(const struct shape *shape, enum activation act,
                              size_t P)
{
    if (P > 30) return; /* enough, and the sums stay well conditioned */
    struct problem p = problem_new(shape, act, true, P);
    run(&p);
    double scale = 0;
    for (size_t i = 0; i < p.params; i++)
        scale = fmax(scale, fabs(p.theta_bar[i]));
    for (size_t i = 0; i < p.params; i += 1 + p.params / 50)
        assert_near(central_difference(&p, &p.theta[i]), p.theta_bar[i],
                    1e-7 * scale);
    for (size_t i = 0; i < p.in * P; i += 1 + p.in * P / 50)
        assert_near(central_difference(&p, &p.x[i]), p.x_bar[i],
                    1e-7 * fmax(1, scale));
    problem_free(&p);
}

static void net_vjp__is_the_central_difference(void **state)
{
    (void)state;
    everywhere(vjp_is_difference);
}

static double dot(const double *a, const double *b, size_t n)
{
    double s = 0;
    for (size_t i = 0; i < n; i++)
        s += a[i] * b[i];
    return s;
}

static void jvp_is_adjoint(const struct shape *shape, enum activation act,
                           size_t P)
{
    for (int in_double = 0; in_double < 2; in_double++) {
        struct problem p = problem_new(shape, act, in_double, P);
        run(&p);
        double norm = sqrt(dot(p.y_bar, p.y_bar, p.out * P) *
                           dot(p.y_dot, p.y_dot, p.out * P));
        assert_near(dot(p.y_bar, p.y_dot, p.out * P),
                    dot(p.x_bar, p.x_dot, p.in * P),
                    (in_double ? 1e-13 : 1e-5) * norm);
        problem_free(&p);
    }
}

static void net_jvp__is_the_adjoint_of_vjp(void **state)
{
    (void)state;
    everywhere(jvp_is_adjoint);
}

/* ---- The contract --------------------------------------------------- */

/* The second run finds the scratch as the first one left it, a jvp between
 * forward and vjp only in the first. */
static void same_bits(const struct shape *shape, enum activation act, size_t P)
{
    struct problem p = problem_new(shape, act, false, P);
    struct problem q = problem_new(shape, act, false, P);
    run(&q);
    memset(q.x_bar, 0, p.in * P * sizeof(double));
    memset(q.theta_bar, 0, p.params * sizeof(double));
    net_kernel(&q.net)->forward(&q.net, q.packed, P, q.x, q.y, q.scratch);
    net_kernel(&q.net)->vjp(&q.net, q.packed, P, q.y_bar, q.x_bar, q.theta_bar,
                            q.scratch);
    run(&p);
    assert_memory_equal(p.y, q.y, p.out * P * sizeof(double));
    assert_memory_equal(p.y_dot, q.y_dot, p.out * P * sizeof(double));
    assert_memory_equal(p.x_bar, q.x_bar, p.in * P * sizeof(double));
    assert_memory_equal(p.theta_bar, q.theta_bar, p.params * sizeof(double));
    problem_free(&p);
    problem_free(&q);
}

static void net__gives_the_same_bits_again(void **state)
{
    (void)state;
    everywhere(same_bits);
}

static void stays_inside(const struct shape *shape, enum activation act,
                         size_t P)
{
    for (int in_double = 0; in_double < 2; in_double++) {
        struct problem p = problem_new(shape, act, in_double, P);
        run(&p);
        assert_true(
            intact(p.scratch, net_kernel(&p.net)->scratch_size(&p.net, P)));
        assert_true(intact(p.packed, net_kernel(&p.net)->packed_size(&p.net)));
        problem_free(&p);
    }
}

static void net__stays_inside_its_scratch(void **state)
{
    (void)state;
    everywhere(stays_inside);
}

static void net_vjp__adds_to_what_is_there(void **state)
{
    (void)state;
    struct problem p = problem_new(&SHAPES[5], ACT_TANH, true, 65);
    run(&p);
    double x_bar = p.x_bar[70], theta_bar = p.theta_bar[200];
    net_kernel(&p.net)->vjp(&p.net, p.packed, p.P, p.y_bar, p.x_bar,
                            p.theta_bar, p.scratch);
    assert_near(p.x_bar[70], 2 * x_bar, 1e-15);
    assert_near(p.theta_bar[200], 2 * theta_bar, 1e-13);
    problem_free(&p);
}

static void net_vjp__leaves_out_what_is_not_wanted(void **state)
{
    (void)state;
    struct problem p = problem_new(&SHAPES[5], ACT_SILU, false, 65);
    struct problem q = problem_new(&SHAPES[5], ACT_SILU, false, 65);
    run(&p);
    net_kernel(&q.net)->forward(&q.net, q.packed, q.P, q.x, q.y, q.scratch);
    net_kernel(&q.net)->vjp(&q.net, q.packed, q.P, q.y_bar, q.x_bar, NULL,
                            q.scratch);
    net_kernel(&q.net)->vjp(&q.net, q.packed, q.P, q.y_bar, NULL, q.theta_bar,
                            q.scratch);
    assert_memory_equal(p.x_bar, q.x_bar, p.in * p.P * sizeof(double));
    assert_memory_equal(p.theta_bar, q.theta_bar, p.params * sizeof(double));
    problem_free(&p);
    problem_free(&q);
}

/* Wide enough that no panel fits the first cache. */
static void net__takes_wide_layers(void **state)
{
    (void)state;
    const struct shape shape = {3, {5, 1030, 4096, 2}};
    struct problem p = problem_new(&shape, ACT_SILU, false, 30);
    struct problem q = problem_new(&shape, ACT_SILU, true, 30);
    for (size_t i = 0; i < p.params; i++)
        p.theta[i] = q.theta[i] = p.theta[i] / 16;
    net_kernel(&p.net)->pack(&p.net, p.theta, p.packed);
    net_kernel(&q.net)->pack(&q.net, q.theta, q.packed);
    run(&p);
    run(&q);
    assert_close(p.y, q.y, p.out * p.P, 1e-5);
    assert_close(p.x_bar, q.x_bar, p.in * p.P, 1e-5);
    assert_close(p.theta_bar, q.theta_bar, p.params, 1e-5);
    problem_free(&p);
    problem_free(&q);
}

/* A NaN in one point reaches all of that point's results and the gradient, and
 * no other point. */
static void nan_passes(const struct shape *shape, enum activation act, size_t P)
{
    for (int in_double = 0; in_double < 2; in_double++) {
        struct problem p = problem_new(shape, act, in_double, P);
        size_t bad = P / 2;
        p.x[bad] = NAN;
        run(&p);
        for (size_t i = 0; i < p.out * P; i++)
            assert_true((isnan(p.y[i]) != 0) == (i % P == bad));
        assert_true(isnan(p.theta_bar[0]));
        problem_free(&p);
    }
}

static void net__lets_nan_through(void **state)
{
    (void)state;
    everywhere(nan_passes);
}

/* ---- The functions, through a net that is one of them ---------------- */

static const struct shape ONE = {2, {1, 1, 1}};

/* y = act(x), y_dot = act'(x). */
static struct problem single(enum activation act, bool in_double, size_t P)
{
    struct problem p = problem_new(&ONE, act, in_double, P);
    const double identity[] = {1, 0, 1, 0};
    net_kernel(&p.net)->pack(&p.net, identity, p.packed);
    for (size_t i = 0; i < P; i++)
        p.x_dot[i] = 1;
    return p;
}

enum { SWEEP = 2048 };

/* Every binade from the least float on, both signs, and around 0..100 finely.
 */
static void sweep(enum activation act, bool in_double, double relative,
                  double tiny)
{
    struct problem p = single(act, in_double, SWEEP);
    for (int e = -126; e < 127 + 2 * 100; e++) {
        for (size_t i = 0; i < SWEEP; i++) {
            double u = fabs(uniform()), sign = uniform() < 0 ? -1 : 1;
            double x = e < 127 ? ldexp(1 + u, e) : (e - 127 + u) / 2;
            p.x[i] = sign * (in_double ? x : (double)(float)x);
        }
        net_kernel(&p.net)->forward(&p.net, p.packed, SWEEP, p.x, p.y,
                                    p.scratch);
        net_kernel(&p.net)->jvp(&p.net, p.packed, SWEEP, p.x_dot, p.y_dot,
                                p.scratch);
        for (size_t i = 0; i < SWEEP; i++) {
            double y = (double)activation(act, p.x[i]);
            double dy = (double)slope(act, p.x[i]);
            if (!(fabs(p.y[i] - y) <= relative * fabs(y) + tiny))
                fail_msg("%s(%a) = %a, not %a", activation_name[act], p.x[i],
                         p.y[i], y);
            if (!(fabs(p.y_dot[i] - dy) <= 2 * relative))
                fail_msg("%s'(%a) = %a, not %a", activation_name[act], p.x[i],
                         p.y_dot[i], dy);
        }
    }
    problem_free(&p);
}

/* tiny: what is lost where e^-|x| leaves the normal numbers. */
static void activation__in_float_is_within_5e7(void **state)
{
    (void)state;
    for (int act = 0; act < ACTIVATIONS; act++)
        sweep((enum activation)act, false, 5e-7, 100 * (double)FLT_MIN);
}

static void activation__in_double_is_within_1e15(void **state)
{
    (void)state;
    for (int act = 0; act < ACTIVATIONS; act++)
        sweep((enum activation)act, true, 1e-15, 1000 * DBL_MIN);
}

static void activation__is_finite_at_huge_arguments(void **state)
{
    (void)state;
    for (int act = 0; act < ACTIVATIONS; act++)
        for (int in_double = 0; in_double < 2; in_double++) {
            const double huge = in_double ? DBL_MAX : (double)FLT_MAX;
            struct problem p = single((enum activation)act, in_double, 2);
            p.x[0] = huge;
            p.x[1] = -huge;
            run(&p);
            assert_true(p.y[0] == (act == ACT_TANH ? 1 : huge));
            assert_true(p.y[1] == (act == ACT_TANH ? -1 : 0));
            assert_true(p.y_dot[0] == (act == ACT_TANH ? 0 : 1));
            assert_true(p.y_dot[1] == 0);
            problem_free(&p);
        }
}

static void relu__has_slope_0_at_0(void **state)
{
    (void)state;
    struct problem p = single(ACT_RELU, false, 1);
    p.x[0] = 0;
    run(&p);
    assert_true(p.y[0] == 0 && p.y_dot[0] == 0 && p.x_bar[0] == 0);
    problem_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(net__in_double_is_the_naive_network),
        cmocka_unit_test(net__in_float_is_close_to_the_naive_network),
        cmocka_unit_test(net_vjp__is_the_central_difference),
        cmocka_unit_test(net_jvp__is_the_adjoint_of_vjp),
        cmocka_unit_test(net__gives_the_same_bits_again),
        cmocka_unit_test(net__stays_inside_its_scratch),
        cmocka_unit_test(net_vjp__adds_to_what_is_there),
        cmocka_unit_test(net_vjp__leaves_out_what_is_not_wanted),
        cmocka_unit_test(net__takes_wide_layers),
        cmocka_unit_test(net__lets_nan_through),
        cmocka_unit_test(activation__in_float_is_within_5e7),
        cmocka_unit_test(activation__in_double_is_within_1e15),
        cmocka_unit_test(activation__is_finite_at_huge_arguments),
        cmocka_unit_test(relu__has_slope_0_at_0),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
