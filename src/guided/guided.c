/* SPDX-License-Identifier: MIT */
#include "guided/guided.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/lanes.h"
#include "base/spread.h"
#include "guided/difference.h"
#include "guided/scout.h"
#include "model/states.h"

/* --- Setting up ----------------------------------------------------------- */

static int guide_init(struct guide *g, const struct guided *a, size_t movers)
{
    const struct course *f = &a->course;
    size_t nodes = stops_longest(&a->stops);
    g->parameters = NEW(double, f->model->spec->parameters);
    g->mover = NEW(struct mover, movers);
    if (!g->parameters || !g->mover) return GSV_NO_MEMORY;
    g->movers = movers;
    int status = course_values_init(&g->values, f);
    if (!status) status = pace_init(&g->pace, f, &a->stops);
    if (!status) status = ahead_init(&g->ahead[0], f, nodes, movers);
    g->aheads = 1;
    g->crowded = NEW(bool, nodes);
    if (!status && !g->crowded) status = GSV_NO_MEMORY;
    for (size_t i = 0; !status && i < movers; i++) {
        status = mover_init(&g->mover[i], f);
        g->mover[i].values = &g->values;
    }
    if (!status)
        status = swarm_init(&g->swarm, f, a->K, nodes, g->mover, movers);
    g->swarm.seed = a->options.seed;
    return status;
}

static void guide_free(struct guide *g)
{
    course_values_free(&g->values);
    pace_free(&g->pace);
    for (size_t i = 0; i <= AHEAD_MOST; i++)
        ahead_free(&g->ahead[i]);
    swarm_free(&g->swarm);
    swarm_free(&g->pilots);
    mem_free(g->history);
    guide_score_free(g->score);
    for (size_t i = 0; g->mover && i < g->movers; i++)
        mover_free(&g->mover[i]);
    MEM_FREE(g->mover, g->parameters, g->crowded);
}

static size_t steps_of(const struct guided *a)
{
    if (a->options.steps) return a->options.steps;
    if (a->course.linear) return 1;
    return a->course.orders ? INERT_STEPS : GUIDED_STEPS;
}

/* After the course is known. */
static int set_particles(struct guided *a)
{
    const struct course *f = &a->course;
    bool inert =
        f->model->spec->noise == NOISE_SINGULAR && (f->orders || f->linear);
    a->K = a->options.points;
    if (!a->K) a->K = inert ? INERT_PARTICLES : GUIDED_PARTICLES;
    if (a->K >= 2 && a->K <= GUIDED_MOST) return 0;
    return fail(GSV_BAD_INPUT,
                "%zu particles: 2 to %d are possible (--support)", a->K,
                GUIDED_MOST);
}

/* Small matrices have room for so many states and noises. */
enum { MOST_STATES = 64 };

/* Noises count once for every integration. */
static int check_parts(const struct course *f)
{
    if (f->m <= MOST_STATES) return 0;
    return fail(GSV_BAD_INPUT,
                "the guided filter has room for %d parts of noises; %zu "
                "noises, each integrated up to %zu times, have %zu: give the "
                "states without noise a small one",
                MOST_STATES, f->noises, f->orders, f->m);
}

int guided_make(struct guided *a, const gsv_model *m, const gsv_series *series,
                const gsv_options *o, const struct drawn_paths *also)
{
    *a = (struct guided){.model = m, .options = *o};
    int status = course_init(&a->course, m, o->wide);
    if (!status) status = check_parts(&a->course);
    if (!status) status = set_particles(a);
    if (!status) status = stops_init(&a->stops, m, series);
    if (!status && also)
        status = stops_insert(&a->stops, also->rows, also->track, also->time);
    a->stops.cuts_events = true;
    if (!status) status = stops_divide(&a->stops, steps_of(a), o->step);
    if (status) return status;
    a->threads = lanes_threads(o->threads);
    a->guide = NEW(struct guide, a->threads);
    a->look = NEW(struct look, series->tracks);
    a->crowded = NEW(bool, a->stops.count);
    a->paths = a->course.curved ? AHEAD_MOST : 1;
    a->known = NEW(bool, series->tracks);
    a->tracks = NEW(size_t, series->tracks);
    if (!a->guide || !a->look || !a->crowded || !a->known || !a->tracks)
        return GSV_NO_MEMORY;
    for (size_t i = 0; i < series->tracks; i++)
        if (a->stops.first[i + 1] > a->stops.first[i])
            a->tracks[a->walked++] = i;
    a->scored = guided_is_scored(m);
    for (size_t i = 0; !status && i < a->threads; i++)
        status = guide_init(&a->guide[i], a, i ? 1 : a->threads);
    if (!status) status = fold_refuse(a);
    size_t n = a->stops.count;
    const struct arena_part part[] = {{&a->path, a->paths * n * a->course.D},
                                      {&a->increment, n},
                                      {&a->ess, n},
                                      {&a->error, n}};
    return status ? status
                  : arena_lay(&a->arena, sizeof part / sizeof *part, part);
}

