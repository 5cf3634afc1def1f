/* SPDX-License-Identifier: MIT */
/* The states by the Kalman filter, given all data and given the data so far,
 * against the joint normal law in quadruple precision. */
#include "dense.h"

#include "kalman/kalman.h"
#include "model/states.h"

static const struct shape {
    const char *name;
    enum dense_kind kind;
    enum dense_motion motion;
    double gap, first;
    bool exact;
    double tolerance;
} SHAPES[] = {
    {"usual", DENSE_STABLE, 0, 0.3, 1, false, 1e-10},
    {"tiny gaps", DENSE_STABLE, 0, 1e-6, 1, false, 1e-8},
    {"huge gaps", DENSE_STABLE, 0, 1e3, 1, false, 1e-10},
    {"unstable", DENSE_UNSTABLE, 0, 0.5, 1, false, 1e-10},
    {"stiff", DENSE_STIFF, 0, 0.3, 1, false, 1e-9},
    {"diffuse", DENSE_STABLE, 0, 0.3, 1e6, false, 1e-7},
    {"exact", DENSE_STABLE, 0, 0.3, 1, true, 1e-7},
    {"held input", DENSE_STABLE, DENSE_HELD, 0.3, 1, true, 1e-7},
    {"input", DENSE_STABLE, DENSE_LINE, 0.3, 1, false, 1e-8},
    {"any", DENSE_STABLE, DENSE_ANY, 0.3, 1, false, 1e-5},
};

struct bench {
    struct dense dense;
    struct dense_track track;
    gsv_model *m;
    gsv_series *s;
};

static void for_all(void (*claim)(struct bench *b, const struct shape *s))
{
    for (size_t i = 0; i < COUNT(SHAPES); i++)
        for (size_t d = 1; d <= 4; d++) {
            const struct shape *s = &SHAPES[i];
            struct bench b = {.dense = dense_make(d, d > 2 ? 2 : 1,
                                                  s->exact && d > 1, s->kind,
                                                  s->motion, s->first)};
            if (s->motion > DENSE_HELD && d > 3) continue;
            b.track = dense_data(&b.dense, 8, s->gap, true, 3 * d);
            /* Something is observed in the first row and in the last. */
            b.track.y[0][0] = 0.3;
            b.track.y[0][7] = 0.1;
            b.m = dense_model(&b.dense);
            b.s = dense_series(&b.dense, 1, &b.track);
            claim(&b, s);
            gsv_series_free(b.s);
            gsv_model_free(b.m);
        }
}

static bool is_close(const struct shape *s, double a, quad b, double size)
{
    bool close = fabs(a - (double)b) <= s->tolerance * fmax(1.0, size);
    if (!close) print_error("%s: %.12g, not %.12g\n", s->name, a, (double)b);
    return close;
}

/* --- Given all data ------------------------------------------------------- */

static gsv_smoothed smoothed(const struct bench *b, size_t draws)
{
    gsv_smoothed r;
    gsv_paths_options o = gsv_paths_options_default();
    o.times = b->track.n;
    o.time = b->track.t;
    o.draws = draws;
    int status = gsv_paths(b->m, b->s, &o, &r);
    if (status) print_error("%s\n", gsv_last_error());
    assert_int_equal(status, 0);
    assert_int_equal(r.rows, b->track.n);
    return r;
}

static void claim_smoothed(struct bench *b, const struct shape *s)
{
    static struct dense_joint given;
    size_t d = b->dense.d, n = b->track.n;
    gsv_smoothed r = smoothed(b, 0);
    dense_loglik(&b->dense, &b->track, &given);
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < d; i++) {
            size_t at = i * n + k, e = k * d + i;
            double sd = sqrt(fmax((double)given.cov[e][e], 0.0));
            assert_true(is_close(s, r.mean[at], given.mean[e], sd));
            assert_true(is_close(s, r.sd[at], sd, sd));
            for (size_t q = 0; q < r.quantiles; q++) {
                double z = (r.quantile[q * d * n + at] - r.mean[at]);
                double u = erfc(-z / (sqrt(2.0) * r.sd[at])) / 2.0;
                if (r.sd[at] > 0.0)
                    assert_true(fabs(u - r.probability[q]) < 1e-8);
            }
        }
    gsv_smoothed_free(&r);
}

static void paths__are_the_joint_normal_law(void **state)
{
    (void)state;
    for_all(claim_smoothed);
}

