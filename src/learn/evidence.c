/* SPDX-License-Identifier: MIT */
#include "learn/evidence.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "model/posterior.h"

/* --- Making -------------------------------------------------------------- */

static size_t find_in_theta(const struct learner *l, size_t value)
{
    size_t i = 0;
    while (i < l->n && l->value[i] != value)
        i++;
    return i;
}

static int belief_init(struct belief *b, struct gp_sites *sites, size_t gp,
                       const struct gp_prior *prior)
{
    b->sites = sites;
    b->factors = gp_sites_factors(sites, gp);
    b->factor = NEW(double, b->factors);
    b->before = NEW(double, b->factors);
    if (!b->factor || !b->before) return GSV_NO_MEMORY;
    return gp_information_init(&b->h, prior);
}

static void belief_free(struct belief *b)
{
    gp_posterior_free(&b->q);
    gp_information_free(&b->h);
    MEM_FREE(b->factor, b->before);
    *b = (struct belief){0};
}

static int function_init(struct function *f, struct evidence *e, size_t gp,
                         size_t output)
{
    const struct learner *l = e->l;
    const struct gp_spec *s = &l->m->spec->gp[gp];
    const struct gp *h = &l->m->spec->graph->gp[gp];
    struct gp_prior prior = gp_prior_of(l->m, gp, output);
    *f = (struct function){.gp = gp,
                           .output = output,
                           .map = s->map,
                           .G = gp_nodes(h),
                           .F = gp_features(h)};
    size_t n = f->G + f->F;
    f->value = find_in_theta(l, s->value + output * f->G);
    if (f->F) f->weight = find_in_theta(l, s->weight + output * f->F);
    double **part[] = {&f->w, &f->s,  &f->m, &f->m0,
                       &f->u, &f->u0, &f->z, &f->p};
    for (size_t i = 0; i < sizeof part / sizeof *part; i++)
        if (!(*part[i] = NEW(double, n))) return GSV_NO_MEMORY;
    f->moved = NEW(double, gp_sites_factors(&e->sites, gp));
    if (!f->moved) return GSV_NO_MEMORY;
    f->steps_by = e->path.count ? &f->path : &f->data;
    int status = belief_init(&f->data, &e->sites, gp, &prior);
    if (!status && e->path.count)
        status = belief_init(&f->path, &e->path, gp, &prior);
    return status;
}

static void function_free(struct function *f)
{
    double *part[] = {f->w,  f->s, f->m, f->m0,   f->u,
                      f->u0, f->z, f->p, f->moved};
    for (size_t i = 0; i < sizeof part / sizeof *part; i++)
        mem_free(part[i]);
    belief_free(&f->data);
    belief_free(&f->path);
    gp_root_free(&f->root);
}

/* Whether its values are not fixed. */
static bool is_learned(const struct learner *l, size_t gp)
{
    size_t at = find_in_theta(l, l->m->spec->gp[gp].value);
    return at < l->n && !l->fixed[at];
}

static int functions_init(struct evidence *e)
{
    const struct spec *s = e->l->m->spec;
    size_t all = 0;
    for (size_t gp = 0; gp < s->gps; gp++)
        all += s->graph->gp[gp].outputs;
    e->f = NEW(struct function, all);
    e->dh = NEW(struct gp_information, s->gps);
    if (!e->f || !e->dh) return GSV_NO_MEMORY;
    for (size_t gp = 0; gp < s->gps; gp++) {
        if (!is_learned(e->l, gp)) continue;
        struct gp_prior prior = gp_prior_of(e->l->m, gp, 0);
        int status = gp_information_init(&e->dh[gp], &prior);
        for (size_t i = 0; i < s->graph->gp[gp].outputs && !status; i++)
            status = function_init(&e->f[e->count++], e, gp, i);
        if (status) return status;
    }
    return 0;
}

/* Whether a number of theta is learned by E: not values, nor the kernels of
 * functions that stay. */
static bool is_outer(const struct evidence *e, size_t i)
{
    const struct spec *s = e->l->m->spec;
    size_t v = e->l->value[i];
    const struct param_spec *p = &s->param[spec_param_at(s, v)];
    if (e->l->fixed[i]) return false;
    if (!p->gp) return true;
    if (p->bound == BOUND_NONE) return false;
    for (size_t gp = 0; gp < s->gps; gp++) {
        const struct gp_spec *h = &s->gp[gp];
        bool own =
            p->offset == h->length || p->offset == h->amplitude ||
            (s->graph->gp[gp].degree && p->offset == h->polynomial_amplitude);
        if (own) return is_learned(e->l, gp);
    }
    return false;
}

/* Left sums ask at the left ends of steps. A bound is a mean over whole paths,
 * and quadratic in functions that a drift is linear in. */
