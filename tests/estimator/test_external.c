/* SPDX-License-Identifier: MIT */
/* External functions: a model with one is the model of its formula. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/memory.h"
#include "girsanov.h"

/* --- A function of any size ----------------------------------------------- */

struct shape {
    size_t d, n;  /* inputs and outputs */
    int released; /* how often          */
};

/* f_j = p_j sin(x_j) + 0.3 x_(j+1), where x begins again after its end. */
static void value(void *user, size_t P, const double *x, const double *p,
                  double *f)
{
    const struct shape *s = user;
    for (size_t j = 0; j < s->n; j++)
        for (size_t k = 0; k < P; k++)
            f[j * P + k] = p[j] * sin(x[j % s->d * P + k]) +
                           0.3 * x[(j + 1) % s->d * P + k];
}

static void vjp(void *user, size_t P, const double *x, const double *p,
                const double *f_bar, double *x_bar, double *p_bar)
{
    const struct shape *s = user;
    for (size_t j = 0; j < s->n; j++)
        for (size_t k = 0; k < P; k++) {
            double bar = f_bar[j * P + k], y = x[j % s->d * P + k];
            if (x_bar) x_bar[j % s->d * P + k] += bar * p[j] * cos(y);
            if (x_bar) x_bar[(j + 1) % s->d * P + k] += bar * 0.3;
            if (p_bar) p_bar[j] += bar * sin(y);
        }
}

static void jvp(void *user, size_t P, const double *x, const double *p,
                const double *x_dot, double *f_dot)
{
    const struct shape *s = user;
    for (size_t j = 0; j < s->n; j++)
        for (size_t k = 0; k < P; k++) {
            size_t at = j % s->d * P + k;
            f_dot[j * P + k] = p[j] * cos(x[at]) * x_dot[at] +
                               0.3 * x_dot[(j + 1) % s->d * P + k];
        }
}

static void release(void *user)
{
    ((struct shape *)user)->released++;
}

static const double P_START[3] = {0.8, -0.6, 1.1};

static gsv_callback callback_of(struct shape *s)
{
    return (gsv_callback){.inputs = s->d,
                          .outputs = s->n,
                          .parameters = s->n,
                          .parameter = P_START,
                          .user = s,
                          .value = value,
                          .vjp = vjp,
                          .jvp = jvp,
                          .release = release};
}

/* --- Models --------------------------------------------------------------- */

enum kind { EXACT, NOISY, HIDDEN, KINDS }; /* NOISY: g depends on the state */

/* The text with the function, or with its formula; states x1 to xd. */
static void put_text(FILE *out, const struct shape *s, enum kind kind,
                     bool formula)
{
    fprintf(out, "param s = 0.7 > 0\n");
    if (formula) fprintf(out, "param p[3] = [0.8, -0.6, 1.1]\n");
    else fprintf(out, "external f(");
    for (size_t i = 1; !formula && i <= s->d; i++)
        fprintf(out, "%sx%zu", i > 1 ? ", " : "", i);
    if (!formula) fprintf(out, ") -> %zu\n", s->n);
    for (size_t j = 0; formula && j < s->n; j++)
        fprintf(out, "let f%zu = p[%zu]*sin(x%zu) + 0.3*x%zu\n", j + 1, j + 1,
                j % s->d + 1, (j + 1) % s->d + 1);
    for (size_t i = 0; i < s->d; i++) {
        const char *open = formula ? "" : "[", *close = formula ? "" : "]";
        fprintf(out, "state x%zu\nd", i + 1);
        fprintf(out, "x%zu = (f%s%zu%s - x%zu)*dt + s*", i + 1, open,
                i % s->n + 1, close, i + 1);
        if (kind == NOISY) fprintf(out, "exp(0.2*f%s1%s)*", open, close);
        fprintf(out, "dW%zu\n", i + 1);
        if (kind == HIDDEN)
            fprintf(out,
                    "obs y%zu ~ normal(x%zu, 0.3)\ninit x%zu ~ "
                    "normal(0, 1)\n",
                    i + 1, i + 1, i + 1);
    }
}

static gsv_model *parse(const char *text)
{
    gsv_model *m = gsv_model_parse(text, "test.sde");
    if (!m) fail_msg("%s", gsv_last_error());
    return m;
}

