/* SPDX-License-Identifier: MIT */
/* Steps, the linearised model, threads, and what goes wrong. */
#include "gauss.h"
#include "guided.h"
#include "guided/control.h"

/* --- Steps ---------------------------------------------------------------- */

/* Drift, its slopes and the noise of a state by hand. */
struct by_hand {
    const char *name, *text;
    double (*F)(double x, double t);
    double (*G)(double x, double t);
};

static double well(double x, double t)
{
    return x - x * x * x + t;
}

static double bent(double x, double t)
{
    return cos(x) * (1.0 + t);
}

static double flat(double x, double t)
{
    return 0.6 + 0.0 * x * t;
}

static double risen(double x, double t)
{
    return 0.3 * (2.0 + sin(x) + 0.0 * t);
}

#define OBS "obs y ~ normal(x, 1)\ninit x ~ normal(0, 1)\n"
/* v keeps the noise of x from being taken out. */
static const struct by_hand BY_HAND[] = {
    {"well", "state x\ndx = (x - x^3 + t)*dt + 0.6*dW\n" OBS, well, flat},
    {"bent",
     "state x, v\ndx = cos(x)*(1 + t)*dt + 0.3*(2 + sin(x) + 0*v)*dW1\n"
     "dv = -v*dt + 0.1*(2 + sin(x))*dW1 + dW2\ninit v ~ normal(0, 1)\n" OBS,
     bent, risen},
};

/* The k-th difference of F by x. */
static double slope_of(double (*F)(double x, double t), double x, double t,
                       size_t k)
{
    double h = 1e-3;
    return k == 1 ? (F(x + h, t) - F(x - h, t)) / (2.0 * h)
                  : (F(x + h, t) - 2.0 * F(x, t) + F(x - h, t)) / (h * h);
}

static void step__is_of_second_order(void **state)
{
    static const double time[] = {0.1, 0.5}, y[] = {0, 0};
    static const size_t start[] = {0, 2};
    static const char *const column[] = {"y"};
    (void)state;
    for (size_t c = 0; c < COUNT(BY_HAND); c++) {
        const struct by_hand *b = &BY_HAND[c];
        enum { P = 9 };
        double x[2 * P] = {0};
        struct lab l = {.m = gsv_model_parse(b->text, b->name),
                        .s = gsv_series_new(1, start, 1, column, time, y)};
        gsv_options o = guided_options(2, 1);
        if (!l.m || guided_make(&l.a, l.m, l.s, &o, NULL))
            fail_msg("%s: %s", b->name, gsv_last_error());
        for (size_t j = 0; j < P; j++)
            x[j] = 0.4 * ((double)j - 4.0);
        struct guide *g = lab_set(&l);
        const struct mover *m = &g->mover[0];
        double h = 0.4, scale = l.a.course.stretched ? 0.6 : 1.0;
        for (size_t j = 0; j < P; j++)
            x[j] /= scale;
        assert_false(l.a.course.linear);
        mover_go(&g->mover[0], &g->pace, 0, P, x);
        for (size_t j = 0; j < P; j++) {
            double z = scale * x[j], middle = z + 0.5 * h * b->F(z, 0.1);
            double G = b->G(middle, 0.3), F1 = slope_of(b->F, middle, 0.3, 1);
            double a = z + h * b->F(middle, 0.3) +
                       0.25 * h * h * G * G * slope_of(b->F, middle, 0.3, 2);
            double B = sqrt(h) * G * (1.0 + 0.5 * h * F1);
            assert_true(fabs(scale * m->a[j] - a) < 1e-5);
            assert_true(fabs(fabs(scale * m->B[j]) - fabs(B)) < 1e-5);
        }
        lab_free(&l);
    }
}

/* --- The linearised model ------------------------------------------------- */

/* E psi over the first state is what all nodes add, also where states are
 * exact, integrated or not linear. */
static void claim_total(const struct guided_case *c)
{
    struct lab l;
    struct normal x;
    lab_init(&l, c, 2);
    struct guide *g = lab_set(&l);
    struct ahead *w = g->ahead;
    if (ahead_make(w, &g->mover[0], &g->pace, false, NULL))
        fail_msg("%s: %s", c->name, gsv_last_error());
    x = (struct normal){.D = w->D};
    memcpy(x.mean, w->first_a, w->D * sizeof *x.mean);
    gauss_square(w->D, w->D, w->first_B, x.cov);
    struct psi psi = ahead_at(w, 0);
    double sum = 0.0;
    for (size_t k = 0; k < g->pace.nodes; k++)
        sum += w->gain[k];
    expect("the total", w->total,
           normal_times(&x, psi.mu, psi.c, psi.e, psi.Lambda));
    expect("the sum", sum, w->total);
    lab_free(&l);
}

