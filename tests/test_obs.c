/* SPDX-License-Identifier: MIT */
/* Noisy observations from text to spec: log densities and their gradients
 * against formulas written in C, which states are latent, which columns the
 * data have, and what is said about values that no law allows. */
#include <stdlib.h>
#include <unistd.h>

#include "trial.h"

#include "lang/law.h"
#include "sde/gaps.h"

static const double PI = 3.14159265358979323846;

static struct spec *spec_of(const char *text)
{
    struct source source = {"test.sde", text};
    struct spec *spec = spec_new(&source);
    if (!spec) fail_msg("%s", gsv_last_error());
    return spec;
}

/* --- Densities ------------------------------------------------------------ */

/* x and y are the states, p the parameters in order, v the values, u the
 * model's inputs; L the integral of a rate. */
struct at {
    double x[2], t, u, p[3], v[3], L;
};

static double ref_normal(const struct at *a)
{
    double s = a->p[0] * exp(a->x[1]), r = (a->v[0] - 2 * a->x[0]) / s;
    return -0.5 * r * r - log(s * sqrt(2 * PI));
}

static double ref_student(const struct at *a)
{
    double s = a->p[0], nu = a->p[1], r = (a->v[0] - a->x[0] * a->x[1]) / s;
    return log(tgamma((nu + 1) / 2) / tgamma(nu / 2) / (sqrt(nu * PI) * s)) -
           (nu + 1) / 2 * log(1 + r * r / nu);
}

static double poisson_mass(double n, double mean)
{
    return log(pow(mean, n) * exp(-mean) / tgamma(n + 1));
}

static double ref_poisson(const struct at *a)
{
    return poisson_mass(a->v[0], a->p[0] * a->x[0] * a->x[0] + a->x[1]);
}

static double ref_link(const struct at *a)
{
    return poisson_mass(a->v[0], exp(a->x[0] * a->p[0] + a->u));
}

static double ref_negbin(const struct at *a)
{
    double m = exp(a->x[0]) + a->x[1], r = a->p[0];
    double q = r / (r + m), n = a->v[0];
    return log(tgamma(n + r) / (tgamma(n + 1) * tgamma(r)) * pow(q, r) *
               pow(1 - q, n));
}

static double binomial_mass(double k, double n, double p)
{
    return log(tgamma(n + 1) / (tgamma(k + 1) * tgamma(n - k + 1)) * pow(p, k) *
               pow(1 - p, n - k));
}

static double ref_binomial(const struct at *a)
{
    return binomial_mass(a->v[0], 7, 1 / (1 + exp(-a->p[0] * a->x[0])));
}

static double ref_trials(const struct at *a)
{
    return binomial_mass(a->v[0], a->v[1], a->p[0] * a->x[0] * a->t);
}

static double shares_mass(const double *w, const double *k)
{
    double sum = w[0] + w[1] + w[2], n = k[0] + k[1] + k[2];
    double mass = tgamma(n + 1);
    for (int i = 0; i < 3; i++)
        mass *= pow(w[i] / sum, k[i]) / tgamma(k[i] + 1);
    return log(mass);
}

static double ref_multinomial(const struct at *a)
{
    double w[3] = {exp(a->x[0]), exp(a->x[1] * a->p[0]), 1};
    return shares_mass(w, a->v);
}

static double ref_shares(const struct at *a)
{
    double w[3] = {a->x[0], a->p[0], a->x[1] * a->x[1]};
    return shares_mass(w, a->v);
}

static double ref_process(const struct at *a)
{
    return poisson_mass(a->v[0], a->L);
}

