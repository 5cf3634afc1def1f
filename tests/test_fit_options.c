/* SPDX-License-Identifier: MIT */
/* What a fit is asked for and what it finds out: parameters that stay, bounds,
 * what the data cannot tell, restarts, ends, failures, and memory that runs
 * out. */
#include "learn.h"

static void free_both(gsv_model *m, gsv_series *s)
{
    gsv_series_free(s);
    gsv_model_free(m);
}

/* The values that differ from a fresh model's, as a mask. */
static size_t moved(const gsv_model *m, const char *text)
{
    gsv_model *fresh = model_of(text);
    size_t mask = 0, n = gsv_model_values(m);
    for (size_t i = 0; i < n && i < 8 * sizeof mask; i++)
        if (!same_bits(1, gsv_model_value(m) + i, gsv_model_value(fresh) + i))
            mask |= (size_t)1 << i;
    gsv_model_free(fresh);
    return mask;
}

static gsv_fit_options short_options(enum gsv_optimizer optimizer)
{
    gsv_fit_options o = fit_options();
    o.optimizer = optimizer;
    o.iterations = optimizer == GSV_OPTIMIZER_ADAM ? 20 : 0;
    return o;
}

static const enum gsv_optimizer BOTH[] = {GSV_OPTIMIZER_ADAM,
                                          GSV_OPTIMIZER_LBFGS};

/* --- Fixed ---------------------------------------------------------------- */

#define BOUNDED                                                                \
    "state x\n param k = 0.7 > 0, mu = 0.1 in (-1, 2), s = 0.9 > 0,"           \
    " b = -0.3 < 0\n dx = (k*(mu - x) + b*x^3)*dt + s*dW"

static void fix__keeps_the_bits_of_any_parameter(void **state)
{
    (void)state;
    static const char *const NAMES[] = {"k", "mu", "s", "b"};
    for (size_t i = 0; i < 2 * COUNT(NAMES); i++) {
        gsv_model *m = model_of(BOUNDED);
        gsv_series *s = learn_ou(m, 1, 40, 2);
        gsv_fit_options o = short_options(BOTH[i % 2]);
        o.iterations = 4;
        o.fixed = 1;
        o.fix = &NAMES[i / 2];
        const gsv_record *r = fit_must(m, s, &o);
        assert_int_equal(r->free, 3);
        assert_int_equal(moved(m, BOUNDED), 15 - (1 << i / 2));
        assert_true(isnan(r->error_of[i / 2]));
        assert_true(isnan(r->low[i / 2]) && isnan(r->high[i / 2]));
        free_both(m, s);
    }
}

#define MATRIX                                                                 \
    "state x[2]\n param A[2,2] = [-1,0.3, 0.2,-1], v[2] = [0.3, 0.7]\n"        \
    "param L[2,2] = [0.9,0, 0.3,0.7] lower\n"                                  \
    "dx = (A @ x + v)*dt + L @ dW"

static void fix__takes_elements_and_whole_parameters(void **state)
{
    (void)state;
    /* A, then v, then L without its zero: bits of what moves. */
    static const struct {
        const char *fix[3];
        size_t fixed, moves, free;
    } CASES[] = {{{"A[1,2]"}, 1, 0x3ff - 0x80 - 0x2, 8},
                 {{"A[2,1]", "v[2]"}, 2, 0x3ff - 0x80 - 0x24, 7},
                 {{"A"}, 1, 0x3ff - 0x80 - 0xf, 5},
                 {{"v", "L"}, 2, 0xf, 4},
                 {{"L[2,1]"}, 1, 0x3ff - 0x80 - 0x100, 8},
                 {{"L[2,2]"}, 1, 0x3ff - 0x80 - 0x200, 8},
                 {{"v", "v[1]"}, 2, 0x3ff - 0x80 - 0x30, 7},
                 {{"A", "v", "L"}, 3, 0, 0}};
    for (size_t i = 0; i < 2 * COUNT(CASES); i++) {
        gsv_model *m = model_of(MATRIX);
        gsv_series *s = walk_of(m, 1, 30, 0.2, 3);
        gsv_fit_options o = short_options(BOTH[i % 2]);
        o.iterations = 3;
        o.fixed = CASES[i / 2].fixed;
        o.fix = CASES[i / 2].fix;
        o.errors = GSV_ERRORS_NONE;
        const gsv_record *r = fit_must(m, s, &o);
        assert_int_equal(r->free, CASES[i / 2].free);
        if (moved(m, MATRIX) != CASES[i / 2].moves)
            fail_msg("case %zu: %zx moved instead of %zx", i, moved(m, MATRIX),
                     CASES[i / 2].moves);
        assert_near(r->aic, 2.0 * (double)r->free - 2.0 * r->loglik, 1e-10);
        free_both(m, s);
    }
}

