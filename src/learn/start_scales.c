/* SPDX-License-Identifier: MIT */
/* Scales of networks,
 *
 *     f(x) = output_mean + output_scale net((x - input_mean) / input_scale).
 *
 * Inputs are standardised over the data. For the outputs, the states' rates
 * r = dz/dt less the drift without networks are what the networks must make
 * up; output j at scale 1 moves state i by c_ij, which is kappa_ij times as
 * much as the network itself varies, so scale_j = deviation of r_i / kappa_ij.
 * A rate of one gap is drift and noise; the product of the rates of two
 * neighbouring gaps has the noise averaged away: where it is small against
 * their squares, it is what the drift's deviation is taken from.
 *
 * And scales of flows, which are those of the data themselves; and where grids
 * are. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "learn/sample.h"
#include "learn/start.h"
#include "model/gp_rows.h"

enum { SAMPLE = 256, FLOW_SAMPLE = 2048 };

struct rates {
    double mean, deviation;
};

struct scaling {
    gsv_model *m;
    struct sample sample;
    double *state;      /* (d, P) the states there          */
    double *after;      /* (d, count) one gap later         */
    struct points ends; /* of the gaps, as states           */
    double *drift;      /* (d, P) without networks          */
    double *moved;      /* (d, P) with one output           */
    double *net;        /* (most inputs or outputs, P)      */
    struct rates *rate; /* (d) */
    bool *scaled;       /* (nets): had its scales before     */
    struct arena arena;
};

static double *scales(const struct scaling *z, size_t net)
{
    return z->m->value + net_scales(z->m->spec->graph, net);
}

static const struct net *net_of(const struct scaling *z, size_t net)
{
    return &z->m->spec->graph->net[net];
}

static size_t inputs_of(const struct scaling *z, size_t net)
{
    return net_of(z, net)->width[0];
}

static size_t outputs_of(const struct scaling *z, size_t net)
{
    const struct net *n = net_of(z, net);
    return n->width[n->layers];
}

static void moments(size_t n, const double *x, double *mean, double *deviation)
{
    double sum = 0.0, squares = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    *mean = sum / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (x[i] - *mean) * (x[i] - *mean);
    *deviation = sqrt(squares / (double)n);
}

static bool usable(double scale)
{
    return isfinite(scale) && scale > 1e-300;
}

/* n rows of P numbers to their means and deviations. A constant gives nothing
 * to scale by. */
static void standardise(size_t n, size_t P, const double *x, double *mean,
                        double *scale)
{
    for (size_t i = 0; i < n; i++) {
        double at, deviation;
        moments(P, x + i * P, &at, &deviation);
        bool varies = usable(deviation) && deviation > 1e-12 * fabs(at);
        if (isfinite(at)) mean[i] = at;
        scale[i] = varies ? deviation : 1.0;
    }
}

/* --- Inputs ------------------------------------------------------------- */

static int scale_inputs(struct scaling *z, size_t net)
{
    size_t n = inputs_of(z, net), P = z->sample.ends.P;
    double *mean = scales(z, net), *scale = mean + n;
    /* The argument itself, whatever the scales are. */
    node argument = z->m->spec->net[net].argument;
    int status = model_evaluate(z->m, argument, &z->ends, false, z->net);
    if (!status) standardise(n, P, z->net, mean, scale);
    return status;
}

/* --- Outputs ------------------------------------------------------------ */

/* The gap that begins where one of the sample ends; itself where none does. */
static struct gap next_gap(const struct sample *a, size_t g)
{
    const struct gap *gap = &a->gap[g];
    bool last = gap->number + 1 == a->gaps.first[gap->track + 1];
    return last ? *gap : gaps_at(&a->gaps, gap->number + 1);
}

/* Of state i: the mean and the deviation of what the drift still lacks. */
static struct rates measure_rates(const struct scaling *z, size_t i)
{
    const struct sample *a = &z->sample;
    const double *f = z->drift + i * a->ends.P;
    const double *x = z->state + i * a->ends.P;
    const double *after = z->after + i * a->count;
    double sum = 0.0, squares = 0.0, products = 0.0, pairs = 0.0;
    double n = (double)a->count;
    for (size_t g = 0; g < a->count; g++) {
        struct gap next = next_gap(a, g);
        double r = (x[2 * g + 1] - x[2 * g]) / a->gap[g].length - f[2 * g];
        sum += r;
        squares += r * r;
        if (next.number == a->gap[g].number) continue;
        double rate = (after[g] - x[2 * g + 1]) / next.length;
        products += r * (rate - f[2 * g + 1]);
        pairs += 1.0;
    }
    double mean = sum / n, variance = squares / n - mean * mean;
    double common = pairs > 8.0 ? products / pairs - mean * mean : variance;
    /* A value below the noise of the products cannot be distinguished from 0.
     */
    double drift = fmax(common, variance / sqrt(fmax(pairs, 1.0)));
    if (common > 0.25 * variance) drift = variance;
    return (struct rates){mean, sqrt(fmax(drift, 0.0))};
}

