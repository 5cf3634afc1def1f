/* SPDX-License-Identifier: MIT */
/* Chains in a checkpoint: where each is, what proposals have learned, and the
 * draws so far. A resumed fit has the same draws as one that was not stopped.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/linalg.h"
#include "learn/gibbs.h"

/* The numbers of struct gibbs besides its arrays. */
enum {
    NUMBER_DONE,
    NUMBER_INDEPENDENT,
    NUMBER_BLOCKS,
    NUMBER_REFUSED,
    NUMBER_SCALE,
    NUMBER_TRIED = NUMBER_SCALE + MOVES,
    NUMBER_KEPT = NUMBER_TRIED + MOVES,
    NUMBERS = NUMBER_KEPT + MOVES
};

static const char NAME[] = "@state.chains.numbers";

/* --- Out ------------------------------------------------------------------ */

static size_t drawn_so_far(const struct gibbs *g)
{
    size_t warmup = g->l->o->warmup;
    return g->done > warmup ? g->done - warmup : 0;
}

static int keep_numbers(const struct gibbs *g, struct tensors *t)
{
    const struct proposal *p = &g->proposal;
    double x[NUMBERS] = {[NUMBER_DONE] = (double)g->done,
                         [NUMBER_INDEPENDENT] = p->independent,
                         [NUMBER_BLOCKS] = (double)p->blocks,
                         [NUMBER_REFUSED] = (double)g->l->refused};
    memcpy(x + NUMBER_SCALE, p->scale, sizeof p->scale);
    memcpy(x + NUMBER_TRIED, g->counts.tried, sizeof g->counts.tried);
    memcpy(x + NUMBER_KEPT, g->counts.kept, sizeof g->counts.kept);
    return tensors_add(t, NAME, 1, (size_t[]){NUMBERS}, x);
}

/* One array of every chain, (chains, n): by the place of its pointer in struct
 * chain; streams are whole numbers. */
struct chain_array {
    const char *name;
    size_t n, at;
    bool stream;
};

enum { CHAIN_ARRAYS = 4 };

static void list_arrays(const struct gibbs *g, struct chain_array *a)
{
    const struct target *t = &g->seat[0].target;
    const struct chain_array all[CHAIN_ARRAYS] = {
        {"@state.chains.theta", g->l->n, offsetof(struct chain, theta), false},
        {"@state.chains.effects", t->tracks * t->effects,
         offsetof(struct chain, u), false},
        {"@state.chains.stream", t->slots, offsetof(struct chain, stream),
         true},
        {"@state.chains.unit", t->units, offsetof(struct chain, unit), false}};
    memcpy(a, all, sizeof all);
}

static void *array_of(const struct chain *c, const struct chain_array *a)
{
    return *(void *const *)(const void *)((const char *)c + a->at);
}

static int keep_chains(const struct gibbs *g, const struct chain_array *a,
                       struct tensors *t)
{
    double *all = NEW(double, g->chains * a->n);
    if (!all) return GSV_NO_MEMORY;
    for (size_t c = 0; c < g->chains; c++) {
        const void *from = array_of(&g->chain[c], a);
        for (size_t i = 0; i < a->n; i++)
            all[c * a->n + i] = a->stream ? (double)((const uint32_t *)from)[i]
                                          : ((const double *)from)[i];
    }
    int status = tensors_add(t, a->name, 2, (size_t[]){g->chains, a->n}, all);
    mem_free(all);
    return status;
}

/* Draws so far: rows (rows, chains, draws of each) without what is to come. */
static int keep_draws(const struct gibbs *g, const char *name, size_t rows,
                      const double *from, struct tensors *t)
{
    size_t n = drawn_so_far(g), all = rows * g->chains;
    double *part = NEW(double, all *n);
    if (!part) return GSV_NO_MEMORY;
    for (size_t i = 0; i < all; i++)
        memcpy(part + i * n, from + i * g->draws->draws, n * sizeof *part);
    int status = tensors_add(t, name, 2, (size_t[]){all, n}, part);
    mem_free(part);
    return status;
}

static size_t warm_rows(const struct gibbs *g)
{
    size_t warmup = g->l->o->warmup;
    return (g->done < warmup ? g->done : 0) * g->chains;
}

int gibbs_keep(void *gibbs, struct tensors *t)
{
    const struct gibbs *g = gibbs;
    const struct proposal *p = &g->proposal;
    size_t n = g->n, cells = g->draws->tracks * g->draws->effects;
    struct chain_array a[CHAIN_ARRAYS];
    list_arrays(g, a);
    int status = keep_numbers(g, t);
    for (size_t i = 0; !status && i < CHAIN_ARRAYS; i++)
        if (a[i].n) status = keep_chains(g, &a[i], t);
    if (!status) status = tensors_add(t, "@state.chains.mean", 1, &n, p->mean);
    if (!status)
        status = tensors_add(t, "@state.chains.covariance", 2, (size_t[]){n, n},
                             p->C);
    if (!status && warm_rows(g))
        status = tensors_add(t, "@state.chains.warm", 2,
                             (size_t[]){warm_rows(g), n}, g->warm);
    if (status || !drawn_so_far(g)) return status;
    status = keep_draws(g, "@state.chains.draws", n, g->draws->value, t);
    if (!status) status = keep_draws(g, "@state.chains.lp", 1, g->draws->lp, t);
    if (!status && cells)
        status =
            keep_draws(g, "@state.chains.drawn", cells, g->draws->effect, t);
    return status;
}