static void fix__takes_whole_networks(void **state)
{
    (void)state;
    static const char TEXT[] =
        "state x[2]\n net f(x) -> 2 : 4 tanh\n net g(x) -> 2 : 4 tanh\n"
        "param s = 1 > 0\n dx = (f + g)*dt + s*dW";
    static const char *const FIX[] = {"f"};
    gsv_model *m = model_of(TEXT), *fresh = model_of(TEXT);
    gsv_series *s = walk_of(m, 1, 30, 0.2, 3);
    gsv_fit_options o = short_options(GSV_OPTIMIZER_ADAM);
    o.fixed = 1;
    o.fix = FIX;
    const gsv_record *r = fit_must(m, s, &o);
    size_t weights = 0;
    for (size_t i = 0; i < gsv_model_params(m); i++) {
        gsv_param p = gsv_model_param(m, i);
        if (p.scale) continue;
        bool same = same_bits(p.rows * p.columns, gsv_model_value(m) + p.offset,
                              gsv_model_value(fresh) + p.offset);
        assert_int_equal(same, p.name[0] == 'f');
        if (p.name[0] != 'f') weights += p.rows * p.columns;
    }
    assert_int_equal(r->free, weights);
    gsv_model_free(fresh);
    free_both(m, s);
}

static void fix__says_which_name_is_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *fix, *words;
    } CASES[] = {{"B", "no parameter 'B'; the model has: A, v, L"},
                 {"A[3,1]", "'A[3,1]' is not an element of 'A'"},
                 {"A[1]", "'A[1]' is not an element of 'A'"},
                 {"v[0]", "'v[0]' is not an element of 'v'"},
                 {"L[1,2]", "L[1,2]"},
                 {"", "no parameter ''"}};
    gsv_model *m = model_of(MATRIX);
    gsv_series *s = walk_of(m, 1, 30, 0.2, 3);
    for (size_t i = 0; i < COUNT(CASES); i++) {
        gsv_fit_options o = fit_options();
        o.fixed = 1;
        o.fix = &CASES[i].fix;
        expect_error(gsv_fit(m, s, &o), GSV_BAD_INPUT, CASES[i].words);
        o.fixed = 0;
        o.kept = 1;
        o.keep = &CASES[i].fix;
        expect_error(gsv_fit(m, s, &o), GSV_BAD_INPUT, CASES[i].words);
        assert_int_equal(moved(m, MATRIX), 0);
        assert_null(gsv_model_record(m));
    }
    free_both(m, s);
}

/* A start that is kept is one that is not taken from the data. */
static void keep__begins_where_it_is(void **state)
{
    (void)state;
    static const char *const KEEP[] = {"s"};
    double after[2];
    for (int i = 0; i < 2; i++) {
        gsv_model *m = model_of(LEARN_OU);
        gsv_series *s = learn_ou(m, 1, 60, 2);
        gsv_fit_options o = short_options(GSV_OPTIMIZER_ADAM);
        o.kept = (size_t)i;
        o.keep = KEEP;
        o.iterations = 1;
        o.rate = 1e-6;
        fit_must(m, s, &o);
        after[i] = value_of(m, "s");
        free_both(m, s);
    }
    /* One step of 10 rates in log s. The data have 0.7. */
    assert_near(after[1], 1.0, 2e-5);
    assert_near(after[0], 0.7, 0.2);
}

/* --- Bounds --------------------------------------------------------------- */

static void bounds__are_not_crossed(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        gsv_model *m = model_of(BOUNDED);
        gsv_series *s = learn_ou(m, 1, 60, 2);
        gsv_fit_options o = short_options(BOTH[i]);
        o.rate = 0.3;
        fit_must(m, s, &o);
        for (size_t q = 0; q < gsv_model_params(m); q++) {
            gsv_param p = gsv_model_param(m, q);
            double v = gsv_model_value(m)[q];
            assert_true(v > p.low && v < p.high);
        }
        free_both(m, s);
    }
}

