/* SPDX-License-Identifier: MIT */
/* The schemes for noise that depends on the state, for Ito's equations. f and g
 * at the left end are known when a step begins: they were evaluated when the
 * last one arrived, to see whether it is inside of the domain. With g_j the
 * column of noise j and L^j the derivative along it:
 *
 *               strong order                          weak order
 *     euler     0.5                                   1
 *     milstein  1; only for noises that commute       1
 *     heun      1 where they commute, else 0.5        1
 *     srk       1.5 where each state has a noise of   2
 *               its own that depends on no other state;
 *               1 where noises commute, else 0.5
 *
 * Noises commute if L^j g_k = L^k g_j. Else an order above 0.5 takes Levy's
 * areas, which cannot be drawn cheaply; a weak order does not. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "simulate/scheme.h"

/* --- What the formulas are made of -------------------------------------- */

static size_t bytes_of(const struct stepper *s)
{
    return s->field->spec->dim * s->P * sizeof(double);
}

/* y = x + a f, all (dim, P). */
static void moved(const struct stepper *s, const double *x, double a,
                  const double *f, double *y)
{
    for (size_t i = 0; i < s->field->spec->dim * s->P; i++)
        y[i] = x[i] + a * f[i];
}

/* y += a g v, with g (noise_size, P) and v (noises, P). */
static void add_noise(const struct stepper *s, double a, const double *g,
                      const double *v, double *y)
{
    const struct spec *spec = s->field->spec;
    size_t P = s->P, terms = spec->diagonal ? 1 : spec->noises;
    for (size_t i = 0; i < spec->dim; i++, y += P)
        for (size_t j = 0; j < terms; j++, g += P) {
            const double *row = v + (spec->diagonal ? i : j) * P;
            for (size_t p = 0; p < P; p++)
                y[p] += a * g[p] * row[p];
        }
}

/* Row i of column j of a g, or NULL where a diagonal has a zero. */
static const double *element(const struct stepper *s, const double *g, size_t i,
                             size_t j)
{
    const struct spec *spec = s->field->spec;
    if (spec->diagonal) return i == j ? g + i * s->P : NULL;
    return g + (i * spec->noises + j) * s->P;
}

/* y += a g_j. */
static void add_column(const struct stepper *s, double a, const double *g,
                       size_t j, double *y)
{
    for (size_t i = 0; i < s->field->spec->dim; i++, y += s->P) {
        const double *row = element(s, g, i, j);
        for (size_t p = 0; row && p < s->P; p++)
            y[p] += a * row[p];
    }
}

/* y += g_j c, with a number c for each track. */
static void add_weighted(const struct stepper *s, const double *g, size_t j,
                         const double *c, double *y)
{
    for (size_t i = 0; i < s->field->spec->dim; i++, y += s->P) {
        const double *row = element(s, g, i, j);
        for (size_t p = 0; row && p < s->P; p++)
            y[p] += c[p] * row[p];
    }
}

/* c = sum over j of L^j g_j at x: twice what Stratonovich's drift has less than
 * Ito's. g is that at x, the last that was evaluated. Where each g_i depends on
 * its own state alone, one derivative along all of them has it all. */
static void correction(struct stepper *s, const double *x, const double *g,
                       double *c)
{
    size_t noises = s->field->spec->noises;
    if (s->field->own) {
        memcpy(c, stepper_noise_along(s, x, g), bytes_of(s));
        return;
    }
    memset(c, 0, bytes_of(s));
    for (size_t j = 0; j < noises; j++) {
        memset(s->along, 0, bytes_of(s));
        add_column(s, 1.0, g, j, s->along);
        add_column(s, 1.0, stepper_noise_along(s, x, s->along), j, c);
    }
}

/* --- Euler, Milstein, Heun ---------------------------------------------- */

/* X' = X + h f + g dW. */
void euler_state(struct stepper *s, const struct step *step)
{
    moved(s, s->x, step->h, s->f0, s->next);
    add_noise(s, 1.0, s->g0, step->dW, s->next);
}

/* Euler's step and 1/2 sum over j, k of L^j g_k (dW_j dW_k - h [j = k]), which
 * is right where the noises commute. The sum over dW_j dW_k is the derivative
 * of g dW along g dW; where each g_i depends on its own state alone it is all
 * 1/2 g_i g_i' (dW_i^2 - h). */
