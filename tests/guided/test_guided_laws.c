/* SPDX-License-Identifier: MIT */
/* What the guided filter says of the states: linear models have particles of
 * equal weight, whose means and deviations are those of the joint normal law up
 * to their own number. */
#include "dense.h"

#include "guided/guided.h"
#include "model/states.h"

enum { POINTS = 4096 };

/* Rows in which nothing was observed are where paths are asked for. */
static const struct shape {
    const char *name;
    size_t d, exact;
    enum dense_motion motion;
    bool missing;
} SHAPES[] = {
    {"one state", 1, 0, DENSE_STILL, false},
    {"missing cells", 2, 0, DENSE_STILL, true},
    {"exact state", 2, 1, DENSE_STILL, false},
    {"held input", 3, 1, DENSE_HELD, false},
    {"input", 2, 0, DENSE_LINE, true},
};

struct bench {
    const char *name;
    struct dense dense;
    struct dense_track track;
    gsv_model *m;
    gsv_series *s;
    gsv_options o;
};

static void bench_init(struct bench *b, const struct shape *shape, bool between)
{
    b->name = shape->name;
    b->dense =
        dense_make(shape->d, 1, shape->exact, DENSE_STABLE, shape->motion, 1.0);
    b->track = dense_data(&b->dense, 9, 0.4, shape->missing, shape->d);
    /* What is held does not change in rows that the filter does not have. */
    for (size_t k = 0; k < b->track.n; k++) {
        if (!between || k % 3 != 1) continue;
        b->track.y[0][k] = NAN;
        for (size_t i = 0; i < DENSE_D; i++)
            b->track.x[i][k] = NAN;
        if (shape->motion == DENSE_HELD) b->track.u[k] = b->track.u[k - 1];
    }
    b->m = dense_model(&b->dense);
    b->s = dense_series(&b->dense, 1, &b->track);
    b->o = gsv_options_default();
    b->o.observe = GSV_OBSERVE_GUIDED;
    b->o.points = POINTS;
    b->o.threads = 1;
}

static void bench_free(struct bench *b)
{
    gsv_series_free(b->s);
    gsv_model_free(b->m);
}

/* Weighted mean and deviation of x (K) against those of an element. */
static void claim_law(const struct bench *b, size_t row, size_t i, size_t K,
                      const double *x, const double *weight,
                      const struct dense_joint *law)
{
    double mean = 0.0, square = 0.0, n = (double)K;
    size_t e = row * b->dense.d + i;
    double sd = sqrt(fmax(0.0, (double)law->cov[e][e]));
    double centre = (double)law->mean[e];
    for (size_t k = 0; k < K; k++)
        mean += weight[k] * x[k];
    for (size_t k = 0; k < K; k++)
        square += weight[k] * (x[k] - mean) * (x[k] - mean);
    if (sd < 1e-7) { /* exact: all of them there, and that of quad is rounded */
        assert_true(fabs(mean - centre) < 1e-9 && square < 1e-12);
        return;
    }
    if (!(fabs(mean - centre) <= TOLERANCE * sd / sqrt(n)) ||
        !(fabs(sqrt(square) / sd - 1.0) <= TOLERANCE / sqrt(2.0 * n)))
        fail_msg("%s, row %zu, state %zu: %g +- %g, should be %g +- %g",
                 b->name, row, i, mean, sqrt(square), centre, sd);
}

/* --- Given all data ------------------------------------------------------- */

struct asked {
    const struct bench *b;
    const struct dense_joint *law;
    size_t rows;
};

static int see_paths(void *user, size_t first, size_t rows, size_t K,
                     const double *x, const double *weight, double ess)
{
    struct asked *a = user;
    size_t d = a->b->dense.d;
    assert_true(ess >= 1.0 && ess <= (double)K * (1.0 + 1e-9));
    assert_int_equal(first, 0);
    assert_int_equal(K, POINTS);
    for (size_t r = 0; r < rows; r++)
        for (size_t i = 0; i < d; i++)
            claim_law(a->b, r, i, K, x + (r * d + i) * K, weight, a->law);
    a->rows += rows;
    return 0;
}

static void paths__have_the_law_given_all_data(void **state)
{
    static struct dense_joint law;
    (void)state;
    for (size_t c = 0; c < COUNT(SHAPES); c++) {
        struct bench b;
        bench_init(&b, &SHAPES[c], true);
        struct asked a = {&b, &law, 0};
        size_t track[DENSE_ROWS] = {0};
        const struct drawn_paths p = {.rows = b.track.n,
                                      .track = track,
                                      .time = b.track.t,
                                      .user = &a,
                                      .visit = see_paths};
        const struct task t = {.model = b.m, .series = b.s, .options = &b.o};
        dense_loglik(&b.dense, &b.track, &law);
        if (METHOD_GUIDED.drawn(&t, &p))
            fail_msg("%s: %s", b.name, gsv_last_error());
        assert_int_equal(a.rows, b.track.n);
        bench_free(&b);
    }
}

