/* SPDX-License-Identifier: MIT */
/* A model's text as tokens, one at a time. A lexer is a plain value: a copy of
 * it looks ahead. It owns nothing and cannot fail; text that is no token is
 * returned as TOKEN_BAD, and lex_complain() says why. */
#ifndef LANG_LEX_H
#define LANG_LEX_H

#include "lang/ast.h"

enum token_kind {
    TOKEN_END,    /* of the text                                     */
    TOKEN_LINE,   /* the end of a line outside ( ) and [ ]           */
    TOKEN_NAME,   /* letters, digits, underscores                    */
    TOKEN_NUMBER, /* number                                          */
    TOKEN_SYMBOL, /* symbol: one of ( ) [ ] + - * / ^ @ = , : ~ < >,
                   * or one of those below                           */
    TOKEN_BAD     /* no token at all                                 */
};

/* The symbols of '->', '>=', '<=' and '+=', which have two characters. */
enum { ARROW = '!', AT_LEAST = 'g', AT_MOST = 'l', ADDED = 'a' };

struct token {
    enum token_kind kind;
    char symbol;
    double number;
    const char *text; /* borrowed from the source; length bytes */
    size_t length;
    struct place place;
};

struct lexer {
    const char *at, *line_start;
    size_t line;
    size_t depth; /* of brackets: inside them a line break is a blank */
};

struct lexer lex_start(const struct source *source);

/* The next token. Numbers are read by strtod(): the caller must set the
 * thread's locale to "C". */
struct token lex_next(struct lexer *lexer);

/* Says what is wrong with a TOKEN_BAD, and what would be right. */
int lex_complain(const struct source *source, const struct token *bad);

bool lex_is_name(char c);

#endif
