/* SPDX-License-Identifier: MIT */
#include "learn/soap.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "base/fast.h"
#include "base/gemm.h"
#include "base/halt.h"
#include "base/lanes.h"
#include "base/memory.h"

/* The memory of the factors; iterations between two renewals; sides that are
 * longer than this are not rotated: their matrices would cost more than the
 * network. */
static const float MEMORY = 0.95f;
enum { RENEWAL = 10, LONGEST = 300, STRIP = 32 };

/* --- Memory --------------------------------------------------------------- */

static size_t side_size(size_t n)
{
    return n > 1 ? 2 * n * n : 0;
}

static struct soap_side make_side(size_t n, size_t *at)
{
    struct soap_side side = {.n = n > LONGEST ? 1 : n, .at = *at};
    *at += side_size(side.n);
    return side;
}

static size_t largest(size_t a, size_t b)
{
    return a > b ? a : b;
}

static size_t count_strips(size_t n)
{
    return (n + STRIP - 1) / STRIP;
}

/* The shapes, where everything stands, and the number of strips. */
static size_t lay_out(struct soap *s, const struct soap_matrix *shape)
{
    size_t work = 0, most = 1, inner = 1;
    for (size_t i = 0; i < s->matrices; i++) {
        struct soap_matrix *m = &s->matrix[i];
        *m = shape[i];
        m->work = work;
        m->left = make_side(m->rows, &s->size);
        m->right = make_side(m->columns, &s->size);
        work += m->rows * m->columns;
        most = largest(most, largest(m->left.n, m->right.n));
        inner = largest(inner, largest(m->rows, m->columns));
        s->strips += count_strips(m->rows) + count_strips(m->columns);
    }
    /* Aligned for vectors, whatever the thread. */
    s->room_size = (gemm_room(inner) + most * most + 15) / 16 * 16;
    return work;
}

static void cut(struct soap *s)
{
    struct soap_strip *to = s->strip;
    for (size_t i = 0; i < 2 * s->matrices; i++) {
        const struct soap_matrix *m = &s->matrix[i / 2];
        size_t n = i % 2 ? m->columns : m->rows, strips = count_strips(n);
        for (size_t k = 0; k < strips; k++)
            *to++ = (struct soap_strip){.matrix = i / 2,
                                        .right = i % 2,
                                        .first = lanes_first(k, strips, n),
                                        .end = lanes_first(k + 1, strips, n)};
    }
}

int soap_init(struct soap *s, size_t matrices, const struct soap_matrix *shape,
              size_t threads)
{
    *s = (struct soap){.matrices = matrices, .threads = lanes_threads(threads)};
    s->matrix = NEW(struct soap_matrix, matrices);
    if (!s->matrix) return GSV_NO_MEMORY;
    size_t work = lay_out(s, shape);
    s->state = NEW(float, s->size);
    s->kept = NEW(double, s->size);
    s->gradient = NEW(float, work);
    s->half = NEW(float, work);
    s->room = NEW(float, s->threads * s->room_size);
    s->strip = NEW(struct soap_strip, s->strips);
    bool made =
        s->state && s->kept && s->gradient && s->half && s->room && s->strip;
    if (made) cut(s);
    if (made) soap_reset(s);
    return made ? 0 : GSV_NO_MEMORY;
}

void soap_free(struct soap *s)
{
    MEM_FREE(s->matrix, s->state, s->kept, s->gradient, s->half, s->room,
             s->strip);
    *s = (struct soap){0};
}

/* --- Bases ---------------------------------------------------------------- */

static float *factor_of(const struct soap *s, const struct soap_side *side)
{
    return s->state + side->at;
}

static float *basis_of(const struct soap *s, const struct soap_side *side)
{
    return s->state + side->at + side->n * side->n;
}

static const struct soap_side *side_at(const struct soap *s, size_t i)
{
    const struct soap_matrix *m = &s->matrix[i / 2];
    return i % 2 ? &m->right : &m->left;
}

void soap_reset(struct soap *s)
{
    memset(s->state, 0, s->size * sizeof *s->state);
    for (size_t i = 0; i < 2 * s->matrices; i++) {
        const struct soap_side *side = side_at(s, i);
        for (size_t k = 0; side->n > 1 && k < side->n; k++)
            basis_of(s, side)[k * (side->n + 1)] = 1.0f;
    }
}

void soap_keep(struct soap *s)
{
    for (size_t i = 0; i < s->size; i++)
        s->kept[i] = (double)s->state[i];
}

void soap_take(struct soap *s)
{
    for (size_t i = 0; i < s->size; i++)
        s->state[i] = (float)s->kept[i];
}

FAST static float dot(size_t n, const float *x, const float *y)
{
    float part[8] = {0}, sum = 0.0f;
    size_t whole = n - n % 8;
    for (size_t i = 0; i < whole; i += 8)
        for (size_t j = 0; j < 8; j++)
            part[j] += x[i + j] * y[i + j];
    for (size_t i = whole; i < n; i++)
        sum += x[i] * y[i];
    for (size_t j = 0; j < 8; j++)
        sum += part[j];
    return sum;
}

