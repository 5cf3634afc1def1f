/* SPDX-License-Identifier: MIT */
#include "guided/score.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/linalg.h"
#include "base/random.h"
#include "guided/step_parts.h"

/* --- Paths ---------------------------------------------------------------- */

int trail_init(struct trail *t, const struct swarm *s, size_t nodes)
{
    *t = (struct trail){.K = s->K, .D = s->D, .nodes = nodes};
    t->x = NEW(double, nodes * s->K * s->D);
    t->parent = NEW(size_t, nodes * s->K);
    t->drawn = NEW(bool, nodes);
    t->line = NEW(size_t, s->K);
    t->weight = NEW(double, s->K);
    return t->x && t->parent && t->drawn && t->line && t->weight
               ? 0
               : GSV_NO_MEMORY;
}

void trail_free(struct trail *t)
{
    MEM_FREE(t->x, t->parent, t->drawn, t->line, t->weight);
}

static int keep(void *user, const struct swarm *s, size_t here)
{
    struct trail *t = user;
    memcpy(t->x + here * t->K * t->D, s->x, t->K * t->D * sizeof *t->x);
    t->drawn[here] = false;
    t->node = here;
    return 0;
}

static void follow(void *user, const struct swarm *s)
{
    struct trail *t = user;
    t->drawn[t->node] = true;
    memcpy(t->parent + t->node * t->K, s->parent, t->K * sizeof *t->parent);
}

struct swarm_observer trail_observer(struct trail *t)
{
    return (struct swarm_observer){
        .user = t, .everywhere = true, .visit = keep, .redraw = follow};
}

/* Of S paths the particles that they end with: systematic. */
static bool choose_ends(struct trail *t, const struct swarm *s, size_t S)
{
    double offset, sum = 0.0;
    size_t at = 0, last = s->pace->nodes - 1;
    if (!swarm_weights(t->K, s->log_w, t->weight)) return false;
    struct random_key key = {.seed = s->seed,
                             .purpose = RANDOM_RESAMPLE,
                             .iteration = s->iteration +
                                          pace_stop(s->pace, last)->stream,
                             .item = s->pace->first + last};
    random_uniforms(&key, 1, 1, 0, 1, &offset);
    sum = t->weight[0];
    for (size_t i = 0; i < S; i++) {
        double place = ((double)i + offset) / (double)S;
        while (at + 1 < t->K && sum < place)
            sum += t->weight[++at];
        t->line[i] = at;
    }
    return true;
}

bool trail_draw(struct trail *t, const struct swarm *s, size_t S, double *x,
                double *mean)
{
    size_t D = t->D;
    if (!choose_ends(t, s, S)) return false;
    for (size_t k = s->pace->nodes; k-- > 0;) {
        const double *from = t->x + k * t->K * D;
        for (size_t j = 0; j < S; j++) {
            if (t->drawn[k]) t->line[j] = t->parent[k * t->K + t->line[j]];
            for (size_t i = 0; i < D; i++)
                x[(k * D + i) * S + j] = from[swarm_at(s, D, t->line[j], i)];
        }
        for (size_t i = 0; i < D; i++) {
            double total = 0.0;
            for (size_t j = 0; j < S; j++)
                total += x[(k * D + i) * S + j];
            mean[k * D + i] = total / (double)S;
        }
    }
    return true;
}

/* --- Memory --------------------------------------------------------------- */

/* The programs that a score differentiates. */
static const enum course_part USED[] = {
    COURSE_DRIFT, COURSE_MIDDLE, COURSE_VALUE, COURSE_FIRST, COURSE_SLOPE};
enum { USES = sizeof USED / sizeof *USED };

static bool is_used(const struct course *f, enum course_part part)
{
    return f->part[part] && (part != COURSE_SLOPE || f->orders);
}

/* Columns of B. */
static size_t width_of(const struct course *f)
{
    return f->orders ? f->m : f->noises;
}

