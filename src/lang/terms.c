/* SPDX-License-Identifier: MIT */
/* terms NAME(args) -> n : ... is a library of functions phi_k of the arguments,
 *
 *     f_i = sum over k of c_ik phi_k,
 *
 * with a parameter of one number for each c_ik: NAME.x*y, or with several
 * outputs NAME[i].x*y. It is expanded to ordinary nodes. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/constant.h"
#include "base/error.h"
#include "base/memory.h"
#include "lang/scope.h"

enum { TERM_SIZE = 200, MOST_DEGREE = 20, MOST_TERMS = 5000 };

struct term {
    char text[TERM_SIZE];
    node value;
};

/* The terms of one output, or of all. */
struct library {
    struct builder *b;
    const struct statement *s;
    struct place place; /* what is expanded                    */
    size_t arguments;   /* numbers in all arguments            */
    node *argument;     /* (arguments)                         */
    char (*name)[TEXT_PLACES][TERM_SIZE]; /* (arguments)            */
    struct term *term;
    size_t terms, capacity;
};

/* --- Arguments ------------------------------------------------------------ */

static int too_long(const struct builder *b, struct place place)
{
    return complain(b->source, place,
                    "a term has at most %d characters; name a part of it with "
                    "'let'",
                    TERM_SIZE - 1);
}

/* Names of all elements: x, x/2 or (x/2), v[1], v[2]. */
static int name_argument(struct library *l, const struct expr *e, size_t first,
                         size_t n)
{
    for (enum text_place at = TEXT_ALONE; at < TEXT_PLACES; at++) {
        char text[TERM_SIZE - 24];
        enum text_place written = n == 1 ? at : TEXT_BASE;
        if (!expr_text(e, written, sizeof text, text))
            return too_long(l->b, expr_span(e));
        for (size_t k = 0; k < n; k++) {
            char *name = l->name[first + k][at];
            if (n == 1) snprintf(name, TERM_SIZE, "%s", text);
            else snprintf(name, TERM_SIZE, "%s[%zu]", text, k + 1);
        }
    }
    return 0;
}

static int name_arguments(struct library *l)
{
    size_t first = 0;
    int status = 0;
    for (size_t i = 0; !status && i < l->s->arguments; i++) {
        const struct expr *e = l->s->argument[i];
        node value;
        status = evaluate(l->b, e, &value);
        if (status) break;
        size_t n = graph_size(l->b->spec->graph, value);
        status = name_argument(l, e, first, n);
        first += n;
    }
    return status;
}

static void library_free(struct library *l)
{
    MEM_FREE(l->argument, l->name, l->term);
}

static int library_init(struct library *l, struct builder *b,
                        const struct statement *s, node stacked)
{
    struct graph *g = b->spec->graph;
    size_t n = graph_size(g, stacked);
    *l = (struct library){.b = b,
                          .s = s,
                          .place = s->declared.place,
                          .arguments = n,
                          .argument = NEW(node, n),
                          .name = mem_new(n, sizeof *l->name)};
    if (!l->argument || !l->name) return GSV_NO_MEMORY;
    for (size_t i = 0; i < n; i++)
        l->argument[i] = graph_slice(g, stacked, i, 1, 1);
    return name_arguments(l);
}

/* --- Terms ---------------------------------------------------------------- */

static int add(struct library *l, const char *text, node value)
{
    struct builder *b = l->b;
    for (size_t i = 0; i < l->terms; i++)
        if (!strcmp(l->term[i].text, text))
            return complain(b->source, l->place,
                            "the term '%s' of '%s' occurs twice", text,
                            l->s->declared.name);
    if (l->terms == MOST_TERMS)
        return complain(b->source, l->place,
                        "'%s' has more than %d terms; use a lower degree",
                        l->s->declared.name, MOST_TERMS);
    if (strlen(text) >= TERM_SIZE) return too_long(b, l->place);
    if (MEM_ROOM(l->term, l->terms, l->capacity)) return GSV_NO_MEMORY;
    struct term *t = &l->term[l->terms++];
    snprintf(t->text, TERM_SIZE, "%s", text);
    t->value = value;
    return 0;
}

/* A factor of a monomial, after `used` characters; how many it has. */
static size_t put_power(const struct library *l, size_t i, const size_t *power,
                        size_t used, char text[2 * TERM_SIZE])
{
    size_t left = 2 * TERM_SIZE - used;
    bool alone = !used;
    for (size_t k = i + 1; k < l->arguments; k++)
        alone = alone && !power[k];
    enum text_place at = power[i] > 1 ? TEXT_BASE
                         : alone      ? TEXT_ALONE
                         : used       ? TEXT_FACTOR
                                      : TEXT_FIRST;
    const char *times = used ? "*" : "", *name = l->name[i][at];
    if (power[i] == 1)
        return (size_t)snprintf(text + used, left, "%s%s", times, name);
    return (size_t)snprintf(text + used, left, "%s%s^%zu", times, name,
                            power[i]);
}

