/* SPDX-License-Identifier: MIT */
/* A block of paths walks from observation to observation, and back. With the
 * move phi(x, t) = h f + g dW of a step from t to t',
 *
 *     euler  x' = x + phi(x, t),
 *     heun   y  = x + phi(x, t),  x' = x + 1/2 (phi(x, t) + phi(y, t')).
 *
 * Back, backpropagation takes the vjp of these steps at the states that were
 * kept. The adjoint a solves da = -phi_x' a backward with the same increments,
 * beside the path itself, and starts from the kept state at every observation:
 *
 *     euler  a = a' + phi_x(x', t')' a',  x = x' - phi(x', t'),
 *     heun   b = a' + phi_x(x', t')' a',  y = x' - phi(x', t'),
 *            a = a' + 1/2 (phi_x(x', t')' a' + phi_x(y, t)' b),
 *            x = x' - 1/2 (phi(x', t') + phi(y, t)).
 *
 * Forward, the derivatives J of x by each parameter make the steps' own
 * derivatives, on the way there:
 *
 *     euler  J' = J + phi_x J + phi_theta. */
#include "integrate/walk.h"

#include <math.h>
#include <string.h>

#include "base/fast.h"
#include "base/random.h"

struct walk {
    struct integrator *i;
    struct walker *w;
    const struct parcel *item;
    size_t P, dim;
    size_t n;     /* the gap that it is in                      */
    size_t first; /* that gap's first step, counted from the start */
};

/* --- Memory -------------------------------------------------------------- */

/* Normals come in fours: the numbers of several steps are drawn at once. */
static size_t drawn_steps(size_t noises)
{
    return noises < 8 ? 4 * (8 / noises) : noises < 32 ? 4 : 1;
}

/* Whether derivatives go along with the path. */
static bool is_ahead(const struct integrator *i)
{
    return i->o.gradient && i->o.by == BY_FORWARD;
}

size_t walk_kept_rows(const struct integrator *i)
{
    if (!i->o.gradient || i->o.by == BY_FORWARD) return 0;
    return i->o.by == BY_ADJOINT ? i->most_gaps : i->longest + 1;
}

static int workspaces_init(struct walker *w, const struct integrator *i)
{
    bool same = i->back == &i->there, gradient = i->o.gradient;
    bool heun = i->o.scheme == GSV_HEUN, ahead = is_ahead(i);
    int status = workspace_init(&w->one, i->there.program, i->P,
                                gradient && same && !ahead, ahead);
    if (status || !gradient || ahead) return status;
    if (!same || (heun && i->o.by == BY_BACKPROP))
        status = workspace_init(&w->two, i->back->program, i->P, true, false);
    return status;
}

int walker_init(struct walker *w, const struct integrator *i)
{
    const struct spec *spec = i->m->spec;
    size_t P = i->P, d = spec->dim, z = spec->noises * P;
    size_t chunk = drawn_steps(spec->noises) * z;
    size_t n = is_ahead(i) ? spec->parameters : 0, all = n ? n + d : 0;
    const struct arena_part part[] = {
        {&w->x, d * P},
        {&w->a, d * P},
        {&w->stage, d * P},
        {&w->stage_bar, d * P},
        {&w->half, d * P},
        {&w->move, d * P},
        {&w->last, d * P},
        {&w->room, (d + rhs_noise_size(&i->there)) * P},
        {&w->h, P},
        {&w->root, P},
        {&w->time, P},
        {&w->input, spec->inputs * P},
        {&w->slope, spec->inputs * P},
        {&w->z, chunk},
        {&w->drawn, chunk},
        {&w->kept, walk_kept_rows(i) * d * P},
        {&w->all, all * P},
        {&w->dot, all * P},
        {&w->J, n * d * P},
        {&w->J_move, n * d * P},
        {&w->J_stage, n * d * P},
        {&w->uniform_bar, program_uniforms(i->back->program)}};
    int status = arena_lay(&w->arena, sizeof part / sizeof *part, part);
    return status ? status : workspaces_init(w, i);
}

