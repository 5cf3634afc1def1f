/* SPDX-License-Identifier: MIT */
/* Corrected slopes by their definition, in plain loops over gsv_model_drift()
 * and gsv_model_diffusion(), for models of many kinds. */
#ifndef TESTS_SLOPES_H
#define TESTS_SLOPES_H

#include "learn.h"

#include "model/model.h"
#include "slope/slope.h"

static const struct {
    const char *text;
    bool positive; /* its states are */
} MODELS[] = {
    {"state x\n param a = 1.2, s = 0.7 > 0\n dx = (a*x - x^3)*dt + s*dW",
     false},
    {"state x\n param a = 1, b = 0.3, s = 0.7 > 0\n"
     "dx = (b*sin(3*t) - a*x)*dt + s*(1 + 0.2*sin(t))*dW",
     false},
    {"state x\n input u\n input v hold\n param a = 1, b = 0.3, s = 0.5 > 0\n"
     "dx = (b*u - a*v*x)*dt + s*dW",
     false},
    {"state x\n input u hold\n param a = 1, s = 0.5 > 0\n"
     "dx = -a*x*dt + s*(1 + 0.3*u^2)*dW",
     false},
    {"state x\n param k = 1, mu = 1, s = 0.4 > 0\n"
     "dx = k*(mu - x)*dt + s*sqrt(x)*dW",
     true},
    {"state x\n param k = 1, mu = 1, s = 0.4 > 0, g = 0.8\n"
     "dx = k*(mu - x)*dt + s*x^g*dW",
     true},
    {"state x\n net f(x) -> 1 : 8 8 silu\n param s = 1 > 0\n"
     "dx = f*dt + s*dW",
     false},
    {"state x\n net f(x, t) -> 1 : 8 tanh\n net g(x) -> 1 : 6\n"
     "dx = f*dt + exp(g)*dW",
     false},
    {"state x[2]\n param A[2,2] = [-1, 0.5, -0.5, -1], s[2] = 0.5 > 0\n"
     "dx = A @ x*dt + s*dW",
     false},
    {"state x[2]\n param k = 1, L[2,2] = [0.6, 0, 0.3, 0.5] lower\n"
     "dx = -k*x^3*dt + L @ dW",
     false},
    {"state x[2]\n param k = 1, G[2,2] = [0.6, 0.2, 0.3, 0.5]\n"
     "dx = (sin(t) - k*x)*dt + G @ dW",
     false},
    {"state x, y\n input u\n param a = 1, s = 0.5 > 0, r = 0.4 > 0\n"
     "dx = (y - x)*dt + s*sqrt(1 + x^2)*dW1\n"
     "dy = (u - a*y)*dt + r*(2 + sin(x))*dW2",
     false},
    {"state x[3]\n net f(x) -> 3 : 8 silu\n"
     "param L[3,3] = [1, 0, 0, 0.2, 0.8, 0, -0.1, 0.3, 0.6] lower\n"
     "dx = f*dt + L @ dW",
     false},
    {"state x[3]\n param k[3] = 1, G[3,3] = [1, 0.1, 0, 0.2, 0.8, 0.1, 0, "
     "0.3, 0.6]\n dx = -k*x*dt + G @ dW",
     false},
    {"state x[3]\n net f(x) -> 3 : 8 silu\n net g(x) -> 3 : 4\n"
     "dx = (f - x)*dt + exp(0.3*g)*dW",
     false},
    /* A factor of every row; noises that are shared, and more of them than
     * states; a state-dependent matrix; one that is not written out. */
    {"state x[2]\n param L[2,2] = [0.6, 0, 0.3, 0.5] lower\n"
     "dx = -x*dt + (2 + sin(x))*(L @ dW)",
     false},
    {"state x, y\n param a = 0.5, b = 0.3, c = 0.4\n"
     "dx = -x*dt + a*dW1\n dy = (x - y)*dt + b*dW1 + c*dW2",
     false},
    {"state x[2]\n param G[2,3] = [0.6, 0.2, 0.3, 0.1, 0.5, 0.4]\n"
     "dx = -x*dt + G @ dW",
     false},
    {"state x[3]\n param L[3,3] = [1, 0, 0, 0.2, 0.8, 0, -0.1, 0.3, 0.6] "
     "lower\n dx = -x*dt + (L*(1 + x[1]^2)) @ dW",
     false},
    {"state x[9]\n param k = 1, L[9,9] = 0.5 lower\n"
     "dx = -k*x*dt + L @ dW",
     false},
};

