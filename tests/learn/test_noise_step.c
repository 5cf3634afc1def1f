/* SPDX-License-Identifier: MIT */
/* Natural steps of the noise against the covariance that they lead to, which
 * is known where there is no drift. */
#include "learn.h"

#include "learn/noise_step.h"
#include "learn/objective.h"
#include "model/model.h"

enum { ROWS = 81, DIM = 3 };

/* A model on its data, with what a fit has for its steps. */
struct trial {
    gsv_model *m;
    gsv_series *s;
    size_t n, d;
    bool *fixed;
    double *theta, *gradient;
    struct objective slopes;
    struct noise_step noise;
};

static void trial_open(struct trial *t, const char *text)
{
    *t = (struct trial){.m = model_of(text)};
    t->n = gsv_theta_size(t->m);
    t->d = gsv_model_dim(t->m);
    t->s = walk_of(t->m, 1, ROWS, 0.1, 7);
    /* States that move together, and of different sizes. */
    for (size_t k = 1; k < t->d; k++)
        for (size_t i = 0; i < ROWS; i++) {
            double *x = t->s->value + k * ROWS + i;
            *x = 0.3 * (double)k * *x + 0.5 * t->s->value[i];
        }
    t->fixed = NEW(bool, t->n);
    t->theta = NEW(double, t->n);
    t->gradient = NEW(double, t->n);
    gsv_theta_get(t->m, t->theta);
    gsv_options o = gsv_options_default();
    o.gradient = o.wide = true;
    o.threads = 1;
    const struct task task = {
        .series = t->s, .options = &o, .objective = GSV_OBJECTIVE_SLOPES};
    assert_int_equal(objective_init(&t->slopes, t->m, &task), 0);
}

static void trial_begin(struct trial *t)
{
    assert_int_equal(noise_step_init(&t->noise, t->m, t->s, t->fixed), 0);
}

static void trial_close(struct trial *t)
{
    noise_step_free(&t->noise);
    objective_free(&t->slopes);
    MEM_FREE(t->fixed, t->theta, t->gradient);
    free_both(t->m, t->s);
}

static void trial_step(struct trial *t, double share)
{
    struct score score;
    int status =
        objective_at(&t->slopes, t->theta, 1, 0, NULL, &score, t->gradient);
    if (status) fail_msg("%s", gsv_last_error());
    noise_step_move(&t->noise, share, t->gradient, t->theta);
    gsv_theta_set(t->m, t->theta);
}

/* The mean of the squared moves per time, over a shape at their beginnings. */
static void sample_covariance(const struct trial *t, bool shaped, double *S)
{
    const gsv_series *s = t->s;
    for (size_t k = 0; k < t->d; k++)
        for (size_t j = 0; j < t->d; j++) {
            S[k * t->d + j] = 0.0;
            for (size_t i = 0; i + 1 < ROWS; i++) {
                const double *x = s->value + k * ROWS + i;
                const double *y = s->value + j * ROWS + i;
                double h = s->time[i + 1] - s->time[i];
                double shape = shaped ? 1.0 + *x * *x : 1.0;
                S[k * t->d + j] +=
                    (x[1] - x[0]) * (y[1] - y[0]) / (h * shape * (ROWS - 1));
            }
        }
}

static void covariance(const struct trial *t, double *C)
{
    static const double time = 0.0, x[DIM] = {0};
    double g[DIM * DIM];
    size_t d = t->d, n = gsv_model_noises(t->m);
    assert_int_equal(gsv_model_diffusion(t->m, 1, &time, x, NULL, g), 0);
    for (size_t k = 0; k < d; k++)
        for (size_t j = 0; j < d; j++) {
            C[k * d + j] = 0.0;
            for (size_t i = 0; i < n; i++)
                C[k * d + j] += g[k * n + i] * g[j * n + i];
        }
}

