/* SPDX-License-Identifier: MIT */
#include "model/levels.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "data/category.h"
#include "data/phrase.h"
#include "data/series.h"

/* --- Of data -------------------------------------------------------------- */

static int find_column(const gsv_series *s, const char *name, size_t *column)
{
    for (*column = 0; *column < s->columns; ++*column)
        if (!strcmp(s->name[*column], name)) return 0;
    return fail(GSV_BAD_INPUT, "%s has no column '%s', which the model needs",
                s->source, name);
}

static int add_label(struct words *w, const char *label)
{
    size_t n = strlen(label);
    return words_find(w, label, n) == WORDS_NONE ? words_add(w, label, n) : 0;
}

/* In the order in which they come. */
static int labels_of(const gsv_series *s, const char *name, struct words *w)
{
    size_t column;
    int status = 0;
    if (!strcmp(name, SERIES_NAME)) {
        for (size_t r = 0; !status && r < s->tracks; r++)
            status = add_label(w, s->label[r]);
        return status;
    }
    status = find_column(s, name, &column);
    double last = NAN;
    for (size_t i = 0; !status && i < s->rows; i++) {
        char room[NUMBER_TEXT];
        double x = s->value[column * s->rows + i];
        if (!isnan(x) && x != last)
            status = add_label(w, category_text(s, x, room));
        last = x;
        series_passed(s, i);
    }
    if (!status && !w->count)
        status = fail(GSV_BAD_INPUT, "%s: the column '%s' has no value",
                      s->source, name);
    return status;
}

/* A number by its value: the texts of one may differ. */
struct level {
    double code;
    size_t number;
};

static int compare(const void *a, const void *b)
{
    double x = ((const struct level *)a)->code;
    double y = ((const struct level *)b)->code;
    return (x > y) - (x < y);
}

static int unknown(const gsv_model *m, const gsv_series *s, const char *name,
                   const char *label, size_t levels)
{
    bool series = !strcmp(name, SERIES_NAME);
    return fail(
        GSV_BAD_INPUT,
        "%s: %s%s'%s' is none of the %zu that the %s has numbers for; leave "
        "it out, or fit the model's text to these data",
        s->source, series ? "series " : name, series ? "" : " ",
        phrase_name(label).text, levels, m->record ? "fit" : "model");
}

static int series_codes(const gsv_model *m, const gsv_series *s,
                        const struct category_spec *c, double *code)
{
    struct words w = {0};
    int status = 0;
    for (size_t i = 0; !status && i < c->levels; i++)
        status = words_add(&w, c->label[i], strlen(c->label[i]));
    for (size_t r = 0; !status && r < s->tracks; r++) {
        size_t at = words_find(&w, s->label[r], strlen(s->label[r]));
        if (at == WORDS_NONE)
            status = unknown(m, s, c->name, s->label[r], c->levels);
        for (size_t i = s->start[r]; i < s->start[r + 1]; i++)
            code[i] = (double)(at + 1);
    }
    words_free(&w);
    return status;
}

static int column_codes(const gsv_model *m, const gsv_series *s,
                        const struct category_spec *c, struct level *level,
                        double *code)
{
    size_t column;
    int status = find_column(s, c->name, &column);
    for (size_t i = 0; i < c->levels; i++)
        level[i] = (struct level){
            category_code(c->label[i], strlen(c->label[i])), i + 1};
    qsort(level, c->levels, sizeof *level, compare);
    for (size_t i = 0; !status && i < s->rows; i++) {
        const struct level x = {s->value[column * s->rows + i], 0};
        const struct level *at =
            isnan(x.code)
                ? NULL
                : bsearch(&x, level, c->levels, sizeof *level, compare);
        char room[NUMBER_TEXT];
        code[i] = at ? (double)at->number : NAN;
        if (!at && !isnan(x.code))
            status = unknown(m, s, c->name, category_text(s, x.code, room),
                             c->levels);
        series_passed(s, i);
    }
    return status;
}

int level_codes(const gsv_model *m, const gsv_series *s, size_t input,
                double *code)
{
    const struct category_spec *c = m->spec->category;
    while (c->input != input)
        c++;
    if (!strcmp(c->name, SERIES_NAME)) return series_codes(m, s, c, code);
    struct level *level = NEW(struct level, c->levels);
    struct plain_locale locale;
    plain_begin(&locale);
    int status =
        level ? column_codes(m, s, c, level, code) : (int)GSV_NO_MEMORY;
    plain_end(&locale);
    mem_free(level);
    return status;
}

