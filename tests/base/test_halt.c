/* SPDX-License-Identifier: MIT */
/* Whatever takes long ends where it is told to, at any of its questions, and
 * leaves nothing behind: asked no more, it says the same bits as ever. */
#include "learn.h"

#include "base/halt.h"
#include "base/lanes.h"

/* --- Questions --------------------------------------------------------------
 */

struct questions {
    size_t asked, until; /* so many are answered by no; 0: all */
};

static bool ask(void *user)
{
    struct questions *q = user;
    return ++q->asked >= q->until && q->until;
}

/* --- Calls ------------------------------------------------------------------
 */

enum { NUMBERS = 400 };

/* What a call says, as numbers. */
struct said {
    size_t n;
    double x[NUMBERS];
};

static void say(struct said *s, size_t n, const double *x)
{
    for (size_t i = 0; i < n && s->n < NUMBERS; i++)
        s->x[s->n++] = x[i];
}

struct problem {
    gsv_model *m;
    gsv_series *s;
};

static int call_loglik(const struct problem *p, struct said *said)
{
    gsv_result r;
    gsv_options o = gsv_options_default();
    o.threads = 1;
    o.gradient = true;
    int status = gsv_loglik(p->m, p->s, &o, &r);
    if (status) return status;
    say(said, 1, &r.loglik);
    say(said, r.values, r.gradient);
    gsv_result_free(&r);
    return 0;
}

static int call_simulate(const struct problem *p, struct said *said)
{
    static const double TIME[] = {0.0, 0.5, 1.0, 2.0};
    gsv_simulate_options o = gsv_simulate_options_default();
    o.times = COUNT(TIME);
    o.time = TIME;
    o.tracks = 300;
    o.threads = 1;
    gsv_series *s = gsv_simulate(p->m, &o);
    if (!s) return (int)gsv_last_status();
    say(said, s->rows, s->value);
    gsv_series_free(s);
    return 0;
}

static int call_predict(const struct problem *p, struct said *said)
{
    gsv_prediction out;
    gsv_predict_options o = gsv_predict_options_default();
    o.threads = 1;
    o.draws = 64;
    int status = gsv_predict(p->m, p->s, &o, &out);
    if (status) return status;
    say(said, out.rows, out.mean);
    gsv_prediction_free(&out);
    return 0;
}

static int call_residuals(const struct problem *p, struct said *said)
{
    gsv_residuals_result out;
    gsv_predict_options o = gsv_predict_options_default();
    o.threads = 1;
    o.draws = 64;
    int status = gsv_residuals(p->m, p->s, &o, &out);
    if (status) return status;
    say(said, out.rows, out.column[0].u);
    gsv_residuals_free(&out);
    return 0;
}

static int call_paths(const struct problem *p, struct said *said)
{
    gsv_smoothed out;
    gsv_paths_options o = gsv_paths_options_default();
    o.estimator.threads = 1;
    int status = gsv_paths(p->m, p->s, &o, &out);
    if (status) return status;
    say(said, out.rows, out.mean);
    gsv_smoothed_free(&out);
    return 0;
}

static int call_profile(const struct problem *p, struct said *said)
{
    static const double AT[] = {0.4, 0.6};
    double loglik[COUNT(AT)];
    gsv_fit_options o = fit_options();
    o.estimator.paths = o.estimator.steps = 1;
    int status = gsv_profile(p->m, p->s, &o, "s", COUNT(AT), AT, loglik);
    if (status) return status;
    say(said, COUNT(AT), loglik);
    return 0;
}

static const struct {
    const char *name;
    int (*call)(const struct problem *p, struct said *said);
    bool latent; /* whether it is for noisy observations, too */
} CALLS[] = {
    {"gsv_loglik()", call_loglik, true},
    {"gsv_simulate()", call_simulate, false},
    {"gsv_predict()", call_predict, true},
    {"gsv_residuals()", call_residuals, true},
    {"gsv_paths()", call_paths, true},
    {"gsv_profile()", call_profile, false},
};

static const char WELL[] = "state x\n param a = 1, s = 0.5 > 0\n"
                           "dx = a*(x - x^3)*dt + s*dW";
static const char NOISY[] = "state x\n param a = 1, s = 0.5 > 0\n"
                            "dx = a*(x - x^3)*dt + s*dW\n"
                            "obs y ~ normal(x, 0.2)\n init x ~ normal(0, 1)";

static struct problem problem_of(const char *text)
{
    struct problem p = {.m = model_of(text)};
    gsv_model *plain = model_of(WELL);
    p.s = learn_well(plain, 1, 60, 3);
    if (text == NOISY) {
        mem_free(p.s->name[0]);
        p.s->name[0] = mem_string("y");
    }
    gsv_model_free(plain);
    return p;
}

/* The n-th question ends it, for ever more of them. */
static void stop_everywhere(const struct problem *p, size_t call)
{
    struct said whole = {0};
    struct questions q = {0};
    gsv_stop_when(ask, &q);
    if (CALLS[call].call(p, &whole))
        fail_msg("%s: %s", CALLS[call].name, gsv_last_error());
    size_t all = q.asked;
    if (!all) fail_msg("%s never asks", CALLS[call].name);
    for (size_t n = 1; n <= all; n += 1 + n / 8) {
        struct said said = {0};
        q = (struct questions){.until = n};
        int status = CALLS[call].call(p, &said);
        if (status != GSV_STOPPED)
            fail_msg("%s: status %d at question %zu of %zu: %s",
                     CALLS[call].name, status, n, all, gsv_last_error());
    }
    gsv_stop_when(NULL, NULL);
    struct said again = {0};
    assert_int_equal(CALLS[call].call(p, &again), 0);
    assert_int_equal(again.n, whole.n);
    assert_true(same_bits(whole.n, whole.x, again.x));
}

