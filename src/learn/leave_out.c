/* SPDX-License-Identifier: MIT */
/* Leave-one-series-out: the log density of each series at the estimate of the
 * others. Few series are left out one after another, and the rest is fitted
 * again. Of many, the estimate without a series is the estimate and
 *
 *     mean of theta_d under the weights w_d of the others - that under those of
 *     all series
 *
 * with draws theta_d from the normal law q of the whole estimate, and
 *
 *     w_d = p(theta_d) prod over series of p(series | theta_d) / q(theta_d)
 *
 * whose largest are smoothed (khat.h). Where the k-hat of the others' is too
 * large, or the series moves the estimate far, the rest is fitted again all the
 * same. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/khat.h"
#include "base/linalg.h"
#include "base/memory.h"
#include "base/option_rules.h"
#include "base/random.h"
#include "data/series.h"
#include "data/series_join.h"
#include "learn/learner.h"
#include "model/theta.h"
#include "predict/estimates.h"

/* A series that loses more than this, in nats, when it is left out moves the
 * estimate so far that the mean of draws follows it no longer well. */
static const double INFLUENTIAL = 1.0;

enum { PAIRS = 200, DRAWS = 2 * PAIRS };

struct leave_out {
    const gsv_model *m; /* the fit */
    const gsv_series *s;
    const gsv_options *o;
    gsv_leave_out *out;
    double *value;  /* (DRAWS, values)                        */
    double *length; /* (DRAWS) squares: -2 log q              */
    double *loglik; /* (DRAWS, tracks)                        */
    double *prior;  /* (DRAWS) log p                          */
    double *whole;  /* (tracks) log p at the estimate of all  */
    double *S;      /* (DRAWS) log weights                    */
    double *room;   /* of khat_smooth()                       */
};

/* --- The density of series ------------------------------------------------ */

/* Of every track, to sum (tracks). */
static int score_tracks(const gsv_model *m, const gsv_series *s,
                        const gsv_options *o, double *sum)
{
    gsv_result r;
    memset(sum, 0, s->tracks * sizeof *sum);
    int status = gsv_loglik(m, s, o, &r);
    if (status) return status;
    for (size_t i = 0; i < r.groups; i++)
        sum[r.gap[i].track] += r.gap[i].loglik;
    gsv_result_free(&r);
    return 0;
}

static int score_one(struct leave_out *l, const gsv_model *m, size_t r)
{
    gsv_series *one = series_track(l->s, r, l->s->label[r]);
    if (!one) return (int)gsv_last_status();
    int status = score_tracks(m, one, l->o, &l->out->score[r]);
    gsv_series_free(one);
    /* A series of one row says nothing. */
    return status == GSV_BAD_INPUT ? 0 : status;
}

/* --- By fits -------------------------------------------------------------- */

static gsv_fit_options refit_options(const struct leave_out *l)
{
    const gsv_record *r = l->m->record;
    gsv_fit_options o = gsv_fit_options_default();
    o.estimator.seed = l->o->seed;
    o.estimator.threads = l->o->threads;
    o.estimator.observe = r->estimator.observe;
    o.estimator.points = r->estimator.points;
    o.estimator.wide = r->estimator.wide;
    o.errors = GSV_ERRORS_NONE;
    o.estimate = GSV_ESTIMATE_NONE;
    o.heldout = 0.0;
    return o;
}

static int refit(struct leave_out *l, size_t r)
{
    gsv_fit_options o = refit_options(l);
    gsv_series *others = series_without(l->s, r);
    gsv_model *m = others ? gsv_model_copy(l->m) : NULL;
    int status =
        m ? gsv_fit(m, others, &o) : (enum gsv_status)gsv_last_status();
    if (!status) status = (enum gsv_status)score_one(l, m, r);
    l->out->khat[r] = NAN;
    l->out->refits++;
    gsv_model_free(m);
    gsv_series_free(others);
    return (int)status;
}

/* --- By weights ----------------------------------------------------------- */

/* The priors of a model's text. */
struct text_prior {
    struct prior prior;
    size_t *place;
    bool *fixed;
};

static int text_prior_init(struct text_prior *t, const gsv_model *m)
{
    const gsv_fit_options none = gsv_fit_options_default();
    size_t n = gsv_theta_size(m);
    *t = (struct text_prior){.place = NEW(size_t, n), .fixed = NEW(bool, n)};
    if (!t->place || !t->fixed) return GSV_NO_MEMORY;
    theta_places(m, t->place);
    return prior_init(&t->prior, m, &none, t->fixed, t->place);
}

static void text_prior_free(struct text_prior *t)
{
    prior_free(&t->prior);
    MEM_FREE(t->place, t->fixed);
}