static const struct density {
    const char *name, *text;
    double (*ref)(const struct at *);
    size_t params, values;
    double most; /* of a count; 0 where values are any number */
} DENSITY[] = {
    {"normal", "param s = 1 > 0\nobs v ~ normal(2*x, s*exp(y))\n", ref_normal,
     1, 1, 0},
    {"student", "param s = 1 > 0, nu = 3 > 0\nobs v ~ student(x*y, s, nu)\n",
     ref_student, 2, 1, 0},
    {"poisson", "param a = 1 > 0\nlet m = a*x^2 + y\nobs v ~ poisson(m)\n",
     ref_poisson, 1, 1, 6},
    {"poisson of exp", "param a = 1\ninput u\nobs v ~ poisson(exp(a*x + u))\n",
     ref_link, 1, 1, 6},
    {"negbin", "param r = 1 > 0\nobs v ~ negbin(exp(x) + y, r)\n", ref_negbin,
     1, 1, 6},
    {"binomial", "param a = 1\nobs v ~ binomial(7, sigmoid(a*x))\n",
     ref_binomial, 1, 1, 7},
    {"binomial of a column", "param a = 1\nobs v ~ binomial(w, a*x*t)\n",
     ref_trials, 1, 2, 4},
    {"multinomial",
     "param a = 1\nobs v[3] ~ multinomial(softmax([x, a*y, 0]))\n",
     ref_multinomial, 1, 3, 4},
    {"shares", "param a = 1\nobs v[3] ~ multinomial([x, a, y^2])\n", ref_shares,
     1, 3, 4},
    {"process", "param a = 1\nobs v ~ poisson_process(a*x)\n", ref_process, 1,
     1, 6},
};

/* The log density of a spec's first obs as a program at one point. */
struct run {
    struct spec *spec;
    struct program *program;
    struct uniforms u;
    struct workspace w;
};

static void run_open(struct run *r, const char *text, node output)
{
    char whole[400];
    snprintf(whole, sizeof whole,
             "state x, y\ndx = -x*dt + dW\ndy = -y*dt + dW\n%s", text);
    r->spec = spec_of(whole);
    if (!output) output = r->spec->obs[0].log_density;
    assert_int_equal(graph_size(r->spec->graph, output), 1);
    r->program =
        program_new(r->spec->graph, 1, &output, r->spec->parameters, true);
    assert_non_null(r->program);
    assert_int_equal(uniforms_init(&r->u, r->program), 0);
    assert_int_equal(workspace_init(&r->w, r->program, 1, true, false), 0);
}

static void run_close(struct run *r)
{
    workspace_free(&r->w);
    uniforms_free(&r->u);
    program_free(r->program);
    spec_free(r->spec);
}

/* The value, and where wanted its slopes by x (2) and p (params). */
static double run_at(struct run *r, const struct at *a, double *slope)
{
    const struct spec *s = r->spec;
    double input[8] = {a->u}, one = 1.0, uniform_bar[64] = {0};
    memcpy(input + s->inputs, a->v, s->values * sizeof *input);
    input[s->inputs + s->values] = a->L;
    struct points in = {
        .P = 1, .state = a->x, .time = &a->t, .input = input, .slope = input};
    program_prepare(r->program, a->p, &r->u);
    program_forward(r->program, &r->u, &r->w, &in);
    double value = program_output(r->program, &r->w, 1, 0)[0];
    if (!slope) return value;
    const double *bar = &one;
    assert_true(program_uniforms(r->program) <= COUNT(uniform_bar));
    memset(slope, 0, 2 * sizeof *slope);
    program_vjp(r->program, &r->u, &r->w, &in, &bar, slope, uniform_bar);
    program_finish(r->program, &r->u, uniform_bar);
    memcpy(slope + 2, uniform_bar, s->parameters * sizeof *slope);
    return value;
}

static void draw(const struct density *d, struct at *a)
{
    *a = (struct at){.t = random_in(0.2, 0.9),
                     .u = random_in(-0.5, 0.5),
                     .L = random_in(0.3, 4.0)};
    random_fill(2, a->x, 0.2, 0.9);
    random_fill(d->params, a->p, 0.5, 1.2);
    for (size_t i = 0; i < d->values; i++)
        a->v[i] =
            d->most > 0 ? floor(random_in(0, d->most + 1)) : random_in(-2, 3);
    if (d->ref == ref_trials) a->v[1] += a->v[0];
}

static void expect(const char *name, const char *what, double got,
                   double wanted, double tolerance)
{
    if (!(fabs(got - wanted) <= tolerance * (1 + fabs(wanted))))
        fail_msg("%s: %s is %.17g, should be %.17g", name, what, got, wanted);
}

/* (f(a + h) - f(a - h)) / 2h of the formula in C by *p, which is inside a. */
static double difference(const struct density *d, struct at *a, double *p)
{
    double kept = *p, h = 1e-5;
    *p = kept + h;
    double up = d->ref(a);
    *p = kept - h;
    double down = d->ref(a);
    *p = kept;
    return (up - down) / (2 * h);
}

