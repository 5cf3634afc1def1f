/* SPDX-License-Identifier: MIT */
/* A record as one JSON object for its numbers and words, and tensors for its
 * arrays: see docs/FORMAT.md. One table names the numbers. */
#include "model/fit_record.h"

#include <jansson.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

gsv_record *fit_record_new(const gsv_model *m)
{
    size_t n = m->spec->parameters, columns = m->spec->dim + m->spec->inputs;
    gsv_record *r = NEW(gsv_record, 1);
    if (!r) return NULL;
    *r = (gsv_record){.values = n,
                      .columns = columns,
                      .lowest = NEW(double, columns),
                      .highest = NEW(double, columns),
                      .error_of = NEW(double, n),
                      .low = NEW(double, n),
                      .high = NEW(double, n),
                      .data = mem_string(""),
                      .warning = mem_string("")};
    if (!r->lowest || !r->highest || !r->error_of || !r->low || !r->high ||
        !r->data || !r->warning) {
        fit_record_free(r);
        return NULL;
    }
    for (size_t i = 0; i < n; i++)
        r->error_of[i] = r->low[i] = r->high[i] = NAN;
    for (size_t i = 0; i < columns; i++)
        r->lowest[i] = r->highest[i] = NAN;
    return r;
}

void fit_record_free(gsv_record *r)
{
    if (!r) return;
    MEM_FREE(r->data, r->warning, r->lowest, r->highest, r->error_of, r->low,
             r->high, r->estimate, r->correlation, r->posterior, r->curve, r);
}

int fit_record_correlate(gsv_record *r, size_t n, const size_t *value)
{
    r->estimate = NEW(size_t, n);
    r->correlation = NEW(double, n *n);
    if (!r->estimate || !r->correlation) return GSV_NO_MEMORY;
    memcpy(r->estimate, value, n * sizeof *value);
    r->estimates = n;
    return 0;
}

/* Where a value stands among the estimates; their number: nowhere. */
static size_t find_estimate(const gsv_record *r, size_t value)
{
    size_t i = 0;
    while (i < r->estimates && r->estimate[i] != value)
        i++;
    return i;
}

double gsv_record_correlation(const gsv_record *r, size_t a, size_t b)
{
    if (ANY_NULL(r)) return NAN;
    size_t i = find_estimate(r, a), j = find_estimate(r, b);
    if (i == r->estimates || j == r->estimates) return NAN;
    return r->correlation[i * r->estimates + j];
}

gsv_draws *draws_new(size_t chains, size_t draws, size_t numbers)
{
    gsv_draws *d = NEW(gsv_draws, 1);
    if (!d) return NULL;
    *d = (gsv_draws){.chains = chains,
                     .draws = draws,
                     .numbers = numbers,
                     .place = NEW(size_t, numbers),
                     .value = NEW(double, chains *draws *numbers),
                     .lp = NEW(double, chains *draws)};
    if (d->place && d->value && d->lp) return d;
    draws_free(d);
    return NULL;
}

void draws_free(gsv_draws *d)
{
    if (!d) return;
    MEM_FREE(d->place, d->value, d->lp, d);
}

int fit_record_warn(gsv_record *r, const char *lines)
{
    size_t n = strlen(r->warning) + strlen(lines) + 1;
    char *all = mem_new(n, 1);
    if (!all) return GSV_NO_MEMORY;
    snprintf(all, n, "%s%s", r->warning, lines);
    mem_free(r->warning);
    r->warning = all;
    return 0;
}

/* --- The tables --------------------------------------------------------- */

/* What is LATER is not in files of before. Flags and what follows them are only
 * there where they are not false, or the first word. */
enum kind {
    COUNT,
    LATER,
    REAL,
    LATER_REAL,
    SEED,
    OPTIMIZER,
    ENDED,
    ERRORS,
    LATER_OBJECTIVE,
    FLAG,
    REFERENCE,
    FORM,
    RANDOM,
    OBSERVE
};

static const char *const OPTIMIZERS[] = {"auto", "adam", "lbfgs", "evidence",
                                         NULL};
static const char *const ENDS[] = {"converged",  "iterations", "early",
                                   "time limit", "stopped",    NULL};
static const char *const SOURCES[] = {"auto",     "none",      "observed",
                                      "sandwich", "posterior", NULL};
static const char *const OBJECTIVES[] = {
    "likelihood",        "mse-backprop", "mse-adjoint", "mse-forward",
    "gradient-matching", "em-linear",    NULL};
static const char *const REFERENCES[] = {"auto", "brownian", "linear",
                                         "lna",  "modified", NULL};