/* The data turn back to their mean: k would rather be negative. */
#define UPHILL "state x\n param k = 0.5 > 0, s = 1 > 0\n dx = k*x*dt + s*dW"
#define CAPPED                                                                 \
    "state x\n param k = 0.5 in (0, 0.7), mu = 0, s = 1 > 0\n"                 \
    "dx = k*(mu - x)*dt + s*dW"

static void bounds__that_are_reached_are_said(void **state)
{
    (void)state;
    static const char *const TEXTS[] = {UPHILL, CAPPED};
    static const double BOUND[] = {0.0, 0.7};
    for (size_t i = 0; i < COUNT(TEXTS); i++) {
        gsv_model *m = model_of(TEXTS[i]);
        gsv_series *s = learn_ou(m, 1, 400, 2);
        gsv_fit_options o = fit_options();
        const gsv_record *r = fit_must(m, s, &o);
        size_t last = gsv_model_values(m) - 1;
        assert_near(value_of(m, "k"), BOUND[i], 1e-3);
        if (!strstr(r->warning, "k is at its bound"))
            fail_msg("k is %.12g with interval %g to %g: %s", value_of(m, "k"),
                     r->low[0], r->high[0], r->warning);
        assert_true(isnan(r->error_of[0]));
        assert_true(r->error_of[last] > 0.0);
        /* What it says can be written and read. */
        assert_int_equal(gsv_model_write(m, "a.fit"), 0);
        gsv_model *again = gsv_model_read("a.fit");
        assert_non_null(again);
        gsv_model_free(again);
        free_both(m, s);
    }
}

/* With nothing else to learn, the information has no numbers at all. */
static void bounds__may_be_all_there_is(void **state)
{
    (void)state;
    const char *const fix[] = {"s"};
    gsv_model *m = model_of(UPHILL);
    gsv_series *s = learn_ou(m, 1, 400, 2);
    const double start = 1e-9, sigma = 0.7;
    gsv_fit_options o = fit_options();
    o.fixed = 1;
    o.fix = fix;
    assert_int_equal(gsv_model_set(m, "s", 1, &sigma), 0);
    fit_must(m, s, &o);
    assert_near(value_of(m, "k"), 0.0, 1e-3);
    assert_int_equal(gsv_model_set(m, "k", 1, &start), 0);
    const gsv_record *r = fit_must(m, s, &o);
    assert_non_null(strstr(r->warning, "k is at its bound"));
    free_both(m, s);
}

/* --- What the data cannot tell -------------------------------------------- */

static void expect_no_errors(const gsv_record *r, const char *const *words)
{
    for (size_t i = 0; i < r->values; i++)
        assert_true(isnan(r->error_of[i]) && isnan(r->low[i]));
    for (; *words; words++)
        if (!strstr(r->warning, *words))
            fail_msg("no '%s' in '%s'", *words, r->warning);
}

static void flatness__is_said(void **state)
{
    (void)state;
    static const struct {
        const char *text, *words[4];
    } CASES[] = {
        {"state x\n param a = 1, b = 1.5, s = 1 > 0\n dx = -a*b*x*dt + s*dW",
         {"do not tell apart", "a", "b", NULL}},
        {"state x\n param a = 1, b = 0.2, s = 1 > 0\n"
         "dx = -(a + b)*x*dt + s*dW",
         {"do not tell apart", "a, b", "--fix", NULL}},
        {"state x\n param a = 1, r = 1 > 0, s = 1 > 0\n dx = -a*x*dt + r*s*dW",
         {"do not tell apart", "r, s", NULL}}};
    for (size_t i = 0; i < COUNT(CASES); i++) {
        gsv_model *m = model_of(CASES[i].text);
        gsv_series *s = learn_ou(m, 1, 100, 2);
        gsv_fit_options o = fit_options();
        expect_no_errors(fit_must(m, s, &o), CASES[i].words);
        free_both(m, s);
    }
}

