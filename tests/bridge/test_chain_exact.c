/* SPDX-License-Identifier: MIT */
/* Linear equations of which some have no noise, against their exact Gaussian
 * law in long double, by Van Loan's exponential: to 1e-8 and what the last
 * digits of the data change, which counts in long chains over short gaps. */
#include <float.h>
#include <stdio.h>

#include "exact.h"
#include "model/model.h"

typedef long double real;
enum { MOST = 8, WIDE = 2 * MOST };

/* dx = (A x + b) dt + G dW. */
struct linear {
    size_t d, m;
    double A[MOST * MOST], b[MOST], G[MOST * MOST];
};

/* --- The exact law ------------------------------------------------------- */

static void multiply(size_t n, const real *X, const real *Y, real *Z)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            real sum = 0.0L;
            for (size_t k = 0; k < n; k++)
                sum += X[i * n + k] * Y[k * n + j];
            Z[i * n + j] = sum;
        }
}

/* e^X by its series; |X| is small enough for it. */
static void exponential(size_t n, const real *X, real *E)
{
    enum { TERMS = 90 };
    real term[WIDE * WIDE], next[WIDE * WIDE];
    for (size_t e = 0; e < n * n; e++)
        E[e] = term[e] = e % (n + 1) == 0;
    for (int k = 1; k < TERMS; k++) {
        multiply(n, X, term, next);
        for (size_t e = 0; e < n * n; e++)
            E[e] += term[e] = next[e] / k;
    }
}

struct gauss_law {
    size_t d;
    real Phi[MOST * MOST], Q[MOST * MOST], c[MOST];
    real L[MOST * MOST]; /* Cholesky's factor of Q */
};

/* exp(h [-A, G G'; 0, A']) = [., X; 0, Phi'], Q = Phi X. */
static void find_covariance(const struct linear *l, real h, struct gauss_law *w)
{
    size_t d = l->d, n = 2 * d;
    real M[WIDE * WIDE] = {0}, E[WIDE * WIDE];
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++) {
            real square = 0.0L;
            for (size_t k = 0; k < l->m; k++)
                square += (real)l->G[i * l->m + k] * (real)l->G[j * l->m + k];
            M[i * n + j] = -h * l->A[i * d + j];
            M[(d + j) * n + d + i] = h * l->A[i * d + j];
            M[i * n + d + j] = h * square;
        }
    exponential(n, M, E);
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++)
            w->Phi[i * d + j] = E[(d + j) * n + d + i];
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++) {
            w->Q[i * d + j] = 0.0L;
            for (size_t k = 0; k < d; k++)
                w->Q[i * d + j] += w->Phi[i * d + k] * E[k * n + d + j];
        }
}

/* exp(h [A, b; 0, 0]) = [., c; 0, 1]. */
static void find_shift(const struct linear *l, real h, struct gauss_law *w)
{
    size_t d = l->d, n = d + 1;
    real M[WIDE * WIDE] = {0}, E[WIDE * WIDE];
    for (size_t i = 0; i < d; i++) {
        for (size_t j = 0; j < d; j++)
            M[i * n + j] = h * l->A[i * d + j];
        M[i * n + d] = h * l->b[i];
    }
    exponential(n, M, E);
    for (size_t i = 0; i < d; i++)
        w->c[i] = E[i * n + d];
}

static struct gauss_law law_of(const struct linear *l, real h)
{
    size_t d = l->d;
    struct gauss_law w = {.d = d};
    find_covariance(l, h, &w);
    find_shift(l, h, &w);
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j <= i; j++) {
            real v = w.Q[i * d + j];
            for (size_t k = 0; k < j; k++)
                v -= w.L[i * d + k] * w.L[j * d + k];
            w.L[i * d + j] = i == j ? sqrtl(v) : v / w.L[j * d + j];
        }
    return w;
}

