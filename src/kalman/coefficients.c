/* SPDX-License-Identifier: MIT */
/* From parameters to transitions and views, and back. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/lanes.h"
#include "base/small.h"
#include "kalman/kalman.h"
#include "kalman/mix.h"

/* Transitions or views that are evaluated together; lanes of them. */
enum { BLOCK = 32, SHARES = 64 };

/* Of a model: dynamics, seen, leap, first. */
enum { FORMULAS = 4 };

struct kalman_thread {
    struct workspace dynamics, seen;
    double *state, *time, *input, *slope; /* (d, P), (P), (inputs, P) twice */
    double *bar;                          /* (outputs, P)                   */
    double *dynamics_bar, *seen_bar;      /* (program_uniforms)             */
    double *node[2], *node_bar[2];        /* A, b, q, G of a point          */
    double *effective, *effective_bar;    /* A, b, slope, q                 */
    double *scratch, *room;
    struct forcing forcing;
    struct leap leap;
    struct arena arena;
};

static size_t points_of(const struct kalman *k)
{
    bool one = k->motion == MOTION_NONE || k->motion == MOTION_FORCE;
    return one ? 1 : 2;
}

double *coefficients_room(const struct kalman *k, size_t thread)
{
    return k->thread[thread].room;
}

/* --- Memory --------------------------------------------------------------- */

static int thread_init(struct kalman *k, struct kalman_thread *t)
{
    bool bars = k->options.gradient;
    size_t d = k->d, dd = d * d, P = BLOCK * points_of(k);
    size_t inputs = k->model->spec->inputs * P, p = k->p;
    size_t part_size = 2 * dd + d + d * k->noises, all = 2 * dd + 2 * d;
    size_t outputs = dd + d + d * k->noises, views = p * (d + 2);
    if (views > outputs) outputs = views;
    const struct formula *f = &k->dynamics, *s = &k->seen;
    const struct arena_part part[] = {
        {&t->state, d * P},
        {&t->time, P},
        {&t->input, inputs},
        {&t->slope, inputs},
        {&t->bar, outputs * P},
        {&t->dynamics_bar, bars ? program_uniforms(f->program) : 0},
        {&t->seen_bar, bars && p ? program_uniforms(s->program) : 0},
        {&t->node[0], part_size},
        {&t->node[1], part_size},
        {&t->node_bar[0], part_size},
        {&t->node_bar[1], part_size},
        {&t->effective, all},
        {&t->effective_bar, all + 2 * dd + d},
        {&t->scratch, transition_scratch(d)},
        {&t->room, 6 * dd + 2 * d + adjoint_size(d)}};
    if (arena_lay(&t->arena, sizeof part / sizeof *part, part) ||
        workspace_init(&t->dynamics, f->program, P, bars, false) ||
        (p && workspace_init(&t->seen, s->program, BLOCK, bars, false)))
        return GSV_NO_MEMORY;
    if (k->motion == MOTION_FORCE && forcing_init(&t->forcing, d, bars))
        return GSV_NO_MEMORY;
    return leap_init(&t->leap, k);
}

int coefficients_init(struct kalman *k)
{
    int status = 0;
    k->threads = lanes_threads(k->options.threads);
    k->thread = NEW(struct kalman_thread, k->threads);
    if (!k->thread) return GSV_NO_MEMORY;
    for (size_t i = 0; !status && i < k->threads; i++)
        status = thread_init(k, &k->thread[i]);
    return status;
}

void coefficients_free(struct kalman *k)
{
    for (size_t i = 0; k->thread && i < k->threads; i++) {
        workspace_free(&k->thread[i].dynamics);
        workspace_free(&k->thread[i].seen);
        forcing_free(&k->thread[i].forcing);
        leap_free(&k->thread[i].leap);
        arena_free(&k->thread[i].arena);
    }
    mem_free(k->thread);
}

/* --- Points --------------------------------------------------------------- */

static void put_point(const struct kalman *k, struct kalman_thread *t,
                      size_t track, double time, bool before, size_t at,
                      size_t P)
{
    t->time[at] = time;
    if (k->model->spec->inputs)
        gap_inputs(&k->stops.gaps, track, time, before, t->input + at,
                   t->slope + at, P);
}

static struct points block_points(const struct kalman_thread *t, size_t P)
{
    return (struct points){.P = P,
                           .state = t->state,
                           .time = t->time,
                           .input = t->input,
                           .slope = t->slope};
}

