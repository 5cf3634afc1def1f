/* SPDX-License-Identifier: MIT */
/* The passes of a smoother: linearise along a path, filter forward, smooth
 * backward, step to the smoothed means; shorter where the log density of path
 * and observations,
 *
 *     J = log p(y_1) + sum log N(y_n; Phi y_(n-1) + c, Q) + sum log p(obs),
 *
 * would get worse. Phi, c and Q move with the path, which the linearisation
 * does not know, so that its limit is not quite J's maximum: J only judges
 * steps that are large. */
#include "observe/smooth.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/linalg.h"
#include "graph/words.h"
#include "observe/smooth_parts.h"

enum { MOST_PASSES = 12, MOST_HALVINGS = 10 };
static const double CLOSE = 1e-6; /* in standard deviations */

/* --- One pass ------------------------------------------------------------- */

static size_t block_at(size_t from, size_t stops)
{
    return stops - from < SMOOTH_BLOCK ? stops - from : SMOOTH_BLOCK;
}

/* Transitions of the gaps that end in stops [from, from + count), with f and A
 * where c and Phi will be. Adds to J. */
static double linearise_gaps(struct smoother *s,
                             const struct smooth_track *track, size_t from,
                             size_t count, const double *path)
{
    size_t d = s->d, dd = d * d;
    double *place = vector_of(s, 2), J = 0.0;
    smooth_drifts(s, track, from, count, path, s->stop.c + from * d,
                  s->stop.Phi + from * dd);
    for (size_t n = from; n < from + count; n++) {
        const double *y1 = path + n * d, *y0 = y1 - d;
        double *c = s->stop.c + n * d, *Phi = s->stop.Phi + n * dd;
        smooth_middle(s, track, n, y0, y1, place);
        if (!smooth_transition(s, track->time[n] - track->time[n - 1], Phi, c,
                               place, Phi, c, s->stop.Q + n * dd))
            J -= SMOOTH_BAD;
        smooth_jump(s, track, n);
        J += smooth_step_density(s, n, y0, y1);
    }
    return J;
}

/* All that is linearised, along a path; gives J. */
static double linearise(struct smoother *s, const struct smooth_track *track,
                        const double *path)
{
    size_t d = s->d, N = track->stops;
    double J = smooth_first_density(s, path);
    for (size_t from = 0; from < N; from += SMOOTH_BLOCK) {
        size_t count = block_at(from, N), first = from ? from : 1;
        smooth_densities(s, track, from, count, path + from * d, s->log_density,
                         s->stop.g + from * d, s->stop.H + from * d * d);
        for (size_t k = 0; k < count; k++)
            J += s->log_density[k];
        if (from + count > first)
            J += linearise_gaps(s, track, first, from + count - first, path);
    }
    return J;
}

/* Filtered laws to target and cov. */
static void filter(struct smoother *s, const struct smooth_track *track,
                   const struct smooth_law *law)
{
    size_t d = s->d, dd = d * d;
    s->log_gain = 0.0;
    memcpy(s->mean, s->first_mean, d * sizeof *s->mean);
    memcpy(s->cov, s->first_cov, dd * sizeof *s->cov);
    for (size_t n = 0; n < track->stops; n++) {
        if (n) smooth_predict(s, n);
        if (law->predicted_mean)
            memcpy(law->predicted_mean + n * d, s->mean, d * sizeof *s->mean);
        if (law->predicted_cov)
            memcpy(law->predicted_cov + n * dd, s->cov, dd * sizeof *s->cov);
        smooth_pin(s, n);
        smooth_update(s, law->mean + n * d, s->stop.g + n * d,
                      s->stop.H + n * dd);
        memcpy(s->stop.target + n * d, s->mean, d * sizeof *s->mean);
        memcpy(law->cov + n * dd, s->cov, dd * sizeof *s->cov);
    }
}

/* --- Steps ---------------------------------------------------------------- */

/* Element e of the way from the path to the smoothed means, in deviations. */
static double way(const struct smoother *s, const struct smooth_law *law,
                  size_t e)
{
    size_t d = s->d;
    double variance = law->cov[e * d + e % d];
    double size = sqrt(fmax(variance, 0.0)) + 1e-9 * fabs(law->mean[e]);
    return (s->stop.target[e] - law->mean[e]) / (size + 1e-300);
}

static double distance(const struct smoother *s, size_t stops,
                       const struct smooth_law *law)
{
    double most = 0.0;
    for (size_t e = 0; e < stops * s->d; e++) {
        double move = fabs(way(s, law, e));
        if (!(move <= most)) most = move;
    }
    return most;
}

