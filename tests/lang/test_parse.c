/* SPDX-License-Identifier: MIT */
/* The parser: texts against their trees, hostile texts and failing allocations
 * against crashes. What is said about mistakes is in test_message.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "comma.h"
#include "girsanov.h"
#include "lang/ast.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static struct ast *parse(const char *text)
{
    struct source source = {"m.sde", text};
    return ast_parse(&source);
}

/* --- A tree as text ------------------------------------------------------ */

/* Trees of the tests are far smaller than this. */
struct paper {
    char text[8192];
    size_t used;
};

static void put(struct paper *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void put(struct paper *out, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    size_t room = sizeof out->text - out->used;
    int n = vsnprintf(out->text + out->used, room, format, args);
    va_end(args);
    assert_in_range(n, 0, room - 1);
    out->used += (size_t)n;
}

/* 1.5, x, (neg x), (+ x y), (f: x y), (at x 1 2), (list 1 2) */
static void put_expr(struct paper *out, const struct expr *e)
{
    switch (e->kind) {
    case EXPR_NUMBER: put(out, "%.17g", e->number); return;
    case EXPR_NAME: put(out, "%s", e->name); return;
    case EXPR_NEGATE: put(out, "(neg"); break;
    case EXPR_BINARY: put(out, "(%c", e->op); break;
    case EXPR_CALL: put(out, "(%s:", e->name); break;
    case EXPR_INDEX: put(out, "(at"); break;
    case EXPR_LIST: put(out, "(list"); break;
    case EXPR_RANGE: put(out, "(range"); break;
    case EXPR_EACH: put(out, "(each %s", e->name); break;
    }
    for (size_t i = 0; i < e->kids; i++) {
        put(out, " ");
        put_expr(out, e->kid[i]);
    }
    if (e->layers) put(out, " : %zu", e->layers);
    if (e->width) put(out, " %zu", e->width);
    put(out, ")");
}

static void put_limit(struct paper *out, const char *word, const struct expr *e)
{
    if (!e) return;
    put(out, " %s ", word);
    put_expr(out, e);
}

static void put_net(struct paper *out, const struct statement *s)
{
    put(out, " (");
    for (size_t i = 0; i < s->arguments; i++) {
        if (i) put(out, " ");
        put_expr(out, s->argument[i]);
    }
    put(out, ") -> %zu :", s->outputs);
    for (size_t i = 0; i < s->widths; i++)
        put(out, " %zu", s->width[i]);
    put(out, " '%s'", s->activation);
    for (size_t i = 0; i < s->ends; i++) {
        put(out, i ? " " : " over ");
        put_expr(out, s->box[i]);
    }
    if (s->polynomial) put(out, " + %s", s->polynomial);
    if (s->map) put(out, " map");
}

static void put_statement(struct paper *out, const struct statement *s)
{
    static const char *const WORD[] = {
        [STATE] = "state",    [INPUT] = "input", [PARAM] = "param",
        [CONSTANT] = "const", [LET] = "let",     [NET] = "net",
        [GP] = "gp",          [EQUATION] = "d",  [OBS] = "obs",
        [INIT] = "init"};
    static const char *const BOUND[] = {"", " above", " below", " between"};
    const struct declared *d = &s->declared;
    put(out, "%s %s", WORD[s->kind], d->name);
    if (d->rank == 1) put(out, "[%zu]", d->rows);
    if (d->rank == 2) put(out, "[%zu,%zu]", d->rows, d->columns);
    if (s->lower) put(out, " lower");
    if (s->hold) put(out, " hold");
    put_limit(out, "=", s->value);
    put(out, "%s", BOUND[s->bound]);
    put_limit(out, "low", s->low);
    put_limit(out, "high", s->high);
    if (s->kind == NET || s->kind == GP) put_net(out, s);
    put(out, "\n");
}

static void expect_tree(const char *text, const char *tree)
{
    struct ast *ast = parse(text);
    if (!ast) fail_msg("%s\n%s", text, gsv_last_error());
    struct paper out = {0};
    for (size_t i = 0; i < ast->statements; i++)
        put_statement(&out, &ast->statement[i]);
    ast_free(ast);
    assert_string_equal(out.text, tree);
}

/* The value of one equation. */
static void expect_expr(const char *text, const char *tree)
{
    char line[1024], wanted[1024];
    snprintf(line, sizeof line, "dx = %s", text);
    snprintf(wanted, sizeof wanted, "d x = %s\n", tree);
    expect_tree(line, wanted);
}

/* --- Expressions --------------------------------------------------------- */

static void parse__minus_binds_weaker_than_power(void **unused)
{
    (void)unused;
    expect_expr("-x^2", "(neg (^ x 2))");
    expect_expr("a^-b", "(^ a (neg b))");
    expect_expr("a^-b^c", "(^ a (neg (^ b c)))");
    expect_expr("-a*b", "(* (neg a) b)");
    expect_expr("a*-b", "(* a (neg b))");
    expect_expr("a - -b", "(- a (neg b))");
    expect_expr("--a", "(neg (neg a))");
    expect_expr("(-x)^2", "(^ (neg x) 2)");
    expect_expr("+a", "a");
}

static void parse__power_joins_from_the_right(void **unused)
{
    (void)unused;
    expect_expr("a^b^c", "(^ a (^ b c))");
    expect_expr("(a^b)^c", "(^ (^ a b) c)");
    expect_expr("2*x^3", "(* 2 (^ x 3))");
}

static void parse__sums_and_products_join_from_the_left(void **unused)
{
    (void)unused;
    expect_expr("a - b - c", "(- (- a b) c)");
    expect_expr("a/b*c", "(* (/ a b) c)");
    expect_expr("a*b@c/d", "(/ (@ (* a b) c) d)");
    expect_expr("a + L @ dW", "(+ a (@ L dW))");
    expect_expr("a + b*c - d", "(- (+ a (* b c)) d)");
    expect_expr("a - (b - c)", "(- a (- b c))");
}

static void parse__reads_calls_and_indices(void **unused)
{
    (void)unused;
    expect_expr("f(x)[2]", "(at (f: x) 2)");
    expect_expr("A[1,2]^2", "(^ (at A 1 2) 2)");
    expect_expr("-f[2]", "(neg (at f 2))");
    expect_expr("grad(H, p)", "(grad: H p)");
    expect_expr("f()", "(f:)");
    expect_expr("[1, [2], []]", "(list 1 (list 2) (list))");
    expect_expr("(a + b)[n]", "(at (+ a b) n)");
    expect_expr("state + in", "(+ state in)");
}

static void parse__reads_numbers(void **unused)
{
    (void)unused;
    expect_expr("1", "1");
    expect_expr("1.5", "1.5");
    expect_expr(".5", "0.5");
    expect_expr("1.", "1");
    expect_expr("1.e2", "100");
    expect_expr("25e-2", "0.25");
    expect_expr("1E+3", "1000");
    expect_expr("1e-999", "0");
    expect_expr("[1.,.5]", "(list 1 0.5)");
}

static void parse__reads_a_point_in_any_locale(void **unused)
{
    (void)unused;
    if (!use_comma()) skip();
    struct ast *ast = parse("const g = 9.5");
    setlocale(LC_ALL, "C");
    assert_non_null(ast);
    assert_true(ast->statement[0].value->number == 9.5);
    ast_free(ast);
}

static void parse__keeps_places(void **unused)
{
    (void)unused;
    struct ast *ast = parse("\xEF\xBB\xBFstate x\r\n\tdx = (foo*\r\n  bar)\n");
    assert_non_null(ast);
    struct place x = ast->statement[0].declared.place;
    assert_true(x.line == 1 && x.column == 7 && x.length == 1);
    struct place dx = ast->statement[1].declared.place;
    assert_true(dx.line == 2 && dx.column == 2 && dx.length == 2);
    struct place times = ast->statement[1].value->place;
    assert_true(times.line == 2 && times.column == 11 && times.length == 1);
    struct place bar = ast->statement[1].value->kid[1]->place;
    assert_true(bar.line == 3 && bar.column == 3 && bar.length == 3);
    ast_free(ast);
}

/* --- Statements ---------------------------------------------------------- */

static const struct {
    const char *text, *tree;
} GOOD[] = {
    {"# Lorenz, known form\n"
     "state x, y, z\n"
     "param s = 8, r = 25, b = 2\n"
     "param q = 1 > 0\n"
     "dx = s*(y - x)*dt + q*dW\n"
     "dy = (x*(r - z) - y)*dt + q*dW\n"
     "dz = (x*y - b*z)*dt + q*dW\n",
     "state x\nstate y\nstate z\n"
     "param s = 8\nparam r = 25\nparam b = 2\n"
     "param q = 1 above low 0\n"
     "d x = (+ (* (* s (- y x)) dt) (* q dW))\n"
     "d y = (+ (* (- (* x (- r z)) y) dt) (* q dW))\n"
     "d z = (+ (* (- (* x y) (* b z)) dt) (* q dW))\n"},
    {"state x, y, z\n"
     "param sigma = 1 > 0\n"
     "net   f(x, y, z) -> 3 : 32 256 32 relu\n"
     "dx = f[1]*dt + sigma*dW",
     "state x\nstate y\nstate z\n"
     "param sigma = 1 above low 0\n"
     "net f (x y z) -> 3 : 32 256 32 'relu'\n"
     "d x = (+ (* (at f 1) dt) (* sigma dW))\n"},
    {"state x[100]\r\n"
     "param theta = 1 > 0, mu[100] = 0\r\n"
     "dx = theta*(mu - x)*dt + dW\r\n",
     "state x[100]\nparam theta = 1 above low 0\nparam mu[100] = 0\n"
     "d x = (+ (* (* theta (- mu x)) dt) dW)\n"},
    {"state r                      # CIR: T found by itself\n"
     "param k = 1 > 0, m = 0.05 > 0, s = 0.2 > 0\n"
     "dr = k*(m - r)*dt + s*sqrt(r)*dW",
     "state r\n"
     "param k = 1 above low 0\n"
     "param m = 0.050000000000000003 above low 0\n"
     "param s = 0.20000000000000001 above low 0\n"
     "d r = (+ (* (* k (- m r)) dt) (* (* s (sqrt: r)) dW))\n"},
    {"state q, p\nnet   H(q, p) -> 1 : 64 64 tanh\n"
     "dq =  grad(H, p)*dt + s*dW\n"
     "dp = (-grad(H, q) - c*p)*dt + s*dW\n",
     "state q\nstate p\nnet H (q p) -> 1 : 64 64 'tanh'\n"
     "d q = (+ (* (grad: H p) dt) (* s dW))\n"
     "d p = (+ (* (- (neg (grad: H q)) (* c p)) dt) (* s dW))\n"},
    {"state x\ninput u                      # a column, interpolated\n"
     "net   n(x, u) -> 1 : 16 tanh\n"
     "dx = (-a*x + n)*dt + s*dW    # physics plus a network\n"
     "obs y ~ normal(x, e)",
     "state x\ninput u\nnet n (x u) -> 1 : 16 'tanh'\n"
     "d x = (+ (* (+ (* (neg a) x) n) dt) (* s dW))\n"
     "obs y = (normal: x e)\n"},
    {"state z[2] = flow(x[2] : 4 layers 32)\n"
     "net f(z) -> 2 : 64 64 tanh\n"
     "dz = f*dt + dW",
     "state z[2] = (flow: (at x 2) : 4 32)\nnet f (z) -> 2 : 64 64 'tanh'\n"
     "d z = (+ (* f dt) dW)\n"},
    {"state l\nobs n ~ poisson(exp(l))",
     "state l\nobs n = (poisson: (exp: l))\n"},
    {"state z = log(x), w = 2*v", "state z = (log: x)\nstate w = (* 2 v)\n"},
    {"state z = flow(log(x), t : 1 layer), y",
     "state z = (flow: (log: x) t : 1)\nstate y\n"},
    {"state z = 2*flow(x) + flow", "state z = (+ (* 2 (flow: x)) flow)\n"},
    {"net flow(x, y) -> 1 : 4\ndx = flow(y, x)*dt",
     "net flow (x y) -> 1 : 4 ''\nd x = (* (flow: y x) dt)\n"},
    {"input u hold", "input u hold\n"},
    {"input u, v hold", "input u\ninput v hold\n"},
    {"param a = v > 0, b = 2, c[3] = [1,2,3] in (0, 5), A[2,2] = [1,2,3,4]",
     "param a = v above low 0\nparam b = 2\n"
     "param c[3] = (list 1 2 3) between low 0 high 5\n"
     "param A[2,2] = (list 1 2 3 4)\n"},
    {"param a = -1 < 0, b = 8/3 <-1 + 2",
     "param a = (neg 1) below high 0\n"
     "param b = (/ 8 3) below high (+ (neg 1) 2)\n"},
    {"param L[2,2] lower, M[2, 2] lower = 1, N[2,2] = [1,0,1,1] lower",
     "param L[2,2] lower\nparam M[2,2] lower = 1\n"
     "param N[2,2] lower = (list 1 0 1 1)\n"},
    {"param L[2,2] = 1 > 0 lower, a > 0, b",
     "param L[2,2] lower = 1 above low 0\nparam a above low 0\nparam b\n"},
    {"param A[2,2] = [1, 2, # first row\n\n  3, 4] in (0,\n 5)\nstate x",
     "param A[2,2] = (list 1 2 3 4) between low 0 high 5\nstate x\n"},
    {"const g = 9.81, h = 1\nconst A[2,2] = [1,2,3,4]",
     "const g = 9.8100000000000005\nconst h = 1\n"
     "const A[2,2] = (list 1 2 3 4)\n"},
    {"let e = x + y, f = e^2", "let e = (+ x y)\nlet f = (^ e 2)\n"},
    {"net f(x, t/2) -> 1 : 8", "net f (x (/ t 2)) -> 1 : 8 ''\n"},
    {"net f(x) -> 1 :\nnet g(x) -> 2 : tanh",
     "net f (x) -> 1 : ''\nnet g (x) -> 2 : 'tanh'\n"},
    {"gp h(x, y) -> 1 : grid 32 32 over [0,1] [0,\n2] matern\nstate x",
     "gp h (x y) -> 1 : 32 32 'matern' over 0 1 0 2\nstate x\n"},
    {"gp h(x) -> 2 : grid 8 rbf + cubic map",
     "gp h (x) -> 2 : 8 'rbf' + cubic map\n"},
    {"init x ~ normal(0, 1)", "init x = (normal: 0 1)\n"},
    {"dx = a*dW1 + b*dW2", "d x = (+ (* a dW1) (* b dW2))\n"},
    {"state d, dt_\nddt_ = 1", "state d\nstate dt_\nd dt_ = 1\n"},
    {"\xEF\xBB\xBF\tstate x\r\rstate y", "state x\nstate y\n"},
    {"# \xCF\x83 and \xFF in a comment\nstate x # \xE2\x86\x92", "state x\n"},
    {"", ""},
    {"\xEF\xBB\xBF", ""},
    {" \n# nothing\r\n\t", ""},
};

static void parse__reads_every_statement(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < COUNT(GOOD); i++)
        expect_tree(GOOD[i].text, GOOD[i].tree);
}

