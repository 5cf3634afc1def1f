/* SPDX-License-Identifier: MIT */
#include "panel/worker.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/halt.h"
#include "base/linalg.h"
#include "base/memory.h"

/* Nodes whose share of the posterior is smaller have no part in a gradient. */
static const double SMALLEST = 1e-9;

/* Gradients of all nodes are kept where there are few of them: then a node is
 * run once, not first for its weight. */
enum { MOST_KEPT = 16, MOST_NUMBERS = 1 << 20 };

/* Nodes closer together than the curvature says, by this much in the log of
 * their volume, come from nodes that saw too little. */
static const double NARROWER = 1.0;

int worker_init(struct worker *w, const struct panel *p)
{
    const gsv_options *o = &p->options;
    size_t nodes = o->nodes, n = p->n;
    int status = subject_init(&w->subject, p->inner, &p->task);
    if (!status) status = rule_init(&w->rule, n, nodes);
    if (!status) status = rule_init(&w->fewer, n, rule_fewer(nodes));
    if (status) return status;
    size_t points = w->rule.count;
    if (w->fewer.count > points) points = w->fewer.count;
    if (o->gradient) {
        bool few = points <= MOST_KEPT && points * p->values <= MOST_NUMBERS;
        w->kept = few ? points : 1;
    }
    w->u = NEW(double, points *n);
    w->z = NEW(double, points *n);
    w->log_term = NEW(double, points);
    w->gradient = NEW(double, w->kept * p->values);
    w->part = NEW(double, p->values + n + n * n);
    bool made = w->u && w->z && w->log_term && w->gradient && w->part;
    return made ? 0 : GSV_NO_MEMORY;
}

void worker_free(struct worker *w)
{
    subject_free(&w->subject);
    rule_free(&w->rule);
    rule_free(&w->fewer);
    MEM_FREE(w->u, w->z, w->log_term, w->gradient, w->part);
}

/* --- The integral --------------------------------------------------------- */

static double log_sum(size_t n, const double *x)
{
    double most = -INFINITY, sum = 0.0;
    for (size_t i = 0; i < n; i++)
        most = fmax(most, x[i]);
    if (!isfinite(most)) return -INFINITY;
    for (size_t i = 0; i < n; i++)
        sum += exp(x[i] - most);
    return most + log(sum);
}

/* log of every term: p(series | u) p(u) times the weight of the node. */
static int fill_terms(const struct panel *p, struct worker *w,
                      const struct rule *r, const struct effect_law *law,
                      const double *center, const double *root, bool gradients)
{
    size_t n = p->n;
    for (size_t q = 0; q < r->count; q++) {
        double *u = w->u + q * n, value;
        for (size_t i = 0; i < n; i++) {
            u[i] = center[i];
            for (size_t j = 0; j <= i; j++)
                u[i] += root[i * n + j] * r->x[q * n + j];
        }
        int status = subject_at(&w->subject, u, &value,
                                gradients ? w->gradient + q * p->values : NULL);
        if (status) return status;
        w->log_term[q] =
            value + effect_density(law, u, w->z + q * n) + r->log_weight[q];
    }
    return 0;
}

/* The posterior's mean and covariance, from the shares of the nodes. */
static void fill_moments(const struct panel *p, const struct worker *w,
                         size_t points, double log_all, double *mean,
                         double *cov)
{
    size_t n = p->n;
    memset(mean, 0, n * sizeof *mean);
    memset(cov, 0, n * n * sizeof *cov);
    for (size_t q = 0; q < points; q++)
        for (size_t i = 0; i < n; i++)
            mean[i] += exp(w->log_term[q] - log_all) * w->u[q * n + i];
    for (size_t q = 0; q < points; q++) {
        double share = exp(w->log_term[q] - log_all);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++)
                cov[i * n + j] += share * (w->u[q * n + i] - mean[i]) *
                                  (w->u[q * n + j] - mean[j]);
    }
}

