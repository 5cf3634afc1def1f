/* SPDX-License-Identifier: MIT */
#include "observe/jump.h"

#include <math.h>
#include <string.h>

#include "base/constant.h"
#include "base/error.h"
#include "base/fast.h"
#include "graph/words.h"

/* Curvatures are d^2 expressions each; beyond this many states they are left
 * out. */
enum { MOST_CURVED = 8 };

enum { DRIFT, SLOPE, CURVATURE };
enum { MAPPED, LOG_DET };

/* --- Programs ------------------------------------------------------------- */

/* Half the trace of the second derivative of every row, from the rows of A. */
static node curvature(struct graph *g, size_t d, const node *row, node leaf)
{
    node *sum = NEW(node, d), all = 0;
    if (!sum) {
        g->failed = true;
        return 0;
    }
    for (size_t i = 0; i < d; i++) {
        sum[i] = graph_number(g, 0.0);
        for (size_t j = 0; j < d; j++) {
            node second =
                graph_gradient(g, graph_slice(g, row[i], j, 1, 1), leaf);
            sum[i] = op(g, OP_ADD, sum[i], graph_slice(g, second, j, 1, 1));
        }
        sum[i] = op(g, OP_MUL, graph_number(g, 0.5), sum[i]);
    }
    all = graph_stack(g, d, sum, d, 1);
    mem_free(sum);
    return all;
}

static int make_drift(struct jumps *j, bool use_double)
{
    const gsv_model *m = j->model;
    struct graph *g = j->graph;
    node output[3] = {m->unit_drift}, leaf;
    node *row = NEW(node, j->d);
    if (!row) return GSV_NO_MEMORY;
    leaf = graph_leaf(g, OP_STATE, 0, j->d, 1);
    j->sloped = true;
    j->curved = j->d <= MOST_CURVED && !g->nets && !g->calls;
    for (size_t i = 0; j->sloped && i < j->d; i++)
        row[i] =
            graph_gradient(g, graph_slice(g, m->unit_drift, i, 1, 1), leaf);
    if (j->sloped) output[SLOPE] = graph_stack(g, j->d, row, j->d, j->d);
    if (j->curved) output[CURVATURE] = curvature(g, j->d, row, leaf);
    mem_free(row);
    if (g->failed) return GSV_NO_MEMORY;
    j->drift = program_new(g, 1u + j->sloped + j->curved, output,
                           m->spec->parameters, use_double);
    return j->drift ? uniforms_init(&j->drift_uniforms, j->drift)
                    : GSV_NO_MEMORY;
}

int jumps_init(struct jumps *j, const gsv_model *m, const struct gaps *gaps,
               bool use_double)
{
    *j = (struct jumps){.model = m,
                        .gaps = gaps,
                        .d = m->spec->dim,
                        .graph = graph_copy(m->spec->graph)};
    const node map[] = {m->unit_state, m->log_jacobian};
    if (!j->graph) return GSV_NO_MEMORY;
    int status = make_drift(j, use_double);
    if (status) return status;
    j->map = program_new(j->graph, 2, map, m->spec->parameters, use_double);
    return j->map ? uniforms_init(&j->map_uniforms, j->map) : GSV_NO_MEMORY;
}

void jumps_free(struct jumps *j)
{
    uniforms_free(&j->drift_uniforms);
    uniforms_free(&j->map_uniforms);
    program_free(j->drift);
    program_free(j->map);
    if (j->graph) graph_free(j->graph);
    *j = (struct jumps){0};
}

void jumps_prepare(struct jumps *j)
{
    program_prepare(j->drift, j->model->value, &j->drift_uniforms);
    program_prepare(j->map, j->model->value, &j->map_uniforms);
}

int drift_is_linear(const gsv_model *m, bool *linear)
{
    size_t d = m->spec->dim;
    *linear = !m->bridged;
    if (!*linear) return 0;
    struct graph *g = graph_copy(m->spec->graph);
    if (!g) return GSV_NO_MEMORY;
    node leaf = graph_leaf(g, OP_STATE, 0, d, 1);
    for (size_t i = 0; *linear && !g->failed && i < d; i++) {
        node row = graph_slice(g, m->unit_drift, i, 1, 1);
        row = graph_gradient(g, row, leaf);
        *linear = !g->failed && !graph_depends(g, row, OP_STATE);
    }
    int status = g->failed ? GSV_NO_MEMORY : 0;
    graph_free(g);
    return status;
}

