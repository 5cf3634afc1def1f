/* SPDX-License-Identifier: MIT */
/* Every form of the weight against its definition, one path at a time, and
 * its derivatives against differences. */
#include "base/linear.h"
#include "bridge/weigh.h"
#include "exact.h"

enum { MOST = 5 }; /* dimensions */

/* --- A trial -------------------------------------------------------------- */

/* A slice of the steps of a reference, with everything that a weight depends
 * on in arrays of their own; rows are longer than needed. */
struct trial {
    struct reference r;
    struct slice s;
    double *memory;
    double *Y, *Z, *dY, *f, *div;
    size_t rows; /* numbers of an array of d rows */
};

struct shape {
    size_t d, M, first, steps, K;
};

/* Odd and even, whole and in slices, one path and several vectors of them. */
static const struct shape SHAPES[] = {
    {1, 1, 0, 1, 1}, {1, 2, 0, 2, 5}, {2, 3, 0, 3, 9},  {2, 8, 2, 4, 8},
    {3, 7, 4, 3, 4}, {5, 4, 0, 4, 7}, {3, 9, 0, 9, 17}, {2, 6, 4, 2, 3},
    {1, 5, 4, 1, 6}, {2, 8, 0, 2, 12}};

static const enum gsv_reference KINDS[] = {
    GSV_REFERENCE_BROWNIAN, GSV_REFERENCE_LINEAR, GSV_REFERENCE_LNA};

static struct trial trial_new(enum gsv_form form, enum gsv_reference kind,
                              const struct shape *p)
{
    size_t d = p->d, M = p->M, columns = p->steps + 1;
    size_t ld = columns * p->K + 3;
    struct trial t = {.rows = d * ld};
    t.memory = NEW(double, reference_size(d, M));
    reference_place(&t.r, d, M, t.memory);
    double *A = normals(M * d * d, 1), *b = normals(M * d, 2);
    size_t steps = kind == GSV_REFERENCE_LINEAR ? 1 : M;
    memcpy(t.r.A, A, steps * d * d * sizeof *A);
    memcpy(t.r.b, b, steps * d * sizeof *b);
    assert_true(reference_build(&t.r, kind, M, 0.3));
    mem_free(A);
    mem_free(b);
    t.Y = normals(t.rows, 3);
    t.Z = form == GSV_FORM_MIDPOINT && kind != GSV_REFERENCE_BROWNIAN
              ? normals(t.rows, 4)
              : t.Y;
    t.dY = normals(t.rows, 5);
    t.f = normals(t.rows, 6);
    t.div = normals(ld, 7);
    t.s = (struct slice){.form = form,
                         .first = p->first,
                         .steps = p->steps,
                         .K = p->K,
                         .ld = ld,
                         .Y = t.Y,
                         .Z = t.Z,
                         .dY = t.dY,
                         .f = t.f,
                         .div = form == GSV_FORM_STRATONOVICH ? t.div : NULL};
    t.s.scratch = NEW(double, weigh_scratch(d, p->K));
    return t;
}

static void trial_free(struct trial *t)
{
    mem_free(t->memory);
    if (t->Z != t->Y) mem_free(t->Z);
    mem_free(t->Y);
    mem_free(t->dY);
    mem_free(t->f);
    mem_free(t->div);
    mem_free(t->s.scratch);
}

/* --- Definitions ---------------------------------------------------------- */

static double at(const struct trial *t, const double *x, size_t i, size_t m,
                 size_t k)
{
    return x[i * t->s.ld + m * t->s.K + k];
}

/* Coordinate i of a matrix of step m times a path's vector of column n. */
static double times(const struct trial *t, const double *X, size_t step,
                    const double *x, size_t i, size_t n, size_t k)
{
    size_t d = t->r.d;
    double sum = 0.0;
    for (size_t j = 0; j < d; j++)
        sum += X[(step * d + i) * d + j] * at(t, x, j, n, k);
    return sum;
}

/* l_i = (A Y + b)_i of step m of the slice, at column n of Z. */
static double line(const struct trial *t, size_t i, size_t m, size_t n,
                   size_t k)
{
    size_t step = t->s.first + m;
    if (t->r.kind == GSV_REFERENCE_BROWNIAN) return 0.0;
    return times(t, t->r.A, step, t->Z, i, n, k) + t->r.b[step * t->r.d + i];
}

