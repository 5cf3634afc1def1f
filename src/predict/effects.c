/* SPDX-License-Identifier: MIT */
/* Shrinkage estimates: the mean of a series' random effects given its rows.
 * With parameters theta that are estimates of covariance V = L L', the variance
 * is
 *
 *     E[var(u | theta)] + var(E[u | theta]),
 *
 * by the values at theta and at theta +- L_i, for every column of L. */
#include "predict/effects.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/linalg.h"
#include "base/memory.h"
#include "base/option_rules.h"
#include "base/random.h"
#include "data/series.h"
#include "estimator/estimator.h"
#include "estimator/settle.h"
#include "panel/panel.h"
#include "predict/estimates.h"

/* A panel that is run at other values than the model's. */
struct at_values {
    gsv_model model;
    double *value; /* (values) */
    gsv_options options;
    struct panel panel;
};

static int at_values_init(struct at_values *a, const gsv_model *m,
                          const gsv_series *s, const gsv_options *o)
{
    *a = (struct at_values){
        .model = *m, .options = *o, .value = NEW(double, m->spec->parameters)};
    if (!a->value) return GSV_NO_MEMORY;
    memcpy(a->value, m->value, m->spec->parameters * sizeof *a->value);
    a->model.value = a->value;
    a->options.gradient = false;
    int status = estimator_settle(m, s, &a->options);
    const struct task task = {
        .model = &a->model, .series = s, .options = &a->options};
    const struct method *row = estimator_choose(&task).method;
    if (!status) status = estimator_accept(row, &task);
    return status ? status : panel_init(&a->panel, panel_inner(row), &task);
}

static void at_values_free(struct at_values *a)
{
    panel_free(&a->panel);
    mem_free(a->value);
}

static int run(struct at_values *a)
{
    return panel_run(&a->panel, &(struct request){0}, false);
}

/* Means (tracks, n) and variances of the last run. */
static void copy_moments(const struct panel *p, double *mean, double *variance)
{
    size_t n = p->n;
    for (size_t r = 0; r < p->tracks; r++)
        for (size_t i = 0; i < n; i++) {
            mean[r * n + i] = panel_mean(p, r)[i];
            variance[r * n + i] = panel_covariance(p, r)[i * (n + 1)];
        }
}

/* --- With the uncertainty of the parameters ------------------------------- */

struct spread_room {
    double *up, *up_variance, *down, *down_variance; /* (tracks, n) */
    double *variance;
    struct arena arena;
};

/* At theta +- share L_i; half as far where that is not finite. */
static int both_sides(struct at_values *a, const gsv_model *m,
                      struct estimates *e, size_t i, struct spread_room *r,
                      double *share)
{
    int status = 0;
    for (*share = 1.0; *share > 0.05; *share *= 0.5) {
        for (int side = 0; side < 2; side++) {
            memset(e->z, 0, e->n * sizeof *e->z);
            e->z[i] = side ? -*share : *share;
            estimates_move(m, e, e->z, a->value);
            status = run(a);
            if (status) break;
            copy_moments(&a->panel, side ? r->down : r->up,
                         side ? r->down_variance : r->up_variance);
        }
        if (status != GSV_NUMERICAL) return status;
    }
    *share = 0.0;
    return 0;
}

static int add_spread(struct at_values *a, const gsv_model *m,
                      struct estimates *e, struct spread_room *r, double *error)
{
    size_t cells = a->panel.tracks * a->panel.n;
    int status = 0;
    for (size_t i = 0; !status && i < e->n; i++) {
        double share;
        status = both_sides(a, m, e, i, r, &share);
        for (size_t k = 0; !status && share > 0.0 && k < cells; k++) {
            double slope = (r->up[k] - r->down[k]) / (2.0 * share);
            double bend = (r->up_variance[k] + r->down_variance[k] -
                           2.0 * r->variance[k]) /
                          (share * share);
            error[k] += slope * slope + fmax(0.5 * bend, 0.0);
        }
    }
    return status;
}

/* A number without a standard error, as a deviation at its bound 0, may be as
 * large as the end of its interval: half way to it counts as one error. */
