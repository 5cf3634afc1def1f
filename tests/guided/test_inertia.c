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

enum { MOST = 5, ROWS = 16 };

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
        if (k == 7 || k == 11) l->y[ROWS * (k % m->outputs) + k] = NAN;
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

/* --- Equations that are not linear ---------------------------------------- */

/* dX = f dt, dY = g dt + s dW, where f has y: X is seen exactly. */
struct curved_case {
    const char *name, *text;
    double gap, s;
    void (*field)(double x, double y, double *f, double *slope);
};

static void two_wells(double x, double y, double *f, double *slope)
{
    f[0] = y;
    f[1] = x - x * x * x - 0.5 * y;
    memcpy(slope, (double[]){0, 1, 1 - 3 * x * x, -0.5}, 4 * sizeof *slope);
}

static void van_der_pol(double x, double y, double *f, double *slope)
{
    f[0] = y;
    f[1] = 3 * (1 - x * x) * y - x;
    memcpy(slope, (double[]){0, 1, -6 * x * y - 1, 3 - 3 * x * x},
           4 * sizeof *slope);
}

static void fitzhugh(double x, double y, double *f, double *slope)
{
    f[0] = 4 * (x - x * x * x / 3 - y + 0.5);
    f[1] = x + 0.7 - 0.8 * y;
    memcpy(slope, (double[]){4 - 4 * x * x, -4, 1, -0.8}, 4 * sizeof *slope);
}

/* A curved velocity: its friction grows with it. */
static void drag(double x, double y, double *f, double *slope)
{
    f[0] = y;
    f[1] = -x - y * fabs(y);
    memcpy(slope, (double[]){0, 1, -1, -2 * fabs(y)}, 4 * sizeof *slope);
}

static const struct curved_case CURVED[4] = {
    {"two wells", "dx = y*dt\ndy = (x - x^3 - 0.5*y)*dt + 0.5*dW\n", 0.5, 0.5,
     two_wells},
    {"van der Pol", "dx = y*dt\ndy = (3*(1 - x^2)*y - x)*dt + 0.3*dW\n", 0.2,
     0.3, van_der_pol},
    {"FitzHugh-Nagumo",
     "dx = 4*(x - x^3/3 - y + 0.5)*dt\ndy = (x + 0.7 - 0.8*y)*dt + 0.3*dW\n",
     0.2, 0.3, fitzhugh},
    {"drag", "dx = y*dt\ndy = (-x - y*abs(y))*dt + 0.8*dW\n", 0.4, 0.8, drag}};

enum { SEEN = 4, SHORT = 64, CLOUD = 4000, CLOUDS = 16 };

/* A short step: its mean, and the root of its covariance as the first terms of
 * the series have it. */
static void short_step(const struct curved_case *c, double h, const double *z,
                       double *mean, double L[2][2])
{
    double f[2], J[4], s = c->s * sqrt(h);
    c->field(z[0], z[1], f, J);
    for (size_t i = 0; i < 2; i++)
        mean[i] = z[i] + h * f[i] +
                  0.5 * h * h * (J[2 * i] * f[0] + J[2 * i + 1] * f[1]);
    L[0][0] = s * J[1] * h / 2;
    L[0][1] = s * J[1] * h / sqrt(12.0);
    L[1][0] = s * (1 + J[3] * h / 2);
    L[1][1] = s * J[3] * h / sqrt(12.0);
}

/* The last short step of a gap, given x: its log density; y moves. */
static double arrive(const double *mean, double L[2][2], double x, double e,
                     double *z)
{
    double xx = L[0][0] * L[0][0] + L[0][1] * L[0][1];
    double xy = L[0][0] * L[1][0] + L[0][1] * L[1][1];
    double yy = L[1][0] * L[1][0] + L[1][1] * L[1][1];
    z[0] = x;
    z[1] = mean[1] + xy / xx * (x - mean[0]) + sqrt(yy - xy * xy / xx) * e;
    return exact_normal(x, mean[0], xx);
}

/* log p of the rows after the first from a cloud of points that is drawn again
 * in every row. */