int scorer_init(struct scorer *c, const struct course *f)
{
    size_t D = f->D, P = COURSE_BLOCK, m = width_of(f);
    size_t seen = f->model->spec->observations;
    size_t inert = f->orders ? D * P : 0;
    *c = (struct scorer){
        .course = f, .node = NEW(size_t, P), .seen = NEW(const double *, seen)};
    const struct arena_part part[] = {
        {&c->from, D * P},        {&c->to, D * P},
        {&c->middle, D * P},      {&c->a, D * P},
        {&c->a_bar, D * P},       {&c->B, D * m * P},
        {&c->B_bar, D * m * P},   {&c->F_bar, D * P},
        {&c->G_bar, D * m * P},   {&c->dot, D * P},
        {&c->drift_bar, D * P},   {&c->FG_bar, D * m * P},
        {&c->bend_bar, D * P},    {&c->ones, P},
        {&c->middle_bar, D * P},  {&c->small, 3 * D * D + 2 * D},
        {&c->seen_bar, seen * P}, {&c->h, P},
        {&c->first, D * P},       {&c->end, D * P},
        {&c->end_bar, D * P},     {&c->J, D * inert},
        {&c->J_bar, D * inert},   {&c->V, (f->orders + 2) * inert},
        {&c->V_bar, 2 * inert}};
    int status = c->node && c->seen
                     ? arena_lay(&c->arena, sizeof part / sizeof *part, part)
                     : GSV_NO_MEMORY;
    for (size_t o = 0; !status && o < seen; o++)
        c->seen[o] = c->seen_bar + o * P;
    for (size_t i = 0; !status && i < USES; i++) {
        enum course_part u = USED[i];
        if (!is_used(f, u)) continue;
        status = workspace_init(&c->part[u], f->part[u], P, true, true);
        c->bar[u] = NEW(double, program_uniforms(f->part[u]));
        if (!c->bar[u]) status = GSV_NO_MEMORY;
    }
    return status;
}

void scorer_free(struct scorer *c)
{
    for (size_t i = 0; i < COURSE_PARTS; i++) {
        workspace_free(&c->part[i]);
        mem_free(c->bar[i]);
    }
    mem_free(c->node);
    mem_free(c->seen);
    arena_free(&c->arena);
}

/* --- Programs ------------------------------------------------------------- */

static void evaluate(struct scorer *c, const struct mover *s,
                     enum course_part part, const struct points *in)
{
    program_forward(c->course->part[part], &s->values->part[part],
                    &c->part[part], in);
}

static const double *value_of(const struct scorer *c, enum course_part part,
                              size_t P, size_t i)
{
    return program_output(c->course->part[part], &c->part[part], P, i);
}

static void backward(struct scorer *c, const struct mover *s,
                     enum course_part part, const struct points *in,
                     const double *const *output_bar, double *state_bar)
{
    program_vjp(c->course->part[part], &s->values->part[part], &c->part[part],
                in, output_bar, state_bar, c->bar[part]);
}

/* --- Steps ---------------------------------------------------------------- */

/* B from G and F'G in the middles. */
static void make_noise(struct scorer *c, const struct mover *s,
                       const struct points *in)
{
    const struct course *f = c->course;
    size_t D = f->D, m = f->noises, P = in->P;
    const double *G = value_of(c, COURSE_MIDDLE, P, MIDDLE_NOISE);
    const double *FG = value_of(c, COURSE_MIDDLE, P, MIDDLE_SLOPE);
    for (size_t e = 0; e < m; e++) {
        if (!f->open) {
            for (size_t i = 0; i < D; i++)
                memcpy(c->dot + i * P, G + (i * m + e) * P, P * sizeof *G);
            program_jvp(f->part[COURSE_MIDDLE], &s->values->part[COURSE_MIDDLE],
                        &c->part[COURSE_MIDDLE], in, c->dot);
            FG = program_output_dot(f->part[COURSE_MIDDLE],
                                    &c->part[COURSE_MIDDLE], P, MIDDLE_DRIFT);
        }
        for (size_t i = 0; i < D; i++)
            for (size_t j = 0; j < P; j++) {
                double h = c->h[j];
                double slope = FG[(f->open ? i * m + e : i) * P + j];
                c->B[(i * m + e) * P + j] =
                    sqrt(h) * (G[(i * m + e) * P + j] + 0.5 * h * slope);
            }
    }
}

