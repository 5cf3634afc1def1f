/* SPDX-License-Identifier: MIT */
#include "bridge/driver.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/halt.h"
#include "base/khat.h"
#include "base/lanes.h"
#include "base/spread.h"
#include "bridge/choose.h"
#include "bridge/context.h"
#include "bridge/single.h"
#include "bridge/weighers.h"
#include "data/series.h"

/* --- Gaps -> contexts -> choose ------------------------------------------- */

void prepare_gaps(const struct run *r, struct scratch *s, size_t first,
                  size_t count)
{
    contexts_start(r, s, first, count);
    references_choose(r, s);
    contexts_finish(r, s);
}

/* The gaps from n on that are prepared together: as many as fit in a block, or
 * one that does not. */
static size_t batch_of(const struct run *r, size_t n, size_t end, size_t paths,
                       size_t *points)
{
    const struct plan *p = r->plan;
    size_t count = 0;
    for (*points = 0; n < end && count < p->batch; n++, count++) {
        size_t M = plan_steps(p, &r->gaps.gap[n]);
        size_t more = p->weigher->columns(p, M) * paths;
        if (count && *points + more > p->capacity) break;
        *points += more;
    }
    return count;
}

/* --- Walk and weigh ------------------------------------------------------- */

/* Where the weights of a context begin in those of an item. */
static size_t slot_of(const struct item *item, const struct context *c)
{
    return (c->group - item->group0) * (item->k1 - item->k0);
}

/* All contexts as pieces of one block. */
static struct block batch_block(const struct run *r, struct scratch *s,
                                const struct item *item)
{
    struct block b = {s->piece, s->contexts, 0, block_key(r, RANDOM_BRIDGE)};
    for (size_t i = 0; i < s->contexts; i++) {
        struct context *c = &s->context[i];
        struct piece *q = &s->piece[i];
        *q = (struct piece){.context = c,
                            .k0 = item->k0,
                            .K = item->k1 - item->k0,
                            .steps = c->M,
                            .columns = r->plan->weigher->columns(r->plan, c->M),
                            .at = b.P,
                            .slot = slot_of(item, c)};
        b.P += q->columns * q->K;
    }
    return b;
}

static bool item_is_one_block(const struct run *r, const struct item *item)
{
    size_t points, first = r->group_first[item->group0];
    size_t end = r->group_first[item->group1];
    size_t count = batch_of(r, first, end, item->k1 - item->k0, &points);
    return first + count == end && points <= r->plan->capacity;
}

/* The weights of an item to s->S and s->S2 (group by group), its base to base.
 */
static void item_walk(const struct run *r, struct scratch *s,
                      const struct item *item, double *base)
{
    size_t paths = item->k1 - item->k0, end = r->group_first[item->group1];
    size_t total = (item->group1 - item->group0) * paths, count, points;
    memset(s->S, 0, total * sizeof *s->S);
    memset(s->S2, 0, total * sizeof *s->S2);
    for (size_t n = r->group_first[item->group0]; n < end; n += count) {
        count = batch_of(r, n, end, paths, &points);
        prepare_gaps(r, s, n, count);
        for (size_t i = 0; i < count; i++) {
            struct context *c = &s->context[i];
            base[slot_of(item, c) / paths] += c->base;
        }
        if (points <= r->plan->capacity) {
            struct block b = batch_block(r, s, item);
            block_forward(r->plan, &r->values, s, &b, s->S, s->S2);
        } else {
            size_t slot = slot_of(item, s->context);
            context_walk(r, &r->values, s, s->context, item->k0, item->k1,
                         RANDOM_BRIDGE, s->S + slot, s->S2 + slot);
        }
    }
}

/* From S_bar and S2_bar to the gradients of the thread, and once times the
 * gradient of base. WALKED: the item is one block, which was walked last;
 * BASE: the gradient of base alone. */
enum back { AGAIN, WALKED, BASE };

