/* SPDX-License-Identifier: MIT */
/* Tracks with equal courses walk in common blocks; items are functions of the
 * problem alone, and are added up in their order. */
#include "integrate/integrate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/lanes.h"
#include "base/spread.h"
#include "integrate/walk.h"

/* Points of a block: as many as keep a network's kernel busy and stay near the
 * processor, but so few that all threads have some. */
enum { FEWEST_POINTS = 64, MOST_POINTS = 256, WISHED_ITEMS = 8 };
enum { USUAL_PATHS = 16, USUAL_STEPS = 8 };
static const double MOST_STEPS = 1e9;

/* --- Courses ------------------------------------------------------------- */

static int set_steps(struct integrator *i)
{
    double all = 0.0;
    i->step = NEW(size_t, i->gaps.count);
    if (!i->step) return GSV_NO_MEMORY;
    for (size_t n = 0; n < i->gaps.count; n++) {
        double steps = (double)i->o.steps;
        /* A whole number of steps but for rounding is not given one more. */
        if (i->o.step > 0.0)
            steps = ceil(i->gaps.gap[n].length / i->o.step * (1.0 - 1e-9));
        steps = fmax(steps, 1.0);
        all += steps;
        if (all > MOST_STEPS)
            return fail(GSV_BAD_INPUT,
                        "steps of %g are more than %g in all gaps; give a "
                        "longer --step",
                        i->o.step, MOST_STEPS);
        i->step[n] = (size_t)steps;
    }
    return 0;
}

static void list_courses(struct integrator *i)
{
    struct course *c = NULL;
    for (size_t n = 0; n < i->gaps.count; n++) {
        if (!n || i->gaps.gap[n].track != i->gaps.gap[n - 1].track) {
            c = &i->course[i->groups];
            *c = (struct course){
                .first = n, .step = i->step + n, .number = i->groups++};
        }
        c->gaps++;
        c->steps += i->step[n];
        if (c->gaps > i->most_gaps) i->most_gaps = c->gaps;
        if (c->steps > i->longest) i->longest = c->steps;
    }
}

static int compare_steps(const struct course *a, const struct course *b)
{
    if (a->gaps != b->gaps) return a->gaps < b->gaps ? -1 : 1;
    return memcmp(a->step, b->step, a->gaps * sizeof *a->step);
}

static int by_steps(const void *one, const void *two)
{
    const struct course *a = one, *b = two;
    int order = compare_steps(a, b);
    if (order) return order;
    return a->number < b->number ? -1 : a->number > b->number;
}

/* Ranks: the same for equal courses. */
static int rank_courses(struct integrator *i)
{
    struct course *sorted = NEW(struct course, i->groups);
    if (!sorted) return GSV_NO_MEMORY;
    memcpy(sorted, i->course, i->groups * sizeof *sorted);
    qsort(sorted, i->groups, sizeof *sorted, by_steps);
    for (size_t n = 0, rank = 0; n < i->groups; n++) {
        if (n && compare_steps(&sorted[n - 1], &sorted[n])) rank++;
        i->course[sorted[n].number].rank = rank;
    }
    mem_free(sorted);
    return 0;
}

/* --- Setting up ---------------------------------------------------------- */

int integrator_check(const gsv_model *m, enum gsv_scheme scheme)
{
    if (spec_is_latent(m->spec))
        return fail(GSV_BAD_INPUT,
                    "a mean squared error needs states that are observed "
                    "themselves, but this model observes them with noise; use "
                    "the objective likelihood");
    if (scheme != GSV_EULER && scheme != GSV_HEUN)
        return fail(GSV_BAD_INPUT, "the schemes of a mean squared error are "
                                   "euler and heun");
    return refuse_singular(m);
}

/* Ito's and Stratonovich's equations differ where the noise depends on the
 * state. Backward in time only the latter's noise is that of the path. */
static int rights_init(struct integrator *i)
{
    bool moving = noise_has_state(i->m), heun = i->o.scheme == GSV_HEUN;
    i->back = &i->there;
    if (i->o.by == BY_FORWARD && i->o.gradient)
        return rhs_init_lifted(&i->there, i->m, heun && moving);
    int status = rhs_init(&i->there, i->m, heun && moving, i->o.use_double);
    i->heun_back = heun || moving;
    if (status || i->o.by != BY_ADJOINT || heun || !moving) return status;
    i->back = &i->own;
    return rhs_init(&i->own, i->m, true, i->o.use_double);
}

