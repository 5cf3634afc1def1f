/* SPDX-License-Identifier: MIT */
/* The bootstrap against one that is computed here in closed form, its bits, its
 * data sets, and how it ends. */
#include "learn.h"
#include "learn/bootstrap.h"
#include "ranks.h"

enum { SETS = 100, ROWS = 60 };

static double boot(const gsv_record *r, enum gsv_bootstrap row, size_t at)
{
    assert_non_null(r->bootstrap);
    return r->bootstrap[(size_t)row * r->values + at];
}

/* --- Bias ----------------------------------------------------------------- */

/* Equal gaps of h: the maximum of the likelihood is that of an AR(1). */
static gsv_series *ou_series(const gsv_model *m, size_t rows, double h,
                             const double *p, double first, const double *z)
{
    const size_t start[] = {0, rows};
    double time[ROWS], value[ROWS];
    for (size_t i = 0; i < rows; i++) {
        time[i] = h * (double)i;
        value[i] = first;
        if (i) learn_ou_step(p, h, &value[i - 1], &z[i], &value[i]);
    }
    return gsv_series_new(1, start, 1, gsv_model_column(m), time, value);
}

static double log_k(const gsv_series *s, double h)
{
    size_t n = s->rows - 1;
    double a = 0.0, b = 0.0, ab = 0.0, aa = 0.0;
    for (size_t i = 0; i < n; i++) {
        a += s->value[i] / (double)n;
        b += s->value[i + 1] / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        ab += (s->value[i] - a) * (s->value[i + 1] - b);
        aa += (s->value[i] - a) * (s->value[i] - a);
    }
    return log(-log(ab / aa) / h);
}

/* The speed of a short OU comes out too high, by 2 to 4 / T. Both bootstraps
 * draw from the same estimate: their means agree within their errors. */
static void bootstrap__has_the_bias_of_a_short_ou(void **state)
{
    (void)state;
    const double p[] = {1.3, 0.4, 0.7}, h = 0.25;
    for (uint64_t seed = 1; seed <= 2; seed++) {
        gsv_model *m = model_of(LEARN_OU);
        double *z = normals(ROWS, seed);
        gsv_series *s = ou_series(m, ROWS, h, p, 0.4, z);
        gsv_fit_options o = fit_options();
        o.bootstrap = SETS;
        const gsv_record *r = fit_must(m, s, &o);
        const double *v = gsv_model_value(m);
        double sum = 0.0, squares = 0.0, k = 0.0, kk = 0.0;
        assert_int_equal(r->refits, SETS);
        assert_true(fabs(log(v[0]) - log_k(s, h)) < 1e-2);
        for (size_t i = 0; i < 10 * SETS; i++) {
            double *e = normals(ROWS, 1000 * seed + i);
            gsv_series *set = ou_series(m, ROWS, h, v, s->value[0], e);
            double x = log_k(set, h);
            sum += x;
            squares += x * x;
            k += exp(x);
            kk += exp(2.0 * x);
            gsv_series_free(set);
            mem_free(e);
        }
        double n = 10.0 * SETS, mean = sum / n;
        double sd = sqrt(squares / n - mean * mean);
        double bias = log(v[0]) - log(boot(r, GSV_BOOTSTRAP_CORRECTED, 0));
        assert_true(fabs(bias - (mean - log(v[0]))) < 3.5 * sd / sqrt(SETS));
        assert_true(bias > 0.0);
        double error = sqrt(kk / n - k * k / (n * n));
        assert_true(fabs(boot(r, GSV_BOOTSTRAP_ERROR, 0) / error - 1.0) < 0.3);
        mem_free(z);
        free_both(m, s);
    }
}

/* Few data never make an interval shorter than many would. */
static void bootstrap__widens_likelihood_intervals(void **state)
{
    (void)state;
    gsv_model *m = model_of(LEARN_OU);
    gsv_series *s = learn_ou(m, 2, 20, 5);
    gsv_fit_options o = fit_options();
    o.bootstrap = 40;
    const gsv_record *r = fit_must(m, s, &o);
    for (size_t i = 0; i < r->values; i++) {
        double wide = r->high[i] - r->low[i], v = gsv_model_value(m)[i];
        double low = boot(r, GSV_BOOTSTRAP_LOW, i);
        double high = boot(r, GSV_BOOTSTRAP_HIGH, i);
        assert_true(low < v && v < high && high - low > 0.97 * wide);
    }
    free_both(m, s);
}

/* --- Bits ----------------------------------------------------------------- */

static void same_bootstrap(const gsv_record *a, const gsv_record *b)
{
    assert_int_equal(a->refits, b->refits);
    assert_non_null(a->bootstrap);
    assert_true(
        same_bits(GSV_BOOTSTRAPS * a->values, a->bootstrap, b->bootstrap));
}

