/* SPDX-License-Identifier: MIT */
#include "bridge/run.h"

#include "base/lanes.h"
#include "base/spread.h"
#include "bridge/scratch.h"

/* --- Lanes ---------------------------------------------------------------- */

/* Lanes have several items each, and merging them costs little; with many items
 * there are enough lanes for many ranks. */
size_t run_lanes(const struct run *r)
{
    enum { FEWEST_ITEMS = 4 };
    size_t lanes = r->items / FEWEST_ITEMS;
    if (lanes > MOST_LANES) return MOST_LANES;
    if (lanes > LANES) return lanes;
    return r->items < LANES ? r->items : LANES;
}

size_t lane_item(const struct run *r, size_t lane)
{
    return lanes_first(lane, run_lanes(r), r->items);
}

size_t lane_group(const struct run *r, size_t lane)
{
    size_t item = lane_item(r, lane);
    if (item == r->items) return r->groups;
    return r->item[item].group0 + (r->item[item].k0 > 0);
}

void groups_own(const struct run *r, size_t *first, size_t *end)
{
    const gsv_ranks *ranks = r->plan->options->ranks;
    size_t lanes = run_lanes(r), rank = gsv_ranks_rank(ranks);
    *first = lane_group(r, lanes_first(rank, gsv_ranks_count(ranks), lanes));
    *end = lane_group(r, lanes_first(rank + 1, gsv_ranks_count(ranks), lanes));
}

/* --- Selected groups ------------------------------------------------------ */

struct gap run_gap(const struct run *r, size_t i)
{
    if (i >= r->listed && i < r->list_end) return r->gaps.gap[i];
    return gaps_at(&r->gaps, r->selected ? r->selected[i] : i);
}

size_t run_gap_steps(const struct run *r, size_t i)
{
    struct gap gap = {0};
    if (r->plan->options->step > 0.0) gap = run_gap(r, i);
    return plan_steps(r->plan, &gap);
}

size_t run_columns(const struct run *r, size_t group)
{
    const struct plan *p = r->plan;
    if (p->pairs) return p->weigher->columns(p, run_gap_steps(r, group));
    return group_columns(p, r->selected ? r->selected[group] : group);
}

static void select_groups(struct run *r, size_t n, const size_t *group)
{
    size_t gaps = 0;
    for (size_t i = 0; i < n; i++) {
        r->group_first[i] = gaps;
        gaps += group_gaps(r->plan, group ? group[i] : i);
    }
    r->group_first[n] = gaps;
    r->gaps.count = gaps;
    r->groups = n;
    r->selected = group;
    if (!r->plan->pairs) r->listed = r->list_end = 0;
}

/* The list of selected gaps; of many groups of one gap, this rank's alone. */
static void list_gaps(struct run *r)
{
    const struct plan *p = r->plan;
    size_t first = 0, end = r->groups;
    if (p->pairs || r->listed < r->list_end) return;
    if (p->chunks == 1 && !p->first_gap) groups_own(r, &first, &end);
    for (size_t g = first; g < end; g++) {
        size_t group = r->selected ? r->selected[g] : g;
        struct gap *to = r->gaps.gap + r->group_first[g];
        for (size_t i = 0; i < group_gaps(p, group); i++)
            to[i] = gaps_at(&p->gaps, group_begin(p, group) + i);
    }
    r->listed = r->group_first[first];
    r->list_end = r->group_first[end];
}

/* --- Items ---------------------------------------------------------------- */

/* More items bring no more balance; an item of small groups has at least as
 * many points as keep the kernels busy. */
enum { ITEMS = 64, BUSY_POINTS = 64 };

static int add_item(struct run *r, struct item item)
{
    if (MEM_ROOM(r->item, r->items, r->item_capacity)) return GSV_NO_MEMORY;
    r->item[r->items++] = item;
    return 0;
}

/* The points of an item of small groups. */
static size_t item_points(const struct run *r)
{
    size_t total = 0;
    for (size_t g = 0; g < r->groups; g++)
        total += run_columns(r, g) * r->plan->K;
    total /= ITEMS;
    if (total < BUSY_POINTS) return BUSY_POINTS;
    return total < r->plan->capacity ? total : r->plan->capacity;
}

/* Small groups side by side in one block. */
static int pack_groups(struct run *r)
{
    const struct plan *p = r->plan;
    size_t target = item_points(r);
    for (size_t g = 0; g < r->groups;) {
        size_t first = g, points = 0, gaps = 0;
        do {
            points += run_columns(r, g) * p->K;
            gaps += r->group_first[g + 1] - r->group_first[g];
            g++;
        } while (g < r->groups &&
                 gaps + r->group_first[g + 1] - r->group_first[g] <= p->batch &&
                 points + run_columns(r, g) * p->K <= target);
        if (add_item(r, (struct item){first, g, 0, p->K})) return GSV_NO_MEMORY;
    }
    return 0;
}

