/* SPDX-License-Identifier: MIT */
/* Selection of terms: tests and sets of quadratics against all sets, costs
 * against the tails that they stand for, quadratics against exact ones, and
 * selections against the models that made the data. */
#include "trial.h"

#include "learn.h"
#include "learn/linearise.h"
#include "learn/sensitivity.h"
#include "learn/subset.h"
#include "model/theta.h"

/* --- Costs ---------------------------------------------------------------- */

/* P(chi^2 with m degrees of freedom > 2 c) by the trapezoidal rule. */
static double tail(double m, double c)
{
    double sum = 0.0, h = 1e-3;
    for (double x = 2.0 * c; x < 2.0 * c + 120.0; x += h)
        sum += h * exp((0.5 * m - 1.0) * log(x + 0.5 * h) - 0.5 * x - 0.25 * h -
                       0.5 * m * log(2.0) - lgamma(0.5 * m));
    return sum;
}

/* c with erfc(sqrt(c)) = p. */
static double half_normal_quantile(double p)
{
    double c = 1.0;
    for (int i = 0; i < 60; i++) {
        double slope = -exp(-c) / sqrt(3.14159265358979324 * c);
        c -= (erfc(sqrt(c)) - p) / slope;
    }
    return c;
}

/* With p = 0.05, of two equations. */
static struct cost cost_like(enum gsv_criterion criterion, double gaps,
                             size_t units, const size_t *size,
                             const double *share, double *nats)
{
    struct cost c = {criterion, 0.05, gaps, 2.0, units, size, share, nats};
    cost_fill(&c);
    return c;
}

/* Shares that differ, and units of every size. */
static void cost__of_a_unit_is_the_quantile_of_its_gain(void **state)
{
    (void)state;
    static const size_t size[] = {1, 2, 3, 4, 7, 10};
    static const double share[] = {0.3, 0.3, 0.1, 0.1, 0.15, 0.05};
    double nats[COUNT(size)];
    struct cost c = cost_like(GSV_CRITERION_FAMILYWISE, 100.0, COUNT(size),
                              size, share, nats);
    for (size_t u = 0; u < COUNT(size); u++) {
        double p = c.significance * share[u];
        double found = tail((double)size[u], nats[u]);
        if (!(fabs(found / p - 1.0) < 1e-3))
            fail_msg("%zu: %g instead of %g", size[u], found, p);
    }
}

static void cost__of_a_set_counts_the_sets(void **state)
{
    (void)state;
    static const size_t size[] = {1, 1, 1, 1, 1};
    static const double share[] = {0.2, 0.2, 0.2, 0.2, 0.2};
    static const bool set[] = {true, false, true, false, false};
    static const bool none[5] = {false};
    const double tails = half_normal_quantile(0.05 * 0.2);
    const struct {
        enum gsv_criterion criterion;
        double wanted;
    } rows[] = {
        {GSV_CRITERION_FAMILYWISE, 2.0 * tails * 50.0 / 49.0},
        {GSV_CRITERION_PASTIS, 2.0 * log(5.0 / 0.05)},
        {GSV_CRITERION_EBIC, log(50.0) + log(10.0)},
        {GSV_CRITERION_BIC, log(50.0)},
        {GSV_CRITERION_AIC, 2.0},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        double nats[5];
        struct cost c =
            cost_like(rows[i].criterion, 50.0, 5, size, share, nats);
        double found = cost_set(&c, set);
        if (!(fabs(found - rows[i].wanted) < 1e-9))
            fail_msg("%zu: %g instead of %g", i, found, rows[i].wanted);
        assert_true(cost_set(&c, none) == 0.0);
        struct cost_sum one = cost_move(&c, cost_add(&c, set), 2, false);
        one = cost_move(&c, one, 4, true);
        assert_true(fabs(cost_of(&c, one) - found) < 1e-9);
    }
}

/* --- Sets ----------------------------------------------------------------- */

