/* SPDX-License-Identifier: MIT */
/* Which reference and which form a gap gets. A reference is a linearisation of
 * the drift in unit-diffusion coordinates: `linear` at the middle of the chord,
 * `lna` in every step along one Picard path
 *
 *     m(t) = y0 + int f(chord) + a line, so that m ends in y1.
 *
 * `auto` tries them on pilot paths that are not used again: choosing on the
 * paths of the estimate itself would bias it. */
#include <math.h>
#include <string.h>

#include "bridge/estimate.h"

/* --- The drift and its Jacobian at places of many gaps ------------------ */

/* A walk over the places of contexts [first, end), step by step. */
struct spot {
    size_t context, step;
};

static size_t steps_of(const struct context *c, enum gsv_reference kind)
{
    return kind == GSV_REFERENCE_LINEAR ? 1 : c->M;
}

static struct spot next_spot(const struct scratch *s, struct spot p,
                             enum gsv_reference kind)
{
    if (++p.step < steps_of(&s->context[p.context], kind)) return p;
    return (struct spot){p.context + 1, 0};
}

/* Fills points from p on, as many as there is room for. Places stand in the
 * references' place. */
static size_t fill_points(const struct estimate *e, struct scratch *s,
                          struct spot p, size_t end, enum gsv_reference kind,
                          struct points *in)
{
    size_t n = 0, d = e->d, total = 0;
    for (struct spot q = p; q.context < end && total < e->capacity; total++)
        q = next_spot(s, q, kind);
    for (; n < total; n++, p = next_spot(s, p, kind)) {
        const struct context *c = &s->context[p.context];
        size_t steps = steps_of(c, kind);
        double time = c->gap->start +
                      c->gap->length * ((double)p.step + 0.5) / (double)steps;
        for (size_t i = 0; i < d; i++)
            s->Z[i * total + n] = c->reference.place[p.step * d + i];
        s->time[n] = time;
        if (e->inputs)
            gap_inputs(&e->gaps, c->gap->track, time, false, s->input + n,
                       s->slope + n, total);
    }
    *in = (struct points){.P = total,
                          .state = s->Z,
                          .time = s->time,
                          .input = s->input,
                          .slope = s->slope};
    return total;
}

/* Column j of the Jacobians at the points. */
static void jacobian_column(const struct estimate *e, struct scratch *s,
                            const struct points *in, struct spot p,
                            enum gsv_reference kind, size_t j)
{
    size_t d = e->d, n = in->P;
    memset(s->dot, 0, d * n * sizeof *s->dot);
    for (size_t k = 0; k < n; k++)
        s->dot[j * n + k] = 1.0;
    program_jvp(e->unit, e->guide_unit, &s->unit, in, s->dot);
    const double *f_dot = program_output_dot(e->unit, &s->unit, n, 0);
    for (size_t k = 0; k < n; k++, p = next_spot(s, p, kind)) {
        double *A = s->context[p.context].reference.A + p.step * d * d;
        for (size_t i = 0; i < d; i++)
            A[i * d + j] = f_dot[i * n + k];
    }
}

/* Of places beyond T's range the nearest of the chord's, which is inside, is
 * taken instead. */
static void stay_inside(const struct estimate *e, struct scratch *s,
                        const struct points *in, struct spot p,
                        enum gsv_reference kind)
{
    size_t d = e->d, n = in->P;
    range_look(e, s, e->frozen ? &e->frozen_range : &e->range_uniforms, in);
    for (size_t k = 0; k < n; k++, p = next_spot(s, p, kind)) {
        struct context *c = &s->context[p.context];
        double share = ((double)p.step + 0.5) / (double)steps_of(c, kind);
        for (size_t i = 0; s->outside[k] && i < d; i++) {
            s->Z[i * n + k] = c->y0[i] + share * (c->y1[i] - c->y0[i]);
            c->reference.place[p.step * d + i] = s->Z[i * n + k];
        }
    }
}

