/* SPDX-License-Identifier: MIT */
#include "guided/difference.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/spread.h"

/* How far a parameter is moved to both sides: its numbers are bounded. */
static double distance_of(const gsv_model *m, size_t number, double value)
{
    const struct param_spec *p =
        &m->spec->param[spec_param_at(m->spec, number)];
    double away = 1e-4 * fmax(fabs(value), 1e-2);
    if (p->bound != BOUND_NONE) {
        if (isfinite(p->low)) away = fmin(away, 0.5 * (value - p->low));
        if (isfinite(p->high)) away = fmin(away, 0.5 * (p->high - value));
    }
    return away;
}

struct sides {
    const struct difference *difference;
    size_t *number; /* (pairs) of the parameters that are moved */
    double *away;   /* (pairs)                                  */
    double *moved;  /* (threads, values)                        */
    double *value;  /* (pairs, 2, tracks)                       */
    int *status;    /* the same                                 */
};

static void work(void *context, size_t lane, size_t thread)
{
    struct sides *s = context;
    const struct difference *d = s->difference;
    size_t n = d->model->spec->parameters, side = lane / d->tracks;
    double *parameters = s->moved + thread * n;
    memcpy(parameters, d->model->value, n * sizeof *parameters);
    parameters[s->number[side / 2]] +=
        (side % 2 ? 1.0 : -1.0) * s->away[side / 2];
    s->status[lane] = d->value(d->user, thread, parameters, lane % d->tracks,
                               &s->value[lane]);
}

static size_t lane_itself(const void *context, size_t lane)
{
    (void)context;
    return lane;
}

static int run_sides(struct sides *s, size_t lanes)
{
    s->value = NEW(double, lanes);
    s->status = NEW(int, lanes);
    if (!s->value || !s->status) return GSV_NO_MEMORY;
    const struct spread_share share[] = {
        {s->status, sizeof *s->status, lane_itself},
        {s->value, sizeof *s->value, lane_itself}};
    int status = spread_run(&(struct spread){.ranks = s->difference->ranks,
                                             .lanes = lanes,
                                             .threads = s->difference->threads,
                                             .context = s,
                                             .work = work,
                                             .shares = 2,
                                             .share = share});
    for (size_t i = 0; !status && i < lanes; i++) {
        status = s->status[i];
        /* Once more, for a message in this thread. */
        if (status && status != GSV_STOPPED) work(s, i, 0);
    }
    return status;
}

int difference_gradient(const struct difference *d, double *gradient)
{
    const struct spec *spec = d->model->spec;
    size_t n = spec->parameters, pairs = 0, tracks = d->tracks;
    struct sides s = {.difference = d,
                      .number = NEW(size_t, n),
                      .away = NEW(double, n),
                      .moved = NEW(double, d->threads *n)};
    int status = s.number && s.away && s.moved ? 0 : GSV_NO_MEMORY;
    for (size_t i = 0; !status && i < n; i++) {
        const struct param_spec *p = &spec->param[spec_param_at(spec, i)];
        gradient[i] = 0.0;
        if (p->scale && !p->effect) continue;
        s.number[pairs] = i;
        s.away[pairs++] = distance_of(d->model, i, d->model->value[i]);
    }
    if (!status) status = run_sides(&s, 2 * pairs * tracks);
    for (size_t i = 0; !status && i < pairs; i++)
        for (size_t t = 0; t < tracks; t++) {
            const double *low = s.value + 2 * i * tracks + t;
            gradient[s.number[i]] += (low[tracks] - low[0]) / (2.0 * s.away[i]);
        }
    MEM_FREE(s.number, s.away, s.moved, s.value, s.status);
    return status;
}
