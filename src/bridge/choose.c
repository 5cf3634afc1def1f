/* SPDX-License-Identifier: MIT */
#include "bridge/choose.h"

#include <math.h>
#include <string.h>

#include "base/linalg.h"

/* --- The drift and its Jacobian at places of several gaps ----------------- */

/* A place of a context: the middle of the chord for linear, of every step for
 * lna. */
struct position {
    size_t context, step;
};

static size_t steps_of(const struct context *c, enum gsv_reference kind)
{
    return kind == GSV_REFERENCE_LINEAR ? 1 : c->M;
}

static struct position next_position(const struct scratch *s,
                                     struct position at,
                                     enum gsv_reference kind)
{
    if (++at.step < steps_of(&s->context[at.context], kind)) return at;
    return (struct position){at.context + 1, 0};
}

/* How far a place is on the way through its gap. */
static double share_of(const struct context *c, struct position at,
                       enum gsv_reference kind)
{
    return ((double)at.step + 0.5) / (double)steps_of(c, kind);
}

/* The places of contexts before end, from a position on, as points: as many as
 * a block has room for. */
static struct points fill_points(const struct plan *p, struct scratch *s,
                                 struct position at, size_t end,
                                 enum gsv_reference kind)
{
    size_t d = p->d, P = 0;
    for (struct position q = at; q.context < end && P < p->capacity; P++)
        q = next_position(s, q, kind);
    for (size_t n = 0; n < P; n++, at = next_position(s, at, kind)) {
        const struct context *c = &s->context[at.context];
        double steps = (double)steps_of(c, kind);
        double time =
            c->gap->start + c->gap->length * ((double)at.step + 0.5) / steps;
        double half = 0.5 * c->gap->length / steps;
        struct instant now = {.track = c->gap->track,
                              .time = time,
                              .low = time - half,
                              .high = time + half};
        for (size_t i = 0; i < d; i++)
            s->Z[i * P + n] = c->reference.place[at.step * d + i];
        fill_time(p, s, &now, n, 1, P);
    }
    return block_points(s, P);
}

/* Column j of the Jacobians at the points. */
static void jacobian_column(const struct run *r, struct scratch *s,
                            const struct points *in, struct position at,
                            enum gsv_reference kind, size_t j)
{
    const struct plan *p = r->plan;
    size_t d = p->d, n = in->P;
    memset(s->dot, 0, d * n * sizeof *s->dot);
    for (size_t k = 0; k < n; k++)
        s->dot[j * n + k] = 1.0;
    program_jvp(p->unit, &r->reference->unit, &s->unit, in, s->dot);
    const double *f_dot = program_output_dot(p->unit, &s->unit, n, 0);
    for (size_t k = 0; k < n; k++, at = next_position(s, at, kind)) {
        double *A = s->context[at.context].reference.A + at.step * d * d;
        for (size_t i = 0; i < d; i++)
            A[i * d + j] = f_dot[i * n + k];
    }
}

/* Places beyond the range of T move to the chord. */
static void stay_inside(const struct run *r, struct scratch *s,
                        const struct points *in, struct position at,
                        enum gsv_reference kind)
{
    size_t d = r->plan->d, n = in->P;
    find_outside(r->plan, r->reference, s, in);
    for (size_t k = 0; k < n; k++, at = next_position(s, at, kind)) {
        struct context *c = &s->context[at.context];
        if (!s->outside[k]) continue;
        chord_point(c, share_of(c, at, kind), s->Z + k, n);
        for (size_t i = 0; i < d; i++)
            c->reference.place[at.step * d + i] = s->Z[i * n + k];
    }
}

/* f at the places to the references' c and, where asked for, df/dy to A. */
static void evaluate(const struct run *r, struct scratch *s, size_t first,
                     size_t end, enum gsv_reference kind, bool jacobian)
{
    const struct plan *p = r->plan;
    size_t d = p->d;
    for (struct position at = {first, 0}, next; at.context < end; at = next) {
        struct points in = fill_points(p, s, at, end, kind);
        if (p->range) stay_inside(r, s, &in, at, kind);
        program_forward(p->unit, &r->reference->unit, &s->unit, &in);
        const double *f = program_output(p->unit, &s->unit, in.P, 0);
        next = at;
        for (size_t k = 0; k < in.P; k++, next = next_position(s, next, kind))
            for (size_t i = 0; i < d; i++)
                s->context[next.context].reference.c[next.step * d + i] =
                    f[i * in.P + k];
        for (size_t j = 0; jacobian && j < d; j++)
            jacobian_column(r, s, &in, at, kind, j);
    }
}

