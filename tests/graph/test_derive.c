/* SPDX-License-Identifier: MIT */
/* Symbolic derivatives: the gradient by the state and the derivative in time
 * as new expressions, against finite differences of the old one. */
#include "girsanov.h"
#include "trial.h"

static const double NEAR = 1e-6;
enum { P = 5 };

/* --- Help ---------------------------------------------------------------- */

/* Draws the leaves once, so that two programs see the same point. */
static void values_of(struct trial *s, node a, double *y)
{
    struct bench b;
    double x[TRIAL_SIZE], input[TRIAL_INPUTS * TRIAL_P];
    double slope[TRIAL_INPUTS * TRIAL_P];
    memcpy(x, s->x, sizeof x);
    memcpy(input, s->input, sizeof input);
    memcpy(slope, s->slope, sizeof slope);
    bench_open(&b, s, 1, &a, P);
    memcpy(s->x, x, sizeof x);
    memcpy(s->input, input, sizeof input);
    memcpy(s->slope, slope, sizeof slope);
    memcpy(y, bench_run(&b, s), b.size * sizeof *y);
    bench_close(&b);
}

static void draw_leaves(struct trial *s)
{
    for (size_t r = 0; r < s->rows; r++)
        random_fill(P, s->x + r * P, s->row_low[r], s->row_high[r]);
    for (size_t r = 0; r < s->inputs; r++)
        random_fill(P, s->input + r * P, s->input_low[r], s->input_high[r]);
    random_fill(TRIAL_INPUTS * P, s->slope, -1.0, 1.0);
}

/* The gradient of the scalar a by the state, at P points. */
static void check_gradient(struct trial *s, node a)
{
    static double got[TRIAL_SIZE];
    double up[P], down[P];
    char which[80];
    node gradient = graph_gradient(s->g, a, s->state);
    assert_int_equal(graph_info(s->g, gradient)->rows, TRIAL_ROWS);
    assert_int_equal(graph_info(s->g, gradient)->columns, 1);
    draw_leaves(s);
    values_of(s, gradient, got);
    for (size_t r = 0; r < TRIAL_ROWS; r++) {
        for (int sign = 1; sign >= -1; sign -= 2) {
            for (size_t i = 0; i < P; i++)
                s->x[r * P + i] += sign * TRIAL_STEP;
            values_of(s, a, sign > 0 ? up : down);
            for (size_t i = 0; i < P; i++)
                s->x[r * P + i] -= sign * TRIAL_STEP;
        }
        for (size_t i = 0; i < P; i++) {
            snprintf(which, sizeof which, "d / d x[%zu] at point %zu", r, i);
            expect_near(s, which, got[r * P + i],
                        (up[i] - down[i]) / (2.0 * TRIAL_STEP), NEAR);
        }
    }
}

/* The derivative in time: t runs, and inputs run along their slopes. */
static void check_time(struct trial *s, node a)
{
    static double got[TRIAL_SIZE], up[TRIAL_SIZE], down[TRIAL_SIZE];
    node derivative = graph_time_derivative(s->g, a);
    assert_int_equal(graph_info(s->g, derivative)->rows,
                     graph_info(s->g, a)->rows);
    assert_int_equal(graph_info(s->g, derivative)->columns,
                     graph_info(s->g, a)->columns);
    draw_leaves(s);
    values_of(s, derivative, got);
    for (int sign = 1; sign >= -1; sign -= 2) {
        double step = sign * TRIAL_STEP;
        for (size_t i = 0; i < TRIAL_INPUTS * P; i++)
            s->input[i] += step * s->slope[i];
        for (size_t i = 0; i < P; i++)
            s->time[i] += step;
        values_of(s, a, sign > 0 ? up : down);
        for (size_t i = 0; i < TRIAL_INPUTS * P; i++)
            s->input[i] -= step * s->slope[i];
        for (size_t i = 0; i < P; i++)
            s->time[i] -= step;
    }
    for (size_t i = 0; i < graph_size(s->g, a) * P; i++)
        expect_near(s, "d / dt", got[i], (up[i] - down[i]) / (2 * TRIAL_STEP),
                    NEAR);
}

/* Anything as one number that depends on all of its elements. */
static node mixed(struct trial *s, node a)
{
    const struct node_info *i = graph_info(s->g, a);
    node weight = trial_take(s, UNIFORM, i->rows, i->columns, 0.5, 1.5);
    return graph_sum(s->g, graph_binary(s->g, OP_MUL, weight, a));
}