static int add_bounded(struct at_values *a, const gsv_model *m,
                       const gsv_record *record, const double *mean,
                       struct spread_room *r, double *error)
{
    size_t cells = a->panel.tracks * a->panel.n;
    int status = 0;
    for (size_t v = 0; !status && v < m->spec->parameters; v++) {
        double away = 0.5 * (record->high[v] - m->value[v]);
        if (isfinite(record->error_of[v]) || !(away > 0.0 && isfinite(away)))
            continue;
        memcpy(a->value, m->value, m->spec->parameters * sizeof *a->value);
        a->value[v] += away;
        status = run(a);
        if (status == GSV_NUMERICAL) status = 0;
        else if (!status) copy_moments(&a->panel, r->up, r->up_variance);
        for (size_t k = 0; !status && k < cells; k++) {
            double moved = r->up[k] - mean[k];
            error[k] +=
                moved * moved + fmax(r->up_variance[k] - r->variance[k], 0.0);
        }
    }
    return status;
}

static int with_parameters(struct at_values *a, const gsv_model *m,
                           const gsv_record *record, const double *mean,
                           double *error)
{
    size_t cells = a->panel.tracks * a->panel.n;
    struct estimates e = {0};
    struct spread_room r = {0};
    const struct arena_part part[] = {{&r.up, cells},
                                      {&r.up_variance, cells},
                                      {&r.down, cells},
                                      {&r.down_variance, cells},
                                      {&r.variance, cells}};
    int status = arena_lay(&r.arena, sizeof part / sizeof *part, part);
    if (!status) memcpy(r.variance, error, cells * sizeof *error);
    if (!status) status = estimates_init(&e, m, record);
    if (!status) status = add_spread(a, m, &e, &r, error);
    if (!status) status = add_bounded(a, m, record, mean, &r, error);
    estimates_free(&e);
    arena_free(&r.arena);
    return status;
}

int effects_estimate(const gsv_model *m, const gsv_series *s,
                     const gsv_options *o, const gsv_record *r,
                     double *estimate, double *error)
{
    struct at_values a;
    int status = at_values_init(&a, m, s, o);
    if (!status) status = run(&a);
    if (!status) copy_moments(&a.panel, estimate, error);
    if (!status && r && r->correlation)
        status = with_parameters(&a, m, r, estimate, error);
    size_t cells = status ? 0 : s->tracks * m->spec->effect_size;
    for (size_t k = 0; k < cells; k++)
        error[k] = sqrt(error[k]);
    at_values_free(&a);
    return status;
}

/* --- Draws ---------------------------------------------------------------- */

int effects_sample(const gsv_model *m, const gsv_series *s,
                   const gsv_options *o, size_t sets, double *u)
{
    struct at_values a;
    size_t n = m->spec->effect_size;
    int status = at_values_init(&a, m, s, o);
    if (!status) status = run(&a);
    for (size_t r = 0; !status && r < s->tracks; r++) {
        const struct random_key key = {
            .seed = o->seed, .purpose = RANDOM_EFFECT, .item = r};
        const double *mean = panel_mean(&a.panel, r);
        double L[EFFECTS_MOST * EFFECTS_MOST], z[EFFECTS_MOST];
        memcpy(L, panel_covariance(&a.panel, r), n * n * sizeof *L);
        if (!linalg_cholesky(n, L)) memset(L, 0, n * n * sizeof *L);
        for (size_t k = 0; k < sets; k++)
            for (size_t i = 0; i < n; i++) {
                double *to = u + (r * sets + k) * n;
                if (!i) random_normals(&key, 0, n, k, 1, z);
                to[i] = mean[i];
                for (size_t j = 0; j <= i; j++)
                    to[i] += L[i * n + j] * z[j];
            }
    }
    at_values_free(&a);
    return status;
}

/* --- The public function -------------------------------------------------- */

size_t gsv_model_effects(const gsv_model *m)
{
    return ANY_NULL(m) ? 0 : m->spec->effect_size;
}

enum gsv_status gsv_effects(const gsv_model *m, const gsv_series *s,
                            const gsv_options *o, double *estimate,
                            double *error)
{
    if (ANY_NULL(m, s, o, estimate, error)) return GSV_BAD_INPUT;
    if (option_check(GSV_OF_ESTIMATOR, o) || series_check(s))
        return GSV_BAD_INPUT;
    if (!m->spec->effects)
        return fail(GSV_BAD_INPUT, "the model has no random effects; declare "
                                   "them with 'random u ~ normal(m, s)'");
    return effects_estimate(m, s, o, m->record, estimate, error);
}
