/* SPDX-License-Identifier: MIT */
/* What is said about mistakes in a model: the whole text of each message. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "data/visible.h"
#include "girsanov.h"
#include "lang/ast.h"
#include "lang/message.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void expect_message(const char *text, const char *message)
{
    struct source source = {"m.sde", text};
    struct ast *ast = ast_parse(&source);
    if (ast) fail_msg("this was accepted: %s", text);
    assert_int_equal(gsv_last_status(), GSV_BAD_INPUT);
    if (strncmp(gsv_last_error(), "m.sde:", 6) != 0 ||
        strcmp(gsv_last_error() + 6, message) != 0)
        fail_msg("said:\n%s\nexpected:\nm.sde:%s", gsv_last_error(), message);
}

/* The message without the file's name: it is the same for all. */
static const struct {
    const char *text, *message;
} BAD[] = {
    /* Brackets */
    {"state x\ndx = (a*b*dt + dW\ndy = 3",
     "2:6: this '(' is never closed; add a ')'\n"
     "    dx = (a*b*dt + dW\n"
     "         ^"},
    {"dx = f(2*x, y\n\n", "1:7: this '(' is never closed; add a ')'\n"
                          "    dx = f(2*x, y\n"
                          "          ^"},
    {"param c[3] = [1, 2, 3\nstate x",
     "1:14: this '[' is never closed; add a ']'\n"
     "    param c[3] = [1, 2, 3\n"
     "                 ^"},
    {"param c[3 = 1", "1:8: this '[' is never closed; add a ']'\n"
                      "    param c[3 = 1\n"
                      "           ^"},
    {"dx = f(2]", "1:9: ']' cannot close a '('; write ')'\n"
                  "    dx = f(2]\n"
                  "            ^"},
    {"dx = a)*dt", "1:7: this ')' closes nothing; remove it\n"
                   "    dx = a)*dt\n"
                   "          ^"},
    {"dx = x[1, 2, 3]",
     "1:7: an element has one index or two; write 'a[1]' or 'a[1, 2]'\n"
     "    dx = x[1, 2, 3]\n"
     "          ^"},
    {"dx = x[]",
     "1:7: an element has one index or two; write 'a[1]' or 'a[1, 2]'\n"
     "    dx = x[]\n"
     "          ^"},
    {"dx = ()", "1:7: after '(' a number, a name or '(' is expected, not ')'\n"
                "    dx = ()\n"
                "          ^"},
    {"dx = (a = b", "1:6: this '(' is never closed; add a ')'\n"
                    "    dx = (a = b\n"
                    "         ^"},
    {"dx = (a, b)",
     "1:8: ',' is not expected here; a list is written '[a, b]'\n"
     "    dx = (a, b)\n"
     "           ^"},
    {"dx = (0,5*x)", "1:7: a number has a decimal point; write '0.5'\n"
                     "    dx = (0,5*x)\n"
                     "          ^~~"},
    /* Operators */
    {"dx = a**2",
     "1:7: '**' is not part of the language; a power is written '^'\n"
     "    dx = a**2\n"
     "          ^~"},
    {"dx == a", "1:4: '==' is not part of the language; write a single '='\n"
                "    dx == a\n"
                "       ^~"},
    {"dx := a", "1:4: ':=' is not part of the language; write '='\n"
                "    dx := a\n"
                "       ^~"},
    {"dx = a & b",
     "1:8: '&' is not part of the language; the operators are + - * / ^ @\n"
     "    dx = a & b\n"
     "           ^"},
    {"dx = a % b", "1:8: '%' is not part of the language; a comment begins "
                   "with '#', and the operators are + - * / ^ @\n"
                   "    dx = a % b\n"
                   "           ^"},
    {"dx = 2x*dt", "1:6: an operator is missing between '2' and 'x'; a product "
                   "is written '2*x'\n"
                   "    dx = 2x*dt\n"
                   "         ^~"},
    {"dx = 2 x*dt", "1:6: an operator is missing between '2' and 'x'; a "
                    "product is written '2*x'\n"
                    "    dx = 2 x*dt\n"
                    "         ^~~"},
    {"dx = x y", "1:6: an operator is missing between 'x' and 'y'; a product "
                 "is written 'x*y'\n"
                 "    dx = x y\n"
                 "         ^~~"},
    {"dx = (a)(b)", "1:8: an operator is missing between ')' and '('; a "
                    "product is written with '*'\n"
                    "    dx = (a)(b)\n"
                    "           ^~"},
    {"dx = x 2", "1:6: an operator is missing between 'x' and '2'; a product "
                 "is written 'x*2'\n"
                 "    dx = x 2\n"
                 "         ^~~"},
    {"dx = 1.2.3", "1:6: an operator is missing between '1.2' and '.3'; a "
                   "product is written '1.2*.3'\n"
                   "    dx = 1.2.3\n"
                   "         ^~~~~"},
    {"dx =", "1:5: after '=' a number, a name or '(' is expected\n"
             "    dx =\n"
             "        ^"},
    {"dx =   # nothing", "1:5: after '=' a number, a name or '(' is expected\n"
                         "    dx =   # nothing\n"
                         "        ^"},
    {"dx = a +",
     "1:8: nothing follows '+'; write what it is applied to, or remove it\n"
     "    dx = a +\n"
     "           ^"},
    {"dx = (a -\n)",
     "1:9: nothing follows '-'; write what it is applied to, or remove it\n"
     "    dx = (a -\n"
     "            ^"},
    {"dx = a + * b",
     "1:10: after '+' a number, a name or '(' is expected, not '*'\n"
     "    dx = a + * b\n"
     "             ^"},
    {"dx = f(a,)",
     "1:10: after ',' a number, a name or '(' is expected, not ')'\n"
     "    dx = f(a,)\n"
     "             ^"},
    {"dx = 1e999",
     "1:6: the number 1e999 is too large; the largest is 1.8e308\n"
     "    dx = 1e999\n"
     "         ^~~~~"},
    {"dx = 0,5*dt", "1:6: a number has a decimal point; write '0.5'\n"
                    "    dx = 0,5*dt\n"
                    "         ^~~"},
    /* Equations */
    {"x' = a", "1:1: a derivative is written as a differential; write 'dx = "
               "...*dt + ...*dW'\n"
               "    x' = a\n"
               "    ^~"},
    {"dx/dt = a", "1:1: an equation is written 'dx = ...*dt + ...*dW'\n"
                  "    dx/dt = a\n"
                  "    ^~"},
    {"dX(t) = a", "1:1: an equation is written 'dX = ...*dt + ...*dW'\n"
                  "    dX(t) = a\n"
                  "    ^~"},
    {"state x\ndx = -x(t)*dt", "2:7: 'x' is a state; write it without '(t)'\n"
                               "    dx = -x(t)*dt\n"
                               "          ^"},
    {"dx[1] = a",
     "1:3: an equation is for the whole vector; write 'dx = ...*dt + ...*dW', "
     "or with an index for its elements 'dx[i] = ...*dt + ...*dW'\n"
     "    dx[1] = a\n"
     "      ^"},
    {"dx ~ a", "1:1: an equation is written 'dx = ...*dt + ...*dW'\n"
               "    dx ~ a\n"
               "    ^~"},
    {"foo = 3", "1:1: 'foo = ...' is not a statement; write 'let', 'param' or "
                "'const' before it, or 'dfoo = ...' for an equation\n"
                "    foo = 3\n"
                "    ^~~"},
    {"d = 3", "1:1: 'd = ...' is not a statement; write 'let', 'param' or "
              "'const' before it, or 'dd = ...' for an equation\n"
              "    d = 3\n"
              "    ^"},
    {"paran s = 8", "1:1: 'paran' is not a statement; did you mean 'param'?\n"
                    "    paran s = 8\n"
                    "    ^~~~~"},
    {"Net f(x) -> 1 : 8", "1:1: 'Net' is not a statement; did you mean 'net'?\n"
                          "    Net f(x) -> 1 : 8\n"
                          "    ^~~"},
    {"hello world",
     "1:1: 'hello' is not a statement; a line begins with "
     "state, input, param, const, let, net, gp, terms, external, obs, init, "
     "event, prior, random or reaction, or is an equation 'dx = "
     "...*dt + ...*dW'\n"
     "    hello world\n"
     "    ^~~~~"},
    {"data x", "1:1: 'data' is not a statement; a line begins with state, "
               "input, param, const, let, net, gp, terms, external, obs, init, "
               "event, prior, "
               "random or reaction, or is an "
               "equation 'dx = ...*dt + ...*dW'\n"
               "    data x\n"
               "    ^~~~"},
    {"= 3", "1:1: a line begins with a word, such as 'param', or with an "
            "equation, not with '='\n"
            "    = 3\n"
            "    ^"},
    {"dx = a = b",
     "1:8: '=' is not expected here; the statement should end before it\n"
     "    dx = a = b\n"
     "           ^"},
    {"dx = a, b",
     "1:7: ',' is not expected here; the statement should end before it\n"
     "    dx = a, b\n"
     "          ^"},
    /* Declarations */
    {"param", "1:6: after 'param' a name is expected\n"
              "    param\n"
              "         ^"},
    {"state x, ", "1:8: no name follows ','; a statement ends with its line, "
                  "so begin the next one with 'state' again\n"
                  "    state x, \n"
                  "           ^"},
    {"param s = 8,\n      r = 2",
     "1:12: no name follows ','; a statement ends with its line, so begin the "
     "next one with 'param' again\n"
     "    param s = 8,\n"
     "               ^"},
    {"param = 8", "1:7: after 'param' a name is expected, not '='\n"
                  "    param = 8\n"
                  "          ^"},
    {"state 8", "1:7: after 'state' a name is expected, not '8'\n"
                "    state 8\n"
                "          ^"},
    {"state x y", "1:9: names are separated by ','; write ', y'\n"
                  "    state x y\n"
                  "            ^"},
    {"state X(t)", "1:8: '(' is not expected after the name; write 'state X'\n"
                   "    state X(t)\n"
                   "           ^"},
    {"state x[0]", "1:9: a whole number from 1 to 1000000 is expected here\n"
                   "    state x[0]\n"
                   "            ^"},
    {"state x[2.5]", "1:9: a whole number from 1 to 1000000 is expected here\n"
                     "    state x[2.5]\n"
                     "            ^~~"},
    {"state x[n]", "1:9: a whole number from 1 to 1000000 is expected here\n"
                   "    state x[n]\n"
                   "            ^"},
    {"state x[2, 2, 2]",
     "1:15: a shape has one size or two; write 'a[3]' or 'a[3, 2]'\n"
     "    state x[2, 2, 2]\n"
     "                  ^"},
    {"state x[1000000, 1000000]",
     "1:8: an array has at most 100000000 elements, not 1000000 times 1000000\n"
     "    state x[1000000, 1000000]\n"
     "           ^"},
    {"param s 8", "1:9: '=' is missing; write 's = 8'\n"
                  "    param s 8\n"
                  "            ^"},
    {"param s = 0,5", "1:11: a number has a decimal point; write '0.5'\n"
                      "    param s = 0,5\n"
                      "              ^~~"},
    {"param s = 1, 2", "1:14: after ',' a name is expected, not '2'\n"
                       "    param s = 1, 2\n"
                       "                 ^"},
    {"param s = 1 >= 0",
     "1:13: write '>': a value is never equal to its bound\n"
     "    param s = 1 >= 0\n"
     "                ^~"},
    {"param s = 1 <= 0",
     "1:13: write '<': a value is never equal to its bound\n"
     "    param s = 1 <= 0\n"
     "                ^~"},
    {"param s = 1 in [0, 1]",
     "1:16: write bounds in round brackets: 'in (low, high)'\n"
     "    param s = 1 in [0, 1]\n"
     "                   ^"},
    {"param s = 1 in 0, 1",
     "1:16: write bounds in round brackets: 'in (low, high)'\n"
     "    param s = 1 in 0, 1\n"
     "                   ^"},
    {"param s = 1 in (0)", "1:18: two bounds are needed, with ',' between "
                           "them; write 'in (low, high)'\n"
                           "    param s = 1 in (0)\n"
                           "                     ^"},
    {"param s = 1 in (0 1)", "1:18: two bounds are needed, with ',' between "
                             "them; write 'in (low, high)'\n"
                             "    param s = 1 in (0 1)\n"
                             "                     ^"},
    {"param s > 0 = 1",
     "1:13: write the value before the bound, as in 'a = 1 > 0'\n"
     "    param s > 0 = 1\n"
     "                ^"},
    {"param s = 1 > 0 < 2",
     "1:17: a param has one bound; write 'in (low, high)' for two\n"
     "    param s = 1 > 0 < 2\n"
     "                    ^"},
    {"param L[2,2] lowr",
     "1:14: 'lowr' is not expected here; did you mean 'lower'?\n"
     "    param L[2,2] lowr\n"
     "                 ^~~~"},
    {"param s = 1 positive",
     "1:13: 'positive' is not expected here; a param may end with 'lower', '> "
     "low', '< high' or 'in (low, high)'\n"
     "    param s = 1 positive\n"
     "                ^~~~~~~~"},
    {"param s = 2x", "1:11: an operator is missing between '2' and 'x'; a "
                     "product is written '2*x'\n"
                     "    param s = 2x\n"
                     "              ^~"},
    {"const g 9.81", "1:9: '=' is missing; write 'const g = ...'\n"
                     "    const g 9.81\n"
                     "            ^~~~"},
    {"const g", "1:8: '=' is missing; write 'const g = ...'\n"
                "    const g\n"
                "           ^"},
    {"let e ~ x", "1:7: write '=' instead of '~'\n"
                  "    let e ~ x\n"
                  "          ^"},
    {"obs y = normal(x, 1)", "1:7: write '~' instead of '='\n"
                             "    obs y = normal(x, 1)\n"
                             "          ^"},
    {"obs y normal(x, 1)", "1:7: '~' is missing; write 'obs y ~ ...'\n"
                           "    obs y normal(x, 1)\n"
                           "          ^~~~~~"},
    {"obs y ~ 3",
     "1:7: after '~' a distribution is expected, such as 'normal(x, 0.1)'\n"
     "    obs y ~ 3\n"
     "          ^"},
    {"input u holt", "1:9: 'holt' is not expected here; did you mean 'hold'?\n"
                     "    input u holt\n"
                     "            ^~~~"},
    /* Networks */
    {"net f -> 1 : 8",
     "1:7: the arguments are missing; write 'net f(x) -> 1 : ...'\n"
     "    net f -> 1 : 8\n"
     "          ^~"},
    {"net f() -> 1 : 8", "1:6: a net has at least one argument; write 'f(x)'\n"
                         "    net f() -> 1 : 8\n"
                         "         ^"},
    {"net f(x) 1 : 8", "1:10: '->' is missing; write 'net f(...) -> 1 : ...' "
                       "with the number of outputs\n"
                       "    net f(x) 1 : 8\n"
                       "             ^"},
    {"net f(x) \xE2\x86\x92 1 : 8", "1:10: '\xE2\x86\x92' is not part of the "
                                    "language; an arrow is written '->'\n"
                                    "    net f(x) \xE2\x86\x92 1 : 8\n"
                                    "             ^"},
    {"net f(x) => 1 : 8",
     "1:10: '=>' is not part of the language; an arrow is written '->'\n"
     "    net f(x) => 1 : 8\n"
     "             ^~"},
    {"net f(x) -> : 8",
     "1:13: a whole number from 1 to 1000000 is expected here\n"
     "    net f(x) -> : 8\n"
     "                ^"},
    {"net f(x) -> 1 8 8 relu",
     "1:15: ':' is missing; write ': 32 32 silu' with the widths of the "
     "layers, or ':' alone for a linear net\n"
     "    net f(x) -> 1 8 8 relu\n"
     "                  ^"},
    {"net f(x) -> 1", "1:14: ':' is missing; write ': 32 32 silu' with the "
                      "widths of the layers, or ':' alone for a linear net\n"
                      "    net f(x) -> 1\n"
                      "                 ^"},
    {"net f(x) -> 1 : 8, 8",
     "1:18: widths are separated by blanks; write '32 32'\n"
     "    net f(x) -> 1 : 8, 8\n"
     "                     ^"},
    {"net f(x) -> 1 : 8 relu 8",
     "1:24: '8' is not expected here; the statement should end before it\n"
     "    net f(x) -> 1 : 8 relu 8\n"
     "                           ^"},
    {"net f(x) -> 1 : 0",
     "1:17: a whole number from 1 to 1000000 is expected here\n"
     "    net f(x) -> 1 : 0\n"
     "                    ^"},
    {"gp h(x) -> 1 : grid 4 over [0, 1",
     "1:28: this '[' is never closed; add a ']'\n"
     "    gp h(x) -> 1 : grid 4 over [0, 1\n"
     "                               ^"},
    /* Characters */
    {"param gr\xC3\xB6\xC3\x9F"
     "e = 1",
     "1:9: '\xC3\xB6' is not part of the language; names have the letters a to "
     "z and A to Z, digits and '_'\n"
     "    param gr\xC3\xB6\xC3\x9F"
     "e = 1\n"
     "            ^"},
    {"param \xCF\x83 = 1", "1:7: names consist of plain letters; write 'sigma' "
                           "instead of '\xCF\x83'\n"
                           "    param \xCF\x83 = 1\n"
                           "          ^"},
    {"dx = a \xE2\x88\x92 b",
     "1:8: '\xE2\x88\x92' is not part of the language; a minus is written '-'\n"
     "    dx = a \xE2\x88\x92 b\n"
     "           ^"},
    {"dx = \xFF", "1:6: the byte 0xFF is not part of the language; the text "
                  "must be plain UTF-8\n"
                  "    dx = ?\n"
                  "         ^"},
    {"dx = \x1B[31m", "1:6: the byte 0x1B is not part of the language; the "
                      "text must be plain UTF-8\n"
                      "    dx = ?[31m\n"
                      "         ^"},
    {"state x; state y", "1:8: ';' is not part of the language; write one "
                         "statement per line, without ';'\n"
                         "    state x; state y\n"
                         "           ^"},
};

