/* SPDX-License-Identifier: MIT */
/* The samplers against their laws: mean, variance, and Pearson's chi-square
 * over cells whose probabilities are summed or integrated here. */
#include "base/sampler.h"
#include "exact.h"

enum { CELLS = 40 };

/* Draws of a row of a table, in standard errors and deviations: a true sampler
 * fails once in 1e5 claims, some hundred of which are made here. */
static const double WITHIN = 4.5;
static const size_t DRAWS = 100000 / SLOWER;

/* A law with up to two arguments. The distribution function is that of a draw
 * at most x. */
struct law_case {
    const char *name;
    double (*draw)(struct sampler *s, double a, double b);
    double (*below)(double x, double a, double b);
    double a, b, mean, variance, kurtosis; /* kurtosis: excess; NAN where  */
                                           /* moments are not to be looked at */
    bool whole;
};

/* One path for each draw, as a simulation has it. */
static double *draws_of(const struct law_case *c, size_t n)
{
    double *x = NEW(double, n);
    struct random_key key = {.seed = 7, .purpose = RANDOM_OBSERVE};
    struct sampler s;
    for (size_t i = 0; i < n; i++) {
        key.item = i % 10;
        sampler_start(&s, &key, i / 10);
        x[i] = c->draw(&s, c->a, c->b);
    }
    return x;
}

static void claim(const struct law_case *c, const char *what, double off)
{
    if (!(fabs(off) < WITHIN))
        fail_msg("%s(%g, %g): %s is off by %g standard errors", c->name, c->a,
                 c->b, what, off);
}

static void check_moments(const struct law_case *c, size_t n, const double *x)
{
    double mean = 0.0, square = 0.0, N = (double)n, v = c->variance;
    if (isnan(c->variance)) return;
    for (size_t i = 0; i < n; i++)
        mean += (x[i] - c->mean) / N;
    for (size_t i = 0; i < n; i++)
        square += (x[i] - c->mean) * (x[i] - c->mean) / N;
    claim(c, "the mean", mean / sqrt(v / N));
    if (!isnan(c->kurtosis))
        claim(c, "the variance",
              (square / v - 1.0) / sqrt((c->kurtosis + 2.0) / N));
}

/* Cells between quantiles of the draws themselves would be cheating: they end
 * where the distribution function passes multiples of 1 / CELLS, found by
 * bisection; a cell of whole numbers may be empty. */
static double edge(const struct law_case *c, double share)
{
    double low = c->whole ? -1.0 : -1e7, high = 1.0;
    while (c->below(high, c->a, c->b) < share && high < 1e18)
        high *= 2.0;
    for (size_t i = 0; i < 200; i++) {
        double middle = 0.5 * (low + high);
        if (c->whole) middle = floor(middle);
        if (c->below(middle, c->a, c->b) < share) low = middle;
        else high = middle;
        if (c->whole && high - low <= 1.0) break;
    }
    return high;
}

/* Pearson's sum as a normal number, by Wilson and Hilferty. */
static double pearson(const struct law_case *c, size_t n, const double *x)
{
    double end[CELLS], p[CELLS] = {0}, seen[CELLS] = {0}, sum = 0.0, f = -1.0;
    double before = 0.0;
    for (size_t i = 0; i < CELLS; i++) {
        bool last = i + 1 == CELLS;
        end[i] = last ? INFINITY : edge(c, (double)(i + 1) / CELLS);
        double now = last ? 1.0 : c->below(end[i], c->a, c->b);
        p[i] = now - before;
        before = now;
    }
    for (size_t k = 0; k < n; k++) {
        size_t i = 0;
        while (x[k] > end[i])
            i++;
        seen[i]++;
    }
    for (size_t i = 0; i < CELLS; i++) {
        double e = p[i] * (double)n;
        if (e < 5.0) {
            claim(c, "a rare cell", (seen[i] - e) / sqrt(e + 1.0));
            continue;
        }
        sum += (seen[i] - e) * (seen[i] - e) / e;
        f += 1.0;
    }
    if (f < 1.0) return 0.0;
    return (cbrt(sum / f) - 1.0 + 2.0 / (9.0 * f)) / sqrt(2.0 / (9.0 * f));
}

