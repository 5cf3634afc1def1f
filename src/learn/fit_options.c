/* SPDX-License-Identifier: MIT */
/* The options of a fit: defaults, what does not go together, and what is chosen
 * where the options leave it open. */
#include <math.h>

#include "base/error.h"
#include "base/memory.h"
#include "estimator/estimator.h"
#include "learn/learner.h"
#include "learn/weight_prior.h"
#include "model/theta.h"

/* Options of the other method would be ignored: they are refused. */
static int check_method(const struct learner *l, const gsv_fit_options *o)
{
    if (o->method == GSV_METHOD_LIKELIHOOD) {
        if (o->errors != GSV_ERRORS_POSTERIOR) return 0;
        return fail(GSV_BAD_INPUT, "posterior errors are for the method gibbs");
    }
    if (spec_has_weights(l->m->spec))
        return fail(GSV_BAD_INPUT, "the method gibbs is for models of formulas "
                                   "alone; this one has a network");
    if (o->estimator.richardson || o->estimator.delta)
        return fail(GSV_BAD_INPUT,
                    "richardson and delta would spoil a posterior: they are "
                    "not unbiased; take more steps or paths");
    if (o->errors != GSV_ERRORS_AUTO && o->errors != GSV_ERRORS_POSTERIOR)
        return fail(GSV_BAD_INPUT, "the method gibbs has errors from its draws "
                                   "alone");
    if (o->heldout > 0.0)
        return fail(GSV_BAD_INPUT, "the method gibbs holds no gaps out");
    if (!o->chains || !o->draws ||
        (double)(o->draws + o->warmup) * (double)o->chains > 1e9)
        return fail(GSV_BAD_INPUT,
                    "chains are from 1 to 1000, draws from 1 on, and all "
                    "iterations together at most 1e9");
    return 0;
}

/* Options that a squared error does not use. */
static int check_objective(const struct learner *l, const gsv_fit_options *o)
{
    const gsv_options *e = &o->estimator;
    if (learner_matches(l)) return match_check(l, o);
    if (!learner_integrates(l)) return 0;
    if (o->method == GSV_METHOD_GIBBS)
        return fail(GSV_BAD_INPUT, "a mean squared error has no posterior: the "
                                   "method gibbs is for the likelihood");
    if (o->optimizer == GSV_OPTIMIZER_LBFGS)
        return fail(GSV_BAD_INPUT, "a mean squared error of random paths is "
                                   "learned by adam; lbfgs is for the "
                                   "likelihood");
    if (o->errors != GSV_ERRORS_AUTO && o->errors != GSV_ERRORS_NONE)
        return fail(GSV_BAD_INPUT, "a mean squared error gives no standard "
                                   "errors; they need the likelihood");
    if (e->reference != GSV_REFERENCE_AUTO || e->form != GSV_FORM_AUTO ||
        e->joint || e->richardson || e->delta)
        return fail(GSV_BAD_INPUT,
                    "reference, form, joint, richardson and delta are the "
                    "likelihood's: a mean squared error takes paths, steps, "
                    "step and scheme");
    const struct task task = {.model = l->m,
                              .options = e,
                              .objective = o->objective,
                              .scheme = o->scheme};
    return estimator_accept(l->method, &task);
}

/* A refit needs formulas: few numbers, which a likelihood determines. */
static int check_bootstrap(const struct learner *l, const gsv_fit_options *o)
{
    const struct spec *s = l->m->spec;
    const char *why =
        !o->bootstrap ? NULL
        : o->method == GSV_METHOD_GIBBS
            ? "the method gibbs has a posterior instead"
        : spec_has_weights(s)
            ? "the weights of a network have no intervals, and every refit "
              "would take as long as the fit"
        : s->gps ? "a model with a gp has a posterior of its functions instead"
        : o->objective != GSV_OBJECTIVE_LIKELIHOOD
            ? "its intervals are those of the likelihood, and the objective is "
              "another one"
            : NULL;
    return why ? fail(GSV_BAD_INPUT, "there is no bootstrap of this fit: %s",
                      why)
               : 0;
}

/* Defaults of Adam. */
static const double RATE = 5e-3, HELDOUT = 0.05;

/* Where every batch has all series its gradient varies little; so do those of
 * motion with inertia, whose paths are smooth. */
static const double STEADY_RATE = 3e-2;
enum { LBFGS_ITERATIONS = 1000, BATCH = 256 };

/* With more data there is more to be learned, and a longer search pays: by the
 * third root of their number. */
static size_t iterations_for(size_t gaps)
{
    double n = 1500.0 * cbrt((double)gaps / 3000.0);
    return (size_t)fmin(fmax(n, 900.0), 30000.0);
}

enum { FEWEST_TO_HOLD = 100 };

/* The same of series, where batches are of these: about so many rows. One or
 * two of motion with inertia would end its quicker search too early. */
enum { TRACKS_TO_HOLD = 20, INERT_TO_HOLD = 60 };
enum { BATCH_ROWS = 512, TRACK_ITERATIONS = 600 };

