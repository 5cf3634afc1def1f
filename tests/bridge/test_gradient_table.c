/* SPDX-License-Identifier: MIT */
/* The gradient of every sort of model, however its work is cut, in every way
 * that an estimate can be made: one table of each, and of their product as much
 * as takes some seconds. */
#include <stdlib.h>

#include "bridge/driver.h"
#include "bridge/gap_method.h"
#include "gradient.h"

/* --- Models --------------------------------------------------------------- */

/* What values the data have. */
enum support { REAL, POSITIVE, UNIT };

struct subject {
    const char *name, *text;
    enum support values;
};

static const struct subject SUBJECTS[] = {
    /* One state: a potential, with and without noise that is learned. */
    {"well", "state x\n param a = 1\n dx = (a*x - x^3)*dt + dW", REAL},
    {"well, noise",
     "state x\n param a = 1, s = 0.8 > 0\n dx = (a*x - x^3)*dt + s*dW", REAL},
    {"time", "state x\n param a = 1, w = 2\n dx = (cos(w*t) - a*x^3)*dt + dW",
     REAL},
    {"noise in time",
     "state x\n param a = 1, s = 0.5 > 0, b = 0.6\n"
     "dx = (cos(2*t) - a*sin(x))*dt + s*(1 + b*sin(3*t)^2)*dW",
     REAL},
    {"inputs",
     "state x\n input u\n input v hold\n param a = 1, b = 0.3\n"
     "dx = (b*v - a*sin(x) + u)*dt + dW",
     REAL},
    {"inputs, noise",
     "state x\n input u\n input v hold\n param a = 1, b = 0.3, s = 1 > 0\n"
     "dx = (b*v - a*sin(x))*dt + (s + b*exp(0.3*u))*dW",
     REAL},
    {"geometric",
     "state x\n param a = 1, b = 0.5, s = 0.4 > 0\n"
     "dx = (a*x - b*x^2)*dt + s*x*dW",
     POSITIVE},
    {"geometric, fixed",
     "state x\n param a = 1\n dx = a*(x - x^2)*dt + 0.4*x*dW", POSITIVE},
    {"square root",
     "state x\n param k = 1 > 0, m = 1 > 0, s = 0.5 > 0\n"
     "dx = k*(m - x)*dt + s*sqrt(x)*dW",
     POSITIVE},
    {"interval",
     "state x\n param k = 1 > 0, m = 0.5, s = 0.3 > 0\n"
     "dx = k*(m - x)*dt + s*sqrt(x*(1 - x))*dW",
     UNIT},
    {"by quadrature",
     "state x\n param a = 1.5, s = 0.4 > 0\n"
     "dx = (sin(a*x) - x)*dt + s*(tanh(a*x) + 2)*dW",
     REAL},
    {"net, fixed", "state x\n net f(x) -> 1 : 4 tanh\n dx = (f - x)*dt + dW",
     REAL},
    {"net in time",
     "state x\n input u\n net f(x, u, t) -> 1 : 3 silu\n"
     "param s = 0.8 > 0\n dx = (f - x)*dt + s*dW",
     REAL},
    {"gp, fixed",
     "state x\n gp h(x) -> 1 : grid 6 over [-3, 3] rbf\n dx = (h - x)*dt + dW",
     REAL},
    {"gp",
     "state x\n param s = 0.7 > 0\n"
     "gp h(x, t) -> 1 : grid 6 5 over [-3, 3] [0, 9] matern52 + quadratic\n"
     "dx = (h - x)*dt + s*dW",
     REAL},
    {"map",
     "state z = asinh(p*x)\n param p = 1.2 > 0, a = 1\n"
     "dz = (a*sin(z) - z)*dt + dW",
     REAL},
    {"flow",
     "state z = flow(x : 2 layers)\n param k = 1 > 0\n"
     "dz = -k*z^3*dt + dW",
     REAL},
    /* Two. */
    {"turn",
     "state x, y\n param a = 1, b = 0.5\n"
     "dx = (a*y - x^3)*dt + dW\n dy = (b*sin(x) - y)*dt + 0.7*dW",
     REAL},
    {"full noise",
     "state x[2]\n param A[2,2] = [-1,.5, -.5,-1], b = 0.3\n"
     "param L[2,2] = [1,0, .2,.7] lower, w = 1\n"
     "dx = (A @ sin(x) + b*x^2*exp(-dot(x, x)))*dt + (1 + 0.3*sin(w*t))*(L @ "
     "dW)",
     REAL},
    {"prices",
     "state x[2]\n param m[2] = [0.5, 1], L[2,2] = [0.4, 0, 0.1, 0.3] lower\n"
     "dx = m*x*(1 - x)*dt + x*(L @ dW)",
     POSITIVE},
    {"two nets",
     "state x, y\n net f(x, y) -> 2 : 3 silu\n param s = 0.5 > 0\n"
     "dx = (f[1] - x)*dt + s*dW\n dy = (f[2] - y)*dt + s*dW",
     REAL},
    {"energy",
     "state q, p\n net H(q, p) -> 1 : 3 tanh\n param c = 0.5 > 0\n"
     "dq = grad(H, p)*dt + dW\n dp = (-grad(H, q) - c*p - q)*dt + dW",
     REAL},
    {"gp of two",
     "state x, y\n param s = 0.7 > 0\n"
     "gp h(x, y) -> 2 : grid 4 5 over [-3, 3] matern52 + linear\n"
     "dx = (h[1] - x)*dt + s*dW\n dy = (h[2] - y)*dt + s*dW",
     REAL},
    {"flow of two",
     "state z[2] = flow(x[2], t : 2 layers 3)\n param k[2] = 1 > 0\n"
     "dz = (sin(k*z) - z)*dt + dW",
     REAL},
    /* Noise that no map takes out. */
    {"volatility",
     "state x, v\n param mu = 0.1, k = 2, m = 0.8 > 0, s = 0.3 > 0, r = -0.6\n"
     "dx = (mu - v/2)*dt + sqrt(v)*dW1\n"
     "dv = k*(m - v)*dt + s*sqrt(v)*(r*dW1 + sqrt(1 - r^2)*dW2)",
     POSITIVE},
    {"bridged, fixed",
     "state x, y\n param a = 0.5\n"
     "dx = -a*x*dt + sqrt(1 + y^2)*dW\n dy = (a - y)*dt + 0.5*dW",
     REAL},
    {"bridged, inputs",
     "state x, y\n input u\n net g(x, t) -> 1 : 3 tanh\n param b = 0.4, s = "
     "0.5 > 0\n"
     "dx = (u - x)*dt + exp(0.3*g)*s*(1 + b*sin(y)^2)*dW\n"
     "dy = (cos(2*t) - y)*dt + s*(1 + x^2)^0.25*dW",
     REAL},
    {"three bridged",
     "state x, y, z\n param c = 0.3, a = 0.2\n"
     "dx = -x*dt + (1.5 + c*sin(y))*dW1 + a*cos(z)*dW2\n"
     "dy = -y*dt + c*dW1 + (2 + sin(z))*dW2 + a*sin(y)*dW3\n"
     "dz = c*x*dt + a*cos(x)*dW1 + 1.5*dW3",
     REAL},
    /* Equations without noise: chains of integrals. */
    {"inertia",
     "state x, v\n param a = 1, g = 0.5, s = 0.8 > 0\n"
     "dx = v*dt\n dv = (a*x - x^3 - g*v)*dt + s*dW",
     REAL},
    {"inertia, fixed",
     "state x, v\n param a = 1\n dx = v*dt\n dv = (a*sin(x) - v)*dt + dW",
     REAL},
    {"neuron",
     "state v, w\n param e = 0.5 > 0, a = 0.7, b = 0.8, s = 0.6 > 0\n"
     "dv = (v - v^3/3 - w + 0.5)/e*dt\n dw = (v + a - b*w)*dt + s*dW",
     REAL},
    {"neuron, input",
     "state v, w\n input u\n param e = 0.7 > 0, a = 0.7, s = 0.6 > 0\n"
     "dv = (sin(v) - w + u)/e*dt\n dw = (v*cos(t) + a - w)*dt + s*dW",
     REAL},
    {"noise at the bottom",
     "state x, v\n param k = 1, c = 0.6 > 0, s = 0.5 > 0\n"
     "dx = (v - 0.2*x)*dt\n dv = (-k*x - v)*dt + s*sqrt(c + x^2)*dW",
     REAL},
    {"noise in time, a chain",
     "state x, v\n param k = 1, c = 0.4, s = 0.5 > 0\n"
     "dx = v*dt\n dv = (-k*x - v)*dt + s*(1 + c*sin(t)^2)*dW",
     REAL},
    {"jerk",
     "state x, v, a\n param k = 1, c = 0.4, s = 2 > 0\n"
     "dx = v*dt\n dv = (a - c*v^3)*dt\n da = (-k*sin(x) - a)*dt + s*dW",
     REAL},
    {"a rate with an input",
     "state x, v\n input u\n param b = 0.6, g = 0.5, s = 0.8 > 0\n"
     "dx = (v + b*u)*dt\n dv = (-g*v - sin(x))*dt + s*dW",
     REAL},
    {"a chain of five",
     "state a, b, c, d, e\n param k = 1.5, l = 0.7, g = 0.8, s = 3 > 0\n"
     "da = (k*b - 0.2*a)*dt\n db = (l*c - sin(b))*dt\n dc = (k*d - c)*dt\n"
     "dd = l*e*dt\n de = (-g*e - sin(a))*dt + s*dW",
     REAL},
    {"shared noise",
     "state x, v, n\n param k = 1, r = 0.4, s = 0.8 > 0\n"
     "dx = (v + r*n)*dt\n dv = (-k*sin(x) - v)*dt + s*dW1 + r*dW2\n"
     "dn = (x - n)*dt + 0.5*dW1 - 0.7*dW2",
     REAL},
    {"two chains",
     "state x[2], v[2]\n param k[2] = 1, q = 0.3, s[2] = [0.8, 0.6] > 0\n"
     "param B[2,2] = [1, 0.3, -0.2, 1.5]\n"
     "dx = (B @ v)*dt\n dv = (-k*sin(x) - q*v)*dt + s*dW",
     REAL},
    {"net of a force",
     "state x, v\n net f(x) -> 1 : 4 tanh\n param g = 0.5, s = 0.8 > 0\n"
     "dx = v*dt\n dv = (f - g*v)*dt + s*dW",
     REAL},
    {"gp of a force",
     "state x, v\n gp h(x) -> 1 : grid 6 over [-3, 3] rbf\n"
     "param g = 0.5, s = 0.8 > 0\n dx = v*dt\n dv = (h - g*v)*dt + s*dW",
     REAL},
    {"energy of a mass",
     "state q, p\n param m = 1.5 > 0, k = 0.7, c = 0.5, s = 0.8 > 0\n"
     "let H = p^2/(2*m) + k*q^4/4\n"
     "dq = grad(H, p)*dt\n dp = (-grad(H, q) - c*p)*dt + s*dW",
     REAL},
    {"mapped chain",
     "state z = log(x), v\n param a = 1, s = 0.8 > 0\n"
     "dz = (v - 0.3*z)*dt\n dv = (a*sin(z) - v)*dt + s*dW",
     POSITIVE},
    /* Three and more. */
    {"lorenz",
     "state x, y, z\n param s = 2, r = 3, b = 1, q = 1 > 0\n"
     "dx = s*(y - x)*dt + q*dW\n dy = (x*(r - z) - y)*dt + q*dW\n"
     "dz = (x*y - b*z)*dt + q*dW",
     REAL},
    {"three nets", "state x[3]\n net f(x) -> 3 : 4 tanh\n dx = (f - x)*dt + dW",
     REAL},
    {"five",
     "state x[5]\n param k[5] = 1, s[5] = 0.8 > 0\n"
     "dx = (sin(k*x) - x*sum(x)*exp(-dot(x, x)))*dt + s*dW",
     REAL},
    {"nine", "state x[9]\n param k[9] = 0.7\n dx = (sin(k*x) - x)*dt + dW",
     REAL},
};

