/* SPDX-License-Identifier: MIT */
#include "physics/fixed.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "base/halt.h"
#include "base/linalg.h"
#include "base/memory.h"

enum { NEWTON_STEPS = 60, STARTS_1 = 1001, STARTS_2 = 20, STARTS = 400 };
static const double SAME = 1e-5, FINE = 1e-10;

/* One search: the present place, its residual, and a step to try. */
struct search {
    double *x, *f, *step, *next, *J; /* (dim) four, (dim, dim) */
    int *pivot;
};

static int search_init(struct search *q, size_t d)
{
    *q = (struct search){.x = NEW(double, 4 * d + d * d), .pivot = NEW(int, d)};
    if (!q->x || !q->pivot) return GSV_NO_MEMORY;
    q->f = q->x + d;
    q->step = q->f + d;
    q->next = q->step + d;
    q->J = q->next + d;
    return 0;
}

static void search_free(struct search *q)
{
    MEM_FREE(q->x, q->pivot);
}

static double length(const struct scene *c, const double *v)
{
    double sum = 0.0;
    for (size_t i = 0; i < c->dim; i++)
        sum += v[i] / c->axis[i].width * (v[i] / c->axis[i].width);
    return sqrt(sum);
}

static bool is_searched(const struct scene *c, const double *x)
{
    for (size_t i = 0; i < c->dim; i++) {
        const struct axis *a = &c->axis[i];
        double s = axis_s(a, x[i]);
        if (!(s >= a->search[0] && s <= a->search[1])) return false;
    }
    return true;
}

/* The Newton step, no longer than the data are wide; false where there is
 * none. */
static bool newton_step(const struct scene *c, struct search *q)
{
    for (size_t i = 0; i < c->dim; i++)
        q->step[i] = -q->f[i];
    if (!linalg_lu(c->dim, q->J, q->pivot)) return false;
    linalg_lu_solve(c->dim, 1, q->J, q->pivot, false, q->step);
    double l = length(c, q->step);
    for (size_t i = 0; l > 1.0 && i < c->dim; i++)
        q->step[i] /= l;
    return isfinite(l);
}

/* Half of the step, and so on, until the drift is smaller. */
static int descend(const struct scene *c, struct search *q, bool *better)
{
    double before = length(c, q->f);
    *better = false;
    for (double t = 1.0; !*better && t > 1e-3; t *= 0.5) {
        for (size_t i = 0; i < c->dim; i++)
            q->next[i] = q->x[i] + t * q->step[i];
        int status = scene_flow(c, 1, q->next, q->f, NULL);
        if (status) return status;
        *better = length(c, q->f) < before;
    }
    if (*better) memcpy(q->x, q->next, c->dim * sizeof *q->x);
    return 0;
}

/* From q->x; *found says whether a fixed point was reached. */
static int newton(const struct scene *c, struct search *q, bool *found)
{
    *found = false;
    int status = scene_flow(c, 1, q->x, q->f, NULL);
    for (size_t k = 0; !status && k < NEWTON_STEPS; k++) {
        bool better = false;
        status = scene_jacobian(c, q->x, q->J);
        if (status || !newton_step(c, q)) return status;
        double l = length(c, q->step);
        status = descend(c, q, &better);
        if (!status && (l < FINE || (!better && l < 1e-7))) {
            *found = all_finite(c->dim, q->x);
            return 0;
        }
        if (!better) return status;
    }
    return status;
}

int fixed_follow(const struct scene *c, double *x)
{
    struct search q;
    bool found = false;
    int status = search_init(&q, c->dim);
    if (!status) {
        memcpy(q.x, x, c->dim * sizeof *x);
        status = newton(c, &q, &found);
    }
    for (size_t i = 0; !status && i < c->dim; i++)
        x[i] = found ? q.x[i] : (double)NAN;
    search_free(&q);
    return status;
}

/* --- Starts --------------------------------------------------------------- */

/* Number k of the starts: a grid in one and two dimensions, else points of an
 * additive recurrence that fills the box evenly. */
