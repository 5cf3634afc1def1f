/* SPDX-License-Identifier: MIT */
/* Posteriors by chains against exact ones: in closed form, and on grids over
 * exact likelihoods. Tolerances are the draws' own standard errors. */
#include "learn.h"
#include "observe_exact.h"

static gsv_fit_options gibbs_options(void)
{
    gsv_fit_options o = fit_options();
    o.method = GSV_METHOD_GIBBS;
    return o;
}

static double posterior(const gsv_record *r, enum gsv_posterior row, size_t at)
{
    return r->posterior[(size_t)row * r->values + at];
}

/* Mean and deviation of one number. The deviation of a standard deviation is
 * about sd / sqrt(2 ess) for a normal law; skewed ones are given twice that. */
#define expect_posterior(m, r, name, mean, sd)                                 \
    expect_posterior_at(__LINE__, (m), (r), (name), (mean), (sd))
static void expect_posterior_at(int line, const gsv_model *m,
                                const gsv_record *r, const char *name,
                                double mean, double sd)
{
    size_t at = param_named(m, name).offset;
    double ess = posterior(r, GSV_POSTERIOR_ESS_BULK, at);
    if (!(ess > 300.0 && posterior(r, GSV_POSTERIOR_RHAT, at) < 1.02))
        fail_msg("line %d: %s has mixed badly: ess %g, R-hat %g", line, name,
                 ess, posterior(r, GSV_POSTERIOR_RHAT, at));
    near_at(line, gsv_model_value(m)[at], mean, 4.0 * sd / sqrt(ess));
    near_at(line, r->error_of[at], sd, 4.0 * 2.0 * sd / sqrt(2.0 * ess));
}

/* --- Closed forms -----------------------------------------------------------
 */

static const char DRIFTING[] = "state x\n param mu = 0, s = 1 > 0\n"
                               "dx = mu*dt + s*dW";

/* With s known, mu is normal: precision T/s^2, and that of its prior. */
static void mean__of_a_drift_is_normal(void **state)
{
    (void)state;
    gsv_model *m = model_of(DRIFTING);
    gsv_series *s = walk_of(m, 1, 20, 0.5, 3);
    double T = s->time[19] - s->time[0], rise = s->value[19] - s->value[0];
    const gsv_prior prior = {"mu", GSV_LAW_NORMAL, 2.0, 0.2};
    const char *const fix[] = {"s"};
    gsv_fit_options o = gibbs_options();
    o.fix = fix;
    o.fixed = 1;
    for (size_t with = 0; with < 2; with++) {
        double precision = T + (with ? 25.0 : 0.0);
        o.priors = with;
        o.prior = &prior;
        const gsv_record *r = fit_must(m, s, &o);
        expect_posterior(m, r, "mu", (rise + (with ? 50.0 : 0.0)) / precision,
                         sqrt(1.0 / precision));
        assert_int_equal(r->errors, GSV_ERRORS_POSTERIOR);
        assert_true(isnan(r->error_of[1]) && isnan(r->aic));
        const gsv_draws *d = gsv_model_draws(m);
        assert_int_equal(d->numbers, 1);
        assert_int_equal(d->place[0], 0);
    }
    gsv_series_free(s);
    gsv_model_free(m);
}

/* With mu = 0, s^2 is inverse gamma. Few rows, so that what the map s = exp
 * does to the density counts: a flat prior of theta would give n instead of
 * n - 1, off by 7 % of the mean. */
