/* SPDX-License-Identifier: MIT */
/* Roles of columns, from their cells. A state changes from row to row; a column
 * that changes only between series, at few rows, or at a constant speed is
 * known, and so an input. */
#include "look/roles.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "data/category.h"
#include "data/phrase.h"
#include "look/look.h"

/* A held column has at least so many pairs of rows, of which at most this share
 * differ. A clock's increments are alike up to rounding. A velocity explains
 * its position's increments but for this share of their squares. */
enum { FEWEST_ROWS = 3, FEWEST_PAIRS = 10, MOST_STATES = 8, MOST_INPUTS = 8 };
static const double SHARE_HELD = 0.2, ROUNDING = 1e-6, SHARE_LEFT = 0.02;

static const double *values_of(const gsv_series *s, const struct part *p)
{
    return s->value + p->column * s->rows;
}

/* Whether a model can have a column of this name. */
bool look_can_name(const char *name)
{
    char text[2 * MOST_NAME + 30];
    if (strlen(name) > MOST_NAME) return false;
    snprintf(text, sizeof text, "state %s\nd%s = dW\n", name, name);
    gsv_model *m = gsv_model_parse(text, "look");
    gsv_model_free(m);
    return m != NULL;
}

/* --- Words ---------------------------------------------------------------- */

/* False where there are more levels than fit. */
static bool note_level(struct part *p, double code)
{
    for (size_t i = 0; i < p->levels; i++)
        if (p->level[i] == code) return true;
    if (p->levels == MOST_LEVELS) return false;
    p->level[p->levels++] = code;
    return true;
}

/* A category has few levels, each of several rows. */
static enum role role_of_words(const gsv_series *s, struct part *p,
                               size_t words, size_t numbers)
{
    const double *x = values_of(s, p);
    if (numbers > words) return ROLE_MIXED;
    for (size_t i = 0; i < s->rows; i++)
        if (!isnan(x[i]) && !note_level(p, x[i])) return ROLE_TEXT;
    if (p->levels == 1) return ROLE_FLAT;
    return 2 * p->levels > words + numbers ? ROLE_TEXT : ROLE_GROUP;
}

/* --- Numbers -------------------------------------------------------------- */

/* Neighbouring values of a column within series. */
struct steps {
    size_t pairs, changes;
    double low, high; /* increments over time */
};

static struct steps count_steps(const gsv_series *s, const double *x)
{
    struct steps n = {.low = INFINITY, .high = -INFINITY};
    for (size_t t = 0; t < s->tracks; t++)
        for (size_t i = s->start[t], last = s->rows; i < s->start[t + 1]; i++) {
            if (isnan(x[i])) continue;
            if (last < s->rows) {
                double v = (x[i] - x[last]) / (s->time[i] - s->time[last]);
                n.pairs++;
                n.changes += x[i] != x[last];
                n.low = fmin(n.low, v);
                n.high = fmax(n.high, v);
            }
            last = i;
        }
    return n;
}

static enum role role_of_numbers(const gsv_series *s, const struct part *p)
{
    struct steps n = count_steps(s, values_of(s, p));
    if (p->seen.flat) return ROLE_FLAT;
    if (!n.changes) return ROLE_INPUT;
    if (p->seen.rows < FEWEST_ROWS) return ROLE_FLAT;
    if (n.pairs < FEWEST_PAIRS) return ROLE_STATE;
    if ((double)n.changes <= SHARE_HELD * (double)n.pairs) return ROLE_HELD;
    double most = fmax(fabs(n.low), fabs(n.high));
    return n.high - n.low <= ROUNDING * most ? ROLE_INPUT : ROLE_STATE;
}

static bool is_whole(size_t n, const double *x)
{
    for (size_t i = 0; i < n; i++)
        if (!isnan(x[i]) && (x[i] < 0.0 || x[i] != floor(x[i]))) return false;
    return true;
}

/* look_column() sees the first rows only: all of them say whether it changes.
 */
static bool is_flat(size_t n, const double *x)
{
    double first = NAN;
    for (size_t i = 0; i < n; i++) {
        if (isnan(first)) first = x[i];
        if (!isnan(x[i]) && x[i] != first) return false;
    }
    return true;
}

