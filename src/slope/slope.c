/* SPDX-License-Identifier: MIT */
#include "slope/slope.h"

#include <math.h>

#include "base/error.h"
#include "base/lanes.h"
#include "base/spread.h"

/* Gaps of a block: as many as keep a network's kernel busy, but so few that all
 * threads have some. The gradient of every block is added to those before, so
 * that many parameters have fewer blocks. */
enum { FEWEST = 16, MOST = 128, ITEMS = 16, FEW_ITEMS = 4, MANY = 1 << 15 };

static size_t block_size(const struct slopes *s)
{
    size_t items = s->m->spec->parameters > MANY ? FEW_ITEMS : ITEMS;
    size_t n = (s->room + items - 1) / items;
    n += n % 2; /* a pair of gaps is never apart */
    return n < FEWEST ? FEWEST : n > MOST ? MOST : n;
}

/* --- Making --------------------------------------------------------------- */

int slopes_accept(const gsv_model *m)
{
    if (spec_is_latent(m->spec))
        return fail(
            GSV_BAD_INPUT,
            "the objective slopes needs states that are observed themselves, "
            "but this model observes them with noise; use the "
            "objective likelihood");
    if (m->spec->mapped)
        return fail(
            GSV_BAD_INPUT,
            "the objective slopes needs states that are the data, but this "
            "model maps them; use the objective likelihood");
    return refuse_singular(m);
}

static int make_programs(struct slopes *s)
{
    const struct spec *spec = s->m->spec;
    size_t d = s->d;
    struct graph *g = s->graph = graph_copy(spec->graph);
    if (!g) return GSV_NO_MEMORY;
    node both = graph_leaf(g, OP_STATE, 0, 2 * d, 1), out[2];
    node X = graph_slice(g, both, 0, d, 1), v = graph_slice(g, both, d, d, 1);
    out[0] = noise_inverse(spec, g, X, v, &out[1]);
    if (g->failed) return GSV_NO_MEMORY;
    s->drift = program_new(g, 1, &spec->drift, spec->parameters, s->o->wide);
    s->white = program_new(g, 2, out, spec->parameters, s->o->wide);
    if (!s->drift || !s->white || uniforms_init(&s->f, s->drift) ||
        uniforms_init(&s->inverse, s->white))
        return GSV_NO_MEMORY;
    return 0;
}

/* Of state k over all gaps: twice the longest move, and the deviation of the
 * slopes. */
static void find_limits(struct slopes *s, size_t k)
{
    double longest = 0.0, sum = 0.0, squares = 0.0;
    double n = (double)s->gaps.count;
    for (size_t i = 0; i < s->gaps.count; i++) {
        struct gap gap = gaps_at(&s->gaps, i);
        double move =
            gaps_state(&s->gaps, k, gap.to) - gaps_state(&s->gaps, k, gap.from);
        double slope = move / gap.length;
        longest = fmax(longest, fabs(move));
        sum += slope;
        squares += slope * slope;
    }
    s->reach[k] = 2.0 * longest;
    s->most[k] = sqrt(fmax(squares / n - sum * sum / (n * n), 0.0));
}

static int make_threads(struct slopes *s)
{
    int status = 0;
    s->threads = lanes_threads(s->o->threads);
    s->scratch = NEW(struct slope_scratch, s->threads);
    if (!s->scratch) return GSV_NO_MEMORY;
    for (size_t t = 0; !status && t < s->threads; t++)
        status = slope_scratch_init(&s->scratch[t], s);
    return status;
}

static size_t lanes_of(const struct slopes *s, size_t n)
{
    return (n + s->block - 1) / s->block;
}

int slopes_init(struct slopes *s, const struct task *t)
{
    *s = (struct slopes){
        .m = t->model, .o = t->options, .d = t->model->spec->dim};
    int status = gaps_find(&s->gaps, t->model, t->series);
    if (status) return status;
    size_t all = s->gaps.count;
    s->room = t->most && t->most < all ? t->most : all;
    s->block = block_size(s);
    s->reach = NEW(double, s->d);
    s->most = NEW(double, s->d);
    s->value = NEW(double, s->room);
    s->limited = NEW(double, s->room);
    if (!s->reach || !s->most || !s->value || !s->limited) return GSV_NO_MEMORY;
    for (size_t k = 0; k < s->d; k++)
        find_limits(s, k);
    status = make_programs(s);
    if (!status) status = make_threads(s);
    if (status || !s->o->gradient) return status;
    s->slots = spread_slots(lanes_of(s, s->room), s->o->ranks);
    s->sum = NEW(double, s->slots *slopes_bars(s));
    return s->sum ? 0 : GSV_NO_MEMORY;
}

