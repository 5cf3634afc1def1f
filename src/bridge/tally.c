/* SPDX-License-Identifier: MIT */
#include "bridge/tally.h"

#include <float.h>
#include <math.h>

void tally_start(struct tally *t)
{
    *t = (struct tally){.most = -INFINITY};
}

static void raise_to(struct tally *t, double most)
{
    if (!(most > t->most)) return;
    double scale = exp(t->most - most);
    t->sum *= scale;
    t->squares *= scale * scale;
    t->most = most;
}

void tally_add(struct tally *t, size_t n, const double *S)
{
    double most = t->most;
    for (size_t k = 0; k < n; k++)
        if (S[k] > most && S[k] < INFINITY) most = S[k];
    raise_to(t, most);
    for (size_t k = 0; k < n; k++) {
        if (!(S[k] < INFINITY)) {
            t->broken++;
            continue;
        }
        double w = t->most == -INFINITY ? 0.0 : exp(S[k] - t->most);
        t->sum += w;
        t->squares += w * w;
    }
    t->count += n;
}

void tally_merge(struct tally *t, const struct tally *other)
{
    raise_to(t, other->most);
    double scale = other->most == -INFINITY ? 0.0 : exp(other->most - t->most);
    t->sum += scale * other->sum;
    t->squares += scale * scale * other->squares;
    t->count += other->count;
    t->broken += other->broken;
}

double tally_log_sum(const struct tally *t)
{
    return t->sum > 0.0 ? t->most + log(t->sum) : -INFINITY;
}

double tally_log_mean(const struct tally *t)
{
    return tally_log_sum(t) - log((double)t->count);
}

/* The delta method: var(w) / (K mean(w)^2). Rounding may leave a tiny number,
 * of either sign, where all weights are equal. */
double tally_variance(const struct tally *t)
{
    double K = (double)t->count;
    if (t->count < 2 || !(t->sum > 0.0)) return NAN;
    double relative = t->squares * K / (t->sum * t->sum) - 1.0;
    return relative > K * DBL_EPSILON ? relative / (K - 1.0) : 0.0;
}

/* All of them, too, where they are equal up to rounding. */
double tally_ess(const struct tally *t)
{
    double K = (double)t->count;
    if (!(t->squares > 0.0)) return 0.0;
    double ess = t->sum * t->sum / t->squares;
    return fabs(K / ess - 1.0) > K * DBL_EPSILON ? ess : K;
}

double tally_delta(const struct tally *t)
{
    return t->count < 2 || !(t->sum > 0.0) ? 0.0 : tally_variance(t);
}
