/* SPDX-License-Identifier: MIT */
#include "guided/score.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/linalg.h"
#include "base/random.h"

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
static const enum course_part USED[] = {COURSE_DRIFT, COURSE_MIDDLE,
                                        COURSE_VALUE, COURSE_FIRST};
enum { USES = sizeof USED / sizeof *USED };

int scorer_init(struct scorer *c, const struct course *f)
{
    size_t D = f->D, m = f->noises, P = COURSE_BLOCK;
    size_t seen = f->model->spec->observations;
    *c = (struct scorer){
        .course = f, .node = NEW(size_t, P), .seen = NEW(const double *, seen)};
    const struct arena_part part[] = {
        {&c->from, D * P},       {&c->to, D * P},
        {&c->middle, D * P},     {&c->a, D * P},
        {&c->a_bar, D * P},      {&c->B, D * m * P},
        {&c->B_bar, D * m * P},  {&c->F_bar, D * P},
        {&c->G_bar, D * m * P},  {&c->dot, D * P},
        {&c->drift_bar, D * P},  {&c->FG_bar, D * m * P},
        {&c->bend_bar, D * P},   {&c->ones, P},
        {&c->middle_bar, D * P}, {&c->small, 3 * D * D + 2 * D},
        {&c->seen_bar, seen * P}};
    int status = c->node && c->seen
                     ? arena_lay(&c->arena, sizeof part / sizeof *part, part)
                     : GSV_NO_MEMORY;
    for (size_t o = 0; !status && o < seen; o++)
        c->seen[o] = c->seen_bar + o * P;
    for (size_t i = 0; !status && i < USES; i++) {
        enum course_part u = USED[i];
        if (!f->part[u]) continue;
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

static void forward(struct scorer *c, const struct mover *s,
                    enum course_part part, const struct points *in)
{
    program_forward(c->course->part[part], &s->values->part[part],
                    &c->part[part], in);
}

static const double *output(const struct scorer *c, enum course_part part,
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

static double length_of(const struct scorer *c, const struct pace *p, size_t j)
{
    return pace_length(p, c->node[j]);
}

/* B from G and F'G in the middles. */
static void make_noise(struct scorer *c, const struct mover *s,
                       const struct pace *p, const struct points *in)
{
    const struct course *f = c->course;
    size_t D = f->D, m = f->noises, P = in->P;
    const double *G = output(c, COURSE_MIDDLE, P, MIDDLE_NOISE);
    const double *FG = output(c, COURSE_MIDDLE, P, MIDDLE_SLOPE);
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
                double h = length_of(c, p, j);
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
    size_t D = c->course->D, m = c->course->noises;
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

/* From a and B back to the outputs in the middle. */
static void spread_back(struct scorer *c, const struct pace *p, size_t P)
{
    size_t D = c->course->D, m = c->course->noises;
    for (size_t i = 0; i < D; i++)
        for (size_t j = 0; j < P; j++) {
            double h = length_of(c, p, j), bar = c->a_bar[i * P + j];
            c->F_bar[i * P + j] = h * bar;
            c->bend_bar[i * P + j] = 0.25 * h * h * bar;
        }
    for (size_t e = 0; e < D * m; e++)
        for (size_t j = 0; j < P; j++) {
            double h = length_of(c, p, j), bar = c->B_bar[e * P + j];
            c->G_bar[e * P + j] = sqrt(h) * bar;
            c->FG_bar[e * P + j] = 0.5 * h * sqrt(h) * bar;
        }
}

/* A block of steps from `from` to `to`. */
static void add_steps(struct scorer *c, struct mover *s, const struct pace *p)
{
    size_t D = c->course->D, P = c->P;
    bool open = c->course->open;
    if (!P) return;
    struct points in = mover_listed(s, p, c->node, false, P, c->from);
    forward(c, s, COURSE_DRIFT, &in);
    const double *F = output(c, COURSE_DRIFT, P, 0);
    for (size_t e = 0; e < D * P; e++)
        c->middle[e] = c->from[e] + 0.5 * length_of(c, p, e % P) * F[e];
    in = mover_listed(s, p, c->node, true, P, c->middle);
    forward(c, s, COURSE_MIDDLE, &in);
    F = output(c, COURSE_MIDDLE, P, MIDDLE_DRIFT);
    const double *bend = output(c, COURSE_MIDDLE, P, MIDDLE_CURVATURE);
    for (size_t e = 0; e < D * P; e++) {
        double h = length_of(c, p, e % P);
        c->a[e] = c->from[e] + h * (F[e] + (open ? 0.25 * h * bend[e] : 0.0));
    }
    make_noise(c, s, p, &in);
    for (size_t j = 0; j < P; j++)
        push_back(c, j, P);
    spread_back(c, p, P);
    const double *const middle[MIDDLES] = {
        [MIDDLE_DRIFT] = c->F_bar,
        [MIDDLE_NOISE] = c->G_bar,
        [MIDDLE_SLOPE] = open ? c->FG_bar : NULL,
        [MIDDLE_CURVATURE] = open ? c->bend_bar : NULL};
    memset(c->middle_bar, 0, D * P * sizeof *c->middle_bar);
    backward(c, s, COURSE_MIDDLE, &in, middle, c->middle_bar);
    for (size_t e = 0; e < D * P; e++)
        c->drift_bar[e] = 0.5 * length_of(c, p, e % P) * c->middle_bar[e];
    in = mover_listed(s, p, c->node, false, P, c->from);
    backward(c, s, COURSE_DRIFT, &in, (const double *const[]){c->drift_bar},
             NULL);
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
    forward(c, s, COURSE_VALUE, &in);
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
    forward(c, s, COURSE_FIRST, &in);
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
    add_nodes(c, s, p, S, x, true);
    add_nodes(c, s, p, S, x, false);
    for (size_t i = 0; i < USES; i++) {
        enum course_part u = USED[i];
        if (!f->part[u]) continue;
        program_finish(f->part[u], &s->values->part[u], c->bar[u]);
        for (size_t j = 0; j < n; j++)
            gradient[j] += c->bar[u][j];
        memset(c->bar[u], 0, program_uniforms(f->part[u]) * sizeof *c->bar[u]);
    }
}