void walker_free(struct walker *w)
{
    workspace_free(&w->one);
    workspace_free(&w->two);
    arena_free(&w->arena);
}

/* --- Where and when ------------------------------------------------------ */

static const struct course *course_of(const struct walk *k, size_t track)
{
    return &k->i->course[k->i->order[k->item->first + track]];
}

static const struct gap *gap_of(const struct walk *k, size_t track)
{
    return &k->i->gaps.gap[course_of(k, track)->first + k->n];
}

static size_t steps_of(const struct walk *k)
{
    return course_of(k, 0)->step[k->n];
}

static void spread(size_t n, double value, double *row)
{
    for (size_t i = 0; i < n; i++)
        row[i] = value;
}

static void enter_gap(struct walk *k, size_t n, size_t first)
{
    size_t K = k->item->paths;
    k->n = n;
    k->first = first;
    for (size_t t = 0; t < k->item->tracks; t++) {
        double h = gap_of(k, t)->length / (double)steps_of(k);
        spread(K, h, k->w->h + t * K);
        spread(K, sqrt(h), k->w->root + t * K);
    }
}

/* Time and inputs of all points after j steps of the gap; a held input that
 * jumps there still has its old value where before is set. */
static void set_clock(struct walk *k, size_t j, bool before)
{
    struct walker *w = k->w;
    size_t K = k->item->paths, P = k->P, inputs = k->i->m->spec->inputs;
    for (size_t t = 0; t < k->item->tracks; t++) {
        const struct gap *gap = gap_of(k, t);
        double now =
            j == steps_of(k) ? gap->end : gap->start + w->h[t * K] * (double)j;
        spread(K, now, w->time + t * K);
        if (inputs)
            gap_inputs(&k->i->gaps, gap->track, now, before, w->input + t * K,
                       w->slope + t * K, P);
        for (size_t i = 0; i < inputs; i++) {
            size_t at = i * P + t * K;
            spread(K, w->input[at], w->input + at);
            spread(K, w->slope[at], w->slope + at);
        }
    }
}

/* The normals of a step, (noises, P): drawn some steps at a time, and again
 * where it goes back. */
static const double *numbers_of(struct walk *k, size_t step)
{
    const struct parcel *item = k->item;
    size_t noises = k->i->m->spec->noises, K = item->paths, P = k->P;
    size_t steps = drawn_steps(noises), rows = steps * noises;
    double *z = k->w->z;
    for (size_t t = 0; step / steps != k->w->chunk && t < item->tracks; t++) {
        struct random_key key = {.seed = k->i->o.seed,
                                 .purpose = RANDOM_INTEGRATE,
                                 .iteration = k->i->iteration,
                                 .item = gap_of(k, t)->track};
        double *to = item->tracks > 1 ? k->w->drawn : z;
        random_normals(&key, step / steps * rows, rows, item->path, K, to);
        for (size_t r = 0; to != z && r < rows; r++)
            memcpy(z + r * P + t * K, to + r * K, K * sizeof *z);
    }
    k->w->chunk = step / steps;
    return z + step % steps * noises * P;
}

/* What the program's state is: below the parameters where it is lifted. */
static const double *lift(struct walk *k, const double *x)
{
    size_t P = k->P, n = k->i->m->spec->parameters;
    if (!is_ahead(k->i)) return x;
    memcpy(k->w->all + n * P, x, k->dim * P * sizeof *x);
    return k->w->all;
}

/* Step j of the gap, seen from one of its ends. */
static struct pace pace_at(struct walk *k, size_t j, bool right,
                           const double *x)
{
    struct walker *w = k->w;
    if (k->i->there.timed || k->i->back->timed) set_clock(k, j + right, right);
    return (struct pace){.at = {.P = k->P,
                                .state = lift(k, x),
                                .time = w->time,
                                .input = w->input,
                                .slope = w->slope},
                         .h = w->h,
                         .root = w->root,
                         .z = numbers_of(k, k->first + j)};
}

