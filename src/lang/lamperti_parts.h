/* SPDX-License-Identifier: MIT */
/* The inside of Lamperti's maps: factors taken apart, and signs. */
#ifndef LANG_LAMPERTI_PARTS_H
#define LANG_LAMPERTI_PARTS_H

#include "graph/words.h"
#include "lang/lamperti.h"

enum { FACTORS = 12 };

/* constant * product over i of base_i ^ power_i * exp(rate z). Powers and the
 * rate are without the state; a rate of 0 is node 0. */
struct product {
    struct graph *g;
    node state, constant, rate;
    node base[FACTORS], power[FACTORS];
    size_t factors;
    size_t visits; /* an expression that shares much of itself is given up */
    bool failed;
};

/* Takes apart; false where the factor depends on the state otherwise than by
 * its elements. */
bool product_of(struct graph *g, node factor, node state, struct product *p);

/* The product of base ^ power and exp(rate z), without the constant. */
node product_shape(const struct product *p);

/* a + b z + c z^2, coefficients without the state; false for anything else. */
struct polynomial {
    node a, b, c;
};
bool polynomial_of(struct graph *g, node n, node state, struct polynomial *p);
node polynomial_node(struct graph *g, const struct polynomial *p, node state);

/* 1 or -1 where all elements have that sign for all parameters within their
 * bounds, else 0. Without a spec nothing is known of parameters. */
int sign_of(const struct spec *spec, const struct graph *g, node n);

/* Row r of an elementwise expression with points for the state's row: in the
 * shape of the points. */
node at_points(struct graph *g, node n, node state, size_t row, node points);

/* A node without the state at the parameters' starts and t = 0, to out (size).
 */
bool at_start(const struct spec *spec, node n, double *out);

/* Places that are tried one after the other for one where a shape is positive.
 */
enum { ANCHORS = 18 };
extern const double ANCHOR[ANCHORS];

/* The map of one quadratic, or of a power of a + b z with b = 0 at the start,
 * in closed form for all signs of the coefficients; false for other shapes. */
bool lamperti_anchored(struct spec *spec, const struct product *p,
                       struct lamperti *found);

/* The map by quadrature. */
bool lamperti_numeric(struct spec *spec, const struct product *p, node shape,
                      struct lamperti *found);

/* What must be positive: affine functions of the state, which bound it, and
 * others, which do not hold everywhere. */
enum { MARGINS = 2 * FACTORS };
struct margins {
    node margin[MARGINS];
    size_t affine, others; /* the affine ones stand first */
};

/* Where the map of a row has its knots. Between them, the integral of 1/shape
 * is taken by Gauss's rule: points within (0, 1) and their weights. */
struct ruler {
    node knots;         /* (intervals + 1, 1), upwards                  */
    size_t intervals;   /*                                              */
    size_t origin;      /* the knot where U is 0                        */
    bool closed[2];     /* whether U ends below, above                  */
    node point, weight; /* (1, n) and (n, 1)                            */
};

bool find_margins(const struct product *p, node shape, struct margins *m);
bool find_ruler(struct spec *spec, const struct product *p, node shape,
                size_t row, struct margins *m, struct ruler *r);

/* The integrals over the intervals of a ruler, (intervals, 1). */
node integrals(struct graph *g, const struct ruler *r, node shape, node state,
               size_t row);

bool is_zero(const struct graph *g, node n);
bool is_one(const struct graph *g, node n);

/* One more word for formulas, besides those of words.h. */
static inline node power(struct graph *g, node a, node b)
{
    return graph_binary(g, OP_POW, a, b);
}

#endif
