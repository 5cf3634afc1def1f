/* SPDX-License-Identifier: MIT */
#include "physics/setup.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/linalg.h"
#include "base/memory.h"
#include "physics/fixed.h"
#include "physics/line.h"
#include "physics/plane.h"

/* --- The data's range ----------------------------------------------------- */

const double *data_column(const gsv_series *s, const char *name)
{
    for (size_t c = 0; c < s->columns; c++)
        if (!strcmp(s->name[c], name)) return s->value + c * s->rows;
    return NULL;
}

static void range_of(size_t n, const double *x, double range[2])
{
    range[0] = (double)INFINITY;
    range[1] = -(double)INFINITY;
    for (size_t k = 0; x && k < n; k++)
        if (!isnan(x[k])) {
            range[0] = fmin(range[0], x[k]);
            range[1] = fmax(range[1], x[k]);
        }
}

/* Hidden states: the range of their means given the data. */
static int hidden_ranges(const struct study *s, const gsv_series *data)
{
    gsv_paths_options o = gsv_paths_options_default();
    gsv_smoothed r;
    o.between = 0;
    o.estimator.threads = s->options->threads;
    enum gsv_status status = gsv_paths(s->scene.model, data, &o, &r);
    for (size_t i = 0; !status && i < s->scene.dim; i++) {
        double *range = s->scene.axis[i].data;
        if (!(range[0] < range[1]))
            range_of(r.rows, r.mean + i * r.rows, range);
    }
    if (!status) gsv_smoothed_free(&r);
    return (int)status;
}

static double low_end(const struct study *s, size_t i)
{
    return s->options->end[i];
}

static double high_end(const struct study *s, size_t i)
{
    return s->options->end[s->scene.dim + i];
}

/* The caller's range stands in for one that is not known. */
static bool set_from_options(const struct study *s, size_t i)
{
    const gsv_physics_options *o = s->options;
    double *range = s->scene.axis[i].data;
    if (o->ends && isfinite(low_end(s, i)) && isfinite(high_end(s, i))) {
        range[0] = low_end(s, i);
        range[1] = high_end(s, i);
    } else if (o->period > 0.0 && !i) {
        range[0] = 0.0;
        range[1] = o->period;
    } else return false;
    return true;
}

static int find_ranges(const struct study *s, const gsv_series *data)
{
    const gsv_model *m = s->scene.model;
    const gsv_record *r = m->record;
    bool hidden = false;
    for (size_t i = 0; i < s->scene.dim; i++) {
        const double *x =
            data ? data_column(data, gsv_model_column(m)[i]) : NULL;
        double *range = s->scene.axis[i].data;
        range_of(data ? data->rows : 0, x, range);
        if (!data && r && i < r->columns) {
            range[0] = r->lowest[i];
            range[1] = r->highest[i];
        }
        hidden = hidden || !(range[0] < range[1]);
    }
    int status =
        hidden && data && m->spec->observations ? hidden_ranges(s, data) : 0;
    for (size_t i = 0; !status && i < s->scene.dim; i++) {
        const double *range = s->scene.axis[i].data;
        bool known = range[0] < range[1] && isfinite(range[1] - range[0]);
        if (!known && !set_from_options(s, i))
            return fail(GSV_BAD_INPUT,
                        "the range of '%s' is not known: the model was not "
                        "learned from data that show it; give DATA, or "
                        "--range %s=A:B",
                        gsv_model_column(m)[i], gsv_model_column(m)[i]);
    }
    return status;
}

/* --- Time and inputs ------------------------------------------------------ */

static int set_inputs(struct study *s, const gsv_series *data,
                      struct remarks *note)
{
    const gsv_model *m = s->scene.model;
    size_t n = gsv_model_inputs(m), d = s->scene.dim;
    const gsv_record *r = m->record;
    double *input = NEW(double, n);
    s->scene.input = input;
    if (!input) return GSV_NO_MEMORY;
    for (size_t i = 0; i < n; i++) {
        const char *name = gsv_model_column(m)[d + i];
        double range[2] = {(double)NAN, (double)NAN};
        input[i] = s->options->inputs ? s->options->input[i] : (double)NAN;
        if (!isnan(input[i])) continue;
        if (m->spec->input[i].category) range[0] = range[1] = 1.0;
        else if (data) range_of(data->rows, data_column(data, name), range);
        else if (r && d + i < r->columns) {
            range[0] = r->lowest[d + i];
            range[1] = r->highest[d + i];
        }
        input[i] = 0.5 * (range[0] + range[1]);
        if (!isfinite(input[i]))
            return fail(GSV_BAD_INPUT,
                        "the input '%s' has no value; give --at %s=V", name,
                        name);
        if (remarks_add(note,
                        "the input '%s' is %g, the %s; --at %s=V changes "
                        "it",
                        name, input[i],
                        m->spec->input[i].category ? "first category"
                                                   : "middle of its range",
                        name))
            return GSV_NO_MEMORY;
    }
    return 0;
}

