/* SPDX-License-Identifier: MIT */
/* One fit under way: what the optimisers share. */
#ifndef LEARN_LEARNER_H
#define LEARN_LEARNER_H

#include "base/halt.h"
#include "learn/curve.h"
#include "learn/foresight.h"
#include "learn/noise_step.h"
#include "learn/objective.h"
#include "learn/prior.h"
#include "learn/soap.h"
#include "learn/split.h"

enum { STAGES = 2 };

/* Iterations that are not finite before a fit by batches gives up. */
enum { MOST_FAILURES = 20 };

/* Up to so many numbers differences are of the log-likelihood itself; of its
 * gradient, which leaves out that references follow, where that would take too
 * long. The gradient of modified bridges leaves nothing out but the jumps of
 * paths that leave the domain, which differences are better without. */
enum { MOST_BY_VALUE = 24 };

/* The numbers of a fit that a checkpoint keeps besides its vectors. All are
 * doubles, so that they go into one tensor. */
struct standing {
    double iteration;       /* of this restart                            */
    double restart;         /* 0, 1, ...                                  */
    double stage;           /* 0 or 1                                     */
    double reference, form; /* of the second stage, once it has begun */
    double paths, steps;
    double factor;       /* of the rate: failures and plateaus         */
    double failures;     /* iterations whose values were not finite    */
    double heldout;      /* the last held-out mean                     */
    double best;         /* the best held-out mean of this stage       */
    double best_at;      /* its iteration                              */
    double looked_at;    /* iteration of the last look; -1: none yet   */
    double began_at;     /* iteration of the first look of this stage  */
    double improved;     /* 1: a look was better than the first of its stage */
    double falls;        /* that were undone                           */
    double penalised_at; /* iteration of the last penalty            */
    double determined;   /* numbers of the drift that few data determine */
    double lowered_at;   /* iteration at which a plateau lowered the rate */
    double round;        /* of lbfgs                                   */
    double round_began;  /* iteration at which this one did          */
    double best_score;   /* score of the best restart so far           */
    double seconds;      /* of the runs before                         */
    double total;        /* iterations of all restarts                 */
    double end;          /* 1: held-out gaps say that it is enough     */
    double place;        /* gaps that batches have taken               */
};

/* What the estimate of a refit is compared with: see bootstrap.c. */
struct compared {
    const double *theta; /* (n) the truth of its data              */
    double *ratio;       /* (n) likelihood ratios of its numbers, or NaN */
};

/* How the mixture over kernels ended: see evidence_kernels.c. Without one,
 * bands are as if the kernels were known. */
enum spread_end {
    SPREAD_FINE,
    SPREAD_UNSEEN,   /* the function may as well be 0                */
    SPREAD_OPEN,     /* the data allow very different amplitudes     */
    SPREAD_LONG,     /* lengths at the end of their range, or...     */
    SPREAD_SHORT,    /* ...at its beginning                          */
    SPREAD_EDGE,     /* one of the outer kernels has most weight     */
    SPREAD_STOPPED,  /* none: there was no time                      */
    SPREAD_TOO_WIDE, /* none: there was no room                      */
    SPREAD_FAILED,   /* none: the evidence was not finite            */
    SPREAD_ENDS
};

struct kernel_spread {
    enum spread_end end;
    size_t by;        /* the place in theta of a kernel's number     */
    double low, high; /* two of its values, an error away from its mean */
};

struct learner {
    gsv_model *m;
    const gsv_series *s;
    const gsv_fit_options *o;
    const gsv_fit_options *given;    /* the same, with what was left open */
    const struct compared *compared; /* or NULL                           */
    const struct method *method;     /* the estimator, as the options name it */
    const struct recipe *recipe;     /* what the stages ask it for            */
    enum gsv_optimizer optimizer;
    gsv_options stage[STAGES];      /* the estimator of each */
    enum gsv_objective aim[STAGES]; /* and what it maximises */
    size_t stages;
    bool asks_steps; /* those of the second are not known yet */
    size_t seen;     /* steps of a gap that see how the drift moves in time */
    size_t iterations, n, gaps;
    struct split split;
    bool chosen; /* whether the user chose the estimator */
    bool ramp;   /* whether batches grow from stage to stage */

    bool *fixed;          /* (n) stays as it is                   */
    size_t free;          /* numbers that do not                  */
    size_t *value;        /* (n) where theta's numbers stand among the values */
    bool *weight;         /* (n) of a network                     */
    double *unit;         /* (n) of Adam's steps; 0 where fixed   */
    double *penalty;      /* (n) of half of a number's square     */
    double *centre;       /* (n) from which the penalty counts    */
    struct prior prior;   /* of the values                        */
    double *theta;        /* (n)                                  */
    double *safe;         /* (n) the last one that was finite     */
    double *best;         /* (n) with the best held-out value     */
    double *best_restart; /* (n) the best restart's               */
    double *first;        /* (n) where the first restart began    */
    double *kept;         /* (values) before the fit: of fixed numbers */
    double *move;         /* (n) a step to difference by; 0: none known */
    struct arena arena;
    struct adam adam;
    struct soap soap;
    struct noise_step noise;
    double *best_value; /* (watched) of gaps at the best look  */
    size_t watched;     /* gaps that are watched, at most      */
    struct standing now;
    struct curve curve;
    struct foresight foresight; /* of the search under way */
    bool refit;                 /* of a model that was fitted before */
    bool likelihood_alone;      /* no Newton steps: see fit_likelihood()  */
    char *terms; /* what a checkpoint must have in common with a resume */