enum { N = 9, ROWS = 40 };

struct problem {
    double J[N * N], a[N], share[N], nats[N];
    size_t unit[N], size[N];
};

/* A regression with few true coefficients; share of a common column. */
static void problem_make(struct problem *p, uint64_t seed, double common,
                         size_t units)
{
    double X[ROWS][N], y[ROWS];
    trial_seed = seed;
    for (size_t r = 0; r < ROWS; r++) {
        double shared = random_in(-1.0, 1.0);
        y[r] = random_in(-2.0, 2.0);
        for (size_t i = 0; i < N; i++)
            X[r][i] = random_in(-1.0, 1.0) + common * shared;
        y[r] += 2.0 * X[r][1] - 1.5 * X[r][4] + X[r][5];
    }
    memset(p, 0, sizeof *p);
    for (size_t i = 0; i < N; i++) {
        p->share[i] = 1.0 / (double)units;
        p->unit[i] = i % units;
        p->size[i % units]++;
        for (size_t r = 0; r < ROWS; r++)
            p->a[i] += X[r][i] * y[r];
        for (size_t j = 0; j < N; j++)
            for (size_t r = 0; r < ROWS; r++)
                p->J[i * N + j] += X[r][i] * X[r][j];
    }
}

static void set_of(size_t bits, size_t units, bool *set)
{
    for (size_t u = 0; u < units; u++)
        set[u] = bits >> u & 1;
}

static const enum gsv_criterion CRITERIA[] = {
    GSV_CRITERION_FAMILYWISE, GSV_CRITERION_PASTIS, GSV_CRITERION_EBIC,
    GSV_CRITERION_BIC, GSV_CRITERION_AIC};

/* Every score and Wald test is the difference of two sets' values. */
static void tests__are_differences_of_sets(void **state)
{
    (void)state;
    for (size_t units = 3; units <= N; units += 3) {
        struct problem q;
        struct subset p, other;
        bool set[N];
        problem_make(&q, units, 0.5, units);
        struct cost c =
            cost_like(GSV_CRITERION_AIC, ROWS, units, q.size, q.share, q.nats);
        assert_int_equal(subset_init(&p, N, q.J, q.a, q.unit, c), 0);
        assert_int_equal(subset_init(&other, N, q.J, q.a, q.unit, c), 0);
        for (size_t bits = 0; bits < 1u << units; bits++) {
            set_of(bits, units, set);
            double l = subset_test(&p, set);
            for (size_t u = 0; u < units; u++) {
                set_of(bits ^ (size_t)1 << u, units, set);
                double change = fabs(subset_test(&other, set) - l);
                if (!(fabs(change - p.change[u]) < 1e-8 * (1.0 + l)))
                    fail_msg("set %zu, unit %zu: %g instead of %g", bits, u,
                             p.change[u], change);
            }
        }
        subset_free(&p);
        subset_free(&other);
    }
}

static double best_of_all(struct subset *p, size_t units)
{
    double best = -INFINITY;
    for (size_t bits = 0; bits < 1u << units; bits++) {
        bool set[N];
        set_of(bits, units, set);
        best = fmax(best, subset_test(p, set) - cost_set(&p->cost, set));
    }
    return best;
}

/* From none or from all; the shortlist is in order and has the best. */
static void climb__finds_the_best_of_all_sets(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 5; seed++)
        for (size_t k = 0; k < COUNT(CRITERIA); k++)
            for (size_t units = 3; units <= N; units += 6) {
                struct problem q;
                struct subset p;
                struct shortlist list;
                bool set[N];
                problem_make(&q, seed, 0.5, units);
                struct cost c = cost_like(CRITERIA[k], ROWS, units, q.size,
                                          q.share, q.nats);
                assert_int_equal(subset_init(&p, N, q.J, q.a, q.unit, c), 0);
                assert_int_equal(shortlist_init(&list, units, 6), 0);
                double best = best_of_all(&p, units), found = -INFINITY;
                for (int full = 0; full < 2; full++) {
                    memset(set, full, sizeof set);
                    found = fmax(found, subset_climb(&p, set, &list));
                }
                assert_true(fabs(found - best) < 1e-8 * (1.0 + fabs(best)));
                assert_true(fabs(list.value[0] - best) < 1e-8 * (1 + best));
                for (size_t i = 1; i < list.count; i++)
                    assert_true(list.value[i] <= list.value[i - 1]);
                shortlist_free(&list);
                subset_free(&p);
            }
}

