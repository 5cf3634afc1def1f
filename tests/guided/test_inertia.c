/* SPDX-License-Identifier: MIT */
/* States without noise of their own: positions whose velocities are hidden,
 * chains of integrators, coloured noise. Linear ones against the joint normal
 * law, others against a bootstrap filter of short steps. */
#include <stdio.h>

#include "observe_exact.h"

#include "guided/course.h"
#include "model/reach.h"

static gsv_options options(enum gsv_observe observe, size_t points,
                           size_t steps)
{
    gsv_options o = gsv_options_default();
    o.observe = observe;
    o.points = points;
    o.steps = steps;
    o.threads = 1;
    return o;
}

/* --- Linear models -------------------------------------------------------- */

enum { MOST = 5, ROWS = 24 };

/* Of d states in a chain or two, of which the first `seen` have columns. The
 * rows of A and the factors of the noise, one for each state. */
static const struct linear_case {
    const char *name;
    size_t d, seen;
    double gap, A[MOST][MOST], G[MOST];
} CASES[] = {
    {"oscillator", 2, 1, 0.3, {{0, 1}, {-1, -0.5}}, {0, 0.5}},
    {"fast rows", 2, 1, 0.01, {{0, 1}, {-1, -0.5}}, {0, 0.5}},
    {"slow rows", 2, 1, 8, {{0, 1}, {-1, -0.5}}, {0, 0.5}},
    {"integrated", 2, 1, 0.2, {{0, 1}, {0, -2}}, {0, 1}},
    {"Brownian velocity", 2, 1, 1, {{0, 1}, {0, 0}}, {0, 1}},
    {"unstable", 2, 1, 0.3, {{0, 1}, {1, 0.2}}, {0, 0.4}},
    {"coloured", 2, 1, 0.4, {{-1, 1}, {0, -3}}, {0, 2}},
    {"jerk", 3, 1, 0.3, {{0, 1}, {0, 0, 1}, {-1, -2, -1}}, {0, 0, 0.7}},
    {"jerk, two seen", 3, 2, 0.3, {{0, 1}, {0, 0, 1}, {-1, -2, -1}}, {0, 0, 1}},
    {"delays",
     5,
     1,
     0.5,
     {{-2, 2}, {0, -2, 2}, {0, 0, -2, 2}, {0, 0, 0, -2, 2}, {0, 0, 0, 0, -1}},
     {0, 0, 0, 0, 1}},
    {"two masses",
     4,
     2,
     0.3,
     {{0, 0, 1}, {0, 0, 0, 1}, {-2, 1, -0.3}, {1, -2, 0, -0.3}},
     {0, 0, 0.5, 0.8}},
    {"one noise for two",
     4,
     2,
     0.5,
     {{0, 0, 1}, {0, 0, 0, 1}, {-2, 1, -0.3}, {1, -2, 0, -0.3}},
     {0, 0, 0, 0.8}},
    {"position beside a noisy state",
     3,
     2,
     0.3,
     {{0, 0, 1}, {0.2, -1, 0.5}, {-1, 0.3, -0.5}},
     {0, 0.6, 0.5}},
};

/* How the states that are seen come to the data. */
enum seen { EXACT, NOISY, TINY, BLURRED, KINDS };
static const double DEVIATION[KINDS] = {0, 0.2, 1e-4, 0.1};

struct lab {
    const struct linear_case *c;
    enum seen seen;
    struct exact_linear law; /* with integrals of the seen states if BLURRED */
    double t[ROWS], y[MOST * ROWS];
    gsv_model *m;
    gsv_series *s;
};

static struct exact_linear law_of(const struct linear_case *c, enum seen seen)
{
    size_t d = c->d, D = seen == BLURRED ? d + c->seen : d;
    struct exact_linear l = {.d = D, .noises = d, .outputs = c->seen};
    for (size_t i = 0; i < d; i++) {
        for (size_t j = 0; j < d; j++)
            l.A[i * D + j] = c->A[i][j];
        l.G[i * d + i] = c->G[i];
        l.m0[i] = 0.1 * (double)i;
        l.P0[i * (D + 1)] = 0.25;
    }
    for (size_t i = 0; i < c->seen; i++) {
        if (seen == BLURRED) l.A[(d + i) * D + i] = 1.0;
        l.H[i * D + (seen == BLURRED ? d + i : i)] = 1.0;
        l.r[i] = DEVIATION[seen];
    }
    return l;
}

