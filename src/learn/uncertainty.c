/* SPDX-License-Identifier: MIT */
/* Standard errors from the observed information I: V = I^-1, or the sandwich
 * I^-1 (sum over gaps, or series, of s s') I^-1. Intervals are theta +- 1.96
 * sqrt(V_ii), brought to the values: they stay inside of the bounds. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/linalg.h"
#include "base/memory.h"
#include "base/plain.h"
#include "learn/interval.h"
#include "model/fit_record.h"
#include "model/theta.h"

/* --- Whether there should be any ------------------------------------------ */

/* Where more gaps than this are flagged, or the log-likelihood of fewer is not
 * known to so many nats, the estimate rests on them. Of a short series one gap
 * is more than that share: some may be flagged there, and the warning about
 * them is enough. */
static const double MOST_FLAGGED = 0.05, MOST_NATS = 2.0;
enum { SOME_FLAGGED = 4 };

/* Standard errors of an estimate that cannot be trusted would be believed. */
int uncertainty_withhold(const struct learner *l, gsv_record *r)
{
    char line[400];
    double gaps = (double)(r->gaps + r->heldout_gaps);
    bool asked = l->o->errors != GSV_ERRORS_AUTO || r->sampled;
    bool many = (double)r->flagged > fmax(MOST_FLAGGED * gaps, SOME_FLAGGED);
    bool off = r->flagged && fabs(r->discretisation) > MOST_NATS;
    if (asked || r->errors != GSV_ERRORS_OBSERVED || !learner_has_groups(l) ||
        !(many || off))
        return 0;
    r->errors = GSV_ERRORS_NONE;
    plain_format(line, sizeof line,
                 "there are no standard errors: the estimate depends on %zu "
                 "gaps that cannot be trusted; give more --paths and --steps, "
                 "or --errors observed to compute them all the same\n",
                 r->flagged);
    return fit_record_warn(r, line);
}

/* --- The sandwich ------------------------------------------------------- */

/* The data fall into groups, or else into tracks. */
static size_t count_parts(const struct information *a)
{
    const struct estimator *all = &a->all.estimator;
    return all->method->groups ? all->method->groups(all->machine)
                               : a->l->s->tracks;
}

/* log p of every part at theta. */
static int logs_at(struct information *a, double *log)
{
    const struct estimator *all = &a->all.estimator;
    double value;
    int status = information_value(a, a->theta, &value);
    if (status) return status;
    if (!all->method->groups) all->method->track_logs(all->machine, log);
    for (size_t g = 0; all->method->groups && g < count_parts(a); g++)
        log[g] = all->method->group(all->machine, g).loglik;
    return 0;
}

/* The scores of all parts by number i, to score (parts). down: room for as
 * many. */
static int scores_of(struct information *a, size_t i, double *score,
                     double *down)
{
    size_t at = a->place[i], parts = count_parts(a);
    double kept = a->theta[at], step = a->l->move[at];
    a->theta[at] = kept + step;
    int status = logs_at(a, score);
    a->theta[at] = kept - step;
    if (!status) status = logs_at(a, down);
    for (size_t g = 0; !status && g < parts; g++)
        score[g] = (score[g] - down[g]) / (2.0 * step);
    a->theta[at] = kept;
    return status;
}

/* V becomes V (sum of s s') V. */
static int make_sandwich(struct information *a)
{
    size_t n = a->n, parts = count_parts(a);
    double *S = NEW(double, (n + 1) * parts), *J = NEW(double, n *n);
    double *VJ = NEW(double, n *n);
    int status = S && J && VJ ? 0 : GSV_NO_MEMORY;
    for (size_t i = 0; !status && i < n; i++)
        status = scores_of(a, i, S + i * parts, S + n * parts);
    if (!status) {
        linalg_product(n, parts, n, S, false, S, true, J);
        linalg_product(n, n, n, a->V, false, J, false, VJ);
        linalg_product(n, n, n, VJ, false, a->V, false, J);
        memcpy(a->V, J, n * n * sizeof *J);
    }
    MEM_FREE(S, J, VJ);
    return status;
}

/* --- To the record ------------------------------------------------------ */

/* Those without a variance leave V, the slope and the places. */
static void drop_lost(struct information *a)
{
    size_t n = a->n, kept = 0, row = 0;
    for (size_t i = 0; i < n; i++)
        kept += !a->lost[i];
    for (size_t i = 0; i < n; i++) {
        if (a->lost[i]) continue;
        for (size_t j = 0, column = 0; j < n; j++)
            if (!a->lost[j]) a->V[row * kept + column++] = a->V[i * n + j];
        a->slope[row] = a->slope[i];
        a->place[row++] = a->place[i];
    }
    a->n = kept;
}

/* Those of Wald. */
static void note_intervals(const struct information *a,
                           const struct intervals *t)
{
    const gsv_model *m = a->l->m;
    for (size_t i = 0; i < a->n; i++) {
        size_t at = a->place[i], v = a->l->value[at];
        double wide = intervals_reach(t, at) * sqrt(a->V[i * (a->n + 1)]);
        double one = theta_value(m, at, a->theta[at] - wide);
        double two = theta_value(m, at, a->theta[at] + wide);
        t->low[v] = fmin(one, two);
        t->high[v] = fmax(one, two);
    }
}