/* Between two stops held inputs are constants. */
static bool all_inputs_hold(const gsv_model *m)
{
    for (size_t i = 0; i < m->spec->inputs; i++)
        if (!m->spec->input[i].hold) return false;
    return true;
}

int jumps_are_exact(const gsv_model *m, bool *linear, bool *exact)
{
    const struct graph *g = m->spec->graph;
    bool moving = graph_depends(g, m->unit_drift, OP_INPUT) ||
                  graph_depends(g, m->unit_drift, OP_SLOPE);
    int status = drift_is_linear(m, linear);
    *exact = *linear && !graph_depends(g, m->unit_drift, OP_TIME) &&
             (!moving || all_inputs_hold(m));
    return status;
}

size_t jumps_steps(const gsv_options *o)
{
    enum { USUAL_STEPS = 8 };
    return o->steps ? o->steps : USUAL_STEPS;
}

int jumps_divide(const gsv_model *m, struct stops *s, const gsv_options *o)
{
    bool linear, exact;
    int status = jumps_are_exact(m, &linear, &exact);
    if (status || exact) return status;
    return stops_divide(s, jumps_steps(o), o->step);
}

/* --- Memory --------------------------------------------------------------- */

int jumper_init(struct jumper *w, const struct jumps *j, size_t most,
                bool gradient)
{
    const struct spec *spec = j->model->spec;
    size_t d = j->d, square = d * d * most;
    size_t inputs = (spec->inputs + spec->values) * most;
    double *stride = NULL;
    *w = (struct jumper){.jumps = j, .most = most};
    const struct arena_part part[] = {
        {&stride, stride_size(d, most)},
        {&w->time, most},
        {&w->input, inputs},
        {&w->slope, inputs},
        {&w->place, d * most},
        {&w->A, square},
        {&w->mu, d * most},
        {&w->inverse, square},
        {&w->log_norm, most},
        {&w->bar, gradient ? 4 * square + 5 * d * most + most : 0},
        {&w->drift_bar, gradient ? program_uniforms(j->drift) : 0},
        {&w->map_bar, gradient ? program_uniforms(j->map) : 0}};
    if (arena_lay(&w->arena, sizeof part / sizeof *part, part) ||
        workspace_init(&w->drift, j->drift, most, gradient, false) ||
        workspace_init(&w->map, j->map, most, gradient, false))
        return GSV_NO_MEMORY;
    stride_place(&w->stride, d, most, stride);
    return 0;
}

void jumper_free(struct jumper *w)
{
    workspace_free(&w->drift);
    workspace_free(&w->map);
    arena_free(&w->arena);
    *w = (struct jumper){0};
}

static struct points points_at(struct jumper *w, const struct moment *at,
                               size_t n, const double *state)
{
    return gaps_points(w->jumps->gaps, at->track, at->time, at->before, n,
                       state, w->time, w->input, w->slope);
}

/* Rows that are ld apart, side by side. mu is free for it before it is set. */
static const double *pack(size_t d, size_t n, size_t ld, const double *from,
                          double *to)
{
    for (size_t i = 0; i < d; i++)
        memcpy(to + i * n, from + i * ld, n * sizeof *to);
    return to;
}

/* --- T -------------------------------------------------------------------- */

void jumper_map(struct jumper *w, const struct moment *at, size_t n, size_t ld,
                const double *x, double *y, double *log_det)
{
    const struct jumps *j = w->jumps;
    size_t d = j->d;
    struct points in = points_at(w, at, n, pack(d, n, ld, x, w->mu));
    program_forward(j->map, &j->map_uniforms, &w->map, &in);
    const double *T = program_output(j->map, &w->map, n, MAPPED);
    for (size_t i = 0; i < d; i++)
        memcpy(y + i * ld, T + i * n, n * sizeof *y);
    memcpy(log_det, program_output(j->map, &w->map, n, LOG_DET),
           n * sizeof *log_det);
}