static int sites_init(struct evidence *e, const gsv_options *o)
{
    const struct learner *l = e->l;
    size_t times = o->form == GSV_FORM_ITO ? 0 : 1;
    int status = gp_sites_init(&e->sites, l->m, l->s, times, o->joint,
                               l->split.trains, l->split.train);
    if (status || o->form != GSV_FORM_BOUND) return status;
    return gp_sites_init(&e->path, l->m, l->s, o->steps, o->joint,
                         l->split.trains, l->split.train);
}

int evidence_init(struct evidence *e, struct learner *l, const gsv_options *o,
                  const double *theta, double limit)
{
    size_t n = l->n;
    *e = (struct evidence){.l = l,
                           .limit = limit,
                           .place = NEW(size_t, n),
                           .theta = NEW(double, n),
                           .gradient = NEW(double, n),
                           .best = -INFINITY,
                           .best_theta = NEW(double, n),
                           .kept = NEW(double, n)};
    if (!e->place || !e->theta || !e->gradient || !e->best_theta || !e->kept)
        return GSV_NO_MEMORY;
    memcpy(e->theta, theta, n * sizeof *theta);
    gsv_theta_set(l->m, theta);
    const struct task task = {.series = l->s,
                              .options = o,
                              .most = l->split.trains,
                              .by_group = true};
    int status = objective_init(&e->all, l->m, &task);
    if (!status) status = sites_init(e, o);
    if (!status) status = functions_init(e);
    for (size_t i = 0; !status && i < n; i++)
        if (is_outer(e, i)) e->place[e->outer++] = i;
    return status;
}

void evidence_free(struct evidence *e)
{
    for (size_t i = 0; i < e->count; i++)
        function_free(&e->f[i]);
    for (size_t gp = 0; e->dh && gp < e->l->m->spec->gps; gp++)
        gp_information_free(&e->dh[gp]);
    if (e->l) objective_free(&e->all);
    gp_sites_free(&e->sites);
    gp_sites_free(&e->path);
    MEM_FREE(e->f, e->dh, e->place, e->theta, e->gradient, e->best_theta,
             e->kept);
    *e = (struct evidence){0};
}

/* --- A new theta --------------------------------------------------------- */

/* L-BFGS must not go to lengths that the grid cannot represent, or cannot
 * distinguish from infinite ones. */
static const double SHORTEST = 0.7, LONGEST = 30.0;

static int check_lengths(const struct gp_prior *p)
{
    for (size_t k = 0; k < p->axes; k++) {
        double cells = p->length[k] / p->step[k];
        if (!(cells > SHORTEST && cells < LONGEST * (double)p->nodes[k]))
            return fail(GSV_NUMERICAL,
                        "the length scale %g is out of what a grid with nodes "
                        "%g apart can show",
                        p->length[k], p->step[k]);
    }
    return 0;
}

static bool is_same(const struct gp_prior *a, const struct gp_prior *b)
{
    for (size_t k = 0; k < a->axes; k++)
        if (a->length[k] != b->length[k]) return false;
    return a->amplitude == b->amplitude && a->feature_sd == b->feature_sd;
}

/* The root under the present kernel, and m with w as near as it comes. */
static int refresh(struct function *f, const gsv_model *m, const double *theta)
{
    struct gp_prior prior = gp_prior_of(m, f->gp, f->output);
    int status = check_lengths(&prior);
    if (status) return status;
    if (!f->made || !is_same(&prior, &f->root.prior)) {
        gp_posterior_free(&f->data.q);
        gp_posterior_free(&f->path.q);
        gp_root_free(&f->root);
        f->made = f->data.made = f->path.made = false;
        status = gp_root_init(&f->root, &prior);
        if (!status) status = gp_posterior_init(&f->data.q, &f->root, true);
        if (!status && f->steps_by == &f->path)
            status = gp_posterior_init(&f->path.q, &f->root, false);
        if (status) return status;
        f->made = true;
    }
    function_load(f, theta);
    return 0;
}

static int ask(struct evidence *e)
{
    int status = gp_sites_ask(&e->sites, e->l->m);
    if (!status && e->path.count) status = gp_sites_ask(&e->path, e->l->m);
    for (size_t k = 0; k < e->count; k++)
        e->f[k].data.made = e->f[k].path.made = false;
    return status;
}

/* --- The gradient -------------------------------------------------------- */