static double trace(const struct trial *t, size_t m)
{
    size_t d = t->r.d;
    double sum = 0.0;
    for (size_t i = 0; t->r.kind != GSV_REFERENCE_BROWNIAN && i < d; i++)
        sum += t->r.A[((t->s.first + m) * d + i) * d + i];
    return sum;
}

/* One step from column m to column n, m + 1 or m + 2. */
static double naive_ito(const struct trial *t, size_t m, size_t n, size_t k)
{
    double S = 0.0, dt = t->r.dt * (double)(n - m);
    for (size_t i = 0; i < t->r.d; i++) {
        double f = at(t, t->f, i, m, k), l = line(t, i, m, m, k), move = 0.0;
        for (size_t j = m; j < n; j++)
            move += at(t, t->dY, i, j, k);
        S += (f - l) * (move - 0.5 * (f + l) * dt);
    }
    return S;
}

static double naive_stratonovich(const struct trial *t, size_t m, size_t n,
                                 size_t k)
{
    double S = 0.0, dt = t->r.dt * (double)(n - m);
    for (size_t i = 0; i < t->r.d; i++) {
        double f = at(t, t->f, i, m, k), l = line(t, i, m, m, k), move = 0.0;
        double g = at(t, t->f, i, n, k), q = line(t, i, n - 1, n, k);
        for (size_t j = m; j < n; j++)
            move += at(t, t->dY, i, j, k);
        S += 0.5 * (f - l + g - q) * move;
        S -= 0.25 * dt * ((f - l) * (f + l) + (g - q) * (g + q));
    }
    double left = t->div[m * t->s.K + k] - trace(t, m);
    double right = t->div[n * t->s.K + k] - trace(t, n - 1);
    return S - 0.25 * dt * (left + right);
}

/* log N(x; mean, Q). */
static double gauss(size_t d, const double *x, const double *mean,
                    const double *Q)
{
    struct exact_law law = exact_point(d, mean);
    memcpy(law.cov, Q, d * d * sizeof *Q);
    return exact_density(&law, x);
}

/* Where a step leads to: Y_m + dY_m + ... */
static void ends(const struct trial *t, size_t m, size_t n, size_t k,
                 double *end)
{
    for (size_t i = 0; i < t->r.d; i++) {
        end[i] = at(t, t->Y, i, m, k);
        for (size_t j = m; j < n; j++)
            end[i] += at(t, t->dY, i, j, k);
    }
}

/* The ratio of two Gaussian chains: that with the drift f(z) + A (y - z)
 * beside the reference. */
static double naive_midpoint(const struct trial *t, size_t m, size_t k)
{
    size_t d = t->r.d, step = t->s.first + m;
    double end[MOST], mean[MOST], with[MOST];
    ends(t, m, m + 1, k, end);
    for (size_t i = 0; i < d; i++) {
        mean[i] = times(t, t->r.Phi, step, t->Y, i, m, k);
        for (size_t j = 0; j < d; j++)
            mean[i] +=
                t->r.Gamma[(step * d + i) * d + j] * t->r.b[step * d + j];
        with[i] = mean[i];
        for (size_t j = 0; j < d; j++)
            with[i] += t->r.Gamma[(step * d + i) * d + j] *
                       (at(t, t->f, j, m, k) - line(t, j, m, m, k));
    }
    const double *Q = t->r.Q + step * d * d;
    return gauss(d, end, with, Q) - gauss(d, end, mean, Q);
}

/* The law after two steps of the reference. */
static void two_steps(const struct trial *t, size_t m, size_t k, double *mean,
                      double *Q)
{
    size_t d = t->r.d, step = t->s.first + m, dd = d * d;
    const double *Phi = t->r.Phi + (step + 1) * dd;
    for (size_t i = 0; i < d; i++) {
        mean[i] = t->r.c[(step + 1) * d + i];
        for (size_t j = 0; j < d; j++) {
            double first =
                times(t, t->r.Phi, step, t->Y, j, m, k) + t->r.c[step * d + j];
            mean[i] += Phi[i * d + j] * first;
        }
        for (size_t j = 0; j < d; j++) {
            double v = t->r.Q[(step + 1) * dd + i * d + j];
            for (size_t a = 0; a < d; a++)
                for (size_t b = 0; b < d; b++)
                    v += Phi[i * d + a] * t->r.Q[step * dd + a * d + b] *
                         Phi[j * d + b];
            Q[i * d + j] = v;
        }
    }
}