static int note_errors(struct information *a, gsv_record *r)
{
    const gsv_model *m = a->l->m;
    drop_lost(a);
    size_t n = a->n, *value = NEW(size_t, n);
    if (!value) return GSV_NO_MEMORY;
    for (size_t i = 0; i < n; i++)
        value[i] = a->l->value[a->place[i]];
    int status = fit_record_correlate(r, n, value);
    mem_free(value);
    if (status) return status;
    theta_slopes(m, a->up);
    note_intervals(a, &(struct intervals){.low = r->low, .high = r->high});
    for (size_t i = 0; i < n; i++) {
        size_t at = a->place[i], v = a->l->value[at];
        r->error_of[v] = sqrt(a->V[i * n + i]) * fabs(a->up[at]);
        for (size_t j = 0; j < n; j++) {
            size_t to = a->place[j];
            double sign = a->up[at] * a->up[to] < 0.0 ? -1.0 : 1.0;
            r->correlation[i * n + j] = sign * a->V[i * n + j] /
                                        sqrt(a->V[i * n + i] * a->V[j * n + j]);
        }
    }
    return 0;
}

/* Why there are none. */
static void say_why(const struct information *a, gsv_record *r)
{
    enum halt_reason why = learner_over(a->l);
    if (why) r->errors = GSV_ERRORS_NONE;
    if (why == HALT_BY_CALLER)
        fputs("interrupted: there are no standard errors; a fit that starts "
              "from this one has them\n",
              a->words);
    else if (why == HALT_BY_TIME)
        plain_print(
            a->words,
            "standard errors took longer than the time limit of %g s after "
            "the search: there are none; give a longer --time-limit, or "
            "--errors none to do without them\n",
            a->l->o->time_limit);
    else
        plain_print(
            a->words,
            "near the estimate the %s is not finite: there are no standard "
            "errors\n",
            a->by_evidence ? "evidence" : "log-likelihood");
}

/* At a saddle there is no V, but a profile: V of |I| brings the others to their
 * best as well. */
static int note_profiles(struct information *a, const double *theta,
                         gsv_record *r)
{
    size_t size = a->n * a->n;
    double *V = NEW(double, size);
    int status = V ? 0 : GSV_NO_MEMORY;
    if (!status) memcpy(V, a->V, size * sizeof *V);
    if (!status && information_uphill(a))
        status = likelihood_intervals(
            a, theta,
            &(struct intervals){.low = r->low, .high = r->high, .all = true});
    if (!status) memcpy(a->V, V, size * sizeof *V);
    mem_free(V);
    return status;
}

static int measure(struct information *a, const double *theta, gsv_record *r)
{
    if (!a->n) return 0;
    int status = information_fill(a);
    bool found = !status && information_invert(a);
    if (!status && a->rising && r->errors != GSV_ERRORS_SANDWICH)
        status = note_profiles(a, theta, r);
    if (found && r->errors == GSV_ERRORS_SANDWICH) status = make_sandwich(a);
    if (status == GSV_NUMERICAL || status == GSV_STOPPED) {
        say_why(a, r);
        return 0;
    }
    gsv_theta_set(a->l->m, theta);
    if (!found || status) return status;
    status = note_errors(a, r);
    if (!status && r->errors != GSV_ERRORS_SANDWICH)
        status = likelihood_intervals(
            a, theta, &(struct intervals){.low = r->low, .high = r->high});
    gsv_theta_set(a->l->m, theta);
    return status == GSV_STOPPED ? 0 : status;
}

/* The steps that are found here are not those of a search that goes on. */
int uncertainty(struct learner *l, const double *theta, gsv_record *r)
{
    struct information a;
    double *move = NEW(double, l->n);
    if (!move) return GSV_NO_MEMORY;
    memcpy(move, l->move, l->n * sizeof *move);
    int status = information_init(&a, l, theta);
    if (!status) status = measure(&a, theta, r);
    else if (status == GSV_STOPPED && a.words) {
        say_why(&a, r);
        status = 0;
    }
    if (!status && fflush(a.words))
        status = fail(GSV_NO_MEMORY, "out of memory");
    if (!status) status = fit_record_warn(r, a.text ? a.text : "");
    information_free(&a);
    memcpy(l->move, move, l->n * sizeof *move);
    mem_free(move);
    return status;
}

/* --- For the bootstrap ---------------------------------------------------- */

/* V of what the data determine; found: there is any. */
static int invert(struct information *a, struct learner *l, const double *theta,
                  bool *found)
{
    int status = information_init(a, l, theta);
    *found = false;
    if (!status && a->n) status = information_fill(a);
    if (!status && a->n) *found = information_invert(a);
    if (*found) drop_lost(a);
    gsv_theta_set(l->m, theta);
    if (*found) memcpy(a->theta, theta, l->n * sizeof *theta);
    return status;
}

int uncertainty_compare(struct learner *l, const double *theta,
                        const struct compared *c)
{
    struct information a;
    bool found;
    for (size_t i = 0; i < l->n; i++)
        c->ratio[i] = NAN;
    int status = invert(&a, l, theta, &found);
    if (!status && found) status = likelihood_ratios(&a, theta, c);
    gsv_theta_set(l->m, theta);
    information_free(&a);
    return status == GSV_NUMERICAL ? 0 : status;
}

int uncertainty_corrected(struct learner *l, const double *theta,
                          const double *factor, double *low, double *high)
{
    struct information a;
    const struct intervals t = {.low = low, .high = high, .factor = factor};
    bool found;
    int status = invert(&a, l, theta, &found);
    if (!status && found) note_intervals(&a, &t);
    if (!status && found) status = likelihood_intervals(&a, theta, &t);
    gsv_theta_set(l->m, theta);
    information_free(&a);
    return status == GSV_NUMERICAL ? 0 : status;
}
