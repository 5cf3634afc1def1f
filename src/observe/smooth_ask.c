/* SPDX-License-Identifier: MIT */
/* What a smoother asks of its model: drift, densities, range, the first law,
 * states without noise; in blocks of points. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/linalg.h"
#include "observe/smooth_parts.h"

const double SMOOTH_BAD = 1e10;

/* --- Points --------------------------------------------------------------- */

/* y (P, d) to the block's states (d, P). */
static void put_states(struct smoother *s, size_t P, const double *y)
{
    for (size_t k = 0; k < P; k++)
        for (size_t i = 0; i < s->d; i++)
            s->state[i * P + k] = y[k * s->d + i];
}

static void put_rows(size_t rows, size_t P, const double *from, size_t stride,
                     double *to)
{
    for (size_t i = 0; i < rows; i++)
        memcpy(to + i * P, from + i * stride, P * sizeof *to);
}

/* Time, inputs and values at the stops [from, from + P). */
static struct points at_stops(struct smoother *s,
                              const struct smooth_track *track, size_t from,
                              size_t P)
{
    const struct spec *spec = s->model->spec;
    size_t integrals = s->inputs + spec->values;
    memcpy(s->time, track->time + from, P * sizeof *s->time);
    if (s->inputs)
        put_rows(s->inputs, P, track->input + from, track->stops, s->input);
    if (spec->values)
        put_rows(spec->values, P, track->value + from, track->stops,
                 s->input + s->inputs * P);
    for (size_t i = integrals; i < s->columns; i++)
        for (size_t k = 0, n = from; k < P; k++, n++)
            s->input[i * P + k] = n ? track->time[n] - track->time[n - 1] : 0.0;
    memset(s->slope, 0, s->inputs * P * sizeof *s->slope);
    return (struct points){.P = P,
                           .state = s->state,
                           .time = s->time,
                           .input = s->input,
                           .slope = s->slope};
}

/* Time and inputs in the middle of the gaps that end there. */
static struct points at_middles(struct smoother *s,
                                const struct smooth_track *track, size_t from,
                                size_t P)
{
    for (size_t k = 0, n = from; k < P; k++, n++)
        s->time[k] = 0.5 * (track->time[n - 1] + track->time[n]);
    memset(s->slope, 0, s->inputs * P * sizeof *s->slope);
    if (s->inputs)
        put_rows(s->inputs, P, track->middle_input + from, track->stops,
                 s->input);
    if (s->inputs && track->middle_slope)
        put_rows(s->inputs, P, track->middle_slope + from, track->stops,
                 s->slope);
    return (struct points){.P = P,
                           .state = s->state,
                           .time = s->time,
                           .input = s->input,
                           .slope = s->slope};
}

static void forward(struct smooth_part *p, const struct points *in)
{
    program_forward(p->program, &p->uniforms, &p->workspace, in);
}

static const double *output(const struct smooth_part *p, size_t P, size_t i)
{
    return program_output(p->program, &p->workspace, P, i);
}

/* The outputs moved along element j of the state. */
static void along(struct smoother *s, struct smooth_part *p,
                  const struct points *in, size_t j)
{
    memset(s->dot, 0, s->d * in->P * sizeof *s->dot);
    for (size_t k = 0; k < in->P; k++)
        s->dot[j * in->P + k] = 1.0;
    program_jvp(p->program, &p->uniforms, &p->workspace, in, s->dot);
}

static const double *moved(const struct smooth_part *p, size_t P, size_t i)
{
    return program_output_dot(p->program, &p->workspace, P, i);
}

/* --- Drift ---------------------------------------------------------------- */

/* At the block's points, to f (P, d) and A (P, d, d). */
static void drift_at(struct smoother *s, const struct points *in, double *f,
                     double *A)
{
    size_t d = s->d, P = in->P;
    forward(&s->drift, in);
    const double *found = output(&s->drift, P, 0);
    for (size_t k = 0; k < P; k++)
        for (size_t i = 0; i < d; i++)
            f[k * d + i] = found[i * P + k];
    for (size_t j = 0; j < d; j++) {
        along(s, &s->drift, in, j);
        const double *column = moved(&s->drift, P, 0);
        for (size_t k = 0; k < P; k++)
            for (size_t i = 0; i < d; i++)
                A[(k * d + i) * d + j] = column[i * P + k];
    }
}

