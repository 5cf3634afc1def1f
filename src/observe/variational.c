/* SPDX-License-Identifier: MIT */
/* The chain begins as the smoother's law of the whole track, written forward
 * (links.h): since the draws up to a stop are then weighed by what was observed
 * up to there: the mean of their weights is an estimate of its likelihood.
 *
 * Learning. Shift s and scale r of every stop maximise sum_k w_k log q(x_k),
 * the part of the divergence from the law of the states to q that depends on q.
 * Its maximum is known: the weighted mean of u, and that of z^2. Half a way
 * there is a natural gradient's step; no derivative of densities with respect
 * to points is needed, and unlike the gradient of the bound itself it does not
 * vanish in noise as K grows. What the same draws say with equal weights is
 * taken off, so that steps are as noisy as the weights are uneven, and there
 * are none where q is right. Weights are tempered until a quarter of the draws
 * is effective; steps become shorter from one to the next, so that q settles.
 *
 * A step is taken when an iteration begins whose numbers are new: for given
 * numbers the bound is a function of the parameters, which line searches need.
 */
#include <math.h>

#include "base/error.h"
#include "observe/joint.h"

/* The law of a stop is not scaled further than by exp(this). */
static const double MOST_SCALE = 1.0;

int variational_init(struct joint *j)
{
    struct variational *v = &j->variational;
    size_t n = j->stops.count, d = j->model->spec->dim;
    const struct arena_part part[] = {
        {&v->shift, n * d},   {&v->scale, n * d},   {&v->first, n * d},
        {&v->second, n * d},  {&v->tempered, j->K}, {&v->around, d * j->K},
        {&v->drawn, d * j->K}};
    int status = links_init(&v->links, &j->support.laws);
    if (status) return status;
    return arena_lay(&v->arena, sizeof part / sizeof *part, part);
}

void variational_free(struct joint *j)
{
    links_free(&j->variational.links);
    arena_free(&j->variational.arena);
}

/* --- Learning ------------------------------------------------------------- */

/* Half of the way at first, less and less from then on. */
static void move(struct joint *j)
{
    struct variational *v = &j->variational;
    double rate = 1.0 / (2.0 + (double)v->moves++);
    for (size_t i = 0; i < j->stops.count * j->support.d; i++) {
        v->shift[i] += rate * v->first[i];
        v->scale[i] += rate * 0.5 * log1p(fmax(v->second[i], -0.75));
        v->scale[i] = fmax(-MOST_SCALE, fmin(MOST_SCALE, v->scale[i]));
    }
    v->noted = false;
}

int variational_prepare(struct joint *j, uint32_t iteration)
{
    struct variational *v = &j->variational;
    if (v->noted && iteration != v->iteration) move(j);
    v->iteration = iteration;
    return links_make(&v->links);
}

/* --- Points --------------------------------------------------------------- */

/* By the links of the smoother, from which the shifts are taken off before and
 * put on again. */
void variational_draw(struct joint *j, size_t stop, size_t at, size_t P)
{
    struct variational *v = &j->variational;
    size_t d = j->support.d, K = j->K, n = joint_normals(j, stop);
    bool start = stop_is_first(&j->stops, stop);
    double *u = j->support.u, *around = v->around;
    double log_root = v->links.before.log_root[stop];
    for (size_t i = 0; i < n; i++)
        log_root += v->scale[stop * d + i];
    joint_log_normal(j, n, log_root, at);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < K; k++)
            j->z[i * K + k] *= exp(v->scale[stop * d + i]);
    for (size_t i = 0; !start && i < d; i++)
        for (size_t k = 0; k < K; k++)
            around[i * K + k] =
                u[i * P + at - K + k] - v->shift[(stop - 1) * d + i];
    links_draw(&v->links, stop, K, around, j->z, v->drawn);
    for (size_t i = 0; i < d; i++)
        for (size_t k = 0; k < K; k++)
            u[i * P + at + k] = v->drawn[i * K + k] + v->shift[stop * d + i];
}

void variational_ahead(struct joint *j, size_t stop, size_t at, size_t P,
                       double *value)
{
    struct variational *v = &j->variational;
    size_t K = j->K;
    for (size_t i = 0; i < j->support.d; i++)
        for (size_t k = 0; k < K; k++)
            v->around[i * K + k] = j->support.u[i * P + at + k];
    links_ahead(&v->links, stop, K, v->around, v->drawn);
    for (size_t k = 0; k < K; k++)
        value[k] += v->drawn[k];
}

/* --- What the weights say ------------------------------------------------- */

/* The power of the weights with which a quarter of the draws is effective. */
static double temper(const struct joint *j)
{
    double low = 0.0, high = 1.0;
    for (int pass = 0; pass < 30; pass++) {
        double power = pass ? 0.5 * (low + high) : 1.0, sum = 0.0,
               squares = 0.0;
        for (size_t k = 0; k < j->K; k++) {
            double w = j->w[k] > 0.0 ? pow(j->w[k], power) : 0.0;
            sum += w;
            squares += w * w;
        }
        bool enough = sum * sum > 0.25 * (double)j->K * squares;
        if (enough && !pass) return 1.0;
        if (enough) low = power;
        else high = power;
    }
    return low;
}

void variational_temper(struct joint *j)
{
    double *v = j->variational.tempered, power = temper(j), sum = 0.0;
    for (size_t k = 0; k < j->K; k++) {
        v[k] = j->w[k] > 0.0 ? pow(j->w[k], power) : 0.0;
        sum += v[k];
    }
    for (size_t k = 0; k < j->K; k++)
        v[k] = v[k] / sum - 1.0 / (double)j->K;
}

void variational_note(struct joint *j, size_t stop, size_t at, size_t P)
{
    struct variational *v = &j->variational;
    size_t d = j->support.d, n = joint_normals(j, stop), K = j->K;
    for (size_t i = 0; i < d; i++) {
        const double *u = j->support.u + i * P + at;
        double sum = 0.0;
        for (size_t k = 0; k < K; k++)
            sum += v->tempered[k] * u[k];
        v->first[stop * d + i] = sum;
    }
    for (size_t i = 0; i < n; i++) {
        const double *z = j->z + i * K;
        double sum = 0.0, squares = 0.0;
        for (size_t k = 0; k < K; k++) {
            sum += v->tempered[k] * z[k];
            squares += v->tempered[k] * z[k] * z[k];
        }
        v->second[stop * d + i] = squares - sum * sum;
    }
}
