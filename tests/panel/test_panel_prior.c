/* SPDX-License-Identifier: MIT */
/* Posterior modes of panels with priors, of the laws of random effects and of
 * other numbers, against the maximum of closed forms: series that drift by
 * effects of their own have normal rows. */
#include "learn.h"

#include "base/prior_law.h"

enum { SERIES = 10, ROWS = 7, CELLS = SERIES * ROWS, MOST = 5 };

struct rows {
    double x[2][SERIES][ROWS]; /* two states; one is observed with noise, too */
    double y[SERIES][ROWS];
};

static struct rows simulate(void)
{
    struct rows d;
    double *z = normals(4 * CELLS, 5), *next = z;
    for (size_t r = 0; r < SERIES; r++) {
        double a = *next++, u[] = {0.4 + 0.8 * a, -0.2 + 0.4 * a};
        u[1] += 0.5 * *next++;
        for (size_t i = 0; i < ROWS; i++) {
            for (size_t c = 0; c < 2; c++)
                d.x[c][r][i] =
                    i ? d.x[c][r][i - 1] + 0.5 * u[c] + 0.4 * *next++ : 0.0;
            d.y[r][i] = d.x[0][r][i] + 0.3 * *next++;
        }
    }
    mem_free(z);
    return d;
}

static gsv_series *series_of(const struct rows *d, size_t states, bool noisy)
{
    static const char *const EXACT[] = {"x", "v"}, *const NOISY[] = {"y"};
    size_t start[SERIES + 1];
    double time[CELLS], value[2 * CELLS];
    for (size_t i = 0; i < CELLS; i++) {
        time[i] = 0.5 * (double)(i % ROWS);
        for (size_t c = 0; c < 2; c++)
            value[c * CELLS + i] =
                noisy ? d->y[i / ROWS][i % ROWS] : d->x[c][i / ROWS][i % ROWS];
    }
    for (size_t r = 0; r <= SERIES; r++)
        start[r] = r * ROWS;
    return gsv_series_new(SERIES, start, states, noisy ? NOISY : EXACT, time,
                          value);
}

/* --- Closed forms ----------------------------------------------------------
 */

/* log p of a state of a series given its effect, and that of noisy rows of the
 * first one, from x ~ N(0, 0.01). */
static double exact_given(const struct rows *d, size_t c, size_t r, double u,
                          double s)
{
    double sum = 0.0;
    for (size_t i = 1; i < ROWS; i++)
        sum += exact_normal(d->x[c][r][i], d->x[c][r][i - 1] + 0.5 * u,
                            0.5 * s * s);
    return sum;
}

static double noisy_given(const struct rows *d, size_t r, double u, double s)
{
    double m = 0.0, P = 0.01, sum = 0.0;
    for (size_t i = 0; i < ROWS; i++) {
        if (i) m += 0.5 * u;
        if (i) P += 0.5 * s * s;
        sum += exact_normal(d->y[r][i], m, P + 0.09);
        m += P / (P + 0.09) * (d->y[r][i] - m);
        P = P * 0.09 / (P + 0.09);
    }
    return sum;
}

/* It is c + b u - a u^2 / 2. */
struct parabola {
    double a, b, c;
};

static struct parabola parabola_of(const double f[3])
{
    return (struct parabola){2.0 * f[1] - f[0] - f[2], 0.5 * (f[2] - f[0]),
                             f[1]};
}

struct problem {
    const char *name, *text;
    bool noisy;
    size_t states, numbers; /* of the model: m, w, s or a, b and those of L */
    const char *const *number;
    gsv_prior prior[3];
    size_t priors;
};

struct context {
    const struct problem *p;
    const struct rows *d;
};

static double prior_of(const struct problem *p, const double *v)
{
    double sum = 0.0;
    for (size_t k = 0; k < p->priors; k++)
        for (size_t i = 0; i < p->numbers; i++)
            if (!strcmp(p->prior[k].name, p->number[i]))
                sum += prior_log_density(&p->prior[k], v[i]);
    return sum;
}

/* v = (m, w, s). */
static double one_effect(const void *context, const double *v)
{
    const struct context *t = context;
    double sum = prior_of(t->p, v), w = v[1] * v[1];
    for (size_t r = 0; r < SERIES; r++) {
        double f[3];
        for (int k = 0; k < 3; k++)
            f[k] = t->p->noisy ? noisy_given(t->d, r, k - 1.0, v[2])
                               : exact_given(t->d, 0, r, k - 1.0, v[2]);
        struct parabola q = parabola_of(f);
        double a = q.a + 1.0 / w, b = q.b + v[0] / w;
        sum += q.c + 0.5 * b * b / a - 0.5 * v[0] * v[0] / w - 0.5 * log(w * a);
    }
    return sum;
}

/* v = (a, b, L11, L21, L22), s = 0.6: effects have about normal estimates of
 * variance 1/a, which add to their covariance. */