static void message__names_the_culprit_and_the_remedy(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < COUNT(BAD); i++)
        expect_message(BAD[i].text, BAD[i].message);
}

static void message__keeps_the_caret_under_the_culprit(void **unused)
{
    (void)unused;
    expect_message("\tdx =\ta &\tb\r\n",
                   "1:9: '&' is not part of the language; the operators are "
                   "+ - * / ^ @\n"
                   "    \tdx =\ta &\tb\n"
                   "    \t    \t  ^");
    expect_message("\xEF\xBB\xBF\rdx = a & b # \xCF\x83",
                   "2:8: '&' is not part of the language; the operators are "
                   "+ - * / ^ @\n"
                   "    dx = a & b # \xCF\x83\n"
                   "           ^");
    /* Two bytes that are one letter move the caret by one. */
    struct source source = {"m.sde", "# \xCF\x83\xCF\x83 here"};
    struct place place = {1, 8, 4};
    assert_int_equal(complain(&source, place, "why"), GSV_BAD_INPUT);
    assert_string_equal(gsv_last_error(), "m.sde:1:8: why\n"
                                          "    # \xCF\x83\xCF\x83 here\n"
                                          "         ^~~~");
}

/* A line of n bytes 'a', with a blank and '&' after the first at bytes. */
static void long_line(char *text, size_t n, size_t at)
{
    memset(text, 'a', n);
    memcpy(text, "dx = ", 5);
    memcpy(text + at, " & ", 3);
    text[n] = 0;
}