static gsv_model *model_of(struct shape *s, enum kind kind, bool formula)
{
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    put_text(out, s, kind, formula);
    fclose(out);
    gsv_model *m = parse(text);
    gsv_callback c = callback_of(s);
    if (!formula && gsv_model_external(m, "f", &c))
        fail_msg("%s", gsv_last_error());
    free(text);
    return m;
}

/* A few rows that are not far from the model, as columns x or y. */
static gsv_series *data_of(const struct shape *s, enum kind kind)
{
    enum { ROWS = 5 };
    const size_t start[2] = {0, ROWS};
    const char *name[3];
    char room[3][8];
    double time[ROWS], v[3 * ROWS];
    for (size_t i = 0; i < s->d; i++) {
        snprintf(room[i], sizeof room[i], "%c%zu", kind == HIDDEN ? 'y' : 'x',
                 i + 1);
        name[i] = room[i];
        for (size_t k = 0; k < ROWS; k++)
            v[i * ROWS + k] = sin(1.7 * (double)k + 0.9 * (double)i);
    }
    for (size_t k = 0; k < ROWS; k++)
        time[k] = 0.2 * (double)k;
    gsv_series *made = gsv_series_new(1, start, s->d, name, time, v);
    assert_non_null(made);
    return made;
}

/* What formulas and functions can share: no divergence, no Jacobians of noise.
 */
static gsv_options options_for(enum kind kind, size_t threads)
{
    gsv_options o = gsv_options_default();
    o.paths = 16;
    o.steps = 3;
    o.threads = threads;
    o.gradient = true;
    if (kind != NOISY) o.form = GSV_FORM_ITO;
    if (kind == HIDDEN) o.observe = GSV_OBSERVE_VARIATIONAL;
    return o;
}

static gsv_result loglik_of(const gsv_model *m, const gsv_series *s,
                            const gsv_options *o)
{
    gsv_result r;
    if (gsv_loglik(m, s, o, &r)) fail_msg("%s", gsv_last_error());
    return r;
}

static void expect_near(const struct shape *s, enum kind kind, const char *what,
                        double got, double wanted, double tolerance)
{
    if (fabs(got - wanted) <= tolerance * (1.0 + fabs(wanted))) return;
    fail_msg("%zu inputs, %zu outputs, kind %d: %s is %.17g, not %.17g", s->d,
             s->n, kind, what, got, wanted);
}

/* --- The table ------------------------------------------------------------ */

/* The values of the formula's model are s, p1, p2, p3; here s, p1 to pn. */
static void compare(struct shape *s, enum kind kind)
{
    gsv_model *a = model_of(s, kind, false), *b = model_of(s, kind, true);
    gsv_series *data = data_of(s, kind);
    gsv_options o = options_for(kind, 1), two = options_for(kind, 2);
    gsv_result r = loglik_of(a, data, &o), again = loglik_of(a, data, &two);
    gsv_result q = loglik_of(b, data, &o);
    expect_near(s, kind, "the value", r.loglik, q.loglik, 1e-11);
    expect_near(s, kind, "on two threads", again.loglik, r.loglik, 0.0);
    assert_int_equal(r.values, 1 + s->n);
    for (size_t i = 0; i < r.values; i++) {
        expect_near(s, kind, "the gradient", r.gradient[i], q.gradient[i],
                    1e-7);
        expect_near(s, kind, "on two threads", again.gradient[i], r.gradient[i],
                    0.0);
    }
    gsv_result_free(&r);
    gsv_result_free(&q);
    gsv_result_free(&again);
    gsv_series_free(data);
    gsv_model_free(a);
    gsv_model_free(b);
    assert_int_equal(s->released, 1);
}

static void external__is_the_model_of_its_formula(void **state)
{
    (void)state;
    for (size_t d = 1; d <= 3; d++)
        for (size_t n = 1; n <= 3; n++)
            for (enum kind kind = 0; kind < KINDS; kind++)
                /* A formula of the only state has a map, a function none. */
                if (kind != NOISY || d > 1)
                    compare(&(struct shape){.d = d, .n = n}, kind);
}

