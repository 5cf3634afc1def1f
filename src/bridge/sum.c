/* SPDX-License-Identifier: MIT */
#include "bridge/sum.h"

#include <float.h>
#include <math.h>

#include "base/error.h"
#include "base/fast.h"
#include "base/khat.h"
#include "bridge/weighers.h"

/* --- A group ---------------------------------------------------------------
 */

/* 2 l(dt) - l(2 dt) removes an error of the first order. The errors of the
 * midpoint and of a potential are of a higher order, and both are left as they
 * are. Over a track auto uses the midpoint in single steps alone, whose l(2 dt)
 * is l(dt). */
bool is_extrapolated(const struct run *r, size_t group)
{
    const gsv_options *o = r->plan->options;
    bool single = o->joint && o->form == GSV_FORM_AUTO;
    return o->richardson && !r->plan->potential &&
           (single || r->finding[group].form != GSV_FORM_MIDPOINT);
}

/* Both means are over the same paths; p and q are their normalised weights. */
double extrapolated_error(const struct run *r, size_t group, const double *S,
                          const double *S2)
{
    const struct plan *p = r->plan;
    double log_p = tally_log_sum(&r->tally[group * p->chunks]);
    double log_q = tally_log_sum(&r->tally2[group * p->chunks]);
    double K = (double)p->K, sum = 0.0;
    for (size_t k = 0; k < p->K; k++) {
        double u = 2.0 * exp(S[k] - log_p) - exp(S2[k] - log_q) - 1.0 / K;
        sum += u * u;
    }
    return sqrt(sum * K / (K - 1.0));
}

/* Whether any gap of a group has two steps, so that l(2 dt) differs. */
static bool has_pairs(const struct run *r, size_t group)
{
    for (size_t i = r->group_first[group]; i < r->group_first[group + 1]; i++)
        if (run_gap_steps(r, i) > 1) return true;
    return false;
}

unsigned group_flags(const struct run *r, const gsv_gap *gap)
{
    size_t K = r->plan->K;
    double k = (double)K, least = fmin(fmax(10.0, 0.1 * k), 0.5 * k);
    unsigned flags = 0;
    if (K > 1 && gap->ess < least) flags |= GSV_FLAG_ESS;
    /* A heavy tail does no harm to weights that hardly differ. */
    if (gap->khat > khat_threshold(K) && gap->ess < 0.8 * k)
        flags |= GSV_FLAG_KHAT;
    return flags;
}

/* One path has no standard error, but gaps without inner points are exact. */
static double error_of(const struct run *r, size_t group, const struct tally *t)
{
    bool exact = r->plan->longest == 1 || r->plan->weigher->one_path;
    if (r->plan->K == 1) return exact ? 0.0 : NAN;
    return is_extrapolated(r, group) ? r->finding[group].error
                                     : sqrt(tally_variance(t));
}

/* The log of the mean weight, with steps of dt or of 2 dt. */
static double log_weight(const struct run *r, const struct tally *t)
{
    double bias = r->plan->options->delta ? 0.5 * tally_delta(t) : 0.0;
    return tally_log_mean(t) + bias;
}

static double group_loglik(const struct run *r, size_t g)
{
    size_t at = g * r->plan->chunks;
    double fine = log_weight(r, &r->tally[at]);
    if (is_extrapolated(r, g))
        fine = 2.0 * fine - log_weight(r, &r->tally2[at]);
    return r->base[at] + fine;
}

gsv_gap group_result(const struct run *r, size_t g)
{
    const struct plan *p = r->plan;
    const struct tally *t = &r->tally[g * p->chunks];
    struct gap first = run_gap(r, r->group_first[g]);
    struct gap last = run_gap(r, r->group_first[g + 1] - 1);
    double change =
        p->halved ? log_weight(r, t) - log_weight(r, &r->tally2[g * p->chunks])
                  : 0.0;
    return (gsv_gap){.track = first.track,
                     .from = first.from,
                     .to = last.to,
                     .loglik = group_loglik(r, g),
                     .error = error_of(r, g, t),
                     .ess = tally_ess(t),
                     .khat = r->finding[g].khat,
                     .log_bias =
                         p->options->delta ? 0.0 : -0.5 * tally_delta(t),
                     .discretisation = has_pairs(r, g) ? change : NAN,
                     .reference = r->finding[g].reference,
                     .form = r->finding[g].form};
}

/* --- Sums --------------------------------------------------------------- */

struct moments groups_moments(const struct run *r, size_t first, size_t end)
{
    struct moments m = {.lost = NO_GROUP};
    double mean = 0.0;
    for (size_t g = first; g < end; g++) {
        double loglik = group_loglik(r, g), off = loglik - mean;
        size_t broken = r->tally[g * r->plan->chunks].broken;
        if ((broken || !isfinite(loglik)) && m.lost == NO_GROUP) m.lost = g;
        mean += off / (double)++m.groups;
        m.sum += loglik;
        m.squares += off * (loglik - mean);
    }
    return m;
}

