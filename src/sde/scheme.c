/* SPDX-License-Identifier: MIT */
/* The schemes, each as its formula. All are for additive noise: g looks at
 * time, inputs and parameters, never at the state. A held input that jumps at
 * the right end of a step still has its old value there. */
#include "sde/scheme.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* --- The right-hand side ------------------------------------------------ */

/* Asks the program, not the graph: that cannot fail. */
static bool is_steady(const struct program *diffusion)
{
    return !program_uses(diffusion, OP_TIME) &&
           !program_uses(diffusion, OP_INPUT) &&
           !program_uses(diffusion, OP_SLOPE);
}

int field_init(struct field *f, const gsv_model *m, const gsv_series *input)
{
    const struct spec *spec = m->spec;
    const struct graph *g = spec->graph;
    *f = (struct field){.spec = spec};
    int status = gaps_inputs_init(&f->inputs, m, input);
    if (status) return status;
    f->noise_size = graph_size(g, spec->diffusion);
    f->drift = program_new(g, 1, &spec->drift, spec->parameters, true);
    f->diffusion = program_new(g, 1, &spec->diffusion, spec->parameters, true);
    if (!f->drift || !f->diffusion ||
        uniforms_init(&f->drift_uniforms, f->drift) ||
        uniforms_init(&f->diffusion_uniforms, f->diffusion)) {
        field_free(f);
        return GSV_NO_MEMORY;
    }
    assert(!program_uses(f->diffusion, OP_STATE));
    f->steady = is_steady(f->diffusion);
    program_prepare(f->drift, m->value, &f->drift_uniforms);
    program_prepare(f->diffusion, m->value, &f->diffusion_uniforms);
    return 0;
}

void field_free(struct field *f)
{
    uniforms_free(&f->drift_uniforms);
    uniforms_free(&f->diffusion_uniforms);
    program_free(f->drift);
    program_free(f->diffusion);
    gaps_free(&f->inputs);
    *f = (struct field){0};
}

/* --- A block ------------------------------------------------------------ */

/* g(t) by one point: all tracks share it. */
static void noise_at(struct stepper *s, double t, bool before, double *g)
{
    const struct field *f = s->field;
    double *input = s->one + 1, *slope = input + f->spec->inputs;
    s->one[0] = t;
    if (f->spec->inputs) gap_inputs(&f->inputs, 0, t, before, input, slope, 1);
    struct points in = {.P = 1, .time = s->one, .input = input, .slope = slope};
    program_forward(f->diffusion, &f->diffusion_uniforms, &s->diffusion, &in);
    memcpy(g, program_output(f->diffusion, &s->diffusion, 1, 0),
           f->noise_size * sizeof *g);
}

int stepper_init(struct stepper *s, const struct field *f, size_t capacity)
{
    size_t P = capacity, d = f->spec->dim, n = f->spec->inputs;
    *s = (struct stepper){.field = f, .P = P};
    struct {
        double **array;
        size_t count;
    } part[] = {{&s->x, d * P},          {&s->stage, d * P},
                {&s->f0, d * P},         {&s->J, f->spec->noises * P},
                {&s->time, P},           {&s->input, n * P},
                {&s->slope, n * P},      {&s->one, 1 + 2 * n},
                {&s->g0, f->noise_size}, {&s->g1, f->noise_size}};
    size_t bytes = 0, parts = sizeof part / sizeof *part;
    for (size_t i = 0; i < parts; i++)
        bytes += arena_size(part[i].count);
    if (arena_init(&s->arena, bytes) ||
        workspace_init(&s->drift, f->drift, P, false, false) ||
        workspace_init(&s->diffusion, f->diffusion, 1, false, false)) {
        stepper_free(s);
        return GSV_NO_MEMORY;
    }
    for (size_t i = 0; i < parts; i++)
        *part[i].array = arena_take(&s->arena, part[i].count);
    if (f->steady) {
        noise_at(s, 0.0, false, s->g0);
        memcpy(s->g1, s->g0, f->noise_size * sizeof *s->g1);
    }
    return 0;
}

void stepper_free(struct stepper *s)
{
    workspace_free(&s->drift);
    workspace_free(&s->diffusion);
    arena_free(&s->arena);
    *s = (struct stepper){0};
}

/* --- What the formulas are made of -------------------------------------- */

static const double *left_noise(struct stepper *s, const struct step *step)
{
    if (!s->field->steady) noise_at(s, step->t, false, s->g0);
    return s->g0;
}

static const double *right_noise(struct stepper *s, const struct step *step)
{
    if (!s->field->steady) noise_at(s, step->end, true, s->g1);
    return s->g1;
}

static void spread(size_t P, double value, double *row)
{
    for (size_t p = 0; p < P; p++)
        row[p] = value;
}

