/* SPDX-License-Identifier: MIT */
/* Latent states that inputs drive, where rows have inputs and no observations:
 * before the first one, between them and after the last; against Kalman's
 * filter and smoother. */
#include <stdio.h>

#include "observe_exact.h"

enum { ROWS = 60, MOST_STATES = 3, MOST_TRACKS = 3 };

struct shape {
    size_t d, outputs, tracks;
    bool hold;
    size_t every;         /* so many rows from one observation to the next */
    size_t leading, rows; /* empty rows first; rows of a track             */
    size_t gaps;          /* the input is missing in every such row, or 0  */
    bool noisy;           /* the input scales the noise, too               */
};

static const struct shape SHAPES[] = {
    {.d = 1, .outputs = 1, .tracks = 1, .hold = true, .every = 3, .rows = 40},
    {.d = 1, .outputs = 1, .tracks = 1, .every = 3, .rows = 40},
    {.d = 1,
     .outputs = 1,
     .tracks = 2,
     .hold = true,
     .every = 4,
     .leading = 2,
     .rows = 33},
    {.d = 1, .outputs = 1, .tracks = 3, .every = 4, .leading = 3, .rows = 30},
    {.d = 1,
     .outputs = 1,
     .tracks = 2,
     .hold = true,
     .every = 5,
     .leading = 1,
     .rows = 39,
     .gaps = 2},
    {.d = 1,
     .outputs = 1,
     .tracks = 1,
     .every = 2,
     .leading = 1,
     .rows = 40,
     .gaps = 3},
    {.d = 1,
     .outputs = 1,
     .tracks = 1,
     .hold = true,
     .every = 9,
     .leading = 4,
     .rows = 55},
    {.d = 1,
     .outputs = 1,
     .tracks = 1,
     .hold = true,
     .every = 3,
     .leading = 2,
     .rows = 40,
     .noisy = true},
    {.d = 2,
     .outputs = 2,
     .tracks = 1,
     .hold = true,
     .every = 3,
     .leading = 1,
     .rows = 24},
    {.d = 2, .outputs = 1, .tracks = 2, .every = 3, .rows = 22},
    {.d = 3, .outputs = 3, .tracks = 1, .hold = true, .every = 2, .rows = 20},
    {.d = 3, .outputs = 2, .tracks = 1, .every = 3, .leading = 2, .rows = 20},
};

/* Data of a shape, and what is exact about them. */
struct trial {
    const struct shape *shape;
    size_t start[MOST_TRACKS + 1];
    double t[MOST_TRACKS * ROWS];
    double value[(MOST_STATES + 1) * MOST_TRACKS * ROWS]; /* u, y1, ... */
    double *u, *y;
    double loglik;
    struct exact_law
        law[MOST_TRACKS * ROWS]; /* smoothed; u is the last state */
};

/* --- The input --------------------------------------------------------------
 */

static size_t rows_of(const struct trial *k)
{
    return k->start[k->shape->tracks];
}

/* The next row of [first, end) with an input from a row on, in a direction. */
static size_t knot_from(const struct trial *k, size_t first, size_t end,
                        size_t row, bool back)
{
    while (row >= first && row < end && isnan(k->u[row]))
        row = back ? row - 1 : row + 1;
    return row >= first && row < end ? row : SIZE_MAX;
}

/* Its value and its slope just after a row. */
static void input_after(const struct trial *k, size_t track, size_t row,
                        double *value, double *slope)
{
    size_t first = k->start[track], end = k->start[track + 1];
    size_t a = knot_from(k, first, end, row, true);
    size_t b = knot_from(k, first, end, row + 1, false);
    *slope = 0.0;
    *value = k->u[a != SIZE_MAX ? a : b];
    if (k->shape->hold || a == SIZE_MAX || b == SIZE_MAX) return;
    *slope = (k->u[b] - k->u[a]) / (k->t[b] - k->t[a]);
    *value += *slope * (k->t[row] - k->t[a]);
}

/* --- The model --------------------------------------------------------------
 */

static const double RATE = 1.0, COUPLING = 0.4, NOISE = 0.5, ERROR = 0.3;
static const double GAIN[MOST_STATES] = {1.0, 0.5, -0.5};

static double noise_at(const struct shape *s, double u)
{
    return s->noisy ? NOISE * (0.5 + fabs(u)) : NOISE;
}

