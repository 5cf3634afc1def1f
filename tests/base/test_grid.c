/* SPDX-License-Identifier: MIT */
/* Functions on a grid: exact for quadratics inside, C1 everywhere, 0 behind the
 * cells around the box; third order for a smooth function; and the numbers of
 * features of polynomials. */
#include "trial.h"

#include "base/grid.h"

static const struct grid GRID[] = {
    {1, {4}, {-1}, {2}},
    {1, {9}, {0}, {1}},
    {2, {5, 4}, {-1, 0}, {1, 3}},
    {3, {4, 6, 5}, {0, -1, -2}, {1, 1, 1}},
    {4, {4, 5, 4, 6}, {0, 0, -1, 2}, {1, 2, 1, 5}},
};

/* Node number i of a grid. */
static void place(const struct grid *g, size_t i, double *x)
{
    for (size_t k = g->axes; k-- > 0; i /= g->nodes[k])
        x[k] = g->low[k] + (g->high[k] - g->low[k]) *
                               (double)(i % g->nodes[k]) /
                               (double)(g->nodes[k] - 1);
}

static size_t grid_nodes(const struct grid *g)
{
    size_t n = 1;
    for (size_t k = 0; k < g->axes; k++)
        n *= g->nodes[k];
    return n;
}

static void fill(const struct grid *g, double (*f)(const double *x),
                 double *value)
{
    for (size_t i = 0; i < grid_nodes(g); i++) {
        double x[GRID_AXES] = {0};
        place(g, i, x);
        value[i] = f(x);
    }
}

/* The function, and its slopes where they are asked for. */
static double look(const struct grid *g, const double *value, const double *x,
                   double *slope)
{
    size_t index[GRID_STENCIL];
    double weight[GRID_STENCIL], by[GRID_AXES * GRID_STENCIL], sum = 0.0;
    size_t n = grid_weights(g, x, index, weight, slope ? by : NULL);
    assert_int_equal(n, (size_t)1 << (2 * g->axes));
    for (size_t j = 0; j < n; j++) {
        assert_true(index[j] < grid_nodes(g));
        sum += weight[j] * value[index[j]];
    }
    for (size_t k = 0; slope && k < g->axes; k++) {
        slope[k] = 0.0;
        for (size_t j = 0; j < n; j++)
            slope[k] += by[k * n + j] * value[index[j]];
    }
    return sum;
}

static void near(double got, double wanted, double tolerance)
{
    if (fabs(got - wanted) > tolerance)
        fail_msg("%.17g should be %.17g", got, wanted);
}

/* A point in the box widened by so many of its widths, border included. */
static void draw(const struct grid *g, double wider, double *x)
{
    for (size_t k = 0; k < g->axes; k++) {
        double width = g->high[k] - g->low[k], choice = random_in(0, 1);
        x[k] = random_in(g->low[k] - wider * width, g->high[k] + wider * width);
        if (choice < 0.1) x[k] = g->low[k];
        if (choice > 0.9) x[k] = g->high[k];
    }
}

static double one(const double *x)
{
    (void)x;
    return 1.0;
}

/* Quadratic along each axis: every product of powers up to 2. */
static double quadratic(const double *x)
{
    double y = 1.0;
    for (size_t k = 0; k < GRID_AXES; k++)
        y *= 1.0 + (0.3 + 0.2 * (double)k) * x[k] - 0.4 * x[k] * x[k];
    return y;
}

static void inside__quadratics_are_exact(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(GRID); i++) {
        const struct grid *g = &GRID[i];
        double unit[480], value[480], x[GRID_AXES] = {0};
        fill(g, one, unit);
        fill(g, quadratic, value);
        for (int trial = 0; trial < 200; trial++) {
            double slope[GRID_AXES];
            draw(g, 0.0, x);
            assert_false(grid_outside(g, x));
            near(look(g, unit, x, slope), 1.0, 1e-13);
            for (size_t k = 0; k < g->axes; k++)
                near(slope[k], 0.0, 1e-11);
            near(look(g, value, x, NULL), quadratic(x), 1e-11);
        }
    }
}

static void nodes__have_their_values(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(GRID); i++) {
        const struct grid *g = &GRID[i];
        double value[480];
        random_fill(grid_nodes(g), value, -1.0, 1.0);
        for (size_t j = 0; j < grid_nodes(g); j++) {
            double x[GRID_AXES] = {0};
            place(g, j, x);
            near(look(g, value, x, NULL), value[j], 1e-12);
        }
    }
}

