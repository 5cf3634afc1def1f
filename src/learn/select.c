/* SPDX-License-Identifier: MIT */
/* Which coefficients of terms are not zero. Around one estimate the likelihood
 * is a quadratic of all coefficients (linearise.c), whose best sets are found
 * by score and Wald tests (subset.c). The best few are refitted; around the
 * best of these the likelihood is a quadratic again, until it is the best one
 * there, too. What remains is fitted as a model of its own. */
#include "learn/select.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/option_rules.h"
#include "base/random.h"
#include "data/series.h"
#include "learn/learner.h"
#include "learn/linearise.h"
#include "model/fit_record.h"
#include "model/reduce.h"
#include "model/theta.h"

/* Rounds, refits in one, and how much worse, in nats, a set may look that is
 * refitted. With more candidates the first fit has none of them. */
enum {
    ROUNDS = 8,
    REFITS = 6,
    HIDDEN_REFITS = 3,
    MOST_FULL = 120,
    RESAMPLES = 200
};
static const double WORSE = 4.0;

/* --- Candidates ----------------------------------------------------------- */

static int refuse(const gsv_model *m, const gsv_fit_options *o)
{
    if (!m->spec->libraries)
        return fail(GSV_BAD_INPUT,
                    "the model has no terms to select from; declare some, such "
                    "as 'terms f(x) -> 1 : poly 3'");
    if (spec_has_functions(m->spec))
        return fail(GSV_BAD_INPUT,
                    "terms are selected in models of formulas; "
                    "this one has %s",
                    m->spec->nets  ? "a network"
                    : m->spec->gps ? "a gp"
                                   : "an external function");
    if (o->method != GSV_METHOD_LIKELIHOOD ||
        o->objective != GSV_OBJECTIVE_LIKELIHOOD)
        return fail(GSV_BAD_INPUT, "terms are selected by the likelihood");
    if (o->checkpoint || o->resume)
        return fail(GSV_BAD_INPUT, "a selection has no checkpoints");
    return 0;
}

/* Hidden states take long, but for linear equations. */
static bool is_slow(const gsv_model *m)
{
    return spec_is_latent(m->spec) && !m->linear.is;
}

static double *value_of(const struct select *z, gsv_model *m, size_t k)
{
    return &m->value[m->spec->param[z->param[k]].offset];
}

/* --- Refits --------------------------------------------------------------- */

static const struct tried *find_tried(const struct select *z, const bool *set)
{
    for (size_t i = 0; i < z->tries; i++)
        if (!z->tried[i].draft &&
            !memcmp(z->tried[i].set, set, z->units * sizeof *set))
            return &z->tried[i];
    return NULL;
}

/* Names of the coefficients outside of a set, after those that are fixed. */
static const char **names_outside(const struct select *z, const bool *set,
                                  size_t *count)
{
    const char **name = NEW(const char *, z->given->fixed + z->n);
    if (!name) return NULL;
    for (*count = 0; *count < z->given->fixed; ++*count)
        name[*count] = z->given->fix[*count];
    for (size_t k = 0; k < z->n; k++)
        if (!set[z->unit[k]])
            name[(*count)++] = z->m->spec->param[z->param[k]].name;
    return name;
}

/* With a record a fit goes on from the values as they are. */
static int fit_from_here(gsv_model *m, const gsv_series *s,
                         const gsv_fit_options *o, bool from_here, bool last)
{
    if (from_here && !m->record) m->record = fit_record_new(m);
    if (from_here && !m->record) return GSV_NO_MEMORY;
    int status = last ? (int)gsv_fit(m, s, o) : fit_likelihood(m, s, o);
    if (!status && m->record->ended == GSV_ENDED_STOPPED)
        status = fail(GSV_STOPPED, "the selection was stopped");
    return status;
}

static int keep(struct select *z, const bool *set, const gsv_model *m,
                bool draft)
{
    if (MEM_ROOM(z->tried, z->tries, z->capacity)) return GSV_NO_MEMORY;
    struct tried *t = &z->tried[z->tries];
    size_t values = m->spec->parameters;
    *t = (struct tried){.loglik = m->record->loglik,
                        .error = m->record->error,
                        .draft = draft,
                        .set = NEW(bool, z->units),
                        .value = NEW(double, values)};
    z->tries++;
    if (!t->set || !t->value) return GSV_NO_MEMORY;
    memcpy(t->set, set, z->units * sizeof *set);
    memcpy(t->value, m->value, values * sizeof *t->value);
    z->gaps = m->record->gaps;
    z->cost.gaps = (double)z->gaps;
    cost_fill(&z->cost);
    return 0;
}

