/* SPDX-License-Identifier: MIT */
/* Drifts by regression: gradient matching against least squares in closed form,
 * linear bridges against the exact maximum of the likelihood. */
#include "learn.h"

static gsv_fit_options match_options(enum gsv_objective objective)
{
    gsv_fit_options o = fit_options();
    o.objective = objective;
    return o;
}

static const enum gsv_objective BOTH[] = {GSV_OBJECTIVE_GRADIENT_MATCHING,
                                          GSV_OBJECTIVE_EM_LINEAR};

/* --- Gradient matching ---------------------------------------------------- */

/* Least squares of increments a gap, (x' - x) / h, on a line in x, with weights
 * h: slope and level, and the quadratic variation that is left. */
struct line {
    double slope, level, noise;
};

static struct line regress(const gsv_series *s)
{
    double w = 0.0, x = 0.0, y = 0.0, xx = 0.0, xy = 0.0, left = 0.0;
    size_t n = s->rows - 1;
    for (size_t i = 0; i < n; i++) {
        double h = s->time[i + 1] - s->time[i], move;
        move = s->value[i + 1] - s->value[i];
        w += h;
        x += h * s->value[i];
        y += move;
        xx += h * s->value[i] * s->value[i];
        xy += move * s->value[i];
    }
    struct line l = {.slope = (xy - x * y / w) / (xx - x * x / w)};
    l.level = (y - l.slope * x) / w;
    for (size_t i = 0; i < n; i++) {
        double h = s->time[i + 1] - s->time[i];
        double r = s->value[i + 1] - s->value[i] -
                   h * (l.level + l.slope * s->value[i]);
        left += r * r / h;
    }
    l.noise = sqrt(left / (double)n);
    return l;
}

static void gradient_matching__is_least_squares(void **state)
{
    (void)state;
    gsv_model *m = model_of(LEARN_OU);
    gsv_series *s = learn_ou(m, 1, 200, 4);
    gsv_fit_options o = match_options(GSV_OBJECTIVE_GRADIENT_MATCHING);
    const gsv_record *r = fit_must(m, s, &o);
    struct line l = regress(s);
    assert_near(value_of(m, "k"), -l.slope, 1e-5);
    assert_near(value_of(m, "mu"), -l.level / l.slope, 1e-5);
    assert_near(value_of(m, "s"), l.noise, 1e-5);
    /* The log-likelihood beside it is the true one, and lower than it can be.
     */
    double p[] = {value_of(m, "k"), value_of(m, "mu"), value_of(m, "s")};
    assert_near(r->loglik, learn_ou_loglik(s, p), 1e-6);
    assert_int_equal(r->objective, GSV_OBJECTIVE_GRADIENT_MATCHING);
    assert_int_equal(r->errors, GSV_ERRORS_NONE);
    assert_true(isfinite(r->value) && isnan(r->aic) && isnan(r->mse));
    gsv_series_free(s);
    gsv_model_free(m);
}

/* In unit-diffusion coordinates increments of a geometric Brownian motion are
 * those of its logarithm, and nothing is lost by one step. */
static void gradient_matching__goes_through_the_map(void **state)
{
    (void)state;
    gsv_model *m = model_of("state x\n param a = 0.1, s = 1 > 0\n"
                            "dx = a*x*dt + s*x*dW");
    gsv_series *s = walk_of(m, 1, 100, 0.3, 8);
    double move = 0.0, left = 0.0, all = s->time[99] - s->time[0];
    for (size_t i = 0; i < 100; i++)
        s->value[i] = exp(0.4 * s->value[i] + 0.2 * s->time[i]);
    move = log(s->value[99] / s->value[0]) / all;
    for (size_t i = 1; i < 100; i++) {
        double h = s->time[i] - s->time[i - 1];
        double r = log(s->value[i] / s->value[i - 1]) - h * move;
        left += r * r / h / 99.0;
    }
    for (size_t k = 0; k < 2; k++) {
        gsv_fit_options o = match_options(BOTH[k]);
        gsv_model *n = model_of(gsv_model_text(m));
        fit_must(n, s, &o);
        assert_near(value_of(n, "s"), sqrt(left), 1e-5);
        assert_near(value_of(n, "a"), move + 0.5 * left, 1e-5);
        gsv_model_free(n);
    }
    gsv_series_free(s);
    gsv_model_free(m);
}

