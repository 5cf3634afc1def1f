/* SPDX-License-Identifier: MIT */
/* Running the items over the lanes, with gradients merged in order. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/halt.h"
#include "base/khat.h"
#include "base/lanes.h"
#include "base/spread.h"
#include "bridge/result.h"

/* --- From weights to their gradient ------------------------------------- */

/* scale times the gradient of the log mean of exp(S), and with delta that of
 * its correction (K sum p^2 - 1)/(K - 1)/2: p + (p^2 - p sum p^2) K/(K - 1),
 * p the normalised weights. */
static void weights_bar(const struct tally *t, bool delta, double scale,
                        size_t n, const double *S, double *S_bar)
{
    double log_sum = tally_log_sum(t);
    double K = (double)t->count, squares = 1.0 / tally_ess(t);
    double extra = delta && t->count > 1 ? K / (K - 1.0) : 0.0;
    for (size_t k = 0; k < n; k++) {
        double p = exp(S[k] - log_sum);
        S_bar[k] = scale * p * (1.0 + extra * (p - squares));
    }
}

/* 2 l(dt) - l(2 dt) takes an error of the first order away; the midpoint's is
 * of a higher one, and so is that of a potential; both are left as they are.
 * Over a track auto takes the midpoint in single steps alone, whose l(2 dt) is
 * l(dt). */
bool is_extrapolated(const struct estimate *e, size_t group)
{
    const gsv_options *o = e->options;
    bool single = o->joint && o->form == GSV_FORM_AUTO;
    return o->richardson && !e->potential &&
           (single || e->finding[group].form != GSV_FORM_MIDPOINT);
}

static void group_bar(const struct estimate *e, struct scratch *s, size_t group,
                      size_t slot, size_t n, const double *S, const double *S2)
{
    bool extrapolated = is_extrapolated(e, group);
    size_t first = group * e->chunks;
    double weight = group_weight(e, group);
    weights_bar(&e->tally[first], e->options->delta,
                extrapolated ? 2.0 * weight : weight, n, S, s->S_bar + slot);
    if (e->options->richardson)
        weights_bar(&e->tally2[first], e->options->delta,
                    extrapolated ? -weight : 0.0, n, S2, s->S2_bar + slot);
}

/* --- Items -------------------------------------------------------------- */

static size_t chunk_of(const struct estimate *e, size_t item)
{
    return e->chunks > 1 ? item % e->chunks : 0;
}

/* The standard error of 2 l(dt) - l(2 dt): both means are over the same
 * paths, whose normalised weights are p and q. */
static double extrapolated_error(const struct estimate *e, size_t group,
                                 const double *S, const double *S2)
{
    double log_p = tally_log_sum(&e->tally[group * e->chunks]);
    double log_q = tally_log_sum(&e->tally2[group * e->chunks]);
    double K = (double)e->K, sum = 0.0;
    for (size_t k = 0; k < e->K; k++) {
        double u = 2.0 * exp(S[k] - log_p) - exp(S2[k] - log_q) - 1.0 / K;
        sum += u * u;
    }
    return sqrt(sum * K / (K - 1.0));
}

/* What a group's weights say, where all of them are at hand. */
static void find(struct estimate *e, struct scratch *s, size_t group,
                 const double *S, const double *S2)
{
    const struct tally *t = &e->tally[group * e->chunks];
    struct finding *f = &e->finding[group];
    /* Weights that are all but equal have no tail worth a fit. */
    bool even = tally_ess(t) > 0.95 * (double)e->K;
    f->khat = !khat_tells(e->K) ? NAN : even ? 0.0 : khat(e->K, S, s->sorted);
    if (e->options->richardson && e->K > 1)
        f->error = extrapolated_error(e, group, S, S2);
}

/* Of a batch the last gap's; where a group is one gap, its own. */
static void note_contexts(struct estimate *e, const struct scratch *s)
{
    for (size_t i = 0; i < s->contexts; i++) {
        const struct context *c = &s->context[i];
        struct finding *f = &e->finding[c->group];
        f->reference = c->reference.kind;
        f->form = c->form;
        f->energy = c->energy;
    }
}

static void tally_group(struct estimate *e, struct scratch *s, size_t item,
                        size_t group, size_t slot)
{
    const struct item *t = &e->item[item];
    size_t n = t->k1 - t->k0, at = group * e->chunks + chunk_of(e, item);
    tally_start(&e->tally[at]);
    tally_start(&e->tally2[at]);
    tally_add(&e->tally[at], n, s->S + slot);
    tally_add(&e->tally2[at], n, s->S2 + slot);
    if (e->chunks == 1) {
        find(e, s, group, s->S + slot, s->S2 + slot);
        return;
    }
    memcpy(e->S + group * e->K + t->k0, s->S, n * sizeof *s->S);
    memcpy(e->S2 + group * e->K + t->k0, s->S2, n * sizeof *s->S2);
}

