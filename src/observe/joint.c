/* SPDX-License-Identifier: MIT */
/* One track at a time: a pass over the chunks of a track gives its weights, and
 * for a gradient a second pass uses them. A track of one chunk is not drawn
 * again. */
#include "observe/joint.h"

#include <math.h>
#include <string.h>

#include "base/constant.h"
#include "base/error.h"
#include "base/halt.h"
#include "base/khat.h"
#include "base/sobol.h"
#include "observe/jump.h"

enum { MOST_PAIRS = 1 << 16 };

static bool is_variational(const struct joint *j)
{
    return j->options.observe == GSV_OBSERVE_VARIATIONAL;
}

/* --- Setting up ----------------------------------------------------------- */

static int make_memory(struct joint *j)
{
    size_t K = j->K, n = j->stops.count, d = j->model->spec->dim;
    const struct arena_part part[] = {{&j->log_w, K},
                                      {&j->w, K},
                                      {&j->balanced, K},
                                      {&j->edge, d * K},
                                      {&j->log_p, j->chunk * K},
                                      {&j->weight, j->chunk * K},
                                      {&j->point, (j->chunk + 1) * K},
                                      {&j->z, d * K},
                                      {&j->part, j->model->spec->parameters},
                                      {&j->increment, n},
                                      {&j->ess, n},
                                      {&j->khat, j->stops.gaps.series->tracks},
                                      {&j->tail, khat_room(K)}};
    return arena_lay(&j->arena, sizeof part / sizeof *part, part);
}

static size_t choose_chunk(const struct joint *j)
{
    size_t most = stops_longest(&j->stops), n = MOST_PAIRS / j->K;
    if (!n) n = 1;
    return n < most ? n : most;
}

/* Bridges against lna are so good that one for each pair is enough: what it
 * misses the mean over tracks takes away. A linear drift's densities are exact
 * in one step, unless it changes in time, and their gradients in two:
 * references are constants under differentiation, and the middle of the only
 * step depends on its ends alone. Where it changes in time, sums in the middles
 * of the steps still leave nothing to draw. */
static int pair_options(const gsv_model *m, const gsv_options *o,
                        gsv_options *pairs)
{
    gsv_options p = *o;
    bool linear, exact;
    int status = jumps_are_exact(m, &linear, &exact);
    if (status) return status;
    p.paths = 1;
    if (!p.steps) p.steps = 8;
    p.tolerance = 0.0;
    p.joint = p.richardson = p.delta = false;
    if (p.reference == GSV_REFERENCE_AUTO) p.reference = GSV_REFERENCE_LNA;
    if (linear && p.form == GSV_FORM_AUTO) p.form = GSV_FORM_MIDPOINT;
    if (exact) {
        p.steps = o->gradient ? 2 : 1;
        p.step = 0.0;
        p.reference = GSV_REFERENCE_LINEAR;
        p.form = GSV_FORM_AUTO;
    }
    *pairs = p;
    return 0;
}

int joint_init(struct joint *j, const gsv_model *m, const gsv_series *series,
               const gsv_options *o)
{
    *j = (struct joint){.model = m, .K = o->points ? o->points : JOINT_POINTS};
    if (j->K < 2 || j->K > JOINT_MOST)
        return fail(GSV_BAD_INPUT,
                    "%zu draws of a track: between 2 and %d are possible "
                    "(--support)",
                    j->K, JOINT_MOST);
    if (m->spec->integrals)
        return fail(GSV_BAD_INPUT,
                    "a poisson_process is not for draws of whole tracks; use "
                    "--observe guided or scan");
    int status = pair_options(m, o, &j->options);
    if (!status) status = stops_init(&j->stops, m, series);
    if (status) return status;
    j->chunk = choose_chunk(j);
    status = support_init(&j->support, m, &j->stops, &j->options, j->K, j->K,
                          (j->chunk + 1) * j->K, true);
    if (!status)
        status = estimate_init_pairs(&j->pairs,
                                     &(struct task){.model = m,
                                                    .series = series,
                                                    .options = &j->options,
                                                    .by_group = true},
                                     j->chunk * j->K, j->stops.longest);
    if (!status)
        status = is_variational(j) ? variational_init(j) : conjugate_init(j);
    return status ? status : make_memory(j);
}

void joint_free(struct joint *j)
{
    estimate_free(&j->pairs);
    conjugate_free(j);
    variational_free(j);
    support_free(&j->support);
    stops_free(&j->stops);
    arena_free(&j->arena);
    *j = (struct joint){0};
}

