/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "base/constant.h"
#include "base/error.h"
#include "base/fast.h"
#include "base/vector_math.h"
#include "bridge/barrier.h"
#include "strip/strip.h"

/* Gaps of so many lengths are kept; and how far w goes, in deviations. */
enum { CACHED = 6 };
static const double REACH = 6.5;

static const double PI_SQUARED_4 = 39.478417604357434475;

/* Beyond this square densities are nothing: vector loops slow down where exp()
 * is 0. */
static const double FARTHEST = 1400.0;

/* Of the variance of V / V among bridges, an eighth that is small. */
static const double LITTLE = 5e-4;

/* The series in z stays above the last one. */
static const double MOST_FOURTH = 0.1, MOST_THIRD = 0.1, LEAST_BEND = 0.1;

/* How far the weight of a bridge moves its mean at most, in deviations. */
static const double MOST_PULL = 1.0;

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

static size_t width(const struct strip_kernel *k)
{
    return k->high - k->low;
}

static size_t cells(const struct strip_kernel *k)
{
    return (2 * k->band + 1) * width(k);
}

static int reserve(struct strip_kernel *k)
{
    enum { ARRAYS = MOVES + 9 };
    size_t n = cells(k);
    if (n > k->capacity) {
        mem_free(k->room);
        k->capacity = 0;
        k->room = NEW(double, ARRAYS *n);
        if (!k->room) return GSV_NO_MEMORY;
        k->capacity = n;
    }
    for (size_t i = 0; i < MOVES; i++)
        k->value[i] = k->room + i * n;
    for (size_t i = 0; i < 3; i++) {
        k->factor[i] = k->room + (MOVES + 3 * i) * n;
        k->mean[i] = k->factor[i] + n;
        k->sharp[i] = k->mean[i] + n;
    }
    k->third = k->mean[1];
    k->fourth = k->mean[2];
    memset(k->room, 0, MOVES * n * sizeof *k->room);
    return 0;
}

/* --- One step ------------------------------------------------------------- */

static double second(const double *g, size_t k, double step)
{
    return (g[k + 1] - 2.0 * g[k] + g[k - 1]) / (step * step);
}

static double slope(const double *g, size_t k, double step)
{
    return (g[k + 1] - g[k - 1]) / (2.0 * step);
}

/* The mean of g over a Brownian bridge from i over m to j, of length h. */
static double mean_over(const double *g, size_t i, size_t m, size_t j,
                        double step, double h)
{
    double middle = g[m] + 0.125 * h * second(g, m, step);
    return (g[i] + 4.0 * middle + g[j]) / 6.0;
}

/* log p(w_j | w_i), points of the table. */
static double log_density(const struct strip_table *t, size_t i, size_t j,
                          double h)
{
    size_t m = (i + j) / 2, at = m ? m : 1;
    double far = strip_w(t, j) - strip_w(t, i), edge = 0.0;
    double phi = mean_over(t->value[LONE_PHI], i, at, j, t->step, h);
    if (t->a != 0.0) {
        double x = strip_w(t, i) - t->end, y = strip_w(t, j) - t->end;
        double square = 0.25 * (t->a * t->a - t->a) * h;
        edge = t->a * log(y / x) + barrier(t->a, x, y, h) -
               square * (1.0 / (x * x) + 1.0 / (y * y));
    }
    return -0.5 * far * far / h - 0.5 * (LOG_TWO_PI + log(h)) + t->Phi[j] -
           t->Phi[i] - h * phi + edge;
}

double strip_alias(double step, double h)
{
    double sum = 0.0, term = 1.0, space = 2.0 * step;
    for (int k = 1; term > 1e-17 && k < 100; k++) {
        term = exp(-0.5 * PI_SQUARED_4 * k * k * h / (space * space));
        sum += 2.0 * term;
    }
    return sum;
}

/* The mean over time of a bridge is off the chord's by Z, of variance h/12;
 * with the weight exp(-h phi' Z) its mean is -h phi' h/12, as long as phi is
 * straight over so many deviations. */
static void set_cell(const struct strip_table *t, struct strip_kernel *k,
                     size_t cell, size_t i, size_t j, double h, double mass)
{
    size_t m = (i + j) / 2, at = m ? m : 1;
    const double *D = t->value[LONE_D], *V = t->value[LONE_V];
    double by_phi = slope(t->value[LONE_PHI], at, t->step), spread = h / 12.0;
    double by_D = h * slope(D, at, t->step), by_V = h * slope(V, at, t->step);
    double most = MOST_PULL * sqrt(spread), Z = -h * by_phi * spread;
    Z = fmax(fmin(Z, most), -most);
    double log_p = log_density(t, i, j, h) + 0.5 * Z * Z / spread;
    double p = mass * exp(log_p);
    if (j < 2) p *= t->weight[j];
    k->value[MOVE_P][cell] = isfinite(p) ? p : 0.0;
    k->value[MOVE_A][cell] = h * mean_over(D, i, at, j, t->step, h) +
                             t->Psi[j] - t->Psi[i] + by_D * Z;
    k->value[MOVE_V][cell] =
        fmax(h * mean_over(V, i, at, j, t->step, h) + by_V * Z, 0.0);
    k->value[MOVE_AA][cell] = spread * by_D * by_D;
    k->value[MOVE_AV][cell] = spread * by_D * by_V;
    k->value[MOVE_VV][cell] = spread * by_V * by_V;
}