/* --- In ------------------------------------------------------------------- */

static int damaged(const struct gibbs *g, const char *name)
{
    return fail(GSV_BAD_INPUT,
                "%s is damaged: '%s' of its chains is missing, has another "
                "size, or is not a possible one; start a new fit",
                g->l->o->resume, name);
}

/* An array that must be there, (n), or NULL. */
static const double *find(const struct gibbs *g, const char *name, size_t n)
{
    const struct tensor *t = tensors_find(&g->l->chains, name);
    bool fits = t && t->count == n && all_finite(n, t->value);
    if (!fits) damaged(g, name);
    return fits ? t->value : NULL;
}

static bool is_count(double x, double low, double high)
{
    return x >= low && x <= high && x == floor(x);
}

static int take_numbers(struct gibbs *g)
{
    const gsv_fit_options *o = g->l->o;
    const double *x = find(g, NAME, NUMBERS);
    double most = (double)(o->warmup + o->draws);
    if (!x) return GSV_BAD_INPUT;
    if (!is_count(x[NUMBER_DONE], 0.0, 1e9)) return damaged(g, NAME);
    if (x[NUMBER_DONE] > most)
        return fail(GSV_BAD_INPUT,
                    "%s has %.0f draws of each chain already; ask for as many "
                    "or more with --draws",
                    o->resume, x[NUMBER_DONE] - (double)o->warmup);
    bool fine = is_count(x[NUMBER_INDEPENDENT], 0.0, 1.0) &&
                is_count(x[NUMBER_BLOCKS], 1.0, 1e9) &&
                is_count(x[NUMBER_REFUSED], 0.0, 1e15);
    for (size_t i = 0; i < MOVES; i++)
        fine = fine && x[NUMBER_SCALE + i] > 0.0;
    if (!fine) return damaged(g, NAME);
    g->done = (size_t)x[NUMBER_DONE];
    g->proposal.independent = x[NUMBER_INDEPENDENT] > 0.0;
    g->proposal.blocks = (size_t)x[NUMBER_BLOCKS];
    g->l->refused = (size_t)x[NUMBER_REFUSED];
    memcpy(g->proposal.scale, x + NUMBER_SCALE, sizeof g->proposal.scale);
    memcpy(g->counts.tried, x + NUMBER_TRIED, sizeof g->counts.tried);
    memcpy(g->counts.kept, x + NUMBER_KEPT, sizeof g->counts.kept);
    return 0;
}

static int take_chains(struct gibbs *g, const struct chain_array *a)
{
    const double *all = find(g, a->name, g->chains * a->n);
    if (!all) return GSV_BAD_INPUT;
    for (size_t i = 0; i < g->chains * a->n; i++) {
        void *to = array_of(&g->chain[i / a->n], a);
        if (a->stream && !is_count(all[i], 0.0, (double)UINT32_MAX))
            return damaged(g, a->name);
        if (a->stream) ((uint32_t *)to)[i % a->n] = (uint32_t)all[i];
        else ((double *)to)[i % a->n] = all[i];
    }
    return 0;
}

static int take_draws(struct gibbs *g, const char *name, size_t rows,
                      double *to)
{
    size_t n = drawn_so_far(g), all = rows * g->chains;
    const double *part = find(g, name, all * n);
    if (!part) return GSV_BAD_INPUT;
    for (size_t i = 0; i < all; i++)
        memcpy(to + i * g->draws->draws, part + i * n, n * sizeof *to);
    return 0;
}

static int take_proposal(struct gibbs *g)
{
    struct proposal *p = &g->proposal;
    size_t n = g->n, rows = warm_rows(g);
    const double *mean = find(g, "@state.chains.mean", n);
    const double *C = mean ? find(g, "@state.chains.covariance", n * n) : NULL;
    const double *warm =
        C && rows ? find(g, "@state.chains.warm", rows * n) : NULL;
    if (!C || (rows && !warm)) return GSV_BAD_INPUT;
    memcpy(p->mean, mean, n * sizeof *mean);
    memcpy(p->C, C, n * n * sizeof *C);
    if (rows) memcpy(g->warm, warm, rows * n * sizeof *warm);
    proposal_factor(p);
    return 0;
}

/* The levels that chains were left at, from their units. */
static void find_levels(struct gibbs *g)
{
    struct target *t = &g->seat[0].target;
    for (size_t c = 0; c < g->chains; c++)
        target_level(t, &g->chain[c]);
}

int gibbs_take(struct gibbs *g)
{
    size_t cells = g->draws->tracks * g->draws->effects;
    struct chain_array a[CHAIN_ARRAYS];
    list_arrays(g, a);
    int status = take_numbers(g);
    for (size_t i = 0; !status && i < CHAIN_ARRAYS; i++)
        if (a[i].n) status = take_chains(g, &a[i]);
    if (!status) status = take_proposal(g);
    if (!status) find_levels(g);
    if (status || !drawn_so_far(g)) return status;
    status = take_draws(g, "@state.chains.draws", g->n, g->draws->value);
    if (!status) status = take_draws(g, "@state.chains.lp", 1, g->draws->lp);
    if (!status && cells)
        status = take_draws(g, "@state.chains.drawn", cells, g->draws->effect);
    return status;
}