static void fill_for_tracks(struct learner *l, gsv_fit_options *o)
{
    size_t rows = l->s->rows / (l->gaps ? l->gaps : 1);
    bool inert = gsv_model_singular(l->m);
    size_t fewest = inert ? INERT_TO_HOLD : TRACKS_TO_HOLD;
    if (!o->iterations) o->iterations = TRACK_ITERATIONS;
    if (o->heldout < 0.0) o->heldout = l->gaps >= fewest ? HELDOUT : 0.0;
    if (!o->batch) o->batch = BATCH_ROWS / (rows ? rows : 1);
    if (!o->batch) o->batch = 1;
    bool steady = inert || o->batch >= l->gaps;
    if (!(o->rate > 0.0) && steady) o->rate = STEADY_RATE;
}

/* Of networks, where the estimator has their gradient for batches. */
static bool has_batches(const struct learner *l)
{
    return !l->method->tracks || l->method->tracks(l->m);
}

/* Models with a gp have their own optimiser, which is for no other models. */
static int choose_optimizer(struct learner *l, const gsv_fit_options *o)
{
    const struct spec *s = l->m->spec;
    bool own = o->optimizer == GSV_OPTIMIZER_EVIDENCE;
    l->optimizer = o->optimizer;
    if (o->optimizer == GSV_OPTIMIZER_AUTO)
        l->optimizer =
            s->gps                                  ? GSV_OPTIMIZER_EVIDENCE
            : learner_integrates(l)                 ? GSV_OPTIMIZER_ADAM
            : spec_has_weights(s) && has_batches(l) ? GSV_OPTIMIZER_SOAP
            : o->objective == GSV_OBJECTIVE_SLOPES  ? GSV_OPTIMIZER_ADAM
                                                    : GSV_OPTIMIZER_LBFGS;
    if (s->gps && learner_integrates(l))
        return fail(GSV_BAD_INPUT,
                    "a model with a gp is learned by its evidence, not by a "
                    "mean squared error");
    if (s->gps && o->errors == GSV_ERRORS_SANDWICH)
        return fail(GSV_BAD_INPUT,
                    "the errors of a model with a gp come from the curvature "
                    "of its evidence, which is no sum over gaps: there is no "
                    "sandwich of it; take --errors observed");
    if (o->optimizer == GSV_OPTIMIZER_AUTO) return 0;
    if (own != (s->gps > 0))
        return fail(GSV_BAD_INPUT,
                    s->gps ? "a model with a gp is learned by its evidence: "
                             "leave the optimizer out"
                           : "the optimizer 'evidence' is for models with a "
                             "gp: use adam or lbfgs");
    return 0;
}

/* Held-out series have no numbers of their own. */
static int check_heldout(const struct learner *l, const gsv_fit_options *o)
{
    const struct spec *s = l->m->spec;
    if (!o->heldout_series) return 0;
    if (!(o->heldout > 0.0))
        return fail(GSV_BAD_INPUT, "held-out series need a share above 0");
    if (spec_category(s, SERIES_NAME) < s->categories)
        return fail(GSV_BAD_INPUT,
                    "the model has numbers of single series, and nothing says "
                    "what they are for series that are held out; hold gaps out "
                    "instead");
    return 0;
}

int fit_options_check(struct learner *l, const gsv_fit_options *o)
{
    if (o->estimator.form == GSV_FORM_BOUND)
        return fail(GSV_BAD_INPUT, "the form bound is no likelihood: learn by "
                                   "it as the objective em-linear");
    int status = check_heldout(l, o);
    if (!status) status = check_bootstrap(l, o);
    if (!status) status = check_objective(l, o);
    if (!status) status = choose_optimizer(l, o);
    if (!status) status = gsv_check_fit(l->m);
    return status ? status : check_method(l, o);
}

int fit_options_sandwich(const struct learner *l, const gsv_fit_options *o)
{
    bool whole = !l->method->groups || o->estimator.joint;
    if (o->errors != GSV_ERRORS_SANDWICH || !whole || l->s->tracks > l->free)
        return 0;
    return fail(GSV_BAD_INPUT,
                "sandwich errors add up what whole series say, and need more "
                "series than the %zu numbers that are learned, but there %s "
                "%zu; use --errors observed",
                l->free, l->s->tracks == 1 ? "is" : "are", l->s->tracks);
}

void fit_options_fill(struct learner *l, gsv_fit_options *o)
{
    bool nets = spec_has_weights(l->m->spec);
    bool adam = learner_by_batches(l);
    if (learner_by_tracks(l)) fill_for_tracks(l, o);
    if (!o->iterations)
        o->iterations = adam ? iterations_for(l->gaps) : LBFGS_ITERATIONS;
    if (!(o->rate > 0.0)) o->rate = RATE;
    if (o->heldout < 0.0)
        o->heldout = nets && adam && l->gaps >= FEWEST_TO_HOLD &&
                             !weight_prior_is_used(l)
                         ? HELDOUT
                         : 0.0;
    l->ramp = !o->batch;
    if (l->ramp) o->batch = BATCH;
    l->iterations = o->iterations;
}

int fit_options_fix(gsv_fit_options *o, const gsv_model *m,
                    const gsv_fit_options *from, const char **to)
{
    size_t count = 0;
    bool *chosen = NEW(bool, gsv_theta_size(m));
    if (!chosen) return GSV_NO_MEMORY;
    for (size_t i = 0; i < from->fixed; i++)
        if (!theta_select(m, from->fix[i], chosen)) to[count++] = from->fix[i];
    mem_free(chosen);
    o->fixed = count;
    o->fix = to;
    return 0;
}