void jumper_map_vjp(struct jumper *w, const struct moment *at, size_t n,
                    size_t ld, const double *x, const double *y_bar,
                    const double *log_det_bar)
{
    const struct jumps *j = w->jumps;
    size_t d = j->d;
    const double *bar[] = {pack(d, n, ld, y_bar, w->bar), log_det_bar};
    struct points in = points_at(w, at, n, pack(d, n, ld, x, w->mu));
    program_forward(j->map, &j->map_uniforms, &w->map, &in);
    program_vjp(j->map, &j->map_uniforms, &w->map, &in, bar, NULL, w->map_bar);
}

/* --- Laws of steps -------------------------------------------------------- */

/* Whether a point has a law: its drift and its slope are finite, and no more
 * than a stride of length h can take. */
static bool has_law(const struct jumper *w, size_t I, size_t p, double h)
{
    const struct jumps *j = w->jumps;
    size_t d = j->d;
    const double *f = program_output(j->drift, &w->drift, I, DRIFT);
    double most = ldexp(0.25, STRIDE_DOUBLINGS) / h;
    for (size_t i = 0; i < d; i++) {
        double sum = 0.0;
        for (size_t k = 0; j->sloped && k < d; k++)
            sum += fabs(program_output(j->drift, &w->drift, I,
                                       SLOPE)[(i * d + k) * I + p]);
        if (!isfinite(f[i * I + p]) || !(sum < most)) return false;
    }
    return true;
}

/* Points without a law weigh nothing, and stand where the first is that has
 * one: nothing of them may spoil the others. */
static bool replace_lost(struct jumper *w, size_t I, double h)
{
    size_t good = I, lost = 0, d = w->jumps->d;
    for (size_t p = 0; p < I; p++) {
        bool fine = has_law(w, I, p, h);
        w->log_norm[p] = fine ? 0.0 : -INFINITY;
        if (fine && good == I) good = p;
        lost += !fine;
    }
    for (size_t p = 0; good < I && lost && p < I; p++)
        for (size_t i = 0; w->log_norm[p] != 0.0 && i < d; i++)
            w->place[i * I + p] = w->place[i * I + good];
    return lost > 0;
}

/* f, A and g at the places. */
static void run_drift(struct jumper *w, const struct points *in, double h)
{
    const struct jumps *j = w->jumps;
    size_t square = j->d * j->d * in->P;
    program_forward(j->drift, &j->drift_uniforms, &w->drift, in);
    if (replace_lost(w, in->P, h))
        program_forward(j->drift, &j->drift_uniforms, &w->drift, in);
    if (j->sloped)
        memcpy(w->A, program_output(j->drift, &w->drift, in->P, SLOPE),
               square * sizeof *w->A);
    else memset(w->A, 0, square * sizeof *w->A);
}

/* mu += Gamma f + Psi g; mu is y. */
static void add_means(struct jumper *w, size_t I)
{
    const struct jumps *j = w->jumps;
    stride_apply(j->d, I, stride_Gamma(&w->stride), false,
                 program_output(j->drift, &w->drift, I, DRIFT), w->mu, true);
    if (j->curved)
        stride_apply(j->d, I, stride_Psi(&w->stride), false,
                     program_output(j->drift, &w->drift, I, CURVATURE), w->mu,
                     true);
}

void jumper_start(struct jumper *w, const struct moment *from, double h,
                  size_t I, size_t ld, const double *y)
{
    size_t d = w->jumps->d;
    const struct moment middle = {from->track, from->time + 0.5 * h, false};
    struct points in = points_at(w, &middle, I, pack(d, I, ld, y, w->place));
    w->I = I;
    run_drift(w, &in, h);
    memcpy(w->mu, w->place, d * I * sizeof *w->mu);
    if (!stride_run(&w->stride, I, h, w->A)) {
        for (size_t p = 0; p < I; p++)
            w->log_norm[p] = -INFINITY;
        return;
    }
    double *log_det = w->time; /* no longer needed */
    memcpy(w->inverse, stride_Q(&w->stride), d * d * I * sizeof *w->inverse);
    stride_cholesky(d, I, w->inverse, log_det);
    stride_invert_lower(d, I, w->inverse);
    add_means(w, I);
    for (size_t p = 0; p < I; p++) {
        w->log_norm[p] -= log_det[p] + 0.5 * (double)d * LOG_TWO_PI;
        if (!isfinite(w->log_norm[p])) w->log_norm[p] = -INFINITY;
    }
}

