/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

char *samples_path(const char *asked, const char *fit)
{
    static const char END[] = ".draws.csv";
    const char *slash = strrchr(fit, '/'), *name = slash ? slash + 1 : fit;
    const char *dot = strrchr(name, '.');
    size_t stem = dot && dot > name ? (size_t)(dot - fit) : strlen(fit);
    char *path = asked ? strdup(asked) : malloc(stem + sizeof END);
    if (!path) complain_memory();
    else if (!asked) sprintf(path, "%.*s%s", (int)stem, fit, END);
    return path;
}

/* The names of the numbers of a draw, found by their index. */
static int put_header(const gsv_model *m, const gsv_draws *d, FILE *out)
{
    size_t count;
    char name[NAME_ROOM];
    struct number *list = model_numbers(m, &count);
    if (!list) return EXIT_NUMBERS;
    fputs(".chain,.iteration,.draw,lp__", out);
    for (size_t i = 0; i < d->numbers; i++)
        for (size_t j = 0; j < count; j++) {
            if (list[j].at != d->place[i]) continue;
            putc(',', out);
            put_text(number_name(&list[j], name), out);
        }
    putc('\n', out);
    free(list);
    return 0;
}

static void put_draws(const gsv_draws *d, FILE *out)
{
    size_t all = d->chains * d->draws;
    for (size_t i = 0; i < all; i++) {
        fprintf(out, "%zu,%zu,%zu,", i / d->draws + 1, i % d->draws + 1, i + 1);
        put_number(d->lp[i], out);
        for (size_t k = 0; k < d->numbers; k++)
            put_cell(d->value[k * all + i], out);
        putc('\n', out);
    }
}

int samples_write(const gsv_model *m, const char *path)
{
    const gsv_draws *d = gsv_model_draws(m);
    struct draft draft;
    int code = draft_open(&draft, path);
    if (code) return code;
    code = put_header(m, d, draft.out);
    if (!code) put_draws(d, draft.out);
    int closed = draft_close(&draft, !code);
    return code ? code : closed;
}