/* One step twice as long with the mean of both slopes; the drift in its middle
 * z' is continued from z along the first slope. */
static double naive_midpoint_pair(const struct trial *t, size_t m, size_t k)
{
    size_t d = t->r.d, dd = d * d, step = t->s.first + m;
    double end[MOST], mean[MOST], Q[MOST * MOST], z[MOST], g[MOST], with[MOST];
    double A[MOST * MOST] = {0.0}, out[5 * MOST * MOST], room[3 * MOST * MOST];
    /* e_m and e_{m+1} are of the points themselves: those must agree. */
    ends(t, m, m + 2, k, end);
    two_steps(t, m, k, mean, Q);
    for (size_t e = 0; e < dd; e++)
        A[e] = 0.5 * (t->r.A[step * dd + e] + t->r.A[(step + 1) * dd + e]);
    assert_true(linear_transition(d, 2.0 * t->r.dt, A, NULL, out, out + dd,
                                  out + 2 * dd, out + 3 * dd, out + 4 * dd,
                                  room));
    for (size_t i = 0; i < d; i++)
        z[i] = times(t, t->r.Phi, step, t->Y, i, m, k) + t->r.c[step * d + i];
    for (size_t i = 0; i < d; i++) {
        g[i] = at(t, t->f, i, m, k);
        for (size_t j = 0; j < d; j++)
            g[i] +=
                t->r.A[step * dd + i * d + j] * (z[j] - at(t, t->Z, j, m, k)) -
                A[i * d + j] * z[j];
    }
    for (size_t i = 0; i < d; i++) {
        with[i] = 0.0;
        for (size_t j = 0; j < d; j++)
            with[i] += out[i * d + j] * at(t, t->Y, j, m, k) +
                       out[dd + i * d + j] * g[j];
    }
    return gauss(d, end, with, out + 2 * dd) - gauss(d, end, mean, Q);
}

static double naive_step(const struct trial *t, size_t m, size_t n, size_t k)
{
    bool brownian = t->r.kind == GSV_REFERENCE_BROWNIAN;
    if (t->s.form == GSV_FORM_STRATONOVICH)
        return naive_stratonovich(t, m, n, k);
    if (t->s.form == GSV_FORM_ITO || brownian) return naive_ito(t, m, n, k);
    return n - m == 1 ? naive_midpoint(t, m, k) : naive_midpoint_pair(t, m, k);
}

static void naive(const struct trial *t, size_t k, double *S, double *S2)
{
    size_t steps = t->s.steps;
    *S = *S2 = 0.0;
    for (size_t m = 0; m < steps; m++)
        *S += naive_step(t, m, m + 1, k);
    for (size_t m = 0; m < steps; m += 2)
        *S2 += naive_step(t, m, m + 1 < steps ? m + 2 : m + 1, k);
}

/* Points and increments that belong together. */
static void join(struct trial *t)
{
    for (size_t i = 0; i < t->r.d; i++)
        for (size_t m = 0; m < t->s.steps; m++)
            for (size_t k = 0; k < t->s.K; k++) {
                size_t j = i * t->s.ld + m * t->s.K + k;
                t->Y[j + t->s.K] = t->Y[j] + t->dY[j];
            }
}

static void for_every_trial(void (*claim)(struct trial *t))
{
    for (int form = GSV_FORM_ITO; form <= GSV_FORM_STRATONOVICH; form++)
        for (size_t kind = 0; kind < COUNT(KINDS); kind++)
            for (size_t i = 0; i < COUNT(SHAPES); i++) {
                struct trial t =
                    trial_new((enum gsv_form)form, KINDS[kind], &SHAPES[i]);
                t.s.reference = &t.r;
                join(&t);
                claim(&t);
                trial_free(&t);
            }
}

