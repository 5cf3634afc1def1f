/* SPDX-License-Identifier: MIT */
/* Gaps of one step against a linear reference: no path is drawn, and
 *
 *     log p = log |det dT/dx| + log N(y1; Phi y0 + Gamma g, Q),
 *     g = f(z) - A z,   z = Phi_half y0 + Gamma_half b,
 *
 * the midpoint form of weigh.h with one step. This is where learning spends
 * most of its time, on few gaps at once: so all gaps of an item go through
 * every line together (many.h) instead of one after the other. */
#include <math.h>
#include <string.h>

#include "bridge/estimate.h"

#include "base/constant.h"
#include "bridge/many.h"

enum { MATRICES = 8, VECTORS = 7 };

struct single {
    size_t d, n;
    double *A, *Phi, *Gamma, *Q, *Phi_half, *Gamma_half; /* (d, d, n) */
    double *y0, *y1, *b, *g, *q, *z_bar, *bar;           /* (d, n)    */
    double *dt, *value;                                  /* (n)       */
    double *scratch;                                     /* (2, d, d, n), (n) */
};

static size_t most_gaps(const struct estimate *e)
{
    return e->batch < e->capacity ? e->batch : e->capacity;
}

bool single_applies(const struct estimate *e)
{
    const gsv_options *o = e->options;
    bool form = o->form == GSV_FORM_AUTO || o->form == GSV_FORM_MIDPOINT;
    return e->longest == 1 && e->d <= MANY_DIM && !o->joint && !e->frozen &&
           form && o->reference != GSV_REFERENCE_BROWNIAN &&
           e->weigher->gaussian;
}

size_t single_size(const struct estimate *e)
{
    size_t d = e->d;
    if (e->longest != 1 || d > MANY_DIM || !e->weigher->gaussian) return 0;
    return most_gaps(e) * (d * (MATRICES * d + VECTORS) + 3);
}

static struct single single_of(const struct estimate *e, double *memory,
                               size_t n)
{
    struct single s = {.d = e->d, .n = n};
    size_t dd = e->d * e->d * n, d = e->d * n;
    double **matrix[] = {&s.A, &s.Phi,      &s.Gamma,
                         &s.Q, &s.Phi_half, &s.Gamma_half};
    double **vector[] = {&s.y0, &s.y1, &s.b, &s.g, &s.q, &s.z_bar, &s.bar};
    for (size_t i = 0; i < MATRICES - 2; i++, memory += dd)
        *matrix[i] = memory;
    for (size_t i = 0; i < VECTORS; i++, memory += d)
        *vector[i] = memory;
    s.dt = memory;
    s.value = memory + n;
    s.scratch = memory + 2 * n;
    return s;
}

/* --- Ends and the linearisation ----------------------------------------- */

/* Points [0, n) are the earlier ends, [n, 2n) the later ones. */
static struct points read_ends(const struct estimate *e, struct scratch *s,
                               const struct gap *gap, size_t n)
{
    size_t P = 2 * n;
    double pair[2 * MANY_DIM];
    for (size_t i = 0; i < n; i++) {
        gap_ends(&e->gaps, &gap[i], pair, 2);
        for (size_t k = 0; k < e->d; k++) {
            s->x[k * P + i] = pair[2 * k];
            s->x[k * P + n + i] = pair[2 * k + 1];
        }
        s->end_time[i] = gap[i].start;
        s->end_time[n + i] = gap[i].end;
        for (size_t j = 0; e->inputs && j < 2; j++)
            gap_inputs(&e->gaps, gap[i].track, s->end_time[j * n + i], j,
                       s->end_input + j * n + i, s->end_slope + j * n + i, P);
    }
    memset(s->x + e->d * P, 0, e->d * P * sizeof *s->x);
    return (struct points){.P = P,
                           .state = s->x,
                           .time = s->end_time,
                           .input = s->end_input,
                           .slope = s->end_slope};
}

static void map_ends(const struct estimate *e, struct scratch *s,
                     const struct gap *gap, struct single *w)
{
    struct points in = read_ends(e, s, gap, w->n);
    program_forward(e->map, &e->map_uniforms, &s->map, &in);
    const double *y = program_output(e->map, &s->map, in.P, 0);
    const double *jacobian = program_output(e->map, &s->map, in.P, 1);
    for (size_t k = 0; k < w->d; k++) {
        memcpy(w->y0 + k * w->n, y + k * in.P, w->n * sizeof *y);
        memcpy(w->y1 + k * w->n, y + k * in.P + w->n, w->n * sizeof *y);
    }
    memcpy(w->value, jacobian + w->n, w->n * sizeof *w->value);
}

