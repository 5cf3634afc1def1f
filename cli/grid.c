/* SPDX-License-Identifier: MIT */
#include "field.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* More points would take days and fill the disk. */
static const double MOST_POINTS = 1e10;

double axis_at(const struct axis *a, size_t i)
{
    if (a->n < 2) return a->low;
    return a->low + (a->high - a->low) * (double)i / (double)(a->n - 1);
}

double axis_middle(const struct axis *a)
{
    return 0.5 * a->low + 0.5 * a->high;
}

void find_range(const double *x, size_t n, size_t stride, double *low,
                double *high)
{
    *low = *high = NAN;
    for (size_t i = 0; i < n; i++, x += stride) {
        *low = fmin(*low, *x);
        *high = fmax(*high, *x);
    }
}

int grid_init(struct grid *g, const gsv_model *m)
{
    size_t columns = gsv_model_columns(m);
    g->axes = columns + 1;
    g->axis = calloc(g->axes, sizeof *g->axis);
    if (!g->axis) return complain_memory();
    for (size_t i = 0; i < columns; i++)
        g->axis[i].name = gsv_model_column(m)[i];
    g->axis[columns] = (struct axis){.name = "time", .n = 1};
    return 0;
}

void grid_free(struct grid *g)
{
    free(g->axis);
    g->axis = NULL;
}

/* --- The text ------------------------------------------------------------ */

static struct axis *find_axis(struct grid *g, const char *name)
{
    for (size_t i = 0; i < g->axes; i++)
        if (!strcmp(g->axis[i].name, name)) return &g->axis[i];
    return !strcmp(name, "t") ? &g->axis[g->axes - 1] : NULL;
}

static int parse_entry(struct grid *g, char *entry)
{
    char *equal = strchr(entry, '='), *end;
    if (!equal)
        return complain(EXIT_INPUT,
                        "--grid: '%s' is not NAME=A:B:N or NAME=VALUE", entry);
    *equal = 0;
    const char *text = equal + 1;
    struct axis *a = find_axis(g, entry);
    if (!a)
        return complain(EXIT_INPUT,
                        "--grid: the model has no state or input '%s'", entry);
    a->n = 0;
    if (strchr(text, ':')) {
        if (parse_range(text, &a->low, &a->high, &a->n) && a->n) return 0;
        return complain(
            EXIT_INPUT,
            "--grid %s=%s: expected A:B:N with A < B and N at least "
            "2",
            entry, text);
    }
    a->low = a->high = strtod(text, &end);
    a->n = 1;
    if (end != text && !*end && isfinite(a->low)) return 0;
    return complain(EXIT_INPUT, "--grid %s=%s: expected a number or A:B:N",
                    entry, text);
}

static int check_complete(const struct grid *g)
{
    char names[400] = "";
    size_t n = 0, missing = 0, first = 0;
    for (size_t i = g->axes; i-- > 0;)
        if (!g->axis[i].n) first = i;
    for (size_t i = 0; i < g->axes; i++)
        if (!g->axis[i].n && ++missing <= 10)
            n += (size_t)snprintf(names + n, sizeof names - n, "%s%.30s",
                                  n ? ", " : "", g->axis[i].name);
    if (!missing) return 0;
    return complain(EXIT_INPUT,
                    "--grid has no values for %s%s; add %s=A:B:N or %s=VALUE",
                    names, missing > 10 ? ", ..." : "", g->axis[first].name,
                    g->axis[first].name);
}

int grid_parse(struct grid *g, const char *text)
{
    char *copy = strdup(text), *rest = NULL;
    if (!copy) return complain_memory();
    int code = 0;
    for (char *entry = strtok_r(copy, ",", &rest); entry && !code;
         entry = strtok_r(NULL, ",", &rest))
        code = parse_entry(g, entry);
    free(copy);
    return code ? code : check_complete(g);
}

/* --- Ranges -------------------------------------------------------------- */

int grid_cover(struct grid *g, const gsv_model *m, const double *low,
               const double *high)
{
    static const size_t values[] = {0, 200, 24, 10};
    size_t dim = gsv_model_dim(m);
    if (dim > 3)
        return complain(EXIT_INPUT,
                        "the model has %zu states, too many for a default "
                        "grid; give --grid or --at",
                        dim);
    for (size_t i = 0; i + 1 < g->axes; i++) {
        struct axis *a = &g->axis[i];
        bool varied = i < dim && low[i] < high[i];
        if (isnan(low[i]))
            return complain(EXIT_INPUT,
                            "the data have no values of '%s'; give --grid or "
                            "--at",
                            a->name);
        a->low = varied ? low[i] : 0.5 * low[i] + 0.5 * high[i];
        a->high = varied ? high[i] : a->low;
        a->n = varied ? values[dim] : 1;
    }
    return 0;
}

size_t grid_points(const struct grid *g)
{
    double n = 1.0;
    for (size_t i = 0; i < g->axes; i++)
        n *= (double)g->axis[i].n;
    if (n <= MOST_POINTS) return (size_t)n;
    complain(EXIT_INPUT, "the grid has %.3g points, too many; use fewer", n);
    return 0;
}

void grid_fill(const struct grid *g, size_t first, size_t n, double *time,
               double *value)
{
    for (size_t k = 0; k < n; k++) {
        size_t rest = first + k;
        for (size_t i = g->axes; i-- > 0;) {
            double x = axis_at(&g->axis[i], rest % g->axis[i].n);
            if (i + 1 == g->axes) time[k] = x;
            else value[i * n + k] = x;
            rest /= g->axis[i].n;
        }
    }
}
