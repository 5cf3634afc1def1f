/* SPDX-License-Identifier: MIT */
#include "panel/panel.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/halt.h"
#include "base/lanes.h"
#include "base/memory.h"
#include "bridge/gap_method.h"
#include "guided/guided.h"
#include "kalman/kalman.h"
#include "model/model.h"
#include "observe/joint.h"
#include "observe/scan.h"
#include "panel/worker.h"
#include "strip/strip.h"

/* Tracks are shared by so many lanes at most. */
enum { PANEL_LANES = 256 };

/* A series whose value moves by more than this, in nats, with more nodes. */
static const double MOVED = 0.25;

/* --- Setting up ----------------------------------------------------------- */

static size_t sums_of(const struct panel *p)
{
    return p->values + p->n * (p->n + 1);
}

int panel_init(struct panel *p, const struct method *inner,
               const struct task *t)
{
    size_t n = t->model->spec->effect_size;
    *p = (struct panel){.inner = inner,
                        .task = *t,
                        .options = *t->options,
                        .n = n,
                        .tracks = t->series->tracks,
                        .values = t->model->spec->parameters,
                        .width = TRACK_FIELDS + 2 * n * (n + 1)};
    p->task.options = &p->options;
    p->options.sample = 0;
    if (!p->options.nodes) p->options.nodes = USUAL_NODES;
    p->lanes = p->tracks < PANEL_LANES ? p->tracks : PANEL_LANES;
    p->threads = lanes_threads(p->options.threads);
    size_t slots = spread_slots(p->lanes, p->options.ranks);
    p->worker = NEW(struct worker, p->threads);
    p->track = NEW(double, p->tracks * p->width);
    p->held = NEW(double, p->values);
    p->sum = NEW(double, p->options.gradient ? slots *sums_of(p) : 0);
    int status = GSV_NO_MEMORY;
    if (p->worker && p->track && p->held && p->sum)
        status = effect_law_init(&p->law, t->model);
    if (!status) status = effect_law_init(&p->nodes, t->model);
    for (size_t i = 0; !status && i < p->threads; i++)
        status = worker_init(&p->worker[i], p);
    return status;
}

void panel_free(struct panel *p)
{
    for (size_t i = 0; p->worker && i < p->threads; i++)
        worker_free(&p->worker[i]);
    effect_law_free(&p->law);
    effect_law_free(&p->nodes);
    MEM_FREE(p->worker, p->track, p->held, p->sum);
    *p = (struct panel){0};
}

/* --- A run ---------------------------------------------------------------- */

static size_t first_track(const void *context, size_t lane)
{
    const struct panel *p = context;
    return lanes_first(lane, p->lanes, p->tracks);
}

static bool is_empty(const struct panel *p, size_t track)
{
    const size_t *start = p->task.series->start;
    return start[track] == start[track + 1];
}

static void work(void *context, size_t lane, size_t thread)
{
    struct panel *p = context;
    size_t end = first_track(p, lane + 1);
    for (size_t i = first_track(p, lane); i < end && !halt_asked(); i++) {
        int status = worker_track(p, &p->worker[thread], i);
        p->track[i * p->width + TRACK_STATUS] = (double)status;
    }
}

static double *part(void *context, size_t thread)
{
    const struct panel *p = context;
    return p->worker[thread].part;
}

/* The first track that failed, once more for a message in this thread. */
static int check_tracks(struct panel *p)
{
    for (size_t i = 0; i < p->tracks; i++) {
        int status = (int)p->track[i * p->width + TRACK_STATUS];
        if (!status) continue;
        if (status == GSV_NO_MEMORY)
            return fail(GSV_NO_MEMORY, "out of memory for the series '%s'",
                        p->task.series->label[i]);
        int again = worker_track(p, &p->worker[0], i);
        if (again == status && status != GSV_NUMERICAL) return status;
        return fail(GSV_NUMERICAL,
                    "the log-likelihood of series '%s' is not finite at its "
                    "random effects: check the model's formulas, its "
                    "parameters and the data",
                    p->task.series->label[i]);
    }
    return 0;
}

/* The sums of all tracks to the gradient, which is set. */
static void finish_gradient(struct panel *p)
{
    const struct spec *s = p->task.model->spec;
    const double *mean_bar = p->sum + p->values;
    const double none[EFFECTS_MOST] = {0};
    memcpy(p->gradient, p->sum, p->values * sizeof *p->gradient);
    effects_put(s, none, p->gradient);
    effect_law_vjp(&p->law, mean_bar, mean_bar + p->n, p->gradient);
}

