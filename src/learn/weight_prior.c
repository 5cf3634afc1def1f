/* SPDX-License-Identifier: MIT */
#include "learn/weight_prior.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/fast.h"
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

/* Of biases of last layers, which only shift what a network gives: next to
 * nothing is known of them. */
static const double FREE = 0.01;

/* Numbers of a search for precisions: steps, of which ten are usually enough;
 * their last change; and how much of gamma products of few columns may miss. */
enum { STEPS = 100 };
static const double SMALL_CHANGE = 1e-4, MISSED = 0.05;

/* Of a weight, whose precision is estimated or is not. */
static double least(const struct learner *l, size_t i, bool estimated)
{
    size_t p = spec_param_at(l->m->spec, l->value[i]);
    bool noise = l->m->noise_param[p] && !l->m->drift_param[p];
    return noise ? NOISE : estimated ? LOWEST : USUAL;
}

/* Groups are networks, and one more has the biases of all last layers. J_g J_g'
 * of group g is B_g B_g', whose columns are few where functions are smooth. */
struct evidence_rows {
    struct learner *l;
    struct slopes slopes;
    gsv_options options;
    size_t gaps, rows;
    size_t weights;    /* numbers with a penalty                   */
    size_t columns;    /* these, then the biases of last layers    */
    size_t nets;       /* networks                                 */
    size_t *place;     /* (columns) in theta                       */
    size_t *value;     /* (columns) in the model's values          */
    size_t *first;     /* (nets + 2) columns of a group            */
    size_t *rank;      /* (nets + 2) columns of B of a group       */
    double *precision; /* (nets + 1) of groups                     */
    double *gamma;     /* (nets) numbers that are determined       */
    double *squares;   /* (nets) |w_g - c_g|^2 where they are best */
    float *J;          /* (rows, columns)                          */
    double *y;         /* (rows) the residuals where w is c        */
    double *B;         /* (most, rows) columns of B, one by one    */
    double *left;      /* (rows) of the diagonal of J_g J_g'       */
    double *C, *b;     /* (most, most) B'B; (most) B'y             */
    double *A, *w;     /* the same with precisions                 */
    size_t most;
};

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

/* A bias of a network, of its last layer or of one before. */
static bool is_bias(const struct learner *l, size_t i, bool last)
{
    const struct spec *s = l->m->spec;
    size_t p = spec_param_at(s, l->value[i]);
    return s->param[p].fan_in && s->param[p].rank == 1 && !l->fixed[i] &&
           !l->prior.of[i] && is_last_layer(s, p) == last;
}

/* Whether number i of theta has a penalty that is estimated: biases bend a
 * network as much as weights do, but for those of the last layer. */
static bool is_estimated(const struct learner *l, size_t i)
{
    return learner_is_penalised(l, i) || is_bias(l, i, false);
}

static size_t count_weights(const struct learner *l)
{
    size_t n = 0;
    for (size_t i = 0; i < l->n; i++)
        n += is_estimated(l, i);
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
        if (!is_estimated(l, i)) continue;
        if (!n ||
            !same_net(s, param_of(e, n - 1), spec_param_at(s, l->value[i])))
            e->first[e->nets++] = n;
        e->place[n] = i;
        e->value[n++] = l->value[i];
    }
    e->weights = e->first[e->nets] = n;
    for (size_t i = 0; i < l->n; i++) {
        if (!is_bias(l, i, true)) continue;
        e->place[n] = i;
        e->value[n++] = l->value[i];
    }
    e->columns = e->first[e->nets + 1] = n;
}

static int lists_init(struct evidence_rows *e)
{
    size_t n = e->l->n;
    e->place = NEW(size_t, n);
    e->value = NEW(size_t, n);
    e->first = NEW(size_t, n + 2);
    if (!e->place || !e->value || !e->first) return GSV_NO_MEMORY;
    list_weights(e);
    e->rank = NEW(size_t, e->nets + 2);
    e->precision = NEW(double, e->nets + 1);
    e->gamma = NEW(double, e->nets);
    e->squares = NEW(double, e->nets);
    return e->rank && e->precision && e->gamma && e->squares ? 0
                                                             : GSV_NO_MEMORY;
}

