/* SPDX-License-Identifier: MIT */
#include "learn/twin.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "model/model.h"

void twin_free(struct twin *t)
{
    gsv_model_free(t->m);
    gsv_series_free(t->s);
    *t = (struct twin){0};
}

/* The text without obs and init. Yours; NULL without memory. */
static char *text_without(const char *text)
{
    char *twin = NEW(char, strlen(text) + 1), *to = twin;
    while (twin && *text) {
        size_t n = strcspn(text, "\n"), blank = strspn(text, " \t");
        const char *word = text + blank;
        bool drop = !strncmp(word, "obs ", 4) || !strncmp(word, "init ", 5);
        n += text[n] == '\n';
        if (!drop) {
            memcpy(to, text, n);
            to += n;
        }
        text += n;
    }
    return twin;
}

static int parse(struct twin *t, const gsv_model *m)
{
    char *text = text_without(m->text);
    if (!text) return GSV_NO_MEMORY;
    t->m = gsv_model_parse(text, "start");
    mem_free(text);
    if (!t->m) return gsv_last_status() == GSV_NO_MEMORY ? GSV_NO_MEMORY : 0;
    externals_copy(m->spec, t->m->spec);
    if (t->m->spec->parameters != m->spec->parameters ||
        spec_is_latent(t->m->spec))
        twin_free(t);
    else memcpy(t->m->value, m->value, m->spec->parameters * sizeof *m->value);
    return 0;
}

/* --- Data ----------------------------------------------------------------- */

/* Columns of the data, without those of the states' names: (columns), yours. */
static const char **name_columns(const gsv_model *m, const gsv_series *s,
                                 size_t *from, size_t *columns)
{
    size_t d = m->spec->dim;
    const char **name = NEW(const char *, d + s->columns);
    if (!name) return NULL;
    for (size_t i = 0; i < d; i++)
        name[i] = m->spec->column[i];
    *columns = d;
    for (size_t c = 0; c < s->columns; c++) {
        bool taken = false;
        for (size_t i = 0; i < d; i++)
            taken = taken || !strcmp(s->name[c], name[i]);
        if (taken) continue;
        from[*columns] = c;
        name[(*columns)++] = s->name[c];
    }
    return name;
}

/* Where copies are put: series after series, all of a copy together. */
struct copies {
    size_t count, rows, columns;
    size_t *start; /* (count tracks + 1)        */
    double *time;  /* (count rows)              */
    double *value; /* (columns, count rows)     */
};

static void put_copy(const struct copies *z, size_t copy, size_t dim,
                     const gsv_series *s, const size_t *from,
                     const double *state)
{
    size_t first = copy * z->rows;
    for (size_t r = 0; r <= s->tracks; r++)
        z->start[copy * s->tracks + r] = first + s->start[r];
    memcpy(z->time + first, s->time, z->rows * sizeof *z->time);
    for (size_t c = 0; c < z->columns; c++)
        memcpy(z->value + c * z->count * z->rows + first,
               c < dim ? state + (copy * dim + c) * z->rows
                       : s->value + from[c] * z->rows,
               z->rows * sizeof *z->value);
}

static int fill(struct twin *t, const gsv_series *s, size_t copies,
                const double *state)
{
    size_t dim = t->m->spec->dim;
    struct copies z = {.count = copies, .rows = s->rows};
    size_t *from = NEW(size_t, dim + s->columns);
    const char **name = from ? name_columns(t->m, s, from, &z.columns) : NULL;
    z.start = NEW(size_t, copies * s->tracks + 1);
    z.time = NEW(double, copies * s->rows);
    z.value = NEW(double, z.columns *copies * s->rows);
    if (name && z.start && z.time && z.value) {
        for (size_t i = 0; i < copies; i++)
            put_copy(&z, i, dim, s, from, state);
        t->s = gsv_series_new(copies * s->tracks, z.start, z.columns, name,
                              z.time, z.value);
    }
    MEM_FREE(from, name, z.start, z.time, z.value);
    if (t->s) return 0;
    twin_free(t);
    return gsv_last_status() == GSV_NO_MEMORY ? GSV_NO_MEMORY : 0;
}

int twin_init(struct twin *t, const gsv_model *m, const gsv_series *s,
              size_t copies, const double *state)
{
    *t = (struct twin){0};
    if (!m->text) return 0;
    int status = parse(t, m);
    return status || !t->m ? status : fill(t, s, copies, state);
}

/* --- States that are drawn ------------------------------------------------ */

enum { DRAWS = 8 };

/* The rows of the data among those of the result: both are in order. */
static void place_draws(const gsv_series *s, const gsv_smoothed *p,
                        double *state)
{
    size_t n = p->draws * p->dim;
    for (size_t i = 0; i < n * s->rows; i++)
        state[i] = NAN;
    for (size_t track = 0, k = 0; track < s->tracks; track++)
        for (size_t r = s->start[track]; r < s->start[track + 1]; r++) {
            while (k < p->rows &&
                   (p->track[k] < track ||
                    (p->track[k] == track && p->time[k] < s->time[r])))
                k++;
            if (k == p->rows || p->track[k] != track ||
                p->time[k] != s->time[r])
                continue;
            for (size_t i = 0; i < n; i++)
                state[i * s->rows + r] = p->draw[i * p->rows + k];
        }
}

int twin_draw(struct twin *t, const gsv_model *m, const gsv_model *from,
              const gsv_series *s, const gsv_options *o)
{
    gsv_paths_options p = gsv_paths_options_default();
    gsv_smoothed drawn = {0};
    double *state = NEW(double, DRAWS * m->spec->dim * s->rows);
    *t = (struct twin){0};
    if (!state) return GSV_NO_MEMORY;
    p.estimator = *o;
    p.between = 0;
    p.draws = DRAWS;
    int status = gsv_paths(from, s, &p, &drawn);
    if (!status && drawn.draw) {
        place_draws(s, &drawn, state);
        status = twin_init(t, m, s, DRAWS, state);
    }
    gsv_smoothed_free(&drawn);
    mem_free(state);
    bool ends = status == GSV_NO_MEMORY || status == GSV_STOPPED;
    return ends ? status : 0;
}