/* to = x + c move, all (dim, P). */
FAST static void add(size_t n, const double *x, double c, const double *move,
                     double *to)
{
    for (size_t i = 0; i < n; i++)
        to[i] = x[i] + c * move[i];
}

/* --- There --------------------------------------------------------------- */

/* J_move = phi_x J + phi_theta, where the program has just been; J_move may be
 * J. */
static void move_derivatives(struct walk *k, const struct pace *s,
                             const double *J, double *J_move)
{
    struct walker *w = k->w;
    size_t P = k->P, n = k->i->m->spec->parameters, size = k->dim * P;
    for (size_t v = 0; v < n; v++) {
        spread(P, 1.0, w->dot + v * P);
        memcpy(w->dot + n * P, J + v * size, size * sizeof *J);
        rhs_move_jvp(&k->i->there, &w->one, s, w->dot, J_move + v * size);
        spread(P, 0.0, w->dot + v * P);
    }
}

/* `ahead`: the derivatives J go along. */
static void euler(struct walk *k, size_t j, bool ahead)
{
    struct walker *w = k->w;
    size_t n = k->dim * k->P, all = n * k->i->m->spec->parameters;
    struct pace s = pace_at(k, j, false, w->x);
    rhs_move(&k->i->there, &w->one, &s, w->move);
    if (ahead) move_derivatives(k, &s, w->J, w->J_move);
    add(n, w->x, 1.0, w->move, w->x);
    if (ahead) add(all, w->J, 1.0, w->J_move, w->J);
}

static void heun(struct walk *k, size_t j, bool ahead)
{
    struct walker *w = k->w;
    size_t n = k->dim * k->P, all = n * k->i->m->spec->parameters;
    struct pace s = pace_at(k, j, false, w->x);
    rhs_move(&k->i->there, &w->one, &s, w->move);
    if (ahead) move_derivatives(k, &s, w->J, w->J_move);
    add(n, w->x, 1.0, w->move, w->stage);
    if (ahead) add(all, w->J, 1.0, w->J_move, w->J_stage);
    s = pace_at(k, j, true, w->stage);
    rhs_move(&k->i->there, &w->one, &s, w->last);
    if (ahead) move_derivatives(k, &s, w->J_stage, w->J_stage);
    add(n, w->x, 0.5, w->move, w->x);
    add(n, w->x, 0.5, w->last, w->x);
    if (!ahead) return;
    add(all, w->J, 0.5, w->J_move, w->J);
    add(all, w->J, 0.5, w->J_stage, w->J);
}

/* --- Back by backpropagation --------------------------------------------- */

static void euler_vjp(struct walk *k, size_t j, const double *x)
{
    struct walker *w = k->w;
    struct pace s = pace_at(k, j, false, x);
    rhs_move(k->i->back, &w->one, &s, w->move);
    rhs_move_vjp(k->i->back, &w->one, &s, w->a, w->room, w->a, w->uniform_bar);
}

static void heun_vjp(struct walk *k, size_t j, const double *x)
{
    struct walker *w = k->w;
    const struct rhs *r = k->i->back;
    size_t n = k->dim * k->P;
    struct pace s = pace_at(k, j, false, x);
    rhs_move(r, &w->one, &s, w->move);
    add(n, x, 1.0, w->move, w->stage);
    s = pace_at(k, j, true, w->stage);
    rhs_move(r, &w->two, &s, w->last);
    memset(w->stage_bar, 0, n * sizeof *w->stage_bar);
    memset(w->half, 0, n * sizeof *w->half);
    add(n, w->half, 0.5, w->a, w->half);
    rhs_move_vjp(r, &w->two, &s, w->half, w->room, w->stage_bar,
                 w->uniform_bar);
    add(n, w->half, 1.0, w->stage_bar, w->half);
    add(n, w->a, 1.0, w->stage_bar, w->a);
    s = pace_at(k, j, false, x);
    rhs_move_vjp(r, &w->one, &s, w->half, w->room, w->a, w->uniform_bar);
}