bool smooth_drift(struct smoother *s, const struct smooth_track *track,
                  size_t n, double time, const double *y, double *f, double *A)
{
    struct points in = at_middles(s, track, n, 1);
    s->time[0] = time;
    put_states(s, 1, y);
    drift_at(s, &in, f, A);
    return all_finite(s->d, f) && all_finite(s->d * s->d, A);
}

void smooth_drifts(struct smoother *s, const struct smooth_track *track,
                   size_t from, size_t count, const double *path, double *f,
                   double *A)
{
    size_t d = s->d;
    struct points in = at_middles(s, track, from, count);
    const double *y1 = path + from * d;
    double *middle = vector_of(s, 0);
    for (size_t k = 0; k < count; k++, y1 += d) {
        smooth_middle(s, track, from + k, y1 - d, y1, middle);
        for (size_t i = 0; i < d; i++)
            s->state[i * count + k] = middle[i];
    }
    drift_at(s, &in, f, A);
}

/* --- Densities ------------------------------------------------------------ */

/* Whether obs i was observed at stop n. */
static bool is_present(const struct smoother *s,
                       const struct smooth_track *track, size_t n, size_t i)
{
    const struct obs_spec *obs = &s->model->spec->obs[i];
    if (obs->integrated && !n) return false;
    for (size_t v = obs->value; v < obs->value + obs->values; v++)
        if (isnan(track->value[v * track->stops + n])) return false;
    return true;
}

/* Whether obs i was observed at point k of a block that begins with stop from,
 * and is finite there. */
static bool is_usable(const struct smoother *s,
                      const struct smooth_track *track, size_t from, size_t P,
                      size_t k, size_t i, bool *present)
{
    const double *g = output(&s->density, P, 2 * i + 1);
    *present = is_present(s, track, from + k, i);
    if (!*present || !isfinite(output(&s->density, P, 2 * i)[k])) return false;
    for (size_t j = 0; j < s->d; j++)
        if (!isfinite(g[j * P + k])) return false;
    return true;
}

/* A symmetric matrix (d, d) becomes a root H of the positive part of minus it,
 * H'H. Uses matrix 0 and vector 0. */
static bool find_root(struct smoother *s, double *matrix)
{
    size_t d = s->d;
    double *E = matrix_of(s, 0), *w = vector_of(s, 0);
    bool zero = true;
    if (!all_finite(d * d, matrix)) return false;
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++) {
            E[i * d + j] = -0.5 * (matrix[i * d + j] + matrix[j * d + i]);
            zero = zero && E[i * d + j] == 0.0;
        }
    if (zero) return true;
    w[0] = E[0];
    if (d == 1) E[0] = 1.0;
    else if (!linalg_eigen(d, E, w, s->eigen_room)) return false;
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++)
            matrix[i * d + j] = w[i] > 0.0 ? sqrt(w[i]) * E[i * d + j] : 0.0;
    return true;
}

/* Adds the values and gradients; and a column of the Hessians. */
static void add_densities(struct smoother *s, const struct smooth_track *track,
                          size_t from, size_t P, double *value, double *g)
{
    size_t d = s->d;
    bool present;
    for (size_t i = 0; i < s->model->spec->observations; i++)
        for (size_t k = 0; k < P; k++) {
            bool usable = is_usable(s, track, from, P, k, i, &present);
            if (present && !usable) value[k] -= SMOOTH_BAD;
            if (!usable) continue;
            value[k] += output(&s->density, P, 2 * i)[k];
            for (size_t j = 0; j < d; j++)
                g[k * d + j] += output(&s->density, P, 2 * i + 1)[j * P + k];
        }
}

static void add_column(struct smoother *s, const struct smooth_track *track,
                       size_t from, size_t P, size_t column, double *H)
{
    size_t d = s->d;
    bool present;
    for (size_t i = 0; i < s->model->spec->observations; i++)
        for (size_t k = 0; k < P; k++) {
            if (!is_usable(s, track, from, P, k, i, &present)) continue;
            const double *dot = moved(&s->density, P, 2 * i + 1);
            for (size_t j = 0; j < d; j++)
                H[(k * d + j) * d + column] += dot[j * P + k];
        }
}

