/* SPDX-License-Identifier: MIT */
#include "learn/evidence.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "sde/posterior.h"

/* --- Making -------------------------------------------------------------- */

static size_t find_in_theta(const struct learner *l, size_t value)
{
    size_t i = 0;
    while (i < l->n && l->value[i] != value)
        i++;
    return i;
}

static int function_init(struct function *f, const struct learner *l, size_t gp,
                         size_t output, size_t sites)
{
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
    double **part[] = {&f->w, &f->s, &f->m, &f->u};
    for (size_t i = 0; i < sizeof part / sizeof *part; i++)
        if (!(*part[i] = NEW(double, n))) return GSV_NO_MEMORY;
    f->factor = NEW(double, sites);
    f->moved = NEW(double, sites);
    f->before = NEW(double, sites);
    if (!f->factor || !f->moved || !f->before) return GSV_NO_MEMORY;
    int status = gp_information_init(&f->h, &prior);
    return status ? status : gp_information_init(&f->dh, &prior);
}

static void function_free(struct function *f)
{
    double *part[] = {f->w, f->s, f->m, f->u, f->factor, f->moved, f->before};
    for (size_t i = 0; i < sizeof part / sizeof *part; i++)
        mem_free(part[i]);
    gp_posterior_free(&f->q);
    gp_root_free(&f->root);
    gp_information_free(&f->h);
    gp_information_free(&f->dh);
}

/* Whether nobody fixed its values. */
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
    e->rows = NEW(struct gp_rows, s->gps);
    if (!e->f || !e->rows) return GSV_NO_MEMORY;
    for (size_t gp = 0; gp < s->gps; gp++)
        for (size_t i = 0; i < s->graph->gp[gp].outputs; i++) {
            if (!is_learned(e->l, gp)) continue;
            int status =
                function_init(&e->f[e->count++], e->l, gp, i, e->sites.count);
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

/* Left sums ask at the left ends of steps. */
static double share_of(const gsv_options *o)
{
    return o->form == GSV_FORM_ITO ? 0.0 : 0.5;
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
                           .kept = NEW(double, n)};
    if (!e->place || !e->theta || !e->gradient || !e->kept)
        return GSV_NO_MEMORY;
    memcpy(e->theta, theta, n * sizeof *theta);
    gsv_theta_set(l->m, theta);
    int status = objective_init(&e->all, l->m, l->s, o, l->split.trains);
    if (!status) objective_watch(&e->all);
    if (!status)
        status = gp_sites_init(&e->sites, l->m, l->s, share_of(o), o->joint,
                               l->split.trains, l->split.train);
    if (!status) status = functions_init(e);
    for (size_t i = 0; !status && i < n; i++)
        if (is_outer(e, i)) e->place[e->outer++] = i;
    return status;
}

void evidence_free(struct evidence *e)
{
    for (size_t i = 0; i < e->count; i++)
        function_free(&e->f[i]);
    for (size_t gp = 0; e->rows && gp < e->l->m->spec->gps; gp++)
        gp_rows_free(&e->rows[gp]);
    if (e->l) objective_free(&e->all);
    gp_sites_free(&e->sites);
    mem_free(e->f);
    mem_free(e->rows);
    mem_free(e->place);
    mem_free(e->theta);
    mem_free(e->gradient);
    mem_free(e->kept);
    *e = (struct evidence){0};
}

/* --- A new theta --------------------------------------------------------- */

static void put_function(const struct function *f, const double *w,
                         double *theta)
{
    memcpy(theta + f->value, w, f->G * sizeof *w);
    if (f->F) memcpy(theta + f->weight, w + f->G, f->F * sizeof *w);
}

static void get_function(const struct function *f, const double *theta,
                         double *w)
{
    memcpy(w, theta + f->value, f->G * sizeof *w);
    if (f->F) memcpy(w + f->G, theta + f->weight, f->F * sizeof *w);
}

/* Lengths that the grid cannot show, or that it cannot tell from infinite
 * ones, are no places for L-BFGS. */
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
static int refresh(struct function *f, const gsv_model *m, double *theta)
{
    struct gp_prior prior = gp_prior_of(m, f->gp, f->output);
    int status = check_lengths(&prior);
    if (status) return status;
    if (!f->made || !is_same(&prior, &f->root.prior)) {
        gp_posterior_free(&f->q);
        gp_root_free(&f->root);
        f->made = f->known = false;
        status = gp_root_init(&f->root, &prior);
        if (!status) status = gp_posterior_init(&f->q, &f->root);
        if (status) return status;
        f->made = true;
    }
    get_function(f, theta, f->w);
    gp_root_whiten(&f->root, f->w, f->m, f->q.room);
    gp_root_product(&f->root, 1, f->m, f->w, f->q.room);
    put_function(f, f->w, theta);
    return 0;
}

