/* SPDX-License-Identifier: MIT */
/* The form `composed`: no paths, in one dimension, where the drift does not
 * depend on time. There the density of a gap of length h is
 *
 *     p(y1 | y0) = N(y1; y0, h) exp(int f~ dy) E exp(-int g(Y) dt),
 *     g = (f~^2 + f~') / 2,
 *
 * Y a Brownian bridge (context.c has the first two factors). E is composed of M
 * steps on a lattice: at time t = m dt the points are the chord and u_k beside
 * it, k sqrt(dt), and
 *
 *     E N(0; 0, h) = sum of all prod N(u_m+1; u_m, dt) exp(-g dt) sqrt(dt)
 *
 * over the points at all inner times, with g at the ends counted by half. Sums
 * over a lattice of this spacing are exact to 1e-8. The error of time is of
 * second order, L_M = log E + c / M^2, so that of an even M
 *
 *     S = (4 L_M - L_M/2) / 3.
 *
 * A chain of every second time has the same lattice, whose kernel depends on
 * the distance of two points alone. Where the ends of the lattice have weight
 * it is too narrow, and where S changes much with half of the steps they are
 * too few: then S is not a number. */
#include <math.h>
#include <string.h>

#include "base/constant.h"
#include "base/error.h"
#include "base/fast.h"
#include "base/vector_math.h"
#include "bridge/context.h"
#include "bridge/gap_method.h"
#include "bridge/weighers.h"

/* The lattice reaches so many sqrt(h) from the chord, whose bridge has a
 * deviation of a half; more steps would take too much memory. */
static const double REACH = 5.0;
enum { MOST_STEPS = 256 };

/* The share of the weight that its ends may have. */
static const double EDGE = 1e-7;

/* What half of the steps may change S, where there are more than a few: a
 * search must not go where the extrapolation means nothing. Its error is about
 * a fifteenth of that. */
static const double ROUGH = 0.3;
enum { FEW_STEPS = 16 };

/* The kernel of a chain of every n-th time, up to 1e-16. */
enum { MOST_STRIDE = 4, MOST_REACH = 18 };

static size_t half_of(size_t M)
{
    return (size_t)ceil(REACH * sqrt((double)M));
}

static size_t points_of(size_t M)
{
    return 2 * half_of(M) + 1;
}

/* Both ends first, then the lattices of the inner times. */
static size_t composed_columns(const struct plan *p, size_t M)
{
    (void)p;
    return M ? 2 + (M - 1) * points_of(M) : 0;
}

static size_t composed_least(const struct plan *p)
{
    size_t least = composed_columns(p, p->longest);
    return least > POTENTIAL_NODES ? least : POTENTIAL_NODES;
}

/* --- Checks and programs -------------------------------------------------- */

const char *composed_reason(const gsv_model *m)
{
    if (m->bridged || m->spec->dim != 1) return "one state";
    if (graph_moves(m->spec->graph, m->unit_drift))
        return "a drift and a noise without time and inputs";
    if (m->spec->graph->nets || spec_has_functions(m->spec))
        return "formulas, without networks, gps and external functions";
    if (m->distance)
        return "states without a boundary, such as 0 under sqrt(x)*dW";
    return NULL;
}

static int composed_check(const struct plan *p)
{
    const gsv_options *o = p->options;
    const char *needed = composed_reason(p->model);
    if (needed)
        return fail(GSV_BAD_INPUT,
                    "the form composed needs %s; leave the form to auto",
                    needed);
    if (o->joint || o->delta ||
        (o->reference != GSV_REFERENCE_AUTO &&
         o->reference != GSV_REFERENCE_BROWNIAN))
        return fail(GSV_BAD_INPUT,
                    "the form composed draws no paths: remove joint, delta "
                    "and reference, which are for paths");
    if (p->longest > MOST_STEPS)
        return fail(GSV_BAD_INPUT,
                    "the form composed has at most %d steps in a gap, not %zu",
                    MOST_STEPS, p->longest);
    return 0;
}

static int composed_build(struct plan *p, struct drift_outputs *out)
{
    int status = add_divergence(p, &out->node[1]);
    out->count = 2;
    p->potential = true;
    return status;
}

/* --- A chain ---------------------------------------------------------------
 */

