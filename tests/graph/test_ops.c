/* SPDX-License-Identifier: MIT */
/* Every row of the table of operations: vjp and jvp against finite differences
 * of forward, and against each other, over shapes and kinds of operands. A new
 * elementwise operation is found by itself; any other without a case fails. */
#include "girsanov.h"
#include "trial.h"

static const double NEAR = 1e-7, ADJOINT = 1e-13;
static const size_t POINTS[] = {1, 5, 64};
static const size_t SHAPE[][2] = {{1, 1}, {3, 1}, {2, 3}};

static void check_points(struct trial *s, node out)
{
    for (size_t i = 0; i < COUNT(POINTS); i++)
        check_node(s, out, POINTS[i], NEAR, ADJOINT);
}

/* --- Elementwise --------------------------------------------------------- */

struct domain {
    double low, high;
};

/* Where a function lives; (0.2, 0.8), which suits all, where it is not told. */
static const struct domain ANY = {0.2, 0.8};
static const struct domain LEFT[OPS] = {
    [OP_NEG] = {-3, 3},           [OP_EXP] = {-2, 2},
    [OP_LOG] = {0.2, 5},          [OP_LOG1P] = {-0.8, 4},
    [OP_EXPM1] = {-2, 2},         [OP_SQRT] = {0.2, 5},
    [OP_SIN] = {-4, 4},           [OP_COS] = {-4, 4},
    [OP_TAN] = {-1.2, 1.2},       [OP_ASIN] = {-.9, .9},
    [OP_ACOS] = {-.9, .9},        [OP_ATAN] = {-4, 4},
    [OP_SINH] = {-2, 2},          [OP_COSH] = {-2, 2},
    [OP_TANH] = {-2, 2},          [OP_ASINH] = {-4, 4},
    [OP_ABS] = {-2, 2},           [OP_SIGN] = {-2, 2},
    [OP_STEP] = {-2, 2},          [OP_SIGMOID] = {-4, 4},
    [OP_LOGIT] = {.1, .9},        [OP_SOFTPLUS] = {-4, 4},
    [OP_RELU] = {-2, 2},          [OP_SILU] = {-4, 4},
    [OP_LGAMMA] = {0.3, 30},      [OP_DIGAMMA] = {0.3, 30},
    [OP_ADD] = {-2, 2},           [OP_SUB] = {-2, 2},
    [OP_MUL] = {-2, 2},           [OP_DIV] = {-2, 2},
    [OP_POW] = {0.4, 2},          [OP_MIN] = {-2, 2},
    [OP_MAX] = {-2, 2},           [OP_EXPM1_RATIO] = {-2, 2},
    [OP_LOG1P_RATIO] = {-.8, .8}, [OP_ERF] = {-2, 2},
    [OP_FLOOR] = {-1.9, -1.1},    [OP_ATAN2] = {-2, 2},
    [OP_MOD] = {2.2, 2.8},        [OP_GREATER] = {-2, 2},
    [OP_LESS] = {-2, 2},          [OP_AT_LEAST] = {-2, 2},
    [OP_AT_MOST] = {-2, 2},       [OP_SINH_RATIO] = {-2, 2},
    [OP_ATANH_RATIO] = {-.6, .6},
};
static const struct domain RIGHT[OPS] = {
    [OP_ADD] = {-2, 2},         [OP_SUB] = {-2, 2},
    [OP_MUL] = {-2, 2},         [OP_DIV] = {.5, 2},
    [OP_POW] = {-2, 2},         [OP_MIN] = {-2, 2},
    [OP_MAX] = {-2, 2},         [OP_EXPM1_RATIO] = {-1, 1},
    [OP_LOG1P_RATIO] = {-1, 1}, [OP_ATAN2] = {.5, 2},
    [OP_MOD] = {1, 1.05},       [OP_GREATER] = {-2, 2},
    [OP_LESS] = {-2, 2},        [OP_AT_LEAST] = {-2, 2},
    [OP_AT_MOST] = {-2, 2},     [OP_PICK] = {-2, 2},
    [OP_GUARD] = {-2, 2},       [OP_SINH_RATIO] = {-2, 2},
    [OP_ATANH_RATIO] = {-1, 1},
};