/* --- Points --------------------------------------------------------------- */

/* A track is one point of a Sobol' sequence, whose coordinates go to its stops:
 * points of one sequence for every stop would be paired in the same order. */
size_t joint_normals(struct joint *j, size_t stop)
{
    const struct stop *here = &j->stops.stop[stop];
    size_t n = j->support.d - laws_exact(&j->support.laws, stop);
    size_t row = (stop - j->stops.first[here->track]) * j->support.d;
    struct random_key key = {.seed = j->options.seed,
                             .purpose = RANDOM_SUPPORT,
                             .iteration = j->iteration + here->stream,
                             .item = here->track};
    if (j->options.random == GSV_RANDOM_IID)
        random_normals(&key, row, n, 0, j->K, j->z);
    else sobol_normals(&key, row, n, 0, j->K, j->z);
    return n;
}

void joint_log_normal(struct joint *j, size_t n, double log_root, size_t at)
{
    double *log_q = j->support.log_q + at;
    for (size_t k = 0; k < j->K; k++)
        log_q[k] = -log_root - 0.5 * (double)n * LOG_TWO_PI;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < j->K; k++)
            log_q[k] -= 0.5 * j->z[i * j->K + k] * j->z[i * j->K + k];
}

void joint_add(struct joint *j, size_t stop, const double *L, size_t n,
               size_t at, size_t P)
{
    for (size_t i = 0, row = 0; i < j->support.d; i++) {
        double *u = j->support.u + i * P + at;
        if (!isnan(laws_state(&j->support.laws, stop, i))) continue;
        for (size_t c = 0; c < n; c++)
            for (size_t k = 0; k < j->K; k++)
                u[k] += L[row * n + c] * j->z[c * j->K + k];
        row++;
    }
}

/* The points of a chunk. Those of the stop before it were drawn with the chunk
 * before. */
static void draw(struct joint *j)
{
    size_t K = j->K, d = j->support.d, P = (j->end - j->low) * K;
    double *u = j->support.u;
    for (size_t i = 0; j->low < j->first && i < d; i++)
        memcpy(u + i * P, j->edge + i * K, K * sizeof *u);
    for (size_t k = 0; k < K; k++)
        j->support.log_q[k] = 0.0;
    for (size_t n = j->first; n < j->end; n++) {
        size_t at = (n - j->low) * K;
        if (is_variational(j)) variational_draw(j, n, at, P);
        else conjugate_draw(j, n, at, P);
    }
    for (size_t i = 0; i < d; i++)
        memcpy(j->edge + i * K, u + (i + 1) * P - K, K * sizeof *u);
    support_place(&j->support, j->low, j->end,
                  is_variational(j) ? NULL : j->conjugate.is_conjugate);
}

/* --- Pairs ---------------------------------------------------------------- */

/* Densities between neighbouring points of the chunk's draws to log_p; or, with
 * their weights given, the gradient to part. */
static int run_pairs(struct joint *j, bool gradient)
{
    size_t K = j->K, count = 0;
    bool wanted = j->options.gradient;
    for (size_t n = j->low + 1; n < j->end; n++)
        for (size_t k = 0; k < K; k++, count++) {
            const struct stop *here = &j->stops.stop[n];
            j->pairs.run.gaps.gap[count] =
                (struct gap){.track = here->track,
                             .from = (n - j->low - 1) * K + k,
                             .to = (n - j->low) * K + k,
                             .number = n * K + k,
                             .start = here[-1].time,
                             .length = here->time - here[-1].time,
                             .end = here->time};
        }
    int status = run_select_pairs(&j->pairs.run, count, (j->end - j->low) * K,
                                  j->support.x);
    if (gradient)
        memset(j->part, 0, j->model->spec->parameters * sizeof(double));
    if (status || !count) return status;
    j->options.gradient = gradient;
    j->pairs.run.weight = gradient ? j->weight : NULL;
    status = run_groups(&j->pairs.run, j->iteration);
    j->options.gradient = wanted;
    if (status) return status;
    if (gradient) return run_gradient(&j->pairs.run, j->part);
    for (size_t i = 0; i < count; i++) {
        double l = group_result(&j->pairs.run, i).loglik;
        j->log_p[i] = isnan(l) ? -INFINITY : l;
    }
    return 0;
}

