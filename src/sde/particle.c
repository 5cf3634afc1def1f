/* SPDX-License-Identifier: MIT */
#include "sde/particle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/sobol.h"

static const double LOG_TWO_PI = 1.8378770664093454836;

/* A particle's place among the others. */
struct rank {
    double key;
    size_t index;
};

/* --- Setting up ------------------------------------------------------------
 */

static size_t power_of_two(size_t n)
{
    size_t K = 2;
    while (K < n)
        K *= 2;
    return K;
}

/* Stops that are kept: the lag, both ends, and the stop before. */
static size_t count_slots(const struct particle *p)
{
    size_t most = p->options.gradient ? PARTICLE_LAG + 2 : 2;
    return most < p->stops.count ? most : p->stops.count;
}

static int make_memory(struct particle *p)
{
    size_t K = p->K, d = p->d, n = p->stops.count;
    const struct arena_part part[] = {{&p->x, p->slots * d * K},
                                      {&p->ends, d * 2 * K},
                                      {&p->from, d * K},
                                      {&p->z, d * K},
                                      {&p->flip, K},
                                      {&p->log_w, K},
                                      {&p->log_psi, K},
                                      {&p->log_p, K},
                                      {&p->share, K},
                                      {&p->line, K},
                                      {&p->line2, K},
                                      {&p->weight, K},
                                      {&p->part, p->model->spec->parameters},
                                      {&p->increment, n},
                                      {&p->ess, n},
                                      {&p->error, n}};
    p->parent = NEW(size_t, p->slots * K);
    p->next = NEW(size_t, K);
    p->rank = NEW(struct rank, K);
    if (!p->parent || !p->next || !p->rank ||
        arena_lay(&p->arena, sizeof part / sizeof *part, part))
        return GSV_NO_MEMORY;
    return 0;
}

int particle_init(struct particle *p, const gsv_model *m,
                  const gsv_series *series, const gsv_options *o)
{
    *p = (struct particle){.model = m,
                           .options = scan_pair_options(m, o),
                           .d = m->spec->dim,
                           .K = o->points ? o->points : PARTICLES};
    if (p->K < 2 || p->K > PARTICLES_MOST)
        return fail(GSV_BAD_INPUT,
                    "%zu particles: 2 to %d are possible (--support)", p->K,
                    PARTICLES_MOST);
    if (m->spec->integrals)
        return fail(GSV_BAD_INPUT,
                    "the likelihood of a poisson_process is not supported "
                    "yet; counts at single times are: poisson(...)");
    p->K = power_of_two(p->K);
    int status = stops_init(&p->stops, m, series);
    if (status) return status;
    p->slots = count_slots(p);
    status =
        support_init(&p->support, m, &p->stops, &p->options, p->K, p->K, true);
    if (!status) status = links_init(&p->links, &p->support.laws);
    if (!status)
        status = estimate_init_pairs(&p->pairs, m, series, &p->options, p->K,
                                     p->stops.longest);
    return status ? status : make_memory(p);
}

void particle_free(struct particle *p)
{
    if (p->pairs.model) estimate_free(&p->pairs);
    links_free(&p->links);
    support_free(&p->support);
    stops_free(&p->stops);
    mem_free(p->parent);
    mem_free(p->next);
    mem_free(p->rank);
    arena_free(&p->arena);
}

static double *slot_x(const struct particle *p, size_t stop)
{
    return p->x + stop % p->slots * p->d * p->K;
}

static size_t *slot_parent(const struct particle *p, size_t stop)
{
    return p->parent + stop % p->slots * p->K;
}

/* --- Points ----------------------------------------------------------------
 */

/* Which of the Sobol' points particle k gets: k with digits flipped at random,
 * each as the digits above it say. Without it, points of two stops with the
 * same number would be close to each other in both or in none. Neighbours still
 * have points that are far apart: particles are in order after resampling. */
static size_t shuffled(const struct particle *p, size_t k)
{
    size_t to = 0, at = 1;
    for (size_t half = p->K / 2; half; half /= 2) {
        size_t digit = (k & half) != 0;
        to = 2 * to + (digit ^ (p->flip[at - 1] < 0.5));
        at = 2 * at + digit;
    }
    return to;
}

