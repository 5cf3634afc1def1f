/* SPDX-License-Identifier: MIT */
/* Building expressions: equal ones are one node, constants are folded, and
 * large ones are built in no time. */
#include <time.h>

#include "trial.h"

/* A graph with a scalar x and a vector v of three. */
struct pieces {
    struct graph *g;
    node x, v, p;
};

static struct pieces begin(void)
{
    struct graph *g = graph_new();
    assert_non_null(g);
    node state = graph_leaf(g, OP_STATE, 0, 4, 1);
    return (struct pieces){g, graph_slice(g, state, 0, 1, 1),
                           graph_slice(g, state, 1, 3, 1),
                           graph_leaf(g, OP_PARAM, 0, 2, 2)};
}

static node num(struct pieces *s, double value)
{
    return graph_number(s->g, value);
}

static node pair(struct pieces *s, enum op op, node a, node b)
{
    return graph_binary(s->g, op, a, b);
}

/* --- Equal nodes --------------------------------------------------------- */

static void equal_expressions__are_one_node(void **state)
{
    (void)state;
    struct pieces s = begin();
    node again[2];
    size_t nodes = 0;
    for (int i = 0; i < 3; i++) {
        node sine = graph_unary(s.g, OP_SIN, s.v);
        node sum = pair(&s, OP_ADD, sine, s.x);
        static const double data[] = {1, 2, 3};
        node c = graph_constant(s.g, 3, 1, data);
        node stack = graph_stack(s.g, 2, (node[2]){c, sum}, 6, 1);
        again[i > 0] = graph_slice(s.g, stack, 1, 4, 1);
        if (i == 0) nodes = s.g->nodes;
    }
    assert_int_equal(again[0], again[1]);
    assert_int_equal(s.g->nodes, nodes);
    graph_free(s.g);
}

static void different_expressions__are_different_nodes(void **state)
{
    (void)state;
    struct pieces s = begin();
    static const double data[] = {1, 2, 3, 4};
    const node all[] = {
        pair(&s, OP_SUB, s.x, s.v),
        pair(&s, OP_SUB, s.v, s.x),
        pair(&s, OP_ADD, s.v, s.x),
        num(&s, 0.0),
        num(&s, -0.0),
        num(&s, 1.0),
        graph_constant(s.g, 2, 2, data),
        graph_constant(s.g, 4, 1, data),
        graph_leaf(s.g, OP_PARAM, 0, 4, 1),
        graph_leaf(s.g, OP_PARAM, 1, 4, 1),
        graph_leaf(s.g, OP_INPUT, 0, 1, 1),
        graph_leaf(s.g, OP_INPUT, 1, 1, 1),
        graph_leaf(s.g, OP_SLOPE, 0, 1, 1),
        graph_slice(s.g, s.v, 0, 2, 1),
        graph_slice(s.g, s.v, 1, 2, 1),
        graph_slice(s.g, s.v, 1, 1, 2),
        s.x,
        s.v,
        s.p,
    };
    for (size_t i = 0; i < COUNT(all); i++)
        for (size_t j = 0; j < i; j++)
            if (all[i] == all[j]) fail_msg("%zu and %zu are one node", i, j);
    graph_free(s.g);
}

/* --- Folding ------------------------------------------------------------- */

static void neutral_operands__leave_no_trace(void **state)
{
    (void)state;
    struct pieces s = begin();
    node zero = num(&s, 0.0), one = num(&s, 1.0), minus = num(&s, -1.0);
    const node all[] = {
        pair(&s, OP_MUL, s.v, one),
        pair(&s, OP_MUL, one, s.v),
        pair(&s, OP_DIV, s.v, one),
        pair(&s, OP_ADD, s.v, zero),
        pair(&s, OP_ADD, zero, s.v),
        pair(&s, OP_SUB, s.v, zero),
        pair(&s, OP_POW, s.v, one),
        graph_unary(s.g, OP_NEG, graph_unary(s.g, OP_NEG, s.v)),
        pair(&s, OP_MUL, minus, graph_unary(s.g, OP_NEG, s.v)),
        pair(&s, OP_SUB, zero, graph_unary(s.g, OP_NEG, s.v)),
        graph_transpose(s.g, graph_transpose(s.g, s.v)),
        graph_slice(s.g, s.v, 0, 3, 1),
    };
    for (size_t i = 0; i < COUNT(all); i++)
        if (all[i] != s.v) fail_msg("expression %zu is not v", i);
    assert_int_equal(graph_transpose(s.g, graph_transpose(s.g, s.p)), s.p);
    graph_free(s.g);
}

