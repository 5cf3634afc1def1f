/* SPDX-License-Identifier: MIT */
#include "learn/information.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/linalg.h"
#include "base/plain.h"
#include "model/theta.h"
#include "panel/rule.h"

/* More than this many numbers take too long to difference. */
enum { MOST_NUMBERS = 400 };

/* --- Names -------------------------------------------------------------- */

const char *information_name(const struct information *a, size_t i,
                             char room[120])
{
    const struct spec *s = a->l->m->spec;
    size_t v = a->l->value[i];
    const struct param_spec *q = &s->param[spec_param_at(s, v)];
    size_t e = v - q->offset;
    if (q->rank == 0) snprintf(room, 120, "%.100s", q->name);
    const char *label = spec_label(s, q, e);
    if (label) snprintf(room, 120, "%.60s[%.50s]", q->name, label);
    else if (q->rank == 1) snprintf(room, 120, "%.80s[%zu]", q->name, e + 1);
    if (q->rank == 2)
        snprintf(room, 120, "%.80s[%zu,%zu]", q->name, e / q->columns + 1,
                 e % q->columns + 1);
    return room;
}

/* --- At a bound --------------------------------------------------------- */

/* The slope dp/dtheta vanishes at a bound: relative to the value's own size
 * and to the width of its room, this is what is left of it. */
static const double AT_BOUND = 1e-4;

static double nearest_bound(const struct param_spec *p, double v)
{
    double low = p->lower ? 0.0 : p->low;
    return v - low < p->high - v ? low : p->high;
}

static void say_bound(const struct information *a, size_t i, double bound)
{
    char room[120];
    plain_print(a->words,
                "%s is at its bound %g: it has no standard error, and those of "
                "the others are as if it were fixed there\n",
                information_name(a, i, room), bound);
}

/* Number i of theta: its parameter, if that has a bound; else NULL. */
static const struct param_spec *bounded(const struct information *a, size_t i)
{
    const struct spec *s = a->l->m->spec;
    size_t v = a->l->value[i];
    const struct param_spec *p = &s->param[spec_param_at(s, v)];
    bool diagonal = p->lower && (v - p->offset) % (p->columns + 1) == 0;
    return p->bound == BOUND_NONE && !diagonal ? NULL : p;
}

static bool is_at_bound(const struct information *a, size_t i)
{
    size_t v = a->l->value[i];
    const struct param_spec *p = bounded(a, i);
    if (!p) return false;
    double value = a->l->m->value[v], bound = nearest_bound(p, value);
    double size = fmax(fabs(p->start[v - p->offset] - bound), 1e-12);
    if (fabs(value - bound) > AT_BOUND * size) return false;
    say_bound(a, i, bound);
    return true;
}

/* --- From scores ---------------------------------------------------- */

/* Random numbers that a gradient is a mean over where it scatters, and steps
 * in standard errors, there and elsewhere. */
enum { ROUGH_RUNS = 2 };
static const double ROUGH_STEP = 1.0, STEP = 0.05;

/* Most numbers beside functions are logarithms, with errors around the first.
 * E is known to 1e-3, half an error moves it by 1/8: longer steps see its
 * fourth derivative, by their square. */
enum { MOST_EVIDENCE_VALUES = 12 };
static const double EVIDENCE_STEP = 0.5, EVIDENCE_FIRST = 0.05;

/* Of kernels that are left open. */
static const double WIDEST = 1.0;

/* E at theta; its gradient unless that is NULL. */
static int evidence_of(struct information *a, const double *theta,
                       double *value, double *gradient)
{
    struct evidence *e = &a->evidence;
    double *x = a->one, *bar = a->one + e->outer;
    for (size_t i = 0; i < e->outer; i++)
        x[i] = theta[e->place[i]];
    int status = evidence_at(e, x, value, gradient ? bar : NULL);
    for (size_t i = 0; !status && gradient && i < e->outer; i++)
        gradient[e->place[i]] = bar[i];
    return status;
}

/* What has a gradient: estimators that are made for it take longer to find
 * values. */
static int make_scores(struct information *a)
{
    const struct learner *l = a->l;
    gsv_options o = a->all.options;
    if (!a->by_value || a->scores.model) return 0;
    o.gradient = true;
    return objective_init_loglik(&a->scores, l->m, l->s, &o, l->split.trains);
}

