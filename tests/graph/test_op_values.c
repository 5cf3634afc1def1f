/* SPDX-License-Identifier: MIT */
/* The values of operations: against libm, at extreme arguments, at kinks, and
 * with NaN, which must never get lost. */
#include "trial.h"

/* --- Help ---------------------------------------------------------------- */

/* A node's values at P points of a state with `rows` rows; for one output. */
static void run_node(struct trial *s, node out, size_t P, const double *x,
                     double *y)
{
    struct bench b;
    bench_open(&b, s, 1, &out, P);
    memcpy(s->x, x, s->rows * P * sizeof *x);
    memcpy(y, bench_run(&b, s), b.size * sizeof *y);
    bench_close(&b);
}

/* d out / d row at the point where row r of the state is x[r]. */
static void slopes(struct trial *s, node out, const double *x, double *slope)
{
    struct bench b;
    double one = 1.0;
    const double *bar = &one;
    bench_open(&b, s, 1, &out, 1);
    memcpy(s->x, x, s->rows * sizeof *x);
    bench_run(&b, s);
    memset(slope, 0, s->rows * sizeof *slope);
    double uniform_bar[64] = {0};
    assert_true(program_uniforms(b.program) <= COUNT(uniform_bar));
    program_vjp(b.program, &b.u, &b.w, &b.in, &bar, slope, uniform_bar);
    bench_close(&b);
}

/* The value and slope of a function of one number, and its slope again as the
 * symbolic derivative has it. */
static double value_at(enum op op, double x)
{
    struct trial s;
    double y;
    trial_begin(&s, OP_TABLE[op].name);
    node in = trial_take(&s, POINT, 1, 1, 0.0, 1.0);
    run_node(&s, graph_unary(s.g, op, in), 1, &x, &y);
    trial_end(&s);
    return y;
}

static double slope_at(enum op op, double x, bool symbolic)
{
    struct trial s;
    double slope, whole[TRIAL_ROWS];
    trial_begin(&s, OP_TABLE[op].name);
    node y = graph_unary(s.g, op, trial_take(&s, POINT, 1, 1, 0.0, 1.0));
    if (symbolic) run_node(&s, graph_gradient(s.g, y, s.state), 1, &x, whole);
    else slopes(&s, y, &x, &slope);
    trial_end(&s);
    return symbolic ? whole[0] : slope;
}

/* --- Values -------------------------------------------------------------- */

static double ref_neg(double x)
{
    return -x;
}

static double ref_sign(double x)
{
    return x > 0 ? 1 : x < 0 ? -1 : 0;
}

static double ref_step(double x)
{
    return x > 0 ? 1 : 0;
}

