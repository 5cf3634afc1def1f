/* SPDX-License-Identifier: MIT */
/* The estimator's options, and what an estimate says about itself. */
#include <math.h>
#include <string.h>

#include "cli.h"

gsv_options estimator_options(const struct args *a)
{
    gsv_options o = a->estimator;
    o.ranks = a->ranks;
    if (!a->paper) return o;
    o.joint = true;
    if (!is_given(a, "--reference")) o.reference = GSV_REFERENCE_BROWNIAN;
    if (!is_given(a, "--form")) o.form = GSV_FORM_ITO;
    if (!is_given(a, "--random")) o.random = GSV_RANDOM_IID;
    if (!is_given(a, "--observe")) o.observe = GSV_OBSERVE_CONJUGATE;
    return o;
}

/* --- The options of a fit ------------------------------------------------- */

/* The next row of an option of the likelihood that a fit was made with; NULL
 * is the first. Others, such as the seed, are for every use. */
static const gsv_option *next_asked(const gsv_option *row)
{
    size_t rows;
    const gsv_option *first = gsv_option_table(&rows);
    for (row = row ? row + 1 : first; row < first + rows; row++)
        if (row->of == GSV_OF_ESTIMATOR && row->flag &&
            (row->uses & GSV_USE_FIT) && row->uses != ~0u)
            return row;
    return NULL;
}

json_t *json_asked(const gsv_options *o)
{
    json_t *j = json_object();
    for (const gsv_option *row = NULL; (row = next_asked(row));) {
        double value = gsv_option_get(row, o);
        if (!(value > 0.0)) continue;
        json_object_set_new(j, row->flag + 2,
                            row->word ? json_string(row->word[(int)value])
                            : row->type == GSV_TYPE_SWITCH ? json_true()
                            : row->type == GSV_TYPE_REAL
                                ? json_number(value)
                                : json_count((size_t)value));
    }
    return j;
}

const char *asked_text(const gsv_options *o, char room[ASKED_ROOM])
{
    size_t n = 0;
    room[0] = 0;
    for (const gsv_option *row = NULL; (row = next_asked(row));) {
        double value = gsv_option_get(row, o);
        char number[40] = "";
        if (!(value > 0.0)) continue;
        if (row->type <= GSV_TYPE_REAL)
            snprintf(number, sizeof number, " %.10g", value);
        n += (size_t)snprintf(room + n, ASKED_ROOM - n, "%s%s%s%s%s",
                              n ? " " : "", row->flag, number,
                              row->word ? " " : "",
                              row->word ? row->word[(int)value] : "");
    }
    return room;
}

/* Options on the command line replace those of the fit. A step and a number of
 * steps replace each other, and points belong to one estimator. */
static void take_asked(const struct args *a, const gsv_options *asked,
                       gsv_options *o)
{
    bool steps = is_given(a, "--step") || is_given(a, "--steps");
    for (const gsv_option *row = NULL; (row = next_asked(row));) {
        double value = gsv_option_get(row, asked);
        bool is_step = !strncmp(row->field, "step", 4);
        bool other =
            !strcmp(row->field, "points") && o->observe != asked->observe;
        if (value > 0.0 && !is_given(a, row->flag) && !(is_step && steps) &&
            !other)
            gsv_option_set(row, o, value);
    }
}

static const gsv_options *asked_of(const struct args *a, const gsv_model *m)
{
    const gsv_record *r = gsv_model_record(m);
    return r && !a->defaults && !a->paper ? &r->estimator : NULL;
}

void estimator_recall(const struct args *a, const gsv_model *m, gsv_options *o)
{
    const gsv_options *asked = asked_of(a, m), before = *o;
    gsv_options taken = {0};
    char room[ASKED_ROOM];
    if (!asked) return;
    take_asked(a, asked, o);
    for (const gsv_option *row = NULL; (row = next_asked(row));)
        if (gsv_option_get(row, o) != gsv_option_get(row, &before))
            gsv_option_set(row, &taken, gsv_option_get(row, o));
    if (*asked_text(&taken, room) && !a->quiet && ranks_writes(a))
        say(stderr,
            "note: the options of the fit are used here, too: %s; --defaults "
            "ignores them\n",
            room);
}

