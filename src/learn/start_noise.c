/* SPDX-License-Identifier: MIT */
/* The noise from the data's quadratic variation. Without a drift a gap of
 * length h has
 *
 *     l = log |det dT/dx| - |y1 - y0|^2 / 2h + what T does not change,
 *
 * y = T(x) at both ends; its maximum over what the noise alone depends on.
 * Where there is no T (bridged), it is the density of one Euler step; of chains
 * of integrals (model.h) that of the integrals of the noise alone. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "learn/maximise.h"
#include "learn/objective.h"
#include "learn/sample.h"
#include "learn/start.h"
#include "model/theta.h"

enum { SAMPLE = 2048, ITERATIONS = 100 };

struct variation {
    gsv_model *m;
    struct sample sample;
    struct program *map;
    struct uniforms uniforms;
    struct workspace workspace;
    double *theta, *theta_bar; /* (theta size)     */
    double *bar;               /* of the uniforms  */
    double *y_bar, *jacobian_bar;
    size_t *place; /* (free) where the free numbers are in theta */
    size_t free;
    /* Of a bridged model or chains: itself without a drift, and the sample's
     * gaps. */
    gsv_model still;
    struct objective euler;
    size_t *group;
};

/* Both ends' gradients, and the value. */
static double sum_gaps(struct variation *v)
{
    const struct points *in = &v->sample.ends;
    size_t d = v->m->spec->dim, P = in->P;
    const double *y = program_output(v->map, &v->workspace, P, 0);
    const double *jacobian = program_output(v->map, &v->workspace, P, 1);
    double value = 0.0;
    for (size_t g = 0; g < v->sample.count; g++) {
        double h = v->sample.gap[g].length;
        value += jacobian[2 * g + 1];
        v->jacobian_bar[2 * g] = 0.0;
        v->jacobian_bar[2 * g + 1] = 1.0;
        for (size_t i = 0; i < d; i++) {
            const double *end = y + i * P + 2 * g;
            double move = end[1] - end[0];
            value -= 0.5 * move * move / h;
            v->y_bar[i * P + 2 * g] = move / h;
            v->y_bar[i * P + 2 * g + 1] = -move / h;
        }
    }
    return value;
}

static int at(void *context, const double *x, double *value, double *gradient)
{
    struct variation *v = context;
    const struct points *in = &v->sample.ends;
    for (size_t i = 0; i < v->free; i++)
        v->theta[v->place[i]] = x[i];
    gsv_theta_set(v->m, v->theta);
    program_prepare(v->map, v->m->value, &v->uniforms);
    program_forward(v->map, &v->uniforms, &v->workspace, in);
    *value = sum_gaps(v);
    if (!isfinite(*value)) return GSV_NUMERICAL;
    memset(v->bar, 0, program_uniforms(v->map) * sizeof *v->bar);
    program_vjp(v->map, &v->uniforms, &v->workspace, in,
                (const double *const[2]){v->y_bar, v->jacobian_bar}, NULL,
                v->bar);
    program_finish(v->map, &v->uniforms, v->bar);
    memset(v->theta_bar, 0, gsv_theta_size(v->m) * sizeof *v->theta_bar);
    gsv_theta_vjp(v->m, v->bar, v->theta_bar);
    for (size_t i = 0; i < v->free; i++)
        gradient[i] = v->theta_bar[v->place[i]];
    return 0;
}

static int at_euler(void *context, const double *x, double *value,
                    double *gradient)
{
    struct variation *v = context;
    struct score score;
    for (size_t i = 0; i < v->free; i++)
        v->theta[v->place[i]] = x[i];
    int status = objective_at(&v->euler, v->theta, 0, v->sample.count, v->group,
                              &score, v->theta_bar);
    if (status) return status;
    double gaps = (double)score.gaps;
    *value = score.mean * gaps;
    for (size_t i = 0; i < v->free; i++)
        gradient[i] = v->theta_bar[v->place[i]] * gaps;
    return 0;
}

/* Numbers on which only the noise depends, and that are not set. */
static int find_free(struct variation *v, const bool *kept)
{
    const gsv_model *m = v->m;
    size_t n = gsv_theta_size(m);
    size_t *value = NEW(size_t, n);
    if (!value) return GSV_NO_MEMORY;
    theta_places(m, value);
    for (size_t i = 0; i < n; i++) {
        size_t p = spec_param_at(m->spec, value[i]);
        bool noise = m->noise_param[p] && !m->drift_param[p];
        if (noise && !m->spec->param[p].fan_in && !kept[i])
            v->place[v->free++] = i;
    }
    mem_free(value);
    return 0;
}

