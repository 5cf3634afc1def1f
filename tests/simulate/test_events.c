/* SPDX-License-Identifier: MIT */
/* Known jumps of simulated tracks and forecasts, against the solutions of
 * equations that have hardly any noise; and first states by their laws and at
 * their time. */
#include "exact.h"

#include <stdio.h>

#include "predict/forecast.h"

static gsv_series *table_of(size_t rows, size_t columns,
                            const char *const *name, const double *time,
                            const double *value)
{
    const size_t start[2] = {0, rows};
    gsv_series *s = gsv_series_new(1, start, columns, name, time, value);
    if (!s) fail_msg("%s", gsv_last_error());
    return s;
}

static gsv_series *simulate(const gsv_model *m, const gsv_simulate_options *o)
{
    gsv_series *s = gsv_simulate(m, o);
    if (!s) fail_msg("%s", gsv_last_error());
    return s;
}

static const double *column_of(const gsv_series *s, const char *name)
{
    for (size_t c = 0; c < s->columns; c++)
        if (!strcmp(s->name[c], name)) return s->value + c * s->rows;
    fail_msg("there is no column '%s'", name);
    return NULL;
}

/* --- Jumps ---------------------------------------------------------------- */

/* Two columns of events, at times that are asked for and at others. */
enum { ROWS = 6 };
static const double ROW_TIME[ROWS] = {-0.5, 0.0, 0.3, 0.5, 1.25, 4.0};
static const double CELL[2 * ROWS] = {2,   NAN, 4,   NAN, 1,   9,
                                      NAN, 3,   NAN, NAN, 0.5, NAN};
static const char *const CELL_NAME[] = {"dose", "other"};
static const double TIME[] = {0.0, 0.5, 1.0, 2.0};

/* What x is in the rows without noise: over the states x and v, where v is a
 * constant; jumps add a and b times dose and other. */
static const struct kind {
    const char *text;
    double rate;       /* dx = -rate x dt           */
    double of_x, a, b; /* x += (of_x x + a) dose + b other */
} KINDS[] = {
    {"dx = -0.5*x*dt + 1e-7*dW1\nevent x += dose\n", 0.5, 0, 1, 0},
    {"dx = -0.5*x*dt + 1e-7*dW1\nevent x += F*dose\nevent x += 2*other\n", 0.5,
     0, 0.25, 2},
    {"dx = -0.5*x*dt + 1e-7*x*dW1\nevent x += dose*x\nevent x += other\n", 0.5,
     1, 0, 1},
    {"dx = -0.5*x*dt + 1e-7*sqrt(x)*dW1\nevent x += (v - 1)*x*dose\n"
     "event x += other*v\nevent v += 0*dose\n",
     0.5, 1, 0, 2},
    {"dx = -2*x*dt + 1e-7*dW1 + 1e-7*v*dW2\nevent x += dose*(x + F)\n", 2, 1,
     0.25, 0},
};

static gsv_model *model_of_kind(const struct kind *k, const char *more)
{
    char text[400];
    snprintf(text, sizeof text,
             "state x, v\nparam F = 0.25\ndv = 1e-9*dW2\n"
             "init x ~ normal(3, 1e-9)%s\ninit v ~ normal(2, 1e-9)\n"
             "obs y ~ normal(10*x, 1e-6)\n%s",
             more, k->text);
    return model_of(text);
}

/* x before the events of a time, from x0 at begin. */
static double x_at(const struct kind *k, double x0, double begin, double time)
{
    double x = x0, now = begin;
    for (size_t r = 0; r < ROWS && ROW_TIME[r] < time; r++) {
        double dose = CELL[r], other = CELL[ROWS + r];
        if (ROW_TIME[r] < begin) continue;
        x *= exp(-k->rate * (ROW_TIME[r] - now));
        now = ROW_TIME[r];
        double jump = isnan(dose) ? 0.0 : (k->of_x * x + k->a) * dose;
        x += jump + (isnan(other) ? 0.0 : k->b * other);
    }
    return x * exp(-k->rate * (time - now));
}

/* Whether the model has this column. */
static bool has_column(const gsv_series *s, const char *name)
{
    for (size_t c = 0; c < s->columns; c++)
        if (!strcmp(s->name[c], name)) return true;
    return false;
}

