/* SPDX-License-Identifier: MIT */
#include "simulate/first.h"

#include <math.h>

#include "base/error.h"
#include "base/memory.h"

static bool is_normal(const struct first *f, size_t i)
{
    return !f->argument || !f->spec->latent[i] ||
           f->spec->first[i].law == LAW_NORMAL;
}

/* The arguments of the laws that are not normal. */
static int read_arguments(struct first *f, const gsv_model *m,
                          const struct points *at)
{
    for (size_t i = 0; i < f->spec->dim; i++) {
        const struct first_spec *first = &f->spec->first[i];
        const struct law_row *law = &LAW_TABLE[first->law];
        if (is_normal(f, i)) continue;
        for (size_t k = 0; k < law->arguments; k++)
            if (model_evaluate(m, first->argument[k], at, true,
                               &f->argument[i][k]))
                return GSV_NO_MEMORY;
        if (!law->lawful(law->arguments, f->argument[i]))
            return fail(GSV_BAD_INPUT,
                        "the law '%s' of the first '%s' has arguments that it "
                        "cannot have; check the parameters of its init",
                        law->name, f->spec->column[i]);
    }
    return 0;
}

static int read_laws(struct first *f, const gsv_model *m,
                     const struct points *at)
{
    f->argument = mem_new(f->spec->dim, sizeof *f->argument);
    if (!f->argument ||
        model_evaluate(m, f->spec->init_mean, at, true, f->mean) ||
        model_evaluate(m, f->spec->init_deviation, at, true, f->deviation))
        return GSV_NO_MEMORY;
    return read_arguments(f, m, at);
}

static int make(struct first *f, const gsv_model *m, const struct points *at,
                double mean, double deviation)
{
    const struct spec *spec = m->spec;
    *f = (struct first){.spec = spec,
                        .mean = NEW(double, spec->dim),
                        .deviation = NEW(double, spec->dim)};
    if (!f->mean || !f->deviation) return GSV_NO_MEMORY;
    int status = at ? read_laws(f, m, at) : 0;
    for (size_t i = 0; !status && i < spec->dim; i++) {
        if (!at || !spec->latent[i]) {
            f->mean[i] = mean;
            f->deviation[i] = deviation;
        }
        if (!isfinite(f->mean[i]) || !(f->deviation[i] >= 0.0))
            status = fail(GSV_BAD_INPUT,
                          "the first '%s' has mean %g and deviation %g; both "
                          "must be finite, and the deviation not below 0",
                          spec->column[i], f->mean[i], f->deviation[i]);
    }
    return status;
}

int first_of_model(struct first *f, const gsv_model *m, const struct gaps *g,
                   size_t track, double time)
{
    size_t n = m->spec->inputs;
    double *room = NEW(double, 2 * n + 1);
    *f = (struct first){.spec = m->spec};
    if (!room) return GSV_NO_MEMORY;
    struct points at = gaps_points(g, track, time, false, 1, NULL, room,
                                   room + 1, room + 1 + n);
    int status = make(f, m, &at, 0.0, 0.0);
    mem_free(room);
    return status;
}

int first_normal(struct first *f, const gsv_model *m, double mean,
                 double deviation)
{
    return make(f, m, NULL, mean, deviation);
}

void first_free(struct first *f)
{
    MEM_FREE(f->mean, f->deviation, f->argument);
    *f = (struct first){0};
}

bool first_is_random(const struct first *f)
{
    for (size_t i = 0; i < f->spec->dim; i++)
        if (f->deviation[i] > 0.0) return true;
    return false;
}

double first_draw(const struct first *f, const struct random_key *key, size_t i,
                  size_t track, double z)
{
    struct sampler sampler;
    struct random_key own = *key;
    if (is_normal(f, i)) return f->mean[i] + f->deviation[i] * z;
    own.item = i + 1;
    sampler_start(&sampler, &own, track);
    const struct law_row *law = &LAW_TABLE[f->spec->first[i].law];
    return law->draw(&sampler, law->arguments, f->argument[i]);
}
