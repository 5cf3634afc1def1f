/* SPDX-License-Identifier: MIT */
/* The first path of a smoother. One bad stop would hold up the steps of all
 * others, so that each is brought near to its own mode here: with Y ~ N(m, P)
 * before its observations, a in y = m + P a goes by Newton's method to the
 * maximum of
 *
 *     log density(y) - a'P a / 2,
 *
 * which needs no inverse of P. */
#include <math.h>
#include <string.h>

#include "base/linalg.h"
#include "observe/smooth_parts.h"

/* --- Over a gap ----------------------------------------------------------- */

/* The transition to stop n becomes that of a Brownian motion over dt. */
static void stand_still(struct smoother *s, size_t n, double dt)
{
    size_t d = s->d, dd = d * d;
    memset(s->stop.c + n * d, 0, d * sizeof(double));
    for (size_t e = 0; e < dd; e++) {
        s->stop.Phi[n * dd + e] = e % (d + 1) == 0;
        s->stop.Q[n * dd + e] = e % (d + 1) == 0 ? dt : 0.0;
    }
}

/* The transition to stop n goes on by the one in matrix 8, vector 4 and matrix
 * 9. Uses matrices 10 and 11. */
static void go_on(struct smoother *s, size_t n)
{
    size_t d = s->d, dd = d * d;
    double *Phi = s->stop.Phi + n * dd, *c = s->stop.c + n * d;
    double *Q = s->stop.Q + n * dd, *X = matrix_of(s, 10);
    double *Y = matrix_of(s, 11);
    const double *step = matrix_of(s, 8);
    linalg_product(d, d, d, step, false, Phi, false, X);
    memcpy(Phi, X, dd * sizeof *X);
    linalg_product(d, d, 1, step, false, c, false, X);
    for (size_t i = 0; i < d; i++)
        c[i] = X[i] + vector_of(s, 4)[i];
    linalg_product(d, d, d, step, false, Q, false, X);
    linalg_product(d, d, d, X, false, step, true, Y);
    for (size_t e = 0; e < dd; e++)
        Q[e] = Y[e] + matrix_of(s, 9)[e];
}

/* Where the mean has got to: Phi mean + c, to vector 3. */
static void find_place(struct smoother *s, const struct smooth_track *track,
                       size_t n)
{
    size_t d = s->d;
    double *place = vector_of(s, 3);
    linalg_product(d, d, 1, s->stop.Phi + n * d * d, false, s->mean, false,
                   place);
    for (size_t i = 0; i < d; i++)
        place[i] += s->stop.c[n * d + i];
    smooth_confine(s, track, n, 1, s->mean, place);
}

static size_t steps_for(size_t d, const double *A, double dt)
{
    enum { MOST_STEPS = 16 };
    double most = 0.0;
    for (size_t i = 0; i < d; i++) {
        double row = 0.0;
        for (size_t j = 0; j < d; j++)
            row += fabs(A[i * d + j]);
        most = fmax(most, row * dt);
    }
    return most < MOST_STEPS ? (size_t)most + 1 : MOST_STEPS;
}

/* Nothing is known of the later end: the drift is followed in short steps. */
static void follow_drift(struct smoother *s, const struct smooth_track *track,
                         size_t n)
{
    double start = track->time[n - 1], dt = track->time[n] - start;
    double *f = vector_of(s, 2), *place = vector_of(s, 3);
    double *A = matrix_of(s, 7);
    size_t steps = 1;
    stand_still(s, n, 0.0);
    for (size_t i = 0; i < steps; i++) {
        double share = ((double)i + 0.5) / (double)steps;
        find_place(s, track, n);
        bool finite =
            smooth_drift(s, track, n, start + share * dt, place, f, A);
        if (!i && finite) steps = steps_for(s->d, A, dt);
        smooth_transition(s, dt / (double)steps, A, f, place, matrix_of(s, 8),
                          vector_of(s, 4), matrix_of(s, 9));
        go_on(s, n);
    }
}

static void cross_gap(struct smoother *s, const struct smooth_track *track,
                      const struct smooth_law *law, size_t n, bool moving)
{
    if (moving) follow_drift(s, track, n);
    else stand_still(s, n, track->time[n] - track->time[n - 1]);
    smooth_jump(s, track, n);
    smooth_predict(s, n);
    smooth_confine(s, track, n, 1, law->mean + (n - 1) * s->d, s->mean);
}

/* --- At a stop ------------------------------------------------------------ */

