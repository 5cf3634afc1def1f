/* SPDX-License-Identifier: MIT */
/* The results of physics as a table, as JSON and as CSV files. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "physics.h"

const char *const STABILITY[] = {"stable", "saddle", "unstable"};

/* --- Rows ---------------------------------------------------------------- */

/* Adds a row, unless its number is not known. */
static void add_row(struct physics_row *list, size_t *n, gsv_quantity q,
                    bool reached, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

static void add_row(struct physics_row *list, size_t *n, gsv_quantity q,
                    bool reached, const char *format, ...)
{
    struct physics_row *row = &list[*n];
    va_list args;
    if (!isfinite(q.value)) return;
    va_start(args, format);
    vsnprintf(row->name, sizeof row->name, format, args);
    va_end(args);
    row->q = q;
    row->reached = reached;
    ++*n;
}

static void add_law(const gsv_physics_result *r, struct physics_row *list,
                    size_t *n)
{
    for (size_t i = 0; i < r->dim; i++) {
        add_row(list, n, r->mean[i], true, "mean of %.80s", r->name[i]);
        add_row(list, n, r->sd[i], true, "deviation of %.80s", r->name[i]);
    }
    if (r->stationary)
        add_row(list, n, (gsv_quantity){r->beyond, NAN, NAN}, true,
                "law outside the data");
    for (size_t i = 0; r->distance && i < r->dim; i++)
        add_row(list, n, (gsv_quantity){r->distance[i], NAN, NAN}, true,
                "distance from data, %.80s", r->name[i]);
}

static void add_rates(const gsv_physics_result *r, struct physics_row *list,
                      size_t *n)
{
    for (size_t i = 0; i < GSV_RELAXATIONS; i++) {
        add_row(list, n, r->relaxation[i], true, "relaxation time %zu", i + 1);
        if (r->turn[i].value > 0.0)
            add_row(list, n, r->turn[i], true, "  angular velocity %zu", i + 1);
    }
    add_row(list, n, r->entropy, true, "entropy production");
    if (r->dim > 1)
        add_row(list, n, r->gradient, true, "gradient part of the drift");
    if (r->current != 0.0)
        add_row(list, n, (gsv_quantity){r->current, NAN, NAN}, true, "current");
}

/* The first row of a passage; only rows of passages follow. */
static bool is_time(const char *name)
{
    return !strncmp(name, "time ", 5);
}

struct physics_row *physics_rows(const gsv_physics_result *r, size_t *count)
{
    size_t most = 3 * r->dim + 2 * GSV_RELAXATIONS + 4 + 3 * r->passages;
    struct physics_row *list = calloc(most, sizeof *list);
    *count = 0;
    if (!list) {
        complain_memory();
        return NULL;
    }
    add_law(r, list, count);
    add_rates(r, list, count);
    for (size_t k = 0; k < r->passages; k++) {
        const gsv_passage *p = &r->passage[k];
        add_row(list, count, p->time, true, "time %.60s -> %.60s", p->from,
                p->to);
        add_row(list, count, p->kramers, true, "  by Kramers");
        add_row(list, count, p->barrier, true, "  barrier");
    }
    return list;
}

/* --- The table ----------------------------------------------------------- */

static void put_quantity(const char *name, gsv_quantity q, bool reached,
                         int width)
{
    char ends[64] = "";
    if (isfinite(q.low) && isfinite(q.high))
        snprintf(ends, sizeof ends, " %12.5g %12.5g", q.low, q.high);
    say(stdout, "%-*s %12.5g%s%s\n", width, name, q.value, ends,
        reached ? "" : "  *");
}

static void print_point(const gsv_physics_result *r, size_t k, int width)
{
    const gsv_fixed_point *p = &r->point[k];
    char name[200], found[60] = "";
    if (p->share < 0.995)
        snprintf(found, sizeof found, ", in %.0f %% of the draws",
                 100.0 * p->share);
    say(stdout, "fixed point %zu, %s%s%s\n", k + 1, STABILITY[p->stability],
        p->reached ? "" : ", outside the data's range", found);
    for (size_t i = 0; i < r->dim; i++) {
        snprintf(name, sizeof name, "  %.100s", r->name[i]);
        put_quantity(name, p->x[i], p->reached, width);
    }
    for (size_t i = 0; i < r->dim; i++)
        put_quantity("  eigenvalue", p->rate[i], p->reached, width);
    for (size_t i = 0; i < r->dim; i++)
        if (p->turn[i].value > 0.0)
            put_quantity("  angular velocity", p->turn[i], p->reached, width);
}

void physics_print(const gsv_physics_result *r, const struct physics_row *row,
                   size_t rows)
{
    int width = 28;
    for (size_t i = 0; i < rows; i++) {
        int n = (int)strlen(row[i].name);
        if (n > width) width = n < 60 ? n : 60;
    }
    say(stdout, "%-*s %12s%s\n", width, "", "value",
        r->draws ? "        2.5 %       97.5 %" : "");
    for (size_t k = 0; k < r->points; k++)
        print_point(r, k, width);
    if (!r->points) say(stdout, "no fixed points\n");
    for (size_t i = 0; i < rows; i++)
        put_quantity(row[i].name, row[i].q, row[i].reached, width);
}

/* --- JSON ---------------------------------------------------------------- */

static json_t *quantity_json(gsv_quantity q)
{
    json_t *j = json_object();
    add_number(j, "value", q.value);
    add_number(j, "low", q.low);
    add_number(j, "high", q.high);
    return j;
}

static json_t *quantities_json(size_t n, const gsv_quantity *q)
{
    json_t *j = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(j, quantity_json(q[i]));
    return j;
}

static json_t *points_json(const gsv_physics_result *r)
{
    json_t *all = json_array();
    for (size_t k = 0; k < r->points; k++) {
        const gsv_fixed_point *p = &r->point[k];
        json_t *j = json_object();
        add_text(j, "stability", STABILITY[p->stability]);
        add_bool(j, "in_data", p->reached);
        add_number(j, "share", p->share);
        json_object_set_new(j, "x", quantities_json(r->dim, p->x));
        json_object_set_new(j, "rate", quantities_json(r->dim, p->rate));
        json_object_set_new(j, "turn", quantities_json(r->dim, p->turn));
        json_array_append_new(all, j);
    }
    return all;
}

static json_t *passages_json(const gsv_physics_result *r)
{
    json_t *all = json_array();
    for (size_t k = 0; k < r->passages; k++) {
        const gsv_passage *p = &r->passage[k];
        json_t *j = json_object();
        json_object_set_new(j, "from", json_text(p->from));
        json_object_set_new(j, "to", json_text(p->to));
        json_object_set_new(j, "time", quantity_json(p->time));
        json_object_set_new(j, "barrier", quantity_json(p->barrier));
        json_object_set_new(j, "kramers", quantity_json(p->kramers));
        json_array_append_new(all, j);
    }
    return all;
}

json_t *physics_json(const gsv_physics_result *r, const struct physics_row *row,
                     size_t rows)
{
    json_t *j = json_object(), *numbers = json_object();
    add_bool(j, "stationary", r->stationary);
    add_count(j, "draws", r->draws);
    json_object_set_new(j, "points", points_json(r));
    json_object_set_new(j, "passages", passages_json(r));
    for (size_t i = 0; i < rows && !is_time(row[i].name); i++)
        json_object_set_new(numbers, row[i].name + strspn(row[i].name, " "),
                            quantity_json(row[i].q));
    json_object_set_new(j, "numbers", numbers);
    json_object_set_new(j, "notes", json_lines(r->note));
    json_object_set_new(j, "warnings", json_lines(r->warning));
    return j;
}

/* --- CSV ----------------------------------------------------------------- */

static void put_three(gsv_quantity q, FILE *out)
{
    put_cell(q.value, out);
    put_cell(q.low, out);
    put_cell(q.high, out);
}

/* The numbers of a fixed point that are named `part` and a state or number. */
static void put_part(const gsv_physics_result *r, size_t k, const char *part,
                     const gsv_quantity *q, FILE *out)
{
    const gsv_fixed_point *p = &r->point[k];
    for (size_t i = 0; i < r->dim; i++) {
        fprintf(out, "%zu,%s,%d", k + 1, STABILITY[p->stability], p->reached);
        put_cell(p->share, out);
        fprintf(out, ",%s", part);
        if (!*part) put_text(r->name[i], out);
        else fprintf(out, "%zu", i + 1);
        put_three(q[i], out);
        putc('\n', out);
    }
}

static void put_points(const gsv_physics_result *r, FILE *out)
{
    fputs("point,stability,in_data,share,name,value,low,high\n", out);
    for (size_t k = 0; k < r->points; k++) {
        put_part(r, k, "", r->point[k].x, out);
        put_part(r, k, "rate_", r->point[k].rate, out);
        put_part(r, k, "turn_", r->point[k].turn, out);
    }
}

/* Every row has a name of its own: Kramers' time of a passage has that of the
 * passage, too. */
static void put_numbers(const struct physics_row *row, size_t rows, FILE *out)
{
    const char *passage = NULL;
    char name[2 * sizeof row->name];
    fputs("name,value,low,high\n", out);
    for (size_t i = 0; i < rows; i++) {
        const char *own = row[i].name + strspn(row[i].name, " ");
        if (is_time(row[i].name)) passage = own;
        bool part = passage && passage != own;
        snprintf(name, sizeof name, "%s%s%s", part ? passage : own,
                 part ? ", " : "", part ? own : "");
        put_text(name, out);
        put_three(row[i].q, out);
        putc('\n', out);
    }
}

static void put_marginals(const gsv_physics_result *r, FILE *out)
{
    fputs("state,x,density,low,high,data\n", out);
    for (size_t i = 0; i < r->dim; i++)
        for (size_t k = i * r->bins; k < (i + 1) * r->bins; k++) {
            put_text(r->name[i], out);
            put_cell(r->bin[k], out);
            put_three(r->marginal[k], out);
            put_cell(r->histogram ? r->histogram[k] : NAN, out);
            putc('\n', out);
        }
}

static void put_field(const gsv_physics_result *r, FILE *out)
{
    for (size_t i = 0; i < r->dim; i++) {
        put_text(r->name[i], out);
        putc(',', out);
    }
    fputs("density,density_low,density_high,free_energy,potential,"
          "potential_low,potential_high,committor,in_data\n",
          out);
    for (size_t k = 0; k < r->cells; k++) {
        for (size_t i = 0; i < r->dim; i++) {
            if (i) putc(',', out);
            put_number(r->x[i * r->cells + k], out);
        }
        put_three(r->density[k], out);
        put_cell(-log(r->density[k].value), out);
        put_three(r->potential[k], out);
        put_cell(r->committor ? r->committor[k] : NAN, out);
        fprintf(out, ",%d\n", r->reached[k]);
    }
}

static int write_one(const struct args *a, const char *part,
                     const gsv_physics_result *r, const struct physics_row *row,
                     size_t rows)
{
    size_t n = strlen(a->output) + 40;
    char *path = malloc(n);
    struct draft d;
    if (!path) return complain_memory();
    snprintf(path, n, "%s-%s.csv", a->output, part);
    bool input =
        same_file(path, a->model) || (a->data && same_file(path, a->data));
    int code = input ? complain(EXIT_INPUT,
                                "-o %s would overwrite %s; give another prefix",
                                a->output, path)
                     : draft_open(&d, path);
    if (!code) {
        if (*part == 'p') put_points(r, d.out);
        else if (*part == 'n') put_numbers(row, rows, d.out);
        else if (*part == 'm') put_marginals(r, d.out);
        else put_field(r, d.out);
        code = draft_close(&d, true);
    }
    if (!code && !a->quiet && !a->json) say(stderr, "wrote %s\n", path);
    free(path);
    return code;
}

int physics_write(const struct args *a, const gsv_physics_result *r,
                  const struct physics_row *row, size_t rows)
{
    static const char *const PART[] = {"points", "numbers", "marginals",
                                       "field"};
    int code = 0;
    for (size_t i = 0; !code && i < (r->cells ? 4 : 3); i++)
        code = write_one(a, PART[i], r, row, rows);
    return code;
}
