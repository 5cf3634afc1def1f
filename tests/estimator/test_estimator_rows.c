/* SPDX-License-Identifier: MIT */
/* What the interface of estimators promises, for every row: each is tried on a
 * model of its own, and must refuse those of the others. */
#include "learn.h"

#include "base/memory.h"
#include "bridge/gap_method.h"
#include "estimator/estimator.h"
#include "guided/guided.h"
#include "integrate/path_method.h"
#include "kalman/kalman.h"
#include "observe/joint.h"
#include "observe/scan.h"
#include "strip/strip.h"

static const char WELL[] = "state x\n param a = 1, s = 0.5 > 0\n"
                           "dx = a*(x - x^3)*dt + s*dW";
static const char SHARED[] = "state x, y\n param a = 1, s = 0.5 > 0\n"
                             "dx = -a*x*dt + s*sqrt(1 + y^2)*dW\n"
                             "dy = -y*dt + 0.4*dW";
static const char NOISY[] = "state x\n param a = 1, s = 0.5 > 0, e = 0.3 > 0\n"
                            "dx = a*(x - x^3)*dt + s*dW\n"
                            "obs y ~ normal(x, e)\n init x ~ normal(0, 1)";

static const char LINEAR[] = "state x\n param a = 1, s = 0.5 > 0, e = 0.3 > 0\n"
                             "dx = -a*x*dt + s*dW\n"
                             "obs y ~ normal(x, e)\n init x ~ normal(0, 1)";

/* Noise that no map takes out. */
static const char VANISHING[] =
    "state x\n state z\n param a = 1, s = 0.5 > 0, e = 0.3 > 0\n"
    "dx = a*(z - x)*dt + s*dW\n"
    "dz = -z*dt + 0.3*sqrt(1 + x^2)*dW\n"
    "obs y ~ normal(x, e)\n init x ~ normal(0, 1)\n init z ~ normal(0, 1)";

/* A price beside its volatility. */
static const char VOLATILE[] =
    "state v\n state y\n param a = 1, s = 0.5 > 0, m = 0\n dy = exp(v)*dW1\n"
    "dv = a*(m - v)*dt + s*(0.5*dW1 + dW2)\n init v ~ normal(0, 1)";

static bool is_hidden(const char *model)
{
    return model == NOISY || model == LINEAR || model == VANISHING ||
           model == VOLATILE;
}

#define ON_BRIDGES                                                             \
    "bridges: all states are observed exactly, and a map to unit diffusion "   \
    "exists"