static const char *const FORMS[] = {"auto",         "ito",   "midpoint",
                                    "stratonovich", "euler", NULL};
static const char *const RANDOMS[] = {"sobol", "iid", NULL};
static const char *const OBSERVERS[] = {"auto",      "scan",        "particle",
                                        "conjugate", "variational", NULL};
static const char *const *const WORDS[] = {
    [OPTIMIZER] = OPTIMIZERS, [ENDED] = ENDS,
    [ERRORS] = SOURCES,       [LATER_OBJECTIVE] = OBJECTIVES,
    [REFERENCE] = REFERENCES, [FORM] = FORMS,
    [RANDOM] = RANDOMS,       [OBSERVE] = OBSERVERS};

struct field {
    const char *name;
    enum kind kind;
    size_t offset;
};

#define AT(field) offsetof(gsv_record, field)
static const struct field FIELDS[] = {
    {"tracks", COUNT, AT(tracks)},
    {"rows", COUNT, AT(rows)},
    {"gaps", COUNT, AT(gaps)},
    {"heldout_gaps", COUNT, AT(heldout_gaps)},
    {"optimizer", OPTIMIZER, AT(optimizer)},
    {"ended", ENDED, AT(ended)},
    {"errors", ERRORS, AT(errors)},
    {"iterations", COUNT, AT(iterations)},
    {"restarts", COUNT, AT(restarts)},
    {"seconds", REAL, AT(seconds)},
    {"seed", SEED, AT(seed)},
    {"loglik", REAL, AT(loglik)},
    {"stderr", REAL, AT(error)},
    {"discretisation", REAL, AT(discretisation)},
    {"heldout", REAL, AT(heldout)},
    {"evidence", LATER_REAL, AT(evidence)},
    {"paths", COUNT, AT(paths)},
    {"steps", COUNT, AT(steps)},
    {"sampled", LATER, AT(sampled)},
    {"flagged", COUNT, AT(flagged)},
    {"free", COUNT, AT(free)},
    {"aic", REAL, AT(aic)},
    {"bic", REAL, AT(bic)},
    {"chains", LATER, AT(chains)},
    {"warmup", LATER, AT(warmup)},
    {"draws", LATER, AT(draws)},
    {"objective", LATER_OBJECTIVE, AT(objective)},
    {"mse", LATER_REAL, AT(mse)},
    {"objective_value", LATER_REAL, AT(value)},
};
enum { FIELD_COUNT = sizeof FIELDS / sizeof *FIELDS };

/* What was asked of the estimator, by the names of the command's options. */
#undef AT
#define AT(field) offsetof(gsv_options, field)
static const struct field ASKED[] = {
    {"paths", LATER, AT(paths)},
    {"steps", LATER, AT(steps)},
    {"step", LATER_REAL, AT(step)},
    {"reference", REFERENCE, AT(reference)},
    {"form", FORM, AT(form)},
    {"random", RANDOM, AT(random)},
    {"observe", OBSERVE, AT(observe)},
    {"support", LATER, AT(points)},
    {"richardson", FLAG, AT(richardson)},
    {"delta", FLAG, AT(delta)},
    {"joint", FLAG, AT(joint)},
    {"double", FLAG, AT(wide)},
};
enum { ASKED_COUNT = sizeof ASKED / sizeof *ASKED };

static json_t *get_field(const void *from, enum kind kind)
{
    double real;
    switch (kind) {
    case COUNT:
    case LATER: return json_integer((json_int_t) * (const size_t *)from);
    case SEED: return json_integer((json_int_t) * (const uint64_t *)from);
    case REAL:
    case LATER_REAL:
        real = *(const double *)from;
        return isfinite(real) ? json_real(real) : json_null();
    case OPTIMIZER:
    case ENDED:
    case ERRORS:
    case LATER_OBJECTIVE:
    case REFERENCE:
    case FORM:
    case RANDOM:
    case OBSERVE: break;
    case FLAG: return json_boolean(*(const bool *)from);
    }
    return json_string(WORDS[kind][*(const int *)from]);
}

