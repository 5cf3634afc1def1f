/* SPDX-License-Identifier: MIT */
/* The form `exact`: no paths, where f~ = A y + b, and A stands still between
 * the rows in which inputs turn. Then
 *
 *     log p(y1 | y0) = log N(y1; m, V),
 *
 * m and V from part to part of the gap by base/transition.h and what b adds by
 * base/forcing.h, however it changes in time: no error of steps. */
#include <math.h>
#include <string.h>

#include "base/constant.h"
#include "base/error.h"
#include "base/forcing.h"
#include "base/small.h"
#include "base/transition.h"
#include "bridge/context.h"
#include "bridge/gap_method.h"
#include "bridge/rows.h"
#include "bridge/weighers.h"

/* With more states a transition costs more than paths do. */
enum { MOST_STATES = 32 };

/* The memory of a thread. Of the parts of a gap: A, Phi, and the law before
 * them; of the one in work the others. */
struct exact_room {
    struct forcing forcing;
    double *start, *length;        /* (parts)                              */
    double *A, *Phi, *mean, *V;    /* (parts, d, d) two, (., d), (., d, d)  */
    double *m, *W;                 /* (d), (d, d) the law at the end       */
    double *b, *c, *Q, *q, *still; /* (d), (d), (d, d) two, (d) zeros      */
    double *m_bar, *W_bar;         /* (d), (d, d)                          */
    double *A_bar, *b_bar, *slope_bar, *q_bar, *Phi_bar;
    double *scratch, *work; /* transition_scratch(), (4, d, d)      */
    size_t parts;
    struct arena arena;
};

/* --- The plan ---------------------------------------------------------------
 */

bool exact_applies(const gsv_model *m, const gsv_options *o)
{
    bool open = o->form == GSV_FORM_AUTO || o->form == GSV_FORM_EXACT;
    bool moves = m->exact_A && graph_moves(m->spec->graph, m->exact_b);
    return open && (moves || o->form == GSV_FORM_EXACT) && m->exact_A &&
           m->spec->dim <= MOST_STATES && o->reference == GSV_REFERENCE_AUTO &&
           !o->joint && !o->richardson && !o->delta;
}

static int exact_check(const struct plan *p)
{
    if (exact_applies(p->model, p->options)) return 0;
    if (!p->model->exact_A || p->d > MOST_STATES)
        return fail(GSV_BAD_INPUT,
                    "the form exact needs a drift that is linear in up to %d "
                    "states, with factors that stand still between rows, and "
                    "noise that a map makes constant; leave the form to auto",
                    MOST_STATES);
    return fail(
        GSV_BAD_INPUT,
        "the form exact draws no paths: remove joint, richardson, delta "
        "and reference, which are for paths");
}

/* The most parts of a gap. */
static size_t most_parts(const struct plan *p)
{
    size_t most = 1;
    for (size_t i = 0; p->inputs && i < p->gaps.count; i++) {
        struct gap gap = p->gaps.gap ? p->gaps.gap[i] : gaps_at(&p->gaps, i);
        double at = gap.start;
        size_t parts = 1, row;
        while ((row = gaps_next_change(&p->gaps, gap.track, at, gap.end)) !=
               NO_ROW) {
            at = p->gaps.series->time[row];
            parts++;
        }
        if (parts > most) most = parts;
    }
    return most;
}

static int exact_build(struct plan *p, struct drift_outputs *out)
{
    const gsv_model *m = p->model;
    out->node[0] = m->exact_b;
    out->node[1] = m->exact_A;
    out->count = 2;
    p->parts = most_parts(p);
    p->moves = graph_moves(m->spec->graph, m->exact_b);
    return 0;
}

static size_t exact_columns(const struct plan *p, size_t M)
{
    (void)p;
    return M ? FORCING_POINTS : 0;
}

static size_t exact_least(const struct plan *p)
{
    (void)p;
    return FORCING_POINTS;
}

/* --- Memory -----------------------------------------------------------------
 */

static int exact_start(const struct plan *p, struct scratch *s)
{
    size_t d = p->d, dd = d * d, n = p->parts;
    struct exact_room *r = s->exact = NEW(struct exact_room, 1);
    if (!r || forcing_init(&r->forcing, d, p->options->gradient))
        return GSV_NO_MEMORY;
    const struct arena_part part[] = {
        {&r->start, n},     {&r->length, n},
        {&r->A, n * dd},    {&r->Phi, n * dd},
        {&r->mean, n * d},  {&r->V, n * dd},
        {&r->m, d},         {&r->W, dd},
        {&r->b, d},         {&r->c, d},
        {&r->Q, dd},        {&r->q, dd},
        {&r->still, d},     {&r->m_bar, d},
        {&r->W_bar, dd},    {&r->A_bar, dd},
        {&r->b_bar, d},     {&r->slope_bar, d},
        {&r->q_bar, dd},    {&r->Phi_bar, dd},
        {&r->work, 4 * dd}, {&r->scratch, transition_scratch(d)}};
    if (arena_lay(&r->arena, sizeof part / sizeof *part, part))
        return GSV_NO_MEMORY;
    const double *noise = p->model->chain.noise;
    for (size_t i = 0; i < d; i++)
        r->q[i * (d + 1)] = noise ? noise[i] : 1.0;
    return 0;
}

