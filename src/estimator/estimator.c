/* SPDX-License-Identifier: MIT */
#include "estimator/estimator.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/option_rules.h"
#include "bridge/driver.h"
#include "bridge/gap_method.h"
#include "bridge/weighers.h"
#include "guided/guided.h"
#include "integrate/path_method.h"
#include "kalman/kalman.h"
#include "model/model.h"
#include "observe/joint.h"
#include "observe/scan.h"
#include "panel/panel.h"
#include "slope/slope_method.h"
#include "strip/strip.h"

/* Of those that weigh gaps, the row with the model's way to weigh. */
static struct method_choice choose_exact(const struct task *t)
{
    static const struct method_choice
        row[] = {{&METHOD_MODIFIED,
                  "modified bridges: all states are observed exactly, "
                  "and no map to unit diffusion takes this noise out"},
                 {&METHOD_BOUND, "bound: the options ask for this form"},
                 {&METHOD_COMPOSED, "composed: the options ask for this form"},
                 {&METHOD_EXACT, "exact: the options ask for this form"},
                 {&METHOD_BRIDGES,
                  "bridges: all states are observed exactly, and a map "
                  "to unit diffusion exists"}},
        chains = {&METHOD_BRIDGES,
                  "bridges: all states are observed exactly, and those without "
                  "noise are integrals of one (chains)"},
        exact = {&METHOD_EXACT,
                 "exact: linear equations that are observed exactly have a "
                 "normal law; forces in time are integrated"},
        guided = {&METHOD_GUIDED,
                  "guided filter: all states are observed exactly, and those "
                  "without noise form no chains of integrals"};
    const struct weigher *w = weigher_choose(t->model, t->options);
    bool likely = t->objective == GSV_OBJECTIVE_LIKELIHOOD;
    size_t i = 0;
    if (likely && exact_applies(t->model, t->options)) return exact;
    if (t->model->chain.next && w == METHOD_BRIDGES.inner) return chains;
    if (chain_is_guided(t->model)) return guided;
    while (row[i].method->inner != w)
        i++;
    return row[i];
}

/* The scan is a candidate up to this number of latent states, and networks of
 * hidden states up to it are learned with it: with more of them particles are
 * better at the same cost (docs/ESTIMATOR.md). */
enum { SCAN_STATES = 2 };

/* Whether an obs has an integral that is not just the mean of a count. */
static bool has_integrals(const struct spec *s)
{
    for (size_t i = 0; i < s->observations; i++) {
        size_t integral;
        if (s->obs[i].integrated && !obs_is_process(s, &s->obs[i], &integral))
            return true;
    }
    return false;
}

/* Why only the guided filter can be used, or NULL. */
static const char *needs_guided(const gsv_model *m)
{
    if (gsv_model_singular(m))
        return "guided filter: states are latent, and not every equation has "
               "noise of its own";
    if (m->bridged && !m->lone.is)
        return "guided filter: states are latent, and no map to unit diffusion "
               "takes this noise out";
    if (m->spec->events)
        return "guided filter: states are latent, and events move them";
    if (has_integrals(m->spec))
        return "guided filter: integrals of latent states are observed";
    return NULL;
}

/* Whether the scan and the guided filter are both possible. */
static bool is_measured(const gsv_model *m)
{
    return spec_latent(m->spec) <= SCAN_STATES && !m->linear.is &&
           !needs_guided(m) && !spec_has_functions(m->spec);
}

static struct method_choice choose_open(const gsv_model *m)
{
    static const struct method_choice
        exact = {&METHOD_KALMAN,
                 "kalman: linear equations with constant noise and normal "
                 "observations: exact"},
        timed = {&METHOD_KALMAN,
                 "kalman: linear equations with normal observations, whose "
                 "coefficients change between rows: no random numbers"},
        many = {&METHOD_GUIDED, "guided filter: observations are noisy, and "
                                "more than two states are latent"},
        scored = {&METHOD_GUIDED,
                  "guided filter: observations are noisy, more than two states "
                  "are latent, and networks are learned by scores of paths"},
        few = {&METHOD_SCAN,
               "scan: observations are noisy, and at most two states are "
               "latent; or the guided filter, where that is the better one on "
               "the first rows of the data"},
        limited = {&METHOD_SCAN,
                   "scan: observations are noisy, and there are networks that "
                   "the guided filter cannot learn in such a model"},
        lone = {&METHOD_STRIP,
                "scan: one state is latent beside an exact one, and they share "
                "noises: on a lattice; or the guided filter, where that is the "
                "better one on the first rows of the data"},
        learned = {&METHOD_SCAN, "scan: observations are noisy, at most two "
                                 "states are latent, and there are networks"};
    bool scanned = spec_latent(m->spec) <= SCAN_STATES;
    const char *only = needs_guided(m);
    if (m->linear.is) return kalman_is_exact(m) ? exact : timed;
    if (only) return (struct method_choice){&METHOD_GUIDED, only};
    if (m->lone.is) return lone;
    if (is_measured(m)) return few;
    if (!spec_has_functions(m->spec)) return many;
    if (scanned) return learned;
    return model_lacks_scores(m) ? limited : scored;
}