/* Adds the gradient of log_all to the sums of the thread. */
static int add_gradient(const struct panel *p, struct worker *w, size_t points,
                        double log_all)
{
    double *mean_bar = w->part + p->values, *root_bar = mean_bar + p->n;
    double room[EFFECTS_MOST];
    for (size_t q = 0; q < points; q++) {
        double share = exp(w->log_term[q] - log_all), value;
        double *bar = w->gradient + (w->kept > 1 ? q * p->values : 0);
        if (!(share > SMALLEST)) continue;
        int status =
            w->kept > 1 ? 0
                        : subject_at(&w->subject, w->u + q * p->n, &value, bar);
        if (status) return status;
        for (size_t i = 0; i < p->values; i++)
            w->part[i] += share * bar[i];
        effect_density_vjp(&p->law, w->z + q * p->n, share, mean_bar, root_bar,
                           room);
    }
    return 0;
}

/* The variance of the log of a mean of draws. */
static double chance(const struct worker *w, size_t points, double log_all)
{
    double n = (double)points, squares = 0.0;
    for (size_t q = 0; q < points; q++) {
        double share = n * exp(w->log_term[q] - log_all) - 1.0;
        squares += share * share;
    }
    return squares / (n * (n - 1.0));
}

static int integrate(const struct panel *p, struct worker *w, double *t)
{
    size_t n = p->n, points = w->rule.count;
    double *center = t + TRACK_FIELDS, *root = center + n;
    double *mean = root + n * n, *cov = mean + n;
    bool gradient = p->gradient != NULL;
    int status = fill_terms(p, w, &w->rule, &p->law, center, root,
                            gradient && w->kept > 1);
    if (status) return status;
    double log_all = log_sum(points, w->log_term);
    t[TRACK_VALUE] = log_all + t[TRACK_LOG_ROOT];
    if (!isfinite(t[TRACK_VALUE])) return GSV_NUMERICAL;
    t[TRACK_VARIANCE] = w->rule.drawn ? chance(w, points, log_all) : 0.0;
    if (w->rule.drawn)
        t[TRACK_FEWER] =
            log_sum(points / 2, w->log_term) + log(2.0) + t[TRACK_LOG_ROOT];
    fill_moments(p, w, points, log_all, mean, cov);
    if (gradient) status = add_gradient(p, w, points, log_all);
    if (status || !p->filling || w->rule.drawn) return status;
    status = fill_terms(p, w, &w->fewer, &p->law, center, root, false);
    t[TRACK_FEWER] = log_sum(w->fewer.count, w->log_term) + t[TRACK_LOG_ROOT];
    return status;
}

/* --- A track -------------------------------------------------------------- */

/* What all gaps have in common, AUTO where they differ. */
static void note_choices(const gsv_result *r, double *t)
{
    t[TRACK_REFERENCE] = r->groups ? (double)r->gap[0].reference : 0.0;
    t[TRACK_FORM] = r->groups ? (double)r->gap[0].form : 0.0;
    for (size_t i = 1; i < r->groups; i++) {
        if (r->gap[i].reference != r->gap[0].reference)
            t[TRACK_REFERENCE] = GSV_REFERENCE_AUTO;
        if (r->gap[i].form != r->gap[0].form) t[TRACK_FORM] = GSV_FORM_AUTO;
    }
}

/* What the other estimator says at the mode. */
static int diagnose(struct worker *w, double *t)
{
    gsv_result r = {.values = 0};
    int status = subject_fill(&w->subject, t + TRACK_FIELDS, &r);
    unsigned flags = 0;
    for (size_t i = 0; i < r.groups; i++)
        flags |= r.gap[i].flags;
    note_choices(&r, t);
    t[TRACK_VARIANCE] += r.error * r.error;
    t[TRACK_ESS] = r.ess_min;
    t[TRACK_KHAT] = r.khat_max;
    t[TRACK_FLAGS] = (double)flags;
    t[TRACK_BIAS] = r.log_bias;
    t[TRACK_DISCRETISATION] = r.discretisation;
    t[TRACK_STEPS] = (double)r.steps;
    t[TRACK_PATHS] = (double)r.paths;
    t[TRACK_OBSERVE] = (double)r.observe;
    t[TRACK_EVALUATIONS] = (double)r.drift_evaluations * (double)w->rule.count;
    gsv_result_free(&r);
    return status;
}

