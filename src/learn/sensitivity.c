/* SPDX-License-Identifier: MIT */
#include "learn/sensitivity.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/linalg.h"
#include "base/memory.h"
#include "learn/sample.h"
#include "model/theta.h"

/* Gaps that are evaluated; coefficients, beyond which the matrix would take
 * longer than the search. */
enum { SAMPLE = 1024, MOST = 400 };

/* What is added to the diagonal, relative: terms may be nearly the same. */
static const double RIDGE = 1e-8;

struct sensitivity {
    gsv_model *m;
    struct sample sample;
    size_t n;           /* coefficients that are free       */
    size_t *number;     /* (n) places in theta              */
    size_t *value;      /* (n) places in the values         */
    struct points ends; /* of the gaps, as states           */
    double *state;      /* (d, P)                           */
    double *drift;      /* (d, P)                           */
    double *moved;      /* (d, P)                           */
    double *weight;     /* (d)                              */
    double *J;          /* (n, d, gaps), times sqrt(w h)    */
    double *M, *b;      /* (n, n), (n)                      */
    struct arena arena;
};

static int evaluate_drift(struct sensitivity *a, double *to)
{
    return model_evaluate(a->m, a->m->spec->drift, &a->ends, false, to);
}

/* --- J -------------------------------------------------------------------- */

/* Column k, by a difference that is exact where the drift is linear in it. */
static int differentiate(struct sensitivity *a, size_t k)
{
    size_t d = a->m->spec->dim, P = a->ends.P, gaps = a->sample.count;
    double *c = &a->m->value[a->value[k]], kept = *c;
    double step = 1e-3 * fmax(1.0, fabs(kept));
    double *J = a->J + k * d * gaps;
    for (int tries = 0; tries < 5; tries++, step *= 1e-3) {
        *c = kept + step;
        int status = evaluate_drift(a, a->moved);
        *c = kept;
        if (status) return status;
        for (size_t i = 0; i < d; i++)
            for (size_t g = 0; g < gaps; g++) {
                size_t at = i * P + 2 * g;
                double slope = (a->moved[at] - a->drift[at]) / step;
                double root = sqrt(a->weight[i] * a->sample.gap[g].length);
                J[i * gaps + g] = root * slope;
            }
        if (all_finite(d * gaps, J)) return 0;
    }
    memset(J, 0, d * gaps * sizeof *J);
    return 0;
}

/* Of each state: the inverse of the variance of increments per time. */
static void weigh_states(struct sensitivity *a)
{
    size_t P = a->ends.P;
    for (size_t i = 0; i < a->m->spec->dim; i++) {
        double squares = 0.0, time = 0.0;
        for (size_t g = 0; g < a->sample.count; g++) {
            const double *z = a->state + i * P + 2 * g;
            squares += (z[1] - z[0]) * (z[1] - z[0]);
            time += a->sample.gap[g].length;
        }
        double w = time / squares;
        a->weight[i] = isfinite(w) && w > 0.0 ? w : 1.0;
    }
}

static void fill_score(struct sensitivity *a)
{
    size_t d = a->m->spec->dim, P = a->ends.P, gaps = a->sample.count;
    memset(a->b, 0, a->n * sizeof *a->b);
    for (size_t i = 0; i < d; i++)
        for (size_t g = 0; g < gaps; g++) {
            const double *z = a->state + i * P + 2 * g;
            double h = a->sample.gap[g].length;
            double rest = z[1] - z[0] - h * a->drift[i * P + 2 * g];
            double scaled = rest * sqrt(a->weight[i] / h);
            for (size_t k = 0; k < a->n; k++)
                a->b[k] += a->J[(k * d + i) * gaps + g] * scaled;
        }
}

static int sensitivity_fill(struct sensitivity *a)
{
    size_t length = a->m->spec->dim * a->sample.count;
    int status = evaluate_drift(a, a->drift);
    weigh_states(a);
    for (size_t k = 0; !status && k < a->n; k++)
        status = differentiate(a, k);
    if (status) return status;
    linalg_product(a->n, length, a->n, a->J, false, a->J, true, a->M);
    fill_score(a);
    return 0;
}

