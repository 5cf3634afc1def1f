/* SPDX-License-Identifier: MIT */
/* With K_i = sum over j of l_j q_j q_j', l falling, column j of R_i is
 * sqrt(l_j) q_j. Its derivative need only satisfy dR R' + R dR' = dK, and this
 * one does so whichever of the last columns are left out, but for the part of
 * dK that lies in these on both sides:
 *
 *     dr_j = (q_j c_jj / 2 + sum over k > j of q_k c_kj) / sqrt(l_j),
 *     c_kj = q_k' dK q_j.
 *
 * Derivatives of the eigenvectors themselves would divide by l_j - l_k. */
#include "gp/gp_root.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/linalg.h"

static const double FLAT = 1e-10;

/* --- One axis ----------------------------------------------------------- */

/* Room for one axis of n nodes. */
struct axis {
    double *Q;           /* (n, n) eigenvectors, a row each, rising */
    double *dK;          /* (n, n)                                  */
    double *value;       /* (n)                                     */
    double *product, *C; /* (n, n)                                  */
    double *room;        /* (64, n)                                 */
    struct arena arena;
};

static int axis_init(struct axis *a, size_t n)
{
    const struct arena_part parts[] = {{&a->Q, n * n}, {&a->dK, n * n},
                                       {&a->value, n}, {&a->product, n * n},
                                       {&a->C, n * n}, {&a->room, 64 * n}};
    return arena_lay(&a->arena, sizeof parts / sizeof *parts, parts);
}

static size_t axis_rank(const struct axis *a, size_t n)
{
    size_t k = 0;
    while (k < n && a->value[n - 1 - k] > FLAT * a->value[n - 1])
        k++;
    return k;
}

static void axis_slope(const struct axis *a, size_t n, size_t k, double *dR)
{
    linalg_product(n, n, n, a->Q, false, a->dK, false, a->product);
    linalg_product(n, n, n, a->product, false, a->Q, true, a->C);
    for (size_t j = 0; j < k; j++) {
        size_t at = n - 1 - j;
        double scale = 1.0 / sqrt(a->value[at]);
        for (size_t x = 0; x < n; x++) {
            double sum = 0.5 * a->Q[at * n + x] * a->C[at * n + at];
            for (size_t i = 0; i < at; i++)
                sum += a->Q[i * n + x] * a->C[i * n + at];
            dR[x * k + j] = scale * sum;
        }
    }
}

/* R_i and its derivative, both with room for (n, n); value gets the kept
 * eigenvalues, falling, as shares of the largest. */
static int fill_axis(struct gp_root *r, size_t i, double *value)
{
    const struct gp_prior *p = &r->prior;
    size_t n = p->nodes[i];
    struct axis a = {0};
    int status = axis_init(&a, n);
    if (status) return status;
    kernel_matrix(p->kernel, n, p->step[i], p->length[i], a.Q, a.dK);
    if (!linalg_eigen(n, a.Q, a.value, a.room))
        status = fail(GSV_NUMERICAL,
                      "the kernel %s has no eigenvectors on %zu nodes %g apart "
                      "with length %g",
                      kernel_name(p->kernel), n, p->step[i], p->length[i]);
    size_t k = status ? 0 : axis_rank(&a, n);
    double *R = arena_take(&r->arena, n * n);
    r->slope[i] = arena_take(&r->arena, n * n);
    for (size_t j = 0; j < k; j++) {
        size_t at = n - 1 - j;
        value[j] = a.value[at] / a.value[n - 1];
        for (size_t x = 0; x < n; x++)
            R[x * k + j] = sqrt(a.value[at]) * a.Q[at * n + x];
    }
    axis_slope(&a, n, k, r->slope[i]);
    r->R.factor[i] = R;
    r->R.rows[i] = n;
    r->R.columns[i] = k;
    r->lost = status ? 0.0 : r->lost * a.value[n - 1] / (double)n;
    arena_free(&a.arena);
    return status;
}

/* --- Which products are kept -------------------------------------------- */

/* The eigenvalue of a place as a share of the largest. */
static double share(const struct gp_root *r, double *const *value, size_t place)
{
    double all = 1.0;
    for (size_t s = 0; s < r->R.axes; s++) {
        size_t i = r->R.axes - 1 - s;
        all *= value[i][place % r->R.columns[i]];
        place /= r->R.columns[i];
    }
    return all;
}

/* r->lost comes in as the largest eigenvalue over the sum of all. */
static int choose(struct gp_root *r, double *const *value)
{
    size_t all = kron_columns(&r->R);
    double carried = 0.0;
    r->place = NEW(size_t, all);
    r->row = NEW(size_t, all);
    if (!r->place || !r->row) return GSV_NO_MEMORY;
    for (size_t place = 0; place < all; place++) {
        double l = share(r, value, place);
        r->row[place] = l > FLAT ? r->kept : GP_DROPPED;
        if (!(l > FLAT)) continue;
        r->place[r->kept++] = place;
        carried += l;
    }
    r->lost = fmax(0.0, 1.0 - r->lost * carried);
    r->rank = r->kept + r->prior.features;
    return 0;
}

