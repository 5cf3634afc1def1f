/* SPDX-License-Identifier: MIT */
/* girsanov diagnose: diagnostics of the weights of every gap. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* The number of gaps that are printed; --json lists all. */
enum { SHOWN = 10 };

/* The sort key of the list of gaps. */
static double badness(const gsv_gap *g)
{
    return 1000.0 * (double)((g->flags & GSV_FLAG_MODES) > 0) +
           100.0 * (double)((g->flags & GSV_FLAG_ESS) > 0) +
           10.0 * (double)((g->flags & GSV_FLAG_KHAT) > 0) +
           (isfinite(g->discretisation) ? fabs(g->discretisation) : 0.0) -
           1e-3 * g->ess;
}

static int worse_first(const void *a, const void *b)
{
    double x = badness(*(const gsv_gap *const *)a);
    double y = badness(*(const gsv_gap *const *)b);
    return (x < y) - (x > y);
}

const gsv_gap **worst_gaps(const gsv_result *r)
{
    const gsv_gap **list = malloc((r->flagged + 1) * sizeof *list);
    size_t n = 0;
    if (!list) {
        complain_memory();
        return NULL;
    }
    for (size_t i = 0; i < r->groups; i++)
        if (r->gap[i].flags) list[n++] = &r->gap[i];
    qsort(list, n, sizeof *list, worse_first);
    return list;
}

/* What has weights, for each estimator. */
static const char *const WEIGHED[] = {
    [GSV_OBSERVE_AUTO] = "paths",      [GSV_OBSERVE_SCAN] = "points",
    [GSV_OBSERVE_CONJUGATE] = "draws", [GSV_OBSERVE_VARIATIONAL] = "draws",
    [GSV_OBSERVE_KALMAN] = "laws",     [GSV_OBSERVE_GUIDED] = "particles"};

const char *unit_of(const gsv_options *o, const gsv_result *r)
{
    if (r->nodes) return "series";
    return r->observe ? "rows" : o->joint ? "series" : "gaps";
}

const char *gap_reason(const gsv_result *r, const gsv_gap *g,
                       char room[REASON_ROOM])
{
    size_t n = 0;
    bool few =
        r->observe != GSV_OBSERVE_SCAN || g->ess < 0.1 * (double)r->paths;
    room[0] = 0;
    if ((g->flags & GSV_FLAG_ESS) && few)
        n += (size_t)sprintf(room + n, "%.1f of %zu %s carry the weight",
                             g->ess, r->paths, WEIGHED[r->observe]);
    else if (g->flags & GSV_FLAG_ESS)
        n += (size_t)sprintf(
            room + n, "changes by %.2g with half of the points", g->error);
    if (g->flags & GSV_FLAG_KHAT)
        n += (size_t)sprintf(room + n, "%sk-hat %.2f", n ? ", " : "", g->khat);
    if (g->flags & GSV_FLAG_STEPS)
        n += (size_t)sprintf(room + n,
                             "%schanges by %+.2g when the steps double",
                             n ? ", " : "", g->discretisation);
    if (g->flags & GSV_FLAG_MODES)
        n += (size_t)sprintf(
            room + n, "%sother states explain the data as well", n ? ", " : "");
    if (g->flags & GSV_FLAG_NODES)
        sprintf(room + n, "%sfewer nodes change it by more than 0.25",
                n ? ", " : "");
    return room;
}

/* --- Text ----------------------------------------------------------------- */

double median_ess(const gsv_result *r)
{
    double *ess = malloc(r->groups * sizeof *ess), median = NAN;
    for (size_t i = 0; ess && i < r->groups; i++)
        ess[i] = r->gap[i].ess;
    if (ess) {
        sort_numbers(r->groups, ess);
        median = ess[r->groups / 2];
    }
    free(ess);
    return median;
}

