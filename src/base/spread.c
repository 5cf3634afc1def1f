/* SPDX-License-Identifier: MIT */
#include "base/spread.h"

#include <string.h>

#include "base/lanes.h"

/* --- The tree ----------------------------------------------------------- */

/* The node (level, index) has the lanes from index 2^level on, 2^level of them
 * or what there is. Its sum is that of its left half plus that of its right
 * one. A rank's stack has the sums of the largest nodes that are all its own,
 * in the order of their lanes. */
enum { MOST_LEVELS = 64 };

struct tree {
    const struct spread *s;
    size_t first, end; /* this rank's lanes */
    size_t depth;      /* of the stack      */
    struct node {
        size_t level, index;
    } node[2 * MOST_LEVELS];
    size_t next; /* of the stack, in the pass between ranks */
};

static size_t levels_of(size_t lanes)
{
    size_t levels = 0;
    while ((size_t)1 << levels < lanes)
        levels++;
    return levels;
}

/* Lanes in the middle of the tree grow nodes on both sides; one slot more is
 * for what comes from others. */
size_t spread_slots(size_t lanes, const gsv_ranks *ranks)
{
    size_t levels = levels_of(lanes);
    return gsv_ranks_count(ranks) > 1 ? 2 * levels + 2 : levels + 1;
}

static double *slot_of(const struct tree *t, size_t i)
{
    return t->s->sum + i * t->s->n;
}

/* --- Inside of a rank --------------------------------------------------- */

static void work_at(void *context, size_t lane, size_t thread)
{
    const struct tree *t = context;
    t->s->work(t->s->context, t->first + lane, thread);
}

/* Whether the last two of the stack are halves of one node. */
static bool are_halves(const struct tree *t)
{
    const struct node *b = &t->node[t->depth - 1], *a = b - 1;
    return t->depth > 1 && a->level == b->level && b->index % 2 &&
           a->index + 1 == b->index;
}

/* A lane's sum, in the order of lanes: onto the stack, whose last two become
 * one as long as they can. A right half goes straight to its left one. */
static void push(void *context, size_t lane, size_t thread)
{
    struct tree *t = context;
    size_t n = t->s->n;
    double *part = t->s->part(t->s->context, thread);
    t->node[t->depth++] = (struct node){0, t->first + lane};
    bool added = are_halves(t);
    if (added) {
        move_sum(n, part, slot_of(t, t->depth - 2));
    } else {
        memcpy(slot_of(t, t->depth - 1), part, n * sizeof *part);
        memset(part, 0, n * sizeof *part);
    }
    for (; are_halves(t); added = false) {
        if (!added)
            move_sum(n, slot_of(t, t->depth - 1), slot_of(t, t->depth - 2));
        t->depth--;
        t->node[t->depth - 1].level++;
        t->node[t->depth - 1].index /= 2;
    }
}

/* --- Between ranks ------------------------------------------------------ */

static size_t rank_first(const struct spread *s, size_t rank)
{
    return lanes_first(rank, gsv_ranks_count(s->ranks), s->lanes);
}

/* The rank that has a lane, which has a node that begins with it. */
static size_t owner_of(const struct spread *s, size_t lane)
{
    size_t low = 0, high = gsv_ranks_count(s->ranks);
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (rank_first(s, middle) <= lane) low = middle;
        else high = middle;
    }
    return low;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static bool is_next(const struct tree *t, size_t first, size_t end)
{
    const struct node *n = &t->node[t->next];
    return t->next < t->depth && n->index << n->level == first &&
           least((n->index + 1) << n->level, t->s->lanes) == end;
}

/* The sum of a node, where this rank has its first lane; NULL elsewhere. Left
 * before right on all ranks: so they meet in one order, and those that have no
 * lane of a node pass it over. */
static double *reduce(struct tree *t, struct node node)
{
    const struct spread *s = t->s;
    size_t first = node.index << node.level, half = (size_t)1 << node.level;
    size_t end = least(first + half, s->lanes), middle = first + half / 2;
    if (first >= t->end || end <= t->first) return NULL;
    if (is_next(t, first, end)) return slot_of(t, t->next++);
    double *left = reduce(t, (struct node){node.level - 1, 2 * node.index});
    if (middle >= s->lanes) return left;
    double *right =
        reduce(t, (struct node){node.level - 1, 2 * node.index + 1});
    size_t to = owner_of(s, first), from = owner_of(s, middle);
    size_t me = gsv_ranks_rank(s->ranks);
    if (to != from && me == from) comm_send(s->ranks, to, s->n, right);
    if (me != to) return NULL;
    if (to != from) {
        right = slot_of(t, spread_slots(s->lanes, s->ranks) - 1);
        comm_receive(s->ranks, from, s->n, right);
    }
    move_sum(s->n, right, left);
    return left;
}

static void gather(const struct spread *s,
                   void (*exchange)(gsv_ranks *, size_t, void *))
{
    for (size_t k = 0; gsv_ranks_count(s->ranks) > 1 && k < s->shares; k++) {
        const struct spread_share *share = &s->share[k];
        for (size_t i = 0; i <= s->ranks->count; i++)
            s->ranks->first[i] = share->first(s->context, rank_first(s, i));
        exchange(s->ranks, share->size, share->data);
    }
}

int spread_gather(const struct spread *s)
{
    int status = comm_meet(s->ranks);
    if (!status) gather(s, comm_gather);
    return status;
}

int spread_collect(const struct spread *s)
{
    int status = comm_meet(s->ranks);
    if (!status) gather(s, comm_collect);
    return status;
}

int spread_run(const struct spread *s)
{
    size_t rank = gsv_ranks_rank(s->ranks);
    bool alone = gsv_ranks_count(s->ranks) == 1;
    struct tree t = {
        .s = s, .first = rank_first(s, rank), .end = rank_first(s, rank + 1)};
    lanes_run(t.end - t.first, s->threads,
              &(struct lanes_job){&t, work_at, s->n ? push : NULL});
    int status = comm_stop(s->ranks);
    if (status) return status;
    if (s->n && s->lanes) {
        reduce(&t, (struct node){levels_of(s->lanes), 0});
        if (!alone) comm_broadcast(s->ranks, s->n, s->sum);
    }
    gather(s, comm_gather);
    return 0;
}
