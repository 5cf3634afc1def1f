/* SPDX-License-Identifier: MIT */
/* The same bits on any number of ranks, and one end for all of them where one
 * fails. tests/mpi has the same with processes. */
#include "base/clock.h"
#include "base/spread.h"
#include "exact.h"
#include "ranks.h"

#include <stdio.h>

enum { FEW = 4 };

/* --- Sums and shares ------------------------------------------------------ */

enum { LANES = 70, NUMBERS = 3, SLOTS = 20, THREADS = 2 };

struct sums {
    size_t lanes, threads;
    double whole[RANKS_MOST][SLOTS * NUMBERS];
    double share[RANKS_MOST][2 * LANES];
};

/* What one rank has of it. */
struct part {
    double own[THREADS][NUMBERS];
    double *share; /* (lanes, 2) */
};

/* Terms of very different size: any other order has other bits. */
static double term(size_t lane, size_t i)
{
    return (double)(i + 1) / (double)(lane * lane * lane + 3 * i + 3);
}

static void add_lane(void *context, size_t lane, size_t thread)
{
    struct part *p = context;
    for (size_t i = 0; i < NUMBERS; i++)
        p->own[thread][i] += term(lane, i);
    p->share[2 * lane] = (double)lane;
    p->share[2 * lane + 1] = -(double)lane;
}

static double *part_of(void *context, size_t thread)
{
    return ((struct part *)context)->own[thread];
}

static size_t first_of(const void *context, size_t lane)
{
    (void)context;
    return lane;
}

static void sum_up(gsv_ranks *r, void *user)
{
    struct sums *s = user;
    size_t rank = gsv_ranks_rank(r);
    struct part part = {.share = s->share[rank]};
    const struct spread_share share = {part.share, 2 * sizeof(double),
                                       first_of};
    const struct spread spread = {.ranks = r,
                                  .lanes = s->lanes,
                                  .threads = s->threads,
                                  .context = &part,
                                  .work = add_lane,
                                  .n = NUMBERS,
                                  .part = part_of,
                                  .sum = s->whole[rank],
                                  .shares = 1,
                                  .share = &share};
    spread_run(&spread);
    gsv_ranks_close(r, 0);
}

/* A node of the tree, by its definition. */
static double tree_sum(size_t first, size_t width, size_t lanes, size_t i)
{
    if (width == 1) return term(first, i);
    double left = tree_sum(first, width / 2, lanes, i);
    if (first + width / 2 >= lanes) return left;
    return left + tree_sum(first + width / 2, width / 2, lanes, i);
}

static void assert_sums(const struct sums *s, size_t ranks)
{
    for (size_t rank = 0; rank < ranks; rank++) {
        for (size_t i = 0; i < NUMBERS; i++) {
            double exact = tree_sum(0, 128, s->lanes, i);
            assert_memory_equal(&s->whole[rank][i], &exact, sizeof exact);
        }
        for (size_t lane = 0; lane < s->lanes; lane++)
            assert_true(s->share[rank][2 * lane] == (double)lane &&
                        s->share[rank][2 * lane + 1] == -(double)lane);
    }
}

static void spread__sums_along_one_tree_on_any_number_of_ranks(void **state)
{
    (void)state;
    for (size_t lanes = 1; lanes <= LANES; lanes += lanes < 20 ? 1 : 5)
        for (size_t ranks = 1; ranks <= RANKS_MOST; ranks++) {
            struct sums s = {.lanes = lanes,
                             .threads = ranks == 3 ? THREADS : 1};
            assert_true(lanes <= 64 ? spread_slots(lanes, NULL) <= 7 : true);
            ranks_act(ranks, sum_up, &s);
            assert_sums(&s, ranks);
        }
}

/* --- The likelihood ------------------------------------------------------- */

#define WELL "state x\n param k = 1, s = 0.5 > 0\n dx = k*(x - x^3)*dt + s*dW"
#define NET                                                                    \
    "state x[2]\n net f(x) -> 2 : 16 16 silu\n param s = 1 > 0\n"              \
    "dx = f*dt + s*dW"