/* By the estimator that is chosen for it; with or without derivatives. */
static void external__gradient_agrees_with_differences(void **state)
{
    (void)state;
    for (size_t i = 0; i < 9 * KINDS * 2; i++) {
        struct shape s = {.d = i % 3 + 1, .n = i / 3 % 3 + 1};
        enum kind kind = i / 9 % KINDS;
        gsv_model *m = model_of(&s, kind, false);
        gsv_series *data = data_of(&s, kind);
        gsv_options o = options_for(kind, 1 + i % 2);
        gsv_callback c = callback_of(&s);
        gsv_gradient_check check;
        if (i >= 9 * KINDS) c.vjp = NULL, c.jvp = NULL;
        assert_int_equal(gsv_model_external(m, "f", &c), 0);
        if (s.d < 3) o.observe = GSV_OBSERVE_AUTO;
        if (gsv_check_gradient(m, data, &o, &check))
            fail_msg("%s", gsv_last_error());
        expect_near(&s, kind, "the worst", check.worst, 0.0, 1e-4);
        gsv_series_free(data);
        gsv_model_free(m);
        assert_int_equal(s.released, 2);
    }
}

/* --- Life of a model ------------------------------------------------------ */

static void external__is_shared_by_copies(void **state)
{
    (void)state;
    struct shape s = {.d = 2, .n = 2};
    gsv_model *m = model_of(&s, EXACT, false), *copy = gsv_model_copy(m);
    const double t = 0.0, x[2] = {0.3, -0.4};
    double f[2], g[2];
    assert_non_null(copy);
    assert_int_equal(gsv_model_drift(m, 1, &t, x, NULL, f), 0);
    gsv_model_free(m);
    assert_int_equal(s.released, 0);
    assert_int_equal(gsv_model_drift(copy, 1, &t, x, NULL, g), 0);
    assert_memory_equal(f, g, sizeof f);
    gsv_model_free(copy);
    assert_int_equal(s.released, 1);
}

/* A fit has the numbers and the text, but not the function. */
static void external__is_given_again_to_a_fit(void **state)
{
    (void)state;
    struct shape s = {.d = 1, .n = 1};
    gsv_model *m = model_of(&s, EXACT, false);
    gsv_series *data = data_of(&s, EXACT);
    gsv_fit_options o = gsv_fit_options_default();
    char path[] = "/tmp/girsanov-external-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    o.estimator = options_for(EXACT, 1);
    o.estimator.gradient = false;
    o.iterations = 3;
    if (gsv_fit(m, data, &o)) fail_msg("%s", gsv_last_error());
    assert_non_null(strstr(gsv_model_text(m), "external f(x1) -> 1 : 1 param"));
    assert_int_equal(gsv_model_write(m, path), 0);
    gsv_model *fit = gsv_model_read(path);
    assert_non_null(fit);
    unlink(path);
    const double t = 0.0, x = 0.7;
    double f, g;
    assert_int_equal(gsv_model_drift(fit, 1, &t, &x, NULL, &g), GSV_BAD_INPUT);
    assert_non_null(strstr(gsv_last_error(), "'f' is external"));
    gsv_result r;
    assert_int_equal(gsv_loglik(fit, data, &o.estimator, &r), GSV_BAD_INPUT);
    assert_non_null(strstr(gsv_last_error(), "'f' is external"));
    gsv_callback c = callback_of(&s);
    assert_int_equal(gsv_model_external(fit, "f", &c), 0);
    assert_int_equal(gsv_model_drift(m, 1, &t, &x, NULL, &f), 0);
    assert_int_equal(gsv_model_drift(fit, 1, &t, &x, NULL, &g), 0);
    assert_memory_equal(&f, &g, sizeof f);
    gsv_series_free(data);
    gsv_model_free(m);
    gsv_model_free(fit);
}

/* Two series of data for a model with a number for each. */
static gsv_series *two_series(void)
{
    enum { ROWS = 6 };
    const size_t start[3] = {0, 3, ROWS};
    const char *const name = "x";
    double time[ROWS], x[ROWS];
    for (size_t k = 0; k < ROWS; k++) {
        time[k] = 0.2 * (double)(k % 3);
        x[k] = cos(1.3 * (double)k);
    }
    gsv_series *made = gsv_series_new(2, start, 1, &name, time, x);
    assert_non_null(made);
    return made;
}

static gsv_model *model_by_series(struct shape *s, const gsv_series *data,
                                  bool bound_first)
{
    gsv_model *m = parse("state x\nparam k[series] = 0.5, s = 0.7 > 0\n"
                         "external f(x) -> 1\n"
                         "dx = k[series]*f*dt + s*dW");
    gsv_callback c = callback_of(s);
    if (bound_first) assert_int_equal(gsv_model_bind(m, data), 0);
    if (gsv_model_external(m, "f", &c)) fail_msg("%s", gsv_last_error());
    if (!bound_first) assert_int_equal(gsv_model_bind(m, data), 0);
    assert_int_equal(gsv_model_values(m), 4);
    return m;
}

