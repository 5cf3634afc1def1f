/* SPDX-License-Identifier: MIT */
/* The gradient of models with noisy observations: every sort of model by every
 * estimator, with tracks around the sizes at which each cuts its work. */
#include <stdlib.h>

#include "gradient.h"
#include "observe/scan.h"

/* --- Models --------------------------------------------------------------- */

struct subject {
    const char *name, *text;
    bool events; /* counted between rows: not for conjugate and variational */
};

static const struct subject SUBJECTS[] = {
    {"linear",
     "state x\n param k = 1 > 0, s = 0.5 > 0, e = 0.4 > 0, m = 0.3\n"
     "dx = k*(m - x)*dt + s*dW\n obs y ~ normal(x, e)\n"
     "init x ~ normal(m, 0.5)",
     false},
    {"well, fixed noise",
     "state x\n param a = 1, e = 0.5 > 0\n dx = (a*x - x^3)*dt + dW\n"
     "obs y ~ normal(x + 0.2*x^2, e)\n init x ~ normal(0, 0.5)",
     false},
    {"squares",
     "state x\n param k = 1 > 0, e = 0.2 > 0, m = 0.3\n"
     "dx = k*(m - x)*dt + 0.5*dW\n obs y ~ normal(x^2, e)\n"
     "init x ~ normal(m, 1)",
     false},
    {"counts",
     "state x, l\n param k = 1 > 0, s = 0.5 > 0, e = 0.3 > 0, m = 0.2\n"
     "param c = 1 > 0\n"
     "dx = k*(sin(l) - x)*dt + s*dW\n dl = (m - l)*dt + 0.4*dW\n"
     "obs y ~ normal(x, e)\n obs n ~ poisson(c*exp(l))\n"
     "init x ~ normal(m, e)\n init l ~ normal(0, 0.5)",
     false},
    {"one exact",
     "state x, v\n param k = 1 > 0, c = 0.5, s = 0.5 > 0\n"
     "dx = (v - c*x)*dt + 0.6*dW\n dv = -k*sin(x)*dt + s*dW\n"
     "init v ~ normal(0, 0.7)",
     false},
    {"noise by the state",
     "state x\n param a = 1, s = 0.4 > 0, c = 2 > 0\n"
     "dx = (a - x)*x*dt + s*x*dW\n obs n ~ poisson(c*x)\n"
     "init x ~ normal(1, 0.1)",
     false},
    {"tails",
     "state x\n param k = 1 > 0, s = 0.5 > 0, e = 0.4 > 0, r = 3 > 0\n"
     "dx = -k*sin(x)*dt + s*dW\n obs y ~ student(x, e, 4)\n"
     "obs n ~ negbin(exp(x), r)\n init x ~ normal(0, 0.6)",
     false},
    {"positive",
     "state x\n param k = 1 > 0, s = 0.5 > 0, e = 0.4 > 0, r = 3 > 0\n"
     "dx = -k*sin(x)*dt + s*dW\n obs y ~ lognormal(x, e)\n"
     "obs g ~ gamma(exp(x), r)\n obs b ~ beta(sigmoid(x), 2*r)\n"
     "init x ~ normal(0, 0.6)",
     false},
    {"first state",
     "state x, v\n param k = 1 > 0, s = 0.5 > 0, e = 0.4 > 0, m = 1 > 0\n"
     "param w = 0.5 > 0, nu = 4 > 0\n"
     "dx = k*(v - x)*dt + s*x*dW\n dv = (m - v)*dt + 0.4*dW\n"
     "obs y ~ normal(x, e)\n init x ~ gamma(m, 2 + w) at -0.5\n"
     "init v ~ student(m, w, nu)",
     false},
    {"labels",
     "state x\n param k = 1 > 0, s = 0.5 > 0, c = -0.5, d = 1 > 0\n"
     "param p = 0.3 in (0, 1), r = 3 > 0\n"
     "dx = -k*sin(x)*dt + s*dW\n obs o ~ ordered(2*x, [c, c + d])\n"
     "obs a ~ categorical(softmax([x, c*x, 0]))\n"
     "obs n ~ zeroinflated(p, betabinomial(9, sigmoid(x), r))\n"
     "init x ~ normal(0, 0.6)",
     false},
    {"three",
     "state x[3]\n param A[2,3] = [1, 0.5, 0, 0, 1, -0.5], e[2] = 0.5 > 0\n"
     "param k = 1 > 0, s[3] = 0.6 > 0\n"
     "dx = (sin(k*x) - x)*dt + s*dW\n obs y[2] ~ normal(A @ x, e)\n"
     "obs n ~ binomial(5, sigmoid(x[3]))\n init x ~ normal(0, 0.6)",
     false},
    {"shares",
     "state x[3]\n param k = 1 > 0, s = 0.5 > 0\n dx = -k*x*dt + s*dW\n"
     "obs n[3] ~ multinomial(softmax(x))\n init x ~ normal(0, 0.5)",
     false},
    {"time and a net",
     "state x\n net f(x, t) -> 1 : 3 tanh\n param s = 0.6 > 0, e = 0.4 > 0\n"
     "dx = (f - x)*dt + s*(1 + 0.3*sin(t))*dW\n"
     "obs y ~ normal(x + 0.1*t, e)\n init x ~ normal(0, 0.5)",
     false},
    {"gp",
     "state x\n gp h(x) -> 1 : grid 5 over [-3, 3] rbf\n param e = 0.5 > 0\n"
     "dx = (h - x)*dt + 0.7*dW\n obs y ~ normal(x, e)\n"
     "init x ~ normal(0, 0.5)",
     false},
    {"events",
     "state l\n param m = 1, s = 0.4 > 0\n dl = (m - l)*dt + s*dW\n"
     "obs n ~ poisson_process(exp(l))\n init l ~ normal(1, 0.4)",
     true},
};

