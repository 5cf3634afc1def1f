/* SPDX-License-Identifier: MIT */
#include "predict/estimates.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/linalg.h"
#include "base/memory.h"
#include "base/random.h"
#include "model/theta.h"

static void set_covariance(struct estimates *e, const gsv_record *r)
{
    for (size_t i = 0; i < e->n; i++)
        for (size_t j = 0; j < e->n; j++) {
            size_t a = e->at[i], b = e->at[j];
            size_t v = e->place[a], w = e->place[b];
            double c = gsv_record_correlation(r, v, w);
            e->L[i * e->n + j] = (i == j ? 1.0 : c) * r->error_of[v] *
                                 r->error_of[w] / (e->slope[a] * e->slope[b]);
        }
}

int estimates_init(struct estimates *e, const gsv_model *m, const gsv_record *r)
{
    size_t size = gsv_theta_size(m);
    *e = (struct estimates){.at = NEW(size_t, size),
                            .place = NEW(size_t, size),
                            .theta = NEW(double, size),
                            .slope = NEW(double, size)};
    if (!e->at || !e->place || !e->theta || !e->slope) return GSV_NO_MEMORY;
    gsv_theta_get(m, e->theta);
    theta_places(m, e->place);
    theta_slopes(m, e->slope);
    for (size_t i = 0; i < size; i++)
        if (isfinite(r->error_of[e->place[i]])) e->at[e->n++] = i;
    e->L = NEW(double, e->n * e->n);
    e->z = NEW(double, e->n);
    if (!e->L || !e->z) return GSV_NO_MEMORY;
    set_covariance(e, r);
    if (linalg_cholesky(e->n, e->L)) return 0;
    return fail(GSV_NUMERICAL, "the covariance of the estimates is not "
                               "positive; leave --parameters out");
}

void estimates_free(struct estimates *e)
{
    MEM_FREE(e->at, e->place, e->theta, e->slope, e->L, e->z);
}

void estimates_move(const gsv_model *m, const struct estimates *e,
                    const double *z, double *value)
{
    memcpy(value, m->value, m->spec->parameters * sizeof *value);
    for (size_t i = 0; i < e->n; i++) {
        double theta = e->theta[e->at[i]];
        for (size_t j = 0; j <= i; j++)
            theta += e->L[i * e->n + j] * z[j];
        value[e->place[e->at[i]]] = theta_value(m, e->at[i], theta);
    }
}

static void draw(const gsv_model *m, struct estimates *e, size_t number,
                 uint64_t seed, double *value)
{
    const struct random_key key = {
        .seed = seed, .purpose = RANDOM_PARAMETERS, .item = number};
    random_normals(&key, 0, e->n, 0, 1, e->z);
    estimates_move(m, e, e->z, value);
}

double *predict_values(const gsv_model *m, size_t count, uint64_t seed)
{
    const gsv_record *r = m->record;
    struct estimates e;
    if (!r || !r->correlation)
        return fail_null(
            GSV_BAD_INPUT,
            "parameters can be drawn only from a fit that has "
            "standard errors; fit with --errors observed, or leave "
            "--parameters out");
    size_t values = m->spec->parameters;
    double *value = NEW(double, count *values);
    int status = estimates_init(&e, m, r);
    for (size_t g = 0; value && !status && g < count; g++)
        draw(m, &e, g, seed, value + g * values);
    estimates_free(&e);
    if (!status) return value;
    mem_free(value);
    return NULL;
}