static struct domain told(struct domain d)
{
    return d.low < d.high ? d : ANY;
}

/* A clock and a covariate are one number each: a shape would be a fill. */
static bool fits(enum source_kind kind, const size_t shape[2])
{
    return (kind != CLOCK && kind != COVARIATE) || shape[0] * shape[1] == 1;
}

static void check_unary(enum op op)
{
    struct domain d = told(LEFT[op]);
    for (size_t i = 0; i < COUNT(SHAPE); i++)
        for (enum source_kind kind = 0; kind < SOURCES; kind++) {
            struct trial s;
            if (kind == FIXED || !fits(kind, SHAPE[i])) continue;
            trial_begin(&s, OP_TABLE[op].name);
            node x =
                trial_take(&s, kind, SHAPE[i][0], SHAPE[i][1], d.low, d.high);
            check_points(&s, graph_unary(s.g, op, x));
            trial_end(&s);
        }
}

static void check_pair(enum op op, const size_t a[2], enum source_kind left,
                       const size_t b[2], enum source_kind right)
{
    struct domain x = told(LEFT[op]), y = told(RIGHT[op]);
    struct trial s;
    trial_begin(&s, OP_TABLE[op].name);
    node u = trial_take(&s, left, a[0], a[1], x.low, x.high);
    node v = trial_take(&s, right, b[0], b[1], y.low, y.high);
    check_points(&s, graph_binary(s.g, op, u, v));
    trial_end(&s);
}

static void check_binary(enum op op)
{
    for (size_t i = 0; i < COUNT(SHAPE); i++)
        for (size_t j = 0; j < COUNT(SHAPE); j++) {
            if (i && j && i != j) continue;
            for (enum source_kind a = 0; a < SOURCES; a++)
                for (enum source_kind b = 0; b < SOURCES; b++)
                    if (fits(a, SHAPE[i]) && fits(b, SHAPE[j]))
                        check_pair(op, SHAPE[i], a, SHAPE[j], b);
        }
    /* Twice the same operand: both shares must arrive. */
    for (enum source_kind kind = UNIFORM; kind <= POINT; kind++) {
        struct trial s;
        if (op == OP_MIN || op == OP_MAX) continue; /* a tie everywhere */
        trial_begin(&s, OP_TABLE[op].name);
        double most = op == OP_ATANH_RATIO ? 0.8 : 1.5; /* x^3 < 1 */
        node x = trial_take(&s, kind, 3, 1, 0.5, most);
        check_points(&s, graph_binary(s.g, op, x, x));
        trial_end(&s);
    }
}

static const enum op UNARY[] = {
#define ID_OF(ID, NAME, ...) OP_##ID,
    UNARY_OPS(ID_OF)
#undef ID_OF
};
static const enum op BINARY[] = {
#define ID_OF(ID, NAME, ...) OP_##ID,
    BINARY_OPS(ID_OF)
#undef ID_OF
};

static void unary__derivatives_agree_with_differences(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(UNARY); i++)
        if (UNARY[i] != OP_STOP) check_unary(UNARY[i]);
}

/* exp(p x) stop(sin(p x)) moves as if the second factor were a number. What
 * stands behind a stop and nowhere else is never gone through backward: NaN in
 * the slope of sqrt at 0 does not arrive. */
static void stop__lets_nothing_through(void **state)
{
    (void)state;
    for (int behind = 0; behind < 2; behind++) {
        struct trial s;
        struct bench b;
        trial_begin(&s, "stop");
        node p = trial_take(&s, UNIFORM, 1, 1, 0.5, 0.6);
        node x = trial_take(&s, POINT, 1, 1, 0.5, 0.6);
        node y = graph_binary(s.g, OP_MUL, p, x);
        node zero = graph_unary(s.g, OP_SQRT, graph_binary(s.g, OP_SUB, y, y));
        node held = graph_binary(s.g, OP_ADD, graph_unary(s.g, OP_SIN, y),
                                 behind ? zero : graph_number(s.g, 0.0));
        node out = graph_binary(s.g, OP_MUL, graph_unary(s.g, OP_EXP, y),
                                graph_unary(s.g, OP_STOP, held));
        bench_open(&b, &s, 1, &out, 1);
        bench_run(&b, &s);
        double one = 1.0, x_bar[TRIAL_ROWS] = {0}, p_bar[16] = {0};
        const double *bar = &one;
        double dot[TRIAL_ROWS] = {1.0};
        program_jvp(b.program, &b.u, &b.w, &b.in, dot);
        double moved = *program_output_dot(b.program, &b.w, 1, 0);
        program_vjp(b.program, &b.u, &b.w, &b.in, &bar, x_bar, p_bar);
        double v = s.p[0] * s.x[0], rest = exp(v) * sin(v);
        expect_near(&s, "value", *bench_run(&b, &s), rest, 1e-15);
        expect_near(&s, "x_bar", x_bar[0], s.p[0] * rest, 1e-15);
        expect_near(&s, "p_bar", p_bar[0], s.x[0] * rest, 1e-15);
        expect_near(&s, "dot", moved, s.p[0] * rest, 1e-15);
        bench_close(&b);
        trial_end(&s);
    }
}

