/* SPDX-License-Identifier: MIT */
/* The lexer of the model language (docs/LANGUAGE.md). */
#include "lang/lex.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/visible.h"
#include "lang/message.h"

/* What people write by habit, and what to write instead. A longer text comes
 * before its own beginning. */
static const struct {
    const char *text, *remedy;
} WRONG[] = {
    {"**", "a power is written '^'"},
    {"==", "write a single '='"},
    {":=", "write '='"},
    {"=>", "an arrow is written '->'"},
    {"//", "a comment begins with '#'"},
    {"/*", "a comment begins with '#'"},
    {"&", "the operators are + - * / ^ @"},
    {"%", "a comment begins with '#', and the operators are + - * / ^ @"},
    {"|", "an absolute value is written abs(x)"},
    {"!", "the operators are + - * / ^ @"},
    {";", "write one statement per line, without ';'"},
    {"{", "write '(' and ')'"},
    {"}", "write '(' and ')'"},
    {"'", "for a derivative write 'dx = ...*dt + ...*dW'"},
    {"\"", "write names and words without quotes"},
    {"\u2019", "for a derivative write 'dx = ...*dt + ...*dW'"},
    {"\u2032", "for a derivative write 'dx = ...*dt + ...*dW'"},
    {"\u2192", "an arrow is written '->'"},
    {"\u2212", "a minus is written '-'"},
    {"\u2013", "a minus is written '-'"},
    {"\u00B7", "a product is written '*'"},
    {"\u22C5", "a product is written '*'"},
    {"\u00D7", "a product is written '*'"},
    {"\u00F7", "a quotient is written '/'"},
    {"\u00B2", "a square is written '^2'"},
    {"\u00B3", "a cube is written '^3'"},
    {"\u221A", "a root is written sqrt(x)"},
    {"\u223C", "write '~'"},
    {"\u2265", "write '>='"},
    {"\u2264", "write '<='"},
    {"\u2202", "a derivative is written grad(f, x)"},
    {"\u00A0", "use an ordinary space"},
};

static const struct {
    const char *letter, *name;
} GREEK[] = {
    {"\u03B1", "alpha"},  {"\u03B2", "beta"},  {"\u03B3", "gamma"},
    {"\u03B4", "delta"},  {"\u03B5", "eps"},   {"\u03B6", "zeta"},
    {"\u03B7", "eta"},    {"\u03B8", "theta"}, {"\u03BA", "kappa"},
    {"\u03BB", "lambda"}, {"\u03BC", "mu"},    {"\u00B5", "mu"},
    {"\u03BD", "nu"},     {"\u03BE", "xi"},    {"\u03C0", "pi"},
    {"\u03C1", "rho"},    {"\u03C3", "sigma"}, {"\u03C4", "tau"},
    {"\u03C6", "phi"},    {"\u03C7", "chi"},   {"\u03C8", "psi"},
    {"\u03C9", "omega"},  {"\u0393", "Gamma"}, {"\u0394", "Delta"},
    {"\u03A3", "Sigma"},  {"\u03A6", "Phi"},   {"\u03A8", "Psi"},
    {"\u03A9", "Omega"},
};

enum {
    WRONGS = sizeof WRONG / sizeof *WRONG,
    GREEKS = sizeof GREEK / sizeof *GREEK
};

static bool begins(const char *text, const char *with)
{
    return *text == *with && strncmp(text, with, strlen(with)) == 0;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool lex_is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           is_digit(c);
}

struct lexer lex_start(const struct source *source)
{
    const char *text = text_start(source->text);
    return (struct lexer){.at = text, .line_start = text, .line = 1};
}

static void pass_break(struct lexer *l)
{
    l->at += break_length(l->at);
    l->line_start = l->at;
    l->line++;
}

static void pass_blanks(struct lexer *l)
{
    for (;;) {
        l->at += strspn(l->at, " \t\v\f");
        if (*l->at == '#') l->at += strcspn(l->at, "\r\n");
        if (!l->depth || !break_length(l->at)) return;
        pass_break(l);
    }
}

static size_t digits(const char *s)
{
    return strspn(s, "0123456789");
}

/* Bytes of the number at s, which starts with a digit, or with a point and a
 * digit. An 'e' without digits after it belongs to the next name. */
