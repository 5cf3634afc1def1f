/* SPDX-License-Identifier: MIT */
/* Likelihood-ratio intervals, where Wald's fail. With p(t) the log-likelihood
 * made largest over all other numbers while one has the value t, the interval
 * is
 *
 *     { t : 2 (max l - p(t)) <= 3.84 },
 *
 * whose 95 % hold for data that are fewer, and for parameters that are nearer
 * to a bound, than the standard error needs. It is also right in any
 * coordinates.
 *
 * p is evaluated at both ends of Wald's interval. Where twice its loss is near
 * to 3.84 on both sides, p is a parabola as far as it matters, and the interval
 * stays. Else its ends are found by secants on sqrt(2 loss), which is nearly a
 * straight line, with a few Newton steps for the others at each point. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "learn/interval.h"
#include "model/theta.h"

static const double NORMAL_95 = 1.959963984540054;

/* sqrt(2 loss) that is still 1.96: coverage of 93.5 to 96.2 %. */
static const double NEARLY = 0.12;

/* An end is found when sqrt(2 loss) is as near to 1.96 as this. */
static const double CLOSE = 0.02;

/* What is left to gain by another Newton step. */
static const double LITTLE = 0.005;

/* A log-likelihood that is larger than that of the estimate by more than this
 * is not one: far from the estimate steps may be too long for the drift. Then
 * Wald's interval stays. */
static const double ABOVE = 0.1;

enum { SECANTS = 16, NEWTON_STEPS = 10, MOST_INTERVALS = 12 };

/* One number's search: theta is where the last point was made best. */
struct search {
    struct information *a;
    size_t at;            /* the number's place in theta              */
    size_t i;             /* its place among the n, or n: at a bound  */
    double unit;          /* its standard error, or 1                 */
    double reach;         /* sqrt(2 loss) of an end: 1.96 and the like */
    double most;          /* the log-likelihood of the estimate       */
    bool astray;          /* it was met above that: see ABOVE         */
    bool by_gradient;     /* slopes are: see trust_gradient()         */
    const double *origin; /* (theta size) the estimate                */
    double *theta, *next; /* (theta size)                             */
    double *inner;        /* (theta size) the best at the last point inside */
    double *best;         /* (theta size)                             */
    double *far;          /* (theta size) of numbers at bounds: the end of
                           * their intervals; NaN: not known          */
    double *W;            /* (n, n) inverse of the others' information */
    double *move, *fall;  /* (n) of theta, and of the slope along it  */
    double *room;         /* (n)                                      */
    double *wald;         /* (2, theta size) the best at Wald's ends  */
    double wald_r[2];     /* sqrt(2 loss) there; NaN: not known       */
};

/* Where the log-likelihood is not finite the loss is too large to count. */
static int value_of(struct search *s, const double *theta, double *value)
{
    int status = information_value(s->a, theta, value);
    if (status != GSV_NUMERICAL && (status || isfinite(*value))) return status;
    *value = -INFINITY;
    return 0;
}

/* Near the estimate the gradient, which is that of constant references, may be
 * all but the slope of the log-likelihood, and costs one run where differences
 * cost two of every number. It is where its zero is a place that Newton's steps
 * would not leave. */
static int trust_gradient(struct search *s)
{
    const struct information *a = s->a;
    size_t n = a->n;
    double *slope = s->fall, gain = 0.0;
    if (!a->by_value || a->all.estimator.method->rough) return 0;
    int status = information_gradient(s->a, s->origin, slope);
    if (status) return status == GSV_NUMERICAL ? 0 : status;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            gain += 0.5 * a->V[i * n + j] * (slope[i] - a->slope[i]) *
                    (slope[j] - a->slope[j]);
    s->by_gradient = fabs(gain) < LITTLE;
    return 0;
}

static int find_slope(struct search *s)
{
    return s->by_gradient ? information_gradient(s->a, s->theta, s->a->slope)
                          : information_slope(s->a, s->theta, s->i);
}

/* W becomes V where the number itself is held: the steps that follow correct
 * it. */
static void hold(struct search *s)
{
    const double *V = s->a->V;
    size_t n = s->a->n, k = s->i;
    memcpy(s->W, V, n * n * sizeof *s->W);
    for (size_t i = 0; k < n && i < n; i++)
        for (size_t j = 0; j < n; j++)
            s->W[i * n + j] = i == k || j == k
                                  ? 0.0
                                  : V[i * n + j] - V[i * n + k] * V[k * n + j] /
                                                       V[k * (n + 1)];
}