/* And the sum of |d log p / dx| |x| over all numbers of both rows. */
static real log_density(const struct gauss_law *w, const double *x,
                        const double *y, real *slopes)
{
    size_t d = w->d;
    real z[MOST], sum = 0.0L;
    for (size_t i = 0; i < d; i++) {
        z[i] = (real)y[i] - w->c[i];
        for (size_t j = 0; j < d; j++)
            z[i] -= w->Phi[i * d + j] * (real)x[j];
        for (size_t k = 0; k < i; k++)
            z[i] -= w->L[i * d + k] * z[k];
        z[i] /= w->L[i * d + i];
        sum -= 0.5L * z[i] * z[i] + logl(w->L[i * d + i]);
    }
    for (size_t i = d; i-- > 0;) {
        for (size_t k = i + 1; k < d; k++)
            z[i] -= w->L[k * d + i] * z[k];
        z[i] /= w->L[i * d + i];
        *slopes += fabsl(z[i] * (real)y[i]);
    }
    for (size_t j = 0; j < d; j++) {
        real slope = 0.0L;
        for (size_t i = 0; i < d; i++)
            slope += fabsl(w->Phi[i * d + j] * z[i]);
        *slopes += slope * fabsl((real)x[j]);
    }
    return sum - 0.5L * (real)d * logl(2.0L * (real)EXACT_PI);
}

/* --- Data from the law ---------------------------------------------------- */

enum { ROWS = 13 };

/* ulps: what log p changes by where every number changes in its last digit. */
struct data {
    double time[ROWS], value[MOST * ROWS]; /* (d, rows) */
    double exact, ulps;
};

static void make_data(const struct linear *l, double h, uint64_t seed,
                      struct data *s)
{
    size_t d = l->d;
    double *z = normals(d * ROWS, seed), x[MOST], y[MOST];
    real exact = 0.0L, slopes = 0.0L;
    for (size_t i = 0; i < d; i++)
        s->value[i * ROWS] = x[i] = z[i];
    s->time[0] = 0.5;
    for (size_t r = 1; r < ROWS; r++) {
        s->time[r] = s->time[r - 1] + h * (1.0 + 0.4 * sin((double)r));
        struct gauss_law w = law_of(l, (real)s->time[r] - (real)s->time[r - 1]);
        for (size_t i = 0; i < d; i++) {
            real v = w.c[i];
            for (size_t j = 0; j < d; j++)
                v += w.Phi[i * d + j] * (real)x[j] +
                     w.L[i * d + j] * (real)z[r * d + j];
            s->value[i * ROWS + r] = y[i] = (double)v;
        }
        exact += log_density(&w, x, y, &slopes);
        memcpy(x, y, sizeof x);
    }
    s->exact = (double)exact;
    s->ulps = (double)slopes * DBL_EPSILON;
    mem_free(z);
}

/* --- Models --------------------------------------------------------------- */

/* As a text with numbers; the last one of G is a parameter. */
static void write_model(const struct linear *l, size_t size, char *text)
{
    FILE *out = fmemopen(text, size, "w");
    for (size_t i = 0; i < l->d; i++)
        fprintf(out, "%s x%zu", i ? "," : "state", i);
    fprintf(out, "\nparam one = 1 > 0\n");
    for (size_t i = 0; i < l->d; i++) {
        fprintf(out, "dx%zu = (%.17g", i, l->b[i]);
        for (size_t j = 0; j < l->d; j++)
            if (l->A[i * l->d + j] != 0.0)
                fprintf(out, " + %.17g*x%zu", l->A[i * l->d + j], j);
        fprintf(out, ")*dt");
        for (size_t k = 0; k < l->m; k++)
            if (l->G[i * l->m + k] != 0.0)
                fprintf(out, " + %.17g*one*dW%zu", l->G[i * l->m + k], k + 1);
        fprintf(out, "\n");
    }
    fclose(out);
}

/* All references and forms, with these steps: a linear reference is the model
 * itself, and the weights are 1. */
