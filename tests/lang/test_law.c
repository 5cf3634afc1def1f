/* SPDX-License-Identifier: MIT */
/* The laws of noisy observations: log densities and their gradients against
 * formulas written in C, what they sum to, and what they are at the edge. */
#include "trial.h"

#include "lang/law.h"

static const double PI = 3.14159265358979323846;

static struct spec *spec_of(const char *text)
{
    struct source source = {"test.sde", text};
    struct spec *spec = spec_new(&source);
    if (!spec) fail_msg("%s", gsv_last_error());
    return spec;
}

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

static double ref_lognormal(const struct at *a)
{
    double s = a->p[0], y = a->v[0], r = (log(y) - a->x[0] * a->x[1]) / s;
    return -0.5 * r * r - log(s * sqrt(2 * PI) * y);
}

/* With shape k the scale is m/k. */
static double gamma_mass(double y, double m, double k)
{
    double scale = m / k;
    return log(pow(y / scale, k - 1) * exp(-y / scale) / (scale * tgamma(k)));
}

static double ref_gamma(const struct at *a)
{
    return gamma_mass(a->v[0], exp(a->x[0] + a->u), 3 * a->p[0]);
}

static double ref_gamma_plain(const struct at *a)
{
    return gamma_mass(a->v[0], a->p[0] * a->x[0], a->x[1]);
}

static double log_beta(double a, double b)
{
    return lgamma(a) + lgamma(b) - lgamma(a + b);
}

static double beta_mass(double y, double m, double s)
{
    double a = m * s, b = (1 - m) * s;
    return (a - 1) * log(y) + (b - 1) * log(1 - y) - log_beta(a, b);
}

static double ref_beta(const struct at *a)
{
    return beta_mass(a->v[0], 1 / (1 + exp(-a->x[0])), 5 * a->p[0]);
}

static double ref_beta_plain(const struct at *a)
{
    return beta_mass(a->v[0], a->x[0], a->p[0] + a->x[1]);
}

static double betabinomial_mass(double k, double n, double p, double s)
{
    double a = p * s, b = (1 - p) * s;
    return log(tgamma(n + 1) / (tgamma(k + 1) * tgamma(n - k + 1))) +
           log_beta(a + k, b + n - k) - log_beta(a, b);
}

static double ref_betabinomial(const struct at *a)
{
    return betabinomial_mass(a->v[0], 7, 1 / (1 + exp(-a->p[0] * a->x[0])),
                             a->p[1]);
}

static double ref_beta_trials(const struct at *a)
{
    return betabinomial_mass(a->v[0], a->v[1], a->x[0], 4 * a->x[1]);
}

static double category_mass(double k, const double *w)
{
    return log(w[(int)k - 1] / (w[0] + w[1] + w[2]));
}

static double ref_softmax(const struct at *a)
{
    double w[3] = {exp(a->x[0]), exp(a->x[1] * a->p[0]), 1};
    return category_mass(a->v[0], w);
}

static double ref_categorical(const struct at *a)
{
    double w[3] = {a->x[0], a->p[0], a->x[1] * a->x[1]};
    return category_mass(a->v[0], w);
}

static double logistic(double x)
{
    return 1 / (1 + exp(-x));
}

static double ref_ordered(const struct at *a)
{
    double l = a->x[0] * a->x[1];
    double below[5] = {0, logistic(-a->p[0] - l), logistic(a->p[1] - l),
                       logistic(2 + a->p[1] - l), 1};
    int k = (int)a->v[0];
    return log(below[k] - below[k - 1]);
}

static double ref_two(const struct at *a)
{
    double first = logistic(a->p[0] - a->x[0]);
    return log(a->v[0] == 1 ? first : 1 - first);
}

static double inflated_mass(double n, double p, double log_mass)
{
    return log(p * (n == 0) + (1 - p) * exp(log_mass));
}

static double ref_inflated(const struct at *a)
{
    double mass = poisson_mass(a->v[0], exp(a->x[0]));
    return inflated_mass(a->v[0], logistic(a->p[0] * a->x[1]), mass);
}

static double ref_inflated_plain(const struct at *a)
{
    double m = a->x[0], r = a->p[0], q = r / (r + m), n = a->v[0];
    double mass = log(tgamma(n + r) / (tgamma(n + 1) * tgamma(r)) * pow(q, r) *
                      pow(1 - q, n));
    return inflated_mass(n, a->x[1], mass);
}

static double ref_inflated_trials(const struct at *a)
{
    double mass = binomial_mass(a->v[0], a->v[1], a->x[0]);
    return inflated_mass(a->v[0], 0.5 * a->p[0], mass);
}

