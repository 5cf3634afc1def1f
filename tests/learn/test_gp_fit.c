/* SPDX-License-Identifier: MIT */
/* Learning with Gaussian-process functions. Under Euler's density the
 * increments of dX = h(X) dt + s dW are a regression with Gaussian noise, so
 * that the posterior of h and the evidence have closed forms: dense ones, in
 * the space of increments, are what fits are compared with. */
#include "learn.h"

#include "base/grid.h"
#include "base/kernel.h"
#include "base/linalg.h"
#include "learn/evidence.h"
#include "model/theta.h"

/* --- The exact posterior ---------------------------------------------------
 */

enum { ROWS = 60, GAPS = ROWS - 1, NODES = 12, SPOTS = 9 };

static const double LOW = -2.5, HIGH = 2.5, LENGTH = 0.8, AMPLITUDE = 1.7;
static const double POLYNOMIAL = 0.6, NOISE = 0.5;

/* The prior covariance of what nodes and features carry at x and y. */
static double prior(double x, double y, size_t degree)
{
    struct grid g = {1, {NODES}, {LOW}, {HIGH}};
    size_t i[4], j[4];
    double a[4], b[4], sum = 0.0, cell = (HIGH - LOW) / (NODES - 1);
    grid_weights(&g, &x, i, a, NULL);
    grid_weights(&g, &y, j, b, NULL);
    for (size_t p = 0; p < 4; p++)
        for (size_t q = 0; q < 4; q++)
            sum += a[p] * b[q] * AMPLITUDE * AMPLITUDE *
                   kernel_at(KERNEL_RBF, cell * ((double)i[p] - (double)j[q]),
                             LENGTH, NULL);
    double u = x / HIGH, v = y / HIGH;
    for (size_t k = 0; degree && k <= degree; k++)
        sum += POLYNOMIAL * POLYNOMIAL * pow(u * v, (double)k);
    return sum;
}

struct exact {
    double x[GAPS], dx[GAPS], dt[GAPS]; /* the increments, the rest taken off */
    double L[GAPS * GAPS]; /* of their covariance                   */
    double solved[GAPS];   /* its inverse times dx                  */
    double evidence;
    size_t degree;
};

/* dx = (slope x + h) dt + NOISE dW. */
static void exact_init(struct exact *e, const gsv_series *s, double slope,
                       size_t degree)
{
    e->degree = degree;
    for (size_t i = 0; i < GAPS; i++) {
        e->x[i] = s->value[i];
        e->dt[i] = s->time[i + 1] - s->time[i];
        e->dx[i] = s->value[i + 1] - s->value[i] - slope * e->x[i] * e->dt[i];
        e->solved[i] = e->dx[i];
    }
    for (size_t i = 0; i < GAPS; i++)
        for (size_t j = 0; j < GAPS; j++)
            e->L[i * GAPS + j] =
                e->dt[i] * e->dt[j] * prior(e->x[i], e->x[j], degree) +
                (i == j ? NOISE * NOISE * e->dt[i] : 0.0);
    assert_true(linalg_cholesky(GAPS, e->L));
    linalg_lower_solve(GAPS, 1, e->L, false, e->solved);
    e->evidence = -0.5 * GAPS * log(2.0 * EXACT_PI);
    for (size_t i = 0; i < GAPS; i++)
        e->evidence -=
            0.5 * e->solved[i] * e->solved[i] + log(e->L[i * GAPS + i]);
    linalg_lower_solve(GAPS, 1, e->L, true, e->solved);
}

/* What nodes do not carry is as uncertain as before. */
static void exact_at(const struct exact *e, double x, double *mean, double *sd)
{
    double k[GAPS], carried = prior(x, x, 0);
    double variance =
        prior(x, x, e->degree) + fmax(AMPLITUDE * AMPLITUDE - carried, 0.0);
    *mean = 0.0;
    for (size_t i = 0; i < GAPS; i++) {
        k[i] = e->dt[i] * prior(x, e->x[i], e->degree);
        *mean += k[i] * e->solved[i];
    }
    linalg_lower_solve(GAPS, 1, e->L, false, k);
    for (size_t i = 0; i < GAPS; i++)
        variance -= k[i] * k[i];
    *sd = sqrt(variance);
}