/* Nodes that were made for the same values can be used again. */
static int prepare(struct panel *p, const struct request *q)
{
    const double *now = p->task.model->value, *held = q->reference_values;
    size_t bytes = p->values * sizeof *now;
    int status = effect_law_set(&p->law, now);
    if (!status) status = effect_law_set(&p->nodes, held ? held : now);
    p->is_held = p->is_held && held && !memcmp(p->held, held, bytes);
    for (size_t i = 0; i < p->threads; i++)
        memset(p->worker[i].part, 0, sums_of(p) * sizeof *p->sum);
    return status;
}

int panel_run(struct panel *p, const struct request *q, bool fill)
{
    const struct spread_share share = {p->track, p->width * sizeof *p->track,
                                       first_track};
    const struct spread s = {.ranks = p->options.ranks,
                             .lanes = p->lanes,
                             .threads = p->threads,
                             .context = p,
                             .work = work,
                             .n = q->gradient ? sums_of(p) : 0,
                             .part = part,
                             .sum = p->sum,
                             .shares = 1,
                             .share = &share};
    p->request = q;
    p->filling = fill;
    p->gradient = q->gradient;
    int status = prepare(p, q);
    if (!status) status = spread_run(&s);
    if (status) return status;
    status = check_tracks(p);
    p->is_held = !status && q->reference_values;
    if (p->is_held)
        memcpy(p->held, q->reference_values, p->values * sizeof *p->held);
    if (!status && q->gradient) finish_gradient(p);
    return status;
}

/* --- Its results ---------------------------------------------------------- */

const double *panel_center(const struct panel *p, size_t track)
{
    return p->track + track * p->width + TRACK_FIELDS;
}

const double *panel_root(const struct panel *p, size_t track)
{
    return panel_center(p, track) + p->n;
}

const double *panel_mean(const struct panel *p, size_t track)
{
    return panel_root(p, track) + p->n * p->n;
}

const double *panel_covariance(const struct panel *p, size_t track)
{
    return panel_mean(p, track) + p->n;
}

static double field_sum(const struct panel *p, enum track_field f)
{
    double sum = 0.0;
    for (size_t i = 0; i < p->tracks; i++)
        sum += p->track[i * p->width + f];
    return sum;
}

static double field_most(const struct panel *p, enum track_field f, double sign)
{
    double most = NAN;
    for (size_t i = 0; i < p->tracks; i++)
        if (!is_empty(p, i))
            most = fmax(most, sign * p->track[i * p->width + f]);
    return sign * most;
}

/* Tracks are independent: their spread gives the error. */
static struct score score_of(const struct panel *p)
{
    double n = (double)p->tracks, gaps = field_sum(p, TRACK_GAPS);
    double sum = field_sum(p, TRACK_VALUE), squares = 0.0;
    for (size_t i = 0; i < p->tracks; i++) {
        double off = p->track[i * p->width + TRACK_VALUE] - sum / n;
        squares += off * off;
    }
    return (struct score){
        .mean = sum / gaps,
        .error = n > 1.0 ? sqrt(squares * n / (n - 1.0)) / gaps : NAN,
        .gaps = (size_t)gaps};
}

static gsv_gap gap_of(const struct panel *p, size_t i)
{
    const double *t = p->track + i * p->width;
    const size_t *start = p->task.series->start;
    gsv_gap g = {.track = i,
                 .from = start[i],
                 .to = is_empty(p, i) ? start[i] : start[i + 1] - 1,
                 .loglik = t[TRACK_VALUE],
                 .error = sqrt(t[TRACK_VARIANCE]),
                 .ess = t[TRACK_ESS],
                 .khat = t[TRACK_KHAT],
                 .log_bias = t[TRACK_BIAS],
                 .discretisation = t[TRACK_DISCRETISATION],
                 .reference = (enum gsv_reference)t[TRACK_REFERENCE],
                 .form = (enum gsv_form)t[TRACK_FORM],
                 .flags = (unsigned)t[TRACK_FLAGS]};
    if (!(fabs(t[TRACK_VALUE] - t[TRACK_FEWER]) <= MOVED))
        g.flags |= GSV_FLAG_NODES;
    return g;
}