/* Covariances of draws, also between rows. */
static void claim_draws(struct bench *b, const struct shape *s)
{
    enum { DRAWS = 2000 };
    static struct dense_joint given;
    size_t d = b->dense.d, n = b->track.n;
    if (d > 2 || s->kind == DENSE_STIFF || s->first > 10.0) return;
    gsv_smoothed r = smoothed(b, DRAWS);
    dense_loglik(&b->dense, &b->track, &given);
    for (size_t e = 0; e < d * n; e++)
        for (size_t f = 0; f <= e; f += 3) {
            double sum = 0.0;
            size_t a = e % d * n + e / d, c = f % d * n + f / d;
            for (size_t k = 0; k < DRAWS; k++)
                sum += (r.draw[k * d * n + a] - r.mean[a]) *
                       (r.draw[k * d * n + c] - r.mean[c]);
            double ve = r.sd[a] * r.sd[a], vf = r.sd[c] * r.sd[c];
            double cov = (double)given.cov[e][f];
            double error = sqrt((ve * vf + cov * cov) / DRAWS) + 1e-12;
            assert_true(fabs(sum / DRAWS - cov) < 5.0 * error);
        }
    gsv_smoothed_free(&r);
}

static void draws__have_the_joint_covariance(void **state)
{
    (void)state;
    for_all(claim_draws);
}

/* --- Between rows --------------------------------------------------------- */

/* Times between rows are rows in which nothing was observed. */
static void paths__are_the_same_law_between_rows(void **state)
{
    static struct dense_joint given;
    (void)state;
    for (size_t d = 1; d <= 3; d++) {
        struct bench b = {
            .dense = dense_make(d, 1, 0, DENSE_STABLE, DENSE_STILL, 1.0)};
        struct dense_track all = dense_data(&b.dense, 9, 0.3, false, d);
        for (size_t k = 0; k < 9; k++)
            if (k % 2) all.y[0][k] = NAN;
            else {
                size_t to = b.track.n++;
                b.track.t[to] = all.t[k];
                b.track.y[0][to] = all.y[0][k];
            }
        b.m = dense_model(&b.dense);
        b.s = dense_series(&b.dense, 1, &b.track);
        b.track = all;
        gsv_smoothed r = smoothed(&b, 0);
        dense_loglik(&b.dense, &all, &given);
        for (size_t k = 0; k < 9; k++)
            for (size_t i = 0; i < d; i++) {
                size_t e = k * d + i;
                double sd = sqrt((double)given.cov[e][e]);
                assert_true(
                    is_close(SHAPES, r.mean[i * 9 + k], given.mean[e], sd));
                assert_true(is_close(SHAPES, r.sd[i * 9 + k], sd, sd));
            }
        gsv_smoothed_free(&r);
        gsv_series_free(b.s);
        gsv_model_free(b.m);
    }
}

/* --- Given the data so far ------------------------------------------------ */

struct so_far {
    const struct bench *b;
    const struct shape *s;
};

static int compare_law(void *user, size_t n, const struct state_law *law)
{
    static struct dense_joint given;
    const struct so_far *u = user;
    const struct bench *b = u->b;
    size_t d = b->dense.d;
    for (size_t k = 0; k < n; k++) {
        struct dense_track past = b->track;
        size_t row = law[k].row;
        past.n = row + 1;
        /* Before a flat state was seen, it may be anywhere. */
        if (u->s->exact && row < 4) continue;
        dense_loglik(&b->dense, &past, &given);
        for (size_t i = 0; i < d; i++)
            for (size_t j = 0; j <= i; j++) {
                size_t e = row * d + i, f = row * d + j;
                double cov = 0.0;
                for (size_t l = 0; l < d; l++)
                    cov += law[k].root[i * d + l] * law[k].root[j * d + l];
                double size = sqrt(
                    fabs((double)given.cov[e][e] * (double)given.cov[f][f]));
                assert_true(is_close(u->s, cov, given.cov[e][f], size));
                assert_true(is_close(u->s, law[k].x[i], given.mean[e], size));
            }
    }
    return 0;
}

static void claim_filtered(struct bench *b, const struct shape *s)
{
    gsv_options o = gsv_options_default();
    struct so_far user = {b, s};
    struct task t = {.model = b->m, .series = b->s, .options = &o};
    assert_int_equal(
        METHOD_KALMAN.filter(&t, &(struct filter_visitor){&user, compare_law}),
        0);
}

static void filter__is_the_law_of_the_data_so_far(void **state)
{
    (void)state;
    for_all(claim_filtered);
}

/* --- One row ahead -------------------------------------------------------- */

/* The probability of y under the law of its row given those before. */
static double dense_probability(const struct bench *b, size_t row, size_t c)
{
    static struct dense_joint given;
    const struct dense *m = &b->dense;
    struct dense_track past = b->track;
    size_t d = m->d;
    double mean = m->o[c], var = m->r[c] * m->r[c];
    past.n = row + 1;
    for (size_t i = 0; i < m->p; i++)
        past.y[i][row] = NAN;
    dense_loglik(m, &past, &given);
    if (m->motion != DENSE_STILL) mean += 0.1 * past.u[row];
    for (size_t i = 0; i < d; i++) {
        mean += m->H[c * d + i] * (double)given.mean[row * d + i];
        for (size_t j = 0; j < d; j++)
            var += m->H[c * d + i] * m->H[c * d + j] *
                   (double)given.cov[row * d + i][row * d + j];
    }
    return erfc((mean - b->track.y[c][row]) / sqrt(2.0 * var)) / 2.0;
}

