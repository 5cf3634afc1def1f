/* SPDX-License-Identifier: MIT */
/* Posterior modes against closed forms: ridge regressions, and likelihoods that
 * a flat prior leaves as they are. */
#include "learn.h"

#include "learn/prior.h"
#include "model/theta.h"

enum { ROWS = 41, SIZE = 3 };

/* --- A ridge -------------------------------------------------------------- */

/* Increments are normal with mean h (b . u) and variance h s^2. */
static const char RIDGE[] = "state x\n input u1 hold, u2 hold, u3 hold\n"
                            "param b1 = 0, b2 = 0, b3 = 0\n const s = 0.5\n"
                            "dx = (b1*u1 + b2*u2 + b3*u3)*dt + s*dW\n";

static gsv_series *ridge_data(const gsv_model *m, double likeness)
{
    double time[ROWS], value[(1 + SIZE) * ROWS];
    double *z = normals((1 + SIZE) * ROWS, 11);
    const size_t start[] = {0, ROWS};
    for (size_t i = 0; i < ROWS; i++) {
        time[i] = i ? time[i - 1] + 0.1 + 0.05 * sin((double)i) : 0.0;
        for (size_t k = 0; k < SIZE; k++)
            value[(1 + k) * ROWS + i] =
                likeness * z[i] + (1.0 - likeness) * z[(1 + k) * ROWS + i];
        value[i] = i ? value[i - 1] +
                           (time[i] - time[i - 1]) *
                               (value[ROWS + i - 1] - value[2 * ROWS + i - 1]) +
                           0.15 * z[i]
                     : 0.0;
    }
    gsv_series *s = gsv_series_new(1, start, 1 + SIZE, gsv_model_data_column(m),
                                   time, value);
    assert_non_null(s);
    mem_free(z);
    return s;
}

/* (U'U / s^2 + 1 / sd^2) b = U'y / s^2 + mean / sd^2; cov: the inverse. */
static void ridge_mode(const gsv_series *s, double mean, double sd, double *b,
                       double *cov)
{
    double A[SIZE * SIZE] = {0}, y[SIZE];
    const double precision = 1.0 / (sd * sd), noise = 1.0 / 0.25;
    for (size_t k = 0; k < SIZE; k++) {
        const double *u = s->value + (1 + k) * ROWS;
        y[k] = precision * mean;
        for (size_t i = 0; i + 1 < ROWS; i++) {
            double h = s->time[i + 1] - s->time[i];
            y[k] += noise * u[i] * (s->value[i + 1] - s->value[i]);
            for (size_t j = 0; j < SIZE; j++)
                A[k * SIZE + j] +=
                    noise * h * u[i] * s->value[(1 + j) * ROWS + i];
        }
        A[k * SIZE + k] += precision;
    }
    learn_invert(SIZE, A, cov);
    for (size_t k = 0; k < SIZE; k++) {
        b[k] = 0.0;
        for (size_t j = 0; j < SIZE; j++)
            b[k] += cov[k * SIZE + j] * y[j];
    }
}

static void mode__of_a_ridge_is_its_closed_form(void **state)
{
    static const struct {
        double mean, sd, likeness; /* of the three inputs */
    } CASE[] = {{0, 1, 0},  {0, 0.1, 0},  {2, 0.3, 0},
                {0, 30, 0}, {0, 1, 0.99}, {-1, 0.5, 1}};
    (void)state;
    for (size_t c = 0; c < COUNT(CASE); c++)
        for (int in_text = 0; in_text < 2; in_text++) {
            char text[600], law[80];
            double b[SIZE], cov[SIZE * SIZE];
            snprintf(law, sizeof law, "normal(%g, %g)", CASE[c].mean,
                     CASE[c].sd);
            snprintf(text, sizeof text,
                     "%sprior b1 ~ %s\nprior b2 ~ %s\nprior b3 ~ %s\n", RIDGE,
                     law, law, law);
            gsv_model *m = model_of(in_text ? text : RIDGE);
            gsv_series *s = ridge_data(m, CASE[c].likeness);
            gsv_prior prior[SIZE];
            for (size_t k = 0; k < SIZE; k++)
                prior[k] =
                    (gsv_prior){(const char *[]){"b1", "b2", "b3"}[k],
                                GSV_LAW_NORMAL, CASE[c].mean, CASE[c].sd};
            gsv_fit_options o = fit_options();
            o.prior = prior;
            o.priors = in_text ? 0 : SIZE;
            const gsv_record *r = fit_must(m, s, &o);
            ridge_mode(s, CASE[c].mean, CASE[c].sd, b, cov);
            assert_string_equal(r->warning, "");
            for (size_t k = 0; k < SIZE; k++) {
                double error = sqrt(cov[k * (SIZE + 1)]);
                near_at((int)c, gsv_model_value(m)[k], b[k], 1e-4 * error);
                near_at((int)c, r->error_of[k], error, 1e-4 * error);
            }
            free_both(m, s);
        }
}