static int gradient_at(struct information *a, const double *theta,
                       double *gradient)
{
    const struct split *s = &a->l->split;
    uint32_t runs = a->rough ? ROUGH_RUNS : 1;
    int status = learner_go_on(a->l);
    double value = 0.0;
    if (status) return status;
    if (a->by_evidence) return evidence_of(a, theta, &value, gradient);
    status = make_scores(a);
    struct objective *at = a->by_value ? &a->scores : &a->all;
    memset(gradient, 0, a->l->n * sizeof *gradient);
    for (uint32_t run = 0; !status && run < runs; run++) {
        struct score score = {0};
        if (run) status = learner_go_on(a->l);
        if (!status)
            status = objective_at(at, theta, run, s->trains, s->train, &score,
                                  a->one);
        for (size_t i = 0; !status && i < a->l->n; i++)
            gradient[i] += a->one[i] * (double)score.gaps / (double)runs;
    }
    return status ? status : prior_add(&a->l->prior, 1.0, &value, gradient);
}

/* Column j from steps of this length. */
static int difference(struct information *a, size_t j, double step,
                      double *column)
{
    size_t at = a->place[j];
    double kept = a->theta[at];
    a->theta[at] = kept + step;
    int status = gradient_at(a, a->theta, a->up);
    a->theta[at] = kept - step;
    if (!status) status = gradient_at(a, a->theta, a->down);
    a->theta[at] = kept;
    for (size_t i = 0; !status && i < a->n; i++)
        column[i] = (a->down[a->place[i]] - a->up[a->place[i]]) / (2.0 * step);
    return status;
}

/* A step of a share of the standard error that it leads to: found by a few
 * tries, as the numbers' scales may be any. One that is too short for a
 * gradient that scatters leads to a longer one. */
static int column_of(struct information *a, size_t j, double *column)
{
    double *move = &a->l->move[a->place[j]], step = *move;
    double share = a->rough         ? ROUGH_STEP
                   : a->by_evidence ? EVIDENCE_STEP
                                    : STEP;
    double room = share < 0.1 ? 20.0 : share < 1.0 ? 5.0 : 3.0;
    double first = a->by_evidence ? EVIDENCE_FIRST : 2e-3 * share;
    if (!(step > 0.0)) step = first * fmax(1.0, fabs(a->theta[a->place[j]]));
    for (int tries = 0; tries < 5; tries++) {
        int status = difference(a, j, step, column);
        if (status && status != GSV_NUMERICAL) return status;
        double better = status ? 0.01 * step : share / sqrt(fabs(column[j]));
        if (a->by_evidence && !status) better = fmin(better, WIDEST);
        bool fits = !status && better < room * step && room * better > step;
        if (fits) *move = step;
        if (fits || !isfinite(better)) return status;
        step = better;
    }
    return difference(a, j, step, column);
}

/* From differences of the gradient: n columns. After the search the slope is
 * not needed; for the evidence it is where the functions start. */
static int fill_by_score(struct information *a)
{
    size_t n = a->n;
    bool slope = !a->l->searched || a->by_evidence;
    int status = slope ? gradient_at(a, a->theta, a->up) : 0;
    for (size_t i = 0; slope && !status && i < n; i++)
        a->slope[i] = a->up[a->place[i]];
    for (size_t j = 0; !status && j < n; j++)
        status = column_of(a, j, a->I + j * n);
    for (size_t i = 0; !status && i < n; i++)
        for (size_t j = 0; j < i; j++) {
            double mean = 0.5 * (a->I[i * n + j] + a->I[j * n + i]);
            a->I[i * n + j] = a->I[j * n + i] = mean;
        }
    return status;
}

/* --- From values -------------------------------------------------------- */

int information_value(struct information *a, const double *theta, double *value)
{
    const struct split *s = &a->l->split;
    struct score score;
    int status = learner_go_on(a->l);
    if (status) return status;
    if (a->by_evidence) return evidence_of(a, theta, value, NULL);
    status = objective_at(&a->all, theta, 0, s->trains, s->train, &score, NULL);
    *value = status ? NAN : score.mean * (double)score.gaps;
    return status ? status : prior_add(&a->l->prior, 1.0, value, NULL);
}