/* False where the JSON value is none of this kind. */
static bool set_field(const json_t *json, enum kind kind, void *to)
{
    switch (kind) {
    case LATER:
        if (!json) return true;
        /* fall through */
    case COUNT:
        *(size_t *)to = (size_t)json_integer_value(json);
        return json_is_integer(json) && json_integer_value(json) >= 0;
    case SEED:
        *(uint64_t *)to = (uint64_t)json_integer_value(json);
        return json_is_integer(json);
    case LATER_REAL:
        *(double *)to = NAN;
        if (!json) return true;
        /* fall through */
    case REAL:
        *(double *)to = json_is_null(json) ? NAN : json_number_value(json);
        return json_is_null(json) || json_is_number(json);
    case OPTIMIZER:
    case ENDED:
    case ERRORS: break;
    case FLAG:
        *(bool *)to = json_is_true(json);
        return !json || json_is_boolean(json);
    case LATER_OBJECTIVE:
    case REFERENCE:
    case FORM:
    case RANDOM:
    case OBSERVE:
        if (!json) return true;
        break;
    }
    for (int i = 0; json_is_string(json) && WORDS[kind][i]; i++)
        if (!strcmp(json_string_value(json), WORDS[kind][i])) {
            *(int *)to = i;
            return true;
        }
    return false;
}

/* Whether an option was left as it is. */
static bool is_usual(const struct field *f, const gsv_options *o)
{
    const void *at = (const char *)o + f->offset;
    if (f->kind == LATER) return !*(const size_t *)at;
    if (f->kind == LATER_REAL) return !(*(const double *)at > 0.0);
    if (f->kind == FLAG) return !*(const bool *)at;
    return !*(const int *)at;
}

/* --- Out ---------------------------------------------------------------- */

static json_t *asked_json(const gsv_options *o)
{
    json_t *all = json_object();
    for (size_t i = 0; all && i < ASKED_COUNT; i++)
        if (!is_usual(&ASKED[i], o) &&
            json_object_set_new(
                all, ASKED[i].name,
                get_field((const char *)o + ASKED[i].offset, ASKED[i].kind))) {
            json_decref(all);
            all = NULL;
        }
    return all;
}

static int put_text(const gsv_record *r, struct tensors *t)
{
    json_t *all = json_object();
    char *data = utf8_string(r->data);
    int lost = !data || json_object_set_new(all, "data", json_string(data));
    mem_free(data);
    for (size_t i = 0; i < FIELD_COUNT; i++)
        lost |= json_object_set_new(
            all, FIELDS[i].name,
            get_field((const char *)r + FIELDS[i].offset, FIELDS[i].kind));
    lost |= json_object_set_new(all, "estimator", asked_json(&r->estimator));
    lost |= json_object_set_new(all, "warning", json_string(r->warning));
    char *text = lost ? NULL : json_dumps(all, JSON_REAL_PRECISION(17));
    json_decref(all);
    if (!text) return fail(GSV_NO_MEMORY, "out of memory");
    int status = tensors_note(t, "fit", text);
    free(text);
    return status;
}

static int put_correlation(const gsv_record *r, struct tensors *t)
{
    size_t n = r->estimates;
    double *place = NEW(double, n);
    if (!place) return GSV_NO_MEMORY;
    for (size_t i = 0; i < n; i++)
        place[i] = (double)r->estimate[i];
    int status = tensors_add(t, "@estimate", 1, &n, place);
    if (!status)
        status =
            tensors_add(t, "@correlation", 2, (size_t[]){n, n}, r->correlation);
    mem_free(place);
    return status;
}

int fit_record_put(const gsv_record *r, struct tensors *t)
{
    size_t n = r->values;
    int status = put_text(r, t);
    if (!status) status = tensors_add(t, "@lowest", 1, &r->columns, r->lowest);
    if (!status)
        status = tensors_add(t, "@highest", 1, &r->columns, r->highest);
    if (!status && r->points)
        status = tensors_add(t, "@curve", 2, (size_t[]){GSV_CURVES, r->points},
                             r->curve);
    if (status || r->errors == GSV_ERRORS_NONE) return status;
    status = tensors_add(t, "@stderr", 1, &n, r->error_of);
    if (!status) status = tensors_add(t, "@low", 1, &n, r->low);
    if (!status) status = tensors_add(t, "@high", 1, &n, r->high);
    if (!status && r->correlation) status = put_correlation(r, t);
    if (!status && r->posterior)
        status = tensors_add(t, "@posterior", 2, (size_t[]){GSV_POSTERIORS, n},
                             r->posterior);
    return status;
}

/* --- In ----------------------------------------------------------------- */

/* NULL, or the name of what is wrong. Files of before have none of it. */
static const char *take_asked(const json_t *asked, gsv_options *o)
{
    if (!asked) return NULL;
    if (!json_is_object(asked)) return "estimator";
    for (size_t i = 0; i < ASKED_COUNT; i++) {
        const json_t *one = json_object_get(asked, ASKED[i].name);
        if (one && !set_field(one, ASKED[i].kind, (char *)o + ASKED[i].offset))
            return ASKED[i].name;
    }
    return o->step >= 0.0 ? NULL : "step";
}