/* --- A group online ------------------------------------------------------ */

/* The paths of a group that are one block, where its gradient can be summed as
 * they come: 0 where not even one is, or where the weights' gradient needs the
 * whole group. */
static size_t online_paths(const struct estimate *e, const struct item *t)
{
    const gsv_options *o = e->options;
    size_t gaps = e->group_first[t->group1] - e->group_first[t->group0];
    if (o->richardson || o->delta || t->group1 - t->group0 > 1 ||
        gaps > e->batch)
        return 0;
    size_t paths = e->capacity / group_columns(e, t->group0);
    return paths < 8 ? paths : paths / 8 * 8;
}

static void scale(size_t n, double by, double *x)
{
    for (size_t i = 0; i < n; i++)
        x[i] *= by;
}

static void swap(double **a, double **b)
{
    double *c = *a;
    *a = *b;
    *b = c;
}

/* The thread's gradients and those of the group change places. */
static void swap_parts(struct scratch *s)
{
    swap(&s->unit_bar, &s->unit_part);
    swap(&s->map_bar, &s->map_part);
}

static void scale_parts(const struct estimate *e, struct scratch *s, double by)
{
    scale(all_bars(e), by, s->unit_part);
}

/* Some paths of a group: their weights relative to the largest so far go
 * straight into the group's gradient, which is scaled when that one grows. */
static void online_block(struct estimate *e, struct scratch *s,
                         const struct item *t, struct tally *tally,
                         struct tally *tally2, double *base)
{
    size_t n = t->k1 - t->k0;
    double most = tally->most;
    item_walk(e, s, t, base);
    tally_add(tally, n, s->S);
    tally_add(tally2, n, s->S2);
    memcpy(s->group_S + t->k0, s->S, n * sizeof *s->S);
    if (tally->most > most) scale_parts(e, s, exp(most - tally->most));
    for (size_t k = 0; k < n; k++)
        s->S_bar[k] =
            tally->most == -INFINITY ? 0.0 : exp(s->S[k] - tally->most);
    swap_parts(s);
    item_walk_back(e, s, t, 0.0, true);
    swap_parts(s);
}

static void item_online(struct estimate *e, struct scratch *s,
                        const struct item *t, size_t paths)
{
    size_t group = t->group0;
    struct tally *tally = &e->tally[group], *tally2 = &e->tally2[group];
    double unused = 0.0;
    tally_start(tally);
    tally_start(tally2);
    scale_parts(e, s, 0.0);
    for (size_t k = 0; k < e->K; k += paths) {
        size_t end = k + paths < e->K ? k + paths : e->K;
        struct item part = {group, group + 1, k, end};
        online_block(e, s, &part, tally, tally2, k ? &unused : &e->base[group]);
    }
    scale_parts(e, s, group_weight(e, group) / tally->sum);
    move_sum(all_bars(e), s->unit_part, s->unit_bar);
    item_base_back(e, s, t);
    find(e, s, group, s->group_S, NULL);
}

static void item_forward(struct estimate *e, struct scratch *s, size_t item)
{
    const struct item *t = &e->item[item];
    if (single_applies(e) && single_item(e, s, t)) return;
    bool one_block = item_is_one_block(e, t);
    size_t online = one_block || e->chunks > 1 || !e->options->gradient
                        ? 0
                        : online_paths(e, t);
    if (online) {
        item_online(e, s, t, online);
        note_contexts(e, s);
        return;
    }
    size_t n = t->k1 - t->k0, at = t->group0 * e->chunks + chunk_of(e, item);
    item_walk(e, s, t, &e->base[at]);
    if (!t->k0) note_contexts(e, s);
    for (size_t g = t->group0; g < t->group1; g++)
        tally_group(e, s, item, g, (g - t->group0) * n);
    if (!e->options->gradient || e->chunks > 1) return;
    for (size_t g = t->group0; g < t->group1; g++) {
        size_t slot = (g - t->group0) * n;
        group_bar(e, s, g, slot, n, s->S + slot, s->S2 + slot);
    }
    item_walk_back(e, s, t, 1.0, one_block);
}

/* Where a group has several chunks its weights are known only after all of
 * them, and the paths are walked again. */
static void item_backward(struct estimate *e, struct scratch *s, size_t item)
{
    const struct item *t = &e->item[item];
    size_t at = t->group0 * e->K + t->k0;
    group_bar(e, s, t->group0, 0, t->k1 - t->k0, e->S + at, e->S2 + at);
    item_walk_back(e, s, t, t->k0 == 0, false);
}

/* --- Lanes -------------------------------------------------------------- */

static void lane_run(struct estimate *e, size_t lane, size_t thread,
                     void (*item)(struct estimate *, struct scratch *, size_t))
{
    size_t end = lane_item(e, lane + 1);
    for (size_t i = lane_item(e, lane); i < end && !halt_asked(); i++)
        item(e, &e->scratch[thread], i);
}

