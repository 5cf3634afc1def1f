/* SPDX-License-Identifier: MIT */
/* A fit is the same bit for bit on any number of threads, and when it was
 * stopped anywhere, or lost, and resumed; what cannot be resumed is said. */
#include "resume.h"

#include "data/safetensors.h"

/* The well in units of time in which its gaps are short. */
static const char LEARN_DENSE[] =
    "state x\n param a = 0.1, b = 0.1 > 0, s = 1 > 0\n"
    "dx = 0.05*(a*x - b*x^3)*dt + s*dW";

static gsv_fit_options adam_options(void)
{
    gsv_fit_options o = fit_options();
    o.optimizer = GSV_OPTIMIZER_ADAM;
    o.iterations = 60;
    o.batch = 32;
    o.patience = 0.0;
    o.heldout = 0.05;
    return o;
}

static gsv_fit_options lbfgs_options(void)
{
    gsv_fit_options o = fit_options();
    o.optimizer = GSV_OPTIMIZER_LBFGS;
    return o;
}

/* --- Threads -------------------------------------------------------------- */

static void adam__has_the_same_bits_on_any_threads(void **state)
{
    (void)state;
    struct problem p;
    problem_open(&p, LEARN_NET, 201, adam_options());
    expect_same_on_threads(&p);
    assert_true(gsv_model_record(p.whole)->heldout_gaps == 10);
    assert_true(isfinite(gsv_model_record(p.whole)->heldout));
    problem_close(&p);
}

static void lbfgs__has_the_same_bits_on_any_threads(void **state)
{
    (void)state;
    struct problem p;
    problem_open(&p, LEARN_WELL, 101, lbfgs_options());
    expect_same_on_threads(&p);
    problem_close(&p);
}

/* --- Resuming ------------------------------------------------------------- */

/* The second stage begins at 40. */
static void adam__goes_on_as_if_it_had_not_stopped(void **state)
{
    (void)state;
    static const size_t AT[] = {1, 13, 39, 40, 41, 59};
    struct problem p;
    problem_open(&p, LEARN_NET, 201, adam_options());
    for (size_t i = 0; i<COUNT(AT); i += SLOWER> 1 ? 3 : 1)
        expect_same_after_stop(&p, 1, AT[i]);
    problem_close(&p);
}

static void adam__goes_on_from_what_a_crash_left(void **state)
{
    (void)state;
    static const size_t AT[] = {2, 40, 41, 60};
    struct problem p;
    problem_open(&p, LEARN_NET, 201, adam_options());
    for (size_t i = 0; i<COUNT(AT); i += SLOWER> 1 ? 3 : 1)
        expect_same_after_loss(&p, 1, AT[i]);
    problem_close(&p);
}

/* Every schedule keeps what it needs, decay and averages too. */
static void adam__keeps_every_schedule(void **state)
{
    (void)state;
    static const enum gsv_schedule SCHEDULES[] = {GSV_SCHEDULE_PLATEAU,
                                                  GSV_SCHEDULE_CONSTANT};
    for (size_t i = 0; i < COUNT(SCHEDULES); i++) {
        struct problem p;
        gsv_fit_options o = adam_options();
        o.schedule = SCHEDULES[i];
        o.decay = 0.01;
        o.average = i ? 0.0 : 0.9;
        o.rate = 0.05;
        o.patience = 0.0;
        o.batch = 0;
        problem_open(&p, LEARN_NET, 201, o);
        expect_same_after_stop(&p, 1, 25);
        expect_same_after_loss(&p, 1, 45);
        problem_close(&p);
    }
}

/* Stopped in the very iteration in which the held-out likelihood has stood
 * still for long enough: there is nothing more to do. */