/* Adam's steps end near to the mode. */
static void mode__by_batches_is_the_same(void **state)
{
    (void)state;
    gsv_model *m = model_of(RIDGE);
    gsv_series *s = ridge_data(m, 0.0);
    double b[SIZE], cov[SIZE * SIZE];
    const gsv_prior prior[] = {{"b1", GSV_LAW_NORMAL, 1, 0.2},
                               {"b2", GSV_LAW_NORMAL, 1, 0.2},
                               {"b3", GSV_LAW_NORMAL, 1, 0.2}};
    gsv_fit_options o = fit_options();
    o.optimizer = GSV_OPTIMIZER_ADAM;
    o.prior = prior;
    o.priors = SIZE;
    fit_must(m, s, &o);
    ridge_mode(s, 1.0, 0.2, b, cov);
    for (size_t k = 0; k < SIZE; k++)
        assert_near(gsv_model_value(m)[k], b[k],
                    0.03 * sqrt(cov[k * (SIZE + 1)]));
    free_both(m, s);
}

/* Where a batch is all data, the prior counts once. */
static void mode__by_batches_of_hidden_states_is_the_same(void **state)
{
    static const char SEEN[] = "state x\n param k = 1 > 0, mu = 0\n"
                               "dx = k*(mu - x)*dt + 0.5*dW\n"
                               "prior mu ~ normal(1, 0.2)\n"
                               "obs y ~ normal(x, 0.2)\n"
                               "init x ~ normal(0, 1)\n";
    (void)state;
    for (size_t tracks = 1; tracks <= 3; tracks += 2) {
        gsv_model *m = model_of(SEEN), *by_batches = model_of(SEEN);
        gsv_series *s = learn_ou(m, tracks, 25, 2);
        gsv_fit_options o = fit_options();
        mem_free(s->name[0]);
        s->name[0] = mem_string("y");
        o.estimator.observe = GSV_OBSERVE_SCAN;
        double error = fit_must(m, s, &o)->error_of[1];
        o.optimizer = GSV_OPTIMIZER_ADAM;
        o.iterations = 1000;
        o.rate = 0.02;
        o.errors = GSV_ERRORS_NONE;
        fit_must(by_batches, s, &o);
        near_at((int)tracks, gsv_model_value(by_batches)[1],
                gsv_model_value(m)[1], 0.03 * error);
        gsv_model_free(by_batches);
        free_both(m, s);
    }
}

/* A network without a hidden layer is linear in its weights: with the scales
 * that a fit gives it, f = mean + scale (w . v + c), v = (u - mean) / scale. */
static void mode__of_weights_is_that_of_a_ridge(void **state)
{
    static const double SD = 0.3;
    static const char TEXT[] =
        "state x\n input u1 hold, u2 hold, u3 hold\n"
        "net f(u1, u2) -> 1 :\n const s = 0.5\n dx = f*dt + s*dW\n"
        "prior f ~ normal(0, 0.3)";
    double A[SIZE * SIZE] = {0}, cov[SIZE * SIZE], y[SIZE] = {0}, w[SIZE];
    (void)state;
    gsv_model *m = model_of(TEXT);
    gsv_series *s = ridge_data(m, 0.0);
    gsv_fit_options o = fit_options();
    o.heldout = 0.0;
    o.estimator.wide = true;
    o.iterations = 4000;
    const gsv_record *r = fit_must(m, s, &o);
    assert_int_equal(r->priors, SIZE);
    const double *v = gsv_model_value(m);
    const double *in_mean = v + param_named(m, "f.input_mean").offset;
    const double *in_scale = v + param_named(m, "f.input_scale").offset;
    double mean = value_of(m, "f.output_mean");
    double scale = value_of(m, "f.output_scale");
    for (size_t i = 0; i + 1 < ROWS; i++) {
        double h = s->time[i + 1] - s->time[i], row[SIZE] = {0, 0, scale};
        for (size_t k = 0; k < 2; k++)
            row[k] = scale * (s->value[(1 + k) * ROWS + i] - in_mean[k]) /
                     in_scale[k];
        for (size_t k = 0; k < SIZE; k++) {
            y[k] += 4.0 * row[k] * (s->value[i + 1] - s->value[i] - h * mean);
            for (size_t j = 0; j < SIZE; j++)
                A[k * SIZE + j] += 4.0 * h * row[k] * row[j];
        }
    }
    for (size_t k = 0; k < SIZE; k++)
        A[k * (SIZE + 1)] += 1.0 / (SD * SD);
    learn_invert(SIZE, A, cov);
    for (size_t k = 0; k < SIZE; k++) {
        w[k] = 0.0;
        for (size_t j = 0; j < SIZE; j++)
            w[k] += cov[k * SIZE + j] * y[j];
        size_t at = k < 2 ? param_named(m, "f.0.weight").offset + k
                          : param_named(m, "f.0.bias").offset;
        assert_near(v[at], w[k], 0.05 * sqrt(cov[k * (SIZE + 1)]));
    }
    free_both(m, s);
}