/* a_bar = S^-1 r and B_bar = (S^-1 r r' - I) S^-1 B of log N(r; 0, S = B B') at
 * point j; nothing where S is not positive. */
static void push_back(struct scorer *c, size_t j, size_t P)
{
    size_t D = c->course->D, m = width_of(c->course);
    double *S = c->small, *v = S + D * D, *column = v + D;
    for (size_t i = 0; i < D; i++)
        for (size_t l = 0; l <= i; l++) {
            double sum = 0.0;
            for (size_t e = 0; e < m; e++)
                sum += c->B[(i * m + e) * P + j] * c->B[(l * m + e) * P + j];
            S[i * D + l] = S[l * D + i] = sum;
        }
    for (size_t i = 0; i < D; i++)
        v[i] = c->to[i * P + j] - c->a[i * P + j];
    bool fine = linalg_cholesky(D, S);
    if (fine) {
        linalg_lower_solve(D, 1, S, false, v);
        linalg_lower_solve(D, 1, S, true, v);
    }
    fine = fine && all_finite(D, v);
    for (size_t i = 0; i < D; i++)
        c->a_bar[i * P + j] = fine ? c->weight * v[i] : 0.0;
    for (size_t e = 0; e < m; e++) {
        double along = 0.0;
        for (size_t i = 0; i < D; i++) {
            column[i] = c->B[(i * m + e) * P + j];
            along += v[i] * column[i];
        }
        linalg_lower_solve(D, 1, S, false, column);
        linalg_lower_solve(D, 1, S, true, column);
        for (size_t i = 0; i < D; i++)
            c->B_bar[(i * m + e) * P + j] =
                fine ? c->weight * (v[i] * along - column[i]) : 0.0;
    }
}

/* From B back to G, and to F'G or F'. */
static void spread_noise(struct scorer *c, size_t P)
{
    size_t D = c->course->D, m = c->course->noises;
    if (c->course->orders) {
        score_noise_vjp(c, P);
        return;
    }
    for (size_t e = 0; e < D * m; e++)
        for (size_t j = 0; j < P; j++) {
            double h = c->h[j], bar = c->B_bar[e * P + j];
            c->G_bar[e * P + j] = sqrt(h) * bar;
            c->FG_bar[e * P + j] = 0.5 * h * sqrt(h) * bar;
        }
}

/* F, and where steps integrate noise F at the last point, to a. */
static void make_mean(struct scorer *c, struct mover *s, const struct pace *p,
                      size_t P)
{
    const struct course *f = c->course;
    const double *F = value_of(c, COURSE_MIDDLE, P, MIDDLE_DRIFT);
    const double *bend = value_of(c, COURSE_MIDDLE, P, MIDDLE_CURVATURE);
    for (size_t e = 0; e < f->D * P; e++) {
        double h = c->h[e % P], curve = f->open ? h * bend[e] : 0.0;
        c->a[e] = c->from[e] + h * (F[e] + 0.25 * curve);
        c->end[e] = c->from[e] + h * (2.0 * F[e] - c->first[e] + 0.5 * curve);
    }
    if (!f->orders) return;
    struct nodes n = {.list = c->node};
    struct points in = mover_points_at_end(s, p, n, P, c->end);
    evaluate(c, s, COURSE_DRIFT, &in);
    const double *last = value_of(c, COURSE_DRIFT, P, 0);
    for (size_t e = 0; e < f->D * P; e++)
        c->a[e] += c->h[e % P] / 6.0 * (c->first[e] - 2.0 * F[e] + last[e]);
}

