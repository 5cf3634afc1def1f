/* SPDX-License-Identifier: MIT */
/* girsanov predict: forecasts as CSV and a figure, and their scores. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

struct ask {
    gsv_predict_options o;
    gsv_series *data; /* includes held-out rows and later inputs */
    double *time, *level, *until;
};

/* --- Options -------------------------------------------------------------- */

static int parse_levels(const struct args *a, struct ask *q)
{
    int code = parse_quantiles(a->quantiles, &q->level, &q->o.quantiles);
    q->o.quantile = q->level;
    return code;
}

static int parse_from(const struct args *a, struct ask *q)
{
    char *end;
    double from = strtod(a->from, &end);
    if (end == a->from || *end || !isfinite(from))
        return complain(EXIT_INPUT, "--from %s: expected a time as a number",
                        a->from);
    q->until = malloc(q->data->tracks * sizeof *q->until);
    if (!q->until) return complain_memory();
    for (size_t r = 0; r < q->data->tracks; r++)
        q->until[r] = from;
    return 0;
}

/* Adds the rows of another file to the data. */
static int join(struct ask *q, gsv_series *more)
{
    gsv_series *all = more ? gsv_series_join(q->data, more) : NULL;
    if (more && !all) complain_last();
    gsv_series_free(more);
    if (!all) return EXIT_INPUT;
    gsv_series_free(q->data);
    q->data = all;
    return 0;
}

/* Adds held-out rows; the known data end at their last row. */
static int take_against(const struct args *a, gsv_model *m, struct ask *q)
{
    struct args other = *a;
    size_t rows = q->data->rows;
    other.data = a->against;
    q->until = malloc(q->data->tracks * sizeof *q->until);
    if (!q->until) return complain_memory();
    for (size_t r = 0; r < q->data->tracks; r++) {
        size_t end = q->data->start[r + 1];
        q->until[r] = end > q->data->start[r] ? q->data->time[end - 1] : 0.0;
    }
    if (join(q, open_data(&other, m))) return EXIT_INPUT;
    if (q->data->rows > rows) return 0;
    return complain(EXIT_INPUT,
                    "--against %s: no row is later than the end of its series "
                    "in %s",
                    a->against, a->data);
}

static int check_together(const struct args *a)
{
    if (a->against && a->from)
        return complain(EXIT_INPUT, "--against and --from both select the "
                                    "held-out rows; give one of them");
    if (a->times && a->predict.ahead > 0.0)
        return complain(
            EXIT_INPUT,
            "--times and --ahead both set the times; give one of them");
    if (a->predict.rolling && (a->times || a->predict.ahead > 0.0))
        return complain(EXIT_INPUT, "--rolling forecasts the rows of the "
                                    "data; omit --times and --ahead");
    if (a->predict.rolling && a->plot)
        return complain(EXIT_INPUT,
                        "--plot draws forecasts from the end of the series; "
                        "omit --rolling");
    return 0;
}

static int make_ask(const struct args *a, gsv_model *m, struct ask *q)
{
    q->o = predict_recall(a, m);
    if (parse_levels(a, q)) return EXIT_INPUT;
    if (a->times) {
        q->time = parse_times(a->times, &q->o.times);
        if (!q->time) return EXIT_INPUT;
        q->o.time = q->time;
    }
    q->data = open_data(a, m);
    if (!q->data) return EXIT_INPUT;
    int code = 0;
    if (a->from) code = parse_from(a, q);
    if (a->against) code = take_against(a, m, q);
    if (!code && a->inputs) code = join(q, read_inputs(a, m));
    q->o.until = q->until;
    return code;
}

/* --- CSV ------------------------------------------------------------------ */

/* Whether a column has known values at forecast times. */
static bool has_actual(const gsv_prediction *p, size_t column)
{
    for (size_t n = 0; n < p->rows; n++)
        if (!isnan(p->actual[column * p->rows + n])) return true;
    return false;
}

static void put_names(const gsv_prediction *p, FILE *out)
{
    char room[QUANTILE_ROOM];
    fputs("series,time", out);
    for (size_t c = 0; c < p->columns; c++) {
        fprintf(out, ",%s_mean,%s_sd", p->name[c], p->name[c]);
        for (size_t q = 0; q < p->quantiles; q++)
            fprintf(out, ",%s_%s", p->name[c],
                    quantile_name(p->level[q], room));
        if (has_actual(p, c)) fprintf(out, ",%s_actual", p->name[c]);
    }
    putc('\n', out);
}

