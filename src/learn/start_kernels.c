/* SPDX-License-Identifier: MIT */
/* Where the kernels' numbers start that are not set. The evidence has several
 * tops where a polynomial stands beside a kernel, since each can explain what
 * the other does, and none where an amplitude is far too small. So, with H and
 * the pull of one posterior held, the evidence of every function is tried on a
 * coarse lattice of amplitudes, times what would move the states as fast as
 * they are seen to move, and of lengths: those are shared by outputs, whose
 * evidences are added up. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "learn/evidence.h"

static const double LENGTHS[] = {1.0, 2.0, 4.0}, FACTORS[] = {0.1, 1.0, 10.0};
enum { LATTICE = 3 };

struct lattice {
    struct evidence *e;
    double *x; /* (outer) */
    double squares;
};

/* The place in x of a value that is learned and was not set; outer: none. */
static size_t find_free(const struct lattice *t, size_t value, double start)
{
    const struct evidence *e = t->e;
    double now = e->l->m->value[value];
    size_t i = 0;
    while (i < e->outer && e->l->value[e->place[i]] != value)
        i++;
    return fabs(now - start) < 1e-9 * start ? i : e->outer;
}

/* Amplitudes of one function to try: all, or what it has. */
struct choice {
    size_t at, count;
    double value[LATTICE];
};

static struct choice choices(const struct lattice *t, size_t value, double unit)
{
    struct choice c = {.at = find_free(t, value, 1.0), .count = 1};
    c.value[0] = t->e->l->m->value[value];
    if (c.at == t->e->outer) return c;
    c.count = LATTICE;
    for (size_t i = 0; i < LATTICE; i++)
        c.value[i] = FACTORS[i] * unit;
    return c;
}

/* The evidence of a function under a prior, or -INFINITY. */
static int try_prior(const struct function *f, const struct gp_prior *prior,
                     double *value)
{
    struct gp_root root;
    struct gp_posterior q = {0};
    int status = gp_root_init(&root, prior);
    if (!status) status = gp_posterior_init(&q, &root, false);
    if (!status) status = gp_posterior_update(&q, &f->data.h);
    *value = status ? -INFINITY : gp_posterior_evidence(&q, &f->data.h);
    gp_posterior_free(&q);
    gp_root_free(&root);
    return status == GSV_NO_MEMORY ? status : 0;
}

/* The best amplitudes of a function to x, for lengths that are longer by a
 * factor; *sum += its evidence. */
static int try_function(const struct lattice *t, const struct function *f,
                        double factor, double *x, double *sum)
{
    const struct gp_spec *s = &t->e->l->m->spec->gp[f->gp];
    struct gp_prior prior = gp_prior_of(t->e->l->m, f->gp, f->output);
    double best = -INFINITY, value;
    double bend =
        gp_sites_square(&t->e->sites, t->e->l->m, f->gp, f->data.factor);
    int status = 0;
    double unit = bend > 0.0 ? sqrt(t->squares / bend) : 1.0;
    struct choice a = choices(t, s->amplitude + f->output, unit), p = {0};
    if (f->F) p = choices(t, s->polynomial_amplitude + f->output, unit);
    for (size_t k = 0; k < prior.axes; k++)
        prior.length[k] *= factor;
    for (size_t i = 0; i < a.count * (f->F ? p.count : 1) && !status; i++) {
        prior.amplitude = a.value[i % a.count];
        if (f->F) prior.feature_sd = p.value[i / a.count];
        status = try_prior(f, &prior, &value);
        if (!(value > best)) continue;
        best = value;
        if (a.at < t->e->outer) x[a.at] = log(prior.amplitude);
        if (f->F && p.at < t->e->outer) x[p.at] = log(prior.feature_sd);
    }
    *sum += best;
    return status;
}

/* Whether all lengths of a gp are free to be moved; their places. */
static bool lengths_free(const struct lattice *t, size_t gp,
                         size_t place[GP_AXES])
{
    const gsv_model *m = t->e->l->m;
    size_t axes = m->spec->graph->gp[gp].axes;
    const double *low = m->value + m->spec->gp[gp].box;
    for (size_t k = 0; k < axes; k++) {
        place[k] = find_free(t, m->spec->gp[gp].length + k,
                             0.25 * (low[axes + k] - low[k]));
        if (place[k] == t->e->outer) return false;
    }
    return true;
}

static int try_gp(struct lattice *t, size_t gp, double *x, double *best_x)
{
    const struct evidence *e = t->e;
    size_t place[GP_AXES], axes = e->l->m->spec->graph->gp[gp].axes;
    bool moves = lengths_free(t, gp, place);
    double best = -INFINITY;
    int status = 0;
    memcpy(best_x, t->x, e->outer * sizeof *x);
    for (size_t c = 0; c < (moves ? LATTICE : 1) && !status; c++) {
        double sum = 0.0;
        memcpy(x, t->x, e->outer * sizeof *x);
        for (size_t k = 0; moves && k < axes; k++)
            x[place[k]] += log(LENGTHS[c]);
        for (size_t k = 0; k < e->count && !status; k++)
            if (e->f[k].gp == gp)
                status = try_function(t, &e->f[k], LENGTHS[c], x, &sum);
        if (status || !(sum > best)) continue;
        best = sum;
        memcpy(best_x, x, e->outer * sizeof *x);
    }
    memcpy(t->x, best_x, e->outer * sizeof *x);
    return status;
}

int start_kernels(struct evidence *e, double *x)
{
    struct lattice t = {.e = e, .x = x};
    double *room = NEW(double, 2 * e->outer), value;
    if (!room) return GSV_NO_MEMORY;
    int status = evidence_at(e, x, &value, NULL);
    if (!status) status = gp_sites_squares(&e->sites, e->l->m, &t.squares);
    for (size_t gp = 0; gp < e->l->m->spec->gps && !status; gp++)
        status = try_gp(&t, gp, room, room + e->outer);
    mem_free(room);
    return status;
}