static void check_law(const struct law_case *c)
{
    double *x = draws_of(c, DRAWS);
    for (size_t i = 0; i < DRAWS; i++)
        assert_true(!c->whole || (x[i] >= 0.0 && x[i] == floor(x[i])));
    check_moments(c, DRAWS, x);
    claim(c, "chi-square", pearson(c, DRAWS, x));
    mem_free(x);
}

/* --- Distribution functions ----------------------------------------------- */

static double normal_below(double x, double mean, double sd)
{
    return 0.5 * erfc(-(x - mean) / sd / sqrt(2.0));
}

/* The incomplete gamma function: x^a e^-x sum of x^n / Gamma(a + n + 1). */
static double gamma_below(double x, double a, double b)
{
    (void)b;
    if (x <= 0.0) return 0.0;
    double term = exp(a * log(x) - x - lgamma(a + 1.0)), sum = term;
    for (double n = 1.0; term > 1e-17 * sum || n < x - a; n++) {
        term *= x / (a + n);
        sum += term;
    }
    return sum;
}

/* The incomplete beta function, below its mean by the series
 *     x^a (1 - x)^b / (a B(a, b)) sum of (a + b)_n / (a + 1)_n x^n. */
static double beta_below(double x, double a, double b)
{
    if (x <= 0.0 || x >= 1.0) return x >= 1.0;
    if (x > (a + 1.0) / (a + b + 2.0)) return 1.0 - beta_below(1.0 - x, b, a);
    double term = exp(a * log(x) + b * log1p(-x) + lgamma(a + b) -
                      lgamma(a + 1.0) - lgamma(b));
    double sum = term;
    for (double n = 0.0; term > 1e-17 * sum; n++) {
        term *= x * (a + b + n) / (a + 1.0 + n);
        sum += term;
    }
    return sum;
}

/* 1/2 + the integral of the density from 0, over x = sqrt(nu) tan(angle). */
static double student_below(double x, double nu, double b)
{
    (void)b;
    enum { PIECES = 400 };
    double end = atan(x / sqrt(nu)), h = end / PIECES, sum = 0.0;
    double c = exp(lgamma(0.5 * (nu + 1.0)) - lgamma(0.5 * nu));
    for (size_t i = 0; i <= PIECES; i++) {
        double w = i == 0 || i == PIECES ? 1.0 : i % 2 ? 4.0 : 2.0;
        sum += w * pow(cos(h * (double)i), nu - 1.0);
    }
    return 0.5 + c / sqrt(EXACT_PI) * sum * h / 3.0;
}

/* Sums of probabilities up to x, from logarithms. */
static double sum_below(double x, double a, double b,
                        double (*log_p)(double k, double a, double b))
{
    double sum = 0.0;
    for (double k = 0.0; k <= x; k++)
        sum += exp(log_p(k, a, b));
    return sum;
}

static double poisson_p(double k, double m, double b)
{
    (void)b;
    return k * log(m) - m - lgamma(k + 1.0);
}

static double poisson_below(double x, double m, double b)
{
    return sum_below(x, m, b, poisson_p);
}

/* The skewness is far below what can be seen. */
static double large_below(double x, double mean, double b)
{
    return normal_below(x + 0.5, mean, sqrt(b > 0.0 ? mean * (1.0 - b) : mean));
}

static double negbin_p(double k, double m, double r)
{
    return lgamma(k + r) - lgamma(r) - lgamma(k + 1.0) - r * log1p(m / r) +
           k * log(m / (m + r));
}

static double negbin_below(double x, double m, double r)
{
    return sum_below(x, m, r, negbin_p);
}

static double binomial_p(double k, double n, double p)
{
    double l = n - k;
    if (l < 0.0) return -INFINITY;
    return lgamma(n + 1.0) - lgamma(k + 1.0) - lgamma(l + 1.0) +
           (k > 0.0 ? k * log(p) : 0.0) + (l > 0.0 ? l * log1p(-p) : 0.0);
}

static double binomial_below(double x, double n, double p)
{
    return sum_below(x, n, p, binomial_p);
}

/* A betabinomial of so many trials. */
static const double TRIALS = 30.0;

