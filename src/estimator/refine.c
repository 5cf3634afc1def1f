/* SPDX-License-Identifier: MIT */
#include "estimator/refine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/comm.h"
#include "base/error.h"
#include "base/memory.h"
#include "estimator/estimator.h"
#include "estimator/ladder.h"
#include "estimator/resolve.h"
#include "model/model.h"
#include "panel/panel.h"

/* Where the search for steps ends: by drift evaluations in all and against
 * those of the first run. */
static const double MOST_EVALUATIONS = 1e9, MOST_TIMES = 64.0;

/* Of more groups than this a sample is checked, and none is run again. */
enum { MANY_GROUPS = 1 << 18, SAMPLE = 1 << 16 };

/* Steps that stand beside M and M / 2: 5 of 8, 11 of 16. */
static const double BESIDE = 0.625;

/* Where a rank may have failed alone: it goes its way, and the others hear of
 * it here. */
int ladder_meet(const struct ladder *l, int status)
{
    return status ? status : comm_meet(l->task->options->ranks);
}

static void broadcast(gsv_ranks *ranks, size_t n, double *data)
{
    if (gsv_ranks_count(ranks) > 1) comm_broadcast(ranks, n, data);
}

/* --- One run ------------------------------------------------------------- */

static void set_steps(const gsv_options *from, struct effort e, gsv_options *to)
{
    double times = ldexp(e.share, (int)e.level);
    if (from->step > 0.0) {
        to->step = from->step / times;
        return;
    }
    double steps = (from->steps ? (double)from->steps : FIRST_STEPS) * times;
    bool beside = e.share == BESIDE;
    to->steps = (size_t)(beside ? floor(steps) : ceil(steps));
    if (beside && to->steps % 2 == 0) to->steps++;
    if (!to->steps) to->steps = 1;
}

/* Steps of the form composed at its first level. */
enum { LATTICE_STEPS = 32 };

static void set_effort(const struct ladder *l, struct effort e, gsv_options *o)
{
    if (e.rounds == COMPOSED) {
        o->form = GSV_FORM_COMPOSED;
        o->paths = 1;
        o->step = 0.0;
        o->steps = (size_t)ldexp(LATTICE_STEPS * e.share, (int)e.level);
        return;
    }
    /* Hidden states have their own number of steps. */
    if (l->checked || e.level) set_steps(l->task->options, e, o);
    if (!o->paths) o->paths = FIRST_PATHS;
    o->paths <<= 2 * e.rounds;
}

/* n groups with these numbers, or all where group is NULL. */
int ladder_run(const struct ladder *l, struct effort e, size_t n,
               const size_t *group, gsv_result *r)
{
    struct estimator machine;
    gsv_options o = *l->task->options;
    struct task task = *l->task;
    struct request q = *l->q;
    set_effort(l, e, &o);
    /* Others may take other steps with a gradient (joint.c). */
    if (l->checked) o.gradient = r->gradient != NULL;
    task.options = &o;
    q.gradient = r->gradient;
    if (group) {
        q.n = n;
        q.group = group;
    }
    if (q.group) task.most = q.n;
    int status = estimator_init(&machine, &task);
    if (!status) status = estimator_fill(&machine, &q, true, r);
    estimator_free(&machine);
    return status;
}

/* --- How far other steps are -------------------------------------------- */

/* The change at places pick (all where n is 0) against a run of their groups.
 */
static int compare(struct ladder *l, struct effort e, size_t n,
                   const size_t *group)
{
    gsv_result other = {.values = l->r->values};
    int status = ladder_run(l, e, n, group, &other);
    for (size_t i = 0; !status && i < other.groups; i++) {
        size_t at = group ? l->pick[i] : i;
        gsv_gap *g = &l->r->gap[at];
        double change = g->loglik - other.gap[i].loglik;
        if (isnan(g->discretisation)) continue;
        if (e.share == 0.5) g->discretisation = change;
        if (e.share == 0.25) l->before[at] = change - g->discretisation;
        else l->change[at] = fmax(l->change[at], fabs(change));
    }
    l->checks += (double)other.drift_evaluations;
    gsv_result_free(&other);
    return status;
}

