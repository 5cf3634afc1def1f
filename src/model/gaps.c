/* SPDX-License-Identifier: MIT */
#include "model/gaps.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "data/series.h"
#include "model/levels.h"

static int find_column(struct gaps *g, const char *name, size_t i)
{
    const gsv_series *s = g->series;
    for (size_t c = 0; c < s->columns; c++)
        if (!strcmp(s->name[c], name)) {
            g->column[i] = c;
            return 0;
        }
    return fail(GSV_BAD_INPUT, "%s has no column '%s', which the model needs",
                s->source, name);
}

static double cell(const struct gaps *g, size_t i, size_t row)
{
    size_t d = g->spec->dim, input = i - d;
    if (g->code && i >= d && input < g->spec->inputs && g->code[input])
        return g->code[input][row];
    return g->series->value[g->column[i] * g->series->rows + row];
}

double gaps_state(const struct gaps *g, size_t i, size_t row)
{
    return row == NO_ROW || g->spec->latent[i] ? NAN : cell(g, i, row);
}

bool gaps_are_observed(const struct gaps *g, size_t row)
{
    for (size_t i = 0; i < g->spec->dim; i++)
        if (!isnan(gaps_state(g, i, row))) return true;
    for (size_t i = 0; i < g->spec->obs_values; i++)
        if (!isnan(gaps_value(g, i, row))) return true;
    return false;
}

bool gaps_states_jump(const struct gaps *g, size_t row)
{
    for (size_t i = g->spec->obs_values; i < g->spec->values; i++)
        if (!isnan(gaps_value(g, i, row))) return true;
    return false;
}

bool gaps_are_known(const struct gaps *g, size_t row)
{
    if (spec_is_latent(g->spec)) return gaps_are_observed(g, row);
    for (size_t i = 0; i < g->spec->dim; i++)
        if (isnan(gaps_state(g, i, row))) return false;
    return true;
}

bool gaps_have_events(const struct gaps *g, size_t row)
{
    const struct spec *spec = g->spec;
    for (size_t k = 0; spec->integrals && k < spec->observations; k++)
        if (spec->obs[k].integrated &&
            !isnan(gaps_value(g, spec->obs[k].value, row)))
            return true;
    return false;
}

bool gaps_lead_to_events(const struct gaps *g, size_t track, size_t row)
{
    return row + 1 < g->series->start[track + 1] &&
           gaps_have_events(g, row + 1);
}

/* --- Inputs ------------------------------------------------------------- */

static int check_inputs(const struct gaps *g)
{
    const gsv_series *s = g->series;
    size_t d = g->spec->dim;
    for (size_t i = 0; i < g->spec->inputs; i++)
        for (size_t r = 0; r < s->tracks; r++) {
            size_t row = s->start[r];
            while (row < s->start[r + 1] && isnan(cell(g, d + i, row)))
                row++;
            if (row == s->start[r + 1] && row > s->start[r])
                return fail(GSV_BAD_INPUT,
                            "%s: the input '%s' is missing in every row of "
                            "series '%s'",
                            s->source, g->spec->input[i].name, s->label[r]);
        }
    return 0;
}

/* The knots around a time: the last one at or before it (with before, strictly
 * before it), and the first one after that. false where there is none. */
static bool knot_left(const struct gaps *g, size_t i, size_t track, double time,
                      bool before, size_t *knot)
{
    const gsv_series *s = g->series;
    size_t low = s->start[track], high = s->start[track + 1];
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (before ? s->time[middle] < time : s->time[middle] <= time)
            low = middle + 1;
        else high = middle;
    }
    while (low-- > s->start[track])
        if (!isnan(cell(g, i, low))) {
            *knot = low;
            return true;
        }
    return false;
}

static bool knot_right(const struct gaps *g, size_t i, size_t track,
                       size_t after, size_t *knot)
{
    for (size_t r = after; r < g->series->start[track + 1]; r++)
        if (!isnan(cell(g, i, r))) {
            *knot = r;
            return true;
        }
    return false;
}

/* A step that is meant to begin at a knot may fall short of it by rounding. */
static double rounding(const gsv_series *s, size_t track)
{
    double first = s->time[s->start[track]];
    double last = s->time[s->start[track + 1] - 1];
    return 8.0 * DBL_EPSILON * fmax(fabs(first), fabs(last));
}

/* An input by the knots around a time `at`: its value at time, and its slope,
 * which is 0 where it is held or one side has no knot. */
struct line {
    double value, slope;
};

