/* SPDX-License-Identifier: MIT */
/* Formulas on their way to text: sums of products of powers. What algebra says
 * without a doubt is done here, and only for the eye: like terms are added,
 * equal factors become powers, x / x is 1. Texts stand for what is multiplied,
 * so equal means written in the same way. */
#ifndef GRAPH_FORMULA_H
#define GRAPH_FORMULA_H

#include <stdbool.h>
#include <stddef.h>

/* How tightly a text is bound: what is looser gets brackets. */
enum level { LEVEL_SUM, LEVEL_PRODUCT, LEVEL_POWER, LEVEL_ATOM };

struct factor {
    const char *text;
    enum level level;
    double power;
    bool positive;         /* known to be above 0                 */
    const struct sum *sum; /* that the text is of, or NULL        */
    const char *function;  /* of `function(inside)`, or NULL      */
    const struct sum *inside;
};

struct product {
    double number;
    size_t factors;
    struct factor *factor;
};

struct sum {
    size_t products; /* none: zero */
    struct product *product;
};

/* The memory of some formulas, freed at once. Texts longer than longest become
 * "...". A formula that memory did not suffice for is zero, and failed is set.
 */
struct pen {
    void **block;
    size_t blocks, capacity, longest;
    bool failed;
};

void pen_free(struct pen *p);

/* A formatted text of the pen's. */
const char *pen_text(struct pen *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

struct sum sum_number(struct pen *p, double value);
struct sum sum_name(struct pen *p, const char *text, enum level level);

/* A name of what is known to be above 0. */
struct sum sum_positive(struct pen *p, const char *text);

/* a + sign b. */
struct sum sum_add(struct pen *p, struct sum a, double sign, struct sum b);
struct sum sum_multiply(struct pen *p, struct sum a, struct sum b);
struct sum sum_power(struct pen *p, struct sum a, double power);

/* name(a); exp and log undo each other. */
struct sum sum_function(struct pen *p, const char *name, struct sum a);

const char *sum_text(struct pen *p, struct sum a);

/* In brackets unless it is a name, a function or a plain number. */
const char *sum_tight(struct pen *p, struct sum a);

/* a > 0, with what is subtracted on the other side. */
const char *sum_condition(struct pen *p, struct sum a);

bool sum_is_number(struct sum a, double *value);

#endif