/* How much of the way to go, after step of the one before (0: there was none).
 * The linearisation moves with the path, so that the ways w fall by a factor
 * only, of either sign: Aitken's extrapolation,
 *
 *     step' = step w_1'(w_1 - w_2) / |w_1 - w_2|^2. */
static double extrapolate(struct smoother *s, size_t stops,
                          const struct smooth_law *law, double step)
{
    static const double LEAST = 0.1, MOST = 1.5;
    double *move = s->stop.move, product = 0.0, square = 0.0;
    for (size_t e = 0; e < stops * s->d; e++) {
        double now = way(s, law, e), change = move[e] - now;
        product += move[e] * change;
        square += change * change;
        move[e] = now;
    }
    step *= product / square;
    return isfinite(step) && step != 0.0 ? fmin(fmax(step, LEAST), MOST) : 1.0;
}

/* Whatever trial holds, inside of T's range. */
static void confine(struct smoother *s, const struct smooth_track *track,
                    const double *inside)
{
    size_t d = s->d, N = track->stops;
    for (size_t from = 0; s->range.program && from < N; from += SMOOTH_BLOCK)
        smooth_confine(s, track, from, block_at(from, N), inside + from * d,
                       s->stop.trial + from * d);
}

static void set_trial(struct smoother *s, const struct smooth_track *track,
                      const double *path, double step)
{
    for (size_t e = 0; e < track->stops * s->d; e++)
        s->stop.trial[e] = path[e] + step * (s->stop.target[e] - path[e]);
    confine(s, track, path);
}

static void accept_trial(struct smoother *s, size_t stops, double *path)
{
    memcpy(path, s->stop.trial, stops * s->d * sizeof *path);
}

/* A step towards the smoothed means, which are so far away: how much of the
 * way it was, or 0 where none was found. */
static double step_on(struct smoother *s, const struct smooth_track *track,
                      const struct smooth_law *law, double away, double step,
                      double *J)
{
    double slack = 1e-9 * (1.0 + fabs(*J));
    for (int i = 0; i < MOST_HALVINGS; i++, step *= 0.5) {
        set_trial(s, track, law->mean, step);
        double found = linearise(s, track, s->stop.trial);
        bool small = step * away < 1.0 && found > *J - 0.5 * SMOOTH_BAD;
        if (!small && !(found >= *J - slack)) continue;
        accept_trial(s, track->stops, law->mean);
        *J = found;
        return step;
    }
    return 0.0;
}

/* The better of two paths to law->mean, linearised; gives its J. */
static double begin(struct smoother *s, const struct smooth_track *track,
                    const struct smooth_law *law)
{
    double J[2];
    for (int i = 0; i < 2; i++) {
        bool moving = i == 1;
        smooth_guess(s, track, law, moving);
        confine(s, track, law->mean);
        J[i] = linearise(s, track, s->stop.trial);
    }
    if (J[0] > J[1] || isnan(J[1])) {
        smooth_guess(s, track, law, false);
        confine(s, track, law->mean);
        J[1] = linearise(s, track, s->stop.trial);
    }
    accept_trial(s, track->stops, law->mean);
    return J[1];
}

/* From the path in law->mean, which is linearised, and its J. */
static void pass_on(struct smoother *s, const struct smooth_track *track,
                    const struct smooth_law *law, double J)
{
    double step = 0.0;
    for (s->passes = 1;; s->passes++) {
        filter(s, track, law);
        smooth_backward(s, track->stops, law);
        double away = distance(s, track->stops, law);
        s->converged = away < CLOSE;
        s->log_path = J;
        if (s->converged) break;
        step = extrapolate(s, track->stops, law, step);
        if (s->passes < MOST_PASSES)
            step = step_on(s, track, law, away, step, &J);
        if (s->passes == MOST_PASSES || step == 0.0) return;
    }
    set_trial(s, track, law->mean, 1.0);
    accept_trial(s, track->stops, law->mean);
}

/* --- Runs ----------------------------------------------------------------- */

static int make_room(struct smoother *s, size_t stops)
{
    struct smooth_stops *at = &s->stop;
    size_t d = s->d, v = stops * d, m = v * d, pin = s->pinned ? 1 : 0;
    if (stops <= at->capacity) return 0;
    arena_free(&at->arena);
    at->capacity = 0;
    const struct arena_part piece[] = {
        {&at->target, v},     {&at->trial, v}, {&at->move, v},
        {&at->Phi, m},        {&at->c, v},     {&at->Q, m},
        {&at->g, v},          {&at->H, m},     {&at->fixed, pin * v},
        {&at->sigma, pin * m}};
    if (arena_lay(&at->arena, sizeof piece / sizeof *piece, piece))
        return GSV_NO_MEMORY;
    at->capacity = stops;
    return 0;
}