static void calls__end_at_any_of_their_questions(void **state)
{
    (void)state;
    static const char *const TEXTS[] = {WELL, NOISY};
    for (size_t t = 0; t < COUNT(TEXTS); t++) {
        struct problem p = problem_of(TEXTS[t]);
        for (size_t i = 0; i < COUNT(CALLS); i++)
            if (!t || CALLS[i].latent) stop_everywhere(&p, i);
        free_both(p.m, p.s);
    }
}

/* A call from a fit's own function: its question ends it, not the fit. */
static bool call_inside(void *user, const gsv_progress *now)
{
    struct problem *p = user;
    struct questions yes = {.until = 1};
    struct said said = {0};
    (void)now;
    gsv_stop_when(ask, &yes);
    assert_int_equal(call_loglik(p, &said), GSV_STOPPED);
    gsv_stop_when(NULL, NULL);
    assert_int_equal(call_loglik(p, &said), 0);
    return false;
}

static void questions__nest(void **state)
{
    (void)state;
    struct problem p = problem_of(WELL), inside = problem_of(WELL);
    struct questions outer = {0};
    gsv_fit_options o = gsv_fit_options_default();
    o.estimator.threads = 1;
    o.progress = call_inside;
    o.user = &inside;
    gsv_stop_when(ask, &outer);
    assert_int_equal(gsv_fit(p.m, p.s, &o), 0);
    assert_int_equal(gsv_model_record(p.m)->ended, GSV_ENDED_CONVERGED);
    size_t before = outer.asked;
    struct said said = {0};
    assert_int_equal(call_loglik(&p, &said), 0);
    assert_true(outer.asked > before);
    gsv_stop_when(NULL, NULL);
    free_both(p.m, p.s);
    free_both(inside.m, inside.s);
}

/* Deeper than the library remembers: the outer ones are still asked. */
static void questions__nest_deeply(void **state)
{
    (void)state;
    enum { DEEP = 40 };
    struct problem p = problem_of(WELL);
    struct questions q[DEEP] = {{.until = 1}};
    struct said said = {0};
    for (size_t i = 0; i < DEEP; i++)
        gsv_stop_when(ask, &q[i]);
    assert_int_equal(call_loglik(&p, &said), GSV_STOPPED);
    for (size_t i = 0; i < DEEP - 1; i++)
        gsv_stop_when(NULL, NULL);
    assert_int_equal(call_loglik(&p, &said), GSV_STOPPED);
    for (size_t i = 0; i < 3; i++)
        gsv_stop_when(NULL, NULL);
    assert_int_equal(call_loglik(&p, &said), 0);
    free_both(p.m, p.s);
}

/* --- Lanes ------------------------------------------------------------------
 */

static enum halt_reason never(void *context)
{
    (void)context;
    return HALT_NOT;
}

static enum halt_reason at_once(void *context)
{
    (void)context;
    return HALT_BY_CALLER;
}

static void count_lane(void *context, size_t lane, size_t thread)
{
    (void)lane, (void)thread;
    atomic_size_t *done = context;
    atomic_fetch_add(done, 1);
}

/* On any number of threads: all lanes, or none once it is said. */
static void lanes__do_nothing_once_it_is_over(void **state)
{
    (void)state;
    for (size_t threads = 1; threads <= 4; threads++) {
        struct halt halt;
        atomic_size_t done = 0;
        const struct lanes_job job = {.context = &done, .work = count_lane};
        halt_begin(&halt, never, NULL);
        assert_int_equal(lanes_run(20, threads, &job), 0);
        assert_int_equal(atomic_load(&done), 20);
        halt_tell(HALT_BY_TIME);
        assert_int_equal(lanes_run(20, threads, &job), GSV_STOPPED);
        assert_int_equal(atomic_load(&done), 20);
        halt_forget(&halt);
        assert_int_equal(lanes_run(20, threads, &job), 0);
        halt_end(&halt);
    }
}

/* What is begun inside asks further out; a shield does not. */
static void halts__ask_from_the_inside_out(void **state)
{
    (void)state;
    struct halt outer, inner, shield;
    assert_false(halt_asked());
    halt_begin(&outer, at_once, NULL);
    halt_begin(&inner, never, NULL);
    assert_true(halt_asked());
    assert_int_equal(halt_status(), GSV_STOPPED);
    halt_begin(&shield, NULL, NULL);
    assert_false(halt_asked());
    assert_int_equal(halt_status(), 0);
    halt_end(&shield);
    assert_true(halt_asked());
    halt_end(&inner);
    halt_end(&outer);
    assert_false(halt_asked());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(halts__ask_from_the_inside_out),
        cmocka_unit_test(lanes__do_nothing_once_it_is_over),
        cmocka_unit_test(calls__end_at_any_of_their_questions),
        cmocka_unit_test(questions__nest),
        cmocka_unit_test(questions__nest_deeply),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
