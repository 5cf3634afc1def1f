/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "base/error.h"
#include "observe/observe.h"

static const double MOST_STOPS = 1e8;

/* What a stop is for. */
enum { NONE, ROW, BETWEEN };

/* The first row is where the law of the first state holds, whatever was
 * observed in it, unless the model gives a time for that; but a state that is
 * observed exactly has no such law, so that its series begins with what was
 * observed of it. Between the points of two stops the drift changes smoothly
 * and the state does not jump: a stop is wherever an input turns or an event
 * acts. */
static int purpose_of(const struct stops *s, const gsv_model *m, size_t track,
                      size_t row, bool begun)
{
    const struct spec *spec = m->spec;
    if (gaps_are_observed(&s->gaps, row) ||
        gaps_lead_to_events(&s->gaps, track, row))
        return ROW;
    if (!begun) return spec_latent(spec) == spec->dim ? BETWEEN : NONE;
    bool changes = s->has_changes && gaps_input_changes(&s->gaps, track, row);
    return changes || gaps_states_jump(&s->gaps, row) ? BETWEEN : NONE;
}

static int add_stop(struct stops *s, struct stop stop)
{
    if (MEM_ROOM(s->stop, s->count, s->capacity)) return GSV_NO_MEMORY;
    s->stop[s->count++] = stop;
    return 0;
}

/* The stop at init_time, where it is not the first row itself. */
static int begin_track(struct stops *s, const gsv_model *m, size_t track)
{
    const struct spec *spec = m->spec;
    const gsv_series *series = s->gaps.series;
    size_t row = series->start[track];
    if (!spec->init_timed || row == series->start[track + 1]) return 0;
    double t0 = spec->init_time, first = series->time[row];
    size_t known = 0;
    while (known < spec->dim && spec->latent[known])
        known++;
    if (t0 > first)
        return fail(GSV_BAD_INPUT,
                    "%s: series '%s' begins at time %g, before the time %g of "
                    "the model's init; give an earlier time in 'init ... at', "
                    "or leave the rows before it out",
                    series->source, series->label[track], first, t0);
    if (t0 == first) return 0;
    if (known < spec->dim)
        return fail(GSV_BAD_INPUT,
                    "%s: series '%s' begins at time %g, but the model's init "
                    "is at time %g, where the state '%s' is unknown: it is "
                    "observed exactly, in the rows of the data; give it an "
                    "obs and an init, or write the init without 'at'",
                    series->source, series->label[track], first, t0,
                    spec->column[known]);
    return add_stop(
        s, (struct stop){
               .track = track, .row = NO_ROW, .event = NO_ROW, .time = t0});
}

/* What comes after the last row with an observation says nothing of any. */
static int add_track(struct stops *s, const gsv_model *m, size_t track)
{
    const gsv_series *series = s->gaps.series;
    size_t before = s->count, end = series->start[track + 1], last = before;
    int status = begin_track(s, m, track);
    for (size_t row = series->start[track]; !status && row < end; row++) {
        int purpose = purpose_of(s, m, track, row, s->count > before);
        if (purpose == NONE) continue;
        bool jumps = gaps_states_jump(&s->gaps, row);
        status = add_stop(s, (struct stop){.track = track,
                                           .row = purpose == ROW ? row : NO_ROW,
                                           .event = jumps ? row : NO_ROW,
                                           .time = series->time[row]});
        if (purpose == ROW) last = s->count;
    }
    if (status) return status;
    s->count = s->first[track + 1] = last;
    for (size_t n = before + 1; n < last; n++)
        s->longest = fmax(s->longest, s->stop[n].time - s->stop[n - 1].time);
    return 0;
}

/* Whether the equation, or what is integrated, depends on an input. */
static bool has_inputs(const gsv_model *m)
{
    const struct graph *g = m->spec->graph;
    const node part[] = {m->spec->drift, m->spec->diffusion, m->unit_drift,
                         m->unit_state};
    for (size_t i = 0; m->spec->inputs && i < sizeof part / sizeof *part; i++)
        if (part[i] && (graph_depends(g, part[i], OP_INPUT) ||
                        graph_depends(g, part[i], OP_SLOPE)))
            return true;
    for (size_t k = 0; m->spec->inputs && k < m->spec->integrals; k++)
        if (graph_depends(g, m->spec->integral[k].rate, OP_INPUT)) return true;
    return false;
}

int stops_init(struct stops *s, const gsv_model *m, const gsv_series *series)
{
    *s = (struct stops){0};
    int status = gaps_init(&s->gaps, m, series);
    if (status) return status;
    s->first = NEW(size_t, series->tracks + 1);
    if (!s->first) return GSV_NO_MEMORY;
    s->has_changes = spec_is_latent(m->spec) && has_inputs(m);
    for (size_t r = 0; !status && r < series->tracks; r++)
        status = add_track(s, m, r);
    if (!status && !s->count)
        status = fail(GSV_BAD_INPUT, "%s: nothing is observed in any row",
                      series->source);
    return status;
}

