/* SPDX-License-Identifier: MIT */
#include "strip/strip.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/halt.h"
#include "base/lanes.h"
#include "guided/difference.h"
#include "guided/guided.h"

/* Steps of a gap, and of points, for 32 of them, the distance in deviations of
 * the shortest gap. */
enum { USUAL_STEPS = 2, MOST_STEPS = 1024, USUAL_POINTS = 32 };
static const double SPACING = 1.0;

/* What measures the error: the lattice is so many times as coarse, and the
 * variance V of what the exact state moves by has another law (law.c). */
static const double COARSER = 1.25;

/* Below this share of the largest one, densities at the ends are left out. */
static const double LEAST = 1e-13;

/* What a thread needs to walk through a track. */
struct walker {
    struct strip_table table;
    struct strip_apart apart;
    struct strip_kernels kernels;
    double *here, *next;   /* (points / 2) the law of w                      */
    double *pull;          /* (points / 2) half of what u moves by otherwise */
    double *u, *log_slope; /* (longest track) of the exact state           */
    size_t low, high;      /* where the law is                             */
    size_t most;           /* points of it, in this track                  */
    double ess;            /* those that carry it                          */
    struct arena arena;
};

struct strip {
    ROWS_FIRST;
    struct strip_course course;
    struct walker *walker; /* (threads) */
    size_t threads, steps;
    struct strip_apart apart;
    double *shift; /* (stops) the increments of a coarser lattice            */
    double *ess;   /* (stops) effective points                               */
    double *left;  /* (tracks) what the lattice may miss                     */
    double *most;  /* (tracks) most points of the law                        */
    struct arena arena;
};

/* --- Setting up ----------------------------------------------------------- */

static int walker_init(struct walker *w, const struct strip *a)
{
    size_t n = stops_longest(&a->stops), N = STRIP_POINTS / 2;
    int status = strip_table_init(&w->table, &a->course);
    if (!status) status = strip_kernels_init(&w->kernels);
    const struct arena_part part[] = {{&w->here, N},
                                      {&w->next, N},
                                      {&w->pull, N},
                                      {&w->u, n},
                                      {&w->log_slope, n}};
    return status ? status
                  : arena_lay(&w->arena, sizeof part / sizeof *part, part);
}

static void walker_free(struct walker *w)
{
    strip_table_free(&w->table);
    strip_kernels_free(&w->kernels);
    arena_free(&w->arena);
}

/* The exact state is needed in every row. */
static int check_exact(const struct strip *a)
{
    const struct stops *s = &a->stops;
    for (size_t n = 0; n < s->count; n++)
        if (isnan(gaps_state(&s->gaps, a->model->lone.exact, s->stop[n].row)))
            return fail(GSV_BAD_INPUT,
                        "column %s is empty in series '%s' at time %g: the "
                        "scan of %s needs it in every row; use --observe "
                        "guided",
                        a->model->spec->column[a->model->lone.exact],
                        s->gaps.series->label[s->stop[n].track],
                        s->stop[n].time,
                        a->model->spec->column[a->model->lone.latent]);
    return 0;
}

static size_t steps_of(const struct strip *a)
{
    const gsv_options *o = &a->options;
    double wanted = o->steps ? (double)o->steps : USUAL_STEPS;
    if (!o->steps && o->step > 0.0) wanted = ceil(a->stops.longest / o->step);
    return wanted < MOST_STEPS ? power_of_two((size_t)wanted) : MOST_STEPS;
}

static double shortest(const struct stops *s)
{
    double least = INFINITY;
    for (size_t n = 1; n < s->count; n++)
        if (!stop_is_first(s, n))
            least = fmin(least, s->stop[n].time - s->stop[n - 1].time);
    return least;
}