static struct line line_at(const struct gaps *g, size_t i, size_t track,
                           double at, bool before, double time)
{
    const gsv_series *s = g->series;
    size_t a = 0, b = 0;
    bool left = knot_left(g, i, track, at, before, &a);
    size_t after = left ? a + 1 : s->start[track];
    bool right = knot_right(g, i, track, after, &b);
    struct line l = {.value = cell(g, i, left ? a : b)};
    bool hold = g->spec->input[i - g->spec->dim].hold;
    if (!left || !right || hold) return l;
    l.slope = (cell(g, i, b) - l.value) / (s->time[b] - s->time[a]);
    l.value += l.slope * (time - s->time[a]);
    return l;
}

/* Linear between knots, constant outside of them. The value of a linear input
 * is the same from both sides of a knot; its slope is not. */
void gap_inputs(const struct gaps *g, size_t track, double time, bool before,
                double *value, double *slope, size_t stride)
{
    double about = rounding(g->series, track);
    for (size_t n = 0; n < g->spec->inputs; n++) {
        size_t i = g->spec->dim + n;
        bool hold = g->spec->input[n].hold;
        struct line l = before
                            ? line_at(g, i, track, time - about, true, time)
                            : line_at(g, i, track, time + about, false, time);
        slope[n * stride] = l.slope;
        if (before && !hold) l = line_at(g, i, track, time, false, time);
        value[n * stride] = l.value;
    }
}

struct points gaps_points(const struct gaps *g, size_t track, double moment,
                          bool before, size_t P, const double *state,
                          double *time, double *input, double *slope)
{
    size_t inputs = g->spec->inputs;
    if (inputs) gap_inputs(g, track, moment, before, input, slope, P);
    for (size_t k = 0; k < inputs; k++)
        for (size_t p = 1; p < P; p++) {
            input[k * P + p] = input[k * P];
            slope[k * P + p] = slope[k * P];
        }
    for (size_t p = 0; p < P; p++)
        time[p] = moment;
    return (struct points){
        .P = P, .state = state, .time = time, .input = input, .slope = slope};
}

static double slope_between(const struct gaps *g, size_t i, size_t a, size_t b)
{
    const double *time = g->series->time;
    return (cell(g, i, b) - cell(g, i, a)) / (time[b] - time[a]);
}

/* Before the first knot and after the last an input is constant. */
static bool changes(const struct gaps *g, size_t n, size_t track, size_t row)
{
    const gsv_series *s = g->series;
    size_t i = g->spec->dim + n, a = row, b = 0;
    if (isnan(cell(g, i, row))) return false;
    bool left = knot_left(g, i, track, s->time[row], true, &a);
    if (g->spec->input[n].hold) return left && cell(g, i, a) != cell(g, i, row);
    bool right = knot_right(g, i, track, row + 1, &b);
    return (left ? slope_between(g, i, a, row) : 0.0) !=
           (right ? slope_between(g, i, row, b) : 0.0);
}

bool gaps_input_changes(const struct gaps *g, size_t track, size_t row)
{
    for (size_t n = 0; n < g->spec->inputs; n++)
        if (changes(g, n, track, row)) return true;
    return false;
}

/* Whether there are rows of inputs or events. */
static bool has_rows(const struct gaps *g)
{
    return g->spec->inputs || g->spec->events;
}

/* The first row of a track after a time. */
static size_t row_after(const gsv_series *s, size_t track, double time)
{
    size_t row = s->start[track], end = s->start[track + 1];
    while (row < end) {
        size_t middle = row + (end - row) / 2;
        if (s->time[middle] <= time) row = middle + 1;
        else end = middle;
    }
    return row;
}

size_t gaps_next_change(const struct gaps *g, size_t track, double after,
                        double before)
{
    const gsv_series *s = g->series;
    double close = has_rows(g) ? rounding(s, track) : 0.0;
    if (!has_rows(g) || !(before - after > 2.0 * close)) return NO_ROW;
    for (size_t row = row_after(s, track, after + close);
         row < s->start[track + 1] && s->time[row] < before - close; row++)
        if (gaps_input_changes(g, track, row) || gaps_states_jump(g, row))
            return row;
    return NO_ROW;
}

size_t gaps_event_at(const struct gaps *g, size_t track, double time)
{
    const gsv_series *s = g->series;
    if (!g->spec->events || !has_rows(g)) return NO_ROW;
    double close = rounding(s, track);
    size_t row = row_after(s, track, time + close);
    if (row == s->start[track] || s->time[row - 1] < time - close)
        return NO_ROW;
    return gaps_states_jump(g, row - 1) ? row - 1 : NO_ROW;
}

/* Adds the mean of an input over [low, high], where no knot is inside, as a
 * part of the mean over a longer time. */
static void add_mean(const struct gaps *g, size_t n, size_t track, double low,
                     double high, double part, struct line *mean)
{
    size_t i = g->spec->dim + n;
    struct line l =
        line_at(g, i, track, 0.5 * (low + high), false, 0.5 * (low + high));
    mean->value += part * l.value;
    mean->slope += part * l.slope;
}

