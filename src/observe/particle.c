/* SPDX-License-Identifier: MIT */
#include "observe/particle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/constant.h"
#include "base/error.h"
#include "base/halt.h"
#include "base/sobol.h"

/* A particle's place among the others. */
struct rank {
    double key;
    size_t index;
};

/* --- Setting up ----------------------------------------------------------- */

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
                                      {&p->y0, d * K},
                                      {&p->y1, d * K},
                                      {&p->y0_bar, d * K},
                                      {&p->y1_bar, d * K},
                                      {&p->log_det, K},
                                      {&p->from, d * K},
                                      {&p->z, d * K},
                                      {&p->flip, K},
                                      {&p->log_w, K},
                                      {&p->log_psi, K},
                                      {&p->log_p, K},
                                      {&p->share, K},
                                      {&p->line, K},
                                      {&p->line2, K},
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

static int particle_init(struct particle *p, const gsv_model *m,
                         const gsv_series *series, const gsv_options *o)
{
    *p = (struct particle){.model = m,
                           .options = *o,
                           .d = m->spec->dim,
                           .K = o->points ? o->points : PARTICLES};
    if (p->K < 2 || p->K > PARTICLES_MOST)
        return fail(GSV_BAD_INPUT,
                    "%zu particles: 2 to %d are possible (--support)", p->K,
                    PARTICLES_MOST);
    p->K = power_of_two(p->K);
    int status = stops_init(&p->stops, m, series);
    if (!status) status = jumps_init(&p->jumps, m, &p->stops.gaps, o->wide);
    if (!status) status = jumps_divide(m, &p->stops, o);
    if (status) return status;
    p->slots = count_slots(p);
    status = support_init(&p->support, m, &p->stops, &p->options, p->K, p->K,
                          p->K, true);
    if (!status) status = links_init(&p->links, &p->support.laws);
    if (!status) status = jumper_init(&p->jumper, &p->jumps, p->K, o->gradient);
    if (!status) status = rates_init(&p->rates, m, &p->stops, o->wide);
    if (!status) status = rater_init(&p->rater, &p->rates, p->K, o->gradient);
    return status ? status : make_memory(p);
}

static void particle_free(struct particle *p)
{
    jumper_free(&p->jumper);
    jumps_free(&p->jumps);
    rater_free(&p->rater);
    rates_free(&p->rates);
    links_free(&p->links);
    support_free(&p->support);
    stops_free(&p->stops);
    MEM_FREE(p->parent, p->next, p->rank);
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

/* --- Points --------------------------------------------------------------- */

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
                             .iteration =
                                 iteration + p->stops.stop[stop].stream,
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
    links_draw(&p->links, stop, K, p->from, p->z, p->support.u);
    support_place(&p->support, stop, stop + 1, NULL);
    memcpy(slot_x(p, stop), p->support.x, d * K * sizeof *p->x);
}

/* --- Densities ------------------------------------------------------------ */

/* Both ends of the steps that lead to a stop's particles, in y; returns their
 * length. The law of the steps is made ready. */
static double start(struct particle *p, size_t stop, struct moment *from,
                    struct moment *to)
{
    size_t K = p->K;
    const size_t *parent = slot_parent(p, stop);
    const struct stop *here = &p->stops.stop[stop];
    *from = (struct moment){here->track, here[-1].time, false};
    *to = (struct moment){here->track, here->time, true};
    for (size_t i = 0; i < p->d; i++)
        for (size_t k = 0; k < K; k++)
            p->from[i * K + k] = slot_x(p, stop - 1)[i * K + parent[k]];
    jumper_map(&p->jumper, from, K, K, p->from, p->y0, p->log_det);
    jumper_map(&p->jumper, to, K, K, slot_x(p, stop), p->y1, p->log_det);
    jumper_start(&p->jumper, from, to->time - from->time, K, K, p->y0);
    return to->time - from->time;
}

/* These steps, as rates take them. */
static struct rate_step rate_step_of(const struct particle *p, size_t stop)
{
    return (struct rate_step){.stop = stop,
                              .I = p->K,
                              .J = p->K,
                              .each = true,
                              .ld = p->K,
                              .y0 = p->y0,
                              .y1 = p->y1};
}

/* Densities of the steps that lead to a stop's particles, to log_p. */
static void run_steps(struct particle *p, size_t stop)
{
    struct moment from, to;
    start(p, stop, &from, &to);
    jumper_each(&p->jumper, p->K, p->y1, p->log_p);
    for (size_t k = 0; k < p->K; k++)
        p->log_p[k] += p->log_det[k];
    struct rate_step step = rate_step_of(p, stop);
    rater_add(&p->rater, &step, p->log_p);
}

