/* SPDX-License-Identifier: MIT */
/* Kernels of gaps: steps joined, and kept. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/fast.h"
#include "strip/strip.h"

/* Gaps of so many lengths are kept; and how far w goes, in deviations. */
enum { CACHED = 6, MOST_CELLS = 1 << 21 };
static const double REACH = 6.0;

int strip_kernels_init(struct strip_kernels *k)
{
    *k = (struct strip_kernels){.cache = NEW(struct strip_kernel, CACHED)};
    return k->cache ? 0 : GSV_NO_MEMORY;
}

void strip_kernels_forget(struct strip_kernels *k)
{
    for (size_t i = 0; i < CACHED; i++)
        k->cache[i].length = 0.0;
}

void strip_kernels_free(struct strip_kernels *k)
{
    for (size_t i = 0; k->cache && i < CACHED; i++)
        mem_free(k->cache[i].room);
    for (size_t i = 0; i < 2; i++)
        mem_free(k->work[i].room);
    mem_free(k->cache);
    *k = (struct strip_kernels){0};
}

/* --- Memory --------------------------------------------------------------- */

int strip_kernel_reserve(struct strip_kernel *k)
{
    enum { ARRAYS = MOVES + 9 };
    size_t n = strip_cells(k), all = ARRAYS * n + 2 * k->band + 1;
    if (n > MOST_CELLS)
        return fail(GSV_NUMERICAL, "the latent state goes too far within a gap "
                                   "for the lattice of the scan, by its drift "
                                   "or by noise; use --observe guided");
    if (all > k->capacity) {
        mem_free(k->room);
        k->capacity = 0;
        k->room = NEW(double, all);
        if (!k->room) return GSV_NO_MEMORY;
        k->capacity = all;
    }
    for (size_t i = 0; i < MOVES; i++)
        k->value[i] = k->room + i * n;
    for (size_t i = 0; i < 3; i++) {
        k->factor[i] = k->room + (MOVES + 3 * i) * n;
        k->mean[i] = k->factor[i] + n;
        k->sharp[i] = k->mean[i] + n;
    }
    k->three = k->room + ARRAYS * n;
    k->third = k->mean[1];
    k->fourth = k->mean[2];
    memset(k->room, 0, MOVES * n * sizeof *k->room);
    return 0;
}

/* --- Where it reaches ------------------------------------------------------
 */

/* How far points may be apart. */
static size_t band_of(const struct strip_table *t, size_t stride, size_t low,
                      size_t high, double h)
{
    double fastest = 0.0;
    for (size_t k = stride * low; k < stride * high; k++)
        fastest = fmax(fastest, fabs(t->value[LONE_F][k]));
    double far = (REACH * sqrt(h) + fastest * h) / ((double)stride * t->step);
    return far < (double)(high - low) ? (size_t)ceil(far) : high - low;
}

/* How far w goes beyond the end k of its range, upwards or downwards. */
static size_t reach_of(const struct strip_table *t, size_t k, double up,
                       double h)
{
    double free = REACH * sqrt(h), far = up * t->value[LONE_F][k] * h;
    far = free + (far > 0.0 ? fmin(far, free) : 0.0);
    return (size_t)ceil(far / ((double)t->stride * t->step));
}

/* --- Two steps of the same kind ------------------------------------------- */

/* Adds the ways that go by o1 first and by o2 then, n of them. */
FAST static void add_ways(size_t n, double *const *to, const double *const *one,
                          const double *const *two)
{
    for (size_t i = 0; i < n; i++) {
        double p = one[MOVE_P][i] * two[MOVE_P][i];
        double A = one[MOVE_A][i] + two[MOVE_A][i];
        double V = one[MOVE_V][i] + two[MOVE_V][i];
        to[MOVE_P][i] += p;
        to[MOVE_A][i] += p * A;
        to[MOVE_V][i] += p * V;
        to[MOVE_AA][i] += p * (A * A + one[MOVE_AA][i] + two[MOVE_AA][i]);
        to[MOVE_AV][i] += p * (A * V + one[MOVE_AV][i] + two[MOVE_AV][i]);
        to[MOVE_VV][i] += p * (V * V + one[MOVE_VV][i] + two[MOVE_VV][i]);
    }
}

