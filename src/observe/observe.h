/* SPDX-License-Identifier: MIT */
/* What all estimators with noisy observations share. A stop is a row in which
 * anything was observed, or after which events were counted; and, without a row
 * (NO_ROW), wherever else a point is needed: at the first time of a series,
 * where an input changes, and between them. At stops are
 * points x, drawn from a density q that a linearised smoother gives (smooth.h),
 * and between the points of neighbouring stops densities are estimated by
 * bridges. The estimators differ in how they average: scan.h, joint.h. */
#ifndef OBSERVE_OBSERVE_H
#define OBSERVE_OBSERVE_H

#include "base/halt.h"
#include "bridge/driver.h"
#include "model/gaps.h"
#include "model/method.h"
#include "observe/smooth.h"

/* --- stops.c -------------------------------------------------------------- */

/* All stops of all tracks, track by track. */
struct stops {
    struct gaps gaps; /* for inputs, states and values */
    struct stop *stop;
    size_t count, capacity;
    size_t *first;    /* (tracks + 1) of each track */
    double longest;   /* gap in time               */
    bool has_changes; /* the equation depends on inputs */
    bool cuts_events; /* stops_divide() cuts gaps that end in a count, too */
};

/* Fails where no track has two stops, or where a value is not one of its law.
 */
int stops_init(struct stops *s, const gsv_model *m, const gsv_series *series);
void stops_free(struct stops *s);

/* More stops, without a row, so that none is further than the length of the gap
 * between two rows / steps from the next; or than `longest`, where that is
 * positive. Gaps that end in a count of events stay whole. */
int stops_divide(struct stops *s, size_t steps, double longest);

/* More stops, without a row, at times between the first and the last stop of
 * their track: in the order of tracks, then of time. */
int stops_insert(struct stops *s, size_t n, const size_t *track,
                 const double *time);

/* Whether stop n is the first, or the last, of its track. */
bool stop_is_first(const struct stops *s, size_t n);
bool stop_is_last(const struct stops *s, size_t n);

/* Whether events since the stop before were counted at stop n: obs ~
 * poisson_process (rate.h). The stop before is then the row before. */
bool stop_has_events(const struct stops *s, size_t n);

/* What the column of the model's event k has at stop n, where it acts after
 * what was observed there; NaN where it does not act. */
double stop_event_value(const struct stops *s, size_t n, size_t k);

/* Fails where what a stop of [first, end) adds to log p(data) is not finite.
 * advice ends the message. */
int stops_check(const struct stops *s, size_t first, size_t end,
                const double *increment, const char *advice);

/* The stops of the longest track. */
size_t stops_longest(const struct stops *s);

/* Those that are rows. */
size_t stops_rows(const struct stops *s);

/* A result from what the stops add, its errors, and the effective numbers of
 * `most` points (NaN where a stop has but one). A row has what was added since
 * the row before. left (tracks): errors add up over a track, of which so much
 * is left in the end; NULL: they are independent. */
int stops_fill(const struct stops *s, const double *increment,
               const double *error, const double *ess, size_t most,
               const double *left, gsv_result *r);

/* A time of a track that points share. before: as the end of a step, where a
 * held input still has the value that it had until then. */
struct moment {
    size_t track;
    double time;
    bool before;
};

/* --- rows.c --------------------------------------------------------------- */

/* The head of every estimator here: what a method of rows (model/method.h) has
 * to know. increment (stops): what a stop adds to log p(data) in the last run.
 */
#define ROWS_HEAD                                                              \
    const struct method *method;                                               \
    const gsv_model *model;                                                    \
    gsv_options options;                                                       \
    struct stops stops;                                                        \
    double *increment

struct rows {
    ROWS_HEAD;
};
#define ROWS_FIRST                                                             \
    union {                                                                    \
        struct rows rows;                                                      \
        struct {                                                               \
            ROWS_HEAD;                                                         \
        };                                                                     \
    }

/* The fields of a row that are the same for all; machines begin with
 * ROWS_FIRST.
 */
int rows_accept(const struct method *row, const struct task *t);
/* The same for those whose points are drawn by the linearised smoother, which
 * has integrals only as counts of events. */