static int write_forecasts(const struct ask *q, const gsv_prediction *p,
                           const char *path)
{
    struct draft d;
    if (draft_open(&d, path)) return EXIT_INPUT;
    put_names(p, d.out);
    for (size_t n = 0; n < p->rows; n++) {
        put_text(q->data->label[p->track[n]], d.out);
        put_cell(p->time[n], d.out);
        for (size_t c = 0; c < p->columns; c++) {
            put_cell(p->mean[c * p->rows + n], d.out);
            put_cell(p->sd[c * p->rows + n], d.out);
            for (size_t l = 0; l < p->quantiles; l++)
                put_cell(p->quantile[(c * p->quantiles + l) * p->rows + n],
                         d.out);
            if (has_actual(p, c)) put_cell(p->actual[c * p->rows + n], d.out);
        }
        putc('\n', d.out);
    }
    return draft_close(&d, true);
}

static int write_scores(const gsv_prediction *p, const char *path)
{
    struct draft d;
    if (draft_open(&d, path)) return EXIT_INPUT;
    fputs("column,lead,rows,crps,climatology,cover50,cover90\n", d.out);
    for (size_t i = 0; i < p->scores; i++) {
        const gsv_score *s = &p->score[i];
        put_text(p->name[s->column], d.out);
        fprintf(d.out, ",%zu,%zu", s->lead, s->rows);
        put_cell(s->crps, d.out);
        put_cell(s->climatology, d.out);
        put_cell(s->cover50, d.out);
        put_cell(s->cover90, d.out);
        putc('\n', d.out);
    }
    return draft_close(&d, true);
}

/* --- Text ----------------------------------------------------------------- */

static void print_scores(const gsv_prediction *p)
{
    int width = 6;
    bool lead = p->scores && p->score[0].lead;
    for (size_t c = 0; c < p->columns; c++)
        if ((int)strlen(p->name[c]) > width) width = (int)strlen(p->name[c]);
    say(stdout, "%-*s%s %8s %12s %12s %9s %9s\n", width, "column",
        lead ? "  lead" : "", "rows", "CRPS", "climatology", "in 50 %",
        "in 90 %");
    for (size_t i = 0; i < p->scores; i++) {
        const gsv_score *s = &p->score[i];
        say(stdout, "%-*s", width, p->name[s->column]);
        if (lead) say(stdout, " %5zu", s->lead);
        say(stdout, " %8zu %12.5g %12.5g %8.1f%% %8.1f%%\n", s->rows, s->crps,
            s->climatology, 100.0 * s->cover50, 100.0 * s->cover90);
    }
}

static void say_notes(const struct args *a, const gsv_prediction *p)
{
    if (a->quiet) return;
    if (p->held)
        fputs("note: inputs end before the forecasts and are constant from "
              "there on; --inputs FILE gives later values\n",
              stderr);
    if (p->scores || a->predict.rolling) return;
    if (a->against || a->from)
        fputs("note: nothing to score: no forecast is at the time of a "
              "held-out row\n",
              stderr);
}

/* --- JSON ----------------------------------------------------------------- */

static json_t *scores_json(const gsv_prediction *p)
{
    json_t *list = json_array();
    for (size_t i = 0; i < p->scores; i++) {
        const gsv_score *s = &p->score[i];
        json_t *j = json_object();
        add_text(j, "column", p->name[s->column]);
        if (s->lead) add_count(j, "lead", s->lead);
        add_count(j, "rows", s->rows);
        add_number(j, "crps", s->crps);
        add_number(j, "climatology", s->climatology);
        add_number(j, "cover50", s->cover50);
        add_number(j, "cover90", s->cover90);
        json_array_append_new(list, j);
    }
    return list;
}

