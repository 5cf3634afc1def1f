/* SPDX-License-Identifier: MIT */
#include "guided/ahead.h"

#include <math.h>
#include <string.h>

#include "base/constant.h"
#include "base/error.h"
#include "base/halt.h"
#include "base/lanes.h"
#include "base/linalg.h"
#include "guided/gauss_step.h"

/* Passes of the smoother after the first path, and from any other start. */
enum { PASSES = 2, SEEKING = 6 };

int ahead_init(struct ahead *w, const struct course *f, size_t nodes,
               size_t threads)
{
    size_t D = f->D, m = f->m, N = nodes;
    *w = (struct ahead){
        .course = f, .threads = threads, .D = D, .m = m, .n = D > m ? D : m};
    const struct arena_part part[] = {{&w->mu, N * D},
                                      {&w->e, N * D},
                                      {&w->Lambda, N * D * D},
                                      {&w->c, N},
                                      {&w->a, N * D},
                                      {&w->B, N * D * m},
                                      {&w->A, N * D * D},
                                      {&w->log_g, N},
                                      {&w->g, N * D},
                                      {&w->H, N * D * D},
                                      {&w->first_a, D},
                                      {&w->first_B, D * D},
                                      {&w->trial, N * D},
                                      {&w->gain, N},
                                      {&w->small, 16 * w->n * w->n + 64 * w->n},
                                      {&w->hold, 5 * w->n * w->n}};
    return arena_lay(&w->arena, sizeof part / sizeof *part, part);
}

void ahead_free(struct ahead *w)
{
    arena_free(&w->arena);
}

/* --- The first state ------------------------------------------------------ */

/* u and its deviations at z; whether they are finite. */
static bool first_at(struct ahead *w, struct mover *s, struct points *in,
                     const double *deviation)
{
    const struct course *f = w->course;
    program_forward(f->part[COURSE_START], &s->values->part[COURSE_START],
                    &s->room.part[COURSE_START], in);
    const struct workspace *room = &s->room.part[COURSE_START];
    const double *u = program_output(f->part[COURSE_START], room, 1, 2);
    const double *shape = program_output(f->part[COURSE_START], room, 1, 3);
    memset(w->first_B, 0, w->D * w->D * sizeof *w->first_B);
    memset(w->first_a, 0, w->D * sizeof *w->first_a);
    bool fine = true;
    for (size_t i = 0; i < f->d; i++) {
        double width = deviation[i] / fabs(shape[f->stretched ? i : 0]);
        w->first_a[i] = u[i];
        w->first_B[i * (w->D + 1)] = width;
        fine = fine && isfinite(u[i]) && isfinite(width);
    }
    return fine;
}

/* The normal law that stands for the flat one of state i: around what was
 * observed first, and far wider than the data. One that the track never
 * observes keeps its own. */
static void widen(struct ahead *w, const struct pace *p, size_t i)
{
    static const double WIDE = 1e4;
    size_t d = w->course->d;
    double centre = NAN, most = 0.0;
    for (size_t k = 0; k < p->nodes; k++) {
        double u = p->exact[k * d + i];
        if (isnan(u)) continue;
        if (isnan(centre)) centre = u;
        most = fmax(most, fmax(fabs(u), fabs(u - centre)));
    }
    if (isnan(centre)) return;
    w->first_a[i] = centre;
    w->first_B[i * (w->D + 1)] = WIDE * (most > 0.0 ? most : 1.0);
}

/* The node at which all flat states have been observed. */
static size_t seen_at(const struct pace *p)
{
    size_t d = p->course->d, last = 0;
    for (size_t i = 0; i < d; i++) {
        size_t k = 0;
        while (pace_is_flat(p, i) && k < p->nodes && isnan(p->exact[k * d + i]))
            k++;
        if (k < p->nodes && k > last) last = k;
    }
    return last;
}