static void compare(const char *text, const struct data *s)
{
    double tolerance = 1e-8 + 8.0 * s->ulps;
    static const enum gsv_reference reference[] = {
        GSV_REFERENCE_AUTO, GSV_REFERENCE_LINEAR, GSV_REFERENCE_LNA};
    static const enum gsv_form form[] = {GSV_FORM_AUTO, GSV_FORM_ITO,
                                         GSV_FORM_STRATONOVICH};
    static const size_t steps[] = {1, 2, 3, 8};
    gsv_model *m = model_of(text);
    gsv_series *series = track_of(m, ROWS, s->time, s->value);
    for (size_t i = 0; i < COUNT(reference) * COUNT(form) * COUNT(steps); i++) {
        gsv_options o = default_options();
        o.reference = reference[i % COUNT(reference)];
        o.form = form[i / COUNT(reference) % COUNT(form)];
        o.steps = steps[i / COUNT(reference) / COUNT(form)];
        o.paths = 2;
        gsv_result r = loglik_of(m, series, &o);
        if (!(fabs(r.loglik - s->exact) <= tolerance))
            fail_msg("%s\n%.15g instead of %.15g with reference %d, form %d, "
                     "%zu steps: off by %.2g, allowed %.2g",
                     text, r.loglik, s->exact, (int)o.reference, (int)o.form,
                     o.steps, fabs(r.loglik - s->exact), tolerance);
        gsv_result_free(&r);
    }
    gsv_series_free(series);
    gsv_model_free(m);
}

struct known {
    const char *name, *text;
    struct linear l;
};

static const struct known KNOWN[] = {
    {"underdamped",
     "state x, v\nparam k = 2, g = 0.5, s = 0.7\n"
     "dx = v*dt\ndv = (-k*x - g*v)*dt + s*dW",
     {2, 1, {0, 1, -2, -0.5}, {0, 0}, {0, 0.7}}},
    {"integrated",
     "state v, x\nparam g = 0.5, m = 1, s = 0.7\n"
     "dv = g*(m - v)*dt + s*dW\ndx = v*dt",
     {2, 1, {-0.5, 0, 1, 0}, {0.5, 0}, {0.7, 0}}},
    {"integral of noise",
     "state x, v\nparam s = 0.25\ndx = v*dt\ndv = s*dW",
     {2, 1, {0, 1, 0, 0}, {0, 0}, {0, 0.25}}},
    {"jerk",
     "state x, v, a\nparam s = 0.75\ndx = v*dt\ndv = (a - v)*dt\n"
     "da = (0.25 - x - v - a)*dt + s*dW",
     {3, 1, {0, 1, 0, 0, -1, 1, -1, -1, -1}, {0, 0, 0.25}, {0, 0, 0.75}}},
    {"coloured noise",
     "state x, n\nparam a = 1.5, b = 4, s = 0.75\n"
     "dx = (n - a*x)*dt\ndn = -b*n*dt + b*s*dW",
     {2, 1, {-1.5, 1, 0, -4}, {0, 0}, {0, 3}}},
    {"delays",
     "state a, b, c, d, e\nparam r = 2, s = 0.5\nda = (1 - a - e)*dt + s*dW\n"
     "db = r*(a - b)*dt\ndc = r*(b - c)*dt\ndd = r*(c - d)*dt\n"
     "de = r*(d - e)*dt",
     {5,
      1,
      {-1, 0, 0, 0, -1, 2,  -2, 0, 0, 0, 0, 2, -2,
       0,  0, 0, 0, 2,  -2, 0,  0, 0, 0, 2, -2},
      {1, 0, 0, 0, 0},
      {0.5, 0, 0, 0, 0}}},
    {"vectors, shared noises",
     "state x[2], v[2]\nparam L[2,2] = [0.5, 0, 0.25, 1] lower\n"
     "dx = v*dt\ndv = (-2*x - v)*dt + L @ dW",
     {4,
      2,
      {0, 0, 1, 0, 0, 0, 0, 1, -2, 0, -1, 0, 0, -2, 0, -1},
      {0},
      {0, 0, 0, 0, 0.5, 0, 0.25, 1}}},
    {"chains of three, two and one",
     "state x, v, a, y, w, n\nparam s = 0.5, r = 0.25\ndx = v*dt\n"
     "dv = (a - v)*dt\nda = -x*dt + s*dW1 + r*dW2\ndy = (w + a)*dt\n"
     "dw = -y*dt + 0.5*dW1 - 0.75*dW2\n"
     "dn = (x + y - n)*dt + 0.5*dW1 - 0.75*dW2 + 0.25*dW3",
     {6,
      3,
      {0, 1, 0, 0, 0, 0, 0, -1, 1, 0,  0, 0, -1, 0, 0, 0, 0, 0,
       0, 0, 1, 0, 1, 0, 0, 0,  0, -1, 0, 0, 1,  0, 0, 1, 0, -1},
      {0},
      {0, 0, 0, 0, 0, 0, 0.5, 0.25, 0, 0, 0, 0, 0.5, -0.75, 0, 0.5, -0.75,
       0.25}}},
};

