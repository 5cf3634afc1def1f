/* SPDX-License-Identifier: MIT */
/* The numbers of a model with more than two states: means over simulated paths.
 * Errors are those of batches of paths. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/halt.h"
#include "base/linalg.h"
#include "base/memory.h"
#include "base/sample_stats.h"
#include "physics/fixed.h"
#include "physics/study.h"

enum {
    ROWS = 1200,
    BURN = 200,
    BATCHES = 8,
    EXTENT_TRACKS = 32,
    THINNED = 4000,
    PROBED = 64
};

/* Paths (dim, tracks, ROWS - BURN). */
struct cloud {
    const struct study *study;
    const struct scene *scene;
    size_t dim, tracks, rows;
    double gap;
    double *x;
    bool *in; /* (regions, tracks, rows) */
};

/* --- Simulation ----------------------------------------------------------- */

static double spread(size_t k, size_t i)
{
    double u = 0.5 + (double)(k + 1) * sqrt((double)(i + 2)) * 0.6180339887;
    return u - floor(u);
}

/* Length and step from the rates of the linearised drift. */
int cloud_scales(struct study *s)
{
    size_t d = s->scene.dim, n = 0;
    double fast[PROBED], slow = (double)INFINITY;
    double *x = NEW(double, 3 * d);
    int status = x ? 0 : GSV_NO_MEMORY;
    for (size_t k = 0; !status && k < PROBED; k++) {
        for (size_t i = 0; i < d; i++) {
            const double *r = s->scene.axis[i].data;
            x[i] = r[0] + (r[1] - r[0]) * spread(k, i);
        }
        status = fixed_eigenvalues(&s->scene, x, x + d, x + 2 * d);
        double most = 0.0;
        for (size_t i = 0; !status && i < d; i++) {
            most = fmax(most, hypot(x[d + i], x[2 * d + i]));
            slow = fmin(slow, fabs(x[d + i]));
        }
        if (!status && isfinite(most) && most > 0.0) fast[n++] = most;
    }
    mem_free(x);
    if (status) return status;
    if (!n)
        return fail(GSV_NUMERICAL, "the drift has no rates; give --length "
                                   "and --step");
    sample_sort(n, fast);
    double rate = fast[n - 1 - n / 10];
    for (size_t k = 0; k < s->points * d; k++)
        if (fabs(s->rate[k]) > 1e-3 * rate) slow = fmin(slow, fabs(s->rate[k]));
    slow = fmax(slow, 0.02 * rate);
    s->step = s->options->step > 0.0 ? s->options->step : 0.05 / rate;
    s->length = s->options->length > 0.0 ? s->options->length : 100.0 / slow;
    return 0;
}

static gsv_series *constant_inputs(const struct scene *c, double until)
{
    size_t n = gsv_model_inputs(c->model), start[] = {0, 2};
    const double time[] = {0.0, until};
    double *value = NEW(double, 2 * n + 1);
    for (size_t i = 0; value && i < 2 * n; i++)
        value[i] = c->input[i / 2];
    gsv_series *s =
        value ? gsv_series_new(1, start, n, gsv_model_column(c->model) + c->dim,
                               time, value)
              : NULL;
    mem_free(value);
    return s;
}

static int simulate(const struct cloud *q, gsv_series **made)
{
    const struct scene *c = q->scene;
    gsv_simulate_options o = gsv_simulate_options_default();
    double *time = NEW(double, ROWS + q->dim * q->tracks);
    if (!time) return GSV_NO_MEMORY;
    double *start = time + ROWS;
    for (size_t k = 0; k < ROWS; k++)
        time[k] = q->gap * (double)k;
    for (size_t i = 0; i < q->dim; i++)
        for (size_t k = 0; k < q->tracks; k++) {
            const double *r = c->axis[i].data;
            start[i * q->tracks + k] =
                r[0] + (r[1] - r[0]) * (0.25 + 0.5 * spread(k, i));
        }
    o.times = ROWS;
    o.time = time;
    o.tracks = q->tracks;
    o.start = start;
    o.step = q->study->step;
    o.mean = true;
    o.seed = q->study->options->seed;
    o.threads = q->study->options->threads;
    gsv_series *input =
        gsv_model_inputs(c->model) ? constant_inputs(c, time[ROWS - 1]) : NULL;
    o.input = input;
    *made = gsv_simulate(c->model, &o);
    gsv_series_free(input);
    mem_free(time);
    return *made ? 0 : (int)gsv_last_status();
}

