/* SPDX-License-Identifier: MIT */
/* Posteriors on small grids against the textbook's dense formulas, written in
 * the values themselves: with C the prior covariance of w = (v, c) and rows A
 * of the data, each times the root of its factor,
 *
 *     Sigma = C - C A' (I + A C A')^-1 A C,   mean = Sigma pull. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/lanes.h"
#include "base/linalg.h"
#include "girsanov.h"
#include "gp/gp_gram.h"
#include "gp/gp_posterior.h"

/* cmocka's own compares floats. */
#define assert_near(found, expected, tolerance)                                \
    check_near((found), (expected), (tolerance), __LINE__)

static void check_near(double found, double expected, double tolerance,
                       int line)
{
    if (!(fabs(found - expected) <= tolerance))
        fail_msg("line %d: %.17g instead of %.17g", line, found, expected);
}

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { POINTS = 30, MOST = 256, MOST_F = 3 };

static const struct gp_prior PRIORS[] = {
    {KERNEL_MATERN32, 1, {9}, {0.5}, {0.8}, 1.3, 2, 0.7},
    {KERNEL_MATERN52, 2, {5, 7}, {0.5, 0.3}, {0.8, 0.6}, 0.9, 3, 1.7},
    {KERNEL_MATERN32, 2, {4, 4}, {1, 1}, {1.5, 0.4}, 2.0, 0, 0},
    {KERNEL_MATERN52, 3, {4, 5, 4}, {1, 1, 1}, {1.5, 0.9, 2}, 0.5, 1, 3},
    {KERNEL_RBF, 1, {20}, {0.2}, {0.9}, 1.1, 2, 1},
    {KERNEL_RBF, 2, {8, 9}, {0.4, 0.4}, {1.2, 1.1}, 1.1, 3, 1},
    {KERNEL_RBF, 3, {6, 5, 5}, {0.5, 0.5, 0.5}, {1.2, 0.9, 1.5}, 1.1, 0, 0},
    {KERNEL_RBF, 4, {4, 4, 4, 4}, {1, 1, 1, 1}, {4, 5, 6, 3}, 1.1, 0, 0},
};

/* --- Data --------------------------------------------------------------- */

/* Points in random blocks of 4 nodes along each axis, with random weights. */
struct data {
    struct gp_points points;
    size_t index[POINTS * MOST];
    double weight[POINTS * MOST], feature[POINTS * MOST_F], factor[POINTS];
    double s[MOST + MOST_F], w0[MOST + MOST_F];
};

static void fill(double *a, size_t n, uint64_t item)
{
    const struct random_key key = {.seed = 3, .item = item};
    random_normals(&key, 0, n, 0, 1, a);
}

/* The node of corner i of the block of 4 per axis that begins at `first`. */
static size_t node_of(const struct gp_prior *p, const size_t *first, size_t i)
{
    size_t node = 0, stride = 1;
    for (size_t s = 0; s < p->axes; s++) {
        size_t axis = p->axes - 1 - s;
        node += stride * (first[axis] + i % 4);
        stride *= p->nodes[axis];
        i /= 4;
    }
    return node;
}

static void fill_data(struct data *d, const struct gp_prior *p)
{
    size_t touched = (size_t)1 << 2 * p->axes;
    double place[POINTS * GP_AXES];
    const struct random_key key = {.seed = 9};
    random_uniforms(&key, 0, POINTS, 0, GP_AXES, place);
    fill(d->weight, POINTS * touched, 1);
    fill(d->feature, POINTS * MOST_F, 2);
    fill(d->factor, POINTS, 3);
    fill(d->s, COUNT(d->s), 4);
    fill(d->w0, COUNT(d->w0), 5);
    for (size_t k = 0; k < POINTS; k++) {
        size_t first[GP_AXES];
        for (size_t i = 0; i < p->axes; i++)
            first[i] =
                (size_t)(place[k * GP_AXES + i] * (double)(p->nodes[i] - 3));
        for (size_t i = 0; i < touched; i++) {
            d->index[k * touched + i] = node_of(p, first, i);
            d->weight[k * touched + i] *= 2.0 / sqrt((double)touched);
        }
        d->factor[k] *= d->factor[k];
    }
    d->points =
        (struct gp_points){POINTS, touched, d->index, d->weight, d->feature};
}

