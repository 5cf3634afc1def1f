/* SPDX-License-Identifier: MIT */
/* The kernels' uncertainty in the bands of Gaussian-process functions. Under
 * Euler's density the increments are a regression, so that the posterior under
 * any kernel, its evidence, and with these a mixture over kernels are closed
 * forms: dense ones, in the space of increments. */
#include "learn.h"

#include "base/grid.h"
#include "base/kernel.h"
#include "base/linalg.h"
#include "data/safetensors.h"
#include "model/model.h"

enum { ROWS = 120, GAPS = ROWS - 1, NODES = 12, SPOTS = 9, AXES = 1 };

static const double LOW = -2.5, HIGH = 2.5, NOISE = 0.5;

/* --- Dense regression ----------------------------------------------------- */

/* The prior covariance of what nodes carry at x and y. */
static double prior(double x, double y, double length, double amplitude)
{
    struct grid g = {1, {NODES}, {LOW}, {HIGH}};
    size_t i[4], j[4];
    double a[4], b[4], sum = 0.0, cell = (HIGH - LOW) / (NODES - 1);
    grid_weights(&g, &x, i, a, NULL);
    grid_weights(&g, &y, j, b, NULL);
    for (size_t p = 0; p < 4; p++)
        for (size_t q = 0; q < 4; q++)
            sum += a[p] * b[q] *
                   kernel_at(KERNEL_RBF, cell * ((double)i[p] - (double)j[q]),
                             length, NULL);
    return amplitude * amplitude * sum;
}

struct exact {
    double evidence, mean[SPOTS], sd[SPOTS];
};

/* At nodes, where draws have all of the variance. */
static double spot(size_t i)
{
    return LOW + (HIGH - LOW) / (NODES - 1) * (double)(i + 2);
}

static struct exact regress(const gsv_series *s, double length,
                            double amplitude)
{
    static double L[GAPS * GAPS], y[GAPS];
    struct exact e = {.evidence = -0.5 * GAPS * log(2.0 * EXACT_PI)};
    for (size_t i = 0; i < GAPS; i++) {
        double dt = s->time[i + 1] - s->time[i];
        y[i] = s->value[i + 1] - s->value[i];
        for (size_t j = 0; j <= i; j++)
            L[i * GAPS + j] = L[j * GAPS + i] =
                dt * (s->time[j + 1] - s->time[j]) *
                    prior(s->value[i], s->value[j], length, amplitude) +
                (i == j ? NOISE * NOISE * dt : 0.0);
    }
    assert_true(linalg_cholesky(GAPS, L));
    linalg_lower_solve(GAPS, 1, L, false, y);
    for (size_t i = 0; i < GAPS; i++)
        e.evidence -= 0.5 * y[i] * y[i] + log(L[i * GAPS + i]);
    for (size_t k = 0; k < SPOTS; k++) {
        double c[GAPS], x = spot(k);
        double own = prior(x, x, length, amplitude);
        double variance = fmax(own, amplitude * amplitude);
        for (size_t i = 0; i < GAPS; i++)
            c[i] = (s->time[i + 1] - s->time[i]) *
                   prior(x, s->value[i], length, amplitude);
        linalg_lower_solve(GAPS, 1, L, false, c);
        for (size_t i = 0; i < GAPS; i++) {
            e.mean[k] += c[i] * y[i];
            variance -= c[i] * c[i];
        }
        e.sd[k] = sqrt(variance);
    }
    return e;
}

/* Adds a kernel of this weight: means, and mean squares. */
static void add(struct exact *sum, const struct exact *e, double weight)
{
    for (size_t k = 0; k < SPOTS; k++) {
        sum->mean[k] += weight * e->mean[k];
        sum->sd[k] += weight * (e->sd[k] * e->sd[k] + e->mean[k] * e->mean[k]);
    }
}

static void finish(struct exact *sum)
{
    for (size_t k = 0; k < SPOTS; k++)
        sum->sd[k] = sqrt(sum->sd[k] - sum->mean[k] * sum->mean[k]);
}

/* --- Fits ------------------------------------------------------------------
 */