/* --- How the work is cut -------------------------------------------------- */

/* Paths or steps that are 0 are as many as fill so many eighths of a block with
 * all gaps of a group, and some more. */
struct layout {
    const char *name;
    size_t tracks, gaps; /* gaps a track */
    size_t paths, steps;
    size_t eighths, more;
    double step; /* positive: instead of steps */
    bool joint;
    size_t window;
};

static const struct layout LAYOUTS[] = {
    {"one step", 1, 1, 1, 1, 0, 0, 0.0, false, 0},
    {"one step, a batch less one", 1, 255, 2, 1, 0, 0, 0.0, false, 0},
    {"one step, a batch and one", 1, 257, 1, 1, 0, 0, 0.0, false, 0},
    {"one step, tracks", 3, 5, 16, 1, 0, 0, 0.0, true, 0},
    {"two steps", 1, 3, 1, 2, 0, 0, 0.0, false, 0},
    {"few paths", 2, 3, 3, 3, 0, 0, 0.0, false, 0},
    {"a packed item", 3, 21, 2, 4, 0, 0, 0.0, false, 0},
    {"more items than lanes", 2, 40, 17, 7, 0, 0, 0.0, false, 0},
    {"a block", 1, 1, 0, 8, 8, 0, 0.0, false, 0},
    {"a block and one", 1, 2, 0, 5, 8, 1, 0.0, false, 0},
    {"chunks", 1, 2, 1024, 6, 0, 0, 0.0, false, 0},
    {"many paths", 1, 1, 4096, 3, 0, 0, 0.0, false, 0},
    {"items in chunks", 1, 63, 0, 3, 2, 33, 0.0, false, 0},
    {"gaps of one block", 1, 64, 0, 3, 8, 0, 0.0, false, 0},
    {"online", 1, 64, 0, 3, 8, 1, 0.0, false, 0},
    {"online, more steps", 1, 65, 0, 16, 9, 0, 0.0, false, 0},
    {"slices of steps", 1, 2, 16, 0, 16, 1, 0.0, false, 0},
    {"slices, an even number", 1, 1, 5, 0, 20, 1, 0.0, false, 0},
    {"slices in chunks", 1, 1, 70, 0, 40, 0, 0.0, false, 0},
    {"tracks of one block", 2, 4, 16, 4, 0, 0, 0.0, true, 0},
    {"a track in chunks", 1, 5, 256, 6, 0, 0, 0.0, true, 0},
    {"a track online", 1, 40, 0, 3, 8, 1, 0.0, true, 0},
    {"a track in batches", 1, 300, 5, 4, 0, 0, 0.0, true, 0},
    {"seven tracks in blocks", 7, 9, 0, 5, 8, 1, 0.0, true, 0},
    {"tracks online", 9, 12, 0, 4, 8, 1, 0.0, true, 0},
    {"long tracks online", 8, 32, 5, 0, 15, 1, 0.0, true, 0},
    {"tracks in slices", 2, 2, 3, 0, 30, 1, 0.0, true, 0},
    {"unequal steps", 2, 9, 8, 1, 0, 0, 0.1, false, 0},
    {"unequal steps, tracks", 2, 9, 17, 1, 0, 0, 0.1, true, 0},
    {"windows of one", 1, 5, 4, 3, 0, 0, 0.0, false, 1},
    {"windows", 2, 5, 16, 4, 0, 0, 0.0, false, 3},
    {"a window less one", 1, 9, 3, 2, 0, 0, 0.0, false, 8},
    {"windows in chunks", 1, 66, 17, 4, 0, 0, 0.0, false, 64},
    {"windows of items", 1, 140, 2, 2, 0, 0, 0.0, false, 64},
    {"windows online", 1, 66, 0, 3, 8, 1, 0.0, false, 64},
    {"single, windows", 2, 100, 1, 1, 0, 0, 0.0, false, 65},
};