static int strip_init(struct strip *a, const gsv_model *m,
                      const gsv_series *series, const gsv_options *o)
{
    *a = (struct strip){.model = m, .options = *o};
    int status = strip_course_init(&a->course, m, o->wide);
    if (!status) status = stops_init(&a->stops, m, series);
    if (!status) status = check_exact(a);
    if (status) return status;
    double points = (double)(o->points ? o->points : USUAL_POINTS);
    a->steps = steps_of(a);
    double h = shortest(&a->stops);
    double gap = 0.5 * SPACING * USUAL_POINTS / points * sqrt(h);
    a->apart = (struct strip_apart){gap / sqrt((double)a->steps), gap, h};
    a->threads = lanes_threads(o->threads);
    a->walker = NEW(struct walker, a->threads);
    if (!a->walker) return GSV_NO_MEMORY;
    for (size_t i = 0; !status && i < a->threads; i++)
        status = walker_init(&a->walker[i], a);
    size_t n = a->stops.count, tracks = a->stops.gaps.series->tracks;
    const struct arena_part part[] = {{&a->increment, n},
                                      {&a->shift, n},
                                      {&a->ess, n},
                                      {&a->left, tracks},
                                      {&a->most, tracks}};
    return status ? status
                  : arena_lay(&a->arena, sizeof part / sizeof *part, part);
}

static void strip_free(struct strip *a)
{
    for (size_t i = 0; a->walker && i < a->threads; i++)
        walker_free(&a->walker[i]);
    mem_free(a->walker);
    strip_course_free(&a->course);
    stops_free(&a->stops);
    arena_free(&a->arena);
}

/* --- The exact state ------------------------------------------------------ */

static int read_exact(const struct strip *a, struct walker *w, size_t track)
{
    const struct stops *s = &a->stops;
    size_t first = s->first[track], n = s->first[track + 1] - first;
    for (size_t k = 0; k < n; k++) {
        double x =
            gaps_state(&s->gaps, a->model->lone.exact, s->stop[first + k].row);
        w->u[k] = strip_ask(&w->table, STRIP_ENTER, 0, 1, NULL, x)[0];
        w->log_slope[k] = program_output(a->course.part[STRIP_ENTER],
                                         &w->table.space[STRIP_ENTER], 1, 1)[0];
        if (!isfinite(w->u[k]) || !isfinite(w->log_slope[k]))
            return fail(GSV_BAD_INPUT,
                        "series '%s' at time %g: %s = %g is outside of the "
                        "domain of its noise",
                        s->gaps.series->label[track], s->stop[first + k].time,
                        a->model->spec->column[a->model->lone.exact], x);
    }
    return 0;
}

/* --- The law of w --------------------------------------------------------- */

/* Adds log densities at the lattice's points [low, high). */
static void add_density(struct walker *w, enum strip_part part, size_t output,
                        size_t low, size_t high, double *to)
{
    struct strip_table *t = &w->table;
    size_t first = t->origin % t->stride;
    double at[STRIP_BLOCK];
    for (size_t from = low; from < high; from += STRIP_BLOCK) {
        size_t P = high - from < STRIP_BLOCK ? high - from : STRIP_BLOCK;
        for (size_t p = 0; p < P; p++)
            at[p] = strip_w(t, first + t->stride * (from + p));
        const double *log_g = strip_ask(t, part, output, P, at, t->u);
        for (size_t p = 0; p < P; p++)
            to[from - low + p] += log_g[p];
    }
}

/* A law that is narrower than the lattice goes to five points around its
 * middle: means of Lagrange's polynomials, so that every polynomial up to the
 * fourth degree has its mean. Near an end of the range what comes is a function
 * of the distance's square, and so are they. */
enum { SHARES = 5 };

static double coordinate(const struct strip_table *t, double w)
{
    double d = w - t->end;
    return strip_is_near(t) ? d * d : w - t->mean;
}

static void add_shares(const double *knot, double at, double mass,
                       double *share)
{
    for (size_t k = 0; k < SHARES; k++) {
        double product = mass;
        for (size_t j = 0; j < SHARES; j++)
            if (j != k) product *= (at - knot[j]) / (knot[k] - knot[j]);
        share[k] += product;
    }
}

static void start_narrow(struct walker *w)
{
    enum { P = 128 };
    static const double REACH = 9.0;
    struct strip_table *t = &w->table;
    double at[P], knot[SHARES], space = 2.0 * REACH * t->deviation / (P - 1);
    size_t first = t->origin % t->stride, middle = t->origin / t->stride;
    for (size_t p = 0; p < P; p++)
        at[p] = fmax(t->mean - REACH * t->deviation + (double)p * space,
                     t->end + 1e-3 * space);
    w->low = middle > SHARES / 2 ? middle - SHARES / 2 : 0;
    w->high = w->low + SHARES;
    for (size_t k = 0; k < SHARES; k++)
        knot[k] = coordinate(t, strip_w(t, first + t->stride * (w->low + k)));
    const double *log_p = strip_ask(t, STRIP_FIRST, 0, P, at, t->u);
    for (size_t p = 0; p < P; p++)
        if (log_p[p] > -700.0)
            add_shares(knot, coordinate(t, at[p]), space * exp(log_p[p]),
                       w->here + w->low);
}

