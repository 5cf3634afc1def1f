/* SPDX-License-Identifier: MIT */
#include "learn/warn_training.h"

#include <math.h>

#include "base/plain.h"
#include "learn/weight_prior.h"
#include "model/fit_record.h"

/* Of a search by batches that was shorter than this, nothing is said. */
enum { ENOUGH_ITERATIONS = 200 };

int warn_of_training(const struct learner *l, gsv_record *r)
{
    enum { OFTEN = 3 };
    bool watched = learner_by_batches(l) && isfinite(l->now.best);
    if (!watched || r->iterations < ENOUGH_ITERATIONS) return 0;
    if (l->now.improved == 0.0)
        return fit_record_warn(
            r, "learning has not improved the likelihood of the gaps that are "
               "watched, and the network is about as it was drawn; take a "
               "lower --rate, a smaller network, or more data\n");
    if (l->now.falls < OFTEN) return 0;
    return fit_record_warn(
        r, "the likelihood fell several times while the network was learned, "
           "and these iterations were undone; take a lower --rate\n");
}

int warn_of_few_data(struct learner *l, const double *theta, gsv_record *r)
{
    /* Of its size. Of 30 small problems of experiments/training this is said of
     * seven, among which are five of the six largest errors. */
    static const double FAR = 0.4;
    struct weight_doubt doubt;
    char line[400];
    if (!learner_by_batches(l) || learner_over(l) ||
        r->iterations < ENOUGH_ITERATIONS)
        return 0;
    int status = weight_prior_doubt(l, theta, &doubt);
    double off = sqrt(doubt.error);
    if (status || !(off > FAR)) return status;
    plain_format(
        line, sizeof line,
        "the data can hardly carry the networks of the drift: they determine "
        "about %.2g of %zu weights, and the drift is expected to be off by %s "
        "%.0f %% of its size; use more data, a formula, or a gp, whose bands "
        "show what is known\n",
        doubt.determined, doubt.weights, off < 1.0 ? "about" : "more than",
        100.0 * fmin(off, 1.0));
    return fit_record_warn(r, line);
}

int warn_of_search(const struct learner *l, gsv_record *r)
{
    if (!(l->now.failures > MOST_FAILURES)) return 0;
    return fit_record_warn(
        r, "the search came again and again to values at which drift or noise "
           "are not finite, and ended with the best ones before that; use a "
           "smaller --rate, or formulas that are defined everywhere\n");
}

/* What is known of the state that is kept, where validations were made. */
static int say_last_value(const struct learner *l, gsv_record *r)
{
    char line[200];
    if (!learner_by_batches(l) || !isfinite(l->now.best)) return 0;
    plain_format(line, sizeof line,
                 "the state that was kept has a log-likelihood of about %.4g "
                 "per gap, from a sample of %s gaps\n",
                 l->now.best, l->split.helds ? "held-out" : "learned");
    return fit_record_warn(r, line);
}

int warn_of_halt(const struct learner *l, gsv_record *r)
{
    int status = fit_record_warn(
        r, learner_over(l) == HALT_BY_TIME
               ? "the last estimate took longer than the time limit: there is "
                 "no log-likelihood; 'girsanov loglik' computes it\n"
               : "interrupted: there is no log-likelihood of the estimate; "
                 "'girsanov loglik' computes it\n");
    return status ? status : say_last_value(l, r);
}