static void slopes__agree_with_differences(void **state)
{
    (void)state;
    const double step = 1e-6;
    for (size_t i = 0; i < COUNT(GRID); i++) {
        const struct grid *g = &GRID[i];
        double value[480], x[GRID_AXES] = {0}, slope[GRID_AXES];
        random_fill(grid_nodes(g), value, -1.0, 1.0);
        for (int trial = 0; trial < 100; trial++) {
            draw(g, 0.4, x);
            look(g, value, x, slope);
            for (size_t k = 0; k < g->axes; k++) {
                double at = x[k];
                x[k] = at + step;
                double up = look(g, value, x, NULL);
                x[k] = at - step;
                double down = look(g, value, x, NULL);
                x[k] = at;
                /* Across a node the curvature jumps: one step's worth of it. */
                near((up - down) / (2.0 * step), slope[k], 2e-3);
            }
        }
    }
}

/* Values and slopes on both sides of every border between cells, also those of
 * the fading ones. */
static void cells__join_smoothly(void **state)
{
    (void)state;
    const struct grid *g = &GRID[1];
    double value[9], left[1], right[1];
    random_fill(9, value, -1.0, 1.0);
    for (int cell = -1; cell <= 9; cell++) {
        double x = (double)cell / 8.0, a = x - 1e-9, b = x + 1e-9;
        near(look(g, value, &a, left), look(g, value, &b, right), 1e-6);
        near(*left, *right, 1e-5);
    }
}

static void outside__it_is_zero(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(GRID); i++) {
        const struct grid *g = &GRID[i];
        double value[480], slope[GRID_AXES];
        fill(g, one, value);
        for (size_t k = 0; k < g->axes; k++)
            for (int sign = -1; sign <= 1; sign += 2) {
                double x[GRID_AXES] = {0};
                double cell =
                    (g->high[k] - g->low[k]) / (double)(g->nodes[k] - 1);
                place(g, 0, x);
                double border = sign < 0 ? g->low[k] : g->high[k];
                x[k] = border + sign * 0.5 * cell;
                assert_true(grid_outside(g, x));
                near(look(g, value, x, slope), 0.5, 1e-12);
                x[k] = border + sign * 1.000001 * cell;
                near(look(g, value, x, slope), 0.0, 1e-15);
                near(slope[k], 0.0, 1e-15);
                x[k] = sign < 0 ? -(double)INFINITY : (double)INFINITY;
                near(look(g, value, x, NULL), 0.0, 0.0);
                x[k] = NAN;
                assert_true(grid_outside(g, x));
                assert_true(isnan(look(g, value, x, NULL)));
            }
    }
}

static double wave(const double *x)
{
    return sin(3.0 * x[0]);
}

/* Twice as many cells make the error eight times smaller. */
static void smooth_functions__have_an_error_of_third_order(void **state)
{
    (void)state;
    double worst[2] = {0.0};
    for (size_t fine = 0; fine < 2; fine++) {
        struct grid g = {1, {fine ? 81 : 41}, {0}, {2}};
        double value[81];
        fill(&g, wave, value);
        for (int i = 0; i <= 5000; i++) {
            double x = (double)i / 2500.0;
            worst[fine] =
                fmax(worst[fine], fabs(look(&g, value, &x, NULL) - wave(&x)));
        }
    }
    near(worst[0] / worst[1], 8.0, 1.0);
}

static void features__are_all_monomials_once(void **state)
{
    (void)state;
    static const size_t count[4][3] = {
        {2, 3, 4}, {3, 6, 10}, {4, 10, 20}, {5, 15, 35}};
    for (size_t axes = 1; axes <= 4; axes++)
        for (size_t degree = 1; degree <= 3; degree++) {
            struct gp h = {.axes = axes, .outputs = 1, .degree = degree};
            unsigned char power[GP_FEATURES][GRID_AXES];
            size_t n = gp_features(&h);
            assert_int_equal(n, count[axes - 1][degree - 1]);
            gp_exponents(&h, power);
            size_t before = 0;
            for (size_t f = 0; f < n; f++) {
                size_t total = 0;
                for (size_t k = 0; k < GRID_AXES; k++)
                    total += power[f][k];
                assert_true(total >= before && total <= degree);
                before = total;
                for (size_t e = 0; e < f; e++)
                    assert_memory_not_equal(power[e], power[f], GRID_AXES);
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inside__quadratics_are_exact),
        cmocka_unit_test(nodes__have_their_values),
        cmocka_unit_test(slopes__agree_with_differences),
        cmocka_unit_test(cells__join_smoothly),
        cmocka_unit_test(outside__it_is_zero),
        cmocka_unit_test(smooth_functions__have_an_error_of_third_order),
        cmocka_unit_test(features__are_all_monomials_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
