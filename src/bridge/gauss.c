/* SPDX-License-Identifier: MIT */
/* Gaussian bridges by the two-point formula (the paper's appendix B). */
#include <math.h>

#include "base/error.h"
#include "girsanov.h"

/* K(tau, tau) for the first and the last time, and what is missing there. */
struct ends {
    double first, last;
    double k00, k01, k11;
    double miss0, miss1;
};

static int check(size_t n, const double *time, double y0, double y1,
                 const double *y)
{
    if (n < 2) return fail(GSV_BAD_INPUT, "a bridge has at least two times");
    if (!isfinite(y0) || !isfinite(y1))
        return fail(GSV_BAD_INPUT, "a bridge from %g to %g is not possible", y0,
                    y1);
    for (size_t i = 0; i < n; i++)
        if (!isfinite(y[i]) || !isfinite(time[i]) ||
            (i && !(time[i] > time[i - 1])))
            return fail(GSV_BAD_INPUT,
                        "the path must be finite and its times increasing, "
                        "which fails at element %zu",
                        i);
    return 0;
}

/* The weights of both misses at time t. */
static void weights(const struct ends *e, double a, double b, double *w0,
                    double *w1)
{
    double det = e->k00 * e->k11 - e->k01 * e->k01;
    *w0 = (a * e->k11 - b * e->k01) / det;
    *w1 = (b * e->k00 - a * e->k01) / det;
}

static int bad_kernel(double first, double last)
{
    return fail(GSV_NUMERICAL,
                "the kernel is not positive definite at the times %g and %g",
                first, last);
}

enum gsv_status gsv_bridge(gsv_kernel kernel, void *user, size_t n,
                           const double *time, double y0, double y1, double *y)
{
    if (ANY_NULL(time, y)) return GSV_BAD_INPUT;
    if (!kernel)
        return fail(
            GSV_BAD_INPUT,
            "gsv_bridge(): the argument 'kernel' is NULL, but is needed");
    if (check(n, time, y0, y1, y)) return GSV_BAD_INPUT;
    struct ends e = {.first = time[0], .last = time[n - 1]};
    e.k00 = kernel(user, e.first, e.first);
    e.k01 = kernel(user, e.first, e.last);
    e.k11 = kernel(user, e.last, e.last);
    e.miss0 = y0 - y[0];
    e.miss1 = y1 - y[n - 1];
    bool fixed = e.k00 == 0.0;
    if (!(e.k11 > 0.0) || (!fixed && !(e.k00 * e.k11 - e.k01 * e.k01 > 0.0)))
        return bad_kernel(e.first, e.last);
    for (size_t i = 1; i + 1 < n; i++) {
        double a = kernel(user, time[i], e.first);
        double b = kernel(user, time[i], e.last), w0, w1;
        if (fixed) {
            w1 = b / e.k11;
            w0 = 1.0 - w1;
        } else {
            weights(&e, a, b, &w0, &w1);
        }
        y[i] += w0 * e.miss0 + w1 * e.miss1;
        if (!isfinite(y[i])) return bad_kernel(e.first, e.last);
    }
    /* Set, not summed: rounding must not move a datum. */
    y[0] = y0;
    y[n - 1] = y1;
    return 0;
}
