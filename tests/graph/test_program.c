/* SPDX-License-Identifier: MIT */
/* Programs as a whole: blocks, outputs, where gradients go, and memory. What
 * single operations do is in test_ops.c. */
#include "trial.h"

#include "girsanov.h"

enum { ALL = 40, ROWS = 6, OUT = 3 };

/* --- An expression with all kinds of nodes ------------------------------- */

/* Uniform parts, a network, views, matrices that move, scratch memory of
 * several nodes. The outputs: (OUT), a matrix (2, 2) and a number. */
static void rich(struct trial *s, node output[3])
{
    static const size_t width[] = {3, 5, 3};
    static const struct net net = {2, width, ACT_SILU, true};
    struct graph *g = s->g;
    size_t offset = s->params;
    trial_take(s, UNIFORM, net_parameters(&net), 1, -0.5, 0.5);
    size_t f = graph_net_add(g, 2, width, net.act, offset);
    node x = trial_take(s, POINT, 3, 1, -1.0, 1.0);
    node y = trial_take(s, POINT, 3, 1, -1.0, 1.0);
    node t = trial_take(s, CLOCK, 1, 1, 0.0, 1.0);
    node p = trial_take(s, UNIFORM, 3, 1, 0.5, 1.5);
    node S = trial_positive(s, UNIFORM, 3);
    node L = graph_cholesky(g, S), c = graph_logdet(g, S);
    node h = graph_net(g, f, graph_binary(g, OP_ADD, x, graph_matmul(g, L, y)));
    node e = graph_unary(g, OP_EXP, graph_binary(g, OP_MUL, p, x));
    node part[] = {graph_slice(g, e, 1, 1, 1), t, c,
                   graph_slice(g, h, 2, 1, 1)};
    node A = graph_stack(g, 4, part, 2, 2), one = graph_identity(g, 2);
    A = graph_binary(g, OP_ADD, A,
                     graph_binary(g, OP_MUL, graph_number(g, 5.0), one));
    output[0] = graph_binary(g, OP_ADD, h, graph_solve(g, L, e));
    output[1] = graph_solve(g, A, one);
    output[2] = graph_binary(g, OP_MUL, c, graph_logdet(g, A));
}

/* Outputs and gradients of `rich` over ALL points, in blocks of P. */
struct answer {
    double y[3][4 * ALL], dot[3][4 * ALL];
    double x_bar[ROWS * ALL], p_bar[TRIAL_PARAMS];
};

/* Columns [first, first + P) of rows of ALL numbers, and back. */
static void cut(size_t rows, size_t first, size_t P, const double *from,
                double *to)
{
    for (size_t r = 0; r < rows; r++)
        memcpy(to + r * P, from + r * ALL + first, P * sizeof *to);
}

static void paste(size_t rows, size_t first, size_t P, const double *from,
                  double *to)
{
    for (size_t r = 0; r < rows; r++)
        memcpy(to + r * ALL + first, from + r * P, P * sizeof *to);
}

struct job {
    struct trial s;
    node output[3];
    double x[ROWS * ALL], t[ALL], dot[ROWS * ALL], bar[3][4 * ALL];
};

static void job_begin(struct job *j)
{
    trial_begin(&j->s, "rich");
    rich(&j->s, j->output);
    assert_int_equal(j->s.rows, ROWS);
    random_fill(ROWS * ALL, j->x, -1.0, 1.0);
    random_fill(ALL, j->t, 0.0, 1.0);
    random_fill(ROWS * ALL, j->dot, -1.0, 1.0);
    random_fill(3 * 4 * ALL, &j->bar[0][0], -1.0, 1.0);
}

static void run_block(struct job *j, const struct program *p,
                      const struct uniforms *u, struct workspace *w,
                      size_t first, size_t P, double *uniform_bar,
                      struct answer *a)
{
    static double x[ROWS * ALL], dot[ROWS * ALL], bar[3][4 * ALL];
    static double x_bar[ROWS * ALL];
    const double *const output_bar[] = {bar[0], bar[1], bar[2]};
    struct points in = {.P = P, .state = x, .time = j->t + first};
    cut(ROWS, first, P, j->x, x);
    cut(ROWS, first, P, j->dot, dot);
    memset(x_bar, 0, sizeof x_bar);
    program_forward(p, u, w, &in);
    program_jvp(p, u, w, &in, dot);
    for (size_t i = 0; i < 3; i++) {
        size_t rows = graph_size(j->s.g, j->output[i]);
        cut(rows, first, P, j->bar[i], bar[i]);
        paste(rows, first, P, program_output(p, w, P, i), a->y[i]);
        paste(rows, first, P, program_output_dot(p, w, P, i), a->dot[i]);
    }
    program_vjp(p, u, w, &in, output_bar, x_bar, uniform_bar);
    paste(ROWS, first, P, x_bar, a->x_bar);
}

