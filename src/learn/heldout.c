/* SPDX-License-Identifier: MIT */
/* Held-out series of models with latent states or random effects, whose
 * likelihood is that of all rows of a series together. */
#include "base/error.h"
#include "base/memory.h"
#include "data/series_join.h"
#include "learn/learner.h"

/* The tracks of a list as a series. */
static gsv_series *select_tracks(const gsv_series *s, size_t n,
                                 const size_t *track)
{
    gsv_series **one = NEW(gsv_series *, n), *all = NULL;
    size_t made = 0;
    for (; one && made < n; made++) {
        one[made] = series_track(s, track[made], s->label[track[made]]);
        if (!one[made]) break;
    }
    if (one && made == n) all = series_below(n, one);
    for (size_t i = 0; i < made; i++)
        gsv_series_free(one[i]);
    mem_free(one);
    return all;
}

static int score(const gsv_model *m, const gsv_series *held,
                 const gsv_fit_options *o)
{
    gsv_options e = gsv_options_default();
    gsv_result r;
    e.seed = o->estimator.seed;
    e.threads = o->estimator.threads;
    e.observe = o->estimator.observe;
    e.points = o->estimator.points;
    int status = gsv_loglik(m, held, &e, &r);
    if (status) return status;
    m->record->heldout = r.loglik;
    m->record->heldout_gaps = r.gaps;
    gsv_result_free(&r);
    return 0;
}

int fit_heldout(gsv_model *m, const gsv_series *s, const gsv_fit_options *o)
{
    gsv_fit_options own = *o;
    struct split split = {0};
    gsv_series *train = NULL, *held = NULL;
    own.heldout = 0.0;
    own.heldout_series = false;
    int status =
        s->tracks > 1
            ? split_init(&split, o->estimator.seed, s->tracks, o->heldout, 0)
            : fail(GSV_BAD_INPUT, "there is one series: none can be held out");
    if (!status) train = select_tracks(s, split.trains, split.train);
    if (train) held = select_tracks(s, split.helds, split.held);
    if (!status && !held) status = (int)gsv_last_status();
    if (!status) status = fit_compared(m, train, &own, NULL);
    if (!status && m->record->ended != GSV_ENDED_STOPPED)
        status = score(m, held, o);
    gsv_series_free(train);
    gsv_series_free(held);
    split_free(&split);
    return status;
}