/* Standard normal numbers (latent, K) to z, and the log density of the states
 * that they become. Unlike those of support.c they keep their tails: what that
 * gains elsewhere was not to be seen, and linear models stay exact. */
static void draw_normals(struct particle *p, size_t stop, uint32_t iteration)
{
    size_t K = p->K, n = p->d - laws_exact(&p->support.laws, stop);
    double *log_q = p->support.log_q, *z = p->line;
    struct random_key key = {.seed = p->options.seed,
                             .purpose = RANDOM_RESAMPLE,
                             .iteration = iteration,
                             .item = stop};
    random_uniforms(&key, 1, 1, 0, K, p->flip);
    key.purpose = RANDOM_SUPPORT;
    for (size_t k = 0; k < K; k++)
        log_q[k] =
            -p->links.before.log_root[stop] - 0.5 * (double)n * LOG_TWO_PI;
    for (size_t i = 0; i < n; i++) {
        sobol_normals(&key, i, 1, 0, K, z);
        for (size_t k = 0; k < K; k++) {
            double one = z[shuffled(p, k)];
            log_q[k] -= 0.5 * one * one;
            p->z[i * K + k] = one;
        }
    }
}

/* The particles of a stop, from their parents. */
static void draw(struct particle *p, size_t stop, uint32_t iteration)
{
    size_t K = p->K, d = p->d;
    size_t *parent = slot_parent(p, stop);
    memcpy(parent, p->next, K * sizeof *parent);
    for (size_t i = 0; i < d; i++)
        for (size_t k = 0; k < K; k++)
            p->from[i * K + k] = p->support.u[i * K + parent[k]];
    draw_normals(p, stop, iteration);
    links_draw(&p->links, &p->links.before, stop, K, p->from, p->z,
               p->support.u);
    support_place(&p->support, stop, stop + 1);
    memcpy(slot_x(p, stop), p->support.x, d * K * sizeof *p->x);
}

/* --- Densities -------------------------------------------------------------
 */

/* Densities of the pairs that lead to a stop's particles, to log_p; or, with
 * the pairs' weights, their gradient, added. */
static int run_pairs(struct particle *p, size_t stop, uint32_t iteration,
                     const double *weight, double *gradient)
{
    size_t K = p->K, count = 0;
    const size_t *parent = slot_parent(p, stop);
    const struct stop *here = &p->stops.stop[stop];
    bool wanted = p->options.gradient;
    for (size_t i = 0; i < p->d; i++) {
        memcpy(p->ends + 2 * i * K, slot_x(p, stop - 1) + i * K,
               K * sizeof *p->ends);
        memcpy(p->ends + (2 * i + 1) * K, slot_x(p, stop) + i * K,
               K * sizeof *p->ends);
    }
    for (size_t k = 0; k < K; k++) {
        if (weight && !(weight[k] > 0.0)) continue;
        if (weight) p->weight[count] = weight[k];
        p->pairs.gaps.gap[count++] =
            (struct gap){.track = here->track,
                         .from = parent[k],
                         .to = K + k,
                         .number = stop * K + k,
                         .start = here[-1].time,
                         .length = here->time - here[-1].time,
                         .end = here->time};
    }
    int status = estimate_take_pairs(&p->pairs, count, 2 * K, p->ends);
    if (status || !count) return status;
    p->options.gradient = weight != NULL;
    p->pairs.weight = weight ? p->weight : NULL;
    estimate_run(&p->pairs, iteration);
    p->options.gradient = wanted;
    for (size_t k = 0; !weight && k < K; k++) {
        double l = estimate_group(&p->pairs, k).loglik;
        p->log_p[k] = isnan(l) ? -INFINITY : l;
    }
    if (!weight) return 0;
    status = estimate_gradient(&p->pairs, p->part);
    for (size_t i = 0; !status && i < p->model->spec->parameters; i++)
        gradient[i] += p->part[i];
    return status;
}