/* Anything from a point: elements inside (0.2, 0.8) that move with the state,
 * with t and with an input. */
static node moving(struct trial *s, size_t rows, size_t columns)
{
    node x = trial_take(s, POINT, rows, columns, 0.2, 0.8);
    node t = graph_leaf(s->g, OP_TIME, 0, 1, 1);
    node u = graph_leaf(s->g, OP_INPUT, 0, 1, 1);
    if (!s->inputs) {
        trial_take(s, CLOCK, 1, 1, 0.4, 0.6);
        trial_take(s, COVARIATE, 1, 1, 0.4, 0.6);
    }
    node tu = graph_binary(s->g, OP_MUL, t, u); /* within 0.16 and 0.36 */
    node third = graph_number(s->g, 1.0 / 3.0);
    node sum = graph_binary(s->g, OP_ADD, x, graph_binary(s->g, OP_ADD, t, tu));
    return graph_binary(s->g, OP_MUL, third, sum);
}

/* --- Elementwise --------------------------------------------------------- */

static void check_unary(enum op op, const char *name)
{
    for (size_t rows = 1; rows <= 3; rows += 2) {
        struct trial s;
        trial_begin(&s, name);
        node y = graph_unary(s.g, op, moving(&s, rows, 1));
        check_time(&s, y);
        check_gradient(&s, mixed(&s, y));
        /* And on the other side of zero, where it lives there too. */
        node minus = graph_unary(s.g, OP_NEG, moving(&s, rows, 1));
        bool there = isfinite(op_fold(op, -0.5, 0.0));
        if (there) check_gradient(&s, mixed(&s, graph_unary(s.g, op, minus)));
        trial_end(&s);
    }
}

