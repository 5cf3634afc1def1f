/* SPDX-License-Identifier: MIT */
/* Standard errors from the observed information I: V = I^-1, or the sandwich
 * I^-1 (sum over gaps of s s') I^-1. Intervals are theta +- 1.96 sqrt(V_ii),
 * brought to the values: they stay inside of the bounds. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/linalg.h"
#include "base/memory.h"
#include "learn/information.h"
#include "sde/fit_record.h"
#include "sde/theta.h"

static const double NORMAL_95 = 1.959963984540054;

/* --- The sandwich ------------------------------------------------------- */

/* J = sum of s s' over the groups, from one group at a time. */
static int outer_products(struct information *a, struct objective *one,
                          double *J)
{
    const struct split *s = &a->l->split;
    size_t n = a->n;
    memset(J, 0, n * n * sizeof *J);
    for (size_t g = 0; g < s->trains; g++) {
        struct score score;
        int status = objective_at(one, a->theta, NULL, 0, 1, &s->train[g],
                                  &score, a->up);
        if (status) return status;
        double gaps = (double)score.gaps;
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++)
                J[i * n + j] +=
                    gaps * gaps * a->up[a->place[i]] * a->up[a->place[j]];
    }
    return 0;
}

static int make_sandwich(struct information *a)
{
    size_t n = a->n;
    struct objective one = {0};
    gsv_options o = a->all.options;
    double *J = NEW(double, n *n), *VJ = NEW(double, n *n);
    int status = J && VJ ? 0 : GSV_NO_MEMORY;
    if (!status) status = objective_init(&one, a->l->m, a->l->s, &o, 1);
    if (!status) status = outer_products(a, &one, J);
    if (!status) {
        linalg_product(n, n, n, a->V, false, J, false, VJ);
        linalg_product(n, n, n, VJ, false, a->V, false, J);
        memcpy(a->V, J, n * n * sizeof *J);
    }
    objective_free(&one);
    mem_free(J);
    mem_free(VJ);
    return status;
}

/* --- To the record ------------------------------------------------------ */

static int note_errors(const struct information *a, gsv_record *r)
{
    const gsv_model *m = a->l->m;
    size_t n = a->n, values = r->values;
    r->correlation = NEW(double, values *values);
    if (!r->correlation) return GSV_NO_MEMORY;
    for (size_t i = 0; i < values * values; i++)
        r->correlation[i] = NAN;
    theta_slopes(m, a->up);
    for (size_t i = 0; i < n; i++) {
        size_t at = a->place[i], v = a->value[at];
        double error = sqrt(a->V[i * n + i]);
        double one = theta_value(m, at, a->theta[at] - NORMAL_95 * error);
        double two = theta_value(m, at, a->theta[at] + NORMAL_95 * error);
        r->error_of[v] = error * fabs(a->up[at]);
        r->low[v] = fmin(one, two);
        r->high[v] = fmax(one, two);
        for (size_t j = 0; j < n; j++) {
            size_t to = a->place[j];
            double sign = a->up[at] * a->up[to] < 0.0 ? -1.0 : 1.0;
            r->correlation[v * values + a->value[to]] =
                sign * a->V[i * n + j] /
                sqrt(a->V[i * n + i] * a->V[j * n + j]);
        }
    }
    return 0;
}

static int measure(struct information *a, const double *theta, gsv_record *r)
{
    if (!a->n) return 0;
    int status = information_fill(a);
    if (status == GSV_NUMERICAL) {
        fputs("near the estimate the log-likelihood is not finite: there are "
              "no standard errors\n",
              a->words);
        return 0;
    }
    if (status || !information_invert(a)) return status;
    if (r->errors == GSV_ERRORS_SANDWICH) status = make_sandwich(a);
    gsv_theta_set(a->l->m, theta);
    return status ? status : note_errors(a, r);
}

int uncertainty(struct learner *l, const double *theta, gsv_record *r)
{
    struct information a;
    int status = information_init(&a, l, theta);
    if (!status) status = measure(&a, theta, r);
    if (!status && fflush(a.words))
        status = fail(GSV_NO_MEMORY, "out of memory");
    if (!status) status = fit_record_warn(r, a.text ? a.text : "");
    information_free(&a);
    return status;
}
