/* SPDX-License-Identifier: MIT */
/* A checkpoint is a fit with the optimiser's state: vectors over theta and the
 * numbers of struct standing, as tensors; and the terms, a JSON object of all
 * that a resumed fit must have in common with the first one. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "learn/learner.h"
#include "sde/fit_record.h"

enum { VECTORS = 9, NUMBERS = sizeof(struct standing) / sizeof(double) };

/* The vectors by name, (n) each. */
struct vector {
    const char *name;
    double *value;
};

static void list_vectors(struct learner *l, struct vector *v)
{
    struct vector all[VECTORS] = {{"@state.theta", l->theta},
                                  {"@state.safe", l->safe},
                                  {"@state.best", l->best},
                                  {"@state.champion", l->champion},
                                  {"@state.mean", l->adam.mean},
                                  {"@state.square", l->adam.square},
                                  {"@state.average", l->adam.average},
                                  {"@state.first", l->first},
                                  {"@state.move", l->move}};
    memcpy(v, all, sizeof all);
}

/* --- Out ---------------------------------------------------------------- */

int checkpoint_keep(struct learner *l)
{
    struct vector v[VECTORS];
    double adam[3] = {l->adam.steps, l->adam.weight, l->adam.length};
    struct standing now = l->now;
    struct tensors *t = &l->m->state;
    now.seconds = learner_seconds(l);
    tensors_free(t);
    list_vectors(l, v);
    int status = tensors_note(t, "state", l->terms);
    for (size_t i = 0; !status && i < VECTORS; i++)
        status = tensors_add(t, v[i].name, 1, &l->n, v[i].value);
    if (!status) status = tensors_add(t, "@state.adam", 1, (size_t[]){3}, adam);
    if (!status)
        status = tensors_add(t, "@state.numbers", 1, (size_t[]){NUMBERS},
                             (const double *)&now);
    return status;
}

/* The model is written with the values that a fit would end with now. */
int checkpoint_write(struct learner *l, const char *path)
{
    double *theta = NEW(double, l->n);
    if (!theta) return GSV_NO_MEMORY;
    learner_result(l, theta);
    l->ended = GSV_ENDED_STOPPED;
    int status = finish(l, theta, false);
    if (!status) status = checkpoint_keep(l);
    if (!status) status = gsv_model_write(l->m, path);
    gsv_theta_set(l->m, l->theta);
    tensors_free(&l->m->state);
    mem_free(theta);
    return status;
}

/* --- In ----------------------------------------------------------------- */

/* The first term in which both differ, or NULL. */
static const char *difference(const json_t *now, const json_t *then)
{
    const char *key;
    json_t *value;
    json_object_foreach(
        (json_t *)(size_t)now, key,
        value) if (!json_equal(value, json_object_get(then, key))) return key;
    return NULL;
}

static int check_terms(const struct learner *l, const char *text,
                       const char *path)
{
    int status = 0;
    json_t *now = json_loads(l->terms, 0, NULL), *then;
    then = text ? json_loads(text, 0, NULL) : NULL;
    const char *other = then ? difference(now, then) : NULL;
    if (!then)
        status = fail(GSV_BAD_INPUT,
                      "%s cannot be resumed: it is a fit without the "
                      "optimiser's state; give it as the model to go on "
                      "from its values",
                      path);
    else if (other)
        status = fail(GSV_BAD_INPUT,
                      "%s cannot be resumed: it was made with another %s; "
                      "give the same, or begin anew",
                      path, other);
    json_decref(now);
    json_decref(then);
    return status;
}

static int take(const struct tensors *t, const char *name, size_t n,
                const char *path, double *to)
{
    const struct tensor *from = tensors_find(t, name);
    if (!from || from->count != n)
        return fail(GSV_BAD_INPUT,
                    "%s is damaged: '%s' of its state is missing or has "
                    "another size",
                    path, name);
    memcpy(to, from->value, n * sizeof *to);
    return 0;
}

/* Numbers from a file are used as counts only within these bounds. */
static bool is_sane(const struct learner *l, const struct standing *n)
{
    return n->iteration >= 0.0 && n->iteration <= (double)l->iterations &&
           n->restart >= 0.0 && n->restart < (double)l->o->restarts &&
           n->stage >= 0.0 && n->stage <= (double)l->stages &&
           n->reference >= GSV_REFERENCE_AUTO &&
           n->reference <= GSV_REFERENCE_MODIFIED && n->form >= GSV_FORM_AUTO &&
           n->form <= GSV_FORM_EULER && n->paths >= 0.0 && n->paths <= 1e6 &&
           n->steps >= 0.0 && n->steps <= 1e6 && n->round >= 0.0 &&
           n->round <= 1e6 && n->round_began >= 0.0 &&
           n->round_began <= (double)l->iterations && n->total >= 0.0 &&
           n->total <= 1e15 && n->place >= 0.0 && n->place <= 1e15 &&
           n->seconds >= 0.0 && n->factor > 0.0 && n->factor <= 1.0;
}

static int take_state(struct learner *l, const struct tensors *t,
                      const char *path)
{
    struct vector v[VECTORS];
    double adam[3];
    list_vectors(l, v);
    int status = check_terms(l, tensors_text(t, "state"), path);
    for (size_t i = 0; !status && i < VECTORS; i++)
        status = take(t, v[i].name, l->n, path, v[i].value);
    if (!status) status = take(t, "@state.adam", 3, path, adam);
    if (!status)
        status = take(t, "@state.numbers", NUMBERS, path, (double *)&l->now);
    if (!status && !is_sane(l, &l->now))
        status =
            fail(GSV_BAD_INPUT,
                 "%s is damaged: the numbers of its state make no sense", path);
    if (status) return status;
    l->adam.steps = adam[0];
    l->adam.weight = adam[1];
    l->adam.length = adam[2];
    if (l->now.stage > 0.0 && l->now.paths >= 1.0 && l->now.steps >= 1.0) {
        l->stage[l->stages - 1].paths = (size_t)l->now.paths;
        l->stage[l->stages - 1].steps = (size_t)l->now.steps;
        l->stage[l->stages - 1].form = (enum gsv_form)l->now.form;
        l->stage[l->stages - 1].reference =
            (enum gsv_reference)l->now.reference;
    }
    /* A round of lbfgs is begun again: its memory of the curvature is lost. */
    if (l->optimizer == GSV_OPTIMIZER_LBFGS && l->now.iteration > 0.0) {
        memcpy(l->theta, l->safe, l->n * sizeof *l->theta);
        l->now.iteration = l->now.round_began;
    }
    l->resumed = true;
    return 0;
}

/* The scales of networks come with it: they are not in theta. */
static void take_scales(gsv_model *m, const gsv_model *from)
{
    for (size_t i = 0; i < m->spec->params; i++) {
        const struct param_spec *p = &m->spec->param[i];
        if (p->scale)
            memcpy(m->value + p->offset, from->value + p->offset,
                   p->rows * p->columns * sizeof *m->value);
    }
}

int checkpoint_read(struct learner *l, const char *path)
{
    gsv_model *from = gsv_model_read(path);
    if (!from) return (int)gsv_last_status();
    int status = take_state(l, &from->state, path);
    if (!status) take_scales(l->m, from);
    if (!status) curve_take(&l->curve, from->record);
    gsv_model_free(from);
    return status;
}