/* --- Fits ------------------------------------------------------------------
 */

#define GRID "gp h(x) -> 1 : grid 12 over [-2.5, 2.5] rbf"
#define TAIL "\n param s = 1 > 0, a = 0.3\n"

static gsv_fit_options euler_options(void)
{
    gsv_fit_options o = gsv_fit_options_default();
    o.estimator.reference = GSV_REFERENCE_BROWNIAN;
    o.estimator.form = GSV_FORM_ITO;
    o.estimator.paths = o.estimator.steps = 1;
    return o;
}

static void set(gsv_model *m, const char *name, double value)
{
    if (gsv_model_set(m, name, 1, &value)) fail_msg("%s", gsv_last_error());
}

static gsv_model *kernel_model(const char *text, bool polynomial)
{
    gsv_model *m = model_of(text);
    set(m, "s", NOISE);
    set(m, "h.length", LENGTH);
    set(m, "h.amplitude", AMPLITUDE);
    if (polynomial) set(m, "h.poly_amplitude", POLYNOMIAL);
    return m;
}

static const char *const KERNEL[] = {"s", "a", "h.length", "h.amplitude",
                                     "h.poly_amplitude"};

static void expect_exact(const char *text, double slope, size_t degree)
{
    gsv_model *m = kernel_model(text, degree > 0);
    gsv_series *s = learn_well(m, 1, ROWS, 5);
    gsv_fit_options o = euler_options();
    struct exact e;
    o.fix = KERNEL;
    o.fixed = degree ? 5 : 4;
    exact_init(&e, s, slope, degree);
    assert_int_equal(gsv_fit(m, s, &o), 0);
    assert_near(gsv_model_record(m)->evidence, e.evidence, 1e-6);
    gsv_functions *q = gsv_functions_new(m);
    assert_non_null(q);
    for (size_t i = 0; i < SPOTS; i++) {
        double x = -3.0 + 0.75 * (double)i, t = 0.0, f, sd, mean, error;
        exact_at(&e, x, &mean, &error);
        assert_int_equal(gsv_model_drift(m, 1, &t, &x, NULL, &f), 0);
        assert_int_equal(gsv_functions_drift(q, 1, &t, &x, NULL, &sd), 0);
        assert_near(f, slope * x + mean, 1e-5);
        assert_near(sd, error, 1e-5);
    }
    gsv_functions_free(q);
    gsv_series_free(s);
    gsv_model_free(m);
}

static void posterior__is_exact_for_increments(void **state)
{
    (void)state;
    expect_exact("state x" TAIL GRID "\n dx = (0*a + h)*dt + s*dW", 0.0, 0);
}

static void posterior__is_exact_beside_a_formula(void **state)
{
    (void)state;
    expect_exact("state x" TAIL GRID "\n dx = (a*x + h)*dt + s*dW", 0.3, 0);
}

static void posterior__is_exact_with_a_polynomial(void **state)
{
    (void)state;
    expect_exact("state x" TAIL GRID " + cubic\n dx = (a*x + h)*dt + s*dW", 0.3,
                 3);
}

/* --- Two outputs, an input, a second gp, all kernels -----------------------
 */

enum { SIDE = 6, PAIR = 3 };

/* dx = a x dt + h1(x, u) dt + s dW, dy = h2(x, u) dt + 2 s dW, and
 * dz = k(z) dt + s dW, whose gp has a grid of one axis: each equation is a
 * regression of its own. */
static const char PARTS[] =
    "state x, y, z\n input u hold\n param s = 1 > 0, a = 0.3\n"
    "gp h(x, u) -> 2 : grid 6 over [-2.5, 2.5] %s\n"
    "gp k(z) -> 1 : grid 6 over [-2.5, 2.5] %s\n"
    "dx = (a*x + h[1])*dt + s*dW\n dy = h[2]*dt + 2*s*dW\n"
    "dz = k*dt + s*dW";

