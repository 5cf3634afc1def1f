/* SPDX-License-Identifier: MIT */
#include "base/chain_stats.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/quantile.h"
#include "base/sample_stats.h"

/* --- Of chains as they are ------------------------------------------------ */

/* sum of (x_i - mean) (x_(i + lag) - mean) / n */
static double autocovariance(size_t n, const double *x, double mean, size_t lag)
{
    double sum = 0.0;
    for (size_t i = 0; i + lag < n; i++)
        sum += (x[i] - mean) * (x[i + lag] - mean);
    return sum / (double)n;
}

static double mean_autocovariance(size_t chains, size_t n, const double *x,
                                  size_t lag)
{
    double sum = 0.0;
    for (size_t c = 0; c < chains; c++, x += n)
        sum += autocovariance(n, x, sample_mean(n, x), lag);
    return sum / (double)chains;
}

struct spread {
    double within, total; /* W and V */
};

static struct spread spread_of(size_t chains, size_t draws, const double *x)
{
    double n = (double)draws, all = sample_mean(chains * draws, x);
    double within = mean_autocovariance(chains, draws, x, 0) * n / (n - 1.0);
    double between = 0.0;
    for (size_t c = 0; c < chains; c++) {
        double off = sample_mean(draws, x + c * draws) - all;
        between += off * off;
    }
    if (chains > 1) between /= (double)(chains - 1);
    return (struct spread){within, within * (n - 1.0) / n + between};
}

/* Differences that are rounding of the numbers themselves are none. */
static bool is_constant(size_t n, const double *x)
{
    double low = x[0], high = x[0];
    for (size_t i = 0; i < n; i++) {
        low = fmin(low, x[i]);
        high = fmax(high, x[i]);
    }
    return !(high - low > 1e-14 * fmax(fabs(low), fabs(high)));
}

double chain_rhat(size_t chains, size_t draws, const double *x)
{
    if (draws < 2 || is_constant(chains * draws, x)) return NAN;
    struct spread s = spread_of(chains, draws, x);
    return sqrt(s.total / s.within);
}

static double correlation(size_t chains, size_t draws, const double *x,
                          const struct spread *s, size_t lag)
{
    if (!lag) return 1.0;
    double at = mean_autocovariance(chains, draws, x, lag);
    return 1.0 - (s->within - at) / s->total;
}

double chain_ess(size_t chains, size_t draws, const double *x)
{
    if (draws < 2 || is_constant(chains * draws, x)) return NAN;
    struct spread s = spread_of(chains, draws, x);
    double all = (double)(chains * draws), sum = 0.0, least = INFINITY;
    for (size_t lag = 0; lag + 1 < draws; lag += 2) {
        double pair = correlation(chains, draws, x, &s, lag) +
                      correlation(chains, draws, x, &s, lag + 1);
        if (pair < 0.0) break;
        least = fmin(least, pair);
        sum += least;
    }
    /* Draws that swing are worth more than independent ones; how much more
     * cannot be told from so few. */
    return all / fmax(2.0 * sum - 1.0, 1.0 / log10(all));
}

/* --- Ranks ---------------------------------------------------------------- */

static void sort(size_t n, const double *x, double *sorted)
{
    memcpy(sorted, x, n * sizeof *x);
    sample_sort(n, sorted);
}

/* How many are below x; or, where equal counts, not above it. */
static size_t count_below(size_t n, const double *sorted, double x, bool equal)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (sorted[middle] < x || (equal && sorted[middle] == x))
            low = middle + 1;
        else high = middle;
    }
    return low;
}

void chain_scores(size_t n, const double *x, double *score, double *room)
{
    sort(n, x, room);
    for (size_t i = 0; i < n; i++) {
        double below = (double)count_below(n, room, x[i], false);
        double upto = (double)count_below(n, room, x[i], true);
        double rank = 0.5 * (below + 1.0 + upto);
        double p = (rank - 0.375) / ((double)n + 0.25);
        score[i] = normal_quantile(2.0 * p - 1.0);
    }
}

static double quantile(size_t n, const double *sorted, double p)
{
    double at = p * (double)(n - 1), low = floor(at);
    size_t i = (size_t)low;
    if (i + 1 >= n) return sorted[n - 1];
    return sorted[i] + (at - low) * (sorted[i + 1] - sorted[i]);
}

/* --- All of it ------------------------------------------------------------ */

/* Halves of chains to (2 chains, draws / 2); the middle one of an odd number
 * goes. */
static void split(size_t chains, size_t draws, const double *x, double *half)
{
    size_t n = draws / 2;
    for (size_t c = 0; c < chains; c++, x += draws) {
        memcpy(half + 2 * c * n, x, n * sizeof *x);
        memcpy(half + (2 * c + 1) * n, x + draws - n, n * sizeof *x);
    }
}

struct halves {
    size_t chains, draws, all;
    double *x, *y, *z, *sorted; /* (all) */
};

/* The draws on one side of a quantile, as 0 and 1. */
static double ess_below(struct halves *h, double quantile)
{
    for (size_t i = 0; i < h->all; i++)
        h->y[i] = h->x[i] <= quantile ? 1.0 : 0.0;
    return chain_ess(h->chains, h->draws, h->y);
}

/* R-hat of ranks sees other places, that of folded ranks other widths. */
static void fill_halves(struct halves *h, struct chain_stats *s)
{
    s->mcse = s->sd / sqrt(chain_ess(h->chains, h->draws, h->x));
    s->ess_tail = fmin(ess_below(h, s->q5), ess_below(h, s->q95));
    chain_scores(h->all, h->x, h->z, h->sorted);
    s->ess_bulk = chain_ess(h->chains, h->draws, h->z);
    double places = chain_rhat(h->chains, h->draws, h->z);
    sort(h->all, h->x, h->sorted);
    double middle = quantile(h->all, h->sorted, 0.5);
    for (size_t i = 0; i < h->all; i++)
        h->y[i] = fabs(h->x[i] - middle);
    chain_scores(h->all, h->y, h->z, h->sorted);
    s->rhat = fmax(places, chain_rhat(h->chains, h->draws, h->z));
}

static void fill_moments(size_t n, const double *x, double *sorted,
                         struct chain_stats *s)
{
    double squares = 0.0;
    sort(n, x, sorted);
    s->mean = sample_mean(n, x);
    for (size_t i = 0; i < n; i++)
        squares += (x[i] - s->mean) * (x[i] - s->mean);
    s->sd = n > 1 ? sqrt(squares / (double)(n - 1)) : NAN;
    s->q2 = quantile(n, sorted, 0.025);
    s->q5 = quantile(n, sorted, 0.05);
    s->median = quantile(n, sorted, 0.5);
    s->q95 = quantile(n, sorted, 0.95);
    s->q98 = quantile(n, sorted, 0.975);
}

int chain_stats(size_t chains, size_t draws, const double *x,
                struct chain_stats *out)
{
    size_t n = chains * draws;
    double *room = NEW(double, 4 * n);
    if (!room) return GSV_NO_MEMORY;
    struct halves h = {.chains = 2 * chains,
                       .draws = draws / 2,
                       .all = 2 * chains * (draws / 2),
                       .x = room,
                       .y = room + n,
                       .z = room + 2 * n,
                       .sorted = room + 3 * n};
    *out = (struct chain_stats){
        .rhat = NAN, .ess_bulk = NAN, .ess_tail = NAN, .mcse = NAN};
    fill_moments(n, x, h.sorted, out);
    if (draws >= 4) {
        split(chains, draws, x, h.x);
        fill_halves(&h, out);
    }
    mem_free(room);
    return 0;
}
