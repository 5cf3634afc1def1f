/* SPDX-License-Identifier: MIT */
/* All arguments of all laws are one program, run for a block of tracks; then
 * each track has a sampler of its own for every obs. The trials of a binomial
 * are a column of the data, or of another obs, which is then drawn first; how
 * many a multinomial counts is the sum of its columns in the data. */
#include "simulate/emit.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/sampler.h"
#include "lang/law.h"

static const size_t NONE = SIZE_MAX;

const char *emitter_name(const struct emitter *e, size_t obs)
{
    return e->spec->value_column[e->spec->obs[obs].value];
}

/* --- What laws do not say ------------------------------------------------- */

/* The obs that draws a column, or NONE. */
static size_t drawn_by(const struct spec *s, const char *column)
{
    for (size_t i = 0; i < s->observations; i++) {
        const struct obs_spec *o = &s->obs[i];
        for (size_t k = 0; k < o->values - law_given(o); k++)
            if (!strcmp(s->value_column[o->value + k], column)) return i;
    }
    return NONE;
}

/* The columns of an obs that the data must have: trials that are not drawn, or
 * counts, for their sum. */
static size_t wanted_columns(const struct spec *s, const struct obs_spec *o,
                             size_t *first)
{
    *first = o->value;
    if (LAW_TABLE[o->law].together) return o->values;
    *first = o->value + o->values - 1;
    if (!law_given(o)) return 0;
    return drawn_by(s, s->value_column[*first]) == NONE;
}

size_t gsv_model_given(const gsv_model *m, size_t n, const char **name)
{
    if (ANY_NULL(m) || (n && ANY_NULL(name))) return 0;
    const struct spec *s = m->spec;
    size_t count = 0;
    for (size_t i = 0; i < s->observations; i++) {
        size_t first, wanted = wanted_columns(s, &s->obs[i], &first);
        for (size_t k = 0; k < wanted; k++) {
            const char *column = s->value_column[first + k];
            bool known = false;
            for (size_t j = 0; j < count && j < n; j++)
                known = known || !strcmp(name[j], column);
            if (!known && count < n) name[count] = column;
            count += !known;
        }
    }
    for (size_t i = s->obs_values; i < s->values; i++, count++)
        if (count < n) name[count] = s->value_column[i];
    return count;
}

static int find_column(const struct emitter *e, const gsv_series *data,
                       size_t obs, const char *name, const double **column)
{
    for (size_t c = 0; data && data->rows && c < data->columns; c++)
        if (!strcmp(data->name[c], name)) {
            *column = data->value + c * data->rows;
            return 0;
        }
    if (LAW_TABLE[e->spec->obs[obs].law].together)
        return fail(GSV_BAD_INPUT,
                    "the law of '%s' does not say how many are counted; give "
                    "--inputs a file with '%s' and its other columns, whose "
                    "sums are taken",
                    emitter_name(e, obs), name);
    return fail(GSV_BAD_INPUT,
                "the number of trials of '%s' is the column '%s'; give "
                "--inputs a file with it",
                emitter_name(e, obs), name);
}

/* The last one of a track that is known at a time, or else the first: a count
 * is not interpolated. NaN where none is known at all. */
static double held(const gsv_series *data, const double *column, size_t track,
                   double time)
{
    double near = time + 1e-12 * (1.0 + fabs(time));
    size_t low = data->start[track], high = data->start[track + 1];
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (data->time[middle] <= near) low = middle + 1;
        else high = middle;
    }
    for (size_t r = low; r-- > data->start[track];)
        if (!isnan(column[r])) return column[r];
    for (size_t r = low; r < data->start[track + 1]; r++)
        if (!isnan(column[r])) return column[r];
    return NAN;
}

static bool is_count(double n)
{
    return n >= 0.0 && n == floor(n) && isfinite(n);
}