/* --- Back by the adjoint ------------------------------------------------- */

static struct workspace *workspace_back(const struct walk *k)
{
    return k->i->back == &k->i->there ? &k->w->one : &k->w->two;
}

static void euler_adjoint(struct walk *k, size_t j)
{
    struct walker *w = k->w;
    struct workspace *space = workspace_back(k);
    struct pace s = pace_at(k, j, true, w->x);
    rhs_move(k->i->back, space, &s, w->move);
    rhs_move_vjp(k->i->back, space, &s, w->a, w->room, w->a, w->uniform_bar);
    add(k->dim * k->P, w->x, -1.0, w->move, w->x);
}

static void heun_adjoint(struct walk *k, size_t j)
{
    struct walker *w = k->w;
    const struct rhs *r = k->i->back;
    struct workspace *space = workspace_back(k);
    size_t n = k->dim * k->P;
    memset(w->stage_bar, 0, n * sizeof *w->stage_bar);
    memset(w->half, 0, n * sizeof *w->half);
    add(n, w->half, 0.5, w->a, w->half);
    struct pace s = pace_at(k, j, true, w->x);
    rhs_move(r, space, &s, w->move);
    rhs_move_vjp(r, space, &s, w->half, w->room, w->stage_bar, w->uniform_bar);
    add(n, w->x, -1.0, w->move, w->stage);
    add(n, w->half, 1.0, w->stage_bar, w->half); /* half of b */
    s = pace_at(k, j, false, w->stage);
    rhs_move(r, space, &s, w->last);
    rhs_move_vjp(r, space, &s, w->half, w->room, w->stage_bar, w->uniform_bar);
    add(n, w->a, 1.0, w->stage_bar, w->a);
    add(n, w->x, -0.5, w->move, w->x);
    add(n, w->x, -0.5, w->last, w->x);
}

/* --- Both ways ----------------------------------------------------------- */

/* All paths begin at the first observation. */
static void start(struct walk *k)
{
    size_t K = k->item->paths;
    k->n = 0;
    for (size_t t = 0; t < k->item->tracks; t++)
        for (size_t i = 0; i < k->dim; i++)
            spread(K, gaps_state(&k->i->gaps, i, gap_of(k, t)->from),
                   k->w->x + i * k->P + t * K);
}

static void keep(struct walk *k, size_t row)
{
    size_t n = k->dim * k->P;
    memcpy(k->w->kept + row * n, k->w->x, n * sizeof *k->w->x);
}

/* The squared distances from the observation that the gap ends with. */
static void add_squares(struct walk *k)
{
    size_t K = k->item->paths;
    double *part = k->i->part + k->item->part;
    for (size_t t = 0; t < k->item->tracks; t++)
        for (size_t i = 0; i < k->dim; i++) {
            double seen = gaps_state(&k->i->gaps, i, gap_of(k, t)->to);
            const double *x = k->w->x + i * k->P + t * K;
            for (size_t p = 0; p < K; p++)
                part[t] += (x[p] - seen) * (x[p] - seen);
        }
}

/* Of minus their mean over all paths. */
static void add_squares_vjp(struct walk *k, const double *x)
{
    size_t K = k->item->paths;
    double share = -2.0 / (double)k->i->o.paths;
    for (size_t t = 0; t < k->item->tracks; t++)
        for (size_t i = 0; i < k->dim; i++) {
            double seen = gaps_state(&k->i->gaps, i, gap_of(k, t)->to);
            size_t at = i * k->P + t * K;
            for (size_t p = 0; p < K; p++)
                k->w->a[at + p] += share * (x[at + p] - seen);
        }
}

