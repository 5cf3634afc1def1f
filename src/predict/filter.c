/* SPDX-License-Identifier: MIT */
#include "predict/filter.h"

#include <math.h>

#include "base/error.h"
#include "observe/scan.h"

/* Rows of a batch, and points of a stop: more than a likelihood takes, since
 * each stop's law is looked at by itself. */
enum { BATCH = 64, POINTS = 64 };

/* --- Rows ----------------------------------------------------------------- */

static bool is_known(const struct gaps *g, size_t row)
{
    const struct spec *spec = g->spec;
    bool latent = spec_is_latent(spec), any = false, all = true;
    for (size_t i = 0; i < spec->dim; i++) {
        bool here = !isnan(gaps_state(g, i, row));
        any = any || here;
        all = all && here;
    }
    for (size_t i = 0; i < spec->values; i++)
        any = any || !isnan(gaps_value(g, i, row));
    return latent ? any : all;
}

int filter_rows_init(struct filter_rows *f, const struct gaps *g)
{
    const gsv_series *s = g->series;
    *f = (struct filter_rows){.first = NEW(size_t, s->tracks + 1)};
    if (!f->first) return GSV_NO_MEMORY;
    for (size_t r = 0; r < s->tracks; r++) {
        for (size_t row = s->start[r]; row < s->start[r + 1]; row++) {
            if (!is_known(g, row) && !gaps_lead_to_events(g, r, row)) continue;
            if (MEM_ROOM(f->row, f->count, f->capacity)) return GSV_NO_MEMORY;
            f->row[f->count++] = row;
        }
        f->first[r + 1] = f->count;
    }
    return 0;
}

void filter_rows_free(struct filter_rows *f)
{
    mem_free(f->row);
    mem_free(f->first);
    *f = (struct filter_rows){0};
}

/* --- States that are known --------------------------------------------------
 */

struct exact {
    const struct gaps *gaps;
    struct origin origin[BATCH];
    double *x; /* (BATCH, dim) */
    size_t n;
};

static int flush(struct exact *e, filter_visit visit, void *user)
{
    int status = e->n ? visit(user, e->n, e->origin) : 0;
    e->n = 0;
    return status;
}

static void add(struct exact *e, size_t track, size_t row)
{
    size_t d = e->gaps->spec->dim;
    double *x = e->x + e->n * d;
    for (size_t i = 0; i < d; i++)
        x[i] = gaps_state(e->gaps, i, row);
    e->origin[e->n++] = (struct origin){.track = track,
                                        .row = row,
                                        .time = e->gaps->series->time[row],
                                        .points = 1,
                                        .stride = 1,
                                        .x = x,
                                        .number = row};
}

static int run_exact(const gsv_model *m, const gsv_series *s,
                     filter_visit visit, void *user)
{
    struct gaps gaps;
    struct filter_rows rows = {0};
    int status = gaps_find(&gaps, m, s);
    if (status) return status;
    struct exact e = {.gaps = &gaps, .x = NEW(double, BATCH * m->spec->dim)};
    status = e.x ? filter_rows_init(&rows, &gaps) : GSV_NO_MEMORY;
    for (size_t r = 0; !status && rows.row && r < s->tracks; r++)
        for (size_t k = rows.first[r]; !status && k < rows.first[r + 1]; k++) {
            add(&e, r, rows.row[k]);
            if (e.n == BATCH) status = flush(&e, visit, user);
        }
    if (!status) status = flush(&e, visit, user);
    filter_rows_free(&rows);
    mem_free(e.x);
    gaps_free(&gaps);
    return status;
}

/* --- States that are not -----------------------------------------------------
 */

struct latent {
    filter_visit visit;
    void *user;
    struct origin *origin; /* (stops of a chunk) */
};

static int visit_chunk(void *user, const struct scan *s, size_t first,
                       size_t end, const size_t *at)
{
    struct latent *l = user;
    size_t points = at[end - first], count = 0;
    for (size_t n = first; n < end; n++) {
        const struct stop *stop = &s->stops.stop[n];
        if (stop->row != NO_ROW)
            l->origin[count++] =
                (struct origin){.track = stop->track,
                                .row = stop->row,
                                .time = stop->time,
                                .points = at[n - first + 1] - at[n - first],
                                .stride = points,
                                .x = s->support.x + at[n - first],
                                .log_weight = s->a + at[n - first],
                                .number = stop->row};
        if (!isfinite(s->increment[n]))
            return fail(GSV_NUMERICAL,
                        "no support point explains what was observed at time "
                        "%g of series '%s'; check the model's formula, its "
                        "parameters and the data",
                        stop->time, s->stops.gaps.series->label[stop->track]);
    }
    return count ? l->visit(l->user, count, l->origin) : 0;
}

static int run_latent(const gsv_model *m, const gsv_series *s,
                      const gsv_options *o, filter_visit visit, void *user)
{
    struct scan scan;
    gsv_options mine = *o;
    struct latent l = {.visit = visit, .user = user};
    if (!mine.points) mine.points = POINTS;
    mine.gradient = false;
    int status = scan_init(&scan, m, s, &mine);
    if (!status) {
        l.origin = NEW(struct origin, scan.chunk);
        status =
            l.origin ? scan_forward(&scan, 0, visit_chunk, &l) : GSV_NO_MEMORY;
    }
    scan_free(&scan);
    mem_free(l.origin);
    return status;
}

int filter_run(const gsv_model *m, const gsv_series *s, const gsv_options *o,
               filter_visit visit, void *user)
{
    return spec_is_latent(m->spec) ? run_latent(m, s, o, visit, user)
                                   : run_exact(m, s, visit, user);
}