enum { ROWS = 60, GAPS = ROWS - 1, DIM = 9 };

/* Values that are not special; networks are not 0. */
static inline gsv_model *open_model(size_t i)
{
    gsv_model *m = model_of(MODELS[i].text);
    size_t n = gsv_theta_size(m);
    double *theta = NEW(double, n), *z = normals(n, 40 + i);
    gsv_model_draw(m, 3);
    gsv_theta_get(m, theta);
    for (size_t j = 0; j < n; j++)
        theta[j] += 0.1 * z[j];
    gsv_theta_set(m, theta);
    MEM_FREE(theta, z);
    return m;
}

/* Walks in irregular gaps of about h. */
static inline gsv_series *open_series(const gsv_model *m, size_t i, double h)
{
    gsv_series *s = walk_of(m, 1, ROWS, h, 5 + i);
    for (size_t j = 0; MODELS[i].positive && j < ROWS; j++)
        s->value[j] = 0.3 + fabs(s->value[j]);
    return s;
}

/* Some of its forecasts are below 0, where there is no noise. */
static const char SLOPES_NEAR_ZERO[] =
    "state x\n param k = 9, mu = 0.01, s = 0.4 > 0\n"
    "dx = (k*(mu - x) - 1)*dt + s*sqrt(x)*dW";

static inline gsv_series *slopes_near_zero(const gsv_model *m)
{
    double time[ROWS], x[ROWS];
    for (size_t i = 0; i < ROWS; i++) {
        time[i] = 0.05 * (double)i;
        x[i] = pow(10.0, -8.0 + (double)(i % 9));
    }
    return track_of(m, ROWS, time, x);
}

/* --- The definition ------------------------------------------------------- */

struct plain {
    const gsv_model *m;
    const gsv_series *s;
    size_t d;
    double reach[DIM], most[DIM];
};

/* A gap's z and D, at some values of the parameters. */
struct held {
    double z[DIM], D[DIM];
};

static inline double limited(double x, double most)
{
    return isnan(x) ? 0.0 : fmin(fmax(x, -most), most);
}

static inline double moved_by(const gsv_series *s, size_t k, size_t i)
{
    return s->value[k * s->rows + i + 1] - s->value[k * s->rows + i];
}

static inline struct plain plain_of(const gsv_model *m, const gsv_series *s)
{
    struct plain p = {.m = m, .s = s, .d = gsv_model_dim(m)};
    for (size_t k = 0; k < p.d; k++) {
        double sum = 0.0, squares = 0.0, n = (double)(s->rows - 1);
        for (size_t i = 0; i + 1 < s->rows; i++) {
            double slope = moved_by(s, k, i) / (s->time[i + 1] - s->time[i]);
            p.reach[k] = fmax(p.reach[k], 2.0 * fabs(moved_by(s, k, i)));
            sum += slope / n;
            squares += slope * slope / n;
        }
        p.most[k] = sqrt(squares - sum * sum);
    }
    return p;
}

/* Time and inputs after a share of gap i. */
static inline double time_of(const struct plain *p, size_t i, double share,
                             double *input)
{
    const gsv_series *s = p->s;
    for (size_t k = 0; k < gsv_model_inputs(p->m); k++) {
        const double *u = s->value + (p->d + k) * s->rows;
        bool hold = p->m->spec->input[k].hold;
        input[k] = hold ? u[i] : u[i] + share * (u[i + 1] - u[i]);
    }
    return s->time[i] + share * (s->time[i + 1] - s->time[i]);
}

static inline void drift(const struct plain *p, size_t i, double share,
                         const double *x, double *f)
{
    double input[2], time = time_of(p, i, share, input);
    assert_int_equal(gsv_model_drift(p->m, 1, &time, x, input, f), 0);
}

/* to = x + share h f, not further than a move may be. */
static inline void advance(const struct plain *p, size_t i, double share,
                           const double *f, double *to)
{
    const gsv_series *s = p->s;
    double h = s->time[i + 1] - s->time[i];
    for (size_t k = 0; k < p->d; k++)
        to[k] =
            s->value[k * s->rows + i] + limited(share * h * f[k], p->reach[k]);
}

static inline void ends_of(const struct plain *p, size_t i, double *x,
                           double *y)
{
    for (size_t k = 0; k < p->d; k++) {
        x[k] = p->s->value[k * p->s->rows + i];
        y[k] = p->s->value[k * p->s->rows + i + 1];
    }
}

