/* SPDX-License-Identifier: MIT */
#include "estimator/estimator.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/option_rules.h"
#include "bridge/driver.h"
#include "bridge/gap_method.h"
#include "integrate/path_method.h"
#include "observe/joint.h"
#include "observe/particle.h"
#include "observe/scan.h"

/* Of those that weigh gaps, the row with the model's way to weigh. */
static struct method_choice choose_exact(const struct task *t)
{
    static const struct method_choice row[] = {
        {&METHOD_MODIFIED, "modified bridges: all states are observed exactly, "
                           "and no map to unit diffusion takes this noise out"},
        {&METHOD_BOUND, "bound: the options ask for this form"},
        {&METHOD_BRIDGES, "bridges: all states are observed exactly, and a map "
                          "to unit diffusion exists"}};
    const struct weigher *w = weigher_choose(t->model, t->options);
    size_t i = 0;
    while (row[i].method->inner != w)
        i++;
    return row[i];
}

/* The scan is the default up to this number of latent states: with more of
 * them particles are better at the same cost (docs/ESTIMATOR.md). */
enum { SCAN_STATES = 2 };

static struct method_choice choose_latent(const struct task *t)
{
    static const struct method_choice row[] = {
        [GSV_OBSERVE_AUTO] = {&METHOD_SCAN, "scan: observations are noisy, and "
                                            "at most two states are latent"},
        [GSV_OBSERVE_SCAN] = {&METHOD_SCAN, "scan: the options ask for it"},
        [GSV_OBSERVE_PARTICLE] = {&METHOD_PARTICLE,
                                  "particle filter: the options ask for it"},
        [GSV_OBSERVE_CONJUGATE] = {&METHOD_CONJUGATE,
                                   "conjugate draws: the options ask for them"},
        [GSV_OBSERVE_VARIATIONAL] = {
            &METHOD_VARIATIONAL,
            "variational draws: the options ask for them"}};
    static const struct method_choice particles = {
        &METHOD_PARTICLE, "particle filter: observations are noisy, and more "
                          "than two states are latent"};
    bool open = t->options->observe == GSV_OBSERVE_AUTO;
    if (open && spec_latent(t->model->spec) > SCAN_STATES) return particles;
    return row[t->options->observe];
}

struct method_choice estimator_choose(const struct task *t)
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
    case GSV_OBJECTIVE_LIKELIHOOD:
    case GSV_OBJECTIVE_GRADIENT_MATCHING: /* bridges of one step */
    case GSV_OBJECTIVE_EM_LINEAR: break;  /* the bound           */
    }
    return spec_is_latent(t->model->spec) ? choose_latent(t) : choose_exact(t);
}

int estimator_init(struct estimator *e, const struct task *t)
{
    *e = (struct estimator){.method = estimator_choose(t).method};
    int status = e->method->accept(e->method, t);
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
