/* SPDX-License-Identifier: MIT */
/* Paths and bands given the data, against closed forms, the smoother of Rauch,
 * Tung and Striebel, a grid, and simulated truths. */
#include <stdio.h>

#include "observe_exact.h"

static gsv_paths_options options(void)
{
    gsv_paths_options o = gsv_paths_options_default();
    o.estimator.threads = 1;
    return o;
}

static gsv_smoothed paths_of(const gsv_model *m, const gsv_series *s,
                             const gsv_paths_options *o)
{
    gsv_smoothed r;
    if (gsv_paths(m, s, o, &r)) fail_msg("%s", gsv_last_error());
    return r;
}

static gsv_series *series_of(size_t tracks, size_t rows, const char *name,
                             const double *t, const double *y)
{
    size_t start[512];
    assert_true(tracks < COUNT(start));
    for (size_t r = 0; r <= tracks; r++)
        start[r] = r * rows;
    gsv_series *s = gsv_series_new(tracks, start, 1, &name, t, y);
    if (!s) fail_msg("%s", gsv_last_error());
    return s;
}

/* Mean, deviation and the three quantiles of a normal law, as if they came from
 * n independent numbers. */
static void assert_normal(const gsv_smoothed *r, size_t row, double mean,
                          double sd, double n)
{
    static const double PLACE[] = {-1.6448536269514722, 0.0,
                                   1.6448536269514722};
    static const double ERROR[] = {2.114, 1.2533, 2.114};
    double unit = TOLERANCE * sd / sqrt(n);
    assert_near(r->mean[row], mean, unit);
    assert_near(r->sd[row], sd, unit / sqrt(2.0));
    for (size_t q = 0; q < 3; q++)
        assert_near(r->quantile[q * r->rows + row], mean + PLACE[q] * sd,
                    ERROR[q] * unit);
}

/* --- States that are observed exactly --------------------------------------
 */

struct moments {
    double mean, sd;
};

/* The bridge of dX = -th X dt + s dW. */
static struct moments ou_bridge(double th, double s, double x0, double x1,
                                double T, double t)
{
    double whole = sinh(th * T), a = sinh(th * (T - t)), b = sinh(th * t);
    return (struct moments){(x0 * a + x1 * b) / whole,
                            s * sqrt(a * b / whole / th)};
}

static const char OU_EXACT[] = "state x\n dx = -1.5*x*dt + 0.8*dW";
static const double OU_T[] = {0.0, 1.0, 2.5}, OU_X[] = {1.0, -0.5, 2.0};

static void check_ou(const gsv_smoothed *r, double n)
{
    for (size_t i = 0; i < r->rows; i++) {
        size_t g = r->time[i] > 1.0;
        double from = OU_T[g], T = OU_T[g + 1] - from;
        struct moments m =
            ou_bridge(1.5, 0.8, OU_X[g], OU_X[g + 1], T, r->time[i] - from);
        if (m.sd > 0.0) assert_normal(r, i, m.mean, m.sd, n);
        else assert_true(r->mean[i] == OU_X[i ? g + 1 : 0] && r->sd[i] == 0.0);
    }
}

