/* SPDX-License-Identifier: MIT */
/* Whether an estimate from noisy observations says of itself that it is wrong,
 * where it is, and only there: against Kalman's filter and a grid. */
#include <stdio.h>

#include "observe_exact.h"

enum { MOST_ROWS = 400, SEEDS = SLOWER > 1 ? 1 : 3 };

/* A value is wrong by this much, and more than its own error says. Where those
 * of all seeds are right by this much, none of them must say that it is not:
 * elsewhere one may be right by chance. */
static const double WRONG = 0.15, RIGHT = 0.02;

struct verdicts {
    size_t right, wrong;        /* values               */
    size_t false_alarm, missed; /* and how many of them */
};

/* Values of one model and size. */
struct values {
    double off[SEEDS];
    size_t flagged, count;
};

static void add(struct verdicts *v, struct values *of, double off,
                const gsv_result *r)
{
    double error = r->observe == GSV_OBSERVE_GUIDED ? 4.0 * r->error : 0.0;
    bool wrong = !(fabs(off) < fmax(WRONG, error));
    v->wrong += wrong;
    v->missed += wrong && !r->flagged;
    of->off[of->count++] = off;
    of->flagged += r->flagged > 0;
}

static void judge(struct verdicts *v, const char *what, double size,
                  const struct values *of)
{
    double square = 0.0;
    for (size_t i = 0; i < of->count; i++)
        square += of->off[i] * of->off[i] / (double)of->count;
    bool right = sqrt(square) < RIGHT;
    print_message("%s %g: %.4f off, %zu of %zu flagged\n", what, size,
                  sqrt(square), of->flagged, of->count);
    v->right += right ? of->count : 0;
    v->false_alarm += right ? of->flagged : 0;
}

static gsv_series *series_of(size_t n, const double *t, size_t columns,
                             const double *y)
{
    static const char *const NAME[] = {"y1", "y2", "y3"};
    const size_t start[2] = {0, n};
    gsv_series *s = gsv_series_new(1, start, columns, NAME, t, y);
    if (!s) fail_msg("%s", gsv_last_error());
    return s;
}

/* --- Linear models ----------------------------------------------------------
 */

struct linear_case {
    const char *name;
    size_t d, outputs, seen[2]; /* states that are observed */
    double A[9], G[3];
};

static const struct linear_case CASES[] = {
    {"ou", 1, 1, {0}, {-1}, {1}},
    {"spring", 2, 1, {0}, {0, 1, -1, -0.5}, {0.01, 0.5}},
    {"turning", 2, 2, {0, 1}, {-1, 1, -1, -0.5}, {0.7, 0.7}},
    {"chain", 3, 2, {0, 2}, {-1, 1, 0, -1, -1, 1, 0, -1, -1}, {0.7, 0.7, 0.7}},
};

static const struct {
    double noise, length;
    size_t rows;
} SIZES[] = {{0.03, 10, 50}, {0.03, 40, 20}, {0.3, 10, 50},
             {0.3, 10, 400}, {1.0, 10, 50},  {1.0, 10, 400}};

static struct exact_linear exact_of(const struct linear_case *c, double noise)
{
    struct exact_linear m = {.d = c->d, .noises = c->d, .outputs = c->outputs};
    memcpy(m.A, c->A, c->d * c->d * sizeof *m.A);
    for (size_t i = 0; i < c->d; i++) {
        m.G[i * c->d + i] = c->G[i];
        m.P0[i * c->d + i] = 1.0;
    }
    for (size_t k = 0; k < c->outputs; k++) {
        m.H[k * c->d + c->seen[k]] = 1.0;
        m.r[k] = noise;
    }
    return m;
}

static gsv_model *linear_model(const struct linear_case *c, double noise)
{
    char text[1000];
    size_t n = 0, d = c->d;
    n += (size_t)snprintf(text + n, sizeof text - n, "state x[%zu]\n", d);
    for (size_t k = 0; k < 2; k++) {
        n += (size_t)snprintf(text + n, sizeof text - n,
                              "const %s[%zu,%zu] = [", k ? "G" : "A", d, d);
        for (size_t i = 0; i < d * d; i++)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%g",
                                  i ? ", " : "",
                                  !k            ? c->A[i]
                                  : i % (d + 1) ? 0.0
                                                : c->G[i / d]);
        n += (size_t)snprintf(text + n, sizeof text - n, "]\n");
    }
    n += (size_t)snprintf(text + n, sizeof text - n,
                          "dx = A @ x*dt + G @ dW\ninit x ~ normal(0, 1)\n");
    for (size_t k = 0; k < c->outputs; k++)
        n += (size_t)snprintf(text + n, sizeof text - n,
                              "obs y%zu ~ normal(x[%zu], %g)\n", k + 1,
                              c->seen[k] + 1, noise);
    return model_of(text);
}

