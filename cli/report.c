/* SPDX-License-Identifier: MIT */
/* girsanov report: one page about a fit and its data. First all results are
 * computed, then the page is written. If a result is impossible, such as the
 * residuals of a single row, the page has the reason instead. */
#include "report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The last rows: drawn; smoothed for latent states, and drawn of these; and the
 * number of sample paths. */
enum { NEAR_ROWS = 24, SMOOTHED_ROWS = 2000, NEAR_LATENT = 80, DRAWS = 6 };

static void tell(const struct report *r, const char *what)
{
    if (!r->args->quiet) say(stderr, "report: %s\n", what);
}

/* Keeps the reason why a part is empty; without memory it is an error. */
static int note_why(char why[WHY_ROOM])
{
    if (gsv_last_status() == GSV_NO_MEMORY) return complain_last();
    snprintf(why, WHY_ROOM, "%s", gsv_last_error());
    return 0;
}

/* --- Results -------------------------------------------------------------- */

static int find_weights(struct report *r)
{
    tell(r, "weights of all gaps");
    if (gsv_loglik(r->model, r->data, &r->estimator, &r->weights))
        return complain_last();
    r->worst = worst_gaps(&r->weights);
    return r->worst ? 0 : EXIT_NUMBERS;
}

static int find_residuals(struct report *r)
{
    gsv_predict_options o = residual_options(r->args, r->model);
    tell(r, "residuals of all rows");
    if (!gsv_residuals(r->model, r->data, &o, &r->residuals)) return 0;
    r->residuals = (gsv_residuals_result){0};
    return note_why(r->no_residuals);
}

/* The last rows of the first track that has at least two. */
static int find_near(struct report *r)
{
    const gsv_series *s = r->data;
    size_t most = r->latent ? SMOOTHED_ROWS : NEAR_ROWS;
    while (r->track < s->tracks &&
           s->start[r->track + 1] < s->start[r->track] + 2)
        r->track++;
    if (r->track == s->tracks) return 0;
    size_t end = s->start[r->track + 1], all = end - s->start[r->track];
    size_t n = all < most ? all : most;
    double *value = malloc(n * s->columns * sizeof *value);
    if (!value) return complain_memory();
    for (size_t c = 0; c < s->columns; c++)
        memcpy(value + c * n, s->value + c * s->rows + end - n,
               n * sizeof *value);
    r->near =
        gsv_series_new(1, (size_t[]){0, n}, s->columns,
                       (const char *const *)s->name, s->time + end - n, value);
    free(value);
    if (!r->near) return complain_last();
    size_t shown = r->latent && n > NEAR_LATENT ? NEAR_LATENT : n;
    r->from = r->near->time[n - shown];
    return 0;
}

static int find_paths(struct report *r)
{
    gsv_paths_options o = gsv_paths_options_default();
    o.estimator = r->estimator;
    o.estimator.paths = 0;
    estimator_for_paths(r->args, r->model, &o.estimator);
    o.estimator.joint = o.estimator.richardson = o.estimator.delta = false;
    o.estimator.tolerance = 0.0;
    o.draws = DRAWS;
    tell(r, "sample paths");
    if (!gsv_paths(r->model, r->near, &o, &r->paths)) return 0;
    r->paths = (gsv_smoothed){0};
    return note_why(r->no_paths);
}

/* Half as long as the rows that are drawn. */
static int find_forecast(struct report *r)
{
    gsv_predict_options o = residual_options(r->args, r->model);
    o.ahead = 0.5 * (r->near->time[r->near->rows - 1] - r->from);
    tell(r, "forecast");
    if (!gsv_predict(r->model, r->near, &o, &r->forecast)) return 0;
    r->forecast = (gsv_prediction){0};
    return note_why(r->no_forecast);
}

/* Draws on a grid, or simulations for each, would take as long as all else. */
static int find_physics(struct report *r)
{
    gsv_physics_options o = gsv_physics_options_default();
    size_t dim = gsv_model_dim(r->model);
    o.draws = dim == 1 ? 0 : dim == 2 ? 40 : 1;
    o.grid = dim == 2 ? 64 : 0;
    o.seed = r->estimator.seed;
    o.threads = r->estimator.threads;
    tell(r, "physics");
    if (!gsv_physics(r->model, r->data, &o, &r->physics)) return 0;
    return note_why(r->no_physics);
}

