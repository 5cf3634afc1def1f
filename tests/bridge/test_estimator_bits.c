/* SPDX-License-Identifier: MIT */
/* The default estimator on any number of threads, in any cut of the work, and
 * wherever memory runs out; how many paths and which forms it reports. */
#include "exact.h"

static const size_t THREADS[] = {2, 3, 5};

#define WELL "state x\n param k = 1, s = 0.5 > 0\n dx = k*(x - x^3)*dt + s*dW"
#define NET                                                                    \
    "state x[2]\n net f(x) -> 2 : 16 16 silu\n param s = 1 > 0\n"              \
    "dx = f*dt + s*dW"
#define CHANGING                                                               \
    "state x[2]\n input u\n param a = 1, w = 2\n"                              \
    "param L[2,2] = [1,0, .6,.8] lower\n"                                      \
    "dx = a*(sin(x) + u)*dt + ((2 + sin(w*t))*L) @ dW"

struct shape {
    const char *text;
    size_t tracks, rows, paths, steps;
};

/* One gap; chunks of paths; several gaps in an item; more gaps than lanes;
 * tracks that are summed as their paths come; more steps than modes. */
static const struct shape SHAPES[] = {
    {WELL, 1, 2, 64, 8},      {WELL, 1, 2, 1024, 7},   {WELL, 20, 6, 16, 4},
    {WELL, 1, 3, 16, 140},    {NET, 1, 3, 64, 9},      {NET, 13, 7, 16, 4},
    {NET, 12, 8, 128, 8},     {CHANGING, 1, 3, 64, 8}, {CHANGING, 12, 8, 8, 5},
    {WELL, 20, 5, 1, 1},      {WELL, 32, 4, 2, 3},     {INTEGRALS, 1, 3, 64, 8},
    {INTEGRALS, 12, 8, 8, 5}, {INTEGRALS, 20, 5, 1, 1}};

static gsv_options options_of(const struct shape *p, size_t variant)
{
    gsv_options o = default_options();
    o.paths = p->paths;
    o.steps = p->steps;
    o.gradient = true;
    o.joint = variant % 2;
    o.richardson = variant % 3 == 1;
    o.delta = variant % 3 == 2;
    if (variant % 4 == 3) o.form = GSV_FORM_STRATONOVICH;
    return o;
}

static void bits__do_not_depend_on_the_threads(void **state)
{
    (void)state;
    enum { VARIANTS = 12 };
    for (size_t i = 0; i < VARIANTS * COUNT(SHAPES); i++) {
        const struct shape *p = &SHAPES[i / VARIANTS];
        bool slow = p->steps > 100 || p->paths > 100;
        if (slow && SLOWER == 1 && i % 5) continue;
        /* Each shape in another variant. */
        if (SLOWER > 1 && i % (VARIANTS + 1)) continue;
        gsv_model *m = model_of(p->text);
        gsv_series *s = walk_of(m, p->tracks, p->rows, 0.4, 3);
        gsv_options o = options_of(p, i % VARIANTS);
        gsv_result one = loglik_of(m, s, &o);
        for (size_t j = 0; j < COUNT(THREADS); j++) {
            o.threads = THREADS[j];
            gsv_result r = loglik_of(m, s, &o);
            assert_same_bits(&r, &one);
            gsv_result_free(&r);
        }
        gsv_result_free(&one);
        gsv_series_free(s);
        gsv_model_free(m);
    }
}

