/* SPDX-License-Identifier: MIT */
/* Fits against the exact maximum of the likelihood: estimates, standard
 * errors, intervals and correlations of linear models in closed form; and the
 * profile around it. */
#include "learn.h"

/* How near the exact maximum, in standard errors; and the standard errors to
 * the exact ones, as a share. */
struct allowed {
    double close, share;
};

/* Midpoints on steps of about 1/60 of the drift's own time: Newton's last step
 * is shorter than 0.02 standard errors, and the score of 64 paths is off by no
 * more than that. Standard errors are from differences over a twentieth of
 * themselves. */
static const struct allowed FINE = {0.04, 0.03};

/* What a fit that chooses its own effort promises of its score, a fifth of its
 * deviation; and of the information, whatever the data. */
static const struct allowed CHOSEN = {0.2, 0.1};

static gsv_fit_options fine_options(void)
{
    gsv_fit_options o = fit_options();
    o.estimator.steps = 8;
    o.estimator.paths = 64;
    o.estimator.reference = GSV_REFERENCE_LNA;
    o.estimator.form = GSV_FORM_MIDPOINT;
    return o;
}

/* --- Ornstein and Uhlenbeck ----------------------------------------------- */

static struct learn_peak ou_peak(const gsv_series *s)
{
    struct learn_peak q = {.n = 3, .at = {1.3, 0.4, 0.7}};
    learn_maximum(learn_ou_loglik, s, &q);
    return q;
}

static void expect_peak(const gsv_model *m, const struct learn_peak *q,
                        const size_t *place, struct allowed allowed)
{
    const gsv_record *r = gsv_model_record(m);
    const double *value = gsv_model_value(m);
    double n = (double)q->n;
    for (size_t i = 0; i < q->n; i++) {
        size_t v = place[i];
        double error = sqrt(q->cov[i * q->n + i]);
        assert_near(value[v], q->at[i], allowed.close * error);
        assert_near(r->error_of[v], error, allowed.share * error);
        assert_true(r->low[v] < value[v] && value[v] < r->high[v]);
        for (size_t j = 0; j < q->n; j++) {
            double other = sqrt(q->cov[j * q->n + j]);
            double found = gsv_record_correlation(r, v, place[j]);
            assert_near(found, q->cov[i * q->n + j] / (error * other),
                        allowed.share);
            assert_near(found, gsv_record_correlation(r, place[j], v), 0.0);
        }
        assert_near(gsv_record_correlation(r, v, v), 1.0, 1e-12);
    }
    /* The last estimate is exact, at a point so close to the maximum. */
    assert_near(r->loglik, q->value,
                TOLERANCE * r->error + 0.5 * n * allowed.close * allowed.close +
                    1e-6);
}

static void expect_ou(const gsv_fit_options *o, double h, uint64_t seed,
                      struct allowed allowed)
{
    static const size_t PLACE[] = {0, 1, 2};
    static const double TRUTH[] = {1.3, 0.4, 0.7};
    gsv_model *m = model_of(LEARN_OU);
    gsv_series *s = learn_series(m, 2, 150, h, seed, learn_ou_step, TRUTH);
    struct learn_peak q = ou_peak(s);
    const gsv_record *r = fit_must(m, s, o);
    expect_peak(m, &q, PLACE, allowed);
    assert_int_equal(r->errors, GSV_ERRORS_OBSERVED);
    assert_int_equal(r->optimizer, GSV_OPTIMIZER_LBFGS);
    assert_int_equal(r->ended, GSV_ENDED_CONVERGED);
    assert_string_equal(r->warning, "");
    gsv_series_free(s);
    gsv_model_free(m);
}

static void ou__is_fitted_to_the_exact_maximum(void **state)
{
    (void)state;
    gsv_fit_options o = fine_options();
    for (uint64_t seed = 1; seed <= (SLOWER > 1 ? 1 : 3); seed++)
        expect_ou(&o, 0.1, seed, FINE);
}

static void ou__is_fitted_as_promised(void **state)
{
    (void)state;
    gsv_fit_options o = fit_options();
    for (uint64_t seed = 1; seed <= 4; seed++)
        expect_ou(&o, 0.1, seed, CHOSEN);
}