static void decode_column(const struct category_spec *c, size_t rows,
                          double *value)
{
    for (size_t i = 0; i < rows; i++) {
        double k = value[i];
        if (!(k >= 1.0 && k <= (double)c->levels)) continue;
        const char *label = c->label[(size_t)k - 1];
        value[i] = category_code(label, strlen(label));
    }
}

int levels_decode(const gsv_model *m, gsv_series *s)
{
    struct words w = {0};
    struct plain_locale locale;
    int status = 0;
    plain_begin(&locale);
    for (size_t i = 0; i < m->spec->categories; i++) {
        const struct category_spec *c = &m->spec->category[i];
        for (size_t k = 0; k < s->columns; k++) {
            if (strcmp(s->name[k], c->name)) continue;
            decode_column(c, s->rows, s->value + k * s->rows);
            for (size_t l = 0; !status && l < c->levels; l++)
                status = category_add(&w, c->label[l], strlen(c->label[l]));
        }
    }
    plain_end(&locale);
    if (!status)
        status = gsv_series_words(s, w.count, (const char *const *)w.text);
    words_free(&w);
    return status;
}

/* --- Of a model ----------------------------------------------------------- */

int levels_check(const gsv_model *m)
{
    if (spec_is_bound(m->spec)) return 0;
    return fail(GSV_BAD_INPUT,
                "the model has one number for each %s of the data; call "
                "gsv_model_bind() with them first",
                m->spec->category[0].name);
}

void levels_free(size_t n, struct category_spec *level)
{
    for (size_t i = 0; level && i < n; i++) {
        for (size_t k = 0; k < level[i].levels; k++)
            mem_free(level[i].label[k]);
        MEM_FREE(level[i].name, level[i].label);
    }
    mem_free(level);
}

static int take_labels(struct category_spec *c, const char *name,
                       struct words *w)
{
    c->levels = w->count;
    c->label = words_take(w);
    c->name = mem_string(name);
    return c->name && c->label ? 0 : GSV_NO_MEMORY;
}

static void copy_values(const gsv_model *from, gsv_model *to)
{
    for (size_t i = 0; i < from->spec->params; i++) {
        const struct param_spec *a = &from->spec->param[i];
        const struct param_spec *b = &to->spec->param[i];
        for (size_t k = 0; k < b->rows * b->columns; k++)
            to->value[b->offset + k] =
                from->value[a->offset + (a->category ? 0 : k)];
    }
}

/* The model again, with as many numbers as there are levels. */
static int make_again(gsv_model *m, size_t n, const struct category_spec *level)
{
    gsv_model *made = model_parse(m->text, m->spec->source_name, n, level);
    if (!made) return (int)gsv_last_status();
    copy_values(m, made);
    externals_copy(m->spec, made->spec);
    gsv_model old = *m;
    *m = *made;
    *made = old;
    gsv_model_free(made);
    return 0;
}

enum gsv_status gsv_model_bind(gsv_model *m, const gsv_series *s)
{
    if (ANY_NULL(m, s) || series_check(s)) return GSV_BAD_INPUT;
    if (spec_is_bound(m->spec)) return GSV_OK;
    size_t n = m->spec->categories;
    struct category_spec *level = NEW(struct category_spec, n);
    struct plain_locale locale;
    int status = level ? 0 : GSV_NO_MEMORY;
    plain_begin(&locale);
    for (size_t i = 0; !status && i < n; i++) {
        struct words w = {0};
        const char *name = m->spec->category[i].name;
        status = labels_of(s, name, &w);
        if (!status) status = take_labels(&level[i], name, &w);
        words_free(&w);
    }
    plain_end(&locale);
    if (!status) status = make_again(m, n, level);
    levels_free(n, level);
    return status;
}

bool gsv_model_is_category(const gsv_model *m, const char *name)
{
    return !ANY_NULL(m, name) &&
           spec_category(m->spec, name) < m->spec->categories;
}

