/* SPDX-License-Identifier: MIT */
/* Noisy observations from text to spec: which states are latent, which columns
 * the data have, what is said about values that no law allows. The laws
 * themselves are in test_law.c. */
#include <stdlib.h>
#include <unistd.h>

#include "trial.h"

#include "lang/law.h"
#include "model/gaps.h"

static struct spec *spec_of(const char *text)
{
    struct source source = {"test.sde", text};
    struct spec *spec = spec_new(&source);
    if (!spec) fail_msg("%s", gsv_last_error());
    return spec;
}

/* --- Latent states and columns -------------------------------------------- */

static void latent__are_the_states_that_observations_are_made_of(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *latent; /* a letter for each state: L or - */
    } CASE[] = {
        {"", "----"},
        {"obs v ~ normal(x, 1)\n", "L---"},
        {"obs v ~ normal(0, exp(y))\n", "-L--"},
        {"obs v ~ student(0, 1, 2 + y^2)\n", "-L--"},
        {"obs v ~ normal(z[2], 1)\n", "---L"},
        {"obs v[2] ~ normal(z, 1)\n", "--LL"},
        {"obs v ~ normal(sum(z*[0, 1]), 1)\n", "--LL"},
        {"let a = z[1] + x\nobs v ~ normal(a, 1)\n", "L-L-"},
        {"net f(y, t) -> 2 : 3\nobs v ~ normal(f[2], 1)\n", "-L--"},
        {"net f(y, z) -> 2 : 3\nobs v[2] ~ normal(f, 1)\n", "-LLL"},
        {"param A[2,2] = 1\nobs v[2] ~ normal(A @ z, 1)\n", "--LL"},
        {"obs v[2] ~ normal([x, z[2]], 1)\n", "L--L"},
        {"obs v ~ binomial(w, sigmoid(y))\n", "-L--"},
        {"obs v ~ poisson_process(exp(x + y))\n", "LL--"},
        {"obs v ~ normal(y*integral(x), 1)\n", "LL--"},
        {"obs v[2] ~ normal(integral(z), 1)\n", "--LL"},
        {"obs v ~ normal(integral(z[2])/integral(1), integral(t))\n", "---L"},
        {"init y ~ normal(0, 1)\n", "-L--"},
        {"init z ~ normal(0, 1)\nobs v ~ poisson(exp(x))\n", "L-LL"},
    };
    for (size_t i = 0; i < COUNT(CASE); i++) {
        char text[400];
        snprintf(text, sizeof text,
                 "state x, y, z[2]\ndx = -y*dt + dW\ndy = dW\ndz = dW\n%s",
                 CASE[i].text);
        struct spec *s = spec_of(text);
        char found[5] = "";
        for (size_t k = 0; k < s->dim; k++)
            found[k] = s->latent[k] ? 'L' : '-';
        assert_string_equal(found, CASE[i].latent);
        assert_int_equal(spec_is_latent(s), i > 0);
        spec_free(s);
    }
}

static gsv_model *parse(const char *text)
{
    gsv_model *m = gsv_model_parse(text, "test.sde");
    if (!m) fail_msg("%s", gsv_last_error());
    return m;
}

static void expect_names(size_t n, const char *const *name, const char *wanted)
{
    char text[200] = "";
    for (size_t i = 0; i < n; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s",
                 i ? " " : "", name[i]);
    assert_string_equal(text, wanted);
}

static void columns__are_exact_states_inputs_and_values(void **state)
{
    (void)state;
    gsv_model *m = parse("state x, y, z[2]\ninput u\n"
                         "dx = u*dt + dW\ndy = dW\ndz = dW\n"
                         "obs k[2] ~ binomial(n, sigmoid(z))\n"
                         "obs n ~ poisson(exp(y))\n"
                         "obs c ~ normal(y, 1)\n");
    expect_names(gsv_model_columns(m), gsv_model_column(m), "x y z1 z2 u");
    expect_names(gsv_model_data_columns(m), gsv_model_data_column(m),
                 "x u k1 n k2 c");
    assert_int_equal(gsv_model_inputs(m), 1);
    gsv_model_free(m);
    m = parse("state x, y[2]\ninput u\ndx = u*dt + dW\ndy = dW\n");
    expect_names(gsv_model_data_columns(m), gsv_model_data_column(m),
                 "x y1 y2 u");
    gsv_model_free(m);
}