/* W times the slope; the gain that it promises. */
static double newton_move(struct search *s)
{
    size_t n = s->a->n;
    double gain = 0.0;
    for (size_t i = 0; i < n; i++) {
        s->move[i] = 0.0;
        for (size_t j = 0; j < n; j++)
            s->move[i] += s->W[i * n + j] * s->a->slope[j];
        gain += 0.5 * s->move[i] * s->a->slope[i];
    }
    return gain;
}

/* BFGS: W takes `share` of the move to the fall of the slope along it. */
static void correct(struct search *s, double share)
{
    size_t n = s->a->n;
    double along = 0.0, bend = 0.0, *product = s->room;
    for (size_t i = 0; i < n; i++) {
        s->move[i] *= share;
        s->fall[i] -= s->a->slope[i];
        along += i == s->i ? 0.0 : s->move[i] * s->fall[i];
    }
    for (size_t i = 0; i < n; i++) {
        product[i] = 0.0;
        for (size_t j = 0; j < n; j++)
            product[i] += s->W[i * n + j] * s->fall[j];
        bend += product[i] * s->fall[i];
    }
    if (!(along > 0.0) || !(bend > 0.0)) return;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            s->W[i * n + j] +=
                ((1.0 + bend / along) * s->move[i] * s->move[j] -
                 product[i] * s->move[j] - s->move[i] * product[j]) /
                along;
}

/* A step of the others that gains something, to theta: its share of the move;
 * 0 where none does. */
static int take_step(struct search *s, double *value, double *taken)
{
    const struct information *a = s->a;
    double share = 1.0;
    *taken = 0.0;
    for (int tries = 0; tries < 4 && *taken == 0.0; tries++, share *= 0.4) {
        double there;
        memcpy(s->next, s->theta, a->l->n * sizeof *s->next);
        for (size_t j = 0; j < a->n; j++)
            s->next[a->place[j]] += share * s->move[j];
        int status = value_of(s, s->next, &there);
        if (status) return status;
        if (!(there > *value)) continue;
        *taken = share;
        *value = there;
        memcpy(s->theta, s->next, a->l->n * sizeof *s->theta);
    }
    return 0;
}

/* l at the number's value in theta, where the others among the n are moved to
 * their best. */
static int maximise_free(struct search *s, double *value)
{
    size_t n = s->a->n;
    double gain, taken = 0.0;
    bool fresh = false;
    int status = value_of(s, s->theta, value);
    for (int step = 0; !status && step < NEWTON_STEPS; step++) {
        double before = *value;
        if (!isfinite(before)) return 0;
        memcpy(s->fall, s->a->slope, n * sizeof *s->fall);
        status = find_slope(s);
        if (status == GSV_NUMERICAL) return 0;
        if (status) return status;
        if (taken > 0.0) correct(s, taken);
        if ((gain = newton_move(s)) < LITTLE) return 0;
        status = take_step(s, value, &taken);
        /* A step that gained what it promised is at the top. */
        if (fabs(*value - before - gain) < LITTLE) return status;
        if (taken == 0.0 && fresh) return status;
        fresh = taken == 0.0;
        if (fresh) hold(s);
    }
    return status;
}

enum { SHARES = 5 };

/* l with a number at its bound moved to a share of its own interval, to
 * *value; the best of all goes to s->best. */
static int try_share(struct search *s, size_t at, double share, double *value,
                     double *most)
{
    double sign = s->far[at] > s->origin[at] ? 1.0 : -1.0;
    s->theta[at] = share > 0.0 ? s->far[at] + sign * log(fmax(share, 1e-9))
                               : s->origin[at];
    int status = maximise_free(s, value);
    if (status || !(*value > *most)) return status;
    *most = *value;
    memcpy(s->best, s->theta, s->a->l->n * sizeof *s->theta);
    return 0;
}

/* A number at its bound need not be there for other values of this one. At the
 * bound it has no slope to follow: shares of its own interval are tried, and
 * the top of the parabola through the best and its neighbours. */
