/* SPDX-License-Identifier: MIT */
/* Potentials that are Gaussian processes: dX = -grad U dt + s dW. Under Euler's
 * density the increments are a regression on the values and weights w of U, and
 * its posterior has a closed form: dense, with rows that the model itself is
 * asked for, a unit vector of w at a time. */
#include "learn.h"

#include "base/kernel.h"
#include "base/linalg.h"

enum { ROWS = 40, GAPS = ROWS - 1, MOST = 80, SPOTS = 5 };

static const double LENGTH = 0.9, AMPLITUDE = 1.3, POLYNOMIAL = 0.6;
static const double NOISE = 0.5;

/* Equations of a potential U in 1 and 2 dimensions, and others with more than
 * one derivative of it. */
static const char *const EQUATIONS[] = {
    "dx = -grad(U, x)*dt + s*dW",
    "dx = -grad(U, x)*dt + s*dW\n dy = -grad(U, y)*dt + 2*s*dW",
    "dx = (U - x*grad(U, x))*dt + s*dW",
    "dx = (grad(U, y) + 0.3*U)*dt + s*dW\n dy = -grad(U, x)*dt + s*dW",
    "dx = (x*grad(U, x) + y*grad(U, y))*dt + s*dW\n dy = -y*dt + s*dW",
    "dx = exp(0.1*x)*grad(grad(U, x), x)*dt + s*dW",
};

static size_t dimension_of(const char *equations)
{
    return strstr(equations, "dy") ? 2 : 1;
}

static void text_of(char text[512], const char *equations, const char *kernel,
                    const char *polynomial, bool over)
{
    size_t d = dimension_of(equations);
    snprintf(text, 512,
             "state x%s\n gp U(x%s) -> 1 : grid %s%s %s%s\n"
             "param s = 0.5 > 0\n %s",
             d > 1 ? ", y" : "", d > 1 ? ", y" : "", d > 1 ? "6 6" : "12",
             over ? " over [-3, 3]" : "", kernel, polynomial, equations);
}

static void set_all(gsv_model *m, const char *name, double value)
{
    double v[2] = {value, value};
    size_t n = 1;
    for (size_t i = 0; i < gsv_model_params(m); i++) {
        gsv_param p = gsv_model_param(m, i);
        if (!strcmp(p.name, name)) n = p.rows;
    }
    if (gsv_model_set(m, name, n, v)) fail_msg("%s", gsv_last_error());
}

static gsv_series *data_of(size_t d)
{
    const char *name[2] = {"x", "y"};
    double time[ROWS], value[2 * ROWS];
    const size_t start[2] = {0, ROWS};
    for (size_t i = 0; i < ROWS; i++) {
        double t = 0.1 * (double)i;
        time[i] = t;
        value[i] = 1.5 * sin(2.0 * t) + 0.2 * cos(17.0 * t);
        value[ROWS + i] = 1.2 * cos(1.3 * t) + 0.2 * sin(19.0 * t);
    }
    return gsv_series_new(1, start, d, name, time, value);
}

/* --- The regression --------------------------------------------------------
 */

/* Numbers of w: those of U.value and U.weight, in their order. */
static gsv_param param_of(const gsv_model *m, const char *name)
{
    gsv_param found = {0};
    for (size_t i = 0; i < gsv_model_params(m); i++)
        if (!strcmp(gsv_model_param(m, i).name, name))
            found = gsv_model_param(m, i);
    return found;
}

/* The drift (d, n) for w = the unit vector number j; all zero where j is not
 * one. */
static void drift_of(gsv_model *m, size_t j, size_t n, const double *x,
                     double *f)
{
    gsv_param value = param_of(m, "U.value"), weight = param_of(m, "U.weight");
    size_t G = value.rows * value.columns, F = weight.rows * weight.columns;
    double w[MOST] = {0}, c[MOST] = {0}, time[MOST] = {0};
    if (j < G) w[j] = 1.0;
    else if (j < G + F) c[j - G] = 1.0;
    assert_int_equal(gsv_model_set(m, "U.value", G, w), 0);
    if (F) assert_int_equal(gsv_model_set(m, "U.weight", F, c), 0);
    assert_int_equal(gsv_model_drift(m, n, time, x, NULL, f), 0);
}