/* Elements are observed by themselves, but the counts of a multinomial are
 * one; arguments are those of the element. */
static void vectors__are_observed_element_by_element(void **state)
{
    (void)state;
    struct spec *s = spec_of("state x[3]\nparam e[3] = 1 > 0, c = 1 > 0\n"
                             "dx = dW\nobs y[3] ~ student(x, e, c)\n"
                             "obs n[3] ~ multinomial(softmax(x))\n"
                             "obs k[3] ~ binomial(m[3], sigmoid(x))\n"
                             "obs r[3] ~ poisson_process(exp(x))\n");
    struct graph *g = s->graph;
    node x = graph_leaf(g, OP_STATE, 0, 3, 1);
    assert_int_equal(s->observations, 10);
    assert_int_equal(s->values, 15);
    assert_int_equal(s->integrals, 3);
    expect_names(15, (const char *const *)s->value_column,
                 "y1 y2 y3 n1 n2 n3 k1 m1 k2 m2 k3 m3 r1 r2 r3");
    for (size_t i = 0; i < 3; i++) {
        const struct obs_spec *y = &s->obs[i], *k = &s->obs[4 + i];
        const struct obs_spec *r = &s->obs[7 + i];
        bool used[3] = {false};
        assert_true(y->law == LAW_STUDENT && y->values == 1 && y->value == i);
        assert_true(y->argument[0] == graph_slice(g, x, i, 1, 1));
        assert_true(y->argument[1] == graph_leaf(g, OP_PARAM, i, 1, 1));
        assert_true(y->argument[2] == graph_leaf(g, OP_PARAM, 3, 1, 1));
        assert_true(k->values == 2 && k->value == 6 + 2 * i);
        assert_true(k->argument[0] == graph_leaf(g, OP_INPUT, 7 + 2 * i, 1, 1));
        size_t number;
        assert_true(obs_is_process(s, r, &number) && number == i);
        assert_true(r->argument[0] == graph_leaf(g, OP_INPUT, 15 + i, 1, 1));
        node rate = s->integral[i].rate;
        assert_int_equal(graph_size(g, rate), 1);
        assert_int_equal(graph_state_used(g, rate, 3, used), 0);
        for (size_t j = 0; j < 3; j++)
            assert_int_equal(used[j], j == i);
    }
    assert_true(s->obs[3].law == LAW_MULTINOMIAL && s->obs[3].values == 3);
    assert_int_equal(graph_size(g, s->obs[3].argument[0]), 3);
    spec_free(s);
}

/* Leaves after all values, also those of later lines; equal ones are one. */
static void integrals__are_leaves_after_all_values(void **state)
{
    (void)state;
    struct spec *s =
        spec_of("state x[2]\ninput u\nparam e = 1 > 0\n"
                "dx = -u*x*dt + dW\n"
                "obs y[2] ~ normal(integral(x), e)\n"
                "obs n ~ poisson(integral(x[2]))\n"
                "obs m ~ poisson(x[1] + integral(u*t))\n"
                "obs p ~ poisson_process(x[1])\n"
                "obs k ~ binomial(w, sigmoid(sum(j in 1:2, integral(x[j]))))\n"
                "obs z ~ normal(x[1], e)\n");
    struct graph *g = s->graph;
    static const size_t PROCESS[] = {2, 2, 1, 2, 0, 2, 2};
    node x = graph_leaf(g, OP_STATE, 0, 2, 1), leaf[3];
    assert_true(s->values == 8 && s->integrals == 3 && s->observations == 7);
    for (size_t k = 0; k < 3; k++) {
        leaf[k] = graph_leaf(g, OP_INPUT, 1 + 8 + k, 1, 1);
        assert_int_equal(spec_integral(s, leaf[k]), k);
        assert_int_equal(s->integral[k].place.line, k < 2 ? 5 : 7);
    }
    for (size_t i = 0; i < 2; i++) {
        assert_true(s->integral[i].rate == graph_slice(g, x, i, 1, 1));
        assert_true(s->obs[i].argument[0] == leaf[i]);
    }
    assert_true(s->obs[2].argument[0] == leaf[1]);
    assert_true(s->obs[4].argument[0] == leaf[0]);
    for (size_t i = 0; i < 7; i++) {
        size_t k = 2;
        bool process = obs_is_process(s, &s->obs[i], &k);
        assert_int_equal(process, i == 2 || i == 4);
        assert_int_equal(process ? k : 2, PROCESS[i]);
        assert_int_equal(s->obs[i].integrated, i < 6);
    }
    bool used[3] = {false}, any;
    assert_int_equal(spec_integrals_used(s, s->obs[5].log_density, used, &any),
                     0);
    assert_true(any && used[0] && used[1] && !used[2]);
    spec_free(s);
}

