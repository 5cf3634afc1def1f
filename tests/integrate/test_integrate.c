/* SPDX-License-Identifier: MIT */
/* Learning by an integrator: values against closed forms, gradients against
 * differences with common random numbers, the adjoint against backpropagation
 * as steps become shorter. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "integrate/walk.h"

/* --- Set-ups -------------------------------------------------------------- */

static gsv_model *model(const char *text)
{
    gsv_model *m = gsv_model_parse(text, "model");
    if (!m) fail_msg("%s", gsv_last_error());
    return m;
}

/* Rows at times that differ from track to track, near 1: positive, so that any
 * model may start there. Odd tracks are one row shorter. */
static gsv_series *series(const gsv_model *m, size_t tracks, size_t rows)
{
    enum { MOST = 2000 };
    double time[MOST], value[MOST], z[MOST];
    size_t start[40] = {0}, columns = gsv_model_columns(m), n = 0;
    assert_true(tracks < 40 && tracks * rows * columns < MOST);
    for (size_t r = 0; r < tracks; r++) {
        for (size_t k = 0; k < rows - r % 2; k++, n++)
            time[n] = k ? time[n - 1] + 0.2 + 0.1 * sin((double)n) : 0.1;
        start[r + 1] = n;
    }
    struct random_key key = {.seed = 5, .purpose = RANDOM_SIMULATE};
    random_normals(&key, 0, columns, 0, n, z);
    for (size_t i = 0; i < columns * n; i++)
        value[i] = 1.0 + 0.2 * z[i];
    gsv_series *s = gsv_series_new(tracks, start, columns, gsv_model_column(m),
                                   time, value);
    if (!s) fail_msg("%s", gsv_last_error());
    return s;
}

static struct integrate_options options(void)
{
    return (struct integrate_options){.paths = 6,
                                      .steps = 4,
                                      .gradient = true,
                                      .use_double = true,
                                      .seed = 3,
                                      .threads = 1};
}

static double total(const struct integrator *i)
{
    double sum = 0.0;
    for (size_t g = 0; g < i->groups; g++)
        sum += i->loss[g];
    return sum;
}

static struct integrator *begin(const gsv_model *m, const gsv_series *s,
                                struct integrate_options o)
{
    struct integrator *i = NEW(struct integrator, 1);
    assert_non_null(i);
    if (integrator_init(i, m, s, &o)) fail_msg("%s", gsv_last_error());
    return i;
}

static void end(struct integrator *i)
{
    integrator_free(i);
    mem_free(i);
}

static void run(struct integrator *i, double *value_bar)
{
    if (integrator_run(i, 7, 0, NULL, value_bar))
        fail_msg("%s", gsv_last_error());
}

/* The gradient of minus the loss, yours. */
static double *gradient(const gsv_model *m, const gsv_series *s,
                        struct integrate_options o)
{
    struct integrator *i = begin(m, s, o);
    double *bar = NEW(double, gsv_model_values(m));
    assert_non_null(bar);
    run(i, bar);
    end(i);
    return bar;
}

static double length(size_t n, const double *a)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += a[i] * a[i];
    return sqrt(sum);
}

static const char ORNSTEIN[] =
    "state x\nparam k = 1.3 > 0, mu = 0.4, s = 0.7 > 0\n"
    "dx = k*(mu - x)*dt + s*dW";
static const char PREY[] =
    "state x, y\nparam a = 0.7, b = 0.4, s[2] = [0.3, 0.5] > 0\n"
    "dx = (a*x - b*x*y + sin(t))*dt + s[1]*dW\n"
    "dy = (b*x*y - a*y)*dt + s[2]*(1 + 0.3*t)*dW";
static const char GROWTH[] = "state x\nparam r = 0.6, s = 0.4 > 0\n"
                             "dx = r*x*(1 - x/2)*dt + s*x*dW";
static const char MATRIX[] = "state x, y\nparam c = 0.5, s = 0.3 > 0\n"
                             "dx = -c*x*dt + s*y*dW1 + 0.1*dW2\n"
                             "dy = -c*y*dt + 0.2*dW1 + s*sin(x)*dW2";