static const char TEXT[] = "state x\n param s = 0.5 > 0\n"
                           "gp h(x) -> 1 : grid 12 over [-2.5, 2.5] rbf\n"
                           "dx = h*dt + s*dW";

/* With s and some more numbers fixed; kernels where they are set, if so. */
static gsv_model *fitted(const gsv_series *s, const double *kernel)
{
    static const char *const fix[] = {"s", "h.length", "h.amplitude"};
    gsv_fit_options o = gsv_fit_options_default();
    gsv_model *m = model_of(TEXT);
    o.estimator.reference = GSV_REFERENCE_BROWNIAN;
    o.estimator.form = GSV_FORM_ITO;
    o.estimator.paths = o.estimator.steps = 1;
    o.errors = GSV_ERRORS_NONE;
    o.fix = fix;
    o.fixed = kernel ? 3 : 1;
    for (size_t i = 0; kernel && i < 2; i++)
        assert_int_equal(gsv_model_set(m, fix[1 + i], 1, &kernel[i]), 0);
    if (gsv_fit(m, s, &o)) fail_msg("%s", gsv_last_error());
    return m;
}

static gsv_series *data(uint64_t seed)
{
    gsv_model *m = model_of(TEXT);
    gsv_series *s = learn_well(m, 1, ROWS, seed);
    gsv_model_free(m);
    return s;
}

/* Its drift and band at the spots. */
static struct exact bands(const gsv_model *m)
{
    struct exact e = {0};
    gsv_functions *q = gsv_functions_new(m);
    if (!q) fail_msg("%s", gsv_last_error());
    for (size_t k = 0; k < SPOTS; k++) {
        double x = spot(k), t = 0.0;
        assert_int_equal(gsv_model_drift(m, 1, &t, &x, NULL, &e.mean[k]), 0);
        assert_int_equal(gsv_functions_drift(q, 1, &t, &x, NULL, &e.sd[k]), 0);
    }
    gsv_functions_free(q);
    return e;
}

static void expect_same(const struct exact *a, const struct exact *b,
                        double tolerance)
{
    for (size_t k = 0; k < SPOTS; k++) {
        assert_near(a->mean[k], b->mean[k], tolerance);
        assert_near(a->sd[k], b->sd[k], tolerance);
    }
}

/* --- Claims --------------------------------------------------------------- */

static const uint64_t SEEDS[] = {3, 5, 6, 4}, VANISHING = 4;

/* Of the kernels that the fit kept, with their weights; wider than under a
 * single one of them is on average, by what their means differ. */
static void bands__are_those_of_the_mixture(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(SEEDS); i++) {
        gsv_series *s = data(SEEDS[i]);
        gsv_model *m = fitted(s, NULL);
        const struct tensor *w = tensors_find(&m->posterior, "@gp.weights");
        const struct tensor *k = tensors_find(&m->posterior, "@gp.h.1.kernels");
        struct exact sum = {0}, found = bands(m);
        double within[SPOTS] = {0};
        assert_non_null(w);
        assert_non_null(k);
        assert_true(w->count > 1 && k->shape[0] == w->count);
        for (size_t j = 0; j < w->count; j++) {
            const double *row = k->value + j * k->shape[1];
            struct exact e = regress(s, row[0], row[AXES]);
            add(&sum, &e, w->value[j]);
            for (size_t p = 0; p < SPOTS; p++)
                within[p] += w->value[j] * e.sd[p] * e.sd[p];
        }
        finish(&sum);
        expect_same(&found, &sum, 1e-5);
        for (size_t p = 0; p < SPOTS; p++)
            assert_true(found.sd[p] > sqrt(within[p]));
        gsv_series_free(s);
        gsv_model_free(m);
    }
}

/* The prior of evidence_kernels.c by log length and log amplitude. */
static double log_prior(const gsv_series *s, double length, double amplitude)
{
    double cell = (HIGH - LOW) / (NODES - 1), span = 0.0;
    for (size_t i = 0; i < GAPS; i++)
        span += s->time[i + 1] - s->time[i];
    double low = fmin(log(length / (1.5 * cell)) / 0.3, 0.0);
    double high = fmax(log(length / (0.25 * (HIGH - LOW))) / 0.5, 0.0);
    double unseen = 3.0 * NOISE / sqrt(span);
    return -0.5 * (low * low + high * high) - log1p(unseen / amplitude);
}