static int try_shares(struct search *s, size_t at, double *value)
{
    const double wide = 1.0 / (SHARES - 1);
    double v[SHARES] = {0.0}, most = -INFINITY, there;
    size_t best = 0;
    int status = 0;
    for (size_t i = 0; !status && i < SHARES; i++) {
        status = try_share(s, at, wide * (double)i, &v[i], &most);
        if (!status && v[i] > v[best]) best = i;
    }
    size_t mid = best < 1 ? 1 : best > SHARES - 2 ? SHARES - 2 : best;
    double bend = 2.0 * v[mid] - v[mid - 1] - v[mid + 1];
    double top = (double)mid + 0.5 * (v[mid + 1] - v[mid - 1]) / bend;
    if (!status && bend > 0.0 && top > 0.0 && top < 1.25 * (SHARES - 1))
        status = try_share(s, at, wide * top, &there, &most);
    *value = most;
    if (!status && !isinf(most))
        memcpy(s->theta, s->best, s->a->l->n * sizeof *s->theta);
    return status;
}

/* p at the number's value in theta, where all others are moved to their best.
 */
static int maximise_others(struct search *s, double *value)
{
    bool any = false;
    int status = 0;
    for (size_t at = 0; !status && at < s->a->l->n; at++) {
        if (!s->a->at_bound[at] || at == s->at || isnan(s->far[at])) continue;
        status = try_shares(s, at, value);
        any = true;
    }
    return any || status ? status : maximise_free(s, value);
}

/* theta with the number t units from the estimate; the others go along V's
 * column. */
static void move_to(const struct search *s, double t, double *theta)
{
    const struct information *a = s->a;
    double by = s->origin[s->at] + t * s->unit - theta[s->at];
    double own = s->i < a->n ? a->V[s->i * (a->n + 1)] : 1.0;
    for (size_t j = 0; s->i < a->n && j < a->n; j++)
        theta[a->place[j]] += by * a->V[j * a->n + s->i] / own;
    theta[s->at] = s->origin[s->at] + t * s->unit;
}

/* sqrt(2 loss) there, from where the others were best inside. */
static int distance(struct search *s, double t, double *out)
{
    double value;
    memcpy(s->theta, s->inner, s->a->l->n * sizeof *s->theta);
    move_to(s, t, s->theta);
    int status = maximise_others(s, &value);
    if (status) return status;
    s->astray = s->astray || value > s->most + ABOVE;
    *out = sqrt(2.0 * fmax(s->most - value, 0.0));
    return 0;
}

/* --- An end --------------------------------------------------------------- */

/* Nothing is looked for further away, in units. */
static const double FURTHEST = 30.0;

/* Points inside and outside of the interval, and their sqrt(2 loss). */
struct bracket {
    double in, in_r, out, out_r;
};

/* By a secant, kept away from both ends; every third time in the middle, as
 * sqrt(2 loss) may be flat first and steep then. */
static double next_point(const struct bracket *b, double reach, int tries)
{
    bool open = isinf(b->out), cliff = isinf(b->out_r);
    double rise = open ? b->in_r : b->out_r - b->in_r;
    double run = open ? b->in : b->out - b->in;
    double next = b->in + (reach - b->in_r) * run / fmax(rise, 1e-12);
    if (open) return fmin(fmin(next, 3.0 * fmax(b->in, 1.0)), FURTHEST);
    if (cliff || tries % 3 == 2) next = 0.5 * (b->in + b->out);
    return fmin(fmax(next, b->in + 0.05 * run), b->out - 0.05 * run);
}

/* Beyond some values the lattices of the search have too few steps, and no
 * value: that is not the end of an interval. */
static bool is_end(const struct search *s, const struct bracket *b)
{
    const struct learner *l = s->a->l;
    bool walls = l->stage[l->stages - 1].form == GSV_FORM_COMPOSED;
    return !isinf(b->out) && !(walls && isinf(b->out_r));
}

/* distance() of Wald's end, which is asked for twice. */
static int wald_distance(struct search *s, int side, double *r)
{
    size_t size = s->a->l->n, wide = size * sizeof *s->theta;
    double *best = s->wald + (side > 0 ? size : 0);
    double *known = &s->wald_r[side > 0];
    if (!isnan(*known)) {
        memcpy(s->theta, best, wide);
        *r = *known;
        return 0;
    }
    memcpy(s->inner, s->origin, wide);
    int status = distance(s, side * s->reach, r);
    memcpy(best, s->theta, wide);
    if (!status) *known = *r;
    return status;
}