/* A (POINTS, n) of the data, without factors. */
static void rows_of(const struct data *d, const struct gp_root *r, double *A)
{
    memset(A, 0, POINTS * r->numbers * sizeof *A);
    size_t touched = d->points.touched, F = r->prior.features;
    for (size_t k = 0; k < POINTS; k++) {
        double *a = A + k * r->numbers;
        for (size_t i = k * touched; i < (k + 1) * touched; i++)
            a[d->index[i]] += d->weight[i];
        for (size_t f = 0; f < F; f++)
            a[r->nodes + f] = d->feature[k * F + f];
    }
}

/* --- Everything of one prior -------------------------------------------- */

struct trial {
    struct gp_root root;
    struct gp_information h;
    struct gp_posterior q;
    struct data data;
    double C[(MOST + MOST_F) * (MOST + MOST_F)];     /* prior     */
    double Sigma[(MOST + MOST_F) * (MOST + MOST_F)]; /* posterior */
    double A[POINTS * (MOST + MOST_F)];
    double AC[POINTS * (MOST + MOST_F)], inner[POINTS * POINTS];
    double logdet;
};

static double prior_covariance(const struct gp_prior *p, size_t a, size_t b)
{
    double all = p->amplitude * p->amplitude;
    for (size_t s = 0; s < p->axes; s++) {
        size_t i = p->axes - 1 - s, n = p->nodes[i];
        double away = (double)(a % n) - (double)(b % n);
        all *= kernel_at(p->kernel, p->step[i] * away, p->length[i], NULL);
        a /= n;
        b /= n;
    }
    return all;
}

static void fill_prior(struct trial *t)
{
    size_t n = t->root.numbers, G = t->root.nodes;
    const struct gp_prior *p = &t->root.prior;
    memset(t->C, 0, sizeof t->C);
    for (size_t a = 0; a < G; a++)
        for (size_t b = 0; b < G; b++)
            t->C[a * n + b] = prior_covariance(p, a, b);
    for (size_t f = G; f < n; f++)
        t->C[f * n + f] = p->feature_sd * p->feature_sd;
}

/* Sigma and log det (I + A C A'). */
static void fill_textbook(struct trial *t)
{
    size_t n = t->root.numbers;
    double half[POINTS * (MOST + MOST_F)];
    rows_of(&t->data, &t->root, t->A);
    for (size_t k = 0; k < POINTS; k++)
        for (size_t i = 0; i < n; i++)
            t->A[k * n + i] *= sqrt(t->data.factor[k]);
    linalg_product(POINTS, n, n, t->A, false, t->C, false, t->AC);
    linalg_product(POINTS, n, POINTS, t->AC, false, t->A, true, t->inner);
    for (size_t k = 0; k < POINTS; k++)
        t->inner[k * POINTS + k] += 1.0;
    assert_true(linalg_cholesky(POINTS, t->inner));
    t->logdet = 0.0;
    for (size_t k = 0; k < POINTS; k++)
        t->logdet += 2.0 * log(t->inner[k * POINTS + k]);
    memcpy(half, t->AC, POINTS * n * sizeof *half);
    linalg_lower_solve(POINTS, n, t->inner, false, half);
    linalg_product(n, POINTS, n, half, true, half, false, t->Sigma);
    for (size_t i = 0; i < n * n; i++)
        t->Sigma[i] = t->C[i] - t->Sigma[i];
}

static void trial_init(struct trial *t, const struct gp_prior *p)
{
    assert_int_equal(gp_root_init(&t->root, p), 0);
    assert_int_equal(gp_information_init(&t->h, p), 0);
    assert_int_equal(gp_posterior_init(&t->q, &t->root, true), 0);
    fill_data(&t->data, p);
    gp_information_add(&t->h, &t->data.points, t->data.factor);
    gp_information_pull(&t->h, t->data.s, t->data.w0);
    assert_int_equal(gp_posterior_update(&t->q, &t->h), 0);
    fill_prior(t);
    fill_textbook(t);
}