/* How far points may be apart. */
static size_t band_of(const struct strip_table *t, size_t low, size_t high,
                      double h)
{
    double fastest = 0.0;
    for (size_t k = 2 * low; k < 2 * high; k++)
        fastest = fmax(fastest, fabs(t->value[LONE_F][k]));
    if (!isfinite(fastest)) fastest = 0.0;
    double far = REACH * sqrt(h) + fmin(fastest * h, REACH * sqrt(h));
    return (size_t)ceil(0.5 * far / t->step);
}

static int make_step(const struct strip_table *t, struct strip_kernel *k,
                     double h)
{
    k->band = band_of(t, k->low, k->high, h);
    if (k->band >= width(k)) k->band = width(k) - 1;
    if (reserve(k)) return GSV_NO_MEMORY;
    double mass = 2.0 * t->step / (1.0 + strip_alias(t->step, h));
    for (size_t o = 0; o <= 2 * k->band; o++)
        for (size_t i = k->low; i < k->high; i++) {
            size_t j = i + o;
            if (j < k->low + k->band || j >= k->high + k->band) continue;
            set_cell(t, k, o * width(k) + i - k->low, 2 * i + k->parity,
                     2 * (j - k->band) + k->parity, h, mass);
        }
    return 0;
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
    for (size_t i = 0; i < cells(k); i++) {
        double p = v[MOVE_P][i];
        if (!(p > 0.0)) continue;
        double A = v[MOVE_A][i] /= p, V = v[MOVE_V][i] /= p;
        v[MOVE_AA][i] = fmax(v[MOVE_AA][i] / p - A * A, 0.0);
        v[MOVE_AV][i] = v[MOVE_AV][i] / p - A * V;
        v[MOVE_VV][i] = fmax(v[MOVE_VV][i] / p - V * V, 0.0);
    }
}

