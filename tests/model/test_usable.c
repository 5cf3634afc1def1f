/* SPDX-License-Identifier: MIT */
/* What is said of a model beforehand is what estimates and fits say: a table of
 * models, each with the place and a part of what is refused. */
#include <stdio.h>

#include "exact.h"

struct row {
    const char *text;
    const char *likelihood, *fit; /* what is refused; NULL: nothing */
};

#define OBS "obs v ~ normal(x, 0.2)\ninit x ~ normal(1, 0.3)\n"

static const struct row ROW[] = {
    {"state x\nparam k = 1, s = 1\ndx = -k*x*dt + s*dW\n", NULL, NULL},
    {"state x\nparam k = 1, s = 1\ndx = (1 - k*x)*dt + s*x*dW\n", NULL, NULL},
    {"state x\nparam k = 1, s = 1\ndx = -k*x*dt + sqrt(s + x^2)*dW\n", NULL,
     NULL},
    {"state x, y\nparam k = 1\ndx = -k*x*dt + sqrt(1 + y^2)*dW\n"
     "dy = -y*dt + dW\n",
     NULL, NULL},
    {"state x\nnet g(x) -> 1 : 2\ndx = -x*dt + sigmoid(g)*dW\n", NULL, NULL},
    {"state x\nparam k = 1\ndx = -k*x*dt + dW\n" OBS, NULL, NULL},
    {"state x\nparam k = 1\ndx = (1 - k*x)*dt + 0.1*x*dW\n" OBS, NULL, NULL},
    {"state x\nnet g(x) -> 1 : 2\ndx = -x*dt + sigmoid(g)*dW\n" OBS, NULL,
     NULL},
    {"state x\nnet g(x) -> 1 : 2\ndx = -x*dt + sigmoid(g)*dW\n"
     "init x ~ normal(0, 1)\nobs v ~ poisson(exp(x))\n",
     NULL, NULL},
    {"state x, y\nparam k = 1\ndx = -k*x*dt + sqrt(1 + y^2)*dW\n"
     "dy = -y*dt + dW\n" OBS,
     NULL, NULL},
    {"state x, y\nparam k = 1\ndx = -k*x*dt + (1 + x^2)*dW1 + x*dW2\n"
     "dy = -y*dt + dW2\n" OBS,
     NULL, NULL},
    {"state z[2]\nparam L[2,2] lower = 1\n"
     "dz = -z*dt + (L*(1 + z[1]^2)) @ dW\nobs v ~ normal(z[1], 0.2)\n",
     NULL, NULL},
    {"state z[2]\nnet g(z[1]) -> 1 : 2\ndz = -z*dt + sigmoid(g(z[1]))*dW\n"
     "obs v ~ normal(z[1], 0.2)\n",
     NULL, NULL},
    {"state z[65]\nparam k = 1\ndz = -k*sin(z)*dt + dW\n"
     "obs v ~ normal(sum(z), 0.2)\n",
     "m:4:16: the model has 65 latent states", NULL},
    {"state z[65]\nparam k = 1\ndz = -k*z*dt + dW\n"
     "obs v ~ normal(sum(z), 0.2)\n",
     NULL, NULL},
    {"state x\ngp h(x) -> 1 : grid 4 rbf\ndx = h*dt + 0.5*dW\n", NULL, NULL},
    {"state x\ngp h(x) -> 1 : grid 4 rbf\ndx = h*dt + 0.5*dW\n" OBS, NULL,
     "m:2:4: a gp cannot be learned where states are latent"},
    {"state x\nrandom b ~ normal(0, 1)\ngp h(x) -> 1 : grid 4 rbf\n"
     "dx = (h + b)*dt + dW\n",
     "m:3:4: random effects and gps cannot be in one model", NULL},
    {"state x, y\ngp h(x) -> 1 : grid 4 rbf\ndx = h*dt + sqrt(1 + y^2)*dW\n"
     "dy = -y*dt + dW\n",
     NULL, "m:2:4: a gp cannot be learned where no map"},
    {"state x\nparam k = 1\ndx = -k*x*dt + where(x > 0, 1, 2)*dW\n" OBS, NULL,
     NULL},
    {"state x\nparam k = 1\nreaction x -> 0 : k*x\n" OBS, NULL, NULL},
    {"state x, v\nparam k = 1, s = 1\ndx = v*dt\ndv = -k*x*dt + s*dW\n", NULL,
     NULL},
    {"state x, w\nparam k = 1, s = 1\ndx = w*dt\ndw = -k*x*dt + s*dW\n" OBS,
     NULL, NULL},
    {"state x\nparam k = 1\ndx = -k*x*dt\n", "m:3:1: no equation has noise",
     NULL},
    {"state x[3]\nparam s = 1\ndx = -x*dt + [s, 0, s]*dW\n",
     "m:3:1: no noise gets to this state", NULL},
    {"state x, y\nparam s = 1\ndx = -x*dt + s*dW1\ndy = -y*dt + s*dW1\n",
     "m:4:1: the noise of this state is a combination", NULL},
    {"state x, k\nparam s = 1\ndx = -k*x*dt + s*dW\ndk = 0*dt\n",
     "m:4:1: this state never changes", NULL},
    {"state x, c\nparam s = 1\ndx = -sin(c)*x*dt + s*dW\ndc = 2*dt\n",
     "m:4:1: this state depends on time alone", NULL},
    {"state x, a, b\nparam s = 1\ndx = -a*x*dt + s*dW\nda = b*dt\n"
     "db = -a*dt\n",
     "m:4:1: no noise gets to this state", NULL},
    {"state a, b, c, d, e, f\nparam s = 1\nda = -f*dt + s*dW\ndb = a*dt\n"
     "dc = b*dt\ndd = c*dt\nde = d*dt\ndf = e*dt\n",
     "m:8:1: this state is an integral of a state", NULL},
    {"state x, a, b\nparam s = 1\ndx = -x*dt + s*dW\nda = (x - a)*dt\n"
     "db = (x - 2*b)*dt\n",
     NULL, NULL},
    {"state x, v\nparam s = 1\ndx = (v + where(x > 0, 1, 2))*dt\n"
     "dv = -v*dt + s*dW\n",
     "m:3:1: this state has no noise, and its rate, or the noise", NULL},
    {"state v, w\nparam e = 1 > 0, s = 1\ndv = (v - v^3/3 - w)/e*dt\n"
     "dw = (v - w)*dt + s*dW\n",
     NULL, NULL},
    {"state x, v\ngp h(x) -> 1 : grid 4 rbf\nparam s = 1\ndx = (v + h)*dt\n"
     "dv = -v*dt + s*dW\n",
     NULL, "m:2:4: a gp cannot be learned in the equation of a state"},
    {"state x\nparam s = 1\nlet y = s*x\ndx = -y*dt\n" OBS, NULL, NULL},
    {"state x, y\ngp h(x) -> 1 : grid 4 rbf\ndx = y*dt\ndy = h*dt + dW\n", NULL,
     NULL},
};