/* From the mode and its curvature to the mean and the covariance of the
 * posterior, as few nodes say: those of a skewed one fit it better. */
static int spread_nodes(const struct panel *p, struct worker *w, double *t)
{
    size_t n = p->n, points = w->fewer.count;
    double *center = t + TRACK_FIELDS, *root = center + n;
    double mean[EFFECTS_MOST], cov[EFFECTS_MOST * EFFECTS_MOST], log_root = 0.0;
    int status = fill_terms(p, w, &w->fewer, &p->nodes, center, root, false);
    if (status) return status;
    double log_all = log_sum(points, w->log_term);
    fill_moments(p, w, points, log_all, mean, cov);
    if (!all_finite(n * n, cov) || !linalg_cholesky(n, cov)) return 0;
    for (size_t i = 0; i < n; i++)
        log_root += log(cov[i * (n + 1)]);
    if (log_root < t[TRACK_LOG_ROOT] - NARROWER) return 0;
    memcpy(center, mean, n * sizeof *mean);
    memcpy(root, cov, n * n * sizeof *cov);
    t[TRACK_LOG_ROOT] = log_root;
    return 0;
}

/* The nodes of a track for the values that they are made for. */
static int place_nodes(const struct panel *p, struct worker *w, double *t)
{
    struct peak at = {.log_root = t[TRACK_LOG_ROOT]};
    size_t n = p->n;
    double *center = t + TRACK_FIELDS, *root = center + n;
    memcpy(at.center, center, n * sizeof *center);
    memcpy(at.root, root, n * n * sizeof *root);
    int status = mode_find(&w->subject, &p->nodes, t[TRACK_PLACED] > 0.0, &at);
    t[TRACK_PLACED] = status ? 0.0 : 1.0;
    if (status) return status;
    memcpy(center, at.center, n * sizeof *center);
    memcpy(root, at.root, n * n * sizeof *root);
    t[TRACK_LOG_ROOT] = at.log_root;
    return w->rule.drawn || w->fewer.count < 3 ? 0 : spread_nodes(p, w, t);
}

/* A silent track has the law of the effects. */
static void leave_prior(const struct panel *p, double *t)
{
    size_t n = p->n;
    double *center = t + TRACK_FIELDS, *root = center + n;
    double *mean = root + n * n, *cov = mean + n;
    memset(t, 0, TRACK_FIELDS * sizeof *t);
    t[TRACK_ESS] = t[TRACK_KHAT] = NAN;
    memcpy(mean, p->law.mean, n * sizeof *mean);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            cov[i * n + j] = 0.0;
            for (size_t k = 0; k < n; k++)
                cov[i * n + j] +=
                    p->law.root[i * n + k] * p->law.root[j * n + k];
        }
}

int worker_track(const struct panel *p, struct worker *w, size_t track)
{
    const struct request *q = p->request;
    double *t = p->track + track * p->width;
    const double *now = p->task.model->value, *held = q->reference_values;
    struct subject *s = &w->subject;
    bool placed = p->is_held && t[TRACK_PLACED] > 0.0;
    if (track_is_silent(&p->task, track)) {
        leave_prior(p, t);
        return 0;
    }
    s->iteration = q->iteration;
    s->trial = q->trial;
    rule_draw(&w->rule, p->options.seed, track);
    int status = subject_begin(s, &p->task, track, held ? held : now, held);
    if (!status && !placed) status = place_nodes(p, w, t);
    if (!status && held) memcpy(s->value, now, p->values * sizeof *now);
    if (!status) status = integrate(p, w, t);
    t[TRACK_GAPS] = (double)s->gaps;
    t[TRACK_ROUGH] = !status && s->inner->rough && s->inner->rough(s->machine);
    if (!status && p->filling) status = diagnose(w, t);
    subject_end(s);
    return status;
}
