/* SPDX-License-Identifier: MIT */
/* A checkpoint is a fit with the optimiser's state: vectors over theta and the
 * numbers of struct standing, as tensors; and the terms, a JSON object of all
 * that a resumed fit must have in common with the first one. */
#include <float.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "learn/learner.h"
#include "model/fit_record.h"

enum {
    VECTORS = 13,
    ADAM = 4,
    NUMBERS = sizeof(struct standing) / sizeof(double)
};

/* The vectors by name. */
struct vector {
    const char *name;
    size_t n;
    double *value;
};

static void list_vectors(struct learner *l, struct vector *v)
{
    size_t n = l->n;
    struct vector all[VECTORS] = {{"@state.theta", n, l->theta},
                                  {"@state.safe", n, l->safe},
                                  {"@state.best", n, l->best},
                                  {"@state.champion", n, l->best_restart},
                                  {"@state.mean", n, l->adam.mean},
                                  {"@state.square", n, l->adam.square},
                                  {"@state.average", n, l->adam.average},
                                  {"@state.first", n, l->first},
                                  {"@state.move", n, l->move},
                                  {"@state.penalty", n, l->penalty},
                                  {"@state.centre", n, l->centre},
                                  {"@state.watched", l->watched, l->best_value},
                                  {"@state.bases", l->soap.size, l->soap.kept}};
    memcpy(v, all, sizeof all);
}

/* --- Out ---------------------------------------------------------------- */