static double ref_sigmoid(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

static double ref_logit(double x)
{
    return log(x) - log1p(-x);
}

static double ref_softplus(double x)
{
    return log1p(exp(x));
}

static double ref_relu(double x)
{
    return fmax(x, 0.0);
}

static double ref_silu(double x)
{
    return x / (1.0 + exp(-x));
}

/* Far up, where a few terms of the series are all. */
static double ref_digamma(double x)
{
    long double z = x, sum = 0.0L;
    if (x <= 0.0 && x == floor(x)) return NAN;
    for (; z < 2000.0L; z += 1.0L)
        sum -= 1.0L / z;
    long double w = 1.0L / (z * z);
    return (double)(sum + logl(z) - 0.5L / z - w / 12 + w * w / 120);
}

static double ref_stop(double x)
{
    return x;
}

static double (*const REFERENCE[OPS])(double) = {
    [OP_NEG] = ref_neg,     [OP_EXP] = exp,
    [OP_LOG] = log,         [OP_LOG1P] = log1p,
    [OP_EXPM1] = expm1,     [OP_SQRT] = sqrt,
    [OP_SIN] = sin,         [OP_COS] = cos,
    [OP_TAN] = tan,         [OP_ASIN] = asin,
    [OP_ACOS] = acos,       [OP_ATAN] = atan,
    [OP_SINH] = sinh,       [OP_COSH] = cosh,
    [OP_TANH] = tanh,       [OP_ASINH] = asinh,
    [OP_ABS] = fabs,        [OP_SIGN] = ref_sign,
    [OP_STEP] = ref_step,   [OP_SIGMOID] = ref_sigmoid,
    [OP_LOGIT] = ref_logit, [OP_SOFTPLUS] = ref_softplus,
    [OP_RELU] = ref_relu,   [OP_SILU] = ref_silu,
    [OP_LGAMMA] = lgamma,   [OP_DIGAMMA] = ref_digamma,
    [OP_STOP] = ref_stop,   [OP_ERF] = erf,
    [OP_FLOOR] = floor,
};

static void expect_like(const char *name, double x, double got, double wanted)
{
    bool same = isnan(wanted) ? isnan(got)
                              : got == wanted || fabs(got - wanted) <=
                                                     4e-15 * (1 + fabs(wanted));
    if (!same) fail_msg("%s(%g) is %.17g, not %.17g", name, x, got, wanted);
}

static void expect_exact(const char *name, double got, double wanted)
{
    if (!(got == wanted)) fail_msg("%s is %.17g, not %g", name, got, wanted);
}

/* Over a block, and folded; outside of the domain libm says what is right. */
static void check_values(enum op op, const char *name)
{
    if (!REFERENCE[op]) fail_msg("'%s' has no reference in this test", name);
    struct trial s;
    double x[TRIAL_P], y[TRIAL_P];
    for (size_t i = 0; i < TRIAL_P; i++)
        x[i] = i < 8 ? (double)i - 4.0 : random_in(-3.0, 3.0);
    trial_begin(&s, name);
    node in = trial_take(&s, POINT, 1, 1, 0.0, 1.0);
    run_node(&s, graph_unary(s.g, op, in), TRIAL_P, x, y);
    for (size_t i = 0; i < TRIAL_P; i++) {
        /* Signed zeros are not told apart: log(-0) is log(0) here. */
        expect_like(name, x[i], y[i], REFERENCE[op](x[i]));
        expect_like(name, x[i], op_fold(op, x[i], 0.0), REFERENCE[op](x[i]));
    }
    trial_end(&s);
}

static void unary__values_are_those_of_libm(void **state)
{
    (void)state;
#define CHECK(ID, NAME, ...) check_values(OP_##ID, #NAME);
    UNARY_OPS(CHECK)
#undef CHECK
}

static double reference_pair(enum op op, double x, double y)
{
    switch ((int)op) {
    case OP_ADD: return x + y;
    case OP_SUB: return x - y;
    case OP_MUL: return x * y;
    case OP_DIV: return x / y;
    case OP_POW: return pow(x, y);
    case OP_MIN: return fmin(x, y);
    case OP_MAX: return fmax(x, y);
    case OP_ATAN2: return atan2(x, y);
    case OP_MOD: return x - y * floor(x / y);
    case OP_GREATER: return x > y ? 1.0 : 0.0;
    case OP_LESS: return x < y ? 1.0 : 0.0;
    case OP_AT_LEAST: return x >= y ? 1.0 : 0.0;
    case OP_AT_MOST: return x <= y ? 1.0 : 0.0;
    case OP_PICK: return x == 0.0 ? 0.0 : y;
    case OP_GUARD: return x == 0.0 ? 0.5 : y;
    case OP_EXPM1_RATIO: return y == 0.0 ? x : expm1(x * y) / y;
    case OP_LOG1P_RATIO: return y == 0.0 ? x : log1p(x * y) / y;
    case OP_SINH_RATIO:
        return y > 0.0   ? sinh(sqrt(y) * x) / sqrt(y)
               : y < 0.0 ? sin(sqrt(-y) * x) / sqrt(-y)
                         : x;
    case OP_ATANH_RATIO:
        return y > 0.0   ? atanh(sqrt(y) * x) / sqrt(y)
               : y < 0.0 ? atan(sqrt(-y) * x) / sqrt(-y)
                         : x;
    default: fail_msg("'%s' has no reference in this test", OP_TABLE[op].name);
    }
    return NAN;
}

static void binary__values_are_those_of_libm(void **state)
{
    (void)state;
#define CHECK(ID, NAME, ...)                                                   \
    for (int i = 0; i < 100; i++) {                                            \
        double x = random_in(-2, 2), y = i < 9 ? i - 4 : random_in(-2, 2);     \
        expect_like(#NAME, x, op_fold(OP_##ID, x, y),                          \
                    reference_pair(OP_##ID, x, y));                            \
    }
    BINARY_OPS(CHECK)
#undef CHECK
}

/* --- Extremes ------------------------------------------------------------ */

static void extremes__neither_overflow_nor_lose_digits(void **state)
{
    (void)state;
    static const struct {
        enum op op;
        double x, value, slope;
    } CASE[] = {
        {OP_SOFTPLUS, 800, 800, 1},
        {OP_SOFTPLUS, -800, 0, 0},
        {OP_SOFTPLUS, -50, 1.9287498479639178e-22, 1.9287498479639178e-22},
        {OP_SIGMOID, 800, 1, 0},
        {OP_SIGMOID, -800, 0, 0},
        {OP_SIGMOID, -700, 9.8596765437597708e-305, 9.8596765437597708e-305},
        {OP_SILU, 800, 800, 1},
        {OP_SILU, -800, 0, 0},
        {OP_TANH, 800, 1, 0},
        {OP_TANH, -800, -1, 0},
        {OP_LOG1P, 1e-20, 1e-20, 1},
        {OP_EXPM1, 1e-20, 1e-20, 1},
        {OP_EXPM1, -800, -1, 0},
        {OP_ATAN, 1e300, 1.5707963267948966, 0},
        {OP_RELU, 1e300, 1e300, 1},
        {OP_RELU, -1e300, 0, 0},
        {OP_EXP, -800, 0, 0},
        {OP_EXP, 800, INFINITY, INFINITY},
        {OP_LOG, 0, -INFINITY, INFINITY},
        {OP_SQRT, 0, 0, INFINITY},
        {OP_LOGIT, 1e-300, -690.7755278982137, 1e300},
        /* digamma(1) is minus Euler's constant, trigamma(1) is pi^2 / 6. */
        {OP_LGAMMA, 1, 0, -0.57721566490153286},
        {OP_LGAMMA, 0.5, 0.57236494292470009, -1.9635100260214235},
        {OP_LGAMMA, 1e-200, 460.51701859880914, -1e200},
        {OP_LGAMMA, 1e10, 220258509288.81058, 23.025850929890457},
        {OP_DIGAMMA, 1, -0.57721566490153286, 1.6449340668482264},
        {OP_DIGAMMA, 0.5, -1.9635100260214235, 4.9348022005446793},
        {OP_DIGAMMA, 1e8, 18.420680738952365, 1.000000005e-8},
        {OP_DIGAMMA, 1e-100, -1e100, 1e200},
    };
    for (size_t i = 0; i < COUNT(CASE); i++) {
        enum op op = CASE[i].op;
        double x = CASE[i].x, at[3] = {value_at(op, x), slope_at(op, x, false),
                                       slope_at(op, x, true)};
        for (int k = 0; k < 3; k++) {
            double wanted = k ? CASE[i].slope : CASE[i].value;
            if (at[k] == wanted || fabs(at[k] / wanted - 1.0) < 1e-14) continue;
            fail_msg("%s%s at %g is %.17g, not %.17g", OP_TABLE[op].name,
                     k ? "'" : "", x, at[k], wanted);
        }
    }
}

/* Values and slopes by both, through y = 0, where they are x and 1, and
 * x^2 / 2 and -x^2 / 2 by y. */
static void ratios__have_no_hole_at_zero(void **state)
{
    (void)state;
    static const double Y[] = {0.0,  1e-300, 1e-20, -1e-12, 1e-9, -1e-8, 1e-7,
                               1e-5, -1e-3,  0.02,  -0.1,   0.2,  0.45,  -0.5};
    static const double X[] = {-1.5, 0.3, 1.7};
    for (enum op op = OP_EXPM1_RATIO; op <= OP_LOG1P_RATIO; op++)
        for (size_t i = 0; i < COUNT(Y) * COUNT(X); i++) {
            struct trial s;
            double x[2] = {X[i % COUNT(X)], Y[i / COUNT(X)]}, slope[2];
            long double a = (long double)x[0] * x[1], z = x[0], by_y;
            bool grows = op == OP_EXPM1_RATIO;
            if (x[1] != 0.0) z = (grows ? expm1l(a) : log1pl(a)) / x[1];
            by_y = grows ? a * expl(a) - expm1l(a) : a / (1 + a) - log1pl(a);
            by_y = by_y / (a * a);
            if (fabsl(a) < 1e-4L) /* three terms of the series */
                by_y = grows ? 0.5L + a / 3 + a * a / 8
                             : -0.5L + a * 2 / 3 - a * a * 3 / 4;
            by_y *= (long double)x[0] * x[0];
            trial_begin(&s, OP_TABLE[op].name);
            node u = trial_take(&s, POINT, 1, 1, 0.0, 1.0);
            node v = trial_take(&s, POINT, 1, 1, 0.0, 1.0);
            slopes(&s, graph_binary(s.g, op, u, v), x, slope);
            expect_like(s.what, x[1], op_fold(op, x[0], x[1]), (double)z);
            expect_like("by x", x[1], slope[0],
                        (double)(grows ? expl(a) : 1 / (1 + a)));
            /* Of the formula for large a, some digits are lost near 0.1. */
            expect_near(&s, "by y", slope[1], (double)by_y, 2e-14);
            trial_end(&s);
        }
}

/* d/dy of sinh(k x) / k and atanh(k x) / k, k^2 = y, by their series. */
static long double square_ratio_slope(enum op op, long double x, long double y)
{
    long double sum = 0.0L, term = x * x * x;
    for (int k = 1; k < 400; k++) {
        if (op == OP_SINH_RATIO) term /= 2.0L * k * (2.0L * k + 1.0L);
        sum += term * k / (op == OP_SINH_RATIO ? 1.0L : 2.0L * k + 1.0L);
        term *= x * x * y;
    }
    return sum;
}

static void square_ratios__have_no_hole_at_zero(void **state)
{
    (void)state;
    static const double Y[] = {0.0,   1e-300, 1e-20, -1e-12, 1e-9, -1e-8, 1e-5,
                               -1e-3, 0.02,   -0.1,  0.2,    0.45, -0.5,  0.9};
    static const double X[] = {-0.9, 0.3, 0.8};
    for (enum op op = OP_SINH_RATIO; op <= OP_ATANH_RATIO; op++)
        for (size_t i = 0; i < COUNT(Y) * COUNT(X); i++) {
            struct trial s;
            double x[2] = {X[i % COUNT(X)], Y[i / COUNT(X)]}, slope[2];
            long double a = (long double)x[0] * x[0] * x[1];
            long double k = sqrtl(fabsl(a));
            long double by_x = op == OP_ATANH_RATIO ? 1 / (1 - a)
                               : a < 0              ? cosl(k)
                                                    : coshl(k);
            trial_begin(&s, OP_TABLE[op].name);
            node u = trial_take(&s, POINT, 1, 1, 0.0, 1.0);
            node v = trial_take(&s, POINT, 1, 1, 0.0, 1.0);
            slopes(&s, graph_binary(s.g, op, u, v), x, slope);
            expect_like(s.what, x[1], op_fold(op, x[0], x[1]),
                        reference_pair(op, x[0], x[1]));
            expect_like("by x", x[1], slope[0], (double)by_x);
            expect_near(&s, "by y", slope[1],
                        (double)square_ratio_slope(op, x[0], x[1]), 2e-14);
            trial_end(&s);
        }
}

static void softmax__does_not_overflow(void **state)
{
    (void)state;
    struct trial s;
    double x[3] = {1000.0, 998.0, -1000.0}, y[3];
    trial_begin(&s, "softmax");
    node in = trial_take(&s, POINT, 3, 1, 0.0, 1.0);
    node out = graph_softmax(s.g, in);
    run_node(&s, out, 1, x, y);
    expect_like("softmax", 0, y[0], 1.0 / (1.0 + exp(-2.0)));
    expect_like("softmax", 1, y[1], exp(-2.0) / (1.0 + exp(-2.0)));
    expect_like("softmax", 2, y[2], 0.0);
    for (size_t i = 0; i < 3; i++) {
        double with[3] = {1.0, 2.0, 3.0};
        with[i] = NAN;
        run_node(&s, out, 1, with, y);
        for (size_t j = 0; j < 3; j++)
            assert_true(isnan(y[j]));
    }
    trial_end(&s);
}

/* Whole powers keep their sign, and none of them divides zero by zero. */
static void powers__of_whole_numbers_are_products(void **state)
{
    (void)state;
    for (int n = -16; n <= 17; n++)
        for (double x = -2.0; x <= 2.0; x += 1.0) {
            struct trial s;
            double y, slope;
            if (x == 0.0 && n < 0) continue;
            trial_begin(&s, "power");
            node in = trial_take(&s, POINT, 1, 1, 0.0, 1.0);
            node out = graph_binary(s.g, OP_POW, in, graph_number(s.g, n));
            run_node(&s, out, 1, &x, &y);
            expect_exact("x^n", y, pow(x, n));
            slopes(&s, out, &x, &slope);
            expect_like("slope of x^n", x, slope, n ? n * pow(x, n - 1) : 0.0);
            trial_end(&s);
        }
}

/* --- Kinks --------------------------------------------------------------- */

static void kinks__have_the_slope_zero(void **state)
{
    (void)state;
    static const enum op KINK[] = {OP_RELU, OP_ABS, OP_SIGN, OP_STEP};
    for (size_t i = 0; i < COUNT(KINK); i++)
        for (int symbolic = 0; symbolic < 2; symbolic++) {
            expect_exact(OP_TABLE[KINK[i]].name,
                         slope_at(KINK[i], 0.0, symbolic), 0.0);
            expect_exact(OP_TABLE[KINK[i]].name,
                         slope_at(KINK[i], -0.0, symbolic), 0.0);
            expect_exact(OP_TABLE[KINK[i]].name, value_at(KINK[i], 0.0), 0.0);
        }
}

static void ties__follow_the_first(void **state)
{
    (void)state;
    for (enum op op = OP_MIN; op <= OP_MAX; op++) {
        struct trial s;
        const double x[2] = {0.7, 0.7};
        double slope[2], whole[TRIAL_ROWS];
        trial_begin(&s, OP_TABLE[op].name);
        node a = trial_take(&s, POINT, 1, 1, 0.0, 1.0);
        node b = trial_take(&s, POINT, 1, 1, 0.0, 1.0);
        node out = graph_binary(s.g, op, a, b);
        slopes(&s, out, x, slope);
        run_node(&s, graph_gradient(s.g, out, s.state), 1, x, whole);
        expect_exact(s.what, slope[0], 1.0);
        expect_exact(s.what, slope[1], 0.0);
        expect_exact(s.what, whole[0], 1.0);
        expect_exact(s.what, whole[1], 0.0);
        trial_end(&s);
    }
}

/* --- Rows ---------------------------------------------------------------- */

/* What a row says of an operation: tame ones are finite, with their slopes,
 * and images hold. */
static void rows__say_what_is_so(void **state)
{
    (void)state;
    static const double X[] = {-1e4, -900, -30, -2.5, -1, -0.3, -1e-9, 0,
                               1e-9, 0.4,  1,   3.5,  20, 900,  1e4};
    for (enum op op = OP_LEAVES; op < OPS; op++) {
        const struct op_row *row = &OP_TABLE[op];
        for (size_t i = 0; row->arity == 1 && i < COUNT(X); i++) {
            double y = value_at(op, X[i]), slope = slope_at(op, X[i], false);
            if (row->tame && !(isfinite(y) && isfinite(slope)))
                fail_msg("%s is not tame at %g", row->name, X[i]);
            if (y < row->image.low || y > row->image.high)
                fail_msg("%s(%g) = %g is outside", row->name, X[i], y);
            double next = i + 1 < COUNT(X) ? value_at(op, X[i + 1]) : NAN;
            if ((row->image.follows == IMAGE_GROWS && next < y) ||
                (row->image.follows == IMAGE_FALLS && next > y))
                fail_msg("%s from %g to the next", row->name, X[i]);
        }
        if (!row->arity) continue;
        double inside = op_fold(op, 0.5, 0.5);
        if (!isfinite(inside)) fail_msg("%s at 0.5 is %g", row->name, inside);
    }
}

/* --- where --------------------------------------------------------------- */

/* Every function on the side where it is not finite is left out of values,
 * gradients, tangents and symbolic derivatives, also of the second order. */
static void check_where(enum op op, double bad, bool vector)
{
    struct trial s;
    size_t n = vector ? 3 : 1;
    trial_begin(&s, OP_TABLE[op].name);
    node x = trial_take(&s, POINT, n, 1, 0.0, 1.0), zero = graph_number(s.g, 0);
    node seen = trial_take(&s, POINT, n, 1, 0.0, 1.0);
    node y = OP_TABLE[op].arity == 1
                 ? graph_unary(s.g, op, x)
                 : graph_binary(s.g, op, graph_number(s.g, 0.25), x);
    node c = graph_binary(s.g, OP_GREATER, seen, zero);
    node out =
        graph_sum(s.g, graph_where(s.g, c, graph_binary(s.g, OP_MUL, y, y),
                                   graph_binary(s.g, OP_MUL, seen, seen)));
    double at[6], slope[TRIAL_ROWS] = {0}, whole[TRIAL_ROWS], value;
    for (size_t i = 0; i < n; i++) {
        at[i] = i == 1 ? 0.5 : bad; /* the second element is taken */
        at[n + i] = i == 1 ? 1.0 : -2.0;
    }
    double f = OP_TABLE[op].arity == 1 ? op_fold(op, 0.5, 0.0)
                                       : op_fold(op, 0.25, 0.5);
    run_node(&s, out, 1, at, &value);
    expect_like(s.what, bad, value, vector ? f * f + 8.0 : 4.0);
    slopes(&s, out, at, slope);
    node gradient = graph_gradient(s.g, out, s.state);
    run_node(&s, gradient, 1, at, whole);
    for (size_t i = 0; i < n; i++) {
        bool taken = i == 1;
        if (!taken) expect_exact(s.what, slope[i], 0.0);
        expect_like(s.what, bad, whole[i], slope[i]);
        expect_exact(s.what, slope[n + i], taken ? 0.0 : -4.0);
        expect_exact(s.what, whole[n + i], taken ? 0.0 : -4.0);
    }
    node part = graph_slice(s.g, gradient, 0, 1, 1);
    run_node(&s, graph_gradient(s.g, part, s.state), 1, at, whole);
    for (size_t i = 0; i < 2 * n; i++)
        expect_exact(s.what, whole[i], 0.0);
    trial_end(&s);
}

static void where__leaves_nothing_of_the_other_branch(void **state)
{
    (void)state;
    static const double BAD[] = {0.0, -0.0, 1.0, -1.0, -3.0, 2000.0, NAN};
    for (enum op op = OP_LEAVES; op < OPS; op++)
        for (size_t i = 0; OP_TABLE[op].arity && i < COUNT(BAD); i++) {
            bool wild = !OP_TABLE[op].tame;
            if (isnan(BAD[i]) && !wild) continue;
            check_where(op, BAD[i], false);
            check_where(op, BAD[i], true);
        }
}

/* --- NaN ----------------------------------------------------------------- */

/* In any place of a block, so that a vector loop's end is tried too. */
static void check_nan(struct trial *s, node out, size_t row, double other)
{
    double x[2 * TRIAL_P], y[TRIAL_P];
    for (size_t at = 0; at < 13; at++) {
        for (size_t i = 0; i < 2 * 13; i++)
            x[i] = other;
        x[row * 13 + at] = NAN;
        run_node(s, out, 13, x, y);
        for (size_t i = 0; i < 13; i++)
            if (isnan(y[i]) != (i == at))
                fail_msg("%s: with NaN at point %zu, point %zu is %g", s->what,
                         at, i, y[i]);
    }
}

static void unary__nan_comes_out_as_nan(void **state)
{
    (void)state;
#define CHECK(ID, NAME, ...)                                                   \
    {                                                                          \
        struct trial s;                                                        \
        trial_begin(&s, #NAME);                                                \
        node in = trial_take(&s, POINT, 1, 1, 0.0, 1.0);                       \
        check_nan(&s, graph_unary(s.g, OP_##ID, in), 0, 0.5);                  \
        assert_true(isnan(op_fold(OP_##ID, NAN, 0.0)));                        \
        trial_end(&s);                                                         \
    }
    UNARY_OPS(CHECK)
#undef CHECK
}

/* pow(1, NaN) and pow(NaN, 0) are 1 in C, and stay so. */
static void check_nan_pair(enum op op)
{
    for (size_t row = 0; row < 2; row++) {
        struct trial s;
        trial_begin(&s, OP_TABLE[op].name);
        node a = trial_take(&s, POINT, 1, 1, 0.0, 1.0);
        node b = trial_take(&s, POINT, 1, 1, 0.0, 1.0);
        node p = trial_take(&s, UNIFORM, 1, 1, 0.2, 0.3);
        check_nan(&s, graph_binary(s.g, op, a, b), row, 0.5);
        if (row == 0) check_nan(&s, graph_binary(s.g, op, a, p), 0, 0.5);
        if (row == 1) check_nan(&s, graph_binary(s.g, op, p, b), 1, 0.5);
        trial_end(&s);
    }
    assert_true(isnan(op_fold(op, NAN, 0.5)));
    assert_true(isnan(op_fold(op, 0.5, NAN)));
}

static void binary__nan_comes_out_as_nan(void **state)
{
    (void)state;
#define CHECK(ID, NAME, ...) check_nan_pair(OP_##ID);
    BINARY_OPS(CHECK)
#undef CHECK
}

/* A matrix that has no factors is told by NaN, at its own point only. */
static void matrices__without_factors_give_nan(void **state)
{
    (void)state;
    static const double X[4][3] = {
        {2.0, 1.0, 2.0}, {0.5, 1.0, 3.0}, {0.5, 1.0, 3.0}, {2.0, 1.0, 2.0}};
    struct trial s;
    double y[12];
    trial_begin(&s, "factors");
    node a = trial_take(&s, POINT, 2, 2, 0.0, 1.0);
    node one = graph_identity(s.g, 2);
    const node out[] = {graph_solve(s.g, a, one), graph_logdet(s.g, a),
                        graph_cholesky(s.g, a)};
    for (size_t k = 0; k < COUNT(out); k++) {
        run_node(&s, out[k], 3, &X[0][0], y);
        for (size_t i = 0; i < 3; i++) {
            /* Point 1 is singular; point 2 is regular but not positive. */
            bool bad = i == 1 || (i == 2 && k == 2);
            assert_int_equal(isnan(y[i]) != 0, bad);
        }
    }
    trial_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unary__values_are_those_of_libm),
        cmocka_unit_test(binary__values_are_those_of_libm),
        cmocka_unit_test(extremes__neither_overflow_nor_lose_digits),
        cmocka_unit_test(ratios__have_no_hole_at_zero),
        cmocka_unit_test(square_ratios__have_no_hole_at_zero),
        cmocka_unit_test(softmax__does_not_overflow),
        cmocka_unit_test(powers__of_whole_numbers_are_products),
        cmocka_unit_test(rows__say_what_is_so),
        cmocka_unit_test(where__leaves_nothing_of_the_other_branch),
        cmocka_unit_test(kinks__have_the_slope_zero),
        cmocka_unit_test(ties__follow_the_first),
        cmocka_unit_test(unary__nan_comes_out_as_nan),
        cmocka_unit_test(binary__nan_comes_out_as_nan),
        cmocka_unit_test(matrices__without_factors_give_nan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