static void unary__derivatives_agree_with_differences(void **state)
{
    (void)state;
#define CHECK(ID, NAME, ...)                                                   \
    if (OP_##ID != OP_STOP) check_unary(OP_##ID, #NAME);
    UNARY_OPS(CHECK)
#undef CHECK
}

/* x stop(x^2) has the derivative x^2, and no other nodes for it. */
static void stop__is_a_constant_to_derivatives(void **state)
{
    (void)state;
    struct trial s;
    trial_begin(&s, "stop");
    node x = trial_take(&s, POINT, 1, 1, 0.0, 1.0);
    node held = graph_unary(s.g, OP_STOP, graph_binary(s.g, OP_MUL, x, x));
    node a = graph_binary(s.g, OP_MUL, held, x);
    node slope = graph_slice(s.g, graph_gradient(s.g, a, s.state), 0, 1, 1);
    node one = graph_fill(s.g, graph_number(s.g, 1.0), TRIAL_ROWS, 1);
    assert_true(slope == held);
    assert_true(graph_directional(s.g, a, s.state, one) == held);
    node clock = graph_leaf(s.g, OP_TIME, 0, 1, 1);
    node still = graph_time_derivative(
        s.g, graph_unary(s.g, OP_STOP, graph_unary(s.g, OP_SIN, clock)));
    assert_true(still == 0);
    trial_end(&s);
}

/* Both move, one is a parameter, and a scalar goes with a vector. */
static void check_binary(enum op op, const char *name)
{
    static const size_t rows[][2] = {{1, 1}, {3, 3}, {1, 3}, {3, 1}};
    for (size_t i = 0; i < COUNT(rows); i++)
        for (int fixed = 0; fixed < 3; fixed++) {
            struct trial s;
            trial_begin(&s, name);
            node x = fixed == 1
                         ? trial_take(&s, UNIFORM, rows[i][0], 1, 0.2, 0.8)
                         : moving(&s, rows[i][0], 1);
            node y = fixed == 2
                         ? trial_take(&s, UNIFORM, rows[i][1], 1, 0.2, 0.8)
                         : moving(&s, rows[i][1], 1);
            node z = graph_binary(s.g, op, x, y);
            check_time(&s, z);
            check_gradient(&s, mixed(&s, z));
            trial_end(&s);
        }
}

static void binary__derivatives_agree_with_differences(void **state)
{
    (void)state;
#define CHECK(ID, NAME, ...) check_binary(OP_##ID, #NAME);
    BINARY_OPS(CHECK)
#undef CHECK
}

/* --- The others ---------------------------------------------------------- */

static node regular(struct trial *s, node a)
{
    size_t n = graph_info(s->g, a)->rows;
    node shift = graph_binary(s->g, OP_MUL, graph_number(s->g, 3.0),
                              graph_identity(s->g, n));
    return graph_binary(s->g, OP_ADD, a, shift);
}

static node build_fill(struct trial *s)
{
    return graph_fill(s->g, moving(s, 1, 1), 2, 3);
}

static node build_sum(struct trial *s)
{
    return graph_sum(s->g, moving(s, 2, 3));
}

static node build_softmax(struct trial *s)
{
    return graph_softmax(s->g, moving(s, 3, 1));
}

static node build_slice(struct trial *s)
{
    node x = graph_unary(s->g, OP_SIN, moving(s, 2, 3));
    return graph_slice(s->g, x, 2, 1, 3);
}

static node build_pad(struct trial *s)
{
    return graph_pad(s->g, moving(s, 3, 1), 2, 2, 3);
}

static node build_stack(struct trial *s)
{
    node x = moving(s, 2, 1),
         part[] = {x, moving(s, 1, 1), trial_take(s, UNIFORM, 2, 1, 0, 1), x};
    return graph_stack(s->g, 4, part, 7, 1);
}

static node build_transpose(struct trial *s)
{
    return graph_transpose(s->g, moving(s, 2, 3));
}

static const double INDEX[] = {5, 0, 2, 0, 1};

static node build_gather(struct trial *s)
{
    node index = graph_constant(s->g, 5, 1, INDEX);
    return graph_gather(s->g, moving(s, 2, 3), index, 5, 1);
}

static node build_scatter(struct trial *s)
{
    node index = graph_constant(s->g, 5, 1, INDEX), x = moving(s, 5, 1);
    return graph_scatter(s->g, graph_binary(s->g, OP_MUL, x, x), index, 2, 3);
}

static node build_choose(struct trial *s)
{
    node x = moving(s, 3, 1), k = trial_take(s, POINT, 1, 1, 1.0, 3.9);
    return graph_choose(s->g, graph_binary(s->g, OP_MUL, x, x),
                        graph_unary(s->g, OP_FLOOR, k));
}

/* Both branches, by a condition on other elements. */
static node build_where(struct trial *s)
{
    node x = moving(s, 3, 1), y = moving(s, 3, 1);
    return graph_where(s->g, graph_binary(s->g, OP_LESS, x, y),
                       graph_unary(s->g, OP_LOG, x),
                       graph_binary(s->g, OP_DIV, y, x));
}

static node build_matmul(struct trial *s)
{
    return graph_matmul(s->g, moving(s, 2, 3), moving(s, 3, 2));
}

static node build_solve(struct trial *s)
{
    return graph_solve(s->g, regular(s, moving(s, 3, 3)), moving(s, 3, 1));
}

static node build_logdet(struct trial *s)
{
    return graph_logdet(s->g, regular(s, moving(s, 3, 3)));
}

static node build_cholesky(struct trial *s)
{
    node b = moving(s, 3, 3);
    node square = graph_matmul(s->g, b, graph_transpose(s->g, b));
    return graph_cholesky(s->g, regular(s, square));
}

static node build_net_of(struct trial *s, enum activation act)
{
    static const size_t width[] = {3, 5, 4, 2};
    struct net net = {3, width, act, true};
    size_t offset = s->params;
    trial_take(s, UNIFORM, net_parameters(&net), 1, -0.8, 0.8);
    size_t f = graph_net_add(s->g, 3, width, act, offset);
    return graph_net(s->g, f, moving(s, 3, 1));
}

/* Two networks in one expression, one inside of the other. */
static node build_net(struct trial *s)
{
    static const size_t width[] = {2, 3, 1};
    struct net net = {2, width, ACT_TANH, true};
    node inner = build_net_of(s, ACT_SILU);
    size_t offset = s->params;
    trial_take(s, UNIFORM, net_parameters(&net), 1, -0.8, 0.8);
    size_t f = graph_net_add(s->g, 2, width, ACT_TANH, offset);
    return graph_net(s->g, f, inner);
}

static node build_gp(struct trial *s)
{
    static const struct gp kind = {2, 3, {5, 4}, 3};
    static const double box[] = {-0.5, -1.0, 2.5, 3.0};
    size_t number = graph_gp_add(s->g, &kind);
    node value = trial_take(s, UNIFORM, 3, 20, -1.0, 1.0);
    node weight = trial_take(s, UNIFORM, 3, gp_features(&kind), -1.0, 1.0);
    return graph_gp(s->g, number, moving(s, 2, 1), value,
                    graph_constant(s->g, 4, 1, box), weight);
}

/* f_1 = p sin(x_1) x_2, f_2 = x_2^3 p, of two inputs. */
static void call_f(void *user, size_t n, const double *x, const double *p,
                   double *f)
{
    (void)user;
    for (size_t k = 0; k < n; k++) {
        f[k] = *p * sin(x[k]) * x[n + k];
        f[n + k] = *p * x[n + k] * x[n + k] * x[n + k];
    }
}

static void call_f_jvp(void *user, size_t n, const double *x, const double *p,
                       const double *x_dot, double *f_dot)
{
    (void)user;
    for (size_t k = 0; k < n; k++) {
        double a = x_dot[k], b = x_dot[n + k], y = x[n + k];
        f_dot[k] = *p * (cos(x[k]) * y * a + sin(x[k]) * b);
        f_dot[n + k] = *p * 3.0 * y * y * b;
    }
}

static node build_call(struct trial *s)
{
    static const gsv_callback call = {.inputs = 2,
                                      .outputs = 2,
                                      .parameters = 1,
                                      .value = call_f,
                                      .jvp = call_f_jvp};
    size_t number = graph_call_add(s->g, "f");
    s->g->call[number].function = &call;
    node p = trial_take(s, UNIFORM, 1, 1, 0.5, 1.5);
    return graph_call(s->g, number, moving(s, 2, 1), p, 2);
}

static node build_call_slope(struct trial *s)
{
    return graph_call_slope(s->g, build_call(s), moving(s, 2, 1));
}

/* One factor is a parameter: matrices that do not move. */
static node build_uniform_matmul(struct trial *s)
{
    node a = trial_take(s, UNIFORM, 2, 3, -1.0, 1.0);
    node b = trial_take(s, UNIFORM, 2, 2, -1.0, 1.0);
    return graph_matmul(s->g, graph_matmul(s->g, a, moving(s, 3, 2)), b);
}

static node build_uniform_solve(struct trial *s)
{
    node a = trial_matrix(s, UNIFORM, 3),
         b = trial_take(s, UNIFORM, 3, 1, 0, 1);
    node x = graph_solve(s->g, a, moving(s, 3, 1));
    node y = graph_solve(s->g, regular(s, moving(s, 3, 3)), b);
    return graph_binary(s->g, OP_MUL, x, y);
}

/* Used twice, through several layers of functions. */
static node build_compound(struct trial *s)
{
    struct graph *g = s->g;
    node x = moving(s, 3, 1);
    node r =
        graph_unary(g, OP_SQRT, graph_sum(g, graph_binary(g, OP_MUL, x, x)));
    node e = graph_unary(g, OP_EXP, graph_binary(g, OP_DIV, x, r));
    node cube = graph_binary(g, OP_POW, x, graph_number(g, 3.0));
    node low = graph_binary(g, OP_MIN, e, graph_binary(g, OP_MUL, r, cube));
    return graph_binary(g, OP_SUB, graph_binary(g, OP_MUL, e, low), cube);
}

static const struct {
    const char *name;
    node (*build)(struct trial *s);
} CASE[] = {
    {"fill", build_fill},
    {"sum", build_sum},
    {"softmax", build_softmax},
    {"slice", build_slice},
    {"pad", build_pad},
    {"stack", build_stack},
    {"transpose", build_transpose},
    {"gather", build_gather},
    {"scatter", build_scatter},
    {"choose", build_choose},
    {"where", build_where},
    {"matmul", build_matmul},
    {"solve", build_solve},
    {"logdet", build_logdet},
    {"cholesky", build_cholesky},
    {"network", build_net},
    {"gp", build_gp},
    {"call", build_call},
    {"call_slope", build_call_slope},
    {"matmul with parameters", build_uniform_matmul},
    {"solve with parameters", build_uniform_solve},
    {"a compound expression", build_compound},
};

static void others__derivatives_agree_with_differences(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(CASE); i++) {
        struct trial s;
        trial_begin(&s, CASE[i].name);
        node a = CASE[i].build(&s);
        check_time(&s, a);
        check_gradient(&s, mixed(&s, a));
        trial_end(&s);
    }
}