/* l at theta moved by the steps of numbers i and j, up or down. */
static int value_at(struct information *a, size_t i, size_t j, double sign,
                    double *value)
{
    size_t p = a->place[i], q = a->place[j];
    double kept = a->theta[p], other = a->theta[q];
    a->theta[p] += sign * a->l->move[p];
    if (j != i) a->theta[q] += sign * a->l->move[q];
    int status = information_value(a, a->theta, value);
    a->theta[p] = kept;
    a->theta[q] = other;
    return status;
}

/* Both neighbours of number i, with a step of a fiftieth of the standard error
 * (with gps, a half) that they lead to: found by a few tries, as scales may be
 * any.
 */
static int neighbours(struct information *a, size_t i, double here)
{
    double *move = &a->l->move[a->place[i]];
    double share = a->by_evidence ? EVIDENCE_STEP : 0.02;
    double size = fmax(1.0, fabs(a->theta[a->place[i]])), before = *move;
    double first = (a->by_evidence ? EVIDENCE_FIRST : 1e-3) * size;
    if (!(*move > 0.0)) *move = first;
    for (int tries = 0;; tries++) {
        int status = value_at(a, i, i, 1.0, &a->ups[i]);
        if (!status) status = value_at(a, i, i, -1.0, &a->downs[i]);
        if (status && status != GSV_NUMERICAL) return status;
        double bend = 2.0 * here - a->ups[i] - a->downs[i];
        /* Too short to be seen: left from a place with a large curvature. */
        if (!status && bend == 0.0 && *move < 0.1 * first) {
            *move = first;
            continue;
        }
        double better =
            status ? 0.01 * *move : share * *move / sqrt(fabs(bend));
        if (a->by_evidence && !status) better = fmin(better, WIDEST);
        /* A whole error is long: there the step itself must be right. */
        double room = a->by_evidence ? 1.2 : 4.0;
        bool fits = !status && better < room * *move && better > *move / room;
        bool over = tries >= 6 || !(better > 0.0) || !isfinite(better);
        /* Steps without values are not for the next time. */
        if (status && over) *move = before;
        if (fits || over) return status;
        *move = fmin(fmax(better, 1e-3 * *move), 1e3 * *move);
    }
}

static bool is_kernel(const struct information *a, size_t i)
{
    const struct spec *s = a->l->m->spec;
    return s->param[spec_param_at(s, a->l->value[a->place[i]])].gp;
}

static int fill_by_value(struct information *a)
{
    size_t n = a->n;
    double here;
    int status = information_value(a, a->theta, &here);
    for (size_t i = 0; !status && i < n; i++) {
        status = neighbours(a, i, here);
        double step = a->l->move[a->place[i]];
        a->slope[i] = (a->ups[i] - a->downs[i]) / (2.0 * step);
        a->I[i * n + i] =
            (2.0 * here - a->ups[i] - a->downs[i]) / (step * step);
    }
    for (size_t i = 0; !status && i < n; i++)
        for (size_t j = 0; !status && j < i; j++) {
            double up = 0.0, down = 0.0;
            if (information_is_silent(a, i) || information_is_silent(a, j))
                continue;
            double area = a->l->move[a->place[i]] * a->l->move[a->place[j]];
            status = value_at(a, i, j, 1.0, &up);
            if (!status) status = value_at(a, i, j, -1.0, &down);
            double bend = a->ups[i] + a->downs[i] + a->ups[j] + a->downs[j] -
                          up - down - 2.0 * here;
            a->I[i * n + j] = a->I[j * n + i] = bend / (2.0 * area);
        }
    return status;
}

int information_gradient(struct information *a, const double *theta,
                         double *slope)
{
    int status = gradient_at(a, theta, a->up);
    for (size_t i = 0; !status && i < a->n; i++)
        slope[i] = a->up[a->place[i]];
    return status;
}

