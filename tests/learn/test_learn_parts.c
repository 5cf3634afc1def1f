/* SPDX-License-Identifier: MIT */
/* The parts of learning that know nothing of models: the split of the data,
 * Adam, and the maximum of a smooth function. */
#include "learn.h"

#include "learn/adam.h"
#include "learn/foresight.h"
#include "learn/maximise.h"
#include "learn/split.h"

/* --- The split ------------------------------------------------------------ */

static void mark(size_t groups, size_t n, const size_t *group, size_t *seen)
{
    for (size_t i = 0; i < n; i++) {
        assert_true(group[i] < groups);
        seen[group[i]]++;
    }
}

static void split__is_a_partition(void **state)
{
    (void)state;
    static const size_t GROUPS[] = {2, 3, 7, 20, 100, 1000};
    static const double SHARES[] = {0.0, 1e-9, 0.05, 0.3, 0.5};
    for (size_t i = 0; i < COUNT(GROUPS) * COUNT(SHARES); i++) {
        size_t n = GROUPS[i / COUNT(SHARES)], seen[1000] = {0};
        double share = SHARES[i % COUNT(SHARES)], wish = share * (double)n;
        struct split s;
        assert_int_equal(split_init(&s, 5, n, share, 0), 0);
        assert_int_equal(s.trains + s.helds, n);
        mark(n, s.trains, s.train, seen);
        mark(n, s.helds, s.held, seen);
        for (size_t g = 0; g < n; g++)
            assert_int_equal(seen[g], 1);
        /* Rounded down, but one where it is not 0. */
        assert_true((double)s.helds <= wish || s.helds == 1);
        assert_true((double)s.helds + 1.0 > wish);
        assert_true((s.helds == 0) == (share == 0.0));
        split_free(&s);
    }
}

static void split__leaves_something_to_learn_from(void **state)
{
    (void)state;
    struct split s;
    expect_error(split_init(&s, 1, 1, 0.5, 0), GSV_BAD_INPUT, "1 gaps", "0.5");
    split_free(&s);
    expect_error(split_init(&s, 1, 10, 1.0, 0), GSV_BAD_INPUT, "none to learn");
    split_free(&s);
    assert_int_equal(split_init(&s, 1, 10, 0.99, 0), 0);
    assert_int_equal(s.trains, 1);
    split_free(&s);
    assert_int_equal(split_init(&s, 1, 1, 0.0, 7), 0);
    assert_int_equal(s.trains, 1);
    assert_int_equal(s.batch, 1);
    split_free(&s);
}

/* Over many seeds every group is held out equally often: binomial counts, of
 * which twenty stay within 4.5 deviations. */
static void split__holds_every_group_out_equally_often(void **state)
{
    (void)state;
    enum { GROUPS = 20, SEEDS = 4000 };
    size_t seen[GROUPS] = {0};
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct split s;
        assert_int_equal(split_init(&s, seed, GROUPS, 0.1, 0), 0);
        mark(GROUPS, s.helds, s.held, seen);
        split_free(&s);
    }
    for (size_t g = 0; g < GROUPS; g++)
        assert_near((double)seen[g], 0.1 * SEEDS,
                    4.5 * sqrt(SEEDS * 0.1 * 0.9));
}

/* In batches of one size or of several, without replacement. */
static void batches__of_an_epoch_are_a_permutation(void **state)
{
    (void)state;
    enum { GROUPS = 50, EPOCHS = 6 };
    static const size_t BATCHES[][2] = {{1, 1},   {3, 3},   {7, 7},  {20, 20},
                                        {44, 44}, {45, 45}, {5, 11}, {2, 31}};
    for (size_t b = 0; b < COUNT(BATCHES); b++) {
        struct split s;
        size_t all[EPOCHS * GROUPS + GROUPS], n = 0;
        assert_int_equal(split_init(&s, 3, GROUPS, 0.1, 0), 0);
        for (size_t i = 0; n < EPOCHS * s.trains; i++) {
            size_t size = BATCHES[b][i % 2];
            memcpy(all + n, split_batch(&s, n, size), size * sizeof *all);
            n += size;
        }
        for (size_t e = 0; e < EPOCHS; e++) {
            size_t seen[GROUPS] = {0};
            mark(GROUPS, s.trains, all + e * s.trains, seen);
            for (size_t i = 0; i < s.trains; i++)
                assert_int_equal(seen[s.train[i]], 1);
        }
        split_free(&s);
    }
}

