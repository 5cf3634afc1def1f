/* SPDX-License-Identifier: MIT */
#include "physics/plane.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/halt.h"
#include "base/memory.h"
#include "physics/plane_parts.h"

/* --- Cells and faces ------------------------------------------------------ */

size_t face_cell(const struct plane *q, size_t k, size_t *axis)
{
    size_t N = q->N, first = (N - 1) * N;
    *axis = k >= first;
    if (k < first) return k;
    k -= first;
    return k / (N - 1) * N + k % (N - 1);
}

size_t face_next(const struct plane *q, size_t cell, size_t axis)
{
    return cell + (axis ? 1 : q->N);
}

static void place_cells(struct plane *q)
{
    size_t n = q->N * q->N;
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < 2; i++) {
            size_t at = i ? k % q->N : k / q->N;
            q->s[i * n + k] =
                q->scene->axis[i].end[0] + q->h[i] * ((double)at + 0.5);
        }
    for (size_t k = 0; k < q->faces; k++) {
        size_t axis, cell = face_cell(q, k, &axis);
        for (size_t i = 0; i < 2; i++)
            q->face_s[i * q->faces + k] =
                q->s[i * n + cell] + (i == axis ? 0.5 * q->h[i] : 0.0);
    }
}

static int evaluate(struct plane *q)
{
    size_t n = q->N * q->N, m = q->faces;
    double *room = NEW(double, 2 * (n + m));
    if (!room) return GSV_NO_MEMORY;
    int status = scene_local(q->scene, n, q->s, q->x, room, q->a);
    if (!status)
        status =
            scene_local(q->scene, m, q->face_s, room, q->face_f, q->face_a);
    mem_free(room);
    for (size_t k = 0; !status && k < 2 * m; k++)
        if (!isfinite(q->face_f[k])) status = GSV_NUMERICAL;
    for (size_t k = 0; !status && k < 4 * n; k++)
        if (!isfinite(q->a[k])) status = GSV_NUMERICAL;
    if (status == GSV_NUMERICAL)
        fail(GSV_NUMERICAL, "drift or noise is not finite on the grid; give "
                            "--range where the model is defined");
    return status;
}

/* --- The matrix ----------------------------------------------------------- */

static double bernoulli(double z)
{
    if (fabs(z) < 1e-5) return 1.0 - 0.5 * z;
    return z > 700.0 ? 0.0 : z / expm1(z);
}

/* By how much the drift falls from the middle of the cell before a face to that
 * of the cell after it, where it does: h max(0, -f'). */
static double compression(const struct plane *q, size_t k)
{
    size_t axis, cell = face_cell(q, k, &axis), N = q->N;
    size_t at = axis ? cell % N : cell / N, step = axis ? 1 : N;
    bool low = at > 0, high = at + 2 < N;
    const double *f = q->face_f + axis * q->faces + k;
    double fall = (low ? f[-(ptrdiff_t)step] : *f) - (high ? f[step] : *f);
    return fmax(0.0, low && high ? 0.5 * fall : fall);
}

/* The current through a face is in * p - out * p'. Without noise it is that of
 * the mean of both, and where the drift brings paths together, of the side that
 * they come from, the more the longer the cells: where no paths are, means
 * allow densities that change their sign from cell to cell. */
void face_rates(const struct plane *q, size_t k, double *in, double *out)
{
    size_t axis, n = q->N * q->N, cell = face_cell(q, k, &axis);
    size_t next = face_next(q, cell, axis), entry = 3 * axis;
    double f = q->face_f[axis * q->faces + k], h = q->h[axis];
    double a = q->face_a[entry * q->faces + k];
    if (!(a > 0.0)) {
        double fall = compression(q, k), side = fabs(f);
        if (fall < side) side = fall * fall / side;
        *in = 0.5 * (side + f);
        *out = 0.5 * (side - f);
        return;
    }
    double z = 2.0 * f * h / a;
    *in = bernoulli(-z) * q->a[entry * n + cell] / (2.0 * h);
    *out = bernoulli(z) * q->a[entry * n + next] / (2.0 * h);
}