/* x += a root of Q times z. */
static void shake(size_t d, const double *Q, const double *z, double *x)
{
    double L[EXACT_DD] = {0};
    for (size_t j = 0; j < d; j++)
        for (size_t i = j; i < d; i++) {
            double sum = Q[i * d + j];
            for (size_t k = 0; k < j; k++)
                sum -= L[i * d + k] * L[j * d + k];
            if (i == j) L[i * d + j] = sqrt(fmax(sum, 0.0));
            else if (L[j * d + j] > 0.0) L[i * d + j] = sum / L[j * d + j];
        }
    for (size_t i = 0; i < d; i++)
        for (size_t k = 0; k <= i; k++)
            x[i] += L[i * d + k] * z[k];
}

/* Rows at uneven times; two cells are missing. */
static void make_data(struct lab *l)
{
    const struct exact_linear *m = &l->law;
    double x[EXACT_D] = {0.3, -0.2, 0.1}, *z = normals(ROWS * 20, 5), t = 0.0;
    for (size_t k = 0; k < ROWS; k++) {
        const double *e = z + 20 * k;
        if (k) {
            double h = l->c->gap * (k % 3 ? 1.0 : 0.6), next[EXACT_D];
            struct exact_gap g = exact_transition(m, h);
            for (size_t i = l->c->d; i < m->d; i++)
                x[i] = 0.0;
            exact_affine(m->d, g.F, x, g.c, next);
            shake(m->d, g.Q, e, next);
            memcpy(x, next, sizeof x);
            t += h;
        }
        l->t[k] = t;
        for (size_t i = 0; i < m->outputs; i++) {
            double sum = m->r[i] * e[10 + i];
            for (size_t j = 0; j < m->d; j++)
                sum += m->H[i * m->d + j] * x[j];
            l->y[i * ROWS + k] = sum;
        }
        if (k == 7 || k == 12) l->y[ROWS * (k % m->outputs) + k] = NAN;
    }
    mem_free(z);
}

static void put(char **at, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    *at += vsprintf(*at, format, list);
    va_end(list);
}

/* With curved, as equations that are not linear to the eye, with the parameter
 * b = 0. */
static gsv_model *inertial_model(const struct lab *l, bool curved)
{
    const struct linear_case *c = l->c;
    static char text[4000];
    char *at = text;
    put(&at, "param b = 0, a = 1, s = 1 > 0\n");
    for (size_t i = 0; i < c->d; i++)
        put(&at, "state x%zu\n", i + 1);
    for (size_t i = 0; i < c->d; i++) {
        put(&at, "dx%zu = (0", i + 1);
        for (size_t j = 0; j < c->d; j++)
            if (c->A[i][j] != 0.0) put(&at, " + %g*x%zu", c->A[i][j], j + 1);
        if (c->G[i] != 0.0) put(&at, " + (a - 1)*x1");
        if (curved && c->G[i] != 0.0) put(&at, " + b*x1^2");
        put(&at, ")*dt");
        if (c->G[i] != 0.0) put(&at, " + s*%g*dW%zu", c->G[i], i + 1);
        put(&at, "\n");
        if (l->seen != EXACT || i >= c->seen)
            put(&at, "init x%zu ~ normal(%g, 0.5)\n", i + 1, 0.1 * (double)i);
        if (l->seen != EXACT && i < c->seen)
            put(&at, "obs y%zu ~ normal(%s, %g)\n", i + 1,
                l->seen == BLURRED
                    ? (char[2][20]){"integral(x1)", "integral(x2)"}[i]
                    : (char[2][4]){"x1", "x2"}[i],
                DEVIATION[l->seen]);
    }
    gsv_model *m = gsv_model_parse(text, "inertia");
    if (!m) fail_msg("%s\n%s", gsv_last_error(), text);
    return m;
}

static void lab_init(struct lab *l, const struct linear_case *c, enum seen seen,
                     bool curved)
{
    static const char *const EXACTLY[] = {"x1", "x2"}, *const NOISILY[] = {
                                                           "y1", "y2"};
    static const size_t start[] = {0, ROWS};
    *l = (struct lab){.c = c, .seen = seen, .law = law_of(c, seen)};
    make_data(l);
    l->m = inertial_model(l, curved);
    l->s = gsv_series_new(1, start, c->seen, seen == EXACT ? EXACTLY : NOISILY,
                          l->t, l->y);
    if (!l->s) fail_msg("%s", gsv_last_error());
}

static void lab_free(struct lab *l)
{
    gsv_series_free(l->s);
    gsv_model_free(l->m);
}

static void set_cell(struct exact_law *x, size_t i, double value)
{
    for (size_t j = 0; j < x->d; j++)
        x->cov[i * x->d + j] = x->cov[j * x->d + i] = 0.0;
    x->mean[i] = value;
}

/* The log density of all rows. Exact first values have none, and rows before
 * them no integral. */