static void assert_naive(struct trial *t)
{
    size_t K = t->s.K;
    double *S = NEW(double, 2 * K);
    for (size_t k = 0; k < 2 * K; k++)
        S[k] = 100.0 + (double)k; /* it is added to */
    weigh(&t->s, S, S + K);
    for (size_t k = 0; k < K; k++) {
        double expected, expected2;
        naive(t, k, &expected, &expected2);
        assert_near(S[k] - 100.0 - (double)k, expected,
                    1e-11 * (100.0 + fabs(expected)));
        assert_near(S[K + k] - 100.0 - (double)(K + k), expected2,
                    1e-11 * (100.0 + fabs(expected2)));
    }
    mem_free(S);
}

static void weigh__is_its_definition(void **state)
{
    (void)state;
    for_every_trial(assert_naive);
}

/* --- Derivatives ---------------------------------------------------------- */

static double weighted(const struct trial *t, const double *S_bar,
                       const double *S2_bar)
{
    size_t K = t->s.K;
    double *S = NEW(double, 2 * K), sum = 0.0;
    weigh(&t->s, S, S + K);
    for (size_t k = 0; k < K; k++)
        sum += S_bar[k] * S[k] + (S2_bar ? S2_bar[k] * S[K + k] : 0.0);
    mem_free(S);
    return sum;
}

/* Every weight is quadratic in everything, so that central differences are
 * exact but for rounding: of numbers [0, columns K) of every row. */
static void assert_bar(const struct trial *t, double *x, size_t rows,
                       size_t columns, const double *x_bar, const double *S_bar,
                       const double *S2_bar)
{
    size_t n = columns * t->s.K, stride = 1 + rows * n / 40;
    for (size_t e = 0; e < rows * n; e += stride) {
        size_t j = e / n * t->s.ld + e % n;
        double kept = x[j];
        x[j] = kept + 0.5;
        double up = weighted(t, S_bar, S2_bar);
        x[j] = kept - 0.5;
        double down = weighted(t, S_bar, S2_bar);
        x[j] = kept;
        assert_near(x_bar[j], up - down, 1e-10 * (1.0 + fabs(up)));
    }
}

/* The same by b of every step of the reference, whose rest is built anew. */
static void assert_b_bar(struct trial *t, const double *b_bar, double scale,
                         const double *S_bar, const double *S2_bar)
{
    struct reference *r = &t->r;
    size_t n = r->kind == GSV_REFERENCE_LINEAR ? r->d : r->M * r->d;
    for (size_t e = 0; e < n; e++) {
        double kept = r->b[e], side[2];
        for (size_t i = 0; i < 2; i++) {
            r->b[e] = kept + 0.5 - (double)i;
            assert_true(reference_build(r, r->kind, r->M, r->dt));
            side[i] = weighted(t, S_bar, S2_bar);
        }
        r->b[e] = kept;
        assert_true(reference_build(r, r->kind, r->M, r->dt));
        assert_near(b_bar[e], scale * (side[0] - side[1]),
                    1e-12 * (1.0 + fabs(side[0])));
    }
}

/* All of it is added to: with the same weights twice it is the double. Paths
 * stay as they are, so that steps outside of the slice get nothing. */
static void assert_reference_bar(struct trial *t, struct slice_bar b)
{
    size_t d = t->r.d, n = t->r.M * d;
    double *x = NEW(double, 4 * n), k0_bar[MOST] = {0.0};
    struct reference_bar bar = {x, x + n, x + 2 * n, x + 3 * n};
    b.reference = &bar;
    weigh_vjp(&t->s, &b);
    weigh_vjp(&t->s, &b);
    for (size_t e = 0; e < 2 * n; e++)
        assert_true(x[2 * n + e] == 0.0); /* no weight hangs on half_c, k */
    reference_vjp(&t->r, k0_bar, &bar);
    assert_b_bar(t, bar.b, 2.0, b.S_bar, b.S2_bar);
    mem_free(x);
}