/* Gaps of half the drift's own time. */
static void ou__is_fitted_as_promised_in_long_gaps(void **state)
{
    (void)state;
    gsv_fit_options o = fit_options();
    for (uint64_t seed = 1; seed <= 4; seed++)
        expect_ou(&o, 0.4, seed, CHOSEN);
}

/* --- A noise that is not that of the data --------------------------------- */

/* The largest log-likelihood over k, on a grid of 1.2 per cent. */
static double most_over_rate(const gsv_series *s)
{
    double most = -INFINITY;
    for (int i = -800; i <= 800; i++) {
        double p[] = {exp(0.012 * i), 0.0, 1.0};
        most = fmax(most, learn_ou_loglik(s, p));
    }
    return most;
}

static void expect_top(double k, double noise, double h, uint64_t seed)
{
    gsv_model *m = model_of("state x\n param k = 1 > 0\n dx = -k*x*dt + dW");
    const double truth[] = {k, 0.0, noise};
    gsv_series *s = learn_series(m, 1, 80, h, seed, learn_ou_step, truth);
    gsv_fit_options o = fit_options();
    const gsv_record *r = fit_must(m, s, &o);
    const double at[] = {gsv_model_value(m)[0], 0.0, 1.0};
    double loss = most_over_rate(s) - learn_ou_loglik(s, at);
    if (!(loss < 0.01) || *r->warning)
        fail_msg("k %g, noise %g, gap %g: %g nats below the maximum: %s", k,
                 noise, h, loss, r->warning);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* The maximum is far from the start, past a bend, and the cheap gradient of one
 * step a gap points away from it. */
static void wrong_noise__does_not_hold_the_search_up(void **state)
{
    (void)state;
    static const double rate[] = {1.0, 3.0, 8.0}, noise[] = {0.25, 0.5, 2.0};
    static const double gap[] = {0.1, 0.3, 1.0};
    for (size_t i = 0; i < 27; i++)
        if (SLOWER == 1 || i % 5 == 0)
            expect_top(rate[i % 3], noise[i / 3 % 3], gap[i / 9], 1 + i);
}

/* theta = log p is off by 1.96 of its own standard errors, error / p. */
/* With many data the log-likelihood is a parabola, and intervals are Wald's. */
static void intervals__are_symmetric_without_bounds(void **state)
{
    (void)state;
    gsv_model *m = model_of(LEARN_OU);
    gsv_series *s = learn_ou(m, 8, 200, 9);
    gsv_fit_options o = fit_options();
    const gsv_record *r = fit_must(m, s, &o);
    const double *p = gsv_model_value(m);
    for (size_t i = 0; i < 3; i += 2) {
        double width = 1.959963984540054 * r->error_of[i] / p[i];
        assert_near(r->low[i], p[i] * exp(-width), 1e-9);
        assert_near(r->high[i], p[i] * exp(width), 1e-9);
    }
    assert_near(r->low[1], p[1] - 1.959963984540054 * r->error_of[1], 1e-9);
    assert_near(r->high[1], p[1] + 1.959963984540054 * r->error_of[1], 1e-9);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* Twice the loss at the ends of all intervals of a fit to so many gaps is 3.84:
 * that of a parabola, which may be off by a seventh, or that of the likelihood
 * ratio. The loss is that of the profile, where the other numbers move. */
static void expect_ends(size_t gaps, uint64_t seed)
{
    static const char *const name[] = {"k", "mu", "s"};
    gsv_model *m = model_of(LEARN_OU);
    gsv_series *s = learn_ou(m, 1, gaps, seed);
    gsv_fit_options o = fit_options();
    fit_must(m, s, &o);
    const gsv_record *r = gsv_model_record(m);
    double most = r->loglik, low[3], high[3];
    memcpy(low, r->low, sizeof low);
    memcpy(high, r->high, sizeof high);
    for (size_t i = 0; i < 3; i++) {
        double end[2] = {low[i], high[i]}, l;
        for (size_t j = 0; j < 2; j++) {
            if (!isfinite(end[j]) || (i != 1 && !(end[j] > 0.0))) continue;
            assert_int_equal(gsv_profile(m, s, &o, name[i], 1, &end[j], &l), 0);
            print_message("%zu gaps, seed %d, %s: %.3f\n", gaps, (int)seed,
                          name[i], 2.0 * (most - l));
            assert_near(2.0 * (most - l), 3.84, 0.6);
        }
    }
    gsv_series_free(s);
    gsv_model_free(m);
}

static void intervals__end_where_the_profile_falls_by_two_nats(void **state)
{
    (void)state;
    static const struct {
        size_t gaps;
        uint64_t first, last;
    } row[] = {{15, 3, 3}, {30, 3, 8}, {60, 3, 8}, {120, 3, 8}, {400, 6, 6}};
    for (size_t n = 0; n < COUNT(row); n++)
        for (uint64_t seed = row[n].first; seed <= row[n].last; seed++)
            expect_ends(row[n].gaps, seed);
}

static void intervals__stay_inside_of_bounds(void **state)
{
    (void)state;
    gsv_model *m =
        model_of("state x\n param k = 0.5 in (0, 4), mu = 0 < 3, s = 1 > 0\n"
                 "dx = k*(mu - x)*dt + s*dW");
    for (uint64_t seed = 1; seed <= 5; seed++) {
        gsv_series *s = learn_ou(m, 1, 12, seed);
        gsv_fit_options o = fit_options();
        const gsv_record *r = fit_must(m, s, &o);
        for (size_t i = 0; i < 3; i++) {
            gsv_param p = gsv_model_param(m, i);
            double v = gsv_model_value(m)[i];
            assert_true(v > p.low && v < p.high);
            if (isnan(r->error_of[i])) continue;
            assert_true(r->low[i] > p.low && r->high[i] < p.high);
            assert_true(r->low[i] <= v && v <= r->high[i]);
        }
        gsv_series_free(s);
    }
    gsv_model_free(m);
}

static void criteria__are_their_formulas(void **state)
{
    (void)state;
    gsv_model *m = model_of(LEARN_OU);
    gsv_series *s = learn_ou(m, 2, 60, 9);
    gsv_fit_options o = fit_options();
    const gsv_record *r = fit_must(m, s, &o);
    assert_int_equal(r->free, 3);
    assert_int_equal(r->gaps, 118);
    assert_int_equal(r->heldout_gaps, 0);
    assert_int_equal(r->rows, 120);
    assert_int_equal(r->tracks, 2);
    assert_string_equal(r->data, s->source);
    assert_near(r->aic, 6.0 - 2.0 * r->loglik, 1e-12);
    assert_near(r->bic, 3.0 * log(118.0) - 2.0 * r->loglik, 1e-12);
    assert_true(isnan(r->heldout));
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < s->rows; i++) {
        low = fmin(low, s->value[i]);
        high = fmax(high, s->value[i]);
    }
    assert_int_equal(r->columns, 1);
    assert_true(r->lowest[0] == low && r->highest[0] == high);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* A fit that goes on from a fit has nothing to do. */
static void ou__does_not_move_from_its_maximum(void **state)
{
    (void)state;
    gsv_model *m = model_of(LEARN_OU);
    gsv_series *s = learn_ou(m, 2, 150, 5);
    gsv_fit_options o = fit_options();
    double first[3], error[3];
    const gsv_record *r = fit_must(m, s, &o);
    memcpy(first, gsv_model_value(m), sizeof first);
    memcpy(error, r->error_of, sizeof error);
    r = fit_must(m, s, &o);
    for (size_t i = 0; i < 3; i++)
        assert_near(gsv_model_value(m)[i], first[i],
                    2.0 * CHOSEN.close * error[i]);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* --- Two dimensions ------------------------------------------------------- */

static const char LINEAR[] = "state x[2]\n param A[2,2] = [-1,0, 0,-1]\n"
                             "param L[2,2] = [1,0, 0,1] lower\n"
                             "dx = A @ x*dt + L @ dW";

/* p = (A11, A12, A21, A22, L11, L21, L22). */
static void linear_slopes(const double *p, const double *y, double *dy)
{
    const double *A = p, *F = y, *Q = y + 4;
    const double LL[4] = {p[4] * p[4], p[4] * p[5], p[4] * p[5],
                          p[5] * p[5] + p[6] * p[6]};
    for (size_t i = 0; i < 2; i++)
        for (size_t j = 0; j < 2; j++) {
            double f = 0.0, q = LL[2 * i + j];
            for (size_t k = 0; k < 2; k++) {
                f += A[2 * i + k] * F[2 * k + j];
                q += A[2 * i + k] * Q[2 * k + j] + Q[2 * i + k] * A[2 * j + k];
            }
            dy[2 * i + j] = f;
            dy[4 + 2 * i + j] = q;
        }
}

/* F' = A F and Q' = A Q + Q A' + L L' by Runge and Kutta: over 0.6 in 12 steps
 * with |A| of about 2 each step is off by (0.1)^5 / 120. */
static void linear_law(const double *p, double h, double *y)
{
    enum { STEPS = 12 };
    const double start[8] = {1.0, 0.0, 0.0, 1.0};
    double dt = h / STEPS, k[4][8], at[8];
    static const double AHEAD[] = {0.0, 0.5, 0.5, 1.0};
    static const double WEIGHT[] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};
    memcpy(y, start, sizeof start);
    for (size_t n = 0; n < STEPS; n++) {
        for (size_t s = 0; s < 4; s++) {
            for (size_t i = 0; i < 8; i++)
                at[i] = y[i] + (s ? AHEAD[s] * dt * k[s - 1][i] : 0.0);
            linear_slopes(p, at, k[s]);
        }
        for (size_t i = 0; i < 8; i++)
            for (size_t s = 0; s < 4; s++)
                y[i] += dt * WEIGHT[s] * k[s][i];
    }
}

static double linear_loglik(const void *context, const double *p)
{
    const gsv_series *s = context;
    double sum = 0.0;
    for (size_t i = 1; i < s->rows; i++) {
        double y[8];
        const double *a = s->value + i - 1, *b = a + s->rows;
        const double x[2] = {a[1], b[1]};
        linear_law(p, s->time[i] - s->time[i - 1], y);
        struct exact_law law = {.d = 2};
        law.mean[0] = y[0] * a[0] + y[1] * b[0];
        law.mean[1] = y[2] * a[0] + y[3] * b[0];
        memcpy(law.cov, y + 4, 4 * sizeof *y);
        sum += exact_density(&law, x);
    }
    return sum;
}

static void linear_step(const double *p, double gap, const double *x,
                        const double *z, double *y)
{
    double law[8];
    linear_law(p, gap, law);
    double one = sqrt(law[4]), below = law[6] / one;
    double two = sqrt(law[7] - below * below);
    y[0] = law[0] * x[0] + law[1] * x[1] + one * z[0];
    y[1] = law[2] * x[0] + law[3] * x[1] + below * z[0] + two * z[1];
}

/* Of L[1,2] there is nothing to learn. */
static const size_t LINEAR_PLACE[] = {0, 1, 2, 3, 4, 6, 7};
static const double LINEAR_TRUTH[] = {-0.8, 1.5, -1.2, -0.5, 0.6, 0.3, 0.9};

static void expect_linear(const gsv_fit_options *o, size_t rows, double h,
                          struct allowed allowed)
{
    gsv_model *m = model_of(LINEAR);
    gsv_series *s = learn_series(m, 1, rows, h, 2, linear_step, LINEAR_TRUTH);
    struct learn_peak q = {.n = 7};
    memcpy(q.at, LINEAR_TRUTH, sizeof LINEAR_TRUTH);
    learn_maximum(linear_loglik, s, &q);
    const gsv_record *r = fit_must(m, s, o);
    expect_peak(m, &q, LINEAR_PLACE, allowed);
    assert_int_equal(r->free, 7);
    assert_true(isnan(r->error_of[5]) &&
                isnan(gsv_record_correlation(r, 5, 5)));
    gsv_series_free(s);
    gsv_model_free(m);
}

static void linear__is_fitted_to_the_exact_maximum(void **state)
{
    (void)state;
    gsv_fit_options o = fine_options();
    expect_linear(&o, SLOWER > 1 ? 60 : 200, 0.06, FINE);
}

static void linear__is_fitted_as_promised(void **state)
{
    (void)state;
    gsv_fit_options o = fit_options();
    expect_linear(&o, 300, 0.1, CHOSEN);
}

static void linear__is_fitted_as_promised_in_long_gaps(void **state)
{
    (void)state;
    gsv_fit_options o = fit_options();
    expect_linear(&o, 300, 0.4, CHOSEN);
}

/* --- The sandwich --------------------------------------------------------- */

/* Under the true model both estimate the same. Of n gaps, the mean of squared
 * scores has the deviation 3.8 / sqrt(n) for a deviation (its score is z^2 - 1:
 * the variance of its square is 56 against a mean of 2), and less for the
 * others; half of that in standard errors. */
static void sandwich__is_the_observed_one_under_the_true_model(void **state)
{
    (void)state;
    enum { ROWS = 1500 };
    gsv_model *m = model_of(LEARN_OU);
    gsv_series *s = learn_ou(m, 1, ROWS, 3);
    gsv_fit_options o = fit_options();
    double observed[3];
    const gsv_record *r = fit_must(m, s, &o);
    memcpy(observed, r->error_of, sizeof observed);
    o.errors = GSV_ERRORS_SANDWICH;
    r = fit_must(m, s, &o);
    assert_int_equal(r->errors, GSV_ERRORS_SANDWICH);
    for (size_t i = 0; i < 3; i++) {
        assert_near(r->error_of[i], observed[i],
                    observed[i] * TOLERANCE * 1.9 / sqrt(ROWS));
        assert_true(r->error_of[i] != observed[i]);
    }
    gsv_series_free(s);
    gsv_model_free(m);
}

/* Wrong noise (s is held at half of what it is, and k where it is): the
 * observed error follows s, the sandwich follows the data. */
static void sandwich__does_not_believe_a_wrong_model(void **state)
{
    (void)state;
    enum { ROWS = 1500 };
    const char *const fix[] = {"s", "k"};
    const double half = 0.35, k = 1.3;
    double errors[2];
    for (int i = 0; i < 2; i++) {
        gsv_model *m = model_of(LEARN_OU);
        gsv_series *s = learn_ou(m, 1, ROWS, 3);
        gsv_fit_options o = fit_options();
        assert_int_equal(gsv_model_set(m, "s", 1, &half), 0);
        assert_int_equal(gsv_model_set(m, "k", 1, &k), 0);
        o.fixed = 2;
        o.fix = fix;
        o.errors = i ? GSV_ERRORS_SANDWICH : GSV_ERRORS_OBSERVED;
        errors[i] = fit_must(m, s, &o)->error_of[1];
        gsv_series_free(s);
        gsv_model_free(m);
    }
    /* The score of mu is normal: the mean of its squares has the deviation
     * 1.42 / sqrt(n), its root half of that. */
    assert_near(errors[1] / errors[0], 2.0,
                2.0 * TOLERANCE * 0.71 / sqrt(ROWS));
}

/* --- Profile -------------------------------------------------------------- */

static void profile__has_its_maximum_at_the_estimate(void **state)
{
    (void)state;
    enum { N = 5 };
    gsv_model *m = model_of(LEARN_OU);
    gsv_series *s = learn_ou(m, 1, 100, 6);
    gsv_fit_options o = fit_options();
    const gsv_record *r = fit_must(m, s, &o);
    double first[3], value[N], loglik[N], record = r->loglik, sigma = r->error;
    memcpy(first, gsv_model_value(m), sizeof first);
    for (size_t i = 0; i < N; i++)
        value[i] = first[0] + r->error_of[0] * ((double)i - 2.0);
    assert_int_equal(gsv_profile(m, s, &o, "k", N, value, loglik), 0);
    /* The same model, with the same record. */
    assert_ptr_equal(gsv_model_record(m), r);
    assert_true(r->loglik == record);
    assert_true(same_bits(3, first, gsv_model_value(m)));
    /* At the estimate the others are where they were, as close as a fit is. */
    double noise = TOLERANCE * sigma + CHOSEN.close * CHOSEN.close + 1e-6;
    assert_near(loglik[2], record, noise);
    for (size_t i = 0; i < N; i++)
        if (i != 2) assert_true(loglik[i] < record - 0.1);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* Other numbers at their maximum given k, from the exact likelihood. */
static double given_k(const void *context, const double *p)
{
    const void *const *both = context;
    const double all[] = {*(const double *)both[1], p[0], p[1]};
    return learn_ou_loglik(both[0], all);
}

static void profile__is_the_exact_one(void **state)
{
    (void)state;
    gsv_model *m = model_of(LEARN_OU);
    gsv_series *s = learn_ou(m, 1, 100, 6);
    gsv_fit_options o = fit_options();
    const double value[] = {0.4, 1.0, 2.5};
    double loglik[3];
    fit_must(m, s, &o);
    assert_int_equal(gsv_profile(m, s, &o, "k", 3, value, loglik), 0);
    for (size_t i = 0; i < 3; i++) {
        const void *const context[] = {s, &value[i]};
        struct learn_peak q = {.n = 2, .at = {0.4, 0.7}};
        learn_maximum(given_k, context, &q);
        assert_near(loglik[i], q.value, CHOSEN.close * CHOSEN.close + 1e-6);
    }
    gsv_series_free(s);
    gsv_model_free(m);
}

static void profile__refuses_what_it_cannot_hold(void **state)
{
    (void)state;
    gsv_model *m = model_of(LINEAR);
    gsv_series *s = walk_of(m, 1, 30, 0.3, 2);
    gsv_fit_options o = fit_options();
    double value[] = {-1.0, NAN}, loglik[2], first[8];
    memcpy(first, gsv_model_value(m), sizeof first);
    expect_error(gsv_profile(m, s, &o, "A", 1, value, loglik), GSV_BAD_INPUT,
                 "'A' has 4 numbers");
    expect_error(gsv_profile(m, s, &o, "B", 1, value, loglik), GSV_BAD_INPUT,
                 "no parameter 'B'");
    expect_error(gsv_profile(m, s, &o, "L[1,2]", 1, value, loglik),
                 GSV_BAD_INPUT, "L");
    expect_error(gsv_profile(m, s, &o, "A[1,1]", 2, value, loglik),
                 GSV_BAD_INPUT, "A");
    expect_error(gsv_profile(m, s, &o, "L[2,2]", 1, value, loglik),
                 GSV_BAD_INPUT, "bounds of 'L'");
    assert_null(gsv_model_record(m));
    assert_true(same_bits(8, first, gsv_model_value(m)));
    gsv_series_free(s);
    gsv_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ou__is_fitted_to_the_exact_maximum),
        cmocka_unit_test(ou__is_fitted_as_promised),
        cmocka_unit_test(ou__is_fitted_as_promised_in_long_gaps),
        cmocka_unit_test(wrong_noise__does_not_hold_the_search_up),
        cmocka_unit_test(intervals__are_symmetric_without_bounds),
        cmocka_unit_test(intervals__end_where_the_profile_falls_by_two_nats),
        cmocka_unit_test(intervals__stay_inside_of_bounds),
        cmocka_unit_test(criteria__are_their_formulas),
        cmocka_unit_test(ou__does_not_move_from_its_maximum),
        cmocka_unit_test(linear__is_fitted_to_the_exact_maximum),
        cmocka_unit_test(linear__is_fitted_as_promised),
        cmocka_unit_test(linear__is_fitted_as_promised_in_long_gaps),
        cmocka_unit_test(sandwich__is_the_observed_one_under_the_true_model),
        cmocka_unit_test(sandwich__does_not_believe_a_wrong_model),
        cmocka_unit_test(profile__has_its_maximum_at_the_estimate),
        cmocka_unit_test(profile__is_the_exact_one),
        cmocka_unit_test(profile__refuses_what_it_cannot_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