static void bits__differ_by_seed_and_iteration(void **state)
{
    (void)state;
    gsv_model *m = model_of(NET);
    gsv_series *s = walk_of(m, 2, 5, 0.4, 3);
    gsv_options o = default_options();
    gsv_result a = loglik_of(m, s, &o), b = loglik_of(m, s, &o);
    o.seed = 2;
    gsv_result c = loglik_of(m, s, &o);
    o.seed = 1;
    o.iteration = 1;
    gsv_result d = loglik_of(m, s, &o);
    assert_true(a.loglik == b.loglik);
    assert_true(a.loglik != c.loglik);
    assert_true(a.loglik != d.loglik && c.loglik != d.loglik);
    gsv_result_free(&a);
    gsv_result_free(&b);
    gsv_result_free(&c);
    gsv_result_free(&d);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* A track by itself is what it is among others, but for the random numbers of
 * its gaps: the first track has the same. */
static void groups__do_not_mind_their_neighbours(void **state)
{
    (void)state;
    for (size_t variant = 0; variant < 12; variant++) {
        gsv_model *m = model_of(WELL);
        gsv_series *all = walk_of(m, 12, 5, 0.4, 3);
        gsv_series *one = track_of(m, 5, all->time, all->value);
        gsv_options o = options_of(&SHAPES[2], variant);
        gsv_result r = loglik_of(m, all, &o), q = loglik_of(m, one, &o);
        for (size_t g = 0; g < q.groups; g++) {
            assert_near(r.gap[g].loglik, q.gap[g].loglik, 1e-11);
            assert_int_equal(r.gap[g].reference, q.gap[g].reference);
            assert_int_equal(r.gap[g].form, q.gap[g].form);
        }
        gsv_result_free(&r);
        gsv_result_free(&q);
        gsv_series_free(all);
        gsv_series_free(one);
        gsv_model_free(m);
    }
}

/* --- What is reported ----------------------------------------------------- */

static void paths__of_sobol_points_are_a_power_of_two(void **state)
{
    (void)state;
    static const size_t asked[][2] = {{1, 1},   {2, 2},    {3, 4},    {5, 8},
                                      {64, 64}, {65, 128}, {100, 128}};
    gsv_model *m = model_of(WELL);
    gsv_series *s = walk_of(m, 1, 3, 0.4, 3);
    for (size_t i = 0; i < COUNT(asked); i++) {
        gsv_options o = default_options();
        o.paths = asked[i][0];
        o.form = GSV_FORM_ITO;
        gsv_result r = loglik_of(m, s, &o);
        assert_int_equal(r.paths, asked[i][1]);
        assert_int_equal(r.drift_evaluations, 2 * 8 * asked[i][1]);
        gsv_result_free(&r);
        o.random = GSV_RANDOM_IID;
        r = loglik_of(m, s, &o);
        assert_int_equal(r.paths, asked[i][0]);
        gsv_result_free(&r);
        o.steps = 1; /* no inner points, nothing to draw */
        r = loglik_of(m, s, &o);
        assert_int_equal(r.paths, 1);
        assert_true(r.error == 0.0);
        assert_true(isnan(r.discretisation));
        gsv_result_free(&r);
    }
    gsv_series_free(s);
    gsv_model_free(m);
}

/* One step with a linear reference is a Gaussian step: log N(x'; Phi x + Gamma
 * (b + r), Q) with the drift at the forecast of the middle. */
static void midpoint__of_one_step_is_a_gaussian_step(void **state)
{
    (void)state;
    gsv_model *m = model_of("state x\n dx = (x - x^3)*dt + 0.5*dW");
    const double time[] = {0.0, 0.7}, x[] = {-0.4, 0.3}, h = 0.7;
    gsv_series *s = track_of(m, 2, time, x);
    gsv_options o = default_options();
    o.steps = 1;
    gsv_result r = loglik_of(m, s, &o);
    double middle = 0.5 * (x[0] + x[1]), A = 1.0 - 3.0 * middle * middle;
    double b = middle - pow(middle, 3.0) - A * middle;
    double z = exp(0.5 * A * h) * x[0] + expm1(0.5 * A * h) / A * b;
    double f = z - z * z * z - A * z; /* b + r */
    double mean = exp(A * h) * x[0] + expm1(A * h) / A * f;
    double variance = 0.25 * expm1(2.0 * A * h) / (2.0 * A);
    assert_near(r.loglik, exact_normal(x[1], mean, variance), 1e-12);
    assert_int_equal(r.gap[0].form, GSV_FORM_MIDPOINT);
    assert_int_equal(r.gap[0].reference, GSV_REFERENCE_LINEAR);
    gsv_result_free(&r);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* Many tracks of many gaps: more than are made ready together. */
static gsv_series *many_tracks(const gsv_model *m, size_t tracks, size_t rows)
{
    size_t n = tracks * rows, *start = NEW(size_t, tracks + 1);
    double *time = NEW(double, n), *x = normals(n, 5);
    for (size_t r = 0; r <= tracks; r++)
        start[r] = r * rows;
    for (size_t i = 0; i < n; i++)
        time[i] = 0.3 * (double)(i % rows);
    gsv_series *s =
        gsv_series_new(tracks, start, 1, gsv_model_column(m), time, x);
    assert_non_null(s);
    mem_free(start);
    mem_free(time);
    mem_free(x);
    return s;
}

static void findings__are_of_all_groups(void **state)
{
    (void)state;
    gsv_model *m = model_of(WELL);
    gsv_series *s = many_tracks(m, 200, 131);
    for (int joint = 0; joint < 2; joint++) {
        gsv_options o = default_options();
        o.paths = 1;
        o.steps = 2;
        o.joint = joint;
        o.form = GSV_FORM_MIDPOINT;
        o.reference = GSV_REFERENCE_LNA;
        gsv_result plain = loglik_of(m, s, &o);
        o.richardson = true; /* changes nothing of the midpoint's */
        gsv_result r = loglik_of(m, s, &o);
        for (size_t g = 0; g < r.groups; g++) {
            assert_int_equal(r.gap[g].form, GSV_FORM_MIDPOINT);
            assert_int_equal(r.gap[g].reference, GSV_REFERENCE_LNA);
        }
        assert_near(r.loglik, plain.loglik, 1e-9 * fabs(r.loglik));
        gsv_result_free(&plain);
        gsv_result_free(&r);
    }
    gsv_series_free(s);
    gsv_model_free(m);
}

/* Averaged over a track, ito's sums are extrapolated wherever they are: a last
 * gap of one step, which takes the midpoint, does not change that. */
static void richardson__does_not_depend_on_the_last_gap(void **state)
{
    (void)state;
    gsv_model *m = model_of("state x\n dx = (x - x^3)*dt + 0.5*dW");
    const double time[] = {0.0, 1.0, 1.1}, x[] = {-0.4, 0.3, 0.35};
    gsv_series *s = track_of(m, 3, time, x), *first = track_of(m, 2, time, x);
    gsv_options o = default_options();
    o.step = 0.125;
    o.joint = true;
    o.reference = GSV_REFERENCE_LNA;
    o.richardson = true;
    gsv_result both = loglik_of(m, s, &o), one = loglik_of(m, first, &o);
    const double last_time[] = {1.0, 1.1}, last_x[] = {0.3, 0.35};
    gsv_series *last = track_of(m, 2, last_time, last_x);
    gsv_result rest = loglik_of(m, last, &o);
    assert_near(both.loglik, one.loglik + rest.loglik, 1e-10);
    gsv_result_free(&both);
    gsv_result_free(&one);
    gsv_result_free(&rest);
    gsv_series_free(s);
    gsv_series_free(first);
    gsv_series_free(last);
    gsv_model_free(m);
}

/* --- Memory --------------------------------------------------------------- */

/* Every allocation fails once. */
static void memory__may_run_out_at_any_time(void **state)
{
    (void)state;
    static const size_t shapes[] = {0, 2, 3, 4, 7, 8};
    for (size_t i = 0; i < 4 * COUNT(shapes); i++) {
        struct shape p = SHAPES[shapes[i / 4]];
        gsv_model *m = model_of(p.text);
        gsv_series *s = walk_of(m, p.tracks, p.rows, 0.2, 3);
        p.paths = 16;
        p.steps = p.steps > 16 ? 130 : 3;
        gsv_options o = options_of(&p, i % 4);
        int status = GSV_NO_MEMORY;
        size_t n = 1;
        for (; status == GSV_NO_MEMORY; n++) {
            gsv_result r;
            memset(&r, 0xff, sizeof r);
            mem_fail_at(n);
            status = gsv_loglik(m, s, &o, &r);
            mem_fail_at(0);
            if (status) {
                assert_int_equal(status, GSV_NO_MEMORY);
                assert_non_null(strstr(gsv_last_error(), "out of memory"));
                assert_null(r.gap);
                assert_null(r.gradient);
            }
            gsv_result_free(&r);
        }
        assert_int_equal(status, 0);
        assert_true(n > 10);
        gsv_series_free(s);
        gsv_model_free(m);
    }
}

static void memory__may_run_out_in_the_gradients_check(void **state)
{
    (void)state;
    gsv_model *m = model_of(WELL);
    gsv_series *s = walk_of(m, 1, 3, 0.2, 3);
    gsv_gradient_check check;
    double kept[2];
    memcpy(kept, gsv_model_value(m), sizeof kept);
    gsv_options o = default_options();
    o.paths = 16;
    o.steps = 2;
    int status = GSV_NO_MEMORY;
    for (size_t n = 1; status == GSV_NO_MEMORY; n++) {
        mem_fail_at(n);
        status = gsv_check_gradient(m, s, &o, &check);
        mem_fail_at(0);
        assert_memory_equal(kept, gsv_model_value(m), sizeof kept);
    }
    assert_int_equal(status, 0);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* Paths cost nothing; a linear reference keeps some matrices of every step. */
static void memory__does_not_grow_with_paths(void **state)
{
    (void)state;
    gsv_model *m = model_of(NET);
    gsv_series *s = walk_of(m, 1, 3, 0.2, 3);
    double memory[2];
    for (size_t i = 0; i < 2; i++) {
        gsv_options o = default_options();
        o.paths = i ? 16384 : 256;
        o.gradient = true;
        gsv_result r = loglik_of(m, s, &o);
        memory[i] = (double)r.memory;
        gsv_result_free(&r);
    }
    assert_near(memory[1], memory[0], 0.1 * memory[0]);
    gsv_series_free(s);
    gsv_model_free(m);
}

static void memory__of_too_many_matrices_is_refused(void **state)
{
    (void)state;
    gsv_model *m = model_of("state x[50]\n dx = -x*dt + dW");
    gsv_series *s = walk_of(m, 1, 2, 0.2, 3);
    gsv_options o = default_options();
    gsv_result r;
    o.steps = 100000;
    assert_int_equal(gsv_loglik(m, s, &o, &r), GSV_BAD_INPUT);
    assert_non_null(strstr(gsv_last_error(), "brownian"));
    gsv_series_free(s);
    gsv_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bits__do_not_depend_on_the_threads),
        cmocka_unit_test(bits__differ_by_seed_and_iteration),
        cmocka_unit_test(groups__do_not_mind_their_neighbours),
        cmocka_unit_test(paths__of_sobol_points_are_a_power_of_two),
        cmocka_unit_test(midpoint__of_one_step_is_a_gaussian_step),
        cmocka_unit_test(findings__are_of_all_groups),
        cmocka_unit_test(richardson__does_not_depend_on_the_last_gap),
        cmocka_unit_test(memory__may_run_out_at_any_time),
        cmocka_unit_test(memory__may_run_out_in_the_gradients_check),
        cmocka_unit_test(memory__does_not_grow_with_paths),
        cmocka_unit_test(memory__of_too_many_matrices_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