#define NOISY                                                                  \
    "state x\n param k = 1 > 0, e = 0.2 > 0\n dx = -k*x*dt + 0.5*dW\n"         \
    "obs y ~ normal(x, e)\n init x ~ normal(0, 1)"

struct shape {
    const char *text;
    size_t tracks, rows, paths, steps;
    enum gsv_random random;
    enum gsv_observe observe;
    bool holes; /* rows in which nothing was observed */
};

/* One gap in chunks; tracks; single steps; one item for all; rows missing;
 * noisy. */
static const struct shape SHAPES[] = {
    {WELL, 1, 2, 1024, 7, GSV_RANDOM_SOBOL, 0, false},
    {WELL, 20, 6, 16, 4, GSV_RANDOM_SOBOL, 0, false},
    {WELL, 20, 5, 1, 1, GSV_RANDOM_IID, 0, false},
    {WELL, 1, 3, 2, 2, GSV_RANDOM_IID, 0, false},
    {NET, 13, 7, 16, 4, GSV_RANDOM_SOBOL, 0, false},
    {NET, 12, 8, 64, 8, GSV_RANDOM_IID, 0, false},
    {WELL, 30, 9, 4, 3, GSV_RANDOM_SOBOL, 0, true},
    {NOISY, 2, 9, 8, 2, GSV_RANDOM_SOBOL, GSV_OBSERVE_SCAN, false},
    {NOISY, 2, 9, 8, 2, GSV_RANDOM_SOBOL, GSV_OBSERVE_GUIDED, false},
    {NOISY, 2, 9, 8, 2, GSV_RANDOM_SOBOL, GSV_OBSERVE_VARIATIONAL, false}};

struct asked {
    const char *text;
    const gsv_series *series;
    gsv_options options;
    size_t broken; /* rank whose n-th allocation fails, n from 1 on */
    size_t n;
    gsv_result result[RANKS_MOST];
    int status[RANKS_MOST], closed[RANKS_MOST];
    char sentence[RANKS_MOST][200];
};

/* A model of its own, as every process has. */
static void estimate(gsv_ranks *r, void *user)
{
    struct asked *a = user;
    size_t rank = gsv_ranks_rank(r);
    gsv_options o = a->options;
    gsv_model *m = model_of(a->text);
    gsv_model_draw(m, 1);
    o.ranks = r;
    if (a->n && rank == a->broken) mem_fail_at(a->n);
    a->status[rank] = gsv_loglik(m, a->series, &o, &a->result[rank]);
    mem_fail_at(0);
    a->closed[rank] = gsv_ranks_close(r, a->status[rank]);
    strncat(a->sentence[rank], gsv_last_error(), 199);
    gsv_model_free(m);
}

/* What is observed of a latent state is a walk, too. */
static gsv_series *data_of(const struct shape *p)
{
    bool noisy = !strcmp(p->text, NOISY);
    gsv_model *m = model_of(noisy ? "state y\n dy = -y*dt + dW" : p->text);
    gsv_series *s = walk_of(m, p->tracks, p->rows, 0.2, 3);
    for (size_t i = 0; p->holes && i < s->rows; i++)
        if (i % 4 == 1 || i % 9 == 0) s->value[i] = NAN;
    gsv_model_free(m);
    return s;
}

static void loglik__has_the_same_bits_on_any_number_of_ranks(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * COUNT(SHAPES); i++) {
        const struct shape *p = &SHAPES[i / 2];
        gsv_series *s = data_of(p);
        struct asked alone = {
            .text = p->text, .series = s, .options = default_options()};
        alone.options.paths = p->paths;
        alone.options.steps = p->steps;
        alone.options.random = p->random;
        alone.options.observe = p->observe;
        alone.options.gradient = true;
        alone.options.joint = i % 2 && !p->observe;
        alone.options.richardson = i % 4 == 2;
        alone.options.threads = 1;
        estimate(NULL, &alone);
        if (alone.status[0]) fail_msg("%s", alone.sentence[0]);
        for (size_t ranks = 2; ranks <= FEW; ranks++) {
            struct asked a = alone;
            a.options.threads = ranks == 3 ? 2 : 1;
            ranks_act(ranks, estimate, &a);
            for (size_t r = 0; r < ranks; r++) {
                assert_int_equal(a.closed[r], 0);
                assert_same_bits(&a.result[r], &alone.result[0]);
                gsv_result_free(&a.result[r]);
            }
        }
        gsv_result_free(&alone.result[0]);
        gsv_series_free(s);
    }
}