/* The prior covariance of w, (n, n). */
static void prior_of(const gsv_model *m, enum kernel kernel, size_t d, size_t n,
                     double *K)
{
    const double *low = gsv_model_value(m) + param_of(m, "U.grid_low").offset;
    const double *high = gsv_model_value(m) + param_of(m, "U.grid_high").offset;
    size_t side = d > 1 ? 6 : 12, G = param_of(m, "U.value").columns;
    for (size_t i = 0; i < n * n; i++) {
        size_t a = i / n, b = i % n;
        double r = AMPLITUDE * AMPLITUDE;
        if (a >= G || b >= G) {
            K[i] = a == b ? POLYNOMIAL * POLYNOMIAL : 0.0;
            continue;
        }
        for (size_t k = d; k-- > 0; a /= side, b /= side) {
            double step = (high[k] - low[k]) / (double)(side - 1);
            r *= kernel_at(kernel,
                           step * ((double)(a % side) - (double)(b % side)),
                           LENGTH, NULL);
        }
        K[i] = r;
    }
}

/* The posterior of w given the increments, element by element a regression
 * with noise of its own: mean (n) and covariance S (n, n) = (K^-1 + H)^-1 by
 * K - K A' (A K A' + N)^-1 A K, with A (rows, n). */
struct regression {
    size_t n, d;
    double mean[MOST], S[MOST * MOST];
};

static void regress(struct regression *r, gsv_model *m, enum kernel kernel,
                    const gsv_series *s, const double *deviation)
{
    static double A[2 * GAPS * MOST], AK[2 * GAPS * MOST], K[MOST * MOST];
    static double C[4 * GAPS * GAPS], f[2 * ROWS], f0[2 * ROWS], dx[2 * GAPS];
    size_t d = r->d, n = r->n, rows = d * GAPS;
    prior_of(m, kernel, d, n, K);
    drift_of(m, n, s->rows, s->value, f0);
    for (size_t j = 0; j < n; j++) {
        drift_of(m, j, s->rows, s->value, f);
        for (size_t i = 0; i < rows; i++) {
            size_t at = i / GAPS * ROWS + i % GAPS;
            A[i * n + j] = 0.1 * (f[at] - f0[at]);
            dx[i] = s->value[at + 1] - s->value[at] - 0.1 * f0[at];
        }
    }
    linalg_product(rows, n, n, A, false, K, false, AK);
    linalg_product(rows, n, rows, AK, false, A, true, C);
    for (size_t i = 0; i < rows; i++) {
        double sd = deviation[i / GAPS];
        C[i * rows + i] += sd * sd * 0.1;
    }
    assert_true(linalg_cholesky(rows, C));
    linalg_lower_solve(rows, 1, C, false, dx);
    linalg_lower_solve(rows, n, C, false, AK);
    linalg_product(n, rows, 1, AK, true, dx, false, r->mean);
    linalg_product(n, rows, n, AK, true, AK, false, r->S);
    for (size_t i = 0; i < n * n; i++)
        r->S[i] = K[i] - r->S[i];
}

static void expect_exact(const char *equations, enum kernel kernel,
                         const char *polynomial, bool over)
{
    static const char *const FIX[] = {"s", "U.length", "U.amplitude",
                                      "U.poly_amplitude"};
    static struct regression r;
    static double phi[MOST][2 * SPOTS];
    char text[512];
    text_of(text, equations, kernel_name(kernel), polynomial, over);
    gsv_model *m = model_of(text);
    size_t d = dimension_of(equations);
    gsv_series *s = data_of(d);
    bool twice = strstr(equations, "2*s*dW");
    const double noise[2] = {NOISE, twice ? 2.0 * NOISE : NOISE};
    gsv_fit_options o = gsv_fit_options_default();
    o.estimator.reference = GSV_REFERENCE_BROWNIAN;
    o.estimator.form = GSV_FORM_ITO;
    o.estimator.paths = o.estimator.steps = 1;
    o.fix = FIX;
    o.fixed = *polynomial ? 4 : 3;
    set_all(m, "U.length", LENGTH);
    set_all(m, "U.amplitude", AMPLITUDE);
    if (*polynomial) set_all(m, "U.poly_amplitude", POLYNOMIAL);
    if (gsv_fit(m, s, &o)) fail_msg("%s: %s", text, gsv_last_error());
    double x[2 * SPOTS], t[SPOTS] = {0}, f[2 * SPOTS], sd[2 * SPOTS];
    double f0[2 * SPOTS];
    for (size_t i = 0; i < d * SPOTS; i++)
        x[i] = (i < SPOTS ? 1.1 : 0.7) * ((double)(i % SPOTS) - 1.7) / 2.0;
    gsv_functions *q = gsv_functions_new(m);
    assert_non_null(q);
    assert_int_equal(gsv_model_drift(m, SPOTS, t, x, NULL, f), 0);
    assert_int_equal(gsv_functions_drift(q, SPOTS, t, x, NULL, sd), 0);
    r.d = d;
    r.n = param_of(m, "U.value").columns + param_of(m, "U.weight").columns;
    regress(&r, m, kernel, s, noise);
    drift_of(m, r.n, SPOTS, x, f0);
    for (size_t j = 0; j < r.n; j++)
        drift_of(m, j, SPOTS, x, phi[j]);
    for (size_t i = 0; i < d * SPOTS; i++) {
        double mean = f0[i], variance = 0.0;
        for (size_t j = 0; j < r.n; j++) {
            mean += (phi[j][i] - f0[i]) * r.mean[j];
            for (size_t k = 0; k < r.n; k++)
                variance += (phi[j][i] - f0[i]) * r.S[j * r.n + k] *
                            (phi[k][i] - f0[i]);
        }
        if (!(fabs(f[i] - mean) < 1e-4))
            fail_msg("%s: drift %.9g is not %.9g", text, f[i], mean);
        /* And the prior variance that the nodes do not carry. */
        if (!(sd[i] > sqrt(variance) - 1e-4))
            fail_msg("%s: sd %.9g is below %.9g", text, sd[i], sqrt(variance));
    }
    gsv_functions_free(q);
    gsv_series_free(s);
    gsv_model_free(m);
}

