/* SPDX-License-Identifier: MIT */
/* The functions that are best for data and prior together: the maximum over the
 * whitened m of
 *
 *     phi(m) = log-likelihood at w = R m - |m|^2 / 2.
 *
 * By conjugate gradients in the measure of B = I + R' H R, with H of the points
 * that guide the steps: were phi quadratic with that H, the first step would be
 * the last one (Gauss-Newton). It often is quadratic, and H not quite its own:
 * then every look tells phi along a whole line, and none is wasted. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "learn/evidence.h"

enum { STEPS = 30, TRIES = 7, FRESH = 6 };

/* In nats: less is not worth another look, and taken as given. References that
 * follow are chosen gap by gap, and the gradient jumps with them: where little
 * is to be gained and steps no longer make it much less, that is why. */
static const double WORTH = 1e-6, WORTH_MOVING = 1e-5;
static const double LITTLE = 1e-3, MUCH_LESS = 0.3;

/* --- Functions in theta -------------------------------------------------- */

void function_store(const struct function *f, double *theta)
{
    memcpy(theta + f->value, f->w, f->G * sizeof *f->w);
    if (f->F) memcpy(theta + f->weight, f->w + f->G, f->F * sizeof *f->w);
}

void function_get(const struct function *f, const double *theta, double *w)
{
    memcpy(w, theta + f->value, f->G * sizeof *w);
    if (f->F) memcpy(w + f->G, theta + f->weight, f->F * sizeof *w);
}

void function_load(struct function *f, const double *theta)
{
    function_get(f, theta, f->w);
    gp_root_whiten(&f->root, f->w, f->m, f->data.q.room);
}

/* --- phi ------------------------------------------------------------------ */

static double half_square(const struct evidence *e)
{
    double sum = 0.0;
    for (size_t k = 0; k < e->count; k++)
        for (size_t j = 0; j < e->f[k].root.rank; j++)
            sum += 0.5 * e->f[k].m[j] * e->f[k].m[j];
    return sum;
}

/* Nats a gap, for up to three states: twice of what the second stage's effort
 * is chosen for. */
static const double DOUBT = 0.1;

static int check_doubt(struct evidence *e)
{
    double now = estimator_doubt(&e->all.estimator);
    double most = DOUBT * fmax(1.0, (double)e->l->m->spec->dim / 3.0);
    if (!(e->limit > 0.0)) e->limit = fmax(most, 2.0 * now);
    if (now <= e->limit) return 0;
    return fail(GSV_NUMERICAL,
                "the log-likelihood of a gap may be off by %.2g here: more "
                "steps are needed",
                now);
}

/* phi at m, and its gradient u by m. */
static int evaluate(struct evidence *e)
{
    struct learner *l = e->l;
    for (size_t k = 0; k < e->count; k++) {
        struct function *f = &e->f[k];
        gp_root_product(&f->root, 1, f->m, f->w, f->data.q.room);
        function_store(f, e->theta);
    }
    int status = objective_at(&e->all, e->theta, 0, l->split.trains,
                              l->split.train, &e->score, e->gradient);
    if (!status) status = check_doubt(e);
    if (status) return status;
    double gaps = (double)e->score.gaps;
    e->phi = e->score.mean * gaps - half_square(e);
    e->evaluated = true;
    for (size_t i = 0; i < l->n; i++)
        e->gradient[i] *= gaps;
    for (size_t k = 0; k < e->count; k++) {
        struct function *f = &e->f[k];
        function_get(f, e->gradient, f->s);
        gp_root_adjoint(&f->root, 1, f->s, f->u, f->data.q.room);
        for (size_t j = 0; j < f->root.rank; j++)
            f->u[j] -= f->m[j];
    }
    return 0;
}

/* --- What points say ------------------------------------------------------ */

/* H and B as seen from here. Where a drift is linear in the function they stay
 * the same, and what takes time with them is not done again. */
static int believe(const struct evidence *e, const struct function *f,
                   struct belief *b)
{
    const gsv_model *m = e->l->m;
    size_t bytes = b->factors * sizeof *b->factor;
    int status = gp_sites_factor(b->sites, m, f->gp, f->output, b->factor);
    if (status) return status;
    if (b->made && !memcmp(b->factor, b->before, bytes)) return 0;
    b->made = false;
    memcpy(b->before, b->factor, bytes);
    gp_information_clear(&b->h);
    status = gp_sites_add(b->sites, m, f->gp, b->factor, &b->h);
    if (!status) status = gp_posterior_bend(&b->q, &b->h);
    b->made = !status;
    return status;
}

/* --- Steps ---------------------------------------------------------------- */

/* Sums over all functions. */
static double slope(const struct evidence *e)
{
    double sum = 0.0;
    for (size_t k = 0; k < e->count; k++)
        for (size_t j = 0; j < e->f[k].root.rank; j++)
            sum += e->f[k].p[j] * e->f[k].u[j];
    return sum;
}

/* The direction p from here: z = B^-1 u, and of the last one what makes it
 * conjugate (Polak & Ribiere, which forgets by itself where B or phi's own
 * bends change). B may be of some steps before: it is the measure only. *gain:
 * what a whole step along z would gain. */