/* --- Flat priors ---------------------------------------------------------- */

static void mode__under_a_flat_prior_is_the_largest_likelihood(void **state)
{
    static const struct {
        const char *text;
        enum gsv_optimizer optimizer;
    } CASE[] = {{LEARN_OU, GSV_OPTIMIZER_LBFGS},
                {LEARN_OU, GSV_OPTIMIZER_ADAM},
                {LEARN_WELL, GSV_OPTIMIZER_LBFGS}};
    (void)state;
    for (size_t c = 0; c < COUNT(CASE); c++) {
        gsv_model *a = model_of(CASE[c].text), *b = model_of(CASE[c].text);
        gsv_series *s = c < 2 ? learn_ou(a, 2, 60, 5) : learn_well(a, 2, 60, 5);
        const char *first = gsv_model_param(a, 0).name;
        const gsv_prior flat = {first, GSV_LAW_UNIFORM, -1e9, 1e9};
        gsv_fit_options o = short_options(CASE[c].optimizer);
        const gsv_record *r = fit_must(a, s, &o);
        o.prior = &flat;
        o.priors = 1;
        const gsv_record *q = fit_must(b, s, &o);
        assert_true(same_bits(gsv_model_values(a), gsv_model_value(a),
                              gsv_model_value(b)));
        assert_true(same_bits(1, &r->loglik, &q->loglik));
        assert_true(same_bits(gsv_model_values(a), r->error_of, q->error_of));
        assert_near(q->log_prior, -log(2e9), 1e-12);
        assert_true(isnan(r->log_prior) && isnan(q->aic) && q->priors == 1);
        gsv_model_free(b);
        free_both(a, s);
    }
}

/* --- Densities ------------------------------------------------------------ */

/* Over laws and bounds: the gradient by theta against differences. */
static void gradient__by_theta_is_that_of_differences(void **state)
{
    static const char TEXT[] =
        "state x[2]\n param a = 0.3, b = 0.4 > 0, c = 0.6 < 1, "
        "d = 0.5 in (0, 1), L[2,2] = [0.7, 0, 0.2, 0.9] lower, "
        "v[2] = [0.2, 0.8]\n"
        "dx = (a + b + c + d)*v*dt + L @ dW";
    static const char *const NAME[] = {"a", "b", "c", "d", "L", "v", "v[2]"};
    static const struct {
        enum gsv_law law;
        double a, b;
    } LAW[] = {{GSV_LAW_NORMAL, 1, 0.5}, {GSV_LAW_LOGNORMAL, 0.1, 0.7},
               {GSV_LAW_GAMMA, 2, 3},    {GSV_LAW_BETA, 2, 1.5},
               {GSV_LAW_CAUCHY, 0, 1},   {GSV_LAW_HALFNORMAL, 1, 0}};
    (void)state;
    gsv_model *m = model_of(TEXT);
    size_t n = gsv_theta_size(m);
    bool *fixed = NEW(bool, n);
    size_t *value = NEW(size_t, n);
    double *theta = NEW(double, n), *bar = NEW(double, n);
    theta_places(m, value);
    for (size_t l = 0; l < COUNT(LAW); l++)
        for (size_t k = 0; k < COUNT(NAME); k++) {
            const gsv_prior given = {NAME[k], LAW[l].law, LAW[l].a, LAW[l].b};
            gsv_fit_options o = fit_options();
            o.prior = &given;
            o.priors = 1;
            struct prior p;
            assert_int_equal(prior_init(&p, m, &o, fixed, value), 0);
            double at = 0.0;
            gsv_theta_get(m, theta);
            memset(bar, 0, n * sizeof *bar);
            assert_int_equal(prior_add(&p, 2.0, &at, bar), 0);
            for (size_t i = 0; i < n; i++) {
                double up = 0.0, down = 0.0, kept = theta[i];
                theta[i] = kept + 1e-6;
                gsv_theta_set(m, theta);
                prior_add(&p, 2.0, &up, NULL);
                theta[i] = kept - 1e-6;
                gsv_theta_set(m, theta);
                prior_add(&p, 2.0, &down, NULL);
                theta[i] = kept;
                gsv_theta_set(m, theta);
                double slope = (up - down) / 2e-6;
                near_at((int)k, bar[i], slope, 1e-6 * (1.0 + fabs(slope)));
            }
            prior_free(&p);
        }
    MEM_FREE(fixed, value, theta, bar);
    gsv_model_free(m);
}

