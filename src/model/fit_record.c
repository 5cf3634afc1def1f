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
#include "base/option_rules.h"

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
             r->high, r->estimate, r->correlation, r->posterior, r->bootstrap,
             r->curve, r->effect);
    for (size_t i = 0; r->subject && i < r->tracks; i++)
        mem_free(r->subject[i]);
    MEM_FREE(r->subject, r);
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

gsv_draws *draws_new(size_t chains, size_t draws, size_t numbers, size_t tracks,
                     size_t effects)
{
    gsv_draws *d = NEW(gsv_draws, 1);
    if (!d) return NULL;
    *d = (gsv_draws){.chains = chains,
                     .draws = draws,
                     .numbers = numbers,
                     .place = NEW(size_t, numbers),
                     .value = NEW(double, chains *draws *numbers),
                     .lp = NEW(double, chains *draws),
                     .tracks = effects ? tracks : 0,
                     .effects = effects};
    size_t cells = d->tracks * effects;
    if (cells) d->effect = NEW(double, cells *chains *draws);
    if (d->place && d->value && d->lp && (d->effect || !cells)) return d;
    draws_free(d);
    return NULL;
}

void draws_free(gsv_draws *d)
{
    if (!d) return;
    MEM_FREE(d->place, d->value, d->lp, d->effect, d);
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

enum field_type { COUNT, REAL, SEED, FLAG, WORD };

static const char *const ENDS[] = {"converged",  "iterations", "early",
                                   "time limit", "stopped",    NULL};
static const char *const SOURCES[] = {"auto",     "none",      "observed",
                                      "sandwich", "posterior", NULL};
/* Of older files another filter with particles, which guided ones replace. */
static const char *const OBSERVERS[] = {"auto",        "scan",   "conjugate",
                                        "variational", "kalman", "guided",
                                        "particle",    NULL};
/* later: older files do not have it. words: of a WORD, by its number; NULL:
 * those of the option with its name. */
struct field {
    const char *name;
    enum field_type type;
    size_t offset;
    bool later;
    const char *const *words;
};

#define AT(field) offsetof(gsv_record, field)
static const struct field FIELDS[] = {
    {"tracks", COUNT, AT(tracks), false, NULL},
    {"rows", COUNT, AT(rows), false, NULL},
    {"gaps", COUNT, AT(gaps), false, NULL},
    {"heldout_gaps", COUNT, AT(heldout_gaps), false, NULL},
    {"optimizer", WORD, AT(optimizer), false, NULL},
    {"ended", WORD, AT(ended), false, ENDS},
    {"errors", WORD, AT(errors), false, SOURCES},
    {"iterations", COUNT, AT(iterations), false, NULL},
    {"restarts", COUNT, AT(restarts), false, NULL},
    {"seconds", REAL, AT(seconds), false, NULL},
    {"seed", SEED, AT(seed), false, NULL},
    {"loglik", REAL, AT(loglik), false, NULL},
    {"stderr", REAL, AT(error), false, NULL},
    {"discretisation", REAL, AT(discretisation), false, NULL},
    {"heldout", REAL, AT(heldout), false, NULL},
    {"evidence", REAL, AT(evidence), true, NULL},
    {"paths", COUNT, AT(paths), false, NULL},
    {"steps", COUNT, AT(steps), false, NULL},
    {"sampled", COUNT, AT(sampled), true, NULL},
    {"flagged", COUNT, AT(flagged), false, NULL},
    {"free", COUNT, AT(free), false, NULL},
    {"aic", REAL, AT(aic), false, NULL},
    {"bic", REAL, AT(bic), false, NULL},
    {"priors", COUNT, AT(priors), true, NULL},
    {"log_prior", REAL, AT(log_prior), true, NULL},
    {"chains", COUNT, AT(chains), true, NULL},
    {"warmup", COUNT, AT(warmup), true, NULL},
    {"draws", COUNT, AT(draws), true, NULL},
    {"bootstraps", COUNT, AT(bootstraps), true, NULL},
    {"refits", COUNT, AT(refits), true, NULL},
    {"objective", WORD, AT(objective), true, NULL},
    {"mse", REAL, AT(mse), true, NULL},
    {"objective_value", REAL, AT(value), true, NULL},
    {"nodes", COUNT, AT(nodes), true, NULL},
    {"quadrature", REAL, AT(quadrature), true, NULL},
    {"effects", COUNT, AT(effects), true, NULL},
    {"effect_rhat", REAL, AT(effect_rhat), true, NULL},
    {"effect_ess", REAL, AT(effect_ess), true, NULL},
    {"penalty", REAL, AT(penalty), true, NULL},
    {"noise_penalty", REAL, AT(noise_penalty), true, NULL},
};
enum { FIELD_COUNT = sizeof FIELDS / sizeof *FIELDS };

/* What was asked of the estimator, by the names of the command's options. */
#undef AT
#define AT(field) offsetof(gsv_options, field)
static const struct field ASKED[] = {
    {"paths", COUNT, AT(paths), true, NULL},
    {"steps", COUNT, AT(steps), true, NULL},
    {"step", REAL, AT(step), true, NULL},
    {"reference", WORD, AT(reference), true, NULL},
    {"form", WORD, AT(form), true, NULL},
    {"random", WORD, AT(random), true, NULL},
    {"observe", WORD, AT(observe), true, OBSERVERS},
    {"support", COUNT, AT(points), true, NULL},
    {"richardson", FLAG, AT(richardson), true, NULL},
    {"delta", FLAG, AT(delta), true, NULL},
    {"joint", FLAG, AT(joint), true, NULL},
    {"double", FLAG, AT(wide), true, NULL},
    {"nodes", COUNT, AT(nodes), true, NULL},
};
enum { ASKED_COUNT = sizeof ASKED / sizeof *ASKED };

static const char *const *words_of(const struct field *f)
{
    return f->words ? f->words : option_words(f->name);
}

static json_t *get_field(const struct field *f, const void *owner)
{
    const void *from = (const char *)owner + f->offset;
    switch (f->type) {
    case COUNT: return json_integer((json_int_t) * (const size_t *)from);
    case SEED: return json_integer((json_int_t) * (const uint64_t *)from);
    case FLAG: return json_boolean(*(const bool *)from);
    case WORD: return json_string(words_of(f)[*(const int *)from]);
    case REAL: break;
    }
    double real = *(const double *)from;
    return isfinite(real) ? json_real(real) : json_null();
}

static bool set_word(const json_t *json, const char *const *words, int *to)
{
    for (int i = 0; json_is_string(json) && words[i]; i++)
        if (!strcmp(json_string_value(json), words[i])) {
            bool older = words == OBSERVERS && i > GSV_OBSERVE_GUIDED;
            *to = older ? GSV_OBSERVE_GUIDED : i;
            return true;
        }
    return false;
}

/* False where the JSON value does not fit the field. */
static bool set_field(const struct field *f, const json_t *json, void *owner)
{
    void *to = (char *)owner + f->offset;
    if (!json && f->later) {
        if (f->type == REAL) *(double *)to = NAN;
        return true;
    }
    switch (f->type) {
    case COUNT:
        *(size_t *)to = (size_t)json_integer_value(json);
        return json_is_integer(json) && json_integer_value(json) >= 0;
    case SEED:
        *(uint64_t *)to = (uint64_t)json_integer_value(json);
        return json_is_integer(json);
    case FLAG: *(bool *)to = json_is_true(json); return json_is_boolean(json);
    case WORD: return set_word(json, words_of(f), to);
    case REAL: break;
    }
    *(double *)to = json_is_null(json) ? NAN : json_number_value(json);
    return json_is_null(json) || json_is_number(json);
}

/* Whether an option was left as it is. */
static bool is_usual(const struct field *f, const gsv_options *o)
{
    const void *at = (const char *)o + f->offset;
    if (f->type == COUNT) return !*(const size_t *)at;
    if (f->type == REAL) return !(*(const double *)at > 0.0);
    if (f->type == FLAG) return !*(const bool *)at;
    return !*(const int *)at;
}

/* --- Out ---------------------------------------------------------------- */

static json_t *asked_json(const gsv_options *o)
{
    json_t *all = json_object();
    for (size_t i = 0; all && i < ASKED_COUNT; i++)
        if (!is_usual(&ASKED[i], o) &&
            json_object_set_new(all, ASKED[i].name, get_field(&ASKED[i], o))) {
            json_decref(all);
            all = NULL;
        }
    return all;
}

/* The labels of tracks with effects; else null. */
static json_t *subjects_json(const gsv_record *r)
{
    json_t *all = r->subject ? json_array() : json_null();
    for (size_t i = 0; r->subject && i < r->tracks; i++) {
        char *label = utf8_string(r->subject[i]);
        int lost = !label || json_array_append_new(all, json_string(label));
        mem_free(label);
        if (!lost) continue;
        json_decref(all);
        return NULL;
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
        lost |=
            json_object_set_new(all, FIELDS[i].name, get_field(&FIELDS[i], r));
    lost |= json_object_set_new(all, "estimator", asked_json(&r->estimator));
    lost |= json_object_set_new(all, "warning", json_string(r->warning));
    if (r->subject)
        lost |= json_object_set_new(all, "series", subjects_json(r));
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

int fit_record_write(const gsv_record *r, struct tensors *t)
{
    size_t n = r->values;
    int status = put_text(r, t);
    if (!status) status = tensors_add(t, "@lowest", 1, &r->columns, r->lowest);
    if (!status)
        status = tensors_add(t, "@highest", 1, &r->columns, r->highest);
    if (!status && r->points)
        status = tensors_add(t, "@curve", 2, (size_t[]){GSV_CURVES, r->points},
                             r->curve);
    if (!status && r->effect)
        status = tensors_add(t, "@effect", 3,
                             (size_t[]){GSV_EFFECTS, r->tracks, r->effects},
                             r->effect);
    if (!status && r->bootstrap)
        status = tensors_add(t, "@bootstrap", 2, (size_t[]){GSV_BOOTSTRAPS, n},
                             r->bootstrap);
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
static const char *read_asked(const json_t *asked, gsv_options *o)
{
    if (!asked) return NULL;
    if (!json_is_object(asked)) return "estimator";
    for (size_t i = 0; i < ASKED_COUNT; i++) {
        const json_t *one = json_object_get(asked, ASKED[i].name);
        if (one && !set_field(&ASKED[i], one, o)) return ASKED[i].name;
    }
    return o->step >= 0.0 ? NULL : "step";
}

int fit_record_subjects(gsv_record *r, const char *const *label)
{
    r->subject = NEW(char *, r->tracks);
    for (size_t i = 0; r->subject && i < r->tracks; i++) {
        r->subject[i] = mem_string(label[i]);
        if (!r->subject[i]) return GSV_NO_MEMORY;
    }
    return r->subject ? 0 : GSV_NO_MEMORY;
}

/* False where there is not one label for each track. */
static bool read_subjects(const json_t *list, gsv_record *r)
{
    if (!list) return true;
    if (!json_is_array(list) || json_array_size(list) != r->tracks)
        return false;
    const char **label = NEW(const char *, r->tracks);
    bool words = label;
    for (size_t i = 0; words && i < r->tracks; i++) {
        label[i] = json_string_value(json_array_get(list, i));
        words = label[i];
    }
    words = words && !fit_record_subjects(r, label);
    mem_free(label);
    return words;
}

static int read_text(const char *text, const char *path, gsv_record *r)
{
    json_t *all = json_loads(text, 0, NULL);
    const json_t *data = json_object_get(all, "data");
    const json_t *warning = json_object_get(all, "warning");
    const char *bad = NULL;
    for (size_t i = 0; !bad && i < FIELD_COUNT; i++)
        if (!set_field(&FIELDS[i], json_object_get(all, FIELDS[i].name), r))
            bad = FIELDS[i].name;
    if (!bad)
        bad = read_asked(json_object_get(all, "estimator"), &r->estimator);
    if (!json_is_string(data)) bad = "data";
    if (!json_is_string(warning)) bad = "warning";
    if (!bad && !read_subjects(json_object_get(all, "series"), r))
        bad = "series";
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
static int read_array(const struct tensors *t, const char *name, size_t n,
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

/* The same, which is NULL where it is absent. */
static int read_rows(const struct tensors *t, const char *name, size_t n,
                     const char *path, double **to)
{
    if (!tensors_find(t, name)) return 0;
    *to = NEW(double, n);
    return *to ? read_array(t, name, n, path, *to) : GSV_NO_MEMORY;
}

/* The only array whose size the file says. */
static int read_curve(const struct tensors *t, const char *path, gsv_record *r)
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
    return read_array(t, "@curve", from->count, path, r->curve);
}

/* Their places are whole numbers below that of values. */
static int read_correlation(const struct tensors *t, const char *path,
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
        status = read_array(t, "@correlation", n * n, path, r->correlation);
    mem_free(value);
    return status;
}

int fit_record_read(const gsv_model *m, const struct tensors *t,
                    const char *path, gsv_record **record)
{
    const char *text = tensors_text(t, "fit");
    *record = NULL;
    if (!text) return 0;
    gsv_record *r = fit_record_new(m);
    if (!r) return GSV_NO_MEMORY;
    size_t n = r->values;
    int status = read_text(text, path, r);
    if (!status) status = read_array(t, "@lowest", r->columns, path, r->lowest);
    if (!status)
        status = read_array(t, "@highest", r->columns, path, r->highest);
    if (!status) status = read_curve(t, path, r);
    if (!status) status = read_array(t, "@stderr", n, path, r->error_of);
    if (!status) status = read_array(t, "@low", n, path, r->low);
    if (!status) status = read_array(t, "@high", n, path, r->high);
    if (!status) status = read_correlation(t, path, r);
    if (!status)
        status =
            read_rows(t, "@posterior", GSV_POSTERIORS * n, path, &r->posterior);
    if (!status)
        status =
            read_rows(t, "@bootstrap", GSV_BOOTSTRAPS * n, path, &r->bootstrap);
    if (!status && r->subject)
        status = read_rows(t, "@effect", GSV_EFFECTS * r->tracks * r->effects,
                           path, &r->effect);
    if (status) fit_record_free(r);
    else *record = r;
    return status;
}