/* --- References --------------------------------------------------------- */

static void chord_places(const struct plan *p, struct context *c,
                         enum gsv_reference kind)
{
    size_t steps = steps_of(c, kind);
    for (size_t m = 0; m < steps; m++)
        for (size_t i = 0; i < p->d; i++)
            c->reference.place[m * p->d + i] =
                c->y0[i] +
                (c->y1[i] - c->y0[i]) * ((double)m + 0.5) / (double)steps;
}

/* From f on the chord, in c, to the Picard path's places. */
static void picard_places(const struct plan *p, struct context *c)
{
    size_t d = p->d, M = c->M;
    const double *f = c->reference.c;
    for (size_t i = 0; i < d; i++) {
        double total = 0.0, sum = 0.0;
        for (size_t m = 0; m < M; m++)
            total += f[m * d + i] * c->dt;
        double miss = c->y1[i] - c->y0[i] - total;
        for (size_t m = 0; m < M; m++) {
            double half = 0.5 * f[m * d + i] * c->dt;
            double share = ((double)m + 0.5) / (double)M;
            c->reference.place[m * d + i] =
                c->y0[i] + sum + half + share * miss;
            sum += 2.0 * half;
        }
    }
}

/* Whether a coordinate has noise of its own. */
static bool is_noisy(const struct plan *p, size_t i)
{
    const size_t *next = p->model->chain.next;
    return !next || next[i] == p->d;
}

/* From f, A and the places to b = f - A place. Chains of integrals stay as they
 * are: the law of a weaker one has no density by that of the model. */
static void find_lines(const struct plan *p, struct context *c,
                       enum gsv_reference kind, double temper)
{
    struct reference *r = &c->reference;
    size_t d = p->d, steps = steps_of(c, kind);
    for (size_t i = 0; i < steps * d * d; i++)
        if (is_noisy(p, i / d % d)) r->A[i] *= temper;
    for (size_t m = 0; m < steps; m++)
        for (size_t i = 0; i < d; i++) {
            double b = r->c[m * d + i];
            for (size_t j = 0; j < d; j++)
                b -= r->A[(m * d + i) * d + j] * r->place[m * d + j];
            r->b[m * d + i] = b;
        }
}

static void finish_reference(const struct plan *p, struct context *c,
                             enum gsv_reference kind, double temper)
{
    struct reference *r = &c->reference;
    find_lines(p, c, kind, temper);
    if (!reference_build(r, kind, c->M, c->dt))
        reference_build(r, GSV_REFERENCE_BROWNIAN, c->M, c->dt);
}

/* --- Forms -------------------------------------------------------------- */

/* Where the energy of the drift along the chord, int |f|^2 dt / d, exceeds that
 * of the noise by this factor, the left sums of ito are off by the change of
 * the drift over a step, and the midpoint is used (docs/ESTIMATOR.md has the
 * measurements). */
static const double DRIFT_DOMINATES = 5.0;

static void measure_energy(const struct plan *p, struct context *c,
                           enum gsv_reference kind)
{
    size_t n = steps_of(c, kind) * p->d, noisy = 0;
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        if (!is_noisy(p, i % p->d)) continue;
        sum += c->reference.c[i] * c->reference.c[i];
        noisy++;
    }
    c->energy = sum * c->gap->length / (double)noisy;
}

/* Where auto knows the integral of the drift: trapezoids miss how the drift
 * bends within a step, which counts as the drift outweighs the noise.
 * Boundaries are known to trapezoids alone. */
static enum gsv_form choose_potential(const struct plan *p,
                                      const struct context *c)
{
    bool free = p->options->form == GSV_FORM_AUTO && !p->barriers;
    bool linear = c->reference.kind != GSV_REFERENCE_BROWNIAN;
    return free && linear && c->energy > DRIFT_DOMINATES
               ? GSV_FORM_MIDPOINT
               : GSV_FORM_STRATONOVICH;
}

