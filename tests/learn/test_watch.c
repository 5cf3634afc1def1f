/* SPDX-License-Identifier: MIT */
/* What a fit by batches is watched by: the gaps, when it looks, what it keeps,
 * and what it undoes. */
#include "learn.h"

#include "learn/watch.h"
#include "learn/weight_prior.h"
#include "model/model.h"

static const char TEXT[] = "state x\n net f(x) -> 1 : 4 tanh\n"
                           "param s = 1 > 0\n dx = f*dt + s*dW";

/* A learner whose theta the tests move themselves. */
struct watched {
    struct learner l;
    gsv_fit_options o;
    gsv_model *m;
    gsv_series *s;
    struct watch w;
    size_t s_at; /* the place of s, or of the last number */
};

static void watched_open(struct watched *t, const char *text, size_t rows,
                         double heldout)
{
    *t = (struct watched){.o = fit_options(), .m = model_of(text)};
    t->s = learn_well(t->m, 1, rows, 3);
    t->o.iterations = 3000;
    t->o.heldout = heldout;
    t->o.optimizer = GSV_OPTIMIZER_SOAP;
    t->l = (struct learner){.m = t->m, .s = t->s, .o = &t->o, .given = &t->o};
    if (learner_init(&t->l, &t->o)) fail_msg("%s", gsv_last_error());
    gsv_theta_get(t->m, t->l.theta);
    for (size_t i = 0; i < t->l.n; i++)
        if (t->l.value[i] == param_named(t->m, "s").offset) t->s_at = i;
    t->l.now.factor = 1.0;
    t->l.now.heldout = NAN;
    watch_forget(&t->l);
}

static void watched_begin(struct watched *t, int stage)
{
    t->l.now.stage = stage;
    int status = watch_init(&t->w, &t->l, stage);
    if (status) fail_msg("%s", gsv_last_error());
}

static void watched_close(struct watched *t)
{
    watch_free(&t->w);
    learner_free(&t->l);
    free_both(t->m, t->s);
}

/* A look with this log s, so many iterations later. Whether it is the end. */
static bool look(struct watched *t, double log_s, double later)
{
    bool end = false;
    t->l.theta[t->s_at] = log_s;
    t->l.now.iteration += later;
    assert_true(watch_is_due(&t->w));
    int status = watch_look(&t->w, &end);
    if (status) fail_msg("%s", gsv_last_error());
    assert_false(watch_is_due(&t->w));
    return end;
}

/* --- The gaps ------------------------------------------------------------- */

static void gaps__are_those_held_out_and_some_more(void **state)
{
    (void)state;
    static const char FORMULA[] = "state x\n param k = 1, s = 1 > 0\n"
                                  "dx = -k*x*dt + s*dW";
    static const struct {
        const char *text;
        size_t rows;
        double heldout;
        int stage;
        size_t n;
    } CASE[] = {
        {TEXT, 101, 0.0, 0, 100},   {TEXT, 101, 0.1, 0, 10},
        {TEXT, 101, 0.1, 1, 100},   {TEXT, 1001, 0.0, 0, 512},
        {TEXT, 1001, 0.1, 0, 100},  {TEXT, 1001, 0.1, 1, 512},
        {TEXT, 2001, 0.5, 1, 1000}, {FORMULA, 101, 0.0, 0, 0},
        {FORMULA, 101, 0.1, 0, 10}, {FORMULA, 101, 0.1, 1, 10},
        {FORMULA, 101, 0.0, 1, 0},
    };
    for (size_t i = 0; i < COUNT(CASE); i++) {
        static struct watched t;
        bool seen[2001] = {0};
        watched_open(&t, CASE[i].text, CASE[i].rows, CASE[i].heldout);
        watched_begin(&t, CASE[i].stage);
        if (t.w.n != CASE[i].n)
            fail_msg("case %zu: %zu gaps are watched", i, t.w.n);
        assert_true(t.w.n <= watch_most(&t.l));
        for (size_t k = 0; k < t.w.n; k++) {
            assert_true(t.w.group[k] < CASE[i].rows - 1);
            assert_false(seen[t.w.group[k]]);
            seen[t.w.group[k]] = true;
        }
        for (size_t k = 0; k < t.l.split.helds; k++)
            assert_true(seen[t.l.split.held[k]]);
        watched_close(&t);
    }
}