static void set_outputs(struct scaling *z, size_t net, double scale)
{
    size_t in = inputs_of(z, net), out = outputs_of(z, net);
    double *mean = scales(z, net) + 2 * in;
    for (size_t j = 0; j < out; j++) {
        mean[j] = 0.0;
        mean[out + j] = scale;
    }
}

static double root_mean_square(size_t n, const double *x)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += x[i] * x[i];
    return sqrt(sum / (double)n);
}

/* The factor where c is a constant times f at all points, else 0. */
static double factor(size_t n, const double *c, const double *f)
{
    double cf = 0.0, ff = 0.0, worst = 0.0;
    for (size_t i = 0; i < n; i++) {
        cf += c[i] * f[i];
        ff += f[i] * f[i];
    }
    double kappa = cf / ff;
    for (size_t i = 0; i < n; i++)
        worst = fmax(worst, fabs(c[i] - kappa * f[i]));
    return worst < 1e-6 * fabs(kappa) * sqrt(ff / (double)n) ? kappa : 0.0;
}

/* With output j alone at scale 1: which states move, and how much. */
static void scale_output(struct scaling *z, size_t j, double *mean,
                         double *scale)
{
    size_t P = z->sample.ends.P, d = z->m->spec->dim, moving = 0;
    const double *f = z->net + j * P;
    double own = root_mean_square(P, f), best = INFINITY, shift = 0.0;
    for (size_t i = 0; i < d; i++) {
        double *c = z->moved + i * P;
        for (size_t p = 0; p < P; p++)
            c[p] -= z->drift[i * P + p];
        double kappa = root_mean_square(P, c) / own;
        double wanted = z->rate[i].deviation / kappa;
        if (!usable(kappa) || !usable(wanted)) continue;
        double same = factor(P, c, f);
        moving++;
        best = fmin(best, wanted);
        shift = same != 0.0 ? z->rate[i].mean / same : 0.0;
    }
    *scale = usable(best) ? best : 1.0;
    *mean = moving == 1 ? shift : 0.0;
}

/* The network itself at scale 1, then the drift with one output at a time. */
static int scale_outputs(struct scaling *z, size_t net, double *mean,
                         double *scale)
{
    const struct spec *spec = z->m->spec;
    const struct points *ends = &z->ends;
    size_t in = inputs_of(z, net), out = outputs_of(z, net);
    double *stretch = scales(z, net) + 2 * in + out;
    set_outputs(z, net, 1.0);
    int status =
        model_evaluate(z->m, spec->net[net].value, ends, false, z->net);
    set_outputs(z, net, 0.0);
    for (size_t j = 0; !status && j < out; j++) {
        stretch[j] = 1.0;
        status = model_evaluate(z->m, spec->drift, ends, false, z->moved);
        if (!status) scale_output(z, j, &mean[j], &scale[j]);
        stretch[j] = 0.0;
    }
    return status;
}

/* All networks together, each against the drift without any. */
static int scale_all_outputs(struct scaling *z)
{
    const struct spec *spec = z->m->spec;
    size_t total = 0, at = 0;
    for (size_t n = 0; n < spec->nets; n++)
        total += outputs_of(z, n);
    double *mean = NEW(double, total), *scale = NEW(double, total);
    int status = mean && scale ? 0 : GSV_NO_MEMORY;
    for (size_t n = 0; n < spec->nets; n++)
        if (!z->scaled[n]) set_outputs(z, n, 0.0);
    if (!status)
        status = model_evaluate(z->m, spec->drift, &z->ends, false, z->drift);
    for (size_t i = 0; !status && i < spec->dim; i++)
        z->rate[i] = measure_rates(z, i);
    for (size_t n = 0; !status && n < spec->nets; at += outputs_of(z, n++))
        if (!z->scaled[n]) status = scale_outputs(z, n, mean + at, scale + at);
    at = 0;
    for (size_t n = 0; !status && n < spec->nets; at += outputs_of(z, n++)) {
        size_t in = inputs_of(z, n), out = outputs_of(z, n);
        double *to = scales(z, n) + 2 * in;
        if (z->scaled[n]) continue;
        memcpy(to, mean + at, out * sizeof *to);
        memcpy(to + out, scale + at, out * sizeof *to);
    }
    MEM_FREE(mean, scale);
    return status;
}

/* --- Both --------------------------------------------------------------- */

static bool has_scales(const struct scaling *z, size_t net)
{
    size_t in = inputs_of(z, net), out = outputs_of(z, net);
    const double *v = scales(z, net);
    for (size_t i = 0; i < 2 * (in + out); i++) {
        bool ones = i < 2 * in ? i >= in : i >= 2 * in + out;
        if (v[i] != (ones ? 1.0 : 0.0)) return true;
    }
    return false;
}