static double cloud_value(const struct curved_case *c, const double *x,
                          uint64_t seed)
{
    static double z[CLOUD][2], next[CLOUD][2], w[CLOUD];
    double h = c->gap / SHORT, sum = 0.0;
    double *e = normals(CLOUD * (1 + 2 * SHORT * SEEN), seed);
    for (size_t k = 0; k < CLOUD; k++)
        memcpy(z[k], (double[]){x[0], 0.2 + 0.5 * e[k]}, sizeof z[k]);
    for (size_t row = 1; row < SEEN; row++) {
        double all = 0.0, at = 0.0, most = -INFINITY;
        for (size_t k = 0; k < CLOUD; k++) {
            const double *d = e + CLOUD + 2 * SHORT * ((row - 1) * CLOUD + k);
            for (size_t m = 0; m < SHORT; m++, d += 2) {
                double mean[2], L[2][2];
                short_step(c, h, z[k], mean, L);
                if (m + 1 == SHORT) w[k] = arrive(mean, L, x[row], d[0], z[k]);
                else
                    for (size_t i = 0; i < 2; i++)
                        z[k][i] = mean[i] + L[i][0] * d[0] + L[i][1] * d[1];
            }
            most = fmax(most, w[k]);
        }
        for (size_t k = 0; k < CLOUD; k++)
            all += w[k] = exp(w[k] - most);
        sum += most + log(all / CLOUD);
        for (size_t k = 0, j = 0; k < CLOUD; k++) {
            double place = ((double)k + 0.5) / CLOUD * all;
            while (j + 1 < CLOUD && at + w[j] < place)
                at += w[j++];
            memcpy(next[k], z[j], sizeof z[j]);
        }
        memcpy(z, next, sizeof z);
    }
    mem_free(e);
    return sum;
}

/* Rows that the equations go through, without noise but for some pushes. */
static void curved_rows(const struct curved_case *c, double *t, double *x)
{
    double z[2] = {-0.8, 0.3}, h = c->gap / 1000;
    for (size_t row = 0; row < SEEN; row++) {
        t[row] = c->gap * (double)row;
        x[row] = z[0];
        z[1] += (row % 2 ? -0.7 : 0.9) * c->s * sqrt(c->gap);
        for (size_t m = 0; m < 1000; m++) {
            double f[2], J[4];
            c->field(z[0], z[1], f, J);
            z[0] += h * f[0];
            z[1] += h * f[1];
        }
    }
}

static void curved__positions_have_the_value_of_a_cloud(void **state)
{
    static const size_t start[] = {0, SEEN};
    static const char *const name[] = {"x"};
    (void)state;
    for (size_t i = 0; i < COUNT(CURVED); i++) {
        const struct curved_case *c = &CURVED[i];
        double t[SEEN], x[SEEN], mean = 0.0, squares = 0.0;
        char text[400];
        size_t clouds = CLOUDS / SLOWER;
        curved_rows(c, t, x);
        for (size_t k = 0; k < clouds; k++) {
            double one = cloud_value(c, x, 100 + k);
            mean += one / (double)clouds;
            squares += one * one / (double)clouds;
        }
        double error =
            sqrt((squares - mean * mean) / (double)(clouds - 1)) + 1e-3;
        snprintf(text, sizeof text, "state x, y\ninit y ~ normal(0.2, 0.5)\n%s",
                 c->text);
        gsv_model *m = model_of(text);
        gsv_series *s = gsv_series_new(1, start, 1, name, t, x);
        gsv_options o = options(GSV_OBSERVE_AUTO, 1024, 8);
        gsv_result r;
        if (gsv_loglik(m, s, &o, &r)) fail_msg("%s", gsv_last_error());
        if (!(fabs(r.loglik - mean) <= TOLERANCE * hypot(error, r.error)))
            fail_msg("%s: %g +- %g, should be %g +- %g", c->name, r.loglik,
                     r.error, mean, error);
        gsv_result_free(&r);
        gsv_series_free(s);
        gsv_model_free(m);
    }
}

/* A network without a hidden layer is a linear map: the same force by its
 * derivatives along directions instead of those of a formula. */