    double evidence;     /* of a model with gps, or NaN */
    double limit, doubt; /* of the last stage: see evidence.h           */
    double missed;       /* what another kernel would gain there, about;
                          * NaN: not known */
    size_t missed_by;    /* the place in theta of its number            */
    struct kernel_spread spread;
    double began, saved; /* on the clock */
    double due;          /* the same: when it must have ended; or infinite */
    bool must_advance;   /* the time limit waits: see learner_advance() */
    bool searched;       /* the search is over */
    struct halt halt;    /* what is under way: by the caller, or by time */
    enum gsv_ended ended;
    int failed;            /* a checkpoint, or the other ranks      */
    size_t refused;        /* likelihoods that cannot be, of chains: gibbs.h */
    bool resumed;          /* what a checkpoint kept is in place    */
    struct tensors chains; /* of a checkpoint: see gibbs_state.c */
    bool sampling;         /* the search is over, and chains are under way */
    /* What a checkpoint has of them, or NULL. */
    int (*keep)(void *keeper, struct tensors *t);
    void *keeper;
};

/* Memory, what is held out, the plan and the terms, after the options' checks;
 * to be freed in any case. Options that were left open are filled in. */
int learner_init(struct learner *l, gsv_fit_options *o);
void learner_free(struct learner *l);

/* Seconds since the fit began, with what came before. */
double learner_seconds(const struct learner *l);

/* After an iteration: calls progress(), writes a checkpoint where one is due,
 * reads the clock. True ends the fit, with l->ended set. value: a gap's
 * mean and its error. */
bool learner_step(struct learner *l, const struct score *score, double rate);

/* Before every estimate that may be skipped: 0, or GSV_STOPPED after the time
 * limit or where the caller stops. learner_over() says which; later calls
 * return the same. Estimates check it while they run. */
int learner_go_on(struct learner *l);
enum halt_reason learner_over(const struct learner *l);

/* The status of work that may be stopped: 0 where it was stopped. */
int learner_spared(const struct learner *l, int status);

/* After anything that a resume does not do again. A fit that was resumed goes
 * on until then, whatever its time limit: resumed often enough it ends. */
void learner_advance(struct learner *l);

/* The search stops where it is: l->ended says why. */
void learner_rest(struct learner *l);

/* Tells the caller which phase begins. */
void learner_phase(const struct learner *l, enum gsv_phase phase);

/* The search is over: what comes after it has the time limit once more. */
void learner_end_search(struct learner *l);

/* Whether this rank writes checkpoints. */
bool learner_writes(const struct learner *l);

/* Sets the model's values; fixed ones to the bit. */
void learner_set(struct learner *l, const double *theta);

/* The theta that a fit would end with now, to (n). */
void learner_result(const struct learner *l, double *to);

/* Default options of the likelihood, with the fit's seed and threads. */
gsv_options learner_usual(const struct learner *l);

/* Those that a fit ends with, from those of a stage: every gap with the
 * reference and the form that suit it, unless they were chosen by hand. */
gsv_options learner_final(const struct learner *l, int stage);

/* The objective of the fit under an estimator, to be freed in any case. */
int learner_objective(const struct learner *l, struct objective *o,
                      enum gsv_objective aim, const gsv_options *options,
                      size_t most);

/* Whether number i of theta has a penalty: weights, and no biases. */
bool learner_is_penalised(const struct learner *l, size_t i);

/* Whether it learns from batches of gaps. */
bool learner_by_batches(const struct learner *l);

/* Whether it is a mean squared error. */
bool learner_integrates(const struct learner *l);

/* Whether the data fall into groups of gaps that are independent given the
 * model; rows of hidden states are not. */
bool learner_has_groups(const struct learner *l);

/* Whether batches are of series: networks with hidden states. */
bool learner_by_tracks(const struct learner *l);

/* Whether it integrates random effects over such groups (effort.c). */
bool learner_over_gaps(const struct learner *l);

/* How many gaps a group has, about: it is a gap, a series, or all data. */
double learner_each(const struct learner *l);

/* --- fit_options.c -------------------------------------------------------- */

/* Whether they go together and with the model, whose optimiser is chosen; then
 * what was left open, once the gaps are counted. */
int fit_options_check(struct learner *l, const gsv_fit_options *o);
void fit_options_fill(struct learner *l, gsv_fit_options *o);

/* Whether there are enough parts for a sandwich, once the numbers that are
 * learned are counted. */
int fit_options_sandwich(const struct learner *l, const gsv_fit_options *o);

/* Those of the names that are fixed that a model has, to `to`, as o's own:
 * terms may be gone. */