/* The states at the ends of gaps, and at the ends of those that follow. */
static int find_states(struct scaling *z)
{
    const struct sample *a = &z->sample;
    const gsv_series *s = a->gaps.series;
    size_t d = z->m->spec->dim, n = a->count;
    node map = z->m->spec->state_of_data;
    double *x = NEW(double, d *n), *time = NEW(double, n);
    int status = x && time ? 0 : GSV_NO_MEMORY;
    for (size_t g = 0; !status && g < n; g++) {
        struct gap last = next_gap(a, g);
        time[g] = last.start + last.length;
        for (size_t i = 0; i < d; i++)
            x[i * n + g] = s->value[a->gaps.column[i] * s->rows + last.to];
    }
    struct points later = {.P = n, .state = x, .time = time};
    if (!status) status = model_evaluate(z->m, map, &later, false, z->after);
    if (!status) status = model_evaluate(z->m, map, &a->ends, false, z->state);
    z->ends = a->ends;
    z->ends.state = z->state;
    MEM_FREE(x, time);
    return status;
}

static int scaling_init(struct scaling *z, gsv_model *m, const gsv_series *s)
{
    const struct spec *spec = m->spec;
    size_t widest = 1;
    *z = (struct scaling){.m = m};
    int status = sample_init(&z->sample, m, s, SAMPLE);
    if (status) return status;
    for (size_t n = 0; n < spec->nets; n++) {
        if (inputs_of(z, n) > widest) widest = inputs_of(z, n);
        if (outputs_of(z, n) > widest) widest = outputs_of(z, n);
    }
    size_t P = z->sample.ends.P;
    const struct arena_part part[] = {{&z->state, spec->dim * P},
                                      {&z->after, spec->dim * P},
                                      {&z->drift, spec->dim * P},
                                      {&z->moved, spec->dim * P},
                                      {&z->net, widest * P}};
    z->rate = NEW(struct rates, spec->dim);
    z->scaled = NEW(bool, spec->nets);
    if (!z->rate || !z->scaled ||
        arena_lay(&z->arena, sizeof part / sizeof *part, part))
        return GSV_NO_MEMORY;
    for (size_t n = 0; n < spec->nets; n++)
        z->scaled[n] = spec->net[n].flow || has_scales(z, n);
    return find_states(z);
}

/* Inputs twice: a network's argument may be another network. */
int start_scales(gsv_model *m, const gsv_series *s)
{
    struct scaling z;
    if (!m->spec->nets) return 0;
    int status = scaling_init(&z, m, s);
    for (int pass = 0; !status && pass < 2; pass++) {
        for (size_t n = 0; !status && n < m->spec->nets; n++)
            if (!z.scaled[n]) status = scale_inputs(&z, n);
        if (!status && pass == 0) status = scale_all_outputs(&z);
    }
    sample_free(&z.sample);
    arena_free(&z.arena);
    MEM_FREE(z.rate, z.scaled);
    return status;
}

/* --- Flows -------------------------------------------------------------- */

/* n rows of P numbers to n means and the n scales after them, unless these are
 * set already. */
static void scale_rows(size_t n, size_t P, const double *x, double *mean)
{
    for (size_t i = 0; i < n; i++)
        if (mean[i] != 0.0 || mean[n + i] != 1.0) return;
    standardise(n, P, x, mean, mean + n);
}

int start_flows(gsv_model *m, const gsv_series *s)
{
    const struct spec *spec = m->spec;
    struct sample a;
    if (!spec->flows) return 0;
    int status = sample_init(&a, m, s, FLOW_SAMPLE);
    for (size_t i = 0; !status && i < spec->flows; i++) {
        const struct flow_spec *f = &spec->flow[i];
        double *mean = m->value + f->offset;
        double *x = NEW(double, f->size *a.ends.P);
        status = x ? model_evaluate(m, f->argument, &a.ends, true, x)
                   : GSV_NO_MEMORY;
        if (!status) scale_rows(f->size, a.ends.P, x, mean);
        if (!status && f->timed)
            scale_rows(1, a.ends.P, a.time, mean + 2 * f->size);
        mem_free(x);
    }
    sample_free(&a);
    return status;
}

/* --- Grids ---------------------------------------------------------------- */

/* Grids of Gaussian-process functions that the text does not place are put over
 * their arguments in the data, with a margin on both sides. */
static const double MARGIN = 0.2;

int start_grids(gsv_model *m, const gsv_series *s)
{
    for (size_t gp = 0; gp < m->spec->gps; gp++) {
        double low[GRID_AXES], high[GRID_AXES];
        size_t axes = m->spec->graph->gp[gp].axes;
        if (gp_is_placed(m, gp)) continue;
        int status = gp_range(m, s, gp, low, high);
        if (status) return status;
        for (size_t k = 0; k < axes; k++) {
            double range = high[k] - low[k], middle = 0.5 * (high[k] + low[k]);
            /* What is constant gives no range. */
            double margin = range > 1e-12 * fabs(middle)
                                ? MARGIN * range
                                : fmax(1.0, fabs(middle));
            low[k] -= margin;
            high[k] += margin;
        }
        gp_place(m, gp, low, high);
    }
    return 0;
}
