/* SPDX-License-Identifier: MIT */
#include "learn/noise_step.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/linalg.h"
#include "model/theta.h"

/* Points of the data at which the information is taken. Differences of sigma by
 * this much in theta are right to its square. More numbers than this are left
 * to the optimiser of the weights. */
enum { POINTS = 16, MOST_NUMBERS = 64, MOST_STATES = 16 };
static const double DIFFERENCE = 1e-4;

/* The longest step: of sigma by half of itself, in every direction. A batch
 * whose residuals are this much smaller than sigma, in the mean, takes sigma
 * all of the way: its own noise is far below that. */
static const double LONGEST = 0.5, FALLING = 0.3, FASTER = 10.0;

/* --- Making --------------------------------------------------------------- */

/* A parameter of the noise alone, of one without networks. */
static bool is_moved(const gsv_model *m, size_t p)
{
    return m->noise_param[p] && !m->drift_param[p];
}

static int choose_numbers(struct noise_step *z, const bool *fixed)
{
    size_t n = gsv_theta_size(z->m);
    z->place = NEW(size_t, n);
    z->value = NEW(size_t, n);
    if (!z->place || !z->value) return GSV_NO_MEMORY;
    theta_places(z->m, z->value);
    for (size_t i = 0; i < n; i++) {
        if (fixed[i] || !is_moved(z->m, spec_param_at(z->m->spec, z->value[i])))
            continue;
        z->value[z->n] = z->value[i];
        z->place[z->n++] = i;
    }
    if (z->n > MOST_NUMBERS || noise_has_networks(z->m)) z->n = 0;
    return 0;
}

static int make_program(struct noise_step *z)
{
    const struct spec *s = z->m->spec;
    node scales = z->m->chain.scales;
    const node out[2] = {scales ? scales : s->sigma, s->shape};
    z->program =
        program_new(s->graph, s->shape ? 2 : 1, out, s->parameters, false);
    if (!z->program || uniforms_init(&z->uniforms, z->program))
        return GSV_NO_MEMORY;
    return workspace_init(&z->workspace, z->program, POINTS, false, false);
}

int noise_step_init(struct noise_step *z, gsv_model *m, const gsv_series *s,
                    const bool *fixed)
{
    *z = (struct noise_step){.m = m};
    size_t d = m->spec->dim;
    if (spec_is_latent(m->spec) || m->spec->mapped) return 0;
    bool diagonal = m->spec->diagonal || m->chain.scales;
    if (m->chain.next && !diagonal) return 0;
    if (!diagonal && d > MOST_STATES) return 0;
    int status = choose_numbers(z, fixed);
    if (status || !z->n) return status;
    status = sample_init(&z->sample, m, s, POINTS / 2);
    if (!status) status = make_program(z);
    if (status) return status;
    z->width = diagonal ? d : d * d;
    const struct arena_part part[] = {{&z->root, z->width * POINTS},
                                      {&z->moved, z->n * z->width * POINTS},
                                      {&z->B, z->n * z->width},
                                      {&z->information, z->n * z->n},
                                      {&z->step, z->n},
                                      {&z->trace, z->n}};
    return arena_lay(&z->arena, sizeof part / sizeof *part, part);
}

void noise_step_free(struct noise_step *z)
{
    sample_free(&z->sample);
    program_free(z->program);
    uniforms_free(&z->uniforms);
    workspace_free(&z->workspace);
    MEM_FREE(z->place, z->value);
    arena_free(&z->arena);
    *z = (struct noise_step){0};
}

/* --- The information ------------------------------------------------------ */

/* sigma with its shape at all points, (width) for each, at the model's values.
 */
static void find_roots(struct noise_step *z, double *to)
{
    const struct spec *s = z->m->spec;
    size_t P = z->sample.ends.P, columns = z->width == s->dim ? 1 : s->dim;
    program_prepare(z->program, z->m->value, &z->uniforms);
    program_forward(z->program, &z->uniforms, &z->workspace, &z->sample.ends);
    const double *sigma = program_output(z->program, &z->workspace, P, 0);
    const double *shape =
        s->shape ? program_output(z->program, &z->workspace, P, 1) : NULL;
    for (size_t p = 0; p < P; p++)
        for (size_t i = 0; i < z->width; i++)
            to[p * z->width + i] =
                sigma[i * P + p] * (shape ? shape[i / columns * P + p] : 1.0);
}