static void trial_free(struct trial *t)
{
    gp_posterior_free(&t->q);
    gp_information_free(&t->h);
    gp_root_free(&t->root);
}

static void for_all(void (*check)(struct trial *t))
{
    struct trial *t = NEW(struct trial, 1);
    assert_non_null(t);
    for (size_t i = 0; i < COUNT(PRIORS); i++) {
        trial_init(t, &PRIORS[i]);
        check(t);
        trial_free(t);
    }
    mem_free(t);
}

/* --- The root ----------------------------------------------------------- */

static void check_root(struct trial *t)
{
    const struct gp_root *r = &t->root;
    size_t n = r->numbers;
    double *eye = NEW(double, n *n), *U = NEW(double, r->rank *n);
    double *C = NEW(double, n *n), *room = NEW(double, gp_root_room(r, n));
    assert_true(eye && U && C && room);
    for (size_t i = 0; i < n; i++)
        eye[i * n + i] = 1.0;
    gp_root_adjoint(r, n, eye, U, room);
    gp_root_product(r, n, U, C, room);
    for (size_t i = 0; i < n * n; i++)
        assert_near(C[i], t->C[i], 1e-7);
    assert_true(r->lost >= 0.0 && r->lost < 1e-7);
    assert_true(r->prior.kernel == KERNEL_RBF || r->kept == r->nodes);
    mem_free(eye);
    mem_free(U);
    mem_free(C);
    mem_free(room);
}

static void root__times_its_transpose_is_the_prior(void **state)
{
    (void)state;
    for_all(check_root);
}

/* dR R' + R dR' = dK, by differences of the covariance. */
static void check_slope(struct trial *t)
{
    const struct gp_root *r = &t->root;
    size_t n = r->numbers, G = r->nodes, wide = r->rank * n;
    double *eye = NEW(double, n *n), *U = NEW(double, 2 * wide);
    double *dU = U + wide, *room = NEW(double, gp_root_room(r, n));
    assert_true(eye && U && room);
    for (size_t i = 0; i < n; i++)
        eye[i * n + i] = 1.0;
    gp_root_adjoint(r, n, eye, U, room);
    for (size_t axis = 0; axis < r->prior.axes; axis++) {
        double e = 1e-4;
        struct gp_prior up = r->prior, down = r->prior;
        up.length[axis] *= exp(e);
        down.length[axis] *= exp(-e);
        gp_root_adjoint_slope(r, axis, n, eye, dU, room);
        for (size_t i = 0; i < G; i += 3)
            for (size_t j = 0; j < G; j += 2) {
                double sum = 0.0;
                for (size_t k = 0; k < r->rank; k++)
                    sum += dU[k * n + i] * U[k * n + j] +
                           U[k * n + i] * dU[k * n + j];
                double slope =
                    prior_covariance(&up, i, j) - prior_covariance(&down, i, j);
                assert_near(sum, slope / (2.0 * e), 1e-7);
            }
    }
    mem_free(eye);
    mem_free(U);
    mem_free(room);
}

static void root__slope_is_that_of_the_prior(void **state)
{
    (void)state;
    for_all(check_slope);
}

static void root__of_a_huge_length_is_one_direction(void **state)
{
    (void)state;
    static const struct gp_prior flat = {KERNEL_RBF, 2,   {4, 4}, {1, 1},
                                         {1e9, 1e9}, 2.0, 0,      0};
    struct gp_root r;
    assert_int_equal(gp_root_init(&r, &flat), 0);
    assert_int_equal(r.rank, 1);
    double u = 1.5, w[16], *room = NEW(double, gp_root_room(&r, 1));
    assert_non_null(room);
    gp_root_product(&r, 1, &u, w, room);
    for (size_t i = 0; i < 16; i++)
        assert_near(fabs(w[i]), 3.0, 1e-12);
    mem_free(room);
    gp_root_free(&r);
}

