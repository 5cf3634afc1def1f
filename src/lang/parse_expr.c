/* SPDX-License-Identifier: MIT */
/* Expressions by recursive descent:
 *
 *     expr    = term   { (+ | -) term }
 *     term    = unary  { (* | / | @) unary }
 *     unary   = (- | +) unary | power
 *     power   = postfix [ ^ unary ]          so that -x^2 is -(x^2)
 *     postfix = primary { [ range {, range} ] }
 *     range   = expr | [expr] : [expr]
 *     primary = number | name | name ( list ) | ( cond ) | [ list ]
 *             | flow ( list [ : number layers [number] ] )
 *             | sum ( name in expr : expr , cond )
 *     cond    = expr [ (> | < | >= | <=) expr ]    in lists of ( ) too
 *
 * A function that returns an expression takes those that it is given: when it
 * fails, they are freed. NULL stands for one that has failed already. */
#include "lang/parse.h"

#include <string.h>

#include "base/memory.h"

enum {
    MOST_NESTING = 200,
    MOST_LOOKED_AT = 100 /* statements, for the help with x(t) */
};

void parse_next(struct parser *p)
{
    p->before = p->token;
    p->token = lex_next(&p->lexer);
}

bool parse_at(const struct parser *p, char symbol)
{
    return p->token.kind == TOKEN_SYMBOL && p->token.symbol == symbol;
}

static bool token_is(const struct token *t, const char *word)
{
    return t->kind == TOKEN_NAME && t->length == strlen(word) &&
           memcmp(t->text, word, t->length) == 0;
}

bool parse_at_word(const struct parser *p, const char *word)
{
    return token_is(&p->token, word);
}

bool parse_take(struct parser *p, char symbol)
{
    if (!parse_at(p, symbol)) return false;
    parse_next(p);
    return true;
}

struct token parse_ahead(const struct parser *p)
{
    struct lexer ahead = p->lexer;
    return lex_next(&ahead);
}

bool parse_at_comparison(const struct parser *p)
{
    return parse_at(p, '>') || parse_at(p, '<') || parse_at(p, AT_LEAST) ||
           parse_at(p, AT_MOST);
}

bool parse_at_end(const struct parser *p)
{
    enum token_kind kind = p->token.kind;
    return kind == TOKEN_END || kind == TOKEN_LINE || kind == TOKEN_BAD;
}

bool parse_ended(const struct parser *p)
{
    return parse_at_end(p) || p->token.place.line != p->before.place.line;
}

struct place parse_gap(const struct parser *p)
{
    struct place place = p->before.place;
    place.column += place.length;
    place.length = 1;
    return place;
}

struct place parse_here(const struct parser *p)
{
    return parse_ended(p) ? parse_gap(p) : p->token.place;
}

int parse_name(struct parser *p, char **name, struct place *place)
{
    bool given = p->token.kind == TOKEN_NAME;
    *place = given ? p->token.place : parse_gap(p);
    *name = mem_substring(p->token.text, given ? p->token.length : 0);
    if (!*name) return GSV_NO_MEMORY;
    if (given) parse_next(p);
    return 0;
}

void list_free(struct list *list)
{
    for (size_t i = 0; i < list->count; i++)
        expr_free(list->item[i]);
    mem_free(list->item);
    *list = (struct list){0};
}

static int list_add(struct list *list, struct expr *e)
{
    if (!e) return GSV_BAD_INPUT;
    if (MEM_ROOM(list->item, list->count, list->capacity)) {
        expr_free(e);
        return GSV_NO_MEMORY;
    }
    list->item[list->count++] = e;
    return 0;
}

static struct expr *leaf(enum expr_kind kind, const struct token *at)
{
    struct expr *e = NEW(struct expr, 1);
    if (!e) return NULL;
    e->kind = kind;
    e->height = 1;
    e->number = at->number;
    e->place = at->place;
    if (kind == EXPR_BINARY) e->op = at->symbol;
    if (kind != EXPR_NAME && kind != EXPR_CALL && kind != EXPR_EACH) return e;
    e->name = mem_substring(at->text, at->length);
    if (e->name) return e;
    expr_free(e);
    return NULL;
}