/* A lattice of kernels instead of a few. */
static struct exact integrate(const gsv_series *s)
{
    enum { SIDE = 16 };
    static struct exact e[SIDE * SIDE];
    static double value[SIDE * SIDE];
    double most = -INFINITY, all = 0.0;
    struct exact sum = {0};
    for (size_t i = 0; i < SIDE * SIDE; i++) {
        double length = exp(log(0.33) + 0.2 * (double)(i / SIDE));
        double amplitude = exp(log(0.05) + 0.35 * (double)(i % SIDE));
        e[i] = regress(s, length, amplitude);
        value[i] = e[i].evidence + log_prior(s, length, amplitude);
        most = fmax(most, value[i]);
    }
    for (size_t i = 0; i < SIDE * SIDE; i++)
        all += value[i] = exp(value[i] - most);
    for (size_t i = 0; i < SIDE * SIDE; i++)
        add(&sum, &e[i], value[i] / all);
    finish(&sum);
    return sum;
}

/* Few kernels do as well as many. The fourth set's evidence is largest where
 * the function is 0, far from most of its weight. */
static void bands__are_near_those_of_all_kernels(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(SEEDS); i++) {
        gsv_series *s = data(SEEDS[i]);
        gsv_model *m = fitted(s, NULL);
        struct exact found = bands(m), all = integrate(s);
        for (size_t k = 0; k < SPOTS; k++) {
            assert_near(found.mean[k], all.mean[k], 0.4 * all.sd[k]);
            assert_near(found.sd[k], all.sd[k], 0.2 * all.sd[k]);
        }
        gsv_series_free(s);
        gsv_model_free(m);
    }
}

/* Where the evidence is largest for a function that is 0, the band of that
 * kernel alone is nothing. */
static void bands__do_not_vanish_with_the_amplitude(void **state)
{
    (void)state;
    gsv_series *s = data(VANISHING);
    gsv_model *m = fitted(s, NULL);
    double kernel[2] = {value_of(m, "h.length"), value_of(m, "h.amplitude")};
    gsv_model *known = fitted(s, kernel);
    struct exact wide = bands(m), narrow = bands(known);
    struct exact one = regress(s, kernel[0], kernel[1]);
    assert_null(tensors_find(&known->posterior, "@gp.weights"));
    expect_same(&narrow, &one, 1e-5);
    for (size_t k = 0; k < SPOTS; k++)
        assert_true(wide.sd[k] > 10.0 * narrow.sd[k]);
    gsv_series_free(s);
    gsv_model_free(m);
    gsv_model_free(known);
}

/* Draws have the mixture's mean and deviation at every spot; a draw is the same
 * alone. */
static void draws__have_the_kernels_of_their_weights(void **state)
{
    (void)state;
    enum { DRAWS = 2048 };
    gsv_series *s = data(SEEDS[0]);
    gsv_model *m = fitted(s, NULL), *copy = gsv_model_copy(m);
    struct exact band = bands(m), sum = {0};
    gsv_functions *q = gsv_functions_new(m);
    for (uint64_t i = 0; i < DRAWS; i++) {
        struct exact one = {0};
        assert_int_equal(gsv_functions_draw(q, copy, 1, i), 0);
        for (size_t k = 0; k < SPOTS; k++) {
            double x = spot(k), t = 0.0;
            assert_int_equal(
                gsv_model_drift(copy, 1, &t, &x, NULL, &one.mean[k]), 0);
        }
        add(&sum, &one, 1.0 / DRAWS);
    }
    finish(&sum);
    for (size_t k = 0; k < SPOTS; k++) {
        assert_near(sum.mean[k], band.mean[k], 4.0 * band.sd[k] / sqrt(DRAWS));
        assert_near(sum.sd[k], band.sd[k], 0.1 * band.sd[k]);
    }
    gsv_functions_free(q);
    gsv_series_free(s);
    gsv_model_free(copy);
    gsv_model_free(m);
}