static void root__refuses_what_is_not_a_prior(void **state)
{
    (void)state;
    struct gp_root r;
    struct gp_prior p = PRIORS[0];
    p.length[0] = 0.0;
    assert_int_equal(gp_root_init(&r, &p), GSV_BAD_INPUT);
    gp_root_free(&r);
    p = PRIORS[0];
    p.amplitude = NAN;
    assert_int_equal(gp_root_init(&r, &p), GSV_BAD_INPUT);
    gp_root_free(&r);
    p.axes = 0;
    assert_int_equal(gp_root_init(&r, &p), GSV_BAD_INPUT);
    gp_root_free(&r);
}

/* --- Information -------------------------------------------------------- */

static void check_product(struct trial *t)
{
    size_t n = t->root.numbers;
    double x[MOST + MOST_F], y[MOST + MOST_F], Ax[POINTS];
    fill(x, n, 20);
    gp_information_product(&t->h, x, y);
    linalg_product(POINTS, n, 1, t->A, false, x, false, Ax);
    for (size_t i = 0; i < n; i++) {
        double sum = 0.0;
        for (size_t k = 0; k < POINTS; k++)
            sum += t->A[k * n + i] * Ax[k];
        assert_near(y[i], sum, 1e-11 * (1.0 + fabs(sum)));
    }
}

static void information__product_is_that_of_its_rows(void **state)
{
    (void)state;
    for_all(check_product);
}

/* Rows that are no runs of four, a node that stands twice. */
static void information__takes_nodes_in_any_order(void **state)
{
    (void)state;
    static const struct gp_prior p = {KERNEL_RBF, 2, {4, 5}, {1, 1},
                                      {1, 1},     1, 0,      0};
    static const size_t index[] = {13, 6, 7, 6, 11};
    static const double weight[] = {0.5, 1.0, -2.0, 0.25, 3.0}, factor = 2.0;
    struct gp_information h;
    assert_int_equal(gp_information_init(&h, &p), 0);
    gp_information_add(&h, &(struct gp_points){1, 5, index, weight, NULL},
                       &factor);
    double a[20] = {0}, x[20], y[20], sum = 0.0;
    fill(x, 20, 1);
    for (size_t i = 0; i < 5; i++)
        a[index[i]] += weight[i];
    for (size_t i = 0; i < 20; i++)
        sum += a[i] * x[i];
    gp_information_product(&h, x, y);
    for (size_t i = 0; i < 20; i++)
        assert_near(y[i], factor * a[i] * sum, 1e-13);
    gp_information_free(&h);
}

/* Parts that are added one after the other are the whole. */
static void check_parts(struct trial *t)
{
    struct gp_information both;
    struct gp_points p = t->data.points;
    size_t first = POINTS / 2;
    assert_int_equal(gp_information_init(&both, &t->root.prior), 0);
    p.count = first;
    gp_information_add(&both, &p, t->data.factor);
    p.count = POINTS - first;
    p.index += first * p.touched;
    p.weight += first * p.touched;
    p.feature += first * t->root.prior.features;
    gp_information_add(&both, &p, t->data.factor + first);
    gp_information_pull(&both, t->data.s, t->data.w0);
    for (size_t i = 0; i < both.count; i++)
        assert_near(both.stencil[i], t->h.stencil[i], 1e-12);
    gp_information_free(&both);
}

static void information__adds_up_from_parts(void **state)
{
    (void)state;
    for_all(check_parts);
}

/* --- The posterior ------------------------------------------------------ */

static void check_mean(struct trial *t)
{
    size_t n = t->root.numbers;
    double expected[MOST + MOST_F], again[MOST + MOST_F];
    double *room = NEW(double, gp_root_room(&t->root, 1));
    assert_non_null(room);
    linalg_product(n, n, 1, t->Sigma, false, t->h.pull, false, expected);
    for (size_t i = 0; i < n; i++)
        assert_near(t->q.value[i], expected[i], 1e-6);
    assert_near(t->q.logdet, t->logdet, 1e-6);
    gp_root_adjoint(&t->root, 1, t->q.slope, again, room);
    for (size_t i = 0; i < t->root.rank; i++)
        assert_near(again[i], t->q.mean[i], 1e-9);
    mem_free(room);
}

