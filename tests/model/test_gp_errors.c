/* SPDX-License-Identifier: MIT */
/* Standard errors beside Gaussian-process functions, by the curvature of the
 * evidence. With dx = (c0 + c1 u) dt + s dW, c ~ N(0, p^2 I) and u held from
 * row to row the increments are normal,
 *
 *     dx ~ N(0, s^2 dt I + p^2 dt^2 Phi Phi'),  Phi = (1, u),
 *
 * so that the evidence is a closed form of s and p. */
#include "learn.h"

#include "base/linalg.h"

enum { ROWS = 80, GAPS = ROWS - 1 };
static const double GAP = 0.25;

static void set(gsv_model *m, const char *name, double value)
{
    if (gsv_model_set(m, name, 1, &value)) fail_msg("%s", gsv_last_error());
}

static gsv_series *data(void)
{
    static const char *const name[] = {"x", "u"};
    double time[ROWS], value[2 * ROWS], *z = normals(ROWS, 5);
    size_t start[2] = {0, ROWS};
    for (size_t i = 0; i < ROWS; i++) {
        time[i] = GAP * (double)i;
        value[ROWS + i] = 0.9 * sin(1.3 * (double)i);
        value[i] = i ? value[i - 1] + GAP * (0.8 - 1.3 * value[ROWS + i - 1]) +
                           0.4 * sqrt(GAP) * z[i]
                     : 0.0;
    }
    mem_free(z);
    gsv_series *s = gsv_series_new(1, start, 2, name, time, value);
    assert_non_null(s);
    return s;
}

static gsv_model *regression(const char *drift)
{
    char text[300];
    snprintf(text, sizeof text,
             "state x\n input u hold\n param s = 0.4 > 0, a = 0\n"
             "gp h(u) -> 1 : grid 4 over [-1, 1] rbf + linear\n"
             "dx = %s*dt + s*dW",
             drift);
    gsv_model *m = model_of(text);
    set(m, "h.amplitude", 1e-9);
    return m;
}

static gsv_fit_options euler_options(void)
{
    gsv_fit_options o = gsv_fit_options_default();
    o.estimator.reference = GSV_REFERENCE_BROWNIAN;
    o.estimator.form = GSV_FORM_ITO;
    o.estimator.paths = o.estimator.steps = 1;
    return o;
}

/* The evidence at q = (log s, log p). */
static double evidence_of(const void *context, const double *q)
{
    const gsv_series *s = context;
    static double L[GAPS * GAPS], dx[GAPS];
    double noise = exp(2.0 * q[0]), prior = exp(2.0 * q[1]);
    double sum = -0.5 * GAPS * log(2.0 * EXACT_PI);
    for (size_t i = 0; i < GAPS; i++) {
        dx[i] = s->value[i + 1] - s->value[i];
        for (size_t j = 0; j < GAPS; j++)
            L[i * GAPS + j] =
                prior * GAP * GAP *
                    (1.0 + s->value[ROWS + i] * s->value[ROWS + j]) +
                (i == j ? noise * GAP : 0.0);
    }
    assert_true(linalg_cholesky(GAPS, L));
    linalg_lower_solve(GAPS, 1, L, false, dx);
    for (size_t i = 0; i < GAPS; i++)
        sum -= 0.5 * dx[i] * dx[i] + log(L[i * GAPS + i]);
    return sum;
}