/* Those that know the laws of the states. */
static bool knows_states(enum gsv_observe e)
{
    return e == GSV_OBSERVE_AUTO || e == GSV_OBSERVE_SCAN ||
           e == GSV_OBSERVE_KALMAN || e == GSV_OBSERVE_GUIDED;
}

gsv_predict_options predict_recall(const struct args *a, const gsv_model *m)
{
    const gsv_options *asked = asked_of(a, m);
    gsv_predict_options o = a->predict;
    bool given = is_given(a, "--observe");
    if (is_given(a, "--steps")) o.steps = a->estimator.steps;
    if (!asked || !knows_states(asked->observe)) return o;
    if (!given) o.observe = asked->observe;
    if (o.observe != asked->observe) return o;
    if (!o.points) o.points = asked->points;
    if (!o.steps) o.steps = asked->steps;
    return o;
}

gsv_predict_options residual_options(const struct args *a, const gsv_model *m)
{
    gsv_predict_options o = predict_recall(a, m);
    if (knows_states(o.observe)) return o;
    o.observe = GSV_OBSERVE_AUTO;
    o.points = 0;
    return o;
}

void estimator_for_paths(const struct args *a, const gsv_model *m,
                         gsv_options *o)
{
    const gsv_options *asked = asked_of(a, m), given = *o;
    if (asked) take_asked(a, asked, o);
    o->paths = given.paths;
    if (!given.points && asked && !knows_states(asked->observe)) o->points = 0;
    if (!knows_states(o->observe)) o->observe = GSV_OBSERVE_AUTO;
}

/* --- What was used ------------------------------------------------------- */

/* "lna", or "lna 31, brownian 2", by the enum at an offset of every gap. */
static const char *used(const char *flag, size_t offset, const gsv_result *r,
                        char *room)
{
    size_t count[16] = {0}, n = 0;
    room[0] = 0;
    for (size_t i = 0; i < r->groups; i++)
        count[*(const int *)((const char *)&r->gap[i] + offset)]++;
    for (int i = 0; i < 16; i++) {
        if (!count[i]) continue;
        n += (size_t)sprintf(room + n, "%s%s", n ? ", " : "",
                             option_word(flag, i));
        if (count[i] < r->groups)
            n += (size_t)sprintf(room + n, " %zu", count[i]);
    }
    return room;
}

const char *references_used(const gsv_result *r, char room[120])
{
    return used("--reference", offsetof(gsv_gap, reference), r, room);
}

const char *forms_used(const gsv_result *r, char room[120])
{
    return used("--form", offsetof(gsv_gap, form), r, room);
}

bool has_weights(const gsv_result *r)
{
    bool exact = r->groups && r->gap[0].form == GSV_FORM_EXACT;
    return r->observe != GSV_OBSERVE_KALMAN && (r->observe || !exact);
}

bool is_exact(const gsv_result *r)
{
    return !has_weights(r) && !isfinite(r->discretisation) && !r->nodes;
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

bool has_hidden_states(const gsv_model *m, const gsv_series *s)
{
    for (size_t i = 0; i < gsv_model_dim(m); i++)
        if (!series_column(s, gsv_model_column(m)[i])) return true;
    return false;
}

/* Why --richardson extrapolates nothing, or NULL. */
static const char *why_idle(const gsv_model *m, const gsv_series *s,
                            const gsv_options *o)
{
    bool chosen = o->form == GSV_FORM_AUTO && !o->joint;
    if (has_hidden_states(m, s)) return "states are hidden";
    if (o->form == GSV_FORM_MIDPOINT)
        return "the form midpoint is not extrapolated";
    return chosen && gsv_model_singular(m) ? "of equations without noise only "
                                             "the forms ito and stratonovich "
                                             "are extrapolated"
                                           : NULL;
}

void say_idle(const struct args *a, const gsv_model *m, const gsv_series *s,
              const gsv_options *o)
{
    const char *why = why_idle(m, s, o);
    if (why && !a->quiet && is_given(a, "--richardson"))
        say(stderr, "note: --richardson has no effect: %s\n", why);
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
    if (!r->nodes) return;
    add_count(j, "nodes", r->nodes);
    add_number(j, "quadrature", r->quadrature);
}
