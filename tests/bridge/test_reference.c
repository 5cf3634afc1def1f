/* SPDX-License-Identifier: MIT */
/* Linear references: bridges against the exact conditional law, densities,
 * pairs of steps; derivatives against differences. */
#include "bridge/reference.h"
#include "linear.h"

enum { MOST_M = 9 };

/* C = A B, or A B' */
static void times(size_t d, const double *A, const double *B, bool transposed,
                  double *C)
{
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++) {
            double sum = 0.0;
            for (size_t k = 0; k < d; k++)
                sum += A[i * d + k] * B[transposed ? j * d + k : k * d + j];
            C[i * d + j] = sum;
        }
}

/* --- References ----------------------------------------------------------- */

static const size_t DIMS[] = {1, 2, 5};

struct trial {
    struct reference r;
    double *memory, *y0, *y1;
    struct reference_bar bar; /* zeros */
    double k_bar[MOST_D];
};

/* With slopes of about 1 and steps of 0.2. */
static struct trial trial_new(enum gsv_reference kind, size_t d, size_t M)
{
    struct trial t = {.y0 = normals(d, 7), .y1 = normals(d, 8)};
    t.memory = NEW(double, 4 * M * d + reference_size(d, M));
    t.bar = (struct reference_bar){t.memory, t.memory + M * d,
                                   t.memory + 2 * M * d, t.memory + 3 * M * d};
    reference_place(&t.r, d, M, t.memory + 4 * M * d);
    double *A = normals(M * d * d, 9), *b = normals(M * d, 10);
    size_t steps = kind == GSV_REFERENCE_LINEAR ? 1 : M;
    memcpy(t.r.A, A, steps * d * d * sizeof *A);
    memcpy(t.r.b, b, steps * d * sizeof *b);
    assert_true(reference_build(&t.r, kind, M, 0.2));
    mem_free(A);
    mem_free(b);
    return t;
}

static void trial_free(struct trial *t)
{
    mem_free(t->memory);
    mem_free(t->y0);
    mem_free(t->y1);
}

/* Of every kind with matrices, dimension and number of steps. */
static void for_every_trial(void (*claim)(struct trial *t))
{
    for (size_t i = 0; i < COUNT(DIMS); i++)
        for (size_t M = 1; M <= MOST_M; M++)
            for (int kind = GSV_REFERENCE_LINEAR; kind <= GSV_REFERENCE_LNA;
                 kind++) {
                struct trial t =
                    trial_new((enum gsv_reference)kind, DIMS[i], M);
                claim(&t);
                trial_free(&t);
            }
}

/* The law of (Y_1, ..., Y_M) given Y_0 = y0: mean (M d), cov (M d, M d). */
struct joint {
    double mean[MOST_M * 5], cov[MOST_M * 5 * MOST_M * 5];
};

static void joint_of(const struct reference *r, const double *y0,
                     struct joint *j)
{
    size_t d = r->d, M = r->M, n = M * d;
    memset(j, 0, sizeof *j);
    for (size_t m = 0; m < M; m++) {
        struct transition t;
        size_t step = r->kind == GSV_REFERENCE_LINEAR ? 0 : m;
        transition_of(d, r->dt, r->A + step * d * d, &t);
        const double *b = r->b + step * d;
        for (size_t i = 0; i < d; i++) {
            double *mean = &j->mean[m * d + i];
            for (size_t k = 0; k < d; k++) {
                double before = m ? j->mean[(m - 1) * d + k] : y0[k];
                *mean += t.Phi[i * d + k] * before + t.Gamma[i * d + k] * b[k];
            }
        }
        /* Cov(Y_m, Y_a) = Phi Cov(Y_{m-1}, Y_a); and Phi C Phi' + Q. */
        for (size_t a = 0; a < m * d; a++)
            for (size_t i = 0; i < d; i++) {
                double v = 0.0;
                for (size_t k = 0; k < d; k++)
                    v += t.Phi[i * d + k] * j->cov[((m - 1) * d + k) * n + a];
                j->cov[(m * d + i) * n + a] = v;
                j->cov[a * n + m * d + i] = v;
            }
        for (size_t i = 0; i < d; i++)
            for (size_t c = 0; c < d; c++) {
                double v = t.Q[i * d + c];
                for (size_t k = 0; m && k < d; k++)
                    v += t.Phi[c * d + k] *
                         j->cov[(m * d + i) * n + (m - 1) * d + k];
                j->cov[(m * d + i) * n + m * d + c] = v;
            }
    }
}