/* Takes the kids when it succeeds, and only then. */
static int adopt(struct parser *p, struct expr *e, size_t kids,
                 struct expr *const *kid)
{
    for (size_t i = 0; i < kids; i++)
        if (kid[i]->height >= e->height)
            e->height = (unsigned short)(kid[i]->height + 1);
    if (e->height > AST_HEIGHT)
        return refuse(p, e->place,
                      "this expression has more than %d operations in a chain; "
                      "name parts of it with 'let'",
                      AST_HEIGHT);
    e->kid = NEW(struct expr *, kids);
    if (!e->kid) return GSV_NO_MEMORY;
    if (kids) memcpy(e->kid, kid, kids * sizeof *kid);
    e->kids = kids;
    return 0;
}

struct expr *parse_joined(struct parser *p, enum expr_kind kind,
                          const struct token *at, size_t kids,
                          struct expr *const *kid)
{
    bool whole = true;
    for (size_t i = 0; i < kids; i++)
        whole = whole && kid[i];
    struct expr *e = whole ? leaf(kind, at) : NULL;
    if (e && adopt(p, e, kids, kid) == 0) return e;
    expr_free(e);
    for (size_t i = 0; i < kids; i++)
        expr_free(kid[i]);
    return NULL;
}

/* The same for a list, of which nothing is left then. */
static struct expr *join_list(struct parser *p, enum expr_kind kind,
                              const struct token *at, struct list *list)
{
    struct expr *e = parse_joined(p, kind, at, list->count, list->item);
    mem_free(list->item);
    *list = (struct list){0};
    return e;
}

static char closing(const struct token *open)
{
    return open->symbol == '(' ? ')' : ']';
}

static bool is_operand(const struct token *t)
{
    return t->kind == TOKEN_NUMBER || t->kind == TOKEN_NAME ||
           (t->kind == TOKEN_SYMBOL && strchr("([", t->symbol));
}

int parse_close(struct parser *p, const struct token *open)
{
    char close = closing(open);
    if (parse_take(p, close)) return 0;
    const struct token *t = &p->token;
    if (parse_at(p, ')') || parse_at(p, ']'))
        return refuse(p, t->place, "'%c' cannot close a '%c'; write '%c'",
                      t->symbol, open->symbol, close);
    if (parse_at(p, ',') && parse_decimal_comma(p, t)) return GSV_BAD_INPUT;
    if (parse_at(p, ','))
        return refuse(p, t->place,
                      "',' is not expected here; a list is written '[a, b]'");
    if (is_operand(t) && !parse_ended(p)) return parse_stray(p);
    return refuse(p, open->place, "this '%c' is never closed; add a '%c'",
                  open->symbol, close);
}

int parse_list(struct parser *p, const struct token *open, struct list *list)
{
    if (parse_take(p, closing(open))) return 0;
    do {
        struct expr *e =
            open->symbol == '(' ? parse_condition(p) : parse_expr(p);
        int status = list_add(list, e);
        if (status) return status;
    } while (parse_take(p, ','));
    return parse_close(p, open);
}

/* : 4 layers 32, where the width may be left out; or nothing at all. */
static int parse_layers(struct parser *p, size_t size[2])
{
    if (!parse_take(p, ':')) return 0;
    int status = parse_size(p, &size[0]);
    if (status) return status;
    if (!parse_at_word(p, "layers") && !parse_at_word(p, "layer"))
        return refuse(p, parse_here(p),
                      "'layers' is missing; write ': 4 layers 32' with the "
                      "number of layers and the width of their networks");
    parse_next(p);
    if (p->token.kind != TOKEN_NUMBER) return 0;
    status = parse_size(p, &size[1]);
    if (!status && p->token.kind == TOKEN_NUMBER)
        return refuse(p, p->token.place,
                      "the networks of a flow have one width; write ': 4 "
                      "layers 32'");
    return status;
}

