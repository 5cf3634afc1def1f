/* SPDX-License-Identifier: MIT */
/* Random effects around every estimator: gradients, errors of steps, the same
 * bits on threads and ranks, memory that is out. */
#include "gradient.h"
#include "panels.h"
#include "ranks.h"

/* --- Every estimator ------------------------------------------------------ */

static const struct row {
    const char *name, *text, *columns;
    gsv_options o;
} ROWS[] = {
    {"exact", EXACT, "x", {.paths = 4, .steps = 4}},
    {"one step",
     EXACT,
     "x",
     {.paths = 1, .steps = 1, .reference = GSV_REFERENCE_LINEAR}},
    {"logistic",
     "state x\nparam m = -0.5, w = 0.4 > 0, s = 0.3 > 0\n"
     "random b ~ normal(m, w)\ndx = exp(b)*x*(2 - x)*dt + s*x*dW\n",
     "x",
     {.paths = 4, .steps = 4}},
    {"modified",
     "state x\nparam m = 0, w = 0.5 > 0, s = 0.5 > 0\n"
     "random b[2] ~ normal(m, w)\n"
     "dx = -exp(b[1])*x*dt + s*sqrt(1 + x^2)*dW1 + 0.3*exp(b[2])*dW2\n",
     "x",
     {.paths = 4, .steps = 4}},
    {"kalman", NOISY, "y", {.observe = GSV_OBSERVE_AUTO}},
    {"two effects",
     "state x\nparam m = 0, w = 0.5 > 0, v = 0.3 > 0, L[2,2] lower\n"
     "random b ~ normal(m, w)\nrandom c[2] ~ normal([m, 1], L)\n"
     "dx = exp(b)*(c[1] - x)*dt + exp(0.1*c[2])*dW\nobs y ~ normal(x, v)\n"
     "init x ~ normal(c[1], 1)\n",
     "y",
     {.nodes = 3}},
    {"guided",
     "state x\nparam m = 0, w = 0.5 > 0\nrandom b ~ normal(m, w)\n"
     "dx = -exp(b)*x*dt + dW\nobs y ~ normal(x, 0.3)\n"
     "init x ~ normal(0, 1)\n",
     "y",
     {.observe = GSV_OBSERVE_GUIDED, .points = 16, .steps = 1}},
    {"scan",
     "state x\nparam m = 0, w = 0.5 > 0, s = 0.5 > 0\n"
     "random b ~ normal(m, w)\ndx = exp(b)*(x - x^3)*dt + s*dW\n"
     "obs y ~ normal(x, 0.3)\ninit x ~ normal(0, 1)\n",
     "y",
     {.observe = GSV_OBSERVE_SCAN, .points = 8, .steps = 1, .paths = 2}},
    {"network",
     "state x\nparam m = 0, w = 0.5 > 0\nrandom b ~ normal(m, w)\n"
     "net f(x, b) -> 1 : 4 tanh\ndx = f(x, b)*dt + dW\n",
     "x",
     {.paths = 2, .steps = 2}},
    {"hidden network",
     "state x\nparam m = 0, w = 0.5 > 0\nrandom b ~ normal(m, w)\n"
     "net f(x, b) -> 1 : 2 tanh\ndx = f(x, b)*dt + dW\n"
     "obs y ~ normal(x, 0.3)\ninit x ~ normal(0, 1)\n",
     "y",
     {.observe = GSV_OBSERVE_SCAN, .points = 8, .steps = 1, .paths = 2}},
    {"strip",
     "state x, v\nparam m = 0, w = 0.3 > 0, k = 2 > 0, s = 0.3 > 0\n"
     "random b ~ normal(m, w)\ndx = sqrt(v)*dW1\n"
     "dv = k*(exp(b) - v)*dt + s*sqrt(v)*(dW2 - 0.5*dW1)\n"
     "init v ~ gamma(8, 8)\n",
     "x",
     {.observe = GSV_OBSERVE_SCAN, .points = 16, .steps = 1}},
    /* Equations without noise: all seen, positions, linear. */
    {"chain",
     "state x, y\nparam m = 0, w = 0.5 > 0, s = 2 > 0\n"
     "random b ~ normal(m, w)\ndx = y*dt\n"
     "dy = (x - x^3 - exp(b)*y)*dt + s*dW\n",
     "xy",
     {.paths = 4, .steps = 4}},
    {"chain whose map has the effect",
     "state x, y\nparam m = 0, w = 0.5 > 0, s = 2 > 0\n"
     "random b ~ normal(m, w)\ndx = exp(b)*y*dt\n"
     "dy = (sin(x) - y)*dt + s*dW\n",
     "xy",
     {.paths = 4, .steps = 4}},
    {"positions",
     "state x, v\nparam m = 0, w = 0.5 > 0, s = 2 > 0\n"
     "random b ~ normal(m, w)\ndx = v*dt\n"
     "dv = (sin(x) - exp(b)*v)*dt + s*dW\ninit v ~ normal(0, 1)\n",
     "x",
     {.observe = GSV_OBSERVE_GUIDED, .points = 16, .steps = 1}},
    {"linear positions",
     "state x, v\nparam m = 0, w = 0.5 > 0, s = 2 > 0\n"
     "random b ~ normal(m, w)\ndx = v*dt\n"
     "dv = (-x - exp(b)*v)*dt + s*dW\ninit v ~ normal(0, 1)\n",
     "x",
     {.observe = GSV_OBSERVE_AUTO}},
};

