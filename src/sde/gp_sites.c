/* SPDX-License-Identifier: MIT */
#include "sde/gp_sites.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "sde/gp_rows.h"

struct gp_prior gp_prior_of(const gsv_model *m, size_t gp, size_t output)
{
    const struct gp_spec *s = &m->spec->gp[gp];
    const struct gp *h = &m->spec->graph->gp[gp];
    struct grid g = gp_grid(m, gp);
    struct gp_prior p = {.kernel = s->kernel,
                         .axes = g.axes,
                         .amplitude = m->value[s->amplitude + output],
                         .features = gp_features(h)};
    if (p.features) p.feature_sd = m->value[s->polynomial_amplitude + output];
    for (size_t k = 0; k < g.axes; k++) {
        p.nodes[k] = g.nodes[k];
        p.step[k] = (g.high[k] - g.low[k]) / (double)(g.nodes[k] - 1);
        p.length[k] = m->value[s->length + k];
    }
    return p;
}

/* --- Rows ---------------------------------------------------------------- */

/* All monomials of x scaled to [-1, 1] over the box: see graph/gp.h. */
static void find_features(const struct grid *g, size_t features,
                          unsigned char power[][GRID_AXES], const double *x,
                          double *feature)
{
    for (size_t f = 0; f < features; f++) {
        feature[f] = 1.0;
        for (size_t k = 0; k < g->axes; k++) {
            double z =
                2.0 * (x[k] - g->low[k]) / (g->high[k] - g->low[k]) - 1.0;
            for (size_t i = 0; i < power[f][k]; i++)
                feature[f] *= z;
        }
    }
}

int gp_rows_init(struct gp_rows *r, const gsv_model *m, size_t gp, size_t count,
                 const double *argument)
{
    const struct gp *h = &m->spec->graph->gp[gp];
    struct grid g = gp_grid(m, gp);
    size_t n = (size_t)1 << 2 * g.axes, F = gp_features(h);
    unsigned char power[GP_FEATURES][GRID_AXES];
    *r = (struct gp_rows){.index = NEW(size_t, count * n),
                          .weight = NEW(double, count *n),
                          .feature = NEW(double, count *F),
                          .sum = NEW(double, count)};
    if (!r->index || !r->weight || !r->feature || !r->sum) return GSV_NO_MEMORY;
    r->points = (struct gp_points){count, n, r->index, r->weight, r->feature};
    if (F) gp_exponents(h, power);
    for (size_t j = 0; j < count; j++) {
        double x[GRID_AXES], *w = r->weight + j * n;
        for (size_t k = 0; k < g.axes; k++)
            x[k] = argument[k * count + j];
        grid_weights(&g, x, r->index + j * n, w, NULL);
        if (F) find_features(&g, F, power, x, r->feature + j * F);
        for (size_t i = 0; i < n; i++)
            r->sum[j] += w[i];
    }
    return 0;
}

void gp_rows_free(struct gp_rows *r)
{
    mem_free(r->index);
    mem_free(r->weight);
    mem_free(r->feature);
    mem_free(r->sum);
    *r = (struct gp_rows){0};
}

/* --- Slopes -------------------------------------------------------------- */

/* Where weights add up to less, a point is outside of the box. */
static const double INSIDE = 0.99;

/* `what` with a constant added to all values of one output. */
static int shifted(const gsv_model *m, node what, const struct points *in,
                   size_t gp, size_t output, double shift, double *to)
{
    gsv_model moved = *m;
    size_t n = gp_nodes(&m->spec->graph->gp[gp]);
    moved.value = NEW(double, m->spec->parameters);
    if (!moved.value) return GSV_NO_MEMORY;
    memcpy(moved.value, m->value, m->spec->parameters * sizeof *m->value);
    for (size_t i = 0; i < n; i++)
        moved.value[m->spec->gp[gp].value + output * n + i] += shift;
    int status = model_evaluate(&moved, what, in, true, to);
    mem_free(moved.value);
    return status;
}

