/* SPDX-License-Identifier: MIT */
/* The page's verdict: what speaks against the estimate, and what against the
 * model. */
#include "report.h"

static bool is_unfinished(const gsv_record *r)
{
    return r->ended == GSV_ENDED_TIME || r->ended == GSV_ENDED_STOPPED;
}

static enum verdict judge(const struct report *r)
{
    return judge_model(r->model, &r->weights, &r->residuals);
}

/* Columns that speak against the model, and not against the estimate. */
static size_t wrong_columns(const struct report *r)
{
    const gsv_residuals_result *of = &r->residuals;
    size_t n = 0, all = judge(r) == MODEL_WRONG ? of->columns : 0;
    for (size_t c = 0; of->rows >= FEW_RESIDUALS && c < all; c++)
        n += residual_is_wrong(&of->column[c]);
    return n;
}

static size_t count_lines(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += *text != '\n' && (text[1] == '\n' || !text[1]);
    return n;
}

size_t count_troubles(const struct report *r)
{
    return count_lines(r->record->warning) + count_lines(r->outside) +
           is_unfinished(r->record) + (r->weights.flagged > 0) +
           wrong_columns(r);
}

static const char *unit_of(const struct report *r)
{
    return r->weights.observe ? "row" : r->estimator.joint ? "series" : "gap";
}

static void put_wrong(FILE *out, const struct report *r)
{
    for (size_t c = 0; wrong_columns(r) && c < r->residuals.columns; c++) {
        if (!residual_is_wrong(&r->residuals.column[c])) continue;
        fputs("<li>The residuals of ", out);
        page_text(out, r->residuals.column[c].name);
        fputs(" contradict the model: see <a href=\"#residuals\">residuals</a>."
              "</li>\n",
              out);
    }
}

static void put_reasons(const struct report *r)
{
    FILE *out = r->out;
    size_t n = r->weights.flagged;
    fputs("<ul>\n", out);
    if (is_unfinished(r->record))
        fputs("<li>The fit was ended before it was done; resume it.</li>\n",
              out);
    page_lines(out, r->record->warning);
    if (n) {
        fputs("<li>", out);
        page_format(out,
                    "The likelihood of %zu of %zu %s%s cannot be trusted: ", n,
                    r->weights.groups, unit_of(r),
                    r->estimator.joint ? "" : plural(r->weights.groups));
        fputs("see <a href=\"#weights\">weights</a>.</li>\n", out);
    }
    put_wrong(out, r);
    page_lines(out, r->outside);
    fputs("</ul>\n", out);
}

/* Not more than what was looked at. */
static const char *praise(const struct report *r)
{
    if (*r->no_residuals || r->residuals.rows < FEW_RESIDUALS)
        return "The weights are healthy and the fit has no warnings. The model "
               "itself was not checked: there are too few residuals.";
    if (r->weights.paths == 1 || (r->weights.steps == 1 && !r->weights.observe))
        return "The residuals do not contradict the model and the fit has no "
               "warnings. The weights could not be checked: that takes at "
               "least two paths and two steps a gap.";
    return "The weights are healthy, the residuals do not contradict the "
           "model, and the fit has no warnings.";
}

void put_verdict(struct report *r)
{
    FILE *out = r->out;
    r->troubles = count_troubles(r);
    fprintf(out, "<div class=\"verdict%s\" id=\"verdict\">\n<strong>",
            r->troubles ? " bad" : "");
    if (r->troubles)
        fprintf(out, "Not to be trusted as it stands: %zu reason%s</strong>\n",
                r->troubles, plural(r->troubles));
    else
        fprintf(out, "Nothing speaks against this fit</strong>\n<p>%s</p>\n",
                praise(r));
    if (r->troubles) put_reasons(r);
    fputs("</div>\n", out);
}
