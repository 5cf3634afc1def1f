/* SPDX-License-Identifier: MIT */
#include "predict/filter.h"

#include "base/error.h"
#include "base/memory.h"
#include "estimator/estimator.h"

/* --- Rows ----------------------------------------------------------------- */

int filter_rows_init(struct filter_rows *f, const struct gaps *g)
{
    const gsv_series *s = g->series;
    *f = (struct filter_rows){.first = NEW(size_t, s->tracks + 1)};
    if (!f->first) return GSV_NO_MEMORY;
    for (size_t r = 0; r < s->tracks; r++) {
        for (size_t row = s->start[r]; row < s->start[r + 1]; row++) {
            if (!gaps_are_known(g, row) && !gaps_lead_to_events(g, r, row))
                continue;
            if (MEM_ROOM(f->row, f->count, f->capacity)) return GSV_NO_MEMORY;
            f->row[f->count++] = row;
        }
        f->first[r + 1] = f->count;
    }
    return 0;
}

void filter_rows_free(struct filter_rows *f)
{
    MEM_FREE(f->row, f->first);
    *f = (struct filter_rows){0};
}

/* --- States that are observed --------------------------------------------- */

enum { BATCH = 64 };

/* The rows [first, first + n), the first of which belongs to *track or to a
 * later one. */
static int run_batch(const struct gaps *g, const struct filter_rows *rows,
                     size_t *track, size_t first, size_t n, double *x,
                     const struct filter_visitor *v)
{
    struct state_law law[BATCH];
    size_t d = g->spec->dim;
    for (size_t k = 0; k < n; k++, x += d) {
        size_t row = rows->row[first + k];
        while (rows->first[*track + 1] <= first + k)
            ++*track;
        for (size_t i = 0; i < d; i++)
            x[i] = gaps_state(g, i, row);
        law[k] = (struct state_law){.track = *track,
                                    .row = row,
                                    .time = g->series->time[row],
                                    .points = 1,
                                    .stride = 1,
                                    .x = x};
    }
    return v->visit(v->user, n, law);
}

static int run_observed(const gsv_model *m, const gsv_series *s,
                        const struct filter_visitor *v)
{
    struct gaps gaps;
    struct filter_rows rows = {0};
    size_t track = 0;
    int status = gaps_find(&gaps, m, s);
    if (status) return status;
    double *x = NEW(double, BATCH * m->spec->dim);
    status = x ? filter_rows_init(&rows, &gaps) : GSV_NO_MEMORY;
    for (size_t k = 0; !status && k < rows.count; k += BATCH) {
        size_t left = rows.count - k, n = left < BATCH ? left : BATCH;
        status = run_batch(&gaps, &rows, &track, k, n, x, v);
    }
    filter_rows_free(&rows);
    mem_free(x);
    gaps_free(&gaps);
    return status;
}

/* --- All ------------------------------------------------------------------ */

const struct method *filter_method(const gsv_model *m, const gsv_options *o)
{
    gsv_options scan = *o;
    struct task task = {.model = m, .options = o, .given_effects = true};
    const struct method *method = estimator_choose(&task).method;
    if (o->observe != GSV_OBSERVE_AUTO || method->filter ||
        !spec_is_latent(m->spec))
        return method;
    scan.observe = GSV_OBSERVE_SCAN;
    task.options = &scan;
    return estimator_choose(&task).method;
}

/* What rows refuse for their own reasons is asked where they run. */
int filter_check(const gsv_model *m, const gsv_options *o)
{
    const struct task task = {.model = m, .options = o, .given_effects = true};
    const struct method *method = filter_method(m, o);
    bool special = m->spec->events || m->spec->init_log_density;
    if (spec_is_latent(m->spec) && !method->filter)
        return fail(GSV_BAD_INPUT,
                    "the estimator %s does not know where latent states are "
                    "row by row; use --observe guided or --observe scan",
                    method->name);
    return special ? estimator_accept(method, &task) : 0;
}

int filter_run(const gsv_model *m, const gsv_series *s, const gsv_options *o,
               const struct filter_visitor *v)
{
    const struct task task = {
        .model = m, .series = s, .options = o, .given_effects = true};
    const struct method *method = filter_method(m, o);
    if (!method->filter) return run_observed(m, s, v);
    int refused = method->accept(method, &task);
    return refused ? refused : method->filter(&task, v);
}
