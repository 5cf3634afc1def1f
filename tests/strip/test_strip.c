/* SPDX-License-Identifier: MIT */
/* The scan of one latent state beside an exact one: against Kalman's filter and
 * bootstrap filters; and what it promises. */
#include "strip.h"

/* --- Linear models -------------------------------------------------------- */

/* A square that is far too small to matter hides that the model is linear. */
static const char LINEAR[] =
    "state x, v\nparam mu = 0.1, b = 0.7, s = 0.4 > 0, k = 1.5 > 0, c = 0.8 > "
    "0, rho = %g in (-1, 1)\ndx = (mu + b*v)*dt + %s*dW1\n"
    "dv = -k*v*dt + c*(rho*dW1 + sqrt(1 - rho^2)*dW2)\n%s\n";

static void claim_linear(double rho, const char *init, double gap)
{
    char hidden[500], plain[500];
    double x[12] = {0, 0.1, 0.05, -0.2, 0.3, 0.31, 0.8, 0.5, 0.4, 0.9, 1, 0.7};
    snprintf(plain, sizeof plain, LINEAR, rho, "s", init);
    snprintf(hidden, sizeof hidden, LINEAR, rho, "sqrt(s^2 + 1e-30*v^2)", init);
    gsv_model *m = model_of(plain), *same = model_of(hidden);
    gsv_series *s = series_of("x", 12, gap, x, 1);
    gsv_options o = gsv_options_default();
    double exact = value_of(m, s, &o), last = INFINITY;
    assert_true(m->linear.is && !m->lone.is);
    assert_true(!same->linear.is && same->lone.is);
    for (size_t steps = 1; steps <= 16; steps *= 4) {
        o = scan_options(steps, 48);
        double error = fabs(value_of(same, s, &o) - exact);
        /* Of third order: four times as many steps, a 64th. */
        if (!(error < last / 30.0 || error < 1e-6))
            fail_msg("rho %g, %s: %zu steps are off by %g", rho, init, steps,
                     error);
        last = error;
    }
    assert_true(last < 3e-5);
    o = gsv_options_default();
    o.observe = GSV_OBSERVE_GUIDED;
    assert_true(fabs(value_of(m, s, &o) - exact) < 1e-8);
    gsv_series_free(s);
    gsv_model_free(same);
    gsv_model_free(m);
}

static void linear__is_kalmans(void **state)
{
    static const double RHO[] = {-0.8, 0.0, 0.5};
    static const char *const FIRST[] = {"init v ~ normal(0.2, 0.5)",
                                        "init v ~ normal(0.3, 1e-6)",
                                        "init v ~ normal(-1, 0.1)"};
    (void)state;
    for (size_t i = 0; i < COUNT(RHO); i++)
        for (size_t k = 0; k < COUNT(FIRST); k++)
            claim_linear(RHO[i], FIRST[k], k ? 0.25 : 0.1);
}

/* --- Others, against a bootstrap filter ----------------------------------- */

/* A model by hand: of a point (exact, latent) its drifts, and the noises of the
 * exact state, whose first one is shared with share of the latent one's. */
struct by_hand {
    const char *text, *column;
    double start, gap, scale, share;
    void (*equations)(const double *z, double *drift, double *noise);
    double (*first)(double normal);
};

static void volatility(const double *z, double *drift, double *noise)
{
    drift[0] = 0.05 - 0.5 * exp(z[1]);
    drift[1] = 5.0 * (-3.2 - z[1]);
    noise[0] = exp(0.5 * z[1]);
    noise[1] = 2.0;
}

static double volatility_first(double normal)
{
    return -3.2 + 0.3 * normal;
}

static void sabr(const double *z, double *drift, double *noise)
{
    drift[0] = drift[1] = 0.0;
    noise[0] = z[1] * sqrt(fabs(z[0]));
    noise[1] = 0.5 * z[1];
}

static double sabr_first(double normal)
{
    return exp(-1.6 + 0.2 * normal);
}

static void square_root(const double *z, double *drift, double *noise)
{
    double v = fmax(z[1], 1e-5);
    drift[0] = 0.05 * z[0];
    drift[1] = 3.0 * (0.04 - v);
    noise[0] = sqrt(v) * z[0];
    noise[1] = 0.4 * sqrt(v);
}

static double square_root_first(double normal)
{
    return 0.04 + 0.01 * normal;
}

