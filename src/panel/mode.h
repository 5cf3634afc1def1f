/* SPDX-License-Identifier: MIT */
/* Where the random effects of a series are: the mode of
 *
 *     F(z) = log p(series | u = mean + root z) - |z|^2 / 2
 *
 * and its curvature there, by Newton steps with differences of values. */
#ifndef PANEL_MODE_H
#define PANEL_MODE_H

#include "panel/rule.h"
#include "panel/subject.h"

struct peak {
    double center[EFFECTS_MOST];              /* u of the mode          */
    double root[EFFECTS_MOST * EFFECTS_MOST]; /* (n, n) lower: root root' is
                                               * the inverse curvature  */
    double log_root;
};

/* From the place of an earlier search where `warm`. */
int mode_find(struct subject *s, const struct effect_law *law, bool warm,
              struct peak *p);

#endif
