/* SPDX-License-Identifier: MIT */
/* A first look: facts of every column, models of each, and texts that have all
 * columns: the best kind of each, the next best, and a linear system. */
#include "look/look.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/option_rules.h"
#include "base/plain.h"
#include "data/series.h"

enum { MOST_COLUMNS = 8, MODELS = 3 };

struct look {
    const gsv_series *s;
    const gsv_options *o;
    gsv_look_result *out;
    size_t n; /* columns that are modelled */
    struct sight sight[MOST_COLUMNS];
    size_t column[MOST_COLUMNS];
    struct guess guess[MOST_COLUMNS][LOOK_KINDS];
    size_t guesses[MOST_COLUMNS];
};

/* --- Columns -------------------------------------------------------------- */

static int look_at(struct look *l, size_t c)
{
    gsv_look_column *out = &l->out->column[c];
    struct sight *v = &l->sight[l->n];
    int status = look_column(l->s, c, out, v);
    out->named = look_can_name(out->name);
    if (!status && !out->flat && out->named)
        status = look_guess(v, out, l->o, l->guess[l->n], &l->guesses[l->n]);
    if (status || out->flat || !out->named || !l->guesses[l->n]) {
        sight_free(v);
        return status;
    }
    out->kind = kind_words(l->guess[l->n][0].kind);
    l->column[l->n++] = c;
    return 0;
}

/* --- Texts ---------------------------------------------------------------- */

/* The kind of column i that is number `rank` from the best. */
static size_t kind_at(const struct look *l, size_t i, size_t rank)
{
    size_t last = l->guesses[i] - 1;
    return l->guess[i][rank < last ? rank : last].kind;
}

static void write_kinds(const struct look *l, size_t rank, FILE *out)
{
    for (size_t i = 0; i < l->n; i++) {
        const struct sight *v = &l->sight[i];
        char end[120] = "";
        if (l->n > 1) snprintf(end, sizeof end, "_%s", v->name);
        fprintf(out, "# %s: %s\n", v->name, kind_words(kind_at(l, i, rank)));
        kind_write(kind_at(l, i, rank), v, &l->out->column[l->column[i]], end,
                   out);
    }
}

/* Every column moves every other: rates of return on the diagonal. */
static void write_linear(const struct look *l, FILE *out)
{
    fputs("# a linear system: every column moves the others\n", out);
    for (size_t i = 0; i < l->n; i++) {
        const struct sight *v = &l->sight[i];
        const gsv_look_column *c = &l->out->column[l->column[i]];
        fprintf(out, "state %s\nparam m_%s = %.3g, s_%s = %.3g > 0\n", v->name,
                v->name, c->mean, v->name, sqrt(v->rate));
        for (size_t j = 0; j < l->n; j++)
            fprintf(out, "param a_%s_%s = %.3g\n", v->name, l->sight[j].name,
                    i == j ? fmin(v->rate / (2.0 * c->sd * c->sd), 1.0 / v->gap)
                           : 0.0);
    }
    for (size_t i = 0; i < l->n; i++) {
        const char *x = l->sight[i].name;
        fprintf(out, "d%s = -(", x);
        for (size_t j = 0; j < l->n; j++) {
            const char *y = l->sight[j].name;
            fprintf(out, "%sa_%s_%s*(%s - m_%s)", j ? " + " : "", x, y, y, y);
        }
        fprintf(out, ")*dt + s_%s*dW\n", x);
    }
}

/* Models with hidden and exact states together cannot be compared with those
 * of exact ones alone, but can be fitted. */
static int write_model(struct look *l, size_t rank)
{
    size_t size = 0;
    char **text = &l->out->model[l->out->models];
    bool more = rank == 0;
    for (size_t i = 0; i < l->n; i++)
        more = more || rank < l->guesses[i];
    bool linear = rank == 2 && l->n > 1;
    if (!more && !linear) return 0;
    FILE *out = open_memstream(text, &size);
    if (!out) return fail(GSV_NO_MEMORY, "out of memory");
    if (linear) write_linear(l, out);
    else write_kinds(l, rank, out);
    if (fclose(out)) return fail(GSV_NO_MEMORY, "out of memory");
    l->out->models++;
    return 0;
}

/* --- In words ------------------------------------------------------------- */

