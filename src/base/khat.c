/* SPDX-License-Identifier: MIT */
#include "base/khat.h"

#include <math.h>

/* Fewer weights in the tail say nothing about its shape. */
enum { SHORTEST_TAIL = 5 };

static size_t tail_size(size_t K)
{
    double n = fmin(0.2 * (double)K, 3.0 * sqrt((double)K));
    return (size_t)ceil(n);
}

bool khat_tells(size_t K)
{
    return tail_size(K) >= SHORTEST_TAIL;
}

size_t khat_room(size_t K)
{
    return tail_size(K) + 2;
}

double khat_threshold(size_t K)
{
    return fmin(1.0 - 1.0 / log10((double)K), 0.7);
}

/* The n largest of S, the largest first. */
static void largest(size_t K, const double *S, size_t n, double *top)
{
    size_t have = 0;
    for (size_t k = 0; k < K; k++) {
        if (have == n && !(S[k] > top[n - 1])) continue;
        size_t i = have < n ? have++ : n - 1;
        for (; i > 0 && S[k] > top[i - 1]; i--)
            top[i] = top[i - 1];
        top[i] = S[k];
    }
}

/* The profile: k(b) = mean log(1 - b x). */
static double shape(size_t n, const double *x, double b)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += log1p(-b * x[i]);
    return sum / (double)n;
}

static double candidate(size_t n, const double *x, size_t m, size_t j)
{
    /* x falls: the largest is x[0], the lower quartile from the other end. */
    size_t quartile = n - (size_t)((double)n / 4.0 + 0.5);
    return 1.0 / x[0] +
           (1.0 - sqrt((double)m / ((double)j + 0.5))) / (3.0 * x[quartile]);
}

static double log_profile(size_t n, const double *x, double b)
{
    double k = shape(n, x, b);
    return (double)n * (log(-b / k) - k - 1.0);
}

/* The posterior mean of b over a grid, weighted by the profile. */
static double fitted(size_t n, const double *x)
{
    size_t m = 30 + (size_t)sqrt((double)n);
    double most = -INFINITY, sum = 0.0, mean = 0.0;
    for (size_t j = 0; j < m; j++)
        most = fmax(most, log_profile(n, x, candidate(n, x, m, j)));
    for (size_t j = 0; j < m; j++) {
        double b = candidate(n, x, m, j);
        double w = exp(log_profile(n, x, b) - most);
        if (!isfinite(w)) continue;
        sum += w;
        mean += w * b;
    }
    return mean / sum;
}

/* What was fitted to the tail, in units of the largest weight. */
struct tail {
    size_t n;
    double most, cut; /* log of the largest; where the tail begins */
    double k, sigma;  /* sigma 0: there is no tail                 */
};

static struct tail fit_tail(size_t K, const double *S, double *room)
{
    struct tail t = {.n = tail_size(K)};
    size_t n = t.n;
    largest(K, S, n + 1, room);
    t.most = room[0];
    t.cut = exp(room[n] - t.most);
    for (size_t i = 0; i < n; i++)
        room[i] = exp(room[i] - t.most) - t.cut;
    /* Weights that are all but equal have no tail. */
    if (!(room[0] > 1e-10) || !(room[n - 1] > 0.0)) return t;
    double b = fitted(n, room), k = shape(n, room, b);
    t.sigma = -k / b;
    /* A weak prior toward 1/2 steadies short tails. */
    t.k = ((double)n * k + 5.0) / ((double)n + 10.0);
    return t;
}

double khat(size_t K, const double *S, double *room)
{
    return khat_tells(K) ? fit_tail(K, S, room).k : NAN;
}

/* The weight of rank i in the tail, from 0 for the largest. */
static double smoothed(const struct tail *t, size_t i)
{
    double p = ((double)(t->n - i) - 0.5) / (double)t->n;
    double x = fabs(t->k) < 1e-12 ? -t->sigma * log1p(-p)
                                  : t->sigma * expm1(-t->k * log1p(-p)) / t->k;
    return t->most + fmin(log(t->cut + x), 0.0);
}

double khat_smooth(size_t K, double *S, double *room)
{
    if (!khat_tells(K)) return NAN;
    struct tail t = fit_tail(K, S, room);
    if (!(t.sigma > 0.0)) return t.k;
    largest(K, S, t.n + 1, room);
    for (size_t k = 0; k < K; k++) {
        size_t i = 0;
        while (i < t.n && room[i] != S[k])
            i++;
        if (i < t.n) S[k] = smoothed(&t, i);
    }
    return t.k;
}
