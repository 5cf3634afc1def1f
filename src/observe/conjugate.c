/* SPDX-License-Identifier: MIT */
/* Densities conjugate to the noise, stop by stop. With h an obs's linked mean,
 * which is to be an affine function of the states, h = h0 + H (x - x0):
 *
 *     normal       h the mean. All normal obs of a stop together are a normal
 *                  density of the states, of precision sum H'H / s^2;
 *     poisson      h the logarithm of the rate, whose law is Gamma(n + 1);
 *     binomial,    h the logarithms of the odds against the last kind; the
 *     multinomial  law of the probabilities is Dirichlet(k + 1).
 *
 * Densities g / q are then constant in the states, in the rate and in the
 * probabilities: the laws are those after a flat prior in these. A stop where
 * obs are none of these, their links not affine, or where they leave a state
 * undetermined (cells are missing, or no obs sees it), is drawn from the law
 * that the linearised smoother gives the state there. Whatever was found of
 * links, q is the density of what is drawn, so that the estimate is unbiased.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/gamma.h"
#include "base/linalg.h"
#include "base/sampler.h"
#include "lang/law.h"
#include "observe/joint.h"

/* Links are evaluated in the middle of a stop's law, and on both sides. */
enum { PROBES = 3, CENTRE = 1 };

static const struct obs_spec *obs_of(const struct joint *j, size_t k)
{
    return &j->model->spec->obs[k];
}

static enum law_link link_of(const struct obs_spec *o)
{
    return o->zero ? LINK_NONE : LAW_TABLE[o->law].link;
}

static bool is_count(const struct obs_spec *o)
{
    return link_of(o) != LINK_NONE && link_of(o) != LINK_MEAN;
}

/* The number of linked means of an obs; 0 where its law has no link. */
static size_t rows_of(const struct obs_spec *o)
{
    if (link_of(o) == LINK_SHARES) return o->values - 1;
    return link_of(o) == LINK_NONE ? 0 : 1;
}

/* --- Programs ------------------------------------------------------------- */

static node log_node(struct graph *g, node a)
{
    return graph_unary(g, OP_LOG, a);
}

static node linked_mean(struct graph *g, const struct obs_spec *o, size_t row)
{
    node a = o->argument[0];
    if (link_of(o) == LINK_MEAN) return a;
    if (link_of(o) == LINK_LOG) return log_node(g, a);
    if (link_of(o) == LINK_ODDS) {
        a = o->argument[1];
        node rest = graph_binary(g, OP_SUB, graph_number(g, 1.0), a);
        return graph_binary(g, OP_SUB, log_node(g, a), log_node(g, rest));
    }
    node last = graph_slice(g, a, o->values - 1, 1, 1);
    a = graph_slice(g, a, row, 1, 1);
    return graph_binary(g, OP_SUB, log_node(g, a), log_node(g, last));
}

static void list_outputs(struct joint *j, struct graph *g, node *output)
{
    const struct spec *spec = j->model->spec;
    const size_t *row = j->conjugate.row;
    size_t rows = row[spec->observations];
    node leaf = graph_leaf(g, OP_STATE, 0, spec->dim, 1);
    for (size_t k = 0; k < spec->observations; k++) {
        const struct obs_spec *o = obs_of(j, k);
        node s = link_of(o) == LINK_MEAN   ? o->argument[1]
                 : link_of(o) == LINK_ODDS ? o->argument[0]
                                           : graph_number(g, 1.0);
        output[2 * rows + k] = graph_substitute(g, s, spec->state_of_data);
        for (size_t i = row[k]; i < row[k + 1]; i++) {
            node h = linked_mean(g, o, i - row[k]);
            output[i] = graph_substitute(g, h, spec->state_of_data);
            output[rows + i] = graph_gradient(g, output[i], leaf);
        }
    }
}

static int make_program(struct joint *j)
{
    struct conjugate *c = &j->conjugate;
    const struct spec *spec = j->model->spec;
    size_t n = 2 * c->row[spec->observations] + spec->observations;
    node *output = NEW(node, n);
    c->graph = graph_copy(spec->graph);
    if (c->graph && output) {
        list_outputs(j, c->graph, output);
        if (!c->graph->failed)
            c->link = program_new(c->graph, n, output, spec->parameters,
                                  j->options.wide);
    }
    mem_free(output);
    if (!c->link || uniforms_init(&c->uniforms, c->link) ||
        workspace_init(&c->space, c->link, PROBES, false, false))
        return GSV_NO_MEMORY;
    return 0;
}