static void posterior__is_exact_for_every_kernel_and_polynomial(void **state)
{
    (void)state;
    static const char *const POLYNOMIALS[] = {"", " + linear", " + quadratic",
                                              " + cubic"};
    for (size_t e = 0; e < COUNT(EQUATIONS); e++)
        for (int k = 0; k < KERNELS; k++)
            for (size_t p = 0; p < COUNT(POLYNOMIALS); p++)
                for (int over = 0; over < 2; over++)
                    expect_exact(EQUATIONS[e], (enum kernel)k, POLYNOMIALS[p],
                                 over);
}

/* --- What is learned -------------------------------------------------------
 */

/* The force of a potential from paths of it, in units of its own deviation. */
static void force__is_found_from_paths(void **state)
{
    (void)state;
    gsv_model *truth = model_of("state x, y\n"
                                "let U = (x^2 - 1)^2/4 + y^2/2 + 0.5*x*y\n"
                                "dx = -grad(U, x)*dt + 0.6*dW\n"
                                "dy = -grad(U, y)*dt + 0.6*dW");
    double time[401];
    for (size_t i = 0; i < COUNT(time); i++)
        time[i] = 0.1 * (double)i;
    gsv_simulate_options so = gsv_simulate_options_default();
    so.times = COUNT(time);
    so.time = time;
    so.seed = 3;
    gsv_series *s = gsv_simulate(truth, &so);
    gsv_model *m = model_of("state x, y\n gp U(x, y) -> 1 : grid 8 8 rbf\n"
                            "param s = 1 > 0\n dx = -grad(U, x)*dt + s*dW\n"
                            "dy = -grad(U, y)*dt + s*dW");
    gsv_fit_options o = gsv_fit_options_default();
    o.estimator.reference = GSV_REFERENCE_BROWNIAN;
    o.estimator.form = GSV_FORM_ITO;
    o.estimator.paths = o.estimator.steps = 1;
    if (gsv_fit(m, s, &o)) fail_msg("%s", gsv_last_error());
    gsv_functions *q = gsv_functions_new(m);
    double square = 0.0, moved = 0.0;
    enum { EVERY = 20, N = 400 / EVERY };
    double x[2 * N], t[N] = {0}, f[2 * N], g[2 * N], sd[2 * N];
    for (size_t i = 0; i < 2 * N; i++)
        x[i] = s->value[i / N * s->rows + i % N * EVERY];
    assert_int_equal(gsv_model_drift(m, N, t, x, NULL, f), 0);
    assert_int_equal(gsv_model_drift(truth, N, t, x, NULL, g), 0);
    assert_int_equal(gsv_functions_drift(q, N, t, x, NULL, sd), 0);
    for (size_t i = 0; i < 2 * N; i++) {
        double z = (f[i] - g[i]) / sd[i];
        square += z * z / (2 * N);
        moved += g[i] * g[i] / (sd[i] * sd[i]) / (2 * N);
    }
    /* Forces are seen, and are where they are said to be. */
    assert_true(moved > 4.0);
    assert_true(square < 4.0);
    gsv_functions_free(q);
    gsv_model_free(m);
    gsv_model_free(truth);
    gsv_series_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(posterior__is_exact_for_every_kernel_and_polynomial),
        cmocka_unit_test(force__is_found_from_paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