int smoothed_accept(const struct method *row, const struct task *t);
struct slots rows_slots(const void *machine, size_t *unit);
int rows_units(void *machine, const uint32_t *stream, double *unit);
void rows_track_logs(const void *machine, double *log);
#define ROWS_METHOD                                                            \
    .first_laws = true, .accept = smoothed_accept, .slots = rows_slots,        \
    .units = rows_units, .track_logs = rows_track_logs, .init = method_init,   \
    .free = method_free, .run = method_run, .fill = method_fill

/* The others, from NAME_init(), NAME_run(), NAME_fill() and NAME_free(). */
#define ROWS_FUNCTIONS(NAME)                                                   \
    static int method_init(const struct method *row, void *machine,            \
                           const struct task *t)                               \
    {                                                                          \
        struct NAME *a = machine;                                              \
        int status = NAME##_init(a, t->model, t->series, t->options);          \
        a->method = row;                                                       \
        return status;                                                         \
    }                                                                          \
    static void method_free(void *machine)                                     \
    {                                                                          \
        NAME##_free(machine);                                                  \
    }                                                                          \
    static int method_run(void *machine, const struct request *q,              \
                          struct score *score)                                 \
    {                                                                          \
        int status = NAME##_run(machine, q->reference_values, q->iteration,    \
                                q->gradient);                                  \
        return rows_finish(machine, status, score);                            \
    }                                                                          \
    static int method_fill(void *machine, const struct request *q, bool list,  \
                           gsv_result *r)                                      \
    {                                                                          \
        (void)list;                                                            \
        int status = NAME##_run(machine, q->reference_values, q->iteration,    \
                                q->gradient);                                  \
        int stopped = halt_status();                                           \
        if (stopped) return stopped;                                           \
        return status ? status : NAME##_fill(machine, r);                      \
    }

/* The status of a run, unless a rank was stopped, and its score: the mean of
 * what each row adds given those before it. Results of stopped work mean
 * nothing. */
int rows_finish(const struct rows *r, int status, struct score *score);

/* --- laws.c --------------------------------------------------------------- */

/* Laws of other modes than the first, where observations are not one-to-one:
 * at most so many. */
enum { LAWS_OTHERS = 7 };

/* A law that goes along another path: at the stops of a track where it is
 * there, because it is none of those before it. */
struct other_law {
    double *mean, *cov; /* as those of struct laws; NULL: none was ever found */
    bool *there;        /* (stops)                                            */
};

/* The smoother's laws of all stops, in the coordinates u = sigma y of stretched
 * states (unit.c), where each state is by itself. Those that were observed
 * exactly in a row have no variance there. */
struct laws {
    const gsv_model *model;
    const struct stops *stops;
    size_t d;
    double *mean, *cov; /* (stops, d), (stops, d, d) */
    /* See struct smooth_law; NULL unless linked. */
    double *gain, *rest, *predicted_mean, *predicted_cov;
    struct smoother smoother;
    struct program *sigma;
    struct uniforms uniforms;
    struct workspace space;
    double *time, *input, *slope, *state; /* of one point     */
    double *small;                        /* (3, d, d)        */
    int *pivot;                           /* (d)              */
    struct arena arena;
    struct other_law other[LAWS_OTHERS];
    bool *crowded; /* (tracks) there are more modes than that; or NULL */
};

/* linked: with the joint laws of neighbouring stops. */
int laws_init(struct laws *l, const gsv_model *m, const struct stops *stops,
              bool use_double, bool linked);
void laws_free(struct laws *l);
int laws_run(struct laws *l, const double *values);

/* --- laws_modes.c: the laws of other modes -------------------------------- */

/* After the smoother's run for a track, whose stops begin at `first`, to law;
 * in the smoother's coordinates. Where another path is better, law becomes that
 * of this one. */
int laws_find_others(struct laws *l, const struct smooth_track *track,
                     size_t first, const struct smooth_law *law);

/* Forgets those of the run before; frees them. */
void laws_clear_others(struct laws *l);
void laws_free_others(struct laws *l);

/* The number of laws of a stop. */
size_t laws_count(const struct laws *l, size_t stop);

/* Flags the rows of a result, which are in the order of the stops, where other
 * modes were found, or only those of tracks with more than are followed. */
void laws_flag(const struct laws *l, bool crowded_only, gsv_result *r);

/* --- laws.c --------------------------------------------------------------- */

