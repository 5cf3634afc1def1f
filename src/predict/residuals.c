/* SPDX-License-Identifier: MIT */
/* Residuals one row ahead: where a row stands in the law of that row given all
 * before it. By simulation from the law of the states at the row before, or,
 * where drift is linear, noise additive, and states are observed or all laws of
 * observations are normal, in closed form. A rank among N draws is uniform
 * where the row is one more draw, whatever N is. */
#include <math.h>
#include <string.h>

#include "base/comm.h"
#include "base/error.h"
#include "base/lanes.h"
#include "base/linear.h"
#include "base/random.h"
#include "base/sample_stats.h"
#include "data/series.h"
#include "observe/jump.h"
#include "predict/ljung_box.h"
#include "predict/predict.h"
#include "predict/subjects.h"

/* --- The law in closed form ----------------------------------------------- */

/* Of a row given the one before, without time and inputs. */
struct linear_law {
    bool is; /* whether the model has this law */
    const gsv_model *model;
    size_t d;
    double gap;    /* of Phi, Gamma and Q */
    double *A, *b; /* unit drift          */
    double *S, *s; /* x = S y + s         */
    double *Phi, *Gamma, *Q;
    double *half, *scratch; /* (2, d, d), more     */
    double *y, *mean;       /* (d)                 */
    struct arena arena;
};

static int is_linear(const gsv_model *m, bool *linear)
{
    const struct spec *spec = m->spec;
    const struct graph *g = spec->graph;
    bool additive =
        m->chain.next ? !m->chain.stretched : spec->noise == NOISE_ADDITIVE;
    *linear = additive && !spec->mapped && !spec_is_latent(spec) &&
              !graph_moves(g, m->unit_drift) && !graph_moves(g, m->data_state);
    return *linear ? drift_is_linear(m, linear) : 0;
}

/* What = M y + v, from its values at 0 and at the unit vectors. */
static int find_affine(const gsv_model *m, node what, double *M, double *v)
{
    size_t d = m->spec->dim, P = d + 1;
    double *y = NEW(double, d *P), *out = NEW(double, d *P);
    double *time = NEW(double, P);
    int status = y && out && time ? 0 : GSV_NO_MEMORY;
    for (size_t i = 0; !status && i < d; i++)
        y[i * P + i + 1] = 1.0;
    const struct points in = {.P = P, .state = y, .time = time};
    if (!status) status = model_evaluate(m, what, &in, true, out);
    for (size_t i = 0; !status && i < d; i++) {
        v[i] = out[i * P];
        for (size_t j = 0; j < d; j++)
            M[i * d + j] = out[i * P + j + 1] - v[i];
    }
    MEM_FREE(y, out, time);
    return status;
}

static int linear_law_init(struct linear_law *l, const gsv_model *m)
{
    size_t d = m->spec->dim;
    *l = (struct linear_law){.model = m, .d = d, .gap = NAN};
    bool linear;
    int status = is_linear(m, &linear);
    if (status || !linear) return status;
    const struct arena_part part[] = {{&l->A, d * d},
                                      {&l->b, d},
                                      {&l->S, d * d},
                                      {&l->s, d},
                                      {&l->Phi, d * d},
                                      {&l->Gamma, d * d},
                                      {&l->Q, d * d},
                                      {&l->half, 2 * d * d},
                                      {&l->scratch, linear_scratch(d)},
                                      {&l->y, d},
                                      {&l->mean, d}};
    if (arena_lay(&l->arena, sizeof part / sizeof *part, part))
        return GSV_NO_MEMORY;
    status = find_affine(m, m->unit_drift, l->A, l->b);
    if (!status) status = find_affine(m, m->data_state, l->S, l->s);
    l->is = !status;
    return status;
}

static int set_gap(struct linear_law *l, double gap)
{
    size_t d = l->d;
    if (gap == l->gap) return 0;
    l->gap = gap;
    if (linear_transition(d, gap, l->A, l->model->chain.noise, l->Phi, l->Gamma,
                          l->Q, l->half, l->half + d * d, l->scratch))
        return 0;
    return fail(GSV_NUMERICAL,
                "the law of the states after a gap of %g is not finite; check "
                "the parameters",
                gap);
}