/* The mean drift along the cubic through both ends, and z. */
static inline void cubic(const struct plain *p, size_t i, double *mean,
                         double *z)
{
    double x[DIM], y[DIM], f[DIM], g[DIM], inner[DIM], at[DIM];
    double h = p->s->time[i + 1] - p->s->time[i];
    ends_of(p, i, x, y);
    drift(p, i, 0.0, x, f);
    drift(p, i, 1.0, y, g);
    advance(p, i, 0.25, f, at);
    drift(p, i, 0.25, at, inner);
    advance(p, i, 0.5, inner, z);
    for (size_t k = 0; k < p->d; k++)
        at[k] =
            0.5 * (x[k] + y[k]) + limited(h / 8.0 * (f[k] - g[k]), p->reach[k]);
    drift(p, i, 0.5, at, inner);
    for (size_t k = 0; k < p->d; k++)
        mean[k] = (f[k] + 4.0 * inner[k] + g[k]) / 6.0;
}

/* That of a step of Runge and Kutta, and the second of its middles. */
static inline void runge_kutta(const struct plain *p, size_t i, double *mean,
                               double *z)
{
    double x[DIM], y[DIM], f[4][DIM], at[DIM];
    ends_of(p, i, x, y);
    drift(p, i, 0.0, x, f[0]);
    advance(p, i, 0.5, f[0], at);
    drift(p, i, 0.5, at, f[1]);
    advance(p, i, 0.5, f[1], z);
    drift(p, i, 0.5, z, f[2]);
    advance(p, i, 1.0, f[2], at);
    drift(p, i, 1.0, at, f[3]);
    for (size_t k = 0; k < p->d; k++)
        mean[k] = (f[0][k] + 2.0 * (f[1][k] + f[2][k]) + f[3][k]) / 6.0;
}

static inline double density(const struct plain *p, size_t i,
                             const struct held *a)
{
    double f[DIM], g[DIM * DIM], input[2], slope[DIM];
    double h = p->s->time[i + 1] - p->s->time[i];
    double time = time_of(p, i, 0.5, input);
    struct exact_law law = {.d = p->d};
    size_t d = p->d, noises = gsv_model_noises(p->m);
    drift(p, i, 0.5, a->z, f);
    assert_int_equal(gsv_model_diffusion(p->m, 1, &time, a->z, input, g), 0);
    for (size_t k = 0; k < d; k++) {
        slope[k] = moved_by(p->s, k, i) / h;
        law.mean[k] = a->D[k] + f[k];
        for (size_t j = 0; j < d; j++)
            for (size_t n = 0; n < noises; n++)
                law.cov[k * d + j] += g[k * noises + n] * g[j * noises + n] / h;
    }
    /* Of the move, which is h times the slope. */
    return exact_density(&law, slope) - (double)d * log(h);
}

static inline struct held hold(const struct plain *p, size_t i, bool forecast)
{
    struct held a;
    double mean[DIM], f[DIM], x[DIM], y[DIM];
    (forecast ? runge_kutta : cubic)(p, i, mean, a.z);
    for (int tries = 0; tries < 2; tries++) {
        drift(p, i, 0.5, a.z, f);
        for (size_t k = 0; k < p->d; k++)
            a.D[k] = limited(mean[k] - f[k], p->most[k]);
        if (isfinite(density(p, i, &a))) break;
        /* Outside of the domain: at the first end. */
        ends_of(p, i, x, y);
        memcpy(a.z, x, p->d * sizeof *x);
        drift(p, i, 0.0, x, mean);
    }
    return a;
}

/* --- Runs ----------------------------------------------------------------- */

static inline gsv_options slope_options(bool gradient, size_t threads)
{
    gsv_options o = gsv_options_default();
    o.threads = threads;
    o.gradient = gradient;
    o.wide = true;
    return o;
}

/* The score and the values of all gaps; the gradient (values) unless NULL. */
static inline struct score run_slopes(const gsv_model *m, const gsv_series *s,
                                      size_t threads, double *gradient,
                                      double *value)
{
    struct slopes a;
    struct score score = {0};
    gsv_options o = slope_options(gradient != NULL, threads);
    const struct task task = {.model = m, .series = s, .options = &o};
    if (slopes_init(&a, &task) || slopes_run(&a, 0, NULL, gradient, &score))
        fail_msg("%s", gsv_last_error());
    memcpy(value, a.value, a.gaps.count * sizeof *value);
    slopes_free(&a);
    return score;
}

#endif