/* --- Files ------------------------------------------------------------------
 */

/* The fit without the tensors that `keep` refuses, or with one changed. */
static void rewrite(const char *from, const char *to, bool kernels,
                    const char *change)
{
    struct tensors t, u = {0};
    assert_int_equal(safetensors_read(&t, from), 0);
    for (size_t i = 0; i < t.count; i++) {
        struct tensor *a = &t.tensor[i];
        bool own =
            strstr(a->name, ".kernels") || !strcmp(a->name, "@gp.weights");
        if (change && !strcmp(a->name, change)) a->value[0] = -1.0;
        if (!own || kernels)
            assert_int_equal(
                tensors_add(&u, a->name, a->rank, a->shape, a->value), 0);
    }
    for (size_t i = 0; i < t.notes; i++)
        assert_int_equal(tensors_note(&u, t.note[i].key, t.note[i].text), 0);
    assert_int_equal(safetensors_write(&u, to), 0);
    tensors_free(&t);
    tensors_free(&u);
}

static void files__keep_the_kernels(void **state)
{
    (void)state;
    gsv_series *s = data(SEEDS[0]);
    gsv_model *m = fitted(s, NULL);
    struct exact before = bands(m);
    assert_int_equal(gsv_model_write(m, "a.fit"), 0);
    gsv_model *again = gsv_model_read("a.fit");
    assert_non_null(again);
    struct exact after = bands(again);
    assert_memory_equal(&before, &after, sizeof before);
    gsv_model_free(again);
    /* As earlier versions wrote them: one kernel. */
    rewrite("a.fit", "b.fit", false, NULL);
    gsv_model *old = gsv_model_read("b.fit");
    if (!old) fail_msg("%s", gsv_last_error());
    struct exact one =
        regress(s, value_of(m, "h.length"), value_of(m, "h.amplitude"));
    after = bands(old);
    for (size_t k = 0; k < SPOTS; k++)
        assert_near(after.sd[k], one.sd[k], 1e-5);
    gsv_model_free(old);
    gsv_series_free(s);
    gsv_model_free(m);
}

static void files__with_damaged_kernels_are_refused(void **state)
{
    (void)state;
    static const char *const CHANGE[] = {"@gp.weights", "@gp.h.1.kernels"};
    gsv_series *s = data(SEEDS[0]);
    gsv_model *m = fitted(s, NULL);
    assert_int_equal(gsv_model_write(m, "a.fit"), 0);
    for (size_t i = 0; i < COUNT(CHANGE); i++) {
        rewrite("a.fit", "b.fit", true, CHANGE[i]);
        assert_null(gsv_model_read("b.fit"));
        assert_non_null(strstr(gsv_last_error(), CHANGE[i]));
    }
    gsv_series_free(s);
    gsv_model_free(m);
}

/* A function that is 0: no kernel is better than another. */
static void fit__warns_of_kernels_that_are_open(void **state)
{
    (void)state;
    double time[ROWS], value[ROWS], *z = normals(ROWS, 9);
    static const char *const name[] = {"x"};
    size_t start[2] = {0, ROWS};
    for (size_t i = 0; i < ROWS; i++) {
        time[i] = 0.02 * (double)i;
        value[i] = i ? value[i - 1] + NOISE * sqrt(0.02) * z[i] : 0.0;
    }
    gsv_series *s = gsv_series_new(1, start, 1, name, time, value);
    gsv_model *m = fitted(s, NULL);
    const char *said = gsv_model_record(m)->warning;
    assert_non_null(strstr(said, "can hardly tell a function from 0"));
    mem_free(z);
    gsv_series_free(s);
    gsv_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bands__are_those_of_the_mixture),
        cmocka_unit_test(bands__are_near_those_of_all_kernels),
        cmocka_unit_test(bands__do_not_vanish_with_the_amplitude),
        cmocka_unit_test(draws__have_the_kernels_of_their_weights),
        cmocka_unit_test(files__keep_the_kernels),
        cmocka_unit_test(files__with_damaged_kernels_are_refused),
        cmocka_unit_test(fit__warns_of_kernels_that_are_open),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
