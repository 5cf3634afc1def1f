/* SPDX-License-Identifier: MIT */
/* The gradient compared with finite differences of the same estimate: the same
 * random numbers, one number of theta at a time, networks in double precision,
 * and frozen references, which are constants under differentiation. */
#include <math.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/option_rules.h"
#include "estimator/loglik.h"
#include "model/model.h"

/* Large models are checked at so many numbers, spread evenly over theta. */
enum { MOST_CHECKED = 256 };

static int loglik_at(gsv_model *m, const gsv_series *s, const gsv_options *o,
                     const double *reference, double *theta, size_t i,
                     double move, double *value)
{
    gsv_result r;
    double kept = theta[i];
    theta[i] += move;
    gsv_theta_set(m, theta);
    theta[i] = kept;
    int status = loglik_frozen(m, s, o, reference, &r);
    if (status) return status;
    *value = r.loglik;
    gsv_result_free(&r);
    return 0;
}

/* Central differences of the fourth order: (8 D1 - D2) / 12 h. */
static int difference(gsv_model *m, const gsv_series *s, const gsv_options *o,
                      const double *reference, double *theta, size_t i,
                      double *result)
{
    double h = 1e-5 * fmax(1.0, fabs(theta[i])), v[4];
    static const double at[4] = {1.0, -1.0, 2.0, -2.0};
    for (size_t j = 0; j < 4; j++) {
        int status = loglik_at(m, s, o, reference, theta, i, at[j] * h, &v[j]);
        if (status) return status;
    }
    *result = (8.0 * (v[0] - v[1]) - (v[2] - v[3])) / (12.0 * h);
    return 0;
}

static int compare(gsv_model *m, const gsv_series *s, const gsv_options *o,
                   const double *reference, double *theta,
                   const double *theta_bar, double *worst, size_t *where)
{
    size_t n = gsv_theta_size(m);
    size_t checked = n < MOST_CHECKED ? n : MOST_CHECKED;
    double scale = 0.0;
    for (size_t i = 0; i < n; i++)
        scale = fmax(scale, fabs(theta_bar[i]));
    *worst = 0.0;
    if (where) *where = 0;
    for (size_t j = 0; j < checked; j++) {
        size_t i = j * n / checked;
        double numeric = 0.0;
        int status = difference(m, s, o, reference, theta, i, &numeric);
        if (status) return status;
        double size = fmax(fmax(fabs(numeric), fabs(theta_bar[i])),
                           fmax(1e-2 * scale, 1e-8));
        double off = fabs(numeric - theta_bar[i]) / size;
        if (off > *worst) {
            *worst = off;
            if (where) *where = i;
        }
    }
    return 0;
}

enum gsv_status gsv_check_gradient(gsv_model *m, const gsv_series *s,
                                   const gsv_options *o, double *worst,
                                   size_t *where)
{
    if (ANY_NULL(m, s, o, worst)) return GSV_BAD_INPUT;
    if (option_check(GSV_OF_ESTIMATOR, o)) return GSV_BAD_INPUT;
    gsv_options precise = *o;
    gsv_result r = {0};
    size_t n = gsv_theta_size(m);
    double *theta = NEW(double, n), *theta_bar = NEW(double, n);
    double *kept = NEW(double, m->spec->parameters);
    int status = theta && theta_bar && kept ? 0 : GSV_NO_MEMORY;
    precise.wide = precise.gradient = true;
    if (!status) status = loglik_frozen(m, s, &precise, NULL, &r);
    if (!status) {
        for (size_t i = 0; i < m->spec->parameters; i++)
            kept[i] = m->value[i];
        gsv_theta_get(m, theta);
        gsv_theta_vjp(m, r.gradient, theta_bar);
        precise.gradient = false;
        status = compare(m, s, &precise, kept, theta, theta_bar, worst, where);
        for (size_t i = 0; i < m->spec->parameters; i++)
            m->value[i] = kept[i];
    }
    gsv_result_free(&r);
    mem_free(theta);
    mem_free(theta_bar);
    mem_free(kept);
    return status;
}