static void init__is_wide_where_nothing_is_said(void **state)
{
    (void)state;
    gsv_model *m = parse("state x, y[2], z\nparam a = 3, b[2] = [4, 5] > 0\n"
                         "dx = dW\ndy = dW\ndz = dW\n"
                         "obs v ~ normal(x, 1)\ninit y ~ normal(a, 2*b)\n");
    static const double MEAN[] = {0, 3, 3, 0}, DEVIATION[] = {10, 8, 10, 10};
    const struct spec *s = m->spec;
    struct points in = {.P = 1};
    double mean[4], deviation[4];
    assert_true(graph_info(s->graph, s->init_mean)->uniform);
    assert_true(graph_info(s->graph, s->init_deviation)->uniform);
    assert_int_equal(model_evaluate(m, s->init_mean, &in, true, mean), 0);
    assert_int_equal(model_evaluate(m, s->init_deviation, &in, true, deviation),
                     0);
    for (size_t i = 0; i < 4; i++)
        assert_true(mean[i] == MEAN[i] && deviation[i] == DEVIATION[i]);
    gsv_model_free(m);
}

static void check__tells_observations_and_first_values(void **state)
{
    (void)state;
    static const char *const PART[] = {
        "states          x, l, z1, z2\n",
        "latent          l, z1, z2\n",
        "  y ~ normal(l, e)\n",
        "  n1, n2, n3 ~ multinomial(softmax(z1, z2, u))\n",
        "  k ~ binomial(w, sigmoid(z2))\n",
        "  c ~ poisson_process(exp(l))\n",
        "  d ~ normal(integral(l)/integral(1), e)\n",
        "  q ~ zeroinflated(sigmoid(l), poisson_process(exp(l)))\n",
        "first values    of the latent states\n",
        "  l ~ normal(e, 0.5)\n",
        "  z1 ~ normal(0, 10)\n"};
    gsv_model *m = parse("state x, l, z[2]\ninput u\nparam e = 0.1 > 0\n"
                         "dx = dW\ndl = dW\ndz = dW\nobs y ~ normal(l, e)\n"
                         "obs n[3] ~ multinomial(softmax([z, u]))\n"
                         "obs k ~ binomial(w, sigmoid(z[2]))\n"
                         "obs c ~ poisson_process(exp(l))\n"
                         "obs d ~ normal(integral(l)/integral(1), e)\n"
                         "obs q ~ zeroinflated(sigmoid(l), "
                         "poisson_process(exp(l)))\n"
                         "init l ~ normal(e, 0.5)\n");
    char *text = gsv_model_describe(m);
    assert_non_null(text);
    for (size_t i = 0; i < COUNT(PART); i++)
        if (!strstr(text, PART[i])) fail_msg("no '%s' in:\n%s", PART[i], text);
    gsv_text_free(text);
    gsv_model_free(m);
}

/* --- Data ----------------------------------------------------------------- */

static gsv_series *csv_of(const gsv_model *m, const char *text)
{
    char path[] = "/tmp/test_obs_XXXXXX";
    int handle = mkstemp(path);
    assert_true(handle >= 0);
    size_t length = strlen(text);
    assert_true(write(handle, text, length) == (ssize_t)length);
    close(handle);
    gsv_series *s = gsv_series_read(path, gsv_model_data_columns(m),
                                    gsv_model_data_column(m));
    unlink(path);
    if (!s) fail_msg("%s", gsv_last_error());
    return s;
}