int ahead_first(struct ahead *w, struct mover *s, const struct pace *p)
{
    static const double away[] = {0.0, 0.1, -0.1, 0.5, -0.5, 1.0, -1.0};
    const struct course *f = w->course;
    const struct stop *stop = pace_stop(p, 0);
    double *mean = w->small, *deviation = mean + w->n, *z = deviation + w->n;
    memset(z, 0, f->d * sizeof *z);
    struct points in =
        gaps_points(&p->stops->gaps, stop->track, stop->time, false, 1, z,
                    s->room.time, s->room.input, s->room.slope);
    first_at(w, s, &in, z);
    const struct workspace *room = &s->room.part[COURSE_START];
    memcpy(mean, program_output(f->part[COURSE_START], room, 1, 0),
           f->d * sizeof *mean);
    memcpy(deviation, program_output(f->part[COURSE_START], room, 1, 1),
           f->d * sizeof *deviation);
    for (size_t t = 0; t < sizeof away / sizeof *away; t++) {
        for (size_t i = 0; i < f->d; i++)
            z[i] = mean[i] + away[t] * deviation[i];
        if (!first_at(w, s, &in, deviation)) continue;
        for (size_t i = 0; i < f->d; i++) {
            double exact = p->exact[i];
            if (pace_is_flat(p, i)) widen(w, p, i);
            if (isnan(exact)) continue;
            w->first_a[i] = exact;
            w->first_B[i * (w->D + 1)] = 0.0;
        }
        return 0;
    }
    return fail(GSV_NUMERICAL,
                "the first state's law, of mean %g in its first element, is "
                "not where the model's noise is defined",
                mean[0]);
}

int ahead_blank(struct ahead *w, struct mover *s, const struct pace *p)
{
    size_t N = p->nodes, D = w->D;
    int status = ahead_first(w, s, p);
    memset(w->mu, 0, N * D * sizeof *w->mu);
    memset(w->c, 0, N * sizeof *w->c);
    memset(w->e, 0, N * D * sizeof *w->e);
    memset(w->Lambda, 0, N * D * D * sizeof *w->Lambda);
    memset(w->gain, 0, N * sizeof *w->gain);
    w->total = 0.0;
    return status;
}

/* --- Linearisation -------------------------------------------------------- */

/* Element (i) of arrays (size, P) at point j, to a row. */
static void pick(size_t size, size_t P, size_t j, const double *from,
                 double *to)
{
    for (size_t i = 0; i < size; i++)
        to[i] = from[i * P + j];
}

/* Steps from nodes [k, k + P) along the path. */
static void expand_steps(struct ahead *w, struct mover *s, const struct pace *p,
                         size_t k, size_t P, const double *path)
{
    size_t D = w->D, m = w->m;
    mover_slopes(s, p, k, P, path + k * D);
    for (size_t j = 0; j < P; j++) {
        pick(D, P, j, s->a, w->a + (k + j) * D);
        pick(D * m, P, j, s->B, w->B + (k + j) * D * m);
        pick(D * D, P, j, s->A, w->A + (k + j) * D * D);
    }
}

/* Observations at P nodes. */
static void expand_rows(struct ahead *w, struct mover *s, const struct pace *p,
                        size_t P, const size_t *list, const double *path)
{
    size_t D = w->D;
    mover_expand(s, p, P, list, path);
    for (size_t j = 0; j < P; j++) {
        size_t k = list[j];
        w->log_g[k] = s->log_g[j];
        pick(D, P, j, s->gradient, w->g + k * D);
        pick(D * D, P, j, s->hessian, w->H + k * D * D);
        gauss_make_positive(D, w->H + k * D * D, w->small);
    }
}

/* Steps of a path by blocks of nodes, on threads. */
struct linear_job {
    struct ahead *ahead;
    struct mover *mover; /* (threads) */
    const struct pace *pace;
    const double *path;
};

static void linearise_block(void *context, size_t b, size_t thread)
{
    const struct linear_job *j = context;
    size_t k = b * COURSE_BLOCK, left = j->pace->nodes - 1 - k;
    expand_steps(j->ahead, &j->mover[thread], j->pace, k,
                 left < COURSE_BLOCK ? left : COURSE_BLOCK, j->path);
}