static json_t *column_json(const gsv_prediction *p, size_t c, size_t n)
{
    json_t *j = json_object();
    char room[QUANTILE_ROOM];
    double actual = p->actual[c * p->rows + n];
    add_number(j, "mean", p->mean[c * p->rows + n]);
    add_number(j, "sd", p->sd[c * p->rows + n]);
    for (size_t l = 0; l < p->quantiles; l++)
        add_number(j, quantile_name(p->level[l], room),
                   p->quantile[(c * p->quantiles + l) * p->rows + n]);
    if (!isnan(actual)) add_number(j, "actual", actual);
    return j;
}

static json_t *forecasts_json(const struct ask *q, const gsv_prediction *p)
{
    json_t *list = json_array();
    for (size_t n = 0; n < p->rows; n++) {
        json_t *j = json_object(), *columns = json_object();
        add_text(j, "series", q->data->label[p->track[n]]);
        add_number(j, "time", p->time[n]);
        for (size_t c = 0; c < p->columns; c++)
            json_object_set_new(columns, p->name[c], column_json(p, c, n));
        json_object_set_new(j, "columns", columns);
        json_array_append_new(list, j);
    }
    return list;
}

static json_t *prediction_json(const struct args *a, const struct ask *q,
                               const gsv_prediction *p)
{
    json_t *j = json_object();
    add_count(j, "draws", p->draws);
    add_count(j, "seed", a->predict.seed);
    add_bool(j, "parameters", a->predict.parameters);
    if (!a->predict.rolling) {
        add_count(j, "rows", p->rows);
        add_bool(j, "inputs_held", p->held);
        json_object_set_new(j, "forecasts", forecasts_json(q, p));
    }
    json_object_set_new(j, "scores", scores_json(p));
    return j;
}

/* --- The figure ----------------------------------------------------------- */

enum { MOST_PANELS = 6, ROWS = 10 };

/* The length of the past, in units of that of the forecast. */
static const double PAST = 2.0;

struct panels {
    const struct ask *ask;
    const gsv_prediction *p;
    FILE *to;
    size_t track, first, end; /* its rows of the prediction */
    double from, to_time;     /* range of the figure        */
};

/* Latent states have no column. */
static void put_past(const struct panels *g, size_t c)
{
    const gsv_series *s = g->ask->data;
    const gsv_prediction *p = g->p;
    const double *x = series_column(s, p->name[c]);
    const double *until = g->ask->until;
    size_t kept = 0;
    fprintf(g->to, "$past%zu << EOD\n", c);
    for (size_t row = s->start[g->track]; x && row < s->start[g->track + 1];
         row++) {
        if (isnan(x[row]) || (until && s->time[row] > until[g->track]))
            continue;
        if (s->time[row] < g->from) continue;
        fprintf(g->to, "%.10g %.10g\n", s->time[row], x[row]);
        kept++;
    }
    if (!kept) fprintf(g->to, "%.10g NaN\n", g->from);
    fputs("EOD\n", g->to);
}

/* time, mean, quantiles, actual */
static void put_forecast(const struct panels *g, size_t c)
{
    const gsv_prediction *p = g->p;
    fprintf(g->to, "$forecast%zu << EOD\n", c);
    for (size_t n = g->first; n < g->end; n++) {
        fprintf(g->to, "%.10g %.10g", p->time[n], p->mean[c * p->rows + n]);
        for (size_t q = 0; q < p->quantiles; q++)
            fprintf(g->to, " %.10g",
                    p->quantile[(c * p->quantiles + q) * p->rows + n]);
        fprintf(g->to, " %.10g\n", p->actual[c * p->rows + n]);
    }
    fputs("EOD\n", g->to);
}

/* Pairs of quantiles are bands, the inner ones darker. */
static void put_panel(const struct panels *g, size_t c)
{
    const gsv_prediction *p = g->p;
    static const char *const COLOR[] = {"#d5e3f2", "#a9c7e4", "#7aa8d3"};
    fputs("set ylabel ", g->to);
    plot_text(p->name[c], g->to);
    fputs("\nplot ", g->to);
    for (size_t b = 0; b < p->quantiles / 2; b++)
        fprintf(g->to,
                "$forecast%zu using 1:%zu:%zu with filledcurves lc rgb '%s' "
                "notitle, ",
                c, b + 3, p->quantiles - b + 2, COLOR[b < 3 ? b : 2]);
    fprintf(g->to,
            "$forecast%zu using 1:2 with lines lw 1.6 lc rgb '#1f5fa8' "
            "notitle, "
            "$past%zu using 1:2 with linespoints pt 7 ps 0.3 lw 0.8 lc rgb "
            "'#555555' notitle",
            c, c);
    if (has_actual(p, c))
        fprintf(g->to,
                ", $forecast%zu using 1:%zu with points pt 7 ps 0.45 lc rgb "
                "'#c0392b' notitle",
                c, p->quantiles + 3);
    putc('\n', g->to);
}

