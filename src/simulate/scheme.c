/* SPDX-License-Identifier: MIT */
/* The right-hand side, and the schemes for additive noise, each as its formula:
 * g depends on time, inputs and parameters, never on the state. A held input
 * that jumps at the right end of a step still has its old value there. */
#include "simulate/scheme.h"

#include <math.h>
#include <string.h>

#include "simulate/reactor.h"

/* --- The right-hand side ------------------------------------------------ */

static int function_init(struct function *f, const gsv_model *m, node what)
{
    const struct graph *g = m->spec->graph;
    f->size = graph_size(g, what);
    f->program = program_new(g, 1, &what, m->spec->parameters, true);
    if (!f->program || uniforms_init(&f->uniforms, f->program))
        return GSV_NO_MEMORY;
    program_prepare(f->program, m->value, &f->uniforms);
    return 0;
}

static void function_free(struct function *f)
{
    uniforms_free(&f->uniforms);
    program_free(f->program);
}

/* Asks the program, not the graph: that cannot fail. */
static bool is_steady(const struct program *p)
{
    return !program_uses(p, OP_TIME) && !program_uses(p, OP_INPUT) &&
           !program_uses(p, OP_SLOPE);
}

/* Whether an operation is not defined, or has no end, for some numbers. */
static bool is_partial(enum op op)
{
    return op == OP_LOG || op == OP_LOG1P || op == OP_SQRT || op == OP_ASIN ||
           op == OP_ACOS || op == OP_LOGIT || op == OP_DIV || op == OP_POW ||
           op == OP_SOLVE || op == OP_CHOLESKY;
}

/* The parts of the noise that may have a boundary. Roots of reactions' rates
 * have none, as they go on as 0: only their rates may. */
static void mark_noise(const struct spec *s, bool *wanted)
{
    size_t own = s->noises - s->reactions;
    wanted[s->diffusion] = !s->reactions;
    for (size_t j = 0; j < s->reactions; j++)
        wanted[s->reaction[j].rate] = true;
    for (size_t i = 0; s->reactions && own && i < s->dim * s->noises; i++)
        if (i % s->noises < own)
            wanted[graph_input(s->graph, s->diffusion, i)] = true;
}

/* Whether noise that depends on the state is made of such operations. */
static int find_boundary(struct field *f)
{
    const struct graph *g = f->spec->graph;
    node what = f->spec->diffusion;
    bool *wanted = NEW(bool, what + 1);
    if (!wanted) return GSV_NO_MEMORY;
    mark_noise(f->spec, wanted);
    for (node n = what + 1; n-- > 0;) {
        const struct node_info *info = graph_info(g, n);
        if (!wanted[n] || !graph_depends(g, n, OP_STATE)) continue;
        f->bounded = f->bounded || is_partial(info->op);
        for (size_t i = 0; i < info->inputs; i++)
            wanted[graph_input(g, n, i)] = true;
    }
    mem_free(wanted);
    return 0;
}

/* Sets bounded and own. */
static int look_at_noise(struct field *f)
{
    const struct spec *spec = f->spec;
    size_t d = spec->dim;
    if (!f->state_noise) return 0;
    f->bounded = spec->stretch_domain;
    int status = find_boundary(f);
    if (status || !spec->diagonal) return status;
    bool *uses = NEW(bool, d *d);
    if (!uses) return GSV_NO_MEMORY;
    status = graph_state_elements(spec->graph, spec->diffusion, d, uses);
    f->own = true;
    for (size_t i = 0; !status && i < d * d; i++)
        if (uses[i] && i / d != i % d) f->own = false;
    mem_free(uses);
    return status;
}

static int functions_init(struct field *f, const gsv_model *m)
{
    const struct spec *spec = m->spec;
    int status = function_init(&f->drift, m, spec->drift);
    if (!status) status = function_init(&f->diffusion, m, spec->diffusion);
    if (status) return status;
    f->noise_size = f->diffusion.size;
    f->state_noise = program_uses(f->diffusion.program, OP_STATE);
    f->steady = !f->state_noise && is_steady(f->diffusion.program);
    if (f->state_noise && spec->stretch_domain)
        status = function_init(&f->inside, m, spec->stretch_domain);
    if (!status && spec->mapped)
        status = function_init(&f->to_state, m, spec->state_of_data);
    if (!status && spec->mapped)
        status = function_init(&f->to_data, m, spec->data_of_state);
    f->jump = NEW(struct function, spec->events);
    if (!f->jump) return GSV_NO_MEMORY;
    for (size_t i = 0; !status && i < spec->events; i++)
        status = function_init(&f->jump[i], m, spec->event[i].jump);
    if (!status && spec->reactions)
        status = function_init(&f->rates, m, spec->rates);
    if (!status && spec->reactions)
        f->rates_move = !is_steady(f->rates.program);
    return status ? status : look_at_noise(f);
}