/* In units on one side; infinite where there is none. */
static int find_end(struct search *s, int side, double *end)
{
    struct bracket b = {0.0, 0.0, INFINITY, INFINITY};
    double t = s->reach, r;
    memcpy(s->inner, s->origin, s->a->l->n * sizeof *s->inner);
    for (int tries = 0; tries < SECANTS;
         tries++, t = next_point(&b, s->reach, tries)) {
        int status =
            tries ? distance(s, side * t, &r) : wald_distance(s, side, &r);
        if (status || s->astray) return status;
        *end = t;
        if (fabs(r - s->reach) < CLOSE) return 0;
        if (r < s->reach) {
            b.in = t;
            b.in_r = r;
            memcpy(s->inner, s->theta, s->a->l->n * sizeof *s->inner);
        } else {
            b.out = t;
            b.out_r = r;
        }
        if (b.in >= FURTHEST) break;
    }
    *end = is_end(s, &b) ? 0.5 * (b.in + b.out) : INFINITY;
    return 0;
}

/* Whether the profile's loss at both ends of Wald's interval is that of a
 * parabola. With the others held on V's column it may be where the profile's is
 * not: of a mean, the best rate of return falls with the distance from it. */
static int parabola_holds(struct search *s, bool *holds)
{
    *holds = true;
    for (int side = -1; side < 2 && *holds; side += 2) {
        double r;
        int status = wald_distance(s, side, &r);
        if (status) return status;
        *holds = fabs(r - s->reach) < NEARLY;
    }
    return 0;
}

/* --- To the record -------------------------------------------------------- */

/* The value at an end; where there is none, the bound on that side. */
static double value_at(const struct search *s, double t)
{
    const struct learner *l = s->a->l;
    const struct spec *spec = l->m->spec;
    const struct param_spec *p =
        &spec->param[spec_param_at(spec, l->value[s->at])];
    double far = t < 0.0 ? -30.0 : 30.0;
    if (!isinf(t))
        return theta_value(l->m, s->at, s->origin[s->at] + t * s->unit);
    bool up = theta_value(l->m, s->at, s->origin[s->at] + far) >
              theta_value(l->m, s->at, s->origin[s->at]);
    return up ? p->high : p->lower ? 0.0 : p->low;
}

/* Towards its bound a number loses nothing that counts, however close it comes:
 * what the estimator makes of the last digits there is no end. */
static bool is_towards_bound(const struct search *s, int side)
{
    double here = value_at(s, 0.0);
    return fabs(value_at(s, (double)side * INFINITY) - here) <
           fabs(value_at(s, -(double)side * INFINITY) - here);
}

double intervals_reach(const struct intervals *t, size_t i)
{
    return NORMAL_95 * (t->factor ? sqrt(t->factor[i]) : 1.0);
}

static int one_interval(struct search *s, const struct intervals *t)
{
    bool holds = false, bound = s->i == s->a->n;
    double end[2];
    size_t v = s->a->l->value[s->at];
    s->reach = intervals_reach(t, s->at);
    if (isnan(s->reach)) return 0;
    s->astray = false;
    s->wald_r[0] = s->wald_r[1] = NAN;
    hold(s);
    int status = bound || t->all ? 0 : parabola_holds(s, &holds);
    if (status || holds || s->astray) return status;
    for (int side = 0; !status && !s->astray && side < 2; side++) {
        end[side] = INFINITY;
        if (s->a->at_bound[s->at] && is_towards_bound(s, side ? 1 : -1))
            continue;
        status = find_end(s, side ? 1 : -1, &end[side]);
    }
    if (bound && !status && !s->astray && isinf(end[0]) != isinf(end[1]))
        s->far[s->at] =
            s->origin[s->at] + s->unit * (isinf(end[0]) ? end[1] : -end[0]);
    if (status || s->astray || (bound && isinf(end[0]) && isinf(end[1])))
        return status;
    double one = value_at(s, -end[0]), two = value_at(s, end[1]);
    t->low[v] = fmin(one, two);
    t->high[v] = fmax(one, two);
    return 0;
}