/* Every stride-th time of a gap; pointers are to its first inner time. */
struct chain {
    size_t M, n, stride;
    double dt;           /* of a step of the chain                        */
    const double *decay; /* (M - 1, n) exp(-dt (g - least)) of short steps */
    const double *least; /* (M - 1) the smallest g of a time              */
    double ends;         /* g at both ends, added                         */
    size_t reach;        /* of the kernel                                 */
    double kernel[MOST_REACH + 1];
};

static struct chain chain_of(const struct plan *p, const struct scratch *s,
                             const struct block *b, const struct piece *q,
                             size_t stride)
{
    const double *f = program_output(p->unit, &s->unit, b->P, 0) + q->at;
    const double *div = program_output(p->unit, &s->unit, b->P, 1) + q->at;
    size_t M = q->context->M;
    struct chain c = {.M = M,
                      .n = points_of(M),
                      .stride = stride,
                      .dt = q->context->dt * (double)stride,
                      .decay = s->dot + q->at,
                      .least = s->at + q->at,
                      .ends =
                          0.5 * (f[0] * f[0] + div[0] + f[1] * f[1] + div[1])};
    double variance = (double)stride; /* in squares of the spacing */
    c.reach = (size_t)ceil(sqrt(74.0 * variance));
    for (size_t j = 0; j <= c.reach; j++)
        c.kernel[j] = exp(-0.5 * (double)(j * j) / variance -
                          0.5 * (LOG_TWO_PI + log(variance)));
    return c;
}

/* decay = exp(-dt (g - least)) at the points of one time, 0 outside; returns
 * the least g. */
FAST static double decay_time(size_t n, double dt, const double *restrict f,
                              const double *restrict div, const bool *outside,
                              double *restrict decay)
{
    double least = INFINITY;
    for (size_t k = 0; k < n; k++) {
        double g = 0.5 * (f[k] * f[k] + div[k]);
        decay[k] = outside && outside[k] ? INFINITY : g;
    }
    for (size_t k = 0; k < n; k++)
        least = decay[k] >= least ? least : decay[k];
    for (size_t k = 0; k < n; k++)
        decay[k] = exp(dt * (least - decay[k]));
    return least;
}

/* Of all inner times, to s->dot and s->at. */
static void find_decay(const struct plan *p, const struct scratch *s,
                       const struct block *b, const struct piece *q)
{
    size_t M = q->context->M, n = points_of(M);
    for (size_t m = 1; m < M; m++) {
        size_t at = (m - 1) * n, from = q->at + 2 + at;
        s->at[q->at + m - 1] = decay_time(
            n, q->context->dt,
            program_output(p->unit, &s->unit, b->P, 0) + from,
            program_output(p->unit, &s->unit, b->P, 1) + from,
            p->range ? s->outside + from : NULL, s->dot + q->at + at);
    }
}

/* out = kernel * in, over n points. */
FAST static void convolve(size_t n, size_t reach, const double *restrict kernel,
                          const double *restrict in, double *restrict out)
{
    for (size_t k = 0; k < n; k++)
        out[k] = kernel[0] * in[k];
    for (size_t j = 1; j <= reach && j < n; j++) {
        for (size_t k = j; k < n; k++)
            out[k] += kernel[j] * in[k - j];
        for (size_t k = j; k < n; k++)
            out[k - j] += kernel[j] * in[k];
    }
}

/* The kernel from the chord, which is the middle of the lattice. */
static void leave_chord(const struct chain *c, double *to)
{
    size_t middle = c->n / 2;
    for (size_t k = 0; k < c->n; k++) {
        size_t apart = k < middle ? middle - k : k - middle;
        to[k] = apart <= c->reach ? c->kernel[apart] : 0.0;
    }
}

/* x *= exp(-g dt) at the points of time m; returns the log of what is taken
 * out of it. */
FAST static double multiply(const struct chain *c, size_t m, double *restrict x)
{
    const double *decay = c->decay + (m - 1) * c->n;
    for (size_t k = 0; k < c->n; k++) {
        double once = decay[k], twice = once * once;
        x[k] *= c->stride == 1 ? once : c->stride == 2 ? twice : twice * twice;
    }
    return -c->dt * c->least[m - 1];
}

/* The largest becomes 1; its log is returned. n > 0. */
FAST static double normalise(size_t n, double *x)
{
    double most = x[0];
    for (size_t k = 1; k < n; k++)
        most = x[k] > most ? x[k] : most;
    double by = 1.0 / most;
    for (size_t k = 0; k < n; k++)
        x[k] *= by;
    return log(most);
}