static int linearise(struct ahead *w, struct mover *s, const struct pace *p,
                     const double *path)
{
    size_t list[COURSE_BLOCK], rows = 0, D = w->D;
    struct linear_job j = {w, s, p, path};
    size_t blocks = (p->nodes - 1 + COURSE_BLOCK - 1) / COURSE_BLOCK;
    struct lanes_job job = {.context = &j, .work = linearise_block};
    int status = lanes_run(blocks, w->threads, &job);
    if (status) return status;
    memset(w->log_g, 0, p->nodes * sizeof *w->log_g);
    memset(w->g, 0, p->nodes * D * sizeof *w->g);
    memset(w->H, 0, p->nodes * D * D * sizeof *w->H);
    for (size_t k = 0; k < p->nodes; k++) {
        if (pace_is_row(p, k)) list[rows++] = k;
        if (rows && (rows == COURSE_BLOCK || k + 1 == p->nodes)) {
            expand_rows(w, s, p, rows, list, path);
            rows = 0;
        }
    }
    return 0;
}

/* The step from a node as linearised. */
static struct gauss_step step_at(struct ahead *w, size_t k)
{
    size_t D = w->D;
    return (struct gauss_step){.D = D,
                               .m = w->m,
                               .a = w->a + k * D,
                               .B = w->B + k * D * w->m,
                               .A = w->A + k * D * D,
                               .small = w->small};
}

static const double *exact_at(const struct pace *p, size_t k)
{
    return p->exacts[k] ? p->exact + k * p->course->d : NULL;
}

/* --- The first path ------------------------------------------------------- */

enum { NEWTON = 20, HALVINGS = 12 };

/* y = mean + cov pull, and its log density up to a constant: that of what was
 * observed at node k, and the filter's. */
static double try_pull(struct ahead *w, struct mover *s, const struct pace *p,
                       size_t k, const double *mean, const double *cov,
                       const double *pull)
{
    size_t D = w->D;
    double *y = w->trial + k * D, far = 0.0;
    for (size_t i = 0; i < D; i++) {
        double move = 0.0;
        for (size_t j = 0; j < D; j++)
            move += cov[i * D + j] * pull[j];
        y[i] = mean[i] + move;
        far += pull[i] * move;
    }
    return mover_density(s, p, k, 1, y) ? s->log_g[0] - 0.5 * far : 0.0;
}

/* What became of a step: it stands where its row was expanded, it is at the
 * end, or another one follows. */
enum newton { NEWTON_STANDS, NEWTON_ENDS, NEWTON_MOVES };

/* Whether a whole step goes nowhere. */
static bool is_there(size_t D, const double *pull, const double *aim)
{
    double size = 0.0, step = 0.0;
    for (size_t i = 0; i < D; i++) {
        size = fmax(size, fabs(aim[i]));
        step = fmax(step, fabs(aim[i] - pull[i]));
    }
    return step <= 1e-8 * size;
}

/* One step of Newton's method from pull with this value, shortened until the
 * value rises. */
static enum newton improve(struct ahead *w, struct mover *s,
                           const struct pace *p, size_t k, const double *mean,
                           const double *cov, double *pull, double *value)
{
    size_t D = w->D;
    double *aim = w->hold + 3 * w->n * w->n, *next = w->small + 2 * D * D;
    expand_rows(w, s, p, 1, &k, w->trial);
    if (!gauss_pull(D, w->trial + k * D, w->g + k * D, w->H + k * D * D, mean,
                    cov, aim, w->small))
        return NEWTON_STANDS;
    if (is_there(D, pull, aim)) return NEWTON_STANDS;
    for (int half = 0; half < HALVINGS; half++) {
        double share = ldexp(1.0, -half);
        for (size_t i = 0; i < D; i++)
            next[i] = pull[i] + share * (aim[i] - pull[i]);
        double found = try_pull(w, s, p, k, mean, cov, next);
        if (!(found > *value)) continue;
        bool far = found > *value + 1e-9 * (1.0 + fabs(found));
        memcpy(pull, next, D * sizeof *pull);
        *value = found;
        return far ? NEWTON_MOVES : NEWTON_ENDS;
    }
    try_pull(w, s, p, k, mean, cov, pull);
    return NEWTON_STANDS;
}

/* A filter's mean and covariance given what was observed at node k: the mode,
 * and the curvature there. */
