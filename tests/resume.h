/* SPDX-License-Identifier: MIT */
/* Fits that are stopped, or lost, and resumed. */
#ifndef TESTS_RESUME_H
#define TESTS_RESUME_H

#include "learn.h"

/* Stops at an iteration of a restart; keeps the checkpoint of the one before,
 * as if the power had gone then. */
struct watch {
    size_t restart, stop_at, lose_at, stop_calls;
    size_t calls, last;
};

static inline bool watch(void *user, const gsv_progress *p)
{
    struct watch *w = user;
    w->calls++;
    w->last = p->iteration;
    if (w->lose_at && p->restart == w->restart && p->iteration == w->lose_at)
        assert_int_equal(rename("a.fit", "kept.fit"), 0);
    if (w->stop_calls) return w->calls == w->stop_calls;
    return w->stop_at && p->restart == w->restart && p->iteration >= w->stop_at;
}

struct problem {
    const char *text;
    gsv_series *s;
    gsv_fit_options o;
    gsv_model *whole; /* the uninterrupted fit */
};

static inline void problem_open(struct problem *p, const char *text,
                                size_t rows, gsv_fit_options o)
{
    *p = (struct problem){.text = text, .o = o};
    p->whole = model_of(text);
    p->s = learn_well(p->whole, 1, rows, 3);
    fit_must(p->whole, p->s, &p->o);
}

static inline void problem_close(struct problem *p)
{
    gsv_series_free(p->s);
    gsv_model_free(p->whole);
}

/* Stopped at k by progress(), and resumed from the file. */
static inline void expect_same_after_stop(const struct problem *p,
                                          size_t restart, size_t k)
{
    struct watch w = {.restart = restart, .stop_at = k};
    gsv_fit_options o = p->o;
    gsv_model *m = model_of(p->text), *n = model_of(p->text);
    o.progress = watch;
    o.user = &w;
    o.checkpoint = "a.fit";
    const gsv_record *r = fit_must(m, p->s, &o);
    assert_int_equal(w.last, k);
    assert_int_equal(r->ended, GSV_ENDED_STOPPED);
    o = p->o;
    o.resume = "a.fit";
    fit_must(n, p->s, &o);
    assert_same_fit(n, p->whole);
    gsv_model_free(m);
    gsv_model_free(n);
}

/* The file that was written after iteration k - 1 is all that is left. */
static inline void expect_same_after_loss(const struct problem *p,
                                          size_t restart, size_t k)
{
    struct watch w = {.restart = restart, .lose_at = k};
    gsv_fit_options o = p->o;
    gsv_model *m = model_of(p->text), *n = model_of(p->text);
    o.progress = watch;
    o.user = &w;
    o.checkpoint = "a.fit";
    o.every = 0.0;
    fit_must(m, p->s, &o);
    assert_same_fit(m, p->whole); /* writing changes nothing */
    o = p->o;
    o.resume = "kept.fit";
    fit_must(n, p->s, &o);
    assert_same_fit(n, p->whole);
    gsv_model_free(m);
    gsv_model_free(n);
}

/* On other numbers of threads. */
static inline void expect_same_on_threads(const struct problem *p)
{
    for (size_t threads = 2; threads <= 3; threads++) {
        gsv_fit_options o = p->o;
        gsv_model *m = model_of(p->text);
        o.estimator.threads = threads;
        fit_must(m, p->s, &o);
        assert_same_fit(m, p->whole);
        gsv_model_free(m);
    }
}

#endif
