/* SPDX-License-Identifier: MIT */
/* The estimator's options, and what an estimate says of itself. */
#include <string.h>

#include "cli.h"

const char *const REFERENCES[] = {[GSV_REFERENCE_AUTO] = "auto",
                                  [GSV_REFERENCE_BROWNIAN] = "brownian",
                                  [GSV_REFERENCE_LINEAR] = "linear",
                                  [GSV_REFERENCE_LNA] = "lna",
                                  [GSV_REFERENCE_MODIFIED] = "modified",
                                  NULL};
const char *const FORMS[] = {
    [GSV_FORM_AUTO] = "auto",         [GSV_FORM_ITO] = "ito",
    [GSV_FORM_MIDPOINT] = "midpoint", [GSV_FORM_STRATONOVICH] = "stratonovich",
    [GSV_FORM_EULER] = "euler",       NULL};
const char *const RANDOMS[] = {
    [GSV_RANDOM_SOBOL] = "sobol", [GSV_RANDOM_IID] = "iid", NULL};
const char *const OBSERVERS[] = {[GSV_OBSERVE_AUTO] = "auto",
                                 [GSV_OBSERVE_SCAN] = "scan",
                                 [GSV_OBSERVE_PARTICLE] = "particle",
                                 [GSV_OBSERVE_CONJUGATE] = "conjugate",
                                 [GSV_OBSERVE_VARIATIONAL] = "variational",
                                 NULL};

int estimator_options(const struct args *a, gsv_options *o)
{
    gsv_options usual = gsv_options_default();
    int reference = GSV_REFERENCE_AUTO, form = GSV_FORM_AUTO;
    int random = GSV_RANDOM_SOBOL, observe = GSV_OBSERVE_AUTO;
    if (a->paper) {
        reference = GSV_REFERENCE_BROWNIAN;
        form = GSV_FORM_ITO;
        random = GSV_RANDOM_IID;
        observe = GSV_OBSERVE_CONJUGATE;
    }
    if (parse_choice("--reference", a->reference, REFERENCES, &reference) ||
        parse_choice("--form", a->form, FORMS, &form) ||
        parse_choice("--random", a->random, RANDOMS, &random) ||
        parse_choice("--observe", a->observe, OBSERVERS, &observe))
        return EXIT_INPUT;
    *o = (gsv_options){.paths = a->paths ? a->paths : usual.paths,
                       .steps = a->steps ? a->steps : usual.steps,
                       .step = a->step,
                       .reference = (enum gsv_reference)reference,
                       .form = (enum gsv_form)form,
                       .random = (enum gsv_random)random,
                       .observe = (enum gsv_observe)observe,
                       .points = a->support,
                       .richardson = a->richardson,
                       .delta = a->delta,
                       .tolerance = a->tolerance,
                       .joint = a->joint || a->paper,
                       .gradient = a->gradient,
                       .wide = a->wide,
                       .seed = a->seed,
                       .threads = a->threads,
                       .ranks = a->ranks};
    return 0;
}

/* --- What was used ------------------------------------------------------- */

/* "lna", or with counts where there are several. */
static const char *used(const char *const *word, size_t words,
                        const size_t *count, size_t total, char *room)
{
    size_t n = 0;
    room[0] = 0;
    for (size_t i = 0; i < words; i++) {
        if (!count[i]) continue;
        if (count[i] == total) n += (size_t)sprintf(room + n, "%s", word[i]);
        else
            n += (size_t)sprintf(room + n, "%s%s %zu", n ? ", " : "", word[i],
                                 count[i]);
    }
    return room;
}

const char *references_used(const gsv_result *r, char room[120])
{
    enum { KINDS = GSV_REFERENCE_MODIFIED + 1 };
    size_t count[KINDS] = {0};
    for (size_t i = 0; i < r->groups; i++)
        count[r->gap[i].reference]++;
    return used(REFERENCES, KINDS, count, r->groups, room);
}

const char *forms_used(const gsv_result *r, char room[120])
{
    enum { KINDS = GSV_FORM_EULER + 1 };
    size_t count[KINDS] = {0};
    for (size_t i = 0; i < r->groups; i++)
        count[r->gap[i].form]++;
    return used(FORMS, KINDS, count, r->groups, room);
}

void say_effort(const struct args *a, const gsv_options *o, const gsv_result *r)
{
    if (!a->quiet && !r->observe && r->paths > o->paths &&
        r->paths < 2 * o->paths && !(o->tolerance > 0.0))
        say(stderr,
            "note: %zu paths instead of %zu: Sobol' points come in "
            "powers of two\n",
            r->paths, o->paths);
    if (o->tolerance > 0.0 && !r->settled)
        say(stderr,
            "warning: the tolerance was not reached with %zu paths and "
            "%zu steps\n",
            r->paths, r->steps);
}

void json_estimate(const gsv_result *r, json_t *j)
{
    json_object_set_new(j, "loglik", json_number(r->loglik));
    json_object_set_new(j, "stderr", json_number(r->error));
    json_object_set_new(j, "discretisation", json_number(r->discretisation));
    json_object_set_new(j, "ess_min", json_number(r->ess_min));
    json_object_set_new(j, "khat_max", json_number(r->khat_max));
    json_object_set_new(j, "log_bias", json_number(r->log_bias));
}