static int guided_init(struct guided *a, const gsv_model *m,
                       const gsv_series *series, const gsv_options *o)
{
    return guided_make(a, m, series, o, NULL);
}

void guided_free(struct guided *a)
{
    for (size_t i = 0; a->guide && i < a->threads; i++)
        guide_free(&a->guide[i]);
    MEM_FREE(a->guide, a->look, a->crowded, a->known, a->tracks, a->visit);
    course_free(&a->course);
    stops_free(&a->stops);
    arena_free(&a->arena);
}

/* --- Tracks --------------------------------------------------------------- */

/* Tracks at the present values. */
struct job {
    struct guided *guided;
    uint32_t iteration;
    size_t *drawn; /* (tracks) */
    int *status;   /* (tracks) */
};

static void prepare(struct guide *g, const struct guided *a, uint32_t iteration,
                    const double *parameters)
{
    memcpy(g->parameters, parameters,
           a->model->spec->parameters * sizeof *g->parameters);
    course_prepare(&a->course, g->parameters, &g->values);
    g->swarm.iteration = iteration;
    g->swarm.share = a->options.gradient ? 0.1 : 0.5;
}

/* Those of psi number i. */
static double *path_of(const struct guided *a, size_t i)
{
    return a->path + i * a->stops.count * a->course.D;
}

/* One track, as it is. */
static void work_value(void *context, size_t track, size_t thread)
{
    const struct job *j = context;
    struct guided *a = j->guided;
    struct guide *g = &a->guide[thread];
    size_t first = a->stops.first[track], D = a->course.D;
    size_t n = a->stops.first[track + 1] - first;
    if (!n) return;
    prepare(g, a, j->iteration, a->model->value);
    struct walk walk = {.track = track, .fine = a->fine};
    g->scouted.log_z = -INFINITY;
    g->careful = a->fine;
    j->status[track] = walk_best(g, &walk);
    if (!j->status[track]) scouts_compare(g);
    a->look[track] = walk.look;
    memcpy(a->increment + first, g->swarm.increment, n * sizeof *a->increment);
    memcpy(a->ess + first, g->swarm.ess, n * sizeof *a->ess);
    memcpy(a->error + first, g->swarm.error, n * sizeof *a->error);
    memcpy(a->crowded + first, g->crowded, n * sizeof *a->crowded);
    for (size_t i = 0; i < g->aheads; i++)
        memcpy(path_of(a, i) + first * D, g->ahead[i].mu,
               n * D * sizeof *a->path);
    j->drawn[track] = g->swarm.drawn;
}

static size_t lane_itself(const void *context, size_t lane)
{
    (void)context;
    return lane;
}

static size_t lane_stop(const void *context, size_t lane)
{
    const struct job *j = context;
    return j->guided->stops.first[lane];
}