int checkpoint_keep(struct learner *l)
{
    struct vector v[VECTORS];
    double adam[ADAM] = {l->adam.steps, l->adam.weight, l->adam.length,
                         l->adam.averaged};
    struct standing now = l->now;
    struct tensors *t = &l->m->state;
    now.seconds = learner_seconds(l);
    if (l->sampling) now.restart = (double)l->o->restarts;
    if (l->sampling) now.iteration = 0.0;
    tensors_free(t);
    soap_keep(&l->soap);
    list_vectors(l, v);
    int status = tensors_note(t, "state", l->terms);
    for (size_t i = 0; !status && i < VECTORS; i++)
        if (v[i].n) status = tensors_add(t, v[i].name, 1, &v[i].n, v[i].value);
    if (!status)
        status = tensors_add(t, "@state.adam", 1, (size_t[]){ADAM}, adam);
    if (!status)
        status = tensors_add(t, "@state.numbers", 1, (size_t[]){NUMBERS},
                             (const double *)&now);
    if (!status && l->keep) status = l->keep(l->keeper, t);
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

/* The first term of one in which both differ, or NULL. */
static const char *difference(const json_t *one, const json_t *other)
{
    const char *key;
    json_t *value;
    json_object_foreach(
        (json_t *)(size_t)one, key,
        value) if (!json_equal(value, json_object_get(other, key))) return key;
    return NULL;
}

static int check_terms(const struct learner *l, const char *text,
                       const char *path)
{
    int status = 0;
    json_t *now = json_loads(l->terms, 0, NULL), *then;
    then = text ? json_loads(text, 0, NULL) : NULL;
    const char *other = then ? difference(now, then) : NULL;
    if (then && !other) other = difference(then, now);
    if (!then)
        status = fail(GSV_BAD_INPUT,
                      "%s cannot be resumed: it is a fit without the "
                      "optimiser's state; give it as the model to go on "
                      "from its values",
                      path);
    else if (other)
        status = fail(GSV_BAD_INPUT,
                      "%s cannot be resumed: it was made with another %s; "
                      "give the same, or start a new fit",
                      path, other);
    json_decref(now);
    json_decref(then);
    return status;
}

static int read_tensor(const struct tensors *t, const char *name, size_t n,
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

/* What a number of the state can be. */
struct allowed {
    const char *name;
    double low, high;
    bool count; /* a whole number                                      */
    bool open;  /* may be what no number is: not known, or not yet    */
};

static int refuse(const char *path, const char *name, size_t i, double value)
{
    char which[40] = "";
    if (i) snprintf(which, sizeof which, "number %zu of ", i);
    return fail(GSV_BAD_INPUT,
                "%s is damaged: %s'%s' of its optimiser's state is %g; take an "
                "earlier checkpoint, or start a new fit",
                path, which, name, value);
}

static bool is_allowed(const struct allowed *a, double x)
{
    if (a->open && (isnan(x) || x == -INFINITY)) return true;
    return x >= a->low && x <= a->high && (!a->count || x == floor(x));
}

static int check_numbers(size_t n, const struct allowed *a, const double *x,
                         const char *path)
{
    for (size_t i = 0; i < n; i++)
        if (!is_allowed(&a[i], x[i])) return refuse(path, a[i].name, 0, x[i]);
    return 0;
}

/* In the order of struct standing. */
static int check_standing(const struct learner *l, const char *path)
{
    const double last = (double)l->iterations, most = 1e15;
    const bool chains = l->o->method == GSV_METHOD_GIBBS;
    const struct allowed standing[NUMBERS] = {
        {"iteration", 0, last, true, false},
        {"restart", 0, (double)l->o->restarts - (chains ? 0.0 : 1.0), true,
         false},
        {"stage", 0, (double)l->stages, true, false},
        {"reference", GSV_REFERENCE_AUTO, GSV_REFERENCE_MODIFIED, true, false},
        {"form", GSV_FORM_AUTO, GSV_FORM_EXACT, true, false},
        {"paths", 0, 1e6, true, false},
        {"steps", 0, 1e6, true, false},
        {"factor", l->now.total + l->now.iteration > 0.0 ? DBL_MIN : 0.0, 1,
         false, false},
        {"failures", 0, 1e6, true, false},
        {"heldout", -DBL_MAX, DBL_MAX, false, true},
        {"best", -DBL_MAX, DBL_MAX, false, true},
        {"best_at", 0, last, true, false},
        {"looked_at", -1, last, true, false},
        {"began_at", 0, last, true, false},
        {"improved", 0, 1, true, false},
        {"falls", 0, 1e6, true, false},
        {"penalised_at", 0, last, true, false},
        {"determined", 0, 1e9, false, false},
        {"lowered_at", 0, last, true, false},
        {"round", 0, 1e6, true, false},
        {"round_began", 0, last, true, false},
        {"champion", -DBL_MAX, DBL_MAX, false, true},
        {"seconds", 0, most, false, false},
        {"total", 0, most, true, false},
        {"end", 0, 1, true, false},
        {"place", 0, most, true, false}};
    return check_numbers(NUMBERS, standing, (const double *)&l->now, path);
}

static int check_adam(const double *adam, const char *path)
{
    static const struct allowed ALLOWED[ADAM] = {
        {"steps", 0, 1e15, true, false},
        {"weight", 0, 1.0 + 1e-9, false, false},
        {"length", 0, DBL_MAX, false, false},
        {"averaged", 0, 1e15, true, false}};
    return check_numbers(ADAM, ALLOWED, adam, path);
}

/* Squares, steps and penalties are not below 0; bases have single precision. */
static int check_vector(const struct learner *l, const struct vector *v,
                        const char *path)
{
    bool positive = v->value == l->adam.square || v->value == l->move ||
                    v->value == l->penalty;
    double most = v->value == l->soap.kept ? (double)FLT_MAX : DBL_MAX;
    const struct allowed one = {v->name, positive ? 0.0 : -most, most, false,
                                false};
    for (size_t i = 0; i < v->n; i++)
        if (!is_allowed(&one, v->value[i]))
            return refuse(path, v->name, i + 1, v->value[i]);
    return 0;
}

/* Nothing of a file is used before all of it is known to make sense. */
static int check_state(struct learner *l, const struct vector *v,
                       const double *adam, const char *path)
{
    int status = check_standing(l, path);
    if (!status) status = check_adam(adam, path);
    for (size_t i = 0; !status && i < VECTORS; i++)
        status = check_vector(l, &v[i], path);
    return status;
}

static int read_state(struct learner *l, const struct tensors *t,
                      const char *path)
{
    struct vector v[VECTORS];
    double adam[ADAM];
    list_vectors(l, v);
    int status = check_terms(l, tensors_text(t, "state"), path);
    for (size_t i = 0; !status && i < VECTORS; i++)
        if (v[i].n)
            status = read_tensor(t, v[i].name, v[i].n, path, v[i].value);
    if (!status) status = read_tensor(t, "@state.adam", ADAM, path, adam);
    if (!status)
        status =
            read_tensor(t, "@state.numbers", NUMBERS, path, (double *)&l->now);
    if (!status) status = check_state(l, v, adam, path);
    if (status) return status;
    if (l->now.factor == 0.0) { /* stopped before it began */
        gsv_theta_get(l->m, l->first);
        memcpy(l->theta, l->first, l->n * sizeof *l->theta);
        return 0;
    }
    l->adam.steps = adam[0];
    l->adam.weight = adam[1];
    l->adam.length = adam[2];
    l->adam.averaged = adam[3];
    soap_take(&l->soap);
    if (l->now.stage > 0.0 && l->asks_steps && l->now.steps >= 1.0)
        l->stage[l->stages - 1].steps = (size_t)l->now.steps;
    if (l->now.stage > 0.0 && l->now.paths >= 1.0 && l->now.steps >= 1.0) {
        l->stage[l->stages - 1].paths = (size_t)l->now.paths;
        l->stage[l->stages - 1].steps = (size_t)l->now.steps;
        l->stage[l->stages - 1].form = (enum gsv_form)l->now.form;
        l->stage[l->stages - 1].reference =
            (enum gsv_reference)l->now.reference;
    }
    /* A round of lbfgs is begun again: its memory of the curvature is lost. */
    if (l->optimizer == GSV_OPTIMIZER_LBFGS && l->free > 0 &&
        (size_t)l->now.stage < l->stages) {
        memcpy(l->theta, l->safe, l->n * sizeof *l->theta);
        l->now.iteration = l->now.round_began;
    }
    l->resumed = true;
    return 0;
}

/* By this it is seen that there are chains: see gibbs_state.c. */
static const char CHAINS[] = "@state.chains.numbers";

/* The scales of networks come with it: they are not in theta. */
static void copy_scales(gsv_model *m, const gsv_model *from)
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
    int status = read_state(l, &from->state, path);
    if (!status) copy_scales(l->m, from);
    if (!status && tensors_find(&from->state, CHAINS)) {
        l->chains = from->state;
        from->state = (struct tensors){0};
    }
    if (!status) curve_read(&l->curve, from->record);
    gsv_model_free(from);
    return status;
}
