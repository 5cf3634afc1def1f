/* SPDX-License-Identifier: MIT */
/* What forces add to linear equations: sines against the same equations with
 * the sine as two more states, in the table of stiff, unstable and nilpotent
 * ones; the gradient against differences. */
#include "exact.h"

#include "base/forcing.h"
#include "base/transition.h"

enum { MOST_D = 3, ALL = MOST_D + 2 };

/* b = size sin(w s), in every state another size. */
struct sine {
    size_t d;
    double w, size[MOST_D], size_bar[MOST_D];
};

static void value(void *user, size_t n, const double *time, double *b)
{
    const struct sine *f = user;
    for (size_t i = 0; i < f->d; i++)
        for (size_t j = 0; j < n; j++)
            b[i * n + j] = f->size[i] * sin(f->w * time[j]);
}

static void bar(void *user, size_t n, const double *time, const double *b_bar)
{
    struct sine *f = user;
    for (size_t i = 0; i < f->d; i++)
        for (size_t j = 0; j < n; j++)
            f->size_bar[i] += b_bar[i * n + j] * sin(f->w * time[j]);
}

static void fill(size_t d, double stiff, double *A)
{
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++)
            A[i * d + j] = i == j ? -stiff * (double)(i + 1) / (double)d
                                  : 0.3 * (double)(i + 2 * j) - 0.5;
}

/* With states that turn: e^{A h} of all of them, from (0, 0, 1). */
static void by_states(const struct sine *f, double h, const double *A,
                      double *c)
{
    size_t d = f->d, n = d + 2;
    double B[ALL * ALL] = {0}, zero[ALL * ALL] = {0}, b[ALL] = {0};
    double Phi[ALL * ALL], Q[ALL * ALL], unused[ALL];
    for (size_t i = 0; i < d; i++) {
        for (size_t j = 0; j < d; j++)
            B[i * n + j] = A[i * d + j];
        B[i * n + d] = f->size[i];
    }
    B[d * n + d + 1] = f->w;
    B[(d + 1) * n + d] = -f->w;
    double *scratch = NEW(double, transition_scratch(n));
    assert_true(transition_make(n, h, &(struct coefficients){B, b, b, zero},
                                &(struct transition){Phi, unused, Q}, scratch));
    for (size_t i = 0; i < d; i++)
        c[i] = Phi[i * n + d + 1];
    mem_free(scratch);
}

static const double STIFF[] = {0.0, 1.0, -2.0, 300.0, 1e6};
static const double RATE[] = {0.01, 3.0, 6.283185307179586, 400.0};
static const double TIME[] = {1e-6, 0.3, 2.0};

static void forces__add_what_states_would(void **state)
{
    (void)state;
    for (size_t d = 1; d <= MOST_D; d++) {
        struct forcing f;
        assert_int_equal(forcing_init(&f, d, false), 0);
        for (size_t i = 0; i < COUNT(STIFF) * COUNT(RATE) * COUNT(TIME); i++) {
            struct sine s = {.d = d, .w = RATE[i % 4], .size = {2, -1, 0.5}};
            const struct force force = {&s, 0.0, value, bar};
            double h = TIME[i / 4 % 3], A[MOST_D * MOST_D], size = 0.0;
            double c[MOST_D] = {0}, exact[MOST_D];
            fill(d, STIFF[i / 12], A);
            by_states(&s, h, A, exact);
            assert_true(forcing_make(&f, h, A, &force, c));
            for (size_t j = 0; j < d; j++)
                size = fmax(size, fabs(exact[j]));
            for (size_t j = 0; j < d; j++)
                if (!(fabs(c[j] - exact[j]) < 1e-10 * size + 1e-11 * h))
                    fail_msg(
                        "%zu states, stiff %g, w %g, h %g: %.15g, not %.15g", d,
                        STIFF[i / 12], s.w, h, c[j], exact[j]);
        }
        forcing_free(&f);
    }
}

/* Far from 0 times are rounded, and a force looks rough: this must not ask for
 * ever shorter parts. */
static void late(void *user, size_t n, const double *time, double *b)
{
    const double start = 1.7e9;
    ++*(size_t *)user;
    for (size_t j = 0; j < n; j++) {
        volatile double at = start + time[j];
        b[j] = at - start;
    }
}

static void forces__are_smooth_at_late_times(void **state)
{
    (void)state;
    struct forcing f;
    size_t calls = 0;
    const struct force force = {&calls, 1.7e9, late, NULL};
    double A = -1.0, c = 0.0;
    assert_int_equal(forcing_init(&f, 1, false), 0);
    assert_true(forcing_make(&f, 1.0, &A, &force, &c));
    assert_true(calls < 32);
    assert_true(fabs(c - exp(-1.0)) < 1e-6); /* int e^{s - 1} s ds */
    forcing_free(&f);
}

/* The first number of c. */
static double first_of(struct forcing *f, struct sine *s, double h,
                       const double *A)
{
    const struct force force = {s, 0.0, value, bar};
    double c[MOST_D] = {0};
    assert_true(forcing_make(f, h, A, &force, c));
    return c[0];
}

static void forces__have_the_gradient_of_what_they_add(void **state)
{
    (void)state;
    const size_t d = MOST_D;
    struct forcing f;
    assert_int_equal(forcing_init(&f, d, true), 0);
    for (size_t i = 0; i < 12; i++) {
        struct sine s = {.d = d, .w = RATE[i % 4], .size = {2, -1, 0.5}};
        const struct force force = {&s, 0.0, value, bar};
        const double h = 0.7, step = 1e-5;
        double A[MOST_D * MOST_D], A_bar[MOST_D * MOST_D] = {0};
        double c_bar[MOST_D] = {1.0};
        fill(d, STIFF[i / 4], A);
        first_of(&f, &s, h, A);
        forcing_vjp(&f, h, A, &force, c_bar, A_bar);
        for (size_t e = 0; e < d * d + d; e++) {
            double *at = e < d * d ? &A[e] : &s.size[e - d * d], kept = *at;
            double found = e < d * d ? A_bar[e] : s.size_bar[e - d * d];
            *at = kept + step;
            double up = first_of(&f, &s, h, A);
            *at = kept - step;
            double down = first_of(&f, &s, h, A);
            *at = kept;
            double slope = (up - down) / (2.0 * step);
            if (!(fabs(slope - found) < 1e-7 * (1.0 + fabs(slope))))
                fail_msg("case %zu, number %zu: %.12g, not %.12g", i, e, found,
                         slope);
        }
    }
    forcing_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forces__add_what_states_would),
        cmocka_unit_test(forces__are_smooth_at_late_times),
        cmocka_unit_test(forces__have_the_gradient_of_what_they_add)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