/* --- Residuals ------------------------------------------------------------ */

struct left {
    const gsv_series *series;
    const char *text;
    gsv_residuals_result result[RANKS_MOST];
    int status[RANKS_MOST], closed[RANKS_MOST];
    char sentence[RANKS_MOST][200];
};

static void find_residuals(gsv_ranks *r, void *user)
{
    struct left *l = user;
    size_t rank = gsv_ranks_rank(r);
    gsv_model *m = model_of(l->text);
    gsv_predict_options o = gsv_predict_options_default();
    o.draws = 8;
    o.threads = 1;
    o.ranks = r;
    l->status[rank] = gsv_residuals(m, l->series, &o, &l->result[rank]);
    strncat(l->sentence[rank], gsv_last_error(), 199);
    l->closed[rank] = gsv_ranks_close(r, 0);
    gsv_model_free(m);
}

static void residuals__have_the_same_bits_on_any_number_of_ranks(void **state)
{
    (void)state;
    gsv_series *s =
        data_of(&(struct shape){.text = WELL, .tracks = 30, .rows = 9});
    struct left alone = {.series = s, .text = WELL};
    find_residuals(NULL, &alone);
    assert_int_equal(alone.status[0], 0);
    gsv_residuals_result *one = &alone.result[0];
    for (size_t ranks = 2; ranks <= FEW; ranks++) {
        struct left l = {.series = s, .text = WELL};
        ranks_act(ranks, find_residuals, &l);
        for (size_t r = 0; r < ranks; r++) {
            assert_int_equal(l.status[r], 0);
            assert_memory_equal(l.result[r].column->u, one->column->u,
                                one->rows * sizeof *one->column->u);
            assert_same(l.result[r].column->ljung_p, one->column->ljung_p);
            gsv_residuals_free(&l.result[r]);
        }
    }
    gsv_residuals_free(one);
    gsv_series_free(s);
}

/* Only the last rank meets the row that cannot be; all of them say the same as
 * one rank alone, and can go on. */
static void residuals__fail_on_all_ranks_with_one_sentence(void **state)
{
    (void)state;
    const char *text = "state x\n dx = exp(x)*dt + dW";
    gsv_series *s =
        data_of(&(struct shape){.text = WELL, .tracks = 1, .rows = 9});
    s->value[s->rows - 2] = 800.0;
    struct left alone = {.series = s, .text = text};
    find_residuals(NULL, &alone);
    assert_int_equal(alone.status[0], GSV_NUMERICAL);
    struct left l = {.series = s, .text = text};
    ranks_act(3, find_residuals, &l);
    for (size_t r = 0; r < 3; r++) {
        assert_int_equal(l.status[r], GSV_NUMERICAL);
        assert_string_equal(l.sentence[r], alone.sentence[0]);
        assert_int_equal(l.closed[r], 0);
    }
    gsv_series_free(s);
}

/* --- Failures ------------------------------------------------------------- */

/* What is found about a gap stays with its rank, but what is wrong with it does
 * not. */
static void loglik__names_a_gap_that_is_not_finite_on_all_ranks(void **state)
{
    (void)state;
    const char *text = "state x\n param s = 1 > 0\n dx = log(5 - x)*dt + s*dW";
    gsv_series *s =
        data_of(&(struct shape){.text = WELL, .tracks = 20, .rows = 9});
    s->value[s->rows - 30] = 6.0;
    struct asked alone = {
        .text = text, .series = s, .options = default_options()};
    alone.options.paths = alone.options.steps = 2;
    alone.options.threads = 1;
    estimate(NULL, &alone);
    assert_int_equal(alone.status[0], GSV_NUMERICAL);
    struct asked a = {.text = text, .series = s, .options = alone.options};
    ranks_act(3, estimate, &a);
    for (size_t r = 0; r < 3; r++) {
        assert_int_equal(a.status[r], GSV_NUMERICAL);
        assert_string_equal(a.sentence[r], alone.sentence[0]);
    }
    gsv_series_free(s);
}