static void errors__are_the_evidences_curvature(void **state)
{
    (void)state;
    static const char *const fix[] = {"h.length", "h.amplitude", "a"};
    gsv_model *m = regression("h");
    gsv_series *s = data();
    gsv_fit_options o = euler_options();
    o.fix = fix;
    o.fixed = COUNT(fix);
    if (gsv_fit(m, s, &o)) fail_msg("%s", gsv_last_error());
    const gsv_record *r = gsv_model_record(m);
    double noise = value_of(m, "s"), prior = value_of(m, "h.poly_amplitude");
    struct learn_peak peak = {.n = 2, .at = {log(noise), log(prior)}};
    double gradient[LEARN_MOST], H[LEARN_MOST * LEARN_MOST];
    learn_hessian(evidence_of, s, &peak, gradient, H);
    assert_int_equal(r->errors, GSV_ERRORS_OBSERVED);
    assert_near(r->evidence, peak.value, 1e-5);
    double det = H[0] * H[3] - H[1] * H[2];
    double error[2] = {noise * sqrt(H[3] / det), prior * sqrt(H[0] / det)};
    size_t at[2];
    for (size_t i = 0; i < gsv_model_params(m); i++) {
        gsv_param p = gsv_model_param(m, i);
        if (!strcmp(p.name, "s")) at[0] = p.offset;
        if (!strcmp(p.name, "h.poly_amplitude")) at[1] = p.offset;
    }
    /* Differences over half an error also see E's fourth derivative: 0.85 %
     * for log p, and over a whole one 3.3 %, about four times as much. */
    for (size_t i = 0; i < 2; i++)
        assert_near(r->error_of[at[i]], error[i], 0.012 * error[i]);
    assert_near(gsv_record_correlation(r, at[0], at[1]),
                -H[1] / sqrt(H[0] * H[3]), 0.01);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* The function has a constant of its own, so that `a` is only told from it by
 * the prior p: its error is that of the sum's two parts, p at least. */
static void errors__of_what_the_function_can_be_are_the_priors(void **state)
{
    (void)state;
    static const char *const fix[] = {"h.length", "h.amplitude", "s",
                                      "h.poly_amplitude"};
    gsv_model *m = regression("(a + h)");
    gsv_series *s = data();
    gsv_fit_options o = euler_options();
    set(m, "h.poly_amplitude", 0.3);
    o.fix = fix;
    o.fixed = COUNT(fix);
    if (gsv_fit(m, s, &o)) fail_msg("%s", gsv_last_error());
    const gsv_record *r = gsv_model_record(m);
    double a = 0.0, b = 0.0, d = 1.0 / 0.09, rate = GAP / 0.16;
    for (size_t i = 0; i < GAPS; i++) { /* a's precision, h's slope out */
        double u = s->value[ROWS + i];
        a += rate;
        b += rate * u;
        d += rate * u * u;
    }
    double own = a - b * b / d; /* of a + h's constant */
    double error = sqrt(1.0 / own + 0.09);
    assert_near(r->error_of[1], error, 0.02 * error);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* What the data leave open is said, and the others have errors. */
static void errors__leave_out_what_is_open(void **state)
{
    (void)state;
    static const char *const fix[] = {"h.poly_amplitude", "h.amplitude", "a"};
    gsv_model *m = regression("h");
    gsv_series *s = data();
    gsv_fit_options o = euler_options();
    o.fix = fix; /* the length of a function that is 0 is open */
    o.fixed = COUNT(fix);
    if (gsv_fit(m, s, &o)) fail_msg("%s", gsv_last_error());
    const gsv_record *r = gsv_model_record(m);
    assert_non_null(strstr(r->warning, "the data leave h.length[1] open"));
    assert_true(r->error_of[0] > 0.0);
    gsv_series_free(s);
    gsv_model_free(m);
}

static void sandwich__is_refused(void **state)
{
    (void)state;
    gsv_model *m = regression("h");
    gsv_series *s = data();
    gsv_fit_options o = euler_options();
    o.errors = GSV_ERRORS_SANDWICH;
    assert_int_equal(gsv_fit(m, s, &o), GSV_BAD_INPUT);
    assert_non_null(strstr(gsv_last_error(), "--errors observed"));
    gsv_series_free(s);
    gsv_model_free(m);
}

/* Allocations all along a fit. */
static void memory__may_fail_anywhere(void **state)
{
    (void)state;
    static const char *const fix[] = {"h.length", "h.amplitude", "a"};
    gsv_series *s = data();
    gsv_fit_options o = euler_options();
    int status = GSV_NO_MEMORY;
    o.fix = fix;
    o.fixed = COUNT(fix);
    o.iterations = 1;
    for (size_t n = 1; status; n += 83) {
        gsv_model *m = regression("h");
        mem_fail_at(n);
        status = gsv_fit(m, s, &o);
        mem_fail_at(0);
        if (status) assert_int_equal(status, GSV_NO_MEMORY);
        else assert_true(n > 100);
        gsv_model_free(m);
    }
    gsv_series_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors__are_the_evidences_curvature),
        cmocka_unit_test(errors__of_what_the_function_can_be_are_the_priors),
        cmocka_unit_test(errors__leave_out_what_is_open),
        cmocka_unit_test(sandwich__is_refused),
        cmocka_unit_test(memory__may_fail_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
