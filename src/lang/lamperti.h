/* SPDX-License-Identifier: MIT */
/* Lamperti's maps: the antiderivative of 1/shape for the factor of a noise,
 *
 *     dz = ... + constant(t) shape(z, t) dW,   u = U(z, t) = int dz / shape,
 *
 * found in closed form where the factor is one of the known ones, else by
 * quadrature. All are expressions over the state leaf, element by element for a
 * vector state, with all parameters and t still in them. */
#ifndef LANG_LAMPERTI_H
#define LANG_LAMPERTI_H

#include "lang/spec.h"

/* The factor of a noise as constant * shape, where the constant is without the
 * state and the shape without factors that are. Shapes that differ by such a
 * factor only are the same node. False where the factor depends on anything of
 * the state but `state`, element by element: the state leaf or a slice of it.
 */
bool lamperti_split(struct graph *g, node factor, node state, node *constant,
                    node *shape);

struct lamperti {
    node stretch;   /* U, over the leaf as z, in the shape of state          */
    node unstretch; /* its inverse, over the leaf as u                       */
    node domain;    /* (conditions, 1): positive where U is defined; 0 where */
                    /* that is everywhere                                    */
    node range;     /* the same of the inverse, over u                       */
    bool numerical; /* no closed form is known                               */
    bool curved;    /* conditions of the range are no distances from its ends,
                     * and it may have none                                  */
};

/* Fills the map of a shape; false where there is none: the shape is not
 * positive anywhere it was looked at, or it is a network's. Signs of parameters
 * are known from their bounds; a shape of unknown sign is taken as positive. */
bool lamperti_find(struct spec *spec, node shape, node state,
                   struct lamperti *found);

/* Whether a noise may jump with the state or in time. The map to unit noise
 * then jumps or has a kink, and so the drift a push that derivatives do not
 * see: other bridges know better. */
bool noise_jumps(struct graph *g, node n);

#endif
