/* SPDX-License-Identifier: MIT */
/* Gaps of one step against a linear reference, all gaps of an item at once. */
#ifndef BRIDGE_SINGLE_H
#define BRIDGE_SINGLE_H

#include "bridge/run.h"
#include "bridge/scratch.h"

/* Whether single_item() can run the items of this run. */
bool single_applies(const struct run *r);

/* All of an item, with its gradient where the options ask for one. False where
 * a gap has no linear reference: then nothing has been added. */
bool single_item(struct run *r, struct scratch *s, const struct item *t);

#endif