/* Of the kernels' numbers: theta is their logarithm. */
static void add_kernels(struct evidence *e, double *theta_bar)
{
    const struct learner *l = e->l;
    for (size_t k = 0; k < e->count; k++) {
        struct function *f = &e->f[k];
        const struct gp_spec *s = &l->m->spec->gp[f->gp];
        double bar[GP_AXES + 2];
        size_t axes = f->root.prior.axes;
        gp_posterior_gradient(&f->data.q, &f->data.h, bar);
        for (size_t i = 0; i < axes; i++)
            theta_bar[find_in_theta(l, s->length + i)] += bar[i];
        theta_bar[find_in_theta(l, s->amplitude + f->output)] += bar[axes];
        if (f->F)
            theta_bar[find_in_theta(l, s->polynomial_amplitude + f->output)] +=
                bar[axes + 1];
    }
}

/* The factors with number i of theta moved, to f->moved with this weight. */
static int move_factors(struct evidence *e, size_t i, double step,
                        double weight, double *room)
{
    double kept = e->theta[i];
    e->theta[i] = kept + step;
    gsv_theta_set(e->l->m, e->theta);
    int status = gp_sites_place(&e->sites, e->l->m);
    for (size_t k = 0; !status && k < e->count; k++) {
        struct function *f = &e->f[k];
        status = gp_sites_factor(&e->sites, e->l->m, f->gp, f->output, room);
        for (size_t j = 0; j < f->data.factors; j++)
            f->moved[j] += weight * room[j];
    }
    e->theta[i] = kept;
    return status;
}

/* -1/2 d log det B by number i of theta, which moves H. */
static int add_noise(struct evidence *e, size_t i, double *room,
                     double *theta_bar)
{
    static const double STEP = 1e-4;
    for (size_t k = 0; k < e->count; k++)
        memset(e->f[k].moved, 0, e->f[k].data.factors * sizeof *room);
    int status = move_factors(e, i, STEP, 0.5 / STEP, room);
    if (!status) status = move_factors(e, i, -STEP, -0.5 / STEP, room);
    for (size_t k = 0; !status && k < e->count; k++) {
        struct function *f = &e->f[k];
        double most = 0.0;
        for (size_t j = 0; j < f->data.factors; j++)
            most =
                fmax(most, fabs(f->moved[j]) - 1e-9 * fabs(f->data.factor[j]));
        if (!(most > 0.0)) continue;
        struct gp_information *dh = &e->dh[f->gp];
        gp_information_clear(dh);
        status = gp_sites_add(&e->sites, e->l->m, f->gp, f->moved, dh);
        theta_bar[i] -= 0.5 * gp_posterior_trace(&f->data.q, dh);
    }
    return status;
}

/* Of the kernels' own numbers the log-likelihood knows nothing; of weights of
 * networks H does not. */
static int add_kernels_and_noise(struct evidence *e, double *theta_bar)
{
    const struct spec *s = e->l->m->spec;
    size_t most = 0;
    for (size_t k = 0; k < e->count; k++)
        if (e->f[k].data.factors > most) most = e->f[k].data.factors;
    double *room = NEW(double, most);
    int status = room ? 0 : GSV_NO_MEMORY;
    add_kernels(e, theta_bar);
    for (size_t i = 0; !status && i < e->outer; i++) {
        size_t at = e->place[i];
        const struct param_spec *p =
            &s->param[spec_param_at(s, e->l->value[at])];
        if (!p->gp && !p->fan_in) status = add_noise(e, at, room, theta_bar);
    }
    mem_free(room);
    gsv_theta_set(e->l->m, e->theta);
    return status;
}

/* E alone. */
static int value_at(struct evidence *e, const double *x)
{
    for (size_t i = 0; i < e->outer; i++)
        e->theta[e->place[i]] = x[i];
    gsv_theta_set(e->l->m, e->theta);
    int status = 0;
    for (size_t k = 0; !status && k < e->count; k++)
        status = refresh(&e->f[k], e->l->m, e->theta);
    if (!status) status = ask(e);
    return status ? status : evidence_mean(e);
}

int evidence_at(struct evidence *e, const double *x, double *value,
                double *gradient)
{
    int status = value_at(e, x);
    *value = e->value;
    memcpy(e->kept, e->gradient, e->l->n * sizeof *e->kept);
    if (!status) status = prior_add(&e->l->prior, 1.0, value, e->kept);
    if (status || !gradient) return status;
    status = add_kernels_and_noise(e, e->kept);
    for (size_t i = 0; i < e->outer; i++)
        gradient[i] = e->kept[e->place[i]];
    return status;
}

/* --- The end ------------------------------------------------------------- */

int evidence_keep(const struct evidence *e)
{
    int status = 0;
    posterior_forget(e->l->m);
    for (size_t k = 0; !status && k < e->count; k++)
        if (!e->f[k].map)
            status = posterior_put(e->l->m, e->f[k].gp, e->f[k].output,
                                   &e->f[k].data.h);
    return status;
}