/* The states after the first rows, by name. */
static int copy_states(struct cloud *q, const gsv_series *s)
{
    const char *const *name = gsv_model_column(q->scene->model);
    size_t n = q->tracks * q->rows;
    for (size_t i = 0; i < q->dim; i++)
        for (size_t c = 0; c < s->columns; c++)
            for (size_t t = 0; !strcmp(s->name[c], name[i]) && t < q->tracks;
                 t++)
                memcpy(q->x + i * n + t * q->rows,
                       s->value + c * s->rows + s->start[t] + BURN,
                       q->rows * sizeof *q->x);
    return all_finite(q->dim * n, q->x)
               ? 0
               : fail(GSV_NUMERICAL, "simulated paths are not finite");
}

static int mark_regions(struct cloud *q, const double *v)
{
    size_t n = q->tracks * q->rows;
    int status = 0;
    for (size_t r = 0; !status && r < q->study->regions; r++) {
        const struct region *g = &q->study->region[r];
        const double *centre = v + q->study->at_fixed + 3 * q->dim * g->point;
        status = region_marks(g, q->scene, n, q->x,
                              g->condition ? NULL : centre, q->in + r * n);
    }
    return status;
}

/* --- Means ---------------------------------------------------------------- */

/* The integral of the autocorrelation until it is small. */
static double correlation_time(const struct cloud *q, const double *x,
                               size_t from, size_t to, double mean, double sd)
{
    double sum = 0.5, c = 0.0;
    for (size_t lag = 1; lag < q->rows / 4; lag++) {
        c = 0.0;
        for (size_t t = from; t < to; t++)
            for (size_t k = t * q->rows; k + lag < (t + 1) * q->rows; k++)
                c += (x[k] - mean) * (x[k + lag] - mean);
        c /= sd * sd * (double)((to - from) * (q->rows - lag));
        if (c < 0.05) break;
        sum += c;
    }
    /* What follows decays as before. */
    return sum * q->gap / (1.0 - fmax(c, 0.0));
}

static void put_state(const struct cloud *q, size_t i, size_t from, size_t to,
                      double *v)
{
    const struct study *s = q->study;
    const double *x = q->x + i * q->tracks * q->rows;
    size_t n = (to - from) * q->rows;
    double mean = sample_mean(n, x + from * q->rows);
    double sd = sample_deviation(n, x + from * q->rows);
    double w = (s->high[i] - s->low[i]) / BINS, *bin;
    bin = v + s->at_marginal + i * BINS;
    memset(bin, 0, BINS * sizeof *bin);
    for (size_t k = from * q->rows; k < to * q->rows; k++) {
        double u = (x[k] - s->low[i]) / w;
        if (u >= 0.0 && u < BINS) bin[(size_t)u] += 1.0 / ((double)n * w);
    }
    v[s->at_mean + i] = mean;
    v[s->at_mean + q->dim + i] = sd;
    double slow = correlation_time(q, x, from, to, mean, sd);
    v[s->at_relax] = fmax(slow, isnan(v[s->at_relax]) ? 0.0 : v[s->at_relax]);
}

static double mass_beyond(const struct cloud *q, size_t from, size_t to)
{
    size_t n = q->tracks * q->rows, out = 0;
    for (size_t k = from * q->rows; k < to * q->rows; k++) {
        bool in = true;
        for (size_t i = 0; i < q->dim; i++)
            in = in && axis_reached(&q->scene->axis[i], q->x[i * n + k]);
        out += !in;
    }
    return (double)out / (double)((to - from) * q->rows);
}