/* Lanes are tracks. */
static int spread_tracks(struct job *j, size_t tracks)
{
    struct guided *a = j->guided;
    enum { PATHS = 7 };
    struct spread_share share[PATHS + AHEAD_MOST] = {
        {j->status, sizeof *j->status, lane_itself},
        {j->drawn, sizeof *j->drawn, lane_itself},
        {a->look, sizeof *a->look, lane_itself},
        {a->crowded, sizeof *a->crowded, lane_stop},
        {a->increment, sizeof *a->increment, lane_stop},
        {a->ess, sizeof *a->ess, lane_stop},
        {a->error, sizeof *a->error, lane_stop}};
    for (size_t i = 0; i < a->paths; i++)
        share[PATHS + i] = (struct spread_share){
            path_of(a, i), a->course.D * sizeof *a->path, lane_stop};
    /* One track alone: its particles go to threads. */
    return spread_run(&(struct spread){.ranks = a->options.ranks,
                                       .lanes = tracks,
                                       .threads = tracks > 1 ? a->threads : 1,
                                       .context = j,
                                       .work = work_value,
                                       .shares = PATHS + a->paths,
                                       .share = share});
}

static int run_tracks(struct guided *a, uint32_t iteration)
{
    size_t tracks = a->stops.gaps.series->tracks;
    struct job j = {.guided = a,
                    .iteration = iteration,
                    .drawn = NEW(size_t, tracks),
                    .status = NEW(int, tracks)};
    int status = j.status && j.drawn ? 0 : GSV_NO_MEMORY;
    if (!status) status = spread_tracks(&j, tracks);
    a->drawn = 0;
    for (size_t i = 0; !status && i < tracks; i++) {
        a->drawn += j.drawn[i];
        status = j.status[i];
        /* Once more, for a message in this thread. */
        if (status != GSV_NUMERICAL || tracks == 1) continue;
        work_value(&j, i, 0);
        status = j.status[i];
    }
    MEM_FREE(j.drawn, j.status);
    return status;
}

int guided_walk(struct guided *a, bool blind, const struct swarm_observer *o)
{
    struct guide *g = &a->guide[0];
    prepare(g, a, a->options.iteration, a->model->value);
    for (size_t track = 0; track < a->stops.gaps.series->tracks; track++) {
        size_t first = a->stops.first[track];
        if (first == a->stops.first[track + 1]) continue;
        /* First, whether a better psi helps. */
        struct walk walk = {.track = track};
        int status = blind ? 0 : walk_best(g, &walk);
        if (blind) walk.look.kind = LOOK_NEXT;
        walk.observer = o;
        if (!status) status = walk_run(g, &walk);
        if (status) return status;
    }
    return 0;
}

/* --- Gradients ------------------------------------------------------------ */

struct side {
    struct guided *guided;
    uint32_t iteration;
};

/* One track with one parameter moved. */
static int value_of(void *user, size_t thread, const double *parameters,
                    size_t track, double *value)
{
    const struct side *s = user;
    struct guided *a = s->guided;
    struct guide *g = &a->guide[thread];
    size_t first = a->stops.first[track], D = a->course.D;
    *value = 0.0;
    if (a->stops.first[track + 1] == first) return 0;
    prepare(g, a, s->iteration, parameters);
    struct walk walk = {.track = track,
                        .look = a->look[track],
                        .from = a->path + first * D,
                        .apart = a->stops.count * D};
    int status = walk_run(g, &walk);
    *value = g->swarm.log_z;
    return status;
}

static int add_gradient(struct guided *a, uint32_t iteration, double *gradient)
{
    if (a->scored) {
        struct score unused;
        const struct request q = {.iteration = iteration, .gradient = gradient};
        return guided_scores(a, &q, &unused);
    }
    struct side side = {a, iteration};
    const struct difference d = {.model = a->model,
                                 .ranks = a->options.ranks,
                                 .tracks = a->stops.gaps.series->tracks,
                                 .threads = a->threads,
                                 .user = &side,
                                 .value = value_of};
    return difference_gradient(&d, gradient);
}

static int guided_run(struct guided *a, const double *reference,
                      uint32_t iteration, double *gradient)
{
    (void)reference;
    int status = run_tracks(a, iteration);
    if (!status && gradient) status = add_gradient(a, iteration, gradient);
    if (status == GSV_NO_MEMORY)
        fail(GSV_NO_MEMORY, "out of memory for the particles of a track");
    return status;
}

/* --- The result ----------------------------------------------------------- */