static size_t number_length(const char *s)
{
    size_t n = digits(s);
    if (s[n] == '.') n += 1 + digits(s + n + 1);
    if (s[n] == 'e' || s[n] == 'E') {
        size_t sign = s[n + 1] == '+' || s[n + 1] == '-';
        size_t exponent = digits(s + n + 1 + sign);
        if (exponent) n += 1 + sign + exponent;
    }
    return n;
}

static size_t name_length(const char *s)
{
    size_t n = 0;
    while (lex_is_name(s[n]))
        n++;
    return n;
}

static bool starts_number(const char *s)
{
    return is_digit(*s) || (*s == '.' && is_digit(s[1]));
}

static size_t wrong_length(const char *s)
{
    for (size_t i = 0; i < WRONGS; i++)
        if (begins(s, WRONG[i].text)) return strlen(WRONG[i].text);
    return 0;
}

static void classify_symbol(struct token *t)
{
    static const struct {
        const char *text;
        char symbol;
    } PAIR[] = {
        {"->", ARROW}, {">=", AT_LEAST}, {"<=", AT_MOST}, {"+=", ADDED}};
    const char *s = t->text;
    bool known = strchr("()[]+-*/^@=,:~<>", *s) != NULL;
    t->kind = known ? TOKEN_SYMBOL : TOKEN_BAD;
    t->symbol = *s;
    t->length = known ? 1 : utf8_length(s, 4);
    for (size_t i = 0; i < sizeof PAIR / sizeof *PAIR; i++)
        if (begins(s, PAIR[i].text)) {
            t->symbol = PAIR[i].symbol;
            t->length = 2;
        }
    if (!t->length) t->length = 1;
}

/* Finds out what begins at t->text: its kind, value and length. */
static void classify(struct token *t)
{
    const char *s = t->text;
    size_t wrong = wrong_length(s);
    if (!*s) {
        t->kind = TOKEN_END;
    } else if (break_length(s)) {
        t->kind = TOKEN_LINE;
    } else if (wrong) {
        t->kind = TOKEN_BAD;
        t->length = wrong;
    } else if (starts_number(s)) {
        t->number = strtod(s, NULL);
        t->kind = isinf(t->number) ? TOKEN_BAD : TOKEN_NUMBER;
        t->length = number_length(s);
    } else if (lex_is_name(*s)) {
        t->kind = TOKEN_NAME;
        t->length = name_length(s);
    } else {
        classify_symbol(t);
    }
}

struct token lex_next(struct lexer *l)
{
    pass_blanks(l);
    struct token t = {.text = l->at};
    classify(&t);
    size_t column = (size_t)(l->at - l->line_start) + 1;
    t.place = (struct place){l->line, column, t.length};
    if (t.kind == TOKEN_LINE) pass_break(l);
    else l->at += t.length;
    if (t.kind != TOKEN_SYMBOL) return t;
    if (t.symbol == '(' || t.symbol == '[') l->depth++;
    if ((t.symbol == ')' || t.symbol == ']') && l->depth) l->depth--;
    return t;
}

int lex_complain(const struct source *source, const struct token *bad)
{
    const char *s = bad->text;
    int n = (int)(bad->length < 40 ? bad->length : 40);
    if (starts_number(s))
        return complain(source, bad->place,
                        "the number %.*s is too large; the largest is 1.8e308",
                        n, s);
    for (size_t i = 0; i < WRONGS; i++)
        if (begins(s, WRONG[i].text))
            return complain(source, bad->place,
                            "'%s' is not part of the language; %s",
                            WRONG[i].text, WRONG[i].remedy);
    for (size_t i = 0; i < GREEKS; i++)
        if (begins(s, GREEK[i].letter))
            return complain(
                source, bad->place,
                "names consist of plain letters; write '%s' instead of '%s'",
                GREEK[i].name, GREEK[i].letter);
    if (!utf8_length(s, 4) || (unsigned char)*s < 0x20 || *s == 0x7F)
        return complain(source, bad->place,
                        "the byte 0x%02X is not part of the language; the text "
                        "must be plain UTF-8",
                        (unsigned)(unsigned char)*s);
    return complain(source, bad->place,
                    "'%.*s' is not part of the language; names have the "
                    "letters a to z and A to Z, digits and '_'",
                    n, s);
}