bool estimator_is_open(const struct task *t)
{
    return t->objective == GSV_OBJECTIVE_LIKELIHOOD &&
           spec_is_latent(t->model->spec) &&
           t->options->observe == GSV_OBSERVE_AUTO && is_measured(t->model);
}

static struct method_choice choose_latent(const struct task *t)
{
    static const struct method_choice row[] = {
        [GSV_OBSERVE_SCAN] = {&METHOD_SCAN, "scan: the options ask for it"},
        [GSV_OBSERVE_CONJUGATE] = {&METHOD_CONJUGATE,
                                   "conjugate draws: the options ask for them"},
        [GSV_OBSERVE_VARIATIONAL] =
            {&METHOD_VARIATIONAL,
             "variational draws: the options ask for them"},
        [GSV_OBSERVE_KALMAN] = {&METHOD_KALMAN,
                                "kalman: the options ask for it"},
        [GSV_OBSERVE_GUIDED] = {&METHOD_GUIDED,
                                "guided filter: the options ask for it"}};
    struct method_choice asked = row[t->options->observe];
    if (asked.method == &METHOD_SCAN && t->model->lone.is)
        asked.method = &METHOD_STRIP;
    return asked.method ? asked : choose_open(t->model);
}

/* Without a look at random effects. */
static struct method_choice choose_given(const struct task *t)
{
    switch (t->objective) {
    case GSV_OBJECTIVE_MSE_BACKPROP:
        return (struct method_choice){
            &METHOD_MSE_BACKPROP,
            "simulated paths: the objective is mse-backprop"};
    case GSV_OBJECTIVE_MSE_ADJOINT:
        return (struct method_choice){
            &METHOD_MSE_ADJOINT,
            "simulated paths: the objective is mse-adjoint"};
    case GSV_OBJECTIVE_MSE_FORWARD:
        return (struct method_choice){
            &METHOD_MSE_FORWARD,
            "simulated paths: the objective is mse-forward"};
    case GSV_OBJECTIVE_SLOPES:
        return (struct method_choice){
            &METHOD_SLOPES, "corrected slopes: the objective is slopes"};
    case GSV_OBJECTIVE_LIKELIHOOD:
    case GSV_OBJECTIVE_GRADIENT_MATCHING: /* bridges of one step */
    case GSV_OBJECTIVE_EM_LINEAR: break;  /* the bound           */
    }
    return spec_is_latent(t->model->spec) ? choose_latent(t) : choose_exact(t);
}

struct method_choice estimator_choose(const struct task *t)
{
    struct method_choice c = choose_given(t);
    const struct method *over = panel_of(c.method);
    if (t->model->spec->effects && !t->given_effects && over) c.method = over;
    return c;
}

int estimator_accept(const struct method *method, const struct task *t)
{
    const struct spec *spec = t->model->spec;
    const struct method *inner = panel_inner(method);
    int status = method->accept(method, t);
    if (!status && spec->effects && !t->given_effects &&
        (!inner || t->objective != GSV_OBJECTIVE_LIKELIHOOD))
        status = fail(GSV_BAD_INPUT,
                      "the model has random effects, which only the "
                      "log-likelihood integrates over; leave --objective out");
    if (!status && inner) {
        struct task given = *t;
        given.given_effects = true;
        return estimator_accept(inner, &given);
    }
    if (!status && spec->events && !method->jumps)
        status = refuse_events(t->model, method->name);
    if (!status && spec->init_log_density && !method->first_laws)
        status = refuse_first_laws(t->model, method->name);
    return status;
}

size_t estimator_points(const gsv_model *m, const gsv_options *o,
                        const gsv_result *r)
{
    const struct task t = {.model = m, .options = o};
    size_t usual = estimator_choose(&t).method->usual;
    return o->points ? o->points : usual ? usual : r->paths;
}

int estimator_init(struct estimator *e, const struct task *t)
{
    *e = (struct estimator){.method = estimator_choose(t).method};
    int status = estimator_accept(e->method, t);
    if (status) return status;
    e->machine = mem_new(1, e->method->size);
    if (!e->machine) return GSV_NO_MEMORY;
    return e->method->init(e->method, e->machine, t);
}

void estimator_free(struct estimator *e)
{
    if (e->machine) e->method->free(e->machine);
    mem_free(e->machine);
    *e = (struct estimator){0};
}

int estimator_run(struct estimator *e, const struct request *q,
                  struct score *score)
{
    return e->method->run(e->machine, q, score);
}

int estimator_fill(struct estimator *e, const struct request *q, bool list,
                   gsv_result *r)
{
    return e->method->fill(e->machine, q, list, r);
}

double estimator_doubt(const struct estimator *e)
{
    return e->method->doubt ? e->method->doubt(e->machine) : 0.0;
}

bool estimator_is_rough(const struct estimator *e)
{
    return e->method->rough && e->method->rough(e->machine);
}

bool gsv_ranks_share(const gsv_model *m, const gsv_options *o)
{
    if (ANY_NULL(m, o)) return false;
    struct task t = {.model = m, .options = o};
    return estimator_choose(&t).method->shares;
}

const char *gsv_estimator_reason(const gsv_model *m, const gsv_options *o)
{
    if (ANY_NULL(m, o) || option_check(GSV_OF_ESTIMATOR, o)) return NULL;
    return estimator_choose(&(struct task){.model = m, .options = o}).reason;
}
