/* SPDX-License-Identifier: MIT */
/* Residuals one row ahead: where a row stands in the law of that row given all
 * before it. By simulation from the law of the states at the row before, or,
 * where states are observed, drift is linear and noise additive, in closed form
 * (residuals_linear.c). A rank among N draws is uniform where the row is one
 * more draw, whatever N is. */
#include <math.h>
#include <string.h>

#include "base/comm.h"
#include "base/error.h"
#include "base/lanes.h"
#include "base/random.h"
#include "base/sample_stats.h"
#include "data/series.h"
#include "predict/ljung_box.h"
#include "predict/predict.h"
#include "predict/residuals.h"

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

/* --- By simulation -----------------------------------------------------------
 */

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
    forecast_take(&r->forecast, r->value, i, r->column[c], 0, x);
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

/* Origins come in the order of rows; the last of a track has no row ahead. */
static int visit(void *user, size_t n, struct origin *origin)
{
    struct residuals *r = user;
    const struct filter_rows *f = &r->rows;
    size_t taken = 0;
    int status = 0;
    for (size_t i = 0; !status && i < n; i++) {
        struct origin *o = &r->origin[taken];
        if (f->row[f->first[origin[i].track + 1] - 1] == origin[i].row)
            continue;
        *o = origin[i];
        r->at[taken] = r->gaps.series->time[r->out->row[r->done + taken]];
        o->at = &r->at[taken];
        o->times = 1;
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
    if (!status) status = filter_run(r->model, r->gaps.series, &e, visit, r);
    forecast_free(&r->forecast);
    mem_free(r->origin);
    mem_free(r->at);
    mem_free(r->value);
    mem_free(r->scratch);
    return status;
}

/* --- In closed form ----------------------------------------------------------
 */

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

/* --- What they say -----------------------------------------------------------
 */

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

/* --- The whole ---------------------------------------------------------------
 */

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

int gsv_residuals(const gsv_model *m, const gsv_series *s,
                  const gsv_predict_options *o, gsv_residuals_result *result)
{
    if (ANY_NULL(m, s, o, result)) return GSV_BAD_INPUT;
    gsv_residuals_result out = {0};
    struct residuals r = {.model = m, .o = o, .out = &out};
    int status = predict_check(o);
    if (!status) status = series_check(s);
    if (!status) status = gaps_find(&r.gaps, m, s);
    if (!status) status = filter_rows_init(&r.rows, &r.gaps);
    if (!status) status = make_rows(&r);
    if (!status) status = make_columns(&r);
    if (!status) status = linear_law_init(&r.linear, m);
    if (!status) status = r.linear.is ? solve(&r) : simulate(&r);
    if (!status) status = describe_all(&out);
    linear_law_free(&r.linear);
    filter_rows_free(&r.rows);
    gaps_free(&r.gaps);
    mem_free(r.column);
    if (status) gsv_residuals_free(&out);
    *result = out;
    return status;
}

void gsv_residuals_free(gsv_residuals_result *r)
{
    if (!r) return;
    for (size_t c = 0; r->column && c < r->columns; c++) {
        mem_free(r->column[c].u);
        mem_free(r->column[c].z);
    }
    mem_free(r->column);
    mem_free(r->track);
    mem_free(r->row);
    *r = (gsv_residuals_result){0};
}