/* f(x, t), (dim, P): valid until the next one. */
static const double *drift_at(struct stepper *s, double t, bool before,
                              const double *x)
{
    const struct field *f = s->field;
    size_t P = s->P, n = f->spec->inputs;
    double *input = s->one + 1, *slope = input + n;
    spread(P, t, s->time);
    if (n) gap_inputs(&f->inputs, 0, t, before, input, slope, 1);
    for (size_t i = 0; i < n; i++) {
        spread(P, input[i], s->input + i * P);
        spread(P, slope[i], s->slope + i * P);
    }
    struct points in = {.P = P,
                        .state = x,
                        .time = s->time,
                        .input = s->input,
                        .slope = s->slope};
    program_forward(f->drift, &f->drift_uniforms, &s->drift, &in);
    return program_output(f->drift, &s->drift, P, 0);
}

/* x += a f, both (dim, P). */
static void add_drift(const struct stepper *s, double a, const double *f,
                      double *x)
{
    for (size_t i = 0; i < s->field->spec->dim * s->P; i++)
        x[i] += a * f[i];
}

/* x += a g v, with v (noises, P) and g (dim, noises) or its diagonal (dim). */
static void add_noise(const struct stepper *s, double a, const double *g,
                      const double *v, double *x)
{
    const struct spec *spec = s->field->spec;
    size_t P = s->P, terms = spec->diagonal ? 1 : spec->noises;
    for (size_t i = 0; i < spec->dim; i++, x += P)
        for (size_t j = 0; j < terms; j++) {
            double c = a * g[i * terms + j];
            const double *row = v + (spec->diagonal ? i : j) * P;
            for (size_t p = 0; p < P; p++)
                x[p] += c * row[p];
        }
}

/* The left end's drift is kept, for the next stage overwrites it. */
static void start_stage(struct stepper *s, double t)
{
    size_t bytes = s->field->spec->dim * s->P * sizeof *s->x;
    memcpy(s->f0, drift_at(s, t, false, s->x), bytes);
    memcpy(s->stage, s->x, bytes);
}

/* --- The schemes -------------------------------------------------------- */

/* X' = X + h f(X, t) + g(t) dW. */
static void euler(struct stepper *s, const struct step *step)
{
    const double *g = left_noise(s, step);
    add_drift(s, step->h, drift_at(s, step->t, false, s->x), s->x);
    add_noise(s, 1.0, g, step->dW, s->x);
}

/* Euler's step and g g'(dW^2 - h)/2, where g' is the derivative by the state:
 * 0 with additive noise, so that the step is Euler's to the bit. */
static void milstein(struct stepper *s, const struct step *step)
{
    euler(s, step);
}

/* H  = X + h f(X, t) + g(t) dW,
 * X' = X + h/2 (f(X, t) + f(H, t + h)) + 1/2 (g(t) + g(t + h)) dW. */
static void heun(struct stepper *s, const struct step *step)
{
    double h = step->h;
    const double *g0 = left_noise(s, step), *g1 = right_noise(s, step);
    start_stage(s, step->t);
    add_drift(s, h, s->f0, s->stage);
    add_noise(s, 1.0, g0, step->dW, s->stage);
    const double *f1 = drift_at(s, step->end, true, s->stage);
    add_drift(s, 0.5 * h, s->f0, s->x);
    add_drift(s, 0.5 * h, f1, s->x);
    add_noise(s, 0.5, g0, step->dW, s->x);
    add_noise(s, 0.5, g1, step->dW, s->x);
}

/* SRA1 of Roessler (2010), of strong order 1.5. J = I10 / h is the mean of
 * W - W(t) over the step:
 *
 *     J  = 1/2 (dW + sqrt(h/3) zeta),
 *     H  = X + 3/4 h f(X, t) + 3/2 g(t + h) J,
 *     X' = X + h (1/3 f(X, t) + 2/3 f(H, t + 3/4 h))
 *            + g(t + h) (dW - J) + g(t) J. */
static void srk(struct stepper *s, const struct step *step)
{
    double h = step->h, root = sqrt(h / 3.0);
    size_t n = s->field->spec->noises * s->P;
    const double *g0 = left_noise(s, step), *g1 = right_noise(s, step);
    for (size_t i = 0; i < n; i++)
        s->J[i] = 0.5 * (step->dW[i] + root * step->zeta[i]);
    start_stage(s, step->t);
    add_drift(s, 0.75 * h, s->f0, s->stage);
    add_noise(s, 1.5, g1, s->J, s->stage);
    const double *f1 = drift_at(s, step->t + 0.75 * h, false, s->stage);
    add_drift(s, h / 3.0, s->f0, s->x);
    add_drift(s, 2.0 * h / 3.0, f1, s->x);
    add_noise(s, 1.0, g1, step->dW, s->x);
    add_noise(s, -1.0, g1, s->J, s->x);
    add_noise(s, 1.0, g0, s->J, s->x);
}

const struct scheme SCHEME_TABLE[SCHEMES] = {
    [GSV_EULER] = {"euler", false, euler},
    [GSV_MILSTEIN] = {"milstein", false, milstein},
    [GSV_HEUN] = {"heun", false, heun},
    [GSV_SRK] = {"srk", true, srk},
};
