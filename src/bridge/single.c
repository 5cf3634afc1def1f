/* SPDX-License-Identifier: MIT */
/* Gaps of one step against a linear reference: no path is drawn, and
 *
 *     log p = log |det dT/dx| + log N(y1; Phi y0 + Gamma g, Q),
 *     g = f(z) - A z,   z = Phi_half y0 + Gamma_half b,
 *
 * the midpoint form of weigh.h with one step. Learning spends most of
 * its time here, on few gaps at once: therefore every line computes all gaps of
 * an item together (matrix_batch.h). */
#include "bridge/single.h"

#include <math.h>
#include <string.h>

#include "base/constant.h"
#include "bridge/context.h"
#include "bridge/matrix_batch.h"

enum { MATRICES = 8, VECTORS = 7 };

struct single {
    size_t d, n;
    double *A, *Phi, *Gamma, *Q, *Phi_half, *Gamma_half; /* (d, d, n) */
    double *y0, *y1, *b, *g, *q, *z_bar, *bar;           /* (d, n)    */
    double *dt, *value;                                  /* (n)       */
    double *scratch;                                     /* (2, d, d, n), (n) */
};

static size_t most_gaps(const struct plan *p)
{
    return p->batch < p->capacity ? p->batch : p->capacity;
}

static bool has_room(const struct plan *p)
{
    return p->longest == 1 && p->d <= BATCH_DIM && p->weigher->gaussian;
}

bool single_applies(const struct run *r)
{
    const gsv_options *o = r->plan->options;
    bool form = o->form == GSV_FORM_AUTO || o->form == GSV_FORM_MIDPOINT;
    return has_room(r->plan) && form && !o->joint &&
           r->reference == &r->values && o->reference != GSV_REFERENCE_BROWNIAN;
}

size_t single_size(const struct plan *p)
{
    size_t d = p->d;
    return has_room(p) ? most_gaps(p) * (d * (MATRICES * d + VECTORS) + 3) : 0;
}

static struct single single_of(size_t dim, double *memory, size_t n)
{
    struct single s = {.d = dim, .n = n};
    size_t dd = dim * dim * n, d = dim * n;
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
static struct points map_ends(const struct run *r, struct scratch *s,
                              const struct gap *gap, size_t n)
{
    struct points in = read_ends(r, s, gap, n, 1, n);
    program_forward(r->plan->map, &r->values.map, &s->map, &in);
    return in;
}

static void keep_ends(const struct run *r, struct scratch *s,
                      const struct gap *gap, struct single *w)
{
    struct points in = map_ends(r, s, gap, w->n);
    const double *y = program_output(r->plan->map, &s->map, in.P, 0);
    const double *jacobian = program_output(r->plan->map, &s->map, in.P, 1);
    for (size_t k = 0; k < w->d; k++) {
        memcpy(w->y0 + k * w->n, y + k * in.P, w->n * sizeof *y);
        memcpy(w->y1 + k * w->n, y + k * in.P + w->n, w->n * sizeof *y);
    }
    memcpy(w->value, jacobian + w->n, w->n * sizeof *w->value);
}

/* Where f is evaluated: at the middle time of the gaps, at the places in s->Z.
 */
static struct points middle_points(const struct plan *p, struct scratch *s,
                                   const struct gap *gap, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct instant now = {.track = gap[i].track,
                              .time = gap[i].start + 0.5 * gap[i].length,
                              .low = gap[i].start,
                              .high = gap[i].end};
        fill_time(p, s, &now, i, 1, n);
    }
    return block_points(s, n);
}

static void chord_middles(const struct single *w, double *middle)
{
    for (size_t k = 0; k < w->d * w->n; k++)
        middle[k] = 0.5 * (w->y0[k] + w->y1[k]);
}

/* f, A = df/dy and b = f - A y at the middle of the chord, and the findings:
 * the energy of the drift. */
