/* SPDX-License-Identifier: MIT */
/* The guided filter's value, its error and its gradient where equations are not
 * linear, against a grid, which has the law of the same steps. */
#include "guided.h"
#include "model/states.h"

enum { SEEDS = 40 };

/* Values and errors over seeds. */
struct sample {
    double l[SEEDS], error[SEEDS];
};

static void draw(const struct lab *l, size_t points, size_t steps,
                 struct sample *s)
{
    gsv_options o = guided_options(points, steps);
    for (size_t i = 0; i < SEEDS; i++) {
        o.seed = 1 + i;
        gsv_result r = lab_result(l, &o);
        s->l[i] = r.loglik;
        s->error[i] = r.error;
        gsv_result_free(&r);
    }
}

static double mean_of(size_t n, const double *x, double *error)
{
    double sum = 0.0, squares = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += x[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (x[i] - sum) * (x[i] - sum);
    *error = sqrt(squares / (double)(n - 1) / (double)n);
    return sum;
}

/* Both of the value: E exp(l) is p(data), and the errors that are reported are
 * those that the values have. */
static void claim_value(struct lab *l, size_t steps)
{
    static struct sample s;
    double wanted = lab_grid(l), error, ratio[SEEDS], squares = 0.0, n = SEEDS;
    draw(l, 64, steps, &s);
    for (size_t i = 0; i < SEEDS; i++) {
        ratio[i] = exp(s.l[i] - wanted);
        squares += s.error[i] * s.error[i];
    }
    double off = mean_of(SEEDS, ratio, &error) - 1.0;
    if (!(fabs(off) <= TOLERANCE * error))
        fail_msg("%s, %zu steps: p(data) is off by %g +- %g", l->c->name, steps,
                 off, error);
    mean_of(SEEDS, s.l, &error);
    double freedom = n - 1.0, chi = n * error * n * error * freedom / squares;
    if (!(fabs(chi - freedom) <= TOLERANCE * sqrt(2.0 * freedom)))
        fail_msg("%s, %zu steps: variance / reported is %g", l->c->name, steps,
                 chi / freedom);
}

static void value__is_unbiased_with_an_honest_error(void **state)
{
    (void)state;
    for (size_t c = 0; c < COUNT(GRID_CASES); c++)
        for (size_t twice = 1; twice <= (GRID_CASES[c].steps > 1 ? 1 : 2);
             twice++) {
            struct lab l;
            size_t steps = twice * GRID_CASES[c].steps;
            lab_init(&l, &GRID_CASES[c], steps);
            claim_value(&l, steps);
            lab_free(&l);
        }
}

/* --- Gradients ------------------------------------------------------------ */

/* Differences of the grid's value by number i. */
static double grid_slope(struct lab *l, size_t i)
{
    double kept = l->m->value[i], h = 1e-4 * fmax(1.0, fabs(kept)), side[2];
    for (size_t s = 0; s < 2; s++) {
        l->m->value[i] = kept + (s ? h : -h);
        side[s] = lab_grid(l);
    }
    l->m->value[i] = kept;
    return (side[1] - side[0]) / (2.0 * h);
}

static void gradient__is_that_of_the_grid(void **state)
{
    enum { RUNS = 12 };
    (void)state;
    for (size_t c = 0; c < COUNT(GRID_CASES); c++) {
        struct lab l;
        double slope[CASE_PARAMS][RUNS], error;
        lab_init(&l, &GRID_CASES[c], GRID_CASES[c].steps);
        gsv_options o = guided_options(128, GRID_CASES[c].steps);
        o.gradient = true;
        for (size_t i = 0; i < RUNS; i++) {
            o.seed = 1 + i;
            gsv_result r = lab_result(&l, &o);
            for (size_t n = 0; n < l.c->params; n++)
                slope[n][i] = r.gradient[n];
            gsv_result_free(&r);
        }
        for (size_t n = 0; n < l.c->params; n++) {
            double wanted = grid_slope(&l, n);
            double off = mean_of(RUNS, slope[n], &error) - wanted;
            if (!(fabs(off) <= TOLERANCE * error))
                fail_msg("%s, number %zu: the slope %g is off by %g +- %g",
                         l.c->name, n, wanted, off, error);
        }
        lab_free(&l);
    }
}

/* --- Paths ---------------------------------------------------------------- */

/* Rows after these are more than a gap away from an observation: to ask for
 * them would change the steps. */
enum { DRAWS = 20, ASKED = 12 };

struct means {
    size_t draw;
    double mean[CASE_ROWS][DRAWS];
};

static int see_paths(void *user, size_t first, size_t rows, size_t K,
                     const double *x, const double *weight, double ess)
{
    struct means *m = user;
    (void)first, (void)ess;
    assert_int_equal(rows, ASKED);
    for (size_t r = 0; r < rows; r++) {
        m->mean[r][m->draw] = 0.0;
        for (size_t k = 0; k < K; k++)
            m->mean[r][m->draw] += weight[k] * x[r * K + k];
    }
    return 0;
}

/* Given all data, of particles that are drawn again on the way. */
static void paths__have_the_means_of_the_grid(void **state)
{
    static struct means all;
    static const size_t CASES[] = {2, 4}; /* whose states are scale * u */
    size_t track[CASE_ROWS] = {0};
    (void)state;
    for (size_t c = 0; c < COUNT(CASES); c++) {
        struct lab l;
        /* Even: the empty row in the middle of a gap has a node anyhow. */
        size_t steps = 2 * GRID_CASES[CASES[c]].steps;
        lab_init(&l, &GRID_CASES[CASES[c]], steps);
        struct drawn_paths p = {.rows = ASKED,
                                .track = track,
                                .time = l.s->time,
                                .user = &all,
                                .visit = see_paths};
        gsv_options o = guided_options(128, steps);
        const struct task t = {.model = l.m, .series = l.s, .options = &o};
        for (all.draw = 0; all.draw < DRAWS; all.draw++) {
            o.seed = 1 + all.draw;
            assert_int_equal(METHOD_GUIDED.drawn(&t, &p), 0);
        }
        double scale = l.a.course.stretched ? l.m->value[1] : 1.0;
        double whole = lab_grid(&l);
        const struct pace *pace = &l.a.guide[0].pace;
        for (size_t r = 0, k = 0; r < ASKED; r += 4) {
            double error, mean = mean_of(DRAWS, all.mean[r], &error);
            while (pace_stop(pace, k)->time < l.s->time[r] - 1e-9)
                k++;
            double wanted = exp(lab_grid_with(&l, k, scale) - whole) - 10.0;
            if (!(fabs(mean - wanted) <= TOLERANCE * error))
                fail_msg("%s, row %zu: %g +- %g, should be %g", l.c->name, r,
                         mean, error, wanted);
        }
        lab_free(&l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(value__is_unbiased_with_an_honest_error),
        cmocka_unit_test(gradient__is_that_of_the_grid),
        cmocka_unit_test(paths__have_the_means_of_the_grid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
