/* SPDX-License-Identifier: MIT */
/* One step of the latent state on its lattice: masses from point to point, and
 * the moments of what the exact state moves by. */
#include <math.h>

#include "base/constant.h"
#include "bridge/barrier.h"
#include "strip/strip.h"

/* How far the weight of a bridge moves its mean at most, in deviations. */
static const double MOST_PULL = 1.0;

/* --- A bridge from point to point ----------------------------------------- */

/* Derivatives at a point; parabolas at the table's first one, too. */
static double second(const double *g, size_t k, double step)
{
    size_t at = k ? k : 1;
    return (g[at + 1] - 2.0 * g[at] + g[at - 1]) / (step * step);
}

static double slope(const double *g, size_t k, double step)
{
    if (!k) return (4.0 * g[1] - 3.0 * g[0] - g[2]) / (2.0 * step);
    return (g[k + 1] - g[k - 1]) / (2.0 * step);
}

/* A bridge from point i to j over `middle`, of length h. The integral of a
 * function g of w is known by that of one number: of w itself, or where the
 * range has an end, of the square of the distance d from it, of which g is a
 * smooth function. The number is `more` than Simpson's rule says, its variance
 * is `spread`, and g's integral changes by g' at the middle times `lever`. */
struct way {
    size_t i, j, middle;
    double h, step, more, spread, lever;
};

/* Bessel's bridges, of index nu = a - 1/2: by Pitman and Yor, with Q = int d^2,
 *
 *     E exp(-s^2 Q / (2 h^2)) = s / sinh s exp((x^2 + y^2)(1 - s coth s)/(2 h))
 *                               I_nu(z s / sinh s) / I_nu(z),   z = x y / h.
 *
 * Two derivatives at s = 0; c = z d log h(z) / dz of bridge/barrier.h. */
static void find_square(const struct strip_table *t, struct way *b)
{
    double x = strip_w(t, b->i) - t->end, y = strip_w(t, b->j) - t->end;
    double h = b->h, z = x * y / h, c = z * barrier_slope_z(t->a, z);
    double nu = t->a - 0.5, ends = (x * x + y * y) / h;
    double bend = nu * nu + 0.25 - c * c - 2.0 * z * c;
    double fourth = 1.0 / 180.0 + ends / 90.0 + 7.0 * (z - 0.5 + c) / 360.0;
    b->more = h * h * c / 3.0;
    b->spread = fmax(8.0 * h * h * h * h * (fourth + bend / 72.0), 0.0);
    b->lever = 0.5 / (strip_w(t, b->middle) - t->end);
}

static struct way way_of(const struct strip_table *t, size_t i, size_t j,
                         double h)
{
    struct way b = {.i = i,
                    .j = j,
                    .middle = (i + j) / 2,
                    .h = h,
                    .step = t->step,
                    .spread = h / 12.0,
                    .lever = h};
    if (t->a != 0.0) find_square(t, &b);
    return b;
}

static double lever(const struct way *b, const double *g)
{
    return b->lever * slope(g, b->middle, b->step);
}

/* The mean of g's integral. */
static double integral(const struct way *b, const double *g)
{
    double bend = second(g, b->middle, b->step);
    double middle = g[b->middle] + 0.125 * b->h * bend;
    return b->h * (g[b->i] + 4.0 * middle + g[b->j]) / 6.0 +
           lever(b, g) * b->more;
}

/* log p(w_j | w_i) without phi. */
static double log_density(const struct strip_table *t, size_t i, size_t j,
                          double h)
{
    double far = strip_w(t, j) - strip_w(t, i), edge = 0.0;
    if (t->a != 0.0) {
        double x = strip_w(t, i) - t->end, y = strip_w(t, j) - t->end;
        edge = t->a * log(y / x) + barrier_log_h(t->a, x * y / h);
    }
    return -0.5 * far * far / h - 0.5 * (LOG_TWO_PI + log(h)) + t->Phi[j] -
           t->Phi[i] + edge;
}

/* The weight exp(-int phi) moves the bridge's number, as long as phi is
 * straight over so many deviations. */
static void set_cell(const struct strip_table *t, struct strip_kernel *k,
                     size_t cell, const struct way *b, double mass)
{
    const double *D = t->value[LONE_D], *V = t->value[LONE_V];
    const double *phi = t->value[LONE_PHI];
    double by_D = lever(b, D), by_V = lever(b, V), by_phi = lever(b, phi);
    double most = MOST_PULL * sqrt(b->spread);
    double pull = fmax(fmin(-by_phi * b->spread, most), -most);
    double gain = b->spread > 0.0 ? 0.5 * pull * pull / b->spread : 0.0;
    double p =
        mass * exp(log_density(t, b->i, b->j, b->h) - integral(b, phi) + gain);
    k->value[MOVE_P][cell] = isfinite(p) ? p : 0.0;
    k->value[MOVE_A][cell] =
        integral(b, D) + t->Psi[b->j] - t->Psi[b->i] + by_D * pull;
    k->value[MOVE_V][cell] = fmax(integral(b, V) + by_V * pull, 0.0);
    k->value[MOVE_AA][cell] = b->spread * by_D * by_D;
    k->value[MOVE_AV][cell] = b->spread * by_D * by_V;
    k->value[MOVE_VV][cell] = b->spread * by_V * by_V;
}

/* --- All of them ---------------------------------------------------------- */

/* The first points of the lattice have other weights than the others. */
static void weigh_first(const struct strip_table *t, struct strip_kernel *k)
{
    double weight[STRIP_EDGE];
    strip_weigh(t, 2.0 * t->a, k->stride, k->first, weight);
    for (size_t j = k->low; j < STRIP_EDGE && j < k->high; j++)
        for (size_t i = k->low; i <= j + k->band && i < k->high; i++)
            if (j <= i + k->band)
                k->value[MOVE_P][strip_cell(k, i, j)] *= weight[j];
}

/* The masses that leave a point sum up to 1, but where the lattice is cut; a
 * step that is too long for its drift must not make any. */
static void normalise(struct strip_kernel *k)
{
    double *p = k->value[MOVE_P];
    size_t n = strip_width(k);
    for (size_t i = 0; i < n; i++) {
        bool whole = (i >= k->band || !k->low) && i + k->band < n;
        double sum = 0.0;
        for (size_t o = 0; o <= 2 * k->band; o++)
            sum += p[o * n + i];
        if (!(sum > 0.0) || !(whole || sum > 1.0)) continue;
        for (size_t o = 0; o <= 2 * k->band; o++)
            p[o * n + i] /= sum;
    }
}

int strip_kernel_step(const struct strip_table *t, struct strip_kernel *k,
                      size_t band, double h)
{
    double mass = (double)k->stride * t->step;
    k->band = band < k->high - k->low ? band : k->high - k->low - 1;
    int status = strip_kernel_reserve(k);
    if (status) return status;
    for (size_t o = 0; o <= 2 * k->band; o++)
        for (size_t i = k->low; i < k->high; i++) {
            size_t j = i + o;
            if (j < k->low + k->band || j >= k->high + k->band) continue;
            j -= k->band;
            struct way b = way_of(t, strip_place(k, i), strip_place(k, j), h);
            set_cell(t, k, strip_cell(k, i, j), &b, mass);
        }
    weigh_first(t, k);
    normalise(k);
    return 0;
}