/* B of one point to z->B's row: A + A', A = root^-1 (moved - root) / step. */
static void find_B(const struct noise_step *z, const double *root,
                   const double *moved, double *B)
{
    size_t d = z->m->spec->dim;
    int pivot[MOST_STATES];
    double LU[MOST_STATES * MOST_STATES], A[MOST_STATES * MOST_STATES];
    if (z->width == d) {
        for (size_t i = 0; i < d; i++)
            B[i] = 2.0 * (moved[i] - root[i]) / (DIFFERENCE * root[i]);
        return;
    }
    memcpy(LU, root, d * d * sizeof *LU);
    for (size_t i = 0; i < d * d; i++)
        A[i] = (moved[i] - root[i]) / DIFFERENCE;
    memset(B, 0, d * d * sizeof *B);
    if (!linalg_lu(d, LU, pivot)) return;
    linalg_lu_solve(d, d, LU, pivot, false, A);
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++)
            B[i * d + j] = A[i * d + j] + A[j * d + i];
}

/* Adds one point to the information and to the traces of A. */
static void add_point(struct noise_step *z)
{
    size_t n = z->n, w = z->width, d = z->m->spec->dim;
    double share = 1.0 / (double)z->sample.ends.P;
    for (size_t i = 0; i < n; i++) {
        const double *one = z->B + i * w;
        for (size_t k = 0; k < d; k++)
            z->trace[i] += 0.5 * share * one[w == d ? k : k * (d + 1)];
        for (size_t j = 0; j <= i; j++) {
            double sum = 0.0;
            for (size_t k = 0; k < w; k++)
                sum += one[k] * z->B[j * w + k];
            z->information[i * n + j] += 0.5 * share * sum;
        }
    }
}

static void find_information(struct noise_step *z, const double *theta)
{
    size_t n = z->n, w = z->width, P = z->sample.ends.P;
    memset(z->information, 0, n * n * sizeof *z->information);
    memset(z->trace, 0, n * sizeof *z->trace);
    gsv_theta_set(z->m, theta);
    find_roots(z, z->root);
    for (size_t i = 0; i < n; i++) {
        double *value = z->m->value + z->value[i], kept = *value;
        *value =
            theta_value(z->m, z->place[i], theta[z->place[i]] + DIFFERENCE);
        find_roots(z, z->moved + i * w * P);
        *value = kept;
    }
    for (size_t p = 0; p < P; p++) {
        for (size_t i = 0; i < n; i++)
            find_B(z, z->root + p * w, z->moved + (i * P + p) * w,
                   z->B + i * w);
        add_point(z);
    }
}

/* --- A step --------------------------------------------------------------- */

/* The whole way, I^-1 gradient; false where there is none. */
static bool solve(struct noise_step *z, const double *gradient)
{
    size_t n = z->n;
    double *I = z->information;
    for (size_t i = 0; i < n; i++) {
        z->step[i] = gradient[z->place[i]];
        I[i * (n + 1)] += 1e-6 * I[i * (n + 1)] + 1e-12;
    }
    if (!linalg_cholesky(n, I)) return false;
    linalg_lower_solve(n, 1, I, false, z->step);
    linalg_lower_solve(n, 1, I, true, z->step);
    return all_finite(n, z->step);
}

void noise_step_move(struct noise_step *z, double share, double *gradient,
                     double *theta)
{
    if (!z->n) return;
    double d = (double)z->m->spec->dim, length = 0.0, growth = 0.0;
    find_information(z, theta);
    for (size_t i = 0; i < z->n; i++)
        gradient[z->place[i]] += z->spent * z->trace[i];
    bool solved = solve(z, gradient);
    for (size_t i = 0; i < z->n; i++) {
        length += z->step[i] * gradient[z->place[i]];
        growth += z->step[i] * z->trace[i] / d;
    }
    if (growth < -FALLING) share = fmin(1.0, share * FASTER);
    double most = LONGEST * sqrt(2.0 * d);
    share *= length > 0.0 ? fmin(1.0, most / sqrt(length)) : 0.0;
    for (size_t i = 0; i < z->n; i++) {
        gradient[z->place[i]] = 0.0;
        if (solved) theta[z->place[i]] += share * z->step[i];
    }
}