static void print_health(const gsv_options *o, const gsv_result *r)
{
    char text[120];
    say(stdout, "log-likelihood  %.6g", r->loglik);
    if (!has_weights(r)) say(stdout, is_exact(r) ? " (exact)" : "");
    else if (isfinite(r->error)) say(stdout, " +- %.2g", r->error);
    say(stdout, ", %zu %s\n", r->groups, unit_of(o, r));
    if (has_weights(r))
        say(stdout, "effective %s %.1f at worst, median %.1f, of %zu\n",
            r->observe ? "size " : "paths", r->ess_min, median_ess(r),
            r->paths);
    if (isfinite(r->khat_max) && r->paths > 1)
        say(stdout, "k-hat           %.2f at worst\n", r->khat_max);
    if (r->paths > 1 && !r->observe)
        say(stdout, "bias of the log %+.2g by the delta method\n", r->log_bias);
    if (isfinite(r->discretisation))
        say(stdout, "discretisation  %+.3g  from steps twice as long\n",
            r->discretisation);
    put_quadrature(r->nodes, r->quadrature, stdout);
    if (r->observe) {
        say(stdout, "estimator       %s\n",
            option_word("--observe", (int)r->observe));
        return;
    }
    if (has_weights(r))
        say(stdout, "reference       %s\n", references_used(r, text));
    say(stdout, "form            %s\n", forms_used(r, text));
}

void put_advice(const gsv_options *o, const gsv_result *r, FILE *out)
{
    size_t weights = 0, steps = 0, brownian = 0, modes = 0, nodes = 0;
    for (size_t i = 0; i < r->groups; i++) {
        unsigned flags = r->gap[i].flags;
        if (flags & (GSV_FLAG_ESS | GSV_FLAG_KHAT)) weights++;
        if (flags & GSV_FLAG_STEPS) steps++;
        if (flags & GSV_FLAG_MODES) modes++;
        if (flags & GSV_FLAG_NODES) nodes++;
        if (flags && r->gap[i].reference == GSV_REFERENCE_BROWNIAN) brownian++;
    }
    if (weights && o->joint)
        fputs("  average each gap separately: omit --joint\n", out);
    if (weights && brownian && o->reference == GSV_REFERENCE_BROWNIAN)
        fputs("  draw bridges that follow the drift: --reference auto\n", out);
    if (modes && r->observe != GSV_OBSERVE_SCAN)
        fputs("  draw points around all states that explain the data: "
              "--observe scan\n",
              out);
    else if (modes)
        fputs("  give the first state a narrower law (init), or observe more "
              "of the state: the data allow more states than are followed\n",
              out);
    bool observed = r->observe != GSV_OBSERVE_AUTO;
    if (weights && r->observe == GSV_OBSERVE_CONJUGATE)
        fputs("  draw states that follow the equation: --observe guided or "
              "scan\n",
              out);
    else if (weights && r->observe && r->observe != GSV_OBSERVE_GUIDED)
        fputs("  let particles look ahead: --observe guided\n", out);
    if (weights)
        say(out, "  use more %s: --%s %zu\n", observed ? "points" : "paths",
            observed ? "support" : "paths", 4 * r->paths);
    if (steps) say(out, "  use more steps: --steps %zu\n", 2 * r->steps);
    if (nodes)
        say(out, "  use more nodes for the random effects: --nodes %d\n",
            o->nodes > 15  ? 33
            : o->nodes > 9 ? 21
                           : 15);
}

/* Without flags: claims no more than was checked. */
static void print_unflagged(const gsv_result *r)
{
    if (steps_are_long(r))
        say(stdout,
            "\nThe steps are too long: the log-likelihood changes by %+.3g "
            "when they double.\n\nWhat may help:\n  use more steps: --steps "
            "%zu\n",
            r->discretisation, 2 * r->steps);
    else if (is_exact(r))
        puts("\nThe value is exact: there are no weights and no steps to "
             "check.");
    else if (!has_weights(r))
        puts("\nThe steps are short enough, and there are no weights to "
             "check.");
    else if (r->steps == 1 && !r->observe)
        puts("\nWith one step per gap nothing can be checked: compare with "
             "--steps 2.");
    else if (r->paths == 1)
        puts("\nThe steps are short enough; the weights cannot be checked "
             "with one path.");
    else puts("\nNo problem was found: the estimate can be trusted.");
}

