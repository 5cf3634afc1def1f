/* SPDX-License-Identifier: MIT */
/* Equations without noise in words, where they form no chains: how noise comes
 * to their states, or that it does not. */
#include <stdio.h>

#include "base/error.h"
#include "base/memory.h"
#include "lang/singular.h"
#include "model/describe.h"
#include "model/reach.h"

/* How noise reaches all states: uses (dim, dim), order (dim). */
struct reached {
    bool *uses;
    size_t *order;
};

/* The states that bring the noise to state i. */
static void put_sources(FILE *out, const gsv_model *m, const struct reached *r,
                        size_t i, const struct graph_names *names)
{
    size_t d = m->spec->dim, shown = 0;
    for (size_t j = 0; j < d; j++) {
        if (!r->uses[i * d + j] || r->order[j] + 1 != r->order[i]) continue;
        if (shown < MOST_ROWS)
            fprintf(out, "%s%s", shown ? ", " : "", names->state[j]);
        else if (shown == MOST_ROWS) fputs(", ...", out);
        shown++;
    }
}

static void put_count(FILE *out, size_t n)
{
    if (n == 1) fputs("once", out);
    else if (n == 2) fputs("twice", out);
    else fprintf(out, "%zu times", n);
}

/* A state that no noise reaches. */
static const char *alone(const gsv_model *m, const struct reached *r, size_t i)
{
    size_t d = m->spec->dim;
    bool used = false;
    for (size_t j = 0; j < d; j++)
        used = used || r->uses[i * d + j];
    if (element_is_zero(m->spec->graph, m->spec->drift, i))
        return "never changes: a constant, which its first value decides";
    return used ? "is reached by no noise: it follows from first values alone"
                : "depends on time alone: a clock";
}

static void put_state(FILE *out, const gsv_model *m, const struct reached *r,
                      size_t i, const struct graph_names *names)
{
    fprintf(out, "  %s ", names->state[i]);
    if (r->order[i] == REACH_NEVER) {
        fprintf(out, "%s\n", alone(m, r, i));
        return;
    }
    fputs("gets its noise by ", out);
    put_sources(out, m, r, i, names);
    fputs(", integrated ", out);
    put_count(out, r->order[i]);
    if (r->order[i] > REACH_MOST)
        fprintf(out, ": more than %d integrals of a noise cannot be told apart",
                REACH_MOST);
    fputc('\n', out);
}

int describe_reach(FILE *out, const gsv_model *m,
                   const struct graph_names *names)
{
    size_t d = m->spec->dim, shown = 0;
    struct reached r = {NEW(bool, d *d), NEW(size_t, d)};
    int status =
        r.uses && r.order ? model_reach(m, r.uses, r.order) : GSV_NO_MEMORY;
    for (size_t i = 0; !status && i < d; i++) {
        if (!r.order[i]) continue;
        if (!shown) fprintf(out, "%-15s of their own\n", "without noise");
        if (shown < MOST_ROWS) put_state(out, m, &r, i, names);
        else if (shown == MOST_ROWS) fputs("  ...\n", out);
        shown++;
    }
    if (!status && chain_is_guided(m))
        fprintf(out, "  no chains, by the equation of %s: %s\n",
                names->state[m->chain.state], chain_reason(m));
    MEM_FREE(r.uses, r.order);
    return status;
}