static void exact__is_the_bridge_of_ou(void **state)
{
    (void)state;
    gsv_model *m = model_of(OU_EXACT);
    gsv_series *s = series_of(1, 3, "x", OU_T, OU_X);
    gsv_paths_options o = options();
    gsv_smoothed r = paths_of(m, s, &o);
    assert_int_equal(r.rows, 17);
    assert_true(r.ess_min > 250.0); /* a linear drift is its own reference */
    check_ou(&r, 256.0);
    gsv_smoothed_free(&r);
    /* Against Brownian bridges the weights do all of it. */
    o.estimator.reference = GSV_REFERENCE_BROWNIAN;
    o.estimator.paths = 4096;
    o.estimator.steps = 32;
    r = paths_of(m, s, &o);
    check_ou(&r, r.ess_min);
    gsv_smoothed_free(&r);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* Several times inside of one step, and some at rows. */
static void exact__is_the_bridge_at_any_time(void **state)
{
    (void)state;
    static const double TIME[] = {0.0,  0.02, 0.05, 0.051, 0.125,
                                  0.13, 0.7,  1.0,  1.3,   2.49};
    gsv_model *m = model_of(OU_EXACT);
    gsv_series *s = series_of(1, 3, "x", OU_T, OU_X);
    gsv_paths_options o = options();
    o.times = COUNT(TIME);
    o.time = TIME;
    o.estimator.paths = 4096;
    o.estimator.steps = 16;
    gsv_smoothed r = paths_of(m, s, &o);
    assert_int_equal(r.rows, COUNT(TIME));
    check_ou(&r, 4096.0);
    gsv_smoothed_free(&r);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* Draws: both ends are hit, and neighbours move together as they must. */
static void exact__draws_are_paths(void **state)
{
    (void)state;
    enum { N = 4096 };
    gsv_model *m = model_of("state x\n dx = dW");
    gsv_series *s = series_of(1, 3, "x", OU_T, OU_X);
    gsv_paths_options o = options();
    o.between = 3;
    o.draws = N;
    o.estimator.paths = N;
    gsv_smoothed r = paths_of(m, s, &o);
    assert_int_equal(r.rows, 9);
    double cov[3] = {0.0, 0.0, 0.0};
    for (size_t n = 0; n < N; n++) {
        const double *x = r.draw + n * r.rows;
        assert_true(x[0] == 1.0 && x[4] == -0.5 && x[8] == 2.0);
        double a = x[1] - r.mean[1], b = x[2] - r.mean[2], c = x[6] - r.mean[6];
        cov[0] += a * b / N;
        cov[1] += b * c / N;
        cov[2] += b * b / N;
    }
    /* s (T - t) / T within a gap of length 1, nothing across gaps. */
    double error = TOLERANCE / sqrt(N);
    assert_near(cov[0], 0.25 * 0.5, error * sqrt(0.1875 * 0.25 + 0.0157));
    assert_near(cov[1], 0.0, error * sqrt(0.25 * 0.375));
    assert_near(cov[2], 0.25, error * sqrt(2.0) * 0.25);
    gsv_smoothed_free(&r);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* x = exp of a Brownian bridge: medians and other quantiles go through. */
static void exact__is_in_the_datas_coordinates(void **state)
{
    (void)state;
    enum { K = 4096 };
    gsv_model *m = model_of("state x\n dx = 0.08*x*dt + 0.4*x*dW");
    const double t[] = {0.0, 2.0}, x[] = {1.0, 3.0};
    gsv_series *s = series_of(1, 2, "x", t, x);
    gsv_paths_options o = options();
    o.between = 1;
    o.estimator.paths = K;
    gsv_smoothed r = paths_of(m, s, &o);
    double mean = 0.5 * log(3.0), sd = 0.4 * sqrt(0.5);
    double unit = TOLERANCE * sd / sqrt(K);
    assert_int_equal(r.rows, 3);
    assert_near(log(r.quantile[1]), mean - 1.6448536 * sd, 2.114 * unit);
    assert_near(log(r.quantile[4]), mean, 1.2533 * unit);
    assert_near(r.mean[1] / exp(mean + 0.5 * sd * sd), 1.0, 1.2 * unit);
    gsv_smoothed_free(&r);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* No map takes this noise out; it is all but that of Brownian motion. */
static void exact__is_the_bridge_of_bridged_models(void **state)
{
    (void)state;
    enum { K = 4096 };
    static const double TIME[] = {0.25, 0.3, 0.31};
    static const char *const NAME[] = {"x", "y"};
    gsv_model *m = model_of("state x, y\n dx = sqrt(1 + 1e-6*y^2)*dW1\n"
                            "dy = 0.5*sqrt(1 + 1e-6*x^2)*dW2");
    const double t[] = {0.0, 1.0}, x[] = {0.0, 1.0, 2.0, 2.0};
    const size_t start[] = {0, 2};
    gsv_series *s = gsv_series_new(1, start, 2, NAME, t, x);
    gsv_paths_options o = options();
    o.times = 3;
    o.time = TIME;
    o.estimator.paths = K;
    gsv_smoothed r = paths_of(m, s, &o);
    for (size_t i = 0; i < 3; i++) {
        double sd = sqrt(TIME[i] * (1.0 - TIME[i])), unit = TOLERANCE / 64.0;
        assert_near(r.mean[i], TIME[i], unit * sd);
        assert_near(r.sd[i], sd, unit * sd / sqrt(2.0));
        assert_near(r.mean[3 + i], 2.0, unit * 0.5 * sd);
        assert_near(r.sd[3 + i], 0.5 * sd, 0.5 * unit * sd / sqrt(2.0));
    }
    gsv_smoothed_free(&r);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* --- Latent states ---------------------------------------------------------
 */

#define OU                                                                     \
    "state x\n dx = -x*dt + dW\n obs y ~ normal(x, 0.3)\n"                     \
    "init x ~ normal(0, 0.7)"

static struct exact_linear ou(void)
{
    return (struct exact_linear){.d = 1,
                                 .noises = 1,
                                 .outputs = 1,
                                 .A = {-1.0},
                                 .G = {1.0},
                                 .H = {1.0},
                                 .r = {0.3},
                                 .P0 = {0.49}};
}

/* Every third row alone was observed. */
static void latent__is_kalmans_smoother(void **state)
{
    (void)state;
    enum { N = 31, D = 1024 / SLOWER };
    double t[N], x[N], y[N];
    struct exact_linear m = ou();
    struct exact_law law[N];
    exact_times(N, 0.15, 0.5, t);
    exact_linear_data(&m, N, t, 5, x, y);
    for (size_t i = 0; i < N; i++)
        if (i % 3) y[i] = NAN;
    exact_kalman(&m, N, t, y, law);
    gsv_model *model = model_of(OU);
    gsv_series *s = series_of(1, N, "y", t, y);
    gsv_paths_options o = options();
    o.estimator.paths = D;
    o.estimator.points = 128;
    gsv_smoothed r = paths_of(model, s, &o);
    assert_int_equal(r.rows, N);
    for (size_t i = 0; i < N; i++)
        assert_normal(&r, i, law[i].mean[0], sqrt(law[i].cov[0]),
                      fmin(D, r.ess_min));
    gsv_smoothed_free(&r);
    gsv_series_free(s);
    gsv_model_free(model);
}

/* The covariance of neighbours given all data is J P' with the smoother's gain
 * J = P F / (F P F + Q), P of the filter. */
static void latent__draws_have_the_covariance_of_neighbours(void **state)
{
    (void)state;
    enum { N = 10, D = 4096 };
    double t[N], x[N], y[N];
    struct exact_linear m = ou();
    struct exact_law law[N], part[N];
    exact_times(N, 0.2, 0.0, t);
    exact_linear_data(&m, N, t, 8, x, y);
    exact_kalman(&m, N, t, y, law);
    gsv_model *model = model_of(OU);
    gsv_series *s = series_of(1, N, "y", t, y);
    gsv_paths_options o = options();
    o.draws = D;
    o.estimator.points = 256;
    gsv_smoothed r = paths_of(model, s, &o);
    for (size_t i = 0; i + 1 < N; i++) {
        double cov = 0.0, a = law[i].cov[0], b = law[i + 1].cov[0];
        exact_kalman(&m, i + 1, t, y, part);
        struct exact_gap g = exact_transition(&m, t[i + 1] - t[i]);
        double P = part[i].cov[0];
        double exact = P * g.F[0] / (g.F[0] * P * g.F[0] + g.Q[0]) * b;
        for (size_t n = 0; n < D; n++) {
            const double *path = r.draw + n * N;
            cov += (path[i] - law[i].mean[0]) *
                   (path[i + 1] - law[i + 1].mean[0]) / D;
        }
        double error = sqrt(a * b + exact * exact);
        assert_near(cov, exact,
                    TOLERANCE * error * sqrt(1.0 / D + 1.0 / r.ess_min));
    }
    gsv_smoothed_free(&r);
    gsv_series_free(s);
    gsv_model_free(model);
}

/* A drift that is not linear: bridges have weights. Rows without an observation
 * are between the stops. */
static void latent__is_the_grids_smoother(void **state)
{
    (void)state;
    enum { N = 16, D = 512 / SLOWER };
    double t[N], x[N], y[N], mean[N], sd[N];
    struct exact_noise seen = {y, 0.3};
    struct exact_diffusion m = {.drift = exact_well,
                                .s = 0.7,
                                .d0 = 1.0,
                                .log_density = exact_noise_density,
                                .user = &seen};
    struct exact_range range = {-3.2, 3.2, 161};
    exact_times(N, 0.4, 0.0, t);
    exact_diffusion_data(&m, N, t, 0.3, 4, x, y);
    for (size_t i = 1; i < N; i += 2)
        y[i] = NAN;
    y[N - 1] = 0.5;
    exact_grid_filter(&m, &range, N, t, mean, sd);
    gsv_model *model = model_of("state x\n dx = (x - x^3)*dt + 0.7*dW\n"
                                "obs y ~ normal(x, 0.3)\n"
                                "init x ~ normal(0, 1)");
    gsv_series *s = series_of(1, N, "y", t, y);
    gsv_paths_options o = options();
    o.estimator.paths = D;
    gsv_smoothed r = paths_of(model, s, &o);
    double n = fmin(D, r.ess_min);
    for (size_t i = 0; i < N; i++) {
        assert_near(r.mean[i], mean[i], TOLERANCE * sd[i] / sqrt(n));
        assert_near(r.sd[i], sd[i], TOLERANCE * sd[i] / sqrt(n));
    }
    gsv_smoothed_free(&r);
    gsv_series_free(s);
    gsv_model_free(model);
}

/* --- Coverage --------------------------------------------------------------
 */

/* Tracks whose 90 % band has the truth in it, in one of their rows. */
static void assert_covers(const gsv_smoothed *r, size_t tracks, size_t rows,
                          size_t row, const double *x)
{
    size_t inside = 0;
    assert_int_equal(r->rows, tracks * rows);
    for (size_t k = 0; k < tracks; k++) {
        size_t at = k * rows + row;
        inside +=
            x[at] >= r->quantile[at] && x[at] <= r->quantile[2 * r->rows + at];
    }
    print_message("row %zu: %zu of %zu inside\n", row, inside, tracks);
    assert_near((double)inside, 0.9 * (double)tracks,
                TOLERANCE * sqrt(0.09 * (double)tracks));
}

static void bands__cover_latent_paths(void **state)
{
    (void)state;
    enum { TRACKS = SLOWER > 1 ? 50 : 200, ROWS = 5, N = TRACKS * ROWS };
    static double t[N], x[N], y[N];
    struct exact_linear m = ou();
    for (size_t k = 0; k < TRACKS; k++) {
        exact_times(ROWS, 0.3, 0.0, t + k * ROWS);
        exact_linear_data(&m, ROWS, t + k * ROWS, 100 + k, x + k * ROWS,
                          y + k * ROWS);
        y[k * ROWS + 1] = NAN;
    }
    gsv_model *model = model_of(OU);
    gsv_series *s = series_of(TRACKS, ROWS, "y", t, y);
    gsv_paths_options o = options();
    o.estimator.points = 32;
    gsv_smoothed r = paths_of(model, s, &o);
    for (size_t row = 0; row < ROWS; row++)
        assert_covers(&r, TRACKS, ROWS, row, x);
    gsv_smoothed_free(&r);
    gsv_series_free(s);
    gsv_model_free(model);
}

static gsv_series *simulated(const gsv_model *m, const gsv_simulate_options *o)
{
    gsv_series *s = gsv_simulate(m, o);
    if (!s) fail_msg("%s", gsv_last_error());
    return s;
}

/* Counts of a rate exp(x): bands of the rate are those of x. */
static void bands__cover_rates(void **state)
{
    (void)state;
    enum { TRACKS = SLOWER > 1 ? 50 : 200, ROWS = 4, N = TRACKS * ROWS };
    static double x[N];
    const double time[] = {0.0, 0.3, 0.8, 1.2};
    gsv_model *m = model_of("state x\n dx = (1 - x)*dt + 0.8*dW\n"
                            "obs n ~ poisson(exp(x))\n"
                            "init x ~ normal(1, 0.6)");
    gsv_simulate_options how = gsv_simulate_options_default();
    how.times = ROWS;
    how.time = time;
    how.tracks = TRACKS;
    how.seed = 3;
    how.threads = 1;
    gsv_series *s = simulated(m, &how);
    memcpy(x, s->value, sizeof x);
    gsv_paths_options o = options();
    o.estimator.points = 32;
    gsv_smoothed r = paths_of(m, s, &o);
    for (size_t row = 0; row < ROWS; row++)
        assert_covers(&r, TRACKS, ROWS, row, x);
    gsv_smoothed_free(&r);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* --- Bits, shapes, failures ------------------------------------------------
 */

/* Two tracks with missing cells, one state of two observed, a drift that is
 * not linear. */
static const char MIXED[] =
    "state x, l\n dx = (sin(l) - x)*dt + 0.5*dW1\n"
    "dl = (0.2 - l)*dt + 0.4*dW2\n obs n ~ poisson(exp(l))\n"
    "init l ~ normal(0, 0.5)";

static gsv_series *mixed_data(void)
{
    static const char *const NAME[] = {"x", "n"};
    const size_t start[3] = {0, 5, 9};
    const double time[9] = {0, 0.2, 0.5, 0.6, 1.0, 0, 0.3, 0.4, 0.9};
    const double value[18] = {0.1, 0.3, NAN, 0.2, -0.1, NAN, 0.4, NAN, 0.6,
                              1,   0,   2,   NAN, 3,    NAN, 1,   NAN, 2};
    gsv_series *s = gsv_series_new(2, start, 2, NAME, time, value);
    if (!s) fail_msg("%s", gsv_last_error());
    return s;
}

static void latent__rows_are_those_between_observations(void **state)
{
    (void)state;
    gsv_model *m = model_of(MIXED);
    gsv_series *s = mixed_data();
    gsv_paths_options o = options();
    o.draws = 3;
    gsv_smoothed r = paths_of(m, s, &o);
    assert_int_equal(r.rows, 8); /* nothing is known at the second's first */
    assert_int_equal(r.dim, 2);
    for (size_t i = 0; i < r.rows; i++) {
        size_t row = i < 5 ? i : i + 1;
        double seen = s->value[row];
        assert_true(r.time[i] == s->time[row] && r.track[i] == (i > 4));
        if (!isnan(seen)) assert_true(r.mean[i] == seen && r.sd[i] == 0.0);
        else assert_true(r.sd[i] > 0.0);
        assert_true(r.sd[r.rows + i] > 0.0);
        for (size_t n = 0; n < 3; n++) {
            double draw = r.draw[n * 2 * r.rows + i];
            if (isnan(seen)) assert_true(isfinite(draw));
            else assert_true(draw == seen);
        }
    }
    gsv_smoothed_free(&r);
    gsv_series_free(s);
    gsv_model_free(m);
}

static void assert_same_paths(const gsv_smoothed *a, const gsv_smoothed *b)
{
    size_t n = a->rows * a->dim * sizeof(double);
    assert_int_equal(a->rows, b->rows);
    assert_memory_equal(a->mean, b->mean, n);
    assert_memory_equal(a->sd, b->sd, n);
    assert_memory_equal(a->quantile, b->quantile, n * a->quantiles);
    assert_memory_equal(a->draw, b->draw, n * a->draws);
    assert_true(a->ess_min == b->ess_min);
}

static void bits__are_the_same_on_any_threads(void **state)
{
    (void)state;
    static const char *const TEXT[] = {MIXED, "state x\n dx = -sin(x)*dt + dW"};
    for (size_t c = 0; c < COUNT(TEXT); c++) {
        gsv_model *m = model_of(TEXT[c]);
        gsv_series *s = c ? walk_of(m, 3, 20, 0.5, 3) : mixed_data();
        gsv_paths_options o = options();
        o.draws = 5;
        o.between = 2;
        o.estimator.points = 16;
        gsv_smoothed one = paths_of(m, s, &o);
        for (o.estimator.threads = 2; o.estimator.threads < 4;
             o.estimator.threads++) {
            gsv_smoothed r = paths_of(m, s, &o);
            assert_same_paths(&r, &one);
            gsv_smoothed_free(&r);
        }
        gsv_smoothed_free(&one);
        gsv_series_free(s);
        gsv_model_free(m);
    }
}

/* The scan works in chunks: paths go through their borders. 600 points a stop
 * leave room for no pairs of more than one gap. */
static void latent__goes_through_chunks(void **state)
{
    (void)state;
    enum { N = 7 };
    double t[N], x[N], y[N];
    struct exact_linear m = ou();
    struct exact_law law[N];
    exact_times(N, 0.3, 0.0, t);
    exact_linear_data(&m, N, t, 6, x, y);
    exact_kalman(&m, N, t, y, law);
    gsv_model *model = model_of(OU);
    gsv_series *s = series_of(1, N, "y", t, y);
    gsv_paths_options o = options();
    o.estimator.points = 300;
    o.draws = 2048;
    gsv_smoothed r = paths_of(model, s, &o);
    for (size_t i = 0; i < N; i++) {
        double mean = 0.0, sd = sqrt(law[i].cov[0]);
        for (size_t n = 0; n < r.draws; n++)
            mean += r.draw[n * N + i] / (double)r.draws;
        assert_normal(&r, i, law[i].mean[0], sd, r.ess_min);
        assert_near(mean, law[i].mean[0], TOLERANCE * sd / sqrt(r.ess_min));
    }
    gsv_smoothed_free(&r);
    gsv_series_free(s);
    gsv_model_free(model);
}

static void assert_refused(const gsv_model *m, const gsv_series *s,
                           const gsv_paths_options *o, const char *why)
{
    gsv_smoothed r;
    assert_int_equal(gsv_paths(m, s, o, &r), GSV_BAD_INPUT);
    if (!strstr(gsv_last_error(), why))
        fail_msg("'%s' is not in '%s'", why, gsv_last_error());
}

static bool stop_at_once(void *user, size_t done, size_t all)
{
    (void)done;
    (void)all;
    ++*(size_t *)user;
    return true;
}

static void progress__can_stop_it(void **state)
{
    (void)state;
    gsv_model *m = gsv_model_parse("state x\ndx = -x*dt + dW\n", NULL);
    const char *name = "x";
    gsv_series *s = gsv_series_new(1, (size_t[]){0, 2}, 1, &name,
                                   (double[]){0, 1}, (double[]){0, 1});
    gsv_paths_options o = gsv_paths_options_default();
    gsv_smoothed r;
    size_t calls = 0;
    o.progress = stop_at_once;
    o.user = &calls;
    assert_int_equal(gsv_paths(m, s, &o, &r), GSV_STOPPED);
    assert_int_equal(gsv_last_status(), GSV_STOPPED);
    assert_int_equal(calls, 1);
    gsv_series_free(s);
    gsv_model_free(m);
}

static void nonsense__is_refused(void **state)
{
    (void)state;
    const double late[] = {0.5, 2.6}, twice[] = {0.5, 0.5}, sure[] = {1.0};
    gsv_model *m = model_of(OU_EXACT);
    gsv_series *s = series_of(1, 3, "x", OU_T, OU_X);
    gsv_paths_options o = options();
    o.times = 2;
    o.time = late;
    assert_refused(m, s, &o,
                   "from 0 to 2.5; what comes after them is for "
                   "predict");
    o.time = twice;
    assert_refused(m, s, &o, "increase");
    o = options();
    o.quantiles = 1;
    o.quantile = sure;
    assert_refused(m, s, &o, "quantile 1");
    gsv_series_free(s);
    gsv_model_free(m);
}

/* By default the scan draws them, whatever the number of states; an estimator
 * that is named and cannot is refused with its name. */
static void latent__needs_an_estimator_with_paths(void **state)
{
    (void)state;
    static const char TEXT[] =
        "state x, u, v\n dx = -sin(x)*dt + dW\n du = (x - u)*dt + dW\n"
        "dv = (u - v)*dt + dW\n obs y ~ normal(v, 0.3)\n"
        "init x ~ normal(0, 1)\n init u ~ normal(0, 1)\n"
        "init v ~ normal(0, 1)\n";
    static const struct {
        enum gsv_observe observe;
        const char *name;
    } OTHER[] = {{GSV_OBSERVE_CONJUGATE, "conjugate"},
                 {GSV_OBSERVE_VARIATIONAL, "variational"}};
    gsv_model *m = model_of(TEXT);
    gsv_series *s = series_of(1, 3, "y", OU_T, OU_X);
    gsv_paths_options o = options();
    gsv_smoothed by_default = paths_of(m, s, &o);
    o.estimator.observe = GSV_OBSERVE_GUIDED;
    gsv_smoothed by_guided = paths_of(m, s, &o);
    assert_same_paths(&by_default, &by_guided);
    for (size_t i = 0; i < COUNT(OTHER); i++) {
        o.estimator.observe = OTHER[i].observe;
        assert_refused(m, s, &o, OTHER[i].name);
        assert_refused(m, s, &o, "use --observe guided or --observe scan");
    }
    gsv_smoothed_free(&by_default);
    gsv_smoothed_free(&by_guided);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* Whichever allocation fails, it is said, and nothing is left behind. */
static void memory__may_end(void **state)
{
    (void)state;
    static const char *const TEXT[] = {MIXED, "state x\n dx = -sin(x)*dt + dW"};
    for (size_t c = 0; c < COUNT(TEXT); c++) {
        gsv_model *m = model_of(TEXT[c]);
        gsv_series *s = c ? walk_of(m, 1, 3, 0.5, 3) : mixed_data();
        gsv_paths_options o = options();
        gsv_smoothed r;
        o.draws = 2;
        o.estimator.paths = 4;
        o.estimator.points = 4;
        int status = GSV_NO_MEMORY;
        for (size_t n = 1; status; n++) {
            mem_fail_at(n);
            status = gsv_paths(m, s, &o, &r);
            mem_fail_at(0);
            if (status) assert_int_equal(status, GSV_NO_MEMORY);
        }
        gsv_smoothed_free(&r);
        gsv_series_free(s);
        gsv_model_free(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact__is_the_bridge_of_ou),
        cmocka_unit_test(exact__is_the_bridge_at_any_time),
        cmocka_unit_test(exact__draws_are_paths),
        cmocka_unit_test(exact__is_in_the_datas_coordinates),
        cmocka_unit_test(exact__is_the_bridge_of_bridged_models),
        cmocka_unit_test(latent__is_kalmans_smoother),
        cmocka_unit_test(latent__draws_have_the_covariance_of_neighbours),
        cmocka_unit_test(latent__is_the_grids_smoother),
        cmocka_unit_test(bands__cover_latent_paths),
        cmocka_unit_test(bands__cover_rates),
        cmocka_unit_test(latent__rows_are_those_between_observations),
        cmocka_unit_test(bits__are_the_same_on_any_threads),
        cmocka_unit_test(latent__goes_through_chunks),
        cmocka_unit_test(progress__can_stop_it),
        cmocka_unit_test(nonsense__is_refused),
        cmocka_unit_test(latent__needs_an_estimator_with_paths),
        cmocka_unit_test(memory__may_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