static void linearise(struct run *r, struct scratch *s, const struct gap *gap,
                      size_t group, struct single *w)
{
    const struct plan *p = r->plan;
    const struct uniforms *unit = &r->values.unit;
    const double *noise = p->model->chain.noise;
    size_t d = w->d, n = w->n;
    chord_middles(w, s->Z);
    struct points in = middle_points(p, s, gap, n);
    program_forward(p->unit, unit, &s->unit, &in);
    memcpy(w->b, program_output(p->unit, &s->unit, n, 0), d * n * sizeof *w->b);
    for (size_t j = 0; j < d; j++) {
        memset(s->dot, 0, d * n * sizeof *s->dot);
        for (size_t i = 0; i < n; i++)
            s->dot[j * n + i] = 1.0;
        program_jvp(p->unit, unit, &s->unit, &in, s->dot);
        const double *f_dot = program_output_dot(p->unit, &s->unit, n, 0);
        for (size_t k = 0; k < d; k++)
            memcpy(w->A + (k * d + j) * n, f_dot + k * n, n * sizeof *f_dot);
    }
    for (size_t i = 0; i < n; i++) {
        double square = 0.0, noisy = 0.0;
        for (size_t k = 0; k < d; k++) {
            double on = noise ? noise[k] : 1.0;
            square += on * w->b[k * n + i] * w->b[k * n + i];
            noisy += on;
        }
        r->finding[group + i] =
            (struct finding){.reference = GSV_REFERENCE_LINEAR,
                             .form = GSV_FORM_MIDPOINT,
                             .khat = NAN,
                             .energy = square * gap[i].length / noisy};
    }
    batch_times(d, n, w->A, false, s->Z, false, w->g);
    for (size_t k = 0; k < d * n; k++)
        w->b[k] -= w->g[k];
}

/* --- The value ---------------------------------------------------------- */

/* Q becomes its Cholesky factor, and q = Q^-1 (y1 - Phi y0 - Gamma g). */
static bool add_density(struct single *w)
{
    size_t d = w->d, n = w->n;
    if (!batch_cholesky(d, n, w->Q)) return false;
    batch_times(d, n, w->Phi, false, w->y0, false, w->q);
    batch_times(d, n, w->Gamma, false, w->g, true, w->q);
    for (size_t k = 0; k < d * n; k++)
        w->q[k] = w->y1[k] - w->q[k];
    batch_solve(d, n, w->Q, false, w->q);
    for (size_t k = 0; k < d; k++)
        for (size_t i = 0; i < n; i++) {
            double half = w->q[k * n + i];
            w->value[i] -= 0.5 * (half * half + LOG_TWO_PI) +
                           log(w->Q[(k * d + k) * n + i]);
        }
    batch_solve(d, n, w->Q, true, w->q);
    return true;
}

/* A forecast beyond the range of T is replaced by the earlier end of its gap.
 */
static void stay_at_start(const struct run *r, struct scratch *s,
                          const struct points *in, struct single *w)
{
    size_t d = w->d, n = w->n;
    find_outside(r->plan, &r->values, s, in);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; s->outside[i] && k < d; k++) {
            s->Z[k * n + i] = w->y0[k * n + i];
            for (size_t j = 0; j < d; j++) {
                w->Phi_half[(k * d + j) * n + i] = k == j;
                w->Gamma_half[(k * d + j) * n + i] = 0.0;
            }
        }
}

static bool forward(struct run *r, struct scratch *s, const struct gap *gap,
                    size_t group, struct single *w)
{
    const struct plan *p = r->plan;
    size_t d = w->d, n = w->n;
    for (size_t i = 0; i < n; i++)
        w->dt[i] = gap[i].length;
    keep_ends(r, s, gap, w);
    linearise(r, s, gap, group, w);
    if (!batch_transition(d, n, w->dt, w->A, p->model->chain.noise, w->Phi,
                          w->Gamma, w->Q, w->Phi_half, w->Gamma_half,
                          w->scratch))
        return false;
    batch_times(d, n, w->Phi_half, false, w->y0, false, s->Z);
    batch_times(d, n, w->Gamma_half, false, w->b, true, s->Z);
    struct points in = middle_points(p, s, gap, n);
    if (p->range) stay_at_start(r, s, &in, w);
    program_forward(p->unit, &r->values.unit, &s->unit, &in);
    const double *f = program_output(p->unit, &s->unit, n, 0);
    batch_times(d, n, w->A, false, s->Z, false, w->g);
    for (size_t k = 0; k < d * n; k++)
        w->g[k] = f[k] - w->g[k];
    return add_density(w);
}

/* --- Backward ----------------------------------------------------------- */

