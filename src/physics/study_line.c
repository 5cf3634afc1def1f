/* SPDX-License-Identifier: MIT */
/* The numbers of a model with one state. */
#include <math.h>

#include "base/constant.h"
#include "base/error.h"
#include "base/memory.h"
#include "physics/line.h"
#include "physics/study.h"

static const double *fixed_at(const struct study *s, const double *v, size_t k)
{
    return v + s->at_fixed + 3 * k;
}

static struct span span_of(const struct study *s, const struct line *l,
                           const double *v, size_t region)
{
    const struct region *r = &s->region[region];
    if (r->condition) return (struct span){r->low, r->high};
    double at = axis_s(l->axis, fixed_at(s, v, r->point)[0]);
    return (struct span){at, at};
}

/* --- Barriers ------------------------------------------------------------- */

/* The largest phi of a span, and the smallest one between two of them. */
static double extreme_phi(const struct line *l, double low, double high,
                          bool largest)
{
    double best = line_phi(l, low);
    for (size_t k = 0; k <= 2 * l->cells; k++) {
        double s = l->axis->end[0] + 0.5 * l->h * (double)k;
        if (s > low && s < high)
            best = largest ? fmax(best, l->phi[k]) : fmin(best, l->phi[k]);
    }
    double last = line_phi(l, high);
    return largest ? fmax(best, last) : fmin(best, last);
}

/* The unstable point between two stable ones that is the highest. */
static size_t find_ridge(const struct study *s, const struct line *l,
                         const double *v, double low, double high)
{
    size_t best = s->points;
    double least = (double)INFINITY;
    for (size_t k = 0; k < s->points; k++) {
        const double *p = fixed_at(s, v, k);
        double at = axis_s(l->axis, p[0]);
        if (!(at > low && at < high && p[1] > 0.0)) continue;
        double phi = line_phi(l, at);
        if (phi < least) best = k;
        least = fmin(least, phi);
    }
    return best;
}

static double noise_at(const struct line *l, double x)
{
    double s = axis_s(l->axis, x);
    double u = (s - l->axis->end[0]) / (0.5 * l->h);
    double k = fmin(fmax(floor(u + 0.5), 0.0), (double)(2 * l->cells));
    return l->a[(size_t)k];
}

/* T = 2 pi exp(barrier) sqrt(a' / (a |f'(well)| f'(ridge))). */
static double kramers(const struct line *l, const double *well,
                      const double *ridge, double barrier)
{
    return 2.0 * PI * exp(barrier) *
           sqrt(noise_at(l, ridge[0]) /
                (noise_at(l, well[0]) * fabs(well[1]) * ridge[1]));
}

static int put_passage(const struct study *s, const struct line *l, size_t k,
                       double *v)
{
    double *to = v + s->at_passage + PASSAGE_NUMBERS * k;
    const struct passage *p = &s->passage[k];
    struct span a = span_of(s, l, v, p->from), b = span_of(s, l, v, p->to);
    double low = fmin(a.high, b.high), high = fmax(a.low, b.low);
    if (isnan(a.low) || isnan(b.low)) return 0;
    int status = line_passage(l, a, b, &to[PASSAGE_TIME]);
    if (status || !(low < high)) return status;
    to[PASSAGE_BARRIER] =
        extreme_phi(l, a.low, a.high, true) - extreme_phi(l, low, high, false);
    size_t ridge = find_ridge(s, l, v, low, high);
    if (!s->region[p->from].condition && ridge < s->points)
        to[PASSAGE_KRAMERS] =
            kramers(l, fixed_at(s, v, s->region[p->from].point),
                    fixed_at(s, v, ridge), to[PASSAGE_BARRIER]);
    return 0;
}

/* --- Densities ------------------------------------------------------------ */

/* The law between low and high in x, by the densities at some places. */
static double share_between(const struct line *l, double low, double high)
{
    enum { PARTS = 8 };
    double sum = 0.0, w = (high - low) / PARTS;
    for (int i = 0; i < PARTS; i++) {
        double x = low + w * (i + 0.5);
        if (x > l->axis->low && x < l->axis->high)
            sum += w * exp(line_log_density(l, axis_s(l->axis, x)));
    }
    return sum;
}

static double mass_beyond(const struct line *l)
{
    double out = 0.0, all = 0.0;
    for (size_t k = 0; k <= 2 * l->cells; k++) {
        all += l->m[k];
        if (!axis_reached(l->axis, l->x[k])) out += l->m[k];
    }
    return out / all;
}

static void put_law(const struct study *s, const struct line *l, double *v)
{
    double w = (s->high[0] - s->low[0]) / BINS;
    for (size_t i = 0; i < BINS; i++) {
        double low = s->low[0] + w * (double)i;
        v[s->at_marginal + i] = share_between(l, low, low + w) / w;
    }
    for (size_t i = 0; i < s->cells; i++)
        v[s->at_density + i] =
            exp(line_log_density(l, axis_s(l->axis, s->cell[i])));
    line_moments(l, v + s->at_mean, v + s->at_mean + 1);
    v[s->at_entropy] = 0.0;
    v[s->at_entropy + 2] = mass_beyond(l);
}

/* On a ring the current makes entropy. */
static int put_ring(const struct study *s, struct line *l, double *v,
                    struct law_field *field)
{
    double *p = NEW(double, 2 * l->cells + 1), current = 0.0;
    if (!p) return GSV_NO_MEMORY;
    int status = line_ring(l, p, &current);
    double turn = l->phi[2 * l->cells] - l->phi[0];
    for (size_t k = 0; !status && k <= 2 * l->cells; k++)
        l->m[k] = p[k] * l->mass;
    if (!status) put_law(s, l, v);
    /* An angle has no mean. */
    v[s->at_mean] = v[s->at_mean + 1] = (double)NAN;
    if (!status) v[s->at_entropy] = current * turn;
    if (field) field->current = current;
    mem_free(p);
    return status;
}

/* --- The field of the estimate -------------------------------------------- */

static int put_committor(const struct study *s, const struct line *l,
                         const double *v, struct law_field *field)
{
    double *at = NEW(double, s->cells);
    field->committor = NEW(double, s->cells);
    int status = at && field->committor ? 0 : GSV_NO_MEMORY;
    for (size_t i = 0; !status && i < s->cells; i++)
        at[i] = axis_s(l->axis, s->cell[i]);
    if (!status)
        status = line_committor(l, span_of(s, l, v, s->passage[0].from),
                                span_of(s, l, v, s->passage[0].to), s->cells,
                                at, field->committor);
    mem_free(at);
    return status;
}

int study_line(const struct study *s, const struct scene *c, size_t grid,
               double *v, struct law_field *field)
{
    struct line l;
    int status = line_init(&l, c, grid);
    for (size_t i = 0; !status && i < s->cells; i++)
        v[s->at_potential + i] = line_potential(&l, axis_s(l.axis, s->cell[i]));
    v[s->at_entropy + 1] = 1.0;
    if (!status && c->axis[0].map == AXIS_RING)
        status = put_ring(s, &l, v, field);
    else if (!status && s->stationary) {
        put_law(s, &l, v);
        status =
            line_spectrum(&l, v + s->at_relax, v + s->at_relax + RELAXATIONS);
        for (size_t k = 0; !status && k < s->passages; k++)
            status = put_passage(s, &l, k, v);
        if (!status && field && s->passages)
            status = put_committor(s, &l, v, field);
    }
    line_free(&l);
    return status;
}