static void batches__come_in_another_order_in_every_epoch(void **state)
{
    (void)state;
    enum { GROUPS = 50, EPOCHS = 4 };
    struct split s;
    size_t first[EPOCHS][GROUPS - 1];
    assert_int_equal(split_init(&s, 3, GROUPS, 0.0, 0), 0);
    for (size_t e = 0; e < EPOCHS; e++)
        memcpy(first[e], split_batch(&s, e * GROUPS, GROUPS - 1),
               sizeof first[e]);
    for (size_t e = 1; e < EPOCHS; e++)
        assert_memory_not_equal(first[e], first[e - 1], sizeof first[e]);
    split_free(&s);
}

/* Backwards, and each by a fresh struct: a resumed fit goes on as it was. */
static void batches__are_functions_of_their_place(void **state)
{
    (void)state;
    enum { BATCH = 7, NUMBERS = 40 };
    struct split s, other;
    size_t all[NUMBERS][BATCH];
    assert_int_equal(split_init(&s, 11, 30, 0.2, BATCH), 0);
    for (size_t i = 0; i < NUMBERS; i++)
        memcpy(all[i], split_batch(&s, i * BATCH, BATCH), sizeof all[i]);
    for (size_t i = NUMBERS; i-- > 0;) {
        assert_memory_equal(split_batch(&s, i * BATCH, BATCH), all[i],
                            sizeof all[i]);
        assert_int_equal(split_init(&other, 11, 30, 0.2, BATCH), 0);
        assert_memory_equal(split_batch(&other, i * BATCH, BATCH), all[i],
                            sizeof all[i]);
        split_free(&other);
    }
    assert_int_equal(split_init(&other, 12, 30, 0.2, BATCH), 0);
    assert_memory_not_equal(split_batch(&other, 0, BATCH), all[0],
                            sizeof all[0]);
    split_free(&other);
    split_free(&s);
}

static void batches__of_everything_keep_the_order(void **state)
{
    (void)state;
    static const size_t BATCHES[] = {0, 9, 10, 1000};
    for (size_t b = 0; b < COUNT(BATCHES); b++) {
        struct split s;
        assert_int_equal(split_init(&s, 1, 10, 0.1, BATCHES[b]), 0);
        assert_int_equal(s.batch, 9);
        for (uint64_t i = 0; i < 3; i++)
            assert_memory_equal(split_batch(&s, 9 * i, 9), s.train,
                                9 * sizeof *s.train);
        split_free(&s);
    }
}

/* --- Adam ----------------------------------------------------------------- */

/* By hand: after one step m = g / 10 and v = g^2 / 1000, both corrected to g
 * and g^2; after another one as below. A few roundings each. */
static void adam__steps_as_by_hand(void **state)
{
    (void)state;
    const double unit[] = {1.0, 10.0}, one[] = {0.3, -20.0};
    const double two[] = {-0.1, 5.0}, rate = 0.01;
    double theta[] = {1.0, 2.0};
    struct adam a;
    assert_int_equal(adam_init(&a, 2), 0);
    adam_begin(&a);
    adam_step(&a, rate, 0, 2, unit, one, theta);
    assert_near(theta[0], 1.0 + 0.01 * 0.3 / (0.3 + 1e-8), 1e-15);
    assert_near(theta[1], 2.0 - 0.1 * 20.0 / (20.0 + 1e-8), 1e-15);
    double before[] = {theta[0], theta[1]};
    adam_begin(&a);
    adam_step(&a, rate, 0, 2, unit, two, theta);
    for (size_t i = 0; i < 2; i++) {
        double m = 0.9 * 0.1 * one[i] + 0.1 * two[i];
        double v = 0.999 * 0.001 * one[i] * one[i] + 0.001 * two[i] * two[i];
        m /= 1.0 - 0.9 * 0.9;
        v /= 1.0 - 0.999 * 0.999;
        /* 1 - 0.999^2 loses three digits. */
        assert_near(theta[i], before[i] + rate * unit[i] * m / (sqrt(v) + 1e-8),
                    1e-13);
    }
    adam_free(&a);
}

static void adam__leaves_what_is_fixed(void **state)
{
    (void)state;
    enum { N = 5 };
    const double unit[N] = {1.0, 0.0, 0.0, 3.0, 0.0};
    double theta[N] = {0.1, 0.2, 0.3, 0.4, 0.7}, first[N];
    memcpy(first, theta, sizeof theta);
    struct adam a;
    assert_int_equal(adam_init(&a, N), 0);
    for (int i = 0; i < 50; i++) {
        const double gradient[N] = {1.0, -2.0, 3.0, sin(i), 1e10};
        adam_begin(&a);
        adam_step(&a, 0.01, 0, N, unit, gradient, theta);
    }
    for (size_t i = 0; i < N; i++)
        assert_int_equal(same_bits(1, theta + i, first + i), unit[i] == 0.0);
    adam_free(&a);
}

