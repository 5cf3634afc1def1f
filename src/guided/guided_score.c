/* SPDX-License-Identifier: MIT */
/* The guided filter for models with many numbers: gradients by score.h, over
 * some of the tracks. The look-ahead of a track goes along the mean path that
 * was found when the track was last visited; without one it is made anew. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/spread.h"
#include "guided/guided.h"

/* What a thread needs for gradients. */
struct guide_score {
    struct scorer scorer;
    struct trail trail;
    double *x;        /* (nodes, D, S)  */
    double *gradient; /* (parameters)   */
};

static struct guide_score *score_new(const struct guided *a,
                                     const struct swarm *s)
{
    struct guide_score *g = NEW(struct guide_score, 1);
    size_t nodes = stops_longest(&a->stops);
    if (!g) return NULL;
    g->x = NEW(double, nodes * s->D * SCORED_PATHS);
    g->gradient = NEW(double, a->model->spec->parameters);
    if (g->x && g->gradient && !scorer_init(&g->scorer, &a->course) &&
        !trail_init(&g->trail, s, nodes))
        return g;
    guide_score_free(g);
    return NULL;
}

void guide_score_free(struct guide_score *g)
{
    if (!g) return;
    scorer_free(&g->scorer);
    trail_free(&g->trail);
    MEM_FREE(g->x, g->gradient);
    mem_free(g);
}

bool guided_is_scored(const gsv_model *m)
{
    const struct spec *s = m->spec;
    return (spec_has_functions(s) || s->parameters > MOST_DIFFERENCES) &&
           !model_lacks_scores(m);
}

/* --- One track ------------------------------------------------------------ */

/* Some tracks at the present values. */
struct scores {
    struct guided *guided;
    uint32_t iteration;
    bool gradient;
    size_t tracks;
    const size_t *track; /* (tracks) or NULL: all             */
    struct visit {
        double loglik, variance, rows, status, known;
    } * visit;    /* (tracks) */
    size_t size;  /* of a path: the longest track's nodes times D */
    double *path; /* (tracks, size) the means of new paths        */
};

static size_t track_of(const struct scores *s, size_t lane)
{
    return s->track ? s->guided->tracks[s->track[lane]]
                    : s->guided->tracks[lane];
}

/* A walk with psi along the known path, else, or where that fails, with one
 * that is made anew. */
static int walk(struct guided *a, struct guide *g, size_t track,
                const struct swarm_observer *o)
{
    size_t first = a->stops.first[track];
    int status = GSV_NUMERICAL;
    if (a->known[track])
        status = ahead_along(g->ahead, &g->mover[0], &g->pace, false,
                             a->path + first * a->course.D);
    if (!status) status = swarm_run(&g->swarm, &g->pace, g->ahead, o);
    if (status != GSV_NUMERICAL) return status;
    status = ahead_make(g->ahead, &g->mover[0], &g->pace, false, NULL);
    return status ? status : swarm_run(&g->swarm, &g->pace, g->ahead, o);
}

/* After a walk: the gradient, and the path for the next one. */
static bool add_score(struct guide *g, double *mean)
{
    struct guide_score *score = g->score;
    size_t S = SCORED_PATHS;
    if (!trail_draw(&score->trail, &g->swarm, S, score->x, mean)) return false;
    scorer_add(&score->scorer, &g->mover[0], &g->pace, S, score->x,
               score->gradient);
    return true;
}

static int visit(const struct scores *s, size_t lane, struct guide *g)
{
    struct guided *a = s->guided;
    size_t track = track_of(s, lane);
    struct visit *v = &s->visit[lane];
    struct swarm_observer o = {0};
    if (s->gradient) o = trail_observer(&g->score->trail);
    course_prepare(&a->course, a->model->value, &g->values);
    g->swarm.iteration = s->iteration;
    g->swarm.share = 0.5;
    g->swarm.aheads = 1;
    pace_set(&g->pace, track, &g->values, &g->mover[0].room);
    int status = walk(a, g, track, s->gradient ? &o : NULL);
    if (status) return status;
    v->loglik = g->swarm.log_z;
    v->rows = v->variance = 0.0;
    for (size_t k = 0; k < g->pace.nodes; k++) {
        v->rows += pace_is_row(&g->pace, k);
        v->variance += g->swarm.error[k] * g->swarm.error[k];
    }
    if (s->gradient) v->known = add_score(g, s->path + lane * s->size);
    return 0;
}

static void work(void *context, size_t lane, size_t thread)
{
    const struct scores *s = context;
    s->visit[lane].status = (double)visit(s, lane, &s->guided->guide[thread]);
}

/* --- All of them ---------------------------------------------------------- */