static void density__is_that_of_the_law(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(DENSITY); i++) {
        const struct density *d = &DENSITY[i];
        struct run r;
        run_open(&r, d->text, 0);
        assert_int_equal(r.spec->observations, 1);
        assert_int_equal(r.spec->values, d->values);
        for (int k = 0; k < 50; k++) {
            struct at a;
            double slope[8];
            draw(d, &a);
            expect(d->name, "log density", run_at(&r, &a, slope), d->ref(&a),
                   1e-13);
            for (size_t j = 0; j < 2 + d->params; j++) {
                double *p = j < 2 ? &a.x[j] : &a.p[j - 2];
                expect(d->name, "slope", slope[j], difference(d, &a, p), 1e-8);
            }
        }
        run_close(&r);
    }
}

/* All counts together have the probability 1: the constants are all there. */
static void density__of_counts_sums_to_one(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(DENSITY); i++) {
        const struct density *d = &DENSITY[i];
        struct run r;
        struct at a;
        double sum = 0.0;
        if (d->most == 0.0 || d->values > 2) continue;
        run_open(&r, d->text, 0);
        draw(d, &a);
        a.v[1] = 9;
        double last = d->ref == ref_trials     ? 9
                      : d->ref == ref_binomial ? 7
                                               : 200;
        for (double n = 0; n <= last; n++) {
            a.v[0] = n;
            sum += exp(run_at(&r, &a, NULL));
        }
        expect(d->name, "the sum", sum, 1.0, 1e-12);
        run_close(&r);
    }
}

/* By the integral of the rate the slope is n/L - 1. */
static void process__moves_with_the_integral(void **state)
{
    (void)state;
    struct run r;
    const char *text = "obs n ~ poisson_process(exp(x))\n"
                       "obs v ~ normal(y, 1)\n";
    run_open(&r, text, 0);
    struct spec *s = r.spec;
    const struct obs_spec *o = &s->obs[0];
    assert_int_equal(s->integrals, 1);
    assert_int_equal(s->values, 2);
    assert_true(o->rate == o->argument[0] && o->rate != 0);
    assert_int_equal(s->obs[1].rate, 0);
    assert_false(graph_depends(s->graph, o->log_density, OP_STATE));
    node leaf = graph_leaf(s->graph, OP_INPUT, s->inputs + s->values, 1, 1);
    node slope = graph_gradient(s->graph, o->log_density, leaf);
    struct run by = {.spec = s};
    by.program = program_new(s->graph, 1, &slope, s->parameters, true);
    assert_int_equal(uniforms_init(&by.u, by.program), 0);
    assert_int_equal(workspace_init(&by.w, by.program, 1, true, false), 0);
    struct at a = {.v = {3, 0}, .L = 1.7};
    expect("process", "slope", run_at(&by, &a, NULL), 3 / 1.7 - 1, 1e-13);
    by.spec = NULL;
    run_close(&by);
    run_close(&r);
}

/* Where the exact value is finite, so is ours: 0 log 0 is 0, and a link goes
 * as far as it can. */
static void density__is_finite_at_the_edge(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        struct at at;
        double wanted;
    } EDGE[] = {
        {"obs v ~ poisson(x)\n", {.x = {0}, .v = {0}}, 0},
        {"obs v ~ poisson(exp(x))\n", {.x = {-900}, .v = {2}}, -1800 - M_LN2},
        {"obs v[2] ~ poisson(exp([x, y]))\n", {.x = {-900}, .v = {1}}, -900},
        {"obs v ~ poisson_process(x)\n", {.v = {0}, .L = 0}, 0},
        {"obs v ~ negbin(x, 2)\n", {.x = {0}, .v = {0}}, 0},
        {"obs v ~ binomial(4, x)\n", {.x = {1}, .v = {4}}, 0},
        {"obs v ~ binomial(4, x)\n", {.x = {0}, .v = {0}}, 0},
        {"obs v ~ binomial(4, sigmoid(x))\n",
         {.x = {800}, .v = {3}},
         -800 + 2 * M_LN2},
        {"obs v ~ binomial(4, sigmoid(x))\n",
         {.x = {-800}, .v = {1}},
         -800 + 2 * M_LN2},
        {"obs v[2] ~ multinomial([x, 1])\n", {.x = {0}, .v = {0, 3}}, 0},
        {"obs v[2] ~ multinomial(softmax([x, y]))\n",
         {.x = {-900, 0}, .v = {2, 0}},
         -1800},
    };
    for (size_t i = 0; i < COUNT(EDGE); i++) {
        struct run r;
        double slope[8];
        run_open(&r, EDGE[i].text, 0);
        expect(EDGE[i].text, "log density", run_at(&r, &EDGE[i].at, slope),
               EDGE[i].wanted, 1e-12);
        assert_true(isfinite(slope[0]) && isfinite(slope[1]));
        run_close(&r);
    }
}