static enum gsv_form choose_form(const struct plan *p, const struct context *c)
{
    bool brownian = reference_is_plain(&c->reference);
    switch (p->form) {
    case GSV_FORM_ITO: return GSV_FORM_ITO;
    /* Against brownian the midpoint is ito, and is reported as ito. */
    case GSV_FORM_MIDPOINT: return brownian ? GSV_FORM_ITO : GSV_FORM_MIDPOINT;
    case GSV_FORM_STRATONOVICH: return choose_potential(p, c);
    case GSV_FORM_BOUND: return GSV_FORM_BOUND;
    case GSV_FORM_COMPOSED: return GSV_FORM_COMPOSED;
    case GSV_FORM_EXACT: return GSV_FORM_EXACT;
    case GSV_FORM_EULER: /* of modified bridges alone */
    case GSV_FORM_AUTO: break;
    }
    if (brownian) return GSV_FORM_ITO;
    /* Left sums and trapezoids of a chain are of the first order. */
    if (c->M == 1 || p->model->chain.next) return GSV_FORM_MIDPOINT;
    if (p->options->joint && p->options->richardson) return GSV_FORM_ITO;
    /* A linear drift is its reference: all paths have the same weight. */
    if (p->model->affine && !p->range) return GSV_FORM_MIDPOINT;
    return c->energy > DRIFT_DOMINATES ? GSV_FORM_MIDPOINT : GSV_FORM_ITO;
}

/* From the chord to one Picard path. */
static void picard_path(const struct run *r, struct scratch *s, size_t first,
                        size_t end)
{
    const struct plan *p = r->plan;
    evaluate(r, s, first, end, GSV_REFERENCE_LNA, false);
    for (size_t n = first; n < end; n++) {
        measure_energy(p, &s->context[n], GSV_REFERENCE_LNA);
        picard_places(p, &s->context[n]);
    }
}

/* The mean of the bridge of a reference, where it is found. */
static void mean_places(const struct plan *p, struct context *c,
                        enum gsv_reference kind)
{
    struct reference *r = &c->reference;
    size_t n = c->M * p->d;
    bool pairs = r->pairs;
    r->pairs = false;
    bool built = reference_build(r, kind, c->M, c->dt);
    r->pairs = pairs;
    if (!built) return;
    reference_mean(r, c->y0, c->y1, r->W); /* W is free until it is built */
    if (all_finite(n, r->W)) memcpy(r->place, r->W, n * sizeof *r->place);
}

/* Of chains: the mean of the integrals' own bridge, a Hermite polynomial, and
 * then one Newton step to the most likely path of the model. */
static void newton_path(const struct run *r, struct scratch *s, size_t first,
                        size_t end)
{
    const struct plan *p = r->plan;
    for (size_t n = first; n < end; n++)
        mean_places(p, &s->context[n], GSV_REFERENCE_BROWNIAN);
    evaluate(r, s, first, end, GSV_REFERENCE_LNA, true);
    for (size_t n = first; n < end; n++) {
        struct context *c = &s->context[n];
        measure_energy(p, c, GSV_REFERENCE_LNA);
        find_lines(p, c, GSV_REFERENCE_LNA, 1.0);
        mean_places(p, c, GSV_REFERENCE_LNA);
    }
}

/* References of contexts [first, end), and the forms that go with them. */
static void linearise(const struct run *r, struct scratch *s, size_t first,
                      size_t end, enum gsv_reference kind, double temper)
{
    const struct plan *p = r->plan;
    for (size_t n = first; n < end; n++)
        chord_places(p, &s->context[n], kind);
    if (kind == GSV_REFERENCE_LNA)
        (p->model->chain.next ? newton_path : picard_path)(r, s, first, end);
    evaluate(r, s, first, end, kind, true);
    for (size_t n = first; n < end; n++) {
        struct context *c = &s->context[n];
        if (kind == GSV_REFERENCE_LINEAR) measure_energy(p, c, kind);
        finish_reference(p, c, kind, temper);
        c->form = choose_form(p, c);
    }
}

/* --- auto: pilot paths -------------------------------------------------- */

/* The first choice is kept where its pilots have this share of effective
 * paths. */
enum { FIRST_PILOTS = 16 };
static const double ALIVE = 0.7;

static double ess(size_t n, const double *S)
{
    struct tally t;
    tally_start(&t);
    tally_add(&t, n, S);
    return t.broken ? 0.0 : tally_ess(&t);
}