static int list_tracks(const struct panel *p, gsv_result *r)
{
    r->gap = NEW(gsv_gap, p->tracks);
    if (!r->gap) return GSV_NO_MEMORY;
    for (size_t i = 0; i < p->tracks; i++)
        r->gap[r->groups++] = gap_of(p, i);
    return 0;
}

static void sum_up(const struct panel *p, gsv_result *r)
{
    r->loglik = field_sum(p, TRACK_VALUE);
    r->error = sqrt(field_sum(p, TRACK_VARIANCE));
    r->discretisation = field_sum(p, TRACK_DISCRETISATION);
    r->log_bias = field_sum(p, TRACK_BIAS);
    r->ess_min = field_most(p, TRACK_ESS, -1.0);
    r->khat_max = field_most(p, TRACK_KHAT, 1.0);
    r->observe = (enum gsv_observe)field_most(p, TRACK_OBSERVE, 1.0);
    r->gaps = (size_t)field_sum(p, TRACK_GAPS);
    r->paths = (size_t)field_most(p, TRACK_PATHS, 1.0);
    r->steps = (size_t)field_most(p, TRACK_STEPS, 1.0);
    r->drift_evaluations = (uint64_t)field_sum(p, TRACK_EVALUATIONS);
    r->nodes = p->worker[0].rule.count;
    /* There are no fewer nodes than one. */
    r->quadrature = r->nodes > 1 ? r->loglik - field_sum(p, TRACK_FEWER) : NAN;
    for (size_t i = 0; i < p->tracks; i++)
        r->flagged += gap_of(p, i).flags != 0;
}

/* --- The method ----------------------------------------------------------- */

static int accept(const struct method *row, const struct task *t)
{
    (void)row;
    return refuse_effects_of_gps(t->model);
}

static int method_init(const struct method *row, void *machine,
                       const struct task *t)
{
    return panel_init(machine, row->inner, t);
}

static void method_free(void *machine)
{
    panel_free(machine);
}

static int method_run(void *machine, const struct request *q,
                      struct score *score)
{
    int status = panel_run(machine, q, false);
    if (!status) *score = score_of(machine);
    return status;
}

static int method_fill(void *machine, const struct request *q, bool list,
                       gsv_result *r)
{
    struct panel *p = machine;
    struct request own = *q;
    own.gradient = r->gradient;
    int status = panel_run(p, &own, true);
    if (status) return status;
    sum_up(p, r);
    return list && !gsv_ranks_rank(p->options.ranks) ? list_tracks(p, r) : 0;
}

static void track_logs(const void *machine, double *log)
{
    const struct panel *p = machine;
    for (size_t i = 0; i < p->tracks; i++)
        log[i] = p->track[i * p->width + TRACK_VALUE];
}

static bool is_rough(const void *machine)
{
    return field_most(machine, TRACK_ROUGH, 1.0) > 0.0;
}

#define PANEL(OF)                                                              \
    .name = "panel", .inner = &(OF), .shares = true, .holds = true,            \
    .jumps = true, .first_laws = true, .size = sizeof(struct panel),           \
    .accept = accept, .init = method_init, .free = method_free,                \
    .run = method_run, .fill = method_fill, .track_logs = track_logs

static const struct method ROWS[] = {
    {PANEL(METHOD_BRIDGES)},
    {PANEL(METHOD_MODIFIED)},
    {PANEL(METHOD_BOUND)},
    {PANEL(METHOD_EXACT)},
    {PANEL(METHOD_SCAN), .fewest = SCAN_STEPS, .change = SCAN_CHANGE},
    {PANEL(METHOD_STRIP), .fewest = 1, .change = STRIP_CHANGE},
    {PANEL(METHOD_CONJUGATE)},
    {PANEL(METHOD_VARIATIONAL)},
    {PANEL(METHOD_KALMAN)},
    {PANEL(METHOD_GUIDED), .fewest = GUIDED_STEPS, .change = GUIDED_CHANGE,
     .pilots = GUIDED_PILOTS, .rough = is_rough},
};

enum { ROW_COUNT = sizeof ROWS / sizeof *ROWS };

const struct method *panel_of(const struct method *inner)
{
    for (size_t i = 0; i < ROW_COUNT; i++)
        if (ROWS[i].inner == inner) return &ROWS[i];
    return NULL;
}

const struct method *panel_inner(const struct method *row)
{
    for (size_t i = 0; i < ROW_COUNT; i++)
        if (&ROWS[i] == row) return row->inner;
    return NULL;
}