static double betabinomial_p(double k, double p, double size)
{
    double a = p * size, b = size - a, l = TRIALS - k;
    if (l < 0.0) return -INFINITY;
    return lgamma(TRIALS + 1.0) - lgamma(k + 1.0) - lgamma(l + 1.0) +
           lgamma(a + k) + lgamma(b + l) - lgamma(size + TRIALS) - lgamma(a) -
           lgamma(b) + lgamma(size);
}

static double betabinomial_below(double x, double p, double size)
{
    return sum_below(x, p, size, betabinomial_p);
}

static const double SHARE[] = {3.0, 0.0, 0.5, 4.0, 2.5, 0.0};

static double category_below(double x, double a, double b)
{
    (void)a, (void)b;
    double sum = 0.0;
    for (size_t i = 0; i < COUNT(SHARE) && (double)i + 1.0 <= x; i++)
        sum += SHARE[i] / 10.0;
    return sum;
}

static double huge_below(double x, double n, double p)
{
    return large_below(x, n * p, p);
}

/* --- Laws ----------------------------------------------------------------- */

static double draw_uniform(struct sampler *s, double a, double b)
{
    (void)a, (void)b;
    return sampler_uniform(s);
}

static double uniform_below(double x, double a, double b)
{
    (void)a, (void)b;
    return fmin(fmax(x, 0.0), 1.0);
}

static double draw_normal(struct sampler *s, double a, double b)
{
    return a + b * sampler_normal(s);
}

static double draw_gamma(struct sampler *s, double a, double b)
{
    (void)b;
    return sampler_gamma(s, a);
}

static double draw_student(struct sampler *s, double a, double b)
{
    (void)b;
    return sampler_student(s, a);
}

static double draw_poisson(struct sampler *s, double a, double b)
{
    (void)b;
    return sampler_poisson(s, a);
}

static void sampler__has_the_laws_of_the_line(void **state)
{
    (void)state;
    check_law(&(struct law_case){"uniform", draw_uniform, uniform_below, 0, 0,
                                 0.5, 1.0 / 12.0, -1.2, false});
    check_law(&(struct law_case){"normal", draw_normal, normal_below, 0, 1, 0,
                                 1, 0, false});
    const double shape[] = {0.01, 0.3, 0.5, 1.0, 1.7, 12.0, 1000.0};
    for (size_t i = 0; i < COUNT(shape); i++) {
        double a = shape[i];
        check_law(&(struct law_case){"gamma", draw_gamma, gamma_below, a, 0, a,
                                     a, 6.0 / a, false});
    }
    const double nu[] = {0.5, 1.0, 3.0, 5.0, 30.0, 1e4};
    for (size_t i = 0; i < COUNT(nu); i++) {
        double a = nu[i];
        check_law(&(struct law_case){"student", draw_student, student_below, a,
                                     0, 0, a > 4.0 ? a / (a - 2.0) : NAN,
                                     a > 8.0 ? 6.0 / (a - 4.0) : NAN, false});
    }
}

static double draw_betabinomial(struct sampler *s, double p, double size)
{
    return sampler_betabinomial(s, TRIALS, p, size);
}

static double draw_category(struct sampler *s, double a, double b)
{
    (void)a, (void)b;
    return sampler_category(s, COUNT(SHARE), SHARE);
}

static void sampler__has_the_beta_law(void **state)
{
    (void)state;
    const double argument[][2] = {{0.05, 0.5}, {0.5, 0.5},  {1.0, 1.0},
                                  {2.0, 5.0},  {30.0, 0.7}, {400.0, 600.0},
                                  {1e5, 3.0}};
    for (size_t i = 0; i < COUNT(argument); i++) {
        double a = argument[i][0], b = argument[i][1], n = a + b;
        double more = 6.0 * ((a - b) * (a - b) * (n + 1.0) - a * b * (n + 2.0));
        check_law(&(struct law_case){"beta", sampler_beta, beta_below, a, b,
                                     a / n, a * b / (n * n * (n + 1.0)),
                                     more / (a * b * (n + 2.0) * (n + 3.0)),
                                     false});
    }
}