static void total__is_that_of_the_first_psi(void **state)
{
    (void)state;
    for (size_t c = 0; c < COUNT(GRID_CASES); c++)
        claim_total(&GRID_CASES[c]);
    for (size_t c = 0; c < COUNT(WIDE_CASES); c++)
        claim_total(&WIDE_CASES[c]);
}

/* A better psi is finite, also of states without spread: exact ones, and
 * integrals that begin. */
static void claim_control(const struct guided_case *c)
{
    enum { PILOTS = 200 };
    struct lab l;
    lab_init(&l, c, 2);
    struct guide *g = lab_set(&l);
    struct ahead *w = g->ahead;
    size_t n = g->pace.nodes, D = w->D;
    struct swarm *s = &g->pilots;
    g->history = NEW(double, control_memory(&l.a.course, PILOTS, n));
    assert_int_equal(swarm_init(s, &l.a.course, PILOTS, n, g->mover, 1), 0);
    s->seed = 1;
    s->share = 0.5;
    if (ahead_make(w, &g->mover[0], &g->pace, false, NULL) ||
        control_improve(s, w, &g->pace, g->history) ||
        swarm_run(s, &g->pace, w, NULL))
        fail_msg("%s: %s", c->name, gsv_last_error());
    for (size_t k = 0; k < n; k++) {
        assert_true(isfinite(w->c[k]));
        for (size_t i = 0; i < D * D; i++)
            assert_true(isfinite(w->Lambda[k * D * D + i]) &&
                        isfinite(w->e[k * D + i / D]));
    }
    lab_free(&l);
}

static void control__is_finite(void **state)
{
    (void)state;
    for (size_t c = 0; c < COUNT(GRID_CASES); c++)
        claim_control(&GRID_CASES[c]);
    for (size_t c = 0; c < COUNT(WIDE_CASES); c++)
        claim_control(&WIDE_CASES[c]);
}

/* --- Threads -------------------------------------------------------------- */

