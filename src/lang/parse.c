/* SPDX-License-Identifier: MIT */
/* The parser of the model language (docs/LANGUAGE.md): statements. Each is a
 * row of RULES; a line that begins with none of their words is an equation. */
#include "lang/parse.h"

#include <string.h>

#include "base/memory.h"
#include "base/plain.h"

enum { LONGEST_TEXT = 16 << 20 };

/* What a size of an array, or a width of a net, may be; and their product. */
static const double LARGEST_SIZE = 1e6, MOST_ELEMENTS = 1e8;

/* A kind of statement: WORD NAME[shape] rest, with several of them,
 * separated by commas, where that is allowed. A reaction has no name, and no
 * rest. */
struct rule {
    const char *word;
    enum statement_kind kind;
    bool several;
    int (*rest)(struct parser *, const struct rule *, struct statement *);
};

static int state_rest(struct parser *, const struct rule *, struct statement *);
static int input_rest(struct parser *, const struct rule *, struct statement *);
static int param_rest(struct parser *, const struct rule *, struct statement *);
static int value_rest(struct parser *, const struct rule *, struct statement *);
static int function_rest(struct parser *, const struct rule *,
                         struct statement *);
static int law_rest(struct parser *, const struct rule *, struct statement *);
static int init_rest(struct parser *, const struct rule *, struct statement *);
static int event_rest(struct parser *, const struct rule *, struct statement *);

static const struct rule RULES[] = {
    {"state", STATE, true, state_rest},
    {"input", INPUT, true, input_rest},
    {"param", PARAM, true, param_rest},
    {"const", CONSTANT, true, value_rest},
    {"let", LET, true, value_rest},
    {"net", NET, false, function_rest},
    {"gp", GP, false, function_rest},
    {"terms", TERMS_LINE, false, function_rest},
    {"external", EXTERNAL, false, function_rest},
    {"obs", OBS, false, law_rest},
    {"init", INIT, false, init_rest},
    {"event", EVENT, false, event_rest},
    {"prior", PRIOR_LINE, false, law_rest},
    {"random", RANDOM, false, law_rest},
    {"reaction", REACTION, false, NULL},
};

enum { WORDS = sizeof RULES / sizeof *RULES };

/* A statement of the tree that is not filled in yet. The pointer lasts up to
 * the next one. */
static struct statement *begin(struct parser *p, enum statement_kind kind)
{
    struct ast *ast = p->ast;
    if (MEM_ROOM(ast->statement, ast->statements, ast->capacity)) return NULL;
    struct statement *s = &ast->statement[ast->statements++];
    s->kind = kind;
    s->declared.rows = s->declared.columns = 1;
    return s;
}

/* As much of a token as a message shows. */
static void copy_word(char word[SHOWN + 1], const struct token *t)
{
    size_t n = t->length < SHOWN ? t->length : SHOWN;
    memcpy(word, t->text, n);
    word[n] = 0;
}

int parse_size(struct parser *p, size_t *size)
{
    double n = p->token.number;
    bool good = p->token.kind == TOKEN_NUMBER && n >= 1 && n <= LARGEST_SIZE &&
                n == (double)(size_t)n;
    if (!good)
        return refuse(p, parse_here(p),
                      "a whole number from 1 to %.0f is expected here",
                      LARGEST_SIZE);
    *size = (size_t)n;
    parse_next(p);
    return 0;
}

/* The series of param k[series], or a column; the label of prior k[label]. */
static int parse_category(struct parser *p, struct declared *d)
{
    d->category = mem_substring(p->token.text, p->token.length);
    d->category_place = p->token.place;
    d->rank = 1;
    parse_next(p);
    return d->category ? 0 : GSV_NO_MEMORY;
}

