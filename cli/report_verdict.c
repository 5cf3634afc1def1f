/* SPDX-License-Identifier: MIT */
/* The verdict of the page: reasons not to trust the estimate or the model. */
#include "report.h"

static bool is_unfinished(const gsv_record *r)
{
    return r->ended == GSV_ENDED_TIME || r->ended == GSV_ENDED_STOPPED;
}

static enum verdict judge(const struct report *r)
{
    return judge_model(r->model, &r->weights, &r->residuals);
}

/* The number of columns that contradict the model. */
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
    int length;
    while (next_line(&text, &length))
        n++;
    return n;
}

size_t count_troubles(const struct report *r)
{
    return count_lines(r->record->warning) + count_lines(r->outside) +
           is_unfinished(r->record) + (r->weights.flagged > 0) +
           wrong_columns(r);
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
        fputs("<li>The fit was interrupted; resume it.</li>\n", out);
    page_lines(out, r->record->warning);
    if (n)
        fprintf(out,
                "<li>The likelihood of %zu of %zu %s cannot be trusted: see <a "
                "href=\"#weights\">weights</a>.</li>\n",
                n, r->weights.groups, unit_of(&r->estimator, &r->weights));
    put_wrong(out, r);
    page_lines(out, r->outside);
    fputs("</ul>\n", out);
}

/* Claims no more than was checked. */
static const char *what_is_good(const struct report *r)
{
    if (*r->no_residuals || r->residuals.rows < FEW_RESIDUALS)
        return "The weights are good and the fit has no warnings. The model "
               "was not checked: there are too few residuals.";
    if (is_exact(&r->weights))
        return "The likelihood is exact, the residuals do not contradict the "
               "model, and the fit has no warnings.";
    if (!has_weights(&r->weights))
        return "The likelihood has no random numbers and its steps are short, "
               "the residuals do not contradict the model, and the fit has no "
               "warnings.";
    if (r->weights.paths == 1 || (r->weights.steps == 1 && !r->weights.observe))
        return "The residuals do not contradict the model and the fit has no "
               "warnings. The weights could not be checked: this needs at "
               "least two paths and two steps per gap.";
    return "The weights are good, the residuals do not contradict the "
           "model, and the fit has no warnings.";
}

void put_verdict(struct report *r)
{
    FILE *out = r->out;
    r->troubles = count_troubles(r);
    fprintf(out, "<div class=\"verdict%s\" id=\"verdict\">\n<strong>",
            r->troubles ? " bad" : "");
    if (r->troubles)
        fprintf(out, "This fit cannot be trusted: %zu reason%s</strong>\n",
                r->troubles, plural(r->troubles));
    else
        fprintf(out, "No problem was found</strong>\n<p>%s</p>\n",
                what_is_good(r));
    if (r->troubles) put_reasons(r);
    fputs("</div>\n", out);
}
