/* SPDX-License-Identifier: MIT */
/* Functions of R in a model's text. R has one thread: calls with such models
 * have `threads = 1`, and another thread gets no values. A jump out of a
 * function of R goes on when the library's call has ended (watch.c). */
#include <R_ext/RS.h>
#include <pthread.h>
#include <string.h>

#include "calls.h"

enum asked { VALUE, VJP, JVP, ASKED };

/* Each function is one of R's or NULL: (x, p), (x, p, f_bar), (x, p, x_dot).
 * Matrices have a row for each point, as the library has them in memory. */
struct external {
    SEXP list; /* (ASKED) */
    size_t inputs, outputs, parameters;
    pthread_t thread;
};

struct question {
    const struct external *e;
    enum asked what;
    size_t n;
    const double *x, *p, *more; /* more: f_bar, x_dot, or NULL */
};

static SEXP matrix_of(size_t n, size_t columns, const double *from)
{
    SEXP x = Rf_allocMatrix(REALSXP, (int)n, (int)columns);
    if (n * columns) memcpy(REAL(x), from, n * columns * sizeof(double));
    return x;
}

static SEXP evaluate(void *data)
{
    const struct question *q = data;
    const struct external *e = q->e;
    SEXP x = PROTECT(matrix_of(q->n, e->inputs, q->x));
    SEXP p = PROTECT(Rf_allocVector(REALSXP, (R_xlen_t)e->parameters));
    if (e->parameters) memcpy(REAL(p), q->p, e->parameters * sizeof(double));
    size_t columns = q->what == VJP ? e->outputs : e->inputs;
    SEXP more =
        PROTECT(q->more ? matrix_of(q->n, columns, q->more) : R_NilValue);
    SEXP f = VECTOR_ELT(e->list, q->what);
    SEXP call = PROTECT(q->more ? Rf_lang4(f, x, p, more) : Rf_lang3(f, x, p));
    SEXP answer = Rf_eval(call, R_GlobalEnv);
    UNPROTECT(4);
    return answer;
}

/* What R says: as many numbers as the function's wrapper in R has counted, or
 * NULL after a jump. */
static const double *ask(const struct external *e, enum asked what, size_t n,
                         const double *x, const double *p, const double *more)
{
    struct question q = {e, what, n, x, p, more};
    size_t length = n * (what == VJP ? e->inputs : e->outputs) +
                    (what == VJP ? e->parameters : 0);
    SEXP answer;
    if (!pthread_equal(pthread_self(), e->thread)) return NULL;
    if (!watch_call(evaluate, &q, &answer)) return NULL;
    bool right = TYPEOF(answer) == REALSXP && (size_t)XLENGTH(answer) == length;
    return right ? REAL(answer) : NULL;
}

static void fill(const double *from, size_t n, double *to)
{
    for (size_t i = 0; i < n; i++)
        to[i] = from ? from[i] : R_NaN;
}

static void value(void *user, size_t n, const double *x, const double *p,
                  double *f)
{
    const struct external *e = user;
    fill(ask(e, VALUE, n, x, p, NULL), n * e->outputs, f);
}

static void jvp(void *user, size_t n, const double *x, const double *p,
                const double *x_dot, double *f_dot)
{
    const struct external *e = user;
    fill(ask(e, JVP, n, x, p, x_dot), n * e->outputs, f_dot);
}

static void vjp(void *user, size_t n, const double *x, const double *p,
                const double *f_bar, double *x_bar, double *p_bar)
{
    const struct external *e = user;
    const double *bar = ask(e, VJP, n, x, p, f_bar);
    size_t points = n * e->inputs;
    for (size_t i = 0; x_bar && i < points; i++)
        x_bar[i] += bar ? bar[i] : R_NaN;
    for (size_t i = 0; p_bar && i < e->parameters; i++)
        p_bar[i] += bar ? bar[points + i] : R_NaN;
}

static void release(void *user)
{
    struct external *e = user;
    R_ReleaseObject(e->list);
    R_Free(e);
}

/* What a text says of a function: inputs, outputs, parameters. */
SEXP c_external_size(SEXP model, SEXP name)
{
    size_t size[3];
    check(gsv_model_external_size(model_of(model), text_of(name), &size[0],
                                  &size[1], &size[2]));
    SEXP x = Rf_allocVector(INTSXP, 3);
    for (size_t i = 0; i < 3; i++)
        INTEGER(x)[i] = (int)size[i];
    return x;
}

/* The names of the functions that a program has to give. */
SEXP c_external_names(SEXP model)
{
    const gsv_model *m = model_of(model);
    size_t n = 0;
    while (gsv_model_external_name(m, n))
        n++;
    SEXP x = PROTECT(Rf_allocVector(STRSXP, (R_xlen_t)n));
    for (size_t i = 0; i < n; i++)
        SET_STRING_ELT(x, (R_xlen_t)i,
                       Rf_mkCharCE(gsv_model_external_name(m, i), CE_UTF8));
    UNPROTECT(1);
    return x;
}

/* list: value, vjp, jvp; start: of the parameters. */
SEXP c_model_external(SEXP model, SEXP name, SEXP list, SEXP start,
                      SEXP weights)
{
    gsv_model *m = model_of(model);
    struct external *e = R_Calloc(1, struct external);
    *e = (struct external){.list = list,
                           .parameters = (size_t)XLENGTH(start),
                           .thread = pthread_self()};
    gsv_callback c = {.parameters = e->parameters,
                      .parameter = REAL(start),
                      .weights = Rf_asLogical(weights) == TRUE,
                      .user = e,
                      .value = value,
                      .release = release};
    if (!Rf_isNull(VECTOR_ELT(list, VJP))) c.vjp = vjp;
    if (!Rf_isNull(VECTOR_ELT(list, JVP))) c.jvp = jvp;
    struct watch w;
    watch_begin(&w, R_NilValue);
    enum gsv_status status = gsv_model_external_size(
        m, text_of(name), &e->inputs, &e->outputs, &c.parameters);
    c.inputs = e->inputs;
    c.outputs = e->outputs;
    c.parameters = e->parameters;
    R_PreserveObject(list);
    if (!status) status = gsv_model_external(m, text_of(name), &c);
    if (status) release(e);
    watch_end(&w);
    check(status);
    return R_NilValue;
}