/* Mean and deviation (d) of each state by itself, a gap after x. */
static int linear_law_at(struct linear_law *l, double gap, const double *x,
                         double *mean, double *deviation)
{
    size_t d = l->d;
    const double time = 0.0;
    const struct points in = {.P = 1, .state = x, .time = &time};
    int status = set_gap(l, gap);
    if (!status)
        status =
            model_evaluate(l->model, l->model->unit_state, &in, true, l->y);
    for (size_t i = 0; !status && i < d; i++) {
        l->mean[i] = 0.0;
        for (size_t j = 0; j < d; j++)
            l->mean[i] +=
                l->Phi[i * d + j] * l->y[j] + l->Gamma[i * d + j] * l->b[j];
    }
    for (size_t i = 0; !status && i < d; i++) {
        double variance = 0.0;
        mean[i] = l->s[i];
        for (size_t j = 0; j < d; j++) {
            mean[i] += l->S[i * d + j] * l->mean[j];
            for (size_t k = 0; k < d; k++)
                variance += l->S[i * d + j] * l->Q[j * d + k] * l->S[i * d + k];
        }
        deviation[i] = sqrt(variance);
    }
    return status;
}

/* --- All rows ------------------------------------------------------------- */

struct residuals {
    const gsv_model *model;
    const gsv_predict_options *o;
    struct gaps gaps;
    struct filter_rows rows;
    struct linear_law linear;
    struct forecast forecast;
    size_t columns, *column; /* observed ones: of a forecast                 */
    size_t batch, done;      /* rows that have their residuals               */
    size_t mine;             /* the first of the batch that is this rank's   */
    struct origin *origin;   /* (batch)                                      */
    double *at;              /* (batch) times one row ahead                  */
    double *value, *scratch; /* draws; (threads, draws)                      */
    gsv_residuals_result *out;
};

/* --- By simulation -------------------------------------------------------- */

static double uniform(const struct residuals *r, size_t row, size_t c)
{
    const struct random_key key = {
        .seed = r->o->seed, .purpose = RANDOM_RESIDUAL, .item = row};
    double v;
    random_uniforms(&key, c, 1, 0, 1, &v);
    return v;
}

static void rank_row(void *context, size_t lane, size_t thread)
{
    struct residuals *r = context;
    size_t c = lane % r->columns, i = lane / r->columns;
    size_t n = r->done + r->mine + i;
    size_t row = r->out->row[n];
    double *x = r->scratch + thread * r->forecast.o.draws;
    double actual = predict_actual(&r->gaps, r->column[c], row);
    gsv_residual *to = &r->out->column[c];
    to->u[n] = NAN;
    if (isnan(actual)) return;
    forecast_copy(&r->forecast, r->value, i, r->column[c], 0, x);
    to->u[n] = sample_rank(r->forecast.o.draws, x, actual, uniform(r, row, c));
}

/* Of n rows every rank has some that follow each other, and now all of them. */
static void gather(struct residuals *r, size_t n)
{
    gsv_ranks *ranks = r->o->ranks;
    size_t count = gsv_ranks_count(ranks);
    for (size_t c = 0; count > 1 && c < r->columns; c++) {
        for (size_t i = 0; i <= count; i++)
            ranks->first[i] = lanes_first(i, count, n);
        comm_gather(ranks, sizeof(double), r->out->column[c].u + r->done);
    }
}

static int run_batch(struct residuals *r, size_t n)
{
    size_t rank = gsv_ranks_rank(r->o->ranks);
    size_t count = gsv_ranks_count(r->o->ranks);
    int status = 0;
    if (!n) return 0;
    r->mine = lanes_first(rank, count, n);
    size_t own = lanes_first(rank + 1, count, n) - r->mine;
    if (own)
        status = forecast_run(&r->forecast, own, r->origin + r->mine, r->value);
    status = comm_same(r->o->ranks, status);
    if (status) return status;
    struct lanes_job job = {.context = r, .work = rank_row};
    lanes_run(own * r->columns, r->forecast.threads, &job);
    status = comm_stop(r->o->ranks);
    if (status) return status;
    gather(r, n);
    r->done += n;
    return 0;
}