static int fill_draws(struct leave_out *l, gsv_model *m)
{
    size_t values = m->spec->parameters;
    struct text_prior p;
    int status = text_prior_init(&p, m);
    for (size_t d = 0; !status && d < DRAWS; d++) {
        memcpy(m->value, l->value + d * values, values * sizeof *m->value);
        l->prior[d] = p.prior.count ? prior_at(&p.prior).values : 0.0;
        status = score_tracks(m, l->s, l->o, l->loglik + d * l->s->tracks);
        if (status == GSV_NUMERICAL) {
            l->prior[d] = -INFINITY;
            status = 0;
        }
    }
    text_prior_free(&p);
    return status;
}

/* Standard normals (n, DRAWS) in pairs z and -z, whose covariance is 1 as far
 * as there are enough of them: means of what is linear in them have no error.
 */
static int fill_normals(size_t n, uint64_t seed, double *z)
{
    const struct random_key key = {.seed = seed, .purpose = RANDOM_PARAMETERS};
    double *half = NEW(double, n *PAIRS), *C = NEW(double, n *n);
    int status = half && C ? 0 : GSV_NO_MEMORY;
    if (!status) {
        random_normals(&key, 0, n, 0, PAIRS, half);
        linalg_product(n, PAIRS, n, half, false, half, true, C);
        for (size_t e = 0; e < n * n; e++)
            C[e] /= PAIRS;
        if (linalg_cholesky(n, C)) linalg_lower_solve(n, PAIRS, C, false, half);
    }
    for (size_t e = 0; !status && e < n * PAIRS; e++) {
        double *to = z + e / PAIRS * DRAWS + e % PAIRS;
        to[0] = half[e];
        to[PAIRS] = -half[e];
    }
    MEM_FREE(half, C);
    return status;
}

/* Values (DRAWS, values), with the squares of their normals. */
static int draw_values(struct leave_out *l)
{
    const gsv_record *r = l->m->record;
    size_t values = l->m->spec->parameters;
    struct estimates e;
    if (!r->correlation)
        return fail(GSV_BAD_INPUT,
                    "so many series are left out by weights, which need "
                    "standard errors: fit with --errors observed");
    l->value = NEW(double, DRAWS *values);
    int status = estimates_init(&e, l->m, r);
    double *z = NEW(double, e.n *DRAWS);
    if (!status && (!l->value || !z)) status = GSV_NO_MEMORY;
    if (!status) status = fill_normals(e.n, l->o->seed, z);
    for (size_t d = 0; !status && d < DRAWS; d++) {
        for (size_t i = 0; i < e.n; i++) {
            e.z[i] = z[i * DRAWS + d];
            l->length[d] += e.z[i] * e.z[i];
        }
        estimates_move(l->m, &e, e.z, l->value + d * values);
    }
    estimates_free(&e);
    mem_free(z);
    return status;
}

static int draws_init(struct leave_out *l)
{
    l->length = NEW(double, DRAWS);
    l->loglik = NEW(double, DRAWS * l->s->tracks);
    l->prior = NEW(double, DRAWS);
    l->whole = NEW(double, l->s->tracks);
    l->S = NEW(double, DRAWS);
    l->room = NEW(double, khat_room(DRAWS));
    if (!l->length || !l->loglik || !l->prior || !l->whole || !l->S || !l->room)
        return GSV_NO_MEMORY;
    int status = draw_values(l);
    if (!status) status = score_tracks(l->m, l->s, l->o, l->whole);
    if (status) return status;
    gsv_model *m = gsv_model_copy(l->m);
    status = m ? fill_draws(l, m) : (int)gsv_last_status();
    gsv_model_free(m);
    return status;
}

/* Log weights without series r; of SIZE_MAX with all. The k-hat. */
static double weigh(struct leave_out *l, size_t r)
{
    size_t tracks = l->s->tracks;
    for (size_t d = 0; d < DRAWS; d++) {
        l->S[d] = l->prior[d] + 0.5 * l->length[d];
        for (size_t t = 0; t < tracks; t++)
            if (t != r) l->S[d] += l->loglik[d * tracks + t];
    }
    return khat_smooth(DRAWS, l->S, l->room);
}

/* Adds sign times the mean of the draws under the weights to theta. m is moved
 * about; at is room for a theta. */
static void add_mean(const struct leave_out *l, gsv_model *m, double sign,
                     double *at, double *theta)
{
    size_t n = gsv_theta_size(m), values = m->spec->parameters;
    double most = -INFINITY, sum = 0.0;
    for (size_t d = 0; d < DRAWS; d++)
        most = fmax(most, l->S[d]);
    for (size_t d = 0; d < DRAWS; d++)
        sum += exp(l->S[d] - most);
    for (size_t d = 0; d < DRAWS; d++) {
        memcpy(m->value, l->value + d * values, values * sizeof *m->value);
        gsv_theta_get(m, at);
        for (size_t i = 0; i < n; i++)
            theta[i] += sign * exp(l->S[d] - most) / sum * at[i];
    }
    memcpy(m->value, l->m->value, values * sizeof *m->value);
}