static double wanted_of(const struct lab *l)
{
    const struct exact_linear *m = &l->law;
    struct exact_law x = exact_first(m);
    double sum = 0.0;
    for (size_t k = 0; k < ROWS; k++) {
        if (k) {
            struct exact_gap g = exact_transition(m, l->t[k] - l->t[k - 1]);
            x = exact_predict(&x, &g);
        }
        for (size_t i = 0; i < m->outputs; i++) {
            double y = l->y[i * ROWS + k];
            bool first = !k && (l->seen == EXACT || l->seen == BLURRED);
            if (!isnan(y) && !first)
                sum += exact_condition(&x, m->H + i * m->d, m->r[i], y);
            if (!isnan(y) && l->seen == EXACT) set_cell(&x, i, y);
        }
        for (size_t i = l->c->d; i < m->d; i++)
            set_cell(&x, i, 0.0);
    }
    return sum;
}

static gsv_result result_of(const struct lab *l, const gsv_options *o)
{
    gsv_result r;
    if (gsv_loglik(l->m, l->s, o, &r))
        fail_msg("%s: %s", l->c->name, gsv_last_error());
    return r;
}

static void expect(const struct lab *l, const gsv_options *o, double got,
                   double wanted, double tolerance)
{
    if (fabs(got - wanted) <= tolerance * fmax(1.0, fabs(wanted))) return;
    fail_msg("%s, seen %d, observe %d, %zu steps: %.15g, should be %.15g",
             l->c->name, (int)l->seen, (int)o->observe, o->steps, got, wanted);
}

static void linear__positions_have_the_joint_normal_law(void **state)
{
    (void)state;
    for (size_t c = 0; c < COUNT(CASES); c++)
        for (enum seen seen = 0; seen < KINDS; seen++) {
            const gsv_options o[] = {options(GSV_OBSERVE_KALMAN, 0, 0),
                                     options(GSV_OBSERVE_GUIDED, 2, 1),
                                     options(GSV_OBSERVE_GUIDED, 3, 3)};
            struct lab l;
            lab_init(&l, &CASES[c], seen, false);
            double wanted = wanted_of(&l);
            for (size_t i = seen == BLURRED; i < COUNT(o); i++) {
                gsv_result r = result_of(&l, &o[i]);
                expect(&l, &o[i], r.loglik, wanted, 1e-8);
                gsv_result_free(&r);
            }
            lab_free(&l);
        }
}

/* Differences of values without variance against the Kalman filter's own; of
 * tiny deviations rounding in the values is too large for differences. */
static void linear__positions_have_gradients(void **state)
{
    (void)state;
    for (size_t c = 0; c < COUNT(CASES); c++)
        for (enum seen seen = 0; seen < TINY; seen++) {
            gsv_options o = options(GSV_OBSERVE_GUIDED, 2, 1);
            gsv_options k = options(GSV_OBSERVE_KALMAN, 0, 0);
            struct lab l;
            o.gradient = k.gradient = true;
            lab_init(&l, &CASES[c], seen, false);
            gsv_result got = result_of(&l, &o), wanted = result_of(&l, &k);
            for (size_t n = 0; n < gsv_model_values(l.m); n++)
                expect(&l, &o, got.gradient[n], wanted.gradient[n], 1e-5);
            gsv_result_free(&got);
            gsv_result_free(&wanted);
            lab_free(&l);
        }
}

/* The steps of equations that are not linear, where these are. Their errors
 * fall by 4 at least when steps are halved. */
static void steps__are_of_order_two_with_integrated_noise(void **state)
{
    (void)state;
    for (size_t c = 0; c < COUNT(CASES); c++)
        for (enum seen seen = 0; seen < KINDS; seen++) {
            struct lab l;
            double off[3];
            lab_init(&l, &CASES[c], seen, true);
            double wanted = wanted_of(&l), unit = 1e-7 * fabs(wanted);
            size_t first = CASES[c].gap > 1.0 ? 32 : 4;
            for (size_t i = 0; i < 3; i++) {
                gsv_options o = options(GSV_OBSERVE_GUIDED, 2, first << i);
                gsv_result r = result_of(&l, &o);
                off[i] = fabs(r.loglik - wanted);
                gsv_result_free(&r);
            }
            if (!(off[1] < off[0] / 3.2 + unit && off[2] < off[1] / 3.2 + unit))
                fail_msg("%s, seen %d: off by %g, %g, %g of %g", CASES[c].name,
                         (int)seen, off[0], off[1], off[2], wanted);
            lab_free(&l);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear__positions_have_the_joint_normal_law),
        cmocka_unit_test(linear__positions_have_gradients),
        cmocka_unit_test(steps__are_of_order_two_with_integrated_noise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