static gsv_series *row_series(const struct row *t, size_t series)
{
    struct panel_data d = panel_simulate(series, 6, 0.5, 31);
    for (size_t r = 0; r < d.series; r++)
        for (size_t i = 0; i < d.rows; i++)
            d.x[r][i] =
                !strcmp(t->name, "logistic") ? exp(0.3 * d.x[r][i]) : d.x[r][i];
    return panel_series(&d, t->columns);
}

/* Of the estimator inside. */
static bool has_differences(const struct row *t)
{
    return t->o.observe == GSV_OBSERVE_GUIDED || !strcmp(t->name, "strip");
}

static void every_estimator__has_the_gradient_of_a_panel(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(ROWS); i++) {
        const struct row *t = &ROWS[i];
        gsv_series *s = row_series(t, 3);
        struct gradient_trial trial = {
            .m = gradient_model(t->text), .s = s, .o = t->o};
        trial.o.seed = 1;
        trial.o.threads = 1;
        if (!gradient_agrees(&trial)) {
            /* Of differences inside there is no more than this. */
            bool close = has_differences(t) && trial.off <= 1e-4 * trial.size;
            if (!close)
                fail_msg("%s: off by %g, allowed %g of %g", t->name, trial.off,
                         trial.allowed, trial.size);
        }
        gsv_model_free(trial.m);
        gsv_series_free(s);
    }
}

/* --- Steps ---------------------------------------------------------------- */

/* What steps twice as long would change, over all series and for each of them,
 * also where the number of steps is not given. */
static void panel__says_what_steps_change(void **state)
{
    (void)state;
    static const size_t CHOSEN[] = {2, 3, 8, 11};
    for (size_t i = 0; i < COUNT(CHOSEN); i++) {
        const struct row *t = &ROWS[CHOSEN[i]];
        gsv_series *s = row_series(t, 5);
        gsv_model *m = model_of(t->text);
        gsv_options o = t->o;
        gsv_result fine, long_steps;
        o.threads = 1;
        o.steps = i % 2 ? 0 : 6;
        assert_int_equal(gsv_loglik(m, s, &o, &fine), 0);
        o.steps = fine.steps / 2;
        assert_int_equal(gsv_loglik(m, s, &o, &long_steps), 0);
        assert_near(fine.discretisation, fine.loglik - long_steps.loglik, 1e-9);
        assert_true(fabs(fine.discretisation) > 1e-6);
        assert_int_equal(fine.groups, 5);
        if (!strcmp(t->name, "chain"))
            assert_int_equal(fine.gap[0].form, GSV_FORM_MIDPOINT);
        for (size_t g = 0; g < fine.groups; g++)
            assert_near(fine.gap[g].discretisation,
                        fine.gap[g].loglik - long_steps.gap[g].loglik, 1e-9);
        gsv_result_free(&fine);
        gsv_result_free(&long_steps);
        gsv_model_free(m);
        gsv_series_free(s);
    }
}