void moments_merge(struct moments *a, const struct moments *b)
{
    double n = (double)a->groups, more = (double)b->groups;
    if (!b->groups) return;
    if (a->groups) {
        double apart = b->sum / more - a->sum / n;
        a->squares += apart * apart * n * more / (n + more);
    }
    a->squares += b->squares;
    a->sum += b->sum;
    a->groups += b->groups;
    if (b->lost < a->lost) a->lost = b->lost;
}

/* The discretisation error at dt, from the change from 2 dt: about all of it,
 * but a fifth for the midpoint where the drift dominates (docs/ESTIMATOR.md).
 */
static double left_of(const gsv_gap *gap, double energy)
{
    double left = fabs(gap->discretisation);
    return gap->form == GSV_FORM_MIDPOINT && energy > 20.0 ? left / 5.0 : left;
}

double groups_doubt(const struct run *r)
{
    double sum = 0.0;
    for (size_t g = 0; g < r->groups; g++) {
        gsv_gap gap = group_result(r, g);
        double left = left_of(&gap, r->finding[g].energy);
        if (!isnan(left)) sum += left;
        if (r->plan->K > 1) sum += fabs(gap.log_bias);
    }
    return sum / (double)r->gaps.count;
}

/* --- A group that is not finite ------------------------------------------ */

/* All paths of a modified bridge left the domain: with its own steps, or with
 * those twice as long. */
static int fail_outside(const struct run *r, size_t group, const gsv_gap *gap)
{
    const gsv_series *s = r->gaps.series;
    bool own = tally_log_sum(&r->tally[group * r->plan->chunks]) == -INFINITY;
    return fail(GSV_NUMERICAL,
                "all %zu paths of series '%s' from time %g to %g%s leave the "
                "model's domain: drift or noise are not finite there, or the "
                "noise is singular; check the data and the parameters, or take "
                "more paths or steps",
                r->plan->K, s->label[gap->track], s->time[gap->from],
                s->time[gap->to], own ? "" : ", with steps twice as long,");
}

int fail_group(const struct run *r, size_t g)
{
    const struct plan *p = r->plan;
    const gsv_series *s = r->gaps.series;
    size_t broken = r->tally[g * p->chunks].broken;
    gsv_gap gap = group_result(r, g);
    const char *label = s->label[gap.track];
    double from = s->time[gap.from], to = s->time[gap.to];
    if (!broken && !p->weigher->gaussian && isfinite(r->base[g * p->chunks]))
        return fail_outside(r, g, &gap);
    if (broken && p->weigher == &EXACT)
        return fail(GSV_NUMERICAL,
                    "the law of the states of series '%s' at time %g, given "
                    "those at time %g, has no density or is not finite; check "
                    "the equations, the parameters and the data",
                    label, to, from);
    if (broken && p->weigher->one_path)
        return fail(GSV_NUMERICAL,
                    "the form composed has no value for series '%s' from time "
                    "%g to %g: its lattice is too narrow for the drift there, "
                    "or %zu steps are too few; take more steps, or leave the "
                    "form to auto, which then draws paths",
                    label, from, to, p->longest);
    if (broken)
        return fail(GSV_NUMERICAL,
                    "%zu of %zu paths of series '%s' from time %g to %g "
                    "have weights that are not finite: the drift or the "
                    "noise is not finite there; check the model's "
                    "formula and its parameters",
                    broken, p->K, label, from, to);
    return fail(GSV_NUMERICAL,
                "the log-likelihood of series '%s' from time %g to "
                "%g is %g; check the noise and the data there",
                label, from, to, gap.loglik);
}

/* --- The gradient -------------------------------------------------------- */

/* Elements above the diagonal of a lower matrix are not parameters. */
static void clear_upper(const struct spec *spec, double *gradient)
{
    for (size_t q = 0; q < spec->params; q++) {
        const struct param_spec *p = &spec->param[q];
        for (size_t i = 0; p->lower && i < p->rows; i++)
            for (size_t j = i + 1; j < p->columns; j++)
                gradient[p->offset + i * p->columns + j] = 0.0;
    }
}

/* Whether all of the sum is finite. */
FAST static bool add_finite(size_t n, const double *restrict a,
                            const double *restrict b, const double *restrict c,
                            double *restrict sum)
{
    size_t finite = 0;
    for (size_t i = 0; i < n; i++) {
        sum[i] = a[i] + b[i] + (c ? c[i] : 0.0);
        finite += fabs(sum[i]) <= DBL_MAX;
    }
    return finite == n;
}

int run_gradient(struct run *r, double *gradient)
{
    const struct plan *p = r->plan;
    program_finish(p->unit, &r->values.unit, r->unit_bar);
    program_finish(p->map, &r->values.map, r->map_bar);
    double *step_bar = p->step ? r->unit_bar + program_uniforms(p->unit) : NULL;
    if (p->step) program_finish(p->step, &r->values.step, step_bar);
    if (!add_finite(p->model->spec->parameters, r->unit_bar, r->map_bar,
                    step_bar, gradient))
        return fail(GSV_NUMERICAL,
                    "the gradient is not finite although the log-likelihood "
                    "is: a function has an infinite slope at the data");
    clear_upper(p->model->spec, gradient);
    return 0;
}
