/* SPDX-License-Identifier: MIT */
/* The text of a first model for the columns of data. Drift and equations are
 * written so that one line, that of the function f, is all that another sort of
 * drift changes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/plain.h"
#include "data/category.h"
#include "data/phrase.h"
#include "data/series.h"
#include "look/roles.h"

enum { WORDS = 5, ROOM = MOST_NAME + 20 };

struct sheet {
    FILE *out;
    const gsv_series *s;
    struct part *part; /* (s->columns)                             */
    size_t driven;     /* states with a noise                      */
    bool partly;       /* rows have some states and others not     */
    size_t group;      /* the first category, or s->columns        */
    char f[ROOM], sigma[ROOM], shift[ROOM], error[ROOM], hidden[ROOM];
};

/* --- Names ---------------------------------------------------------------- */

/* A name that no column has, or, if it ends in _, with which none begins. */
static void choose_name(const gsv_series *s, const char *name, char room[ROOM])
{
    size_t n = strlen(name);
    bool first = name[n - 1] == '_', taken = true;
    snprintf(room, ROOM, "%s", name);
    while (taken && n < ROOM - 1) {
        taken = false;
        for (size_t c = 0; c < s->columns; c++)
            taken = taken || (first ? !strncmp(s->name[c], room, n)
                                    : !strcmp(s->name[c], room));
        if (taken) room[n++] = '_';
        room[n] = '\0';
    }
}

static bool is_state(const struct part *p)
{
    return p->role == ROLE_STATE || p->role == ROLE_POSITION;
}

static bool is_input(const struct part *p)
{
    return p->role == ROLE_INPUT || p->role == ROLE_HELD;
}

/* --- Columns -------------------------------------------------------------- */

static void say_levels(const struct sheet *h, const struct part *p)
{
    char room[NUMBER_TEXT];
    fprintf(h->out, "%zu levels:", p->levels);
    for (size_t i = 0; i < p->levels && i < WORDS; i++)
        fprintf(h->out, "%s %s", i ? "," : "",
                phrase_name(category_text(h->s, p->level[i], room)).text);
    fputs(p->levels > WORDS ? ", ..." : "", h->out);
    if (h->group != p->column)
        fprintf(h->out, "; `param c[%s]` has a number for each", p->name);
    fputs("\n", h->out);
}