/* Points and densities of the stops [first, end) of one track. */
static int load(struct joint *j, size_t first, size_t end)
{
    if (j->first == first && j->end == end) return 0;
    j->first = first;
    j->end = end;
    j->low = stop_is_first(&j->stops, first) ? first : first - 1;
    draw(j);
    int status = run_pairs(j, false);
    if (status) j->end = 0;
    return status;
}

/* --- Weights -------------------------------------------------------------- */

/* log mean exp of log weights; and, unless NULL, their effective number. */
static double log_mean(size_t K, const double *log_w, double *ess)
{
    double most = -INFINITY, sum = 0.0, squares = 0.0;
    for (size_t k = 0; k < K; k++)
        most = fmax(most, log_w[k]);
    for (size_t k = 0; most > -INFINITY && k < K; k++) {
        double w = exp(log_w[k] - most);
        sum += w;
        squares += w * w;
    }
    if (ess) *ess = squares > 0.0 ? sum * sum / squares : 0.0;
    return most + log(sum / (double)K);
}

/* Of the stops so far. Draws that look ahead are uneven until what they have
 * seen has been weighed, too: that is not held against them. */
static void note_sum(struct joint *j, size_t stop, size_t at)
{
    memcpy(j->balanced, j->log_w, j->K * sizeof *j->log_w);
    if (is_variational(j))
        variational_ahead(j, stop, at, (j->end - j->low) * j->K, j->balanced);
    log_mean(j->K, j->balanced, &j->ess[stop]);
    j->increment[stop] = log_mean(j->K, j->log_w, NULL);
}

static void add_chunk(struct joint *j)
{
    size_t K = j->K;
    for (size_t n = j->first; n < j->end; n++) {
        size_t at = (n - j->low) * K;
        bool start = stop_is_first(&j->stops, n);
        for (size_t k = 0; k < K; k++) {
            double more = j->support.log_g[at + k] - j->support.log_q[at + k];
            j->log_w[k] =
                start ? more : j->log_w[k] + more + j->log_p[at - K + k];
        }
        note_sum(j, n, at);
    }
}

static size_t end_of_chunk(const struct joint *j, size_t first, size_t end)
{
    return end - first < j->chunk ? end : first + j->chunk;
}

/* --- One track ------------------------------------------------------------ */

/* A track's weights, stop by stop; at last those of the whole. */
static int weigh_track(struct joint *j, size_t first, size_t end)
{
    int status = 0;
    for (size_t at = first; !status && at < end;) {
        size_t next = end_of_chunk(j, at, end);
        status = load(j, at, next);
        if (!status) add_chunk(j);
        at = next;
    }
    if (!status)
        status = stops_check(&j->stops, first, end, j->increment,
                             ", or use --observe scan");
    if (status) return status;
    double total = j->increment[end - 1] + log((double)j->K);
    for (size_t k = 0; k < j->K; k++)
        j->w[k] = exp(j->log_w[k] - total);
    j->khat[j->stops.stop[first].track] = khat(j->K, j->log_w, j->tail);
    for (size_t n = end - 1; n > first; n--)
        j->increment[n] -= j->increment[n - 1];
    return 0;
}

static int add_gradient(struct joint *j, double *gradient)
{
    size_t K = j->K;
    for (size_t n = j->low; n < j->end; n++)
        for (size_t k = 0; k < K; k++) {
            j->point[(n - j->low) * K + k] = n < j->first ? 0.0 : j->w[k];
            if (n > j->low) j->weight[(n - j->low - 1) * K + k] = j->w[k];
        }
    support_vjp(&j->support, j->low, j->end, j->point);
    int status = run_pairs(j, true);
    for (size_t i = 0; !status && i < j->model->spec->parameters; i++)
        gradient[i] += j->part[i];
    return status;
}

/* With the weights known: the gradient, and what they say of q. */
static int use_track(struct joint *j, size_t first, size_t end, bool note,
                     double *gradient)
{
    int status = 0;
    if (note) variational_temper(j);
    for (size_t at = first; !status && at < end;) {
        size_t next = end_of_chunk(j, at, end);
        status = load(j, at, next);
        for (size_t n = at; !status && note && n < next; n++)
            variational_note(j, n, (n - j->low) * j->K,
                             (j->end - j->low) * j->K);
        if (!status) status = add_gradient(j, gradient);
        at = next;
    }
    return status;
}