void milstein_state(struct stepper *s, const struct step *step)
{
    size_t n = s->field->spec->dim * s->P;
    const double h = step->h, *w = step->dW;
    euler_state(s, step);
    stepper_noise(s, step->t, false, s->x);
    correction(s, s->x, s->g0, s->f1);
    for (size_t i = 0; i < n; i++)
        s->next[i] -= 0.5 * h * s->f1[i];
    if (s->field->own) {
        for (size_t i = 0; i < n; i++)
            s->next[i] += 0.5 * s->f1[i] * w[i] * w[i];
        return;
    }
    memset(s->along, 0, bytes_of(s));
    add_noise(s, 1.0, s->g0, w, s->along);
    const double *moves = stepper_noise_along(s, s->x, s->along);
    add_noise(s, 0.5, moves, w, s->next);
}

/* With Stratonovich's drift f_ = f - 1/2 sum over j of L^j g_j:
 *
 *     H  = X + h f_(X, t) + g(X, t) dW,
 *     X' = X + h/2 (f_(X, t) + f_(H, t + h))
 *            + 1/2 (g(X, t) + g(H, t + h)) dW. */
void heun_state(struct stepper *s, const struct step *step)
{
    double h = step->h;
    size_t n = s->field->spec->dim * s->P;
    stepper_noise(s, step->t, false, s->x);
    correction(s, s->x, s->g0, s->f1);
    moved(s, s->x, h, s->f0, s->stage);
    moved(s, s->stage, -0.5 * h, s->f1, s->stage);
    moved(s, s->x, 0.5 * h, s->f0, s->next);
    moved(s, s->next, -0.25 * h, s->f1, s->next);
    add_noise(s, 1.0, s->g0, step->dW, s->stage);
    add_noise(s, 0.5, s->g0, step->dW, s->next);
    memcpy(s->g1, stepper_noise(s, step->end, true, s->stage),
           s->field->noise_size * s->P * sizeof *s->g1);
    correction(s, s->stage, s->g1, s->f1);
    const double *f = stepper_drift(s, step->end, true, s->stage);
    for (size_t i = 0; i < n; i++)
        s->next[i] += 0.5 * h * (f[i] - 0.5 * s->f1[i]);
    add_noise(s, 0.5, s->g1, step->dW, s->next);
}

/* --- Runge and Kutta ----------------------------------------------------- */

/* The weights of SRI1W1 for stages 1 to 4, of dW, I11 / sqrt(h), I10 / h and
 * I111 / h. */
static const double WEIGHT[4][4] = {
    {-1.0, -1.0, 2.0, -2.0},
    {4.0 / 3.0, 4.0 / 3.0, -4.0 / 3.0, 5.0 / 3.0},
    {2.0 / 3.0, -1.0 / 3.0, -2.0 / 3.0, -2.0 / 3.0},
    {0.0, 0.0, 0.0, 1.0}};

/* next += g of a stage times its weight. */
static void add_stage(struct stepper *s, const struct step *step, size_t stage,
                      const double *g)
{
    const double *a = WEIGHT[stage], h = step->h, root = sqrt(h);
    for (size_t i = 0; i < s->field->spec->dim * s->P; i++) {
        double w = step->dW[i];
        double I11 = 0.5 * (w * w - h), I111 = w * (w * w - 3.0 * h) / 6.0;
        s->next[i] += g[i] * (a[0] * w + a[1] * I11 / root + a[2] * s->J[i] +
                              a[3] * I111 / h);
    }
}

/* SRI1W1 of Roessler (2010), of strong order 1.5, for a diagonal g whose rows
 * look at their own state alone. J = I10 / h as in scheme.c, r = sqrt(h):
 *
 *     H  = X + 3/4 h f(X, t) + 3/2 g(X, t) J,
 *     g1 = g(X, t),
 *     g2 = g(X + h/4 f + r/2 g1, t + h/4),
 *     g3 = g(X + h f - r g1, t + h),
 *     g4 = g(X + h/4 f + r (-5 g1 + 3 g2 + 1/2 g3), t + h/4),
 *     X' = X + h (1/3 f + 2/3 f(H, t + 3/4 h)) + sum of weight_i g_i. */
