/* SPDX-License-Identifier: MIT */
/* What follows the word 'reaction':
 *
 *     side -> side : rate
 *     side = 0 | part { + part }
 *     part = [number] name [ [ number ] ]
 *
 * The names are looked up later, in reaction.c. */
#include "base/memory.h"
#include "lang/parse.h"

/* S, 2 I or x[3]. */
static int parse_part(struct parser *p, struct reactant *part)
{
    int status = 0;
    part->count = 1;
    if (p->token.kind == TOKEN_NUMBER) status = parse_size(p, &part->count);
    if (status) return status;
    if (parse_at(p, '*'))
        return refuse(p, p->token.place,
                      "a number stands right before its state; write '%zu X' "
                      "without '*'",
                      part->count);
    if (p->token.kind != TOKEN_NAME)
        return refuse(p, parse_here(p),
                      "a state is expected here; write a reaction as 'S + I "
                      "-> 2 I : rate', with 0 for nothing");
    status = parse_name(p, &part->name, &part->place);
    struct token open = p->token;
    if (status || !parse_take(p, '[')) return status;
    status = parse_size(p, &part->element);
    if (!status) status = parse_close(p, &open);
    if (p->before.place.line == part->place.line)
        part->place.length = p->before.place.column + p->before.place.length -
                             part->place.column;
    return status;
}

static bool takes_nothing(struct parser *p)
{
    struct token next = parse_ahead(p);
    if (p->token.kind != TOKEN_NUMBER || p->token.number != 0.0 ||
        next.kind == TOKEN_NAME)
        return false;
    parse_next(p);
    return true;
}

static int parse_side(struct parser *p, struct statement *s, bool made)
{
    if (takes_nothing(p)) return 0;
    do {
        if (MEM_ROOM(s->reactant, s->reactants, s->reactant_capacity))
            return GSV_NO_MEMORY;
        struct reactant *part = &s->reactant[s->reactants++];
        part->made = made;
        int status = parse_part(p, part);
        if (status) return status;
    } while (parse_take(p, '+'));
    return 0;
}

int parse_reaction(struct parser *p, struct statement *s)
{
    struct token first = p->token;
    s->declared.place = first.place;
    s->declared.name = mem_string("");
    if (!s->declared.name) return GSV_NO_MEMORY;
    int status = parse_side(p, s, false);
    if (status) return status;
    if (!parse_take(p, ARROW))
        return refuse(p, parse_here(p),
                      "'->' is missing; write a reaction as 'S + I -> 2 I : "
                      "rate', with 0 for nothing");
    status = parse_side(p, s, true);
    if (status) return status;
    struct place end = p->before.place;
    if (end.line == first.place.line)
        s->declared.place.length = end.column + end.length - first.place.column;
    s->text = mem_substring(first.text, s->declared.place.length);
    if (!s->text) return GSV_NO_MEMORY;
    if (!parse_take(p, ':'))
        return refuse(p, parse_here(p),
                      "':' is missing; write the rate of the reaction after "
                      "it, as in 'X -> 0 : d*X'");
    s->value = parse_expr(p);
    return s->value ? 0 : GSV_BAD_INPUT;
}
