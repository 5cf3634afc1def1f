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

/* What an output has: its information, and its row under each kernel. */
static const char INFORMATION[] = "", KERNELS_OF[] = ".kernels";
static const char WEIGHTS[] = "@gp.weights";

static const char *tensor_name(const gsv_model *m, size_t gp, size_t output,
                               const char *what, char name[NAME_ROOM])
{
    const struct spec *s = m->spec;
    const char *value = s->param[spec_param_at(s, s->gp[gp].value)].name;
    snprintf(name, NAME_ROOM, "@gp.%.*s.%zu%s", (int)strcspn(value, "."), value,
             output + 1, what);
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
    int status = tensors_add(&m->posterior,
                             tensor_name(m, gp, output, INFORMATION, name), 1,
                             &all, flat);
    mem_free(flat);
    return status;
}

size_t posterior_row(const gsv_model *m, size_t gp)
{
    const struct gp *h = &m->spec->graph->gp[gp];
    return h->axes + 2 + gp_nodes(h) + gp_features(h);
}

int posterior_put_kernels(gsv_model *m, size_t gp, size_t output, size_t count,
                          const double *rows)
{
    char name[NAME_ROOM];
    size_t shape[] = {count, posterior_row(m, gp)};
    return tensors_add(&m->posterior,
                       tensor_name(m, gp, output, KERNELS_OF, name), 2, shape,
                       rows);
}

int posterior_put_weights(gsv_model *m, size_t count, const double *weight)
{
    return tensors_add(&m->posterior, WEIGHTS, 1, &count, weight);
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
        tensors_find(t, tensor_name(m, gp, output, INFORMATION, name));
    if (!from) return 0;
    struct gp_prior prior = gp_prior_of(m, gp, output);
    struct gp_information h;
    int status = gp_information_init(&h, &prior);
    if (!status && fill(&h, from)) status = damaged(path, name);
    if (!status) status = posterior_put(m, gp, output, &h);
    gp_information_free(&h);
    return status;
}

/* Weights are shares of one; the kernels' own numbers are positive. */
static bool are_weights(const struct tensor *t)
{
    double sum = 0.0;
    for (size_t i = 0; i < t->count; i++) {
        if (!(t->value[i] >= 0.0)) return false;
        sum += t->value[i];
    }
    return fabs(sum - 1.0) < 1e-6;
}

static bool are_kernels(const gsv_model *m, size_t gp, const struct tensor *t,
                        size_t count)
{
    size_t row = posterior_row(m, gp), axes = m->spec->graph->gp[gp].axes;
    if (t->count != count * row) return false;
    for (size_t i = 0; i < t->count; i++) {
        bool own = i % row < axes + 1;
        if (!isfinite(t->value[i]) || (own && !(t->value[i] > 0.0)))
            return false;
    }
    return true;
}

static int read_kernels(gsv_model *m, const struct tensors *t, size_t gp,
                        size_t output, size_t count, const char *path)
{
    char name[NAME_ROOM];
    if (!tensors_find(&m->posterior,
                      tensor_name(m, gp, output, INFORMATION, name)))
        return 0;
    const struct tensor *from =
        tensors_find(t, tensor_name(m, gp, output, KERNELS_OF, name));
    if (!from || !are_kernels(m, gp, from, count)) return damaged(path, name);
    return posterior_put_kernels(m, gp, output, count, from->value);
}

int posterior_read(gsv_model *m, const struct tensors *t, const char *path)
{
    int status = 0;
    const struct tensor *weights = tensors_find(t, WEIGHTS);
    for (size_t gp = 0; gp < m->spec->gps; gp++)
        for (size_t i = 0; i < m->spec->graph->gp[gp].outputs && !status; i++) {
            status = read_one(m, t, gp, i, path);
            if (!status && weights)
                status = read_kernels(m, t, gp, i, weights->count, path);
        }
    if (status || !weights || !m->posterior.count) return status;
    if (!are_weights(weights)) return damaged(path, WEIGHTS);
    return posterior_put_weights(m, weights->count, weights->value);
}

/* --- Used ---------------------------------------------------------------- */

/* Under one of the kernels. */
struct point {
    struct gp_root root;
    struct gp_posterior q;
};

struct function {
    size_t gp, output;
    struct gp_information h;
    struct point *point; /* (points) */
};

struct gsv_functions {
    const gsv_model *m;
    struct function *f;
    size_t count;
    size_t points;  /* kernels that are mixed */
    double *weight; /* (points)               */
};

bool gsv_model_has_posterior(const gsv_model *m)
{
    return ANY_NULL(m) ? false : m->posterior.count > 0;
}

static int point_init(struct point *p, const struct gp_prior *prior,
                      const struct gp_information *h)
{
    int status = gp_root_init(&p->root, prior);
    if (!status) status = gp_posterior_init(&p->q, &p->root, false);
    return status ? status : gp_posterior_update(&p->q, h);
}