static int see_column(const gsv_series *s, struct part *p)
{
    const double *x = values_of(s, p);
    size_t words = 0, numbers = 0;
    struct sight v;
    for (size_t i = 0; i < s->rows; i++)
        if (!isnan(x[i])) ++*(category_is_word(x[i]) ? &words : &numbers);
    int status = words ? 0 : look_column(s, p->column, &p->seen, &v);
    if (!status && !words) {
        p->noise = !p->seen.flat && v.rate > 0.0 ? sqrt(v.rate) : 1.0;
        p->seen.flat = is_flat(s->rows, x);
        p->whole = is_whole(s->rows, x);
        sight_free(&v);
    }
    p->role =
        words ? role_of_words(s, p, words, numbers) : role_of_numbers(s, p);
    bool skipped =
        p->role == ROLE_FLAT || p->role == ROLE_TEXT || p->role == ROLE_MIXED;
    if (!skipped && !look_can_name(p->name)) p->role = ROLE_UNNAMED;
    return status;
}

/* --- Between columns ------------------------------------------------------ */

/* Whether v is the velocity of x: dx = (v + v')/2 dt over nearly all gaps. */
static bool is_velocity(const gsv_series *s, const double *x, const double *v)
{
    double all = 0.0, left = 0.0;
    size_t pairs = 0;
    for (size_t t = 0; t < s->tracks; t++)
        for (size_t i = s->start[t] + 1; i < s->start[t + 1]; i++) {
            double dx = x[i] - x[i - 1], dt = s->time[i] - s->time[i - 1];
            double off = dx - 0.5 * (v[i] + v[i - 1]) * dt;
            if (isnan(off)) continue;
            all += dx * dx;
            left += off * off;
            pairs++;
        }
    return pairs >= FEWEST_PAIRS && left < SHARE_LEFT * all;
}

/* Each velocity is that of one position; a velocity may be a position, too. */
static void find_velocities(const gsv_series *s, struct part *part)
{
    for (size_t v = 0; v < s->columns; v++)
        for (size_t x = 0; x < s->columns; x++) {
            if (x == v || part[x].role != ROLE_STATE) continue;
            if (part[v].role != ROLE_STATE && part[v].role != ROLE_POSITION)
                continue;
            if (part[v].role == ROLE_POSITION && part[v].velocity == x)
                continue;
            if (!is_velocity(s, values_of(s, part + x), values_of(s, part + v)))
                continue;
            part[x].role = ROLE_POSITION;
            part[x].velocity = v;
            break;
        }
}

/* A model has a state: without one, the input that changes most often. */
static void find_state(const gsv_series *s, struct part *part)
{
    size_t most = 0, best = s->columns;
    for (size_t c = 0; c < s->columns; c++) {
        if (part[c].role == ROLE_STATE) return;
        if (part[c].role != ROLE_HELD && part[c].role != ROLE_INPUT) continue;
        size_t changes = count_steps(s, values_of(s, part + c)).changes;
        if (changes > most) best = c;
        if (changes > most) most = changes;
    }
    if (best < s->columns) part[best].role = ROLE_STATE;
}

static void limit(const gsv_series *s, struct part *part)
{
    size_t states = 0, inputs = 0;
    for (size_t c = 0; c < s->columns; c++) {
        if (part[c].role == ROLE_STATE && ++states > MOST_STATES)
            part[c].role = ROLE_SURPLUS;
        if ((part[c].role == ROLE_INPUT || part[c].role == ROLE_HELD) &&
            ++inputs > MOST_INPUTS)
            part[c].role = ROLE_SURPLUS;
    }
}

static int no_state(const gsv_series *s, const struct part *part)
{
    for (size_t c = 0; c < s->columns; c++)
        if (part[c].role == ROLE_UNNAMED)
            return fail(GSV_BAD_INPUT,
                        "%s has no column that can be a state: a model cannot "
                        "have the name '%s'; rename it with letters, digits "
                        "and _",
                        s->source, phrase_name(part[c].name).text);
        else if (part[c].role == ROLE_MIXED)
            return fail(GSV_BAD_INPUT,
                        "%s has no column that can be a state: some cells of "
                        "'%s' are not numbers",
                        s->source, phrase_name(part[c].name).text);
    return fail(GSV_BAD_INPUT,
                "%s has no column of numbers that change within a series of "
                "three rows or more, so none can be a state",
                s->source);
}

int roles_find(const gsv_series *s, struct part *part)
{
    int status = 0;
    for (size_t c = 0; c < s->columns && !status; c++) {
        part[c] = (struct part){.name = s->name[c], .column = c};
        status = see_column(s, part + c);
    }
    if (status) return status;
    find_state(s, part);
    limit(s, part);
    find_velocities(s, part);
    for (size_t c = 0; c < s->columns; c++)
        if (part[c].role == ROLE_STATE) return 0;
    return no_state(s, part);
}
