/* SPDX-License-Identifier: MIT */
/* What follows the name of a function that is learned or given:
 *
 *     (args) -> outputs : widths... activation             net
 *     (args) -> outputs : grid ...                         gp
 *     (args) -> outputs : term, ...                        terms
 *     (args) -> outputs [: size... weights | parameters]   external
 */
#include "base/memory.h"
#include "lang/parse.h"

static int parse_signature(struct parser *p, const char *word,
                           struct statement *s)
{
    struct token open = p->token;
    struct list list = {0};
    if (!parse_take(p, '('))
        return refuse(p, parse_here(p),
                      "the arguments are missing; write '%s %.*s(x) -> 1%s'",
                      word, SHOWN, s->declared.name,
                      s->kind == EXTERNAL ? "" : " : ...");
    int status = parse_list(p, &open, &list);
    s->argument = list.item;
    s->arguments = list.count;
    if (status) return status;
    if (!s->arguments)
        return refuse(p, open.place,
                      "a %s has at least one argument; write '%.*s(x)'", word,
                      SHOWN, s->declared.name);
    if (!parse_take(p, ARROW))
        return refuse(p, parse_here(p),
                      "'->' is missing; write '%s %.*s(...) -> 1%s' with the "
                      "number of outputs",
                      word, SHOWN, s->declared.name,
                      s->kind == EXTERNAL ? "" : " : ...");
    status = parse_size(p, &s->outputs);
    s->to = (size_t)(p->before.text + p->before.length - p->source->text);
    return status;
}

/* Also before the activation of a net. */
static int parse_net(struct parser *p, struct statement *s)
{
    size_t capacity = 0;
    while (p->token.kind == TOKEN_NUMBER) {
        if (MEM_ROOM(s->width, s->widths, capacity)) return GSV_NO_MEMORY;
        int status = parse_size(p, &s->width[s->widths]);
        if (status) return status;
        s->widths++;
    }
    if (parse_at(p, ','))
        return refuse(p, p->token.place,
                      "widths are separated by blanks; write '32 32'");
    return parse_name(p, &s->activation, &s->activation_place);
}

/* 3 is a vector, [16,2] a matrix: two numbers of s->width. */
static int parse_tensor(struct parser *p, size_t *rows, size_t *columns)
{
    struct token open = p->token;
    *columns = 1;
    if (!parse_take(p, '[')) return parse_size(p, rows);
    int status = parse_size(p, rows);
    if (!status && parse_take(p, ',')) status = parse_size(p, columns);
    return status ? status : parse_close(p, &open);
}

static int parse_external(struct parser *p, struct statement *s)
{
    size_t capacity = 0;
    while (p->token.kind == TOKEN_NUMBER || parse_at(p, '[')) {
        size_t rows, columns;
        int status = parse_tensor(p, &rows, &columns);
        for (size_t i = 0; !status && i < 2; i++) {
            status = MEM_ROOM(s->width, s->widths, capacity);
            if (!status) s->width[s->widths++] = i ? columns : rows;
        }
        if (status) return status;
    }
    bool weights = parse_at_word(p, "weights");
    if (s->widths && (weights || (parse_at_word(p, "parameters") &&
                                  s->widths == 2 && s->width[1] == 1))) {
        s->weights = weights;
        parse_next(p);
        return 0;
    }
    return refuse(p, parse_here(p),
                  "write ': 3 parameters' with their number, or ': [16,1] 16 "
                  "weights' with the shapes of a network's arrays");
}

int parse_function(struct parser *p, const char *word, struct statement *s)
{
    static const struct {
        const char *hint;
        int (*rest)(struct parser *, struct statement *);
    } KIND[] = {
        [NET] = {"': 32 32 silu' with the widths of the layers, or ':' alone "
                 "for a linear net",
                 parse_net},
        [GP] = {"': grid 32 rbf' with the nodes of the grid and a kernel",
                parse_gp},
        [TERMS_LINE] = {"': poly 2', or ': 1, x, x*y' with a list of terms",
                        parse_terms},
        [EXTERNAL] = {NULL, parse_external},
    };
    int status = parse_signature(p, word, s);
    if (status) return status;
    if (parse_take(p, ':')) return KIND[s->kind].rest(p, s);
    if (!KIND[s->kind].hint) return 0; /* what follows may be left out */
    return refuse(p, parse_here(p), "':' is missing; write %s",
                  KIND[s->kind].hint);
}