/* Cells on both sides along the other axis, as far as there are any. */
static void neighbours(const struct plane *q, size_t cell, size_t axis,
                       size_t *down, size_t *up, double *distance)
{
    size_t N = q->N, at = axis ? cell / N : cell % N, step = axis ? N : 1;
    *down = at ? cell - step : cell;
    *up = at + 1 < N ? cell + step : cell;
    *distance = q->h[1 - axis] * (double)((at > 0) + (at + 1 < N));
}

/* The part of a face's current by shared noise: - 1/2 d(a_12 p) along the
 * other axis, the mean of both sides. */
size_t face_cross(const struct plane *q, size_t k, size_t cell[4],
                  double weight[4])
{
    size_t axis, n = q->N * q->N, here = face_cell(q, k, &axis);
    size_t side[2] = {here, face_next(q, here, axis)}, count = 0;
    for (int i = 0; i < 2; i++) {
        size_t down, up;
        double distance;
        neighbours(q, side[i], axis, &down, &up, &distance);
        cell[count] = up;
        weight[count++] = -0.25 * q->a[n + up] / distance;
        cell[count] = down;
        weight[count++] = 0.25 * q->a[n + down] / distance;
    }
    return count;
}

static bool has_cross(const struct plane *q)
{
    size_t n = q->N * q->N;
    for (size_t k = 0; k < n; k++)
        if (q->a[n + k] != 0.0) return true;
    return false;
}

/* A current `weight` p[from] out of `cell` into `next`; transposed for the
 * generator. */
static void add_current(struct band *L, bool transposed, size_t cell,
                        size_t next, size_t from, double weight)
{
    if (transposed) {
        *band_at(L, from, cell) -= weight;
        *band_at(L, from, next) += weight;
    } else {
        *band_at(L, cell, from) -= weight;
        *band_at(L, next, from) += weight;
    }
}

void plane_matrix(const struct plane *q, bool transposed, struct band *L)
{
    bool cross = has_cross(q);
    band_clear(L);
    for (size_t k = 0; k < q->faces; k++) {
        size_t axis, cell = face_cell(q, k, &axis), other[4];
        size_t next = face_next(q, cell, axis);
        double in, out, weight[4], h = q->h[axis];
        face_rates(q, k, &in, &out);
        add_current(L, transposed, cell, next, cell, in / h);
        add_current(L, transposed, cell, next, next, -out / h);
        if (!cross) continue;
        size_t count = face_cross(q, k, other, weight);
        for (size_t i = 0; i < count; i++)
            add_current(L, transposed, cell, next, other[i], weight[i] / h);
    }
}

/* --- The stationary law --------------------------------------------------- */

/* Where the pinned value should not be tiny: the cell of the data's middle. */
static size_t middle_cell(const struct plane *q)
{
    size_t at[2];
    for (size_t i = 0; i < 2; i++) {
        const struct axis *a = &q->scene->axis[i];
        double s = axis_s(a, 0.5 * (a->data[0] + a->data[1]));
        double u = (s - a->end[0]) / q->h[i];
        at[i] = u >= 0.0 && u < (double)q->N ? (size_t)u : q->N / 2;
    }
    return at[0] * q->N + at[1];
}

static int solve_law(struct plane *q)
{
    size_t n = q->N * q->N;
    plane_matrix(q, false, &q->L);
    q->pin = middle_cell(q);
    band_pin(&q->L, q->pin);
    int status = band_factor(&q->L);
    if (status) return status;
    q->p[q->pin] = 1.0;
    band_solve(&q->L, q->p);
    double sum = 0.0;
    for (size_t k = 0; k < n; k++)
        sum += q->p[k] = fmax(q->p[k], 0.0);
    if (!(sum > 0.0) || !isfinite(sum))
        return fail(GSV_NUMERICAL, "the stationary density was not found on "
                                   "the grid; give --range");
    for (size_t k = 0; k < n; k++)
        q->p[k] /= sum;
    return 0;
}