/* The estimate moves as the mean of the draws does when the series leaves: what
 * is chance, or skew, in one mean is in the other one as well. */
static int reweigh(struct leave_out *l, size_t r)
{
    size_t n = gsv_theta_size(l->m);
    double khat = l->out->khat[r] = weigh(l, r);
    if (!(khat < khat_threshold(DRAWS))) return refit(l, r);
    gsv_model *m = gsv_model_copy(l->m);
    double *at = NEW(double, n), *theta = NEW(double, n);
    int status = m && at && theta ? 0 : GSV_NO_MEMORY;
    if (!status) {
        gsv_theta_get(m, theta);
        add_mean(l, m, 1.0, at, theta);
        weigh(l, SIZE_MAX);
        add_mean(l, m, -1.0, at, theta);
        gsv_theta_set(m, theta);
        status = score_one(l, m, r);
    }
    MEM_FREE(at, theta);
    gsv_model_free(m);
    if (!status && l->whole[r] - l->out->score[r] > INFLUENTIAL)
        return refit(l, r);
    return status;
}

/* --- All ------------------------------------------------------------------ */

/* A fit keeps its model's text, but not what was fixed, or given a prior, for
 * this fit alone: its numbers without a series would be those of another
 * question. */
static int check_question(const gsv_model *m)
{
    const gsv_record *r = m->record;
    struct text_prior p;
    int status = text_prior_init(&p, m);
    size_t priors = p.prior.count;
    text_prior_free(&p);
    if (status) return status;
    if (r->free < gsv_theta_size(m))
        return fail(GSV_BAD_INPUT,
                    "%zu of the fit's %zu numbers were fixed, and would be "
                    "learned when a series is left out; write them as 'const' "
                    "in the model, and fit it again",
                    gsv_theta_size(m) - r->free, gsv_theta_size(m));
    if (r->priors != priors)
        return fail(GSV_BAD_INPUT,
                    "%zu of the fit's numbers had a prior, and %zu have one in "
                    "the model's text, which is used when a series is left "
                    "out; write all priors in the model, and fit it again",
                    r->priors, priors);
    return 0;
}

static int check(const gsv_model *m, const gsv_series *s)
{
    const struct spec *spec = m->spec;
    if (!m->record)
        return fail(GSV_BAD_INPUT, "series are left out of a fit; this model "
                                   "was not fitted");
    if (s->tracks < 2)
        return fail(GSV_BAD_INPUT,
                    "%s has one series: there are no others to learn from",
                    s->source);
    if (spec_category(spec, SERIES_NAME) < spec->categories)
        return fail(GSV_BAD_INPUT,
                    "the model has numbers of single series: no others say "
                    "what they are");
    return check_question(m);
}

static void sum_up(gsv_leave_out *out)
{
    double n = (double)out->tracks, square = 0.0;
    for (size_t r = 0; r < out->tracks; r++)
        out->sum += out->score[r];
    for (size_t r = 0; r < out->tracks; r++)
        square += pow(out->score[r] - out->sum / n, 2.0);
    out->error = sqrt(n / (n - 1.0) * square);
}

enum gsv_status gsv_leave_series_out(const gsv_model *m, const gsv_series *s,
                                     const gsv_options *o, size_t refits,
                                     gsv_leave_out *result)
{
    if (ANY_NULL(m, s, o, result)) return GSV_BAD_INPUT;
    *result = (gsv_leave_out){0};
    if (option_check(GSV_OF_ESTIMATOR, o) || series_check(s))
        return GSV_BAD_INPUT;
    int refused = check(m, s);
    if (refused) return (enum gsv_status)refused;
    struct leave_out l = {.m = m, .s = s, .o = o, .out = result};
    *result = (gsv_leave_out){.tracks = s->tracks,
                              .score = NEW(double, s->tracks),
                              .khat = NEW(double, s->tracks)};
    bool fits = s->tracks <= refits;
    int status = result->score && result->khat ? 0 : GSV_NO_MEMORY;
    if (!status && !fits) status = draws_init(&l);
    for (size_t r = 0; !status && r < s->tracks; r++)
        status = fits ? refit(&l, r) : reweigh(&l, r);
    MEM_FREE(l.value, l.length, l.loglik, l.prior, l.whole, l.S, l.room);
    if (status) gsv_leave_out_free(result);
    else sum_up(result);
    return (enum gsv_status)status;
}

void gsv_leave_out_free(gsv_leave_out *r)
{
    if (!r) return;
    MEM_FREE(r->score, r->khat);
    *r = (gsv_leave_out){0};
}