static double gap_length(const struct kalman *k, size_t transition)
{
    const struct stop *to = &k->stops.stop[k->gap_of[transition]];
    return to->time - to[-1].time;
}

/* Points of the transitions [first, first + n), then the program there. */
static struct points run_dynamics(const struct kalman *k,
                                  struct kalman_thread *t, size_t first,
                                  size_t n)
{
    size_t each = points_of(k), P = n * each;
    double off = 0.5 - sqrt(3.0) / 6.0;
    for (size_t i = 0; i < n; i++) {
        const struct stop *to = &k->stops.stop[k->gap_of[first + i]];
        double t0 = to[-1].time, h = to->time - t0;
        bool any = k->motion == MOTION_ANY;
        put_point(k, t, to->track, any ? t0 + off * h : t0, false, i * each, P);
        if (each > 1)
            put_point(k, t, to->track, any ? t0 + (1.0 - off) * h : to->time,
                      true, i * each + 1, P);
    }
    struct points in = block_points(t, P);
    program_forward(k->dynamics.program, &k->dynamics.uniforms, &t->dynamics,
                    &in);
    return in;
}

/* --- Coefficients of a step ----------------------------------------------- */

static struct node_part part_of(const struct kalman *k, double *of)
{
    return node_part(k->d, of);
}

static struct coefficients step_of(const struct kalman *k, double *memory)
{
    size_t d = k->d, dd = d * d;
    return (struct coefficients){memory, memory + dd, memory + dd + d,
                                 memory + dd + 2 * d};
}

/* The outputs at a point to node memory, and q = G G'. */
static void read_node(const struct kalman *k, const struct kalman_thread *t,
                      size_t P, size_t at, double *memory)
{
    size_t d = k->d, m = k->noises;
    struct node_part to = part_of(k, memory);
    const struct program *f = k->dynamics.program;
    double *const into[] = {to.A, to.b, to.G};
    const size_t size[] = {d * d, d, d * m};
    for (size_t o = 0; o < 3; o++) {
        const double *from = program_output(f, &t->dynamics, P, o);
        for (size_t e = 0; e < size[o]; e++)
            into[o][e] = from[e * P + at];
    }
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++)
            to.q[i * d + j] = small_dot(m, to.G + i * m, to.G + j * m);
}

/* The constant coefficients of transition number i of a block. */
static struct coefficients effective(const struct kalman *k,
                                     struct kalman_thread *t, size_t i,
                                     size_t P, double h)
{
    size_t d = k->d, each = points_of(k);
    struct coefficients to = step_of(k, t->effective);
    struct node_part a = part_of(k, t->node[0]), b = part_of(k, t->node[1]);
    for (size_t j = 0; j < each; j++)
        read_node(k, t, P, i * each + j, t->node[j]);
    memset(to.slope, 0, d * sizeof *to.slope);
    memset(to.b, 0, d * sizeof *to.b);
    if (k->motion == MOTION_ANY) {
        mix_nodes(d, h, &a, &b, &to, t->room);
        return to;
    }
    memcpy(to.A, a.A, d * d * sizeof *to.A);
    memcpy(to.q, a.q, d * d * sizeof *to.q);
    if (k->motion != MOTION_FORCE) memcpy(to.b, a.b, d * sizeof *to.b);
    for (size_t j = 0; k->motion == MOTION_DRIFT && j < d; j++)
        to.slope[j] = (b.b[j] - a.b[j]) / h;
    return to;
}

/* To the bars of the outputs at the points of transition number i. */
static void effective_vjp(const struct kalman *k, struct kalman_thread *t,
                          size_t i, size_t P, double h,
                          const struct coefficients *bar)
{
    size_t d = k->d, dd = d * d, m = k->noises, each = points_of(k);
    struct node_part a_bar = part_of(k, t->node_bar[0]);
    struct node_part b_bar = part_of(k, t->node_bar[1]);
    size_t size = 2 * dd + d + d * m;
    memset(t->node_bar[0], 0, size * sizeof(double));
    memset(t->node_bar[1], 0, size * sizeof(double));
    if (k->motion == MOTION_ANY) {
        struct node_part a = part_of(k, t->node[0]);
        struct node_part b = part_of(k, t->node[1]);
        mix_nodes_vjp(d, h, &a, &b, bar, &a_bar, &b_bar, t->room);
    } else {
        memcpy(a_bar.A, bar->A, dd * sizeof *bar->A);
        memcpy(a_bar.q, bar->q, dd * sizeof *bar->q);
        if (k->motion != MOTION_FORCE)
            memcpy(a_bar.b, bar->b, d * sizeof *bar->b);
    }
    for (size_t j = 0; k->motion == MOTION_DRIFT && j < d; j++) {
        a_bar.b[j] -= bar->slope[j] / h;
        b_bar.b[j] += bar->slope[j] / h;
    }
    for (size_t n = 0; n < each; n++) {
        struct node_part from = part_of(k, t->node_bar[n]);
        struct node_part at = part_of(k, t->node[n]);
        double *to = t->bar + i * each + n;
        for (size_t e = 0; e < dd; e++, to += P)
            *to = from.A[e];
        for (size_t e = 0; e < d; e++, to += P)
            *to = from.b[e];
        for (size_t e = 0; e < d * m; e++, to += P) {
            *to = 0.0;
            for (size_t l = 0; l < d; l++)
                *to += 2.0 * from.q[e / m * d + l] * at.G[l * m + e % m];
        }
    }
}