static int parse_shape(struct parser *p, const struct rule *rule,
                       struct declared *d)
{
    struct token open = p->token;
    if (!parse_take(p, '[')) return 0;
    bool named = rule->kind == PARAM || rule->kind == PRIOR_LINE;
    if (p->token.kind == TOKEN_NAME && named) {
        int status = parse_category(p, d);
        return status ? status : parse_close(p, &open);
    }
    size_t *size[] = {&d->rows, &d->columns};
    do {
        if (d->rank == 2)
            return refuse(p, p->token.place,
                          "a shape has one size or two; write 'a[3]' or "
                          "'a[3, 2]'");
        int status = parse_size(p, size[d->rank++]);
        if (status) return status;
    } while (parse_take(p, ','));
    if ((double)d->rows * (double)d->columns > MOST_ELEMENTS)
        return refuse(p, open.place,
                      "an array has at most %.0f elements, not %zu times %zu",
                      MOST_ELEMENTS, d->rows, d->columns);
    return parse_close(p, &open);
}

static int missing_name(struct parser *p, const struct rule *rule)
{
    const struct token *a = &p->before, *b = &p->token;
    bool comma = a->kind == TOKEN_SYMBOL && a->symbol == ',';
    if (comma && parse_decimal_comma(p, a)) return GSV_BAD_INPUT;
    if (!parse_ended(p))
        return refuse(p, b->place,
                      "after '%.*s' a name is expected, not '%.*s'", SHOW(a),
                      SHOW(b));
    if (comma)
        return refuse(p, a->place,
                      "no name follows ','; a statement ends with its line, so "
                      "begin the next one with '%s' again",
                      rule->word);
    return refuse(p, parse_gap(p), "after '%s' a name is expected", rule->word);
}

static int parse_declared(struct parser *p, const struct rule *rule,
                          struct declared *d)
{
    if (p->token.kind != TOKEN_NAME) return missing_name(p, rule);
    d->name = mem_substring(p->token.text, p->token.length);
    if (!d->name) return GSV_NO_MEMORY;
    d->place = p->token.place;
    parse_next(p);
    bool function = is_function_kind(rule->kind);
    if (parse_at(p, '(') && !function)
        return refuse(p, p->token.place,
                      "'(' is not expected after the name; write '%s %.*s'",
                      rule->word, SHOWN, d->name);
    return function ? 0 : parse_shape(p, rule, d);
}

static int parse_value(struct parser *p, struct statement *s)
{
    s->value = parse_expr(p);
    return s->value ? 0 : GSV_BAD_INPUT;
}

/* The symbol that must follow a name, and the value after it. */
static int need_value(struct parser *p, const struct rule *rule,
                      struct statement *s, char symbol)
{
    if (parse_take(p, symbol)) return parse_value(p, s);
    const struct token *t = &p->token;
    if (t->kind == TOKEN_SYMBOL && strchr("=~:", t->symbol))
        return refuse(p, t->place, "write '%c' instead of '%c'", symbol,
                      t->symbol);
    return refuse(p, parse_here(p), "'%c' is missing; write '%s %.*s %c ...'",
                  symbol, rule->word, SHOWN, s->declared.name, symbol);
}

static int state_rest(struct parser *p, const struct rule *rule,
                      struct statement *s)
{
    (void)rule;
    return parse_take(p, '=') ? parse_value(p, s) : 0;
}

static int input_rest(struct parser *p, const struct rule *rule,
                      struct statement *s)
{
    (void)rule;
    if (!parse_at_word(p, "hold")) return 0;
    s->hold = true;
    parse_next(p);
    return 0;
}

static int value_rest(struct parser *p, const struct rule *rule,
                      struct statement *s)
{
    return need_value(p, rule, s, '=');
}

static int law_rest(struct parser *p, const struct rule *rule,
                    struct statement *s)
{
    struct place place = p->token.place;
    int status = need_value(p, rule, s, '~');
    if (status || s->value->kind == EXPR_CALL) return status;
    return refuse(p, place,
                  "after '~' a distribution is expected, such as '%s'",
                  rule->kind == PRIOR_LINE ? "normal(0, 1)" : "normal(x, 0.1)");
}