/* --- Hostile texts ------------------------------------------------------- */

/* first, then part so often, then last; yours. */
static char *repeat(const char *first, const char *part, size_t times,
                    const char *last)
{
    size_t n = strlen(part), at = strlen(first);
    char *text = malloc(at + n * times + strlen(last) + 1);
    assert_non_null(text);
    memcpy(text, first, at);
    for (size_t i = 0; i < times; i++, at += n)
        memcpy(text + at, part, n);
    strcpy(text + at, last);
    return text;
}

/* Whether such a text is accepted. */
static bool accepts(const char *first, const char *part, size_t times,
                    const char *last)
{
    char *text = repeat(first, part, times, last);
    struct ast *ast = parse(text);
    bool good = ast != NULL;
    if (!good) assert_int_equal(gsv_last_status(), GSV_BAD_INPUT);
    ast_free(ast);
    free(text);
    return good;
}

static void parse__bounds_the_nesting(void **unused)
{
    (void)unused;
    static const char *const OPEN[] = {"(",  "-",  "+",     "f(",   "[",
                                       "a^", "a[", "flow(", "2*(a+"};
    for (size_t i = 0; i < COUNT(OPEN); i++) {
        assert_false(accepts("dx = ", OPEN[i], 201, "x"));
        assert_non_null(strstr(gsv_last_error(), "nested more than 200 deep"));
        assert_false(accepts("dx = ", OPEN[i], 1000000, "x"));
        assert_non_null(strstr(gsv_last_error(), "nested more than 200 deep"));
    }
    assert_true(accepts("dx = ", "-", 200, "x"));
    assert_true(accepts("dx = ", "a^", 200, "x"));
    char *close = repeat("x", ")", 200, "");
    assert_true(accepts("dx = ", "(", 200, close));
    free(close);
}