/* Where f is: in the middle of the gaps' time, at the places in s->Z. */
static struct points middle_points(const struct estimate *e, struct scratch *s,
                                   const struct gap *gap, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        s->time[i] = gap[i].start + 0.5 * gap[i].length;
        if (e->inputs)
            gap_inputs(&e->gaps, gap[i].track, s->time[i], false, s->input + i,
                       s->slope + i, n);
    }
    return (struct points){.P = n,
                           .state = s->Z,
                           .time = s->time,
                           .input = s->input,
                           .slope = s->slope};
}

static void chord_middles(const struct single *w, double *middle)
{
    for (size_t k = 0; k < w->d * w->n; k++)
        middle[k] = 0.5 * (w->y0[k] + w->y1[k]);
}

/* f, A = df/dy and b = f - A y at the chord's middle; the drift's energy is
 * noted on the way. */
static void linearise(struct estimate *e, struct scratch *s,
                      const struct gap *gap, size_t group, struct single *w)
{
    size_t d = w->d, n = w->n;
    chord_middles(w, s->Z);
    struct points in = middle_points(e, s, gap, n);
    program_forward(e->unit, &e->unit_uniforms, &s->unit, &in);
    memcpy(w->b, program_output(e->unit, &s->unit, n, 0), d * n * sizeof *w->b);
    for (size_t j = 0; j < d; j++) {
        memset(s->dot, 0, d * n * sizeof *s->dot);
        for (size_t i = 0; i < n; i++)
            s->dot[j * n + i] = 1.0;
        program_jvp(e->unit, &e->unit_uniforms, &s->unit, &in, s->dot);
        const double *f_dot = program_output_dot(e->unit, &s->unit, n, 0);
        for (size_t k = 0; k < d; k++)
            memcpy(w->A + (k * d + j) * n, f_dot + k * n, n * sizeof *f_dot);
    }
    for (size_t i = 0; i < n; i++) {
        double square = 0.0;
        for (size_t k = 0; k < d; k++)
            square += w->b[k * n + i] * w->b[k * n + i];
        e->finding[group + i] =
            (struct finding){.reference = GSV_REFERENCE_LINEAR,
                             .form = GSV_FORM_MIDPOINT,
                             .khat = NAN,
                             .energy = square * gap[i].length / (double)d};
    }
    many_times(d, n, w->A, false, s->Z, false, w->g);
    for (size_t k = 0; k < d * n; k++)
        w->b[k] -= w->g[k];
}

/* --- The value ---------------------------------------------------------- */

/* Q becomes its Cholesky factor, and q = Q^-1 (y1 - Phi y0 - Gamma g). */
static bool add_density(struct single *w)
{
    size_t d = w->d, n = w->n;
    if (!many_cholesky(d, n, w->Q)) return false;
    many_times(d, n, w->Phi, false, w->y0, false, w->q);
    many_times(d, n, w->Gamma, false, w->g, true, w->q);
    for (size_t k = 0; k < d * n; k++)
        w->q[k] = w->y1[k] - w->q[k];
    many_solve(d, n, w->Q, false, w->q);
    for (size_t k = 0; k < d; k++)
        for (size_t i = 0; i < n; i++) {
            double half = w->q[k * n + i];
            w->value[i] -= 0.5 * (half * half + LOG_TWO_PI) +
                           log(w->Q[(k * d + k) * n + i]);
        }
    many_solve(d, n, w->Q, true, w->q);
    return true;
}

/* A forecast beyond T's range is replaced by the gap's earlier end. */
static void stay_inside(const struct estimate *e, struct scratch *s,
                        const struct points *in, struct single *w)
{
    size_t d = w->d, n = w->n;
    range_look(e, s, &e->range_uniforms, in);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; s->outside[i] && k < d; k++) {
            s->Z[k * n + i] = w->y0[k * n + i];
            for (size_t j = 0; j < d; j++) {
                w->Phi_half[(k * d + j) * n + i] = k == j;
                w->Gamma_half[(k * d + j) * n + i] = 0.0;
            }
        }
}

static bool forward(struct estimate *e, struct scratch *s,
                    const struct gap *gap, size_t group, struct single *w)
{
    size_t d = w->d, n = w->n;
    for (size_t i = 0; i < n; i++)
        w->dt[i] = gap[i].length;
    map_ends(e, s, gap, w);
    linearise(e, s, gap, group, w);
    if (!many_transition(d, n, w->dt, w->A, w->Phi, w->Gamma, w->Q, w->Phi_half,
                         w->Gamma_half, w->scratch))
        return false;
    many_times(d, n, w->Phi_half, false, w->y0, false, s->Z);
    many_times(d, n, w->Gamma_half, false, w->b, true, s->Z);
    struct points in = middle_points(e, s, gap, n);
    if (e->range) stay_inside(e, s, &in, w);
    program_forward(e->unit, &e->unit_uniforms, &s->unit, &in);
    const double *f = program_output(e->unit, &s->unit, n, 0);
    many_times(d, n, w->A, false, s->Z, false, w->g);
    for (size_t k = 0; k < d * n; k++)
        w->g[k] = f[k] - w->g[k];
    return add_density(w);
}