/* OU with priors of all its numbers, where likelihood and priors are known. */
static double ou_posterior(const void *context, const double *p)
{
    static const gsv_prior K = {"k", GSV_LAW_LOGNORMAL, 0, 0.3};
    static const gsv_prior MU = {"mu", GSV_LAW_NORMAL, 1, 0.2};
    static const gsv_prior S = {"s", GSV_LAW_GAMMA, 20, 20};
    return learn_ou_loglik(context, p) + prior_log_density(&K, p[0]) +
           prior_log_density(&MU, p[1]) + prior_log_density(&S, p[2]);
}

static void mode__of_a_process_is_that_of_its_exact_posterior(void **state)
{
    static const char TEXT[] = "state x\n param k = 0.5 > 0, mu = 0, "
                               "s = 1 > 0\n dx = k*(mu - x)*dt + s*dW\n"
                               "prior k ~ lognormal(0, 0.3)\n"
                               "prior mu ~ normal(1, 0.2)\n"
                               "prior s ~ gamma(20, 20)";
    (void)state;
    gsv_model *m = model_of(TEXT), *again = model_of(TEXT);
    gsv_series *s = learn_ou(m, 1, 30, 7);
    struct learn_peak q = {.n = 3, .at = {1, 0.7, 0.8}};
    learn_maximum(ou_posterior, s, &q);
    gsv_fit_options o = fit_options();
    const gsv_record *r = fit_must(m, s, &o);
    for (size_t i = 0; i < 3; i++)
        assert_near(gsv_model_value(m)[i], q.at[i], 0.03 * sqrt(q.cov[i * 4]));
    assert_near(r->loglik + r->log_prior, q.value, 1e-3);
    o.estimator.threads = 3;
    fit_must(again, s, &o);
    assert_same_fit(m, again);
    gsv_model_free(again);
    free_both(m, s);
}

/* --- Models that data do not determine ------------------------------------ */

/* Only a + b is seen: the posterior has the sum from data and the difference
 * from the priors. */
static void mode__of_numbers_that_data_do_not_tell_apart_is_found(void **state)
{
    static const char TEXT[] = "state x\n param a = 0, b = 0\n"
                               "dx = (a + b)*dt + dW\n"
                               "prior a ~ normal(1, 0.5)\n"
                               "prior b ~ normal(0, 0.5)";
    (void)state;
    gsv_model *m = model_of(TEXT);
    gsv_series *s = walk_of(m, 1, 40, 0.5, 3);
    double T = s->time[39] - s->time[0], rise = s->value[39] - s->value[0];
    gsv_fit_options o = fit_options();
    const gsv_record *r = fit_must(m, s, &o);
    double off = (rise - T) / (2.0 * T + 4.0); /* of both from their means */
    assert_near(value_of(m, "a"), 1.0 + off, 1e-4);
    assert_near(value_of(m, "b"), off, 1e-4);
    assert_near(r->error_of[0], sqrt((T + 4.0) / (4.0 * (2.0 * T + 4.0))),
                1e-4);
    assert_string_equal(r->warning, "");
    free_both(m, s);
}

/* --- Chains --------------------------------------------------------------- */

static void chains__use_the_priors_of_the_text(void **state)
{
    static const char TEXT[] = "state x\n param mu = 0, s = 1 > 0\n"
                               "dx = mu*dt + s*dW\n";
    char with[200];
    (void)state;
    snprintf(with, sizeof with, "%sprior mu ~ normal(2, 0.2)", TEXT);
    gsv_model *a = model_of(TEXT), *b = model_of(with);
    gsv_series *s = walk_of(a, 1, 20, 0.5, 3);
    const gsv_prior prior = {"mu", GSV_LAW_NORMAL, 2.0, 0.2};
    gsv_fit_options o = fit_options();
    o.method = GSV_METHOD_GIBBS;
    o.draws = o.warmup = 50;
    fit_must(b, s, &o);
    o.prior = &prior;
    o.priors = 1;
    fit_must(a, s, &o);
    const gsv_draws *x = gsv_model_draws(a), *y = gsv_model_draws(b);
    assert_true(same_bits(x->chains * x->draws, x->value, y->value));
    gsv_model_free(b);
    free_both(a, s);
}