/* The gradients by both ends through T, and that of log |det dT/dx|. */
static void ends_vjp(const struct run *r, struct scratch *s,
                     const struct gap *gap, size_t group,
                     const struct single *w)
{
    size_t d = w->d, n = w->n, P = 2 * n;
    double *jacobian_bar = s->small + 4 * d; /* (2 batch) */
    batch_times(d, n, w->Phi, true, w->q, false, w->bar);
    batch_times(d, n, w->Phi_half, true, w->z_bar, true, w->bar);
    for (size_t k = 0; k < d; k++)
        for (size_t i = 0; i < n; i++) {
            s->y_bar[k * P + i] = w->bar[k * n + i];
            s->y_bar[k * P + n + i] = -w->q[k * n + i];
        }
    for (size_t i = 0; i < n; i++) {
        jacobian_bar[i] = 0.0;
        jacobian_bar[n + i] = group_weight(r, group + i);
    }
    struct points in = map_ends(r, s, gap, n);
    program_vjp(r->plan->map, &r->values.map, &s->map, &in,
                (const double *const[3]){s->y_bar, jacobian_bar, NULL}, NULL,
                s->map_bar);
}

/* b = T'(x) b_x, as in context.c: z alone depends on it. */
static void reference_vjp_all(const struct run *r, struct scratch *s,
                              const struct gap *gap, const struct single *w)
{
    const struct plan *p = r->plan;
    const struct values *v = &r->values;
    size_t d = w->d, n = w->n;
    struct points in = middle_points(p, s, gap, n);
    chord_middles(w, s->Z);
    memcpy(s->Z + d * n, w->b, d * n * sizeof *w->b);
    program_forward(p->back, &v->back, &s->back, &in);
    for (size_t i = 0; i < 2; i++)
        memcpy(s->Z + i * d * n, program_output(p->back, &s->back, n, i),
               d * n * sizeof *s->Z);
    batch_times(d, n, w->Gamma_half, true, w->z_bar, false, s->y_bar);
    program_forward(p->map, &v->map, &s->map, &in);
    program_vjp(p->map, &v->map, &s->map, &in,
                (const double *const[3]){NULL, NULL, s->y_bar}, NULL,
                s->map_bar);
}

/* g_bar = Gamma' q is f_bar; z_bar = its vjp through f - A' g_bar. */
static void backward(const struct run *r, struct scratch *s,
                     const struct gap *gap, size_t group, struct single *w)
{
    size_t d = w->d, n = w->n;
    bool ends = r->plan->model->learned_noise;
    struct points in = block_points(s, n);
    for (size_t k = 0; r->weight && k < d * n; k++)
        w->q[k] *= r->weight[group + k % n];
    batch_times(d, n, w->Gamma, true, w->q, false, s->f_bar);
    memset(w->z_bar, 0, d * n * sizeof *w->z_bar);
    program_vjp(r->plan->unit, &r->values.unit, &s->unit, &in,
                (const double *const[2]){s->f_bar, NULL},
                ends ? w->z_bar : NULL, s->unit_bar);
    if (!ends) return;
    batch_times(d, n, w->A, true, s->f_bar, false, w->bar);
    for (size_t k = 0; k < d * n; k++)
        w->z_bar[k] -= w->bar[k];
    ends_vjp(r, s, gap, group, w);
    reference_vjp_all(r, s, gap, w);
}

/* --- An item ------------------------------------------------------------ */

/* One weight of 1 and the whole value in base. */
static void note(struct run *r, size_t group, const struct single *w)
{
    static const double ONE[1] = {0.0};
    for (size_t i = 0; i < w->n; i++) {
        r->base[group + i] = w->value[i];
        tally_start(&r->tally[group + i]);
        tally_start(&r->tally2[group + i]);
        tally_add(&r->tally[group + i], 1, ONE);
        tally_add(&r->tally2[group + i], 1, ONE);
    }
}

bool single_item(struct run *r, struct scratch *s, const struct item *t)
{
    size_t n = t->group1 - t->group0;
    const struct gap *gap = r->gaps.gap + t->group0;
    if (n > most_gaps(r->plan)) return false;
    struct single w = single_of(r->plan->d, s->single, n);
    if (!forward(r, s, gap, t->group0, &w)) return false;
    note(r, t->group0, &w);
    if (r->plan->options->gradient) backward(r, s, gap, t->group0, &w);
    return true;
}
