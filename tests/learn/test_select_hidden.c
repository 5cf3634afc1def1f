/* SPDX-License-Identifier: MIT */
/* Selections with hidden states, their twins, and the same bits on any number
 * of threads and ranks. */
#include "trial.h"

#include "exact.h"
#include "learn.h"
#include "learn/twin.h"
#include "ranks.h"

/* A library over data, the model that made these, and what it should find. */
static const struct row {
    const char *truth, *library, *wanted;
    double gap;
    size_t rows, tracks;
    const char *columns; /* that are kept, of the simulated ones; NULL: all */
} ROWS[] = {
    {"state x\n param s = 1 > 0\n dx = -2*x*dt + s*dW",
     "state x\n param s = 1 > 0\n terms f(x) -> 1 : poly 2\n dx = f*dt + s*dW",
     "f.x", 0.2, 51, 2, NULL},
    {"state x\n param s = 1 > 0\n dx = -2*x*dt + s*dW\n"
     "init x ~ normal(0, 0.5)\n obs u ~ normal(x, 0.1)",
     "state x\n param s = 1 > 0\n terms f(x) -> 1 : poly 1\n dx = f*dt + s*dW\n"
     "init x ~ normal(0, 0.5)\n obs u ~ normal(x, 0.1)",
     "f.x", 0.2, 51, 2, "u"},
    {"state x\n param s = 1 > 0\n dx = -2*x*dt + s*dW\n"
     "init x ~ normal(0, 0.5)\n obs u ~ normal(x, 0.1)",
     "state x\n param s = 1 > 0\n terms f(x) -> 1 : poly 2\n dx = f*dt + s*dW\n"
     "init x ~ normal(0, 0.5)\n obs u ~ normal(x, 0.1)",
     "f.x", 0.2, 51, 3, "u"},
    {"state x, v\n param s = 1 > 0\n dx = v*dt\n"
     "dv = (-4*x - v)*dt + s*dW\n init v ~ normal(0, 1)",
     "state x, v\n param s = 1 > 0\n terms f(x, v) -> 1 : poly 1\n dx = v*dt\n"
     "dv = f*dt + s*dW\n init v ~ normal(0, 1)",
     "f.x f.v", 0.2, 121, 1, "x"},
};

/* The columns of a series that are named, or all. */
static gsv_series *keep_columns(gsv_series *s, const char *names)
{
    if (!names) return s;
    size_t c = 0;
    while (c < s->columns && strcmp(s->name[c], names) != 0)
        c++;
    assert_true(c < s->columns);
    gsv_series *kept = gsv_series_new(s->tracks, s->start, 1, &names, s->time,
                                      s->value + c * s->rows);
    gsv_series_free(s);
    assert_non_null(kept);
    return kept;
}

static gsv_series *data_of(const struct row *row, uint64_t seed)
{
    gsv_model *m = model_of(row->truth);
    gsv_simulate_options o = gsv_simulate_options_default();
    double time[400], start[4] = {0.5, 0.5, 0.5, 0.5};
    for (size_t i = 0; i < row->rows; i++)
        time[i] = row->gap * (double)i;
    o.time = time;
    o.times = row->rows;
    o.tracks = row->tracks;
    o.seed = seed;
    o.start = start;
    gsv_series *s = gsv_simulate(m, &o);
    if (!s) fail_msg("%s", gsv_last_error());
    gsv_model_free(m);
    return keep_columns(s, row->columns);
}

static gsv_fit_options quick_options(void)
{
    gsv_fit_options o = fit_options();
    o.errors = GSV_ERRORS_NONE;
    o.resamples = 20;
    return o;
}

static void select_must(const gsv_model *m, const gsv_series *s,
                        const gsv_fit_options *o, gsv_selection *r)
{
    if (gsv_select(m, s, o, r)) fail_msg("%s", gsv_last_error());
}

static void selection__finds_the_terms_of_hidden_states(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(ROWS); i++) {
        gsv_model *m = model_of(ROWS[i].library);
        gsv_series *s = data_of(&ROWS[i], 5);
        gsv_fit_options o = quick_options();
        gsv_selection r;
        char chosen[100] = "";
        select_must(m, s, &o, &r);
        for (size_t k = 0; k < r.coefficients; k++)
            if (r.coefficient[k].chosen) {
                if (*chosen) strcat(chosen, " ");
                strcat(chosen, r.coefficient[k].name);
            }
        if (strcmp(chosen, ROWS[i].wanted) != 0)
            fail_msg("row %zu: '%s'", i, chosen);
        gsv_selection_free(&r);
        free_both(m, s);
    }
}

/* --- Bits ----------------------------------------------------------------- */