int fit_options_fix(gsv_fit_options *o, const gsv_model *m,
                    const gsv_fit_options *from, const char **to);

/* --- match.c ------------------------------------------------------------- */

/* Whether it is a regression; and whether its references stay as they are while
 * it is made best, and follow then. */
bool learner_matches(const struct learner *l);
bool learner_alternates(const struct learner *l);

/* Refuses options that it does not accept; sets those of its estimator. */
int match_check(const struct learner *l, const gsv_fit_options *o);
void match_plan(struct learner *l, gsv_options *o);

/* The bound as a first stage of gps: it is below the log-likelihood whatever
 * the drift, while one step of a midpoint can be far above it for a drift that
 * varies strongly. */
void match_first(gsv_options *o);

/* The optimisers: from l->theta on, which is moved. */
int learn_batches(struct learner *l);
int learn_lbfgs(struct learner *l);

/* The one of models with gps; and at the end of it, the posterior to the model
 * and the evidence, with theta moved to the posterior's mean. */
int learn_evidence(struct learner *l);
int evidence_conclude(struct learner *l, double *theta);

/* --- forcing.c ----------------------------------------------------------- */

/* How many steps a gap needs to see how its drift moves in time, to l->seen:
 * searches begin with as many. */
int learner_see(struct learner *l);

/* --- effort_plan.c -------------------------------------------------------- */

/* At least so many steps, and as many as were seen to be needed. */
size_t learner_steps(const struct learner *l, size_t least);

/* --- effort.c ------------------------------------------------------------ */

/* What stages use, by whether a map takes the model to unit diffusion. */
struct recipe {
    enum gsv_reference one_step, euler, sampled; /* one step, one left sum,
                                                    several paths         */
    enum gsv_form one_step_form, euler_form;
    bool one_form;    /* there is no form but euler_form               */
    bool by_value;    /* differences of few numbers are of the value   */
    double share;     /* of the deviation that effort_by_score() keeps */
    size_t most_dims; /* of sampled bridges, with adam                 */
};

const struct recipe *recipe_choose(const gsv_model *m);

/* The steps of the second stage at theta, where they are left to the estimator
 * of hidden states. */
int effort_of_steps(struct learner *l);

/* Fills the stages from the options. */
void effort_plan(struct learner *l);

/* The second stage's paths and steps at theta: as many as the spread of the
 * weights and twice as many steps ask for, so that a gap's log-likelihood is
 * right to this accuracy; or the score to this share of its deviation, over
 * all gaps, which the time limit may stop. */
int effort_by_value(struct learner *l, const double *theta, double accuracy);
int effort_by_score(struct learner *l, const double *theta, double share);

/* The same where random effects are integrated over gaps: one step where that
 * is as good as several, which it is of linear equations. */
int effort_of_panel(struct learner *l, const double *theta, double accuracy);

/* All paths and steps that a search may take for the second stage. */
int effort_raise(struct learner *l);

/* Whether differences for so many numbers are of the log-likelihood itself. */
bool learner_by_value(const struct learner *l, size_t numbers);

/* --- terms.c -------------------------------------------------------------- */

/* Everything that the bits of a fit depend on, to l->terms. */
int terms_write(struct learner *l);

/* --- checkpoint.c -------------------------------------------------------- */

int checkpoint_write(struct learner *l, const char *path);

/* Puts the state into the model, so that it is written along with it. */
int checkpoint_keep(struct learner *l);
int checkpoint_read(struct learner *l, const char *path);

/* --- finish.c ------------------------------------------------------------ */

/* The record at theta: likelihoods, standard errors. whole: with all that
 * takes time. */
int finish(struct learner *l, const double *theta, bool last);

/* Standard errors, intervals and correlations to the record. */
int uncertainty(struct learner *l, const double *theta, gsv_record *r);

/* No errors, with a warning, where flagged gaps carry the estimate. */
int uncertainty_withhold(const struct learner *l, gsv_record *r);

/* The likelihood ratios that c asks for; NaN where there are none. */
int uncertainty_compare(struct learner *l, const double *theta,
                        const struct compared *c);

/* Intervals with the limits of likelihood ratios times factor (n), to low and
 * high (values); a NaN stays. */
int uncertainty_corrected(struct learner *l, const double *theta,
                          const double *factor, double *low, double *high);

/* --- fit.c, heldout.c, bootstrap.c
 * --------------------------------------------------- */

/* As gsv_fit(), whose estimate is compared; for c NULL it is the same. */
int fit_compared(gsv_model *m, const gsv_series *s, const gsv_fit_options *o,
                 const struct compared *c);

/* As gsv_fit(), for its log-likelihood: without the last steps, which move the
 * estimate by a part of its standard error, and l by some hundredths. */
int fit_likelihood(gsv_model *m, const gsv_series *s, const gsv_fit_options *o);

/* As gsv_fit() where states are latent: the series that are held out are left
 * out of the data, and scored at the end. */
int fit_heldout(gsv_model *m, const gsv_series *s, const gsv_fit_options *o);

/* Fits simulated data sets, and adds what they say to the record. */
int bootstrap(struct learner *l, const double *theta);

#endif