static size_t count_starts(size_t d)
{
    return d == 1 ? STARTS_1 : d == 2 ? STARTS_2 * STARTS_2 : STARTS;
}

static double share_of(size_t d, size_t k, size_t i)
{
    if (d == 1) return (double)k / (STARTS_1 - 1);
    if (d == 2)
        return ((double)(i ? k / STARTS_2 : k % STARTS_2) + 0.5) / STARTS_2;
    double golden = 2.0;
    for (int j = 0; j < 40; j++)
        golden = pow(1.0 + golden, 1.0 / ((double)d + 1.0));
    double u = 0.5 + (double)(k + 1) * pow(golden, -(double)(i + 1));
    return u - floor(u);
}

static void start_at(const struct scene *c, size_t k, double *x)
{
    for (size_t i = 0; i < c->dim; i++) {
        const struct axis *a = &c->axis[i];
        x[i] = axis_x(a, a->search[0] + (a->search[1] - a->search[0]) *
                                            share_of(c->dim, k, i));
    }
}

static bool is_new(const struct scene *c, const double *x, const double *list,
                   size_t count, double *room)
{
    for (size_t j = 0; j < count; j++) {
        for (size_t i = 0; i < c->dim; i++)
            room[i] = x[i] - list[j * c->dim + i];
        if (length(c, room) < SAME) return false;
    }
    return true;
}

static void insert(size_t d, const double *x, double *list, size_t *count)
{
    size_t at = *count;
    for (; at && list[(at - 1) * d] > x[0]; at--)
        memcpy(list + at * d, list + (at - 1) * d, d * sizeof *list);
    memcpy(list + at * d, x, d * sizeof *list);
    ++*count;
}

/* In one dimension: between starts where the drift changes its sign. */
static int find_crossings(const struct scene *c, double *list, size_t *count)
{
    double x[STARTS_1], f[STARTS_1];
    for (size_t k = 0; k < STARTS_1; k++)
        start_at(c, k, &x[k]);
    int status = scene_flow(c, STARTS_1, x, f, NULL);
    for (size_t k = 0; !status && k + 1 < STARTS_1 && *count < MOST_FIXED;
         k++) {
        double low = x[k], high = x[k + 1], middle = low, value;
        if (f[k] == 0.0 || !(f[k] * f[k + 1] <= 0.0)) continue;
        for (int i = 0; !status && i < 60; i++) {
            middle = 0.5 * (low + high);
            status = scene_flow(c, 1, &middle, &value, NULL);
            if (value * f[k] > 0.0) low = middle;
            else high = middle;
        }
        insert(1, &middle, list, count);
    }
    return status;
}

static int find_by_newton(const struct scene *c, struct search *q, double *list,
                          size_t *count)
{
    int status = 0;
    for (size_t k = 0; !status && k < count_starts(c->dim); k++) {
        bool found = false;
        if (*count == MOST_FIXED) break;
        if (halt_asked()) return halt_status();
        start_at(c, k, q->x);
        status = newton(c, q, &found);
        if (!status && found && is_searched(c, q->x) &&
            is_new(c, q->x, list, *count, q->next))
            insert(c->dim, q->x, list, count);
    }
    return status;
}

int fixed_find(const struct scene *c, double **x, size_t *count)
{
    struct search q;
    int status = search_init(&q, c->dim);
    *count = 0;
    *x = NEW(double, MOST_FIXED * c->dim);
    if (!status && !*x) status = GSV_NO_MEMORY;
    if (!status)
        status = c->dim == 1 ? find_crossings(c, *x, count)
                             : find_by_newton(c, &q, *x, count);
    search_free(&q);
    return status;
}

int fixed_eigenvalues(const struct scene *c, const double *x, double *re,
                      double *im)
{
    size_t d = c->dim;
    double *J = NEW(double, d *d + 64 * d);
    if (!J) return GSV_NO_MEMORY;
    int status = scene_jacobian(c, x, J);
    if (!status && !linalg_eigenvalues(d, J, re, im, J + d * d))
        for (size_t i = 0; i < d; i++)
            re[i] = im[i] = (double)NAN;
    mem_free(J);
    return status;
}
