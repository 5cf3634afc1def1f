/* SPDX-License-Identifier: MIT */
#include "learn/weight_prior.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/gemm.h"
#include "base/lanes.h"
#include "base/linalg.h"
#include "base/memory.h"
#include "slope/slope.h"

/* More rows than this, and the prior hardly matters; and no more memory than
 * this for all rows. */
enum { MOST_ROWS = 1600 };
static const double MOST_BYTES = 3e8;

/* Of many data; and where it is estimated, which begins with the lowest: a
 * network that has not yet learned to bend looks like evidence for a straight
 * line. A noise varies by factors, and a drift that is not explained must not
 * be taken for noise: with a precision of 1, one gap far from all others had
 * nine times its noise. */
static const double USUAL = 1.0, NOISE = 4.0, LOWEST = 0.1, HIGHEST = 1e4;

/* Of a weight, whose precision is estimated or is not. */
static double least(const struct learner *l, size_t i, bool estimated)
{
    size_t p = spec_param_at(l->m->spec, l->value[i]);
    bool noise = l->m->noise_param[p] && !l->m->drift_param[p];
    return noise ? NOISE : estimated ? LOWEST : USUAL;
}

struct evidence_rows {
    struct learner *l;
    struct slopes slopes;
    gsv_options options;
    size_t gaps, rows, weights;
    size_t nets;   /* groups of weights: the networks        */
    size_t *place; /* (weights) in theta                     */
    size_t *value; /* (weights) in the model's values        */
    size_t *first; /* (nets + 1) weights of a network        */
    float *J;      /* (rows, weights)                        */
    float *K;      /* (nets, rows, rows): J_g J_g'           */
    double *M;     /* (rows, rows)                           */
    float *pack;   /* (threads, ...) for products            */
};

static size_t count_weights(const struct learner *l)
{
    size_t n = 0;
    for (size_t i = 0; i < l->n; i++)
        n += learner_is_penalised(l, i);
    return n;
}

/* Rows of a gap: those of the drift, and one of a noise with networks. */
static size_t rows_each(const struct learner *l)
{
    return l->m->spec->dim + (noise_has_networks(l->m) ? 1 : 0);
}

static size_t count_rows(const struct learner *l)
{
    return l->gaps * rows_each(l);
}

bool weight_prior_is_used(const struct learner *l)
{
    double rows = (double)count_rows(l), weights = (double)count_weights(l);
    return l->aim[0] == GSV_OBJECTIVE_SLOPES && l->o->decay < 0.0 &&
           weights > 0.0 && rows <= MOST_ROWS &&
           rows * weights * sizeof(float) <= MOST_BYTES;
}

/* Whether parameters p and q belong to the same network: its declared name
 * goes up to the dot. */
static bool same_net(const struct spec *s, size_t p, size_t q)
{
    const char *a = s->param[p].name, *b = s->param[q].name;
    size_t n = strcspn(a, ".[");
    return n == strcspn(b, ".[") && !strncmp(a, b, n);
}

/* Whether no matrix of the same network comes after p. */
static bool is_last_layer(const struct spec *s, size_t p)
{
    size_t q = p + 1;
    while (q < s->params && !(s->param[q].fan_in && s->param[q].rank == 2))
        q++;
    return q == s->params || !same_net(s, p, q);
}

static size_t param_of(const struct evidence_rows *e, size_t weight)
{
    return spec_param_at(e->l->m->spec, e->value[weight]);
}

static void list_weights(struct evidence_rows *e)
{
    const struct learner *l = e->l;
    const struct spec *s = l->m->spec;
    size_t n = 0;
    for (size_t i = 0; i < l->n; i++) {
        if (!learner_is_penalised(l, i)) continue;
        if (!n ||
            !same_net(s, param_of(e, n - 1), spec_param_at(s, l->value[i])))
            e->first[e->nets++] = n;
        e->place[n] = i;
        e->value[n++] = l->value[i];
    }
    e->first[e->nets] = n;
}

/* most: gaps of one run. */
static int rows_init(struct evidence_rows *e, struct learner *l, size_t most)
{
    *e = (struct evidence_rows){.l = l,
                                .options = l->stage[0],
                                .gaps = l->split.trains,
                                .rows = l->split.trains * rows_each(l),
                                .weights = count_weights(l)};
    size_t n = e->rows, threads = lanes_threads(e->options.threads);
    e->options.gradient = true;
    e->place = NEW(size_t, e->weights);
    e->value = NEW(size_t, e->weights);
    e->first = NEW(size_t, e->weights + 1);
    if (!e->place || !e->value || !e->first) return GSV_NO_MEMORY;
    list_weights(e);
    e->J = NEW(float, n * e->weights);
    e->K = NEW(float, e->nets *n *n);
    e->M = NEW(double, n *n);
    e->pack = NEW(float, threads *gemm_room(e->weights));
    if (!e->J || !e->K || !e->M || !e->pack) return GSV_NO_MEMORY;
    const struct task task = {
        .model = l->m, .series = l->s, .options = &e->options, .most = most};
    return slopes_init(&e->slopes, &task);
}

