/* SPDX-License-Identifier: MIT */
#include "observe/observer.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/halt.h"

/* Which estimator a model gets by default: with more latent states than this
 * particles are better at the same price (docs/ESTIMATOR.md). */
enum { SCAN_STATES = 2 };

static enum gsv_observe choose(const gsv_model *m, const gsv_options *o)
{
    if (o->observe != GSV_OBSERVE_AUTO) return o->observe;
    return spec_latent(m->spec) <= SCAN_STATES ? GSV_OBSERVE_SCAN
                                               : GSV_OBSERVE_PARTICLE;
}

/* Whether whole tracks are drawn. */
static bool draws_tracks(enum gsv_observe kind)
{
    return kind == GSV_OBSERVE_CONJUGATE || kind == GSV_OBSERVE_VARIATIONAL;
}

static bool is_joint(const struct observer *o)
{
    return draws_tracks(o->kind);
}

bool gsv_ranks_share(const gsv_model *m, const gsv_options *o)
{
    return !spec_is_latent(m->spec) || draws_tracks(choose(m, o));
}

int observer_init(struct observer *o, const gsv_model *m,
                  const gsv_series *series, const gsv_options *options)
{
    *o = (struct observer){.model = m, .kind = choose(m, options)};
    if (options->form == GSV_FORM_BOUND)
        return fail(GSV_BAD_INPUT, "the form bound is for states that are "
                                   "observed themselves; this model observes "
                                   "them with noise");
    if (o->kind == GSV_OBSERVE_SCAN)
        return scan_init(&o->scan, m, series, options);
    if (o->kind == GSV_OBSERVE_PARTICLE)
        return particle_init(&o->particle, m, series, options);
    return joint_init(&o->joint, m, series, options);
}

void observer_free(struct observer *o)
{
    if (o->kind == GSV_OBSERVE_SCAN) scan_free(&o->scan);
    if (o->kind == GSV_OBSERVE_PARTICLE) particle_free(&o->particle);
    if (is_joint(o)) joint_free(&o->joint);
    *o = (struct observer){0};
}

static int run(struct observer *o, const double *guide, uint32_t iteration,
               double *gradient)
{
    if (o->kind == GSV_OBSERVE_PARTICLE)
        return particle_run(&o->particle, guide, iteration, gradient);
    if (is_joint(o)) return joint_run(&o->joint, guide, iteration, gradient);
    return scan_run(&o->scan, guide, iteration, gradient);
}

/* Numbers of work that was stopped say nothing, not even that they are wrong.
 */
int observer_run(struct observer *o, const double *guide, uint32_t iteration,
                 double *gradient)
{
    int status = run(o, guide, iteration, gradient);
    int stopped = halt_status();
    return stopped ? stopped : status;
}

const struct stops *observer_stops(const struct observer *o)
{
    if (o->kind == GSV_OBSERVE_PARTICLE) return &o->particle.stops;
    return is_joint(o) ? &o->joint.stops : &o->scan.stops;
}

void observer_turn(struct observer *o, size_t stop, uint32_t turn)
{
    struct stops *s = o->kind == GSV_OBSERVE_PARTICLE ? &o->particle.stops
                      : is_joint(o)                   ? &o->joint.stops
                                                      : &o->scan.stops;
    s->stop[stop].turn = turn;
}

bool observer_is_rough(const struct observer *o)
{
    return o->kind == GSV_OBSERVE_PARTICLE && o->particle.resampled > 0;
}

const double *observer_increment(const struct observer *o)
{
    if (o->kind == GSV_OBSERVE_PARTICLE) return o->particle.increment;
    return is_joint(o) ? o->joint.increment : o->scan.increment;
}

int observer_fill(const struct observer *o, gsv_result *r)
{
    r->observe = o->kind;
    if (o->kind == GSV_OBSERVE_PARTICLE) return particle_fill(&o->particle, r);
    if (is_joint(o)) return joint_fill(&o->joint, r);
    return scan_fill(&o->scan, r);
}

/* What steps twice as long would say: less so many times the error of the steps
 * themselves. Of a scan alone: others are too noisy to see it. */
static int look_at_steps(const gsv_model *m, const gsv_series *series,
                         const gsv_options *options, const double *guide,
                         gsv_result *r)
{
    struct observer o;
    gsv_options half = *options;
    double sum = 0.0;
    if (r->observe != GSV_OBSERVE_SCAN || r->steps < 2) return 0;
    half.gradient = false;
    half.steps = (r->steps + 1) / 2;
    half.step *= 2.0;
    int status = observer_init(&o, m, series, &half);
    if (!status) status = observer_run(&o, guide, options->iteration, NULL);
    for (size_t n = 0; !status && n < observer_stops(&o)->count; n++)
        sum += observer_increment(&o)[n];
    observer_free(&o);
    if (!status) r->discretisation = r->loglik - sum;
    return status == GSV_NUMERICAL ? 0 : status;
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
    if (!status) status = look_at_steps(m, series, options, guide, &r);
    r.seconds = clock_seconds() - begin;
    observer_free(&o);
    if (status) gsv_result_free(&r);
    else *result = r;
    return status;
}