size_t gsv_model_levels(const gsv_model *m, const char *category,
                        const char *const **label)
{
    if (ANY_NULL(m, category)) return 0;
    size_t i = spec_category(m->spec, category);
    if (i == m->spec->categories) return 0;
    if (label) *label = (const char *const *)m->spec->category[i].label;
    return m->spec->category[i].levels;
}

/* --- Data for a model ----------------------------------------------------- */

static gsv_series *read_columns(const gsv_model *m, gsv_ranks *ranks,
                                struct series_request wanted)
{
    bool *category = NEW(bool, wanted.columns);
    if (!category) return NULL;
    for (size_t i = 0; i < wanted.columns; i++)
        category[i] =
            spec_category(m->spec, wanted.name[i]) < m->spec->categories;
    wanted.category = category;
    gsv_series *s = series_read_shared(ranks, wanted);
    mem_free(category);
    return s;
}

gsv_series *gsv_series_read_for(const gsv_model *m, gsv_ranks *ranks,
                                const char *path, const char *time,
                                const char *series)
{
    if (ANY_NULL(m, path)) return NULL;
    return read_columns(m, ranks,
                        (struct series_request){.path = path,
                                                .time = time,
                                                .series = series,
                                                .columns = m->data_columns,
                                                .name = m->data});
}

gsv_series *gsv_series_read_inputs(const gsv_model *m, const char *path)
{
    if (ANY_NULL(m, path)) return NULL;
    const struct spec *spec = m->spec;
    size_t n = 0, given = gsv_model_given(m, 0, NULL);
    const char **name = NEW(const char *, spec->inputs + given + 1);
    if (!name) return NULL;
    for (size_t i = 0; i < spec->inputs; i++)
        if (strcmp(spec->input[i].name, SERIES_NAME))
            name[n++] = spec->input[i].name;
    n += gsv_model_given(m, given, name + n);
    gsv_series *s =
        n ? read_columns(m, NULL,
                         (struct series_request){
                             .path = path, .columns = n, .name = name})
          : fail_null(GSV_BAD_INPUT, "%s: the model has no inputs", path);
    mem_free(name);
    return s;
}

/* --- In a fit ------------------------------------------------------------- */

int levels_write(const gsv_model *m, struct tensors *t)
{
    const struct spec *s = m->spec;
    if (!s->categories || !spec_is_bound(s)) return 0;
    json_t *all = json_object();
    int lost = 0;
    for (size_t i = 0; i < s->categories; i++) {
        json_t *list = json_array();
        for (size_t k = 0; k < s->category[i].levels; k++)
            lost |= json_array_append_new(list,
                                          json_string(s->category[i].label[k]));
        lost |= json_object_set_new(all, s->category[i].name, list);
    }
    char *text = lost ? NULL : json_dumps(all, 0);
    json_decref(all);
    int status = text ? tensors_note(t, "levels", text)
                      : fail(GSV_BAD_INPUT,
                             "labels of series and categories must be UTF-8");
    free(text);
    return status;
}

static int read_labels(const json_t *list, struct category_spec *c)
{
    size_t n = json_array_size(list);
    c->label = NEW(char *, n);
    for (; c->label && c->levels < n; c->levels++) {
        const char *text = json_string_value(json_array_get(list, c->levels));
        c->label[c->levels] = text ? mem_string(text) : NULL;
        if (!c->label[c->levels]) break;
    }
    return c->label && c->levels == n && n ? 0 : GSV_NO_MEMORY;
}

int levels_read(const struct tensors *t, const char *path, size_t *n,
                struct category_spec **level)
{
    const char *text = tensors_text(t, "levels"), *name;
    json_t *all = text ? json_loads(text, 0, NULL) : NULL, *list;
    *n = 0;
    *level = NULL;
    if (!text) return 0;
    *level = NEW(struct category_spec, json_object_size(all));
    int status = *level ? 0 : GSV_NO_MEMORY;
    json_object_foreach(all, name, list)
    {
        if (status) break;
        struct category_spec *c = &(*level)[(*n)++];
        c->name = mem_string(name);
        status = c->name ? read_labels(list, c) : (int)GSV_NO_MEMORY;
    }
    json_decref(all);
    if (!status && *n) return 0;
    levels_free(*n, *level);
    *level = NULL;
    return fail(GSV_BAD_INPUT, "%s is damaged: it has no labels of levels",
                path);
}
