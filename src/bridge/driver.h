/* SPDX-License-Identifier: MIT */
/* The driver: plans for exactly observed series or for pairs of points, and
 * runs over their groups. driver.c reads from top to bottom in the order
 *
 *     gaps -> contexts -> choose -> walk -> weigh -> tally -> sum. */
#ifndef BRIDGE_DRIVER_H
#define BRIDGE_DRIVER_H

#include "bridge/sum.h"

/* The plan is fixed by estimate_init(); the run changes with every run. It must
 * not be moved or copied. */
struct estimate {
    struct plan plan;
    struct run run;
};

/* Which way a model and its options get. */
const struct weigher *weigher_choose(const gsv_model *m, const gsv_options *o);

/* Over all groups of the task's series, or over at most task->most at once:
 * then the first of them are selected. After it, and whenever the values of the
 * model change: run_set_values(). estimate_free() also after a failure. */
int estimate_init(struct estimate *e, const struct weigher *w,
                  const struct task *t);
void estimate_free(struct estimate *e);

/* Over pairs of any points, which run_select_pairs() selects: at most so many
 * at once, and no further apart in time than this. */
int estimate_init_pairs(struct estimate *e, const struct task *t, size_t pairs,
                        double longest);

/* Runs all selected groups with the random numbers of this iteration. Then all
 * ranks have the moments and the gradient, and, where plan->is_shared is set,
 * what was found about every group. Fails where a rank has failed. */
int run_groups(struct run *r, uint32_t iteration);

/* The same for any number of groups (group NULL: all), in windows of as many as
 * the plan has memory for, one window at a time. The callback gets the number
 * of the first group of each window. Fails where a group is not finite. */
typedef int window_callback(void *user, struct run *r, size_t first);
int run_windows(struct run *r, uint32_t iteration, size_t n,
                const size_t *group, window_callback *callback, void *user);

/* The number of groups of a window where `most` are selected at once; 0: all.
 */
size_t window_groups(const gsv_options *o, size_t most);

/* For the callback: the gradient of the first window is set, later ones are
 * added. */
int window_gradient(struct run *r, size_t first, double *gradient);

/* What each rank has made of its own groups, gap (groups), to the first rank.
 */
int collect_groups(struct run *r, gsv_gap *gap);

/* Gaps [first, first + count) with their ends, references and bases, to
 * s->context. */
void prepare_gaps(const struct run *r, struct scratch *s, size_t first,
                  size_t count);

#endif