static void parse__bounds_the_height_of_a_chain(void **unused)
{
    (void)unused;
    static const char *const LINK[] = {"+a", "*a", "[1]", " - a*b"};
    for (size_t i = 0; i < COUNT(LINK); i++) {
        assert_true(accepts("dx = a", LINK[i], 1998, ""));
        assert_false(accepts("dx = a", LINK[i], 300000, ""));
        assert_non_null(strstr(gsv_last_error(), "2000 operations"));
    }
}

static void parse__takes_long_texts(void **unused)
{
    (void)unused;
    assert_true(accepts("", "state x\n", 30000, ""));
    assert_true(accepts("state x", ", x", 30000, ""));
    assert_true(accepts("let a = [1", ", 1", 30000, "]"));
    assert_true(accepts("let a = 0.", "3", 1000000, ""));
    assert_true(accepts("let a = 0", "0", 1000000, ""));
    assert_true(accepts("let ", "a", 1000000, " = 1"));
    assert_true(accepts("net f(x) -> 1 :", " 32", 30000, ""));
    assert_true(accepts("#", "#", 1000000, ""));
    assert_false(accepts("let a = ", "9", 1000000, ""));
    assert_false(accepts("", "a", 1000000, ""));
    assert_false(accepts("dx = ", "\xCF\x83", 500000, ""));
}