static void networks__derivatives_agree_with_differences(void **state)
{
    (void)state;
    for (int act = 0; act < ACTIVATIONS; act++) {
        struct trial s;
        trial_begin(&s, activation_name[act]);
        node a = build_net_of(&s, (enum activation)act);
        check_time(&s, a);
        check_gradient(&s, mixed(&s, a));
        trial_end(&s);
    }
}

/* Every row of the table but leaves is above. */
static void table__every_row_has_a_case(void **state)
{
    (void)state;
    for (enum op op = OP_LEAVES; op < OPS; op++) {
        bool found = OP_TABLE[op].partial;
        for (size_t i = 0; i < COUNT(CASE); i++)
            found = found || !strcmp(CASE[i].name, OP_TABLE[op].name);
        if (!found)
            fail_msg("'%s' has no case in test_derive.c", OP_TABLE[op].name);
    }
}

/* --- Twice --------------------------------------------------------------- */

/* A row of the Hessian as the gradient of an element of the gradient, and the
 * time derivative of a gradient. Kinks have none. */
static void derivatives__can_be_taken_twice(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(CASE); i++) {
        struct trial s;
        char what[80];
        snprintf(what, sizeof what, "twice %s", CASE[i].name);
        trial_begin(&s, what);
        node once = graph_gradient(s.g, mixed(&s, CASE[i].build(&s)), s.state);
        node part[] = {graph_slice(s.g, once, 0, 1, 1),
                       graph_slice(s.g, once, s.rows - 1, 1, 1)};
        check_gradient(&s, graph_binary(s.g, OP_SUB, part[0], part[1]));
        check_time(&s, graph_slice(s.g, once, 0, s.rows, 1));
        trial_end(&s);
    }
}

