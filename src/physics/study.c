/* SPDX-License-Identifier: MIT */
#include "physics/study.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "physics/fixed.h"

void law_field_free(struct law_field *f)
{
    MEM_FREE(f->x, f->density, f->potential, f->committor, f->error);
    *f = (struct law_field){0};
}

/* --- The order of the numbers --------------------------------------------- */

void study_lay(struct study *s)
{
    size_t d = s->scene.dim, at = 0;
    const struct {
        size_t *place, count;
    } PART[] = {{&s->at_fixed, 3 * d * s->points},
                {&s->at_mean, 2 * d},
                {&s->at_relax, 2 * RELAXATIONS},
                {&s->at_entropy, 3},
                {&s->at_passage, PASSAGE_NUMBERS * s->passages},
                {&s->at_marginal, d * BINS},
                {&s->at_density, s->cells},
                {&s->at_potential, s->cells}};
    for (size_t i = 0; i < sizeof PART / sizeof *PART; i++) {
        *PART[i].place = at;
        at += PART[i].count;
    }
    s->size = at;
}

bool study_is_log(const struct study *s, size_t i)
{
    if (i >= s->at_passage && i < s->at_marginal)
        return (i - s->at_passage) % PASSAGE_NUMBERS != PASSAGE_BARRIER;
    return (i >= s->at_relax && i < s->at_relax + RELAXATIONS) ||
           (i >= s->at_marginal && i < s->at_potential);
}

/* --- Grids --------------------------------------------------------------- */

size_t study_kind(const struct study *s)
{
    return s->scene.dim < 2 ? 0 : s->scene.dim == 2 ? 1 : 2;
}

size_t study_grid(const struct study *s, bool coarse)
{
    static const size_t FINE[] = {2048, 96, 64}, COARSE[] = {512, 40, 16};
    size_t kind = study_kind(s);
    size_t asked = kind < 2 ? s->options->grid : 0;
    size_t fine = asked ? asked : FINE[kind];
    if (!coarse) return fine;
    return fine / 2 < COARSE[kind] ? (fine + 1) / 2 : COARSE[kind];
}

void study_extrapolate(const struct study *s, const double *coarse,
                       double *value)
{
    double ratio = (double)study_grid(s, false) / (double)study_grid(s, true);
    bool line = s->scene.dim == 1;
    size_t from = line ? s->at_relax : s->at_mean;
    size_t to = line ? s->at_relax + RELAXATIONS : s->at_passage;
    if (s->scene.dim > 2 || !(ratio > 1.5)) return;
    for (size_t i = from; i < to; i++) {
        double better =
            value[i] + (value[i] - coarse[i]) / (ratio * ratio - 1.0);
        if (isfinite(better)) value[i] = better;
    }
    for (size_t i = s->at_entropy; i < s->at_passage; i++)
        if (value[i] < 0.0) value[i] = 0.0;
}

/* --- One model ------------------------------------------------------------ */

/* Whether as many directions return as at the estimate's point k. */
static bool is_same_kind(const struct study *s, size_t k, const double *rate)
{
    bool same = true;
    for (size_t i = 0; i < s->scene.dim; i++)
        same = same && (rate[i] < 0.0) == (s->rate[k * s->scene.dim + i] < 0.0);
    return same;
}

/* The fixed points, followed from those of the estimate. One that has become
 * another kind has met another point, and is gone. */
static int follow_points(const struct study *s, const struct scene *c,
                         double *v)
{
    size_t d = c->dim;
    int status = 0;
    for (size_t k = 0; !status && k < s->points; k++) {
        double *x = v + s->at_fixed + 3 * d * k;
        memcpy(x, s->fixed + k * d, d * sizeof *x);
        status = fixed_follow(c, x);
        for (size_t i = d; i < 3 * d; i++)
            x[i] = (double)NAN;
        if (!status && !isnan(x[0]))
            status = fixed_eigenvalues(c, x, x + d, x + 2 * d);
        bool same = is_same_kind(s, k, x + d);
        for (size_t i = 0; !same && i < 3 * d; i++)
            x[i] = (double)NAN;
    }
    return status;
}