/* Without a map it is Euler's chain in the data's own coordinates. */
static void gradient_matching__needs_no_map(void **state)
{
    (void)state;
    gsv_model *m = model_of("state x, y\n param k = 0.1\n"
                            "dx = -k*x*dt + dW1 + 0.3*y*dW2\n"
                            "dy = -y*dt + 0.2*x*dW1 + dW2");
    gsv_series *s = walk_of(m, 1, 40, 0.3, 8);
    gsv_fit_options o = match_options(GSV_OBJECTIVE_GRADIENT_MATCHING);
    double up = 0.0, down = 0.0;
    const double *x = s->value, *y = s->value + s->rows;
    fit_must(m, s, &o);
    /* Weighted least squares, by the inverse covariance of an increment. */
    for (size_t i = 0; i + 1 < s->rows; i++) {
        double h = s->time[i + 1] - s->time[i];
        double a = 1.0 + 0.09 * y[i] * y[i], b = 0.2 * x[i] + 0.3 * y[i];
        double c = 0.04 * x[i] * x[i] + 1.0, det = a * c - b * b;
        double r = y[i + 1] - y[i] + y[i] * h, g = -x[i];
        up += g * (c * (x[i + 1] - x[i]) - b * r) / det;
        down += g * g * h * c / det;
    }
    assert_near(value_of(m, "k"), up / down, 1e-6);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* --- Linear bridges ------------------------------------------------------- */

static void em_linear__ends_at_the_exact_maximum(void **state)
{
    (void)state;
    gsv_model *m = model_of(LEARN_OU);
    gsv_series *s = learn_ou(m, 2, 150, 4);
    struct learn_peak peak = {.n = 3, .at = {1.3, 0.4, 0.7}};
    gsv_fit_options o = match_options(GSV_OBJECTIVE_EM_LINEAR);
    learn_maximum(learn_ou_loglik, s, &peak);
    const gsv_record *r = fit_must(m, s, &o);
    static const char *const NAME[] = {"k", "mu", "s"};
    for (size_t i = 0; i < 3; i++) /* a thousandth of a standard error */
        assert_near(value_of(m, NAME[i]), peak.at[i],
                    1e-3 * sqrt(peak.cov[i * 4]));
    assert_near(r->value, peak.value, 1e-5);
    assert_near(r->loglik, peak.value, 1e-5);
    assert_int_equal(r->ended, GSV_ENDED_CONVERGED);
    gsv_series_free(s);
    gsv_model_free(m);
}

struct climb {
    double last;
    size_t rows;
};

static bool note_climb(void *user, const gsv_progress *p)
{
    struct climb *c = user;
    if (p->loglik < c->last - 1e-12 * fabs(c->last))
        fail_msg("iteration %zu: %.15g after %.15g", p->iteration, p->loglik,
                 c->last);
    c->last = p->loglik;
    c->rows++;
    return false;
}

/* Where bridges are exact, both steps raise the free energy. */
static void em_linear__never_loses(void **state)
{
    (void)state;
    gsv_model *m = model_of(LEARN_OU);
    gsv_series *s = learn_ou(m, 1, 100, 6);
    struct climb c = {.last = -INFINITY};
    gsv_fit_options o = match_options(GSV_OBJECTIVE_EM_LINEAR);
    o.progress = note_climb;
    o.user = &c;
    fit_must(m, s, &o);
    assert_true(c.rows > 10);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* At its end the M-step has nothing to gain: the slope of the bound with
 * references that stay is zero, for a drift that is not linear, too. */
static void em_linear__ends_where_the_regression_stands_still(void **state)
{
    (void)state;
    gsv_model *m = model_of(LEARN_WELL);
    gsv_series *s = learn_well(m, 1, 200, 3);
    gsv_fit_options o = match_options(GSV_OBJECTIVE_EM_LINEAR);
    const gsv_record *record = fit_must(m, s, &o);
    gsv_options at = default_options();
    at.form = GSV_FORM_BOUND;
    at.steps = 6;
    at.gradient = true;
    gsv_result r = loglik_of(m, s, &at);
    assert_near(r.loglik, record->value, 1e-9);
    for (size_t i = 0; i < r.values; i++)
        assert_near(r.gradient[i], 0.0, 1e-2);
    assert_true(record->value < record->loglik + 3.0 * record->error + 1e-3);
    gsv_result_free(&r);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* --- Every kind of model -------------------------------------------------- */

/* One step against brownian is what it is called: the same bits. */
static void gradient_matching__is_a_name_for_one_step(void **state)
{
    (void)state;
    static const char *const MODEL[] = {LEARN_NET,
                                        "state x\n gp f(x) -> 1 : grid 12 rbf\n"
                                        "param s = 1 > 0\n dx = f*dt + s*dW"};
    for (size_t k = 0; k < COUNT(MODEL); k++) {
        gsv_model *a = model_of(MODEL[k]), *b = model_of(MODEL[k]);
        gsv_series *s = learn_well(a, 1, 201, 3);
        gsv_fit_options o = match_options(GSV_OBJECTIVE_GRADIENT_MATCHING);
        o.iterations = 40;
        const gsv_record *r = fit_must(a, s, &o);
        assert_true(isfinite(r->loglik));
        o.objective = GSV_OBJECTIVE_LIKELIHOOD;
        o.estimator.reference = GSV_REFERENCE_BROWNIAN;
        o.estimator.form = GSV_FORM_ITO;
        o.estimator.steps = o.estimator.paths = 1;
        const gsv_record *one = fit_must(b, s, &o);
        assert_true(same_bits(gsv_model_values(a), gsv_model_value(a),
                              gsv_model_value(b)));
        assert_near(r->value, one->loglik, 1e-9);
        gsv_series_free(s);
        gsv_model_free(a);
        gsv_model_free(b);
    }
}

/* The drift is linear and the network starts with nothing to say of it: what it
 * learns comes near to the exact maximum of the form that is true. */
static void em_linear__learns_networks(void **state)
{
    (void)state;
    gsv_model *m = model_of("state x\n net f(x) -> 1 : 8 silu\n"
                            "param s = 1 > 0\n dx = f*dt + s*dW");
    gsv_model *ou = model_of(LEARN_OU);
    gsv_series *s = learn_ou(ou, 1, 400, 4);
    struct learn_peak peak = {.n = 3, .at = {1.3, 0.4, 0.7}};
    gsv_fit_options o = match_options(GSV_OBJECTIVE_EM_LINEAR);
    learn_maximum(learn_ou_loglik, s, &peak);
    o.iterations = 100;
    o.optimizer = GSV_OPTIMIZER_LBFGS;
    const gsv_record *r = fit_must(m, s, &o);

    /* Networks have more numbers: a few nats to gain, none to lose. */
    assert_true(r->value > peak.value - 1.0 && r->value < peak.value + 8.0);
    assert_near(value_of(m, "s"), peak.at[2], 2.0 * sqrt(peak.cov[8]));
    gsv_series_free(s);
    gsv_model_free(ou);
    gsv_model_free(m);
}

/* Of a gp, too: its evidence, with the bound in the likelihood's place. */
static void em_linear__learns_gps(void **state)
{
    (void)state;
    gsv_model *m = model_of("state x\n gp f(x) -> 1 : grid 12 rbf + linear\n"
                            "param s = 1 > 0\n dx = f*dt + s*dW");
    gsv_model *ou = model_of(LEARN_OU);
    gsv_series *s = learn_ou(ou, 1, 400, 4);
    struct learn_peak peak = {.n = 3, .at = {1.3, 0.4, 0.7}};
    gsv_fit_options o = match_options(GSV_OBJECTIVE_EM_LINEAR);
    learn_maximum(learn_ou_loglik, s, &peak);
    const gsv_record *r = fit_must(m, s, &o);
    assert_int_equal(r->optimizer, GSV_OPTIMIZER_EVIDENCE);
    assert_true(isfinite(r->evidence) && r->evidence < r->value);
    assert_true(r->value > peak.value - 1.0 && r->value < peak.value + 8.0);
    assert_near(value_of(m, "s"), peak.at[2], sqrt(peak.cov[8]));
    gsv_series_free(s);
    gsv_model_free(ou);
    gsv_model_free(m);
}

/* --- Resuming, memory, refusals ------------------------------------------- */

static bool stop_at_seven(void *user, const gsv_progress *p)
{
    (void)user;
    return p->iteration == 7;
}

static void expect_resumed(enum gsv_objective objective, const char *text)
{
    gsv_model *whole = model_of(text), *part = model_of(text);
    gsv_model *rest = model_of(text);
    gsv_series *s = learn_well(whole, 1, 101, 3);
    gsv_fit_options o = match_options(objective);
    o.iterations = 30;
    fit_must(whole, s, &o);
    o.checkpoint = "a.fit";
    o.progress = stop_at_seven;
    assert_int_equal(fit_must(part, s, &o)->ended, GSV_ENDED_STOPPED);
    o.checkpoint = NULL;
    o.progress = NULL;
    o.resume = "a.fit";
    fit_must(rest, s, &o);
    assert_same_fit(rest, whole);
    gsv_series_free(s);
    gsv_model_free(whole);
    gsv_model_free(part);
    gsv_model_free(rest);
}

static void both__resume_to_the_same_bits(void **state)
{
    (void)state;
    for (size_t k = 0; k < 2; k++)
        expect_resumed(BOTH[k], LEARN_NET);
    expect_resumed(GSV_OBJECTIVE_EM_LINEAR, LEARN_WELL);
}

static void both__survive_when_memory_runs_out(void **state)
{
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        int status = GSV_NO_MEMORY;
        size_t n = 0;
        while (status) {
            gsv_model *m = model_of("state x\n param k = 1, s = 1 > 0\n"
                                    "dx = -k*x*dt + s*dW");
            gsv_series *s = learn_well(m, 1, 6, 2);
            gsv_fit_options o = match_options(BOTH[k]);
            o.iterations = 3;
            mem_fail_at(++n);
            status = gsv_fit(m, s, &o);
            mem_fail_at(0);
            assert_true(!status || status == GSV_NO_MEMORY);
            gsv_series_free(s);
            gsv_model_free(m);
        }
        assert_true(n > 50);
    }
}

static void both__say_what_does_not_go_with_them(void **state)
{
    (void)state;
    gsv_model *m = model_of(LEARN_WELL);
    gsv_series *s = learn_well(m, 1, 6, 2);
    for (size_t k = 0; k < 2; k++) {
        gsv_fit_options o = match_options(BOTH[k]);
        o.errors = GSV_ERRORS_OBSERVED;
        expect_error(gsv_fit(m, s, &o), GSV_BAD_INPUT, "standard errors");
        o = match_options(BOTH[k]);
        o.estimator.paths = 8;
        expect_error(gsv_fit(m, s, &o), GSV_BAD_INPUT, "paths");
        o = match_options(BOTH[k]);
        o.method = GSV_METHOD_GIBBS;
        expect_error(gsv_fit(m, s, &o), GSV_BAD_INPUT, "gibbs");
        o = match_options(BOTH[k]);
        o.estimator.step = 0.1;
        expect_error(gsv_fit(m, s, &o), GSV_BAD_INPUT, "step");
    }
    gsv_fit_options bound = fit_options();
    bound.estimator.form = GSV_FORM_BOUND;
    expect_error(gsv_fit(m, s, &bound), GSV_BAD_INPUT, "em-linear");
    gsv_series_free(s);
    gsv_model_free(m);
    m = model_of("state x, y\n dx = dW1 + y*dW2\n dy = x*dW1 + dW2");
    s = learn_well(m, 1, 6, 2);
    gsv_fit_options o = match_options(GSV_OBJECTIVE_EM_LINEAR);
    expect_error(gsv_fit(m, s, &o), GSV_BAD_INPUT, "map to unit diffusion");
    gsv_series_free(s);
    gsv_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradient_matching__is_least_squares),
        cmocka_unit_test(gradient_matching__goes_through_the_map),
        cmocka_unit_test(gradient_matching__needs_no_map),
        cmocka_unit_test(em_linear__ends_at_the_exact_maximum),
        cmocka_unit_test(em_linear__never_loses),
        cmocka_unit_test(em_linear__ends_where_the_regression_stands_still),
        cmocka_unit_test(gradient_matching__is_a_name_for_one_step),
        cmocka_unit_test(em_linear__learns_networks),
        cmocka_unit_test(em_linear__learns_gps),
        cmocka_unit_test(both__resume_to_the_same_bits),
        cmocka_unit_test(both__survive_when_memory_runs_out),
        cmocka_unit_test(both__say_what_does_not_go_with_them),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
