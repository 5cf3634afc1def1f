/* SPDX-License-Identifier: MIT */
/* More gaps than are run together: sums as if they were, the same bits on any
 * number of threads and ranks, and memory that does not grow with them but for
 * the list of results. */
#include "exact.h"
#include "ranks.h"

#define OU "state x\n param k = 1.3 > 0, s = 0.7 > 0\n dx = -k*x*dt + s*dW"

enum { TRACKS = 3, MANY = 6000, WINDOW = 1000 };

/* Tracks of the model itself, at times that are not equally far apart, so that
 * no two gaps are alike. */
static gsv_series *walk_data(size_t rows)
{
    size_t start[TRACKS + 1] = {0, rows / 5, rows / 2, rows};
    double *time = NEW(double, rows), *value = normals(rows, 3);
    double k = 1.3, s = 0.7;
    for (size_t i = 0; i < rows; i++) {
        time[i] = 0.2 * (double)i + 0.05 * (double)(i % 3);
        if (i == start[0] || i == start[1] || i == start[2]) continue;
        double e = exp(-k * (time[i] - time[i - 1]));
        value[i] =
            e * value[i - 1] + s * sqrt((1.0 - e * e) / (2.0 * k)) * value[i];
    }
    const char *name[] = {"x"};
    gsv_series *data = gsv_series_new(TRACKS, start, 1, name, time, value);
    assert_non_null(data);
    mem_free(time);
    mem_free(value);
    return data;
}

/* One of its tracks. */
static gsv_series *track_alone(const gsv_series *s, size_t r)
{
    size_t first = s->start[r], start[2] = {0, s->start[r + 1] - first};
    const char *name[] = {"x"};
    return gsv_series_new(1, start, 1, name, s->time + first, s->value + first);
}

struct asked {
    const gsv_series *series;
    gsv_options options;
    gsv_result result[RANKS_MOST];
};

static void estimate(gsv_ranks *r, void *user)
{
    struct asked *a = user;
    gsv_options o = a->options;
    gsv_model *m = model_of(OU);
    o.ranks = r;
    int status = gsv_loglik(m, a->series, &o, &a->result[gsv_ranks_rank(r)]);
    if (status) fail_msg("%s", gsv_last_error());
    gsv_ranks_close(r, 0);
    gsv_model_free(m);
}

static struct asked ask(const gsv_series *s, size_t threads)
{
    struct asked a = {.series = s, .options = gsv_options_default()};
    a.options.reference = GSV_REFERENCE_LINEAR;
    a.options.paths = a.options.steps = 1;
    a.options.gradient = true;
    a.options.threads = threads;
    a.options.window = WINDOW;
    return a;
}

/* Exact transitions, from one row to the next; and the derivatives by the
 * logarithms of k and s of their sum. */
static double exact_sum(const gsv_series *s, double k, double sd, double *by)
{
    double sum = 0.0;
    by[0] = by[1] = 0.0;
    for (size_t r = 0; r < s->tracks; r++)
        for (size_t i = s->start[r] + 1; i < s->start[r + 1]; i++) {
            double h = s->time[i] - s->time[i - 1], e = exp(-k * h);
            double v = sd * sd * (1.0 - e * e) / (2.0 * k);
            double off = s->value[i] - e * s->value[i - 1];
            double by_v = 0.5 * (off * off / v - 1.0) / v;
            sum -= 0.5 * (log(2.0 * EXACT_PI * v) + off * off / v);
            by[0] += by_v * (sd * sd * h * e * e - v) -
                     off / v * k * h * e * s->value[i - 1];
            by[1] += by_v * 2.0 * v;
        }
    return sum;
}

static void loglik__of_many_gaps_is_the_exact_sum(void **state)
{
    (void)state;
    gsv_series *s = walk_data(MANY);
    struct asked a = ask(s, 2);
    estimate(NULL, &a);
    const gsv_result *r = &a.result[0];
    double by[2], exact = exact_sum(s, 1.3, 0.7, by);
    assert_int_equal(r->gaps, MANY - TRACKS);
    assert_int_equal(r->groups, MANY - TRACKS);
    assert_int_equal(r->drift_evaluations, MANY - TRACKS);
    assert_true(fabs(r->loglik - exact) < 1e-10 * fabs(exact));
    for (size_t g = 0; g < r->groups; g++)
        assert_true(!g || r->gap[g].from >= r->gap[g - 1].to);
    assert_int_equal(r->gap[r->groups - 1].to, MANY - 1);
    gsv_result_free(&a.result[0]);
    gsv_series_free(s);
}

