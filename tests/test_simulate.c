/* SPDX-License-Identifier: MIT */
/* Schemes and simulation. Orders are measured on one Brownian path that is cut
 * ever more coarsely, or from the exact moments of a scheme's own step; random
 * numbers are rebuilt from their address. */
#include "exact.h"

#include "base/memory.h"
#include "sde/scheme.h"

/* --- Helpers -------------------------------------------------------------- */

static gsv_series *simulate(const gsv_model *m, const gsv_simulate_options *o)
{
    gsv_series *s = gsv_simulate(m, o);
    if (!s) fail_msg("%s", gsv_last_error());
    return s;
}

/* Options for some times. */
#define OPTIONS(...)                                                           \
    ((gsv_simulate_options){.tracks = 1,                                       \
                            .scheme = GSV_SRK,                                 \
                            .seed = 1,                                         \
                            .times = COUNT(((double[]){__VA_ARGS__})),         \
                            .time = (double[]){__VA_ARGS__}})

static double value(const gsv_series *s, size_t column, size_t track, size_t k)
{
    return s->value[column * s->rows + s->start[track] + k];
}

/* A model under a scheme, without simulate.c. */
struct rig {
    gsv_model *model;
    struct field field;
    struct stepper stepper;
};

static struct rig *rig_open(const char *text, size_t P)
{
    static struct rig r;
    r.model = model_of(text);
    assert_int_equal(field_init(&r.field, r.model, NULL), 0);
    assert_int_equal(stepper_init(&r.stepper, &r.field, P), 0);
    return &r;
}

static void rig_close(struct rig *r)
{
    stepper_free(&r->stepper);
    field_free(&r->field);
    gsv_model_free(r->model);
}

/* The slope of log2 e[i] over i, where h halves from one to the next: the
 * order, by least squares. */
static double order_of(size_t n, const double *e)
{
    double top = 0.0, bottom = 0.0, middle = 0.5 * (double)(n - 1);
    for (size_t i = 0; i < n; i++) {
        top -= ((double)i - middle) * log2(e[i]);
        bottom += ((double)i - middle) * ((double)i - middle);
    }
    return top / bottom;
}

/* What the orders must be: the strong one with a nonlinear drift, the weak
 * one. Heun's strong order is 1 as it knows no I10, but the error's leading
 * part is small. */
static const struct {
    double strong_low, strong_high, weak_low, weak_high;
} ORDER[SCHEMES] = {
    [GSV_EULER] = {0.9, 1.15, 0.9, 1.15},
    [GSV_MILSTEIN] = {0.9, 1.15, 0.9, 1.15},
    [GSV_HEUN] = {0.9, 1.35, 1.85, 2.2},
    [GSV_SRK] = {1.4, 1.7, 1.85, 2.2},
};

static void check_order(const char *what, size_t scheme, double order,
                        double low, double high)
{
    print_message("  %-8s %-9s order %.3f\n", SCHEME_TABLE[scheme].name, what,
                  order);
    if (!(order >= low && order <= high))
        fail_msg("%s: the %s order of %s is %g, not in [%g, %g]",
                 SCHEME_TABLE[scheme].name, what, what, order, low, high);
}

/* --- Strong order ----------------------------------------------------------- */

enum { PATHS = 400, FINEST = 2048, COARSEST = 8, LEVELS = 5 };

/* Brownian motion over [0, 1] in n steps: of every step its increment and
 * I10, the integral of W - W(left end), both (n, noises, PATHS). */
struct brownian {
    size_t n, row; /* row = noises * PATHS */
    double *dW, *I10;
};

static struct brownian brownian_new(size_t noises)
{
    struct brownian b = {FINEST, noises * PATHS, NULL, NULL};
    size_t count = FINEST * b.row;
    double h = 1.0 / FINEST;
    const struct random_key key = {.seed = 3, .purpose = RANDOM_SIMULATE};
    b.dW = NEW(double, count);
    b.I10 = NEW(double, count);
    assert_true(b.dW && b.I10);
    random_normals(&key, 0, FINEST * noises, 0, PATHS, b.dW);
    random_normals(&key, FINEST * noises, FINEST * noises, 0, PATHS, b.I10);
    for (size_t i = 0; i < count; i++) {
        b.dW[i] *= sqrt(h);
        b.I10[i] = 0.5 * h * (b.dW[i] + sqrt(h / 3.0) * b.I10[i]);
    }
    return b;
}

static void brownian_free(struct brownian *b)
{
    mem_free(b->dW);
    mem_free(b->I10);
}

/* Two steps become one: over the second, W - W(left end) is dW of the first
 * and what it adds itself. */