/* flow(arguments : 4 layers 32), with the bracket passed. Without a ':' it may
 * be any function of that name. */
static struct expr *parse_flow(struct parser *p, const struct token *name,
                               const struct token *open)
{
    struct list list = {0};
    size_t size[2] = {0, 0};
    int status;
    do
        status = list_add(&list, parse_expr(p));
    while (!status && parse_take(p, ','));
    if (!status) status = parse_layers(p, size);
    if (!status) status = parse_close(p, open);
    struct expr *e = status ? NULL : join_list(p, EXPR_CALL, name, &list);
    list_free(&list);
    if (!e) return NULL;
    e->layers = size[0];
    e->width = size[1];
    return e;
}

static bool is_state(const struct parser *p, const char *name)
{
    size_t n = p->ast->statements;
    for (size_t i = 0; i < n && i < MOST_LOOKED_AT; i++) {
        const struct statement *s = &p->ast->statement[i];
        if (s->kind != STATE || !s->declared.name) continue;
        if (strcmp(s->declared.name, name) == 0) return true;
    }
    return false;
}

/* Books write X(t) for the state. That it is no function is for others to
 * find; but here it is known that this was meant. */
static struct expr *check_time(struct parser *p, struct expr *call)
{
    if (!call || call->kids != 1 || call->kid[0]->kind != EXPR_NAME ||
        strcmp(call->kid[0]->name, "t") != 0 || !is_state(p, call->name))
        return call;
    (void)refuse(p, call->place, "'%.*s' is a state; write it without '(t)'",
                 SHOWN, call->name);
    expr_free(call);
    return NULL;
}

/* sum(j in low:high, body), with the bracket passed. */
static struct expr *parse_each(struct parser *p, const struct token *open)
{
    struct token name = p->token;
    struct expr *kid[3] = {NULL, NULL, NULL};
    parse_next(p);
    parse_next(p);
    kid[0] = parse_expr(p);
    if (kid[0] && !parse_take(p, ':'))
        (void)refuse(p, parse_here(p),
                     "':' is missing; write 'sum(%.*s in 1:10, ...)' with the "
                     "first and the last number",
                     SHOW(&name));
    else if (kid[0]) kid[1] = parse_expr(p);
    if (kid[1] && !parse_take(p, ','))
        (void)refuse(p, parse_here(p),
                     "',' is missing; write 'sum(%.*s in 1:10, ...)' with what "
                     "is summed",
                     SHOW(&name));
    else if (kid[1]) kid[2] = parse_condition(p);
    if (kid[2] && parse_close(p, open)) {
        expr_free(kid[2]);
        kid[2] = NULL;
    }
    return parse_joined(p, EXPR_EACH, &name, 3, kid);
}

static bool at_each(const struct parser *p, const struct token *name)
{
    struct token second = parse_ahead(p);
    return token_is(name, "sum") && p->token.kind == TOKEN_NAME &&
           token_is(&second, "in");
}

static struct expr *parse_call(struct parser *p, const struct token *name)
{
    struct token open = p->token;
    struct list list = {0};
    parse_next(p);
    if (token_is(name, "flow")) return parse_flow(p, name, &open);
    if (at_each(p, name)) return parse_each(p, &open);
    if (parse_list(p, &open, &list) == 0)
        return check_time(p, join_list(p, EXPR_CALL, name, &list));
    list_free(&list);
    return NULL;
}

static struct expr *parse_brackets(struct parser *p)
{
    struct token open = p->token;
    struct list list = {0};
    parse_next(p);
    if (parse_list(p, &open, &list) == 0)
        return join_list(p, EXPR_LIST, &open, &list);
    list_free(&list);
    return NULL;
}

static struct expr *parse_group(struct parser *p)
{
    struct token open = p->token;
    parse_next(p);
    struct expr *e = parse_condition(p);
    if (!e || parse_close(p, &open) == 0) return e;
    expr_free(e);
    return NULL;
}

