/* SPDX-License-Identifier: MIT */
#include "panel/mode.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/linalg.h"

enum { N = EFFECTS_MOST };

/* Differences are by this share of the deviation that the curvature says; a
 * value of particles scatters, and needs longer ones. The search ends where a
 * step is so many deviations long, and the curvature as well known. */
struct manner {
    double by, still, known;
    int most;
};
static const struct manner SMOOTH = {0.1, 1e-7, 1e-4, 30};
static const struct manner ROUGH = {0.5, 0.02, 0.1, 8};

/* Steps and deviations in units of the law of the effects at most; curvatures
 * in units of the last ones at least. */
static const double LONGEST = 2.0, WIDEST = 2.0, FLATTEST = 0.1;

/* A step in deviations that is made without a look at F. */
static const double SHORT = 0.1;

/* A place of an earlier search that is further off is of no use. */
static const double FAR = 8.0;

/* The search: at z, with steps along the columns of R. */
struct climb {
    struct subject *s;
    const struct effect_law *law;
    const struct manner *manner;
    size_t n;
    double z[N], R[N * N];
    double top;                /* F(z) */
    double slope[N], A[N * N]; /* of F along R, and minus its curvature */
    int status;
};

static double height(struct climb *c, const double *z)
{
    double u[N], value = -INFINITY, squares = 0.0;
    for (size_t i = 0; i < c->n; i++)
        squares += z[i] * z[i];
    effect_draw(c->law, z, u);
    if (!c->status) c->status = subject_at(c->s, u, &value, NULL);
    return value - 0.5 * squares;
}

/* z + a R_i + b R_j */
static double height_beside(struct climb *c, size_t i, double a, size_t j,
                            double b)
{
    double z[N];
    for (size_t k = 0; k < c->n; k++)
        z[k] = c->z[k] + a * c->R[k * c->n + i] + b * c->R[k * c->n + j];
    return height(c, z);
}

/* Slopes and curvatures; false where a neighbour is not finite. */
static bool look_around(struct climb *c)
{
    size_t n = c->n;
    double up[N], down[N], h = c->manner->by;
    bool finite = true;
    for (size_t i = 0; i < n; i++) {
        up[i] = height_beside(c, i, h, i, 0.0);
        down[i] = height_beside(c, i, -h, i, 0.0);
        c->slope[i] = (up[i] - down[i]) / (2.0 * h);
        c->A[i * (n + 1)] = (2.0 * c->top - up[i] - down[i]) / (h * h);
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++) {
            double both =
                height_beside(c, i, h, j, h) + height_beside(c, i, -h, j, -h);
            c->A[i * n + j] = c->A[j * n + i] =
                (up[i] + down[i] + up[j] + down[j] - both - 2.0 * c->top) /
                (2.0 * h * h);
        }
    for (size_t i = 0; i < n * n; i++)
        finite = finite && isfinite(c->A[i]);
    return finite;
}

/* With A = V' diag(a) V, and small a raised: the Newton step A^-1 slope along R
 * to step; R becomes R V' diag(a)^-1/2, where curvatures are 1. Returns how far
 * they were from it. */
static double turn(struct climb *c, double *step)
{
    size_t n = c->n;
    double a[N], room[64 * N], R[N * N] = {0}, off = 0.0;
    linalg_eigen(n, c->A, a, room);
    memset(step, 0, n * sizeof *step);
    for (size_t e = 0; e < n; e++) {
        const double *v = c->A + e * n;
        double along = 0.0, norm = 0.0;
        off = fmax(off, fabs(a[e] - 1.0));
        double raised = fmax(a[e], FLATTEST);
        for (size_t i = 0; i < n; i++)
            along += v[i] * c->slope[i];
        for (size_t k = 0; k < n; k++) {
            double x = 0.0;
            for (size_t i = 0; i < n; i++)
                x += c->R[k * n + i] * v[i];
            step[k] += x * along / raised;
            R[k * n + e] = x / sqrt(raised);
            norm += R[k * n + e] * R[k * n + e];
        }
        double cut = fmin(1.0, WIDEST / sqrt(norm));
        for (size_t k = 0; k < n; k++)
            R[k * n + e] *= cut;
    }
    memcpy(c->R, R, n * n * sizeof *R);
    return off;
}

static double length_of(size_t n, const double *x)
{
    double squares = 0.0;
    for (size_t i = 0; i < n; i++)
        squares += x[i] * x[i];
    return sqrt(squares);
}

