/* SPDX-License-Identifier: MIT */
/* Libraries of terms: the same functions written out, names, what is refused,
 * and models with some of the terms alone. */
#include "trial.h"

#include "exact.h"

#include "model/reduce.h"
#include "model/theta.h"

enum { POINTS = 7, MOST_COEFFICIENTS = 64 };

/* A library, and its equations written out with parameters c1, c2, ... in the
 * order of its coefficients. */
struct row {
    const char *library, *written;
    size_t coefficients;
    const char *first, *last; /* names of coefficients */
};

static const struct row ROWS[] = {
    {"state x\n terms f(x) -> 1 : poly 3\n dx = f*dt + dW",
     "state x\n dx = (c1 + c2*x + c3*x^2 + c4*x^3)*dt + dW", 4, "f.1", "f.x^3"},
    {"state x, y\n terms f(x, y) -> 2 : poly 2\n dx = f[1]*dt + dW\n"
     "dy = f[2]*dt + dW",
     "state x, y\n"
     "dx = (c1 + c2*x + c3*y + c4*x^2 + c5*x*y + c6*y^2)*dt + dW\n"
     "dy = (c7 + c8*x + c9*y + c10*x^2 + c11*x*y + c12*y^2)*dt + dW",
     12, "f[1].1", "f[2].y^2"},
    {"state x, y\n terms f(x, y) -> 2 : [x, x*y], [1, sin(y), y^2]\n"
     "dx = f[1]*dt + dW\n dy = f[2]*dt + dW",
     "state x, y\n dx = (c1*x + c2*x*y)*dt + dW\n"
     "dy = (c3 + c4*sin(y) + c5*y^2)*dt + dW",
     5, "f[1].x", "f[2].y^2"},
    {"state x\n terms f(x) -> 1 : fourier 2 period 2*pi\n dx = f*dt + dW",
     "state x\n dx = (c1 + c2*sin(x) + c3*cos(x) + c4*sin(2*x) + "
     "c5*cos(2*x))*dt + dW",
     5, "f.1", "f.cos(2*x)"},
    {"state x\n terms f(x) -> 1 : fourier 2 period 3, x\n dx = f*dt + dW",
     "state x\n dx = (c1 + c2*sin(2*pi*x/3) + c3*cos(2*pi*x/3) + "
     "c4*sin(4*pi*x/3) + c5*cos(4*pi*x/3) + c6*x)*dt + dW",
     6, "f.1", "f.x"},
    {"state x, y\n terms H(x, y) -> 1 : poly 3\n"
     "dx = grad(H, y)*dt + dW\n dy = -grad(H, x)*dt + dW",
     "state x, y\n let H = c1 + c2*x + c3*y + c4*x^2 + c5*x*y + c6*y^2 + "
     "c7*x^3 + c8*x^2*y + c9*x*y^2 + c10*y^3\n"
     "dx = grad(H, y)*dt + dW\n dy = -grad(H, x)*dt + dW",
     10, "H.1", "H.y^3"},
    {"state x, y\n terms f(x) -> 1 : 1, x, x^2/(1 + x^2)\n"
     "dx = f*dt + dW\n dy = (f(y) - f(x*y))*dt + dW",
     "state x, y\n dx = (c1 + c2*x + c3*x^2/(1 + x^2))*dt + dW\n"
     "dy = (c2*y + c3*y^2/(1 + y^2) - c2*x*y - "
     "c3*(x*y)^2/(1 + (x*y)^2))*dt + dW",
     3, "f.1", "f.x^2/(1+x^2)"},
    {"state x\n terms g(x) -> 1 : poly 2\n dx = -x*dt + exp(g)*dW",
     "state x\n dx = -x*dt + exp(c1 + c2*x + c3*x^2)*dW", 3, "g.1", "g.x^2"},
    {"state v[3]\n terms f(v) -> 1 : poly 1, v[1]*v[3], dot(v, v)\n"
     "dv = f*v*dt + dW",
     "state v[3]\n dv = (c1 + c2*v[1] + c3*v[2] + c4*v[3] + c5*v[1]*v[3] + "
     "c6*dot(v, v))*v*dt + dW",
     6, "f.1", "f.dot(v,v)"},
    {"state x, y\n terms f(x/2, -y, x + y) -> 1 : poly 2\n"
     "dx = f*dt + dW\n dy = -y*dt + dW",
     "state x, y\n let p = x/2, q = -y, r = x + y\n"
     "dx = (c1 + c2*p + c3*q + c4*r + c5*p^2 + c6*p*q + c7*p*r + c8*q^2 + "
     "c9*q*r + c10*r^2)*dt + dW\n dy = -y*dt + dW",
     10, "f.1", "f.(x+y)^2"},
    {"state x, y\n terms f(x/2, -y) -> 1 : fourier 1 period 5\n"
     "dx = f*dt + dW\n dy = -y*dt + dW",
     "state x, y\n dx = (c1 + c2*sin(2*pi*x/10) + c3*cos(2*pi*x/10) - "
     "c4*sin(2*pi*y/5) + c5*cos(2*pi*y/5))*dt + dW\n dy = -y*dt + dW",
     5, "f.1", "f.cos(2*pi*-y/5)"},
    {"state x\n input u\n terms f(x/2, u, t) -> 1 : poly 1, (x/2)^2, "
     "where(u >= 0, -x, t^-1), (x > u)\n dx = f*dt + dW",
     "state x\n input u\n dx = (c1 + c2*x/2 + c3*u + c4*t + c5*(x/2)^2 + "
     "c6*where(u >= 0, -x, 1/t) + c7*(x > u))*dt + dW",
     7, "f.1", "f.(x>u)"},
};