static void item_walk_back(const struct run *r, struct scratch *s,
                           const struct item *item, double once, enum back back)
{
    const struct plan *p = r->plan;
    size_t paths = item->k1 - item->k0, end = r->group_first[item->group1];
    size_t count, points;
    for (size_t n = r->group_first[item->group0]; n < end; n += count) {
        count = batch_of(r, n, end, paths, &points);
        if (back != WALKED) prepare_gaps(r, s, n, count);
        if (back != BASE && points <= p->capacity) {
            struct block b = batch_block(r, s, item);
            if (back == AGAIN) block_forward(p, &r->values, s, &b, NULL, NULL);
            p->weigher->backward(p, &r->values, s, &b);
        } else if (back != BASE) {
            context_walk_back(r, s, s->context, item->k0, item->k1,
                              slot_of(item, s->context));
        }
        contexts_vjp(r, s, once);
    }
}

/* --- Tally ------------------------------------------------------------------
 */

static size_t chunk_of(const struct run *r, size_t item)
{
    return r->plan->chunks > 1 ? item % r->plan->chunks : 0;
}

/* What all weights of a group say: the shape of their tail, and the error of an
 * extrapolated value. */
static void find(struct run *r, struct scratch *s, size_t group,
                 const double *S, const double *S2)
{
    const struct plan *p = r->plan;
    const struct tally *t = &r->tally[group * p->chunks];
    struct finding *f = &r->finding[group];
    /* Weights that are almost equal have no tail to fit. */
    bool even = tally_ess(t) > 0.95 * (double)p->K;
    f->khat = !khat_tells(p->K) ? NAN : even ? 0.0 : khat(p->K, S, s->sorted);
    if (p->options->richardson && p->K > 1)
        f->error = extrapolated_error(r, group, S, S2);
}

/* A group of several gaps keeps what was chosen for the last one. */
static void note_contexts(struct run *r, const struct scratch *s)
{
    for (size_t i = 0; i < s->contexts; i++) {
        const struct context *c = &s->context[i];
        struct finding *f = &r->finding[c->group];
        f->reference = c->reference.kind;
        f->form = c->form;
        f->energy = c->energy;
    }
}

static void tally_group(struct run *r, struct scratch *s, size_t item,
                        size_t group, size_t slot)
{
    const struct plan *p = r->plan;
    const struct item *t = &r->item[item];
    size_t n = t->k1 - t->k0, at = group * p->chunks + chunk_of(r, item);
    tally_start(&r->tally[at]);
    tally_start(&r->tally2[at]);
    tally_add(&r->tally[at], n, s->S + slot);
    tally_add(&r->tally2[at], n, s->S2 + slot);
    if (p->chunks == 1) {
        find(r, s, group, s->S + slot, s->S2 + slot);
        return;
    }
    memcpy(r->S + group * p->K + t->k0, s->S, n * sizeof *s->S);
    memcpy(r->S2 + group * p->K + t->k0, s->S2, n * sizeof *s->S2);
}

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

static void group_bar(const struct run *r, struct scratch *s, size_t group,
                      size_t slot, size_t n, const double *S, const double *S2)
{
    const struct plan *p = r->plan;
    bool extrapolated = is_extrapolated(r, group);
    size_t first = group * p->chunks;
    double weight = group_weight(r, group);
    weights_bar(&r->tally[first], p->options->delta,
                extrapolated ? 2.0 * weight : weight, n, S, s->S_bar + slot);
    if (p->options->richardson)
        weights_bar(&r->tally2[first], p->options->delta,
                    extrapolated ? -weight : 0.0, n, S2, s->S2_bar + slot);
}

/* --- A group online ------------------------------------------------------ */

/* The number of paths of a group that fit in one block, where the gradient can
 * be summed block by block: 0 where not even one path fits, or where the
 * gradient of the weights needs all of them. */
static size_t online_paths(const struct run *r, const struct item *t)
{
    const struct plan *p = r->plan;
    const gsv_options *o = p->options;
    size_t gaps = r->group_first[t->group1] - r->group_first[t->group0];
    if (o->richardson || o->delta || t->group1 - t->group0 > 1 ||
        gaps > p->batch)
        return 0;
    size_t paths = p->capacity / run_columns(r, t->group0);
    return paths < 8 ? paths : paths / 8 * 8;
}

/* The gradients of the thread and those of the group change places. */
static void swap_parts(struct scratch *s)
{
    double *unit = s->unit_bar, *map = s->map_bar;
    s->unit_bar = s->unit_part;
    s->map_bar = s->map_part;
    s->unit_part = unit;
    s->map_part = map;
}