int field_init(struct field *f, const gsv_model *m, const gsv_series *input)
{
    *f = (struct field){.spec = m->spec};
    int status = gaps_inputs_init(&f->inputs, m, input);
    if (status) return status;
    status = functions_init(f, m);
    if (status) field_free(f);
    return status;
}

void field_free(struct field *f)
{
    function_free(&f->drift);
    function_free(&f->diffusion);
    function_free(&f->inside);
    function_free(&f->to_state);
    function_free(&f->to_data);
    for (size_t i = 0; f->jump && i < f->spec->events; i++)
        function_free(&f->jump[i]);
    mem_free(f->jump);
    function_free(&f->rates);
    gaps_free(&f->inputs);
    *f = (struct field){0};
}

/* --- A block ------------------------------------------------------------ */

/* g(t) by one point: all tracks share it. */
static void noise_at(struct stepper *s, double t, bool before, double *g)
{
    const struct field *f = s->field;
    struct points in = gaps_points(&f->inputs, s->track, t, before, 1, NULL,
                                   s->time, s->input, s->slope);
    program_forward(f->diffusion.program, &f->diffusion.uniforms, &s->diffusion,
                    &in);
    memcpy(g, program_output(f->diffusion.program, &s->diffusion, 1, 0),
           f->noise_size * sizeof *g);
}

static int workspaces_init(struct stepper *s, size_t P)
{
    const struct field *f = s->field;
    bool moves = f->state_noise;
    const struct {
        const struct function *function;
        struct workspace *workspace;
        size_t points;
    } part[] = {{&f->drift, &s->drift, P},
                {&f->diffusion, &s->diffusion, moves ? P : 1},
                {&f->inside, &s->inside, P},
                {&f->to_state, &s->to_state, P},
                {&f->to_data, &s->to_data, P}};
    for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
        const struct program *p = part[i].function->program;
        bool tangent = moves && part[i].function == &f->diffusion;
        if (p && workspace_init(part[i].workspace, p, part[i].points, false,
                                tangent))
            return GSV_NO_MEMORY;
    }
    s->jump = NEW(struct workspace, f->spec->events);
    if (!s->jump) return GSV_NO_MEMORY;
    for (size_t i = 0; i < f->spec->events; i++)
        if (workspace_init(&s->jump[i], f->jump[i].program, P, false, false))
            return GSV_NO_MEMORY;
    return 0;
}

/* Arrays that only state noise needs have no elements without it. */
static int arrays_init(struct stepper *s, size_t P)
{
    const struct field *f = s->field;
    size_t d = f->spec->dim, n = f->spec->inputs;
    size_t moved = f->state_noise ? P : 0, g = f->noise_size;
    size_t jumps = f->spec->events ? (n + f->spec->values) * P : 0;
    const struct arena_part part[] = {{&s->x, d * P},
                                      {&s->stage, d * P},
                                      {&s->f0, d * P},
                                      {&s->J, f->spec->noises * P},
                                      {&s->time, P},
                                      {&s->input, n * P},
                                      {&s->slope, n * P},
                                      {&s->jump_input, jumps},
                                      {&s->jump_slope, jumps},
                                      {&s->g0, moved ? g * moved : g},
                                      {&s->g1, moved ? g * moved : g},
                                      {&s->g2, g * moved},
                                      {&s->next, d * moved},
                                      {&s->along, d * moved},
                                      {&s->debt, d * moved},
                                      {&s->f1, d * moved}};
    s->arrived = NEW(bool, 2 * P);
    s->kept = s->arrived ? s->arrived + P : NULL;
    if (!s->arrived || arena_lay(&s->arena, sizeof part / sizeof *part, part))
        return GSV_NO_MEMORY;
    return 0;
}