static void check_rows(const struct kind *k, const gsv_series *s, double begin,
                       double close)
{
    const double *x = column_of(s, "x"), *y = column_of(s, "y");
    size_t asked = 0, events = 0;
    for (size_t i = 0; i < s->rows; i++) {
        double t = s->time[i], exact = x_at(k, 3.0, begin, t);
        for (size_t c = 0; c < 2; c++) {
            if (!has_column(s, CELL_NAME[c])) continue;
            double cell = NAN, found = column_of(s, CELL_NAME[c])[i];
            for (size_t r = 0; r < ROWS; r++)
                if (ROW_TIME[r] == t) cell = CELL[c * ROWS + r];
            assert_true(isnan(cell) ? isnan(found) : found == cell);
            if (!isnan(cell)) events++;
        }
        bool in = false;
        for (size_t n = 0; n < COUNT(TIME); n++)
            in = in || TIME[n] == t;
        asked += in;
        assert_int_equal(!in, isnan(x[i]));
        assert_int_equal(!in, isnan(y[i]));
        if (!in) continue;
        assert_true(fabs(x[i] - exact) <= close * (1.0 + fabs(exact)));
        assert_true(fabs(y[i] - 10.0 * x[i]) <= 2e-5);
    }
    assert_int_equal(asked, COUNT(TIME));
    assert_true(events >= 2);
}

static void tracks__jump_after_the_observations_of_a_row(void **state)
{
    (void)state;
    static const struct {
        const char *more;
        double begin;
    } START[] = {{"", 0.0},
                 {" at 0", 0.0},
                 {" at -0.25", -0.25},
                 {" at -0.5", -0.5},
                 {" at -1", -1.0}};
    static const double CLOSE[] = {5e-3, 5e-3, 2e-5, 2e-5};
    gsv_series *in = table_of(ROWS, 2, CELL_NAME, ROW_TIME, CELL);
    gsv_simulate_options o = gsv_simulate_options_default();
    o.times = COUNT(TIME);
    o.time = TIME;
    o.input = in;
    o.step = 1e-3;
    o.threads = 1;
    for (size_t i = 0; i < COUNT(KINDS) * COUNT(START) * COUNT(CLOSE); i++) {
        const struct kind *kind = &KINDS[i % COUNT(KINDS)];
        size_t j = i / COUNT(KINDS) % COUNT(START);
        size_t scheme = i / COUNT(KINDS) / COUNT(START);
        gsv_model *m = model_of_kind(kind, START[j].more);
        o.scheme = (enum gsv_scheme)scheme;
        gsv_series *s = simulate(m, &o);
        check_rows(kind, s, START[j].begin, CLOSE[scheme]);
        gsv_series_free(s);
        gsv_model_free(m);
    }
    gsv_series_free(in);
}

/* The first state is that of the first row where it is given. */
static void tracks__start_in_the_first_row_where_that_is_given(void **state)
{
    (void)state;
    const struct kind *kind = &KINDS[1];
    static const double START[] = {3.0, 2.0};
    gsv_series *in = table_of(ROWS, 2, CELL_NAME, ROW_TIME, CELL);
    gsv_model *m = model_of_kind(kind, " at -1");
    gsv_simulate_options o = gsv_simulate_options_default();
    o.times = COUNT(TIME);
    o.time = TIME;
    o.input = in;
    o.start = START;
    gsv_series *s = simulate(m, &o);
    check_rows(kind, s, 0.0, 2e-5);
    gsv_series_free(s);
    gsv_model_free(m);
    gsv_series_free(in);
}

static void simulate__says_what_it_lacks(void **state)
{
    (void)state;
    static const char *const WRONG[] = {"dose", "else"};
    gsv_series *in = table_of(ROWS, 2, WRONG, ROW_TIME, CELL);
    static const double LATE[] = {-2.0, 0.0};
    const struct {
        const gsv_series *input;
        const double *time;
        const char *text;
    } CASE[] = {
        {NULL, TIME,
         "the model has the event column 'dose'; give a file with its values"},
        {in, TIME, "data has no column 'other', which the model needs"},
    };
    gsv_model *m = model_of_kind(&KINDS[1], " at -1");
    gsv_simulate_options o = gsv_simulate_options_default();
    o.times = 2;
    for (size_t i = 0; i < COUNT(CASE); i++) {
        o.time = CASE[i].time;
        o.input = CASE[i].input;
        assert_null(gsv_simulate(m, &o));
        assert_string_equal(gsv_last_error(), CASE[i].text);
    }
    gsv_series_free(in);
    in = table_of(ROWS, 2, CELL_NAME, ROW_TIME, CELL);
    o.time = LATE;
    o.input = in;
    assert_null(gsv_simulate(m, &o));
    assert_string_equal(gsv_last_error(),
                        "the times begin at -2, before the time -1 of the "
                        "model's init; give later --times, or an --x0");
    gsv_series_free(in);
    gsv_model_free(m);
}

