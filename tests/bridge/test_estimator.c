/* SPDX-License-Identifier: MIT */
/* The default estimator where it is exact: linear drifts in any dimension,
 * with any reference that is linear, any form, any number of paths and steps;
 * and how many paths and which references it takes. */
#include <stdio.h>

#include "exact.h"

enum { DIM = 100, ROWS = 4 };

/* --- Linear drifts with closed forms -------------------------------------- */

/* x = T y for independent dY_i = -k_i Y_i dt + s_i dW: the density of x is that
 * of y over |det T|. */
struct linear {
    size_t d;
    double rate[DIM], noise[DIM];
    double T[DIM * DIM], inverse[DIM * DIM], log_det;
};

/* Rates from 0.2 to fast, noises around 1/2. */
static void linear_start(struct linear *p, size_t d, double fast)
{
    *p = (struct linear){.d = d};
    for (size_t i = 0; i < d; i++) {
        double part = d > 1 ? (double)i / (double)(d - 1) : 0.0;
        p->rate[i] = 0.2 + part * (fast - 0.2);
        p->noise[i] = 0.5 + 0.3 * sin((double)i);
    }
}

/* Full noise: T is I + N with N below the diagonal, N N = 0. */
static void linear_full(struct linear *p, size_t d, double fast)
{
    linear_start(p, d, fast);
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++) {
            bool low = i >= (d + 1) / 2 && j < (d + 1) / 2;
            double n = low ? 0.3 * cos((double)(i + 2 * j)) : 0.0;
            p->T[i * d + j] = (i == j) + n;
            p->inverse[i * d + j] = (i == j) - n;
        }
}

/* Diagonal noise: y is turned by sines, and stretched by a diagonal matrix. */
static void linear_diagonal(struct linear *p, size_t d, double fast,
                            bool scalar)
{
    linear_start(p, d, fast);
    double n = (double)d + 1.0, size = sqrt(2.0 / n);
    for (size_t i = 0; i < d; i++) {
        double stretch = scalar ? 0.7 : p->noise[i];
        for (size_t j = 0; j < d; j++) {
            double angle = EXACT_PI * (double)((i + 1) * (j + 1)) / n;
            p->T[i * d + j] = stretch * size * sin(angle);
            p->inverse[j * d + i] = size * sin(angle) / stretch;
        }
        p->log_det += log(stretch);
    }
    for (size_t i = 0; i < d; i++)
        p->noise[i] = 1.0;
}

static double linear_exact(const struct linear *p, const gsv_series *s)
{
    size_t d = p->d;
    double sum = 0.0;
    for (size_t r = 0; r + 1 < s->rows; r++) {
        double h = s->time[r + 1] - s->time[r];
        for (size_t i = 0; i < d; i++) {
            double y[2] = {0.0, 0.0};
            for (size_t j = 0; j < d; j++)
                for (size_t e = 0; e < 2; e++)
                    y[e] += p->inverse[i * d + j] *
                            (s->value[j * s->rows + r + e] - 0.1);
            sum += exact_ou(y[0], y[1], p->rate[i], p->noise[i], h);
        }
        sum -= p->log_det;
    }
    return sum;
}

/* dx = A (x - m) dt + G dW, with G a number, a vector or a matrix. */
static gsv_model *linear_model(const struct linear *p, int noise_rank)
{
    static const char *const noise[] = {"g = 1\n dx = A @ (x - 0.1)*dt + g*dW",
                                        "g[%zu] = 1\n"
                                        "dx = A @ (x - 0.1)*dt + g*dW",
                                        "g[%zu,%zu] = 1\n"
                                        "dx = A @ (x - 0.1)*dt + g @ dW"};
    size_t d = p->d;
    char text[300], end[200];
    snprintf(end, sizeof end, noise[noise_rank], d, d);
    snprintf(text, sizeof text, "state x[%zu]\n param A[%zu,%zu] = 0\nparam %s",
             d, d, d, end);
    gsv_model *m = model_of(text);
    double *A = NEW(double, d *d), *G = NEW(double, d *d);
    for (size_t e = 0; e < d * d; e++) {
        size_t i = e / d, j = e % d;
        for (size_t k = 0; k < d; k++)
            A[e] -= p->T[i * d + k] * p->rate[k] * p->inverse[k * d + j];
        G[e] = p->T[e] * p->noise[j];
    }
    if (noise_rank < 2)
        for (size_t i = 0; i < d; i++) { /* the length of row i of T */
            double square = 0.0;
            for (size_t k = 0; k < d; k++)
                square += p->T[i * d + k] * p->T[i * d + k];
            G[i] = sqrt(square);
        }
    size_t count = noise_rank == 2 ? d * d : noise_rank ? d : 1;
    assert_int_equal(gsv_model_set(m, "A", d * d, A), 0);
    assert_int_equal(gsv_model_set(m, "g", count, G), 0);
    mem_free(A);
    mem_free(G);
    return m;
}