/* --- Making --------------------------------------------------------------- */

/* The free coefficients of terms: `left` (theta size) are not free. */
static int find_coefficients(struct sensitivity *a, const bool *left)
{
    const gsv_model *m = a->m;
    size_t n = gsv_theta_size(m);
    size_t *place = NEW(size_t, n);
    a->number = NEW(size_t, n);
    a->value = NEW(size_t, n);
    int status = place && a->number && a->value ? 0 : GSV_NO_MEMORY;
    if (!status) theta_places(m, place);
    for (size_t i = 0; !status && i < n; i++) {
        size_t p = spec_param_at(m->spec, place[i]);
        if (!m->spec->param[p].term || !m->drift_param[p] || left[i]) continue;
        a->number[a->n] = i;
        a->value[a->n++] = place[i];
    }
    mem_free(place);
    return status;
}

static int find_states(struct sensitivity *a)
{
    a->ends = a->sample.ends;
    a->ends.state = a->state;
    return model_evaluate(a->m, a->m->spec->state_of_data, &a->sample.ends,
                          false, a->state);
}

static void sensitivity_free(struct sensitivity *a)
{
    sample_free(&a->sample);
    arena_free(&a->arena);
    MEM_FREE(a->number, a->value);
}

/* n is 0 where there is nothing to do. */
static int sensitivity_init(struct sensitivity *a, gsv_model *m,
                            const gsv_series *s, const bool *left)
{
    *a = (struct sensitivity){.m = m};
    if (!m->spec->libraries || spec_is_latent(m->spec)) return 0;
    int status = find_coefficients(a, left);
    if (a->n > MOST) a->n = 0;
    if (status || !a->n) return status;
    status = sample_init(&a->sample, m, s, SAMPLE);
    if (status) return status;
    size_t d = m->spec->dim, P = a->sample.ends.P, gaps = a->sample.count;
    const struct arena_part part[] = {
        {&a->state, d * P}, {&a->drift, d * P},       {&a->moved, d * P},
        {&a->weight, d},    {&a->J, a->n * d * gaps}, {&a->M, a->n * a->n},
        {&a->b, a->n}};
    if (arena_lay(&a->arena, sizeof part / sizeof *part, part))
        return GSV_NO_MEMORY;
    status = find_states(a);
    return status ? status : sensitivity_fill(a);
}

/* M to the Cholesky factor of its correlations, scale to the roots of its
 * diagonal; 1 where the data do not see a coefficient. */
static bool factorise(size_t n, double *M, double *scale)
{
    for (size_t k = 0; k < n; k++) {
        double own = sqrt(M[k * n + k]);
        scale[k] = isfinite(own) && own > 0.0 ? own : 0.0;
    }
    for (size_t k = 0; k < n; k++)
        for (size_t l = 0; l < n; l++) {
            double both = scale[k] * scale[l];
            M[k * n + l] = k == l       ? 1.0 + RIDGE
                           : both > 0.0 ? M[k * n + l] / both
                                        : 0.0;
        }
    for (size_t k = 0; k < n; k++)
        if (scale[k] == 0.0) scale[k] = 1.0;
    return all_finite(n * n, M) && linalg_cholesky(n, M);
}

/* --- Where a fit starts --------------------------------------------------- */

/* What the drift leaves of the increments, weighted. */
static double rest_of(const struct sensitivity *a)
{
    size_t P = a->ends.P;
    double sum = 0.0;
    for (size_t i = 0; i < a->m->spec->dim; i++)
        for (size_t g = 0; g < a->sample.count; g++) {
            const double *z = a->state + i * P + 2 * g;
            double h = a->sample.gap[g].length;
            double rest = z[1] - z[0] - h * a->drift[i * P + 2 * g];
            sum += a->weight[i] * rest * rest / h;
        }
    return sum;
}