static void gaps__have_the_values_and_what_is_missing(void **state)
{
    (void)state;
    gsv_model *m = parse("state x, y\ninput u\ndx = u*dt + dW\ndy = dW\n"
                         "obs v[2] ~ normal(y, 1)\n"
                         "obs k ~ binomial(n, sigmoid(y))\n");
    gsv_series *s = csv_of(m, "time,k,n,v2,v1,u,x\n0,1,2,,7,1,5\n"
                              "1,,4.5,8,,1,\n2,NA,,,,,6\n");
    struct gaps g;
    assert_int_equal(gaps_init(&g, m, s), 0);
    assert_int_equal(g.count, 0);
    assert_true(g.column[1] == SIZE_MAX && g.column[0] == 0);
    static const double VALUE[4][3] = {
        {7, NAN, NAN}, {NAN, 8, NAN}, {1, NAN, NAN}, {2, 4.5, NAN}};
    for (size_t i = 0; i < 4; i++)
        for (size_t row = 0; row < 3; row++) {
            double got = gaps_value(&g, i, row), wanted = VALUE[i][row];
            assert_true(got == wanted || (isnan(got) && isnan(wanted)));
        }
    gaps_free(&g);
    gsv_series_free(s);
    gsv_model_free(m);
}

static const struct datum {
    const char *obs, *header, *good, *bad, *said;
} DATUM[] = {
    {"obs n ~ poisson(exp(x))", "n", "0", "2.5",
     "'n' = 2.5, but a value of 'poisson' is a whole number from 0 on"},
    {"obs n ~ poisson(exp(x))", "n", "", "-1", "'n' = -1, but a value"},
    {"obs n ~ negbin(exp(x), 2)", "n", "12", "1e-3", "'n' = 0.001,"},
    {"obs n ~ poisson_process(exp(x))", "n", "3", "3.5", "'n' = 3.5,"},
    {"obs n[2] ~ multinomial(softmax([x, 0]))", "n1,n2", "3,0", "3,0.5",
     "'n2' = 0.5, but a value of 'multinomial'"},
    {"obs n[2] ~ multinomial(softmax([x, 0]))", "n1,n2", ",0.5", "-3,1",
     "'n1' = -3,"},
    {"obs k ~ binomial(5, sigmoid(x))", "k", "5", "6",
     "'k' = 6, but a value of 'binomial' is at most the number of trials, 5"},
    {"obs k ~ binomial(n, sigmoid(x))", "k,n", "3,3", "4,3",
     "'k' = 4, but a value of 'binomial' is at most the number of trials, 3"},
    {"obs k ~ binomial(n, sigmoid(x))", "k,n", "3,", "4,4.5",
     "'n' = 4.5, but a value of 'binomial' is a whole number from 0 on"},
    {"obs v ~ lognormal(x, 1)", "v", "1e-300", "0",
     "'v' = 0, but a value of 'lognormal' is positive"},
    {"obs v ~ gamma(exp(x), 2)", "v", "7", "-1",
     "'v' = -1, but a value of 'gamma' is positive"},
    {"obs v ~ beta(sigmoid(x), 2)", "v", "0.999", "1",
     "'v' = 1, but a value of 'beta' is above 0 and below 1"},
    {"obs v ~ beta(sigmoid(x), 2)", "v", "", "0", "'v' = 0, but a value"},
    {"obs k ~ betabinomial(5, sigmoid(x), 2)", "k", "5", "6",
     "'k' = 6, but a value of 'betabinomial' is at most the number of trials, "
     "5"},
    {"obs k ~ betabinomial(n, sigmoid(x), 2)", "k,n", "3,3", "4,3",
     "at most the number of trials, 3"},
    {"obs c ~ categorical(softmax([x, 0, 1]))", "c", "3", "4",
     "'c' = 4, but a value of 'categorical' is at most the number of "
     "categories, 3"},
    {"obs c ~ categorical(softmax([x, 0, 1]))", "c", "1", "0",
     "'c' = 0, but a value of 'categorical' is a whole number from 1 on"},
    {"obs c ~ ordered(x, [0, 1])", "c", "3", "4",
     "at most the number of categories, 3"},
    {"obs c ~ ordered(x, [0, 1])", "c", "2", "1.5", "a whole number from 1"},
    {"obs n ~ zeroinflated(0.5, poisson(exp(x)))", "n", "0", "0.5",
     "'n' = 0.5, but a value of 'poisson' is a whole number from 0 on"},
    {"obs n ~ zeroinflated(0.5, binomial(w, sigmoid(x)))", "n,w", "0,3", "5,3",
     "at most the number of trials, 3"},
};