static int cut_groups(struct run *r)
{
    const struct plan *p = r->plan;
    for (size_t g = 0; g < r->groups; g++)
        for (size_t c = 0; c < p->chunks; c++)
            if (add_item(r, (struct item){g, g + 1, chunk_first(p, c),
                                          chunk_first(p, c + 1)}))
                return GSV_NO_MEMORY;
    return 0;
}

static int make_items(struct run *r)
{
    const struct plan *p = r->plan;
    r->items = 0;
    int status = p->chunks == 1 ? pack_groups(r) : cut_groups(r);
    size_t slots = spread_slots(run_lanes(r), p->options->ranks);
    if (status || !p->options->gradient || slots <= r->slots) return status;
    mem_free(r->unit_bar);
    r->slots = 0;
    r->unit_bar = NEW(double, slots *all_bars(p));
    if (!r->unit_bar) return GSV_NO_MEMORY;
    r->map_bar = r->unit_bar + unit_bars(p);
    r->slots = slots;
    return 0;
}

int run_select(struct run *r, size_t n, const size_t *group)
{
    if (r->plan->most < r->plan->all_groups) select_groups(r, n, group);
    int status = make_items(r);
    if (!status) list_gaps(r);
    return status;
}

int run_select_pairs(struct run *r, size_t pairs, size_t points,
                     const double *point)
{
    r->gaps.count = r->groups = pairs;
    r->gaps.point = point;
    r->gaps.points = points;
    for (size_t i = 0; i <= pairs; i++)
        r->group_first[i] = i;
    return make_items(r);
}

/* --- Making --------------------------------------------------------------- */

/* The list of gaps, for the first selection. */
static int make_list(struct run *r)
{
    const struct plan *p = r->plan;
    size_t longest = 1, room = p->gaps.count;
    for (size_t i = 0; p->first_gap && i < p->all_groups; i++)
        if (group_gaps(p, i) > longest) longest = group_gaps(p, i);
    if (p->most < p->all_groups) room = p->most * longest;
    r->gaps = p->gaps;
    r->group_first = NEW(size_t, p->most + 1);
    r->gaps.gap = NEW(struct gap, room);
    if (!r->gaps.gap || !r->group_first) return GSV_NO_MEMORY;
    for (size_t i = 0; i < p->pairs; i++)
        r->gaps.gap[i].length = p->pair_length;
    r->list_end = p->pairs;
    select_groups(r, p->most, NULL);
    return 0;
}

static int make_memory(struct run *r)
{
    const struct plan *p = r->plan;
    size_t slots = r->groups * p->chunks;
    bool stored = p->chunks > 1;
    r->threads = lanes_threads(p->options->threads);
    if (r->threads > run_lanes(r)) r->threads = run_lanes(r);
    if (!r->threads) r->threads = 1;
    r->tally = NEW(struct tally, slots);
    r->tally2 = NEW(struct tally, slots);
    r->base = NEW(double, slots);
    r->finding = NEW(struct finding, r->groups);
    r->lane = NEW(struct moments, MOST_LANES);
    r->scratch = NEW(struct scratch, r->threads);
    r->S = stored ? NEW(double, r->groups * p->K) : NULL;
    r->S2 = stored ? NEW(double, r->groups * p->K) : NULL;
    if (!r->tally || !r->tally2 || !r->base || !r->finding || !r->lane ||
        !r->scratch || (stored && (!r->S || !r->S2)))
        return GSV_NO_MEMORY;
    for (size_t i = 0; i < r->threads; i++)
        if (scratch_init(p, &r->scratch[i])) return GSV_NO_MEMORY;
    return 0;
}

int run_init(struct run *r, const struct plan *p)
{
    *r = (struct run){.plan = p, .reference = &r->values};
    int status = values_init(p, &r->values);
    if (!status) status = values_init(p, &r->frozen);
    if (!status) status = make_list(r);
    if (!status) status = run_select(r, p->most, NULL);
    return status ? status : make_memory(r);
}

void run_set_values(struct run *r, const double *reference)
{
    values_set(r->plan, r->plan->model->value, &r->values);
    if (reference) values_set(r->plan, reference, &r->frozen);
    r->reference = reference ? &r->frozen : &r->values;
}

void run_free(struct run *r)
{
    for (size_t i = 0; r->scratch && i < r->threads; i++)
        scratch_free(&r->scratch[i]);
    mem_free(r->scratch);
    mem_free(r->item);
    mem_free(r->tally);
    mem_free(r->tally2);
    mem_free(r->base);
    mem_free(r->finding);
    mem_free(r->lane);
    mem_free(r->S);
    mem_free(r->S2);
    mem_free(r->unit_bar);
    mem_free(r->group_first);
    mem_free(r->gaps.gap);
    mem_free(r->window);
    mem_free(r->window_bar);
    values_free(&r->values);
    values_free(&r->frozen);
}