static int read_totals(struct emitter *e, const gsv_series *data, size_t obs,
                       const double *time)
{
    const struct spec *s = e->spec;
    size_t first, wanted = wanted_columns(s, &s->obs[obs], &first);
    double *total = e->total + obs * e->times;
    for (size_t i = 0; i < wanted; i++) {
        const char *name = s->value_column[first + i];
        const double *column = NULL;
        if (find_column(e, data, obs, name, &column)) return GSV_BAD_INPUT;
        for (size_t k = 0; k < e->times; k++) {
            double n = held(data, column, 0, time[k]);
            if (!is_count(n))
                return fail(GSV_BAD_INPUT,
                            "%s: '%s' is %g at time %g, but must be a whole "
                            "number from 0 on",
                            data->source, name, n, time[k]);
            total[k] += n;
        }
    }
    return 0;
}

void emitter_totals(const struct emitter *e, const gsv_series *data,
                    size_t track, double time, double *total)
{
    const struct spec *s = e->spec;
    for (size_t i = 0; i < s->observations; i++) {
        size_t first, wanted = wanted_columns(s, &s->obs[i], &first);
        total[i] = 0.0;
        for (size_t k = 0; k < wanted; k++) {
            const double *column = NULL;
            if (find_column(e, data, i, s->value_column[first + k], &column))
                continue; /* emitter_init() has looked for it */
            total[i] += held(data, column, track, time);
        }
    }
}

/* An obs comes after the one that draws its trials. */
static int set_order(struct emitter *e)
{
    const struct spec *s = e->spec;
    size_t n = s->observations, done = 0;
    bool *placed = NEW(bool, n);
    if (!placed) return GSV_NO_MEMORY;
    for (size_t before = NONE; done != before;) {
        before = done;
        for (size_t i = 0; i < n; i++) {
            size_t by = e->drawn[i] == NONE
                            ? NONE
                            : drawn_by(s, s->value_column[e->drawn[i]]);
            if (placed[i] || (by != NONE && !placed[by])) continue;
            placed[i] = true;
            e->order[done++] = i;
        }
    }
    size_t lost = 0;
    while (lost < n && placed[lost])
        lost++;
    mem_free(placed);
    if (lost == n) return 0;
    return fail(GSV_BAD_INPUT,
                "the number of trials of '%s' is in the end '%s' itself, so "
                "neither can be drawn",
                emitter_name(e, lost), emitter_name(e, lost));
}

/* The value itself, not its name's second place among the trials. */
static void find_drawn(struct emitter *e, size_t obs)
{
    const struct spec *s = e->spec;
    const struct obs_spec *o = &s->obs[obs];
    e->drawn[obs] = NONE;
    if (!law_given(o)) return;
    const char *name = s->value_column[o->value + o->values - 1];
    size_t by = drawn_by(s, name);
    if (by == NONE) return;
    e->drawn[obs] = s->obs[by].value;
    while (strcmp(s->value_column[e->drawn[obs]], name))
        e->drawn[obs]++;
}

/* --- Making --------------------------------------------------------------- */

static int function_of(struct function *f, const gsv_model *m, size_t n,
                       const node *what)
{
    if (!n) return 0;
    f->program =
        program_new(m->spec->graph, n, what, m->spec->parameters, true);
    if (!f->program || uniforms_init(&f->uniforms, f->program))
        return GSV_NO_MEMORY;
    program_prepare(f->program, m->value, &f->uniforms);
    return 0;
}

/* Trials that are a column are no output: a probability stands in for them. The
 * probability of another 0 is the last one. */
static size_t list_outputs(const struct obs_spec *o, node *what)
{
    size_t n = LAW_TABLE[o->law].arguments;
    for (size_t k = 0; k < n; k++)
        what[k] = o->argument[!k && law_given(o) ? 1 : k];
    if (o->zero) what[n++] = o->zero;
    return n;
}

static int functions_init(struct emitter *e, const gsv_model *m)
{
    const struct spec *s = e->spec;
    size_t outputs = 0;
    node *what = NEW(node, (LAW_ARGUMENTS + 1) * s->observations);
    node *rate = NEW(node, s->integrals);
    int status = what && rate ? 0 : GSV_NO_MEMORY;
    for (size_t i = 0; !status && i < s->observations; i++) {
        const struct obs_spec *o = &s->obs[i];
        size_t n = law_numbers(s->graph, o);
        e->output[i] = outputs;
        outputs += list_outputs(o, what + outputs);
        if (n > e->most) e->most = n;
    }
    for (size_t i = 0; !status && i < s->integrals; i++)
        rate[i] = s->integral[i].rate;
    if (!status) status = function_of(&e->argument, m, outputs, what);
    if (!status) status = function_of(&e->rate, m, s->integrals, rate);
    MEM_FREE(what, rate);
    return status;
}

