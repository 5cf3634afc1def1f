/* SPDX-License-Identifier: MIT */
#include "model/effects.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/constant.h"
#include "base/error.h"
#include "base/memory.h"

/* --- Making --------------------------------------------------------------- */

static size_t size_of(const struct spec *s, size_t effect)
{
    return s->param[s->effect[effect].param].rows;
}

/* Outputs 2 i and 2 i + 1 of the program are the mean and the root of effect i;
 * their bars stand one after another. */
static int make_parts(struct effect_law *e)
{
    const struct spec *s = e->spec;
    size_t all = 0, at = 0;
    for (size_t i = 0; i < s->effects; i++)
        all += size_of(s, i) * (size_of(s, i) + 1);
    e->part = NEW(double *, 2 * s->effects);
    e->part_bar = NEW(double, all);
    if (!e->part || !e->part_bar) return GSV_NO_MEMORY;
    for (size_t i = 0; i < s->effects; i++) {
        size_t n = size_of(s, i);
        e->part[2 * i] = e->part_bar + at;
        e->part[2 * i + 1] = e->part_bar + at + n;
        at += n * (n + 1);
    }
    return 0;
}

int effect_law_init(struct effect_law *e, const gsv_model *m)
{
    const struct spec *s = m->spec;
    size_t n = s->effect_size;
    *e = (struct effect_law){.spec = s, .n = n};
    node *output = NEW(node, 2 * s->effects);
    if (!output) return GSV_NO_MEMORY;
    for (size_t i = 0; i < s->effects; i++) {
        output[2 * i] = s->effect[i].mean;
        output[2 * i + 1] = s->effect[i].root;
    }
    e->program =
        program_new(s->graph, 2 * s->effects, output, s->parameters, true);
    mem_free(output);
    if (!e->program || uniforms_init(&e->uniforms, e->program) ||
        workspace_init(&e->space, e->program, 1, true, false) || make_parts(e))
        return GSV_NO_MEMORY;
    e->mean = NEW(double, n);
    e->root = NEW(double, n *n);
    e->bar = NEW(double, program_uniforms(e->program));
    return e->mean && e->root && e->bar ? 0 : GSV_NO_MEMORY;
}

void effect_law_free(struct effect_law *e)
{
    workspace_free(&e->space);
    uniforms_free(&e->uniforms);
    program_free(e->program);
    MEM_FREE(e->mean, e->root, e->bar, e->part, e->part_bar);
    *e = (struct effect_law){0};
}

/* --- The law -------------------------------------------------------------- */

static int check(const struct effect_law *e)
{
    for (size_t i = 0; i < e->n; i++) {
        double s = e->root[i * (e->n + 1)];
        char name[120];
        if (s > 0.0 && isfinite(s) && isfinite(e->mean[i])) continue;
        return fail(GSV_NUMERICAL,
                    "the random effect %s has mean %g and deviation %g: a "
                    "deviation must be positive, and both finite",
                    effect_name(e->spec, i, name), e->mean[i], s);
    }
    return 0;
}

/* A deviation that is far smaller than its mean is lost where u = mean + root z
 * is rounded, and z with it: the law is then as narrow as counts. */
static const double NARROWEST = 1e-9, LEAST_MEAN = 1e-90;

static void widen(struct effect_law *e)
{
    for (size_t i = 0; i < e->n; i++) {
        double *s = &e->root[i * (e->n + 1)];
        *s = fmax(*s, NARROWEST * fmax(fabs(e->mean[i]), LEAST_MEAN));
    }
}

int effect_law_set(struct effect_law *e, const double *values)
{
    const struct points in = {.P = 1};
    size_t n = e->n;
    program_prepare(e->program, values, &e->uniforms);
    program_forward(e->program, &e->uniforms, &e->space, &in);
    for (size_t i = 0; i < e->spec->effects; i++) {
        size_t k = size_of(e->spec, i), at = e->spec->effect[i].offset;
        const double *mean = program_output(e->program, &e->space, 1, 2 * i);
        const double *root =
            program_output(e->program, &e->space, 1, 2 * i + 1);
        memcpy(e->mean + at, mean, k * sizeof *mean);
        for (size_t a = 0; a < k; a++)
            for (size_t b = 0; b <= a; b++)
                e->root[(at + a) * n + at + b] = root[a * k + b];
    }
    int status = check(e);
    if (!status) widen(e);
    e->log_root = 0.0;
    for (size_t i = 0; !status && i < n; i++)
        e->log_root += log(e->root[i * (n + 1)]);
    return status;
}

