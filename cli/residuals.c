/* SPDX-License-Identifier: MIT */
/* One-row-ahead residuals for diagnose: whether they are uniform and
 * independent, and what to check if not. */
#include <math.h>
#include <string.h>

#include "cli.h"

/* A smaller p value contradicts the model. */
static const double WRONG = 1e-3;

/* --- Text ----------------------------------------------------------------- */

static void print_column(const gsv_residual *c, int width)
{
    say(stdout, "  %-*s %7.2g  %+7.2f %6.2f   %+7.2f %8.2g   %+7.2f %8.2g\n",
        width, c->name, c->uniform_p, shown(c->mean, 2), c->sd,
        shown(c->correlation[0], 2), c->ljung_p, shown(c->square[0], 2),
        c->square_p);
}

bool residual_is_wrong(const gsv_residual *c)
{
    return c->uniform_p < WRONG || c->ljung_p < WRONG || c->square_p < WRONG;
}

static void advise_law(const gsv_residual *c, FILE *out)
{
    if (c->sd > 1.15)
        say(out,
            "  %s varies more than the model predicts: its noise is too small "
            "or its\n  tails are too thin; check the noise, and look for "
            "outliers\n",
            c->name);
    else if (c->sd < 0.87)
        say(out,
            "  %s varies less than the model predicts: check the size of its "
            "noise\n",
            c->name);
    else if (fabs(c->mean) > 0.1)
        say(out, "  %s is %s than the model predicts: check its drift\n",
            c->name, c->mean > 0.0 ? "higher" : "lower");
    else
        say(out,
            "  %s has another distribution than the model predicts: check how "
            "its noise\n  depends on the state, and the law of its "
            "observations\n",
            c->name);
}

void put_residual_advice(const gsv_residual *c, FILE *out)
{
    if (c->uniform_p < WRONG) advise_law(c, out);
    if (c->ljung_p < WRONG)
        say(out,
            "  %s has correlated residuals: check its drift, look for hidden "
            "states\n  and for noise of the observations (obs)\n",
            c->name);
    if (c->square_p < WRONG)
        say(out,
            "  %s has residuals with a changing variance: check how its noise "
            "depends on\n  state, time and inputs\n",
            c->name);
}

/* Residuals of latent states use points, as the estimate does. Those of
 * observed states are simulated, but the parameters of a fit come from the
 * estimate. */
enum verdict judge_model(const gsv_model *m, const gsv_result *estimate,
                         const gsv_residuals_result *r)
{
    bool wrong = false;
    for (size_t c = 0; c < r->columns; c++)
        wrong = wrong || residual_is_wrong(&r->column[c]);
    if (!wrong) return MODEL_STANDS;
    bool depends = estimate->observe || gsv_model_record(m);
    return depends && estimate_is_doubtful(estimate) ? MODEL_UNDECIDED
                                                     : MODEL_WRONG;
}

const char *const UNDECIDED =
    "The residuals contradict the model or the estimate: the estimate that "
    "they "
    "depend on is not accurate enough to decide. Improve the estimate first.";

static void print_verdict(const gsv_residuals_result *r, enum verdict v)
{
    switch (v) {
    case MODEL_STANDS:
        puts("\nThe residuals do not contradict the model.");
        return;
    case MODEL_UNDECIDED: say(stdout, "\n%s\n", UNDECIDED); return;
    case MODEL_WRONG: break;
    }
    puts("\nThe residuals contradict the model:");
    for (size_t c = 0; c < r->columns; c++)
        put_residual_advice(&r->column[c], stdout);
}