/* Against half of the steps, and beside them; for a tolerance against a fourth,
 * too. n is 0 for all groups. */
static int check_steps(struct ladder *l, struct effort e, size_t n,
                       const size_t *group, void *user)
{
    (void)user;
    e.share = 0.5;
    int status = compare(l, e, n, group);
    e.share = 0.25;
    if (!status && l->tolerance > 0.0) status = compare(l, e, n, group);
    e.share = BESIDE;
    return !status && l->timed ? compare(l, e, n, group) : status;
}

/* Whether the effort is at its limit, against that of a beginning. */
static bool is_spent(const struct ladder *l, double first)
{
    double work = (double)l->r->drift_evaluations + l->checks;
    return work > MOST_EVALUATIONS || work > MOST_TIMES * first;
}

/* --- Some of the groups --------------------------------------------------- */

static int smaller_first(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

/* The first rank's pick, as numbers of groups, to all. */
static int share_pick(struct ladder *l, size_t count, size_t *n, size_t **group)
{
    gsv_ranks *ranks = l->task->options->ranks;
    double many = (double)count;
    if (count) qsort(l->pick, count, sizeof *l->pick, smaller_first);
    broadcast(ranks, 1, &many);
    *n = (size_t)many;
    if (!*n) return 0;
    size_t *to = *group = NEW(size_t, *n);
    double *number = NEW(double, *n);
    int status = to && number ? ladder_meet(l, 0) : GSV_NO_MEMORY;
    for (size_t i = 0; !status && i < count; i++) {
        size_t at = l->pick[i];
        number[i] = (double)(l->q->group ? l->q->group[at] : at);
    }
    if (!status) broadcast(ranks, *n, number);
    for (size_t i = 0; !status && to && number && i < *n; i++)
        to[i] = (size_t)number[i];
    mem_free(number);
    return status;
}

static int run_picked(struct ladder *l, size_t count, struct effort e,
                      ladder_action *act, void *user)
{
    size_t n = 0, *group = NULL;
    int status = share_pick(l, count, &n, &group);
    if (!status && n) status = act(l, e, n, group, user);
    mem_free(group);
    return status;
}

/* The same with all groups that a question picks. */
int ladder_where(struct ladder *l, struct effort e,
                 bool (*ask)(const struct ladder *l, struct effort e, size_t i),
                 ladder_action *act, void *user)
{
    size_t count = 0;
    for (size_t i = 0; i < l->n; i++)
        if (ask(l, e, i)) l->pick[count++] = i;
    return run_picked(l, count, e, act, user);
}

/* --- Twice as many ------------------------------------------------------ */

/* The picked groups at a level, in place of what they were. */
static int replace(struct ladder *l, struct effort now, size_t n,
                   const size_t *group)
{
    gsv_result finer = {.values = l->r->values};
    int status = ladder_run(l, now, n, group, &finer);
    for (size_t i = 0; !status && i < finer.groups; i++) {
        gsv_gap *g = &l->r->gap[l->pick[i]];
        double change = finer.gap[i].loglik - g->loglik;
        l->before[l->pick[i]] = g->discretisation;
        *g = finer.gap[i];
        g->discretisation = change;
        l->change[l->pick[i]] = fabs(change);
        l->level[l->pick[i]] = (unsigned char)now.level;
    }
    if (!status) {
        l->r->drift_evaluations += finer.drift_evaluations;
        if (finer.memory > l->r->memory) l->r->memory = finer.memory;
        if (finer.steps > l->r->steps) l->r->steps = finer.steps;
    }
    gsv_result_free(&finer);
    return status;
}

/* The picked groups with one level more. What they were is their check. */
static int run_again(struct ladder *l, struct effort now, size_t n,
                     const size_t *group, void *user)
{
    (void)user;
    now.level++;
    int status = replace(l, now, n, group);
    now.share = BESIDE;
    return !status && l->timed ? compare(l, now, n, group) : status;
}

static bool is_wanted(const struct ladder *l, struct effort e, size_t i)
{
    return l->wanted[i] == e.level;
}

/* At once to a level, with all checks. */
static int raise_to(struct ladder *l, struct effort e, size_t n,
                    const size_t *group, void *user)
{
    int status = replace(l, e, n, group);
    for (size_t i = 0; l->n && i < n; i++)
        l->change[l->pick[i]] = 0.0;
    return status ? status : check_steps(l, e, n, group, user);
}

/* Groups whose drift changes in time faster than the first steps see: with as
 * many as they need, and checks of these. */
static int lift(struct ladder *l)
{
    const struct task *t = l->task;
    l->wanted = NEW(unsigned char, l->n);
    int status = l->n && !l->wanted ? GSV_NO_MEMORY : 0;
    if (!status && l->n)
        status = resolve_time(t->model, t->series, l->n, l->q->group,
                              FIRST_STEPS, MOST_LEVELS, l->wanted);
    status = ladder_meet(l, status);
    for (unsigned to = 1; !status && to <= MOST_LEVELS; to++)
        status = ladder_where(l, (struct effort){to, 1.0, 0}, is_wanted,
                              raise_to, NULL);
    return status;
}

static int climb(struct ladder *l)
{
    struct excess *e = l->n ? NEW(struct excess, l->n) : NULL;
    double first = (double)l->r->drift_evaluations;
    int status = ladder_meet(l, l->n && !e ? GSV_NO_MEMORY : 0);
    for (unsigned i = 0; !status && i < MOST_LEVELS * (MOST_ROUNDS + 1); i++) {
        const struct effort now = {i / (MOST_ROUNDS + 1), 1.0,
                                   i % (MOST_ROUNDS + 1)};
        size_t count = e && !is_spent(l, first) ? pick_groups(l, now, e) : 0;
        status = run_picked(l, count, now, run_again, NULL);
    }
    mem_free(e);
    /* What steps too many do not bear is left as it was. */
    return status == GSV_NUMERICAL ? 0 : status;
}

/* --- More paths --------------------------------------------------------- */

static bool is_narrow(const struct ladder *l, struct effort e, size_t i)
{
    return l->level[i] == e.level && l->rounds[i] + 1U == e.rounds &&
           (l->r->gap[i].flags & WEIGHTS);
}

/* Groups of one level with four times as many paths; any: there were some. */
static int widen_level(struct ladder *l, struct effort e, size_t n,
                       const size_t *group, void *any)
{
    gsv_result wider = {.values = l->r->values};
    int status = ladder_run(l, e, n, group, &wider);
    for (size_t i = 0; !status && i < wider.groups; i++) {
        gsv_gap *g = &l->r->gap[l->pick[i]];
        double change = g->discretisation;
        *g = wider.gap[i];
        g->discretisation = change;
        l->rounds[l->pick[i]] = (unsigned char)e.rounds;
    }
    if (!status) l->r->drift_evaluations += wider.drift_evaluations;
    if (!status && wider.paths > l->r->paths) l->r->paths = wider.paths;
    *(bool *)any = true;
    gsv_result_free(&wider);
    return status;
}

static int widen(struct ladder *l)
{
    double first = (double)l->r->drift_evaluations;
    int status = 0;
    bool any = true;
    for (unsigned rounds = 1; any && !status && rounds <= MOST_ROUNDS;
         rounds++) {
        if (is_spent(l, first)) break;
        any = false;
        for (unsigned level = 0; !status && level <= MOST_LEVELS; level++)
            status = ladder_where(l, (struct effort){level, 1.0, rounds},
                                  is_narrow, widen_level, &any);
    }
    return status == GSV_NUMERICAL ? 0 : status;
}

/* --- The result --------------------------------------------------------- */

static void flag_steps(const struct ladder *l, size_t i)
{
    gsv_gap *g = &l->r->gap[i];
    double error = isnan(g->error) ? 0.0 : g->error;
    g->flags &= ~(unsigned)GSV_FLAG_STEPS;
    if (left_of(g, l->change[i]) > fmax(0.1, 3.0 * error))
        g->flags |= GSV_FLAG_STEPS;
}

/* From the list, where there is one, and to all ranks. */
static void sum_up(struct ladder *l)
{
    gsv_result *r = l->r;
    double variance = 0.0, flagged = 0.0;
    if (l->n) {
        r->loglik = r->log_bias = r->discretisation = 0.0;
        r->ess_min = INFINITY;
        r->khat_max = NAN;
    }
    for (size_t i = 0; i < l->n; i++) {
        const gsv_gap *g = &r->gap[i];
        flag_steps(l, i);
        flagged += g->flags != 0;
        r->loglik += g->loglik;
        r->log_bias += g->log_bias;
        variance += g->error * g->error;
        if (g->ess < r->ess_min) r->ess_min = g->ess;
        if (g->khat > r->khat_max || isnan(r->khat_max)) r->khat_max = g->khat;
        if (isnan(g->discretisation)) continue;
        r->discretisation += l->sampled ? 0.0 : g->discretisation;
    }
    for (size_t i = 0; l->n && i < l->sampled; i++) {
        double change = r->gap[l->pick[i]].discretisation;
        if (isnan(change)) continue; /* it has one step */
        r->discretisation += change * (double)l->n / (double)l->sampled;
    }
    if (l->n) r->error = sqrt(variance);
    double sum[] = {r->loglik,  r->log_bias, r->discretisation, r->error,
                    r->ess_min, r->khat_max, flagged,           left_in_all(l)};
    broadcast(l->task->options->ranks, sizeof sum / sizeof *sum, sum);
    r->loglik = sum[0];
    r->log_bias = sum[1];
    r->discretisation = sum[2];
    r->error = sum[3];
    r->ess_min = sum[4];
    r->khat_max = sum[5];
    r->flagged = (size_t)sum[6];
    l->left = sum[7];
}

static bool had(const struct ladder *l, struct effort e, size_t i)
{
    return l->level[i] == e.level && l->rounds[i] == e.rounds;
}

/* The gradient of the groups with one effort, added to that of the result. */
static int add_gradient(struct ladder *l, struct effort e, size_t n,
                        const size_t *group, void *part)
{
    gsv_result r = {.values = l->r->values, .gradient = part};
    int status = ladder_run(l, e, n, group, &r);
    for (size_t i = 0; !status && i < r.values; i++)
        l->r->gradient[i] += r.gradient[i];
    r.gradient = NULL;
    gsv_result_free(&r);
    return status;
}

static int add_gradients(struct ladder *l)
{
    size_t values = l->r->values;
    double *part = NEW(double, values);
    int status = ladder_meet(l, part ? 0 : GSV_NO_MEMORY);
    memset(l->r->gradient, 0, values * sizeof *l->r->gradient);
    for (unsigned level = 0; level <= MOST_LEVELS; level++)
        for (unsigned rounds = 0; !status && rounds <= COMPOSED; rounds++)
            status = ladder_where(l, (struct effort){level, 1.0, rounds}, had,
                                  add_gradient, part);
    mem_free(part);
    return status;
}

static int make_memory(struct ladder *l)
{
    l->n = l->r->groups;
    l->change = NEW(double, l->n);
    l->before = NEW(double, l->n);
    l->level = NEW(unsigned char, l->n);
    l->rounds = NEW(unsigned char, l->n);
    l->pick = NEW(size_t, l->n);
    bool found =
        !l->n || (l->change && l->before && l->level && l->rounds && l->pick);
    return ladder_meet(l, found ? 0 : GSV_NO_MEMORY);
}

/* Of all groups, or of some that are spread evenly; of the others nothing is
 * known. */
static int check(struct ladder *l)
{
    const struct effort first = {0, 1.0, 0};
    if (!l->sampled) return check_steps(l, first, 0, NULL, NULL);
    size_t apart = l->n / l->sampled, count = 0;
    for (size_t i = 0; i < l->n; i++) {
        if (i % apart == 0 && count < l->sampled) l->pick[count++] = i;
        else l->r->gap[i].discretisation = NAN;
    }
    return run_picked(l, count, first, check_steps, NULL);
}

/* After the first run, whose gradient is left to the end where steps are still
 * to be found. */
static int check_and_climb(struct ladder *l, bool open, bool wide,
                           double *gradient)
{
    const gsv_options *o = l->task->options;
    const gsv_model *m = l->task->model;
    double groups = (double)l->r->groups;
    broadcast(o->ranks, 1, &groups);
    l->sampled = l->picks && groups > MANY_GROUPS ? SAMPLE : 0;
    l->timed = graph_moves(m->spec->graph, m->spec->drift);
    int status = make_memory(l);
    if (!status) status = check(l);
    if (!status && open && !l->sampled && l->timed && !o->joint &&
        steps_are_open(o))
        status = lift(l);
    if (!status && open && wide && !l->sampled && !l->timed)
        status = ladder_compose(l);
    if (!status && wide && !l->sampled) status = widen(l);
    if (!status && open && !l->sampled) status = climb(l);
    if (!status && wide && open && !l->sampled) status = widen(l);
    if (status) return status;
    sum_up(l);
    l->r->gradient = gradient;
    return gradient && (open || wide) ? add_gradients(l) : 0;
}

static int fill(struct ladder *l, bool open, bool wide)
{
    gsv_result *r = l->r;
    double *gradient = r->gradient;
    const struct effort first = {0, 1.0, 0};
    if (open || wide) r->gradient = NULL;
    int status = ladder_run(l, first, 0, NULL, r);
    if (!status && l->checked && r->steps > 1)
        status = check_and_climb(l, open, wide, gradient);
    else if (!status && (open || wide) && gradient) {
        size_t values = r->values;
        gsv_result_free(r);
        *r = (gsv_result){.values = values, .gradient = gradient};
        status = ladder_run(l, first, 0, NULL, r);
    }
    r->gradient = gradient;
    MEM_FREE(l->change, l->before, l->level, l->rounds, l->wanted, l->pick);
    return status;
}

/* A list of all groups is run in the order of their numbers, whatever its own
 * order is: so all lists are. */
static int sort_groups(const struct request *q, size_t **group)
{
    if (!q->group) return 0;
    *group = NEW(size_t, q->n);
    if (!*group) return GSV_NO_MEMORY;
    memcpy(*group, q->group, q->n * sizeof **group);
    qsort(*group, q->n, sizeof **group, smaller_first);
    return 0;
}

int refine_fill(const struct task *t, const struct request *q, double tolerance,
                gsv_result *r, double *left)
{
    struct request sorted = *q;
    size_t *group = NULL;
    const gsv_options *o = t->options;
    struct ladder l = {.task = t, .q = &sorted, .r = r, .tolerance = tolerance};
    const struct method *method = estimator_choose(t).method;
    const struct method *inner = panel_inner(method);
    l.checked = (inner ? inner : method)->groups && o->form != GSV_FORM_BOUND &&
                tolerance >= 0.0;
    l.picks = method->selects;
    bool some = l.checked && l.picks && !o->sample;
    bool steps = steps_are_open(o) || tolerance > 0.0;
    int status = sort_groups(q, &group);
    sorted.group = group;
    if (!status)
        status = fill(&l, some && steps,
                      some && (!o->paths || tolerance > 0.0) && !o->joint);
    if (left) *left = l.left;
    mem_free(group);
    return status;
}