/* One of these regressions: the columns of its arguments and of its state. */
struct part {
    size_t axes, column[2], state;
    double slope, noise, amplitude;
};
static const struct part PART[PAIR] = {{2, {0, 3}, 0, 0.3, NOISE, 1.7},
                                       {2, {0, 3}, 1, 0.0, 2 * NOISE, 0.9},
                                       {1, {2}, 2, 0.0, NOISE, 1.2}};

static double part_prior(const struct part *p, enum kernel kind,
                         const double *x, const double *y)
{
    struct grid g = {.axes = p->axes};
    size_t i[16], j[16], n = p->axes == 2 ? 16 : 4;
    double a[16], b[16], sum = 0.0, cell = (HIGH - LOW) / (SIDE - 1);
    for (size_t k = 0; k < p->axes; k++) {
        g.nodes[k] = SIDE;
        g.low[k] = LOW;
        g.high[k] = HIGH;
    }
    grid_weights(&g, x, i, a, NULL);
    grid_weights(&g, y, j, b, NULL);
    for (size_t q = 0; q < n * n; q++) {
        size_t from = i[q / n], to = j[q % n];
        double r = a[q / n] * b[q % n] * p->amplitude * p->amplitude;
        for (size_t k = 0; k < p->axes; k++, from /= SIDE, to /= SIDE)
            r *= kernel_at(kind,
                           cell * ((double)(from % SIDE) - (double)(to % SIDE)),
                           LENGTH, NULL);
        sum += r;
    }
    return sum;
}

/* The exact mean and deviation of a part's function at an argument. */
static void part_at(const struct part *p, enum kernel kind, const gsv_series *s,
                    const double *u, double *mean, double *sd)
{
    static double C[GAPS * GAPS], x[GAPS][2], d[GAPS], k[GAPS];
    const double *own = s->value + p->state * s->rows;
    for (size_t i = 0; i < GAPS; i++) {
        double dt = s->time[i + 1] - s->time[i];
        for (size_t c = 0; c < p->axes; c++)
            x[i][c] = s->value[p->column[c] * s->rows + i];
        d[i] = own[i + 1] - own[i] - p->slope * own[i] * dt;
        k[i] = dt * part_prior(p, kind, u, x[i]);
        for (size_t j = 0; j <= i; j++)
            C[i * GAPS + j] = dt * (s->time[j + 1] - s->time[j]) *
                                  part_prior(p, kind, x[i], x[j]) +
                              (i == j ? p->noise * p->noise * dt : 0.0);
    }
    assert_true(linalg_cholesky(GAPS, C));
    linalg_lower_solve(GAPS, 1, C, false, d);
    linalg_lower_solve(GAPS, 1, C, false, k);
    double carried = part_prior(p, kind, u, u);
    double variance = fmax(p->amplitude * p->amplitude, carried);
    *mean = 0.0;
    for (size_t i = 0; i < GAPS; i++) {
        *mean += k[i] * d[i];
        variance -= k[i] * k[i];
    }
    *sd = sqrt(variance);
}

static void set_parts(gsv_model *m)
{
    const double length[] = {LENGTH, LENGTH}, amplitude[] = {1.7, 0.9};
    set(m, "s", NOISE);
    assert_int_equal(gsv_model_set(m, "h.length", 2, length), 0);
    assert_int_equal(gsv_model_set(m, "h.amplitude", 2, amplitude), 0);
    set(m, "k.length", LENGTH);
    set(m, "k.amplitude", 1.2);
}