/* The time during which region `from` was visited last, of both, over the
 * number of passages to the other one. */
static double passage_time(const struct cloud *q, const struct passage *p,
                           size_t from, size_t to)
{
    size_t n = q->tracks * q->rows, passed = 0, spent = 0;
    for (size_t t = from; t < to; t++) {
        bool inside = false;
        for (size_t k = t * q->rows; k < (t + 1) * q->rows; k++) {
            if (q->in[p->to * n + k]) {
                passed += inside;
                inside = false;
            }
            inside = inside || q->in[p->from * n + k];
            spent += inside;
        }
    }
    return passed ? q->gap * (double)spent / (double)passed : (double)NAN;
}

/* --- Entropy production --------------------------------------------------- */

/* x (dim, n) with state j moved. */
static void move_state(size_t d, size_t n, const double *x, size_t j, double by,
                       double *at)
{
    memcpy(at, x, n * d * sizeof *at);
    for (size_t k = 0; k < n; k++)
        at[j * n + k] += by;
}

/* F (dim, n) -= 1/2 div a, by central differences. */
static int subtract_divergence(const struct scene *c, size_t n, const double *x,
                               double *F)
{
    size_t d = c->dim, size = n * d * d;
    double *at = NEW(double, n *d), *up = NEW(double, size);
    double *down = NEW(double, size);
    int status = at && up && down ? 0 : GSV_NO_MEMORY;
    for (size_t j = 0; !status && j < d; j++) {
        double h = 1e-4 * c->axis[j].width;
        move_state(d, n, x, j, h, at);
        status = scene_flow(c, n, at, NULL, up);
        move_state(d, n, x, j, -h, at);
        if (!status) status = scene_flow(c, n, at, NULL, down);
        for (size_t i = 0; !status && i < d; i++)
            for (size_t k = 0; k < n; k++) {
                size_t e = (i * d + j) * n + k;
                F[i * n + k] -= 0.5 * (up[e] - down[e]) / (2.0 * h);
            }
    }
    MEM_FREE(at, up, down);
    return status;
}

/* F = 2 a^-1 (f - div a / 2) at n points (dim, n); *regular becomes false where
 * a is singular. */
static int force(const struct scene *c, size_t n, const double *x, double *F,
                 bool *regular)
{
    size_t d = c->dim;
    double *a = NEW(double, n *d *d), *A = NEW(double, d *d);
    double *b = NEW(double, d);
    int *pivot = NEW(int, d);
    int status = a && A && b && pivot ? 0 : GSV_NO_MEMORY;
    if (!status) status = scene_flow(c, n, x, F, a);
    if (!status) status = subtract_divergence(c, n, x, F);
    for (size_t k = 0; !status && *regular && k < n; k++) {
        for (size_t e = 0; e < d * d; e++)
            A[e] = a[e * n + k];
        for (size_t i = 0; i < d; i++)
            b[i] = 2.0 * F[i * n + k];
        *regular = linalg_lu(d, A, pivot);
        if (*regular) linalg_lu_solve(d, 1, A, pivot, false, b);
        for (size_t i = 0; i < d; i++)
            F[i * n + k] = b[i];
    }
    MEM_FREE(a, A, b, pivot);
    return status;
}

/* rate (n) += 1/2 sum over i of a_ij d_j F_i. */
static int add_slopes(const struct scene *c, size_t n, const double *x,
                      const double *a, size_t j, double *rate, bool *regular)
{
    size_t d = c->dim;
    double h = 1e-3 * c->axis[j].width, *at = NEW(double, n *d);
    double *up = NEW(double, n *d), *down = NEW(double, n *d);
    int status = at && up && down ? 0 : GSV_NO_MEMORY;
    if (!status) {
        move_state(d, n, x, j, h, at);
        status = force(c, n, at, up, regular);
    }
    if (!status) {
        move_state(d, n, x, j, -h, at);
        status = force(c, n, at, down, regular);
    }
    for (size_t i = 0; !status && i < d; i++)
        for (size_t k = 0; k < n; k++)
            rate[k] += 0.5 * a[(i * d + j) * n + k] *
                       (up[i * n + k] - down[i * n + k]) / (2.0 * h);
    MEM_FREE(at, up, down);
    return status;
}