/* The weights of all points given what came before, alpha (M - 1, n), and
 * log E. */
static double go_forward(const struct chain *c, double *alpha)
{
    double sum = 0.0, total = -0.5 * c->dt * c->ends;
    if (c->stride == c->M) return total;
    for (size_t m = c->stride; m < c->M; m += c->stride) {
        double *now = alpha + (m - 1) * c->n;
        if (m == c->stride) leave_chord(c, now);
        else convolve(c->n, c->reach, c->kernel, now - c->stride * c->n, now);
        total += multiply(c, m, now);
        total += normalise(c->n, now);
    }
    const double *last = alpha + (c->M - c->stride - 1) * c->n;
    size_t middle = c->n / 2;
    for (size_t k = 0; k < c->n; k++) {
        size_t apart = k < middle ? middle - k : k - middle;
        if (apart <= c->reach) sum += last[k] * c->kernel[apart];
    }
    return total + log(sum) + 0.5 * (LOG_TWO_PI + log((double)c->M));
}

/* From alpha to the share of the weight that every point has; beta and room
 * have n numbers each. */
static void go_back(const struct chain *c, double *alpha, double *beta,
                    double *room)
{
    for (size_t m = c->M - c->stride; m >= c->stride && m < c->M;
         m -= c->stride) {
        double *now = alpha + (m - 1) * c->n, sum = 0.0;
        if (m == c->M - c->stride) leave_chord(c, beta);
        else {
            multiply(c, m + c->stride, beta);
            convolve(c->n, c->reach, c->kernel, beta, room);
            memcpy(beta, room, c->n * sizeof *beta);
            normalise(c->n, beta);
        }
        for (size_t k = 0; k < c->n; k++)
            sum += now[k] *= beta[k];
        for (size_t k = 0; k < c->n; k++)
            now[k] /= sum;
    }
}

/* The largest share at an end of the lattice. */
static double edge_of(const struct chain *c, const double *share)
{
    double most = 0.0;
    for (size_t m = c->stride; m < c->M; m += c->stride) {
        const double *now = share + (m - 1) * c->n;
        most = fmax(most, fmax(now[0], now[c->n - 1]));
    }
    return most;
}

/* --- A block ---------------------------------------------------------------
 */

static void place(const struct piece *q, double *Z)
{
    const struct context *c = q->context;
    size_t n = points_of(c->M), middle = n / 2;
    double spacing = sqrt(c->dt);
    Z[0] = *c->y0;
    Z[1] = *c->y1;
    for (size_t m = 1; m < c->M; m++) {
        double chord = *c->y0 + (*c->y1 - *c->y0) * (double)m / (double)c->M;
        for (size_t k = 0; k < n; k++)
            Z[2 + (m - 1) * n + k] =
                chord + spacing * ((double)k - (double)middle);
    }
}

/* A point beyond the range of T has no weight, and moves to the chord. */
static void stay_inside(const struct plan *p, const struct values *v,
                        struct scratch *s, const struct block *b,
                        const struct points *in)
{
    find_outside(p, v, s, in);
    for (size_t i = 0; i < b->pieces; i++) {
        const struct piece *q = &b->piece[i];
        size_t M = q->context->M, n = points_of(M);
        for (size_t k = 2; k < q->columns; k++) {
            size_t m = (k - 2) / n + 1;
            if (s->outside[q->at + k])
                chord_point(q->context, (double)m / (double)M, s->Z + q->at + k,
                            b->P);
        }
    }
}

/* log E of the chains of every first, second and fourth time, as far as M can
 * be divided; returns how many. NAN where the lattice is too narrow. */
static size_t find_logs(const struct plan *p, const struct scratch *s,
                        const struct block *b, const struct piece *q,
                        double log_E[3])
{
    size_t M = q->context->M, n = M % 2 ? 1 : M % 4 ? 2 : 3;
    double *alpha = s->Y + q->at;
    for (size_t i = 0; i < n; i++) {
        struct chain c = chain_of(p, s, b, q, (size_t)1 << i);
        log_E[i] = go_forward(&c, alpha);
        if (i != (n > 1)) continue;
        go_back(&c, alpha, s->dY + q->at, s->xi + q->at);
        if (!(edge_of(&c, alpha) < EDGE)) log_E[0] = log_E[1] = NAN;
    }
    return n;
}