static void message__shows_a_part_of_a_long_line(void **unused)
{
    (void)unused;
    static const struct {
        size_t at, shown, caret;
        bool left, right;
    } CASE[] = {{10, 103, 11, false, true},
                {200, 106, 43, true, true},
                {390, 103, 94, true, false}};
    for (size_t i = 0; i < COUNT(CASE); i++) {
        char text[401];
        long_line(text, 400, CASE[i].at);
        struct source source = {"m.sde", text};
        assert_null(ast_parse(&source));
        const char *line = strchr(gsv_last_error(), '\n') + 1;
        const char *mark = strchr(line, '\n') + 1;
        assert_int_equal(mark - line - 1, 4 + CASE[i].shown);
        assert_int_equal(strcspn(mark, "^"), 4 + CASE[i].caret);
        assert_int_equal(line[4 + CASE[i].caret], '&');
        assert_int_equal(strncmp(line, "    ...", 7) == 0, CASE[i].left);
        assert_int_equal(strncmp(mark - 4, "...\n", 4) == 0, CASE[i].right);
    }
}

static void message__cuts_no_character_in_two(void **unused)
{
    (void)unused;
    char text[602] = "";
    for (size_t at = 1; at < 600; at++) {
        for (size_t i = 0; i < 600; i += 3)
            memcpy(text + i, "\xE2\x86\x92", 3);
        struct source source = {"m.sde", text};
        struct place place = {1, at / 3 * 3 + 1, 3};
        (void)complain(&source, place, "why");
        for (const char *s = gsv_last_error(); *s;) {
            size_t n = utf8_length(s, 4);
            assert_in_range(n, 1, 4);
            assert_int_not_equal(*s, '?');
            s += n;
        }
    }
}