static void assert_same_selection(const gsv_selection *a,
                                  const gsv_selection *b)
{
    assert_int_equal(a->coefficients, b->coefficients);
    assert_int_equal(a->candidates, b->candidates);
    for (size_t i = 0; i < a->coefficients; i++) {
        const gsv_coefficient *c = &a->coefficient[i], *d = &b->coefficient[i];
        assert_true(c->chosen == d->chosen && c->estimate == d->estimate &&
                    c->evidence == d->evidence && c->cost == d->cost &&
                    c->frequency == d->frequency);
    }
    for (size_t i = 0; i < a->candidates; i++)
        assert_true(a->candidate[i].loglik == b->candidate[i].loglik &&
                    a->candidate[i].value == b->candidate[i].value);
}

struct shared {
    const gsv_model *m;
    const gsv_series *s;
    const gsv_selection *alone;
};

static void select_on_rank(gsv_ranks *ranks, void *context)
{
    const struct shared *w = context;
    gsv_fit_options o = quick_options();
    gsv_selection r;
    o.estimator.ranks = ranks;
    select_must(w->m, w->s, &o, &r);
    assert_same_selection(&r, w->alone);
    gsv_selection_free(&r);
    gsv_ranks_close(ranks, 0);
}

static void selection__has_the_same_bits_on_threads_and_ranks(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(ROWS); i++) {
        if (i == 2) continue; /* takes long; the others use its parts */
        gsv_model *m = model_of(ROWS[i].library);
        gsv_series *s = data_of(&ROWS[i], 6);
        gsv_fit_options o = quick_options();
        gsv_selection one, more;
        o.estimator.threads = 1;
        select_must(m, s, &o, &one);
        for (size_t threads = 2; threads <= 3; threads++) {
            o.estimator.threads = threads;
            select_must(m, s, &o, &more);
            assert_same_selection(&one, &more);
            gsv_selection_free(&more);
        }
        struct shared w = {m, s, &one};
        if (i < 2) ranks_act(2, select_on_rank, &w);
        gsv_selection_free(&one);
        free_both(m, s);
    }
}

/* --- Twins ---------------------------------------------------------------- */

/* Copies of the data, with states in the place of observations; inputs stay. */
static void twin__has_the_states_as_columns(void **state)
{
    (void)state;
    gsv_model *m = model_of("state x, y\n input w\n param k = 2\n"
                            "dx = (w - k*x)*dt + dW\n dy = -y*dt + dW\n"
                            "init x ~ normal(0, 1)\n init y ~ normal(0, 1)\n"
                            "obs u ~ normal(x + y, 0.1)");
    enum { N = 5, COPIES = 3 };
    static const char *const name[] = {"u", "w", "y"};
    const size_t start[] = {0, 2, N};
    double time[N] = {0, 1, 0, 1, 2}, value[3 * N], states[COPIES * 2 * N];
    struct twin t;
    random_fill(3 * N, value, -1.0, 1.0);
    random_fill(COPIES * 2 * N, states, -1.0, 1.0);
    gsv_series *s = gsv_series_new(2, start, 3, name, time, value);
    assert_non_null(s);
    assert_int_equal(twin_init(&t, m, s, COPIES, states), 0);
    assert_non_null(t.m);
    assert_int_equal(t.s->tracks, 2 * COPIES);
    assert_int_equal(t.s->rows, N * COPIES);
    assert_int_equal(t.s->columns, 4); /* x, y, u, w */
    assert_true(value_of(t.m, "k") == 2.0);
    for (size_t copy = 0; copy < COPIES; copy++)
        for (size_t r = 0; r < N; r++) {
            const double *at = t.s->value + copy * N + r;
            assert_true(t.s->time[copy * N + r] == time[r]);
            for (size_t i = 0; i < 2; i++)
                assert_true(at[i * N * COPIES] ==
                            states[(copy * 2 + i) * N + r]);
            assert_true(at[2 * N * COPIES] == value[r]);
            assert_true(at[3 * N * COPIES] == value[N + r]);
        }
    twin_free(&t);
    free_both(m, s);
}

static void twin__survives_failing_allocations(void **state)
{
    (void)state;
    gsv_model *m = model_of(ROWS[1].library);
    gsv_series *s = data_of(&ROWS[1], 7);
    gsv_options o = gsv_options_default();
    bool done = false;
    for (size_t n = 1; !done; n += n / 8 + 1) {
        struct twin t;
        mem_fail_at(n);
        int status = twin_draw(&t, m, m, s, &o);
        mem_fail_at(0);
        done = !status && t.m;
        if (status) assert_int_equal(status, GSV_NO_MEMORY);
        twin_free(&t);
    }
    free_both(m, s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(selection__finds_the_terms_of_hidden_states),
        cmocka_unit_test(selection__has_the_same_bits_on_threads_and_ranks),
        cmocka_unit_test(twin__has_the_states_as_columns),
        cmocka_unit_test(twin__survives_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