static void sampler__has_the_betabinomial_law(void **state)
{
    (void)state;
    const double argument[][2] = {
        {0.5, 0.02}, {0.1, 0.5}, {0.5, 2.0}, {0.8, 7.0}, {0.3, 1e6}};
    for (size_t i = 0; i < COUNT(argument); i++) {
        double p = argument[i][0], size = argument[i][1], fourth = 0.0;
        double mean = TRIALS * p, variance = mean * (1.0 - p);
        variance *= (size + TRIALS) / (size + 1.0);
        for (double k = 0.0; k <= TRIALS; k++)
            fourth += exp(betabinomial_p(k, p, size)) * pow(k - mean, 4.0);
        check_law(&(struct law_case){
            "betabinomial", draw_betabinomial, betabinomial_below, p, size,
            mean, variance, fourth / (variance * variance) - 3.0, true});
    }
}

static void sampler__has_the_law_of_categories(void **state)
{
    (void)state;
    check_law(&(struct law_case){"category", draw_category, category_below, 0,
                                 0, 3.3, 2.51, NAN, true});
}

static void sampler__has_the_law_of_poisson(void **state)
{
    (void)state;
    const double mean[] = {1e-3, 0.7, 3.0, 9.99, 10.0, 15.0, 80.0, 1000.0};
    for (size_t i = 0; i < COUNT(mean); i++) {
        double m = mean[i];
        check_law(&(struct law_case){"poisson", draw_poisson, poisson_below, m,
                                     0, m, m, 1.0 / m, true});
    }
    for (double m = 1e9; m < 1e16; m *= 1e3)
        check_law(&(struct law_case){"poisson", draw_poisson, large_below, m, 0,
                                     m, m, 0, true});
}

static void sampler__has_the_negative_binomial_law(void **state)
{
    (void)state;
    const double argument[][2] = {
        {0.2, 0.1}, {3.0, 0.5}, {3.0, 1e6}, {20.0, 2.0}, {50.0, 30.0}};
    for (size_t i = 0; i < COUNT(argument); i++) {
        double m = argument[i][0], r = argument[i][1], v = m + m * m / r;
        check_law(&(struct law_case){"negbin", sampler_negbin, negbin_below, m,
                                     r, m, v, 6.0 / r + 1.0 / v, true});
    }
}

static void sampler__has_the_binomial_law(void **state)
{
    (void)state;
    const double argument[][2] = {{1, 0.3},       {1, 0.999},  {10, 0.5},
                                  {20, 0.4999},   {20, 0.5},   {21, 0.5},
                                  {40, 0.75},     {1000, 0.3}, {1000, 0.01},
                                  {1000, 0.0101}, {500, 0.98}, {1e5, 1e-5}};
    for (size_t i = 0; i < COUNT(argument); i++) {
        double n = argument[i][0], p = argument[i][1], v = n * p * (1.0 - p);
        check_law(&(struct law_case){"binomial", sampler_binomial,
                                     binomial_below, n, p, n * p, v,
                                     (1.0 - 6.0 * p * (1.0 - p)) / v, true});
    }
    for (double n = 1e9; n < 1e16; n *= 1e3)
        check_law(&(struct law_case){"binomial", sampler_binomial, huge_below,
                                     n, 0.375, 0.375 * n, 0.375 * 0.625 * n, 0,
                                     true});
}

static void sampler__knows_the_edges_of_laws(void **state)
{
    (void)state;
    struct sampler s;
    const struct random_key key = {.seed = 1, .purpose = RANDOM_OBSERVE};
    for (size_t i = 0; i < 1000; i++) {
        sampler_start(&s, &key, i);
        assert_true(sampler_poisson(&s, 0.0) == 0.0);
        assert_true(sampler_negbin(&s, 0.0, 2.0) == 0.0);
        assert_true(sampler_binomial(&s, 0.0, 0.3) == 0.0);
        assert_true(sampler_binomial(&s, 1e6, 0.0) == 0.0);
        assert_true(sampler_binomial(&s, 1e6, 1.0) == 1e6);
        assert_true(sampler_binomial(&s, 30.0, 1.0 - 1e-16) <= 30.0);
        assert_true(sampler_betabinomial(&s, 9.0, 0.0, 2.0) == 0.0);
        assert_true(sampler_betabinomial(&s, 9.0, 1.0, 2.0) == 9.0);
        assert_true(sampler_category(&s, 3, (double[]){0, 1e-300, 0}) == 2.0);
        double share = sampler_beta(&s, 1e-9, 1e-9);
        assert_true(share > 0.0 && share < 1.0);
        double u = sampler_uniform(&s);
        assert_true(u > 0.0 && u < 1.0);
    }
}

