/* SPDX-License-Identifier: MIT */
/* The numbers of a model with two states. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "physics/plane.h"
#include "physics/study.h"

static const double *fixed_at(const struct study *s, const double *v, size_t k)
{
    return v + s->at_fixed + 6 * k;
}

/* The density of x at a place, of the cell that has it. */
static double density_at(const struct plane *q, const double *x)
{
    size_t at[2];
    for (size_t i = 0; i < 2; i++) {
        const struct axis *a = &q->scene->axis[i];
        double u = (axis_s(a, x[i]) - a->end[0]) / q->h[i];
        if (!(u >= 0.0 && u < (double)q->N)) return 0.0;
        at[i] = (size_t)u;
    }
    return plane_density(q, at[0] * q->N + at[1]);
}

/* The free energy from a stable point to the lowest saddle. */
static double barrier_from(const struct study *s, const struct plane *q,
                           const double *v, size_t region)
{
    const struct region *r = &s->region[region];
    double best = 0.0;
    if (r->condition) return (double)NAN;
    for (size_t k = 0; k < s->points; k++) {
        const double *p = fixed_at(s, v, k);
        if (p[2] < 0.0 && p[3] > 0.0) best = fmax(best, density_at(q, p));
    }
    double well = density_at(q, fixed_at(s, v, r->point));
    return best > 0.0 ? log(well / best) : (double)NAN;
}

static int mark(const struct study *s, const struct plane *q, const double *v,
                size_t region, bool *in)
{
    const struct region *r = &s->region[region];
    const double *centre = r->condition ? NULL : fixed_at(s, v, r->point);
    return region_marks(r, q->scene, q->N * q->N, q->x, centre, in);
}

/* Marks of both regions, in one block; NULL after a failure. *apart says
 * whether both have cells, and none has one of the other. */
static bool *mark_both(const struct study *s, const struct plane *q,
                       const double *v, const struct passage *p, bool *apart)
{
    size_t n = q->N * q->N, in[2] = {0, 0};
    bool *marks = NEW(bool, 2 * n);
    if (!marks || mark(s, q, v, p->from, marks) ||
        mark(s, q, v, p->to, marks + n)) {
        mem_free(marks);
        return NULL;
    }
    *apart = true;
    for (size_t k = 0; k < n; k++) {
        in[0] += marks[k];
        in[1] += marks[n + k];
        if (marks[k] && marks[n + k]) *apart = false;
    }
    *apart = *apart && in[0] && in[1];
    return marks;
}

static int put_passage(const struct study *s, const struct plane *q, size_t k,
                       double *v)
{
    const struct passage *p = &s->passage[k];
    double *to = v + s->at_passage + PASSAGE_NUMBERS * k;
    bool apart;
    bool *marks = mark_both(s, q, v, p, &apart);
    if (!marks) return (int)gsv_last_status();
    int status =
        apart ? plane_passage(q, marks, marks + q->N * q->N, &to[PASSAGE_TIME])
              : 0;
    to[PASSAGE_BARRIER] = barrier_from(s, q, v, p->from);
    mem_free(marks);
    return status;
}

static double mass_beyond(const struct plane *q)
{
    size_t n = q->N * q->N;
    double sum = 0.0;
    for (size_t k = 0; k < n; k++)
        if (!axis_reached(&q->scene->axis[0], q->x[k]) ||
            !axis_reached(&q->scene->axis[1], q->x[n + k]))
            sum += q->p[k];
    return sum;
}

static void put_law(const struct study *s, const struct plane *q, double *v)
{
    for (size_t i = 0; i < 2; i++) {
        double *to = v + s->at_marginal + i * BINS;
        double w = (s->high[i] - s->low[i]) / BINS;
        plane_marginal(q, i, BINS, s->low[i], s->high[i], to);
        for (size_t j = 0; j < BINS; j++)
            to[j] /= w;
        plane_moments(q, i, v + s->at_mean + i, v + s->at_mean + 2 + i);
    }
    v[s->at_entropy] = plane_entropy(q);
    v[s->at_entropy + 2] = mass_beyond(q);
}

static int keep_field(const struct study *s, const struct plane *q,
                      const double *v, const double *U, struct law_field *f)
{
    size_t n = q->N * q->N;
    f->cells = n;
    f->x = NEW(double, 2 * n);
    f->density = NEW(double, n);
    f->potential = NEW(double, n);
    if (!f->x || !f->density || !f->potential) return GSV_NO_MEMORY;
    memcpy(f->x, q->x, 2 * n * sizeof *f->x);
    memcpy(f->potential, U, n * sizeof *U);
    for (size_t k = 0; k < n; k++)
        f->density[k] = plane_density(q, k);
    if (!s->passages) return 0;
    bool apart;
    bool *marks = mark_both(s, q, v, &s->passage[0], &apart);
    if (!marks) return (int)gsv_last_status();
    f->committor = apart ? NEW(double, n) : NULL;
    int status = !apart ? 0 : f->committor ? 0 : GSV_NO_MEMORY;
    if (!status && apart)
        status = plane_committor(q, marks, marks + n, f->committor);
    mem_free(marks);
    return status;
}

int study_plane(const struct study *s, const struct scene *c, size_t grid,
                double *v, struct law_field *field)
{
    struct plane q;
    int status = plane_init(&q, c, grid);
    double *U = NEW(double, grid *grid);
    if (!status && !U) status = GSV_NO_MEMORY;
    if (!status) put_law(s, &q, v);
    if (!status)
        status =
            plane_spectrum(&q, v + s->at_relax, v + s->at_relax + RELAXATIONS);
    if (!status) status = plane_potential(&q, U, v + s->at_entropy + 1);
    for (size_t k = 0; !status && k < s->passages; k++)
        status = put_passage(s, &q, k, v);
    if (!status && field) status = keep_field(s, &q, v, U, field);
    mem_free(U);
    plane_free(&q);
    return status;
}