static void scale_parts(const struct run *r, struct scratch *s, double by)
{
    size_t n = all_bars(r->plan);
    for (size_t i = 0; i < n; i++)
        s->unit_part[i] *= by;
}

/* Some paths of a group: their weights relative to the largest so far enter the
 * gradient of the group, which is scaled when the largest grows. */
static void online_block(struct run *r, struct scratch *s, const struct item *t,
                         struct tally *tally, struct tally *tally2,
                         double *base)
{
    size_t n = t->k1 - t->k0;
    double most = tally->most;
    item_walk(r, s, t, base);
    tally_add(tally, n, s->S);
    tally_add(tally2, n, s->S2);
    memcpy(s->group_S + t->k0, s->S, n * sizeof *s->S);
    if (tally->most > most) scale_parts(r, s, exp(most - tally->most));
    for (size_t k = 0; k < n; k++)
        s->S_bar[k] =
            tally->most == -INFINITY ? 0.0 : exp(s->S[k] - tally->most);
    swap_parts(s);
    item_walk_back(r, s, t, 0.0, WALKED);
    swap_parts(s);
}

static void item_online(struct run *r, struct scratch *s, const struct item *t,
                        size_t paths)
{
    const struct plan *p = r->plan;
    size_t group = t->group0;
    struct tally *tally = &r->tally[group], *tally2 = &r->tally2[group];
    double unused = 0.0;
    tally_start(tally);
    tally_start(tally2);
    scale_parts(r, s, 0.0);
    for (size_t k = 0; k < p->K; k += paths) {
        size_t end = k + paths < p->K ? k + paths : p->K;
        struct item part = {group, group + 1, k, end};
        online_block(r, s, &part, tally, tally2, k ? &unused : &r->base[group]);
    }
    scale_parts(r, s, group_weight(r, group) / tally->sum);
    move_sum(all_bars(p), s->unit_part, s->unit_bar);
    if (base_is_learned(p)) item_walk_back(r, s, t, 1.0, BASE);
    find(r, s, group, s->group_S, NULL);
}

/* --- Items -------------------------------------------------------------- */

static void item_forward(struct run *r, struct scratch *s, size_t item)
{
    const struct plan *p = r->plan;
    const struct item *t = &r->item[item];
    if (single_applies(r) && single_item(r, s, t)) return;
    bool one_block = item_is_one_block(r, t);
    size_t online = one_block || p->chunks > 1 || !p->options->gradient
                        ? 0
                        : online_paths(r, t);
    if (online) {
        item_online(r, s, t, online);
        note_contexts(r, s);
        return;
    }
    size_t n = t->k1 - t->k0, at = t->group0 * p->chunks + chunk_of(r, item);
    item_walk(r, s, t, &r->base[at]);
    if (!t->k0) note_contexts(r, s);
    for (size_t g = t->group0; g < t->group1; g++)
        tally_group(r, s, item, g, (g - t->group0) * n);
    if (!p->options->gradient || p->chunks > 1) return;
    for (size_t g = t->group0; g < t->group1; g++) {
        size_t slot = (g - t->group0) * n;
        group_bar(r, s, g, slot, n, s->S + slot, s->S2 + slot);
    }
    item_walk_back(r, s, t, 1.0, one_block ? WALKED : AGAIN);
}

/* The weights of a group with several chunks are known only after all chunks:
 * then its paths are walked again. */
static void item_backward(struct run *r, struct scratch *s, size_t item)
{
    const struct item *t = &r->item[item];
    size_t at = t->group0 * r->plan->K + t->k0;
    group_bar(r, s, t->group0, 0, t->k1 - t->k0, r->S + at, r->S2 + at);
    item_walk_back(r, s, t, t->k0 == 0, AGAIN);
}

/* --- Lanes -------------------------------------------------------------- */

static void lane_run(struct run *r, size_t lane, size_t thread,
                     void (*item)(struct run *, struct scratch *, size_t))
{
    size_t end = lane_item(r, lane + 1);
    for (size_t i = lane_item(r, lane); i < end && !halt_asked(); i++)
        item(r, &r->scratch[thread], i);
}

