/* SPDX-License-Identifier: MIT */
/* Normals by Box and Muller in double; gammas by Marsaglia and Tsang (2000);
 * counts with small means by inversion, with larger ones by the transformed
 * rejection of Hoermann (1993): PTRS for Poisson's law, BTRS for the binomial
 * one. Both accept by the ratio to the exact law, in Loader's form,
 *
 *     log k! = (k + 1/2) log k - k + log(2 pi)/2 + e(k),
 *
 * in which terms of the size of k log k have cancelled beforehand: so means of
 * 1e15 are as exact as those of 10. */
#include "base/sampler.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

static const double TWO_PI = 6.28318530717958647692;

/* From here on inversion takes longer than rejection. */
static const double MOST_INVERTED = 10.0;

void sampler_start(struct sampler *s, const struct random_key *key,
                   uint64_t path)
{
    s->key = *key;
    s->path = path;
    s->row = 0;
    s->next = SAMPLER_WORDS;
}

/* Two words of 32 bits, (a + 1/2) 2^-32 and (b + 1/2) 2^-32, as
 * (a + (b + 1/2) 2^-32) 2^-32; the largest would be rounded to 1. */
double sampler_uniform(struct sampler *s)
{
    if (s->next == SAMPLER_WORDS) {
        random_uniforms(&s->key, s->row, SAMPLER_WORDS, s->path, 1, s->word);
        s->row += SAMPLER_WORDS;
        s->next = 0;
    }
    const double *w = s->word + s->next;
    s->next += 2;
    return fmin((w[0] - 0x1p-33) + w[1] * 0x1p-32, 1.0 - 0x1p-53);
}

/* --- Continuous laws ------------------------------------------------------ */

double sampler_normal(struct sampler *s)
{
    double radius = sqrt(-2.0 * log(sampler_uniform(s)));
    return radius * cos(TWO_PI * sampler_uniform(s));
}

/* d v with v = (1 + c z)^3 is accepted with probability
 * exp(z^2/2 + d (1 - v + log v)). Below 1, Gamma(a) is Gamma(a + 1) U^(1/a). */
double sampler_gamma(struct sampler *s, double shape)
{
    double boost = 1.0, v, z;
    if (shape < 1.0) {
        boost = pow(sampler_uniform(s), 1.0 / shape);
        shape += 1.0;
    }
    double d = shape - 1.0 / 3.0, c = 1.0 / sqrt(9.0 * d);
    do {
        do {
            z = sampler_normal(s);
            v = 1.0 + c * z;
        } while (v <= 0.0);
        v = v * v * v;
    } while (log(sampler_uniform(s)) > 0.5 * z * z + d * (1.0 - v + log(v)));
    return boost * d * v;
}

/* The logarithm of a gamma draw, also where that is too small for a double. */
static double log_gamma_draw(struct sampler *s, double shape)
{
    if (shape >= 1.0) return log(sampler_gamma(s, shape));
    double log_u = log(sampler_uniform(s));
    return log_u / shape + log(sampler_gamma(s, shape + 1.0));
}

double sampler_beta(struct sampler *s, double a, double b)
{
    double left = log_gamma_draw(s, a), right = log_gamma_draw(s, b);
    double x = 1.0 / (1.0 + exp(right - left));
    return fmin(fmax(x, DBL_MIN), 1.0 - 0.5 * DBL_EPSILON);
}

double sampler_student(struct sampler *s, double nu)
{
    double z = sampler_normal(s);
    return z / sqrt(sampler_gamma(s, 0.5 * nu) / (0.5 * nu));
}

/* --- Log probabilities ---------------------------------------------------- */

/* e(k) for k > 0. */
static double stirling_error(double k)
{
    double factorial = 1.0, kk = k * k;
    if (k >= 16.0)
        return (1.0 / 12.0 - (1.0 / 360.0 - 1.0 / (1260.0 * kk)) / kk) / k;
    for (size_t i = 2; i <= (size_t)k; i++)
        factorial *= (double)i;
    return log(factorial) - (k + 0.5) * log(k) + k - 0.5 * log(TWO_PI);
}

/* k log(k / m) + m - k. */
static double deviance(double k, double m)
{
    double x = (k - m) / m;
    return m * ((1.0 + x) * log1p(x) - x);
}

static double log_poisson(double k, double m)
{
    if (k == 0.0) return -m;
    return -deviance(k, m) - 0.5 * log(TWO_PI * k) - stirling_error(k);
}

static double log_binomial(double k, double n, double p)
{
    double l = n - k, q = 1.0 - p;
    if (k == 0.0) return n * log1p(-p);
    if (l == 0.0) return n * log(p);
    return stirling_error(n) - stirling_error(k) - stirling_error(l) -
           deviance(k, n * p) - deviance(l, n * q) +
           0.5 * log(n / k / (TWO_PI * l));
}

/* --- Counts --------------------------------------------------------------- */