/* Wherever a function may stand: forces of noise-free chains, hidden states,
 * noises under exp and softplus, means of observations, gradients. */
static const struct row PLACES[] = {
    {"state x, v\n terms f(x, v) -> 1 : poly 2\n dx = v*dt\n"
     "dv = (f - v)*dt + dW",
     "state x, v\n dx = v*dt\n"
     "dv = (c1 + c2*x + c3*v + c4*x^2 + c5*x*v + c6*v^2 - v)*dt + dW",
     6, "f.1", "f.v^2"},
    {"state x, v\n terms f(x, v) -> 1 : x, v, x^3\n dx = v*dt\n"
     "dv = (f - v)*dt + dW\n init v ~ normal(0, 1)",
     "state x, v\n dx = v*dt\n dv = (c1*x + c2*v + c3*x^3 - v)*dt + dW\n"
     "init v ~ normal(0, 1)",
     3, "f.x", "f.x^3"},
    {"state x\n terms f(x) -> 1 : poly 1\n dx = f*dt + dW\n"
     "init x ~ normal(0, 1)\n obs u ~ normal(x, 0.3)",
     "state x\n dx = (c1 + c2*x)*dt + dW\n init x ~ normal(0, 1)\n"
     "obs u ~ normal(x, 0.3)",
     2, "f.1", "f.x"},
    {"state x\n terms f(x) -> 1 : poly 2\n dx = (f - 2*x)*dt + dW\n"
     "init x ~ normal(0, 1)\n obs u ~ normal(x, 0.3)",
     "state x\n dx = (c1 + c2*x + c3*x^2 - 2*x)*dt + dW\n"
     "init x ~ normal(0, 1)\n obs u ~ normal(x, 0.3)",
     3, "f.1", "f.x^2"},
    {"state x\n terms h(x) -> 1 : 1, x, tanh(x)\n dx = -x*dt + dW\n"
     "init x ~ normal(0, 1)\n obs u ~ normal(h, 0.3)",
     "state x\n dx = -x*dt + dW\n init x ~ normal(0, 1)\n"
     "obs u ~ normal(c1 + c2*x + c3*tanh(x), 0.3)",
     3, "h.1", "h.tanh(x)"},
    {"state x\n terms g(x) -> 1 : poly 1\n dx = -x*dt + exp(g)*dW",
     "state x\n dx = -x*dt + exp(c1 + c2*x)*dW", 2, "g.1", "g.x"},
    {"state x\n terms g(x) -> 1 : 1, x^2\n dx = -x*dt + softplus(g)*dW",
     "state x\n dx = -x*dt + softplus(c1 + c2*x^2)*dW", 2, "g.1", "g.x^2"},
    {"state x, y\n terms g(t) -> 2 : fourier 1 period 3\n"
     "dx = -x*dt + exp(g[1])*dW\n dy = (x - y)*dt + exp(g[2])*dW",
     "state x, y\n let a = 2*pi*t/3\n"
     "dx = -x*dt + exp(c1 + c2*sin(a) + c3*cos(a))*dW\n"
     "dy = (x - y)*dt + exp(c4 + c5*sin(a) + c6*cos(a))*dW",
     6, "g[1].1", "g[2].cos(2*pi*t/3)"},
    {"state x, y\n terms V(x, y) -> 1 : poly 2, cos(x)\n"
     "dx = -grad(V, x)*dt + dW\n dy = -grad(V, y)*dt + dW",
     "state x, y\n let V = c1 + c2*x + c3*y + c4*x^2 + c5*x*y + c6*y^2 + "
     "c7*cos(x)\n dx = -grad(V, x)*dt + dW\n dy = -grad(V, y)*dt + dW",
     7, "V.1", "V.cos(x)"},
    {"state x\n input u hold\n terms f(x, u) -> 1 : poly 2\n"
     "dx = (f - x)*dt + dW",
     "state x\n input u hold\n"
     "dx = (c1 + c2*x + c3*u + c4*x^2 + c5*x*u + c6*u^2 - x)*dt + dW",
     6, "f.1", "f.u^2"},
};

