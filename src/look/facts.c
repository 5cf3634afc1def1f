/* SPDX-License-Identifier: MIT */
/* Numbers that tell kinds of series apart, from increments and levels. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/constant.h"
#include "base/error.h"
#include "base/memory.h"
#include "look/look.h"

/* Rows that are looked at and fitted; an increment this many robust deviations
 * long is a jump, if no more than this share of them are. The deviation is that
 * of all increments, and also of those nearby: noise that grows with the level
 * makes long increments where the level is high, but many of them. */
enum { MOST_ROWS = 2000, FREQUENCIES = 300, NEARBY = 20 };
static const double JUMP = 8.0, RARE = 0.05;

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* x (n) is sorted. */
static double median(size_t n, double *x)
{
    if (!n) return NAN;
    qsort(x, n, sizeof *x, by_size);
    return n % 2 ? x[n / 2] : 0.5 * (x[n / 2 - 1] + x[n / 2]);
}

static double correlation(size_t n, const double *x, const double *y)
{
    double mx = 0.0, my = 0.0, xx = 0.0, yy = 0.0, xy = 0.0;
    for (size_t i = 0; i < n; i++) {
        mx += x[i] / (double)n;
        my += y[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        xx += (x[i] - mx) * (x[i] - mx);
        yy += (y[i] - my) * (y[i] - my);
        xy += (x[i] - mx) * (y[i] - my);
    }
    return xx > 0.0 && yy > 0.0 ? xy / sqrt(xx * yy) : 0.0;
}

/* --- Gaps ----------------------------------------------------------------- */

int look_gaps(const gsv_series *s, gsv_look_result *r)
{
    double *gap = NEW(double, s->rows);
    size_t n = 0;
    if (!gap) return GSV_NO_MEMORY;
    for (size_t t = 0; t < s->tracks; t++)
        for (size_t i = s->start[t] + 1; i < s->start[t + 1]; i++)
            gap[n++] = s->time[i] - s->time[i - 1];
    r->gap = median(n, gap);
    r->shortest = n ? gap[0] : NAN;
    r->longest = n ? gap[n - 1] : NAN;
    mem_free(gap);
    return 0;
}

/* --- Rows of a column ----------------------------------------------------- */

static int sight_init(struct sight *v, const gsv_series *s, size_t c)
{
    *v = (struct sight){.name = s->name[c],
                        .start = NEW(size_t, MOST_ROWS + 1),
                        .time = NEW(double, MOST_ROWS),
                        .value = NEW(double, MOST_ROWS),
                        .many = s->tracks > 2};
    return v->start && v->time && v->value ? 0 : GSV_NO_MEMORY;
}

void sight_free(struct sight *s)
{
    MEM_FREE(s->start, s->time, s->value);
    *s = (struct sight){0};
}

/* Of every series as many rows. */
static void take_rows(struct sight *v, const gsv_series *s, size_t c)
{
    const double *x = s->value + c * s->rows;
    size_t most = MOST_ROWS / s->tracks;
    if (most < 4) most = 4;
    for (size_t t = 0; t < s->tracks; t++) {
        size_t first = v->rows;
        for (size_t i = s->start[t]; i < s->start[t + 1]; i++) {
            if (isnan(x[i])) continue;
            if (v->rows == MOST_ROWS || v->rows - first == most) break;
            v->time[v->rows] = s->time[i];
            v->value[v->rows++] = x[i];
        }
        if (v->rows - first < 2) v->rows = first;
        else v->start[++v->tracks] = v->rows;
    }
}

/* Increments over the roots of their gaps; same: whether i + 1 is of the track
 * of i. Returns their number. */
static size_t increments(const struct sight *v, double *dx, bool *same)
{
    size_t n = 0;
    for (size_t t = 0; t < v->tracks; t++)
        for (size_t i = v->start[t] + 1; i < v->start[t + 1]; i++) {
            same[n] = i + 1 < v->start[t + 1];
            dx[n++] = (v->value[i] - v->value[i - 1]) /
                      sqrt(v->time[i] - v->time[i - 1]);
        }
    return n;
}

/* --- Signs ---------------------------------------------------------------- */

static void note_levels(const struct sight *v, gsv_look_column *c)
{
    double n = (double)v->rows;
    c->low = INFINITY;
    c->high = -INFINITY;
    for (size_t i = 0; i < v->rows; i++) {
        c->low = fmin(c->low, v->value[i]);
        c->high = fmax(c->high, v->value[i]);
        c->mean += v->value[i] / n;
    }
    for (size_t i = 0; i < v->rows; i++)
        c->sd += (v->value[i] - c->mean) * (v->value[i] - c->mean) / n;
    c->sd = sqrt(c->sd);
    c->flat = !(c->high > c->low);
}

/* In deviations: the means of the first and the second half of each series. */
static void note_shift(const struct sight *v, gsv_look_column *c)
{
    double sum = 0.0, n = 0.0;
    for (size_t t = 0; t < v->tracks; t++) {
        size_t a = v->start[t], b = v->start[t + 1], half = (a + b) / 2;
        double one = 0.0, two = 0.0;
        for (size_t i = a; i < b; i++)
            *(i < half ? &one : &two) +=
                v->value[i] / (double)(i < half ? half - a : b - half);
        if (half == a) continue;
        sum += two - one;
        n += 1.0;
    }
    c->shift = n > 0.0 && c->sd > 0.0 ? sum / n / c->sd : 0.0;
}

/* The frequency that increments repeat with: its power against their mean. */
static void note_period(const struct sight *v, const double *dx, size_t n,
                        gsv_look_column *c)
{
    double span = 0.0, square = 0.0, most = 0.0;
    for (size_t t = 0; t < v->tracks; t++)
        span = fmax(span, v->time[v->start[t + 1] - 1] - v->time[v->start[t]]);
    for (size_t k = 0; k < n; k++)
        square += dx[k] * dx[k] / (double)n;
    for (size_t f = 0; f < FREQUENCIES; f++) {
        double low = 2.0 / span, high = 0.25 / v->gap;
        if (!(high > low)) break;
        double w =
            2.0 * PI * (low + (high - low) * (double)f / (FREQUENCIES - 1.0));
        double re = 0.0, im = 0.0;
        size_t k = 0;
        for (size_t t = 0; t < v->tracks; t++)
            for (size_t i = v->start[t] + 1; i < v->start[t + 1]; i++, k++) {
                double at = 0.5 * (v->time[i] + v->time[i - 1]);
                re += dx[k] * cos(w * at);
                im += dx[k] * sin(w * at);
            }
        double power = (re * re + im * im) / ((double)n * square);
        if (power > most) c->period = 2.0 * PI / w;
        most = fmax(most, power);
    }
    c->power = most;
}

/* By lengths of increments against the level, of data above 0. */
static double noise_slope(const struct sight *v, const double *dx, size_t n,
                          double *room)
{
    size_t k = 0;
    double *level = room, *length = room + n;
    for (size_t t = 0; t < v->tracks; t++)
        for (size_t i = v->start[t] + 1; i < v->start[t + 1]; i++, k++) {
            level[k] = v->value[i - 1];
            length[k] = fabs(dx[k]);
        }
    return correlation(n, level, length);
}

static double pair_correlation(size_t n, const double *dx, const bool *same,
                               double *room)
{
    size_t pairs = 0;
    for (size_t i = 0; i + 1 < n; i++)
        if (same[i]) {
            room[pairs] = dx[i];
            room[n + pairs++] = dx[i + 1];
        }
    return correlation(pairs, room, room + n);
}

static double level_correlation(const struct sight *v, double *room, size_t n)
{
    size_t pairs = 0;
    for (size_t t = 0; t < v->tracks; t++)
        for (size_t i = v->start[t] + 1; i < v->start[t + 1]; i++) {
            room[pairs] = v->value[i - 1];
            room[n + pairs++] = v->value[i];
        }
    return correlation(pairs, room, room + n);
}

/* Where it jumps a new track begins. */
static void split(struct sight *v, const bool *jump)
{
    size_t *start = v->start, n = v->tracks, k = 0, made = 0;
    size_t old[MOST_ROWS + 1];
    memcpy(old, start, (n + 1) * sizeof *old);
    for (size_t t = 0; t < n; t++) {
        for (size_t i = old[t] + 1; i < old[t + 1]; i++, k++)
            if (jump[k]) start[++made] = i;
        start[++made] = old[t + 1];
    }
    v->tracks = made;
}

/* The robust deviation of increments begin to end - 1. */
static double deviation(const double *dx, size_t begin, size_t end,
                        double *room)
{
    for (size_t i = begin; i < end; i++)
        room[i - begin] = fabs(dx[i]);
    return 1.4826 * median(end - begin, room);
}

static bool is_jump(const double *dx, size_t n, size_t i, double all,
                    double *room)
{
    size_t begin = i < NEARBY ? 0 : i - NEARBY;
    size_t end = i + NEARBY + 1 < n ? i + NEARBY + 1 : n;
    return fabs(dx[i]) > JUMP * all &&
           fabs(dx[i]) > JUMP * deviation(dx, begin, end, room);
}

static size_t find_jumps(struct sight *v, const double *dx, size_t n,
                         double *room)
{
    size_t jumps = 0;
    double all = deviation(dx, 0, n, room);
    bool jump[MOST_ROWS] = {false};
    for (size_t i = 0; i < n; i++) {
        jump[i] = is_jump(dx, n, i, all, room);
        jumps += jump[i];
    }
    if (!(all > 0.0) || (double)jumps > RARE * (double)n) return 0;
    if (jumps) split(v, jump);
    return jumps;
}

static void note_signs(struct sight *v, gsv_look_column *c, double *room,
                       bool *same)
{
    double *dx = room + 2 * MOST_ROWS, span = 0.0;
    size_t n = increments(v, dx, same);
    c->noise_slope = noise_slope(v, dx, n, room);
    c->jumps = find_jumps(v, dx, n, room);
    n = increments(v, dx, same);
    v->rate = v->gap = 0.0;
    size_t k = 0;
    for (size_t t = 0; t < v->tracks; t++)
        for (size_t i = v->start[t] + 1; i < v->start[t + 1]; i++, k++) {
            room[k] = v->time[i] - v->time[i - 1];
            span += room[k];
            v->rate += dx[k] * dx[k] * room[k];
        }
    v->rate /= span;
    v->gap = median(n, room);
    c->reversal = pair_correlation(n, dx, same, room);
    c->correlation = level_correlation(v, room, n);
    note_period(v, dx, n, c);
}

int look_column(const gsv_series *s, size_t c, gsv_look_column *out,
                struct sight *v)
{
    double *room = NEW(double, 3 * MOST_ROWS);
    bool *same = NEW(bool, MOST_ROWS);
    int status = sight_init(v, s, c);
    if (!status && (!room || !same)) status = GSV_NO_MEMORY;
    *out = (gsv_look_column){.name = s->name[c]};
    for (size_t i = 0; i < s->rows; i++)
        out->missing += isnan(s->value[c * s->rows + i]) ? 1 : 0;
    if (!status) take_rows(v, s, c);
    out->rows = v->rows;
    if (!status && v->rows > 2) {
        note_levels(v, out);
        note_shift(v, out);
        if (!out->flat) note_signs(v, out, room, same);
    } else out->flat = true;
    MEM_FREE(room, same);
    return status;
}