/* The product of powers of all arguments. */
static int add_monomial(struct library *l, const size_t *power)
{
    struct graph *g = l->b->spec->graph;
    char text[2 * TERM_SIZE] = "";
    size_t used = 0;
    node value = graph_number(g, 1.0);
    for (size_t i = 0; i < l->arguments && used < TERM_SIZE; i++) {
        if (!power[i]) continue;
        used += put_power(l, i, power, used, text);
        node factor = l->argument[i];
        if (power[i] > 1)
            factor = graph_binary(g, OP_POW, factor,
                                  graph_number(g, (double)power[i]));
        value = graph_binary(g, OP_MUL, value, factor);
    }
    return add(l, used ? text : "1", value);
}

/* The next way to divide a degree among the arguments: x^2, x*y, y^2. False
 * after the last. */
static bool next_powers(size_t n, size_t *power)
{
    size_t last = power[n - 1], i = n - 1;
    power[n - 1] = 0;
    while (i > 0 && !power[i - 1])
        i--;
    if (!i) return false;
    power[i - 1]--;
    power[i] = last + 1;
    return true;
}

static int add_polynomial(struct library *l, size_t degree)
{
    size_t *power = NEW(size_t, l->arguments);
    int status = power ? 0 : GSV_NO_MEMORY;
    for (size_t k = 0; !status && k <= degree; k++) {
        memset(power, 0, l->arguments * sizeof *power);
        power[0] = k;
        do
            status = add_monomial(l, power);
        while (!status && next_powers(l->arguments, power));
    }
    mem_free(power);
    return status;
}

/* sin(2*x) where the frequency is a whole number, else sin(4*pi*x/24). */
static int add_wave(struct library *l, size_t i, size_t k, double period)
{
    static const char *const WAVE[] = {"sin", "cos"};
    struct graph *g = l->b->spec->graph;
    double frequency = 2.0 * PI * (double)k / period, whole = round(frequency);
    bool is_whole = fabs(frequency - whole) < 1e-12 * frequency;
    char text[2 * TERM_SIZE], number[40], phase[TERM_SIZE + 100];
    number_text(is_whole ? whole : period, sizeof number, number);
    if (is_whole && whole == 1.0)
        snprintf(phase, sizeof phase, "%s", l->name[i][TEXT_ALONE]);
    else if (is_whole)
        snprintf(phase, sizeof phase, "%s*%s", number, l->name[i][TEXT_FACTOR]);
    else
        snprintf(phase, sizeof phase, "%zu*pi*%s/%s", 2 * k,
                 l->name[i][TEXT_FACTOR], number);
    node angle =
        graph_binary(g, OP_MUL, graph_number(g, is_whole ? whole : frequency),
                     l->argument[i]);
    int status = 0;
    for (int c = 0; !status && c < 2; c++) {
        snprintf(text, sizeof text, "%s(%s)", WAVE[c], phase);
        status = add(l, text, graph_unary(g, c ? OP_COS : OP_SIN, angle));
    }
    return status;
}

static int add_fourier(struct library *l, size_t order, double period)
{
    int status = add(l, "1", graph_number(l->b->spec->graph, 1.0));
    for (size_t i = 0; !status && i < l->arguments; i++)
        for (size_t k = 1; !status && k <= order; k++)
            status = add_wave(l, i, k, period);
    return status;
}

/* --- Items of the text ---------------------------------------------------- */

static int read_degree(struct builder *b, const struct expr *e, size_t *degree)
{
    double n;
    int status = evaluate_number(b, e, &n);
    if (status) return status;
    if (!(n >= 1.0 && n <= MOST_DEGREE && n == floor(n)))
        return complain(b->source, expr_span(e),
                        "a whole number from 1 to %d is expected here",
                        MOST_DEGREE);
    *degree = (size_t)n;
    return 0;
}

static int expand_family(struct library *l, const struct expr *e)
{
    struct builder *b = l->b;
    bool fourier = !strcmp(e->name, "fourier");
    size_t degree = 0;
    double period = 0.0;
    if (e->kids != (fourier ? 2 : 1))
        return complain(b->source, expr_span(e), "write %s",
                        fourier ? "'fourier 4 period 2*pi'" : "'poly 2'");
    int status = read_degree(b, e->kid[0], &degree);
    if (!status && fourier) status = evaluate_number(b, e->kid[1], &period);
    if (status) return status;
    if (!fourier) return add_polynomial(l, degree);
    if (!(period > 0.0))
        return complain(b->source, expr_span(e->kid[1]),
                        "a period is positive");
    return add_fourier(l, degree, period);
}