static void brownian_halve(struct brownian *b)
{
    double h = 1.0 / (double)b->n;
    b->n /= 2;
    for (size_t i = 0; i < b->n; i++)
        for (size_t p = 0; p < b->row; p++) {
            size_t to = i * b->row + p, a = 2 * i * b->row + p, c = a + b->row;
            b->I10[to] = b->I10[a] + b->I10[c] + h * b->dW[a];
            b->dW[to] = b->dW[a] + b->dW[c];
        }
}

/* X at time 1 from 0.5, in the stepper's x. */
static void walk(struct rig *r, size_t scheme, const struct brownian *b)
{
    double h = 1.0 / (double)b->n, *zeta = NEW(double, b->row);
    assert_non_null(zeta);
    for (size_t i = 0; i < r->field.spec->dim * PATHS; i++)
        r->stepper.x[i] = 0.5;
    for (size_t i = 0; i < b->n; i++) {
        const double *dW = b->dW + i * b->row, *I10 = b->I10 + i * b->row;
        for (size_t p = 0; p < b->row; p++)
            zeta[p] = (2.0 * I10[p] / h - dW[p]) / sqrt(h / 3.0);
        struct step step = {.t = h * (double)i,
                            .h = h,
                            .end = h * (double)(i + 1),
                            .dW = dW,
                            .zeta = zeta};
        SCHEME_TABLE[scheme].step(&r->stepper, &step);
    }
    mem_free(zeta);
}

static double root_mean_square(size_t n, const double *x, const double *y)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += (x[i] - y[i]) * (x[i] - y[i]);
    return sqrt(sum / (double)n);
}

/* Against srk with 16 times as many steps as the finest that is measured. */
static void check_strong(const char *text, const char *what)
{
    struct rig *r = rig_open(text, PATHS);
    struct brownian b = brownian_new(r->field.spec->noises);
    size_t n = r->field.spec->dim * PATHS, level = LEVELS;
    double e[SCHEMES][LEVELS], *truth = NEW(double, n);
    assert_non_null(truth);
    walk(r, GSV_SRK, &b);
    memcpy(truth, r->stepper.x, n * sizeof *truth);
    while (b.n > COARSEST) {
        brownian_halve(&b);
        if (b.n >= COARSEST << LEVELS) continue;
        level--;
        for (size_t i = 0; i < SCHEMES; i++) {
            walk(r, i, &b);
            e[i][level] = root_mean_square(n, r->stepper.x, truth);
        }
    }
    assert_int_equal(level, 0);
    for (size_t i = 0; i < SCHEMES; i++)
        check_order(what, i, order_of(LEVELS, e[i]), ORDER[i].strong_low,
                    ORDER[i].strong_high);
    mem_free(truth);
    brownian_free(&b);
    rig_close(r);
}

static void scheme__has_its_strong_order_in_one_dimension(void **state)
{
    (void)state;
    check_strong("state x\ndx = (sin(3*x) - x^3)*dt + 0.8*dW", "1-d");
}

static void scheme__has_its_strong_order_with_a_noise_matrix(void **state)
{
    (void)state;
    check_strong("state x, y\n"
                 "dx = (y - x^3)*dt + 0.6*dW1 + 0.3*dW2\n"
                 "dy = (sin(2*x) - y)*dt + 0.5*dW2 - 0.2*dW1",
                 "matrix");
}

static void scheme__has_its_strong_order_with_noise_that_moves(void **state)
{
    (void)state;
    check_strong("state x, y\n"
                 "dx = (y - x^3 + sin(2*t))*dt + (0.5 + 0.4*sin(3*t))*dW\n"
                 "dy = (sin(2*x) - y)*dt + 0.7*exp(-t)*dW",
                 "moving");
}

/* --- Weak order ------------------------------------------------------------- */

/* X' = A X + B dW + C zeta is what a step is for a linear drift: read off one
 * step with (1, 0, 0), (0, 1, 0) and (0, 0, 1). The moments follow exactly.
 * Returns the error of E X^2 at time 1 from X = 1, dX = -a X dt + e^bt dW. */
static double moment_error(struct rig *r, size_t scheme, size_t n, double a,
                           double b)
{
    double h = 1.0 / (double)n, moment = 1.0;
    const double dW[3] = {0.0, 1.0, 0.0}, zeta[3] = {0.0, 0.0, 1.0};
    for (size_t i = 0; i < n; i++) {
        double *x = r->stepper.x;
        x[0] = 1.0;
        x[1] = x[2] = 0.0;
        struct step step = {.t = h * (double)i,
                            .h = h,
                            .end = h * (double)(i + 1),
                            .dW = dW,
                            .zeta = zeta};
        SCHEME_TABLE[scheme].step(&r->stepper, &step);
        moment = x[0] * x[0] * moment + x[1] * x[1] * h + x[2] * x[2];
    }
    double truth =
        exp(-2.0 * a) + (exp(2.0 * b) - exp(-2.0 * a)) / (2.0 * a + 2.0 * b);
    return fabs(moment - truth);
}

