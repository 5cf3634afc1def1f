/* SPDX-License-Identifier: MIT */
/* Models whose gaps are crossed by modified bridges whatever their noise is,
 * so that those can be held against laws that are known. */
#ifndef TESTS_BRIDGED_H
#define TESTS_BRIDGED_H

#include "exact.h"
#include "model/model.h"

/* Takes away the map to unit diffusion, if there is one. */
static inline void bridge_model(gsv_model *m)
{
    struct spec *s = m->spec;
    assert_true(s->diagonal || s->noises == s->dim);
    s->noise = NOISE_BRIDGED;
    s->sigma = s->diffusion;
    s->shape = s->stretch = s->unstretch = 0;
    s->stretch_domain = s->stretch_range = 0;
    m->range = 0;
    assert_int_equal(to_unit_diffusion(m), 0);
    assert_true(m->bridged);
}

static inline gsv_model *bridged_of(const char *text)
{
    gsv_model *m = model_of(text);
    bridge_model(m);
    return m;
}

/* z = p log x, where the text has equations of z, data of x and perhaps a
 * parameter p. */
static inline gsv_model *logarithm_of(const char *text, const double *p)
{
    gsv_model *m = model_of(text);
    struct spec *s = m->spec;
    struct graph *g = s->graph;
    node x = graph_leaf(g, OP_STATE, 0, 1, 1), log_x, scale;
    assert_int_equal(s->dim, 1);
    scale = p ? graph_leaf(g, OP_PARAM, (size_t)*p, 1, 1) : graph_number(g, 1);
    log_x = graph_unary(g, OP_LOG, x);
    s->mapped = true;
    s->state_of_data = graph_binary(g, OP_MUL, scale, log_x);
    s->data_of_state =
        graph_unary(g, OP_EXP, graph_binary(g, OP_DIV, x, scale));
    s->map_log_jacobian =
        graph_binary(g, OP_SUB, graph_unary(g, OP_LOG, scale), log_x);
    bridge_model(m);
    return m;
}

/* --- Laws ----------------------------------------------------------------- */

#define GBM "state x\n param a = 0.5, s = 0.3 > 0\n dx = a*x*dt + s*x*dW"
#define CIR                                                                    \
    "state x\n param k = 1, m = 1 > 0, s = 0.6 > 0\n"                          \
    "dx = k*(m - x)*dt + s*sqrt(x)*dW"

/* dX = a X dt + s X dW. */
static inline double exact_gbm(double x, double y, double a, double s, double h)
{
    return exact_normal(log(y), log(x) + (a - 0.5 * s * s) * h, s * s * h) -
           log(y);
}

/* log I_nu(z), z > 0, by its series: terms rise up to about j = z/2, and are
 * nothing some deviations away from there. */
static inline double exact_log_bessel(double nu, double z)
{
    double wide = 12.0 * sqrt(z) + 30.0, middle = floor(0.5 * z);
    double first = fmax(0.0, floor(middle - wide)), most = -INFINITY, sum = 0.0;
    for (double j = first; j < middle + wide; j++) {
        double term = (2.0 * j + nu) * log(0.5 * z) - lgamma(j + 1.0) -
                      lgamma(j + nu + 1.0);
        double higher = fmax(most, term);
        sum = sum * exp(most - higher) + exp(term - higher);
        most = higher;
    }
    return most + log(sum);
}

/* dX = k (m - X) dt + s sqrt(X) dW. */
static inline double exact_cir(double x, double y, double k, double m, double s,
                               double h)
{
    double c = 2.0 * k / (s * s * (1.0 - exp(-k * h)));
    double u = c * x * exp(-k * h), v = c * y, q = 2.0 * k * m / (s * s) - 1.0;
    return log(c) - u - v + 0.5 * q * log(v / u) +
           exact_log_bessel(q, 2.0 * sqrt(u * v));
}

#endif
