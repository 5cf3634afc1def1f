/* SPDX-License-Identifier: MIT */
/* girsanov select: which terms of a model are in the data, and the fit with
 * these alone. */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "fit.h"
#include "progress.h"

/* Terms that were left out, and models, that are printed. */
enum { SHOWN_TERMS = 6, SHOWN_MODELS = 8 };

/* --- During the selection ------------------------------------------------- */

static bool watch_all(void *user)
{
    progress_wait(user);
    return signals_caught();
}

static void watch_refits(void *user, size_t done, size_t all)
{
    progress_refit(user, done, all);
}

static int choose(const struct args *a, const gsv_model *m, const gsv_series *s,
                  const gsv_fit_options *given, gsv_selection *r)
{
    struct progress p = {0};
    gsv_fit_options o = *given;
    if (progress_begin(&p, m, a->quiet)) return EXIT_NUMBERS;
    p.task = "model";
    o.stop = watch_all;
    o.refit = watch_refits;
    o.user = &p;
    draft_guard(a->output);
    signals_watch();
    progress_phase(&p, GSV_PHASE_SEARCH);
    enum gsv_status status = gsv_select(m, s, &o, r);
    progress_end(&p);
    if (status == GSV_STOPPED)
        return complain(EXIT_INTERRUPTED,
                        "interrupted: no terms were selected, and %s was not "
                        "written",
                        a->output);
    if (status) return complain_last();
    if (!ranks_writes(a)) return 0;
    return gsv_model_write(r->model, a->output) ? complain_last() : 0;
}

/* --- As equations --------------------------------------------------------- */

/* f[1].x*y: its function is before the point, its term after it. */
static size_t function_length(const char *name)
{
    return strcspn(name, ".");
}

static void put_term(const gsv_coefficient *c, bool first)
{
    const char *term = c->name + function_length(c->name) + 1;
    double size = first ? c->estimate : fabs(c->estimate);
    if (!first) fputs(c->estimate < 0.0 ? " - " : " + ", stdout);
    if (isfinite(c->error)) {
        int n = digits(c->error);
        say(stdout, "(%.*f +- %.*f)", n, size, n, c->error);
    } else say(stdout, "%.6g", size);
    if (strcmp(term, "1") != 0) say(stdout, "*%s", term);
}

static void put_equations(const gsv_selection *r)
{
    for (size_t i = 0; i < r->coefficients;) {
        const char *name = r->coefficient[i].name;
        size_t length = function_length(name);
        bool first = true;
        say(stdout, "%.*s =", (int)length, name);
        for (; i < r->coefficients; i++) {
            const gsv_coefficient *c = &r->coefficient[i];
            if (function_length(c->name) != length ||
                strncmp(c->name, name, length) != 0)
                break;
            if (!c->chosen) continue;
            if (first) fputc(' ', stdout);
            put_term(c, first);
            first = false;
        }
        fputs(first ? " 0\n" : "\n", stdout);
    }
}

/* --- As tables ------------------------------------------------------------ */

static int width_of(const gsv_selection *r)
{
    size_t width = 16;
    for (size_t i = 0; i < r->coefficients; i++) {
        size_t n = strlen(r->coefficient[i].name);
        if (n > width && n <= 40) width = n;
    }
    return (int)width;
}

static void put_row(const gsv_coefficient *c, int width)
{
    say(stdout, "%-*s %-4s %14.4g %10.1f %6.1f", width, c->name,
        c->chosen ? "yes" : "no", c->estimate, shown(c->evidence, 1), c->cost);
    if (isnan(c->frequency)) say(stdout, " %14s\n", "-");
    else say(stdout, " %12.0f %%\n", 100.0 * c->frequency);
}

/* Whether a is before b among those that were left out: more resampled data
 * select it, or more evidence is for it. */
static bool is_before(const gsv_coefficient *a, const gsv_coefficient *b)
{
    if (a->frequency != b->frequency && !isnan(a->frequency))
        return a->frequency > b->frequency;
    return a->evidence != b->evidence ? a->evidence > b->evidence : a < b;
}

/* The most convincing of those that are not shown yet. */
static const gsv_coefficient *next_out(const gsv_selection *r,
                                       const gsv_coefficient *last)
{
    const gsv_coefficient *best = NULL;
    for (size_t i = 0; i < r->coefficients; i++) {
        const gsv_coefficient *c = &r->coefficient[i];
        if (c->chosen || c == last || (last && !is_before(last, c))) continue;
        if (!best || is_before(c, best)) best = c;
    }
    return best;
}

static void put_coefficients(const gsv_selection *r)
{
    int width = width_of(r);
    const gsv_coefficient *c = NULL;
    say(stdout, "\n%-*s %-4s %14s %10s %6s %14s\n", width, "coefficient", "in",
        "estimate", "evidence", "cost", "resampled");
    for (size_t i = 0; i < r->coefficients; i++)
        if (r->coefficient[i].chosen) put_row(&r->coefficient[i], width);
    for (size_t n = 0; n < SHOWN_TERMS && (c = next_out(r, c)); n++)
        put_row(c, width);
}

