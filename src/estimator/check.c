/* SPDX-License-Identifier: MIT */
/* The gradient compared with finite differences of the same estimate: the same
 * random numbers, one number of theta at a time, networks in double precision,
 * and frozen references, which are constants under differentiation.
 *
 * The gradient of particles is not that of a value: the value jumps where they
 * are resampled, and each row's part of the gradient has the weights of some
 * rows later. Both estimate the slope of the log-likelihood, so means over
 * seeds are compared,
 *
 *     mean of (difference - gradient)  against  its standard error.
 *
 * With short steps the jumps are rare and large in the difference. So steps are
 * as long as its standard error allows: they begin long, and are halved until
 * the differences by h and 2 h agree. */
#include "estimator/check.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/option_rules.h"
#include "estimator/estimator.h"
#include "estimator/loglik.h"
#include "model/model.h"

/* Large models are checked at so many numbers, spread evenly over theta. */
enum { MOST_CHECKED = 256, MOST_CHECKED_MEANS = 32 };

/* Of 32 numbers one is more than 5 standard errors off in one check of 200, by
 * Student's law of 15 degrees of freedom. */
enum { SEEDS = 16, MOST_HALVINGS = 20 };
static const double ERRORS = 5.0;

/* Above this a relative difference is larger than rounding errors. */
static const double ROUNDING = 1e-6;

/* Steps of one seed, the longest of these, and the first of many; of theta or
 * of 1. */
static const double SHORT = 1e-5, MEDIUM = 1e-3, LONG = 0.1;

struct trial {
    gsv_model *m;
    const gsv_series *s;
    gsv_options o;
    gradient_function *gradient;
    size_t n, checked, seeds;
    double *kept;  /* (parameters) the values, of the reference */
    double *theta; /* (n)                                       */
    double *bar;   /* (n, seeds) its gradient                   */
    double scale;  /* its largest mean                          */
};

/* Over seeds, by one number of theta. */
struct means {
    double bar, numeric; /* the gradient, the difference     */
    double error;        /* standard error of numeric - bar  */
    double bend;         /* of differences by h, less by 2 h */
};

/* The number of theta that is checked as number j. */
static size_t place(const struct trial *t, size_t j)
{
    return j * t->n / t->checked;
}

static int value_at(const struct trial *t, size_t i, double move, double *value)
{
    gsv_result r;
    double kept = t->theta[i];
    t->theta[i] += move;
    gsv_theta_set(t->m, t->theta);
    t->theta[i] = kept;
    int status = loglik_frozen(t->m, t->s, &t->o, t->kept, &r);
    if (status) return status;
    *value = r.loglik;
    gsv_result_free(&r);
    return 0;
}

/* Central differences by h and by 2 h. */
static int differences(const struct trial *t, size_t i, double h, double D[2])
{
    for (size_t j = 0; j < 2; j++) {
        double up = 0.0, down = 0.0, move = (double)(j + 1) * h;
        int status = value_at(t, i, move, &up);
        if (!status) status = value_at(t, i, -move, &down);
        if (status) return status;
        D[j] = (up - down) / (2.0 * move);
    }
    return 0;
}

static void restore(const struct trial *t)
{
    for (size_t i = 0; i < t->m->spec->parameters; i++)
        t->m->value[i] = t->kept[i];
}

/* The gradients by theta at the values. */
static int fill_gradients(struct trial *t, uint64_t seed)
{
    for (size_t k = 0; k < t->seeds; k++) {
        gsv_result r = {0};
        gsv_options o = t->o;
        o.gradient = true;
        o.seed = seed + k;
        restore(t);
        int status = t->gradient(t->m, t->s, &o, t->kept, &r);
        if (!status) gsv_theta_vjp(t->m, r.gradient, t->bar + k * t->n);
        gsv_result_free(&r);
        if (status) return status;
    }
    t->scale = 0.0;
    for (size_t i = 0; i < t->n; i++) {
        double sum = 0.0;
        for (size_t k = 0; k < t->seeds; k++)
            sum += t->bar[k * t->n + i];
        t->scale = fmax(t->scale, fabs(sum) / (double)t->seeds);
    }
    return 0;
}

/* --- The comparison ------------------------------------------------------ */