static void expect_parts(enum kernel kind, const char *name)
{
    static const char *const FIX[] = {"s",           "a",        "h.length",
                                      "h.amplitude", "k.length", "k.amplitude"};
    char text[600];
    snprintf(text, sizeof text, PARTS, name, name);
    gsv_model *m = model_of(text);
    set_parts(m);
    gsv_series *s = learn_well(m, 1, ROWS, 11);
    gsv_fit_options o = euler_options();
    o.fix = FIX;
    o.fixed = COUNT(FIX);
    if (gsv_fit(m, s, &o)) fail_msg("%s", gsv_last_error());
    gsv_functions *q = gsv_functions_new(m);
    assert_non_null(q);
    for (size_t i = 0; i < 2; i++) {
        double t = 0.0, u = 1.1 - 0.5 * (double)i, f[PAIR], sd[PAIR];
        double x[] = {-1.6 + 0.9 * (double)i, 0.2, 0.7 * (double)i - 1.0};
        double all[] = {x[0], x[1], x[2], u};
        assert_int_equal(gsv_model_drift(m, 1, &t, x, &u, f), 0);
        assert_int_equal(gsv_functions_drift(q, 1, &t, x, &u, sd), 0);
        for (size_t k = 0; k < PAIR; k++) {
            const struct part *p = &PART[k];
            double at[] = {all[p->column[0]], all[p->column[1]]}, mean, error;
            part_at(p, kind, s, at, &mean, &error);
            assert_near(f[k], mean + p->slope * x[p->state], 1e-5);
            assert_near(sd[k], error, 1e-5);
        }
    }
    gsv_functions_free(q);
    gsv_series_free(s);
    gsv_model_free(m);
}

static void posterior__is_exact_for_all_kernels_outputs_and_inputs(void **state)
{
    (void)state;
    expect_parts(KERNEL_RBF, "rbf");
    expect_parts(KERNEL_MATERN32, "matern32");
    expect_parts(KERNEL_MATERN52, "matern52");
}

/* --- The gradient of the evidence ----------------------------------------- */

static void learner_open(struct learner *l, gsv_model *m, const gsv_series *s,
                         const gsv_fit_options *o)
{
    *l = (struct learner){.m = m, .s = s, .o = o, .n = gsv_theta_size(m)};
    l->value = NEW(size_t, l->n);
    l->fixed = NEW(bool, l->n);
    l->theta = NEW(double, l->n);
    theta_places(m, l->value);
    gsv_theta_get(m, l->theta);
    assert_int_equal(split_init(&l->split, 1, s->rows - s->tracks, 0.0, 1), 0);
}

static void learner_close(struct learner *l)
{
    split_free(&l->split);
    mem_free(l->value);
    mem_free(l->fixed);
    mem_free(l->theta);
}

/* Of the formula's number, too, where references stay. Those of a bound are
 * held, as in a round of its fit. */
static void expect_gradient(const char *text, gsv_fit_options o,
                            double tolerance)
{
    bool bound = o.estimator.form == GSV_FORM_BOUND;
    bool stays = bound || o.estimator.reference == GSV_REFERENCE_BROWNIAN;
    gsv_model *m = model_of(text);
    gsv_series *s = learn_well(m, 1, ROWS, 7);
    struct learner l;
    struct evidence e;
    double value, x[16], bar[16], found[16];
    o.estimator.gradient = true;
    learner_open(&l, m, s, &o);
    l.fixed[1] = !stays; /* a: the second number of TAIL */
    assert_int_equal(evidence_init(&e, &l, &o.estimator, l.theta, 0.0), 0);
    assert_true(e.outer && e.outer <= COUNT(x));
    if (bound) assert_int_equal(objective_hold(&e.all), 0);
    for (size_t i = 0; i < e.outer; i++)
        x[i] = l.theta[e.place[i]];
    assert_int_equal(evidence_at(&e, x, &value, bar), 0);
    for (size_t i = 0; i < e.outer; i++) {
        double up, down, kept = x[i], step = 1e-3;
        x[i] = kept + step;
        assert_int_equal(evidence_at(&e, x, &up, found), 0);
        x[i] = kept - step;
        assert_int_equal(evidence_at(&e, x, &down, found), 0);
        x[i] = kept;
        assert_near(bar[i], (up - down) / (2.0 * step),
                    tolerance * (1.0 + fabs(bar[i])));
    }
    evidence_free(&e);
    learner_close(&l);
    gsv_series_free(s);
    gsv_model_free(m);
}

