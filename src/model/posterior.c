/* SPDX-License-Identifier: MIT */
#include "model/posterior.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "gp/gp_posterior.h"
#include "model/gp_sites.h"

enum { NAME_ROOM = 300 };

static const char *tensor_name(const gsv_model *m, size_t gp, size_t output,
                               char name[NAME_ROOM])
{
    const struct spec *s = m->spec;
    const char *value = s->param[spec_param_at(s, s->gp[gp].value)].name;
    snprintf(name, NAME_ROOM, "@gp.%.*s.%zu", (int)strcspn(value, "."), value,
             output + 1);
    return name;
}

/* --- Kept ---------------------------------------------------------------- */

/* The parts of an information, in their order. */
enum { PARTS = 4 };

static size_t list_parts(const struct gp_information *h, double *part[PARTS],
                         size_t size[PARTS])
{
    size_t band = 1, G = h->nodes, F = h->features, all = 0;
    for (size_t i = 0; i < h->axes; i++)
        band *= GP_BAND;
    double *array[PARTS] = {h->stencil, h->cross, h->square, h->pull};
    size_t count[PARTS] = {G * band, G * F, F * F, G + F};
    for (size_t i = 0; i < PARTS; i++) {
        part[i] = array[i];
        size[i] = count[i];
        all += count[i];
    }
    return all;
}

int posterior_put(gsv_model *m, size_t gp, size_t output,
                  const struct gp_information *h)
{
    char name[NAME_ROOM];
    double *part[PARTS];
    size_t size[PARTS], all = list_parts(h, part, size);
    double *flat = NEW(double, all), *to = flat;
    if (!flat) return GSV_NO_MEMORY;
    for (size_t i = 0; i < PARTS; to += size[i++])
        memcpy(to, part[i], size[i] * sizeof *to);
    int status = tensors_add(&m->posterior, tensor_name(m, gp, output, name), 1,
                             &all, flat);
    mem_free(flat);
    return status;
}

void posterior_forget(gsv_model *m)
{
    tensors_free(&m->posterior);
}

static int damaged(const char *path, const char *name)
{
    return fail(GSV_BAD_INPUT,
                "%s is damaged: the tensor '%.100s' does not fit its gp", path,
                name);
}

/* Its numbers into an information of the right size. */
static int fill(struct gp_information *h, const struct tensor *t)
{
    double *part[PARTS];
    size_t size[PARTS], all = list_parts(h, part, size);
    const double *from = t->value;
    if (t->count != all) return GSV_BAD_INPUT;
    for (size_t i = 0; i < all; i++)
        if (!isfinite(from[i])) return GSV_BAD_INPUT;
    for (size_t i = 0; i < PARTS; from += size[i++])
        memcpy(part[i], from, size[i] * sizeof *from);
    return 0;
}

static int read_one(gsv_model *m, const struct tensors *t, size_t gp,
                    size_t output, const char *path)
{
    char name[NAME_ROOM];
    const struct tensor *from =
        tensors_find(t, tensor_name(m, gp, output, name));
    if (!from) return 0;
    struct gp_prior prior = gp_prior_of(m, gp, output);
    struct gp_information h;
    int status = gp_information_init(&h, &prior);
    if (!status && fill(&h, from)) status = damaged(path, name);
    if (!status) status = posterior_put(m, gp, output, &h);
    gp_information_free(&h);
    return status;
}

int posterior_read(gsv_model *m, const struct tensors *t, const char *path)
{
    int status = 0;
    for (size_t gp = 0; gp < m->spec->gps; gp++)
        for (size_t i = 0; i < m->spec->graph->gp[gp].outputs && !status; i++)
            status = read_one(m, t, gp, i, path);
    return status;
}

/* --- Used ---------------------------------------------------------------- */

struct function {
    size_t gp, output;
    struct gp_root root;
    struct gp_information h;
    struct gp_posterior q;
};

struct gsv_functions {
    const gsv_model *m;
    struct function *f;
    size_t count;
};

bool gsv_model_has_posterior(const gsv_model *m)
{
    return ANY_NULL(m) ? false : m->posterior.count > 0;
}

static int function_init(struct function *f, const gsv_model *m,
                         const struct tensor *t, size_t gp, size_t output)
{
    struct gp_prior prior = gp_prior_of(m, gp, output);
    *f = (struct function){.gp = gp, .output = output};
    int status = gp_root_init(&f->root, &prior);
    if (!status) status = gp_information_init(&f->h, &prior);
    if (!status && fill(&f->h, t)) status = damaged("the model", t->name);
    if (!status) status = gp_posterior_init(&f->q, &f->root, false);
    return status ? status : gp_posterior_update(&f->q, &f->h);
}

static int fill_all(gsv_functions *q, const gsv_model *m)
{
    char name[NAME_ROOM];
    int status = 0;
    for (size_t gp = 0; gp < m->spec->gps; gp++)
        for (size_t i = 0; i < m->spec->graph->gp[gp].outputs && !status; i++) {
            const struct tensor *t =
                tensors_find(&m->posterior, tensor_name(m, gp, i, name));
            if (t) status = function_init(&q->f[q->count++], m, t, gp, i);
        }
    return status;
}

