/* SPDX-License-Identifier: MIT */
/* The likelihood of series with random effects, against sums over many points
 * and closed forms in plain loops. */
#include "panels.h"

#include "panel/rule.h"
#include "predict/effects.h"

/* --- Sums ------------------------------------------------------------------
 */

/* log p(series | rate exp(b), level mu). */
static double exact_given(const struct panel_data *d, size_t r, double b,
                          double mu)
{
    double k = exp(b), a = exp(-k * d->gap), v = (1 - a * a) / (2 * k);
    double sum = 0.0;
    for (size_t i = 1; i < d->rows; i++)
        sum += exact_normal(d->x[r][i], mu + a * (d->x[r][i - 1] - mu), v);
    return sum;
}

static double noisy_given(const struct panel_data *d, size_t r, double b,
                          double mu)
{
    double k = exp(b), a = exp(-k * d->gap), q = (1 - a * a) / (2 * k);
    double m = mu, P = 0.5 / k, R = 0.09, sum = 0.0;
    for (size_t i = 0; i < d->rows; i++) {
        if (i) m = mu + a * (m - mu);
        if (i) P = a * a * P + q;
        sum += exact_normal(d->y[r][i], m, P + R);
        m += P / (P + R) * (d->y[r][i] - m);
        P = P * R / (P + R);
    }
    return sum;
}

typedef double given(const struct panel_data *d, size_t r, double b, double mu);

struct moments {
    double log_sum, mean, sd;
};

/* 3001 points over 9 deviations to each side. */
static struct moments brute(const struct panel_data *d, size_t r, double w,
                            given *log_p)
{
    enum { POINTS = 3001 };
    double term[POINTS], most = -INFINITY, sum = 0, first = 0, second = 0;
    for (size_t i = 0; i < POINTS; i++) {
        double z = -9.0 + 18.0 * (double)i / (POINTS - 1);
        term[i] = log_p(d, r, w * z, 0.0) + exact_normal(z, 0.0, 1.0);
        most = fmax(most, term[i]);
    }
    for (size_t i = 0; i < POINTS; i++) {
        double z = -9.0 + 18.0 * (double)i / (POINTS - 1);
        double share = exp(term[i] - most);
        sum += share;
        first += share * w * z;
        second += share * w * z * w * z;
    }
    first /= sum;
    return (struct moments){most + log(sum * 18.0 / (POINTS - 1)), first,
                            sqrt(second / sum - first * first)};
}

/* --- One effect ----------------------------------------------------------- */

/* tolerance: of 9 nodes and of 15. Few rows and a wide law have integrands that
 * are far from normal. */
static const struct sum_case {
    const char *text;
    given *log_p;
    size_t rows;
    double w, nine, fifteen;
} SUMS[] = {{EXACT, exact_given, 20, 0.5, 0.01, 1e-4},
            {NOISY, noisy_given, 20, 0.5, 0.01, 1e-4},
            {EXACT, exact_given, 8, 0.5, 0.01, 1e-3},
            {NOISY, noisy_given, 8, 0.5, 0.01, 1e-3},
            {NOISY, noisy_given, 8, 1.5, 0.2, 0.03}};

static void panel__is_a_sum_over_3001_points(void **state)
{
    (void)state;
    for (size_t c = 0; c < COUNT(SUMS); c++) {
        const struct sum_case *t = &SUMS[c];
        struct panel_data d = panel_simulate(SERIES, t->rows, t->w, 3 + c);
        gsv_series *s = panel_series(&d, t->log_p == noisy_given ? "y" : "x");
        gsv_model *m = model_of(t->text);
        gsv_options o = gsv_options_default();
        double sum = 0.0;
        gsv_model_set(m, "w", 1, &t->w);
        for (size_t r = 0; r < SERIES; r++)
            sum += brute(&d, r, t->w, t->log_p).log_sum;
        o.threads = 1;
        for (size_t nodes = 9; nodes <= 15; nodes += 6) {
            gsv_result r;
            o.nodes = nodes;
            assert_int_equal(gsv_loglik(m, s, &o, &r), 0);
            assert_near(r.loglik, sum, nodes == 9 ? t->nine : t->fifteen);
            assert_int_equal(r.nodes, nodes);
            assert_int_equal(r.groups, SERIES);
            gsv_result_free(&r);
        }
        gsv_model_free(m);
        gsv_series_free(s);
    }
}

