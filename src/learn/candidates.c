/* SPDX-License-Identifier: MIT */
/* The candidates of a selection: coefficients of terms that are not fixed, in
 * units that come and go together, and what a unit costs. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "learn/select.h"
#include "model/theta.h"

/* --- How simple a term is ------------------------------------------------- */

/* The names in a term, each as often as its power says, and at least 1: 1 and x
 * have 1, x*y and x^2 have 2, x*sin(y) has 3. */
static double names_in(const char *text)
{
    double sum = 0.0;
    for (const char *at = text; *at;) {
        if (!isalpha((unsigned char)*at)) {
            at++;
            continue;
        }
        while (isalnum((unsigned char)*at) || *at == '_')
            at++;
        if (*at == '[') at += strcspn(at, "]");
        if (*at == ']') at++;
        bool power = at[0] == '^' && isdigit((unsigned char)at[1]);
        sum += power ? fmax(strtod(at + 1, NULL), 1.0) : 1.0;
    }
    return fmax(sum, 1.0);
}

/* A name more is e^NATS times less likely beforehand, which is about what it
 * takes to write it down: x^3 is not taken for x where the data hardly tell
 * them apart. Of a unit the mean over its terms. */
static void share_out(struct select *z, const double *names)
{
    static const double NATS = 2.0;
    double sum = 0.0;
    for (size_t k = 0; k < z->n; k++) {
        size_t u = z->unit[k];
        z->share[u] += names[k] / (double)z->size[u];
    }
    for (size_t u = 0; u < z->units; u++)
        sum += z->share[u] = exp(-NATS * z->share[u]);
    for (size_t u = 0; u < z->units; u++)
        z->share[u] /= sum;
}

/* --- Units ---------------------------------------------------------------- */

/* What finds them needs. */
struct listing {
    bool *fixed;      /* (theta size)          */
    size_t *place;    /* (theta size)          */
    size_t *theta_of; /* (values)              */
    size_t *output;   /* (params) of a library */
    size_t *at;       /* (params) of the same  */
    double *names;    /* (params) in its term  */
};

static void listing_free(struct listing *l)
{
    MEM_FREE(l->fixed, l->place, l->theta_of, l->output, l->at, l->names);
}

static int listing_init(struct listing *l, const struct select *z)
{
    const gsv_model *m = z->m;
    size_t n = gsv_theta_size(m), all = m->spec->params;
    *l = (struct listing){.fixed = NEW(bool, n),
                          .place = NEW(size_t, n),
                          .theta_of = NEW(size_t, m->spec->parameters),
                          .output = NEW(size_t, all),
                          .at = NEW(size_t, all),
                          .names = NEW(double, all)};
    if (!l->fixed || !l->place || !l->theta_of || !l->output || !l->at ||
        !l->names)
        return GSV_NO_MEMORY;
    theta_places(m, l->place);
    for (size_t i = 0; i < n; i++)
        l->theta_of[l->place[i]] = i;
    return theta_select_all(m, z->o.fixed, z->o.fix, l->fixed);
}

/* Of two coefficients of one library. */
static bool is_together(const struct terms_spec *t, size_t i, size_t j,
                        const size_t *output, enum gsv_together how)
{
    if (how == GSV_TOGETHER_TERM) return !strcmp(t->text[i], t->text[j]);
    return how == GSV_TOGETHER_OUTPUT && output[i] == output[j];
}

static void add_library(struct select *z, const struct terms_spec *t,
                        struct listing *l)
{
    size_t first = z->n;
    for (size_t i = 0, p = 0; i < t->outputs; i++)
        for (size_t k = 0; k < t->count[i]; k++)
            l->output[p++] = i;
    for (size_t p = 0; p < t->params; p++) {
        size_t number = l->theta_of[t->offset + p], unit = z->units;
        if (l->fixed[number]) continue;
        for (size_t k = first; unit == z->units && k < z->n; k++)
            if (is_together(t, p, l->at[k - first], l->output, z->o.together))
                unit = z->unit[k];
        l->at[z->n - first] = p;
        l->names[z->n] = names_in(t->text[p]);
        z->param[z->n] = t->param + p;
        z->number[z->n] = number;
        z->unit[z->n++] = unit;
        z->units += unit == z->units;
        z->size[unit]++;
    }
}

/* --- All of them ---------------------------------------------------------- */

void candidates_free(struct select *z)
{
    MEM_FREE(z->param, z->number, z->unit, z->size, z->share, z->nats);
}

static struct cost cost_by_options(const struct select *z)
{
    double p = z->o.significance;
    return (struct cost){.criterion = z->o.criterion,
                         .significance = p > 0.0 ? p : 0.02,
                         .gaps = 1.0,
                         .equations = (double)z->m->spec->dim,
                         .units = z->units,
                         .size = z->size,
                         .share = z->share,
                         .nats = z->nats};
}

int candidates_find(struct select *z)
{
    const struct spec *s = z->m->spec;
    struct listing l;
    size_t all = s->params;
    z->param = NEW(size_t, all);
    z->number = NEW(size_t, all);
    z->unit = NEW(size_t, all);
    z->size = NEW(size_t, all);
    z->share = NEW(double, all);
    z->nats = NEW(double, all);
    int status = listing_init(&l, z);
    if (!z->param || !z->number || !z->unit || !z->size || !z->share ||
        !z->nats)
        status = GSV_NO_MEMORY;
    for (size_t i = 0; !status && i < s->libraries; i++)
        add_library(z, &s->terms[i], &l);
    if (!status && !z->n)
        status = fail(GSV_BAD_INPUT, "all coefficients of terms are fixed: "
                                     "there is nothing to select");
    if (!status) share_out(z, l.names);
    z->cost = cost_by_options(z);
    listing_free(&l);
    return status;
}