static double ref_process(const struct at *a)
{
    return poisson_mass(a->v[0], a->L);
}

enum values { ANY, POSITIVE, INSIDE, COUNTS, LABELS };

static const struct density {
    const char *name, *text;
    double (*ref)(const struct at *);
    size_t params, values;
    double most; /* of a count or label; 0 where values are measured */
    enum values kind;
} DENSITY[] = {
    {"normal", "param s = 1 > 0\nobs v ~ normal(2*x, s*exp(y))\n", ref_normal,
     1, 1, 0, ANY},
    {"student", "param s = 1 > 0, nu = 3 > 0\nobs v ~ student(x*y, s, nu)\n",
     ref_student, 2, 1, 0, ANY},
    {"poisson", "param a = 1 > 0\nlet m = a*x^2 + y\nobs v ~ poisson(m)\n",
     ref_poisson, 1, 1, 6, COUNTS},
    {"poisson of exp", "param a = 1\ninput u\nobs v ~ poisson(exp(a*x + u))\n",
     ref_link, 1, 1, 6, COUNTS},
    {"negbin", "param r = 1 > 0\nobs v ~ negbin(exp(x) + y, r)\n", ref_negbin,
     1, 1, 6, COUNTS},
    {"binomial", "param a = 1\nobs v ~ binomial(7, sigmoid(a*x))\n",
     ref_binomial, 1, 1, 7, COUNTS},
    {"binomial of a column", "param a = 1\nobs v ~ binomial(w, a*x*t)\n",
     ref_trials, 1, 2, 4, COUNTS},
    {"multinomial",
     "param a = 1\nobs v[3] ~ multinomial(softmax([x, a*y, 0]))\n",
     ref_multinomial, 1, 3, 4, COUNTS},
    {"shares", "param a = 1\nobs v[3] ~ multinomial([x, a, y^2])\n", ref_shares,
     1, 3, 4, COUNTS},
    {"process", "param a = 1\nobs v ~ poisson_process(a*x)\n", ref_process, 1,
     1, 6, COUNTS},
    {"lognormal", "param s = 1 > 0\nobs v ~ lognormal(x*y, s)\n", ref_lognormal,
     1, 1, 0, POSITIVE},
    {"gamma", "param a = 1 > 0\ninput u\nobs v ~ gamma(exp(x + u), 3*a)\n",
     ref_gamma, 1, 1, 0, POSITIVE},
    {"gamma without a link", "param a = 1 > 0\nobs v ~ gamma(a*x, y)\n",
     ref_gamma_plain, 1, 1, 0, POSITIVE},
    {"beta", "param a = 1 > 0\nobs v ~ beta(sigmoid(x), 5*a)\n", ref_beta, 1, 1,
     0, INSIDE},
    {"beta without a link", "param a = 1 > 0\nobs v ~ beta(x, a + y)\n",
     ref_beta_plain, 1, 1, 0, INSIDE},
    {"betabinomial",
     "param a = 1, s = 1 > 0\nobs v ~ betabinomial(7, sigmoid(a*x), s)\n",
     ref_betabinomial, 2, 1, 7, COUNTS},
    {"betabinomial of a column", "obs v ~ betabinomial(w, x, 4*y)\n",
     ref_beta_trials, 0, 2, 4, COUNTS},
    {"softmax", "param a = 1\nobs v ~ categorical(softmax([x, a*y, 0]))\n",
     ref_softmax, 1, 1, 3, LABELS},
    {"categorical", "param a = 1\nobs v ~ categorical([x, a, y^2])\n",
     ref_categorical, 1, 1, 3, LABELS},
    {"ordered", "param a = 1, b = 1\nobs v ~ ordered(x*y, [-a, b, 2 + b])\n",
     ref_ordered, 2, 1, 4, LABELS},
    {"ordered of two", "param a[1] = 1\nobs v ~ ordered(x, a)\n", ref_two, 1, 1,
     2, LABELS},
    {"zeros of poisson",
     "param a = 1\nobs v ~ zeroinflated(sigmoid(a*y), poisson(exp(x)))\n",
     ref_inflated, 1, 1, 6, COUNTS},
    {"zeros of negbin",
     "param r = 1 > 0\nobs v ~ zeroinflated(y, negbin(x, r))\n",
     ref_inflated_plain, 1, 1, 6, COUNTS},
    {"zeros of binomial",
     "param a = 1\nobs v ~ zeroinflated(a/2, binomial(w, x))\n",
     ref_inflated_trials, 1, 2, 4, COUNTS},
};

