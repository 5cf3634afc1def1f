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
    double *mean;     /* (nodes, D)     */
    double *gradient; /* (parameters)   */
};

static struct guide_score *score_new(const struct guided *a,
                                     const struct swarm *s)
{
    struct guide_score *g = NEW(struct guide_score, 1);
    size_t nodes = stops_longest(&a->stops);
    if (!g) return NULL;
    g->x = NEW(double, nodes *s->D *SCORED_PATHS);
    g->mean = NEW(double, nodes *s->D);
    g->gradient = NEW(double, a->model->spec->parameters);
    if (g->x && g->mean && g->gradient &&
        !scorer_init(&g->scorer, &a->course) &&
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
    MEM_FREE(g->x, g->mean, g->gradient);
    mem_free(g);
}

bool guided_is_scored(const gsv_model *m)
{
    const struct spec *s = m->spec;
    return s->nets || s->gps || s->parameters > GUIDED_DIFFERENCES;
}

const char *guided_lacks_scores(const gsv_model *m)
{
    const struct spec *s = m->spec;
    return s->integrals              ? "integrals in an obs"
           : s->events               ? "events"
           : spec_latent(s) < s->dim ? "states in the data"
           : gsv_model_singular(m)   ? "equations without noise of their own"
                                     : NULL;
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
        double loglik, variance, rows, status;
    } *visit; /* (tracks) */
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
        status = ahead_along(&g->ahead, &g->mover[0], &g->pace,
                             a->path + first * a->course.D);
    if (!status) status = swarm_run(&g->swarm, &g->pace, &g->ahead, o);
    if (status != GSV_NUMERICAL) return status;
    status = ahead_make(&g->ahead, &g->mover[0], &g->pace, false, NULL);
    return status ? status : swarm_run(&g->swarm, &g->pace, &g->ahead, o);
}

/* After a walk: the gradient, and the path for the next one. */
static void add_score(struct guided *a, struct guide *g, size_t track)
{
    struct guide_score *score = g->score;
    size_t D = a->course.D, S = SCORED_PATHS;
    a->known[track] =
        trail_draw(&score->trail, &g->swarm, S, score->x, score->mean);
    if (!a->known[track]) return;
    scorer_add(&score->scorer, &g->mover[0], &g->pace, S, score->x,
               score->gradient);
    memcpy(a->path + a->stops.first[track] * D, score->mean,
           g->pace.nodes * D * sizeof *a->path);
}

static int visit(const struct scores *s, size_t lane, struct guide *g)
{
    struct guided *a = s->guided;
    size_t track = track_of(s, lane);
    struct visit *v = &s->visit[lane];
    struct swarm_observer o = {0};
    if (s->gradient) {
        if (!g->score) g->score = score_new(a, &g->swarm);
        if (!g->score) return GSV_NO_MEMORY;
        o = trail_observer(&g->score->trail);
    }
    course_prepare(&a->course, a->model->value, &g->values);
    g->swarm.iteration = s->iteration;
    g->swarm.share = 0.5;
    pace_set(&g->pace, track, &g->values, &g->mover[0].room);
    int status = walk(a, g, track, s->gradient ? &o : NULL);
    if (status) return status;
    v->loglik = g->swarm.log_z;
    v->rows = v->variance = 0.0;
    for (size_t k = 0; k < g->pace.nodes; k++) {
        v->rows += pace_is_row(&g->pace, k);
        v->variance += g->swarm.error[k] * g->swarm.error[k];
    }
    if (s->gradient) add_score(a, g, track);
    return 0;
}

static void work(void *context, size_t lane, size_t thread)
{
    const struct scores *s = context;
    s->visit[lane].status =
        (double)visit(s, lane, &s->guided->guide[thread]);
}

/* --- All of them ---------------------------------------------------------- */

static double *part(void *context, size_t thread)
{
    const struct scores *s = context;
    struct guide *g = &s->guided->guide[thread];
    if (!g->score) g->score = score_new(s->guided, &g->swarm);
    return g->score ? g->score->gradient : NULL;
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
    }
    return 0;
}

int guided_scores(struct guided *a, const struct request *q,
                  struct score *score)
{
    size_t n = q->gradient ? a->model->spec->parameters : 0;
    struct scores s = {.guided = a,
                       .iteration = q->iteration,
                       .gradient = q->gradient != NULL,
                       .tracks = q->group ? q->n : a->walked,
                       .track = q->group};
    int status = n ? make_scores(a) : 0;
    gsv_ranks *ranks = a->options.ranks;
    double *sum = NEW(double, n *spread_slots(s.tracks, ranks));
    mem_free(a->visit);
    s.visit = a->visit = NEW(struct visit, s.tracks);
    if (!status && (!s.visit || !sum)) status = GSV_NO_MEMORY;
    const struct spread_share share = {s.visit, sizeof *s.visit, lane_itself};
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
                             .shares = 1,
                             .share = &share});
    if (!status) status = settle(&s);
    if (!status && n) memcpy(q->gradient, sum, n * sizeof *sum);
    if (!status) *score = mean_of(&s);
    mem_free(sum);
    return status;
}

gsv_gap guided_visited(const struct guided *a, size_t i)
{
    const struct visit *v = &a->visit[i];
    return (gsv_gap){.loglik = v->loglik / v->rows, .error = sqrt(v->variance)};
}
