/* SPDX-License-Identifier: MIT */
/* What a model can be used for, whatever the data and the options are: what
 * `check` says beforehand is what estimates and fits say, as they ask here. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "lang/message.h"
#include "lang/singular.h"
#include "model/model.h"
#include "model/names.h"
#include "model/reach.h"

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
    [NO_MAP_FUNCTION] = "it is made of a network, gp or external function of "
                        "the state",
    [NO_MAP_SHAPE] = "it is not a function, element by element, that is "
                     "positive and finite at the parameters' start values",
    [NO_MAP_JUMPS] = "it is made of comparisons, or of functions that jump",
    [NO_MAP_REACTION] = "it is the square root of a reaction's rate",
    [NO_MAP_MISSING] = "here a state has no noise",
    [NO_MAP_DEPENDENT] = "here the noise of a state is a combination of those "
                         "of other states",
};

int refuse_singular(const gsv_model *m)
{
    const struct spec *s = m->spec;
    if (s->noise != NOISE_SINGULAR) return 0;
    if (spec_is_latent(s))
        return REFUSE(m, s->no_map_place,
                      "%s, but the estimators scan, conjugate and "
                      "variational need a noise for every state; use --observe "
                      "guided, or add a noise of its own ('s*dW')",
                      WHY[s->no_map]);
    return REFUSE(m, s->no_map_place,
                  "%s, but this needs a noise for every state; add one of its "
                  "own ('s*dW'), or use the objective likelihood",
                  WHY[s->no_map]);
}

/* Why there are no chains, and what to do. */
static const struct {
    const char *why, *remedy;
} CHAINLESS[] = {
    [NO_CHAIN_SILENT] = {"no equation has noise",
                         "add a noise ('s*dW'), or observe states with noise "
                         "(obs)"},
    [NO_CHAIN_DEPENDENT] = {"the noise of this state is a combination of those "
                            "of other states",
                            "take the state out, or add a noise of its own "
                            "('s*dW')"},
    [NO_CHAIN_STILL] = {"this state never changes",
                        "make it a 'param', or an 'input' where it differs "
                        "from series to series"},
    [NO_CHAIN_CLOCK] = {"this state depends on time alone",
                        "write it as a function of t, or make it an 'input'"},
    [NO_CHAIN_UNREACHED] = {"no noise gets to this state, directly or through "
                            "other states",
                            "make it an 'input', or observe it with noise "
                            "(obs)"},
    [NO_CHAIN_LONG] = {"this state is an integral of a state with noise, "
                       "taken more than four times, and the covariance of such "
                       "a chain is singular to the digits of a computer",
                       "observe this state with noise (obs), or add a noise "
                       "('s*dW')"},
    [NO_CHAIN_SAME] = {"this state has no noise, and follows the same noise as "
                       "another state",
                       "add a noise ('s*dW'), or observe it with noise (obs)"},
    [NO_CHAIN_CURVED] = {"the rate of this state, which has no noise, is not "
                         "linear in the state that brings the noise to it",
                         "write the model with that rate as a state, add a "
                         "noise ('s*dW'), or observe it with noise (obs)"},
    [NO_CHAIN_NOISE] = {"this state has no noise, and the noise that gets to "
                        "its rate depends on other states than this one",
                        "add a noise ('s*dW'), or observe it with noise "
                        "(obs)"},
    [NO_CHAIN_JUMPS] = {"this state has no noise, and its rate, or the noise "
                        "that gets to it, may jump or have a kink",
                        "use smooth functions, add a noise ('s*dW'), or "
                        "observe it with noise (obs)"},
};

bool chain_is_guided(const gsv_model *m)
{
    enum no_chain why = m->chain.why;
    return why == NO_CHAIN_SAME || why == NO_CHAIN_CURVED ||
           why == NO_CHAIN_NOISE;
}

const char *chain_reason(const gsv_model *m)
{
    return CHAINLESS[m->chain.why].why;
}

int refuse_chainless(const gsv_model *m)
{
    const struct spec *s = m->spec;
    if (s->noise != NOISE_SINGULAR || m->chain.next || chain_is_guided(m))
        return 0;
    if (spec_is_latent(s)) return refuse_singular(m);
    struct place place =
        s->equation_place ? s->equation_place[m->chain.state] : s->no_map_place;
    return REFUSE(m, place, "%s, so exact data have no density; %s",
                  CHAINLESS[m->chain.why].why, CHAINLESS[m->chain.why].remedy);
}

/* State i is a column of the data, and noise reaches it after so many
 * integrations. */
static int look_at_order(const gsv_model *m, size_t i, size_t order)
{
    if (m->spec->latent[i] || order <= REACH_MOST) return 0;
    const char *name = m->spec->column[i];
    if (order == REACH_NEVER)
        return fail(GSV_BAD_INPUT,
                    "no noise ever reaches the state '%s', neither by its "
                    "equation nor by those of other states, so its column has "
                    "no density after the first row; declare it as an input, "
                    "or hide it by 'init %s ~ ...'",
                    name, name);
    return fail(GSV_BAD_INPUT,
                "noise reaches the state '%s' only after %zu integrations, "
                "and more than %d cannot be told apart in double precision; "
                "observe it with noise ('obs y ~ normal(%s, e)')",
                name, order, REACH_MOST, name);
}