int joint_run(struct joint *j, const double *reference, uint32_t iteration,
              double *gradient)
{
    const struct stops *s = &j->stops;
    bool note = is_variational(j) && gradient && !reference;
    j->iteration = iteration;
    j->end = 0;
    int status = support_prepare(&j->support, reference);
    if (!status)
        status =
            is_variational(j)
                ? variational_prepare(j, iteration)
                : conjugate_prepare(j, reference ? reference : j->model->value);
    if (status) return status;
    run_set_values(&j->pairs.run, reference);
    if (gradient)
        memset(gradient, 0, j->model->spec->parameters * sizeof *gradient);
    for (size_t r = 0; !status && r < s->gaps.series->tracks; r++) {
        if (s->first[r] == s->first[r + 1]) continue;
        if (halt_asked()) return halt_status();
        status = weigh_track(j, s->first[r], s->first[r + 1]);
        if (!status && gradient)
            status = use_track(j, s->first[r], s->first[r + 1], note, gradient);
    }
    j->variational.noted = !status && note;
    if (!status && gradient) support_gradient(&j->support, gradient);
    return status;
}

/* --- The result ----------------------------------------------------------- */

/* Of a log mean of K weights, by the delta method: Sobol' points are better. */
static double variance_of(const struct joint *j, size_t stop)
{
    double K = (double)j->K;
    return fmax(0.0, (K / j->ess[stop] - 1.0) / (K - 1.0));
}

/* Of a row, with what the stops since the row before it add. */
static gsv_gap gap_of(const struct joint *j, size_t n)
{
    const struct stop *stop = &j->stops.stop[n];
    gsv_gap g = {.track = stop->track,
                 .from = stop->row,
                 .to = stop->row,
                 .loglik = j->increment[n],
                 .error = sqrt(variance_of(j, n)),
                 .ess = j->ess[n],
                 .khat = NAN,
                 .discretisation = NAN,
                 .reference = j->options.reference,
                 .form = j->options.form};
    for (size_t k = n; !stop_is_first(&j->stops, k); k--) {
        g.from = j->stops.stop[k - 1].row;
        if (g.from != NO_ROW) break;
        g.loglik += j->increment[k - 1];
    }
    if (g.from == NO_ROW) g.from = stop->row;
    if (g.ess < fmax(10.0, 0.1 * (double)j->K)) g.flags |= GSV_FLAG_ESS;
    return g;
}

/* The weights of a whole track have a tail, and the result's error is theirs.
 */
static void add_track(const struct joint *j, size_t last, gsv_gap *g,
                      gsv_result *r)
{
    double v = variance_of(j, last), K = (double)j->K;
    g->khat = j->khat[g->track];
    if (g->khat > khat_threshold(j->K) && g->ess < 0.8 * K)
        g->flags |= GSV_FLAG_KHAT;
    if (!(r->khat_max >= g->khat)) r->khat_max = g->khat;
    r->error = sqrt(r->error * r->error + v);
    r->log_bias -= 0.5 * v;
}

/* The last stop of a track is a row. */
int joint_fill(const struct joint *j, gsv_result *r)
{
    size_t rows = stops_rows(&j->stops);
    gsv_gap *to = r->gap = NEW(gsv_gap, rows);
    r->observe = j->options.observe;
    r->groups = r->gaps = rows;
    if (!r->gap) return GSV_NO_MEMORY;
    r->ess_min = INFINITY;
    r->khat_max = r->discretisation = NAN;
    for (size_t i = 0; i < j->stops.count; i++) {
        const struct stop *stop = &j->stops.stop[i];
        if (!stop_is_first(&j->stops, i)) {
            struct gap gap = {.length = stop->time - stop[-1].time};
            r->drift_evaluations += j->K * plan_steps(&j->pairs.plan, &gap);
        }
        if (stop->row == NO_ROW) continue;
        *to = gap_of(j, i);
        if (stop_is_last(&j->stops, i)) add_track(j, i, to, r);
        r->flagged += to->flags != 0;
        r->loglik += to->loglik;
        r->ess_min = fmin(r->ess_min, to->ess);
        to++;
    }
    laws_flag(&j->support.laws, false, r);
    r->paths = j->K;
    r->steps = j->pairs.plan.longest;
    return 0;
}

/* --- The methods ---------------------------------------------------------- */

ROWS_FUNCTIONS(joint)

const struct method METHOD_CONJUGATE = {ROWS_METHOD, .name = "conjugate",
                                        .shares = true,
                                        .size = sizeof(struct joint)};
const struct method METHOD_VARIATIONAL = {ROWS_METHOD, .name = "variational",
                                          .shares = true,
                                          .size = sizeof(struct joint)};
