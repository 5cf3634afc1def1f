/* SPDX-License-Identifier: MIT */
/* Numbers with weights: mean, deviation, quantiles, choice. */
#include <math.h>
#include <stdlib.h>

#include "base/quantile.h"
#include "predict/paths.h"

double normalise(size_t n, double *S)
{
    double most = -INFINITY, sum = 0.0, squares = 0.0;
    for (size_t k = 0; k < n; k++) {
        if (isnan(S[k])) S[k] = -INFINITY;
        most = fmax(most, S[k]);
    }
    if (!isfinite(most)) return 0.0;
    for (size_t k = 0; k < n; k++) {
        S[k] = exp(S[k] - most);
        sum += S[k];
    }
    for (size_t k = 0; k < n; k++) {
        S[k] /= sum;
        squares += S[k] * S[k];
    }
    return 1.0 / squares;
}

size_t pick_one(size_t n, const double *weight, double share)
{
    double sum = 0.0;
    size_t last = 0;
    for (size_t k = 0; k < n; k++) {
        if (!(weight[k] > 0.0)) continue;
        last = k;
        sum += weight[k];
        if (share < sum) break;
    }
    return last;
}

static int smaller_first(const void *a, const void *b)
{
    double x = ((const struct ranked *)a)->x, y = ((const struct ranked *)b)->x;
    return (x > y) - (x < y);
}

/* Number k stands in the middle of its own weight. Between two of them normal
 * quantiles are interpolated, which is exact for normal laws far into their
 * tails; beyond the outermost they go on as between the last two. */
double ranked_quantile(size_t n, const struct ranked *r, double probability)
{
    double sum = 0.0, z = normal_quantile(2.0 * probability - 1.0);
    double low = 0.0, high = 0.0, below = r[0].x, above = r[0].x;
    size_t found = 0;
    for (size_t k = 0; k < n; k++) {
        if (!(r[k].weight > 0.0)) continue;
        double middle = sum + 0.5 * r[k].weight;
        sum += r[k].weight;
        if (!(middle < 1.0)) break;
        below = above;
        low = high;
        above = r[k].x;
        high = normal_quantile(2.0 * middle - 1.0);
        if (++found > 1 && high >= z) break;
    }
    if (found < 2) return above;
    return below + (above - below) * (z - low) / (high - low);
}

void bands_set(const struct paths *p, size_t row, size_t i, size_t n,
               const double *x, const double *weight, struct ranked *room)
{
    gsv_smoothed *out = p->out;
    double mean = 0.0, variance = 0.0;
    size_t at = i * out->rows + row;
    for (size_t k = 0; k < n; k++)
        if (weight[k] > 0.0) mean += weight[k] * x[k];
    for (size_t k = 0; k < n; k++) {
        room[k] = (struct ranked){x[k], weight[k]};
        if (weight[k] > 0.0)
            variance += weight[k] * (x[k] - mean) * (x[k] - mean);
    }
    qsort(room, n, sizeof *room, smaller_first);
    /* The same number everywhere is that number, whatever sums say. */
    bool same = room[0].x == room[n - 1].x;
    out->mean[at] = same ? room[0].x : mean;
    out->sd[at] = same ? 0.0 : sqrt(variance);
    for (size_t q = 0; q < out->quantiles; q++)
        out->quantile[q * p->d * out->rows + at] =
            same ? room[0].x : ranked_quantile(n, room, out->probability[q]);
}
