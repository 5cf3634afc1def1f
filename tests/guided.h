/* SPDX-License-Identifier: MIT */
/* Models for the guided filter, with data, and what the filter should say: its
 * own steps integrated on a fine grid, where there is one hidden state, or a
 * plain bootstrap filter, which knows nothing of psi. */
#ifndef TESTS_GUIDED_H
#define TESTS_GUIDED_H

#include <stdio.h>
#include <stdlib.h>

#include "exact.h"
#include "guided/guided.h"
#include "guided/twist.h"

enum { CASE_ROWS = 16, CASE_COLUMNS = 3, CASE_PARAMS = 5 };

struct guided_case {
    const char *name, *text;
    const char *column[CASE_COLUMNS];
    double gap;
    double low, high; /* of u on the grid; equal: there is none */
    size_t steps;     /* fewest: the noise of longer ones vanishes somewhere */
    size_t params;    /* the first so many are differentiated */
    double value[CASE_COLUMNS][CASE_ROWS];
};

/* --- One hidden state ----------------------------------------------------- */

static const struct guided_case GRID_CASES[] = {
    {"logistic",
     "state x\nparam r = 1.2 > 0, K = 3 > 0, s = 0.3 > 0, e = 0.25 > 0\n"
     "dx = r*x*(1 - x/K)*dt + s*x*dW\n"
     "obs y ~ normal(x, e)\ninit x ~ lognormal(0, 0.3)\n",
     {"y"},
     0.5,
     -9,
     9,
     1,
     4,
     {{0.9, 1.6, 2.0, 2.2, NAN, 3.1, 3.6, 2.5, 2.2, 3.0, 3.9, 3.1, NAN, NAN,
       2.2, 2.9}}},
    {"square root",
     "state x\nparam k = 1 > 0, m = 1.5 > 0, s = 0.5 > 0, e = 0.2 > 0\n"
     "dx = k*(m - x)*dt + s*sqrt(x)*dW\n"
     "obs y ~ normal(x, e)\ninit x ~ normal(1.5, 0.1)\n",
     {"y"},
     0.4,
     1e-9,
     12,
     1,
     4,
     {{1.4, 1.6, 1.9, 2.1, NAN, 1.3, 1.1, 1.2, 1.6, 1.7, 1.4, 1.3, NAN, NAN,
       1.2, 1.9}}},
    {"double well",
     "state x\nparam a = 1 > 0, s = 0.7 > 0, e = 0.4 > 0\n"
     "dx = a*(x - x^3)*dt + s*dW\n"
     "obs y ~ normal(x, e)\ninit x ~ normal(-1, 0.3)\n",
     {"y"},
     0.5,
     -4,
     4,
     8,
     3,
     {{-1.1, -0.7, -1.4, -0.2, NAN, 1.1, 0.6, 1.2, 1.6, 0.7, 0.4, -0.3, NAN,
       NAN, -1.2, -0.9}}},
    {"counts",
     "state x\nparam k = 0.7 > 0, m = 1, s = 0.6 > 0\n"
     "dx = k*(m - x)*dt + s*dW\n"
     "obs n ~ poisson(exp(x))\ninit x ~ normal(1, 0.5)\n",
     {"n"},
     0.5,
     -3,
     5,
     1,
     3,
     {{2, 0, 3, 5, NAN, 9, 4, 3, 2, 0, 0, 1, NAN, NAN, 3, 6}}},
    {"student",
     "state x\nparam k = 1 > 0, s = 0.6 > 0, e = 0.3 > 0, n = 4 > 0\n"
     "dx = -k*sin(x)*dt + s*dW\n"
     "obs y ~ student(x, e, n)\ninit x ~ normal(0, 0.5)\n",
     {"y"},
     0.5,
     -5,
     5,
     1,
     4,
     {{0.2, 0.5, -0.3, 2.5, NAN, 0.1, -0.6, -0.7, -0.2, 0.3, -2.9, 0.1, NAN,
       NAN, 0.7, 0.4}}},
    {"noise of a state, moving",
     "state x\nparam k = 1, s = 0.3 > 0, c = 0.5, e = 0.3 > 0\n"
     "dx = (c*sin(t) - k*atan(x))*dt + s*sqrt(1 + x^2)*dW\n"
     "obs y ~ normal(x, e)\ninit x ~ normal(0, 0.5)\n",
     {"y"},
     0.5,
     -9,
     9,
     1,
     4,
     {{0.2, 0.5, 0.3, 0.5, NAN, 0.1, -0.6, -0.7, -0.2, 0.3, 0.9, 0.1, NAN, NAN,
       0.7, 0.4}}},
    {"two modes",
     "state x\nparam k = 1 > 0, s = 0.8 > 0, e = 0.4 > 0\n"
     "dx = -k*x*dt + s*dW\n"
     "obs y ~ normal(x^2, e)\ninit x ~ normal(0, 0.6)\n",
     {"y"},
     0.5,
     -3.5,
     3.5,
     1,
     3,
     {{0.3, 0.6, 0.9, 1.4, NAN, 0.1, -0.1, 0.3, 0.8, 0.5, 0.2, 0.4, NAN, NAN,
       0.7, 0.4}}},
};