static void adam__that_would_end_early_ends_there_after_a_resume(void **state)
{
    (void)state;
    struct problem p;
    gsv_fit_options o = adam_options();
    o.estimator.paths = o.estimator.steps = 2;
    o.schedule = GSV_SCHEDULE_CONSTANT;
    o.rate = 0.3;
    o.average = 0.0;
    o.patience = 1e-3;
    o.iterations = 200;
    problem_open(&p, LEARN_NET, 201, o);
    const gsv_record *r = gsv_model_record(p.whole);
    assert_int_equal(r->ended, GSV_ENDED_EARLY);
    assert_true(r->iterations < 200);
    expect_same_after_stop(&p, 1, r->iterations - 1);
    expect_same_after_stop(&p, 1, r->iterations);
    problem_close(&p);
}

/* Where the first stage stands still, iterations are left out. */
static void adam__goes_on_where_a_stage_was_cut_short(void **state)
{
    (void)state;
    struct problem p;
    gsv_fit_options o = adam_options();
    o.rate = 0.1;
    o.average = 0.0;
    o.patience = 0.01;
    problem_open(&p, LEARN_NET, 201, o);
    struct watch all = {0};
    gsv_model *m = model_of(p.text);
    o.progress = watch;
    o.user = &all;
    fit_must(m, p.s, &o);
    gsv_model_free(m);
    for (size_t calls = 1; calls<all.calls; calls += SLOWER> 1 ? 9 : 4) {
        struct watch w = {.stop_calls = calls};
        gsv_model *one = model_of(p.text), *two = model_of(p.text);
        o = p.o;
        o.progress = watch;
        o.user = &w;
        o.checkpoint = "a.fit";
        fit_must(one, p.s, &o);
        o = p.o;
        o.resume = "a.fit";
        fit_must(two, p.s, &o);
        assert_same_fit(two, p.whole);
        gsv_model_free(one);
        gsv_model_free(two);
    }
    problem_close(&p);
}

static void adam__keeps_its_restarts(void **state)
{
    (void)state;
    struct problem p;
    gsv_fit_options o = adam_options();
    o.restarts = 3;
    o.iterations = 30;
    problem_open(&p, LEARN_NET, 121, o);
    expect_same_after_stop(&p, 1, 25);
    expect_same_after_stop(&p, 2, 1);
    expect_same_after_stop(&p, 3, 22);
    expect_same_after_loss(&p, 2, 2);
    expect_same_after_loss(&p, 3, 21);
    problem_close(&p);
}

static void lbfgs__goes_on_as_if_it_had_not_stopped(void **state)
{
    (void)state;
    struct problem p;
    problem_open(&p, LEARN_WELL, 41, lbfgs_options());
    size_t last = gsv_model_record(p.whole)->iterations;
    assert_true(last > 4);
    for (size_t k = 1; k<last; k += SLOWER> 1 ? 5 : 2)
        expect_same_after_stop(&p, 1, k);
    expect_same_after_stop(&p, 1, last);
    for (size_t k = 2; k <= last; k += SLOWER > 1 ? 5 : 3)
        expect_same_after_loss(&p, 1, k);
    problem_close(&p);
}

/* Also where every restart finds one step a gap to be enough. */
static void lbfgs__keeps_its_restarts(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct problem p;
        gsv_fit_options o = lbfgs_options();
        o.restarts = 3;
        problem_open(&p, i ? LEARN_DENSE : LEARN_WELL, 41, o);
        expect_same_after_stop(&p, 1, 2);
        expect_same_after_stop(&p, 2, 1);
        expect_same_after_stop(&p, 3, 3);
        expect_same_after_loss(&p, 2, 3);
        problem_close(&p);
    }
}

/* Stopped twice, and resumed by the model that was stopped, whose values have
 * moved since. */