/* --- Refusals ------------------------------------------------------------- */

static void prior__that_cannot_be_used_is_refused(void **state)
{
    static const gsv_prior BAD[] = {{"q", GSV_LAW_NORMAL, 0, 1},
                                    {"k", GSV_LAW_NORMAL, 0, -1},
                                    {"k", GSV_LAW_UNIFORM, -3, -2},
                                    {"s", GSV_LAW_NORMAL, 0, 1}};
    static const char *const SAID[] = {"no parameter 'q'", "must be positive",
                                       "outside of its bounds", "fixed"};
    static const char *const FIX[] = {"s"};
    (void)state;
    gsv_model *m = model_of(LEARN_OU);
    gsv_series *s = learn_ou(m, 1, 10, 1);
    gsv_fit_options o = fit_options();
    o.fix = FIX;
    o.fixed = o.priors = 1;
    for (size_t i = 0; i < COUNT(BAD); i++) {
        o.prior = &BAD[i];
        expect_error(gsv_fit(m, s, &o), GSV_BAD_INPUT, SAID[i]);
    }
    static const gsv_prior GOOD = {"k", GSV_LAW_GAMMA, 2, 1};
    o.prior = &GOOD;
    o.objective = GSV_OBJECTIVE_GRADIENT_MATCHING;
    expect_error(gsv_fit(m, s, &o), GSV_BAD_INPUT, "objective likelihood");
    free_both(m, s);
}

static void text__of_a_prior_is_read_as_in_a_model(void **state)
{
    static const struct {
        const char *text, *name;
        enum gsv_law law;
        double a, b;
    } CASE[] = {{"k ~ normal(0, 1/2)", "k", GSV_LAW_NORMAL, 0, 0.5},
                {"A[1, 2]~cauchy(-1,2)", "A[1,2]", GSV_LAW_CAUCHY, -1, 2},
                {"f.0.weight ~ exponential(2)", "f.0.weight",
                 GSV_LAW_EXPONENTIAL, 2, 0}};
    static const char *const BAD[] = {"",
                                      "k",
                                      "~normal(0, 1)",
                                      "k ~ normal(0)",
                                      "k ~ 3",
                                      "k ~ normal(0, q)",
                                      "k ~ normal(0, 1)\nstate x"};
    gsv_prior p;
    (void)state;
    for (size_t i = 0; i < COUNT(CASE); i++) {
        char *name = gsv_prior_parse(CASE[i].text, &p);
        assert_non_null(name);
        assert_string_equal(name, CASE[i].name);
        assert_ptr_equal(p.name, name);
        assert_true(p.law == CASE[i].law && p.a == CASE[i].a &&
                    p.b == CASE[i].b);
        gsv_text_free(name);
    }
    for (size_t i = 0; i < COUNT(BAD); i++)
        assert_null(gsv_prior_parse(BAD[i], &p));
    for (size_t n = 1; n < 200; n++) {
        mem_fail_at(n);
        char *name = gsv_prior_parse("k ~ normal(0, 1)", &p);
        mem_fail_at(0);
        if (!name) continue;
        gsv_text_free(name);
        return;
    }
    fail_msg("an allocation always fails");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mode__of_a_ridge_is_its_closed_form),
        cmocka_unit_test(mode__by_batches_is_the_same),
        cmocka_unit_test(mode__by_batches_of_hidden_states_is_the_same),
        cmocka_unit_test(mode__of_weights_is_that_of_a_ridge),
        cmocka_unit_test(mode__under_a_flat_prior_is_the_largest_likelihood),
        cmocka_unit_test(gradient__by_theta_is_that_of_differences),
        cmocka_unit_test(mode__of_a_process_is_that_of_its_exact_posterior),
        cmocka_unit_test(mode__of_numbers_that_data_do_not_tell_apart_is_found),
        cmocka_unit_test(chains__use_the_priors_of_the_text),
        cmocka_unit_test(prior__that_cannot_be_used_is_refused),
        cmocka_unit_test(text__of_a_prior_is_read_as_in_a_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