/* Where a lane's share begins of the findings about groups, of all chunks, and
 * of their paths. */
static size_t first_group(const void *context, size_t lane)
{
    return lane_group(context, lane);
}

static size_t first_chunk(const void *context, size_t lane)
{
    const struct estimate *e = context;
    return e->chunks > 1 ? lane_item(e, lane) : first_group(e, lane);
}

static size_t first_lane(const void *context, size_t lane)
{
    (void)context;
    return lane;
}

static size_t first_path(const void *context, size_t lane)
{
    const struct estimate *e = context;
    size_t item = lane_item(e, lane);
    if (item == e->items) return e->groups * e->K;
    return e->item[item].group0 * e->K + e->item[item].k0;
}

/* Groups that are cut into chunks are summed up when all chunks are there. */
static void lane_forward(void *context, size_t lane, size_t thread)
{
    struct estimate *e = context;
    size_t first = first_chunk(e, lane), end = first_chunk(e, lane + 1);
    memset(e->base + first, 0, (end - first) * sizeof *e->base);
    lane_run(e, lane, thread, item_forward);
    if (e->chunks == 1) e->lane[lane] = estimate_moments(e, first, end);
}

static void lane_backward(void *context, size_t lane, size_t thread)
{
    lane_run(context, lane, thread, item_backward);
}

static double *lane_bars(void *context, size_t thread)
{
    struct estimate *e = context;
    return e->scratch[thread].unit_bar;
}

static void merge_chunks(struct estimate *e)
{
    for (size_t g = 0; e->chunks > 1 && g < e->groups; g++) {
        size_t first = g * e->chunks;
        for (size_t c = 1; c < e->chunks; c++) {
            tally_merge(&e->tally[first], &e->tally[first + c]);
            tally_merge(&e->tally2[first], &e->tally2[first + c]);
        }
        find(e, &e->scratch[0], g, e->S + g * e->K, e->S2 + g * e->K);
    }
}

/* In the order of lanes. */
static void merge_lanes(struct estimate *e)
{
    e->all = e->chunks > 1 ? estimate_moments(e, 0, e->groups) : e->lane[0];
    for (size_t i = 1; e->chunks == 1 && i < estimate_lanes(e); i++)
        moments_merge(&e->all, &e->lane[i]);
}

/* What lanes tell all ranks: of a lane its moments, which is all that most runs
 * are made for; and of its groups. */
enum { SHARES = 7, ALWAYS = 1, WITHOUT_CHUNKS = 5 };

static void share_out(const struct estimate *e, struct spread_share *share)
{
    const struct spread_share all[SHARES] = {
        {e->lane, sizeof *e->lane, first_lane},
        {e->tally, sizeof *e->tally, first_chunk},
        {e->tally2, sizeof *e->tally2, first_chunk},
        {e->base, sizeof *e->base, first_chunk},
        {e->finding, sizeof *e->finding, first_group},
        {e->S, sizeof *e->S, first_path},
        {e->S2, sizeof *e->S2, first_path}};
    memcpy(share, all, sizeof all);
}

static struct spread spread_of(struct estimate *e, struct spread_share *share)
{
    share_out(e, share);
    return (struct spread){.ranks = e->options->ranks,
                           .lanes = estimate_lanes(e),
                           .threads = e->threads,
                           .context = e,
                           .work = lane_forward,
                           .part = lane_bars,
                           .sum = e->unit_bar,
                           .shares = e->chunks > 1 ? SHARES
                                     : e->known    ? WITHOUT_CHUNKS
                                                   : ALWAYS,
                           .share = share};
}

int estimate_tell(struct estimate *e)
{
    struct spread_share share[SHARES];
    if (e->known || e->chunks > 1) return 0;
    struct spread spread = spread_of(e, share);
    spread.shares = WITHOUT_CHUNKS;
    return spread_gather(&spread);
}

int estimate_collect(struct estimate *e, gsv_gap *gap)
{
    struct spread_share unused[SHARES];
    const struct spread_share share = {gap, sizeof *gap, first_group};
    struct spread spread = spread_of(e, unused);
    spread.share = &share;
    spread.shares = 1;
    return spread_collect(&spread);
}

int estimate_run(struct estimate *e, uint32_t iteration)
{
    bool gradient = e->options->gradient, twice = gradient && e->chunks > 1;
    struct spread_share share[SHARES];
    struct spread spread = spread_of(e, share);
    spread.n = gradient && !twice ? all_bars(e) : 0;
    e->iteration = iteration;
    int status = spread_run(&spread);
    if (status) return status;
    merge_chunks(e);
    merge_lanes(e);
    if (!twice) return 0;
    spread.work = lane_backward;
    spread.n = all_bars(e);
    spread.shares = 0;
    return spread_run(&spread);
}
