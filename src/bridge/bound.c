/* SPDX-License-Identifier: MIT */
/* The form `bound`: instead of the log of a mean of weights, the mean of the
 * log weight, which Jensen's inequality puts below it,
 *
 *     log p(y1 | y0) >= log p_ref + int E[r'u - r'r / 2] dt,
 *     r = f - l,  l = A Y + b,  u = F' R^-1 (y1 - F Y - k),
 *
 * Y being the bridge of a linear reference, whose drift is l + u, and
 * N(F y + k, R) the reference's law of y1 given Y = y at time t. No path
 * is drawn: times are Gauss-Legendre nodes, and at each of them the law of
 * the bridge
 *
 *     Y ~ N(m, V),  m = P0 y0 + P1 y1 + Pb b
 *
 * is represented by the points of base/quadrature.h. Where the drift is linear,
 * r = 0 and the bound is log p itself. Up to what does not depend on f it is
 * minus the mean of |f - (l + u)|^2 / 2: a regression of the bridge's drift.
 *
 * A and V are constants under differentiation; b depends on the noise as in
 * reference.h.
 *
 * A gap has one "path", and S is its bound. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/linalg.h"
#include "base/linear.h"
#include "base/quadrature.h"
#include "bridge/rows.h"
#include "bridge/scratch.h"
#include "bridge/weighers.h"

enum { MOST_TIMES = 64 };

static int bound_check(const struct plan *p)
{
    const gsv_options *o = p->options;
    int refused = refuse_singular(p->model);
    if (refused) return refused;
    if (o->reference != GSV_REFERENCE_AUTO &&
        o->reference != GSV_REFERENCE_LINEAR)
        return fail(
            GSV_BAD_INPUT,
            "the form bound works with the reference linear only: leave "
            "the reference to auto");
    if (o->joint || o->richardson || o->delta)
        return fail(GSV_BAD_INPUT,
                    "the form bound draws no paths: remove joint, "
                    "richardson and delta, which need paths");
    if (o->step > 0.0 || o->steps > MOST_TIMES)
        return fail(
            GSV_BAD_INPUT,
            "the form bound uses 1 to %d times in every gap: give their "
            "number as steps",
            MOST_TIMES);
    return 0;
}

static int bound_build(struct plan *p, struct drift_outputs *out)
{
    (void)out;
    struct bound_rule *r = &p->bound;
    r->times = p->options->steps ? p->options->steps : FIRST_STEPS;
    r->points = quadrature_normal_count(p->d);
    const struct arena_part part[] = {{&r->time, r->times},
                                      {&r->time_weight, r->times},
                                      {&r->z, p->d * r->points},
                                      {&r->weight, r->points}};
    if (arena_lay(&r->arena, sizeof part / sizeof *part, part))
        return GSV_NO_MEMORY;
    quadrature_interval(r->times, r->time, r->time_weight);
    quadrature_normal(p->d, r->z, r->weight);
    return 0;
}

static size_t bound_points(const struct plan *p)
{
    return p->bound.times * p->bound.points;
}

static size_t bound_columns(const struct plan *p, size_t M)
{
    return M ? bound_points(p) : 0;
}

/* --- The bridge's law at a time ------------------------------------------ */

/* All (d, d), as above; L L' = V, U = F' R^-1, UF = U F, and UH b = U k.
 * Phi, Gamma and Q lead from y0 to a time. Those from a time to y1 are the same
 * as those to the mirrored time, because Gauss-Legendre nodes are symmetric. */
struct moment {
    double *P0, *P1, *Pb, *L, *U, *UF, *UH, *Phi, *Gamma, *Q;
};

enum { MATRICES = 10, SCRATCH = 5 };

static size_t bound_size(const struct plan *p)
{
    size_t dd = p->d * p->d;
    return p->d + dd * (1 + MATRICES * p->bound.times + SCRATCH);
}

/* Those of the reference, or zeros where there is none. */
static double *A_of(const struct context *c)
{
    return c->bound;
}

static double *b_of(const struct context *c)
{
    size_t d = c->reference.d;
    return c->bound + d * d;
}

static double *scratch_of(const struct context *c)
{
    return b_of(c) + c->reference.d;
}

