/* SPDX-License-Identifier: MIT */
/* What all estimators of hidden states have in common as methods: their units
 * are tracks, their slots are stops. */
#include <math.h>

#include "base/comm.h"
#include "base/error.h"
#include "observe/joint.h"
#include "observe/scan.h"

int rows_accept(const struct method *row, const struct task *t)
{
    if (!spec_is_latent(t->model->spec) && !chain_is_guided(t->model))
        return fail(GSV_BAD_INPUT,
                    "the estimator %s is for states that are observed with "
                    "noise; this model observes them themselves",
                    row->name);
    static const char *const pathless[] = {[GSV_FORM_BOUND] = "bound",
                                           [GSV_FORM_COMPOSED] = "composed",
                                           [GSV_FORM_EXACT] = "exact"};
    if (t->options->form >= GSV_FORM_BOUND)
        return fail(GSV_BAD_INPUT,
                    "the form %s is for states that are observed themselves; "
                    "this model observes them with noise",
                    pathless[t->options->form]);
    return refuse_unreached(t->model);
}

int smoothed_accept(const struct method *row, const struct task *t)
{
    int status = rows_accept(row, t);
    if (!status) status = refuse_singular(t->model);
    return status ? status : refuse_integrals(t->model, row->name);
}

static struct score score_of(const struct rows *r)
{
    const struct stops *s = &r->stops;
    double sum = 0.0, squares = 0.0, row = 0.0, n = (double)stops_rows(s);
    for (size_t i = 0; i < s->count; i++)
        sum += r->increment[i];
    for (size_t i = 0; i < s->count; i++) {
        row += r->increment[i];
        if (s->stop[i].row == NO_ROW) continue;
        squares += (row - sum / n) * (row - sum / n);
        row = 0.0;
    }
    return (struct score){.mean = sum / n,
                          .error =
                              n > 1.0 ? sqrt(squares / (n - 1.0) / n) : NAN,
                          .gaps = (size_t)n};
}

int rows_finish(const struct rows *r, int status, struct score *score)
{
    int stopped = comm_stop(r->options.ranks);
    if (stopped) return stopped;
    if (!status) *score = score_of(r);
    return status;
}

struct slots rows_slots(const void *machine, size_t *unit)
{
    const struct rows *r = machine;
    for (size_t i = 0; unit && i < r->stops.count; i++)
        unit[i] = r->stops.stop[i].track;
    return (struct slots){r->stops.count, r->stops.gaps.series->tracks, true};
}

void rows_track_logs(const void *machine, double *log)
{
    const struct rows *r = machine;
    for (size_t i = 0; i < r->stops.gaps.series->tracks; i++)
        log[i] = 0.0;
    for (size_t i = 0; i < r->stops.count; i++)
        log[r->stops.stop[i].track] += r->increment[i];
}

int rows_units(void *machine, const uint32_t *stream, double *unit)
{
    struct rows *r = machine;
    struct stops *s = &r->stops;
    struct score score;
    for (size_t i = 0; i < s->count; i++)
        s->stop[i].stream = stream[i];
    int status = r->method->run(machine, &(struct request){0}, &score);
    if (status == GSV_STOPPED) return status;
    rows_track_logs(machine, unit);
    for (size_t i = 0; status && i < s->gaps.series->tracks; i++)
        unit[i] = -INFINITY;
    return status == GSV_NUMERICAL ? 0 : status;
}
