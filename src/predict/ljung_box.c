/* SPDX-License-Identifier: MIT */
#include "predict/ljung_box.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/sample_stats.h"

/* With p = (rank from above) / (n + 1) of n simulations a test at 1 % raises a
 * false alarm in 1 % of the cases, give or take 0.1 for 9999, and that for all
 * data in the same rows: so there are more where rows are few, which takes no
 * longer. Above MANY_ROWS the chi-squared law does in 1.0 to 1.3 %. */
enum { FEWEST = 9999, MOST = 99999, ROWS_IN_ALL = 2000000 };
enum { MANY_ROWS = 800, LEAST_PAIRS = 3 };

/* Whether a lag is part of the statistic: a few pairs have heavy tails and say
 * nothing. */
static bool is_used(const struct ljung_box *t, size_t lag)
{
    size_t n = t->pairs[lag - 1];
    return n >= LEAST_PAIRS && 20 * n >= t->count;
}

static double at_lag(const struct ljung_box *t, size_t lag)
{
    double sum = 0.0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < t->length - lag; i++)
        sum += t->x[i] * t->x[i + lag];
    return sum;
}

/* Q of the values in x, which become their distances from the mean. */
static double statistic(struct ljung_box *t, double correlation[GSV_LAGS])
{
    double n = (double)t->count, mean = 0.0, squares = 0.0, Q = 0.0;
    for (size_t i = 0; i < t->rows; i++)
        if (t->present[i]) mean += t->x[t->place[i]] / n;
    for (size_t i = 0; i < t->rows; i++)
        if (t->present[i]) {
            double *x = &t->x[t->place[i]];
            *x -= mean;
            squares += *x * *x;
        }
    for (size_t lag = 1; lag <= GSV_LAGS; lag++) {
        bool none = !t->pairs[lag - 1] || !(squares > 0.0);
        double r = none ? NAN : at_lag(t, lag) / squares;
        if (correlation) correlation[lag - 1] = r;
        if (!none && is_used(t, lag))
            Q += n * (n + 2.0) * r * r / (double)t->pairs[lag - 1];
    }
    return Q;
}

/* --- The law of Q ----------------------------------------------------------
 */

/* Puts count values, or their squares, in the rows that are not missing. */
static void place(struct ljung_box *t, const double *z, bool square)
{
    for (size_t i = 0; i < t->rows; i++) {
        if (!t->present[i]) continue;
        t->x[t->place[i]] = square ? *z * *z : *z;
        z++;
    }
}

static int simulate(struct ljung_box *t)
{
    struct random_key key = {.purpose = RANDOM_RESIDUAL};
    double *z = NEW(double, t->count);
    size_t n = ROWS_IN_ALL / t->count;
    n = n < FEWEST ? FEWEST : n > MOST ? MOST : n;
    t->simulations = n;
    t->plain = NEW(double, n);
    t->squared = NEW(double, n);
    int status = z && t->plain && t->squared ? 0 : GSV_NO_MEMORY;
    for (uint32_t s = 0; !status && s < n; s++) {
        key.iteration = s + 1; /* 0 are those of the residuals */
        random_normals(&key, 0, 1, 0, t->count, z);
        place(t, z, false);
        t->plain[s] = statistic(t, NULL);
        place(t, z, true);
        t->squared[s] = statistic(t, NULL);
    }
    mem_free(z);
    if (status) return status;
    sample_sort(n, t->plain);
    sample_sort(n, t->squared);
    return 0;
}

/* P(Q >= q). Beyond all simulations the chi-squared law says how small. */
static double tail(const struct ljung_box *t, double q, size_t lags,
                   bool square)
{
    const double *law = square ? t->squared : t->plain;
    double limit = chi_squared_tail(q, (double)lags);
    if (!law) return limit;
    size_t above = 0;
    size_t n = t->simulations;
    while (above < n && law[n - 1 - above] >= q)
        above++;
    double p = (1.0 + (double)above) / ((double)n + 1.0);
    return above ? p : fmin(p, limit);
}

/* --- Setting up ------------------------------------------------------------
 */

static void find_places(struct ljung_box *t, const size_t *track)
{
    for (size_t i = 0, at = 0; i < t->rows; i++) {
        if (i && track[i] != track[i - 1]) at += GSV_LAGS;
        t->place[i] = at++;
        t->length = at;
    }
}

static void count_pairs(struct ljung_box *t, const size_t *track)
{
    for (size_t i = 0; i < t->rows; i++)
        for (size_t lag = 1; lag <= GSV_LAGS && i + lag < t->rows; lag++)
            if (t->present[i] && t->present[i + lag] &&
                track[i] == track[i + lag])
                t->pairs[lag - 1]++;
}

int ljung_box_init(struct ljung_box *t, size_t rows, const size_t *track,
                   const double *z)
{
    *t = (struct ljung_box){
        .rows = rows, .place = NEW(size_t, rows), .present = NEW(bool, rows)};
    if (!t->place || !t->present) return GSV_NO_MEMORY;
    for (size_t i = 0; i < rows; i++) {
        t->present[i] = !isnan(z[i]);
        t->count += t->present[i];
    }
    find_places(t, track);
    count_pairs(t, track);
    t->x = NEW(double, t->length);
    if (!t->x) return GSV_NO_MEMORY;
    return t->count > 1 && t->count <= MANY_ROWS ? simulate(t) : 0;
}

void ljung_box_free(struct ljung_box *t)
{
    mem_free(t->place);
    mem_free(t->present);
    mem_free(t->x);
    mem_free(t->plain);
    mem_free(t->squared);
    *t = (struct ljung_box){0};
}

bool ljung_box_fits(const struct ljung_box *t, const double *z)
{
    if (!t->present) return false;
    for (size_t i = 0; i < t->rows; i++)
        if (t->present[i] == isnan(z[i])) return false;
    return true;
}

double ljung_box_test(struct ljung_box *t, const double *z, bool square,
                      double correlation[GSV_LAGS])
{
    size_t lags = 0;
    for (size_t lag = 1; lag <= GSV_LAGS; lag++)
        lags += is_used(t, lag);
    memset(t->x, 0, t->length * sizeof *t->x);
    for (size_t i = 0; i < t->rows; i++)
        if (t->present[i]) t->x[t->place[i]] = square ? z[i] * z[i] : z[i];
    double Q = statistic(t, correlation);
    return lags && isfinite(Q) ? tail(t, Q, lags, square) : NAN;
}
