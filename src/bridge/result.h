/* SPDX-License-Identifier: MIT */
/* From the items to the result: setting up (estimate.c), running (run.c). */
#ifndef BRIDGE_RESULT_H
#define BRIDGE_RESULT_H

#include "bridge/estimate.h"

/* Over all groups, or over at most so many at once: then the first of them are
 * chosen. Model, series and options are borrowed. After it, and whenever the
 * model's values change: estimate_prepare(). */
int estimate_init(struct estimate *e, const gsv_model *m,
                  const gsv_series *series, const gsv_options *o, size_t most);
void estimate_free(struct estimate *e);

/* Over pairs of any points: at most so many at once, and no further apart in
 * time than this. Then, again and again: the caller writes e->gaps.gap[i] for
 * so many pairs, whose from and to are columns of point (dim, points). */
int estimate_init_pairs(struct estimate *e, const gsv_model *m,
                        const gsv_series *series, const gsv_options *o,
                        size_t pairs, double longest);
int estimate_take_pairs(struct estimate *e, size_t pairs, size_t points,
                        const double *point);

/* Takes the groups with these numbers, n of them at most what it was made
 * for; the list is borrowed until the next choice. Where it was made for all,
 * it stays with all. */
int estimate_choose(struct estimate *e, size_t n, const size_t *group);

/* guide: values that references are made from; NULL for the model's own. */
void estimate_prepare(struct estimate *e, const double *guide);

/* Runs all chosen groups, with the numbers of this iteration: all ranks have
 * their moments then, and the gradient. What was found about every group is
 * known to all where e->known is set, or after estimate_tell(). Both fail where
 * a rank has failed. */
int estimate_run(struct estimate *e, uint32_t iteration);
int estimate_tell(struct estimate *e);

/* The same for as many groups as there are (group NULL: all),
 * with the memory of those that it was made for, if that was a window: these
 * follow each other, and after each of them somebody looks, who is told which
 * of the n is its first. Fails where a group is not finite. */
typedef int window_look(void *user, struct estimate *e, size_t first);
size_t estimate_window(const gsv_options *o, size_t most);
int estimate_windows(struct estimate *e, uint32_t iteration, size_t n,
                     const size_t *group, window_look *look, void *user);

/* For who looks: the first window's gradient, to which later ones are added. */
int window_gradient(struct estimate *e, size_t first, double *gradient);

/* What a rank has made of its own groups, (groups), to the first rank. */
int estimate_collect(struct estimate *e, gsv_gap *gap);

/* Of some groups that this rank knows; and of others that follow them. */
struct moments estimate_moments(const struct estimate *e, size_t first,
                                size_t end);
void moments_merge(struct moments *a, const struct moments *b);

/* After it: one group, whether all are finite, and d sum / d value. */
gsv_gap estimate_group(const struct estimate *e, size_t group);

/* How far off the mean of a gap may be, in nats: what is left of the steps, as
 * far as pairs of them were looked at, and what the log of a mean loses. */
double estimate_doubt(const struct estimate *e);

/* Runs n groups (group NULL: all), window by window, to the sums of a result
 * that is zero and to its gradient, if that is there; on the first rank to its
 * list of groups, if that is asked for. */
int estimate_sum(struct estimate *e, uint32_t iteration, size_t n,
                 const size_t *group, bool list, gsv_result *r);
int estimate_check(struct estimate *e);
int estimate_gradient(struct estimate *e, double *gradient);

/* Whether a group's value is 2 l(dt) - l(2 dt): run.c. */
bool is_extrapolated(const struct estimate *e, size_t group);

#endif
