/* SPDX-License-Identifier: MIT */
#include "graph/formula.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/plain.h"

/* --- Memory ------------------------------------------------------------- */

static void *take(struct pen *p, size_t bytes)
{
    if (p->failed || MEM_ROOM(p->block, p->blocks, p->capacity)) {
        p->failed = true;
        return NULL;
    }
    void *block = mem_new(bytes, 1);
    if (!block) p->failed = true;
    else p->block[p->blocks++] = block;
    return block;
}

void pen_free(struct pen *p)
{
    for (size_t i = 0; i < p->blocks; i++)
        mem_free(p->block[i]);
    mem_free(p->block);
    *p = (struct pen){0};
}

const char *pen_text(struct pen *p, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    char *text = n < 0 ? NULL : take(p, (size_t)n + 1);
    if (text) vsnprintf(text, (size_t)n + 1, format, again);
    va_end(again);
    va_end(args);
    return text ? text : "";
}

static struct product *new_products(struct pen *p, size_t n)
{
    return take(p, (n ? n : 1) * sizeof(struct product));
}

/* --- Making ------------------------------------------------------------- */

static struct sum one_product(struct pen *p, struct product what)
{
    struct product *made = what.number == 0.0 ? NULL : new_products(p, 1);
    if (!made) return (struct sum){0};
    *made = what;
    return (struct sum){1, made};
}

static struct sum one_factor(struct pen *p, struct factor what)
{
    struct factor *made = take(p, sizeof *made);
    if (!made) return (struct sum){0};
    *made = what;
    return one_product(p, (struct product){1.0, 1, made});
}

struct sum sum_number(struct pen *p, double value)
{
    return one_product(p, (struct product){.number = value});
}

struct sum sum_name(struct pen *p, const char *text, enum level level)
{
    if (p->longest && strlen(text) > p->longest) {
        text = "...";
        level = LEVEL_ATOM;
    }
    return one_factor(
        p, (struct factor){.text = text, .level = level, .power = 1});
}

struct sum sum_positive(struct pen *p, const char *text)
{
    struct sum made = sum_name(p, text, LEVEL_ATOM);
    if (made.products) made.product[0].factor[0].positive = true;
    return made;
}

bool sum_is_number(struct sum a, double *value)
{
    *value = a.products ? a.product[0].number : 0.0;
    return a.products == 0 || (a.products == 1 && !a.product[0].factors);
}

/* --- Equal texts -------------------------------------------------------- */

/* What was left out may be anything. */
static bool same_text(const char *a, const char *b)
{
    return !strcmp(a, b) && !strstr(a, "...");
}

static bool same_factors(const struct product *a, const struct product *b)
{
    if (a->factors != b->factors) return false;
    for (size_t i = 0; i < a->factors; i++) {
        bool found = false;
        for (size_t j = 0; !found && j < b->factors; j++)
            found = a->factor[i].power == b->factor[j].power &&
                    same_text(a->factor[i].text, b->factor[j].text);
        if (!found) return false;
    }
    return true;
}

/* --- Algebra ------------------------------------------------------------ */

/* What a is, if it is one factor and nothing else. */
static const struct factor *single(struct sum a)
{
    if (a.products != 1 || a.product[0].factors != 1) return NULL;
    const struct factor *f = &a.product[0].factor[0];
    return a.product[0].number == 1.0 && f->power == 1.0 ? f : NULL;
}

static void add_product(struct sum *to, struct product what)
{
    for (size_t i = 0; i < to->products; i++) {
        struct product *old = &to->product[i];
        if (!same_factors(old, &what)) continue;
        old->number += what.number;
        if (old->number == 0.0) {
            memmove(old, old + 1, (to->products - i - 1) * sizeof *old);
            to->products--;
        }
        return;
    }
    to->product[to->products++] = what;
}

struct sum sum_add(struct pen *p, struct sum a, double sign, struct sum b)
{
    struct sum made = {0, new_products(p, a.products + b.products)};
    if (!made.product) return (struct sum){0};
    for (size_t i = 0; i < a.products; i++)
        add_product(&made, a.product[i]);
    for (size_t i = 0; i < b.products; i++) {
        struct product what = b.product[i];
        what.number *= sign;
        add_product(&made, what);
    }
    return made;
}