void smooth_densities(struct smoother *s, const struct smooth_track *track,
                      size_t from, size_t count, const double *y, double *value,
                      double *g, double *H)
{
    size_t d = s->d, dd = d * d;
    memset(value, 0, count * sizeof *value);
    memset(g, 0, count * d * sizeof *g);
    memset(H, 0, count * dd * sizeof *H);
    if (!s->density.program) return;
    struct points in = at_stops(s, track, from, count);
    put_states(s, count, y);
    forward(&s->density, &in);
    add_densities(s, track, from, count, value, g);
    for (size_t j = 0; j < d; j++) {
        along(s, &s->density, &in, j);
        add_column(s, track, from, count, j, H);
    }
    for (size_t k = 0; k < count; k++) {
        if (find_root(s, H + k * dd)) continue;
        value[k] -= SMOOTH_BAD;
        memset(H + k * dd, 0, dd * sizeof *H);
        memset(g + k * d, 0, d * sizeof *g);
    }
}

/* --- Range ---------------------------------------------------------------- */

static bool is_inside(const struct smoother *s, size_t P, size_t k)
{
    const double *margin = output(&s->range, P, 0);
    size_t conditions = graph_size(s->graph, s->model->range);
    for (size_t i = 0; i < conditions; i++)
        if (!(margin[i * P + k] > 0.0)) return false;
    return true;
}

void smooth_confine(struct smoother *s, const struct smooth_track *track,
                    size_t from, size_t count, const double *inside, double *y)
{
    enum { HALVINGS = 40 };
    size_t d = s->d;
    bool done = !s->range.program;
    for (int i = 0; !done && i <= HALVINGS; i++) {
        struct points in = at_stops(s, track, from, count);
        put_states(s, count, y);
        forward(&s->range, &in);
        done = true;
        double share = i < HALVINGS ? 0.5 : 0.0;
        for (size_t k = 0; k < count; k++) {
            if (is_inside(s, count, k)) continue;
            done = false;
            for (size_t e = k * d; e < (k + 1) * d; e++)
                y[e] = inside[e] + share * (y[e] - inside[e]);
        }
    }
}

bool smooth_inside(struct smoother *s, const struct smooth_track *track,
                   size_t n, const double *y)
{
    if (!all_finite(s->d, y)) return false;
    if (!s->range.program) return true;
    struct points in = at_stops(s, track, n, 1);
    put_states(s, 1, y);
    forward(&s->range, &in);
    return is_inside(s, 1, 0);
}

/* --- Densities of one stop ------------------------------------------------ */

/* Time, inputs and values of stop n at P points. */
static struct points at_stop(struct smoother *s,
                             const struct smooth_track *track, size_t n,
                             size_t P)
{
    struct points in = at_stops(s, track, n, 1);
    for (size_t i = s->columns; i-- > 0;)
        for (size_t k = P; k-- > 0;)
            s->input[i * P + k] = s->input[i];
    for (size_t k = 1; k < P; k++)
        s->time[k] = s->time[0];
    memset(s->slope, 0, s->inputs * P * sizeof *s->slope);
    in.P = P;
    return in;
}

bool smooth_values(struct smoother *s, const struct smooth_track *track,
                   size_t n, size_t P, const double *y, double *value)
{
    bool any = false;
    memset(value, 0, P * sizeof *value);
    if (!s->density.program) return false;
    struct points in = at_stop(s, track, n, P);
    put_states(s, P, y);
    forward(&s->density, &in);
    for (size_t i = 0; i < s->model->spec->observations; i++) {
        if (!is_present(s, track, n, i)) continue;
        any = true;
        for (size_t k = 0; k < P; k++)
            value[k] += output(&s->density, P, 2 * i)[k];
    }
    if (any && s->range.program) forward(&s->range, &in);
    for (size_t k = 0; k < P; k++)
        if (!isfinite(value[k]) || (s->range.program && !is_inside(s, P, k)))
            value[k] = -INFINITY;
    return any;
}

/* --- The first law -------------------------------------------------------- */

/* With y = T(z) and T' at z: the mean T(z), the covariance T' D^2 T''. false
 * where z is not in T's domain. Uses matrices 0 and 1. */