gsv_functions *gsv_functions_new(const gsv_model *m)
{
    if (ANY_NULL(m)) return NULL;
    if (!gsv_model_has_posterior(m))
        return fail_null(GSV_BAD_INPUT, "the model has no posterior: it was "
                                        "not fitted, or none of its functions "
                                        "is a gp without 'map'");
    gsv_functions *q = NEW(gsv_functions, 1);
    if (!q) return NULL;
    q->m = m;
    q->f = NEW(struct function, m->posterior.count);
    if (q->f && !fill_all(q, m)) return q;
    gsv_functions_free(q);
    return NULL;
}

void gsv_functions_free(gsv_functions *q)
{
    if (!q) return;
    for (size_t i = 0; q->f && i < q->count; i++) {
        gp_posterior_free(&q->f[i].q);
        gp_information_free(&q->f[i].h);
        gp_root_free(&q->f[i].root);
    }
    MEM_FREE(q->f, q);
}

/* The points as a function sees them. */
struct seen {
    struct points in;
    double *state, *argument, *slope, *mean, *sd;
    double *still; /* (inputs, n) zeros: their slopes */
    struct arena arena;
};

static int seen_init(struct seen *s, const gsv_model *m, struct points in)
{
    size_t n = in.P, d = m->spec->dim;
    *s = (struct seen){.in = in};
    const struct arena_part part[] = {
        {&s->state, d * n}, {&s->argument, GRID_AXES * n},
        {&s->slope, d * n}, {&s->mean, n},
        {&s->sd, n},        {&s->still, m->spec->inputs * n}};
    int status = arena_lay(&s->arena, sizeof part / sizeof *part, part);
    s->in.slope = s->still;
    return status;
}

/* variance (dim, n) += (d drift / dh)^2 var h. */
static int add_plain(struct function *f, const gsv_model *m, struct seen *s,
                     double *variance)
{
    struct gp_rows rows = {0};
    size_t n = s->in.P;
    int status = gp_rows_init(&rows, m, f->gp, 0, n, s->argument);
    if (!status)
        status = gp_slope(m, m->data_drift, &s->in, f->gp, f->output, rows.sum,
                          s->slope);
    if (!status) gp_posterior_at(&f->q, &rows.points, NULL, s->mean, s->sd);
    for (size_t i = 0; !status && i < m->spec->dim * n; i++) {
        double sd = s->slope[i] * s->sd[i % n];
        variance[i] += sd * sd;
    }
    gp_rows_free(&rows);
    return status;
}

/* Row a of one element of the drift: += slope (P) times those of an order. */
static void add_scaled(struct gp_rows *a, const struct gp_rows *b,
                       size_t features, const double *slope)
{
    size_t n = a->points.touched;
    for (size_t j = 0; j < a->points.count; j++) {
        for (size_t i = j * n; i < (j + 1) * n; i++)
            a->weight[i] += slope[j] * b->weight[i];
        for (size_t i = j * features; i < (j + 1) * features; i++)
            a->feature[i] += slope[j] * b->feature[i];
    }
}

/* The variance of element i of the drift, whose slopes by all orders are given:
 * that of the sum over orders of slope a_o' w. */
static int add_element(struct function *f, const gsv_model *m, struct seen *s,
                       const struct gp_orders *d, const double *slope, size_t i,
                       double *variance)
{
    size_t n = s->in.P, F = f->root.prior.features;
    double scale = f->root.prior.amplitude * f->root.prior.amplitude;
    struct gp_rows sum = {0};
    double *prior = NEW(double, n);
    int status =
        prior ? gp_rows_init(&sum, m, f->gp, 0, n, s->argument) : GSV_NO_MEMORY;
    if (!status) {
        memset(sum.weight, 0, n * sum.points.touched * sizeof *sum.weight);
        memset(sum.feature, 0, n * F * sizeof *sum.feature);
    }
    for (size_t o = 0; o < d->count && !status; o++) {
        const double *by = slope + (o * d->size + i) * n;
        double far = scale * gp_order_variance(m, f->gp, d->order[o]);
        struct gp_rows rows = {0};
        status = gp_rows_init(&rows, m, f->gp, d->order[o], n, s->argument);
        if (!status) add_scaled(&sum, &rows, F, by);
        for (size_t j = 0; j < n; j++)
            prior[j] += by[j] * by[j] * far;
        gp_rows_free(&rows);
    }
    if (!status) gp_posterior_at(&f->q, &sum.points, prior, s->mean, s->sd);
    for (size_t j = 0; j < n && !status; j++)
        variance[i * n + j] += s->sd[j] * s->sd[j];
    gp_rows_free(&sum);
    mem_free(prior);
    return status;
}