/* From a back to F and the curvature in the middle, and to F at x. */
static void spread_mean(struct scorer *c, struct mover *s, const struct pace *p,
                        size_t P)
{
    size_t n = c->course->D * P;
    double first = 0.0, middle = 1.0; /* shares of F in a */
    memset(c->end_bar, 0, n * sizeof *c->end_bar);
    if (c->course->orders) {
        struct nodes nodes = {.list = c->node};
        struct points in = mover_points_at_end(s, p, nodes, P, c->end);
        first = 1.0 / 6.0;
        middle = 2.0 / 3.0;
        for (size_t e = 0; e < n; e++)
            c->F_bar[e] = first * c->h[e % P] * c->a_bar[e];
        backward(c, s, COURSE_DRIFT, &in, (const double *const[]){c->F_bar},
                 c->end_bar);
    }
    for (size_t e = 0; e < n; e++) {
        double h = c->h[e % P], a = c->a_bar[e], end = c->end_bar[e];
        c->F_bar[e] = h * (middle * a + 2.0 * end);
        c->bend_bar[e] = h * h * (0.25 * a + 0.5 * end);
        c->drift_bar[e] = h * (first * a - end);
    }
}

/* From the outputs in the middle and at x to the parameters. */
static void finish_steps(struct scorer *c, struct mover *s,
                         const struct pace *p, size_t P)
{
    size_t D = c->course->D;
    bool open = c->course->open, orders = c->course->orders;
    struct points in = mover_listed(s, p, c->node, true, P, c->middle);
    const double *const middle[MIDDLES] = {
        [MIDDLE_DRIFT] = c->F_bar,
        [MIDDLE_NOISE] = c->G_bar,
        [MIDDLE_SLOPE] = open && !orders ? c->FG_bar : NULL,
        [MIDDLE_CURVATURE] = open ? c->bend_bar : NULL};
    memset(c->middle_bar, 0, D * P * sizeof *c->middle_bar);
    backward(c, s, COURSE_MIDDLE, &in, middle, c->middle_bar);
    if (orders)
        backward(c, s, COURSE_SLOPE, &in, (const double *const[]){c->J_bar},
                 c->middle_bar);
    for (size_t e = 0; e < D * P; e++)
        c->drift_bar[e] += 0.5 * c->h[e % P] * c->middle_bar[e];
    in = mover_listed(s, p, c->node, false, P, c->from);
    if (orders) evaluate(c, s, COURSE_DRIFT, &in);
    backward(c, s, COURSE_DRIFT, &in, (const double *const[]){c->drift_bar},
             NULL);
}

/* Where steps begin: integrals since a row begin at 0. */
static void begin_steps(struct scorer *c, const struct pace *p, size_t P)
{
    const struct course *f = c->course;
    for (size_t j = 0; j < P; j++) {
        c->h[j] = pace_length(p, c->node[j]);
        for (size_t i = f->d; i < f->D; i++)
            if (pace_is_row(p, c->node[j])) c->from[i * P + j] = 0.0;
    }
}

/* A block of steps from `from` to `to`. */
static void add_steps(struct scorer *c, struct mover *s, const struct pace *p)
{
    size_t D = c->course->D, P = c->P;
    if (!P) return;
    begin_steps(c, p, P);
    struct points in = mover_listed(s, p, c->node, false, P, c->from);
    evaluate(c, s, COURSE_DRIFT, &in);
    memcpy(c->first, value_of(c, COURSE_DRIFT, P, 0), D * P * sizeof *c->first);
    for (size_t e = 0; e < D * P; e++)
        c->middle[e] = c->from[e] + 0.5 * c->h[e % P] * c->first[e];
    in = mover_listed(s, p, c->node, true, P, c->middle);
    evaluate(c, s, COURSE_MIDDLE, &in);
    (c->course->orders ? score_noise : make_noise)(c, s, &in);
    make_mean(c, s, p, P);
    for (size_t j = 0; j < P; j++)
        push_back(c, j, P);
    spread_noise(c, P);
    spread_mean(c, s, p, P);
    finish_steps(c, s, p, P);
    c->P = 0;
}