/* Laws come in the order of rows; the last row of a track has none ahead. */
static int visit(void *user, size_t n, const struct state_law *law)
{
    struct residuals *r = user;
    const struct filter_rows *f = &r->rows;
    size_t taken = 0;
    int status = 0;
    for (size_t i = 0; !status && i < n; i++) {
        struct origin *o = &r->origin[taken];
        if (f->row[f->first[law[i].track + 1] - 1] == law[i].row) continue;
        r->at[taken] = r->gaps.series->time[r->out->row[r->done + taken]];
        *o = (struct origin){.from = law[i],
                             .times = 1,
                             .at = &r->at[taken],
                             .number = law[i].row};
        if (++taken < r->batch) continue;
        status = run_batch(r, taken);
        taken = 0;
    }
    return status ? status : run_batch(r, taken);
}

static int simulate(struct residuals *r)
{
    gsv_options e = predict_estimator(r->o);
    size_t draws = r->out->draws = predict_draws(r->o, r->out->rows);
    struct forecast_options f = predict_forecast(r->o, draws);
    int status = forecast_init(&r->forecast, r->model, r->gaps.series, &f, 1);
    if (!status) {
        size_t size = forecast_size(&r->forecast);
        r->batch = size < PREDICT_ROOM ? PREDICT_ROOM / size : 1;
        if (r->batch > 256) r->batch = 256;
        r->origin = NEW(struct origin, r->batch);
        r->at = NEW(double, r->batch);
        r->value = NEW(double, r->batch *size);
        r->scratch = NEW(double, r->forecast.threads *draws);
        if (!r->origin || !r->at || !r->value || !r->scratch)
            status = GSV_NO_MEMORY;
    }
    if (!status)
        status = filter_run(r->model, r->gaps.series, &e,
                            &(struct filter_visitor){r, visit});
    forecast_free(&r->forecast);
    MEM_FREE(r->origin, r->at, r->value, r->scratch);
    return status;
}

/* --- In closed form ------------------------------------------------------- */

static int solve(struct residuals *r)
{
    const gsv_series *s = r->gaps.series;
    const struct filter_rows *f = &r->rows;
    size_t d = r->model->spec->dim, n = 0;
    double *x = NEW(double, 3 * d);
    int status = x ? 0 : GSV_NO_MEMORY;
    for (size_t track = 0; !status && track < s->tracks; track++)
        for (size_t k = f->first[track] + 1; !status && k < f->first[track + 1];
             k++, n++) {
            for (size_t i = 0; i < d; i++)
                x[i] = gaps_state(&r->gaps, i, f->row[k - 1]);
            status = linear_law_at(&r->linear,
                                   s->time[f->row[k]] - s->time[f->row[k - 1]],
                                   x, x + d, x + 2 * d);
            for (size_t i = 0; !status && i < d; i++)
                r->out->column[i].u[n] = normal_probability(
                    (gaps_state(&r->gaps, i, f->row[k]) - x[d + i]) /
                    x[2 * d + i]);
        }
    mem_free(x);
    return status;
}

/* Where all laws are normal, from the estimator. */
static void see_row(void *user, size_t row, const double *mean,
                    const double *sd)
{
    struct residuals *r = user;
    if (r->done == r->out->rows || r->out->row[r->done] != row) return;
    for (size_t c = 0; c < r->columns; c++) {
        size_t k = r->column[c];
        double actual = predict_actual(&r->gaps, k, row);
        r->out->column[c].u[r->done] =
            isnan(actual) ? NAN
                          : normal_probability((actual - mean[k]) / sd[k]);
    }
    r->done++;
}

static int look_ahead(struct residuals *r, const struct method *method,
                      const gsv_options *o)
{
    const struct task task = {.model = r->model,
                              .series = r->gaps.series,
                              .options = o,
                              .given_effects = true};
    return method->ahead(&task, &(struct ahead_visitor){r, see_row});
}