/* --- More of them --------------------------------------------------------- */

static const struct guided_case WIDE_CASES[] = {
    {"predator and prey",
     "state x, y\nparam a = 0.5 > 0, b = 0.0025 > 0, c = 0.3 > 0, e = 15 > 0\n"
     "reaction 0 -> x : a*x\nreaction x + y -> 2 y : b*x*y\n"
     "reaction y -> 0 : c*y\n"
     "obs p ~ normal(x, e)\nobs q ~ normal(y, e)\n"
     "init x ~ normal(100, 10)\ninit y ~ normal(100, 10)\n",
     {"p", "q"},
     1.0,
     0,
     0,
     1,
     4,
     {{108, 150, 135, 176, NAN, 219, 215, 180},
      {101, 90, 96, 132, 160, NAN, 269, 324}}},
    {"epidemic",
     "state S, I\nparam b = 2.0 > 0, g = 0.6 > 0, N = 763, r = 0.9 in (0, 1)\n"
     "reaction S + I -> 2 I : b*S*I/N\nreaction I -> 0 : g*I\n"
     "obs y ~ poisson(r*I)\n"
     "init S ~ normal(755, 3)\ninit I ~ normal(8, 1)\n",
     {"y"},
     1.0,
     0,
     0,
     1,
     2,
     {{4, 15, 49, 66, 155, 191, NAN, 133, 79}}},
    {"counted epidemic",
     "state S, E, I\n"
     "param b = 1.5 > 0, a = 0.8 > 0, g = 0.5 > 0, k = 20 > 0\n"
     "const N = 10000\n"
     "reaction S + I -> E + I : b*S*I/N\nreaction E -> I : a*E\n"
     "reaction I -> 0 : g*I\n"
     "obs c ~ negbin(integral(a*E) + 0.1, k)\n"
     "init S ~ normal(9900, 20)\ninit E ~ normal(60, 8)\n"
     "init I ~ normal(40, 6)\n",
     {"c"},
     1.0,
     0,
     0,
     1,
     4,
     {{NAN, 55, 62, 88, 105, 160, NAN, 230, 300}}},
    {"price and variance",
     "state s, v\n"
     "param m = 0.05, k = 2 > 0, w = 0.05 > 0, x = 0.3 > 0, r = -0.5 in (-1, "
     "1)\n"
     "ds = (m - v/2)*dt + sqrt(v)*(r*dW1 + sqrt(1 - r^2)*dW2)\n"
     "dv = k*(w - v)*dt + x*sqrt(v)*dW1\n"
     "init v ~ lognormal(-3, 0.2)\n",
     {"s"},
     0.1,
     0,
     0,
     1,
     5,
     {{0, 0.05, 0.02, -0.06, -0.02, 0.09, 0.16, 0.13, 0.08, 0.1}}},
    {"radius",
     "state x, y, z\nparam k = 0.5 > 0, e = 0.4 > 0\ndx = -k*x*dt + dW1\n"
     "dy = -k*y*dt + dW2\ndz = -k*z*dt + dW3\ninit x ~ normal(0, 1)\n"
     "init y ~ normal(0, 1)\ninit z ~ normal(0, 1)\n"
     "obs r ~ normal(x^2 + y^2 + z^2, e)\n",
     {"r"},
     0.25,
     0,
     0,
     1,
     0,
     {{2.1, 1.7, NAN, 3.8, 4.1, 2.2, 1.1, 0.4, 0.9, 1.8}}},
    {"product",
     "state x, y\nparam e = 0.2 > 0\n"
     "dx = (x - x^3 + 0.3*y)*dt + 0.5*dW1\n"
     "dy = (y - y^3 + 0.3*x)*dt + 0.5*dW2\n"
     "init x ~ normal(0, 1)\ninit y ~ normal(0, 1)\n"
     "obs r ~ normal(x*y, e)\n",
     {"r"},
     0.25,
     0,
     0,
     1,
     0,
     {{0.1, 0.3, NAN, 0.6, 0.9, 1.2, 1.1, 0.8, 1.3, 1.0}}},
    {"end of noise",
     "state x\nparam k = 0.5 > 0, e = 0.1 > 0\n"
     "dx = k*(0.3 - x)*dt + 0.9*sqrt(x)*dW\n"
     "init x ~ gamma(0.3, 2)\nobs r ~ normal(x, e)\n",
     {"r"},
     0.2,
     0,
     0,
     1,
     0,
     {{0.4, 0.5, 0.2, 0.1, -0.1, 0.05, NAN, -0.02, 0.2, 0.5}}},
    {"end of an epidemic",
     "state S, I\nparam b = 0.5 > 0, g = 0.5 > 0\n"
     "reaction S + I -> 2 I : b*S*I/1000\nreaction I -> 0 : g*I\n"
     "init S ~ normal(990, 1)\ninit I ~ normal(10, 1)\n"
     "obs n ~ poisson(integral(b*S*I/1000) + 0.1)\n",
     {"n"},
     1.0,
     0,
     0,
     1,
     0,
     {{NAN, 6, 4, 3, 4, 2, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0}}},
};