/* The states, and the input as one more that moves by its slope. */
static struct exact_linear linear_of(const struct shape *s, double rate,
                                     double u, double slope)
{
    size_t d = s->d, D = d + 1;
    struct exact_linear m = {.d = D, .noises = D, .outputs = s->outputs};
    for (size_t i = 0; i < d; i++) {
        m.A[i * D + i] = -rate;
        if (i) m.A[i * D + i - 1] = COUPLING;
        m.A[i * D + d] = GAIN[i];
        m.G[i * D + i] = noise_at(s, u);
        m.H[i * D + i] = 1.0;
        m.r[i] = ERROR;
        m.m0[i] = 0.2;
        m.P0[i * D + i] = 0.25;
    }
    m.b[d] = slope;
    return m;
}

static gsv_model *model_of_shape(const struct shape *s)
{
    char text[1000];
    size_t n = 0;
    n += (size_t)snprintf(text + n, sizeof text - n,
                          "state x1%s%s\ninput u%s\nparam k = %g > 0\n",
                          s->d > 1 ? ", x2" : "", s->d > 2 ? ", x3" : "",
                          s->hold ? " hold" : "", RATE);
    for (size_t i = 0; i < s->d; i++)
        n += (size_t)snprintf(text + n, sizeof text - n,
                              "dx%zu = (-k*x%zu + %g*x%zu%+g*u)*dt + "
                              "%g*%s*dW%zu\ninit x%zu ~ normal(0.2, 0.5)\n",
                              i + 1, i + 1, i ? COUPLING : 0.0, i ? i : 1,
                              GAIN[i], NOISE, s->noisy ? "(0.5 + abs(u))" : "1",
                              i + 1, i + 1);
    for (size_t i = 0; i < s->outputs; i++)
        n += (size_t)snprintf(text + n, sizeof text - n,
                              "obs y%zu ~ normal(x%zu, %g)\n", i + 1, i + 1,
                              ERROR);
    return model_of(text);
}

/* --- The data ---------------------------------------------------------------
 */

static void lay_out(struct trial *k, const struct shape *s)
{
    *k = (struct trial){.shape = s};
    for (size_t r = 0; r < s->tracks; r++)
        k->start[r + 1] = k->start[r] + s->rows - r;
    size_t n = rows_of(k);
    k->u = k->value;
    k->y = k->value + n;
    for (size_t i = 0; i < (s->outputs + 1) * n; i++)
        k->value[i] = NAN;
    for (size_t r = 0; r < s->tracks; r++)
        for (size_t row = k->start[r], i = 0; row < k->start[r + 1];
             row++, i++) {
            k->t[row] = i ? k->t[row - 1] + 0.1 * (1.0 + 0.5 * sin((double)i))
                          : 0.3 * (double)r;
            if (s->gaps && i % s->gaps == 1) continue;
            k->u[row] = i % 5 == 1 ? 3.0 : sin(0.7 * (double)(row + r));
        }
}

static bool has_output(const struct trial *k, size_t track, size_t row,
                       size_t i)
{
    const struct shape *s = k->shape;
    size_t at = row - k->start[track], last = s->rows - track - 3;
    return at >= s->leading && at <= last && at % s->every == 0 &&
           !(i && (at / s->every) % 3 == 1);
}

/* Conditions the input's state on its value. */
static void set_input(struct exact_law *law, double u)
{
    size_t d = law->d - 1;
    law->mean[d] = u;
    for (size_t i = 0; i <= d; i++)
        law->cov[i * (d + 1) + d] = law->cov[d * (d + 1) + i] = 0.0;
}

/* One track forward; where draw (rows, ...) is given the values are drawn from
 * their own law given those before. */