static int find_rows(struct evidence *e)
{
    int status = gp_sites_place(&e->sites, e->l->m);
    for (size_t gp = 0; !status && gp < e->l->m->spec->gps; gp++) {
        gp_rows_free(&e->rows[gp]);
        status = gp_sites_rows(&e->sites, e->l->m, gp, &e->rows[gp]);
    }
    for (size_t k = 0; k < e->count; k++)
        e->f[k].known = false;
    return status;
}

/* --- The posterior ------------------------------------------------------- */

static double half_square(const struct evidence *e)
{
    double sum = 0.0;
    for (size_t i = 0; i < e->count; i++)
        for (size_t j = 0; j < e->f[i].root.rank; j++)
            sum += 0.5 * e->f[i].m[j] * e->f[i].m[j];
    return sum;
}

/* Nats a gap, for up to three states: twice of what the second stage's effort
 * is chosen for. */
static const double DOUBT = 0.1;

static int check_doubt(struct evidence *e)
{
    double now = objective_doubt(&e->all);
    double most = DOUBT * fmax(1.0, (double)e->l->m->spec->dim / 3.0);
    if (!(e->limit > 0.0)) e->limit = fmax(most, 2.0 * now);
    if (now <= e->limit) return 0;
    return fail(GSV_NUMERICAL,
                "the log-likelihood of a gap may be off by %.2g here: more "
                "steps are needed",
                now);
}

/* The log-likelihood of all at theta, with its gradient. */
static int look(struct evidence *e)
{
    struct learner *l = e->l;
    int status = objective_at(&e->all, e->theta, 0, l->split.trains,
                              l->split.train, &e->score, e->gradient);
    if (!status) status = check_doubt(e);
    if (status) return status;
    double gaps = (double)e->score.gaps;
    e->loglik = e->score.mean * gaps;
    for (size_t i = 0; i < l->n; i++)
        e->gradient[i] *= gaps;
    return 0;
}

/* Where a drift is linear in the function H stays from step to step, and what
 * takes time with it. */
static int learn_from(struct function *f, const struct gp_points *points,
                      const double *gradient)
{
    size_t bytes = points->count * sizeof *f->factor;
    bool same = f->known && !memcmp(f->factor, f->before, bytes);
    get_function(f, gradient, f->s);
    if (!same) {
        gp_information_clear(&f->h);
        gp_information_add(&f->h, points, f->factor);
    }
    gp_information_pull(&f->h, f->s, f->w);
    if (same) {
        gp_posterior_pull(&f->q, &f->h);
        return 0;
    }
    f->known = false;
    int status = gp_posterior_update(&f->q, &f->h);
    memcpy(f->before, f->factor, bytes);
    f->known = !status;
    return status;
}

/* The posterior of one function as seen from here; *gain += what a whole step
 * to its mean would gain. */
static int aim(struct evidence *e, struct function *f, double *gain)
{
    const struct gp_rows *rows = &e->rows[f->gp];
    int status =
        gp_sites_factor(&e->sites, e->l->m, f->gp, f->output, rows, f->factor);
    if (status) return status;
    status = learn_from(f, &rows->points, e->gradient);
    if (status) return status;
    gp_root_adjoint(&f->root, 1, f->s, f->u, f->q.room);
    for (size_t j = 0; j < f->root.rank; j++)
        *gain += 0.5 * (f->u[j] - f->m[j]) * (f->q.mean[j] - f->m[j]);
    return 0;
}

/* A share of the way to the means; m moves, w as it was is in f->w. */
static void go(struct evidence *e, double share)
{
    for (size_t i = 0; i < e->count; i++) {
        struct function *f = &e->f[i];
        for (size_t j = 0; j < f->root.rank; j++)
            f->m[j] += share * (f->q.mean[j] - f->m[j]);
        gp_root_product(&f->root, 1, f->m, f->w, f->q.room);
        put_function(f, f->w, e->theta);
    }
}