static void message__takes_places_outside_the_text(void **unused)
{
    (void)unused;
    struct source source = {"m.sde", "state x\n"};
    (void)complain(&source, (struct place){99, 99, 99}, "why");
    assert_string_equal(gsv_last_error(), "m.sde:99:99: why\n    \n    ^");
    (void)complain(&source, (struct place){1, 99, 99}, "why");
    assert_string_equal(gsv_last_error(),
                        "m.sde:1:99: why\n    state x\n           ^");
    (void)complain(&source, (struct place){1, 7, SIZE_MAX}, "why");
    assert_string_equal(gsv_last_error(),
                        "m.sde:1:7: why\n    state x\n          ^");
}

static void character__is_utf8_or_nothing(void **unused)
{
    (void)unused;
    static const struct {
        const char *text;
        size_t length;
    } CASE[] = {{"a", 1},
                {"\xCF\x83", 2},
                {"\xE2\x86\x92", 3},
                {"\xF0\x9F\x98\x80", 4},
                {"", 0},
                {"\x80", 0},
                {"\xC0\x80", 0},
                {"\xCF", 0},
                {"\xE2\x86", 0},
                {"\xED\xA0\x80", 0},
                {"\xF4\x90\x80\x80", 0},
                {"\xFF", 0}};
    for (size_t i = 0; i < COUNT(CASE); i++)
        assert_int_equal(utf8_length(CASE[i].text, 4), CASE[i].length);
}

