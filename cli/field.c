/* SPDX-License-Identifier: MIT */
/* girsanov field: drift and diffusion at points, in blocks. */
#include "field.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double *inputs_of(const struct block *b, const gsv_model *m)
{
    return gsv_model_inputs(m) ? b->value + gsv_model_dim(m) * b->n : NULL;
}

int block_field(const struct block *b, const gsv_model *m, gsv_functions *q)
{
    const double *input = inputs_of(b, m);
    if (gsv_model_drift(m, b->n, b->time, b->value, input, b->f) ||
        gsv_model_diffusion(m, b->n, b->time, b->value, input, b->g) ||
        (q && gsv_functions_drift(q, b->n, b->time, b->value, input, b->sd)))
        return complain_last();
    return 0;
}

int block_init(struct block *b, const gsv_model *m, size_t n)
{
    size_t dim = gsv_model_dim(m), columns = gsv_model_columns(m);
    size_t width = 1 + columns + 2 * dim + dim * gsv_model_noises(m);
    b->time = malloc(n * width * sizeof *b->time);
    if (!b->time) {
        complain_memory();
        return EXIT_NUMBERS;
    }
    b->value = b->time + n;
    b->f = b->value + n * columns;
    b->sd = b->f + n * dim;
    b->g = b->sd + n * dim;
    return 0;
}

/* --- The points ---------------------------------------------------------- */

struct place {
    struct grid grid;
    struct points points; /* empty for a grid */
    gsv_series *data;     /* or NULL        */
    gsv_series *smoothed; /* the means of states, where some are hidden */
    size_t count;
    bool timed; /* time is a column of the table */
};

static void place_free(struct place *p)
{
    grid_free(&p->grid);
    free(p->points.cell);
    gsv_series_free(p->data);
    gsv_series_free(p->smoothed);
}

static bool hides_states(const gsv_model *m, const gsv_series *s)
{
    for (size_t i = 0; i < gsv_model_dim(m); i++)
        if (!series_column(s, gsv_model_column(m)[i])) return true;
    return false;
}

/* The means of all states given the data, as one series. */
static int smooth_states(const struct args *a, const gsv_model *m,
                         struct place *p)
{
    gsv_paths_options o = gsv_paths_options_default();
    gsv_smoothed r;
    o.estimator = estimator_options(a);
    o.estimator.paths = 0;
    estimator_for_paths(a, m, &o.estimator);
    if (gsv_paths(m, p->data, &o, &r)) return complain_last();
    double *index = malloc((r.rows + 1) * sizeof *index);
    for (size_t k = 0; index && k < r.rows; k++)
        index[k] = (double)k;
    if (index)
        p->smoothed = gsv_series_new(1, (size_t[]){0, r.rows}, r.dim,
                                     gsv_model_column(m), index, r.mean);
    int code = !index ? complain_memory() : p->smoothed ? 0 : complain_last();
    free(index);
    gsv_smoothed_free(&r);
    return code;
}

static const double *find_column(const struct place *p, const char *name,
                                 size_t *rows)
{
    const double *x = p->smoothed ? series_column(p->smoothed, name) : NULL;
    const gsv_series *s = x ? p->smoothed : p->data;
    if (!x) x = series_column(s, name);
    *rows = x ? s->rows : 0;
    return x;
}

static int cover_data(struct grid *g, const gsv_model *m, const struct place *p)
{
    size_t columns = gsv_model_columns(m);
    double *low = malloc(2 * columns * sizeof *low), *high;
    if (!low) return complain_memory();
    high = low + columns;
    for (size_t i = 0; i < columns; i++) {
        size_t rows;
        const double *x = find_column(p, gsv_model_column(m)[i], &rows);
        find_range(x, rows, 1, &low[i], &high[i]);
    }
    int code = grid_cover(g, m, low, high);
    free(low);
    return code;
}

/* The range of the points, for a figure. */
static void cover_points(struct grid *g, const struct points *p)
{
    for (size_t i = 0; i <= p->columns; i++) {
        struct axis *a = &g->axis[i];
        find_range(p->cell + i, p->rows, p->columns + 1, &a->low, &a->high);
        a->n = a->low < a->high ? 2 : 1;
    }
}

static int find_grid(const struct args *a, const gsv_model *m, struct place *p)
{
    const gsv_record *r = gsv_model_record(m);
    if (a->grid) return grid_parse(&p->grid, a->grid);
    if (p->data) return cover_data(&p->grid, m, p);
    if (r) return grid_cover(&p->grid, m, r->lowest, r->highest);
    return complain(EXIT_INPUT,
                    "%s was not learned from data, so there is no range for a "
                    "grid; give --grid %s=A:B:N, --at FILE or DATA",
                    a->model, gsv_model_column(m)[0]);
}

static int find_place(const struct args *a, gsv_model *m, struct place *p)
{
    size_t columns = gsv_model_columns(m);
    if (a->at && a->grid)
        return complain(
            EXIT_INPUT,
            "--at and --grid cannot be used together; give one of them");
    if (a->data && !(p->data = open_data(a, m))) return EXIT_INPUT;
    if (grid_init(&p->grid, m)) return EXIT_NUMBERS;
    if (a->at) {
        p->timed = true;
        if (points_read(&p->points, a->at, columns, gsv_model_column(m)))
            return EXIT_INPUT;
        p->count = p->points.rows;
        cover_points(&p->grid, &p->points);
        return 0;
    }
    if (p->data && !a->grid && hides_states(m, p->data) &&
        smooth_states(a, m, p))
        return EXIT_NUMBERS;
    if (find_grid(a, m, p)) return EXIT_INPUT;
    p->timed = p->grid.axis[columns].n > 1;
    p->count = grid_points(&p->grid);
    return p->count ? 0 : EXIT_INPUT;
}

