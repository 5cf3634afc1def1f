/* SPDX-License-Identifier: MIT */
/* Models and series. */
#include <string.h>

#include "calls.h"

SEXP c_version(void)
{
    return Rf_mkString(gsv_version());
}

SEXP c_model_parse(SEXP text, SEXP name)
{
    return own_model(gsv_model_parse(text_of(text), text_of(name)));
}

SEXP c_model_read(SEXP path)
{
    return own_model(gsv_model_read(text_of(path)));
}

SEXP c_model_write(SEXP model, SEXP path)
{
    check(gsv_model_write(model_of(model), text_of(path)));
    return R_NilValue;
}

SEXP c_model_copy(SEXP model)
{
    return own_model(gsv_model_copy(model_of(model)));
}

SEXP c_alive(SEXP pointer)
{
    return Rf_ScalarLogical(TYPEOF(pointer) == EXTPTRSXP &&
                            R_ExternalPtrAddr(pointer) != NULL);
}

SEXP c_model_draw(SEXP model, SEXP seed)
{
    gsv_model_draw(model_of(model), (uint64_t)Rf_asReal(seed));
    return R_NilValue;
}

SEXP c_model_set(SEXP model, SEXP name, SEXP value)
{
    check(gsv_model_set(model_of(model), text_of(name), (size_t)XLENGTH(value),
                        REAL(value)));
    return R_NilValue;
}

static SEXP params(const gsv_model *m)
{
    size_t n = gsv_model_params(m);
    SEXP all = PROTECT(Rf_allocVector(VECSXP, (R_xlen_t)n));
    for (size_t i = 0; i < n; i++) {
        gsv_param p = gsv_model_param(m, i);
        SET_VECTOR_ELT(all, (R_xlen_t)i, as_list("gsv_param", &p));
    }
    UNPROTECT(1);
    return all;
}

static SEXP categories(const gsv_model *m, size_t n, const char *const *name)
{
    SEXP x = Rf_allocVector(LGLSXP, (R_xlen_t)n);
    for (size_t i = 0; i < n; i++)
        LOGICAL(x)[i] = gsv_model_is_category(m, name[i]);
    return x;
}

enum { GIVEN = 256 };

/* What a model is: names, values and parameters. */
SEXP c_model_facts(SEXP model)
{
    const gsv_model *m = model_of(model);
    const char *given[GIVEN];
    const char *const names[] = {"text",   "states",   "noises", "columns",
                                 "data",   "category", "given",  "values",
                                 "params", "effects",  ""};
    SEXP x = PROTECT(Rf_mkNamed(VECSXP, (const char **)names));
    size_t n = gsv_model_data_columns(m);
    const char *const *data = gsv_model_data_column(m);
    const char *const *column = gsv_model_column(m);
    SEXP values =
        PROTECT(Rf_allocVector(REALSXP, (R_xlen_t)gsv_model_values(m)));
    if (gsv_model_values(m))
        memcpy(REAL(values), gsv_model_value(m),
               gsv_model_values(m) * sizeof(double));
    const char *text = gsv_model_text(m);
    SET_VECTOR_ELT(x, 0, as_texts(1, &text));
    SET_VECTOR_ELT(x, 1, as_texts(gsv_model_dim(m), column));
    SET_VECTOR_ELT(x, 2, Rf_ScalarInteger((int)gsv_model_noises(m)));
    SET_VECTOR_ELT(x, 3, as_texts(gsv_model_columns(m), column));
    SET_VECTOR_ELT(x, 4, as_texts(n, data));
    SET_VECTOR_ELT(x, 5, categories(m, n, data));
    SET_VECTOR_ELT(x, 6, as_texts(gsv_model_given(m, GIVEN, given), given));
    SET_VECTOR_ELT(x, 7, values);
    SET_VECTOR_ELT(x, 8, params(m));
    SET_VECTOR_ELT(x, 9, Rf_ScalarInteger((int)gsv_model_effects(m)));
    UNPROTECT(2);
    return x;
}

SEXP c_model_describe(SEXP model)
{
    char *text = gsv_model_describe(model_of(model));
    if (!text) raise_failure();
    SEXP x = Rf_ScalarString(Rf_mkCharCE(text, CE_UTF8));
    gsv_text_free(text);
    return x;
}

SEXP c_model_record(SEXP model)
{
    const gsv_record *r = gsv_model_record(model_of(model));
    return r ? as_list("gsv_record", r) : R_NilValue;
}

SEXP c_model_draws(SEXP model)
{
    const gsv_draws *d = gsv_model_draws(model_of(model));
    return d ? as_list("gsv_draws", d) : R_NilValue;
}

/* --- Series --------------------------------------------------------------- */

/* The series looks at R's own vectors, which it keeps alive. start counts from
 * 0; words are the texts of categories. */
SEXP c_series(SEXP start, SEXP label, SEXP name, SEXP time, SEXP value,
              SEXP words)
{
    size_t tracks = (size_t)XLENGTH(start) - 1;
    size_t *first = (size_t *)R_alloc(tracks + 1, sizeof *first);
    for (size_t i = 0; i <= tracks; i++)
        first[i] = (size_t)INTEGER(start)[i];
    SEXP keep = PROTECT(Rf_list2(time, value));
    SEXP s = PROTECT(own_series(
        gsv_series_view(tracks, first, texts_of(label), (size_t)XLENGTH(name),
                        texts_of(name), REAL(time), REAL(value)),
        keep));
    if (XLENGTH(words))
        check(gsv_series_words(series_of(s), (size_t)XLENGTH(words),
                               texts_of(words)));
    UNPROTECT(2);
    return s;
}

SEXP c_series_read(SEXP model, SEXP path, SEXP time, SEXP series)
{
    return own_series(gsv_series_read_for(model_of(model), NULL, text_of(path),
                                          text_of(time), text_of(series)),
                      R_NilValue);
}

SEXP c_series_read_all(SEXP path, SEXP time, SEXP series)
{
    return own_series(gsv_series_read_named(text_of(path), text_of(time),
                                            text_of(series), 0, NULL),
                      R_NilValue);
}

SEXP c_series_join(SEXP a, SEXP b)
{
    return own_series(gsv_series_join(series_of(a), series_of(b)), R_NilValue);
}

SEXP c_series_list(SEXP series)
{
    return as_list("gsv_series", series_of(series));
}

SEXP c_category(SEXP texts)
{
    const char *const *text = texts_of(texts);
    SEXP x = PROTECT(Rf_allocVector(REALSXP, XLENGTH(texts)));
    for (R_xlen_t i = 0; i < XLENGTH(texts); i++)
        REAL(x)
    [i] = STRING_ELT(texts, i) == NA_STRING ? NA_REAL : gsv_category(text[i]);
    UNPROTECT(1);
    return x;
}

SEXP c_model_bind(SEXP model, SEXP series)
{
    check(gsv_model_bind(model_of(model), series_of(series)));
    return R_NilValue;
}