/* Where the share of a lane begins: of groups, of chunks, of paths. */
static size_t first_group(const void *context, size_t lane)
{
    return lane_group(context, lane);
}

static size_t first_chunk(const void *context, size_t lane)
{
    const struct run *r = context;
    return r->plan->chunks > 1 ? lane_item(r, lane) : first_group(r, lane);
}

static size_t first_lane(const void *context, size_t lane)
{
    (void)context;
    return lane;
}

static size_t first_path(const void *context, size_t lane)
{
    const struct run *r = context;
    size_t item = lane_item(r, lane), K = r->plan->K;
    if (item == r->items) return r->groups * K;
    return r->item[item].group0 * K + r->item[item].k0;
}

/* Groups that are cut into chunks are summed after all chunks. */
static void lane_forward(void *context, size_t lane, size_t thread)
{
    struct run *r = context;
    size_t first = first_chunk(r, lane), end = first_chunk(r, lane + 1);
    memset(r->base + first, 0, (end - first) * sizeof *r->base);
    lane_run(r, lane, thread, item_forward);
    if (r->plan->chunks == 1) r->lane[lane] = groups_moments(r, first, end);
}

static void lane_backward(void *context, size_t lane, size_t thread)
{
    lane_run(context, lane, thread, item_backward);
}

static double *lane_bars(void *context, size_t thread)
{
    struct run *r = context;
    return r->scratch[thread].unit_bar;
}

static void merge_chunks(struct run *r)
{
    const struct plan *p = r->plan;
    for (size_t g = 0; p->chunks > 1 && g < r->groups; g++) {
        size_t first = g * p->chunks;
        for (size_t c = 1; c < p->chunks; c++) {
            tally_merge(&r->tally[first], &r->tally[first + c]);
            tally_merge(&r->tally2[first], &r->tally2[first + c]);
        }
        find(r, &r->scratch[0], g, r->S + g * p->K, r->S2 + g * p->K);
    }
}

/* In the order of lanes. */
static void merge_lanes(struct run *r)
{
    r->all = r->plan->chunks > 1 ? groups_moments(r, 0, r->groups) : r->lane[0];
    for (size_t i = 1; r->plan->chunks == 1 && i < run_lanes(r); i++)
        moments_merge(&r->all, &r->lane[i]);
}

/* What lanes send to all ranks: the moments of a lane, which is all that most
 * runs need; and the findings of its groups. */
enum { SHARES = 7, ALWAYS = 1, WITHOUT_CHUNKS = 5 };

static struct spread spread_of(struct run *r, struct spread_share *share)
{
    const struct plan *p = r->plan;
    const struct spread_share all[SHARES] = {
        {r->lane, sizeof *r->lane, first_lane},
        {r->tally, sizeof *r->tally, first_chunk},
        {r->tally2, sizeof *r->tally2, first_chunk},
        {r->base, sizeof *r->base, first_chunk},
        {r->finding, sizeof *r->finding, first_group},
        {r->S, sizeof *r->S, first_path},
        {r->S2, sizeof *r->S2, first_path}};
    memcpy(share, all, sizeof all);
    return (struct spread){.ranks = p->options->ranks,
                           .lanes = run_lanes(r),
                           .threads = r->threads,
                           .context = r,
                           .work = lane_forward,
                           .part = lane_bars,
                           .sum = r->unit_bar,
                           .shares = p->chunks > 1  ? SHARES
                                     : p->is_shared ? WITHOUT_CHUNKS
                                                    : ALWAYS,
                           .share = share};
}

/* What was found about every group to all ranks, where that was not done yet.
 */
static int share_findings(struct run *r)
{
    struct spread_share share[SHARES];
    if (r->plan->is_shared || r->plan->chunks > 1) return 0;
    struct spread spread = spread_of(r, share);
    spread.shares = WITHOUT_CHUNKS;
    return spread_gather(&spread);
}

int collect_groups(struct run *r, gsv_gap *gap)
{
    struct spread_share unused[SHARES];
    const struct spread_share share = {gap, sizeof *gap, first_group};
    struct spread spread = spread_of(r, unused);
    spread.share = &share;
    spread.shares = 1;
    return spread_collect(&spread);
}