static void ranks__fail_together_where_memory_runs_out_on_one(void **state)
{
    (void)state;
    gsv_series *s = data_of(&SHAPES[4]);
    bool failed = true;
    for (size_t n = 1; failed; n++) {
        struct asked a = {.text = NET,
                          .series = s,
                          .options = default_options(),
                          .broken = n % 3,
                          .n = n};
        a.options.paths = a.options.steps = 2;
        a.options.gradient = true;
        a.options.threads = 1;
        ranks_act(3, estimate, &a);
        failed = a.status[n % 3] != 0;
        for (size_t r = 0; r < 3; r++) {
            assert_int_equal(a.closed[r], failed ? GSV_NO_MEMORY : 0);
            bool heard = !strncmp(a.sentence[r], "rank ", 5);
            if (failed) assert_true(heard == (r != n % 3));
            gsv_result_free(&a.result[r]);
        }
        assert_true(n < 1000);
    }
    gsv_series_free(s);
}

/* Rank 1 has nothing to do and ends; 0 wants to work. */
static void leave_or_work(gsv_ranks *r, void *user)
{
    struct asked *a = user;
    if (gsv_ranks_rank(r)) a->closed[1] = gsv_ranks_close(r, 0);
    else estimate(r, a);
}

static void ranks__say_when_one_ends_before_the_others(void **state)
{
    (void)state;
    gsv_series *s = data_of(&SHAPES[1]);
    struct asked a = {.text = WELL, .series = s, .options = default_options()};
    ranks_act(2, leave_or_work, &a);
    assert_int_equal(a.status[0], GSV_BAD_INPUT);
    assert_non_null(
        strstr(a.sentence[0], "all ranks must make the same calls"));
    gsv_series_free(s);
}

/* --- Fits ----------------------------------------------------------------- */

enum { VALUES = 512 };

struct learned {
    const char *text;
    const gsv_series *series;
    gsv_fit_options options;
    size_t threads; /* 0: by the number of ranks                        */
    size_t stop_at; /* the last rank stops it after so many iterations  */
    size_t late_at; /* its time is over at this look of the last rank   */
    int status[RANKS_MOST];
    enum gsv_ended ended[RANKS_MOST];
    enum gsv_errors errors[RANKS_MOST];
    size_t iterations[RANKS_MOST];
    double value[RANKS_MOST][VALUES], loglik[RANKS_MOST];
};

static bool stop_here(void *user, const gsv_progress *p)
{
    return p->iteration >= *(size_t *)user;
}

static void learn(gsv_ranks *r, void *user)
{
    struct learned *l = user;
    size_t rank = gsv_ranks_rank(r), count = gsv_ranks_count(r);
    gsv_fit_options o = l->options;
    gsv_model *m = model_of(l->text);
    gsv_model_draw(m, 1);
    o.estimator.ranks = r;
    o.estimator.threads = l->threads ? l->threads : count == 3 ? 2 : 1;
    if (l->stop_at && rank + 1 == count) {
        o.progress = stop_here;
        o.user = &l->stop_at;
    }
    if (rank + 1 == count) clock_skip_at(l->late_at, 1e6);
    l->status[rank] = gsv_fit(m, l->series, &o);
    clock_skip_at(0, 0.0);
    if (!l->status[rank]) {
        const gsv_record *record = gsv_model_record(m);
        l->ended[rank] = record->ended;
        l->errors[rank] = record->errors;
        l->iterations[rank] = record->iterations;
        l->loglik[rank] = record->loglik;
        memcpy(l->value[rank], gsv_model_value(m),
               gsv_model_values(m) * sizeof(double));
    }
    gsv_ranks_close(r, l->status[rank]);
    gsv_model_free(m);
}

static void assert_same_fit(const struct learned *a, size_t ranks,
                            const struct learned *one)
{
    for (size_t r = 0; r < ranks; r++) {
        assert_int_equal(a->status[r], 0);
        assert_int_equal(a->iterations[r], one->iterations[0]);
        assert_same(a->loglik[r], one->loglik[0]);
        assert_memory_equal(a->value[r], one->value[0], sizeof a->value[r]);
    }
}