static void observe_mode(struct ahead *w, struct mover *s, const struct pace *p,
                         size_t k, double *mean, double *cov)
{
    size_t D = w->D;
    double *pull = w->hold + 2 * w->n * w->n, gain;
    memset(pull, 0, D * sizeof *pull);
    double value = try_pull(w, s, p, k, mean, cov, pull);
    if (!pace_is_row(p, k)) return;
    enum newton now = NEWTON_MOVES;
    for (size_t t = 0; t < NEWTON && now == NEWTON_MOVES; t++)
        now = improve(w, s, p, k, mean, cov, pull, &value);
    if (now != NEWTON_STANDS) expand_rows(w, s, p, 1, &k, w->trial);
    gauss_observe(D, w->trial + k * D, w->log_g[k], w->g + k * D,
                  w->H + k * D * D, mean, cov, &gain, w->small);
}

/* An extended Kalman filter: its means are the path, to trial. */
static void guess(struct ahead *w, struct mover *s, const struct pace *p)
{
    size_t D = w->D;
    double *mean = w->hold, *cov = mean + w->n * w->n;
    memcpy(mean, w->first_a, D * sizeof *mean);
    gauss_square(D, D, w->first_B, cov);
    for (size_t k = 0;; k++) {
        observe_mode(w, s, p, k, mean, cov);
        memcpy(w->trial + k * D, mean, D * sizeof *mean);
        if (k + 1 == p->nodes) return;
        mover_slopes(s, p, k, 1, mean);
        struct gauss_step step = {.D = D,
                                  .m = w->m,
                                  .a = s->a,
                                  .B = s->B,
                                  .A = s->A,
                                  .small = w->small};
        double gain = 0.0;
        gauss_predict(&step, NULL, mean, cov);
        const double *exact = exact_at(p, k + 1);
        if (exact)
            gauss_pin(D, p->course->d, exact, mean, cov, &gain, w->small);
    }
}

/* --- Backward and forward ------------------------------------------------- */

static void backward(struct ahead *w, const struct pace *p, bool blind)
{
    size_t D = w->D, seen = blind ? seen_at(p) : p->nodes;
    for (size_t k = p->nodes; k-- > 0;) {
        double *e = w->e + k * D, *Lambda = w->Lambda + k * D * D;
        bool ends = k + 1 == p->nodes || (k >= seen && pace_is_row(p, k));
        w->c[k] = 0.0;
        memset(e, 0, D * sizeof *e);
        memset(Lambda, 0, D * D * sizeof *Lambda);
        if (!ends) {
            struct gauss_step step = step_at(w, k);
            struct psi next = ahead_at(w, k + 1);
            w->c[k] = gauss_back(&step, &next, p->course->d, exact_at(p, k + 1),
                                 e, Lambda) +
                      (p->exacts[k + 1] ? p->log_slope[k + 1] : 0.0);
        }
        w->c[k] += w->log_g[k];
        for (size_t i = 0; i < D; i++)
            e[i] += w->g[k * D + i];
        for (size_t i = 0; i < D * D; i++)
            Lambda[i] += w->H[k * D * D + i];
    }
}

/* The means of guided steps, to trial. Returns how likely the path is that
 * they make, up to a constant; -INFINITY where it is not possible. */
static double forward(struct ahead *w, struct mover *s, const struct pace *p)
{
    size_t D = w->D;
    double likely = 0.0;
    struct gauss_step step = {
        .D = D, .m = D, .a = w->trial, .B = w->hold, .small = w->small};
    memcpy(step.a, w->first_a, D * sizeof *step.a);
    memcpy(step.B, w->first_B, D * D * sizeof *step.B);
    struct psi next = ahead_at(w, 0);
    likely -= 0.5 * gauss_mean(&step, &next, w->trial);
    for (size_t k = 0;; k++) {
        double gain;
        if (mover_density(s, p, k, 1, w->trial + k * D)) likely += s->log_g[0];
        if (k + 1 == p->nodes || !isfinite(likely)) return likely;
        mover_go(s, p, k, 1, w->trial + k * D);
        step = (struct gauss_step){
            .D = D, .m = w->m, .a = s->a, .B = s->B, .small = w->small};
        if (exact_at(p, k + 1)) {
            if (!gauss_given(&step, p->course->d, exact_at(p, k + 1), &gain))
                return -INFINITY;
            likely += gain;
        }
        next = ahead_at(w, k + 1);
        likely -= 0.5 * gauss_mean(&step, &next, w->trial + (k + 1) * D);
        if (!all_finite(D, w->trial + (k + 1) * D)) return -INFINITY;
    }
}