static void say_done(struct select *z, size_t more)
{
    if (z->given->refit)
        z->given->refit(z->given->user, z->tries, z->tries + more);
}

/* Fits the model with a set alone. c (n) is where it starts, or NULL. One that
 * has no finite likelihood is not kept. */
static int refit(struct select *z, const bool *set, const double *c, bool draft)
{
    gsv_model *m = gsv_model_copy(z->m);
    gsv_fit_options o = draft ? z->draft : z->o;
    const char **fix = m ? names_outside(z, set, &o.fixed) : NULL;
    int status = fix ? 0 : GSV_NO_MEMORY;
    o.fix = fix;
    o.errors = GSV_ERRORS_NONE;
    o.bootstrap = 0;
    for (size_t k = 0; !status && k < z->n; k++)
        if (!set[z->unit[k]]) *value_of(z, m, k) = 0.0;
        else if (c) *value_of(z, m, k) = c[k];
    if (!status) status = fit_from_here(m, z->s, &o, c != NULL, false);
    if (!status && isfinite(m->record->loglik)) status = keep(z, set, m, draft);
    mem_free(fix);
    gsv_model_free(m);
    return status == GSV_NUMERICAL ? 0 : status;
}

static double value(const struct select *z, const struct tried *t)
{
    return t->loglik - cost_set(&z->cost, t->set);
}

/* A draft only where there is nothing else. */
static const struct tried *best_tried(const struct select *z)
{
    const struct tried *best = NULL;
    for (size_t i = 0; i < z->tries; i++) {
        const struct tried *t = &z->tried[i];
        if (!best || (best->draft && !t->draft) ||
            (best->draft == t->draft && value(z, t) > value(z, best)))
            best = t;
    }
    return best;
}

/* --- Rounds --------------------------------------------------------------- */

/* Climbs from the set that the quadratic is around, from none and from all. */
static int find_sets(struct select *z, const bool *here, struct shortlist *list)
{
    bool *set = NEW(bool, z->units);
    if (!set) return GSV_NO_MEMORY;
    for (int start = 0; start < 3; start++) {
        memset(set, start == 2, z->units * sizeof *set);
        if (start == 0) memcpy(set, here, z->units * sizeof *set);
        subset_climb(&z->subset, set, list);
    }
    mem_free(set);
    return 0;
}

static int refit_best(struct select *z, const struct shortlist *list)
{
    bool hidden = is_slow(z->m);
    int status = 0, refits = 0;
    for (size_t i = 0; !status && i < list->count; i++) {
        const bool *set = list->set + i * list->units;
        if (list->value[i] < list->value[0] - WORSE) break;
        if (hidden && refits == HIDDEN_REFITS) break;
        if (find_tried(z, set)) continue;
        refits++;
        say_done(z, list->count - i + REFITS);
        subset_test(&z->subset, set);
        status = refit(z, set, z->subset.c, false);
    }
    return status;
}

/* The quadratic around a model that was fitted. */
static int look_around(struct select *z, const struct tried *t)
{
    subset_free(&z->subset);
    linearised_free(&z->near);
    z->subset = (struct subset){0};
    gsv_model *m = gsv_model_copy(z->m);
    if (!m) return (int)gsv_last_status();
    memcpy(m->value, t->value, m->spec->parameters * sizeof *m->value);
    int status = linearise(&z->near, m, z->s, &z->draft, z->n, z->number, true);
    gsv_model_free(m);
    if (status) return status;
    return subset_init(&z->subset, z->n, z->near.J, z->near.a, z->unit,
                       z->cost);
}

static int start(struct select *z)
{
    bool *set = NEW(bool, z->units), draft = z->draft.estimator.steps == 1;
    int status = set ? 0 : GSV_NO_MEMORY;
    draft = draft && z->o.estimator.steps != 1;
    if (!status && z->n <= MOST_FULL) {
        memset(set, true, z->units);
        status = refit(z, set, NULL, draft);
    }
    /* Few rows and hidden states: all terms may be nowhere near the data. */
    if (!status && ((draft && z->gaps < 10 * z->n) || !z->tries)) {
        memset(set, false, z->units);
        status = refit(z, set, NULL, draft);
    }
    mem_free(set);
    if (!status && !z->tries)
        status = fail(GSV_NUMERICAL,
                      "the likelihood is not finite with all terms, nor "
                      "without any");
    return status;
}