static void posterior__mean_is_the_textbooks(void **state)
{
    (void)state;
    for_all(check_mean);
}

static void check_covariance(struct trial *t)
{
    size_t n = t->root.numbers;
    double half[POINTS * (MOST + MOST_F)];
    double mean[POINTS], sd[POINTS], prior[POINTS * POINTS];
    double amplitude = t->root.prior.amplitude;
    double A[POINTS * (MOST + MOST_F)], expected[POINTS * POINTS];
    rows_of(&t->data, &t->root, A);
    linalg_product(POINTS, n, n, A, false, t->Sigma, false, half);
    linalg_product(POINTS, n, POINTS, half, false, A, true, expected);
    gp_posterior_at(&t->q, &t->data.points, NULL, mean, sd);
    for (size_t k = 0; k < POINTS; k++) /* the nodes' part alone */
        memset(A + k * n + t->root.nodes, 0,
               t->root.prior.features * sizeof *A);
    linalg_product(POINTS, n, n, A, false, t->C, false, half);
    linalg_product(POINTS, n, POINTS, half, false, A, true, prior);
    for (size_t k = 0; k < POINTS; k++) {
        double beyond = amplitude * amplitude - prior[k * POINTS + k];
        double variance = fmax(beyond, 0.0) + expected[k * POINTS + k];
        assert_near(sd[k], sqrt(variance), 1e-6);
    }
    rows_of(&t->data, &t->root, A);
    for (size_t k = 0; k < POINTS; k++) {
        double sum = 0.0;
        for (size_t i = 0; i < n; i++)
            sum += A[k * n + i] * t->q.value[i];
        assert_near(mean[k], sum, 1e-12);
    }
}

static void posterior__covariance_is_the_textbooks(void **state)
{
    (void)state;
    for_all(check_covariance);
}

/* log det, tr and squares of dense Gaussians over w. */
static void check_kl(struct trial *t)
{
    if (t->root.prior.kernel == KERNEL_RBF) return; /* C is singular */
    size_t n = t->root.numbers;
    double *C = t->C, *Sigma = t->Sigma, kl = -(double)n;
    double *solved = NEW(double, n *n), *mean = NEW(double, n);
    assert_true(solved && mean);
    memcpy(solved, Sigma, n * n * sizeof *solved);
    memcpy(mean, t->q.value, n * sizeof *mean);
    assert_true(linalg_cholesky(n, C));
    assert_true(linalg_cholesky(n, Sigma));
    for (size_t i = 0; i < n; i++)
        kl += 2.0 * log(C[i * n + i] / Sigma[i * n + i]);
    linalg_lower_solve(n, n, C, false, solved);
    linalg_lower_solve(n, n, C, true, solved);
    linalg_lower_solve(n, 1, C, false, mean);
    for (size_t i = 0; i < n; i++)
        kl += solved[i * n + i] + mean[i] * mean[i];
    assert_near(gp_posterior_kl(&t->q), 0.5 * kl, 1e-7 * (1.0 + kl));
    mem_free(solved);
    mem_free(mean);
}

static void posterior__kl_is_its_definition(void **state)
{
    (void)state;
    for_all(check_kl);
}

/* The bound is E: the expected quadratic less KL. */
static void check_evidence(struct trial *t)
{
    size_t n = t->root.numbers, r = t->root.rank;
    double Hw[MOST + MOST_F], expected = 0.0, trace = (double)r;
    gp_information_product(&t->h, t->q.value, Hw);
    for (size_t i = 0; i < n; i++)
        expected += t->q.value[i] * (t->h.pull[i] - 0.5 * Hw[i]);
    double kl = gp_posterior_kl(&t->q);
    for (size_t j = 0; j < r; j++)
        trace -= t->q.S[j * r + j];
    assert_near(gp_posterior_evidence(&t->q, &t->h),
                expected - 0.5 * trace - kl, 1e-9 * (1.0 + fabs(expected)));
}