static const struct by_hand BY_HAND[] = {
    {"state x, l\nparam rho = -0.6 in (-1, 1)\n"
     "dx = (0.05 - exp(l)/2)*dt + exp(l/2)*dW1\n"
     "dl = 5*(-3.2 - l)*dt + 2*(rho*dW1 + sqrt(1 - rho^2)*dW2)\n"
     "init l ~ normal(-3.2, 0.3)\n",
     "x", 0.0, 0.02, 0.03, -0.6, volatility, volatility_first},
    {"state F, a\nparam rho = -0.3 in (-1, 1), beta = 0.5 in (0, 1)\n"
     "dF = a*F^beta*dW1\nda = 0.5*a*(rho*dW1 + sqrt(1 - rho^2)*dW2)\n"
     "init a ~ lognormal(-1.6, 0.2)\n",
     "F", 1.0, 0.02, 0.03, -0.3, sabr, sabr_first},
    {"state S, v\nparam rho = -0.6 in (-1, 1)\n"
     "dS = 0.05*S*dt + sqrt(v)*S*dW1\n"
     "dv = 3*(0.04 - v)*dt + 0.4*sqrt(v)*(rho*dW1 + sqrt(1 - rho^2)*dW2)\n"
     "init v ~ normal(0.04, 0.01)\n",
     "S", 100.0, 0.02, 3.0, -0.6, square_root, square_root_first},
};

enum { ROWS = 11, PARTICLES = 4000 / SLOWER, SUBSTEPS = 8 };

/* To the row n: inside of a gap the exact state goes along, and its last
 * substep has the density of the row. */
static double move_particle(const struct by_hand *b, double *latent,
                            const double *x, const double *z)
{
    double h = b->gap / SUBSTEPS, at[2] = {x[0], *latent}, drift[2], noise[2];
    double rest = sqrt(1.0 - b->share * b->share);
    for (size_t j = 0; j < SUBSTEPS; j++, z += 2) {
        b->equations(at, drift, noise);
        double along = b->share * z[0] * noise[0] * sqrt(h);
        double own = rest * noise[0] * sqrt(h);
        at[1] += drift[1] * h + noise[1] * sqrt(h) * z[0];
        at[0] += drift[0] * h + along;
        if (j + 1 == SUBSTEPS) {
            *latent = at[1];
            return exact_normal(x[1], at[0], own * own);
        }
        at[0] += own * z[1];
    }
    return 0.0;
}

static double bootstrap(const struct by_hand *b, const double *x, uint64_t seed)
{
    double *latent = NEW(double, 2 * PARTICLES), *w = NEW(double, PARTICLES);
    double *z = normals(PARTICLES, seed), sum = 0.0;
    for (size_t k = 0; k < PARTICLES; k++)
        latent[k] = b->first(z[k]);
    mem_free(z);
    for (size_t n = 0; n + 1 < ROWS; n++) {
        z = normals(PARTICLES * 2 * SUBSTEPS, seed + 1000 * (n + 1));
        double most = -INFINITY, total = 0.0, run = 0.0;
        for (size_t k = 0; k < PARTICLES; k++) {
            w[k] = move_particle(b, &latent[k], x + n, z + 2 * SUBSTEPS * k);
            most = fmax(most, w[k]);
        }
        for (size_t k = 0; k < PARTICLES; k++)
            total += w[k] = exp(w[k] - most);
        sum += most + log(total / PARTICLES);
        for (size_t k = 0, from = 0; k < PARTICLES; k++) {
            while (from + 1 < PARTICLES &&
                   run + w[from] < total * ((double)k + 0.5) / PARTICLES)
                run += w[from++];
            latent[PARTICLES + k] = latent[from];
        }
        memcpy(latent, latent + PARTICLES, PARTICLES * sizeof *latent);
        mem_free(z);
    }
    mem_free(latent);
    mem_free(w);
    return sum;
}

static void others__are_a_bootstrap_filters(void **state)
{
    enum { SEEDS = 12 };
    (void)state;
    for (size_t c = 0; c < COUNT(BY_HAND); c++) {
        const struct by_hand *b = &BY_HAND[c];
        double x[ROWS] = {b->start}, mean = 0.0, squares = 0.0;
        double *z = normals(ROWS, 77 + c);
        for (size_t n = 1; n < ROWS; n++)
            x[n] = x[n - 1] + b->scale * z[n];
        mem_free(z);
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            double v = bootstrap(b, x, seed) / SEEDS;
            mean += v;
            squares += v * v;
        }
        double error = sqrt(fmax(squares - mean * mean / SEEDS, 0.0));
        gsv_model *m = model_of(b->text);
        gsv_series *s = series_of(b->column, ROWS, b->gap, x, 1);
        gsv_options o = scan_options(4, 0);
        double found = value_of(m, s, &o);
        if (!(fabs(found - mean) < TOLERANCE * error + 0.01))
            fail_msg("case %zu: %g, but a bootstrap filter %g +- %g", c, found,
                     mean, error);
        gsv_series_free(s);
        gsv_model_free(m);
    }
}