/* --- Weights ---------------------------------------------------------------
 */

/* Shares of W psi, their effective number, and what the stop adds. */
static void note(struct particle *p, size_t stop)
{
    double most = -INFINITY, sum = 0.0, squares = 0.0, K = (double)p->K;
    links_ahead(&p->links, stop, p->K, p->support.u, p->log_psi);
    for (size_t k = 0; k < p->K; k++) {
        /* A particle that weighs nothing may be anywhere. */
        if (p->log_w[k] == -INFINITY) p->log_psi[k] = 0.0;
        most = fmax(most, p->log_w[k] + p->log_psi[k]);
    }
    for (size_t k = 0; k < p->K; k++) {
        double one = exp(p->log_w[k] + p->log_psi[k] - most);
        p->share[k] = one;
        sum += one;
        squares += one * one;
    }
    for (size_t k = 0; k < p->K; k++)
        p->share[k] /= sum;
    double now = p->log_z + most + log(sum / K);
    p->increment[stop] = now - p->before;
    p->before = now;
    p->ess[stop] = sum * sum / squares;
    p->error[stop] = 0.0;
}

static int step_weights(struct particle *p, size_t stop, uint32_t iteration)
{
    const struct support *s = &p->support;
    bool first = stop_is_first(&p->stops, stop);
    int status = first ? 0 : run_pairs(p, stop, iteration, NULL, NULL);
    for (size_t k = 0; !status && k < p->K; k++) {
        double log_p = first ? 0.0 : p->log_p[k];
        p->log_w[k] += log_p + s->log_g[k] - s->log_q[k];
    }
    if (!status) note(p, stop);
    return status;
}

/* --- Resampling ------------------------------------------------------------
 */

static int compare(const void *a, const void *b)
{
    const struct rank *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return x->index < y->index ? -1 : 1;
}

/* Particles in the order of their first state that is not exact: then close
 * parameters give close ancestors. */
static void sort(struct particle *p, size_t stop)
{
    size_t state = 0;
    while (state + 1 < p->d &&
           !isnan(laws_state(&p->support.laws, stop, state)))
        state++;
    for (size_t k = 0; k < p->K; k++) {
        double u = p->support.u[state * p->K + k];
        p->rank[k] = (struct rank){isnan(u) ? INFINITY : u, k};
    }
    qsort(p->rank, p->K, sizeof *p->rank, compare);
}

/* Systematic: one offset for all. The weights' variance so far is an error of
 * Z as if they were independent: Sobol' points are better, a psi that is wrong
 * is worse. */
static void resample(struct particle *p, size_t stop, uint32_t iteration)
{
    size_t K = p->K, at = 0;
    double offset, sum = 0.0;
    struct random_key key = {.seed = p->options.seed,
                             .purpose = RANDOM_RESAMPLE,
                             .iteration = iteration,
                             .item = stop};
    random_uniforms(&key, 0, 1, 0, 1, &offset);
    sort(p, stop);
    sum = p->share[p->rank[0].index];
    for (size_t k = 0; k < K; k++) {
        double place = ((double)k + offset) / (double)K;
        while (at + 1 < K && sum < place)
            sum += p->share[p->rank[++at].index];
        p->next[k] = p->rank[at].index;
    }
    for (size_t k = 0; k < K; k++)
        p->log_w[k] = -p->log_psi[p->next[k]];
    p->log_z = p->before;
}

static void go_on(struct particle *p, size_t stop, uint32_t iteration)
{
    double K = (double)p->K;
    bool last = stop_is_last(&p->stops, stop), few = p->ess[stop] < 0.5 * K;
    if (last || few)
        p->error[stop] = sqrt(fmax(0.0, (K / p->ess[stop] - 1.0) / (K - 1.0)));
    for (size_t k = 0; k < p->K; k++)
        p->next[k] = k;
    if (few && !last) resample(p, stop, iteration);
    if (!last) return;
    memset(p->log_w, 0, p->K * sizeof *p->log_w);
    p->log_z = p->before = 0.0;
}

/* --- Gradients -------------------------------------------------------------
 */