static void posterior__evidence_is_the_bound(void **state)
{
    (void)state;
    for_all(check_evidence);
}

static double evidence_at(const struct gp_prior *p,
                          const struct gp_information *h)
{
    struct gp_root root;
    struct gp_posterior q;
    assert_int_equal(gp_root_init(&root, p), 0);
    assert_int_equal(gp_posterior_init(&q, &root, true), 0);
    assert_int_equal(gp_posterior_update(&q, h), 0);
    double evidence = gp_posterior_evidence(&q, h);
    gp_posterior_free(&q);
    gp_root_free(&root);
    return evidence;
}

static void check_gradient(struct trial *t)
{
    size_t D = t->root.prior.axes;
    double gradient[GP_AXES + 2], e = 1e-4;
    gp_posterior_gradient(&t->q, &t->h, gradient);
    for (size_t i = 0; i < D + 2; i++) {
        struct gp_prior up = t->root.prior, down = t->root.prior;
        double *high = i < D    ? &up.length[i]
                       : i == D ? &up.amplitude
                                : &up.feature_sd;
        double *low = i < D    ? &down.length[i]
                      : i == D ? &down.amplitude
                               : &down.feature_sd;
        *high *= exp(e);
        *low *= exp(-e);
        double slope =
            (evidence_at(&up, &t->h) - evidence_at(&down, &t->h)) / (2.0 * e);
        assert_near(gradient[i], slope, 1e-5 * (1.0 + fabs(slope)));
    }
}

static void posterior__gradient_is_that_of_the_evidence(void **state)
{
    (void)state;
    for_all(check_gradient);
}

/* Each number's mean, and variances along some directions, within 5 of their
 * standard errors. */
static void posterior__draws_have_its_covariance(void **state)
{
    (void)state;
    enum { DRAWS = 20000 };
    struct trial *t = NEW(struct trial, 1);
    assert_non_null(t);
    trial_init(t, &PRIORS[1]);
    size_t n = t->root.numbers;
    double *w = NEW(double, DRAWS *n), *twice = NEW(double, 5 * n);
    assert_true(w && twice);
    const struct random_key key = {.seed = 5, .purpose = RANDOM_START};
    gp_posterior_draw(&t->q, &key, 0, DRAWS, w);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = 0.0, both = 0.0;
            double a = t->q.value[i], b = t->q.value[j];
            for (size_t k = 0; k < DRAWS; k++) {
                sum += w[k * n + i] - a;
                both += (w[k * n + i] - a) * (w[k * n + j] - b);
            }
            double s = t->Sigma[i * n + j], own = t->Sigma[i * n + i];
            double error = sqrt((own * t->Sigma[j * n + j] + s * s) / DRAWS);
            assert_true(fabs(sum / DRAWS) < 5.0 * sqrt(own / DRAWS));
            assert_true(fabs(both / DRAWS - s) < 5.0 * error);
        }
    gp_posterior_draw(&t->q, &key, 97, 5, twice); /* in other blocks */
    for (size_t i = 0; i < 5 * n; i++)
        assert_near(twice[i], w[97 * n + i], 1e-12);
    mem_free(w);
    mem_free(twice);
    trial_free(t);
    mem_free(t);
}

/* --- Special cases ------------------------------------------------------ */

