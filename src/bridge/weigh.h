/* SPDX-License-Identifier: MIT */
/* The log weight of bridges against their reference, dX = f dt + dW against
 * dY = l dt + dW with l = A Y + b and r = f - l (Girsanov's theorem), in three
 * forms:
 *
 *     ito           S = sum r_m' (dY_m - (f_m + l_m) dt/2), left ends
 *     midpoint      S = sum r_m' W (e_m - Gamma r_m / 2),
 *                   r at the reference's own forecast of the step's middle,
 *                   e_m = Y_{m+1} - Phi Y_m - c: the ratio of two Gaussian
 *                   chains, so what it estimates is a normalised density
 *     stratonovich  S = sum (r_m + r_{m+1})'/2 dY_m
 *                   - sum' (r'(f + l) + div f - tr A) dt/2, trapezoids;
 *                   potential: without f' dY, whose sum is known
 *                   (context.c), and with what boundaries add (barrier.h)
 *
 * Against brownian (A = 0, b = 0) the first two are the same. S2 is S with
 * steps twice as long, from every second point; an odd last step stands alone.
 * Rows are coordinates, ld apart; within a row steps, within a step K paths. */
#ifndef BRIDGE_WEIGH_H
#define BRIDGE_WEIGH_H

#include "bridge/reference.h"

struct slice {
    enum gsv_form form;
    bool potential; /* see above */
    bool alone;     /* S2 is not needed: it may be left as it is */
    const struct reference *reference;
    size_t first, steps, K, ld;
    const double *Y;   /* (d; steps, K) left ends                            */
    const double *Z;   /* (d; steps, K) where f is: Y but for the midpoint   */
    const double *dY;  /* (d; steps, K)                                      */
    const double *f;   /* (d; steps, K); stratonovich: steps + 1, as Z is    */
    const double *div; /* (steps + 1, K) of stratonovich, else NULL          */
    /* Of boundaries, (barriers; steps + 1, K): their distance, a / distance. */
    size_t barriers;
    const double *distance, *steepness;
    double *scratch; /* weigh_scratch()                                    */
};

size_t weigh_scratch(size_t d, size_t K);

/* S (K) and S2 (K) += */
void weigh(const struct slice *s, double *S, double *S2);

/* f_bar, div_bar and dY_bar are set; what Y and Z get directly, not through f,
 * is set too: Y_bar and Z_bar, of which Y_bar is Z_bar but for the midpoint.
 * ends false: only f_bar and div_bar are set. S2_bar may be NULL. */
struct slice_bar {
    const double *S_bar, *S2_bar;
    bool ends;
    struct reference_bar *reference; /* added to, where ends is set */
    double *f_bar, *div_bar, *dY_bar, *Y_bar, *Z_bar;
    double *distance_bar, *steepness_bar;
};
void weigh_vjp(const struct slice *s, const struct slice_bar *bar);

/* --- For the files of the forms --------------------------------------------
 */

enum { SCRATCH_ROWS = 6 };

void weigh_midpoint(const struct slice *s, double *S, double *S2);
void weigh_midpoint_vjp(const struct slice *s, const struct slice_bar *bar);
void weigh_stratonovich(const struct slice *s, double *S, double *S2);
void weigh_stratonovich_vjp(const struct slice *s, const struct slice_bar *bar);

/* l (d, K) = A Y + b with the matrices of a step, at Y with rows ld apart. */
void slice_reference(const struct slice *s, size_t step, const double *Y,
                     size_t ld, double *l);

/* Y_bar += A' l_bar, b_bar += l_bar. */
void slice_reference_vjp(const struct slice *s, size_t step,
                         const double *l_bar, double *Y_bar, size_t ld,
                         struct reference_bar *bar);

/* The first n numbers of d rows become 0. */
void clear_rows(size_t d, size_t n, double *x, size_t ld);

#endif