static void rows_free(struct evidence_rows *e)
{
    slopes_free(&e->slopes);
    MEM_FREE(e->place, e->value, e->first, e->J, e->K, e->M, e->pack);
}

/* --- Where it begins ------------------------------------------------------ */

/* The numbers that are drawn for this restart. A model that was fitted before
 * has forgotten them. */
static void draw_centre(struct learner *l)
{
    if (!l->refit || l->now.restart > 0.0) {
        memcpy(l->centre, l->theta, l->n * sizeof *l->centre);
        return;
    }
    gsv_model_draw(l->m, l->o->estimator.seed);
    gsv_theta_get(l->m, l->centre);
    gsv_theta_set(l->m, l->theta);
}

void weight_prior_begin(struct learner *l)
{
    const struct spec *s = l->m->spec;
    bool used = learner_by_batches(l) && weight_prior_is_used(l);
    bool moved = used && (!l->refit || l->now.restart > 0.0);
    if (used) draw_centre(l);
    for (size_t i = 0; i < l->n; i++) {
        bool penalised = learner_is_penalised(l, i);
        double given = penalised ? l->o->decay : 0.0;
        l->penalty[i] = given < 0.0 ? least(l, i, used) : given;
        if (!used || !penalised ||
            is_last_layer(s, spec_param_at(s, l->value[i])))
            l->centre[i] = 0.0;
        if (moved && penalised) l->theta[i] = l->centre[i];
    }
}

/* --- Rows and their products ---------------------------------------------- */

static void find_rows(void *context, size_t lane, size_t thread)
{
    struct evidence_rows *e = context;
    size_t each = rows_each(e->l);
    slopes_rows(&e->slopes, thread, e->l->split.train[lane], each, e->weights,
                e->value, e->J + lane * each * e->weights);
}

enum { STRIP = 32 };

static void multiply_rows(void *context, size_t lane, size_t thread)
{
    struct evidence_rows *e = context;
    size_t n = e->rows, first = lane * STRIP;
    size_t end = first + STRIP < n ? first + STRIP : n;
    float *pack = e->pack + thread * gemm_room(e->weights);
    for (size_t g = 0; g < e->nets; g++) {
        const float *J = e->J + e->first[g];
        gemm(first, end, e->first[g + 1] - e->first[g], n, 1.0f,
             (struct matrix){J, e->weights, false},
             (struct matrix){J, e->weights, true}, 0.0f, e->K + g * n * n, n,
             pack);
    }
}

static int find_products(struct evidence_rows *e)
{
    const struct lanes_job rows = {e, find_rows, NULL};
    const struct lanes_job products = {e, multiply_rows, NULL};
    size_t threads = e->slopes.threads;
    /* program_finish() writes to what all threads would share. */
    int status = lanes_run(e->gaps, 1, &rows);
    return status
               ? status
               : lanes_run((e->rows + STRIP - 1) / STRIP, threads, &products);
}

/* --- Precisions ----------------------------------------------------------- */

/* M^-1 to e->M; false where that is not possible. */
static bool invert(struct evidence_rows *e, const double *precision)
{
    size_t n = e->rows;
    memset(e->M, 0, n * n * sizeof *e->M);
    for (size_t i = 0; i < n; i++)
        e->M[i * (n + 1)] = 1.0;
    for (size_t g = 0; g < e->nets; g++)
        for (size_t i = 0; i < n * n; i++)
            e->M[i] += (double)e->K[g * n * n + i] / precision[g];
    if (!linalg_cholesky(n, e->M)) return false;
    linalg_cholesky_inverse(n, e->M);
    return all_finite(n * n, e->M);
}

static double determined(const struct evidence_rows *e, size_t g,
                         double precision)
{
    size_t n = e->rows;
    double sum = 0.0;
    for (size_t i = 0; i < n * n; i++)
        sum += e->M[i] * (double)e->K[g * n * n + i];
    return sum / precision;
}

static double weight_squares(const struct evidence_rows *e, size_t g,
                             const double *theta)
{
    double sum = 0.0;
    for (size_t i = e->first[g]; i < e->first[g + 1]; i++)
        sum += pow(theta[e->place[i]] - e->l->centre[e->place[i]], 2.0);
    return sum;
}

