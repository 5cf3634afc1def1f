/* SPDX-License-Identifier: MIT */
/* The random effects of a fit's series: a table, a CSV file, JSON. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* Standard errors from the estimate to the ends of a 95 % interval. */
static const double WIDE = 1.959963984540054;

/* The name of effect i of a track. */
static const char *effect_name(const gsv_model *m, size_t i,
                               char room[NAME_ROOM])
{
    for (size_t k = 0; k < gsv_model_params(m); k++) {
        gsv_param p = gsv_model_param(m, k);
        if (!p.effect) continue;
        if (i < p.rows) {
            struct number n = {.param = p, .j = i};
            return number_name(&n, room);
        }
        i -= p.rows;
    }
    return "";
}

struct effect effect_of(const gsv_record *r, size_t track, size_t i)
{
    size_t at = track * r->effects + i, all = r->tracks * r->effects;
    double estimate = r->effect[GSV_EFFECT_ESTIMATE * all + at];
    double error = r->effect[GSV_EFFECT_ERROR * all + at];
    return (struct effect){.estimate = estimate,
                           .error = error,
                           .low = estimate - WIDE * error,
                           .high = estimate + WIDE * error};
}

int effects_write(const gsv_model *m, const char *path)
{
    const gsv_record *r = gsv_model_record(m);
    struct draft draft;
    char name[NAME_ROOM];
    int code = draft_open(&draft, path);
    if (code) return code;
    fputs("series,effect,estimate,stderr,low,high\n", draft.out);
    for (size_t t = 0; t < r->tracks; t++)
        for (size_t i = 0; i < r->effects; i++) {
            struct effect e = effect_of(r, t, i);
            put_text(r->subject[t], draft.out);
            putc(',', draft.out);
            put_text(effect_name(m, i, name), draft.out);
            put_cell(e.estimate, draft.out);
            put_cell(e.error, draft.out);
            put_cell(e.low, draft.out);
            put_cell(e.high, draft.out);
            putc('\n', draft.out);
        }
    return draft_close(&draft, true);
}

int effects_check(const gsv_model *m)
{
    const gsv_record *r = gsv_model_record(m);
    if (!gsv_model_effects(m))
        return complain(EXIT_INPUT,
                        "--effects: the model has no random effects; declare "
                        "them with 'random u ~ normal(m, s)'");
    if (r && !r->effect)
        return complain(EXIT_INPUT,
                        "--effects: the fit was stopped before its random "
                        "effects were estimated; fit again, starting from it");
    return 0;
}

void print_effects(const gsv_model *m, const gsv_record *r)
{
    char name[NAME_ROOM];
    say(stdout, "\n%-16s %-8s %14s %14s %29s\n", "series", "effect", "estimate",
        "standard error", "95 % interval");
    for (size_t t = 0; t < r->tracks; t++)
        for (size_t i = 0; i < r->effects; i++) {
            struct effect e = effect_of(r, t, i);
            say(stdout, "%-16s %-8s %14.6g %14.3g %14.6g %14.6g\n",
                r->subject[t], effect_name(m, i, name), e.estimate, e.error,
                e.low, e.high);
        }
}

json_t *effects_json(const gsv_model *m, const gsv_record *r)
{
    json_t *all = json_array();
    char name[NAME_ROOM];
    for (size_t t = 0; t < r->tracks; t++)
        for (size_t i = 0; i < r->effects; i++) {
            struct effect e = effect_of(r, t, i);
            json_t *j = json_object();
            json_object_set_new(j, "series", json_text(r->subject[t]));
            add_text(j, "effect", effect_name(m, i, name));
            add_number(j, "estimate", e.estimate);
            add_number(j, "stderr", e.error);
            add_number(j, "low", e.low);
            add_number(j, "high", e.high);
            json_array_append_new(all, j);
        }
    return all;
}
