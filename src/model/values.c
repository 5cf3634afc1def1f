/* SPDX-License-Identifier: MIT */
/* The values of noisy observations, as the data have them: what no law allows
 * is refused, with the place where it stands. */
#include <math.h>
#include <stdio.h>

#include "base/error.h"
#include "base/plain.h"
#include "data/series.h"
#include "lang/law.h"
#include "model/gaps.h"

double gaps_value(const struct gaps *g, size_t i, size_t row)
{
    size_t column = g->column[g->spec->dim + g->spec->inputs + i];
    if (row == NO_ROW) return NAN;
    return g->series->value[column * g->series->rows + row];
}

/* What is wrong with value number i in a row. */
static int refuse(const struct gaps *g, size_t track, size_t row, size_t i,
                  const char *law, const char *wanted)
{
    const gsv_series *s = g->series;
    char line[32] = "";
    if (s->line[row]) snprintf(line, sizeof line, ":%zu", s->line[row]);
    return fail(GSV_BAD_INPUT,
                "%s%s: series '%s' at time %g has '%s' = %.10g, but a value "
                "of '%s' is %s",
                s->source, line, s->label[track], s->time[row],
                g->spec->value_column[i], gaps_value(g, i, row), law, wanted);
}

/* The trials of a binomial where they are known: from a column, or a number in
 * the text. */
static bool find_trials(const struct gaps *g, const struct obs_spec *o,
                        size_t row, double *trials)
{
    if (!LAW_TABLE[o->law].trials) return false;
    if (!law_given(o))
        return graph_is_number(g->spec->graph, o->argument[0], trials);
    *trials = gaps_value(g, o->value + 1, row);
    return true;
}

static int check_row(const struct gaps *g, const struct obs_spec *o,
                     size_t track, size_t row)
{
    const struct law_row *law = &LAW_TABLE[o->law];
    double trials;
    /* A cell that is missing takes the whole obs out of the row. */
    for (size_t i = 0; i < o->values; i++)
        if (isnan(gaps_value(g, o->value + i, row))) return 0;
    for (size_t i = 0; i < o->values; i++) {
        double v = gaps_value(g, o->value + i, row);
        if (!isfinite(v))
            return refuse(g, track, row, o->value + i, law->name,
                          "a finite number");
        if (law->counts && !law_allows(RANGE_WHOLE, v))
            return refuse(g, track, row, o->value + i, law->name,
                          "a whole number from 0 on");
    }
    if (!find_trials(g, o, row, &trials) ||
        gaps_value(g, o->value, row) <= trials)
        return 0;
    char most[80];
    plain_format(most, sizeof most, "at most the number of trials, %.10g",
                 trials);
    return refuse(g, track, row, o->value, law->name, most);
}

int values_check(const struct gaps *g)
{
    const gsv_series *s = g->series;
    if (!g->spec->observations) return 0;
    for (size_t r = 0; r < s->tracks; r++)
        for (size_t row = s->start[r]; row < s->start[r + 1]; row++) {
            series_passed(s, row);
            for (size_t i = 0; i < g->spec->observations; i++) {
                int status = check_row(g, &g->spec->obs[i], r, row);
                if (status) return status;
            }
        }
    return 0;
}