int emitter_init(struct emitter *e, const gsv_model *m, const gsv_series *data,
                 size_t times, const double *time)
{
    size_t n = m->spec->observations;
    *e = (struct emitter){.spec = m->spec,
                          .output = NEW(size_t, n),
                          .order = NEW(size_t, n),
                          .drawn = NEW(size_t, n),
                          .total = NEW(double, n *times),
                          .times = times};
    int status =
        e->output && e->order && e->drawn && e->total ? 0 : GSV_NO_MEMORY;
    for (size_t i = 0; !status && i < n; i++) {
        find_drawn(e, i);
        status = read_totals(e, data, i, time);
    }
    if (!status) status = set_order(e);
    if (!status) status = functions_init(e, m);
    if (status) emitter_free(e);
    return status;
}

static void release(struct function *f)
{
    uniforms_free(&f->uniforms);
    program_free(f->program);
}

void emitter_free(struct emitter *e)
{
    release(&e->argument);
    release(&e->rate);
    MEM_FREE(e->output, e->order, e->drawn, e->total);
    *e = (struct emitter){0};
}

int emission_init(struct emission *n, const struct emitter *e, size_t P)
{
    size_t rows = e->spec->integrals * P;
    size_t columns = e->spec->inputs + e->spec->values;
    const struct arena_part part[] = {
        {&n->left, rows},
        {&n->input, rows ? columns * P + rows : 0},
        {&n->number, e->most}};
    *n = (struct emission){.emitter = e, .columns = columns};
    int status = arena_lay(&n->arena, sizeof part / sizeof *part, part);
    if (!status && e->argument.program)
        status =
            workspace_init(&n->argument, e->argument.program, P, false, false);
    if (!status && e->rate.program)
        status = workspace_init(&n->rate, e->rate.program, P, false, false);
    if (status) {
        emission_free(n);
        return status;
    }
    return 0;
}

void emission_free(struct emission *n)
{
    workspace_free(&n->argument);
    workspace_free(&n->rate);
    arena_free(&n->arena);
    *n = (struct emission){0};
}

/* --- Integrals ------------------------------------------------------------ */

/* They are the last inputs of the arguments. */
static double *integrals_of(struct emission *n, size_t P)
{
    return n->input + n->columns * P;
}

void emission_begin(struct emission *n, size_t P)
{
    size_t rows = n->emitter->spec->integrals;
    n->begun = true;
    if (rows) memset(integrals_of(n, P), 0, rows * P * sizeof *n->input);
}

void emission_enter(struct emission *n, struct stepper *s, double t)
{
    const struct function *f = &n->emitter->rate;
    if (!f->program) return;
    stepper_run(s, f, &n->rate, t, false, s->x);
    for (size_t i = 0; i < n->emitter->spec->integrals; i++)
        memcpy(n->left + i * s->P,
               program_output(f->program, &n->rate, s->P, i),
               s->P * sizeof *n->left);
}

/* A held input that jumps at the right end has its old value there. */
void emission_leave(struct emission *n, struct stepper *s,
                    const struct step *step)
{
    const struct function *f = &n->emitter->rate;
    size_t P = s->P;
    if (!f->program) return;
    double *integral = integrals_of(n, P);
    stepper_run(s, f, &n->rate, step->end, true, s->x);
    for (size_t i = 0; i < n->emitter->spec->integrals; i++) {
        const double *right = program_output(f->program, &n->rate, P, i);
        for (size_t p = 0; p < P; p++)
            integral[i * P + p] +=
                0.5 * step->h * (n->left[i * P + p] + right[p]);
    }
}

static void run_arguments(struct emission *n, struct stepper *s, double time)
{
    const struct emitter *e = n->emitter;
    struct points in = stepper_points(s, time, false, s->x);
    if (e->rate.program) {
        if (e->spec->inputs)
            memcpy(n->input, in.input,
                   e->spec->inputs * s->P * sizeof *n->input);
        in.input = n->input;
    }
    program_forward(e->argument.program, &e->argument.uniforms, &n->argument,
                    &in);
}