/* Twice the length of the forecast before it, and at least the last rows. */
static void choose_range(struct panels *g)
{
    const gsv_series *s = g->ask->data;
    size_t first = s->start[g->track], row = first;
    double begin = g->p->time[g->first];
    g->to_time = g->p->time[g->end - 1];
    while (row < s->start[g->track + 1] && s->time[row] < begin)
        row++;
    size_t near = row > first + ROWS ? row - ROWS : first;
    g->from = begin - PAST * (g->to_time - begin);
    if (row > first) {
        g->from = fmin(g->from, s->time[near]);
        g->from = fmax(g->from, s->time[first]);
    }
}

/* A panel for each column of the first series with a forecast: its last known
 * rows, bands, held-out rows. 0, or a message. */
static int plot_forecast(const struct ask *q, const gsv_prediction *p,
                         const char *path)
{
    struct plot plot;
    struct panels g = {.ask = q, .p = p, .track = p->track[0]};
    size_t panels = p->columns < MOST_PANELS ? p->columns : MOST_PANELS;
    if (plot_open(&plot, path, 760, (int)(60 + 240 * panels)))
        return EXIT_INPUT;
    g.to = plot.to;
    while (g.end < p->rows && p->track[g.end] == g.track)
        g.end++;
    choose_range(&g);
    for (size_t c = 0; c < panels; c++) {
        put_past(&g, c);
        put_forecast(&g, c);
    }
    fprintf(g.to,
            "unset key\nset style fill solid noborder\n"
            "set multiplot layout %zu,1\n",
            panels);
    fprintf(g.to, "set xrange [%.10g:%.10g]\n", g.from, g.to_time);
    for (size_t c = 0; c < panels; c++) {
        if (c + 1 == panels) fputs("set xlabel 'time'\n", g.to);
        put_panel(&g, c);
    }
    fputs("unset multiplot\n", g.to);
    return plot_close(&plot, true);
}

/* --- The verb ------------------------------------------------------------- */

/* By default forecasts go to standard output, or scores if there are any. */
static int report(const struct args *a, const gsv_model *m, const struct ask *q,
                  const gsv_prediction *p)
{
    bool to_standard = a->output && !strcmp(a->output, "-");
    bool csv = a->output ||
               (!a->json && !p->scores && !a->predict.rolling && !a->plot);
    int code = 0;
    if (csv)
        code = a->predict.rolling ? write_scores(p, a->output)
                                  : write_forecasts(q, p, a->output);
    if (!code && a->plot) code = plot_forecast(q, p, a->plot);
    if (code) return code;
    json_t *j = a->json ? prediction_json(a, q, p) : NULL;
    if (j && put_functions(j, m, q->data, !a->predict.mean)) {
        json_decref(j);
        return EXIT_NUMBERS;
    }
    if (j) code = print_json(j);
    else if (p->scores && !to_standard) print_scores(p);
    say_written(a, a->predict.rolling ? p->scores : p->rows, "rows");
    say_notes(a, p);
    return code ? code : say_functions(a, m, q->data, !a->predict.mean);
}

static int run_with(const struct args *a, gsv_model *m, struct ask *q)
{
    gsv_prediction p;
    int code = make_ask(a, m, q);
    if (code) return code;
    if (gsv_predict(m, q->data, &q->o, &p)) return complain_last();
    code = report(a, m, q, &p);
    gsv_prediction_free(&p);
    return code;
}

int predict_run(const struct args *a, gsv_model *m)
{
    struct ask q = {0};
    if (check_together(a)) return EXIT_INPUT;
    int code = run_with(a, m, &q);
    gsv_series_free(q.data);
    free(q.time);
    free(q.level);
    free(q.until);
    return code;
}