static void noise__has_the_density_of_its_own_units(void **state)
{
    (void)state;
    enum { N = 9 };
    gsv_model *m = model_of(DRIFTING);
    gsv_series *s = walk_of(m, 1, N + 1, 0.5, 4);
    double squares = 0.0;
    for (size_t i = 0; i < N; i++) {
        double step = s->value[i + 1] - s->value[i];
        squares += step * step / (s->time[i + 1] - s->time[i]);
    }
    const char *const fix[] = {"mu"};
    gsv_fit_options o = gibbs_options();
    o.fix = fix;
    o.fixed = 1;
    const gsv_record *r = fit_must(m, s, &o);
    /* p(s) ~ s^-n exp(-Q / 2 s^2): moments of s^2 ~ IG((n - 1)/2, Q/2) */
    double shape = 0.5 * (N - 1), half = 0.5 * squares;
    double mean = sqrt(half) * tgamma(shape - 0.5) / tgamma(shape);
    double sd = sqrt(half / (shape - 1.0) - mean * mean);
    expect_posterior(m, r, "s", mean, sd);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* --- Grids -------------------------------------------------------------------
 */

struct moments {
    double mean[2], sd[2];
};

/* Of p on a grid over two numbers, by its logarithm. */
typedef double (*log_density)(const void *context, double a, double b);

static struct moments moments_of(log_density f, const void *context,
                                 const double low[2], const double high[2])
{
    enum { N = 120 };
    static double log_p[N * N];
    double most = -INFINITY, sum[5] = {0};
    for (size_t k = 0; k < 2; k++) /* once for the largest */
        for (size_t i = 0; i < N * N; i++) {
            double a =
                low[0] + (high[0] - low[0]) * ((double)(i / N) + 0.5) / N;
            double b =
                low[1] + (high[1] - low[1]) * ((double)(i % N) + 0.5) / N;
            if (!k) most = fmax(most, log_p[i] = f(context, a, b));
            double p = exp(log_p[i] - most);
            double part[] = {p, p * a, p * a * a, p * b, p * b * b};
            for (size_t q = 0; k && q < 5; q++)
                sum[q] += part[q];
        }
    struct moments m = {{sum[1] / sum[0], sum[3] / sum[0]}, {0}};
    m.sd[0] = sqrt(sum[2] / sum[0] - m.mean[0] * m.mean[0]);
    m.sd[1] = sqrt(sum[4] / sum[0] - m.mean[1] * m.mean[1]);
    return m;
}

struct pulled {
    const gsv_series *s;
    size_t M; /* Euler's steps; 0: exactly */
};

static double pulled_density(const void *context, double k, double sigma)
{
    const struct pulled *p = context;
    double sum = 0.0;
    for (size_t i = 1; i < p->s->rows; i++) {
        double x = p->s->value[i - 1], y = p->s->value[i];
        double h = p->s->time[i] - p->s->time[i - 1];
        sum += p->M ? exact_ou_euler(x, y, k, sigma, h, p->M)
                    : exact_ou(x, y, k, sigma, h);
    }
    return sum;
}

static const char PULLED[] = "state x\n param k = 1 > 0, s = 1 > 0\n"
                             "dx = -k*x*dt + s*dW";
static const double LOW[] = {0.001, 0.4}, HIGH[] = {4.0, 1.6};

/* The fit chooses one step and the exact density by itself. */
static void pull__has_the_posterior_of_a_grid(void **state)
{
    (void)state;
    gsv_model *m = model_of(PULLED);
    gsv_series *s = learn_ou(m, 1, 60, 3);
    struct pulled p = {s, 0};
    struct moments exact = moments_of(pulled_density, &p, LOW, HIGH);
    gsv_fit_options o = gibbs_options();
    const gsv_record *r = fit_must(m, s, &o);
    expect_posterior(m, r, "k", exact.mean[0], exact.sd[0]);
    expect_posterior(m, r, "s", exact.mean[1], exact.sd[1]);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* Brownian bridges in left sums estimate the density of Euler's chain. By two
 * paths a gap, they do it badly; the posterior must be exact all the same, and
 * so it must with whole series for units. */
static void pull__is_exact_with_few_paths(void **state)
{
    (void)state;
    gsv_model *m = model_of(PULLED);
    gsv_series *s = learn_ou(m, 1, 40, 3);
    struct pulled p = {s, 4};
    struct moments exact = moments_of(pulled_density, &p, LOW, HIGH);
    gsv_fit_options o = gibbs_options();
    o.estimator = usual_options();
    o.estimator.paths = 2;
    o.estimator.steps = 4;
    for (int joint = 0; joint < 2; joint++) {
        o.estimator.joint = joint;
        o.estimator.paths = joint ? 16 : 2;
        gsv_model *fresh = model_of(PULLED);
        const gsv_record *r = fit_must(fresh, s, &o);
        expect_posterior(fresh, r, "k", exact.mean[0], exact.sd[0]);
        expect_posterior(fresh, r, "s", exact.mean[1], exact.sd[1]);
        gsv_model_free(fresh);
    }
    gsv_series_free(s);
    gsv_model_free(m);
}

/* --- Noisy observations ------------------------------------------------------
 */

enum { ROWS = 20 };

struct seen {
    double t[ROWS], y[ROWS];
};

static struct exact_linear linear_of(double k, double e)
{
    return (struct exact_linear){.d = 1,
                                 .noises = 1,
                                 .outputs = 1,
                                 .A = {-k},
                                 .G = {0.7},
                                 .H = {1.0},
                                 .r = {e},
                                 .P0 = {1.0}};
}

/* With the priors of the test below. */
static double seen_density(const void *context, double k, double e)
{
    const struct seen *data = context;
    struct exact_linear m = linear_of(k, e);
    return exact_kalman(&m, ROWS, data->t, data->y, NULL) - k -
           0.5 * pow((log(e) + 1.0) / 0.5, 2.0) - log(e);
}

static void noisy__has_the_posterior_of_a_grid(void **state)
{
    (void)state;
    static const char text[] = "state x\n param k = 1 > 0, e = 0.3 > 0\n"
                               "dx = -k*x*dt + 0.7*dW\n obs y ~ normal(x, e)\n"
                               "init x ~ normal(0, 1)";
    static const double low[] = {0.001, 0.02}, high[] = {8.0, 1.2};
    static const char *const column[] = {"y"};
    struct seen data;
    double x[ROWS];
    struct exact_linear truth = linear_of(1.2, 0.3);
    exact_times(ROWS, 0.4, 0.1, data.t);
    exact_linear_data(&truth, ROWS, data.t, 5, x, data.y);
    struct moments exact = moments_of(seen_density, &data, low, high);
    const size_t start[] = {0, ROWS};
    gsv_series *s = gsv_series_new(1, start, 1, column, data.t, data.y);
    gsv_model *m = model_of(text);
    const gsv_prior prior[] = {{"k", GSV_LAW_EXPONENTIAL, 1.0, 0.0},
                               {"e", GSV_LAW_LOGNORMAL, -1.0, 0.5}};
    gsv_fit_options o = gibbs_options();
    o.prior = prior;
    o.priors = COUNT(prior);
    o.warmup = 200;
    o.draws = 400;
    const gsv_record *r = fit_must(m, s, &o);
    expect_posterior(m, r, "k", exact.mean[0], exact.sd[0]);
    expect_posterior(m, r, "e", exact.mean[1], exact.sd[1]);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* --- Draws -------------------------------------------------------------------
 */

static void draws__do_not_depend_on_threads(void **state)
{
    (void)state;
    gsv_draws kept[2] = {{0}};
    gsv_model *m[2];
    for (size_t i = 0; i < 2; i++) {
        m[i] = model_of(PULLED);
        gsv_series *s = learn_ou(m[i], 2, 30, 3);
        gsv_fit_options o = gibbs_options();
        o.estimator.paths = 256; /* more than threads are not woken for */
        o.estimator.steps = 4;
        o.estimator.threads = i ? 3 : 1;
        o.warmup = o.draws = 10;
        fit_must(m[i], s, &o);
        kept[i] = *gsv_model_draws(m[i]);
        gsv_series_free(s);
    }
    size_t n = kept[0].chains * kept[0].draws;
    assert_true(same_bits(n * kept[0].numbers, kept[0].value, kept[1].value));
    assert_true(same_bits(n, kept[0].lp, kept[1].lp));
    gsv_model_free(m[0]);
    gsv_model_free(m[1]);
}

/* Ends in the middle of the draws. */
static bool stop_at(void *user, const gsv_progress *p)
{
    return p->iterations == 150 && p->iteration == *(const size_t *)user;
}

static void draws__are_kept_when_stopped(void **state)
{
    (void)state;
    gsv_model *whole = model_of(PULLED), *part = model_of(PULLED);
    gsv_series *s = learn_ou(whole, 1, 30, 3);
    gsv_fit_options o = gibbs_options();
    size_t last = 120;
    o.warmup = 50;
    o.draws = 100;
    fit_must(whole, s, &o);
    o.progress = stop_at;
    o.user = &last;
    const gsv_record *r = fit_must(part, s, &o);
    assert_int_equal(r->ended, GSV_ENDED_STOPPED);
    assert_int_equal(r->draws, 70);
    const gsv_draws *a = gsv_model_draws(whole), *b = gsv_model_draws(part);
    assert_int_equal(b->draws, 70);
    for (size_t row = 0; row < b->numbers * b->chains; row++)
        assert_true(same_bits(70, a->value + row * 100, b->value + row * 70));
    /* Before the first draw there are none, and a fit without them. */
    last = 20;
    r = fit_must(part, s, &o);
    assert_null(gsv_model_draws(part));
    assert_int_equal(r->draws, 0);
    gsv_series_free(s);
    gsv_model_free(whole);
    gsv_model_free(part);
}

static void record__comes_back_from_a_file(void **state)
{
    (void)state;
    gsv_model *m = model_of(PULLED);
    gsv_series *s = learn_ou(m, 1, 30, 3);
    gsv_fit_options o = gibbs_options();
    o.warmup = o.draws = 50;
    o.chains = 2;
    const gsv_record *r = fit_must(m, s, &o);
    assert_int_equal(gsv_model_write(m, "m.fit"), 0);
    gsv_model *back = gsv_model_read("m.fit");
    assert_non_null(back);
    const gsv_record *q = gsv_model_record(back);
    assert_true(q->chains == 2 && q->draws == 50 && q->warmup == 50);
    assert_int_equal(q->errors, GSV_ERRORS_POSTERIOR);
    assert_true(
        same_bits(GSV_POSTERIORS * r->values, r->posterior, q->posterior));
    assert_null(gsv_model_draws(back));
    assert_int_equal(remove("m.fit"), 0);
    gsv_model_free(back);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* A prior that excludes the largest likelihood. */
static void prior__is_obeyed(void **state)
{
    (void)state;
    gsv_model *m = model_of(PULLED);
    gsv_series *s = learn_ou(m, 1, 60, 3);
    const gsv_prior prior = {"k", GSV_LAW_UNIFORM, 3.0, 3.5};
    gsv_fit_options o = gibbs_options();
    o.prior = &prior;
    o.priors = 1;
    o.draws = 200;
    fit_must(m, s, &o);
    const gsv_draws *d = gsv_model_draws(m);
    for (size_t i = 0; i < d->chains * d->draws; i++)
        assert_true(d->value[i] > 3.0 && d->value[i] < 3.5);
    gsv_series_free(s);
    gsv_model_free(m);
}

static void options__that_do_not_fit_are_refused(void **state)
{
    (void)state;
    gsv_model *m = model_of(PULLED);
    gsv_series *s = learn_ou(m, 1, 10, 3);
    gsv_prior prior = {"k", GSV_LAW_NORMAL, 0.0, -1.0};
    const char *const fix[] = {"k", "s"};
    gsv_fit_options o = gibbs_options();
    o.prior = &prior;
    o.priors = 1;
    expect_error(gsv_fit(m, s, &o), GSV_BAD_INPUT, "'k'", "positive");
    prior = (gsv_prior){"q", GSV_LAW_NORMAL, 0.0, 1.0};
    expect_error(gsv_fit(m, s, &o), GSV_BAD_INPUT, "'q'");
    prior = (gsv_prior){"k", GSV_LAW_UNIFORM, -3.0, -2.0};
    expect_error(gsv_fit(m, s, &o), GSV_BAD_INPUT, "prior", "bounds");
    prior = (gsv_prior){"k", GSV_LAW_UNIFORM, 3.0, 2.0};
    expect_error(gsv_fit(m, s, &o), GSV_BAD_INPUT, "smaller");
    o.method = GSV_METHOD_LIKELIHOOD;
    expect_error(gsv_fit(m, s, &o), GSV_BAD_INPUT, "smaller");
    o = gibbs_options();
    o.fix = fix;
    o.fixed = 2;
    expect_error(gsv_fit(m, s, &o), GSV_BAD_INPUT, "fixed");
    o = gibbs_options();
    o.estimator.richardson = true;
    expect_error(gsv_fit(m, s, &o), GSV_BAD_INPUT, "unbiased");
    assert_null(gsv_model_draws(m));
    gsv_model *net = model_of("state x\n net f(x) -> 1 : 4 tanh\n"
                              "dx = f*dt + dW");
    o = gibbs_options();
    expect_error(gsv_fit(net, s, &o), GSV_BAD_INPUT, "network");
    gsv_model_free(net);
    gsv_series_free(s);
    gsv_model_free(m);
}

static void memory__that_is_missing_is_said(void **state)
{
    (void)state;
    gsv_model *m = model_of(PULLED);
    gsv_series *s = learn_ou(m, 1, 4, 3);
    gsv_fit_options o = gibbs_options();
    int status = GSV_NO_MEMORY;
    o.warmup = o.draws = 4;
    o.chains = 1;
    o.estimator.paths = o.estimator.steps = 2;
    for (size_t n = 1; status; n += n < 40 ? 1 : 7) {
        mem_fail_at(n);
        status = gsv_fit(m, s, &o);
        mem_fail_at(0);
        assert_true(!status || status == GSV_NO_MEMORY);
        assert_true(!status || !gsv_model_draws(m));
    }
    gsv_series_free(s);
    gsv_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mean__of_a_drift_is_normal),
        cmocka_unit_test(noise__has_the_density_of_its_own_units),
        cmocka_unit_test(pull__has_the_posterior_of_a_grid),
        cmocka_unit_test(pull__is_exact_with_few_paths),
        cmocka_unit_test(noisy__has_the_posterior_of_a_grid),
        cmocka_unit_test(draws__do_not_depend_on_threads),
        cmocka_unit_test(draws__are_kept_when_stopped),
        cmocka_unit_test_setup_teardown(record__comes_back_from_a_file,
                                        enter_folder, leave_folder),
        cmocka_unit_test(prior__is_obeyed),
        cmocka_unit_test(options__that_do_not_fit_are_refused),
        cmocka_unit_test(memory__that_is_missing_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
