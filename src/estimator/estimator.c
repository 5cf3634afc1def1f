/* SPDX-License-Identifier: MIT */
#include "estimator/estimator.h"

#include "base/error.h"
#include "base/memory.h"
#include "bridge/gap_method.h"
#include "integrate/path_method.h"
#include "observe/observe.h"

/* Of those that weigh gaps, the one by its way. */
static const struct method *choose_gaps(const struct task *t)
{
    static const struct method *const row[] = {&METHOD_MODIFIED, &METHOD_BOUND};
    const struct weigher *way = weigher_choose(t->model, t->options);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        if (row[i]->inner == way) return row[i];
    return &METHOD_BRIDGES;
}

const struct method *estimator_choose(const struct task *t)
{
    switch (t->objective) {
    case GSV_OBJECTIVE_MSE_BACKPROP: return &METHOD_MSE_BACKPROP;
    case GSV_OBJECTIVE_MSE_ADJOINT: return &METHOD_MSE_ADJOINT;
    case GSV_OBJECTIVE_MSE_FORWARD: return &METHOD_MSE_FORWARD;
    case GSV_OBJECTIVE_LIKELIHOOD:
    case GSV_OBJECTIVE_GRADIENT_MATCHING: /* bridges of one step */
    case GSV_OBJECTIVE_EM_LINEAR: break;  /* the bound           */
    }
    if (spec_is_latent(t->model->spec))
        return rows_choose(t->model, t->options);
    return choose_gaps(t);
}

int estimator_init(struct estimator *e, const struct task *t)
{
    *e = (struct estimator){.method = estimator_choose(t)};
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
    return estimator_choose(&(struct task){.model = m, .options = o})->shares;
}