static void effects__are_posterior_means(void **state)
{
    (void)state;
    struct panel_data d = panel_simulate(SERIES, 20, 0.5, 9);
    gsv_series *s = panel_series(&d, "y");
    gsv_model *m = model_of(NOISY);
    gsv_options o = gsv_options_default();
    double mean[SERIES], error[SERIES];
    o.nodes = 15;
    assert_int_equal(gsv_effects(m, s, &o, mean, error), 0);
    for (size_t r = 0; r < SERIES; r++) {
        struct moments b = brute(&d, r, 0.5, noisy_given);
        assert_near(mean[r], b.mean, 1e-4);
        assert_near(error[r], b.sd, 1e-3);
    }
    gsv_model_free(m);
    gsv_series_free(s);
}

/* --- Several effects ------------------------------------------------------ */

/* Rate and level, correlated: u = root z over a grid of z. */
static double brute_two(const struct panel_data *d, size_t r,
                        const double root[3])
{
    enum { SIDE = 241 };
    const double wide = 7.0, h = 2.0 * wide / (SIDE - 1);
    double sum = 0.0, top = exact_given(d, r, 0.0, 0.0);
    for (size_t i = 0; i < SIDE; i++)
        for (size_t j = 0; j < SIDE; j++) {
            double a = -wide + h * (double)i, b = -wide + h * (double)j;
            sum +=
                exp(exact_given(d, r, root[0] * a, root[1] * a + root[2] * b) +
                    exact_normal(a, 0, 1) + exact_normal(b, 0, 1) - top);
        }
    return top + log(sum * h * h);
}

static void panel__has_correlated_effects(void **state)
{
    (void)state;
    static const double ROOT[] = {0.5, 0.3, 0.4};
    struct panel_data d = panel_simulate(6, 20, 0.5, 21);
    gsv_series *s = panel_series(&d, "x");
    gsv_model *m = model_of("state x\nparam L[2,2] lower = [0.5, 0, 0.3, 0.4]\n"
                            "random u[2] ~ normal(0, L)\n"
                            "dx = exp(u[1])*(u[2] - x)*dt + dW\n");
    gsv_options o = gsv_options_default();
    gsv_result r;
    double sum = 0.0;
    for (size_t i = 0; i < d.series; i++)
        sum += brute_two(&d, i, ROOT);
    assert_int_equal(gsv_loglik(m, s, &o, &r), 0);
    assert_near(r.loglik, sum, 0.01);
    gsv_result_free(&r);
    o.nodes = 25;
    assert_int_equal(gsv_loglik(m, s, &o, &r), 0);
    assert_near(r.loglik, sum, 1e-3);
    gsv_result_free(&r);
    gsv_model_free(m);
    gsv_series_free(s);
}

/* dx = u dt + s dW has normal increments d with covariance s^2 h I + w^2 h^2 J:
 * by the formula of Sherman and Morrison. */
static double mixed(size_t n, const double *x, double h, double m, double w,
                    double s)
{
    double v = s * s * h, c = w * w * h * h, sum = 0, squares = 0;
    double k = (double)(n - 1);
    for (size_t i = 1; i < n; i++) {
        double e = x[i] - x[i - 1] - m * h;
        sum += e;
        squares += e * e;
    }
    return -0.5 * (k * log(2 * EXACT_PI) + (k - 1) * log(v) + log(v + k * c) +
                   squares / v - c * sum * sum / (v * (v + k * c)));
}

