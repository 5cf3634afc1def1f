/* SPDX-License-Identifier: MIT */
/* The laws of other modes: the smoother runs again from other paths, along
 * which what was observed is as likely, and from those that these lead to. A
 * law is kept if it is not far less likely than the first one, and if at some
 * stop it is none of those that are there. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/halt.h"
#include "observe/observe.h"

/* By so many nats a path may explain a track worse than the first one. A track
 * of many stops may change from one path to another, so that the evidence of
 * whole paths says little: this is far more than a weight that matters. */
static const double MOST_WORSE = 25.0;

/* With one state: starts that are tried. The best chain through a mode may cost
 * so many nats more than the best of all; a mode that no law reaches in the end
 * matters if it costs less than that. Points of a law reach so many deviations,
 * and are close enough together if the law is not so many times as wide as the
 * mode. */
enum { MOST_TRIES = 24 };
static const double MOST_COST = 15.0, MATTERS = 3.0, REACH = 3.0, WIDEST = 4.0;

/* The share of the covariance between laws in one that covers all of them:
 * points are drawn from laws that are twice as wide. */
static const double BETWEEN = 0.25;

/* Deviations that a path may move while it changes from one law to another. */
static const double CROSSING = 5.0;

/* A path that explains a track better by so much is the first one instead. */
static const double BETTER = 3.0;

struct search {
    struct laws *l;
    const struct smooth_track *track;
    size_t first, count; /* of stops; the most others at any of them       */
    double evidence;     /* of the first law                               */
    double best, *best_path; /* of the best of the others                  */
    double *shift, *start;
    struct smooth_law trial, law;
};

static int make_other(struct laws *l, struct other_law *o)
{
    size_t n = l->stops->count, d = l->d;
    if (o->there) return 0;
    MEM_FREE(o->mean, o->cov);
    o->mean = NEW(double, n *d);
    o->cov = NEW(double, n *d *d);
    if (o->mean && o->cov) o->there = NEW(bool, n);
    return o->there ? 0 : GSV_NO_MEMORY;
}

void laws_clear_others(struct laws *l)
{
    for (size_t k = 0; k < LAWS_OTHERS && l->other[k].there; k++)
        memset(l->other[k].there, 0, l->stops->count * sizeof(bool));
    if (l->crowded)
        memset(l->crowded, 0, l->stops->gaps.series->tracks * sizeof(bool));
}

void laws_free_others(struct laws *l)
{
    for (size_t k = 0; k < LAWS_OTHERS; k++)
        MEM_FREE(l->other[k].mean, l->other[k].cov, l->other[k].there);
    mem_free(l->crowded);
}

size_t laws_count(const struct laws *l, size_t stop)
{
    size_t count = 1;
    for (size_t k = 0; k < LAWS_OTHERS && l->other[k].there; k++)
        count += l->other[k].there[stop];
    return count;
}

/* Whether a law is another one than one that is there, with means and
 * covariances of one stop: points of that do not reach it well. */
static bool differs(size_t d, const double *mean, const double *cov,
                    const double *new_mean, const double *new_cov)
{
    static const double WIDER = 2.0, NARROWER = 0.25;
    for (size_t i = 0; i < d; i++) {
        double old = sqrt(fmax(cov[i * (d + 1)], 0.0));
        double new = sqrt(fmax(new_cov[i * (d + 1)], 0.0));
        double far = fabs(new_mean[i] - mean[i]);
        double exact = 1e-9 * (1.0 + fabs(mean[i]));
        if (far > exact + fmin(old, new)) return true;
        if (old < exact && new < exact) continue;
        if (new > WIDER * old || new < NARROWER *old) return true;
    }
    return false;
}

/* The place among the others of a stop for the trial: LAWS_OTHERS + 1 where it
 * is one of the laws that are there, LAWS_OTHERS where there is no place. */