/* What is 0 up to rounding errors is 0. */
static void round_places(const struct study *s, double *v)
{
    size_t d = s->scene.dim;
    for (size_t k = 0; k <= s->points; k++)
        for (size_t i = 0; i < d; i++) {
            double *x =
                v + (k < s->points ? s->at_fixed + 3 * d * k : s->at_mean) + i;
            if (fabs(*x) < 1e-9 * s->scene.axis[i].width) *x = 0.0;
        }
}

/* Two points that came to the same place are gone, too. */
static void drop_meetings(const struct study *s, double *v)
{
    size_t d = s->scene.dim;
    for (size_t k = 0; k < s->points; k++)
        for (size_t j = 0; j < k; j++) {
            double *a = v + s->at_fixed + 3 * d * k;
            double *b = v + s->at_fixed + 3 * d * j, distance = 0.0;
            for (size_t i = 0; i < d; i++)
                distance =
                    fmax(distance, fabs(a[i] - b[i]) / s->scene.axis[i].width);
            for (size_t i = 0; distance < 1e-6 && i < 3 * d; i++)
                a[i] = b[i] = (double)NAN;
        }
}

int study_run(const struct study *s, const gsv_model *m, size_t grid, double *v,
              struct law_field *field)
{
    struct scene c = s->scene;
    c.model = m;
    for (size_t i = 0; i < s->size; i++)
        v[i] = (double)NAN;
    int status = follow_points(s, &c, v);
    drop_meetings(s, v);
    if (status || (!s->stationary && c.dim > 1)) return status;
    status = c.dim == 1   ? study_line(s, &c, grid, v, field)
             : c.dim == 2 ? study_plane(s, &c, grid, v, field)
                          : study_cloud(s, &c, grid, v, field);
    round_places(s, v);
    return status;
}

/* --- Passages ------------------------------------------------------------- */

static int add_pair(struct study *s, size_t a, size_t b)
{
    for (size_t i = 0; i < 2 && s->passages < MOST_PASSAGES; i++)
        s->passage[s->passages++] = (struct passage){i ? b : a, i ? a : b};
    return 0;
}

/* The caller's two conditions. */
static int set_conditions(struct study *s)
{
    const gsv_physics_options *o = s->options;
    s->region = NEW(struct region, 2);
    if (!s->region) return GSV_NO_MEMORY;
    s->regions = 2;
    int status = region_parse(&s->region[0], &s->scene, "--from", o->from);
    if (!status) status = region_parse(&s->region[1], &s->scene, "--to", o->to);
    return status ? status : add_pair(s, 0, 1);
}

static bool is_stable(const struct study *s, size_t k)
{
    for (size_t i = 0; i < s->scene.dim; i++)
        if (!(s->rate[k * s->scene.dim + i] < 0.0)) return false;
    return true;
}

/* Neighbours, of one state; all pairs, of several. */
int study_passages(struct study *s)
{
    int status = 0;
    if (s->options->from || s->options->to) {
        if (!s->options->from || !s->options->to)
            return fail(GSV_BAD_INPUT, "--from and --to go together; give "
                                       "both regions, or neither");
        return set_conditions(s);
    }
    s->region = NEW(struct region, s->points + 1);
    if (!s->region) return GSV_NO_MEMORY;
    for (size_t k = 0; !status && k < s->points; k++)
        if (is_stable(s, k))
            status = region_around(&s->region[s->regions++], &s->scene, k,
                                   s->fixed + k * s->scene.dim);
    bool neighbours = s->scene.dim == 1;
    for (size_t a = 0; !status && a + 1 < s->regions; a++)
        for (size_t b = a + 1; b < s->regions && (!neighbours || b == a + 1);
             b++)
            add_pair(s, a, b);
    return status;
}