/* Whether drift or noise in the middle of the data change with time. */
static int depends_on_time(const struct study *s, bool *depends)
{
    struct scene c = s->scene;
    size_t d = c.dim, n = d + d * d;
    double *x = NEW(double, d), *v[] = {NEW(double, n), NEW(double, n)};
    int status = x && v[0] && v[1] ? 0 : GSV_NO_MEMORY;
    *depends = false;
    for (size_t i = 0; !status && i < d; i++)
        x[i] = 0.37 * c.axis[i].data[0] + 0.63 * c.axis[i].data[1];
    for (int k = 0; !status && k < 4 && !*depends; k++) {
        double *to = v[k > 0];
        c.time = 0.7310585 * k * k + 0.1;
        status = scene_flow(&c, 1, x, to, to + d);
        *depends = k && !status && all_finite(n, v[0]) &&
                   memcmp(v[0], v[1], n * sizeof *x) != 0;
    }
    MEM_FREE(x, v[0], v[1]);
    return status;
}

static int set_time(struct study *s)
{
    bool depends;
    int status = depends_on_time(s, &depends);
    if (!status && depends && !s->options->frozen)
        return fail(GSV_BAD_INPUT,
                    "the model depends on time, so it has no fixed points and "
                    "no stationary law; --at t=V lets time stand still");
    s->scene.time = s->options->at;
    return status;
}

static int add_notes(const gsv_model *m, struct remarks *note)
{
    int status = 0;
    if (m->spec->events) status = remarks_add(note, "events are left out");
    if (!status && gsv_model_effects(m))
        status = remarks_add(note, "random effects are at their means");
    return status;
}

/* --- Ends ----------------------------------------------------------------- */

static int check_options(const struct study *s)
{
    const gsv_physics_options *o = s->options;
    const gsv_model *m = s->scene.model;
    if (o->ends && o->ends != 2 * s->scene.dim)
        return fail(GSV_BAD_INPUT,
                    "there are %zu ends, but the model has %zu states", o->ends,
                    s->scene.dim);
    if (o->inputs && o->inputs != gsv_model_inputs(m))
        return fail(GSV_BAD_INPUT,
                    "%zu inputs are given, but the model has "
                    "%zu",
                    o->inputs, gsv_model_inputs(m));
    if (o->period > 0.0 && s->scene.dim != 1)
        return fail(GSV_BAD_INPUT, "--period is for models with one state");
    if (o->ends && s->scene.dim > 2)
        return fail(GSV_BAD_INPUT, "--range is for models with one or two "
                                   "states; others are simulated");
    for (size_t i = 0; o->ends && i < s->scene.dim; i++)
        if (!(low_end(s, i) < high_end(s, i)))
            return fail(GSV_BAD_INPUT, "the range of '%s' is empty",
                        gsv_model_column(m)[i]);
    if (s->scene.dim == 2 && o->grid > 400)
        return fail(GSV_BAD_INPUT,
                    "--grid %zu is too fine for two states: at "
                    "most 400",
                    o->grid);
    return 0;
}

static void set_ends(struct study *s)
{
    const gsv_physics_options *o = s->options;
    for (size_t i = 0; i < s->scene.dim; i++) {
        struct axis *a = &s->scene.axis[i];
        if (o->period > 0.0) {
            a->map = AXIS_RING;
            a->end[0] = a->low = a->data[0] < 0.0 ? -0.5 * o->period : 0.0;
            a->end[1] = a->high = a->low + o->period;
            a->centre = 0.5 * (a->low + a->high);
            a->width = 0.5 * o->period;
        } else if (o->ends) {
            double low = low_end(s, i), high = high_end(s, i);
            a->given = isfinite(low) && isfinite(high);
            double w = 1e-9 * (high - low);
            if (a->given) {
                a->end[0] = axis_s(a, fmax(low, a->low + w));
                a->end[1] = axis_s(a, fmin(high, a->high - w));
            }
        }
    }
}

/* Whether there is noise in the middle of the data. */
static int find_noise(const struct study *s, bool *noisy)
{
    size_t d = s->scene.dim;
    double *x = NEW(double, 2 * d + d * d);
    if (!x) return GSV_NO_MEMORY;
    double *a = x + 2 * d;
    for (size_t i = 0; i < d; i++)
        x[i] = 0.5 * (s->scene.axis[i].data[0] + s->scene.axis[i].data[1]);
    int status = scene_flow(&s->scene, 1, x, x + d, a);
    *noisy = false;
    for (size_t i = 0; !status && i < d; i++)
        *noisy = *noisy || a[i * d + i] > 0.0;
    mem_free(x);
    return status;
}