/* y -= a x. */
FAST static void remove_part(size_t n, float a, const float *restrict x,
                             float *restrict y)
{
    for (size_t i = 0; i < n; i++)
        y[i] -= a * x[i];
}

/* Row k of Q becomes a unit vector that is orthogonal to the rows from `first`
 * on; where nothing is left of it, another one. */
static void orthonormalise(size_t n, float *Q, size_t first, size_t k)
{
    float *q = Q + k * n;
    for (size_t trial = 0;; trial++) {
        /* Rows of later blocks had this length before the last products. */
        float before = first ? 1.0f : dot(n, q, q);
        for (size_t j = first; j < k; j++)
            remove_part(n, dot(n, q, Q + j * n), Q + j * n, q);
        float left = dot(n, q, q);
        if (left > 0.25f * before && left > 1e-30f) {
            float scale = 1.0f / sqrtf(left);
            for (size_t i = 0; i < n; i++)
                q[i] *= scale;
            return;
        }
        /* What has cancelled has the rounding of the products in it. */
        first = 0;
        if (left > 1e-12f * before && left > 1e-30f) continue;
        /* Nothing but rounding is left. */
        memset(q, 0, n * sizeof *q);
        q[(k + trial) % n] = 1.0f;
    }
}

/* Rows to an orthonormal basis, in blocks: most of it is products. */
static void orthonormalise_all(size_t n, float *Q, float *room)
{
    float *C = room + gemm_room(n);
    for (size_t k = 0; k < n; k += STRIP) {
        size_t end = k + STRIP < n ? k + STRIP : n;
        struct matrix mine = {Q + k * n, n, false};
        for (int pass = 0; k && pass < 2; pass++) {
            for (size_t i = k; i < end; i++) { /* against overflow */
                float size = sqrtf(dot(n, Q + i * n, Q + i * n));
                for (size_t j = 0; size > 0.0f && j < n; j++)
                    Q[i * n + j] /= size;
            }
            gemm(0, end - k, n, k, 1.0f, mine, (struct matrix){Q, n, true},
                 0.0f, C, k, room);
            gemm(0, end - k, k, n, -1.0f, (struct matrix){C, k, false},
                 (struct matrix){Q, n, false}, 1.0f, Q + k * n, n, room);
        }
        for (size_t i = k; i < end; i++)
            orthonormalise(n, Q, k, i);
    }
}

static bool all_finite_floats(size_t n, const float *x)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i])) return false;
    return true;
}

/* One orthogonal iteration: the rows of Q become those of Q L, made
 * orthonormal. */
static void renew_side(struct soap *s, const struct soap_side *side,
                       float *room)
{
    size_t n = side->n;
    float *L = factor_of(s, side), *Q = basis_of(s, side);
    float *to = room + gemm_room(n);
    if (n < 2) return;
    gemm(0, n, n, n, 1.0f, (struct matrix){Q, n, false},
         (struct matrix){L, n, false}, 0.0f, to, n, room);
    if (!all_finite_floats(n * n, to)) { /* it begins anew */
        memset(L, 0, n * n * sizeof *L);
        return;
    }
    memcpy(Q, to, n * n * sizeof *Q);
    orthonormalise_all(n, Q, room);
}

/* --- Rotations ------------------------------------------------------------ */

struct rotation {
    struct soap *s;
    bool back; /* from the eigenbases; else to them */
    /* What is done with rows [first, end) of the result, which stand in
     * s->gradient. NULL for nothing. */
    void (*then)(const struct rotation *r, const struct soap_matrix *m,
                 size_t first, size_t end);
    bool learns; /* the factors are updated by what is rotated */
    struct adam *adam;
    double rate;
    const double *unit; /* (theta) */
    double *theta;
};

static float *room_of(const struct soap *s, size_t thread)
{
    return s->room + thread * s->room_size;
}

/* Rows [first, end) of L = memory L + (1 - memory) G G', or of R. */
static void update_factor(const struct soap *s, const struct soap_strip *p,
                          float *room)
{
    const struct soap_matrix *m = &s->matrix[p->matrix];
    const struct soap_side *side = p->right ? &m->right : &m->left;
    const float *G = s->gradient + m->work;
    size_t k = p->right ? m->rows : m->columns;
    if (side->n < 2) return;
    gemm(p->first, p->end, k, side->n, 1.0f - MEMORY,
         (struct matrix){G, m->columns, p->right},
         (struct matrix){G, m->columns, !p->right}, MEMORY, factor_of(s, side),
         side->n, room);
}

/* half = G V', the rows of V being the basis; or half = G V on the way back. */
static void rotate_right(void *context, size_t lane, size_t thread)
{
    const struct rotation *r = context;
    const struct soap *s = r->s;
    const struct soap_strip *p = &s->strip[lane];
    const struct soap_matrix *m = &s->matrix[p->matrix];
    float *room = room_of(s, thread);
    if (r->learns) update_factor(s, p, room);
    if (p->right) return;
    size_t n = m->columns;
    const float *G = s->gradient + m->work;
    float *half = s->half + m->work;
    if (m->right.n > 1)
        gemm(p->first, p->end, n, n, 1.0f, (struct matrix){G, n, false},
             (struct matrix){basis_of(s, &m->right), n, !r->back}, 0.0f, half,
             n, room);
    else
        memcpy(half + p->first * n, G + p->first * n,
               (p->end - p->first) * n * sizeof *half);
}