static void zero_times__is_zero_in_the_right_shape(void **state)
{
    (void)state;
    struct pieces s = begin();
    node zero = num(&s, 0.0);
    const node all[] = {pair(&s, OP_MUL, s.v, zero),
                        pair(&s, OP_MUL, zero, s.v),
                        pair(&s, OP_DIV, zero, s.v)};
    for (size_t i = 0; i < COUNT(all); i++) {
        assert_int_equal(graph_size(s.g, all[i]), 3);
        assert_true(graph_info(s.g, all[i])->uniform);
        assert_int_equal(graph_slice(s.g, all[i], 1, 1, 1), zero);
    }
    assert_int_equal(pair(&s, OP_MUL, s.x, zero), zero);
    graph_free(s.g);
}

static void numbers__are_folded(void **state)
{
    (void)state;
    struct pieces s = begin();
    double value;
    assert_true(graph_is_number(
        s.g, pair(&s, OP_DIV, num(&s, 8.0), num(&s, 3.0)), &value));
    assert_true(value == 8.0 / 3.0);
    node e =
        graph_unary(s.g, OP_EXP, pair(&s, OP_SUB, num(&s, 3.0), num(&s, 1.0)));
    assert_true(graph_is_number(s.g, e, &value));
    assert_true(value == exp(2.0));
    assert_false(graph_is_number(s.g, s.x, &value));
    assert_false(graph_is_number(s.g, s.p, &value));
    static const double data[] = {1, 2, 3};
    node c = graph_constant(s.g, 3, 1, data);
    assert_false(graph_is_number(s.g, c, &value));
    assert_int_equal(graph_slice(s.g, c, 2, 1, 1), num(&s, 3.0));
    graph_free(s.g);
}

static void powers__become_products(void **state)
{
    (void)state;
    struct pieces s = begin();
    node square = pair(&s, OP_MUL, s.x, s.x);
    assert_int_equal(pair(&s, OP_POW, s.x, num(&s, 2.0)), square);
    assert_int_equal(pair(&s, OP_POW, s.x, num(&s, 4.0)),
                     pair(&s, OP_MUL, square, square));
    assert_int_equal(pair(&s, OP_POW, s.x, num(&s, -1.0)),
                     pair(&s, OP_DIV, num(&s, 1.0), s.x));
    assert_int_equal(pair(&s, OP_POW, s.x, num(&s, 0.0)), num(&s, 1.0));
    assert_int_equal(pair(&s, OP_POW, s.x, num(&s, 0.5)),
                     graph_unary(s.g, OP_SQRT, s.x));
    node odd = pair(&s, OP_POW, s.x, num(&s, 2.5));
    assert_int_equal(graph_info(s.g, odd)->op, OP_POW);
    graph_free(s.g);
}

static void views__go_to_the_source(void **state)
{
    (void)state;
    struct pieces s = begin();
    node sine = graph_unary(s.g, OP_SIN, s.v);
    node view = graph_slice(s.g, graph_slice(s.g, sine, 1, 2, 1), 1, 1, 1);
    assert_int_equal(view, graph_slice(s.g, sine, 2, 1, 1));
    node part[] = {s.x, graph_unary(s.g, OP_COS, s.x), num(&s, 4.0)};
    node stack = graph_stack(s.g, 3, part, 3, 1);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(graph_slice(s.g, stack, i, 1, 1), part[i]);
    assert_int_equal(graph_slice(s.g, graph_fill(s.g, s.x, 5, 1), 3, 1, 1),
                     s.x);
    assert_int_equal(graph_slice(s.g, s.p, 2, 1, 1),
                     graph_leaf(s.g, OP_PARAM, 2, 1, 1));
    graph_free(s.g);
}