/* A gap from one row to the next, with all stops in between. */
struct span {
    size_t end;    /* its last stop */
    double length; /* in time */
};

/* The one that the piece before stop n belongs to. */
static struct span span_of(const struct stops *s, size_t n, struct span now)
{
    if (n <= now.end) return now;
    size_t first = n - 1, end = n;
    while (s->stop[end].row == NO_ROW)
        end++;
    return (struct span){.end = end,
                         .length = s->stop[end].time - s->stop[first].time};
}

/* The parts of the piece before stop n, as a double: there may be too many.
 * Events of a whole gap are those of no part of it. No part of a gap is longer
 * than its length / steps. */
static double parts_of(const struct stops *s, size_t n, size_t steps,
                       double longest, struct span *span)
{
    if (stop_is_first(s, n) || (!s->cuts_events && stop_has_events(s, n)))
        return 1.0;
    double length = s->stop[n].time - s->stop[n - 1].time;
    if (longest > 0.0) return fmax(ceil(length / longest), 1.0);
    *span = span_of(s, n, *span);
    if (length == span->length) return (double)steps;
    return ceil((double)steps * length / span->length * (1.0 - 1e-9));
}

int stops_divide(struct stops *s, size_t steps, double longest)
{
    double count = 0.0;
    struct span span = {0};
    for (size_t n = 0; n < s->count; n++)
        count += parts_of(s, n, steps, longest, &span);
    if (count > MOST_STOPS)
        return fail(GSV_BAD_INPUT,
                    "the steps cut the gaps of %s into %g parts, but %g is "
                    "the most; give a longer --step or fewer --steps",
                    s->gaps.series->source, count, MOST_STOPS);
    struct stop *all = NEW(struct stop, (size_t)count);
    if (!all) return GSV_NO_MEMORY;
    size_t at = 0;
    s->longest = 0.0;
    span = (struct span){0};
    for (size_t n = 0, track = 0; n < s->count; n++) {
        struct stop end = s->stop[n];
        size_t parts = (size_t)parts_of(s, n, steps, longest, &span);
        for (; track < end.track; track++)
            s->first[track + 1] = at;
        double from = parts > 1 ? s->stop[n - 1].time : end.time;
        double part = (end.time - from) / (double)parts;
        for (size_t k = 1; k < parts; k++)
            all[at++] = (struct stop){.track = end.track,
                                      .row = NO_ROW,
                                      .event = NO_ROW,
                                      .time = from + part * (double)k};
        all[at++] = end;
        s->longest = fmax(s->longest, part);
    }
    for (size_t r = s->stop[s->count - 1].track; r < s->gaps.series->tracks;
         r++)
        s->first[r + 1] = at;
    mem_free(s->stop);
    s->stop = all;
    s->count = s->capacity = at;
    return 0;
}

/* Stops of a track and times merge; what is at a stop is one already. */
int stops_insert(struct stops *s, size_t n, const size_t *track,
                 const double *time)
{
    struct stop *all = NEW(struct stop, s->count + n);
    size_t at = 0, next = 0, tracks = s->gaps.series->tracks;
    if (!all) return GSV_NO_MEMORY;
    for (size_t r = 0; r < tracks; r++) {
        size_t begin = at, end = s->first[r + 1], k = s->first[r];
        for (s->first[r] = at; k < end; k++) {
            for (; next < n &&
                   (track[next] < r ||
                    (track[next] == r && time[next] < s->stop[k].time));
                 next++)
                if (track[next] == r && at > begin &&
                    time[next] > all[at - 1].time)
                    all[at++] = (struct stop){.track = r,
                                              .row = NO_ROW,
                                              .event = NO_ROW,
                                              .time = time[next]};
            all[at++] = s->stop[k];
        }
    }
    s->first[tracks] = at;
    mem_free(s->stop);
    s->stop = all;
    s->count = s->capacity = at;
    return 0;
}

void stops_free(struct stops *s)
{
    gaps_free(&s->gaps);
    MEM_FREE(s->stop, s->first);
    *s = (struct stops){0};
}

bool stop_is_first(const struct stops *s, size_t n)
{
    return !n || s->stop[n].track != s->stop[n - 1].track;
}

bool stop_is_last(const struct stops *s, size_t n)
{
    return n + 1 == s->count || stop_is_first(s, n + 1);
}

bool stop_has_events(const struct stops *s, size_t n)
{
    return !stop_is_first(s, n) && gaps_have_events(&s->gaps, s->stop[n].row);
}