/* G = U half, or U' half on the way back; and what is done with it. */
static void rotate_left(void *context, size_t lane, size_t thread)
{
    const struct rotation *r = context;
    const struct soap *s = r->s;
    const struct soap_strip *p = &s->strip[lane];
    const struct soap_matrix *m = &s->matrix[p->matrix];
    if (p->right) return;
    size_t n = m->columns;
    const float *half = s->half + m->work;
    float *G = s->gradient + m->work;
    if (m->left.n > 1)
        gemm(p->first, p->end, m->rows, n, 1.0f,
             (struct matrix){basis_of(s, &m->left), m->rows, r->back},
             (struct matrix){half, n, false}, 0.0f, G, n, room_of(s, thread));
    else
        memcpy(G + p->first * n, half + p->first * n,
               (p->end - p->first) * n * sizeof *G);
    if (r->then) r->then(r, m, p->first, p->end);
}

static int rotate(struct rotation *r)
{
    const struct lanes_job right = {r, rotate_right, NULL};
    const struct lanes_job left = {r, rotate_left, NULL};
    int status = lanes_run(r->s->strips, r->s->threads, &right);
    return status ? status : lanes_run(r->s->strips, r->s->threads, &left);
}

/* From a vector over theta. */
static void load(struct soap *s, const double *from)
{
    for (size_t i = 0; i < s->matrices; i++) {
        const struct soap_matrix *m = &s->matrix[i];
        for (size_t j = 0; j < m->rows * m->columns; j++)
            s->gradient[m->work + j] = (float)from[m->place + j];
    }
}

/* --- A step --------------------------------------------------------------- */

static void keep_mean(const struct rotation *r, const struct soap_matrix *m,
                      size_t first, size_t end)
{
    const float *G = r->s->gradient + m->work;
    for (size_t i = first * m->columns; i < end * m->columns; i++)
        r->adam->mean[m->place + i] = (double)G[i];
}

/* Adam's direction on the rotated gradient, in its place. */
FAST static void find_direction(const struct rotation *r,
                                const struct soap_matrix *m, size_t first,
                                size_t end)
{
    float *G = r->s->gradient + m->work;
    double *mean = r->adam->mean + m->place;
    double *square = r->adam->square + m->place;
    struct adam_scale scale = adam_scale(r->adam);
    for (size_t i = first * m->columns; i < end * m->columns; i++)
        G[i] =
            (float)adam_direction(&scale, (double)G[i], &mean[i], &square[i]);
}

static void move_theta(const struct rotation *r, const struct soap_matrix *m,
                       size_t first, size_t end)
{
    const float *G = r->s->gradient + m->work;
    for (size_t i = first * m->columns; i < end * m->columns; i++)
        r->theta[m->place + i] +=
            r->rate * r->unit[m->place + i] * (double)G[i];
}

static void renew(void *context, size_t lane, size_t thread)
{
    struct soap *s = context;
    renew_side(s, side_at(s, lane), room_of(s, thread));
}

/* New bases, in which the momentum is still the same matrix. */
static int renew_all(struct soap *s, struct adam *a)
{
    struct rotation back = {.s = s, .back = true};
    struct rotation forth = {.s = s, .then = keep_mean, .adam = a};
    const struct lanes_job job = {s, renew, NULL};
    load(s, a->mean);
    int status = rotate(&back);
    if (!status) status = lanes_run(2 * s->matrices, s->threads, &job);
    return status ? status : rotate(&forth);
}

/* Often in the beginning, when the factors change fast. */
static bool is_due(double steps)
{
    size_t n = (size_t)steps - 1;
    return n && (n % RENEWAL == 0 || (n < RENEWAL && (n & (n - 1)) == 0));
}

static int take_step(struct soap *s, struct adam *a, double rate,
                     const double *unit, const double *gradient, double *theta)
{
    struct rotation forth = {
        .s = s, .then = find_direction, .learns = true, .adam = a};
    struct rotation back = {.s = s,
                            .back = true,
                            .then = move_theta,
                            .rate = rate,
                            .unit = unit,
                            .theta = theta};
    int status = is_due(a->steps) ? renew_all(s, a) : 0;
    if (status) return status;
    load(s, gradient);
    status = rotate(&forth);
    return status ? status : rotate(&back);
}

/* A step that has begun is not left: theta would be moved in part. */
int soap_step(struct soap *s, struct adam *a, double rate, const double *unit,
              const double *gradient, double *theta)
{
    struct halt nobody;
    halt_begin(&nobody, NULL, NULL);
    int status = take_step(s, a, rate, unit, gradient, theta);
    halt_end(&nobody);
    return status;
}