/* Of latent states. */
static int ask_estimator(struct residuals *r)
{
    gsv_options e = predict_estimator(r->o);
    const struct method *method = filter_method(r->model, &e);
    return method->ahead ? look_ahead(r, method, &e) : simulate(r);
}

/* --- What they say -------------------------------------------------------- */

static int describe(const gsv_residuals_result *out, gsv_residual *c,
                    struct ljung_box *test, double *x)
{
    size_t n = 0;
    for (size_t i = 0; i < out->rows; i++) {
        c->z[i] = isnan(c->u[i]) ? NAN : normal_score(c->u[i]);
        if (!isnan(c->u[i])) x[n++] = c->z[i];
    }
    c->rows = n;
    c->mean = n ? sample_mean(n, x) : NAN;
    c->sd = n > 1 ? sample_deviation(n, x) : NAN;
    n = 0;
    for (size_t i = 0; i < out->rows; i++)
        if (!isnan(c->u[i])) x[n++] = c->u[i];
    sample_sort(n, x);
    c->distance = n ? uniform_distance(n, x) : NAN;
    c->uniform_p = n ? uniform_p_value(n, c->distance) : NAN;
    if (!ljung_box_fits(test, c->z)) {
        ljung_box_free(test);
        int status = ljung_box_init(test, out->rows, out->track, c->z);
        if (status) return status;
    }
    c->ljung_p = ljung_box_test(test, c->z, false, c->correlation);
    c->square_p = ljung_box_test(test, c->z, true, c->square);
    return 0;
}

/* --- The whole ------------------------------------------------------------ */

/* Columns that the data have. */
static int make_columns(struct residuals *r)
{
    const struct spec *spec = r->model->spec;
    size_t all = predict_columns(spec, NULL, NULL);
    const char **name = NEW(const char *, all);
    r->column = NEW(size_t, all);
    r->out->column = NEW(gsv_residual, all);
    int status = name && r->column && r->out->column ? 0 : GSV_NO_MEMORY;
    if (!status) predict_columns(spec, r->column, name);
    for (size_t c = 0; !status && c < all; c++) {
        if (r->column[c] < spec->dim && spec->latent[r->column[c]]) continue;
        gsv_residual *to = &r->out->column[r->columns];
        r->column[r->columns++] = r->column[c];
        to->name = name[c];
        to->u = NEW(double, r->out->rows);
        to->z = NEW(double, r->out->rows);
        r->out->columns = r->columns;
        if (!to->u || !to->z) status = GSV_NO_MEMORY;
    }
    mem_free(name);
    return status;
}

static int make_rows(struct residuals *r)
{
    gsv_residuals_result *out = r->out;
    const struct filter_rows *f = &r->rows;
    out->track = NEW(size_t, f->count);
    out->row = NEW(size_t, f->count);
    if (!out->track || !out->row) return GSV_NO_MEMORY;
    for (size_t track = 0; track < r->gaps.series->tracks; track++)
        for (size_t k = f->first[track] + 1; k < f->first[track + 1]; k++) {
            out->track[out->rows] = track;
            out->row[out->rows++] = f->row[k];
        }
    if (out->rows) return 0;
    return fail(GSV_BAD_INPUT,
                "%s: no series has two rows, so nothing comes after another",
                r->gaps.series->source);
}

static int describe_all(gsv_residuals_result *out)
{
    struct ljung_box test = {0};
    double *x = NEW(double, out->rows);
    int status = x ? 0 : GSV_NO_MEMORY;
    for (size_t c = 0; !status && c < out->columns; c++)
        status = describe(out, &out->column[c], &test, x);
    ljung_box_free(&test);
    mem_free(x);
    return status;
}