int conjugate_init(struct joint *j)
{
    struct conjugate *c = &j->conjugate;
    const struct spec *spec = j->model->spec;
    size_t n = j->stops.count, d = spec->dim;
    const struct arena_part part[] = {{&c->mean, n * d},
                                      {&c->map, n * d * d},
                                      {&c->log_map, n},
                                      {&c->trials, n * spec->observations},
                                      {&c->room, 5 * d * d}};
    c->row = NEW(size_t, spec->observations + 1);
    c->normal = NEW(size_t, n);
    c->is_conjugate = NEW(bool, n);
    c->state = NEW(size_t, d);
    c->pivot = NEW(int, d);
    if (!c->row || !c->normal || !c->is_conjugate || !c->state || !c->pivot ||
        arena_lay(&c->arena, sizeof part / sizeof *part, part))
        return GSV_NO_MEMORY;
    for (size_t k = 0; k < spec->observations; k++)
        c->row[k + 1] = c->row[k] + rows_of(obs_of(j, k));
    return make_program(j);
}

void conjugate_free(struct joint *j)
{
    struct conjugate *c = &j->conjugate;
    workspace_free(&c->space);
    uniforms_free(&c->uniforms);
    program_free(c->link);
    if (c->graph) graph_free(c->graph);
    MEM_FREE(c->row, c->normal, c->is_conjugate, c->state, c->pivot);
    arena_free(&c->arena);
}

/* --- Links at a stop ------------------------------------------------------ */

/* Output i of the link, element e, in the centre. */
static double link_value(const struct joint *j, size_t i, size_t e)
{
    const struct conjugate *c = &j->conjugate;
    return program_output(c->link, &c->space, PROBES, i)[e * PROBES + CENTRE];
}

static size_t rows_in_all(const struct joint *j)
{
    return j->conjugate.row[j->model->spec->observations];
}

static double slope_of(const struct joint *j, size_t row, size_t state)
{
    return link_value(j, rows_in_all(j) + row, state);
}

/* Whether n numbers of an output are the same at all probes. */
static bool is_constant(const struct joint *j, size_t output, size_t n)
{
    const double *v =
        program_output(j->conjugate.link, &j->conjugate.space, PROBES, output);
    for (size_t i = 0; i < n; i++) {
        const double *of = v + i * PROBES;
        double size = 1e-9 * fabs(of[CENTRE]);
        for (size_t p = 0; p < PROBES; p++)
            if (!(fabs(of[p] - of[CENTRE]) <= size)) return false;
    }
    return true;
}

static bool is_affine(const struct joint *j, size_t obs)
{
    const size_t *row = j->conjugate.row;
    size_t rows = rows_in_all(j);
    if (row[obs] == row[obs + 1]) return false;
    for (size_t i = row[obs]; i < row[obs + 1]; i++)
        if (!isfinite(link_value(j, i, 0)) ||
            !is_constant(j, rows + i, j->support.d))
            return false;
    return is_constant(j, 2 * rows + obs, 1);
}

static bool sees(const struct joint *j, size_t obs, size_t state)
{
    const size_t *row = j->conjugate.row;
    for (size_t i = row[obs]; i < row[obs + 1]; i++)
        if (slope_of(j, i, state) != 0.0) return true;
    return false;
}

/* --- The laws ------------------------------------------------------------- */

/* The states that are not exact and that this obs alone sees, to state; or,
 * with all obs (k their number), those that no count sees. Returns their
 * number. */
static size_t states_of(struct joint *j, size_t stop, size_t obs)
{
    const struct spec *spec = j->model->spec;
    size_t n = 0, all = spec->observations;
    for (size_t i = 0; i < spec->dim; i++) {
        bool others = false;
        if (!isnan(laws_state(&j->support.laws, stop, i))) continue;
        for (size_t k = 0; k < all; k++)
            if (k != obs && support_observed(&j->support, stop, k) &&
                (obs < all || is_count(obs_of(j, k))) && sees(j, k, i))
                others = true;
        if (!others && (obs == all || sees(j, obs, i)))
            j->conjugate.state[n++] = i;
    }
    return n;
}

/* Places a block (n, n) of the map, of the states in c->state, at the columns
 * from column on. The map's rows are the states that are not exact. */