static size_t slot_of(const struct search *a, size_t n)
{
    const struct laws *l = a->l;
    size_t d = l->d, dd = d * d, stop = a->first + n, k = 0;
    const double *mean = a->trial.mean + n * d, *cov = a->trial.cov + n * dd;
    if (!differs(d, l->mean + stop * d, l->cov + stop * dd, mean, cov))
        return LAWS_OTHERS + 1;
    for (; k < LAWS_OTHERS; k++) {
        const struct other_law *o = &l->other[k];
        if (!o->there || !o->there[stop]) break;
        if (!differs(d, o->mean + stop * d, o->cov + stop * dd, mean, cov))
            return LAWS_OTHERS + 1;
    }
    return k;
}

/* Keeps the trial at stop n, if it is new there. */
static int keep_stop(struct search *a, size_t n)
{
    struct laws *l = a->l;
    size_t d = l->d, dd = d * d, stop = a->first + n, k = slot_of(a, n);
    if (k == LAWS_OTHERS) l->crowded[l->stops->stop[stop].track] = true;
    if (k >= LAWS_OTHERS) return 0;
    int status = make_other(l, &l->other[k]);
    if (status) return status;
    l->other[k].there[stop] = true;
    memcpy(l->other[k].mean + stop * d, a->trial.mean + n * d,
           d * sizeof(double));
    memcpy(l->other[k].cov + stop * dd, a->trial.cov + n * dd,
           dd * sizeof(double));
    if (k >= a->count) a->count = k + 1;
    return 0;
}

/* Keeps the trial, of this evidence, wherever it is new. */
static int keep(struct search *a, double evidence)
{
    size_t N = a->track->stops;
    int status = 0;
    for (size_t n = 0; !status && n < N; n++)
        status = keep_stop(a, n);
    if (evidence <= a->best) return status;
    a->best = evidence;
    memcpy(a->best_path, a->trial.mean, N * a->l->d * sizeof(double));
    return status;
}

/* The law that a start, in trial, leads to. inside: means of a law. */
static int try_start(struct search *a, const double *inside)
{
    struct smoother *s = &a->l->smoother;
    if (halt_asked()) return halt_status();
    if (!smoother_run_from(s, a->track, inside, &a->trial)) return 0;
    double evidence = smoother_evidence(s, a->track);
    bool likely = a->l->d == 1 || evidence > a->evidence - MOST_WORSE;
    return likely ? keep(a, evidence) : 0;
}

/* From a law, along all lines. */
static int search_from(struct search *a, const struct smooth_law *law)
{
    struct smoother *s = &a->l->smoother;
    size_t size = a->track->stops * a->l->d;
    int status = 0;
    for (size_t line = 0; !status && line < smoother_lines(s); line++) {
        unsigned found =
            smoother_look(s, a->track, law, line, a->shift, a->start);
        for (size_t i = 0; !status && i < SMOOTH_STARTS; i++) {
            if (!(found >> i & 1u)) continue;
            memcpy(a->trial.mean, a->start + i * size, size * sizeof(double));
            status = try_start(a, law->mean);
        }
    }
    return status;
}

/* From the first law, and from each of the others where it is there. */
static int search_lines(struct search *a)
{
    struct laws *l = a->l;
    size_t d = l->d, dd = d * d, N = a->track->stops;
    const double *mean = l->mean + a->first * d, *cov = l->cov + a->first * dd;
    int status = 0;
    for (size_t from = 0; !status && from <= a->count; from++) {
        memcpy(a->law.mean, mean, N * d * sizeof *mean);
        memcpy(a->law.cov, cov, N * dd * sizeof *cov);
        for (size_t n = 0; from && n < N; n++) {
            const struct other_law *o = &l->other[from - 1];
            if (!o->there[a->first + n]) continue;
            memcpy(a->law.mean + n * d, o->mean + (a->first + n) * d,
                   d * sizeof *mean);
            memcpy(a->law.cov + n * dd, o->cov + (a->first + n) * dd,
                   dd * sizeof *cov);
        }
        status = search_from(a, &a->law);
    }
    return status;
}

/* --- One state ------------------------------------------------------------ */

/* Whether points of a law reach a mode, its top or, loosely, what is around it,
 * and lie close enough together there. */
static bool reaches(double mean, double variance, const struct mode *m,
                    bool loosely)
{
    double around = loosely ? 2.0 * sqrt(m->width) : 0.0;
    return fabs(m->place - mean) < REACH * sqrt(variance) + around &&
           variance < WIDEST * WIDEST * m->width;
}