/* Until the best model is the best one around itself. */
static int search(struct select *z)
{
    size_t around = z->tries;
    int status = start(z);
    for (int round = 0; !status && round < ROUNDS; round++) {
        size_t at = (size_t)(best_tried(z) - z->tried), before = z->tries;
        struct shortlist list;
        if (round && at == around) break;
        around = at;
        status = look_around(z, &z->tried[at]);
        if (!status) status = shortlist_init(&list, z->units, REFITS);
        if (status) break;
        status = find_sets(z, z->tried[at].set, &list);
        if (!status) status = refit_best(z, &list);
        shortlist_free(&list);
        if (before == z->tries) break;
    }
    /* The last round may have ended with a better one. */
    if (!status && best_tried(z) != &z->tried[around])
        status = look_around(z, best_tried(z));
    return status;
}

/* --- How often ------------------------------------------------------------ */

/* One more data set: blocks with replacement; or scores from their law. */
static int draw_scores(const struct select *z, size_t draw, const double *root,
                       double *a)
{
    const struct linearised *q = &z->near;
    struct random_key key = {.seed = z->o.estimator.seed,
                             .purpose = RANDOM_START,
                             .item = 1u << 20 | draw};
    size_t n = z->n, count = q->blocks ? q->blocks : n;
    double *number = NEW(double, count);
    if (!number) return GSV_NO_MEMORY;
    memcpy(a, q->a, n * sizeof *a);
    if (q->blocks) random_uniforms(&key, 0, count, 0, 1, number);
    else random_normals(&key, 0, count, 0, 1, number);
    for (size_t b = 0; b < q->blocks; b++) {
        size_t taken = (size_t)(number[b] * (double)q->blocks);
        for (size_t k = 0; k < n; k++)
            a[k] += q->score[taken * n + k] - q->score[b * n + k];
    }
    for (size_t k = 0; !q->blocks && k < n; k++)
        for (size_t j = 0; j <= k; j++)
            a[k] += root[k * n + j] * number[j];
    mem_free(number);
    return 0;
}

static int count_choices(struct select *z, const bool *best, double *frequency)
{
    size_t n = z->n;
    double *a = NEW(double, n), *root = NEW(double, n *n);
    bool *set = NEW(bool, z->units);
    struct subset p = {0};
    int status = a && root && set ? 0 : GSV_NO_MEMORY;
    if (!status) status = subset_init(&p, n, z->near.J, a, z->unit, z->cost);
    if (!status) memcpy(root, z->near.J, n * n * sizeof *root);
    bool known = !status && (z->near.blocks || linalg_cholesky(n, root));
    for (size_t i = 0; !status && i < z->resamples; i++) {
        status = known ? draw_scores(z, i, root, a) : 0;
        if (!status && z->given->stop && z->given->stop(z->given->user))
            status = fail(GSV_STOPPED, "the selection was stopped");
        if (status || !known) break;
        memcpy(set, best, z->units * sizeof *set);
        subset_climb(&p, set, NULL);
        for (size_t u = 0; u < z->units; u++)
            frequency[u] += set[u] / (double)z->resamples;
    }
    for (size_t u = 0; !known && u < z->units; u++)
        frequency[u] = NAN;
    subset_free(&p);
    MEM_FREE(a, root, set);
    return status;
}

/* --- The result ----------------------------------------------------------- */

/* The options of the last fit: names of coefficients that are gone are not
 * fixed any more. */
static int fit_reduced(struct select *z, gsv_model *m)
{
    gsv_fit_options o = z->o;
    const char **fix = NEW(const char *, o.fixed);
    if (!fix) return GSV_NO_MEMORY;
    o.kept = 0;
    int status = fit_options_fix(&o, m, &z->o, fix);
    if (!status) status = fit_from_here(m, z->s, &o, true, true);
    mem_free(fix);
    return status;
}

/* The model with a set alone, and with coefficients that are fixed at others
 * than 0. */
static int make_model(struct select *z, const struct tried *t, gsv_model **made)
{
    bool *kept = NEW(bool, z->m->spec->params);
    if (!kept) return GSV_NO_MEMORY;
    memcpy(z->m->value, t->value, z->m->spec->parameters * sizeof *t->value);
    for (size_t p = 0; p < z->m->spec->params; p++)
        kept[p] = z->m->value[z->m->spec->param[p].offset] != 0.0;
    for (size_t k = 0; k < z->n; k++)
        kept[z->param[k]] = t->set[z->unit[k]];
    *made = model_reduce(z->m, kept);
    mem_free(kept);
    return *made ? fit_reduced(z, *made) : (int)gsv_last_status();
}

static void note_estimate(gsv_coefficient *c, const gsv_model *m)
{
    const struct spec *s = m->spec;
    for (size_t p = 0; p < s->params; p++) {
        if (strcmp(s->param[p].name, c->name)) continue;
        c->estimate = m->value[s->param[p].offset];
        c->error = m->record->error_of[s->param[p].offset];
    }
}