static void climb__leaves_out_what_cannot_be_told_apart(void **state)
{
    (void)state;
    struct problem q;
    struct subset p;
    bool set[N] = {false};
    problem_make(&q, 3, 0.0, N);
    /* The last column is the second. */
    for (size_t i = 0; i < N; i++)
        q.J[(N - 1) * N + i] = q.J[N + i];
    for (size_t i = 0; i < N; i++)
        q.J[i * N + N - 1] = q.J[i * N + 1];
    q.J[N * N - 1] = q.J[N + 1];
    q.a[N - 1] = q.a[1];
    struct cost c =
        cost_like(GSV_CRITERION_AIC, ROWS, N, q.size, q.share, q.nats);
    assert_int_equal(subset_init(&p, N, q.J, q.a, q.unit, c), 0);
    assert_true(isfinite(subset_climb(&p, set, NULL)));
    assert_true(set[1] != set[N - 1]);
    memset(set, true, sizeof set);
    assert_true(subset_test(&p, set) == -INFINITY);
    subset_free(&p);
}

/* --- Quadratics ----------------------------------------------------------- */

#define CONSTANT                                                               \
    "state x\n param s = 1 > 0\n terms f(x) -> 1 : 1\n dx = f*dt + s*dW"
#define CUBIC                                                                  \
    "state x\n param s = 1 > 0\n terms f(x) -> 1 : poly 3\n dx = f*dt + s*dW"

/* Of dX = c dt + s dW with n gaps, R = sum of (dx - c h)^2 / h and theta =
 * log s: I_cc = T / s^2, I_ct = 2 D / s^2, I_tt = 2 R / s^2, g_c = D / s^2,
 * g_t = R / s^2 - n, where D = X(T) - X(0) - c T. */
static void quadratic__of_a_constant_drift_is_exact(void **state)
{
    (void)state;
    gsv_model *m = model_of(CONSTANT);
    gsv_series *s = learn_ou(m, 1, 150, 3);
    gsv_fit_options o = fit_options();
    const double *x = s->value, s2 = 0.49, c = 0.3, root = 0.7;
    size_t number = 1;
    struct linearised q;
    gsv_model_set(m, "s", 1, &root);
    gsv_model_set(m, "f.1", 1, &c);
    assert_int_equal(linearise(&q, m, s, &o, 1, &number, true), 0);
    double T = s->time[149] - s->time[0], D = x[149] - x[0] - c * T;
    double R = 0.0, sum = 0.0;
    for (size_t i = 1; i < 150; i++) {
        double h = s->time[i] - s->time[i - 1], rest = x[i] - x[i - 1] - c * h;
        R += rest * rest / h;
    }
    double J = T / s2 - 2.0 * D * D / (R * s2);
    double g = D / s2 - D / R * (R / s2 - 149.0);
    for (size_t b = 0; b < q.blocks; b++)
        sum += q.score[b];
    assert_int_equal(q.blocks, 64);
    assert_true(fabs(q.J[0] / J - 1.0) < 1e-3);
    assert_true(fabs(sum - g) < 1e-3 * fabs(D / s2));
    assert_true(fabs(q.a[0] - J * c - g) < 1e-3 * fabs(J * c));
    linearised_free(&q);
    free_both(m, s);
}