/* Densities from the middle to both sides, until they are small. */
static int start_wide(struct walker *w)
{
    enum { BLOCK = 64 };
    struct strip_table *t = &w->table;
    size_t end = (STRIP_POINTS - 4) / t->stride;
    double *log_p = w->next, most = -INFINITY, edge;
    double apart = (double)t->stride * t->step;
    double middle = (t->mean - t->base) / apart;
    size_t low = middle > 0.0 ? (size_t)middle / BLOCK * BLOCK : 0, high = low;
    do {
        size_t from = high;
        high += BLOCK;
        memset(log_p + from, 0, BLOCK * sizeof *log_p);
        add_density(w, STRIP_FIRST, 0, from, high, log_p + from);
        for (size_t i = from; i < high; i++)
            if (log_p[i] > most) most = log_p[i];
        edge = log_p[high - 1];
    } while (high + BLOCK < end && !(edge < most - 50.0));
    bool cut = !(edge < most - 20.0);
    while (low && !(log_p[low] < most - 50.0)) {
        memset(log_p + low - BLOCK, 0, BLOCK * sizeof *log_p);
        add_density(w, STRIP_FIRST, 0, low - BLOCK, low, log_p + low - BLOCK);
        low -= BLOCK;
        for (size_t i = low; i < low + BLOCK; i++)
            if (log_p[i] > most) most = log_p[i];
    }
    double ahead = strip_w(t, t->origin % t->stride) - t->end;
    cut = cut || (!low && ahead > 1.5 * apart && !(log_p[0] < most - 20.0));
    if (cut || !isfinite(most))
        return fail(GSV_NUMERICAL,
                    "the law of the first latent state is too wide for the "
                    "lattice of the scan; give an init, or use --observe "
                    "guided");
    for (size_t i = low; i < high; i++)
        w->here[i] = isfinite(log_p[i]) ? apart * exp(log_p[i]) : 0.0;
    memset(log_p + low, 0, (high - low) * sizeof *log_p);
    w->low = low;
    w->high = high;
    return 0;
}

/* Multiplies by what was observed at a stop; log of the sum, which becomes 1;
 * and cuts the ends where there is nothing. */
static double observe(const struct strip *a, struct walker *w, size_t n)
{
    const struct spec *s = a->model->spec;
    struct strip_table *t = &w->table;
    double *log_g = w->next + w->low, sum = 0.0, most = 0.0, level = 0.0;
    size_t count = w->high - w->low;
    bool any = false;
    for (size_t k = 0; k < s->observations; k++) {
        bool there = true;
        for (size_t v = 0; v < s->values; v++) {
            double x = gaps_value(&a->stops.gaps, v, a->stops.stop[n].row);
            bool own =
                v >= s->obs[k].value && v < s->obs[k].value + s->obs[k].values;
            there = there && !(own && isnan(x));
            t->cell[v] = x;
        }
        t->now = a->stops.stop[n].time;
        any = any || there;
        if (there) add_density(w, STRIP_DENSITY, k, w->low, w->high, log_g);
    }
    for (size_t i = 0; any && i < count; i++)
        if (log_g[i] > level || !i) level = log_g[i];
    for (size_t i = 0; i < count; i++) {
        double *p = &w->here[w->low + i];
        if (any) *p = isfinite(log_g[i]) ? *p * exp(log_g[i] - level) : 0.0;
        log_g[i] = 0.0;
        sum += *p;
        most = fmax(most, *p);
    }
    while (w->low + 1 < w->high && fabs(w->here[w->low]) <= LEAST * most)
        w->here[w->low++] = 0.0;
    while (w->low + 1 < w->high && fabs(w->here[w->high - 1]) <= LEAST * most)
        w->here[--w->high] = 0.0;
    double squares = 0.0;
    for (size_t i = w->low; i < w->high; i++) {
        w->here[i] /= sum;
        squares += w->here[i] * w->here[i];
    }
    w->ess = 1.0 / squares;
    if (w->high - w->low > w->most) w->most = w->high - w->low;
    return log(sum) + level;
}