/* y = m + P a, to vector 5; gives a'P a. Uses vector 0. */
static double place_of(struct smoother *s, const double *a)
{
    size_t d = s->d;
    double *Pa = vector_of(s, 0), *y = vector_of(s, 5), square = 0.0;
    linalg_product(d, d, 1, s->cov, false, a, false, Pa);
    for (size_t i = 0; i < d; i++) {
        y[i] = s->mean[i] + Pa[i];
        square += a[i] * Pa[i];
    }
    return square;
}

/* From g and H at y, in vector 5: Newton's a to goal, P+ to matrix 6. With w =
 * g + H'H (y - m), P+ w = P (w - H'K'w). */
static bool find_goal(struct smoother *s, size_t n, double *goal)
{
    size_t d = s->d;
    const double *g = s->stop.g + n * d, *H = s->stop.H + n * d * d;
    double *v = vector_of(s, 0), *w = vector_of(s, 1), *y = vector_of(s, 5);
    if (!smooth_gain(s, H)) return false;
    memcpy(matrix_of(s, 6), matrix_of(s, 1), d * d * sizeof *w);
    for (size_t i = 0; i < d; i++)
        w[i] = y[i] - s->mean[i];
    linalg_product(d, d, 1, H, false, w, false, v);
    linalg_product(d, d, 1, H, true, v, false, w);
    for (size_t i = 0; i < d; i++)
        w[i] += g[i];
    linalg_product(d, d, 1, matrix_of(s, 0), false, w, false, v);
    linalg_product(d, d, 1, H, true, v, false, goal);
    for (size_t i = 0; i < d; i++) {
        goal[i] = w[i] - goal[i];
        if (!isfinite(goal[i])) return false;
    }
    return true;
}

/* How far goal is from y, in vector 5, in standard deviations. */
static double distance_to(struct smoother *s, const double *goal)
{
    size_t d = s->d;
    double *Pa = vector_of(s, 0), *y = vector_of(s, 5), most = 0.0;
    linalg_product(d, d, 1, s->cov, false, goal, false, Pa);
    for (size_t i = 0; i < d; i++) {
        double move = fabs(s->mean[i] + Pa[i] - y[i]);
        double deviation = sqrt(matrix_of(s, 6)[i * (d + 1)]);
        most = fmax(most, move / (deviation + 1e-9 * fabs(y[i]) + 1e-300));
    }
    return most;
}

/* mean, cov given what was observed at stop n, at its mode. */
static void find_mode(struct smoother *s, const struct smooth_track *track,
                      size_t n)
{
    enum { TRIALS = 60 };
    static const double NEAR = 1e-2, LEAST = 1e-6;
    size_t d = s->d;
    double *a = vector_of(s, 2), *goal = vector_of(s, 3);
    double *trial = vector_of(s, 4), *y = vector_of(s, 5);
    double best = -INFINITY, step = 1.0, value;
    memset(a, 0, d * sizeof *a);
    memset(goal, 0, d * sizeof *goal);
    memcpy(matrix_of(s, 6), s->cov, d * d * sizeof *y);
    for (int i = 0; i < TRIALS && step > LEAST; i++) {
        for (size_t j = 0; j < d; j++)
            trial[j] = a[j] + step * (goal[j] - a[j]);
        double square = place_of(s, trial);
        bool inside = !i || smooth_inside(s, track, n, y);
        if (inside)
            smooth_densities(s, track, n, 1, y, &value, s->stop.g + n * d,
                             s->stop.H + n * d * d);
        if (!inside || !(value - 0.5 * square >= best)) {
            step *= 0.5;
            continue;
        }
        best = value - 0.5 * square;
        step = 1.0;
        memcpy(a, trial, d * sizeof *a);
        if (!find_goal(s, n, goal) || distance_to(s, goal) < NEAR) break;
    }
    place_of(s, a);
    memcpy(s->mean, y, d * sizeof *y);
    memcpy(s->cov, matrix_of(s, 6), d * d * sizeof *y);
}

/* -------------------------------------------------------------------------- */

void smooth_guess(struct smoother *s, const struct smooth_track *track,
                  const struct smooth_law *law, bool moving)
{
    size_t d = s->d, dd = d * d, N = track->stops;
    memcpy(s->mean, s->first_mean, d * sizeof *s->mean);
    memcpy(s->cov, s->first_cov, dd * sizeof *s->cov);
    for (size_t n = 0; n < N; n++) {
        if (n) cross_gap(s, track, law, n, moving);
        smooth_pin(s, n);
        find_mode(s, track, n);
        memcpy(law->mean + n * d, s->mean, d * sizeof *s->mean);
        memcpy(law->cov + n * dd, s->cov, dd * sizeof *s->cov);
    }
    memcpy(s->stop.target, law->mean, N * d * sizeof *s->mean);
    smooth_backward(s, N, law);
    memcpy(s->stop.trial, s->stop.target, N * d * sizeof *s->mean);
}
