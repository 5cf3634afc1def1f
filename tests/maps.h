/* SPDX-License-Identifier: MIT */
/* What the tests of states that are functions of data share: a map against its
 * inverse, its log-determinant and its gradients against differences. */
#ifndef TESTS_MAPS_H
#define TESTS_MAPS_H

#include <stdio.h>

#include "base/linalg.h"
#include "exact.h"
#include "model/model.h"

enum { MAPS_P = 200, MAPS_DIM = 6, MAPS_ROWS = 24 };

/* Points of a model's data, column by column, and their times. */
struct places {
    size_t P;
    double x[MAPS_DIM * MAPS_P], t[MAPS_P];
};

static inline gsv_model *map_model(const char *text)
{
    gsv_model *m = gsv_model_parse(text, "test.sde");
    if (!m) fail_msg("%s", gsv_last_error());
    assert_true(m->spec->mapped && m->spec->dim <= MAPS_DIM);
    return m;
}

/* Normal points with a mean and a spread for all columns. */
static inline struct places map_places(const gsv_model *m, double mean,
                                       double spread, uint64_t seed)
{
    struct places a = {.P = MAPS_P};
    size_t n = m->spec->dim * MAPS_P;
    double *z = normals(n, seed);
    for (size_t i = 0; i < n; i++)
        a.x[i] = mean + spread * z[i];
    for (size_t p = 0; p < MAPS_P; p++)
        a.t[p] = 0.02 * (double)p;
    mem_free(z);
    return a;
}

static inline void map_at(const gsv_model *m, node what, const struct places *a,
                          const double *x, double *out)
{
    struct points in = {.P = a->P, .state = x, .time = a->t};
    assert_true(graph_size(m->spec->graph, what) <= MAPS_ROWS);
    assert_int_equal(model_evaluate(m, what, &in, true, out), 0);
}

/* --- The inverse ---------------------------------------------------------- */

static inline void expect_back(const gsv_model *m, node forward, node back,
                               const struct places *a, double tolerance)
{
    double z[MAPS_ROWS * MAPS_P], x[MAPS_ROWS * MAPS_P];
    map_at(m, forward, a, a->x, z);
    map_at(m, back, a, z, x);
    for (size_t i = 0; i < m->spec->dim * a->P; i++)
        if (!(fabs(x[i] - a->x[i]) <= tolerance * fmax(1.0, fabs(a->x[i]))))
            fail_msg("%s: %.17g came back as %.17g by way of %g", m->text,
                     a->x[i], x[i], z[i]);
}

static inline void expect_inverse(const gsv_model *m, const struct places *a,
                                  double tolerance)
{
    const struct spec *s = m->spec;
    expect_back(m, s->state_of_data, s->data_of_state, a, tolerance);
    expect_back(m, m->unit_state, m->data_state, a, tolerance);
}

/* --- The log-determinant -------------------------------------------------- */

/* Column j of the Jacobian at all points, (dim, P), by differences of fourth
 * order: step is relative to the size of x. */
static inline void map_slopes(const gsv_model *m, node forward,
                              const struct places *a, size_t j, double step,
                              double *slope)
{
    static const double AT[] = {-2, -1, 1, 2}, BY[] = {1, -8, 8, -1};
    size_t d = m->spec->dim, P = a->P;
    double z[MAPS_ROWS * MAPS_P];
    memset(slope, 0, d * P * sizeof *slope);
    for (size_t k = 0; k < 4; k++) {
        struct places moved = *a;
        for (size_t p = 0; p < P; p++) {
            double h = step * fmax(fabs(a->x[j * P + p]), 1e-3);
            moved.x[j * P + p] += AT[k] * h;
        }
        map_at(m, forward, &moved, moved.x, z);
        for (size_t i = 0; i < d * P; i++)
            slope[i] += BY[k] * z[i];
    }
    for (size_t i = 0; i < d * P; i++)
        slope[i] /= 12.0 * step * fmax(fabs(a->x[j * P + i % P]), 1e-3);
}

