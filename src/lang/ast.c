/* SPDX-License-Identifier: MIT */
/* Frees syntax trees, also half-built ones. */
#include "lang/ast.h"

#include "base/memory.h"

void expr_free(struct expr *e)
{
    if (!e) return;
    for (size_t i = 0; i < e->kids; i++)
        expr_free(e->kid[i]);
    mem_free(e->kid);
    mem_free(e->name);
    mem_free(e);
}

bool declares_name(enum statement_kind kind)
{
    return kind != EQUATION && kind != OBS && kind != INIT && kind != EVENT &&
           kind != REACTION && kind != PRIOR_LINE;
}

bool is_function_kind(enum statement_kind kind)
{
    return kind == NET || kind == GP || kind == TERMS_LINE || kind == EXTERNAL;
}

static void statement_clear(struct statement *s)
{
    mem_free(s->declared.name);
    mem_free(s->declared.category);
    expr_free(s->value);
    mem_free(s->index);
    expr_free(s->low);
    expr_free(s->high);
    for (size_t i = 0; i < s->arguments; i++)
        expr_free(s->argument[i]);
    mem_free(s->argument);
    mem_free(s->width);
    mem_free(s->activation);
    for (size_t i = 0; i < s->ends; i++)
        expr_free(s->box[i]);
    mem_free(s->box);
    mem_free(s->polynomial);
    for (size_t i = 0; i < s->terms; i++)
        expr_free(s->term[i]);
    mem_free(s->term);
    for (size_t i = 0; i < s->reactants; i++)
        mem_free(s->reactant[i].name);
    mem_free(s->reactant);
    mem_free(s->text);
}

void ast_free(struct ast *ast)
{
    if (!ast) return;
    for (size_t i = 0; i < ast->statements; i++)
        statement_clear(&ast->statement[i]);
    mem_free(ast->statement);
    mem_free(ast);
}