static double filter(struct trial *k, size_t track, double rate,
                     const double *draw, struct exact_gap *gap,
                     struct exact_law *law)
{
    const struct shape *s = k->shape;
    size_t n = rows_of(k);
    double loglik = 0.0, u, slope;
    struct exact_law now;
    for (size_t row = k->start[track]; row < k->start[track + 1]; row++) {
        input_after(k, track, row, &u, &slope);
        struct exact_linear m = linear_of(s, rate, u, slope);
        if (row == k->start[track]) now = exact_first(&m);
        else now = exact_predict(&now, &gap[row - 1]);
        set_input(&now, u);
        for (size_t i = 0; i < s->outputs; i++) {
            if (!has_output(k, track, row, i)) continue;
            double *y = &k->y[i * n + row];
            double spread = sqrt(now.cov[i * (s->d + 2)] + ERROR * ERROR);
            if (draw) *y = now.mean[i] + spread * draw[i * n + row];
            loglik += exact_condition(&now, m.H + i * m.d, ERROR, *y);
        }
        law[row] = now;
        if (row + 1 < k->start[track + 1])
            gap[row] = exact_transition(&m, k->t[row + 1] - k->t[row]);
    }
    return loglik;
}

static double exact_loglik(struct trial *k, double rate, const double *draw)
{
    size_t n = rows_of(k);
    struct exact_gap *gap = NEW(struct exact_gap, n);
    double sum = 0.0;
    for (size_t r = 0; r < k->shape->tracks; r++)
        sum += filter(k, r, rate, draw, gap, k->law);
    mem_free(gap);
    return sum;
}

/* Smoothed laws of all rows of a track, states alone: the input is known. */
static void smooth_all(struct trial *k)
{
    size_t n = rows_of(k), d = k->shape->d, D = d + 1;
    struct exact_gap *gap = NEW(struct exact_gap, n);
    for (size_t r = 0; r < k->shape->tracks; r++) {
        filter(k, r, RATE, NULL, gap, k->law);
        for (size_t row = k->start[r]; row < k->start[r + 1]; row++) {
            struct exact_law *law = &k->law[row], less = {.d = d};
            struct exact_gap *g = &gap[row], small = {.c = {0}};
            for (size_t i = 0; i < d; i++) {
                less.mean[i] = law->mean[i];
                small.c[i] = g->c[i] + g->F[i * D + d] * law->mean[d];
                for (size_t j = 0; j < d; j++) {
                    less.cov[i * d + j] = law->cov[i * D + j];
                    small.F[i * d + j] = g->F[i * D + j];
                    small.Q[i * d + j] = g->Q[i * D + j];
                }
            }
            *law = less;
            *g = small;
        }
        for (size_t row = k->start[r + 1] - 1; row-- > k->start[r];)
            exact_smooth(&gap[row], &k->law[row + 1], &k->law[row]);
    }
    mem_free(gap);
}

static void trial_make(struct trial *k, const struct shape *s)
{
    lay_out(k, s);
    double *draw = normals(rows_of(k) * s->outputs, 5);
    k->loglik = exact_loglik(k, RATE, draw);
    mem_free(draw);
}

static gsv_series *series_of(const struct trial *k)
{
    static const char *const NAME[] = {"u", "y1", "y2", "y3"};
    gsv_series *s = gsv_series_new(k->shape->tracks, k->start,
                                   k->shape->outputs + 1, NAME, k->t, k->value);
    if (!s) fail_msg("%s", gsv_last_error());
    return s;
}

/* --- Likelihoods ------------------------------------------------------------
 */

/* One trial of a shape with all that a test needs. */
struct bench {
    struct trial k;
    gsv_model *model;
    gsv_series *series;
};

static void bench_open(struct bench *b, const struct shape *s)
{
    trial_make(&b->k, s);
    b->model = model_of_shape(s);
    b->series = series_of(&b->k);
}

static void bench_close(struct bench *b)
{
    gsv_series_free(b->series);
    gsv_model_free(b->model);
}

static gsv_result run(const struct bench *b, enum gsv_observe kind,
                      uint64_t seed, bool gradient)
{
    gsv_options o = default_options();
    o.observe = kind;
    o.seed = seed;
    if (kind != GSV_OBSERVE_SCAN) o.points = 128;
    o.gradient = gradient;
    return loglik_of(b->model, b->series, &o);
}

/* Held inputs leave nothing to be wrong about: points drawn from the law of the
 * states all have the same weight. Linear ones leave what the drift changes by
 * within a step, and in a scan what is between its points. */
