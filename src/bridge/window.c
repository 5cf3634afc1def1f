/* SPDX-License-Identifier: MIT */
/* Sums over any number of groups with the memory of some: windows of groups
 * follow each other, each with lanes of its own. */
#include "bridge/result.h"
#include "data/series.h"

/* Enough to keep hundreds of ranks busy where a gap is one step. */
enum { WINDOW = 1 << 18 };

/* With joint groups are tracks, which are as long as they are. */
size_t estimate_window(const gsv_options *o, size_t most)
{
    size_t window = o->window ? o->window : WINDOW;
    if (o->joint) return most;
    return !most || most > window ? window : most;
}

/* The groups from first on, of the list or of all. */
static int take(struct estimate *e, size_t n, size_t first, const size_t *group)
{
    if (e->most == e->every_group) return 0;
    if (group) return estimate_choose(e, n, group + first);
    if (!e->window) e->window = NEW(size_t, e->most);
    if (!e->window) return GSV_NO_MEMORY;
    for (size_t i = 0; i < n; i++)
        e->window[i] = first + i;
    return estimate_choose(e, n, e->window);
}

int window_gradient(struct estimate *e, size_t first, double *gradient)
{
    size_t n = e->model->spec->parameters;
    if (!first) return estimate_gradient(e, gradient);
    if (!e->window_bar) e->window_bar = NEW(double, n);
    if (!e->window_bar) return GSV_NO_MEMORY;
    int status = estimate_gradient(e, e->window_bar);
    for (size_t i = 0; !status && i < n; i++)
        gradient[i] += e->window_bar[i];
    return status;
}

int estimate_windows(struct estimate *e, uint32_t iteration, size_t n,
                     const size_t *group, window_look *look, void *user)
{
    int status = 0;
    if (!group) n = e->every_group;
    for (size_t first = 0; !status && first < n; first += e->most) {
        size_t left = n - first;
        status = take(e, left < e->most ? left : e->most, first, group);
        if (!status) status = estimate_run(e, iteration);
        if (!status) status = estimate_check(e);
        if (!status) status = look(user, e, first);
        if (e->most < n) series_rest(e->gaps.series);
    }
    return status;
}