/* What D adds where it depends on u, at the middle of a gap, to what it is at
 * the table's u. */
static void find_pull(struct walker *w, double middle, double h, size_t low,
                      size_t high)
{
    struct strip_table *t = &w->table;
    double u = t->u;
    const double *D = t->value[LONE_D] + t->origin % t->stride;
    memset(w->pull + low, 0, (high - low) * sizeof *w->pull);
    t->u = middle;
    add_density(w, STRIP_TABLE, LONE_D, low, high, w->pull + low);
    t->u = u;
    for (size_t i = low; i < high; i++)
        w->pull[i] = 0.5 * h * (w->pull[i] - D[t->stride * i]);
}

/* Over the gap from stop n - 1 of the track, its kth row. */
static int step_over(const struct strip *a, struct walker *w, size_t n,
                     size_t k)
{
    double h = a->stops.stop[n].time - a->stops.stop[n - 1].time;
    const struct strip_kernel *kernel;
    int status = strip_kernel_of(&w->kernels, &w->table, h, a->steps,
                                 w->apart.step, w->low, w->high, &kernel);
    if (status) return status;
    size_t low = w->low > kernel->band ? w->low - kernel->band : 0;
    size_t high = w->high + kernel->band;
    if (low < kernel->low) low = kernel->low;
    if (high > kernel->high) high = kernel->high;
    if (a->model->lone.pulled)
        find_pull(w, 0.5 * (w->u[k] + w->u[k - 1]), h, low, high);
    strip_kernel_apply(kernel, w->low, w->high, w->u[k] - w->u[k - 1], w->pull,
                       w->here, w->next);
    memset(w->here + w->low, 0, (w->high - w->low) * sizeof *w->here);
    double *other = w->here;
    w->here = w->next;
    w->next = other;
    w->low = low;
    w->high = high;
    return 0;
}

/* --- Tracks --------------------------------------------------------------- */

/* The law of a track; what its stops add to increment. */
static int walk(const struct strip *a, struct walker *w, size_t track,
                double coarser, const double *parameters, double *increment)
{
    const struct stops *s = &a->stops;
    size_t first = s->first[track], n = s->first[track + 1] - first;
    enum { N = STRIP_POINTS / 2 };
    strip_kernels_forget(&w->kernels);
    memset(w->here, 0, N * sizeof *w->here);
    memset(w->next, 0, N * sizeof *w->next);
    memset(w->pull, 0, N * sizeof *w->pull);
    w->apart = a->apart;
    w->apart.step *= coarser;
    w->apart.gap *= coarser;
    w->kernels.other = coarser > 1.0;
    int status = strip_table_prepare(&w->table, parameters, &w->apart);
    if (!status) status = read_exact(a, w, track);
    if (status) return status;
    w->table.u = w->u[0];
    if (isfinite(w->table.deviation)) start_narrow(w);
    else status = start_wide(w);
    for (size_t k = 0; !status && k < n; k++) {
        if (halt_asked()) return GSV_STOPPED;
        if (k) status = step_over(a, w, first + k, k);
        if (status) break;
        increment[first + k] =
            observe(a, w, first + k) + (k ? w->log_slope[k] : 0.0);
        if (increment == a->increment) a->ess[first + k] = w->ess;
        if (!isfinite(increment[first + k]))
            return stops_check(s, first + k, first + k + 1, increment, "");
    }
    return status;
}

struct tour {
    struct strip *strip;
    double coarser; /* than usual, the lattice */
    double *increment;
    int *status; /* (tracks) */
};

static void work(void *context, size_t track, size_t thread)
{
    struct tour *t = context;
    struct walker *w = &t->strip->walker[thread];
    w->most = 0;
    t->status[track] = walk(t->strip, w, track, t->coarser,
                            t->strip->model->value, t->increment);
    if (t->coarser == 1.0) t->strip->most[track] = (double)w->most;
}

static int run_tracks(struct strip *a, double coarser, double *increment)
{
    size_t tracks = a->stops.gaps.series->tracks;
    struct tour t = {a, coarser, increment, NEW(int, tracks)};
    if (!t.status) return GSV_NO_MEMORY;
    int status = lanes_run(tracks, a->threads,
                           &(struct lanes_job){.context = &t, .work = work});
    for (size_t i = 0; !status && i < tracks; i++) {
        if (t.status[i] && t.status[i] != GSV_STOPPED) work(&t, i, 0);
        status = t.status[i];
    }
    mem_free(t.status);
    return status;
}