static void linear_chains__have_the_exact_density(void **state)
{
    (void)state;
    static const double gap[] = {0.03, 0.3, 1.0};
    for (size_t i = 0; i < COUNT(KNOWN); i++)
        for (size_t k = 0; k < COUNT(gap); k++) {
            struct data s;
            make_data(&KNOWN[i].l, gap[k], 7 + i, &s);
            compare(KNOWN[i].text, &s);
        }
}

/* --- Nonlinear images of linear models ------------------------------------ */

/* Models whose states are functions of those of a linear one, forward[] of the
 * linear states x, with log |det| of that: exact, too. */
struct image {
    const char *name, *text;
    struct linear l;
    void (*map)(const double *x, double *z, double *log_det);
};

static void exponential_bottom(const double *x, double *z, double *log_det)
{
    z[0] = exp(x[0]);
    z[1] = x[1];
    *log_det = x[0];
}

static void sheared(const double *x, double *z, double *log_det)
{
    z[0] = x[0];
    z[1] = 2.0 * (x[1] - x[0] * x[0] * x[0]);
    *log_det = log(2.0);
}

static void sheared_twice(const double *x, double *z, double *log_det)
{
    z[0] = x[0];
    z[1] = x[1] + x[0] * x[0];
    z[2] = x[2] + sin(x[0]) * x[1];
    *log_det = 0.0;
}

static void growing(const double *x, double *z, double *log_det)
{
    memcpy(z, x, 2 * sizeof *z);
    z[2] = exp(x[2]);
    *log_det = x[2];
}

/* Of the underdamped model x' = v, v' = -x - v/2, noise 0.75. */
#define INERT                                                                  \
    {                                                                          \
        2, 1, {0, 1, -1, -0.5}, {0},                                           \
        {                                                                      \
            0, 0.75                                                            \
        }                                                                      \
    }

static const struct image IMAGE[] = {
    {"noise that depends on the bottom",
     "state z, v\nparam s = 0.75 > 0\ndz = z*v*dt\n"
     "dv = (-log(z) - 0.5*v)*dt + s*dW",
     INERT, exponential_bottom},
    {"a neuron's shape",
     "state x, w\nparam e = 0.5, s = 0.75 > 0\nlet u = e*w + x^3\n"
     "dx = u*dt\ndw = 2*(-x - 0.5*u - 3*x^2*u)*dt + 2*s*dW",
     INERT, sheared},
    {"three, curved",
     "state x, p, q\nparam s = 0.75 > 0\nlet v = p - x^2\n"
     "let a = q - sin(x)*v\ndx = v*dt\ndp = (a + 2*x*v)*dt\n"
     "dq = (-x - v - a + cos(x)*v^2 + sin(x)*a)*dt + s*dW",
     {3, 1, {0, 1, 0, 0, 0, 1, -1, -1, -1}, {0}, {0, 0, 0.75}},
     sheared_twice},
    {"beside a geometric one",
     "state x, v, n\nparam s = 0.75 > 0\ndx = v*dt\n"
     "dv = (-x - 0.5*v + 0.25*log(n))*dt + s*dW\n"
     "dn = n*(0.125 - log(n) + 0.5*x)*dt + 0.5*n*dW",
     {3,
      2,
      {0, 1, 0, -1, -0.5, 0.25, 0.5, 0, -1},
      {0},
      {0, 0, 0.75, 0, 0, 0.5}},
     growing},
};

static void images_of_linear_chains__have_the_exact_density(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(IMAGE); i++) {
        struct data s;
        size_t d = IMAGE[i].l.d;
        make_data(&IMAGE[i].l, 0.3, 3 + i, &s);
        for (size_t r = 0; r < ROWS; r++) {
            double x[MOST], z[MOST], log_det;
            for (size_t k = 0; k < d; k++)
                x[k] = s.value[k * ROWS + r];
            IMAGE[i].map(x, z, &log_det);
            for (size_t k = 0; k < d; k++)
                s.value[k * ROWS + r] = z[k];
            if (r) s.exact -= log_det;
        }
        compare(IMAGE[i].text, &s);
    }
}

