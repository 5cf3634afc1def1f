/* SPDX-License-Identifier: MIT */
/* Forecasts and their scores. The filter (filter.h) gives the laws of rows in
 * batches. Origins get their times; their draws are made (forecast.h), scored
 * column by column and released: apart from the result, memory does not grow
 * with the rows. */
#include "predict/predict.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/lanes.h"
#include "base/sample_stats.h"
#include "data/series.h"
#include "data/series_join.h"

/* Times of a forecast that nothing else is said about; numbers that stand for a
 * climatological law; sets of parameters that are drawn; and how many draws of
 * all forecasts are held at most with these. */
enum { TIMES = 20, CLIMATE = 512 };
static const double MOST_STORED = 1 << 28;

static const double LEVELS[] = {0.05, 0.25, 0.5, 0.75, 0.95};
enum { LEVEL_COUNT = sizeof LEVELS / sizeof *LEVELS };

/* What one column's draws say of one time. */
struct verdict {
    bool is_observed, inside50, inside90;
    double crps, climatology;
};

struct predictor {
    const gsv_model *model;
    const gsv_series *all;
    gsv_series *cut;        /* all up to until, or NULL: all is known */
    const gsv_series *past; /* one of both                            */
    const gsv_predict_options *o;
    struct gaps gaps; /* of all                                        */
    struct filter_rows rows, end; /* of all, of what is known          */
    struct forecast forecast;
    struct ensemble ensemble; /* functions, in the order of draws      */
    size_t draws;          /* of this forecast: all, or one set's             */
    size_t *column;        /* (columns) of a forecast                        */
    size_t *first;         /* (tracks + 1) rows of the prediction            */
    size_t *target;        /* (rows of the prediction) row of the data, or   */
                           /* SIZE_MAX                                       */
    size_t times;          /* at most, from one origin                       */
    size_t batch;          /* origins of a batch                             */
    double *at;            /* (batch, times) rolling: times ahead            */
    size_t *ahead;         /* (batch, times) and rows                        */
    struct origin *origin; /* (batch)                                */
    double *value;         /* draws                                  */
    struct verdict *verdict; /* (batch, times, columns)                */
    double *scratch;         /* (threads, all draws)                   */
    double *climate;         /* (columns, CLIMATE) sorted              */
    bool *climatic;          /* (columns) whether there is any         */
    double *store;           /* (rows, columns, draws) with parameters */
    const double *given;     /* (VALUE_SETS, values) parameters, or NULL */
    size_t set;              /* which parameters                       */
    bool may_be_empty;       /* no forecast at all is fine             */
    gsv_prediction *out;
};

/* --- Times ---------------------------------------------------------------- */

static bool is_rolling(const struct predictor *p)
{
    return p->o->rolling > 0;
}

static int add_time(struct predictor *p, size_t *capacity, size_t track,
                    double time, size_t row)
{
    gsv_prediction *out = p->out;
    if (out->rows == *capacity) {
        size_t more = 2 * *capacity + 64, n = *capacity;
        size_t *t = mem_grow(out->track, n, more, sizeof *t);
        if (t) out->track = t;
        double *at = mem_grow(out->time, n, more, sizeof *at);
        if (at) out->time = at;
        size_t *to = mem_grow(p->target, n, more, sizeof *to);
        if (to) p->target = to;
        if (!t || !at || !to) return GSV_NO_MEMORY;
        *capacity = more;
    }
    out->track[out->rows] = track;
    out->time[out->rows] = time;
    p->target[out->rows++] = row;
    return 0;
}

/* The row of all data at a time after the known ones, or SIZE_MAX. */
static size_t row_at(const struct predictor *p, size_t track, double time)
{
    const gsv_series *s = p->all;
    for (size_t row = s->start[track + 1]; row-- > s->start[track];) {
        if (s->time[row] == time) return row;
        if (s->time[row] < time) break;
    }
    return SIZE_MAX;
}

static int list_track(struct predictor *p, size_t track, size_t *capacity)
{
    const gsv_predict_options *o = p->o;
    const gsv_series *s = p->all;
    double end = p->past->time[p->end.row[p->end.first[track + 1] - 1]];
    double begin = p->past->time[p->end.row[p->end.first[track]]];
    double ahead = o->ahead > 0.0 ? o->ahead : 0.1 * (end - begin);
    bool rows = !o->times && !(o->ahead > 0.0) && o->until;
    int status = 0;
    for (size_t k = 0; !status && k < o->times; k++)
        if (o->time[k] > end)
            status = add_time(p, capacity, track, o->time[k],
                              row_at(p, track, o->time[k]));
    for (size_t i = s->start[track]; rows && !status && i < s->start[track + 1];
         i++)
        if (s->time[i] > fmax(end, o->until[track]))
            status = add_time(p, capacity, track, s->time[i], i);
    for (size_t k = 1; !o->times && !rows && !status && k <= TIMES; k++) {
        double time = end + ahead * (double)k / TIMES;
        if (time > end)
            status = add_time(p, capacity, track, time, row_at(p, track, time));
    }
    return status;
}

