/* SPDX-License-Identifier: MIT */
#include "simulate/ensemble.h"

#include <string.h>

#include "base/lanes.h"

/* Numbers in a table. */
static const size_t MOST_NUMBERS = (size_t)1 << 25;

/* The parameters from the first of all gps' values and weights to the last. */
static void find_range(struct ensemble *e)
{
    const struct spec *s = e->model->spec;
    size_t end = 0;
    e->first = s->parameters;
    for (size_t gp = 0; gp < s->gps; gp++) {
        const struct gp *h = &s->graph->gp[gp];
        size_t from = s->gp[gp].value, to = from + h->outputs * gp_nodes(h);
        if (h->degree) to = s->gp[gp].weight + h->outputs * gp_features(h);
        if (from < e->first) e->first = from;
        if (to > end) end = to;
    }
    e->stride = end - e->first;
}

static size_t blocks_of(const struct ensemble *e, size_t wanted)
{
    size_t blocks = (wanted + FUNCTIONS_BLOCK - 1) / FUNCTIONS_BLOCK;
    size_t most = MOST_NUMBERS / (e->stride * FUNCTIONS_BLOCK);
    if (most < e->threads) most = e->threads;
    return blocks < most ? blocks : most;
}

int ensemble_init(struct ensemble *e, const gsv_model *m, bool mean,
                  uint64_t seed, size_t wanted, size_t threads)
{
    *e = (struct ensemble){.model = m, .seed = seed, .threads = threads};
    if (mean || !gsv_model_has_posterior(m)) return 0;
    e->functions = gsv_functions_new(m);
    if (!e->functions) return (int)gsv_last_status();
    find_range(e);
    e->rows = blocks_of(e, wanted) * FUNCTIONS_BLOCK;
    e->room_size = functions_room(e->functions);
    e->table = NEW(double, e->rows * e->stride);
    e->room = NEW(double, threads * e->room_size);
    if (!e->table || !e->room) return GSV_NO_MEMORY;
    for (size_t i = 0; i < e->rows; i++) /* gps without a posterior */
        memcpy(e->table + i * e->stride, m->value + e->first,
               e->stride * sizeof *e->table);
    return 0;
}

void ensemble_free(struct ensemble *e)
{
    gsv_functions_free(e->functions);
    MEM_FREE(e->table, e->room);
    *e = (struct ensemble){0};
}

void ensemble_draw(struct ensemble *e, uint64_t first, size_t row,
                   size_t thread)
{
    if (!e->functions) return;
    functions_draw(e->functions, e->seed, first, e->first, e->stride,
                   e->table + row * e->stride, e->room + thread * e->room_size);
}

static void fill_block(void *context, size_t lane, size_t thread)
{
    size_t row = lane * FUNCTIONS_BLOCK;
    ensemble_draw(context, row, row, thread);
}

int ensemble_fill(struct ensemble *e)
{
    struct lanes_job job = {.context = e, .work = fill_block};
    return lanes_run(e->rows / FUNCTIONS_BLOCK, e->threads, &job);
}

void ensemble_lend(const struct ensemble *e, size_t row, struct stepper *s)
{
    if (!e->functions) return;
    s->own = e->table + row * e->stride;
    s->own_first = e->first;
    s->own_stride = e->stride;
}