/* On a grid a state without noise spreads too far. */
static int simulate_range(struct study *s)
{
    int status = cloud_scales(s);
    if (!status) status = cloud_extent(s);
    if (status != GSV_NUMERICAL) return status;
    s->stationary = false;
    return 0;
}

/* Where drift dominates noise, a rough grid spreads too far, too. */
static int plane_law(struct study *s)
{
    if (gsv_model_singular(s->scene.model)) return simulate_range(s);
    int status = plane_range(&s->scene, &s->stationary);
    if (status || s->stationary) return status;
    s->stationary = true;
    return simulate_range(s);
}

/* Networks and gps know nothing of places without data. */
static int reflect_at_data(struct study *s, struct remarks *warning)
{
    for (size_t i = 0; i < s->scene.dim; i++) {
        struct axis *a = &s->scene.axis[i];
        double w = 0.05 * (a->data[1] - a->data[0]);
        a->end[0] = axis_s(a, fmax(a->data[0] - w, a->low + 1e-3 * w));
        a->end[1] = axis_s(a, fmin(a->data[1] + w, a->high - 1e-3 * w));
        a->given = true;
    }
    s->stationary = true;
    return remarks_add(
        warning, "the network or gp does not return from far away: the law is "
                 "that between reflecting ends around the data; --range "
                 "changes them");
}

static int find_law(struct study *s, struct remarks *warning)
{
    bool noisy;
    int status = find_noise(s, &noisy);
    if (status || !noisy) return status;
    s->stationary = true;
    if (s->scene.dim == 1) status = line_range(&s->scene, &s->stationary);
    else if (s->scene.dim == 2) status = plane_law(s);
    const struct spec *spec = s->scene.model->spec;
    if (!status && !s->stationary && spec_has_functions(spec))
        return reflect_at_data(s, warning);
    if (!status && !s->stationary)
        status = remarks_add(
            warning, "there is no stationary law: the drift does not return "
                     "from far away, where the data do not reach; --range "
                     "sets ends that reflect");
    return status;
}

/* --- Fixed points, regions, bins ------------------------------------------ */

/* Half of the data's range to each side, and what the law reaches. */
static void set_search(struct study *s)
{
    for (size_t i = 0; i < s->scene.dim; i++) {
        struct axis *a = &s->scene.axis[i];
        double w = 0.5 * (a->data[1] - a->data[0]), tiny = 1e-6 * w;
        if (a->map == AXIS_RING) {
            memcpy(a->search, a->end, sizeof a->search);
            continue;
        }
        a->search[0] = axis_s(a, fmax(a->data[0] - w, a->low + tiny));
        a->search[1] = axis_s(a, fmin(a->data[1] + w, a->high - tiny));
        if (!s->stationary || s->scene.dim > 2) continue;
        a->search[0] = fmin(a->search[0], a->end[0]);
        a->search[1] = fmax(a->search[1], a->end[1]);
    }
}

static int find_points(struct study *s)
{
    size_t d = s->scene.dim;
    set_search(s);
    int status = fixed_find(&s->scene, &s->fixed, &s->points);
    s->rate = NEW(double, s->points *d);
    s->turn = NEW(double, s->points *d);
    if (!status && (!s->rate || !s->turn)) status = GSV_NO_MEMORY;
    for (size_t k = 0; !status && k < s->points; k++)
        status = fixed_eigenvalues(&s->scene, s->fixed + k * d, s->rate + k * d,
                                   s->turn + k * d);
    return status;
}

enum { PLACES = 4097 };

/* The first and last of PLACES between the ends where a condition holds. */
static int scan_region(const struct study *s, const struct region *r,
                       size_t place[2], size_t *count)
{
    const struct axis *a = &s->scene.axis[0];
    double *x = NEW(double, PLACES);
    bool *in = NEW(bool, PLACES);
    double h = (a->end[1] - a->end[0]) / (PLACES - 1);
    int status = x && in ? 0 : GSV_NO_MEMORY;
    for (size_t k = 0; !status && k < PLACES; k++)
        x[k] = axis_x(a, a->end[0] + h * (double)k);
    if (!status) status = region_marks(r, &s->scene, PLACES, x, NULL, in);
    *count = 0;
    for (size_t k = 0; !status && k < PLACES; k++)
        if (in[k]) {
            if (!(*count)++) place[0] = k;
            place[1] = k;
        }
    MEM_FREE(x, in);
    return status;
}