/* A jump that leaves x > 0. */
static void simulate__names_the_event_that_leaves_the_domain(void **state)
{
    (void)state;
    gsv_model *m = model_of("state x\ndx = -x*dt + 0.1*sqrt(x)*dW\n"
                            "event x += -dose*x\n");
    gsv_series *in = table_of(ROWS, 2, CELL_NAME, ROW_TIME, CELL);
    gsv_simulate_options o = gsv_simulate_options_default();
    static const double START[] = {3.0};
    o.times = COUNT(TIME);
    o.time = TIME;
    o.input = in;
    o.start = START;
    assert_null(gsv_simulate(m, &o));
    assert_non_null(strstr(gsv_last_error(), "the event at time 0.3 takes "
                                             "track 1 out of the model's "
                                             "domain"));
    gsv_series_free(in);
    gsv_model_free(m);
}

/* Many tracks on several threads, and one alone. */
static void tracks__have_the_same_bits_on_any_number_of_threads(void **state)
{
    (void)state;
    gsv_series *in = table_of(ROWS, 2, CELL_NAME, ROW_TIME, CELL);
    gsv_model *m = model_of("state x\ndx = -x*dt + 0.3*dW\n"
                            "obs y ~ normal(x, 0.1)\nevent x += dose\n"
                            "init x ~ student(1, 2, 5) at -1\n");
    gsv_simulate_options o = gsv_simulate_options_default();
    o.times = COUNT(TIME);
    o.time = TIME;
    o.input = in;
    o.tracks = 700;
    o.threads = 1;
    gsv_series *one = simulate(m, &o);
    o.threads = 4;
    gsv_series *four = simulate(m, &o);
    o.tracks = 3;
    gsv_series *few = simulate(m, &o);
    size_t n = few->rows;
    for (size_t c = 0; c < one->columns; c++) {
        const double *a = one->value + c * one->rows;
        assert_memory_equal(a, four->value + c * one->rows,
                            one->rows * sizeof *a);
        assert_memory_equal(a, few->value + c * n, n * sizeof *a);
    }
    gsv_series_free(one);
    gsv_series_free(four);
    gsv_series_free(few);
    gsv_model_free(m);
    gsv_series_free(in);
}

/* --- Forecasts ------------------------------------------------------------ */

static void forecasts__jump_as_tracks_do(void **state)
{
    (void)state;
    static const double AT[] = {0.3, 0.5, 2.0}, X[] = {3.0, 2.0};
    gsv_series *in = table_of(ROWS, 2, CELL_NAME, ROW_TIME, CELL);
    for (size_t i = 0; i < COUNT(KINDS); i++) {
        struct forecast f;
        gsv_model *m = model_of_kind(&KINDS[i], "");
        const struct forecast_options o = {
            .draws = 4, .step = 1e-3, .threads = 1};
        if (forecast_init(&f, m, in, &o, COUNT(AT)))
            fail_msg("%s", gsv_last_error());
        double *value = NEW(double, forecast_size(&f)), draw[4];
        const struct origin origin = {
            .from = {.time = 0.0, .points = 1, .stride = 1, .x = X},
            .times = COUNT(AT),
            .at = AT};
        assert_int_equal(forecast_run(&f, 1, &origin, value), 0);
        for (size_t k = 0; k < COUNT(AT); k++) {
            double exact = x_at(&KINDS[i], 3.0, 0.0, AT[k]);
            forecast_copy(&f, value, 0, 0, k, draw);
            for (size_t n = 0; n < 4; n++)
                assert_true(fabs(draw[n] - exact) <=
                            2e-5 * (1.0 + fabs(exact)));
        }
        mem_free(value);
        forecast_free(&f);
        gsv_model_free(m);
    }
    gsv_series_free(in);
}