int information_slope(struct information *a, const double *theta, size_t but)
{
    int status = 0;
    memcpy(a->theta, theta, a->l->n * sizeof *theta);
    if (!a->by_value) return information_gradient(a, theta, a->slope);
    for (size_t i = 0; !status && i < a->n; i++) {
        a->slope[i] = 0.0;
        if (i == but) continue;
        status = value_at(a, i, i, 1.0, &a->ups[i]);
        if (!status) status = value_at(a, i, i, -1.0, &a->downs[i]);
        a->slope[i] =
            (a->ups[i] - a->downs[i]) / (2.0 * a->l->move[a->place[i]]);
    }
    return status;
}

/* Numbers of kernels whose logarithm would have a standard error above 2 (the
 * data allow any of them within a factor of 50) are taken as known. */
static const double OPEN = 0.25;

static void drop_open(struct information *a)
{
    size_t n = a->n, kept = 0, row = 0;
    char room[120];
    for (size_t i = 0; i < n; i++) {
        size_t at = a->place[i];
        bool open = is_kernel(a, i) && !(a->I[i * n + i] > OPEN);
        a->room[i] = open ? 0.0 : 1.0;
        if (open)
            plain_print(a->words,
                        "the data leave %s open: it has no standard error, and "
                        "those of the others are as if it were known\n",
                        information_name(a, at, room));
        else kept++;
    }
    for (size_t i = 0; i < n; i++) {
        if (a->room[i] == 0.0) continue;
        for (size_t j = 0, column = 0; j < n; j++)
            if (a->room[j] > 0.0) a->I[row * kept + column++] = a->I[i * n + j];
        a->slope[row] = a->slope[i];
        a->place[row++] = a->place[i];
    }
    a->n = kept;
}

/* --- Towards a bound ----------------------------------------------------- */

/* Numbers with bounds are logarithms, or logits, of the room that is left. One
 * whose standard error would be above 3 there has data that do not see where
 * within a factor of hundreds it is: it is at its bound where it can go on
 * towards it, by a factor of exp(8), and lose no likelihood, but not as far the
 * other way. */
static const double SEEN = 0.1, TOWARDS = 8.0, NO_LOSS = 0.1;

/* l with number `at` moved; where it is not finite, nothing at all. */
static int value_moved(struct information *a, size_t at, double by,
                       double *value)
{
    double kept = a->theta[at];
    a->theta[at] = kept + by;
    int status = information_value(a, a->theta, value);
    a->theta[at] = kept;
    if (status != GSV_NUMERICAL) return status;
    *value = -INFINITY;
    return 0;
}

static int look_at_bound(struct information *a, size_t i, bool *found)
{
    size_t at = a->place[i];
    const struct param_spec *p = bounded(a, at);
    double here, towards, away, loss = (a->rough ? 2.0 : 1.0) * NO_LOSS;
    if (!p || is_kernel(a, i) || a->I[i * a->n + i] > SEEN) return 0;
    gsv_theta_set(a->l->m, a->theta);
    double bound = nearest_bound(p, a->l->m->value[a->l->value[at]]);
    double up = theta_value(a->l->m, at, a->theta[at] + TOWARDS);
    double down = theta_value(a->l->m, at, a->theta[at] - TOWARDS);
    double by = fabs(up - bound) < fabs(down - bound) ? TOWARDS : -TOWARDS;
    int status = value_moved(a, at, 0.0, &here);
    if (!status) status = value_moved(a, at, by, &towards);
    if (!status) status = value_moved(a, at, -by, &away);
    *found = !status && towards >= here - loss && away < here - loss;
    a->at_bound[at] = *found;
    if (*found) say_bound(a, at, bound);
    return status;
}

/* Those at a bound say nothing of themselves, nor with others. */
static int drop_bounds(struct information *a)
{
    size_t n = a->n;
    for (size_t i = 0; i < n; i++) {
        int status = look_at_bound(a, i, &a->bound[i]);
        if (status) return status;
        for (size_t j = 0; a->bound[i] && j < n; j++)
            a->I[i * n + j] = a->I[j * n + i] = 0.0;
    }
    return 0;
}

int information_fill(struct information *a)
{
    int status = a->by_value ? fill_by_value(a) : fill_by_score(a);
    if (!status && a->by_evidence) drop_open(a);
    return status ? status : drop_bounds(a);
}

/* --- Making ------------------------------------------------------------- */