static const char *const MODELS[] = {
    "state x" TAIL GRID "\n dx = (a*x + h)*dt + s*dW",
    "state x" TAIL GRID " + quadratic\n dx = a*h*dt + s*dW",
    "state x, y" TAIL "gp h(x, y) -> 2 : grid 6 over [-2.5, 2.5] matern52 + "
    "linear\n dx = (h[1] - a*x)*dt + s*dW\n dy = h[2]*dt + 2*s*dW",
    "state x, y, z" TAIL "gp h(x, y, z) -> 3 : grid 5 over [-2.5, 2.5] rbf\n"
    "dx = (h[1] - a*x)*dt + s*dW\n dy = h[2]*dt + s*dW\n"
    "dz = h[3]*dt + 2*s*dW",
};

static const char *const POTENTIALS[] = {
    "state x" TAIL GRID " + quadratic\n dx = (a*x - grad(h, x))*dt + s*dW",
    "state x, y" TAIL "gp h(x, y) -> 1 : grid 6 over [-2.5, 2.5] matern52\n"
    "dx = -grad(h, x)*dt + s*dW\n dy = (a*x*h - grad(h, y))*dt + 2*s*dW",
};

static void evidence__has_its_gradient(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(POTENTIALS); i++)
        expect_gradient(POTENTIALS[i], euler_options(), 1e-5);
    for (size_t i = 0; i < COUNT(MODELS); i++)
        expect_gradient(MODELS[i], euler_options(), 1e-5);
}

/* The functions are found to 1e-5 of E, which is of second order in them. */
static void evidence__has_its_gradient_under_a_bound(void **state)
{
    (void)state;
    gsv_fit_options o = gsv_fit_options_default();
    o.estimator.reference = GSV_REFERENCE_LINEAR;
    o.estimator.form = GSV_FORM_BOUND;
    o.estimator.paths = 1;
    o.estimator.steps = 4;
    for (size_t k = 0; k < COUNT(MODELS); k++)
        expect_gradient(MODELS[k], o, 1e-3);
}

/* Kernels do not move references, and the noise hardly does; but the functions
 * that are best move with them, and references with these, the more the more
 * states there are. What a formula's
 * number does to them is left out of its gradient: LEARN.md. */
static void
evidence__has_the_kernels_gradient_where_references_follow(void **state)
{
    (void)state;
    static const struct {
        enum gsv_reference reference;
        size_t paths, steps;
    } HOW[] = {{GSV_REFERENCE_LINEAR, 1, 1}, {GSV_REFERENCE_LNA, 16, 4}};
    for (size_t i = 0; i < COUNT(HOW); i++) {
        gsv_fit_options o = gsv_fit_options_default();
        o.estimator.reference = HOW[i].reference;
        o.estimator.form = GSV_FORM_MIDPOINT;
        o.estimator.paths = HOW[i].paths;
        o.estimator.steps = HOW[i].steps;
        for (size_t k = 0; k + 1 < COUNT(MODELS); k++)
            expect_gradient(MODELS[k], o, 1e-4);
    }
}

/* Functions so wild that their likelihood is refused are no place to go on
 * from: those of the best E are. */