/* Each count is binomial, two together as well, and nothing is lost. */
static void sampler__has_the_multinomial_law(void **state)
{
    (void)state;
    enum { N = 50, KINDS = 4 };
    const double p[2 * KINDS] = {2, 9, 0, 9, 5, 9, 3, 9};
    struct law_case c[] = {
        {"multinomial 1", NULL, binomial_below, N, 0.2, 10, 8, 0, true},
        {"multinomial 3", NULL, binomial_below, N, 0.5, 25, 12.5, 0, true},
        {"multinomial 1 + 4", NULL, binomial_below, N, 0.5, 25, 12.5, 0, true}};
    double *x[COUNT(c)];
    struct random_key key = {.seed = 3, .purpose = RANDOM_OBSERVE};
    for (size_t k = 0; k < COUNT(c); k++)
        x[k] = NEW(double, DRAWS);
    for (size_t i = 0; i < DRAWS; i++) {
        struct sampler s;
        double count[2 * KINDS] = {0};
        sampler_start(&s, &key, i);
        sampler_multinomial(&s, N, KINDS, p, 2, count, 2);
        x[0][i] = count[0];
        x[1][i] = count[4];
        x[2][i] = count[0] + count[6];
        assert_true(count[2] == 0.0 && count[0] + count[4] + count[6] == N);
    }
    for (size_t k = 0; k < COUNT(c); k++) {
        c[k].kurtosis = (1.0 - 6.0 * c[k].variance / N) / c[k].variance;
        check_moments(&c[k], DRAWS, x[k]);
        claim(&c[k], "chi-square", pearson(&c[k], DRAWS, x[k]));
        mem_free(x[k]);
    }
}

/* The test itself: a law that is off by a few hundredths is seen. */
static void sampler__would_be_caught(void **state)
{
    (void)state;
    const struct law_case wrong[] = {
        {"poisson", draw_poisson, poisson_below, 15.0, 0, 0, 0, 0, true},
        {"gamma", draw_gamma, gamma_below, 1.7, 0, 0, 0, 0, false}};
    for (size_t i = 0; i < COUNT(wrong); i++) {
        struct law_case c = wrong[i];
        double *x = draws_of(&c, DRAWS);
        c.a *= SLOWER > 1 ? 1.15 : 1.04;
        assert_true(pearson(&c, DRAWS, x) > 2.0 * WITHIN);
        mem_free(x);
    }
}

/* A sampler's numbers are its own, whatever was drawn from others before. */
static void sampler__is_a_function_of_its_address(void **state)
{
    (void)state;
    struct sampler a, b;
    struct random_key key = {.seed = 1, .purpose = RANDOM_OBSERVE, .item = 4};
    double x[100];
    sampler_start(&a, &key, 3);
    for (size_t i = 0; i < COUNT(x); i++)
        x[i] = sampler_gamma(&a, 0.7);
    sampler_start(&b, &key, 4);
    assert_true(sampler_gamma(&b, 0.7) != x[0]);
    key.iteration = 1;
    sampler_start(&b, &key, 3);
    assert_true(sampler_gamma(&b, 0.7) != x[0]);
    key.iteration = 0;
    sampler_start(&b, &key, 3);
    for (size_t i = 0; i < COUNT(x); i++)
        assert_true(sampler_gamma(&b, 0.7) == x[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sampler__has_the_laws_of_the_line),
        cmocka_unit_test(sampler__has_the_beta_law),
        cmocka_unit_test(sampler__has_the_betabinomial_law),
        cmocka_unit_test(sampler__has_the_law_of_categories),
        cmocka_unit_test(sampler__has_the_law_of_poisson),
        cmocka_unit_test(sampler__has_the_negative_binomial_law),
        cmocka_unit_test(sampler__has_the_binomial_law),
        cmocka_unit_test(sampler__has_the_multinomial_law),
        cmocka_unit_test(sampler__knows_the_edges_of_laws),
        cmocka_unit_test(sampler__would_be_caught),
        cmocka_unit_test(sampler__is_a_function_of_its_address),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
