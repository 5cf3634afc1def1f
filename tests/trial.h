/* SPDX-License-Identifier: MIT */
/* An expression on trial: a graph whose leaves have random values, run as a
 * program over P points, and its derivatives against finite differences. The
 * points of a block do not see each other, so that moving one row of the state
 * at all points gives the derivatives of all of them. */
#ifndef TESTS_TRIAL_H
#define TESTS_TRIAL_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "graph/ops.h"
#include "graph/program.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { TRIAL_ROWS = 48, TRIAL_PARAMS = 160, TRIAL_INPUTS = 3, TRIAL_P = 64 };

/* Where an operand comes from. */
enum source_kind { UNIFORM, POINT, FIXED, CLOCK, COVARIATE, SOURCES };

struct trial {
    struct graph *g;
    node state;
    size_t rows, params, inputs; /* used so far */
    double x[TRIAL_ROWS * TRIAL_P], time[TRIAL_P];
    double input[TRIAL_INPUTS * TRIAL_P], slope[TRIAL_INPUTS * TRIAL_P];
    double p[TRIAL_PARAMS];
    double row_low[TRIAL_ROWS], row_high[TRIAL_ROWS];
    double input_low[TRIAL_INPUTS], input_high[TRIAL_INPUTS];
    const char *what; /* for messages */
};

/* --- Random numbers ------------------------------------------------------ */

static uint64_t trial_seed = 1;

static inline double random_in(double low, double high)
{
    uint64_t z = trial_seed += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    z ^= z >> 31;
    return low + (high - low) * (double)(z >> 11) / 9007199254740992.0;
}

static inline void random_fill(size_t n, double *x, double low, double high)
{
    for (size_t i = 0; i < n; i++)
        x[i] = random_in(low, high);
}

/* --- Leaves -------------------------------------------------------------- */

static inline void trial_begin(struct trial *s, const char *what)
{
    memset(s, 0, sizeof *s);
    s->what = what;
    s->g = graph_new();
    assert_non_null(s->g);
    s->state = graph_leaf(s->g, OP_STATE, 0, TRIAL_ROWS, 1);
}

static inline void trial_end(struct trial *s)
{
    graph_free(s->g);
    s->g = NULL;
}

/* A fresh operand with values inside (low, high). */
static inline node trial_take(struct trial *s, enum source_kind kind,
                              size_t rows, size_t columns, double low,
                              double high)
{
    size_t n = rows * columns;
    double data[64];
    switch (kind) {
    case UNIFORM:
        assert_true(s->params + n <= TRIAL_PARAMS);
        random_fill(n, s->p + s->params, low, high);
        s->params += n;
        return graph_leaf(s->g, OP_PARAM, s->params - n, rows, columns);
    case POINT:
        assert_true(s->rows + n <= TRIAL_ROWS);
        for (size_t i = 0; i < n; i++, s->rows++) {
            s->row_low[s->rows] = low;
            s->row_high[s->rows] = high;
        }
        return graph_slice(s->g, s->state, s->rows - n, rows, columns);
    case FIXED:
        assert_true(n <= COUNT(data));
        random_fill(n, data, low, high);
        return graph_constant(s->g, rows, columns, data);
    case CLOCK:
        random_fill(TRIAL_P, s->time, low, high);
        return graph_fill(s->g, graph_leaf(s->g, OP_TIME, 0, 1, 1), rows,
                          columns);
    case COVARIATE:
        assert_true(s->inputs < TRIAL_INPUTS);
        s->input_low[s->inputs] = low;
        s->input_high[s->inputs] = high;
        return graph_fill(s->g, graph_leaf(s->g, OP_INPUT, s->inputs++, 1, 1),
                          rows, columns);
    case SOURCES: break;
    }
    return 0;
}

/* A well-conditioned matrix, and one that is symmetric and positive. */
static inline node trial_matrix(struct trial *s, enum source_kind kind,
                                size_t n)
{
    node shift = graph_binary(s->g, OP_MUL, graph_number(s->g, 3.0),
                              graph_identity(s->g, n));
    return graph_binary(s->g, OP_ADD, trial_take(s, kind, n, n, -1.0, 1.0),
                        shift);
}

static inline node trial_positive(struct trial *s, enum source_kind kind,
                                  size_t n)
{
    node b = trial_take(s, kind, n, n, -1.0, 1.0);
    node square = graph_matmul(s->g, b, graph_transpose(s->g, b));
    return graph_binary(s->g, OP_ADD, square, graph_identity(s->g, n));
}

/* --- Runs ---------------------------------------------------------------- */

struct bench {
    struct program *program;
    struct uniforms u;
    struct workspace w;
    struct points in;
    size_t size;
};

static inline void bench_open(struct bench *b, struct trial *s, size_t n,
                              const node *output, size_t P)
{
    assert_false(s->g->failed);
    for (size_t r = 0; r < s->rows; r++)
        random_fill(P, s->x + r * P, s->row_low[r], s->row_high[r]);
    for (size_t r = 0; r < s->inputs; r++)
        random_fill(P, s->input + r * P, s->input_low[r], s->input_high[r]);
    random_fill(s->inputs * P, s->slope, -1.0, 1.0);
    b->program = program_new(s->g, n, output, s->params, true);
    assert_non_null(b->program);
    assert_int_equal(uniforms_init(&b->u, b->program), 0);
    /* One point more than is used: the capacity is not the block's size. */
    assert_int_equal(workspace_init(&b->w, b->program, P + 1, true, true), 0);
    b->in = (struct points){.P = P,
                            .state = s->x,
                            .time = s->time,
                            .input = s->input,
                            .slope = s->slope};
    b->size = graph_size(s->g, output[0]) * P;
}