/* Its likelihood is estimated by paths. */
static const char CUBIC[] = "state x\n param k = 1 > 0, s = 1 > 0\n"
                            "dx = -k*(x + x^3)*dt + s*dW";

struct ranked {
    const gsv_series *s;
    const gsv_record *alone;
};

static void fit_on_rank(gsv_ranks *ranks, void *user)
{
    const struct ranked *w = user;
    gsv_model *m = model_of(CUBIC);
    gsv_fit_options o = fit_options();
    o.bootstrap = 20;
    o.estimator.ranks = ranks;
    same_bootstrap(fit_must(m, w->s, &o), w->alone);
    gsv_model_free(m);
    gsv_ranks_close(ranks, 0);
}

static void
bootstrap__has_the_same_bits_on_threads_ranks_and_in_a_file(void **state)
{
    (void)state;
    gsv_model *m = model_of(CUBIC), *two = model_of(CUBIC);
    gsv_series *s = learn_ou(m, 2, 8, 4);
    gsv_fit_options o = fit_options();
    o.bootstrap = 20;
    const gsv_record *r = fit_must(m, s, &o);
    o.estimator.threads = 3;
    same_bootstrap(r, fit_must(two, s, &o));
    assert_int_equal(gsv_model_write(m, "boot.fit"), 0);
    gsv_model *read = gsv_model_read("boot.fit");
    remove("boot.fit");
    assert_non_null(read);
    assert_int_equal(gsv_model_record(read)->bootstraps, 20);
    same_bootstrap(r, gsv_model_record(read));
    struct ranked w = {s, r};
    ranks_act(2, fit_on_rank, &w);
    gsv_model_free(read);
    gsv_model_free(two);
    free_both(m, s);
}

/* --- Data sets ------------------------------------------------------------ */

static const struct shape {
    const char *text;
    const char *name[3];
    size_t columns;
    bool exact; /* the first known row stays */
} SHAPES[] = {
    {"state x\n param k = 1 > 0, s = 1 > 0\n dx = -k*x*dt + s*dW",
     {"x"},
     1,
     true},
    {"state x, y\n param k = 1 > 0, s = 1 > 0\n dx = -k*x*dt + s*dW\n"
     "dy = (x - y)*dt + s*dW",
     {"x", "y"},
     2,
     true},
    {"state x\n input u\n param k = 1 > 0, s = 1 > 0\n"
     "dx = k*(u - x)*dt + s*dW",
     {"x", "u"},
     2,
     true},
    {"state x\n param k = 1 > 0, s = 1 > 0\n init x ~ normal(0, 1)\n"
     "dx = -k*x*dt + s*dW\n obs y ~ normal(x, 0.1)",
     {"y"},
     1,
     false},
    {"state x, v\n param k = 1 > 0, s = 1 > 0\n init v ~ normal(0, 1)\n"
     "dx = v*dt + s*dW\n dv = -k*v*dt + s*dW",
     {"x"},
     1,
     true},
    {"state x\n param k = 1 > 0, s = 1 > 0\n init x ~ normal(0, 1)\n"
     "dx = -k*x*dt + s*dW\n obs n ~ poisson(exp(x))\n"
     "obs a ~ binomial(b, 1/(1 + exp(-x)))",
     {"n", "a", "b"},
     3,
     false},
};

/* Three tracks, of which two have the same times; holes in all columns. */
static gsv_series *holed(const struct shape *h)
{
    enum { N = 12 };
    const size_t start[] = {0, 4, 8, N};
    static const double time[] = {0, 1, 2, 4, 0, 1, 2, 4, 0, 0.5, 0.6, 3};
    double value[3 * N];
    for (size_t i = 0; i < h->columns * N; i++) {
        value[i] = (double)(i / N == 2 ? 9 : 1 + i % 3);
        if (i % N == 4 || i % N == 6) value[i] = i / N < 2 ? NAN : value[i];
    }
    gsv_series *s = gsv_series_new(3, start, h->columns, h->name, time, value);
    if (!s) fail_msg("%s", gsv_last_error());
    return s;
}