static int find_all(struct report *r)
{
    r->latent = has_hidden_states(r->model, r->data);
    r->dates = strstr(r->data->note, "days since 1970-01-01") != NULL;
    r->outside = gsv_model_outside(r->model, r->data);
    if (!r->outside) return complain_last();
    if (gsv_model_has_posterior(r->model) &&
        !(r->functions = gsv_functions_new(r->model)))
        return complain_last();
    int code = find_weights(r);
    if (!code) code = find_residuals(r);
    if (!code) code = find_near(r);
    if (!code && r->near) code = find_paths(r);
    if (!code && r->near) code = find_forecast(r);
    return code ? code : find_physics(r);
}

static void free_all(struct report *r)
{
    gsv_text_free(r->outside);
    gsv_functions_free(r->functions);
    gsv_result_free(&r->weights);
    free(r->worst);
    gsv_residuals_free(&r->residuals);
    gsv_series_free(r->near);
    gsv_smoothed_free(&r->paths);
    gsv_prediction_free(&r->forecast);
    gsv_physics_free(&r->physics);
}

/* --- The page ------------------------------------------------------------- */

static void put_missing(struct report *r, const char *what, const char *why)
{
    if (!*why) return;
    fprintf(r->out, "<p>%s: ", what);
    page_text(r->out, why);
    fputs("</p>\n", r->out);
}

static int put_learning(struct report *r)
{
    if (r->pictures && r->record->points > 1) return draw_curve(r);
    if (r->record->points) put_curve_table(r);
    else
        fputs("<p>The fit has no learning curve: it was written by an older "
              "version, or nothing was learned.</p>\n",
              r->out);
    return 0;
}

static int put_data(struct report *r)
{
    int code = 0;
    if (r->pictures) code = draw_data(r);
    if (!code && r->pictures && (r->paths.rows || r->forecast.rows))
        code = draw_near(r);
    if (!r->near)
        fputs("<p>No series has two rows: there are no paths.</p>\n", r->out);
    put_missing(r, "There are no sample paths", r->no_paths);
    put_missing(r, "There is no forecast", r->no_forecast);
    if (r->forecast.rows) put_forecast_table(r);
    return code;
}

static int put_weights(struct report *r)
{
    int code = 0;
    fputs("<p>The likelihood is a mean over weighted bridges between the rows. "
          "It cannot be trusted where few bridges carry all the weight, or "
          "where the steps are too long.</p>\n",
          r->out);
    if (r->pictures && r->weights.paths > 1) code = draw_weights(r);
    return code ? code : put_weights_table(r);
}

static int put_residuals(struct report *r)
{
    int code = 0;
    put_missing(r, "There are no residuals", r->no_residuals);
    if (*r->no_residuals) return 0;
    if (r->residuals.rows < FEW_RESIDUALS) {
        fputs("<p>There are too few rows for residuals.</p>\n", r->out);
        return 0;
    }
    if (r->pictures) code = draw_residuals(r);
    return code ? code : put_residuals_table(r);
}

static const struct part {
    const char *id, *link, *title;
    int (*put)(struct report *r);
    bool (*is_there)(const struct report *r); /* NULL: always */
} PARTS[] = {
    {"fit", "Fit", "Model and data", put_facts, NULL},
    {"learning", "Learning", "Learning", put_learning, NULL},
    {"parameters", "Parameters", "Parameters", put_parameters, NULL},
    {"effects", "Effects", "Random effects", put_effects, has_effects},
    {"field", "Drift and diffusion", "Drift and diffusion", draw_field, NULL},
    {"physics", "Physics", "Physics", put_physics, NULL},
    {"data", "Data and paths", "Data, paths and a forecast", put_data, NULL},
    {"weights", "Weights", "Diagnostics of the weights", put_weights, NULL},
    {"residuals", "Residuals", "Residuals", put_residuals, NULL},
    {"commands", "Commands", "Commands", put_commands, NULL},
};
enum { PART_COUNT = sizeof PARTS / sizeof *PARTS };