/* Without a psi there are no particles. */
static int not_finite(const struct pace *p, size_t k)
{
    return fail(GSV_NUMERICAL,
                "the linearised model of series '%s' is not finite at time "
                "%g; check the model's formula, its parameters and the data",
                p->stops->gaps.series->label[p->track], pace_stop(p, k)->time);
}

/* What each node adds to log p of the linearised model. */
static int add_up(struct ahead *w, const struct pace *p)
{
    size_t D = w->D;
    double *mean = w->hold, *cov = mean + w->n * w->n;
    double *off = cov + w->n * w->n;
    w->total = 0.0;
    memcpy(mean, w->first_a, D * sizeof *mean);
    gauss_square(D, D, w->first_B, cov);
    double before = 0.0;
    for (size_t k = 0; k < p->nodes; k++) {
        double gain = 0.0;
        gauss_observe(D, w->mu + k * D, w->log_g[k], w->g + k * D,
                      w->H + k * D * D, mean, cov, &gain, w->small);
        w->gain[k] = before + gain;
        w->total += w->gain[k];
        before = 0.0;
        if (k + 1 == p->nodes) break;
        struct gauss_step step = step_at(w, k);
        for (size_t i = 0; i < D; i++)
            off[i] = mean[i] - w->mu[k * D + i];
        gauss_predict(&step, off, mean, cov);
        if (p->exacts[k + 1]) {
            gauss_pin(D, p->course->d, exact_at(p, k + 1), mean, cov, &before,
                      w->small);
            before += p->log_slope[k + 1];
        }
    }
    for (size_t k = p->nodes; k-- > 0;)
        if (!isfinite(w->c[k]) || (!k && !isfinite(w->total)))
            return not_finite(p, k);
    return 0;
}

/* From w->mu, by so many passes at most while they help. */
static int improve_path(struct ahead *w, struct mover *s, const struct pace *p,
                        bool blind, size_t passes)
{
    size_t bytes = p->nodes * w->D * sizeof *w->mu;
    w->likely = -INFINITY;
    for (size_t pass = 0; pass < passes && !halt_asked(); pass++) {
        int status = linearise(w, s, p, w->mu);
        if (status) return status;
        backward(w, p, false);
        double now = forward(w, s, p);
        if (!(now > w->likely)) break;
        w->likely = now;
        memcpy(w->mu, w->trial, bytes);
    }
    int status = linearise(w, s, p, w->mu);
    if (status) return status;
    backward(w, p, blind);
    return add_up(w, p);
}

static int follow(struct ahead *w, struct mover *s, const struct pace *p,
                  const double *path, bool blind, size_t passes)
{
    int status = ahead_first(w, s, p);
    if (status) return status;
    if (path != w->mu) memcpy(w->mu, path, p->nodes * w->D * sizeof *w->mu);
    return improve_path(w, s, p, blind, passes);
}

int ahead_make(struct ahead *w, struct mover *s, const struct pace *p,
               bool blind, const double *from)
{
    /* A path that is given is that of parameters close by. */
    if (from) return follow(w, s, p, from, blind, PASSES - 1);
    int status = ahead_first(w, s, p);
    if (status) return status;
    guess(w, s, p);
    memcpy(w->mu, w->trial, p->nodes * w->D * sizeof *w->mu);
    return improve_path(w, s, p, blind, PASSES);
}

int ahead_seek(struct ahead *w, struct mover *s, const struct pace *p,
               const double *start)
{
    return follow(w, s, p, start, false, SEEKING);
}

int ahead_along(struct ahead *w, struct mover *s, const struct pace *p,
                bool blind, const double *path)
{
    return follow(w, s, p, path, blind, 0);
}
