/* SPDX-License-Identifier: MIT */
/* Groups of gaps, the items that threads take, and the sizes of blocks. All of
 * it is a function of the problem alone, never of the threads. */
#include <string.h>

#include "base/error.h"
#include "base/lanes.h"
#include "base/spread.h"
#include "bridge/estimate.h"

/* Items beyond this bring no more balance; chunks are only cut to get there. */
enum { ITEMS = 64 };

/* A block's points fill about this much of the cache; an item of small groups
 * has at least as many points as keep the kernels busy. */
enum { BLOCK_BYTES = 1 << 20, FEWEST_POINTS = 64, MOST_POINTS = 8192 };
enum { BUSY_POINTS = 64, CONTEXT_BYTES = 1 << 20, MOST_GAPS = 256 };

size_t estimate_lanes(const struct estimate *e)
{
    enum { FEWEST_ITEMS = 4 };
    size_t lanes = e->items / FEWEST_ITEMS;
    if (lanes > MOST_LANES) return MOST_LANES;
    if (lanes > LANES) return lanes;
    return e->items < LANES ? e->items : LANES;
}

size_t lane_item(const struct estimate *e, size_t lane)
{
    return lanes_first(lane, estimate_lanes(e), e->items);
}

size_t lane_group(const struct estimate *e, size_t lane)
{
    size_t item = lane_item(e, lane);
    if (item == e->items) return e->groups;
    return e->item[item].group0 + (e->item[item].k0 > 0);
}

int groups_make(struct estimate *e)
{
    const struct gaps *g = &e->gaps;
    e->every_gap = e->every_group = g->count;
    if (e->options->joint) {
        e->every_group = 0;
        e->every_first = NEW(size_t, g->count + 1);
        if (!e->every_first) return GSV_NO_MEMORY;
        for (size_t i = 0; i < g->count; i++)
            if (!i || estimate_gap(e, i).track != estimate_gap(e, i - 1).track)
                e->every_first[e->every_group++] = i;
        e->every_first[e->every_group] = g->count;
    }
    if (!e->most || e->most > e->every_group) e->most = e->every_group;
    e->groups = e->most;
    return 0;
}

static size_t every_first(const struct estimate *e, size_t group)
{
    return e->every_first ? e->every_first[group] : group;
}

static size_t every_gaps(const struct estimate *e, size_t group)
{
    return every_first(e, group + 1) - every_first(e, group);
}

int groups_room(struct estimate *e)
{
    size_t longest = 1, room = e->every_gap;
    for (size_t i = 0; e->every_first && i < e->every_group; i++)
        if (every_gaps(e, i) > longest) longest = every_gaps(e, i);
    if (e->most < e->every_group) room = e->most * longest;
    e->group_first = NEW(size_t, e->most + 1);
    if (!e->gaps.gap) e->gaps.gap = NEW(struct gap, room);
    if (!e->gaps.gap || !e->group_first) return GSV_NO_MEMORY;
    groups_take(e, e->most, NULL);
    return 0;
}

void groups_take(struct estimate *e, size_t n, const size_t *group)
{
    size_t gaps = 0;
    for (size_t i = 0; i < n; i++) {
        e->group_first[i] = gaps;
        gaps += every_gaps(e, group ? group[i] : i);
    }
    e->group_first[n] = gaps;
    e->gaps.count = gaps;
    e->groups = n;
    e->chosen = group;
    if (e->gaps.first) e->filled = e->filled_end = 0;
}

void groups_own(const struct estimate *e, size_t *first, size_t *end)
{
    size_t lanes = estimate_lanes(e);
    size_t rank = gsv_ranks_rank(e->options->ranks);
    size_t ranks = gsv_ranks_count(e->options->ranks);
    *first = lane_group(e, lanes_first(rank, ranks, lanes));
    *end = lane_group(e, lanes_first(rank + 1, ranks, lanes));
}

/* Chunks are few, and looked at by all; and so are tracks. */
void groups_fill(struct estimate *e)
{
    size_t first = 0, end = e->groups;
    if (!e->gaps.first || e->filled < e->filled_end) return;
    if (e->chunks == 1 && !e->every_first) groups_own(e, &first, &end);
    for (size_t g = first; g < end; g++) {
        size_t group = e->chosen ? e->chosen[g] : g;
        struct gap *to = e->gaps.gap + e->group_first[g];
        for (size_t i = 0; i < every_gaps(e, group); i++)
            to[i] = gaps_at(&e->gaps, every_first(e, group) + i);
    }
    e->filled = e->group_first[first];
    e->filled_end = e->group_first[end];
}

/* K as it is used: one path where no gap has an inner point, and a power of
 * two for Sobol' points. */
static size_t real_paths(const struct estimate *e)
{
    size_t K = 1;
    if (e->longest == 1) return 1;
    if (e->options->random == GSV_RANDOM_IID) return e->options->paths;
    while (K < e->options->paths)
        K *= 2;
    return K;
}

static size_t clamp(size_t x, size_t low, size_t high)
{
    return x < low ? low : x > high ? high : x;
}

/* A chunk has at least a vector of paths; and every chunk builds its gap's
 * linear reference again, so that sampling should cost more than that. */
static size_t fewest_paths(const struct estimate *e)
{
    bool brownian = e->options->reference == GSV_REFERENCE_BROWNIAN;
    return brownian || !e->weigher->gaussian ? 8 : 16 * (e->d + 1);
}