static double two_effects(const void *context, const double *v)
{
    const struct context *t = context;
    double sum = prior_of(t->p, v);
    for (size_t r = 0; r < SERIES; r++) {
        double e[2], extra[2];
        for (size_t c = 0; c < 2; c++) {
            double f[3];
            for (int k = 0; k < 3; k++)
                f[k] = exact_given(t->d, c, r, k - 1.0, 0.6);
            struct parabola q = parabola_of(f);
            e[c] = q.b / q.a - v[c];
            extra[c] = 1.0 / q.a;
            sum += q.c + 0.5 * q.b * q.b / q.a + 0.5 * log(extra[c]);
        }
        double A = v[2] * v[2] + extra[0], B = v[2] * v[3];
        double C = v[3] * v[3] + v[4] * v[4] + extra[1], det = A * C - B * B;
        sum -=
            0.5 *
            (log(det) +
             (C * e[0] * e[0] - 2 * B * e[0] * e[1] + A * e[1] * e[1]) / det);
    }
    return sum;
}

/* --- Modes -----------------------------------------------------------------
 */

#define ONE                                                                    \
    "state x\nparam m = 0.1, w = 0.5 > 0, s = 0.8 > 0\n"                       \
    "random u ~ normal(m, w)\ndx = u*dt + s*dW\n"
#define SEEN "obs y ~ normal(x, 0.3)\ninit x ~ normal(0, 0.1)\n"
#define TWO                                                                    \
    "state x, v\nparam a, b, L[2,2] lower\n"                                   \
    "random u[2] ~ normal([a, b], L)\n"                                        \
    "dx = u[1]*dt + 0.6*dW1\ndv = u[2]*dt + 0.6*dW2\n"

static const char *const OF_ONE[] = {"m", "w", "s"};
static const char *const OF_TWO[] = {"a", "b", "L[1,1]", "L[2,1]", "L[2,2]"};

#define ON_M                                                                   \
    {                                                                          \
        "m", GSV_LAW_NORMAL, 1.5, 0.2                                          \
    }
#define ON_W                                                                   \
    {                                                                          \
        "w", GSV_LAW_LOGNORMAL, 0.5, 0.1                                       \
    }
#define ON_S                                                                   \
    {                                                                          \
        "s", GSV_LAW_GAMMA, 200, 200                                           \
    }

#define BOTH(...)                                                              \
    {"exact", ONE, false, 1, 3, OF_ONE, __VA_ARGS__},                          \
    {                                                                          \
        "noisy", ONE SEEN, true, 1, 3, OF_ONE, __VA_ARGS__                     \
    }

static const struct problem PROBLEMS[] = {
    BOTH({{0}}, 0),
    BOTH({ON_M}, 1),
    BOTH({ON_W}, 1),
    BOTH({ON_S}, 1),
    BOTH({ON_M, ON_W}, 2),
    BOTH({ON_M, ON_W, ON_S}, 3),
    {"two", TWO, false, 2, 5, OF_TWO, {{0}}, 0},
    {"two", TWO, false, 2, 5, OF_TWO, {{"b", GSV_LAW_NORMAL, 1.0, 0.1}}, 1},
    {"two",
     TWO,
     false,
     2,
     5,
     OF_TWO,
     {{"L[1,1]", GSV_LAW_LOGNORMAL, 0.5, 0.05},
      {"L[2,1]", GSV_LAW_NORMAL, -0.3, 0.1},
      {"a", GSV_LAW_CAUCHY, -1.0, 0.1}},
     3},
};

static double number_of(const gsv_model *m, const char *name)
{
    size_t row, column;
    if (sscanf(name, "L[%zu,%zu]", &row, &column) == 2)
        return gsv_model_value(
            m)[param_named(m, "L").offset + 2 * (row - 1) + column - 1];
    return gsv_model_value(m)[param_named(m, name).offset];
}

static void mode__is_that_of_the_closed_form(void **state)
{
    (void)state;
    struct rows d = simulate();
    for (size_t i = 0; i < COUNT(PROBLEMS); i++) {
        const struct problem *p = &PROBLEMS[i];
        struct context t = {p, &d};
        struct learn_peak q = {.n = p->numbers};
        gsv_series *s = series_of(&d, p->states, p->noisy);
        gsv_model *m = model_of(p->text);
        gsv_fit_options o = fit_options();
        o.prior = p->prior;
        o.priors = p->priors;
        o.errors = GSV_ERRORS_NONE;
        const gsv_record *r = fit_must(m, s, &o);
        for (size_t k = 0; k < q.n; k++)
            q.at[k] = number_of(m, p->number[k]);
        learn_maximum(p->states > 1 ? two_effects : one_effect, &t, &q);
        for (size_t k = 0; k < q.n; k++)
            assert_near(number_of(m, p->number[k]), q.at[k],
                        0.02 * sqrt(q.cov[k * (q.n + 1)]));
        assert_int_equal(r->priors, p->priors);
        gsv_series_free(s);
        gsv_model_free(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mode__is_that_of_the_closed_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