static void panel__is_exact_for_linear_mixed_models(void **state)
{
    (void)state;
    struct panel_data d = panel_simulate(SERIES, 7, 0.5, 4);
    gsv_series *s = panel_series(&d, "x");
    gsv_model *m = model_of("state x\nparam m = 0.2, w = 0.7 > 0, s = 0.9 > 0\n"
                            "random u ~ normal(m, w)\ndx = u*dt + s*dW\n");
    double sum = 0.0;
    for (size_t r = 0; r < SERIES; r++)
        sum += mixed(d.rows, d.x[r], d.gap, 0.2, 0.7, 0.9);
    for (size_t nodes = 1; nodes <= 33; nodes += 8) {
        gsv_options o = gsv_options_default();
        gsv_result r;
        o.nodes = nodes;
        assert_int_equal(gsv_loglik(m, s, &o, &r), 0);
        assert_near(r.loglik, sum, 1e-6);
        if (nodes > 1) assert_near(r.quadrature, 0.0, 1e-6);
        else assert_true(isnan(r.quadrature)); /* there are no fewer */
        gsv_result_free(&r);
    }
    gsv_model_free(m);
    gsv_series_free(s);
}

/* Down to deviations that vanish beside the mean. */
static void panel__without_deviation_is_the_likelihood_at_the_mean(void **state)
{
    (void)state;
    static const double MEAN[] = {0.0, -0.3, 40.0};
    static const double WIDTH[] = {1e-5, 1e-12, 1e-18, 1e-60, 1e-180};
    struct panel_data d = panel_simulate(SERIES, 20, 0.5, 6);
    gsv_series *s = panel_series(&d, "x");
    gsv_model *m = model_of("state x\nparam m = 0, w = 0.5 > 0, a = 0\n"
                            "random b ~ normal(m, w)\n"
                            "dx = -exp(b - a)*x*dt + dW\n");
    for (size_t i = 0; i < COUNT(MEAN); i++) {
        gsv_model_set(m, "m", 1, &MEAN[i]);
        gsv_model_set(m, "a", 1, &MEAN[i]);
        double sum = 0.0;
        for (size_t r = 0; r < SERIES; r++)
            sum += exact_given(&d, r, 0.0, 0.0);
        for (size_t k = 0; k < COUNT(WIDTH); k++) {
            gsv_options o = gsv_options_default();
            gsv_result r;
            gsv_model_set(m, "w", 1, &WIDTH[k]);
            assert_int_equal(gsv_loglik(m, s, &o, &r), 0);
            assert_near(r.loglik, sum, 1e-5);
            gsv_result_free(&r);
        }
    }
    gsv_model_free(m);
    gsv_series_free(s);
}

/* Logistic growth has no closed form: log p(series | b) is the estimator's own,
 * at 301 points over 7.5 deviations to each side. */