static int init_rest(struct parser *p, const struct rule *rule,
                     struct statement *s)
{
    int status = law_rest(p, rule, s);
    if (status || !parse_at_word(p, "at")) return status;
    parse_next(p);
    if (parse_ended(p))
        return refuse(p, parse_gap(p),
                      "after 'at' a time is expected, such as 'at 0'");
    s->low = parse_expr(p);
    return s->low ? 0 : GSV_BAD_INPUT;
}

static int event_rest(struct parser *p, const struct rule *rule,
                      struct statement *s)
{
    (void)rule;
    if (parse_take(p, ADDED)) return parse_value(p, s);
    if (parse_at(p, '-') || parse_at(p, '=') || parse_at(p, '~'))
        return refuse(p, p->token.place,
                      "an event adds to a state; write 'event %.*s += ...', "
                      "with a negative value for what is taken away",
                      SHOWN, s->declared.name);
    return refuse(p, parse_here(p),
                  "'+=' is missing; write 'event %.*s += ...'", SHOWN,
                  s->declared.name);
}

static void take_lower(struct parser *p, struct statement *s)
{
    for (; parse_at_word(p, "lower"); parse_next(p))
        s->lower = true;
}

/* in (low, high), with the word passed. */
static int parse_between(struct parser *p, struct statement *s)
{
    struct token open = p->token;
    if (!parse_take(p, '('))
        return refuse(p, parse_here(p),
                      "write bounds in round brackets: 'in (low, high)'");
    s->low = parse_expr(p);
    if (!s->low) return GSV_BAD_INPUT;
    if (!parse_take(p, ','))
        return refuse(p, parse_gap(p),
                      "two bounds are needed, with ',' between them; write 'in "
                      "(low, high)'");
    s->high = parse_expr(p);
    return s->high ? parse_close(p, &open) : GSV_BAD_INPUT;
}

static int parse_bound(struct parser *p, struct statement *s)
{
    s->bound_place = p->token.place;
    if (parse_at_word(p, "in")) {
        s->bound = BOUND_BETWEEN;
        parse_next(p);
        return parse_between(p, s);
    }
    if (!parse_at_comparison(p)) return 0;
    if (p->token.length > 1)
        return refuse(p, p->token.place,
                      "write '%c': a value is never equal to its bound",
                      *p->token.text);
    bool above = parse_at(p, '>');
    s->bound = above ? BOUND_ABOVE : BOUND_BELOW;
    parse_next(p);
    struct expr **limit = above ? &s->low : &s->high;
    *limit = parse_expr(p);
    return *limit ? 0 : GSV_BAD_INPUT;
}

/* Mistakes that people make after a param. */
static int check_param(struct parser *p, const struct statement *s)
{
    static const char *const WORD[] = {"lower", "in"};
    const struct token *a = &p->before, *b = &p->token;
    if (b->kind == TOKEN_NUMBER && !s->value && !s->bound)
        return refuse(p, b->place, "'=' is missing; write '%.*s = %.*s'", SHOWN,
                      s->declared.name, SHOW(b));
    if (s->bound && parse_at(p, '='))
        return refuse(p, b->place,
                      "write the value before the bound, as in 'a = 1 > 0'");
    if (s->bound && (parse_at_comparison(p) || parse_at_word(p, "in")))
        return refuse(p, b->place,
                      "a param has one bound; write 'in (low, high)' for two");
    if (b->kind != TOKEN_NAME || a->text + a->length == b->text) return 0;
    char word[SHOWN + 1];
    copy_word(word, b);
    const char *meant = gsv_suggestion(word, 2, WORD);
    if (meant)
        return refuse(p, b->place,
                      "'%s' is not expected here; did you mean '%s'?", word,
                      meant);
    return refuse(p, b->place,
                  "'%s' is not expected here; a param may end with 'lower', "
                  "'> low', '< high' or 'in (low, high)'",
                  word);
}