static void run_blocks(struct job *j, size_t block, size_t capacity,
                       struct answer *a)
{
    struct uniforms u;
    struct workspace w;
    struct program *p = program_new(j->s.g, 3, j->output, j->s.params, true);
    assert_non_null(p);
    assert_int_equal(uniforms_init(&u, p), 0);
    assert_int_equal(workspace_init(&w, p, capacity, true, true), 0);
    program_prepare(p, j->s.p, &u);
    double *uniform_bar = NEW(double, program_uniforms(p));
    for (size_t first = 0; first < ALL; first += block) {
        size_t P = first + block < ALL ? block : ALL - first;
        run_block(j, p, &u, &w, first, P, uniform_bar, a);
    }
    program_finish(p, &u, uniform_bar);
    memcpy(a->p_bar, uniform_bar, j->s.params * sizeof *uniform_bar);
    mem_free(uniform_bar);
    workspace_free(&w);
    uniforms_free(&u);
    program_free(p);
}

static void expect_same(size_t n, const double *a, const double *b)
{
    for (size_t i = 0; i < n; i++)
        if (!(fabs(a[i] - b[i]) <= 1e-12 * (1.0 + fabs(b[i]))))
            fail_msg("number %zu is %.17g, not %.17g", i, a[i], b[i]);
}

/* --- Blocks -------------------------------------------------------------- */

static void program__gives_the_same_whatever_the_block(void **state)
{
    (void)state;
    static struct job j;
    static struct answer whole, blocks;
    static const size_t SIZE[][2] = {{1, 1},  {1, 64},  {5, 5},
                                     {7, 64}, {39, 40}, {40, 200}};
    job_begin(&j);
    run_blocks(&j, ALL, ALL, &whole);
    for (size_t i = 0; i < COUNT(SIZE); i++) {
        memset(&blocks, 0, sizeof blocks);
        run_blocks(&j, SIZE[i][0], SIZE[i][1], &blocks);
        expect_same(3 * 4 * ALL, &blocks.y[0][0], &whole.y[0][0]);
        expect_same(3 * 4 * ALL, &blocks.dot[0][0], &whole.dot[0][0]);
        expect_same(ROWS * ALL, blocks.x_bar, whole.x_bar);
        expect_same(j.s.params, blocks.p_bar, whole.p_bar);
    }
    trial_end(&j.s);
}

/* Each output by itself against differences, and then all three at once. */
static void outputs__of_one_program_add_up(void **state)
{
    (void)state;
    static struct job j;
    static struct answer all, one;
    static double x_bar[ROWS * ALL], p_bar[TRIAL_PARAMS];
    memset(x_bar, 0, sizeof x_bar);
    memset(p_bar, 0, sizeof p_bar);
    job_begin(&j);
    for (size_t i = 0; i < 3; i++)
        check_node(&j.s, j.output[i], 5, 1e-6, 1e-13);
    run_blocks(&j, 8, 8, &all);
    for (size_t i = 0; i < 3; i++) {
        struct job only = j;
        for (size_t k = 0; k < 3; k++)
            if (k != i) memset(only.bar[k], 0, sizeof only.bar[k]);
        run_blocks(&only, 8, 8, &one);
        for (size_t e = 0; e < COUNT(x_bar); e++)
            x_bar[e] += one.x_bar[e];
        for (size_t e = 0; e < j.s.params; e++)
            p_bar[e] += one.p_bar[e];
    }
    expect_same(COUNT(x_bar), x_bar, all.x_bar);
    expect_same(j.s.params, p_bar, all.p_bar);
    trial_end(&j.s);
}

/* --- Where gradients go -------------------------------------------------- */

static void vjp__adds_to_what_is_there(void **state)
{
    (void)state;
    struct trial s;
    struct bench b;
    trial_begin(&s, "x p");
    node x = trial_take(&s, POINT, 1, 1, -1.0, 1.0);
    node p = trial_take(&s, UNIFORM, 1, 1, -1.0, 1.0);
    node out = graph_binary(s.g, OP_MUL, x, p);
    bench_open(&b, &s, 1, &out, 2);
    bench_run(&b, &s);
    double bar[2] = {1.0, 2.0}, state_bar[2] = {10.0, 20.0}, p_bar[1] = {30.0};
    const double *output_bar = bar;
    assert_int_equal(program_uniforms(b.program), 1);
    for (int round = 1; round <= 2; round++) {
        program_vjp(b.program, &b.u, &b.w, &b.in, &output_bar, state_bar,
                    p_bar);
        double sum = s.x[0] + 2.0 * s.x[1];
        expect_near(&s, "x_bar", state_bar[0], 10.0 + round * s.p[0], 1e-15);
        expect_near(&s, "x_bar", state_bar[1], 20.0 + round * 2 * s.p[0],
                    1e-15);
        expect_near(&s, "p_bar", p_bar[0], 30.0 + round * sum, 1e-15);
    }
    bench_close(&b);
    trial_end(&s);
}