/* --- The table ----------------------------------------------------------- */

/* The posterior of the functions of a gp; NULL if there is none. */
static int find_posterior(const gsv_model *m, gsv_functions **q)
{
    *q = NULL;
    if (!gsv_model_has_posterior(m)) return 0;
    *q = gsv_functions_new(m);
    return *q ? 0 : complain_last();
}

static void put_header(const gsv_model *m, const struct place *p, FILE *out)
{
    const char *const *name = gsv_model_column(m);
    const char *comma = p->timed ? "," : "";
    if (p->timed) fputs("time", out);
    for (size_t i = 0; i < gsv_model_columns(m); i++, comma = ",")
        fprintf(out, "%s%s", comma, name[i]);
    for (size_t i = 0; i < gsv_model_dim(m); i++)
        fprintf(out, ",drift_%s", name[i]);
    for (size_t i = 0; i < gsv_model_dim(m); i++)
        for (size_t j = 0; j < gsv_model_noises(m); j++)
            fprintf(out, ",diffusion_%s_%zu", name[i], j + 1);
    for (size_t i = 0; gsv_model_has_posterior(m) && i < gsv_model_dim(m); i++)
        fprintf(out, ",drift_sd_%s", name[i]);
    putc('\n', out);
}

static void put_cells(const double *cell, size_t count, size_t n, bool first,
                      FILE *out)
{
    for (size_t i = 0; i < count; i++) {
        if (i || !first) putc(',', out);
        put_number(cell[i * n], out);
    }
}

static void put_block(const gsv_model *m, const struct place *p,
                      const struct block *b, FILE *out)
{
    size_t dim = gsv_model_dim(m);
    for (size_t k = 0; k < b->n; k++) {
        if (p->timed) put_cells(b->time + k, 1, b->n, true, out);
        put_cells(b->value + k, gsv_model_columns(m), b->n, !p->timed, out);
        put_cells(b->f + k, dim, b->n, false, out);
        put_cells(b->g + k, dim * gsv_model_noises(m), b->n, false, out);
        if (gsv_model_has_posterior(m))
            put_cells(b->sd + k, dim, b->n, false, out);
        putc('\n', out);
    }
}

/* The number of points in a block, limited by memory. */
static size_t block_points(const gsv_model *m)
{
    size_t cells = gsv_model_dim(m) * gsv_model_noises(m) + 1;
    size_t n = ((size_t)1 << 22) / cells;
    return n < 1 ? 1 : n > 4096 ? 4096 : n;
}

/* The next points, at most `most`. */
static void fill_block(const struct place *p, size_t first, size_t most,
                       struct block *b)
{
    b->n = p->count - first < most ? p->count - first : most;
    if (p->points.cell) points_fill(&p->points, first, b->n, b->time, b->value);
    else grid_fill(&p->grid, first, b->n, b->time, b->value);
}

static int put_table(const gsv_model *m, gsv_functions *q,
                     const struct place *p, FILE *out)
{
    struct block b = {0};
    size_t most = block_points(m);
    if (block_init(&b, m, most)) return EXIT_NUMBERS;
    int code = 0;
    put_header(m, p, out);
    for (size_t i = 0; i < p->count && !code && !ferror(out); i += b.n) {
        fill_block(p, i, most, &b);
        code = block_field(&b, m, q);
        if (!code) put_block(m, p, &b, out);
    }
    free(b.time);
    return code;
}

/* A warning if points are outside the grid of a gp. */
static int warn_outside(const gsv_model *m, const struct place *p)
{
    struct block b = {0};
    size_t most = block_points(m), outside = 0;
    int code = block_init(&b, m, most);
    for (size_t i = 0; i < p->count && !code; i += b.n) {
        fill_block(p, i, most, &b);
        size_t found;
        if (gsv_model_outside_at(m, b.n, b.time, b.value, inputs_of(&b, m),
                                 &found))
            code = complain_last();
        else outside += found;
    }
    if (!code && outside)
        say(stderr,
            "warning: %zu of %zu points are outside the grid of a gp, where "
            "its function returns to its prior; give points inside the grid\n",
            outside, p->count);
    free(b.time);
    return code;
}

/* --- The verb ----------------------------------------------------------- */

static int write_table(const struct args *a, const gsv_model *m,
                       gsv_functions *q, const struct place *p)
{
    struct draft d;
    if (a->plot && !a->output) return 0;
    if (draft_open(&d, a->output)) return EXIT_INPUT;
    int code = put_table(m, q, p, d.out);
    int closed = draft_close(&d, !code);
    return code ? code : closed;
}

static int report(const struct args *a, const struct place *p)
{
    if (a->json) {
        json_t *j = json_object();
        add_text(j, "output", a->output);
        add_text(j, "plot", a->plot);
        add_count(j, "points", p->count);
        return print_json(j);
    }
    say_written(a, p->count, "points");
    return EXIT_DONE;
}

int field_run(const struct args *a, gsv_model *m)
{
    struct place p = {0};
    gsv_functions *q = NULL;
    int code = find_place(a, m, &p);
    if (!code) code = find_posterior(m, &q);
    if (!code && a->plot)
        code = field_plot(m, q, &p.grid, p.smoothed ? p.smoothed : p.data,
                          a->plot);
    if (!code) code = write_table(a, m, q, &p);
    if (!code) code = warn_outside(m, &p);
    if (!code) code = report(a, &p);
    gsv_functions_free(q);
    place_free(&p);
    return code;
}