int plane_init(struct plane *q, const struct scene *c, size_t N)
{
    size_t n = N * N, m = 2 * N * (N - 1);
    *q = (struct plane){.scene = c, .N = N, .faces = m};
    for (size_t i = 0; i < 2; i++)
        q->h[i] = (c->axis[i].end[1] - c->axis[i].end[0]) / (double)N;
    q->s = NEW(double, 9 * n + 8 * m);
    if (!q->s) return GSV_NO_MEMORY;
    q->x = q->s + 2 * n;
    q->a = q->x + 2 * n;
    q->p = q->a + 4 * n;
    q->face_s = q->p + n;
    q->face_f = q->face_s + 2 * m;
    q->face_a = q->face_f + 2 * m;
    place_cells(q);
    int status = evaluate(q);
    if (!status) status = band_init(&q->L, n, N + 1);
    return status ? status : solve_law(q);
}

void plane_free(struct plane *q)
{
    mem_free(q->s);
    band_free(&q->L);
    *q = (struct plane){0};
}

/* --- The range ------------------------------------------------------------ */

enum { ROUGH = 24, ROUNDS = 40 };
static const double NEGLIGIBLE = 1e-7, FARTHEST = 20.0;

/* The first and last rows of cells along an axis that have more than a
 * negligible density of s. */
static void find_rows(const struct plane *q, size_t axis, size_t row[2])
{
    size_t N = q->N;
    double top = 0.0, most[ROUGH] = {0};
    for (size_t k = 0; k < N * N; k++) {
        size_t at = axis ? k % N : k / N;
        most[at] = fmax(most[at], q->p[k]);
        top = fmax(top, q->p[k]);
    }
    row[0] = 0;
    row[1] = N - 1;
    while (row[0] + 1 < N && most[row[0]] < NEGLIGIBLE * top)
        row[0]++;
    while (row[1] > row[0] + 1 && most[row[1]] < NEGLIGIBLE * top)
        row[1]--;
}

/* Moves the ends of an axis outwards where the density is not negligible, and
 * inwards only if neither end is such. */
enum move { MOVE_NONE, MOVE_IN, MOVE_OUT };

static enum move move_ends(const struct plane *q, struct axis *a, size_t i)
{
    size_t row[2], last = q->N - 1;
    double h = q->h[i], low = a->end[0], w = a->end[1] - a->end[0];
    if (a->given) return MOVE_NONE;
    find_rows(q, i, row);
    if (!row[0] || row[1] == last) {
        if (!row[0]) a->end[0] -= 0.15 * w;
        if (row[1] == last) a->end[1] += 0.15 * w;
        return MOVE_OUT;
    }
    a->end[0] = low + h * ((double)row[0] - 1.0);
    a->end[1] = low + h * ((double)row[1] + 2.0);
    return a->end[1] - a->end[0] < 0.6 * w ? MOVE_IN : MOVE_NONE;
}

int plane_range(struct scene *c, bool *stationary)
{
    int status = 0;
    bool out = true;
    for (size_t i = 0; i < 2; i++) {
        struct axis *a = &c->axis[i];
        if (a->given) continue;
        double w = 1e-3 * (a->data[1] - a->data[0]);
        a->end[0] = axis_s(a, fmax(a->data[0], a->low + w));
        a->end[1] = axis_s(a, fmin(a->data[1], a->high - w));
    }
    bool again = true;
    for (size_t k = 0; !status && again && k < ROUNDS; k++) {
        struct plane q;
        status = plane_init(&q, c, ROUGH);
        out = again = false;
        for (size_t i = 0; !status && i < 2; i++) {
            enum move move = move_ends(&q, &c->axis[i], i);
            out = out || move == MOVE_OUT;
            again = again || move != MOVE_NONE;
            if (fabs(c->axis[i].end[0]) > FARTHEST ||
                fabs(c->axis[i].end[1]) > FARTHEST)
                k = ROUNDS;
        }
        plane_free(&q);
    }
    *stationary = !out && !status;
    if (status == GSV_NUMERICAL) status = 0;
    return status;
}
