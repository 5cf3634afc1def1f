/* SPDX-License-Identifier: MIT */
/* The texts and tables of the page: facts, parameters, gaps, residuals,
 * commands. */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "field.h"
#include "options.h"
#include "report.h"

enum { MOST_PARAMETERS = 200, MOST_GAPS = 10, CURVE_ROWS = 10 };

/* --- Facts ---------------------------------------------------------------- */

static void fact(FILE *out, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void fact(FILE *out, const char *name, const char *format, ...)
{
    char room[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(room, sizeof room, format, args);
    va_end(args);
    fputs("<tr><th>", out);
    page_text(out, name);
    fputs("</th><td>", out);
    page_text(out, room);
    fputs("</td></tr>\n", out);
}

static void put_record(const struct report *r, FILE *to)
{
    put_likelihood(r->record, to);
}

/* The lines of summary, which have a name in the first 16 columns. */
static int put_lines(const struct report *r)
{
    char *text = captured(r, put_record), *line, *rest = NULL;
    if (!text) return EXIT_NUMBERS;
    for (line = strtok_r(text, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest)) {
        char name[17];
        snprintf(name, sizeof name, "%.16s", line);
        for (size_t n = strlen(name); n && name[n - 1] == ' ';)
            name[--n] = 0;
        fact(r->out, name, "%s", strlen(line) > 16 ? line + 16 : "");
    }
    free(text);
    return 0;
}

static bool is_same_data(const struct report *r)
{
    const char *a = strrchr(r->record->data, '/');
    const char *b = strrchr(r->data->source, '/');
    return r->record->rows == r->data->rows &&
           r->record->tracks == r->data->tracks &&
           !strcmp(a ? a + 1 : r->record->data, b ? b + 1 : r->data->source);
}

static void put_data_facts(const struct report *r)
{
    const gsv_series *s = r->data;
    char low[TIME_ROOM], high[TIME_ROOM];
    double first, last;
    find_range(s->time, s->rows, 1, &first, &last);
    fact(r->out, "fit", "%s", r->args->model);
    fact(r->out, "learned from", "%s: %zu series, %zu rows, %zu gaps",
         r->record->data, r->record->tracks, r->record->rows,
         r->record->gaps + r->record->heldout_gaps);
    if (!is_same_data(r))
        fact(r->out, "shown with",
             "%s: %zu series, %zu rows. The fit was learned "
             "from other data.",
             s->source, s->tracks, s->rows);
    fact(r->out, "times", "%s to %s", time_text(r, first, low),
         time_text(r, last, high));
    if (*s->note) fact(r->out, "note", "%s", s->note);
}

int put_facts(struct report *r)
{
    fputs("<table class=\"facts\"><tbody>\n", r->out);
    put_data_facts(r);
    int code = put_lines(r);
    fputs("</tbody></table>\n<h3>The model</h3>\n<pre>", r->out);
    page_text(r->out, gsv_model_text(r->model));
    fputs("</pre>\n", r->out);
    return code;
}

/* --- Parameters ----------------------------------------------------------- */

static void put_parameter(const struct report *r, const struct number *n)
{
    const gsv_record *k = r->record;
    FILE *out = r->out;
    char name[NAME_ROOM];
    fputs("<tr>", out);
    page_name(out, number_name(n, name));
    page_number(out, gsv_model_value(r->model)[n->at], 6);
    page_number(out, k->error_of[n->at], 3);
    page_number(out, k->low[n->at], 5);
    page_number(out, k->high[n->at], 5);
    if (k->posterior) {
        page_number(out, posterior(k, GSV_POSTERIOR_MEDIAN, n->at), 5);
        page_number(out, posterior(k, GSV_POSTERIOR_RHAT, n->at), 4);
        page_number(out, posterior(k, GSV_POSTERIOR_ESS_BULK, n->at), 4);
        page_number(out, posterior(k, GSV_POSTERIOR_ESS_TAIL, n->at), 4);
    }
    fputs("</tr>\n", out);
}

static const char *source_of_errors(const gsv_record *r)
{
    switch (r->errors) {
    case GSV_ERRORS_SANDWICH:
        return "Standard errors are sandwich estimates; intervals are 95 %.";
    case GSV_ERRORS_POSTERIOR:
        return "Means, standard deviations and 95 % intervals of the posterior "
               "draws. R-hat should be below 1.01, effective sample sizes "
               "above 400.";
    case GSV_ERRORS_OBSERVED:
        return "Standard errors are from the observed information; intervals "
               "are 95 %. A dash means that the parameter was fixed or is at "
               "a bound.";
    case GSV_ERRORS_AUTO:
    case GSV_ERRORS_NONE: break;
    }
    return "There are no standard errors.";
}

int put_parameters(struct report *r)
{
    FILE *out = r->out;
    size_t count;
    size_t weights =
        count_weights(r->model, false) + count_weights(r->model, true);
    struct number *list = model_numbers(r->model, &count);
    if (!list) return EXIT_NUMBERS;
    if (count) {
        fprintf(out, "<p>%s</p>\n", source_of_errors(r->record));
        page_table(out,
                   r->record->posterior
                       ? "parameter|mean|sd|2.5 %|97.5 %|median|R-hat|bulk "
                         "size|tail size"
                       : "parameter|estimate|standard error|from|to");
        for (size_t i = 0; i < count && i < MOST_PARAMETERS; i++)
            put_parameter(r, &list[i]);
        page_table_end(out);
    }
    if (count > MOST_PARAMETERS)
        fprintf(out,
                "<p>&hellip; and %zu more: see <code>girsanov "
                "summary</code>.</p>\n",
                count - MOST_PARAMETERS);
    if (weights)
        fprintf(out,
                "<p>There are %zu%s weights of networks or values of Gaussian "
                "processes; they define the <a href=\"#field\">drift</a> "
                "below.</p>\n",
                weights, count ? " other" : "");
    free(list);
    return 0;
}

/* --- Learning ------------------------------------------------------------- */

void put_curve_table(const struct report *r)
{
    const gsv_record *k = r->record;
    size_t n = k->points, rows = n < CURVE_ROWS ? n : CURVE_ROWS;
    page_table(r->out, "iteration|start|log-likelihood per gap|held out");
    for (size_t i = 0; i < rows; i++) {
        size_t at = rows > 1 ? i * (n - 1) / (rows - 1) : 0;
        fputs("<tr>", r->out);
        for (size_t c = 0; c < GSV_CURVES; c++)
            page_number(r->out, k->curve[c * n + at], 6);
        fputs("</tr>\n", r->out);
    }
    page_table_end(r->out);
}

/* --- Field ---------------------------------------------------------------- */

/* At the middle of the data. */
int put_field_table(const struct report *r, const double *low,
                    const double *high)
{
    const gsv_model *m = r->model;
    size_t dim = gsv_model_dim(m), noises = gsv_model_noises(m);
    struct block b;
    if (block_init(&b, m, 1)) return EXIT_NUMBERS;
    b.n = 1;
    for (size_t i = 0; i < gsv_model_columns(m); i++)
        b.value[i] = 0.5 * low[i] + 0.5 * high[i];
    b.time[0] = 0.5 * r->data->time[0] + 0.5 * r->data->time[r->data->rows - 1];
    int code = block_field(&b, m, r->functions);
    if (!code) {
        page_table(r->out, r->functions
                               ? "state|lowest|middle|highest|drift in "
                                 "the middle|its sd|noise there"
                               : "state|lowest|middle|highest|drift in "
                                 "the middle|noise there");
        for (size_t i = 0; i < dim && i < MOST_PARAMETERS; i++) {
            double square = 0.0;
            for (size_t j = 0; j < noises; j++)
                square += b.g[i * noises + j] * b.g[i * noises + j];
            fputs("<tr>", r->out);
            page_name(r->out, gsv_model_column(m)[i]);
            page_number(r->out, low[i], 4);
            page_number(r->out, b.value[i], 4);
            page_number(r->out, high[i], 4);
            page_number(r->out, b.f[i], 4);
            if (r->functions) page_number(r->out, b.sd[i], 3);
            page_number(r->out, sqrt(square), 4);
            fputs("</tr>\n", r->out);
        }
        page_table_end(r->out);
    }
    free(b.time);
    return code;
}

/* --- Forecast ------------------------------------------------------------- */

/* At half of its length and at its end. */
void put_forecast_table(const struct report *r)
{
    const gsv_prediction *p = &r->forecast;
    FILE *out = r->out;
    char text[TIME_ROOM];
    page_table(out, "column|time|mean|sd|5 %|25 %|median|75 %|95 %");
    for (size_t c = 0; c < p->columns && c < MOST_PARAMETERS; c++)
        for (size_t k = 1; k <= 2; k++) {
            size_t n = k * p->rows / 2;
            n = n ? n - 1 : 0;
            fputs("<tr>", out);
            page_name(out, p->name[c]);
            page_name(out, time_text(r, p->time[n], text));
            page_number(out, p->mean[c * p->rows + n], 4);
            page_number(out, p->sd[c * p->rows + n], 3);
            for (size_t q = 0; q < p->quantiles; q++)
                page_number(
                    out, p->quantile[(c * p->quantiles + q) * p->rows + n], 4);
            fputs("</tr>\n", out);
        }
    page_table_end(out);
}

/* --- Weights -------------------------------------------------------------- */

static void put_gap(const struct report *r, const gsv_gap *g)
{
    FILE *out = r->out;
    char text[REASON_ROOM], from[TIME_ROOM], to[TIME_ROOM];
    fputs("<tr>", out);
    page_name(out, r->data->label[g->track]);
    page_name(out, time_text(r, r->data->time[g->from], from));
    page_name(out, time_text(r, r->data->time[g->to], to));
    page_number(out, g->ess, 3);
    page_number(out, g->khat, 2);
    page_number(out, g->discretisation, 2);
    fputs("<td class=\"text\">", out);
    page_text(out, gap_reason(&r->weights, g, text));
    fputs("</td></tr>\n", out);
}

static void put_weights_advice(const struct report *r, FILE *to)
{
    put_advice(&r->estimator, &r->weights, to);
}

static int put_help(const struct report *r)
{
    char *text = captured(r, put_weights_advice);
    if (!text) return EXIT_NUMBERS;
    if (*text) {
        fputs("<p>What may help:</p>\n<ul>\n", r->out);
        page_lines(r->out, text);
        fputs("</ul>\n", r->out);
    }
    free(text);
    return 0;
}

int put_weights_table(const struct report *r)
{
    const gsv_result *w = &r->weights;
    FILE *out = r->out;
    size_t shown = w->flagged < MOST_GAPS ? w->flagged : MOST_GAPS;
    char used[120];
    fputs("<table class=\"facts\"><tbody>\n", out);
    if (is_exact(w)) fact(out, "log-likelihood", "%.6g, exact", w->loglik);
    else if (isfinite(w->error))
        fact(out, "log-likelihood", "%.6g +- %.2g", w->loglik, w->error);
    else fact(out, "log-likelihood", "%.6g", w->loglik);
    if (has_weights(w))
        fact(out, "effective size", "%.1f at worst, median %.1f, of %zu",
             w->ess_min, median_ess(w), w->paths);
    if (isfinite(w->khat_max) && w->paths > 1)
        fact(out, "k-hat", "%.2f at worst", w->khat_max);
    if (isfinite(w->discretisation))
        fact(out, "discretisation", "%+.3g from steps twice as long",
             w->discretisation);
    fact(out, "bridges", "%s",
         w->observe ? option_word("--observe", (int)w->observe)
                    : references_used(w, used));
    fact(out, "not trusted", "%zu of %zu %s", w->flagged, w->groups,
         unit_of(&r->estimator, w));
    fputs("</tbody></table>\n", out);
    if (!shown) return 0;
    fprintf(out, "<h3>The worst %s</h3>\n", unit_of(&r->estimator, w));
    page_table(out, "series|from|to|effective size|k-hat|l(dt) &minus; "
                    "l(2dt)|why");
    for (size_t i = 0; i < shown; i++)
        put_gap(r, r->worst[i]);
    page_table_end(out);
    return put_help(r);
}

/* --- Residuals ------------------------------------------------------------ */

static void put_p(FILE *out, double p)
{
    if (isnan(p)) fputs("<td>&ndash;</td>", out);
    else if (p < 1e-3) fprintf(out, "<td class=\"wrong\">%.2g</td>", p);
    else fprintf(out, "<td>%.2g</td>", p);
}

static void put_residuals_advice(const struct report *r, FILE *to)
{
    for (size_t c = 0; c < r->residuals.columns; c++)
        put_residual_advice(&r->residuals.column[c], to);
}

static int put_model_verdict(const struct report *r)
{
    if (judge_model(r->model, &r->weights, &r->residuals) == MODEL_UNDECIDED) {
        fprintf(r->out, "<p>%s</p>\n", UNDECIDED);
        return 0;
    }
    char *text = captured(r, put_residuals_advice);
    if (!text) return EXIT_NUMBERS;
    if (*text) {
        fputs("<p class=\"wrong\">The residuals contradict the model:</p>\n"
              "<pre>",
              r->out);
        page_text(r->out, text);
        fputs("</pre>\n", r->out);
    } else fputs("<p>The residuals do not contradict the model.</p>\n", r->out);
    free(text);
    return 0;
}

int put_residuals_table(const struct report *r)
{
    FILE *out = r->out;
    page_table(out, "column|rows|uniform, p|mean of z|sd of z|lag 1|all lags, "
                    "p|lag 1 of squares|all lags, p");
    for (size_t c = 0; c < r->residuals.columns; c++) {
        const gsv_residual *of = &r->residuals.column[c];
        fputs("<tr>", out);
        page_name(out, of->name);
        page_number(out, (double)of->rows, 12);
        put_p(out, of->uniform_p);
        page_number(out, shown(of->mean, 3), 2);
        page_number(out, of->sd, 3);
        page_number(out, shown(of->correlation[0], 3), 2);
        put_p(out, of->ljung_p);
        page_number(out, shown(of->square[0], 3), 2);
        put_p(out, of->square_p);
        fputs("</tr>\n", out);
    }
    page_table_end(out);
    return put_model_verdict(r);
}

/* --- Commands ------------------------------------------------------------- */

/* A word, quoted for sh if needed. */
static void put_word(FILE *out, const char *word)
{
    static const char PLAIN[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/=:,+-";
    putc(' ', out);
    if (*word && !word[strspn(word, PLAIN)]) {
        page_text(out, word);
        return;
    }
    page_text(out, "'");
    for (size_t n; *word; word += n) {
        char part[1024];
        n = strcspn(word, "'");
        if (n >= sizeof part) n = sizeof part - 1;
        snprintf(part, sizeof part, "%.*s", (int)n, word);
        page_text(out, part);
        if (word[n] != '\'') continue;
        page_text(out, "'\\''");
        n++;
    }
    page_text(out, "'");
}

/* The options of the command line that the verb also has, except outputs.
 * --draws and --paths have another meaning for verbs other than diagnose. */
static void put_options(const struct report *r, const char *name)
{
    static const char *const OWN[] = {
        "--output", "-o", "--json", "--quiet", "--draws", "--paths", NULL};
    const struct verb *verb = find_verb(name);
    const struct verb *mine = find_verb("report");
    bool all = !strcmp(name, "diagnose");
    for (size_t i = 0; i < r->args->given.count; i++) {
        const char *word = r->args->given.word[i], *value, *other;
        if (word[0] != '-' || !word[1]) continue;
        struct option o, same;
        bool found = find_option(mine, word, &o, &value);
        bool next = found && takes_word(&o) && !value;
        bool own = false;
        for (size_t k = 0; found && OWN[k]; k++)
            own = own || (!strcmp(o.name, OWN[k]) && !(all && k > 3));
        if (found && !own && find_option(verb, o.name, &same, &other)) {
            put_word(r->out, word);
            if (next) put_word(r->out, r->args->given.word[i + 1]);
        }
        i += next;
    }
}

static void put_command(const struct report *r, const char *verb,
                        const char *more)
{
    fprintf(r->out, "girsanov %s", verb);
    put_word(r->out, r->args->model);
    if (strcmp(verb, "summary")) {
        put_word(r->out, r->args->data);
        put_options(r, verb);
    }
    fprintf(r->out, "%s\n", more);
}

int put_commands(struct report *r)
{
    FILE *out = r->out;
    fputs("<p>Commands for this page and its numbers:</p>\n<pre>girsanov "
          "report",
          out);
    for (size_t i = 0; i < r->args->given.count; i++)
        put_word(out, r->args->given.word[i]);
    putc('\n', out);
    put_command(r, "summary", " --model");
    put_command(r, "diagnose", " --residuals residuals.csv");
    /* Other models have no default grid. */
    if (!r->latent && gsv_model_dim(r->model) <= 3)
        put_command(r, "field", " --plot field.svg");
    put_command(r, "paths", " -o paths.csv");
    put_command(r, "predict", " -o forecast.csv");
    fputs("</pre>\n<p>Command for the fit, with the model's text above as "
          "model.sde; the record of a fit has only the seed of its "
          "options:</p>\n"
          "<pre>girsanov fit model.sde",
          out);
    put_word(out, r->record->data);
    fputs(" -o", out);
    put_word(out, r->args->model);
    fprintf(out, " --seed %llu</pre>\n", (unsigned long long)r->record->seed);
    return 0;
}