/* --- Inputs --------------------------------------------------------------- */

/* An input that changes between the times of the result, for less than a step:
 * dx = (u - x) dt. */
static void inputs__count_also_between_the_rows(void **state)
{
    (void)state;
    static const struct {
        const char *hold;
        double time[4], u[4], area; /* of u, about the second time */
    } CASE[] = {{" hold", {0, 0.31, 0.311, 2}, {0, 400, 0, 0}, 0.4},
                {" hold", {0, 0.5, 0.5001, 2}, {0, 1e4, 0, 0}, 1.0},
                {"", {0, 0.31, 0.311, 0.312}, {0, 0, 400, 0}, 0.4}};
    static const double NOW[] = {0.0, 1.0}, START[] = {2.0};
    static const char *const NAME[] = {"u"};
    for (size_t i = 0; i < COUNT(CASE); i++) {
        char text[200];
        snprintf(text, sizeof text,
                 "state x\ninput u%s\ndx = (u - x)*dt + 1e-9*dW\n",
                 CASE[i].hold);
        gsv_model *m = model_of(text);
        gsv_series *in = table_of(4, 1, NAME, CASE[i].time, CASE[i].u);
        gsv_simulate_options o = gsv_simulate_options_default();
        o.times = 2;
        o.time = NOW;
        o.input = in;
        o.start = START;
        o.step = 0.05;
        gsv_series *s = simulate(m, &o);
        double exact =
            2.0 * exp(-1.0) + CASE[i].area * exp(CASE[i].time[1] - 1.0);
        assert_true(fabs(column_of(s, "x")[1] - exact) < 1e-3);
        gsv_series_free(s);
        gsv_series_free(in);
        gsv_model_free(m);
    }
}

/* --- First states --------------------------------------------------------- */

/* Shares below some quantiles of the law, and the law at time 0 of a state that
 * moves by a known factor from its own time on. */
static void first_states__have_the_law_of_their_init(void **state)
{
    (void)state;
    enum { TRACKS = 20000 };
    static const struct {
        const char *init;
        double factor;      /* of x from then to time 0         */
        double quantile[3]; /* at 10 %, 50 % and 90 %           */
    } CASE[] = {
        {"normal(1, 2)", 1.0, {-1.5631031, 1.0, 3.5631031}},
        {"normal(1, 2) at -2", 0.13533528, {-1.5631031, 1.0, 3.5631031}},
        {"student(1, 2, 3)", 1.0, {-2.2754888, 1.0, 4.2754888}},
        {"student(1, 2, 1) at -1", 0.36787944, {-5.1553671, 1.0, 7.1553671}},
    };
    static const double NOW[] = {0.0}, SHARE[] = {0.1, 0.5, 0.9};
    for (size_t i = 0; i < COUNT(CASE); i++) {
        char text[200];
        snprintf(text, sizeof text,
                 "state x\ndx = -x*dt + 1e-9*dW\ninit x ~ %s\n", CASE[i].init);
        gsv_model *m = model_of(text);
        gsv_simulate_options o = gsv_simulate_options_default();
        o.times = 1;
        o.time = NOW;
        o.tracks = TRACKS;
        gsv_series *s = simulate(m, &o);
        const double *x = column_of(s, "x");
        for (size_t k = 0; k < 3; k++) {
            double below = 0.0, p = SHARE[k];
            for (size_t r = 0; r < TRACKS; r++)
                below += x[r] < CASE[i].factor * CASE[i].quantile[k];
            double error = sqrt(p * (1.0 - p) / TRACKS);
            assert_true(fabs(below / TRACKS - p) < TOLERANCE * error);
        }
        gsv_series_free(s);
        gsv_model_free(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tracks__jump_after_the_observations_of_a_row),
        cmocka_unit_test(tracks__start_in_the_first_row_where_that_is_given),
        cmocka_unit_test(simulate__says_what_it_lacks),
        cmocka_unit_test(simulate__names_the_event_that_leaves_the_domain),
        cmocka_unit_test(tracks__have_the_same_bits_on_any_number_of_threads),
        cmocka_unit_test(forecasts__jump_as_tracks_do),
        cmocka_unit_test(inputs__count_also_between_the_rows),
        cmocka_unit_test(first_states__have_the_law_of_their_init)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