static void claim_residuals(struct bench *b, const struct shape *s)
{
    gsv_residuals_result r;
    gsv_predict_options o = gsv_predict_options_default();
    if (s->exact) return;
    assert_int_equal(gsv_residuals(b->m, b->s, &o, &r), 0);
    assert_int_equal(r.draws, 0);
    assert_true(r.rows > 3);
    for (size_t n = 0; n < r.rows; n++)
        for (size_t c = 0; c < b->dense.p; c++) {
            double y = b->track.y[c][r.row[n]], u = r.column[c].u[n];
            assert_true(isnan(y) == isnan(u));
            if (!isnan(y))
                assert_true(fabs(u - dense_probability(b, r.row[n], c)) < 1e-6);
        }
    gsv_residuals_free(&r);
}

static void residuals__are_the_law_one_row_ahead(void **state)
{
    (void)state;
    for_all(claim_residuals);
}

/* --- Forecasts ------------------------------------------------------------ */

/* Of a local level: N(mean, P + q h + r^2), by simulated draws. */
static void predict__begins_with_the_filtered_law(void **state)
{
    static const char TEXT[] = "state x\ndx = 0.8*dW\nobs y ~ normal(x, 0.5)\n"
                               "init x ~ normal(0, 3)\n";
    static const double time[] = {0, 1, 2, 3}, y[] = {0.2, 1.0, 0.7, 1.4};
    static const size_t start[] = {0, 4};
    static const char *const name[] = {"y"};
    const double at = 5.0;
    double mean = 0.0, P = 9.0;
    (void)state;
    for (size_t k = 0; k < 4; k++) {
        if (k) P += 0.64;
        mean += P / (P + 0.25) * (y[k] - mean);
        P = P * 0.25 / (P + 0.25);
    }
    gsv_model *m = gsv_model_parse(TEXT, "level");
    gsv_series *s = gsv_series_new(1, start, 1, name, time, y);
    gsv_predict_options o = gsv_predict_options_default();
    gsv_prediction r;
    o.times = 1;
    o.time = &at;
    o.draws = 1 << 14;
    assert_int_equal(gsv_predict(m, s, &o, &r), 0);
    double sd[] = {sqrt(P + 1.28), sqrt(P + 1.28 + 0.25)};
    assert_int_equal(r.columns, 2);
    for (size_t c = 0; c < 2; c++) {
        double error = sd[c] / sqrt((double)o.draws);
        assert_true(fabs(r.mean[c] - mean) < TOLERANCE * error);
        assert_true(fabs(r.sd[c] - sd[c]) < TOLERANCE * error);
    }
    gsv_prediction_free(&r);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* Whichever allocation fails, it is said, and nothing is left behind. */
static void memory__may_end(void **state)
{
    (void)state;
    for (enum dense_motion k = 0; k < DENSE_MOTIONS; k++) {
        struct bench b = {.dense = dense_make(2, 1, 1, DENSE_STABLE, k, 1.0)};
        b.track = dense_data(&b.dense, 6, 0.3, true, 1);
        b.m = dense_model(&b.dense);
        b.s = dense_series(&b.dense, 1, &b.track);
        gsv_options o = gsv_options_default();
        gsv_paths_options p = gsv_paths_options_default();
        gsv_result r;
        gsv_smoothed paths;
        o.gradient = true;
        p.draws = 2;
        int status[2] = {GSV_NO_MEMORY, GSV_NO_MEMORY};
        for (size_t n = 1; status[0] || status[1]; n++) {
            mem_fail_at(n);
            if (status[0]) status[0] = gsv_loglik(b.m, b.s, &o, &r);
            mem_fail_at(n);
            if (status[1]) status[1] = gsv_paths(b.m, b.s, &p, &paths);
            mem_fail_at(0);
            for (size_t i = 0; i < 2; i++)
                if (status[i]) assert_int_equal(status[i], GSV_NO_MEMORY);
        }
        gsv_result_free(&r);
        gsv_smoothed_free(&paths);
        gsv_series_free(b.s);
        gsv_model_free(b.m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths__are_the_joint_normal_law),
        cmocka_unit_test(draws__have_the_joint_covariance),
        cmocka_unit_test(paths__are_the_same_law_between_rows),
        cmocka_unit_test(filter__is_the_law_of_the_data_so_far),
        cmocka_unit_test(residuals__are_the_law_one_row_ahead),
        cmocka_unit_test(predict__begins_with_the_filtered_law),
        cmocka_unit_test(memory__may_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
