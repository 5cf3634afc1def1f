/* SPDX-License-Identifier: MIT */
/* A batch of gaps prepared for their bridges. Between contexts_start() and
 * contexts_finish() the references are chosen (choose.h). */
#ifndef BRIDGE_CONTEXT_H
#define BRIDGE_CONTEXT_H

#include "bridge/run.h"
#include "bridge/scratch.h"

/* Gaps [first, first + count) of the run to s->context, with their ends at the
 * values that references are made from. */
void contexts_start(const struct run *r, struct scratch *s, size_t first,
                    size_t count);

/* Ends and references at the model's own values, and the base of every gap:
 * log |det dT/dx| + log p_ref, and a potential. */
void contexts_finish(const struct run *r, struct scratch *s);

/* Whether the base of a gap depends on anything that is learned: on the noise,
 * by its ends and its reference, or on the drift, by a potential. */
bool base_is_learned(const struct plan *p);

/* The gradients by the ends, from the bridges and from once * base, to those by
 * the values. */
void contexts_vjp(const struct run *r, struct scratch *s, double once);

/* The ends of n gaps as 2 n points for T: those of gap i are number i * next
 * and i * next + apart. */
struct points read_ends(const struct run *r, struct scratch *s,
                        const struct gap *gap, size_t n, size_t next,
                        size_t apart);

/* Whether int f~ dY of a path depends on its ends alone, and the evaluations of
 * f~ that it takes. */
bool has_potential(const struct plan *p);
enum { POTENTIAL_NODES = 32 };

#endif