double stop_event_value(const struct stops *s, size_t n, size_t k)
{
    return gaps_value(&s->gaps, s->gaps.spec->event[k].value, s->stop[n].event);
}

int stops_check(const struct stops *s, size_t first, size_t end,
                const double *increment, const char *advice)
{
    for (size_t n = first; n < end; n++) {
        const struct stop *stop = &s->stop[n];
        if (isfinite(increment[n])) continue;
        return fail(GSV_NUMERICAL,
                    "the log-likelihood of series '%s' is %g at time %g: no "
                    "support point explains what was observed there; check "
                    "the model's formula, its parameters and the data%s",
                    s->gaps.series->label[stop->track], increment[n],
                    stop->time, advice);
    }
    return 0;
}

size_t stops_longest(const struct stops *s)
{
    size_t most = 0;
    for (size_t r = 0; r < s->gaps.series->tracks; r++)
        if (s->first[r + 1] - s->first[r] > most)
            most = s->first[r + 1] - s->first[r];
    return most;
}

/* --- Results -------------------------------------------------------------- */

size_t stops_rows(const struct stops *s)
{
    size_t rows = 0;
    for (size_t n = 0; n < s->count; n++)
        rows += s->stop[n].row != NO_ROW;
    return rows;
}

/* What has come together since the row before. */
struct share {
    double loglik, error;
    size_t steps, from;
};

/* A track whose value may be off by more is not to be trusted. What half of the
 * points miss of a row is no sign of it by itself: rows take it from each
 * other, and all points miss far less. */
static const double MOST_ERROR = 0.1;

static void fill_row(const struct stop *stop, const struct share *share,
                     double ess, size_t most, gsv_gap *g, gsv_result *r)
{
    *g = (gsv_gap){.track = stop->track,
                   .from = share->from,
                   .to = stop->row,
                   .loglik = share->loglik,
                   .error = share->error,
                   .ess = isnan(ess) ? 1.0 : ess,
                   .khat = NAN,
                   .discretisation = NAN,
                   .reference = GSV_REFERENCE_LINEAR,
                   .form = GSV_FORM_MIDPOINT};
    if (ess < 0.1 * (double)most) g->flags |= GSV_FLAG_ESS;
    r->loglik += g->loglik;
    r->ess_min = fmin(r->ess_min, ess);
    if (share->from != stop->row && share->steps > r->steps)
        r->steps = share->steps;
}

/* The rows [first, end) of a track of which so much is left: those where it
 * comes from, or at least the worst. */
static void flag_rows(gsv_result *r, size_t first, size_t end, double left)
{
    size_t worst = first;
    if (first == end || left < MOST_ERROR) return;
    for (size_t i = first; i < end; i++) {
        if (!(r->gap[i].error < MOST_ERROR)) r->gap[i].flags |= GSV_FLAG_ESS;
        if (!(r->gap[i].error <= r->gap[worst].error)) worst = i;
    }
    r->gap[worst].flags |= GSV_FLAG_ESS;
}

/* Errors of stops that add up, or do not. */
static double together(double a, double b, bool along)
{
    return along ? a + b : sqrt(a * a + b * b);
}

static void fill_track(const struct stops *s, size_t track,
                       const double *increment, const double *error,
                       const double *ess, size_t most, const double *left,
                       gsv_result *r)
{
    struct share share = {0};
    double sum = 0.0;
    size_t first = r->groups;
    if (s->first[track] == s->first[track + 1]) return;
    for (size_t n = s->first[track]; n < s->first[track + 1]; n++) {
        const struct stop *stop = &s->stop[n];
        share.loglik += increment[n];
        share.error = together(share.error, error[n], left);
        share.steps++;
        sum = together(sum, error[n], left);
        if (stop->row == NO_ROW) continue;
        if (r->groups == first) share.from = stop->row;
        share.error = fabs(share.error);
        fill_row(stop, &share, ess[n], most, &r->gap[r->groups++], r);
        share = (struct share){.from = stop->row};
    }
    r->error = sqrt(r->error * r->error + sum * sum);
    if (left) flag_rows(r, first, r->groups, left[track]);
}

int stops_fill(const struct stops *s, const double *increment,
               const double *error, const double *ess, size_t most,
               const double *left, gsv_result *r)
{
    r->gap = NEW(gsv_gap, stops_rows(s));
    if (!r->gap) return GSV_NO_MEMORY;
    r->ess_min = INFINITY;
    r->khat_max = r->discretisation = NAN;
    for (size_t track = 0; track < s->gaps.series->tracks; track++)
        fill_track(s, track, increment, error, ess, most, left, r);
    r->gaps = r->groups;
    for (size_t i = 0; i < r->groups; i++)
        r->flagged += r->gap[i].flags != 0;
    return 0;
}
