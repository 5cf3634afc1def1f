/* SPDX-License-Identifier: MIT */
#include "model/gp_sites.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/quadrature.h"
#include "model/gp_rows.h"

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

/* All monomials of x scaled to [-1, 1] over the box: see graph/gp.h; or their
 * derivatives of an order. */
static void find_features(const struct grid *g, size_t order, size_t features,
                          unsigned char power[][GRID_AXES], const double *x,
                          double *feature)
{
    for (size_t f = 0; f < features; f++) {
        feature[f] = 1.0;
        for (size_t k = 0; k < g->axes; k++) {
            double scale = 2.0 / (g->high[k] - g->low[k]);
            double z =
                2.0 * (x[k] - g->low[k]) / (g->high[k] - g->low[k]) - 1.0;
            size_t n = power[f][k], down = gp_order(order, k);
            for (size_t i = 0; i < down; i++)
                feature[f] *= n > i ? (double)(n - i) * scale : 0.0;
            for (size_t i = down; i < n; i++)
                feature[f] *= z;
        }
    }
}

int gp_rows_init(struct gp_rows *r, const gsv_model *m, size_t gp, size_t order,
                 size_t count, const double *argument)
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
    size_t along[GRID_AXES];
    for (size_t k = 0; k < g.axes; k++)
        along[k] = gp_order(order, k);
    for (size_t j = 0; j < count; j++) {
        double x[GRID_AXES], *w = r->weight + j * n;
        for (size_t k = 0; k < g.axes; k++)
            x[k] = argument[k * count + j];
        if (order) grid_derivative(&g, along, x, r->index + j * n, w);
        else grid_weights(&g, x, r->index + j * n, w, NULL);
        if (F) find_features(&g, order, F, power, x, r->feature + j * F);
        for (size_t i = 0; i < n; i++)
            r->sum[j] += w[i];
    }
    return 0;
}

void gp_rows_free(struct gp_rows *r)
{
    MEM_FREE(r->index, r->weight, r->feature, r->sum);
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
             size_t output, const double *sum, double *slope)
{
    size_t size = graph_size(m->spec->graph, what), P = in->P;
    bool all = true;
    int status = slope_of(m, what, in, gp, output, slope);
    for (size_t j = 0; j < P; j++)
        all = all && sum[j] > INSIDE;
    if (all || status) return status;
    double *other = NEW(double, size *P);
    if (!other) return GSV_NO_MEMORY;
    status = slope_outside(m, what, in, gp, output, other);
    for (size_t i = 0; !status && i < size * P; i++)
        if (!(sum[i % P] > INSIDE)) slope[i] = other[i];
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
        if (used[number]) s->gap[s->gap_count++] = i;
    }
    mem_free(used);
    return 0;
}

static int choose_times(struct gp_sites *s, size_t times)
{
    s->times = times ? times : 1;
    s->share = NEW(double, s->times);
    s->part = NEW(double, s->times);
    if (!s->share || !s->part) return GSV_NO_MEMORY;
    if (times) quadrature_interval(times, s->share, s->part);
    else s->part[0] = 1.0;
    return 0;
}

/* The rows of (rows, n) at this place to the inputs of a time. */
static void read_inputs(struct gp_sites *s, const struct gap *gap, double time,
                        bool end, double *input, double *slope, size_t n)
{
    if (s->m->spec->inputs)
        gap_inputs(&s->gaps, gap->track, time, end, input, slope, n);
}

static void read_gaps(struct gp_sites *s)
{
    size_t P = s->count, n = 2 * s->gap_count;
    for (size_t g = 0; g < s->gap_count; g++) {
        const struct gap *gap = &s->gaps.gap[s->gap[g]];
        gap_ends(&s->gaps, gap, s->end + 2 * g, n);
        for (size_t i = 0; i < 2; i++) {
            size_t j = 2 * g + i;
            s->time[j] = i ? gap->start + gap->length : gap->start;
            read_inputs(s, gap, s->time[j], i, s->input + j, s->slope + j, n);
        }
        for (size_t t = 0; t < s->times; t++) {
            size_t j = g * s->times + t;
            s->at_time[j] = gap->start + s->share[t] * gap->length;
            s->length[j] = s->part[t] * gap->length;
            read_inputs(s, gap, s->at_time[j], false, s->at_input + j,
                        s->at_slope + j, P);
        }
    }
}