/* --- Ways ----------------------------------------------------------------- */

static const enum gsv_reference REFERENCES[] = {
    GSV_REFERENCE_AUTO, GSV_REFERENCE_BROWNIAN, GSV_REFERENCE_LINEAR,
    GSV_REFERENCE_LNA};
static const enum gsv_form FORMS[] = {GSV_FORM_AUTO,     GSV_FORM_ITO,
                                      GSV_FORM_MIDPOINT, GSV_FORM_STRATONOVICH,
                                      GSV_FORM_BOUND,    GSV_FORM_COMPOSED};
enum { EXTRAS = 4 }; /* plain, richardson, delta, both */
enum { WAYS = COUNT(REFERENCES) * COUNT(FORMS) * EXTRAS };

static gsv_options way_of(size_t n)
{
    gsv_options o = default_options();
    o.reference = REFERENCES[n % COUNT(REFERENCES)];
    n /= COUNT(REFERENCES);
    o.form = FORMS[n % COUNT(FORMS)];
    n /= COUNT(FORMS);
    o.richardson = n % 2;
    o.delta = n / 2;
    return o;
}

/* Of the product what the library takes: other rows are left out. */
static bool is_possible(const gsv_model *m, const gsv_options *o)
{
    if (m->bridged)
        return o->reference == GSV_REFERENCE_AUTO && o->form == GSV_FORM_AUTO;
    if (o->form == GSV_FORM_COMPOSED)
        return !composed_reason(m) && !o->delta && !o->joint &&
               o->reference <= GSV_REFERENCE_BROWNIAN && !(o->step > 0.0) &&
               o->steps && o->steps <= 32;
    if (o->form != GSV_FORM_BOUND) return true;
    if (m->chain.next) return false;
    return (o->reference == GSV_REFERENCE_AUTO ||
            o->reference == GSV_REFERENCE_LINEAR) &&
           !o->richardson && !o->delta && !o->joint && !(o->step > 0.0) &&
           o->steps && o->steps <= 16;
}