/* --- Exactness ------------------------------------------------------------ */

static const enum gsv_reference REFERENCES[] = {
    GSV_REFERENCE_LINEAR, GSV_REFERENCE_LNA, GSV_REFERENCE_AUTO};
static const enum gsv_form FORMS[] = {GSV_FORM_ITO, GSV_FORM_MIDPOINT,
                                      GSV_FORM_STRATONOVICH, GSV_FORM_AUTO};

static void assert_exact(const gsv_model *m, const gsv_series *s,
                         const gsv_options *o, double expected)
{
    gsv_result r = loglik_of(m, s, o);
    assert_near(r.loglik, expected, 1e-9 * fabs(expected));
    if (r.paths > 1 || r.steps == 1) assert_near(r.error, 0.0, 1e-7);
    assert_near(r.ess_min, (double)r.paths, 1e-6);
    if (r.steps > 1) assert_near(r.discretisation, 0.0, 1e-6);
    assert_near(r.log_bias, 0.0, 1e-9);
    gsv_result_free(&r);
}

/* Few numbers of paths and steps where a case takes long. */
static void assert_linear(const struct linear *p, int noise_rank)
{
    static const size_t with[][2] = {{1, 2},  {3, 1}, {7, 5},  {64, 8},
                                     {64, 1}, {2, 2}, {16, 5}, {1, 8}};
    size_t few = p->d > 50 ? 2 : COUNT(with);
    gsv_model *m = linear_model(p, noise_rank);
    gsv_series *s = walk_of(m, 1, ROWS, 0.4, 5);
    double expected = linear_exact(p, s);
    for (size_t i = 0; i < few * COUNT(REFERENCES) * COUNT(FORMS); i++) {
        gsv_options o = default_options();
        size_t n = i / (COUNT(REFERENCES) * COUNT(FORMS));
        o.reference = REFERENCES[i % COUNT(REFERENCES)];
        o.form = FORMS[i / COUNT(REFERENCES) % COUNT(FORMS)];
        o.paths = with[n][0];
        o.steps = with[n][1];
        o.random = i % 2 ? GSV_RANDOM_SOBOL : GSV_RANDOM_IID;
        o.joint = i % 5 == 0;
        o.richardson = i % 7 == 0;
        o.delta = i % 11 == 0;
        assert_exact(m, s, &o, expected);
    }
    gsv_series_free(s);
    gsv_model_free(m);
}

static void assert_dimension(size_t d, double fast)
{
    struct linear *p = NEW(struct linear, 1);
    linear_diagonal(p, d, fast, true);
    assert_linear(p, 0);
    linear_diagonal(p, d, fast, false);
    assert_linear(p, 1);
    linear_full(p, d, fast);
    assert_linear(p, 2);
    mem_free(p);
}

static void linear__drift_is_exact_in_1_dimension(void **state)
{
    (void)state;
    assert_dimension(1, 0.2);
}

static void linear__drift_is_exact_in_3_dimensions(void **state)
{
    (void)state;
    assert_dimension(3, 2.0);
    assert_dimension(3, 40.0); /* stiff */
}

static void linear__drift_is_exact_in_20_dimensions(void **state)
{
    (void)state;
    assert_dimension(20, 3.0);
}

static void linear__drift_is_exact_in_100_dimensions(void **state)
{
    (void)state;
    assert_dimension(100, 2.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear__drift_is_exact_in_1_dimension),
        cmocka_unit_test(linear__drift_is_exact_in_3_dimensions),
        cmocka_unit_test(linear__drift_is_exact_in_20_dimensions),
        cmocka_unit_test(linear__drift_is_exact_in_100_dimensions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
