/* SPDX-License-Identifier: MIT */
/* Power series over a time s so short that they end soon, then doublings. With
 * E = Phi - I, g = int e^{A u} b, w = int e^{A u} slope, and p the part of the
 * growing drift,
 *
 *     E(2s) = 2 E + E E,       Q(2s) = Q + Phi Q Phi',
 *     g(2s) = g + Phi g,       w(2s) = w + Phi w,
 *     p(2s) = p + Phi p + s w.
 *
 * E instead of Phi: slow parts of a stiff A keep all of their digits. Q is only
 * ever added to, so that nothing cancels where it is singular. */
#include "base/transition.h"

#include <math.h>
#include <string.h>

#include "base/small.h"

/* |A| s <= SHORT: the terms of Q fall like (2 |A| s)^n / n!, and those below
 * TINY are left out. */
static const double SHORT = 0.25, TINY = 1e-19;
enum { MOST_DOUBLINGS = 96, MOST_TERMS = 40 };

/* Noise may come to a state through others: the number of the first term that
 * is not 0 is up to 2 (d - 1), and the terms that matter are counted from
 * there. Longer ways than this are left to the others' precision. */
enum { MOST_WAY = 12 };

/* The numbers of a level, or of a term. */
struct level {
    double *E, *Q, *g, *w, *p;
};

static size_t level_size(size_t d)
{
    return 2 * d * d + 3 * d;
}

size_t transition_scratch(size_t d)
{
    return (MOST_DOUBLINGS + MOST_TERMS + 4) * level_size(d);
}

static struct level level_at(size_t d, double *scratch, size_t n)
{
    double *E = scratch + n * level_size(d), *Q = E + d * d, *g = Q + d * d;
    return (struct level){E, Q, g, g + d, g + 2 * d};
}

/* How often s is doubled, and the terms of the series. */
struct plan {
    int doublings, terms;
    double s;
};

static bool make_plan(size_t d, double h, const double *A, struct plan *p)
{
    double size = small_norm(d, A) * h, term = 1.0;
    *p = (struct plan){0};
    if (!(size < ldexp(SHORT, MOST_DOUBLINGS))) return false;
    while (size > ldexp(SHORT, p->doublings))
        p->doublings++;
    p->s = ldexp(h, -p->doublings);
    size = ldexp(size, -p->doublings);
    for (p->terms = 1; term > TINY; p->terms++)
        term *= 2.0 * size / p->terms;
    p->terms += d <= MOST_WAY / 2 ? (int)(2 * (d - 1)) : MOST_WAY;
    return true;
}

/* --- The series ----------------------------------------------------------- */

/* Term 0 of each: I is left out of E. */
static void first_term(size_t d, double s, const struct coefficients *in,
                       const struct level *t)
{
    for (size_t e = 0; e < d * d; e++) {
        t->E[e] = e % (d + 1) == 0;
        t->Q[e] = s * in->q[e];
    }
    for (size_t i = 0; i < d; i++) {
        t->g[i] = s * in->b[i];
        t->w[i] = s * in->slope[i];
        t->p[i] = 0.5 * s * s * in->slope[i];
    }
}

/* Term n from term n - 1. */
INLINE void next_term(size_t d, double s, int n, const double *A,
                      const struct level *from, const struct level *to,
                      double *room)
{
    size_t dd = d * d;
    small_product(d, A, false, from->E, false, to->E);
    for (size_t e = 0; e < dd; e++)
        to->E[e] *= s / n;
    small_product(d, A, false, from->Q, false, room);
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++)
            to->Q[i * d + j] =
                (room[i * d + j] + room[j * d + i]) * s / (n + 1);
    memset(to->g, 0, 3 * d * sizeof *to->g);
    small_add(d, s / (n + 1), A, false, from->g, to->g);
    small_add(d, s / (n + 1), A, false, from->w, to->w);
    small_add(d, s / (n + 2), A, false, from->p, to->p);
}

/* All terms, kept from scratch on, and their sum. */
INLINE void series(size_t d, const struct plan *p,
                   const struct coefficients *in, double *term,
                   const struct level *sum, double *room)
{
    size_t n = level_size(d);
    struct level t = level_at(d, term, 0);
    first_term(d, p->s, in, &t);
    memcpy(sum->E, t.E, n * sizeof *sum->E);
    memset(sum->E, 0, d * d * sizeof *sum->E);
    for (int k = 1; k < p->terms; k++) {
        struct level next = level_at(d, term, (size_t)k);
        next_term(d, p->s, k, in->A, &t, &next, room);
        for (size_t e = 0; e < n; e++)
            sum->E[e] += next.E[e];
        t = next;
    }
}