static bool has_trials(const struct density *d)
{
    return d->ref == ref_trials || d->ref == ref_beta_trials ||
           d->ref == ref_inflated_trials;
}

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
        a->v[i] = d->kind == LABELS     ? floor(random_in(1, d->most + 1))
                  : d->most > 0         ? floor(random_in(0, d->most + 1))
                  : d->kind == POSITIVE ? random_in(0.05, 4)
                  : d->kind == INSIDE   ? random_in(0.02, 0.98)
                                        : random_in(-2, 3);
    if (has_trials(d)) a->v[1] += a->v[0];
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

/* All counts or labels together have the probability 1: the constants are all
 * there. */
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
        double last = has_trials(d) ? 9
                      : d->kind == LABELS || strstr(d->text, "(7, sig")
                          ? d->most
                          : 200;
        for (double n = d->kind == LABELS; n <= last; n++) {
            a.v[0] = n;
            sum += exp(run_at(&r, &a, NULL));
        }
        expect(d->name, "the sum", sum, 1.0, 1e-12);
        run_close(&r);
    }
}

/* Values by a map of the line with tails that fall off doubly exponentially:
 * with w = 1.5 sinh(u), sinh(w), exp(w) or 1/(1 + exp(-w)). */
static double line_to_value(enum values kind, double u, double *slope)
{
    double w = 1.5 * sinh(u), y = sinh(w);
    *slope = 1.5 * cosh(u);
    if (kind == ANY) *slope *= cosh(w);
    if (kind == POSITIVE) y = exp(w), *slope *= y;
    if (kind == INSIDE) y = logistic(w), *slope *= y * logistic(-w);
    return y;
}

/* The trapezoidal rule, which converges faster than any power where everything
 * falls off at both ends. */
static void density__of_measured_values_integrates_to_one(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(DENSITY); i++) {
        const struct density *d = &DENSITY[i];
        struct run r;
        struct at a;
        double sum = 0.0, h = 0.005, slope;
        if (d->most > 0.0) continue;
        run_open(&r, d->text, 0);
        draw(d, &a);
        if (d->kind == INSIDE) a.x[0] = 0.5, a.p[0] = a.x[1] = 1.5;
        for (double u = -5; u <= 5; u += h) {
            a.v[0] = line_to_value(d->kind, u, &slope);
            if (d->kind == INSIDE && !(a.v[0] > 0 && a.v[0] < 1)) continue;
            sum += exp(run_at(&r, &a, NULL)) * slope;
        }
        expect(d->name, "the integral", sum * h, 1.0, 1e-10);
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
    assert_true(o->integrated && !s->obs[1].integrated);
    assert_true(graph_depends(s->graph, s->integral[0].rate, OP_STATE));
    assert_false(graph_depends(s->graph, o->log_density, OP_STATE));
    node leaf = graph_leaf(s->graph, OP_INPUT, s->inputs + s->values, 1, 1);
    assert_true(o->argument[0] == leaf);
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
        {"obs v ~ betabinomial(4, x, 2)\n", {.x = {0}, .v = {0}}, 0},
        {"obs v ~ betabinomial(4, x, 2)\n", {.x = {1}, .v = {4}}, 0},
        {"obs v ~ betabinomial(4, sigmoid(x), 2)\n",
         {.x = {-800}, .v = {1}},
         -800 + 0.47000362924573558},
        {"obs v ~ beta(sigmoid(x), 1)\n",
         {.x = {-800}, .v = {0.5}},
         -800 + M_LN2},
        /* A missing value is 1. */
        {"obs v ~ beta(x, y)\n", {.x = {0.5, 2}, .v = {1}}, 0},
        {"obs v ~ categorical(softmax([x, y]))\n",
         {.x = {-900, 0}, .v = {1}},
         -900},
        {"obs v ~ categorical([x, 1])\n", {.x = {0}, .v = {2}}, 0},
        {"obs v ~ ordered(x, [0, 1])\n", {.x = {900}, .v = {1}}, -900},
        {"obs v ~ ordered(x, [0, 1])\n",
         {.x = {900}, .v = {2}},
         -899 + -0.45867514538708193},
        {"obs v ~ ordered(x, [0, y, 1])\n", {.x = {0}, .v = {1}}, -M_LN2},
        {"obs v ~ zeroinflated(x, poisson(2))\n", {.x = {0}, .v = {0}}, -2},
        {"obs v ~ zeroinflated(x, poisson(y))\n", {.x = {1, 2}, .v = {0}}, 0},
        {"obs v ~ zeroinflated(sigmoid(x), poisson(exp(y)))\n",
         {.x = {-900, 7}, .v = {0}},
         -900},
        {"obs v ~ zeroinflated(sigmoid(x), poisson(2))\n",
         {.x = {900}, .v = {1}},
         -902 + M_LN2},
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

/* A missing value is 1, and weighs nothing: neither it nor its slopes may be
 * NaN. */
static void density__is_finite_where_values_are_missing(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(DENSITY); i++) {
        struct run r;
        struct at a;
        double slope[8];
        run_open(&r, DENSITY[i].text, 0);
        draw(&DENSITY[i], &a);
        for (size_t k = 0; k < DENSITY[i].values; k++)
            a.v[k] = 1.0;
        double sum = run_at(&r, &a, slope);
        for (size_t k = 0; k < 2 + DENSITY[i].params; k++)
            sum += slope[k];
        if (!isfinite(sum)) fail_msg("%s", DENSITY[i].name);
        run_close(&r);
    }
}