static int guided_fill(const struct guided *a, gsv_result *r)
{
    r->observe = GSV_OBSERVE_GUIDED;
    r->paths = a->K;
    r->drift_evaluations = 2 * a->K * a->stops.count;
    int status =
        stops_fill(&a->stops, a->increment, a->error, a->ess, a->K, NULL, r);
    for (size_t n = 0, row = 0; !status && n < a->stops.count; n++) {
        if (a->stops.stop[n].row == NO_ROW) continue;
        gsv_gap *g = &r->gap[row++];
        if (!a->crowded[n]) continue;
        r->flagged += g->flags == 0;
        g->flags |= GSV_FLAG_MODES;
    }
    return status;
}

ROWS_FUNCTIONS(guided)

/* What steps twice as long would say. */
static int look_at_steps(const struct guided *a, const struct request *q,
                         gsv_result *r)
{
    struct guided half;
    gsv_options o = a->options;
    double sum = 0.0;
    if (r->steps < 2) return 0;
    o.gradient = false;
    o.steps = (steps_of(a) + 1) / 2;
    o.step *= 2.0;
    int status = guided_init(&half, a->model, a->stops.gaps.series, &o);
    bool coarser = !status && half.stops.count < a->stops.count;
    half.fine = a->fine;
    if (coarser) status = guided_run(&half, NULL, q->iteration, NULL);
    for (size_t n = 0; coarser && !status && n < half.stops.count; n++)
        sum += half.increment[n];
    guided_free(&half);
    if (status == GSV_NUMERICAL) sum = -INFINITY;
    if (status && status != GSV_NUMERICAL) return status;
    if (coarser) r->discretisation = r->loglik - sum;
    return 0;
}

static int fill_steps(void *machine, const struct request *q, bool list,
                      gsv_result *r)
{
    struct guided *a = machine;
    a->fine = !q->gradient && !q->trial;
    int status = method_fill(machine, q, list, r);
    if (!status && list) status = look_at_steps(machine, q, r);
    a->fine = false;
    return status;
}

/* Some tracks of a fit by batches: see guided_score.c. */
static int run_some(void *machine, const struct request *q, struct score *score)
{
    struct guided *a = machine;
    return a->by_track ? guided_scores(a, q, score)
                       : method_run(machine, q, score);
}

static int init_some(const struct method *row, void *machine,
                     const struct task *t)
{
    int status = method_init(row, machine, t);
    ((struct guided *)machine)->by_track = t->by_track;
    return status;
}

static gsv_gap group_of(const void *machine, size_t g)
{
    return guided_visited(machine, g);
}

static int accept(const struct method *row, const struct task *t)
{
    const struct spec *s = t->model->spec;
    size_t states = s->dim + s->integrals;
    size_t most = states > s->noises ? states : s->noises;
    int status = rows_accept(row, t);
    if (!status) status = check_points(t->model);
    if (status) return status;
    if (most > MOST_STATES)
        return fail(GSV_BAD_INPUT,
                    "the guided filter is for at most %d states and integrals, "
                    "and as many noises; there are %zu and %zu",
                    MOST_STATES, states, s->noises);
    return t->options->gradient ? refuse_unscored(t->model) : 0;
}

static bool is_rough(const void *machine)
{
    return ((const struct guided *)machine)->drawn > 0;
}

const struct method METHOD_GUIDED = {.name = "guided",
                                     .shares = true,
                                     .size = sizeof(struct guided),
                                     .fewest = GUIDED_STEPS,
                                     .change = GUIDED_CHANGE,
                                     .pilots = GUIDED_PILOTS,
                                     .jumps = true,
                                     .first_laws = true,
                                     .accept = accept,
                                     .tracks = guided_is_scored,
                                     .init = init_some,
                                     .free = method_free,
                                     .run = run_some,
                                     .group = group_of,
                                     .fill = fill_steps,
                                     .rough = is_rough,
                                     .slots = rows_slots,
                                     .units = rows_units,
                                     .track_logs = rows_track_logs,
                                     .filter = guided_filter,
                                     .drawn = guided_drawn};
