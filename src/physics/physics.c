/* SPDX-License-Identifier: MIT */
/* gsv_physics(): from a study's numbers to the result. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/option_rules.h"
#include "physics/intervals.h"
#include "physics/setup.h"

/* What a result is made of. */
struct answer {
    const struct study *study;
    const double *value; /* (size) */
    const struct intervals *interval;
    const struct law_field *field;
};

static gsv_quantity number(const struct answer *a, size_t i)
{
    return (gsv_quantity){a->value[i], a->interval->low[i],
                          a->interval->high[i]};
}

static gsv_quantity *numbers(const struct answer *a, size_t from, size_t n)
{
    gsv_quantity *q = NEW(gsv_quantity, n);
    for (size_t i = 0; q && i < n; i++)
        q[i] = number(a, from + i);
    return q;
}

/* --- Fixed points and passages -------------------------------------------- */

static enum gsv_stability stability_of(size_t d, const double *rate)
{
    size_t leave = 0;
    for (size_t i = 0; i < d; i++)
        leave += !(rate[i] < 0.0);
    return !leave ? GSV_STABLE : leave < d ? GSV_SADDLE : GSV_UNSTABLE;
}

static int fill_points(const struct answer *a, gsv_physics_result *r)
{
    const struct study *s = a->study;
    size_t d = s->scene.dim;
    r->point = NEW(gsv_fixed_point, s->points);
    if (!r->point) return GSV_NO_MEMORY;
    r->points = s->points;
    for (size_t k = 0; k < s->points; k++) {
        gsv_fixed_point *p = &r->point[k];
        size_t at = s->at_fixed + 3 * d * k;
        *p = (gsv_fixed_point){.x = numbers(a, at, d),
                               .rate = numbers(a, at + d, d),
                               .turn = numbers(a, at + 2 * d, d),
                               .stability = stability_of(d, s->rate + k * d),
                               .reached = true,
                               .share = a->interval->share[k]};
        if (!p->x || !p->rate || !p->turn) return GSV_NO_MEMORY;
        for (size_t i = 0; i < d; i++)
            p->reached = p->reached &&
                         axis_reached(&s->scene.axis[i], s->fixed[k * d + i]);
    }
    return 0;
}

static int fill_passages(const struct answer *a, gsv_physics_result *r)
{
    const struct study *s = a->study;
    r->passage = NEW(gsv_passage, s->passages);
    if (!r->passage) return GSV_NO_MEMORY;
    r->passages = s->passages;
    for (size_t k = 0; k < s->passages; k++) {
        size_t at = s->at_passage + PASSAGE_NUMBERS * k;
        r->passage[k] = (gsv_passage){
            .from = mem_string(s->region[s->passage[k].from].text),
            .to = mem_string(s->region[s->passage[k].to].text),
            .time = number(a, at + PASSAGE_TIME),
            .barrier = number(a, at + PASSAGE_BARRIER),
            .kramers = number(a, at + PASSAGE_KRAMERS)};
        if (!r->passage[k].from || !r->passage[k].to) return GSV_NO_MEMORY;
    }
    return 0;
}

/* --- Densities ------------------------------------------------------------ */

static int fill_histogram(const struct answer *a, const gsv_series *data,
                          gsv_physics_result *r)
{
    const struct study *s = a->study;
    r->histogram = NEW(double, r->dim *BINS);
    r->distance = NEW(double, r->dim);
    if (!r->histogram || !r->distance) return GSV_NO_MEMORY;
    for (size_t i = 0; i < r->dim; i++) {
        const double *x = data_column(data, r->name[i]);
        double w = (s->high[i] - s->low[i]) / BINS, n = 0.0, sum = 0.0;
        double *bin = r->histogram + i * BINS;
        for (size_t k = 0; x && k < data->rows; k++) {
            double u = (x[k] - s->low[i]) / w;
            if (s->scene.axis[i].map == AXIS_RING) u -= BINS * floor(u / BINS);
            if (isnan(x[k])) continue;
            n += 1.0;
            if (u >= 0.0 && u < BINS) bin[(size_t)u] += 1.0;
        }
        for (size_t j = 0; j < BINS; j++) {
            bin[j] = n > 0.0 ? bin[j] / (n * w) : (double)NAN;
            sum += 0.5 * w * fabs(bin[j] - r->marginal[i * BINS + j].value);
        }
        r->distance[i] = sum;
    }
    return 0;
}

