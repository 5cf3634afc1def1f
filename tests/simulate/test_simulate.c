/* SPDX-License-Identifier: MIT */
/* Schemes and simulation. Orders are measured on one Brownian path that is cut
 * ever more coarsely, or from the exact moments of a scheme's own step; random
 * numbers are rebuilt from their address. */
#include "schemes.h"

/* --- Orders --------------------------------------------------------------- */

/* What the orders must be: the strong one with a nonlinear drift, the weak
 * one. Heun's strong order is 1, for it knows no I10. That of srk is 1.5 only
 * for small steps: between 2^-3 and 2^-7 its part in h^2 is still seen, and
 * slopes are up to 2 at first, 1.5 from about 2^-7 on. */
static const struct {
    double strong_low, strong_high, weak_low, weak_high;
} ORDER[SCHEMES] = {
    [GSV_EULER] = {0.9, 1.15, 0.9, 1.15},
    [GSV_MILSTEIN] = {0.9, 1.15, 0.9, 1.15},
    [GSV_HEUN] = {0.9, 1.15, 1.85, 2.2},
    [GSV_SRK] = {1.4, 1.9, 1.85, 2.2},
};

/* --- Strong order -------------------------------------------------------- */

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

/* --- Weak order ---------------------------------------------------------- */

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
            e[level] = moment_error(r, i, (size_t)COARSEST << level, a, b);
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
    const double x = 0.7, f = sin(x), f1 = cos(x), f2 = -sin(x),
                 v = 0.5 * s * s;
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
            check_order(k ? "local x^2" : "local x", i, order_of(LEVELS, e[k]),
                        ORDER[i].weak_low + 1.0, 3.3);
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

/* --- Exact facts --------------------------------------------------------- */

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

/* --- Starts -------------------------------------------------------------- */

static void simulate__starts_where_it_is_told(void **state)
{
    (void)state;
    enum { TRACKS = 67 };
    gsv_model *m = model_of("state x, y\ndx = -x*dt + dW\ndy = x*dt + dW");
    double start[2 * TRACKS];
    for (size_t i = 0; i < 2 * TRACKS; i++)
        start[i] = sin((double)i);
    gsv_simulate_options o = OPTIONS(3, 4);
    o.tracks = TRACKS;
    o.start = start;
    o.start_mean = 9.0;
    o.start_sd = 1.0;
    gsv_series *s = simulate(m, &o);
    assert_int_equal(s->tracks, TRACKS);
    assert_int_equal(s->rows, 2 * TRACKS);
    assert_string_equal(s->name[0], "x");
    assert_string_equal(s->name[1], "y");
    for (size_t r = 0; r < TRACKS; r++) {
        assert_true(s->time[s->start[r]] == 3.0);
        assert_true(s->time[s->start[r] + 1] == 4.0);
        assert_true(value(s, 0, r, 0) == start[r]);
        assert_true(value(s, 1, r, 0) == start[TRACKS + r]);
    }
    gsv_series_free(s);
    gsv_model_free(m);
}