static gsv_model *written_out(const struct row *row)
{
    char text[2000] = "";
    for (size_t i = 1; i <= row->coefficients; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text),
                 "param c%zu\n", i);
    strncat(text, row->written, sizeof text - strlen(text) - 1);
    return model_of(text);
}

/* Drift and diffusion at the same random points. */
static void evaluate(const gsv_model *m, uint64_t seed, double *f, double *g)
{
    double x[4 * POINTS], time[POINTS], input[POINTS];
    trial_seed = seed;
    random_fill(COUNT(x), x, -1.5, 1.5);
    random_fill(POINTS, time, 0.5, 2.0);
    random_fill(POINTS, input, -1.0, 1.0);
    assert_int_equal(gsv_model_drift(m, POINTS, time, x, input, f), 0);
    assert_int_equal(gsv_model_diffusion(m, POINTS, time, x, input, g), 0);
}

static void assert_equal_models(const gsv_model *a, const gsv_model *b,
                                const char *what)
{
    double f[2][4 * POINTS], g[2][16 * POINTS];
    size_t d = gsv_model_dim(a), n = d * gsv_model_noises(a) * POINTS;
    evaluate(a, 5, f[0], g[0]);
    evaluate(b, 5, f[1], g[1]);
    for (size_t i = 0; i < d * POINTS; i++)
        if (!(fabs(f[0][i] - f[1][i]) < 1e-12 * (1.0 + fabs(f[0][i]))))
            fail_msg("%s: drift %zu is %.17g and %.17g", what, i, f[0][i],
                     f[1][i]);
    for (size_t i = 0; i < n; i++)
        if (!(fabs(g[0][i] - g[1][i]) < 1e-12 * (1.0 + fabs(g[0][i]))))
            fail_msg("%s: noise %zu is %.17g and %.17g", what, i, g[0][i],
                     g[1][i]);
}

/* The coefficients of both, which are all of their parameters. */
static void draw_both(gsv_model *a, gsv_model *b, size_t n)
{
    double c[MOST_COEFFICIENTS];
    trial_seed = 11;
    random_fill(n, c, -1.0, 1.0);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(gsv_model_set(a, gsv_model_param(a, i).name, 1, &c[i]),
                         0);
        assert_int_equal(gsv_model_set(b, gsv_model_param(b, i).name, 1, &c[i]),
                         0);
    }
}

static void terms__are_the_sums_that_they_stand_for(void **state)
{
    (void)state;
    for (size_t r = 0; r < COUNT(ROWS); r++) {
        gsv_model *m = model_of(ROWS[r].library), *w = written_out(&ROWS[r]);
        size_t n = ROWS[r].coefficients;
        assert_int_equal(gsv_model_params(m), n);
        assert_string_equal(gsv_model_param(m, 0).name, ROWS[r].first);
        assert_string_equal(gsv_model_param(m, n - 1).name, ROWS[r].last);
        assert_true(gsv_model_param(m, 0).term);
        draw_both(m, w, n);
        assert_equal_models(m, w, ROWS[r].library);
        gsv_model_free(m);
        gsv_model_free(w);
    }
}