static int make_double(const struct strip_kernel *k, struct strip_kernel *to,
                       size_t band)
{
    size_t n = width(k);
    *to = (struct strip_kernel){.low = k->low,
                                .high = k->high,
                                .parity = k->parity,
                                .room = to->room,
                                .capacity = to->capacity,
                                .band = band < n ? band : n - 1};
    if (reserve(to)) return GSV_NO_MEMORY;
    for (size_t o = 0; o <= 2 * to->band; o++)
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

/* --- A gap ---------------------------------------------------------------- */

/* A normal law with the mean A and the variance V. */
static void set_law(struct strip_kernel *k, size_t law, size_t i, double p,
                    double A, double V)
{
    double sharp = 1.0 / sqrt(V);
    bool is = p > 0.0 && isfinite(sharp);
    k->mean[law][i] = A;
    k->sharp[law][i] = is ? sharp : 0.0;
    k->factor[law][i] = is ? p * sharp * exp(-0.5 * LOG_TWO_PI) : 0.0;
}

/* By d/dV = d^2/dA^2 / 2 of a normal density. */
static void make_one(struct strip_kernel *k, size_t i)
{
    double *const *v = k->value;
    set_law(k, 0, i, v[MOVE_P][i], v[MOVE_A][i], v[MOVE_V][i] + v[MOVE_AA][i]);
    double sharp = k->sharp[0][i], square = sharp * sharp;
    double third = 0.5 * v[MOVE_AV][i] * sharp * square;
    k->third[i] = fmax(fmin(third, MOST_THIRD), -MOST_THIRD);
    k->fourth[i] = fmin(0.125 * v[MOVE_VV][i] * square * square, MOST_FOURTH);
}

/* Gauss's points for log V; A goes along with V as far as it does so. */
static void make_three(struct strip_kernel *k, size_t i)
{
    static const double AT[3] = {-1.7320508075688772935, 0.0,
                                 1.7320508075688772935};
    static const double MASS[3] = {1.0 / 6.0, 2.0 / 3.0, 1.0 / 6.0};
    double p = k->value[MOVE_P][i], V = k->value[MOVE_V][i];
    double VV = k->value[MOVE_VV][i], AV = k->value[MOVE_AV][i];
    double spread = V > 0.0 ? log1p(VV / (V * V)) : 0.0, sum = 0.0, at[3];
    double along = VV > 0.0 ? AV / VV : 0.0;
    double rest = fmax(k->value[MOVE_AA][i] - along * AV, 0.0);
    for (size_t law = 0; law < 3; law++) {
        at[law] = exp(AT[law] * sqrt(spread));
        sum += MASS[law] * at[law];
    }
    for (size_t law = 0; law < 3; law++) {
        double there = V * at[law] / sum;
        set_law(k, law, i, p * MASS[law],
                k->value[MOVE_A][i] + along * (there - V), there + rest);
    }
}

static void make_laws(struct strip_kernel *k)
{
    for (size_t i = 0; i < cells(k); i++) {
        if (k->laws == 1) make_one(k, i);
        else make_three(k, i);
    }
}

static int build(struct strip_kernels *s, struct strip_kernel *k,
                 struct strip_table *t, double length, size_t steps)
{
    strip_table_reach(t, 2 * k->low, 2 * k->high + 1);
    struct strip_kernel *from = steps > 1 ? &s->work[0] : k;
    from->low = k->low;
    from->high = k->high;
    from->parity = k->parity;
    k->length = 0.0;
    if (make_step(t, from, length / (double)steps)) return GSV_NO_MEMORY;
    for (size_t done = 2, side = 1; done <= steps; done *= 2, side = 1 - side) {
        double h = length * (double)done / (double)steps;
        struct strip_kernel *to = done == steps ? k : &s->work[side];
        if (make_double(from, to, band_of(t, k->low, k->high, h)))
            return GSV_NO_MEMORY;
        from = to;
    }
    k->laws = length / 96.0 * t->bent < LITTLE ? 1 : 3;
    make_laws(k);
    k->length = length;
    return 0;
}

static bool fits(const struct strip_kernel *k, double length, size_t parity,
                 size_t low, size_t high)
{
    return k->length > 0.0 && fabs(k->length - length) < 1e-9 * length &&
           k->parity == parity && k->low <= low && high <= k->high;
}

const struct strip_kernel *strip_kernel_of(struct strip_kernels *s,
                                           struct strip_table *t, double length,
                                           size_t steps, size_t parity,
                                           size_t low, size_t high)
{
    enum { MORE = 24, MOST = STRIP_POINTS / 2 - 2 };
    struct strip_kernel *k = NULL;
    strip_table_reach(t, 2 * low, 2 * high + 1);
    size_t band = band_of(t, low, high, length);
    size_t from = low > band ? low - band : 0;
    size_t end = high + band < MOST ? high + band : MOST;
    for (size_t i = 0; !k && i < CACHED; i++) {
        struct strip_kernel *c = &s->cache[i];
        if (fits(c, length, parity, from, end)) return c;
        if (fabs(c->length - length) < 1e-9 * length && c->parity == parity)
            k = c;
    }
    if (!k) k = &s->cache[s->next++ % CACHED];
    k->parity = parity;
    k->low = from > MORE ? from - MORE : 0;
    k->high = end + MORE < MOST ? end + MORE : MOST;
    return build(s, k, t, length, steps) ? NULL : k;
}

/* Of one offset: n points, from i to j, by one law and its series. */
struct offset {
    size_t n;
    double r;
    const double *pull, *pull_to, *from;
    const double *mean, *sharp, *factor, *third, *fourth;
    double *next;
};

FAST static void move_bent(const struct offset *o)
{
    double *restrict next = o->next, r = o->r;
    for (size_t i = 0; i < o->n; i++) {
        double z = (r - o->pull[i] - o->pull_to[i] - o->mean[i]) * o->sharp[i];
        double q = z * z;
        double bend = 1.0 + o->third[i] * z * (q - 3.0) +
                      o->fourth[i] * ((q - 6.0) * q + 3.0);
        bend = bend > LEAST_BEND ? bend : LEAST_BEND;
        q = q < FARTHEST ? q : FARTHEST;
        next[i] += o->from[i] * o->factor[i] * bend * exp(-0.5 * q);
    }
}

FAST static void move_plain(const struct offset *o)
{
    double *restrict next = o->next, r = o->r;
    for (size_t i = 0; i < o->n; i++) {
        double z = (r - o->pull[i] - o->pull_to[i] - o->mean[i]) * o->sharp[i];
        double q = z * z < FARTHEST ? z * z : FARTHEST;
        next[i] += o->from[i] * o->factor[i] * exp(-0.5 * q);
    }
}

void strip_kernel_apply(const struct strip_kernel *k, size_t low, size_t high,
                        double r, const double *pull, const double *from,
                        double *next)
{
    for (size_t o = 0; o <= 2 * k->band; o++) {
        size_t begin = low, end = high;
        /* j = i + o - band stays within the kernel's points. */
        if (begin + o < k->low + k->band) begin = k->low + k->band - o;
        if (end + o > k->high + k->band) end = k->high + k->band - o;
        if (begin >= end) continue;
        size_t cell = o * width(k) + begin - k->low, to = begin + o - k->band;
        struct offset work = {.n = end - begin,
                              .r = r,
                              .pull = pull + begin,
                              .pull_to = pull + to,
                              .from = from + begin,
                              .third = k->third + cell,
                              .fourth = k->fourth + cell,
                              .next = next + to};
        for (size_t law = 0; law < k->laws; law++) {
            work.mean = k->mean[law] + cell;
            work.sharp = k->sharp[law] + cell;
            work.factor = k->factor[law] + cell;
            if (k->laws == 1) move_bent(&work);
            else move_plain(&work);
        }
    }
}