/* The first k with P(0) + ... + P(k) above a uniform number, where
 * P(k + 1) / P(k) = (a - b k) / (k + 1). Rounding can leave the whole sum
 * below it: then terms have come to nothing, and k is the last. */
static double invert(struct sampler *s, double first, double a, double b)
{
    double u = sampler_uniform(s), p = first, k = 0.0;
    while (u > p) {
        u -= p;
        double next = p * ((a - b * k) / (k + 1.0));
        if (!(next > 0.0)) break;
        p = next;
        k += 1.0;
    }
    return k;
}

/* The hat of both rejections: k = floor((2a/r + b) u + c), r = 1/2 - |u|. */
struct hat {
    double a, b, c, squeeze, scale;
};

struct proposal {
    double k, v, r;
};

static struct proposal propose(struct sampler *s, const struct hat *h)
{
    double u = sampler_uniform(s) - 0.5, v = sampler_uniform(s);
    double r = 0.5 - fabs(u);
    return (struct proposal){floor((2.0 * h->a / r + h->b) * u + h->c), v, r};
}

/* Whether k needs no look at the law, and what log v is compared with its
 * logarithm as. */
static bool is_squeezed(const struct proposal *p, const struct hat *h)
{
    return p->r >= 0.07 && p->v <= h->squeeze;
}

static double height(const struct proposal *p, const struct hat *h)
{
    return log(p->v * h->scale / (h->a / (p->r * p->r) + h->b));
}

static double reject_poisson(struct sampler *s, double m)
{
    double b = 0.931 + 2.53 * sqrt(m);
    const struct hat hat = {.a = -0.059 + 0.02483 * b,
                            .b = b,
                            .c = m + 0.43,
                            .squeeze = 0.9277 - 3.6224 / (b - 2.0),
                            .scale = 1.1239 + 1.1328 / (b - 3.4)};
    for (;;) {
        struct proposal p = propose(s, &hat);
        if (p.k < 0.0) continue;
        if (is_squeezed(&p, &hat)) return p.k;
        if (height(&p, &hat) <= log_poisson(p.k, m)) return p.k;
    }
}

/* Relative to the law's largest probability, at (n + 1) p. */
static double reject_binomial(struct sampler *s, double n, double prob)
{
    double root = sqrt(n * prob * (1.0 - prob)), b = 1.15 + 2.53 * root;
    double most = log_binomial(floor((n + 1.0) * prob), n, prob);
    const struct hat hat = {.a = -0.0873 + 0.0248 * b + 0.01 * prob,
                            .b = b,
                            .c = n * prob + 0.5,
                            .squeeze = 0.92 - 4.2 / b,
                            .scale = (2.83 + 5.1 / b) * root};
    for (;;) {
        struct proposal p = propose(s, &hat);
        if (p.k < 0.0 || p.k > n) continue;
        if (is_squeezed(&p, &hat)) return p.k;
        if (height(&p, &hat) <= log_binomial(p.k, n, prob) - most) return p.k;
    }
}

double sampler_poisson(struct sampler *s, double mean)
{
    if (mean < MOST_INVERTED) return invert(s, exp(-mean), mean, 0.0);
    return reject_poisson(s, mean);
}

double sampler_negbin(struct sampler *s, double mean, double size)
{
    return sampler_poisson(s, mean * (sampler_gamma(s, size) / size));
}

double sampler_binomial(struct sampler *s, double n, double p)
{
    if (p > 0.5) return n - sampler_binomial(s, n, 1.0 - p);
    if (n * p >= MOST_INVERTED) return reject_binomial(s, n, p);
    double odds = p / (1.0 - p);
    return fmin(n, invert(s, exp(n * log1p(-p)), n * odds, odds));
}

double sampler_betabinomial(struct sampler *s, double n, double p, double size)
{
    if (p > 0.0 && p < 1.0) p = sampler_beta(s, p * size, (1.0 - p) * size);
    return sampler_binomial(s, n, p);
}

double sampler_category(struct sampler *s, size_t n, const double *p)
{
    double sum = 0.0, last = 1.0;
    for (size_t i = 0; i < n; i++)
        sum += p[i];
    double left = sum * sampler_uniform(s);
    for (size_t i = 0; i < n; i++) {
        if (!(p[i] > 0.0)) continue;
        last = (double)(i + 1);
        if (left < p[i]) break;
        left -= p[i];
    }
    return last;
}

/* One category at a time: of the remaining count, its share among the remaining
 * categories. */
void sampler_multinomial(struct sampler *s, double n, size_t categories,
                         const double *p, size_t p_stride, double *count,
                         size_t count_stride)
{
    for (size_t i = 0; i < categories; i++) {
        double own = p[i * p_stride], rest = 0.0;
        for (size_t j = i + 1; j < categories; j++)
            rest += p[j * p_stride];
        double k = rest > 0.0 ? sampler_binomial(s, n, own / (own + rest)) : n;
        count[i * count_stride] = k;
        n -= k;
    }
}