static void prepare(struct smoother *s, const double *parameters)
{
    struct smooth_part *part[] = {&s->drift, &s->density, &s->range, &s->pin,
                                  &s->first};
    for (size_t i = 0; i < sizeof part / sizeof *part; i++)
        if (part[i]->program)
            program_prepare(part[i]->program, parameters, &part[i]->uniforms);
}

static int check(const struct smoother *s, const struct smooth_track *track,
                 const struct smooth_law *law)
{
    size_t d = s->d, dd = d * d;
    for (size_t n = 0; n < track->stops; n++) {
        bool finite = true;
        for (size_t i = 0; i < d; i++)
            finite = finite && isfinite(law->mean[n * d + i]);
        for (size_t e = 0; e < dd; e++)
            finite = finite && isfinite(law->cov[n * dd + e]);
        if (!finite)
            return fail(GSV_NUMERICAL,
                        "the smoother's law of the state at time %g is not "
                        "finite: the drift or the observations' densities are "
                        "too large near to the data",
                        track->time[n]);
    }
    return 0;
}

int smoother_run(struct smoother *s, const double *parameters,
                 const struct smooth_track *track, const struct smooth_law *law)
{
    if (make_room(s, track->stops)) return GSV_NO_MEMORY;
    prepare(s, parameters);
    int status = smooth_first(s, track);
    if (status) return status;
    smooth_fix(s, track);
    pass_on(s, track, law, begin(s, track, law));
    return check(s, track, law);
}

bool smoother_run_from(struct smoother *s, const struct smooth_track *track,
                       const double *inside, const struct smooth_law *law)
{
    size_t d = s->d, n = track->stops * d;
    memcpy(s->stop.trial, law->mean, n * sizeof *law->mean);
    confine(s, track, inside);
    accept_trial(s, track->stops, law->mean);
    pass_on(s, track, law, linearise(s, track, law->mean));
    return isfinite(s->log_path) && all_finite(n, law->mean) &&
           all_finite(n * d, law->cov);
}

double smoother_evidence(struct smoother *s, const struct smooth_track *track)
{
    size_t d = s->d;
    double *L = matrix_of(s, 0), sum = s->log_path - s->log_gain;
    for (size_t n = 1; n < track->stops; n++) {
        memcpy(L, s->stop.Q + n * d * d, d * d * sizeof *L);
        if (!linalg_cholesky(d, L)) continue;
        for (size_t i = 0; i < d; i++)
            sum += log(L[i * (d + 1)]);
    }
    return sum;
}

/* --- Programs and memory ---------------------------------------------------
 */

/* Densities are over z, and are needed over y: with u = U(z, t) and
 * y = sigma^-1 u, as in unit.c, z(y) = U^-1(sigma y) and T(z) = sigma^-1 U(z).
 */

static node leaf_of(const struct smoother *s)
{
    return graph_leaf(s->graph, OP_STATE, 0, s->d, 1);
}

/* U over z. */
static node stretched(const struct smoother *s)
{
    const struct spec *spec = s->model->spec;
    return spec->stretch ? spec->stretch : leaf_of(s);
}

/* T over z. */
static node unit_of_state(const struct smoother *s)
{
    const struct spec *spec = s->model->spec;
    node u = stretched(s);
    return spec->diagonal ? op(s->graph, OP_DIV, u, spec->sigma)
                          : graph_solve(s->graph, spec->sigma, u);
}

/* z over y. */
static node state_of_unit(const struct smoother *s)
{
    const struct spec *spec = s->model->spec;
    node y = leaf_of(s);
    node u = spec->diagonal ? op(s->graph, OP_MUL, spec->sigma, y)
                            : graph_matmul(s->graph, spec->sigma, y);
    return spec->unstretch ? graph_substitute(s->graph, spec->unstretch, u) : u;
}

/* Of a poisson process the integral of the rate is taken for the rate at its
 * end times the gap's length, which stands where the integral would. */
static node log_density(const struct smoother *s, const struct obs_spec *obs)
{
    const struct spec *spec = s->model->spec;
    struct graph *g = s->graph;
    size_t k;
    if (!obs_is_process(spec, obs, &k)) return obs->log_density;
    node count = graph_leaf(g, OP_INPUT, spec->inputs + obs->value, 1, 1);
    node length =
        graph_leaf(g, OP_INPUT, spec->inputs + spec->values + k, 1, 1);
    node mean = op(g, OP_MUL, spec->integral[k].rate, length);
    node log_mean = graph_unary(g, OP_LOG, mean);
    return op(g, OP_SUB, op(g, OP_MUL, count, log_mean), mean);
}