static void put(struct joint *j, size_t stop, size_t n, const double *block,
                size_t column)
{
    const struct laws *l = &j->support.laws;
    struct conjugate *c = &j->conjugate;
    size_t d = l->d, latent = d - laws_exact(l, stop);
    double *map = c->map + stop * d * d;
    for (size_t r = 0; r < n; r++) {
        size_t place = 0;
        for (size_t i = 0; i < c->state[r]; i++)
            if (isnan(laws_state(l, stop, i))) place++;
        for (size_t e = 0; e < n; e++)
            map[place * latent + column + e] = block[r * n + e];
    }
}

/* All normal obs: precision A = L L', so that map = L'^-1. */
static bool make_normal(struct joint *j, size_t stop, size_t n)
{
    struct conjugate *c = &j->conjugate;
    const struct spec *spec = j->model->spec;
    size_t d = spec->dim, rows = rows_in_all(j);
    double *A = c->room, *b = A + d * d, *M = b + d * d;
    memset(A, 0, 3 * d * d * sizeof *A);
    for (size_t k = 0; k < spec->observations; k++) {
        const struct obs_spec *o = obs_of(j, k);
        if (link_of(o) != LINK_MEAN || !support_observed(&j->support, stop, k))
            continue;
        double s = link_value(j, 2 * rows + k, 0);
        double y =
            gaps_value(&j->stops.gaps, o->value, j->stops.stop[stop].row);
        for (size_t a = 0; a < n; a++) {
            double h = slope_of(j, c->row[k], c->state[a]) / (s * s);
            b[a] += h * (y - link_value(j, c->row[k], 0));
            for (size_t e = 0; e < n; e++)
                A[a * n + e] += h * slope_of(j, c->row[k], c->state[e]);
        }
    }
    for (size_t a = 0; a < n; a++)
        M[a * n + a] = A[a * n + a];
    if (!linalg_cholesky(n, A)) return false;
    for (size_t a = 0; a < n; a++) {
        double L = A[a * n + a];
        if (!(L * L > 1e-10 * M[a * n + a])) return false;
        M[a * n + a] = 1.0;
        c->log_map[stop] -= log(L);
    }
    linalg_lower_solve(n, n, A, true, M);
    linalg_lower_solve(n, 1, A, false, b);
    linalg_lower_solve(n, 1, A, true, b);
    for (size_t a = 0; a < n; a++)
        c->mean[stop * d + c->state[a]] += b[a];
    put(j, stop, n, M, 0);
    return true;
}

/* A count: x = x0 + H^-1 (h - h0). */
static bool make_count(struct joint *j, size_t stop, size_t obs, size_t column)
{
    struct conjugate *c = &j->conjugate;
    size_t d = j->support.d, first = c->row[obs], n = c->row[obs + 1] - first;
    double *H = c->room, *M = H + d * d;
    for (size_t r = 0; r < n; r++)
        for (size_t e = 0; e < n; e++) {
            H[r * n + e] = slope_of(j, first + r, c->state[e]);
            M[r * n + e] = r == e;
        }
    if (!linalg_lu(n, H, c->pivot)) return false;
    linalg_lu_solve(n, n, H, c->pivot, false, M);
    c->log_map[stop] -= linalg_lu_logdet(n, H);
    for (size_t r = 0; r < n; r++)
        for (size_t e = 0; e < n; e++)
            c->mean[stop * d + c->state[r]] -=
                M[r * n + e] * link_value(j, first + e, 0);
    put(j, stop, n, M, column);
    return true;
}

/* Whether q is conjugate at a stop, with all that it takes. */
static bool make_stop(struct joint *j, size_t stop)
{
    struct conjugate *c = &j->conjugate;
    const struct spec *spec = j->model->spec;
    size_t latent = spec->dim - laws_exact(&j->support.laws, stop);
    for (size_t k = 0; k < spec->observations; k++)
        if (support_observed(&j->support, stop, k) && !is_affine(j, k))
            return false;
    size_t n = states_of(j, stop, spec->observations), column = n;
    if (!latent || (n && !make_normal(j, stop, n))) return false;
    c->normal[stop] = n;
    for (size_t k = 0; k < spec->observations; k++) {
        if (!is_count(obs_of(j, k)) || !support_observed(&j->support, stop, k))
            continue;
        n = states_of(j, stop, k);
        if (n != c->row[k + 1] - c->row[k] || !make_count(j, stop, k, column))
            return false;
        column += n;
    }
    return column == latent;
}