/* u is 0 in all of the data. */
static void flatness__of_one_parameter_is_said(void **state)
{
    (void)state;
    gsv_model *m =
        model_of("state x\n input u\n param k = 1, c = 2, s = 1 > 0\n"
                 "dx = (c*u - k*x)*dt + s*dW");
    gsv_series *s = walk_of(m, 1, 60, 0.2, 3);
    const char *const words[] = {"the data say nothing about c", "--fix", NULL};
    memset(s->value + s->rows, 0, s->rows * sizeof *s->value);
    gsv_fit_options o = fit_options();
    expect_no_errors(fit_must(m, s, &o), words);
    assert_true(value_of(m, "c") == 2.0);
    free_both(m, s);
}

/* --- Restarts ------------------------------------------------------------- */

/* The drift is periodic in w: from a bad start the nearest top is a low one. */
#define TUNED "state x\n param w = 5, s = 1 > 0\n dx = -2*sin(w*x)*dt + s*dW"

static void tuned_step(const double *p, double gap, const double *x,
                       const double *z, double *y)
{
    *y = *x;
    for (int i = 0; i < 16; i++)
        *y -= gap / 16.0 * 2.0 * sin(p[0] * *y);
    *y += 0.5 * sqrt(gap) * *z;
}

static void restarts__do_not_make_it_worse(void **state)
{
    (void)state;
    const double w = 1.0;
    gsv_model *m = model_of(TUNED);
    gsv_series *s = learn_series(m, 1, 80, 0.1, 4, tuned_step, &w);
    gsv_fit_options o = fit_options();
    o.errors = GSV_ERRORS_NONE;
    double last = -INFINITY;
    for (size_t n = 1; n <= 5; n += 2) {
        gsv_model *one = model_of(TUNED), *two = model_of(TUNED);
        o.restarts = n;
        const gsv_record *r = fit_must(one, s, &o);
        /* What they are ranked by is the last stage's estimate of each, which
         * may differ from the record's by a fraction of a nat. */
        assert_true(r->loglik > last - 0.5);
        assert_int_equal(r->restarts, n);
        fit_must(two, s, &o);
        assert_same_fit(one, two);
        last = r->loglik;
        gsv_model_free(one);
        gsv_model_free(two);
    }
    free_both(m, s);
}

/* --- Ends ----------------------------------------------------------------- */

struct log {
    size_t calls, last, restart, stop_at;
    double loglik, seconds;
};

static bool note(void *user, const gsv_progress *p)
{
    struct log *l = user;
    l->calls++;
    if (p->restart != l->restart) l->last = 0;
    assert_int_equal(p->iteration, l->last + 1);
    assert_true(p->iteration <= p->iterations && p->restart >= l->restart);
    assert_true(p->restart <= p->restarts && p->seconds >= l->seconds);
    assert_true(isfinite(p->loglik) && p->error > 0.0 && p->rate > 0.0);
    assert_non_null(p->model);
    l->last = p->iteration;
    l->restart = p->restart;
    l->loglik = p->loglik;
    l->seconds = p->seconds;
    return l->stop_at && l->calls == l->stop_at;
}

static void progress__counts_iterations(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        gsv_model *m = model_of(LEARN_WELL);
        gsv_series *s = learn_well(m, 1, 60, 2);
        gsv_fit_options o = short_options(BOTH[i]);
        struct log l = {.restart = 1};
        o.progress = note;
        o.user = &l;
        o.restarts = 2;
        const gsv_record *r = fit_must(m, s, &o);
        assert_int_equal(l.calls, r->iterations);
        assert_int_equal(l.restart, 2);
        if (BOTH[i] == GSV_OPTIMIZER_ADAM) assert_int_equal(l.calls, 40);
        free_both(m, s);
    }
}

static void iterations__are_the_most_that_are_done(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++)
        for (size_t n = 1; n <= 7; n += 3) {
            gsv_model *m = model_of(LEARN_WELL);
            gsv_series *s = learn_well(m, 1, 60, 2);
            gsv_fit_options o = short_options(BOTH[i]);
            struct log l = {.restart = 1};
            o.iterations = n;
            o.progress = note;
            o.user = &l;
            const gsv_record *r = fit_must(m, s, &o);
            assert_int_equal(r->ended, GSV_ENDED_ITERATIONS);
            assert_int_equal(r->iterations, n);
            assert_int_equal(l.calls, n);
            free_both(m, s);
        }
}