/* --- Observations, and the first state ------------------------------------ */

/* A block of points in rows, from `from`. */
static void add_rows(struct scorer *c, struct mover *s, const struct pace *p)
{
    size_t P = c->P;
    if (!P) return;
    for (size_t o = 0; o < c->course->model->spec->observations; o++)
        for (size_t j = 0; j < P; j++)
            c->seen_bar[o * COURSE_BLOCK + j] =
                pace_sees(p, c->node[j], o) ? c->weight : 0.0;
    struct points in = mover_observed(s, p, c->node, P, c->from);
    evaluate(c, s, COURSE_VALUE, &in);
    backward(c, s, COURSE_VALUE, &in, c->seen, NULL);
    c->P = 0;
}

static void add_first(struct scorer *c, struct mover *s, const struct pace *p,
                      size_t S, const double *x)
{
    for (size_t j = 0; j < S; j++) {
        c->node[j] = 0;
        c->ones[j] = c->weight;
    }
    struct points in = mover_listed(s, p, c->node, false, S, x);
    evaluate(c, s, COURSE_FIRST, &in);
    backward(c, s, COURSE_FIRST, &in, (const double *const[]){c->ones}, NULL);
}

/* --- All of a track ------------------------------------------------------- */

/* Points of n nodes: P = n S of them, to (D, P). */
static void gather(const struct scorer *c, size_t n, const size_t *list,
                   size_t S, const double *x, double *to)
{
    size_t D = c->course->D, P = n * S;
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < D; i++)
            memcpy(to + i * P + k * S, x + (list[k] * D + i) * S,
                   S * sizeof *to);
}

/* What is added of all listed nodes: steps from them, or rows. */
static void add_nodes(struct scorer *c, struct mover *s, const struct pace *p,
                      size_t S, const double *x, bool rows)
{
    size_t list[COURSE_BLOCK], next[COURSE_BLOCK], n = 0;
    size_t end = rows ? p->nodes : p->nodes - 1, most = COURSE_BLOCK / S;
    for (size_t k = 0; k < end; k++) {
        if (!rows || pace_is_row(p, k)) {
            list[n] = k;
            next[n++] = k + 1;
        }
        if (n < most && k + 1 < end) continue;
        c->P = n * S;
        gather(c, n, list, S, x, c->from);
        if (!rows) gather(c, n, next, S, x, c->to);
        for (size_t j = 0; j < c->P; j++)
            c->node[j] = list[j / S];
        if (rows) add_rows(c, s, p);
        else add_steps(c, s, p);
        n = 0;
    }
}

void scorer_add(struct scorer *c, struct mover *s, const struct pace *p,
                size_t S, const double *x, double *gradient)
{
    const struct course *f = c->course;
    size_t n = f->model->spec->parameters;
    c->weight = 1.0 / (double)S;
    add_first(c, s, p, S, x);
    if (f->part[COURSE_VALUE]) add_nodes(c, s, p, S, x, true);
    add_nodes(c, s, p, S, x, false);
    for (size_t i = 0; i < USES; i++) {
        enum course_part u = USED[i];
        if (!is_used(f, u)) continue;
        program_finish(f->part[u], &s->values->part[u], c->bar[u]);
        for (size_t j = 0; j < n; j++)
            gradient[j] += c->bar[u][j];
        memset(c->bar[u], 0, program_uniforms(f->part[u]) * sizeof *c->bar[u]);
    }
}