static void binary__derivatives_agree_with_differences(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(BINARY); i++)
        check_binary(BINARY[i]);
}

/* --- The others: each makes its variant v, and 0 when there are no more --- */

/* Variant v as one of these kinds, shapes or sizes. */
static const enum source_kind VARYING[] = {UNIFORM, POINT};

static node build_fill(struct trial *s, size_t v)
{
    if (v >= 8) return 0;
    static const enum source_kind kind[] = {UNIFORM, POINT, CLOCK, COVARIATE};
    node x = trial_take(s, kind[v % 4], 1, 1, -1.0, 1.0);
    return graph_fill(s->g, x, v < 4 ? 3 : 2, v < 4 ? 1 : 3);
}

static node build_sum(struct trial *s, size_t v)
{
    if (v >= 6) return 0;
    const size_t *shape = SHAPE[v / 2];
    return graph_sum(
        s->g, trial_take(s, VARYING[v % 2], shape[0], shape[1], -1.0, 1.0));
}

static node build_softmax(struct trial *s, size_t v)
{
    if (v >= 6) return 0;
    const size_t *shape = SHAPE[v / 2];
    return graph_softmax(
        s->g, trial_take(s, VARYING[v % 2], shape[0], shape[1], -3.0, 3.0));
}

/* A view of a leaf, and of something that has memory of its own. */
static node build_slice(struct trial *s, size_t v)
{
    if (v >= 6) return 0;
    node x = trial_take(s, VARYING[v % 2], 2, 3, -1.0, 1.0);
    if (v >= 2) x = graph_unary(s->g, OP_SIN, x);
    node part = graph_slice(s->g, x, 2, 3, 1);
    return v < 4 ? part : graph_slice(s->g, part, 1, 1, 2);
}

static node build_pad(struct trial *s, size_t v)
{
    if (v >= 4) return 0;
    node x = trial_take(s, VARYING[v % 2], 3, 1, -1.0, 1.0);
    return graph_pad(s->g, x, v < 2 ? 0 : 2, 3, 2);
}

static node build_stack(struct trial *s, size_t v)
{
    if (v >= 6) return 0;
    enum source_kind other = v % 2 ? POINT : UNIFORM;
    node x = trial_take(s, other, 2, 1, -1.0, 1.0);
    node part[5] = {x, trial_take(s, v < 2 ? other : POINT, 1, 1, -1.0, 1.0),
                    trial_take(s, FIXED, 2, 1, -1.0, 1.0), x,
                    trial_take(s, v < 4 ? other : CLOCK, 1, 1, -1.0, 1.0)};
    return graph_stack(s->g, 5, part, 4, 2);
}

static node build_transpose(struct trial *s, size_t v)
{
    if (v >= 4) return 0;
    node x =
        trial_take(s, VARYING[v % 2], v < 2 ? 2 : 3, v < 2 ? 3 : 1, -1.0, 1.0);
    return graph_transpose(s->g, x);
}

/* Elements that come twice, backwards and not at all. */
static const double INDEX[] = {5, 0, 2, 0, 1};

static node build_gather(struct trial *s, size_t v)
{
    if (v >= 2) return 0;
    node index = graph_constant(s->g, 5, 1, INDEX);
    node x = trial_take(s, VARYING[v], 2, 3, -1.0, 1.0);
    return graph_gather(s->g, x, index, 5, 1);
}