static void evidence__goes_on_from_what_was_good(void **state)
{
    (void)state;
    gsv_model *m = model_of(MODELS[0]);
    gsv_series *s = learn_well(m, 1, ROWS, 7);
    gsv_fit_options o = gsv_fit_options_default();
    struct learner l;
    struct evidence e;
    double first, again, x[16];
    o.estimator.gradient = true;
    o.estimator.reference = GSV_REFERENCE_LNA;
    o.estimator.form = GSV_FORM_MIDPOINT;
    o.estimator.paths = 16;
    o.estimator.steps = 4;
    learner_open(&l, m, s, &o);
    assert_int_equal(evidence_init(&e, &l, &o.estimator, l.theta, 0.0), 0);
    for (size_t i = 0; i < e.outer; i++)
        x[i] = l.theta[e.place[i]];
    assert_int_equal(evidence_at(&e, x, &first, NULL), 0);
    for (size_t i = 0; i < e.f[0].G; i++)
        e.theta[e.f[0].value + i] = i % 2 ? 1e3 : -1e3;
    assert_int_equal(evidence_at(&e, x, &again, NULL), 0);
    assert_near(again, first, 1e-3);
    evidence_free(&e);
    learner_close(&l);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* --- Ends ------------------------------------------------------------------
 */

static const char TWO[] =
    "state x, y" TAIL "gp h(x, y) -> 2 : grid 6 over [-2.5, 2.5] rbf\n"
    "dx = (h[1] - a*x)*dt + s*dW\n dy = h[2]*dt + s*dW";

static gsv_model *fitted(const char *text, size_t threads, gsv_series **s,
                         bool (*progress)(void *user, const gsv_progress *p))
{
    gsv_model *m = model_of(text);
    gsv_fit_options o = euler_options();
    *s = learn_well(m, 1, 200, 3);
    o.estimator.threads = threads;
    o.progress = progress;
    if (gsv_fit(m, *s, &o)) fail_msg("%s", gsv_last_error());
    return m;
}

static void field_of(const gsv_model *m, double *f, double *sd)
{
    double t[2] = {0.0, 0.0}, x[4] = {-1.0, 0.5, 0.3, 2.0};
    gsv_functions *q = gsv_functions_new(m);
    assert_non_null(q);
    assert_int_equal(gsv_model_drift(m, 2, t, x, NULL, f), 0);
    assert_int_equal(gsv_functions_drift(q, 2, t, x, NULL, sd), 0);
    gsv_functions_free(q);
}

static void fit__is_the_same_on_threads_and_from_a_file(void **state)
{
    (void)state;
    gsv_series *s, *again;
    gsv_model *one = fitted(TWO, 1, &s, NULL), *two;
    two = fitted(TWO, 2, &again, NULL);
    assert_int_equal(gsv_model_write(one, "a.fit"), 0);
    gsv_model *read = gsv_model_read("a.fit");
    assert_non_null(read);
    double f[3][4], sd[3][4];
    field_of(one, f[0], sd[0]);
    field_of(two, f[1], sd[1]);
    field_of(read, f[2], sd[2]);
    for (size_t i = 1; i < 3; i++) {
        assert_true(same_bits(4, f[0], f[i]));
        assert_true(same_bits(4, sd[0], sd[i]));
    }
    assert_near(gsv_model_record(read)->evidence,
                gsv_model_record(one)->evidence, 0.0);
    gsv_series_free(s);
    gsv_series_free(again);
    gsv_model_free(one);
    gsv_model_free(two);
    gsv_model_free(read);
}

/* The kernel is learned in the same way, and under it the mode is the mean. */
static void map__has_the_mean_and_no_posterior(void **state)
{
    (void)state;
    gsv_fit_options o = euler_options();
    gsv_model *m[2] = {
        kernel_model("state x" TAIL GRID "\n dx = (a*x + h)*dt + s*dW", false),
        kernel_model("state x" TAIL GRID " map\n dx = (a*x + h)*dt + s*dW",
                     false)};
    gsv_series *s = learn_well(m[0], 1, ROWS, 5);
    double f[2], x = 0.7, t = 0.0;
    o.fix = KERNEL;
    for (o.fixed = 2; o.fixed <= 4; o.fixed += 2) {
        for (size_t i = 0; i < 2; i++) {
            assert_int_equal(gsv_fit(m[i], s, &o), 0);
            assert_int_equal(gsv_model_drift(m[i], 1, &t, &x, NULL, &f[i]), 0);
            assert_int_equal(gsv_model_has_posterior(m[i]), !i);
        }
        assert_near(value_of(m[1], "h.length"), value_of(m[0], "h.length"),
                    1e-12);
    }
    assert_near(f[1], f[0], 1e-9);
    for (size_t i = 0; i < 2; i++)
        gsv_model_free(m[i]);
    gsv_series_free(s);
}

/* In another unit of the state the evidence is another by the logarithm of it
 * a gap, and nothing else changes: amplitudes that start a thousand times too
 * small, or too large, would lead nowhere, or to another top. */
static void kernels__start_in_any_unit(void **state)
{
    (void)state;
    static const double UNITS[] = {1.0, 1e-3, 1e3};
    static const char *const KINDS[] = {"rbf", "rbf + cubic"};
    gsv_fit_options o = euler_options();
    for (size_t k = 0; k < COUNT(KINDS); k++) {
        double first = 0.0;
        for (size_t i = 0; i < COUNT(UNITS); i++) {
            char text[300];
            snprintf(text, sizeof text,
                     "state x\n param s = %g > 0\n gp h(x) -> 1 : grid 12 %s\n "
                     "dx = h*dt + s*dW",
                     UNITS[i], KINDS[k]);
            gsv_model *m = model_of(text);
            gsv_series *s = learn_well(m, 1, 200, 3);
            for (size_t r = 0; r < s->rows; r++)
                s->value[r] *= UNITS[i];
            assert_int_equal(gsv_fit(m, s, &o), 0);
            double found =
                gsv_model_record(m)->evidence + 199.0 * log(UNITS[i]);
            if (i) assert_near(found, first, 0.02);
            else first = found;
            gsv_series_free(s);
            gsv_model_free(m);
        }
    }
}

static void kernels__that_have_not_settled_are_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        gsv_model *m = model_of(TWO);
        gsv_series *s = learn_well(m, 1, 200, 3);
        gsv_fit_options o = euler_options();
        o.iterations = i ? 1 : 100;
        assert_int_equal(gsv_fit(m, s, &o), 0);
        const char *said = gsv_model_record(m)->warning;
        assert_int_equal(strstr(said, "have not settled") != NULL, i);
        assert_int_equal(strstr(said, "another h.") != NULL, i);
        gsv_series_free(s);
        gsv_model_free(m);
    }
}

