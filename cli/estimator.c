/* SPDX-License-Identifier: MIT */
/* The estimator's options, and what an estimate says of itself. */
#include <math.h>
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

/* --- What a fit was asked for -------------------------------------------- */

json_t *json_asked(const gsv_options *o)
{
    const struct {
        const char *name, *word;
    } words[] = {{"reference", o->reference ? REFERENCES[o->reference] : NULL},
                 {"form", o->form ? FORMS[o->form] : NULL},
                 {"random", o->random ? RANDOMS[o->random] : NULL},
                 {"observe", o->observe ? OBSERVERS[o->observe] : NULL}};
    const struct {
        const char *name;
        size_t count;
    } counts[] = {
        {"support", o->points}, {"paths", o->paths}, {"steps", o->steps}};
    const struct {
        const char *name;
        bool is;
    } flags[] = {{"richardson", o->richardson},
                 {"delta", o->delta},
                 {"joint", o->joint},
                 {"double", o->wide}};
    json_t *j = json_object();
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (words[i].word)
            json_object_set_new(j, words[i].name, json_string(words[i].word));
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (counts[i].count)
            json_object_set_new(j, counts[i].name, json_count(counts[i].count));
    if (o->step > 0.0) json_object_set_new(j, "step", json_number(o->step));
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (flags[i].is) json_object_set_new(j, flags[i].name, json_true());
    return j;
}

const char *asked_text(const gsv_options *o, char room[ASKED_ROOM])
{
    json_t *all = json_asked(o), *value;
    const char *name;
    size_t n = 0;
    room[0] = 0;
    json_object_foreach(all, name, value)
    {
        char number[40] = "";
        if (json_is_number(value))
            snprintf(number, sizeof number, "%.10g", json_number_value(value));
        const char *word = json_string_value(value);
        n += (size_t)snprintf(
            room + n, ASKED_ROOM - n, "%s--%s%s%s", n ? " " : "", name,
            json_is_true(value) ? "" : " ", word ? word : number);
    }
    json_decref(all);
    return room;
}

/* What the command says itself stands. A step and a number of steps are two
 * words for one thing, and points are those of one estimator. */
static void take_asked(const struct args *a, const gsv_options *asked,
                       gsv_options *o)
{
    if (!a->paths && asked->paths) o->paths = asked->paths;
    if (!a->steps && !(a->step > 0.0)) {
        if (asked->steps) o->steps = asked->steps;
        o->step = asked->step;
    }
    if (!a->reference) o->reference = asked->reference;
    if (!a->form) o->form = asked->form;
    if (!a->random) o->random = asked->random;
    if (!a->observe) o->observe = asked->observe;
    if (!a->support && o->observe == asked->observe) o->points = asked->points;
    o->richardson = o->richardson || asked->richardson;
    o->delta = o->delta || asked->delta;
    o->joint = o->joint || asked->joint;
    o->wide = o->wide || asked->wide;
}

static const gsv_options *asked_of(const struct args *a, const gsv_model *m)
{
    const gsv_record *r = gsv_model_record(m);
    return r && !a->defaults && !a->paper ? &r->estimator : NULL;
}

/* Those that are others now. */
static gsv_options taken(const gsv_options *before, const gsv_options *now)
{
    gsv_options t = {0};
    if (now->paths != before->paths) t.paths = now->paths;
    if (now->steps != before->steps) t.steps = now->steps;
    if (now->step != before->step) t.step = now->step;
    if (now->reference != before->reference) t.reference = now->reference;
    if (now->form != before->form) t.form = now->form;
    if (now->random != before->random) t.random = now->random;
    if (now->observe != before->observe) t.observe = now->observe;
    if (now->points != before->points) t.points = now->points;
    t.richardson = now->richardson && !before->richardson;
    t.delta = now->delta && !before->delta;
    t.joint = now->joint && !before->joint;
    t.wide = now->wide && !before->wide;
    return t;
}

void estimator_recall(const struct args *a, const gsv_model *m, gsv_options *o)
{
    const gsv_options *asked = asked_of(a, m), before = *o;
    char room[ASKED_ROOM];
    if (!asked) return;
    take_asked(a, asked, o);
    gsv_options note = taken(&before, o);
    if (*asked_text(&note, room) && !a->quiet && ranks_writes(a))
        say(stderr,
            "note: the options of the fit hold here, too: %s; --defaults "
            "leaves them out\n",
            room);
}

static bool is_scan(const gsv_options *o)
{
    return o->observe == GSV_OBSERVE_AUTO || o->observe == GSV_OBSERVE_SCAN;
}

size_t support_recall(const struct args *a, const gsv_model *m)
{
    const gsv_options *asked = asked_of(a, m);
    if (a->support || !asked) return a->support;
    return is_scan(asked) ? asked->points : 0;
}

void estimator_for_paths(const struct args *a, const gsv_model *m,
                         gsv_options *o)
{
    const gsv_options *asked = asked_of(a, m);
    size_t paths = o->paths;
    if (asked) take_asked(a, asked, o);
    o->paths = paths;
    o->points = support_recall(a, m);
    if (!is_scan(o)) o->observe = GSV_OBSERVE_AUTO;
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

bool steps_are_long(const gsv_result *r)
{
    double far = fmax(fmax(3.0 * r->error, 0.1), 0.02 * (double)r->gaps);
    return fabs(r->discretisation) > far;
}

bool estimate_is_doubtful(const gsv_result *r)
{
    return r->flagged || steps_are_long(r);
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
