/* SPDX-License-Identifier: MIT */
#include "guided/swarm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/constant.h"
#include "base/error.h"
#include "base/halt.h"
#include "base/lanes.h"
#include "base/random.h"
#include "guided/twist.h"

/* L and w of a block. */
static size_t spare_of(const struct swarm *s)
{
    size_t n = s->D > s->m ? s->D : s->m;
    return (n * n + n) * COURSE_BLOCK;
}

int swarm_init(struct swarm *s, const struct course *f, size_t K, size_t nodes,
               struct mover *mover, size_t threads)
{
    size_t D = f->D, n = D > f->m ? D : f->m;
    *s = (struct swarm){.course = f,
                        .D = D,
                        .m = f->m,
                        .K = K,
                        .blocks = (K + COURSE_BLOCK - 1) / COURSE_BLOCK,
                        .mover = mover,
                        .aheads = 1,
                        .threads = threads};
    const struct arena_part part[] = {
        {&s->spare, f->curved ? threads * spare_of(s) : 0},
        {&s->x, K * D},
        {&s->a, K * D},
        {&s->B, K * D * n},
        {&s->L, K * n * n},
        {&s->w, K * n},
        {&s->z, K * n},
        {&s->log_w, K},
        {&s->filtered, K},
        {&s->other, K * D},
        {&s->increment, nodes},
        {&s->ess, nodes},
        {&s->error, nodes}};
    s->parent = NEW(size_t, K);
    s->rank = NEW(struct swarm_rank, K);
    if (!s->parent || !s->rank ||
        arena_lay(&s->arena, sizeof part / sizeof *part, part))
        return GSV_NO_MEMORY;
    return 0;
}

void swarm_free(struct swarm *s)
{
    MEM_FREE(s->parent, s->rank);
    arena_free(&s->arena);
}

/* --- Blocks --------------------------------------------------------------- */

/* A block as guided steps with m noises. */
static struct twist block_of(const struct swarm *s, size_t b, size_t m)
{
    size_t first = b * COURSE_BLOCK, left = s->K - first;
    size_t n = s->D > s->m ? s->D : s->m;
    return (struct twist){.D = s->D,
                          .m = m,
                          .P = left < COURSE_BLOCK ? left : COURSE_BLOCK,
                          .a = s->a + first * s->D,
                          .B = s->B + first * s->D * n,
                          .L = s->L + first * n * n,
                          .w = s->w + first * n};
}

static double *block_x(const struct swarm *s, size_t b)
{
    return s->x + b * COURSE_BLOCK * s->D;
}

/* Random numbers of node k. */
static struct random_key key_of(const struct swarm *s,
                                enum random_purpose purpose, size_t k)
{
    return (struct random_key){.seed = s->seed,
                               .purpose = purpose,
                               .iteration =
                                   s->iteration + pace_stop(s->pace, k)->stream,
                               .item = s->pace->first + k};
}

/* Standard normal numbers for the step to node k. */
static double *normals(const struct swarm *s, size_t b, size_t k, size_t m,
                       size_t P)
{
    size_t n = s->D > s->m ? s->D : s->m;
    double *z = s->z + b * COURSE_BLOCK * n;
    struct random_key key = key_of(s, RANDOM_SUPPORT, k);
    random_normals(&key, 0, m, b * COURSE_BLOCK, P, z);
    return z;
}

/* log_w of particles outside of the range of u is -INFINITY. */
static void check_range(struct swarm *s, struct mover *step, size_t k, size_t P,
                        const double *x, double *log_w)
{
    const struct course *f = s->course;
    const struct program *range = f->part[COURSE_RANGE];
    if (!range) return;
    struct points in = mover_points(step, s->pace, k, P, x);
    program_forward(range, &step->values->part[COURSE_RANGE],
                    &step->room.part[COURSE_RANGE], &in);
    const double *inside =
        program_output(range, &step->room.part[COURSE_RANGE], P, 0);
    size_t conditions = f->conditions;
    for (size_t i = 0; i < conditions * P; i++)
        if (!(inside[i] > 0.0)) log_w[i % P] = -INFINITY;
}

static void psi_at(const struct swarm *s, size_t k, struct psi *psi)
{
    for (size_t i = 0; i < s->aheads; i++)
        psi[i] = ahead_at(s->ahead + i, k);
}