static node build_scatter(struct trial *s, size_t v)
{
    if (v >= 2) return 0;
    node index = graph_constant(s->g, 5, 1, INDEX);
    node x = trial_take(s, VARYING[v], 5, 1, -1.0, 1.0);
    return graph_scatter(s->g, x, index, 2, 3);
}

/* Elements that are another one at each point, and one for all. */
static node build_choose(struct trial *s, size_t v)
{
    if (v >= 4) return 0;
    node x = trial_take(s, VARYING[v % 2], 3, 1, -1.0, 1.0);
    node u = trial_take(s, v / 2 == 1 ? UNIFORM : POINT, 1, 1, 1.0, 3.9);
    return graph_choose(s->g, x, graph_unary(s->g, OP_FLOOR, u));
}

static node build_matmul(struct trial *s, size_t v)
{
    /* Rows, inner and columns; every pair of kinds for each of them. */
    static const size_t size[][3] = {{2, 3, 1}, {5, 2, 1}, {2, 3, 2},
                                     {1, 3, 1}, {3, 1, 2}, {3, 1, 1},
                                     {1, 1, 3}, {6, 2, 2}};
    static const enum source_kind kind[][2] = {
        {UNIFORM, UNIFORM}, {UNIFORM, POINT}, {POINT, UNIFORM},
        {POINT, POINT},     {FIXED, POINT},   {POINT, FIXED}};
    if (v >= COUNT(size) * COUNT(kind)) return 0;
    const size_t *n = size[v / COUNT(kind)];
    const enum source_kind *k = kind[v % COUNT(kind)];
    node a = trial_take(s, k[0], n[0], n[1], -1.0, 1.0);
    node b = trial_take(s, k[1], n[1], n[2], -1.0, 1.0);
    return graph_matmul(s->g, a, b);
}

static node build_solve(struct trial *s, size_t v)
{
    static const enum source_kind kind[][2] = {
        {UNIFORM, UNIFORM}, {UNIFORM, POINT}, {POINT, UNIFORM},
        {POINT, POINT},     {FIXED, POINT},   {POINT, FIXED}};
    if (v >= 3 * COUNT(kind)) return 0;
    const enum source_kind *k = kind[v % COUNT(kind)];
    size_t n = v / COUNT(kind) + 1;
    node a = trial_matrix(s, k[0], n);
    return graph_solve(s->g, a, trial_take(s, k[1], n, n, -1.0, 1.0));
}

static node build_logdet(struct trial *s, size_t v)
{
    if (v >= 6) return 0;
    return graph_logdet(s->g, trial_matrix(s, VARYING[v % 2], v / 2 + 1));
}

static node build_cholesky(struct trial *s, size_t v)
{
    if (v >= 6) return 0;
    return graph_cholesky(s->g, trial_positive(s, VARYING[v % 2], v / 2 + 1));
}

/* Every activation and several shapes; at one argument for all points, at the
 * state, and at a mixture with time. */
static node build_net(struct trial *s, size_t v)
{
    static const size_t deep[] = {3, 5, 4, 2}, flat[] = {3, 2},
                        one[] = {3, 1, 1};
    static const size_t *const width[] = {deep, flat, one};
    static const size_t layers[] = {3, 1, 2};
    if (v >= 9 * ACTIVATIONS) return 0;
    size_t w = v / 3 % 3;
    struct net net = {layers[w], width[w], (enum activation)(v / 9), true};
    size_t offset = s->params;
    trial_take(s, UNIFORM, net_parameters(&net), 1, -0.8, 0.8);
    size_t f = graph_net_add(s->g, layers[w], width[w], net.act, offset);
    node x = trial_take(s, v % 3 ? POINT : UNIFORM, 3, 1, -1.0, 1.0);
    node part[2] = {trial_take(s, CLOCK, 1, 1, -1.0, 1.0),
                    graph_slice(s->g, x, 0, 2, 1)};
    if (v % 3 == 2) x = graph_stack(s->g, 2, part, 3, 1);
    return graph_net(s->g, f, x);
}

/* One to four axes, with polynomials and without, inside of the box and around
 * it; and derivatives of every order, which are nodes of the same operation. */