static struct moment moment_of(const struct context *c, size_t time)
{
    size_t dd = c->reference.d * c->reference.d;
    double *x = scratch_of(c) + (SCRATCH + time * MATRICES) * dd;
    return (struct moment){x,          x + dd,     x + 2 * dd, x + 3 * dd,
                           x + 4 * dd, x + 5 * dd, x + 6 * dd, x + 7 * dd,
                           x + 8 * dd, x + 9 * dd};
}

/* K = Q F' (F Q F' + R)^-1 to P1, with Q to this time and F, R from it to y1;
 * P0 = (I - K F) Phi, Pb = (I - K F) Gamma - K H, V = (I - K F) Q. */
static bool condition(size_t d, struct moment m, struct moment rest, double *x)
{
    size_t dd = d * d;
    double *FQ = x, *S = x + dd, *E = x;
    linalg_product(d, d, d, rest.Phi, false, m.Q, false, FQ);
    linalg_product(d, d, d, FQ, false, rest.Phi, true, S);
    for (size_t i = 0; i < dd; i++)
        S[i] += rest.Q[i];
    if (!matrix_solve(d, S, FQ)) return false;
    matrix_transpose(d, FQ, m.P1);
    linalg_product(d, d, d, m.P1, false, rest.Phi, false, E);
    for (size_t i = 0; i < dd; i++)
        E[i] = (i % (d + 1) == 0) - E[i];
    linalg_product(d, d, d, E, false, m.Phi, false, m.P0);
    linalg_product(d, d, d, E, false, m.Gamma, false, m.Pb);
    linalg_product(d, d, d, m.P1, false, rest.Gamma, false, S);
    for (size_t i = 0; i < dd; i++)
        m.Pb[i] -= S[i];
    linalg_product(d, d, d, E, false, m.Q, false, m.L);
    matrix_symmetrise(d, m.L);
    return linalg_cholesky(d, m.L);
}

/* The pull towards y1: U = F' R^-1. */
static bool pull(size_t d, struct moment m, struct moment rest, double *x)
{
    size_t dd = d * d;
    double *R = x, *X = x + dd;
    memcpy(R, rest.Q, dd * sizeof *R);
    memcpy(X, rest.Phi, dd * sizeof *X);
    if (!matrix_solve(d, R, X)) return false;
    matrix_transpose(d, X, m.U);
    linalg_product(d, d, d, m.U, false, rest.Phi, false, m.UF);
    linalg_product(d, d, d, m.U, false, rest.Gamma, false, m.UH);
    return true;
}

static bool moments_build(const struct bound_rule *r, struct context *c)
{
    size_t d = c->reference.d, dd = d * d;
    const struct reference *ref = &c->reference;
    double h = c->gap->length, *x = scratch_of(c);
    memset(c->bound, 0, (dd + d) * sizeof *c->bound);
    if (ref->kind != GSV_REFERENCE_BROWNIAN) {
        memcpy(A_of(c), ref->A, dd * sizeof *ref->A);
        memcpy(b_of(c), ref->b, d * sizeof *ref->b);
    }
    for (size_t t = 0; t < r->times; t++) {
        struct moment m = moment_of(c, t);
        if (!linear_transition(d, r->time[t] * h, A_of(c), NULL, m.Phi, m.Gamma,
                               m.Q, x, x + dd, x + 2 * dd))
            return false;
    }
    for (size_t t = 0; t < r->times; t++) {
        struct moment m = moment_of(c, t),
                      rest = moment_of(c, r->times - 1 - t);
        if (!condition(d, m, rest, x) || !pull(d, m, rest, x)) return false;
    }
    return true;
}

/* --- Points --------------------------------------------------------------- */

/* y += X x, or X' x. */
static void add_times(size_t d, const double *X, bool transposed, double scale,
                      const double *x, double *y)
{
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++)
            y[i] += scale * X[transposed ? j * d + i : i * d + j] * x[j];
}