/* --- Data ----------------------------------------------------------------- */

static double value_of(enum support values, double v)
{
    if (values == POSITIVE) return exp(0.3 * v);
    return values == UNIT ? 1.0 / (1.0 + exp(-0.5 * v)) : v;
}

/* Tracks of about stationary columns, gaps of about h that differ; if asked for
 * all states of some rows are missing, and inputs of others, never in a track's
 * first row. */
static gsv_series *data_of(const gsv_model *m, const struct subject *subject,
                           const struct layout *l, bool missing)
{
    size_t rows = l->gaps + 1, n = l->tracks * rows;
    size_t columns = gsv_model_columns(m);
    const double h = 0.2;
    double *time = NEW(double, n), *value = normals(columns * n, 11);
    size_t *start = NEW(size_t, l->tracks + 1);
    for (size_t r = 0; r <= l->tracks; r++)
        start[r] = r * rows;
    for (size_t i = 0; i < n; i++) {
        double gap = h * (1.0 + 0.5 * sin((double)i));
        time[i] = i % rows ? time[i - 1] + gap : 0.1;
        for (size_t c = 0; c < columns; c++) {
            double *v = value + c * n + i;
            if (i % rows) *v = v[-1] * exp(-gap) + sqrt(gap) * *v;
        }
    }
    for (size_t c = 0; c < columns; c++)
        for (size_t i = 0; i < n; i++) {
            double *v = value + c * n + i;
            bool state = c < gsv_model_dim(m);
            if (state) *v = value_of(subject->values, *v);
            if (missing && i % rows && (state ? i : i + c) % 5 == 3) *v = NAN;
        }
    gsv_series *s = gsv_series_new(l->tracks, start, columns,
                                   gsv_model_column(m), time, value);
    if (!s) fail_msg("%s", gsv_last_error());
    mem_free(time);
    mem_free(value);
    mem_free(start);
    return s;
}