static int fill_marginals(const struct answer *a, const gsv_series *data,
                          gsv_physics_result *r)
{
    const struct study *s = a->study;
    r->bin = NEW(double, r->dim *BINS);
    r->marginal = numbers(a, s->at_marginal, r->dim * BINS);
    if (!r->bin || !r->marginal) return GSV_NO_MEMORY;
    r->bins = BINS;
    for (size_t i = 0; i < r->dim; i++)
        for (size_t j = 0; j < BINS; j++)
            r->bin[i * BINS + j] =
                s->low[i] + (s->high[i] - s->low[i]) * ((double)j + 0.5) / BINS;
    return data ? fill_histogram(a, data, r) : 0;
}

/* Values of the estimate alone. */
static gsv_quantity *bare(size_t n, const double *value)
{
    gsv_quantity *q = NEW(gsv_quantity, n);
    for (size_t i = 0; q && i < n; i++)
        q[i] = (gsv_quantity){value[i], (double)NAN, (double)NAN};
    return q;
}

static int fill_field(const struct answer *a, struct law_field *f,
                      gsv_physics_result *r)
{
    const struct study *s = a->study;
    bool line = r->dim == 1;
    size_t n = line ? s->cells : f->cells;
    if (!n) return 0;
    r->x = NEW(double, r->dim *n);
    r->density = line ? numbers(a, s->at_density, n) : bare(n, f->density);
    r->potential =
        line ? numbers(a, s->at_potential, n) : bare(n, f->potential);
    r->reached = NEW(bool, n);
    if (!r->x || !r->density || !r->potential || !r->reached)
        return GSV_NO_MEMORY;
    r->cells = n;
    memcpy(r->x, line ? s->cell : f->x, r->dim * n * sizeof *r->x);
    for (size_t k = 0; k < n; k++) {
        r->reached[k] = true;
        for (size_t i = 0; i < r->dim; i++)
            r->reached[k] = r->reached[k] &&
                            axis_reached(&s->scene.axis[i], r->x[i * n + k]);
    }
    r->committor = f->committor; /* taken */
    f->committor = NULL;
    return 0;
}

/* --- Doubts --------------------------------------------------------------- */

static double longest_track(const gsv_series *data)
{
    double best = 0.0;
    for (size_t t = 0; t < data->tracks; t++)
        if (data->start[t + 1] > data->start[t])
            best = fmax(best, data->time[data->start[t + 1] - 1] -
                                  data->time[data->start[t]]);
    return best;
}

static int add_doubts(const gsv_series *data, gsv_physics_result *r,
                      struct remarks *w)
{
    int status = 0;
    size_t out = 0;
    double slow = r->relaxation[0].value;
    for (size_t k = 0; k < r->points; k++)
        out += !r->point[k].reached;
    if (r->stationary && r->beyond > 0.05)
        status =
            remarks_add(w,
                        "a share of %.2g of the stationary law is outside the "
                        "data's range: it is an extrapolation",
                        r->beyond);
    if (!status && out)
        status = remarks_add(w,
                             "%zu of %zu fixed points are outside the data's "
                             "range",
                             out, r->points);
    if (!status && data && slow > 0.1 * longest_track(data))
        status =
            remarks_add(w,
                        "the longest series spans %.2g relaxation times, too "
                        "few to show the stationary law",
                        longest_track(data) / slow);
    return status;
}

/* --- All of it ------------------------------------------------------------ */