/* What was observed of state i at a stop, or NaN; and of how many of them. */
double laws_state(const struct laws *l, size_t stop, size_t i);
size_t laws_exact(const struct laws *l, size_t stop);

/* Of a matrix (d, d) the rows of states that are not exact at one stop, and
 * the columns of those that are not at another, as a matrix of its own. */
void laws_pick(const struct laws *l, size_t row, size_t column,
               const double *from, double *to);

/* The factor of a stop's covariance (n, n) in place, and log |det| of it. One
 * that has none gets a little of its own size on its diagonal. */
int laws_factor(const struct laws *l, size_t stop, size_t n, double *L,
                double *log_det);

/* --- support.c ------------------------------------------------------------ */

/* The laws that points are drawn from, of all stops. */
struct support {
    const gsv_model *model;
    const struct stops *stops;
    const gsv_options *options;
    size_t d, J, generator; /* of the lattice of J points */
    size_t most;            /* points of a stop with laws of several modes */
    bool given;             /* points are the caller's, J at every stop */
    bool rooted;            /* whether the laws' factors are needed     */
    struct laws laws;
    double *root;     /* (stops, d, d): lower factors, of the states that */
                      /* are not exact                                    */
    double *log_root; /* (stops) log |det| of the factor                  */
    struct {
        double *root, *log_root; /* the same of laws.other, or NULL          */
    } other[LAWS_OTHERS];
    struct graph *graph;   /* the model's, with what follows */
    struct program *place; /* x of u */
    struct program *weigh; /* over x: du/dx, the first state's log density, */
    /* every obs's, but 0 of what belongs to steps (rate.h) */
    struct uniforms place_uniforms, weigh_uniforms;
    struct uniforms reference_uniforms; /* of weigh, for q      */
    bool frozen;                        /* whether these differ */
    struct workspace place_space, weigh_space;
    size_t capacity; /* points of a chunk */
    double *u, *x;   /* (d, capacity)     */
    double *time, *input, *slope;
    double *log_g; /* (capacity) of observations and of the first state   */
    double *log_q; /* (capacity)                                          */
    double *z;     /* (most)                                              */
    double *bar;   /* (outputs, capacity)                                 */
    const double **output_bar; /* (outputs) into bar */
    double *weigh_bar; /* of weigh's uniforms                              */
    struct arena arena;
};

/* most: points of a stop with several modes. given: the caller draws the
 * points, J at every stop, by links.h, or from what
 * the noise says of them (conjugate.c). */
int support_init(struct support *s, const gsv_model *m,
                 const struct stops *stops, const gsv_options *o, size_t J,
                 size_t most, size_t capacity, bool given);
void support_free(struct support *s);

/* Laws by the smoother at these values; then the model's own are prepared. */
int support_prepare(struct support *s, const double *reference);

/* After it: makes the deviations of all laws so many times as large. */
void support_widen(struct support *s, double factor);

/* The smallest power of two that is not below n: numbers of Sobol' points. */
size_t power_of_two(size_t n);

/* The number of points of a stop: J, `most` where laws of several modes share
 * them, 1 where all states are exact. */
size_t support_points(const struct support *s, size_t stop);

/* draw.c: u of the points of one stop, and their log_q, at point `at` of P. */
void support_draw_stop(struct support *s, size_t stop, uint32_t iteration,
                       size_t at, size_t P);

/* Draws the points of stops [first, end) to x, with log_g and log_q; returns
 * their number. */
size_t support_draw(struct support *s, size_t first, size_t end,
                    uint32_t iteration);

/* The same for given u with its log density log_q: x, log_g, and log_q as a
 * density of x; returns the number of points. direct (stops of all tracks), or
 * NULL: where u is x already. */
size_t support_place(struct support *s, size_t first, size_t end,
                     const bool *direct);

/* P points across the law of a stop, its mean in the middle, as those of x;
 * valid until the next call. */
struct points support_probe(struct support *s, size_t stop, size_t P);

/* Whether all values of an obs are there at a stop, and belong to it alone. */
bool support_observed(const struct support *s, size_t stop, size_t obs);

/* After any of them: adds sum_j weight_j d log_g_j to weigh_bar. */
void support_vjp(struct support *s, size_t first, size_t end,
                 const double *weight);

/* Brings weigh_bar to the parameters, added to the gradient. */
void support_gradient(struct support *s, double *gradient);

#endif