static int take_text(const char *text, const char *path, gsv_record *r)
{
    json_t *all = json_loads(text, 0, NULL);
    const json_t *data = json_object_get(all, "data");
    const json_t *warning = json_object_get(all, "warning");
    const char *bad = NULL;
    for (size_t i = 0; !bad && i < FIELD_COUNT; i++)
        if (!set_field(json_object_get(all, FIELDS[i].name), FIELDS[i].kind,
                       (char *)r + FIELDS[i].offset))
            bad = FIELDS[i].name;
    if (!bad)
        bad = take_asked(json_object_get(all, "estimator"), &r->estimator);
    if (!json_is_string(data)) bad = "data";
    if (!json_is_string(warning)) bad = "warning";
    if (!bad) {
        MEM_FREE(r->data, r->warning);
        r->data = mem_string(json_string_value(data));
        r->warning = mem_string(json_string_value(warning));
    }
    json_decref(all);
    if (bad)
        return fail(GSV_BAD_INPUT,
                    "%s is damaged: '%s' of its record is missing or wrong",
                    path, bad);
    return r->data && r->warning ? 0 : GSV_NO_MEMORY;
}

/* An array that may be absent. */
static int take_array(const struct tensors *t, const char *name, size_t n,
                      const char *path, double *to)
{
    const struct tensor *from = tensors_find(t, name);
    if (from && from->count != n)
        return fail(GSV_BAD_INPUT,
                    "%s is damaged: '%s' has %zu numbers instead of %zu", path,
                    name, from->count, n);
    if (from && n) memcpy(to, from->value, n * sizeof *to);
    return 0;
}

/* The only array whose size the file says. */
static int take_curve(const struct tensors *t, const char *path, gsv_record *r)
{
    const struct tensor *from = tensors_find(t, "@curve");
    if (!from) return 0;
    if (!from->count || from->count % GSV_CURVES)
        return fail(GSV_BAD_INPUT,
                    "%s is damaged: '@curve' has %zu numbers, not %d a point",
                    path, from->count, (int)GSV_CURVES);
    r->curve = NEW(double, from->count);
    if (!r->curve) return GSV_NO_MEMORY;
    r->points = from->count / GSV_CURVES;
    return take_array(t, "@curve", from->count, path, r->curve);
}

/* Their places are whole numbers below that of values. */
static int take_correlation(const struct tensors *t, const char *path,
                            gsv_record *r)
{
    const struct tensor *at = tensors_find(t, "@estimate");
    size_t n = at ? at->count : 0;
    if (!at && !tensors_find(t, "@correlation")) return 0;
    size_t *value = NEW(size_t, n);
    int status = value ? 0 : GSV_NO_MEMORY;
    for (size_t i = 0; i < n && !status; i++) {
        double place = at->value[i];
        if (!(place >= 0.0 && place < (double)r->values) ||
            floor(place) != place)
            status = fail(GSV_BAD_INPUT,
                          "%s is damaged: '@estimate' has %g, which is no "
                          "place of a value",
                          path, place);
        else value[i] = (size_t)place;
    }
    if (!status) status = fit_record_correlate(r, n, value);
    if (!status)
        status = take_array(t, "@correlation", n * n, path, r->correlation);
    mem_free(value);
    return status;
}

int fit_record_take(const gsv_model *m, const struct tensors *t,
                    const char *path, gsv_record **record)
{
    const char *text = tensors_text(t, "fit");
    *record = NULL;
    if (!text) return 0;
    gsv_record *r = fit_record_new(m);
    if (!r) return GSV_NO_MEMORY;
    size_t n = r->values;
    int status = take_text(text, path, r);
    if (!status) status = take_array(t, "@lowest", r->columns, path, r->lowest);
    if (!status)
        status = take_array(t, "@highest", r->columns, path, r->highest);
    if (!status) status = take_curve(t, path, r);
    if (!status) status = take_array(t, "@stderr", n, path, r->error_of);
    if (!status) status = take_array(t, "@low", n, path, r->low);
    if (!status) status = take_array(t, "@high", n, path, r->high);
    if (!status) status = take_correlation(t, path, r);
    if (!status && tensors_find(t, "@posterior")) {
        r->posterior = NEW(double, GSV_POSTERIORS *n);
        status = r->posterior ? take_array(t, "@posterior", GSV_POSTERIORS * n,
                                           path, r->posterior)
                              : GSV_NO_MEMORY;
    }
    if (status) fit_record_free(r);
    else *record = r;
    return status;
}
