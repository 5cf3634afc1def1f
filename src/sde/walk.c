/* SPDX-License-Identifier: MIT */
/* The line itself, gap by gap and block by block: ends to unit diffusion,
 * bridges between them, the drift on all of their points at once, weights;
 * and back again from right to left. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "sde/bridge.h"
#include "sde/estimate.h"
#include "sde/weigh.h"

/* The paths of a block fill whole vectors where there are enough. */
enum { VECTOR = 8, FEW = 16 };

/* How a gap's K paths of M steps are cut: blocks of paths, slices of steps. A
 * slice has an even number of steps, so that pairs of steps stay together. */
struct cut {
    size_t M, paths, steps;
};

static struct cut cut_of(const struct estimate *e, size_t M, size_t K)
{
    size_t paths = e->capacity / M, steps = M;
    if (paths < FEW) {
        paths = FEW;
        steps = e->capacity / FEW / 2 * 2;
        if (steps > M) steps = M;
    }
    if (paths >= K) paths = K;
    else paths = paths / VECTOR * VECTOR;
    return (struct cut){M, paths, steps};
}

bool walk_is_one_block(const struct estimate *e, size_t group)
{
    size_t gap = e->group_first[group], K = e->options->paths;
    if (e->group_first[group + 1] - gap > 1 || e->chunks > 1) return false;
    struct cut c = cut_of(e, estimate_steps(e, &e->gaps.gap[gap]), K);
    return c.paths == K && c.steps == c.M;
}

/* A gap as a thread walks it. */
struct walk {
    const struct estimate *e;
    struct scratch *s;
    const struct gap *gap;
    struct cut cut;
    double dt;
    double *y0, *y1; /* (d) */
    struct random_key key;
};

/* --- Both ends to unit diffusion ---------------------------------------- */

static struct points end_points(const struct walk *w)
{
    const struct scratch *s = w->s;
    return (struct points){.P = 2,
                           .state = s->x,
                           .time = s->end_time,
                           .input = s->end_input,
                           .slope = s->end_slope};
}

static struct walk walk_start(const struct estimate *e, struct scratch *s,
                              size_t gap, size_t K)
{
    struct walk w = {.e = e, .s = s, .gap = &e->gaps.gap[gap]};
    size_t M = estimate_steps(e, w.gap), d = e->d;
    w.cut = cut_of(e, M, K);
    w.dt = w.gap->length / (double)M;
    w.key = (struct random_key){
        .seed = e->options->seed, .purpose = RANDOM_BRIDGE, .item = gap};
    double end = e->gaps.series->time[w.gap->to];
    gap_ends(&e->gaps, w.gap, s->x);
    s->end_time[0] = w.gap->start;
    s->end_time[1] = end;
    for (size_t i = 0; e->inputs && i < 2; i++)
        gap_inputs(&e->gaps, w.gap->track, s->end_time[i], i, s->end_input + i,
                   s->end_slope + i, 2);
    struct points in = end_points(&w);
    program_forward(e->map, &e->map_uniforms, &s->map, &in);
    const double *y = program_output(e->map, &s->map, 2, 0);
    w.y0 = s->y;
    w.y1 = s->y + d;
    for (size_t i = 0; i < d; i++) {
        w.y0[i] = y[2 * i];
        w.y1[i] = y[2 * i + 1];
    }
    return w;
}

/* log |det dT/dx| at the later end + log N(y1; y0, h). */
static double base_of(const struct walk *w)
{
    size_t d = w->e->d;
    double h = w->gap->length, square = 0.0;
    for (size_t i = 0; i < d; i++)
        square += (w->y1[i] - w->y0[i]) * (w->y1[i] - w->y0[i]);
    double jacobian = program_output(w->e->map, &w->s->map, 2, 1)[1];
    return jacobian - 0.5 * square / h -
           0.5 * (double)d * log(2.0 * acos(-1.0) * h);
}

/* The gradient of the ends and of base, where `once` is 1 in one item of the
 * group and 0 in the others. y0_bar and y1_bar are those of the bridges. */
static void ends_vjp(const struct walk *w, double once)
{
    const struct estimate *e = w->e;
    struct scratch *s = w->s;
    size_t d = e->d;
    double *y_bar = s->Y_bar, h = w->gap->length; /* (d, 2) of free memory */
    for (size_t i = 0; i < d; i++) {
        double pull = once * (w->y1[i] - w->y0[i]) / h;
        y_bar[2 * i] = s->y_bar[i] + pull;
        y_bar[2 * i + 1] = s->y_bar[d + i] - pull;
    }
    const double jacobian_bar[2] = {0.0, once};
    struct points in = end_points(w);
    program_vjp(e->map, &e->map_uniforms, &s->map, &in,
                (const double *const[2]){y_bar, jacobian_bar}, NULL,
                s->map_bar);
}

/* --- A block of paths, a slice of steps --------------------------------- */

struct block {
    size_t k0, K;        /* paths  */
    size_t first, steps; /* steps  */
};

static struct bridge bridge_of(const struct walk *w, const struct block *b)
{
    return (struct bridge){.d = w->e->d,
                           .M = w->cut.M,
                           .K = b->K,
                           .dt = w->dt,
                           .y0 = w->y0,
                           .y1 = w->y1};
}