static bool is_reached(const struct search *a, size_t n, const struct mode *m,
                       bool loosely)
{
    const struct laws *l = a->l;
    size_t stop = a->first + n;
    if (reaches(l->mean[stop], l->cov[stop], m, loosely)) return true;
    for (size_t k = 0; k < a->count; k++) {
        const struct other_law *o = &l->other[k];
        if (o->there[stop] && reaches(o->mean[stop], o->cov[stop], m, loosely))
            return true;
    }
    return false;
}

/* Marks the modes that no law reaches whose chains cost at most so much more
 * than the best; but those that were tried, unless loosely. Their number. */
static size_t mark_modes(const struct search *a, struct mode *all, double most,
                         bool loosely)
{
    size_t modes = a->track->stops * SMOOTH_MODES, count = 0;
    double least = INFINITY;
    for (size_t i = 0; i < modes; i++)
        if (all[i].used) least = fmin(least, all[i].before + all[i].after);
    for (size_t i = 0; i < modes; i++) {
        struct mode *m = &all[i];
        m->wanted = m->used && m->before + m->after < least + most &&
                    (loosely || !m->tried) &&
                    !is_reached(a, i / SMOOTH_MODES, m, loosely);
        count += m->wanted;
    }
    return count;
}

/* Along the best chain of modes, and along others that leave it, until laws
 * reach all that matter. */
static int search_chains(struct search *a)
{
    struct laws *l = a->l;
    size_t N = a->track->stops;
    struct smooth_law law = {.mean = l->mean + a->first,
                             .cov = l->cov + a->first};
    struct mode *all = NEW(struct mode, N * SMOOTH_MODES);
    int status = all ? 0 : GSV_NO_MEMORY;
    if (!status && smoother_modes(&l->smoother, a->track, &law, all)) {
        bool more = true;
        for (int i = 0; !status && more && i < MOST_TRIES; i++) {
            more = smoother_chain(a->track, &law, all, a->trial.mean) || !i;
            if (more) status = try_start(a, law.mean);
            if (more && !mark_modes(a, all, MOST_COST, false)) break;
        }
        if (!status && mark_modes(a, all, MATTERS, true))
            l->crowded[l->stops->stop[a->first].track] = true;
    }
    mem_free(all);
    return status;
}

/* -------------------------------------------------------------------------- */

/* The mean of all laws of a stop, or all around a mean their covariance, as
 * sums over them times share. */
static void add_moments(const struct laws *l, size_t stop, double share,
                        const double *around, double *mean, double *cov)
{
    size_t d = l->d, dd = d * d;
    for (size_t k = 0; k <= LAWS_OTHERS; k++) {
        const struct other_law *o = k ? &l->other[k - 1] : NULL;
        if (o && (!o->there || !o->there[stop])) break;
        const double *m = (o ? o->mean : l->mean) + stop * d;
        const double *P = (o ? o->cov : l->cov) + stop * dd;
        for (size_t i = 0; !around && i < d; i++)
            mean[i] += share * m[i];
        for (size_t e = 0; around && e < dd; e++)
            cov[e] += share * (P[e] + BETWEEN * (m[e / d] - around[e / d]) *
                                          (m[e % d] - around[e % d]));
    }
}

/* The time between the rows before and after a stop. */
static double gap_around(const struct stops *s, size_t stop)
{
    size_t before = stop, after = stop;
    while (!stop_is_first(s, before)) {
        before--;
        if (s->stop[before].row != NO_ROW) break;
    }
    while (!stop_is_last(s, after)) {
        after++;
        if (s->stop[after].row != NO_ROW) break;
    }
    return s->stop[after].time - s->stop[before].time;
}

/* Whether paths may change from one law of a stop to the next one there: y is a
 * Brownian motion, but for its drift. */
