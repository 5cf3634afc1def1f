/* SPDX-License-Identifier: MIT */
#include "model/gp_rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "data/series.h"
#include "model/gaps.h"

/* The rows of a block as points: data first, then the states made of them. */
struct rows {
    const gsv_model *m;
    struct gaps gaps;
    size_t gp, axes;
    double *data, *state;  /* (dim, BLOCK)    */
    double *time;          /* (BLOCK)         */
    double *input, *slope; /* (inputs, BLOCK) */
    double *argument;      /* (axes, BLOCK)   */
    struct arena arena;
};

enum { BLOCK = 4096 };

static int rows_init(struct rows *r, const gsv_model *m, const gsv_series *s,
                     size_t gp)
{
    size_t d = m->spec->dim, n = m->spec->inputs;
    *r = (struct rows){.m = m, .gp = gp, .axes = m->spec->graph->gp[gp].axes};
    const struct arena_part part[] = {
        {&r->data, d * BLOCK},  {&r->state, d * BLOCK},
        {&r->time, BLOCK},      {&r->input, n * BLOCK},
        {&r->slope, n * BLOCK}, {&r->argument, r->axes * BLOCK}};
    int status = gaps_init(&r->gaps, m, s);
    return status ? status
                  : arena_lay(&r->arena, sizeof part / sizeof *part, part);
}

/* The arguments in P rows from `from` on, which are of one track. */
static int find_arguments(struct rows *r, size_t track, size_t from, size_t P)
{
    const struct spec *spec = r->m->spec;
    for (size_t j = 0; j < P; j++) {
        r->time[j] = r->gaps.series->time[from + j];
        for (size_t i = 0; i < spec->dim; i++)
            r->data[i * P + j] = gaps_state(&r->gaps, i, from + j);
        gap_inputs(&r->gaps, track, r->time[j], false, r->input + j,
                   r->slope + j, P);
    }
    struct points in = {.P = P,
                        .state = r->data,
                        .time = r->time,
                        .input = r->input,
                        .slope = r->slope};
    int status = model_evaluate(r->m, spec->state_of_data, &in, true, r->state);
    in.state = r->state;
    if (status) return status;
    return model_evaluate(r->m, spec->gp[r->gp].argument, &in, true,
                          r->argument);
}

/* Hands every argument (axes) that is finite to what is done with it. */
static int each_argument(const gsv_model *m, const gsv_series *s, size_t gp,
                         void (*done)(void *with, size_t axes, const double *x),
                         void *with)
{
    struct rows r;
    int status = rows_init(&r, m, s, gp);
    for (size_t track = 0; !status && track < s->tracks; track++)
        for (size_t row = s->start[track]; !status && row < s->start[track + 1];
             row += BLOCK) {
            size_t left = s->start[track + 1] - row;
            size_t P = left < BLOCK ? left : BLOCK;
            status = find_arguments(&r, track, row, P);
            for (size_t j = 0; !status && j < P; j++) {
                double x[GRID_AXES];
                bool finite = true;
                for (size_t k = 0; k < r.axes; k++) {
                    x[k] = r.argument[k * P + j];
                    finite = finite && isfinite(x[k]);
                }
                if (finite) done(with, r.axes, x);
            }
        }
    arena_free(&r.arena);
    gaps_free(&r.gaps);
    return status;
}

/* --- Rows outside -------------------------------------------------------- */

struct grid gp_grid(const gsv_model *m, size_t gp)
{
    const struct gp *h = &m->spec->graph->gp[gp];
    const double *low = m->value + m->spec->gp[gp].box;
    struct grid g = {.axes = h->axes};
    for (size_t k = 0; k < h->axes; k++) {
        g.nodes[k] = h->nodes[k];
        g.low[k] = low[k];
        g.high[k] = low[h->axes + k];
    }
    return g;
}

struct counting {
    struct grid grid;
    struct gp_count count;
};

static void count(void *with, size_t axes, const double *x)
{
    (void)axes;
    struct counting *c = with;
    c->count.rows++;
    c->count.outside += grid_outside(&c->grid, x);
}

int gp_outside(const gsv_model *m, const gsv_series *s, size_t gp,
               struct gp_count *result)
{
    struct counting c = {.grid = gp_grid(m, gp)};
    int status = each_argument(m, s, gp, count, &c);
    *result = c.count;
    return status;
}

static int write_outside(FILE *out, const gsv_model *m, const gsv_series *s)
{
    const struct spec *spec = m->spec;
    for (size_t gp = 0; gp < spec->gps; gp++) {
        struct gp_count n;
        const char *name =
            spec->param[spec_param_at(spec, spec->gp[gp].value)].name;
        if (!m->record && !gp_is_placed(m, gp)) continue;
        int status = gp_outside(m, s, gp, &n);
        if (status) return status;
        if (n.outside)
            fprintf(out,
                    "%zu of %zu rows are outside of the grid of '%.*s', where "
                    "it is back at its prior; give it a wider one by 'over'\n",
                    n.outside, n.rows, (int)strcspn(name, "."), name);
    }
    return 0;
}