/* File and line, series, time, column and value, and what would be right. */
static void values__that_no_law_allows_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * COUNT(DATUM); i++) {
        const struct datum *d = &DATUM[i / 2];
        bool bad = i % 2;
        char text[300];
        struct gaps g;
        snprintf(text, sizeof text, "state x\ndx = dW\n%s\n", d->obs);
        gsv_model *m = parse(text);
        snprintf(text, sizeof text,
                 "series,time,%s\na,0,%s\nb7,0,%s\nb7,2.5,%s\n", d->header,
                 d->good, d->good, bad ? d->bad : d->good);
        gsv_series *s = csv_of(m, text);
        assert_int_equal(gaps_init(&g, m, s), bad ? GSV_BAD_INPUT : 0);
        const char *said = gsv_last_error();
        if (bad && (!strstr(said, ":4: series 'b7' at time 2.5 has ") ||
                    !strstr(said, d->said)))
            fail_msg("%s: %s", d->obs, said);
        if (!bad) gaps_free(&g);
        gsv_series_free(s);
        gsv_model_free(m);
    }
}

static void columns__of_observations_must_be_there(void **state)
{
    (void)state;
    gsv_model *m = parse("state x\ndx = dW\nobs v ~ normal(x, 1)\n");
    static const size_t start[] = {0, 2};
    static const double time[] = {0, 1}, x[] = {1, 2};
    static const char *const name[] = {"x"};
    gsv_series *s = gsv_series_new(1, start, 1, name, time, x);
    struct gaps g;
    assert_int_equal(gaps_init(&g, m, s), GSV_BAD_INPUT);
    assert_non_null(strstr(gsv_last_error(), "no column 'v'"));
    gsv_series_free(s);
    gsv_model_free(m);
}

/* What needs the states in the data says that they are not there. */
/* --- Memory --------------------------------------------------------------- */

static void memory__may_fail_anywhere(void **state)
{
    (void)state;
    const char *text = "state x, y[2]\ninput u\nparam e = 1 > 0\n"
                       "dx = dW\ndy = dW\nobs v[2] ~ normal(y, e)\n"
                       "obs n[2] ~ multinomial(softmax([x, u]))\n"
                       "obs k ~ binomial(w, sigmoid(x))\n"
                       "init y ~ student(e, [1, 2], 5) at 0\n"
                       "event y += dose*y\nevent x += u*other\n";
    size_t failures = 0;
    for (size_t n = 1; n < 10000; n++) {
        mem_fail_at(n);
        gsv_model *m = gsv_model_parse(text, "test.sde");
        mem_fail_at(0);
        gsv_model_free(m);
        if (m) break;
        if (gsv_last_status() != GSV_NO_MEMORY)
            fail_msg("allocation %zu: %s", n, gsv_last_error());
        failures++;
    }
    assert_true(failures > 50 && failures < 9999);
}

/* --- Events and first states ---------------------------------------------- */

static void event__columns_follow_those_of_observations(void **state)
{
    (void)state;
    gsv_model *m = parse("state x, v[2]\ninput u\nparam F = 0.5\n"
                         "event x += F*dose\n"
                         "dx = u*dt + dW\ndv = -v*dt + dW\n"
                         "obs y[2] ~ normal(v, 1)\n"
                         "event v[2] += (1 - F)*dose*u\n"
                         "event v += sum(i in 1:2, i*v[i])*[other, 1]\n");
    const struct spec *s = m->spec;
    expect_names(gsv_model_data_columns(m), gsv_model_data_column(m),
                 "x u y1 y2 dose other");
    assert_int_equal(s->obs_values, 2);
    assert_int_equal(s->values, 4);
    assert_int_equal(s->events, 3);
    static const size_t VALUE[] = {2, 2, 3};
    for (size_t i = 0; i < COUNT(VALUE); i++)
        assert_int_equal(s->event[i].value, VALUE[i]);
    gsv_model_free(m);
}