/* Adds weight times their gradients. */
static void run_steps_vjp(struct particle *p, size_t stop, const double *weight)
{
    struct moment from, to;
    double h = start(p, stop, &from, &to);
    struct rate_step step = rate_step_of(p, stop);
    jumper_each_vjp(&p->jumper, &from, h, p->K, p->y1, weight, p->y0_bar,
                    p->y1_bar);
    rater_add_vjp(&p->rater, &step, weight, p->y0_bar, p->y1_bar);
    jumper_map_vjp(&p->jumper, &to, p->K, p->K, slot_x(p, stop), p->y1_bar,
                   weight);
    memset(p->log_det, 0, p->K * sizeof *p->log_det);
    jumper_map_vjp(&p->jumper, &from, p->K, p->K, p->from, p->y0_bar,
                   p->log_det);
}

/* --- Weights -------------------------------------------------------------- */

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

static void step_weights(struct particle *p, size_t stop)
{
    const struct support *s = &p->support;
    bool first = stop_is_first(&p->stops, stop);
    if (!first) run_steps(p, stop);
    for (size_t k = 0; k < p->K; k++) {
        double log_p = first ? 0.0 : p->log_p[k];
        p->log_w[k] += log_p + s->log_g[k] - s->log_q[k];
    }
    note(p, stop);
}

/* --- Resampling ----------------------------------------------------------- */

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
                             .iteration =
                                 iteration + p->stops.stop[stop].stream,
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
    p->resampled++;
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

/* --- Gradients ------------------------------------------------------------ */

/* One stop's, with its particles' weights in line. */
static void add_gradient(struct particle *p, size_t stop)
{
    support_recall(&p->support, stop, slot_x(p, stop));
    support_vjp(&p->support, stop, stop + 1, p->line);
    if (!stop_is_first(&p->stops, stop)) run_steps_vjp(p, stop, p->line);
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
static void gradients(struct particle *p, size_t stop)
{
    bool last = stop_is_last(&p->stops, stop);
    size_t first = p->stops.first[p->stops.stop[stop].track];
    if (!last && stop - first < PARTICLE_LAG) return;
    size_t end = stop - first < PARTICLE_LAG ? first : stop - PARTICLE_LAG;
    memcpy(p->line, p->share, p->K * sizeof *p->line);
    for (size_t n = stop;; n--) {
        if (last || n == end) add_gradient(p, n);
        if (n == end) break;
        step_back(p, n);
    }
}

/* --- Runs ----------------------------------------------------------------- */

static void clear(struct particle *p, double *gradient)
{
    const struct jumps *j = &p->jumps;
    memset(p->log_w, 0, p->K * sizeof *p->log_w);
    p->log_z = p->before = 0.0;
    p->resampled = 0;
    for (size_t k = 0; k < p->K; k++)
        p->next[k] = k;
    if (!gradient) return;
    memset(gradient, 0, p->model->spec->parameters * sizeof *gradient);
    memset(p->jumper.drift_bar, 0,
           program_uniforms(j->drift) * sizeof *p->jumper.drift_bar);
    memset(p->jumper.map_bar, 0,
           program_uniforms(j->map) * sizeof *p->jumper.map_bar);
    if (p->rates.count)
        memset(p->rater.bar, 0,
               rates_uniforms(&p->rates) * sizeof *p->rater.bar);
}

static int particle_run(struct particle *p, const double *reference,
                        uint32_t iteration, double *gradient)
{
    int status = support_prepare(&p->support, reference);
    if (!status) status = links_make(&p->links);
    if (status) return status;
    jumps_prepare(&p->jumps);
    rates_prepare(&p->rates);
    clear(p, gradient);
    for (size_t n = 0; n < p->stops.count && !halt_asked(); n++) {
        draw(p, n, iteration);
        step_weights(p, n);
        if (!isfinite(p->increment[n])) break;
        if (gradient) gradients(p, n);
        go_on(p, n, iteration);
    }
    status = halt_status();
    if (!status)
        status = stops_check(&p->stops, 0, p->stops.count, p->increment, "");
    if (status || !gradient) return status;
    jumps_gradient(&p->jumps, p->jumper.drift_bar, p->jumper.map_bar, gradient);
    rates_gradient(&p->rates, p->rater.bar, gradient);
    support_gradient(&p->support, gradient);
    return 0;
}

static int particle_fill(const struct particle *p, gsv_result *r)
{
    r->observe = GSV_OBSERVE_PARTICLE;
    r->paths = p->K;
    r->drift_evaluations = p->stops.count * p->K;
    int status =
        stops_fill(&p->stops, p->increment, p->error, p->ess, p->K, NULL, r);
    if (!status) laws_flag(&p->support.laws, false, r);
    return status;
}

/* --- The method ----------------------------------------------------------- */

ROWS_FUNCTIONS(particle)

static bool is_rough(const void *machine)
{
    return ((const struct particle *)machine)->resampled > 0;
}

const struct method METHOD_PARTICLE = {ROWS_METHOD, .name = "particle",
                                       .size = sizeof(struct particle),
                                       .rough = is_rough};