int gp_sites_init(struct gp_sites *s, const gsv_model *m, const gsv_series *d,
                  size_t times, bool tracks, size_t groups, const size_t *group)
{
    *s = (struct gp_sites){.m = m};
    int status = gaps_init(&s->gaps, m, d);
    if (!status) status = choose_gaps(s, tracks, groups, group);
    if (!status) status = choose_times(s, times);
    if (status) return status;
    size_t n = 2 * s->gap_count, P = s->count = s->gap_count * s->times;
    size_t dim = m->spec->dim, inputs = m->spec->inputs, gps = m->spec->gps;
    const struct arena_part lay[] = {{&s->end, dim * n},
                                     {&s->state, dim * n},
                                     {&s->time, n},
                                     {&s->input, inputs * n},
                                     {&s->slope, inputs * n},
                                     {&s->unit, dim * P},
                                     {&s->length, P},
                                     {&s->at_time, P},
                                     {&s->at_input, inputs * P},
                                     {&s->at_slope, inputs * P},
                                     {&s->argument, gps * GRID_AXES * P},
                                     {&s->sum, gps * P},
                                     {&s->room, 2 * dim * P}};
    s->orders = NEW(struct gp_orders, gps);
    if (!s->orders || arena_lay(&s->arena, sizeof lay / sizeof *lay, lay))
        return GSV_NO_MEMORY;
    for (size_t gp = 0; gp < gps && !status; gp++)
        status = gp_orders_init(&s->orders[gp], m, m->unit_drift, gp);
    read_gaps(s);
    return status ? status : gp_sites_place(s, m);
}

void gp_sites_free(struct gp_sites *s)
{
    arena_free(&s->arena);
    for (size_t gp = 0; s->orders && gp < s->m->spec->gps; gp++)
        gp_orders_free(&s->orders[gp]);
    MEM_FREE(s->orders, s->gap, s->share, s->part);
    gaps_free(&s->gaps);
    *s = (struct gp_sites){0};
}

/* --- Points --------------------------------------------------------------- */

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
    size_t n = s->gap_count, T = s->times;
    struct points ends = {.P = 2 * n,
                          .state = s->end,
                          .time = s->time,
                          .input = s->input,
                          .slope = s->slope};
    int status = model_evaluate(m, m->unit_state, &ends, true, s->state);
    for (size_t i = 0; !status && i < m->spec->dim * n; i++)
        for (size_t t = 0; t < T; t++)
            s->unit[i * T + t] = (1.0 - s->share[t]) * s->state[2 * i] +
                                 s->share[t] * s->state[2 * i + 1];
    return status;
}

int gp_sites_squares(struct gp_sites *s, const gsv_model *m, double *squares)
{
    int status = gp_sites_place(s, m);
    *squares = 0.0;
    for (size_t i = 0; !status && i < m->spec->dim * s->gap_count; i++) {
        double dy = s->state[2 * i + 1] - s->state[2 * i];
        *squares += dy * dy / s->gaps.gap[s->gap[i % s->gap_count]].length;
    }
    return status;
}

/* --- Rows, a block at a time ---------------------------------------------- */

/* Numbers of all rows of a block. */
enum { BLOCK_NUMBERS = 1 << 20 };

static size_t block_size(const gsv_model *m, size_t gp)
{
    return BLOCK_NUMBERS >> 2 * m->spec->graph->gp[gp].axes;
}

/* Those of the points from the first on, at most `most`. */
static int rows_of(const struct gp_sites *s, const gsv_model *m, size_t gp,
                   size_t order, size_t first, size_t most, struct gp_rows *r)
{
    size_t axes = m->spec->graph->gp[gp].axes, left = s->count - first;
    size_t n = left < most ? left : most;
    const double *from = s->argument + gp * GRID_AXES * s->count + first;
    double *argument = NEW(double, axes *n);
    *r = (struct gp_rows){0};
    if (!argument) return GSV_NO_MEMORY;
    for (size_t k = 0; k < axes; k++)
        memcpy(argument + k * n, from + k * s->count, n * sizeof *argument);
    int status = gp_rows_init(r, m, gp, order, n, argument);
    mem_free(argument);
    return status;
}

static int add_up(struct gp_sites *s, const gsv_model *m, size_t gp)
{
    int status = 0;
    size_t block = block_size(m, gp);
    for (size_t j = 0; j < s->count && !status; j += block) {
        struct gp_rows r;
        status = rows_of(s, m, gp, 0, j, block, &r);
        if (!status)
            memcpy(s->sum + gp * s->count + j, r.sum,
                   r.points.count * sizeof *r.sum);
        gp_rows_free(&r);
    }
    return status;
}

int gp_sites_ask(struct gp_sites *s, const gsv_model *m)
{
    const struct spec *spec = m->spec;
    double *x = s->room, *z = x + spec->dim * s->count;
    struct points at = points_of(s, s->unit);
    int status = gp_sites_place(s, m);
    if (!status) status = model_evaluate(m, m->data_state, &at, true, x);
    at = points_of(s, x);
    if (!status) status = model_evaluate(m, spec->state_of_data, &at, true, z);
    at = points_of(s, z);
    for (size_t gp = 0; !status && gp < spec->gps; gp++) {
        status = model_evaluate(m, spec->gp[gp].argument, &at, true,
                                s->argument + gp * GRID_AXES * s->count);
        if (!status) status = add_up(s, m, gp);
    }
    return status;
}

/* --- Factors ------------------------------------------------------------- */

size_t gp_sites_factors(const struct gp_sites *s, size_t gp)
{
    size_t n = s->orders[gp].count;
    return n * (n + 1) / 2 * s->count;
}