static int aim(struct evidence *e, int i, double *gain)
{
    double square = 0.0, change = 0.0;
    for (size_t k = 0; k < e->count; k++) {
        struct function *f = &e->f[k];
        bool kept = f->steps_by->made && i % FRESH;
        int status = kept ? 0 : believe(e, f, f->steps_by);
        if (status) return status;
        memcpy(f->z, f->u, f->root.rank * sizeof *f->z);
        gp_posterior_solve(&f->steps_by->q, f->z);
        for (size_t j = 0; j < f->root.rank; j++) {
            square += f->z[j] * f->u[j];
            change += f->z[j] * (f->u[j] - f->u0[j]);
        }
    }
    double keep = i == 0 ? 0.0 : fmax(0.0, change / (2.0 * *gain));
    *gain = 0.5 * square;
    for (size_t k = 0; k < e->count; k++)
        for (size_t j = 0; j < e->f[k].root.rank; j++)
            e->f[k].p[j] = e->f[k].z[j] + keep * e->f[k].p[j];
    if (slope(e) > 0.0) return 0;
    for (size_t k = 0; k < e->count; k++)
        memcpy(e->f[k].p, e->f[k].z, e->f[k].root.rank * sizeof *e->f[k].p);
    return 0;
}

static void go(struct evidence *e, double share)
{
    e->evaluated = false;
    for (size_t k = 0; k < e->count; k++)
        for (size_t j = 0; j < e->f[k].root.rank; j++)
            e->f[k].m[j] = e->f[k].m0[j] + share * e->f[k].p[j];
}

/* From what was seen at both ends of p to a share of it, phi being quadratic
 * there: the slope goes from `first` to `last`. */
static void interpolate(struct evidence *e, double share, double phi,
                        double first, double last)
{
    go(e, share);
    e->phi = phi + share * first + 0.5 * share * share * (last - first);
    for (size_t k = 0; k < e->count; k++)
        for (size_t j = 0; j < e->f[k].root.rank; j++)
            e->f[k].u[j] = (1.0 - share) * e->f[k].u0[j] + share * e->f[k].u[j];
}

/* Along p: all of it, then as far as slopes say, then half as far until it is
 * no loss. The gradient leaves out that references follow, so that the value
 * may fall a little where the gradient vanishes: the last steps are taken on
 * trust. */
static int step(struct evidence *e, double gain, bool *moved)
{
    static const double FLAT = 0.1, LONGEST = 8.0, SAME = 1e-7;
    double before = e->phi, first = slope(e), share = 1.0;
    double slack = gain < 1.0 ? 1.0 : 1e-3 * gain;
    for (size_t k = 0; k < e->count; k++) {
        struct function *f = &e->f[k];
        memcpy(f->m0, f->m, f->root.rank * sizeof *f->m);
        memcpy(f->u0, f->u, f->root.rank * sizeof *f->u);
    }
    *moved = true;
    for (int i = 0; i < TRIES; i++) {
        go(e, share);
        int status = evaluate(e);
        if (status && status != GSV_NUMERICAL) return status;
        double last = status ? NAN : slope(e), best = first / (first - last);
        bool no_loss = !status && e->phi >= before - slack;
        if (no_loss && (i || fabs(last) <= FLAT * first)) return 0;
        double off = e->phi - before - 0.5 * (first + last);
        if (!i && best > 0.0 && best < LONGEST) {
            if (fabs(off) <= SAME * (fabs(first) + fabs(last))) {
                interpolate(e, best, before, first, last);
                return 0;
            }
            share = best;
            continue;
        }
        if (no_loss) return 0;
        share = 0.5 * fmin(share, 1.0);
    }
    *moved = false;
    go(e, 0.0);
    for (size_t k = 0; k < e->count; k++)
        memcpy(e->f[k].u, e->f[k].u0, e->f[k].root.rank * sizeof *e->f[k].u);
    return 0;
}

/* From the functions of the best E: functions that were found under a bad
 * kernel may be refused under every other kernel. */
static int evaluate_at_best(struct evidence *e)
{
    for (size_t k = 0; k < e->count; k++)
        function_load(&e->f[k], e->best_theta);
    return evaluate(e);
}

int evidence_mean(struct evidence *e)
{
    bool still = e->all.options.reference == GSV_REFERENCE_BROWNIAN;
    double gain = 0.0, worth = still ? WORTH : WORTH_MOVING;
    bool moved = true, follows = !still && !e->all.held;
    int status = evaluate(e);
    if (status == GSV_NUMERICAL && e->best > -INFINITY)
        status = evaluate_at_best(e);
    for (int i = 0; !status && moved && i < STEPS; i++) {
        double last = i ? gain : INFINITY;
        if (i && e->can_stop) status = learner_go_on(e->l);
        if (!status) status = aim(e, i, &gain);
        bool stuck = follows && gain < LITTLE && gain > MUCH_LESS * last;
        if (status || stuck || !(gain > worth)) break;
        status = step(e, gain, &moved);
    }
    if (!status && !e->evaluated) status = evaluate(e);
    for (size_t k = 0; k < e->count && !status; k++) {
        struct function *f = &e->f[k];
        status = believe(e, f, &f->data);
        if (status) break;
        gp_information_pull(&f->data.h, f->s, f->w);
        gp_posterior_pull(&f->data.q, &f->data.h);
    }
    e->value = e->phi + (gain <= LITTLE ? gain : 0.0);
    for (size_t k = 0; k < e->count; k++)
        e->value -= 0.5 * e->f[k].data.q.logdet;
    if (!status && e->value > e->best) {
        e->best = e->value;
        memcpy(e->best_theta, e->theta, e->l->n * sizeof *e->best_theta);
    }
    return status;
}