/* f at the places to the references' c and, where asked for, df/dy to A. */
static void probe(const struct estimate *e, struct scratch *s, size_t first,
                  size_t end, enum gsv_reference kind, bool jacobian)
{
    size_t d = e->d;
    for (struct spot p = {first, 0}; p.context < end;) {
        struct points in;
        struct spot q = p;
        size_t n = fill_points(e, s, p, end, kind, &in);
        if (e->range) stay_inside(e, s, &in, p, kind);
        program_forward(e->unit, e->guide_unit, &s->unit, &in);
        const double *f = program_output(e->unit, &s->unit, n, 0);
        for (size_t k = 0; k < n; k++, q = next_spot(s, q, kind))
            for (size_t i = 0; i < d; i++)
                s->context[q.context].reference.c[q.step * d + i] =
                    f[i * n + k];
        for (size_t j = 0; jacobian && j < d; j++)
            jacobian_column(e, s, &in, p, kind, j);
        p = q;
    }
}

/* --- References --------------------------------------------------------- */

static void chord_places(const struct estimate *e, struct context *c,
                         enum gsv_reference kind)
{
    size_t steps = steps_of(c, kind);
    for (size_t m = 0; m < steps; m++)
        for (size_t i = 0; i < e->d; i++)
            c->reference.place[m * e->d + i] =
                c->y0[i] +
                (c->y1[i] - c->y0[i]) * ((double)m + 0.5) / (double)steps;
}