int conjugate_prepare(struct joint *j, const double *values)
{
    struct conjugate *c = &j->conjugate;
    size_t d = j->support.d, all = j->model->spec->observations;
    program_prepare(c->link, values, &c->uniforms);
    for (size_t n = 0; n < j->stops.count; n++) {
        struct points in = support_probe(&j->support, n, PROBES);
        program_forward(c->link, &c->uniforms, &c->space, &in);
        for (size_t i = 0; i < d; i++)
            c->mean[n * d + i] = in.state[i * PROBES + CENTRE];
        memset(c->map + n * d * d, 0, d * d * sizeof *c->map);
        c->log_map[n] = 0.0;
        for (size_t k = 0; k < all; k++)
            c->trials[n * all + k] = link_value(j, 2 * rows_in_all(j) + k, 0);
        c->is_conjugate[n] = make_stop(j, n);
    }
    return 0;
}

/* --- Points --------------------------------------------------------------- */

/* Of a binomial the second kind are the trials that missed. */
static double count_of(const struct joint *j, size_t stop, size_t obs, size_t i)
{
    const struct obs_spec *o = obs_of(j, obs);
    const struct gaps *gaps = &j->stops.gaps;
    size_t row = j->stops.stop[stop].row;
    if (link_of(o) != LINK_ODDS) return gaps_value(gaps, o->value + i, row);
    double hits = gaps_value(gaps, o->value, row);
    size_t at = stop * j->model->spec->observations + obs;
    return i ? fmax(0.0, j->conjugate.trials[at] - hits) : hits;
}

/* Gamma laws, one for each kind, give Dirichlet's: the logarithms of their odds
 * against the last kind to z, row by row; their density to log_q. */
static void draw_count(struct joint *j, size_t stop, size_t obs, size_t row,
                       size_t at)
{
    const struct obs_spec *o = obs_of(j, obs);
    struct random_key key = {.seed = j->options.seed,
                             .purpose = RANDOM_SUPPORT,
                             .iteration =
                                 j->iteration + j->stops.stop[stop].stream,
                             .item = (((uint64_t)obs + 1) << 40) + stop};
    size_t K = j->K, n = j->conjugate.row[obs + 1] - j->conjugate.row[obs];
    bool rate = link_of(o) == LINK_LOG;
    for (size_t k = 0; k < K; k++) {
        struct sampler s;
        double sum = 0.0, shapes = 0.0, *log_q = &j->support.log_q[at + k];
        double last = 0.0;
        sampler_start(&s, &key, k);
        for (size_t i = 0; i < n + !rate; i++) {
            double a = 1.0 + count_of(j, stop, obs, i);
            double v = sampler_gamma(&s, a);
            sum += v;
            shapes += a;
            *log_q += a * log(v) - log_gamma(a);
            if (i < n) j->z[(row + i) * K + k] = log(v);
            else last = log(v);
        }
        *log_q += rate ? -sum : log_gamma(shapes) - shapes * log(sum);
        for (size_t i = 0; i < n; i++)
            j->z[(row + i) * K + k] -= last;
    }
}

void conjugate_draw(struct joint *j, size_t stop, size_t at, size_t P)
{
    const struct conjugate *c = &j->conjugate;
    const struct spec *spec = j->model->spec;
    size_t d = spec->dim, n = joint_normals(j, stop);
    bool usual = c->is_conjugate[stop];
    const double *mean = usual ? c->mean : j->support.laws.mean;
    const double *map = usual ? c->map : j->support.root;
    for (size_t i = 0; i < d; i++)
        for (size_t k = 0; k < j->K; k++)
            j->support.u[i * P + at + k] = mean[stop * d + i];
    size_t row = usual ? c->normal[stop] : n;
    joint_log_normal(j, row,
                     usual ? c->log_map[stop] : j->support.log_root[stop], at);
    for (size_t k = 0; usual && k < spec->observations; k++)
        if (is_count(obs_of(j, k)) && support_observed(&j->support, stop, k)) {
            draw_count(j, stop, k, row, at);
            row += c->row[k + 1] - c->row[k];
        }
    joint_add(j, stop, map + stop * d * d, n, at, P);
}