char *gsv_model_outside(const gsv_model *m, const gsv_series *s)
{
    if (ANY_NULL(m, s) || series_check(s)) return NULL;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out) return fail_null(GSV_NO_MEMORY, "out of memory");
    int status = write_outside(out, m, s);
    if (fclose(out)) status = fail(GSV_NO_MEMORY, "out of memory");
    if (!status) return text;
    free(text);
    return NULL;
}

/* Marks the points with an argument outside of the box of a gp. */
static int mark_outside(const gsv_model *m, const struct points *in, size_t gp,
                        double *room, bool *outside)
{
    const struct spec *spec = m->spec;
    struct grid g = gp_grid(m, gp);
    struct points at = *in;
    double *state = room, *argument = room + spec->dim * in->P;
    int status = model_evaluate(m, spec->state_of_data, &at, true, state);
    at.state = state;
    if (!status)
        status = model_evaluate(m, spec->gp[gp].argument, &at, true, argument);
    for (size_t j = 0; !status && j < in->P; j++) {
        double u[GRID_AXES];
        for (size_t k = 0; k < g.axes; k++)
            u[k] = argument[k * in->P + j];
        if (grid_outside(&g, u)) outside[j] = true;
    }
    return status;
}

enum gsv_status gsv_model_outside_at(const gsv_model *m, size_t n,
                                     const double *time, const double *x,
                                     const double *input, size_t *count)
{
    if (ANY_NULL(m, count) || (n && ANY_NULL(time, x))) return GSV_BAD_INPUT;
    const struct spec *spec = m->spec;
    *count = 0;
    if (!n || !spec->gps) return 0;
    if (spec->inputs && !input)
        return fail(GSV_BAD_INPUT, "the model has inputs, but none are given");
    double *room = NEW(double, n *(spec->dim + GRID_AXES));
    double *still = NEW(double, n * spec->inputs);
    bool *outside = NEW(bool, n);
    struct points in = {
        .P = n, .state = x, .time = time, .input = input, .slope = still};
    int status = room && still && outside ? 0 : GSV_NO_MEMORY;
    for (size_t gp = 0; gp < spec->gps && !status; gp++)
        status = mark_outside(m, &in, gp, room, outside);
    for (size_t j = 0; j < n && !status; j++)
        *count += outside[j];
    MEM_FREE(room, still, outside);
    return status;
}

/* --- The box ------------------------------------------------------------- */

struct range {
    double *low, *high;
    size_t rows;
};

static void widen(void *with, size_t axes, const double *x)
{
    struct range *r = with;
    for (size_t k = 0; k < axes; k++) {
        r->low[k] = r->rows ? fmin(r->low[k], x[k]) : x[k];
        r->high[k] = r->rows ? fmax(r->high[k], x[k]) : x[k];
    }
    r->rows++;
}

int gp_range(const gsv_model *m, const gsv_series *s, size_t gp, double *low,
             double *high)
{
    struct range r = {.low = low, .high = high};
    int status = each_argument(m, s, gp, widen, &r);
    if (status || r.rows) return status;
    const struct spec *spec = m->spec;
    const char *name =
        spec->param[spec_param_at(spec, spec->gp[gp].value)].name;
    return fail(GSV_BAD_INPUT,
                "%s says nothing of the arguments of the gp '%.*s', so its "
                "grid has no place; write one after it, such as 'over "
                "[-3, 3]'",
                s->source, (int)strcspn(name, "."), name);
}

bool gp_is_placed(const gsv_model *m, size_t gp)
{
    const struct spec *spec = m->spec;
    const struct gp_spec *h = &spec->gp[gp];
    size_t n = 2 * spec->graph->gp[gp].axes;
    for (size_t i = 0; !h->placed && i < n; i++)
        if (m->value[h->box + i] != (i < n / 2 ? -1.0 : 1.0)) return true;
    return h->placed;
}

void gp_place(gsv_model *m, size_t gp, const double *low, const double *high)
{
    const struct spec *spec = m->spec;
    const struct gp_spec *h = &spec->gp[gp];
    size_t axes = spec->graph->gp[gp].axes;
    const double *start = spec->param[spec_param_at(spec, h->length)].start;
    double *box = m->value + h->box, *length = m->value + h->length;
    for (size_t k = 0; k < axes; k++) {
        if (length[k] == start[k]) length[k] = 0.25 * (high[k] - low[k]);
        box[k] = low[k];
        box[axes + k] = high[k];
    }
}
