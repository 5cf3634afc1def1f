/* SPDX-License-Identifier: MIT */
/* What follows the colon of terms:
 *
 *     item { , item }
 *     item = poly number | fourier number period expr | expr
 *
 * where an expr in square brackets has the terms of one output. The names of
 * families become calls of these names; terms.c expands them. */
#include "base/memory.h"
#include "lang/parse.h"

static bool at_family(const struct parser *p, const char *word)
{
    return parse_at_word(p, word) && parse_ahead(p).kind == TOKEN_NUMBER;
}

/* fourier 4 period 2*pi, with the word passed. */
static struct expr *parse_fourier(struct parser *p, const struct token *name)
{
    struct expr *kid[2] = {parse_expr(p), NULL};
    if (!kid[0]) return NULL;
    if (!parse_at_word(p, "period")) {
        expr_free(kid[0]);
        return refuse_null(p, parse_here(p),
                           "the period is missing; write 'fourier 4 period "
                           "2*pi'");
    }
    parse_next(p);
    kid[1] = parse_expr(p);
    return parse_joined(p, EXPR_CALL, name, 2, kid);
}

static struct expr *parse_item(struct parser *p)
{
    struct token name = p->token;
    bool fourier = at_family(p, "fourier");
    if (!fourier && !at_family(p, "poly")) return parse_expr(p);
    parse_next(p);
    if (fourier) return parse_fourier(p, &name);
    struct expr *degree = parse_expr(p);
    return parse_joined(p, EXPR_CALL, &name, 1, &degree);
}

int parse_terms(struct parser *p, struct statement *s)
{
    s->from = (size_t)(p->token.text - p->source->text);
    do {
        if (parse_ended(p))
            return refuse(p, parse_gap(p),
                          "a term is missing; write ': poly 2', or ': 1, x, "
                          "x*y' with a list of terms");
        struct expr *e = parse_item(p);
        if (!e) return GSV_BAD_INPUT;
        if (MEM_ROOM(s->term, s->terms, s->term_capacity)) {
            expr_free(e);
            return GSV_NO_MEMORY;
        }
        s->term[s->terms++] = e;
    } while (parse_take(p, ','));
    s->to = (size_t)(p->before.text + p->before.length - p->source->text);
    return 0;
}