/* Where the condition ends between a place inside and one outside. */
static int refine_edge(const struct study *s, const struct region *r,
                       double inside, double outside, double *edge)
{
    int status = 0;
    for (int k = 0; !status && k < 40; k++) {
        double middle = 0.5 * (inside + outside);
        double at = axis_x(&s->scene.axis[0], middle);
        bool is = false;
        status = region_marks(r, &s->scene, 1, &at, NULL, &is);
        if (is) inside = middle;
        else outside = middle;
    }
    *edge = inside;
    return status;
}

/* The interval of s where a condition on one state holds. */
static int find_span(const struct study *s, struct region *r)
{
    const struct axis *a = &s->scene.axis[0];
    double h = (a->end[1] - a->end[0]) / (PLACES - 1);
    size_t place[2] = {0, 0}, count;
    int status = scan_region(s, r, place, &count);
    if (status) return status;
    if (!count || count != place[1] - place[0] + 1)
        return fail(GSV_BAD_INPUT,
                    "'%s' is %s of the range from %.4g to %.4g; it must be one "
                    "interval",
                    r->text, count ? "several intervals" : "no part",
                    axis_x(a, a->end[0]), axis_x(a, a->end[1]));
    r->low = a->end[0] + h * (double)place[0];
    r->high = a->end[0] + h * (double)place[1];
    if (place[0]) status = refine_edge(s, r, r->low, r->low - h, &r->low);
    if (!status && place[1] < PLACES - 1)
        status = refine_edge(s, r, r->high, r->high + h, &r->high);
    return status;
}

static int find_spans(struct study *s)
{
    int status = 0;
    for (size_t i = 0; !status && s->scene.dim == 1 && i < s->regions; i++)
        if (s->region[i].condition) status = find_span(s, &s->region[i]);
    const struct region *r = s->region;
    if (!status && s->scene.dim == 1 && s->regions && r[0].condition &&
        r[0].low < r[1].high && r[1].low < r[0].high)
        status = fail(GSV_BAD_INPUT, "the regions '%s' and '%s' overlap",
                      r[0].text, r[1].text);
    return status;
}

/* Bins cover the data, and what the law reaches within one range of them. */
static int set_bins(struct study *s)
{
    size_t d = s->scene.dim;
    s->low = NEW(double, 2 * d);
    if (!s->low) return GSV_NO_MEMORY;
    s->high = s->low + d;
    for (size_t i = 0; i < d; i++) {
        const struct axis *a = &s->scene.axis[i];
        double w = a->data[1] - a->data[0];
        double low = a->data[0] - 0.25 * w, high = a->data[1] + 0.25 * w;
        if (d < 3 && a->end[0] < a->end[1]) {
            low = fmax(low, axis_x(a, a->end[0]));
            high = fmin(high, axis_x(a, a->end[1]));
        }
        s->low[i] = fmax(low, a->low);
        s->high[i] = fmin(high, a->high);
    }
    if (d > 1) return 0;
    s->cells = LINE_CELLS;
    s->cell = NEW(double, s->cells);
    if (!s->cell) return GSV_NO_MEMORY;
    for (size_t k = 0; k < s->cells; k++)
        s->cell[k] = s->low[0] + (s->high[0] - s->low[0]) * ((double)k + 0.5) /
                                     (double)s->cells;
    return 0;
}

int setup_init(struct study *s, const gsv_model *m, const gsv_series *data,
               const gsv_physics_options *o, struct remarks *note,
               struct remarks *warning)
{
    size_t d = gsv_model_dim(m);
    *s = (struct study){.options = o, .scene = {.model = m, .dim = d}};
    s->scene.axis = NEW(struct axis, d);
    if (!s->scene.axis) return GSV_NO_MEMORY;
    int status = check_options(s);
    if (!status) status = set_inputs(s, data, note);
    if (!status) status = find_ranges(s, data);
    if (!status) status = set_time(s);
    if (!status) status = add_notes(m, note);
    if (!status) status = scene_chart(&s->scene);
    if (!status) set_ends(s);
    if (!status) status = find_law(s, warning);
    if (!status) status = find_points(s);
    if (!status && s->scene.axis[0].map != AXIS_RING && s->stationary)
        status = study_passages(s);
    if (!status) status = find_spans(s);
    if (!status && d > 2) status = cloud_scales(s);
    if (!status) status = set_bins(s);
    if (!status) study_lay(s);
    return status;
}

void setup_free(struct study *s)
{
    for (size_t i = 0; i < s->regions; i++)
        region_free(&s->region[i]);
    mem_free((void *)(uintptr_t)s->scene.input);
    MEM_FREE(s->scene.axis, s->fixed, s->rate, s->turn, s->region, s->low,
             s->cell);
    *s = (struct study){0};
}