/* The differences are of the fourth order: (4 D(h) - D(2 h)) / 3. */
static int means_of(struct trial *t, size_t i, double h, struct means *a)
{
    uint64_t seed = t->o.seed;
    double n = (double)t->seeds, squares = 0.0;
    int status = 0;
    *a = (struct means){0};
    for (size_t k = 0; !status && k < t->seeds; k++) {
        double D[2] = {0.0, 0.0}, bar = t->bar[k * t->n + i];
        t->o.seed = seed + k;
        status = differences(t, i, h, D);
        double numeric = (4.0 * D[0] - D[1]) / 3.0;
        a->bar += bar / n;
        a->numeric += numeric / n;
        a->bend += (D[0] - D[1]) / n;
        squares += (numeric - bar) * (numeric - bar) / n;
    }
    t->o.seed = seed;
    double off = a->numeric - a->bar;
    if (t->seeds > 1) a->error = sqrt(fmax(squares - off * off, 0.0) / (n - 1));
    return status;
}

/* With long steps these have to agree, and values have to be finite. */
static int means_over_seeds(struct trial *t, size_t i, struct means *a)
{
    double h = LONG * fmax(1.0, fabs(t->theta[i]));
    int status = 0;
    for (int n = 0; n < MOST_HALVINGS; n++, h *= 0.5) {
        status = means_of(t, i, h, a);
        if (status && status != GSV_NUMERICAL) return status;
        if (!status && fabs(a->bend) <= a->error) break;
    }
    return status;
}

static double size_of(const struct trial *t, const struct means *a)
{
    return fmax(fmax(fabs(a->numeric), fabs(a->bar)),
                fmax(1e-2 * t->scale, 1e-8));
}

/* Rounding errors of a long sum count less with longer steps. */
static int one_seed(struct trial *t, size_t i, struct means *a)
{
    double scale = fmax(1.0, fabs(t->theta[i]));
    struct means now;
    for (double h = SHORT; h < 2.0 * MEDIUM; h *= 10.0) {
        int status = means_of(t, i, h * scale, &now);
        if (status && (status != GSV_NUMERICAL || h == SHORT)) return status;
        if (status) break;
        double off = fabs(now.numeric - now.bar);
        if (h == SHORT || off < fabs(a->numeric - a->bar)) *a = now;
        if (off <= ROUNDING * size_of(t, &now)) break;
    }
    return 0;
}

/* The number that is worst against what is allowed. */
static int compare(struct trial *t, gsv_gradient_check *c)
{
    double most = -1.0;
    *c = (gsv_gradient_check){.seeds = t->seeds};
    for (size_t j = 0; j < t->checked; j++) {
        struct means a;
        size_t i = place(t, j);
        int status =
            t->seeds > 1 ? means_over_seeds(t, i, &a) : one_seed(t, i, &a);
        if (status) return status;
        double size = size_of(t, &a);
        double off = fabs(a.numeric - a.bar) / size, error = a.error / size;
        double part = off / (ROUNDING + ERRORS * error);
        if (part <= most) continue;
        most = part;
        c->where = i;
        c->worst = off;
        c->error = error;
    }
    c->agrees = most <= 1.0;
    return 0;
}

static int run(struct trial *t, size_t seeds, size_t most,
               gsv_gradient_check *c)
{
    t->seeds = seeds;
    t->checked = t->n < most ? t->n : most;
    int status = fill_gradients(t, t->o.seed);
    return status ? status : compare(t, c);
}

/* With one seed; where that cannot agree, with more. */
static int run_both(struct trial *t, gsv_gradient_check *c)
{
    const struct task task = {.model = t->m, .series = t->s, .options = &t->o};
    int status = run(t, 1, MOST_CHECKED, c);
    if (status || c->agrees || !estimator_choose(&task).method->rough)
        return status;
    return run(t, SEEDS, MOST_CHECKED_MEANS, c);
}

int check_gradient(gsv_model *m, const gsv_series *s, const gsv_options *o,
                   gradient_function *gradient, gsv_gradient_check *check)
{
    size_t n = gsv_theta_size(m), values = m->spec->parameters;
    struct trial t = {.m = m, .s = s, .o = *o, .gradient = gradient, .n = n};
    struct arena arena = {0};
    const struct arena_part part[] = {
        {&t.kept, values}, {&t.theta, n}, {&t.bar, n * SEEDS}};
    if (arena_lay(&arena, sizeof part / sizeof *part, part))
        return GSV_NO_MEMORY;
    t.o.wide = true;
    t.o.gradient = false;
    memcpy(t.kept, m->value, values * sizeof *t.kept);
    gsv_theta_get(m, t.theta);
    int status = run_both(&t, check);
    restore(&t);
    arena_free(&arena);
    return status;
}

enum gsv_status gsv_check_gradient(gsv_model *m, const gsv_series *s,
                                   const gsv_options *o,
                                   gsv_gradient_check *check)
{
    if (ANY_NULL(m, s, o, check)) return GSV_BAD_INPUT;
    if (option_check(GSV_OF_ESTIMATOR, o)) return GSV_BAD_INPUT;
    return check_gradient(m, s, o, loglik_frozen, check);
}
