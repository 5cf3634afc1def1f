/* SPDX-License-Identifier: MIT */
/* Whole tracks: K draws of the points of all stops of a track together, from a
 * density q, with one bridge between neighbouring points of a draw,
 *
 *     log p(data) = log mean_k W_k,
 *     W = init(x_1) g_1 / q_1  prod over n of p(x_n | x_(n-1)) g_n / q_n,
 *
 * q_n the density of x_n given x_(n-1). It is unbiased for any q, without the
 * logarithm, but W is a product over all stops: unless q is close to the law of
 * the states given the data, a few draws carry all of the weight as the track
 * becomes longer. Two densities are here:
 *
 * conjugate (the paper's; conjugate.c): stops are independent, and q_n is what
 * the noise alone says of the state, so that g_n / q_n is a constant. It knows
 * nothing of the equation, and fails from some fifty stops on.
 *
 * variational (variational.c): a Gaussian chain that begins as the linearised
 * smoother's law, which is exact where the equation is linear and the noise is
 * normal, and is adapted to the weights while a model is learned.
 *
 * Points are constants under differentiation, so that with w_k = W_k / sum W
 *
 *     d log p(data) = sum_k w_k (d log init + sum over n of d log g_n
 *                                + d log p(x_n | x_(n-1))).
 *
 * Stops are taken in chunks; from one to the next go W and the last points. The
 * gradient draws them all again once the weights are known. */
#ifndef OBSERVE_JOINT_H
#define OBSERVE_JOINT_H

#include "observe/links.h"

/* The default number of draws of a track, and the largest. */
enum { JOINT_POINTS = 1024, JOINT_MOST = 1 << 16 };

/* What the noise says of the states at a stop (conjugate.c): x = mean + map e
 * of the states that are not exact, e normal numbers and logarithms of rates
 * and odds. */
struct conjugate {
    struct graph *graph;  /* the model's, with                             */
    struct program *link; /* over x: linked means of all obs, row by row,  */
                          /* their gradients, deviations of normal noise   */
                          /* and trials                                    */
    struct uniforms uniforms;
    struct workspace space;
    size_t *row;        /* (observations + 1) first rows */
    double *mean, *map; /* (stops, d), (stops, d, d) */
    double *log_map;    /* (stops) log |det map|     */
    double *trials;     /* (stops, observations) of binomials             */
    size_t *normal;     /* (stops) so many e are normal, the first ones   */
    bool *is_conjugate; /* (stops) whether q is conjugate there           */
    double *room;       /* (5, d, d)                                      */
    size_t *state;      /* (d) of which state a column is                 */
    int *pivot;         /* (d)                                            */
    struct arena arena;
};

/* The chain (variational.c): of the states that are not exact
 *
 *     u_n = m_n + s_n + G_n (u_(n-1) - m_(n-1) - s_(n-1)) + L_n exp(r_n) z. */
struct variational {
    struct links links;     /* G, L                                      */
    double *shift, *scale;  /* (stops, d): s of states, r of numbers z   */
    double *first, *second; /* (stops, d): what the last weights say     */
    double *tempered;       /* (K) tempered weights less equal ones      */
    double *around, *drawn; /* (d, K)                                    */
    bool noted;             /* whether first and second are of a run      */
    uint32_t iteration;     /* of it                                      */
    size_t moves;           /* how often shift and scale have been moved  */
    struct arena arena;
};

struct joint {
    ROWS_FIRST; /* options: of the pairs; observe says which q */
    struct support support;
    struct estimate pairs;
    struct conjugate conjugate;
    struct variational variational;
    size_t K, chunk;        /* draws; stops of a chunk, at most             */
    size_t low, first, end; /* the chunk at hand: stops, low the one before */
    uint32_t iteration;
    double *balanced;       /* (K) log_w with what is to come               */
    double *log_w, *w;      /* (K) of the draws so far; of a whole track    */
    double *edge;           /* (d, K) u at the last stop before a chunk     */
    double *log_p, *weight; /* (chunk, K) of pairs                          */
    double *point;          /* (chunk + 1, K) weights of points             */
    double *z;              /* (d, K) normals                               */
    double *part;           /* (values) a chunk's gradient                  */
    double *ess;            /* (stops)                                      */
    double *khat;           /* (tracks) of the weights' tail                */
    double *tail;           /* khat_room()                                  */
    struct arena arena;
};

extern const struct method METHOD_CONJUGATE, METHOD_VARIATIONAL;

/* Model and series are borrowed; the options are copied. Must stay where it
 * is. */
int joint_init(struct joint *j, const gsv_model *m, const gsv_series *series,
               const gsv_options *o);
void joint_free(struct joint *j);

/* As scan_run(). */
int joint_run(struct joint *j, const double *reference, uint32_t iteration,
              double *gradient);
int joint_fill(const struct joint *j, gsv_result *r);

/* --- For those who draw --------------------------------------------------- */

/* Standard normals (latent states of the stop, K) of a stop to j->z; returns
 * the number of these states. */
size_t joint_normals(struct joint *j, size_t stop);

/* log N of j->z under the factor L of this log |det|, to log_q of K points. */
void joint_log_normal(struct joint *j, size_t n, double log_root, size_t at);

/* Adds L z (n, n) to the states that are not exact of K points of u. */
void joint_add(struct joint *j, size_t stop, const double *L, size_t n,
               size_t at, size_t P);

/* --- conjugate.c ---------------------------------------------------------- */

int conjugate_init(struct joint *j);
void conjugate_free(struct joint *j);
int conjugate_prepare(struct joint *j, const double *values);

/* Points of a stop from column `at` of P on, to u and log_q of the support. */
void conjugate_draw(struct joint *j, size_t stop, size_t at, size_t P);

/* --- variational.c -------------------------------------------------------- */

int variational_init(struct joint *j);
void variational_free(struct joint *j);
int variational_prepare(struct joint *j, uint32_t iteration);

/* The same, given those of the stop before, which stand K columns ahead. */
void variational_draw(struct joint *j, size_t stop, size_t at, size_t P);

/* Adds to values (K) what the data after a stop say of its points. */
void variational_ahead(struct joint *j, size_t stop, size_t at, size_t P,
                       double *value);

/* With the weights of a track known: those to learn from; what they say of a
 * stop's law. */
void variational_temper(struct joint *j);
void variational_note(struct joint *j, size_t stop, size_t at, size_t P);

#endif