static void smooth_networks__can_be_derived_twice(void **state)
{
    (void)state;
    for (int act = 0; act < ACTIVATIONS; act++) {
        struct trial s;
        trial_begin(&s, activation_name[act]);
        node a = build_net_of(&s, (enum activation)act);
        node once = graph_gradient(s.g, mixed(&s, a), s.state);
        check_gradient(&s, mixed(&s, once));
        trial_end(&s);
    }
}

/* --- What does not move -------------------------------------------------- */

static void constants__have_derivative_zero(void **state)
{
    (void)state;
    struct trial s;
    trial_begin(&s, "nothing");
    node p = trial_take(&s, UNIFORM, 3, 1, 0.0, 1.0);
    node x = trial_take(&s, POINT, 3, 1, 0.0, 1.0);
    check_gradient(&s, graph_sum(s.g, p));
    check_gradient(&s, graph_number(s.g, 4.0));
    check_time(&s, x);
    check_time(&s, p);
    check_gradient(&s, trial_take(&s, CLOCK, 1, 1, 0.0, 1.0));
    trial_end(&s);
}

/* By an input and by time, as grad(H, u) and grad(H, t) ask for. */
static void leaves__can_all_be_derived_by(void **state)
{
    (void)state;
    struct trial s;
    static double got[P], wanted[P];
    trial_begin(&s, "leaf");
    node t = trial_take(&s, CLOCK, 1, 1, 0.2, 0.8);
    node u = trial_take(&s, COVARIATE, 1, 1, 0.2, 0.8);
    node a = graph_unary(s.g, OP_SIN, graph_binary(s.g, OP_MUL, t, u));
    node cosine = graph_unary(s.g, OP_COS, graph_binary(s.g, OP_MUL, t, u));
    draw_leaves(&s);
    for (int i = 0; i < 2; i++) {
        values_of(&s, graph_gradient(s.g, a, i ? t : u), got);
        values_of(&s, graph_binary(s.g, OP_MUL, cosine, i ? u : t), wanted);
        for (size_t k = 0; k < P; k++)
            expect_near(&s, "gradient", got[k], wanted[k], 1e-14);
    }
    trial_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unary__derivatives_agree_with_differences),
        cmocka_unit_test(stop__is_a_constant_to_derivatives),
        cmocka_unit_test(binary__derivatives_agree_with_differences),
        cmocka_unit_test(others__derivatives_agree_with_differences),
        cmocka_unit_test(networks__derivatives_agree_with_differences),
        cmocka_unit_test(table__every_row_has_a_case),
        cmocka_unit_test(derivatives__can_be_taken_twice),
        cmocka_unit_test(smooth_networks__can_be_derived_twice),
        cmocka_unit_test(constants__have_derivative_zero),
        cmocka_unit_test(leaves__can_all_be_derived_by),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