void slopes_free(struct slopes *s)
{
    for (size_t t = 0; s->scratch && t < s->threads; t++)
        slope_scratch_free(&s->scratch[t]);
    MEM_FREE(s->scratch, s->reach, s->most, s->value, s->limited, s->sum);
    uniforms_free(&s->f);
    uniforms_free(&s->inverse);
    program_free(s->drift);
    program_free(s->white);
    graph_free(s->graph);
    gaps_free(&s->gaps);
    *s = (struct slopes){0};
}

/* --- Running -------------------------------------------------------------- */

static size_t first_gap(const void *context, size_t lane)
{
    const struct slopes *s = context;
    size_t each = s->paired ? 2 : 1;
    return each * lanes_first(lane, lanes_of(s, s->n), s->n / each);
}

static void work(void *context, size_t lane, size_t thread)
{
    struct slopes *s = context;
    slope_block(s, &s->scratch[thread], first_gap(s, lane),
                first_gap(s, lane + 1));
}

static double *part(void *context, size_t thread)
{
    return ((struct slopes *)context)->scratch[thread].bar;
}

static int fail_gap(const struct slopes *s, size_t i)
{
    struct gap gap = gaps_at(&s->gaps, s->group ? s->group[i] : i);
    const gsv_series *data = s->gaps.series;
    return fail(GSV_NUMERICAL,
                "the slope of the gap at time %g of series '%s' has no finite "
                "density: drift or noise are not finite there, or the noise "
                "is 0",
                gap.start, data->label[gap.track]);
}

static int make_score(const struct slopes *s, struct score *score)
{
    double n = (double)s->n, sum = 0.0, squares = 0.0;
    for (size_t i = 0; i < s->n; i++) {
        if (!isfinite(s->value[i])) return fail_gap(s, i);
        sum += s->value[i];
    }
    for (size_t i = 0; i < s->n; i++)
        squares += pow(s->value[i] - sum / n, 2.0);
    *score = (struct score){.mean = sum / n,
                            .error = s->n > 1 ? sqrt(squares / (n * (n - 1.0)))
                                              : NAN,
                            .gaps = s->n};
    return 0;
}

static int make_gradient(struct slopes *s, double *value_bar)
{
    double *by_drift = s->sum, *by_noise = s->sum + program_uniforms(s->drift);
    program_finish(s->drift, &s->f, by_drift);
    program_finish(s->white, &s->inverse, by_noise);
    for (size_t i = 0; i < s->m->spec->parameters; i++) {
        value_bar[i] = by_drift[i] + by_noise[i];
        if (!isfinite(value_bar[i]))
            return fail(GSV_NUMERICAL, "the gradient of the slopes is not "
                                       "finite");
    }
    return 0;
}

int slopes_run(struct slopes *s, size_t n, const size_t *group,
               double *value_bar, struct score *score)
{
    s->n = group ? n : s->gaps.count;
    s->group = group;
    s->gradient = value_bar != NULL;
    program_prepare(s->drift, s->m->value, &s->f);
    program_prepare(s->white, s->m->value, &s->inverse);
    const struct spread_share share[] = {
        {s->value, sizeof *s->value, first_gap},
        {s->limited, sizeof *s->limited, first_gap}};
    const struct spread spread = {.ranks = s->o->ranks,
                                  .lanes = lanes_of(s, s->n),
                                  .threads = s->threads,
                                  .context = s,
                                  .work = work,
                                  .n = s->gradient ? slopes_bars(s) : 0,
                                  .part = part,
                                  .sum = s->sum,
                                  .shares = 2,
                                  .share = share};
    int status = spread_run(&spread);
    if (!status) status = make_score(s, score);
    return status || !value_bar ? status : make_gradient(s, value_bar);
}

int slopes_noise(struct slopes *s, size_t n, const size_t *group,
                 double *value_bar, struct score *score)
{
    s->paired = true;
    int status = slopes_run(s, n, group, value_bar, score);
    s->paired = false;
    return status;
}

double slopes_limited(const struct slopes *s)
{
    double sum = 0.0;
    for (size_t i = 0; i < s->n; i++)
        sum += s->limited[i];
    return s->n ? sum / (double)s->n : 0.0;
}
