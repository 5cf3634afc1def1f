/* SPDX-License-Identifier: MIT */
/* What the bits of a fit depend on, as a text: a checkpoint goes on only under
 * the terms that it was made under. */
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/plain.h"
#include "data/series.h"
#include "learn/learner.h"
#include "model/theta.h"

static uint64_t hash(uint64_t h, size_t bytes, const void *data)
{
    const unsigned char *c = data;
    for (size_t i = 0; i < bytes; i++)
        h = (h ^ c[i]) * 1099511628211u;
    return h;
}

static uint64_t hash_rows(const gsv_series *s, uint64_t h, const double *column)
{
    for (size_t i = 0; i < s->rows; i++) {
        h = hash(h, sizeof *column, &column[i]);
        series_passed(s, i);
    }
    return h;
}

static uint64_t hash_data(const gsv_series *s)
{
    uint64_t h = hash_rows(s, 1469598103934665603u, s->time);
    for (size_t c = 0; c < s->columns; c++)
        h = hash_rows(s, h, s->value + c * s->rows);
    return hash(h, (s->tracks + 1) * sizeof *s->start, s->start);
}

static int put_word(json_t *all, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int put_word(json_t *all, const char *key, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    struct plain_locale l;
    plain_begin(&l);
    json_t *word = json_vsprintf(format, args);
    plain_end(&l);
    va_end(args);
    return json_object_set_new(all, key, word);
}

static int put_fixed(const struct learner *l, json_t *all)
{
    uint64_t h = hash(1469598103934665603u, l->n * sizeof *l->fixed, l->fixed);
    for (size_t i = 0; i < l->n; i++)
        if (l->fixed[i]) h = hash(h, sizeof *l->kept, &l->kept[l->value[i]]);
    return put_word(all, "--fix", "%" PRIx64, h);
}

/* Starts that the caller gives; no entry where there are none. A status. */
static int put_starts(const struct learner *l, json_t *all)
{
    uint64_t h = 1469598103934665603u;
    if (!l->o->kept) return 0;
    bool *kept = NEW(bool, l->n);
    int status = kept ? theta_select_all(l->m, l->o->kept, l->o->keep, kept)
                      : (int)GSV_NO_MEMORY;
    if (!status) h = hash(h, l->n * sizeof *kept, kept);
    for (size_t i = 0; !status && i < l->n; i++)
        if (kept[i]) h = hash(h, sizeof *l->kept, &l->kept[l->value[i]]);
    mem_free(kept);
    if (!status && put_word(all, "--set", "%" PRIx64, h))
        status = fail(GSV_NO_MEMORY, "out of memory");
    return status;
}

/* Those of the model are in its text. */
static int put_priors(const struct learner *l, json_t *all)
{
    uint64_t h = 1469598103934665603u;
    if (!l->o->priors) return 0;
    for (size_t i = 0; i < l->n; i++) {
        const gsv_prior *p = l->prior.of[i];
        if (!p) continue;
        h = hash(h, sizeof i, &i);
        h = hash(h, sizeof p->law, &p->law);
        h = hash(h, sizeof p->a, &p->a);
        h = hash(h, sizeof p->b, &p->b);
    }
    return put_word(all, "--prior", "%" PRIx64, h);
}

int terms_write(struct learner *l)
{
    const gsv_fit_options *o = l->o;
    const gsv_options *e = &o->estimator;
    json_t *all = json_object();
    int lost = put_word(all, "model", "%s", l->m->text);
    lost |= put_word(all, "data", "%" PRIx64, hash_data(l->s));
    lost |= put_word(all, "--optimizer", "%d", l->optimizer);
    lost |= put_word(all, "--schedule", "%d", o->schedule);
    lost |= put_word(all, "--objective", "%d", o->objective);
    lost |= put_word(all, "--scheme", "%d", o->scheme);
    lost |= put_word(all, "--iterations", "%zu", o->iterations);
    lost |= put_word(all, "--batch", "%zu", l->ramp ? 0 : o->batch);
    lost |= put_word(all, "--restarts", "%zu", o->restarts);
    lost |= put_word(all, "--rate", "%.17g", o->rate);
    lost |= put_word(all, "--decay", "%.17g", o->decay);
    lost |= put_word(all, "--clip", "%.17g", o->clip);
    lost |= put_word(all, "--average", "%.17g", o->average);
    lost |= put_word(all, "--heldout",
                     o->heldout_series ? "series:%.17g" : "%.17g", o->heldout);
    lost |= put_word(all, "--patience", "%.17g", o->patience);
    lost |= put_word(all, "--seed", "%" PRIu64, e->seed);
    lost |= put_word(all, "estimator option",
                     "%zu %zu %.17g %d %d %d %d %d "
                     "%d %d %d %zu %zu",
                     e->paths, e->steps, e->step, e->reference, e->form,
                     e->random, e->richardson, e->delta, e->joint, e->wide,
                     e->observe, e->points, e->window);
    if (e->nodes) lost |= put_word(all, "--nodes", "%zu", e->nodes);
    if (o->method == GSV_METHOD_GIBBS)
        lost |= put_word(all, "--method gibbs, --chains or --warmup", "%zu %zu",
                         o->chains, o->warmup);
    lost |= put_fixed(l, all);
    lost |= put_priors(l, all);
    int status = put_starts(l, all);
    char *text = lost || status ? NULL : json_dumps(all, 0);
    json_decref(all);
    if (status) return status;
    l->terms = text ? mem_string(text) : NULL;
    free(text);
    return l->terms ? 0 : fail(GSV_NO_MEMORY, "out of memory");
}
