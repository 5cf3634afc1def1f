/* SPDX-License-Identifier: MIT */
/* A model's text as a tree: syntax only, names not yet looked up. */
#ifndef LANG_AST_H
#define LANG_AST_H

#include <stdbool.h>
#include <stddef.h>

/* Where something stands in the text: 1-based line and column (a column is a
 * byte), and its length in bytes on that line. */
struct place {
    size_t line, column, length;
};

/* The text of a model and the name it goes by in messages. Borrowed. */
struct source {
    const char *name;
    const char *text;
};

enum expr_kind {
    EXPR_NUMBER, /* number                                            */
    EXPR_NAME,   /* name                                              */
    EXPR_NEGATE, /* kid[0]                                            */
    EXPR_BINARY, /* op is one of + - * / ^ @, or a comparison's       */
                 /* symbol of lex.h; kid[0], kid[1]                   */
    EXPR_CALL,   /* name(kid...), flow(kid... : layers width)         */
    EXPR_INDEX,  /* kid[0] [ kid[1] ] or kid[0] [ kid[1], kid[2] ]    */
    EXPR_LIST,   /* [ kid... ]                                        */
    EXPR_RANGE,  /* kid[0] : kid[1] in an index; without kids the end */
    EXPR_EACH    /* sum(name in kid[0]:kid[1], kid[2])                */
};

/* No tree is higher than this, so that walking one may recurse. */
enum { AST_HEIGHT = 2000 };

struct expr {
    enum expr_kind kind;
    char op;
    unsigned short height; /* 1 for a leaf; at most AST_HEIGHT */
    char *name;
    double number;
    struct expr **kid;
    size_t kids;
    size_t layers, width; /* of a flow; 0 where none is written */
    struct place place;   /* of the name, number, operator or bracket */
};

/* A declared name with its shape: rank 0 scalar, 1 a[n], 2 a[n,m]. */
struct declared {
    char *name;
    struct place place;
    int rank;
    size_t rows, columns; /* 1 where the rank leaves them out */
    char *category;       /* of param k[series]: series; of prior k[a]: a;
                           * else NULL                                 */
    struct place category_place;
};

enum bound_kind { BOUND_NONE, BOUND_ABOVE, BOUND_BELOW, BOUND_BETWEEN };

enum statement_kind {
    STATE,      /* state NAME          | state NAME = map, map in value       */
    INPUT,      /* input NAME [hold]                                          */
    PARAM,      /* param NAME [lower] [= value] [> low | < high | in (l, h)]  */
    CONSTANT,   /* const NAME = value                                         */
    LET,        /* let NAME = value                                           */
    NET,        /* net NAME(args) -> outputs : widths... activation           */
    GP,         /* gp NAME(args) -> outputs : grid nodes... [over [a, b]...]  */
                /* kernel [+ polynomial] [map]                                */
    TERMS_LINE, /* terms NAME(args) -> outputs : poly n | fourier n period p  */
                /* | term, ... | [term, ...], ... for each output             */
    EXTERNAL,   /* external NAME(args) -> outputs [: size... weights |        */
                /* number parameters]                                         */
    EQUATION,   /* dNAME = value: name is that of the state                   */
    OBS,        /* obs NAME ~ value (a call)                                  */
    INIT,       /* init NAME ~ value (a call) [at time], time in low          */
    EVENT,      /* event NAME[k] += value                                     */
    PRIOR_LINE, /* prior NAME[k] ~ value (a call) */
    RANDOM,     /* random NAME[k] ~ value (a call)                            */
    REACTION    /* reaction parts -> parts : value; the name is ""            */
};

/* Of a reaction: how many of a state, or of its element from 1 on, are used up
 * or made. */
struct reactant {
    char *name;
    size_t element; /* 0 where none is written */
    size_t count;
    bool made;
    struct place place;
};

/* Whether such a statement declares its name; the others speak of one. */
bool declares_name(enum statement_kind kind);

/* Whether it declares a function, learned or given: NAME(args) -> outputs. */
bool is_function_kind(enum statement_kind kind);

/* One declared thing: `state x, y` is two statements. */
struct statement {
    enum statement_kind kind;
    struct declared declared;
    struct expr *value; /* NULL where there is none */

    char *index; /* of an equation dx[i] = ..., or NULL */
    struct place index_place;

    enum bound_kind bound;
    struct expr *low, *high;
    struct place bound_place;
    bool lower, hold;

    /* Of a net. */
    struct expr **argument;
    size_t arguments, outputs;
    size_t *width;
    size_t widths;
    char *activation; /* as written; "" when it was left out */
    struct place activation_place;

    /* Of a gp: its nodes are in width, its kernel in activation. */
    struct expr **box; /* (ends): low and high of each axis */
    size_t ends;
    char *polynomial; /* or NULL */
    struct place grid_place, polynomial_place;
    bool map;

    /* Of terms. poly n and fourier n period p are calls of these names. */
    struct expr **term;
    size_t terms, term_capacity;
    size_t from, to; /* bytes of the text from the first term to the last */

    /* Of an external: rows and columns of its arrays are in width, and `to` is
     * where they can be written. */
    bool weights;

    /* Of a reaction; the place of the statement is that of all parts. */
    struct reactant *reactant;
    size_t reactants, reactant_capacity;
    char *text; /* of the parts, as written */
};

struct ast {
    struct statement *statement;
    size_t statements, capacity;
};

/* Parses the text, or fails with a message (message.h). */
struct ast *ast_parse(const struct source *source);
void ast_free(struct ast *ast);
void expr_free(struct expr *expr);

/* Where the text of an expression is to stand, from what needs the fewest
 * brackets on: alone, before a '*', after a '*', before a '^'. */
enum text_place { TEXT_ALONE, TEXT_FIRST, TEXT_FACTOR, TEXT_BASE, TEXT_PLACES };

/* An expression as text again, without blanks: false where it does not fit. And
 * the shortest text of a number that is read as the same number. */
bool expr_text(const struct expr *e, enum text_place at, size_t size,
               char *text);
void number_text(double x, size_t size, char *text);

#endif