static node build_gp(struct trial *s, size_t v)
{
    static const struct gp kind[] = {
        {1, 2, {6}, 0},       {1, 1, {4}, 3},          {2, 2, {4, 5}, 2},
        {3, 1, {4, 4, 4}, 1}, {4, 1, {4, 4, 4, 4}, 3}, {2, 1, {7, 4}, 0}};
    static const double box[][8] = {{-1, 2},
                                    {0, 1},
                                    {-1, -1.2, 1, 1},
                                    {-1, -1, -1, 1, 1, 1},
                                    {-1, 0, -1, 0, 1, 1, 1, 2},
                                    {-2, -1, 1, 1}};
    static double values[256];
    if (v >= 6 * COUNT(kind)) return 0;
    const struct gp *h = &kind[v % COUNT(kind)];
    size_t order = v / COUNT(kind), n = gp_nodes(h);
    random_fill(n, values, -1.0, 1.0);
    size_t number = graph_gp_add(s->g, h);
    node x = trial_take(s, order == 5 ? UNIFORM : POINT, h->axes, 1, -1.3, 1.4);
    node value = n > 100 ? graph_constant(s->g, 1, n, values)
                         : trial_take(s, UNIFORM, h->outputs, n, -1.0, 1.0);
    node limits = graph_constant(s->g, 2 * h->axes, 1, box[v % COUNT(kind)]);
    node weight =
        h->degree ? trial_take(s, UNIFORM, h->outputs, gp_features(h), -1, 1)
                  : 0;
    node a = graph_gp(s->g, number, x, value, limits, weight);
    for (size_t k = 0; k < order % 5; k++)
        a = graph_gp_slope(s->g, a, k % 2 * (h->axes - 1));
    return a;
}

/* f_i = p0 sin(x_i) x_0 + p1 x_i^2: every input has a share. */
static void call_f(void *user, size_t n, const double *x, const double *p,
                   double *f)
{
    size_t d = *(const size_t *)user;
    for (size_t i = 0; i < d; i++)
        for (size_t k = 0; k < n; k++) {
            double y = x[i * n + k];
            f[i * n + k] = p[0] * sin(y) * x[k] + p[1] * y * y;
        }
}

static void call_f_vjp(void *user, size_t n, const double *x, const double *p,
                       const double *f_bar, double *x_bar, double *p_bar)
{
    size_t d = *(const size_t *)user;
    for (size_t i = 0; i < d; i++)
        for (size_t k = 0; k < n; k++) {
            double bar = f_bar[i * n + k], y = x[i * n + k];
            double slope = p[0] * cos(y) * x[k] + 2.0 * p[1] * y;
            if (x_bar) x_bar[i * n + k] += bar * slope;
            if (x_bar) x_bar[k] += bar * p[0] * sin(y);
            if (p_bar) p_bar[0] += bar * sin(y) * x[k];
            if (p_bar) p_bar[1] += bar * y * y;
        }
}

static void call_f_jvp(void *user, size_t n, const double *x, const double *p,
                       const double *x_dot, double *f_dot)
{
    size_t d = *(const size_t *)user;
    for (size_t i = 0; i < d; i++)
        for (size_t k = 0; k < n; k++) {
            double y = x[i * n + k];
            double slope = p[0] * cos(y) * x[k] + 2.0 * p[1] * y;
            f_dot[i * n + k] =
                slope * x_dot[i * n + k] + p[0] * sin(y) * x_dot[k];
        }
}

/* With and without derivatives, alone and of other things. */
static node build_call(struct trial *s, size_t v)
{
    static size_t dim[2] = {1, 3};
#define CALL(d, ...)                                                           \
    {                                                                          \
        .inputs = (d) ? 3 : 1, .outputs = (d) ? 3 : 1, .parameters = 2,        \
        .user = &dim[d], .value = call_f, __VA_ARGS__                          \
    }
    static const gsv_callback call[] = {
        CALL(0, .vjp = NULL), CALL(1, .vjp = NULL), CALL(0, .vjp = call_f_vjp),
        CALL(1, .vjp = call_f_vjp),
        CALL(1, .vjp = call_f_vjp, .jvp = call_f_jvp)};
    if (v >= COUNT(call)) return 0;
    node p = trial_take(s, UNIFORM, 2, 1, -1.0, 1.0);
    node x = trial_take(s, POINT, call[v].inputs, 1, -1.0, 1.0);
    size_t number = graph_call_add(s->g, "f");
    s->g->call[number].function = &call[v];
    if (v % 2) x = graph_unary(s->g, OP_SIN, x);
    return graph_call(s->g, number, x, p, call[v].outputs);
}