/* --- Uniform or not ------------------------------------------------------ */

static void uniform__is_what_no_point_has_a_say_in(void **state)
{
    (void)state;
    struct pieces s = begin();
    struct graph *g = s.g;
    node t = graph_leaf(g, OP_TIME, 0, 1, 1);
    assert_true(graph_info(g, s.p)->uniform);
    assert_true(graph_info(g, graph_cholesky(g, s.p))->uniform);
    assert_false(graph_info(g, s.x)->uniform);
    assert_false(graph_info(g, t)->uniform);
    assert_false(graph_info(g, pair(&s, OP_MUL, s.p, t))->uniform);
    /* One inverse for all points instead of a solution at each. */
    node b = graph_slice(g, s.v, 0, 2, 1), y = graph_solve(g, s.p, b);
    assert_int_equal(graph_info(g, y)->op, OP_MATMUL);
    assert_true(graph_info(g, graph_input(g, y, 0))->uniform);
    graph_free(g);
}

/* --- The state replaced -------------------------------------------------- */

static void substitute__replaces_every_state(void **state)
{
    (void)state;
    struct trial s;
    trial_begin(&s, "substitute");
    struct graph *g = s.g;
    node x = trial_take(&s, POINT, 3, 1, -1.0, 1.0);
    node p = trial_take(&s, UNIFORM, 1, 1, 2.0, 3.0);
    node f = graph_binary(g, OP_MUL, graph_unary(g, OP_SIN, x),
                          graph_slice(g, x, 1, 1, 1));
    node image = graph_binary(g, OP_MUL, s.state, p);
    node got = graph_substitute(g, f, image);
    node moved = graph_slice(g, image, 0, 3, 1);
    node wanted = graph_binary(g, OP_MUL, graph_unary(g, OP_SIN, moved),
                               graph_slice(g, image, 1, 1, 1));
    assert_int_equal(got, wanted);
    assert_int_equal(graph_substitute(g, f, s.state), f);
    /* With a number in its place everything folds. */
    node one = graph_fill(g, graph_number(g, 1.0), TRIAL_ROWS, 1);
    assert_true(graph_info(g, graph_substitute(g, f, one))->uniform);
    trial_end(&s);
}

/* --- Size ---------------------------------------------------------------- */

static void large_graphs__are_built_in_no_time(void **state)
{
    (void)state;
    struct trial s;
    struct bench b;
    clock_t start = clock();
    trial_begin(&s, "large");
    node x = trial_take(&s, POINT, 1, 1, -1.0, 1.0), sum = x;
    int terms = 0;
    while (s.g->nodes < 20000) {
        node kx = graph_binary(s.g, OP_MUL, graph_number(s.g, ++terms), x);
        sum = graph_binary(s.g, OP_ADD, sum, graph_unary(s.g, OP_SIN, kx));
    }
    node output[] = {sum, graph_gradient(s.g, sum, s.state)};
    bench_open(&b, &s, 2, output, 5);
    double value = bench_run(&b, &s)[0], wanted = s.x[0];
    for (int k = 1; k <= terms; k++)
        wanted += sin(k * s.x[0]);
    expect_near(&s, "sum", value, wanted, 1e-10);
    bench_close(&b);
    trial_end(&s);
    assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 3.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_expressions__are_one_node),
        cmocka_unit_test(different_expressions__are_different_nodes),
        cmocka_unit_test(neutral_operands__leave_no_trace),
        cmocka_unit_test(zero_times__is_zero_in_the_right_shape),
        cmocka_unit_test(numbers__are_folded),
        cmocka_unit_test(powers__become_products),
        cmocka_unit_test(views__go_to_the_source),
        cmocka_unit_test(uniform__is_what_no_point_has_a_say_in),
        cmocka_unit_test(substitute__replaces_every_state),
        cmocka_unit_test(large_graphs__are_built_in_no_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