/* Tracks alone in one window each; a sum of so many terms is rounded. */
static void gradient__of_many_gaps_is_the_sum_of_its_tracks(void **state)
{
    (void)state;
    gsv_series *s = walk_data(MANY);
    struct asked all = ask(s, 2);
    double sum[2] = {0}, size[2] = {0};
    estimate(NULL, &all);
    for (size_t r = 0; r < TRACKS; r++) {
        gsv_series *one = track_alone(s, r);
        struct asked a = ask(one, 1);
        a.options.window = 0;
        estimate(NULL, &a);
        for (size_t i = 0; i < 2; i++) {
            sum[i] += a.result[0].gradient[i];
            size[i] += fabs(a.result[0].gradient[i]);
        }
        gsv_result_free(&a.result[0]);
        gsv_series_free(one);
    }
    for (size_t i = 0; i < 2; i++)
        assert_true(fabs(all.result[0].gradient[i] - sum[i]) < 1e-9 * size[i]);
    gsv_result_free(&all.result[0]);
    gsv_series_free(s);
}

static void loglik__of_many_gaps_has_the_same_bits_everywhere(void **state)
{
    (void)state;
    gsv_series *s = walk_data(MANY);
    struct asked alone = ask(s, 1);
    alone.options.paths = 2;
    alone.options.steps = 2;
    alone.options.reference = GSV_REFERENCE_BROWNIAN;
    struct asked threads = alone;
    threads.options.threads = 3;
    estimate(NULL, &alone);
    estimate(NULL, &threads);
    assert_same_bits(&threads.result[0], &alone.result[0]);
    gsv_result_free(&threads.result[0]);
    for (size_t ranks = 2; ranks <= 3; ranks++) {
        struct asked a = alone;
        ranks_act(ranks, estimate, &a);
        for (size_t r = 0; r < ranks; r++) {
            assert_same_bits(&a.result[r], &alone.result[0]);
            gsv_result_free(&a.result[r]);
        }
    }
    gsv_result_free(&alone.result[0]);
    gsv_series_free(s);
}

/* Beyond the first window every gap takes its place in the result, and no
 * more. */
static void loglik__takes_memory_for_results_alone(void **state)
{
    (void)state;
    size_t asked[2];
    for (size_t i = 0; i < 2; i++) {
        gsv_series *s = walk_data((i + 1) * MANY);
        struct asked a = ask(s, 1);
        size_t before = mem_asked();
        estimate(NULL, &a);
        asked[i] = mem_asked() - before;
        gsv_result_free(&a.result[0]);
        gsv_series_free(s);
    }
    assert_int_equal(asked[1] - asked[0], MANY * sizeof(gsv_gap));
}

/* To a hundredth of a standard error: the score has the information as its
 * variance, some times the number of gaps for each logarithm. */
static void fit__of_many_gaps_finds_the_exact_maximum(void **state)
{
    (void)state;
    gsv_series *s = walk_data(MANY);
    gsv_model *m = model_of(OU);
    gsv_fit_options o = gsv_fit_options_default();
    o.errors = GSV_ERRORS_NONE;
    o.estimator = ask(s, 1).options;
    assert_int_equal(gsv_model_set(m, "k", 1, &(double){0.8}), 0);
    if (gsv_fit(m, s, &o)) fail_msg("%s", gsv_last_error());
    const gsv_record *r = gsv_model_record(m);
    const double *v = gsv_model_value(m);
    double by[2], exact = exact_sum(s, v[0], v[1], by);
    assert_int_equal(r->gaps, MANY - TRACKS);
    assert_true(fabs(r->loglik - exact) < 1e-10 * fabs(exact));
    for (size_t i = 0; i < 2; i++)
        assert_true(fabs(by[i]) < 0.01 * sqrt((double)MANY));
    gsv_model_free(m);
    gsv_series_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loglik__of_many_gaps_is_the_exact_sum),
        cmocka_unit_test(gradient__of_many_gaps_is_the_sum_of_its_tracks),
        cmocka_unit_test(loglik__of_many_gaps_has_the_same_bits_everywhere),
        cmocka_unit_test(loglik__takes_memory_for_results_alone),
        cmocka_unit_test(fit__of_many_gaps_finds_the_exact_maximum)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