/* --- A row of the table --------------------------------------------------- */

struct row {
    size_t subject, layout, way;
    bool missing, iid;
    size_t threads;
};

/* Columns of a group that fill the layout's eighths of a block. */
static size_t block_columns(const gsv_model *m, const gsv_series *s,
                            const gsv_options *o, size_t eighths)
{
    struct estimate e;
    gsv_options wide = *o;
    wide.gradient = wide.wide = true;
    wide.paths = wide.steps = 1;
    struct task task = {
        .model = m, .series = s, .options = &wide, .halved = true};
    if (estimate_init(&e, weigher_choose(m, &wide), &task))
        fail_msg("%s", gsv_last_error());
    size_t columns = eighths * e.plan.capacity / 8;
    estimate_free(&e);
    return columns;
}

static void fill_block(const gsv_model *m, const gsv_series *s,
                       const struct layout *l, gsv_options *o)
{
    size_t gaps = l->joint ? l->gaps : 1;
    size_t columns = block_columns(m, s, o, l->eighths);
    size_t other = gaps * (l->paths ? l->paths : l->steps);
    if (!l->paths && o->form == GSV_FORM_STRATONOVICH) other += gaps;
    size_t some = (columns / other > 1 ? columns / other : 1) + l->more;
    if (l->paths) o->steps = some;
    else o->paths = some;
}

