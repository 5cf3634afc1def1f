/* SPDX-License-Identifier: MIT */
/* States without noise of their own move jointly with those that have it: the
 * covariance of a step, and of many, against the exact one of linear equations.
 * A step is affine in the state, dW and zeta, so its covariance is read off the
 * steps of unit vectors, without random numbers. */
#include "observe_exact.h"
#include "schemes.h"

enum { MOST = 5 };

static const struct linear_case {
    const char *name, *drift[MOST];
    size_t d;
    double A[MOST][MOST], G[MOST];
} CASES[] = {
    {"oscillator", {"v", "-x - 0.5*v"}, 2, {{0, 1}, {-1, -0.5}}, {0, 0.5}},
    {"integrated", {"v", "-2*v"}, 2, {{0, 1}, {0, -2}}, {0, 1}},
    {"coloured", {"v - x", "-3*v"}, 2, {{-1, 1}, {0, -3}}, {0, 2}},
    {"jerk",
     {"v", "w", "-x - 2*v - w"},
     3,
     {{0, 1}, {0, 0, 1}, {-1, -2, -1}},
     {0, 0, 0.7}},
    {"two noises",
     {"w", "x - v", "-x - w"},
     3,
     {{0, 0, 1}, {1, -1, 0}, {-1, 0, -1}},
     {0, 0.4, 0.7}},
    {"delays",
     {"2*(v - x)", "2*(w - v)", "2*(p - w)", "2*(q - p)", "-q"},
     5,
     {{-2, 2}, {0, -2, 2}, {0, 0, -2, 2}, {0, 0, 0, -2, 2}, {0, 0, 0, 0, -1}},
     {0, 0, 0, 0, 1}},
};

static const char *const NAME[MOST] = {"x", "v", "w", "p", "q"};

/* Additive noise, or noise that depends on x to the eye: b is 0. */
static void write_model(const struct linear_case *c, bool by_state, char *text)
{
    char *at = text;
    at += sprintf(at, "param b = 0\nstate x");
    for (size_t i = 1; i < c->d; i++)
        at += sprintf(at, ", %s", NAME[i]);
    for (size_t i = 0; i < c->d; i++) {
        at += sprintf(at, "\nd%s = (%s)*dt", NAME[i], c->drift[i]);
        if (c->G[i] != 0.0)
            at += sprintf(at, " + %g*%s*dW%zu", c->G[i],
                          by_state ? "(1 + b*x^2)" : "1", i + 1);
    }
    sprintf(at, "\n");
}

static struct exact_linear law_of(const struct linear_case *c)
{
    struct exact_linear l = {.d = c->d, .noises = c->d};
    for (size_t i = 0; i < c->d; i++) {
        for (size_t j = 0; j < c->d; j++)
            l.A[i * c->d + j] = c->A[i][j];
        l.G[i * (c->d + 1)] = c->G[i];
    }
    return l;
}

/* X' = F X + N (dW, zeta), from steps of unit vectors: F (d, d), N (d, 2 m). */
struct linear_step {
    size_t d, m;
    double F[EXACT_DD], N[2 * EXACT_DD];
};

static struct linear_step step_of(struct rig *r, size_t scheme, double h)
{
    struct linear_step l = {.d = r->field.spec->dim,
                            .m = r->field.spec->noises};
    size_t P = r->stepper.P;
    double dW[EXACT_D * 32] = {0}, zeta[EXACT_D * 32] = {0};
    memset(r->stepper.x, 0, l.d * P * sizeof *r->stepper.x);
    for (size_t i = 0; i < l.d; i++)
        r->stepper.x[i * P + i] = 1.0;
    for (size_t j = 0; j < l.m; j++) {
        dW[j * P + l.d + j] = sqrt(h);
        zeta[j * P + l.d + l.m + j] = 1.0;
    }
    if (r->field.state_noise) stepper_enter(&r->stepper, 0.0);
    take(r, scheme, &(struct step){0.0, h, h, dW, zeta});
    for (size_t i = 0; i < l.d; i++) {
        for (size_t j = 0; j < l.d; j++)
            l.F[i * l.d + j] = r->stepper.x[i * P + j];
        for (size_t j = 0; j < 2 * l.m; j++)
            l.N[i * 2 * l.m + j] = r->stepper.x[i * P + l.d + j];
    }
    return l;
}