/* One stop's, with its particles' weights in line. */
static int add_gradient(struct particle *p, size_t stop, uint32_t iteration,
                        double *gradient)
{
    support_recall(&p->support, stop, slot_x(p, stop));
    support_vjp(&p->support, stop, stop + 1, p->line);
    if (stop_is_first(&p->stops, stop)) return 0;
    return run_pairs(p, stop, iteration, p->line, gradient);
}

/* From the weights of a stop's particles to those of their parents. */
static void step_back(struct particle *p, size_t stop)
{
    const size_t *parent = slot_parent(p, stop);
    double *swap = p->line2;
    memset(p->line2, 0, p->K * sizeof *p->line2);
    for (size_t k = 0; k < p->K; k++)
        p->line2[parent[k]] += p->line[k];
    p->line2 = p->line;
    p->line = swap;
}

/* All that is ready at a stop: the one a lag before, at a track's end all. */
static int gradients(struct particle *p, size_t stop, uint32_t iteration,
                     double *gradient)
{
    bool last = stop_is_last(&p->stops, stop);
    size_t first = p->stops.first[p->stops.stop[stop].track];
    int status = 0;
    if (!last && stop - first < PARTICLE_LAG) return 0;
    size_t end = stop - first < PARTICLE_LAG ? first : stop - PARTICLE_LAG;
    memcpy(p->line, p->share, p->K * sizeof *p->line);
    for (size_t n = stop; !status; n--) {
        if (last || n == end) status = add_gradient(p, n, iteration, gradient);
        if (n == end) break;
        step_back(p, n);
    }
    return status;
}

/* --- Runs ------------------------------------------------------------------
 */

int particle_run(struct particle *p, const double *guide, uint32_t iteration,
                 double *gradient)
{
    int status = support_prepare(&p->support, guide);
    if (!status) status = links_make(&p->links);
    if (status) return status;
    estimate_prepare(&p->pairs, guide);
    if (gradient)
        memset(gradient, 0, p->model->spec->parameters * sizeof *gradient);
    memset(p->log_w, 0, p->K * sizeof *p->log_w);
    p->log_z = p->before = 0.0;
    for (size_t k = 0; k < p->K; k++)
        p->next[k] = k;
    for (size_t n = 0; !status && n < p->stops.count; n++) {
        draw(p, n, iteration);
        status = step_weights(p, n, iteration);
        if (!status && !isfinite(p->increment[n])) break;
        if (!status && gradient) status = gradients(p, n, iteration, gradient);
        if (!status) go_on(p, n, iteration);
    }
    if (!status) status = stops_check(&p->stops, p->increment);
    if (!status && gradient) support_gradient(&p->support, gradient);
    return status;
}

int particle_fill(const struct particle *p, gsv_result *r)
{
    double variance = 0.0;
    r->groups = r->gaps = p->stops.count;
    r->gap = NEW(gsv_gap, r->groups);
    if (!r->gap) return GSV_NO_MEMORY;
    r->ess_min = INFINITY;
    r->khat_max = r->discretisation = NAN;
    for (size_t n = 0; n < p->stops.count; n++) {
        const struct stop *stop = &p->stops.stop[n];
        bool first = stop_is_first(&p->stops, n);
        gsv_gap *g = &r->gap[n];
        *g = (gsv_gap){.track = stop->track,
                       .from = first ? stop->row : stop[-1].row,
                       .to = stop->row,
                       .loglik = p->increment[n],
                       .error = p->error[n],
                       .ess = p->ess[n],
                       .khat = NAN,
                       .discretisation = NAN,
                       .reference = p->options.reference,
                       .form = p->options.form};
        if (g->ess < 0.1 * (double)p->K) g->flags |= GSV_FLAG_ESS;
        r->flagged += g->flags != 0;
        r->loglik += g->loglik;
        variance += g->error * g->error;
        r->ess_min = fmin(r->ess_min, g->ess);
    }
    r->error = sqrt(variance);
    r->paths = p->K;
    r->steps = p->pairs.longest;
    return 0;
}