static const char MAPPED[] = "state z = log(x)\nparam k = 1.1, s = 0.5 > 0\n"
                             "dz = k*(0.2 - z)*dt + s*dW";
static const char DRIVEN[] = "state x\ninput u\nparam b = 0.8, s = 0.4 > 0\n"
                             "dx = b*(u - x)*dt + s*dW";
static const char NETWORK[] = "state x, y\nnet f(x, y) -> 2 : 5 4 tanh\n"
                              "param s = 0.6 > 0\n"
                              "dx = f[1]*dt + s*dW\ndy = f[2]*dt + s*dW";
/* Matrices of parameters, which lifted differ from point to point. */
static const char LINEAR[] =
    "state x[2]\nparam A[2,2] = [-1, 0.3, 0.2, -0.7], mu[2] = 0.1\n"
    "param L[2,2] = [0.5, 0, 0.1, 0.4] lower\n"
    "dx = (A @ (x - mu) + 0.2*softmax(x))*dt + L @ dW";
static const char *const MODELS[] = {ORNSTEIN, PREY,   GROWTH, MATRIX,
                                     MAPPED,   DRIVEN, LINEAR, NETWORK};
enum { MODEL_COUNT = sizeof MODELS / sizeof *MODELS };

/* --- Values --------------------------------------------------------------- */

/* Of Euler's chain, mean and variance follow m' = m + k h (mu - m) and
 * v' = (1 - k h)^2 v + s^2 h. */
static double ou_loss(const gsv_series *s, size_t track, size_t steps, double k,
                      double mu, double noise)
{
    size_t first = s->start[track];
    double mean = s->value[first], variance = 0.0, loss = 0.0;
    for (size_t row = first + 1; row < s->start[track + 1]; row++) {
        double h = (s->time[row] - s->time[row - 1]) / (double)steps;
        for (size_t j = 0; j < steps; j++) {
            mean += k * h * (mu - mean);
            variance =
                (1.0 - k * h) * (1.0 - k * h) * variance + noise * noise * h;
        }
        double off = mean - s->value[row];
        loss += off * off + variance;
    }
    return loss;
}