static void panel__of_logistic_growth_is_a_sum_over_its_effect(void **state)
{
    (void)state;
    enum { POINTS = 301, EACH = 8 };
    static const char GROWTH[] = "dx = exp(b)*x*(2 - x)*dt + 0.3*x*dW\n";
    char text[2][300];
    static double term[POINTS][SERIES];
    snprintf(text[0], sizeof text[0],
             "state x\nparam m = -0.2, w = 0.5 > 0\nrandom b ~ normal(m, w)\n"
             "%s",
             GROWTH);
    snprintf(text[1], sizeof text[1], "state x\nparam b = 0\n%s", GROWTH);
    gsv_model *m = model_of(text[0]), *fixed = model_of(text[1]);
    gsv_simulate_options how = gsv_simulate_options_default();
    double time[EACH], first[SERIES], sum = 0.0;
    for (size_t i = 0; i < EACH; i++)
        time[i] = 0.5 * (double)i;
    for (size_t i = 0; i < SERIES; i++)
        first[i] = 0.2;
    how.tracks = SERIES;
    how.seed = 3;
    how.times = EACH;
    how.time = time;
    how.start = first;
    gsv_series *s = gsv_simulate(m, &how);
    assert_non_null(s);
    gsv_options o = gsv_options_default();
    o.paths = o.steps = 1; /* no random numbers */
    o.reference = GSV_REFERENCE_LINEAR;
    for (size_t k = 0; k < POINTS; k++) {
        double z = -7.5 + 15.0 * (double)k / (POINTS - 1), b = -0.2 + 0.5 * z;
        gsv_result r;
        gsv_model_set(fixed, "b", 1, &b);
        assert_int_equal(gsv_loglik(fixed, s, &o, &r), 0);
        for (size_t g = 0; g < r.groups; g++)
            term[k][r.gap[g].track] += r.gap[g].loglik;
        for (size_t i = 0; i < SERIES; i++)
            term[k][i] += exact_normal(z, 0.0, 1.0);
        gsv_result_free(&r);
    }
    for (size_t i = 0; i < SERIES; i++) {
        double most = -INFINITY, all = 0.0;
        for (size_t k = 0; k < POINTS; k++)
            most = fmax(most, term[k][i]);
        for (size_t k = 0; k < POINTS; k++)
            all += exp(term[k][i] - most);
        sum += most + log(all * 15.0 / (POINTS - 1));
    }
    for (o.nodes = 9; o.nodes <= 15; o.nodes += 6) {
        gsv_result r;
        assert_int_equal(gsv_loglik(m, s, &o, &r), 0);
        assert_near(r.loglik, sum, o.nodes == 9 ? 0.01 : 1e-3);
        gsv_result_free(&r);
    }
    gsv_series_free(s);
    gsv_model_free(fixed);
    gsv_model_free(m);
}

/* Four effects have draws: of independent states, the sum of closed forms. */
static void panel__draws_many_effects(void **state)
{
    (void)state;
    enum { STATES = 4, TRACKS = 3, ROWS = 6 };
    struct panel_data d = panel_simulate(STATES * TRACKS, ROWS, 0.5, 8);
    static const char *const name[] = {"x1", "x2", "x3", "x4"};
    double time[TRACKS * ROWS], value[STATES * TRACKS * ROWS], sum = 0.0;
    size_t start[TRACKS + 1] = {0};
    for (size_t r = 0; r < TRACKS; r++) {
        start[r + 1] = (r + 1) * ROWS;
        for (size_t c = 0; c < STATES; c++) {
            const double *x = d.x[r * STATES + c];
            sum += mixed(ROWS, x, d.gap, 0.2, 0.7, 0.9);
            for (size_t i = 0; i < ROWS; i++) {
                time[r * ROWS + i] = d.gap * (double)i;
                value[(c * TRACKS + r) * ROWS + i] = x[i];
            }
        }
    }
    gsv_series *s = gsv_series_new(TRACKS, start, STATES, name, time, value);
    gsv_model *m = model_of("state x[4]\nrandom u[4] ~ normal(0.2, 0.7)\n"
                            "dx = u*dt + 0.9*dW\n");
    gsv_options o = gsv_options_default();
    gsv_result r;
    assert_int_equal(gsv_loglik(m, s, &o, &r), 0);
    assert_int_equal(r.nodes, 513);
    assert_true(r.error > 0.0 && r.error < 0.2);
    assert_near(r.loglik, sum, TOLERANCE * r.error);
    gsv_result_free(&r);
    gsv_model_free(m);
    gsv_series_free(s);
}

/* --- Simulations and fits ------------------------------------------------- */

