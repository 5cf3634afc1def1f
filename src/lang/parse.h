/* SPDX-License-Identifier: MIT */
/* What the two halves of the parser share: statements (parse.c) are made of
 * expressions (parse_expr.c). */
#ifndef LANG_PARSE_H
#define LANG_PARSE_H

#include "base/error.h"
#include "lang/ast.h"
#include "lang/lex.h"
#include "lang/message.h"

struct parser {
    const struct source *source;
    struct lexer lexer;
    struct token token;  /* the current one                 */
    struct token before; /* the one that was accepted last  */
    size_t nesting;
    struct ast *ast; /* what was parsed so far */
};

/* Expressions that stand between commas. */
struct list {
    struct expr **item;
    size_t count, capacity;
};

/* Says what is wrong at a place and returns GSV_BAD_INPUT. If the text has no
 * valid token there, the message is about that instead. */
#define refuse(p, place, ...)                                                  \
    ((p)->token.kind == TOKEN_BAD                                              \
         ? lex_complain((p)->source, &(p)->token)                              \
         : complain((p)->source, (place), __VA_ARGS__))
#define refuse_null(...) ((void)refuse(__VA_ARGS__), NULL)

/* A token's text in a message, as two arguments of %.*s. */
enum { SHOWN = 40 };
#define SHOW(token)                                                            \
    (int)((token)->length < SHOWN ? (token)->length : SHOWN), (token)->text

void parse_next(struct parser *p);
bool parse_at(const struct parser *p, char symbol);
bool parse_at_word(const struct parser *p, const char *word);

/* Whether the symbol was there; then it is passed. */
bool parse_take(struct parser *p, char symbol);

/* Whether no token is left on the line. A TOKEN_BAD counts as the end: refuse()
 * reports it in any case. */
bool parse_at_end(const struct parser *p);

/* The same, but within brackets too, where the token may be on the next line.
 */
bool parse_ended(const struct parser *p);

/* Where something is missing: right after the last token. */
struct place parse_gap(const struct parser *p);

/* There, or the token that stands in its place. */
struct place parse_here(const struct parser *p);

/* A name and its place, or "" where there is none. */
int parse_name(struct parser *p, char **name, struct place *place);

struct expr *parse_expr(struct parser *p);

/* The same, or a comparison of two: what stands in brackets. */
struct expr *parse_condition(struct parser *p);

/* The token after the current one. */
struct token parse_ahead(const struct parser *p);

bool parse_at_comparison(const struct parser *p);

/* Expressions up to the bracket that closes the one given, which was passed.
 * What was parsed is in the list also after a failure. */
int parse_list(struct parser *p, const struct token *open, struct list *list);
void list_free(struct list *list);

int parse_close(struct parser *p, const struct token *open);

/* A whole number from 1 on: of elements, of units in a layer. */
int parse_size(struct parser *p, size_t *size);

/* What follows the name of a net, gp, terms or external; word is that of the
 * statement. */
int parse_function(struct parser *p, const char *word, struct statement *s);

/* What follows the colon of a gp. */
int parse_gp(struct parser *p, struct statement *s);

/* What follows the colon of terms. */
int parse_terms(struct parser *p, struct statement *s);

/* An expression of kids, which it takes, also when it fails: then NULL. */
struct expr *parse_joined(struct parser *p, enum expr_kind kind,
                          const struct token *at, size_t kids,
                          struct expr *const *kid);

/* What follows the word 'reaction'. */
int parse_reaction(struct parser *p, struct statement *s);

/* Says why the token cannot follow the expression before it. */
int parse_stray(struct parser *p);

/* Whether the comma is in a number such as 0,5; then it has complained. */
bool parse_decimal_comma(struct parser *p, const struct token *comma);

#endif