/* All forecasts from the ends of tracks. */
static int list_times(struct predictor *p)
{
    size_t capacity = 0;
    int status = 0;
    for (size_t r = 0; !status && r < p->all->tracks; r++) {
        if (p->end.first[r] < p->end.first[r + 1])
            status = list_track(p, r, &capacity);
        p->first[r + 1] = p->out->rows;
        size_t n = p->first[r + 1] - p->first[r];
        if (n > p->times) p->times = n;
    }
    if (!status && !p->out->rows && !p->may_be_empty)
        status = fail(GSV_BAD_INPUT,
                      "%s: there is nothing to forecast: no requested time, "
                      "and no row held out, comes after the end of a series",
                      p->all->source);
    return status;
}

/* Whether an input is not known up to the last forecast. */
static bool inputs_end(const struct predictor *p)
{
    const struct spec *spec = p->model->spec;
    const gsv_series *s = p->all;
    for (size_t n = 0; n < p->out->rows; n++)
        for (size_t i = 0; i < spec->inputs; i++) {
            size_t row = s->start[p->out->track[n] + 1];
            const double *cell =
                s->value + p->gaps.column[spec->dim + i] * s->rows;
            while (row > s->start[p->out->track[n]] && isnan(cell[row - 1]))
                row--;
            if (row == s->start[p->out->track[n]] ||
                s->time[row - 1] < p->out->time[n])
                return true;
        }
    return false;
}

/* --- Yardstick ------------------------------------------------------------ */

/* The quantiles of a column's known values. */
static int set_climate(struct predictor *p, size_t c)
{
    const gsv_series *s = p->all;
    double *x = NEW(double, s->rows), *to = p->climate + c * CLIMATE;
    size_t n = 0;
    if (!x) return GSV_NO_MEMORY;
    for (size_t r = 0; r < s->tracks; r++)
        for (size_t row = s->start[r]; row < s->start[r + 1]; row++) {
            double v = predict_actual(&p->gaps, p->column[c], row);
            bool later = p->o->until && s->time[row] > p->o->until[r];
            if (!isnan(v) && !later) x[n++] = v;
        }
    sample_sort(n, x);
    p->climatic[c] = n > 0;
    for (size_t i = 0; n && i < CLIMATE; i++)
        to[i] = sample_quantile(n, x, ((double)i + 0.5) / CLIMATE);
    mem_free(x);
    return 0;
}

/* --- Scores of draws ------------------------------------------------------ */

struct score_job {
    struct predictor *p;
    size_t n; /* origins */
};

/* The scores of sorted draws for a value that may be NaN: not observed. */
static struct verdict judge(const struct predictor *p, size_t c, size_t n,
                            const double *x, double actual)
{
    struct verdict v = {.is_observed = !isnan(actual), .climatology = NAN};
    if (!v.is_observed) return v;
    v.crps = sample_crps(n, x, actual);
    if (p->climatic[c])
        v.climatology = sample_crps(CLIMATE, p->climate + c * CLIMATE, actual);
    v.inside50 = actual >= sample_quantile(n, x, 0.25) &&
                 actual <= sample_quantile(n, x, 0.75);
    v.inside90 = actual >= sample_quantile(n, x, 0.05) &&
                 actual <= sample_quantile(n, x, 0.95);
    return v;
}

/* Sorts the draws and describes them in a row of the prediction. */
static void describe(struct predictor *p, size_t c, size_t row, size_t n,
                     double *x)
{
    gsv_prediction *out = p->out;
    size_t at = c * out->rows + row;
    out->mean[at] = sample_mean(n, x);
    out->sd[at] = sample_deviation(n, x);
    sample_sort(n, x);
    for (size_t q = 0; q < out->quantiles; q++)
        out->quantile[(c * out->quantiles + q) * out->rows + row] =
            sample_quantile(n, x, out->level[q]);
}