/* The gradient of minus the squares' mean, by the derivatives of the paths. */
static void add_squares_ahead(struct walk *k)
{
    size_t n = k->i->m->spec->parameters, size = k->dim * k->P;
    double *a = k->w->a;
    memset(a, 0, size * sizeof *a);
    add_squares_vjp(k, k->w->x);
    for (size_t v = 0; v < n; v++) {
        const double *J = k->w->J + v * size;
        for (size_t p = 0; p < size; p++)
            k->w->uniform_bar[v] += a[p] * J[p];
    }
}

static void start_ahead(struct walk *k)
{
    const gsv_model *m = k->i->m;
    size_t n = m->spec->parameters, P = k->P;
    for (size_t v = 0; v < n; v++)
        spread(P, m->value[v], k->w->all + v * P);
    memset(k->w->dot, 0, (n + k->dim) * P * sizeof *k->w->dot);
    memset(k->w->J, 0, n * k->dim * P * sizeof *k->w->J);
}

static void walk_there(struct walk *k, bool gradient)
{
    const struct integrate_options *o = &k->i->o;
    bool ahead = gradient && is_ahead(k->i);
    size_t gaps = course_of(k, 0)->gaps, step = 0;
    start(k);
    if (is_ahead(k->i)) start_ahead(k);
    for (size_t n = 0; n < gaps; n++) {
        enter_gap(k, n, step);
        for (size_t j = 0; j < steps_of(k); j++, step++) {
            if (gradient && o->by == BY_BACKPROP) keep(k, step);
            if (o->scheme == GSV_HEUN) heun(k, j, ahead);
            else euler(k, j, ahead);
        }
        add_squares(k);
        if (gradient && o->by == BY_ADJOINT) keep(k, n);
        if (ahead) add_squares_ahead(k);
    }
    if (gradient && o->by == BY_BACKPROP) keep(k, step);
}

/* A gap's steps from its end on, the adjoint from the state there. */
static void gap_back(struct walk *k)
{
    const struct integrate_options *o = &k->i->o;
    size_t size = k->dim * k->P;
    for (size_t j = steps_of(k); j-- > 0;) {
        const double *x = k->w->kept + (k->first + j) * size;
        if (o->by == BY_ADJOINT && k->i->heun_back) heun_adjoint(k, j);
        else if (o->by == BY_ADJOINT) euler_adjoint(k, j);
        else if (o->scheme == GSV_HEUN) heun_vjp(k, j, x);
        else euler_vjp(k, j, x);
    }
}

static void walk_back(struct walk *k)
{
    const struct course *c = course_of(k, 0);
    size_t size = k->dim * k->P, end = c->steps;
    bool adjoint = k->i->o.by == BY_ADJOINT;
    memset(k->w->a, 0, size * sizeof *k->w->a);
    for (size_t n = c->gaps; n-- > 0;) {
        enter_gap(k, n, end - c->step[n]);
        const double *x = k->w->kept + (adjoint ? n : end) * size;
        add_squares_vjp(k, x);
        if (adjoint) memcpy(k->w->x, x, size * sizeof *x);
        gap_back(k);
        end = k->first;
    }
}

void walk_item(struct integrator *i, const struct parcel *item,
               struct walker *w, bool gradient)
{
    struct walk k = {.i = i,
                     .w = w,
                     .item = item,
                     .P = item->tracks * item->paths,
                     .dim = i->m->spec->dim};
    w->chunk = SIZE_MAX;
    memset(i->part + item->part, 0, item->tracks * sizeof *i->part);
    size_t uniforms = program_uniforms(i->back->program);
    memset(w->uniform_bar, 0, uniforms * sizeof *w->uniform_bar);
    walk_there(&k, gradient);
    if (gradient && !is_ahead(i)) walk_back(&k);
}