/* --- Without chains --------------------------------------------------------
 */

/* Two filters of the same noise: the guided filter, in one step. */
static void parallel_filters__have_the_exact_density(void **state)
{
    (void)state;
    static const struct linear l = {
        3, 1, {-1, 0, 0, 1, -1, 0, 1, 0, -2}, {0.5, 0, 0}, {0.25, 0, 0}};
    struct data s;
    make_data(&l, 0.3, 5, &s);
    gsv_model *m = model_of("state x, a, b\nparam s = 0.25\n"
                            "dx = (0.5 - x)*dt + s*dW\nda = (x - a)*dt\n"
                            "db = (x - 2*b)*dt");
    gsv_series *series = track_of(m, ROWS, s.time, s.value);
    gsv_options o = gsv_options_default();
    gsv_result r = loglik_of(m, series, &o);
    assert_near(r.loglik, s.exact, 1e-8 + 8.0 * s.ulps);
    gsv_result_free(&r);
    gsv_series_free(series);
    gsv_model_free(m);
}

/* --- Random models -------------------------------------------------------- */

/* A random order of n states, by the digits of normal numbers. */
static void shuffle(size_t n, const double *z, size_t *place)
{
    for (size_t i = 0; i < n; i++) {
        size_t j = (size_t)(fabs(z[i]) * 1e6) % (i + 1);
        place[i] = place[j];
        place[j] = i;
    }
}

/* Chains of these lengths among states in a random order; every state depends
 * on all that are at least as far from the noise, and on the next one of its
 * chain. Those with noise depend on all, and share their noises. */
static struct linear random_model(size_t chains, const size_t *length,
                                  uint64_t seed)
{
    struct linear l = {.m = chains};
    size_t place[MOST], distance[MOST], tops = 0;
    for (size_t i = 0; i < chains; i++)
        for (size_t k = length[i]; k > 0; k--)
            distance[l.d++] = k;
    double *z = normals(l.d * (l.d + 1), seed);
    shuffle(l.d, z, place);
    for (size_t i = 0; i < l.d; i++) {
        double *row = l.A + place[i] * l.d, *G = l.G + place[i] * chains;
        for (size_t j = 0; j < l.d; j++) {
            bool free = distance[i] == 1 || distance[j] >= distance[i];
            double some = z[l.d + i * l.d + j];
            if (free) row[place[j]] = 0.5 * some;
            else if (j == i + 1) row[place[j]] = 1.5 + 0.3 * sin(some);
        }
        l.b[place[i]] = 0.3 * cos((double)(seed + i));
        for (size_t k = 0; distance[i] == 1 && k < chains; k++)
            G[k] = (k == tops) + 0.2 * sin((double)(seed + 3 * i + 5 * k));
        tops += distance[i] == 1;
    }
    mem_free(z);
    return l;
}

static void random_linear_chains__have_the_exact_density(void **state)
{
    (void)state;
    static const struct {
        size_t chains, length[4];
    } SHAPE[] = {{1, {2}},          {1, {3}},         {1, {4}},
                 {1, {5}},          {2, {2, 2}},      {2, {3, 1}},
                 {2, {3, 2}},       {2, {4, 2}},      {3, {2, 1, 1}},
                 {3, {2, 2, 1}},    {3, {3, 2, 1}},   {3, {2, 2, 2}},
                 {4, {2, 2, 2, 1}}, {4, {2, 2, 2, 2}}};
    for (size_t i = 0; i < COUNT(SHAPE); i++)
        for (uint64_t seed = 1; seed <= 3; seed++) {
            struct linear l =
                random_model(SHAPE[i].chains, SHAPE[i].length, 10 * i + seed);
            struct data s;
            char text[8192];
            make_data(&l, 0.25, seed, &s);
            write_model(&l, sizeof text, text);
            gsv_model *m = model_of(text);
            assert_non_null(m->chain.next);
            gsv_model_free(m);
            compare(text, &s);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear_chains__have_the_exact_density),
        cmocka_unit_test(images_of_linear_chains__have_the_exact_density),
        cmocka_unit_test(parallel_filters__have_the_exact_density),
        cmocka_unit_test(random_linear_chains__have_the_exact_density),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