/* most: gaps of one run. */
static int rows_init(struct evidence_rows *e, struct learner *l, size_t most)
{
    *e = (struct evidence_rows){.l = l,
                                .options = l->stage[0],
                                .gaps = l->split.trains,
                                .rows = l->split.trains * rows_each(l)};
    e->options.gradient = true;
    if (lists_init(e)) return GSV_NO_MEMORY;
    size_t n = e->rows;
    e->J = NEW(float, n * e->columns);
    e->y = NEW(double, n);
    e->left = NEW(double, n);
    if (!e->J || !e->y || !e->left) return GSV_NO_MEMORY;
    for (size_t g = 0; g < e->nets; g++)
        e->precision[g] = l->penalty[e->place[e->first[g]]];
    e->precision[e->nets] = FREE;
    const struct task task = {
        .model = l->m, .series = l->s, .options = &e->options, .most = most};
    return slopes_init(&e->slopes, &task);
}

static void rows_free(struct evidence_rows *e)
{
    slopes_free(&e->slopes);
    MEM_FREE(e->place, e->value, e->first, e->rank, e->precision, e->gamma,
             e->squares, e->J, e->y, e->left, e->B, e->C, e->b, e->A, e->w);
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
        bool penalised = used ? is_estimated(l, i) : learner_is_penalised(l, i);
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
    const struct learner *l = e->l;
    size_t each = rows_each(l), n = e->columns;
    float *J = e->J + lane * each * n;
    double *y = e->y + lane * each;
    slopes_rows(&e->slopes, thread, l->split.train[lane], each, n, e->value, J,
                y);
    for (size_t k = 0; k < each; k++)
        for (size_t w = 0; w < e->weights; w++) {
            size_t i = e->place[w];
            y[k] += (double)J[k * n + w] * (l->theta[i] - l->centre[i]);
        }
}

/* Room for one more column of B. */
static int grow(struct evidence_rows *e, size_t columns)
{
    if (columns < e->most) return 0;
    size_t most = 2 * e->most + 64;
    double *B = NEW(double, most * e->rows);
    if (!B) return GSV_NO_MEMORY;
    if (e->B) memcpy(B, e->B, e->most * e->rows * sizeof *B);
    mem_free(e->B);
    e->B = B;
    e->most = most;
    return 0;
}

/* Rows that a round looks at, and what it needs. */
enum { ROUND = 64 };

struct round {
    size_t n;          /* rows that are looked at             */
    size_t row[ROUND]; /* their numbers                       */
    float *J;          /* (ROUND, most columns) these rows    */
    float *K;          /* (rows, ROUND) their products        */
    float *room;       /* of gemm                             */
};

/* First rows spread over the data, then those of which most is left. */
static void choose_rows(const struct evidence_rows *e, bool first,
                        struct round *r)
{
    r->n = 0;
    if (first) {
        size_t most = e->rows < ROUND ? e->rows : ROUND;
        for (; r->n < most; r->n++)
            r->row[r->n] = r->n * e->rows / most;
        return;
    }
    for (size_t i = 0; i < e->rows; i++) {
        size_t at = r->n < ROUND ? r->n++ : ROUND;
        for (; at > 0 && e->left[i] > e->left[r->row[at - 1]]; at--)
            if (at < ROUND) r->row[at] = r->row[at - 1];
        if (at < ROUND) r->row[at] = i;
    }
}

/* K = J_g (rows of the round)'. */
static void multiply_rows(const struct evidence_rows *e, size_t g,
                          struct round *r)
{
    size_t from = e->first[g], W = e->first[g + 1] - from;
    for (size_t j = 0; j < r->n; j++)
        memcpy(r->J + j * W, e->J + r->row[j] * e->columns + from,
               W * sizeof *r->J);
    gemm(0, e->rows, W, r->n, 1.0f,
         (struct matrix){e->J + from, e->columns, false},
         (struct matrix){r->J, W, true}, 0.0f, r->K, ROUND, r->room);
}