/* --- A model with its data and its steps ---------------------------------- */

struct lab {
    const struct guided_case *c;
    gsv_model *m;
    gsv_series *s;
    struct guided a; /* for the steps alone */
};

static inline gsv_options guided_options(size_t points, size_t steps)
{
    gsv_options o = gsv_options_default();
    o.observe = GSV_OBSERVE_GUIDED;
    o.points = points;
    o.steps = steps;
    o.threads = 1;
    return o;
}

static inline gsv_model *case_model(const struct guided_case *c)
{
    gsv_model *m = gsv_model_parse(c->text, c->name);
    if (!m) fail_msg("%s", gsv_last_error());
    return m;
}

/* So many tracks, of the first rows each, later ones with one row less. */
static inline gsv_series *case_series(const struct guided_case *c,
                                      size_t tracks)
{
    static double time[4 * CASE_ROWS];
    static double value[CASE_COLUMNS * 4 * CASE_ROWS];
    size_t start[5] = {0}, columns = 0, rows = CASE_ROWS, n = 0;
    while (columns < CASE_COLUMNS && c->column[columns])
        columns++;
    while (rows > 1 && c->value[0][rows - 1] == 0.0) /* not given */
        rows--;
    for (size_t r = 0; r < tracks; r++)
        start[r + 1] = n += rows - r;
    for (size_t r = 0; r < tracks; r++)
        for (size_t k = 0; k < rows - r; k++) {
            time[start[r] + k] = c->gap * (double)k;
            for (size_t i = 0; i < columns; i++)
                value[i * n + start[r] + k] = c->value[i][k];
        }
    gsv_series *s =
        gsv_series_new(tracks, start, columns, c->column, time, value);
    if (!s) fail_msg("%s", gsv_last_error());
    return s;
}

static inline void lab_init(struct lab *l, const struct guided_case *c,
                            size_t steps)
{
    gsv_options o = guided_options(2, steps);
    l->c = c;
    l->m = case_model(c);
    l->s = case_series(c, 1);
    if (guided_make(&l->a, l->m, l->s, &o, NULL))
        fail_msg("%s: %s", c->name, gsv_last_error());
}