static size_t block_points(const struct integrator *i, size_t groups)
{
    double wish = ceil((double)groups * (double)i->o.paths / WISHED_ITEMS);
    return wish < FEWEST_POINTS ? FEWEST_POINTS
           : wish > MOST_POINTS ? MOST_POINTS
                                : (size_t)wish;
}

static int walkers_init(struct integrator *i)
{
    int status = 0;
    i->P = MOST_POINTS;
    if (i->o.paths < i->P / i->groups) i->P = i->o.paths * i->groups;
    i->threads = lanes_threads(i->o.threads);
    i->walker = NEW(struct walker, i->threads);
    if (!i->walker) return GSV_NO_MEMORY;
    for (size_t t = 0; !status && t < i->threads; t++)
        status = walker_init(&i->walker[t], i);
    return status;
}

int integrator_init(struct integrator *i, const gsv_model *m,
                    const gsv_series *s, const struct integrate_options *o)
{
    *i = (struct integrator){.o = *o, .m = m};
    if (!i->o.paths) i->o.paths = USUAL_PATHS;
    if (!i->o.steps) i->o.steps = USUAL_STEPS;
    int status = integrator_check(m, o->scheme);
    if (!status) status = gaps_init(&i->gaps, m, s);
    if (!status) status = set_steps(i);
    if (status) return status;
    i->course = NEW(struct course, s->tracks);
    i->order = NEW(size_t, s->tracks);
    i->loss = NEW(double, s->tracks);
    if (!i->course || !i->order || !i->loss) return GSV_NO_MEMORY;
    list_courses(i);
    status = rank_courses(i);
    if (!status) status = rights_init(i);
    return status ? status : walkers_init(i);
}

void integrator_free(struct integrator *i)
{
    for (size_t t = 0; i->walker && t < i->threads; t++)
        walker_free(&i->walker[t]);
    MEM_FREE(i->walker, i->uniform_bar, i->loss, i->part, i->item, i->order,
             i->course, i->step);
    rhs_free(&i->there);
    rhs_free(&i->own);
    gaps_free(&i->gaps);
    *i = (struct integrator){0};
}

size_t integrator_kept_bytes(const struct integrator *i)
{
    return walk_kept_rows(i) * i->m->spec->dim * i->P * i->threads *
           sizeof(double);
}

/* --- Items --------------------------------------------------------------- */

static int add_item(struct integrator *i, struct parcel item)
{
    if (MEM_ROOM(i->item, i->items, i->item_room)) return GSV_NO_MEMORY;
    item.part = i->parts;
    i->item[i->items++] = item;
    for (size_t t = 0; t < item.tracks; t++) {
        if (MEM_ROOM(i->part, i->parts, i->part_room)) return GSV_NO_MEMORY;
        i->parts++;
    }
    return 0;
}

/* Tracks of one course, from `first` on in the order. */
static int cut_course(struct integrator *i, size_t first, size_t tracks,
                      size_t points)
{
    size_t K = i->o.paths, pieces = (K + points - 1) / points;
    size_t together = K < points ? points / K : 1;
    size_t sets = (tracks + together - 1) / together;
    int status = 0;
    for (size_t s = 0; !status && s < sets; s++)
        for (size_t q = 0; !status && q < pieces; q++) {
            size_t from = lanes_first(s, sets, tracks);
            size_t path = lanes_first(q, pieces, K);
            struct parcel item = {
                .first = first + from,
                .tracks = lanes_first(s + 1, sets, tracks) - from,
                .path = path,
                .paths = lanes_first(q + 1, pieces, K) - path};
            status = add_item(i, item);
        }
    return status;
}

/* Groups in the order of their ranks, by counting: stable. */
static int sort_groups(struct integrator *i, size_t groups, const size_t *group)
{
    size_t *from = NEW(size_t, i->groups + 1);
    if (!from) return GSV_NO_MEMORY;
    for (size_t g = 0; g < groups; g++)
        from[i->course[group ? group[g] : g].rank + 1]++;
    for (size_t r = 0; r < i->groups; r++)
        from[r + 1] += from[r];
    for (size_t g = 0; g < groups; g++) {
        size_t which = group ? group[g] : g;
        i->order[from[i->course[which].rank]++] = which;
    }
    mem_free(from);
    i->chosen = groups;
    return 0;
}