static void resume__does_not_depend_on_the_models_values(void **state)
{
    (void)state;
    struct problem p;
    problem_open(&p, LEARN_NET, 121, adam_options());
    struct watch w = {.restart = 1, .stop_at = 20};
    gsv_fit_options o = p.o;
    gsv_model *m = model_of(p.text);
    o.progress = watch;
    o.user = &w;
    o.checkpoint = "a.fit";
    fit_must(m, p.s, &o);
    w.stop_at = 45;
    o.resume = "a.fit";
    fit_must(m, p.s, &o);
    gsv_model *read = gsv_model_read("a.fit");
    assert_non_null(read);
    o = p.o;
    o.resume = "a.fit";
    fit_must(m, p.s, &o);
    assert_same_fit(m, p.whole);
    fit_must(read, p.s, &o);
    assert_same_fit(read, p.whole);
    gsv_model_free(m);
    gsv_model_free(read);
    problem_close(&p);
}

static void resume__counts_iterations_and_seconds_on(void **state)
{
    (void)state;
    struct problem p;
    problem_open(&p, LEARN_NET, 121, adam_options());
    struct watch w = {.restart = 1, .stop_at = 20};
    gsv_fit_options o = p.o;
    gsv_model *m = model_of(p.text);
    o.progress = watch;
    o.user = &w;
    o.checkpoint = "a.fit";
    const gsv_record *r = fit_must(m, p.s, &o);
    assert_int_equal(w.calls, 20);
    assert_int_equal(r->iterations, 20);
    double seconds = r->seconds;
    w = (struct watch){0};
    o.resume = "a.fit";
    r = fit_must(m, p.s, &o);
    assert_int_equal(w.calls, 40);
    assert_int_equal(r->iterations, 60);
    assert_true(r->seconds >= 0.9 * seconds);
    const gsv_record *whole = gsv_model_record(p.whole);
    assert_int_equal(r->points, 60);
    assert_int_equal(whole->points, 60);
    assert_memory_equal(r->curve, whole->curve,
                        3 * r->points * sizeof *r->curve);
    gsv_model_free(m);
    problem_close(&p);
}

/* A profile puts back everything, the optimiser's state too. */
static void resume__is_possible_after_a_profile(void **state)
{
    (void)state;
    struct problem p;
    problem_open(&p, LEARN_WELL, 41, lbfgs_options());
    struct watch w = {.restart = 1, .stop_at = 3};
    gsv_fit_options o = p.o;
    const double value = 0.6;
    double loglik;
    gsv_model *m = model_of(p.text), *n = model_of(p.text);
    o.progress = watch;
    o.user = &w;
    fit_must(m, p.s, &o);
    assert_int_equal(gsv_profile(m, p.s, &p.o, "s", 1, &value, &loglik), 0);
    assert_int_equal(gsv_model_write(m, "a.fit"), 0);
    o = p.o;
    o.resume = "a.fit";
    fit_must(n, p.s, &o);
    assert_same_fit(n, p.whole);
    gsv_model_free(m);
    gsv_model_free(n);
    problem_close(&p);
}

/* --- What cannot be resumed ----------------------------------------------- */

static void make_checkpoint_by(struct problem *p, enum gsv_optimizer optimizer)
{
    struct watch w = {.restart = 1, .stop_at = 20};
    gsv_fit_options o = adam_options();
    o.optimizer = optimizer;
    problem_open(p, LEARN_NET, 61, o);
    gsv_model *m = model_of(p->text);
    o.progress = watch;
    o.user = &w;
    o.checkpoint = "a.fit";
    fit_must(m, p->s, &o);
    gsv_model_free(m);
}

static void make_checkpoint(struct problem *p)
{
    make_checkpoint_by(p, GSV_OPTIMIZER_ADAM);
}