static void score_lane(void *context, size_t lane, size_t thread)
{
    const struct score_job *l = context;
    struct predictor *p = l->p;
    size_t columns = p->out->columns, c = lane % columns;
    size_t k = lane / columns % p->times, i = lane / columns / p->times;
    const struct origin *o = &p->origin[i];
    double *x = p->scratch + thread * p->out->draws;
    struct verdict *v = &p->verdict[lane];
    *v = (struct verdict){0};
    if (k >= o->times) return;
    size_t row = p->first ? p->first[o->from.track] + k : 0;
    if (p->store) {
        forecast_copy(&p->forecast, p->value, i, p->column[c], k,
                      p->store + (row * columns + c) * p->out->draws +
                          p->set * p->draws);
        return;
    }
    forecast_copy(&p->forecast, p->value, i, p->column[c], k, x);
    if (is_rolling(p)) {
        sample_sort(p->draws, x);
        *v = judge(
            p, c, p->draws, x,
            predict_actual(&p->gaps, p->column[c], p->ahead[i * p->times + k]));
        return;
    }
    describe(p, c, row, p->draws, x);
    *v = judge(p, c, p->draws, x, p->out->actual[c * p->out->rows + row]);
}

static void add_verdict(gsv_score *s, const struct verdict *v)
{
    if (!v->is_observed) return;
    s->rows++;
    s->crps += v->crps;
    s->climatology += v->climatology;
    s->cover50 += v->inside50;
    s->cover90 += v->inside90;
}

/* Scores stand column by column, a column's by lead. */
static gsv_score *score_of(struct predictor *p, size_t c, size_t k)
{
    size_t leads = is_rolling(p) ? p->times : 1;
    return &p->out->score[c * leads + (is_rolling(p) ? k : 0)];
}

/* Sums go in the order of origins: the same bits on any number of threads. */
static int run_batch(struct predictor *p, size_t n)
{
    size_t columns = p->out->columns;
    int status = n ? forecast_run(&p->forecast, n, p->origin, p->value) : 0;
    if (status || !n) return status;
    struct score_job l = {.p = p, .n = n};
    struct lanes_job job = {.context = &l, .work = score_lane};
    status = lanes_run(n * p->times * columns, p->forecast.threads, &job);
    if (status) return status;
    for (size_t i = 0; !p->store && i < n * p->times * columns; i++)
        add_verdict(score_of(p, i % columns, i / columns % p->times),
                    &p->verdict[i]);
    return 0;
}

/* --- Origins -------------------------------------------------------------- */

/* The place of a row among the known ones of its track; all rows are listed. */
static size_t place_of(const struct filter_rows *f, size_t track, size_t row)
{
    size_t low = f->first[track], high = f->first[track + 1];
    while (low + 1 < high) {
        size_t middle = low + (high - low) / 2;
        if (f->row[middle] <= row) low = middle;
        else high = middle;
    }
    return low;
}

static bool wants_rolling(struct predictor *p, size_t i, struct origin *o)
{
    size_t place = place_of(&p->rows, o->from.track, o->from.row);
    size_t last = p->rows.first[o->from.track + 1],
           *row = p->ahead + i * p->times;
    double *at = p->at + i * p->times;
    o->at = at;
    o->times = 0;
    for (size_t k = 1; k <= p->times && place + k < last; k++) {
        row[k - 1] = p->rows.row[place + k];
        at[k - 1] = p->all->time[row[k - 1]];
        o->times++;
    }
    return o->times && (!p->o->until || at[0] > p->o->until[o->from.track]);
}

static bool wants_end(const struct predictor *p, struct origin *o)
{
    const struct filter_rows *f = &p->end;
    if (f->row[f->first[o->from.track + 1] - 1] != o->from.row) return false;
    o->at = p->out->time + p->first[o->from.track];
    o->times = p->first[o->from.track + 1] - p->first[o->from.track];
    return o->times > 0;
}

static int visit(void *user, size_t n, const struct state_law *law)
{
    struct predictor *p = user;
    size_t taken = 0;
    int status = 0;
    for (size_t i = 0; !status && i < n; i++) {
        struct origin *o = &p->origin[taken];
        *o = (struct origin){.from = law[i],
                             .number = law[i].row * VALUE_SETS + p->set};
        if (is_rolling(p) ? !wants_rolling(p, taken, o) : !wants_end(p, o))
            continue;
        if (++taken < p->batch) continue;
        status = run_batch(p, taken);
        taken = 0;
    }
    return status ? status : run_batch(p, taken);
}

static size_t round_to_blocks(size_t draws)
{
    return (draws + FUNCTIONS_BLOCK - 1) / FUNCTIONS_BLOCK * FUNCTIONS_BLOCK;
}

