/* SPDX-License-Identifier: MIT */
/* Functions learned from gaps as long as what they move over: the estimate of
 * the likelihood has steps then that are no longer short, and a function that
 * is wild between them would have any likelihood. */
#include "learn.h"

static const char TRUTH[] = "state x\n dx = (x - x^3)*dt + 0.7*dW";
static const char DRIFT[] = "state x\n gp f(x) -> 1 : grid 16 rbf\n"
                            "param s = 1 > 0\n dx = f*dt + s*dW";

enum { ROWS = 121 };

static gsv_series *double_well(double gap)
{
    gsv_model *m = model_of(TRUTH);
    gsv_simulate_options o = gsv_simulate_options_default();
    double time[ROWS];
    for (size_t i = 0; i < ROWS; i++)
        time[i] = gap * (double)i;
    o.times = ROWS;
    o.time = time;
    o.step = 0.02;
    gsv_series *s = gsv_simulate(m, &o);
    if (!s) fail_msg("%s", gsv_last_error());
    gsv_model_free(m);
    return s;
}

/* The share of the drift that is missed where the rows are. */
static double drift_error(const gsv_model *m, const gsv_series *s)
{
    double off = 0.0, size = 0.0, drift[ROWS];
    if (gsv_model_drift(m, ROWS, s->time, s->value, NULL, drift))
        fail_msg("%s", gsv_last_error());
    for (size_t i = 0; i < ROWS; i++) {
        double x = s->value[i], f = x - x * x * x;
        off += (drift[i] - f) * (drift[i] - f);
        size += f * f;
    }
    return sqrt(off / size);
}

static gsv_model *learned(const gsv_series *s, enum gsv_objective objective)
{
    gsv_model *m = model_of(DRIFT);
    gsv_fit_options o = gsv_fit_options_default();
    o.objective = objective;
    o.errors = GSV_ERRORS_NONE;
    o.estimator.threads = 1;
    if (gsv_fit(m, s, &o)) fail_msg("%s", gsv_last_error());
    return m;
}

/* em-linear maximises a lower bound, which cannot run away: the likelihood is
 * to end about as well, with an evidence that its own likelihood allows (a
 * prior only takes away from it), as finer steps see that. */
static void likelihood__does_not_run_away(void **state)
{
    (void)state;
    static const double GAP[] = {0.1, 0.5, 1.0};
    for (size_t i = 0; i < COUNT(GAP); i++) {
        gsv_series *s = double_well(GAP[i]);
        gsv_model *bound = learned(s, GSV_OBJECTIVE_EM_LINEAR);
        gsv_model *m = learned(s, GSV_OBJECTIVE_LIKELIHOOD);
        const gsv_record *r = gsv_model_record(m);
        assert_true(drift_error(m, s) < 1.25 * drift_error(bound, s));
        assert_true(r->evidence < r->loglik + 0.05 * ROWS);
        assert_true(r->loglik > gsv_model_record(bound)->loglik - 0.01 * ROWS);
        gsv_model_free(m);
        gsv_model_free(bound);
        gsv_series_free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(likelihood__does_not_run_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