static void say_signs(const gsv_look_column *c, double gap, FILE *out)
{
    fprintf(out, "  neighbouring values correlate by %.2f, increments by %.2f",
            c->correlation, c->reversal);
    fputs(c->correlation < 0.3
              ? ": gaps are longer than the correlation time, and what happens "
                "between rows cannot be seen\n"
          : c->reversal < -0.1 ? ": a sign of measurement noise\n"
          : c->reversal > 0.1  ? ": a sign of inertia\n"
                               : "\n",
          out);
    double drift = c->correlation > 0.0 ? -log(c->correlation) : INFINITY;
    fprintf(out, "  over a gap of %.3g drift is %.2g of the noise\n", gap,
            sqrt(0.5 * fmin(drift, 9.0)));
    if (fabs(c->noise_slope) > 0.15)
        fprintf(out,
                "  increments are %s where the level is high (%.2f): noise "
                "depends on the state\n",
                c->noise_slope > 0.0 ? "longer" : "shorter", c->noise_slope);
    if (fabs(c->shift) > 1.0)
        fprintf(out,
                "  the mean moves by %.1f deviations from the first to the "
                "second half: not stationary, or too short\n",
                c->shift);
    if (c->jumps)
        fprintf(out,
                "  %zu jump%s: increments of more than 8 robust deviations; no "
                "diffusion makes them, give their times as an event\n",
                c->jumps, c->jumps == 1 ? "" : "s");
    if (c->power > 10.0)
        fprintf(out, "  increments repeat with period %.4g\n", c->period);
}

static void say_column(const gsv_look_column *c, double gap, FILE *out)
{
    fprintf(out, "\n%s: ", c->name);
    if (c->missing) fprintf(out, "%zu cells are missing; ", c->missing);
    if (c->flat) {
        fputs("constant, and no state of a model\n", out);
        return;
    }
    fprintf(out, "%.4g to %.4g, mean %.4g, deviation %.3g\n", c->low, c->high,
            c->mean, c->sd);
    say_signs(c, gap, out);
    if (!c->named)
        fputs("  a model cannot have this name: rename the column\n", out);
    else if (c->kind) fprintf(out, "  looks like: %s\n", c->kind);
}

static int write_report(struct look *l)
{
    gsv_look_result *r = l->out;
    size_t size = 0;
    FILE *out = open_memstream(&r->report, &size);
    if (!out) return fail(GSV_NO_MEMORY, "out of memory");
    fprintf(out, "%zu series, %zu rows, gaps %.4g to %.4g (median %.4g)\n",
            r->tracks, r->rows, r->shortest, r->longest, r->gap);
    if (r->longest > 3.0 * r->gap)
        fprintf(out, "the longest gap is %.3g times the median\n",
                r->longest / r->gap);
    for (size_t c = 0; c < r->columns; c++)
        say_column(&r->column[c], r->gap, out);
    return fclose(out) ? fail(GSV_NO_MEMORY, "out of memory") : 0;
}

/* --- All of it ------------------------------------------------------------ */

static int look_all(struct look *l)
{
    const gsv_series *s = l->s;
    int status = look_gaps(s, l->out);
    for (size_t c = 0; !status && c < s->columns && l->n < MOST_COLUMNS; c++)
        status = look_at(l, c);
    if (!status && !l->n)
        status =
            fail(GSV_BAD_INPUT,
                 "%s has no column that changes and can be a state", s->source);
    for (size_t rank = 0; !status && rank < MODELS; rank++)
        status = write_model(l, rank);
    return status ? status : write_report(l);
}

enum gsv_status gsv_look(const gsv_series *s, const gsv_options *o,
                         gsv_look_result *result)
{
    if (ANY_NULL(s, o, result)) return GSV_BAD_INPUT;
    *result = (gsv_look_result){0};
    if (option_check(GSV_OF_ESTIMATOR, o) || series_check(s))
        return GSV_BAD_INPUT;
    size_t columns = s->columns < MOST_COLUMNS ? s->columns : MOST_COLUMNS;
    struct look l = {.s = s, .o = o, .out = result};
    struct plain_locale locale;
    *result = (gsv_look_result){.tracks = s->tracks,
                                .rows = s->rows,
                                .columns = columns,
                                .column = NEW(gsv_look_column, columns),
                                .model = NEW(char *, MODELS)};
    plain_begin(&locale);
    int status = result->column && result->model ? look_all(&l) : GSV_NO_MEMORY;
    plain_end(&locale);
    for (size_t i = 0; i < l.n; i++)
        sight_free(&l.sight[i]);
    if (status) gsv_look_free(result);
    return (enum gsv_status)status;
}

void gsv_look_free(gsv_look_result *r)
{
    if (!r) return;
    for (size_t i = 0; r->model && i < r->models; i++)
        free(r->model[i]);
    free(r->report);
    MEM_FREE(r->column, r->model);
    *r = (gsv_look_result){0};
}