static void simulations__draw_effects_for_each_series(void **state)
{
    (void)state;
    enum { N = 400 };
    gsv_model *m = model_of("state x\nparam m = 1, w = 0.5 > 0\n"
                            "random u ~ normal(m, w)\ndx = u*dt + 1e-6*dW\n");
    double time[] = {0.0, 1.0}, sum = 0, squares = 0, chosen[N];
    gsv_simulate_options o = gsv_simulate_options_default();
    o.times = 2;
    o.time = time;
    o.tracks = N;
    gsv_series *s = gsv_simulate(m, &o);
    assert_non_null(s);
    for (size_t r = 0; r < N; r++)
        sum += s->value[2 * r + 1];
    for (size_t r = 0; r < N; r++)
        squares += pow(s->value[2 * r + 1] - sum / N, 2);
    assert_near(sum / N, 1.0, TOLERANCE * 0.5 / sqrt(N));
    assert_near(sqrt(squares / (N - 1)), 0.5, TOLERANCE * 0.5 / sqrt(2 * N));
    gsv_series_free(s);
    for (size_t r = 0; r < N; r++)
        chosen[r] = 0.01 * (double)r;
    o.effect = chosen;
    s = gsv_simulate(m, &o);
    for (size_t r = 0; r < N; r++)
        assert_near(s->value[2 * r + 1], chosen[r], 1e-4);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* Of a linear mixed model, the maximum of the closed form; errors of the
 * effects have the parameters' uncertainty. */
static void fits__find_the_law_of_effects(void **state)
{
    (void)state;
    struct panel_data d = panel_simulate(SERIES, 8, 0.5, 17);
    double *z = normals(SERIES, 18);
    for (size_t k = 0; k < SERIES; k++)
        for (size_t i = 0; i < d.rows; i++)
            d.x[k][i] += 0.8 * z[k] * d.gap * (double)i;
    mem_free(z);
    gsv_series *s = panel_series(&d, "x");
    gsv_model *m = model_of("state x\nparam m = 0.1, w = 0.5 > 0, s = 1 > 0\n"
                            "random u ~ normal(m, w)\ndx = u*dt + s*dW\n");
    gsv_fit_options o = gsv_fit_options_default();
    double known[SERIES], error[SERIES];
    o.estimator.threads = 1;
    assert_int_equal(gsv_fit(m, s, &o), 0);
    const gsv_record *r = gsv_model_record(m);
    const double *v = gsv_model_value(m);
    double best = 0.0;
    for (size_t k = 0; k < SERIES; k++)
        best += mixed(d.rows, d.x[k], d.gap, v[0], v[1], v[2]);
    assert_near(r->loglik, best, 1e-5);
    for (size_t i = 0; i < 3; i++)
        for (int side = -1; side <= 1; side += 2) {
            double p[] = {v[0], v[1], v[2]}, there = 0.0;
            p[i] += 0.05 * side * (i ? v[i] : 0.2);
            for (size_t k = 0; k < SERIES; k++)
                there += mixed(d.rows, d.x[k], d.gap, p[0], p[1], p[2]);
            assert_true(there < best);
        }
    assert_int_equal(r->effects, 1);
    assert_int_equal(effects_estimate(m, s, &o.estimator, NULL, known, error),
                     0);
    for (size_t k = 0; k < SERIES; k++) {
        assert_near(r->effect[k], known[k], 1e-5);
        assert_true(r->effect[SERIES + k] >= error[k] - 1e-6);
    }
    gsv_model_free(m);
    gsv_series_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(panel__is_a_sum_over_3001_points),
        cmocka_unit_test(effects__are_posterior_means),
        cmocka_unit_test(panel__has_correlated_effects),
        cmocka_unit_test(panel__is_exact_for_linear_mixed_models),
        cmocka_unit_test(
            panel__without_deviation_is_the_likelihood_at_the_mean),
        cmocka_unit_test(panel__of_logistic_growth_is_a_sum_over_its_effect),
        cmocka_unit_test(panel__draws_many_effects),
        cmocka_unit_test(simulations__draw_effects_for_each_series),
        cmocka_unit_test(fits__find_the_law_of_effects),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