static gsv_options options_of(const struct row *row, const gsv_model *m,
                              const gsv_series *s)
{
    const struct layout *l = &LAYOUTS[row->layout];
    gsv_options o = way_of(row->way);
    o.random = row->iid ? GSV_RANDOM_IID : GSV_RANDOM_SOBOL;
    o.threads = row->threads;
    o.paths = l->paths;
    o.steps = l->steps;
    o.step = l->step;
    o.joint = l->joint;
    o.window = l->window;
    o.seed = 1 + row->way;
    if (l->eighths && is_possible(m, &o)) fill_block(m, s, l, &o);
    return o;
}

/* False where it fails; *ran says whether the row is one. */
static bool run_row(gsv_model *m, const struct row *row, bool *ran)
{
    const struct subject *subject = &SUBJECTS[row->subject];
    const struct layout *l = &LAYOUTS[row->layout];
    gsv_series *s = data_of(m, subject, l, row->missing);
    struct gradient_trial t = {.m = m, .s = s};
    t.o = options_of(row, m, s);
    bool good = true;
    *ran = is_possible(m, &t.o);
    if (*ran) good = gradient_agrees(&t);
    if (!good)
        print_error(
            "%s: %s, reference %d, form %d, richardson %d, delta %d, "
            "%s, paths %zu, steps %zu, threads %zu%s: off by %.2g of %.2g, "
            "allowed %.2g%s%s\n",
            subject->name, l->name, (int)t.o.reference, (int)t.o.form,
            t.o.richardson, t.o.delta, row->iid ? "iid" : "sobol", t.o.paths,
            t.o.steps, t.o.threads, row->missing ? ", missing cells" : "",
            t.off, t.size, t.allowed, isnan(t.off) ? ": " : "",
            isnan(t.off) ? gsv_last_error() : "");
    gsv_series_free(s);
    return good;
}

static struct row row_of(size_t subject, size_t layout, size_t n)
{
    uint64_t key = (subject * COUNT(LAYOUTS) + layout) * WAYS + n;
    return (struct row){.subject = subject,
                        .layout = layout,
                        .way = (37 * n + 13 * subject + 29 * layout) % WAYS,
                        .missing = gradient_number(3 * key) > 0.0,
                        .iid = gradient_number(3 * key + 1) > 0.0,
                        .threads = gradient_number(3 * key + 2) > 0.8 ? 2 : 1};
}

/* So many ways of one layout of one model, others for each of them. */
static void run_some(gsv_model *m, size_t subject, size_t layout, size_t share,
                     size_t *rows, size_t *failed)
{
    for (size_t n = 0, done = 0; n < WAYS && done < share; n++) {
        struct row row = row_of(subject, layout, n);
        bool ran;
        *failed += !run_row(m, &row, &ran);
        *rows += ran;
        done += ran;
    }
}

/* Every layout of every model in one way; layouts of a hundred blocks for one
 * model in six. With GSV_GRADIENT_SHARE=80 the whole product, in an hour. */
static void gradient__is_that_of_the_value(void **state)
{
    (void)state;
    const char *wish = getenv("GSV_GRADIENT_SHARE");
    size_t share = wish ? (size_t)strtoul(wish, NULL, 10) : 1;
    size_t rows = 0, failed = 0;
    for (size_t i = 0; i < COUNT(SUBJECTS); i++) {
        gsv_model *m = gradient_model(SUBJECTS[i].text);
        for (size_t j = 0; j < COUNT(LAYOUTS); j++) {
            bool large =
                LAYOUTS[j].gaps * LAYOUTS[j].eighths > 100 && !LAYOUTS[j].joint;
            if (wish || !large || (i + j) % 6 == 0)
                run_some(m, i, j, share, &rows, &failed);
        }
        gsv_model_free(m);
    }
    if (failed) fail_msg("%zu of %zu rows", failed, rows);
    print_message("%zu rows\n", rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradient__is_that_of_the_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
