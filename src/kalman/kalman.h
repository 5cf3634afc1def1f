/* SPDX-License-Identifier: MIT */
/* Linear equations with normal observations (linear_form of model/model.h): the
 * log-likelihood without random numbers, by a Kalman filter on x, the state z
 * of the equations and the integrals that observations are made of. States that
 * are columns of the data are observed without noise. Where a gap begins with
 * events, or with integrals that begin again, its transition has this, too. */
#ifndef KALMAN_KALMAN_H
#define KALMAN_KALMAN_H

#include "base/forcing.h"
#include "base/transition.h"
#include "kalman/filter.h"
#include "observe/observe.h"

/* How A, b and G change within a gap, where no input turns. */
enum motion {
    MOTION_NONE,  /* not at all                                          */
    MOTION_DRIFT, /* b alone, by a straight line: still exact            */
    MOTION_FORCE, /* b alone, in any way: exact by quadrature            */
    MOTION_ANY    /* Gauss-Legendre points of a Magnus step, of order 4  */
};

/* A program with its numbers at the model's values. */
struct formula {
    struct program *program;
    struct uniforms uniforms;
    double *bar; /* (program_uniforms) */
};

struct kalman_thread;

struct kalman {
    ROWS_FIRST;
    size_t d, p;    /* of x; observations of a row                       */
    size_t states;  /* those of x that are the equations'                */
    size_t updates; /* numbers of a row at most: p and exact states      */
    size_t noises;
    enum motion motion;
    struct formula dynamics; /* A, b, G                                  */
    struct formula seen;     /* H, offset, deviation                     */
    struct formula leap;     /* J, j of all events                       */
    struct formula first;    /* mean, deviation of the first state       */
    struct workspace first_space;
    size_t threads;
    struct kalman_thread *thread; /* (threads) */

    /* Gaps with the same length and inputs share a transition; rows share a
     * view where observations do not depend on time and inputs. */
    size_t transitions, views;
    size_t *transition, *view;      /* (stops) */
    size_t *gap_of, *row_of;        /* (transitions), (views): a stop of it   */
    double *Phi, *c, *root;         /* (transitions, d, d), (., d), (., d, d) */
    double *H, *offset, *deviation; /* (views, p, d), (views, p), (.)    */
    double *first_mean, *first_deviation; /* (tracks, d)                 */
    bool first_moves; /* whether they differ, by the inputs of first rows    */
    double *flat;     /* (d) a deviation that says nothing, of exact states
                       * that are missing in the first row                 */
    bool keep;        /* records of all stops                              */
    double *tape;     /* (stops, record_size), or (threads, 2, ...)        */
    struct update *update; /* (the same, updates)                        */
    /* Gradients: of a stop Phi, c, Q and those of its view; of a track the
     * first mean and deviation. Sums over stops follow. */
    double *stop_bar, *track_bar, *transition_bar, *view_bar;
    double *nothing; /* (stops): no errors */
    bool *bad;       /* (transitions) whose numbers overflow */
    struct arena arena;
};

extern const struct method METHOD_KALMAN;

/* Whether steps over gaps have no error, for a linear model. */
bool kalman_is_exact(const gsv_model *m);

/* --- kalman.c ------------------------------------------------------------- */

/* keep: records of all stops, for those below. stops: taken over where it is
 * not NULL. */
int kalman_make(struct kalman *k, const gsv_model *m, const gsv_series *series,
                const gsv_options *o, bool keep, struct stops *stops);
void kalman_free(struct kalman *k);

/* Runs the filter at the model's values. */
int kalman_forward(struct kalman *k);

struct record kalman_record(const struct kalman *k, size_t stop, size_t thread);

/* The updates of a stop whose record is kept. */
size_t kalman_updates(const struct kalman *k, const struct record *r);

/* Row h of update number `which` at a stop: unit vectors of exact states come
 * after the observations. unit (d) is room for one. */
const double *kalman_row(const struct kalman *k, size_t stop, size_t which,
                         double *unit);

/* --- share.c -------------------------------------------------------------- */

/* Which transitions and views there are. */
int coefficients_share(struct kalman *k);

/* --- coefficients.c ------------------------------------------------------- */

/* The memory of threads. */
int coefficients_init(struct kalman *k);
void coefficients_free(struct kalman *k);

/* All transitions and views, and the first law. */
int coefficients_make(struct kalman *k);

/* From transition_bar, view_bar and track_bar to the parameters. */
int coefficients_gradient(struct kalman *k, double *gradient);

/* The scratch memory of a thread: room (4 d^2 + d), an adjoint. */
double *coefficients_room(const struct kalman *k, size_t thread);

/* --- leap.c --------------------------------------------------------------- */

/* What precedes a gap: x of its first stop becomes E x + e. */
struct leap {
    struct workspace space; /* of one point               */
    double *time, *input, *slope;
    double *E, *e;       /* (d, d), (d)                */
    double *bar;         /* of J, then of j            */
    double *formula_bar; /* (program_uniforms)         */
    double *room;        /* (d, d)                     */
    struct arena arena;
};

int leap_init(struct leap *l, const struct kalman *k);
void leap_free(struct leap *l);

/* Whether anything precedes the gap that ends in a stop; whether this is an
 * event, so that no other gap has the same. */
bool leap_is(const struct kalman *k, size_t stop, bool *event);

/* Phi and c of that gap, from those without it, in place. */
void leap_apply(const struct kalman *k, struct leap *l, size_t stop,
                double *Phi, double *c);

/* Phi as it was before. Turns the bars of the new Phi and c into those of the
 * old ones, and adds to formula_bar. */
void leap_vjp(const struct kalman *k, struct leap *l, size_t stop,
              const double *Phi, double *Phi_bar, const double *c_bar);

/* --- states.c ------------------------------------------------------------- */

int kalman_filter(const struct task *t, const struct filter_visitor *v);
int kalman_normal(const struct task *t, const struct normal_paths *p);
int kalman_ahead(const struct task *t, const struct ahead_visitor *v);

#endif