static bool names_it(const struct expr *e, const char *name)
{
    bool named = e->kind == EXPR_NAME || e->kind == EXPR_CALL;
    if (named && !strcmp(e->name, name)) return true;
    for (size_t i = 0; i < e->kids; i++)
        if (names_it(e->kid[i], name)) return true;
    return false;
}

/* A term is made of the arguments, numbers and parameters. */
static int check_names(const struct library *l, const struct expr *e)
{
    const struct symbol *s =
        e->kind == EXPR_NAME ? scope_find(l->b, e->name) : NULL;
    bool varies = s ? s->kind == SYMBOL_STATE || s->kind == SYMBOL_INPUT
                    : e->kind == EXPR_NAME && !strcmp(e->name, "t");
    for (size_t i = 0; varies && i < l->s->arguments; i++)
        if (names_it(l->s->argument[i], e->name)) varies = false;
    if (varies)
        return complain(l->b->source, e->place,
                        "'%s' is not an argument of '%s'; write '%s(..., %s)'",
                        e->name, l->s->declared.name, l->s->declared.name,
                        e->name);
    int status = 0;
    for (size_t i = 0; !status && i < e->kids; i++)
        status = check_names(l, e->kid[i]);
    return status;
}

static int expand(struct library *l, const struct expr *e)
{
    struct builder *b = l->b;
    char text[TERM_SIZE], shape[48];
    node value;
    bool call = e->kind == EXPR_CALL && !scope_find(b, e->name);
    l->place = expr_span(e);
    if (call && (!strcmp(e->name, "poly") || !strcmp(e->name, "fourier")))
        return expand_family(l, e);
    int status = check_names(l, e);
    if (!status) status = evaluate(b, e, &value);
    if (status) return status;
    if (graph_size(b->spec->graph, value) != 1)
        return complain(b->source, l->place,
                        "a term is one number, but this is %s; write its "
                        "elements",
                        shape_text(b->spec->graph, value, shape));
    if (!expr_text(e, TEXT_ALONE, sizeof text, text))
        return too_long(b, l->place);
    return add(l, text, value);
}

/* --- The function --------------------------------------------------------- */

/* Whether every output has a list of its own, or all have one. */
static int check_lists(const struct builder *b, const struct statement *s,
                       bool *own)
{
    size_t lists = 0;
    for (size_t i = 0; i < s->terms; i++)
        lists += s->term[i]->kind == EXPR_LIST;
    *own = lists > 0;
    if (!lists || (lists == s->terms && lists == s->outputs)) return 0;
    return complain(b->source, s->declared.place,
                    "'%s' has %zu %s: give one list in brackets for each, or "
                    "the same terms for all without brackets",
                    s->declared.name, s->outputs,
                    s->outputs == 1 ? "output" : "outputs");
}

/* The terms of output i. */
static int expand_output(struct library *l, size_t i, bool own)
{
    int status = 0;
    const struct statement *s = l->s;
    l->terms = 0;
    for (size_t k = 0; own && !status && k < s->term[i]->kids; k++)
        status = expand(l, s->term[i]->kid[k]);
    for (size_t k = 0; !own && !status && k < s->terms; k++)
        status = expand(l, s->term[k]);
    return status;
}

/* The sum over terms with the coefficients from this number on. */
static node weighted_sum(const struct library *l, size_t offset)
{
    struct graph *g = l->b->spec->graph;
    node sum = graph_number(g, 0.0);
    for (size_t k = 0; k < l->terms; k++) {
        node c = graph_leaf(g, OP_PARAM, offset + k, 1, 1);
        sum = graph_binary(g, OP_ADD, sum,
                           graph_binary(g, OP_MUL, c, l->term[k].value));
    }
    return sum;
}

static int add_coefficients(struct library *l, size_t output,
                            struct terms_spec *t)
{
    const struct declared *d = &l->s->declared;
    char name[300];
    for (size_t k = 0; k < l->terms; k++) {
        if (l->s->outputs == 1)
            snprintf(name, sizeof name, "%.90s.%s", d->name, l->term[k].text);
        else
            snprintf(name, sizeof name, "%.80s[%zu].%s", d->name, output + 1,
                     l->term[k].text);
        struct param_spec *p = new_param(l->b, d->place, name, 1, 1);
        if (!p) return GSV_NO_MEMORY;
        p->term = true;
        if (MEM_ROOM(t->text, t->params, t->capacity)) return GSV_NO_MEMORY;
        t->text[t->params] = mem_string(l->term[k].text);
        if (!t->text[t->params++]) return GSV_NO_MEMORY;
    }
    t->count[output] = l->terms;
    return 0;
}

