/* SPDX-License-Identifier: MIT */
/* girsanov look: what data show, and models to start from. */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* my.sde, my-2.sde, my-3.sde; yours. */
static char *file_name(const char *path, size_t i)
{
    size_t n = strlen(path), stem = n;
    char *name = malloc(n + 40);
    if (n > 4 && !strcmp(path + n - 4, ".sde")) stem = n - 4;
    if (!name) complain_memory();
    else if (!i) snprintf(name, n + 40, "%s", path);
    else
        snprintf(name, n + 40, "%.*s-%zu%s", (int)stem, path, i + 1,
                 path + stem);
    return name;
}

static int write_model(const struct args *a, const gsv_look_result *r, size_t i)
{
    struct draft d;
    char *name = file_name(a->output, i);
    if (!name) return EXIT_NUMBERS;
    int code = same_file(name, a->model)
                   ? complain(EXIT_INPUT,
                              "-o %s would overwrite the data; give another "
                              "name",
                              a->output)
                   : draft_open(&d, name);
    if (!code) {
        fputs(r->model[i], d.out);
        code = draft_close(&d, true);
    }
    if (!code && !a->quiet)
        say(stderr, "wrote %s: girsanov fit %s %s -o my.fit\n", name, name,
            a->model);
    free(name);
    return code;
}

/* Line by line: names of columns may have any character. */
static void print_lines(const char *text)
{
    for (size_t n; *text; text += n + (text[n] == '\n')) {
        n = strcspn(text, "\n");
        say(stdout, "%.*s\n", (int)n, text);
    }
}

static void print_models(const gsv_look_result *r)
{
    for (size_t i = 0; i < r->models; i++) {
        say(stdout, "\nmodel %zu\n", i + 1);
        print_lines(r->model[i]);
    }
}

/* --- JSON ----------------------------------------------------------------- */

#define FIELD(name, kind, field)                                               \
    {                                                                          \
        name, FIELD_##kind, offsetof(gsv_look_column, field)                   \
    }
static const struct json_field COLUMN[] = {
    FIELD("name", TEXT, name),
    FIELD("rows", COUNT, rows),
    FIELD("missing", COUNT, missing),
    FIELD("constant", BOOL, flat),
    FIELD("low", NUMBER, low),
    FIELD("high", NUMBER, high),
    FIELD("mean", NUMBER, mean),
    FIELD("sd", NUMBER, sd),
    FIELD("correlation", NUMBER, correlation),
    FIELD("reversal", NUMBER, reversal),
    FIELD("noise_slope", NUMBER, noise_slope),
    FIELD("shift", NUMBER, shift),
    FIELD("jumps", COUNT, jumps),
};
#undef FIELD
#define FIELD(name, kind, field)                                               \
    {                                                                          \
        name, FIELD_##kind, offsetof(gsv_look_result, field)                   \
    }
static const struct json_field ALL[] = {
    FIELD("tracks", COUNT, tracks),
    FIELD("rows", COUNT, rows),
    FIELD("gap", NUMBER, gap),
    FIELD("gap_shortest", NUMBER, shortest),
    FIELD("gap_longest", NUMBER, longest),
};
#undef FIELD

static json_t *column_json(const gsv_look_column *c)
{
    json_t *j = json_fields(c, sizeof COLUMN / sizeof *COLUMN, COLUMN);
    add_number(j, "period", c->power > 10.0 ? c->period : NAN);
    if (c->kind) add_text(j, "kind", c->kind);
    return j;
}

static int print_look_json(const gsv_look_result *r)
{
    json_t *j = json_fields(r, sizeof ALL / sizeof *ALL, ALL);
    json_t *columns = json_array(), *models = json_array();
    for (size_t i = 0; i < r->columns; i++)
        json_array_append_new(columns, column_json(&r->column[i]));
    for (size_t i = 0; i < r->models; i++)
        json_array_append_new(models, json_string(r->model[i]));
    json_object_set_new(j, "columns", columns);
    json_object_set_new(j, "models", models);
    return print_json(j);
}

/* --- The picture ---------------------------------------------------------- */

/* A panel for each column, with a line for each series. */
static void put_panels(const gsv_series *s, size_t columns, FILE *to)
{
    for (size_t c = 0; c < columns; c++) {
        fprintf(to, "$c%zu << E\n", c);
        for (size_t t = 0; t < s->tracks; t++, fputs("\n\n", to))
            for (size_t i = s->start[t]; i < s->start[t + 1]; i++) {
                double x = s->value[c * s->rows + i];
                if (!isnan(x)) fprintf(to, "%.10g %.10g\n", s->time[i], x);
            }
        fputs("E\n", to);
    }
    fprintf(to, "set multiplot layout %zu,1\nunset key\n", columns);
    for (size_t c = 0; c < columns; c++) {
        fputs("set ylabel ", to);
        plot_text(s->name[c], to);
        fprintf(to, "\nplot $c%zu using 1:2 with linespoints pt 7 ps 0.2\n", c);
    }
    fputs("unset multiplot\n", to);
}

static int plot_series(const gsv_series *s, size_t columns, const char *path)
{
    struct plot plot;
    if (plot_open(&plot, path, 820, 80 + 180 * (int)columns)) return EXIT_INPUT;
    put_panels(s, columns, plot.to);
    return plot_close(&plot, true);
}

/* --- The verb ------------------------------------------------------------- */

static int show(const struct args *a, const gsv_series *s,
                const gsv_look_result *r)
{
    int code = 0;
    if (a->json) code = print_look_json(r);
    else print_lines(r->report);
    if (!a->json && !a->output) print_models(r);
    for (size_t i = 0; !code && a->output && i < r->models; i++)
        code = write_model(a, r, i);
    if (!code && a->plot) code = plot_series(s, r->columns, a->plot);
    return code;
}

int look_run(const struct args *a, gsv_model *m)
{
    (void)m; /* there is none: the file is data */
    gsv_look_result r;
    if (a->files.count > 1)
        return complain(EXIT_INPUT,
                        "look reads one file of data; '%s' is one "
                        "too many",
                        a->files.word[1]);
    if (a->plot && check_plot(a->plot)) return EXIT_INPUT;
    gsv_series *s =
        gsv_series_read_named(a->model, a->time, a->series, 0, NULL);
    if (!s) return complain_last();
    say_note(a, s);
    int code =
        gsv_look(s, &a->estimator, &r) ? complain_last() : show(a, s, &r);
    gsv_look_free(&r);
    gsv_series_free(s);
    return code;
}