int model_reach(const gsv_model *m, bool *uses, size_t *order)
{
    const struct spec *s = m->spec;
    size_t d = s->dim, n = s->noises, orders;
    bool *noise = NEW(bool, d *n);
    int status = noise ? 0 : GSV_NO_MEMORY;
    if (!status) status = graph_state_elements(s->graph, s->drift, d, uses);
    for (size_t i = 0; !status && i < (s->diagonal ? d : d * n); i++)
        noise[s->diagonal ? i * (d + 1) : i] =
            !element_is_zero(s->graph, s->diffusion, i);
    if (!status) status = reach_find(d, n, uses, noise, order, &orders);
    mem_free(noise);
    return status;
}

int refuse_unreached(const gsv_model *m)
{
    size_t d = m->spec->dim, *order = NEW(size_t, d);
    bool *uses = NEW(bool, d *d);
    int status = order && uses ? model_reach(m, uses, order) : GSV_NO_MEMORY;
    for (size_t i = 0; !status && i < d; i++)
        status = look_at_order(m, i, order[i]);
    MEM_FREE(order, uses);
    return status;
}

int refuse_noise(const gsv_model *m, const char *remedy)
{
    int status = refuse_singular(m);
    if (status) return status;
    return REFUSE(m, m->spec->no_map_place,
                  "no map to unit diffusion takes this noise out, since %s; %s",
                  WHY[m->spec->no_map], remedy);
}

int refuse_equations(const gsv_model *m, const char *scheme)
{
    const struct spec *s = m->spec;
    if (s->reacts_only) return 0;
    if (!s->reactions)
        return fail(GSV_BAD_INPUT,
                    "the scheme %s is for reactions, and this model has none; "
                    "use srk, heun, milstein or euler",
                    scheme);
    return REFUSE(m, s->moving_place,
                  "the scheme %s is for states that only reactions change, in "
                  "whole numbers, but this equation moves its state by itself; "
                  "use srk, heun or euler",
                  scheme);
}

int check_points(const gsv_model *m)
{
    const struct spec *s = m->spec;
    int status = spec_is_latent(s) ? 0 : refuse_chainless(m);
    if (status) return status;
    if (spec_latent(s) > MOST_LATENT)
        return REFUSE(m, s->latent_place,
                      "the model has %zu latent states (obs, init); the "
                      "likelihood is for at most %d",
                      spec_latent(s), MOST_LATENT);
    return 0;
}

/* Of the first gp. */
static struct place gp_place(const struct spec *s)
{
    return s->param[spec_param_at(s, s->gp[0].value)].place;
}

int refuse_effects_of_gps(const gsv_model *m)
{
    if (!m->spec->effects || !m->spec->gps) return 0;
    return REFUSE(m, gp_place(m->spec),
                  "random effects and gps cannot be in one model; use a "
                  "network, or leave one of both out");
}

enum gsv_status gsv_check_likelihood(const gsv_model *m)
{
    if (ANY_NULL(m)) return GSV_BAD_INPUT;
    int status = refuse_effects_of_gps(m);
    if (!status && spec_is_latent(m->spec)) status = refuse_unreached(m);
    return status || m->linear.is ? status : check_points(m);
}

int refuse_events(const gsv_model *m, const char *method)
{
    if (!m->spec->events) return 0;
    return REFUSE(m, m->spec->event[0].place,
                  "the estimator %s cannot follow a state that jumps at known "
                  "times (event); %s",
                  method,
                  spec_is_latent(m->spec)
                      ? "use --observe guided"
                      : "observe it with noise (obs) instead");
}

int refuse_first_laws(const gsv_model *m, const char *method)
{
    const struct spec *s = m->spec;
    size_t i = 0;
    while (i + 1 < s->dim && (!s->latent[i] || s->first[i].law == LAW_NORMAL))
        i++;
    return REFUSE(m, s->first[i].place,
                  "the estimator %s takes only normal laws of first states "
                  "(init); write 'normal(mean, deviation)' here, or use "
                  "--observe guided",
                  method);
}

int refuse_integrals(const gsv_model *m, const char *estimator)
{
    const struct spec *s = m->spec;
    size_t k;
    for (size_t i = 0; i < s->observations; i++)
        if (s->obs[i].integrated && !obs_is_process(s, &s->obs[i], &k))
            return REFUSE(m, s->obs[i].place,
                          "the estimator %s can use an integral only as the "
                          "whole mean of a poisson law, and '%s' has it "
                          "elsewhere; for counts of events write "
                          "'poisson(integral(r))', with all factors inside, or "
                          "use --observe guided",
                          estimator, s->value_column[s->obs[i].value]);
    return 0;
}