static void resume__says_what_differs(void **state)
{
    (void)state;
    static const char *const FIX[] = {"s"};
    struct problem p;
    make_checkpoint(&p);
    gsv_model *m = model_of(LEARN_NET);
    gsv_fit_options usual = p.o;
    usual.resume = "a.fit";
    size_t n = gsv_model_values(m);
    double *first = NEW(double, n);
    memcpy(first, gsv_model_value(m), n * sizeof *first);
    gsv_fit_options o[13];
    for (size_t i = 0; i < COUNT(o); i++)
        o[i] = usual;
    static const char *const WORDS[COUNT(o)] = {
        "--optimizer",     "--schedule", "--iterations", "--batch",
        "--restarts",      "--rate",     "--decay",      "--clip",
        "--average",       "--heldout",  "--patience",   "--seed",
        "estimator option"};
    o[0].optimizer = GSV_OPTIMIZER_LBFGS;
    o[1].schedule = GSV_SCHEDULE_PLATEAU;
    o[2].iterations = 61;
    o[3].batch = 31;
    o[4].restarts = 2;
    o[5].rate = 0.1;
    o[6].decay = 0.1;
    o[7].clip = 1.0;
    o[8].average = 0.5;
    o[9].heldout = 0.2;
    o[10].patience = 0.5;
    o[11].estimator.seed = 2;
    o[12].estimator.wide = true;
    for (size_t i = 0; i < COUNT(o); i++) {
        int status = gsv_fit(m, p.s, &o[i]);
        if (i) expect_error(status, GSV_BAD_INPUT, "a.fit", WORDS[i]);
        else expect_error(status, GSV_BAD_INPUT, "a.fit", "another --");
        assert_true(same_bits(n, first, gsv_model_value(m)));
        assert_null(gsv_model_record(m));
    }
    gsv_fit_options set = usual;
    set.kept = 1;
    set.keep = FIX;
    expect_error(gsv_fit(m, p.s, &set), GSV_BAD_INPUT, "a.fit", "--set");
    usual.fixed = 1;
    usual.fix = FIX;
    expect_error(gsv_fit(m, p.s, &usual), GSV_BAD_INPUT, "a.fit", "--fix");
    mem_free(first);
    gsv_model_free(m);
    problem_close(&p);
}

static void resume__says_that_data_or_model_differ(void **state)
{
    (void)state;
    struct problem p;
    make_checkpoint(&p);
    gsv_model *m = model_of(LEARN_NET), *other = model_of(LEARN_WELL);
    gsv_fit_options o = p.o;
    o.resume = "a.fit";
    p.s->value[7] += 1e-9;
    expect_error(gsv_fit(m, p.s, &o), GSV_BAD_INPUT, "a.fit", "another data");
    p.s->value[7] -= 1e-9;
    gsv_series *s = learn_well(other, 1, 61, 3);
    expect_error(gsv_fit(other, s, &o), GSV_BAD_INPUT, "a.fit",
                 "another model");
    o.resume = "none.fit";
    expect_error(gsv_fit(m, p.s, &o), GSV_BAD_INPUT, "none.fit");
    gsv_series_free(s);
    gsv_model_free(m);
    gsv_model_free(other);
    problem_close(&p);
}

static void resume__needs_a_state(void **state)
{
    (void)state;
    struct problem p;
    problem_open(&p, LEARN_NET, 61, adam_options());
    assert_int_equal(gsv_model_write(p.whole, "b.fit"), 0);
    gsv_model *m = model_of(LEARN_NET);
    gsv_fit_options o = p.o;
    o.resume = "b.fit";
    expect_error(gsv_fit(m, p.s, &o), GSV_BAD_INPUT, "b.fit",
                 "without the optimiser's state");
    FILE *out = fopen("b.fit", "w");
    assert_non_null(out);
    fputs(LEARN_NET, out);
    assert_int_equal(fclose(out), 0);
    expect_error(gsv_fit(m, p.s, &o), GSV_BAD_INPUT, "b.fit",
                 "without the optimiser's state");
    gsv_model_free(m);
    problem_close(&p);
}

/* --- Damage --------------------------------------------------------------- */

static struct tensor *find(struct tensors *t, const char *name)
{
    for (size_t i = 0; i < t->count; i++)
        if (!strcmp(t->tensor[i].name, name)) return &t->tensor[i];
    fail_msg("no tensor %s", name);
    return NULL;
}

/* With one number of the state changed: refused by a sentence that names it, or
 * a fit that ends. */