static void exact_end(struct scratch *s)
{
    if (!s->exact) return;
    forcing_free(&s->exact->forcing);
    arena_free(&s->exact->arena);
    mem_free(s->exact);
}

/* --- Points ------------------------------------------------------------------
 */

/* A gap in work. */
struct here {
    const struct plan *p;
    const struct values *v;
    struct scratch *s;
    const struct context *c;
    double start; /* of the part */
};

/* The programs at n times since a part began; y is 0 there. */
static struct points run_at(const struct here *h, size_t n, const double *time)
{
    const struct plan *p = h->p;
    struct scratch *s = h->s;
    memset(s->Z, 0, p->d * n * sizeof *s->Z);
    for (size_t j = 0; j < n; j++) {
        s->time[j] = h->start + time[j];
        if (p->inputs)
            gap_inputs(&p->gaps, h->c->gap->track, s->time[j], false,
                       s->input + j, s->slope + j, n);
    }
    struct points in = block_points(s, n);
    program_forward(p->unit, &h->v->unit, &s->unit, &in);
    return in;
}

static void push(void *user, size_t n, const double *time, double *b)
{
    const struct here *h = user;
    run_at(h, n, time);
    memcpy(b, program_output(h->p->unit, &h->s->unit, n, 0),
           h->p->d * n * sizeof *b);
}

static void push_vjp(void *user, size_t n, const double *time,
                     const double *b_bar)
{
    const struct here *h = user;
    struct points in = run_at(h, n, time);
    program_vjp(h->p->unit, &h->v->unit, &h->s->unit, &in,
                (const double *const[2]){b_bar, NULL}, NULL, h->s->unit_bar);
}

/* --- Forward -----------------------------------------------------------------
 */

/* What a part adds by itself, where b stands still; by quadrature elsewhere. */
static bool make_part(struct here *h, size_t n)
{
    struct exact_room *r = h->s->exact;
    size_t d = h->p->d, dd = d * d;
    static const double now = 0.0;
    h->start = r->start[n];
    run_at(h, 1, &now);
    memcpy(r->A + n * dd, program_output(h->p->unit, &h->s->unit, 1, 1),
           dd * sizeof *r->A);
    memcpy(r->b, program_output(h->p->unit, &h->s->unit, 1, 0),
           d * sizeof *r->b);
    if (h->p->moves) memset(r->b, 0, d * sizeof *r->b);
    const struct coefficients in = {r->A + n * dd, r->b, r->still, r->q};
    const struct transition out = {r->Phi + n * dd, r->c, r->Q};
    if (!transition_make(d, r->length[n], &in, &out, r->scratch)) return false;
    const struct force force = {h, h->start, push, push_vjp};
    return !h->p->moves ||
           forcing_make(&r->forcing, r->length[n], r->A + n * dd, &force, r->c);
}

/* Phi V Phi', or Phi' V Phi. */
static void turn(size_t d, const double *Phi, bool back, double *V,
                 double *work)
{
    small_product(d, Phi, back, V, false, work);
    small_product(d, work, false, Phi, !back, V);
}

static bool walk_part(struct here *h, size_t n)
{
    struct exact_room *r = h->s->exact;
    size_t d = h->p->d, dd = d * d;
    memcpy(r->mean + n * d, r->m, d * sizeof *r->m);
    memcpy(r->V + n * dd, r->W, dd * sizeof *r->W);
    if (!make_part(h, n)) return false;
    turn(d, r->Phi + n * dd, false, r->W, r->work);
    for (size_t e = 0; e < dd; e++)
        r->W[e] += r->Q[e];
    memcpy(r->m, r->c, d * sizeof *r->m);
    small_add(d, 1.0, r->Phi + n * dd, false, r->mean + n * d, r->m);
    return true;
}

/* The parts of a gap, and the law at its end. */
static bool walk(struct here *h)
{
    struct exact_room *r = h->s->exact;
    const struct gap *gap = h->c->gap;
    const struct gaps *g = &h->p->gaps;
    size_t d = h->p->d;
    double at = gap->start;
    memcpy(r->m, h->c->y0, d * sizeof *r->m);
    memset(r->W, 0, d * d * sizeof *r->W);
    for (r->parts = 0; r->parts < h->p->parts; r->parts++) {
        size_t row = gaps_next_change(g, gap->track, at, gap->end);
        double to = row == NO_ROW ? gap->end : g->series->time[row];
        r->start[r->parts] = at;
        r->length[r->parts] = to - at;
        if (!walk_part(h, r->parts)) return false;
        if (row == NO_ROW) break;
        at = to;
    }
    r->parts++;
    return true;
}

