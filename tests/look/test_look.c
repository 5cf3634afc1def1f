/* SPDX-License-Identifier: MIT */
/* Twelve kinds of simulated data: the first suggestion is that of their kind,
 * signs are seen, and every text can be fitted. */
#include "learn.h"

enum { ROWS = 401 };

/* Nothing in src/look was chosen by these seeds. GSV_LOOK_SEEDS=20 tries more.
 */
enum { FIRST_SEED = 1001, SEEDS = 2 };

/* What is simulated, in gaps of h, and what is done to the rows. */
enum change { NOTHING, JUMPS, HOLES, CONSTANT };

static const struct {
    const char *name, *text;
    double h, start;
    size_t tracks;
    enum change change;
    const char *kind; /* of the first suggestion */
} CASE[] = {
    {"ou", "state x\n dx = (2 - x)*dt + 0.7*dW", 0.2, 2, 1, NOTHING,
     "Ornstein-Uhlenbeck"},
    {"ou and noise",
     "state z\n dz = 0.5*(2 - z)*dt + 0.7*dW\n init z ~ normal(2, 0.5)\n"
     "obs x ~ normal(z, 0.3)",
     0.2, 0, 1, NOTHING, "measurement noise"},
    {"underdamped", "state x, v\n dx = v*dt\n dv = (-x - 0.3*v)*dt + 0.5*dW",
     0.2, 0, 1, NOTHING, "inertia"},
    {"gbm", "state x\n dx = 0.1*x*dt + 0.3*x*dW", 0.05, 1, 1, NOTHING,
     "geometric"},
    {"cir", "state x\n dx = (0.5 - x)*dt + 0.6*sqrt(x)*dW", 0.2, 0.5, 1,
     NOTHING, "root"},
    {"double well", "state x\n dx = (x - x^3)*dt + 0.5*dW", 0.5, 1, 1, NOTHING,
     "double well"},
    {"jumps", "state x\n dx = (2 - x)*dt + 0.7*dW", 0.2, 2, 1, JUMPS,
     "Ornstein-Uhlenbeck"},
    {"periodic", "state x\n dx = (-0.5*x + 2*cos(2*t))*dt + 0.5*dW", 0.2, 0, 1,
     NOTHING, "periodic"},
    {"aliased", "state x, v\n dx = v*dt\n dv = (-x - 0.3*v)*dt + 0.5*dW", 5.0,
     0, 1, NOTHING, "Ornstein-Uhlenbeck"},
    {"panel", "state x\n param m = 0\n dx = (m - x)*dt + 0.6*dW", 0.2, 0, 6,
     NOTHING, "each series"},
    {"gappy", "state x\n dx = (2 - x)*dt + 0.7*dW", 0.2, 2, 1, HOLES,
     "Ornstein-Uhlenbeck"},
    {"constant column", "state x\n dx = (2 - x)*dt + 0.7*dW", 0.2, 2, 1,
     CONSTANT, "Ornstein-Uhlenbeck"},
};

/* One track of the model, with its parameter m; column x to value. */
static void simulate_track(size_t k, size_t track, uint64_t seed, size_t rows,
                           double *time, double *value)
{
    gsv_model *m = model_of(CASE[k].text);
    gsv_simulate_options o = gsv_simulate_options_default();
    const double start[] = {CASE[k].start, 0.0};
    double mean = (double)track;
    if (gsv_model_params(m)) gsv_model_set(m, "m", 1, &mean);
    for (size_t i = 0; i < rows; i++)
        time[i] = CASE[k].h * (double)i;
    o.times = rows;
    o.time = time;
    o.start = strstr(CASE[k].text, "init") ? NULL : start;
    o.seed = 1000 * seed + 10 * k + track;
    o.step = CASE[k].h / 20.0;
    gsv_series *s = gsv_simulate(m, &o);
    if (!s) fail_msg("%s: %s", CASE[k].name, gsv_last_error());
    for (size_t c = 0; c < s->columns; c++)
        if (!strcmp(s->name[c], "x"))
            memcpy(value, s->value + c * rows, rows * sizeof *value);
    gsv_series_free(s);
    gsv_model_free(m);
}

static gsv_series *data_of(size_t k, uint64_t seed)
{
    static double time[ROWS], value[2 * ROWS];
    static const char *const NAME[] = {"x", "c"};
    size_t tracks = CASE[k].tracks, rows = ROWS / tracks, start[9] = {0};
    double jump = 0.0;
    for (size_t t = 0; t < tracks; t++) {
        simulate_track(k, t, seed, rows, time + t * rows, value + t * rows);
        start[t + 1] = (t + 1) * rows;
    }
    size_t n = tracks * rows;
    for (size_t i = 0; i < n; i++) {
        jump = i % 90 == 60 ? (i % 4 ? 6.0 : -6.0) : 0.82 * jump;
        if (CASE[k].change == JUMPS) value[i] += jump;
        if (CASE[k].change == HOLES && (i % 7 == 3 || (i > 100 && i < 150)))
            value[i] = NAN;
        value[n + i] = 7.0;
    }
    gsv_series *s = gsv_series_new(
        tracks, start, CASE[k].change == CONSTANT ? 2 : 1, NAME, time, value);
    assert_non_null(s);
    return s;
}