static void euler__has_the_expected_error_of_an_ou_process(void **state)
{
    (void)state;
    enum { REPEATS = 64 };
    gsv_model *m = model(ORNSTEIN);
    gsv_series *s = series(m, 1, 6);
    struct integrate_options o = options();
    o.paths = 100;
    o.gradient = false;
    struct integrator *i = begin(m, s, o);
    double mean = 0.0, square = 0.0;
    for (uint32_t r = 0; r < REPEATS; r++) {
        assert_int_equal(integrator_run(i, r, 0, NULL, NULL), 0);
        mean += total(i) / REPEATS;
        square += total(i) * total(i) / REPEATS;
    }
    double error = sqrt((square - mean * mean) / (REPEATS - 1));
    double exact = ou_loss(s, 0, o.steps, 1.3, 0.4, 0.7);
    assert_true(fabs(mean - exact) < 4.0 * error);
    assert_true(error < 0.02 * exact);
    end(i);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* Without noise it is that of Euler's method, to the last bits. */
static void euler__is_exact_without_noise(void **state)
{
    (void)state;
    gsv_model *m = model(ORNSTEIN);
    double none = 1e-150;
    assert_int_equal(gsv_model_set(m, "s", 1, &none), 0);
    gsv_series *s = series(m, 5, 6);
    struct integrate_options o = options();
    struct integrator *i = begin(m, s, o);
    run(i, NULL);
    for (size_t g = 0; g < 5; g++)
        assert_true(fabs(i->loss[g] - ou_loss(s, g, 4, 1.3, 0.4, 0.0)) < 1e-13);
    end(i);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* Some tracks alone are what they are among all others, and twice the paths
 * are their mean. */
static void loss__is_a_tracks_own(void **state)
{
    (void)state;
    gsv_model *m = model(PREY);
    gsv_series *s = series(m, 7, 5);
    struct integrator *i = begin(m, s, options());
    double all[7];
    run(i, NULL);
    memcpy(all, i->loss, sizeof all);
    const size_t some[3] = {5, 2, 3};
    assert_int_equal(integrator_run(i, 7, 3, some, NULL), 0);
    for (size_t n = 0; n < 3; n++)
        assert_true(i->loss[some[n]] == all[some[n]]);
    end(i);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* --- Gradients ------------------------------------------------------------ */

static void check_gradient(const char *text, enum gsv_scheme scheme,
                           enum sensitivity by)
{
    gsv_model *m = model(text);
    gsv_series *s = series(m, 3, 5);
    struct integrate_options o = options();
    o.scheme = scheme;
    o.by = by;
    struct integrator *i = begin(m, s, o);
    size_t n = gsv_model_values(m);
    double *bar = NEW(double, n), worst = 0.0;
    assert_non_null(bar);
    run(i, bar);
    double size = length(n, bar);
    for (size_t v = 0; v < n; v++) {
        double kept = m->value[v], move = 1e-5, loss[4];
        for (int side = 0; side < 4; side++) {
            static const double at[] = {-2.0, -1.0, 1.0, 2.0};
            m->value[v] = kept + at[side] * move;
            run(i, NULL);
            loss[side] = total(i);
        }
        m->value[v] = kept;
        double slope =
            (8.0 * (loss[2] - loss[1]) - (loss[3] - loss[0])) / (12.0 * move);
        worst = fmax(worst, fabs(bar[v] + slope) / size);
    }
    if (!(worst < 1e-8 && size > 1e-3))
        fail_msg("%s: %g of %g", text, worst, size);
    mem_free(bar);
    end(i);
    gsv_series_free(s);
    gsv_model_free(m);
}

static void backprop__is_the_derivative_of_eulers_paths(void **state)
{
    (void)state;
    for (size_t i = 0; i < MODEL_COUNT; i++)
        check_gradient(MODELS[i], GSV_EULER, BY_BACKPROP);
}

static void backprop__is_the_derivative_of_heuns_paths(void **state)
{
    (void)state;
    for (size_t i = 0; i < MODEL_COUNT; i++)
        check_gradient(MODELS[i], GSV_HEUN, BY_BACKPROP);
}

/* The derivative of the same steps: all that differs is rounding. */
static void check_forward(const char *text, enum gsv_scheme scheme)
{
    gsv_model *m = model(text);
    gsv_series *s = series(m, 5, 6);
    size_t n = gsv_model_values(m);
    struct integrate_options o = options();
    o.scheme = scheme;
    o.steps = 11;
    o.paths = 70; /* blocks that are not full */
    double *exact = gradient(m, s, o);
    o.by = BY_FORWARD;
    double *other = gradient(m, s, o), worst = 0.0;
    for (size_t v = 0; v < n; v++)
        worst = fmax(worst, fabs(other[v] - exact[v]));
    if (!(worst < 1e-12 * length(n, exact)))
        fail_msg("%s: %g of %g", text, worst, length(n, exact));
    mem_free(exact);
    mem_free(other);
    gsv_series_free(s);
    gsv_model_free(m);
}

static void forward__is_the_derivative_of_the_paths(void **state)
{
    (void)state;
    check_gradient(MATRIX, GSV_EULER, BY_FORWARD);
    check_gradient(MATRIX, GSV_HEUN, BY_FORWARD);
}

static void forward__is_backprop_but_for_rounding(void **state)
{
    (void)state;
    for (size_t i = 0; i < MODEL_COUNT; i++) {
        if (MODELS[i] == NETWORK) continue;
        check_forward(MODELS[i], GSV_EULER);
        check_forward(MODELS[i], GSV_HEUN);
    }
}

/* How far the adjoint is from backpropagation, relative to its length; the
 * mean square over iterations, since paths differ. */
static double adjoint_error(const char *text, enum gsv_scheme scheme,
                            size_t steps)
{
    enum { REPEATS = 32 };
    gsv_model *m = model(text);
    gsv_series *s = series(m, 3, 4);
    size_t n = gsv_model_values(m);
    struct integrate_options o = options();
    o.scheme = scheme;
    o.steps = steps;
    o.paths = 32;
    double off = 0.0, all = 0.0;
    for (size_t r = 0; r < REPEATS; r++) {
        o.seed = r;
        o.by = BY_BACKPROP;
        double *exact = gradient(m, s, o);
        o.by = BY_ADJOINT;
        double *other = gradient(m, s, o);
        for (size_t v = 0; v < n; v++) {
            off += (other[v] - exact[v]) * (other[v] - exact[v]);
            all += exact[v] * exact[v];
        }
        mem_free(exact);
        mem_free(other);
    }
    gsv_series_free(s);
    gsv_model_free(m);
    return sqrt(off / all);
}

/* The order between 8 and 64 times as many steps. */
static double adjoint_order(const char *text, enum gsv_scheme scheme)
{
    double coarse = adjoint_error(text, scheme, 8);
    double fine = adjoint_error(text, scheme, 64);
    if (!(fine < 0.05)) fail_msg("%s: %g", text, fine);
    return log(coarse / fine) / log(8.0);
}

/* Euler's error is one of the step; where the noise depends on the state,
 * paths of Euler themselves are off by its root. */
static void adjoint__comes_to_backprop_by_euler(void **state)
{
    (void)state;
    for (size_t i = 0; i < MODEL_COUNT; i++) {
        bool moving =
            MODELS[i] == GROWTH || MODELS[i] == MATRIX || MODELS[i] == MAPPED;
        double order = adjoint_order(MODELS[i], GSV_EULER);
        if (!(order > (moving ? 0.4 : 0.8)))
            fail_msg("%s: order %g", MODELS[i], order);
    }
}

static void adjoint__comes_to_backprop_by_heun(void **state)
{
    (void)state;
    for (size_t i = 0; i < MODEL_COUNT; i++) {
        double order = adjoint_order(MODELS[i], GSV_HEUN);
        if (!(order > 0.8)) fail_msg("%s: order %g", MODELS[i], order);
    }
}

/* Where nothing but additive noise moves the paths, the adjoint's way back
 * takes every increment away again: it ends where the paths began. Of 3 noises
 * the numbers of 8 steps are drawn at once, of 40 those of one. */
static void check_return(size_t dim, enum gsv_scheme scheme)
{
    char text[200];
    snprintf(text, sizeof text, "state x[%zu]\nparam s = 0.8 > 0\ndx = s*dW",
             dim);
    gsv_model *m = model(text);
    gsv_series *s = series(m, 2, 4);
    struct integrate_options o = options();
    double bar[1];
    o.by = BY_ADJOINT;
    o.scheme = scheme;
    o.steps = 37;
    struct integrator *i = begin(m, s, o);
    const size_t first[1] = {0};
    assert_int_equal(integrator_run(i, 7, 1, first, bar), 0);
    for (size_t d = 0; d < dim; d++)
        for (size_t k = 0; k < o.paths; k++)
            assert_true(fabs(i->walker[0].x[d * o.paths + k] -
                             s->value[d * s->rows]) < 1e-13);
    end(i);
    gsv_series_free(s);
    gsv_model_free(m);
}

static void noise__is_the_same_on_the_way_back(void **state)
{
    (void)state;
    check_return(3, GSV_EULER);
    check_return(3, GSV_HEUN);
    check_return(40, GSV_EULER);
}

/* --- Memory and bits ------------------------------------------------------ */

/* Bytes that an integrator asks for, run and all. */
static size_t asked_bytes(enum sensitivity by, enum gsv_scheme scheme,
                          size_t steps)
{
    gsv_model *m = model(PREY);
    gsv_series *s = series(m, 3, 5);
    struct integrate_options o = options();
    double bar[4];
    o.by = by;
    o.scheme = scheme;
    o.steps = steps;
    size_t before = mem_asked();
    struct integrator *i = begin(m, s, o);
    run(i, bar);
    size_t bytes = mem_asked() - before;
    end(i);
    gsv_series_free(s);
    gsv_model_free(m);
    return bytes;
}

static void memory__does_not_grow_with_steps_but_for_backprop(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        enum gsv_scheme scheme = i ? GSV_HEUN : GSV_EULER;
        assert_int_equal(asked_bytes(BY_ADJOINT, scheme, 10),
                         asked_bytes(BY_ADJOINT, scheme, 1000));
        assert_int_equal(asked_bytes(BY_FORWARD, scheme, 10),
                         asked_bytes(BY_FORWARD, scheme, 1000));
        /* 990 further steps of 4 gaps: 2 states of 3 tracks with 6 paths. */
        assert_int_equal(asked_bytes(BY_BACKPROP, scheme, 1000) -
                             asked_bytes(BY_BACKPROP, scheme, 10),
                         990 * 4 * 2 * 3 * 6 * sizeof(double));
    }
}

static void check_bits(const char *text, struct integrate_options o)
{
    gsv_model *m = model(text);
    gsv_series *s = series(m, 9, 5);
    size_t n = gsv_model_values(m);
    o.paths = 100;
    double *one = gradient(m, s, o);
    for (o.threads = 2; o.threads < 4; o.threads++) {
        double *more = gradient(m, s, o);
        assert_memory_equal(one, more, n * sizeof *one);
        mem_free(more);
    }
    mem_free(one);
    gsv_series_free(s);
    gsv_model_free(m);
}

static void gradient__has_the_same_bits_on_any_threads(void **state)
{
    (void)state;
    struct integrate_options o = options();
    for (int i = 0; i < 12; i++) {
        o.by = (enum sensitivity)(i % 3);
        o.scheme = i / 3 % 2 ? GSV_HEUN : GSV_EULER;
        o.use_double = i / 6;
        check_bits(GROWTH, o);
        if (o.by != BY_FORWARD) check_bits(NETWORK, o);
    }
}

/* --- Refusals ------------------------------------------------------------- */

static void integrator__refuses_what_it_cannot(void **state)
{
    (void)state;
    gsv_model *noisy = model("state x\nobs v ~ normal(x, 1)\ndx = dW");
    gsv_model *m = model(ORNSTEIN), *net = model(NETWORK);
    gsv_model *wide = model("state x\nparam a[2000] = 1\ndx = sum(a)*dt + dW");
    gsv_series *s = series(m, 1, 3), *s2 = series(net, 1, 3);
    struct integrate_options o = options();
    struct integrator i;
    assert_int_equal(integrator_init(&i, noisy, s, &o), GSV_BAD_INPUT);
    assert_non_null(strstr(gsv_last_error(), "with noise"));
    integrator_free(&i);
    o.by = BY_FORWARD;
    assert_int_equal(integrator_init(&i, net, s2, &o), GSV_BAD_INPUT);
    assert_non_null(strstr(gsv_last_error(), "this model has a network"));
    integrator_free(&i);
    assert_int_equal(integrator_init(&i, wide, s, &o), GSV_BAD_INPUT);
    assert_non_null(strstr(gsv_last_error(), "2000 of them are more than"));
    integrator_free(&i);
    o.scheme = GSV_SRK;
    assert_int_equal(integrator_init(&i, m, s, &o), GSV_BAD_INPUT);
    assert_non_null(strstr(gsv_last_error(), "euler and heun"));
    integrator_free(&i);
    gsv_series_free(s2);
    gsv_model_free(net);
    gsv_model_free(wide);
    gsv_series_free(s);
    gsv_model_free(noisy);
    gsv_model_free(m);
}

static void integrator__tells_of_paths_that_leave_the_finite(void **state)
{
    (void)state;
    gsv_model *m = model("state x\nparam c = 1000\ndx = c*x^3*dt + dW");
    gsv_series *s = series(m, 2, 5);
    struct integrator *i = begin(m, s, options());
    assert_int_equal(integrator_run(i, 0, 0, NULL, NULL), GSV_NUMERICAL);
    assert_non_null(strstr(gsv_last_error(), "is not finite"));
    end(i);
    gsv_series_free(s);
    gsv_model_free(m);
}

static void check_allocations(enum sensitivity by)
{
    gsv_model *m = model(GROWTH);
    gsv_series *s = series(m, 3, 5);
    struct integrate_options o = options();
    double bar[2];
    gsv_model_free(m);
    int status = GSV_NO_MEMORY;
    size_t n = 1;
    o.by = by;
    for (; status && n < 500; n++) {
        struct integrator i;
        m = model(GROWTH); /* a graph that failed stays so */
        mem_fail_at(n);
        status = integrator_init(&i, m, s, &o);
        if (!status) status = integrator_run(&i, 0, 0, NULL, bar);
        mem_fail_at(0);
        integrator_free(&i);
        gsv_model_free(m);
        assert_true(!status || status == GSV_NO_MEMORY);
    }
    assert_true(n > 10 && !status);
    gsv_series_free(s);
}

static void integrator__survives_any_failed_allocation(void **state)
{
    (void)state;
    check_allocations(BY_ADJOINT);
    check_allocations(BY_FORWARD);
}

/* --- Fits ----------------------------------------------------------------- */

static bool note_error(void *user, const gsv_progress *p)
{
    double *mse = user;
    mse[p->iteration == 1 ? 0 : 1] = -p->loglik;
    return p->objective == GSV_OBJECTIVE_LIKELIHOOD;
}

/* From k = 0.3 to near the 1.3 of the data, whose noise is small. */
static void check_fit(enum gsv_objective objective, enum gsv_scheme scheme)
{
    gsv_model *m = model("state x\nparam k = 1.3, s = 0.05 > 0\n"
                         "dx = k*(1 - x)*dt + s*dW");
    double time[11], start[8], mse[2] = {NAN, NAN}, away = 0.3;
    for (int i = 0; i < 11; i++)
        time[i] = 0.2 * i;
    for (int r = 0; r < 8; r++)
        start[r] = r - 3.5;
    gsv_simulate_options how = gsv_simulate_options_default();
    how.times = 11;
    how.time = time;
    how.tracks = 8;
    how.start = start;
    gsv_series *s = gsv_simulate(m, &how);
    assert_non_null(s);
    gsv_fit_options o = gsv_fit_options_default();
    const char *fixed[] = {"s"};
    o.objective = objective;
    o.scheme = scheme;
    o.iterations = 100;
    o.average = 0.5; /* of few iterations, the last ones */
    o.fixed = 1;
    o.fix = fixed;
    o.progress = note_error;
    o.user = mse;
    assert_int_equal(gsv_model_set(m, "k", 1, &away), 0);
    if (gsv_fit(m, s, &o)) fail_msg("%s", gsv_last_error());
    const gsv_record *r = gsv_model_record(m);
    assert_true(mse[1] < 0.05 * mse[0]);
    assert_true(fabs(gsv_model_value(m)[0] - 1.3) < 0.05);
    assert_int_equal(r->objective, objective);
    assert_int_equal(r->optimizer, GSV_OPTIMIZER_ADAM);
    assert_int_equal(r->errors, GSV_ERRORS_NONE);
    assert_true(fabs(r->mse - mse[1]) < 0.1 * mse[1]);
    assert_true(isfinite(r->loglik) && r->gaps == 80 && isnan(r->aic));
    gsv_series_free(s);
    gsv_model_free(m);
}

static void fit__lowers_the_squared_error(void **state)
{
    (void)state;
    check_fit(GSV_OBJECTIVE_MSE_BACKPROP, GSV_EULER);
    check_fit(GSV_OBJECTIVE_MSE_ADJOINT, GSV_EULER);
    check_fit(GSV_OBJECTIVE_MSE_BACKPROP, GSV_HEUN);
    check_fit(GSV_OBJECTIVE_MSE_ADJOINT, GSV_HEUN);
    check_fit(GSV_OBJECTIVE_MSE_FORWARD, GSV_HEUN);
}

/* One gradient for those who look: a gap's mean of what the integrator and the
 * likelihood give. */
static void gradient__of_an_objective_is_a_gaps_mean(void **state)
{
    (void)state;
    gsv_model *m = model(PREY);
    gsv_series *s = series(m, 3, 5);
    enum { N = 4, GAPS = 4 + 3 + 4 };
    gsv_fit_options o = gsv_fit_options_default();
    struct integrate_options in = options();
    double value, bar[N];
    o.objective = GSV_OBJECTIVE_MSE_BACKPROP;
    o.estimator.paths = in.paths;
    o.estimator.steps = in.steps;
    o.estimator.seed = in.seed;
    o.estimator.iteration = 7;
    assert_int_equal(gsv_objective_gradient(m, s, &o, &value, bar), 0);
    struct integrator *i = begin(m, s, in);
    double own[N];
    run(i, own);
    assert_true(fabs(value + total(i) / GAPS) < 1e-12);
    for (size_t v = 0; v < N; v++)
        assert_true(fabs(bar[v] - own[v] / GAPS) < 1e-12);
    end(i);
    gsv_result r;
    o.objective = GSV_OBJECTIVE_LIKELIHOOD;
    o.estimator.gradient = true;
    assert_int_equal(gsv_objective_gradient(m, s, &o, &value, bar), 0);
    assert_int_equal(gsv_loglik(m, s, &o.estimator, &r), 0);
    assert_true(value == r.loglik / GAPS && r.gaps == GAPS);
    for (size_t v = 0; v < N; v++)
        assert_true(bar[v] == r.gradient[v] / GAPS);
    gsv_result_free(&r);
    gsv_series_free(s);
    gsv_model_free(m);
}

static void fit__refuses_what_a_squared_error_has_not(void **state)
{
    (void)state;
    gsv_model *m = model(ORNSTEIN);
    gsv_series *s = series(m, 2, 5);
    for (int i = 0; i < 5; i++) {
        gsv_fit_options o = gsv_fit_options_default();
        o.objective = GSV_OBJECTIVE_MSE_ADJOINT;
        if (i == 0) o.method = GSV_METHOD_GIBBS;
        if (i == 1) o.optimizer = GSV_OPTIMIZER_LBFGS;
        if (i == 2) o.errors = GSV_ERRORS_OBSERVED;
        if (i == 3) o.estimator.joint = true;
        if (i == 4) o.scheme = GSV_SRK;
        assert_int_equal(gsv_fit(m, s, &o), GSV_BAD_INPUT);
        assert_non_null(strstr(gsv_last_error(), "mean squared error"));
    }
    gsv_series_free(s);
    gsv_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(euler__has_the_expected_error_of_an_ou_process),
        cmocka_unit_test(euler__is_exact_without_noise),
        cmocka_unit_test(loss__is_a_tracks_own),
        cmocka_unit_test(backprop__is_the_derivative_of_eulers_paths),
        cmocka_unit_test(backprop__is_the_derivative_of_heuns_paths),
        cmocka_unit_test(forward__is_the_derivative_of_the_paths),
        cmocka_unit_test(forward__is_backprop_but_for_rounding),
        cmocka_unit_test(adjoint__comes_to_backprop_by_euler),
        cmocka_unit_test(adjoint__comes_to_backprop_by_heun),
        cmocka_unit_test(noise__is_the_same_on_the_way_back),
        cmocka_unit_test(memory__does_not_grow_with_steps_but_for_backprop),
        cmocka_unit_test(gradient__has_the_same_bits_on_any_threads),
        cmocka_unit_test(integrator__refuses_what_it_cannot),
        cmocka_unit_test(integrator__tells_of_paths_that_leave_the_finite),
        cmocka_unit_test(integrator__survives_any_failed_allocation),
        cmocka_unit_test(fit__lowers_the_squared_error),
        cmocka_unit_test(gradient__of_an_objective_is_a_gaps_mean),
        cmocka_unit_test(fit__refuses_what_a_squared_error_has_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