/* Guides a block to node k. */
static void guide(struct swarm *s, size_t b, size_t k, const struct mover *step,
                  struct twist *t, double *log_w)
{
    struct psi psi[AHEAD_MOST];
    double u[COURSE_BLOCK];
    psi_at(s, k, psi);
    if (s->aheads == 1) {
        twist_guide(t, psi, log_w);
        return;
    }
    struct random_key key = key_of(s, RANDOM_RESAMPLE, k);
    random_uniforms(&key, 1, 1, b * COURSE_BLOCK, t->P, u);
    twist_guide_any(t, s->aheads, psi, u,
                    s->spare + (size_t)(step - s->mover) * spare_of(s), log_w);
}

void swarm_aim(struct swarm *s, size_t b, size_t k, struct mover *step,
               const double *x, double *log_w)
{
    struct twist t = block_of(s, b, s->m);
    const struct pace *p = s->pace;
    mover_go(step, p, k, t.P, x);
    memcpy(t.a, step->a, s->D * t.P * sizeof *t.a);
    memcpy(t.B, step->B, s->D * s->m * t.P * sizeof *t.B);
    if (p->exacts[k + 1]) {
        twist_given(&t, s->course->d, p->exact + (k + 1) * s->course->d, log_w);
        for (size_t j = 0; j < t.P; j++)
            log_w[j] += p->log_slope[k + 1];
    }
    guide(s, b, k + 1, step, &t, log_w);
}

bool swarm_weights(size_t K, const double *log_w, double *weight)
{
    double most = -INFINITY, sum = 0.0;
    for (size_t k = 0; k < K; k++)
        most = fmax(most, log_w[k]);
    if (!isfinite(most)) return false;
    for (size_t k = 0; k < K; k++)
        sum += weight[k] = exp(log_w[k] - most);
    for (size_t k = 0; k < K; k++)
        weight[k] /= sum;
    return true;
}

/* Weights of a block that has come to node k, and its next step. */
static void arrive(struct swarm *s, size_t b, size_t k, struct mover *step)
{
    struct twist t = block_of(s, b, s->m);
    const struct pace *p = s->pace;
    double *x = block_x(s, b), *log_w = s->log_w + b * COURSE_BLOCK;
    struct psi psi[AHEAD_MOST];
    psi_at(s, k, psi);
    twist_divide(s->D, t.P, s->aheads, psi, x, log_w);
    check_range(s, step, k, t.P, x, log_w);
    if (mover_density(step, p, k, t.P, x))
        for (size_t j = 0; j < t.P; j++)
            log_w[j] += step->log_g[j];
    for (size_t j = 0; j < t.P; j++)
        if (isnan(log_w[j])) log_w[j] = -INFINITY;
    memcpy(s->filtered + b * COURSE_BLOCK, log_w, t.P * sizeof *log_w);
    if (k + 1 < p->nodes) swarm_aim(s, b, k, step, x, log_w);
}

/* The density of the latent states, where it is not the normal law that they
 * are drawn from. */
static void weigh_first(struct swarm *s, struct mover *step, size_t P,
                        const double *x, double *log_w)
{
    const struct course *f = s->course;
    const struct ahead *w = s->ahead;
    struct points in = mover_points(step, s->pace, 0, P, x);
    program_forward(f->part[COURSE_FIRST], &step->values->part[COURSE_FIRST],
                    &step->room.part[COURSE_FIRST], &in);
    const double *density = program_output(
        f->part[COURSE_FIRST], &step->room.part[COURSE_FIRST], P, 0);
    for (size_t j = 0; j < P; j++) {
        log_w[j] += density[j];
        for (size_t i = 0; i < f->d; i++) {
            if (!f->model->spec->latent[i]) continue;
            double width = w->first_B[i * (s->D + 1)];
            double off = (x[i * P + j] - w->first_a[i]) / width;
            log_w[j] += 0.5 * off * off + log(width) + 0.5 * LOG_TWO_PI;
        }
    }
}

/* Whether state i has a flat first law and is observed later. */
static bool is_flat(const struct swarm *s, size_t i)
{
    const struct pace *p = s->pace;
    bool seen = false;
    for (size_t k = 0; pace_is_flat(p, i) && !seen && k < p->nodes; k++)
        seen = !isnan(p->exact[k * s->course->d + i]);
    return seen;
}