static int part_init(struct smooth_part *p, const struct smoother *s,
                     size_t outputs, const node *output)
{
    p->program = program_new(s->graph, outputs, output,
                             s->model->spec->parameters, true);
    if (!p->program || uniforms_init(&p->uniforms, p->program) ||
        workspace_init(&p->workspace, p->program, SMOOTH_BLOCK, false, true))
        return GSV_NO_MEMORY;
    return 0;
}

static void part_free(struct smooth_part *p)
{
    if (!p->program) return;
    workspace_free(&p->workspace);
    uniforms_free(&p->uniforms);
    program_free(p->program);
}

/* Whether the curvature of a log density changes with y: with a constant one
 * it has one mode at most. */
static bool is_curved(struct smoother *s, node gradient)
{
    node ones = graph_fill(s->graph, graph_number(s->graph, 1.0), s->d, 1);
    node curve = graph_directional(s->graph, gradient, leaf_of(s), ones);
    return graph_depends(s->graph, curve, OP_STATE);
}

static int density_init(struct smoother *s)
{
    const struct spec *spec = s->model->spec;
    size_t n = spec->observations;
    if (!n) return 0;
    node *output = NEW(node, 2 * n);
    if (!output) return GSV_NO_MEMORY;
    node z = state_of_unit(s), y = leaf_of(s);
    for (size_t i = 0; i < n; i++) {
        node over_z = log_density(s, &spec->obs[i]);
        output[2 * i] = graph_substitute(s->graph, over_z, z);
        output[2 * i + 1] = graph_gradient(s->graph, output[2 * i], y);
        s->curved = s->curved || is_curved(s, output[2 * i + 1]);
    }
    int status = s->graph->failed ? GSV_NO_MEMORY
                                  : part_init(&s->density, s, 2 * n, output);
    mem_free(output);
    return status;
}

static int parts_init(struct smoother *s)
{
    const gsv_model *m = s->model;
    const struct spec *spec = m->spec;
    const node pin[2] = {stretched(s), spec->sigma};
    const node first[3] = {spec->init_mean, spec->init_deviation,
                           unit_of_state(s)};
    if (s->graph->failed || density_init(s) ||
        part_init(&s->drift, s, 1, &m->unit_drift) ||
        part_init(&s->first, s, 3, first) ||
        (m->range && part_init(&s->range, s, 1, &m->range)) ||
        (s->pinned && part_init(&s->pin, s, 2, pin)))
        return GSV_NO_MEMORY;
    return 0;
}

static int memory_init(struct smoother *s)
{
    size_t d = s->d, dd = d * d, P = SMOOTH_BLOCK;
    const struct arena_part piece[] = {{&s->state, d * P},
                                       {&s->time, P},
                                       {&s->input, s->columns * P},
                                       {&s->slope, s->inputs * P},
                                       {&s->dot, d * P},
                                       {&s->log_density, P},
                                       {&s->first_mean, d},
                                       {&s->first_cov, dd},
                                       {&s->mean, d},
                                       {&s->cov, dd},
                                       {&s->matrix, SMOOTH_MATRICES * dd},
                                       {&s->vector, SMOOTH_VECTORS * d},
                                       {&s->eigen_room, 64 * d}};
    return arena_lay(&s->arena, sizeof piece / sizeof *piece, piece);
}

int smoother_init(struct smoother *s, const gsv_model *m)
{
    const struct spec *spec = m->spec;
    *s = (struct smoother){.model = m, .d = spec->dim, .inputs = spec->inputs};
    int refused = check_points(m);
    if (!refused && m->bridged)
        refused = refuse_noise(m, "this estimator of hidden states needs one; "
                                  "the guided filter does not (--observe "
                                  "guided)");
    if (refused) return refused;
    s->columns = spec->inputs + spec->values + spec->integrals;
    for (size_t i = 0; i < s->d; i++)
        s->pinned = s->pinned || !spec->latent || !spec->latent[i];
    s->graph = graph_copy(spec->graph);
    if (s->graph && !parts_init(s) && !memory_init(s)) return 0;
    smoother_free(s);
    return GSV_NO_MEMORY;
}

void smoother_free(struct smoother *s)
{
    part_free(&s->drift);
    part_free(&s->density);
    part_free(&s->range);
    part_free(&s->pin);
    part_free(&s->first);
    arena_free(&s->arena);
    arena_free(&s->stop.arena);
    graph_free(s->graph);
    *s = (struct smoother){0};
}