/* --- Forces in time ------------------------------------------------------- */

/* A gap in whose time b changes in any way. */
struct pushed {
    const struct kalman *k;
    struct kalman_thread *t;
    const struct stop *to;
};

static struct points run_pushed(const struct pushed *u, size_t n,
                                const double *time)
{
    const struct formula *f = &u->k->dynamics;
    for (size_t j = 0; j < n; j++)
        put_point(u->k, u->t, u->to->track, u->to[-1].time + time[j], false, j,
                  n);
    struct points in = block_points(u->t, n);
    program_forward(f->program, &f->uniforms, &u->t->dynamics, &in);
    return in;
}

static void push(void *user, size_t n, const double *time, double *b)
{
    const struct pushed *u = user;
    run_pushed(u, n, time);
    memcpy(b, program_output(u->k->dynamics.program, &u->t->dynamics, n, 1),
           u->k->d * n * sizeof *b);
}

static void push_vjp(void *user, size_t n, const double *time,
                     const double *b_bar)
{
    const struct pushed *u = user;
    const struct formula *f = &u->k->dynamics;
    struct points in = run_pushed(u, n, time);
    program_vjp(f->program, &f->uniforms, &u->t->dynamics, &in,
                (const double *const[3]){NULL, b_bar, NULL}, NULL,
                u->t->dynamics_bar);
}

static struct force force_of(struct pushed *u)
{
    return (struct force){u, u->to[-1].time, push, push_vjp};
}

/* c of transition j; false where it is not finite. */
static bool make_force(const struct kalman *k, struct kalman_thread *t,
                       size_t j, double h, const double *A, double *c)
{
    if (k->motion != MOTION_FORCE) return true;
    struct pushed u = {k, t, &k->stops.stop[k->gap_of[j]]};
    const struct force force = force_of(&u);
    return forcing_make(&t->forcing, h, A, &force, c);
}

/* Adds to A_bar, and to the bars of the dynamics. */
static void make_force_vjp(const struct kalman *k, struct kalman_thread *t,
                           size_t j, double h, const double *A,
                           const double *c_bar, double *A_bar)
{
    double *c = t->room, *bar = c + k->d;
    if (k->motion != MOTION_FORCE) return;
    struct pushed u = {k, t, &k->stops.stop[k->gap_of[j]]};
    const struct force force = force_of(&u);
    memcpy(bar, c_bar, k->d * sizeof *bar);
    if (forcing_make(&t->forcing, h, A, &force, c))
        forcing_vjp(&t->forcing, h, A, &force, bar, A_bar);
    run_dynamics(k, t, j, 1); /* as it was */
}

/* --- Transitions ---------------------------------------------------------- */

static void make_block(struct kalman *k, struct kalman_thread *t, size_t first,
                       size_t n)
{
    size_t d = k->d, dd = d * d;
    struct points in = run_dynamics(k, t, first, n);
    for (size_t i = 0; i < n; i++) {
        size_t j = first + i;
        double h = gap_length(k, j), *Q = t->room + 2 * dd;
        struct coefficients from = effective(k, t, i, in.P, h);
        const struct transition to = {k->Phi + j * dd, k->c + j * d, Q};
        k->bad[j] = !transition_make(d, h, &from, &to, t->scratch) ||
                    !make_force(k, t, j, h, from.A, to.c);
        if (k->bad[j]) continue;
        filter_root(d, Q, k->root + j * dd, t->room + 3 * dd);
        leap_apply(k, &t->leap, k->gap_of[j], to.Phi, to.c);
    }
}