/* The prior and the pull of a row of the tensor of kernels. */
static void take_row(const double *row, struct gp_prior *prior,
                     struct gp_information *h)
{
    for (size_t k = 0; k < prior->axes; k++)
        prior->length[k] = row[k];
    prior->amplitude = row[prior->axes];
    if (prior->features) prior->feature_sd = row[prior->axes + 1];
    memcpy(h->pull, row + prior->axes + 2,
           (h->nodes + h->features) * sizeof *h->pull);
}

static int function_init(struct function *f, const gsv_functions *q,
                         const struct tensor *t, size_t gp, size_t output)
{
    char name[NAME_ROOM];
    const gsv_model *m = q->m;
    const struct tensor *rows = tensors_find(
        &m->posterior, tensor_name(m, gp, output, KERNELS_OF, name));
    struct gp_prior prior = gp_prior_of(m, gp, output);
    *f = (struct function){.gp = gp, .output = output};
    f->point = NEW(struct point, q->points);
    int status =
        f->point ? gp_information_init(&f->h, &prior) : (int)GSV_NO_MEMORY;
    if (!status && fill(&f->h, t)) status = damaged("the model", t->name);
    for (size_t i = 0; i < q->points && !status; i++) {
        if (rows)
            take_row(rows->value + i * posterior_row(m, gp), &prior, &f->h);
        status = point_init(&f->point[i], &prior, &f->h);
    }
    return status;
}

/* The weights of the kernels; without any, there is one kernel. */
static int weights_init(gsv_functions *q)
{
    const struct tensor *t = tensors_find(&q->m->posterior, WEIGHTS);
    q->points = t ? t->count : 1;
    q->weight = NEW(double, q->points);
    if (!q->weight) return GSV_NO_MEMORY;
    q->weight[0] = 1.0;
    if (t) memcpy(q->weight, t->value, t->count * sizeof *q->weight);
    return 0;
}