static void expect_refusal(const struct problem *p, const char *name, size_t i,
                           double value, const char *word)
{
    struct tensors t = {0};
    assert_int_equal(safetensors_read(&t, "a.fit"), 0);
    struct tensor *x = find(&t, name);
    assert_true(i < x->count);
    x->value[i] = value;
    assert_int_equal(safetensors_write(&t, "c.fit"), 0);
    tensors_free(&t);
    gsv_model *m = model_of(p->text);
    gsv_fit_options o = p->o;
    o.resume = "c.fit";
    int status = gsv_fit(m, p->s, &o);
    if (word) expect_error(status, GSV_BAD_INPUT, "c.fit", "damaged", word);
    else assert_int_equal(status, 0);
    gsv_model_free(m);
}

static void damage__of_a_states_sizes_is_said(void **state)
{
    (void)state;
    static const char *const NAMES[] = {
        "@state.theta",   "@state.safe",    "@state.best",    "@state.champion",
        "@state.mean",    "@state.square",  "@state.average", "@state.adam",
        "@state.numbers", "@state.penalty", "@state.centre",  "@state.watched"};
    struct problem p;
    make_checkpoint(&p);
    gsv_model *m = model_of(p.text);
    gsv_fit_options o = p.o;
    o.resume = "c.fit";
    for (size_t i = 0; i < 2 * COUNT(NAMES); i++) {
        const char *name = NAMES[i / 2];
        struct tensors t = {0};
        assert_int_equal(safetensors_read(&t, "a.fit"), 0);
        struct tensor *x = find(&t, name);
        if (i % 2) x->name[strlen(x->name) - 1] = '?';
        else x->shape[0] = --x->count;
        assert_int_equal(safetensors_write(&t, "c.fit"), 0);
        tensors_free(&t);
        expect_error(gsv_fit(m, p.s, &o), GSV_BAD_INPUT, "c.fit", "damaged",
                     name);
        assert_null(gsv_model_record(m));
    }
    gsv_model_free(m);
    problem_close(&p);
}

/* The numbers of struct standing: what each of them cannot be. NaN and minus
 * infinity are held-out values that are not known. */
static const struct {
    const char *name;
    bool open, whole, signless;
    double most;
} STANDING[] = {
    {"iteration", false, true, true, 1e5},
    {"restart", false, true, true, 1},
    {"stage", false, true, true, 4e9},
    {"reference", false, true, true, 1e5},
    {"form", false, true, true, 1e5},
    {"paths", false, true, true, 4e9},
    {"steps", false, true, true, 4e9},
    {"factor", false, false, true, 2},
    {"failures", false, true, true, 4e9},
    {"heldout", true, false, false, INFINITY},
    {"best", true, false, false, INFINITY},
    {"best_at", false, true, true, 1e5},
    {"looked_at", false, true, false, 1e5},
    {"began_at", false, true, true, 1e5},
    {"improved", false, true, true, 2},
    {"falls", false, true, true, 4e9},
    {"penalised_at", false, true, true, 1e5},
    {"determined", false, false, true, 1e10},
    {"lowered_at", false, true, true, 1e5},
    {"round", false, true, true, 4e9},
    {"round_began", false, true, true, 1e5},
    {"champion", true, false, false, INFINITY},
    {"seconds", false, false, true, 1e300},
    {"total", false, true, true, 1e19},
    {"end", false, true, true, 2},
    {"place", false, true, true, 1e19},
};

static void damage__of_a_states_numbers_is_said(void **state)
{
    (void)state;
    struct problem p;
    make_checkpoint(&p);
    for (size_t i = 0; i < COUNT(STANDING); i++) {
        const char *name = STANDING[i].name, *all = "@state.numbers";
        expect_refusal(&p, all, i, INFINITY, name);
        expect_refusal(&p, all, i, STANDING[i].most, name);
        if (!STANDING[i].open) expect_refusal(&p, all, i, NAN, name);
        if (STANDING[i].whole) expect_refusal(&p, all, i, 0.5, name);
        if (STANDING[i].signless) expect_refusal(&p, all, i, -1.0, name);
    }
    expect_refusal(&p, "@state.numbers", 9, NAN, NULL);
    problem_close(&p);
}