static void looks__are_a_hundredth_apart(void **state)
{
    (void)state;
    static struct watched t;
    watched_open(&t, TEXT, 101, 0.0);
    watched_begin(&t, 0);
    assert_int_equal(t.w.apart, 30);
    t.l.now.iteration = 7.0;
    assert_true(watch_is_due(&t.w)); /* the first one */
    look(&t, 0.0, 0.0);
    for (size_t i = 8; i <= 3000; i++) {
        t.l.now.iteration = (double)i;
        assert_int_equal(watch_is_due(&t.w), i % 30 == 0);
    }
    watched_close(&t);
}

/* --- What is kept --------------------------------------------------------- */

/* s of the data is about 0.5: looks from far to near, and away again. */
static void look__keeps_the_best_and_what_is_as_good(void **state)
{
    (void)state;
    for (int held = 0; held < 2; held++) {
        static struct watched t;
        watched_open(&t, TEXT, 401, held ? 0.2 : 0.0);
        watched_begin(&t, 0);
        static const double BETTER[] = {1.0, 0.3, 0.0, -0.3};
        for (size_t i = 0; i < COUNT(BETTER); i++) {
            double before = t.l.now.best;
            look(&t, BETTER[i], 30.0);
            if (!(t.l.now.best > before))
                fail_msg("%g: %g after %g", BETTER[i], t.l.now.best, before);
            assert_true(t.l.best[t.s_at] == BETTER[i]);
            assert_true(t.l.now.best_at == t.l.now.iteration);
            assert_int_equal(isfinite(t.l.now.heldout), held);
        }
        double best = t.l.now.best;
        /* Hardly worse, by less than an error: the later one is kept, the value
         * to beat is not lowered. */
        look(&t, -0.3 - 1e-7, 30.0);
        if (t.l.now.best_at != t.l.now.iteration)
            assert_true(t.l.now.best == best);
        assert_true(t.l.best[t.s_at] == -0.3 - 1e-7);
        /* Worse, but no fall: nothing is kept or undone. */
        double s = 0.2;
        look(&t, s, 30.0);
        assert_true(t.l.now.falls == 0.0);
        assert_true(t.l.theta[t.s_at] == s && t.l.now.factor == 1.0);
        assert_true(t.l.best[t.s_at] == -0.3 - 1e-7);
        watched_close(&t);
    }
}

/* By more than a nat for each gap, or to what has no density. */
static void look__undoes_a_fall(void **state)
{
    (void)state;
    static const double FALLEN[] = {-4.0, 4.0, -1000.0, 1000.0};
    for (size_t i = 0; i < COUNT(FALLEN); i++) {
        static struct watched t;
        watched_open(&t, TEXT, 401, 0.0);
        watched_begin(&t, 0);
        look(&t, -0.3, 30.0);
        double best = t.l.now.best;
        t.l.adam.mean[0] = 1.0;
        look(&t, FALLEN[i], 30.0);
        assert_true(t.l.now.falls == 1.0 && t.l.now.factor == 0.5);
        assert_true(t.l.now.best == best && t.l.adam.mean[0] == 0.0);
        assert_true(same_bits(t.l.n, t.l.theta, t.l.best));
        assert_true(same_bits(t.l.n, t.l.safe, t.l.best));
        assert_true(t.l.theta[t.s_at] == -0.3);
        watched_close(&t);
    }
}

/* The running average is what is looked at. */
static void look__is_at_the_average(void **state)
{
    (void)state;
    static struct watched t;
    watched_open(&t, TEXT, 101, 0.0);
    watched_begin(&t, 0);
    t.l.theta[t.s_at] = -0.4;
    adam_average(&t.l.adam, 0.5, t.l.theta);
    t.l.theta[t.s_at] = -0.8;
    adam_average(&t.l.adam, 0.5, t.l.theta);
    double average[64];
    assert_true(t.l.n <= COUNT(average));
    adam_averaged(&t.l.adam, t.l.theta, average);
    look(&t, -0.8, 30.0);
    assert_true(same_bits(t.l.n, t.l.best, average));
    assert_true(average[t.s_at] < -0.4 && average[t.s_at] > -0.8);
    assert_true(t.l.theta[t.s_at] == -0.8);
    watched_close(&t);
}

/* --- Its end -------------------------------------------------------------- */

/* A second stage that never improves on where it began ends after some looks;
 * a first one goes on. */