/* factor (P) = length times the sum over rows i of a_i b_i. */
static void multiply(const struct gp_sites *s, const double *a, const double *b,
                     double *factor)
{
    size_t P = s->count;
    for (size_t j = 0; j < P; j++) {
        double sum = 0.0;
        for (size_t i = 0; i < s->m->spec->dim; i++)
            sum += a[i * P + j] * b[i * P + j];
        factor[j] = s->length[j] * sum;
        if (!isfinite(factor[j])) factor[j] = 0.0;
    }
}

/* Where the drift has derivatives of the function. */
static int find_factors(const struct gp_sites *s, const gsv_model *m, size_t gp,
                        size_t output, double *factor)
{
    const struct gp_orders *d = &s->orders[gp];
    const struct points at = points_of(s, s->unit);
    size_t n = d->size * s->count;
    double *slope = NEW(double, d->count *n);
    if (!slope) return GSV_NO_MEMORY;
    int status = gp_orders_slopes(d, m, &at, output, slope);
    for (size_t p = 0; !status && p < d->count; p++)
        for (size_t o = 0; o <= p; o++, factor += s->count)
            multiply(s, slope + o * n, slope + p * n, factor);
    mem_free(slope);
    return status;
}

int gp_sites_factor(struct gp_sites *s, const gsv_model *m, size_t gp,
                    size_t output, double *factor)
{
    if (!s->orders[gp].plain) return find_factors(s, m, gp, output, factor);
    struct points at = points_of(s, s->unit);
    int status = gp_slope(m, m->unit_drift, &at, gp, output,
                          s->sum + gp * s->count, s->room);
    if (!status) multiply(s, s->room, s->room, factor);
    return status;
}

double gp_sites_square(const struct gp_sites *s, const gsv_model *m, size_t gp,
                       const double *factor)
{
    const struct gp_orders *d = &s->orders[gp];
    double sum = 0.0;
    for (size_t p = 0; p < d->count; p++) {
        const double *own = factor + (p * (p + 1) / 2 + p) * s->count;
        double variance = gp_order_variance(m, gp, d->order[p]);
        for (size_t j = 0; j < s->count; j++)
            sum += own[j] * variance;
    }
    return sum;
}

/* --- Information --------------------------------------------------------- */

/* Rows a += sign b, and features. */
static void add_rows(size_t features, struct gp_rows *a,
                     const struct gp_rows *b, double sign)
{
    size_t n = a->points.count;
    for (size_t i = 0; i < n * a->points.touched; i++)
        a->weight[i] += sign * b->weight[i];
    for (size_t i = 0; i < n * features; i++)
        a->feature[i] += sign * b->feature[i];
}

/* factor (a b' + b a') over all points of a block, as with s = a + b and
 * d = a - b it is factor / 2 (s s' - d d'). half: room (count). */
static void add_crossed(struct gp_information *h, struct gp_rows *a,
                        const struct gp_rows *b, const double *factor,
                        double *half)
{
    size_t n = a->points.count;
    for (int minus = 0; minus < 2; minus++) {
        add_rows(h->features, a, b, minus ? -2.0 : 1.0);
        for (size_t j = 0; j < n; j++)
            half[j] = (minus ? -0.5 : 0.5) * factor[j];
        gp_information_add(h, &a->points, half);
    }
}

static bool all_zero(size_t n, const double *x)
{
    for (size_t i = 0; i < n; i++)
        if (x[i] != 0.0) return false;
    return true;
}

/* The pair o <= p, the points [first, first + n). */
static int add_pair(const struct gp_sites *s, const gsv_model *m, size_t gp,
                    size_t o, size_t p, size_t first, size_t n,
                    const double *factor, struct gp_information *h)
{
    const struct gp_orders *d = &s->orders[gp];
    struct gp_rows a = {0}, b = {0};
    if (o != p && all_zero(n, factor)) return 0;
    int status = rows_of(s, m, gp, d->order[o], first, n, &a);
    if (!status && o == p) gp_information_add(h, &a.points, factor);
    if (!status && o != p) {
        double *half = NEW(double, n);
        status =
            half ? rows_of(s, m, gp, d->order[p], first, n, &b) : GSV_NO_MEMORY;
        if (!status) add_crossed(h, &a, &b, factor, half);
        mem_free(half);
    }
    gp_rows_free(&a);
    gp_rows_free(&b);
    return status;
}

int gp_sites_add(const struct gp_sites *s, const gsv_model *m, size_t gp,
                 const double *factor, struct gp_information *h)
{
    int status = 0;
    size_t block = block_size(m, gp), orders = s->orders[gp].count;
    for (size_t p = 0; p < orders; p++)
        for (size_t o = 0; o <= p; o++, factor += s->count)
            for (size_t j = 0; j < s->count && !status; j += block) {
                size_t left = s->count - j, n = left < block ? left : block;
                status = add_pair(s, m, gp, o, p, j, n, factor + j, h);
            }
    return status;
}