/* From sums to means and covariances. */
static void centre(struct strip_kernel *k)
{
    double *const *v = k->value;
    for (size_t i = 0; i < strip_cells(k); i++) {
        double p = v[MOVE_P][i];
        if (!(p > 0.0)) continue;
        double A = v[MOVE_A][i] /= p, V = v[MOVE_V][i] /= p;
        v[MOVE_AA][i] = fmax(v[MOVE_AA][i] / p - A * A, 0.0);
        v[MOVE_AV][i] = v[MOVE_AV][i] / p - A * V;
        v[MOVE_VV][i] = fmax(v[MOVE_VV][i] / p - V * V, 0.0);
    }
}

/* every: only points so far apart are needed. */
static int make_double(const struct strip_kernel *k, struct strip_kernel *to,
                       size_t band, size_t every)
{
    size_t n = strip_width(k);
    *to = (struct strip_kernel){.low = k->low,
                                .high = k->high,
                                .stride = k->stride,
                                .first = k->first,
                                .room = to->room,
                                .capacity = to->capacity,
                                .band = band < n ? band : n - 1};
    int status = strip_kernel_reserve(to);
    if (status) return status;
    for (size_t o = to->band % every; o <= 2 * to->band; o += every)
        for (size_t first = 0; first <= 2 * k->band; first++) {
            /* By first - band, then by then - band, together o - to->band. */
            if (o + 2 * k->band < first + to->band) continue;
            size_t then = o + 2 * k->band - first - to->band;
            if (then > 2 * k->band) continue;
            size_t from = first < k->band ? k->band - first : 0;
            size_t end = first > k->band ? n - (first - k->band) : n;
            if (o < to->band && to->band - o > from) from = to->band - o;
            if (o > to->band && n - (o - to->band) < end)
                end = n - (o - to->band);
            if (from >= end) continue;
            double *sum[MOVES];
            const double *one[MOVES], *two[MOVES];
            for (size_t e = 0; e < MOVES; e++) {
                sum[e] = to->value[e] + o * n + from;
                one[e] = k->value[e] + first * n + from;
                two[e] = k->value[e] + then * n + from + first - k->band;
            }
            add_ways(end - from, sum, one, two);
        }
    centre(to);
    return 0;
}

/* --- Every third point ---------------------------------------------------- */

/* From the weights of the finer lattice's first points, of which skip come
 * before the first of the coarse one's, to its own. */
static void weigh_again(const struct strip_table *t,
                        const struct strip_kernel *k, struct strip_kernel *to,
                        size_t skip)
{
    double fine[STRIP_EDGE], coarse[STRIP_EDGE];
    strip_weigh(t, 2.0 * t->a, k->stride, k->first, fine);
    strip_weigh(t, 2.0 * t->a, to->stride, to->first, coarse);
    for (size_t j = to->low; j < STRIP_EDGE && j < to->high; j++) {
        size_t was = 3 * j + skip;
        double by = coarse[j] / (was < STRIP_EDGE ? fine[was] : 1.0);
        for (size_t i = to->low; i <= j + to->band && i < to->high; i++)
            if (j <= i + to->band)
                to->value[MOVE_P][strip_cell(to, i, j)] *= by;
    }
}

/* A kernel of longer steps is smooth enough for a lattice of three times the
 * stride, whose points are among those of the other. */
static int make_coarse(const struct strip_table *t,
                       const struct strip_kernel *k, struct strip_kernel *to)
{
    size_t stride = 3 * k->stride, first = t->origin % stride;
    size_t skip =
        (first - k->first) / k->stride; /* of its points before ours */
    size_t low = k->low > skip ? (k->low - skip + 2) / 3 : 0;
    *to = (struct strip_kernel){.low = low,
                                .high = (k->high - 1 - skip) / 3 + 1,
                                .stride = stride,
                                .first = first,
                                .room = to->room,
                                .capacity = to->capacity,
                                .band = (k->band + 2) / 3};
    int status = strip_kernel_reserve(to);
    if (status) return status;
    for (size_t o = 0; o <= 2 * to->band; o++) {
        if (k->band + 3 * o < 3 * to->band) continue;
        size_t from = k->band + 3 * o - 3 * to->band;
        if (from > 2 * k->band) continue;
        from *= strip_width(k);
        for (size_t i = to->low; i < to->high; i++)
            for (size_t e = 0; e < MOVES; e++)
                to->value[e][o * strip_width(to) + i - to->low] =
                    (e == MOVE_P ? 3.0 : 1.0) *
                    k->value[e][from + 3 * i + skip - k->low];
    }
    weigh_again(t, k, to, skip);
    return 0;
}