/* A column of K less what B has of it, over the root of its diagonal. */
FAST static void find_column(struct evidence_rows *e, size_t g, size_t column,
                             const struct round *r, size_t j)
{
    size_t n = e->rows, p = r->row[j];
    double *to = e->B + column * n, root = 1.0 / sqrt(e->left[p]);
    for (size_t i = 0; i < n; i++)
        to[i] = (double)r->K[i * ROUND + j];
    for (size_t k = e->rank[g]; k < column; k++) {
        const double *B = e->B + k * n;
        double at = B[p];
        for (size_t i = 0; i < n; i++)
            to[i] -= at * B[i];
    }
    for (size_t i = 0; i < n; i++) {
        to[i] *= root;
        e->left[i] = fmax(e->left[i] - to[i] * to[i], 0.0);
    }
    e->left[p] = 0.0;
}

static double sum_of(size_t n, const double *x)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return sum;
}

/* More columns of B from the rows of a round. */
static int take_rows(struct evidence_rows *e, size_t g, double least,
                     const struct round *r, size_t *column)
{
    for (size_t taken = 0; taken < r->n; taken++) {
        size_t best = 0;
        for (size_t j = 1; j < r->n; j++)
            if (e->left[r->row[j]] > e->left[r->row[best]]) best = j;
        if (!(e->left[r->row[best]] > least) ||
            sum_of(e->rows, e->left) < MISSED * LOWEST)
            break;
        if (grow(e, *column)) return GSV_NO_MEMORY;
        find_column(e, g, (*column)++, r, best);
    }
    return 0;
}

/* The pivoted Cholesky factor of J_g J_g', as far as it matters and as single
 * precision has it. */
static int factorise(struct evidence_rows *e, size_t g, struct round *r)
{
    size_t n = e->rows, column = e->rank[g];
    double largest = 0.0;
    for (size_t i = 0; i < n; i++) {
        e->left[i] = 0.0;
        for (size_t w = e->first[g]; w < e->first[g + 1]; w++)
            e->left[i] += pow((double)e->J[i * e->columns + w], 2.0);
        largest = fmax(largest, e->left[i]);
    }
    for (bool first = true, more = true; more; first = false) {
        size_t before = column;
        choose_rows(e, first, r);
        multiply_rows(e, g, r);
        if (take_rows(e, g, 1e-6 * largest, r, &column)) return GSV_NO_MEMORY;
        more =
            (first || column > before) && sum_of(n, e->left) > MISSED * LOWEST;
    }
    e->rank[g + 1] = column;
    return 0;
}

static int factorise_all(struct evidence_rows *e)
{
    struct round r = {.J = NEW(float, ROUND * e->columns),
                      .K = NEW(float, e->rows *ROUND),
                      .room = NEW(float, gemm_room(e->columns))};
    int status = r.J && r.K && r.room ? 0 : GSV_NO_MEMORY;
    for (size_t g = 0; !status && g <= e->nets; g++)
        status = factorise(e, g, &r);
    MEM_FREE(r.J, r.K, r.room);
    return status;
}

/* C and b. */
static int multiply(struct evidence_rows *e)
{
    size_t R = e->rank[e->nets + 1], n = e->rows;
    e->C = NEW(double, R *R);
    e->A = NEW(double, R *R);
    e->b = NEW(double, R);
    e->w = NEW(double, R);
    if (!e->C || !e->A || !e->b || !e->w) return GSV_NO_MEMORY;
    if (!R) return 0;
    linalg_product(R, n, R, e->B, false, e->B, true, e->C);
    linalg_product(R, n, 1, e->B, false, e->y, false, e->b);
    return 0;
}

static int find_products(struct evidence_rows *e)
{
    const struct lanes_job rows = {e, find_rows, NULL};
    /* program_finish() writes to what all threads would share. */
    int status = lanes_run(e->gaps, 1, &rows);
    if (!status) status = factorise_all(e);
    return status ? status : multiply(e);
}