/* A sum of several terms becomes a factor that remembers what it is. */
static struct product as_product(struct pen *p, struct sum a)
{
    if (a.products == 1) return a.product[0];
    struct sum *kept = a.products ? take(p, sizeof *kept) : NULL;
    if (!kept) return (struct product){0};
    *kept = a;
    struct sum f = sum_name(p, sum_text(p, a), LEVEL_SUM);
    if (!f.products) return (struct product){0};
    f.product[0].factor[0].sum = kept;
    return f.product[0];
}

static void add_factor(struct product *to, struct factor what)
{
    for (size_t i = 0; i < to->factors; i++) {
        struct factor *old = &to->factor[i];
        if (!same_text(old->text, what.text)) continue;
        old->power += what.power;
        if (old->power == 0.0) {
            memmove(old, old + 1, (to->factors - i - 1) * sizeof *old);
            to->factors--;
        }
        return;
    }
    to->factor[to->factors++] = what;
}

/* 1 (a - b) is a - b, and -1 (a - b) is b - a. */
static struct sum opened(struct pen *p, struct product a)
{
    const struct sum *inside = a.factors == 1 ? a.factor[0].sum : NULL;
    if (inside && a.factor[0].power == 1.0 && fabs(a.number) == 1.0)
        return sum_add(p, (struct sum){0}, a.number, *inside);
    return one_product(p, a);
}

struct sum sum_multiply(struct pen *p, struct sum a, struct sum b)
{
    if (!a.products || !b.products) return (struct sum){0};
    struct product x = as_product(p, a), y = as_product(p, b);
    struct product made = {.number = x.number * y.number};
    size_t n = x.factors + y.factors;
    made.factor = take(p, (n ? n : 1) * sizeof *made.factor);
    if (!made.factor) return (struct sum){0};
    for (size_t i = 0; i < x.factors; i++)
        add_factor(&made, x.factor[i]);
    for (size_t i = 0; i < y.factors; i++)
        add_factor(&made, y.factor[i]);
    return opened(p, made);
}

/* Whether the power of a product is the product of its factors' powers: where
 * the exponent is whole or nothing is negative; else (x^2)^0.5 would lose a
 * sign. */
static bool can_spread(const struct product *x, double power)
{
    if (power == floor(power) || !x->factors) return true;
    if (x->number == 1.0 && x->factors == 1 && x->factor[0].power == 1.0)
        return true;
    for (size_t i = 0; i < x->factors; i++)
        if (!x->factor[i].positive) return false;
    return x->number > 0.0;
}

struct sum sum_power(struct pen *p, struct sum a, double power)
{
    if (power == 1.0) return a;
    struct product x = as_product(p, a);
    if (!can_spread(&x, power)) {
        enum level level =
            x.factors == 1 && x.number == 1.0 ? LEVEL_POWER : LEVEL_PRODUCT;
        struct sum base = sum_name(p, sum_text(p, a), level);
        if (!base.products) return (struct sum){0};
        x = base.product[0];
    }
    struct product made = {pow(x.number, power), x.factors, NULL};
    made.factor = take(p, (x.factors ? x.factors : 1) * sizeof *made.factor);
    if (!made.factor) return (struct sum){0};
    for (size_t i = 0; i < x.factors; i++) {
        made.factor[i] = x.factor[i];
        made.factor[i].power *= power;
    }
    return one_product(p, made);
}

/* --- Functions ---------------------------------------------------------- */

static bool is_function(const struct factor *f, const char *name)
{
    return f->function && !strcmp(f->function, name);
}

struct sum sum_function(struct pen *p, const char *name, struct sum a)
{
    const struct product *one = a.products == 1 ? a.product : NULL;
    const struct factor *f = one && one->factors == 1 ? one->factor : NULL;
    if (f && f->power == 1.0 && !strcmp(name, "exp") && is_function(f, "log"))
        return sum_power(p, *f->inside, one->number);
    if (f && single(a) && !strcmp(name, "log") && is_function(f, "exp"))
        return *f->inside;
    struct sum made =
        sum_name(p, pen_text(p, "%s(%s)", name, sum_text(p, a)), LEVEL_ATOM);
    struct sum *inside = take(p, sizeof *inside);
    if (!inside || !made.products) return (struct sum){0};
    *inside = a;
    made.product[0].factor[0].positive = !strcmp(name, "exp");
    made.product[0].factor[0].function = name;
    made.product[0].factor[0].inside = inside;
    return made;
}

/* --- Text --------------------------------------------------------------- */

/* With as many digits as it takes, and no more: %g takes zeros off the end, and
 * writes 10 with two digits or more, else 1e+01. */