static int all_intervals(struct search *s, const struct intervals *t)
{
    struct information *a = s->a;
    int status = value_of(s, s->origin, &s->most);
    if (!status) status = trust_gradient(s);
    s->i = a->n;
    s->unit = 1.0;
    for (s->at = 0; !status && s->at < a->l->n; s->at++)
        if (a->at_bound[s->at]) status = one_interval(s, t);
    for (s->i = 0; !status && s->i < a->n; s->i++) {
        s->at = a->place[s->i];
        s->unit = sqrt(a->V[s->i * (a->n + 1)]);
        if (s->unit > 0.0) status = one_interval(s, t);
    }
    s->at = a->apart;
    s->unit = a->apart_unit;
    return status || s->at == a->l->n ? status : one_interval(s, t);
}

static bool are_possible(const struct information *a)
{
    return !a->by_evidence && !a->rough && a->n <= MOST_INTERVALS;
}

static int search_init(struct search *s, struct information *a,
                       const double *origin)
{
    size_t size = a->l->n;
    *s = (struct search){.a = a,
                         .origin = origin,
                         .theta = NEW(double, size),
                         .next = NEW(double, size),
                         .inner = NEW(double, size),
                         .best = NEW(double, size),
                         .far = NEW(double, size),
                         .W = NEW(double, a->n * a->n),
                         .move = NEW(double, a->n),
                         .fall = NEW(double, a->n),
                         .room = NEW(double, a->n),
                         .wald = NEW(double, 2 * size)};
    for (size_t i = 0; s->far && i < size; i++)
        s->far[i] = NAN;
    bool all = s->theta && s->next && s->inner && s->best && s->far && s->W &&
               s->move && s->fall && s->room && s->wald;
    return all ? 0 : GSV_NO_MEMORY;
}

static void search_free(struct search *s)
{
    MEM_FREE(s->theta, s->next, s->inner, s->best, s->far, s->W, s->move,
             s->fall, s->room, s->wald);
}

int likelihood_intervals(struct information *a, const double *theta,
                         const struct intervals *t)
{
    struct search s;
    if (!are_possible(a)) return 0;
    int status = search_init(&s, a, theta);
    if (!status) status = all_intervals(&s, t);
    search_free(&s);
    return status;
}

/* --- At a given value ----------------------------------------------------- */

/* The others start where they are best for a parabola, or from the truth. */
static int one_ratio(struct search *s, const struct compared *c)
{
    size_t size = s->a->l->n;
    double moved, truth, value;
    hold(s);
    memcpy(s->theta, s->origin, size * sizeof *s->theta);
    move_to(s, (c->theta[s->at] - s->origin[s->at]) / s->unit, s->theta);
    s->theta[s->at] = c->theta[s->at];
    int status = value_of(s, s->theta, &moved);
    if (!status) status = value_of(s, c->theta, &truth);
    if (status) return status;
    if (truth > moved) memcpy(s->theta, c->theta, size * sizeof *s->theta);
    status = maximise_others(s, &value);
    if (!status && isfinite(value))
        c->ratio[s->at] = 2.0 * fmax(s->most - value, 0.0);
    return status;
}

static int all_ratios(struct search *s, const struct compared *c)
{
    struct information *a = s->a;
    int status = value_of(s, s->origin, &s->most);
    if (!status) status = trust_gradient(s);
    for (s->i = 0; !status && s->i < a->n; s->i++) {
        s->at = a->place[s->i];
        s->unit = sqrt(a->V[s->i * (a->n + 1)]);
        status = one_ratio(s, c);
    }
    s->unit = 1.0;
    for (s->at = 0; !status && s->at < a->l->n; s->at++)
        if (a->at_bound[s->at]) status = one_ratio(s, c);
    s->at = a->apart;
    s->unit = a->apart_unit;
    return status || s->at == a->l->n ? status : one_ratio(s, c);
}

int likelihood_ratios(struct information *a, const double *theta,
                      const struct compared *c)
{
    struct search s;
    for (size_t i = 0; i < a->n; i++) {
        double off = theta[a->place[i]] - c->theta[a->place[i]];
        c->ratio[a->place[i]] = off * off / a->V[i * (a->n + 1)];
    }
    if (!are_possible(a)) return 0;
    int status = search_init(&s, a, theta);
    if (!status) status = all_ratios(&s, c);
    search_free(&s);
    return status;
}