double effect_density(const struct effect_law *e, const double *u, double *z)
{
    double sum = 0.0;
    for (size_t i = 0; i < e->n; i++) {
        const double *row = e->root + i * e->n;
        z[i] = u[i] - e->mean[i];
        for (size_t j = 0; j < i; j++)
            z[i] -= row[j] * z[j];
        z[i] /= row[i];
        sum += z[i] * z[i] + LOG_TWO_PI;
    }
    return -0.5 * sum - e->log_root;
}

void effect_draw(const struct effect_law *e, const double *z, double *u)
{
    for (size_t i = 0; i < e->n; i++) {
        u[i] = e->mean[i];
        for (size_t j = 0; j <= i; j++)
            u[i] += e->root[i * e->n + j] * z[j];
    }
}

/* With v = root'^-1 z: by the mean v, by the root v z' less 1 / its diagonal.
 */
void effect_density_vjp(const struct effect_law *e, const double *z,
                        double weight, double *mean_bar, double *root_bar,
                        double *room)
{
    size_t n = e->n;
    for (size_t i = n; i-- > 0;) {
        room[i] = z[i];
        for (size_t j = i + 1; j < n; j++)
            room[i] -= e->root[j * n + i] * room[j];
        room[i] /= e->root[i * (n + 1)];
    }
    for (size_t i = 0; i < n; i++) {
        mean_bar[i] += weight * room[i];
        for (size_t j = 0; j <= i; j++)
            root_bar[i * n + j] += weight * room[i] * z[j];
        root_bar[i * (n + 1)] -= weight / e->root[i * (n + 1)];
    }
}

void effect_law_vjp(struct effect_law *e, const double *mean_bar,
                    const double *root_bar, double *gradient)
{
    const struct points in = {.P = 1};
    const struct spec *s = e->spec;
    for (size_t i = 0; i < s->effects; i++) {
        size_t k = size_of(s, i), at = s->effect[i].offset;
        memcpy(e->part[2 * i], mean_bar + at, k * sizeof *mean_bar);
        memset(e->part[2 * i + 1], 0, k * k * sizeof *mean_bar);
        for (size_t a = 0; a < k; a++)
            for (size_t b = 0; b <= a; b++)
                e->part[2 * i + 1][a * k + b] =
                    root_bar[(at + a) * e->n + at + b];
    }
    memset(e->bar, 0, program_uniforms(e->program) * sizeof *e->bar);
    program_forward(e->program, &e->uniforms, &e->space, &in);
    program_vjp(e->program, &e->uniforms, &e->space, &in,
                (const double *const *)e->part, NULL, e->bar);
    program_finish(e->program, &e->uniforms, e->bar);
    for (size_t i = 0; i < s->parameters; i++)
        gradient[i] += e->bar[i];
}

/* --- Effects among the values --------------------------------------------- */

void effects_put(const struct spec *s, const double *u, double *values)
{
    for (size_t i = 0; i < s->effects; i++)
        memcpy(values + s->param[s->effect[i].param].offset,
               u + s->effect[i].offset, size_of(s, i) * sizeof *u);
}

void effects_get(const struct spec *s, const double *values, double *u)
{
    for (size_t i = 0; i < s->effects; i++)
        memcpy(u + s->effect[i].offset,
               values + s->param[s->effect[i].param].offset,
               size_of(s, i) * sizeof *u);
}

int effects_to_mean(gsv_model *m)
{
    struct effect_law law;
    if (!m->spec->effects) return 0;
    int status = effect_law_init(&law, m);
    if (!status) {
        /* A deviation that is not positive has a message of its own later. */
        effect_law_set(&law, m->value);
        effects_put(m->spec, law.mean, m->value);
    }
    effect_law_free(&law);
    return status;
}

const char *effect_name(const struct spec *s, size_t i, char room[120])
{
    size_t k = 0;
    while (k + 1 < s->effects && s->effect[k + 1].offset <= i)
        k++;
    const struct param_spec *p = &s->param[s->effect[k].param];
    if (p->rank == 0) snprintf(room, 120, "%.100s", p->name);
    else
        snprintf(room, 120, "%.80s[%zu]", p->name, i - s->effect[k].offset + 1);
    return room;
}
