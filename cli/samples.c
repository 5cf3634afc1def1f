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

/* Of a series' random effect: b[A], or u[1,A]. */
static void put_effect(const gsv_model *m, const char *label, size_t i,
                       FILE *out)
{
    char name[NAME_ROOM], whole[2 * NAME_ROOM];
    effect_label(m, i, name);
    char *end = strchr(name, ']');
    if (end) *end = 0;
    snprintf(whole, sizeof whole, "%s%s%.*s]", name, end ? "," : "[",
             (int)NAME_ROOM - 3, label);
    putc(',', out);
    put_text(whole, out);
}

/* The random effects of all series, where these have labels. */
static size_t effects_of(const gsv_model *m, const gsv_draws *d)
{
    return gsv_model_record(m)->subject ? d->tracks * d->effects : 0;
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
    const gsv_record *r = gsv_model_record(m);
    for (size_t i = 0; i < effects_of(m, d); i++)
        put_effect(m, r->subject[i / d->effects], i % d->effects, out);
    putc('\n', out);
    free(list);
    return 0;
}

static void put_draws(const gsv_model *m, const gsv_draws *d, FILE *out)
{
    size_t all = d->chains * d->draws;
    for (size_t i = 0; i < all; i++) {
        fprintf(out, "%zu,%zu,%zu,", i / d->draws + 1, i % d->draws + 1, i + 1);
        put_number(d->lp[i], out);
        for (size_t k = 0; k < d->numbers; k++)
            put_cell(d->value[k * all + i], out);
        for (size_t k = 0; k < effects_of(m, d); k++)
            put_cell(d->effect[k * all + i], out);
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
    if (!code) put_draws(m, d, draft.out);
    int closed = draft_close(&draft, !code);
    return code ? code : closed;
}