/* The effective number of n pilot paths of one context. */
static double try_pilots(const struct run *r, struct scratch *s,
                         struct context *c, size_t n)
{
    memset(s->pilot, 0, n * sizeof *s->pilot);
    memset(s->pilot2, 0, n * sizeof *s->pilot2);
    context_walk(r, r->reference, s, c, 0, n, RANDOM_PILOT, s->pilot,
                 s->pilot2);
    return ess(n, s->pilot);
}

/* A reference that blows up over the gap draws paths that the drift would
 * never take, and a few pilots do not show it: beyond this growth, e^2, only
 * weaker ones are tried. */
static const double UNSTABLE = 7.4;

static double growth(const struct context *c)
{
    const struct reference *r = &c->reference;
    double square = 0.0;
    for (size_t i = 0; i < r->d * r->d; i++)
        square += r->F0[i] * r->F0[i];
    return r->kind == GSV_REFERENCE_BROWNIAN ? 1.0
                                             : sqrt(square / (double)r->d);
}

struct candidate {
    enum gsv_reference kind;
    double temper;
};

static void use(const struct run *r, struct scratch *s, size_t n,
                struct candidate candidate)
{
    struct context *c = &s->context[n];
    if (candidate.kind == GSV_REFERENCE_BROWNIAN) {
        reference_build(&c->reference, candidate.kind, c->M, c->dt);
        c->form = choose_form(r->plan, c);
    } else {
        linearise(r, s, n, n + 1, candidate.kind, candidate.temper);
    }
}

/* The candidates for a gap on which the first choice fails: the linear one
 * with less and less of its slope, and none at all. */
static void search(const struct run *r, struct scratch *s, size_t n)
{
    static const struct candidate candidate[] = {{GSV_REFERENCE_LINEAR, 1.0},
                                                 {GSV_REFERENCE_LNA, 1.0},
                                                 {GSV_REFERENCE_LINEAR, 0.5},
                                                 {GSV_REFERENCE_LINEAR, 0.25},
                                                 {GSV_REFERENCE_BROWNIAN, 0.0}};
    enum { CANDIDATES = sizeof candidate / sizeof *candidate, STRONG = 3 };
    size_t best = CANDIDATES - 1;
    double most = -1.0;
    for (size_t i = 0; i < CANDIDATES; i++) {
        use(r, s, n, candidate[i]);
        if (!i && growth(&s->context[n]) > UNSTABLE) {
            i = STRONG - 1; /* the loop goes on after the strong ones */
            continue;
        }
        double alive = try_pilots(r, s, &s->context[n], PILOTS);
        if (alive <= most) continue;
        most = alive;
        best = i;
    }
    use(r, s, n, candidate[best]);
}

static void choose_by_pilots(const struct run *r, struct scratch *s)
{
    for (size_t n = 0; n < s->contexts; n++) {
        struct context *c = &s->context[n];
        if (c->M < 2) continue;
        if (try_pilots(r, s, c, FIRST_PILOTS) < ALIVE * FIRST_PILOTS)
            search(r, s, n);
    }
}

void references_choose(const struct run *r, struct scratch *s)
{
    const struct plan *p = r->plan;
    enum gsv_reference wish = p->options->reference;
    for (size_t n = 0; n < s->contexts; n++) {
        struct context *c = &s->context[n];
        if (!p->weigher
                 ->gaussian) { /* not drawn, or by the noise of the model */
            bool exact = p->weigher->one_path;
            c->reference.kind =
                exact ? GSV_REFERENCE_BROWNIAN : GSV_REFERENCE_MODIFIED;
            c->form = exact ? GSV_FORM_EXACT : GSV_FORM_EULER;
            continue;
        }
        if (wish == GSV_REFERENCE_BROWNIAN || !p->model->chain.next)
            reference_build(&c->reference, GSV_REFERENCE_BROWNIAN, c->M, c->dt);
        c->form = choose_form(p, c);
    }
    if (wish == GSV_REFERENCE_BROWNIAN || !p->weigher->gaussian ||
        p->weigher->one_path)
        return;
    bool linear = wish == GSV_REFERENCE_LINEAR || p->longest == 1;
    linearise(r, s, 0, s->contexts,
              linear ? GSV_REFERENCE_LINEAR : GSV_REFERENCE_LNA, 1.0);
    if (wish == GSV_REFERENCE_AUTO && p->K >= FIRST_PILOTS)
        choose_by_pilots(r, s);
}