/* --- How much of what ------------------------------------------------------
 */

struct layout {
    const char *name;
    size_t tracks, rows, points, steps;
    double step; /* positive: instead of steps */
};

static const struct layout LAYOUTS[] = {
    {"two points", 1, 3, 2, 1, 0.0},
    {"a row", 3, 1, 16, 2, 0.0},
    {"short tracks", 3, 5, 17, 3, 0.0},
    {"the usual points", 2, 6, 0, 1, 0.0},
    {"one step", 1, 12, 32, 1, 0.0},
    {"unequal steps", 2, 6, 24, 1, 0.12},
    {"a chunk", 1, 64, 64, 1, 0.0},
    {"a chunk and one", 1, 65, 64, 1, 0.0},
    {"chunks of few", 2, 7, 250, 1, 0.0},
    {"chunks of one", 1, 4, 513, 1, 0.0},
    {"a track in chunks", 1, 17, 4096, 1, 0.0},
};

static const enum gsv_observe OBSERVERS[] = {
    GSV_OBSERVE_SCAN, GSV_OBSERVE_CONJUGATE, GSV_OBSERVE_VARIATIONAL};
static const char *const OBSERVER[] = {"scan", "conjugate", "variational"};

/* --- Data ----------------------------------------------------------------- */

/* What laws do not say: counts whose sums are taken. */
static gsv_series *given_of(const gsv_model *m)
{
    enum { MOST = 3 };
    const char *name[MOST];
    const size_t start[2] = {0, 1};
    const double time = 0.0, four[MOST] = {4.0, 4.0, 4.0};
    size_t n = gsv_model_given(m, MOST, name);
    return n ? gsv_series_new(1, start, n, name, &time, four) : NULL;
}

/* The model's own, some cells of observations missing if asked for. */
static gsv_series *data_of(const gsv_model *m, const struct layout *l,
                           bool missing)
{
    gsv_simulate_options o = gsv_simulate_options_default();
    double *time = NEW(double, l->rows);
    for (size_t i = 1; i < l->rows; i++)
        time[i] = time[i - 1] + 0.2 * (1.0 + 0.5 * sin((double)i));
    o.times = l->rows;
    o.time = time;
    o.tracks = l->tracks;
    o.seed = 5;
    o.threads = 1;
    gsv_series *given = given_of(m);
    o.input = given;
    gsv_series *s = gsv_simulate(m, &o);
    if (!s) fail_msg("%s", gsv_last_error());
    gsv_series_free(given);
    for (size_t c = gsv_model_dim(m); missing && c < s->columns; c++)
        for (size_t i = 0; i < s->rows; i++)
            if (i % l->rows && (i + c) % 4 == 2)
                s->value[c * s->rows + i] = NAN;
    mem_free(time);
    return s;
}

