/* SPDX-License-Identifier: MIT */
/* Structs of the library as lists of R, by the tables of header.c. */
#include <limits.h>
#include <string.h>

#include "package.h"

static const struct table *table_of(const char *name)
{
    const struct table *t = TABLES;
    while (t->name && strcmp(t->name, name))
        t++;
    if (!t->name) Rf_error("there is no table of %s", name);
    return t;
}

static size_t axis_size(const struct axis *a, const char *structure,
                        const char *outside)
{
    const char *home = a->outside ? outside : structure;
    if (a->constant || !home) return a->constant;
    size_t n;
    memcpy(&n, home + a->at, sizeof n);
    return n + a->more;
}

/* --- Scalars -------------------------------------------------------------- */

static size_t size_of(const struct field *f)
{
    switch (f->kind) {
    case NUMBER: return sizeof(double);
    case COUNT: return sizeof(size_t);
    case TRUTH: return sizeof(bool);
    case WIDE: return sizeof(uint64_t);
    case WORD: return sizeof(uint32_t);
    case BITS: return sizeof(unsigned);
    case ENUM: return sizeof(int);
    case TEXT: return sizeof(char *);
    case STRUCT: break;
    }
    return table_of(f->of)->size;
}

static double number_at(enum kind kind, const char *p)
{
    switch (kind) {
    case NUMBER: return *(const double *)p;
    case COUNT: return (double)*(const size_t *)p;
    case WIDE: return (double)*(const uint64_t *)p;
    case WORD: return *(const uint32_t *)p;
    case BITS: return *(const unsigned *)p;
    case TRUTH:
    case ENUM:
    case TEXT:
    case STRUCT: break;
    }
    return 0;
}

static SEXP text_at(const struct field *f, const char *p)
{
    if (f->kind == TEXT) {
        const char *text = *(const char *const *)p;
        return text ? Rf_mkCharCE(text, CE_UTF8) : NA_STRING;
    }
    const struct word *w = f->words;
    while (w->text && w->value != *(const int *)p)
        w++;
    return w->text ? Rf_mkChar(w->text) : NA_STRING;
}

/* A count that has no number, SIZE_MAX, is NA. */
static SEXP counts(size_t n, const char *p, size_t stride)
{
    SEXP x = PROTECT(Rf_allocVector(INTSXP, (R_xlen_t)n));
    bool fits = true;
    for (size_t i = 0; i < n; i++) {
        size_t k = *(const size_t *)(p + i * stride);
        fits = fits && (k <= INT_MAX || k == SIZE_MAX);
        INTEGER(x)[i] = k <= INT_MAX ? (int)k : NA_INTEGER;
    }
    if (!fits) {
        x = Rf_allocVector(REALSXP, (R_xlen_t)n);
        for (size_t i = 0; i < n; i++)
            REAL(x)[i] = (double)*(const size_t *)(p + i * stride);
    }
    UNPROTECT(1);
    return x;
}

/* n scalars, `stride` bytes apart. */
static SEXP scalars(const struct field *f, size_t n, const char *p,
                    size_t stride)
{
    SEXP x;
    R_xlen_t length = (R_xlen_t)n;
    switch (f->kind) {
    case COUNT: return counts(n, p, stride);
    case TRUTH:
        x = Rf_allocVector(LGLSXP, length);
        for (size_t i = 0; i < n; i++)
            LOGICAL(x)[i] = *(const bool *)(p + i * stride);
        return x;
    case TEXT:
    case ENUM:
        x = PROTECT(Rf_allocVector(STRSXP, length));
        for (size_t i = 0; i < n; i++)
            SET_STRING_ELT(x, (R_xlen_t)i, text_at(f, p + i * stride));
        UNPROTECT(1);
        return x;
    case NUMBER:
    case WIDE:
    case WORD:
    case BITS:
    case STRUCT: break;
    }
    x = Rf_allocVector(REALSXP, length);
    for (size_t i = 0; i < n; i++)
        REAL(x)[i] = number_at(f->kind, p + i * stride);
    return x;
}