static void srk_own(struct stepper *s, const struct step *step)
{
    double h = step->h, root = sqrt(h), quarter = step->t + 0.25 * h;
    size_t n = s->field->spec->dim * s->P, bytes = bytes_of(s);
    for (size_t i = 0; i < n; i++) {
        s->J[i] = 0.5 * (step->dW[i] + root / sqrt(3.0) * step->zeta[i]);
        s->stage[i] = s->x[i] + 0.75 * h * s->f0[i] + 1.5 * s->g0[i] * s->J[i];
    }
    const double *f = stepper_drift(s, step->t + 0.75 * h, false, s->stage);
    for (size_t i = 0; i < n; i++) {
        s->next[i] = s->x[i] + h / 3.0 * (s->f0[i] + 2.0 * f[i]);
        s->stage[i] = s->x[i] + 0.25 * h * s->f0[i] + 0.5 * root * s->g0[i];
    }
    memcpy(s->g1, stepper_noise(s, quarter, false, s->stage), bytes);
    for (size_t i = 0; i < n; i++)
        s->stage[i] = s->x[i] + h * s->f0[i] - root * s->g0[i];
    memcpy(s->g2, stepper_noise(s, step->end, true, s->stage), bytes);
    for (size_t i = 0; i < n; i++)
        s->stage[i] =
            s->x[i] + 0.25 * h * s->f0[i] +
            root * (-5.0 * s->g0[i] + 3.0 * s->g1[i] + 0.5 * s->g2[i]);
    const double *g4 = stepper_noise(s, quarter, false, s->stage);
    add_stage(s, step, 0, s->g0);
    add_stage(s, step, 1, s->g1);
    add_stage(s, step, 2, s->g2);
    add_stage(s, step, 3, g4);
}

/* The parts of Platen's step that noise j has by itself: g_j at R+ and R-. */
static void add_straight(struct stepper *s, const struct step *step, size_t j)
{
    double h = step->h, root = sqrt(h);
    const double *w = step->dW + j * s->P;
    for (int side = 0; side < 2; side++) {
        double sign = side ? -1.0 : 1.0;
        moved(s, s->x, h, s->f0, s->stage);
        add_column(s, sign * root, s->g0, j, s->stage);
        const double *g = stepper_noise(s, step->end, true, s->stage);
        for (size_t p = 0; p < s->P; p++)
            s->J[p] = 0.25 * (w[p] + sign * (w[p] * w[p] - h) / root);
        add_weighted(s, g, j, s->J, s->next);
    }
}

/* The parts in which noise r moves the others: g_k at U+ and U-, k != r. */
static void add_crossed(struct stepper *s, const struct step *step, size_t r)
{
    double h = step->h, root = sqrt(h);
    size_t P = s->P, noises = s->field->spec->noises;
    const double *wr = step->dW + r * P, *zr = step->zeta + r * P;
    for (int side = 0; side < 2; side++) {
        double sign = side ? -1.0 : 1.0;
        memcpy(s->stage, s->x, bytes_of(s));
        add_column(s, sign * root, s->g0, r, s->stage);
        const double *g = stepper_noise(s, step->t, false, s->stage);
        for (size_t k = 0; k < noises; k++) {
            const double *wk = step->dW + k * P, *zk = step->zeta + k * P;
            double area = r < k ? h : -h;
            for (size_t p = 0; p < P && k != r; p++) {
                double V = (zr[p] < 0.0) == (zk[p] < 0.0) ? area : -area;
                s->J[p] = 0.25 * (wk[p] + sign * (wr[p] * wk[p] + V) / root);
            }
            if (k != r) add_weighted(s, g, k, s->J, s->next);
        }
    }
}

/* The drift of SRA1 (scheme.c), with J = I10 / h,
 *
 *     X + h (1/3 f + 2/3 f(X + 3/4 h f + 3/2 g J, t + 3/4 h)),
 *
 * which moves positions by h J, the integral of the noise that has moved their
 * velocities by dW: as in the equation they have the correlation sqrt(3)/2.
 * With h/2 dW, as in Platen's step, it would be 1. */
static void add_integrated(struct stepper *s, const struct step *step)
{
    double h = step->h, root = sqrt(h / 3.0);
    for (size_t i = 0; i < s->field->spec->noises * s->P; i++)
        s->J[i] = 0.5 * (step->dW[i] + root * step->zeta[i]);
    moved(s, s->x, 0.75 * h, s->f0, s->stage);
    add_noise(s, 1.5, s->g0, s->J, s->stage);
    const double *f = stepper_drift(s, step->t + 0.75 * h, false, s->stage);
    moved(s, s->x, h / 3.0, s->f0, s->next);
    moved(s, s->next, 2.0 * h / 3.0, f, s->next);
}