/* One step, and back where it is no better. */
static int regress(struct sensitivity *a)
{
    size_t n = a->n;
    double before = rest_of(a), *step = a->b;
    double *scale = NEW(double, n);
    if (!scale) return GSV_NO_MEMORY;
    bool solved = factorise(n, a->M, scale);
    for (size_t k = 0; solved && k < n; k++)
        step[k] /= scale[k];
    if (solved) linalg_lower_solve(n, 1, a->M, false, step);
    if (solved) linalg_lower_solve(n, 1, a->M, true, step);
    for (size_t k = 0; solved && k < n; k++)
        step[k] /= scale[k];
    solved = solved && all_finite(n, step);
    for (size_t k = 0; solved && k < n; k++)
        a->m->value[a->value[k]] += step[k];
    int status = solved ? evaluate_drift(a, a->drift) : 0;
    bool worse = solved && !(rest_of(a) < before);
    for (size_t k = 0; (worse || status) && k < n; k++)
        a->m->value[a->value[k]] -= step[k];
    mem_free(scale);
    return status == GSV_NUMERICAL ? 0 : status;
}

int start_terms(gsv_model *m, const gsv_series *s, const bool *kept)
{
    struct sensitivity a;
    int status = sensitivity_init(&a, m, s, kept);
    if (!status && a.n) status = regress(&a);
    sensitivity_free(&a);
    return status == GSV_NUMERICAL ? 0 : status;
}

/* --- What is searched over ------------------------------------------------ */

void whitener_free(struct whitener *w)
{
    MEM_FREE(w->place, w->scale, w->L, w->room);
    *w = (struct whitener){0};
}

static int take(struct whitener *w, const struct sensitivity *a, size_t free,
                const size_t *number)
{
    size_t n = a->n;
    w->place = NEW(size_t, n);
    w->scale = NEW(double, n);
    w->L = NEW(double, n *n);
    w->room = NEW(double, n);
    if (!w->place || !w->scale || !w->L || !w->room) return GSV_NO_MEMORY;
    for (size_t i = 0, k = 0; i < free && k < n; i++)
        if (number[i] == a->number[k]) w->place[k++] = i;
    memcpy(w->L, a->M, n * n * sizeof *w->L);
    w->n = factorise(n, w->L, w->scale) ? n : 0;
    return 0;
}

int whitener_init(struct whitener *w, gsv_model *m, const gsv_series *s,
                  size_t free, const size_t *number)
{
    struct sensitivity a;
    size_t n = gsv_theta_size(m);
    *w = (struct whitener){0};
    bool *left = NEW(bool, n);
    if (!left) return GSV_NO_MEMORY;
    memset(left, true, n);
    for (size_t i = 0; i < free; i++)
        left[number[i]] = false;
    int status = sensitivity_init(&a, m, s, left);
    if (!status && a.n) status = take(w, &a, free, number);
    sensitivity_free(&a);
    mem_free(left);
    return status == GSV_NUMERICAL ? 0 : status;
}

void whitener_apply(const struct whitener *w, double *x)
{
    size_t n = w->n;
    for (size_t k = 0; k < n; k++)
        w->room[k] = w->scale[k] * x[w->place[k]];
    for (size_t k = 0; k < n; k++) {
        double sum = 0.0;
        for (size_t l = k; l < n; l++)
            sum += w->L[l * n + k] * w->room[l];
        x[w->place[k]] = sum;
    }
}

void whitener_undo(const struct whitener *w, double *x)
{
    for (size_t k = 0; k < w->n; k++)
        w->room[k] = x[w->place[k]];
    if (w->n) linalg_lower_solve(w->n, 1, w->L, true, w->room);
    for (size_t k = 0; k < w->n; k++)
        x[w->place[k]] = w->room[k] / w->scale[k];
}

void whitener_gradient(const struct whitener *w, double *g)
{
    for (size_t k = 0; k < w->n; k++)
        w->room[k] = g[w->place[k]] / w->scale[k];
    if (w->n) linalg_lower_solve(w->n, 1, w->L, false, w->room);
    for (size_t k = 0; k < w->n; k++)
        g[w->place[k]] = w->room[k];
}