/* The value from log E of n chains, of which the first is the finest. */
static double value_of(size_t n, const double *log_E)
{
    return n > 1 ? (4.0 * log_E[0] - log_E[1]) / 3.0 : log_E[0];
}

static void composed_forward(const struct plan *p, const struct values *v,
                             struct scratch *s, const struct block *b,
                             double *S, double *S2)
{
    for (size_t i = 0; i < b->pieces; i++)
        place(&b->piece[i], s->Z + b->piece[i].at);
    struct points in = block_points(s, b->P);
    if (p->range) stay_inside(p, v, s, b, &in);
    program_forward(p->unit, &v->unit, &s->unit, &in);
    for (size_t i = 0; i < b->pieces; i++) {
        const struct piece *q = &b->piece[i];
        find_decay(p, s, b, q);
        if (!S) continue;
        double log_E[3];
        size_t n = find_logs(p, s, b, q, log_E);
        double value = value_of(n, log_E), half = value;
        if (n > 1) half = value_of(n - 1, log_E + 1);
        bool rough = q->context->M >= FEW_STEPS && fabs(value - half) > ROUGH;
        S[q->slot] += rough ? NAN : value;
        S2[q->slot] += half;
    }
}

/* g_bar of all points, to s->div_bar: -dt times the share of each. */
static void add_shares(const struct scratch *s, const struct piece *q,
                       const struct chain *c, double weight)
{
    const double *share = s->Y + q->at;
    double *bar = s->div_bar + q->at, w = weight * c->dt;
    bar[0] -= 0.5 * w;
    bar[1] -= 0.5 * w;
    for (size_t m = c->stride; m < c->M; m += c->stride)
        for (size_t k = (m - 1) * c->n; k < m * c->n; k++)
            bar[2 + k] -= w * share[k];
}

/* From the gradient by the points to that by the ends of the gap. */
static void ends_vjp(const struct scratch *s, const struct piece *q)
{
    struct context *c = q->context;
    size_t n = points_of(c->M);
    const double *Z_bar = s->Z_bar + q->at;
    c->y_bar[0] += Z_bar[0];
    c->y_bar[1] += Z_bar[1];
    for (size_t m = 1; m < c->M; m++) {
        double sum = 0.0, share = (double)m / (double)c->M;
        for (size_t k = (m - 1) * n; k < m * n; k++)
            sum += Z_bar[2 + k];
        c->y_bar[0] += (1.0 - share) * sum;
        c->y_bar[1] += share * sum;
    }
}

static void composed_backward(const struct plan *p, const struct values *v,
                              struct scratch *s, const struct block *b)
{
    const double *f = program_output(p->unit, &s->unit, b->P, 0);
    bool ends = p->model->learned_noise;
    struct points in = block_points(s, b->P);
    memset(s->div_bar, 0, b->P * sizeof *s->div_bar);
    memset(s->Z_bar, 0, b->P * sizeof *s->Z_bar);
    for (size_t i = 0; i < b->pieces; i++) {
        const struct piece *q = &b->piece[i];
        static const double weight[] = {4.0 / 3.0, -1.0 / 3.0};
        bool even = q->context->M % 2 == 0;
        for (size_t j = 0; j < (even ? 2 : 1); j++) {
            struct chain c = chain_of(p, s, b, q, j + 1);
            go_forward(&c, s->Y + q->at);
            go_back(&c, s->Y + q->at, s->dY + q->at, s->xi + q->at);
            add_shares(s, q, &c, (even ? weight[j] : 1.0) * s->S_bar[q->slot]);
        }
    }
    for (size_t i = 0; i < b->P; i++) {
        s->f_bar[i] = s->div_bar[i] * f[i];
        s->div_bar[i] *= 0.5;
    }
    program_vjp(p->unit, &v->unit, &s->unit, &in,
                (const double *const[4]){s->f_bar, s->div_bar},
                ends ? s->Z_bar : NULL, s->unit_bar);
    for (size_t i = 0; ends && i < b->pieces; i++)
        ends_vjp(s, &b->piece[i]);
}

const struct weigher COMPOSED = {.check = composed_check,
                                 .build = composed_build,
                                 .columns = composed_columns,
                                 .least = composed_least,
                                 .forward = composed_forward,
                                 .backward = composed_backward,
                                 .gaussian = true,
                                 .one_path = true};
