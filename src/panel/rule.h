/* SPDX-License-Identifier: MIT */
/* Points for integrals over the random effects of a series. With x from the
 * rule, and a center and root of where the integrand g is,
 *
 *     log integral of g(u) du  =  log |det root|
 *         + log sum over points of exp(log_weight) g(center + root x)
 *
 * Up to three effects have products of Gauss-Hermite rules, which are exact
 * where g is a normal density times a polynomial; more of them have draws from
 * Student's law of five degrees of freedom. */
#ifndef PANEL_RULE_H
#define PANEL_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    EFFECTS_MOST = 8,
    EFFECTS_SQUARED = EFFECTS_MOST * EFFECTS_MOST,
    EFFECTS_PRODUCT = 3,
    USUAL_NODES = 9
};

struct rule {
    size_t n, count;
    double *x;          /* (count, n)  */
    double *log_weight; /* (count)     */
    bool drawn;
};

/* nodes: in each direction; of draws, 57 for each. Free in any case. */
int rule_init(struct rule *r, size_t n, size_t nodes);
void rule_free(struct rule *r);

/* Other draws for each series; nothing to do for products. */
void rule_draw(struct rule *r, uint64_t seed, size_t track);

/* The rule that a result is compared with. */
size_t rule_fewer(size_t nodes);

#endif
