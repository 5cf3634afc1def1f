/* SPDX-License-Identifier: MIT */
#include "learn/subset.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/linalg.h"
#include "base/memory.h"

/* --- Making --------------------------------------------------------------- */

int subset_init(struct subset *p, size_t n, const double *J, const double *a,
                const size_t *unit, struct cost cost)
{
    *p = (struct subset){.n = n,
                         .J = J,
                         .a = a,
                         .unit = unit,
                         .units = cost.units,
                         .cost = cost,
                         .c = NEW(double, n),
                         .change = NEW(double, cost.units),
                         .V = NEW(double, n *n),
                         .room = NEW(double, 3 * n * (n + 1)),
                         .place = NEW(size_t, n),
                         .other = NEW(size_t, n)};
    bool made = p->c && p->change && p->V && p->room && p->place && p->other;
    return made ? 0 : GSV_NO_MEMORY;
}

void subset_free(struct subset *p)
{
    MEM_FREE(p->c, p->change, p->V, p->room, p->place, p->other);
}

/* --- Tests ---------------------------------------------------------------- */

static size_t members(const struct subset *p, size_t unit, size_t *to)
{
    size_t n = 0;
    for (size_t i = 0; i < p->n; i++)
        if (p->unit[i] == unit) to[n++] = i;
    return n;
}

/* r' A^-1 r / 2 of a symmetric A (m, m), which is lost; infinite where A has no
 * inverse. */
static double half_form(size_t m, double *A, double *r)
{
    double sum = 0.0;
    for (size_t i = 0; i < m; i++)
        if (!(A[i * m + i] > 0.0)) return INFINITY;
    if (!linalg_cholesky(m, A)) return INFINITY;
    linalg_lower_solve(m, 1, A, false, r);
    for (size_t i = 0; i < m; i++)
        sum += r[i] * r[i];
    return 0.5 * sum;
}

/* The inverse of J_SS to V, and c; false where there is none. A number whose
 * share of its own information is nearly gone cannot be told from others. */
static bool solve(struct subset *p, size_t k)
{
    static const double SEPARATE = 1e-9;
    size_t n = p->n;
    for (size_t i = 0; i < k; i++)
        for (size_t j = 0; j < k; j++)
            p->V[i * k + j] = p->J[p->place[i] * n + p->place[j]];
    if (!linalg_cholesky(k, p->V)) return false;
    for (size_t i = 0; i < k; i++) {
        double own = p->J[p->place[i] * n + p->place[i]];
        double left = p->V[i * k + i] * p->V[i * k + i];
        if (!(left > SEPARATE * own)) return false;
    }
    linalg_cholesky_inverse(k, p->V);
    memset(p->c, 0, n * sizeof *p->c);
    for (size_t i = 0; i < k; i++)
        for (size_t j = 0; j < k; j++)
            p->c[p->place[i]] += p->V[i * k + j] * p->a[p->place[j]];
    return true;
}

/* Wald: c_u' (V_uu)^-1 c_u / 2. */
static double wald_test(struct subset *p, size_t unit, size_t k)
{
    size_t m = 0;
    double *A = p->room, *r = A + p->n * p->n;
    for (size_t i = 0; i < k; i++)
        if (p->unit[p->place[i]] == unit) p->other[m++] = i;
    for (size_t i = 0; i < m; i++) {
        r[i] = p->c[p->place[p->other[i]]];
        for (size_t j = 0; j < m; j++)
            A[i * m + j] = p->V[p->other[i] * k + p->other[j]];
    }
    return half_form(m, A, r);
}

/* Score: r_u' (J_uu - J_uS V J_Su)^-1 r_u / 2, r = a - J c. Nothing where the
 * unit says nothing that the set does not. */
static double score_test(struct subset *p, size_t unit, size_t k)
{
    static const double SEPARATE = 1e-9;
    size_t n = p->n, m = members(p, unit, p->other);
    double *A = p->room, *r = A + n * n, *B = r + n, *VB = B + n * n;
    for (size_t i = 0; i < m; i++) {
        size_t u = p->other[i];
        r[i] = p->a[u];
        for (size_t j = 0; j < n; j++)
            r[i] -= p->J[u * n + j] * p->c[j];
        for (size_t j = 0; j < k; j++)
            B[j * m + i] = p->J[u * n + p->place[j]];
    }
    if (k) linalg_product(k, k, m, p->V, false, B, false, VB);
    for (size_t i = 0; i < m; i++)
        for (size_t l = 0; l < m; l++) {
            double left = p->J[p->other[i] * n + p->other[l]];
            double own = left;
            for (size_t j = 0; j < k; j++)
                left -= B[j * m + i] * VB[j * m + l];
            if (i == l && !(left > SEPARATE * own)) return 0.0;
            A[i * m + l] = left;
        }
    double gain = half_form(m, A, r);
    return isfinite(gain) ? gain : 0.0;
}