/* Given Y_M = y1 too: one coordinate of it after another. */
static void condition(size_t d, size_t M, const double *y1, struct joint *j)
{
    size_t n = M * d;
    for (size_t i = 0; i < d; i++) {
        size_t on = (M - 1) * d + i;
        double variance = j->cov[on * n + on], off = y1[i] - j->mean[on];
        double gain[MOST_M * 5];
        for (size_t a = 0; a < n; a++)
            gain[a] = j->cov[a * n + on] / variance;
        for (size_t a = 0; a < n; a++)
            j->mean[a] += gain[a] * off;
        for (size_t a = 0; a < n; a++)
            for (size_t b = 0; b < n; b++)
                j->cov[a * n + b] -= gain[a] * gain[b] * variance;
    }
}

/* A bridge is linear in its noises: path 0 has none, path j one of 1, number j
 * of all. Then path 0 is the mean, and the others' squares are the covariance
 * without any sampling. */
static void assert_bridge(struct trial *t)
{
    size_t d = t->r.d, M = t->r.M, n = M * d, K = n + 1;
    double *xi = NEW(double, M *d *K), *at = NEW(double, d *K);
    double *Y = NEW(double, n *K), *dY = NEW(double, n *K);
    double *scratch = NEW(double, d *K);
    struct joint *j = NEW(struct joint, 1);
    for (size_t k = 0; k < K; k++) {
        if (k) xi[(k - 1) * K + k] = 1.0;
        for (size_t i = 0; i < d; i++)
            at[i * K + k] = t->y0[i];
    }
    bridge_walk(&t->r, t->y1, 0, M, K, xi, at, Y, dY, M * K, scratch);
    joint_of(&t->r, t->y0, j);
    condition(d, M, t->y1, j);
    for (size_t i = 0; i < d; i++)
        for (size_t k = 0; k < K; k++) {
            assert_true(at[i * K + k] == t->y1[i]);
            assert_true(Y[i * M * K + k] == t->y0[i]);
        }
    for (size_t a = 0; a < (M - 1) * d; a++) {
        const double *row = Y + (a % d * M + a / d + 1) * K;
        const double *before = row - K, *move = dY + (row - K - Y);
        assert_near(row[0], j->mean[a], 1e-11);
        for (size_t k = 0; k < K; k++)
            assert_near(before[k] + move[k], row[k], 1e-14);
        for (size_t b = 0; b < (M - 1) * d; b++) {
            const double *other = Y + (b % d * M + b / d + 1) * K;
            double sum = 0.0;
            for (size_t k = 1; k < K; k++)
                sum += (row[k] - row[0]) * (other[k] - other[0]);
            assert_near(sum, j->cov[a * n + b], 1e-12);
        }
    }
    mem_free(xi);
    mem_free(at);
    mem_free(Y);
    mem_free(dY);
    mem_free(scratch);
    mem_free(j);
}

static void bridge__has_the_exact_conditional_law(void **state)
{
    (void)state;
    for_every_trial(assert_bridge);
}

static void assert_density(struct trial *t)
{
    size_t d = t->r.d, all = t->r.M * d, last = all - d;
    struct joint *j = NEW(struct joint, 1);
    joint_of(&t->r, t->y0, j);
    struct exact_law law = exact_point(d, j->mean + last);
    for (size_t e = 0; e < d * d; e++)
        law.cov[e] = j->cov[(last + e / d) * all + last + e % d];
    double expected = exact_density(&law, t->y1);
    assert_near(reference_log_density(&t->r, t->y0, t->y1), expected,
                1e-12 * (1.0 + fabs(expected)));
    mem_free(j);
}

static void density__is_that_of_the_transition(void **state)
{
    (void)state;
    for_every_trial(assert_density);
}

static void brownian__is_a_linear_reference_without_drift(void **state)
{
    (void)state;
    enum { D = 3, M = 7, K = 9 };
    struct trial t = trial_new(GSV_REFERENCE_LNA, D, M);
    memset(t.r.A, 0, M * D * D * sizeof *t.r.A);
    memset(t.r.b, 0, M * D * sizeof *t.r.b);
    double *xi = normals(M * D * K, 3), Y[2][D * M * K], dY[2][D * M * K];
    double scratch[D * K], density[2], bar[2][2 * D] = {{0.0}};
    const enum gsv_reference kind[2] = {GSV_REFERENCE_BROWNIAN,
                                        GSV_REFERENCE_LNA};
    for (size_t n = 0; n < 2; n++) {
        double at[D * K];
        assert_true(reference_build(&t.r, kind[n], M, 0.2));
        for (size_t e = 0; e < D * K; e++)
            at[e] = t.y0[e / K];
        bridge_walk(&t.r, t.y1, 0, M, K, xi, at, Y[n], dY[n], M * K, scratch);
        density[n] = reference_log_density(&t.r, t.y0, t.y1);
        reference_log_density_vjp(&t.r, t.y0, t.y1, 1.0, bar[n], bar[n] + D,
                                  t.k_bar);
    }
    for (size_t e = 0; e < D * M * K; e++) {
        assert_near(Y[0][e], Y[1][e], 1e-13);
        assert_near(dY[0][e], dY[1][e], 1e-13);
    }
    assert_near(density[0], density[1], 1e-13);
    for (size_t e = 0; e < 2 * D; e++)
        assert_near(bar[0][e], bar[1][e], 1e-13);
    mem_free(xi);
    trial_free(&t);
}