/* What is outside of the law is NaN, and never a likelihood. */
static void density__outside_of_the_law_is_nan(void **state)
{
    (void)state;
    static const char *const TEXT[] = {
        "obs v ~ normal(0, x)\n",          "obs v ~ student(0, x, 3)\n",
        "obs v ~ student(0, 1, x)\n",      "obs v ~ poisson(x)\n",
        "obs v ~ negbin(x, 2)\n",          "obs v ~ negbin(1, x)\n",
        "obs v ~ binomial(4, x)\n",        "obs v ~ binomial(4, 1 - x)\n",
        "obs v[2] ~ multinomial([x, 1])\n"};
    for (size_t i = 0; i < COUNT(TEXT); i++)
        for (double v = 0; v < 3; v++) {
            struct run r;
            struct at a = {.x = {-0.5}, .v = {v, 1}};
            run_open(&r, TEXT[i], 0);
            if (!isnan(run_at(&r, &a, NULL)))
                fail_msg("%s at %g is %g", TEXT[i], v, run_at(&r, &a, NULL));
            run_close(&r);
        }
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
        assert_true(r->integral == i && graph_size(g, r->rate) == 1);
        assert_int_equal(graph_state_used(g, r->rate, 3, used), 0);
        for (size_t j = 0; j < 3; j++)
            assert_int_equal(used[j], j == i);
    }
    assert_true(s->obs[3].law == LAW_MULTINOMIAL && s->obs[3].values == 3);
    assert_int_equal(graph_size(g, s->obs[3].argument[0]), 3);
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
        "first values    of the latent states\n",
        "  l ~ normal(e, 0.5)\n",
        "  z1 ~ normal(0, 10)\n"};
    gsv_model *m = parse("state x, l, z[2]\ninput u\nparam e = 0.1 > 0\n"
                         "dx = dW\ndl = dW\ndz = dW\nobs y ~ normal(l, e)\n"
                         "obs n[3] ~ multinomial(softmax([z, u]))\n"
                         "obs k ~ binomial(w, sigmoid(z[2]))\n"
                         "obs c ~ poisson_process(exp(l))\n"
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

/* --- Memory --------------------------------------------------------------- */

static void memory__may_fail_anywhere(void **state)
{
    (void)state;
    const char *text = "state x, y[2]\ninput u\nparam e = 1 > 0\n"
                       "dx = dW\ndy = dW\nobs v[2] ~ normal(y, e)\n"
                       "obs n[2] ~ multinomial(softmax([x, u]))\n"
                       "obs k ~ binomial(w, sigmoid(x))\n"
                       "init y ~ normal(e, [1, 2])\n";
    size_t failures = 0;
    for (size_t n = 1; n < 10000; n++) {
        mem_fail_at(n);
        gsv_model *m = gsv_model_parse(text, "test.sde");
        mem_fail_at(0);
        gsv_model_free(m);
        if (m) break;
        assert_int_equal(gsv_last_status(), GSV_NO_MEMORY);
        failures++;
    }
    assert_true(failures > 50 && failures < 9999);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(density__is_that_of_the_law),
        cmocka_unit_test(density__of_counts_sums_to_one),
        cmocka_unit_test(process__moves_with_the_integral),
        cmocka_unit_test(density__is_finite_at_the_edge),
        cmocka_unit_test(density__outside_of_the_law_is_nan),
        cmocka_unit_test(latent__are_the_states_that_observations_are_made_of),
        cmocka_unit_test(columns__are_exact_states_inputs_and_values),
        cmocka_unit_test(vectors__are_observed_element_by_element),
        cmocka_unit_test(init__is_wide_where_nothing_is_said),
        cmocka_unit_test(check__tells_observations_and_first_values),
        cmocka_unit_test(gaps__have_the_values_and_what_is_missing),
        cmocka_unit_test(values__that_no_law_allows_are_refused),
        cmocka_unit_test(columns__of_observations_must_be_there),
        cmocka_unit_test(memory__may_fail_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