/* How often ranks meet in a fit in which there is nothing to learn. */
struct meeting {
    const gsv_series *series;
    size_t restarts, met;
};

static void meet(gsv_ranks *r, void *user)
{
    static const char *const FIX[] = {"k", "s"};
    struct meeting *w = user;
    gsv_model *m = model_of(WELL);
    gsv_fit_options o = gsv_fit_options_default();
    o.estimator.ranks = r;
    o.estimator.threads = 1;
    o.restarts = w->restarts;
    o.fixed = COUNT(FIX);
    o.fix = FIX;
    assert_int_equal(gsv_fit(m, w->series, &o), 0);
    const struct guest *g = r->self;
    if (!g->rank) w->met = g->party->met;
    gsv_ranks_close(r, 0);
    gsv_model_free(m);
}

/* The gaps that restarts are compared by are the ranks' as all others are: they
 * meet for every one of these estimates. */
static void restarts__are_compared_by_all_ranks(void **state)
{
    (void)state;
    gsv_series *s =
        data_of(&(struct shape){.text = WELL, .tracks = 8, .rows = 8});
    struct meeting one = {s, 1, 0}, two = {s, 2, 0}, three = {s, 3, 0};
    ranks_act(2, meet, &one);
    ranks_act(2, meet, &two);
    ranks_act(2, meet, &three);
    assert_true(two.met >= one.met + 2);
    assert_true(three.met > two.met);
    gsv_series_free(s);
}

static void fit__has_the_same_bits_on_any_number_of_ranks(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t tracks, iterations, batch;
    } CASES[] = {{NET, 20, 12, 24}, {WELL, 8, 20, 0}, {NOISY, 2, 3, 0}};
    for (size_t i = 0; i < COUNT(CASES); i++) {
        gsv_series *s = data_of(&(struct shape){
            .text = CASES[i].text, .tracks = CASES[i].tracks, .rows = 8});
        struct learned alone = {.text = CASES[i].text, .series = s};
        alone.options = gsv_fit_options_default();
        alone.options.iterations = CASES[i].iterations;
        alone.options.batch = CASES[i].batch;
        learn(NULL, &alone);
        for (size_t ranks = 2; ranks <= FEW; ranks++) {
            struct learned l = alone;
            ranks_act(ranks, learn, &l);
            assert_same_fit(&l, ranks, &alone);
        }
        gsv_series_free(s);
    }
}

static void fit__ends_on_all_ranks_when_one_is_told_to(void **state)
{
    (void)state;
    gsv_series *s =
        data_of(&(struct shape){.text = NET, .tracks = 6, .rows = 8});
    struct learned l = {.text = NET, .series = s, .stop_at = 5};
    l.options = gsv_fit_options_default();
    l.options.iterations = 50;
    ranks_act(3, learn, &l);
    for (size_t r = 0; r < 3; r++) {
        assert_int_equal(l.ended[r], GSV_ENDED_STOPPED);
        assert_int_equal(l.iterations[r], 5);
    }
    assert_same_fit(&l, 3, &l);
    gsv_series_free(s);
}

/* In iterations, between them, in standard errors. */
static void fit__ends_on_all_ranks_when_the_time_of_one_is_over(void **state)
{
    (void)state;
    size_t late = 0, cut = 0, whole = 0;
    gsv_series *s =
        data_of(&(struct shape){.text = WELL, .tracks = 6, .rows = 8});
    for (size_t n = 1; !whole; n += 29) {
        struct learned l = {
            .text = WELL, .series = s, .threads = 1, .late_at = n};
        l.options = gsv_fit_options_default();
        l.options.time_limit = 1e3;
        ranks_act(3, learn, &l);
        for (size_t r = 1; r < 3; r++) {
            assert_int_equal(l.ended[r], l.ended[0]);
            assert_int_equal(l.errors[r], l.errors[0]);
        }
        assert_same_fit(&l, 3, &l);
        if (l.ended[0] == GSV_ENDED_TIME) late++;
        else if (l.errors[0] == GSV_ERRORS_NONE) cut++;
        else whole++;
    }
    assert_true(late > 0 && cut > 0);
    gsv_series_free(s);
}