/* What is outside of the law is NaN, and never a likelihood. */
static void density__outside_of_the_law_is_nan(void **state)
{
    (void)state;
    static const char *const TEXT[] = {
        "obs v ~ normal(0, x)\n",
        "obs v ~ student(0, x, 3)\n",
        "obs v ~ student(0, 1, x)\n",
        "obs v ~ poisson(x)\n",
        "obs v ~ negbin(x, 2)\n",
        "obs v ~ negbin(1, x)\n",
        "obs v ~ binomial(4, x)\n",
        "obs v ~ binomial(4, 1 - x)\n",
        "obs v[2] ~ multinomial([x, 1])\n",
        "obs v ~ lognormal(0, x)\n",
        "obs v ~ gamma(x, 2)\n",
        "obs v ~ gamma(1, x)\n",
        "obs v ~ beta(x, 2)\n",
        "obs v ~ beta(1 - x, 2)\n",
        "obs v ~ beta(0.5, x)\n",
        "obs v ~ betabinomial(4, x, 2)\n",
        "obs v ~ betabinomial(4, 1 - x, 2)\n",
        "obs v ~ betabinomial(4, 0.5, x)\n",
        "obs v ~ categorical([x, 1, 1])\n",
        "obs v ~ ordered(0, [1, 2 + 3*x])\n",
        "obs v ~ zeroinflated(x, poisson(1))\n",
        "obs v ~ zeroinflated(1 - x, poisson(1))\n",
        "obs v ~ zeroinflated(0.5, poisson(x))\n"};
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

/* Every law has what simulation and likelihoods ask of it: its draws are values
 * that its checks allow. */
static void rows__are_whole(void **state)
{
    (void)state;
    static const double A[LAW_ARGUMENTS] = {3.0, 0.5, 4.0};
    static const double INSIDE_A[LAW_ARGUMENTS] = {0.3, 0.5, 4.0};
    for (size_t i = 0; i < LAW_COUNT; i++) {
        const struct law_row *row = &LAW_TABLE[i];
        assert_true(law_find(row->name) == i);
        assert_true(row->arguments >= 1 && row->arguments <= LAW_ARGUMENTS);
        for (size_t k = 0; k < row->arguments; k++)
            assert_non_null(row->argument[k].name);
        assert_non_null(row->density);
        assert_true(row->together || (row->draw && row->lawful));
        if (row->together) continue;
        struct sampler s;
        const struct random_key key = {.seed = i};
        sampler_start(&s, &key, 0);
        const double *a = row->value == RANGE_INSIDE ? INSIDE_A : A;
        assert_true(row->lawful(3, a));
        assert_false(row->lawful(3, (double[]){NAN, NAN, NAN}));
        for (int k = 0; k < 50; k++) {
            double v = row->draw(&s, 3, a);
            assert_true(law_allows(row->value, v));
            if (row->value == RANGE_LABEL) assert_true(v <= 3.0);
            if (row->trials) assert_true(v <= a[0]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows__are_whole),
        cmocka_unit_test(density__is_that_of_the_law),
        cmocka_unit_test(density__of_counts_sums_to_one),
        cmocka_unit_test(density__of_measured_values_integrates_to_one),
        cmocka_unit_test(process__moves_with_the_integral),
        cmocka_unit_test(density__is_finite_at_the_edge),
        cmocka_unit_test(density__is_finite_where_values_are_missing),
        cmocka_unit_test(density__outside_of_the_law_is_nan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