/* --- What it promises ----------------------------------------------------- */

static gsv_series *returns(size_t rows, double gap, size_t tracks)
{
    double x[MOST_ROWS] = {0.0}, *z = normals(rows, 5);
    for (size_t i = 1; i < rows; i++)
        x[i] = x[i - 1] + 0.2 * sqrt(gap) * z[i];
    mem_free(z);
    return series_of("x", rows, gap, x, tracks);
}

/* Down to where the variance is often near 0. */
static const struct heston NEAR_ZERO[] = {{0.05, 3.0, 0.04, 0.4, -0.6},
                                          {0.05, 1.0, 0.04, 0.35, -0.6},
                                          {0.05, 1.0, 0.03, 0.5, -0.6}};

static void error__is_not_too_small(void **state)
{
    (void)state;
    for (size_t c = 0; c < COUNT(NEAR_ZERO); c++) {
        gsv_model *m = heston_model(&NEAR_ZERO[c], "init v ~ gamma(0.04, 4)");
        gsv_series *s = returns(40, 0.004, 1);
        gsv_options fine = scan_options(2, 256);
        double exact = value_of(m, s, &fine);
        for (size_t points = 16; points <= 64; points *= 2) {
            gsv_options o = scan_options(2, points);
            gsv_result r = loglik_of(m, s, &o);
            if (!(fabs(r.loglik - exact) < 2.0 * r.error + 1e-6))
                fail_msg("model %zu, %zu points: off by %g, not %g", c, points,
                         r.loglik - exact, r.error);
            gsv_result_free(&r);
        }
        gsv_series_free(s);
        gsv_model_free(m);
    }
}

static void gradient__is_the_slope(void **state)
{
    (void)state;
    for (size_t c = 0; c < COUNT(NEAR_ZERO); c++) {
        gsv_model *m = heston_model(&NEAR_ZERO[c], "init v ~ gamma(0.04, 4)");
        gsv_series *s = returns(40, 0.004, 2);
        gsv_options o = scan_options(2, 0);
        o.gradient = true;
        gsv_result r = loglik_of(m, s, &o);
        o.gradient = false;
        for (size_t i = 0; i < gsv_model_values(m); i++) {
            double v = m->value[i], away = 2e-3 * fmax(fabs(v), 0.01), side[2];
            for (size_t k = 0; k < 2; k++) {
                m->value[i] = v + (k ? away : -away);
                side[k] = value_of(m, s, &o);
            }
            m->value[i] = v;
            double slope = (side[1] - side[0]) / (2.0 * away);
            if (!(fabs(slope - r.gradient[i]) < 1e-3 * (fabs(slope) + 1.0)))
                fail_msg("model %zu, number %zu: %g, not %g", c, i,
                         r.gradient[i], slope);
        }
        gsv_result_free(&r);
        gsv_series_free(s);
        gsv_model_free(m);
    }
}

static void bits__are_those_of_any_number_of_threads(void **state)
{
    (void)state;
    gsv_model *m = heston_model(&HESTON[0], "init v ~ normal(0.04, 0.01)");
    for (size_t tracks = 1; tracks <= 3; tracks++) {
        gsv_series *s = returns(30, 0.004, tracks);
        gsv_result r[3];
        for (size_t i = 0; i < COUNT(r); i++) {
            gsv_options o = scan_options(0, 0);
            o.gradient = true;
            o.threads = (size_t)1 << i;
            r[i] = loglik_of(m, s, &o);
            assert_memory_equal(&r[0].loglik, &r[i].loglik, sizeof(double));
            assert_memory_equal(&r[0].error, &r[i].error, sizeof(double));
            assert_int_equal(r[0].paths, r[i].paths);
            assert_memory_equal(r[0].gradient, r[i].gradient,
                                gsv_model_values(m) * sizeof(double));
        }
        for (size_t i = 0; i < COUNT(r); i++)
            gsv_result_free(&r[i]);
        gsv_series_free(s);
    }
    gsv_model_free(m);
}