/* Half as far, until it is no loss. Where differences are 0 F is not quite at
 * its top, so short steps are made without a look at it. */
static void walk(struct climb *c, const double *step, bool is_short)
{
    double share = fmin(1.0, LONGEST / length_of(c->n, step));
    for (int halvings = 0; halvings < 12; halvings++, share *= 0.5) {
        double z[N];
        for (size_t i = 0; i < c->n; i++)
            z[i] = c->z[i] + share * step[i];
        double there = height(c, z);
        bool higher = there >= c->top || (is_short && isfinite(there));
        if (!higher) continue;
        memcpy(c->z, z, c->n * sizeof *z);
        c->top = there;
        return;
    }
}

static void unit(struct climb *c, double size)
{
    memset(c->R, 0, c->n * c->n * sizeof *c->R);
    for (size_t i = 0; i < c->n; i++)
        c->R[i * (c->n + 1)] = size;
}

/* A first point where F is finite: the mean, or one around it. */
static int start(struct climb *c)
{
    memset(c->z, 0, sizeof c->z);
    c->top = height(c, c->z);
    for (size_t k = 0; !c->status && !isfinite(c->top) && k < 4 * c->n; k++) {
        memset(c->z, 0, sizeof c->z);
        c->z[k / 4] = (k % 2 ? -1.0 : 1.0) * (k % 4 < 2 ? 1.0 : 2.0);
        c->top = height(c, c->z);
    }
    unit(c, 1.0);
    if (c->status || isfinite(c->top)) return c->status;
    return fail(GSV_NUMERICAL,
                "the log-likelihood of series '%s' is not finite where its "
                "random effects are at their mean, nor around it: check the "
                "model's formulas, its parameters and the data",
                c->s->series.label[0]);
}

/* The place of an earlier search in the units of the law; false: too far. */
static bool restart(struct climb *c, const struct peak *p)
{
    size_t n = c->n;
    effect_density(c->law, p->center, c->z);
    memcpy(c->R, p->root, n * n * sizeof *c->R);
    linalg_lower_solve(n, n, c->law->root, false, c->R);
    if (!(length_of(n, c->z) < FAR) || !all_finite(n * n, c->R)) return false;
    double size = length_of(n * n, c->R);
    if (!(size > 1e-6) || size > FAR) return false;
    c->top = height(c, c->z);
    return isfinite(c->top);
}

static void iterate(struct climb *c)
{
    for (int i = 0; i < c->manner->most && !c->status; i++) {
        double step[N], before[N * N];
        memcpy(before, c->R, sizeof before);
        if (!look_around(c)) {
            double size = length_of(c->n * c->n, before);
            if (!(size > 1e-6)) return;
            for (size_t k = 0; k < c->n * c->n; k++)
                c->R[k] = 0.25 * before[k];
            continue;
        }
        double off = turn(c, step), size = length_of(c->n * c->n, c->R);
        double moved = length_of(c->n, step) / size;
        walk(c, step, moved < SHORT);
        if (off < c->manner->known && moved < c->manner->still) return;
    }
}

/* The lower root of R R', in units of the effects. */
static int keep(const struct climb *c, struct peak *p)
{
    size_t n = c->n;
    double R[N * N], C[N * N];
    effect_draw(c->law, c->z, p->center);
    linalg_product(n, n, n, c->law->root, false, c->R, false, R);
    linalg_product(n, n, n, R, false, R, true, C);
    if (!linalg_cholesky(n, C))
        return fail(GSV_NUMERICAL,
                    "the random effects of series '%s' have no finite "
                    "curvature at their mode",
                    c->s->series.label[0]);
    memcpy(p->root, C, n * n * sizeof *C);
    p->log_root = 0.0;
    for (size_t i = 0; i < n; i++)
        p->log_root += log(C[i * (n + 1)]);
    return 0;
}

int mode_find(struct subject *s, const struct effect_law *law, bool warm,
              struct peak *p)
{
    struct climb c = {.s = s,
                      .law = law,
                      .manner = s->inner->rough ? &ROUGH : &SMOOTH,
                      .n = law->n};
    int status = warm && restart(&c, p) ? c.status : start(&c);
    if (!status) iterate(&c);
    if (!status) status = c.status;
    return status ? status : keep(&c, p);
}