static const struct row {
    const struct method *method;
    const char *model;
    gsv_options options;
    enum gsv_objective objective;
    const char *reason;
} ROWS[] = {
    {&METHOD_BRIDGES, WELL, {.paths = 16, .steps = 4}, 0, ON_BRIDGES},
    {&METHOD_BRIDGES,
     WELL,
     {.paths = 16, .steps = 4, .joint = true},
     0,
     ON_BRIDGES},
    {&METHOD_MODIFIED,
     SHARED,
     {.paths = 16, .steps = 4},
     0,
     "modified bridges: all states are observed exactly, and no map to unit "
     "diffusion takes this noise out"},
    {&METHOD_BOUND,
     WELL,
     {.paths = 1, .steps = 4, .form = GSV_FORM_BOUND},
     0,
     "bound: the options ask for this form"},
    {&METHOD_COMPOSED,
     WELL,
     {.paths = 1, .steps = 4, .form = GSV_FORM_COMPOSED},
     0,
     "composed: the options ask for this form"},
    {&METHOD_SCAN,
     NOISY,
     {.paths = 16, .steps = 2, .observe = GSV_OBSERVE_SCAN},
     0,
     "scan: the options ask for it"},
    {&METHOD_SCAN,
     NOISY,
     {.paths = 16, .steps = 2},
     0,
     "scan: observations are noisy, and at most two states are latent; or the "
     "guided filter, where that is the better one on the first rows of the "
     "data"},
    {&METHOD_GUIDED,
     NOISY,
     {.steps = 2, .points = 32, .observe = GSV_OBSERVE_GUIDED},
     0,
     "guided filter: the options ask for it"},
    {&METHOD_GUIDED,
     VANISHING,
     {.steps = 2, .points = 32},
     0,
     "guided filter: states are latent, and no map to unit diffusion takes "
     "this noise out"},
    {&METHOD_STRIP,
     VOLATILE,
     {.steps = 2},
     0,
     "scan: one state is latent beside an exact one, and they share noises: on "
     "a lattice; or the guided filter, where that is the better one on the "
     "first rows of the data"},
    {&METHOD_CONJUGATE,
     NOISY,
     {.paths = 16, .steps = 2, .points = 64, .observe = GSV_OBSERVE_CONJUGATE},
     0,
     "conjugate draws: the options ask for them"},
    {&METHOD_VARIATIONAL,
     NOISY,
     {.paths = 16,
      .steps = 2,
      .points = 64,
      .observe = GSV_OBSERVE_VARIATIONAL},
     0,
     "variational draws: the options ask for them"},
    {&METHOD_KALMAN,
     LINEAR,
     {.observe = GSV_OBSERVE_KALMAN},
     0,
     "kalman: the options ask for it"},
    {&METHOD_KALMAN,
     LINEAR,
     {.paths = 16, .steps = 2},
     0,
     "kalman: linear equations with constant noise and normal observations: "
     "exact"},
    {&METHOD_SCAN,
     LINEAR,
     {.paths = 16, .steps = 2, .observe = GSV_OBSERVE_SCAN},
     0,
     "scan: the options ask for it"},
    {&METHOD_MSE_BACKPROP,
     WELL,
     {.paths = 8, .steps = 4},
     GSV_OBJECTIVE_MSE_BACKPROP,
     "simulated paths: the objective is mse-backprop"},
    {&METHOD_MSE_ADJOINT,
     WELL,
     {.paths = 8, .steps = 4},
     GSV_OBJECTIVE_MSE_ADJOINT,
     "simulated paths: the objective is mse-adjoint"},
    {&METHOD_MSE_FORWARD,
     WELL,
     {.paths = 8, .steps = 4},
     GSV_OBJECTIVE_MSE_FORWARD,
     "simulated paths: the objective is mse-forward"},
};

/* Two tracks of what the model observes. */
static gsv_series *series_for(const char *model)
{
    static const char *const NAME[] = {"x", "y"};
    bool hidden = is_hidden(model), pair = model == SHARED;
    enum { TRACKS = 2, EACH = 9, N = TRACKS * EACH };
    double time[N], *z = normals(2 * N, 5);
    size_t start[TRACKS + 1] = {0, EACH, N};
    for (size_t i = 0; i < N; i++)
        time[i] = 0.3 * (double)(i % EACH);
    for (size_t i = 0; i < 2 * N; i++)
        z[i] = 0.4 * z[i];
    gsv_series *s =
        gsv_series_new(TRACKS, start, pair ? 2 : 1, NAME + hidden, time, z);
    assert_non_null(s);
    mem_free(z);
    return s;
}

struct bench {
    const struct row *row;
    gsv_model *m;
    gsv_series *s;
    gsv_options o;
    struct task task;
};

static void for_every_row(void (*claim)(struct bench *b))
{
    for (size_t i = 0; i < COUNT(ROWS); i++) {
        struct bench b = {.row = &ROWS[i], .o = ROWS[i].options};
        b.m = gsv_model_parse(ROWS[i].model, ROWS[i].method->name);
        assert_non_null(b.m);
        b.s = series_for(ROWS[i].model);
        b.o.seed = 1;
        b.o.gradient = true;
        b.task = (struct task){.model = b.m,
                               .series = b.s,
                               .options = &b.o,
                               .by_group = true,
                               .halved = true,
                               .objective = ROWS[i].objective};
        claim(&b);
        gsv_series_free(b.s);
        gsv_model_free(b.m);
    }
}

static struct estimator made(const struct bench *b)
{
    struct estimator e;
    if (estimator_init(&e, &b->task)) fail_msg("%s", gsv_last_error());
    return e;
}

static void choose_it(struct bench *b)
{
    struct method_choice c = estimator_choose(&b->task);
    assert_ptr_equal(c.method, b->row->method);
    assert_string_equal(c.reason, b->row->reason);
    if (!b->row->objective)
        assert_ptr_equal(gsv_estimator_reason(b->m, &b->o), c.reason);
    for (size_t i = 0; i < COUNT(ROWS); i++) {
        const struct method *other = ROWS[i].method;
        bool hidden = is_hidden(b->row->model);
        bool takes = (is_hidden(ROWS[i].model)) == hidden;
        if (takes) continue;
        assert_int_equal(other->accept(other, &b->task), GSV_BAD_INPUT);
        assert_true(strlen(gsv_last_error()) > 20);
    }
}

