/* SPDX-License-Identifier: MIT */
/* The single numbers of a model: their names, and finding one by name. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static bool is_network(const gsv_param *p)
{
    return p->weight || p->scale || (p->gp && p->rank == 2);
}

/* Above the diagonal of a triangular matrix there are zeros. */
static bool is_absent(const gsv_param *p, size_t j)
{
    return p->lower && j % p->columns > j / p->columns;
}

static struct number *list_numbers(const gsv_model *m, bool all, size_t *count)
{
    size_t n = 0;
    struct number *list = malloc((gsv_model_values(m) + 1) * sizeof *list);
    *count = 0;
    if (!list) {
        complain_memory();
        return NULL;
    }
    for (size_t i = 0; i < gsv_model_params(m); i++) {
        gsv_param p = gsv_model_param(m, i);
        if (all ? p.scale : is_network(&p)) continue;
        bool noise = gsv_model_is_noise(m, i);
        for (size_t j = 0; j < p.rows * p.columns; j++)
            if (!is_absent(&p, j))
                list[n++] = (struct number){p, j, p.offset + j, noise};
    }
    *count = n;
    return list;
}

struct number *model_numbers(const gsv_model *m, size_t *count)
{
    return list_numbers(m, false, count);
}

struct number *learned_numbers(const gsv_model *m, size_t *count)
{
    return list_numbers(m, true, count);
}

size_t count_weights(const gsv_model *m, bool gp)
{
    size_t n = 0;
    for (size_t i = 0; i < gsv_model_params(m); i++) {
        gsv_param p = gsv_model_param(m, i);
        if (gp ? p.gp && p.rank == 2 : p.weight) n += p.rows * p.columns;
    }
    return n;
}

const char *number_name(const struct number *n, char room[NAME_ROOM])
{
    const gsv_param *p = &n->param;
    if (p->rank == 0) snprintf(room, NAME_ROOM, "%s", p->name);
    else if (p->label)
        snprintf(room, NAME_ROOM, "%s[%.60s]", p->name, p->label[n->j]);
    else if (p->rank == 1)
        snprintf(room, NAME_ROOM, "%s[%zu]", p->name, n->j + 1);
    else
        snprintf(room, NAME_ROOM, "%s[%zu,%zu]", p->name, n->j / p->columns + 1,
                 n->j % p->columns + 1);
    return room;
}

int numbers_width(const struct number *list, size_t count)
{
    char name[NAME_ROOM];
    int width = 16;
    for (size_t i = 0; i < count; i++) {
        int own = (int)strlen(number_name(&list[i], name));
        if (own > width && own <= 32) width = own;
    }
    return width;
}

/* The element "[2]" or "[1,2]"; false if there is none. */
static bool read_index(const gsv_param *p, const char *text, size_t *j)
{
    size_t row = 0, column = 1;
    int used = 0;
    if (p->rank == 0 || *text != '[') {
        *j = 0;
        return p->rank == 0 && !*text;
    }
    int found = p->rank == 1
                    ? sscanf(text, "[%zu ]%n", &row, &used)
                    : sscanf(text, "[%zu ,%zu ]%n", &row, &column, &used);
    *j = (row - 1) * p->columns + column - 1;
    return found == p->rank && used && !text[used] && row - 1 < p->rows &&
           column - 1 < p->columns && !is_absent(p, *j);
}

static int no_such_parameter(const gsv_model *m, const char *option,
                             const char *name)
{
    size_t n = gsv_model_params(m);
    const char **known = malloc((n + 1) * sizeof *known);
    if (!known) return complain_memory();
    for (size_t i = 0; i < n; i++)
        known[i] = gsv_model_param(m, i).name;
    const char *best = gsv_suggestion(name, n, known);
    free(known);
    if (best)
        return complain(EXIT_INPUT,
                        "%s: there is no parameter '%s'; did you mean '%s'?",
                        option, name, best);
    return complain(EXIT_INPUT,
                    "%s: there is no parameter '%s'; 'girsanov check' lists "
                    "the parameters",
                    option, name);
}

int find_number(const gsv_model *m, const char *option, const char *name,
                struct number *found)
{
    size_t length = strcspn(name, "[");
    for (size_t i = 0; i < gsv_model_params(m); i++) {
        gsv_param p = gsv_model_param(m, i);
        if (p.term && !strcmp(p.name, name)) length = strlen(name);
        if (strlen(p.name) != length || strncmp(p.name, name, length)) continue;
        *found = (struct number){p, 0, 0, gsv_model_is_noise(m, i)};
        if (!read_index(&p, name + length, &found->j)) {
            char example[NAME_ROOM];
            found->j = 0;
            return complain(EXIT_INPUT,
                            "%s: '%s' is not a single number of '%s'; write %s",
                            option, name, p.name, number_name(found, example));
        }
        found->at = p.offset + found->j;
        return 0;
    }
    return no_such_parameter(m, option, name);
}