static int param_rest(struct parser *p, const struct rule *rule,
                      struct statement *s)
{
    (void)rule;
    int status = 0;
    take_lower(p, s);
    if (parse_take(p, '=')) status = parse_value(p, s);
    if (status) return status;
    take_lower(p, s);
    status = parse_bound(p, s);
    if (status) return status;
    take_lower(p, s);
    return check_param(p, s);
}

static int function_rest(struct parser *p, const struct rule *rule,
                         struct statement *s)
{
    return parse_function(p, rule->word, s);
}

/* A name after a state or an input, where no name is allowed. */
static int missing_comma(struct parser *p, const struct statement *s)
{
    static const char *const HOLD[] = {"hold"};
    char word[SHOWN + 1];
    copy_word(word, &p->token);
    if (s->kind == INPUT && gsv_suggestion(word, 1, HOLD))
        return refuse(p, p->token.place,
                      "'%s' is not expected here; did you mean 'hold'?", word);
    return refuse(p, p->token.place, "names are separated by ','; write ', %s'",
                  word);
}

/* Ends the statement: the line's end, or why it should be there. */
static int finish(struct parser *p, const struct statement *s)
{
    if (p->token.kind == TOKEN_END) return 0;
    if (p->token.kind == TOKEN_LINE) {
        parse_next(p);
        return 0;
    }
    if (s->value || s->bound) return parse_stray(p);
    if (p->token.kind == TOKEN_NAME && (s->kind == STATE || s->kind == INPUT))
        return missing_comma(p, s);
    return refuse(p, p->token.place,
                  "'%.*s' is not expected here; the statement should end "
                  "before it",
                  SHOW(&p->token));
}

static int parse_rule(struct parser *p, const struct rule *rule)
{
    const struct statement *last;
    do {
        struct statement *s = begin(p, rule->kind);
        if (!s) return GSV_NO_MEMORY;
        int status = rule->rest ? parse_declared(p, rule, &s->declared)
                                : parse_reaction(p, s);
        if (!status && rule->rest) status = rule->rest(p, rule, s);
        if (status) return status;
        last = s;
    } while (rule->several && parse_take(p, ','));
    return finish(p, last);
}

/* index is the i of dx[i], or NULL. */
static int parse_equation(struct parser *p, const struct token *word,
                          const struct token *index)
{
    struct statement *s = begin(p, EQUATION);
    if (!s) return GSV_NO_MEMORY;
    s->declared.place = word->place;
    s->declared.name = mem_substring(word->text + 1, word->length - 1);
    if (!s->declared.name) return GSV_NO_MEMORY;
    if (index) {
        s->index = mem_substring(index->text, index->length);
        s->index_place = index->place;
        if (!s->index) return GSV_NO_MEMORY;
    }
    int status = parse_value(p, s);
    return status ? status : finish(p, s);
}

/* dx[i] = ..., with the word passed. */
static int parse_index_equation(struct parser *p, const struct token *word)
{
    struct token open = p->token;
    parse_next(p);
    struct token name = p->token;
    parse_next(p);
    int status = parse_close(p, &open);
    if (!status && !parse_take(p, '='))
        status = refuse(p, word->place,
                        "an equation is written '%.*s[%.*s] = ...*dt + "
                        "...*dW'",
                        SHOW(word), SHOW(&name));
    if (!status) status = parse_equation(p, word, &name);
    return status;
}

static bool is_differential(const struct token *word)
{
    return word->length > 1 && *word->text == 'd';
}

static const struct rule *find_rule(const struct token *word)
{
    for (size_t i = 0; i < WORDS; i++)
        if (strlen(RULES[i].word) == word->length &&
            memcmp(RULES[i].word, word->text, word->length) == 0)
            return &RULES[i];
    return NULL;
}

static const char *similar_word(const struct token *word)
{
    const char *words[WORDS];
    for (size_t i = 0; i < WORDS; i++)
        words[i] = RULES[i].word;
    char text[SHOWN + 1];
    copy_word(text, word);
    return gsv_suggestion(text, WORDS, words);
}

