/* SPDX-License-Identifier: MIT */
/* Data must be inside the domain of T, the map to unit diffusion. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "bridge/plan.h"
#include "data/series.h"
#include "model/names.h"

/* Gaps that are checked together; point 2i is the earlier end of gap i. */
enum { GAPS = 512, ENDS = 2 * GAPS };

struct check {
    const struct plan *plan;
    struct program *domain;
    struct uniforms uniforms;
    struct workspace workspace;
    struct arena arena;
    double *x, *time, *input, *slope;
};

static bool is_letter(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static int check_init(struct check *l, const struct plan *plan)
{
    const gsv_model *m = plan->model;
    *l = (struct check){.plan = plan};
    const struct arena_part part[] = {{&l->x, plan->d * ENDS},
                                      {&l->time, ENDS},
                                      {&l->input, plan->inputs * ENDS},
                                      {&l->slope, plan->inputs * ENDS}};
    l->domain = program_new(m->spec->graph, 1, &m->domain, m->spec->parameters,
                            plan->options->wide);
    if (!l->domain || uniforms_init(&l->uniforms, l->domain) ||
        workspace_init(&l->workspace, l->domain, ENDS, false, false) ||
        arena_lay(&l->arena, sizeof part / sizeof *part, part))
        return GSV_NO_MEMORY;
    program_prepare(l->domain, m->value, &l->uniforms);
    return 0;
}

static void check_free(struct check *l)
{
    workspace_free(&l->workspace);
    uniforms_free(&l->uniforms);
    arena_free(&l->arena);
    program_free(l->domain);
}

/* The column that a condition is about: the first whose name is a word of it.
 */
static size_t column_of(const struct spec *spec, const char *condition)
{
    for (size_t i = 0; i < spec->dim; i++) {
        size_t n = strlen(spec->column[i]);
        for (const char *at = condition; (at = strstr(at, spec->column[i]));
             at++) {
            bool begins = at == condition || !is_letter(at[-1]);
            if (begins && !is_letter(at[n])) return i;
        }
    }
    return 0;
}

static int complain(const struct check *l, const struct gap *gap, bool later,
                    size_t condition)
{
    const gsv_model *m = l->plan->model;
    const struct spec *spec = m->spec;
    const gsv_series *s = l->plan->gaps.series;
    struct graph_names names =
        spec_names(spec, m->column, m->column + spec->dim);
    char *text =
        graph_condition_text(spec->graph, m->domain, condition, &names);
    if (!text) return GSV_NO_MEMORY;
    size_t row = later ? gap->to : gap->from, column = column_of(spec, text);
    size_t own =
        spec->map_domain ? graph_size(spec->graph, spec->map_domain) : 0;
    double *pair = l->x;
    char line[32] = "";
    if (s->line[row]) snprintf(line, sizeof line, ":%zu", s->line[row]);
    gap_ends(&l->plan->gaps, gap, pair, 2);
    int status = fail(
        GSV_BAD_INPUT, "%s%s: series '%s' at time %g has %s = %g, but %s %s%s",
        s->source, line, s->label[gap->track], s->time[row],
        spec->column[column], pair[2 * column + later],
        condition < own ? "the state is a function of it that needs"
                        : "the noise that the model gives it needs",
        text,
        condition < own
            ? ""
            : ": it vanishes at the boundary, which no path crosses. If data "
              "cross it, use noise that does not vanish, such as sqrt(a^2 + "
              "(b*x)^2)*dW");
    mem_free(text);
    return status;
}

/* The earliest row of these gaps that is outside. */
static int check_gaps(struct check *l, const struct gap *gap, size_t n)
{
    const struct plan *plan = l->plan;
    size_t P = 2 * n, conditions = graph_size(plan->model->spec->graph,
                                              plan->model->domain);
    for (size_t i = 0; i < n; i++) {
        gap_ends(&plan->gaps, &gap[i], l->x + 2 * i, P);
        l->time[2 * i] = gap[i].start;
        l->time[2 * i + 1] = gap[i].end;
        for (size_t j = 0; plan->inputs && j < 2; j++)
            gap_inputs(&plan->gaps, gap[i].track, l->time[2 * i + j], j,
                       l->input + 2 * i + j, l->slope + 2 * i + j, P);
    }
    struct points in = {.P = P,
                        .state = l->x,
                        .time = l->time,
                        .input = l->input,
                        .slope = l->slope};
    program_forward(l->domain, &l->uniforms, &l->workspace, &in);
    const double *margin = program_output(l->domain, &l->workspace, P, 0);
    for (size_t k = 0; k < P; k++)
        for (size_t i = 0; i < conditions; i++)
            if (!(margin[i * P + k] > 0.0))
                return complain(l, &gap[k / 2], k % 2, i);
    return 0;
}

int domain_check(const struct plan *plan)
{
    struct check l;
    if (!plan->model->domain) return 0;
    int status = check_init(&l, plan);
    for (size_t i = 0; !status && i < plan->gaps.count; i += GAPS) {
        size_t left = plan->gaps.count - i, n = left < GAPS ? left : GAPS;
        struct gap gap[GAPS];
        for (size_t k = 0; k < n; k++) {
            gap[k] = gaps_at(&plan->gaps, i + k);
            series_passed(plan->gaps.series, i + k);
        }
        status = check_gaps(&l, gap, n);
    }
    check_free(&l);
    return status;
}