/* The squared length of L^-1 (y1 - mu_i), for J ends. */
INLINE void squares(size_t d, size_t I, size_t i, const double *inverse,
                    const double *mu, size_t J, size_t ld, const double *y1,
                    double *restrict sum)
{
    for (size_t j = 0; j < J; j++)
        sum[j] = 0.0;
    for (size_t a = 0; a < d; a++)
        for (size_t j = 0; j < J; j++) {
            double z = 0.0;
            for (size_t b = 0; b <= a; b++)
                z += inverse[(a * d + b) * I + i] *
                     (y1[b * ld + j] - mu[b * I + i]);
            sum[j] += z * z;
        }
}

FAST static void all_squares(size_t d, size_t I, const double *inverse,
                             const double *mu, size_t J, size_t ld,
                             const double *y1, double *sum)
{
    for (size_t i = 0; i < I; i++) {
        double *row = sum + i * J;
        if (d == 1) squares(1, I, i, inverse, mu, J, ld, y1, row);
        else if (d == 2) squares(2, I, i, inverse, mu, J, ld, y1, row);
        else if (d == 3) squares(3, I, i, inverse, mu, J, ld, y1, row);
        else squares(d, I, i, inverse, mu, J, ld, y1, row);
    }
}

void jumper_all(const struct jumper *w, size_t J, size_t ld, const double *y1,
                double *log_p)
{
    all_squares(w->jumps->d, w->I, w->inverse, w->mu, J, ld, y1, log_p);
    for (size_t i = 0; i < w->I; i++)
        for (size_t j = 0; j < J; j++) {
            double l = w->log_norm[i] - 0.5 * log_p[i * J + j];
            log_p[i * J + j] = l == l ? l : -INFINITY;
        }
}

/* --- Their gradient ------------------------------------------------------- */

struct law_bar {
    double *mu;          /* (d; I): sum of w v, v = Q^-1 (y1 - mu)  */
    double *Q;           /* (d, d; I): sum of w v v' / 2, then its bar */
    double *Gamma, *Psi; /* (d, d; I)                               */
    double *A, *f, *g;   /* (d, d; I), (d; I), (d; I)               */
    double *weight;      /* (I)                                     */
};

static struct law_bar law_bar_of(const struct jumper *w)
{
    size_t n = w->jumps->d * w->most, square = w->jumps->d * n;
    double *at = w->bar;
    return (struct law_bar){.Q = at,
                            .Gamma = at + square,
                            .Psi = at + 2 * square,
                            .A = at + 3 * square,
                            .mu = at + 4 * square,
                            .f = at + 4 * square + n,
                            .g = at + 4 * square + 2 * n,
                            .weight = at + 4 * square + 5 * n};
}

/* All bars 0, also those of J ends. */
static struct law_bar start_vjp(const struct jumper *w, size_t ld, size_t J,
                                double *y1_bar)
{
    size_t d = w->jumps->d, I = w->I;
    struct law_bar bar = law_bar_of(w);
    memset(bar.mu, 0, d * I * sizeof *bar.mu);
    memset(bar.Q, 0, d * d * I * sizeof *bar.Q);
    memset(bar.weight, 0, I * sizeof *bar.weight);
    for (size_t a = 0; a < d; a++)
        memset(y1_bar + a * ld, 0, J * sizeof *y1_bar);
    return bar;
}

/* Adds pair (i, end) with its weight; the end's bar is y1's. */
INLINE void add_pair(const struct jumper *w, const struct law_bar *bar,
                     size_t d, size_t i, size_t ld, const double *y1,
                     double weight, double *z, double *v, double *y1_bar)
{
    size_t I = w->I;
    for (size_t a = 0; a < d; a++) {
        z[a] = v[a] = 0.0;
        for (size_t b = 0; b <= a; b++)
            z[a] += w->inverse[(a * d + b) * I + i] *
                    (y1[b * ld] - w->mu[b * I + i]);
    }
    for (size_t a = 0; a < d; a++)
        for (size_t b = 0; b <= a; b++)
            v[b] += w->inverse[(a * d + b) * I + i] * z[a];
    bar->weight[i] += weight;
    for (size_t a = 0; a < d; a++) {
        double wv = weight * v[a];
        bar->mu[a * I + i] += wv;
        y1_bar[a * ld] -= wv;
        for (size_t b = 0; b < d; b++)
            bar->Q[(a * d + b) * I + i] += 0.5 * wv * v[b];
    }
}