/* The explicit scheme of weak order 2 of Platen, (15.1.3) of Kloeden and Platen
 * (1992), for any g; r = sqrt(h):
 *
 *     R+- = X + h f +- r g_j, at t + h,    U+- = X +- r g_j, at t,
 *     X'  = X + h/2 (f + f(X + h f + g dW, t + h))
 *         + 1/4 sum_j (g_j(R+) + g_j(R-) + 2 g_j) dW_j
 *                   + (g_j(R+) - g_j(R-)) (dW_j^2 - h) / r
 *         + 1/4 sum_j sum_k (g_k(U+) + g_k(U-) - 2 g_k) dW_k
 *                   + (g_k(U+) - g_k(U-)) (dW_j dW_k + V_jk) / r,  k != j.
 *
 * V_jk = -V_kj is h or -h with equal chances, here by the signs of zeta: its
 * moments up to the second are those of Levy's area times 2. Where states have
 * no noise of their own, the drift is that of add_integrated(). */
static void srk_any(struct stepper *s, const struct step *step)
{
    size_t noises = s->field->spec->noises;
    double h = step->h;
    if (s->field->spec->noise == NOISE_SINGULAR) add_integrated(s, step);
    else {
        euler_state(s, step);
        const double *f = stepper_drift(s, step->end, true, s->next);
        moved(s, s->x, 0.5 * h, s->f0, s->next);
        moved(s, s->next, 0.5 * h, f, s->next);
    }
    add_noise(s, 1.0 - 0.5 * (double)noises, s->g0, step->dW, s->next);
    for (size_t j = 0; j < noises; j++) {
        add_straight(s, step, j);
        if (noises > 1) add_crossed(s, step, j);
    }
}

void srk_state(struct stepper *s, const struct step *step)
{
    if (s->field->own) srk_own(s, step);
    else srk_any(s, step);
}

/* --- Arriving ------------------------------------------------------------ */

static void note_finite(const struct stepper *s, size_t rows, const double *a)
{
    for (size_t i = 0; i < rows; i++, a += s->P)
        for (size_t p = 0; p < s->P; p++)
            s->arrived[p] = s->arrived[p] && fabs(a[p]) <= DBL_MAX;
}

/* g at x is finite, and what must be positive there is. */
static void note_noise(struct stepper *s, double t, const double *x)
{
    const struct field *f = s->field;
    note_finite(s, f->noise_size, stepper_noise(s, t, false, x));
    if (!f->inside.program) return;
    const double *margin = stepper_run(s, &f->inside, &s->inside, t, false, x);
    for (size_t i = 0; i < f->inside.size * s->P; i++)
        s->arrived[i % s->P] = s->arrived[i % s->P] && margin[i] > 0.0;
}

/* f at x to f, g to g, and which tracks are inside of the domain. */
static bool look_around(struct stepper *s, double t, const double *x, double *f,
                        double *g)
{
    size_t d = s->field->spec->dim, P = s->P, n = s->field->noise_size;
    memset(s->arrived, 1, P * sizeof *s->arrived);
    memcpy(f, stepper_drift(s, t, false, x), d * P * sizeof *f);
    note_noise(s, t, x);
    memcpy(g, program_output(s->field->diffusion.program, &s->diffusion, P, 0),
           n * P * sizeof *g);
    note_finite(s, d, x);
    note_finite(s, d, f);
    bool all = true;
    for (size_t p = 0; p < P; p++)
        all = all && s->arrived[p];
    return all;
}

/* Numbers of what reacts are not below 0, where laws of counts have no mean: a
 * step of the SDE that ends there ends at 0. */
static void stay_above(const struct stepper *s, double *x)
{
    size_t n = s->field->spec->reacts_only ? s->field->spec->dim * s->P : 0;
    for (size_t i = 0; i < n; i++)
        if (x[i] < 0.0) x[i] = 0.0;
}

bool stepper_enter(struct stepper *s, double t)
{
    stay_above(s, s->x);
    memset(s->debt, 0, bytes_of(s));
    return look_around(s, t, s->x, s->f0, s->g0);
}

bool stepper_look(struct stepper *s, double t)
{
    stay_above(s, s->next);
    return look_around(s, t, s->next, s->f1, s->g1);
}

/* Whether g_j there is no longer than twice what it is at x: where it is, the
 * schemes' differences say nothing, as those of a root at 0. */