static void print_residuals(const gsv_residuals_result *r, enum verdict v)
{
    int width = 6;
    for (size_t c = 0; c < r->columns; c++)
        if ((int)strlen(r->column[c].name) > width)
            width = (int)strlen(r->column[c].name);
    say(stdout, "\nResiduals of %zu rows, one row ahead, ", r->rows);
    if (r->draws) say(stdout, "from %zu draws each:\n", r->draws);
    else puts("in closed form:");
    say(stdout, "  %-*s %7s  %7s %6s   %7s %8s   %7s %8s\n", width, "",
        "uniform", "mean", "sd", "lag 1", "all lags", "squares", "all lags");
    say(stdout, "  %-*s %7s  %7s %6s   %7s %8s   %7s %8s\n", width, "column",
        "p", "of z", "of z", "corr.", "p", "corr.", "p");
    for (size_t c = 0; c < r->columns; c++)
        print_column(&r->column[c], width);
    print_verdict(r, v);
}

/* --- JSON --------------------------------------------------------------- */

static json_t *residuals_json(const gsv_residuals_result *r, enum verdict v)
{
    static const char *const WORDS[] = {[MODEL_STANDS] = "not contradicted",
                                        [MODEL_WRONG] = "contradicted",
                                        [MODEL_UNDECIDED] = "undecided"};
    json_t *j = json_object(), *all = json_object();
    for (size_t i = 0; i < r->columns; i++) {
        const gsv_residual *c = &r->column[i];
        json_t *one = json_object();
        add_count(one, "rows", c->rows);
        add_number(one, "distance", c->distance);
        add_number(one, "uniform_p", c->uniform_p);
        add_number(one, "mean", c->mean);
        add_number(one, "sd", c->sd);
        json_object_set_new(one, "autocorrelation",
                            json_row(GSV_LAGS, c->correlation));
        add_number(one, "ljung_box_p", c->ljung_p);
        json_object_set_new(one, "square_autocorrelation",
                            json_row(GSV_LAGS, c->square));
        add_number(one, "square_ljung_box_p", c->square_p);
        json_object_set_new(all, c->name, one);
    }
    add_count(j, "rows", r->rows);
    add_count(j, "draws", r->draws);
    add_text(j, "model", WORDS[v]);
    json_object_set_new(j, "columns", all);
    return j;
}

/* --- The file ------------------------------------------------------------ */

static int write_residuals(const char *path, const gsv_series *s,
                           const gsv_residuals_result *r)
{
    struct draft d;
    if (draft_open(&d, path)) return EXIT_INPUT;
    fputs("series,time", d.out);
    for (size_t c = 0; c < r->columns; c++)
        fprintf(d.out, ",%s_pit,%s_z", r->column[c].name, r->column[c].name);
    putc('\n', d.out);
    for (size_t n = 0; n < r->rows; n++) {
        put_text(s->label[r->track[n]], d.out);
        put_cell(s->time[r->row[n]], d.out);
        for (size_t c = 0; c < r->columns; c++) {
            put_cell(r->column[c].u[n], d.out);
            put_cell(r->column[c].z[n], d.out);
        }
        putc('\n', d.out);
    }
    return draft_close(&d, true);
}

/* A model that cannot be forecast has no residuals; this is not an error. */
int report_residuals(const struct args *a, const gsv_model *m,
                     const gsv_series *s, const gsv_result *estimate,
                     json_t *json)
{
    gsv_residuals_result r;
    gsv_predict_options o = residual_options(a, m);
    o.ranks = a->ranks;
    if (gsv_residuals(m, s, &o, &r)) {
        if (a->residuals || gsv_last_status() == GSV_NO_MEMORY)
            return complain_last();
        if (!a->quiet)
            say(stderr, "note: no residuals: %s\n", gsv_last_error());
        return 0;
    }
    enum verdict v = judge_model(m, estimate, &r);
    if (json) json_object_set_new(json, "residuals", residuals_json(&r, v));
    else if (r.rows >= FEW_RESIDUALS) print_residuals(&r, v);
    bool written = a->residuals && ranks_writes(a);
    int code = written ? write_residuals(a->residuals, s, &r) : 0;
    gsv_residuals_free(&r);
    return code;
}