static const char *number_text(struct pen *p, double value)
{
    char text[40];
    struct plain_locale l;
    plain_begin(&l);
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value) break;
    }
    plain_end(&l);
    return pen_text(p, "%s", text);
}

static const char *bracketed(struct pen *p, const char *text, bool needed)
{
    return needed ? pen_text(p, "(%s)", text) : text;
}

/* A factor with the absolute value of its power, to stand in a product. */
static const char *factor_text(struct pen *p, const struct factor *f)
{
    double power = fabs(f->power);
    if (power == 1.0) return bracketed(p, f->text, f->level == LEVEL_SUM);
    if (power == 0.5) return pen_text(p, "sqrt(%s)", f->text);
    return pen_text(p, "%s^%s", bracketed(p, f->text, f->level < LEVEL_ATOM),
                    number_text(p, power));
}

/* The factors above or below the line, times the number where it is not 1. */
static const char *side_text(struct pen *p, const struct product *a,
                             double number, double sign, size_t *n)
{
    const char *text = "";
    *n = 0;
    if (number != 1.0) {
        text = number_text(p, number);
        ++*n;
    }
    for (size_t i = 0; i < a->factors; i++) {
        const struct factor *f = &a->factor[i];
        if (f->power * sign <= 0.0) continue;
        text = pen_text(p, "%s%s%s", text, *n ? "*" : "", factor_text(p, f));
        ++*n;
    }
    return text;
}

/* Without the sign of its number. */
static const char *product_text(struct pen *p, const struct product *a)
{
    size_t above, below;
    const char *top = side_text(p, a, fabs(a->number), 1.0, &above);
    const char *bottom = side_text(p, a, 1.0, -1.0, &below);
    if (!above) top = "1";
    if (!below) return top;
    /* One factor that is itself a product or quotient needs brackets. */
    bool loose = below > 1;
    for (size_t i = 0; i < a->factors && !loose; i++)
        loose =
            a->factor[i].power == -1.0 && a->factor[i].level == LEVEL_PRODUCT;
    return pen_text(p, "%s/%s", top, bracketed(p, bottom, loose));
}

/* The first positive term comes first: b - a, not -a + b. */
const char *sum_text(struct pen *p, struct sum a)
{
    size_t first = 0;
    while (first < a.products && a.product[first].number < 0.0)
        first++;
    if (first == a.products) first = 0;
    if (!a.products) return "0";
    const char *text = "";
    for (size_t k = 0; k < a.products && !p->failed; k++) {
        size_t i = k == 0 ? first : k <= first ? k - 1 : k;
        const struct product *x = &a.product[i];
        const char *sign = x->number < 0.0 ? (k ? " - " : "-") : k ? " + " : "";
        text = pen_text(p, "%s%s%s", text, sign, product_text(p, x));
    }
    return text;
}

const char *sum_tight(struct pen *p, struct sum a)
{
    const struct factor *f = single(a);
    double value = 0.0;
    bool tight =
        f ? f->level == LEVEL_ATOM : sum_is_number(a, &value) && value >= 0.0;
    return bracketed(p, sum_text(p, a), !tight);
}

/* A product without what is above 0 anyway: its sign is the same. */
static void drop_positive(struct sum *a)
{
    if (a->products != 1) return;
    struct product *x = a->product;
    struct product left = {.number = 1.0, .factor = x->factor};
    for (size_t i = 0; i < x->factors; i++)
        if (!x->factor[i].positive) left.factor[left.factors++] = x->factor[i];
    if (left.factors) *x = left;
}

const char *sum_condition(struct pen *p, struct sum a)
{
    struct sum side[2]; /* what is added, what is subtracted */
    double number;
    for (int i = 0; i < 2; i++) {
        side[i] = (struct sum){0, new_products(p, a.products)};
        for (size_t k = 0; side[i].product && k < a.products; k++) {
            struct product x = a.product[k];
            if ((x.number < 0.0) != (i == 1)) continue;
            x.number = fabs(x.number);
            side[i].product[side[i].products++] = x;
        }
    }
    for (int i = 0; i < 2; i++)
        if (!side[!i].products) drop_positive(&side[i]);
    const char *left = sum_text(p, side[0]), *right = sum_text(p, side[1]);
    return sum_is_number(side[0], &number)
               ? pen_text(p, "%s < %s", right, left)
               : pen_text(p, "%s > %s", left, right);
}