static void time_limit__ends_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        gsv_model *m = model_of(LEARN_WELL);
        gsv_series *s = learn_well(m, 1, 60, 2);
        gsv_fit_options o = short_options(BOTH[i]);
        o.time_limit = 1e-9;
        const gsv_record *r = fit_must(m, s, &o);
        assert_int_equal(r->ended, GSV_ENDED_TIME);
        assert_int_equal(r->iterations, 1);
        assert_true(isfinite(r->loglik));
        /* It can be resumed, in as many pieces as one likes. */
        assert_int_equal(gsv_model_write(m, "a.fit"), 0);
        o.resume = "a.fit";
        o.time_limit = 0.0;
        r = fit_must(m, s, &o);
        assert_true(r->ended != GSV_ENDED_TIME && r->iterations > 1);
        free_both(m, s);
    }
}

/* --- Failures ------------------------------------------------------------- */

static void options__out_of_range_are_refused(void **state)
{
    (void)state;
    gsv_model *m = model_of(LEARN_OU);
    gsv_series *s = learn_ou(m, 1, 20, 2);
    gsv_fit_options o[14];
    for (size_t i = 0; i < COUNT(o); i++)
        o[i] = fit_options();
    o[0].rate = -1.0;
    o[1].rate = NAN;
    o[2].rate = INFINITY;
    o[3].decay = -0.1;
    o[4].clip = NAN;
    o[5].average = 1.0;
    o[6].average = -0.5;
    o[7].heldout = 1.0;
    o[8].heldout = NAN;
    o[9].patience = -1.0;
    o[10].restarts = 0;
    o[11].iterations = (size_t)5e9;
    o[12].time_limit = NAN;
    o[13].every = NAN;
    for (size_t i = 0; i < COUNT(o); i++) {
        if (gsv_fit(m, s, &o[i]) != GSV_BAD_INPUT)
            fail_msg("option %zu was not refused", i);
        assert_int_equal(moved(m, LEARN_OU), 0);
        assert_null(gsv_model_record(m));
    }
    free_both(m, s);
}

/* exp(800) is not a number that a drift may have. */
#define STEEP                                                                  \
    "state x\n param a = 1.1, s = 0.3 > 0\n dx = -a*exp(800*x^2)*dt + s*dW"

static void failure__leaves_the_values_of_before(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        gsv_model *m = model_of(STEEP);
        gsv_series *s = walk_of(m, 1, 30, 0.3, 3);
        s->value[3] = 2.0;
        gsv_fit_options o = short_options(BOTH[i]);
        expect_error(gsv_fit(m, s, &o), GSV_NUMERICAL, "");
        assert_true(strlen(gsv_last_error()) > 10);
        assert_int_equal(moved(m, STEEP), 0);
        assert_null(gsv_model_record(m));
        free_both(m, s);
    }
}

/* A checkpoint that cannot be written ends the fit; what the model had before
 * is what it has: values and record. */
static void failure__of_a_checkpoint_leaves_everything(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++)
        for (int fitted = 0; fitted < 2; fitted++) {
            gsv_model *m = model_of(LEARN_WELL);
            gsv_series *s = learn_well(m, 1, 40, 2);
            gsv_fit_options o = short_options(BOTH[i]);
            if (fitted) fit_must(m, s, &o);
            double first[3];
            memcpy(first, gsv_model_value(m), sizeof first);
            size_t rows = fitted ? gsv_model_record(m)->iterations : 0;
            o.checkpoint = "no/such/folder/a.fit";
            o.every = 0.0;
            expect_error(gsv_fit(m, s, &o), GSV_BAD_INPUT, "no/such/folder");
            assert_true(same_bits(3, first, gsv_model_value(m)));
            const gsv_record *r = gsv_model_record(m);
            if (fitted) assert_int_equal(r->iterations, rows);
            else assert_null(r);
            free_both(m, s);
        }
}

static void failure__of_data_is_said(void **state)
{
    (void)state;
    gsv_model *m = model_of(LEARN_OU), *other = model_of(LEARN_NET);
    gsv_series *s = learn_ou(m, 1, 20, 2);
    gsv_fit_options o = fit_options();
    expect_error(gsv_fit(other, s, &o), GSV_BAD_INPUT, "no column 'x1'");
    o.heldout = 0.999;
    gsv_series *two = track_of(m, 2, s->time, s->value);
    expect_error(gsv_fit(m, two, &o), GSV_BAD_INPUT, "leaves none");
    gsv_series *one = track_of(m, 1, s->time, s->value);
    o = fit_options();
    assert_int_equal(gsv_fit(m, one, &o), GSV_BAD_INPUT);
    gsv_series_free(one);
    gsv_series_free(two);
    gsv_model_free(other);
    free_both(m, s);
}

