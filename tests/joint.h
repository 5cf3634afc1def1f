/* SPDX-License-Identifier: MIT */
/* What the tests of whole tracks share. */
#ifndef TESTS_JOINT_H
#define TESTS_JOINT_H

#include "observe/joint.h"
#include "observe_exact.h"

#define OU                                                                     \
    "state x\n param th = 1 > 0, s = 1 > 0, r = 0.1 > 0\n"                     \
    "dx = -th*x*dt + s*dW\n obs y ~ normal(x, r)\n init x ~ normal(0, 0.7)"

static const char *const Y[] = {"y"};

static inline struct exact_linear ou(double th, double s, double r)
{
    return (struct exact_linear){.d = 1,
                                 .noises = 1,
                                 .outputs = 1,
                                 .A = {-th},
                                 .G = {s},
                                 .H = {1.0},
                                 .r = {r},
                                 .P0 = {0.49}};
}

static inline gsv_series *series_of(size_t n, const double *t, const double *y)
{
    const size_t start[2] = {0, n};
    gsv_series *s = gsv_series_new(1, start, 1, Y, t, y);
    if (!s) fail_msg("%s", gsv_last_error());
    return s;
}

/* Of likelihoods over seeds against the exact one. */
struct trials {
    double mean, deviation; /* of log-likelihoods, off the exact one    */
    double ratio, error;    /* mean of exp of that, its standard error  */
    double said;            /* mean of the errors that were said        */
    double ess;             /* mean of the least effective number       */
    size_t flagged;
};

static inline struct trials try(const gsv_model *m, const gsv_series *s,
                                gsv_options o, double exact, size_t seeds)
{
    struct trials t = {0};
    double n = (double)seeds, square = 0.0, squares = 0.0;
    for (o.seed = 1; o.seed <= seeds; o.seed++) {
        gsv_result r = loglik_of(m, s, &o);
        double off = r.loglik - exact;
        t.mean += off / n;
        square += off * off / n;
        t.ratio += exp(off) / n;
        squares += exp(2.0 * off) / n;
        t.said += r.error / n;
        t.ess += r.ess_min / n;
        t.flagged += r.flagged > 0;
        gsv_result_free(&r);
    }
    t.deviation = sqrt(fmax(0.0, square - t.mean * t.mean));
    t.error = sqrt(fmax(0.0, squares - t.ratio * t.ratio) / (n - 1.0));
    print_message("%+.4f off, deviation %.4f, said %.4f, effective %.1f, "
                  "flagged %zu of %zu\n",
                  t.mean, t.deviation, t.said, t.ess, t.flagged, seeds);
    return t;
}

static inline gsv_options options_of(enum gsv_observe kind)
{
    gsv_options o = default_options();
    o.observe = kind;
    return o;
}

#endif