static inline void lab_free(struct lab *l)
{
    guided_free(&l->a);
    gsv_series_free(l->s);
    gsv_model_free(l->m);
}

/* The steps at the model's present values. */
static inline struct guide *lab_set(struct lab *l)
{
    struct guide *g = &l->a.guide[0];
    course_prepare(&l->a.course, l->m->value, &g->values);
    pace_set(&g->pace, 0, &g->values, &g->mover[0].room);
    return g;
}

static inline gsv_result lab_result(const struct lab *l, const gsv_options *o)
{
    gsv_result r;
    if (gsv_loglik(l->m, l->s, o, &r))
        fail_msg("%s: %s", l->c->name, gsv_last_error());
    return r;
}

/* --- A grid --------------------------------------------------------------- */

/* exp of what was observed at node k, times p (n) at x (n). */
static inline void grid_see(struct guide *g, size_t k, size_t n,
                            const double *x, double *p)
{
    for (size_t first = 0; first < n; first += COURSE_BLOCK) {
        size_t P = n - first < COURSE_BLOCK ? n - first : COURSE_BLOCK;
        if (mover_density(&g->mover[0], &g->pace, k, P, x + first))
            for (size_t j = 0; j < P; j++)
                p[first + j] *= exp(g->mover[0].log_g[j]);
    }
}

/* p after the step from node k. */
static inline void grid_step(struct guide *g, size_t k, size_t n,
                             const double *x, double *p)
{
    double width = x[1] - x[0], *to = NEW(double, n);
    for (size_t first = 0; first < n; first += COURSE_BLOCK) {
        size_t P = n - first < COURSE_BLOCK ? n - first : COURSE_BLOCK;
        mover_go(&g->mover[0], &g->pace, k, P, x + first);
        for (size_t j = 0; j < P; j++) {
            double a = g->mover[0].a[j], B = fabs(g->mover[0].B[j]);
            if (p[first + j] < 1e-9 || !isfinite(a)) continue;
            if (!(B > width)) fail_msg("the grid is too coarse");
            double low = (a - 9.0 * B - x[0]) / width;
            for (size_t i = low > 0.0 ? (size_t)low : 0;
                 i < n && x[i] < a + 9.0 * B; i++)
                to[i] +=
                    p[first + j] * width * exp(exact_normal(x[i], a, B * B));
        }
    }
    memcpy(p, to, n * sizeof *p);
    mem_free(to);
}

/* log of E p(data | x) (10 + scale x) at a node, or without the last factor
 * where there is no such node, of the discretised model of one hidden state. */
static inline double lab_grid_with(struct lab *l, size_t at, double scale)
{
    enum { N = 500 };
    struct guide *g = lab_set(l);
    const struct course *f = &l->a.course;
    struct workspace *room = &g->mover[0].room.part[COURSE_FIRST];
    double *x = NEW(double, N), *p = NEW(double, N), value = 0.0;
    double width = (l->c->high - l->c->low) / (N - 1);
    assert_int_equal(f->D, 1);
    for (size_t i = 0; i < N; i++) {
        x[i] = l->c->low + width * (double)i;
        struct points in = mover_points(&g->mover[0], &g->pace, 0, 1, x + i);
        program_forward(f->part[COURSE_FIRST], &g->values.part[COURSE_FIRST],
                        room, &in);
        double first = *program_output(f->part[COURSE_FIRST], room, 1, 0);
        p[i] = isfinite(first) ? exp(first) : 0.0;
    }
    for (size_t k = 0; k < g->pace.nodes; k++) {
        double sum = 0.0;
        if (k) grid_step(g, k - 1, N, x, p);
        grid_see(g, k, N, x, p);
        for (size_t i = 0; i < N; i++) {
            if (k == at) p[i] *= 10.0 + scale * x[i];
            sum += p[i] * width;
        }
        for (size_t i = 0; i < N; i++)
            p[i] /= sum;
        value += log(sum);
    }
    MEM_FREE(x, p);
    return value;
}

/* log p of it. */
static inline double lab_grid(struct lab *l)
{
    return lab_grid_with(l, SIZE_MAX, 0.0);
}

#endif
