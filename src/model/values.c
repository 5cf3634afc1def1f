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

/* The largest value where it is known, and what it is: the trials of a binomial
 * from a column, or a number in the text; or the number of categories. */
static bool find_most(const struct gaps *g, const struct obs_spec *o,
                      size_t row, double *most, const char **what)
{
    const struct law_row *law = &LAW_TABLE[o->law];
    *what = "trials";
    if (law->value == RANGE_LABEL) {
        *most = (double)law_numbers(g->spec->graph, o);
        *what = "categories";
        return true;
    }
    if (!law->trials) return false;
    if (!law_given(o))
        return graph_is_number(g->spec->graph, o->argument[0], most);
    *most = gaps_value(g, o->value + 1, row);
    return true;
}

static int check_row(const struct gaps *g, const struct obs_spec *o,
                     size_t track, size_t row)
{
    const struct law_row *law = &LAW_TABLE[o->law];
    const char *what;
    double most;
    /* A cell that is missing takes the whole obs out of the row. */
    for (size_t i = 0; i < o->values; i++)
        if (isnan(gaps_value(g, o->value + i, row))) return 0;
    for (size_t i = 0; i < o->values; i++) {
        double v = gaps_value(g, o->value + i, row);
        if (!law_allows(law->value, v))
            return refuse(g, track, row, o->value + i, law->name,
                          RANGE_WORDS[law->value]);
    }
    if (!find_most(g, o, row, &most, &what) ||
        gaps_value(g, o->value, row) <= most)
        return 0;
    char text[80];
    plain_format(text, sizeof text, "at most the number of %s, %.10g", what,
                 most);
    return refuse(g, track, row, o->value, law->name, text);
}

/* The columns of events: empty cells are rows without the event. */
static int check_events(const struct gaps *g, size_t track, size_t row)
{
    for (size_t i = g->spec->obs_values; i < g->spec->values; i++)
        if (isinf(gaps_value(g, i, row)))
            return refuse(g, track, row, i, "event", "a finite number");
    return 0;
}

int events_check(const struct gaps *g)
{
    const gsv_series *s = g->series;
    int status = 0;
    for (size_t r = 0; g->spec->events && r < s->tracks; r++)
        for (size_t row = s->start[r]; !status && row < s->start[r + 1]; row++)
            status = check_events(g, r, row);
    return status;
}

int values_check(const struct gaps *g)
{
    const gsv_series *s = g->series;
    if (!g->spec->values) return 0;
    for (size_t r = 0; r < s->tracks; r++)
        for (size_t row = s->start[r]; row < s->start[r + 1]; row++) {
            series_passed(s, row);
            for (size_t i = 0; i < g->spec->observations; i++) {
                int status = check_row(g, &g->spec->obs[i], r, row);
                if (status) return status;
            }
            int status = check_events(g, r, row);
            if (status) return status;
        }
    return 0;
}
