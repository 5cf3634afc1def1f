/* SPDX-License-Identifier: MIT */
#include "estimator/settle.h"

#include <math.h>

#include "base/error.h"
#include "base/memory.h"
#include "data/series_join.h"
#include "estimator/estimator.h"
#include "estimator/resolve.h"
#include "model/model.h"

/* Rows of a track, and tracks, that are tried; and how far off an estimate of
 * them may be, in nats, before others are asked. */
enum { PILOT_ROWS = 100, PILOT_TRACKS = 4 };
static const double GOOD = 0.1;

/* The most steps that are chosen. */
enum { MOST_STEPS = 64 };

/* The first rows of the first tracks. */
static gsv_series *first_rows(const gsv_series *s)
{
    double *until = NEW(double, s->tracks);
    if (!until) return NULL;
    for (size_t r = 0; r < s->tracks; r++) {
        size_t rows = s->start[r + 1] - s->start[r];
        if (rows > PILOT_ROWS) rows = PILOT_ROWS;
        until[r] = rows && r < PILOT_TRACKS ? s->time[s->start[r] + rows - 1]
                                            : -INFINITY;
    }
    gsv_series *some = series_until(s, until);
    mem_free(until);
    return some;
}

/* How far off an estimate may be: by chance, or by its steps. */
struct verdict {
    double doubt, change; /* in all, and by steps */
    size_t points;
};

/* trial: it is one of steps alone. */
static int look(const gsv_model *m, const gsv_series *s,
                const gsv_options *options, bool trial, struct verdict *v)
{
    gsv_options o = *options;
    gsv_result r = {.values = 0};
    struct estimator e = {0};
    o.gradient = false;
    const struct task task = {
        .model = m, .series = s, .options = &o, .given_effects = true};
    const struct request q = {.iteration = o.iteration, .trial = trial};
    int status = estimator_init(&e, &task);
    if (!status) status = estimator_fill(&e, &q, true, &r);
    estimator_free(&e);
    *v = (struct verdict){.doubt = INFINITY};
    if (!status) {
        if (!isnan(r.discretisation)) v->change = fabs(r.discretisation);
        v->points = estimator_points(m, options, &r);
        v->doubt = r.error + v->change;
        if (r.flagged && v->doubt < GOOD) v->doubt = GOOD;
    }
    gsv_result_free(&r);
    return status == GSV_NUMERICAL || status == GSV_BAD_INPUT ? 0 : status;
}

/* Steps of a higher order, as those that integrate noise, have a small share of
 * the change by half as many for an error. */
static const double ORDER_SHARE = 4.0;

/* Twice as many steps until that changes little; `first` of them see how the
 * drift moves in time. Those of a higher order are half of the ones that
 * changed little. */
static int choose_steps(const struct method *method, const gsv_model *m,
                        const gsv_series *s, size_t first, gsv_options *o)
{
    gsv_options more = *o;
    struct verdict v;
    if (method->pilots) more.points = method->pilots;
    size_t most = 4 * first > MOST_STEPS ? 4 * first : MOST_STEPS;
    bool fine = m->spec->noise == NOISE_SINGULAR;
    for (size_t steps = first > 1 ? first : 2; steps <= most; steps *= 2) {
        more.steps = steps;
        int status = look(m, s, &more, true, &v);
        if (status) return status;
        double most_change = method->change + 2.0 * (v.doubt - v.change);
        if (isfinite(v.doubt) && v.change < most_change) break;
        o->steps = fine ? steps : 2 * steps;
        if (fine && v.change < ORDER_SHARE * method->change) break;
    }
    return 0;
}

/* What an estimator says, with steps of its choice where it needs more. */
static int look_closely(const gsv_model *m, const gsv_series *s,
                        const gsv_options *options, struct verdict *v)
{
    gsv_options o = *options;
    const struct task task = {.model = m, .options = &o};
    const struct method *method = estimator_choose(&task).method;
    int status = steps_are_open(&o) && method->fewest
                     ? choose_steps(method, m, s, method->fewest, &o)
                     : 0;
    return status ? status : look(m, s, &o, false, v);
}

/* The better one where neither is good at first: the scan, also with twice as
 * many points, or the guided filter. */
static int choose_closely(const gsv_model *m, const gsv_series *s,
                          size_t points, gsv_options *o)
{
    gsv_options candidate[] = {*o, *o, *o};
    double least = INFINITY;
    bool open = !o->points;
    candidate[0].observe = candidate[2].observe = GSV_OBSERVE_SCAN;
    candidate[1].observe = GSV_OBSERVE_GUIDED;
    if (open) candidate[2].points = 2 * points;
    *o = candidate[0];
    for (size_t i = 0; i < 2u + (open && points); i++) {
        struct verdict v;
        int status = look_closely(m, s, &candidate[i], &v);
        if (status) return status;
        if (!(v.doubt < least)) continue;
        least = v.doubt;
        *o = candidate[i];
    }
    return 0;
}

/* The scan, or the guided filter where that is the better one. */
static int choose(const gsv_model *m, const gsv_series *s, gsv_options *o)
{
    gsv_options by_scan = *o, by_guide = *o;
    struct verdict scan, guided = {.doubt = INFINITY};
    by_scan.observe = GSV_OBSERVE_SCAN;
    by_guide.observe = GSV_OBSERVE_GUIDED;
    int status = look(m, s, &by_scan, false, &scan);
    if (!status && !(scan.doubt < GOOD))
        status = look(m, s, &by_guide, false, &guided);
    if (status) return status;
    if (fmin(scan.doubt, guided.doubt) > GOOD)
        return choose_closely(m, s, scan.points, o);
    *o = guided.doubt < scan.doubt ? by_guide : by_scan;
    return 0;
}

/* As many steps as see a force in time, where that is more than usual. */
static int see_forces(const gsv_model *m, const gsv_series *s, gsv_options *o)
{
    enum { USUAL_STEPS = 8, MOST_DOUBLINGS = 8 };
    size_t seen;
    if (!spec_is_latent(m->spec)) return 0;
    int status = resolve_steps(m, s, 1, MOST_DOUBLINGS, &seen);
    if (!status && 2 * seen > USUAL_STEPS) o->steps = 2 * seen;
    return status;
}

static int settle(const gsv_model *m, const gsv_series *s, bool steps,
                  gsv_options *o)
{
    const struct task task = {.model = m, .options = o};
    bool open = estimator_is_open(&task);
    steps = steps && steps_are_open(o);
    int status = steps ? see_forces(m, s, o) : 0;
    bool sought = steps && estimator_choose(&task).method->fewest;
    if (status || (!open && !sought)) return status;
    gsv_series *some = first_rows(s);
    if (!some) return GSV_NO_MEMORY;
    if (open) status = choose(m, some, o);
    const struct method *method = estimator_choose(&task).method;
    if (!status && steps && method->fewest) {
        size_t first = o->steps ? o->steps : method->fewest;
        status = choose_steps(method, m, some, first, o);
    }
    gsv_series_free(some);
    return status;
}

int estimator_settle(const gsv_model *m, const gsv_series *s, gsv_options *o)
{
    return settle(m, s, true, o);
}

int estimator_settle_method(const gsv_model *m, const gsv_series *s,
                            gsv_options *o)
{
    return settle(m, s, false, o);
}