/* Any series will do: states, what is observed of them, an input. */
static gsv_series *any_series(void)
{
    enum { N = 12 };
    static const char *const name[] = {"x", "y", "v", "u"};
    static const size_t start[] = {0, N};
    double time[N], value[4 * N];
    for (size_t i = 0; i < N; i++) {
        time[i] = 0.2 * (double)i;
        value[i] = sin(time[i]) + 0.02 * random_in(-1.0, 1.0);
        value[N + i] = random_in(-0.5, 0.5);
        value[2 * N + i] = cos(time[i]) + 0.1 * random_in(-1.0, 1.0);
        value[3 * N + i] = sin(time[i]) + random_in(-0.3, 0.3);
    }
    gsv_series *s = gsv_series_new(1, start, 4, name, time, value);
    assert_non_null(s);
    return s;
}

static bool is_near(double a, double b)
{
    return fabs(a - b) <= 1e-12 * (1.0 + fabs(a)) || (isnan(a) && isnan(b));
}

/* By whichever estimator; gradients of particles are differences. */
static void terms__have_the_likelihood_of_their_sums(void **state)
{
    (void)state;
    for (size_t r = 0; r < COUNT(PLACES); r++) {
        gsv_model *m = model_of(PLACES[r].library);
        gsv_model *w = written_out(&PLACES[r]);
        size_t n = PLACES[r].coefficients;
        gsv_options o = gsv_options_default();
        o.gradient = true;
        o.paths = 8;
        o.steps = 2;
        o.points = 16;
        trial_seed = 21 + r;
        gsv_series *s = any_series();
        assert_int_equal(gsv_model_params(m), n);
        assert_string_equal(gsv_model_param(m, 0).name, PLACES[r].first);
        assert_string_equal(gsv_model_param(m, n - 1).name, PLACES[r].last);
        draw_both(m, w, n);
        assert_string_equal(gsv_estimator_reason(m, &o),
                            gsv_estimator_reason(w, &o));
        gsv_result a = loglik_of(m, s, &o), b = loglik_of(w, s, &o);
        if (!isfinite(a.loglik) || !is_near(a.loglik, b.loglik))
            fail_msg("%s: %.17g and %.17g", PLACES[r].library, a.loglik,
                     b.loglik);
        for (size_t i = 0; i < n; i++)
            if (!(fabs(a.gradient[i] - b.gradient[i]) <=
                  1e-7 * (1.0 + fabs(b.gradient[i]))))
                fail_msg("%s: slope %zu is %.17g and %.17g", PLACES[r].library,
                         i, a.gradient[i], b.gradient[i]);
        gsv_result_free(&a);
        gsv_result_free(&b);
        gsv_model_free(w);
        gsv_model_free(m);
        gsv_series_free(s);
    }
}

/* Every second coefficient is dropped: the model is the one with zeros. */
static void terms__that_are_dropped_are_zero(void **state)
{
    (void)state;
    for (size_t r = 0; r < COUNT(ROWS); r++)
        for (size_t part = 0; part < 4; part++) {
            gsv_model *m = model_of(ROWS[r].library);
            gsv_model *w = written_out(&ROWS[r]);
            bool kept[MOST_COEFFICIENTS];
            size_t left = 0;
            const double zero = 0.0;
            draw_both(m, w, ROWS[r].coefficients);
            for (size_t i = 0; i < ROWS[r].coefficients; i++) {
                kept[i] = part == 2 || (part < 2 && i % 2 == part);
                left += kept[i];
                if (!kept[i])
                    gsv_model_set(w, gsv_model_param(w, i).name, 1, &zero);
            }
            gsv_model *reduced = model_reduce(m, kept);
            if (!reduced) fail_msg("%s", gsv_last_error());
            assert_int_equal(gsv_model_params(reduced), left);
            for (size_t i = 0, k = 0; i < ROWS[r].coefficients; i++)
                if (kept[i])
                    assert_string_equal(gsv_model_param(m, i).name,
                                        gsv_model_param(reduced, k++).name);
            assert_equal_models(reduced, w, gsv_model_text(reduced));
            gsv_model_free(m);
            gsv_model_free(w);
            gsv_model_free(reduced);
        }
}