/* log N(y1; m, W); W becomes its root, and m becomes W^-1 (y1 - m). */
static double density(struct exact_room *r, size_t d, const double *y1)
{
    double sum = (double)d * LOG_TWO_PI;
    for (size_t i = 0; i < d; i++)
        r->m[i] = y1[i] - r->m[i];
    small_symmetric(d, r->W);
    if (!linalg_cholesky(d, r->W)) return NAN;
    linalg_lower_solve(d, 1, r->W, false, r->m);
    for (size_t i = 0; i < d; i++)
        sum += r->m[i] * r->m[i] + 2.0 * log(r->W[i * (d + 1)]);
    linalg_lower_solve(d, 1, r->W, true, r->m);
    return -0.5 * sum;
}

static void exact_forward(const struct plan *p, const struct values *v,
                          struct scratch *s, const struct block *b, double *S,
                          double *S2)
{
    for (size_t i = 0; S && i < b->pieces; i++) {
        const struct piece *q = &b->piece[i];
        struct here h = {p, v, s, q->context, 0.0};
        double value = walk(&h) ? density(s->exact, p->d, q->context->y1) : NAN;
        S[q->slot] += value;
        S2[q->slot] += value;
    }
}

/* --- Backward ----------------------------------------------------------------
 */

/* Of the density times w: W_bar = w (e e' - W^-1) / 2, e = W^-1 (y1 - m). */
static void density_vjp(struct exact_room *r, size_t d, double w,
                        double *y1_bar)
{
    for (size_t i = 0; i < d; i++) {
        double *row = r->W_bar + i * d;
        memset(row, 0, d * sizeof *row);
        row[i] = -0.5 * w;
        linalg_lower_solve(d, 1, r->W, false, row);
        linalg_lower_solve(d, 1, r->W, true, row);
        for (size_t j = 0; j < d; j++)
            row[j] += 0.5 * w * r->m[i] * r->m[j];
        r->m_bar[i] = w * r->m[i];
        y1_bar[i] -= w * r->m[i];
    }
    small_symmetric(d, r->W_bar);
}

/* The bars of the law after part n become those before it. */
static void walk_part_vjp(struct here *h, size_t n)
{
    struct exact_room *r = h->s->exact;
    size_t d = h->p->d, dd = d * d;
    static const double now = 0.0;
    double *Phi = r->Phi + n * dd, *V = r->V + n * dd, *X = r->work;
    make_part(h, n);
    small_product(d, r->W_bar, false, Phi, false, X);
    small_product(d, X, false, V, false, r->Phi_bar);
    for (size_t e = 0; e < dd; e++)
        r->Phi_bar[e] *= 2.0;
    small_outer(d, 1.0, r->m_bar, r->mean + n * d, r->Phi_bar);
    const struct coefficients in = {r->A + n * dd, r->b, r->still, r->q};
    const struct coefficients bar = {r->A_bar, r->b_bar, r->slope_bar,
                                     r->q_bar};
    const struct transition out_bar = {r->Phi_bar, r->m_bar, r->W_bar};
    transition_vjp(d, r->length[n], &in, &out_bar, &bar, r->scratch);
    memcpy(r->c, r->m_bar, d * sizeof *r->c);
    const struct force force = {h, h->start, push, push_vjp};
    if (h->p->moves) {
        forcing_vjp(&r->forcing, r->length[n], r->A + n * dd, &force, r->c,
                    r->A_bar);
        memset(r->b_bar, 0, d * sizeof *r->b_bar);
    }
    struct points at = run_at(h, 1, &now);
    program_vjp(h->p->unit, &h->v->unit, &h->s->unit, &at,
                (const double *const[2]){r->b_bar, r->A_bar}, NULL,
                h->s->unit_bar);
    memcpy(r->c, r->m_bar, d * sizeof *r->c);
    memset(r->m_bar, 0, d * sizeof *r->m_bar);
    small_add(d, 1.0, Phi, true, r->c, r->m_bar);
    turn(d, Phi, true, r->W_bar, X);
}

static void exact_backward(const struct plan *p, const struct values *v,
                           struct scratch *s, const struct block *b)
{
    struct exact_room *r = s->exact;
    for (size_t i = 0; i < b->pieces; i++) {
        const struct piece *q = &b->piece[i];
        struct context *c = q->context;
        struct here h = {p, v, s, c, 0.0};
        if (!walk(&h) || isnan(density(r, p->d, c->y1))) continue;
        density_vjp(r, p->d, s->S_bar[q->slot], c->y_bar + p->d);
        for (size_t n = r->parts; n-- > 0;)
            walk_part_vjp(&h, n);
        for (size_t j = 0; j < p->d; j++)
            c->y_bar[j] += r->m_bar[j];
    }
}

const struct weigher EXACT = {.check = exact_check,
                              .build = exact_build,
                              .columns = exact_columns,
                              .least = exact_least,
                              .start = exact_start,
                              .end = exact_end,
                              .forward = exact_forward,
                              .backward = exact_backward,
                              .one_step = true,
                              .one_path = true};