/* Quadratic in the ends: central differences are exact but for rounding. */
static void density_vjp__agrees_with_finite_differences(void **state)
{
    (void)state;
    for (int kind = GSV_REFERENCE_BROWNIAN; kind <= GSV_REFERENCE_LNA; kind++)
        for (size_t n = 0; n < COUNT(DIMS); n++) {
            size_t d = DIMS[n];
            struct trial t = trial_new((enum gsv_reference)kind, d, 4);
            double bar[10] = {1.0, 2.0}; /* it is added to */
            reference_log_density_vjp(&t.r, t.y0, t.y1, 3.0, bar, bar + d,
                                      t.k_bar);
            bar[0] -= 1.0;
            bar[1] -= 2.0;
            for (size_t i = 0; i < 2 * d; i++) {
                double *y = i < d ? t.y0 + i : t.y1 + (i - d), kept = *y;
                *y = kept + 0.5;
                double up = reference_log_density(&t.r, t.y0, t.y1);
                *y = kept - 0.5;
                double down = reference_log_density(&t.r, t.y0, t.y1);
                *y = kept;
                assert_near(bar[i], 3.0 * (up - down), 1e-11);
            }
            trial_free(&t);
        }
}

/* The sum of Y_bar Y + dY_bar dY over all steps. */
struct pairing {
    size_t K;
    double *xi, *Y_bar, *dY_bar;
};

static struct pairing pairing_new(const struct trial *t, size_t K)
{
    size_t n = t->r.d * t->r.M * K;
    return (struct pairing){K, normals(n, 1), normals(n, 2), normals(n, 3)};
}

static void pairing_free(struct pairing *p)
{
    mem_free(p->xi);
    mem_free(p->Y_bar);
    mem_free(p->dY_bar);
}

static double pairing_value(const struct trial *t, const void *with)
{
    const struct pairing *p = with;
    size_t d = t->r.d, M = t->r.M, K = p->K, n = d * M * K;
    double *work = NEW(double, 2 * n + 2 * d * K), sum = 0.0;
    double *Y = work, *dY = Y + n, *at = dY + n, *scratch = at + d * K;
    for (size_t e = 0; e < d * K; e++)
        at[e] = t->y0[e / K];
    bridge_walk(&t->r, t->y1, 0, M, K, p->xi, at, Y, dY, M * K, scratch);
    for (size_t e = 0; e < n; e++)
        sum += p->Y_bar[e] * Y[e] + p->dY_bar[e] * dY[e];
    mem_free(work);
    return sum;
}

/* Its gradient by the ends (2, d), and to the trial's bar; in slices. */
static void pairing_vjp(struct trial *t, const struct pairing *p, double *bar)
{
    enum { SLICE = 3 };
    size_t d = t->r.d, M = t->r.M, K = p->K;
    double lambda[(MOST_M + 1) * MOST_D] = {0.0}, scratch[2 * MOST_D];
    for (size_t m = 0; m < M; m += SLICE)
        bridge_gather(d, m, M - m < SLICE ? M - m : SLICE, K, p->Y_bar + m * K,
                      p->dY_bar + m * K, M * K, lambda);
    bridge_vjp(&t->r, lambda, bar, bar + d, &t->bar, scratch);
}

static void assert_bridge_vjp(struct trial *t)
{
    size_t d = t->r.d;
    struct pairing p = pairing_new(t, 6);
    double bar[2 * MOST_D] = {1.0, 2.0}; /* it is added to */
    pairing_vjp(t, &p, bar);
    bar[0] -= 1.0;
    bar[1] -= 2.0;
    for (size_t i = 0; i < 2 * d; i++) {
        double *y = i < d ? t->y0 + i : t->y1 + (i - d);
        *y += 0.5;
        double up = pairing_value(t, &p);
        *y -= 1.0;
        double down = pairing_value(t, &p);
        *y += 0.5;
        assert_near(bar[i], up - down, 1e-11);
    }
    pairing_free(&p);
}

