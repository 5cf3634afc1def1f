/* SPDX-License-Identifier: MIT */
/* The Ornstein-Uhlenbeck process dX = -k X dt + s dW, once from its text and
 * once from a drift written in C. Its log-likelihood is known exactly, so the
 * estimates can be compared with it:
 *
 *     cc ou.c -lgirsanov -lm && ./a.out                                      */
#include <math.h>
#include <stdio.h>

#include "girsanov.h"

static const double k = 0.8, s = 0.6;

/* --- A drift in C, and what its gradient is ------------------------------ */

/* f = -k x at n points; p are the function's own parameters, here k alone. */
static void drift(void *user, size_t n, const double *x, const double *p,
                  double *f)
{
    (void)user;
    for (size_t i = 0; i < n; i++)
        f[i] = -p[0] * x[i];
}

/* The same backwards: what f_bar means for x and for p, added to both. */
static void drift_vjp(void *user, size_t n, const double *x, const double *p,
                      const double *f_bar, double *x_bar, double *p_bar)
{
    (void)user;
    for (size_t i = 0; i < n; i++) {
        if (x_bar) x_bar[i] -= p[0] * f_bar[i];
        if (p_bar) p_bar[0] -= x[i] * f_bar[i];
    }
}

/* The text has the noise, and says where the function stands. */
static gsv_model *model_in_c(void)
{
    gsv_model *m = gsv_model_parse("state x1\n"
                                   "external f(x1) -> 1\n"
                                   "param s = 0.6 > 0\n"
                                   "dx1 = f*dt + s*dW\n",
                                   "ou");
    const gsv_callback c = {.inputs = 1,
                            .outputs = 1,
                            .parameters = 1,
                            .parameter = &k,
                            .value = drift,
                            .vjp = drift_vjp};
    if (m && !gsv_model_external(m, "f", &c)) return m;
    gsv_model_free(m);
    return NULL;
}

static gsv_model *model_in_words(void)
{
    return gsv_model_parse("state x1\n"
                           "param k = 0.8, s = 0.6 > 0\n"
                           "dx1 = -k*x1*dt + s*dW\n",
                           "ou");
}

/* --- Data, truth, estimate ----------------------------------------------- */

enum { ROWS = 41 };

/* One track of 40 gaps, started in 1. */
static gsv_series *simulate(const gsv_model *m)
{
    const double start = 1.0;
    double time[ROWS];
    for (size_t i = 0; i < ROWS; i++)
        time[i] = 0.25 * (double)i;
    gsv_simulate_options o = gsv_simulate_options_default();
    o.times = ROWS;
    o.time = time;
    o.start = &start;
    return gsv_simulate(m, &o);
}

/* Over a gap of length h, X is normal with mean rho x and this variance. */
static double exact(const gsv_series *data)
{
    double sum = 0.0;
    for (size_t i = 0; i + 1 < data->rows; i++) {
        double rho = exp(-k * (data->time[i + 1] - data->time[i]));
        double variance = s * s * (1.0 - rho * rho) / (2.0 * k);
        double off = data->value[i + 1] - rho * data->value[i];
        sum -= 0.5 * (log(2.0 * acos(-1.0) * variance) + off * off / variance);
    }
    return sum;
}

static int estimate(const char *name, const gsv_model *m,
                    const gsv_series *data)
{
    gsv_options o = gsv_options_default();
    gsv_result r;
    o.paths = 1024;
    o.steps = 32;
    o.gradient = true;
    int status = gsv_loglik(m, data, &o, &r);
    if (status) return status;
    printf("%-9s %9.4f +- %.4f   shorter steps: about %+.4f\n", name, r.loglik,
           r.error, r.discretisation);
    for (size_t i = 0; i < gsv_model_params(m); i++) {
        gsv_param p = gsv_model_param(m, i);
        printf("          d/d%-3s %8.4f\n", p.name, r.gradient[p.offset]);
    }
    gsv_result_free(&r);
    return 0;
}

int main(void)
{
    gsv_model *words = model_in_words(), *c = model_in_c();
    gsv_series *data = words ? simulate(words) : NULL;
    int status = 1;
    if (words && c && data) {
        printf("exact     %9.4f\n", exact(data));
        status = estimate("in words", words, data);
        if (!status) status = estimate("in C", c, data);
    }
    if (status) fprintf(stderr, "%s\n", gsv_last_error());
    gsv_series_free(data);
    gsv_model_free(words);
    gsv_model_free(c);
    return status;
}
