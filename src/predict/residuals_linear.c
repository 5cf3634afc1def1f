/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/linear.h"
#include "observe/jump.h"
#include "predict/residuals.h"

static int is_linear(const gsv_model *m, bool *linear)
{
    const struct spec *spec = m->spec;
    const struct graph *g = spec->graph;
    *linear = spec->noise == NOISE_ADDITIVE && !spec->mapped && !m->calls &&
              !spec_is_latent(spec) && !graph_moves(g, m->unit_drift) &&
              !graph_moves(g, m->data_state);
    return *linear ? drift_is_linear(m, linear) : 0;
}

/* What = M y + v, from its values at 0 and at the unit vectors. */
static int find_affine(const gsv_model *m, node what, double *M, double *v)
{
    size_t d = m->spec->dim, P = d + 1;
    double *y = NEW(double, d *P), *out = NEW(double, d *P);
    double *time = NEW(double, P);
    int status = y && out && time ? 0 : GSV_NO_MEMORY;
    for (size_t i = 0; !status && i < d; i++)
        y[i * P + i + 1] = 1.0;
    const struct points in = {.P = P, .state = y, .time = time};
    if (!status) status = model_evaluate(m, what, &in, true, out);
    for (size_t i = 0; !status && i < d; i++) {
        v[i] = out[i * P];
        for (size_t j = 0; j < d; j++)
            M[i * d + j] = out[i * P + j + 1] - v[i];
    }
    MEM_FREE(y, out, time);
    return status;
}

int linear_law_init(struct linear_law *l, const gsv_model *m)
{
    size_t d = m->spec->dim;
    *l = (struct linear_law){.model = m, .d = d, .gap = NAN};
    bool linear;
    int status = is_linear(m, &linear);
    if (status || !linear) return status;
    const struct arena_part part[] = {{&l->A, d * d},
                                      {&l->b, d},
                                      {&l->S, d * d},
                                      {&l->s, d},
                                      {&l->Phi, d * d},
                                      {&l->Gamma, d * d},
                                      {&l->Q, d * d},
                                      {&l->half, 2 * d * d},
                                      {&l->scratch, linear_scratch(d)},
                                      {&l->y, d},
                                      {&l->mean, d}};
    if (arena_lay(&l->arena, sizeof part / sizeof *part, part))
        return GSV_NO_MEMORY;
    status = find_affine(m, m->unit_drift, l->A, l->b);
    if (!status) status = find_affine(m, m->data_state, l->S, l->s);
    l->is = !status;
    return status;
}

void linear_law_free(struct linear_law *l)
{
    arena_free(&l->arena);
}

static int set_gap(struct linear_law *l, double gap)
{
    size_t d = l->d;
    if (gap == l->gap) return 0;
    l->gap = gap;
    if (linear_transition(d, gap, l->A, l->Phi, l->Gamma, l->Q, l->half,
                          l->half + d * d, l->scratch))
        return 0;
    return fail(GSV_NUMERICAL,
                "the law of the states after a gap of %g is not finite; check "
                "the parameters",
                gap);
}

int linear_law_at(struct linear_law *l, double gap, const double *x,
                  double *mean, double *deviation)
{
    size_t d = l->d;
    const double time = 0.0;
    const struct points in = {.P = 1, .state = x, .time = &time};
    int status = set_gap(l, gap);
    if (!status)
        status =
            model_evaluate(l->model, l->model->unit_state, &in, true, l->y);
    for (size_t i = 0; !status && i < d; i++) {
        l->mean[i] = 0.0;
        for (size_t j = 0; j < d; j++)
            l->mean[i] +=
                l->Phi[i * d + j] * l->y[j] + l->Gamma[i * d + j] * l->b[j];
    }
    for (size_t i = 0; !status && i < d; i++) {
        double variance = 0.0;
        mean[i] = l->s[i];
        for (size_t j = 0; j < d; j++) {
            mean[i] += l->S[i * d + j] * l->mean[j];
            for (size_t k = 0; k < d; k++)
                variance += l->S[i * d + j] * l->Q[j * d + k] * l->S[i * d + k];
        }
        deviation[i] = sqrt(variance);
    }
    return status;
}
