/* SPDX-License-Identifier: MIT */
/* Memory that survives R's jumps, and failures as conditions. */
#include <stdlib.h>

#include "package.h"

struct box {
    void (*empty)(void *);
    double content[]; /* aligned for all structs */
};

void box_close(SEXP pointer)
{
    struct box *b = R_ExternalPtrAddr(pointer);
    if (!b) return;
    R_ClearExternalPtr(pointer);
    b->empty(b->content);
    free(b);
}

void *boxed(size_t size, void (*empty)(void *), SEXP *box)
{
    SEXP p = PROTECT(R_MakeExternalPtr(NULL, R_NilValue, R_NilValue));
    R_RegisterCFinalizer(p, box_close);
    struct box *b = calloc(1, sizeof *b + size);
    if (!b) raise_as("no-memory", "there is not enough memory");
    b->empty = empty;
    R_SetExternalPtrAddr(p, b);
    UNPROTECT(1);
    *box = p;
    return b->content;
}

static void model_close(SEXP pointer)
{
    gsv_model_free(R_ExternalPtrAddr(pointer));
    R_ClearExternalPtr(pointer);
}

static void series_close(SEXP pointer)
{
    gsv_series_free(R_ExternalPtrAddr(pointer));
    R_ClearExternalPtr(pointer);
}

static SEXP own(void *address, const char *tag, SEXP keep, void (*close)(SEXP))
{
    if (!address) raise_failure();
    SEXP p = PROTECT(R_MakeExternalPtr(address, Rf_install(tag), keep));
    R_RegisterCFinalizer(p, close);
    UNPROTECT(1);
    return p;
}

SEXP own_model(gsv_model *m)
{
    return own(m, "gsv_model", R_NilValue, model_close);
}

SEXP own_series(gsv_series *s, SEXP keep)
{
    return own(s, "gsv_series", keep, series_close);
}

static void *address_of(SEXP p, const char *tag)
{
    if (TYPEOF(p) != EXTPTRSXP || R_ExternalPtrTag(p) != Rf_install(tag) ||
        !R_ExternalPtrAddr(p))
        raise_as("bad-input", "this object is damaged; make it again");
    return R_ExternalPtrAddr(p);
}

gsv_model *model_of(SEXP pointer)
{
    return address_of(pointer, "gsv_model");
}

gsv_series *series_of(SEXP pointer)
{
    return Rf_isNull(pointer) ? NULL : address_of(pointer, "gsv_series");
}

/* --- Failure -------------------------------------------------------------- */

void raise_as(const char *kind, const char *sentence)
{
    SEXP name = PROTECT(Rf_mkString("girsanov"));
    SEXP space = PROTECT(R_FindNamespace(name));
    SEXP text = PROTECT(Rf_ScalarString(Rf_mkCharCE(sentence, CE_UTF8)));
    SEXP call = PROTECT(Rf_lang3(Rf_install("raise"), Rf_mkString(kind), text));
    Rf_eval(call, space);
    UNPROTECT(4);
    Rf_error("%s", sentence); /* not reached */
}

void raise_failure(void)
{
    enum gsv_status s = gsv_last_status();
    raise_as(s == GSV_NUMERICAL   ? "numerical"
             : s == GSV_NO_MEMORY ? "no-memory"
             : s == GSV_STOPPED   ? "stopped"
                                  : "bad-input",
             gsv_last_error());
}

void check(enum gsv_status status)
{
    if (status) raise_failure();
}

/* --- Texts ---------------------------------------------------------------- */

const char *text_of(SEXP x)
{
    if (Rf_isNull(x)) return NULL;
    if (TYPEOF(x) != STRSXP || XLENGTH(x) != 1 || STRING_ELT(x, 0) == NA_STRING)
        raise_as("bad-input", "expected is one text");
    return Rf_translateCharUTF8(STRING_ELT(x, 0));
}

const char *const *texts_of(SEXP x)
{
    if (Rf_isNull(x)) return NULL;
    if (TYPEOF(x) != STRSXP) raise_as("bad-input", "expected are texts");
    size_t n = (size_t)XLENGTH(x);
    const char **texts = (const char **)R_alloc(n + 1, sizeof *texts);
    for (size_t i = 0; i < n; i++)
        texts[i] = Rf_translateCharUTF8(STRING_ELT(x, (R_xlen_t)i));
    return texts;
}