bool gsv_model_singular(const gsv_model *m)
{
    return !ANY_NULL(m) && m->spec->noise == NOISE_SINGULAR;
}

/* --- Learning ------------------------------------------------------------- */

const char *model_lacks_scores(const gsv_model *m)
{
    const struct spec *s = m->spec;
    bool inert = gsv_model_singular(m); /* integrals of noise are noise */
    bool moved = s->noise == NOISE_STRETCHED ||
                 graph_depends(s->graph, s->state_of_data, OP_PARAM);
    if (s->integrals && !inert) return "integrals in an obs";
    if (s->events) return "events";
    if (spec_latent(s) < s->dim && moved)
        return "states in the data, whose coordinates depend on parameters";
    return m->inert_functions ? "networks in equations without noise" : NULL;
}

int refuse_unscored(const gsv_model *m)
{
    const char *lacks = model_lacks_scores(m);
    if (!lacks || m->spec->parameters <= MOST_DIFFERENCES) return 0;
    return fail(GSV_BAD_INPUT,
                "the guided filter learns at most %d numbers of models with "
                "%s, and there are %zu: take a smaller network or a formula%s",
                MOST_DIFFERENCES, lacks, m->spec->parameters,
                gsv_model_singular(m) ? "" : ", or --observe scan");
}

enum gsv_status gsv_check_fit(const gsv_model *m)
{
    if (ANY_NULL(m)) return GSV_BAD_INPUT;
    const struct spec *s = m->spec;
    bool guided = gsv_model_singular(m) && !m->chain.next && !m->linear.is;
    int status = gsv_check_likelihood(m);
    if (!status && guided) status = refuse_unscored(m);
    if (status || !s->gps) return status;
    struct place place = gp_place(s);
    if (spec_is_latent(s))
        return REFUSE(m, place,
                      "a gp cannot be learned where states are latent (obs, "
                      "init); use a net");
    for (size_t p = 0; m->chain.next && p < s->params; p++)
        if (s->param[p].gp && m->noise_param[p])
            return REFUSE(m, s->param[p].place,
                          "a gp cannot be learned in the equation of a state "
                          "without noise; use a net, or let it act on a state "
                          "that has noise");
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
    for (size_t i = 0; !status && i < s->observations; i++)
        status = mark(m, s->obs[i].log_density, input, param);
    for (size_t i = 0; !status && i < s->integrals; i++)
        status = mark(m, s->integral[i].rate, input, param);
    if (!status && spec_is_latent(s))
        status = mark(m, s->init_mean, input, param);
    if (!status && spec_is_latent(s))
        status = mark(m, s->init_deviation, input, param);
    for (size_t i = 0; !status && i < s->events; i++)
        status = mark(m, s->event[i].jump, input, param);
    return status ? status : mark(m, s->init_log_density, input, param);
}

static int mark_all(const gsv_model *m, bool *input, bool *param)
{
    const struct spec *s = m->spec;
    const node part[] = {s->drift,      spec_noise(s), s->shape,
                         m->unit_drift, m->unit_state, m->log_jacobian};
    int status = 0;
    for (size_t i = 0; !status && i < sizeof part / sizeof *part; i++)
        status = mark(m, part[i], input, param);
    if (!status) status = mark_observations(m, input, param);
    for (size_t i = 0; !status && i < s->effects; i++) {
        const struct effect_spec *e = &s->effect[i];
        if (!param[e->param]) continue;
        status = mark(m, e->mean, input, param);
        if (!status) status = mark(m, e->root, input, param);
    }
    return status;
}

static void write_one(FILE *out, const gsv_model *m, struct place place,
                      const char *what, const char *name, bool term)
{
    if (m->spec->source_name)
        fprintf(out, "%s:%zu:%zu: ", m->spec->source_name, place.line,
                place.column);
    fprintf(out, "the likelihood does not depend on the %s '%.*s'; %s\n", what,
            (int)(term ? strlen(name) : strcspn(name, ".")), name,
            term ? "take its term out of the list"
                 : "use it in an equation, or take its line out");
}

/* A network or gp is recognised by its first parameter; its other parameters
 * and scales give NULL. */
static const char *declared_as(const struct spec *s, size_t i)
{
    const struct param_spec *p = &s->param[i];
    const char *dot = strchr(p->name, '.');
    if (p->term) return "coefficient";
    if (!dot) return "parameter";
    if (!strcmp(dot, ".value") && p->gp) return "gp";
    if (!strcmp(dot, ".p") || !strcmp(dot, ".p1")) return "function";
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
            write_one(out, m, s->input[i].place, "input", s->input[i].name,
                      false);
    for (size_t i = 0; !status && i < s->params; i++)
        if (!param[i] && declared_as(s, i))
            write_one(out, m, s->param[i].place, declared_as(s, i),
                      s->param[i].name, s->param[i].term);
    MEM_FREE(input, param);
    return status;
}

char *gsv_model_unused(const gsv_model *m)
{
    return ANY_NULL(m) ? NULL : model_text(m, write_unused);
}