static int fill(const struct answer *a, const gsv_series *data,
                struct law_field *field, gsv_physics_result *r)
{
    const struct study *s = a->study;
    size_t d = s->scene.dim;
    r->dim = d;
    r->name = gsv_model_column(s->scene.model);
    r->draws = a->interval->draws;
    r->stationary = s->stationary;
    r->mean = numbers(a, s->at_mean, d);
    r->sd = numbers(a, s->at_mean + d, d);
    r->lowest = NEW(double, d);
    r->highest = NEW(double, d);
    if (!r->mean || !r->sd || !r->lowest || !r->highest) return GSV_NO_MEMORY;
    for (size_t i = 0; i < d; i++) {
        r->lowest[i] = s->scene.axis[i].data[0];
        r->highest[i] = s->scene.axis[i].data[1];
    }
    for (size_t i = 0; i < RELAXATIONS; i++) {
        r->relaxation[i] = number(a, s->at_relax + i);
        r->turn[i] = number(a, s->at_relax + RELAXATIONS + i);
    }
    r->entropy = number(a, s->at_entropy);
    r->gradient = number(a, s->at_entropy + 1);
    r->beyond = a->value[s->at_entropy + 2];
    r->current = field->current;
    int status = fill_points(a, r);
    if (!status) status = fill_passages(a, r);
    if (!status) status = fill_marginals(a, data, r);
    return status ? status : fill_field(a, field, r);
}

/* The words, which are never NULL in a result. */
static int finish_words(struct remarks *w, char **text)
{
    *text = w->text ? w->text : mem_string("");
    w->text = NULL;
    return *text ? 0 : GSV_NO_MEMORY;
}

static int answer(const struct study *s, const gsv_series *data,
                  gsv_physics_result *r)
{
    struct intervals q = {0};
    struct law_field field = {0};
    const gsv_model *m = s->scene.model;
    double *value = NEW(double, s->size), *coarse = NEW(double, s->size);
    int status = value && coarse
                     ? study_run(s, m, study_grid(s, false), value, &field)
                     : GSV_NO_MEMORY;
    if (!status) status = study_run(s, m, study_grid(s, true), coarse, NULL);
    if (!status) study_extrapolate(s, coarse, value);
    if (!status) status = intervals_find(&q, s, value, coarse, &field);
    const struct answer a = {s, value, &q, &field};
    if (!status) status = fill(&a, data, &field, r);
    intervals_free(&q);
    law_field_free(&field);
    MEM_FREE(value, coarse);
    return status;
}

enum gsv_status gsv_physics(const gsv_model *m, const gsv_series *s,
                            const gsv_physics_options *o,
                            gsv_physics_result *result)
{
    struct study study = {0};
    struct remarks note = {0}, warning = {0};
    if (ANY_NULL(result)) return GSV_BAD_INPUT;
    *result = (gsv_physics_result){0};
    if (ANY_NULL(m, o)) return GSV_BAD_INPUT;
    int status = option_check(GSV_OF_PHYSICS, o);
    if (!status) status = setup_init(&study, m, s, o, &note, &warning);
    if (!status) status = answer(&study, s, result);
    if (!status && m->record && !result->draws && o->draws != 1)
        status = remarks_add(&note, "there are no intervals, because the fit "
                                    "has no standard errors");
    if (!status) status = add_doubts(s, result, &warning);
    if (!status) status = finish_words(&note, &result->note);
    if (!status) status = finish_words(&warning, &result->warning);
    setup_free(&study);
    MEM_FREE(note.text, warning.text);
    if (status) gsv_physics_free(result);
    return (enum gsv_status)status;
}

void gsv_physics_free(gsv_physics_result *r)
{
    if (!r) return;
    for (size_t k = 0; k < r->points; k++)
        MEM_FREE(r->point[k].x, r->point[k].rate, r->point[k].turn);
    for (size_t k = 0; k < r->passages; k++)
        MEM_FREE(r->passage[k].from, r->passage[k].to);
    MEM_FREE(r->point, r->mean, r->sd, r->lowest, r->highest, r->passage,
             r->bin, r->marginal, r->histogram, r->distance, r->x, r->density,
             r->potential, r->committor, r->reached, r->note, r->warning);
    *r = (gsv_physics_result){0};
}