/* What a model has more and less than the best one. */
static void put_difference(const gsv_selection *r, const gsv_candidate *c)
{
    enum { MOST = 6 };
    size_t n = 0;
    for (size_t k = 0; k < r->coefficients; k++) {
        if (c->has[k] == r->candidate[0].has[k]) continue;
        if (n++ < MOST)
            say(stdout, "  %c%s", c->has[k] ? '+' : '-',
                r->coefficient[k].name);
    }
    if (n > MOST) say(stdout, "  and %zu more", n - MOST);
    fputc('\n', stdout);
}

static void put_models(const gsv_selection *r)
{
    say(stdout, "\n%-8s %6s %16s %12s\n", "model", "terms", "log-likelihood",
        "value");
    for (size_t i = 0; i < r->candidates && i < SHOWN_MODELS; i++) {
        const gsv_candidate *c = &r->candidate[i];
        say(stdout, "%-8zu %6zu %16.2f %12.2f", i + 1, c->terms, c->loglik,
            c->value - r->candidate[0].value);
        if (i) put_difference(r, c);
        else fputs("  selected\n", stdout);
    }
}

static size_t count_chosen(const gsv_selection *r)
{
    size_t n = 0;
    for (size_t i = 0; i < r->coefficients; i++)
        n += r->coefficient[i].chosen;
    return n;
}

static void put_selection(const struct args *a, const gsv_selection *r)
{
    const char *word = option_word("--criterion", (int)a->fit.criterion);
    say(stdout, "selected        %zu of %zu coefficients by %s\n",
        count_chosen(r), r->coefficients, word);
    put_likelihood(gsv_model_record(r->model), stdout);
    say(stdout, "written         %s\n\n", a->output);
    put_equations(r);
    put_coefficients(r);
    put_models(r);
}

/* --- As JSON -------------------------------------------------------------- */

#define FIELD(name, kind, field)                                               \
    {                                                                          \
        name, FIELD_##kind, offsetof(gsv_coefficient, field)                   \
    }
static const struct json_field COEFFICIENT[] = {
    FIELD("name", TEXT, name),
    FIELD("chosen", BOOL, chosen),
    FIELD("estimate", NUMBER, estimate),
    FIELD("stderr", NUMBER, error),
    FIELD("evidence", NUMBER, evidence),
    FIELD("cost", NUMBER, cost),
    FIELD("frequency", NUMBER, frequency),
};
#undef FIELD
#define FIELD(name, kind, field)                                               \
    {                                                                          \
        name, FIELD_##kind, offsetof(gsv_candidate, field)                     \
    }
static const struct json_field CANDIDATE[] = {
    FIELD("terms", COUNT, terms),
    FIELD("loglik", NUMBER, loglik),
    FIELD("stderr", NUMBER, error),
    FIELD("value", NUMBER, value),
};
#undef FIELD

static json_t *candidate_json(const gsv_selection *r, const gsv_candidate *c)
{
    json_t *j = json_fields(c, sizeof CANDIDATE / sizeof *CANDIDATE, CANDIDATE);
    json_t *names = json_array();
    for (size_t k = 0; k < r->coefficients; k++)
        if (c->has[k])
            json_array_append_new(names, json_text(r->coefficient[k].name));
    json_object_set_new(j, "coefficients", names);
    return j;
}

static json_t *selection_json(const struct args *a, const gsv_selection *r)
{
    json_t *j = record_json(r->model, gsv_model_record(r->model), a->output);
    json_t *coefficients = json_array(), *candidates = json_array();
    for (size_t i = 0; i < r->coefficients; i++)
        json_array_append_new(
            coefficients,
            json_fields(&r->coefficient[i],
                        sizeof COEFFICIENT / sizeof *COEFFICIENT, COEFFICIENT));
    for (size_t i = 0; i < r->candidates; i++)
        json_array_append_new(candidates, candidate_json(r, &r->candidate[i]));
    add_text(j, "criterion", option_word("--criterion", (int)a->fit.criterion));
    add_count(j, "resamples", r->resamples);
    add_count(j, "blocks", r->blocks);
    add_text(j, "model", gsv_model_text(r->model));
    json_object_set_new(j, "coefficients", coefficients);
    json_object_set_new(j, "candidates", candidates);
    return j;
}

/* --- The verb ------------------------------------------------------------- */

static int report(const struct args *a, const gsv_selection *r)
{
    int code = EXIT_DONE;
    if (a->json) code = print_json(selection_json(a, r));
    else put_selection(a, r);
    if (!code) say_warnings(gsv_model_record(r->model)->warning);
    return code;
}

int select_run(const struct args *a, gsv_model *m)
{
    gsv_selection r = {0};
    gsv_series *s = NULL;
    struct names names = {0};
    gsv_fit_options o = a->fit;
    if (!a->output)
        return complain(EXIT_INPUT, "-o FILE is missing: the file for the fit");
    int code = ranks_writes(a) ? check_written(a, m, "-o", a->output) : 0;
    if (!code) code = names_read(a, m, &names);
    if (!code) {
        s = open_data(a, m);
        if (!s) code = EXIT_INPUT;
    }
    o.estimator = estimator_options(a);
    names_apply(&names, &o);
    if (!code) code = choose(a, m, s, &o, &r);
    if (!code && ranks_writes(a)) code = report(a, &r);
    gsv_selection_free(&r);
    gsv_series_free(s);
    names_free(&names);
    return code;
}