static bool first_at(struct smoother *s, struct points *in, const double *z,
                     const double *deviation)
{
    size_t d = s->d;
    double *J = matrix_of(s, 0), *L = matrix_of(s, 1);
    memcpy(s->state, z, d * sizeof *z);
    forward(&s->first, in);
    memcpy(s->first_mean, output(&s->first, 1, 2), d * sizeof *z);
    for (size_t j = 0; j < d; j++) {
        along(s, &s->first, in, j);
        for (size_t i = 0; i < d; i++)
            J[i * d + j] = moved(&s->first, 1, 2)[i] * deviation[j];
    }
    linalg_product(d, d, d, J, false, J, true, s->first_cov);
    memcpy(L, s->first_cov, d * d * sizeof *L);
    if (!all_finite(d, s->first_mean) || !linalg_cholesky(d, L)) return false;
    if (!s->range.program) return true;
    memcpy(s->state, s->first_mean, d * sizeof *z);
    forward(&s->range, in);
    return is_inside(s, 1, 0);
}

int smooth_first(struct smoother *s, const struct smooth_track *track)
{
    static const double away[] = {0.0, 0.1, -0.1, 0.5, -0.5, 1.0, -1.0};
    size_t d = s->d;
    double *mean = vector_of(s, 0), *deviation = vector_of(s, 1);
    double *z = vector_of(s, 2);
    struct points in = at_stops(s, track, 0, 1);
    memset(s->state, 0, d * sizeof *s->state);
    forward(&s->first, &in);
    memcpy(mean, output(&s->first, 1, 0), d * sizeof *mean);
    memcpy(deviation, output(&s->first, 1, 1), d * sizeof *deviation);
    for (size_t i = 0; i < d; i++) {
        /* A state that stands still still has a covariance that factors. */
        double least = 1e-8 * (1.0 + fabs(mean[i]));
        deviation[i] = fmax(fabs(deviation[i]), least);
    }
    /* A wide law may have its mean outside of the domain. */
    for (size_t a = 0; a < sizeof away / sizeof *away; a++) {
        for (size_t i = 0; i < d; i++) {
            double exact = track->exact ? track->exact[i * track->stops] : NAN;
            z[i] = isnan(exact) ? mean[i] + away[a] * deviation[i] : exact;
        }
        if (first_at(s, &in, z, deviation)) return 0;
    }
    return fail(GSV_NUMERICAL,
                "the first state's law, of mean %g in its first element, is "
                "not where the model's noise is defined",
                mean[0]);
}

/* --- States without noise ------------------------------------------------- */

/* Each state is stretched by itself, so that u_i is known where z_i is. */
static void fix_block(struct smoother *s, const struct smooth_track *track,
                      size_t from, size_t P)
{
    size_t d = s->d;
    struct points in = at_stops(s, track, from, P);
    put_rows(d, P, track->exact + from, track->stops, s->state);
    forward(&s->pin, &in);
    const double *u = output(&s->pin, P, 0), *sigma = output(&s->pin, P, 1);
    bool diagonal = s->model->spec->diagonal;
    for (size_t k = 0; k < P; k++) {
        double *fixed = s->stop.fixed + (from + k) * d;
        double *to = s->stop.sigma + (from + k) * d * d;
        for (size_t i = 0; i < d; i++) {
            double z = track->exact[i * track->stops + from + k];
            fixed[i] = isfinite(z) ? u[i * P + k] : NAN;
            for (size_t j = 0; j < d; j++)
                to[i * d + j] = !diagonal ? sigma[(i * d + j) * P + k]
                                : i == j  ? sigma[i * P + k]
                                          : 0.0;
        }
    }
}

void smooth_fix(struct smoother *s, const struct smooth_track *track)
{
    for (size_t e = 0; s->pinned && e < track->stops * s->d; e++)
        s->stop.fixed[e] = NAN;
    if (!s->pinned || !track->exact) return;
    for (size_t from = 0; from < track->stops; from += SMOOTH_BLOCK) {
        size_t left = track->stops - from;
        fix_block(s, track, from, left < SMOOTH_BLOCK ? left : SMOOTH_BLOCK);
    }
}