static void look__ends_a_second_stage_that_stands_still(void **state)
{
    (void)state;
    for (int stage = 0; stage < 2; stage++) {
        static struct watched t;
        watched_open(&t, TEXT, 101, 0.0);
        watched_begin(&t, stage);
        assert_true(t.o.patience > 0.0);
        watch_forget(&t.l);
        assert_false(look(&t, -0.3, 0.0));
        size_t looks = 1;
        while (looks < 20 && !look(&t, 0.2, (double)t.w.apart))
            looks++;
        if (stage) assert_int_equal(looks, 2);
        else assert_int_equal(looks, 20);
        watched_close(&t);
    }
}

static void plateau__halves_the_rate(void **state)
{
    (void)state;
    static struct watched t;
    watched_open(&t, TEXT, 101, 0.0);
    t.o.schedule = GSV_SCHEDULE_PLATEAU;
    t.o.patience = 0.0;
    watched_begin(&t, 0);
    look(&t, -0.3, 30.0);
    for (int i = 1; i <= 11; i++) {
        assert_false(look(&t, 0.2, 30.0));
        assert_true(t.l.now.factor == (i < 5 ? 1.0 : i < 10 ? 0.5 : 0.25));
    }
    watched_close(&t);
}

/* --- The penalty of weights ----------------------------------------------- */

/* The gaps of the longest moves are watched, those of the shortest learned. */
static void set_apart(struct watched *t, bool overfitted)
{
    const double *x = t->s->value;
    size_t longs = 0, shorts = 0;
    for (size_t i = 0; i + 1 < t->s->rows; i++) {
        bool far = fabs(x[i + 1] - x[i]) > 0.2;
        if (far && longs < t->w.n) t->w.group[longs++] = i;
        if (far != overfitted && shorts < t->w.n) t->w.learned[shorts++] = i;
    }
    assert_true(longs == t->w.n && shorts == t->w.n);
}

/* It doubles at every look that is worse than the best and than the one before,
 * while the learned gaps are likelier. */
static void penalty__rises_where_watched_gaps_get_worse(void **state)
{
    (void)state;
    static const double LOG_S[] = {-0.5, -0.6, -0.65, -0.7, -0.68, -0.6, -0.72};
    static const double TIMES[] = {1, 2, 4, 8, 8, 8, 16};
    for (int overfitted = 0; overfitted <= 1; overfitted++) {
        static struct watched t;
        watched_open(&t, TEXT, 2001, 0.1);
        weight_prior_begin(&t.l);
        watched_begin(&t, 0);
        assert_non_null(t.w.learned);
        set_apart(&t, overfitted);
        for (size_t i = 0; i < COUNT(LOG_S); i++) {
            look(&t, LOG_S[i], 30.0 * (i > 0));
            for (size_t k = 0; k < t.l.n; k++) {
                double wanted = learner_is_penalised(&t.l, k);
                if (overfitted) wanted *= TIMES[i];
                if (t.l.penalty[k] != wanted)
                    fail_msg("look %zu: %g instead of %g", i, t.l.penalty[k],
                             wanted);
            }
        }
        assert_true(t.l.now.falls == 0.0);
        watched_close(&t);
    }
}

static void penalty__stays_where_it_is_given_or_estimated(void **state)
{
    (void)state;
    static const struct {
        size_t rows;
        double decay, heldout;
        int stage;
        bool rises;
    } CASE[] = {{2001, -1.0, 0.1, 0, true},
                {2001, 1.0, 0.1, 0, false},
                {2001, -1.0, 0.0, 0, false},
                {2001, -1.0, 0.1, 1, false},
                {1001, -1.0, 0.1, 0, false}};
    for (size_t i = 0; i < COUNT(CASE); i++) {
        static struct watched t;
        watched_open(&t, TEXT, CASE[i].rows, CASE[i].heldout);
        t.o.decay = CASE[i].decay;
        watched_begin(&t, CASE[i].stage);
        if ((t.w.learned != NULL) != CASE[i].rises) fail_msg("case %zu", i);
        watched_close(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gaps__are_those_held_out_and_some_more),
        cmocka_unit_test(looks__are_a_hundredth_apart),
        cmocka_unit_test(look__keeps_the_best_and_what_is_as_good),
        cmocka_unit_test(look__undoes_a_fall),
        cmocka_unit_test(look__is_at_the_average),
        cmocka_unit_test(look__ends_a_second_stage_that_stands_still),
        cmocka_unit_test(plateau__halves_the_rate),
        cmocka_unit_test(penalty__rises_where_watched_gaps_get_worse),
        cmocka_unit_test(penalty__stays_where_it_is_given_or_estimated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