/* --- Arrays and structs --------------------------------------------------- */

static SEXP structs(const struct table *t, size_t n, const char *p,
                    const char *outside, bool alone);

static void set_axes(SEXP x, int rank, const size_t *size)
{
    if (rank < 2) return;
    SEXP dim = PROTECT(Rf_allocVector(INTSXP, rank));
    for (int i = 0; i < rank; i++)
        INTEGER(dim)[i] = (int)size[rank - 1 - i];
    Rf_setAttrib(x, R_DimSymbol, dim);
    UNPROTECT(1);
}

static SEXP field_value(const struct field *f, const char *structure,
                        const char *outside)
{
    const char *p = structure + f->at;
    size_t n = 1, size[AXES] = {0};
    for (int i = 0; i < f->rank; i++)
        n *= size[i] = axis_size(&f->axis[i], structure, outside);
    if (f->pointer) p = *(const char *const *)p;
    if (!p) return R_NilValue;
    if (f->kind == STRUCT)
        return structs(table_of(f->of), n, p, structure, !f->rank);
    SEXP x = PROTECT(scalars(f, n, p, size_of(f)));
    set_axes(x, f->rank, size);
    UNPROTECT(1);
    return x;
}

/* Of n structs: a vector if it is a scalar in each, else a list. */
static SEXP field_values(const struct field *f, const struct table *t, size_t n,
                         const char *p, const char *outside)
{
    if (!f->rank && f->kind != STRUCT) return scalars(f, n, p + f->at, t->size);
    SEXP x = PROTECT(Rf_allocVector(VECSXP, (R_xlen_t)n));
    for (size_t i = 0; i < n; i++)
        SET_VECTOR_ELT(x, (R_xlen_t)i,
                       field_value(f, p + i * t->size, outside));
    UNPROTECT(1);
    return x;
}

static SEXP names_of(const struct table *t, R_xlen_t n)
{
    SEXP names = PROTECT(Rf_allocVector(STRSXP, n));
    for (R_xlen_t i = 0; i < n; i++)
        SET_STRING_ELT(names, i, Rf_mkChar(t->field[i].name));
    UNPROTECT(1);
    return names;
}

/* An array of structs as a list of columns; one that stands alone as a list of
 * its fields. */
static SEXP structs(const struct table *t, size_t n, const char *p,
                    const char *outside, bool alone)
{
    R_xlen_t fields = 0;
    while (t->field[fields].name)
        fields++;
    SEXP x = PROTECT(Rf_allocVector(VECSXP, fields));
    for (R_xlen_t i = 0; i < fields; i++)
        SET_VECTOR_ELT(x, i,
                       alone ? field_value(&t->field[i], p, outside)
                             : field_values(&t->field[i], t, n, p, outside));
    SEXP names = PROTECT(names_of(t, fields));
    Rf_setAttrib(x, R_NamesSymbol, names);
    UNPROTECT(2);
    return x;
}

SEXP as_list(const char *name, const void *structure)
{
    return structs(table_of(name), 1, structure, NULL, true);
}

SEXP as_texts(size_t n, const char *const *text)
{
    SEXP x = PROTECT(Rf_allocVector(STRSXP, (R_xlen_t)n));
    for (size_t i = 0; i < n; i++)
        SET_STRING_ELT(x, (R_xlen_t)i, Rf_mkCharCE(text[i], CE_UTF8));
    UNPROTECT(1);
    return x;
}

SEXP list_get(SEXP list, const char *name)
{
    SEXP names = Rf_getAttrib(list, R_NamesSymbol);
    for (R_xlen_t i = 0; i < Rf_xlength(names); i++)
        if (!strcmp(CHAR(STRING_ELT(names, i)), name))
            return VECTOR_ELT(list, i);
    return R_NilValue;
}