static int run_filter(struct predictor *p, const gsv_model *m)
{
    gsv_options e = predict_estimator(p->o);
    struct forecast_options f = predict_forecast(p->o, p->draws);
    f.ensemble = &p->ensemble;
    f.function = p->set * round_to_blocks(p->draws);
    const gsv_series *s = is_rolling(p) ? p->all : p->past;
    int status = forecast_init(&p->forecast, m, p->all, &f, p->times);
    if (!status) {
        size_t size = forecast_size(&p->forecast);
        p->batch = size < PREDICT_ROOM ? PREDICT_ROOM / size : 1;
        if (p->batch > 256) p->batch = 256;
        size_t cells = p->batch * p->times;
        p->value = NEW(double, p->batch *size);
        p->origin = NEW(struct origin, p->batch);
        p->verdict = NEW(struct verdict, cells * p->out->columns);
        p->at = NEW(double, cells);
        p->ahead = NEW(size_t, cells);
        p->scratch = NEW(double, p->forecast.threads * p->out->draws);
        if (!p->value || !p->origin || !p->verdict || !p->at || !p->ahead ||
            !p->scratch)
            status = GSV_NO_MEMORY;
    }
    if (!status)
        status = filter_run(m, s, &e, &(struct filter_visitor){p, visit});
    void *all[] = {p->value, p->origin, p->verdict,
                   p->at,    p->ahead,  p->scratch};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        mem_free(all[i]);
    p->value = p->at = p->scratch = NULL;
    p->origin = NULL;
    p->verdict = NULL;
    p->ahead = NULL;
    forecast_free(&p->forecast);
    return status;
}

/* --- Parameters that are drawn, too --------------------------------------- */

static void describe_store(struct predictor *p)
{
    gsv_prediction *out = p->out;
    for (size_t row = 0; row < out->rows; row++)
        for (size_t c = 0; c < out->columns; c++) {
            double *x = p->store + (row * out->columns + c) * out->draws;
            describe(p, c, row, out->draws, x);
            struct verdict v =
                judge(p, c, out->draws, x, out->actual[c * out->rows + row]);
            add_verdict(score_of(p, c, 0), &v);
        }
}

/* Every set of parameters has its share of the draws. */
static int run_sets(struct predictor *p)
{
    gsv_prediction *out = p->out;
    size_t n = p->model->spec->parameters;
    p->draws = (out->draws + VALUE_SETS - 1) / VALUE_SETS;
    out->draws = p->draws * VALUE_SETS;
    double size = (double)out->rows * (double)out->columns * (double)out->draws;
    if (size > MOST_STORED)
        return fail(GSV_BAD_INPUT,
                    "%zu forecasts of %zu columns with %zu draws are too many "
                    "to be held with --parameters; give fewer --draws",
                    out->rows, out->columns, out->draws);
    double *drawn =
        p->given ? NULL : predict_values(p->model, VALUE_SETS, p->o->seed);
    const double *from = p->given ? p->given : drawn;
    p->store = NEW(double, (size_t)size);
    int status = 0;
    if (!p->store) status = GSV_NO_MEMORY;
    if (!from) status = (int)gsv_last_status();
    for (p->set = 0; from && !status && p->set < VALUE_SETS; p->set++) {
        gsv_model m = *p->model;
        double *now = NEW(double, n);
        if (!now) status = GSV_NO_MEMORY;
        else memcpy(now, from + p->set * n, n * sizeof *now);
        m.value = now;
        if (!status) status = run_filter(p, &m);
        mem_free(now);
    }
    if (!status) describe_store(p);
    MEM_FREE(drawn, p->store);
    return status;
}

/* --- The whole ------------------------------------------------------------ */

static int make_columns(struct predictor *p)
{
    const struct spec *spec = p->model->spec;
    gsv_prediction *out = p->out;
    out->states = spec->dim;
    out->columns = predict_columns(spec, NULL, NULL);
    p->column = NEW(size_t, out->columns);
    out->name = NEW(const char *, out->columns);
    p->climate = NEW(double, out->columns *CLIMATE);
    p->climatic = NEW(bool, out->columns);
    if (!p->column || !out->name || !p->climate || !p->climatic)
        return GSV_NO_MEMORY;
    predict_columns(spec, p->column, out->name);
    int status = 0;
    for (size_t c = 0; !status && c < out->columns; c++)
        status = set_climate(p, c);
    return status;
}