static void bridge_vjp__agrees_with_finite_differences(void **state)
{
    (void)state;
    for_every_trial(assert_bridge_vjp);
}

/* --- By b ----------------------------------------------------------------- */

/* With b of one step moved, of all steps where the kind is linear. Everything
 * here is at most quadratic in b, so that central differences are exact but
 * for rounding. */
static void assert_b_bar(struct trial *t,
                         double (*value)(const struct trial *t,
                                         const void *with),
                         const void *with, const double *b_bar)
{
    struct reference *r = &t->r;
    size_t n = r->kind == GSV_REFERENCE_LINEAR ? r->d : r->M * r->d;
    for (size_t e = 0; e < n; e++) {
        double kept = r->b[e], side[2];
        for (size_t i = 0; i < 2; i++) {
            r->b[e] = kept + 0.5 - (double)i;
            assert_true(reference_build(r, r->kind, r->M, r->dt));
            side[i] = value(t, with);
        }
        r->b[e] = kept;
        assert_true(reference_build(r, r->kind, r->M, r->dt));
        assert_near(b_bar[e], side[0] - side[1], 1e-12 * (1.0 + fabs(side[0])));
    }
}

static double thrice_density(const struct trial *t, const void *with)
{
    (void)with;
    return 3.0 * reference_log_density(&t->r, t->y0, t->y1);
}

static void assert_density_by_b(struct trial *t)
{
    double y_bar[2 * MOST_D] = {0.0};
    reference_log_density_vjp(&t->r, t->y0, t->y1, 3.0, y_bar, y_bar + t->r.d,
                              t->k_bar);
    reference_vjp(&t->r, t->k_bar, &t->bar);
    assert_b_bar(t, thrice_density, NULL, t->bar.b);
}

static void density_vjp__by_b_agrees_with_finite_differences(void **state)
{
    (void)state;
    for_every_trial(assert_density_by_b);
}

static void assert_bridge_by_b(struct trial *t)
{
    double y_bar[2 * MOST_D] = {0.0};
    struct pairing p = pairing_new(t, 6);
    pairing_vjp(t, &p, y_bar);
    reference_vjp(&t->r, t->k_bar, &t->bar);
    assert_b_bar(t, pairing_value, &p, t->bar.b);
    pairing_free(&p);
}

static void bridge_vjp__by_b_agrees_with_finite_differences(void **state)
{
    (void)state;
    for_every_trial(assert_bridge_by_b);
}

/* Density and path as well as b, c and half_c with weights (3, M, d). */
struct all {
    const double *weight;
    struct pairing pairing;
};

static double all_value(const struct trial *t, const void *with)
{
    const struct all *a = with;
    size_t n = t->r.M * t->r.d;
    const double *x[] = {t->r.b, t->r.c, t->r.half_c};
    double sum = thrice_density(t, NULL) + pairing_value(t, &a->pairing);
    for (size_t e = 0; e < COUNT(x) * n; e++)
        sum += a->weight[e] * x[e / n][e % n];
    return sum;
}

static void assert_all_by_b(struct trial *t)
{
    size_t d = t->r.d, n = t->r.M * d;
    double y_bar[2 * MOST_D] = {0.0}, *weight = normals(3 * n, 4);
    struct all a = {weight, pairing_new(t, 6)};
    memcpy(t->bar.b, weight, n * sizeof *weight);
    memcpy(t->bar.c, weight + n, n * sizeof *weight);
    memcpy(t->bar.half_c, weight + 2 * n, n * sizeof *weight);
    pairing_vjp(t, &a.pairing, y_bar);
    reference_log_density_vjp(&t->r, t->y0, t->y1, 3.0, y_bar, y_bar + d,
                              t->k_bar);
    reference_vjp(&t->r, t->k_bar, &t->bar);
    assert_b_bar(t, all_value, &a, t->bar.b);
    pairing_free(&a.pairing);
    mem_free(weight);
}

static void reference_vjp__adds_up_all_that_hangs_on_b(void **state)
{
    (void)state;
    for_every_trial(assert_all_by_b);
}

/* --- Pairs of steps ------------------------------------------------------- */

/* Half of log det of a positive matrix. */
static double half_log_det(size_t d, const double *Q)
{
    struct exact_law law = {.d = d};
    memcpy(law.cov, Q, d * d * sizeof *Q);
    return -exact_density(&law, law.mean) -
           0.5 * (double)d * log(2.0 * EXACT_PI);
}