static inline void bench_close(struct bench *b)
{
    workspace_free(&b->w);
    uniforms_free(&b->u);
    program_free(b->program);
}

/* The first output with the leaves as they are now. */
static inline const double *bench_run(struct bench *b, const struct trial *s)
{
    program_prepare(b->program, s->p, &b->u);
    program_forward(b->program, &b->u, &b->w, &b->in);
    return program_output(b->program, &b->w, b->in.P, 0);
}

static inline double product_sum(size_t n, const double *a, const double *b)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static inline void expect_near(const struct trial *s, const char *which,
                               double got, double wanted, double tolerance)
{
    if (fabs(got - wanted) <= tolerance * (1.0 + fabs(wanted))) return;
    fail_msg("%s: %s is %.17g, should be %.17g", s->what, which, got, wanted);
}

/* --- Derivatives --------------------------------------------------------- */

static const double TRIAL_STEP = 1e-5;

enum { TRIAL_SIZE = TRIAL_ROWS * TRIAL_P };

/* x_dot of every point when row r moves: plus and minus, and their middle. */
static inline void moved_row(struct bench *b, struct trial *s, size_t r,
                             double *slope)
{
    size_t P = b->in.P;
    double *x = s->x + r * P, kept[TRIAL_P];
    memcpy(kept, x, P * sizeof *x);
    for (int sign = 1; sign >= -1; sign -= 2) {
        for (size_t i = 0; i < P; i++)
            x[i] = kept[i] + sign * TRIAL_STEP;
        const double *y = bench_run(b, s);
        for (size_t i = 0; i < b->size; i++)
            slope[i] = ((sign > 0 ? 0.0 : slope[i]) + sign * y[i]);
    }
    for (size_t i = 0; i < b->size; i++)
        slope[i] /= 2.0 * TRIAL_STEP;
    memcpy(x, kept, P * sizeof *x);
}

static inline void moved_param(struct bench *b, struct trial *s, size_t j,
                               double *slope)
{
    double kept = s->p[j];
    s->p[j] = kept + TRIAL_STEP;
    memcpy(slope, bench_run(b, s), b->size * sizeof *slope);
    s->p[j] = kept - TRIAL_STEP;
    const double *y = bench_run(b, s);
    for (size_t i = 0; i < b->size; i++)
        slope[i] = (slope[i] - y[i]) / (2.0 * TRIAL_STEP);
    s->p[j] = kept;
}

static inline void check_vjp(struct bench *b, struct trial *s,
                             const double *bar, const double *state_bar,
                             const double *param_bar, double tolerance)
{
    static double slope[TRIAL_SIZE];
    size_t P = b->in.P;
    char which[80];
    for (size_t r = 0; r < s->rows; r++) {
        moved_row(b, s, r, slope);
        for (size_t i = 0; i < P; i++) {
            double wanted = 0.0;
            for (size_t e = i; e < b->size; e += P)
                wanted += bar[e] * slope[e];
            snprintf(which, sizeof which, "P %zu, x_bar[%zu,%zu]", P, r, i);
            expect_near(s, which, state_bar[r * P + i], wanted, tolerance);
        }
    }
    for (size_t j = 0; j < s->params; j++) {
        moved_param(b, s, j, slope);
        double wanted = product_sum(b->size, bar, slope);
        snprintf(which, sizeof which, "P %zu, p_bar[%zu]", P, j);
        expect_near(s, which, param_bar[j], wanted,
                    tolerance * sqrt((double)P));
    }
}

static inline void check_jvp(struct bench *b, struct trial *s,
                             const double *dot, const double *moved,
                             double tolerance)
{
    static double sum[TRIAL_SIZE], slope[TRIAL_SIZE];
    size_t P = b->in.P;
    memset(sum, 0, sizeof sum);
    for (size_t r = 0; r < s->rows; r++) {
        moved_row(b, s, r, slope);
        for (size_t e = 0; e < b->size; e++)
            sum[e] += slope[e] * dot[r * P + e % P];
    }
    for (size_t e = 0; e < b->size; e++)
        expect_near(s, "jvp", moved[e], sum[e], tolerance);
}

/* vjp and jvp of a node with P points. adjoint: how well both must agree. */
static inline void check_node(struct trial *s, node out, size_t P,
                              double tolerance, double adjoint)
{
    static double bar[TRIAL_SIZE], dot[TRIAL_SIZE], moved[TRIAL_SIZE];
    static double state_bar[TRIAL_SIZE];
    struct bench b;
    bench_open(&b, s, 1, &out, P);
    random_fill(b.size, bar, -1.0, 1.0);
    random_fill(TRIAL_ROWS * P, dot, -1.0, 1.0);
    memset(state_bar, 0, sizeof state_bar);
    double *uniform_bar = NEW(double, program_uniforms(b.program));
    assert_non_null(uniform_bar);
    bench_run(&b, s);
    program_jvp(b.program, &b.u, &b.w, &b.in, dot);
    memcpy(moved, program_output_dot(b.program, &b.w, P, 0),
           b.size * sizeof *moved);
    const double *output_bar = bar;
    program_vjp(b.program, &b.u, &b.w, &b.in, &output_bar, state_bar,
                uniform_bar);
    program_finish(b.program, &b.u, uniform_bar);
    expect_near(s, "<vjp, dot>", product_sum(TRIAL_ROWS * P, state_bar, dot),
                product_sum(b.size, bar, moved), adjoint * (double)P);
    check_vjp(&b, s, bar, state_bar, uniform_bar, tolerance);
    check_jvp(&b, s, dot, moved, tolerance);
    mem_free(uniform_bar);
    bench_close(&b);
}

#endif