/* What the items' gradients are summed up in. */
static int make_slots(struct integrator *i)
{
    size_t slots = spread_slots(i->items, i->o.ranks);
    if (slots <= i->slots) return 0;
    mem_free(i->uniform_bar);
    i->slots = 0;
    i->uniform_bar = NEW(double, slots *program_uniforms(i->back->program));
    if (!i->uniform_bar) return GSV_NO_MEMORY;
    i->slots = slots;
    return 0;
}

static int choose(struct integrator *i, size_t groups, const size_t *group)
{
    int status = sort_groups(i, groups, group);
    size_t points = block_points(i, groups);
    i->items = i->parts = 0;
    for (size_t first = 0, end; !status && first < groups; first = end) {
        size_t rank = i->course[i->order[first]].rank;
        for (end = first + 1; end < groups; end++)
            if (i->course[i->order[end]].rank != rank) break;
        status = cut_course(i, first, end - first, points);
    }
    return status ? status : make_slots(i);
}

/* --- Running ------------------------------------------------------------- */

struct job {
    struct integrator *i;
    bool gradient;
};

static void work(void *context, size_t lane, size_t thread)
{
    const struct job *job = context;
    walk_item(job->i, &job->i->item[lane], &job->i->walker[thread],
              job->gradient);
}

static double *bar_of(void *context, size_t thread)
{
    return ((struct job *)context)->i->walker[thread].uniform_bar;
}

static size_t first_part(const void *context, size_t lane)
{
    const struct integrator *i = ((const struct job *)context)->i;
    return lane < i->items ? i->item[lane].part : i->parts;
}

/* Sums of squares to means over paths, and whether they are finite. */
static int sum_losses(struct integrator *i)
{
    for (size_t g = 0; g < i->chosen; g++)
        i->loss[i->order[g]] = 0.0;
    for (size_t n = 0; n < i->items; n++) {
        const struct parcel *item = &i->item[n];
        for (size_t t = 0; t < item->tracks; t++)
            i->loss[i->order[item->first + t]] +=
                i->part[item->part + t] / (double)i->o.paths;
    }
    for (size_t g = 0; g < i->chosen; g++) {
        const struct course *c = &i->course[i->order[g]];
        if (isfinite(i->loss[i->order[g]])) continue;
        size_t track = i->gaps.gap[c->first].track;
        return fail(GSV_NUMERICAL,
                    "a path of series '%s' reaches a value that is not finite "
                    "after the first observation: give a smaller --step, or "
                    "other starting values",
                    i->gaps.series->label[track]);
    }
    return 0;
}

static int bring_back(struct integrator *i, double *value_bar)
{
    program_finish(i->back->program, &i->back->uniforms, i->uniform_bar);
    for (size_t n = 0; n < i->m->spec->parameters; n++) {
        value_bar[n] = i->uniform_bar[n];
        if (!isfinite(value_bar[n]))
            return fail(GSV_NUMERICAL,
                        "the gradient of the mean squared error is not "
                        "finite: the paths or the steps are too long for this "
                        "model");
    }
    return 0;
}

int integrator_run(struct integrator *i, uint32_t iteration, size_t groups,
                   const size_t *group, double *value_bar)
{
    struct job job = {.i = i, .gradient = value_bar && i->o.gradient};
    int status = choose(i, group ? groups : i->groups, group);
    if (status) return status;
    i->iteration = iteration;
    program_prepare(i->there.program, i->m->value, &i->there.uniforms);
    if (i->back != &i->there)
        program_prepare(i->own.program, i->m->value, &i->own.uniforms);
    const struct spread_share part = {i->part, sizeof *i->part, first_part};
    const struct spread spread = {
        .ranks = i->o.ranks,
        .lanes = i->items,
        .threads = i->threads,
        .context = &job,
        .work = work,
        .n = job.gradient ? program_uniforms(i->back->program) : 0,
        .part = bar_of,
        .sum = i->uniform_bar,
        .shares = 1,
        .share = &part};
    status = spread_run(&spread);
    if (!status) status = sum_losses(i);
    return status || !value_bar ? status : bring_back(i, value_bar);
}