/* One step of the fixed point. */
static void find_precisions(struct evidence_rows *e, const double *theta,
                            double *precision)
{
    if (!invert(e, precision)) return;
    for (size_t g = 0; g < e->nets; g++) {
        double gamma = determined(e, g, precision[g]);
        double squares = fmax(weight_squares(e, g, theta), 1e-300);
        double low = least(e->l, e->place[e->first[g]], true);
        precision[g] = fmin(fmax(gamma / squares, low), HIGHEST);
    }
}

int weight_prior_update(struct learner *l, const double *theta)
{
    struct evidence_rows e;
    double *precision = NULL;
    gsv_theta_set(l->m, theta);
    int status = rows_init(&e, l, 1);
    struct score score;
    if (!status)
        status = slopes_run(&e.slopes, 1, l->split.train, NULL, &score);
    if (!status) status = find_products(&e);
    if (!status) precision = NEW(double, e.nets);
    if (!status && !precision) status = GSV_NO_MEMORY;
    for (size_t g = 0; !status && g < e.nets; g++)
        precision[g] = l->penalty[e.place[e.first[g]]];
    if (!status) find_precisions(&e, theta, precision);
    for (size_t g = 0; !status && g < e.nets; g++)
        for (size_t i = e.first[g]; i < e.first[g + 1]; i++)
            l->penalty[e.place[i]] = precision[g];
    mem_free(precision);
    rows_free(&e);
    return status == GSV_NUMERICAL ? 0 : status;
}

/* --- With many data ------------------------------------------------------- */

bool weight_prior_rises(const struct learner *l)
{
    return l->aim[0] == GSV_OBJECTIVE_SLOPES && l->o->decay < 0.0 &&
           l->split.helds > 1 && count_weights(l) && !weight_prior_is_used(l);
}

void weight_prior_raise(struct learner *l)
{
    for (size_t i = 0; i < l->n; i++)
        l->penalty[i] = fmin(2.0 * l->penalty[i], HIGHEST);
}

/* --- How well networks are known ------------------------------------------ */

static bool is_drift(const struct evidence_rows *e, size_t g)
{
    return e->l->m->drift_param[param_of(e, e->first[g])];
}

/* The mean over gaps of what the first stage maximises. */
static int mean_at(struct evidence_rows *e, const double *theta, double *mean)
{
    struct score score;
    gsv_theta_set(e->l->m, theta);
    int status =
        slopes_run(&e->slopes, e->gaps, e->l->split.train, NULL, &score);
    *mean = status ? NAN : score.mean;
    return status;
}

/* Over networks of the drift without the weights of their last layers. */
static int find_gain(struct evidence_rows *e, const double *theta, double *gain)
{
    double with, without, *constant = NEW(double, e->l->n);
    if (!constant) return GSV_NO_MEMORY;
    memcpy(constant, theta, e->l->n * sizeof *constant);
    for (size_t g = 0; g < e->nets; g++) {
        size_t end = e->first[g + 1];
        for (size_t i = e->first[g]; is_drift(e, g) && i < end; i++)
            if (is_last_layer(e->l->m->spec, param_of(e, i)))
                constant[e->place[i]] = 0.0;
    }
    int status = mean_at(e, constant, &without);
    if (!status) status = mean_at(e, theta, &with);
    if (!status) *gain = (double)e->gaps * (with - without);
    mem_free(constant);
    return status;
}

static void find_doubt(struct evidence_rows *e, double gain,
                       struct weight_doubt *doubt)
{
    double *precision = NEW(double, e->nets);
    for (size_t g = 0; precision && g < e->nets; g++)
        precision[g] = e->l->penalty[e->place[e->first[g]]];
    bool found = precision && invert(e, precision);
    for (size_t g = 0; found && g < e->nets; g++) {
        if (!is_drift(e, g)) continue;
        doubt->weights += e->first[g + 1] - e->first[g];
        doubt->determined += determined(e, g, precision[g]);
    }
    mem_free(precision);
    double left = 2.0 * gain - doubt->determined;
    if (doubt->weights)
        doubt->error = left > 0.0 ? doubt->determined / left : INFINITY;
}

int weight_prior_doubt(struct learner *l, const double *theta,
                       struct weight_doubt *doubt)
{
    struct evidence_rows e;
    double gain;
    *doubt = (struct weight_doubt){.error = NAN};
    if (!weight_prior_is_used(l)) return 0;
    int status = rows_init(&e, l, l->split.trains);
    if (!status) status = find_gain(&e, theta, &gain);
    if (!status) status = find_products(&e);
    if (!status) find_doubt(&e, gain, doubt);
    rows_free(&e);
    gsv_theta_set(l->m, theta);
    return status == GSV_NUMERICAL || status == GSV_STOPPED ? 0 : status;
}