/* --- A gap ---------------------------------------------------------------- */

/* A kernel changes places with the work. */
static void exchange(struct strip_kernel *k, struct strip_kernel *work)
{
    struct strip_kernel other = *k;
    *k = *work;
    *work = other;
}

/* The same points, and those between and before, of a shorter stride. */
static void begin(const struct strip_table *t, struct strip_kernel *from,
                  const struct strip_kernel *k, size_t stride)
{
    from->stride = stride;
    from->first = t->origin % stride;
    from->low = k->low ? (strip_place(k, k->low) - from->first) / stride : 0;
    from->high = (strip_place(k, k->high - 1) - from->first) / stride + 1;
}

/* The stride after `done` of the steps: it grows as steps get longer. */
static size_t stride_after(const struct strip_table *t, size_t stride,
                           double apart, double h, size_t done, bool last)
{
    double most = apart * sqrt((double)done) * strip_spread(t, h);
    while (stride < t->stride &&
           (last || 1.5 * (double)stride * t->step <= most))
        stride *= 3;
    return stride;
}

static int build(struct strip_kernels *s, struct strip_kernel *k,
                 struct strip_table *t, double length, size_t steps,
                 double apart)
{
    size_t side = 0;
    struct strip_kernel *from = &s->work[side], *to;
    double h = length / (double)steps;
    strip_table_reach(t, strip_place(k, k->low),
                      strip_place(k, k->high - 1) + 2);
    k->length = 0.0;
    begin(t, from, k, steps > 1 ? 2 : k->stride);
    int status = strip_kernel_step(
        t, from, band_of(t, from->stride, from->low, from->high, h), h);
    for (size_t done = 2; !status && done <= steps; done *= 2) {
        h = length * (double)done / (double)steps;
        size_t stride =
            stride_after(t, from->stride, apart, h, done, done == steps);
        to = &s->work[side = 1 - side];
        status = make_double(from, to,
                             band_of(t, from->stride, from->low, from->high, h),
                             stride / from->stride);
        from = to;
        while (!status && from->stride < stride) {
            to = &s->work[side = 1 - side];
            status = make_coarse(t, from, to);
            from = to;
        }
    }
    if (status) return status;
    exchange(k, from);
    strip_kernel_laws(k, (t->a != 0.0) != s->other);
    k->length = length;
    return 0;
}

static bool fits(const struct strip_kernel *k, double length, size_t first,
                 size_t low, size_t high)
{
    return k->length > 0.0 && fabs(k->length - length) < 1e-9 * length &&
           k->first == first && k->low <= low && high <= k->high;
}

int strip_kernel_of(struct strip_kernels *s, struct strip_table *t,
                    double length, size_t steps, double apart, size_t low,
                    size_t high, const struct strip_kernel **found)
{
    enum { MORE = 24 };
    struct strip_kernel *k = NULL;
    size_t stride = t->stride, first = t->origin % stride;
    size_t most = (STRIP_POINTS - 4) / stride;
    strip_table_reach(t, stride * low, stride * high + 1);
    size_t below = reach_of(t, stride * low, -1.0, length);
    size_t above = reach_of(t, stride * high, 1.0, length);
    size_t from = low > below ? low - below : 0;
    size_t end = high + above < most ? high + above : most;
    for (size_t i = 0; !k && i < CACHED; i++) {
        struct strip_kernel *c = &s->cache[i];
        if (fits(c, length, first, from, end)) {
            *found = c;
            return 0;
        }
        if (fabs(c->length - length) < 1e-9 * length && c->first == first)
            k = c;
    }
    if (!k) k = &s->cache[s->next++ % CACHED];
    k->stride = stride;
    k->first = first;
    k->low = from > MORE ? from - MORE : 0;
    k->high = end + MORE < most ? end + MORE : most;
    *found = k;
    return build(s, k, t, length, steps, apart);
}