/* u of all rows, without what they say. */
static int find_all(const gsv_model *m, const gsv_series *s,
                    const gsv_predict_options *o, gsv_residuals_result *out)
{
    struct residuals r = {.model = m, .o = o, .out = out};
    int status = gaps_find(&r.gaps, m, s);
    if (!status) status = filter_rows_init(&r.rows, &r.gaps);
    if (!status) status = make_rows(&r);
    if (!status) status = make_columns(&r);
    if (!status) status = linear_law_init(&r.linear, m);
    if (!status) status = r.linear.is ? solve(&r) : ask_estimator(&r);
    arena_free(&r.linear.arena);
    filter_rows_free(&r.rows);
    gaps_free(&r.gaps);
    mem_free(r.column);
    return status;
}

/* --- With random effects -------------------------------------------------- */

/* Rows of one track after those before it. */
static int append(gsv_residuals_result *out, const gsv_residuals_result *one,
                  size_t track, size_t first)
{
    size_t old = out->rows, n = old + one->rows;
    if (!out->column) {
        out->column = NEW(gsv_residual, one->columns);
        if (!out->column) return GSV_NO_MEMORY;
        out->columns = one->columns;
        for (size_t c = 0; c < one->columns; c++)
            out->column[c].name = one->column[c].name;
    }
    size_t *place[] = {mem_grow(out->track, old, n, sizeof *out->track), NULL};
    if (place[0]) out->track = place[0];
    place[1] = mem_grow(out->row, old, n, sizeof *out->row);
    if (place[1]) out->row = place[1];
    if (!place[0] || !place[1]) return GSV_NO_MEMORY;
    for (size_t i = 0; i < one->rows; i++) {
        out->track[old + i] = track;
        out->row[old + i] = first + one->row[i];
    }
    for (size_t c = 0; c < out->columns; c++) {
        gsv_residual *to = &out->column[c];
        double *u = mem_grow(to->u, old, n, sizeof *u);
        if (u) to->u = u;
        double *z = mem_grow(to->z, old, n, sizeof *z);
        if (z) to->z = z;
        if (!u || !z) return GSV_NO_MEMORY;
        memcpy(u + old, one->column[c].u, one->rows * sizeof *u);
    }
    out->rows = n;
    out->draws = one->draws;
    return 0;
}

struct joined {
    const gsv_predict_options *o;
    gsv_residuals_result *out;
};

/* A track at its effects; one without two rows has no residual. */
static int add_track(void *user, const struct known_subject *k)
{
    const struct joined *j = user;
    gsv_residuals_result one = {0};
    if (k->series->rows < 2) return 0;
    int status = find_all(k->model, k->series, j->o, &one);
    if (!status) status = append(j->out, &one, k->track, k->first);
    gsv_residuals_free(&one);
    return status;
}

static int find_subjects(const gsv_model *m, const gsv_series *s,
                         const gsv_predict_options *o,
                         gsv_residuals_result *out)
{
    gsv_options e = predict_estimator(o);
    struct joined j = {o, out};
    int status = subjects_visit(m, s, &e, &j, add_track);
    if (status || out->rows) return status;
    return fail(GSV_BAD_INPUT,
                "%s: no series has two rows, so nothing comes after another",
                s->source);
}

enum gsv_status gsv_residuals(const gsv_model *m, const gsv_series *s,
                              const gsv_predict_options *o,
                              gsv_residuals_result *result)
{
    if (ANY_NULL(m, s, o, result)) return GSV_BAD_INPUT;
    gsv_residuals_result out = {0};
    gsv_predict_options own = *o;
    /* In closed form, whatever the estimate was made with. */
    if (m->linear.is) own.observe = GSV_OBSERVE_AUTO;
    int status = predict_settle(m, s, &own);
    if (!status)
        status = m->spec->effects ? find_subjects(m, s, &own, &out)
                                  : find_all(m, s, &own, &out);
    if (!status) status = describe_all(&out);
    if (status) gsv_residuals_free(&out);
    *result = out;
    return status;
}

void gsv_residuals_free(gsv_residuals_result *r)
{
    if (!r) return;
    for (size_t c = 0; r->column && c < r->columns; c++) {
        MEM_FREE(r->column[c].u, r->column[c].z);
    }
    MEM_FREE(r->column, r->track, r->row);
    *r = (gsv_residuals_result){0};
}