/* From term n's bars to those of term n - 1, which are added to, and A's. */
INLINE void next_term_vjp(size_t d, double s, int n, const double *A,
                          const struct level *from, const struct level *bar,
                          const struct level *from_bar, double *A_bar,
                          double *room)
{
    size_t dd = d * d;
    double q = s / (n + 1), p = s / (n + 2);
    small_product(d, bar->E, false, from->E, true, room);
    for (size_t e = 0; e < dd; e++)
        A_bar[e] += s / n * room[e];
    small_product(d, A, true, bar->E, false, room);
    for (size_t e = 0; e < dd; e++)
        from_bar->E[e] += s / n * room[e];
    small_product(d, bar->Q, false, from->Q, false, room);
    for (size_t e = 0; e < dd; e++)
        A_bar[e] += 2.0 * q * room[e];
    small_product(d, A, true, bar->Q, false, room);
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++)
            from_bar->Q[i * d + j] += q * (room[i * d + j] + room[j * d + i]);
    small_outer(d, q, bar->g, from->g, A_bar);
    small_outer(d, q, bar->w, from->w, A_bar);
    small_outer(d, p, bar->p, from->p, A_bar);
    small_add(d, q, A, true, bar->g, from_bar->g);
    small_add(d, q, A, true, bar->w, from_bar->w);
    small_add(d, p, A, true, bar->p, from_bar->p);
}

/* sum_bar are the bars of the sum; here and next are scratch. */
INLINE void series_vjp(size_t d, const struct plan *p,
                       const struct coefficients *in, double *term,
                       const struct level *sum_bar,
                       const struct coefficients *in_bar, struct level here,
                       struct level next, double *room)
{
    size_t size = level_size(d) * sizeof *here.E;
    memset(in_bar->A, 0, d * d * sizeof *in_bar->A);
    memcpy(here.E, sum_bar->E, size);
    for (int k = p->terms - 1; k > 0; k--) {
        struct level from = level_at(d, term, (size_t)k - 1);
        memcpy(next.E, sum_bar->E, size);
        next_term_vjp(d, p->s, k, in->A, &from, &here, &next, in_bar->A, room);
        struct level swap = here;
        here = next;
        next = swap;
    }
    for (size_t e = 0; e < d * d; e++)
        in_bar->q[e] = p->s * here.Q[e];
    for (size_t i = 0; i < d; i++) {
        in_bar->b[i] = p->s * here.g[i];
        in_bar->slope[i] = p->s * here.w[i] + 0.5 * p->s * p->s * here.p[i];
    }
}

/* --- Doublings ------------------------------------------------------------ */

/* y = x + Phi x = 2 x + E x. */
INLINE void twice(size_t d, const double *E, const double *x, double *y)
{
    for (size_t i = 0; i < d; i++)
        y[i] = 2.0 * x[i];
    small_add(d, 1.0, E, false, x, y);
}

INLINE void doubled(size_t d, double s, const struct level *from,
                    const struct level *to, double *room)
{
    size_t dd = d * d;
    double *PQ = room, *EPQ = room + dd;
    small_product(d, from->E, false, from->Q, false, PQ);
    for (size_t e = 0; e < dd; e++)
        PQ[e] += from->Q[e];
    small_product(d, PQ, false, from->E, true, EPQ);
    for (size_t e = 0; e < dd; e++)
        to->Q[e] = from->Q[e] + PQ[e] + EPQ[e];
    small_symmetric(d, to->Q);
    twice(d, from->E, from->g, to->g);
    twice(d, from->E, from->w, to->w);
    twice(d, from->E, from->p, to->p);
    for (size_t i = 0; i < d; i++)
        to->p[i] += s * from->w[i];
    small_product(d, from->E, false, from->E, false, to->E);
    for (size_t e = 0; e < dd; e++)
        to->E[e] += 2.0 * from->E[e];
}

/* y_bar becomes x_bar; E_bar is added to. */
INLINE void twice_vjp(size_t d, const double *E, const double *x,
                      const double *y_bar, double *x_bar, double *E_bar)
{
    for (size_t i = 0; i < d; i++)
        x_bar[i] = 2.0 * y_bar[i];
    small_add(d, 1.0, E, true, y_bar, x_bar);
    small_outer(d, 1.0, y_bar, x, E_bar);
}