static void check_weak(const char *text, const char *what, double a, double b)
{
    struct rig *r = rig_open(text, 3);
    for (size_t i = 0; i < SCHEMES; i++) {
        double e[LEVELS];
        for (size_t level = 0; level < LEVELS; level++)
            e[level] =
                moment_error(r, i, (size_t)COARSEST << level, a, b);
        check_order(what, i, order_of(LEVELS, e), ORDER[i].weak_low,
                    ORDER[i].weak_high);
    }
    rig_close(r);
}

static void scheme__has_its_weak_order(void **state)
{
    (void)state;
    check_weak("state x\ndx = -1.5*x*dt + dW", "weak", 1.5, 0.0);
    check_weak("state x\ndx = -1.5*x*dt + exp(0.8*t)*dW", "weak, t", 1.5, 0.8);
}

/* E phi(X_h) - (phi + h L phi + h^2/2 L^2 phi) at x for phi = x and x^2, with
 * f = sin and constant noise s; L phi = f phi' + s^2/2 phi''. Three points of
 * Gauss and Hermite have the moments up to the fifth: what they miss is
 * O(h^3). */
static void local_error(struct rig *r, size_t scheme, double h, double s,
                        double e[2])
{
    const double at[3] = {-sqrt(3.0), 0.0, sqrt(3.0)};
    const double weight[3] = {1.0 / 6.0, 2.0 / 3.0, 1.0 / 6.0};
    const double x = 0.7, f = sin(x), f1 = cos(x), f2 = -sin(x), v = 0.5 * s * s;
    double dW[9], zeta[9];
    for (size_t i = 0; i < 9; i++) {
        dW[i] = sqrt(h) * at[i / 3];
        zeta[i] = at[i % 3];
        r->stepper.x[i] = x;
    }
    struct step step = {.h = h, .end = h, .dW = dW, .zeta = zeta};
    SCHEME_TABLE[scheme].step(&r->stepper, &step);
    double L1 = f, L2 = f * f1 + v * f2;
    double M1 = 2.0 * x * f + 2.0 * v;
    double M2 = f * (2.0 * f + 2.0 * x * f1) + v * (4.0 * f1 + 2.0 * x * f2);
    e[0] = -(x + h * L1 + 0.5 * h * h * L2);
    e[1] = -(x * x + h * M1 + 0.5 * h * h * M2);
    for (size_t i = 0; i < 9; i++) {
        double w = weight[i / 3] * weight[i % 3], to = r->stepper.x[i];
        e[0] += w * to;
        e[1] += w * to * to;
    }
}

/* One order more than over a whole path. */
static void scheme__has_its_weak_order_for_a_nonlinear_drift(void **state)
{
    (void)state;
    struct rig *r = rig_open("state x\ndx = sin(x)*dt + 0.9*dW", 9);
    for (size_t i = 0; i < SCHEMES; i++) {
        double e[2][LEVELS], both[2];
        for (size_t level = 0; level < LEVELS; level++) {
            local_error(r, i, ldexp(0.1, -(int)level), 0.9, both);
            e[0][level] = fabs(both[0]);
            e[1][level] = fabs(both[1]);
        }
        for (size_t k = 0; k < 2; k++)
            check_order(k ? "local x^2" : "local x", i,
                        order_of(LEVELS, e[k]), ORDER[i].weak_low + 1.0, 3.3);
    }
    rig_close(r);
}

static void scheme__milstein_is_euler_for_additive_noise(void **state)
{
    (void)state;
    gsv_model *m = model_of("state x\ndx = -x^3*dt + (1 + t)*dW");
    gsv_simulate_options o = OPTIONS(0, 0.5, 2);
    o.tracks = 9;
    o.scheme = GSV_EULER;
    gsv_series *a = simulate(m, &o);
    o.scheme = GSV_MILSTEIN;
    gsv_series *b = simulate(m, &o);
    assert_memory_equal(a->value, b->value, a->rows * sizeof *a->value);
    gsv_series_free(a);
    gsv_series_free(b);
    gsv_model_free(m);
}

/* --- Exact facts ------------------------------------------------------------ */

/* Without drift X is a sum of g dW, whatever the scheme, and its random
 * numbers stand at (step * 2 noises + j, track). Gaps of 1 and 0.5 with steps
 * of at most 0.3 are 4 and 2 steps of 0.25. */