static void path_starts(const struct walk *w, size_t K)
{
    for (size_t i = 0; i < w->e->d; i++)
        for (size_t k = 0; k < K; k++)
            w->s->at[i * K + k] = w->y0[i];
}

/* Time and inputs at the left ends, the same for all paths. */
static void fill_times(const struct walk *w, const struct block *b)
{
    const struct estimate *e = w->e;
    struct scratch *s = w->s;
    bool time = program_uses(e->unit, OP_TIME);
    size_t P = b->steps * b->K;
    for (size_t m = 0; (time || e->inputs) && m < b->steps; m++) {
        double t = w->gap->start + w->dt * (double)(b->first + m);
        size_t at = m * b->K;
        if (e->inputs)
            gap_inputs(&e->gaps, w->gap->track, t, false, s->input + at,
                       s->slope + at, P);
        for (size_t k = 0; k < b->K; k++)
            s->time[at + k] = t;
        for (size_t i = 0; i < e->inputs; i++)
            for (size_t k = 1; k < b->K; k++) {
                s->input[i * P + at + k] = s->input[i * P + at];
                s->slope[i * P + at + k] = s->slope[i * P + at];
            }
    }
}

static struct points block_points(const struct walk *w, const struct block *b)
{
    const struct scratch *s = w->s;
    return (struct points){.P = b->steps * b->K,
                           .state = s->Y,
                           .time = s->time,
                           .input = s->input,
                           .slope = s->slope};
}

/* Samples and runs the drift. */
static void block_forward(const struct walk *w, const struct block *b)
{
    const struct estimate *e = w->e;
    struct scratch *s = w->s;
    struct bridge bridge = bridge_of(w, b);
    bool last = b->first + b->steps == w->cut.M;
    if (!b->first) path_starts(w, b->K);
    random_normals(&w->key, (uint64_t)b->first * e->d, (b->steps - last) * e->d,
                   b->k0, b->K, s->z);
    bridge_walk(&bridge, b->first, b->steps, s->z, s->at, s->Y, s->dY);
    fill_times(w, b);
    struct points in = block_points(w, b);
    program_forward(e->unit, &e->unit_uniforms, &s->unit, &in);
}

/* After block_forward: from the weights' gradient to that of the uniforms and
 * of the bridges' ends. */
static void block_backward(const struct walk *w, const struct block *b,
                           const double *S_bar)
{
    const struct estimate *e = w->e;
    struct scratch *s = w->s;
    struct points in = block_points(w, b);
    struct bridge bridge = bridge_of(w, b);
    const double *f = program_output(e->unit, &s->unit, in.P, 0);
    bool ends = e->model->learned_noise;
    weigh_vjp(e->d, b->steps, b->K, w->dt, f, s->dY, S_bar, s->f_bar,
              s->dY_bar);
    if (ends) memset(s->Y_bar, 0, e->d * in.P * sizeof *s->Y_bar);
    program_vjp(e->unit, &e->unit_uniforms, &s->unit, &in,
                (const double *const[1]){s->f_bar}, ends ? s->Y_bar : NULL,
                s->unit_bar);
    if (ends)
        bridge_vjp(&bridge, b->first, b->steps, s->Y_bar, s->dY_bar, s->y_bar,
                   s->y_bar + e->d);
}

/* --- A group ------------------------------------------------------------ */

/* The block that starts at path k0 and a step. */
static struct block block_at(const struct walk *w, size_t k0, size_t k1,
                             size_t first)
{
    size_t K = k1 - k0, steps = w->cut.M - first;
    return (struct block){.k0 = k0,
                          .K = K < w->cut.paths ? K : w->cut.paths,
                          .first = first,
                          .steps = steps < w->cut.steps ? steps : w->cut.steps};
}

void walk_forward(const struct estimate *e, struct scratch *s, size_t group,
                  size_t k0, size_t k1, double *base)
{
    memset(s->S, 0, (k1 - k0) * sizeof *s->S);
    memset(s->S2, 0, (k1 - k0) * sizeof *s->S2);
    for (size_t n = e->group_first[group]; n < e->group_first[group + 1]; n++) {
        struct walk w = walk_start(e, s, n, k1 - k0);
        *base += base_of(&w);
        for (size_t k = k0; k < k1; k += w.cut.paths)
            for (size_t m = 0; m < w.cut.M; m += w.cut.steps) {
                struct block b = block_at(&w, k, k1, m);
                block_forward(&w, &b);
                weigh(e->d, b.steps, b.K, w.dt,
                      program_output(e->unit, &s->unit, b.steps * b.K, 0),
                      s->dY, s->S + (k - k0), s->S2 + (k - k0));
            }
    }
}

void walk_backward(const struct estimate *e, struct scratch *s, size_t group,
                   size_t k0, size_t k1, bool fresh)
{
    for (size_t n = e->group_first[group]; n < e->group_first[group + 1]; n++) {
        struct walk w = walk_start(e, s, n, k1 - k0);
        memset(s->y_bar, 0, 2 * e->d * sizeof *s->y_bar);
        for (size_t k = k0; k < k1; k += w.cut.paths)
            for (size_t m = 0; m < w.cut.M; m += w.cut.steps) {
                struct block b = block_at(&w, k, k1, m);
                if (!fresh) block_forward(&w, &b);
                block_backward(&w, &b, s->S_bar + (k - k0));
            }
        if (e->model->learned_noise) ends_vjp(&w, k0 == 0);
    }
}