static void run_linear(const struct linear_case *c, enum gsv_observe kind,
                       struct verdicts *v)
{
    double t[MOST_ROWS], x[3 * MOST_ROWS], y[2 * MOST_ROWS];
    for (size_t i = 0; i < COUNT(SIZES); i++) {
        struct exact_linear m = exact_of(c, SIZES[i].noise);
        size_t n = SIZES[i].rows;
        struct values of = {.count = 0};
        exact_times(n, SIZES[i].length / (double)n, 0.0, t);
        gsv_model *model = linear_model(c, SIZES[i].noise);
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            exact_linear_data(&m, n, t, seed, x, y);
            gsv_series *s = series_of(n, t, c->outputs, y);
            gsv_options o = default_options();
            o.observe = kind;
            o.seed = seed;
            gsv_result r = loglik_of(model, s, &o);
            add(v, &of, r.loglik - exact_kalman(&m, n, t, y, NULL), &r);
            gsv_result_free(&r);
            gsv_series_free(s);
        }
        judge(v, c->name, SIZES[i].noise, &of);
        gsv_model_free(model);
    }
}

static void expect(const struct verdicts *v, size_t right, size_t wrong)
{
    print_message("%zu right, %zu wrong; %zu false alarms, %zu missed\n",
                  v->right, v->wrong, v->false_alarm, v->missed);
    assert_true(v->right >= right && v->wrong >= wrong);
    assert_int_equal(v->missed, 0);
    assert_int_equal(v->false_alarm, 0);
}

static void scan__warns_where_it_is_wrong(void **state)
{
    (void)state;
    struct verdicts v = {0};
    for (size_t c = 0; c < COUNT(CASES); c++)
        run_linear(&CASES[c], GSV_OBSERVE_SCAN, &v);
    expect(&v, 12 * SEEDS, 5 * SEEDS);
}

/* Particles are exact where all is linear. */
static void particles__do_not_warn_where_they_are_exact(void **state)
{
    (void)state;
    struct verdicts v = {0};
    for (size_t c = 0; c < COUNT(CASES); c++)
        run_linear(&CASES[c], GSV_OBSERVE_GUIDED, &v);
    expect(&v, COUNT(CASES) * COUNT(SIZES) * SEEDS, 0);
    assert_int_equal(v.wrong, 0);
}

/* --- A double well -----------------------------------------------------------
 */

static void well__warns_where_it_is_wrong(void **state)
{
    (void)state;
    enum { N = 60 };
    static const enum gsv_observe KINDS[] = {GSV_OBSERVE_SCAN,
                                             GSV_OBSERVE_GUIDED};
    static const double NOISE[] = {0.05, 0.3, 1.0};
    struct exact_range range = {.low = -3.0, .high = 3.0, .cells = 151};
    struct verdicts v = {0};
    double t[N], x[N], y[N];
    exact_times(N, 0.2, 0.0, t);
    for (size_t i = 0; i < COUNT(NOISE); i++) {
        char text[300];
        struct exact_noise noise = {.y = y, .r = NOISE[i]};
        struct exact_diffusion m = {.drift = exact_well,
                                    .s = 0.5,
                                    .d0 = 1.0,
                                    .log_density = exact_noise_density,
                                    .user = &noise};
        exact_diffusion_data(&m, N, t, NOISE[i], 5, x, y);
        double exact = exact_grid_filter(&m, &range, N, t, NULL, NULL);
        snprintf(text, sizeof text,
                 "state x\n dx = (x - x^3)*dt + 0.5*dW\n"
                 "obs y1 ~ normal(x, %g)\n init x ~ normal(0, 1)",
                 NOISE[i]);
        gsv_model *model = model_of(text);
        gsv_series *s = series_of(N, t, 1, y);
        for (size_t k = 0; k < COUNT(KINDS); k++)
            for (size_t J = 4; J <= 32; J *= 8) {
                struct values of = {.count = 0};
                gsv_options o = default_options();
                o.observe = KINDS[k];
                o.points = k ? 8 * J : J;
                for (o.seed = 1; o.seed <= SEEDS; o.seed++) {
                    gsv_result r = loglik_of(model, s, &o);
                    add(&v, &of, r.loglik - exact, &r);
                    gsv_result_free(&r);
                }
                judge(&v, k ? "well by particles" : "well by scan", NOISE[i],
                      &of);
            }
        gsv_series_free(s);
        gsv_model_free(model);
    }
    expect(&v, 3 * SEEDS, 3 * SEEDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scan__warns_where_it_is_wrong),
        cmocka_unit_test(particles__do_not_warn_where_they_are_exact),
        cmocka_unit_test(well__warns_where_it_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