/* At x = 2, v = (3, 4), u = 5, F = 0.5 and a value of 10. */
static void event__jumps_are_those_of_the_text(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double jump[3];
    } CASE[] = {
        {"event x += dose", {10, 0, 0}},
        {"event x += F*dose", {5, 0, 0}},
        {"event v[2] += (1 - F)*dose*u", {0, 0, 25}},
        {"event v += dose*v", {0, 30, 40}},
        {"event x += where(dose > 3, -x, 0)", {-2, 0, 0}},
        {"event v[1] += sum(i in 1:2, sum(j in 1:2, i*j*v[i]))*dose",
         {0, 330, 0}},
        {"event x += min(x, dose) + t", {2.5, 0, 0}},
        {"event x += 0*dose", {0, 0, 0}},
    };
    for (size_t i = 0; i < COUNT(CASE); i++) {
        char text[400];
        snprintf(text, sizeof text,
                 "state x, v[2]\ninput u\nparam F = 0.5\ndx = u*dt + dW\n"
                 "dv = -v*dt + dW\nobs y ~ normal(x, 1)\n%s\n",
                 CASE[i].text);
        gsv_model *m = parse(text);
        double jump[3];
        const struct points at = {.P = 1,
                                  .state = (double[]){2, 3, 4},
                                  .time = (double[]){0.5},
                                  .input = (double[]){5, NAN, 10},
                                  .slope = (double[]){0, 0, 0}};
        assert_int_equal(
            model_evaluate(m, m->spec->event[0].jump, &at, true, jump), 0);
        for (size_t k = 0; k < 3; k++)
            assert_true(jump[k] == CASE[i].jump[k]);
        gsv_model_free(m);
    }
}

static void init__has_the_law_its_moments_and_its_time(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double mean, sd;
        bool normal, timed;
        double time;
    } CASE[] = {
        {"", 0, 10, true, false, 0},
        {"init x ~ normal(1, 2)", 1, 2, true, false, 0},
        {"init x ~ normal(1, 2) at -3.5", 1, 2, true, true, -3.5},
        {"const a = 4\ninit x ~ normal(1, 2) at a + 1", 1, 2, true, true, 5},
        {"init x ~ student(1, 2, 4)", 1, 2.8284271247461903, false, false, 0},
        {"init x ~ student(1, 1, 1) at 0", 1, 4.58257569495584, false, true, 0},
    };
    for (size_t i = 0; i < COUNT(CASE); i++) {
        char text[400];
        snprintf(text, sizeof text,
                 "state x\ndx = -x*dt + dW\nobs y ~ normal(x, 1)\n%s\n",
                 CASE[i].text);
        gsv_model *m = parse(text);
        const struct spec *s = m->spec;
        const struct points none = {.P = 1};
        double mean, sd;
        assert_int_equal(model_evaluate(m, s->init_mean, &none, true, &mean),
                         0);
        assert_int_equal(model_evaluate(m, s->init_deviation, &none, true, &sd),
                         0);
        assert_true(fabs(mean - CASE[i].mean) <= 1e-12);
        assert_true(fabs(sd - CASE[i].sd) <= 1e-12);
        assert_int_equal(s->init_log_density == 0, CASE[i].normal);
        assert_int_equal(s->init_timed, CASE[i].timed);
        assert_true(s->init_time == CASE[i].time);
        gsv_model_free(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(latent__are_the_states_that_observations_are_made_of),
        cmocka_unit_test(columns__are_exact_states_inputs_and_values),
        cmocka_unit_test(vectors__are_observed_element_by_element),
        cmocka_unit_test(integrals__are_leaves_after_all_values),
        cmocka_unit_test(init__is_wide_where_nothing_is_said),
        cmocka_unit_test(check__tells_observations_and_first_values),
        cmocka_unit_test(gaps__have_the_values_and_what_is_missing),
        cmocka_unit_test(values__that_no_law_allows_are_refused),
        cmocka_unit_test(columns__of_observations_must_be_there),
        cmocka_unit_test(event__columns_follow_those_of_observations),
        cmocka_unit_test(event__jumps_are_those_of_the_text),
        cmocka_unit_test(init__has_the_law_its_moments_and_its_time),
        cmocka_unit_test(memory__may_fail_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