enum { STEPS = 12, HALVINGS = 6 };

/* In nats: less is not worth another look, and taken as given. References that
 * follow are chosen gap by gap, and the gradient jumps with them. */
static const double WORTH = 1e-6, WORTH_FOLLOWING = 1e-3, WORTH_HELD = 1e-2;

/* To the w of a theta. */
static void go_back(struct evidence *e, const double *theta)
{
    for (size_t k = 0; k < e->count; k++) {
        struct function *f = &e->f[k];
        get_function(f, theta, f->w);
        gp_root_whiten(&f->root, f->w, f->m, f->q.room);
        put_function(f, f->w, e->theta);
    }
}

/* Half as far until it is no loss. The gradient leaves out that references
 * follow, so that the value may fall a little where the gradient vanishes: the
 * last steps are taken on trust. */
static int step(struct evidence *e, double before, double gain, bool *moved)
{
    double slack = gain < 1.0 ? 1.0 : 1e-3 * gain, share = 1.0;
    memcpy(e->kept, e->theta, e->l->n * sizeof *e->kept);
    *moved = false;
    for (int i = 0; i < HALVINGS; i++, share *= 0.5) {
        if (i) go_back(e, e->kept);
        go(e, share);
        int status = look(e);
        if (status && status != GSV_NUMERICAL) return status;
        if (status || !(e->loglik - half_square(e) >= before - slack)) continue;
        *moved = true;
        return 0;
    }
    go_back(e, e->kept);
    return look(e);
}

/* Gauss-Newton steps until there is nothing more to gain. */
static int find_posterior(struct evidence *e)
{
    bool still = e->all.options.reference == GSV_REFERENCE_BROWNIAN;
    double gain = 0.0, worth = still          ? WORTH
                               : e->all.guide ? WORTH_HELD
                                              : WORTH_FOLLOWING;
    int status = look(e);
    for (int i = 0; !status && i < STEPS; i++) {
        double before = e->loglik - half_square(e);
        bool moved;
        gain = 0.0;
        for (size_t k = 0; !status && k < e->count; k++)
            status = aim(e, &e->f[k], &gain);
        if (status || !(gain > worth)) break;
        status = step(e, before, gain, &moved);
        if (!moved) break;
    }
    e->value = e->loglik - half_square(e) + (gain <= worth ? gain : 0.0);
    for (size_t k = 0; k < e->count; k++)
        e->value -= 0.5 * e->f[k].q.logdet;
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
        gp_posterior_gradient(&f->q, &f->h, bar);
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
        status = gp_sites_factor(&e->sites, e->l->m, f->gp, f->output,
                                 &e->rows[f->gp], room);
        for (size_t j = 0; j < e->sites.count; j++)
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
        memset(e->f[k].moved, 0, e->sites.count * sizeof *room);
    int status = move_factors(e, i, STEP, 0.5 / STEP, room);
    if (!status) status = move_factors(e, i, -STEP, -0.5 / STEP, room);
    for (size_t k = 0; !status && k < e->count; k++) {
        struct function *f = &e->f[k];
        double most = 0.0;
        for (size_t j = 0; j < e->sites.count; j++)
            most = fmax(most, fabs(f->moved[j]) - 1e-9 * fabs(f->factor[j]));
        if (!(most > 0.0)) continue;
        gp_information_clear(&f->dh);
        gp_information_add(&f->dh, &e->rows[f->gp].points, f->moved);
        theta_bar[i] -= 0.5 * gp_posterior_trace(&f->q, &f->dh);
    }
    return status;
}

/* Of the kernels' own numbers the log-likelihood knows nothing; of weights of
 * networks H does not. */
static int add_prior(struct evidence *e, double *theta_bar)
{
    const struct spec *s = e->l->m->spec;
    double *room = NEW(double, e->sites.count);
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
    if (!status) status = find_rows(e);
    return status ? status : find_posterior(e);
}

int evidence_at(struct evidence *e, const double *x, double *value,
                double *gradient)
{
    int status = value_at(e, x);
    *value = e->value;
    if (status || !gradient) return status;
    memcpy(e->kept, e->gradient, e->l->n * sizeof *e->kept);
    status = add_prior(e, e->kept);
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
            status =
                posterior_put(e->l->m, e->f[k].gp, e->f[k].output, &e->f[k].h);
    return status;
}