static bool is_there(const struct report *r, const struct part *p)
{
    return !p->is_there || p->is_there(r);
}

static void put_top(struct report *r)
{
    page_begin(r->out, r->args->model);
    fputs("<header>\n<h1>", r->out);
    page_text(r->out, r->args->model);
    fputs("</h1>\n<p class=\"sub\">A stochastic differential equation, learned "
          "from ",
          r->out);
    page_text(r->out, r->record->data);
    fputs("</p>\n<nav>", r->out);
    for (size_t i = 0; i < PART_COUNT; i++)
        if (is_there(r, &PARTS[i]))
            fprintf(r->out, "<a href=\"#%s\">%s</a>", PARTS[i].id,
                    PARTS[i].link);
    fputs("</nav>\n</header>\n", r->out);
    put_verdict(r);
    if (!r->pictures)
        fputs("<p id=\"no-figures\">There are no figures, because gnuplot is "
              "not installed (package gnuplot-nox). The tables are "
              "complete.</p>\n",
              r->out);
}

static int put_page(struct report *r)
{
    int code = 0;
    put_top(r);
    for (size_t i = 0; !code && i < PART_COUNT; i++) {
        if (!is_there(r, &PARTS[i])) continue;
        fprintf(r->out, "<section id=\"%s\">\n<h2>%s</h2>\n", PARTS[i].id,
                PARTS[i].title);
        code = PARTS[i].put(r);
        fputs("</section>\n", r->out);
    }
    page_end(r->out);
    return code;
}

/* --- The verb ------------------------------------------------------------- */

static int finish(const struct report *r, long bytes)
{
    const struct args *a = r->args;
    bool file = strcmp(a->output, "-") != 0;
    if (!r->pictures)
        say(stderr, "warning: the page has no figures: gnuplot is not "
                    "installed; install the package gnuplot-nox\n");
    if (r->missing)
        say(stderr,
            "warning: %zu figure%s could not be drawn; the page says why\n",
            r->missing, plural(r->missing));
    if (a->json) {
        json_t *j = json_object();
        add_text(j, "output", a->output);
        json_object_set_new(j, "bytes", json_integer(bytes));
        add_count(j, "figures", r->figures);
        add_count(j, "troubles", r->troubles);
        add_count(j, "flagged", r->weights.flagged);
        add_bool(j, "trusted", !r->troubles);
        return print_json(j);
    }
    if (!a->quiet && file)
        say(stderr, "wrote %s: %zu figure%s; %s\n", a->output, r->figures,
            plural(r->figures),
            r->troubles ? "there are reasons not to trust the fit"
                        : "no problem was found");
    return EXIT_DONE;
}

static int write_page(struct report *r)
{
    struct draft d;
    if (draft_open(&d, r->args->output)) return EXIT_INPUT;
    r->out = d.out;
    tell(r, "the page");
    int code = put_page(r);
    long bytes = ftell(d.out);
    int closed = draft_close(&d, !code);
    if (!code) code = closed;
    return code ? code : finish(r, bytes);
}

int report_run(const struct args *a, gsv_model *m)
{
    struct report r = {.args = a,
                       .model = m,
                       .record = gsv_model_record(m),
                       .pictures = has_gnuplot()};
    if (!a->output)
        return complain(EXIT_INPUT, "-o FILE is missing: the file for the "
                                    "page, for example -o report.html");
    if (!r.record)
        return complain(EXIT_INPUT,
                        "%s is a model's text, not a fit; 'girsanov fit' makes "
                        "one",
                        a->model);
    r.estimator = estimator_options(a);
    estimator_recall(a, m, &r.estimator);
    gsv_series *s = open_data(a, m);
    if (!s) return EXIT_INPUT;
    r.data = s;
    int code = find_all(&r);
    if (!code) code = write_page(&r);
    free_all(&r);
    gsv_series_free(s);
    return code;
}