/* Y = m + L z. */
static void place_points(const struct bound_rule *r, const struct context *c,
                         size_t t, double *Y, size_t ld, double *mean)
{
    size_t d = c->reference.d;
    struct moment m = moment_of(c, t);
    memset(mean, 0, d * sizeof *mean);
    add_times(d, m.P0, false, 1.0, c->y0, mean);
    add_times(d, m.P1, false, 1.0, c->y1, mean);
    add_times(d, m.Pb, false, 1.0, b_of(c), mean);
    for (size_t i = 0; i < d; i++)
        for (size_t q = 0; q < r->points; q++) {
            double sum = mean[i];
            for (size_t j = 0; j <= i; j++)
                sum += m.L[i * d + j] * r->z[j * r->points + q];
            Y[i * ld + q] = sum;
        }
}

/* A point beyond the range of T moves to the chord. */
static void stay_inside(const struct plan *p, const struct values *v,
                        struct scratch *s, const struct block *b,
                        const struct points *in)
{
    const struct bound_rule *r = &p->bound;
    find_outside(p, v, s, in);
    for (size_t i = 0; i < b->pieces; i++)
        for (size_t n = 0; n < r->times * r->points; n++) {
            size_t at = b->piece[i].at + n;
            if (s->outside[at])
                chord_point(b->piece[i].context, r->time[n / r->points],
                            s->Z + at, b->P);
        }
}

/* --- The integrand -------------------------------------------------------- */

/* The weight of a point in the integral of its gap. */
static double weight_of(const struct bound_rule *r, const struct context *c,
                        size_t n)
{
    return c->gap->length * r->time_weight[n / r->points] *
           r->weight[n % r->points];
}

/* r to s->Y and u to s->dY of one point; r'u - r'r / 2. */
static double integrand(const struct scratch *s, const struct context *c,
                        size_t t, const double *f, size_t at, size_t P)
{
    size_t d = c->reference.d;
    struct moment m = moment_of(c, t);
    const double *A = A_of(c), *b = b_of(c);
    double sum = 0.0;
    for (size_t i = 0; i < d; i++) {
        double l = b[i], u = 0.0;
        for (size_t j = 0; j < d; j++) {
            double Y = s->Z[j * P + at];
            l += A[i * d + j] * Y;
            u += m.U[i * d + j] * c->y1[j] - m.UF[i * d + j] * Y -
                 m.UH[i * d + j] * b[j];
        }
        double r = f[i * P + at] - l;
        s->Y[i * P + at] = r;
        s->dY[i * P + at] = u;
        sum += r * (u - 0.5 * r);
    }
    return sum;
}

static void bound_forward(const struct plan *p, const struct values *v,
                          struct scratch *s, const struct block *b, double *S,
                          double *S2)
{
    const struct bound_rule *r = &p->bound;
    for (size_t i = 0; i < b->pieces; i++) {
        struct context *c = b->piece[i].context;
        c->valid = moments_build(r, c);
        for (size_t t = 0; t < r->times; t++) {
            size_t at = b->piece[i].at + t * r->points;
            place_points(r, c, t, s->Z + at, b->P, s->small);
            double time = c->gap->start + r->time[t] * c->gap->length;
            struct instant now = {.track = c->gap->track,
                                  .time = time,
                                  .low = time,
                                  .high = time};
            fill_time(p, s, &now, at, r->points, b->P);
        }
    }
    struct points in = block_points(s, b->P);
    if (p->range) stay_inside(p, v, s, b, &in);
    program_forward(p->unit, &v->unit, &s->unit, &in);
    const double *f = program_output(p->unit, &s->unit, b->P, 0);
    for (size_t i = 0; i < b->pieces; i++) {
        const struct piece *q = &b->piece[i];
        double sum = q->context->valid ? 0.0 : NAN;
        for (size_t n = 0; n < q->columns; n++)
            sum += weight_of(r, q->context, n) *
                   integrand(s, q->context, n / r->points, f, q->at + n, b->P);
        if (!S) continue;
        S[q->slot] += sum;
        S2[q->slot] += sum;
    }
}

/* --- Backward ------------------------------------------------------------- */

/* f_bar = w (u - r), and the part of Y_bar that does not come through f:
 * -A' f_bar - UF' u_bar with u_bar = w r, which replaces r. */