/* Without state_bar or a bar of an output: the rest is the same. */
static void vjp__may_leave_out_what_is_not_wanted(void **state)
{
    (void)state;
    static struct job j;
    static double state_bar[TRIAL_SIZE];
    job_begin(&j);
    struct bench b;
    bench_open(&b, &j.s, 3, j.output, 5);
    bench_run(&b, &j.s);
    size_t n = program_uniforms(b.program);
    double *with = NEW(double, n), *without = NEW(double, n);
    const double *const bar[] = {j.bar[0], j.bar[1], NULL};
    program_vjp(b.program, &b.u, &b.w, &b.in, bar, state_bar, with);
    program_vjp(b.program, &b.u, &b.w, &b.in, bar, NULL, without);
    program_finish(b.program, &b.u, with);
    program_finish(b.program, &b.u, without);
    assert_memory_equal(with, without, j.s.params * sizeof *with);
    mem_free(with);
    mem_free(without);
    bench_close(&b);
    trial_end(&j.s);
}

/* --- Outputs ------------------------------------------------------------- */

/* Uniform ones, views, leaves, constants, and one that is asked for twice. */
static void outputs__look_alike_whatever_they_are(void **state)
{
    (void)state;
    enum { P = 4 };
    struct trial s;
    struct bench b;
    trial_begin(&s, "outputs");
    node x = trial_take(&s, POINT, 3, 1, -1.0, 1.0);
    node p = trial_take(&s, UNIFORM, 2, 1, 0.5, 1.0);
    node e = graph_unary(s.g, OP_EXP, x);
    const node output[] = {graph_unary(s.g, OP_LOG, p),
                           graph_slice(s.g, e, 1, 2, 1),
                           x,
                           p,
                           graph_number(s.g, 7.0),
                           e,
                           e};
    bench_open(&b, &s, COUNT(output), output, P);
    bench_run(&b, &s);
    const double *y[COUNT(output)];
    for (size_t i = 0; i < COUNT(output); i++)
        y[i] = program_output(b.program, &b.w, P, i);
    for (size_t k = 0; k < P; k++) {
        for (size_t r = 0; r < 2; r++) {
            assert_true(y[0][r * P + k] == log(s.p[r]));
            /* Vector functions may be a few units in the last place off. */
            double exact = exp(s.x[(r + 1) * P + k]);
            assert_true(fabs(y[1][r * P + k] - exact) <= 1e-15 * exact);
            assert_true(y[3][r * P + k] == s.p[r]);
        }
        assert_true(y[4][k] == 7.0);
    }
    assert_memory_equal(y[2], s.x, 3 * P * sizeof(double));
    assert_memory_equal(y[5], y[6], 3 * P * sizeof(double));
    bench_close(&b);
    trial_end(&s);
}

static void twice__the_same_output_gets_both_bars(void **state)
{
    (void)state;
    struct trial s;
    struct bench b;
    trial_begin(&s, "twice");
    node x = trial_take(&s, POINT, 2, 1, -1.0, 1.0);
    node e = graph_unary(s.g, OP_EXP, x);
    const node output[] = {e, graph_slice(s.g, e, 1, 1, 1), e};
    bench_open(&b, &s, 3, output, 1);
    bench_run(&b, &s);
    const double a[2] = {1.0, 2.0}, c[1] = {3.0}, d[2] = {5.0, 7.0};
    const double *const bar[] = {a, c, d};
    double x_bar[TRIAL_ROWS] = {0}, nothing[1];
    program_vjp(b.program, &b.u, &b.w, &b.in, bar, x_bar, nothing);
    expect_near(&s, "x_bar[0]", x_bar[0], 6.0 * exp(s.x[0]), 1e-15);
    expect_near(&s, "x_bar[1]", x_bar[1], 12.0 * exp(s.x[1]), 1e-15);
    bench_close(&b);
    trial_end(&s);
}