void gap_mean_inputs(const struct gaps *g, size_t track, double low,
                     double high, double *value, double *slope, size_t stride)
{
    const gsv_series *s = g->series;
    if (gaps_next_change(g, track, low, high) == NO_ROW) return;
    size_t first = row_after(s, track, low + rounding(s, track));
    for (size_t n = 0; n < g->spec->inputs; n++) {
        struct line mean = {0.0, 0.0};
        double from = low;
        if (g->noise_input[n]) continue;
        for (size_t row = first; from < high; row++) {
            bool inside = row < s->start[track + 1] && s->time[row] < high;
            double to = inside ? s->time[row] : high;
            add_mean(g, n, track, from, to, (to - from) / (high - low), &mean);
            from = to;
        }
        value[n * stride] = mean.value;
        slope[n * stride] = mean.slope;
    }
}

/* --- Gaps --------------------------------------------------------------- */

/* Whether all states were observed in a row; a row with only some fails. */
static int complete(const struct gaps *g, size_t track, size_t row, bool *is)
{
    const gsv_series *s = g->series;
    size_t seen = 0, d = g->spec->dim, lost = 0;
    for (size_t i = 0; i < d; i++) {
        if (isnan(cell(g, i, row))) lost = i;
        else seen++;
    }
    *is = seen == d;
    if (seen == 0 || seen == d) return 0;
    char line[32] = "";
    if (s->line[row]) snprintf(line, sizeof line, ":%zu", s->line[row]);
    return fail(GSV_BAD_INPUT,
                "%s%s: series '%s' at time %g has only %zu of the %zu "
                "states ('%s' is missing); rows that are observed in part are "
                "not supported yet: leave all of the row's states empty, or "
                "drop it",
                s->source, line, s->label[track], s->time[row], seen, d,
                g->spec->column[lost]);
}

/* A held input of the noise that changes between two observed rows makes T
 * jump inside of a gap, which the paths do not take into account. */
static int check_jumps(const struct gaps *g, const struct gap *gap)
{
    const gsv_series *s = g->series;
    for (size_t i = 0; i < g->spec->inputs; i++) {
        size_t column = g->spec->dim + i;
        if (!g->spec->input[i].hold || !g->noise_input[i]) continue;
        size_t knot = 0;
        double start = s->time[gap->from];
        bool held = knot_left(g, column, gap->track, start, false, &knot);
        for (size_t row = gap->from + 1; held && row < gap->to; row++) {
            double value = cell(g, column, row);
            if (isnan(value) || value == cell(g, column, knot)) continue;
            return fail(GSV_BAD_INPUT,
                        "%s: the held input '%s' of the noise changes at time "
                        "%g of series '%s', where the states were not "
                        "observed; observe them there, or let the input be "
                        "linear",
                        s->source, g->spec->input[i].name, s->time[row],
                        s->label[gap->track]);
        }
    }
    return 0;
}

struct gap gaps_at(const struct gaps *g, size_t i)
{
    const gsv_series *s = g->series;
    size_t track = 0, end = s->tracks;
    while (end - track > 1) {
        size_t middle = track + (end - track) / 2;
        if (g->first[middle] <= i) track = middle;
        else end = middle;
    }
    size_t n = i - g->first[track], from = s->start[track] + n;
    if (g->to) from = n ? g->to[i - 1] : g->begin[track];
    size_t to = g->to ? g->to[i] : from + 1;
    return (struct gap){.track = track,
                        .from = from,
                        .to = to,
                        .number = i,
                        .start = s->time[from],
                        .length = s->time[to] - s->time[from],
                        .end = s->time[to]};
}

/* The gaps of a track, counted; with their rows, where there is room. */
static int find_in_track(struct gaps *g, size_t track, bool *missing)
{
    const gsv_series *s = g->series;
    struct gap gap = {.track = track, .from = NO_ROW};
    for (size_t row = s->start[track]; row < s->start[track + 1]; row++) {
        bool is;
        series_passed(s, row);
        if (complete(g, track, row, &is)) return GSV_BAD_INPUT;
        if (!is) *missing = true;
        if (!is) continue;
        gap.to = row;
        if (gap.from == NO_ROW) {
            if (g->begin) g->begin[track] = row;
        } else {
            if (check_jumps(g, &gap)) return GSV_BAD_INPUT;
            if (g->to) g->to[g->count] = row;
            g->count++;
        }
        gap.from = row;
    }
    return 0;
}

static int find_all(struct gaps *g, bool *missing)
{
    int status = 0;
    g->count = 0;
    for (size_t r = 0; !status && r < g->series->tracks; r++) {
        g->first[r] = g->count;
        status = find_in_track(g, r, missing);
    }
    g->first[g->series->tracks] = g->count;
    return status;
}