/* The values stay the model's own; the drift is 0, but for the integrals. */
static int euler_init(struct variation *v, const gsv_series *s)
{
    gsv_options o = gsv_options_default();
    o.paths = o.steps = 1;
    o.gradient = o.wide = true;
    v->still = *v->m;
    v->still.unit_drift = v->m->chain.still;
    if (v->m->chain.next) o.reference = GSV_REFERENCE_BROWNIAN;
    v->group = NEW(size_t, v->sample.count);
    if (!v->group) return GSV_NO_MEMORY;
    for (size_t i = 0; i < v->sample.count; i++)
        v->group[i] = v->sample.gap[i].number;
    return objective_init_loglik(&v->euler, &v->still, s, &o, v->sample.count);
}

static int map_init(struct variation *v)
{
    const gsv_model *m = v->m;
    node output[2] = {m->unit_state, m->log_jacobian};
    size_t P = v->sample.ends.P;
    v->map = program_new(m->spec->graph, 2, output, m->spec->parameters, true);
    v->y_bar = NEW(double, m->spec->dim *P);
    v->jacobian_bar = NEW(double, P);
    if (!v->map || !v->y_bar || !v->jacobian_bar ||
        uniforms_init(&v->uniforms, v->map) ||
        workspace_init(&v->workspace, v->map, P, true, false))
        return GSV_NO_MEMORY;
    v->bar = NEW(double, program_uniforms(v->map));
    return v->bar ? 0 : GSV_NO_MEMORY;
}

static int variation_init(struct variation *v, gsv_model *m,
                          const gsv_series *s, const bool *kept)
{
    size_t n = gsv_theta_size(m);
    *v = (struct variation){.m = m,
                            .theta = NEW(double, n),
                            .theta_bar = NEW(double, n),
                            .place = NEW(size_t, n)};
    int status = v->theta && v->theta_bar && v->place ? 0 : GSV_NO_MEMORY;
    if (!status) status = find_free(v, kept);
    if (!status) status = sample_init(&v->sample, m, s, SAMPLE);
    if (status || !v->free) return status;
    return m->bridged || m->chain.next ? euler_init(v, s) : map_init(v);
}

static void variation_free(struct variation *v)
{
    sample_free(&v->sample);
    uniforms_free(&v->uniforms);
    workspace_free(&v->workspace);
    program_free(v->map);
    MEM_FREE(v->theta, v->theta_bar, v->place, v->bar, v->y_bar,
             v->jacobian_bar, v->group);
    objective_free(&v->euler);
}

/* In exponents: what moves further has no maximum to go to. */
static const double FAR = 60.0;

static bool stays_near(const struct variation *v, const double *x)
{
    for (size_t i = 0; i < v->free; i++)
        if (!(fabs(x[i] - v->theta[v->place[i]]) < FAR)) return false;
    return true;
}

/* Where there is no maximum, or nothing moves at all, the start stays. */
static int maximise_noise(struct variation *v)
{
    size_t n = v->free, values = v->m->spec->parameters;
    double value;
    enum maximise_end end;
    struct maximise job = {.context = v,
                           .at = v->map ? at : at_euler,
                           .iterations = ITERATIONS,
                           .tolerance = 1e-3 * (double)v->sample.count};
    double *x = NEW(double, n), *kept = NEW(double, values);
    int status = x && kept ? 0 : GSV_NO_MEMORY;
    if (!status) {
        memcpy(kept, v->m->value, values * sizeof *kept);
        gsv_theta_get(v->m, v->theta);
        for (size_t i = 0; i < n; i++)
            x[i] = v->theta[v->place[i]];
        status = maximise(&job, n, x, &value, &end);
        memcpy(v->m->value, kept, values * sizeof *kept);
        gsv_theta_get(v->m, v->theta);
        if (!status && stays_near(v, x)) {
            for (size_t i = 0; i < n; i++)
                v->theta[v->place[i]] = x[i];
            gsv_theta_set(v->m, v->theta);
        }
        if (status == GSV_NUMERICAL) status = 0;
    }
    MEM_FREE(x, kept);
    return status;
}

int start_noise(gsv_model *m, const gsv_series *s, const bool *kept)
{
    struct variation v;
    int status = variation_init(&v, m, s, kept);
    if (!status && v.free) status = maximise_noise(&v);
    variation_free(&v);
    return status;
}