/* Few and many particles; with so few that they are drawn again, too. */
static void claim_bits(const struct guided_case *c, size_t tracks, size_t K)
{
    gsv_model *m = case_model(c);
    gsv_series *s = case_series(c, tracks);
    gsv_result r[3];
    for (size_t i = 0; i < COUNT(r); i++) {
        gsv_options o = guided_options(K, 2);
        o.gradient = K < 200;
        o.threads = (size_t)1 << i;
        if (gsv_loglik(m, s, &o, &r[i])) fail_msg("%s", gsv_last_error());
        assert_true(isfinite(r[i].loglik));
        assert_memory_equal(&r[0].loglik, &r[i].loglik, sizeof(double));
        assert_memory_equal(&r[0].error, &r[i].error, sizeof(double));
        if (o.gradient)
            assert_memory_equal(r[0].gradient, r[i].gradient,
                                gsv_model_values(m) * sizeof(double));
    }
    for (size_t i = 0; i < COUNT(r); i++)
        gsv_result_free(&r[i]);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* States without noise of their own: exact positions, a formula or a network
 * for the force, and blurred ones with an error. */
static const struct guided_case INERT_CASES[] = {
    {"two wells",
     "state x, v\nparam a = 1, g = 0.5 > 0, s = 0.5 > 0\n"
     "dx = v*dt\ndv = (a*x - x^3 - g*v)*dt + s*dW\ninit v ~ normal(0, 1)\n",
     {"x"},
     0.2,
     0,
     0,
     1,
     3,
     {{1.0, 1.06, 1.15, 1.2, NAN, 1.18, 1.1, 0.98, 0.9, 0.88}}},
    {"network",
     "state x, v\nparam g = 0.5 > 0, s = 0.5 > 0\nnet f(x) -> 1 : 3 tanh\n"
     "dx = v*dt\ndv = (f(x) - g*v)*dt + s*dW\ninit v ~ normal(0, 1)\n",
     {"x"},
     0.2,
     0,
     0,
     1,
     2,
     {{1.0, 1.06, 1.15, 1.2, NAN, 1.18, 1.1, 0.98, 0.9, 0.88}}},
    {"blurred",
     "state v, w\nparam a = 0.7, e = 0.05 > 0, s = 0.3 > 0\n"
     "dv = 4*(v - v^3/3 - w + 0.5)*dt\ndw = (v + a - 0.8*w)*dt + s*dW\n"
     "obs y ~ normal(integral(v)/0.2, e)\n"
     "init v ~ normal(-1, 0.1)\ninit w ~ normal(-0.4, 0.1)\n",
     {"y"},
     0.2,
     0,
     0,
     1,
     3,
     {{NAN, -0.99, -0.92, -0.9, NAN, -0.8, -0.68, -0.47, 0.1, 0.9}}},
};

static void bits__are_those_of_any_number_of_threads(void **state)
{
    (void)state;
    for (size_t tracks = 1; tracks <= 3; tracks += 2)
        for (size_t K = 70; K <= 300; K += 230) {
            claim_bits(&GRID_CASES[2], tracks, K);
            for (size_t c = 0; c < COUNT(WIDE_CASES); c++)
                claim_bits(&WIDE_CASES[c], tracks, K);
            for (size_t c = 0; c < COUNT(INERT_CASES); c++)
                claim_bits(&INERT_CASES[c], tracks, K);
        }
}

/* A track alone says what it says among others. */
static void tracks__do_not_see_each_other(void **state)
{
    (void)state;
    for (size_t c = 0; c < COUNT(WIDE_CASES); c++) {
        gsv_model *m = case_model(&WIDE_CASES[c]);
        gsv_series *s[2] = {case_series(&WIDE_CASES[c], 1),
                            case_series(&WIDE_CASES[c], 3)};
        gsv_options o = guided_options(64, 2);
        double first[2] = {0};
        for (size_t i = 0; i < 2; i++) {
            gsv_result r;
            if (gsv_loglik(m, s[i], &o, &r)) fail_msg("%s", gsv_last_error());
            for (size_t n = 0; n < r.groups; n++)
                if (!r.gap[n].track) first[i] += r.gap[n].loglik;
            gsv_result_free(&r);
            gsv_series_free(s[i]);
        }
        assert_true(fabs(first[0] - first[1]) < 1e-9);
        gsv_model_free(m);
    }
}

/* --- What goes wrong ------------------------------------------------------ */

enum { ROWS = 4 };

static const struct bad {
    const char *text;
    double y[ROWS];
    int status;
    const char *message[3];
    const char *column;
} BAD[] = {
    /* No value is possible in the third row. */
    {"state x\ndx = -x*dt + 0.1*dW\nobs y ~ normal(x, (t < 1.5))\n"
     "init x ~ normal(0, 0.1)\n",
     {1, 2, 3, 1},
     GSV_NUMERICAL,
     {"series '2'", "at time 2", "explains"},
     "y"},
    /* An exact state that cannot get to where it was seen. */
    {"state x, v\ndx = sin(v)*dt\ndv = -v*dt + (t < 1.5)*dW\n"
     "obs z ~ normal(v, 1)\ninit v ~ normal(0, 1)\n",
     {0, 0.5, 9, 9},
     GSV_NUMERICAL,
     {"series '2'", NULL, NULL},
     "x"},
    /* A formula that is not a number. */
    {"state x\ndx = log(-1 - x^2)*dt + dW\nobs y ~ normal(x, 1)\n"
     "init x ~ normal(0, 1)\n",
     {1, 2, 3, 1},
     GSV_NUMERICAL,
     {"series '2'", "not finite", "check the model"},
     "y"},
    {"state x\ndx = -x*dt + dW\nobs y ~ student(log(-1 - x^2), 1, 4)\n"
     "init x ~ normal(0, 1)\n",
     {1, 2, 3, 1},
     GSV_NUMERICAL,
     {"series '1'", "at time 0", "explains"},
     "y"},
    /* Nothing at all. */
    {"state x\ndx = -x*dt + dW\nobs y ~ student(x, 1, 4)\n"
     "init x ~ normal(0, 1)\n",
     {NAN, NAN, NAN, NAN},
     GSV_BAD_INPUT,
     {"nothing is observed", NULL, NULL},
     "y"},
};

/* Two tracks with the same values, the first of which has one row. */
static gsv_series *bad_series(const struct bad *b, bool only)
{
    static const size_t start[] = {0, 1, 1 + ROWS};
    double time[1 + ROWS], value[2 * (1 + ROWS)];
    for (size_t k = 0; k <= ROWS; k++) {
        time[k] = k ? (double)(k - 1) : 0.0;
        value[k] = b->y[k ? k - 1 : 0];
    }
    for (size_t k = 0; k <= ROWS; k++)
        value[1 + ROWS + k] = NAN;
    const char *const name[] = {b->column, "z"};
    size_t n = only ? 1 : 2;
    if (only) value[1] = NAN;
    gsv_series *s = gsv_series_new(n, start, 2, name, time, value);
    assert_non_null(s);
    return s;
}

static void failures__have_a_message(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(BAD); i++)
        for (size_t threads = 1; threads <= 4; threads += 3)
            for (int gradient = 0; gradient < 2; gradient++) {
                gsv_model *m = gsv_model_parse(BAD[i].text, "bad");
                if (!m) fail_msg("%s", gsv_last_error());
                gsv_series *s = bad_series(&BAD[i], false);
                gsv_options o = guided_options(64, 2);
                gsv_result r;
                o.threads = threads;
                o.gradient = gradient;
                int status = gsv_loglik(m, s, &o, &r);
                const char *message = gsv_last_error();
                if (status != BAD[i].status)
                    fail_msg("case %zu: status %d, %s", i, status, message);
                for (size_t k = 0; k < 3 && BAD[i].message[k]; k++)
                    if (!strstr(message, BAD[i].message[k]))
                        fail_msg("case %zu: %s", i, message);
                gsv_series_free(s);
                gsv_model_free(m);
            }
}