/* The k-th theta enters with 1 - m_k, m_k = min(m, (1 + k) / (10 + k)), and
 * what was there before keeps m_k of its weight. */
static void average__is_corrected_for_its_start(void **state)
{
    (void)state;
    static const double MEMORY[] = {0.0, 0.5, 0.98, 0.999};
    for (size_t i = 0; i < COUNT(MEMORY); i++) {
        double sum = 0.0, weight = 0.0, to = 0.0;
        const double one = 3.0;
        struct adam a;
        assert_int_equal(adam_init(&a, 1), 0);
        adam_averaged(&a, &one, &to);
        assert_true(to == one); /* of nothing: as it is */
        for (int k = 0; k < 1000; k++) {
            double theta = cos(k), m = fmin(MEMORY[i], (1.0 + k) / (10.0 + k));
            adam_average(&a, MEMORY[i], &theta);
            sum = m * sum + (1.0 - m) * theta;
            weight = m * weight + (1.0 - m);
            adam_averaged(&a, &one, &to);
            assert_near(to, sum / weight, 1e-12);
        }
        adam_free(&a);
    }
}

static void clip__shortens_to_running_lengths(void **state)
{
    (void)state;
    double first[] = {3.0, 4.0}, usual[] = {-6.0, 8.0}, wild[] = {900, -1200};
    struct adam a;
    assert_int_equal(adam_init(&a, 2), 0);
    adam_clip(&a, 10.0, first);
    assert_true(first[0] == 3.0 && first[1] == 4.0);
    assert_near(a.length, 5.0, 1e-15);
    adam_clip(&a, 10.0, usual);
    assert_true(usual[0] == -6.0 && usual[1] == 8.0);
    assert_near(a.length, 5.1, 1e-14);
    adam_clip(&a, 10.0, wild);
    assert_near(wild[0], 51.0 * 0.6, 1e-12);
    assert_near(wild[1], -51.0 * 0.8, 1e-12);
    assert_near(a.length, 0.98 * 5.1 + 0.02 * 51.0, 1e-13);
    double free[] = {9e9, 0.0};
    adam_clip(&a, 0.0, free);
    assert_true(free[0] == 9e9);
    adam_free(&a);
}

/* --- Maximum -------------------------------------------------------------- */

struct hill {
    size_t evaluations, steps, stop_at, fail_at;
    int failure;
    double wall, last_x, last_value;
    double (*at)(const struct hill *h, const double *x, double *gradient);
};

static int hill_at(void *context, const double *x, double *value,
                   double *gradient)
{
    struct hill *h = context;
    if (++h->evaluations == h->fail_at) return h->failure;
    *value = h->at(h, x, gradient);
    return isfinite(*value) ? 0 : GSV_NUMERICAL;
}

static bool hill_step(void *context, const double *x, double value)
{
    struct hill *h = context;
    double unused[8];
    h->last_x = x[0];
    h->last_value = value;
    assert_near(value, h->at(h, x, unused), 1e-12 * (1.0 + fabs(value)));
    return ++h->steps == h->stop_at;
}

static int climb(struct hill *h, size_t n, double *x, size_t iterations,
                 double *value, enum maximise_end *end)
{
    const struct maximise job = {h, hill_at, hill_step, iterations, 1e-12};
    return maximise(&job, n, x, value, end);
}

/* -(x - c)' D (x - c) / 2 with D from 1 to 1e4. */
static double quadratic(const struct hill *h, const double *x, double *gradient)
{
    (void)h;
    double value = 0.0, D = 1.0;
    for (size_t i = 0; i < 5; i++, D *= 10.0) {
        double off = x[i] - (double)i;
        value -= 0.5 * D * off * off;
        gradient[i] = -D * off;
    }
    return value;
}

static double rosenbrock(const struct hill *h, const double *x,
                         double *gradient)
{
    (void)h;
    double a = 1.0 - x[0], b = x[1] - x[0] * x[0];
    gradient[0] = 2.0 * a + 400.0 * b * x[0];
    gradient[1] = -200.0 * b;
    return -(a * a + 100.0 * b * b);
}