static int note_coefficients(struct select *z, const struct tried *best,
                             gsv_selection *r)
{
    double *frequency = NEW(double, z->units);
    r->coefficient = NEW(gsv_coefficient, z->n);
    int status = frequency && r->coefficient ? 0 : GSV_NO_MEMORY;
    if (!status) status = count_choices(z, best->set, frequency);
    if (!status) subset_test(&z->subset, best->set);
    for (size_t k = 0; !status && k < z->n; k++) {
        gsv_coefficient *c = &r->coefficient[k];
        size_t u = z->unit[k];
        *c = (gsv_coefficient){
            .name = mem_string(z->m->spec->param[z->param[k]].name),
            .chosen = best->set[u],
            .error = NAN,
            .evidence = z->subset.change[u],
            .cost = z->cost.nats[u],
            .frequency = frequency[u]};
        r->coefficients++;
        if (!c->name) status = GSV_NO_MEMORY;
        else if (c->chosen) note_estimate(c, r->model);
    }
    mem_free(frequency);
    return status;
}

static int note_candidates(struct select *z, gsv_selection *r)
{
    r->candidate = NEW(gsv_candidate, z->tries);
    if (!r->candidate) return GSV_NO_MEMORY;
    for (size_t i = 0; i < z->tries; i++) {
        const struct tried *t = &z->tried[i];
        if (t->draft) continue;
        gsv_candidate c = {.loglik = t->loglik,
                           .error = t->error,
                           .value = value(z, t),
                           .has = NEW(bool, z->n)};
        if (!c.has) return GSV_NO_MEMORY;
        for (size_t k = 0; k < z->n; k++)
            c.terms += c.has[k] = t->set[z->unit[k]];
        size_t at = r->candidates++;
        for (; at && r->candidate[at - 1].value < c.value; at--)
            r->candidate[at] = r->candidate[at - 1];
        r->candidate[at] = c;
    }
    return 0;
}

static int note_result(struct select *z, gsv_selection *r)
{
    const struct tried *best = best_tried(z);
    int status = make_model(z, best, &r->model);
    if (!status) status = note_coefficients(z, best, r);
    if (!status) status = note_candidates(z, r);
    r->gaps = z->gaps;
    r->resamples = z->resamples;
    r->blocks = z->near.blocks;
    return status;
}

/* --- The whole ------------------------------------------------------------ */

void gsv_selection_free(gsv_selection *r)
{
    if (!r) return;
    for (size_t i = 0; i < r->coefficients; i++)
        mem_free((char *)(size_t)r->coefficient[i].name);
    for (size_t i = 0; i < r->candidates; i++)
        mem_free(r->candidate[i].has);
    MEM_FREE(r->coefficient, r->candidate);
    gsv_model_free(r->model);
    *r = (gsv_selection){0};
}

static void select_free(struct select *z)
{
    for (size_t i = 0; i < z->tries; i++)
        MEM_FREE(z->tried[i].set, z->tried[i].value);
    subset_free(&z->subset);
    linearised_free(&z->near);
    mem_free(z->tried);
    candidates_free(z);
    gsv_model_free(z->m);
}

/* One step a gap is enough to find sets, which are refitted with more. */
static gsv_fit_options draft_options(const gsv_model *m,
                                     const gsv_fit_options *o)
{
    gsv_fit_options draft = *o;
    bool open = !o->estimator.steps && !(o->estimator.step > 0.0);
    if (open && is_slow(m)) draft.estimator.steps = 1;
    return draft;
}

enum gsv_status gsv_select(const gsv_model *m, const gsv_series *s,
                           const gsv_fit_options *o, gsv_selection *result)
{
    if (ANY_NULL(result)) return GSV_BAD_INPUT;
    *result = (gsv_selection){0};
    if (ANY_NULL(m, s, o)) return GSV_BAD_INPUT;
    if (option_check(GSV_OF_FIT, o) || series_check(s) || refuse(m, o))
        return GSV_BAD_INPUT;
    struct select z = {.m = gsv_model_copy(m), .s = s, .o = *o, .given = o};
    z.resamples = o->resamples ? o->resamples : RESAMPLES;
    z.o.refit = NULL;
    z.o.phase = NULL;
    z.o.progress = NULL;
    z.o.estimate = GSV_ESTIMATE_ALL;
    z.draft = draft_options(m, &z.o);
    int status = z.m ? candidates_find(&z) : (int)gsv_last_status();
    if (!status) status = search(&z);
    if (!status) status = note_result(&z, result);
    select_free(&z);
    if (status) gsv_selection_free(result);
    return status;
}