/* The text with its sizes has the numbers that the text had, and its levels. */
static void external__leaves_levels_as_they_are(void **state)
{
    (void)state;
    struct shape s = {.d = 1, .n = 1};
    gsv_series *data = two_series();
    gsv_options o = options_for(EXACT, 1);
    gsv_model *a = model_by_series(&s, data, true);
    gsv_model *b = model_by_series(&s, data, false);
    assert_memory_equal(gsv_model_value(a), gsv_model_value(b),
                        4 * sizeof(double));
    gsv_result r = loglik_of(a, data, &o), q = loglik_of(b, data, &o);
    assert_true(r.loglik == q.loglik);
    assert_memory_equal(r.gradient, q.gradient, 4 * sizeof(double));
    gsv_result_free(&r);
    gsv_result_free(&q);
    gsv_model_free(a);
    gsv_model_free(b);
    gsv_series_free(data);
    assert_int_equal(s.released, 2);
}

static void external__says_what_is_wrong(void **state)
{
    (void)state;
    struct shape s = {.d = 2, .n = 1};
    static const size_t SHAPE[] = {2, 2};
    const double infinite = INFINITY;
    const gsv_callback good = callback_of(&s);
    const struct {
        gsv_callback c;
        const char *name, *words;
    } CASE[] = {
        {good, "g", "no external function 'g', but 'f'"},
        {{.inputs = 2, .outputs = 1}, "f", "'f' has no value()"},
        {{.inputs = 1, .outputs = 1, .value = value}, "f", "2 inputs in the"},
        {{.inputs = 2, .outputs = 3, .value = value}, "f", "1 outputs in the"},
        {{.inputs = 2, .outputs = 1, .parameters = 257, .value = value},
         "f",
         "257 parameters and no vjp()"},
        {{.inputs = 2,
          .outputs = 1,
          .parameters = 1,
          .parameter = &infinite,
          .value = value},
         "f",
         "parameter[0] of 'f' is inf"},
        {{.inputs = 2,
          .outputs = 1,
          .parameters = 3,
          .weights = true,
          .arrays = 1,
          .shape = SHAPE,
          .value = value},
         "f",
         "4 numbers in all"},
    };
    gsv_model *m = parse("state x, y\nexternal f(x, y) -> 1\n"
                         "dx = f*dt + dW1\ndy = -y*dt + dW2");
    for (size_t i = 0; i < sizeof CASE / sizeof *CASE; i++) {
        assert_int_equal(gsv_model_external(m, CASE[i].name, &CASE[i].c),
                         GSV_BAD_INPUT);
        if (!strstr(gsv_last_error(), CASE[i].words))
            fail_msg("'%s' has no '%s'", gsv_last_error(), CASE[i].words);
    }
    assert_string_equal(gsv_model_external_name(m, 0), "f");
    assert_null(gsv_model_external_name(m, 1));
    gsv_model_free(m);
    m = parse("state x\ndx = -x*dt + dW");
    assert_int_equal(gsv_model_external(m, "f", &good), GSV_BAD_INPUT);
    assert_non_null(strstr(gsv_last_error(), "no external functions"));
    gsv_model_free(m);
    assert_int_equal(s.released, 0);
}

static void memory__may_run_out_while_it_is_given(void **state)
{
    (void)state;
    struct shape s = {.d = 1, .n = 1};
    gsv_callback c = callback_of(&s);
    int status = GSV_NO_MEMORY;
    for (size_t n = 1; status; n++) {
        gsv_model *m = parse("state x\nexternal f(x) -> 1\ndx = f*dt + dW");
        mem_fail_at(n);
        status = gsv_model_external(m, "f", &c);
        mem_fail_at(0);
        if (status && status != GSV_NO_MEMORY)
            fail_msg("allocation %zu: %s", n, gsv_last_error());
        assert_int_equal(gsv_model_values(m), status ? 0 : 1);
        gsv_model_free(m);
        assert_int_equal(s.released, !status);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(external__is_the_model_of_its_formula),
        cmocka_unit_test(external__gradient_agrees_with_differences),
        cmocka_unit_test(external__is_shared_by_copies),
        cmocka_unit_test(external__is_given_again_to_a_fit),
        cmocka_unit_test(external__leaves_levels_as_they_are),
        cmocka_unit_test(external__says_what_is_wrong),
        cmocka_unit_test(memory__may_run_out_while_it_is_given),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
