/* SPDX-License-Identifier: MIT */
/* An expression as text again, with few brackets and without blanks. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/plain.h"
#include "lang/ast.h"
#include "lang/lex.h"

/* How tightly an expression holds together; what holds less needs brackets. */
enum tightness { SUM = 1, PRODUCT, SIGN, POWER, PRIMARY };

struct text {
    char *at;
    size_t left; /* bytes, with the zero at the end */
    bool full;
};

static void put(struct text *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void put(struct text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = plain_format_list(t->at, t->left, format, args);
    va_end(args);
    t->full = t->full || n < 0 || (size_t)n >= t->left;
    if (t->full) return;
    t->at += n;
    t->left -= (size_t)n;
}

void number_text(double x, size_t size, char *text)
{
    for (int digits = 1; digits <= 17; digits++) {
        plain_format(text, size, "%.*g", digits, x);
        struct plain_locale locale;
        plain_begin(&locale);
        bool same = strtod(text, NULL) == x;
        plain_end(&locale);
        if (same) break;
    }
}

static enum tightness tightness(const struct expr *e)
{
    if (e->kind == EXPR_NEGATE) return SIGN;
    if (e->kind == EXPR_NUMBER && e->number < 0.0) return SIGN;
    if (e->kind != EXPR_BINARY) return PRIMARY;
    if (e->op == '^') return POWER;
    if (e->op == '+' || e->op == '-') return SUM;
    return strchr("*/@", e->op) ? PRODUCT : PRIMARY;
}

static void put_expr(struct text *t, const struct expr *e);

static void put_kid(struct text *t, const struct expr *e, enum tightness least)
{
    bool brackets = tightness(e) < least;
    if (brackets) put(t, "(");
    put_expr(t, e);
    if (brackets) put(t, ")");
}

static void put_binary(struct text *t, const struct expr *e)
{
    enum tightness own = tightness(e);
    bool compares = own == PRIMARY, power = own == POWER;
    enum tightness left = compares ? SUM : power ? PRIMARY : own;
    enum tightness right = compares ? SUM : power ? SIGN : own + 1;
    if (compares) put(t, "(");
    put_kid(t, e->kid[0], left);
    if (e->op == AT_LEAST) put(t, ">=");
    else if (e->op == AT_MOST) put(t, "<=");
    else put(t, "%c", e->op);
    put_kid(t, e->kid[1], right);
    if (compares) put(t, ")");
}

static void put_list(struct text *t, const struct expr *e, size_t first,
                     char open, char close)
{
    put(t, "%c", open);
    for (size_t i = first; i < e->kids; i++) {
        if (i > first) put(t, ",");
        put_expr(t, e->kid[i]);
    }
    put(t, "%c", close);
}

static void put_expr(struct text *t, const struct expr *e)
{
    char number[40];
    switch (e->kind) {
    case EXPR_NUMBER:
        number_text(e->number, sizeof number, number);
        put(t, "%s", number);
        break;
    case EXPR_NAME: put(t, "%s", e->name); break;
    case EXPR_NEGATE:
        put(t, "-");
        put_kid(t, e->kid[0], SIGN);
        break;
    case EXPR_BINARY: put_binary(t, e); break;
    case EXPR_CALL:
        put(t, "%s", e->name);
        put_list(t, e, 0, '(', ')');
        break;
    case EXPR_INDEX:
        put_kid(t, e->kid[0], PRIMARY);
        put_list(t, e, 1, '[', ']');
        break;
    case EXPR_LIST: put_list(t, e, 0, '[', ']'); break;
    case EXPR_RANGE:
        if (e->kids) put_expr(t, e->kid[0]);
        if (e->kids) put(t, ":");
        if (e->kids > 1) put_expr(t, e->kid[1]);
        break;
    case EXPR_EACH:
        put(t, "sum(%s in ", e->name);
        put_expr(t, e->kid[0]);
        put(t, ":");
        put_expr(t, e->kid[1]);
        put(t, ",");
        put_expr(t, e->kid[2]);
        put(t, ")");
        break;
    }
}

bool expr_text(const struct expr *e, enum text_place at, size_t size,
               char *text)
{
    static const enum tightness LEAST[TEXT_PLACES] = {[TEXT_ALONE] = SUM,
                                                      [TEXT_FIRST] = PRODUCT,
                                                      [TEXT_FACTOR] = SIGN,
                                                      [TEXT_BASE] = PRIMARY};
    struct text t = {text, size, false};
    put_kid(&t, e, LEAST[at]);
    return !t.full;
}
