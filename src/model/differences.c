/* SPDX-License-Identifier: MIT */
/* Columns of the data that are differences of another one: velocities that were
 * made of positions. Such a velocity is a mean over a gap, so that neighbours
 * share noise, and estimates from it are wrong however short the gaps are. The
 * squared increments of a Brownian velocity's means over neighbouring gaps are
 * 2/3 of its own, those of means over two gaps, a gap apart, 5/12. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "data/series.h"
#include "model/model.h"

/* From row k: to the next one, from the one before, or both. */
enum kind { FORWARD, BACKWARD, CENTRAL, KINDS };

static const struct {
    const char *formula, *share;
} KIND[KINDS] = {[FORWARD] = {"(next - this)/gap", "2/3"},
                 [BACKWARD] = {"(this - last)/gap", "2/3"},
                 [CENTRAL] = {"(next - last)/both gaps", "5/12"}};

/* Rounding of what was written, relative to the size of a column: about 6
 * digits; and the share of rows that may differ, such as those at the ends. */
static const double ROUNDING = 2e-6, ODD = 0.05;
enum { FEWEST = 8 };

static double size_of(size_t n, const double *v)
{
    double sum = 0.0;
    size_t count = 0;
    for (size_t k = 0; k < n; k++)
        if (isfinite(v[k])) {
            sum += v[k] * v[k];
            count++;
        }
    return count ? sqrt(sum / (double)count) : 0.0;
}

/* The rows that the difference at row k of a track [first, end) is between;
 * false where there is none. */
static bool find_ends(size_t first, size_t end, size_t k, enum kind kind,
                      size_t *low, size_t *high)
{
    *low = kind == FORWARD ? k : k - 1;
    *high = kind == BACKWARD ? k : k + 1;
    return (kind == FORWARD || k > first) && *high < end;
}

/* Whether v, of this size, is made of differences of x. */
static bool is_difference(const gsv_series *s, const double *x, const double *v,
                          double size, enum kind kind)
{
    size_t same = 0, other = 0;
    double most = ODD * (double)s->rows, size_x = size_of(s->rows, x);
    for (size_t track = 0; track < s->tracks; track++)
        for (size_t k = s->start[track]; k < s->start[track + 1]; k++) {
            size_t low, high;
            if (!find_ends(s->start[track], s->start[track + 1], k, kind, &low,
                           &high))
                continue;
            double gap = s->time[high] - s->time[low];
            double off = v[k] - (x[high] - x[low]) / gap;
            if (!isfinite(off)) continue;
            bool near = fabs(off) <= ROUNDING * (size + size_x / gap);
            same += near;
            other += !near;
            if ((double)other > most) return false;
        }
    return same >= FEWEST && (double)other <= ODD * (double)same;
}

/* A line where column `name` is made of another one; categories have labels. */
static void look_at_column(FILE *out, const gsv_model *m, const gsv_series *s,
                           const char *name, bool is_state)
{
    size_t i = 0;
    while (i < s->columns && strcmp(s->name[i], name))
        i++;
    if (i == s->columns) return;
    const double *v = s->value + i * s->rows;
    double size = size_of(s->rows, v);
    for (size_t j = 0; size > 0.0 && j < s->columns; j++)
        for (enum kind kind = 0; j != i && kind < KINDS; kind++) {
            if (gsv_model_is_category(m, s->name[j])) break;
            if (!is_difference(s, s->value + j * s->rows, v, size, kind))
                continue;
            fprintf(out,
                    "the column '%s' is made of differences of '%s', %s: "
                    "neighbours share noise, so that its increments have %s "
                    "of the squared noise, and estimates of noise and friction "
                    "are wrong; leave the column out, and %s\n",
                    name, s->name[j], KIND[kind].formula, KIND[kind].share,
                    is_state ? "hide the state ('init', see HOWTO.md)"
                             : "observe the positions themselves");
            return;
        }
}

char *gsv_model_differences(const gsv_model *m, const gsv_series *s)
{
    if (ANY_NULL(m, s) || series_check(s)) return NULL;
    const struct spec *spec = m->spec;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out) return fail_null(GSV_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < spec->dim; i++)
        if (!spec->latent[i]) look_at_column(out, m, s, spec->column[i], true);
    for (size_t i = 0; i < spec->obs_values; i++)
        look_at_column(out, m, s, spec->value_column[i], false);
    if (!fclose(out)) return text;
    free(text);
    return fail_null(GSV_NO_MEMORY, "out of memory");
}