static void loglik__is_kalmans(void **state)
{
    (void)state;
    for (size_t c = 0; c < COUNT(SHAPES); c++) {
        struct bench b;
        bench_open(&b, &SHAPES[c]);
        double most = SHAPES[c].hold ? 1e-6 : 3e-3;
        gsv_result r = run(&b, GSV_OBSERVE_GUIDED, 1, false);
        assert_near(r.loglik, b.k.loglik, most);
        assert_int_equal(r.flagged, 0);
        gsv_result_free(&r);
        r = run(&b, GSV_OBSERVE_VARIATIONAL, 1, false);
        assert_near(r.loglik, b.k.loglik, most + 4.0 * r.error);
        assert_int_equal(r.flagged, 0);
        gsv_result_free(&r);
        r = run(&b, GSV_OBSERVE_SCAN, 1, false);
        if (SHAPES[c].d == 1) assert_near(r.loglik, b.k.loglik, 3e-3);
        else assert_near(r.loglik, b.k.loglik, r.error);
        if (SHAPES[c].d == 1) assert_int_equal(r.flagged, 0);
        gsv_result_free(&r);
        bench_close(&b);
    }
}

/* It knows nothing of the equation, so that it is for a few rows only. */
static void loglik__of_conjugate_draws_is_kalmans(void **state)
{
    (void)state;
    static const struct shape FEW[] = {
        {.d = 1,
         .outputs = 1,
         .tracks = 1,
         .hold = true,
         .every = 2,
         .leading = 1,
         .rows = 7},
        {.d = 1, .outputs = 1, .tracks = 2, .every = 2, .rows = 7},
        {.d = 2,
         .outputs = 2,
         .tracks = 1,
         .hold = true,
         .every = 1,
         .leading = 1,
         .rows = 5},
    };
    for (size_t c = 0; c < COUNT(FEW); c++) {
        struct bench b;
        bench_open(&b, &FEW[c]);
        gsv_options o = default_options();
        o.observe = GSV_OBSERVE_CONJUGATE;
        o.points = 1 << 13;
        gsv_result r = loglik_of(b.model, b.series, &o);
        print_message("%zu: %.4f, off by %.4f +- %.4f\n", c, b.k.loglik,
                      r.loglik - b.k.loglik, r.error);
        assert_near(r.loglik, b.k.loglik, 4.0 * r.error);
        assert_true(r.error < 0.1);
        gsv_result_free(&r);
        bench_close(&b);
    }
}

/* Of rows that have no observations nothing is said, and nothing is lost. */
static void rows__are_those_with_observations(void **state)
{
    (void)state;
    for (size_t c = 0; c < COUNT(SHAPES); c++)
        for (int kind = GSV_OBSERVE_SCAN; kind <= GSV_OBSERVE_VARIATIONAL;
             kind++) {
            struct bench b;
            bench_open(&b, &SHAPES[c]);
            gsv_options o = default_options();
            o.observe = (enum gsv_observe)kind;
            o.points = 16;
            gsv_result r = loglik_of(b.model, b.series, &o);
            double sum = 0.0;
            size_t before = SIZE_MAX;
            for (size_t g = 0; g < r.groups; g++) {
                bool first = !g || r.gap[g].track != r.gap[g - 1].track;
                assert_true(b.k.y[r.gap[g].to] == b.k.y[r.gap[g].to]);
                assert_true(r.gap[g].from == (first ? r.gap[g].to : before));
                before = r.gap[g].to;
                sum += r.gap[g].loglik;
            }
            assert_near(sum, r.loglik, 1e-9 * fabs(sum) + 1e-9);
            gsv_result_free(&r);
            bench_close(&b);
        }
}

static void gradient__is_kalmans(void **state)
{
    (void)state;
    static const enum gsv_observe KINDS[] = {GSV_OBSERVE_SCAN,
                                             GSV_OBSERVE_GUIDED};
    enum { SEEDS = 6 };
    const double step = 1e-4;
    for (size_t c = 0; c < COUNT(SHAPES); c++) {
        struct bench b;
        bench_open(&b, &SHAPES[c]);
        double up = exact_loglik(&b.k, RATE + step, NULL);
        double down = exact_loglik(&b.k, RATE - step, NULL);
        double exact = (up - down) / (2.0 * step);
        for (size_t i = SHAPES[c].d > 1; i < COUNT(KINDS); i++) {
            double sum = 0.0, squares = 0.0;
            for (uint64_t seed = 1; seed <= SEEDS; seed++) {
                gsv_result r = run(&b, KINDS[i], seed, true);
                sum += r.gradient[0] / SEEDS;
                squares += r.gradient[0] * r.gradient[0] / SEEDS;
                gsv_result_free(&r);
            }
            double spread = fmax(squares - sum * sum, 0.0) / (SEEDS - 1.0);
            assert_near(sum, exact, 3e-3 + 4.0 * sqrt(spread));
        }
        bench_close(&b);
    }
}