/* Gains that shrink by a factor: the end is known to an iteration. */
static void foresight__knows_when_a_geometric_search_ends(void **state)
{
    (void)state;
    static const double FACTOR[] = {0.1, 0.5, 0.9, 0.99};
    for (size_t i = 0; i < COUNT(FACTOR); i++) {
        struct foresight f = {.tolerance = 1e-3};
        double rho = FACTOR[i], first = 100.0 * (pow(rho, -3.0) - 1.0);
        double end = ceil(log(f.tolerance / first) / log(rho));
        for (double k = 0.0; k <= end; k += 1.0) {
            double left = foresee(&f, -100.0 * pow(rho, k));
            if (k < 4.0) assert_true(isnan(left));
            else assert_near(k + left, end, 1.5);
        }
    }
    struct foresight worse = {.tolerance = 1e-3};
    for (double k = 1.0; k < 9.0; k += 1.0)
        assert_true(isnan(foresee(&worse, k * k)));
}

/* Three iterations that gain less than 1e-12 in all: as the method converges
 * faster than linearly, less than that is left. */
static void maximise__finds_the_top(void **state)
{
    (void)state;
    struct hill h = {.at = quadratic};
    double x[5] = {9.0, -9.0, 3.0, 0.0, 50.0}, value;
    enum maximise_end end;
    assert_int_equal(climb(&h, 5, x, 500, &value, &end), 0);
    assert_int_equal(end, MAXIMISE_CONVERGED);
    assert_near(value, 0.0, 1e-11);
    for (size_t i = 0; i < 5; i++)
        assert_near(x[i], (double)i, 1e-5);
    h = (struct hill){.at = rosenbrock};
    double y[2] = {-1.2, 1.0};
    assert_int_equal(climb(&h, 2, y, 500, &value, &end), 0);
    assert_int_equal(end, MAXIMISE_CONVERGED);
    assert_near(value, 0.0, 1e-11);
    assert_near(y[0], 1.0, 1e-5);
    assert_near(y[1], 1.0, 1e-5);
}

/* x / 100 + log(wall - x) / 10: the top is 10 before the wall. */
static double walled(const struct hill *h, const double *x, double *gradient)
{
    gradient[0] = 0.01 - 0.1 / (h->wall - x[0]);
    return 0.01 * x[0] + 0.1 * log(h->wall - x[0]);
}

/* It only rises, and then there is nothing. */
static double cliff(const struct hill *h, const double *x, double *gradient)
{
    gradient[0] = 1.0;
    return x[0] < h->wall ? x[0] : NAN;
}

static void maximise__turns_back_at_a_wall(void **state)
{
    (void)state;
    static const double WALLS[] = {10.5, 11.0, 15.0, 100.0};
    for (size_t i = 0; i < COUNT(WALLS); i++) {
        struct hill h = {.at = walled, .wall = WALLS[i]};
        double x = 0.0, value, gradient;
        enum maximise_end end;
        assert_int_equal(climb(&h, 1, &x, 500, &value, &end), 0);
        /* What is left, below 1e-12, is 0.001 (x - top)^2 / 2. */
        assert_near(x, WALLS[i] - 10.0, 1e-4);
        assert_near(value, walled(&h, &x, &gradient), 1e-12);
    }
}

/* No step satisfies the search's conditions. Still it ends with the best point
 * that it saw, and with that point's value. */
static void maximise__ends_with_the_best_point_before_a_cliff(void **state)
{
    (void)state;
    static const double WALLS[] = {0.5, 3.0, 10.5, 100.0};
    for (size_t i = 0; i < COUNT(WALLS); i++) {
        struct hill h = {.at = cliff, .wall = WALLS[i]};
        double x = 0.0, value;
        enum maximise_end end;
        assert_int_equal(climb(&h, 1, &x, 500, &value, &end), 0);
        assert_near(value, x, 1e-12);
        assert_true(x > 0.5 * WALLS[i] && x < WALLS[i]);
    }
}

/* Nothing beyond a box: steps that fail are halved, and a search that was led
 * astray by them begins again. */
static double boxed(const struct hill *h, const double *x, double *gradient)
{
    if (fabs(x[0]) > h->wall || fabs(x[1]) > h->wall) return NAN;
    return rosenbrock(h, x, gradient);
}

static void maximise__finds_the_top_between_walls(void **state)
{
    (void)state;
    for (size_t i = 0; i < 9; i++) {
        struct hill h = {.at = boxed, .wall = 1.02};
        double x[2] = {-1.0 + (double)(i % 3), -1.0 + (double)(i / 3)}, value;
        enum maximise_end end;
        assert_int_equal(climb(&h, 2, x, 500, &value, &end), 0);
        assert_int_equal(end, MAXIMISE_CONVERGED);
        assert_near(value, 0.0, 1e-11);
    }
}