/* The covariance after n steps. */
static void covariance(const struct linear_step *l, size_t n, double *cov)
{
    double N[EXACT_DD], P[EXACT_DD] = {0};
    size_t d = l->d;
    for (size_t i = 0; i < d * d; i++) {
        N[i] = 0.0;
        for (size_t j = 0; j < 2 * l->m; j++)
            N[i] += l->N[i / d * 2 * l->m + j] * l->N[i % d * 2 * l->m + j];
    }
    for (size_t k = 0; k < n; k++) {
        exact_spread(d, l->F, P, N, cov);
        memcpy(P, cov, sizeof P);
    }
}

/* The largest error of a time `gap` in n steps, relative to deviations. */
static double worst(const struct linear_case *c, bool by_state, size_t scheme,
                    double gap, size_t n)
{
    static char text[1000];
    write_model(c, by_state, text);
    struct rig *r = rig_open(text, c->d + 2 * c->d);
    assert_int_equal(r->field.state_noise, by_state);
    struct exact_linear law = law_of(c);
    struct exact_gap exact = exact_transition(&law, gap);
    struct linear_step l = step_of(r, scheme, gap / (double)n);
    double cov[EXACT_DD], most = 0.0;
    covariance(&l, n, cov);
    for (size_t i = 0; i < c->d; i++)
        for (size_t j = 0; j < c->d; j++) {
            const double *Q = exact.Q;
            double unit = sqrt(Q[i * (c->d + 1)] * Q[j * (c->d + 1)]);
            double off = cov[i * c->d + j] - Q[i * c->d + j];
            most = fmax(most, fabs(off) / unit);
        }
    rig_close(r);
    return most;
}

/* As simulate() does by default: 32 steps in a gap. */
static void srk__has_the_exact_covariance_of_a_gap(void **state)
{
    (void)state;
    for (size_t c = 0; c < COUNT(CASES); c++)
        for (int by_state = 0; by_state < 2; by_state++) {
            double e[3];
            for (size_t i = 0; i < 3; i++)
                e[i] = worst(&CASES[c], by_state, GSV_SRK, 0.5, 8u << i);
            if (!(e[2] < (CASES[c].d > 3 ? 5e-3 : 1e-3) &&
                  order_of(3, e) > 1.8))
                fail_msg("%s, by state %d: off by %g, %g, %g", CASES[c].name,
                         by_state, e[0], e[1], e[2]);
        }
}

/* Of one step: the first terms of all covariances of positions and velocities
 * are exact, so that errors relative to them vanish with its length. */
static void srk__moves_pairs_jointly_in_one_step(void **state)
{
    (void)state;
    for (size_t c = 0; c < 3; c++)
        for (int by_state = 0; by_state < 2; by_state++) {
            double long_one = worst(&CASES[c], by_state, GSV_SRK, 0.02, 1);
            double short_one = worst(&CASES[c], by_state, GSV_SRK, 0.01, 1);
            if (!(long_one < 0.1 && short_one < 0.6 * long_one))
                fail_msg("%s, by state %d: off by %g, %g", CASES[c].name,
                         by_state, long_one, short_one);
        }
}

/* They converge, at the order that the page of simulate has for them. */
static void others__converge_to_that_covariance(void **state)
{
    (void)state;
    for (size_t c = 0; c < COUNT(CASES); c++)
        for (size_t scheme = 0; scheme < SCHEMES; scheme++)
            for (int by_state = 0; by_state < 2; by_state++) {
                double e[4];
                for (size_t i = 0; i < COUNT(e); i++)
                    e[i] = worst(&CASES[c], by_state, scheme, 0.5, 32u << i);
                double order = order_of(COUNT(e), e);
                if (!(order > (scheme == GSV_HEUN ? 1.8 : 0.9)))
                    fail_msg("%s, scheme %zu, by state %d: order %g",
                             CASES[c].name, scheme, by_state, order);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(srk__has_the_exact_covariance_of_a_gap),
        cmocka_unit_test(srk__moves_pairs_jointly_in_one_step),
        cmocka_unit_test(others__converge_to_that_covariance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