static double *part(void *context, size_t thread)
{
    const struct scores *s = context;
    return s->guided->guide[thread].score->gradient;
}

static size_t lane_itself(const void *context, size_t lane)
{
    (void)context;
    return lane;
}

static struct score mean_of(const struct scores *s)
{
    double sum = 0.0, rows = 0.0, squares = 0.0;
    for (size_t i = 0; i < s->tracks; i++) {
        sum += s->visit[i].loglik;
        rows += s->visit[i].rows;
    }
    for (size_t i = 0; i < s->tracks; i++) {
        const struct visit *v = &s->visit[i];
        squares += pow(v->loglik - v->rows * sum / rows, 2.0);
    }
    double n = (double)s->tracks;
    return (struct score){
        .mean = sum / rows,
        .error = n > 1.0 ? sqrt(squares * n / (n - 1.0)) / rows : NAN,
        .gaps = (size_t)rows};
}

/* A gradient goes without a few series that fail: they count as empty. */
static bool is_spared(const struct scores *s)
{
    size_t failed = 0;
    for (size_t i = 0; i < s->tracks; i++) {
        int status = (int)s->visit[i].status;
        if (status && status != GSV_NUMERICAL) return false;
        failed += status != 0;
    }
    return s->gradient && 4 * failed <= s->tracks;
}

/* The first failure, with its message in this thread. */
static int settle(struct scores *s)
{
    if (is_spared(s)) return 0;
    for (size_t i = 0; i < s->tracks; i++) {
        int status = (int)s->visit[i].status;
        if (!status) continue;
        if (status == GSV_NUMERICAL) status = visit(s, i, &s->guided->guide[0]);
        if (status == GSV_NO_MEMORY)
            fail(GSV_NO_MEMORY, "out of memory for the particles of a track");
        if (status) return status;
    }
    return 0;
}

/* Every thread has its memory before lanes are merged. */
static int make_scores(struct guided *a)
{
    for (size_t i = 0; i < a->threads; i++) {
        struct guide *g = &a->guide[i];
        if (!g->score) g->score = score_new(a, &g->swarm);
        if (!g->score)
            return fail(GSV_NO_MEMORY, "out of memory for the gradient");
        memset(g->score->gradient, 0,
               a->model->spec->parameters * sizeof(double));
    }
    return 0;
}

/* The paths of all ranks are those of the next run. */
static void keep_paths(struct scores *s)
{
    struct guided *a = s->guided;
    for (size_t i = 0; i < s->tracks; i++) {
        size_t track = track_of(s, i), first = a->stops.first[track];
        size_t n = a->stops.first[track + 1] - first;
        a->known[track] = s->visit[i].known > 0.0;
        if (a->known[track])
            memcpy(a->path + first * a->course.D, s->path + i * s->size,
                   n * a->course.D * sizeof *a->path);
    }
}

int guided_scores(struct guided *a, const struct request *q,
                  struct score *score)
{
    size_t n = q->gradient ? a->model->spec->parameters : 0;
    struct scores s = {.guided = a,
                       .iteration = q->iteration,
                       .gradient = q->gradient != NULL,
                       .tracks = q->group ? q->n : a->walked,
                       .track = q->group,
                       .size = stops_longest(&a->stops) * a->course.D};
    int status = n ? make_scores(a) : 0;
    gsv_ranks *ranks = a->options.ranks;
    double *sum = NEW(double, n *spread_slots(s.tracks, ranks));
    mem_free(a->visit);
    s.visit = a->visit = NEW(struct visit, s.tracks);
    s.path = NEW(double, n ? s.tracks *s.size : 0);
    if (!status && (!s.visit || !sum || !s.path)) status = GSV_NO_MEMORY;
    const struct spread_share share[] = {
        {s.visit, sizeof *s.visit, lane_itself},
        {s.path, s.size * sizeof *s.path, lane_itself}};
    if (!status)
        status = spread_run(
            &(struct spread){.ranks = ranks,
                             .lanes = s.tracks,
                             .threads = s.tracks > 1 ? a->threads : 1,
                             .context = &s,
                             .work = work,
                             .n = n,
                             .part = part,
                             .sum = sum,
                             .shares = n ? 2 : 1,
                             .share = share});
    if (!status && n) keep_paths(&s);
    if (!status) status = settle(&s);
    if (!status && n) memcpy(q->gradient, sum, n * sizeof *sum);
    if (!status) *score = mean_of(&s);
    MEM_FREE(sum, s.path);
    return status;
}

gsv_gap guided_visited(const struct guided *a, size_t i)
{
    const struct visit *v = &a->visit[i];
    return (gsv_gap){.loglik = v->loglik / v->rows, .error = sqrt(v->variance)};
}