/* Something should stand between the last token and this one. */
static struct expr *missing_operand(struct parser *p)
{
    const struct token *a = &p->before, *b = &p->token;
    if (!parse_ended(p))
        return refuse_null(p, b->place,
                           "after '%.*s' a number, a name or '(' is expected, "
                           "not '%.*s'",
                           SHOW(a), SHOW(b));
    if (a->kind == TOKEN_SYMBOL && strchr("+-*/^@", a->symbol))
        return refuse_null(p, a->place,
                           "nothing follows '%c'; write what it is applied "
                           "to, or remove it",
                           a->symbol);
    return refuse_null(p, parse_gap(p),
                       "after '%.*s' a number, a name or '(' is expected",
                       SHOW(a));
}

static struct expr *parse_primary(struct parser *p)
{
    struct token at = p->token;
    switch (at.kind) {
    case TOKEN_NUMBER: parse_next(p); return leaf(EXPR_NUMBER, &at);
    case TOKEN_NAME:
        parse_next(p);
        if (parse_at(p, '(')) return parse_call(p, &at);
        return leaf(EXPR_NAME, &at);
    case TOKEN_SYMBOL:
        if (at.symbol == '(') return parse_group(p);
        if (at.symbol == '[') return parse_brackets(p);
        break;
    case TOKEN_END:
    case TOKEN_LINE:
    case TOKEN_BAD: break;
    }
    return missing_operand(p);
}

/* An index, or a range of them; 2: and :3 go to the ends. */
static struct expr *parse_range(struct parser *p)
{
    struct token at = p->token;
    struct expr *low;
    if (parse_at(p, ':')) {
        struct token one = at;
        one.number = 1.0;
        low = leaf(EXPR_NUMBER, &one);
    } else {
        low = parse_expr(p);
        at = p->token;
    }
    if (!low || !parse_take(p, ':')) return low;
    bool open = parse_at(p, ',') || parse_at(p, ']');
    struct expr *kid[] = {low, open ? leaf(EXPR_RANGE, &at) : parse_expr(p)};
    return parse_joined(p, EXPR_RANGE, &at, 2, kid);
}

/* One index after the other: e[i], e[i, j]. Takes e. */
static struct expr *parse_index(struct parser *p, struct expr *e)
{
    struct token open = p->token;
    struct list list = {0};
    parse_next(p);
    int status = list_add(&list, e);
    if (!status && !parse_at(p, ']')) do {
            status = list_add(&list, parse_range(p));
        } while (!status && parse_take(p, ','));
    if (!status) status = parse_close(p, &open);
    if (!status && (list.count < 2 || list.count > 3))
        status = refuse(p, open.place,
                        "an element has one index or two; write 'a[1]' or "
                        "'a[1, 2]'");
    if (!status) return join_list(p, EXPR_INDEX, &open, &list);
    list_free(&list);
    return NULL;
}

static struct expr *parse_unary(struct parser *p);

static struct expr *parse_power(struct parser *p)
{
    struct expr *e = parse_primary(p);
    while (e && parse_at(p, '['))
        e = parse_index(p, e);
    struct token at = p->token;
    if (!e || !parse_take(p, '^')) return e;
    struct expr *kid[] = {e, parse_unary(p)};
    return parse_joined(p, EXPR_BINARY, &at, 2, kid);
}

/* Every way round the grammar comes through here: brackets, signs, powers. */
static struct expr *parse_unary(struct parser *p)
{
    if (p->nesting > MOST_NESTING)
        return refuse_null(p, p->token.place,
                           "this expression is nested more than %d deep; name "
                           "parts of it with 'let'",
                           MOST_NESTING);
    p->nesting++;
    struct token at = p->token;
    struct expr *e;
    if (parse_take(p, '-')) {
        e = parse_unary(p);
        e = parse_joined(p, EXPR_NEGATE, &at, 1, &e);
    } else if (parse_take(p, '+')) {
        e = parse_unary(p);
    } else {
        e = parse_power(p);
    }
    p->nesting--;
    return e;
}