static bool stop(void *user, const gsv_progress *p)
{
    (void)user;
    return p->iteration >= 2;
}

static void fit__that_is_stopped_has_a_posterior(void **state)
{
    (void)state;
    gsv_series *s;
    gsv_model *m = fitted(TWO, 1, &s, stop);
    assert_int_equal(gsv_model_record(m)->ended, GSV_ENDED_STOPPED);
    assert_true(gsv_model_has_posterior(m));
    gsv_series_free(s);
    gsv_model_free(m);
}

static void optimizers__of_others_are_refused(void **state)
{
    (void)state;
    gsv_model *m = model_of(TWO);
    gsv_series *s = learn_well(m, 1, ROWS, 3);
    gsv_fit_options o = euler_options();
    o.optimizer = GSV_OPTIMIZER_ADAM;
    assert_int_equal(gsv_fit(m, s, &o), GSV_BAD_INPUT);
    gsv_series_free(s);
    gsv_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(posterior__is_exact_for_increments),
        cmocka_unit_test(posterior__is_exact_beside_a_formula),
        cmocka_unit_test(posterior__is_exact_with_a_polynomial),
        cmocka_unit_test(
            posterior__is_exact_for_all_kernels_outputs_and_inputs),
        cmocka_unit_test(evidence__has_its_gradient),
        cmocka_unit_test(evidence__has_its_gradient_under_a_bound),
        cmocka_unit_test(evidence__goes_on_from_what_was_good),
        cmocka_unit_test(
            evidence__has_the_kernels_gradient_where_references_follow),
        cmocka_unit_test(fit__is_the_same_on_threads_and_from_a_file),
        cmocka_unit_test(map__has_the_mean_and_no_posterior),
        cmocka_unit_test(kernels__start_in_any_unit),
        cmocka_unit_test(kernels__that_have_not_settled_are_named),
        cmocka_unit_test(fit__that_is_stopped_has_a_posterior),
        cmocka_unit_test(optimizers__of_others_are_refused),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