static void networks__have_the_value_of_their_formula(void **state)
{
    static const char FORM[] = "state x, v\nparam b = 0, s = 0.5 > 0\n%s\n"
                               "dx = v*dt\ndv = (%s - 0.5*v)*dt + s*dW\n"
                               "init v ~ normal(0, 1)\n";
    static const size_t start[] = {0, SEEN};
    static const char *const name[] = {"x"};
    static const double t[] = {0, 0.3, 0.6, 0.9}, x[] = {1, 1.1, 1.05, 0.9};
    (void)state;
    for (size_t steps = 1; steps <= 4; steps *= 2) {
        gsv_series *s = gsv_series_new(1, start, 1, name, t, x);
        double value[2];
        for (int net = 0; net < 2; net++) {
            char text[400];
            snprintf(text, sizeof text, FORM, net ? "net f(x) -> 1 :" : "",
                     net ? "f(x)" : "0.3 - x + b*x^2");
            gsv_model *m = model_of(text);
            size_t n = gsv_model_values(m);
            if (net) { /* weight, bias, after b and s */
                m->value[2] = -1.0;
                m->value[3] = 0.3;
                assert_true(n >= 4);
            }
            gsv_options o = options(GSV_OBSERVE_GUIDED, 512, steps);
            gsv_result r;
            if (gsv_loglik(m, s, &o, &r)) fail_msg("%s", gsv_last_error());
            value[net] = r.loglik;
            assert_true(r.error < 1e-3);
            gsv_result_free(&r);
            gsv_model_free(m);
        }
        if (!(fabs(value[0] - value[1]) < 2e-3))
            fail_msg("%zu steps: %.10g by a formula, %.10g by a network", steps,
                     value[0], value[1]);
        gsv_series_free(s);
    }
}

/* --- How noise reaches states --------------------------------------------- */

static const struct reach_case {
    size_t D, m;
    bool drift[16], noise[8];
    size_t orders, order[4];
} REACHES[] = {
    {1, 1, {1}, {1}, 0, {0}},
    {2, 1, {0, 1, 1, 1}, {0, 1}, 1, {1, 0}},
    {2, 1, {1, 0, 1, 1}, {0, 1}, 0, {REACH_NEVER, 0}},
    {2, 1, {1, 0, 0, 1}, {1, 1}, 1, {0, 0}},
    {3, 1, {0, 1, 0, 0, 0, 1, 1, 1, 1}, {0, 0, 1}, 2, {2, 1, 0}},
    {3, 1, {0, 1, 0, 0, 1, 1, 1, 1, 1}, {1, 0, 0}, 2, {0, 2, 1}},
    {4,
     2,
     {0, 0, 1, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1},
     {0, 0, 0, 0, 1, 0, 0, 1},
     1,
     {1, 1, 0, 0}},
    {3,
     2,
     {0, 0, 0, 0, 0, 1, 0, 1, 0},
     {0, 0, 0, 0, 0, 0},
     0,
     {REACH_NEVER, REACH_NEVER, REACH_NEVER}},
};

static void reach__counts_integrations(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(REACHES); i++) {
        const struct reach_case *c = &REACHES[i];
        size_t order[4], orders;
        assert_int_equal(
            reach_find(c->D, c->m, c->drift, c->noise, order, &orders), 0);
        assert_int_equal(orders, c->orders);
        for (size_t k = 0; k < c->D; k++)
            assert_int_equal(order[k], c->order[k]);
    }
}

/* Columns without a density are refused before any data are seen. */
static void reach__refuses_columns_that_no_noise_reaches(void **state)
{
    static const struct {
        const char *text, *why;
    } CASE[] = {
        {"state p, v\ndp = 2*dt\ndv = (sin(p) - v)*dt + dW\n"
         "init v ~ normal(0, 1)\n",
         "no noise ever reaches the state 'p'"},
        {"state a, b, c, d, e, f, v\n"
         "da = b*dt\ndb = c*dt\ndc = d*dt\ndd = e*dt\nde = f*dt\n"
         "df = v*dt\ndv = dW\n"
         "init v ~ normal(0, 1)\n",
         "only after 6 integrations"},
        {"state x, k, v\ndx = v*dt\ndk = 0*dt\ndv = (k - v)*dt + dW\n"
         "init v ~ normal(0, 1)\ninit k ~ normal(0, 1)\n",
         NULL},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(CASE); i++) {
        gsv_model *m = model_of(CASE[i].text);
        assert_int_equal(gsv_check_likelihood(m) != 0, CASE[i].why != NULL);
        if (CASE[i].why) assert_non_null(strstr(gsv_last_error(), CASE[i].why));
        gsv_model_free(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear__positions_have_the_joint_normal_law),
        cmocka_unit_test(linear__positions_have_gradients),
        cmocka_unit_test(steps__are_of_order_two_with_integrated_noise),
        cmocka_unit_test(curved__positions_have_the_value_of_a_cloud),
        cmocka_unit_test(networks__have_the_value_of_their_formula),
        cmocka_unit_test(reach__counts_integrations),
        cmocka_unit_test(reach__refuses_columns_that_no_noise_reaches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