static void assert_inverse(size_t d, const double *P, const double *Q)
{
    double one[25], product[25];
    for (size_t e = 0; e < d * d; e++)
        one[e] = e % (d + 1) == 0;
    times(d, P, Q, false, product);
    assert_matrix(d, product, one, 1e-11);
}

static void pairs__are_two_steps_and_one_long_step(void **state)
{
    (void)state;
    for (size_t n = 0; n < COUNT(DIMS); n++)
        for (size_t M = 2; M <= MOST_M; M++)
            for (int kind = GSV_REFERENCE_LINEAR; kind <= GSV_REFERENCE_LNA;
                 kind++) {
                size_t d = DIMS[n], dd = d * d;
                struct trial t = trial_new((enum gsv_reference)kind, d, M);
                const struct reference *r = &t.r;
                for (size_t m = 0; m + 2 <= M; m += 2) {
                    struct transition a, b, both;
                    double mean[25], X[25], Q[25];
                    const double *A = r->A + m * dd, *next = A + dd;
                    for (size_t e = 0; e < dd; e++)
                        mean[e] = 0.5 * (A[e] + next[e]);
                    transition_of(d, r->dt, A, &a);
                    transition_of(d, r->dt, next, &b);
                    transition_of(d, 2.0 * r->dt, mean, &both);
                    times(d, b.Phi, a.Q, false, X);
                    times(d, X, b.Phi, true, Q);
                    for (size_t e = 0; e < dd; e++)
                        Q[e] += b.Q[e];
                    assert_inverse(d, r->pair_P + m * dd, Q);
                    assert_inverse(d, r->long_P + m * dd, both.Q);
                    assert_matrix(d, r->long_A + m * dd, mean, 1e-15);
                    assert_matrix(d, r->long_Phi + m * dd, both.Phi, 1e-13);
                    assert_matrix(d, r->long_Gamma + m * dd, both.Gamma, 1e-13);
                    assert_near(r->pair_log[m],
                                half_log_det(d, Q) - half_log_det(d, both.Q),
                                1e-12);
                }
                trial_free(&t);
            }
}

static void midpoint__weights_undo_the_noise(void **state)
{
    (void)state;
    for (size_t n = 0; n < COUNT(DIMS); n++)
        for (int kind = GSV_REFERENCE_LINEAR; kind <= GSV_REFERENCE_LNA;
             kind++) {
            enum { M = 5 };
            size_t d = DIMS[n], dd = d * d;
            struct trial t = trial_new((enum gsv_reference)kind, d, M);
            for (size_t m = 0; m < M; m++) {
                struct transition a;
                double WQ[25], Gamma[25], V[25];
                transition_of(d, t.r.dt, t.r.A + m * dd, &a);
                times(d, t.r.W + m * dd, a.Q, false, WQ);
                for (size_t e = 0; e < dd; e++)
                    Gamma[e % d * d + e / d] = a.Gamma[e];
                assert_matrix(d, WQ, Gamma, 1e-12);
                times(d, t.r.W + m * dd, a.Gamma, false, V);
                assert_matrix(d, t.r.V + m * dd, V, 1e-13);
            }
            trial_free(&t);
        }
}

static void reference__that_overflows_is_refused(void **state)
{
    (void)state;
    struct trial t = trial_new(GSV_REFERENCE_LNA, 2, 3);
    static const double bad[] = {1e9, NAN, INFINITY};
    for (size_t i = 0; i < COUNT(bad); i++) {
        double kept = t.r.A[5];
        t.r.A[5] = bad[i];
        assert_false(reference_build(&t.r, GSV_REFERENCE_LNA, 3, 0.2));
        t.r.A[5] = kept;
        assert_true(reference_build(&t.r, GSV_REFERENCE_LNA, 3, 0.2));
    }
    trial_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bridge__has_the_exact_conditional_law),
        cmocka_unit_test(density__is_that_of_the_transition),
        cmocka_unit_test(brownian__is_a_linear_reference_without_drift),
        cmocka_unit_test(density_vjp__agrees_with_finite_differences),
        cmocka_unit_test(bridge_vjp__agrees_with_finite_differences),
        cmocka_unit_test(density_vjp__by_b_agrees_with_finite_differences),
        cmocka_unit_test(bridge_vjp__by_b_agrees_with_finite_differences),
        cmocka_unit_test(reference_vjp__adds_up_all_that_hangs_on_b),
        cmocka_unit_test(pairs__are_two_steps_and_one_long_step),
        cmocka_unit_test(midpoint__weights_undo_the_noise),
        cmocka_unit_test(reference__that_overflows_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