double subset_test(struct subset *p, const bool *set)
{
    size_t k = 0;
    double sum = 0.0;
    for (size_t i = 0; i < p->n; i++)
        if (set[p->unit[i]]) p->place[k++] = i;
    memset(p->c, 0, p->n * sizeof *p->c);
    if (k && !solve(p, k)) return -INFINITY;
    for (size_t i = 0; i < p->n; i++)
        sum += 0.5 * p->a[i] * p->c[i];
    for (size_t u = 0; u < p->units; u++)
        p->change[u] = set[u] ? wald_test(p, u, k) : score_test(p, u, k);
    return sum;
}

/* --- The best sets -------------------------------------------------------- */

int shortlist_init(struct shortlist *s, size_t units, size_t most)
{
    *s = (struct shortlist){.units = units,
                            .most = most,
                            .set = NEW(bool, units *most),
                            .value = NEW(double, most)};
    return s->set && s->value ? 0 : GSV_NO_MEMORY;
}

void shortlist_free(struct shortlist *s)
{
    MEM_FREE(s->set, s->value);
}

static void offer(struct shortlist *s, const bool *set, double value)
{
    if (!s || !isfinite(value)) return;
    size_t bytes = s->units * sizeof *set;
    if (s->count == s->most && !(value > s->value[s->count - 1])) return;
    for (size_t i = 0; i < s->count; i++)
        if (!memcmp(s->set + i * s->units, set, bytes)) return;
    size_t at = s->count < s->most ? s->count++ : s->count - 1;
    for (; at && s->value[at - 1] < value; at--) {
        s->value[at] = s->value[at - 1];
        memcpy(s->set + at * s->units, s->set + (at - 1) * s->units, bytes);
    }
    s->value[at] = value;
    memcpy(s->set + at * s->units, set, bytes);
}

/* --- The climb ------------------------------------------------------------ */

/* What the value changes by with one unit in or out, from the last test. */
static double move_value(const struct subset *p, const bool *set,
                         struct cost_sum now, size_t u)
{
    const struct cost *c = &p->cost;
    double more = cost_of(c, cost_move(c, now, u, !set[u])) - cost_of(c, now);
    return (set[u] ? -p->change[u] : p->change[u]) - more;
}

/* The best single move from the set, of this value, but for one unit: all are
 * offered. False where none is better than `least`. */
static bool best_move(struct subset *p, bool *set, double value, double least,
                      size_t except, struct shortlist *s, size_t *unit,
                      double *gain)
{
    struct cost_sum now = cost_add(&p->cost, set);
    *gain = least;
    *unit = p->units;
    for (size_t u = 0; u < p->units; u++) {
        double by = move_value(p, set, now, u);
        set[u] = !set[u];
        offer(s, set, value + by);
        set[u] = !set[u];
        if (u == except || !(by > *gain)) continue;
        *gain = by;
        *unit = u;
    }
    return *unit < p->units;
}

/* Work that exchanges may take. */
static const double MOST_WORK = 1e9;

/* One unit out and another one in, where that is better. */
static bool exchange(struct subset *p, bool *set, double *value,
                     struct shortlist *s)
{
    size_t best_out = p->units, best_in = p->units;
    double k = (double)cost_add(&p->cost, set).units;
    double best = *value + 1e-9, n = (double)p->n;
    if (k * k * k * n > MOST_WORK) return false;
    for (size_t out = 0; out < p->units; out++) {
        size_t in;
        double gain;
        if (!set[out]) continue;
        set[out] = false;
        double l = subset_test(p, set), there = l - cost_set(&p->cost, set);
        bool found = isfinite(l) &&
                     best_move(p, set, there, -INFINITY, out, s, &in, &gain);
        set[out] = true;
        if (!found || !(there + gain > best)) continue;
        best = there + gain;
        best_out = out;
        best_in = in;
    }
    if (best_out == p->units) return false;
    set[best_out] = false;
    set[best_in] = !set[best_in];
    return true;
}

double subset_climb(struct subset *p, bool *set, struct shortlist *s)
{
    double value = -INFINITY;
    for (size_t moves = 0; moves < 4 * p->units + 4; moves++) {
        size_t unit;
        double gain, l = subset_test(p, set);
        value = l - cost_set(&p->cost, set);
        if (!isfinite(l)) return -INFINITY;
        offer(s, set, value);
        if (best_move(p, set, value, 1e-9, p->units, s, &unit, &gain))
            set[unit] ^= true;
        else if (!exchange(p, set, &value, s)) break;
    }
    return value;
}