static gsv_series *data_of(const gsv_model *m)
{
    static const double time[] = {0.0, 0.1, 0.2, 0.3, 0.4, 0.5};
    gsv_simulate_options o = gsv_simulate_options_default();
    o.times = COUNT(time);
    o.time = time;
    o.start_mean = 1.0;
    gsv_series *s = gsv_simulate(m, &o);
    if (!s) fail_msg("%s", gsv_last_error());
    return s;
}

/* Both refuse, with the same sentence, or neither does. */
static void expect_same(const char *text, const char *refused, int checked,
                        const char *said, int used)
{
    if (refused && (!checked || !strstr(said, refused)))
        fail_msg("%s\nsaid: %s\nwanted: %s", text, said, refused);
    if (!refused && checked) fail_msg("%s\nsaid: %s", text, said);
    if (!checked != !used || (used && strcmp(said, gsv_last_error()) != 0))
        fail_msg("%s\nbeforehand: %s\nthen: %s", text, checked ? said : "",
                 used ? gsv_last_error() : "");
}

static void check__says_what_loglik_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(ROW); i++) {
        char said[4096];
        gsv_model *m = gsv_model_parse(ROW[i].text, "m");
        if (!m) fail_msg("%s", gsv_last_error());
        gsv_series *s = data_of(m);
        gsv_options o = gsv_options_default();
        gsv_result r;
        o.paths = 8;
        o.steps = 2;
        int checked = gsv_check_likelihood(m);
        snprintf(said, sizeof said, "%s", gsv_last_error());
        int used = gsv_loglik(m, s, &o, &r);
        expect_same(ROW[i].text, ROW[i].likelihood, checked, said, used);
        if (!used) gsv_result_free(&r);
        gsv_series_free(s);
        gsv_model_free(m);
    }
}

static void check__says_what_fit_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(ROW); i++) {
        char said[4096];
        gsv_model *m = gsv_model_parse(ROW[i].text, "m");
        gsv_series *s = data_of(m);
        gsv_fit_options o = gsv_fit_options_default();
        o.iterations = 1;
        o.errors = GSV_ERRORS_NONE;
        const char *wanted = ROW[i].likelihood ? ROW[i].likelihood : ROW[i].fit;
        int checked = gsv_check_fit(m);
        snprintf(said, sizeof said, "%s", gsv_last_error());
        if (wanted || gsv_model_params(m) > 2) {
            int used = gsv_fit(m, s, &o);
            if (used == GSV_NUMERICAL) used = 0; /* of so few rows */
            expect_same(ROW[i].text, wanted, checked, said, used);
        }
        gsv_series_free(s);
        gsv_model_free(m);
    }
}

/* --- What is not used -------------------------------------------------------
 */

