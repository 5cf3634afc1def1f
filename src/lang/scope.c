/* SPDX-License-Identifier: MIT */
/* Names: found, added, and guessed at when they are misspelt. */
#include "lang/scope.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

const struct symbol *scope_find(const struct builder *b, const char *name)
{
    for (size_t i = 0; i < b->symbols; i++)
        if (!strcmp(b->symbol[i].name, name)) return &b->symbol[i];
    return NULL;
}

bool noise_of(const char *name, size_t *k)
{
    if (strncmp(name, "dW", 2)) return false;
    *k = 0;
    if (!name[2]) return true;
    if (name[2] == '0' || strspn(name + 2, "0123456789") != strlen(name + 2) ||
        strlen(name) > 8)
        return false;
    *k = (size_t)strtoul(name + 2, NULL, 10);
    return true;
}

static const char *reserved(const char *name)
{
    size_t k;
    if (!strcmp(name, "t")) return "is time";
    if (!strcmp(name, "dt")) return "is the step of time";
    if (noise_of(name, &k)) return "is a noise";
    if (is_function(name)) return "is a function";
    return NULL;
}

int scope_check(const struct builder *b, const char *name, struct place place)
{
    const struct symbol *old = scope_find(b, name);
    if (old)
        return complain(b->source, place,
                        "'%s' is declared twice, here and on line %zu; "
                        "give one of them another name",
                        name, old->place.line);
    const char *why = reserved(name);
    if (why)
        return complain(b->source, place,
                        "'%s' %s and cannot be declared; "
                        "choose another name",
                        name, why);
    return 0;
}

int scope_add(struct builder *b, struct symbol symbol)
{
    int status = scope_check(b, symbol.name, symbol.place);
    if (status) return status;
    if (MEM_ROOM(b->symbol, b->symbols, b->capacity)) return GSV_NO_MEMORY;
    b->symbol[b->symbols++] = symbol;
    return 0;
}

int scope_declare(struct builder *b, const struct declared *d,
                  enum symbol_kind kind, node value)
{
    return scope_add(b, (struct symbol){.name = d->name,
                                        .kind = kind,
                                        .place = d->place,
                                        .value = value,
                                        .rank = d->rank});
}

const char *scope_hint(const struct builder *b, const char *name, char *room,
                       size_t size)
{
    const char **candidate = NEW(const char *, b->symbols + 2);
    room[0] = 0;
    if (!candidate) return room;
    for (size_t i = 0; i < b->symbols; i++)
        candidate[i] = b->symbol[i].name;
    candidate[b->symbols] = "dW";
    candidate[b->symbols + 1] = "dt";
    const char *near = gsv_suggestion(name, b->symbols + 2, candidate);
    if (near) snprintf(room, size, "; did you mean '%s'?", near);
    mem_free(candidate);
    return room;
}

static bool contains(const struct expr *tree, const struct expr *e)
{
    if (!tree || tree == e) return tree != NULL;
    for (size_t i = 0; i < tree->kids; i++)
        if (contains(tree->kid[i], e)) return true;
    return false;
}

static bool is_before(struct place a, struct place b)
{
    return a.line < b.line || (a.line == b.line && a.column < b.column);
}

/* A column of the data whose law an obs line gives. */
static const struct statement *find_obs(const struct builder *b,
                                        const char *name)
{
    for (size_t i = 0; i < b->ast->statements; i++)
        if (b->ast->statement[i].kind == OBS &&
            !strcmp(b->ast->statement[i].declared.name, name))
            return &b->ast->statement[i];
    return NULL;
}

int scope_unknown(const struct builder *b, const struct expr *e,
                  const char *what, const char *hint)
{
    char near[160];
    for (size_t i = 0; i < b->ast->statements; i++) {
        const struct statement *s = &b->ast->statement[i];
        if (!declares_name(s->kind) || strcmp(s->declared.name, e->name))
            continue;
        bool own = contains(s->value, e);
        for (size_t k = 0; k < s->arguments; k++)
            own = own || contains(s->argument[k], e);
        if (own)
            return complain(b->source, e->place,
                            "'%s' is used in its own definition", e->name);
        if (is_before(s->declared.place, e->place))
            return complain(b->source, e->place,
                            "'%s' cannot be used here: only numbers and "
                            "constants are allowed; declare it with 'const'",
                            e->name);
        return complain(b->source, e->place,
                        "'%s' is not declared yet: line %zu declares it; "
                        "move that line up",
                        e->name, s->declared.place.line);
    }
    const struct statement *obs = find_obs(b, e->name);
    if (obs)
        return complain(b->source, e->place,
                        "'%s' is a column that line %zu observes; expressions "
                        "are made of states, inputs and parameters",
                        e->name, obs->declared.place.line);
    scope_hint(b, e->name, near, sizeof near);
    return complain(b->source, e->place, "unknown %s '%s'%s", what, e->name,
                    *near ? near : hint);
}
