/* SPDX-License-Identifier: MIT */
/* From the tallies of a run to log-likelihoods of groups, their sums and the
 * gradient. */
#ifndef BRIDGE_SUM_H
#define BRIDGE_SUM_H

#include "bridge/run.h"

/* Whether the value of a group is 2 l(dt) - l(2 dt). */
bool is_extrapolated(const struct run *r, size_t group);

/* The standard error of such a value, from all log weights (K) of a group. */
double extrapolated_error(const struct run *r, size_t group, const double *S,
                          const double *S2);

/* After a run, one group; flags are left out. */
gsv_gap group_result(const struct run *r, size_t group);

/* The reasons to distrust a group: enum gsv_flag. */
unsigned group_flags(const struct run *r, const gsv_gap *gap);

/* Of groups [first, end), which this rank must have; and of both together. */
struct moments groups_moments(const struct run *r, size_t first, size_t end);
void moments_merge(struct moments *a, const struct moments *b);

/* How far off the mean of a gap may be, in nats: the discretisation error, as
 * far as it was estimated, and the bias of the log of a mean. */
double groups_doubt(const struct run *r);

/* The error of a group that is not finite. */
int fail_group(const struct run *r, size_t group);

/* d sum / d value of all selected groups. */
int run_gradient(struct run *r, double *gradient);

#endif