/* Of a function with derivatives: the differences of differences that are taken
 * otherwise have fewer digits than this test asks for. Along a way that is the
 * same at all points, or not. */
static node build_call_slope(struct trial *s, size_t v)
{
    if (v >= 2) return 0;
    node f = build_call(s, 4);
    size_t d = graph_size(s->g, graph_input(s->g, f, 0));
    node u = trial_take(s, v % 2 ? POINT : UNIFORM, d, 1, -1.0, 1.0);
    return graph_call_slope(s->g, f, u);
}

static const struct {
    node (*build)(struct trial *s, size_t variant);
    double adjoint; /* where vjp and jvp need not agree to the last digits */
} CASE[OPS] = {
    [OP_FILL] = {build_fill, 0},
    [OP_SUM] = {build_sum, 0},
    [OP_SOFTMAX] = {build_softmax, 0},
    [OP_SLICE] = {build_slice, 0},
    [OP_PAD] = {build_pad, 0},
    [OP_STACK] = {build_stack, 0},
    [OP_TRANSPOSE] = {build_transpose, 0},
    [OP_GATHER] = {build_gather, 0},
    [OP_SCATTER] = {build_scatter, 0},
    [OP_CHOOSE] = {build_choose, 0},
    [OP_MATMUL] = {build_matmul, 0},
    [OP_SOLVE] = {build_solve, 0},
    [OP_LOGDET] = {build_logdet, 0},
    [OP_CHOLESKY] = {build_cholesky, 0},
    [OP_NET] = {build_net, 0},
    [OP_GP] = {build_gp, 0},
    [OP_CALL] = {build_call, 1e-8}, /* differences are in it */
    [OP_CALL_SLOPE] = {build_call_slope, 1e-8},
};

static void others__derivatives_agree_with_differences(void **state)
{
    (void)state;
    for (enum op op = 0; op < OPS; op++)
        for (size_t v = 0; CASE[op].build; v++) {
            struct trial s;
            char what[80];
            snprintf(what, sizeof what, "%s, variant %zu", OP_TABLE[op].name,
                     v);
            trial_begin(&s, what);
            node out = CASE[op].build(&s, v);
            for (size_t i = 0; out && i < COUNT(POINTS); i++)
                check_node(&s, out, POINTS[i], NEAR,
                           fmax(ADJOINT, CASE[op].adjoint));
            trial_end(&s);
            if (!out) break;
        }
}

static void table__every_row_has_a_case(void **state)
{
    (void)state;
    for (enum op op = 0; op < OPS; op++) {
        assert_non_null(OP_TABLE[op].name);
        bool found = op_is_leaf(op) || CASE[op].build;
        for (size_t i = 0; i < COUNT(UNARY); i++)
            found = found || UNARY[i] == op;
        for (size_t i = 0; i < COUNT(BINARY); i++)
            found = found || BINARY[i] == op;
        if (!found)
            fail_msg("the operation '%s' has no case in test_ops.c: add a "
                     "function that builds it, and its row in CASE",
                     OP_TABLE[op].name);
    }
}

/* Leaves as outputs: what they are, and a gradient straight to them. */
static void leaves__are_their_own_derivative(void **state)
{
    (void)state;
    for (enum source_kind kind = 0; kind < SOURCES; kind++) {
        struct trial s;
        trial_begin(&s, "leaf");
        size_t rows = kind == CLOCK || kind == COVARIATE ? 1 : 3;
        check_points(&s, trial_take(&s, kind, rows, 1, -1.0, 1.0));
        trial_end(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table__every_row_has_a_case),
        cmocka_unit_test(leaves__are_their_own_derivative),
        cmocka_unit_test(unary__derivatives_agree_with_differences),
        cmocka_unit_test(stop__lets_nothing_through),
        cmocka_unit_test(binary__derivatives_agree_with_differences),
        cmocka_unit_test(others__derivatives_agree_with_differences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