static void check_no_data(struct trial *t)
{
    double mean[POINTS], sd[POINTS], gradient[GP_AXES + 2];
    size_t touched = t->data.points.touched, F = t->root.prior.features;
    double amplitude = t->root.prior.amplitude, p = t->root.prior.feature_sd;
    gp_information_clear(&t->h);
    assert_int_equal(gp_posterior_update(&t->q, &t->h), 0);
    assert_true(gp_posterior_kl(&t->q) == 0.0);
    assert_true(gp_posterior_evidence(&t->q, &t->h) == 0.0);
    gp_posterior_gradient(&t->q, &t->h, gradient);
    for (size_t i = 0; i < t->root.prior.axes + 2; i++)
        assert_true(gradient[i] == 0.0);
    for (size_t i = 0; i < POINTS * touched; i++)
        t->data.weight[i] = i % touched == 5 % touched;
    gp_posterior_at(&t->q, &t->data.points, NULL, mean, sd);
    for (size_t k = 0; k < POINTS; k++) {
        double variance = amplitude * amplitude;
        for (size_t f = 0; f < F; f++)
            variance += pow(p * t->data.feature[k * F + f], 2.0);
        assert_true(mean[k] == 0.0);
        assert_near(sd[k], sqrt(variance), 1e-12);
    }
}

static void posterior__without_data_is_the_prior(void **state)
{
    (void)state;
    for_all(check_no_data);
    struct gp_root root;
    struct gp_posterior q;
    assert_int_equal(gp_root_init(&root, &PRIORS[0]), 0);
    assert_int_equal(gp_posterior_init(&q, &root, true), 0);
    assert_true(gp_posterior_kl(&q) == 0.0); /* before any update */
    gp_posterior_free(&q);
    gp_root_free(&root);
}

/* Data beyond the grid are seen by the features alone: y = c_0 + c_1 x with
 * unit noise at x = 1, 2, 4. */
static void posterior__of_features_is_linear_regression(void **state)
{
    (void)state;
    static const struct gp_prior p = {
        KERNEL_MATERN52, 1, {4}, {1}, {1}, 1.5, 2, 2.0};
    static const size_t index[12] = {0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3};
    static const double weight[12] = {0}, factor[] = {1, 1, 1};
    static const double feature[] = {1, 1, 1, 2, 1, 4}, y[] = {2, -1, 3};
    const struct gp_points points = {3, 4, index, weight, feature};
    struct gp_root root;
    struct gp_information h;
    struct gp_posterior q;
    assert_int_equal(gp_root_init(&root, &p), 0);
    assert_int_equal(gp_information_init(&h, &p), 0);
    assert_int_equal(gp_posterior_init(&q, &root, true), 0);
    gp_information_add(&h, &points, factor);
    for (size_t k = 0; k < 3; k++)
        for (size_t f = 0; f < 2; f++)
            h.pull[4 + f] += y[k] * feature[2 * k + f];
    assert_int_equal(gp_posterior_update(&q, &h), 0);
    /* P = I / 4 + X'X with X'X = (3, 7; 7, 21), X'y = (4, 12). */
    double a = 3.25, b = 7.0, c = 21.25, det = a * c - b * b;
    double c0 = (c * 4.0 - b * 12.0) / det, c1 = (a * 12.0 - b * 4.0) / det;
    assert_near(q.value[4], c0, 1e-14);
    assert_near(q.value[5], c1, 1e-14);
    for (size_t i = 0; i < 4; i++)
        assert_true(fabs(q.value[i]) < 1e-15);
    double mean[3], sd[3];
    gp_posterior_at(&q, &points, NULL, mean, sd);
    for (size_t k = 0; k < 3; k++) {
        double x = feature[2 * k + 1];
        double carried = (c - 2.0 * b * x + a * x * x) / det;
        assert_near(mean[k], c0 + c1 * x, 1e-13);
        assert_near(sd[k], sqrt(1.5 * 1.5 + carried), 1e-13);
    }
    assert_near(q.logdet, log(det * 16.0), 1e-13);
    gp_posterior_free(&q);
    gp_information_free(&h);
    gp_root_free(&root);
}

static void posterior__refuses_what_is_not_finite(void **state)
{
    (void)state;
    struct trial *t = NEW(struct trial, 1);
    assert_non_null(t);
    trial_init(t, &PRIORS[1]);
    t->h.stencil[t->h.centre[3] + t->h.offset[3]] = NAN;
    assert_int_equal(gp_posterior_update(&t->q, &t->h), GSV_NUMERICAL);
    assert_true(gp_posterior_kl(&t->q) == 0.0);
    assert_true(t->q.value[0] == 0.0 && t->q.slope[0] == 0.0);
    trial_free(t);
    mem_free(t);
}