static void note_growth(struct stepper *s, const double *there, size_t j)
{
    size_t d = s->field->spec->dim;
    for (size_t p = 0; p < s->P; p++) {
        double before = 0.0, after = 0.0;
        for (size_t i = 0; i < d; i++) {
            const double *a = element(s, s->g0, i, j);
            const double *b = element(s, there, i, j);
            before += a ? a[p] * a[p] : 0.0;
            after += b ? b[p] * b[p] : 0.0;
        }
        s->arrived[p] = s->arrived[p] && after <= 4.0 * before;
    }
}

/* Steps that leave the domain are taken again, and that must not depend on the
 * noise that came: to refuse only what is low by chance would move the mean. So
 * a step is refused where 4 standard deviations to either side leave it. */
static void look_aside(struct stepper *s, const struct step *step)
{
    size_t noises = s->field->own ? 1 : s->field->spec->noises;
    double reach = 4.0 * sqrt(step->h);
    memset(s->arrived, 1, s->P * sizeof *s->arrived);
    for (size_t j = 0; s->field->bounded && j < noises; j++)
        for (int below = 0; below < 2; below++) {
            double side = below ? -reach : reach;
            moved(s, s->x, step->h, s->f0, s->stage);
            if (s->field->own) moved(s, s->stage, side, s->g0, s->stage);
            else add_column(s, side, s->g0, j, s->stage);
            note_noise(s, step->t, s->stage);
            const double *g = program_output(s->field->diffusion.program,
                                             &s->diffusion, s->P, 0);
            for (size_t k = 0; k < s->field->spec->noises; k++)
                note_growth(s, g, k);
        }
    memcpy(s->kept, s->arrived, s->P * sizeof *s->kept);
}

void stepper_propose(struct stepper *s, const struct scheme *scheme,
                     const struct step *step, const bool *active)
{
    bool any = false;
    look_aside(s, step);
    for (size_t p = 0; p < s->P; p++)
        any = any || (active[p] && s->kept[p]);
    if (!any) { /* as if they had not arrived */
        memset(s->arrived, 0, s->P * sizeof *s->arrived);
        return;
    }
    scheme->propose(s, step);
    moved(s, s->next, 1.0, s->debt, s->next);
    stepper_look(s, step->end);
    for (size_t p = 0; p < s->P; p++)
        s->arrived[p] = s->arrived[p] && s->kept[p];
}

static void take_over(const struct stepper *s, const bool *active, size_t rows,
                      const double *from, double *to)
{
    for (size_t i = 0; i < rows; i++, from += s->P, to += s->P)
        for (size_t p = 0; p < s->P; p++)
            if (active[p] && s->arrived[p]) to[p] = from[p];
}

void stepper_settle(struct stepper *s, const bool *active)
{
    size_t d = s->field->spec->dim;
    take_over(s, active, d, s->next, s->x);
    take_over(s, active, d, s->f1, s->f0);
    take_over(s, active, s->field->noise_size, s->g1, s->g0);
    for (size_t i = 0; i < d * s->P; i++)
        if (active[i % s->P] && s->arrived[i % s->P]) s->debt[i] = 0.0;
}

/* --- Whether noises commute ----------------------------------------------- */

/* to = L^j g_k at x, where g0 is g, the last that was evaluated. */
static void derivative(struct stepper *s, size_t j, size_t k, double *to)
{
    memset(s->along, 0, bytes_of(s));
    add_column(s, 1.0, s->g0, j, s->along);
    memset(to, 0, bytes_of(s));
    add_column(s, 1.0, stepper_noise_along(s, s->x, s->along), k, to);
}

/* The size of what is compared separates rounding from a difference. Tracks
 * that are outside of the domain say nothing. */
static bool are_equal(const struct stepper *s, const double *a, const double *b)
{
    for (size_t i = 0; i < s->field->spec->dim; i++, a += s->P, b += s->P)
        for (size_t p = 0; p < s->P; p++)
            if (s->arrived[p] &&
                fabs(a[p] - b[p]) > 1e-9 * (fabs(a[p]) + fabs(b[p])))
                return false;
    return true;
}

bool stepper_commutes(struct stepper *s, double t)
{
    if (s->field->own) return true;
    stepper_enter(s, t);
    for (size_t j = 0; j < s->field->spec->noises; j++)
        for (size_t k = 0; k < j; k++) {
            derivative(s, j, k, s->stage);
            derivative(s, k, j, s->f1);
            if (!are_equal(s, s->stage, s->f1)) return false;
        }
    return true;
}