/* rate (n) += F . f + 1/2 sum a_ij d_j F_i. */
static int add_rates(const struct scene *c, size_t n, const double *x,
                     double *rate, bool *regular)
{
    size_t d = c->dim;
    double *F = NEW(double, n *d), *f = NEW(double, n *d);
    double *a = NEW(double, n *d *d);
    int status = F && f && a ? force(c, n, x, F, regular) : GSV_NO_MEMORY;
    if (!status) status = scene_flow(c, n, x, f, a);
    for (size_t e = 0; !status && e < n * d; e++)
        rate[e % n] += F[e] * f[e];
    for (size_t j = 0; !status && *regular && j < d; j++)
        status = add_slopes(c, n, x, a, j, rate, regular);
    MEM_FREE(F, f, a);
    return status;
}

/* The means of the rates over all paths, and over each batch (BATCHES + 1);
 * NaN where a is singular. */
static int entropy_rates(const struct cloud *q, double *mean)
{
    size_t n = q->tracks * q->rows, d = q->dim;
    size_t step = n / THINNED ? n / THINNED : 1, some = n / step;
    double *x = NEW(double, some *(d + 1));
    bool regular = true;
    if (!x) return GSV_NO_MEMORY;
    double *rate = x + some * d;
    for (size_t i = 0; i < d; i++)
        for (size_t k = 0; k < some; k++)
            x[i * some + k] = q->x[i * n + k * step];
    int status = add_rates(q->scene, some, x, rate, &regular);
    for (size_t b = 0; b <= BATCHES; b++) {
        size_t from = b ? (b - 1) * some / BATCHES : 0;
        size_t to = b ? b * some / BATCHES : some;
        mean[b] = regular && to > from ? sample_mean(to - from, rate + from)
                                       : (double)NAN;
    }
    mem_free(x);
    return status;
}

/* --- All of it ------------------------------------------------------------ */

/* Of some of the paths. */
static void put_numbers(const struct cloud *q, size_t from, size_t to,
                        double entropy, double *v)
{
    const struct study *s = q->study;
    for (size_t i = 0; i < q->dim; i++)
        put_state(q, i, from, to, v);
    v[s->at_entropy] = entropy;
    v[s->at_entropy + 2] = mass_beyond(q, from, to);
    for (size_t k = 0; k < s->passages; k++)
        v[s->at_passage + PASSAGE_NUMBERS * k + PASSAGE_TIME] =
            passage_time(q, &s->passage[k], from, to);
}

/* The errors of means over batches. */
static int put_errors(const struct cloud *q, const double *entropy,
                      struct law_field *field)
{
    size_t n = q->study->size;
    double *v = NEW(double, n *BATCHES), one[BATCHES];
    field->error = NEW(double, n);
    int status = v && field->error ? 0 : GSV_NO_MEMORY;
    for (size_t b = 0; !status && b < BATCHES; b++) {
        for (size_t i = 0; i < n; i++)
            v[b * n + i] = (double)NAN;
        put_numbers(q, b * q->tracks / BATCHES, (b + 1) * q->tracks / BATCHES,
                    entropy[b + 1], v + b * n);
    }
    for (size_t i = 0; !status && i < n; i++) {
        for (size_t b = 0; b < BATCHES; b++)
            one[b] = v[b * n + i];
        field->error[i] = sample_deviation(BATCHES, one) / sqrt(BATCHES);
    }
    mem_free(v);
    return status;
}