/* A tolerance is met by more steps. */
static void panel__takes_steps_until_a_tolerance_is_met(void **state)
{
    (void)state;
    const struct row *t = &ROWS[2];
    gsv_series *s = row_series(t, 5);
    gsv_model *m = model_of(t->text);
    gsv_options o = t->o;
    gsv_result met, fine;
    double w = 0.5;
    o.threads = 1;
    o.steps = 2;
    o.tolerance = 0.02;
    gsv_model_set(m, "w", 1, &w);
    assert_int_equal(gsv_loglik(m, s, &o, &met), 0);
    assert_true(met.settled && met.steps > 2);
    o.tolerance = 0.0;
    o.steps = 8 * met.steps;
    o.paths = 4 * met.paths;
    assert_int_equal(gsv_loglik(m, s, &o, &fine), 0);
    assert_near(met.loglik, fine.loglik, 0.03);
    gsv_result_free(&met);
    gsv_result_free(&fine);
    gsv_model_free(m);
    gsv_series_free(s);
}

/* --- Threads, ranks, memory ----------------------------------------------- */

struct bits {
    double loglik, quadrature, gradient[8];
};

static struct bits run_bits(const struct row *t, const gsv_series *s,
                            size_t threads, gsv_ranks *ranks)
{
    gsv_model *m = model_of(t->text);
    gsv_options o = t->o;
    gsv_result r;
    struct bits b = {0};
    o.seed = 1;
    o.threads = threads;
    o.ranks = ranks;
    o.gradient = true;
    assert_int_equal(gsv_loglik(m, s, &o, &r), 0);
    b.loglik = r.loglik;
    b.quadrature = r.quadrature;
    memcpy(b.gradient, r.gradient,
           (r.values < 8 ? r.values : 8) * sizeof *b.gradient);
    gsv_result_free(&r);
    gsv_model_free(m);
    return b;
}

struct meeting {
    const struct row *row;
    const gsv_series *s;
    struct bits bits[RANKS_MOST];
};

static void act(gsv_ranks *ranks, void *user)
{
    struct meeting *a = user;
    a->bits[ranks->rank] = run_bits(a->row, a->s, 1, ranks);
    gsv_ranks_close(ranks, 0);
}

static void panel__has_the_same_bits_on_threads_and_ranks(void **state)
{
    (void)state;
    static const size_t CHOSEN[] = {0, 1, 4, 6, 11, 13};
    for (size_t i = 0; i < COUNT(CHOSEN); i++) {
        struct meeting a = {.row = &ROWS[CHOSEN[i]]};
        gsv_series *s = row_series(a.row, 7);
        struct bits one = run_bits(a.row, s, 1, NULL);
        a.s = s;
        for (size_t threads = 2; threads <= 3; threads++) {
            struct bits b = run_bits(a.row, s, threads, NULL);
            assert_memory_equal(&b, &one, sizeof one);
        }
        for (size_t ranks = 2; ranks <= 3; ranks++) {
            ranks_act(ranks, act, &a);
            for (size_t k = 0; k < ranks; k++)
                assert_memory_equal(&a.bits[k], &one, sizeof one);
        }
        gsv_series_free(s);
    }
}

static void panel__says_when_memory_is_out(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(ROWS); i += 4) {
        gsv_series *s = row_series(&ROWS[i], 2);
        gsv_model *m = model_of(ROWS[i].text);
        gsv_options o = ROWS[i].o;
        int status;
        size_t n = 1;
        o.threads = 1;
        o.gradient = true;
        do {
            gsv_result r = {0};
            mem_fail_at(n);
            n += 1 + n / 8;
            status = gsv_loglik(m, s, &o, &r);
            mem_fail_at(0);
            gsv_result_free(&r);
            assert_true(status == 0 || status == GSV_NO_MEMORY);
        } while (status || n < 40);
        gsv_model_free(m);
        gsv_series_free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_estimator__has_the_gradient_of_a_panel),
        cmocka_unit_test(panel__says_what_steps_change),
        cmocka_unit_test(panel__takes_steps_until_a_tolerance_is_met),
        cmocka_unit_test(panel__has_the_same_bits_on_threads_and_ranks),
        cmocka_unit_test(panel__says_when_memory_is_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
