/* SPDX-License-Identifier: MIT */
/* Fits of equations without noise. Linear ones have an exact likelihood with
 * one step: its maximum, and the errors from its curvature. */
#include "learn.h"
#include "model/model.h"

struct subject {
    const char *text;
    size_t n;
    double start[2];
};

static const struct subject SUBJECTS[] = {
    {"state x, v\nparam k = 2 > 0, g = 0.5 > 0, s = 0.7 > 0\ndx = v*dt\n"
     "dv = (-k*x - g*v)*dt + s*dW",
     3,
     {1.0, 0.0}},
    {"state x, n\nparam a = 1.2 > 0, b = 3 > 0, s = 0.7 > 0\n"
     "dx = (n - a*x)*dt\ndn = -b*n*dt + b*s*dW",
     3,
     {1.0, 0.0}},
};

static gsv_series *simulate(const gsv_model *m, const struct subject *p,
                            uint64_t seed)
{
    enum { ROWS = 300 };
    double time[ROWS];
    gsv_simulate_options o = gsv_simulate_options_default();
    for (size_t i = 0; i < ROWS; i++)
        time[i] = 0.2 * (double)i + 0.05 * sin((double)i);
    time[0] = 0.0;
    o.times = ROWS;
    o.time = time;
    o.start = p->start;
    o.step = 1e-3;
    o.seed = seed;
    gsv_series *s = gsv_simulate(m, &o);
    if (!s) fail_msg("%s", gsv_last_error());
    return s;
}

struct exact {
    gsv_model *m;
    const gsv_series *s;
};

static double exact_loglik(const void *context, const double *p)
{
    const struct exact *e = context;
    gsv_options o = default_options();
    o.steps = o.paths = 1;
    memcpy(e->m->value, p, e->m->spec->parameters * sizeof *p);
    gsv_result r = loglik_of(e->m, e->s, &o);
    double value = r.loglik;
    gsv_result_free(&r);
    return value;
}

static void linear_chains__are_fitted_as_promised(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(SUBJECTS); i++) {
        const struct subject *p = &SUBJECTS[i];
        gsv_model *m = model_of(p->text), *other = model_of(p->text);
        gsv_series *s = simulate(m, p, 3 + i);
        gsv_fit_options o = fit_options();
        struct learn_peak q = {.n = p->n};
        const struct exact e = {other, s};
        for (size_t k = 0; k < p->n; k++)
            m->value[k] *= 1.5; /* away from the truth */
        const gsv_record *r = fit_must(m, s, &o);
        memcpy(q.at, gsv_model_value(m), p->n * sizeof *q.at);
        learn_maximum(exact_loglik, &e, &q);
        assert_int_equal(r->ended, GSV_ENDED_CONVERGED);
        for (size_t k = 0; k < p->n; k++) {
            double error = sqrt(q.cov[k * p->n + k]);
            assert_near(gsv_model_value(m)[k], q.at[k], 0.2 * error);
            assert_near(r->error_of[k], error, 0.1 * error);
        }
        gsv_model_free(other);
        free_both(m, s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear_chains__are_fitted_as_promised),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