int run_groups(struct run *r, uint32_t iteration)
{
    const struct plan *p = r->plan;
    bool gradient = p->options->gradient, twice = gradient && p->chunks > 1;
    struct spread_share share[SHARES];
    struct spread spread = spread_of(r, share);
    spread.n = gradient && !twice ? all_bars(p) : 0;
    r->iteration = iteration;
    int status = spread_run(&spread);
    if (status) return status;
    merge_chunks(r);
    merge_lanes(r);
    if (!twice) return 0;
    spread.work = lane_backward;
    spread.n = all_bars(p);
    spread.shares = 0;
    return spread_run(&spread);
}

/* --- Windows of groups ---------------------------------------------------- */

/* Enough to keep hundreds of ranks busy where a gap is one step. */
enum { WINDOW = 1 << 18 };

/* With joint groups are tracks, of any length: windows do not limit them. */
size_t window_groups(const gsv_options *o, size_t most)
{
    size_t window = o->window ? o->window : WINDOW;
    if (o->joint) return most;
    return !most || most > window ? window : most;
}

/* Selects n groups from number first on, of the list or of all. */
static int select_window(struct run *r, size_t n, size_t first,
                         const size_t *group)
{
    const struct plan *p = r->plan;
    if (p->most == p->all_groups) return 0;
    if (group) return run_select(r, n, group + first);
    if (!r->window) r->window = NEW(size_t, p->most);
    if (!r->window) return GSV_NO_MEMORY;
    for (size_t i = 0; i < n; i++)
        r->window[i] = first + i;
    return run_select(r, n, r->window);
}

int window_gradient(struct run *r, size_t first, double *gradient)
{
    size_t n = r->plan->model->spec->parameters;
    if (!first) return run_gradient(r, gradient);
    if (!r->window_bar) r->window_bar = NEW(double, n);
    if (!r->window_bar) return GSV_NO_MEMORY;
    int status = run_gradient(r, r->window_bar);
    for (size_t i = 0; !status && i < n; i++)
        gradient[i] += r->window_bar[i];
    return status;
}

/* The first group that is not finite is named in the error. */
static int check_groups(struct run *r)
{
    if (r->all.lost == NO_GROUP) return 0;
    int status = share_findings(r);
    return status ? status : fail_group(r, r->all.lost);
}

int run_windows(struct run *r, uint32_t iteration, size_t n,
                const size_t *group, window_callback *callback, void *user)
{
    size_t most = r->plan->most;
    int status = 0;
    if (!group) n = r->plan->all_groups;
    for (size_t first = 0; !status && first < n; first += most) {
        size_t left = n - first;
        status = select_window(r, left < most ? left : most, first, group);
        if (!status) status = run_groups(r, iteration);
        if (!status) status = check_groups(r);
        if (!status) status = callback(user, r, first);
        if (most < n) series_rest(r->gaps.series);
    }
    return status;
}

/* --- Plans ---------------------------------------------------------------- */

const struct weigher *weigher_choose(const gsv_model *m, const gsv_options *o)
{
    if (m->bridged) return &MODIFIED;
    if (o->form == GSV_FORM_COMPOSED) return &COMPOSED;
    if (o->form == GSV_FORM_EXACT) return &EXACT;
    return o->form == GSV_FORM_BOUND ? &BOUND : &BRIDGES;
}

int estimate_init(struct estimate *e, const struct weigher *w,
                  const struct task *t)
{
    /* Sizes and items have room for l(2 dt), whether or not it is needed. */
    struct task both = *t;
    both.halved = true;
    *e = (struct estimate){0};
    int status = refuse_chainless(t->model);
    if (!status) status = plan_init(&e->plan, w, &both, 0, 0);
    if (!status) status = run_init(&e->run, &e->plan);
    e->plan.halved = t->halved;
    return status;
}

int estimate_init_pairs(struct estimate *e, const struct task *t, size_t pairs,
                        double longest)
{
    *e = (struct estimate){0};
    int status = refuse_chainless(t->model);
    if (!status)
        status = plan_init(&e->plan, weigher_choose(t->model, t->options), t,
                           pairs, longest);
    return status ? status : run_init(&e->run, &e->plan);
}

void estimate_free(struct estimate *e)
{
    if (!e->plan.model) return;
    run_free(&e->run);
    plan_free(&e->plan);
}