/* The bars of transition j to those of what it is without a leap. */
static void leave_leap(const struct kalman *k, struct kalman_thread *t,
                       size_t j, double h, const struct coefficients *from,
                       const struct transition *bar)
{
    size_t d = k->d, dd = d * d, stop = k->gap_of[j];
    bool event;
    double *Phi = t->room, *Q = Phi + dd, *c = Q + dd;
    if (!leap_is(k, stop, &event)) return;
    const struct transition whole = {Phi, c, Q};
    transition_make(d, h, from, &whole, t->scratch);
    leap_vjp(k, &t->leap, stop, Phi, bar->Phi, bar->c);
}

static void vjp_block(struct kalman *k, struct kalman_thread *t, size_t first,
                      size_t n)
{
    size_t d = k->d, dd = d * d, size = 2 * dd + d;
    struct points in = run_dynamics(k, t, first, n);
    const double *const output_bar[] = {t->bar, t->bar + dd * in.P,
                                        t->bar + (dd + d) * in.P};
    struct coefficients bar = step_of(k, t->effective_bar);
    for (size_t i = 0; i < n; i++) {
        double *of = k->transition_bar + (first + i) * size;
        double h = gap_length(k, first + i);
        struct coefficients from = effective(k, t, i, in.P, h);
        const struct transition to = {of, of + dd, of + dd + d};
        leave_leap(k, t, first + i, h, &from, &to);
        transition_vjp(d, h, &from, &to, &bar, t->scratch);
        make_force_vjp(k, t, first + i, h, from.A, to.c, bar.A);
        effective_vjp(k, t, i, in.P, h, &bar);
    }
    program_vjp(k->dynamics.program, &k->dynamics.uniforms, &t->dynamics, &in,
                output_bar, NULL, t->dynamics_bar);
}

/* --- Views ---------------------------------------------------------------- */

/* Points of the views [first, first + n); a view without a row of its own
 * depends on nothing. */
static struct points run_seen(const struct kalman *k, struct kalman_thread *t,
                              size_t first, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct stop *at = &k->stops.stop[k->row_of[first + i]];
        put_point(k, t, at->track, at->time, false, i, n);
    }
    struct points in = block_points(t, n);
    program_forward(k->seen.program, &k->seen.uniforms, &t->seen, &in);
    return in;
}

static void see_block(struct kalman *k, struct kalman_thread *t, size_t first,
                      size_t n)
{
    struct points in = run_seen(k, t, first, n);
    double *const into[] = {k->H, k->offset, k->deviation};
    const size_t size[] = {k->p * k->d, k->p, k->p};
    for (size_t o = 0; o < 3; o++) {
        const double *from = program_output(k->seen.program, &t->seen, in.P, o);
        for (size_t i = 0; i < n; i++)
            for (size_t e = 0; e < size[o]; e++)
                into[o][(first + i) * size[o] + e] = from[e * in.P + i];
    }
}

static void see_block_vjp(struct kalman *k, struct kalman_thread *t,
                          size_t first, size_t n)
{
    struct points in = run_seen(k, t, first, n);
    size_t size = k->p * (k->d + 2);
    for (size_t i = 0; i < n; i++)
        for (size_t e = 0; e < size; e++)
            t->bar[e * n + i] = k->view_bar[(first + i) * size + e];
    const double *const output_bar[] = {t->bar, t->bar + k->p * k->d * n,
                                        t->bar + k->p * (k->d + 1) * n};
    program_vjp(k->seen.program, &k->seen.uniforms, &t->seen, &in, output_bar,
                NULL, t->seen_bar);
}

/* --- All of them ---------------------------------------------------------- */

/* Blocks of transitions or of views. */
struct sweep {
    struct kalman *k;
    size_t count, lanes;
    void (*block)(struct kalman *k, struct kalman_thread *t, size_t first,
                  size_t n);
};

static void work(void *context, size_t lane, size_t thread)
{
    const struct sweep *s = context;
    size_t end = lanes_first(lane + 1, s->lanes, s->count);
    size_t most = s->k->motion == MOTION_FORCE ? 1 : BLOCK;
    for (size_t i = lanes_first(lane, s->lanes, s->count); i < end; i += most)
        s->block(s->k, &s->k->thread[thread], i,
                 end - i < most ? end - i : most);
}

static void merge(void *context, size_t lane, size_t thread)
{
    const struct sweep *s = context;
    struct kalman *k = s->k;
    (void)lane;
    move_sum(program_uniforms(k->dynamics.program),
             k->thread[thread].dynamics_bar, k->dynamics.bar);
    if (k->p)
        move_sum(program_uniforms(k->seen.program), k->thread[thread].seen_bar,
                 k->seen.bar);
    if (k->leap.program)
        move_sum(program_uniforms(k->leap.program),
                 k->thread[thread].leap.formula_bar, k->leap.bar);
}