/* --- A row of the table ----------------------------------------------------
 */

struct row {
    const struct subject *subject;
    const struct layout *layout;
    size_t observer;
    bool missing;
    size_t threads;
};

/* Rows that have no value. */
static bool is_left_out(const struct row *row, const gsv_model *m,
                        const gsv_series *s, const gsv_options *o)
{
    const struct layout *l = row->layout;
    gsv_result r;
    int status = gsv_loglik(m, s, o, &r);
    if (status) {
        /* The noise alone says too little of that many states. */
        bool known = o->observe == GSV_OBSERVE_CONJUGATE && l->rows > 50 &&
                     status == GSV_NUMERICAL;
        return known;
    }
    gsv_result_free(&r);
    return false;
}

static gsv_options options_of(const struct row *row)
{
    const struct layout *l = row->layout;
    gsv_options o = default_options();
    o.observe = OBSERVERS[row->observer];
    o.points = l->points;
    o.steps = l->steps;
    o.step = l->step;
    o.threads = row->threads;
    return o;
}

/* False where it fails; *ran says whether the row is one. */
static bool run_row(gsv_model *m, const struct row *row, bool *ran)
{
    gsv_series *s = data_of(m, row->layout, row->missing);
    struct gradient_trial t = {.m = m, .s = s, .o = options_of(row)};
    *ran = !is_left_out(row, m, s, &t.o);
    bool good = !*ran || gradient_agrees(&t);
    if (!good)
        print_error("%s: %s, %s%s, threads %zu: off by %.2g of %.2g, allowed "
                    "%.2g%s%s\n",
                    row->subject->name, row->layout->name,
                    OBSERVER[row->observer],
                    row->missing ? ", missing cells" : "", row->threads, t.off,
                    t.size, t.allowed, isnan(t.off) ? ": " : "",
                    isnan(t.off) ? gsv_last_error() : "");
    gsv_series_free(s);
    return good;
}

/* Whether an estimator takes the model, and such a number of points. */
static bool is_possible(const struct row *row)
{
    enum gsv_observe by = OBSERVERS[row->observer];
    bool tracks = by == GSV_OBSERVE_CONJUGATE || by == GSV_OBSERVE_VARIATIONAL;
    if (row->subject->events && (tracks || row->layout->rows < 2)) return false;
    if (tracks) return true;
    return row->layout->points <= SCAN_MOST;
}

/* One row in three, of those with the most points one in nine; with
 * GSV_GRADIENT_SHARE the whole product. */
static bool is_taken(size_t subject, size_t n)
{
    const struct layout *l = &LAYOUTS[n / COUNT(OBSERVERS)];
    bool many = !l->points || l->points > 1024;
    if (getenv("GSV_GRADIENT_SHARE")) return true;
    size_t turn = subject + n / COUNT(OBSERVERS) + n % COUNT(OBSERVERS);
    return turn % (many ? 9 : 3) == 0;
}

static void gradient__is_that_of_the_value(void **state)
{
    (void)state;
    size_t rows[COUNT(OBSERVERS)] = {0}, failed = 0;
    for (size_t i = 0; i < COUNT(SUBJECTS); i++) {
        gsv_model *m = gradient_model(SUBJECTS[i].text);
        for (size_t n = 0; n < COUNT(LAYOUTS) * COUNT(OBSERVERS); n++) {
            struct row row = {.subject = &SUBJECTS[i],
                              .layout = &LAYOUTS[n / COUNT(OBSERVERS)],
                              .observer = n % COUNT(OBSERVERS),
                              .missing = (i + n + n / COUNT(OBSERVERS)) % 2,
                              .threads = (i + n) % 7 ? 1 : 2};
            bool ran = false;
            if (!is_taken(i, n) || !is_possible(&row)) continue;
            failed += !run_row(m, &row, &ran);
            rows[row.observer] += ran;
        }
        gsv_model_free(m);
    }
    if (failed) fail_msg("%zu rows", failed);
    /* Few are left out. */
    for (size_t k = 0; k < COUNT(OBSERVERS); k++)
        assert_true(6 * rows[k] > COUNT(SUBJECTS) * COUNT(LAYOUTS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradient__is_that_of_the_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
