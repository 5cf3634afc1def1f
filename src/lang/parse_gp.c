/* SPDX-License-Identifier: MIT */
/* What follows the colon of a gp:
 *
 *     grid 32 32 over [-3, 3] [-3, 3] rbf + linear map
 *
 * The names of kernels and polynomials are looked up later, in gp.c. */
#include "base/memory.h"
#include "lang/parse.h"

/* The first number must be there: grid 32 32 */
static int parse_nodes(struct parser *p, struct statement *s)
{
    size_t capacity = 0;
    s->grid_place = p->token.place;
    if (!parse_at_word(p, "grid"))
        return refuse(p, parse_here(p),
                      "'grid' is missing; write ': grid 32 rbf' with the nodes "
                      "along each argument, or one number for all");
    parse_next(p);
    do {
        if (MEM_ROOM(s->width, s->widths, capacity)) return GSV_NO_MEMORY;
        int status = parse_size(p, &s->width[s->widths]);
        if (status) return status;
        s->widths++;
    } while (p->token.kind == TOKEN_NUMBER);
    if (parse_at(p, ','))
        return refuse(p, p->token.place,
                      "nodes are separated by blanks; write 'grid 32 32'");
    return 0;
}

/* [a, b], once for each argument; all ends go to one list. */
static int parse_box(struct parser *p, struct statement *s, size_t *capacity)
{
    struct token open = p->token;
    struct list list = {0};
    if (!parse_take(p, '['))
        return refuse(p, parse_here(p),
                      "an interval is missing; write 'over [-3, 3]', with one "
                      "for each argument or one for all");
    int status = parse_list(p, &open, &list);
    for (size_t i = 0; !status && list.count == 2 && i < 2; i++) {
        status = MEM_ROOM(s->box, s->ends, *capacity);
        if (status) break;
        s->box[s->ends++] = list.item[i];
        list.item[i] = NULL;
    }
    bool pair = list.count == 2;
    list_free(&list);
    if (status || pair) return status;
    return refuse(p, open.place, "an interval has two ends; write '[-3, 3]'");
}

static int parse_over(struct parser *p, struct statement *s)
{
    size_t capacity = 0;
    if (!parse_at_word(p, "over")) return 0;
    parse_next(p);
    do {
        int status = parse_box(p, s, &capacity);
        if (status) return status;
    } while (parse_at(p, '['));
    return 0;
}

int parse_gp(struct parser *p, struct statement *s)
{
    int status = parse_nodes(p, s);
    if (!status) status = parse_over(p, s);
    if (status) return status;
    if (p->token.kind != TOKEN_NAME)
        return refuse(p, parse_here(p),
                      "the kernel is missing; write rbf, matern32 or matern52");
    status = parse_name(p, &s->activation, &s->activation_place);
    if (!status && parse_take(p, '+')) {
        if (p->token.kind != TOKEN_NAME)
            return refuse(p, parse_here(p),
                          "after '+' a polynomial is expected; write linear, "
                          "quadratic or cubic");
        status = parse_name(p, &s->polynomial, &s->polynomial_place);
    }
    if (status || !parse_at_word(p, "map")) return status;
    s->map = true;
    parse_next(p);
    return 0;
}