static void posterior__refuses_too_many_directions(void **state)
{
    (void)state;
    static const struct gp_prior p = {KERNEL_MATERN32, 2, {100, 100}, {1, 1},
                                      {1, 1},          1, 0,          0};
    struct gp_root root;
    struct gp_posterior q;
    assert_int_equal(gp_root_init(&root, &p), 0);
    assert_int_equal(gp_posterior_init(&q, &root, true), GSV_BAD_INPUT);
    gp_posterior_free(&q);
    gp_root_free(&root);
}

static int make_all(const struct gp_prior *p)
{
    struct gp_root root;
    struct gp_information h;
    struct gp_posterior q = {0};
    int status = gp_root_init(&root, p);
    int second = gp_information_init(&h, p);
    if (!status) status = gp_posterior_init(&q, &root, true);
    gp_posterior_free(&q);
    gp_information_free(&h);
    gp_root_free(&root);
    return status ? status : second;
}

static void posterior__says_when_memory_is_out(void **state)
{
    (void)state;
    size_t n = 1;
    int status;
    do {
        mem_fail_at(n++);
        status = make_all(&PRIORS[1]);
        assert_true(status == 0 || status == GSV_NO_MEMORY);
    } while (status);
    mem_fail_at(0);
    assert_true(n > 8);
}

struct twins {
    struct trial *t;
    double gradient[2][4];
};

static void make_twin(void *context, size_t lane, size_t thread)
{
    (void)thread;
    static const struct gp_prior p = {KERNEL_MATERN32, 2, {12, 12}, {1, 1},
                                      {1, 1},          1, 2,        1};
    struct twins *w = context;
    trial_init(&w->t[lane], &p);
    gp_posterior_gradient(&w->t[lane].q, &w->t[lane].h, w->gradient[lane]);
}

static void posterior__has_the_same_bits_on_any_number_of_threads(void **state)
{
    (void)state;
    struct trial *t = NEW(struct trial, 2);
    assert_non_null(t);
    struct twins w = {.t = t};
    lanes_run(2, 2, &(struct lanes_job){&w, make_twin, NULL});
    double(*gradient)[4] = w.gradient;
    size_t n = t->root.rank;
    assert_memory_equal(t[0].q.value, t[1].q.value, n * sizeof(double));
    assert_memory_equal(t[0].q.S, t[1].q.S, n * n * sizeof(double));
    assert_memory_equal(gradient[0], gradient[1], sizeof gradient[0]);
    trial_free(&t[0]);
    trial_free(&t[1]);
    mem_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(root__times_its_transpose_is_the_prior),
        cmocka_unit_test(root__slope_is_that_of_the_prior),
        cmocka_unit_test(root__of_a_huge_length_is_one_direction),
        cmocka_unit_test(root__refuses_what_is_not_a_prior),
        cmocka_unit_test(information__product_is_that_of_its_rows),
        cmocka_unit_test(information__takes_nodes_in_any_order),
        cmocka_unit_test(information__adds_up_from_parts),
        cmocka_unit_test(posterior__mean_is_the_textbooks),
        cmocka_unit_test(posterior__covariance_is_the_textbooks),
        cmocka_unit_test(posterior__kl_is_its_definition),
        cmocka_unit_test(posterior__evidence_is_the_bound),
        cmocka_unit_test(posterior__gradient_is_that_of_the_evidence),
        cmocka_unit_test(posterior__draws_have_its_covariance),
        cmocka_unit_test(posterior__without_data_is_the_prior),
        cmocka_unit_test(posterior__of_features_is_linear_regression),
        cmocka_unit_test(posterior__refuses_what_is_not_finite),
        cmocka_unit_test(posterior__refuses_too_many_directions),
        cmocka_unit_test(posterior__says_when_memory_is_out),
        cmocka_unit_test(posterior__has_the_same_bits_on_any_number_of_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