static size_t every_columns(const struct estimate *e, size_t group)
{
    size_t columns = 0, end = every_first(e, group + 1);
    bool equal = !(e->options->step > 0.0), listed = !e->gaps.first;
    for (size_t i = every_first(e, group); i < end; i++) {
        struct gap gap = {0};
        if (!equal) gap = listed ? e->gaps.gap[i] : gaps_at(&e->gaps, i);
        columns += e->weigher->columns(e, estimate_steps(e, &gap));
    }
    return columns;
}

size_t group_columns(const struct estimate *e, size_t group)
{
    return every_columns(e, e->chosen ? e->chosen[group] : group);
}

/* Averaging over tracks, a path's weight is known only at the track's end. So
 * that its drift need not be run again for the gradient, a block has room for a
 * few paths of a whole track, up to so many bytes; run.c has the rest. For a
 * few tracks alone there would be too few items. */
enum { ONLINE_PATHS = 4, ONLINE_TRACKS = 8, ONLINE_BYTES = 24 << 20 };

static void make_room_for_tracks(struct estimate *e, size_t point_bytes)
{
    size_t points = 0, gaps = 0, context = context_size(e) * sizeof(double);
    if (!e->options->joint || !e->options->gradient ||
        e->groups < ONLINE_TRACKS)
        return;
    for (size_t g = 0; g < e->every_group; g++) {
        size_t columns = every_columns(e, g);
        if (columns > points) points = columns;
        if (every_gaps(e, g) > gaps) gaps = every_gaps(e, g);
    }
    points *= e->K < ONLINE_PATHS ? e->K : ONLINE_PATHS;
    if (points * point_bytes + gaps * context > ONLINE_BYTES) return;
    e->chunks = 1;
    if (points > e->capacity) e->capacity = points;
    if (gaps > e->batch) e->batch = gaps;
}

static size_t least_points(const struct estimate *e)
{
    return e->weigher->least ? e->weigher->least(e) : 0;
}

/* What a point takes; of modified bridges, half of them are stepping at most.
 */
static size_t point_bytes(const struct estimate *e)
{
    bool gradient = e->options->gradient;
    return program_bytes(e->unit, gradient) +
           (e->step ? program_bytes(e->step, gradient) / 2 : 0) +
           e->d * sizeof(double) * (gradient ? 16 : 12);
}

void items_sizes(struct estimate *e)
{
    size_t bytes = point_bytes(e);
    size_t context = context_size(e) * sizeof(double);
    e->K = real_paths(e);
    e->capacity = clamp(BLOCK_BYTES / bytes, FEWEST_POINTS, MOST_POINTS);
    if (e->capacity < least_points(e)) e->capacity = least_points(e);
    e->batch = clamp(CONTEXT_BYTES / context, 1, MOST_GAPS);
    e->chunks = e->groups < ITEMS ? (ITEMS + e->groups - 1) / e->groups : 1;
    size_t most = e->K / fewest_paths(e);
    e->chunks = clamp(e->chunks, 1, most ? most : 1);
    make_room_for_tracks(e, bytes);
}

int items_check(const struct estimate *e)
{
    double bytes = (double)least_points(e) * (double)point_bytes(e);
    if (bytes < 2e9) return 0;
    return fail(GSV_BAD_INPUT,
                "bridges of %zu steps would take %.0f GB; take fewer steps",
                e->longest, bytes / 1e9);
}

static int add_item(struct estimate *e, struct item item)
{
    if (MEM_ROOM(e->item, e->items, e->item_capacity)) return GSV_NO_MEMORY;
    e->item[e->items++] = item;
    return 0;
}

/* Small groups side by side in one block: as many as give each lane some. */
static int pack_groups(struct estimate *e)
{
    size_t total = 0;
    for (size_t g = 0; g < e->groups; g++)
        total += (group_columns(e, g) * e->K);
    size_t target = clamp(total / ITEMS, BUSY_POINTS, e->capacity);
    for (size_t g = 0; g < e->groups;) {
        size_t first = g, points = 0, gaps = 0;
        do {
            points += (group_columns(e, g) * e->K);
            gaps += e->group_first[g + 1] - e->group_first[g];
            g++;
        } while (g < e->groups &&
                 gaps + e->group_first[g + 1] - e->group_first[g] <= e->batch &&
                 points + (group_columns(e, g) * e->K) <= target);
        if (add_item(e, (struct item){first, g, 0, e->K})) return GSV_NO_MEMORY;
    }
    return 0;
}

size_t chunk_first(const struct estimate *e, size_t chunk)
{
    size_t first = 8 * lanes_first(chunk, e->chunks, (e->K + 7) / 8);
    return first < e->K ? first : e->K;
}

static int cut_groups(struct estimate *e)
{
    for (size_t g = 0; g < e->groups; g++)
        for (size_t c = 0; c < e->chunks; c++)
            if (add_item(e, (struct item){g, g + 1, chunk_first(e, c),
                                          chunk_first(e, c + 1)}))
                return GSV_NO_MEMORY;
    return 0;
}

/* What the lanes' sums are made in. */
static int make_slots(struct estimate *e)
{
    size_t slots = spread_slots(estimate_lanes(e), e->options->ranks);
    if (!e->options->gradient || slots <= e->slots) return 0;
    mem_free(e->unit_bar);
    e->slots = 0;
    e->unit_bar = NEW(double, slots *all_bars(e));
    if (!e->unit_bar) return GSV_NO_MEMORY;
    e->map_bar = e->unit_bar + unit_bars(e);
    e->slots = slots;
    return 0;
}

int items_make(struct estimate *e)
{
    e->items = 0;
    int status = e->chunks == 1 ? pack_groups(e) : cut_groups(e);
    return status ? status : make_slots(e);
}