static int make_rows(struct predictor *p)
{
    gsv_prediction *out = p->out;
    const gsv_predict_options *o = p->o;
    size_t cells = out->rows * out->columns;
    out->quantiles = o->quantiles ? o->quantiles : LEVEL_COUNT;
    out->level = NEW(double, out->quantiles);
    out->mean = NEW(double, cells);
    out->sd = NEW(double, cells);
    out->actual = NEW(double, cells);
    out->quantile = NEW(double, cells * out->quantiles);
    if (!out->level || !out->mean || !out->sd || !out->actual || !out->quantile)
        return GSV_NO_MEMORY;
    memcpy(out->level, o->quantiles ? o->quantile : LEVELS,
           out->quantiles * sizeof *out->level);
    for (size_t c = 0; c < out->columns; c++)
        for (size_t n = 0; n < out->rows; n++)
            out->actual[c * out->rows + n] =
                p->target[n] == SIZE_MAX
                    ? NAN
                    : predict_actual(&p->gaps, p->column[c], p->target[n]);
    out->held = inputs_end(p);
    return 0;
}

static int make_scores(struct predictor *p)
{
    gsv_prediction *out = p->out;
    size_t leads = is_rolling(p) ? p->times : 1;
    out->scores = out->columns * leads;
    out->score = NEW(gsv_score, out->scores);
    if (!out->score) return GSV_NO_MEMORY;
    for (size_t i = 0; i < out->scores; i++)
        out->score[i] = (gsv_score){.column = i / leads,
                                    .lead = is_rolling(p) ? i % leads + 1 : 0};
    return 0;
}

/* Sums become means; what was never seen is left out. */
static void finish_scores(gsv_prediction *out)
{
    size_t n = 0;
    for (size_t i = 0; i < out->scores; i++) {
        gsv_score s = out->score[i];
        if (!s.rows) continue;
        s.crps /= (double)s.rows;
        s.climatology /= (double)s.rows;
        s.cover50 /= (double)s.rows;
        s.cover90 /= (double)s.rows;
        out->score[n++] = s;
    }
    out->scores = n;
}

static int predictor_init(struct predictor *p)
{
    const gsv_predict_options *o = p->o;
    struct gaps known = {0};
    int status = gaps_init(&p->gaps, p->model, p->all);
    if (status) return status;
    if (o->until && !is_rolling(p)) {
        p->cut = series_until(p->all, o->until);
        if (!p->cut) return (int)gsv_last_status();
        p->past = p->cut;
    }
    status = gaps_init(&known, p->model, p->past);
    if (status) return status;
    status = filter_rows_init(&p->rows, &p->gaps);
    if (!status) status = filter_rows_init(&p->end, &known);
    gaps_free(&known);
    if (!status) status = make_columns(p);
    if (status) return status;
    if (is_rolling(p)) p->times = o->rolling;
    else {
        p->first = NEW(size_t, p->all->tracks + 1);
        status = p->first ? list_times(p) : GSV_NO_MEMORY;
        if (!status) status = make_rows(p);
    }
    return status ? status : make_scores(p);
}

/* With parameters that are drawn, too, they are still those of the estimates:
 * a set has a block of them, or more. */
static int make_functions(struct predictor *p)
{
    size_t sets = p->o->parameters || p->given ? VALUE_SETS : 1;
    size_t each = (p->draws + sets - 1) / sets;
    int status = ensemble_init(&p->ensemble, p->model, p->o->mean, p->o->seed,
                               sets * round_to_blocks(each),
                               lanes_threads(p->o->threads));
    if (status) return status;
    int filled = ensemble_fill(&p->ensemble);
    if (filled) return filled;
    p->out->functions =
        p->ensemble.rows < p->draws ? p->ensemble.rows : p->draws;
    return 0;
}

static void predictor_free(struct predictor *p)
{
    ensemble_free(&p->ensemble);
    gaps_free(&p->gaps);
    filter_rows_free(&p->rows);
    filter_rows_free(&p->end);
    gsv_series_free(p->cut);
    MEM_FREE(p->column, p->first, p->target, p->climate, p->climatic);
}

int predict_given(const gsv_model *m, const gsv_series *s,
                  const gsv_predict_options *o, const double *sets,
                  gsv_prediction *result)
{
    gsv_prediction out = {0};
    struct predictor p = {.model = m,
                          .all = s,
                          .past = s,
                          .o = o,
                          .out = &out,
                          .given = sets,
                          .may_be_empty = m->spec->effects > 0};
    int status = predictor_init(&p);
    bool none = !is_rolling(&p) && !out.rows;
    if (!status && !none) {
        size_t places = is_rolling(&p) ? p.rows.count * p.times : p.times / 32;
        p.draws = out.draws = predict_draws(o, places);
        status = make_functions(&p);
    }
    if (!status && !none)
        status = o->parameters || sets ? run_sets(&p) : run_filter(&p, m);
    if (!status) finish_scores(&out);
    predictor_free(&p);
    if (status) gsv_prediction_free(&out);
    *result = out;
    return status;
}