static void uses__knows_the_leaves(void **state)
{
    (void)state;
    struct trial s;
    trial_begin(&s, "uses");
    node x = trial_take(&s, POINT, 2, 1, -1.0, 1.0);
    node t = trial_take(&s, CLOCK, 1, 1, -1.0, 1.0);
    node u = trial_take(&s, COVARIATE, 1, 1, -1.0, 1.0);
    node xt = graph_binary(s.g, OP_MUL, x, t);
    node slope = graph_time_derivative(s.g, graph_binary(s.g, OP_MUL, xt, u));
    struct program *p = program_new(s.g, 1, &xt, 0, true);
    assert_true(program_uses(p, OP_STATE) && program_uses(p, OP_TIME));
    assert_false(program_uses(p, OP_INPUT) || program_uses(p, OP_SLOPE));
    program_free(p);
    p = program_new(s.g, 1, &slope, 0, true);
    assert_true(program_uses(p, OP_INPUT) && program_uses(p, OP_SLOPE));
    assert_false(program_uses(p, OP_PARAM));
    program_free(p);
    assert_true(graph_depends(s.g, slope, OP_SLOPE));
    assert_false(graph_depends(s.g, xt, OP_INPUT));
    trial_end(&s);
}

/* --- Memory -------------------------------------------------------------- */

/* A program, its uniforms and a workspace, or an honest failure. */
static int open_and_close(const struct job *j)
{
    struct uniforms u = {0};
    struct workspace w = {0};
    struct program *p = program_new(j->s.g, 3, j->output, j->s.params, false);
    int status = p ? uniforms_init(&u, p) : GSV_NO_MEMORY;
    if (!status) status = workspace_init(&w, p, 8, true, true);
    workspace_free(&w);
    uniforms_free(&u);
    program_free(p);
    return status;
}

static void memory__may_run_out_for_programs(void **state)
{
    (void)state;
    static struct job j;
    job_begin(&j);
    int status = GSV_NO_MEMORY;
    size_t n = 0;
    while (status) {
        assert_int_equal(status, GSV_NO_MEMORY);
        mem_fail_at(++n);
        status = open_and_close(&j);
        mem_fail_at(0);
    }
    assert_int_equal(n, 1 + 7 + 4 + 8);
    trial_end(&j.s);
}

/* Every builder goes on with a graph that failed; it is asked at the end. */
static void build_all(struct graph *g)
{
    static const size_t width[] = {2, 3, 1};
    static const double data[] = {2, 1, 0, 3};
    node state = graph_leaf(g, OP_STATE, 0, 4, 1);
    node x = graph_slice(g, state, 0, 2, 1), y = graph_slice(g, state, 2, 2, 1);
    node p = graph_leaf(g, OP_PARAM, 0, 2, 2);
    node c = graph_constant(g, 2, 2, data);
    node A = graph_binary(g, OP_ADD, graph_matmul(g, p, c),
                          graph_diagonal(g, 2, 1.0, 2.0));
    node S = graph_matmul(g, A, graph_transpose(g, A));
    node t = graph_leaf(g, OP_TIME, 0, 1, 1),
         u = graph_leaf(g, OP_INPUT, 0, 1, 1);
    node z =
        graph_solve(g, graph_cholesky(g, S), graph_binary(g, OP_MUL, x, t));
    node part[] = {graph_softmax(g, z), y, graph_fill(g, u, 2, 1)};
    node all = graph_stack(g, 3, part, 6, 1);
    size_t f = graph_net_add(g, 2, width, ACT_TANH, 4);
    node h = graph_net(g, f, graph_slice(g, all, 1, 2, 1));
    node sum = graph_binary(g, OP_ADD, graph_sum(g, all), h);
    sum = graph_binary(g, OP_POW, sum, graph_number(g, 3.0));
    sum = graph_binary(g, OP_ADD, sum, graph_logdet(g, S));
    node wide = graph_pad(g, graph_unary(g, OP_SIN, sum), 1, 4, 1);
    node once = graph_gradient(g, sum, state);
    node moved =
        graph_substitute(g, once, graph_binary(g, OP_MUL, wide, state));
    graph_time_derivative(g, moved);
    graph_depends(g, moved, OP_TIME);
}

static void memory__may_run_out_for_graphs(void **state)
{
    (void)state;
    bool failed = true;
    size_t n = 0;
    while (failed) {
        mem_fail_at(++n);
        struct graph *g = graph_new();
        if (g) build_all(g);
        mem_fail_at(0);
        failed = !g || g->failed;
        if (g) assert_true(graph_info(g, 0)->op == OP_CONSTANT);
        graph_free(g);
    }
    assert_true(n > 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(program__gives_the_same_whatever_the_block),
        cmocka_unit_test(outputs__of_one_program_add_up),
        cmocka_unit_test(vjp__adds_to_what_is_there),
        cmocka_unit_test(vjp__may_leave_out_what_is_not_wanted),
        cmocka_unit_test(outputs__look_alike_whatever_they_are),
        cmocka_unit_test(twice__the_same_output_gets_both_bars),
        cmocka_unit_test(uses__knows_the_leaves),
        cmocka_unit_test(memory__may_run_out_for_programs),
        cmocka_unit_test(memory__may_run_out_for_graphs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
