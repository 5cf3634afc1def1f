/* SPDX-License-Identifier: MIT */
/* Runs of the scan on a lattice, and Heston's model. */
#ifndef TESTS_STRIP_H
#define TESTS_STRIP_H

#include <complex.h>
#include <stdio.h>

#include "exact.h"
#include "model/model.h"

enum { MOST_ROWS = 64 };

static inline gsv_options scan_options(size_t steps, size_t points)
{
    gsv_options o = gsv_options_default();
    o.observe = GSV_OBSERVE_SCAN;
    o.steps = steps;
    o.points = points;
    return o;
}

static inline double value_of(const gsv_model *m, const gsv_series *s,
                              const gsv_options *o)
{
    gsv_result r = loglik_of(m, s, o);
    double value = r.loglik;
    gsv_result_free(&r);
    return value;
}

/* One column in equal gaps, in so many tracks of the same. */
static inline gsv_series *series_of(const char *column, size_t rows, double gap,
                                    const double *x, size_t tracks)
{
    double time[3 * MOST_ROWS], value[3 * MOST_ROWS];
    size_t start[4];
    for (size_t t = 0; t <= tracks; t++)
        start[t] = t * rows;
    for (size_t i = 0; i < tracks * rows; i++) {
        time[i] = gap * (double)(i % rows);
        value[i] = x[i % rows];
    }
    gsv_series *s = gsv_series_new(tracks, start, 1, &column, time, value);
    if (!s) fail_msg("%s", gsv_last_error());
    return s;
}

/* --- Heston --------------------------------------------------------------- */

struct heston {
    double mu, kappa, theta, xi, rho;
};

static inline gsv_model *heston_model(const struct heston *p, const char *init)
{
    char text[600];
    snprintf(text, sizeof text,
             "state x, v\nparam mu = %.17g, kappa = %.17g > 0, theta = %.17g > "
             "0, xi = %.17g > 0, rho = %.17g in (-1, 1)\n"
             "dx = (mu - v/2)*dt + sqrt(v)*dW1\n"
             "dv = kappa*(theta - v)*dt + xi*sqrt(v)*(rho*dW1 + sqrt(1 - "
             "rho^2)*dW2)\n%s\n",
             p->mu, p->kappa, p->theta, p->xi, p->rho, init);
    return model_of(text);
}

/* The density of the return over h by its characteristic function, from the
 * variance v, or from a gamma law of the mean v and this shape. */
static inline double heston_density(const struct heston *p, double v,
                                    double shape, double h, double r)
{
    double sum = 0.0, dk = 0.02 / sqrt(fmax(v, p->theta) * h);
    for (int n = 0; n < 60000; n++) {
        double k = dk * (n + 0.5);
        double complex b = p->kappa - p->rho * p->xi * k * I;
        double complex d = csqrt(b * b + p->xi * p->xi * (I * k + k * k));
        double complex g = (b - d) / (b + d), e = cexp(-d * h);
        double square = p->xi * p->xi;
        double complex C =
            p->kappa * p->theta / square *
            ((b - d) * h - 2.0 * clog((1.0 - g * e) / (1.0 - g)));
        double complex D = (b - d) / square * (1.0 - e) / (1.0 - g * e);
        double complex first =
            shape > 0.0 ? -shape * clog(1.0 - D * v / shape) : D * v;
        double complex f = cexp(I * k * (p->mu * h - r) + C + first);
        sum += creal(f) * dk;
        if (cabs(f) < 1e-16) break;
    }
    return sum / EXACT_PI;
}

static const struct heston HESTON[] = {
    {0.05, 3.0, 0.04, 0.4, -0.6}, {0.1, 1.0, 0.09, 0.3, 0.0},
    {0.0, 6.0, 0.04, 0.6, 0.5},   {-0.2, 0.5, 0.02, 0.2, -0.95},
    {0.05, 2.0, 0.04, 0.4, 0.9},
};

#endif