/* --- Events --------------------------------------------------------------- */

/* Almost without noise, and observations say nothing: x is 4 exp(r t), and 2
 * more from t = 1 on. */
static const struct {
    const char *text;
    double r;
} DOSES[] = {
    {"state x\ndx = -0.5*x*dt + 1e-6*dW\nobs y ~ normal(x, 1e5)\n"
     "init x ~ normal(1, 1e-6)\nevent x += 3*dose\n",
     -0.5},
    {"state x\ndx = 0.3*x*dt + 1e-6*x*dW\nobs y ~ normal(x, 1e5)\n"
     "init x ~ lognormal(0, 1e-6)\nevent x += 3*dose\n",
     0.3},
    {"state x, v\ndx = (-0.2*x + 0*v^2)*dt + 1e-6*sqrt(x)*dW1\n"
     "dv = -v*dt + sqrt(x)*dW1 + dW2\nobs y ~ normal(x, 1e5)\n"
     "init x ~ normal(1, 1e-6)\ninit v ~ normal(0, 1)\n"
     "event x += 3*dose\n",
     -0.2},
};

static const double ASKED[] = {0.0, 0.25, 0.5, 1.0, 1.25, 2.0};

static int see_doses(void *user, size_t first, size_t rows, size_t K,
                     const double *x, const double *weight, double ess)
{
    double r = *(double *)user;
    size_t d = 1 + (r == DOSES[2].r);
    (void)first, (void)ess;
    assert_int_equal(rows, COUNT(ASKED));
    for (size_t row = 0; row < rows; row++) {
        double t = ASKED[row], mean = 0.0;
        double wanted = t > 0.0 ? 4.0 * exp(r * t) : 1.0;
        if (t > 1.0) wanted += 2.0 * exp(r * (t - 1.0));
        for (size_t k = 0; k < K; k++)
            mean += weight[k] * x[row * d * K + k];
        if (!(fabs(mean - wanted) < 2e-4))
            fail_msg("rate %g, time %g: %g, should be %g", r, t, mean, wanted);
    }
    return 0;
}

/* At the first row, and in one without an observation: after the law there. */
static void paths__jump_once_at_events(void **state)
{
    static const double time[] = {0, 1, 2};
    static const double value[] = {1, NAN, 1, 1, 2.0 / 3.0, NAN};
    static const char *const name[] = {"y", "dose"};
    static const size_t start[] = {0, 3};
    (void)state;
    for (size_t c = 0; c < COUNT(DOSES); c++) {
        double r = DOSES[c].r;
        size_t track[COUNT(ASKED)] = {0};
        gsv_model *m = gsv_model_parse(DOSES[c].text, "doses");
        if (!m) fail_msg("%s", gsv_last_error());
        gsv_series *s = gsv_series_new(1, start, 2, name, time, value);
        gsv_options o = gsv_options_default();
        o.observe = GSV_OBSERVE_GUIDED;
        o.steps = 16;
        o.points = 64;
        const struct task t = {.model = m, .series = s, .options = &o};
        const struct drawn_paths p = {.rows = COUNT(ASKED),
                                      .track = track,
                                      .time = ASKED,
                                      .user = &r,
                                      .visit = see_doses};
        if (METHOD_GUIDED.drawn(&t, &p)) fail_msg("%s", gsv_last_error());
        gsv_series_free(s);
        gsv_model_free(m);
    }
}

/* --- Given the data so far ------------------------------------------------ */

static int see_row(void *user, size_t n, const struct state_law *law)
{
    static struct dense_joint joint;
    static double weight[POINTS];
    struct asked *a = user;
    struct dense_track past = a->b->track;
    double sum = 0.0;
    assert_int_equal(n, 1);
    assert_int_equal(law->points, POINTS);
    for (size_t k = 0; k < POINTS; k++)
        sum += weight[k] = exp(law->log_weight[k] - law->log_weight[0]);
    for (size_t k = 0; k < POINTS; k++)
        weight[k] /= sum;
    past.n = law->row + 1;
    dense_loglik(&a->b->dense, &past, &joint);
    for (size_t i = 0; i < a->b->dense.d; i++)
        claim_law(a->b, law->row, i, POINTS, law->x + i * law->stride, weight,
                  &joint);
    a->rows++;
    return 0;
}

static void filter__has_the_law_given_the_data_so_far(void **state)
{
    (void)state;
    for (size_t c = 0; c < COUNT(SHAPES); c++) {
        struct bench b;
        bench_init(&b, &SHAPES[c], false);
        struct asked a = {.b = &b};
        const struct filter_visitor v = {&a, see_row};
        const struct task t = {.model = b.m, .series = b.s, .options = &b.o};
        if (METHOD_GUIDED.filter(&t, &v))
            fail_msg("%s: %s", b.name, gsv_last_error());
        assert_true(a.rows > 5);
        bench_free(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths__have_the_law_given_all_data),
        cmocka_unit_test(paths__jump_once_at_events),
        cmocka_unit_test(filter__has_the_law_given_the_data_so_far),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