static int fill_all(gsv_functions *q)
{
    char name[NAME_ROOM];
    const gsv_model *m = q->m;
    int status = weights_init(q);
    for (size_t gp = 0; gp < m->spec->gps; gp++)
        for (size_t i = 0; i < m->spec->graph->gp[gp].outputs && !status; i++) {
            const struct tensor *t = tensors_find(
                &m->posterior, tensor_name(m, gp, i, INFORMATION, name));
            if (t) status = function_init(&q->f[q->count++], q, t, gp, i);
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
    if (q->f && !fill_all(q)) return q;
    gsv_functions_free(q);
    return NULL;
}

void gsv_functions_free(gsv_functions *q)
{
    if (!q) return;
    for (size_t i = 0; q->f && i < q->count; i++) {
        struct function *f = &q->f[i];
        for (size_t k = 0; f->point && k < q->points; k++) {
            gp_posterior_free(&f->point[k].q);
            gp_root_free(&f->point[k].root);
        }
        gp_information_free(&f->h);
        mem_free(f->point);
    }
    MEM_FREE(q->f, q->weight, q);
}

/* The points as a function sees them. */
struct seen {
    struct points in;
    double *state, *argument, *slope, *mean, *sd;
    double *means, *squares; /* (n) of what is mixed            */
    double *still;           /* (inputs, n) zeros: their slopes */
    struct arena arena;
};

static int seen_init(struct seen *s, const gsv_model *m, struct points in)
{
    size_t n = in.P, d = m->spec->dim;
    *s = (struct seen){.in = in};
    const struct arena_part part[] = {
        {&s->state, d * n}, {&s->argument, GRID_AXES * n},
        {&s->slope, d * n}, {&s->mean, n},
        {&s->sd, n},        {&s->still, m->spec->inputs * n},
        {&s->means, n},     {&s->squares, n}};
    int status = arena_lay(&s->arena, sizeof part / sizeof *part, part);
    s->in.slope = s->still;
    return status;
}

/* Mean and standard deviation at points, to s: of the mixture over kernels,
 * whose variance is that under each of them and that of their means. prior
 * (n): of a kernel with amplitude 1; NULL: 1. */
static void mix(const gsv_functions *q, const struct function *f,
                const struct gp_points *points, const double *prior,
                struct seen *s)
{
    size_t n = s->in.P;
    memset(s->means, 0, n * sizeof *s->means);
    memset(s->squares, 0, n * sizeof *s->squares);
    for (size_t k = 0; k < q->points; k++) {
        struct point *p = &f->point[k];
        double a = p->root.prior.amplitude, share = q->weight[k];
        for (size_t j = 0; prior && j < n; j++)
            s->mean[j] = a * a * prior[j];
        gp_posterior_at(&p->q, points, prior ? s->mean : NULL, s->mean, s->sd);
        if (q->points == 1) return;
        /* As West (1979) adds one more: nothing cancels. */
        double before = 0.0;
        for (size_t i = 0; i < k; i++)
            before += q->weight[i];
        double by = share > 0.0 ? share / (before + share) : 0.0;
        for (size_t j = 0; j < n; j++) {
            double away = s->mean[j] - s->means[j];
            s->means[j] += by * away;
            s->squares[j] +=
                share * s->sd[j] * s->sd[j] + before * by * away * away;
        }
    }
    for (size_t j = 0; j < n; j++) {
        s->mean[j] = s->means[j];
        s->sd[j] = sqrt(s->squares[j]);
    }
}

/* variance (dim, n) += (d drift / dh)^2 var h. */
static int add_plain(const gsv_functions *q, struct function *f, struct seen *s,
                     double *variance)
{
    const gsv_model *m = q->m;
    struct gp_rows rows = {0};
    size_t n = s->in.P;
    int status = gp_rows_init(&rows, m, f->gp, 0, n, s->argument);
    if (!status)
        status = gp_slope(m, m->data_drift, &s->in, f->gp, f->output, rows.sum,
                          s->slope);
    if (!status) mix(q, f, &rows.points, NULL, s);
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
static int add_element(const gsv_functions *q, struct function *f,
                       struct seen *s, const struct gp_orders *d,
                       const double *slope, size_t i, double *variance)
{
    const gsv_model *m = q->m;
    size_t n = s->in.P, F = f->h.features;
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
        double far = gp_order_variance(m, f->gp, d->order[o]);
        struct gp_rows rows = {0};
        status = gp_rows_init(&rows, m, f->gp, d->order[o], n, s->argument);
        if (!status) add_scaled(&sum, &rows, F, by);
        for (size_t j = 0; j < n; j++)
            prior[j] += by[j] * by[j] * far;
        gp_rows_free(&rows);
    }
    if (!status) mix(q, f, &sum.points, prior, s);
    for (size_t j = 0; j < n && !status; j++)
        variance[i * n + j] += s->sd[j] * s->sd[j];
    gp_rows_free(&sum);
    mem_free(prior);
    return status;
}

/* The same where the drift has derivatives of h. */
static int add_derived(const gsv_functions *q, struct function *f,
                       struct seen *s, const struct gp_orders *d,
                       double *variance)
{
    double *slope = NEW(double, d->count * d->size * s->in.P);
    if (!slope) return GSV_NO_MEMORY;
    int status = gp_orders_slopes(d, q->m, &s->in, f->output, slope);
    for (size_t i = 0; i < d->size && !status; i++)
        status = add_element(q, f, s, d, slope, i, variance);
    mem_free(slope);
    return status;
}

static int add_variance(const gsv_functions *q, struct function *f,
                        struct seen *s, double *variance)
{
    const gsv_model *m = q->m;
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
        status = d.plain ? add_plain(q, f, s, variance)
                         : add_derived(q, f, s, &d, variance);
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
        status = add_variance(q, &q->f[k], &s, sd);
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
        for (size_t i = 0; i < q->points; i++) {
            size_t own = room_of(&q->f[k].point[i].root);
            if (own > most) most = own;
        }
    return most;
}

/* The kernel of a draw: the digits of its number, reversed, are a point of
 * [0, 1) that the weights divide. Any 2^k draws in a row are spread evenly. */
static size_t kernel_of(const gsv_functions *q, uint64_t draw)
{
    double at = 0.0, digit = 0.5;
    size_t i = 0;
    for (; draw; draw >>= 1, digit *= 0.5)
        if (draw & 1) at += digit;
    for (; i + 1 < q->points && at >= q->weight[i]; i++)
        at -= q->weight[i];
    return i;
}

/* Of a block of draws those that have kernel i. */
static void draw_under(const gsv_functions *q, size_t k, size_t i,
                       const struct random_key *key, uint64_t first,
                       size_t from, size_t stride, double *row, double *room)
{
    const struct function *f = &q->f[k];
    const struct gp_spec *s = &q->m->spec->gp[f->gp];
    size_t G = f->h.nodes, F = f->h.features;
    struct gp_posterior own = f->point[i].q; /* but for the room */
    double *w = room;
    own.room = room + (G + F) * FUNCTIONS_BLOCK;
    gp_posterior_draw(&own, key, first, FUNCTIONS_BLOCK, w);
    for (size_t j = 0; j < FUNCTIONS_BLOCK; j++, w += G + F) {
        double *to = row + j * stride;
        if (kernel_of(q, first + j) != i) continue;
        memcpy(to + (s->value - from) + f->output * G, w, G * sizeof *w);
        if (F)
            memcpy(to + (s->weight - from) + f->output * F, w + G,
                   F * sizeof *w);
    }
}

static bool is_drawn(const gsv_functions *q, size_t i, uint64_t first)
{
    for (size_t j = 0; j < FUNCTIONS_BLOCK; j++)
        if (kernel_of(q, first + j) == i) return true;
    return false;
}

void functions_draw(const gsv_functions *q, uint64_t seed, uint64_t first,
                    size_t from, size_t stride, double *row, double *room)
{
    for (size_t i = 0; i < q->points; i++) {
        if (!is_drawn(q, i, first)) continue;
        for (size_t k = 0; k < q->count; k++) {
            const struct random_key key = {
                .seed = seed, .purpose = RANDOM_FUNCTION, .item = (uint32_t)k};
            draw_under(q, k, i, &key, first, from, stride, row, room);
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