static void parse__refuses_more_than_16_mebibytes(void **unused)
{
    (void)unused;
    assert_true(accepts("", " ", 16 << 20, ""));
    assert_false(accepts(" ", " ", 16 << 20, ""));
    assert_string_equal(gsv_last_error(),
                        "m.sde: the text of a model has at most 16 MiB");
}

/* Numbers without meaning, but the same ones in every run. */
static size_t draw(uint64_t *state, size_t below)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (size_t)(*state >> 11) % below;
}

/* Cuts something out of a text of length n and puts something else in. */
static void mutate(uint64_t *state, char *text, size_t room)
{
    static const char *const PART[] = {
        "(",  ")",   "[",    "]",      "->",   ":",    "~",   "=",  ",",
        "^",  "-",   "in (", "lower ", "hold", "1e",   "1e9", ".",  "0,5",
        "\n", "\r",  "\t",   "#",      "\xFF", "\xC2", "'",   "dx", "state ",
        ">",  ">= ", "**",   "flow(",  "net ", "gp ",  "x(t)"};
    size_t n = strlen(text), at = draw(state, n + 1);
    size_t cut = draw(state, 6);
    if (cut > n - at) cut = n - at;
    const char *part = draw(state, 3) ? PART[draw(state, COUNT(PART))] : "";
    size_t add = strlen(part);
    if (n - cut + add >= room) return;
    memmove(text + at + add, text + at + cut, n - at - cut + 1);
    memcpy(text + at, part, add);
}