/* Lanes are as many as blocks, so that small problems have one. Forces need the
 * workspace between transitions: then these come one by one. */
static int sweep(struct kalman *k, size_t count, bool gradient,
                 void (*block)(struct kalman *k, struct kalman_thread *t,
                               size_t first, size_t n))
{
    size_t blocks = (count + BLOCK - 1) / BLOCK;
    struct sweep s = {k, count, blocks < SHARES ? blocks : SHARES, block};
    const struct lanes_job job = {&s, work, gradient ? merge : NULL};
    return lanes_run(s.lanes, k->threads, &job);
}

static int check(const struct kalman *k)
{
    for (size_t i = 0; i < k->transitions; i++)
        if (k->bad[i])
            return fail(GSV_NUMERICAL,
                        "the law of the states after a gap of %g is not "
                        "finite; check the equations and the parameters",
                        gap_length(k, i));
    return 0;
}

/* The first law of a track; where all are alike, of the first one. */
static struct points run_first(struct kalman *k, size_t track)
{
    const struct program *f = k->first.program;
    struct kalman_thread *t = &k->thread[0];
    size_t stop = k->stops.first[track];
    struct points in = block_points(t, 1);
    if (k->first_moves)
        in = gaps_points(&k->stops.gaps, track, k->stops.stop[stop].time, false,
                         1, t->state, t->time, t->input, t->slope);
    program_forward(f, &k->first.uniforms, &k->first_space, &in);
    return in;
}

static bool is_empty(const struct kalman *k, size_t track)
{
    return k->stops.first[track] == k->stops.first[track + 1];
}

static void make_first(struct kalman *k)
{
    const struct program *f = k->first.program;
    size_t tracks = k->stops.gaps.series->tracks, size = k->states;
    for (size_t r = 0; r < tracks; r++) {
        if (k->first_moves && is_empty(k, r)) continue;
        if (k->first_moves || !r) run_first(k, r);
        memcpy(k->first_mean + r * k->d,
               program_output(f, &k->first_space, 1, 0), size * sizeof(double));
        memcpy(k->first_deviation + r * k->d,
               program_output(f, &k->first_space, 1, 1), size * sizeof(double));
    }
}

int coefficients_make(struct kalman *k)
{
    struct formula *all[] = {&k->dynamics, &k->seen, &k->leap, &k->first};
    for (size_t i = 0; i < FORMULAS; i++)
        if (all[i]->program)
            program_prepare(all[i]->program, k->model->value,
                            &all[i]->uniforms);
    make_first(k);
    int status = sweep(k, k->transitions, false, make_block);
    if (!status && k->views) status = sweep(k, k->views, false, see_block);
    return status ? status : check(k);
}

/* Where all tracks have one law, their sum stands in the first one's place. */
static void first_vjp(struct kalman *k)
{
    size_t tracks = k->first_moves ? k->stops.gaps.series->tracks : 1;
    for (size_t r = 0; r < tracks; r++) {
        const double *at = k->track_bar + r * 2 * k->d;
        const double *const bar[] = {at, at + k->d};
        if (k->first_moves && is_empty(k, r)) continue;
        struct points in = run_first(k, r);
        program_vjp(k->first.program, &k->first.uniforms, &k->first_space, &in,
                    bar, NULL, k->first.bar);
    }
}

int coefficients_gradient(struct kalman *k, double *gradient)
{
    struct formula *all[] = {&k->dynamics, &k->seen, &k->leap, &k->first};
    size_t n = k->model->spec->parameters;
    for (size_t i = 0; i < FORMULAS; i++)
        if (all[i]->program)
            memset(all[i]->bar, 0,
                   program_uniforms(all[i]->program) * sizeof(double));
    int status = sweep(k, k->transitions, true, vjp_block);
    if (!status && k->views) status = sweep(k, k->views, true, see_block_vjp);
    if (status) return status;
    first_vjp(k);
    memset(gradient, 0, n * sizeof *gradient);
    for (size_t i = 0; i < FORMULAS; i++) {
        struct formula *f = all[i];
        if (!f->program) continue;
        program_finish(f->program, &f->uniforms, f->bar);
        for (size_t j = 0; j < n; j++)
            gradient[j] += f->bar[j];
    }
    return 0;
}
