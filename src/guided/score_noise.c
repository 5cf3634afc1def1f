/* SPDX-License-Identifier: MIT */
/* The noise of steps that integrate it (step.h), for scores: with J = F'(x~),
 *
 *     V_0 = sqrt(h) G_c,   V_j = h J V_(j-1),   B_kc = sum over j of c_jk V_j,
 *
 * and back from B_bar to G_bar and J_bar. */
#include <math.h>
#include <string.h>

#include "guided/score.h"
#include "guided/step_parts.h"

/* J (D, D, P) in the middles: of formulas by the program of slopes, of networks
 * column by column. */
static void find_slopes(struct scorer *c, const struct mover *s,
                        const struct points *in)
{
    const struct course *f = c->course;
    size_t D = f->D, P = in->P;
    program_forward(f->part[COURSE_SLOPE], &s->values->part[COURSE_SLOPE],
                    &c->part[COURSE_SLOPE], in);
    if (f->open) {
        memcpy(
            c->J,
            program_output(f->part[COURSE_SLOPE], &c->part[COURSE_SLOPE], P, 0),
            D * D * P * sizeof *c->J);
        return;
    }
    for (size_t l = 0; l < D; l++) {
        for (size_t e = 0; e < D * P; e++)
            c->dot[e] = e / P == l ? 1.0 : 0.0;
        program_jvp(f->part[COURSE_MIDDLE], &s->values->part[COURSE_MIDDLE],
                    &c->part[COURSE_MIDDLE], in, c->dot);
        const double *column = program_output_dot(
            f->part[COURSE_MIDDLE], &c->part[COURSE_MIDDLE], P, MIDDLE_DRIFT);
        for (size_t i = 0; i < D; i++)
            memcpy(c->J + (i * D + l) * P, column + i * P, P * sizeof *column);
    }
}

/* V (orders + 2, D, P) of noise e. */
static void find_powers(struct scorer *c, size_t P, size_t e, const double *G)
{
    const struct course *f = c->course;
    size_t D = f->D, m = f->noises;
    for (size_t i = 0; i < D; i++)
        for (size_t j = 0; j < P; j++)
            c->V[i * P + j] = sqrt(c->h[j]) * G[(i * m + e) * P + j];
    memset(c->V + D * P, 0, (f->orders + 1) * D * P * sizeof *c->V);
    for (size_t k = 1; k <= f->orders + 1; k++) {
        const double *from = c->V + (k - 1) * D * P;
        double *to = c->V + k * D * P;
        for (size_t i = 0; i < D; i++)
            for (size_t l = 0; l < D; l++)
                for (size_t j = 0; j < P; j++)
                    to[i * P + j] +=
                        c->h[j] * c->J[(i * D + l) * P + j] * from[l * P + j];
    }
}

static const double *noise_of(const struct scorer *c, size_t P)
{
    return program_output(c->course->part[COURSE_MIDDLE],
                          &c->part[COURSE_MIDDLE], P, MIDDLE_NOISE);
}

void score_noise(struct scorer *c, const struct mover *s,
                 const struct points *in)
{
    const struct course *f = c->course;
    size_t D = f->D, P = in->P;
    find_slopes(c, s, in);
    memset(c->B, 0, D * f->m * P * sizeof *c->B);
    for (size_t e = 0; e < f->noises; e++) {
        find_powers(c, P, e, noise_of(c, P));
        for (size_t n = 0; n <= f->orders + 1; n++)
            for (size_t k = 0; k <= n && k <= f->orders; k++) {
                double factor = step_legendre(n, k);
                for (size_t i = 0; i < D; i++)
                    for (size_t j = 0; j < P; j++)
                        c->B[(i * f->m + k * f->noises + e) * P + j] +=
                            factor * c->V[(n * D + i) * P + j];
            }
    }
}

/* V_bar_n = sum over k of c_nk B_bar_k + h J' V_bar_(n+1), in the place of the
 * latter. */
static void step_down(struct scorer *c, size_t P, size_t e, size_t n)
{
    const struct course *f = c->course;
    size_t D = f->D;
    double *V_bar = c->V_bar, *next = c->V_bar + D * P;
    memcpy(next, V_bar, D * P * sizeof *next);
    memset(V_bar, 0, D * P * sizeof *V_bar);
    for (size_t i = 0; i < D; i++)
        for (size_t l = 0; l < D; l++)
            for (size_t j = 0; j < P; j++)
                V_bar[l * P + j] +=
                    c->h[j] * c->J[(i * D + l) * P + j] * next[i * P + j];
    for (size_t k = 0; k <= n && k <= f->orders; k++) {
        double factor = step_legendre(n, k);
        for (size_t i = 0; i < D; i++)
            for (size_t j = 0; j < P; j++)
                V_bar[i * P + j] +=
                    factor * c->B_bar[(i * f->m + k * f->noises + e) * P + j];
    }
}

/* J_bar += h V_bar_n V_(n-1)'. */
static void add_slope_bar(struct scorer *c, size_t P, size_t n)
{
    size_t D = c->course->D;
    const double *V = c->V + (n - 1) * D * P;
    for (size_t i = 0; i < D; i++)
        for (size_t l = 0; l < D; l++)
            for (size_t j = 0; j < P; j++)
                c->J_bar[(i * D + l) * P + j] +=
                    c->h[j] * c->V_bar[i * P + j] * V[l * P + j];
}

void score_noise_vjp(struct scorer *c, size_t P)
{
    const struct course *f = c->course;
    size_t D = f->D, m = f->noises;
    memset(c->J_bar, 0, D * D * P * sizeof *c->J_bar);
    for (size_t e = 0; e < m; e++) {
        find_powers(c, P, e, noise_of(c, P));
        memset(c->V_bar, 0, D * P * sizeof *c->V_bar);
        for (size_t n = f->orders + 1; n > 0; n--) {
            step_down(c, P, e, n);
            add_slope_bar(c, P, n);
        }
        step_down(c, P, e, 0);
        for (size_t i = 0; i < D; i++)
            for (size_t j = 0; j < P; j++)
                c->G_bar[(i * m + e) * P + j] =
                    sqrt(c->h[j]) * c->V_bar[i * P + j];
    }
}