/* --- Memory --------------------------------------------------------------- */

static void sweep(const char *text, const gsv_fit_options *o, size_t least)
{
    int status = GSV_NO_MEMORY;
    size_t n = 0;
    while (status) {
        gsv_model *m = model_of(text), *fresh = model_of(text);
        gsv_series *s = learn_well(m, 1, 6, 2);
        mem_fail_at(++n);
        status = gsv_fit(m, s, o);
        mem_fail_at(0);
        if (status) {
            assert_int_equal(status, GSV_NO_MEMORY);
            assert_int_equal(gsv_last_status(), GSV_NO_MEMORY);
            assert_true(same_bits(gsv_model_values(m), gsv_model_value(m),
                                  gsv_model_value(fresh)));
            assert_null(gsv_model_record(m));
        }
        gsv_model_free(fresh);
        free_both(m, s);
    }
    assert_true(n > least);
}

static void memory__may_run_out_in_a_fit(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        gsv_fit_options o = short_options(BOTH[i]);
        o.iterations = 3;
        o.heldout = i ? 0.0 : 0.2;
        o.errors = GSV_ERRORS_SANDWICH;
        o.estimator.paths = o.estimator.steps = 2;
        sweep("state x\n param k = 1, s = 1 > 0\n dx = -k*x*dt + s*dW", &o, 50);
        o.errors = GSV_ERRORS_NONE;
        o.restarts = 2;
        sweep("state x\n net f(x) -> 1 : 2 tanh\n param s = 1 > 0\n"
              "dx = f*dt + s*dW",
              &o, 50);
    }
}

static void memory__may_run_out_in_its_stages(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        gsv_fit_options o = short_options(BOTH[i]);
        o.iterations = i ? 0 : 3;
        sweep("state x\n param s = 1 > 0\n dx = -x*dt + s*dW", &o, 50);
    }
}

static void memory__may_run_out_with_a_checkpoint(void **state)
{
    (void)state;
    static const char TEXT[] = "state x\n param s = 1 > 0\n dx = -x*dt + s*dW";
    struct log l = {.restart = 1, .stop_at = 2};
    gsv_model *m = model_of(TEXT);
    gsv_series *s = learn_well(m, 1, 6, 2);
    gsv_fit_options o = short_options(GSV_OPTIMIZER_ADAM);
    o.iterations = 3;
    o.estimator.paths = o.estimator.steps = 2;
    o.checkpoint = "b.fit";
    o.every = 0.0;
    sweep(TEXT, &o, 50);
    o.progress = note;
    o.user = &l;
    fit_must(m, s, &o);
    o.progress = NULL;
    o.resume = "b.fit";
    o.checkpoint = NULL;
    sweep(TEXT, &o, 50);
    free_both(m, s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fix__keeps_the_bits_of_any_parameter),
        cmocka_unit_test(fix__takes_elements_and_whole_parameters),
        cmocka_unit_test(fix__takes_whole_networks),
        cmocka_unit_test(fix__says_which_name_is_wrong),
        cmocka_unit_test(keep__begins_where_it_is),
        cmocka_unit_test(bounds__are_not_crossed),
        cmocka_unit_test(bounds__that_are_reached_are_said),
        cmocka_unit_test(bounds__may_be_all_there_is),
        cmocka_unit_test(flatness__is_said),
        cmocka_unit_test(flatness__of_one_parameter_is_said),
        cmocka_unit_test(restarts__do_not_make_it_worse),
        cmocka_unit_test(progress__counts_iterations),
        cmocka_unit_test(iterations__are_the_most_that_are_done),
        cmocka_unit_test(time_limit__ends_it),
        cmocka_unit_test(options__out_of_range_are_refused),
        cmocka_unit_test(failure__leaves_the_values_of_before),
        cmocka_unit_test(failure__of_a_checkpoint_leaves_everything),
        cmocka_unit_test(failure__of_data_is_said),
        cmocka_unit_test(memory__may_run_out_in_a_fit),
        cmocka_unit_test(memory__may_run_out_in_its_stages),
        cmocka_unit_test(memory__may_run_out_with_a_checkpoint),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