static void simulate__adds_up_the_noise_of_each_address(void **state)
{
    (void)state;
    enum { TRACKS = 70, STEPS = 6 };
    gsv_model *m = model_of("state x, y\ndx = 0.7*dW\ndy = 2*dW");
    const struct random_key key = {.seed = 5, .purpose = RANDOM_SIMULATE};
    double z[STEPS * 4 * TRACKS];
    random_normals(&key, 0, STEPS * 4, 0, TRACKS, z);
    gsv_simulate_options o = OPTIONS(-1, 0, 0.5);
    o.tracks = TRACKS;
    o.step = 0.3;
    o.seed = 5;
    for (size_t i = 0; i < SCHEMES; i++) {
        o.scheme = (enum gsv_scheme)i;
        gsv_series *s = simulate(m, &o);
        for (size_t r = 0; r < TRACKS; r++) {
            double x = 0.0, y = 0.0;
            for (size_t n = 0; n < STEPS; n++) {
                x += 0.7 * 0.5 * z[(4 * n) * TRACKS + r];
                y += 2.0 * 0.5 * z[(4 * n + 1) * TRACKS + r];
                if (n == 3) assert_near(value(s, 0, r, 1), x, 1e-14);
            }
            assert_near(value(s, 0, r, 2), x, 1e-14);
            assert_near(value(s, 1, r, 2), y, 1e-14);
        }
        gsv_series_free(s);
    }
    gsv_model_free(m);
}

/* Mean of column i, or of the product of i and j, at time k. */
static double mean_of(const gsv_series *s, size_t i, size_t k)
{
    double sum = 0.0;
    for (size_t r = 0; r < s->tracks; r++)
        sum += value(s, i, r, k);
    return sum / (double)s->tracks;
}

static double covariance_of(const gsv_series *s, size_t i, size_t j, size_t k)
{
    double sum = 0.0, a = mean_of(s, i, k), b = mean_of(s, j, k);
    for (size_t r = 0; r < s->tracks; r++)
        sum += (value(s, i, r, k) - a) * (value(s, j, r, k) - b);
    return sum / (double)(s->tracks - 1);
}

/* Mean and covariance at time k within standard errors of a Gaussian law. */
static void check_law(const gsv_series *s, size_t i, size_t k, double mean,
                      double variance)
{
    double n = (double)s->tracks;
    assert_near(mean_of(s, i, k), mean, TOLERANCE * sqrt(variance / n));
    assert_near(covariance_of(s, i, i, k), variance,
                TOLERANCE * variance * sqrt(2.0 / n));
}

static void simulate__spreads_brownian_motion_as_its_variance(void **state)
{
    (void)state;
    gsv_model *m = model_of("state x\ndx = 0.7*dW");
    gsv_simulate_options o = OPTIONS(0, 0.5, 3);
    o.tracks = 20000;
    gsv_series *s = simulate(m, &o);
    check_law(s, 0, 1, 0.0, 0.49 * 0.5);
    check_law(s, 0, 2, 0.0, 0.49 * 3.0);
    gsv_series_free(s);
    gsv_model_free(m);
}

static void simulate__has_the_law_of_ornstein_and_uhlenbeck(void **state)
{
    (void)state;
    gsv_model *m = model_of("state x\ndx = -2*x*dt + 0.5*dW");
    gsv_simulate_options o = OPTIONS(1, 1.25, 2);
    o.tracks = 20000 / SLOWER;
    o.start_mean = 1.5;
    for (size_t i = 0; i < SCHEMES; i++) {
        o.scheme = (enum gsv_scheme)i;
        o.step = i < GSV_HEUN ? 0.25 / 512 : 0.0;
        gsv_series *s = simulate(m, &o);
        for (size_t k = 1; k < 3; k++) {
            double t = o.time[k] - 1.0, rho = exp(-2.0 * t);
            check_law(s, 0, k, 1.5 * rho, 0.25 / 4.0 * (1.0 - rho * rho));
        }
        gsv_series_free(s);
    }
    gsv_model_free(m);
}

/* cov = L L' t; three noises for two states. */
static void simulate__has_the_covariance_of_its_noise_matrix(void **state)
{
    (void)state;
    gsv_model *m = model_of("state x, y\n"
                            "dx = 0.6*dW1 + 0.3*dW2\n"
                            "dy = 0.5*dW2 - 0.2*dW1 + 0.4*dW3");
    gsv_simulate_options o = OPTIONS(0, 2);
    o.tracks = 20000;
    gsv_series *s = simulate(m, &o);
    double a = 2.0 * (0.36 + 0.09), b = 2.0 * (0.25 + 0.04 + 0.16);
    double c = 2.0 * (0.15 - 0.12);
    check_law(s, 0, 1, 0.0, a);
    check_law(s, 1, 1, 0.0, b);
    assert_near(covariance_of(s, 0, 1, 1), c,
                TOLERANCE * sqrt((a * b + c * c) / 20000.0));
    gsv_series_free(s);
    gsv_model_free(m);
}