static int slope_of(const gsv_model *m, node what, const struct points *in,
                    size_t gp, size_t output, double *slope)
{
    size_t n = graph_size(m->spec->graph, what) * in->P;
    double step = 0.01 * m->value[m->spec->gp[gp].amplitude + output];
    double *down = NEW(double, n);
    if (!down) return GSV_NO_MEMORY;
    int status = shifted(m, what, in, gp, output, step, slope);
    if (!status) status = shifted(m, what, in, gp, output, -step, down);
    for (size_t i = 0; !status && i < n; i++)
        slope[i] = (slope[i] - down[i]) / (2.0 * step);
    mem_free(down);
    return status;
}

/* Outside of its box h is not moved by its values: there with a box so wide
 * that all is inside, where h itself is that of some place inside. */
static int slope_outside(const gsv_model *m, node what, const struct points *in,
                         size_t gp, size_t output, double *slope)
{
    gsv_model wide = *m;
    size_t axes = m->spec->graph->gp[gp].axes, n = m->spec->parameters;
    wide.value = NEW(double, n);
    if (!wide.value) return GSV_NO_MEMORY;
    memcpy(wide.value, m->value, n * sizeof *m->value);
    double *low = wide.value + m->spec->gp[gp].box;
    for (size_t k = 0; k < axes; k++) {
        double range = low[axes + k] - low[k];
        low[k] -= 1e4 * range;
        low[axes + k] += 1e4 * range;
    }
    int status = slope_of(&wide, what, in, gp, output, slope);
    mem_free(wide.value);
    return status;
}

int gp_slope(const gsv_model *m, node what, const struct points *in, size_t gp,
             size_t output, const struct gp_rows *r, double *slope)
{
    size_t size = graph_size(m->spec->graph, what), P = in->P;
    bool all = true;
    int status = slope_of(m, what, in, gp, output, slope);
    for (size_t j = 0; j < P; j++)
        all = all && r->sum[j] > INSIDE;
    if (all || status) return status;
    double *other = NEW(double, size *P);
    if (!other) return GSV_NO_MEMORY;
    status = slope_outside(m, what, in, gp, output, other);
    for (size_t i = 0; !status && i < size * P; i++)
        if (!(r->sum[i % P] > INSIDE)) slope[i] = other[i];
    mem_free(other);
    return status;
}

/* --- Gaps ---------------------------------------------------------------- */

static int choose_gaps(struct gp_sites *s, bool tracks, size_t groups,
                       const size_t *group)
{
    const struct gap *gap = s->gaps.gap;
    bool *used = NEW(bool, s->gaps.count);
    s->gap = NEW(size_t, s->gaps.count);
    if (!used || !s->gap) {
        mem_free(used);
        return GSV_NO_MEMORY;
    }
    for (size_t i = 0; i < groups; i++)
        used[group[i]] = true;
    for (size_t i = 0, number = 0; i < s->gaps.count; i++) {
        if (i && (!tracks || gap[i].track != gap[i - 1].track)) number++;
        if (used[number]) s->gap[s->count++] = i;
    }
    mem_free(used);
    return 0;
}

static void read_gaps(struct gp_sites *s)
{
    size_t P = s->count, n = 2 * P;
    bool inputs = s->m->spec->inputs > 0;
    for (size_t j = 0; j < P; j++) {
        const struct gap *gap = &s->gaps.gap[s->gap[j]];
        gap_ends(&s->gaps, gap, s->end + 2 * j, n);
        s->at_time[j] = gap->start + s->share * gap->length;
        if (inputs)
            gap_inputs(&s->gaps, gap->track, s->at_time[j], false,
                       s->at_input + j, s->at_slope + j, P);
        for (size_t i = 0; i < 2; i++) {
            s->time[2 * j + i] = i ? gap->start + gap->length : gap->start;
            if (inputs)
                gap_inputs(&s->gaps, gap->track, s->time[2 * j + i], i,
                           s->input + 2 * j + i, s->slope + 2 * j + i, n);
        }
    }
}