/* The same where the drift has derivatives of h. */
static int add_derived(struct function *f, const gsv_model *m, struct seen *s,
                       const struct gp_orders *d, double *variance)
{
    double *slope = NEW(double, d->count * d->size * s->in.P);
    if (!slope) return GSV_NO_MEMORY;
    int status = gp_orders_slopes(d, m, &s->in, f->output, slope);
    for (size_t i = 0; i < d->size && !status; i++)
        status = add_element(f, m, s, d, slope, i, variance);
    mem_free(slope);
    return status;
}

static int add_variance(struct function *f, const gsv_model *m, struct seen *s,
                        double *variance)
{
    const struct spec *spec = m->spec;
    struct points at = s->in;
    struct gp_orders d = {0};
    int status = model_evaluate(m, spec->state_of_data, &at, true, s->state);
    at.state = s->state;
    if (!status)
        status =
            model_evaluate(m, spec->gp[f->gp].argument, &at, true, s->argument);
    if (!status) status = gp_orders_init(&d, m, m->data_drift, f->gp);
    if (!status)
        status = d.plain ? add_plain(f, m, s, variance)
                         : add_derived(f, m, s, &d, variance);
    gp_orders_free(&d);
    return status;
}

enum gsv_status gsv_functions_drift(gsv_functions *q, size_t n,
                                    const double *time, const double *x,
                                    const double *input, double *sd)
{
    if (ANY_NULL(q) || (n && ANY_NULL(time, x, sd))) return GSV_BAD_INPUT;
    const gsv_model *m = q->m;
    struct seen s;
    if (m->spec->inputs && !input)
        return fail(GSV_BAD_INPUT, "the model has inputs, but none are given");
    if (!n) return 0;
    int status = seen_init(
        &s, m,
        (struct points){.P = n, .state = x, .time = time, .input = input});
    memset(sd, 0, m->spec->dim * n * sizeof *sd);
    for (size_t k = 0; !status && k < q->count; k++)
        status = add_variance(&q->f[k], m, &s, sd);
    for (size_t i = 0; !status && i < m->spec->dim * n; i++)
        sd[i] = sqrt(sd[i]);
    arena_free(&s.arena);
    return status;
}

/* --- Drawn --------------------------------------------------------------- */

/* What gp_posterior_draw() takes, and in front of it what it draws. */
static size_t room_of(const struct gp_root *r)
{
    return (2 * r->numbers + r->rank) * FUNCTIONS_BLOCK +
           gp_root_room(r, FUNCTIONS_BLOCK);
}

size_t functions_room(const gsv_functions *q)
{
    size_t most = 0;
    for (size_t k = 0; k < q->count; k++)
        if (room_of(&q->f[k].root) > most) most = room_of(&q->f[k].root);
    return most;
}

void functions_draw(const gsv_functions *q, uint64_t seed, uint64_t first,
                    size_t from, size_t stride, double *row, double *room)
{
    for (size_t k = 0; k < q->count; k++) {
        const struct function *f = &q->f[k];
        const struct gp_spec *s = &q->m->spec->gp[f->gp];
        size_t G = f->root.nodes, F = f->root.prior.features;
        const struct random_key key = {
            .seed = seed, .purpose = RANDOM_FUNCTION, .item = (uint32_t)k};
        struct gp_posterior own = f->q; /* but for the room */
        double *w = room;
        own.room = room + (G + F) * FUNCTIONS_BLOCK;
        gp_posterior_draw(&own, &key, first, FUNCTIONS_BLOCK, w);
        for (size_t i = 0; i < FUNCTIONS_BLOCK; i++, w += G + F) {
            double *to = row + i * stride;
            memcpy(to + (s->value - from) + f->output * G, w, G * sizeof *w);
            if (F)
                memcpy(to + (s->weight - from) + f->output * F, w + G,
                       F * sizeof *w);
        }
    }
}

/* Its values would have other places. */
static bool other_text(const gsv_functions *q, const gsv_model *m)
{
    if (!strcmp(q->m->text, m->text)) return false;
    fail(GSV_BAD_INPUT, "the functions are those of a model with another text; "
                        "draw them into a copy of that model");
    return true;
}

enum gsv_status gsv_functions_draw(gsv_functions *q, gsv_model *m,
                                   uint64_t seed, uint64_t draw)
{
    if (ANY_NULL(q, m) || other_text(q, m)) return GSV_BAD_INPUT;
    size_t n = m->spec->parameters, at = draw % FUNCTIONS_BLOCK;
    double *room = NEW(double, functions_room(q));
    double *row = NEW(double, FUNCTIONS_BLOCK *n);
    bool whole = room && row;
    for (size_t i = 0; whole && i < FUNCTIONS_BLOCK; i++)
        memcpy(row + i * n, m->value, n * sizeof *row);
    if (whole) {
        functions_draw(q, seed, draw - at, 0, n, row, room);
        memcpy(m->value, row + at * n, n * sizeof *row);
    }
    MEM_FREE(room, row);
    return whole ? 0 : GSV_NO_MEMORY;
}
