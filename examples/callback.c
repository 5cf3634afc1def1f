/* SPDX-License-Identifier: MIT */
/* A drift and a noise written in C, with their derivatives, in a model that a
 * fit learns: a double well whose noise grows with |x|.
 *
 *     cc callback.c -lgirsanov -lm && ./a.out                                */
#include <math.h>
#include <stdio.h>

#include "girsanov.h"

static const char text[] = "state x\n"
                           "external f(x) -> 1\n"
                           "external g(x) -> 1 : 1 parameters\n"
                           "param s = 0.5 > 0\n"
                           "dx = f*dt + s*g*dW\n";

/* --- f = p1 x - p2 x^3, with vjp and jvp ---------------------------------- */

static void f_value(void *user, size_t n, const double *x, const double *p,
                    double *f)
{
    (void)user;
    for (size_t i = 0; i < n; i++)
        f[i] = p[0] * x[i] - p[1] * x[i] * x[i] * x[i];
}

static void f_vjp(void *user, size_t n, const double *x, const double *p,
                  const double *f_bar, double *x_bar, double *p_bar)
{
    (void)user;
    for (size_t i = 0; i < n; i++) {
        double square = x[i] * x[i];
        if (x_bar) x_bar[i] += f_bar[i] * (p[0] - 3.0 * p[1] * square);
        if (p_bar) p_bar[0] += f_bar[i] * x[i];
        if (p_bar) p_bar[1] -= f_bar[i] * square * x[i];
    }
}

static void f_jvp(void *user, size_t n, const double *x, const double *p,
                  const double *x_dot, double *f_dot)
{
    (void)user;
    for (size_t i = 0; i < n; i++)
        f_dot[i] = (p[0] - 3.0 * p[1] * x[i] * x[i]) * x_dot[i];
}

/* --- g = sqrt(1 + p1^2 x^2), by its values alone -------------------------- */

static void g_value(void *user, size_t n, const double *x, const double *p,
                    double *g)
{
    (void)user;
    for (size_t i = 0; i < n; i++)
        g[i] = sqrt(1.0 + p[0] * p[0] * x[i] * x[i]);
}

/* --- From both to estimates ----------------------------------------------- */

static int give_both(gsv_model *m)
{
    static const double f_start[] = {1.0, 1.0}, g_start[] = {0.5};
    const gsv_callback f = {.inputs = 1,
                            .outputs = 1,
                            .parameters = 2,
                            .parameter = f_start,
                            .value = f_value,
                            .vjp = f_vjp,
                            .jvp = f_jvp};
    const gsv_callback g = {.inputs = 1,
                            .outputs = 1,
                            .parameters = 1,
                            .parameter = g_start,
                            .value = g_value};
    int status = gsv_model_external(m, "f", &f);
    return status ? status : gsv_model_external(m, "g", &g);
}

static gsv_series *some_data(const gsv_model *m)
{
    enum { ROWS = 2001 };
    double time[ROWS];
    for (size_t i = 0; i < ROWS; i++)
        time[i] = 0.05 * (double)i;
    gsv_simulate_options o = gsv_simulate_options_default();
    o.times = ROWS;
    o.time = time;
    return gsv_simulate(m, &o);
}

static void print_fit(const gsv_model *m)
{
    const gsv_record *r = gsv_model_record(m);
    for (size_t i = 0; i < gsv_model_params(m); i++) {
        gsv_param p = gsv_model_param(m, i);
        for (size_t j = 0; j < p.rows; j++)
            printf("%s[%zu] %.2f +- %.2f\n", p.name, j + 1,
                   gsv_model_value(m)[p.offset + j], r->error_of[p.offset + j]);
    }
    printf("%s", r->warning);
}

int main(void)
{
    gsv_model *m = gsv_model_parse(text, "well");
    int status = m ? give_both(m) : (int)gsv_last_status();
    gsv_series *s = status ? NULL : some_data(m);
    gsv_fit_options o = gsv_fit_options_default();
    status = s ? (int)gsv_fit(m, s, &o) : (int)gsv_last_status();
    if (!status) print_fit(m);
    else fprintf(stderr, "%s\n", gsv_last_error());
    gsv_series_free(s);
    gsv_model_free(m);
    return status;
}