static const struct {
    const char *text;
    bool diagonal, shaped;
} MODELS[] = {
    {"state x\n param s = 1 > 0\n dx = 0*dt + s*dW", true, false},
    {"state x\n param s = 1\n dx = 0*dt + s*dW", true, false},
    {"state x\n param s = 0.5 in (0.01, 3)\n dx = 0*dt + s*dW", true, false},
    {"state x\n param v = 1\n dx = 0*dt + exp(v)*dW", true, false},
    {"state x\n param s = 1 > 0\n dx = 0*dt + s*sqrt(1 + x^2)*dW", true, true},
    {"state x[2]\n param s[2] = 0.7 > 0\n dx = 0*dt + s*dW", true, false},
    {"state x[3]\n param s[3] = 1 > 0\n dx = 0*dt + s*dW", true, false},
    {"state x[2]\n param L[2,2] = 1 lower\n dx = 0*dt + L @ dW", false, false},
    {"state x[3]\n param L[3,3] = 0.6 lower\n dx = 0*dt + L @ dW", false,
     false},
    {"state x[2]\n param G[2,2] = [1, 0.3, 0.2, 0.8]\n dx = 0*dt + G @ dW",
     false, false},
};

static void expect_covariance(const struct trial *t, size_t i, double allowed)
{
    double more = 1.0 / (1.0 - t->noise.spent);
    double S[DIM * DIM], C[DIM * DIM];
    sample_covariance(t, MODELS[i].shaped, S);
    covariance(t, C);
    for (size_t k = 0; k < t->d; k++)
        for (size_t j = 0; j < t->d; j++) {
            if (MODELS[i].diagonal && k != j) continue;
            double size = sqrt(S[k * (t->d + 1)] * S[j * (t->d + 1)]);
            double wanted = more * S[k * t->d + j];
            if (!(fabs(C[k * t->d + j] - wanted) <= allowed * size))
                fail_msg("model %zu: (%zu, %zu) is %.12g instead of %.12g", i,
                         k, j, C[k * t->d + j], wanted);
        }
}

/* Every parametrisation, in a few whole steps; also where a drift has fitted a
 * part of the moves. */
static void noise_step__leads_to_the_samples_covariance(void **state)
{
    (void)state;
    for (size_t j = 0; j < 2 * COUNT(MODELS); j++) {
        struct trial t;
        size_t i = j / 2;
        trial_open(&t, MODELS[i].text);
        trial_begin(&t);
        t.noise.spent = j % 2 ? 0.2 : 0.0;
        assert_int_equal(t.noise.n, t.n);
        for (int k = 0; k < 10; k++)
            trial_step(&t, 1.0);
        /* The part that is spent is multiplied by differences over 1e-4. */
        expect_covariance(&t, i, t.noise.spent > 0.0 ? 1e-4 : 1e-7);
        for (size_t k = 0; k < t.n; k++)
            assert_true(t.gradient[k] == 0.0);
        trial_close(&t);
    }
}

/* A share of the way is that of sigma, whatever its parameters. */
static void noise_step__moves_by_its_share(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(MODELS); i++) {
        struct trial t;
        double S[DIM * DIM], C[DIM * DIM];
        trial_open(&t, MODELS[i].text);
        trial_begin(&t);
        for (int k = 0; k < 10; k++)
            trial_step(&t, 1.0);
        covariance(&t, S);
        for (size_t j = 0; j < t.s->columns * ROWS; j++)
            t.s->value[j] *= MODELS[i].shaped ? 1.0 : 1.05;
        trial_step(&t, 0.2);
        covariance(&t, C);
        /* 1.05^2 = 1 + 0.1025: of the variance, up to second order. */
        for (size_t k = 0; !MODELS[i].shaped && k < t.d; k++)
            assert_near(C[k * (t.d + 1)] / S[k * (t.d + 1)], 1.0 + 0.2 * 0.1025,
                        0.002);
        trial_close(&t);
    }
}

/* Sigma by half of itself at most; faster down, where all residuals are far
 * smaller than it. */
static void noise_step__comes_from_far_away(void **state)
{
    (void)state;
    static const double FACTOR[] = {1e-3, 1e3};
    for (size_t i = 0; i < 2; i++) {
        struct trial t;
        double S, C, before;
        trial_open(&t, MODELS[0].text);
        trial_begin(&t);
        sample_covariance(&t, false, &S);
        t.theta[0] = 0.5 * log(S) + log(FACTOR[i]);
        for (int k = 0; k < 25; k++) {
            before = t.theta[0];
            trial_step(&t, i ? 0.1 : 1.0);
            assert_true(fabs(t.theta[0] - before) <= 0.5 + 1e-9);
        }
        covariance(&t, &C);
        assert_true(fabs(log(C / S)) < 0.6);
        trial_close(&t);
    }
}