static void print_flagged(const gsv_series *s, const gsv_options *o,
                          const gsv_result *r, const gsv_gap **list)
{
    char text[REASON_ROOM];
    if (!r->flagged) {
        print_unflagged(r);
        return;
    }
    say(stdout, "\n%zu of %zu %s cannot be trusted:\n", r->flagged, r->groups,
        unit_of(o, r));
    for (size_t i = 0; i < r->flagged && i < SHOWN; i++)
        say(stdout, "  series %s, time %g to %g: %s\n",
            s->label[list[i]->track], s->time[list[i]->from],
            s->time[list[i]->to], gap_reason(r, list[i], text));
    if (r->flagged > SHOWN)
        say(stdout, "  ... and %zu more\n", r->flagged - SHOWN);
    puts("\nWhat may help:");
    put_advice(o, r, stdout);
}

/* --- JSON --------------------------------------------------------------- */

static json_t *gap_json(const gsv_series *s, const gsv_gap *g)
{
    json_t *j = json_object(), *flags = json_array();
    add_text(j, "series", s->label[g->track]);
    add_number(j, "from", s->time[g->from]);
    add_number(j, "to", s->time[g->to]);
    add_number(j, "loglik", g->loglik);
    add_number(j, "stderr", g->error);
    add_number(j, "ess", g->ess);
    add_number(j, "khat", g->khat);
    add_number(j, "log_bias", g->log_bias);
    add_number(j, "discretisation", g->discretisation);
    add_text(j, "reference", option_word("--reference", (int)g->reference));
    add_text(j, "form", option_word("--form", (int)g->form));
    if (g->flags & GSV_FLAG_ESS)
        json_array_append_new(flags, json_string("ess"));
    if (g->flags & GSV_FLAG_KHAT)
        json_array_append_new(flags, json_string("khat"));
    if (g->flags & GSV_FLAG_STEPS)
        json_array_append_new(flags, json_string("steps"));
    if (g->flags & GSV_FLAG_MODES)
        json_array_append_new(flags, json_string("modes"));
    if (g->flags & GSV_FLAG_NODES)
        json_array_append_new(flags, json_string("nodes"));
    json_object_set_new(j, "flags", flags);
    return j;
}

static json_t *diagnosis_json(const gsv_series *s, const gsv_options *o,
                              const gsv_result *r)
{
    json_t *j = json_object(), *gaps = json_array();
    for (size_t i = 0; i < r->groups; i++)
        json_array_append_new(gaps, gap_json(s, &r->gap[i]));
    json_estimate(r, j);
    add_count(j, "paths", r->paths);
    add_count(j, "steps", r->steps);
    if (o->tolerance > 0.0) add_bool(j, "settled", r->settled);
    add_count(j, "flagged", r->flagged);
    add_bool(j, "reliable", !estimate_is_doubtful(r));
    json_object_set_new(j, "gaps", gaps);
    return j;
}

/* --- The verb ----------------------------------------------------------- */

static int report(const struct args *a, const gsv_model *m, const gsv_series *s,
                  const gsv_options *o, const gsv_result *r)
{
    const gsv_gap **list = worst_gaps(r);
    int code = EXIT_DONE;
    if (!list) return EXIT_NUMBERS;
    json_t *json = a->json ? diagnosis_json(s, o, r) : NULL;
    if (!json) {
        print_health(o, r);
        print_flagged(s, o, r, list);
    }
    code = report_residuals(a, m, s, r, json);
    if (!code) code = say_functions(a, m, s, false);
    if (!code && json) code = put_functions(json, m, s, false);
    if (json && code) json_decref(json);
    else if (json) code = print_json(json);
    free(list);
    say_effort(a, o, r);
    return code == EXIT_DONE && a->strict && r->flagged ? EXIT_STRICT : code;
}

int diagnose_run(const struct args *a, gsv_model *m)
{
    gsv_options o = estimator_options(a);
    gsv_result r = {0};
    gsv_series *s = open_data(a, m);
    if (!s) return EXIT_INPUT;
    estimator_recall(a, m, &o);
    say_shared(a, m, &o);
    say_idle(a, m, s, &o);
    int code = gsv_loglik(m, s, &o, &r) ? complain_last()
               : ranks_writes(a)        ? report(a, m, s, &o, &r)
                                        : report_residuals(a, m, s, &r, NULL);
    gsv_result_free(&r);
    gsv_series_free(s);
    return code;
}