/* Q_bar -= weight / 2 Q^-1. */
static void add_norms(const struct jumper *w, const struct law_bar *bar)
{
    size_t d = w->jumps->d, I = w->I;
    stride_product_lower(d, I, w->inverse, bar->A);
    for (size_t e = 0; e < d * d; e++)
        for (size_t i = 0; i < I; i++)
            bar->Q[e * I + i] -= 0.5 * bar->weight[i] * bar->A[e * I + i];
}

/* C = a b' of vectors side by side. */
static void outer(size_t d, size_t I, const double *a, const double *b,
                  double *C)
{
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++)
            for (size_t p = 0; p < I; p++)
                C[(i * d + j) * I + p] = a[i * I + p] * b[j * I + p];
}

/* From the sums of mu and Q to y0_bar, set, and to the drift's bars. */
static void law_vjp(struct jumper *w, const struct moment *from, double h,
                    size_t ld, const struct law_bar *bar, double *y0_bar)
{
    const struct jumps *j = w->jumps;
    size_t d = j->d, I = w->I;
    const struct moment middle = {from->track, from->time + 0.5 * h, false};
    const double *f = program_output(j->drift, &w->drift, I, DRIFT);
    add_norms(w, bar);
    outer(d, I, bar->mu, f, bar->Gamma);
    stride_apply(d, I, stride_Gamma(&w->stride), true, bar->mu, bar->f, false);
    memset(bar->Psi, 0, d * d * I * sizeof *bar->Psi);
    if (j->curved) {
        const double *g = program_output(j->drift, &w->drift, I, CURVATURE);
        outer(d, I, bar->mu, g, bar->Psi);
        stride_apply(d, I, stride_Psi(&w->stride), true, bar->mu, bar->g,
                     false);
    }
    stride_vjp(&w->stride, w->A, bar->Gamma, bar->Psi, bar->Q, bar->A);
    const double *output_bar[] = {bar->f, bar->A, bar->g};
    double *y_bar = bar->Gamma; /* (d; I), used up by now */
    struct points in = points_at(w, &middle, I, w->place);
    memcpy(y_bar, bar->mu, d * I * sizeof *y_bar);
    program_vjp(j->drift, &j->drift_uniforms, &w->drift, &in, output_bar, y_bar,
                w->drift_bar);
    for (size_t i = 0; i < d; i++)
        memcpy(y0_bar + i * ld, y_bar + i * I, I * sizeof *y0_bar);
}

void jumper_all_vjp(struct jumper *w, const struct moment *from, double h,
                    size_t ld, size_t J, const double *y1, const double *weight,
                    double *y0_bar, double *y1_bar)
{
    struct law_bar bar = start_vjp(w, ld, J, y1_bar);
    size_t d = w->jumps->d;
    double *z = bar.f, *v = bar.g; /* (d), free until law_vjp() */
    for (size_t i = 0; i < w->I; i++)
        for (size_t j = 0; j < J; j++) {
            double share = weight[i * J + j];
            if (share == 0.0) continue;
            if (d == 1)
                add_pair(w, &bar, 1, i, ld, y1 + j, share, z, v, y1_bar + j);
            else if (d == 2)
                add_pair(w, &bar, 2, i, ld, y1 + j, share, z, v, y1_bar + j);
            else add_pair(w, &bar, d, i, ld, y1 + j, share, z, v, y1_bar + j);
        }
    law_vjp(w, from, h, ld, &bar, y0_bar);
}

void jumps_gradient(const struct jumps *j, double *drift_bar, double *map_bar,
                    double *gradient)
{
    program_finish(j->drift, &j->drift_uniforms, drift_bar);
    program_finish(j->map, &j->map_uniforms, map_bar);
    for (size_t i = 0; i < j->model->spec->parameters; i++)
        gradient[i] += drift_bar[i] + map_bar[i];
}