static void suggestion__finds_what_was_meant(void **unused)
{
    (void)unused;
    static const char *const NAME[] = {"sigma", "s", "theta", "param", "net"};
    static const struct {
        const char *word, *meant;
    } CASE[] = {{"sgima", "sigma"}, {"sigm", "sigma"},  {"sigmaa", "sigma"},
                {"Sigma", "sigma"}, {"sugma", "sigma"}, {"S", "s"},
                {"nt", "net"},      {"NET", "net"},     {"x", NULL},
                {"", NULL},         {"sgiam", NULL},    {"tau", NULL},
                {"param", "param"}, {"paramete", NULL}};
    for (size_t i = 0; i < COUNT(CASE); i++) {
        const char *found = gsv_suggestion(CASE[i].word, COUNT(NAME), NAME);
        if (!CASE[i].meant) assert_null(found);
        if (CASE[i].meant) assert_string_equal(found, CASE[i].meant);
    }
    char word[1000];
    memset(word, 'a', sizeof word);
    word[sizeof word - 1] = 0;
    const char *same = word;
    assert_null(gsv_suggestion(word, 1, &same));
    assert_null(gsv_suggestion("a", 0, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(message__names_the_culprit_and_the_remedy),
        cmocka_unit_test(message__keeps_the_caret_under_the_culprit),
        cmocka_unit_test(message__shows_a_part_of_a_long_line),
        cmocka_unit_test(message__cuts_no_character_in_two),
        cmocka_unit_test(message__takes_places_outside_the_text),
        cmocka_unit_test(character__is_utf8_or_nothing),
        cmocka_unit_test(suggestion__finds_what_was_meant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