static void check_signs(size_t k, const gsv_look_result *r)
{
    const gsv_look_column *c = r->column;
    if ((CASE[k].change == JUMPS) != (c->jumps > 0))
        fail_msg("%s: %zu jumps", CASE[k].name, c->jumps);
    if (CASE[k].change == HOLES) assert_true(c->missing > 90);
    if (CASE[k].change == CONSTANT) assert_true(r->column[1].flat);
    bool coarse = strstr(r->report, "longer than the correlation") != NULL;
    if (coarse != !strcmp(CASE[k].name, "aliased"))
        fail_msg("%s: %s", CASE[k].name, r->report);
}

static void check_texts(const gsv_look_result *r, const gsv_series *s)
{
    assert_true(r->models >= 2);
    for (size_t i = 0; i < r->models; i++) {
        gsv_model *m = gsv_model_parse(r->model[i], NULL);
        if (!m || gsv_model_bind(m, s) || gsv_check_fit(m))
            fail_msg("%s:\n%s", gsv_last_error(), r->model[i]);
        gsv_model_free(m);
    }
}

/* Whether the first suggestion is right; otherwise a sentence is added. */
static bool is_suggested(size_t k, uint64_t seed, char *wrong, size_t size)
{
    gsv_series *s = data_of(k, seed);
    gsv_options o = gsv_options_default();
    gsv_look_result r;
    o.threads = 1;
    if (gsv_look(s, &o, &r)) fail_msg("%s", gsv_last_error());
    bool good = strstr(r.column[0].kind, CASE[k].kind) != NULL;
    size_t used = strlen(wrong);
    if (!good)
        snprintf(wrong + used, size - used, "%s: %s; ", CASE[k].name,
                 r.column[0].kind);
    check_signs(k, &r);
    check_texts(&r, s);
    gsv_look_free(&r);
    gsv_series_free(s);
    return good;
}

/* Eleven of twelve, with every seed. */
static void look__suggests_the_kind_that_was_simulated(void **state)
{
    const char *asked = getenv("GSV_LOOK_SEEDS");
    uint64_t seeds = asked ? strtoull(asked, NULL, 10) : SEEDS, bad = 0;
    (void)state;
    for (uint64_t seed = FIRST_SEED; seed < FIRST_SEED + seeds; seed++) {
        size_t right = 0;
        char wrong[800] = "";
        for (size_t k = 0; k < COUNT(CASE); k++)
            right += is_suggested(k, seed, wrong, sizeof wrong);
        if (right < COUNT(CASE))
            print_message("seed %llu: %zu of %zu; %s\n",
                          (unsigned long long)seed, right, COUNT(CASE), wrong);
        bad += right + 1 < COUNT(CASE);
    }
    assert_int_equal(bad, 0);
}

/* Several columns are one text, with a linear system beside it. */
static void look__at_columns_makes_one_model(void **state)
{
    (void)state;
    static double time[100], value[300];
    static const char *const NAME[] = {"a", "b b", "c"};
    static const size_t START[] = {0, 100};
    double *z = normals(200, 5);
    for (size_t i = 0; i < 100; i++) {
        time[i] = 0.1 * (double)i;
        for (size_t c = 0; c < 3; c++)
            value[100 * c + i] =
                i ? 0.9 * value[100 * c + i - 1] + z[i + c * 50] : 1.0;
    }
    gsv_series *s = gsv_series_new(1, START, 3, NAME, time, value);
    gsv_options o = gsv_options_default();
    gsv_look_result r;
    if (gsv_look(s, &o, &r)) fail_msg("%s", gsv_last_error());
    assert_false(r.column[1].named);
    assert_non_null(strstr(r.report, "rename"));
    assert_int_equal(r.models, 3);
    assert_non_null(strstr(r.model[2], "a_a_c*(c - m_c)"));
    for (size_t i = 0; i < r.models; i++) {
        gsv_model *m = gsv_model_parse(r.model[i], NULL);
        assert_non_null(m);
        assert_int_equal(gsv_model_data_columns(m), 2);
        gsv_model_free(m);
    }
    gsv_look_free(&r);
    gsv_series_free(s);
    for (size_t i = 0; i < 300; i++)
        value[i] = 3.0;
    s = gsv_series_new(1, START, 1, NAME, time, value);
    expect_error(gsv_look(s, &o, &r), GSV_BAD_INPUT, "no column that changes");
    gsv_series_free(s);
    mem_free(z);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(look__suggests_the_kind_that_was_simulated),
        cmocka_unit_test(look__at_columns_makes_one_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