static void integrand_vjp(const struct scratch *s, const struct context *c,
                          size_t t, double w, size_t at, size_t P)
{
    size_t d = c->reference.d;
    struct moment m = moment_of(c, t);
    const double *A = A_of(c);
    for (size_t i = 0; i < d; i++) {
        double r = s->Y[i * P + at];
        s->f_bar[i * P + at] = w * (s->dY[i * P + at] - r);
        s->Y[i * P + at] = w * r;
    }
    for (size_t j = 0; j < d; j++) {
        double sum = 0.0;
        for (size_t i = 0; i < d; i++)
            sum -= A[i * d + j] * s->f_bar[i * P + at] +
                   m.UF[i * d + j] * s->Y[i * P + at];
        s->Z_bar[j * P + at] = sum;
    }
}

/* Sums over the points of a time: u_bar, f_bar and Y_bar, the latter where the
 * point was not moved to the chord; (d) each. */
static void gather(const struct plan *p, const struct scratch *s,
                   struct context *c, size_t t, size_t at, size_t P,
                   double *u_bar, double *f_bar, double *m_bar)
{
    size_t d = p->d;
    double share = p->bound.time[t];
    memset(u_bar, 0, d * sizeof *u_bar);
    memset(f_bar, 0, d * sizeof *f_bar);
    memset(m_bar, 0, d * sizeof *m_bar);
    for (size_t i = 0; i < d; i++)
        for (size_t q = 0; q < p->bound.points; q++) {
            size_t k = i * P + at + q;
            u_bar[i] += s->Y[k];
            f_bar[i] += s->f_bar[k];
            if (p->range && s->outside[at + q]) {
                c->y_bar[i] += (1.0 - share) * s->Z_bar[k];
                c->y_bar[d + i] += share * s->Z_bar[k];
            } else {
                m_bar[i] += s->Z_bar[k];
            }
        }
}

/* The gradients by both ends and by b. */
static void ends_vjp(const struct plan *p, const struct scratch *s,
                     const struct piece *q, size_t P)
{
    struct context *c = q->context;
    size_t d = p->d;
    double *u_bar = s->small, *f_bar = u_bar + d, *m_bar = f_bar + d;
    double *y1_bar = c->y_bar + d, *b_bar = c->reference_bar.b;
    for (size_t t = 0; t < p->bound.times; t++) {
        struct moment m = moment_of(c, t);
        gather(p, s, c, t, q->at + t * p->bound.points, P, u_bar, f_bar, m_bar);
        add_times(d, m.P0, true, 1.0, m_bar, c->y_bar);
        add_times(d, m.P1, true, 1.0, m_bar, y1_bar);
        add_times(d, m.U, true, 1.0, u_bar, y1_bar);
        if (c->reference.kind == GSV_REFERENCE_BROWNIAN) continue;
        add_times(d, m.Pb, true, 1.0, m_bar, b_bar);
        add_times(d, m.UH, true, -1.0, u_bar, b_bar);
        for (size_t i = 0; i < d; i++)
            b_bar[i] -= f_bar[i];
    }
}

static void bound_backward(const struct plan *p, const struct values *v,
                           struct scratch *s, const struct block *b)
{
    const struct bound_rule *r = &p->bound;
    struct points in = block_points(s, b->P);
    bool ends = p->model->learned_noise;
    for (size_t i = 0; i < b->pieces; i++) {
        const struct piece *q = &b->piece[i];
        for (size_t n = 0; n < q->columns; n++)
            integrand_vjp(s, q->context, n / r->points,
                          s->S_bar[q->slot] * weight_of(r, q->context, n),
                          q->at + n, b->P);
    }
    program_vjp(p->unit, &v->unit, &s->unit, &in,
                (const double *const[1]){s->f_bar}, ends ? s->Z_bar : NULL,
                s->unit_bar);
    for (size_t i = 0; ends && i < b->pieces; i++)
        ends_vjp(p, s, &b->piece[i], b->P);
}

const struct weigher BOUND = {.check = bound_check,
                              .build = bound_build,
                              .columns = bound_columns,
                              .least = bound_points,
                              .context_size = bound_size,
                              .forward = bound_forward,
                              .backward = bound_backward,
                              .gaussian = true,
                              .sliced = true,
                              .one_step = true};