static const struct {
    const char *text, *said; /* places and names, in their order */
} UNUSED[] = {
    {"state x\nparam k = 1\ndx = -k*x*dt + dW", ""},
    {"state x\nparam k = 1\ndx = -x*dt + dW", "2:7 parameter 'k' "},
    {"state x\nparam k = 1, j = 2\nparam m[3]\ndx = -k*x*dt + dW",
     "2:14 parameter 'j' 3:7 parameter 'm' "},
    {"state x\nparam k = 1\ndx = -0*k*x*dt + dW", "2:7 parameter 'k' "},
    {"state x\nparam k = 1\nlet f = k*x\ndx = -x*dt + dW",
     "2:7 parameter 'k' "},
    {"state x\nnet f(x) -> 1 : 3\ngp h(x) -> 1 : grid 4 rbf\ninput u\n"
     "dx = -x*dt + dW",
     "4:7 input 'u' 2:5 net 'f' 3:4 gp 'h' "},
    {"state x\nnet f(x) -> 1 : 3\ngp h(x) -> 1 : grid 4 rbf\ninput u\n"
     "dx = (h + f + grad(u, t))*dt + dW",
     ""},
    {"state x\nparam s = 1 > 0, m = 0, a = 1 > 0\ndx = -x*dt + dW\n"
     "obs y ~ normal(x, s)\ninit x ~ normal(m, a)",
     ""},
    {"state z = log(c) - m\nparam m = 0, s = 1, q = 2\ndz = -z*dt + s*dW",
     "2:21 parameter 'q' "},
    {"state z = flow(c)\ndz = -z*dt + dW", ""},
};

static void unused__is_named_with_its_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(UNUSED); i++) {
        gsv_model *m = gsv_model_parse(UNUSED[i].text, "m");
        if (!m) fail_msg("%s", gsv_last_error());
        char found[500] = "", *text = gsv_model_unused(m);
        assert_non_null(text);
        for (char *line = text; *line; line += strcspn(line, "\n") + 1) {
            char place[40], what[20], name[20];
            int n = sscanf(line,
                           "m:%39[0-9:] the likelihood does not depend on "
                           "the %19s %19[^;]",
                           place, what, name);
            assert_int_equal(n, 3);
            place[strlen(place) - 1] = 0;
            size_t at = strlen(found);
            snprintf(found + at, sizeof found - at, "%s %s %s ", place, what,
                     name);
        }
        assert_string_equal(found, UNUSED[i].said);
        gsv_text_free(text);
        gsv_model_free(m);
    }
}

/* Whatever is asked for: no row that needs the inverse of the covariance runs
 * without one. */
static void singular_noise__is_refused_by_rows_that_invert_it(void **state)
{
    (void)state;
    static const char *const TEXT[] = {
        "state x, w\nparam k = 1\ndx = w*dt\ndw = -k*x*dt + dW\n",
        "state x, w\nparam k = 1\ndx = w*dt\ndw = -k*x*dt + dW\n" OBS};
    static const enum gsv_objective REFUSED[] = {
        GSV_OBJECTIVE_MSE_BACKPROP, GSV_OBJECTIVE_MSE_ADJOINT,
        GSV_OBJECTIVE_MSE_FORWARD, GSV_OBJECTIVE_EM_LINEAR,
        GSV_OBJECTIVE_SLOPES};
    static const enum gsv_observe ROWS[] = {
        GSV_OBSERVE_SCAN, GSV_OBSERVE_CONJUGATE, GSV_OBSERVE_VARIATIONAL};
    for (size_t i = 0; i < COUNT(TEXT); i++) {
        gsv_model *m = gsv_model_parse(TEXT[i], "m");
        gsv_series *s = data_of(m);
        assert_true(gsv_model_singular(m));
        for (size_t k = 0; i && k < COUNT(ROWS); k++) {
            gsv_options o = gsv_options_default();
            gsv_result r;
            o.observe = ROWS[k];
            assert_int_equal(gsv_loglik(m, s, &o, &r), GSV_BAD_INPUT);
            assert_non_null(strstr(gsv_last_error(), "a state has no noise"));
        }
        for (size_t k = 0; !i && k < COUNT(REFUSED); k++) {
            gsv_fit_options o = gsv_fit_options_default();
            o.objective = REFUSED[k];
            o.errors = GSV_ERRORS_NONE;
            assert_int_equal(gsv_fit(m, s, &o), GSV_BAD_INPUT);
            if (!strstr(gsv_last_error(), "a state has no noise"))
                fail_msg("objective %d: %s", (int)REFUSED[k], gsv_last_error());
        }
        gsv_series_free(s);
        gsv_model_free(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(check__says_what_loglik_says),
        cmocka_unit_test(check__says_what_fit_says),
        cmocka_unit_test(unused__is_named_with_its_place),
        cmocka_unit_test(singular_noise__is_refused_by_rows_that_invert_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