static void choose__takes_the_row_and_others_refuse(void **state)
{
    (void)state;
    for_every_row(choose_it);
}

/* By a run, by a result, by groups and by units. */
static void add_up(struct bench *b)
{
    struct estimator e = made(b);
    const struct method *row = e.method;
    struct score score;
    double gradient[3], again[3];
    struct request q = {.gradient = gradient};
    assert_int_equal(estimator_run(&e, &q, &score), 0);
    double sum = score.mean * (double)score.gaps;
    if (row->groups) {
        double all = 0.0;
        for (size_t g = 0; g < row->groups(e.machine); g++)
            all += row->group(e.machine, g).loglik;
        assert_near(all, sum, 1e-9 * fabs(sum));
    }
    if (row->fill) {
        gsv_result r = {.gradient = NEW(double, 3), .values = 3};
        q.gradient = r.gradient;
        assert_int_equal(estimator_fill(&e, &q, true, &r), 0);
        assert_near(r.loglik, sum, 1e-9 * fabs(sum));
        if (row != &METHOD_VARIATIONAL) /* moves by what it has seen */
            assert_memory_equal(r.gradient, gradient,
                                is_hidden(b->row->model) ? 24 : 16);
        gsv_result_free(&r);
    }
    q.gradient = again;
    if (row->slots && row != &METHOD_VARIATIONAL) {
        struct slots s = row->slots(e.machine, NULL);
        uint32_t *turn = NEW(uint32_t, s.slots);
        double *unit = NEW(double, s.units), all = 0.0;
        assert_int_equal(row->units(e.machine, turn, unit), 0);
        for (size_t i = 0; i < s.units; i++)
            all += unit[i];
        assert_near(all, sum, 1e-9 * fabs(sum));
        mem_free(turn);
        mem_free(unit);
    }
    estimator_free(&e);
}

static void every_row__adds_up(void **state)
{
    (void)state;
    for_every_row(add_up);
}

/* Half of the groups, then the others. */
static void halve(struct bench *b)
{
    if (is_hidden(b->row->model)) return; /* all of its data at once */
    struct estimator e = made(b);
    struct score all, part;
    double sum = 0.0;
    size_t gaps = 0, group[32];
    assert_int_equal(estimator_run(&e, &(struct request){0}, &all), 0);
    size_t tracks = b->o.joint || b->row->objective, n = tracks ? 2 : all.gaps;
    b->task.most = n / 2;
    estimator_free(&e);
    e = made(b);
    for (size_t half = 0; half < 2; half++) {
        for (size_t i = 0; i < n / 2; i++)
            group[i] = half * (n / 2) + i;
        struct request q = {.n = n / 2, .group = group};
        assert_int_equal(estimator_run(&e, &q, &part), 0);
        sum += part.mean * (double)part.gaps;
        gaps += part.gaps;
    }
    assert_int_equal(gaps, all.gaps);
    double expected = all.mean * (double)all.gaps;
    assert_near(sum, expected, 1e-9 * fabs(expected));
    estimator_free(&e);
}

static void every_row__runs_some_of_its_groups(void **state)
{
    (void)state;
    for_every_row(halve);
}

static void run_out(struct bench *b)
{
    enum { FEWEST = 40 }; /* all rows ask for more than that */
    size_t n = 1;
    int status;
    do {
        struct estimator e;
        struct score score;
        double gradient[3];
        mem_fail_at(n);
        n += 1 + n / 8;
        status = estimator_init(&e, &b->task);
        if (!status)
            status = estimator_run(&e, &(struct request){.gradient = gradient},
                                   &score);
        mem_fail_at(0);
        estimator_free(&e);
        assert_true(status == 0 || status == GSV_NO_MEMORY);
    } while (status || n < FEWEST);
}

static void every_row__says_when_memory_is_out(void **state)
{
    (void)state;
    for_every_row(run_out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(choose__takes_the_row_and_others_refuse),
        cmocka_unit_test(every_row__adds_up),
        cmocka_unit_test(every_row__runs_some_of_its_groups),
        cmocka_unit_test(every_row__says_when_memory_is_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