/* --- And back ----------------------------------------------------------- */

/* Both ends' gradients through T, and that of log |det dT/dx|. */
static void ends_vjp(const struct estimate *e, struct scratch *s,
                     const struct gap *gap, size_t group,
                     const struct single *w)
{
    size_t d = w->d, n = w->n, P = 2 * n;
    double *jacobian_bar = s->small + 4 * d; /* (2 batch) */
    struct points in = read_ends(e, s, gap, n);
    many_times(d, n, w->Phi, true, w->q, false, w->bar);
    many_times(d, n, w->Phi_half, true, w->z_bar, true, w->bar);
    for (size_t k = 0; k < d; k++)
        for (size_t i = 0; i < n; i++) {
            s->y_bar[k * P + i] = w->bar[k * n + i];
            s->y_bar[k * P + n + i] = -w->q[k * n + i];
        }
    for (size_t i = 0; i < n; i++) {
        jacobian_bar[i] = 0.0;
        jacobian_bar[n + i] = group_weight(e, group + i);
    }
    program_forward(e->map, &e->map_uniforms, &s->map, &in);
    program_vjp(e->map, &e->map_uniforms, &s->map, &in,
                (const double *const[3]){s->y_bar, jacobian_bar, NULL}, NULL,
                s->map_bar);
}

/* b = T'(x) b_x, as in context.c: z alone depends on it. */
static void reference_vjp_all(const struct estimate *e, struct scratch *s,
                              const struct gap *gap, const struct single *w)
{
    size_t d = w->d, n = w->n;
    struct points in = middle_points(e, s, gap, n);
    chord_middles(w, s->Z);
    memcpy(s->Z + d * n, w->b, d * n * sizeof *w->b);
    program_forward(e->back, &e->back_uniforms, &s->back, &in);
    for (size_t i = 0; i < 2; i++)
        memcpy(s->Z + i * d * n, program_output(e->back, &s->back, n, i),
               d * n * sizeof *s->Z);
    many_times(d, n, w->Gamma_half, true, w->z_bar, false, s->y_bar);
    program_forward(e->map, &e->map_uniforms, &s->map, &in);
    program_vjp(e->map, &e->map_uniforms, &s->map, &in,
                (const double *const[3]){NULL, NULL, s->y_bar}, NULL,
                s->map_bar);
}

/* g_bar = Gamma' q is f_bar; z_bar = what f sends back - A' g_bar. */
static void backward(const struct estimate *e, struct scratch *s,
                     const struct gap *gap, size_t group, struct single *w)
{
    size_t d = w->d, n = w->n;
    bool ends = e->model->learned_noise;
    struct points in = {.P = n,
                        .state = s->Z,
                        .time = s->time,
                        .input = s->input,
                        .slope = s->slope};
    for (size_t k = 0; e->weight && k < d * n; k++)
        w->q[k] *= e->weight[group + k % n];
    many_times(d, n, w->Gamma, true, w->q, false, s->f_bar);
    memset(w->z_bar, 0, d * n * sizeof *w->z_bar);
    program_vjp(e->unit, &e->unit_uniforms, &s->unit, &in,
                (const double *const[2]){s->f_bar, NULL},
                ends ? w->z_bar : NULL, s->unit_bar);
    if (!ends) return;
    many_times(d, n, w->A, true, s->f_bar, false, w->bar);
    for (size_t k = 0; k < d * n; k++)
        w->z_bar[k] -= w->bar[k];
    ends_vjp(e, s, gap, group, w);
    reference_vjp_all(e, s, gap, w);
}

/* --- An item ------------------------------------------------------------ */

/* A weight of one, and all of the value in base. */
static void note(struct estimate *e, size_t group, const struct single *w)
{
    static const double ONE[1] = {0.0};
    for (size_t i = 0; i < w->n; i++) {
        e->base[group + i] = w->value[i];
        tally_start(&e->tally[group + i]);
        tally_start(&e->tally2[group + i]);
        tally_add(&e->tally[group + i], 1, ONE);
        tally_add(&e->tally2[group + i], 1, ONE);
    }
}

bool single_item(struct estimate *e, struct scratch *s, const struct item *t)
{
    size_t n = t->group1 - t->group0;
    const struct gap *gap = e->gaps.gap + t->group0;
    if (n > most_gaps(e)) return false;
    struct single w = single_of(e, s->single, n);
    if (!forward(e, s, gap, t->group0, &w)) return false;
    note(e, t->group0, &w);
    if (e->options->gradient) backward(e, s, gap, t->group0, &w);
    return true;
}