/* --- Precisions ----------------------------------------------------------- */

/* gamma and the squares of the most probable weights at the precisions; false
 * where that is not possible. With D the roots of 1 / precision,
 *
 *     A = 1 + D B'B D,  gamma_g = tr (1 - A^-1)_gg,  D^-1 (w - c) = A^-1 D B'y
 */
static bool solve(struct evidence_rows *e)
{
    size_t R = e->rank[e->nets + 1];
    for (size_t g = 0; g <= e->nets; g++)
        for (size_t i = e->rank[g]; i < e->rank[g + 1]; i++)
            e->w[i] = 1.0 / sqrt(e->precision[g]);
    for (size_t i = 0; i < R; i++)
        for (size_t j = 0; j < R; j++)
            e->A[i * R + j] = (i == j) + e->w[i] * e->w[j] * e->C[i * R + j];
    if (!linalg_cholesky(R, e->A)) return false;
    linalg_cholesky_inverse(R, e->A);
    if (!all_finite(R * R, e->A)) return false;
    for (size_t g = 0; g < e->nets; g++) {
        e->gamma[g] = e->squares[g] = 0.0;
        for (size_t i = e->rank[g]; i < e->rank[g + 1]; i++) {
            double sum = 0.0;
            for (size_t j = 0; j < R; j++)
                sum += e->A[i * R + j] * e->w[j] * e->b[j];
            e->gamma[g] += 1.0 - e->A[i * (R + 1)];
            e->squares[g] += sum * sum / e->precision[g];
        }
    }
    return true;
}

/* Steps of the fixed point. */
static void find_precisions(struct evidence_rows *e)
{
    for (size_t k = 0; k < STEPS; k++) {
        double change = 0.0;
        if (!solve(e)) return;
        for (size_t g = 0; g < e->nets; g++) {
            double low = least(e->l, e->place[e->first[g]], true);
            double found = e->gamma[g] / fmax(e->squares[g], 1e-300);
            found = fmin(fmax(found, low), HIGHEST);
            change = fmax(change, fabs(log(found / e->precision[g])));
            e->precision[g] = found;
        }
        if (change < SMALL_CHANGE) return;
    }
}

static bool is_drift(const struct evidence_rows *e, size_t g)
{
    return e->l->m->drift_param[param_of(e, e->first[g])];
}

static double drift_determined(const struct evidence_rows *e)
{
    double sum = 0.0;
    for (size_t g = 0; g < e->nets; g++)
        if (is_drift(e, g)) sum += e->gamma[g];
    return sum;
}

int weight_prior_update(struct learner *l)
{
    struct evidence_rows e;
    gsv_theta_set(l->m, l->theta);
    int status = rows_init(&e, l, 1);
    struct score score;
    if (!status)
        status = slopes_run(&e.slopes, 1, l->split.train, NULL, &score);
    if (!status) status = find_products(&e);
    if (!status) {
        find_precisions(&e);
        l->now.determined = drift_determined(&e);
    }
    for (size_t g = 0; !status && g < e.nets; g++)
        for (size_t i = e.first[g]; i < e.first[g + 1]; i++)
            l->penalty[e.place[i]] = e.precision[g];
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

double weight_prior_mean(const struct learner *l, bool of_drift)
{
    double sum = 0.0, n = 0.0;
    for (size_t i = 0; learner_by_batches(l) && i < l->n; i++) {
        size_t p = spec_param_at(l->m->spec, l->value[i]);
        if (!learner_is_penalised(l, i) || l->m->drift_param[p] != of_drift)
            continue;
        sum += l->penalty[i];
        n += 1.0;
    }
    return sum / n;
}

/* --- How well networks are known ------------------------------------------ */

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
    if (!solve(e)) return;
    for (size_t g = 0; g < e->nets; g++)
        if (is_drift(e, g)) doubt->weights += e->first[g + 1] - e->first[g];
    doubt->determined = drift_determined(e);
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