/* There and back; and a gradient that goes along. */
static void whitener__keeps_directions(void **state)
{
    (void)state;
    gsv_model *m = model_of(CUBIC);
    gsv_series *s = learn_ou(m, 1, 100, 3);
    struct whitener w;
    const size_t number[] = {0, 1, 3, 4};
    double x[4], y[4], g[4], z[4], before = 0.0, after = 0.0;
    assert_int_equal(whitener_init(&w, m, s, 4, number), 0);
    assert_int_equal(w.n, 3);
    trial_seed = 2;
    random_fill(4, x, -1.0, 1.0);
    random_fill(4, g, -1.0, 1.0);
    memcpy(y, x, sizeof x);
    memcpy(z, g, sizeof g);
    whitener_apply(&w, y);
    whitener_gradient(&w, z);
    for (size_t i = 0; i < 4; i++) {
        before += x[i] * g[i];
        after += y[i] * z[i];
    }
    whitener_undo(&w, y);
    for (size_t i = 0; i < 4; i++)
        assert_true(fabs(x[i] - y[i]) < 1e-9);
    assert_true(fabs(before - after) < 1e-9);
    whitener_free(&w);
    free_both(m, s);
}

/* --- Selections ----------------------------------------------------------- */

static void select_must(const gsv_model *m, const gsv_series *s,
                        const gsv_fit_options *o, gsv_selection *r)
{
    if (gsv_select(m, s, o, r)) fail_msg("%s", gsv_last_error());
    assert_true(r->candidates > 0 && r->model != NULL);
    for (size_t i = 1; i < r->candidates; i++)
        assert_true(r->candidate[i].value <= r->candidate[i - 1].value);
}

/* The model of what is left is that of the data, and its fit is the fit of that
 * model written by hand; candidates are refitted to some hundredths. */
static void selection__of_a_library_is_the_model_of_the_data(void **state)
{
    (void)state;
    static const struct {
        const char *library, *wanted, *hand;
        enum gsv_together together;
    } rows[] = {
        {CUBIC, "1 x", LEARN_OU, GSV_TOGETHER_NONE},
        {"state x\n param s = 1 > 0, k = 1 > 0\n"
         "terms f(x) -> 1 : 1, x^2, x^3, sin(3*x)\n dx = (f - k*x)*dt + s*dW",
         "1", LEARN_OU, GSV_TOGETHER_NONE},
        {"state x\n param s = 1 > 0\n terms f(x) -> 1 : 1, x\n"
         "terms g(x) -> 1 : x^2, x^3\n dx = (f + g)*dt + s*dW",
         "1 x", LEARN_OU, GSV_TOGETHER_OUTPUT},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        gsv_model *m = model_of(rows[i].library), *h = model_of(rows[i].hand);
        gsv_series *s = learn_ou(m, 1, 400, 7);
        gsv_fit_options o = fit_options();
        gsv_selection r;
        char chosen[100] = "";
        o.together = rows[i].together;
        o.errors = GSV_ERRORS_NONE;
        o.resamples = 20;
        select_must(m, s, &o, &r);
        for (size_t k = 0; k < r.coefficients; k++)
            if (r.coefficient[k].chosen) {
                if (*chosen) strcat(chosen, " ");
                strcat(chosen, strchr(r.coefficient[k].name, '.') + 1);
                assert_true(r.coefficient[k].estimate ==
                            value_of(r.model, r.coefficient[k].name));
            }
        if (strcmp(chosen, rows[i].wanted) != 0)
            fail_msg("row %zu: '%s'", i, chosen);
        double l = fit_must(h, s, &o)->loglik;
        assert_true(fabs(gsv_model_record(r.model)->loglik - l) < 2e-3);
        if (!(fabs(r.candidate[0].loglik - l) < 0.05))
            fail_msg("row %zu: %g instead of %g", i, r.candidate[0].loglik, l);
        gsv_selection_free(&r);
        gsv_model_free(h);
        free_both(m, s);
    }
}