static void damage__of_adams_numbers_is_said(void **state)
{
    (void)state;
    static const char *const NAMES[] = {"steps", "weight", "length"};
    static const double BAD[] = {NAN, INFINITY, -INFINITY, -1.0};
    struct problem p;
    make_checkpoint(&p);
    for (size_t i = 0; i < COUNT(NAMES) * COUNT(BAD); i++)
        expect_refusal(&p, "@state.adam", i / COUNT(BAD), BAD[i % COUNT(BAD)],
                       NAMES[i / COUNT(BAD)]);
    problem_close(&p);
}

static void damage__of_a_states_vectors_is_said(void **state)
{
    (void)state;
    static const char *const NAMES[] = {
        "@state.square",  "@state.move",  "@state.penalty",  "@state.theta",
        "@state.safe",    "@state.best",  "@state.champion", "@state.mean",
        "@state.average", "@state.first", "@state.centre",   "@state.watched"};
    static const double BAD[] = {NAN, INFINITY, -INFINITY};
    struct problem p;
    make_checkpoint(&p);
    for (size_t i = 0; i < COUNT(NAMES) * COUNT(BAD); i++)
        expect_refusal(&p, NAMES[i / COUNT(BAD)], 3, BAD[i % COUNT(BAD)],
                       NAMES[i / COUNT(BAD)]);
    for (size_t i = 0; i < 3; i++)
        expect_refusal(&p, NAMES[i], 3, -1e-9, NAMES[i]);
    expect_refusal(&p, "@state.square", 3, -1e-9, "number 4 of");
    problem_close(&p);
}

/* They are in single precision. */
static void damage__of_bases_is_said(void **state)
{
    (void)state;
    static const double BAD[] = {NAN, INFINITY, -INFINITY, 1e39, -1e300};
    struct problem p;
    make_checkpoint_by(&p, GSV_OPTIMIZER_SOAP);
    for (size_t i = 0; i < COUNT(BAD); i++)
        expect_refusal(&p, "@state.bases", 3 * i, BAD[i], "@state.bases");
    expect_refusal(&p, "@state.bases", 3, 1.0, NULL);
    problem_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adam__has_the_same_bits_on_any_threads),
        cmocka_unit_test(lbfgs__has_the_same_bits_on_any_threads),
        cmocka_unit_test(adam__goes_on_as_if_it_had_not_stopped),
        cmocka_unit_test(adam__goes_on_from_what_a_crash_left),
        cmocka_unit_test(adam__keeps_every_schedule),
        cmocka_unit_test(adam__that_would_end_early_ends_there_after_a_resume),
        cmocka_unit_test(adam__goes_on_where_a_stage_was_cut_short),
        cmocka_unit_test(adam__keeps_its_restarts),
        cmocka_unit_test(lbfgs__goes_on_as_if_it_had_not_stopped),
        cmocka_unit_test(lbfgs__keeps_its_restarts),
        cmocka_unit_test(resume__does_not_depend_on_the_models_values),
        cmocka_unit_test(resume__counts_iterations_and_seconds_on),
        cmocka_unit_test(resume__is_possible_after_a_profile),
        cmocka_unit_test(resume__says_what_differs),
        cmocka_unit_test(resume__says_that_data_or_model_differ),
        cmocka_unit_test(resume__needs_a_state),
        cmocka_unit_test(damage__of_a_states_sizes_is_said),
        cmocka_unit_test(damage__of_a_states_numbers_is_said),
        cmocka_unit_test(damage__of_adams_numbers_is_said),
        cmocka_unit_test(damage__of_a_states_vectors_is_said),
        cmocka_unit_test(damage__of_bases_is_said),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