/* One row: the density of its obs over the first state's law. */
static void one_row__is_the_first_states_law(void **state)
{
    static const struct bad ONE = {
        "state x\ndx = -sin(x)*dt + dW\nobs y ~ normal(x, 2)\n"
        "init x ~ normal(1, 0.5)\n",
        {0.3},
        0,
        {NULL},
        "y"};
    (void)state;
    gsv_model *m = gsv_model_parse(ONE.text, "one");
    gsv_series *s = bad_series(&ONE, true);
    gsv_options o = guided_options(64, 2);
    gsv_result r;
    if (gsv_loglik(m, s, &o, &r)) fail_msg("%s", gsv_last_error());
    assert_true(fabs(r.loglik - exact_normal(0.3, 1.0, 4.25)) < 1e-12);
    gsv_result_free(&r);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* Steps that leap over the states' boundary throw particles far away, where
 * weights have no digits left: counts must not become more likely than 1. */
static void counts__are_never_more_likely_than_one(void **state)
{
    static const double RATES[] = {0.01, 1.5, 4.7, 12.0, 50.0};
    static const double CASES[] = {NAN, 8, 12, 32, 106, 63, 94, 50, 28, 15, 13};
    enum { WEEKS = sizeof CASES / sizeof *CASES };
    const size_t start[] = {0, WEEKS};
    const char *const name[] = {"cases"};
    double time[WEEKS];
    size_t finite = 0;
    (void)state;
    for (size_t k = 0; k < WEEKS; k++)
        time[k] = (double)k;
    gsv_series *s = gsv_series_new(1, start, 1, name, time, CASES);
    for (size_t c = 0; c < 6 * COUNT(RATES); c++) {
        char text[400];
        snprintf(text, sizeof text,
                 "state S, I\n reaction S + I -> 2 I : %g*S*I/763\n"
                 "reaction I -> 0 : 0.13*I\n"
                 "obs cases ~ negbin(0.6*integral(%g*S*I/763), 16)\n"
                 "init S ~ normal(760, 1)\n init I ~ normal(3, 1)",
                 RATES[c / 6], RATES[c / 6]);
        gsv_model *m = model_of(text);
        gsv_options o = guided_options(64, (size_t)1 << c % 6);
        gsv_result r;
        if (!gsv_loglik(m, s, &o, &r)) {
            if (!(r.loglik <= 0.0))
                fail_msg("rate %g, %zu steps: %g", RATES[c / 6], o.steps,
                         r.loglik);
            finite++;
            gsv_result_free(&r);
        }
        gsv_model_free(m);
    }
    assert_true(finite > 15);
    gsv_series_free(s);
}

/* More states, integrals or noises than small matrices have room for. */
static void sizes__have_a_most(void **state)
{
    static const struct {
        const char *text;
        int status;
    } CASES[] = {
        {"state x[64]\ndx = -x*dt + dW\nobs y ~ student(x[1], 1, 4)\n"
         "init x ~ normal(0, 1)\n",
         0},
        {"state x[65]\ndx = -x*dt + dW\nobs y ~ student(x[1], 1, 4)\n"
         "init x ~ normal(0, 1)\n",
         GSV_BAD_INPUT},
        {"state x[40]\ndx = -x*dt + dW\n"
         "obs y ~ student(sum(integral(x[1:25])), 1, 4)\n"
         "init x ~ normal(0, 1)\n",
         GSV_BAD_INPUT},
        {"state p, q, x[21]\ndp = q*dt\ndq = sin(x[1])*dt\ndx = -x*dt + dW\n"
         "obs y ~ student(p, 1, 4)\ninit x ~ normal(0, 1)\n"
         "init p ~ normal(0, 1)\ninit q ~ normal(0, 1)\n",
         0},
        {"state p, q, x[22]\ndp = q*dt\ndq = sin(x[1])*dt\ndx = -x*dt + dW\n"
         "obs y ~ student(p, 1, 4)\ninit x ~ normal(0, 1)\n"
         "init p ~ normal(0, 1)\ninit q ~ normal(0, 1)\n",
         GSV_BAD_INPUT},
    };
    static const struct bad DATA = {NULL, {0.3, 0.1, 0.2, 0.4}, 0, {NULL}, "y"};
    (void)state;
    for (size_t i = 0; i < COUNT(CASES); i++) {
        gsv_model *m = gsv_model_parse(CASES[i].text, "sizes");
        if (!m) fail_msg("%s", gsv_last_error());
        gsv_series *s = bad_series(&DATA, false);
        gsv_options o = guided_options(3, 1);
        gsv_result r;
        int status = gsv_loglik(m, s, &o, &r);
        if (status != CASES[i].status)
            fail_msg("case %zu: %d, %s", i, status, gsv_last_error());
        if (!status) gsv_result_free(&r);
        else assert_non_null(strstr(gsv_last_error(), "64"));
        gsv_series_free(s);
        gsv_model_free(m);
    }
}

/* --- Memory --------------------------------------------------------------- */

/* Every allocation of a run fails once; with pilots and tracks, paths too. */
static void memory__may_be_out_at_any_time(void **state)
{
    static const struct {
        const struct guided_case *c;
        size_t tracks;
    } CASES[] = {{&WIDE_CASES[3], 3},  {&WIDE_CASES[2], 1},
                 {&GRID_CASES[0], 2},  {&INERT_CASES[0], 2},
                 {&INERT_CASES[1], 1}, {&INERT_CASES[2], 1}};
    (void)state;
    for (size_t i = 0; i < COUNT(CASES); i++) {
        gsv_model *m = case_model(CASES[i].c);
        gsv_series *s = case_series(CASES[i].c, CASES[i].tracks);
        size_t n = 0, fails = 0;
        int status;
        do {
            gsv_options o = guided_options(16, 1);
            gsv_result r;
            o.gradient = true;
            mem_fail_at(++n);
            status = gsv_loglik(m, s, &o, &r);
            mem_fail_at(0);
            if (!status) gsv_result_free(&r);
            else assert_int_equal(status, GSV_NO_MEMORY);
            fails += status != 0;
            if (status) assert_non_null(strstr(gsv_last_error(), "memory"));
        } while (status || n < fails);
        assert_true(fails > 20);
        gsv_series_free(s);
        gsv_model_free(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(step__is_of_second_order),
        cmocka_unit_test(total__is_that_of_the_first_psi),
        cmocka_unit_test(control__is_finite),
        cmocka_unit_test(bits__are_those_of_any_number_of_threads),
        cmocka_unit_test(tracks__do_not_see_each_other),
        cmocka_unit_test(failures__have_a_message),
        cmocka_unit_test(one_row__is_the_first_states_law),
        cmocka_unit_test(counts__are_never_more_likely_than_one),
        cmocka_unit_test(sizes__have_a_most),
        cmocka_unit_test(memory__may_be_out_at_any_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
