/* SPDX-License-Identifier: MIT */
/* A gradient against differences of the value, along one direction that moves
 * every number of theta: with the same random numbers, references frozen and
 * networks in double, as gsv_check_gradient() does number by number.
 *
 * With D(h) = (l(h) - l(-h)) / 2h the difference is B(h) = (4 D(h) - D(2h))
 * / 3. What is allowed follows from the values themselves: |B(h) - D(h)|, or
 * where that is too much |B(h) - B(2h)|, bounds the error of h, and every value
 * is rounded, which divided by h is the other part. Values that jump (a path
 * that leaves the domain) or bend within 2h show as a large first part: then
 * other h are tried. */
#ifndef TESTS_GRADIENT_H
#define TESTS_GRADIENT_H

#include <float.h>
#include <stdio.h>

#include "estimator/loglik.h"
#include "exact.h"

/* Of the gradient's size: a difference that says less than this decides
 * nothing, and no gradient may be off by more. */
static const double GRADIENT_CLOSE = 1e-6;

/* A value is a sum over groups and steps: its rounding, in units in the last
 * place of all of them. Where large numbers cancel inside of a weight it is
 * more: that is measured. */
static const double GRADIENT_ULPS = 16.0;

struct gradient_trial {
    gsv_model *m;
    const gsv_series *s;
    gsv_options o;
    size_t n;
    double *guide, *theta, *theta_bar, *direction;
    double size;     /* sum of |theta_bar direction|       */
    double found;    /* sum of theta_bar direction         */
    double rounding; /* of a value */
    double off, allowed;
};

/* Uniform on (-1, 1), a function of the counter. */
static inline double gradient_number(uint64_t counter)
{
    uint64_t z = (counter + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    z ^= z >> 31;
    return (double)(z >> 11) / 4503599627370496.0 - 1.0;
}

/* A model with values that are not special. */
static inline gsv_model *gradient_model(const char *text)
{
    gsv_model *m = model_of(text);
    size_t n = gsv_theta_size(m);
    double *theta = NEW(double, n);
    gsv_theta_get(m, theta);
    for (size_t i = 0; i < n; i++)
        theta[i] += 0.1 * gradient_number(1000 + i);
    gsv_theta_set(m, theta);
    mem_free(theta);
    return m;
}

/* Numbers with a large gradient move less, so that a wrong one among them is
 * seen whatever the others are. */
static inline void gradient_direction(struct gradient_trial *t)
{
    double most = 0.0;
    for (size_t i = 0; i < t->n; i++)
        most = fmax(most, fabs(t->theta_bar[i]));
    for (size_t i = 0; i < t->n; i++) {
        double r = gradient_number(i), size = fabs(t->theta_bar[i]);
        r = r < 0.0 ? r - 0.5 : r + 0.5;
        t->direction[i] = r * 1e-2 * most / fmax(size, 1e-2 * most);
        if (most == 0.0) t->direction[i] = r;
        t->size += fabs(t->theta_bar[i] * t->direction[i]);
        t->found += t->theta_bar[i] * t->direction[i];
    }
}

static inline int gradient_returned(struct gradient_trial *t)
{
    gsv_result r = {0};
    t->o.gradient = true;
    int status = gsv_loglik(t->m, t->s, &t->o, &r);
    if (status) return status;
    gsv_theta_get(t->m, t->theta);
    gsv_theta_vjp(t->m, r.gradient, t->theta_bar);
    for (size_t g = 0; g < r.groups; g++)
        t->rounding +=
            GRADIENT_ULPS * DBL_EPSILON * (1.0 + fabs(r.gap[g].loglik));
    gsv_result_free(&r);
    t->o.gradient = false;
    gradient_direction(t);
    return 0;
}

static inline int gradient_value(const struct gradient_trial *t, double h,
                                 double *value)
{
    double *moved = NEW(double, t->n);
    gsv_result r = {0};
    for (size_t i = 0; i < t->n; i++)
        moved[i] = t->theta[i] + h * t->direction[i];
    gsv_theta_set(t->m, moved);
    int status = loglik_frozen(t->m, t->s, &t->o, t->guide, &r);
    gsv_theta_set(t->m, t->theta);
    *value = r.loglik;
    gsv_result_free(&r);
    mem_free(moved);
    return status;
}

/* D(h) for h, 2h and, if asked for, 4h. */
static inline int gradient_slopes(const struct gradient_trial *t, double h,
                                  size_t first, size_t end, double *D)
{
    double up, down;
    for (size_t i = first; i < end; i++) {
        double move = h * (double)(1 << i);
        int status = gradient_value(t, move, &up);
        if (!status) status = gradient_value(t, -move, &down);
        if (status) return status;
        D[i] = (up - down) / (2.0 * move);
    }
    return 0;
}

static inline int gradient_compare(struct gradient_trial *t, double h)
{
    double D[3];
    int status = gradient_slopes(t, h, 0, 2, D);
    if (status) return status;
    double best = (4.0 * D[0] - D[1]) / 3.0, error = fabs(best - D[0]);
    if (error > 0.5 * GRADIENT_CLOSE * t->size) {
        status = gradient_slopes(t, h, 2, 3, D);
        if (status) return status;
        error = fabs(best - (4.0 * D[1] - D[2]) / 3.0);
    }
    t->off = fabs(best - t->found);
    t->allowed = error + t->rounding / h + 1e-10 * t->size;
    return 0;
}

/* By second differences over moves so short that the value is straight there:
 * all that is left of them is rounding. */
static inline int gradient_rounding(struct gradient_trial *t)
{
    double middle, up = 0.0, down = 0.0;
    int status = gradient_value(t, 0.0, &middle);
    for (int i = 1; !status && i <= 4; i++) {
        status = gradient_value(t, 1e-8 * i, &up);
        if (!status) status = gradient_value(t, -1e-8 * i, &down);
        t->rounding = fmax(t->rounding, fabs(up - 2.0 * middle + down));
    }
    return status;
}

/* True where the gradient is that of the value; off and allowed say more. On
 * failure of the likelihood off is NaN. */
static inline bool gradient_agrees(struct gradient_trial *t)
{
    /* Longer where rounding is large, shorter where the value is not smooth. */
    static const double STEP[] = {1e-4, 1e-3, 1e-2, 1e-1, 1e-5, 1e-6};
    size_t values = gsv_model_values(t->m);
    bool agrees = false;
    t->n = gsv_theta_size(t->m);
    t->o.wide = true;
    t->off = NAN;
    t->guide = NEW(double, values);
    t->theta = NEW(double, t->n);
    t->theta_bar = NEW(double, t->n);
    t->direction = NEW(double, t->n);
    memcpy(t->guide, gsv_model_value(t->m), values * sizeof *t->guide);
    int status = gradient_returned(t);
    for (int measured = 0; !status && !agrees && measured < 2; measured++) {
        if (measured) status = gradient_rounding(t);
        for (size_t i = 0; !status && !agrees && i < COUNT(STEP); i++) {
            status = gradient_compare(t, STEP[i]);
            bool decides =
                t->allowed <= GRADIENT_CLOSE * t->size || t->size == 0.0;
            agrees = !status && decides && t->off <= t->allowed;
        }
    }
    if (status) t->off = NAN;
    mem_free(t->guide);
    mem_free(t->theta);
    mem_free(t->theta_bar);
    mem_free(t->direction);
    return agrees;
}

#endif