/* --- What comes of it --------------------------------------------------------
 */

static void paths__are_the_smoothers(void **state)
{
    (void)state;
    for (size_t c = 0; c < COUNT(SHAPES); c++) {
        struct bench b;
        bench_open(&b, &SHAPES[c]);
        if (SHAPES[c].d > 1) {
            bench_close(&b);
            continue;
        }
        smooth_all(&b.k);
        gsv_paths_options o = gsv_paths_options_default();
        gsv_smoothed s;
        o.estimator.paths = 512;
        assert_int_equal(gsv_paths(b.model, b.series, &o, &s), 0);
        for (size_t i = 0, row = 0; i < s.rows; i++, row++) {
            bool first = !i || s.track[i] != s.track[i - 1];
            if (first) row = b.k.start[s.track[i]];
            assert_near(s.time[i], b.k.t[row], 1e-12);
            const struct exact_law *law = &b.k.law[row];
            double sd = sqrt(law->cov[0]);
            double most = 5.0 * sd / sqrt((double)o.estimator.paths);
            assert_near(s.mean[i], law->mean[0], most);
            assert_near(s.sd[i], sd, most);
        }
        gsv_smoothed_free(&s);
        bench_close(&b);
    }
}

/* The values were drawn from their laws given all before by these numbers. */
static void residuals__are_the_innovations(void **state)
{
    (void)state;
    for (size_t c = 0; c < COUNT(SHAPES); c++) {
        struct bench b;
        bench_open(&b, &SHAPES[c]);
        double *draw = normals(rows_of(&b.k) * SHAPES[c].outputs, 5);
        gsv_predict_options o = gsv_predict_options_default();
        gsv_residuals_result r;
        double square = 0.0;
        if (SHAPES[c].d == 1) {
            o.draws = 1024;
            assert_int_equal(gsv_residuals(b.model, b.series, &o, &r), 0);
            for (size_t i = 0; i < r.rows; i++) {
                double u = 0.5 * erfc(-draw[r.row[i]] / sqrt(2.0));
                square += (r.column[0].u[i] - u) * (r.column[0].u[i] - u);
            }
            square = sqrt(square / (double)r.rows);
            print_message("%zu: off by %.4f\n", c, square);
            assert_true(square < 0.025);
            gsv_residuals_free(&r);
        }
        mem_free(draw);
        bench_close(&b);
    }
}

static void forecasts__follow_inputs_that_come_later(void **state)
{
    (void)state;
    for (size_t c = 0; c < COUNT(SHAPES); c++) {
        struct bench b;
        bench_open(&b, &SHAPES[c]);
        size_t last = b.k.start[1] - 1;
        const double time[] = {b.k.t[last]};
        gsv_predict_options o = gsv_predict_options_default();
        gsv_prediction p;
        if (SHAPES[c].tracks > 1 || SHAPES[c].d > 1) {
            bench_close(&b);
            continue;
        }
        smooth_all(&b.k);
        o.draws = 1 << 10;
        o.times = 1;
        o.time = time;
        assert_int_equal(gsv_predict(b.model, b.series, &o, &p), 0);
        const struct exact_law *law = &b.k.law[last];
        double sd = sqrt(law->cov[0]);
        double most = 5.0 * sd / sqrt((double)p.draws);
        assert_near(p.mean[0], law->mean[0], most);
        assert_near(p.sd[0], sd, most);
        gsv_prediction_free(&p);
        bench_close(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loglik__is_kalmans),
        cmocka_unit_test(loglik__of_conjugate_draws_is_kalmans),
        cmocka_unit_test(rows__are_those_with_observations),
        cmocka_unit_test(gradient__is_kalmans),
        cmocka_unit_test(paths__are_the_smoothers),
        cmocka_unit_test(residuals__are_the_innovations),
        cmocka_unit_test(forecasts__follow_inputs_that_come_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