/* A chain of operators of one rank, joined from the left. */
static struct expr *parse_chain(struct parser *p, const char *operators,
                                struct expr *(*operand)(struct parser *))
{
    struct expr *e = operand(p);
    while (e && p->token.kind == TOKEN_SYMBOL &&
           strchr(operators, p->token.symbol)) {
        struct token at = p->token;
        parse_next(p);
        struct expr *kid[] = {e, operand(p)};
        e = parse_joined(p, EXPR_BINARY, &at, 2, kid);
    }
    return e;
}

static struct expr *parse_term(struct parser *p)
{
    return parse_chain(p, "*/@", parse_unary);
}

struct expr *parse_expr(struct parser *p)
{
    return parse_chain(p, "+-", parse_term);
}

struct expr *parse_condition(struct parser *p)
{
    struct expr *e = parse_expr(p);
    if (!e || !parse_at_comparison(p)) return e;
    struct token at = p->token;
    parse_next(p);
    struct expr *kid[] = {e, parse_expr(p)};
    e = parse_joined(p, EXPR_BINARY, &at, 2, kid);
    if (!e || !parse_at_comparison(p)) return e;
    (void)refuse(p, p->token.place,
                 "comparisons cannot be chained; write '(a < x)*(x < b)'");
    expr_free(e);
    return NULL;
}

bool parse_decimal_comma(struct parser *p, const struct token *comma)
{
    static const char DIGITS[] = "0123456789";
    const char *s = comma->text;
    const char *line = s - (comma->place.column - 1);
    size_t whole = 0, part = strspn(s + 1, DIGITS);
    while (s - whole > line && strchr(DIGITS, s[-1 - (ptrdiff_t)whole]))
        whole++;
    const char *first = s - whole;
    bool other = first > line && (lex_is_name(first[-1]) || first[-1] == '.');
    if (!whole || !part || other) return false;
    struct place place = comma->place;
    place.column -= whole;
    place.length = whole + 1 + part;
    (void)refuse(p, place, "a number has a decimal point; write '%.*s.%.*s'",
                 whole < SHOWN ? (int)whole : SHOWN, first,
                 part < SHOWN ? (int)part : SHOWN, s + 1);
    return true;
}

static bool is_word(const struct token *t)
{
    return t->kind == TOKEN_NUMBER || t->kind == TOKEN_NAME;
}

static int missing_operator(struct parser *p)
{
    const struct token *a = &p->before, *b = &p->token;
    struct place both = a->place;
    both.length = b->place.column + b->length - a->place.column;
    if (is_word(a) && is_word(b))
        return refuse(p, both,
                      "an operator is missing between '%.*s' and '%.*s'; a "
                      "product is written '%.*s*%.*s'",
                      SHOW(a), SHOW(b), SHOW(a), SHOW(b));
    return refuse(p, both,
                  "an operator is missing between '%.*s' and '%.*s'; a product "
                  "is written with '*'",
                  SHOW(a), SHOW(b));
}

int parse_stray(struct parser *p)
{
    const struct token *b = &p->token;
    if (is_operand(b)) return missing_operator(p);
    if (parse_at(p, ')') || parse_at(p, ']'))
        return refuse(p, b->place, "this '%c' closes nothing; remove it",
                      b->symbol);
    if (parse_at(p, ',') && parse_decimal_comma(p, b)) return GSV_BAD_INPUT;
    if (parse_at_comparison(p))
        return refuse(p, b->place,
                      "write a comparison in brackets, as in '(x %.*s 0)' or "
                      "'where(x %.*s 0, 1, 2)'",
                      SHOW(b), SHOW(b));
    return refuse(p, b->place,
                  "'%.*s' is not expected here; the statement should end "
                  "before it",
                  SHOW(b));
}
