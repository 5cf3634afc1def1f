/* SPDX-License-Identifier: MIT */
#include "panel/rule.h"

#include <math.h>

#include "base/constant.h"
#include "base/error.h"
#include "base/gamma.h"
#include "base/memory.h"
#include "base/quadrature.h"
#include "base/random.h"

/* Points of a product of three rules with a smaller weight than this are left
 * out: the mean of a function that is 1 in size changes by less than their sum.
 */
static const double SMALLEST = 1e-10;

enum { DRAWS_OF_A_NODE = 57, FREEDOM = 5 };

size_t rule_fewer(size_t nodes)
{
    return nodes >= 9 ? 5 : nodes >= 5 ? 3 : 1;
}

/* All combinations of nodes, without those of small weight. */
static void fill_product(struct rule *r, size_t nodes, size_t all)
{
    double point[HERMITE_MOST], weight[HERMITE_MOST];
    quadrature_hermite(nodes, point, weight);
    r->count = 0;
    for (size_t q = 0; q < all; q++) {
        double *x = r->x + r->count * r->n, product = 1.0, squares = 0.0;
        for (size_t i = 0, rest = q; i < r->n; i++, rest /= nodes) {
            x[i] = point[rest % nodes];
            product *= weight[rest % nodes];
            squares += x[i] * x[i] + LOG_TWO_PI;
        }
        if (product < SMALLEST && r->n == EFFECTS_PRODUCT) continue;
        r->log_weight[r->count++] = log(product) + 0.5 * squares;
    }
}

int rule_init(struct rule *r, size_t n, size_t nodes)
{
    size_t all = 1;
    *r = (struct rule){.n = n, .drawn = n > EFFECTS_PRODUCT};
    for (size_t i = 0; i < n && !r->drawn; i++)
        all *= nodes;
    if (r->drawn) all = DRAWS_OF_A_NODE * nodes;
    r->x = NEW(double, all *n);
    r->log_weight = NEW(double, all);
    if (!r->x || !r->log_weight) return GSV_NO_MEMORY;
    r->count = all;
    if (!r->drawn) fill_product(r, nodes, all);
    return 0;
}

void rule_free(struct rule *r)
{
    MEM_FREE(r->x, r->log_weight);
    *r = (struct rule){0};
}

/* x = z / sqrt(chi^2 / freedom), with the density of Student's law. */
void rule_draw(struct rule *r, uint64_t seed, size_t track)
{
    const struct random_key key = {
        .seed = seed, .purpose = RANDOM_EFFECT, .item = track};
    size_t n = r->n;
    double z[EFFECTS_MOST + FREEDOM], nu = FREEDOM, d = (double)n;
    if (!r->drawn) return;
    double top = log_gamma(0.5 * (nu + d)) - log_gamma(0.5 * nu) -
                 0.5 * d * log(nu * PI) + log((double)r->count);
    for (size_t q = 0; q < r->count; q++) {
        double chi = 0.0, squares = 0.0;
        random_normals(&key, 0, n + FREEDOM, q, 1, z);
        for (size_t i = 0; i < FREEDOM; i++)
            chi += z[n + i] * z[n + i];
        for (size_t i = 0; i < n; i++) {
            r->x[q * n + i] = z[i] / sqrt(chi / nu);
            squares += r->x[q * n + i] * r->x[q * n + i];
        }
        r->log_weight[q] = 0.5 * (nu + d) * log1p(squares / nu) - top;
    }
}