/* --- Making ------------------------------------------------------------- */

static bool is_scale(double x)
{
    return x > 0.0 && isfinite(x);
}

static int check(const struct gp_prior *p)
{
    if (!p->axes || p->axes > GP_AXES)
        return fail(GSV_BAD_INPUT,
                    "a Gaussian process has 1 to %d axes, not %zu", GP_AXES,
                    p->axes);
    for (size_t i = 0; i < p->axes; i++)
        if (!p->nodes[i] || !is_scale(p->step[i]) || !is_scale(p->length[i]))
            return fail(GSV_BAD_INPUT,
                        "axis %zu of a Gaussian process has %zu nodes %g apart "
                        "and the length %g: all must be above 0",
                        i + 1, p->nodes[i], p->step[i], p->length[i]);
    if (!is_scale(p->amplitude) || (p->features && !is_scale(p->feature_sd)))
        return fail(GSV_BAD_INPUT,
                    "a Gaussian process has the amplitude %g, and features "
                    "with standard deviation %g: both must be above 0",
                    p->amplitude, p->feature_sd);
    return 0;
}

int gp_root_init(struct gp_root *r, const struct gp_prior *prior)
{
    *r = (struct gp_root){.prior = *prior, .nodes = 1, .lost = 1.0};
    int status = check(prior);
    if (status) return status;
    size_t bytes = 0;
    for (size_t i = 0; i < prior->axes; i++) {
        size_t n = prior->nodes[i];
        r->nodes *= n;
        bytes += 2 * arena_size(n * n) + arena_size(n);
    }
    r->numbers = r->nodes + prior->features;
    r->R.axes = prior->axes;
    status = arena_init(&r->arena, bytes);
    double *value[GP_AXES] = {NULL};
    for (size_t i = 0; !status && i < prior->axes; i++) {
        value[i] = arena_take(&r->arena, prior->nodes[i]);
        status = fill_axis(r, i, value[i]);
    }
    return status ? status : choose(r, value);
}

void gp_root_free(struct gp_root *r)
{
    mem_free(r->place);
    mem_free(r->row);
    arena_free(&r->arena);
    *r = (struct gp_root){0};
}

/* --- Products ----------------------------------------------------------- */

size_t gp_root_room(const struct gp_root *r, size_t m)
{
    return kron_columns(&r->R) * m + kron_room(&r->R, m);
}

void gp_root_product(const struct gp_root *r, size_t m, const double *u,
                     double *w, double *room)
{
    size_t all = kron_columns(&r->R);
    memset(room, 0, all * m * sizeof *room);
    for (size_t j = 0; j < r->kept; j++)
        for (size_t k = 0; k < m; k++)
            room[r->place[j] * m + k] = r->prior.amplitude * u[j * m + k];
    kron_product(&r->R, false, m, room, w, room + all * m);
    for (size_t k = 0; k < r->prior.features * m; k++)
        w[r->nodes * m + k] = r->prior.feature_sd * u[r->kept * m + k];
}

static void adjoint(const struct gp_root *r, const struct kron *R, size_t m,
                    const double *w, double *u, double *room)
{
    size_t all = kron_columns(R);
    kron_product(R, true, m, w, room, room + all * m);
    for (size_t j = 0; j < r->kept; j++)
        for (size_t k = 0; k < m; k++)
            u[j * m + k] = r->prior.amplitude * room[r->place[j] * m + k];
}

void gp_root_adjoint(const struct gp_root *r, size_t m, const double *w,
                     double *u, double *room)
{
    adjoint(r, &r->R, m, w, u, room);
    for (size_t k = 0; k < r->prior.features * m; k++)
        u[r->kept * m + k] = r->prior.feature_sd * w[r->nodes * m + k];
}

void gp_root_adjoint_slope(const struct gp_root *r, size_t axis, size_t m,
                           const double *w, double *u, double *room)
{
    struct kron R = r->R;
    R.factor[axis] = r->slope[axis];
    adjoint(r, &R, m, w, u, room);
    memset(u + r->kept * m, 0, r->prior.features * m * sizeof *u);
}

/* |column j of an axis' R|^2. */
static double column_square(const struct kron *R, size_t axis, size_t j)
{
    double sum = 0.0;
    size_t k = R->columns[axis];
    for (size_t x = 0; x < R->rows[axis]; x++)
        sum += R->factor[axis][x * k + j] * R->factor[axis][x * k + j];
    return sum;
}

void gp_root_whiten(const struct gp_root *r, const double *w, double *u,
                    double *room)
{
    double a = r->prior.amplitude, p = r->prior.feature_sd;
    gp_root_adjoint(r, 1, w, u, room);
    for (size_t j = 0; j < r->kept; j++) {
        double square = a * a;
        size_t left = r->place[j];
        for (size_t i = r->R.axes; i-- > 0;) {
            square *= column_square(&r->R, i, left % r->R.columns[i]);
            left /= r->R.columns[i];
        }
        u[j] /= square;
    }
    for (size_t f = r->kept; f < r->rank; f++)
        u[f] /= p * p;
}