static inline void expect_jacobian_of(const gsv_model *m, node forward,
                                      node logdet, const struct places *a,
                                      double tolerance)
{
    size_t d = m->spec->dim, P = a->P;
    double *column = NEW(double, d *d *P), found[MAPS_ROWS * MAPS_P];
    for (size_t j = 0; j < d; j++)
        map_slopes(m, forward, a, j, 1e-4, column + j * d * P);
    map_at(m, logdet, a, a->x, found);
    for (size_t p = 0; p < P; p++) {
        double J[MAPS_DIM * MAPS_DIM];
        int pivot[MAPS_DIM];
        for (size_t i = 0; i < d * d; i++)
            J[i] = column[i * P + p];
        assert_true(linalg_lu(d, J, pivot));
        double exact = linalg_lu_logdet(d, J);
        if (!(fabs(found[p] - exact) <= tolerance * fmax(1.0, fabs(exact))))
            fail_msg("%s: log |det| is %.12g, not %.12g, at %g, time %g",
                     m->text, found[p], exact, a->x[p], a->t[p]);
    }
    mem_free(column);
}

static inline void expect_jacobian(const gsv_model *m, const struct places *a,
                                   double tolerance)
{
    const struct spec *s = m->spec;
    expect_jacobian_of(m, s->state_of_data, s->map_log_jacobian, a, tolerance);
    expect_jacobian_of(m, m->unit_state, m->log_jacobian, a, tolerance);
}

/* --- Gradients by the parameters ------------------------------------------ */

/* sum over all elements of bar times the output. */
static inline double map_product(const gsv_model *m, node what,
                                 const struct places *a, const double *x,
                                 const double *bar)
{
    double out[MAPS_ROWS * MAPS_P], sum = 0.0;
    map_at(m, what, a, x, out);
    for (size_t i = 0; i < graph_size(m->spec->graph, what) * a->P; i++)
        sum += bar[i] * out[i];
    return sum;
}

static inline void map_vjp(const gsv_model *m, node what,
                           const struct places *a, const double *x,
                           const double *bar, double *p_bar)
{
    struct program *p =
        program_new(m->spec->graph, 1, &what, m->spec->parameters, true);
    struct points in = {.P = a->P, .state = x, .time = a->t};
    struct uniforms u = {0};
    struct workspace w = {0};
    assert_non_null(p);
    assert_int_equal(uniforms_init(&u, p), 0);
    assert_int_equal(workspace_init(&w, p, a->P, true, false), 0);
    double *u_bar = NEW(double, program_uniforms(p));
    program_prepare(p, m->value, &u);
    program_forward(p, &u, &w, &in);
    program_vjp(p, &u, &w, &in, &bar, NULL, u_bar);
    program_finish(p, &u, u_bar);
    memcpy(p_bar, u_bar, m->spec->parameters * sizeof *p_bar);
    mem_free(u_bar);
    workspace_free(&w);
    uniforms_free(&u);
    program_free(p);
}

static inline void expect_gradient_of(gsv_model *m, node what,
                                      const struct places *a, const double *x,
                                      double tolerance)
{
    size_t n = m->spec->parameters;
    double *bar = normals(MAPS_ROWS * MAPS_P, 77), *found = NEW(double, n);
    map_vjp(m, what, a, x, bar, found);
    for (size_t i = 0; i < n; i++) {
        double v = m->value[i], h = 1e-5 * fmax(fabs(v), 0.1), side[2];
        for (int k = 0; k < 2; k++) {
            m->value[i] = v + (k ? h : -h);
            side[k] = map_product(m, what, a, x, bar);
        }
        m->value[i] = v;
        double exact = (side[1] - side[0]) / (2.0 * h);
        double size = fmax(1.0, fabs(exact)) + 1e-4 * fabs(side[0]);
        if (!(fabs(found[i] - exact) <= tolerance * size))
            fail_msg("%s: the gradient by number %zu is %.10g, not %.10g",
                     m->text, i, found[i], exact);
    }
    mem_free(bar);
    mem_free(found);
}

static inline void expect_gradients(gsv_model *m, const struct places *a,
                                    double tolerance)
{
    const struct spec *s = m->spec;
    double z[MAPS_ROWS * MAPS_P];
    expect_gradient_of(m, s->state_of_data, a, a->x, tolerance);
    expect_gradient_of(m, s->map_log_jacobian, a, a->x, tolerance);
    map_at(m, s->state_of_data, a, a->x, z);
    expect_gradient_of(m, s->data_of_state, a, z, tolerance);
}

#endif