static int find_places(struct information *a)
{
    struct learner *l = a->l;
    a->place = NEW(size_t, l->n);
    a->at_bound = NEW(bool, l->n);
    if (!a->place || !a->at_bound) return GSV_NO_MEMORY;
    if (l->free > MOST_NUMBERS) {
        plain_print(
            a->words,
            "%zu numbers were learned: standard errors are computed for "
            "at most %d\n",
            l->free, MOST_NUMBERS);
        return 0;
    }
    for (size_t i = 0; i < l->n && !a->by_evidence; i++) {
        a->at_bound[i] = !l->fixed[i] && is_at_bound(a, i);
        if (!l->fixed[i] && !a->at_bound[i]) a->place[a->n++] = i;
    }
    for (size_t i = 0; i < a->evidence.outer; i++)
        if (!is_at_bound(a, a->evidence.place[i]))
            a->place[a->n++] = a->evidence.place[i];
    return 0;
}

/* Where the value has jumps, the gradient is used instead. */
static int find_roughness(struct information *a, gsv_options *o)
{
    double value;
    if (!a->all.estimator.method->rough) return 0;
    int status = information_value(a, a->theta, &value);
    if (status) return status == GSV_NUMERICAL ? 0 : status;
    a->rough = estimator_is_rough(&a->all.estimator);
    if (!a->rough || !a->by_value) return 0;
    a->by_value = false;
    o->gradient = true;
    objective_free(&a->all);
    return objective_init_loglik(&a->all, a->l->m, a->l->s, o,
                                 a->l->split.trains);
}

static int prepare(struct information *a, const double *theta)
{
    struct learner *l = a->l;
    size_t n = a->n;
    gsv_options o = l->stage[l->stages - 1];
    a->by_value =
        a->by_evidence ? n <= MOST_EVIDENCE_VALUES : learner_by_value(l, n);
    o.gradient = !a->by_value;
    /* Products of rules grow fast, and curvatures need no more nodes than a
     * check has. */
    if (l->searched && l->m->spec->effect_size > 1)
        o.nodes = rule_fewer(o.nodes ? o.nodes : USUAL_NODES);
    const struct arena_part part[] = {
        {&a->slope, n},      {&a->ups, n},
        {&a->downs, n},      {&a->theta, l->n},
        {&a->one, 2 * l->n}, {&a->up, l->n},
        {&a->down, l->n},    {&a->I, n * n},
        {&a->V, n * n},      {&a->room, (n > 64 ? n : 64) * n + n}};
    a->lost = NEW(bool, n);
    a->flat = NEW(bool, n);
    a->bound = NEW(bool, n);
    if (!a->lost || !a->flat || !a->bound ||
        arena_lay(&a->arena, sizeof part / sizeof *part, part))
        return GSV_NO_MEMORY;
    memcpy(a->theta, theta, l->n * sizeof *theta);
    if (a->by_evidence) return 0;
    const struct task task = {.series = l->s,
                              .options = &o,
                              .most = l->split.trains,
                              .by_group = l->o->errors == GSV_ERRORS_SANDWICH};
    int status = objective_init(&a->all, l->m, &task);
    return status ? status : find_roughness(a, &o);
}

int information_init(struct information *a, struct learner *l,
                     const double *theta)
{
    *a = (struct information){.l = l};
    a->words = open_memstream(&a->text, &a->size);
    if (!a->words) return fail(GSV_NO_MEMORY, "out of memory");
    gsv_theta_set(l->m, theta);
    a->by_evidence = l->optimizer == GSV_OPTIMIZER_EVIDENCE;
    int status = 0;
    if (a->by_evidence)
        status = evidence_init(&a->evidence, l, &l->stage[l->stages - 1], theta,
                               INFINITY);
    a->evidence.can_stop = true;
    if (!status) status = find_places(a);
    return status || !a->n ? status : prepare(a, theta);
}

void information_free(struct information *a)
{
    objective_free(&a->all);
    objective_free(&a->scores);
    evidence_free(&a->evidence);
    if (a->words) fclose(a->words);
    free(a->text);
    MEM_FREE(a->place, a->at_bound, a->lost, a->flat, a->bound);
    arena_free(&a->arena);
}
