/* SPDX-License-Identifier: MIT */
#include "learn/split.h"

#include <math.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"

/* Fisher and Yates, with the numbers of this epoch. */
static void shuffle(uint64_t seed, uint64_t epoch, size_t n, size_t *order)
{
    struct random_key key = {
        .seed = seed, .purpose = RANDOM_BATCH, .item = epoch};
    enum { PART = 256 };
    double u[PART];
    for (size_t i = 0; i < n; i++) {
        if (i % PART == 0) {
            size_t left = n - i;
            random_uniforms(&key, i, left < PART ? left : PART, 0, 1, u);
        }
        size_t j = i + (size_t)(u[i % PART] * (double)(n - i));
        size_t kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
}

/* The order in which groups are held out is number 0. */
static void divide(struct split *s, size_t groups, size_t helds)
{
    for (size_t i = 0; i < groups; i++)
        s->train[i] = i;
    if (!helds) return;
    shuffle(s->seed, 0, groups, s->train);
    for (size_t i = 0; i < helds; i++)
        s->held[i] = s->train[s->trains + i];
}

int split_init(struct split *s, uint64_t seed, size_t groups, double share,
               size_t batch)
{
    *s = (struct split){.seed = seed};
    double wish = share * (double)groups;
    s->helds = wish > 0.0 ? (size_t)fmax(floor(wish), 1.0) : 0;
    if (s->helds >= groups)
        return fail(GSV_BAD_INPUT,
                    "there are %zu gaps: holding %g of them out leaves none "
                    "to learn from",
                    groups, share);
    s->trains = groups - s->helds;
    s->batch = batch && batch < s->trains ? batch : s->trains;
    s->train = NEW(size_t, groups);
    s->held = NEW(size_t, s->helds);
    s->order = NEW(size_t, s->trains);
    s->group = NEW(size_t, s->batch);
    if (!s->train || !s->held || !s->order || !s->group) return GSV_NO_MEMORY;
    divide(s, groups, s->helds);
    return 0;
}

/* Of tracks instead of groups; those without groups are learned from. */
static void divide_tracks(struct split *s, const struct split *t,
                          const size_t *first)
{
    s->trains = s->helds = 0;
    for (size_t i = 0; i < t->trains + t->helds; i++) {
        bool held = i >= t->trains;
        size_t r = held ? t->held[i - t->trains] : t->train[i];
        for (size_t g = first[r]; g < first[r + 1]; g++)
            if (held) s->held[s->helds++] = g;
            else s->train[s->trains++] = g;
    }
}

int split_tracks(struct split *s, uint64_t seed, size_t tracks,
                 const size_t *first, double share, size_t batch)
{
    struct split t = {0};
    size_t groups = first[tracks];
    *s = (struct split){.seed = seed};
    if (tracks < 2)
        return fail(GSV_BAD_INPUT, "there is one series: none can be held out");
    int status = split_init(&t, seed, tracks, share, 0);
    s->train = NEW(size_t, groups);
    s->held = NEW(size_t, groups);
    if (!status && (!s->train || !s->held)) status = GSV_NO_MEMORY;
    if (!status) divide_tracks(s, &t, first);
    split_free(&t);
    if (status) return status;
    if (!s->trains || !s->helds)
        return fail(GSV_BAD_INPUT,
                    "holding %g of the series out leaves no gaps %s", share,
                    s->trains ? "to validate with" : "to learn from");
    s->batch = batch && batch < s->trains ? batch : s->trains;
    s->order = NEW(size_t, s->trains);
    s->group = NEW(size_t, s->batch);
    return s->order && s->group ? 0 : GSV_NO_MEMORY;
}

void split_free(struct split *s)
{
    MEM_FREE(s->train, s->held, s->order, s->group);
    *s = (struct split){0};
}

const size_t *split_batch(struct split *s, uint64_t place, size_t n)
{
    if (n == s->trains) return s->train;
    for (size_t i = 0; i < n; i++, place++) {
        uint64_t epoch = 1 + place / s->trains;
        if (epoch != s->epoch) {
            for (size_t j = 0; j < s->trains; j++)
                s->order[j] = s->train[j];
            shuffle(s->seed, epoch, s->trains, s->order);
            s->epoch = epoch;
        }
        s->group[i] = s->order[place % s->trains];
    }
    return s->group;
}