/* Estimators of a fit: what it chooses by itself, in stages; references and
 * forms chosen gap by gap; the paper's. */
static const gsv_options ESTIMATORS[] = {{.seed = 1},
                                         {.seed = 1, .paths = 4, .steps = 2},
                                         {.seed = 1,
                                          .paths = 3,
                                          .steps = 2,
                                          .random = GSV_RANDOM_IID,
                                          .reference = GSV_REFERENCE_BROWNIAN,
                                          .form = GSV_FORM_ITO}};

/* In batches: on any number of ranks and threads, stopped after any number of
 * iterations and resumed on others, in every stage. */
static void assert_one_fit(const struct learned *whole, size_t ranks,
                           size_t threads, size_t stop_at)
{
    struct learned part = *whole, rest = *whole;
    size_t then = ranks % FEW + 1;
    part.threads = threads;
    rest.threads = 3 - threads;
    part.stop_at = stop_at;
    part.options.checkpoint = rest.options.resume = "test_ranks.fit";
    ranks_act(ranks, learn, &part);
    assert_int_equal(part.ended[0], GSV_ENDED_STOPPED);
    ranks_act(then, learn, &rest);
    assert_same_fit(&rest, then, whole);
}

static void fit__is_one_over_ranks_threads_and_resume_points(void **state)
{
    (void)state;
    static const size_t STOPS[] = {1, 4, 9};
    gsv_series *s =
        data_of(&(struct shape){.text = NET, .tracks = 20, .rows = 8});
    for (size_t i = 0; i < COUNT(ESTIMATORS); i++) {
        struct learned whole = {.text = NET, .series = s, .threads = 1};
        whole.options = gsv_fit_options_default();
        whole.options.estimator = ESTIMATORS[i];
        whole.options.iterations = 10;
        whole.options.batch = 24;
        learn(NULL, &whole);
        for (size_t ranks = 1; ranks <= FEW; ranks++) {
            struct learned l = whole;
            l.threads = 1 + (ranks + i) % 2;
            ranks_act(ranks, learn, &l);
            assert_same_fit(&l, ranks, &whole);
            assert_one_fit(&whole, ranks, l.threads,
                           STOPS[(ranks + i) % COUNT(STOPS)]);
        }
    }
    remove("test_ranks.fit");
    gsv_series_free(s);
}

/* --- Alone ---------------------------------------------------------------- */

static void ranks__are_one_without_a_launcher(void **state)
{
    (void)state;
    size_t rank = 7, count = 7;
    gsv_ranks *r = NULL;
    unsigned answer = 3;
    gsv_ranks_launched(&rank, &count);
    assert_true(rank == 0 && count == 1);
    assert_int_equal(gsv_ranks_open(&r), 0);
    assert_null(r);
    assert_true(gsv_ranks_rank(r) == 0 && gsv_ranks_count(r) == 1);
    assert_int_equal(comm_most(r, &answer), 0);
    assert_int_equal(answer, 3);
    assert_int_equal(gsv_ranks_close(r, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spread__sums_along_one_tree_on_any_number_of_ranks),
        cmocka_unit_test(loglik__has_the_same_bits_on_any_number_of_ranks),
        cmocka_unit_test(residuals__have_the_same_bits_on_any_number_of_ranks),
        cmocka_unit_test(residuals__fail_on_all_ranks_with_one_sentence),
        cmocka_unit_test(loglik__names_a_gap_that_is_not_finite_on_all_ranks),
        cmocka_unit_test(ranks__fail_together_where_memory_runs_out_on_one),
        cmocka_unit_test(ranks__say_when_one_ends_before_the_others),
        cmocka_unit_test(restarts__are_compared_by_all_ranks),
        cmocka_unit_test(fit__has_the_same_bits_on_any_number_of_ranks),
        cmocka_unit_test(fit__ends_on_all_ranks_when_one_is_told_to),
        cmocka_unit_test(fit__ends_on_all_ranks_when_the_time_of_one_is_over),
        cmocka_unit_test(fit__is_one_over_ranks_threads_and_resume_points),
        cmocka_unit_test(ranks__are_one_without_a_launcher),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