static bool may_change(const struct laws *l, size_t stop, size_t count)
{
    size_t d = l->d;
    double reach = CROSSING * sqrt(gap_around(l->stops, stop));
    for (size_t k = 1; k < count; k++)
        for (size_t j = 0; j < k; j++) {
            const double *a = l->other[k - 1].mean + stop * d;
            const double *b = (j ? l->other[j - 1].mean : l->mean) + stop * d;
            double square = 0.0;
            for (size_t i = 0; i < d; i++)
                square += (a[i] - b[i]) * (a[i] - b[i]);
            if (square < reach * reach) return true;
        }
    return false;
}

/* Where paths may change from one mode to another, one more law covers what is
 * between them. Elsewhere its points would only make the others fewer. */
static int cover(struct search *a)
{
    struct laws *l = a->l;
    size_t d = l->d, dd = d * d, end = a->first + a->track->stops;
    int status = 0;
    for (size_t n = a->first; !status && n < end; n++) {
        size_t count = laws_count(l, n);
        if (count < 2 || count > LAWS_OTHERS || !may_change(l, n, count))
            continue;
        struct other_law *o = &l->other[count - 1];
        status = make_other(l, o);
        if (status) return status;
        double *mean = o->mean + n * d, *cov = o->cov + n * dd;
        memset(mean, 0, d * sizeof *mean);
        memset(cov, 0, dd * sizeof *cov);
        add_moments(l, n, 1.0 / (double)count, NULL, mean, NULL);
        add_moments(l, n, 1.0 / (double)count, mean, NULL, cov);
        o->there[n] = true;
    }
    return status;
}

static int search(struct search *a)
{
    return a->l->d == 1 ? search_chains(a) : search_lines(a);
}

/* The best of the others becomes the first law, if it is that much better, and
 * they are forgotten. */
static bool change_first(struct search *a, const struct smooth_law *law)
{
    struct laws *l = a->l;
    size_t N = a->track->stops, d = l->d;
    if (a->best < a->evidence + BETTER) return false;
    memcpy(a->trial.mean, law->mean, N * d * sizeof *law->mean);
    memcpy(law->mean, a->best_path, N * d * sizeof *law->mean);
    if (!smoother_run_from(&l->smoother, a->track, a->trial.mean, law))
        return false;
    for (size_t k = 0; k < a->count; k++)
        memset(l->other[k].there + a->first, 0, N * sizeof(bool));
    l->crowded[l->stops->stop[a->first].track] = false;
    a->count = 0;
    a->best = -INFINITY;
    a->evidence = smoother_evidence(&l->smoother, a->track);
    return true;
}

int laws_find_others(struct laws *l, const struct smooth_track *track,
                     size_t first, const struct smooth_law *law)
{
    enum { CHANGES = 4 };
    size_t d = l->d, N = track->stops;
    if (!smoother_lines(&l->smoother)) return 0;
    if (!l->crowded) l->crowded = NEW(bool, l->stops->gaps.series->tracks);
    struct arena arena = {0};
    struct search a = {
        .l = l, .track = track, .first = first, .best = -INFINITY};
    const struct arena_part part[] = {
        {&a.shift, 2 * N},         {&a.start, SMOOTH_STARTS * N * d},
        {&a.best_path, N * d},     {&a.trial.mean, N * d},
        {&a.trial.cov, N * d * d}, {&a.law.mean, N * d},
        {&a.law.cov, N * d * d}};
    int status =
        l->crowded && !arena_lay(&arena, sizeof part / sizeof *part, part)
            ? 0
            : GSV_NO_MEMORY;
    if (!status) a.evidence = smoother_evidence(&l->smoother, track);
    if (!status) status = search(&a);
    for (int i = 0; !status && i < CHANGES && change_first(&a, law); i++)
        status = search(&a);
    if (!status) status = cover(&a);
    arena_free(&arena);
    return status;
}

void laws_flag(const struct laws *l, bool crowded_only, gsv_result *r)
{
    for (size_t n = 0, row = 0; n < l->stops->count; n++) {
        const struct stop *stop = &l->stops->stop[n];
        if (stop->row == NO_ROW) continue;
        gsv_gap *g = &r->gap[row++];
        bool crowded = l->crowded && l->crowded[stop->track];
        if (laws_count(l, n) < 2 || (crowded_only && !crowded)) continue;
        r->flagged += g->flags == 0;
        g->flags |= GSV_FLAG_MODES;
    }
}