/* A correlation of neighbours beyond three standard errors counts. */
static void say_numbers(const struct sheet *h, const struct part *p)
{
    const gsv_look_column *c = &p->seen;
    fprintf(h->out, "%.4g to %.4g, mean %.4g, deviation %.3g", c->low, c->high,
            c->mean, c->sd);
    if (c->missing)
        fprintf(h->out, "; %zu cell%s missing", c->missing,
                c->missing == 1 ? " is" : "s are");
    if (c->jumps)
        fprintf(h->out, "; %zu jump%s, see `event` in the language", c->jumps,
                c->jumps == 1 ? "" : "s");
    if (p->role == ROLE_STATE && c->reversal < -0.1 &&
        c->reversal < -3.0 / sqrt((double)c->rows))
        fputs("; signs of measurement noise, see the last lines", h->out);
    fputs("\n", h->out);
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* A name that a model can have: with `_` for any other character. */
static void say_rename(const struct sheet *h, const struct part *p)
{
    char name[MOST_NAME + 4];
    size_t n = 0;
    if (!is_letter(*p->name)) name[n++] = 'x';
    for (const char *c = p->name; *c && n < 40; c++) {
        bool good = is_letter(*c) || (*c >= '0' && *c <= '9');
        name[n++] = good ? *c : '_';
    }
    name[n] = '\0';
    if (!strcmp(name, p->name)) name[n++] = '_';
    name[n] = '\0';
    fprintf(h->out,
            "left out: a model cannot have this name; rename the column, for "
            "example to %s\n",
            name);
}

/* A hidden state is where its column is at first, and 0.1 deviations off. */
static void write_hidden(const struct sheet *h, const struct part *p,
                         const char *lead)
{
    const gsv_look_column *c = &p->seen;
    const char *x = p->name, *z = h->hidden, *e = h->error;
    fprintf(h->out, "%sstate %s%s\n%sparam %s%s = %.3g > 0\n", lead, z, x, lead,
            e, x, 0.1 * c->sd);
    fprintf(h->out, "%sinit %s%s ~ normal(%.6g, %.6g)\n", lead, z, x, c->mean,
            c->sd);
    if (p->whole)
        fprintf(h->out, "# or, of counts: obs %s ~ poisson(exp(%s%s))\n", x, z,
                x);
    fprintf(h->out, "%sobs %s ~ normal(%s%s, %s%s)\n", lead, x, z, x, e, x);
}

/* A state, an input, or a comment; p->name is printed as it is only where a
 * model can have it. */
static void write_column(const struct sheet *h, const struct part *p)
{
    static const char *const WHY[ROLES] = {
        [ROLE_INPUT] = "input, linear between rows: ",
        [ROLE_HELD] = "input, the same for many rows: ",
        [ROLE_GROUP] = "category, ",
        [ROLE_FLAT] = "left out: it has one value, or too few\n",
        [ROLE_TEXT] = "left out: words, most of them different\n",
        [ROLE_MIXED] = "left out: some cells are not numbers; mend them\n",
        [ROLE_SURPLUS] = "left out of a first model: add it by hand\n"};
    fprintf(h->out, "# %s: %s", phrase_name(p->name).text,
            WHY[p->role] ? WHY[p->role] : "");
    if (p->role == ROLE_POSITION)
        fprintf(h->out,
                "a position with the velocity %s: ", h->part[p->velocity].name);
    if (is_state(p) || is_input(p)) say_numbers(h, p);
    if (p->role == ROLE_GROUP) say_levels(h, p);
    if (p->role == ROLE_UNNAMED) say_rename(h, p);
    if (is_state(p) && h->partly) write_hidden(h, p, "");
    else if (is_state(p)) fprintf(h->out, "state %s\n", p->name);
    if (is_input(p))
        fprintf(h->out, "input %s%s\n", p->name,
                p->role == ROLE_HELD ? " hold" : "");
}

static void write_head(const struct sheet *h)
{
    const char *file = h->s->source, *slash = strrchr(file, '/');
    fprintf(h->out,
            "# A first model of %s: %zu series, %zu rows.\n"
            "# Lines that begin with # are comments: most are alternatives. "
            "docs/LANGUAGE.md\n"
            "# explains all; `girsanov check` shows how a text is read.\n\n",
            phrase_name(slash ? slash + 1 : file).text, h->s->tracks,
            h->s->rows);
    if (h->partly)
        fputs("# Some rows have a value of one state and none of another: the "
              "states are hidden\n# and seen by obs, with a measurement noise "
              "e.\n",
              h->out);
    for (size_t c = 0; c < h->s->columns; c++)
        write_column(h, h->part + c);
}

/* --- Drift ---------------------------------------------------------------- */

/* States, as hidden ones if `hidden`, and inputs. Returns their number. */
static size_t write_arguments(const struct sheet *h, const char *hidden)
{
    size_t n = 0;
    for (size_t c = 0; c < h->s->columns; c++) {
        const struct part *p = h->part + c;
        if (!is_state(p) && !is_input(p)) continue;
        fprintf(h->out, "%s%s%s", n++ ? ", " : "", is_state(p) ? hidden : "",
                p->name);
    }
    return n;
}

/* `terms f(x, u) -> 2 :` */
static size_t write_function(const struct sheet *h, const char *word,
                             const char *hidden)
{
    fprintf(h->out, "%s %s(", word, h->f);
    size_t n = write_arguments(h, hidden);
    fprintf(h->out, ") -> %zu : ", h->driven);
    return n;
}

/* Without the constant where the levels of a category have theirs. */
static void write_linear(const struct sheet *h, const char *hidden)
{
    write_function(h, "terms", hidden);
    if (h->group < h->s->columns) write_arguments(h, hidden);
    else fputs("poly 1", h->out);
    fputs("\n", h->out);
}

static void write_drift(const struct sheet *h, const char *hidden)
{
    fputs("\n# The drift: linear. Each line with # may replace the line of "
          "terms:\n",
          h->out);
    write_linear(h, hidden);
    if (h->group < h->s->columns)
        fprintf(h->out,
                "# (these have a constant of their own, beside those of %s: "
                "use the priors below)\n",
                h->part[h->group].name);
    fputs("# polynomials, of which `girsanov select` keeps what the data "
          "show\n# ",
          h->out);
    write_function(h, "terms", hidden);
    fputs("poly 3\n# a network\n# ", h->out);
    size_t n = write_function(h, "net", hidden);
    fputs("32 32 silu\n", h->out);
    if (n > 3) return;
    fputs("# a Gaussian process, with credible bands\n# ", h->out);
    write_function(h, "gp", hidden);
    fprintf(h->out, "grid%s matern52 + linear\n",
            n == 1   ? " 32"
            : n == 2 ? " 24 24"
                     : " 12 12 12");
}

/* --- Equations ------------------------------------------------------------ */

static void write_equation(const struct sheet *h, const struct part *p,
                           size_t output, const char *hidden, const char *lead)
{
    const char *x = p->name;
    bool shifted = h->group < h->s->columns;
    fprintf(h->out, "%sd%s%s = ", lead, hidden, x);
    if (p->role == ROLE_POSITION) {
        fprintf(h->out, "%s%s*dt\n", hidden, h->part[p->velocity].name);
        return;
    }
    fprintf(h->out, "%s%s", shifted ? "(" : "", h->f);
    if (h->driven > 1) fprintf(h->out, "[%zu]", output);
    if (shifted)
        fprintf(h->out, " + %s%s[%s])", h->shift, x, h->part[h->group].name);
    fprintf(h->out, "*dt + %s%s*dW\n", h->sigma, x);
}

static void write_equations(const struct sheet *h, const char *hidden,
                            const char *lead)
{
    size_t output = 0;
    for (size_t c = 0; c < h->s->columns; c++) {
        const struct part *p = h->part + c;
        if (p->role == ROLE_STATE) output++;
        if (is_state(p)) write_equation(h, p, output, hidden, lead);
    }
}

static void write_params(const struct sheet *h)
{
    bool shifted = h->group < h->s->columns;
    fputs("\n# Noise", h->out);
    if (shifted)
        fprintf(h->out, ", and a constant for each level of %s",
                h->part[h->group].name);
    fputs("; the numbers are starts of the search\n", h->out);
    for (size_t c = 0; c < h->s->columns; c++) {
        const struct part *p = h->part + c;
        if (p->role != ROLE_STATE) continue;
        fprintf(h->out, "param %s%s = %.3g > 0\n", h->sigma, p->name, p->noise);
        if (shifted)
            fprintf(h->out, "param %s%s[%s] = 0\n", h->shift, p->name,
                    h->part[h->group].name);
    }
}

/* --- Alternatives --------------------------------------------------------- */

static void write_priors(const struct sheet *h)
{
    bool shifted = h->group < h->s->columns;
    fputs("\n# Priors\n", h->out);
    for (size_t c = 0; c < h->s->columns; c++) {
        const struct part *p = h->part + c;
        if (p->role != ROLE_STATE) continue;
        fprintf(h->out, "# prior %s%s ~ lognormal(%.3g, 1)\n", h->sigma,
                p->name, log(p->noise));
        if (shifted)
            fprintf(h->out, "# prior %s%s ~ normal(0, 10)\n", h->shift,
                    p->name);
    }
    if (h->s->tracks > 1 && !shifted)
        fputs("# Series that differ: `param k[series]` is a number of each, "
              "`random` a law of them.\n",
              h->out);
}

static void write_noisy(const struct sheet *h)
{
    fputs("\n# Measurement noise: the states are hidden and seen by obs. These "
          "lines then\n# replace all lines of state, terms and equations "
          "above.\n",
          h->out);
    for (size_t c = 0; c < h->s->columns; c++)
        if (is_state(h->part + c)) write_hidden(h, h->part + c, "# ");
    fputs("# ", h->out);
    write_linear(h, h->hidden);
    write_equations(h, h->hidden, "# ");
}

/* --- All of it ------------------------------------------------------------ */

static void write_sheet(const struct sheet *h)
{
    const char *hidden = h->partly ? h->hidden : "";
    write_head(h);
    write_drift(h, hidden);
    write_params(h);
    fputs("\n# Equations\n", h->out);
    write_equations(h, hidden, "");
    write_priors(h);
    if (!h->partly) write_noisy(h);
}

/* Whether a row has a value of one state and none of another. */
static bool has_partial_rows(const struct sheet *h)
{
    for (size_t i = 0; i < h->s->rows; i++) {
        bool some = false, lacks = false;
        for (size_t c = 0; c < h->s->columns; c++) {
            if (!is_state(h->part + c)) continue;
            bool missing = isnan(h->s->value[c * h->s->rows + i]);
            lacks = lacks || missing;
            some = some || !missing;
        }
        if (some && lacks) return true;
    }
    return false;
}

static int prepare(struct sheet *h)
{
    const gsv_series *s = h->s;
    int status = roles_find(s, h->part);
    h->group = s->columns;
    for (size_t c = s->columns; c-- && !status;) {
        h->driven += h->part[c].role == ROLE_STATE;
        if (h->part[c].role == ROLE_GROUP) h->group = c;
    }
    h->partly = !status && has_partial_rows(h);
    choose_name(s, "f", h->f);
    choose_name(s, "s_", h->sigma);
    choose_name(s, "b_", h->shift);
    choose_name(s, "e_", h->error);
    choose_name(s, "true_", h->hidden);
    return status;
}

/* The text; NULL after an error. */
static char *write_text(struct sheet *h)
{
    char *text = NULL;
    size_t size = 0;
    h->part = NEW(struct part, h->s->columns);
    int status = h->part ? prepare(h) : GSV_NO_MEMORY;
    h->out = status ? NULL : open_memstream(&text, &size);
    if (h->out) write_sheet(h);
    bool complete = h->out && !ferror(h->out);
    if (h->out && fclose(h->out)) complete = false;
    if (!status && !complete) fail(GSV_NO_MEMORY, "out of memory");
    mem_free(h->part);
    if (complete) return text;
    free(text);
    return NULL;
}

char *gsv_model_new(const gsv_series *s)
{
    if (ANY_NULL(s) || series_check(s)) return NULL;
    struct sheet h = {.s = s};
    struct plain_locale locale;
    plain_begin(&locale);
    char *text = write_text(&h);
    plain_end(&locale);
    return text;
}
