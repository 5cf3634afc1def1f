/* SPDX-License-Identifier: MIT */
#include "integrate/path_method.h"

#include <math.h>

#include "base/error.h"
#include "integrate/integrate.h"

static int accept(const struct method *row, const struct task *t)
{
    (void)row;
    return integrator_check(t->model, t->scheme);
}

static int init(const struct method *row, void *machine, const struct task *t)
{
    const gsv_options *e = t->options;
    const enum sensitivity *by = row->inner;
    const struct integrate_options o = {.paths = e->paths,
                                        .steps = e->steps,
                                        .step = e->step,
                                        .scheme = t->scheme,
                                        .by = *by,
                                        .gradient = e->gradient,
                                        .use_double = e->wide,
                                        .seed = e->seed,
                                        .threads = e->threads,
                                        .ranks = e->ranks};
    return integrator_init(machine, t->model, t->series, &o);
}

static void release(void *machine)
{
    integrator_free(machine);
}

/* Minus the squared error of a gap, by the tracks that were chosen. */
static struct score score_of(const struct integrator *i)
{
    struct score s = {0};
    double sum = 0.0, squares = 0.0, n = (double)i->chosen;
    for (size_t g = 0; g < i->chosen; g++) {
        sum -= i->loss[i->order[g]];
        s.gaps += i->course[i->order[g]].gaps;
    }
    s.mean = sum / (double)s.gaps;
    for (size_t g = 0; g < i->chosen; g++) {
        double gaps = (double)i->course[i->order[g]].gaps;
        double off = -i->loss[i->order[g]] - s.mean * gaps;
        squares += off * off;
    }
    s.error = n > 1.0 ? sqrt(squares * n / (n - 1.0)) / (double)s.gaps : NAN;
    return s;
}

static int run(void *machine, const struct request *q, struct score *score)
{
    int status =
        integrator_run(machine, q->iteration, q->n, q->group, q->gradient);
    if (!status) *score = score_of(machine);
    return status;
}

#define PATH_METHOD                                                            \
    .shares = true, .selects = true, .size = sizeof(struct integrator),        \
    .accept = accept, .init = init, .free = release, .run = run

const struct method METHOD_MSE_BACKPROP = {
    PATH_METHOD, .name = "mse-backprop",
    .inner = &(enum sensitivity){BY_BACKPROP}};
const struct method METHOD_MSE_ADJOINT = {PATH_METHOD, .name = "mse-adjoint",
                                          .inner =
                                              &(enum sensitivity){BY_ADJOINT}};
const struct method METHOD_MSE_FORWARD = {PATH_METHOD, .name = "mse-forward",
                                          .inner =
                                              &(enum sensitivity){BY_FORWARD}};