static void maximise__returns_failures(void **state)
{
    (void)state;
    double value;
    enum maximise_end end;
    for (size_t first = 1; first <= 4; first++) {
        struct hill h = {
            .at = rosenbrock, .fail_at = first, .failure = GSV_NO_MEMORY};
        double x[2] = {-1.2, 1.0};
        assert_int_equal(climb(&h, 2, x, 500, &value, &end), GSV_NO_MEMORY);
        /* Where nothing can be compared with, a wall is a failure, too. */
        h = (struct hill){
            .at = rosenbrock, .fail_at = first, .failure = GSV_NUMERICAL};
        double y[2] = {-1.2, 1.0};
        int wanted = first == 1 ? GSV_NUMERICAL : 0;
        assert_int_equal(climb(&h, 2, y, 500, &value, &end), wanted);
        if (!wanted) assert_near(value, 0.0, 1e-11);
    }
}

static void maximise__ends_where_it_is_told(void **state)
{
    (void)state;
    for (size_t n = 1; n < 6; n++) {
        struct hill h = {.at = rosenbrock, .stop_at = n};
        double x[2] = {-1.2, 1.0}, y[2] = {-1.2, 1.0}, value;
        enum maximise_end end;
        assert_int_equal(climb(&h, 2, x, 500, &value, &end), 0);
        assert_int_equal(end, MAXIMISE_STOPPED);
        assert_int_equal(h.steps, n);
        assert_true(x[0] == h.last_x && value == h.last_value);
        h = (struct hill){.at = rosenbrock};
        assert_int_equal(climb(&h, 2, y, n, &value, &end), 0);
        assert_int_equal(end, MAXIMISE_ITERATIONS);
        assert_int_equal(h.steps, n);
        assert_true(same_bits(2, x, y));
    }
}

/* Wherever it is stopped, nothing more is looked at, and the best point so far
 * is what it ends with; before a cliff an iteration takes many tries. */
static void maximise__ends_inside_of_an_iteration(void **state)
{
    (void)state;
    struct hill all = {.at = cliff, .wall = 100.0};
    double x = 0.0, value;
    enum maximise_end end;
    assert_int_equal(climb(&all, 1, &x, 500, &value, &end), 0);
    assert_true(all.evaluations > 12);
    for (size_t n = 1; n < all.evaluations; n++) {
        struct hill h = {
            .at = cliff, .wall = 100.0, .fail_at = n, .failure = GSV_STOPPED};
        x = 0.0;
        assert_int_equal(climb(&h, 1, &x, 500, &value, &end), 0);
        assert_int_equal(h.evaluations, n);
        assert_true(x < 100.0 && (n == 1 || value == x));
        assert_int_equal(end, MAXIMISE_STOPPED);
    }
}

static void maximise__stays_on_the_top(void **state)
{
    (void)state;
    struct hill h = {.at = rosenbrock};
    double x[2] = {1.0, 1.0}, value;
    enum maximise_end end;
    assert_int_equal(climb(&h, 2, x, 500, &value, &end), 0);
    assert_int_equal(end, MAXIMISE_CONVERGED);
    assert_true(x[0] == 1.0 && x[1] == 1.0);
    assert_near(value, 0.0, 0.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(split__is_a_partition),
        cmocka_unit_test(split__leaves_something_to_learn_from),
        cmocka_unit_test(split__holds_every_group_out_equally_often),
        cmocka_unit_test(batches__of_an_epoch_are_a_permutation),
        cmocka_unit_test(batches__come_in_another_order_in_every_epoch),
        cmocka_unit_test(batches__are_functions_of_their_place),
        cmocka_unit_test(batches__of_everything_keep_the_order),
        cmocka_unit_test(adam__steps_as_by_hand),
        cmocka_unit_test(adam__leaves_what_is_fixed),
        cmocka_unit_test(average__is_corrected_for_its_start),
        cmocka_unit_test(clip__shortens_to_running_lengths),
        cmocka_unit_test(foresight__knows_when_a_geometric_search_ends),
        cmocka_unit_test(maximise__finds_the_top),
        cmocka_unit_test(maximise__turns_back_at_a_wall),
        cmocka_unit_test(maximise__ends_with_the_best_point_before_a_cliff),
        cmocka_unit_test(maximise__finds_the_top_between_walls),
        cmocka_unit_test(maximise__returns_failures),
        cmocka_unit_test(maximise__ends_where_it_is_told),
        cmocka_unit_test(maximise__ends_inside_of_an_iteration),
        cmocka_unit_test(maximise__stays_on_the_top),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
