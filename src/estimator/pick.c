/* SPDX-License-Identifier: MIT */
/* Which groups need more steps: one by one, and all of a level where a drift
 * shows only in their sum. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "estimator/ladder.h"
#include "estimator/limit.h"

/* What steps may change the sum by, in all and a gap, unless half of its
 * standard error is larger. */
static const double USUAL = 0.05, USUAL_GAP = 1e-3;

/* Of a tolerance: what may be left in all, and at one level. */
static const double ENOUGH = 0.5, LITTLE = 0.125;

/* What is left of a change at the finer steps: all of it where the error falls
 * by a half with the steps, less where it falls by a fourth. */
double left_of(const gsv_gap *g, double change)
{
    bool first = g->form == GSV_FORM_ITO || g->form == GSV_FORM_EULER;
    return first ? change : 0.5 * change;
}

/* --- One by one ---------------------------------------------------------- */

static int larger_first(const void *a, const void *b)
{
    double x = ((const struct excess *)a)->value;
    double y = ((const struct excess *)b)->value;
    return (x < y) - (x > y);
}

static double usual_change(size_t n, double variance)
{
    return fmax(fmax(USUAL, USUAL_GAP * (double)n), 0.5 * sqrt(variance));
}

/* By what is beyond the error of a gap, the largest first, until the rest may
 * stay. Returns how many, to pick. */
static size_t pick_gaps(struct ladder *l, struct effort now, struct excess *e)
{
    double sum = 0.0, variance = 0.0;
    size_t n = 0, count = 0;
    for (size_t i = 0; i < l->n; i++) {
        const gsv_gap *g = &l->r->gap[i];
        double left = left_of(g, l->change[i]), error = g->error;
        variance += isnan(error) ? 0.0 : error * error;
        double value = left - (isnan(error) ? 0.0 : 0.5 * error);
        if (!(value > 0.0)) continue;
        sum += value;
        if (l->level[i] == now.level && l->rounds[i] == now.rounds)
            e[n++] = (struct excess){value, i};
    }
    double enough = l->tolerance > 0.0 ? ENOUGH * l->tolerance
                                       : usual_change(l->n, variance);
    if (sum <= enough) return 0;
    qsort(e, n, sizeof *e, larger_first);
    while (count < n && sum > 0.5 * enough) {
        sum -= e[count].value;
        l->pick[count] = e[count].at;
        count++;
    }
    return count;
}

/* --- The sum ------------------------------------------------------------- */

/* The changes of the gaps of each level. Returns the variance of all. */
static double sum_levels(const struct ladder *l,
                         struct changes sum[MOST_LEVELS + 1])
{
    double variance = 0.0;
    memset(sum, 0, (MOST_LEVELS + 1) * sizeof *sum);
    for (size_t i = 0; i < l->n; i++)
        changes_add(&sum[l->level[i]], 1.0, &l->r->gap[i], l->before[i]);
    for (unsigned k = 0; k <= MOST_LEVELS; k++)
        variance += sum[k].variance;
    return variance;
}

/* What is left of the sum; of a sample as if the steps were of first order. */
double left_in_all(const struct ladder *l)
{
    struct changes sum[MOST_LEVELS + 1];
    double left = 0.0;
    if (l->sampled) return fabs(l->r->discretisation);
    sum_levels(l, sum);
    for (unsigned k = 0; k <= MOST_LEVELS; k++)
        left += changes_left(&sum[k]);
    return left;
}

/* A drift that all gaps share is seen only in their sum. Where what is left of
 * the sum is too much after the picked gaps, all gaps of a level are picked: a
 * choice by their changes would be one by noise. */
static size_t pick_level(struct ladder *l, struct effort now, size_t count)
{
    struct changes sum[MOST_LEVELS + 1];
    double left = 0.0, variance = sum_levels(l, sum);
    if (!(l->tolerance > 0.0 && sqrt(2.0 * variance) <= l->tolerance))
        return count;
    for (size_t i = 0; i < count; i++)
        changes_add(&sum[now.level], -1.0, &l->r->gap[l->pick[i]],
                    l->before[l->pick[i]]);
    for (unsigned k = 0; k <= MOST_LEVELS; k++)
        left += changes_left(&sum[k]);
    double here = changes_left(&sum[now.level]);
    if (left <= ENOUGH * l->tolerance || here <= LITTLE * l->tolerance)
        return count;
    count = 0;
    for (size_t i = 0; i < l->n; i++)
        if (l->level[i] == now.level && l->rounds[i] == now.rounds &&
            !isnan(l->r->gap[i].discretisation))
            l->pick[count++] = i;
    return count;
}

size_t pick_groups(struct ladder *l, struct effort now, struct excess *room)
{
    return pick_level(l, now, pick_gaps(l, now, room));
}