static void assert_vjp(struct trial *t)
{
    bool more = t->s.form == GSV_FORM_STRATONOVICH;
    size_t d = t->r.d, K = t->s.K, steps = t->s.steps, columns = steps + more;
    double *S_bar = normals(K, 11), *S2_bar = normals(K, 12);
    double *bar[4], *div_bar = normals(t->s.ld, 20);
    for (size_t i = 0; i < COUNT(bar); i++)
        bar[i] = normals(t->rows, 13 + i); /* they are set */
    for (int how = 0; how < 4; how++) {
        double *second = how % 2 ? S2_bar : NULL;
        struct reference_bar none = {0}; /* brownian has no b */
        struct slice_bar b = {.S_bar = S_bar,
                              .S2_bar = second,
                              .ends = how / 2,
                              .reference = &none,
                              .f_bar = bar[0],
                              .div_bar = div_bar,
                              .dY_bar = bar[1],
                              .Y_bar = bar[2],
                              .Z_bar = bar[3]};
        if (b.ends && t->r.kind != GSV_REFERENCE_BROWNIAN)
            assert_reference_bar(t, b);
        else weigh_vjp(&t->s, &b);
        assert_bar(t, t->f, d, columns, b.f_bar, S_bar, second);
        if (more) assert_bar(t, t->div, 1, columns, div_bar, S_bar, second);
        if (!b.ends) continue;
        assert_bar(t, t->dY, d, steps, b.dY_bar, S_bar, second);
        assert_bar(t, t->Z, d, columns, b.Z_bar, S_bar, second);
        if (t->Z != t->Y) assert_bar(t, t->Y, d, steps, b.Y_bar, S_bar, second);
    }
    for (size_t i = 0; i < COUNT(bar); i++)
        mem_free(bar[i]);
    mem_free(div_bar);
    mem_free(S_bar);
    mem_free(S2_bar);
}

static void weigh_vjp__agrees_with_finite_differences(void **state)
{
    (void)state;
    for_every_trial(assert_vjp);
}

/* --- Exact facts ---------------------------------------------------------- */

/* The reference itself has weight 1, with steps of dt: f = l everywhere. */
static void assert_no_weight(struct trial *t)
{
    size_t d = t->r.d, K = t->s.K;
    bool strat = t->s.form == GSV_FORM_STRATONOVICH;
    if (strat && t->r.kind == GSV_REFERENCE_LNA) return; /* f jumps with A */
    double *S = NEW(double, 2 * K);
    for (size_t k = 0; k < K; k++)
        for (size_t m = 0; m < t->s.steps + strat; m++) {
            size_t step = m < t->s.steps ? m : m - 1;
            for (size_t i = 0; i < d; i++)
                t->f[i * t->s.ld + m * K + k] = line(t, i, step, m, k);
            t->div[m * K + k] = trace(t, step);
        }
    weigh(&t->s, S, S + K);
    for (size_t k = 0; k < K; k++)
        assert_near(S[k], 0.0, 1e-11);
    mem_free(S);
}

static void weigh__of_the_reference_itself_is_none(void **state)
{
    (void)state;
    for_every_trial(assert_no_weight);
}

/* With a linear drift the long steps are exact, too: S2 = 0. */
static void weigh__of_long_steps_is_none_where_the_drift_is_linear(void **state)
{
    (void)state;
    static const enum gsv_form forms[] = {GSV_FORM_MIDPOINT,
                                          GSV_FORM_STRATONOVICH, GSV_FORM_ITO};
    for (size_t i = 0; i < COUNT(forms) * COUNT(SHAPES); i++) {
        struct trial t =
            trial_new(forms[i / COUNT(SHAPES)], GSV_REFERENCE_LINEAR,
                      &SHAPES[i % COUNT(SHAPES)]);
        t.s.reference = &t.r;
        join(&t);
        assert_no_weight(&t);
        double *S = NEW(double, 2 * t.s.K);
        weigh(&t.s, S, S + t.s.K);
        for (size_t k = 0; k < t.s.K; k++)
            assert_near(S[t.s.K + k], 0.0, 1e-11);
        mem_free(S);
        trial_free(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weigh__is_its_definition),
        cmocka_unit_test(weigh_vjp__agrees_with_finite_differences),
        cmocka_unit_test(weigh__of_the_reference_itself_is_none),
        cmocka_unit_test(
            weigh__of_long_steps_is_none_where_the_drift_is_linear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
