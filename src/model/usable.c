/* SPDX-License-Identifier: MIT */
/* What a model can be used for, whatever the data and the options are: what
 * `check` says beforehand is what estimates and fits say, as they ask here. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "lang/message.h"
#include "model/model.h"
#include "model/names.h"

/* As complain(), of a model that may have no text. */
#define REFUSE(m, place, ...)                                                  \
    ((m)->spec->source_name                                                    \
         ? complain(&(struct source){(m)->spec->source_name, (m)->text},       \
                    place, __VA_ARGS__)                                        \
         : fail(GSV_BAD_INPUT, __VA_ARGS__))

/* --- The likelihood ------------------------------------------------------- */

/* The laws of a row's latent states are dense matrices in a thread's own
 * memory. */
enum { MOST_LATENT = 64 };

static const char *const WHY[] = {
    [NO_MAP_MATRIX] = "the matrix before it depends on the state",
    [NO_MAP_OTHERS] = "it depends on other states than that of its equation",
    [NO_MAP_NOISES] = "the noises of this equation depend on its state in "
                      "different ways",
    [NO_MAP_FUNCTION] = "it is made of a network or gp of the state",
    [NO_MAP_SHAPE] = "it is not a function, element by element, that is "
                     "positive and finite at the parameters' start values",
};

int refuse_noise(const gsv_model *m, const char *remedy)
{
    return REFUSE(m, m->spec->no_map_place,
                  "no map to unit diffusion takes this noise out, since %s; %s",
                  WHY[m->spec->no_map], remedy);
}

enum gsv_status gsv_check_likelihood(const gsv_model *m)
{
    if (ANY_NULL(m)) return GSV_BAD_INPUT;
    const struct spec *s = m->spec;
    if (spec_is_latent(s) && m->bridged)
        return refuse_noise(
            m, "the likelihood of latent states (obs, init) needs one: make "
               "the noise a formula of its own state alone, or give the states "
               "as columns of the data");
    if (spec_latent(s) > MOST_LATENT)
        return REFUSE(m, s->latent_place,
                      "the model has %zu latent states (obs, init); the "
                      "likelihood is for at most %d",
                      spec_latent(s), MOST_LATENT);
    return 0;
}

/* --- Learning ------------------------------------------------------------- */

enum gsv_status gsv_check_fit(const gsv_model *m)
{
    if (ANY_NULL(m)) return GSV_BAD_INPUT;
    const struct spec *s = m->spec;
    int status = gsv_check_likelihood(m);
    if (status || !s->gps) return status;
    struct place place = s->param[spec_param_at(s, s->gp[0].value)].place;
    if (spec_is_latent(s))
        return REFUSE(m, place,
                      "a gp cannot be learned where states are latent (obs, "
                      "init); use a net");
    if (m->bridged)
        return REFUSE(m, place,
                      "a gp cannot be learned where no map to unit diffusion "
                      "takes the noise out, and here none does, since %s; use "
                      "a net",
                      WHY[s->no_map]);
    return 0;
}

/* --- What the likelihood does not depend on ------------------------------- */

/* Marks what an expression is made of; 0 is no expression. */
static int mark(const gsv_model *m, node n, bool *input, bool *param)
{
    return n ? spec_leaves(m->spec, n, input, param) : 0;
}

static int mark_observations(const gsv_model *m, bool *input, bool *param)
{
    const struct spec *s = m->spec;
    int status = 0;
    for (size_t i = 0; !status && i < s->observations; i++) {
        status = mark(m, s->obs[i].log_density, input, param);
        if (!status) status = mark(m, s->obs[i].rate, input, param);
    }
    if (!status && spec_is_latent(s))
        status = mark(m, s->init_mean, input, param);
    if (!status && spec_is_latent(s))
        status = mark(m, s->init_deviation, input, param);
    return status;
}

static int mark_all(const gsv_model *m, bool *input, bool *param)
{
    const struct spec *s = m->spec;
    const node part[] = {s->drift,      s->sigma,      s->shape,
                         m->unit_drift, m->unit_state, m->log_jacobian};
    int status = 0;
    for (size_t i = 0; !status && i < sizeof part / sizeof *part; i++)
        status = mark(m, part[i], input, param);
    return status ? status : mark_observations(m, input, param);
}

static void write_one(FILE *out, const gsv_model *m, struct place place,
                      const char *what, const char *name)
{
    if (m->spec->source_name)
        fprintf(out, "%s:%zu:%zu: ", m->spec->source_name, place.line,
                place.column);
    fprintf(out,
            "the likelihood does not depend on the %s '%.*s'; use it in an "
            "equation, or take its line out\n",
            what, (int)strcspn(name, "."), name);
}

/* A network or gp is recognised by its first parameter; its other parameters
 * and scales give NULL. */
static const char *declared_as(const struct spec *s, size_t i)
{
    const struct param_spec *p = &s->param[i];
    const char *dot = strchr(p->name, '.');
    if (!dot) return "parameter";
    if (!strcmp(dot, ".value") && p->gp) return "gp";
    return !strcmp(dot, ".0.weight") ? "net" : NULL;
}

static int write_unused(FILE *out, const gsv_model *m)
{
    const struct spec *s = m->spec;
    bool *input = NEW(bool, s->inputs + s->values + s->integrals);
    bool *param = NEW(bool, s->params);
    int status = input && param ? mark_all(m, input, param) : GSV_NO_MEMORY;
    for (size_t i = 0; !status && i < s->inputs; i++)
        if (!input[i])
            write_one(out, m, s->input[i].place, "input", s->input[i].name);
    for (size_t i = 0; !status && i < s->params; i++)
        if (!param[i] && declared_as(s, i))
            write_one(out, m, s->param[i].place, declared_as(s, i),
                      s->param[i].name);
    MEM_FREE(input, param);
    return status;
}

char *gsv_model_unused(const gsv_model *m)
{
    return ANY_NULL(m) ? NULL : model_text(m, write_unused);
}