/* A coefficient, all of an output, all of the function. */
static void coefficients__are_named_alone_and_together(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t count, first;
    } names[] = {{"f[1].x*y", 1, 4}, {"f[2].1", 1, 6}, {"f[2]", 6, 6},
                 {"f", 12, 0},       {"g.x", 1, 13},   {"g", 2, 12},
                 {"f[1]", 6, 0}};
    gsv_model *m = model_of(
        "state x, y\n terms f(x, y) -> 2 : poly 2\n terms g(x) -> 1 : 1, x\n"
        "dx = (f[1] + g)*dt + dW\n dy = f[2]*dt + dW");
    for (size_t i = 0; i < COUNT(names); i++) {
        bool chosen[14] = {false};
        size_t count = 0;
        assert_int_equal(theta_select(m, names[i].name, chosen), 0);
        for (size_t k = 0; k < 14; k++)
            count += chosen[k];
        assert_int_equal(count, names[i].count);
        assert_true(chosen[names[i].first]);
    }
    bool none[14];
    assert_int_not_equal(theta_select(m, "f[3]", none), 0);
    assert_int_not_equal(theta_select(m, "f[1].x*z", none), 0);
    const double half = 0.5;
    assert_int_equal(gsv_model_set(m, "f[2].x^2", 1, &half), 0);
    assert_true(gsv_model_value(m)[9] == 0.5);
    gsv_model_free(m);
}

static void terms__say_what_is_wrong_with_them(void **state)
{
    (void)state;
    static const struct {
        const char *line, *words;
    } wrong[] = {
        {"terms f(x) -> 1 : poly 0", "whole number from 1"},
        {"terms f(x) -> 1 : poly 2.5", "whole number from 1"},
        {"terms f(x) -> 1 : fourier 2", "period is missing"},
        {"terms f(x) -> 1 : fourier 2 period -1", "positive"},
        {"terms f(x) -> 1 : fourier 2 period x", "constant"},
        {"terms f(x) -> 2 : [1], x", "one list in brackets for each"},
        {"terms f(x) -> 2 : [1], [x], [x]", "one list in brackets for each"},
        {"terms f(x) -> 1 : 1, y", "not an argument of 'f'"},
        {"terms f(x) -> 1 : 1, t", "not an argument of 'f'"},
        {"terms f(x) -> 1 : x, 1, x", "occurs twice"},
        {"terms f(x) -> 1 : poly 2, x*x", ""},
        {"terms f(x, x) -> 1 : poly 1", "occurs twice"},
        {"terms f(x) -> 1 :", "a term is missing"},
        {"terms f(x) -> 1 : 1, x,", "a term is missing"},
        {"terms f(x) -> 1 : [x, 1]*2", ""},
        {"terms f(x) -> 1 poly 2", "':' is missing"},
        {"terms f -> 1 : poly 2", "the arguments are missing"},
        {"terms f() -> 1 : poly 2", "at least one argument"},
        {"terms f(x) : poly 2", "'->' is missing"},
        {"terms f(w) -> 1 : poly 2", "unknown name 'w'"},
        {"terms f(x, y) -> 1 : poly 20, 1", "occurs twice"},
        {"terms x(y) -> 1 : poly 2", "declared twice"},
    };
    for (size_t i = 0; i < COUNT(wrong); i++) {
        char text[400];
        snprintf(text, sizeof text,
                 "state x, y\n%s\ndx = f[1]*dt + dW\ndy = -y*dt + dW",
                 wrong[i].line);
        gsv_model *m = gsv_model_parse(text, "a.sde");
        if (!*wrong[i].words) {
            gsv_model_free(m);
            continue;
        }
        if (m || !strstr(gsv_last_error(), wrong[i].words))
            fail_msg("%s: %s", wrong[i].line, m ? "" : gsv_last_error());
        if (strncmp(gsv_last_error(), "a.sde:", 6) != 0)
            fail_msg("%s: no place in '%s'", wrong[i].line, gsv_last_error());
    }
}

static void terms__survive_failing_allocations(void **state)
{
    (void)state;
    for (size_t r = 0; r < COUNT(ROWS); r++) {
        gsv_model *m = NULL;
        for (size_t n = 1; !m; n += 3) {
            mem_fail_at(n);
            m = gsv_model_parse(ROWS[r].library, "a.sde");
            mem_fail_at(0);
        }
        gsv_model_free(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(terms__are_the_sums_that_they_stand_for),
        cmocka_unit_test(terms__have_the_likelihood_of_their_sums),
        cmocka_unit_test(terms__that_are_dropped_are_zero),
        cmocka_unit_test(coefficients__are_named_alone_and_together),
        cmocka_unit_test(terms__say_what_is_wrong_with_them),
        cmocka_unit_test(terms__survive_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