void terms_free(struct terms_spec *t)
{
    for (size_t i = 0; i < t->params; i++)
        mem_free(t->text[i]);
    MEM_FREE(t->name, t->text, t->count);
}

/* All outputs; `fresh` makes the parameters. */
static int build(struct library *l, struct terms_spec *t, bool fresh,
                 node *result)
{
    struct spec *spec = l->b->spec;
    bool own;
    node *part = NEW(node, l->s->outputs);
    int status = part ? check_lists(l->b, l->s, &own) : GSV_NO_MEMORY;
    size_t offset = t->offset;
    for (size_t i = 0; !status && i < l->s->outputs; i++) {
        status = expand_output(l, i, own);
        if (!status && fresh) status = add_coefficients(l, i, t);
        if (!status) part[i] = weighted_sum(l, offset);
        offset += l->terms;
    }
    if (!status) *result = graph_below(spec->graph, l->s->outputs, part);
    mem_free(part);
    return status;
}

int declare_terms(struct builder *b, const struct statement *s)
{
    struct spec *spec = b->spec;
    struct library l = {0};
    struct terms_spec t = {.param = spec->params,
                           .offset = spec->parameters,
                           .outputs = s->outputs,
                           .from = s->from,
                           .to = s->to,
                           .statement = s,
                           .name = mem_string(s->declared.name),
                           .count = NEW(size_t, s->outputs)};
    node value = 0;
    int status = t.name && t.count ? 0 : GSV_NO_MEMORY;
    if (!status) status = read_arguments(b, s, &t.argument);
    if (!status) status = library_init(&l, b, s, t.argument);
    if (!status) status = build(&l, &t, true, &value);
    library_free(&l);
    if (!status)
        status = MEM_ROOM(spec->terms, spec->libraries, spec->library_capacity);
    if (status) {
        terms_free(&t);
        return status;
    }
    spec->terms[spec->libraries++] = t;
    return scope_add(b, (struct symbol){.name = s->declared.name,
                                        .kind = SYMBOL_TERMS,
                                        .place = s->declared.place,
                                        .value = value,
                                        .net = spec->libraries - 1,
                                        .rank = 1});
}

/* --- At other arguments --------------------------------------------------- */

/* The symbol of an argument that a list of terms can be evaluated for again. */
static struct symbol *argument_symbol(struct builder *b, const struct expr *e)
{
    for (size_t i = 0; e->kind == EXPR_NAME && i < b->symbols; i++)
        if (!strcmp(b->symbol[i].name, e->name)) return &b->symbol[i];
    return NULL;
}

/* Gives the names of the arguments other values; again, the old ones back. */
static void exchange(struct builder *b, const struct statement *s, node *value)
{
    for (size_t i = 0; i < s->arguments; i++) {
        struct symbol *symbol = argument_symbol(b, s->argument[i]);
        if (!symbol) continue;
        node before = symbol->value;
        symbol->value = value[i];
        value[i] = before;
    }
}

static int check_applied(struct builder *b, const struct expr *e,
                         const struct statement *s)
{
    for (size_t i = 0; i < s->arguments; i++)
        if (!argument_symbol(b, s->argument[i]))
            return complain(b->source, expr_span(e),
                            "'%s' can be applied to other arguments only if "
                            "its own are names; write '%s' alone, or name the "
                            "argument with 'let'",
                            s->declared.name, s->declared.name);
    return 0;
}

int terms_at(struct builder *b, const struct expr *e, size_t library,
             node argument, node *result)
{
    const struct statement *s = b->spec->terms[library].statement;
    struct graph *g = b->spec->graph;
    struct library l = {0};
    node *value = NEW(node, s->arguments);
    size_t at = 0;
    int status = value ? check_applied(b, e, s) : GSV_NO_MEMORY;
    for (size_t i = 0; !status && i < s->arguments; i++) {
        node own = argument_symbol(b, s->argument[i])->value;
        struct node_info shape = *graph_info(g, own);
        value[i] = graph_slice(g, argument, at, shape.rows, shape.columns);
        at += graph_size(g, own);
    }
    if (!status) {
        exchange(b, s, value);
        status = library_init(&l, b, s, argument);
        if (!status)
            status = build(&l, &b->spec->terms[library], false, result);
        exchange(b, s, value);
    }
    library_free(&l);
    mem_free(value);
    return status;
}