/* Irregular rows: every gap has a length of its own. */
static void lengths__are_all_their_own(void **state)
{
    static const char *const column = "x";
    const size_t start[2] = {0, 24};
    double time[24], x[24];
    (void)state;
    for (size_t i = 0; i < 24; i++) {
        time[i] = 0.004 * ((double)i + 0.3 * sin((double)(i * i)));
        x[i] = 0.01 * sin(3.0 * (double)i);
    }
    gsv_model *m = heston_model(&HESTON[0], "init v ~ normal(0.04, 0.01)");
    gsv_series *s = gsv_series_new(1, start, 1, &column, time, x);
    gsv_options o = scan_options(2, 0), fine = scan_options(8, 64);
    assert_true(fabs(value_of(m, s, &o) - value_of(m, s, &fine)) < 1e-3);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* Which models have this form. */
static void form__is_found(void **state)
{
    static const struct {
        const char *text;
        bool is;
    } CASES[] = {
        {"state x, v\ndx = v*dW1\ndv = v*(0.3*dW1 + dW2)\ninit v ~ normal(1, "
         "1)",
         true},
        {"state v, x\ndx = v*x*dW1\ndv = dt - v*dt + sqrt(v)*dW2\ninit v ~ "
         "normal(1, 1)",
         true},
        /* The drift of v depends on x. */
        {"state x, v\ndx = v*dW1\ndv = x*dt + dW2\ninit v ~ normal(1, 1)",
         false},
        /* The noise of x is not a product. */
        {"state x, v\ndx = (v + x)*dW1\ndv = dW2\ninit v ~ normal(1, 1)",
         false},
        /* Time, and an input. */
        {"state x, v\ndx = v*dW1\ndv = sin(t)*dt + dW2\ninit v ~ normal(1, 1)",
         false},
        {"state x, v\ninput u\ndx = v*dW1\ndv = u*dt + dW2\ninit v ~ normal(1, "
         "1)",
         false},
        /* Two latent states, or none. */
        {"state x, v\ndx = v*dW1\ndv = dW2\nobs y ~ normal(x, 1)\ninit v ~ "
         "normal(1, 1)",
         false},
        {"state x, v\ndx = v*dW1\ndv = dW2", false},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(CASES); i++) {
        gsv_model *m = model_of(CASES[i].text);
        if (m->lone.is != CASES[i].is) fail_msg("%s", CASES[i].text);
        gsv_model_free(m);
    }
}

/* An empty cell of the exact state: the guided filter, where it is open. */
static void empty_cells__are_named(void **state)
{
    (void)state;
    gsv_model *m = heston_model(&HESTON[0], "init v ~ normal(0.04, 0.01)\n"
                                            "obs y ~ normal(v, 0.1)");
    double time[4] = {0, 1, 2, 3}, value[8] = {0, 0.01, NAN, 0.02, 1, 1, 1, 1};
    const size_t start[2] = {0, 4};
    const char *const column[2] = {"x", "y"};
    gsv_series *s = gsv_series_new(1, start, 2, column, time, value);
    gsv_options o = scan_options(0, 0);
    gsv_result r;
    assert_int_equal(gsv_loglik(m, s, &o, &r), GSV_BAD_INPUT);
    assert_non_null(strstr(gsv_last_error(), "column x is empty in series"));
    assert_non_null(strstr(gsv_last_error(), "--observe guided"));
    o.observe = GSV_OBSERVE_AUTO;
    r = loglik_of(m, s, &o);
    assert_int_equal(r.observe, GSV_OBSERVE_GUIDED);
    gsv_result_free(&r);
    gsv_series_free(s);
    gsv_model_free(m);
}

static void memory__may_be_out_at_any_time(void **state)
{
    (void)state;
    gsv_model *m = heston_model(&HESTON[0], "init v ~ normal(0.04, 0.01)");
    gsv_series *s = returns(6, 0.004, 2);
    size_t n = 0, fails = 0;
    int status;
    do {
        gsv_options o = scan_options(4, 0);
        gsv_result r;
        o.gradient = true;
        mem_fail_at(++n);
        status = gsv_loglik(m, s, &o, &r);
        mem_fail_at(0);
        if (!status) gsv_result_free(&r);
        else assert_int_equal(status, GSV_NO_MEMORY);
        fails += status != 0;
    } while (status || n < fails);
    assert_true(fails > 20);
    gsv_series_free(s);
    gsv_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear__is_kalmans),
        cmocka_unit_test(others__are_a_bootstrap_filters),
        cmocka_unit_test(error__is_not_too_small),
        cmocka_unit_test(gradient__is_the_slope),
        cmocka_unit_test(bits__are_those_of_any_number_of_threads),
        cmocka_unit_test(lengths__are_all_their_own),
        cmocka_unit_test(form__is_found),
        cmocka_unit_test(empty_cells__are_named),
        cmocka_unit_test(memory__may_be_out_at_any_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