int gp_sites_init(struct gp_sites *s, const gsv_model *m, const gsv_series *d,
                  double share, bool tracks, size_t groups, const size_t *group)
{
    *s = (struct gp_sites){.m = m, .share = share};
    int status = gaps_init(&s->gaps, m, d);
    if (!status) status = choose_gaps(s, tracks, groups, group);
    if (status) return status;
    size_t P = s->count, dim = m->spec->dim, inputs = m->spec->inputs;
    double **part[] = {&s->end,      &s->state,    &s->unit,    &s->time,
                       &s->input,    &s->slope,    &s->at_time, &s->at_input,
                       &s->at_slope, &s->argument, &s->drift};
    size_t size[] = {2 * dim * P,    2 * dim * P,    dim * P, 2 * P,
                     2 * inputs * P, 2 * inputs * P, P,       inputs * P,
                     inputs * P,     GRID_AXES * P,  dim * P};
    for (size_t i = 0; i < sizeof part / sizeof *part; i++)
        if (!(*part[i] = NEW(double, size[i]))) return GSV_NO_MEMORY;
    read_gaps(s);
    return gp_sites_place(s, m);
}

void gp_sites_free(struct gp_sites *s)
{
    double *part[] = {s->end,      s->state,    s->unit,    s->time,
                      s->input,    s->slope,    s->at_time, s->at_input,
                      s->at_slope, s->argument, s->drift};
    for (size_t i = 0; i < sizeof part / sizeof *part; i++)
        mem_free(part[i]);
    mem_free(s->gap);
    gaps_free(&s->gaps);
    *s = (struct gp_sites){0};
}

static struct points points_of(const struct gp_sites *s, const double *state)
{
    return (struct points){.P = s->count,
                           .state = state,
                           .time = s->at_time,
                           .input = s->at_input,
                           .slope = s->at_slope};
}

int gp_sites_place(struct gp_sites *s, const gsv_model *m)
{
    size_t P = s->count;
    struct points ends = {.P = 2 * P,
                          .state = s->end,
                          .time = s->time,
                          .input = s->input,
                          .slope = s->slope};
    int status = model_evaluate(m, m->unit_state, &ends, true, s->state);
    for (size_t i = 0; !status && i < m->spec->dim * P; i++)
        s->unit[i] =
            (1.0 - s->share) * s->state[2 * i] + s->share * s->state[2 * i + 1];
    return status;
}

int gp_sites_squares(struct gp_sites *s, const gsv_model *m, double *squares)
{
    int status = gp_sites_place(s, m);
    *squares = 0.0;
    for (size_t i = 0; !status && i < m->spec->dim * s->count; i++) {
        double dy = s->state[2 * i + 1] - s->state[2 * i];
        *squares += dy * dy / s->gaps.gap[s->gap[i % s->count]].length;
    }
    return status;
}

int gp_sites_rows(struct gp_sites *s, const gsv_model *m, size_t gp,
                  struct gp_rows *r)
{
    const struct spec *spec = m->spec;
    double *x = s->state, *z = x + spec->dim * s->count;
    struct points at = points_of(s, s->unit);
    *r = (struct gp_rows){0};
    int status = model_evaluate(m, m->data_state, &at, true, x);
    at = points_of(s, x);
    if (!status) status = model_evaluate(m, spec->state_of_data, &at, true, z);
    at = points_of(s, z);
    if (!status)
        status =
            model_evaluate(m, spec->gp[gp].argument, &at, true, s->argument);
    return status ? status : gp_rows_init(r, m, gp, s->count, s->argument);
}

int gp_sites_factor(struct gp_sites *s, const gsv_model *m, size_t gp,
                    size_t output, const struct gp_rows *r, double *factor)
{
    size_t P = s->count;
    struct points at = points_of(s, s->unit);
    int status = gp_slope(m, m->unit_drift, &at, gp, output, r, s->drift);
    for (size_t j = 0; !status && j < P; j++) {
        double square = 0.0;
        for (size_t i = 0; i < m->spec->dim; i++)
            square += s->drift[i * P + j] * s->drift[i * P + j];
        factor[j] = s->gaps.gap[s->gap[j]].length * square;
        if (!isfinite(factor[j])) factor[j] = 0.0;
    }
    return status;
}