/* The density 1 of a flat state in the data's coordinates. */
static void weigh_flat(struct swarm *s, struct mover *step, size_t P,
                       const double *x, size_t i, double *log_w)
{
    const struct course *f = s->course;
    struct workspace *place = &step->room.part[COURSE_PLACE];
    struct workspace *enter = &step->room.part[COURSE_ENTER];
    struct points in = mover_points(step, s->pace, 0, P, x);
    program_forward(f->part[COURSE_PLACE], &step->values->part[COURSE_PLACE],
                    place, &in);
    memcpy(step->middle, program_output(f->part[COURSE_PLACE], place, P, 0),
           f->d * P * sizeof *x);
    in.state = step->middle;
    program_forward(f->part[COURSE_ENTER], &step->values->part[COURSE_ENTER],
                    enter, &in);
    const double *slope = program_output(f->part[COURSE_ENTER], enter, P, 1);
    double width = s->ahead->first_B[i * (s->D + 1)];
    for (size_t j = 0; j < P; j++) {
        double off = (x[i * P + j] - s->ahead->first_a[i]) / width;
        log_w[j] += 0.5 * off * off + log(width) + 0.5 * LOG_TWO_PI -
                    log(fabs(slope[i * P + j]));
    }
}

/* The first state. Its law may be another than the normal one that is drawn
 * from. */
static void begin(struct swarm *s, size_t b, struct mover *step)
{
    struct twist t = block_of(s, b, s->D);
    const struct ahead *w = s->ahead;
    double *log_w = s->log_w + b * COURSE_BLOCK, *x = block_x(s, b);
    size_t D = s->D, P = t.P;
    for (size_t j = 0; j < P; j++) {
        log_w[j] = 0.0;
        for (size_t i = 0; i < D; i++)
            t.a[i * P + j] = w->first_a[i];
        for (size_t i = 0; i < D * D; i++)
            t.B[i * P + j] = w->first_B[i];
    }
    guide(s, b, 0, step, &t, log_w);
    twist_draw(&t, normals(s, b, 0, D, P), x);
    if (!s->course->normal_first) weigh_first(s, step, P, x, log_w);
    for (size_t i = 0; i < s->course->d; i++)
        if (is_flat(s, i)) weigh_flat(s, step, P, x, i, log_w);
}

/* --- Threads -------------------------------------------------------------- */

/* All blocks from node `from`, or the beginning, to node `to`. */
struct leg {
    struct swarm *swarm;
    size_t from, to;
    bool begins;
};

static void work(void *context, size_t block, size_t thread)
{
    const struct leg *leg = context;
    struct swarm *s = leg->swarm;
    struct mover *step = &s->mover[thread];
    if (leg->begins) {
        begin(s, block, step);
        arrive(s, block, leg->to, step);
        return;
    }
    for (size_t k = leg->from; k < leg->to; k++) {
        struct twist t = block_of(s, block, s->m);
        twist_draw(&t, normals(s, block, k + 1, s->m, t.P), block_x(s, block));
        arrive(s, block, k + 1, step);
    }
}

/* After drawing again: the steps of all particles once more, without weights.
 */
static void repeat(void *context, size_t block, size_t thread)
{
    const struct leg *leg = context;
    struct swarm *s = leg->swarm;
    double unused[COURSE_BLOCK] = {0};
    swarm_aim(s, block, leg->to, &s->mover[thread], block_x(s, block), unused);
}

static int run_blocks(struct leg *leg,
                      void (*what)(void *context, size_t block, size_t thread))
{
    struct lanes_job job = {.context = leg, .work = what};
    return lanes_run(leg->swarm->blocks, leg->swarm->threads, &job);
}

/* --- Weights -------------------------------------------------------------- */

/* The log of the mean weight, and the effective number. */
static double mean_weight(const struct swarm *s, double *ess)
{
    double most = -INFINITY, sum = 0.0, squares = 0.0;
    for (size_t k = 0; k < s->K; k++)
        most = fmax(most, s->log_w[k]);
    if (!isfinite(most)) {
        *ess = 0.0;
        return -INFINITY;
    }
    for (size_t k = 0; k < s->K; k++) {
        double one = exp(s->log_w[k] - most);
        sum += one;
        squares += one * one;
    }
    *ess = sum * sum / squares;
    return most + log(sum / (double)s->K);
}

static int compare(const void *a, const void *b)
{
    const struct swarm_rank *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return x->index < y->index ? -1 : 1;
}

/* Systematic: one offset for all, particles in the order of their first state
 * that is not exact, so that close parameters give close ancestors. */
