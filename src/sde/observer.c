/* SPDX-License-Identifier: MIT */
#include "sde/observer.h"

#include "base/clock.h"
#include "base/error.h"

/* Which estimator a model gets by default. */
static enum gsv_observe choose(const gsv_model *m, const gsv_options *o)
{
    (void)m;
    return o->observe == GSV_OBSERVE_AUTO ? GSV_OBSERVE_SCAN : o->observe;
}

int observer_init(struct observer *o, const gsv_model *m,
                  const gsv_series *series, const gsv_options *options)
{
    *o = (struct observer){.model = m, .kind = choose(m, options)};
    if (o->kind == GSV_OBSERVE_SCAN)
        return scan_init(&o->scan, m, series, options);
    return fail(GSV_BAD_INPUT, "this estimator of noisy observations is not "
                               "supported yet; --observe scan is");
}

void observer_free(struct observer *o)
{
    if (o->kind == GSV_OBSERVE_SCAN) scan_free(&o->scan);
    *o = (struct observer){0};
}

int observer_run(struct observer *o, const double *guide, uint32_t iteration,
                 double *gradient)
{
    return scan_run(&o->scan, guide, iteration, gradient);
}

const struct stops *observer_stops(const struct observer *o)
{
    return &o->scan.stops;
}

void observer_turn(struct observer *o, size_t stop, uint32_t turn)
{
    o->scan.stops.stop[stop].turn = turn;
}

const double *observer_increment(const struct observer *o)
{
    return o->scan.increment;
}

int observer_fill(const struct observer *o, gsv_result *r)
{
    return scan_fill(&o->scan, r);
}

int observer_loglik(const gsv_model *m, const gsv_series *series,
                    const gsv_options *options, const double *guide,
                    gsv_result *result)
{
    struct observer o;
    double begin = clock_seconds();
    gsv_result r = {.values = m->spec->parameters};
    int status = observer_init(&o, m, series, options);
    if (!status && options->gradient) {
        r.gradient = NEW(double, r.values);
        if (!r.gradient) status = GSV_NO_MEMORY;
    }
    if (!status)
        status = observer_run(&o, guide, options->iteration, r.gradient);
    if (!status) status = observer_fill(&o, &r);
    r.seconds = clock_seconds() - begin;
    observer_free(&o);
    if (status) gsv_result_free(&r);
    else *result = r;
    return status;
}