static void simulate__starts_at_a_mean_or_a_normal_law(void **state)
{
    (void)state;
    gsv_model *m = model_of("state x, y\ndx = -x*dt + dW\ndy = x*dt + dW");
    gsv_simulate_options o = OPTIONS(3);
    gsv_series *s = simulate(m, &o);
    assert_true(value(s, 0, 0, 0) == 0.0 && value(s, 1, 0, 0) == 0.0);
    gsv_series_free(s);
    o.start_mean = -2.0;
    s = simulate(m, &o);
    assert_true(value(s, 0, 0, 0) == -2.0 && value(s, 1, 0, 0) == -2.0);
    gsv_series_free(s);
    o.tracks = 10000;
    o.start_sd = 0.5;
    s = simulate(m, &o);
    check_law(s, 0, 0, -2.0, 0.25);
    check_law(s, 1, 0, -2.0, 0.25);
    assert_near(covariance_of(s, 0, 1, 0), 0.0, TOLERANCE * 0.25 / 100.0);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* --- The same bits ------------------------------------------------------- */

/* A network, functions that the compiler may vectorise, full noise. */
static const char WIDE[] = "state x, y\n"
                           "net f(x, y, t) -> 2 : 19 7 tanh\n"
                           "dx = (f[1] - x^3)*dt + 0.6*dW1 + 0.3*exp(-t)*dW2\n"
                           "dy = (f[2] - sin(y)*sqrt(1 + x^2))*dt + 0.5*dW2";

static void simulate__has_the_same_bits_on_any_number_of_threads(void **state)
{
    (void)state;
    gsv_model *m = model_of(WIDE);
    gsv_simulate_options o = OPTIONS(0, 0.25, 1);
    o.tracks = 333;
    o.threads = 1;
    o.start_sd = 1.0;
    gsv_series *one = simulate(m, &o);
    for (size_t threads = 2; threads <= 5; threads += 3) {
        o.threads = threads;
        gsv_series *s = simulate(m, &o);
        assert_memory_equal(s->value, one->value,
                            2 * s->rows * sizeof *s->value);
        gsv_series_free(s);
    }
    gsv_series_free(one);
    gsv_model_free(m);
}

static void simulate__gives_a_track_whatever_the_others_are(void **state)
{
    (void)state;
    gsv_model *m = model_of(WIDE);
    gsv_simulate_options o = OPTIONS(0, 0.25, 1);
    o.tracks = 150;
    o.start_sd = 1.0;
    gsv_series *all = simulate(m, &o);
    const size_t fewer[] = {1, 2, 7, 8, 9, 63, 64, 65, 129};
    for (size_t i = 0; i < COUNT(fewer); i++) {
        o.tracks = fewer[i];
        gsv_series *s = simulate(m, &o);
        for (size_t c = 0; c < 2; c++)
            assert_memory_equal(s->value + c * s->rows,
                                all->value + c * all->rows,
                                s->rows * sizeof *s->value);
        gsv_series_free(s);
    }
    gsv_series_free(all);
    gsv_model_free(m);
}

/* On the same grid the same path, however many of its points are kept. */
static void simulate__keeps_the_path_when_more_of_it_is_kept(void **state)
{
    (void)state;
    gsv_model *m = model_of(WIDE);
    gsv_simulate_options few = OPTIONS(0, 2), many = OPTIONS(0, 0.25, 1, 2);
    few.step = many.step = 0.125;
    gsv_series *a = simulate(m, &few), *b = simulate(m, &many);
    assert_true(value(a, 0, 0, 1) == value(b, 0, 0, 3));
    assert_true(value(a, 1, 0, 1) == value(b, 1, 0, 3));
    gsv_series_free(a);
    gsv_series_free(b);
    gsv_model_free(m);
}

static void simulate__cuts_the_shortest_gap_into_32_steps(void **state)
{
    (void)state;
    gsv_model *m = model_of(WIDE);
    gsv_simulate_options o = OPTIONS(0, 1, 1.5, 9);
    gsv_series *a = simulate(m, &o);
    o.step = 0.5 / 32.0;
    gsv_series *b = simulate(m, &o);
    assert_memory_equal(a->value, b->value, 8 * sizeof *a->value);
    gsv_series_free(a);
    gsv_series_free(b);
    gsv_model_free(m);
}

/* --- Callbacks ----------------------------------------------------------- */

static void pull(void *user, size_t n, const double *x, const double *p,
                 double *f)
{
    (void)user;
    for (size_t i = 0; i < n; i++)
        f[i] = -p[0] * x[i] + x[n + i];
}

static void simulate__takes_a_callback_as_a_text(void **state)
{
    (void)state;
    const double p = 2.0;
    gsv_model *a = model_of("state x\ndx = (-2*x + t)*dt + 0.5*dW");
    gsv_model *b =
        model_of("state x\nexternal f(x, t) -> 1\ndx = f*dt + 0.5*dW");
    assert_int_equal(gsv_model_external(b, "f",
                                        &(gsv_callback){.inputs = 2,
                                                        .outputs = 1,
                                                        .parameters = 1,
                                                        .parameter = &p,
                                                        .value = pull}),
                     0);
    gsv_simulate_options o = OPTIONS(0, 1, 2);
    o.tracks = 11;
    gsv_series *x = simulate(a, &o), *y = simulate(b, &o);
    for (size_t i = 0; i < x->rows; i++)
        assert_near(x->value[i], y->value[i], 1e-13);
    gsv_series_free(x);
    gsv_series_free(y);
    gsv_model_free(a);
    gsv_model_free(b);
}

/* --- Inputs -------------------------------------------------------------- */

static const double KNOT[4] = {0.0, 1.0, 1.5, 3.0};
static const double LEVEL[4] = {2.0, -1.0, 4.0, 1.0};

static gsv_series *covariate(void)
{
    const size_t start[2] = {0, 4};
    const char *name = "u";
    gsv_series *s = gsv_series_new(1, start, 1, &name, KNOT, LEVEL);
    assert_non_null(s);
    return s;
}

/* The integral of u up to knot k: linear between knots, or held. */
static double integral(size_t k, bool hold)
{
    double sum = 0.0;
    for (size_t i = 0; i < k; i++)
        sum += (KNOT[i + 1] - KNOT[i]) *
               (hold ? LEVEL[i] : 0.5 * (LEVEL[i] + LEVEL[i + 1]));
    return sum;
}

/* heun and srk are exact for a drift that is linear in time; a held input has
 * its old value at the right end of a step. */
static void simulate__integrates_an_input(void **state)
{
    (void)state;
    static const char *const TEXT[] = {
        "state x\ninput u\ndx = u*dt + 0.001*dW",
        "state x\ninput u hold\ndx = u*dt + 0.001*dW"};
    gsv_series *u = covariate();
    gsv_simulate_options o = OPTIONS(0, 1, 1.5, 3);
    o.input = u;
    o.tracks = 3;
    for (size_t hold = 0; hold < 2; hold++)
        for (size_t i = hold ? GSV_EULER : GSV_HEUN; i < SCHEMES; i++) {
            gsv_model *m = model_of(TEXT[hold]);
            o.scheme = (enum gsv_scheme)i;
            gsv_series *s = simulate(m, &o);
            for (size_t row = 0; row < s->rows; row++) {
                size_t r = row / 4, k = row % 4;
                assert_near(value(s, 0, r, k), integral(k, hold),
                            TOLERANCE * 0.001 * sqrt(KNOT[k]));
                assert_true(value(s, 1, r, k) == LEVEL[k]);
            }
            assert_string_equal(s->name[1], "u");
            gsv_series_free(s);
            gsv_model_free(m);
        }
    gsv_series_free(u);
}

/* Without drift every scheme adds up u dW, where u is that of the gap: 4, 2
 * and 6 steps of 0.25. */
static void simulate__takes_noise_from_a_held_input(void **state)
{
    (void)state;
    enum { STEPS = 12 };
    const size_t last[4] = {0, 4, 6, 12};
    const struct random_key key = {.seed = 1, .purpose = RANDOM_SIMULATE};
    double z[2 * STEPS];
    random_normals(&key, 0, 2 * STEPS, 0, 1, z);
    gsv_series *u = covariate();
    gsv_model *m = model_of("state x\ninput u hold\ndx = u*dW");
    gsv_simulate_options o = OPTIONS(0, 1, 1.5, 3);
    o.input = u;
    o.step = 0.25;
    for (size_t i = 0; i < SCHEMES; i++) {
        o.scheme = (enum gsv_scheme)i;
        gsv_series *s = simulate(m, &o);
        double x = 0.0;
        for (size_t k = 1; k < 4; k++) {
            for (size_t n = last[k - 1]; n < last[k]; n++)
                x += LEVEL[k - 1] * 0.5 * z[2 * n];
            assert_near(value(s, 0, 0, k), x, 1e-13);
        }
        gsv_series_free(s);
    }
    gsv_series_free(u);
    gsv_model_free(m);
}

static void simulate__makes_data_for_the_likelihood(void **state)
{
    (void)state;
    gsv_series *u = covariate();
    gsv_model *m = model_of("state x\ninput u\ndx = (u - x)*dt + 0.5*dW");
    gsv_simulate_options o = OPTIONS(0, 1, 1.5, 3);
    o.input = u;
    o.tracks = 5;
    gsv_series *s = simulate(m, &o);
    gsv_options likelihood = gsv_options_default();
    gsv_result r = loglik_of(m, s, &likelihood);
    assert_int_equal(r.gaps, 15);
    gsv_result_free(&r);
    gsv_series_free(s);
    gsv_series_free(u);
    gsv_model_free(m);
}

/* --- Failure ------------------------------------------------------------- */

static void refuse(const gsv_model *m, const gsv_simulate_options *o,
                   enum gsv_status status, const char *says)
{
    gsv_series *s = gsv_simulate(m, o);
    assert_null(s);
    if (!strstr(gsv_last_error(), says))
        fail_msg("'%s' does not say '%s'", gsv_last_error(), says);
    assert_int_equal(gsv_last_status(), status);
}

static const double RISE[] = {0, 1, 2}, FALL[] = {0, 1, 1},
                    LOST[] = {0, NAN, 2}, FAR[] = {0, INFINITY},
                    UNEQUAL[] = {0, 1e-9, 1}, START[] = {0, 1, NAN};
#define BASE .tracks = 3, .times = 3, .time = RISE
static const struct {
    const char *says;
    gsv_simulate_options o;
} BAD[] = {
    {"no times", {.tracks = 1, .time = RISE}},
    {"time is NULL, but must have 2", {.tracks = 1, .times = 2}},
    {"not after time 2", {.tracks = 1, .times = 3, .time = FALL}},
    {"time 2 is nan", {.tracks = 1, .times = 3, .time = LOST}},
    {"time 2 is inf", {.tracks = 1, .times = 2, .time = FAR}},
    {"the option tracks is 0", {.times = 3, .time = RISE}},
    {"the option tracks is -1", {.tracks = SIZE_MAX, .times = 3, .time = RISE}},
    {"the option step is -1", {BASE, .step = -1.0}},
    {"the option step is nan", {BASE, .step = NAN}},
    {"the option step is inf", {BASE, .step = INFINITY}},
    {"longer --step", {BASE, .step = 1e-12}},
    {"1/32 of the shortest", {.tracks = 1, .times = 3, .time = UNEQUAL}},
    {"'x' starts at nan in track 3", {BASE, .start = START}},
    {"start_mean is inf", {BASE, .start_mean = INFINITY}},
    {"start_sd is -1", {BASE, .start_sd = -1.0}},
    {"scheme is 6, but must be from 0 to 5: euler",
     {BASE, .scheme = (enum gsv_scheme)ALL_SCHEMES}},
};
#undef BASE

static void simulate__refuses_what_cannot_be(void **state)
{
    (void)state;
    gsv_model *m = model_of("state x\ndx = -x*dt + dW");
    for (size_t i = 0; i < COUNT(BAD); i++)
        refuse(m, &BAD[i].o, GSV_BAD_INPUT, BAD[i].says);
    gsv_model_free(m);
}

static void simulate__asks_for_inputs_that_are_missing(void **state)
{
    (void)state;
    gsv_series *u = covariate();
    gsv_simulate_options o = OPTIONS(0, 1);
    gsv_model *m = model_of("state x\ninput u\ndx = u*dt + dW");
    refuse(m, &o, GSV_BAD_INPUT, "the model has the input 'u'");
    gsv_model_free(m);
    m = model_of("state x\ninput w\ndx = w*dt + dW");
    o.input = u;
    refuse(m, &o, GSV_BAD_INPUT, "no column 'w'");
    gsv_model_free(m);
    gsv_series_free(u);
}

/* Track 71 alone starts where x' = x^3 runs away within a step. */
static void simulate__names_the_track_that_leaves_the_finite(void **state)
{
    (void)state;
    double start[100] = {[70] = 50.0};
    gsv_model *m = model_of("state x\ndx = x^3*dt + 0.01*dW");
    gsv_simulate_options o = OPTIONS(0, 1, 2);
    o.tracks = COUNT(start);
    o.start = start;
    o.step = 0.125;
    o.scheme = GSV_EULER;
    for (o.threads = 1; o.threads < 4; o.threads++)
        refuse(m, &o, GSV_NUMERICAL,
               "track 71 is not finite at time 0.75 with steps of "
               "0.125: give a smaller --step");
    gsv_model_free(m);
}

/* Nor does a failure leave anything behind in the model: afterwards it gives
 * the very series that it gave before. */
static void simulate__survives_every_failed_allocation(void **state)
{
    (void)state;
    gsv_series *u = covariate(), *s = NULL;
    gsv_model *m = model_of("state x\ninput u\nnet f(x, u) -> 1 : 4 tanh\n"
                            "dx = f*dt + exp(-t)*dW");
    gsv_simulate_options o = OPTIONS(0, 1, 2);
    o.input = u;
    o.threads = 1;
    gsv_series *before = simulate(m, &o);
    size_t n = 0;
    while (!s) {
        mem_fail_at(++n);
        s = gsv_simulate(m, &o);
        mem_fail_at(0);
        if (!s) assert_int_equal(gsv_last_status(), GSV_NO_MEMORY);
        assert_true(n < 1000);
    }
    assert_true(n > 40);
    assert_memory_equal(s->value, before->value,
                        2 * s->rows * sizeof *s->value);
    gsv_series_free(s);
    gsv_series_free(before);
    gsv_series_free(u);
    gsv_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scheme__has_its_strong_order_in_one_dimension),
        cmocka_unit_test(scheme__has_its_strong_order_with_a_noise_matrix),
        cmocka_unit_test(scheme__has_its_strong_order_with_noise_that_moves),
        cmocka_unit_test(scheme__has_its_weak_order),
        cmocka_unit_test(scheme__has_its_weak_order_for_a_nonlinear_drift),
        cmocka_unit_test(scheme__milstein_is_euler_for_additive_noise),
        cmocka_unit_test(simulate__adds_up_the_noise_of_each_address),
        cmocka_unit_test(simulate__spreads_brownian_motion_as_its_variance),
        cmocka_unit_test(simulate__has_the_law_of_ornstein_and_uhlenbeck),
        cmocka_unit_test(simulate__has_the_covariance_of_its_noise_matrix),
        cmocka_unit_test(simulate__starts_where_it_is_told),
        cmocka_unit_test(simulate__starts_at_a_mean_or_a_normal_law),
        cmocka_unit_test(simulate__has_the_same_bits_on_any_number_of_threads),
        cmocka_unit_test(simulate__gives_a_track_whatever_the_others_are),
        cmocka_unit_test(simulate__keeps_the_path_when_more_of_it_is_kept),
        cmocka_unit_test(simulate__cuts_the_shortest_gap_into_32_steps),
        cmocka_unit_test(simulate__takes_a_callback_as_a_text),
        cmocka_unit_test(simulate__integrates_an_input),
        cmocka_unit_test(simulate__takes_noise_from_a_held_input),
        cmocka_unit_test(simulate__makes_data_for_the_likelihood),
        cmocka_unit_test(simulate__refuses_what_cannot_be),
        cmocka_unit_test(simulate__asks_for_inputs_that_are_missing),
        cmocka_unit_test(simulate__names_the_track_that_leaves_the_finite),
        cmocka_unit_test(simulate__survives_every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