/* Sets from_bar from bar. */
INLINE void doubled_vjp(size_t d, double s, const struct level *from,
                        const struct level *bar, const struct level *from_bar,
                        double *room)
{
    size_t dd = d * d;
    double *X = room, *Y = room + dd;
    small_product(d, bar->E, false, from->E, true, X);
    small_product(d, from->E, true, bar->E, false, Y);
    for (size_t e = 0; e < dd; e++)
        from_bar->E[e] = 2.0 * bar->E[e] + X[e] + Y[e];
    /* E_bar += 2 Q_bar Phi Q; Q_bar + Phi' Q_bar Phi. */
    small_product(d, bar->Q, false, from->E, false, X);
    for (size_t e = 0; e < dd; e++)
        X[e] += bar->Q[e];
    small_product(d, X, false, from->Q, false, Y);
    for (size_t e = 0; e < dd; e++)
        from_bar->E[e] += 2.0 * Y[e];
    small_product(d, from->E, true, X, false, Y);
    for (size_t e = 0; e < dd; e++)
        from_bar->Q[e] = bar->Q[e] + X[e] + Y[e];
    small_symmetric(d, from_bar->Q);
    twice_vjp(d, from->E, from->g, bar->g, from_bar->g, from_bar->E);
    twice_vjp(d, from->E, from->w, bar->w, from_bar->w, from_bar->E);
    twice_vjp(d, from->E, from->p, bar->p, from_bar->p, from_bar->E);
    for (size_t i = 0; i < d; i++)
        from_bar->w[i] += s * bar->p[i];
}

/* --- Both ----------------------------------------------------------------- */

/* Where the terms begin in the scratch memory, after the levels; then two
 * levels, and room for two matrices. */
static double *terms_of(size_t d, double *scratch)
{
    return scratch + (MOST_DOUBLINGS + 1) * level_size(d);
}

static double *extra(size_t d, double *scratch, size_t n)
{
    return terms_of(d, scratch) + (MOST_TERMS + n) * level_size(d);
}

/* All levels; their number is p->doublings + 1. */
static FAST void climb(size_t d, const struct plan *p,
                       const struct coefficients *in, double *scratch)
{
    double *room = extra(d, scratch, 2), s = p->s;
    struct level at = level_at(d, scratch, 0);
    series(d, p, in, terms_of(d, scratch), &at, room);
    for (int n = 1; n <= p->doublings; n++, s *= 2.0) {
        struct level next = level_at(d, scratch, (size_t)n);
        doubled(d, s, &at, &next, room);
        at = next;
    }
}

bool transition_make(size_t d, double h, const struct coefficients *in,
                     const struct transition *out, double *scratch)
{
    struct plan p;
    if (!make_plan(d, h, in->A, &p)) return false;
    climb(d, &p, in, scratch);
    struct level top = level_at(d, scratch, (size_t)p.doublings);
    for (size_t e = 0; e < d * d; e++)
        out->Phi[e] = top.E[e] + (double)(e % (d + 1) == 0);
    memcpy(out->Q, top.Q, d * d * sizeof *out->Q);
    for (size_t i = 0; i < d; i++)
        out->c[i] = top.g[i] + top.p[i];
    return all_finite(d * d, out->Phi) && all_finite(d * d, out->Q) &&
           all_finite(d, out->c);
}

static FAST void descend(size_t d, const struct plan *p,
                         const struct coefficients *in,
                         const struct coefficients *in_bar, struct level bar,
                         struct level other, double *scratch)
{
    double *room = extra(d, scratch, 2);
    double s = ldexp(p->s, p->doublings - 1);
    for (int n = p->doublings; n > 0; n--, s *= 0.5) {
        struct level from = level_at(d, scratch, (size_t)n - 1);
        doubled_vjp(d, s, &from, &bar, &other, room);
        struct level swap = bar;
        bar = other;
        other = swap;
    }
    /* The levels are not needed any more. */
    struct level here = level_at(d, scratch, 0), next = level_at(d, scratch, 1);
    series_vjp(d, p, in, terms_of(d, scratch), &bar, in_bar, here, next, room);
}

void transition_vjp(size_t d, double h, const struct coefficients *in,
                    const struct transition *out_bar,
                    const struct coefficients *in_bar, double *scratch)
{
    struct plan p;
    struct level bar = level_at(d, extra(d, scratch, 0), 0);
    struct level other = level_at(d, extra(d, scratch, 1), 0);
    if (!make_plan(d, h, in->A, &p)) return;
    climb(d, &p, in, scratch);
    memcpy(bar.E, out_bar->Phi, d * d * sizeof *bar.E);
    memcpy(bar.Q, out_bar->Q, d * d * sizeof *bar.Q);
    memcpy(bar.g, out_bar->c, d * sizeof *bar.g);
    memset(bar.w, 0, d * sizeof *bar.w);
    memcpy(bar.p, out_bar->c, d * sizeof *bar.p);
    descend(d, &p, in, in_bar, bar, other, scratch);
}