static int cloud_init(struct cloud *q, const struct study *s,
                      const struct scene *c, size_t tracks)
{
    *q = (struct cloud){.study = s,
                        .scene = c,
                        .dim = c->dim,
                        .tracks = tracks,
                        .rows = ROWS - BURN,
                        .gap = s->length / ROWS};
    size_t n = tracks * q->rows;
    gsv_series *made = NULL;
    q->x = NEW(double, n * q->dim);
    q->in = NEW(bool, n *(s->regions + 1));
    int status = q->x && q->in ? simulate(q, &made) : GSV_NO_MEMORY;
    if (!status) status = copy_states(q, made);
    gsv_series_free(made);
    return status;
}

/* The range of a state in s, and its 10 and 90 % quantiles. */
struct extent {
    double end[2], most[2];
};

/* In the first quarter of all paths, or after it. x: room for all values. */
static struct extent find_extent(const struct cloud *q, size_t i, size_t part,
                                 double *x)
{
    const struct axis *a = &q->scene->axis[i];
    const double *from = q->x + i * q->tracks * q->rows;
    size_t quarter = q->rows / 4, n = 0;
    for (size_t t = 0; t < q->tracks; t++)
        for (size_t k = part ? quarter : 0; k < (part ? q->rows : quarter); k++)
            x[n++] = axis_s(a, from[t * q->rows + k]);
    sample_sort(n, x);
    return (struct extent){
        {x[0], x[n - 1]},
        {sample_quantile(n, x, 0.1), sample_quantile(n, x, 0.9)}};
}

/* Whether an interval ends farther than one before by this share of its width,
 * in x itself or in the logarithm of a distance from a bound. */
static bool is_farther(const struct axis *a, const double early[2],
                       const double late[2], double share)
{
    double e[2], l[2];
    for (size_t i = 0; i < 2; i++) {
        e[i] = a->map == AXIS_ALL ? axis_x(a, early[i]) : early[i];
        l[i] = a->map == AXIS_ALL ? axis_x(a, late[i]) : late[i];
    }
    double w = share * (e[1] - e[0]);
    return !(l[0] > e[0] - w && l[1] < e[1] + w);
}

/* Both of a random walk's go on, by 0.3 of their width: the range, which later
 * parts of stationary paths exceed by chance, and the quantiles, which they do
 * where paths change between wells. */
static bool goes_on(const struct axis *a, const struct extent *early,
                    const struct extent *late)
{
    return is_farther(a, early->end, late->end, 0.15) &&
           is_farther(a, early->most, late->most, 0.1);
}

int cloud_extent(struct study *s)
{
    struct cloud q;
    int status = cloud_init(&q, s, &s->scene, EXTENT_TRACKS);
    double *room = status ? NULL : NEW(double, q.tracks *q.rows);
    if (!status && !room) status = GSV_NO_MEMORY;
    for (size_t i = 0; !status && i < q.dim; i++) {
        struct axis *a = &s->scene.axis[i];
        struct extent early = find_extent(&q, i, 0, room);
        struct extent late = find_extent(&q, i, 1, room);
        double w = early.end[1] - early.end[0];
        if (goes_on(a, &early, &late))
            status = fail(GSV_NUMERICAL, "paths go farther and farther");
        if (a->given) continue;
        a->end[0] = fmin(early.end[0], late.end[0]) - 0.1 * w;
        a->end[1] = fmax(early.end[1], late.end[1]) + 0.1 * w;
    }
    MEM_FREE(room, q.x, q.in);
    return status;
}

int study_cloud(const struct study *s, const struct scene *c, size_t tracks,
                double *v, struct law_field *field)
{
    struct cloud q;
    double entropy[BATCHES + 1];
    int status = cloud_init(&q, s, c, tracks);
    if (!status) status = mark_regions(&q, v);
    if (!status) status = entropy_rates(&q, entropy);
    if (!status) put_numbers(&q, 0, tracks, entropy[0], v);
    if (!status && field) status = put_errors(&q, entropy, field);
    MEM_FREE(q.x, q.in);
    return status;
}