static int find_gaps(struct gaps *g)
{
    const gsv_series *s = g->series;
    bool missing = false;
    g->first = NEW(size_t, s->tracks + 1);
    int status = g->first ? find_all(g, &missing) : GSV_NO_MEMORY;
    if (!status && !g->count)
        status = fail(GSV_BAD_INPUT,
                      "%s has no two rows of one series in which the states "
                      "were observed, so there is nothing to learn from",
                      s->source);
    if (status || !missing) return status;
    g->to = NEW(size_t, g->count);
    g->begin = NEW(size_t, s->tracks);
    return g->to && g->begin ? find_all(g, &missing) : GSV_NO_MEMORY;
}

/* What categories have in all rows. */
static int find_levels(struct gaps *g, const gsv_model *m)
{
    size_t n = m->spec->inputs;
    int status = levels_check(m);
    if (!status) status = externals_refuse(m->spec);
    if (status || !m->spec->categories) return status;
    g->code = NEW(double *, n);
    if (!g->code) return GSV_NO_MEMORY;
    for (size_t i = 0; !status && i < n; i++) {
        if (!m->spec->input[i].category) continue;
        g->code[i] = NEW(double, g->series->rows);
        status = g->code[i] ? level_codes(m, g->series, i, g->code[i])
                            : (int)GSV_NO_MEMORY;
    }
    return status;
}

static int map_columns(struct gaps *g, const gsv_model *m, size_t first,
                       size_t end)
{
    const struct spec *s = m->spec;
    g->column = NEW(size_t, s->dim + s->inputs + s->values);
    if (!g->column) return GSV_NO_MEMORY;
    for (size_t i = first; i < end; i++) {
        g->column[i] = SIZE_MAX;
        if (i < s->dim && s->latent[i]) continue;
        if (i >= s->dim && i < s->dim + s->inputs &&
            s->input[i - s->dim].category)
            continue;
        if (find_column(g, m->column[i], i)) return GSV_BAD_INPUT;
    }
    int status = find_levels(g, m);
    return status ? status : check_inputs(g);
}

int gaps_inputs_init(struct gaps *g, const gsv_model *m, const gsv_series *s)
{
    *g = (struct gaps){
        .series = s, .spec = m->spec, .noise_input = m->noise_input};
    const struct spec *spec = m->spec;
    size_t first = spec->dim, values = first + spec->inputs;
    if (!has_rows(g)) return 0;
    if (!s || !s->tracks || !s->rows)
        return fail(GSV_BAD_INPUT,
                    "the model has the %s '%s'; give a file with its values",
                    spec->inputs ? "input" : "event column",
                    spec->inputs ? spec->input[0].name
                                 : spec->value_column[spec->obs_values]);
    int status = map_columns(g, m, first, values);
    for (size_t i = spec->obs_values; !status && i < spec->values; i++)
        status = find_column(g, spec->value_column[i], values + i);
    if (!status) status = events_check(g);
    if (status) gaps_free(g);
    return status;
}

int gaps_find(struct gaps *g, const gsv_model *m, const gsv_series *s)
{
    *g = (struct gaps){
        .series = s, .spec = m->spec, .noise_input = m->noise_input};
    const struct spec *spec = m->spec;
    int status = map_columns(g, m, 0, spec->dim + spec->inputs + spec->values);
    if (!status) status = values_check(g);
    if (!status && !spec_is_latent(spec)) status = find_gaps(g);
    if (status) gaps_free(g);
    return status;
}

int gaps_init(struct gaps *g, const gsv_model *m, const gsv_series *s)
{
    int status = gaps_find(g, m, s);
    if (status || !g->count) return status;
    g->gap = NEW(struct gap, g->count);
    for (size_t i = 0; g->gap && i < g->count; i++)
        g->gap[i] = gaps_at(g, i);
    if (g->gap) return 0;
    gaps_free(g);
    return GSV_NO_MEMORY;
}

void gaps_free(struct gaps *g)
{
    for (size_t i = 0; g->code && i < g->spec->inputs; i++)
        mem_free(g->code[i]);
    MEM_FREE(g->code, g->column, g->gap, g->first, g->to, g->begin);
    *g = (struct gaps){0};
}

void gap_ends(const struct gaps *g, const struct gap *gap, double *x,
              size_t stride)
{
    for (size_t i = 0; i < g->spec->dim; i++) {
        const double *point = g->point ? g->point + i * g->points : NULL;
        x[i * stride] = point ? point[gap->from] : cell(g, i, gap->from);
        x[i * stride + 1] = point ? point[gap->to] : cell(g, i, gap->to);
    }
}