/* From f on the chord, in c, to the Picard path's places. */
static void picard_places(const struct estimate *e, struct context *c)
{
    size_t d = e->d, M = c->M;
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

/* From f, A and the places to b = f - A place, and then to the rest. */
static bool finish_reference(const struct estimate *e, struct context *c,
                             enum gsv_reference kind, double temper)
{
    struct reference *r = &c->reference;
    size_t d = e->d, steps = steps_of(c, kind);
    for (size_t e2 = 0; e2 < steps * d * d; e2++)
        r->A[e2] *= temper;
    for (size_t m = 0; m < steps; m++)
        for (size_t i = 0; i < d; i++) {
            double b = r->c[m * d + i];
            for (size_t j = 0; j < d; j++)
                b -= r->A[(m * d + i) * d + j] * r->place[m * d + j];
            r->b[m * d + i] = b;
        }
    if (reference_build(r, kind, c->M, c->dt)) return true;
    reference_build(r, GSV_REFERENCE_BROWNIAN, c->M, c->dt);
    return false;
}

/* --- Forms -------------------------------------------------------------- */

/* Where the drift's energy along the chord, int |f|^2 dt / d, outweighs the
 * noise's by this factor, Ito's left sums are off by the drift's own change
 * over a step, and the midpoint is taken; docs/ESTIMATOR.md has the
 * measurements. */
static const double DRIFT_DOMINATES = 5.0;

static void measure_energy(const struct estimate *e, struct context *c,
                           enum gsv_reference kind)
{
    size_t n = steps_of(c, kind) * e->d;
    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += c->reference.c[i] * c->reference.c[i];
    c->energy = sum * c->gap->length / (double)n;
}

static enum gsv_form choose_form(const struct estimate *e,
                                 const struct context *c)
{
    bool brownian = c->reference.kind == GSV_REFERENCE_BROWNIAN;
    switch (e->form) {
    case GSV_FORM_ITO: return GSV_FORM_ITO;
    /* Against brownian the midpoint is ito: it is called by that name. */
    case GSV_FORM_MIDPOINT: return brownian ? GSV_FORM_ITO : GSV_FORM_MIDPOINT;
    case GSV_FORM_STRATONOVICH: return GSV_FORM_STRATONOVICH;
    case GSV_FORM_BOUND: return GSV_FORM_BOUND;
    case GSV_FORM_EULER: /* of modified bridges, which come not here */
    case GSV_FORM_AUTO: break;
    }
    if (brownian) return GSV_FORM_ITO;
    if (c->M == 1) return GSV_FORM_MIDPOINT;
    if (e->options->joint && e->options->richardson) return GSV_FORM_ITO;
    return c->energy > DRIFT_DOMINATES ? GSV_FORM_MIDPOINT : GSV_FORM_ITO;
}

/* References of contexts [first, end), and the forms that go with them. */
static void refer(const struct estimate *e, struct scratch *s, size_t first,
                  size_t end, enum gsv_reference kind, double temper)
{
    for (size_t n = first; n < end; n++)
        chord_places(e, &s->context[n], kind);
    if (kind == GSV_REFERENCE_LNA) {
        probe(e, s, first, end, kind, false);
        for (size_t n = first; n < end; n++) {
            measure_energy(e, &s->context[n], kind);
            picard_places(e, &s->context[n]);
        }
    }
    probe(e, s, first, end, kind, true);
    for (size_t n = first; n < end; n++) {
        struct context *c = &s->context[n];
        if (kind == GSV_REFERENCE_LINEAR) measure_energy(e, c, kind);
        finish_reference(e, c, kind, temper);
        c->form = choose_form(e, c);
    }
}

/* --- auto: pilot paths -------------------------------------------------- */

/* With most of the pilots alive the first choice is kept. */
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
static double try_pilots(const struct estimate *e, struct scratch *s,
                         struct context *c, size_t n)
{
    memset(s->pilot, 0, n * sizeof *s->pilot);
    memset(s->pilot2, 0, n * sizeof *s->pilot2);
    context_walk(e, s, e->guide_unit, c, 0, n, RANDOM_PILOT, s->pilot,
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
    for (size_t e = 0; e < r->d * r->d; e++)
        square += r->F0[e] * r->F0[e];
    return r->kind == GSV_REFERENCE_BROWNIAN ? 1.0
                                             : sqrt(square / (double)r->d);
}

struct candidate {
    enum gsv_reference kind;
    double temper;
};

static void take(const struct estimate *e, struct scratch *s, size_t n,
                 struct candidate candidate)
{
    struct context *c = &s->context[n];
    if (candidate.kind == GSV_REFERENCE_BROWNIAN) {
        reference_build(&c->reference, candidate.kind, c->M, c->dt);
        c->form = choose_form(e, c);
    } else {
        refer(e, s, n, n + 1, candidate.kind, candidate.temper);
    }
}

/* The candidates for a gap on which the first choice fails: the linear one
 * with less and less of its slope, and none at all. */
static void search(const struct estimate *e, struct scratch *s, size_t n)
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
        take(e, s, n, candidate[i]);
        if (!i && growth(&s->context[n]) > UNSTABLE) {
            i = STRONG - 1; /* the loop goes on behind the strong ones */
            continue;
        }
        double alive = try_pilots(e, s, &s->context[n], PILOTS);
        if (alive <= most) continue;
        most = alive;
        best = i;
    }
    take(e, s, n, candidate[best]);
}

static void choose_by_pilots(const struct estimate *e, struct scratch *s)
{
    for (size_t n = 0; n < s->contexts; n++) {
        struct context *c = &s->context[n];
        if (c->M < 2) continue;
        if (try_pilots(e, s, c, FIRST_PILOTS) < ALIVE * FIRST_PILOTS)
            search(e, s, n);
    }
}

void contexts_choose(const struct estimate *e, struct scratch *s)
{
    enum gsv_reference wish = e->options->reference;
    for (size_t n = 0; n < s->contexts; n++) {
        struct context *c = &s->context[n];
        reference_build(&c->reference, GSV_REFERENCE_BROWNIAN, c->M, c->dt);
        c->form = choose_form(e, c);
    }
    if (wish == GSV_REFERENCE_BROWNIAN) return;
    bool linear = wish == GSV_REFERENCE_LINEAR || e->longest == 1;
    refer(e, s, 0, s->contexts,
          linear ? GSV_REFERENCE_LINEAR : GSV_REFERENCE_LNA, 1.0);
    if (wish == GSV_REFERENCE_AUTO && e->K >= FIRST_PILOTS)
        choose_by_pilots(e, s);
}