/* x' = ...: the word was passed. */
static int not_a_derivative(struct parser *p, const struct token *word)
{
    struct place both = word->place;
    both.length++;
    return complain(p->source, both,
                    "a derivative is written as a differential; write "
                    "'d%.*s = ...*dt + ...*dW'",
                    SHOW(word));
}

/* dx/dt = ..., dx(t) = ..., dx[1] = ...: the word was passed. */
static int not_an_equation(struct parser *p, const struct token *word)
{
    if (parse_at(p, '['))
        return refuse(p, p->token.place,
                      "an equation is for the whole vector; write '%.*s = "
                      "...*dt + ...*dW', or with an index for its elements "
                      "'%.*s[i] = ...*dt + ...*dW'",
                      SHOW(word), SHOW(word));
    return refuse(p, word->place,
                  "an equation is written '%.*s = ...*dt + ...*dW'",
                  SHOW(word));
}

/* A line that begins with a word which is none of ours, already passed. */
static int not_a_statement(struct parser *p, const struct token *word)
{
    const char *meant = similar_word(word);
    if (p->token.kind == TOKEN_BAD && *p->token.text == '\'')
        return not_a_derivative(p, word);
    if (parse_at(p, '='))
        return refuse(p, word->place,
                      "'%.*s = ...' is not a statement; write 'let', 'param' "
                      "or 'const' before it, or 'd%.*s = ...' for an equation",
                      SHOW(word), SHOW(word));
    if (parse_at(p, ADDED))
        return refuse(p, word->place,
                      "'%.*s += ...' is not a statement; write 'event %.*s += "
                      "...' for a jump at rows of the data",
                      SHOW(word), SHOW(word));
    if (is_differential(word) && p->token.kind == TOKEN_SYMBOL)
        return not_an_equation(p, word);
    if (meant)
        return refuse(p, word->place,
                      "'%.*s' is not a statement; did you mean '%s'?",
                      SHOW(word), meant);
    return refuse(
        p, word->place,
        "'%.*s' is not a statement; a line begins with state, input, "
        "param, const, let, net, gp, terms, external, obs, init, event, "
        "prior, random or reaction, or is an equation 'dx = ...*dt + ...*dW'",
        SHOW(word));
}

static int parse_statement(struct parser *p)
{
    struct token word = p->token;
    if (word.kind != TOKEN_NAME)
        return refuse(p, word.place,
                      "a line begins with a word, such as 'param', or with an "
                      "equation, not with '%.*s'",
                      SHOW(&word));
    const struct rule *rule = find_rule(&word);
    parse_next(p);
    if (rule) return parse_rule(p, rule);
    if (is_differential(&word) && parse_take(p, '='))
        return parse_equation(p, &word, NULL);
    if (is_differential(&word) && parse_at(p, '[') &&
        parse_ahead(p).kind == TOKEN_NAME)
        return parse_index_equation(p, &word);
    return not_a_statement(p, &word);
}

static int parse_text(struct parser *p)
{
    int status = 0;
    p->lexer = lex_start(p->source);
    p->token = lex_next(&p->lexer);
    while (!status && p->token.kind != TOKEN_END) {
        if (p->token.kind == TOKEN_LINE) parse_next(p);
        else status = parse_statement(p);
    }
    return status;
}

struct ast *ast_parse(const struct source *source)
{
    if (strnlen(source->text, LONGEST_TEXT + 1) > LONGEST_TEXT)
        return fail_null(GSV_BAD_INPUT,
                         "%.1000s: the text of a model has at most 16 MiB",
                         source->name);
    /* A number has a point, whatever the process writes elsewhere. */
    struct plain_locale locale;
    plain_begin(&locale);
    struct parser p = {.source = source, .ast = NEW(struct ast, 1)};
    int status = p.ast ? parse_text(&p) : GSV_NO_MEMORY;
    plain_end(&locale);
    if (!status) return p.ast;
    ast_free(p.ast);
    return NULL;
}