/* Coefficients that are fixed are no candidates: 0 is gone, others stay. */
static void selection__keeps_what_is_fixed(void **state)
{
    (void)state;
    gsv_model *m = model_of(CUBIC);
    gsv_series *s = learn_ou(m, 1, 300, 7);
    gsv_fit_options o = fit_options();
    const char *const fix[] = {"f.1", "f.x^2"};
    const double one = 0.25;
    gsv_selection r;
    o.fixed = 2;
    o.fix = fix;
    o.errors = GSV_ERRORS_NONE;
    o.resamples = 5;
    gsv_model_set(m, "f.1", 1, &one);
    select_must(m, s, &o, &r);
    assert_int_equal(r.coefficients, 2);
    assert_true(value_of(r.model, "f.1") == 0.25);
    assert_int_equal(gsv_model_params(r.model), 3);
    gsv_selection_free(&r);
    free_both(m, s);
}

static bool stop_soon(void *user)
{
    size_t *asked = user;
    return ++*asked > 40;
}

static void selection__is_refused_or_stopped(void **state)
{
    (void)state;
    gsv_model *m = model_of(LEARN_OU), *c = model_of(CUBIC);
    gsv_model *net =
        model_of("state x\n net g(x) -> 1 : 4\n"
                 "terms f(x) -> 1 : poly 1\n dx = (f + g)*dt + dW");
    gsv_series *s = learn_ou(m, 1, 60, 7);
    gsv_fit_options o = fit_options();
    gsv_selection r;
    const char *const fix[] = {"f"};
    size_t asked = 0;
    expect_error(gsv_select(m, s, &o, &r), GSV_BAD_INPUT, "no terms",
                 "terms f");
    expect_error(gsv_select(net, s, &o, &r), GSV_BAD_INPUT, "network");
    o.fixed = 1;
    o.fix = fix;
    expect_error(gsv_select(c, s, &o, &r), GSV_BAD_INPUT, "fixed");
    o.fixed = 0;
    o.stop = stop_soon;
    o.user = &asked;
    expect_error(gsv_select(c, s, &o, &r), GSV_STOPPED, "stopped");
    assert_null(r.model);
    gsv_model_free(c);
    gsv_model_free(net);
    free_both(m, s);
}

/* Some of the allocations, so that it takes seconds. */
static void selection__survives_failing_allocations(void **state)
{
    (void)state;
    gsv_model *m = model_of("state x\n param s = 1 > 0\n"
                            "terms f(x) -> 1 : 1, x\n dx = f*dt + s*dW");
    gsv_series *s = learn_ou(m, 1, 20, 7);
    gsv_fit_options o = fit_options();
    o.errors = GSV_ERRORS_NONE;
    o.resamples = 2;
    o.estimator.paths = 2;
    o.estimator.steps = 1;
    bool done = false;
    for (size_t n = 1; !done; n += n / 6 + 1) {
        gsv_selection r;
        mem_fail_at(n);
        enum gsv_status status = gsv_select(m, s, &o, &r);
        mem_fail_at(0);
        done = status == GSV_OK;
        if (!done) assert_int_equal(status, GSV_NO_MEMORY);
        gsv_selection_free(&r);
    }
    free_both(m, s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cost__of_a_unit_is_the_quantile_of_its_gain),
        cmocka_unit_test(cost__of_a_set_counts_the_sets),
        cmocka_unit_test(tests__are_differences_of_sets),
        cmocka_unit_test(climb__finds_the_best_of_all_sets),
        cmocka_unit_test(climb__leaves_out_what_cannot_be_told_apart),
        cmocka_unit_test(quadratic__of_a_constant_drift_is_exact),
        cmocka_unit_test(whitener__keeps_directions),
        cmocka_unit_test(selection__of_a_library_is_the_model_of_the_data),
        cmocka_unit_test(selection__keeps_what_is_fixed),
        cmocka_unit_test(selection__is_refused_or_stopped),
        cmocka_unit_test(selection__survives_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