static void noise_step__leaves_fixed_numbers(void **state)
{
    (void)state;
    static const size_t MODEL[] = {6, 8};
    for (size_t i = 0; i < COUNT(MODEL); i++)
        for (size_t which = 0; which < 3; which++) {
            struct trial t;
            trial_open(&t, MODELS[MODEL[i]].text);
            double kept = t.theta[which];
            t.fixed[which] = true;
            trial_begin(&t);
            assert_int_equal(t.noise.n, t.n - 1);
            /* Whole steps would be too long where what is fixed is wrong. */
            for (int k = 0; k < 1500; k++)
                trial_step(&t, 0.2);
            assert_true(t.theta[which] == kept);
            assert_true(t.gradient[which] != 0.0);
            /* A maximum over the others. */
            struct score score;
            objective_at(&t.slopes, t.theta, 1, 0, NULL, &score, t.gradient);
            for (size_t j = 0; j < t.n; j++)
                if (j != which) assert_near(t.gradient[j], 0.0, 1e-7);
            trial_close(&t);
        }
}

static void noise_step__leaves_what_it_is_not_for(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t n;
    } OTHER[] = {
        {"state x\n param s = 1 > 0\n dx = -s*x*dt + s*dW", 0},
        {"state x\n param k = 1, s = 1 > 0\n dx = -k*x*dt + s*dW", 1},
        {"state x\n param k = 1, s = 1 > 0\n dx = -k*s*x*dt + s*dW", 0},
        {"state x\n param k = 1\n dx = -k*x*dt + dW", 0},
        {"state x\n net g(x) -> 1 : 4\n param s = 1 > 0\n"
         "dx = -x*dt + s*exp(g)*dW",
         0},
        {"state x\n net f(x) -> 1 : 4\n param s = 1 > 0\n dx = f*dt + s*dW", 1},
    };
    for (size_t i = 0; i < COUNT(OTHER); i++) {
        struct trial t;
        trial_open(&t, OTHER[i].text);
        trial_begin(&t);
        assert_int_equal(t.noise.n, OTHER[i].n);
        double *first = NEW(double, t.n);
        memcpy(first, t.theta, t.n * sizeof *first);
        trial_step(&t, 1.0);
        for (size_t j = 0; j < t.n; j++) {
            bool its = t.noise.n && j == t.noise.place[0];
            assert_true(its == (t.theta[j] != first[j]));
            if (its) assert_true(t.gradient[j] == 0.0);
        }
        mem_free(first);
        trial_close(&t);
    }
}

/* A gradient that is not finite, or none at all, moves nothing away. */
static void noise_step__stays_finite(void **state)
{
    (void)state;
    static const double BAD[] = {0.0, 1e300, -1e300, NAN, INFINITY};
    for (size_t i = 0; i < COUNT(MODELS) * COUNT(BAD); i++) {
        struct trial t;
        trial_open(&t, MODELS[i / COUNT(BAD)].text);
        trial_begin(&t);
        for (size_t j = 0; j < t.n; j++)
            t.gradient[j] = BAD[i % COUNT(BAD)];
        noise_step_move(&t.noise, 1.0, t.gradient, t.theta);
        for (size_t j = 0; j < t.n; j++)
            if (!isfinite(t.theta[j]) || t.gradient[j] != 0.0)
                fail_msg("model %zu, gradient %g: number %zu is %g",
                         i / COUNT(BAD), BAD[i % COUNT(BAD)], j, t.theta[j]);
        trial_close(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(noise_step__leads_to_the_samples_covariance),
        cmocka_unit_test(noise_step__moves_by_its_share),
        cmocka_unit_test(noise_step__comes_from_far_away),
        cmocka_unit_test(noise_step__leaves_fixed_numbers),
        cmocka_unit_test(noise_step__leaves_what_it_is_not_for),
        cmocka_unit_test(noise_step__stays_finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