/* --- Draws ---------------------------------------------------------------- */

/* One obs of one track. */
struct draw {
    const struct emission_row *row;
    size_t obs, p, P;
    double *cell, *value; /* those of the first column, of its own first one */
    struct sampler sampler;
};

static double total_of(const struct emitter *e, const struct draw *d)
{
    return d->row->total ? d->row->total[d->obs]
                         : e->total[d->obs * e->times + d->row->k];
}

/* Output number i of an obs: its first number for the track. */
static const double *output_of(const struct emission *n, const struct draw *d,
                               size_t i)
{
    const struct emitter *e = n->emitter;
    return program_output(e->argument.program, &n->argument, d->P,
                          e->output[d->obs] + i) +
           d->p;
}

/* Probabilities need not sum to 1, but to something. */
static bool draw_counts(const struct emission *n, struct draw *d)
{
    const struct emitter *e = n->emitter;
    const struct obs_spec *o = &e->spec->obs[d->obs];
    const double *prob = output_of(n, d, 0);
    double sum = 0.0;
    for (size_t i = 0; i < o->values; i++) {
        if (!(prob[i * d->P] >= 0.0)) return false;
        sum += prob[i * d->P];
    }
    if (!(sum > 0.0) || !isfinite(sum)) return false;
    double total = total_of(e, d);
    if (!is_count(total)) return false;
    sampler_multinomial(&d->sampler, total, o->values, prob, d->P, d->value,
                        d->row->rows);
    return true;
}

/* The numbers of all arguments, with trials put in; how many. */
static size_t find_arguments(const struct emission *n, const struct draw *d)
{
    const struct emitter *e = n->emitter;
    const struct obs_spec *o = &e->spec->obs[d->obs];
    size_t count = 0;
    for (size_t i = 0; i < LAW_TABLE[o->law].arguments; i++) {
        const double *a = output_of(n, d, i);
        size_t size = graph_size(e->spec->graph, o->argument[i]);
        for (size_t k = 0; k < size; k++)
            n->number[count++] = a[k * d->P];
    }
    if (law_given(o))
        n->number[0] = e->drawn[d->obs] == NONE
                           ? total_of(e, d)
                           : d->cell[e->drawn[d->obs] * d->row->rows];
    return count;
}

/* The first row has no row before it to integrate from. */
static bool draw_obs(const struct emission *n, struct draw *d)
{
    const struct obs_spec *o = &n->emitter->spec->obs[d->obs];
    const struct law_row *law = &LAW_TABLE[o->law];
    if (o->integrated && !n->begun) {
        for (size_t i = 0; i < o->values; i++)
            d->value[i * d->row->rows] = NAN;
        return true;
    }
    if (law->together) return draw_counts(n, d);
    size_t count = find_arguments(n, d);
    double zero = o->zero ? *output_of(n, d, law->arguments) : 0.0;
    if (!law->lawful(count, n->number) || !law_allows(RANGE_PROBABILITY, zero))
        return false;
    *d->value = law_draw(o, &d->sampler, zero, count, n->number);
    if (law_given(o)) d->value[d->row->rows] = n->number[0];
    return isfinite(*d->value);
}

bool emission_draw(struct emission *n, struct stepper *s,
                   const struct emission_row *row, size_t *track, size_t *obs)
{
    const struct emitter *e = n->emitter;
    if (!e->argument.program) return true;
    run_arguments(n, s, row->time);
    for (size_t i = 0; i < e->spec->observations; i++)
        for (size_t p = 0; p < row->tracks; p++) {
            struct draw d = {.row = row, .obs = e->order[i], .p = p, .P = s->P};
            const struct random_key key = {.seed = row->seed,
                                           .purpose = RANDOM_OBSERVE,
                                           .iteration = (uint32_t)d.obs,
                                           .item = row->k};
            d.cell = row->value + (row->first + p) * e->times + row->k;
            d.value = d.cell + e->spec->obs[d.obs].value * row->rows;
            sampler_start(&d.sampler, &key, row->first + p);
            if (draw_obs(n, &d)) continue;
            *track = p;
            *obs = d.obs;
            return false;
        }
    return true;
}