int stepper_init(struct stepper *s, const struct field *f, size_t capacity)
{
    *s = (struct stepper){.field = f, .P = capacity};
    if (arrays_init(s, capacity) || workspaces_init(s, capacity)) {
        stepper_free(s);
        return GSV_NO_MEMORY;
    }
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
    workspace_free(&s->inside);
    workspace_free(&s->to_state);
    workspace_free(&s->to_data);
    for (size_t i = 0; s->jump && i < s->field->spec->events; i++)
        workspace_free(&s->jump[i]);
    mem_free(s->jump);
    arena_free(&s->arena);
    mem_free(s->arrived);
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

struct points stepper_points(struct stepper *s, double t, bool before,
                             const double *x)
{
    struct points in = gaps_points(&s->field->inputs, s->track, t, before, s->P,
                                   x, s->time, s->input, s->slope);
    in.own = s->own;
    in.own_first = s->own_first;
    in.own_stride = s->own_stride;
    return in;
}

const double *stepper_run(struct stepper *s, const struct function *f,
                          struct workspace *w, double t, bool before,
                          const double *x)
{
    struct points in = stepper_points(s, t, before, x);
    program_forward(f->program, &f->uniforms, w, &in);
    return program_output(f->program, w, s->P, 0);
}

/* All jumps are those of the state before them: their sum is made in stage. */
bool stepper_jump(struct stepper *s, double t, size_t row)
{
    const struct field *f = s->field;
    const struct spec *spec = f->spec;
    size_t P = s->P, n = spec->dim * P;
    struct points in = stepper_points(s, t, false, s->x);
    memset(s->stage, 0, n * sizeof *s->stage);
    memcpy(s->jump_input, s->input, spec->inputs * P * sizeof *s->input);
    memcpy(s->jump_slope, s->slope, spec->inputs * P * sizeof *s->slope);
    for (size_t i = spec->obs_values * P; i < spec->values * P; i++)
        s->jump_input[spec->inputs * P + i] =
            gaps_value(&f->inputs, i / P, row);
    in.input = s->jump_input;
    in.slope = s->jump_slope;
    for (size_t k = 0; k < spec->events; k++) {
        if (isnan(gaps_value(&f->inputs, spec->event[k].value, row))) continue;
        program_forward(f->jump[k].program, &f->jump[k].uniforms, &s->jump[k],
                        &in);
        const double *jump =
            program_output(f->jump[k].program, &s->jump[k], P, 0);
        for (size_t i = 0; i < n; i++)
            s->stage[i] += jump[i];
    }
    for (size_t i = 0; i < n; i++)
        s->x[i] += s->stage[i];
    return !f->state_noise || stepper_enter(s, t);
}

const double *stepper_drift(struct stepper *s, double t, bool before,
                            const double *x)
{
    return stepper_run(s, &s->field->drift, &s->drift, t, before, x);
}

const double *stepper_noise(struct stepper *s, double t, bool before,
                            const double *x)
{
    return stepper_run(s, &s->field->diffusion, &s->diffusion, t, before, x);
}

const double *stepper_noise_along(struct stepper *s, const double *x,
                                  const double *v)
{
    const struct function *f = &s->field->diffusion;
    struct points in = {.P = s->P,
                        .state = x,
                        .time = s->time,
                        .input = s->input,
                        .slope = s->slope};
    program_jvp(f->program, &f->uniforms, &s->diffusion, &in, v);
    return program_output_dot(f->program, &s->diffusion, s->P, 0);
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
    memcpy(s->f0, stepper_drift(s, t, false, s->x), bytes);
    memcpy(s->stage, s->x, bytes);
}

/* --- The schemes -------------------------------------------------------- */

/* X' = X + h f(X, t) + g(t) dW. */
static void euler(struct stepper *s, const struct step *step)
{
    const double *g = left_noise(s, step);
    add_drift(s, step->h, stepper_drift(s, step->t, false, s->x), s->x);
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
    const double *f1 = stepper_drift(s, step->end, true, s->stage);
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
    const double *f1 = stepper_drift(s, step->t + 0.75 * h, false, s->stage);
    add_drift(s, h / 3.0, s->f0, s->x);
    add_drift(s, 2.0 * h / 3.0, f1, s->x);
    add_noise(s, 1.0, g1, step->dW, s->x);
    add_noise(s, -1.0, g1, s->J, s->x);
    add_noise(s, 1.0, g0, s->J, s->x);
}

const struct scheme SCHEME_TABLE[ALL_SCHEMES] = {
    [GSV_EULER] = {"euler", false, euler, euler_state, NULL},
    [GSV_MILSTEIN] = {"milstein", false, milstein, milstein_state, NULL},
    [GSV_HEUN] = {"heun", false, heun, heun_state, NULL},
    [GSV_SRK] = {"srk", true, srk, srk_state, NULL},
    [GSV_GILLESPIE] = {"gillespie", .react = reactor_exact},
    [GSV_TAU_LEAP] = {"tau-leap", .react = reactor_leap},
};