static void sets__have_the_shape_of_the_data(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT(SHAPES); k++) {
        const struct shape *h = &SHAPES[k];
        gsv_model *m = model_of(h->text);
        gsv_series *s = holed(h), *other = bootstrap_draw(m, s, 1, 1, 32);
        gsv_series *set = bootstrap_draw(m, s, 1, 0, 32);
        if (!set || !other) fail_msg("shape %zu: %s", k, gsv_last_error());
        assert_int_equal(set->tracks, s->tracks);
        assert_int_equal(set->columns, s->columns);
        assert_memory_equal(set->start, s->start, 4 * sizeof *s->start);
        assert_true(same_bits(s->rows, set->time, s->time));
        size_t changed = 0, kept = 0, differ = 0;
        for (size_t i = 0; i < s->columns * s->rows; i++) {
            assert_int_equal(isnan(set->value[i]), isnan(s->value[i]));
            bool same = same_bits(1, &set->value[i], &s->value[i]);
            bool given = !strcmp(s->name[i / s->rows], "u") ||
                         !strcmp(s->name[i / s->rows], "b");
            if (given) assert_true(same);
            else if (same) kept += isnan(s->value[i]) ? 0 : 1;
            else changed++;
            if (!same_bits(1, &set->value[i], &other->value[i])) differ++;
        }
        assert_true(changed > 3 && differ > 3);
        if (h->exact) assert_true(kept >= 3);
        gsv_series_free(set);
        gsv_series_free(other);
        free_both(m, s);
    }
}

/* --- How it ends ---------------------------------------------------------- */

struct stopper {
    size_t refits, until;
    bool begun;
};

static void count_refits(void *user, size_t done, size_t all)
{
    struct stopper *w = user;
    assert_true(done <= all);
    w->refits = done;
}

static void note_phase(void *user, enum gsv_phase phase)
{
    struct stopper *w = user;
    if (phase == GSV_PHASE_BOOTSTRAP) w->begun = true;
}

static bool enough(void *user)
{
    const struct stopper *w = user;
    return w->begun && w->refits >= w->until;
}

/* With few refits there is no bootstrap, with more it is from these; the fit
 * itself is the same. */
static void stop__keeps_the_fit_and_the_refits(void **state)
{
    (void)state;
    for (int few = 0; few < 2; few++) {
        gsv_model *m = model_of(LEARN_OU);
        gsv_series *s = learn_ou(m, 1, 30, 2);
        struct stopper w = {.until = few ? 5 : 30};
        gsv_fit_options o = fit_options();
        o.bootstrap = 100000;
        o.refit = count_refits;
        o.phase = note_phase;
        o.stop = enough;
        o.user = &w;
        const gsv_record *r = fit_must(m, s, &o);
        assert_int_equal(r->ended, GSV_ENDED_CONVERGED);
        assert_true(r->refits >= w.until && r->refits < 1000);
        assert_true(isfinite(r->low[0]) && isfinite(r->loglik));
        assert_non_null(strstr(r->warning, "interrupted after"));
        if (few) assert_null(r->bootstrap);
        else assert_true(isfinite(boot(r, GSV_BOOTSTRAP_HIGH, 0)));
        free_both(m, s);
    }
}

static void bootstrap__says_where_there_is_none(void **state)
{
    (void)state;
    static const char GP[] =
        "state x\n gp f(x) -> 1 : grid 9 rbf\n param s = 1 > 0\n"
        "dx = f*dt + s*dW";
    static const char NET[] = "state x\n net f(x) -> 1 : 4 tanh\n"
                              "param s = 1 > 0\n dx = f*dt + s*dW";
    gsv_model *well = model_of(LEARN_WELL), *gp = model_of(GP);
    gsv_model *net = model_of(NET);
    gsv_series *s = learn_well(well, 1, 20, 1);
    gsv_fit_options o = fit_options(), gibbs = o, matching = o, few = o;
    o.bootstrap = gibbs.bootstrap = matching.bootstrap = 50;
    gibbs.method = GSV_METHOD_GIBBS;
    matching.objective = GSV_OBJECTIVE_GRADIENT_MATCHING;
    few.bootstrap = 19;
    expect_error(gsv_fit(net, s, &o), GSV_BAD_INPUT, "network");
    expect_error(gsv_fit(gp, s, &o), GSV_BAD_INPUT, "gp");
    expect_error(gsv_fit(well, s, &gibbs), GSV_BAD_INPUT, "gibbs");
    expect_error(gsv_fit(well, s, &matching), GSV_BAD_INPUT, "objective");
    expect_error(gsv_fit(well, s, &few), GSV_BAD_INPUT, "bootstrap", "20");
    gsv_model_free(gp);
    gsv_model_free(net);
    free_both(well, s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bootstrap__has_the_bias_of_a_short_ou),
        cmocka_unit_test(bootstrap__widens_likelihood_intervals),
        cmocka_unit_test(
            bootstrap__has_the_same_bits_on_threads_ranks_and_in_a_file),
        cmocka_unit_test(sets__have_the_shape_of_the_data),
        cmocka_unit_test(stop__keeps_the_fit_and_the_refits),
        cmocka_unit_test(bootstrap__says_where_there_is_none),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