static void draw_again(struct swarm *s, size_t here, double log_mean)
{
    size_t K = s->K, at = 0, i = 0;
    double offset, sum;
    const struct pace *p = s->pace;
    const double *exact = p->exact + here * s->course->d;
    struct swarm_rank *rank = s->rank;
    while (p->exacts[here] && i + 1 < s->course->d && !isnan(exact[i]))
        i++;
    for (size_t k = 0; k < K; k++)
        rank[k] = (struct swarm_rank){s->x[swarm_at(s, s->D, k, i)], k};
    qsort(rank, K, sizeof *rank, compare);
    struct random_key key = key_of(s, RANDOM_RESAMPLE, here);
    random_uniforms(&key, 0, 1, 0, 1, &offset);
    sum = exp(s->log_w[rank[0].index] - log_mean);
    for (size_t k = 0; k < K; k++) {
        double place = (double)k + offset;
        while (at + 1 < K && sum < place)
            sum += exp(s->log_w[rank[++at].index] - log_mean);
        s->parent[k] = rank[at].index;
    }
    memcpy(s->other, s->x, K * s->D * sizeof *s->x);
    for (size_t k = 0; k < K; k++) {
        for (size_t e = 0; e < s->D; e++)
            s->x[swarm_at(s, s->D, k, e)] =
                s->other[swarm_at(s, s->D, s->parent[k], e)];
        s->log_w[k] = log_mean;
    }
    s->drawn++;
}

/* No weight is left at a node: by what was observed there, or by the exact
 * states of the next row. */
static int lost(const struct swarm *s, size_t here)
{
    const struct pace *p = s->pace;
    bool next = false;
    for (size_t k = 0; k < s->K; k++)
        next = next || isfinite(s->filtered[k]);
    if (next) here++;
    while (!pace_is_row(p, here) && here + 1 < p->nodes)
        here++;
    return fail(
        GSV_NUMERICAL,
        "the log-likelihood of series '%s' is -inf at time %g: no "
        "support point explains what was observed there; check the model's "
        "formula, its parameters and the data",
        p->stops->gaps.series->label[p->track], pace_stop(p, here)->time);
}

/* What comes to a here: increments since the here before, and drawing again. */
static int settle(struct swarm *s, size_t here, size_t before)
{
    size_t K = s->K;
    /* A particle that is nowhere explains nothing. */
    for (size_t k = 0; k < K; k++)
        if (isnan(s->log_w[k])) s->log_w[k] = -INFINITY;
    double ess, now = mean_weight(s, &ess);
    bool last = here + 1 == s->pace->nodes, few = ess < s->share * (double)K;
    for (size_t k = before; k < here; k++)
        s->increment[k] = s->ahead->gain[k], s->ess[k] = ess, s->error[k] = 0.0;
    s->increment[here] =
        s->ahead->gain[here] + now - (here ? s->log_mean : s->ahead->total);
    s->log_mean = s->log_z = now;
    s->ess[here] = ess;
    s->error[here] =
        last || few
            ? sqrt(fmax(0.0, ((double)K / ess - 1.0) / ((double)K - 1.0)))
            : 0.0;
    if (!isfinite(now)) return lost(s, here);
    if (!few || last) return 0;
    draw_again(s, here, now);
    struct leg leg = {.swarm = s, .to = here};
    return run_blocks(&leg, repeat);
}

int swarm_run(struct swarm *s, const struct pace *p, const struct ahead *w,
              const struct swarm_observer *o)
{
    s->pace = p;
    s->ahead = w;
    s->drawn = 0;
    struct leg leg = {.swarm = s, .begins = true};
    for (;;) {
        int status = run_blocks(&leg, work);
        if (!status && o && o->visit) status = o->visit(o->user, s, leg.to);
        size_t drawn = s->drawn;
        if (!status)
            status = settle(s, leg.to, leg.begins ? leg.to : leg.from + 1);
        if (o && o->redraw && s->drawn > drawn) o->redraw(o->user, s);
        if (status || leg.to + 1 == p->nodes) return status;
        leg.begins = false;
        leg.from = leg.to++;
        while (!(o && o->everywhere) && !pace_is_row(p, leg.to) &&
               leg.to + 1 < p->nodes)
            leg.to++;
    }
}

double swarm_error(const struct swarm *s)
{
    double sum = 0.0;
    for (size_t k = 0; k < s->pace->nodes; k++)
        sum += s->error[k] * s->error[k];
    return sqrt(sum);
}