/* A message names a place that exists, and shows it. */
static void check_message(const char *text)
{
    size_t line = 0, column = 0, lines = 1;
    assert_int_equal(gsv_last_status(), GSV_BAD_INPUT);
    const char *said = gsv_last_error();
    assert_int_equal(sscanf(said, "m.sde:%zu:%zu: ", &line, &column), 2);
    for (const char *s = text; *s; s++)
        lines += *s == '\n' || (*s == '\r' && s[1] != '\n');
    assert_in_range(line, 1, lines);
    assert_in_range(column, 1, strlen(text) + 1);
    const char *mark = strrchr(said, '\n');
    assert_non_null(mark);
    assert_non_null(strchr(mark, '^'));
}

static void parse__survives_mutated_texts(void **unused)
{
    (void)unused;
    uint64_t state = 20240229;
    size_t good = 0, bad = 0;
    for (size_t round = 0; round < 60000; round++) {
        char text[1024];
        snprintf(text, sizeof text, "%s", GOOD[round % COUNT(GOOD)].text);
        for (size_t n = 1 + draw(&state, 6); n; n--)
            mutate(&state, text, sizeof text);
        struct ast *ast = parse(text);
        ast ? good++ : bad++;
        if (!ast) check_message(text);
        ast_free(ast);
    }
    assert_true(good > 1000 && bad > 1000);
}

/* --- Failing allocations -------------------------------------------------- */

static void parse__survives_every_failing_allocation(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < COUNT(GOOD); i++) {
        struct ast *ast = NULL;
        for (size_t n = 1; !ast; n++) {
            assert_in_range(n, 1, 1000);
            mem_fail_at(n);
            ast = parse(GOOD[i].text);
            mem_fail_at(0);
            if (!ast) assert_int_equal(gsv_last_status(), GSV_NO_MEMORY);
        }
        ast_free(ast);
    }
}

static void ast_free__accepts_nothing(void **unused)
{
    (void)unused;
    ast_free(NULL);
    expr_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parse__minus_binds_weaker_than_power),
        cmocka_unit_test(parse__power_joins_from_the_right),
        cmocka_unit_test(parse__sums_and_products_join_from_the_left),
        cmocka_unit_test(parse__reads_calls_and_indices),
        cmocka_unit_test(parse__reads_numbers),
        cmocka_unit_test(parse__reads_a_point_in_any_locale),
        cmocka_unit_test(parse__keeps_places),
        cmocka_unit_test(parse__reads_every_statement),
        cmocka_unit_test(parse__bounds_the_nesting),
        cmocka_unit_test(parse__bounds_the_height_of_a_chain),
        cmocka_unit_test(parse__takes_long_texts),
        cmocka_unit_test(parse__refuses_more_than_16_mebibytes),
        cmocka_unit_test(parse__survives_mutated_texts),
        cmocka_unit_test(parse__survives_every_failing_allocation),
        cmocka_unit_test(ast_free__accepts_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