/* One side of a difference. */
static int value_of(void *user, size_t thread, const double *parameters,
                    size_t track, double *value)
{
    struct strip *a = user;
    const struct stops *s = &a->stops;
    size_t first = s->first[track], end = s->first[track + 1];
    double *increment = NEW(double, s->count);
    if (!increment) return GSV_NO_MEMORY;
    int status = first == end ? 0
                              : walk(a, &a->walker[thread], track, 1.0,
                                     parameters, increment);
    *value = 0.0;
    for (size_t n = first; n < end; n++)
        *value += increment[n];
    mem_free(increment);
    return status;
}

static int strip_run(struct strip *a, const double *reference,
                     uint32_t iteration, double *gradient)
{
    (void)reference, (void)iteration;
    const struct difference d = {.model = a->model,
                                 .tracks = a->stops.gaps.series->tracks,
                                 .threads = a->threads,
                                 .user = a,
                                 .value = value_of};
    int status = run_tracks(a, 1.0, a->increment);
    return status || !gradient ? status : difference_gradient(&d, gradient);
}

/* --- The result ----------------------------------------------------------- */

static int strip_fill(struct strip *a, gsv_result *r)
{
    double most = 0.0;
    for (size_t i = 0; i < a->stops.gaps.series->tracks; i++)
        most = fmax(most, a->most[i]);
    r->observe = GSV_OBSERVE_SCAN;
    r->paths = (size_t)most;
    r->drift_evaluations = 2 * r->paths * a->steps;
    int status = run_tracks(a, COARSER, a->shift);
    if (status && status != GSV_NUMERICAL) return status;
    for (size_t i = 0; i < a->stops.gaps.series->tracks; i++)
        a->left[i] = 0.0;
    for (size_t n = 0; n < a->stops.count; n++) {
        a->shift[n] = status ? INFINITY : a->increment[n] - a->shift[n];
        a->left[a->stops.stop[n].track] += a->shift[n];
    }
    for (size_t i = 0; i < a->stops.gaps.series->tracks; i++)
        a->left[i] = fabs(a->left[i]);
    status =
        stops_fill(&a->stops, a->increment, a->shift, a->ess, 0, a->left, r);
    r->steps = a->steps;
    return status;
}

ROWS_FUNCTIONS(strip)

/* What steps twice as long would say. */
static int look_at_steps(const struct strip *a, gsv_result *r)
{
    struct strip half;
    gsv_options o = a->options;
    double sum = 0.0;
    if (a->steps < 2) return 0;
    o.gradient = false;
    o.steps = a->steps / 2;
    int status = strip_init(&half, a->model, a->stops.gaps.series, &o);
    if (!status) status = strip_run(&half, NULL, 0, NULL);
    for (size_t n = 0; !status && n < half.stops.count; n++)
        sum += half.increment[n];
    strip_free(&half);
    if (status == GSV_NUMERICAL) sum = -INFINITY;
    if (status && status != GSV_NUMERICAL) return status;
    r->discretisation = r->loglik - sum;
    return 0;
}

static int fill_steps(void *machine, const struct request *q, bool list,
                      gsv_result *r)
{
    int status = method_fill(machine, q, list, r);
    return status || !list ? status : look_at_steps(machine, r);
}

static struct slots slots_of(const void *machine, size_t *unit)
{
    struct slots s = rows_slots(machine, unit);
    s.random = false;
    return s;
}

static int accept(const struct method *row, const struct task *t)
{
    int status = rows_accept(row, t);
    if (status || t->model->lone.is) return status;
    return refuse_noise(t->model, "use --observe guided");
}

const struct method METHOD_STRIP = {.name = "scan",
                                    .size = sizeof(struct strip),
                                    .fewest = 1,
                                    .change = STRIP_CHANGE,
                                    .usual = USUAL_POINTS,
                                    .first_laws = true,
                                    .accept = accept,
                                    .init = method_init,
                                    .free = method_free,
                                    .run = method_run,
                                    .fill = fill_steps,
                                    .slots = slots_of,
                                    .units = rows_units,
                                    .track_logs = rows_track_logs,
                                    .filter = guided_filter,
                                    .drawn = guided_drawn};
